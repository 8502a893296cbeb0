//! One event more.

use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::recording::Author;
use crate::recording::Event;
use crate::recording::Part;
use crate::recording::PartKind;
use crate::recording::Purpose;
use crate::recording::Stop;
use crate::records::Graph;
use crate::records::Observed;
use crate::records::RecordKind;
use crate::records::Role;
use crate::records::Text;
use crate::records::agents::History;
use crate::records::approval::Place;
use crate::records::draft::Draft;
use crate::records::draft::NO_CALLS;
use crate::records::draft::Recorded;
use crate::records::draft::Source;
use crate::records::draft::Ungated;
use crate::records::draft::drafts;
use crate::records::identity::fingerprint;
use crate::records::notices::quoted;
use crate::records::pair::CallIndex;
use crate::records::rows::Form;
use crate::records::rows::Kept;
use crate::records::rows::OriginId;
use crate::records::values::ReadRow;
use crate::records::visible::Entry;
use crate::records::visible::Moment;
use crate::records::visible::Name;
use crate::records::visible::Rare;
use crate::records::visible::Shown;
use std::collections::BTreeSet;
use std::sync::Arc;

/// An event while it is being added.
#[derive(Debug)]
pub(crate) struct Scene<'e> {
    pub(crate) event: &'e Event,
    /// What its records say of it.
    pub(crate) origin: OriginId,
    pub(crate) moment: Moment,
    pub(crate) author: Name,
    pub(crate) branch: Name,
    pub(crate) scope: Name,
    pub(crate) writer: Author,
    /// Whether it came through another agent.
    pub(crate) through: bool,
    /// The call whose run it lies inside.
    pub(crate) run: Option<CallIndex>,
    /// Whether its branch says so.
    pub(crate) inner: bool,
    /// Whether it is the framework's own event for a rewind or a compaction.
    pub(crate) marker: bool,
    /// Number of its first record.
    pub(crate) first: u32,
    view: Option<ContextId>,
    /// What its summary was computed from.
    summary: ContextId,
    /// Calls that it answered so far.
    pub(crate) taken: Vec<CallIndex>,
    /// The records of its parts.
    pub(crate) parts: Vec<RecordId>,
    pub(crate) answers: Vec<RecordId>,
    /// Whether an answer in it says that its call is not done.
    pub(crate) waits: bool,
    /// What the instruction of its author was filled with: rows, and records.
    pub(crate) reads: Vec<ReadRow>,
    read_records: Vec<RecordId>,
    pub(crate) observed: Observed,
}

impl Scene<'_> {
    /// Whether an agent of this session wrote it: no person, no framework, no agent elsewhere.
    pub(crate) fn by_agent(&self) -> bool {
        self.writer == Author::Agent && !self.through && self.event.author != "user"
    }

    /// Whether answers in it come from a person, or from someone under that name.
    pub(crate) fn answers_as_person(&self) -> bool {
        self.event.author == "user" && (self.through || self.event.node_path.is_empty())
    }

    /// Whether a node of a workflow handed it back to the agent that called.
    pub(crate) fn is_handed_back(&self) -> bool {
        self.event.author == "user" && !self.event.node_path.is_empty()
    }

    /// Whether it holds answers under the name of the user.
    fn answers_under_user(&self) -> bool {
        let answers = |part: &Part| matches!(part.kind, PartKind::Response { .. });
        self.event.author == "user" && self.event.parts.iter().any(answers)
    }

    pub(crate) fn place(&self) -> Place {
        Place { moment: self.moment, branch: self.branch, by_agent: self.by_agent() }
    }
}

/// Whether the event hands over to another agent.
fn hands_over(event: &Event) -> bool {
    let calls =
        |part: &Part| matches!(&part.kind, PartKind::Call { name, .. } if name == "transfer_to_agent");
    !event.actions.transfer_to_agent.is_empty() || event.parts.iter().any(calls)
}

/// The parts of a record that its source decides.
pub(crate) struct Body {
    pub(crate) kind: RecordKind,
    pub(crate) place: usize,
    pub(crate) contents: Text,
    pub(crate) tools_json: Text,
    pub(crate) metadata: Option<Text>,
    /// What the metadata follows from.
    pub(crate) form: Form,
    pub(crate) role: Role,
}

