//! Several session documents in one file, each bare or as the `session` of an object.

use crate::recording::fields::Wrong;
use crate::recording::reading::{self, Dialect, Names};
use crate::recording::scan::{self, Slot, Span};
use crate::recording::session;
use crate::recording::shape;
use crate::recording::skim;
use crate::recording::strict::Flaw;
use crate::recording::{Form, Options, Recording, StopKind};

/// Reads the sessions, in order. What is no session stands there as one that stops before its first event.
pub(crate) fn read(bytes: &[u8], slots: &[Slot], options: &Options) -> Vec<Recording> {
    let mut recordings: Vec<_> = slots.iter().map(|slot| one(bytes, *slot, options)).collect();
    for recording in &mut recordings {
        recording.name.clone_from(&recording.session_id);
    }
    reading::tell_apart(&mut recordings);
    recordings
}

fn one(bytes: &[u8], slot: Slot, options: &Options) -> Recording {
    let wrong = if slot.unseparated {
        Flaw::unseparated(slot.span.start).wrong()
    } else {
        let session = inner(bytes, slot.span);
        let own = bytes.get(..session.end).unwrap_or_default();
        match shape::session(own, session.start) {
            Ok(layout) => return session::assemble(own, session.start, layout, options),
            Err(error) => Wrong::new(StopKind::BadShape, error.to_string()),
        }
    };
    let mut recording =
        reading::halted((Form::Session, Dialect::Adk), Names::default(), wrong, std::iter::empty(), options);
    let own = bytes.get(..slot.span.end).unwrap_or_default();
    let events = skim::events(own, &[Slot { whole: false, ..slot }], 0, Dialect::Adk);
    reading::add_unread(&mut recording, skim::calls(events));
    recording
}

/// The session that an object holds under `session`, else the object itself.
fn inner(bytes: &[u8], whole: Span) -> Span {
    let own = bytes.get(..whole.end).unwrap_or_default();
    let members = scan::members(own, whole.start);
    let session = members.iter().find(|(key, span)| key == "session" && own.get(span.start) == Some(&b'{'));
    session.map_or(whole, |(_, span)| *span)
}
