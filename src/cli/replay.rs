//! `gatelog replay`

use std::sync::Arc;

use crate::cli::agents::{Roster, roster};
use crate::cli::arguments::{Replay, ReplayFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings::{self, Read};
use crate::cli::settings::settings;
use crate::decision::Verdict;
use crate::monitor::{Policy, Settings};
use crate::program::Program;
use crate::replay::{SessionReport, replay};
use crate::report::json::{
    CheckRow, Document, ErrorDocument, FileError, PolicyRow, SessionRow, Totals, line, shown,
};
use crate::report::text;
use crate::report::visible::visible;

/// What a replay has met so far.
#[derive(Debug, Default)]
struct Course {
    totals: Totals,
    assumed: bool,
    sessions: Vec<SessionReport>,
    unreadable: Vec<FileError>,
    skipped: Vec<FileError>,
}

/// Judges every call of the recordings.
pub(crate) fn run(flags: &Replay, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = audience(flags);
    let policy = match policy::load(&flags.policy.policies, console) {
        Ok(policy) => policy,
        Err(no) => return policy::report(&no, audience, console),
    };
    let (settings, mut roster) = match stated(flags, console) {
        Ok(stated) => stated,
        Err(error) => return policy::report_file(&error, audience, console),
    };
    let only: Vec<Verdict> = flags.only.iter().copied().map(Verdict::from).collect();
    let mut course = Course::default();
    for found in files::all(&flags.recordings) {
        let mut visit = |read: Read, console: &mut Console<'_>| {
            if let Read::Recording(_, recording) = &read {
                roster.meet(recording);
            }
            session(read, &policy, &settings, (flags, &only, quiet), &mut course, console);
        };
        match found {
            Ok(found) => recordings::each(&found, &flags.reading, console, &mut visit),
            Err(error) => visit(Read::Unreadable(error), console),
        }
    }
    if let Err(error) = roster.unmet() {
        course.unreadable(error, flags, console);
    }
    finish(flags, &only, quiet, policy.program(), &course, console);
    exit(flags, &course)
}

impl Course {
    fn unreadable(&mut self, error: FileError, flags: &Replay, console: &mut Console<'_>) {
        // One document names the first of them at its end.
        if flags.format != ReplayFormat::Json {
            policy::report_file(&error, audience(flags), console);
        }
        self.totals.errors += 1;
        self.unreadable.push(error);
    }
}

fn stated(flags: &Replay, console: &mut Console<'_>) -> Result<(Settings, Roster), FileError> {
    let roster = roster(&flags.reading, console)?;
    let settings = settings(&flags.settings, console)?;
    Ok((Settings { agents: Arc::clone(&roster.agents), ..settings }, roster))
}

fn audience(flags: &Replay) -> Audience {
    match flags.format {
        ReplayFormat::Text => Audience::People,
        ReplayFormat::Json | ReplayFormat::Jsonl => Audience::Machines,
    }
}

fn session(
    read: Read,
    policy: &Arc<Policy>,
    settings: &Settings,
    (flags, only, quiet): (&Replay, &[Verdict], bool),
    course: &mut Course,
    console: &mut Console<'_>,
) {
    let report = match read {
        Read::Recording(source, recording) => replay(policy, settings, &source, &recording),
        Read::Skipped(error) => {
            course.skipped.push(error);
            return;
        }
        Read::Unreadable(error) => {
            course.unreadable(error, flags, console);
            return;
        }
    };
    course.totals.add(&report);
    course.assumed |= !report.assumptions.is_empty();
    match flags.format {
        ReplayFormat::Text if quiet => {}
        ReplayFormat::Text => {
            let text = text::session(&report, only, console.color());
            console.print(&(text + "\n"));
        }
        ReplayFormat::Jsonl => {
            for check in shown(&report, only) {
                console.print(&(line(&CheckRow::new(check, Some(&report.source))) + "\n"));
            }
            console.print(&(line(&SessionRow::end(&report)) + "\n"));
        }
        ReplayFormat::Json => course.sessions.push(report),
    }
}

fn finish(
    flags: &Replay,
    only: &[Verdict],
    quiet: bool,
    program: &Program,
    course: &Course,
    console: &mut Console<'_>,
) {
    match flags.format {
        ReplayFormat::Jsonl => {}
        ReplayFormat::Text if quiet => {}
        ReplayFormat::Text => {
            for skipped in &course.skipped {
                console.print(&format!("skipped: {}\n", visible(&skipped.text)));
            }
            // Where nothing was read, the errors say so, and a count of no calls would look like a result.
            if course.totals.sessions > 0 || course.unreadable.is_empty() {
                console.print(&text::totals(&course.totals));
            }
            if flags.strict && course.assumed {
                console.print("something had to be assumed, which --strict refuses\n");
            }
        }
        ReplayFormat::Json => {
            let error = course.unreadable.first().cloned();
            if let (true, Some(error)) = (course.sessions.is_empty(), error.clone()) {
                console.print(&(line(&ErrorDocument { error }) + "\n"));
                return;
            }
            let sessions = course.sessions.iter().map(|session| SessionRow::new(session, only)).collect();
            let document = Document {
                policy: PolicyRow::new(program),
                sessions,
                totals: course.totals,
                error,
                skipped: course.skipped.clone(),
            };
            console.print(&(line(&document) + "\n"));
        }
    }
}

fn exit(flags: &Replay, course: &Course) -> Exit {
    let totals = &course.totals;
    let mut exit = Exit::Done;
    if totals.checks == 0 && !flags.allow_empty {
        exit = exit.and(Exit::Nothing);
    }
    if totals.ask + totals.deny > 0 || flags.strict && course.assumed {
        exit = exit.and(Exit::Refused);
    }
    if totals.errors > 0 {
        exit = exit.and(Exit::Broken);
    }
    exit
}