impl Graph {
    /// See [`Graph::extend`].
    pub(crate) fn add_event(&mut self, event: &Event) -> Result<Observed, Stop> {
        let marker = event.author == "user" && !event.has_content && !event.came_through_agent();
        let book = &self.book;
        let hides_secrets = |id: &str| {
            let call = book.newest_anywhere(id).and_then(|index| book.call(index));
            call.is_some_and(|call| call.purpose == Purpose::Credential)
        };
        let (parts, hides_secrets) = (self.parts, &hides_secrets);
        let drafts = drafts(event, Recorded { parts, counts_as_summary: marker, hides_secrets })?;
        let mut scene = self.scene(event, marker);
        self.notice_peer(&scene);
        if let Some(compaction) = event.actions.compaction.as_ref().filter(|_| marker && !drafts.is_empty()) {
            let span = (compaction.start.as_str(), compaction.end.as_str());
            let unsent = self.sight.unsent().into_iter();
            let sources: Vec<_> =
                unsent.chain(self.sight.replace(&self.rows, span, scene.branch, scene.scope)).collect();
            scene.summary = self.trail.extend(ContextId::EMPTY, &sources);
        }
        for draft in drafts {
            self.add_draft(&mut scene, draft);
        }
        self.note_requested(&scene);
        self.note_reader(&scene);
        self.note_reads(&scene);
        self.note_writes(&mut scene);
        Ok(self.close(scene))
    }

