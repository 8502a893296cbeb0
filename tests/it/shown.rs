//! What models were shown, as google-adk itself recorded it, against the inputs that are rebuilt from its sessions.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use gatelog::lineage::RecordId;
use gatelog::recording::{Options, Recording, read};
use gatelog::records::agents::Agents;
use gatelog::records::{Graph, RecordKind, Role};

use crate::support::{files, name, root, text};

/// A part by the number of its event and its own place in it.
type Place = (usize, usize);

/// One model call.
#[derive(Debug)]
struct Asked {
    event: usize,
    shown: Vec<Place>,
}

#[derive(Debug)]
struct Session {
    asked: Vec<Asked>,
    /// For each event, the inputs of its first record.
    rebuilt: BTreeMap<usize, Vec<Place>>,
}

fn session(path: &Path, agents: &str) -> Session {
    let file: serde_json::Value = serde_json::from_str(&text(path)).unwrap();
    let number = |value: &serde_json::Value| usize::try_from(value.as_u64().unwrap()).unwrap();
    let place = |value: &serde_json::Value| (number(&value[0]), number(&value[1]));
    let calls = file["calls"].as_array().unwrap().iter();
    let asked = calls
        .map(|call| Asked {
            event: number(&call["event"]),
            shown: call["shown"].as_array().unwrap().iter().map(place).collect(),
        })
        .collect();
    Session { asked, rebuilt: rebuilt(&recording(&file["session"].to_string()), agents) }
}

fn recording(session: &str) -> Recording {
    let mut recordings = read(session.as_bytes(), &Options::default()).unwrap();
    let recording = recordings.pop().unwrap();
    assert_eq!((recording.stop.as_ref(), recordings.len()), (None, 0));
    recording
}

/// For each event with records, the inputs of its first.
fn rebuilt(recording: &Recording, agents: &str) -> BTreeMap<usize, Vec<Place>> {
    let mut graph = Graph::default();
    graph.set_agents(Arc::new(Agents::parse(agents).unwrap()));
    let mut places = Vec::new();
    let mut first = BTreeMap::new();
    for (number, event) in recording.events.iter().enumerate() {
        graph.extend(event).unwrap();
        let mut part = 0;
        for record in graph.records().iter().skip(places.len()) {
            let resource = record.kind() == RecordKind::Resource;
            let id = RecordId(u32::try_from(places.len()).unwrap());
            places.push((!resource).then_some((number, part)));
            if !resource {
                first.entry(number).or_insert(id);
                part += 1;
            }
        }
    }
    let lineage = graph.lineage();
    let inputs = |record: RecordId| lineage.members(lineage.inputs(record)).into_iter();
    first
        .into_iter()
        .map(|(event, record)| (event, inputs(record).filter_map(|id| places[id.0 as usize]).collect()))
        .collect()
}

/// What differs for one model call, in words.
fn difference(asked: &Asked, rebuilt: &[Place]) -> Option<String> {
    let (theirs, ours): (BTreeSet<_>, BTreeSet<_>) =
        (asked.shown.iter().copied().collect(), rebuilt.iter().copied().collect());
    let (missing, more): (Vec<_>, Vec<_>) =
        (theirs.difference(&ours).collect(), ours.difference(&theirs).collect());
    let common: Vec<_> = rebuilt.iter().filter(|place| theirs.contains(place)).collect();
    let mut said = Vec::new();
    if !missing.is_empty() {
        said.push(format!("missing {missing:?}"));
    }
    if !more.is_empty() {
        said.push(format!("more {more:?}"));
    }
    if missing.is_empty() && !common.into_iter().eq(&asked.shown) {
        said.push("order".to_owned());
    }
    (!said.is_empty()).then(|| said.join(", "))
}

const LATER_ANSWER: &str = "a call is shown with its last answer, in the place of the first: the record of an earlier one stays \
     an input, so that a second answer cannot hide the first, and stands where it was written; while an answer \
     that came late is the last event, the library leaves out what lies between it and its call";
