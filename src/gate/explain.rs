//! Why a check of a session was decided as it was: its journal, gone through anew.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::timeout;

use crate::engine::StopFlag;
use crate::gate::{Explained, GateError, Shared};
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::StopKind;
use crate::recording::journal::{self, SessionKey};
use crate::replay::explain_check;
use crate::session::SessionError;

/// How long an explanation may take.
const LIMIT: Duration = Duration::from_secs(60);

/// The proof of the check of that ticket.
pub(crate) async fn explain(
    shared: &Arc<Shared>,
    key: SessionKey,
    ticket: String,
) -> Result<Explained, GateError> {
    let stop = StopFlag::default();
    let job = {
        let (shared, stop) = (Arc::clone(shared), stop.clone());
        tokio::task::spawn_blocking(move || {
            let lines = shared.store.lines(&key)?;
            prove(Arc::clone(&shared.served(&key.tenant)?.policy), &lines, &ticket, stop)
        })
    };
    match timeout(LIMIT, job).await {
        Ok(proved) => proved.map_err(|_| GateError::BrokenOff)?,
        Err(_) => {
            stop.raise();
            Err(GateError::Deadline { limit: LIMIT })
        }
    }
}

fn prove(
    policy: Arc<Policy>,
    lines: &[String],
    ticket: &str,
    stop: StopFlag,
) -> Result<Explained, GateError> {
    let unknown = || GateError::Session(SessionError::UnknownTicket { ticket: ticket.to_owned() });
    if lines.is_empty() {
        return Err(unknown());
    }
    let mut text = lines.join("\n");
    text.push('\n');
    let recording = journal::recording(text.as_bytes())?;
    drop(text);
    let mut monitor = Monitor::new(Arc::clone(&policy), Settings { stop: Some(stop), ..Settings::default() });
    let now = &policy.program().digest;
    let mut then = None;
    let proof = explain_check(&mut monitor, &recording, &mut |asked| {
        let is_it = asked.answer.ticket == ticket;
        if is_it {
            then = Some(asked.answer.policy.clone());
        }
        is_it && asked.answer.policy == *now
    });
    match (proof, then) {
        (Ok(Some(proof)), _) => Ok(Explained { proof, policy }),
        (_, Some(then)) => Err(GateError::OtherPolicy { then, now: now.clone() }),
        (Ok(None), None) => Err(unknown()),
        (Err(halt), None) if halt.stop.kind == StopKind::BrokenJournal => {
            Err(GateError::Unfit { why: halt.stop.text })
        }
        // The session stopped at an event, and what came after it was gone through too.
        (Err(_), None) => Err(unknown()),
    }
}
