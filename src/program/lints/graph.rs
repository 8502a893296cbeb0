//! Which relations and rules matter, asked in Datalog.
#![expect(
    clippy::disallowed_types,
    clippy::iter_over_hash_type,
    reason = "rules written with crepe walk hash sets; what comes out is sorted"
)]

use std::collections::BTreeSet;

use foldhash::fast::FixedState;

use crate::program::{Literal, Origin, Program, RelationId};

/// Relations of the prelude that lints ask of what leads to them.
const ASKED: [&str; 5] = ["ToolResult", "Actions", "ActionRecord", "CurrentDepends", "ReachableFrom"];

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
    /// `(a, b)`: more tuples of `b` can give more of `a`, directly or through others. Only for some `b`.
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
    @input
    struct Asked(u32);

    @output
    struct Grants(u32);
    @output
    struct Denies(u32);
    @output
    struct Live(u32);
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

    Leads(a, b) <- Asked(b), Plain(a, b);
    Leads(a, c) <- Leads(b, c), Plain(a, b);
}

/// Asks the graph of a program. `hopeless` says of each rule whether it cannot fire whatever its relations hold.
pub(crate) fn close(program: &Program, roots: &[&str], hopeless: &[bool]) -> Graph {
    let mut runtime = Crepe::new();
    let named = |name: &str| program.relation(name).map(|id| id.0);
    runtime.extend(named("IsAuthorized").map(Allow));
    runtime.extend(["Unauthorized", "DenialReason"].iter().filter_map(|name| named(name)).map(Deny));
    runtime.extend(roots.iter().filter_map(|name| named(name)).map(Root));
    for (id, relation) in (0_u32..).zip(&program.relations) {
        if relation.output {
            runtime.extend([Root(id)]);
        }
    }
    runtime.extend(ASKED.iter().filter_map(|name| named(name)).map(Asked));
    for rule in &program.rules {
        let head = rule.head.relation.0;
        for literal in &rule.body {
            match literal {
                Literal::Positive(atom) => runtime.extend([Plain(head, atom.relation.0)]),
                Literal::Negative(atom) => runtime.extend([Negated(head, atom.relation.0)]),
                Literal::Aggregate(aggregate) => counted(head, &aggregate.body, &mut runtime),
                Literal::Test(_) => {}
            }
        }
    }
    let (grants, denies, live, leads) = runtime.run_with_hasher::<FixedState>();
    Graph {
        grants: grants.into_iter().map(|Grants(a)| RelationId(a)).collect(),
        denies: denies.into_iter().map(|Denies(a)| RelationId(a)).collect(),
        live: live.into_iter().map(|Live(a)| RelationId(a)).collect(),
        possible: possible(program, hopeless),
        leads: leads.into_iter().map(|Leads(a, b)| (RelationId(a), RelationId(b))).collect(),
    }
}

/// The relations that somebody else fills, or of which a rule can fire: all relations that it reads as they are can have
/// tuples. Rules that join several relations of their own stratum cost a walk over all of them in each round where the
/// rules are compiled in, so each rule counts down the conditions that it waits for instead.
fn possible(program: &Program, hopeless: &[bool]) -> BTreeSet<RelationId> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); program.relations.len()];
    let mut waits: Vec<usize> = Vec::with_capacity(program.rules.len());
    let ids = (0..).map(RelationId).zip(&program.relations);
    let mut open: Vec<RelationId> =
        ids.filter(|(_, relation)| relation.origin != Origin::Rules).map(|(id, _)| id).collect();
    for (number, rule) in program.rules.iter().enumerate() {
        let mut conditions = 0;
        for literal in &rule.body {
            if let Literal::Positive(atom) = literal {
                readers.get_mut(atom.relation.0 as usize).into_iter().for_each(|list| list.push(number));
                conditions += 1;
            }
        }
        let is_hopeless = hopeless.get(number) == Some(&true);
        open.extend((conditions == 0 && !is_hopeless).then_some(rule.head.relation));
        waits.push(if is_hopeless { usize::MAX } else { conditions });
    }
    let mut possible = BTreeSet::new();
    while let Some(relation) = open.pop() {
        if !possible.insert(relation) {
            continue;
        }
        for &number in readers.get(relation.0 as usize).into_iter().flatten() {
            let (Some(waits), Some(rule)) = (waits.get_mut(number), program.rules.get(number)) else {
                continue;
            };
            *waits = waits.saturating_sub(1);
            if *waits == 0 {
                open.push(rule.head.relation);
            }
        }
    }
    possible
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
