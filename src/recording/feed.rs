//! Events of one session, one after another, as a gate is given them.

use crate::recording::adk::Manner;
use crate::recording::event::Event;
use crate::recording::fields::Wrong;
use crate::recording::journal::SessionKey;
use crate::recording::reading::{Dialect, Names, Reading, stop_of};
use crate::recording::scan::{Slot, Span};
use crate::recording::shape;
use crate::recording::strict;
use crate::recording::{Form, Parts, Recording, Stop, StopKind};

/// What a text brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed<'a> {
    /// An event that is new.
    New(&'a Event),
    /// Nothing: a part of an event that is still being written, or an event that is there already.
    Known,
}

/// The events of one session so far.
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
}

impl Feed {
    /// No events yet, of the session of that name; empty for any.
    #[must_use]
    pub fn new(parts: Parts, session: &str) -> Self {
        let manner = Manner { dialect: Dialect::default(), parts };
        let mut reading = Reading::new(manner);
        session.clone_into(&mut reading.session);
        Self { reading, taken: 0 }
    }

    /// Takes in the text of one event, of any library; all events of a session are of the one that wrote the first.
    ///
    /// # Errors
    /// Where the event cannot be read, or another one of its id is there: nothing is taken in then.
    pub fn take(&mut self, text: &str) -> Result<Fed<'_>, Stop> {
        let index = self.taken;
        let before = (self.reading.count(), self.reading.left_out());
        self.read(text, index).map_err(|wrong| stop_of(wrong, Some(index), String::new()))?;
        self.taken += 1;
        match self.reading.newest() {
            Some(event) if self.reading.count() > before.0 => Ok(Fed::New(event)),
            Some(_) | None if self.reading.left_out() > before.1 => Ok(Fed::Known),
            Some(_) | None => {
                let text =
                    "the event comes in two halves, and the first was taken for all of it: append it whole";
                let wrong = Wrong::new(StopKind::ConflictingEvent, text.to_owned());
                Err(stop_of(wrong, Some(index), String::new()))
            }
        }
    }

    fn read(&mut self, text: &str, index: usize) -> Result<(), Wrong> {
        let bytes = text.as_bytes();
        let json = strict::parse(bytes, Span { start: 0, end: bytes.len() }).map_err(|flaw| flaw.wrong())?;
        if self.taken == 0 {
            let slot = Slot::whole(0, bytes.len());
            let dialect = shape::probe(bytes, &[slot]);
            let dialect = dialect.map_err(|error| Wrong::new(StopKind::BadShape, error.to_string()))?;
            self.reading.speak(dialect);
        }
        self.reading.take(&json, index)
    }

    /// What was read, as a recording.
    pub(crate) fn recording(self, form: Form, key: &SessionKey, stop: Option<Stop>) -> Recording {
        let names = Names { session: key.session.clone(), app: key.app.clone(), user: key.user.clone() };
        self.reading.recording(form, names, stop, Vec::new())
    }
}
