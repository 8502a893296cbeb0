//! Which relations and rules matter, asked in Datalog.
#![expect(
    clippy::disallowed_types,
    clippy::iter_over_hash_type,
    reason = "rules written with crepe walk hash sets; what comes out is sorted"
)]

use std::collections::BTreeSet;

use crate::program::{Literal, Origin, Program, RelationId, Rule};

/// What the graph of rules says.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    /// More tuples of these can allow more.
    pub(crate) grants: BTreeSet<RelationId>,
    /// More tuples of these can deny more.
    pub(crate) denies: BTreeSet<RelationId>,
    /// What a decision, or something that is shown, is made of.
    pub(crate) live: BTreeSet<RelationId>,
    /// Those that can have tuples.
    pub(crate) possible: BTreeSet<RelationId>,
    /// `(a, b)`: more tuples of `b` can give more of `a`, directly or through others.
    pub(crate) leads: BTreeSet<(RelationId, RelationId)>,
}

crepe::crepe! {
    // The rules of the first read the second: as it is, under `!`, in an aggregate.
    @input
    struct Plain(u32, u32);
    @input
    struct Negated(u32, u32);
    @input
    struct Counted(u32, u32);
    @input
    struct Allow(u32);
    @input
    struct Deny(u32);
    @input
    struct Root(u32);
    // Somebody else fills it.
    @input
    struct Filled(u32);
    // The rule reads the relation as its n-th condition, conditions counted from 0.
    @input
    struct Step(u32, u32, u32);
    // The rule derives the relation once so many conditions hold.
    @input
    struct Derives(u32, u32, u32);

    struct Reached(u32, u32);

    @output
    struct Grants(u32);
    @output
    struct Denies(u32);
    @output
    struct Live(u32);
    @output
    struct Possible(u32);
    @output
    struct Leads(u32, u32);

    Grants(a) <- Allow(a);
    Grants(b) <- Grants(a), Plain(a, b);
    Grants(b) <- Denies(a), Negated(a, b);
    Denies(a) <- Deny(a);
    Denies(b) <- Denies(a), Plain(a, b);
    Denies(b) <- Grants(a), Negated(a, b);
    // More rows can make a count larger or a minimum smaller: both sides.
    Grants(b) <- Grants(a), Counted(a, b);
    Grants(b) <- Denies(a), Counted(a, b);
    Denies(b) <- Grants(a), Counted(a, b);
    Denies(b) <- Denies(a), Counted(a, b);

    Live(a) <- Root(a);
    Live(b) <- Live(a), Plain(a, b);
    Live(b) <- Live(a), Negated(a, b);
    Live(b) <- Live(a), Counted(a, b);

    Reached(rule, 0) <- Derives(rule, _, _);
    Reached(rule, n + 1) <- Reached(rule, n), Step(rule, n, relation), Possible(relation);
    Possible(a) <- Filled(a);
    Possible(a) <- Derives(rule, a, n), Reached(rule, n);

    Leads(a, b) <- Plain(a, b);
    Leads(a, c) <- Leads(a, b), Plain(b, c);
}

/// Asks the graph of a program. `hopeless` rules cannot fire whatever their relations hold.
pub(crate) fn close(program: &Program, roots: &[&str], hopeless: &dyn Fn(&Rule) -> bool) -> Graph {
    let mut runtime = Crepe::new();
    let named = |name: &str| program.relation(name).map(|id| id.0);
    runtime.extend(named("IsAuthorized").map(Allow));
    runtime.extend(["Unauthorized", "DenialReason"].iter().filter_map(|name| named(name)).map(Deny));
    runtime.extend(roots.iter().filter_map(|name| named(name)).map(Root));
    for (id, relation) in (0_u32..).zip(&program.relations) {
        if relation.output {
            runtime.extend([Root(id)]);
        }
        if relation.origin != Origin::Rules {
            runtime.extend([Filled(id)]);
        }
    }
    for (number, rule) in (0_u32..).zip(&program.rules) {
        let head = rule.head.relation.0;
        let mut conditions = 0;
        for literal in &rule.body {
            match literal {
                Literal::Positive(atom) => {
                    runtime.extend([Plain(head, atom.relation.0)]);
                    runtime.extend([Step(number, conditions, atom.relation.0)]);
                    conditions += 1;
                }
                Literal::Negative(atom) => runtime.extend([Negated(head, atom.relation.0)]),
                Literal::Aggregate(aggregate) => counted(head, &aggregate.body, &mut runtime),
                Literal::Test(_) => {}
            }
        }
        if !hopeless(rule) {
            runtime.extend([Derives(number, head, conditions)]);
        }
    }
    let (grants, denies, live, possible, leads) = runtime.run();
    Graph {
        grants: grants.into_iter().map(|Grants(a)| RelationId(a)).collect(),
        denies: denies.into_iter().map(|Denies(a)| RelationId(a)).collect(),
        live: live.into_iter().map(|Live(a)| RelationId(a)).collect(),
        possible: possible.into_iter().map(|Possible(a)| RelationId(a)).collect(),
        leads: leads.into_iter().map(|Leads(a, b)| (RelationId(a), RelationId(b))).collect(),
    }
}

fn counted(head: u32, body: &[Literal], runtime: &mut Crepe) {
    for literal in body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => {
                runtime.extend([Counted(head, atom.relation.0)]);
            }
            Literal::Aggregate(inner) => counted(head, &inner.body, runtime),
            Literal::Test(_) => {}
        }
    }
}
