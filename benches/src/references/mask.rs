//! One bit for each tool: which tools' answers a context holds, or came from.

use crate::references::{Adjacency, Tools, is_large};

/// The bits of a session, kept as it grows.
#[derive(Debug, Clone, Default)]
pub struct Mask {
    /// Of each context: what it holds and what that came from.
    contexts: Vec<Tools>,
    /// Of each record: itself and what it came from.
    records: Vec<Tools>,
}

impl Mask {
    /// The bits of a whole session.
    #[must_use]
    pub fn of(adjacency: &Adjacency) -> Self {
        let mut mask = Self::default();
        mask.grow(adjacency, adjacency.inputs.len());
        mask
    }

    /// Takes in the records up to so many, each with the contexts that were made for it.
    pub fn grow(&mut self, adjacency: &Adjacency, records: usize) {
        for record in self.records.len()..records {
            let record = u32::try_from(record).unwrap_or(u32::MAX);
            self.append(adjacency, record);
        }
    }

    /// Takes in the next record.
    fn append(&mut self, adjacency: &Adjacency, record: u32) {
        let context = adjacency.context(record);
        while self.contexts.len() <= context as usize {
            let next = u32::try_from(self.contexts.len()).unwrap_or(u32::MAX);
            let start = self.of_context(adjacency.parent(next));
            let bits =
                adjacency.added(next).iter().fold(start, |bits, &added| bits.or(self.of_record(added)));
            self.contexts.push(bits);
        }
        self.records.push(self.of_context(context).or(adjacency.tool(record)));
    }

    fn of_context(&self, context: u32) -> Tools {
        self.contexts.get(context as usize).copied().unwrap_or(Tools::NONE)
    }

    fn of_record(&self, record: u32) -> Tools {
        self.records.get(record as usize).copied().unwrap_or(Tools::NONE)
    }

    /// Whether a payment with these arguments, computed from these records, came from an answer of the tools.
    #[must_use]
    pub fn forbids(&self, current: &[u32], arguments: &str, wanted: Tools) -> bool {
        is_large(arguments) && current.iter().any(|&record| self.of_record(record).meets(wanted))
    }
}
