//! Answers: of tools, and of persons who approve.

use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::recording::Author;
use crate::recording::Purpose;
use crate::records::Approval;
use crate::records::ApprovalScope;
use crate::records::CallNumber;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::Text;
use crate::records::answer;
use crate::records::answer::Shows;
use crate::records::answer::Standing;
use crate::records::approval::Counted;
use crate::records::approval::Reply;
use crate::records::approval::reply;
use crate::records::draft::Answer;
use crate::records::extend::Body;
use crate::records::extend::Scene;
use crate::records::noted::OfCall;
use crate::records::notices::quoted;
use crate::records::pair::Call;
use crate::records::pair::CallIndex;
use crate::records::rows::Form;
use crate::records::visible::Shown;

impl Graph {
    /// Adds a function response.
    pub(crate) fn add_answer(&mut self, scene: &mut Scene<'_>, mut body: Body, answer: &Answer<'_>) {
        // What ran is known by its id alone: its answer may name the tool that was asked for.
        let name = if scene.event.ran_otherwise { "" } else { answer.name };
        let sought = (answer.id, name);
        let index = self.book.answered_by(&self.sight, sought, scene.branch);
        let (inputs, shown) = match (index, answer.purpose) {
            (Some(index), Purpose::Tool | Purpose::Input) => {
                (self.inputs_of_answer(scene, index, answer.name), Shown::Everyone)
            }
            (None, Purpose::Tool | Purpose::Input) => (self.behind_unsent(ContextId::EMPTY), Shown::Everyone),
            (Some(index), Purpose::Confirmation | Purpose::Credential) => {
                (self.answering(scene, index), Shown::Nobody)
            }
            (None, Purpose::Confirmation | Purpose::Credential) => (ContextId::EMPTY, Shown::Nobody),
        };
        let named = index.and_then(|index| self.book.call(index));
        if named.is_none_or(|call| call.id != answer.id || call.name != answer.name) {
            body.form = Form::Kept;
        }
        let record = self.record(scene, body, inputs, shown);
        scene.taken.extend(index);
        if let Some(index) = index {
            self.book.take(index);
            self.book.note_answer(index, record);
        }
        match (answer.purpose, index) {
            (Purpose::Confirmation, _) => self.confirm_by(scene, record, answer),
            (Purpose::Credential, _) => {}
            (Purpose::Tool | Purpose::Input, Some(index)) => {
                scene.answers.push(record);
                self.answered(scene, record, index, answer);
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
        let end = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let range = self.sight.records_of(moment).unwrap_or(scene.first..end);
        let trail = &mut self.trail;
        self.book.answering(moment, || {
            let records: Vec<_> = range.map(RecordId).collect();
            trail.extend(ContextId::EMPTY, &records)
        })
    }

    /// The same, with what ran inside the call, known or not.
    fn inputs_of_answer(&mut self, scene: &mut Scene<'_>, index: CallIndex, name: &str) -> ContextId {
        let own = self.answering(scene, index);
        let mut inputs = self.with_reads(index, own);
        let Some(call) = self.book.call(index) else { return inputs };
        if !call.inner.is_empty() {
            inputs = self.trail.extend(inputs, &call.inner);
        } else if self.agents.contains(call.name.as_str()) {
            let id = call.id.clone();
            let unseen = self.unseen_run(scene, name, &id);
            inputs = self.trail.extend(inputs, &[unseen]);
        }
        self.behind_unsent(inputs)
    }

    fn unmatched_answer(&mut self, scene: &Scene<'_>, record: RecordId, answer: &Answer<'_>) {
        let (tool, arguments) = (Text::from(answer.name), Text::inline("{}"));
        self.facts.push(SessionFact::ToolOutput { record, tool: tool.clone(), arguments: arguments.clone() });
        let (call_id, status) = (Text::from(answer.id), Status::Unmatched);
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
    fn answered(&mut self, scene: &mut Scene<'_>, record: RecordId, index: CallIndex, answer: &Answer<'_>) {
        let Some(call) = self.book.call(index) else { return };
        let shown = shows(scene, answer, &call.name);
        let standing = self.standing(scene, index, call);
        let status = answer::status(shown, standing);
        let Some(status) = self.by_gate(record, index, status, shown) else {
            scene.waits = true;
            return;
        };
        let Some(call) = self.book.call(index) else { return };
        scene.waits |= status == Status::Pending;
        if scene.event.actions.confirmation_decision == Some(true) {
            let text = format!(
                "call {} to {} was let run by the program around the agent: who was asked is not recorded, and it counts \
                 for no approval",
                quoted(&call.id),
                quoted(&call.name)
            );
            self.warnings.add("approval_ignored", text);
        }
        if let Some(call) = self.book.call_mut(index) {
            call.placeholder |= shown == Shows::Placeholder && !standing.by_person && !standing.outside;
        }
        self.conclude(record, index, status, shown);
        if status == Status::Unmatched {
            self.notice_foreign(index);
        }
        if let Some(asked) = self.book.earlier(index).filter(|_| status == Status::Violated) {
            self.notice_violation(asked, index);
            self.conclude(record, asked, status, shown);
        }
    }

    /// What matters about an answer beside its contents.
    fn standing(&self, scene: &Scene<'_>, index: CallIndex, call: &Call) -> Standing {
        let actions = &scene.event.actions;
        let named = !call.id.is_empty()
            && (actions.requested_confirmations.iter().any(|(id, _)| *id == call.id)
                || actions.requested_auth.iter().any(|id| *id == call.id));
        // The runner writes an answer after the message with its call, in the name of the agent that made it.
        let foreign = call.moment == scene.moment
            || scene.event.author.is_empty()
            || (scene.author != call.author && !scene.is_handed_back());
        Standing {
            by_person: scene.answers_as_person(),
            outside: scene.through || !call.by_agent || call.refused || call.number.is_none(),
            named_as_waiting: named,
            requested: self.requests.ask_about(index),
            long_running: call.long_running,
            foreign,
            ran_otherwise: scene.event.ran_otherwise,
        }
    }

    /// Notes what became of a call by an answer of this status.
    pub(crate) fn conclude(&mut self, record: RecordId, index: CallIndex, status: Status, shown: Shows) {
        self.outcome_facts(record, index, status);
        self.notice_answer(record, index, status, shown);
        let Some(call) = self.book.call_mut(index) else { return };
        let number = call.number;
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
            if let Some(number) = number {
                self.end(number);
            }
        }
    }

    fn outcome_facts(&mut self, record: RecordId, index: CallIndex, status: Status) {
        if !self.hides_output(record) {
            self.tell_output(record, index);
        }
        self.note_of(OfCall::Outcome(status), record, index);
        if status == Status::Ok {
            self.note_of(OfCall::Result, record, index);
        }
    }

    fn notice_foreign(&mut self, index: CallIndex) {
        let Some(call) = self.book.call(index) else { return };
        let text = format!(
            "the answer to call {} to {} stands in the message of its call, or is not written in the name of {}: it is \
             no result",
            quoted(&call.id),
            quoted(&call.name),
            quoted(self.sight.text(call.author))
        );
        self.warnings.add("foreign_answer", text);
    }

    fn notice_violation(&mut self, asked: CallIndex, ran: CallIndex) {
        let (Some(asked), Some(ran)) = (self.book.call(asked), self.book.call(ran)) else { return };
        let what = if asked.name == ran.name { "with other arguments" } else { "under another name" };
        let text = format!(
            "the model's call {} to {} ran {what}, as {}: its answer is no result, and what ran is judged by itself",
            quoted(&asked.id),
            quoted(&asked.name),
            quoted(&ran.name)
        );
        self.warnings.add("call_changed", text);
    }

    fn notice_answer(&mut self, record: RecordId, index: CallIndex, status: Status, shown: Shows) {
        let Some(call) = self.book.call(index) else { return };
        let id = quoted(&call.id);
        let tool = quoted(&call.name);
        let contents = |at: RecordId| self.records().get(at.0 as usize).map(|record| record.contents());
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
        if status == Status::Denied && !self.hides_output(record) {
            let text =
                format!("the answer to call {id} to {tool} claims to be a denial, and no log confirms it");
            self.warnings.add("claimed_denial", text);
        }
        let approval =
            call.number.and_then(|n| self.calls.get(n.0 as usize)).and_then(|c| c.approval.as_deref());
        let ran = matches!(status, Status::Ok | Status::Ungated) && shown == Shows::Result;
        if ran && approval.is_some_and(|approval| !approval.confirmed) {
            let text = format!("call {id} to {tool} has a result although it was declined");
            self.warnings.add("declined_then_done", text);
        }
    }

    /// Reads an answer to a request for approval.
    fn confirm_by(&mut self, scene: &mut Scene<'_>, record: RecordId, answer: &Answer<'_>) {
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
            Ok(counted) => self.approve(scene, (record, said == Reply::Yes), counted, payload),
            Err(text) => self.warnings.add("approval_ignored", text),
        }
    }

    /// A model can write a request, but no actions: the framework's own actions have to name the call. Where a session
    /// lost its actions, the framework's placeholder answer stands for them.
    fn asked_by_framework(&mut self, counted: Counted, id: &str) -> Result<Counted, String> {
        let call = self.book.call(counted.call);
        if call.is_some_and(|call| call.asked > counted.round) {
            return Ok(counted);
        }
        if call.is_some_and(|call| call.placeholder) && counted.round == 0 && !self.actions_seen {
            let text = "the events carry no actions: approvals are read from their parts alone, and rewinds, \
                        compactions and state are unknown";
            self.assumptions.once("actions_missing", text);
            return Ok(counted);
        }
        let why = if counted.round == 0 {
            "the framework did not ask for approval of its call"
        } else {
            "the framework asked for approval of its call with an earlier request"
        };
        Err(format!("answer {} counts for nothing: {why}", quoted(id)))
    }

    fn approve(
        &mut self,
        scene: &mut Scene<'_>,
        (answer, confirmed): (RecordId, bool),
        counted: Counted,
        payload: String,
    ) {
        if !self.asked_by_gate(&counted) {
            return;
        }
        let Some((number, record)) = self.book.call(counted.call).and_then(|c| Some((c.number?, c.record)))
        else {
            return;
        };
        self.requests.close(counted.request, confirmed);
        if let Some(call) = self.book.call_mut(counted.call) {
            call.approved_at = Some(scene.moment);
        }
        if counted.scope == ApprovalScope::All {
            let text = "which rules a person was shown is not in this session: an answer covers all ask rules of its call";
            self.assumptions.once("approval_scope_unknown", text);
        }
        let Some(call) = self.calls.get_mut(number.0 as usize) else { return };
        let time = scene.event.time.clone();
        let scope = counted.scope;
        let approval = Approval { confirmed, scope, time, record: Some(answer), principal: None };
        call.approval = Some(Box::new(approval));
        let call_id = Text::from(call.call_id.as_str());
        if !confirmed {
            let declined = (call.tool.as_str().into(), call.arguments.as_str().into());
            self.declined.insert(declined, call_id.clone());
        }
        let (hint, payload, principal) = (counted.hint.into(), payload.into(), Text::new());
        self.facts.push(SessionFact::Confirmation { record, call_id, confirmed, hint, payload, principal });
        self.note_answered(scene, number);
    }

    fn note_answered(&self, scene: &mut Scene<'_>, number: CallNumber) {
        if !scene.observed.answered.contains(&number) {
            scene.observed.answered.push(number);
        }
    }
}

/// What an answer of the event shows of its call.
fn shows(scene: &Scene<'_>, answer: &Answer<'_>, tool: &str) -> Shows {
    // What goes on has not returned.
    let said = if answer.continues { Shows::Waiting } else { answer::shows(&answer.response, tool) };
    let fails = answer.is_empty || !scene.event.error_code.is_empty();
    match (said, scene.event.actions.confirmation_decision) {
        // The call did not run, whatever its answer says.
        (Shows::Result | Shows::Waiting, Some(false)) => Shows::Failure,
        (Shows::Result, _) if fails => Shows::Failure,
        (shown, _) => shown,
    }
}

#[cfg(test)]
mod tests {
    use crate::records::ApprovalScope;
    use crate::records::CallNumber;
    use crate::records::Graph;
    use crate::records::RunChange;
    use crate::records::SessionFact;
    use crate::records::Text;
    use crate::records::building::assumed;
    use crate::records::building::build;
    use crate::records::building::inputs;
    use crate::records::building::outcomes;
    use crate::records::building::warned;

