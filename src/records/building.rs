//! Events from short JSON, for unit tests.

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
use crate::records::Observed;
use crate::records::Record;
use crate::records::SessionFact;
use crate::records::agents::Agents;

fn text(value: &Json, key: &str) -> String {
    match value.field(key) {
        Some(Json::Text(text)) => text.to_string(),
        Some(Json::Number(text)) => text.to_string(),
        _ => String::new(),
    }
}

fn fields(value: &Json, key: &str) -> Vec<(String, Json)> {
    match value.field(key) {
        Some(Json::Object(fields)) => fields.iter().map(|(k, v)| (k.to_string(), v.clone())).collect(),
        _ => Vec::new(),
    }
}

fn items<'j>(value: &'j Json, key: &str) -> &'j [Json] {
    match value.field(key) {
        Some(Json::Array(items)) => items,
        _ => &[],
    }
}

fn given(value: Option<&Json>) -> Option<Json> {
    value.filter(|value| **value != Json::Null).cloned()
}

fn part(value: &Json) -> Part {
    let kind = if let Some(call) = value.field("functionCall") {
        PartKind::Call {
            id: text(call, "id"),
            name: text(call, "name"),
            arguments: given(call.field("args")),
        }
    } else if let Some(answer) = value.field("functionResponse") {
        let response = given(answer.field("response"));
        PartKind::Response { id: text(answer, "id"), name: text(answer, "name"), response }
    } else if value.field("text").is_some() {
        PartKind::Text(text(value, "text"))
    } else {
        PartKind::Empty
    };
    Part {
        kind,
        thought: value.field("thought") == Some(&Json::Bool(true)),
        thought_signature: value.field("thoughtSignature").map(|_| vec![1, 2, 3]),
        ..Part::default()
    }
}

fn actions(value: &Json) -> Actions {
    let confirmation = |(id, asked): (String, Json)| {
        (id, ToolConfirmation { hint: text(&asked, "hint"), payload: given(asked.field("payload")) })
    };
    Actions {
        state_delta: fields(value, "stateDelta"),
        state_removed: Vec::new(),
        confirmation_decision: None,
        artifact_delta: fields(value, "artifactDelta")
            .into_iter()
            .map(|(name, version)| (name, version.ordinary().parse().unwrap_or(0)))
            .collect(),
        transfer_to_agent: text(value, "transferToAgent"),
        escalate: false,
        requested_confirmations: fields(value, "requestedToolConfirmations")
            .into_iter()
            .map(confirmation)
            .collect(),
        requested_auth: fields(value, "requestedAuthConfigs").into_iter().map(|(id, _)| id).collect(),
        compaction: value.field("compaction").map(|c| Compaction {
            start: text(c, "startTimestamp"),
            end: text(c, "endTimestamp"),
            parts: c
                .field("compactedContent")
                .map_or(&[][..], |c| items(c, "parts"))
                .iter()
                .map(part)
                .collect(),
        }),
        rewind_before: value.field("rewindBeforeInvocationId").and_then(Json::text).map(str::to_owned),
    }
}

fn event(index: usize, value: &Json) -> Event {
    let parts = value.field("content").map_or(&[][..], |content| items(content, "parts"));
    Event {
        index,
        id: text(value, "id"),
        invocation_id: text(value, "invocationId"),
        author: text(value, "author"),
        branch: text(value, "branch"),
        time: text(value, "timestamp"),
        role: value.field("content").map_or_else(String::new, |content| text(content, "role")),
        has_content: !parts.is_empty(),
        parts: parts.iter().map(part).collect(),
        actions: value.field("actions").map(actions).unwrap_or_default(),
        has_actions: value.field("actions").is_some(),
        long_running: items(value, "longRunningToolIds")
            .iter()
            .filter_map(Json::text)
            .map(str::to_owned)
            .collect(),
        error_code: text(value, "errorCode"),
        error_message: text(value, "errorMessage"),
        node_path: value.field("nodeInfo").map_or_else(String::new, |node| text(node, "path")),
        isolation_scope: text(value, "isolationScope"),
        custom_metadata: given(value.field("customMetadata")),
        output: given(value.field("output")),
        transcriptions: ["inputTranscription", "outputTranscription"]
            .iter()
            .filter_map(|key| value.field(key))
            .map(|t| text(t, "text"))
            .collect(),
        requested_input: given(value.field("requestedInput")),
        model_request: given(value.field("modelRequest")),
        ..Event::default()
    }
}

/// The events of a session document or of a list.
pub(crate) fn events(source: &str) -> Vec<Event> {
    let value = json::parse(source).unwrap();
    let list = match &value {
        Json::Array(items) => items.as_slice(),
        other => items(other, "events"),
    };
    list.iter().enumerate().map(|(i, value)| event(i, value)).collect()
}

