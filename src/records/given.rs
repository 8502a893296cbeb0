//! Records by hand, for tests of policies.

use crate::json;
use crate::lineage::ContextId;
use crate::lineage::Position;
use crate::lineage::RecordId;
use crate::recording::Purpose;
use crate::records::Approval;
use crate::records::CallNumber;
use crate::records::CallOutcome;
use crate::records::Graph;
use crate::records::ProposedCall;
use crate::records::RecordEvent;
use crate::records::RecordKind;
use crate::records::Role;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::Text;
use crate::records::draft::tools;
use crate::records::identity::fingerprint;
use crate::records::noted::OfCall;
use crate::records::notices::quoted;
use crate::records::pair::Call;
use crate::records::rows::ByHand;
use crate::records::rows::Form;
use crate::records::rows::Kept;
use crate::records::visible::Name;
use crate::records::visible::Shown;
use std::sync::Arc;

/// A record by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Given {
    /// Its id; no other record of the session has it.
    pub id: String,
    /// Who produced it.
    pub role: Role,
    /// Its author.
    pub agent: String,
    /// Its contents.
    pub text: String,
    /// The calls that it proposes.
    pub calls: Vec<GivenCall>,
    /// `MessageMetadata`; none for no row.
    pub metadata: Option<String>,
    /// The call that it is the successful return of, by tool and argument text.
    pub result_of: Option<(String, String)>,
    /// Ids of its inputs, in order.
    pub inputs: Vec<String>,
    /// Further inputs, or what is known about some of them.
    pub edges: Vec<GivenEdge>,
    /// Its own label; may be empty.
    pub entity: String,
    /// The authenticated recorder; may be empty.
    pub principal: String,
    /// Where it came from; none for no row.
    pub event: Option<RecordEvent>,
}

impl Given {
    /// A record with nothing but this.
    #[must_use]
    pub fn new(id: &str, role: Role, text: &str) -> Self {
        Self {
            id: id.to_owned(),
            role,
            agent: String::new(),
            text: text.to_owned(),
            calls: Vec::new(),
            metadata: None,
            result_of: None,
            inputs: Vec::new(),
            edges: Vec::new(),
            entity: String::new(),
            principal: String::new(),
            event: None,
        }
    }
}

/// A call by hand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenCall {
    /// Its id; may be empty.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// The arguments, as JSON text; a text that is no JSON is taken as it is.
    pub arguments: String,
}

/// What is known about one input.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenEdge {
    /// Id of the input.
    pub from: String,
    /// Who recorded the edge.
    pub principal: Option<String>,
    /// Whom it was recorded for.
    pub entity: Option<String>,
    /// `message_index`
    pub index: Option<i64>,
    /// `proximal`
    pub proximal: Option<i64>,
}

impl Graph {
    /// Adds a record by hand.
    ///
    /// # Errors
    /// Where its id is empty or taken, or an input is not recorded before it.
    pub fn add(&mut self, given: Given) -> Result<RecordId, String> {
        if given.id.is_empty() {
            return Err("a record needs an id".to_owned());
        }
        if self.record_of(&given.id).is_some() {
            return Err(format!("there are two records {}", quoted(&given.id)));
        }
        let inputs = self.named(&given.id, given.inputs.iter())?;
        let sources = self.named(&given.id, given.edges.iter().map(|edge| &edge.from))?;
        let inner = self.trail.extend(ContextId::EMPTY, &inputs);
        let context = self.trail.extend(inner, &sources);
        let own = fingerprint(&[given.id.as_bytes(), &self.trail.of_context(context)]);
        let record = self.trail.push(context, own);
        self.sight.show(Shown::Nobody);
        self.state_edges(record, &given, &inputs, &sources);
        self.given_calls(record, &given);
        if let Some((tool, arguments)) = &given.result_of {
            self.given_result(record, tool, ordinary(arguments));
        }
        let calls = given.calls.into_iter().map(|call| (call.tool, ordinary(&call.arguments)));
        let calls: Vec<_> = calls.collect();
        let tools_json = tools(calls.iter().map(|(tool, arguments)| (tool.as_str(), arguments.as_str())));
        let (sight, rows) = (&mut self.sight, &mut self.rows);
        let seq = given.event.as_ref().map_or_else(|| i64::from(record.0), |event| event.seq);
        let origin = given.event.as_ref().map(|event| {
            let names = [&event.invocation_id, &event.author, &event.branch].map(|text| sight.name(text));
            rows.add_origin(names, (&event.event_id, &event.time, event.number))
        });
        let [agent, entity, principal] =
            [&given.agent, &given.entity, &given.principal].map(|text| sight.name(text));
        let kept = Kept {
            kind: RecordKind::Given,
            role: given.role,
            form: if given.metadata.is_some() { Form::Kept } else { Form::None },
            contents: &given.text,
            tools_json: &tools_json,
            metadata: given.metadata.as_deref(),
            origin,
        };
        rows.push(&kept, Some(&ByHand { id: &given.id, agent, entity, principal, seq }));
        self.ids.insert_by_hand(&self.rows, record);
        Ok(record)
    }

