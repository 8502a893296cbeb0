//! What a file is, from its content.

use crate::recording::Form;
use crate::recording::RecordingError;
use crate::recording::fields::{camel, shown};
use crate::recording::reading::Dialect;
use crate::recording::scan::{self, Slot, Span};

/// What can be read, for every refusal.
pub(crate) const ACCEPTED: &str = "accepted are session documents, lists of events and events as JSON lines that an ADK library wrote, and session databases";

/// A file that is a recording, with its events in their places.
#[derive(Debug)]
pub(crate) struct Layout {
    pub(crate) form: Form,
    pub(crate) dialect: Dialect,
    pub(crate) slots: Vec<Slot>,
    /// Events of a second list under the same key: they are never read, since the doubled key stops the session.
    pub(crate) doubled: Vec<Slot>,
    /// Where the list of events stands in a session document, or the whole list; none where nothing is around the events.
    pub(crate) list: Option<Span>,
}

/// How a SQLite database begins.
pub(crate) const DATABASE: &[u8] = b"SQLite format 3\0";

type Members = [(String, Span)];

/// What a file is, and what of it is needed to read it.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// Events as JSON, each in its place.
    Events(Layout),
    /// YAML that holds a session.
    Yaml(&'a str),
}

/// Recognises a file.
pub(crate) fn recognise(bytes: &[u8]) -> Result<Content<'_>, RecordingError> {
    let at = scan::blanks(bytes, 0);
    match bytes.get(at) {
        None => Err(RecordingError::Empty { accepted: ACCEPTED }),
        Some(_) if bytes.starts_with(DATABASE) => Err(RecordingError::NeedsFile),
        Some(0x80) if matches!(bytes.get(at + 1), Some(2..=5)) => Err(not_yet("a Python pickle")),
        Some(b'{') => object(bytes, at).map(Content::Events),
        Some(b'[') => list(bytes, at).map(Content::Events),
        Some(_) => other_text(bytes, at),
    }
}

fn not_yet(what: impl Into<String>) -> RecordingError {
    RecordingError::NotYet { what: what.into(), accepted: ACCEPTED }
}

fn unrecognised(bytes: &[u8], seen: String) -> RecordingError {
    match std::str::from_utf8(bytes) {
        Ok(_) => RecordingError::Unrecognised { seen, accepted: ACCEPTED },
        Err(error) => RecordingError::NotText { at: error.valid_up_to(), accepted: ACCEPTED },
    }
}

fn object(bytes: &[u8], at: usize) -> Result<Layout, RecordingError> {
    let members = scan::members(bytes, at);
    if has(&members, "evalCases") || has(&members, "evalSetId") || has(&members, "evalId") {
        return Err(not_yet("an eval set"));
    }
    let session = has(&members, "id") && (has(&members, "appName") || has(&members, "userId"));
    if has(&members, "events") && !is_span(&members) || session && !is_event(bytes, &members) {
        return session_document(bytes, at, &members);
    }
    if let Some(what) = other_object(bytes, &members) {
        return Err(not_yet(what));
    }
    if is_event(bytes, &members) || pascal(&members).is_some() {
        return lines(bytes, at);
    }
    Err(unrecognised(bytes, format!("this is no session: it is an object with {}", first_keys(&members))))
}

fn other_object(bytes: &[u8], members: &Members) -> Option<&'static str> {
    if is_span(members) {
        Some("a list of telemetry spans")
    } else if has(members, "queries") {
        Some("an input of `adk run --replay`")
    } else if has(members, "session") && starts(bytes, members, "session", b'{') {
        Some("a wrapped session")
    } else {
        None
    }
}

fn is_span(members: &Members) -> bool {
    has(members, "resourceSpans")
        || has(members, "startTime") && (has(members, "traceId") || has(members, "context"))
}

