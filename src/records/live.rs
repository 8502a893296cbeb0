//! What a gate adds to a session: which calls it let run, and how they ended.
//!
//! Without a gate an answer is believed by what it shows. With one it is evidence only where the gate let the call run and
//! the runner says that the tool returned; everything else that comes under the name of a call is text.

use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

use crate::json;
use crate::json::Json;
use crate::lineage::RecordId;
use crate::recording::Event;
use crate::records::CallNumber;
use crate::records::Graph;
use crate::records::Role;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::Text;
use crate::records::UnseenNumber;
use crate::records::answer::Shows;
use crate::records::approval::Counted;
use crate::records::graph::RunChange;
use crate::records::noted::OfCall;
use crate::records::notices::quoted;
use crate::records::pair::CallIndex;
use crate::records::state::Known;
use crate::records::state::UNATTRIBUTED;
use crate::records::state::resource;

/// How a call ended, as its runner says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// The tool returned: its value, where the runner tells it.
    Returned(Option<Json>),
    /// The tool failed.
    Failed,
    /// It did not run.
    NotRun,
    /// It goes on in the background.
    Pending,
    /// What ran is not what was checked.
    Violated,
}

/// What a gate answered about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gating {
    /// It may run.
    Allowed,
    /// It may run once a person has said yes.
    Asked,
    /// It may not run.
    Refused,
}

/// A call that is in no event yet, or not to be told from others.
#[derive(Debug, Clone, Copy)]
pub struct Unseen<'a> {
    /// Names the check.
    pub ticket: &'a str,
    /// Id of the call; may be empty.
    pub call_id: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// The agent that calls.
    pub agent: &'a str,
    /// The invocation; may be empty.
    pub invocation: &'a str,
    /// The branch that the agent is on; empty for none.
    pub branch: &'a str,
    /// The time of the check, RFC 3339; may be empty.
    pub time: &'a str,
}

/// A call that a gate let run and that is in no event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnseenRun {
    /// The record that stands for what it was computed from.
    pub record: RecordId,
    /// Its id; may be empty.
    pub call_id: Text,
    /// The tool.
    pub tool: Text,
    /// The arguments that were checked, as ordinary JSON.
    pub arguments: Text,
}

/// What is known of the checks of one call.
#[derive(Debug, Clone, Default)]
struct Gate {
    allowed: bool,
    /// The checks that asked a person.
    asked: BTreeSet<String>,
    /// The checks that refused it, or asked.
    refused: BTreeSet<String>,
    ending: Option<Ending>,
    /// What it read.
    reads: Vec<RecordId>,
    /// An answer that came before the runner said how the call ended.
    waiting: Option<(RecordId, Status, Shows)>,
}

/// What a gate said about calls.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ledger {
    gates: BTreeMap<CallNumber, Gate>,
    /// Answers that are the gate's own denials, which tell nothing from outside, and those that were told already.
    quiet: BTreeSet<RecordId>,
    /// Calls that were let run and are in no event.
    unseen: Vec<UnseenRun>,
}

impl Graph {
    /// Says, before the first event, that a gate watches the session: what it does not hear of is no evidence.
    pub fn set_gated(&mut self) {
        self.ledger = Some(Ledger::default());
    }

    /// Whether the call waits for its answer, and no rewind undid it.
    #[must_use]
    pub fn awaits(&self, number: CallNumber) -> bool {
        let waits = self.ledger.as_ref().and_then(|ledger| ledger.gates.get(&number));
        let answered = waits.is_some_and(|gate| gate.waiting.is_some());
        let call = self.book.numbered(number);
        call.is_some_and(|call| call.result.is_none() && !answered && self.sight.is_alive(call.moment))
    }

    /// Whether the gate let the call run, and its runner does not say that it did not.
    #[must_use]
    pub fn was_allowed(&self, number: CallNumber) -> bool {
        self.gate(number).is_some_and(|gate| gate.allowed && gate.ending != Some(Ending::NotRun))
    }

    /// Whether the call has its answer.
    #[must_use]
    pub fn is_settled(&self, number: CallNumber) -> bool {
        self.book.numbered(number).is_none_or(|call| call.result.is_some())
    }