    /// The record of that id.
    #[must_use]
    pub fn record_of(&self, id: &str) -> Option<RecordId> {
        self.ids.find((&self.trail, &self.rows), id)
    }

    /// The newest judged call of that id.
    #[must_use]
    pub fn call_named(&self, id: &str) -> Option<CallNumber> {
        let newest = self.calls.iter().rev().position(|call| call.call_id == id)?;
        let number = self.calls.len().checked_sub(newest + 1)?;
        u32::try_from(number).ok().map(CallNumber)
    }

    /// Adds a row beside the records.
    pub fn note(&mut self, fact: SessionFact) {
        self.facts.push(fact);
    }

    /// Notes how a call ended, for tests: later it no longer runs. The rows are the caller's to note.
    pub fn settle(&mut self, call: CallNumber, status: Status) {
        let outcome = match status {
            Status::Ok => CallOutcome::Ok,
            Status::Error | Status::Violated => CallOutcome::Error,
            Status::Denied => CallOutcome::Denied,
            Status::Pending => CallOutcome::Pending,
            Status::Unmatched => CallOutcome::Unmatched,
            Status::Running | Status::Answered | Status::Ungated => CallOutcome::None,
        };
        if let Some(kept) = self.book.numbered_mut(call) {
            kept.outcome = outcome;
            if !matches!(status, Status::Running | Status::Pending) {
                kept.result = Some(kept.record);
            }
        }
        if !matches!(status, Status::Running | Status::Pending) {
            self.end(call);
        }
    }

    /// Notes a person's answer that counts for the call from now on. The row of `Confirmation` is the caller's to note.
    pub fn set_approval(&mut self, call: CallNumber, approval: Approval) {
        if let Some(call) = self.calls.get_mut(call.0 as usize) {
            call.approval = Some(Box::new(approval));
        }
    }

