//! Requests that libraries recorded, against the sessions they belong to.

use std::fmt::Write;
use std::sync::Arc;

use gatelog::lineage::RecordId;
use gatelog::recording::{Options, read};
use gatelog::records::Graph;
use gatelog::records::agents::Agents;
use insta::{assert_snapshot, glob};

use crate::support::text;

/// Each record with its inputs, one a line.
fn records(file: &str, agents: &str) -> String {
    let file: serde_json::Value = serde_json::from_str(file).unwrap();
    let mut recordings = read(file["session"].to_string().as_bytes(), &Options::default()).unwrap();
    let mut recording = recordings.pop().unwrap();
    for pair in file["requests"].as_array().unwrap() {
        let event = usize::try_from(pair[0].as_u64().unwrap()).unwrap();
        let request = gatelog::json::parse(&pair[1].to_string()).unwrap();
        recording.events.get_mut(event).unwrap().model_request = Some(request);
    }
    let mut graph = Graph::default();
    graph.set_agents(Arc::new(Agents::parse(agents).unwrap()));
    for event in &recording.events {
        graph.extend(event).unwrap();
    }
    let mut out = String::new();
    for (record, id) in graph.records().iter().zip((0..).map(RecordId)) {
        let lineage = graph.lineage();
        let inputs: Vec<_> = lineage.members(lineage.inputs(id)).iter().map(|input| input.0).collect();
        let said = if record.contents().is_empty() { &*record.tools_json() } else { record.contents() };
        let _infallible = writeln!(out, "{} {:?} {} {inputs:?} {said}", id.0, record.role(), record.agent());
    }
    let assumed: Vec<_> = graph.assumptions().iter().map(|notice| notice.kind.as_str()).collect();
    let _infallible = writeln!(out, "assumed: {assumed:?}");
    out
}

#[test]
fn recorded_requests() {
    glob!("../../fixtures/requests", "*.json", |path| {
        assert_snapshot!(records(&text(path), "agents: []"));
    });
}

#[test]
fn a_registered_instruction_is_the_systems() {
    let path = crate::support::root().join("fixtures/requests/rust__transfer.respelled.json");
    let agents = "agents: [{name: root, instruction: Be brief.}, {name: billing, instruction: Be brief.}]";
    let records = records(&text(&path), agents);
    assert!(records.contains("System root [] Be brief."), "{records}");
    assert!(!records.contains("unattributed"), "{records}");
}