    /// Notes what a call read.
    pub(crate) fn add_read(&mut self, number: CallNumber, read: RecordId) {
        if let Some(ledger) = &mut self.ledger {
            ledger.gates.entry(number).or_default().reads.push(read);
        }
    }

    /// What a call read so far.
    pub(crate) fn reads_of(&self, number: CallNumber) -> Vec<RecordId> {
        self.gate(number).map(|gate| gate.reads.clone()).unwrap_or_default()
    }

    fn gate(&self, number: CallNumber) -> Option<&Gate> {
        self.ledger.as_ref()?.gates.get(&number)
    }

    /// Notes what a gate answered about a call. An allowed one runs from then on, with the arguments that were checked:
    /// ordinary JSON.
    pub fn note_check(&mut self, number: CallNumber, ticket: &str, gating: Gating, arguments: &str) {
        let Some(ledger) = &mut self.ledger else { return };
        let gate = ledger.gates.entry(number).or_default();
        if gating == Gating::Asked {
            gate.asked.insert(ticket.to_owned());
        }
        match gating {
            Gating::Asked | Gating::Refused => {
                gate.refused.insert(ticket.to_owned());
            }
            Gating::Allowed => {
                gate.allowed = true;
                // It may have been let run before, and did not.
                gate.ending = None;
                let call = self.calls.get_mut(number.0 as usize);
                if let Some(call) = call.filter(|call| call.arguments != arguments) {
                    call.arguments = arguments.into();
                }
                self.start(number);
            }
        }
    }

    /// Notes how a call ended. If its answer is there already, it is judged now; else when it comes.
    pub fn note_ending(&mut self, number: CallNumber, ending: Ending) {
        let ends = matches!(ending, Ending::Failed | Ending::NotRun);
        let Some(gate) = self.ledger.as_mut().and_then(|ledger| ledger.gates.get_mut(&number)) else {
            return;
        };
        gate.ending = Some(ending);
        let waiting = gate.waiting.take();
        let index = self.book.indexed(number);
        match (waiting, index) {
            (Some((record, status, shown)), Some(index)) => {
                if let Some(status) = self.by_gate(record, index, status, shown) {
                    self.conclude(record, index, status, shown);
                }
            }
            (None, _) | (_, None) if ends => self.end(number),
            (None, _) | (_, None) => {}
        }
    }

    /// The status of an answer under a gate; none where it is not known before the runner says how the call ended. Without a
    /// gate it is as its contents say.
    pub(crate) fn by_gate(
        &mut self,
        record: RecordId,
        index: CallIndex,
        status: Status,
        shown: Shows,
    ) -> Option<Status> {
        let (Some(_), Some(call)) = (&self.ledger, self.book.call(index)) else { return Some(status) };
        let (number, long_running) = (call.number, call.long_running);
        let response = self.response(record);
        let ledger = self.ledger.as_mut()?;
        let Some(gate) = number.and_then(|number| ledger.gates.get_mut(&number)) else {
            return Some(ungated(status));
        };
        if !gate.allowed {
            let confirmed =
                response.as_ref().and_then(check_of).is_some_and(|check| gate.refused.contains(check));
            if confirmed && matches!(status, Status::Denied | Status::Pending) {
                ledger.quiet.insert(record);
                return Some(status);
            }
            return Some(ungated(status));
        }
        let told = match status {
            Status::Answered if long_running => {
                returned(gate, response.as_ref()).map_or(status, |_| Status::Ok)
            }
            Status::Ok | Status::Error | Status::Denied => {
                // What the gate let run, it did not deny.
                let shown_status = if status == Status::Ok { Status::Ok } else { Status::Error };
                match &gate.ending {
                    None => {
                        gate.waiting = Some((record, status, shown));
                        if ledger.quiet.insert(record) {
                            self.tell_output(record, index);
                        }
                        return None;
                    }
                    Some(Ending::Failed | Ending::NotRun) => Status::Error,
                    Some(Ending::Pending) => Status::Pending,
                    Some(Ending::Violated) => Status::Violated,
                    Some(Ending::Returned(None)) => shown_status,
                    Some(Ending::Returned(Some(_))) => {
                        returned(gate, response.as_ref()).map_or(Status::Ungated, |()| shown_status)
                    }
                }
            }
            Status::Running
            | Status::Pending
            | Status::Answered
            | Status::Violated
            | Status::Unmatched
            | Status::Ungated => status,
        };
        if told == Status::Ungated && matches!(status, Status::Ok | Status::Error) {
            self.notice_changed(index);
        }
        Some(told)
    }