    fn named<'a>(&self, id: &str, names: impl Iterator<Item = &'a String>) -> Result<Vec<RecordId>, String> {
        names
            .map(|name| {
                self.record_of(name).ok_or_else(|| {
                    format!(
                        "{} is not recorded before {}, which names it as an input",
                        quoted(name),
                        quoted(id)
                    )
                })
            })
            .collect()
    }

    /// Inputs have their place; of edges only what is said is known.
    fn state_edges(&mut self, record: RecordId, given: &Given, inputs: &[RecordId], sources: &[RecordId]) {
        if sources.is_empty() {
            return;
        }
        let mut places: Vec<RecordId> = Vec::new();
        for &input in inputs {
            if !places.contains(&input) {
                places.push(input);
            }
        }
        for (i, &input) in places.iter().enumerate() {
            let message_index = i64::try_from(i).unwrap_or(i64::MAX);
            let position = Position { proximal: i64::from(i + 1 == places.len()), message_index };
            self.trail.lineage_mut().state(input, record, Some(position));
        }
        for (edge, &source) in given.edges.iter().zip(sources) {
            let position = (edge.index.is_some() || edge.proximal.is_some()).then(|| Position {
                proximal: edge.proximal.unwrap_or(-1),
                message_index: edge.index.unwrap_or(-1),
            });
            if position.is_some() || !inputs.contains(&source) {
                self.trail.lineage_mut().state(source, record, position);
            }
            if let Some(principal) = edge.principal.clone() {
                self.facts.push(SessionFact::EdgePrincipal {
                    source,
                    dest: record,
                    principal: principal.into(),
                });
            }
            if let Some(entity) = edge.entity.clone() {
                self.facts.push(SessionFact::EdgeEntity { source, dest: record, entity: entity.into() });
            }
        }
    }

    fn given_calls(&mut self, record: RecordId, given: &Given) {
        for call in &given.calls {
            let number = CallNumber(u32::try_from(self.calls.len()).unwrap_or(u32::MAX));
            let arguments = Text::from(ordinary(&call.arguments));
            let (call_id, tool): (Text, Text) = (call.id.as_str().into(), call.tool.as_str().into());
            self.calls.push(ProposedCall {
                record,
                call_id: call_id.clone(),
                tool: tool.clone(),
                arguments: arguments.clone(),
                agent: given.agent.as_str().into(),
                current: Arc::from([record]),
                time: given.event.as_ref().map_or_else(Text::new, |event| event.time.clone()),
                refused: None,
                approval: None,
            });
            let index = self.book.add(Call {
                number: Some(number),
                record,
                id: call_id.clone(),
                name: tool.clone(),
                purpose: Purpose::Tool,
                arguments: arguments.clone(),
                moment: self.sight.next(),
                branch: Name::NONE,
                by_agent: true,
                long_running: false,
                refused: false,
                result: None,
                outcome: CallOutcome::None,
                asked: 0,
                approved_at: None,
                placeholder: false,
                inner: Vec::new(),
                last_answer: None,
                answering: None,
                scope: Name::NONE,
                author: self.sight.name(&given.agent),
            });
            self.facts.push_of(OfCall::Proposed, record, index);
        }
    }

    fn given_result(&mut self, record: RecordId, tool: &str, arguments: String) {
        let open = (0..self.calls.len()).rev().zip(self.calls.iter().rev()).find(|(i, call)| {
            let number = u32::try_from(*i).map(CallNumber);
            let kept = number.ok().and_then(|number| self.book.numbered(number));
            call.tool == tool && call.arguments == arguments && kept.is_some_and(|kept| kept.result.is_none())
        });
        let number = open.and_then(|(i, _)| u32::try_from(i).ok()).map(CallNumber);
        if let Some(number) = number {
            self.settle(number, Status::Ok);
            if let Some(index) = self.book.indexed(number) {
                for what in [OfCall::Output, OfCall::Outcome(Status::Ok), OfCall::Result] {
                    self.note_of(what, record, index);
                }
                return;
            }
        }
        let (tool, arguments, call_id) = (Text::from(tool), Text::from(arguments), Text::new());
        self.facts.push(SessionFact::ToolOutput { record, tool: tool.clone(), arguments: arguments.clone() });
        self.facts.push(SessionFact::ToolOutcome {
            record,
            call_id,
            tool: tool.clone(),
            arguments: arguments.clone(),
            status: Status::Ok,
        });
        self.facts.push(SessionFact::ToolResult { record, tool, arguments });
    }
}

