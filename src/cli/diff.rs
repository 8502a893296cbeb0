//! `gatelog diff`

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cli::agents::roster;
use crate::cli::arguments::{Diff, DocumentFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings::{self, Input, Read};
use crate::cli::settings::settings;
use crate::decision::{Decision, Verdict};
use crate::lineage::RecordId;
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::Recording;
use crate::records::CallNumber;
use crate::replay::{Turn, walk};
use crate::report::differences::{Difference, Differences, document, text};
use crate::report::json::{FileError, PolicyRow};
use crate::report::visible::visible;

/// Compares two policies on recordings.
pub(crate) fn run(flags: &Diff, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        DocumentFormat::Text => Audience::People,
        DocumentFormat::Json => Audience::Machines,
    };
    let mut policies = Vec::new();
    for path in [&flags.old, &flags.new] {
        match policy::load(std::slice::from_ref(path), console) {
            Ok(policy) => policies.push(policy),
            Err(no) => return policy::report(&no, audience, console),
        }
    }
    let [old, new] = policies.as_slice() else { return Exit::Broken };
    let mut course = Course::default();
    if let Err(error) = compare(flags, (old, new), &mut course, console) {
        return policy::report_file(&error, audience, console);
    }
    match audience {
        Audience::Machines => {
            let rows = (PolicyRow::new(old.program()), PolicyRow::new(new.program()));
            console.print(&document(&course.differences, rows, course.broken.first().cloned()));
        }
        Audience::People => {
            for error in &course.broken {
                policy::report_file(error, audience, console);
            }
            if !quiet {
                let color = console.color();
                console.print(&text(&course.differences, color));
            }
        }
    }
    exit(flags, &course)
}

#[derive(Debug, Default)]
struct Course {
    differences: Differences,
    /// Files that cannot be read, and sessions that stop.
    broken: Vec<FileError>,
}

fn exit(flags: &Diff, course: &Course) -> Exit {
    let found = &course.differences;
    let counts = |one: &Difference| !flags.allow_only_stricter || !one.is_stricter();
    let mut exit = if found.all.iter().any(counts) { Exit::Refused } else { Exit::Done };
    if found.checks == 0 {
        exit = exit.and(Exit::Nothing);
    }
    if !course.broken.is_empty() {
        exit = exit.and(Exit::Broken);
    }
    exit
}

fn compare(
    flags: &Diff,
    policies: (&Arc<Policy>, &Arc<Policy>),
    course: &mut Course,
    console: &mut Console<'_>,
) -> Result<(), FileError> {
    let settings = settings(&flags.settings, &flags.reading, console)?;
    let mut roster = roster(&flags.reading, console)?;
    let settings = Settings { agents: Arc::clone(&roster.agents), ..settings };
    let input = Input::of(&flags.recordings, console);
    for found in files::all(&flags.recordings) {
        let mut visit = |read| match read {
            Read::Recording(source, recording) => {
                roster.note(roster.met_in(&recording));
                session(policies, &settings, &source, &recording, course);
            }
            Read::Skipped(error) => console.say(&format!("skipped: {}\n", visible(&error.text))),
            Read::Unreadable(error) => course.broken.push(error),
        };
        match found {
            Ok(found) => recordings::each(&found, &flags.reading, &input, &mut visit),
            Err(error) => visit(Read::Unreadable(error)),
        }
    }
    roster.unmet()
}

/// The last decision about each call of a session, the session, and where it stopped.
type Judged = (BTreeMap<CallNumber, Decision>, Monitor, Option<String>);

fn judged(policy: &Arc<Policy>, settings: &Settings, recording: &Recording) -> Judged {
    let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
    let mut decisions = BTreeMap::new();
    let end = walk(&mut monitor, recording, &mut |_, turn| match turn {
        Turn::Judged(call, decision) | Turn::JudgedAgain(call, decision) => {
            decisions.insert(call, decision);
        }
        Turn::Made(_) | Turn::Answered(_) => {}
    });
    let stop = end.err().map(|halt| format!("{}: {}", halt.stop.kind.name(), halt.stop.text));
    (decisions, monitor, stop)
}

fn session(
    (old, new): (&Arc<Policy>, &Arc<Policy>),
    settings: &Settings,
    source: &str,
    recording: &Recording,
    course: &mut Course,
) {
    let (before, _, _) = judged(old, settings, recording);
    let (mut after, monitor, stop) = judged(new, settings, recording);
    if let Some(stop) = stop {
        let (kind, text) = ("session_stopped", format!("`{source}`: session stopped: {stop}"));
        course.broken.push(FileError { kind, file: source.to_owned(), text });
    }
    course.differences.sessions += 1;
    // Calls that the new policy stops and the old one let through.
    let mut stopped: Vec<RecordId> = Vec::new();
    for (number, old) in before {
        let (Some(call), Some(new)) = (monitor.graph().calls().get(number.0 as usize), after.remove(&number))
        else {
            continue;
        };
        course.differences.checks += 1;
        if old.verdict == new.verdict {
            continue;
        }
        let ancestors = monitor.graph().lineage().ancestors(call.record);
        let cause = stopped.iter().find(|record| ancestors.contains(**record)).map(|record| record.0);
        if old.verdict == Verdict::Allow {
            stopped.push(call.record);
        }
        course.differences.all.push(Difference {
            source: source.to_owned(),
            seq: call.record.0,
            call_id: call.call_id.to_string(),
            agent: call.agent.to_string(),
            tool: call.tool.to_string(),
            arguments: call.arguments.to_string(),
            old,
            new,
            after: cause,
        });
    }
}
