//! Events one after another: partial ones left out, the rules about equal ids, and what was noticed.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::json::{self, Json};
use crate::recording::adk::{self, Ignored, Manner};
use crate::recording::ahead::Ahead;
use crate::recording::early;
use crate::recording::event::{Actions, Author, Event};
use crate::recording::fields::{Wrong, shown};
use crate::recording::hidden;
use crate::recording::mixed;
use crate::recording::skim;
use crate::recording::usual;
use crate::recording::vertex;
use crate::recording::{Form, Notice, Options, Recording, Stop, StopKind, UnreadCall};

/// How the events of a recording are spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Dialect {
    /// Google's libraries: camelCase or snake_case keys, a part's kind by its key.
    #[default]
    Adk,
    /// The Rust library: snake_case keys, and parts that say their kind by what they hold.
    Rust,
    /// Rows of the Vertex AI session service, which hold an event in the keys of Google's libraries.
    Vertex,
}

/// The names of a session, as far as its recording says them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) session: String,
    pub(crate) app: String,
    pub(crate) user: String,
}

/// Reads events that are values already, such as items of a YAML text. A value that could not be read is the fault at which
/// the session stops.
pub(crate) fn of_values(
    how: (Form, Dialect),
    names: Names,
    values: impl IntoIterator<Item = Result<Json, Wrong>>,
    options: &Options,
) -> Recording {
    let unread = |wrong| Unread { wrong, id: String::new(), text: Vec::new() };
    of_rows(how, names, values.into_iter().map(|value| value.map(Row::Tree).map_err(unread)), options)
}

/// An event that can be read.
#[derive(Debug)]
pub(crate) enum Row {
    Tree(Json),
    /// A usual event of Google's libraries, which was read.
    Usual {
        event: Box<Event>,
        /// What it was read from.
        text: Vec<u8>,
    },
}

impl Row {
    /// The event as a value.
    pub(crate) fn tree(self) -> Json {
        match self {
            Self::Tree(json) => json,
            // A usual event is strict JSON, so none is lost.
            Self::Usual { text, .. } => {
                std::str::from_utf8(&text).ok().and_then(|text| json::parse(text).ok()).unwrap_or(Json::Null)
            }
        }
    }
}

/// An event that could not be read.
#[derive(Debug, Clone)]
pub(crate) struct Unread {
    pub(crate) wrong: Wrong,
    /// Its id; empty where it cannot be made out.
    pub(crate) id: String,
    /// What of it may show calls, as JSON that may be broken; empty where there is nothing.
    pub(crate) text: Vec<u8>,
}

impl Unread {
    /// A value that can be read, and is not because of that fault.
    pub(crate) fn of_value(wrong: Wrong, json: &Json) -> Self {
        let id = json.field("id").and_then(Json::text).unwrap_or_default().to_owned();
        Self { wrong, id, text: json.ordinary().into_bytes() }
    }

    fn calls(&self, index: usize, dialect: Dialect) -> Vec<UnreadCall> {
        let calls = skim::calls_of(&String::from_utf8_lossy(&self.text), index, dialect).into_iter();
        calls.map(|call| UnreadCall { event_id: self.id.clone(), ..call }).collect()
    }
}

/// Reads events that are values already, such as rows of a database, in their order.
pub(crate) fn of_rows(
    (form, dialect): (Form, Dialect),
    names: Names,
    rows: impl IntoIterator<Item = Result<Row, Unread>>,
    options: &Options,
) -> Recording {
    let mut reading = Reading::new(Manner { dialect, parts: options.parts });
    reading.session.clone_from(&names.session);
    let mut stop = None;
    let mut calls = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        let unread = match row {
            Ok(row) if stop.is_none() => match reading.take_row(row, index) {
                Ok(()) => continue,
                Err(unread) => unread,
            },
            Ok(row) => match row.tree() {
                json if adk::is_partial(&json) => continue,
                json => Unread::of_value(Wrong::new(StopKind::BadShape, String::new()), &json),
            },
            Err(unread) => unread,
        };
        calls.extend(unread.calls(index, dialect));
        stop.get_or_insert_with(|| stop_of(unread.wrong, Some(index), unread.id));
    }
    let names = Names { session: reading.session.clone(), ..names };
    reading.recording(form, names, stop, calls)
}