    /// Adds the row of what an answer says, of whatever status.
    pub(crate) fn tell_output(&mut self, record: RecordId, index: CallIndex) {
        self.note_of(OfCall::Output, record, index);
    }

    fn response(&self, record: RecordId) -> Option<Json> {
        let record = self.records().get(record.0 as usize)?;
        json::parse(record.contents()).ok()
    }

    fn notice_changed(&mut self, index: CallIndex) {
        let Some(call) = self.book.call(index) else { return };
        let text = format!(
            "the answer to call {} to {} is not what the tool returned: it is no result",
            quoted(&call.id),
            quoted(&call.name)
        );
        self.warnings.add("result_changed", text);
    }

    /// Whether the answer has no row of `ToolOutput` to come: it is the gate's own denial, or has one.
    pub(crate) fn hides_output(&self, record: RecordId) -> bool {
        self.ledger.as_ref().is_some_and(|ledger| ledger.quiet.contains(&record))
    }

    /// Whether a request for approval carries the check that asked. Without a gate it need not.
    pub(crate) fn asked_by_gate(&mut self, counted: &Counted) -> bool {
        if self.ledger.is_none() {
            return true;
        }
        let number = self.book.call(counted.call).and_then(|call| call.number);
        let gate = number.and_then(|number| self.gate(number));
        let asked =
            counted.check.as_ref().is_some_and(|check| gate.is_some_and(|gate| gate.asked.contains(check)));
        if !asked {
            let id = self.book.call(counted.call).map_or(String::new(), |call| call.id.to_string());
            let text = format!(
                "the answer about call {} counts for nothing: its request names no check of this gate that asked",
                quoted(&id)
            );
            self.warnings.add("approval_ignored", text);
        }
        asked
    }

    /// The records that a call which is in no event was computed from: an unattributed record, and behind it all that its
    /// agent can see.
    pub fn unseen_call(&mut self, unseen: &Unseen<'_>) -> Arc<[RecordId]> {
        let event = Event {
            id: format!("check:{}", unseen.ticket),
            author: unseen.agent.to_owned(),
            invocation_id: unseen.invocation.to_owned(),
            branch: unseen.branch.to_owned(),
            time: unseen.time.to_owned(),
            ..Event::default()
        };
        let mut scene = self.scene(&event, false);
        let view = self.view(&mut scene);
        let names = &self.session;
        let path =
            ["call", &names.app, &names.user, &names.session, unseen.agent, unseen.call_id, unseen.tool];
        let contents = resource(&path.map(str::to_owned), UNATTRIBUTED, Known::Nothing);
        let record = self.resource(&mut scene, contents.into(), Role::Agent, view);
        let text = format!(
            "the check of call {} to {} matches no call of {} in the session, or several: it was taken to be computed \
             from all that the agent can see, and from something unknown",
            quoted(unseen.call_id),
            quoted(unseen.tool),
            quoted(unseen.agent)
        );
        self.warnings.add("unseen_call", text);
        Arc::from([record])
    }

    /// Notes that a call which is in no event runs. No answer will be told to be its own, so it does until its runner says
    /// that it failed or did not run: one that returned counts on, for rules that let a thing happen once.
    pub fn start_unseen(
        &mut self,
        record: RecordId,
        unseen: &Unseen<'_>,
        arguments: &str,
    ) -> Option<UnseenNumber> {
        let ledger = self.ledger.as_mut()?;
        let number = UnseenNumber(u32::try_from(ledger.unseen.len()).ok()?);
        let (call_id, tool, arguments) = (unseen.call_id.into(), unseen.tool.into(), arguments.into());
        ledger.unseen.push(UnseenRun { record, call_id, tool, arguments });
        self.runs.push(RunChange::UnseenStarted(number));
        Some(number)
    }