/// Ordinary JSON of a text that is JSON; any other text as it is.
fn ordinary(text: &str) -> String {
    json::parse(text).map_or_else(|_| text.to_owned(), |value| value.ordinary())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::records::building::inputs;
    use crate::records::building::outcomes;

    fn record(id: &str, inputs: &[&str]) -> Given {
        let mut given = Given::new(id, Role::Assistant, id);
        given.inputs = inputs.iter().map(|&input| input.to_owned()).collect();
        given
    }

    /// Edges into the newest record: source, proximal, index; what is not known as `-`.
    fn edges(graph: &Graph) -> Vec<String> {
        let newest = RecordId(u32::try_from(graph.records().len()).unwrap() - 1);
        let mut rows: Vec<_> = graph
            .lineage()
            .edges_backwards(newest)
            .map(|(source, position)| {
                let place = position.map(|p| format!("{} {}", p.proximal, p.message_index));
                format!("{} {}", source.0, place.unwrap_or_else(|| "-".to_owned()))
            })
            .collect();
        rows.reverse();
        rows
    }

    #[test]
    fn inputs_have_places_and_edges_only_what_they_say() {
        let mut graph = Graph::default();
        for id in ["a", "b", "c", "d"] {
            graph.add(record(id, &[])).unwrap();
        }
        graph.add(record("m1", &["a", "b", "a", "c"])).unwrap();
        assert_eq!(edges(&graph), ["0 0 0", "1 0 1", "2 1 2"]);
        let edge = |from: &str, index, proximal| GivenEdge {
            from: from.to_owned(),
            index,
            proximal,
            ..GivenEdge::default()
        };
        let mut given = record("m2", &["a", "b"]);
        given.edges = vec![
            edge("b", Some(7), None),
            edge("c", None, None),
            edge("d", None, Some(0)),
            edge("a", None, None),
        ];
        given.edges[0].principal = Some("p".into());
        given.edges[1].entity = Some("e".into());
        graph.add(given).unwrap();
        assert_eq!(edges(&graph), ["0 0 0", "1 -1 7", "2 -", "3 0 -1"]);
        let (p, e) = ("p".into(), "e".into());
        assert_eq!(
            graph.facts().iter().collect::<Vec<_>>(),
            [
                SessionFact::EdgePrincipal { source: RecordId(1), dest: RecordId(5), principal: p },
                SessionFact::EdgeEntity { source: RecordId(2), dest: RecordId(5), entity: e },
            ]
        );
        assert_eq!(inputs(&graph, 5), [0, 1, 2, 3]);
    }

    #[test]
    fn faults_are_said_and_change_nothing() {
        let mut graph = Graph::default();
        graph.add(record("a", &[])).unwrap();
        for (given, word) in
            [(record("a", &[]), "two records"), (record("b", &["x"]), "`x`"), (record("", &[]), "id")]
        {
            assert!(graph.add(given).unwrap_err().contains(word));
        }
        assert_eq!(
            (graph.records().len(), graph.record_of("a"), graph.record_of("b")),
            (1, Some(RecordId(0)), None)
        );
    }

    #[test]
    fn calls_and_results_by_hand_are_rows() {
        let mut graph = Graph::default();
        let mut call = record("c", &[]);
        call.calls =
            vec![GivenCall { id: "k".into(), tool: "pay".into(), arguments: r#"{"b": 1, "a": 2}"#.into() }];
        graph.add(call).unwrap();
        let number = graph.call_named("k").unwrap();
        assert_eq!(graph.call_named("x"), None);
        graph.start(number);
        let mut result = record("r", &["c"]);
        result.result_of = Some(("pay".into(), r#"{"a":2,"b":1}"#.into()));
        graph.add(result).unwrap();
        assert_eq!(
            graph.records().get(0).unwrap().tools_json(),
            r#"[{"arguments":"{\"a\":2,\"b\":1}","name":"pay"}]"#
        );
        assert_eq!(*graph.calls().get(0).unwrap().current, [RecordId(0)]);
        assert_eq!(outcomes(&graph), (vec!["1 pay ok".to_owned()], vec![1], vec![1]));
        assert_eq!(graph.outcome(number), CallOutcome::Ok);
        assert!(matches!(graph.runs().last(), None | Some(crate::records::RunChange::Settled(_))));
        let rows: Vec<_> =
            graph.facts().iter().filter(|fact| format!("{fact:?}").contains("\"k\"")).collect();
        assert_eq!(rows.len(), 2);
    }
}
