//! Aggregates over alternatives: each alternative derives a relation of its own, over which the aggregate goes.
//!
//! `n = count : { A(k, x) ; B(k, x) }` becomes `n = count : { any(k, x) }` with `any(k, x) :- A(k, x).` and
//! `any(k, x) :- B(k, x).` Where an alternative does not bind a variable that comes from outside, the literals around the
//! aggregate bind it: they may give more values than are asked for, never fewer.

use std::collections::BTreeSet;

use crate::program::build::Builder;
use crate::program::lower::{Lowered, variables_of};
use crate::program::schema::BROKEN;
use crate::program::{Atom, Column, Literal, Origin, Relation, RelationId, Rule, Term, Variable, VariableId};
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast::ComparisonOperator;

/// The alternatives of one aggregate.
#[derive(Debug)]
pub(crate) struct Union {
    /// Variables from outside of the aggregate.
    pub(crate) keys: Vec<VariableId>,
    /// Variables of the aggregate.
    pub(crate) columns: Vec<VariableId>,
    /// Bodies, with the variables that each has for the columns.
    pub(crate) alternatives: Vec<(Vec<Literal>, Vec<VariableId>)>,
    pub(crate) span: Span,
}

impl Union {
    /// What stands for the relation of a union until it has one.
    pub(crate) fn placeholder(number: usize) -> RelationId {
        RelationId(u32::MAX - u32::try_from(number).unwrap_or(0))
    }
}

/// Gives every union of a lowered rule its relation and rules.
pub(crate) fn add(builder: &mut Builder<'_>, lowered: &mut Lowered, rule: Span) {
    let unions = std::mem::take(&mut lowered.unions);
    let mut contexts = vec![Vec::new(); unions.len()];
    surroundings(&lowered.body, &[], &unions, &mut contexts);
    let relations: Vec<_> = unions.iter().map(|union| relation(builder, union, lowered)).collect();
    for ((union, context), &relation) in unions.into_iter().zip(contexts).zip(&relations) {
        let variables = union.keys.iter().chain(&union.columns);
        let broken = variables
            .clone()
            .any(|id| lowered.variables.get(id.0 as usize).is_none_or(|variable| variable.type_id == BROKEN));
        if broken {
            continue;
        }
        for (body, columns) in union.alternatives {
            let Some(mut body) = with_keys(body, &context, &union.keys) else {
                let message =
                    "the alternatives of this aggregate need a value that only another aggregate gives";
                let outer = names(&lowered.variables, &union.keys);
                let finding =
                    Diagnostic::error("E0006", union.span, message).with_help(own_relation(&outer, None));
                builder.findings.push(finding);
                continue;
            };
            settle(&mut body, &relations);
            let terms = union.keys.iter().chain(&columns).map(|&id| Term::Variable(id)).collect();
            let head = Atom { relation, terms, span: union.span };
            builder.add_rule(Rule { head, body, variables: lowered.variables.clone(), span: rule });
        }
    }
    settle(&mut lowered.body, &relations);
}

/// How to do without a union whose branches use these variables from outside. `recursive` is what may not bind them.
pub(crate) fn own_relation(outer: &[String], recursive: Option<&str>) -> String {
    let own = "give the alternatives a relation of their own, a rule for each, and aggregate over that";
    if outer.is_empty() {
        return own.to_owned();
    }
    let binder = match recursive {
        Some(name) => format!("by a relation that does not need `{name}`"),
        None => "by a relation, not by an aggregate".to_owned(),
    };
    let (are, them) = if outer.len() == 1 { ("is", "it a column") } else { ("are", "them columns") };
    format!(
        "{own}; {} {are} used from outside: make {them} of that relation too, bound in each of its rules {binder} and \
         that holds every value it is asked for",
        outer.join(", ")
    )
}

/// The names of variables, in backticks.
pub(crate) fn names(variables: &[Variable], ids: &[VariableId]) -> Vec<String> {
    let named = ids.iter().filter_map(|id| variables.get(id.0 as usize));
    named
        .filter(|variable| !variable.name.is_empty())
        .map(|variable| format!("`{}`", variable.name))
        .collect()
}

