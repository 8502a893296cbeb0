//! What happens in a session written by hand: records, outcomes, answers, state, files, time.

use crate::monitor::Action;
use crate::records::{Given, GivenCall, GivenEdge, RecordEvent, Role, Status};
use crate::scenario::fields::{self, Fields, fields};
use crate::source::Place;
use crate::yaml::{Fault, Node};

/// One thing that happens, with its place in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Where it is written.
    pub(crate) place: Place,
    /// What happens.
    pub(crate) event: Happening,
}

/// What happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A record arrives. Its event has a number of its own, or takes the record's.
    Record { given: Box<Given>, numbered: bool },
    /// A call is answered, or starts to run.
    Outcome(Outcome),
    /// A person answers a request for approval.
    Confirm(Confirm),
    /// A record writes or reads a value of state.
    State { access: Access, scope: String, key: String, value: String },
    /// A record writes or reads a version of a file.
    Artifact { access: Access, filename: String, version: i64 },
    /// Where a tool comes from.
    ToolSource { tool: String, source: String },
    /// The end user of the session.
    SessionUser(String),
    /// The time of later checks.
    Clock(String),
}

/// Which record touches, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    Write(String),
    Read(String),
}

/// An answer to a call, or its start.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// Id of the response's record; made from the call's where it is missing.
    pub(crate) id: Option<String>,
    pub(crate) call: String,
    pub(crate) status: Status,
    pub(crate) text: Option<String>,
    pub(crate) agent: Option<String>,
}

/// A person's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Confirm {
    pub(crate) call: String,
    pub(crate) answer: bool,
    pub(crate) hint: String,
    pub(crate) payload: String,
    pub(crate) principal: String,
}

const RECORD_KEYS: &[&str] = &[
    "id",
    "role",
    "agent",
    "text",
    "call",
    "calls",
    "metadata",
    "result_of",
    "inputs",
    "edges",
    "entity",
    "principal",
    "event",
];

/// Keys of happenings that are no records.
pub(crate) const HAPPENING_KEYS: &[&str] =
    &["outcome", "confirm", "state", "artifact", "tool_source", "session_user", "clock"];

/// Reads one entry of `records` or `append`.
pub(crate) fn entry(node: &Node, faults: &mut Vec<Fault>) -> Vec<Entry> {
    let known: Vec<_> = RECORD_KEYS.iter().chain(HAPPENING_KEYS).copied().collect();
    let Some(map) = fields(node, "a record", &known, faults) else { return Vec::new() };
    let happenings = happenings(&map, faults);
    if happenings.is_empty() {
        let place = node.place;
        return record(&map, faults).map(|event| Entry { place, event }).into_iter().collect();
    }
    if RECORD_KEYS.iter().any(|key| map.has(key)) {
        faults.push(Fault::new(node.place, "a record and something else in one entry: write two"));
    }
    happenings
}

