//! One event to an [`Event`]: the keys that Google's libraries and the Rust library share, and those of each.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::recording::early;
use crate::recording::event::{Actions, Compaction, Event, Part, ToolConfirmation};
use crate::recording::fields::{Fields, Place, Wrong, is_blank, is_hollow, join, shown};
use crate::recording::mixed;
use crate::recording::part;
use crate::recording::reading::Dialect;
use crate::recording::request;
use crate::recording::time;
use crate::recording::{Parts, StopKind};

/// The keys of an event that are read.
pub(crate) const READ: &[&str] = &[
    "id",
    "invocationId",
    "author",
    "branch",
    "timestamp",
    "content",
    "actions",
    "longRunningToolIds",
    "partial",
    "errorCode",
    "errorMessage",
    "nodeInfo",
    "isolationScope",
    "customMetadata",
    "output",
    "inputTranscription",
    "outputTranscription",
    "requestedInput",
    "options",
];

/// The keys of an event that describe how it was made and carry nothing from one message to the next.
pub(crate) const SILENT: &[&str] = &[
    "turnComplete",
    "turnCompleteReason",
    "interrupted",
    "finishReason",
    "usageMetadata",
    "citationMetadata",
    "cacheMetadata",
    "logprobsResult",
    "avgLogprobs",
    "modelVersion",
    "liveSessionId",
    "liveSessionResumptionUpdate",
    "goAway",
    "voiceActivity",
    "interactionStatus",
    "interactionId",
    "environmentId",
    "sessionId",
    "nodePath",
    "route",
    "routes",
];

/// Further keys of the Rust library.
pub(crate) const RUST: &[&str] = &[
    "llmRequest",
    "eventMetadata",
    "providerMetadata",
    "gcp.vertex.agent.llm_request",
    "gcp.vertex.agent.llm_response",
];

/// The keys of an event that bring text from outside past its parts.
pub(crate) const OUTSIDE: &[&str] = &["groundingMetadata"];

/// The keys of actions that are read.
pub(crate) const ACTIONS: &[&str] = &[
    "stateDelta",
    "artifactDelta",
    "transferToAgent",
    "transferAgent",
    "escalate",
    "requestedAuthConfigs",
    "requestedToolConfirmations",
    "compaction",
    "rewindBeforeInvocationId",
    "agentState",
];

/// The keys of actions that carry nothing from one message to the next.
pub(crate) const SILENT_ACTIONS: &[&str] = &[
    "skipSummarization",
    "transferReason",
    "endOfAgent",
    "renderUiWidgets",
    "route",
    "setModelResponse",
    "deletedArtifactIds",
];

/// Further keys of the Rust library.
pub(crate) const RUST_ACTIONS: &[&str] = &["toolConfirmation", "toolConfirmationDecision"];

/// What stands in place of a value of state that is removed, in Java as such, in Kotlin as the only key of an object.
const REMOVED: &str = "__ADK_SENTINEL_REMOVED__";

const CONTENT: &[&str] = &["parts", "role"];

/// Names of keys that were ignored: objects in the order of the file, the keys of one object sorted.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    names: Vec<String>,
    seen: std::collections::BTreeSet<String>,
    /// How many events hold a request to a model that cannot be read.
    pub(crate) requests: usize,
}

/// How events are to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Manner {
    pub(crate) dialect: Dialect,
    pub(crate) parts: Parts,
}

impl Ignored {
    /// Notes a key once.
    pub(crate) fn note(&mut self, key: &str) {
        if self.seen.insert(key.to_owned()) {
            self.names.push(shown(key));
        }
    }

    /// The names, in the order in which they were met.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.names.iter().map(String::as_str)
    }

    /// The names, at most a line of them; none where nothing was ignored.
    pub(crate) fn listed(&self) -> Option<String> {
        const LISTED: usize = 30;
        let names: Vec<_> = self.names.iter().take(LISTED).map(|name| format!("`{name}`")).collect();
        let more = self.names.len().saturating_sub(LISTED);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!names.is_empty()).then(|| format!("{}{more}", names.join(", ")))
    }
}

