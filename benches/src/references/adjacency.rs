//! What each record was computed from, as flat arrays.
//!
//! Written out as one edge for each pair, a session with full history would not fit in memory. So a record points at a
//! context, and a context at the one that it goes on from and at what it adds, as in the engine that is measured.

use gatelog::lineage::{ContextId, RecordId};
use gatelog::records::{Graph, SessionFact};

use crate::references::Tools;

/// Records and contexts by number. Context 0 is empty.
#[derive(Debug, Clone, Default)]
pub struct Adjacency {
    /// The context that each record was computed from.
    pub inputs: Vec<u32>,
    /// The context that each context goes on from.
    pub parents: Vec<u32>,
    /// Where the records that each context adds begin, and one more for the end.
    pub starts: Vec<u32>,
    /// Those records.
    pub appended: Vec<u32>,
    /// The tool that each record is an answer of.
    pub tools: Vec<Tools>,
}

impl Adjacency {
    /// Written down from records in memory.
    #[must_use]
    pub fn of(graph: &Graph) -> Self {
        let lineage = graph.lineage();
        let number = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let (records, contexts) = (number(graph.records().len()), number(lineage.contexts()));
        let mut adjacency = Self {
            inputs: (0..records).map(|record| lineage.inputs(RecordId(record)).0).collect(),
            parents: (0..contexts).map(|context| lineage.parent(ContextId(context)).0).collect(),
            starts: Vec::with_capacity(lineage.contexts() + 1),
            appended: Vec::with_capacity(lineage.contexts()),
            tools: vec![Tools::NONE; graph.records().len()],
        };
        for context in 0..contexts {
            adjacency.starts.push(number(adjacency.appended.len()));
            adjacency.appended.extend(lineage.appended(ContextId(context)).iter().map(|record| record.0));
        }
        adjacency.starts.push(number(adjacency.appended.len()));
        for fact in graph.facts().iter() {
            if let SessionFact::ToolResult { record, tool, .. } = fact
                && let Some(place) = adjacency.tools.get_mut(record.0 as usize)
            {
                *place = Tools::of(&tool);
            }
        }
        adjacency
    }

    /// The records that a context adds to the one it goes on from.
    #[must_use]
    pub fn added(&self, context: u32) -> &[u32] {
        let at = context as usize;
        let (from, to) = (self.starts.get(at).copied(), self.starts.get(at + 1).copied());
        match (from, to) {
            (Some(from), Some(to)) => self.appended.get(from as usize..to as usize).unwrap_or_default(),
            (None, _) | (_, None) => &[],
        }
    }

    /// The context of a record.
    #[must_use]
    pub fn context(&self, record: u32) -> u32 {
        self.inputs.get(record as usize).copied().unwrap_or(0)
    }

    /// The context that a context goes on from.
    #[must_use]
    pub fn parent(&self, context: u32) -> u32 {
        self.parents.get(context as usize).copied().unwrap_or(0)
    }

    /// The tool that a record is an answer of.
    #[must_use]
    pub fn tool(&self, record: u32) -> Tools {
        self.tools.get(record as usize).copied().unwrap_or(Tools::NONE)
    }

    /// Bytes that its arrays hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let words = self.inputs.capacity() + self.parents.capacity() + self.starts.capacity();
        4 * (words + self.appended.capacity()) + self.tools.capacity()
    }
}