/// Reads the happenings among the keys of an entry or a check, in the order of [`HAPPENING_KEYS`].
pub(crate) fn happenings(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Vec<Entry> {
    let mut entries = Vec::new();
    for key in HAPPENING_KEYS {
        for node in map.one_or_more(key) {
            let event = match *key {
                "outcome" => outcome(node, faults).map(Happening::Outcome),
                "confirm" => confirm(node, faults).map(Happening::Confirm),
                "state" => state(node, faults),
                "artifact" => artifact(node, faults),
                "tool_source" => tool_source(node, faults),
                "session_user" => fields::text(node, "`session_user`", faults).map(Happening::SessionUser),
                _ => fields::text(node, "`clock`", faults).map(Happening::Clock),
            };
            entries.extend(event.map(|event| Entry { place: node.place, event }));
        }
    }
    entries
}

fn record(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<Happening> {
    let id = map.required("id", faults);
    if map.has("call") && map.has("calls") {
        faults.push(map.fault("call", "`call` and `calls` in one record: write `calls`"));
    }
    let calls = map.some("call").into_iter().chain(map.list("calls", faults));
    let calls = calls.filter_map(|node| call(node, faults)).collect();
    let (event, numbered) = map.some("event").and_then(|node| event(node, faults)).unzip();
    let given = Given {
        id: id?,
        role: role(map, faults),
        agent: map.text_or_empty("agent", faults),
        text: map.text_or_empty("text", faults),
        calls,
        metadata: map.some("metadata").map(|node| fields::json_text(node, faults)),
        result_of: map.some("result_of").and_then(|node| result_of(node, faults)),
        inputs: map.texts("inputs", faults),
        edges: map.list("edges", faults).iter().filter_map(|node| edge(node, faults)).collect(),
        entity: map.text_or_empty("entity", faults),
        principal: map.text_or_empty("principal", faults),
        event,
    };
    Some(Happening::Record { given: Box::new(given), numbered: numbered.unwrap_or(false) })
}

fn role(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Role {
    match map.text("role", faults).as_deref() {
        None | Some("model") => Role::Assistant,
        Some("user") => Role::User,
        Some("tool") => Role::Agent,
        Some("system") => Role::System,
        Some(other) => {
            faults.push(map.fault(
                "role",
                format!("unknown role `{other}`; known are `user`, `model`, `tool`, `system`"),
            ));
            Role::Agent
        }
    }
}

fn arguments(map: &Fields<'_>, faults: &mut Vec<Fault>) -> String {
    map.some("args").map_or_else(|| "{}".to_owned(), |node| fields::json_text(node, faults))
}

fn call(node: &Node, faults: &mut Vec<Fault>) -> Option<GivenCall> {
    let map = fields(node, "a call", &["id", "tool", "args"], faults)?;
    let tool = map.required("tool", faults);
    let (id, arguments) = (map.text_or_empty("id", faults), arguments(&map, faults));
    Some(GivenCall { id, tool: tool?, arguments })
}

fn result_of(node: &Node, faults: &mut Vec<Fault>) -> Option<(String, String)> {
    let map = fields(node, "`result_of`", &["tool", "args"], faults)?;
    let tool = map.required("tool", faults);
    let arguments = arguments(&map, faults);
    Some((tool?, arguments))
}

fn edge(node: &Node, faults: &mut Vec<Fault>) -> Option<GivenEdge> {
    let map = fields(node, "an edge", &["from", "principal", "entity", "index", "proximal"], faults)?;
    let from = map.required("from", faults);
    Some(GivenEdge {
        principal: map.text("principal", faults),
        entity: map.text("entity", faults),
        index: map.number("index", faults),
        proximal: map.number("proximal", faults),
        from: from?,
    })
}

/// The event of a record, and whether it has a number of its own.
fn event(node: &Node, faults: &mut Vec<Fault>) -> Option<(RecordEvent, bool)> {
    let known = ["event_id", "invocation_id", "author", "branch", "seq", "time"];
    let map = fields(node, "an event", &known, faults)?;
    let seq = map.number("seq", faults);
    let event = RecordEvent {
        event_id: map.text_or_empty("event_id", faults).into(),
        invocation_id: map.text_or_empty("invocation_id", faults).into(),
        author: map.text_or_empty("author", faults).into(),
        branch: map.text_or_empty("branch", faults).into(),
        seq: seq.unwrap_or_default(),
        time: map.text_or_empty("time", faults).into(),
        number: None,
    };
    Some((event, seq.is_some()))
}

fn outcome(node: &Node, faults: &mut Vec<Fault>) -> Option<Outcome> {
    let map = fields(node, "`outcome`", &["id", "call", "status", "text", "agent"], faults)?;
    let (call, status) = (map.required("call", faults), map.required("status", faults));
    let known = status.as_deref().and_then(Status::from_name);
    if let (Some(word), None) = (&status, known) {
        let all = "running, ok, error, denied, pending, answered, violated, unmatched, ungated";
        faults.push(map.fault("status", format!("unknown status `{word}`; known are {all}")));
    }
    let (id, text, agent) = (map.text("id", faults), map.text("text", faults), map.text("agent", faults));
    Some(Outcome { id, call: call?, status: known?, text, agent })
}

fn confirm(node: &Node, faults: &mut Vec<Fault>) -> Option<Confirm> {
    let map = fields(node, "`confirm`", &["call", "answer", "hint", "payload", "principal"], faults)?;
    let call = map.required("call", faults);
    if map.some("answer").is_none() {
        faults.push(Fault::new(map.place, "`confirm` needs `answer`"));
    }
    Some(Confirm {
        answer: map.flag("answer", faults),
        hint: map.text_or_empty("hint", faults),
        payload: map.some("payload").map(|node| fields::json_text(node, faults)).unwrap_or_default(),
        principal: map.text_or_empty("principal", faults),
        call: call?,
    })
}

fn access(map: &Fields<'_>, what: &str, faults: &mut Vec<Fault>) -> Option<Access> {
    match (map.text("write", faults), map.text("read", faults)) {
        (Some(id), None) => Some(Access::Write(id)),
        (None, Some(id)) => Some(Access::Read(id)),
        (Some(_), Some(_)) | (None, None) => {
            let text = format!("{what} needs `write` or `read`, with the id of the record that did it");
            faults.push(Fault::new(map.place, text));
            None
        }
    }
}

fn state(node: &Node, faults: &mut Vec<Fault>) -> Option<Happening> {
    let map = fields(node, "`state`", &["write", "read", "scope", "key", "value"], faults)?;
    let (access, key) = (access(&map, "`state`", faults), map.required("key", faults));
    let scope = map.text("scope", faults).unwrap_or_else(|| "session".to_owned());
    if !["session", "app", "user", "temp"].contains(&scope.as_str()) {
        let text = format!("unknown scope `{scope}`; known are `session`, `app`, `user`, `temp`");
        faults.push(map.fault("scope", text));
    }
    let value = match map.get("value").map(Node::json) {
        None => "null".to_owned(),
        Some(Ok(value)) => value.ordinary(),
        Some(Err(fault)) => {
            faults.push(fault);
            String::new()
        }
    };
    Some(Happening::State { access: access?, scope, key: key?, value })
}

fn artifact(node: &Node, faults: &mut Vec<Fault>) -> Option<Happening> {
    let map = fields(node, "`artifact`", &["write", "read", "filename", "version"], faults)?;
    let (access, filename) = (access(&map, "`artifact`", faults), map.required("filename", faults));
    let version = map.number("version", faults).unwrap_or(0);
    Some(Happening::Artifact { access: access?, filename: filename?, version })
}

fn tool_source(node: &Node, faults: &mut Vec<Fault>) -> Option<Happening> {
    let map = fields(node, "`tool_source`", &["tool", "source"], faults)?;
    let (tool, source) = (map.required("tool", faults), map.required("source", faults));
    Some(Happening::ToolSource { tool: tool?, source: source? })
}

/// Reads one action with its `ActionMetadata` rows.
pub(crate) fn action(node: &Node, faults: &mut Vec<Fault>) -> Option<(Action, Vec<[String; 3]>)> {
    let map = fields(node, "an action", &["tool", "args", "http", "send", "metadata"], faults)?;
    let metadata = fields::triples(map.list("metadata", faults), "a row of `metadata`", faults);
    let kinds = ["tool", "http", "send"].into_iter().filter(|key| map.has(key)).count();
    if kinds != 1 || (map.has("args") && !map.has("tool")) {
        faults.push(Fault::new(map.place, "an action is one of `tool` (with `args`), `http`, `send`"));
        return None;
    }
    let action = if let Some(http) = map.some("http") {
        http_request(http, faults)?
    } else if let Some(send) = map.some("send") {
        send_attempt(send, faults)?
    } else {
        Action::CallTool { tool: map.required("tool", faults)?, arguments: arguments(&map, faults) }
    };
    Some((action, metadata))
}

fn http_request(node: &Node, faults: &mut Vec<Fault>) -> Option<Action> {
    let map = fields(node, "`http`", &["url", "body", "headers"], faults)?;
    let url = map.required("url", faults);
    let body = map.text_or_empty("body", faults);
    let headers = map.some("headers").map_or_else(|| "[]".to_owned(), |node| fields::json_text(node, faults));
    Some(Action::HttpRequest { url: url?, body, headers })
}

fn send_attempt(node: &Node, faults: &mut Vec<Fault>) -> Option<Action> {
    let map = fields(node, "`send`", &["text", "agent", "role", "entity", "principal"], faults)?;
    Some(Action::Send {
        contents: map.text_or_empty("text", faults),
        agent: map.text_or_empty("agent", faults),
        role: role(&map, faults),
        entity: map.text_or_empty("entity", faults),
        principal: map.text_or_empty("principal", faults),
    })
}
