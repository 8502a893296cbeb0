//! The first events of a list, read while it is found out where the others stand.
//!
//! Only usual events are, and only up to the first that is not, so that every fault is met in its order and in its words.

use crate::json::Reader;
use crate::recording::reading::Reading;
use crate::recording::usual;

/// Bytes of a short event: room is made for as many as a list may hold of them, before it is known how many there are.
const SHORT: usize = 256;

/// The events at the beginning of a list that were read already.
#[derive(Debug, Default)]
pub(crate) struct Ahead {
    /// What was read, as events of Google's libraries.
    pub(crate) reading: Reading,
    /// How many there were, repetitions among them.
    pub(crate) count: usize,
}

/// Reads the items of one list.
pub(crate) struct AheadReader<'a, 'r> {
    ahead: &'a mut Ahead,
    /// Of the whole file.
    bytes: usize,
    /// None once an event was not usual.
    reader: Option<Reader<'r>>,
}

impl Ahead {
    pub(crate) fn reader<'a, 'r>(&'a mut self, bytes: &'r [u8]) -> AheadReader<'a, 'r> {
        let reader = std::str::from_utf8(bytes).ok().map(Reader::of);
        AheadReader { ahead: self, bytes: bytes.len(), reader }
    }
}

impl AheadReader<'_, '_> {
    /// Reads the event at that place, which comes after those before it; the end of its value, if it is usual.
    pub(crate) fn event(&mut self, at: usize) -> Option<usize> {
        let reader = self.reader.as_mut()?;
        reader.go_to(at);
        if self.ahead.count == 0 {
            self.ahead.reading.expect(self.bytes / SHORT);
        }
        let event = usual::next(reader, self.ahead.count);
        if event.and_then(|event| self.ahead.reading.settle(event).ok()).is_none() {
            self.reader = None;
            return None;
        }
        self.ahead.count += 1;
        Some(reader.place())
    }
}
