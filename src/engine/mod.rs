//! A checked program and its facts to a model.
//!
//! In: a [`Program`](crate::program::Program), a [`Database`] of facts, a [`Budget`]. Out: the least model, stratum by
//! stratum (semi-naive evaluation with stratified negation, as in Abiteboul, Hull and Vianu, *Foundations of Databases*,
//! chapters 13 and 15), or the [`EvalError`] that ends the check. Never: sees policy text, events or a clock.
//!
//! Two departures from the textbook. What depends on records alone is kept between checks and only fed with the records
//! that are new. And literals that can raise an evaluation error are tried after all others of their rule.

mod agenda;
mod aggregate;
mod among;
mod ancestry;
mod arithmetic;
mod database;
mod evaluate;
mod join;
mod kept;
mod links;
mod live;
mod meter;
mod order;
mod pass;
mod plan;
mod probe;
mod prove;
mod tally;
mod tuples;
mod walk;

pub use agenda::{Agenda, Agendas};
pub use ancestry::RecordNames;
pub use database::{Database, Moment};
pub(crate) use join::SHOWN;
pub(crate) use prove::{Near, Place, Prover, derived};

pub use evaluate::{Engine, Progress};
pub use probe::Reach;
pub use tally::{Costs, LiteralCost};

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::program::RelationId;
use crate::source::Span;

/// What the host does with its relations. Those that are not listed belong to one request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Hosted<'a> {
    /// They only grow while a session lasts.
    pub growing: &'a [RelationId],
    /// They are the same from the beginning of a session on.
    pub fixed: &'a [RelationId],
    /// Their tuples come and go with the session, but not with a request.
    pub changing: &'a [RelationId],
}

/// Work allowance of one check. It counts work, never time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Derived tuples.
    pub tuples: u64,
    /// Bytes of derived tuples, texts and values.
    pub bytes: u64,
    /// Tuples looked at; a round of recursion counts as 256.
    pub steps: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { tuples: 10_000_000, bytes: 256 << 20, steps: 500_000_000 }
    }
}

/// Ends work from outside. Whoever holds a copy may raise it; what looks at another copy ends soon after, with an error that
/// denies, and so does all that comes later. It never changes what is derived in any other way.
#[derive(Debug, Clone, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// Ends the work, for good.
    pub fn raise(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the work is to end.
    #[must_use]
    pub fn is_raised(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Why a check has no model. It denies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct EvalError {
    /// In words: what failed, and for a budget which relation was growing.
    pub what: String,
    /// The place at fault.
    pub span: Option<Span>,
}
