//! The agents file, and whether its names occur in the recordings.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::cli::arguments::Reading;
use crate::cli::console::Console;
use crate::cli::files;
use crate::recording::{PartKind, Recording};
use crate::records::agents::Agents;
use crate::report::json::FileError;

/// What the host states about its agents, and which of them were met.
#[derive(Debug)]
pub(crate) struct Roster {
    path: PathBuf,
    pub(crate) agents: Arc<Agents>,
    met: BTreeSet<String>,
}

/// Reads the agents file that the flags name; without one nothing is stated.
pub(crate) fn roster(flags: &Reading, console: &mut Console<'_>) -> Result<Roster, FileError> {
    let Some(path) = &flags.agents else {
        return Ok(Roster { path: PathBuf::new(), agents: Arc::default(), met: BTreeSet::new() });
    };
    let text = files::text(path, console)?;
    let agents = Agents::parse(&text).map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        files::unreadable(path, faults.join("; "))
    })?;
    Ok(Roster { path: path.clone(), agents: Arc::new(agents), met: BTreeSet::new() })
}

impl Roster {
    /// Whom the file names of those who occur in a recording: authors, who is handed over to, and agents that are called as
    /// tools.
    pub(crate) fn met_in(&self, recording: &Recording) -> BTreeSet<String> {
        let mut met = BTreeSet::new();
        for event in &recording.events {
            let calls = event.parts.iter().filter_map(|part| match &part.kind {
                PartKind::Call { name, .. } => Some(name),
                _ => None,
            });
            for name in calls.chain([&event.author, &event.actions.transfer_to_agent]) {
                if self.agents.named(name).is_some() && !met.contains(name) {
                    met.insert(name.clone());
                }
            }
        }
        met
    }

    /// Notes who was met.
    pub(crate) fn note(&mut self, met: BTreeSet<String>) {
        self.met.extend(met);
    }

    /// The names that no recording has: what is stated about them, likely under a wrong name, would be lost.
    pub(crate) fn unmet(&self) -> Result<(), FileError> {
        let unmet: Vec<_> = self
            .agents
            .iter()
            .filter(|(name, _)| !self.met.contains(*name))
            .map(|(name, agent)| {
                let place = agent.place;
                format!("{}:{}: no recording has an agent `{name}`", place.line, place.column)
            })
            .collect();
        if unmet.is_empty() { Ok(()) } else { Err(files::unreadable(&self.path, unmet.join("; "))) }
    }
}
