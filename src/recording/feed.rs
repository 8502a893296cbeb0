//! Events of one session, one after another, as a gate is given them.

use std::collections::BTreeMap;
use std::hash::{Hash as _, Hasher};

use sha2::{Digest as _, Sha256};

use crate::recording::adk::Manner;
use crate::recording::event::Event;
use crate::recording::fields::{Wrong, shown};
use crate::recording::journal::SessionKey;
use crate::recording::reading::{Dialect, Names, Reading, stop_of};
use crate::recording::scan::{Slot, Span};
use crate::recording::shape;
use crate::recording::strict;
use crate::recording::{Form, Parts, Recording, Stop, StopKind};

/// What a text brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fed {
    /// An event that is new.
    New(Box<Event>),
    /// Nothing: a part of an event that is still being written, or an event that is there already.
    Known,
}

/// The events of one session so far, of which no more is kept than tells those that come again from others.
///
/// ```
/// use gatelog::recording::{Fed, Feed, Parts};
/// let mut feed = Feed::new(Parts::Supported, "s");
/// let event = r#"{"id": "e", "author": "user", "content": {"parts": [{"text": "hello"}]}}"#;
/// assert!(matches!(feed.take(event), Ok(Fed::New(event)) if event.id == "e"));
/// assert_eq!(feed.take(event), Ok(Fed::Known));
/// assert!(feed.take(&event.replace("hello", "bye")).is_err());
/// ```
#[derive(Debug)]
pub struct Feed {
    reading: Reading,
    /// How many texts were taken.
    taken: usize,
    known: BTreeMap<String, Known>,
}

/// What stands under the id of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// An event: its number, and a digest of all else that it says.
    Taken(usize, [u8; 32]),
    /// One that is never sent.
    Unsent,
}

impl Feed {
    /// No events yet, of the session of that name; empty for any.
    #[must_use]
    pub fn new(parts: Parts, session: &str) -> Self {
        let manner = Manner { dialect: Dialect::default(), parts };
        let mut reading = Reading::new(manner);
        session.clone_into(&mut reading.session);
        Self { reading, taken: 0, known: BTreeMap::new() }
    }

    /// Takes in the text of one event, of any library; all events of a session are of the one that wrote the first.
    ///
    /// # Errors
    /// Where the event cannot be read, or another one of its id is there: nothing is taken in then.
    pub fn take(&mut self, text: &str) -> Result<Fed, Stop> {
        let index = self.taken;
        let fed = self.read(text, index).map_err(|wrong| stop_of(wrong, Some(index), String::new()))?;
        self.taken += 1;
        Ok(fed)
    }

    fn read(&mut self, text: &str, index: usize) -> Result<Fed, Wrong> {
        let bytes = text.as_bytes();
        let json = strict::parse(bytes, Span { start: 0, end: bytes.len() }).map_err(|flaw| flaw.wrong())?;
        if self.taken == 0 {
            let slot = Slot::whole(0, bytes.len());
            let dialect = shape::probe(bytes, &[slot]);
            let dialect = dialect.map_err(|error| Wrong::new(StopKind::BadShape, error.to_string()))?;
            self.reading.speak(dialect);
        }
        match self.reading.next(&json, index)? {
            Some(event) => self.keep(event),
            None => Ok(Fed::Known),
        }
    }

    fn keep(&mut self, event: Event) -> Result<Fed, Wrong> {
        if event.id.is_empty() {
            return Ok(Fed::New(Box::new(event)));
        }
        let digest = digest(&event);
        let id = shown(&event.id);
        let why = match self.known.get(&event.id) {
            None => {
                self.known.insert(event.id.clone(), Known::Taken(event.index, digest));
                return Ok(Fed::New(Box::new(event)));
            }
            Some(Known::Taken(_, known)) if *known == digest => {
                self.reading.note_repeated();
                return Ok(Fed::Known);
            }
            Some(Known::Taken(number, _)) => {
                format!(
                    "the id `{id}` stands already at event {number}, which has other content: append each event whole"
                )
            }
            Some(Known::Unsent) => {
                format!(
                    "the event `{id}` was said never to be sent, and something unknown stands in its place"
                )
            }
        };
        Err(Wrong::new(StopKind::ConflictingEvent, why))
    }