    /// Notes how such a call ended. One that failed has a row that says so.
    pub fn end_unseen(&mut self, number: UnseenNumber, ending: &Ending) {
        let Some(run) = self.unseen_run_of(number).cloned() else { return };
        match ending {
            Ending::Returned(_) | Ending::Pending | Ending::Violated => return,
            Ending::NotRun => {}
            Ending::Failed => {
                let UnseenRun { record, call_id, tool, arguments } = run;
                self.facts.push(SessionFact::ToolOutcome {
                    record,
                    call_id,
                    tool,
                    arguments,
                    status: Status::Error,
                });
            }
        }
        self.runs.push(RunChange::UnseenSettled(number));
    }

    /// A call that was let run and is in no event.
    #[must_use]
    pub fn unseen_run_of(&self, number: UnseenNumber) -> Option<&UnseenRun> {
        self.ledger.as_ref()?.unseen.get(number.0 as usize)
    }

    /// Says something that a person should look at.
    pub fn warn(&mut self, kind: &str, text: String) {
        self.warnings.add(kind, text);
    }
}

/// What an answer is to a call that no gate let run.
fn ungated(status: Status) -> Status {
    match status {
        Status::Ok | Status::Error | Status::Denied => Status::Ungated,
        Status::Running
        | Status::Pending
        | Status::Answered
        | Status::Violated
        | Status::Unmatched
        | Status::Ungated => status,
    }
}

/// The check that an answer in the shape of a gate's denial names.
fn check_of(response: &Json) -> Option<&str> {
    response.field("gatelog")?.field("check").and_then(Json::text)
}

