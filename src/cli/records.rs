//! `gatelog records`

use crate::cli::arguments::{Records, RecordsFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings::{self, Input, Read};
use crate::recording::{Recording, Stop};
use crate::records::Graph;
use crate::report;
use crate::report::json::FileError;
use crate::report::visible::visible;

/// Prints what recordings become.
pub(crate) fn run(flags: &Records, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        RecordsFormat::Text => Audience::People,
        RecordsFormat::Jsonl => Audience::Machines,
    };
    let all = files::all(&flags.recordings);
    let several = all.len() > 1;
    let mut exit = Exit::Done;
    let mut records = 0;
    let input = Input::of(&flags.recordings, console);
    for found in all {
        let mut visit = |read| {
            let (made, end) = show(read, flags, (quiet, several), audience, console);
            records += made;
            exit = exit.and(end);
        };
        match found {
            Ok(found) => recordings::each(&found, &flags.reading, &input, &mut visit),
            Err(error) => visit(Read::Unreadable(error)),
        }
    }
    if records == 0 { exit.and(Exit::Nothing) } else { exit }
}

/// Prints what one session became; the number of its records.
fn show(
    read: Read,
    flags: &Records,
    (quiet, several): (bool, bool),
    audience: Audience,
    console: &mut Console<'_>,
) -> (usize, Exit) {
    let (source, recording) = match read {
        Read::Recording(source, recording) => (source, recording),
        Read::Skipped(error) => {
            console.say(&format!("skipped: {}\n", visible(&error.text)));
            return (0, Exit::Done);
        }
        Read::Unreadable(error) => return (0, policy::report_file(&error, audience, console)),
    };
    let (graph, stop) = graph(&recording);
    let made = graph.records().len();
    match flags.format {
        RecordsFormat::Jsonl => console.print(&report::records::lines(&source, &graph)),
        RecordsFormat::Text if quiet => {}
        RecordsFormat::Text => {
            if several || !recording.name.is_empty() {
                console.print(&format!("{}\n", visible(&source)));
            }
            console.print(&report::records::text(&graph));
        }
    }
    let end = stop.map_or(Exit::Done, |stop| {
        let text = format!("`{source}`: session stopped: {}: {}", stop.kind.name(), stop.text);
        let error = FileError { kind: stop.kind.name(), file: source, text };
        policy::report_file(&error, audience, console)
    });
    (made, end)
}

fn graph(recording: &Recording) -> (Graph, Option<Stop>) {
    let mut graph = Graph::default();
    graph.set_session(&recording.app_name, &recording.user_id, &recording.session_id);
    for event in &recording.events {
        if let Err(stop) = graph.extend(event) {
            return (graph, Some(stop));
        }
    }
    (graph, recording.stop.clone())
}
