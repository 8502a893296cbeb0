//! Which relations are kept between the checks of a session, and how.

use crate::engine::Hosted;
use crate::program::{LineageRelation, Literal, Origin, Program, RelationId};

/// How long the tuples of a relation last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kept {
    /// They belong to one request.
    Asked,
    /// They depend on the session alone, but can go as it goes on: they are derived anew when what they come from has
    /// changed.
    Held,
    /// They depend on session facts alone, and only become more.
    Grows,
}

/// How each relation is kept. A relation that only grows reads, positively, only such relations; one that is held may
/// also negate, aggregate, and read what the host takes back.
pub(crate) fn kept(program: &Program, hosted: &Hosted<'_>) -> Vec<Kept> {
    let mut kept: Vec<Kept> = program
        .relations
        .iter()
        .map(|relation| match relation.origin {
            Origin::Rules => Kept::Grows,
            Origin::Lineage(LineageRelation::Edge | LineageRelation::EdgeData) => Kept::Held,
            Origin::Lineage(LineageRelation::CurrentDepends | LineageRelation::ReachableFrom)
            | Origin::Host => Kept::Asked,
        })
        .collect();
    let mut set = |relations: &[RelationId], to: Kept| {
        for relation in relations {
            kept.get_mut(relation.0 as usize).into_iter().for_each(|slot| *slot = to);
        }
    };
    set(hosted.growing, Kept::Grows);
    set(hosted.fixed, Kept::Grows);
    set(hosted.changing, Kept::Held);
    // A relation that falls takes those down that read it.
    let mut readers: Vec<Vec<(RelationId, Kept)>> = vec![Vec::new(); program.relations.len()];
    let mut open: Vec<(RelationId, Kept)> = Vec::new();
    for rule in &program.rules {
        read(&rule.body, Kept::Grows, &mut |relation, most| {
            let head = rule.head.relation;
            readers.get_mut(relation.0 as usize).into_iter().for_each(|list| list.push((head, most)));
            let below = kept.get(relation.0 as usize).copied().unwrap_or(Kept::Asked);
            open.push((head, most.min(below)));
        });
    }
    while let Some((relation, most)) = open.pop() {
        let at = relation.0 as usize;
        let Some(slot) = kept.get_mut(at).filter(|slot| **slot > most) else { continue };
        *slot = most;
        let fallen = readers.get(at).into_iter().flatten().map(|&(head, limit)| (head, limit.min(most)));
        open.extend(fallen);
    }
    kept
}

/// What a body reads, and the most that its head can be for that. Only aggregates are walked into, as deep as they were
/// written.
fn read(body: &[Literal], most: Kept, visit: &mut dyn FnMut(RelationId, Kept)) {
    for literal in body {
        match literal {
            Literal::Positive(atom) => visit(atom.relation, most),
            Literal::Negative(atom) => visit(atom.relation, Kept::Held),
            Literal::Aggregate(aggregate) => read(&aggregate.body, Kept::Held, visit),
            Literal::Test(_) => {}
        }
    }
}

/// Whether a relation can hold more once the session has gone on: it needs session facts or the lineage.
pub(crate) fn can_grow(program: &Program, hosted: &Hosted<'_>) -> Vec<bool> {
    let lineage =
        (0..).map(RelationId).zip(&program.relations).filter(|(_, relation)| match relation.origin {
            Origin::Lineage(
                LineageRelation::Edge
                | LineageRelation::EdgeData
                | LineageRelation::CurrentDepends
                | LineageRelation::ReachableFrom,
            ) => true,
            Origin::Host | Origin::Rules => false,
        });
    let mut sources: Vec<RelationId> = lineage.map(|(id, _)| id).collect();
    sources.extend(hosted.growing);
    program.affected(&sources)
}

/// The number of the stratum of each relation; for those that stand in none, a number of their own.
pub(crate) fn stratum_of(program: &Program) -> Vec<usize> {
    let mut of: Vec<usize> =
        (0..program.relations.len()).map(|relation| program.strata.len() + relation).collect();
    for (number, stratum) in program.strata.iter().enumerate() {
        for relation in &stratum.relations {
            if let Some(slot) = of.get_mut(relation.0 as usize) {
                *slot = number;
            }
        }
    }
    of
}