/// A graph of these events, with what each brought.
pub(crate) fn graph(source: &str) -> (Graph, Vec<Observed>) {
    let mut graph = Graph::default();
    let observed = events(source).iter().map(|event| graph.extend(event).unwrap()).collect();
    (graph, observed)
}

/// The record of the part at this place among all parts of the session (records without a part count).
pub(crate) fn at(graph: &Graph, number: u32) -> Record<'_> {
    graph.records().get(number as usize).unwrap()
}

/// Numbers of the inputs of a record, in order.
pub(crate) fn inputs(graph: &Graph, number: u32) -> Vec<u32> {
    let lineage = graph.lineage();
    lineage.members(lineage.inputs(RecordId(number))).into_iter().map(|record| record.0).collect()
}

/// Rows of `ToolOutcome` as `record status`, and the records of `ToolResult` and `ToolOutput`.
pub(crate) fn outcomes(graph: &Graph) -> (Vec<String>, Vec<u32>, Vec<u32>) {
    let (mut outcomes, mut results, mut outputs) = (Vec::new(), Vec::new(), Vec::new());
    for fact in graph.facts().iter() {
        match &fact {
            SessionFact::ToolOutcome { record, status, tool, .. } => {
                outcomes.push(format!("{} {tool} {}", record.0, status.name()));
            }
            SessionFact::ToolResult { record, .. } => results.push(record.0),
            SessionFact::ToolOutput { record, .. } => outputs.push(record.0),
            _ => {}
        }
    }
    (outcomes, results, outputs)
}

/// A list of events in short form, one a line: author, what it holds, and further keys as JSON.
///
/// `user say hello`, `bot call c1 pay {"to":"m"}`, `bot answer c1 pay {"ok":true}`, `bot nothing`; `& ` continues the
/// content of the line before. Further keys follow ` @ `, such as ` @ "branch":"a"`.
pub(crate) fn short(lines: &str) -> String {
    let mut events: Vec<(String, Vec<String>, String)> = Vec::new();
    for line in lines.lines().map(str::trim).filter(|line| !line.is_empty()) {
        let (line, more) = line.split_once(" @ ").unwrap_or((line, ""));
        let (author, what) = line.split_once(' ').unwrap();
        let (kind, rest) = what.split_once(' ').unwrap_or((what, ""));
        let mut words = rest.splitn(3, ' ');
        let mut word = || words.next().filter(|word| *word != "-").unwrap_or("");
        let part = match kind {
            "say" => format!(r#"{{"text":{}}}"#, Json::Text(rest.into()).ordinary()),
            "think" => format!(r#"{{"thought":true,"text":{}}}"#, Json::Text(rest.into()).ordinary()),
            "call" => {
                format!(r#"{{"functionCall":{{"id":"{}","name":"{}","args":{}}}}}"#, word(), word(), word())
            }
            "answer" => {
                format!(
                    r#"{{"functionResponse":{{"id":"{}","name":"{}","response":{}}}}}"#,
                    word(),
                    word(),
                    word()
                )
            }
            _ => String::new(),
        };
        let parts = Some(part).filter(|part| !part.is_empty());
        match events.last_mut().filter(|_| author == "&") {
            Some(last) => last.1.extend(parts),
            None => events.push((author.to_owned(), parts.into_iter().collect(), more.to_owned())),
        }
    }
    let mut out = Vec::new();
    for (i, (author, parts, more)) in events.into_iter().enumerate() {
        let content = format!(r#","content":{{"parts":[{}]}}"#, parts.join(","));
        let content = if parts.is_empty() { "" } else { &content };
        let comma = if more.is_empty() { "" } else { "," };
        out.push(format!(
            r#"{{"id":"e{i}","timestamp":"2026-01-01T00:00:{i:02}Z","author":"{author}"{content}{comma}{more}}}"#
        ));
    }
    format!("[{}]", out.join(","))
}

/// A graph of events in [`short`] form.
pub(crate) fn build(lines: &str) -> (Graph, Vec<Observed>) {
    graph(&short(lines))
}

/// The same with what an agents file states.
pub(crate) fn build_with(agents: &str, lines: &str) -> Graph {
    let mut graph = Graph::default();
    graph.set_session("app", "ann", "s1");
    graph.set_agents(std::sync::Arc::new(Agents::parse(agents).unwrap()));
    for event in events(&short(lines)) {
        graph.extend(&event).unwrap();
    }
    graph
}

/// Kinds of the warnings, each once, in order.
pub(crate) fn warned(graph: &Graph) -> Vec<&str> {
    let mut kinds: Vec<&str> = graph.warnings().iter().map(|notice| notice.kind.as_str()).collect();
    kinds.dedup();
    kinds
}

/// Kinds of the assumptions beside the one that every rebuilt session makes.
pub(crate) fn assumed(graph: &Graph) -> Vec<&str> {
    let kinds = graph.assumptions().iter().map(|notice| notice.kind.as_str());
    kinds.filter(|kind| *kind != "full_history").collect()
}