/// A recording that stops before its first event: the calls of these are listed as denied.
pub(crate) fn halted(
    (form, dialect): (Form, Dialect),
    names: Names,
    wrong: Wrong,
    values: impl IntoIterator<Item = Result<Json, Wrong>>,
    options: &Options,
) -> Recording {
    let mut unread = Vec::new();
    for (index, value) in values.into_iter().enumerate() {
        unread.extend(value.iter().flat_map(|json| skim::calls_of(&json.ordinary(), index, dialect)));
    }
    let stop = Some(stop_of(wrong, None, String::new()));
    Reading::new(Manner { dialect, parts: options.parts }).recording(form, names, stop, unread)
}

/// Adds calls of values that could not be read, where the recording stops at or before them.
pub(crate) fn add_unread(recording: &mut Recording, calls: Vec<UnreadCall>) {
    let Some(stop) = &recording.stop else { return };
    let first = stop.event.unwrap_or(0);
    recording.unread_calls.extend(calls.into_iter().filter(|call| call.event >= first));
    recording.unread_calls.sort_by_key(|call| call.event);
}

pub(crate) fn stop_of(wrong: Wrong, event: Option<usize>, event_id: String) -> Stop {
    Stop { kind: wrong.kind, event, event_id, part: wrong.part, text: wrong.text }
}

/// Gives each session of a file a name that no other has. A name stays with the first that has it; the others, and those
/// without one, are told by their number, from 0.
pub(crate) fn tell_apart(recordings: &mut [Recording]) {
    let own = recordings.iter().map(|one| one.name.clone()).filter(|name| !name.is_empty());
    let mut taken: BTreeSet<String> = own.collect();
    let mut met = BTreeSet::new();
    for (number, recording) in recordings.iter_mut().enumerate() {
        if !recording.name.is_empty() && met.insert(recording.name.clone()) {
            continue;
        }
        // Every further round takes a longer name that stands in the file.
        loop {
            let mark = if recording.name.is_empty() { "" } else { "#" };
            recording.name.push_str(&format!("{mark}{number}"));
            if taken.insert(recording.name.clone()) {
                break;
            }
        }
    }
}

/// Events that were read one after another.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    manner: Manner,
    /// The session that the events are of; empty until one says it.
    pub(crate) session: String,
    /// Whether the session is from before ADK 1.0.
    pub(crate) early: bool,
    /// Calls that only partial events made so far, by what an answer names them.
    hidden: BTreeSet<String>,
    events: Vec<Event>,
    /// Places in `events` by the id of the event there. Probed, never walked.
    places: HashTable<usize>,
    hashes: RandomState,
    partial: usize,
    repeated: usize,
    pub(crate) ignored: Ignored,
}

impl Reading {
    /// A reading that has met nothing yet.
    pub(crate) fn new(manner: Manner) -> Self {
        Self { manner, ..Self::default() }
    }

    /// A reading that has met what was read ahead as the beginning of a list, unless such events are to be read otherwise;
    /// and how many of the list these are.
    pub(crate) fn after(ahead: Option<Box<Ahead>>, manner: Manner, early: bool) -> (Self, usize) {
        match (ahead, manner.dialect) {
            (Some(ahead), Dialect::Adk) if !early => {
                let Ahead { reading, count } = *ahead;
                (Self { manner, ..reading }, count)
            }
            (_, Dialect::Adk | Dialect::Rust | Dialect::Vertex) => (Self { early, ..Self::new(manner) }, 0),
        }
    }

    /// Says whose events they are, before the first.
    pub(crate) fn speak(&mut self, dialect: Dialect) {
        self.manner.dialect = dialect;
    }

    /// Makes room for so many events, of which there may be fewer.
    pub(crate) fn expect(&mut self, events: usize) {
        // An event takes far more room than its place in a file, which may hold anything.
        const MOST: usize = 64;
        self.events.reserve(events.min(MOST));
    }

    /// Takes in one event from its text, the `index`th of its session; none where it is to be read as a tree.
    pub(crate) fn take_text(&mut self, text: &str, index: usize) -> Option<Result<(), Wrong>> {
        match self.manner.dialect {
            Dialect::Adk if !self.early => usual::event(text, index).map(|event| self.settle(event)),
            Dialect::Adk | Dialect::Rust | Dialect::Vertex => None,
        }
    }

