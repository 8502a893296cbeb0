//! The text of an event as Google's libraries usually write it, at once to an [`Event`].
//!
//! What is not usual in any way, faults among it, is none of this: it is read through a tree, which comes to the same for
//! these events and says what is wrong with others.

use std::sync::LazyLock;

use crate::json::{Json, Reader};
use crate::recording::adk;
use crate::recording::bytes;
use crate::recording::event::{Actions, Event, Part, PartKind};
use crate::recording::fields::{is_blank, snake};
use crate::recording::time;

/// What is done with the value of a key of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EventKey {
    Id,
    InvocationId,
    Author,
    Branch,
    Timestamp,
    Content,
    Actions,
    LongRunning,
    Partial,
    ErrorCode,
    ErrorMessage,
    Node,
    Scope,
    Metadata,
    Output,
    /// It is passed over.
    Silent,
}

#[derive(Debug, Clone, Copy)]
enum ContentKey {
    Parts,
    Role,
}

#[derive(Debug, Clone, Copy)]
enum PartKey {
    Text,
    Thought,
    Signature,
    Call,
    Response,
    /// It is usually null.
    Further,
}

#[derive(Debug, Clone, Copy)]
enum ToolKey {
    Id,
    Name,
    /// The arguments of a call, or the response to one.
    Value,
    /// It is usually null.
    Further,
}

#[derive(Debug, Clone, Copy)]
enum ActionsKey {
    State,
    Artifacts,
    Transfer,
    Escalate,
    Rewind,
    /// It is usually null, or an object that says nothing.
    Hollow,
    /// It is passed over.
    Silent,
}

static EVENT: LazyLock<Keys<EventKey>> = LazyLock::new(|| {
    let read = [
        ("id", EventKey::Id),
        ("invocationId", EventKey::InvocationId),
        ("author", EventKey::Author),
        ("branch", EventKey::Branch),
        ("timestamp", EventKey::Timestamp),
        ("content", EventKey::Content),
        ("actions", EventKey::Actions),
        ("longRunningToolIds", EventKey::LongRunning),
        ("partial", EventKey::Partial),
        ("errorCode", EventKey::ErrorCode),
        ("errorMessage", EventKey::ErrorMessage),
        ("nodeInfo", EventKey::Node),
        ("isolationScope", EventKey::Scope),
        ("customMetadata", EventKey::Metadata),
        ("output", EventKey::Output),
    ];
    // A session that an event names itself is compared with those of others.
    let silent = adk::SILENT.iter().filter(|key| **key != "sessionId").map(|key| (*key, EventKey::Silent));
    Keys::of(read.into_iter().chain(silent))
});

static CONTENT: LazyLock<Keys<ContentKey>> =
    LazyLock::new(|| Keys::of([("parts", ContentKey::Parts), ("role", ContentKey::Role)]));

static PART: LazyLock<Keys<PartKey>> = LazyLock::new(|| {
    let read = [
        ("text", PartKey::Text),
        ("thought", PartKey::Thought),
        ("thoughtSignature", PartKey::Signature),
        ("functionCall", PartKey::Call),
        ("functionResponse", PartKey::Response),
    ];
    Keys::of(read.into_iter().chain(FURTHER_OF_PART.map(|key| (key, PartKey::Further))))
});

/// What a writer that leaves no field out says is null.
const FURTHER_OF_PART: [&str; 12] = [
    "inlineData",
    "fileData",
    "videoMetadata",
    "executableCode",
    "codeExecutionResult",
    "toolCall",
    "toolResponse",
    "partMetadata",
    "mediaResolution",
    "audioTranscription",
    "mediaProcessing",
    "speechMetadata",
];

static CALL: LazyLock<Keys<ToolKey>> = LazyLock::new(|| tool("args", &["partialArgs", "willContinue"]));

static RESPONSE: LazyLock<Keys<ToolKey>> =
    LazyLock::new(|| tool("response", &["parts", "scheduling", "willContinue"]));

