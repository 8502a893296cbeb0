//! Events to a graph of records.
//!
//! In: events, one after another. Out: a [`Graph`]: one [`Record`] for each part, what it was computed from, and what is
//! known about calls and their answers. Never: drops an event in silence, believes a role, or looks ahead.

pub mod given;
pub mod graph;

pub use graph::{
    Approval, ApprovalScope, CallNumber, CallOutcome, ProposedCall, Record, RecordEvent, RecordKind, Role,
    SessionFact, Status,
};

use crate::lineage::Lineage;
use crate::recording::{Event, Notice, Stop};

/// The records of one session so far.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    lineage: Lineage,
    records: Vec<Record>,
    facts: Vec<SessionFact>,
    calls: Vec<ProposedCall>,
}

/// What an event brought.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Observed {
    /// Calls that the event proposes, in part order: each is to be judged now, one after another.
    pub calls: Vec<CallNumber>,
    /// Calls for which the event brought a person's answer that counts: each is to be judged again.
    pub answered: Vec<CallNumber>,
}

impl Graph {
    /// Adds one event: its records, facts, pairings.
    ///
    /// # Errors
    /// Where the session has to stop before this event; nothing of it is recorded then.
    pub fn extend(&mut self, _event: &Event) -> Result<Observed, Stop> {
        Ok(Observed::default())
    }

    /// The record of that id.
    #[must_use]
    pub fn record_of(&self, id: &str) -> Option<crate::lineage::RecordId> {
        let at = self.records.iter().position(|record| record.id == id)?;
        u32::try_from(at).ok().map(crate::lineage::RecordId)
    }

    /// Names the session.
    pub fn set_session(&mut self, _app: &str, _user: &str, _session: &str) {}

    /// The records, by [`crate::lineage::RecordId`].
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// What each record was computed from.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    /// What is known beside the records, in the order of learning; only ever grows.
    #[must_use]
    pub fn facts(&self) -> &[SessionFact] {
        &self.facts
    }

    /// The proposed calls, by [`CallNumber`].
    #[must_use]
    pub fn calls(&self) -> &[ProposedCall] {
        &self.calls
    }

    /// Notes that the call was allowed and runs: until its answer comes it is a `running` row of `ToolOutcome`.
    pub fn start(&mut self, _call: CallNumber) {}

    /// The calls that run now.
    #[must_use]
    pub fn running(&self) -> &[CallNumber] {
        &[]
    }

    /// What the recording says happened to the call, so far.
    #[must_use]
    pub fn outcome(&self, _call: CallNumber) -> CallOutcome {
        CallOutcome::None
    }

    /// What had to be assumed, once per kind.
    #[must_use]
    pub fn assumptions(&self) -> &[Notice] {
        &[]
    }

    /// What a person should look at: reused ids, forged requests, answers out of order.
    #[must_use]
    pub fn warnings(&self) -> &[Notice] {
        &[]
    }
}