/// Whether the answer is what the runner says the tool returned, as it is or as the `result` of an object.
fn returned(gate: &Gate, response: Option<&Json>) -> Option<()> {
    let (Some(Ending::Returned(Some(value))), Some(response)) = (&gate.ending, response) else { return None };
    let wrapped = match response {
        Json::Object(fields) if fields.len() == 1 => response.field("result"),
        _ => None,
    };
    let value = value.canonical();
    let same = response.canonical() == value || wrapped.is_some_and(|inner| inner.canonical() == value);
    same.then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::building::at;
    use crate::records::building::events;
    use crate::records::building::inputs;
    use crate::records::building::outcomes;
    use crate::records::building::short;
    use crate::records::building::warned;

    fn gated(lines: &str) -> (Graph, Vec<Event>) {
        let mut graph = Graph::default();
        graph.set_gated();
        (graph, events(&short(lines)))
    }

    fn allow(graph: &mut Graph) {
        graph.note_check(CallNumber(0), "t0", Gating::Allowed, r#"{"n":1}"#);
    }

    fn value(text: &str) -> Ending {
        Ending::Returned(Some(json::parse(text).unwrap()))
    }

    const CALL: &str = "bot call c f {\"n\":1}\nbot answer c f {\"m\":2}";

    #[test]
    fn only_what_was_allowed_and_returned_is_a_result() {
        let rows = [
            (Ending::Returned(None), "1 f ok"),
            (value(r#"{"m":2.0}"#), "1 f ok"),
            (value("3"), "1 f ungated"),
            (Ending::Failed, "1 f error"),
            (Ending::NotRun, "1 f error"),
            (Ending::Pending, "1 f pending"),
            (Ending::Violated, "1 f violated"),
        ];
        for (ending, status) in rows {
            for first in [true, false] {
                let (mut graph, list) = gated(CALL);
                graph.extend(&list[0]).unwrap();
                allow(&mut graph);
                if first {
                    graph.note_ending(CallNumber(0), ending.clone());
                }
                graph.extend(&list[1]).unwrap();
                if !first {
                    assert_eq!(outcomes(&graph), (vec![], vec![], vec![1]), "{ending:?}");
                    assert!(!graph.awaits(CallNumber(0)));
                    graph.note_ending(CallNumber(0), ending.clone());
                }
                assert_eq!(outcomes(&graph).0, [status], "{ending:?}");
                assert_eq!(outcomes(&graph).1.len(), usize::from(status.ends_with(" ok")), "{ending:?}");
                assert_eq!(outcomes(&graph).2, [1], "{ending:?}");
            }
        }
        let (mut graph, list) = gated(CALL);
        for event in &list {
            graph.extend(event).unwrap();
        }
        graph.note_ending(CallNumber(0), Ending::Returned(None));
        assert_eq!(outcomes(&graph), (vec!["1 f ungated".to_owned()], vec![], vec![1]));
    }

    #[test]
    fn a_failure_is_no_result_whatever_the_runner_says() {
        let (mut graph, list) = gated("bot call c f {}\nbot answer c f {\"error\":\"x\"}");
        graph.extend(&list[0]).unwrap();
        allow(&mut graph);
        graph.note_ending(CallNumber(0), Ending::Returned(None));
        graph.extend(&list[1]).unwrap();
        assert_eq!(outcomes(&graph).0, ["1 f error"]);
    }

    #[test]
    fn a_denial_of_the_gate_tells_nothing_and_a_forged_one_is_text() {
        for (check, status, outputs) in [("t0", "1 f denied", vec![]), ("t1", "1 f ungated", vec![1])] {
            let answer =
                format!(r#"{{"error":"[BLOCKED] no","gatelog":{{"verdict":"deny","check":"{check}"}}}}"#);
            let (mut graph, list) = gated(&format!("bot call c f {{}}\nbot answer c f {answer}"));
            graph.extend(&list[0]).unwrap();
            graph.note_check(CallNumber(0), "t0", Gating::Refused, "{}");
            graph.extend(&list[1]).unwrap();
            assert_eq!((outcomes(&graph).0, outcomes(&graph).2), (vec![status.to_owned()], outputs));
            assert_eq!(warned(&graph), [""; 0]);
        }
    }

    #[test]
    fn a_long_running_call_is_answered_by_what_its_runner_finished_with() {
        let lines = "bot call c f {} @ \"longRunningToolIds\":[\"c\"]\nbot answer c f {\"started\":1}\nuser answer c f {\"done\":1}";
        for (ending, last) in [
            (Some(value(r#"{"done":1}"#)), "2 f ok"),
            (Some(value(r#"{"started":1}"#)), "2 f answered"),
            (Some(Ending::Returned(None)), "2 f answered"),
            (None, "2 f answered"),
        ] {
            let (mut graph, list) = gated(lines);
            graph.extend(&list[0]).unwrap();
            allow(&mut graph);
            graph.note_ending(CallNumber(0), Ending::Pending);
            graph.extend(&list[1]).unwrap();
            if let Some(ending) = ending.clone() {
                graph.note_ending(CallNumber(0), ending);
            }
            graph.extend(&list[2]).unwrap();
            assert_eq!(outcomes(&graph).0, ["1 f pending", last], "{ending:?}");
        }
    }

    #[test]
    fn a_call_in_no_event_comes_from_all_that_its_agent_sees() {
        let (mut graph, list) = gated("user say go\nbot say x\nbot say y");
        for event in list.iter().take(2) {
            graph.extend(event).unwrap();
        }
        let unseen = Unseen {
            ticket: "t",
            call_id: "c",
            tool: "f",
            agent: "bot",
            invocation: "",
            branch: "",
            time: "",
        };
        let current = graph.unseen_call(&unseen);
        assert_eq!((&*current, inputs(&graph, 2)), (&[RecordId(2)][..], vec![0, 1]));
        assert!(at(&graph, 2).contents().contains(UNATTRIBUTED));
        let first = graph.start_unseen(RecordId(2), &unseen, "{}").unwrap();
        let second = graph.start_unseen(RecordId(2), &unseen, "{}").unwrap();
        for ending in [Ending::Pending, Ending::Returned(None), Ending::Violated, Ending::NotRun] {
            graph.end_unseen(first, &ending);
        }
        assert_eq!(outcomes(&graph).0, [""; 0]);
        graph.end_unseen(second, &Ending::Failed);
        assert_eq!(outcomes(&graph).0, ["2 f error"]);
        let settled = RunChange::UnseenSettled;
        let started = RunChange::UnseenStarted;
        assert_eq!(graph.runs(), [started(first), started(second), settled(first), settled(second)]);
        // It is shown to nobody.
        graph.extend(&list[2]).unwrap();
        assert_eq!(inputs(&graph, 3), [0, 1]);
    }
}
