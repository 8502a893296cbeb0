//! Several session documents in one file, each bare or as the `session` of an object.

use crate::recording::fields::Wrong;
use crate::recording::reading::{self, Dialect, Names};
use crate::recording::scan::{self, Slot};
use crate::recording::session;
use crate::recording::shape;
use crate::recording::skim;
use crate::recording::strict::Flaw;
use crate::recording::{Form, Options, Recording, StopKind};

/// Reads the sessions, in order. What is no session stands there as one that stops before its first event.
pub(crate) fn read(bytes: &[u8], slots: &[Slot], options: &Options) -> Vec<Recording> {
    let one = |(number, slot): (usize, &Slot)| {
        let mut recording = one(bytes, *slot, options);
        if let Some(stop) = recording.stop.as_mut().filter(|stop| stop.text.contains(" at byte ")) {
            stop.text.push_str(", in the text of this session alone");
        }
        let id = &recording.session_id;
        recording.name = if id.is_empty() { number.to_string() } else { id.clone() };
        recording
    };
    slots.iter().enumerate().map(one).collect()
}

fn one(bytes: &[u8], slot: Slot, options: &Options) -> Recording {
    let own = slot.span.of(bytes);
    let wrong = if slot.unseparated {
        Flaw::unseparated(0).wrong()
    } else {
        let session = inner(own);
        match shape::session(session) {
            Ok(layout) => return session::assemble(session, &layout, options),
            Err(error) => Wrong::new(StopKind::BadShape, error.to_string()),
        }
    };
    let mut recording =
        reading::halted((Form::Session, Dialect::Adk), Names::default(), wrong, std::iter::empty(), options);
    let events = skim::events(own, &[Slot { whole: false, ..Slot::whole(0, own.len()) }], 0, Dialect::Adk);
    reading::add_unread(&mut recording, skim::calls(events));
    recording
}

/// The session that an object holds under `session`, else the object itself.
fn inner(own: &[u8]) -> &[u8] {
    let members = scan::members(own, 0);
    let session = members.iter().find(|(key, span)| key == "session" && own.get(span.start) == Some(&b'{'));
    session.map_or(own, |(_, span)| span.of(own))
}
