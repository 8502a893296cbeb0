//! What the flags name of recordings, agents and sessions, and whether it occurs in any.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::arguments::Reading;
use crate::cli::console::Console;
use crate::cli::files;
use crate::recording::{PartKind, Recording};
use crate::records::agents::Agents;
use crate::report::json::FileError;

/// What the host states about its agents and which sessions are wanted, and what of that was met.
#[derive(Debug)]
pub(crate) struct Roster {
    path: PathBuf,
    pub(crate) agents: Arc<Agents>,
    sessions: Vec<String>,
    met: Met,
}

/// Names that occur in recordings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Met {
    agents: BTreeSet<String>,
    sessions: BTreeSet<String>,
}

impl Met {
    /// Adds what was met elsewhere.
    pub(crate) fn add(&mut self, more: Self) {
        self.agents.extend(more.agents);
        self.sessions.extend(more.sessions);
    }
}

/// Reads the agents file that the flags name; without one nothing is stated.
pub(crate) fn roster(flags: &Reading, console: &mut Console<'_>) -> Result<Roster, FileError> {
    let (path, agents) = match &flags.agents {
        None => (PathBuf::new(), Agents::default()),
        Some(path) => {
            let agents = Agents::parse(&files::text(path, console)?).map_err(|faults| {
                let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
                files::unreadable(path, faults.join("; "))
            })?;
            (path.clone(), agents)
        }
    };
    Ok(Roster { path, agents: Arc::new(agents), sessions: flags.sessions.clone(), met: Met::default() })
}

impl Roster {
    /// What of it occurs in a recording: the session itself; authors, who is handed over to, and agents that are called as
    /// tools.
    pub(crate) fn met_in(&self, recording: &Recording) -> Met {
        let mut met = Met::default();
        let wanted = self.sessions.iter().filter(|name| {
            let names = [&recording.name, &recording.session_id];
            names.contains(name)
        });
        met.sessions.extend(wanted.cloned());
        for event in &recording.events {
            let calls = event.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Call { name, .. } => Some(name),
                _ => None,
            });
            for name in calls.chain([&event.author, &event.actions.transfer_to_agent]) {
                if self.agents.named(name).is_some() && !met.agents.contains(name) {
                    met.agents.insert(name.clone());
                }
            }
        }
        met
    }

    /// Notes what was met.
    pub(crate) fn note(&mut self, met: Met) {
        self.met.add(met);
    }

    /// The names that no recording has. What is stated about an agent, likely under a wrong name, would be lost, and a
    /// session that is not there is not checked.
    pub(crate) fn unmet(&self) -> Result<(), FileError> {
        let agents = self.agents.iter().filter(|(name, _)| !self.met.agents.contains(*name));
        let agents: Vec<_> = agents
            .map(|(name, agent)| {
                let (file, place) = (files::name(&self.path), agent.place);
                format!("`{file}` at {}:{}: no recording has an agent `{name}`", place.line, place.column)
            })
            .collect();
        if !agents.is_empty() {
            let file = files::name(&self.path);
            return Err(FileError { kind: "unknown_agent", file, text: agents.join("; ") });
        }
        let sessions = self.sessions.iter().filter(|name| !self.met.sessions.contains(*name));
        let sessions: Vec<_> = sessions.map(|name| format!("no recording has a session `{name}`")).collect();
        if sessions.is_empty() {
            return Ok(());
        }
        Err(FileError { kind: "unknown_session", file: String::new(), text: sessions.join("; ") })
    }
}