    /// Notes events that are never sent, by their ids, in the order of the session; an id may be empty.
    ///
    /// # Errors
    /// Where an id is there already, or stands there twice: nothing is noted then.
    pub fn unsent(&mut self, ids: &[String]) -> Result<(), Stop> {
        let mut new = BTreeMap::new();
        for id in ids.iter().filter(|id| !id.is_empty()) {
            if self.known.contains_key(id) || new.insert(id.clone(), Known::Unsent).is_some() {
                let text =
                    format!("the event `{}` is there already: it is not to be told as never sent", shown(id));
                return Err(stop_of(Wrong::new(StopKind::ConflictingEvent, text), None, id.clone()));
            }
        }
        self.known.append(&mut new);
        Ok(())
    }

    /// What was read, as a recording of these events.
    pub(crate) fn recording(
        self,
        form: Form,
        key: &SessionKey,
        events: Vec<Event>,
        stop: Option<Stop>,
    ) -> Recording {
        let names = Names { session: key.session.clone(), app: key.app.clone(), user: key.user.clone() };
        self.reading.with_events(events).recording(form, names, stop, Vec::new())
    }
}

/// A digest of all that an event says, its number aside. Equal events have equal ones, and nobody finds two others that do.
fn digest(event: &Event) -> [u8; 32] {
    let mut digest = Digester(Sha256::new());
    // A literal without `..`, so that no field is forgotten.
    let Event {
        index: _,
        id,
        invocation_id,
        author,
        branch,
        time,
        role,
        has_content,
        parts,
        actions,
        has_actions,
        long_running,
        error_code,
        error_message,
        node_path,
        isolation_scope,
        custom_metadata,
        output,
        transcriptions,
        requested_input,
        model_request,
        ran_otherwise,
        grounding,
        agent_state,
    } = event;
    (id, invocation_id, author, branch, time, role, has_content, parts, actions, has_actions)
        .hash(&mut digest);
    (long_running, error_code, error_message, node_path, isolation_scope).hash(&mut digest);
    (custom_metadata, output, transcriptions, requested_input, model_request).hash(&mut digest);
    (ran_otherwise, grounding, agent_state).hash(&mut digest);
    digest.0.finalize().into()
}

/// Digests what a value would have hashed. Texts and lists are hashed with their lengths or ends.
struct Digester(Sha256);

impl Hasher for Digester {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest is the answer, and not a number.
    fn finish(&self) -> u64 {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(id: &str, text: &str) -> String {
        format!(r#"{{"id":"{id}","author":"user","content":{{"parts":[{{"text":"{text}"}}]}}}}"#)
    }

    #[test]
    fn what_comes_again_is_told_from_what_is_other() {
        let mut feed = Feed::new(Parts::Full, "");
        for (id, text, new) in
            [("a", "x", true), ("a", "x", false), ("b", "x", true), ("", "x", true), ("", "x", true)]
        {
            let fed = feed.take(&event(id, text)).unwrap();
            assert_eq!(matches!(fed, Fed::New(_)), new, "{id} {text}");
        }
        let conflict = feed.take(&event("a", "y")).unwrap_err();
        assert_eq!((conflict.kind, conflict.text.contains("event 0")), (StopKind::ConflictingEvent, true));
        assert_eq!(feed.take(&event("a", "x")), Ok(Fed::Known));
    }

    #[test]
    fn what_is_never_sent_never_comes() {
        let mut feed = Feed::new(Parts::Full, "");
        let ids = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect::<Vec<_>>();
        feed.take(&event("a", "x")).unwrap();
        assert!(feed.unsent(&ids(&["b", "a"])).is_err());
        assert!(feed.unsent(&ids(&["b", "b"])).is_err());
        assert_eq!(feed.unsent(&ids(&["b", "", "", "c"])), Ok(()));
        assert!(feed.unsent(&ids(&["c"])).is_err());
        let late = feed.take(&event("c", "x")).unwrap_err();
        assert_eq!((late.kind, late.text.contains("never")), (StopKind::ConflictingEvent, true));
    }
}
