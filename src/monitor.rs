//! The reference monitor: one session, call after call.
//!
//! In: a program, events, calls. Out: decisions. Replay feeds it a file, a scenario its records, a gate a live session;
//! nothing else decides. Never: waits, sleeps, logs, or reads a clock.

use std::sync::Arc;

use crate::decision::Decision;
use crate::engine::{Budget, EvalError};
use crate::program::types::Datum;
use crate::program::{Program, RelationId};
use crate::recording::{Event, Stop};
use crate::records::{CallNumber, Graph, Observed};

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The authenticated caller; none for an anonymous one.
    pub principal: Option<String>,
    /// Roles of the caller.
    pub roles: Vec<String>,
    /// Its own label.
    pub entity: Option<String>,
    /// Its tenant.
    pub tenant: Option<String>,
}

/// What holds for every check of a session.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Who asks.
    pub caller: Caller,
    /// `PolicyMetadata` rows.
    pub metadata: Vec<[String; 3]>,
    /// Work allowance of one check.
    pub budget: Budget,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A call; arguments are JSON text.
    CallTool {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: String,
    },
    /// An HTTP request.
    HttpRequest {
        /// Where to.
        url: String,
        /// Its body.
        body: String,
        /// A JSON array of headers; `[]` for none.
        headers: String,
    },
    /// A message.
    Send {
        /// Its text.
        contents: String,
        /// The sending agent.
        agent: String,
        /// Who produced it.
        role: crate::records::Role,
        /// Its label; may be empty.
        entity: String,
        /// Its recorder; may be empty.
        principal: String,
    },
}

/// One check by hand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Ids of the records that the actions were computed from; they need not be recorded.
    pub current: Vec<String>,
    /// The actions, each with its `ActionMetadata` rows.
    pub actions: Vec<(Action, Vec<[String; 3]>)>,
    /// The time of the check, RFC 3339.
    pub clock: Option<String>,
}

/// The rows of a relation, sorted, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The relation.
    pub relation: RelationId,
    /// Its rows.
    pub rows: Vec<Vec<Datum>>,
}

/// One session under one policy.
#[derive(Debug)]
pub struct Monitor {
    program: Arc<Program>,
    graph: Graph,
}

impl Monitor {
    /// A session without records.
    #[must_use]
    pub fn new(program: Arc<Program>, _settings: Settings) -> Self {
        Self { program, graph: Graph::default() }
    }

    /// The policy.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The session so far.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The session so far, for records made by hand.
    pub fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// Adds one event.
    ///
    /// # Errors
    /// Where the session has to stop before this event.
    pub fn observe(&mut self, event: &Event) -> Result<Observed, Stop> {
        self.graph.extend(event)
    }

    /// Judges a call of the session as of now, with the approval that counts for it. An allowed call counts as running from then on.
    pub fn judge_call(&mut self, _call: CallNumber) -> Decision {
        Decision {
            verdict: crate::decision::Verdict::Deny,
            reasons: Vec::new(),
            routes: Vec::new(),
            transforms: Vec::new(),
            passthrough: false,
            refuse_aloud: false,
        }
    }

    /// Judges a request made by hand: one decision for each action.
    pub fn judge(&mut self, _request: &Request) -> Vec<Decision> {
        Vec::new()
    }

    /// The rows of relations as a request sees them.
    ///
    /// # Errors
    /// Where evaluation fails.
    pub fn rows(&mut self, _request: &Request, _relations: &[RelationId]) -> Result<Vec<Rows>, EvalError> {
        Ok(Vec::new())
    }

    /// The rows of relations as the judgement of a call sees them.
    ///
    /// # Errors
    /// Where evaluation fails.
    pub fn rows_at_call(
        &mut self,
        _call: CallNumber,
        _relations: &[RelationId],
    ) -> Result<Vec<Rows>, EvalError> {
        Ok(Vec::new())
    }
}
