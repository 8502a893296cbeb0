//! `gatelog facts`

use crate::cli::agents::roster;
use crate::cli::arguments::{Facts, RowsFormat};
use crate::cli::calls::{NoCall, at_call};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings;
use crate::cli::settings::settings;
use crate::monitor::{Monitor, Request, Rows, Settings};
use crate::program::{Program, RelationId, nearest};
use crate::recording::Recording;
use crate::replay::{Halt, walk};
use crate::report::json::FileError;
use crate::report::rows::{RowFormat, relations};
use crate::scenario::CallName;

/// Prints rows of relations.
pub(crate) fn run(flags: &Facts, console: &mut Console<'_>) -> Exit {
    let (audience, format) = match flags.format {
        RowsFormat::Tsv => (Audience::People, RowFormat::Tsv),
        RowsFormat::Csv => (Audience::People, RowFormat::Csv),
        RowsFormat::Json => (Audience::Machines, RowFormat::Json),
    };
    let policy = match policy::load(&flags.policy.policies, console) {
        Ok(policy) => policy,
        Err(no) => return policy::report(&no, audience, console),
    };
    let wanted = match wanted(policy.program(), &flags.relations) {
        Ok(wanted) => wanted,
        Err(text) => return broken(flags, "unknown_relation", text, audience, console),
    };
    let (settings, recording) = match session(flags, console) {
        Ok(session) => session,
        Err(error) => return policy::report_file(&error, audience, console),
    };
    let mut monitor = Monitor::new(policy, settings);
    let name = flags.call.clone().map(CallName::Id).or(flags.seq.map(CallName::Seq));
    match rows(&mut monitor, &recording, name.as_ref(), &wanted) {
        Ok(mut rows) => {
            if flags.relations.is_empty() {
                rows.retain(|rows| !rows.rows.is_empty());
            }
            let single = flags.relations.len() == 1;
            console.print(&relations(monitor.program(), &rows, format, single));
            Exit::Done
        }
        Err(Unanswered::Failed(text)) => {
            broken(flags, "evaluation", text, audience, console);
            Exit::Refused
        }
        Err(Unanswered::Broken(kind, text)) => broken(flags, kind, text, audience, console),
    }
}

/// The session, and what holds for its checks.
fn session(flags: &Facts, console: &mut Console<'_>) -> Result<(Settings, Recording), FileError> {
    let settings = settings(&flags.settings, &flags.reading, console)?;
    let mut roster = roster(&flags.reading, console)?;
    let recording = recordings::one(&flags.session, &flags.reading, console)?;
    roster.note(roster.met_in(&recording));
    roster.unmet()?;
    Ok((Settings { agents: roster.agents, ..settings }, recording))
}

enum Unanswered {
    /// Evaluation failed.
    Failed(String),
    /// The session stopped, or has no such call.
    Broken(&'static str, String),
}

fn broken(
    flags: &Facts,
    kind: &'static str,
    text: String,
    audience: Audience,
    console: &mut Console<'_>,
) -> Exit {
    let file = flags.session.display().to_string();
    policy::report_file(&FileError { kind, file, text }, audience, console)
}

/// The relations named; without any name all but the checker's own.
fn wanted(program: &Program, names: &[String]) -> Result<Vec<RelationId>, String> {
    let known = || program.relations.iter().map(|relation| relation.name.as_str());
    let known = || known().filter(|name| !name.starts_with("__"));
    if names.is_empty() {
        return Ok(known().filter_map(|name| program.relation(name)).collect());
    }
    names
        .iter()
        .map(|name| {
            program.relation(name).ok_or_else(|| {
                let hint = nearest(name, known())
                    .map_or_else(String::new, |near| format!("; did you mean `{near}`"));
                format!("there is no relation `{name}`{hint}")
            })
        })
        .collect()
}

fn rows(
    monitor: &mut Monitor,
    recording: &Recording,
    name: Option<&CallName>,
    wanted: &[RelationId],
) -> Result<Vec<Rows>, Unanswered> {
    let Some(name) = name else {
        walk(monitor, recording, &mut |_, _| {}).map_err(|Halt { stop, .. }| {
            Unanswered::Broken(stop.kind.name(), format!("session stopped: {}", stop.text))
        })?;
        let request = Request::default();
        return monitor.rows(&request, wanted).map_err(|error| Unanswered::Failed(error.to_string()));
    };
    let taken = at_call(monitor, recording, name, &mut |monitor, call| monitor.rows_at_call(call, wanted));
    let rows = taken.map_err(|NoCall { kind, text }| Unanswered::Broken(kind, text))?;
    rows.map_err(|error| Unanswered::Failed(error.to_string()))
}
