//! The slots of a file to a recording: each is read strictly, until one is at fault.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::recording::adk::{Ignored, Manner};
use crate::recording::early;
use crate::recording::fields::{Fields, Wrong, camel, shown};
use crate::recording::reading::{Names, Reading, stop_of};
use crate::recording::scan::{self, Slot, Span};
use crate::recording::shape::Layout;
use crate::recording::skim;
use crate::recording::strict::{self, Flaw};
use crate::recording::{Form, Options, Recording, StopKind};

/// The keys of a session document that are read or carry nothing from one message to the next.
const SESSION: &[&str] = &["id", "appName", "userId", "events", "state", "lastUpdateTime"];

/// Reads the events of what begins at `from` and was recognised.
pub(crate) fn assemble(bytes: &[u8], from: usize, mut layout: Layout, options: &Options) -> Recording {
    let mut ignored = Ignored::default();
    let mut around = around(bytes, from, &layout, &mut ignored);
    let manner = Manner { dialect: layout.dialect, parts: options.parts };
    let ahead = layout.ahead.take().filter(|_| around.before.is_none());
    let (mut reading, read_ahead) = Reading::after(ahead, manner, around.early);
    reading.expect(layout.slots.len().saturating_sub(read_ahead));
    reading.ignored = ignored;
    around.id.clone_into(&mut reading.session);
    let halt = match around.before {
        Some(wrong) => Some(Halt { from: 0, event: None, wrong }),
        None => read(&mut reading, bytes, &layout.slots, read_ahead).err(),
    };
    let mut stop = around.after.map(|wrong| stop_of(wrong, None, String::new()));
    let mut unread_calls = Vec::new();
    if let Some(halt) = halt {
        let rest = [layout.slots.get(halt.from..).unwrap_or_default(), &layout.doubled].concat();
        let events = skim::events(bytes, &rest, halt.from, layout.dialect);
        let id = events.first().filter(|_| halt.event.is_some()).map(|event| event.id.clone());
        stop = Some(stop_of(halt.wrong, halt.event, id.unwrap_or_default()));
        unread_calls = skim::calls(events);
    }
    let session = reading.session.clone();
    let names = Names { session, app: around.app_name, user: around.user_id };
    let mut recording = reading.recording(layout.form, names, stop, unread_calls);
    for event in &mut recording.events {
        let logged = around.requests.remove(&event.id);
        event.model_request = event.model_request.take().or(logged);
    }
    recording
}

/// The fault at which the reading of events halts.
struct Halt {
    /// The first slot that is not read.
    from: usize,
    event: Option<usize>,
    wrong: Wrong,
}

/// Reads the events after the first ones, until one is at fault.
fn read(reading: &mut Reading, bytes: &[u8], slots: &[Slot], first: usize) -> Result<(), Halt> {
    for (index, slot) in slots.iter().enumerate().skip(first) {
        self::slot(reading, bytes, *slot, index).map_err(|wrong| Halt {
            from: index,
            event: Some(index),
            wrong,
        })?;
    }
    Ok(())
}

fn slot(reading: &mut Reading, bytes: &[u8], slot: Slot, index: usize) -> Result<(), Wrong> {
    if slot.unseparated {
        return Err(Flaw::unseparated(slot.span.start).wrong());
    }
    let text = std::str::from_utf8(slot.span.of(bytes)).ok();
    if let Some(taken) = text.and_then(|text| reading.take_text(text, index)) {
        return taken;
    }
    let json = strict::parse(bytes, slot.span).map_err(|flaw| flaw.wrong())?;
    if let Some(text) = failure(&json) {
        return Err(Wrong::new(StopKind::BadShape, text));
    }
    reading.take(&json, index)
}