fn relation(builder: &mut Builder<'_>, union: &Union, lowered: &Lowered) -> RelationId {
    let column = |id: &VariableId| {
        let variable = lowered.variables.get(id.0 as usize);
        variable.map(|variable| Column { name: variable.name.clone(), type_id: variable.type_id })
    };
    let columns = union.keys.iter().chain(&union.columns).filter_map(column).collect();
    let name = format!("__any_{}", builder.schema.relations.len());
    let (origin, documentation) = (Origin::Rules, String::new());
    builder.schema.add_relation(Relation {
        name,
        columns,
        origin,
        span: union.span,
        documentation,
        output: false,
    })
}

/// Collects, for each union, the literals around its aggregate.
fn surroundings(body: &[Literal], around: &[Literal], unions: &[Union], contexts: &mut [Vec<Literal>]) {
    let plain = body.iter().filter(|literal| !matches!(literal, Literal::Aggregate(_)));
    let here: Vec<Literal> = around.iter().chain(plain).cloned().collect();
    for literal in body {
        let Literal::Aggregate(aggregate) = literal else { continue };
        for (number, union) in unions.iter().enumerate() {
            let reads = |literal: &Literal| match literal {
                Literal::Positive(atom) => atom.relation == Union::placeholder(number),
                Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => false,
            };
            if aggregate.body.iter().any(reads) {
                if let Some(context) = contexts.get_mut(number) {
                    context.clone_from(&here);
                }
                for (body, _) in &union.alternatives {
                    surroundings(body, &here, unions, contexts);
                }
            }
        }
        surroundings(&aggregate.body, &here, unions, contexts);
    }
}

/// The body of an alternative, with what binds the keys if it does not do so itself.
fn with_keys(body: Vec<Literal>, context: &[Literal], keys: &[VariableId]) -> Option<Vec<Literal>> {
    let own = bound(&body);
    if keys.iter().all(|key| own.contains(key)) {
        return Some(body);
    }
    let known = bound(context);
    let usable = |literal: &&Literal| {
        matches!(literal, Literal::Positive(_))
            || variables_of(std::slice::from_ref(*literal), None).iter().all(|id| known.contains(id))
    };
    let all: Vec<_> = context.iter().filter(usable).cloned().chain(body).collect();
    let known = bound(&all);
    keys.iter().all(|key| known.contains(key)).then_some(all)
}

/// The variables that the literals bind.
fn bound(body: &[Literal]) -> BTreeSet<VariableId> {
    let mut known = BTreeSet::new();
    loop {
        let before = known.len();
        for literal in body {
            match literal {
                Literal::Positive(atom) => atom.terms.iter().for_each(|term| term.variables(&mut known)),
                Literal::Test(test) if test.operator == ComparisonOperator::Equal => {
                    equal(&test.left, &test.right, &mut known);
                    equal(&test.right, &test.left, &mut known);
                }
                Literal::Aggregate(aggregate) => {
                    known.insert(aggregate.result);
                    known.extend(&aggregate.witnesses);
                }
                Literal::Negative(_) | Literal::Test(_) => {}
            }
        }
        if known.len() == before {
            return known;
        }
    }
}

fn equal(from: &Term, to: &Term, known: &mut BTreeSet<VariableId>) {
    let mut needed = BTreeSet::new();
    from.variables(&mut needed);
    if needed.is_subset(known) && !holds_wildcard(from) && !matches!(to, Term::Call(_)) {
        to.variables(known);
    }
}

fn holds_wildcard(term: &Term) -> bool {
    match term {
        Term::Wildcard => true,
        Term::Construct(_, terms) => terms.iter().any(holds_wildcard),
        Term::Variable(_) | Term::Constant(_) | Term::Call(_) => false,
    }
}

/// Puts the relations of unions where their placeholders stand.
fn settle(body: &mut [Literal], relations: &[RelationId]) {
    for literal in body {
        match literal {
            Literal::Positive(atom) => {
                let is = |&(number, _): &(usize, &RelationId)| atom.relation == Union::placeholder(number);
                if let Some((_, &relation)) = relations.iter().enumerate().find(is) {
                    atom.relation = relation;
                }
            }
            Literal::Aggregate(aggregate) => settle(&mut aggregate.body, relations),
            Literal::Negative(_) | Literal::Test(_) => {}
        }
    }
}