fn session_document(bytes: &[u8], at: usize, members: &Members) -> Result<Layout, RecordingError> {
    let mut lists = members.iter().filter(|(key, _)| key == "events").map(|(_, span)| *span);
    let events = lists.next();
    if let Some(field) = early(bytes, members) {
        return Err(not_yet(format!("a session file from before ADK 1.0 (`{field}`)")));
    }
    // Without its events the list is taken to stand at the end, empty.
    let end = scan::value_end(bytes, at).unwrap_or(bytes.len());
    let list = events.filter(|span| bytes.get(span.start) == Some(&b'['));
    let slots = list.map_or_else(Vec::new, |span| scan::elements(bytes, span.start));
    let named = ["id", "appName", "userId"].iter().any(|key| has(members, key));
    if !named && slots.is_empty() {
        return Err(unrecognised(bytes, "this is no session: it has neither an id nor events".to_owned()));
    }
    if !named && slots.iter().take(1).all(|slot| !timed(bytes, *slot)) {
        return Err(not_yet("a golden file of `adk test`"));
    }
    let dialect = probe(bytes, &slots)?;
    let doubled = lists.flat_map(|span| scan::elements(bytes, span.start)).collect();
    let list = list.unwrap_or(Span { start: end, end });
    Ok(Layout { form: Form::Session, dialect, slots, doubled, list: Some(list) })
}

fn timed(bytes: &[u8], slot: Slot) -> bool {
    has(&scan::members(bytes, slot.span.start), "timestamp")
}

/// The field that shows that a session file is older than 1.0 and holds history or routing elsewhere than in its events.
/// Left-over fields that are empty do not count.
fn early(bytes: &[u8], members: &Members) -> Option<&'static str> {
    let filled = |key: &str| {
        members.iter().any(|(name, span)| {
            let inner = span.of(bytes).get(1..).unwrap_or_default().trim_ascii_start();
            camel(name) == key
                && matches!(bytes.get(span.start), Some(b'[' | b'{'))
                && !matches!(inner.first(), Some(b']' | b'}'))
        })
    };
    let history = [
        ("pastEvents", "past_events"),
        ("pendingEvents", "pending_events"),
        ("eventLogs", "event_logs"),
        ("artifacts", "artifacts"),
    ];
    let found = history.iter().find(|(key, _)| filled(key)).map(|(_, name)| *name);
    let routing = has(members, "currentAgentName") && has(members, "context");
    found.or(routing.then_some("current_agent_name"))
}

fn list(bytes: &[u8], at: usize) -> Result<Layout, RecordingError> {
    let slots = scan::elements(bytes, at);
    let Some(first) = slots.first() else {
        return Err(unrecognised(bytes, "this is an empty list".to_owned()));
    };
    if bytes.get(first.span.start) != Some(&b'{') {
        let seen = "this is a list, and its first item is no object".to_owned();
        return Err(unrecognised(bytes, seen));
    }
    let members = scan::members(bytes, first.span.start);
    if ["query", "expectedToolUse", "evalId", "conversation"].iter().any(|key| has(&members, key))
        || has(&members, "data") && (has(&members, "name") || has(&members, "initialSession"))
    {
        return Err(not_yet("an eval set"));
    }
    if is_span(&members) {
        return Err(not_yet("a list of telemetry spans"));
    }
    if has(&members, "session") || has(&members, "events") {
        return Err(not_yet("a list of sessions"));
    }
    if !is_event(bytes, &members) && pascal(&members).is_none() {
        let seen = format!("this is no list of events: its first item has {}", first_keys(&members));
        return Err(unrecognised(bytes, seen));
    }
    let dialect = probe(bytes, &slots)?;
    let end = scan::value_end(bytes, at).unwrap_or(bytes.len());
    let list = Some(Span { start: at, end });
    Ok(Layout { form: Form::EventList, dialect, slots, doubled: Vec::new(), list })
}

/// Events one after another: one a line, or objects over many lines.
fn lines(bytes: &[u8], at: usize) -> Result<Layout, RecordingError> {
    let lines = scan::lines(bytes, at);
    let second = lines.get(1).and_then(|slot| bytes.get(slot.span.start));
    let one_a_line = lines.first().is_some_and(|slot| slot.whole) || matches!(second, None | Some(b'{'));
    let slots = if one_a_line { lines } else { scan::sequence(bytes, at) };
    let dialect = probe(bytes, &slots)?;
    Ok(Layout { form: Form::EventLines, dialect, slots, doubled: Vec::new(), list: None })
}

