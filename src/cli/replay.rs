//! `gatelog replay`

use std::num::NonZero;
use std::sync::Arc;

use crate::cli::arguments::{Replay, ReplayFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files::{self, Found};
use crate::cli::parallel::{cores, in_order};
use crate::cli::policy::{self, Audience};
use crate::cli::progress::Progress;
use crate::cli::recordings::{self, Input, Read};
use crate::cli::settings::settings;
use crate::decision::Verdict;
use crate::monitor::{Policy, Settings};
use crate::replay::{SessionReport, replay};
use crate::report::json::{
    CheckRow, DocumentEnd, ErrorDocument, FileError, PolicyRow, SessionRow, Totals, line, shown,
};
use crate::report::text::{self, Color};
use crate::report::visible::visible;

/// What one session came to, and how it is printed.
#[derive(Debug)]
enum Outcome {
    Judged { totals: Totals, assumed: bool, printed: String },
    Skipped(FileError),
    Unreadable(FileError),
}

/// What a replay has met so far.
#[derive(Debug, Default)]
struct Course {
    totals: Totals,
    assumed: bool,
    /// The first file that could not be read.
    unreadable: Option<FileError>,
    skipped: Vec<FileError>,
}

/// Judges every call of the recordings.
pub(crate) fn run(flags: &Replay, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = audience(flags);
    let policy = match policy::load(&flags.policy.policies, console) {
        Ok(policy) => policy,
        Err(no) => return policy::report(&no, audience, console),
    };
    let settings = match settings(&flags.settings, console) {
        Ok(settings) => settings,
        Err(error) => return policy::report_file(&error, audience, console),
    };
    let replay = Replaying {
        flags,
        quiet,
        only: flags.only.iter().copied().map(Verdict::from).collect(),
        policy: &policy,
        settings: &settings,
        color: console.color(),
        input: Input::of(&flags.recordings, console),
    };
    let files = files::all(&flags.recordings);
    let mut progress = Progress::over(files.len(), quiet);
    let mut course = Course::default();
    let jobs = flags.jobs.map_or_else(cores, NonZero::get);
    let work = |found: &Result<Found, FileError>, give: &mut dyn FnMut(Given)| {
        replay.file(found, &mut |outcome| give(Given::Outcome(outcome)));
        give(Given::FileDone);
    };
    let ended = in_order(&files, jobs, &work, &mut |given| match given {
        Given::Outcome(outcome) => progress.aside(|| take(outcome, flags, &policy, &mut course, console)),
        Given::FileDone => progress.step(),
    });
    progress.finish();
    if let Err(number) = ended {
        let file =
            files.get(number).and_then(|found| found.as_ref().ok()).map(|found| files::name(found.path()));
        let file = file.unwrap_or_default();
        let text =
            format!("`{file}`: the replay of this file broke off; it and those after it are not checked");
        take(
            Outcome::Unreadable(FileError { kind: "broken_off", file, text }),
            flags,
            &policy,
            &mut course,
            console,
        );
    }
    finish(flags, quiet, &policy, &course, console);
    exit(flags, &course)
}

/// What the work on a file hands over.
enum Given {
    Outcome(Outcome),
    FileDone,
}

fn audience(flags: &Replay) -> Audience {
    match flags.format {
        ReplayFormat::Text => Audience::People,
        ReplayFormat::Json | ReplayFormat::Jsonl => Audience::Machines,
    }
}

/// What is the same for all files.
struct Replaying<'a> {
    flags: &'a Replay,
    quiet: bool,
    only: Vec<Verdict>,
    policy: &'a Arc<Policy>,
    settings: &'a Settings,
    color: Color,
    input: Input,
}

impl Replaying<'_> {
    /// Replays the sessions of a file, one after another.
    fn file(&self, found: &Result<Found, FileError>, give: &mut dyn FnMut(Outcome)) {
        match found {
            Ok(found) => {
                let mut visit = |read| give(self.session(read));
                recordings::each(found, &self.flags.reading, &self.input, &mut visit);
            }
            Err(error) => give(Outcome::Unreadable(error.clone())),
        }
    }

    fn session(&self, read: Read) -> Outcome {
        let report = match read {
            Read::Recording(source, recording) => replay(self.policy, self.settings, &source, &recording),
            Read::Skipped(error) => return Outcome::Skipped(error),
            Read::Unreadable(error) => return Outcome::Unreadable(error),
        };
        let mut totals = Totals::default();
        totals.add(&report);
        let assumed = !report.assumptions.is_empty();
        Outcome::Judged { totals, assumed, printed: self.printed(&report) }
    }

    fn printed(&self, report: &SessionReport) -> String {
        match self.flags.format {
            ReplayFormat::Text if self.quiet => String::new(),
            ReplayFormat::Text => text::session(report, &self.only, self.color) + "\n",
            ReplayFormat::Jsonl => {
                let mut lines = String::new();
                for check in shown(report, &self.only) {
                    lines += &line(&CheckRow::new(check, Some(&report.source)));
                    lines.push('\n');
                }
                lines + &line(&SessionRow::end(report)) + "\n"
            }
            ReplayFormat::Json => line(&SessionRow::new(report, &self.only)),
        }
    }
}

/// Prints what came of one session, and counts it.
fn take(outcome: Outcome, flags: &Replay, policy: &Policy, course: &mut Course, console: &mut Console<'_>) {
    match outcome {
        Outcome::Judged { totals, assumed, printed } => {
            if flags.format == ReplayFormat::Json {
                let first = course.totals.sessions == 0;
                console.print(&if first { head(policy) } else { ",".to_owned() });
            }
            console.print(&printed);
            course.totals.sum(&totals);
            course.assumed |= assumed;
        }
        Outcome::Skipped(error) => course.skipped.push(error),
        Outcome::Unreadable(error) => {
            // One document names the first of them at its end.
            if flags.format != ReplayFormat::Json {
                policy::report_file(&error, audience(flags), console);
            }
            course.totals.errors += 1;
            course.unreadable.get_or_insert(error);
        }
    }
}

/// The beginning of the one document, up to its first session.
fn head(policy: &Policy) -> String {
    format!("{{\"policy\":{},\"sessions\":[", line(&PolicyRow::new(policy.program())))
}

fn finish(flags: &Replay, quiet: bool, policy: &Policy, course: &Course, console: &mut Console<'_>) {
    match flags.format {
        ReplayFormat::Jsonl => {}
        ReplayFormat::Text if quiet => {}
        ReplayFormat::Text => {
            for skipped in &course.skipped {
                console.print(&format!("skipped: {}\n", visible(&skipped.text)));
            }
            // Where nothing was read, the errors say so, and a count of no calls would look like a result.
            if course.totals.sessions > 0 || course.unreadable.is_none() {
                console.print(&text::totals(&course.totals));
            }
            if flags.strict && course.assumed {
                console.print("something had to be assumed, which --strict refuses\n");
            }
        }
        ReplayFormat::Json => {
            let none = course.totals.sessions == 0;
            if let (true, Some(error)) = (none, course.unreadable.clone()) {
                console.print(&(line(&ErrorDocument { error }) + "\n"));
                return;
            }
            if none {
                console.print(&head(policy));
            }
            let end = DocumentEnd {
                totals: course.totals,
                error: course.unreadable.clone(),
                skipped: course.skipped.clone(),
            };
            let end = line(&end);
            console.print(&format!("],{}\n", end.strip_prefix('{').unwrap_or(&end)));
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
