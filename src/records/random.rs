//! What holds for any list of events.

use crate::json;
use crate::json::Json;
use crate::lineage::RecordId;
use crate::recording::Actions;
use crate::recording::Event;
use crate::recording::Part;
use crate::recording::PartKind;
use crate::recording::ToolConfirmation;
use crate::recording::event::Compaction;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::visible::Name;
use proptest::prelude::Just;
use proptest::prelude::ProptestConfig;
use proptest::prelude::Strategy;
use proptest::prelude::any;
use proptest::prop_oneof;
use std::collections::BTreeSet;

const IDS: [&str; 5] = ["", "c1", "c2", "k1", "k2"];
const NAMES: [&str; 6] = ["f", "g", "a", "adk_request_confirmation", "adk_request_credential", ""];
const VALUES: [&str; 9] = [
    "{}",
    r#"{"ok":true}"#,
    r#"{"error":"This tool call requires confirmation, please approve or reject."}"#,
    r#"{"confirmed":true}"#,
    r#"{"confirmed":false}"#,
    r#"{"pending":true}"#,
    r#"{"originalFunctionCall":{"id":"c1","name":"f","args":{}}}"#,
    r#"{"originalFunctionCall":{"id":"c2","name":"g","args":{"ok":true}}}"#,
    "[1.5]",
];

fn pick(texts: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(texts).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = Option<Json>> {
    pick(&VALUES).prop_map(|text| json::parse(&text).ok())
}

fn part() -> impl Strategy<Value = Part> {
    let kind = prop_oneof![
        pick(&["x", "y", ""]).prop_map(PartKind::Text),
        (pick(&IDS), pick(&NAMES), value()).prop_map(|(id, name, arguments)| PartKind::Call {
            id,
            name,
            arguments
        }),
        (pick(&IDS), pick(&NAMES), value()).prop_map(|(id, name, response)| PartKind::Response {
            id,
            name,
            response
        }),
        Just(PartKind::Empty),
    ];
    (kind, any::<bool>()).prop_map(|(kind, thought)| Part { kind, thought, ..Part::default() })
}

fn actions() -> impl Strategy<Value = Actions> {
    let time = || (0u32..40).prop_map(|second| format!("2026-01-01T00:00:{second:02}Z"));
    let summary = Part { kind: PartKind::Text("sum".to_owned()), ..Part::default() };
    prop_oneof![
        6 => Just(Actions::default()),
        1 => pick(&["i0", "i1", "i2", "i3"])
            .prop_map(|rewind| Actions { rewind_before: Some(rewind), ..Actions::default() }),
        1 => (time(), time()).prop_map(move |(start, end)| Actions {
            compaction: Some(Compaction { start, end, parts: vec![summary.clone()] }),
            ..Actions::default()
        }),
        1 => pick(&IDS).prop_map(|id| Actions {
            requested_confirmations: vec![(id, ToolConfirmation::default())],
            ..Actions::default()
        }),
        1 => value().prop_map(|value| Actions {
            state_delta: value.into_iter().map(|value| ("k".to_owned(), value)).collect(),
            ..Actions::default()
        }),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let place = (
        pick(&["", "r.a", "r.b", "r", "r.a.s", "a@c1", "a@c1.b@c2"]),
        pick(&["", "", "c1"]),
        pick(&["i0", "i1", "i2", "i3"]),
        pick(&["", "", "", "a@1"]),
    );
    let parts = proptest::collection::vec(part(), 0..3);
    (pick(&["user", "a", "b"]), place, parts, actions(), any::<[bool; 2]>()).prop_map(
        |(author, (branch, isolation_scope, invocation_id, node_path), parts, actions, [remote, slow])| {
            Event {
                author,
                branch,
                isolation_scope,
                invocation_id,
                node_path,
                has_content: !parts.is_empty(),
                parts,
                actions,
                has_actions: true,
                long_running: if slow { vec!["c1".to_owned()] } else { Vec::new() },
                custom_metadata: (remote && slow).then(|| Json::Object(vec![("a2a".into(), Json::Null)])),
                ..Event::default()
            }
        },
    )
}

fn list() -> impl Strategy<Value = Vec<Event>> {
    proptest::collection::vec(event(), 0..40).prop_map(|mut list| {
        for (i, event) in list.iter_mut().enumerate() {
            event.index = i;
            event.time = format!("2026-01-01T00:00:{i:02}Z");
        }
        list
    })
}

/// What every viewer is shown, by its own view and by a look at all events anew.
fn views_agree(graph: &Graph, author: Name, branch: Name, scope: Name) {
    let mut kept = graph.clone();
    let mut anew = graph.clone();
    anew.sight.forget_views();
    let kept_context = kept.sight.context(&mut kept.trail, author, branch, scope);
    let anew_context = anew.sight.context_anew(&mut anew.trail, author, branch, scope);
    assert_eq!(kept.lineage().members(kept_context), anew.lineage().members(anew_context));
}

fn sound(graph: &Graph) {
    let all = graph.records().len();
    assert_eq!(graph.lineage().len(), all);
    let ids: BTreeSet<_> = graph.records().iter().map(|record| record.id().to_string()).collect();
    assert_eq!(ids.len(), all);
    for i in 0..all {
        let record = RecordId(u32::try_from(i).unwrap());
        assert_eq!(graph.record_of(&graph.records().get(i).unwrap().id()), Some(record));
        assert!(graph.lineage().ancestors(record).iter().all(|source| source < record));
    }
    let (mut ok, mut results) = (Vec::new(), Vec::new());
    for fact in graph.facts().iter() {
        match &fact {
            SessionFact::ToolOutcome { record, status: Status::Ok, .. } => ok.push(*record),
            SessionFact::ToolResult { record, .. } => results.push(*record),
            _ => {}
        }
    }
    assert_eq!(ok, results);
    for call in graph.calls().iter() {
        assert!(call.current.contains(&call.record));
    }
    assert!(!format!("{:?}", graph.warnings()).contains("\n"));
}

proptest::proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn any_list_gives_a_sound_graph(list in list()) {
        let (mut graph, mut again) = (Graph::default(), Graph::default());
        for event in &list {
            let observed = graph.extend(event).unwrap();
            assert_eq!(observed, again.extend(event).unwrap());
            observed.calls.iter().for_each(|&call| graph.start(call));
            let [author, branch, scope] =
                [&event.author, &event.branch, &event.isolation_scope].map(|text| graph.sight.find(text));
            views_agree(&graph, author.unwrap(), branch.unwrap(), Name::NONE);
            if let Some(scope) = scope {
                views_agree(&graph, author.unwrap(), branch.unwrap(), scope);
            }
        }
        sound(&graph);
        assert_eq!(graph.records(), again.records());
        assert_eq!(graph.facts(), again.facts());
    }
}
