//! Files that are known and hold no session that can be judged: what each is, and what to take instead.

use crate::recording::RecordingError;
use crate::recording::fields::camel;
use crate::recording::shape::{Members, has, starts};

const SESSION: &str = "take the session itself: `adk run --save_session`, or the answer to GET \
                       `/apps/APP/users/USER/sessions/SESSION`";

pub(crate) fn no_session(what: &str, instead: &'static str) -> RecordingError {
    RecordingError::NoSession { what: what.to_owned(), instead }
}

/// An object, or the first of a list of objects, that is none of the accepted ones.
pub(crate) fn object(bytes: &[u8], members: &Members) -> Option<RecordingError> {
    if is_span(members) {
        let what = "a list of telemetry spans, in which arguments or messages are missing";
        Some(no_session(what, SESSION))
    } else if has(members, "queries") {
        let what = "an input of `adk run --replay`, from before any run";
        Some(no_session(what, "run it with `adk run --save_session --replay` and take the session"))
    } else if has(members, "formatVersion") && starts(bytes, members, "database", b'{') {
        let what = "the schema of a session database of the Kotlin library, without rows";
        Some(no_session(what, "take the sessions that its session service returns"))
    } else if has(members, "eventType") && has(members, "timestamp") {
        let what = "a table of the BigQuery analytics plugin, whose contents are cut";
        Some(no_session(what, SESSION))
    } else if is_chat(bytes, members) {
        let what = "a list of chat messages, which do not say which agent wrote them and from what";
        Some(no_session(
            what,
            "record the session with ADK, or write the messages as `records` of a policy test",
        ))
    } else {
        None
    }
}

/// Whether the object is a span of OpenTelemetry.
pub(crate) fn is_span(members: &Members) -> bool {
    has(members, "resourceSpans")
        || has(members, "startTime") && (has(members, "traceId") || has(members, "context"))
}

/// `{"role": …, "content": "…"}`, or an object with a list of these.
fn is_chat(bytes: &[u8], members: &Members) -> bool {
    let content = starts(bytes, members, "content", b'"') || starts(bytes, members, "content", b'[');
    starts(bytes, members, "messages", b'[')
        || has(members, "role") && !has(members, "author") && (content || has(members, "toolCalls"))
}

/// A session from before ADK 1.0 with history outside its events. Fields that are empty do not count.
pub(crate) fn early(bytes: &[u8], members: &Members) -> Option<RecordingError> {
    let filled = |key: &str| {
        members.iter().any(|(name, span)| {
            let inner = span.of(bytes).get(1..).unwrap_or_default().trim_ascii_start();
            camel(name) == key
                && matches!(bytes.get(span.start), Some(b'[' | b'{'))
                && !matches!(inner.first(), Some(b']' | b'}'))
        })
    };
    let instead = "what came before what is not known: put all into `events`, in order";
    if filled("pastEvents") {
        let what = "a session from before ADK 1.0 with a part of its history in `past_events`";
        return Some(no_session(what, instead));
    }
    if filled("pendingEvents") {
        let what = "a session from before ADK 1.0 with a part of its history in `pending_events`";
        return Some(no_session(what, instead));
    }
    None
}

/// A text that is no JSON, known by the words at the beginning of its lines.
pub(crate) fn text(lines: &[&[u8]]) -> Option<RecordingError> {
    let line = |word: &str| lines.iter().any(|line| line.starts_with(word.as_bytes()));
    if lines.first().is_some_and(|line| line.starts_with(b"httprr trace")) {
        let what = "a trace of HTTP exchanges with a model (httprr), which shows no tools at work";
        Some(no_session(what, "take the session of that run"))
    } else if line("entries:") && line("invocation_id:") {
        let what = "a file of the debug logging plugin, which leaves out bytes and secrets";
        Some(no_session(what, SESSION))
    } else if line("user_messages:") && !line("recordings:") && !line("events:") {
        let what = "the input of a conformance test";
        Some(no_session(what, "take its `generated-recordings.yaml`"))
    } else {
        None
    }
}
