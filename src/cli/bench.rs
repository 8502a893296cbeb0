//! `gatelog bench`
#![expect(clippy::disallowed_methods, reason = "this command measures time")]

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::cli::agents::roster;
use crate::cli::arguments::{Bench, DocumentFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings::{self, Input, Read};
use crate::cli::settings::settings;
use crate::engine::Costs;
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::Recording;
use crate::records::CallNumber;
use crate::report::cost;
use crate::report::json::FileError;
use crate::report::latency::{Measured, Slow, Times, document, text};
use crate::report::visible::visible;

/// Slow checks that are looked into.
const SLOWEST: usize = 3;

/// Measures the policy on the recordings.
pub(crate) fn run(flags: &Bench, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        DocumentFormat::Text => Audience::People,
        DocumentFormat::Json => Audience::Machines,
    };
    let policy = match policy::load(&flags.policy.policies, console) {
        Ok(policy) => policy,
        Err(no) => return policy::report(&no, audience, console),
    };
    let mut course = Course::default();
    match measure(flags, &policy, &mut course, console) {
        Ok(()) => {}
        Err(error) => return policy::report_file(&error, audience, console),
    }
    let checks = course.check.len();
    let measured = course.measured(flags.runs.get());
    if !quiet {
        console.print(&match audience {
            Audience::Machines => document(&measured),
            Audience::People => text(&measured),
        });
    }
    if checks == 0 { Exit::Nothing } else { Exit::Done }
}

/// A call of a session, both by their numbers.
type CallAt = (usize, CallNumber);

/// What was measured so far.
#[derive(Debug, Default)]
struct Course {
    sessions: usize,
    events: usize,
    check: Vec<Duration>,
    append: Vec<Duration>,
    load: Vec<Duration>,
    /// The shortest time of each check.
    shortest: BTreeMap<CallAt, Duration>,
    slowest: Vec<Slow>,
}

impl Course {
    fn measured(self, runs: usize) -> Measured {
        Measured {
            runs,
            sessions: self.sessions,
            events: self.events,
            check: Times::new(self.check),
            append: Times::new(self.append),
            load: Times::new(self.load),
            slowest: self.slowest,
        }
    }
}

fn measure(
    flags: &Bench,
    policy: &Arc<Policy>,
    course: &mut Course,
    console: &mut Console<'_>,
) -> Result<(), FileError> {
    let settings = settings(&flags.settings, &flags.reading, console)?;
    let mut roster = roster(&flags.reading, console)?;
    let settings = Settings { agents: Arc::clone(&roster.agents), ..settings };
    let input = Input::of(&flags.recordings, console);
    let found = files::all(&flags.recordings).into_iter().collect::<Result<Vec<_>, _>>()?;
    for run in 0..flags.runs.get() {
        let mut session = 0;
        for one in &found {
            let (mut broken, mut start) = (None, Instant::now());
            recordings::each(one, &flags.reading, &input, &mut |read| {
                let loaded = start.elapsed();
                match read {
                    Read::Recording(_, recording) => {
                        if run == 0 {
                            roster.note(roster.met_in(&recording));
                            (course.sessions, course.events) =
                                (course.sessions + 1, course.events + recording.events.len());
                        }
                        course.load.push(loaded);
                        replay(policy, &settings, &recording, session, course);
                        session += 1;
                    }
                    Read::Skipped(error) if run == 0 => {
                        console.say(&format!("skipped: {}\n", visible(&error.text)));
                    }
                    Read::Skipped(_) => {}
                    Read::Unreadable(error) => broken = Some(error),
                }
                start = Instant::now();
            });
            if let Some(error) = broken {
                return Err(error);
            }
        }
    }
    roster.unmet()?;
    let slow = slowest(course);
    let mut session = 0;
    let (counted, costs) = policy.counted();
    let counted = Arc::new(counted);
    for one in &found {
        recordings::each(one, &flags.reading, &input, &mut |read| {
            if let Read::Recording(source, recording) = read {
                let of_session: Vec<_> = slow.iter().filter(|((at, _), _)| *at == session).copied().collect();
                if !of_session.is_empty() {
                    let wanted = (source.as_str(), of_session.as_slice());
                    course.slowest.extend(look(&counted, &costs, &settings, &recording, wanted));
                }
                session += 1;
            }
        });
    }
    course.slowest.sort_by_key(|slow| std::cmp::Reverse(slow.time));
    Ok(())
}

/// Times each event and each check of a session, in the order in which a replay makes them. A session that stops is
/// measured up to there.
fn replay(
    policy: &Arc<Policy>,
    settings: &Settings,
    recording: &Recording,
    session: usize,
    course: &mut Course,
) {
    let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
    monitor.graph_mut().set_session(&recording.app_name, &recording.user_id, &recording.session_id);
    for event in &recording.events {
        let start = Instant::now();
        let observed = monitor.observe(event);
        course.append.push(start.elapsed());
        let Ok(observed) = observed else { return };
        for call in observed.calls.into_iter().chain(observed.answered) {
            let start = Instant::now();
            let decision = monitor.judge_call(call);
            let took = start.elapsed();
            drop(decision);
            course.check.push(took);
            let shortest = course.shortest.entry((session, call)).or_insert(took);
            *shortest = took.min(*shortest);
        }
    }
}

/// The checks whose shortest time is longest.
fn slowest(course: &Course) -> Vec<(CallAt, Duration)> {
    let mut all: Vec<_> = course.shortest.iter().map(|(&at, &time)| (at, time)).collect();
    all.sort_by_key(|&(at, time)| (std::cmp::Reverse(time), at));
    all.truncate(SLOWEST);
    all
}

/// Replays a session with counters, for the checks that are wanted.
fn look(
    policy: &Arc<Policy>,
    costs: &Costs,
    settings: &Settings,
    recording: &Recording,
    (source, wanted): (&str, &[(CallAt, Duration)]),
) -> Vec<Slow> {
    let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
    monitor.graph_mut().set_session(&recording.app_name, &recording.user_id, &recording.session_id);
    let mut found: BTreeMap<CallNumber, Slow> = BTreeMap::new();
    for event in &recording.events {
        let Ok(observed) = monitor.observe(event) else { break };
        for call in observed.calls.into_iter().chain(observed.answered) {
            // What went before belongs to others.
            drop(costs.take());
            drop(monitor.judge_call(call));
            let Some((_, time)) = wanted.iter().find(|((_, number), _)| *number == call) else { continue };
            let Some(made) = monitor.graph().calls().get(call.0 as usize) else { continue };
            let slow = Slow {
                source: source.to_owned(),
                seq: made.record.0,
                call_id: made.call_id.to_string(),
                tool: made.tool.to_string(),
                time: *time,
                cost: cost::rows(policy.program(), &costs.take()),
            };
            found.insert(call, slow);
        }
    }
    found.into_values().collect()
}
