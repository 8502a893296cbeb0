//! A journal as a recording.

use crate::recording::feed::{Fed, Feed};
use crate::recording::journal::{self, Entry, JournalFault, Opening};
use crate::recording::{Event, Form, Notice, Parts, Recording, Stop, StopKind};

/// What a journal holds beside events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kept {
    /// What holds from the beginning: it goes before what a reader of the session would assume.
    pub opening: Opening,
    /// What happened, in order.
    pub steps: Vec<Step>,
}

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "most are entries")]
pub enum Step {
    /// The event of this number among those of the recording arrived.
    Event(usize),
    /// An event arrived that stops the session.
    Stop(Stop),
    /// Anything else.
    Entry(Entry),
}

/// Reads a journal as a recording. Its opening says which parts are read.
///
/// # Errors
/// Where its opening cannot be read.
pub fn recording(bytes: &[u8]) -> Result<Recording, JournalFault> {
    let journal = journal::read(bytes)?;
    let parts = if journal.opening.full_parts { Parts::Full } else { Parts::Supported };
    let mut feed = Feed::new(parts, &journal.opening.key.session);
    let mut steps = Vec::with_capacity(journal.entries.len());
    let (mut events, mut stop) = (Vec::new(), None);
    for entry in journal.entries {
        match taken(&mut feed, entry, &mut events) {
            Ok(step) => steps.extend(step),
            Err(found) => {
                stop.get_or_insert_with(|| found.clone());
                steps.push(Step::Stop(found));
            }
        }
    }
    let broken = journal.fault.map(|fault| broken(&fault));
    if let (None, Some(broken)) = (&stop, &broken) {
        steps.push(Step::Stop(broken.clone()));
    }
    let mut recording = feed.recording(Form::Journal, &journal.opening.key, events, stop.or(broken));
    if journal.torn {
        let text = "the last line of the journal is cut off: it was never acknowledged, and is left out";
        recording.notices.push(Notice { kind: "torn_journal".to_owned(), text: text.to_owned() });
    }
    recording.journal = Some(Box::new(Kept { opening: journal.opening, steps }));
    Ok(recording)
}

/// What an entry brings; nothing where its event is there already.
fn taken(feed: &mut Feed, entry: Entry, events: &mut Vec<Event>) -> Result<Option<Step>, Stop> {
    match entry {
        Entry::Append(appended) => match feed.take(&appended.event)? {
            Fed::New(event) => {
                events.push(*event);
                Ok(Some(Step::Event(events.len() - 1)))
            }
            Fed::Known => Ok(None),
        },
        Entry::Unsent(unsent) => {
            feed.unsent(&unsent.ids)?;
            Ok(Some(Step::Entry(Entry::Unsent(unsent))))
        }
        entry => Ok(Some(Step::Entry(entry))),
    }
}

fn broken(fault: &JournalFault) -> Stop {
    let text = fault.to_string();
    Stop { kind: StopKind::BrokenJournal, event: None, event_id: String::new(), part: None, text }
}
