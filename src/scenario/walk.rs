//! A recording, call by call.

use crate::monitor::Monitor;
use crate::recording::{Recording, Stop};
use crate::records::{CallNumber, ProposedCall};
use crate::scenario::file::CallName;

/// Feeds a recording to a monitor as a replay does: each call is shown to `visit` at the moment at which it was made,
/// before it is judged.
///
/// # Errors
/// Where the session stops; everything before stands.
pub fn walk(
    monitor: &mut Monitor,
    recording: &Recording,
    visit: &mut dyn FnMut(&mut Monitor, CallNumber),
) -> Result<(), Stop> {
    for event in &recording.events {
        let observed = monitor.observe(event)?;
        for call in observed.calls {
            visit(monitor, call);
            // An allowed call counts as running for those after it.
            let _ = monitor.judge_call(call);
        }
        for call in observed.answered {
            let _ = monitor.judge_call(call);
        }
    }
    match &recording.stop {
        Some(stop) => Err(stop.clone()),
        None => Ok(()),
    }
}

/// Whether that is the call meant.
#[must_use]
pub fn is_call(name: &CallName, call: &ProposedCall) -> bool {
    match name {
        CallName::Id(id) => &call.call_id == id,
        CallName::Seq(seq) => call.record.0 == *seq,
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
