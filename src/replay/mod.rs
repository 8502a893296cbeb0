//! A recording under a policy.
//!
//! In: a [`Recording`], a program. Out: one row for each tool call, decided as of the moment it was made. Never: decides.

use crate::decision::Decision;
use crate::monitor::Settings;
use crate::program::Program;
use crate::recording::{Notice, Recording, Stop};
use crate::records::CallOutcome;
use std::sync::Arc;

/// One tool call of a session.
#[derive(Debug, Clone)]
pub struct CallReport {
    /// Number of the call's record in its session, from 0; none for a call after the session stopped.
    pub seq: Option<u32>,
    /// Id of its event.
    pub event_id: String,
    /// Its id; may be empty.
    pub call_id: String,
    /// The author of its event.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// The arguments as ordinary JSON.
    pub arguments: String,
    /// The decision, after the last answer of a person.
    pub decision: Decision,
    /// What the recording says happened.
    pub outcome: CallOutcome,
    /// Whether it was judged again after a person's answer.
    pub asked: bool,
}

/// One session under a policy.
#[derive(Debug, Clone)]
pub struct SessionReport {
    /// The file, as named by the user.
    pub source: String,
    /// Id of the session; may be empty.
    pub id: String,
    /// Number of events read.
    pub events: usize,
    /// Number of records.
    pub records: usize,
    /// Its calls, in order.
    pub checks: Vec<CallReport>,
    /// What had to be assumed, once per kind.
    pub assumptions: Vec<Notice>,
    /// What a person should look at.
    pub warnings: Vec<Notice>,
    /// Where it stopped.
    pub error: Option<Stop>,
}

/// Replays one recording.
#[must_use]
pub fn replay(
    _program: &Arc<Program>,
    _settings: &Settings,
    source: &str,
    recording: &Recording,
) -> SessionReport {
    SessionReport {
        source: source.to_owned(),
        id: recording.session_id.clone(),
        events: recording.events.len(),
        records: 0,
        checks: Vec::new(),
        assumptions: Vec::new(),
        warnings: Vec::new(),
        error: None,
    }
}
