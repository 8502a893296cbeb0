//! A recording under a policy.
//!
//! In: a [`Recording`], a program. Out: one row for each tool call, decided as of the moment it was made. Never: decides.

mod due;
mod journal;
mod log;

pub use journal::Asked;

pub use due::{Due, Judgement, at_judgement};

use std::sync::Arc;

use crate::decision::Decision;
use crate::explain::Proof;
use crate::json::Json;
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::journal::Kept;
use crate::recording::{Event, Notice, PartKind, Recording, Stop, UnreadCall, is_request};
use crate::records::{CallNumber, CallOutcome, Graph};

pub use crate::replay::log::{Logged, replay_logged};

/// One tool call of a session.
#[derive(Debug, Clone)]
pub struct CallReport {
    /// Number of the call's record in its session, from 0; none for a call after the session stopped.
    pub seq: Option<u32>,
    /// Id of its event.
    pub event_id: String,
    /// Its id; may be empty.
    pub call_id: String,
    /// The author of its event.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The arguments as ordinary JSON.
    pub arguments: String,
    /// The decision, after the last answer of a person.
    pub decision: Decision,
    /// What the recording says happened.
    pub outcome: CallOutcome,
    /// Whether it was judged again after a person's answer.
    pub asked: bool,
    /// The judgement that the decision is of; none for a call after the session stopped.
    pub judgement: Option<Judgement>,
}

/// One session under a policy.
#[derive(Debug, Clone)]
pub struct SessionReport {
    /// The file, as named by the user.
    pub source: String,
    /// Id of the session; may be empty.
    pub id: String,
    /// Number of events read.
    pub events: usize,
    /// Number of records.
    pub records: usize,
    /// Its calls, in order.
    pub checks: Vec<CallReport>,
    /// What had to be assumed, once per kind.
    pub assumptions: Vec<Notice>,
    /// What a person should look at.
    pub warnings: Vec<Notice>,
    /// Where it stopped.
    pub error: Option<Stop>,
}

/// Kinds of warnings about what the libraries themselves would not write.
const UNKNOWN_TO_LIBRARIES: [&str; 1] = ["state_key"];

impl SessionReport {
    /// What a strict reader refuses: everything that had to be assumed, fields that are not known among it, and names that
    /// the libraries themselves refuse.
    pub fn refused_when_strict(&self) -> impl Iterator<Item = &Notice> {
        let odd = |notice: &&Notice| UNKNOWN_TO_LIBRARIES.contains(&notice.kind.as_str());
        self.assumptions.iter().chain(self.warnings.iter().filter(odd))
    }
}

/// What happens to a call on a [`walk`].
#[derive(Debug)]
pub enum Turn {
    /// Its event has arrived. It is judged next.
    Made(CallNumber),
    /// It was judged.
    Judged(CallNumber, Decision),
    /// A person's answer to it has arrived. It is judged again next.
    Answered(CallNumber),
    /// It was judged again, after a person's answer to it.
    JudgedAgain(CallNumber, Decision),
}

/// Where a [`walk`] stops early.
#[derive(Debug, Clone)]
pub struct Halt {
    /// Why.
    pub stop: Stop,
    /// Number of the recording's events that were taken in.
    pub taken: usize,
}

/// Feeds a recording to the monitor of a new session: each call is judged when its event arrives, and again when a
/// person's answer to it does. `visit` is shown each turn as it comes. The journal of a gate says itself what is judged when,
/// and its opening goes before the settings of the monitor; checks of calls that no event holds are no turns.
///
/// # Errors
/// Where the session stops; everything before stands.
pub fn walk(
    monitor: &mut Monitor,
    recording: &Recording,
    visit: &mut dyn FnMut(&mut Monitor, Turn),
) -> Result<(), Halt> {
    if let Some(kept) = &recording.journal {
        return journal::walk(monitor, recording, kept, visit);
    }
    monitor.graph_mut().set_session(&recording.app_name, &recording.user_id, &recording.session_id);
    for (taken, event) in recording.events.iter().enumerate() {
        let observed = monitor.observe(event).map_err(|stop| Halt { stop, taken })?;
        for call in observed.calls {
            visit(monitor, Turn::Made(call));
            let decision = monitor.judge_call(call);
            visit(monitor, Turn::Judged(call, decision));
        }
        for call in observed.answered {
            visit(monitor, Turn::Answered(call));
            let decision = monitor.judge_call(call);
            visit(monitor, Turn::JudgedAgain(call, decision));
        }
    }
    let taken = recording.events.len();
    recording.stop.clone().map_or(Ok(()), |stop| Err(Halt { stop, taken }))
}

