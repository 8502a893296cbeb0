//! What each literal of each rule looks at, counted where that is asked for.
//!
//! Counters are steps of their own, put between the steps of a plan: a plan without them runs as ever.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::engine::Engine;
use crate::engine::plan::{Plan, Step};
use crate::program::RuleId;

/// Counts tuples that are looked at from one step of a plan on, and how often it is entered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counter(Arc<Counts>);

#[derive(Debug, Default)]
struct Counts {
    looked: AtomicU64,
    entered: AtomicU64,
}

impl Counter {
    pub(crate) fn add(&self, looked: u64) {
        self.0.looked.fetch_add(looked, Ordering::Relaxed);
        self.0.entered.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted, from now on nothing.
    fn take(&self) -> (u64, u64) {
        (self.0.looked.swap(0, Ordering::Relaxed), self.0.entered.swap(0, Ordering::Relaxed))
    }
}

impl PartialEq for Counter {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// The counters of an engine.
#[derive(Debug, Default)]
pub struct Costs {
    plans: Vec<Counted>,
}

#[derive(Debug)]
struct Counted {
    rule: RuleId,
    /// For each step the place of its first literal in the body.
    places: Vec<usize>,
    /// One before each step, and one at the end.
    counters: Vec<Counter>,
}

/// What one literal of a rule cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiteralCost {
    /// The rule.
    pub rule: RuleId,
    /// Place of the literal in its body.
    pub literal: usize,
    /// Tuples looked at for it.
    pub looked: u64,
    /// How often it was tried.
    pub tried: u64,
    /// How often it held.
    pub held: u64,
}

impl Costs {
    /// What was counted since the last time, by literal: those that cost most first, those that were not tried left out.
    #[must_use]
    pub fn take(&self) -> Vec<LiteralCost> {
        let mut found: BTreeMap<(RuleId, usize), [u64; 3]> = BTreeMap::new();
        for plan in &self.plans {
            let counts: Vec<(u64, u64)> = plan.counters.iter().map(Counter::take).collect();
            let after = counts.iter().skip(1);
            for ((&place, &(looked, tried)), &(rest, held)) in plan.places.iter().zip(&counts).zip(after) {
                let sums = found.entry((plan.rule, place)).or_default();
                let own = [looked.saturating_sub(rest), tried, held];
                sums.iter_mut().zip(own).for_each(|(sum, more)| *sum += more);
            }
        }
        let rows = found.into_iter().map(|((rule, literal), [looked, tried, held])| LiteralCost {
            rule,
            literal,
            looked,
            tried,
            held,
        });
        let mut rows: Vec<LiteralCost> = rows.filter(|row| row.tried > 0).collect();
        rows.sort_by_key(|row| (std::cmp::Reverse((row.looked, row.tried)), row.rule, row.literal));
        rows
    }
}

impl Engine {
    /// The same engine with counters in the plans of its rules.
    pub(crate) fn counted(&self) -> (Self, Costs) {
        let (mut engine, mut costs) = (self.clone(), Costs::default());
        let plans = engine.first.iter_mut().chain(engine.around.iter_mut().flatten());
        for plan in plans.chain(engine.later.iter_mut().flatten()) {
            costs.plans.push(count(plan));
        }
        (engine, costs)
    }
}

/// Puts a counter before each step of a plan, and one at its end.
fn count(plan: &mut Plan) -> Counted {
    let steps = std::mem::take(&mut plan.steps);
    let places = plan.literals.iter().map(|places| places.first().copied().unwrap_or(0)).collect();
    let mut counters = Vec::with_capacity(steps.len() + 1);
    let mut counter = || {
        let counter = Counter::default();
        counters.push(counter.clone());
        Step::Counted(counter)
    };
    for step in steps {
        plan.steps.push(counter());
        plan.steps.push(step);
    }
    plan.steps.push(counter());
    plan.cut = 2 * plan.cut + 1;
    Counted { rule: plan.rule, places, counters }
}
