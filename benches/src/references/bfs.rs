//! A walk over adjacency lists, back from what is asked about.

use crate::references::{Adjacency, Tools};

/// Which numbers were met.
#[derive(Debug)]
struct Seen(Vec<u64>);

impl Seen {
    fn of(length: usize) -> Self {
        Self(vec![0; length / 64 + 1])
    }

    /// Notes a number; whether it is new.
    fn note(&mut self, number: u32) -> bool {
        let Some(word) = self.0.get_mut((number / 64) as usize) else { return false };
        let bit = 1 << (number % 64);
        let new = *word & bit == 0;
        *word |= bit;
        new
    }
}

/// Whether an answer of one of the tools is met on the way back from these records, which does not pass answers of
/// `barred` tools. Stops at the first. Linear in records and contexts, each of which is looked at once.
#[must_use]
pub fn finds(adjacency: &Adjacency, from: &[u32], wanted: Tools, barred: Tools) -> bool {
    let mut records = Seen::of(adjacency.inputs.len());
    let mut contexts = Seen::of(adjacency.parents.len());
    let mut open: Vec<u32> = from.iter().copied().filter(|&record| records.note(record)).collect();
    while let Some(record) = open.pop() {
        if adjacency.tool(record).meets(wanted) {
            return true;
        }
        let mut context = adjacency.context(record);
        while context != 0 && contexts.note(context) {
            for &source in adjacency.added(context) {
                if records.note(source) && !adjacency.tool(source).meets(barred) {
                    open.push(source);
                }
            }
            context = adjacency.parent(context);
        }
    }
    false
}