/// Whose events they are, by the first that says a time. Refused are those that cannot be read yet.
fn probe(bytes: &[u8], slots: &[Slot]) -> Result<Dialect, RecordingError> {
    for slot in slots {
        let members = scan::members(bytes, slot.span.start);
        if let Some(keys) = pascal(&members) {
            return Err(not_yet(format!("a recording with the field names of Go ({keys})")));
        }
        if has(&members, "timestamp") || has(&members, "rawEvent") {
            return Ok(dialect(bytes, &members));
        }
    }
    Ok(Dialect::Adk)
}

/// The Vertex AI session service alone names an event by its place among others. The Rust library alone writes snake_case keys and times as
/// text.
fn dialect(bytes: &[u8], members: &Members) -> Dialect {
    let name = members.iter().find(|(key, _)| key == "name").map(|(_, span)| scan::text(bytes, *span));
    if has(members, "rawEvent") || name.is_some_and(|name| name.contains("/events/")) {
        return Dialect::Vertex;
    }
    let timed = members.iter().any(|(key, span)| key == "timestamp" && bytes.get(span.start) == Some(&b'"'));
    let snake = members.iter().any(|(key, _)| key == "invocation_id");
    if timed && snake { Dialect::Rust } else { Dialect::Adk }
}

/// The first keys that Go writes when no other names are asked for.
fn pascal(members: &Members) -> Option<String> {
    let found: Vec<_> = ["Content", "Author", "InvocationID", "Actions"]
        .into_iter()
        .filter(|key| members.iter().any(|(name, _)| name == key))
        .map(|key| format!("`{key}`"))
        .collect();
    (!found.is_empty()).then(|| found.join(", "))
}

fn is_event(bytes: &[u8], members: &Members) -> bool {
    has(members, "author")
        || has(members, "invocationId")
        || starts(bytes, members, "content", b'{')
        || starts(bytes, members, "actions", b'{')
}

fn has(members: &Members, key: &str) -> bool {
    members.iter().any(|(name, _)| camel(name) == key)
}

fn starts(bytes: &[u8], members: &Members, key: &str, byte: u8) -> bool {
    members.iter().any(|(name, span)| camel(name) == key && bytes.get(span.start) == Some(&byte))
}

fn first_keys(members: &Members) -> String {
    let keys: Vec<_> = members.iter().take(3).map(|(key, _)| format!("`{}`", shown(key))).collect();
    match keys.as_slice() {
        [] => "no key that can be read".to_owned(),
        [key] => format!("the key {key}"),
        _ => format!("the keys {}", keys.join(", ")),
    }
}

/// Text that is no JSON: known by the words at the beginning of its lines.
fn other_text(bytes: &[u8], at: usize) -> Result<Content<'_>, RecordingError> {
    let head = bytes.get(at..bytes.len().min(at + 65_536)).unwrap_or_default();
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    let line = |word: &str| lines.iter().any(|line| line.starts_with(word.as_bytes()));
    let refused = if head.starts_with(b"data:") || head.starts_with(b"event:") {
        not_yet("a body of `/run_sse`")
    } else if head.starts_with(b"httprr trace") {
        not_yet("a trace of HTTP exchanges (httprr)")
    } else if line("recordings:") {
        not_yet("a conformance recording (YAML)")
    } else if line("entries:") && line("invocation_id:") {
        not_yet("a file of the debug logging plugin (YAML)")
    } else if line("- author:") || line("- invocation_id:") {
        not_yet("a list of events as YAML")
    } else if line("events:") {
        return match std::str::from_utf8(bytes) {
            Ok(text) => Ok(Content::Yaml(text)),
            Err(error) => Err(RecordingError::NotText { at: error.valid_up_to(), accepted: ACCEPTED }),
        };
    } else {
        unrecognised(bytes, "this is neither a JSON object nor a list".to_owned())
    };
    Err(refused)
}
