//! What a file is, from its content.

use crate::recording::Form;
use crate::recording::RecordingError;
use crate::recording::ahead::Ahead;
use crate::recording::evaluation::Cases;
use crate::recording::fields::{camel, shown};
use crate::recording::journal;
use crate::recording::mixed;
use crate::recording::other;
use crate::recording::reading::Dialect;
use crate::recording::scan::{self, Slot, Span};
use crate::recording::stream;
use crate::recording::vertex;

/// What can be read, for every refusal.
pub(crate) const ACCEPTED: &str = "accepted are session documents, alone or in a list, session databases, lists of events, events as JSON lines, \
     bodies of `/run` and `/run_sse`, eval sets, conformance recordings and goldens of `adk test`, as the ADK libraries \
     write them, and journals of a gate";

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
    /// The first events, where they were read while the others were looked for.
    pub(crate) ahead: Option<Box<Ahead>>,
}

/// How a SQLite database begins.
pub(crate) const DATABASE: &[u8; 16] = b"SQLite format 3\0";

pub(crate) type Members = [(String, Span)];

/// What a file is, and what of it is needed to read it.
#[derive(Debug)]
pub(crate) enum Content<'a> {
    /// Events as JSON, each in its place.
    Events(Layout),
    /// Server-sent events.
    Stream,
    /// Cases of an evaluation.
    Cases(Cases),
    /// Sessions as JSON, each in its place.
    Sessions(Vec<Slot>),
    /// A journal of a gate.
    Journal,
    /// YAML that holds a session, events or a conformance recording.
    Yaml(&'a str),
}

/// Recognises a file.
pub(crate) fn recognise(bytes: &[u8]) -> Result<Content<'_>, RecordingError> {
    let at = scan::blanks(bytes, 0);
    match bytes.get(at) {
        None => Err(RecordingError::Empty { accepted: ACCEPTED }),
        Some(_) if bytes.starts_with(DATABASE) => Err(RecordingError::NeedsFile),
        Some(_) if journal::begins(bytes) => Ok(Content::Journal),
        Some(0x80) if matches!(bytes.get(at + 1), Some(2..=5)) => Err(pickle()),
        Some(b'{') => object(bytes, at),
        Some(b'[') => list(bytes, at),
        Some(_) => other_text(bytes, at),
    }
}

fn pickle() -> RecordingError {
    let instead = "take the session database that it comes from, which is read with the pickles in it";
    other::no_session("a Python pickle on its own", instead)
}

fn unrecognised(bytes: &[u8], from: usize, seen: String) -> RecordingError {
    match std::str::from_utf8(bytes.get(from..).unwrap_or_default()) {
        Ok(_) => RecordingError::Unrecognised { seen, accepted: ACCEPTED },
        Err(error) => RecordingError::NotText { at: from + error.valid_up_to(), accepted: ACCEPTED },
    }
}

fn object<'a>(bytes: &'a [u8], at: usize) -> Result<Content<'a>, RecordingError> {
    let mut ahead = Ahead::default();
    let mut reader = ahead.reader(bytes);
    let (members, events) = scan::members_with(bytes, at, "events", &mut |at| reader.event(at));
    if has(&members, "evalCases") || has(&members, "evalSetId") {
        return eval_set(bytes, &members);
    }
    if has(&members, "evalId") {
        let slots = vec![Slot::whole(at, scan::blanks_before(bytes, bytes.len()))];
        return Ok(Content::Cases(Cases { list: None, slots, bare: false }));
    }
    let session = has(&members, "id") && (has(&members, "appName") || has(&members, "userId"));
    if has(&members, "events") && !other::is_span(&members) || session && !is_event(bytes, &members) {
        let layout = session_document(bytes, at, &members, events)?;
        return Ok(Content::Events(Layout { ahead: Some(Box::new(ahead)), ..layout }));
    }
    if let Some(refused) = other::object(bytes, &members) {
        return Err(refused);
    }
    if has(&members, "session") && starts(bytes, &members, "session", b'{') {
        return Ok(Content::Sessions(vec![Slot::whole(at, scan::blanks_before(bytes, bytes.len()))]));
    }
    if is_event(bytes, &members) || pascal(&members).is_some() {
        return lines(bytes, at).map(Content::Events);
    }
    Err(unrecognised(bytes, 0, format!("this is no session: it is an object with {}", first_keys(&members))))
}

