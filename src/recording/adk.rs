//! One event in the keys of Google's libraries to an [`Event`].

use crate::json::Json;
use crate::recording::early;
use crate::recording::event::{Actions, Compaction, Event, ToolConfirmation};
use crate::recording::fields::{Fields, Wrong, is_hollow, join, shown};
use crate::recording::part;
use crate::recording::time;
use crate::recording::{Parts, StopKind};

/// The keys of an event that are read.
const READ: &[&str] = &[
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
    "options",
];

/// The keys of an event that describe how it was made and carry nothing from one message to the next.
const SILENT: &[&str] = &[
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
];

/// The keys of an event that bring text from outside past its parts.
const OUTSIDE: &[&str] = &["groundingMetadata"];

const ACTIONS: &[&str] = &[
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

const SILENT_ACTIONS: &[&str] =
    &["skipSummarization", "transferReason", "endOfAgent", "renderUiWidgets", "route", "setModelResponse"];

const CONTENT: &[&str] = &["parts", "role"];

/// Names of keys that were ignored: objects in the order of the file, the keys of one object sorted.
#[derive(Debug, Default)]
pub(crate) struct Ignored {
    names: Vec<String>,
    seen: std::collections::BTreeSet<String>,
}

impl Ignored {
    /// Notes a key once.
    pub(crate) fn note(&mut self, key: &str) {
        if self.seen.insert(key.to_owned()) {
            self.names.push(shown(key));
        }
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
    let said = |json: &Json| json.field("partial") == Some(&Json::Bool(true));
    said(json) || json.field("options").is_some_and(said)
}

/// Reads one event.
pub(crate) fn event(json: &Json, index: usize, parts: Parts, ignored: &mut Ignored) -> Result<Event, Wrong> {
    let known = [READ, SILENT, OUTSIDE].concat();
    let fields = Fields::new(json, "", &known)?;
    if READ.iter().all(|key| fields.value(key).is_none()) {
        return Err(Wrong::new(StopKind::BadShape, "the object has no field of an event".to_owned()));
    }
    for (key, _) in fields.others(&known) {
        ignored.note(key);
    }
    for key in OUTSIDE {
        no_text_outside_parts(&fields, key)?;
    }
    fields.flag("partial")?;
    let content = fields.object("content", CONTENT)?;
    let mut event = Event { index, ..said_about(&fields)? };
    if let Some(content) = content {
        for (key, _) in content.others(CONTENT) {
            ignored.note(&join("content", key));
        }
        event.role = content.text("role")?;
        event.parts = part::parts(content.list("parts")?, &content.place("parts"), parts)?;
        event.has_content = !event.parts.is_empty();
    }
    let known = [ACTIONS, SILENT_ACTIONS].concat();
    if let Some(fields) = fields.object("actions", &known)? {
        for (key, _) in fields.others(&known) {
            ignored.note(&join("actions", key));
        }
        event.has_actions = true;
        event.actions = actions(&fields, parts)?;
    }
    event.actions.state_delta.extend(early::state_delta(&fields, ignored)?);
    Ok(event)
}

fn said_about(fields: &Fields<'_>) -> Result<Event, Wrong> {
    let node = fields.object("nodeInfo", &["path"])?;
    let custom = fields.entries("customMetadata")?;
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
        custom_metadata: fields.value("customMetadata").filter(|_| !custom.is_empty()).cloned(),
        output: fields.value("output").cloned(),
        transcriptions: transcriptions(fields)?,
        ..Event::default()
    })
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

fn no_text_outside_parts(fields: &Fields<'_>, key: &str) -> Result<(), Wrong> {
    if fields.value(key).is_none_or(is_hollow) {
        return Ok(());
    }
    let text = format!("`{}` speaks outside the parts of the message", fields.place(key));
    Err(Wrong::new(StopKind::UnsupportedPart, text))
}

fn actions(fields: &Fields<'_>, parts: Parts) -> Result<Actions, Wrong> {
    no_text_outside_parts(fields, "agentState")?;
    let state = fields.entries("stateDelta")?;
    let rewind = fields.text("rewindBeforeInvocationId")?;
    let auth = fields.entries("requestedAuthConfigs")?;
    Ok(Actions {
        state_delta: state.iter().map(|(key, value)| (key.to_string(), value.clone())).collect(),
        artifact_delta: artifacts(fields)?,
        transfer_to_agent: transfer(fields)?,
        escalate: fields.flag("escalate")?,
        requested_confirmations: confirmations(fields)?,
        requested_auth: auth.iter().map(|(key, _)| key.to_string()).collect(),
        compaction: compaction(fields, parts)?,
        rewind_before: (!rewind.is_empty()).then_some(rewind),
    })
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

fn artifacts(fields: &Fields<'_>) -> Result<Vec<(String, i64)>, Wrong> {
    let version = |value: &Json| match value {
        Json::Number(digits) => digits.strip_suffix(".0").unwrap_or(digits).parse::<i64>().ok(),
        _ => None,
    };
    let mut versions = Vec::new();
    for (name, value) in fields.entries("artifactDelta")? {
        let place = join(&fields.place("artifactDelta"), name);
        let version = version(value).ok_or_else(|| Wrong::shape(&place, "a version number"))?;
        versions.push((name.to_string(), version));
    }
    Ok(versions)
}

fn confirmations(fields: &Fields<'_>) -> Result<Vec<(String, ToolConfirmation)>, Wrong> {
    let place = fields.place("requestedToolConfirmations");
    let mut asked = Vec::new();
    for (call, json) in fields.entries("requestedToolConfirmations")? {
        let confirmation = match json {
            Json::Null => ToolConfirmation::default(),
            json => {
                let fields = Fields::new(json, &join(&place, call), &["hint", "payload"])?;
                ToolConfirmation { hint: fields.text("hint")?, payload: fields.value("payload").cloned() }
            }
        };
        asked.push((call.to_string(), confirmation));
    }
    Ok(asked)
}

fn compaction(fields: &Fields<'_>, parts: Parts) -> Result<Option<Compaction>, Wrong> {
    let known = ["startTimestamp", "endTimestamp", "compactedContent"];
    let Some(fields) = fields.object("compaction", &known)? else { return Ok(None) };
    if known.iter().all(|key| fields.value(key).is_none()) {
        return Ok(None);
    }
    let content = fields.object("compactedContent", CONTENT)?;
    let parts = match content {
        Some(content) => part::parts(content.list("parts")?, &content.place("parts"), parts)
            .map_err(|wrong| Wrong { part: None, ..wrong })?,
        None => Vec::new(),
    };
    Ok(Some(Compaction {
        start: time::time_of(fields.value("startTimestamp")),
        end: time::time_of(fields.value("endTimestamp")),
        parts,
    }))
}