/// Whether an event is a piece of a stream that a later event repeats in full. Such events are no part of a session.
pub(crate) fn is_partial(json: &Json) -> bool {
    json.field("partial") == Some(&Json::Bool(true))
}

/// Reads one event.
pub(crate) fn event(
    json: &Json,
    index: usize,
    manner: Manner,
    ignored: &mut Ignored,
) -> Result<Event, Wrong> {
    let known = [READ, SILENT, OUTSIDE, RUST, mixed::NESTED, &[mixed::RAW]].concat();
    let fields = Fields::new(json, "", &known)?;
    if READ.iter().filter(|key| **key != "id").all(|key| fields.value(key).is_none()) {
        return Err(Wrong::new(
            StopKind::BadShape,
            "the object has no field of an event but its id".to_owned(),
        ));
    }
    for (key, _) in fields.unknown(&known) {
        ignored.note(key);
    }
    let grounding = outside_parts(&fields, "groundingMetadata", manner.parts)?;
    fields.flag("partial")?;
    let content = fields.object("content", CONTENT)?;
    let mut event = Event { index, grounding, ..said_about(&fields)? };
    if let Some(content) = content {
        for (key, _) in content.unknown(CONTENT) {
            ignored.note(&join("content", key));
        }
        event.role = content.text("role")?;
        event.parts = parts(&content, manner)?;
        event.has_content = !event.parts.is_empty();
        for name in part::unknown(&event.parts) {
            ignored.note(&join("content.parts", &name));
        }
    }
    if manner.dialect == Dialect::Rust {
        let (request, unread) = request::of(&fields);
        event.model_request = request;
        ignored.requests += usize::from(unread);
        event.custom_metadata = merged(event.custom_metadata, event_metadata(&fields)?)?;
    }
    let known = [ACTIONS, SILENT_ACTIONS, RUST_ACTIONS].concat();
    if let Some(fields) = fields.object("actions", &known)? {
        let foreign = |key: &&&str| fields.value(key).is_some_and(|value| !is_blank(value));
        if let Some(key) = RUST_ACTIONS.iter().filter(|_| manner.dialect != Dialect::Rust).find(foreign) {
            return Err(mixed::mixes(&fields.place(key)));
        }
        for (key, _) in fields.unknown(&known) {
            ignored.note(&join("actions", key));
        }
        event.has_actions = true;
        event.agent_state = outside_parts(&fields, "agentState", manner.parts)?;
        event.actions = actions(&fields, manner)?;
    }
    event.actions.state_delta.extend(early::state_delta(&fields, ignored)?);
    Ok(event)
}

fn parts(content: &Fields<'_>, manner: Manner) -> Result<Vec<Part>, Wrong> {
    part::parts(content.list("parts")?, &content.place_of("parts"), manner.dialect, manner.parts)
}

fn said_about(fields: &Fields<'_>) -> Result<Event, Wrong> {
    let node = fields.object("nodeInfo", &["path"])?;
    Ok(Event {
        id: fields.text("id")?,
        invocation_id: fields.text("invocationId")?,
        author: fields.text("author")?,
        branch: fields.text("branch")?,
        time: time::time_of(fields.value("timestamp")),
        long_running: texts(fields, "longRunningToolIds")?,
        error_code: fields.text("errorCode")?,
        error_message: fields.text("errorMessage")?,
        node_path: node.map_or(Ok(String::new()), |node| node.text("path"))?,
        isolation_scope: fields.text("isolationScope")?,
        custom_metadata: metadata(fields)?,
        output: fields.value("output").cloned(),
        transcriptions: transcriptions(fields)?,
        requested_input: fields.value("requestedInput").filter(|value| !is_hollow(value)).cloned(),
        ..Event::default()
    })
}

/// An object of user data; in Java a list of objects, each with the `key` of one entry.
fn metadata(fields: &Fields<'_>) -> Result<Option<Json>, Wrong> {
    let value = fields.value("customMetadata");
    if let Some(Json::Array(items)) = value {
        if items.iter().any(|item| item.field("key").and_then(Json::text).is_none()) {
            return Err(Wrong::shape(
                &fields.place("customMetadata"),
                "an object or a list of entries with a key",
            ));
        }
    } else {
        fields.entries("customMetadata")?;
    }
    Ok(value.filter(|value| !is_blank(value)).cloned())
}

