//! Answers: of tools, and of persons who approve.

use crate::json::Json;
use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::recording::Author;
use crate::records::Approval;
use crate::records::ApprovalScope;
use crate::records::CallNumber;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::answer;
use crate::records::answer::Shows;
use crate::records::answer::Standing;
use crate::records::approval::Counted;
use crate::records::approval::Reply;
use crate::records::approval::reply;
use crate::records::draft::Answer;
use crate::records::draft::Purpose;
use crate::records::extend::Body;
use crate::records::extend::Scene;
use crate::records::notices::quoted;
use crate::records::pair::CallIndex;
use crate::records::visible::Shown;

impl Graph {
    /// Adds a function response.
    pub(crate) fn add_answer(&mut self, scene: &mut Scene<'_>, body: Body, answer: &Answer<'_>) {
        let index = self.book.answered_by(&self.sight, answer, scene.branch, &scene.taken);
        let (inputs, shown) = match (index, answer.purpose) {
            (Some(index), Purpose::Tool | Purpose::Input) => {
                (self.inputs_of_answer(scene, index, answer.name), Shown::Everyone)
            }
            (None, Purpose::Tool | Purpose::Input) => (ContextId::EMPTY, Shown::Everyone),
            (Some(index), Purpose::Confirmation | Purpose::Credential) => {
                (self.answering(scene, index), Shown::Nobody)
            }
            (None, Purpose::Confirmation | Purpose::Credential) => (ContextId::EMPTY, Shown::Nobody),
        };
        let record = self.record(scene, body, inputs, shown);
        scene.taken.extend(index);
        match (answer.purpose, index) {
            (Purpose::Confirmation, _) => self.confirm_by(scene, answer),
            (Purpose::Credential, _) => {}
            (Purpose::Tool | Purpose::Input, Some(index)) => {
                scene.answers.push(record);
                self.answered(scene, record, index, &answer.response);
            }
            (Purpose::Tool | Purpose::Input, None) => {
                scene.answers.push(record);
                self.unmatched_answer(scene, record, answer);
            }
        }
    }

    /// The records of the event that holds the call.
    fn answering(&mut self, scene: &Scene<'_>, index: CallIndex) -> ContextId {
        let Some(moment) = self.book.call(index).map(|call| call.moment) else { return ContextId::EMPTY };
        let end = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
        let range = self.sight.records_of(moment).unwrap_or(scene.first..end);
        let trail = &mut self.trail;
        self.book.answering(moment, || {
            let records: Vec<_> = range.map(RecordId).collect();
            trail.extend(ContextId::EMPTY, &records)
        })
    }

    /// The same, with what ran inside the call, known or not.
    fn inputs_of_answer(&mut self, scene: &mut Scene<'_>, index: CallIndex, name: &str) -> ContextId {
        let mut inputs = self.answering(scene, index);
        let Some(call) = self.book.call(index) else { return inputs };
        if !call.inner.is_empty() {
            inputs = self.trail.extend(inputs, &call.inner);
        } else if self.agents.contains(&call.name) {
            let id = call.id.clone();
            let unseen = self.unseen_run(scene, name, &id);
            inputs = self.trail.extend(inputs, &[unseen]);
        }
        inputs
    }

    fn unmatched_answer(&mut self, scene: &Scene<'_>, record: RecordId, answer: &Answer<'_>) {
        let (tool, arguments) = (answer.name.to_owned(), "{}".to_owned());
        self.facts.push(SessionFact::ToolOutput { record, tool: tool.clone(), arguments: arguments.clone() });
        let (call_id, status) = (answer.id.to_owned(), Status::Unmatched);
        self.facts.push(SessionFact::ToolOutcome { record, call_id, tool, arguments, status });
        let (id, name) = (quoted(answer.id), quoted(answer.name));
        if self.book.is_empty() && !self.words_seen {
            let text = format!("history starts in the middle: {name} ({id}) is answered without its call");
            self.assumptions.once("history_cut", &text);
        } else {
            let text = format!("the answer {id} of {name} belongs to no call before it");
            self.warnings.add("unmatched_answer", text);
        }
        if !answer.id.is_empty() && !scene.answers_as_person() {
            self.unmatched.insert(answer.id.to_owned());
        }
    }

    /// Notes what an answer says about its call.
    fn answered(&mut self, scene: &Scene<'_>, record: RecordId, index: CallIndex, response: &Json) {
        let Some(call) = self.book.call(index) else { return };
        let shown = answer::shows(response, &call.name);
        let actions = &scene.event.actions;
        let named = !call.id.is_empty()
            && (actions.requested_confirmations.iter().any(|(id, _)| *id == call.id)
                || actions.requested_auth.contains(&call.id));
        let standing = Standing {
            by_person: scene.answers_as_person(),
            outside: scene.through || !call.by_agent || call.refused || call.number.is_none(),
            named_as_waiting: named,
            requested: self.requests.ask_about(index),
            long_running: call.long_running,
        };
        let status = answer::status(shown, standing);
        let number = call.number;
        self.outcome_facts(record, index, status);
        self.notice_answer(record, index, status, shown);
        let Some(call) = self.book.call_mut(index) else { return };
        call.placeholder |= shown == Shows::Placeholder && !standing.by_person && !standing.outside;
        if let Some(outcome) = answer::outcome(call.outcome, status, shown) {
            call.outcome = outcome;
        }
        let settles = match status {
            Status::Ok | Status::Error | Status::Denied | Status::Ungated | Status::Violated => true,
            Status::Answered => call.long_running,
            Status::Running | Status::Pending | Status::Unmatched => false,
        };
        if settles {
            call.result = Some(record);
            self.running.retain(|&running| Some(running) != number);
        }
    }

