//! Calls that an event proposes.

use crate::lineage::RecordId;
use crate::recording::Purpose;
use crate::records::CallNumber;
use crate::records::CallOutcome;
use crate::records::Graph;
use crate::records::ProposedCall;
use crate::records::Text;
use crate::records::draft::Proposal;
use crate::records::extend::Body;
use crate::records::extend::Scene;
use crate::records::noted::OfCall;
use crate::records::notices::quoted;
use crate::records::pair::Call;
use crate::records::pair::CallIndex;
use crate::records::visible::Shown;
use std::sync::Arc;

impl Graph {
    /// Adds a function call.
    pub(crate) fn propose(&mut self, scene: &mut Scene<'_>, body: Body, proposal: &Proposal<'_>) {
        let inputs = self.view(scene);
        let shown = match proposal.purpose {
            Purpose::Tool | Purpose::Input => Shown::Everyone,
            Purpose::Confirmation | Purpose::Credential => Shown::Nobody,
        };
        let record = self.record(scene, body, inputs, shown);
        scene.parts.push(record);
        self.notice_reuse(proposal.id);
        let arguments = proposal.text.clone();
        if proposal.purpose == Purpose::Confirmation {
            self.add_request(scene, proposal);
        }
        let number = match proposal.purpose {
            Purpose::Tool => Some(self.judged(scene, record, proposal, arguments.clone())),
            Purpose::Confirmation | Purpose::Credential | Purpose::Input => None,
        };
        let index = self.book.add(Call {
            number,
            record,
            id: proposal.id.into(),
            name: proposal.name.into(),
            purpose: proposal.purpose,
            arguments,
            moment: scene.moment,
            branch: scene.branch,
            scope: scene.scope,
            author: scene.author,
            by_agent: scene.by_agent(),
            long_running: !proposal.id.is_empty()
                && scene.event.long_running.iter().any(|id| id == proposal.id),
            refused: proposal.refused.is_some(),
            result: None,
            outcome: CallOutcome::None,
            asked: 0,
            placeholder: false,
            approved_at: None,
            inner: Vec::new(),
            last_answer: None,
            answering: None,
        });
        self.book.note_id(index);
    }

    fn add_request(&mut self, scene: &Scene<'_>, proposal: &Proposal<'_>) {
        let (book, calls) = (&self.book, &self.calls);
        let arguments_of = |index: CallIndex| {
            let number = book.call(index)?.number?;
            crate::json::parse(&calls.get(number.0 as usize)?.arguments).ok()
        };
        let fault = self.requests.add(book, proposal, scene.place(), &arguments_of);
        if let Some(text) = fault {
            let kind = if scene.by_agent() { "request_ignored" } else { "forged_request" };
            self.warnings.add(kind, text);
        }
    }

    /// Lists a call to be judged.
    fn judged(
        &mut self,
        scene: &mut Scene<'_>,
        record: RecordId,
        proposal: &Proposal<'_>,
        arguments: Text,
    ) -> CallNumber {
        let number = CallNumber(u32::try_from(self.calls.len()).unwrap_or(u32::MAX));
        let (call_id, tool) = (Text::from(proposal.id), Text::from(proposal.name));
        if !self.declined.is_empty()
            && let Some(earlier) = self.declined.get(&(tool.clone(), arguments.clone()))
        {
            let text = format!(
                "call {} to {} repeats call {}, which a person declined",
                quoted(&call_id),
                quoted(&tool),
                quoted(earlier)
            );
            self.warnings.add("declined_before", text);
        }
        self.facts.push_of(OfCall::Proposed, record, self.book.next());
        self.calls.push(ProposedCall {
            record,
            call_id,
            tool,
            arguments,
            agent: scene.event.author.as_str().into(),
            current: Arc::default(),
            time: scene.event.time.as_str().into(),
            refused: proposal.refused.as_deref().map(Box::from),
            approval: None,
        });
        scene.observed.calls.push(number);
        number
    }

    fn notice_reuse(&mut self, id: &str) {
        if id.is_empty() {
            return;
        }
        if self.unmatched.contains(id) {
            let text = format!("call {} is answered before it is made: the list is out of order", quoted(id));
            self.warnings.add("answer_before_call", text);
            self.unmatched.remove(id);
        }
        if self.book.is_noted(id) && self.reused.insert(id.into()) {
            self.warnings.add("reused_call_id", format!("several calls share the id {}", quoted(id)));
        }
    }

    /// Notes which calls the framework itself names as waiting for a person.
    pub(crate) fn note_requested(&mut self, scene: &Scene<'_>) {
        if !scene.by_agent() {
            return;
        }
        for (id, asked) in &scene.event.actions.requested_confirmations {
            let Some(index) = self.book.newest(id, scene.branch) else {
                let text = format!(
                    "event {} asks for approval of {}, which is no call on its branch",
                    quoted(&scene.event.id),
                    quoted(id)
                );
                self.warnings.add("request_ignored", text);
                continue;
            };
            if let Some(call) = self.book.call_mut(index) {
                call.asked += 1;
            }
            self.requests.specify(index, asked.payload.as_ref());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::records::building::build;

    #[test]
    fn calls_that_cannot_be_read_are_refused_and_the_text_of_one_object_is_read() {
        let rows = [
            (r#"bot call c pay "{\"amount\":900}""#, r#"{"amount":900}"#, false),
            (r#"bot call c pay "not json""#, "{}", true),
            (r#"bot call c pay "[1]""#, "{}", true),
            ("bot call c pay [1]", "{}", true),
            ("bot call c pay null", "{}", false),
            ("bot call c - {}", "{}", true),
            (r#"bot call c pay {"a":1} @ "errorCode":"MALFORMED_FUNCTION_CALL""#, r#"{"a":1}"#, true),
            (r#"bot call c pay {"a":1} @ "errorCode":"OTHER""#, r#"{"a":1}"#, false),
        ];
        for (line, arguments, refused) in rows {
            let (graph, _) = build(line);
            let call = graph.calls().get(0).unwrap();
            assert_eq!((call.arguments.as_str(), call.refused.is_some()), (arguments, refused), "{line}");
        }
        let (graph, _) = build(rows[6].0);
        assert!(graph.calls().get(0).unwrap().refused.as_ref().unwrap().contains("MALFORMED_FUNCTION_CALL"));
    }
}
