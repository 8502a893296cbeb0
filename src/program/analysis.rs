//! Questions about the graph of rules, asked in Datalog.
#![expect(
    clippy::disallowed_types,
    clippy::iter_over_hash_type,
    reason = "rules written with crepe walk hash sets; what comes out is sorted"
)]

use std::collections::BTreeSet;

/// What the graph of relations says. Relations are numbers.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// `(a, b)`: `a` is `b`, or its rules read `b`, directly or through others.
    pub(crate) needs: BTreeSet<(u32, u32)>,
    /// `(a, b)`: a rule of `a` negates or aggregates over `b`, and `b` needs `a`.
    pub(crate) broken: BTreeSet<(u32, u32)>,
}

crepe::crepe! {
    @input
    struct Relation(u32);
    // The rules of the first read the second.
    @input
    struct Reads(u32, u32);
    // They read it under `!` or in an aggregate.
    @input
    struct Complete(u32, u32);

    @output
    struct Needs(u32, u32);
    @output
    struct Broken(u32, u32);

    Needs(a, a) <- Relation(a);
    Needs(a, c) <- Needs(a, b), Reads(b, c);

    Broken(a, b) <- Complete(a, b), Needs(b, a);
}

/// Closes the graph. `reads` are edges from a rule's head to what its body reads, `complete` those of them under which the
/// read relation has to be complete first: negation and aggregates.
pub(crate) fn close(
    relations: u32,
    reads: impl Iterator<Item = (u32, u32)>,
    complete: impl Iterator<Item = (u32, u32)>,
) -> Graph {
    let mut runtime = Crepe::new();
    runtime.extend((0..relations).map(Relation));
    runtime.extend(reads.map(|(a, b)| Reads(a, b)));
    runtime.extend(complete.map(|(a, b)| Complete(a, b)));
    let (needs, broken) = runtime.run();
    Graph {
        needs: needs.into_iter().map(|Needs(a, b)| (a, b)).collect(),
        broken: broken.into_iter().map(|Broken(a, b)| (a, b)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negated_relation_that_needs_its_negator_is_found() {
        // 0 reads 1, 1 negates 2, 2 reads 0; 3 negates 0 from outside.
        let reads = [(0, 1), (1, 2), (2, 0), (3, 0)];
        let graph = close(4, reads.into_iter(), [(1, 2), (3, 0)].into_iter());
        assert_eq!(graph.broken, BTreeSet::from([(1, 2)]));
        assert!(graph.needs.contains(&(3, 2)) && graph.needs.contains(&(3, 3)));
        assert!(!graph.needs.contains(&(0, 3)));
    }
}