static ACTIONS: LazyLock<Keys<ActionsKey>> = LazyLock::new(|| {
    let read = [
        ("stateDelta", ActionsKey::State),
        ("artifactDelta", ActionsKey::Artifacts),
        ("transferToAgent", ActionsKey::Transfer),
        ("escalate", ActionsKey::Escalate),
        ("rewindBeforeInvocationId", ActionsKey::Rewind),
        ("requestedAuthConfigs", ActionsKey::Hollow),
        ("requestedToolConfirmations", ActionsKey::Hollow),
        ("compaction", ActionsKey::Hollow),
        ("agentState", ActionsKey::Hollow),
    ];
    Keys::of(read.into_iter().chain(adk::SILENT_ACTIONS.iter().map(|key| (*key, ActionsKey::Silent))))
});

static NODE: LazyLock<Keys<()>> = LazyLock::new(|| Keys::of([("path", ())]));

fn tool(value: &'static str, further: &[&'static str]) -> Keys<ToolKey> {
    let read = [("id", ToolKey::Id), ("name", ToolKey::Name), (value, ToolKey::Value)];
    Keys::of(read.into_iter().chain(further.iter().map(|key| (*key, ToolKey::Further))))
}

/// The event that is the whole of a text, in the keys of Google's libraries; none where it is not usual.
pub(crate) fn event(text: &str, index: usize) -> Option<Event> {
    let mut reader = Reader::of(text);
    next(&mut reader, index).filter(|_| reader.is_done())
}

/// The event that comes next in a text; none where it is not usual.
pub(crate) fn next(reader: &mut Reader<'_>, index: usize) -> Option<Event> {
    let mut event = Event { index, ..Event::default() };
    let mut said = false;
    object(reader, &EVENT, |reader, key| {
        said |= !matches!(key, EventKey::Id | EventKey::Silent);
        event_member(reader, key, &mut event)
    })?;
    said.then_some(event)
}

fn event_member(reader: &mut Reader<'_>, key: EventKey, event: &mut Event) -> Option<()> {
    match key {
        EventKey::Id => event.id = text(reader)?,
        EventKey::InvocationId => event.invocation_id = text(reader)?,
        EventKey::Author => event.author = text(reader)?,
        EventKey::Branch => event.branch = text(reader)?,
        EventKey::Timestamp => event.time = moment(reader)?,
        EventKey::Content => content(reader, event)?,
        EventKey::Actions => {
            event.has_actions = true;
            actions(reader, &mut event.actions)?;
        }
        EventKey::LongRunning => list(reader, |reader| {
            event.long_running.push(text(reader)?);
            Some(())
        })?,
        // A piece of a stream is remembered otherwise than an event.
        EventKey::Partial => (!flag(reader)?).then_some(())?,
        EventKey::ErrorCode => event.error_code = text(reader)?,
        EventKey::ErrorMessage => event.error_message = text(reader)?,
        EventKey::Node => object(reader, &NODE, |reader, ()| {
            event.node_path = text(reader)?;
            Some(())
        })?,
        EventKey::Scope => event.isolation_scope = text(reader)?,
        EventKey::Metadata => {
            let metadata = Json::Object(members(reader, 1)?);
            event.custom_metadata = Some(metadata).filter(|metadata| !is_blank(metadata));
        }
        EventKey::Output => event.output = Some(reader.value(1).ok()?),
        EventKey::Silent => reader.skip(1)?,
    }
    Some(())
}

/// What a `timestamp` says; none where it is neither a number nor a text.
fn moment(reader: &mut Reader<'_>) -> Option<String> {
    match reader.first_byte()? {
        b'"' => Some(time::of_text(&reader.text().ok()?)),
        b'-' | b'0'..=b'9' => Some(time::of_number(reader.digits_of_number().ok()?)),
        _ => None,
    }
}

fn content(reader: &mut Reader<'_>, event: &mut Event) -> Option<()> {
    object(reader, &CONTENT, |reader, key| {
        match key {
            ContentKey::Role => event.role = text(reader)?,
            ContentKey::Parts => list(reader, |reader| {
                if event.parts.is_empty() {
                    // Most events have one part.
                    event.parts.reserve_exact(1);
                }
                event.parts.push(part(reader)?);
                Some(())
            })?,
        }
        Some(())
    })?;
    event.has_content = !event.parts.is_empty();
    Some(())
}

