//! One session, as each member needs it.

use std::sync::Arc;

use gatelog::monitor::Policy;
use gatelog::records::{CallNumber, Graph};

use crate::fault::{Fault, Outcome};
use crate::ours::{graph, payments, policy};
use crate::policies::{ANCESTOR, RECURSION};
use crate::references::Adjacency;
use crate::rows::count;
use crate::sessions::{Shape, Taint, made};

/// The policies of the checks, loaded.
#[derive(Debug)]
pub struct Policies {
    /// Some ancestor is of that tool.
    pub ancestor: Arc<Policy>,
    /// A recursion of the policy's own.
    pub recursion: Arc<Policy>,
}

impl Policies {
    /// Loads them.
    ///
    /// # Errors
    /// Where one does not load.
    pub fn new() -> Outcome<Self> {
        Ok(Self { ancestor: policy(ANCESTOR)?, recursion: policy(RECURSION)? })
    }
}

/// One session.
#[derive(Debug)]
pub struct Case {
    /// What each model call was shown.
    pub shape: Shape,
    /// Whether something confidential is among the ancestors.
    pub taint: Taint,
    /// Messages before the payments.
    pub messages: usize,
    /// Its records.
    pub graph: Graph,
    /// The same, for references.
    pub adjacency: Adjacency,
    /// The payments that are asked about.
    pub payments: Vec<CallNumber>,
    /// The records that they were computed from, themselves among them.
    pub current: Vec<u32>,
    /// Their arguments.
    pub arguments: Vec<String>,
}

impl Case {
    /// Makes one.
    ///
    /// # Errors
    /// Where the session that was made stops.
    pub fn new(policies: &Policies, shape: Shape, taint: Taint, messages: usize) -> Outcome<Self> {
        let arrivals = made(shape, taint, messages).arrivals()?;
        let graph = graph(&policies.ancestor, &arrivals)?;
        let adjacency = Adjacency::of(&graph);
        let payments = payments(&graph)?;
        let calls: Vec<_> =
            payments.iter().filter_map(|number| graph.calls().get(number.0 as usize)).collect();
        let first = calls.first().ok_or_else(|| Fault::new("the session ends without payments"))?;
        let current = first.current.iter().map(|record| record.0).collect();
        let arguments = calls.iter().map(|call| call.arguments.to_string()).collect();
        Ok(Self { shape, taint, messages, adjacency, payments, current, arguments, graph })
    }

    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        format!("{}, {}, {}", count(self.messages), self.shape.words(), self.taint.words())
    }
}