/// What the Rust library has for `customMetadata`, without the exchange with the model.
fn event_metadata(fields: &Fields<'_>) -> Result<Vec<(Box<str>, Json)>, Wrong> {
    let entries = fields.entries("eventMetadata")?.iter();
    Ok(entries.filter(|(key, _)| !key.starts_with("gcp.vertex.agent.")).cloned().collect())
}

/// Both kinds of metadata. A key in both with two values is refused: one of them would be lost.
fn merged(custom: Option<Json>, own: Vec<(Box<str>, Json)>) -> Result<Option<Json>, Wrong> {
    if own.is_empty() {
        return Ok(custom);
    }
    match custom {
        Some(Json::Object(mut members)) => {
            let had: BTreeMap<_, _> = members.iter().cloned().collect();
            for (key, value) in own {
                match had.get(&key) {
                    None => members.push((key, value)),
                    Some(earlier) if *earlier == value => {}
                    Some(_) => {
                        let key = shown(&key);
                        let text = format!("`event_metadata` and `custom_metadata` differ in `{key}`");
                        return Err(Wrong::new(StopKind::BadShape, text));
                    }
                }
            }
            Ok(Some(Json::Object(members)))
        }
        Some(Json::Array(mut items)) => {
            let item =
                |(key, value)| Json::Object(vec![("key".into(), Json::Text(key)), ("value".into(), value)]);
            items.extend(own.into_iter().map(item));
            Ok(Some(Json::Array(items)))
        }
        Some(_) | None => Ok(Some(Json::Object(own))),
    }
}

fn texts(fields: &Fields<'_>, key: &str) -> Result<Vec<String>, Wrong> {
    let text = |item: &Json| match item {
        Json::Text(text) => Ok(text.to_string()),
        _ => Err(Wrong::shape(&fields.place(key), "a list of texts")),
    };
    fields.list(key)?.iter().map(text).collect()
}

fn transcriptions(fields: &Fields<'_>) -> Result<Vec<String>, Wrong> {
    let mut spoken = Vec::new();
    for key in ["inputTranscription", "outputTranscription"] {
        if let Some(fields) = fields.object(key, &["text"])? {
            spoken.push(fields.text("text")?);
        }
    }
    spoken.retain(|text| !text.is_empty());
    Ok(spoken)
}

/// A value that speaks outside the parts of the message. It stops the session, unless all is read.
fn outside_parts(fields: &Fields<'_>, key: &str, read: Parts) -> Result<Option<Json>, Wrong> {
    match (fields.value(key).filter(|value| !is_hollow(value)), read) {
        (Some(_), Parts::Supported) => {
            let text = format!("`{}` speaks outside the parts of the message", fields.place(key));
            Err(Wrong::new(StopKind::UnsupportedPart, text))
        }
        (said, _) => Ok(said.cloned()),
    }
}

fn actions(fields: &Fields<'_>, manner: Manner) -> Result<Actions, Wrong> {
    let (removed, state): (Vec<_>, Vec<_>) =
        fields.entries("stateDelta")?.iter().partition(|(_, value)| is_removed(value));
    let rewind = fields.text("rewindBeforeInvocationId")?;
    let auth = fields.entries("requestedAuthConfigs")?;
    Ok(Actions {
        state_delta: state.into_iter().map(|(key, value)| (key.to_string(), value.clone())).collect(),
        state_removed: removed.into_iter().map(|(key, _)| key.to_string()).collect(),
        artifact_delta: artifacts(fields)?,
        transfer_to_agent: transfer(fields)?,
        escalate: fields.flag("escalate")?,
        requested_confirmations: match manner.dialect {
            Dialect::Adk | Dialect::Vertex => confirmations(fields)?,
            Dialect::Rust => [confirmations(fields)?, confirmation(fields)?].concat(),
        },
        requested_auth: auth.iter().map(|(key, _)| key.to_string()).collect(),
        confirmation_decision: match manner.dialect {
            Dialect::Adk | Dialect::Vertex => None,
            Dialect::Rust => decision(fields)?,
        },
        compaction: compaction(fields, manner)?,
        rewind_before: (!rewind.is_empty()).then_some(rewind),
    })
}

