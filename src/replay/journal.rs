//! The journal of a gate under a policy: every check again, as it was asked.

use std::collections::BTreeMap;

use crate::decision::{Decision, Verdict};
use crate::explain::Proof;
use crate::monitor::Monitor;
use crate::recording::journal::{Answer, Entry, Kept, Question, Shelf, Step};
use crate::recording::{Notice, Recording, Stop, StopKind};
use crate::records::{CallNumber, CallOutcome};
use crate::replay::due::Due;
use crate::replay::{CallReport, Halt, Judgement, Turn};
use crate::session::{Considered, Session};

/// A check of a journal, judged again.
#[derive(Debug)]
pub(crate) struct Check<'a> {
    pub(crate) question: &'a Question,
    /// What the gate answered; none where nobody asked it.
    pub(crate) answer: Option<&'a Answer>,
    /// What was found of its call; none for a check that was denied without a look.
    pub(crate) considered: Option<&'a Considered>,
    /// The recorded call that it is about, where that is known without a look.
    pub(crate) known: Option<CallNumber>,
    pub(crate) decision: Decision,
}

impl Check<'_> {
    fn call(&self) -> Option<CallNumber> {
        self.considered.map_or(self.known, Considered::call)
    }
}

/// What is seen on the way through a journal.
pub(crate) enum Seen<'a> {
    /// A check comes next.
    Coming(Due<'a>),
    /// It was judged.
    Judged(Check<'a>),
}

/// A check of a journal, for those who choose among them.
#[derive(Debug)]
pub struct Asked<'a> {
    /// What was asked.
    pub question: &'a Question,
    /// What the gate answered; its ticket names the check.
    pub answer: &'a Answer,
    /// The recorded call that it is about, where there is one.
    pub call: Option<CallNumber>,
}

/// The way through a journal: what is done at each check.
trait Way {
    fn check(&mut self, session: &mut Session, monitor: &mut Monitor, asked: (&Question, &Answer));
}

/// Feeds a journal to the monitor, which begins again as the opening says. What was answered decides what ran; the decisions
/// are those of the monitor's policy.
pub(crate) fn go(
    monitor: &mut Monitor,
    recording: &Recording,
    kept: &Kept,
    visit: &mut dyn FnMut(&mut Monitor, Seen<'_>),
) -> Result<(), Halt> {
    along(monitor, recording, kept, &mut Judge { visit })
}

fn along(monitor: &mut Monitor, recording: &Recording, kept: &Kept, way: &mut dyn Way) -> Result<(), Halt> {
    let mut session = Session::open(monitor, &kept.opening).map_err(|error| unfit(&error, 0))?;
    let mut taken = 0;
    let mut stopped = None;
    let mut shelf = Shelf::default();
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
                way.check(&mut session, monitor, (question, answer));
            }
            Step::Entry(Entry::Shown(shown)) => {
                let whole = shelf.whole(Entry::Shown(shown.clone())).map_err(|error| unfit(&error, taken))?;
                session.take(monitor, &whole).map_err(|error| unfit(&error, taken))?;
            }
            Step::Entry(entry) => session.take(monitor, entry).map_err(|error| unfit(&error, taken))?,
        }
    }
    let stopped = stopped.or_else(|| session.stopped().map(|stop| Halt { stop: stop.clone(), taken }));
    stopped.map_or(Ok(()), Err)
}

/// Judges every check again.
struct Judge<'v> {
    visit: &'v mut dyn FnMut(&mut Monitor, Seen<'_>),
}

impl Way for Judge<'_> {
    fn check(
        &mut self,
        session: &mut Session,
        monitor: &mut Monitor,
        (question, answer): (&Question, &Answer),
    ) {
        let visit = &mut self.visit;
        if !answer.fault.is_empty() {
            visit(monitor, Seen::Coming(Due::Unjudged { question, fault: &answer.fault }));
            session.settle_fault(monitor, question, answer);
            let decision = Decision::fault(answer.fault.clone());
            visit(
                monitor,
                Seen::Judged(Check {
                    question,
                    answer: Some(answer),
                    considered: None,
                    known: None,
                    decision,
                }),
            );
            return;
        }
        let considered = session.consider(monitor, question);
        visit(monitor, Seen::Coming(Due::Checked { session, considered: &considered, question }));
        let decision = session.judge(monitor, &considered, question);
        session.settle(monitor, &considered, question, answer);
        let considered = Some(&considered);
        visit(
            monitor,
            Seen::Judged(Check { question, answer: Some(answer), considered, known: None, decision }),
        );
    }
}