    #[test]
    fn every_answer_is_an_output_and_only_sound_ones_are_results() {
        let (graph, _) = build(
            r#"bot call c1 f {"n":1}
               bot answer c1 f {"status":"pending"}
               bot answer c1 f {"price":99}
               bot answer c1 f {"price":10}
               bot answer c1 f {"error":"late"}
               bot answer c1 f {"pending":true}
               user answer c1 f {"price":0}
               bot say end"#,
        );
        let expected = ["1 f pending", "2 f ok", "3 f ok", "4 f error", "5 f pending", "6 f answered"];
        assert_eq!(
            outcomes(&graph),
            (expected.map(str::to_owned).to_vec(), vec![2, 3], vec![1, 2, 3, 4, 5, 6])
        );
        assert_eq!(inputs(&graph, 7), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(graph.outcome(CallNumber(0)).name(), "error");
        assert_eq!(warned(&graph), ["second_result", "answer_by_person"]);
    }

    #[test]
    fn persons_and_agents_elsewhere_give_no_evidence() {
        let a2a = r#"@ "customMetadata":{"a2a:x":1}"#;
        let rows = [
            ("bot call c f {}\nuser answer c f {}".to_owned(), "1 f answered", "none"),
            (format!("bot call c f {{}}\nuser answer c f {{}} {a2a}"), "1 f answered", "none"),
            (format!("bot call c f {{}}\nbot answer c f {{}} {a2a}"), "1 f ungated", "ok"),
            (format!("peer call c f {{}} {a2a}\nbot answer c f {{}}"), "2 f ungated", "ok"),
            ("user call c f {}\nbot answer c f {}".to_owned(), "1 f ungated", "ok"),
            ("bot call c f []\nbot answer c f {}".to_owned(), "1 f ungated", "ok"),
            (
                r#"bot call c f {} @ "longRunningToolIds":["c"]"#.to_owned() + "\nbot answer c f {}",
                "1 f pending",
                "pending",
            ),
            (
                r#"bot call c f {}"#.to_owned() + "\nuser answer c f {} @ \"nodeInfo\":{\"path\":\"b@1\"}",
                "1 f ok",
                "ok",
            ),
        ];
        for (lines, status, outcome) in rows {
            let (graph, _) = build(&lines);
            assert_eq!(outcomes(&graph).0, [status], "{lines}");
            assert_eq!(outcomes(&graph).1.len(), usize::from(status.ends_with(" ok")), "{lines}");
            assert_eq!(graph.outcome(CallNumber(0)).name(), outcome, "{lines}");
        }
    }

    #[test]
    fn what_is_hardly_an_answer_is_no_evidence() {
        let rows = [
            ("bot call c f {}\n& answer c f {}", "1 f unmatched"),
            ("bot call c f {}\nzed answer c f {}", "1 f unmatched"),
            ("bot call c f {}\nbot answer c f null", "1 f error"),
            ("bot call c f {}\nbot answer c f {\"n\":1} @ \"errorCode\":\"X\"", "1 f error"),
            ("bot call c f {}\nbot answer c f {\"result\":null}", "1 f ok"),
        ];
        for (lines, status) in rows {
            let (graph, _) = build(lines);
            assert_eq!(outcomes(&graph).0, [status], "{lines}");
            assert_eq!(outcomes(&graph).1.len(), usize::from(status.ends_with(" ok")), "{lines}");
            assert_eq!(outcomes(&graph).2, [1], "{lines}");
        }
        let nobody = r#"[{"author":"bot","content":{"parts":[{"functionCall":{"id":"c","name":"f"}}]}},
            {"content":{"parts":[{"functionResponse":{"id":"c","name":"f","response":{}}}]}}]"#;
        let (graph, _) = crate::records::building::graph(nobody);
        assert_eq!(outcomes(&graph), (vec!["1 f unmatched".to_owned()], vec![], vec![1]));
        assert_eq!(warned(&graph), ["foreign_answer"]);
    }