fn eval_set<'a>(bytes: &[u8], members: &Members) -> Result<Content<'a>, RecordingError> {
    let list = members.iter().filter(|(key, _)| camel(key) == "evalCases").map(|(_, span)| *span);
    let list = list.into_iter().find(|span| bytes.get(span.start) == Some(&b'['));
    let slots = list.map_or_else(Vec::new, |list| scan::elements(bytes, list.start));
    if slots.is_empty() {
        return Err(unrecognised(bytes, 0, "this is an eval set without cases".to_owned()));
    }
    Ok(Content::Cases(Cases { list, slots, bare: false }))
}

/// Recognises a session document that begins at `at` and reaches to the end.
pub(crate) fn session(bytes: &[u8], at: usize) -> Result<Layout, RecordingError> {
    match bytes.get(at) {
        Some(b'{') => session_document(bytes, at, &scan::members(bytes, at), None),
        Some(_) | None => Err(unrecognised(bytes, at, "this is no session: it is no object".to_owned())),
    }
}

/// `items` are those of the first list of events, where it is whole.
fn session_document(
    bytes: &[u8],
    at: usize,
    members: &Members,
    items: Option<Vec<Slot>>,
) -> Result<Layout, RecordingError> {
    let mut lists = members.iter().filter(|(key, _)| key == "events").map(|(_, span)| *span);
    let events = lists.next();
    if let Some(refused) = other::early(bytes, members) {
        return Err(refused);
    }
    let list = events.filter(|span| bytes.get(span.start) == Some(&b'['));
    let slots = list.map_or_else(Vec::new, |span| items.unwrap_or_else(|| scan::elements(bytes, span.start)));
    let named = ["id", "appName", "userId"].iter().any(|key| has(members, key));
    if !named && slots.is_empty() {
        return Err(unrecognised(
            bytes,
            at,
            "this is no session: it has neither an id nor events".to_owned(),
        ));
    }
    let golden = !named && slots.iter().take(1).all(|slot| !timed(bytes, *slot));
    let form = if golden { Form::Golden } else { Form::Session };
    let dialect = probe(bytes, &slots)?;
    let doubled = lists.flat_map(|span| scan::elements(bytes, span.start)).collect();
    // Without its events the list is taken to stand at the end, empty.
    let list = list.unwrap_or_else(|| {
        let end = scan::value_end(bytes, at).unwrap_or(bytes.len());
        Span { start: end, end }
    });
    Ok(Layout { form, dialect, slots, doubled, list: Some(list), ahead: None })
}

fn timed(bytes: &[u8], slot: Slot) -> bool {
    has(&scan::members(bytes, slot.span.start), "timestamp")
}

fn list<'a>(bytes: &'a [u8], at: usize) -> Result<Content<'a>, RecordingError> {
    let mut ahead = Ahead::default();
    let mut reader = ahead.reader(bytes);
    let slots = scan::elements_with(bytes, at, &mut |at| reader.event(at));
    let Some(first) = slots.first() else {
        return Err(unrecognised(bytes, 0, "this is an empty list".to_owned()));
    };
    if bytes.get(first.span.start) != Some(&b'{') {
        let seen = "this is a list, and its first item is no object".to_owned();
        return Err(unrecognised(bytes, 0, seen));
    }
    let members = scan::members(bytes, first.span.start);
    let end = scan::value_end(bytes, at).unwrap_or(bytes.len());
    if let Some(bare) = cases(&members) {
        return Ok(Content::Cases(Cases { list: Some(Span { start: at, end }), slots, bare }));
    }
    if let Some(refused) = other::object(bytes, &members) {
        return Err(refused);
    }
    if has(&members, "session") || has(&members, "events") {
        return Ok(Content::Sessions(slots));
    }
    if !is_event(bytes, &members) && pascal(&members).is_none() {
        let seen = format!("this is no list of events: its first item has {}", first_keys(&members));
        return Err(unrecognised(bytes, 0, seen));
    }
    let dialect = probe(bytes, &slots)?;
    let list = Some(Span { start: at, end });
    Ok(Content::Events(Layout {
        form: Form::EventList,
        dialect,
        slots,
        doubled: Vec::new(),
        list,
        ahead: Some(Box::new(ahead)),
    }))
}

