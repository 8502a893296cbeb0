//! `gatelog replay`

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZero;
use std::sync::Arc;

use crate::cli::agents::{Met, Roster, roster};
use crate::cli::arguments::{Replay, ReplayFormat};
use crate::cli::console::Console;
#[cfg(feature = "gate")]
use crate::cli::decisions;
use crate::cli::exit::Exit;
use crate::cli::files::{self, Found};
use crate::cli::parallel::{cores, in_order};
use crate::cli::policy::{self, Audience};
use crate::cli::progress::Progress;
use crate::cli::recordings::{self, Input, Read};
use crate::cli::settings::settings;
use crate::decision::Verdict;
use crate::monitor::{Policy, Settings};
use crate::recording::Notice;
use crate::replay::{Logged, SessionReport, replay, replay_logged};
use crate::report::json::{
    CheckRow, DocumentEnd, ErrorDocument, FileError, PolicyRow, Refused, RefusedDocument, SessionRow, Totals,
    line, shown,
};
use crate::report::text::{self, Assumed, Color};
use crate::report::visible::visible;

/// What one session came to, and how it is printed.
#[derive(Debug)]
enum Outcome {
    Judged { totals: Totals, refused: Vec<Refused>, assumed: Vec<Notice>, printed: String },
    Skipped(FileError),
    Unreadable(FileError),
}

/// What a replay has met so far.
#[derive(Debug, Default)]
struct Course {
    totals: Totals,
    /// What `--strict` refuses; empty without it.
    refused: Vec<Refused>,
    /// What had to be assumed: by kind, a text and the number of sessions.
    assumed: BTreeMap<String, (String, usize)>,
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
    let (settings, mut roster, logged) = match stated(flags, console) {
        Ok(stated) => stated,
        Err(error) => return policy::report_file(&error, audience, console),
    };
    let files = files::all(&flags.recordings);
    let replay = Replaying {
        logged: logged.as_ref(),
        flags,
        quiet,
        only: flags.only.iter().copied().map(Verdict::from).collect(),
        policy: &policy,
        settings: &settings,
        roster: &roster,
        color: console.color(),
        place_of_assumptions: if files.len() > 1 { Assumed::AtTheEnd } else { Assumed::Here },
        input: Input::of(&flags.recordings, console),
    };
    let mut progress = Progress::over(files.len(), quiet);
    let mut course = Course::default();
    let jobs = flags.jobs.map_or_else(cores, NonZero::get);
    let work = |found: &Result<Found, FileError>, give: &mut dyn FnMut(Given)| {
        replay.file(found, give);
        give(Given::FileDone);
    };
    let mut met = Met::default();
    let ended = in_order(&files, jobs, Given::size, &work, &mut |given| match given {
        Given::Met(more) => met.add(more),
        Given::Outcome(outcome) => progress.aside(|| take(outcome, flags, &policy, &mut course, console)),
        Given::FileDone => progress.step(),
    });
    progress.finish();
    roster.note(met);
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
    if let Err(error) = roster.unmet() {
        take(Outcome::Unreadable(error), flags, &policy, &mut course, console);
    }
    finish(flags, quiet, (&policy, &course, files.len()), console);
    exit(flags, &course)
}

type Stated = (Settings, Roster, Option<Logged>);

fn stated(flags: &Replay, console: &mut Console<'_>) -> Result<Stated, FileError> {
    let roster = roster(&flags.reading, console)?;
    let settings = settings(&flags.settings, &flags.reading, console)?;
    #[cfg(feature = "gate")]
    let logged = decisions::logged(&flags.logs, flags.log_key.as_deref())?;
    #[cfg(not(feature = "gate"))]
    let logged = None;
    Ok((Settings { agents: Arc::clone(&roster.agents), ..settings }, roster, logged))
}

/// What the work on a file hands over.
enum Given {
    /// What the flags name and the next session has.
    Met(Met),
    Outcome(Outcome),
    FileDone,
}

impl Given {
    /// The bytes that it holds, about.
    fn size(&self) -> usize {
        match self {
            Self::Outcome(Outcome::Judged { printed, .. }) => printed.len(),
            Self::Met(_) | Self::Outcome(Outcome::Skipped(_) | Outcome::Unreadable(_)) | Self::FileDone => 0,
        }
    }
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
    roster: &'a Roster,
    color: Color,
    place_of_assumptions: Assumed,
    input: Input,
    /// What a gate decided.
    logged: Option<&'a Logged>,
}

