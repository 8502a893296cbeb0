//! The journal of a gate under a policy: every check again, as it was asked.

use std::collections::BTreeMap;

use crate::decision::Decision;
use crate::monitor::Monitor;
use crate::recording::journal::{Answer, Entry, Kept, Question, Step};
use crate::recording::{Notice, Recording, Stop, StopKind};
use crate::records::{CallNumber, CallOutcome};
use crate::replay::due::Due;
use crate::replay::{CallReport, Halt, Judgement, Turn};
use crate::session::{Considered, Session, SessionError};

/// A check of a journal, judged again.
#[derive(Debug)]
pub(crate) struct Check<'a> {
    pub(crate) question: &'a Question,
    pub(crate) answer: &'a Answer,
    /// What was found of its call; none for a check that was denied without a look.
    pub(crate) considered: Option<&'a Considered>,
    pub(crate) decision: Decision,
}

impl Check<'_> {
    fn call(&self) -> Option<CallNumber> {
        self.considered.and_then(Considered::call)
    }
}

/// What is seen on the way through a journal.
pub(crate) enum Seen<'a> {
    /// A check comes next.
    Coming(Due<'a>),
    /// It was judged.
    Judged(Check<'a>),
}

/// Feeds a journal to the monitor, which begins again as the opening says. What was answered decides what ran; the decisions
/// are those of the monitor's policy.
pub(crate) fn go(
    monitor: &mut Monitor,
    recording: &Recording,
    kept: &Kept,
    visit: &mut dyn FnMut(&mut Monitor, Seen<'_>),
) -> Result<(), Halt> {
    let halt = |error: &SessionError, taken: usize| Halt { stop: unfit(error), taken };
    let mut session = Session::open(monitor, &kept.opening).map_err(|error| halt(&error, 0))?;
    let mut taken = 0;
    let mut stopped = None;
    for step in &kept.steps {
        match step {
            Step::Event(number) => {
                if let Some(event) = recording.events.get(*number) {
                    session.append(monitor, event);
                    taken = number + 1;
                }
            }
            Step::Stop(stop) => {
                session.stop(stop);
                stopped.get_or_insert_with(|| Halt { stop: stop.clone(), taken });
            }
            Step::Entry(Entry::Check(question, answer)) => {
                check(&mut session, monitor, (question, answer), visit);
            }
            Step::Entry(entry) => session.take(monitor, entry).map_err(|error| halt(&error, taken))?,
        }
    }
    let stopped = stopped.or_else(|| session.stopped().map(|stop| Halt { stop: stop.clone(), taken }));
    stopped.map_or(Ok(()), Err)
}

fn check(
    session: &mut Session,
    monitor: &mut Monitor,
    (question, answer): (&Question, &Answer),
    visit: &mut dyn FnMut(&mut Monitor, Seen<'_>),
) {
    if !answer.fault.is_empty() {
        visit(monitor, Seen::Coming(Due::Unjudged { question, fault: &answer.fault }));
        session.settle_fault(monitor, question, answer);
        let decision = Decision::fault(answer.fault.clone());
        visit(monitor, Seen::Judged(Check { question, answer, considered: None, decision }));
        return;
    }
    let considered = session.consider(monitor, question);
    visit(monitor, Seen::Coming(Due::Checked { session, considered: &considered, question }));
    let decision = session.judge(monitor, &considered, question);
    session.settle(monitor, &considered, question, answer);
    visit(monitor, Seen::Judged(Check { question, answer, considered: Some(&considered), decision }));
}

/// The same, told as the turns of recorded calls.
pub(crate) fn walk(
    monitor: &mut Monitor,
    recording: &Recording,
    kept: &Kept,
    visit: &mut dyn FnMut(&mut Monitor, Turn),
) -> Result<(), Halt> {
    let mut judged = std::collections::BTreeSet::new();
    go(monitor, recording, kept, &mut |monitor, seen| match seen {
        Seen::Coming(due) => {
            if let Some(call) = due.call().filter(|call| !judged.contains(call)) {
                visit(monitor, Turn::Made(call));
            }
        }
        Seen::Judged(check) => {
            if let Some(call) = check.call() {
                let again = !judged.insert(call);
                let decision = check.decision;
                visit(
                    monitor,
                    if again { Turn::JudgedAgain(call, decision) } else { Turn::Judged(call, decision) },
                );
            }
        }
    })
}

/// Its rows, one for each call that was checked, with the last decision, and whether the gate answered otherwise.
pub(crate) fn rows(
    monitor: &mut Monitor,
    recording: &Recording,
    kept: &Kept,
) -> (Vec<CallReport>, Option<Notice>, Option<Halt>) {
    let mut rows: Vec<CallReport> = Vec::new();
    let mut calls: Vec<Option<CallNumber>> = Vec::new();
    let mut places: BTreeMap<CallNumber, usize> = BTreeMap::new();
    let (mut others, mut judgements) = (0_usize, 0..);
    let served = kept.opening.policy.clone();
    let end = go(monitor, recording, kept, &mut |monitor, seen| {
        let Seen::Judged(check) = seen else { return };
        others += usize::from(check.decision.verdict.name() != check.answer.verdict.name());
        let call = check.call();
        let row = CallReport { judgement: judgements.next().map(Judgement), ..row(monitor, &check) };
        match call.and_then(|call| places.get(&call)).and_then(|&place| rows.get_mut(place)) {
            Some(known) => *known = CallReport { asked: true, ..row },
            None => {
                places.extend(call.map(|call| (call, rows.len())));
                rows.push(row);
                calls.push(call);
            }
        }
    });
    for (row, call) in rows.iter_mut().zip(calls) {
        row.outcome = call.map_or(CallOutcome::None, |call| monitor.graph().outcome(call));
    }
    let notice = (others > 0).then(|| {
        let own = &monitor.program().digest;
        let why = if *own == served {
            "of the same policy".to_owned()
        } else {
            format!("of the policy `{served}`")
        };
        let text = format!("verdicts that are not those of the gate, which were {why}: {others}");
        Notice { kind: "gate_differs".to_owned(), text }
    });
    (rows, notice, end.err())
}

fn row(monitor: &Monitor, check: &Check<'_>) -> CallReport {
    let graph = monitor.graph();
    let call = check.call().and_then(|call| graph.calls().get(call.0 as usize));
    let arguments = match check.considered {
        Some(considered) => considered.arguments().to_owned(),
        None => unjudged_arguments(check.question),
    };
    CallReport {
        judgement: None,
        seq: call.map(|call| call.record.0),
        event_id: call.map_or_else(String::new, |call| call.event_id.clone()),
        call_id: check.question.call_id.clone(),
        agent: check.question.agent.clone(),
        tool: check.question.tool.clone(),
        arguments,
        decision: check.decision.clone(),
        outcome: CallOutcome::None,
        asked: false,
    }
}

/// The arguments of a check that was denied without a look, as ordinary JSON.
pub(crate) fn unjudged_arguments(question: &Question) -> String {
    crate::json::parse(&question.arguments).map_or_else(|_| "{}".to_owned(), |json| json.ordinary())
}

/// An entry that does not fit the ones before it: no gate writes one.
fn unfit(error: &SessionError) -> Stop {
    let text = format!("an entry of the journal does not fit: {error}");
    Stop { kind: StopKind::BrokenJournal, event: None, event_id: String::new(), part: None, text }
}