/// Why the last of the wanted checks of a journal is decided as it is, by the monitor's policy, as of the moment of the check;
/// none where none is wanted, or no gate wrote the recording.
///
/// # Errors
/// Where the session stops and none was met before.
pub fn explain_check(
    monitor: &mut Monitor,
    recording: &Recording,
    wanted: &mut dyn FnMut(&Asked<'_>) -> bool,
) -> Result<Option<Proof>, Halt> {
    match &recording.journal {
        Some(kept) => journal::explain(monitor, recording, kept, wanted),
        None => Ok(None),
    }
}

/// Replays one recording: one row for each call, with its last decision.
#[must_use]
pub fn replay(
    policy: &Arc<Policy>,
    settings: &Settings,
    source: &str,
    recording: &Recording,
) -> SessionReport {
    let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
    if let Some(kept) = &recording.journal {
        return of_journal(&mut monitor, source, recording, kept);
    }
    let mut judged: Vec<(CallNumber, Judged)> = Vec::new();
    let mut judgements = (0..).map(Judgement);
    let end = walk(&mut monitor, recording, &mut |_, turn| match turn {
        Turn::Made(_) | Turn::Answered(_) => {}
        Turn::Judged(call, decision) => {
            judged.push((call, Judged { decision, judgement: judgements.next(), asked: false }));
        }
        Turn::JudgedAgain(call, decision) => {
            // Calls are judged in the order of their numbers.
            let row = judged.binary_search_by_key(&call, |(number, ..)| *number);
            let again = Judged { decision, judgement: judgements.next(), asked: true };
            if let Some(row) = row.ok().and_then(|at| judged.get_mut(at)) {
                *row = (call, again);
            }
        }
    });
    let halt = end.err();
    let graph = monitor.graph();
    let mut checks: Vec<CallReport> =
        judged.into_iter().filter_map(|(number, judged)| row(graph, number, judged)).collect();
    if let Some(Halt { stop, taken }) = &halt {
        let rest = recording.events.get(*taken..).unwrap_or(&[]);
        let unread = rest.iter().flat_map(calls_of).chain(recording.unread_calls.iter().cloned());
        checks.extend(unread.map(|call| unread_row(call, &stop.text)));
    }
    SessionReport {
        source: source.to_owned(),
        id: recording.session_id.clone(),
        events: recording.events.len(),
        records: graph.records().len(),
        checks,
        assumptions: recording.notices.iter().chain(graph.assumptions()).cloned().collect(),
        warnings: graph.warnings().to_vec(),
        error: halt.map(|halt| halt.stop),
    }
}

/// Replays the journal of a gate.
fn of_journal(monitor: &mut Monitor, source: &str, recording: &Recording, kept: &Kept) -> SessionReport {
    let (mut checks, differs, halt) = journal::rows(monitor, recording, kept);
    if let Some(Halt { stop, .. }) = &halt {
        checks.extend(recording.unread_calls.iter().cloned().map(|call| unread_row(call, &stop.text)));
    }
    let graph = monitor.graph();
    SessionReport {
        source: source.to_owned(),
        id: recording.session_id.clone(),
        events: recording.events.len(),
        records: graph.records().len(),
        checks,
        assumptions: recording.notices.iter().chain(graph.assumptions()).cloned().collect(),
        warnings: graph.warnings().iter().cloned().chain(differs).collect(),
        error: halt.map(|halt| halt.stop),
    }
}

/// The last judgement of a call.
struct Judged {
    decision: Decision,
    judgement: Option<Judgement>,
    asked: bool,
}

fn row(graph: &Graph, number: CallNumber, judged: Judged) -> Option<CallReport> {
    let Judged { decision, judgement, asked } = judged;
    let call = graph.calls().get(number.0 as usize)?;
    Some(CallReport {
        seq: Some(call.record.0),
        event_id: graph.event_id(call.record).to_owned(),
        call_id: call.call_id.to_string(),
        agent: call.agent.to_string(),
        tool: call.tool.to_string(),
        arguments: call.arguments.to_string(),
        decision,
        outcome: graph.outcome(number),
        asked,
        judgement,
    })
}

fn unread_row(call: UnreadCall, stop: &str) -> CallReport {
    CallReport {
        seq: None,
        event_id: call.event_id,
        call_id: call.call_id,
        agent: call.agent,
        tool: call.tool,
        arguments: call.arguments,
        decision: Decision::fault(format!("the session stopped before this call: {stop}")),
        outcome: CallOutcome::None,
        asked: false,
        judgement: None,
    }
}

/// The calls of an event that is not recorded because the session stopped.
fn calls_of(event: &Event) -> Vec<UnreadCall> {
    let call = |kind: &PartKind| match kind {
        PartKind::Call { id, name, arguments } if !is_request(name) => Some(UnreadCall {
            event: event.index,
            event_id: event.id.clone(),
            agent: event.author.clone(),
            call_id: id.clone(),
            tool: name.clone(),
            arguments: arguments.as_ref().map_or_else(|| "{}".to_owned(), Json::ordinary),
        }),
        PartKind::Call { .. }
        | PartKind::Text(_)
        | PartKind::Response { .. }
        | PartKind::Code
        | PartKind::CodeResult { .. }
        | PartKind::ServerCall { .. }
        | PartKind::ServerAnswer { .. }
        | PartKind::Empty => None,
    };
    event.parts.iter().filter_map(|part| call(&part.kind)).collect()
}
