//! The engine that is measured, through its public face alone.

use std::sync::Arc;

use gatelog::decision::{Decision, ReasonKind, Verdict};
use gatelog::monitor::{Caller, Monitor, Policy, Settings};
use gatelog::program::{NoIncludes, check};
use gatelog::records::{CallNumber, Graph};

use crate::fault::{Fault, Outcome};
use crate::sessions::{Arrivals, PAYMENTS};

/// What a member of a ratio says to a payment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// It may run.
    Yes,
    /// It may not.
    No,
    /// A budget was used up first, which denies.
    Spent,
}

impl Answer {
    /// The answer of a reference that looks for something that forbids.
    #[must_use]
    pub fn unless(found: bool) -> Self {
        if found { Self::No } else { Self::Yes }
    }
}

/// What a decision says.
#[must_use]
pub fn answer(decision: &Decision) -> Answer {
    let failed = decision.reasons.iter().any(|reason| reason.kind == ReasonKind::EngineError);
    match decision.verdict {
        Verdict::Allow => Answer::Yes,
        Verdict::Ask | Verdict::Deny if failed => Answer::Spent,
        Verdict::Ask | Verdict::Deny => Answer::No,
    }
}

/// A policy from its text, ready to judge.
///
/// # Errors
/// Where it does not load.
pub fn policy(text: &str) -> Outcome<Arc<Policy>> {
    let files = [("bench.dl".to_owned(), text.to_owned())];
    let program = check(&files, &mut NoIncludes).map_err(|refusal| {
        let messages: Vec<_> = refusal.findings.iter().map(|finding| finding.message.clone()).collect();
        Fault::new(messages.join("; "))
    })?;
    Ok(Arc::new(Policy::new(program)))
}

/// A caller that is signed in, and the usual budget.
#[must_use]
pub fn settings() -> Settings {
    let caller = Caller { principal: Some("user".to_owned()), ..Caller::default() };
    Settings { caller, ..Settings::default() }
}

/// Lets one arrival after another into a monitor.
///
/// # Errors
/// Where the session stops.
pub fn arrive(monitor: &mut Monitor, arrivals: &Arrivals) -> Outcome<()> {
    match arrivals {
        Arrivals::Events(events) => {
            for event in events {
                monitor.observe(event).map_err(|stop| Fault::new(stop.text))?;
            }
        }
        Arrivals::Given(records) => {
            for given in records {
                monitor.graph_mut().add(given.clone()).map_err(Fault::new)?;
            }
        }
    }
    Ok(())
}

/// The records of a whole session, in memory, without a fact.
///
/// # Errors
/// Where the session stops.
pub fn graph(policy: &Arc<Policy>, arrivals: &Arrivals) -> Outcome<Graph> {
    let mut monitor = Monitor::new(Arc::clone(policy), settings());
    arrive(&mut monitor, arrivals)?;
    Ok(std::mem::take(monitor.graph_mut()))
}

/// A monitor of a session whose records are there, and nothing else.
#[must_use]
pub fn cold(policy: &Arc<Policy>, graph: &Graph) -> Monitor {
    let mut monitor = Monitor::new(Arc::clone(policy), settings());
    *monitor.graph_mut() = graph.clone();
    monitor
}

/// The payments at the end of a session.
///
/// # Errors
/// Where there are none.
pub fn payments(graph: &Graph) -> Outcome<Vec<CallNumber>> {
    let first = graph.calls().len().checked_sub(PAYMENTS);
    let first = first.and_then(|first| u32::try_from(first).ok());
    let Some(first) = first else { return Err(Fault::new("the session ends without payments")) };
    let last = graph.calls().iter().rev().take(PAYMENTS);
    if last.clone().any(|call| call.tool != "pay") {
        return Err(Fault::new("the session ends with calls that are no payments"));
    }
    Ok((first..).take(PAYMENTS).map(CallNumber).collect())
}

/// A monitor that has judged each payment, so that a further check finds all that is kept.
///
/// # Errors
/// Where there is no payment, or they are not judged alike.
pub fn warm(policy: &Arc<Policy>, graph: &Graph) -> Outcome<(Monitor, Vec<CallNumber>, Answer)> {
    let mut monitor = cold(policy, graph);
    let calls = payments(graph)?;
    let mut said = None;
    for &call in &calls {
        let answer = answer(&monitor.judge_call(call));
        if said.replace(answer).is_some_and(|before| before != answer) {
            return Err(Fault::new("payments of one event are not judged alike"));
        }
        if answer == Answer::Spent {
            break;
        }
    }
    let said = said.ok_or_else(|| Fault::new("no payment was judged"))?;
    Ok((monitor, calls, said))
}