/// Whether the first item of a list is a case of an evaluation, and if so whether it is just a turn of one.
fn cases(members: &Members) -> Option<bool> {
    if has(members, "query") || has(members, "expectedToolUse") {
        return Some(true);
    }
    let case = has(members, "evalId")
        || has(members, "conversation")
        || has(members, "data") && (has(members, "name") || has(members, "initialSession"));
    case.then_some(false)
}

/// Events one after another: one a line, or objects over many lines.
fn lines(bytes: &[u8], at: usize) -> Result<Layout, RecordingError> {
    let lines = scan::lines(bytes, at);
    let second = lines.get(1).and_then(|slot| bytes.get(slot.span.start));
    let one_a_line = lines.first().is_some_and(|slot| slot.whole) || matches!(second, None | Some(b'{'));
    let slots = if one_a_line { lines } else { scan::sequence(bytes, at) };
    let dialect = probe(bytes, &slots)?;
    Ok(Layout { form: Form::EventLines, dialect, slots, doubled: Vec::new(), list: None, ahead: None })
}

/// Whose events they are, by the first: one of another dialect after it stops the session. Refused are those that cannot
/// be read yet.
pub(crate) fn probe(bytes: &[u8], slots: &[Slot]) -> Result<Dialect, RecordingError> {
    let Some(first) = slots.first() else { return Ok(Dialect::Adk) };
    let members = scan::members(bytes, first.span.start);
    match pascal(&members) {
        Some(keys) => {
            let what = format!("a recording with the field names of Go ({keys})");
            let instead =
                "take the session with the names of its JSON form, as the answer to GET session has them";
            Err(other::no_session(&what, instead))
        }
        None => Ok(dialect(bytes, &members)),
    }
}

/// The Vertex AI session service alone names an event by its place among others, and gives it no key of its own beside.
/// The Rust library alone writes snake_case keys and times as text.
fn dialect(bytes: &[u8], members: &Members) -> Dialect {
    let name = members.iter().find(|(key, _)| key == "name").map(|(_, span)| scan::text(bytes, *span));
    let own = |(key, span): &(String, Span)| {
        let name = camel(key);
        span.of(bytes) != b"null" && !vertex::ROW.contains(&&*name) && mixed::is_of_event(&name)
    };
    if name.is_some_and(|name| vertex::named(&name).is_some()) && !members.iter().any(own) {
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

pub(crate) fn has(members: &Members, key: &str) -> bool {
    members.iter().any(|(name, _)| camel(name) == key)
}

pub(crate) fn starts(bytes: &[u8], members: &Members, key: &str, byte: u8) -> bool {
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
    if stream::is_stream(head) {
        return Ok(Content::Stream);
    }
    let lines: Vec<&[u8]> = head.split(|byte| *byte == b'\n').collect();
    if let Some(refused) = other::text(&lines) {
        return Err(refused);
    }
    let line = |word: &str| lines.iter().any(|line| line.starts_with(word.as_bytes()));
    let is_author = |line: &&[u8]| {
        let line = line.trim_ascii_start();
        line.strip_prefix(b"- ").unwrap_or(line).starts_with(b"author:")
    };
    let events = line("- ") && lines.iter().any(is_author);
    if !(events || line("events:") || line("recordings:")) {
        return Err(unrecognised(bytes, 0, "this is neither a JSON object nor a list".to_owned()));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Content::Yaml(text)),
        Err(error) => Err(RecordingError::NotText { at: error.valid_up_to(), accepted: ACCEPTED }),
    }
}