    #[test]
    fn a_call_that_ran_otherwise_gives_no_evidence_and_what_ran_is_judged() {
        let lines = "bot call c f {\"n\":1}\nbot call c g {\"n\":2}\nbot answer c f {}";
        let mut graph = Graph::default();
        for (number, mut event) in
            crate::records::building::events(&crate::records::building::short(lines)).into_iter().enumerate()
        {
            event.ran_otherwise = number > 0;
            graph.extend(&event).unwrap();
        }
        let rows = ["2 g violated", "2 f violated"].map(str::to_owned).to_vec();
        assert_eq!(outcomes(&graph), (rows, vec![], vec![2, 2]));
        assert_eq!(graph.calls().len(), 2);
        for call in [0, 1] {
            assert_eq!(graph.outcome(CallNumber(call)).name(), "error");
        }
        assert_eq!(warned(&graph), ["reused_call_id", "call_changed"]);
    }

    #[test]
    fn an_answer_is_shown_to_its_caller_wherever_it_was_filed() {
        for place in [r#""branch":"x@c""#, r#""isolationScope":"c""#] {
            let lines = format!("bot call c f {{}}\nbot answer c f {{}} @ {place}\nbot say end");
            let (graph, _) = build(&lines);
            assert_eq!(inputs(&graph, 2), [0, 1], "{place}");
        }
    }