fn part(reader: &mut Reader<'_>) -> Option<Part> {
    let mut part = Part::default();
    let (mut said, mut kind) = (None, None);
    object(reader, &PART, |reader, key| {
        match key {
            PartKey::Text => said = Some(text(reader)?),
            PartKey::Thought => part.thought = flag(reader)?,
            PartKey::Signature => part.thought_signature = signature(&text(reader)?)?,
            PartKey::Call => only(&mut kind, call(reader)?)?,
            PartKey::Response => only(&mut kind, response(reader)?)?,
            PartKey::Further => return None,
        }
        Some(())
    })?;
    part.kind = match (kind, said) {
        (Some(kind), said) if said.as_deref().is_none_or(str::is_empty) => kind,
        (Some(_), _) => return None,
        (None, Some(text)) => PartKind::Text(text),
        (None, None) => PartKind::Empty,
    };
    Some(part)
}

/// Keeps what a part is, unless it is something already.
fn only(kind: &mut Option<PartKind>, new: PartKind) -> Option<()> {
    kind.replace(new).is_none().then_some(())
}

/// A signature; an empty text is none.
fn signature(text: &str) -> Option<Option<Vec<u8>>> {
    if text.is_empty() { Some(None) } else { bytes::base64(text).map(Some) }
}

fn call(reader: &mut Reader<'_>) -> Option<PartKind> {
    let (id, name, arguments) = tool_members(reader, &CALL)?;
    Some(PartKind::Call { id, name, arguments })
}

fn response(reader: &mut Reader<'_>) -> Option<PartKind> {
    let (id, name, response) = tool_members(reader, &RESPONSE)?;
    Some(PartKind::Response { id, name, response })
}

fn tool_members(reader: &mut Reader<'_>, keys: &Keys<ToolKey>) -> Option<(String, String, Option<Json>)> {
    let (mut id, mut name, mut value) = (String::new(), String::new(), None);
    object(reader, keys, |reader, key| {
        match key {
            ToolKey::Id => id = text(reader)?,
            ToolKey::Name => name = text(reader)?,
            ToolKey::Value => value = Some(reader.value(5).ok()?),
            ToolKey::Further => return None,
        }
        Some(())
    })?;
    Some((id, name, value))
}

fn actions(reader: &mut Reader<'_>, actions: &mut Actions) -> Option<()> {
    object(reader, &ACTIONS, |reader, key| {
        match key {
            ActionsKey::State => {
                for (key, value) in members(reader, 2)? {
                    if adk::is_removed(&value) {
                        actions.state_removed.push(key.into());
                    } else {
                        actions.state_delta.push((key.into(), value));
                    }
                }
            }
            ActionsKey::Artifacts => {
                for (name, value) in members(reader, 2)? {
                    actions.artifact_delta.push((name.into(), adk::version(&value)?));
                }
            }
            ActionsKey::Transfer => actions.transfer_to_agent = text(reader)?,
            ActionsKey::Escalate => actions.escalate = flag(reader)?,
            ActionsKey::Rewind => {
                actions.rewind_before = Some(text(reader)?).filter(|to| !to.is_empty());
            }
            ActionsKey::Hollow => (reader.takes(b'{') && reader.takes(b'}')).then_some(())?,
            ActionsKey::Silent => reader.skip(2)?,
        }
        Some(())
    })
}

/// Reads an object each of whose keys is usual and stands there once, in one of its spellings. `member` takes the values
/// that are not null.
fn object<'a, K: Copy>(
    reader: &mut Reader<'a>,
    keys: &Keys<K>,
    mut member: impl FnMut(&mut Reader<'a>, K) -> Option<()>,
) -> Option<()> {
    let mut seen = 0;
    if !reader.takes(b'{') {
        return None;
    }
    if reader.takes(b'}') {
        return Some(());
    }
    loop {
        let (bit, key) = keys.find(reader.key()?)?;
        if seen & bit != 0 || !reader.takes(b':') {
            return None;
        }
        seen |= bit;
        match reader.first_byte()? {
            b'n' => reader.skip(0)?,
            _ => member(reader, key)?,
        }
        if reader.takes(b'}') {
            return Some(());
        }
        if !reader.takes(b',') {
            return None;
        }
    }
}

fn list<'a>(reader: &mut Reader<'a>, mut item: impl FnMut(&mut Reader<'a>) -> Option<()>) -> Option<()> {
    if !reader.takes(b'[') {
        return None;
    }
    if reader.takes(b']') {
        return Some(());
    }
    loop {
        item(reader)?;
        if reader.takes(b']') {
            return Some(());
        }
        if !reader.takes(b',') {
            return None;
        }
    }
}