const NO_HISTORY: &str =
    "a session does not say that an agent is shown its own turn alone: see the test with agents files";
const SINGLE_TURN: &str =
    "a session does not say that an agent used as a tool starts without the history of its caller";
const THOUGHT: &str = "1.15 shows an agent its own message of thoughts alone, later versions do not";
const BROKEN_CALL: &str =
    "2.x leaves out calls without an answer, 1.x shows them; what an error says counts as shown";

/// Scenario, event, versions, what differs, and why that is right. Nothing that a model was shown is ever missing.
const KNOWN: &[(&str, usize, &str, &str, &str)] = &[
    ("confirmation", 6, "py139 py213", "more [(3, 0)]", LATER_ANSWER),
    ("confirmation", 7, "py115", "more [(3, 0), (4, 0)]", LATER_ANSWER),
    ("confirmation", 8, "py139 py213", "more [(3, 0)]", LATER_ANSWER),
    ("confirmation", 10, "py115", "more [(3, 0)], order", LATER_ANSWER),
    ("confirmation", 12, "py115", "more [(3, 0)], order", LATER_ANSWER),
    ("confirmation", 13, "py139 py213", "more [(3, 0), (10, 0)]", LATER_ANSWER),
    ("confirmation", 15, "py139 py213", "more [(3, 0), (10, 0)]", LATER_ANSWER),
    ("confirmation", 15, "py115", "more [(3, 0), (9, 0), (10, 0), (11, 0), (12, 0)], order", LATER_ANSWER),
    ("confirmation", 17, "py115", "more [(3, 0), (9, 0)], order", LATER_ANSWER),
    ("interrupted", 4, "py213", "more [(1, 0), (2, 0)]", BROKEN_CALL),
    ("long-running", 7, "py115 py139 py213", "more [(2, 0), (3, 0), (4, 0), (5, 0)], order", LATER_ANSWER),
    (
        "long-running",
        9,
        "py115 py139 py213",
        "more [(2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)], order",
        LATER_ANSWER,
    ),
    ("long-running", 11, "py213", "more [(2, 0), (6, 0), (7, 0)], order", LATER_ANSWER),
    ("long-running", 11, "py115 py139", "more [(2, 0), (6, 0)], order", LATER_ANSWER),
    ("no-history", 2, "py115 py139 py213", "more [(0, 0)]", NO_HISTORY),
    ("no-history", 4, "py115 py139 py213", "more [(0, 0)]", NO_HISTORY),
    (
        "no-history",
        7,
        "py115 py139 py213",
        "more [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0)]",
        NO_HISTORY,
    ),
    ("no-history-parallel", 7, "py139 py213", "more [(0, 0), (2, 0), (3, 0), (4, 0)]", NO_HISTORY),
    ("no-history-transfer", 5, "py115 py139", "more [(0, 0), (1, 0), (2, 0), (3, 0)]", NO_HISTORY),
    ("no-history-transfer", 5, "py213", "more [(0, 0), (1, 0)]", NO_HISTORY),
    ("no-history-transfer", 7, "py115 py139", "more [(0, 0), (1, 0), (2, 0), (3, 0)]", NO_HISTORY),
    ("no-history-transfer", 7, "py213", "more [(0, 0), (1, 0)]", NO_HISTORY),
    (
        "no-history-transfer",
        9,
        "py115 py139 py213",
        "more [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0)]",
        NO_HISTORY,
    ),
    (
        "no-history-transfer",
        11,
        "py115 py139 py213",
        "more [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0)]",
        NO_HISTORY,
    ),
    (
        "no-history-transfer",
        13,
        "py115 py139 py213",
        "more [(0, 0), (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 0), (9, 0)]",
        NO_HISTORY,
    ),
    ("task-agents", 10, "py213", "more [(0, 0), (1, 0), (8, 0)]", SINGLE_TURN),
    ("task-agents", 12, "py213", "more [(0, 0), (1, 0), (8, 0)]", SINGLE_TURN),
    ("thoughts", 7, "py139 py213", "more [(4, 0)]", THOUGHT),
    ("thoughts", 10, "py139 py213", "more [(4, 0)]", THOUGHT),
];

