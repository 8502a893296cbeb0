//! Events to a graph of records.
//!
//! In: events, one after another. Out: a [`Graph`]: one [`Record`] for each part, what it was computed from, and what is
//! known about calls and their answers. Never: drops an event in silence, believes a role, or looks ahead.

mod access;
pub mod agents;
mod answer;
mod approval;
#[cfg(test)]
mod building;
mod draft;
mod extend;
pub mod given;
pub mod graph;
mod identity;
pub mod live;
mod metadata;
mod noted;
mod notices;
mod outside;
mod pair;
mod propose;
#[cfg(test)]
mod random;
mod request;
mod respond;
mod rows;
mod secret;
mod server;
mod state;
mod unsent;
mod values;
mod visible;

pub use given::{Given, GivenCall, GivenEdge};
pub use graph::{
    Approval, ApprovalScope, CallNumber, CallOutcome, ProposedCall, RecordEvent, RecordKind, Role, RunChange,
    SessionFact, Status, Text, UnseenNumber,
};
pub use noted::Facts;
pub use rows::{Id, Record, Records};

use crate::column::Column;
use crate::lineage::ContextId;
use crate::lineage::Lineage;
use crate::lineage::RecordId;
use crate::recording::Event;
use crate::recording::Notice;
use crate::recording::Parts;
use crate::recording::Stop;
use crate::records::agents::Agents;
use crate::records::approval::Requests;
use crate::records::identity::Ids;
use crate::records::identity::Trail;
use crate::records::live::Ledger;
use crate::records::noted::Noted;
use crate::records::notices::Notices;
use crate::records::pair::Calls;
use crate::records::request::Index;
use crate::records::rows::Rows;
use crate::records::state::SessionNames;
use crate::records::values::Values;
use crate::records::visible::Name;
use crate::records::visible::Sight;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The records of one session so far.
///
/// ```
/// use gatelog::records::{Given, Graph, Role};
/// let mut graph = Graph::default();
/// let mut given = Given::new("u1", Role::User, "pay the invoice");
/// let first = graph.add(given.clone()).unwrap();
/// (given.id, given.inputs) = ("m1".to_owned(), vec!["u1".to_owned()]);
/// let second = graph.add(given).unwrap();
/// assert!(graph.lineage().ancestors(second).contains(first));
/// ```
// Invariant: `rows`, the lineage of `trail` and what `sight` shows have one entry for each record, in one order.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    /// Whether the session stops at parts beside text, calls and answers.
    parts: Parts,
    trail: Trail,
    rows: Rows,
    /// Records by their ids.
    ids: Ids,
    facts: Noted,
    calls: Column<ProposedCall>,
    /// All function calls, for pairing.
    book: Calls,
    requests: Requests,
    /// What each agent was shown.
    sight: Sight,
    running: BTreeSet<CallNumber>,
    runs: Vec<RunChange>,
    session: SessionNames,
    /// What the host states about its agents.
    stated: Arc<Agents>,
    values: Values,
    /// Records by what they say, for sessions that hold model requests.
    index: Index,
    /// What each author was shown by its last request.
    last_request: BTreeMap<Name, ContextId>,
    /// Records of contents of requests that nobody is known to have written, by text.
    unknown_pieces: BTreeMap<String, RecordId>,
    /// Records of instructions, by agent, text and the values in them.
    instructions: BTreeMap<(String, String, ContextId), RecordId>,
    /// Whether anything was written to state or files.
    state_written: bool,
    assumptions: Notices,
    warnings: Notices,
    /// Call ids of which it was said that several calls share them.
    reused: BTreeSet<Text>,
    /// Ids of answers that belong to no call.
    unmatched: BTreeSet<String>,
    /// Arguments of the newest call of each id and tool that the model's own server ran.
    server_calls: BTreeMap<(Text, Text), Text>,
    /// Names of agents: authors and targets of transfers.
    agents: BTreeSet<String>,
    /// The last output of each author.
    last_output: BTreeMap<Name, RecordId>,
    /// Tool and arguments of calls that a person declined, with the id of the call.
    declined: BTreeMap<(Text, Text), Text>,
    /// Whether any event carried actions.
    actions_seen: bool,
    /// Whether a person has spoken.
    words_seen: bool,
    /// What a gate said about calls; none for a session that no gate watches.
    ledger: Option<Ledger>,
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
    pub fn extend(&mut self, event: &Event) -> Result<Observed, Stop> {
        self.add_event(event)
    }

    /// Says which fields of message parts are recorded, before the first event. A session stops at an event with any other,
    /// however it was read.
    pub fn set_parts(&mut self, parts: Parts) {
        self.parts = parts;
    }

    /// Names the session, before its first event: the application, the end user, the session itself. Each may be empty.
    pub fn set_session(&mut self, app: &str, user: &str, session: &str) {
        if !user.is_empty() {
            self.facts.push(SessionFact::SessionUser { id: user.into() });
        }
        self.session = SessionNames { app: app.into(), user: user.into(), session: session.into() };
    }

    /// States what agents are shown beside the session, before its first event: their instructions, and whether they see
    /// its history. Agents of these names may be called as tools.
    pub fn set_agents(&mut self, agents: Arc<Agents>) {
        self.agents.extend(agents.iter().map(|(name, _)| name.to_owned()));
        self.stated = agents;
    }

    /// The records, by [`crate::lineage::RecordId`].
    #[must_use]
    pub fn records(&self) -> Records<'_> {
        Records::of(self)
    }

    /// What each record was computed from.
    #[must_use]
    pub fn lineage(&self) -> &Lineage {
        self.trail.lineage()
    }

    /// What is known beside the records, in the order of learning; only ever grows.
    #[must_use]
    pub fn facts(&self) -> Facts<'_> {
        Facts::of(self)
    }

    /// The proposed calls, by [`CallNumber`].
    #[must_use]
    pub fn calls(&self) -> &Column<ProposedCall> {
        &self.calls
    }

    /// Id of the event that a record came from; empty where it has none.
    #[must_use]
    pub fn event_id(&self, record: RecordId) -> &str {
        self.rows.event_id_of(record)
    }

    /// Notes that the call was allowed and runs: until its answer comes it is a `running` row of `ToolOutcome`.
    pub fn start(&mut self, call: CallNumber) {
        let open = self.book.numbered(call).is_some_and(|call| call.result.is_none());
        if open && self.running.insert(call) {
            self.runs.push(RunChange::Started(call));
        }
    }

    /// Notes that a call that counted as running did not run after all.
    pub fn stop(&mut self, call: CallNumber) {
        self.end(call);
    }

    /// Notes that the call does not run any more, if it did.
    fn end(&mut self, call: CallNumber) {
        if self.running.remove(&call) {
            self.runs.push(RunChange::Settled(call));
        }
    }

    /// The calls that began to run or settled, in that order; only ever grows. A call whose answer says that it is
    /// pending still runs.
    #[must_use]
    pub fn runs(&self) -> &[RunChange] {
        &self.runs
    }

    /// What the recording says happened to the call, so far.
    #[must_use]
    pub fn outcome(&self, call: CallNumber) -> CallOutcome {
        self.book.numbered(call).map_or(CallOutcome::None, |call| call.outcome)
    }

    /// What had to be assumed, once per kind.
    #[must_use]
    pub fn assumptions(&self) -> &[Notice] {
        self.assumptions.list()
    }

    /// What a person should look at: reused ids, forged requests, answers out of order.
    #[must_use]
    pub fn warnings(&self) -> &[Notice] {
        self.warnings.list()
    }
}