fn text(reader: &mut Reader<'_>) -> Option<String> {
    match reader.first_byte()? {
        b'"' => Some(reader.text().ok()?.into_owned()),
        _ => None,
    }
}

fn flag(reader: &mut Reader<'_>) -> Option<bool> {
    match reader.first_byte()? {
        b't' | b'f' => match reader.value(0).ok()? {
            Json::Bool(flag) => Some(flag),
            _ => None,
        },
        _ => None,
    }
}

/// The members of an object of user data that stands inside that many others.
fn members(reader: &mut Reader<'_>, depth: usize) -> Option<Vec<(Box<str>, Json)>> {
    match reader.value(depth).ok()? {
        Json::Object(members) => Some(members),
        _ => None,
    }
}

/// The usual keys of one kind of object, in both spellings.
#[derive(Debug)]
struct Keys<K> {
    // Invariant: the length is a power of two, and more places are free than taken.
    places: Vec<Option<Known<K>>>,
}

#[derive(Debug, Clone)]
struct Known<K> {
    spelling: Box<str>,
    /// The same for both spellings, and for no other key.
    bit: u64,
    key: K,
}

impl<K: Copy> Keys<K> {
    /// At most 64 keys, in camelCase; those after them are not usual.
    fn of(keys: impl IntoIterator<Item = (&'static str, K)>) -> Self {
        let mut places = vec![None; 512];
        for (number, (camel, key)) in keys.into_iter().take(64).enumerate() {
            for spelling in [camel.to_owned(), snake(camel)] {
                let known = Known { spelling: spelling.into(), bit: 1 << number, key };
                let free = Self::way(places.len(), &known.spelling).find(|at| {
                    places.get(*at).is_some_and(|place: &Option<Known<K>>| {
                        place.as_ref().is_none_or(|other| other.spelling == known.spelling)
                    })
                });
                if let Some(place) = free.and_then(|at| places.get_mut(at)) {
                    *place = Some(known);
                }
            }
        }
        Self { places }
    }

    /// The places where a key may be, in the order in which they are tried.
    fn way(places: usize, key: &str) -> impl Iterator<Item = usize> {
        let bytes = key.as_bytes();
        let byte = |at: usize| bytes.get(at).map_or(0, |byte| usize::from(*byte));
        let last = bytes.len().saturating_sub(1);
        let start = bytes.len().wrapping_mul(31) ^ byte(0) ^ byte(last / 2) << 1 ^ byte(last) << 3;
        (0..places).map(move |step| (start + step) & (places - 1))
    }

    fn find(&self, key: &str) -> Option<(u64, K)> {
        for at in Self::way(self.places.len(), key) {
            let known = self.places.get(at)?.as_ref()?;
            if *known.spelling == *key {
                return Some((known.bit, known.key));
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::recording::Form;
    use crate::recording::reading::{Names, Reading};

    /// Events that are usual, with every key that may be.
    const USUAL: [&str; 5] = [
        r#"{"id": "e1", "author": "user", "timestamp": 1790000000.5, "content": {"role": "user", "parts": [{"text": "a\nb"}, {}]}}"#,
        r#"{"invocationId":"i","author":"a","branch":"a.b","timestamp":"2026-01-05T10:00:00.5-08:00","content":{"parts":[{"functionCall":{"id":"c","name":"f","args":{"a":[1.0,{"b":null}]},"partialArgs":null},"thoughtSignature":"c2ln","thought":false},{"text":"","functionResponse":{"name":"f","response":{"r":"\u00e9"},"scheduling":null}}]},"longRunningToolIds":["c"],"actions":{}}"#,
        r#"{"invocation_id":"i","node_info":{"path":"n"},"error_code":"E","error_message":"m","isolation_scope":"s","partial":false,"usage_metadata":{"a":1,"b":[true,{}]},"finish_reason":"STOP","content":{"parts":[{"function_call":null,"inline_data":null,"thought":true,"text":"t"}],"role":null}}"#,
        r#"{"actions":{"stateDelta":{"k":1,"l":"__ADK_SENTINEL_REMOVED__"},"artifact_delta":{"f":2.0},"transferToAgent":"t","escalate":true,"rewindBeforeInvocationId":"r","requestedAuthConfigs":{},"compaction":null,"skipSummarization":true,"endOfAgent":null}}"#,
        r#"{"customMetadata":{"a2a:x":1},"output":[1],"turnComplete":true}"#,
    ];

    /// What the reading through a tree makes of an event, with what it notices; none where it stops.
    fn careful(text: &str) -> Option<(Vec<Event>, usize)> {
        let mut reading = Reading::default();
        reading.take(&crate::json::parse(text).ok()?, 3).ok()?;
        let recording = reading.recording(Form::Session, Names::default(), None, Vec::new());
        Some((recording.events, recording.notices.len()))
    }

    /// Whether the event is usual; then it is what a tree gives.
    fn is_usual(text: &str) -> bool {
        let Some(event) = event(text, 3) else { return false };
        assert_eq!(careful(text), Some((vec![event], 0)), "{text}");
        true
    }

    #[test]
    fn usual_events_are_those_of_a_tree() {
        for text in USUAL {
            assert!(is_usual(text), "{text}");
        }
    }

    #[test]
    fn whatever_is_changed_in_a_usual_event_it_is_read_as_by_a_tree_or_not_at_all() {
        let mut usual = 0;
        for text in USUAL {
            for (at, _) in text.char_indices().skip(1) {
                let (before, after) = text.split_at(at);
                for inserted in
                    ["", " ", "\"", "\\", "{}", "[", "]", "}", ",", ":", "n", "null", "0", "-1", "_", "A"]
                {
                    usual += usize::from(is_usual(&[before, inserted, after].concat()));
                    let rest = after.get(1..).unwrap_or_default();
                    usual += usize::from(is_usual(&[before, inserted, rest].concat()));
                }
            }
        }
        assert!(usual > 1000, "{usual}");
    }

    #[test]
    fn every_value_of_another_kind_is_read_as_by_a_tree_or_not_at_all() {
        let values =
            ["null", "\"\"", "\"x\"", "0", "1.5", "true", "[]", "[\"x\"]", "[{}]", "{}", "{\"k\": {}}"];
        let top = adk::READ.iter().chain(adk::SILENT).chain(adk::OUTSIDE).chain(adk::RUST);
        for key in top.copied().chain(["name", "rawEvent", "events", "unknown", "error"]) {
            for value in values {
                is_usual(&format!(r#"{{"author": "a", "{key}": {value}}}"#));
                is_usual(&format!(r#"{{"{}": {value}, "author": "a", "actions": {{}}}}"#, snake(key)));
                is_usual(&format!(r#"{{"content": {{"parts": [{{"{key}": {value}, "text": "t"}}]}}}}"#));
                is_usual(&format!(r#"{{"content": {{"{key}": {value}}}}}"#));
            }
        }
        let inner =
            FURTHER_OF_PART.iter().chain(adk::ACTIONS).chain(adk::SILENT_ACTIONS).chain(adk::RUST_ACTIONS);
        let more =
            ["id", "name", "args", "text", "thought", "path", "thoughtSignature", "functionCall", "unknown"];
        for key in inner.copied().chain(more) {
            for value in values {
                is_usual(&format!(r#"{{"content": {{"parts": [{{"{key}": {value}, "thought": true}}]}}}}"#));
                is_usual(&format!(
                    r#"{{"content": {{"parts": [{{"functionCall": {{"{key}": {value}}}}}]}}}}"#
                ));
                is_usual(&format!(
                    r#"{{"content": {{"parts": [{{"functionResponse": {{"{key}": {value}}}}}]}}}}"#
                ));
                is_usual(&format!(r#"{{"actions": {{"{key}": {value}}}}}"#));
                is_usual(&format!(r#"{{"nodeInfo": {{"{key}": {value}}}}}"#));
            }
        }
    }

    #[test]
    fn nesting_ends_where_a_tree_ends_it() {
        for key in ["output", "usageMetadata", "customMetadata"] {
            for depth in 120..132 {
                let value = format!("{{\"a\":{}{}}}", "[".repeat(depth), "]".repeat(depth));
                let text = format!(r#"{{"author": "a", "{key}": {value}}}"#);
                assert_eq!(is_usual(&text), careful(&text).is_some(), "{key} {depth}");
                let text =
                    format!(r#"{{"content": {{"parts": [{{"functionCall": {{"args": {value}}}}}]}}}}"#);
                assert_eq!(is_usual(&text), careful(&text).is_some(), "{depth}");
            }
        }
    }
}
