//! Other engines, asked the same questions about the same sessions.
//!
//! None of them has contexts, so each is given the session as edges of a graph of records and contexts, which keeps a
//! full history linear for it as well. Where an engine cannot say "what was redacted passes nothing on", the edges to
//! such records are left out for it beforehand, and its row says so.

mod ascending;
pub mod biscuit;
pub mod cedar;
mod crepes;
mod frog;
pub mod rego;
pub mod souffle;

use crate::fault::Outcome;
use crate::ours::Answer;
use crate::references::{Adjacency, Tools, is_large};
use crate::rows::case::Case;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Question {
    /// Whether any ancestor is an answer of `read_confidential`.
    Ancestor,
    /// The same, where what was redacted passes nothing on.
    Recursion,
}

/// A session as facts.
#[derive(Debug, Clone)]
pub struct Facts {
    /// From each record or context to what it was made of. Contexts are numbered after the records.
    pub edges: Vec<(u32, u32)>,
    /// Records of answers of `read_confidential`.
    pub wanted: Vec<u32>,
    /// Records that pass nothing on.
    pub barred: Vec<u32>,
    /// The records that are asked about.
    pub current: Vec<u32>,
}

impl Facts {
    /// Those of a session, for a question.
    #[must_use]
    pub fn of(case: &Case, question: Question) -> Self {
        let adjacency = &case.adjacency;
        let records = (0_u32..).zip(&adjacency.tools);
        let of = |wanted: Tools| {
            records.clone().filter(move |(_, tools)| tools.meets(wanted)).map(|(record, _)| record).collect()
        };
        let barred = match question {
            Question::Ancestor => Vec::new(),
            Question::Recursion => of(Tools::REDACT),
        };
        let current = case.current.clone();
        Self { edges: edges(adjacency), wanted: of(Tools::CONFIDENTIAL), barred, current }
    }

    /// The edges without those to records that pass nothing on.
    pub fn passing(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        // Sorted, since records were looked at in order.
        self.edges.iter().copied().filter(|(_, source)| self.barred.binary_search(source).is_err())
    }
}

fn edges(adjacency: &Adjacency) -> Vec<(u32, u32)> {
    let records = u32::try_from(adjacency.inputs.len()).unwrap_or(u32::MAX);
    let mut edges = Vec::new();
    for (record, &context) in (0_u32..).zip(&adjacency.inputs) {
        if context != 0 {
            edges.push((record, records + context));
        }
    }
    for (context, &parent) in (0_u32..).zip(&adjacency.parents) {
        if parent != 0 {
            edges.push((records + context, records + parent));
        }
        edges.extend(adjacency.added(context).iter().map(|&record| (records + context, record)));
    }
    edges
}

/// An engine that derives everything from facts, each time.
#[derive(Clone, Copy)]
pub struct Engine {
    /// Its name.
    pub name: &'static str,
    /// Whether something wanted is reached.
    finds: fn(&Facts) -> bool,
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.name)
    }
}

impl Engine {
    /// What it says to a payment with these arguments.
    #[must_use]
    pub fn answer(&self, facts: &Facts, arguments: &str) -> Answer {
        Answer::unless(is_large(arguments) && (self.finds)(facts))
    }
}

/// Engines of compiled rules, which answer from cold facts.
pub const COMPILED: [Engine; 3] = [
    Engine { name: "ascent", finds: ascending::finds },
    Engine { name: "datafrog", finds: frog::finds },
    Engine { name: "crepe", finds: crepes::finds },
];

/// What an engine has ready between checks.
pub trait Warm {
    /// What it says to a payment with these arguments.
    ///
    /// # Errors
    /// Where it fails.
    fn answer(&mut self, arguments: &str) -> Outcome<Answer>;
}