    pub(crate) fn scene<'e>(&mut self, event: &'e Event, marker: bool) -> Scene<'e> {
        let by_branch = self.book.run_of(&event.branch, "");
        let by_scope = self.book.run_of("", &event.isolation_scope);
        let scope = if by_scope.is_some() { event.isolation_scope.as_str() } else { "" };
        let scope = self.sight.name(scope);
        if let Some(call) = by_scope.and_then(|index| self.book.call(index)) {
            self.sight.open_scope(scope, call.record);
        }
        let names = [&event.invocation_id, &event.author, &event.branch].map(|text| self.sight.name(text));
        let origin = self.rows.add_origin(names, (&event.id, &event.time, Some(event.index)));
        Scene {
            event,
            origin,
            moment: self.sight.next(),
            author: self.sight.name(&event.author),
            branch: self.sight.name(&event.branch),
            scope,
            writer: event.writer(),
            through: event.came_through_agent(),
            run: by_branch.or(by_scope),
            inner: by_branch.is_some(),
            marker,
            first: u32::try_from(self.rows.len()).unwrap_or(u32::MAX),
            view: None,
            summary: ContextId::EMPTY,
            taken: Vec::new(),
            parts: Vec::new(),
            answers: Vec::new(),
            waits: false,
            reads: Vec::new(),
            read_records: Vec::new(),
            observed: Observed::default(),
        }
    }

    fn add_draft(&mut self, scene: &mut Scene<'_>, draft: Draft<'_>) {
        let Draft { kind, place, contents, tools_json, metadata, form, source } = draft;
        self.notice_role(scene, &source);
        let role = self.role(scene, &source);
        let body = Body { kind, place, contents, tools_json, metadata, form, role };
        match source {
            Source::Words
            | Source::Spoken
            | Source::OutsideParts
            | Source::Grounding
            | Source::Ungated(_) => {
                let outside = matches!(source, Source::Spoken | Source::OutsideParts | Source::Grounding);
                let inputs = self.inputs_of_words(scene, outside);
                let by_model = kind == RecordKind::Thought && scene.writer == Author::Agent;
                let shown = if by_model { Shown::Author } else { Shown::Everyone };
                let record = self.record(scene, body, inputs, shown);
                if !outside || matches!(source, Source::Grounding) {
                    scene.parts.push(record);
                }
                if let Source::Ungated(ungated) = &source {
                    self.note_ungated(scene, record, ungated);
                }
            }
            Source::Summary => {
                self.record(scene, body, scene.summary, Shown::Everyone);
            }
            Source::Call(proposal) => self.propose(scene, body, &proposal),
            Source::Answer(answer) => self.add_answer(scene, body, &answer),
        }
    }

    /// Who produced a part: author and kind of event decide, never `content.role`.
    fn role(&self, scene: &Scene<'_>, source: &Source<'_>) -> Role {
        match source {
            Source::Answer(_) | Source::Summary | Source::OutsideParts | Source::Grounding => Role::Agent,
            Source::Words if self.is_handed_down(scene) => Role::Agent,
            Source::Words | Source::Call(_) | Source::Ungated(_) if scene.writer == Author::Person => {
                Role::User
            }
            Source::Ungated(Ungated::CodeResult | Ungated::Answer { .. }) => Role::Agent,
            Source::Words | Source::Call(_) | Source::Spoken | Source::Ungated(_) => {
                if scene.by_agent() {
                    Role::Assistant
                } else {
                    Role::Agent
                }
            }
        }
    }

    /// Whether the event is the first message of a run that a call started: the call wrote it, not a person.
    fn is_handed_down(&self, scene: &Scene<'_>) -> bool {
        let call = scene.run.and_then(|index| self.book.call(index));
        scene.writer == Author::Person && call.is_some_and(|call| call.inner.is_empty())
    }

    fn inputs_of_words(&mut self, scene: &mut Scene<'_>, outside_parts: bool) -> ContextId {
        if scene.writer != Author::Person || outside_parts {
            return self.view(scene);
        }
        match scene.run.and_then(|index| self.book.call(index)).filter(|call| call.inner.is_empty()) {
            Some(call) => self.trail.extend(ContextId::EMPTY, &[call.record]),
            None => ContextId::EMPTY,
        }
    }

    /// What the author of the event was shown before it. What came through another agent depends on a run that this
    /// session does not show.
    pub(crate) fn view(&mut self, scene: &mut Scene<'_>) -> ContextId {
        if let Some(view) = scene.view {
            return view;
        }
        let request = scene.event.model_request.as_ref().filter(|_| scene.by_agent());
        let mut view = match request {
            Some(request) => self.shown_by_request(scene, request),
            None => self.rebuilt(scene),
        };
        if scene.through {
            let unseen = self.unseen_run(scene, &scene.event.author.clone(), "");
            view = self.trail.extend(view, &[unseen]);
        }
        scene.view = Some(view);
        view
    }

    /// The same by the rules of visibility, and by what an agents file states.
    fn rebuilt(&mut self, scene: &mut Scene<'_>) -> ContextId {
        let (agent, branch, scope) = (scene.author, scene.branch, scene.scope);
        let stated = Arc::clone(&self.stated);
        let stated = stated.named(&scene.event.author).filter(|_| scene.by_agent());
        let view = match stated.map_or(History::Full, |agent| agent.history) {
            History::Full => self.sight.context(&mut self.trail, agent, branch, scope),
            History::Turn => self.sight.turn_context(&mut self.trail, agent, branch, scope),
        };
        if scene.by_agent() && stated.is_none() {
            let text = "the requests that models were sent are not in this session: what they were shown is rebuilt \
                        by the visibility rules, with full history and without instructions";
            self.assumptions.once("full_history", text);
        }
        scene.read_records = self.reads(scene);
        self.trail.extend(view, &scene.read_records)
    }

    /// A record for a run of an agent that this session does not show.
    pub(crate) fn unseen_run(&mut self, scene: &mut Scene<'_>, agent: &str, call: &str) -> RecordId {
        let text = format!(
            "what {} did inside is not in this session: its output depends on an unattributed record",
            quoted(agent)
        );
        self.assumptions.once("inner_runs", &text);
        let contents = self.session.unseen_run(agent, call).into();
        self.resource(scene, contents, Role::Agent, ContextId::EMPTY)
    }

    /// Adds the record of a resource, which nobody is shown unasked.
    pub(crate) fn resource(
        &mut self,
        scene: &mut Scene<'_>,
        contents: Text,
        role: Role,
        inputs: ContextId,
    ) -> RecordId {
        let metadata = crate::records::metadata::encode(vec![(
            "text",
            crate::records::metadata::Field::Text(&contents),
        )]);
        let body = Body {
            kind: RecordKind::Resource,
            place: usize::MAX,
            contents,
            tools_json: NO_CALLS,
            metadata: metadata.ok(),
            form: Form::Words,
            role,
        };
        self.record(scene, body, inputs, Shown::Nobody)
    }

    /// Adds a record of the event.
    pub(crate) fn record(
        &mut self,
        scene: &Scene<'_>,
        body: Body,
        inputs: ContextId,
        shown: Shown,
    ) -> RecordId {
        let record = self.identify(scene, &body, inputs);
        let Body { kind, contents, tools_json, metadata, form, role, place: _ } = body;
        let kept = Kept {
            kind,
            role,
            form: if metadata.is_some() { form } else { Form::None },
            contents: &contents,
            tools_json: &tools_json,
            metadata: metadata.as_deref(),
            origin: Some(scene.origin),
        };
        self.rows.push(&kept, None);
        self.sight.show(shown);
        if scene.view == Some(inputs) && !scene.read_records.is_empty() {
            self.place_reads(record, &scene.read_records);
        }
        record
    }

    /// Gives the next record its id. Two equal records at one place are told apart by a count.
    fn identify(&mut self, scene: &Scene<'_>, body: &Body, inputs: ContextId) -> RecordId {
        let event = scene.event;
        let unnamed = if event.id.is_empty() { format!("#{}", event.index) } else { String::new() };
        let place = if event.id.is_empty() { &unnamed } else { &event.id };
        let context = self.trail.of_context(inputs);
        let role = [match body.role {
            Role::Assistant => 0,
            Role::System => 1,
            Role::User => 2,
            Role::Agent => 3,
        }];
        let part = (body.place as u64).to_be_bytes();
        let metadata = body.metadata.as_deref().unwrap_or("");
        let mut count: u64 = 0;
        let own = loop {
            let again = count.to_be_bytes();
            let fields: [&[u8]; 9] = [
                place.as_bytes(),
                &part,
                &role,
                event.author.as_bytes(),
                body.contents.as_bytes(),
                body.tools_json.as_bytes(),
                metadata.as_bytes(),
                &context,
                if count == 0 { &[] } else { &again },
            ];
            let own = fingerprint(&fields);
            if !self.ids.takes((&self.trail, &self.rows), own) {
                break own;
            }
            count += 1;
        };
        let number = self.trail.push(inputs, own);
        self.ids.insert_made(&self.trail, number);
        number
    }

    /// Says where `content.role` tells another story than the author, who alone counts.
    fn notice_role(&mut self, scene: &Scene<'_>, source: &Source<'_>) {
        let disagrees = matches!(source, Source::Words)
            && match scene.writer {
                Author::Person => scene.event.role == "model",
                Author::Agent => scene.by_agent() && scene.event.role == "user",
                Author::Framework => false,
            };
        if disagrees {
            let (id, author, role) = (&scene.event.id, &scene.event.author, &scene.event.role);
            let text = format!("event {} by {} has the role {}", quoted(id), quoted(author), quoted(role));
            self.warnings.add("role_disagrees", format!("{text}: the author counts"));
        }
    }

    /// Says what an event that came through another agent tries to do beside speaking, and which markers do not count.
    fn notice_peer(&mut self, scene: &Scene<'_>) {
        let actions = &scene.event.actions;
        let marks = actions.rewind_before.is_some() || actions.compaction.is_some();
        if !scene.through && !marks {
            return;
        }
        let does = [
            (!actions.state_delta.is_empty() || !actions.state_removed.is_empty(), "state changes"),
            (!actions.artifact_delta.is_empty(), "files"),
            (!actions.requested_confirmations.is_empty(), "a request for approval, which does not count"),
            (marks, "a rewind or compaction, which does not count"),
            (!actions.transfer_to_agent.is_empty(), "a transfer"),
        ];
        let said: Vec<_> = does.iter().filter(|(does, _)| *does).map(|(_, what)| *what).collect();
        let id = quoted(&scene.event.id);
        if scene.through && !said.is_empty() {
            let text = format!("event {id} came through another agent and carries {}", said.join(", "));
            self.warnings.add("peer_actions", text);
        } else if marks && !scene.marker {
            let text = format!("event {id} carries a rewind or compaction that is not the framework's own");
            self.warnings.add("marker_ignored", text);
        }
    }

    /// Ends the event: from here on it is part of the session.
    fn close(&mut self, scene: Scene<'_>) -> Observed {
        let event = scene.event;
        let end = u32::try_from(self.rows.len()).unwrap_or(u32::MAX);
        let current: Arc<[RecordId]> = scene.parts.as_slice().into();
        for number in &scene.observed.calls {
            if let Some(call) = self.calls.get_mut(number.0 as usize) {
                call.current = Arc::clone(&current);
            }
        }
        if let Some(last) = scene.parts.last().filter(|_| scene.writer == Author::Agent) {
            self.last_output.insert(scene.author, *last);
        }
        if let Some(call) = scene.run.and_then(|index| self.book.call_mut(index)) {
            call.inner.extend((scene.first..end).map(RecordId));
        }
        for agent in [&event.author, &event.actions.transfer_to_agent] {
            if !agent.is_empty() && agent != "user" && !self.agents.contains(agent) {
                self.agents.insert(agent.clone());
            }
        }
        self.actions_seen |= event.actions != crate::recording::Actions::default();
        self.words_seen |= scene.writer == Author::Person && !scene.parts.is_empty();
        let mut entry = Entry::new(scene.first..end, scene.origin);
        (entry.author, entry.branch, entry.scope) = (scene.author, scene.branch, scene.scope);
        entry.inner = scene.inner;
        let mut rare = Rare {
            answers: self.answered_places(&scene),
            goes_on_with: self.goes_on_with(&scene),
            ..Rare::default()
        };
        entry.starts_turn = !hands_over(event) && !scene.answers_under_user();
        if scene.marker {
            let compaction = event.actions.compaction.as_ref();
            rare.span = compaction.map(|c| (c.start.as_str().into(), c.end.as_str().into()));
            rare.rewinds_to = self.rewind_target(event);
        }
        self.book.release();
        let rewinds = rare.rewinds_to.is_some();
        entry.rare = (rare != Rare::default()).then(|| Box::new(rare));
        let invocation = self.sight.name(&event.invocation_id);
        self.sight.append(&mut self.trail, entry, invocation);
        if rewinds {
            self.forget_rewound();
            self.restore_values(event, scene.moment);
        }
        scene.observed
    }

    /// Where the calls were made that the event answers from another place: an answer is always shown to its caller.
    fn answered_places(&self, scene: &Scene<'_>) -> Vec<(Name, Name, bool)> {
        let calls = scene.taken.iter().filter_map(|&index| self.book.call(index));
        let places: BTreeSet<_> = calls
            .filter(|call| call.purpose == Purpose::Tool && call.moment != scene.moment)
            .map(|call| (call.branch, call.scope, self.sight.is_inner(call.moment)))
            .filter(|place| *place != (scene.branch, scene.scope, scene.inner))
            .collect();
        places.into_iter().collect()
    }

    /// The event of the first call that the event answers under the name of the user.
    fn goes_on_with(&self, scene: &Scene<'_>) -> Option<Moment> {
        let calls = scene.taken.iter().filter_map(|&index| self.book.call(index));
        calls.map(|call| call.moment).min().filter(|_| scene.answers_under_user())
    }

    fn rewind_target(&mut self, event: &Event) -> Option<Moment> {
        let target = event.actions.rewind_before.as_deref()?;
        let moment = self.sight.first_of(target);
        if moment.is_none() {
            let text = format!("a rewind names the invocation {}, which is not there", quoted(target));
            self.warnings.add("marker_ignored", text);
        }
        moment
    }

    fn forget_rewound(&mut self) {
        self.book.rewound(&self.sight);
        for number in self.book.disapproved(&self.sight) {
            if let Some(call) = self.calls.get_mut(number.0 as usize) {
                call.approval = None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::Json;
    use crate::recording::StopKind;
    use crate::records::CallNumber;
    use crate::records::SessionFact;
    use crate::records::building::at;
    use crate::records::building::build;
    use crate::records::building::events;
    use crate::records::building::inputs;
    use crate::records::building::short;
    use crate::records::building::warned;

    #[test]
    fn each_part_is_a_record_as_the_table_says() {
        let (graph, observed) = build(
            r#"user say hello
               bot think hm
               & say ok
               & call c1 pay {"b":1.50,"a":{"k.l":"é"}}
               bot answer c1 pay {"paid":5}"#,
        );
        let rows = [
            ("hello", "[]", Role::User, RecordKind::Text, r#"{"s:text":"hello"}"#),
            ("hm", "[]", Role::Assistant, RecordKind::Thought, r#"{"s:text":"hm","s:thought":true}"#),
            ("ok", "[]", Role::Assistant, RecordKind::Text, r#"{"s:text":"ok"}"#),
            (
                "",
                r#"[{"arguments":"{\"a\":{\"k.l\":\"é\"},\"b\":1.50}","name":"pay"}]"#,
                Role::Assistant,
                RecordKind::Call,
                r#"{"s:function_call":{"s:args":{"s:a":{"s:k.l":"\u00e9"},"s:b":1.5},"s:id":"c1","s:name":"pay"}}"#,
            ),
            (
                r#"{"paid":5}"#,
                "[]",
                Role::Agent,
                RecordKind::Response,
                r#"{"s:function_response":{"s:id":"c1","s:name":"pay","s:response":{"s:paid":5}}}"#,
            ),
        ];
        assert_eq!(graph.records().len(), rows.len());
        for (record, (contents, tools, role, kind, metadata)) in graph.records().iter().zip(rows) {
            let said = (record.contents(), record.role(), record.kind());
            assert_eq!(said, (contents, role, kind));
            assert_eq!((&*record.tools_json(), record.metadata().as_deref()), (tools, Some(metadata)));
        }
        assert_eq!(observed[1].calls, [CallNumber(0)]);
        let call = graph.calls().get(0).unwrap();
        assert_eq!(*call.current, [RecordId(1), RecordId(2), RecordId(3)]);
        assert_eq!(call.arguments, r#"{"a":{"k.l":"é"},"b":1.50}"#);
        assert_eq!((at(&graph, 4).event().unwrap().seq, inputs(&graph, 4)), (4, vec![1, 2, 3]));
    }

    #[test]
    fn signatures_and_empty_parts_have_just_their_own_fields() {
        let list = r#"[{"author":"bot","content":{"parts":[{"thoughtSignature":"AQID"},{}]}},
            {"author":"bot","content":{"parts":[{"thoughtSignature":"AQID","functionCall":{"name":"f"}}]}}]"#;
        let (graph, _) = crate::records::building::graph(list);
        let metadata: Vec<_> = graph.records().iter().filter_map(|record| record.metadata()).collect();
        assert_eq!(
            metadata,
            [
                r#"{"s:thought_signature":{"bytes":"AQID"}}"#,
                "{}",
                r#"{"s:function_call":{"s:args":{},"s:name":"f"},"s:thought_signature":{"bytes":"AQID"}}"#
            ]
        );
    }

    #[test]
    fn a_stop_records_nothing_of_its_event() {
        let mut list = events(&short("user say a\nbot say b\n& call c pay {\"x\":1}\n& say d"));
        let mut graph = Graph::default();
        graph.extend(&list[0]).unwrap();
        let data = crate::recording::FieldValue::Plain(Json::Null);
        list[1].parts[2].further.push(("inline_data".to_owned(), data));
        let stop = graph.extend(&list[1]).unwrap_err();
        assert_eq!((stop.kind, stop.part, stop.event), (StopKind::UnsupportedPart, Some(2), Some(1)));
        assert!(stop.text.contains("`inline_data`"), "{}", stop.text);
        assert_eq!((graph.records().len(), graph.calls().len(), graph.facts().len()), (1, 0, 0));
        let list = events(&short(r#"bot call c pay {"x":1e999}"#));
        assert_eq!(graph.extend(&list[0]).unwrap_err().kind, StopKind::UnencodableValue);
    }

    #[test]
    fn author_and_kind_of_event_say_who_spoke() {
        let rows = [
            ("user say x", Role::User),
            ("bot say x", Role::Assistant),
            (r#"user say x @ "customMetadata":{"a2a:task":"t"}"#, Role::Agent),
            (r#"peer say x @ "customMetadata":{"a2a_metadata":{}}"#, Role::Agent),
            (r#"user say x @ "nodeInfo":{"path":"a@1"}"#, Role::Agent),
            (r#"user say x @ "actions":{"rewindBeforeInvocationId":"i"}"#, Role::Agent),
            ("user call c pay {}", Role::User),
            (r#"bot nothing @ "errorMessage":"x""#, Role::Agent),
            (r#"flow nothing @ "output":{"x":1}"#, Role::Agent),
            (r#"bot nothing @ "outputTranscription":{"text":"x"}"#, Role::Assistant),
            (r#"user nothing @ "inputTranscription":{"text":"x"}"#, Role::Agent),
        ];
        for (line, role) in rows {
            let (graph, _) = build(line);
            assert_eq!(graph.records().last().map(|record| record.role()), Some(role), "{line}");
        }
        let list = r#"[{"author":"bot","content":{"role":"user","parts":[{"text":"x"}]}},
            {"author":"user","content":{"role":"model","parts":[{"text":"x"}]}}]"#;
        let (graph, _) = crate::records::building::graph(list);
        assert_eq!(graph.warnings().len(), 2);
        assert_eq!(warned(&graph), ["role_disagrees"]);
    }

    #[test]
    fn what_is_said_outside_parts_has_inputs_and_is_shown() {
        let (graph, _) = build(
            r#"user say go
               flow nothing @ "output":{"b":1,"a":2}
               bot nothing @ "outputTranscription":{"text":"spoken"},"errorMessage":"broke","errorCode":"X"
               bot say end"#,
        );
        let contents: Vec<_> = graph.records().iter().map(|record| record.contents()).collect();
        assert_eq!(contents, ["go", r#"{"a":2,"b":1}"#, "spoken", "broke", "end"]);
        assert_eq!(inputs(&graph, 2), [0, 1]);
        assert_eq!(inputs(&graph, 4), [0, 1, 2, 3]);
    }

    #[test]
    fn an_output_beside_parts_is_a_record_unless_they_say_it() {
        let rows = [
            (r#"bot say ok @ "output":"ok""#, 1),
            (r#"bot say ok @ "output":"not ok""#, 2),
            (r#"bot answer c f {"x":1} @ "output":{"x":1}"#, 1),
            (r#"bot answer c f {"x":1} @ "output":{"x":2}"#, 2),
            (r#"bot think ok @ "output":"ok""#, 2),
        ];
        for (line, records) in rows {
            assert_eq!(build(line).0.records().len(), records, "{line}");
        }
    }

    #[test]
    fn ids_cover_place_content_and_context() {
        let id = |lines: &str, number: u32| at(&build(lines).0, number).id().to_string();
        let base = id("user say a\nbot say b", 1);
        assert_eq!(base.len(), 32);
        assert_eq!(base, id("user say a\nbot say b", 1));
        for other in ["user say x\nbot say b", "user say a\nbot say c", "user say a\nbob say b"] {
            assert_ne!(base, id(other, 1), "{other}");
        }
        let (graph, _) = crate::records::building::graph(
            r#"[{"author":"user","content":{"parts":[{"text":"x"}]}},{"author":"user","content":{"parts":[{"text":"x"}]}}]"#,
        );
        assert_ne!(*at(&graph, 0).id(), *at(&graph, 1).id());
        let mut twice = Graph::default();
        let list = events(&short("user say a"));
        twice.extend(&list[0]).unwrap();
        twice.extend(&list[0]).unwrap();
        assert_ne!(*at(&twice, 0).id(), *at(&twice, 1).id());
        assert_eq!(twice.record_of(&at(&twice, 1).id()), Some(RecordId(1)));
    }

    #[test]
    fn secrets_reach_no_record() {
        let (graph, _) = build(
            r#"bot call k adk_request_credential {"authConfig":{"rawAuthCredential":{"apiKey":"hush"}}}
               user answer k adk_request_credential {"apiKey":"hush"}
               user answer k other {"apiKey":"hush"}"#,
        );
        assert_eq!(graph.records().len(), 3);
        for record in graph.records().iter() {
            assert!(!format!("{record:?}").contains("hush"), "{record:?}");
        }
        assert!(graph.calls().is_empty());
        assert!(!format!("{:?}", graph.facts()).contains("hush"));
    }

    #[test]
    fn the_end_user_is_named() {
        let mut graph = Graph::default();
        graph.set_session("app", "ann", "s1");
        assert!(graph.facts().iter().eq([SessionFact::SessionUser { id: "ann".into() }]));
    }
}