    #[test]
    fn a_long_running_call_is_answered_by_a_person_and_long_running_is_of_its_place() {
        let (graph, _) = build(
            r#"bot call c f {} @ "longRunningToolIds":["c"]
               bot answer c f {"error":"x"}
               user answer c f {"status":"approved"}
               bot call c f {}
               bot answer c f {}"#,
        );
        assert_eq!(outcomes(&graph).0, ["1 f pending", "2 f answered", "4 f ok"]);
        assert_eq!(warned(&graph), ["reused_call_id"]);
    }

    #[test]
    fn a_claimed_denial_is_said_and_stays_an_output() {
        let (graph, _) = build(
            r#"bot call c f {}
                     bot answer c f {"error":"[BLOCKED] no","gatelog":{"verdict":"deny","check":"1"}}"#,
        );
        assert_eq!(outcomes(&graph), (vec!["1 f denied".to_owned()], vec![], vec![1]));
        assert_eq!((graph.outcome(CallNumber(0)).name(), warned(&graph)), ("denied", vec!["claimed_denial"]));
    }

    #[test]
    fn what_runs_runs_until_an_answer_that_is_not_pending() {
        let (mut graph, _) = build("bot call c1 f {}\n& call c2 f {}");
        graph.start(CallNumber(1));
        graph.start(CallNumber(0));
        graph.start(CallNumber(0));
        graph.start(CallNumber(7));
        let started = [1, 0].map(|n| RunChange::Started(CallNumber(n)));
        assert_eq!(graph.runs(), started);
        let more = crate::records::building::short(
            r#"bot answer c1 f {"pending":true}
            user answer c1 f {}
            bot answer c2 f {"error":1}"#,
        );
        for event in crate::records::building::events(&more) {
            graph.extend(&event).unwrap();
        }
        graph.start(CallNumber(1));
        assert_eq!(graph.runs(), [started[0], started[1], RunChange::Settled(CallNumber(1))]);
    }

