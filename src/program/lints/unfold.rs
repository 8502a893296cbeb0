//! Rules with their helpers put in: what is read in one rule and asked for in another.
//!
//! An atom of the policy's own relation is replaced by the body of a rule for it, its variables renamed and its head made
//! equal to the atom. What is asked of the result is what is asked of a rule that was written so.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::findings::Findings;
use crate::program::lints::evidence::{ANCESTRY, ANSWERS, once_only};
use crate::program::lints::fields;
use crate::program::lints::scope::{Scope, Source, functor_of};
use crate::program::lints::view::{Looked, Side, View};
use crate::program::{Atom, Call, Comparison, Literal, Operator, RelationId, Rule, Term, VariableId};
use crate::source::Span;

/// Most rules that are made of one.
const MOST: usize = 16;
/// Most literals of a rule that is made.
const LONGEST: usize = 64;

/// The helpers of a policy: its relations with a rule that reads an argument, or earlier calls, for whoever asks.
type Helpers<'v, 'a> = BTreeMap<RelationId, Vec<&'v Looked<'a>>>;

/// Warns of what rules do with their helpers.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let helpers = helpers(view);
    if helpers.is_empty() {
        return;
    }
    for looked in view.rules.iter().filter(|looked| matches!(looked.side, Side::Denies | Side::Grants)) {
        let mut places: BTreeSet<Span> = looked.rule().body.iter().filter_map(place).collect();
        for (rule, read) in unfolded(looked.rule(), &helpers) {
            // Each literal is told of once.
            if places.is_empty() {
                break;
            }
            let scope = Scope::new(view.program, &rule);
            let made = Looked::new(scope, &view.columns, looked.written, looked.side, looked.decision);
            if !made.is_hopeless() {
                look(view, &made, read, &mut places, findings);
            }
        }
        if looked.side == Side::Denies && looked.decision.is_some() {
            once(view, looked, &helpers, findings);
        }
    }
}

/// A deny of a second call whose helper looks for the first among the ancestors. What stands behind further helpers may
/// be there for something else.
fn once(view: &View<'_>, looked: &Looked<'_>, helpers: &Helpers<'_, '_>, findings: &mut Findings) {
    for (at, literal) in looked.rule().body.iter().enumerate() {
        let Literal::Positive(atom) = literal else { continue };
        let helpers = helpers.get(&atom.relation).into_iter().flatten().take(MOST);
        for rule in helpers
            .filter(|helper| reads_calls(helper))
            .filter_map(|helper| join(looked.rule(), at, atom, helper))
        {
            let scope = Scope::new(view.program, &rule);
            let made = Looked::new(scope, &view.columns, looked.written, looked.side, looked.decision);
            let mut found = Findings::default();
            if !made.is_hopeless() {
                once_only(view, &made, &mut found);
            }
            for finding in found.sorted() {
                if !findings.has(finding.code, finding.primary.span) {
                    findings.push(finding.with_secondary(looked.rule().span, "decides by it"));
                }
            }
        }
    }
}

/// Asks of a made rule what the literals at these places do with what the helper read.
fn look(
    view: &View<'_>,
    made: &Looked<'_>,
    read: Span,
    places: &mut BTreeSet<Span>,
    findings: &mut Findings,
) {
    for literal in &made.rule().body {
        let Some(at) = place(literal).filter(|at| places.contains(at)) else { continue };
        let mut found = Findings::default();
        fields::look(view, made, literal, &mut found);
        for finding in found.sorted() {
            places.remove(&at);
            // A fault that the rule has without its helper was told of.
            if !findings.has(finding.code, finding.primary.span) {
                findings.push(finding.with_secondary(read, "comes from here"));
            }
        }
    }
}

/// Where a literal stands that asks for something.
fn place(literal: &Literal) -> Option<Span> {
    match literal {
        Literal::Test(test) => Some(test.span),
        Literal::Negative(atom) => Some(atom.span),
        Literal::Positive(_) | Literal::Aggregate(_) => None,
    }
}

fn helpers<'v, 'a>(view: &'v View<'a>) -> Helpers<'v, 'a> {
    let mut rules: Helpers<'v, 'a> = BTreeMap::new();
    let mut wanted: BTreeSet<RelationId> = BTreeSet::new();
    for looked in view.rules.iter().filter(|looked| looked.decision.is_none()) {
        let head = looked.rule().head.relation;
        rules.entry(head).or_default().push(looked);
        if reads_argument(looked) || reads_calls(looked) {
            wanted.insert(head);
        }
    }
    // One helper may stand behind another.
    let behind = |looked: &&Looked<'_>| {
        looked
            .rule()
            .body
            .iter()
            .any(|literal| matches!(literal, Literal::Positive(atom) if wanted.contains(&atom.relation)))
    };
    let more: Vec<RelationId> = view
        .rules
        .iter()
        .filter(|looked| looked.decision.is_none())
        .filter(behind)
        .map(|looked| looked.rule().head.relation)
        .collect();
    wanted.extend(more);
    rules.retain(|relation, _| wanted.contains(relation));
    rules
}

