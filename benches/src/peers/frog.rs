//! datafrog, a library of joins.

use datafrog::{Iteration, Relation};

use crate::peers::Facts;

pub(super) fn finds(facts: &Facts) -> bool {
    let edge: Relation<(u32, u32)> = facts.edges.iter().copied().collect();
    let barred: Relation<u32> = facts.barred.iter().copied().collect();
    let mut iteration = Iteration::new();
    let reached = iteration.variable::<(u32, ())>("reached");
    let next = iteration.variable::<(u32, ())>("next");
    reached.extend(facts.current.iter().map(|&record| (record, ())));
    while iteration.changed() {
        // reached(source) :- reached(dest), edge(dest, source), !barred(source).
        next.from_join(&reached, &edge, |_, (), &source| (source, ()));
        reached.from_antijoin(&next, &barred, |&source, ()| (source, ()));
    }
    let reached = reached.complete();
    let wanted: Relation<(u32, ())> = facts.wanted.iter().map(|&record| (record, ())).collect();
    !Relation::<u32>::from_join(&reached, &wanted, |&record, (), ()| record).is_empty()
}