    const CALL: &str = "bot call c1 pay {\"n\":1,\"to\":\"m\"}\n";
    const WAITS: &str = r#"bot answer c1 pay {"error":"This tool call requires confirmation, please approve or reject."} @ "actions":{"requestedToolConfirmations":{"c1":{"hint":"sure?"}}}
"#;
    const YES: &str =
        "user answer k1 adk_request_confirmation {\"confirmed\":true,\"payload\":{\"b\":1,\"a\":2}}\n";
    const NO: &str = "user answer k1 adk_request_confirmation {\"confirmed\":false}\n";

    fn request(author: &str, id: &str, of: &str) -> String {
        format!(
            r#"{author} call {id} adk_request_confirmation {{"originalFunctionCall":{of},"toolConfirmation":{{"hint":"sure?","confirmed":false}}}}
"#
        )
    }

    fn asked() -> String {
        request("bot", "k1", r#"{"id":"c1","name":"pay","args":{"to":"m","n":1.0}}"#)
    }

    /// What counts for the first call: yes, no, or nothing.
    fn approval(graph: &Graph) -> Option<bool> {
        graph.calls().get(0).unwrap().approval.as_ref().map(|approval| approval.confirmed)
    }

    #[test]
    fn an_approval_counts_for_its_call_once() {
        let lines = [CALL, &asked(), WAITS, YES].concat();
        let (graph, observed) = build(&lines);
        assert_eq!(observed[3].answered, [CallNumber(0)]);
        assert_eq!(approval(&graph), Some(true));
        assert_eq!(
            graph.calls().get(0).unwrap().approval.as_ref().map(|a| &a.scope),
            Some(&ApprovalScope::All)
        );
        assert_eq!(assumed(&graph), ["approval_scope_unknown"]);
        let fact = graph.facts().iter().last();
        assert_eq!(
            fact,
            Some(SessionFact::Confirmation {
                record: crate::lineage::RecordId(0),
                call_id: "c1".into(),
                confirmed: true,
                hint: "sure?".into(),
                payload: r#"{"a":2,"b":1}"#.into(),
                principal: Text::new(),
            })
        );
        assert!(outcomes(&graph).1.is_empty());
        let (graph, observed) = build(&[&lines, YES].concat());
        assert!(observed[4].answered.is_empty());
        assert_eq!(warned(&graph), ["approval_ignored"]);
        let (graph, observed) = build(&[&lines, NO].concat());
        assert_eq!((observed[4].answered.len(), approval(&graph)), (1, Some(false)));
        let (graph, _) = build(&[&lines, NO, YES].concat());
        assert_eq!(approval(&graph), Some(false));
    }

    #[test]
    fn what_is_not_a_sound_approval_counts_for_nothing() {
        let other = request("bot", "k1", r#"{"id":"c1","name":"pay","args":{"to":"x","n":1}}"#);
        let name = request("bot", "k1", r#"{"id":"c1","name":"play","args":{"to":"m","n":1}}"#);
        let missing = request("bot", "k1", r#"{"id":"c9","name":"pay","args":{"to":"m","n":1}}"#);
        let forged = request("user", "k1", r#"{"id":"c1","name":"pay","args":{"to":"m","n":1}}"#);
        let a2a = |line: &str| line.trim_end().to_owned() + " @ \"customMetadata\":{\"a2a\":1}\n";
        let elsewhere = |line: &str| line.trim_end().to_owned() + " @ \"branch\":\"r.b\"\n";
        let here = |line: &str| line.trim_end().to_owned() + " @ \"branch\":\"r.a\"\n";
        let done = "bot answer c1 pay {\"ok\":true}\n".to_owned();
        let vague = YES.replace("true", "\"true\"");
        let (call, waits, yes, asked) = (CALL.to_owned(), WAITS.to_owned(), YES.to_owned(), asked());
        let join = |lines: &[&String]| lines.iter().map(|line| line.as_str()).collect::<String>();
        let own = asked.replace("bot call", "& call");
        let later = asked.replace("k1", "k0");
        let waits_here = waits.trim_end().to_owned() + ",\"branch\":\"r.a\"\n";
        let rows: [(&str, String); 20] = [
            ("in one message with its call", join(&[&call, &own, &waits, &yes])),
            ("a second one that nobody asked for", join(&[&call, &later, &waits, &asked, &yes])),
            ("on the branch above", join(&[&here(&call), &asked, &waits_here, &yes])),
            ("on a branch of its own", join(&[&call, &here(&asked), &waits_here, &yes])),
            ("asked for on another branch", join(&[&here(&call), &here(&asked), &waits, &yes])),
            ("other arguments", join(&[&call, &other, &waits, &yes])),
            ("another tool", join(&[&call, &name, &waits, &yes])),
            ("no such call", join(&[&call, &missing, &waits, &yes])),
            ("made by the user side", join(&[&call, &forged, &waits, &yes])),
            ("made elsewhere", join(&[&call, &a2a(&asked), &waits, &yes])),
            ("before its call", join(&[&asked, &call, &waits, &yes])),
            ("answered elsewhere", join(&[&call, &asked, &waits, &a2a(&yes)])),
            ("answered by an agent", join(&[&call, &asked, &waits, &yes.replace("user", "bot")])),
            ("two requests", join(&[&call, &asked, &asked, &waits, &yes])),
            ("no request", join(&[&call, &waits, &yes])),
            ("the framework did not ask", join(&[&call, &asked, &yes])),
            ("too late", join(&[&call, &asked, &waits, &done, &yes])),
            ("another branch", join(&[&here(&call), &here(&asked), &waits, &elsewhere(&yes)])),
            ("request on another branch", join(&[&here(&call), &elsewhere(&asked), &waits, &yes])),
            ("neither true nor false", join(&[&call, &asked, &waits, &vague])),
        ];
        for (name, lines) in rows {
            let (graph, observed) = build(&lines);
            assert!(observed.iter().all(|seen| seen.answered.is_empty()), "{name}");
            assert_eq!(approval(&graph), None, "{name}");
            assert!(!format!("{:?}", graph.facts()).contains("Confirmation"), "{name}");
            let told = warned(&graph).contains(&"approval_ignored");
            assert!(told && graph.warnings().iter().any(|notice| notice.text.contains("`k1`")), "{name}");
        }
    }

    #[test]
    fn a_session_that_lost_its_actions_is_read_by_its_parts() {
        let waits = WAITS.split(" @ ").next().unwrap().to_owned() + "\n";
        let (graph, _) = build(&[CALL, &asked(), &waits, YES].concat());
        assert_eq!(approval(&graph), Some(true));
        assert_eq!(assumed(&graph), ["actions_missing", "approval_scope_unknown"]);
        assert_eq!(outcomes(&graph).0, ["2 pay pending"]);
        let seen = "bot say x @ \"actions\":{\"stateDelta\":{\"a\":1}}\n";
        let (graph, _) = build(&[seen, CALL, &asked(), &waits, YES].concat());
        assert_eq!(approval(&graph), None);
        let (graph, _) = build(&[CALL, &waits].concat());
        assert_eq!(outcomes(&graph).0, ["1 pay error"]);
    }

    #[test]
    fn rules_that_a_person_was_shown_limit_the_answer() {
        let waits =
            WAITS.replace(r#""hint":"sure?""#, r#""hint":"sure?","payload":{"gatelog":{"rules":["a","b"]}}"#);
        let (graph, _) = build(&[CALL, &asked(), &waits, YES].concat());
        let scope = graph.calls().get(0).unwrap().approval.as_ref().map(|approval| approval.scope.clone());
        assert_eq!(scope, Some(ApprovalScope::Rules(vec!["a".to_owned(), "b".to_owned()])));
        assert!(assumed(&graph).is_empty());
    }

    #[test]
    fn a_declined_call_that_ran_and_its_repetition_are_said() {
        let done = "bot answer c1 pay {\"ok\":true}\n";
        let again = "bot call c2 pay {\"to\":\"m\",\"n\":1}\n";
        let (graph, _) = build(&[CALL, &asked(), WAITS, NO, done, again].concat());
        assert_eq!(approval(&graph), Some(false));
        assert_eq!(warned(&graph), ["declined_then_done", "declined_before"]);
    }

    #[test]
    fn a_rewind_takes_an_approval_with_it() {
        let call = CALL.trim_end().to_owned() + " @ \"invocationId\":\"i1\"\n";
        let rewind = "user nothing @ \"actions\":{\"rewindBeforeInvocationId\":\"i1\"}\n";
        let (graph, _) = build(&[&call, &asked(), WAITS, YES, rewind, CALL].concat());
        assert!(graph.calls().iter().all(|call| call.approval.is_none()));
        let (graph, observed) = build(&[&call, &asked(), WAITS, rewind, CALL, YES].concat());
        assert!(observed.iter().all(|seen| seen.answered.is_empty()));
        assert!(graph.warnings().iter().any(|notice| notice.text.contains("has no request")));
        let yes = YES.trim_end().to_owned() + " @ \"invocationId\":\"i1\"\n";
        let (graph, _) = build(&[CALL, &asked(), WAITS, &yes, rewind].concat());
        assert_eq!(approval(&graph), None, "the call stands, its answer does not");
    }

    #[test]
    fn a_model_cannot_ask_again_after_a_no_and_the_framework_can() {
        let again = asked().replace("k1", "k2");
        let (no, yes) = (NO.to_owned(), YES.replace("k1", "k2"));
        let (graph, _) = build(&[CALL, &asked(), WAITS, &no, &again, &yes].concat());
        assert_eq!(approval(&graph), Some(false));
        assert!(graph.warnings().iter().any(|notice| notice.text.contains("an earlier request")));
        let (graph, _) = build(&[CALL, &asked(), WAITS, &no, &again, WAITS, &yes].concat());
        assert_eq!(approval(&graph), Some(true));
    }

    #[test]
    fn confirmations_are_shown_to_no_model() {
        let (graph, _) = build(&[CALL, &asked(), WAITS, YES, "bot say done"].concat());
        assert_eq!(inputs(&graph, 4), [0, 2]);
        assert_eq!(graph.calls().len(), 1);
    }
}
