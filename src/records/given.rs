//! Records written by hand.

use crate::lineage::RecordId;
use crate::records::{Approval, CallNumber, Graph, RecordEvent, Role, SessionFact, Status};

/// A record as a test states it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of that name in a test file")]
pub struct Given {
    pub id: String,
    pub role: Role,
    pub agent: String,
    pub text: String,
    pub calls: Vec<GivenCall>,
    pub metadata: Option<String>,
    pub result_of: Option<(String, String)>,
    pub inputs: Vec<String>,
    pub edges: Vec<GivenEdge>,
    pub entity: String,
    pub principal: String,
    pub event: Option<RecordEvent>,
}

/// A call of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of that name in a test file")]
pub struct GivenCall {
    pub id: String,
    pub tool: String,
    pub arguments: String,
}

/// An edge with what is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the field of that name in a test file")]
pub struct GivenEdge {
    pub from: String,
    pub principal: Option<String>,
    pub entity: Option<String>,
    pub index: Option<i64>,
    pub proximal: Option<i64>,
}

impl Graph {
    /// Adds a record.
    ///
    /// # Errors
    /// An id that is used twice, an input that is not there.
    pub fn add(&mut self, _given: Given) -> Result<RecordId, String> {
        Err("records by hand are not read yet".to_owned())
    }

    /// Notes how a call ended.
    pub fn settle(&mut self, _call: CallNumber, _status: Status) {}

    /// Notes a person's answer.
    pub fn set_approval(&mut self, _call: CallNumber, _approval: Approval) {}

    /// Notes a fact.
    pub fn note(&mut self, _fact: SessionFact) {}

    /// The call of that id.
    #[must_use]
    pub fn call_named(&self, _id: &str) -> Option<CallNumber> {
        None
    }
}
