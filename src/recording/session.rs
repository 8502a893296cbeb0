//! Slots to events: the strict reading, the rules about equal ids, and the stop.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::recording::event::{Actions, Event};
use crate::recording::fields::{Fields, Wrong, camel, shown};
use crate::recording::python::{self, Ignored};
use crate::recording::scan::{self, Slot, Span};
use crate::recording::shape::Layout;
use crate::recording::skim;
use crate::recording::strict::{self, Flaw};
use crate::recording::{Notice, Recording, Shape, Stop, StopKind};

/// The keys of a session document that are read or carry nothing from one message to the next.
const SESSION: &[&str] = &["id", "appName", "userId", "events", "state", "lastUpdateTime"];

/// Reads the events of a file that was recognised.
pub(crate) fn assemble(bytes: &[u8], layout: &Layout) -> Recording {
    let mut reading = Reading::default();
    let around = around(bytes, layout, &mut reading.ignored);
    let halt = match around.before {
        Some(wrong) => Some(Halt { from: 0, event: None, wrong }),
        None => reading.read(bytes, &layout.slots).err(),
    };
    let mut stop = around.after.map(|wrong| stop_of(wrong, None, String::new()));
    let mut unread_calls = Vec::new();
    if let Some(halt) = halt {
        let rest = [layout.slots.get(halt.from..).unwrap_or_default(), &layout.doubled].concat();
        let events = skim::events(bytes, &rest, halt.from);
        let id = events.first().filter(|_| halt.event.is_some()).map(|event| event.id.clone());
        stop = Some(stop_of(halt.wrong, halt.event, id.unwrap_or_default()));
        unread_calls = skim::calls(events);
    }
    let notices = reading.notices(layout.shape);
    Recording {
        shape: layout.shape,
        session_id: around.id,
        app_name: around.app_name,
        user_id: around.user_id,
        events: reading.events,
        stop,
        unread_calls,
        notices,
    }
}

fn stop_of(wrong: Wrong, event: Option<usize>, event_id: String) -> Stop {
    Stop { kind: wrong.kind, event, event_id, part: wrong.part, text: wrong.text }
}

/// The fault at which the reading of events halts.
struct Halt {
    /// The first slot that is not read.
    from: usize,
    event: Option<usize>,
    wrong: Wrong,
}

#[derive(Default)]
struct Reading {
    events: Vec<Event>,
    /// Id of an event to its place in `events`.
    places: BTreeMap<String, usize>,
    partial: usize,
    repeated: usize,
    ignored: Ignored,
}

impl Reading {
    fn read(&mut self, bytes: &[u8], slots: &[Slot]) -> Result<(), Halt> {
        for (index, slot) in slots.iter().enumerate() {
            self.slot(bytes, *slot, index).map_err(|wrong| Halt {
                from: index,
                event: Some(index),
                wrong,
            })?;
        }
        Ok(())
    }

    fn slot(&mut self, bytes: &[u8], slot: Slot, index: usize) -> Result<(), Wrong> {
        if slot.unseparated {
            return Err(Flaw::unseparated(slot.span.start).wrong());
        }
        let json = strict::parse(bytes, slot.span).map_err(|flaw| flaw.wrong())?;
        if python::is_partial(&json) {
            self.partial += 1;
            return Ok(());
        }
        let event = python::event(&json, index, &mut self.ignored)?;
        self.keep(event)
    }

    /// Keeps an event, unless it is there already.
    fn keep(&mut self, event: Event) -> Result<(), Wrong> {
        let last = self.events.len().checked_sub(1);
        let place = if event.id.is_empty() { None } else { self.places.get(&event.id).copied() };
        let Some((place, earlier)) = place.and_then(|place| Some((place, self.events.get_mut(place)?)))
        else {
            self.places.insert(event.id.clone(), self.events.len());
            self.events.push(event);
            return Ok(());
        };
        if *earlier == (Event { index: earlier.index, ..event.clone() }) {
            self.repeated += 1;
            return Ok(());
        }
        if last == Some(place)
            && let Some(whole) = whole(earlier, &event)
        {
            *earlier = whole;
            return Ok(());
        }
        let text = format!(
            "the id `{}` stands already at event {}, which has other content",
            shown(&event.id),
            earlier.index
        );
        Err(Wrong::new(StopKind::ConflictingEvent, text))
    }