    fn take_row(&mut self, row: Row, index: usize) -> Result<(), Unread> {
        match row {
            Row::Tree(json) => self.take(&json, index).map_err(|wrong| Unread::of_value(wrong, &json)),
            Row::Usual { event, text } => {
                let taken = self.settle(Event { index, ..*event });
                taken.map_err(|wrong| {
                    Unread::of_value(wrong, &Row::Usual { event: Box::default(), text }.tree())
                })
            }
        }
    }

    /// Takes in one event, the `index`th of its session.
    pub(crate) fn take(&mut self, json: &Json, index: usize) -> Result<(), Wrong> {
        match self.next(json, index)? {
            Some(event) => self.keep(event),
            None => Ok(()),
        }
    }

    /// The same without keeping it; none for a partial event.
    pub(crate) fn next(&mut self, json: &Json, index: usize) -> Result<Option<Event>, Wrong> {
        mixed::check(json, self.manner.dialect)?;
        self.of_session(json)?;
        let json = match self.manner.dialect {
            Dialect::Adk => Cow::Borrowed(json),
            Dialect::Rust => once(json),
            Dialect::Vertex => Cow::Owned(vertex::event(json, &mut self.ignored)?),
        };
        if adk::is_partial(&json) || self.early && early::is_partial(&json) {
            self.partial += 1;
            self.hidden.extend(hidden::calls_of(&json));
            return Ok(None);
        }
        let event = adk::event(&json, index, self.manner, &mut self.ignored)?;
        self.revealed(&event)?;
        Ok(Some(event))
    }

    /// Sees what an event says about those before it, and keeps it.
    pub(crate) fn settle(&mut self, event: Event) -> Result<(), Wrong> {
        self.revealed(&event)?;
        self.keep(event)
    }

    fn revealed(&mut self, event: &Event) -> Result<(), Wrong> {
        if self.hidden.is_empty() { Ok(()) } else { hidden::reveal(&mut self.hidden, event) }
    }

    /// Notes that an event which is there already came again.
    pub(crate) fn note_repeated(&mut self) {
        self.repeated += 1;
    }

    /// Takes these as the events that were read.
    pub(crate) fn with_events(self, events: Vec<Event>) -> Self {
        Self { events, ..self }
    }

    /// Refuses an event of another session than those before it.
    fn of_session(&mut self, json: &Json) -> Result<(), Wrong> {
        let row = match self.manner.dialect {
            Dialect::Vertex => json.field("name").and_then(Json::text).and_then(vertex::named),
            Dialect::Adk | Dialect::Rust => None,
        };
        let said = ["session_id", "sessionId"].iter().filter_map(|key| json.field(key).and_then(Json::text));
        for own in said.chain(row.map(|(session, _)| session)).filter(|own| !own.is_empty()) {
            if self.session.is_empty() {
                own.clone_into(&mut self.session);
            } else if own != self.session {
                let text = format!(
                    "the event is of the session `{}`, and those before of `{}`: give each a file",
                    shown(own),
                    shown(&self.session)
                );
                return Err(Wrong::new(StopKind::BadShape, text));
            }
        }
        Ok(())
    }

    /// What was read.
    pub(crate) fn recording(
        self,
        form: Form,
        names: Names,
        stop: Option<Stop>,
        unread_calls: Vec<UnreadCall>,
    ) -> Recording {
        let notices = self.notices(form);
        Recording {
            form,
            name: String::new(),
            session_id: names.session,
            app_name: names.app,
            user_id: names.user,
            events: self.events,
            stop,
            unread_calls,
            notices,
            journal: None,
        }
    }