/// Whether the rule reads a field of the arguments.
fn reads_argument(looked: &Looked<'_>) -> bool {
    looked.scope.calls().iter().any(|call| {
        functor_of(call).is_some_and(|functor| functor.name.starts_with("json_"))
            && call.arguments.first().is_some_and(|text| looked.scope.source(text) == Some(Source::Arguments))
    })
}

/// Whether the rule looks for calls among the ancestors.
fn reads_calls(looked: &Looked<'_>) -> bool {
    let reads = |names: &[&str]| names.iter().any(|name| looked.scope.atoms(name).next().is_some());
    reads(&ANSWERS) && reads(&ANCESTRY)
}

/// The rules that come of a rule, each with the place of the helper that was put in first.
fn unfolded(rule: &Rule, helpers: &Helpers<'_, '_>) -> Vec<(Rule, Span)> {
    let mut made: Vec<(Rule, Span)> = Vec::new();
    let mut at = 0;
    let mut next = put_in(rule, None, helpers);
    loop {
        let room = MOST.saturating_sub(made.len());
        made.extend(next.into_iter().take(room));
        let Some((rule, read)) = made.get(at) else { return made };
        next = if room == 0 { Vec::new() } else { put_in(rule, Some(*read), helpers) };
        at += 1;
    }
}

/// The rules that come of putting in one helper, at the first atom where that can be done.
fn put_in(rule: &Rule, first: Option<Span>, helpers: &Helpers<'_, '_>) -> Vec<(Rule, Span)> {
    let atoms = rule.body.iter().enumerate().filter_map(|(at, literal)| match literal {
        Literal::Positive(atom) => helpers.get(&atom.relation).map(|helpers| (at, atom, helpers)),
        Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
    });
    for (at, atom, helpers) in atoms {
        let each = helpers.iter().take(MOST).filter_map(|helper| {
            let rule = join(rule, at, atom, helper)?;
            Some((rule, first.unwrap_or(helper.rule().span)))
        });
        let made: Vec<_> = each.collect();
        if !made.is_empty() {
            return made;
        }
    }
    Vec::new()
}

/// A rule with the body of a helper in the place of an atom; none where that is too long, or counts.
fn join(rule: &Rule, at: usize, atom: &Atom, helper: &Looked<'_>) -> Option<Rule> {
    let own = helper.rule();
    let by = u32::try_from(rule.variables.len()).ok()?;
    let counts = own.body.iter().any(|literal| matches!(literal, Literal::Aggregate(_)));
    if counts || rule.body.len() + own.body.len() + atom.terms.len() > LONGEST {
        return None;
    }
    let mut body: Vec<Literal> = rule.body.iter().take(at).cloned().collect();
    body.extend(own.body.iter().filter_map(|literal| renamed(literal, by)));
    let columns = &helper.scope.program.schema(own.head.relation)?.columns;
    for ((left, right), column) in atom.terms.iter().zip(&own.head.terms).zip(columns) {
        if matches!(left, Term::Wildcard) {
            continue;
        }
        let kind = helper.scope.program.types.kind(column.type_id);
        let (left, right) = (left.clone(), moved(right, by));
        let span = atom.span;
        body.push(Literal::Test(Comparison { operator: Operator::Equal, kind, left, right, span }));
    }
    body.extend(rule.body.iter().skip(at + 1).cloned());
    let variables = rule.variables.iter().chain(&own.variables).cloned().collect();
    Some(Rule { head: rule.head.clone(), body, variables, span: rule.span })
}

/// A literal with other variables; none for an aggregate.
fn renamed(literal: &Literal, by: u32) -> Option<Literal> {
    let atom = |atom: &Atom| Atom {
        relation: atom.relation,
        terms: atom.terms.iter().map(|term| moved(term, by)).collect(),
        span: atom.span,
    };
    match literal {
        Literal::Positive(own) => Some(Literal::Positive(atom(own))),
        Literal::Negative(own) => Some(Literal::Negative(atom(own))),
        Literal::Test(test) => Some(Literal::Test(Comparison {
            left: moved(&test.left, by),
            right: moved(&test.right, by),
            ..test.clone()
        })),
        Literal::Aggregate(_) => None,
    }
}

/// A term with other variables. Terms are as deep as they are written, and the parser has a limit.
fn moved(term: &Term, by: u32) -> Term {
    let all = |terms: &[Term]| terms.iter().map(|term| moved(term, by)).collect();
    match term {
        Term::Variable(id) => Term::Variable(VariableId(id.0.saturating_add(by))),
        Term::Constant(_) | Term::Wildcard => term.clone(),
        Term::Construct(constructor, terms) => Term::Construct(*constructor, all(terms)),
        Term::Call(call) => {
            let call = Call { arguments: all(&call.arguments), ..(**call).clone() };
            Term::Call(Box::new(call))
        }
    }
}