/// Explains the checks that are wanted, and judges none.
struct Explain<'w> {
    wanted: &'w mut dyn FnMut(&Asked<'_>) -> bool,
    proof: Option<Proof>,
}

impl Way for Explain<'_> {
    fn check(
        &mut self,
        session: &mut Session,
        monitor: &mut Monitor,
        (question, answer): (&Question, &Answer),
    ) {
        if !answer.fault.is_empty() {
            let call = session.denied_call(monitor, question);
            if (self.wanted)(&Asked { question, answer, call }) {
                self.proof = Some(session.explain_fault(monitor, call, question, &answer.fault));
            }
            session.settle_fault(monitor, question, answer);
            return;
        }
        let considered = session.consider(monitor, question);
        if (self.wanted)(&Asked { question, answer, call: considered.call() }) {
            self.proof = Some(session.explain(monitor, &considered, question));
        }
        session.settle(monitor, &considered, question, answer);
    }
}

/// Why the last of the wanted checks is decided as it is; none where none is wanted.
pub(crate) fn explain(
    monitor: &mut Monitor,
    recording: &Recording,
    kept: &Kept,
    wanted: &mut dyn FnMut(&Asked<'_>) -> bool,
) -> Result<Option<Proof>, Halt> {
    let mut way = Explain { wanted, proof: None };
    let end = along(monitor, recording, kept, &mut way);
    match (way.proof, end) {
        (Some(proof), _) => Ok(Some(proof)),
        (None, Ok(())) => Ok(None),
        (None, Err(halt)) => Err(halt),
    }
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
    collect(monitor, &kept.opening.policy, &mut |monitor, visit| go(monitor, recording, kept, visit))
}

/// Feeds a session to a monitor, and shows what is seen on the way.
pub(crate) type Drive<'a> =
    dyn FnMut(&mut Monitor, &mut dyn FnMut(&mut Monitor, Seen<'_>)) -> Result<(), Halt> + 'a;

/// The rows of what is seen, of a gate that served that policy.
pub(crate) fn collect(
    monitor: &mut Monitor,
    served: &str,
    drive: &mut Drive<'_>,
) -> (Vec<CallReport>, Option<Notice>, Option<Halt>) {
    let mut rows: Vec<CallReport> = Vec::new();
    let mut calls: Vec<Option<CallNumber>> = Vec::new();
    let mut places: BTreeMap<CallNumber, usize> = BTreeMap::new();
    let (mut others, mut judgements) = (0_usize, 0..);
    let end = drive(monitor, &mut |monitor, seen| {
        let Seen::Judged(check) = seen else { return };
        let differs = |answer: &Answer| check.decision.verdict.name() != answer.verdict.name();
        others += usize::from(check.answer.is_some_and(differs));
        let call = check.call();
        let row = CallReport { judgement: judgements.next().map(Judgement), ..row(monitor, &check) };
        match call.and_then(|call| places.get(&call)).and_then(|&place| rows.get_mut(place)) {
            Some(known) => {
                // Only a person's answer is asked for; a call is also checked again where the history was not whole.
                let asked = known.asked || known.decision.verdict == Verdict::Ask;
                *known = CallReport { asked, ..row };
            }
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
        event_id: call.map_or_else(String::new, |call| graph.event_id(call.record).to_owned()),
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
fn unfit(error: &impl std::fmt::Display, taken: usize) -> Halt {
    let text = format!("an entry of the journal does not fit: {error}");
    let stop = Stop { kind: StopKind::BrokenJournal, event: None, event_id: String::new(), part: None, text };
    Halt { stop, taken }
}