    /// Keeps an event, unless it is there already.
    fn keep(&mut self, event: Event) -> Result<(), Wrong> {
        let Self { events, hashes, places, repeated, .. } = self;
        let hash = hashes.hash_one(&event.id);
        let is_there = |place: &usize| events.get(*place).is_some_and(|other| other.id == event.id);
        let place = if event.id.is_empty() { None } else { places.find(hash, is_there).copied() };
        let last = events.len().checked_sub(1);
        if let Some(earlier) = place.and_then(|place| events.get_mut(place)) {
            *repeated += usize::from(is_repetition(earlier, &event, place == last)?);
            return Ok(());
        }
        let hash_at = |place: &usize| events.get(*place).map_or(hash, |event| hashes.hash_one(&event.id));
        places.insert_unique(hash, events.len(), hash_at);
        events.push(event);
        Ok(())
    }

    fn notices(&self, form: Form) -> Vec<Notice> {
        let mut notices = Vec::new();
        let mut say = |kind: &str, text: String| notices.push(Notice { kind: kind.to_owned(), text });
        match form {
            Form::EventList | Form::EventLines | Form::EventStream => {
                say("no_session", "this is a list of events without a session".to_owned());
                if !self.events.is_empty()
                    && !self.events.iter().any(|event| event.writer() == Author::Person)
                {
                    say("no_user_events", "what people asked for is not in this recording".to_owned());
                }
                let nameless = self.events.iter().filter(|event| event.id.is_empty()).count();
                if nameless > 0 {
                    let text = format!(
                        "events without ids: {nameless}; whether one stands there twice is not known"
                    );
                    say("no_event_ids", text);
                }
            }
            Form::Golden => {
                let text = "this is a golden file of `adk test`: its ids are not those of the run, and it has no times";
                say("golden", text.to_owned());
            }
            Form::Session | Form::EvalSet | Form::Conformance | Form::Database | Form::Journal => {}
        }
        if self.partial > 0 {
            say("partial_events", format!("partial events left out: {}", self.partial));
        }
        if self.repeated > 0 {
            say("repeated_events", format!("equal events of one id left out: {}", self.repeated));
        }
        if self.ignored.requests > 0 {
            let count = self.ignored.requests;
            say("unread_requests", format!("requests to models that cannot be read were ignored: {count}"));
        }
        if let Some(names) = self.ignored.listed() {
            say("unknown_keys", format!("fields that are not known were ignored: {names}"));
        }
        notices
    }
}

/// Whether an event repeats an earlier one of its id. If not, it has to be the other half of the last one, and goes into it.
fn is_repetition(earlier: &mut Event, event: &Event, is_last: bool) -> Result<bool, Wrong> {
    if *earlier == (Event { index: earlier.index, ..event.clone() }) {
        return Ok(true);
    }
    if is_last && let Some(whole) = whole(earlier, event) {
        *earlier = whole;
        return Ok(false);
    }
    let text = format!(
        "the id `{}` stands already at event {}, which has other content",
        shown(&event.id),
        earlier.index
    );
    Err(Wrong::new(StopKind::ConflictingEvent, text))
}

/// The event without `invocationId`, where that repeats `invocation_id`: older versions of the Rust library write both.
fn once(json: &Json) -> Cow<'_, Json> {
    let id = json.field("invocationId");
    match json {
        Json::Object(members) if id.is_some() && id == json.field("invocation_id") => {
            let kept = members.iter().filter(|(key, _)| &**key != "invocationId");
            Cow::Owned(Json::Object(kept.cloned().collect()))
        }
        _ => Cow::Borrowed(json),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_sessions_of_a_file_have_one_name() {
        let rows: [(&[&str], &[&str]); 5] = [
            (&["a#2", "a", "a"], &["a#2", "a", "a#2#2"]),
            (&["a", "a", "a#1", "a#1#1"], &["a", "a#1#1#1", "a#1", "a#1#1"]),
            (&["", "0", ""], &["0#0", "0", "2"]),
            (&["b", "b", "b"], &["b", "b#1", "b#2"]),
            (&[""], &["0"]),
        ];
        for (given, expected) in rows {
            let named = |name: &&str| {
                let empty = Reading::new(Manner::default());
                let recording = empty.recording(Form::Session, Names::default(), None, Vec::new());
                Recording { name: (*name).to_owned(), ..recording }
            };
            let mut recordings: Vec<_> = given.iter().map(named).collect();
            tell_apart(&mut recordings);
            let names: Vec<_> = recordings.iter().map(|one| one.name.as_str()).collect();
            assert_eq!(names, expected);
        }
    }
}
