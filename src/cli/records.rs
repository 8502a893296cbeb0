//! `gatelog records`

use crate::cli::arguments::{Records, RecordsFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings::{self, Read};
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
    for found in all {
        let read = match found {
            Ok(found) => recordings::read(&found, console),
            Err(error) => Read::Unreadable(error),
        };
        match read {
            Read::Skipped(error) => console.say(&format!("skipped: {}\n", visible(&error.text))),
            Read::Unreadable(error) => exit = exit.and(policy::report_file(&error, audience, console)),
            Read::Recording(source, recording) => {
                let (graph, stop) = graph(&recording);
                records += graph.records().len();
                match flags.format {
                    RecordsFormat::Jsonl => console.print(&report::records::lines(&source, &graph)),
                    RecordsFormat::Text if quiet => {}
                    RecordsFormat::Text => {
                        if several {
                            console.print(&format!("{}\n", visible(&source)));
                        }
                        console.print(&report::records::text(&graph));
                    }
                }
                if let Some(stop) = stop {
                    let text = format!("`{source}`: session stopped: {}: {}", stop.kind.name(), stop.text);
                    let error = FileError { kind: stop.kind.name(), file: source, text };
                    exit = exit.and(policy::report_file(&error, audience, console));
                }
            }
        }
    }
    if records == 0 { exit.and(Exit::Nothing) } else { exit }
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