/// What a server sends instead of the next event when the run fails.
fn failure(json: &Json) -> Option<String> {
    let known = ["error", "error_details", "errorDetails"];
    let Json::Object(members) = json else { return None };
    if !members.iter().all(|(key, _)| known.contains(&&**key)) {
        return None;
    }
    let error = json.field("error").and_then(Json::text)?;
    Some(format!("the run ended with the error `{}`: what followed is not known", shown(error)))
}

/// What stands around the list of events.
#[derive(Default)]
struct Around {
    id: String,
    app_name: String,
    user_id: String,
    /// Whether it is a session from before ADK 1.0.
    early: bool,
    /// A fault before the events, or one that makes it unclear which they are.
    before: Option<Wrong>,
    /// A fault after them.
    after: Option<Wrong>,
    /// The requests that models were sent, by the id of the event that answers each.
    requests: BTreeMap<String, Json>,
}

fn around(bytes: &[u8], from: usize, layout: &Layout, ignored: &mut Ignored) -> Around {
    let Some(list) = layout.list else { return Around::default() };
    let hollow = hollow(bytes, from, layout, list);
    let json = match strict::parse(&hollow.bytes, Span { start: 0, end: hollow.bytes.len() }) {
        Ok(json) => json,
        Err(mut flaw) => {
            let doubled = flaw.twice.as_deref() == Some("events");
            flaw.at += from;
            let before = doubled || flaw.at < list.start;
            flaw.at += if flaw.at < list.start { 0 } else { hollow.cut };
            let wrong = flaw.wrong();
            let (before, after) = if before { (Some(wrong), None) } else { (None, Some(wrong)) };
            return Around { before, after, ..names(&hollow.bytes) };
        }
    };
    let names = names(&hollow.bytes);
    match layout.form {
        Form::Session | Form::Golden => match about_session(&json, ignored) {
            Ok(requests) => Around { requests, early: early::is_early(&json), ..names },
            Err(wrong) => Around { before: Some(wrong), ..names },
        },
        Form::EventList
        | Form::EventLines
        | Form::EventStream
        | Form::EvalSet
        | Form::Conformance
        | Form::Database
        | Form::Journal => Around::default(),
    }
}

/// A document without what is in its list of events.
struct Hollow {
    bytes: Vec<u8>,
    /// How many bytes are missing.
    cut: usize,
}

fn hollow(bytes: &[u8], from: usize, layout: &Layout, list: Span) -> Hollow {
    let head = bytes.get(from..list.start).unwrap_or_default();
    let middle: &[u8] = if list.start == list.end { b"" } else { b"[]" };
    let tail: &[u8] = match layout.slots.last() {
        // The end of a broken list is not known: the faulty event speaks for all that follows.
        Some(last) if !last.whole && matches!(layout.form, Form::Session | Form::Golden) => b"}",
        Some(last) if !last.whole => b"",
        Some(_) | None => bytes.get(list.end..).unwrap_or_default(),
    };
    let cut = (list.end - list.start).saturating_sub(middle.len());
    Hollow { bytes: [head, middle, tail].concat(), cut }
}

fn names(bytes: &[u8]) -> Around {
    let members = scan::members(bytes, scan::blanks(bytes, 0));
    let name = |wanted: &str| {
        let found = members.iter().find(|(key, _)| camel(key) == wanted);
        found.map(|(_, span)| scan::text(bytes, *span)).unwrap_or_default()
    };
    Around { id: name("id"), app_name: name("appName"), user_id: name("userId"), ..Around::default() }
}

/// Reads what a session says around its events.
pub(crate) fn about_session(json: &Json, ignored: &mut Ignored) -> Result<BTreeMap<String, Json>, Wrong> {
    let known = [SESSION, early::SESSION].concat();
    let fields = Fields::new(json, "", &known)?;
    for (key, _) in fields.others(SESSION).filter(|(key, _)| camel(key) != "eventLogs") {
        ignored.note(key);
    }
    for key in ["id", "appName", "userId"] {
        fields.text(key)?;
    }
    fields.entries("state")?;
    fields.list("events")?;
    early::requests(&fields, ignored)
}