/// Whether a value of `stateDelta` says that its key is removed.
pub(crate) fn is_removed(value: &Json) -> bool {
    match value {
        Json::Text(text) => &**text == REMOVED,
        Json::Object(members) => {
            matches!(members.as_slice(), [(key, Json::Bool(true))] if &**key == REMOVED)
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Array(_) => false,
    }
}

fn transfer(fields: &Fields<'_>) -> Result<String, Wrong> {
    let to = fields.text("transferToAgent")?;
    let older = fields.text("transferAgent")?;
    match (to.is_empty(), older.is_empty()) {
        (false, false) if to != older => {
            let text = format!(
                "`{}` and `{}` name two agents",
                fields.place("transferToAgent"),
                fields.place("transferAgent")
            );
            Err(Wrong::new(StopKind::BadShape, text))
        }
        (true, false) => Ok(older),
        (_, _) => Ok(to),
    }
}

/// The version of an artifact.
pub(crate) fn version(value: &Json) -> Option<i64> {
    match value {
        Json::Number(digits) => digits.strip_suffix(".0").unwrap_or(digits).parse::<i64>().ok(),
        Json::Null | Json::Bool(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn artifacts(fields: &Fields<'_>) -> Result<Vec<(String, i64)>, Wrong> {
    let mut versions = Vec::new();
    for (name, value) in fields.entries("artifactDelta")? {
        let place = join(&fields.place("artifactDelta"), name);
        let version = version(value).ok_or_else(|| Wrong::shape(&place, "a version number"))?;
        versions.push((name.to_string(), version));
    }
    Ok(versions)
}

fn confirmations(fields: &Fields<'_>) -> Result<Vec<(String, ToolConfirmation)>, Wrong> {
    let place = fields.place_of("requestedToolConfirmations");
    let mut asked = Vec::new();
    for (call, json) in fields.entries("requestedToolConfirmations")? {
        let confirmation = match json {
            Json::Null => ToolConfirmation::default(),
            json => {
                let fields = Fields::at(json, Place::Key(&place, call), &["hint", "payload"])?;
                ToolConfirmation { hint: fields.text("hint")?, payload: fields.value("payload").cloned() }
            }
        };
        asked.push((call.to_string(), confirmation));
    }
    Ok(asked)
}

/// The one call that the Rust library waits for. A call without an id stays unnamed.
fn confirmation(fields: &Fields<'_>) -> Result<Vec<(String, ToolConfirmation)>, Wrong> {
    let asked = fields.object("toolConfirmation", &["toolName", "functionCallId", "args"])?;
    let call = asked.map(|asked| asked.text("functionCallId")).transpose()?;
    Ok(call.map(|call| (call, ToolConfirmation::default())).into_iter().collect())
}

fn decision(fields: &Fields<'_>) -> Result<Option<bool>, Wrong> {
    match fields.text("toolConfirmationDecision")?.as_str() {
        "" => Ok(None),
        "approve" => Ok(Some(true)),
        "deny" => Ok(Some(false)),
        _ => Err(Wrong::shape(&fields.place("toolConfirmationDecision"), "`approve` or `deny`")),
    }
}

fn compaction(fields: &Fields<'_>, manner: Manner) -> Result<Option<Compaction>, Wrong> {
    let known = ["startTimestamp", "endTimestamp", "compactedContent"];
    let Some(fields) = fields.object("compaction", &known)? else { return Ok(None) };
    if known.iter().all(|key| fields.value(key).is_none()) {
        return Ok(None);
    }
    let content = fields.object("compactedContent", CONTENT)?;
    let parts = match content {
        Some(content) => parts(&content, manner).map_err(|wrong| Wrong { part: None, ..wrong })?,
        None => Vec::new(),
    };
    Ok(Some(Compaction {
        start: time::time_of(fields.value("startTimestamp")),
        end: time::time_of(fields.value("endTimestamp")),
        parts,
    }))
}
