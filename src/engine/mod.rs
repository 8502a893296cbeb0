//! A checked program and its facts to a model.
//!
//! In: a [`Program`](crate::program::Program), an [`Edb`], a [`Budget`]. Out: the least model, stratum by stratum
//! (semi-naive evaluation), or the [`EvalError`] that ends the check. Never: sees policy text, events or a clock.

use crate::source::Span;

/// Work allowance of one check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Budget {
    /// Derived tuples.
    pub tuples: u64,
    /// Bytes of derived tuples, texts and values.
    pub bytes: u64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { tuples: 10_000_000, bytes: 256 << 20 }
    }
}

/// Why a check has no model. It denies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}")]
pub struct EvalError {
    /// In words: what failed, and for a budget which relation was growing.
    pub what: String,
    /// The rule at fault.
    pub span: Option<Span>,
}