    fn notices(&self, shape: Shape) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |kind: &str, text: String| notices.push(Notice { kind: kind.to_owned(), text });
        if shape != Shape::Session {
            say("no_session", "this is a list of events without a session".to_owned());
        }
        if self.partial > 0 {
            say("partial_events", format!("partial events left out: {}", self.partial));
        }
        if self.repeated > 0 {
            say("repeated_events", format!("equal events of one id left out: {}", self.repeated));
        }
        if let Some(names) = self.ignored.listed() {
            say("unknown_keys", format!("fields that are not known were ignored: {names}"));
        }
        notices
    }
}

/// The event of which `/run_sse` sends the content and the artifacts apart; none where the two are not such halves.
fn whole(earlier: &Event, later: &Event) -> Option<Event> {
    let (content, artifacts) = if earlier.has_content { (earlier, later) } else { (later, earlier) };
    let halves = content.has_content
        && !artifacts.has_content
        && content.actions.artifact_delta.is_empty()
        && !artifacts.actions.artifact_delta.is_empty();
    if !halves || bare(content) != bare(artifacts) {
        return None;
    }
    let artifact_delta = artifacts.actions.artifact_delta.clone();
    let actions = Actions { artifact_delta, ..content.actions.clone() };
    Some(Event { index: earlier.index, has_actions: true, actions, ..content.clone() })
}

/// What both halves of one event have in common.
fn bare(event: &Event) -> Event {
    Event {
        index: 0,
        role: String::new(),
        has_content: false,
        parts: Vec::new(),
        has_actions: true,
        actions: Actions { artifact_delta: Vec::new(), ..event.actions.clone() },
        ..event.clone()
    }
}

/// What stands around the list of events.
#[derive(Default)]
struct Around {
    id: String,
    app_name: String,
    user_id: String,
    /// A fault before the events, or one that makes it unclear which they are.
    before: Option<Wrong>,
    /// A fault after them.
    after: Option<Wrong>,
}

fn around(bytes: &[u8], layout: &Layout, ignored: &mut Ignored) -> Around {
    let Some(list) = layout.list else { return Around::default() };
    let hollow = hollow(bytes, layout, list);
    let json = match strict::parse(&hollow.bytes, Span { start: 0, end: hollow.bytes.len() }) {
        Ok(json) => json,
        Err(mut flaw) => {
            let doubled = flaw.twice.as_deref() == Some("events");
            let before = doubled || flaw.at < list.start;
            flaw.at += if flaw.at < list.start { 0 } else { hollow.cut };
            let wrong = flaw.wrong();
            let (before, after) = if before { (Some(wrong), None) } else { (None, Some(wrong)) };
            return Around { before, after, ..names(&hollow.bytes) };
        }
    };
    let names = names(&hollow.bytes);
    match layout.shape {
        Shape::Session => Around { before: about_session(&json, ignored).err(), ..names },
        Shape::EventList | Shape::EventLines => Around::default(),
    }
}

/// A file without what is in its list of events.
struct Hollow {
    bytes: Vec<u8>,
    /// How many bytes are missing.
    cut: usize,
}

fn hollow(bytes: &[u8], layout: &Layout, list: Span) -> Hollow {
    let head = bytes.get(..list.start).unwrap_or_default();
    let middle: &[u8] = if list.start == list.end { b"" } else { b"[]" };
    let tail: &[u8] = match layout.slots.last() {
        // The end of a broken list is not known: the faulty event speaks for all that follows.
        Some(last) if !last.whole && layout.shape == Shape::Session => b"}",
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

fn about_session(json: &Json, ignored: &mut Ignored) -> Result<(), Wrong> {
    let fields = Fields::new(json, "", SESSION)?;
    for (key, _) in fields.others(SESSION) {
        ignored.note(key);
    }
    for key in ["id", "appName", "userId"] {
        fields.text(key)?;
    }
    fields.entries("state")?;
    fields.list("events")?;
    Ok(())
}