/// Whether a difference is one of those that have a reason.
fn is_known(file: &str, event: usize, difference: &str) -> bool {
    KNOWN.iter().any(|&(scenario, at, versions, what, _)| {
        let named = versions.split(' ').any(|version| file == format!("{scenario}.{version}.json"));
        named && at == event && what == difference
    })
}

#[test]
fn inputs_are_what_models_were_shown() {
    let (mut found, mut known, mut calls) = (Vec::new(), 0, 0);
    for path in files(&root().join("fixtures/shown"), ".json") {
        let session = session(&path, "agents: []");
        let file = name(&path);
        for asked in &session.asked {
            calls += 1;
            let rebuilt = session.rebuilt.get(&asked.event).map_or(&[][..], Vec::as_slice);
            match difference(asked, rebuilt) {
                Some(difference) if is_known(&file, asked.event, &difference) => known += 1,
                Some(difference) => found.push(format!("{file} {}: {difference}", asked.event)),
                None => {}
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    let rows: usize = KNOWN.iter().map(|(_, _, versions, ..)| versions.split(' ').count()).sum();
    assert_eq!(known, rows, "a difference that is not there any more has to leave the table");
    assert!(calls > 150, "{calls}");
    assert!(KNOWN.iter().all(|(_, _, _, what, why)| !what.contains("missing") && !why.is_empty()));
}

/// What an agents file says of the agents of a scenario that are shown their turn alone.
const STATED: &[(&str, &str)] = &[
    ("no-history", "agents: [{name: short, include_contents: none}]"),
    ("no-history-parallel", "agents: [{name: one, include_contents: none}]"),
    ("no-history-transfer", "agents: [{name: short, include_contents: none}]"),
    ("task-agents", "agents: [{name: helper, include_contents: none}]"),
];

/// File, event, and what differs in versions in which a transfer starts a turn, so that what the person asked is not
/// shown to the agent that takes over. The newest shows it.
const LATER_START: &[(&str, usize, &str)] = &[
    ("no-history-transfer.py115.json", 5, "more [(2, 0), (3, 0)]"),
    ("no-history-transfer.py115.json", 7, "more [(2, 0), (3, 0)]"),
    ("no-history-transfer.py139.json", 5, "more [(2, 0), (3, 0)]"),
    ("no-history-transfer.py139.json", 7, "more [(2, 0), (3, 0)]"),
];

#[test]
fn turns_are_what_agents_without_history_were_shown() {
    let mut found = Vec::new();
    for path in files(&root().join("fixtures/shown"), ".json") {
        let file = name(&path);
        let scenario = file.split('.').next().unwrap();
        let Some((_, agents)) = STATED.iter().find(|(of, _)| *of == scenario) else { continue };
        let session = session(&path, agents);
        for asked in &session.asked {
            let rebuilt = session.rebuilt.get(&asked.event).map_or(&[][..], Vec::as_slice);
            found.extend(difference(asked, rebuilt).map(|what| (file.clone(), asked.event, what)));
        }
    }
    let known: Vec<_> =
        LATER_START.iter().map(|&(file, event, what)| (file.to_owned(), event, what.to_owned())).collect();
    assert_eq!(found, known);
}

/// What the request of a model call says is what the model was shown, in the same order.
#[test]
fn requests_are_read_as_what_was_shown() {
    let (mut found, mut exact) = (Vec::new(), 0);
    for path in files(&root().join("fixtures/shown"), ".json") {
        let file: serde_json::Value = serde_json::from_str(&text(&path)).unwrap();
        let mut recording = recording(&file["session"].to_string());
        let calls = file["calls"].as_array().unwrap();
        if calls.iter().all(|call| call["request"].is_null()) {
            continue;
        }
        for call in calls {
            let event = usize::try_from(call["event"].as_u64().unwrap()).unwrap();
            let request = gatelog::json::parse(&call["request"].to_string()).unwrap();
            recording.events.get_mut(event).unwrap().model_request = Some(request);
        }
        let aligned = rebuilt(&recording, "agents: []");
        for asked in session(&path, "agents: []").asked {
            exact += 1;
            let inputs = aligned.get(&asked.event).map_or(&[][..], Vec::as_slice);
            if inputs != asked.shown {
                found.push(format!(
                    "{} {}: {inputs:?}, and shown was {:?}",
                    name(&path),
                    asked.event,
                    asked.shown
                ));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
    assert!(exact > 40, "{exact}");
}

/// Scenario, agent, and its instruction as `record.py` has it.
const INSTRUCTIONS: &[(&str, &str, &str)] = &[
    ("sequential", "editor", "Edit {draft}."),
    ("rewind", "bot", "The color is {color?}."),
    (
        "state-templates",
        "user_of_state",
        "On {topic} for {user:name}, {missing?}: {artifact.note}, tone {app:tone}, {said}. Not {a b}, {1x}.",
    ),
];

/// The instructions that models were sent are those of the agents file, filled with what state holds as it is rebuilt.
#[test]
fn instructions_are_filled_with_what_was_written() {
    let mut filled = Vec::new();
    for path in files(&root().join("fixtures/shown"), ".json") {
        let file: serde_json::Value = serde_json::from_str(&text(&path)).unwrap();
        let scenario = name(&path).split('.').next().unwrap().to_owned();
        let Some((_, agent, instruction)) = INSTRUCTIONS.iter().find(|(of, ..)| *of == scenario) else {
            continue;
        };
        let mut recording = recording(&file["session"].to_string());
        let mut sent = Vec::new();
        for call in file["calls"].as_array().unwrap().iter().filter(|call| call["agent"] == *agent) {
            let event = usize::try_from(call["event"].as_u64().unwrap()).unwrap();
            let said = call.get("instruction").unwrap_or(&call["request"]["config"]["systemInstruction"]);
            let request = serde_json::json!({"contents": [], "config": {"system_instruction": said}});
            let event = recording.events.get_mut(event).unwrap();
            event.model_request = Some(gatelog::json::parse(&request.to_string()).unwrap());
            sent.push(event.id.clone());
        }
        let agents = format!("agents: [{{name: {agent}, instruction: {instruction:?}}}]");
        let mut graph = Graph::default();
        graph.set_agents(Arc::new(Agents::parse(&agents).unwrap()));
        for event in &recording.events {
            graph.extend(event).unwrap();
        }
        for (record, id) in graph.records().iter().zip((0..).map(RecordId)) {
            let own = record.event().is_some_and(|event| sent.iter().any(|id| *id == event.event_id));
            if !own || record.role() != Role::Assistant {
                continue;
            }
            let lineage = graph.lineage();
            for input in lineage.members(lineage.inputs(id)) {
                let input = graph.records().get(input.0 as usize).unwrap();
                // A request without contents leaves the history as it is rebuilt beside the instruction.
                let with_record = input.event().map(|event| event.event_id);
                if with_record != record.event().map(|event| event.event_id) {
                    continue;
                }
                assert_eq!(input.role(), Role::Agent, "{}: {}", path.display(), input.contents());
                filled.push(format!("{}: {}", name(&path), input.contents()));
            }
        }
    }
    let expected = [
        "sequential.py213.json: Edit draft one.",
        "sequential.py213.json: Edit draft two.",
        "rewind.py213.json: The color is red.",
        "state-templates.py213.json: On tea for Dana, : a note on tea, tone calm, kept. Not {a b}, {1x}.",
    ];
    for line in expected {
        assert!(filled.iter().any(|other| other == line), "{line} is not among {filled:#?}");
    }
}