    fn outcome_facts(&mut self, record: RecordId, index: CallIndex, status: Status) {
        let Some(call) = self.book.call(index) else { return };
        let judged = call.number.and_then(|number| self.calls.get(number.0 as usize));
        let arguments = judged.map_or(&call.unjudged_arguments, |call| &call.arguments).clone();
        let (tool, call_id) = (call.name.clone(), call.id.clone());
        self.facts.push(SessionFact::ToolOutput { record, tool: tool.clone(), arguments: arguments.clone() });
        self.facts.push(SessionFact::ToolOutcome {
            record,
            call_id,
            tool: tool.clone(),
            arguments: arguments.clone(),
            status,
        });
        if status == Status::Ok {
            self.facts.push(SessionFact::ToolResult { record, tool, arguments });
        }
    }

    fn notice_answer(&mut self, record: RecordId, index: CallIndex, status: Status, shown: Shows) {
        let Some(call) = self.book.call(index) else { return };
        let id = quoted(&call.id);
        let tool = quoted(&call.name);
        let contents = |at: RecordId| self.records.get(at.0 as usize).map(|record| record.contents.as_str());
        if let Some(earlier) = call.result.filter(|_| !matches!(status, Status::Pending)) {
            let text = if contents(earlier) == contents(record) {
                format!("the result of call {id} to {tool} stands there twice")
            } else {
                format!("two different results stand there for call {id} to {tool}: both count as inputs")
            };
            self.warnings.add("second_result", text);
        }
        if status == Status::Answered && !call.long_running && call.purpose == Purpose::Tool {
            let text = format!("the answer to call {id} to {tool} was written by a person: it is no result");
            self.warnings.add("answer_by_person", text);
        }
        if status == Status::Denied {
            let text =
                format!("the answer to call {id} to {tool} claims to be a denial, and no log confirms it");
            self.warnings.add("claimed_denial", text);
        }
        let approval =
            call.number.and_then(|n| self.calls.get(n.0 as usize)).and_then(|c| c.approval.as_ref());
        let ran = matches!(status, Status::Ok | Status::Ungated) && shown == Shows::Result;
        if ran && approval.is_some_and(|approval| !approval.confirmed) {
            let text = format!("call {id} to {tool} has a result although it was declined");
            self.warnings.add("declined_then_done", text);
        }
    }

    /// Reads an answer to a request for approval.
    fn confirm_by(&mut self, scene: &mut Scene<'_>, answer: &Answer<'_>) {
        if scene.writer != Author::Person {
            let text =
                format!("answer {} was not given by a person, and counts for nothing", quoted(answer.id));
            self.warnings.add("approval_ignored", text);
            return;
        }
        let (said, payload) = reply(&answer.response);
        let counted = self.requests.answer(&self.book, &self.sight, answer.id, scene.branch, said);
        let counted = counted.and_then(|counted| self.asked_by_framework(counted, answer.id));
        match counted {
            Ok(counted) => self.approve(scene, counted, said == Reply::Yes, payload),
            Err(text) => self.warnings.add("approval_ignored", text),
        }
    }

    /// A model can write a request, but no actions: the framework's own actions have to name the call. Where a session
    /// lost its actions, the framework's placeholder answer stands for them.
    fn asked_by_framework(&mut self, counted: Counted, id: &str) -> Result<Counted, String> {
        let call = self.book.call(counted.call);
        if call.is_some_and(|call| call.asked) {
            return Ok(counted);
        }
        if call.is_some_and(|call| call.placeholder) && !self.actions_seen {
            let text = "the events carry no actions: approvals are read from their parts alone, and rewinds, \
                        compactions and state are unknown";
            self.assumptions.once("actions_missing", text);
            return Ok(counted);
        }
        Err(format!(
            "answer {} counts for nothing: the framework did not ask for approval of its call",
            quoted(id)
        ))
    }

    fn approve(&mut self, scene: &mut Scene<'_>, counted: Counted, confirmed: bool, payload: String) {
        let Some((number, record)) = self.book.call(counted.call).and_then(|c| Some((c.number?, c.record)))
        else {
            return;
        };
        self.requests.close(counted.request, confirmed);
        if counted.scope == ApprovalScope::All {
            let text = "which rules a person was shown is not in this session: an answer covers all ask rules of its call";
            self.assumptions.once("approval_scope_unknown", text);
        }
        let Some(call) = self.calls.get_mut(number.0 as usize) else { return };
        let time = scene.event.time.clone();
        call.approval = Some(Approval { confirmed, scope: counted.scope, time });
        let call_id = call.call_id.clone();
        if !confirmed {
            self.declined.insert((call.tool.clone(), call.arguments.clone()), call_id.clone());
        }
        let (hint, principal) = (counted.hint, String::new());
        self.facts.push(SessionFact::Confirmation { record, call_id, confirmed, hint, payload, principal });
        self.note_answered(scene, number);
    }

    fn note_answered(&self, scene: &mut Scene<'_>, number: CallNumber) {
        if !scene.observed.answered.contains(&number) {
            scene.observed.answered.push(number);
        }
    }
}
