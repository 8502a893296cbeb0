//! Names of calls in a session.

use std::fmt;

use crate::monitor::Monitor;
use crate::records::ProposedCall;

/// Which call of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallName {
    /// By its id, which has to be one call's alone.
    Id(String),
    /// By the number of its record.
    Seq(u32),
}

impl fmt::Display for CallName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Id(id) => write!(f, "call `{id}`"),
            Self::Seq(seq) => write!(f, "call at seq {seq}"),
        }
    }
}

impl CallName {
    /// Whether a call's id begins as the name says. A table that cuts a long id ends it with `…`.
    #[must_use]
    pub fn begins(&self, id: &str) -> bool {
        match self {
            Self::Id(start) => {
                let start = start.strip_suffix('…').unwrap_or(start);
                !start.is_empty() && id.starts_with(start)
            }
            Self::Seq(_) => false,
        }
    }

    /// Whether that is the call meant.
    #[must_use]
    pub fn names(&self, call: &ProposedCall) -> bool {
        match self {
            Self::Id(id) => &call.call_id == id,
            Self::Seq(seq) => call.record.0 == *seq,
        }
    }
}

/// The calls of a session, for a message about one that is not among them.
#[must_use]
pub fn known_calls(monitor: &Monitor) -> String {
    const SHOWN: usize = 20;
    let calls = monitor.graph().calls();
    let mut names: Vec<_> = calls
        .iter()
        .take(SHOWN)
        .map(|call| format!("`{}` ({}, seq {})", call.call_id, call.tool, call.record.0))
        .collect();
    if calls.len() > SHOWN {
        names.push(format!("and {} more", calls.len() - SHOWN));
    }
    if names.is_empty() {
        "the session has no calls".to_owned()
    } else {
        format!("its calls are {}", names.join(", "))
    }
}
