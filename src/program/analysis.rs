//! Questions about the graph of rules, asked in Datalog.
//!
//! In: what the rules of each relation read. Out: the circles through negation, what is reached from some relations. Never:
//! lists all pairs of relations that need each other, directly or through others: every answer is as long as the graph at
//! most. Each rule has one literal of its own stratum, so that a round costs what the last one added.
#![expect(
    clippy::disallowed_types,
    clippy::iter_over_hash_type,
    reason = "rules written with crepe walk hash sets; what comes out is sorted"
)]

use std::collections::BTreeSet;

use foldhash::fast::FixedState;

use crate::program::components::{Edges, components, numbered};

crepe::crepe! {
    // The relation and its component.
    @input
    struct Member(u32, u32);
    // The rules of the first read the second, which has to be complete: under `!` or in an aggregate.
    @input
    struct Complete(u32, u32);
    // Something leads from the first to the second.
    @input
    struct Step(u32, u32);
    @input
    struct Start(u32);

    @output
    struct Broken(u32, u32);
    @output
    struct Reached(u32);

    Broken(a, b) <- Complete(a, b), Member(a, component), Member(b, component);

    Reached(a) <- Start(a);
    Reached(b) <- Reached(a), Step(a, b);
}

/// `(a, b)`: a rule of `a` negates or aggregates over `b`, and `b` is `a` or needs it. `reads` are edges from a rule's head
/// to what its body reads, `complete` those of them under which the read relation has to be complete first.
pub(crate) fn broken(reads: &Edges, complete: impl Iterator<Item = (u32, u32)>) -> BTreeSet<(u32, u32)> {
    let complete: Vec<(u32, u32)> = complete.collect();
    let of = numbered(reads.len(), &components(reads));
    let member = |at: u32| Some((at, u32::try_from(*of.get(at as usize)?).ok()?));
    let mut runtime = Crepe::new();
    runtime.extend(complete.iter().flat_map(|&(a, b)| [a, b]).filter_map(member).map(|(a, b)| Member(a, b)));
    runtime.extend(complete.iter().map(|&(a, b)| Complete(a, b)));
    let (broken, _) = runtime.run_with_hasher::<FixedState>();
    broken.into_iter().map(|Broken(a, b)| (a, b)).collect()
}

/// What the steps lead to from the start, itself included, directly or through others.
pub(crate) fn reached(
    start: impl Iterator<Item = u32>,
    steps: impl Iterator<Item = (u32, u32)>,
) -> BTreeSet<u32> {
    let mut runtime = Crepe::new();
    runtime.extend(start.map(Start));
    runtime.extend(steps.map(|(a, b)| Step(a, b)));
    let (_, reached) = runtime.run_with_hasher::<FixedState>();
    reached.into_iter().map(|Reached(a)| a).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::components::edges;

    #[test]
    fn a_negated_relation_that_needs_its_negator_is_found() {
        // 0 reads 1, 1 negates 2, 2 reads 0; 3 negates 0 from outside, 4 itself.
        let reads = edges(5, [(0, 1), (1, 2), (2, 0), (3, 0), (4, 4)].into_iter());
        let broken = broken(&reads, [(1, 2), (3, 0), (4, 4)].into_iter());
        assert_eq!(broken, BTreeSet::from([(1, 2), (4, 4)]));
    }

    #[test]
    fn what_is_reached_is_what_steps_lead_to() {
        let steps = [(0, 1), (1, 2), (2, 0), (3, 0)];
        let from = |start: u32| reached([start].into_iter(), steps.into_iter());
        assert_eq!(from(0), BTreeSet::from([0, 1, 2]));
        assert_eq!(from(3), BTreeSet::from([0, 1, 2, 3]));
        assert_eq!(from(4), BTreeSet::from([4]));
    }
}
