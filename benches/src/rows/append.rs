//! R6: one more message, with all that is kept of the session.

use std::sync::Arc;

use gatelog::monitor::{Monitor, Policy};
use gatelog::records::{CallNumber, Graph};

use crate::fault::{Fault, Outcome};
use crate::markdown::{Row, Standing, seconds, times};
use crate::measure::{Measured, once, paired};
use crate::ours::{Answer, answer, arrive, cold, graph, payments};
use crate::references::mask::Mask;
use crate::references::sets::Sets;
use crate::references::{Adjacency, Tools};
use crate::rows::case::Policies;
use crate::rows::{Plan, agree, count};
use crate::sessions::{Arrivals, Shape, Taint, continued};

const WHAT: &str = "append one message, all that is kept updated";
/// Messages that are appended at once, and then one payment is judged.
const MORE: usize = 200;
/// Messages that arrive before the clock starts: a copy of a session has no room, and what grows by doubling does so at the
/// first message.
const STARTS: usize = 40;
/// Seconds that a message may cost.
const BAR: f64 = 1e-6;

/// A session, up to a point and from there on.
#[derive(Debug)]
pub struct Growing {
    before: Graph,
    starts: Arrivals,
    after: Arrivals,
    /// A payment that is there before.
    warms: CallNumber,
    /// A payment at the end.
    asked: CallNumber,
    /// Of the whole session.
    adjacency: Adjacency,
    whole: Graph,
    records: usize,
}

impl Growing {
    /// Makes one of so many messages, which goes on after them.
    ///
    /// # Errors
    /// Where the session that was made stops.
    pub fn new(policies: &Policies, shape: Shape, taint: Taint, messages: usize) -> Outcome<Self> {
        let session = continued(shape, taint, messages, STARTS + MORE);
        let (before, after) = split(session.arrivals()?, messages + 1);
        let (starts, after) = split(after, STARTS);
        let policy = &policies.ancestor;
        let before = graph(policy, &before)?;
        let mut monitor = cold(policy, &before);
        arrive(&mut monitor, &starts)?;
        let records = monitor.graph().records().len();
        arrive(&mut monitor, &after)?;
        let whole = std::mem::take(monitor.graph_mut());
        let first = |graph: &Graph| {
            payments(graph)?.first().copied().ok_or_else(|| Fault::new("there is no payment"))
        };
        Ok(Self {
            warms: first(&before)?,
            asked: first(&whole)?,
            adjacency: Adjacency::of(&whole),
            records,
            before,
            starts,
            after,
            whole,
        })
    }

    /// What arrives from there on.
    #[must_use]
    pub fn after(&self) -> &Arrivals {
        &self.after
    }

    /// The payment at the end.
    #[must_use]
    pub fn asked(&self) -> CallNumber {
        self.asked
    }

    /// A monitor that keeps all of the session so far.
    ///
    /// # Errors
    /// Where the session that was made stops.
    pub fn ready(&self, policy: &Arc<Policy>) -> Outcome<Monitor> {
        let mut monitor = cold(policy, &self.before);
        let _ = monitor.judge_call(self.warms);
        arrive(&mut monitor, &self.starts)?;
        let _ = monitor.judge_call(self.warms);
        Ok(monitor)
    }

    /// Seconds for a message, and what was said to the payment at the end.
    fn append(&self, policy: &Arc<Policy>) -> Outcome<(f64, Answer)> {
        let mut result = Err(Fault::new("nothing was appended"));
        let took = once(self.ready(policy)?, |monitor| {
            result = arrive(monitor, &self.after).map(|()| answer(&monitor.judge_call(self.asked)));
        });
        result.map(|said| (took / MORE as f64, said))
    }

    /// The same by hand.
    fn mask(&self) -> (f64, Answer) {
        let mut ready = Mask::default();
        ready.grow(&self.adjacency, self.records);
        let call = self.whole.calls().get(self.asked.0 as usize);
        let current: Vec<u32> =
            call.iter().flat_map(|call| call.current.iter()).map(|record| record.0).collect();
        let arguments = call.map(|call| call.arguments.clone()).unwrap_or_default();
        let mut found = false;
        let took = once(ready, |mask| {
            mask.grow(&self.adjacency, self.whole.records().len());
            found = mask.forbids(&current, &arguments, Tools::CONFIDENTIAL);
        });
        (took / MORE as f64, Answer::unless(found))
    }

    /// The same with sets of ancestors.
    fn sets(&self, ready: &Sets) -> f64 {
        let took = once(ready.clone(), |sets| sets.grow(&self.adjacency, self.whole.records().len()));
        took / MORE as f64
    }
}

fn split(arrivals: Arrivals, at: usize) -> (Arrivals, Arrivals) {
    match arrivals {
        Arrivals::Events(mut events) => {
            let after = events.split_off(at.min(events.len()));
            (Arrivals::Events(events), Arrivals::Events(after))
        }
        Arrivals::Given(mut records) => {
            let after = records.split_off(at.min(records.len()));
            (Arrivals::Given(records), Arrivals::Given(after))
        }
    }
}

/// R6.
///
/// # Errors
/// Where the members decide differently.
pub fn measure(plan: &Plan, policies: &Policies, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    for shape in Shape::ALL {
        let small = Growing::new(policies, shape, Taint::Clean, plan.smallest())?;
        for &messages in plan.sizes() {
            let growing = Growing::new(policies, shape, Taint::Tainted, messages)?;
            let size = format!("{}, {}", count(messages), shape.words());
            give(against_mask(plan, policies, &growing, &size)?);
            if shape == Shape::Full {
                give(against_sets(plan, policies, &growing, &size)?);
            }
            if messages == plan.largest() {
                let measured = paired(
                    plan.pairs(),
                    &mut || growing.append(&policies.ancestor).map(|(took, _)| took),
                    &mut || small.append(&policies.ancestor).map(|(took, _)| took),
                )?;
                let size =
                    format!("{} beside {}, {}", count(messages), count(plan.smallest()), shape.words());
                give(Row::within(6, "append one message: growth", &size, measured, "the smaller", 1.2));
            }
        }
    }
    Ok(())
}

fn against_mask(plan: &Plan, policies: &Policies, growing: &Growing, size: &str) -> Outcome<Row> {
    let (mut said, mut by_hand) = (None, None);
    let measured = paired(
        plan.pairs(),
        &mut || {
            let (took, answer) = growing.append(&policies.ancestor)?;
            said = Some(answer);
            Ok(took)
        },
        &mut || {
            let (took, answer) = growing.mask();
            by_hand = Some(answer);
            Ok(took)
        },
    )?;
    agree(&format!("R6, {size}"), &said, &by_hand)?;
    Ok(row(size, measured))
}

fn row(size: &str, measured: Measured) -> Row {
    Row {
        number: 6,
        what: WHAT.to_owned(),
        size: size.to_owned(),
        ours: seconds(measured.ours),
        reference: format!("{} `mask`", seconds(measured.reference)),
        ratio: times(measured.ratio),
        bar: format!("at most {}", seconds(BAR)),
        standing: Standing::at_most(measured.ours, BAR),
    }
}

fn against_sets(plan: &Plan, policies: &Policies, growing: &Growing, size: &str) -> Outcome<Row> {
    let mut ready = Sets::default();
    ready.grow(&growing.adjacency, growing.records);
    let measured =
        paired(plan.pairs(), &mut || growing.append(&policies.ancestor).map(|(took, _)| took), &mut || {
            Ok(growing.sets(&ready))
        })?;
    Ok(Row::shown(6, WHAT, size, measured, "sets"))
}