impl Replaying<'_> {
    /// Replays the sessions of a file, one after another.
    fn file(&self, found: &Result<Found, FileError>, give: &mut dyn FnMut(Given)) {
        match found {
            Ok(found) => {
                let mut visit = |read: Read| {
                    if let Read::Recording(_, recording) = &read {
                        give(Given::Met(self.roster.met_in(recording)));
                    }
                    give(Given::Outcome(self.session(read)));
                };
                recordings::each(found, &self.flags.reading, &self.input, &mut visit);
            }
            Err(error) => give(Given::Outcome(Outcome::Unreadable(error.clone()))),
        }
    }

    fn session(&self, read: Read) -> Outcome {
        let report = match read {
            Read::Recording(source, recording) => match self.logged {
                Some(log) => replay_logged(self.policy, self.settings, &source, &recording, log),
                None => replay(self.policy, self.settings, &source, &recording),
            },
            Read::Skipped(error) => return Outcome::Skipped(error),
            Read::Unreadable(error) => return Outcome::Unreadable(error),
        };
        let mut totals = Totals::default();
        totals.add(&report);
        let refused = if self.flags.strict { refused(&report).collect() } else { Vec::new() };
        let printed = self.printed(&report);
        Outcome::Judged { totals, refused, assumed: report.assumptions, printed }
    }

    fn printed(&self, report: &SessionReport) -> String {
        match self.flags.format {
            ReplayFormat::Text if self.quiet => String::new(),
            ReplayFormat::Text => {
                let text = text::session(report, &self.only, self.color, self.place_of_assumptions);
                if text.is_empty() { text } else { text + "\n" }
            }
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
        Outcome::Judged { totals, refused, assumed, printed } => {
            for Notice { kind, text } in assumed {
                course.assumed.entry(kind).or_insert((text, 0)).1 += 1;
            }
            if flags.format == ReplayFormat::Json {
                let first = course.totals.sessions == 0;
                console.print(&if first { head(policy) } else { ",".to_owned() });
            }
            console.print(&printed);
            course.totals.sum(&totals);
            course.refused.extend(refused);
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

/// What `--strict` refuses of a session.
fn refused(report: &SessionReport) -> impl Iterator<Item = Refused> {
    report.refused_when_strict().map(|notice| Refused {
        kind: notice.kind.clone(),
        source: report.source.clone(),
        text: notice.text.clone(),
    })
}

/// One line for each kind, with the number of its sessions; the sessions themselves say the rest.
fn refused_kinds(refused: &[Refused]) -> Vec<String> {
    let mut kinds: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for one in refused {
        kinds.entry(&one.kind).or_default().insert(&one.source);
    }
    let line = |(kind, files): (&str, BTreeSet<&str>)| {
        format!("refused by --strict: {kind} ({})\n", text::counted(files.len(), "session"))
    };
    kinds.into_iter().map(line).collect()
}

fn finish(
    flags: &Replay,
    quiet: bool,
    (policy, course, files): (&Policy, &Course, usize),
    console: &mut Console<'_>,
) {
    match flags.format {
        ReplayFormat::Jsonl if course.refused.is_empty() => {}
        ReplayFormat::Jsonl => {
            console.print(&(line(&RefusedDocument { refused: &course.refused }) + "\n"));
        }
        ReplayFormat::Text if quiet => {}
        ReplayFormat::Text => {
            for skipped in &course.skipped {
                console.print(&format!("skipped: {}\n", visible(&skipped.text)));
            }
            // Where nothing was read, the errors say so, and a count of no calls would look like a result.
            if course.totals.sessions > 0 || course.unreadable.is_none() {
                console.print(&text::totals(&course.totals));
            }
            if files > 1 {
                console.print(&text::assumed(&course.assumed));
            }
            for line in refused_kinds(&course.refused) {
                console.print(&line);
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
                refused: &course.refused,
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
    if totals.ask + totals.deny > 0 || !course.refused.is_empty() {
        exit = exit.and(Exit::Refused);
    }
    if totals.errors > 0 {
        exit = exit.and(Exit::Broken);
    }
    exit
}
