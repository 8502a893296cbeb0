//! Rules with their helpers put in: what is read in one rule and asked for in another.
//!
//! An atom of the policy's own relation is replaced by the body of a rule for it, its variables renamed and its head made
//! equal to the atom. What is asked of the result is what is asked of a rule that was written so.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::findings::Findings;
use crate::program::lints::absence::Absences;
use crate::program::lints::evidence::{ANCESTRY, ANSWERS, once_only};
use crate::program::lints::fields;
use crate::program::lints::scope::{Scope, Source, functor_of};
use crate::program::lints::view::{Judged, Looked, Side, View};
use crate::program::lower::variables_of;
use crate::program::{
    Atom, Call, Comparison, Literal, Operator, RelationId, Rule, Term, Variable, VariableId,
};
use crate::source::Span;

/// Most rules that are made of one.
const MOST: usize = 16;
/// Most literals of a rule that is made.
const LONGEST: usize = 64;

/// A rule that is put in.
struct Helper<'v, 'a> {
    looked: &'v Looked<'a>,
    /// Whether it looks for calls among the ancestors.
    reads_calls: bool,
}

/// The helpers of a policy: its relations with a rule that reads an argument, or earlier calls, for whoever asks.
type Helpers<'v, 'a> = BTreeMap<RelationId, Vec<Helper<'v, 'a>>>;

/// Warns of what rules do with their helpers.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let helpers = helpers(view);
    if helpers.is_empty() {
        return;
    }
    let absences = fields::absences(view);
    for looked in view.rules.iter().filter(|looked| matches!(looked.side, Side::Denies | Side::Grants)) {
        missing(&absences, view, looked, &helpers, findings);
        if looked.side == Side::Denies && looked.decision.is_some() {
            once(view, looked, &helpers, findings);
        }
    }
}

/// What the rule does when a field is missing that a helper reads. Each literal is told of once.
fn missing(
    absences: &Absences<'_, '_>,
    view: &View<'_>,
    looked: &Looked<'_>,
    helpers: &Helpers<'_, '_>,
    findings: &mut Findings,
) {
    if looked.rule().body.len() >= LONGEST {
        return;
    }
    let mut places = places(looked, helpers);
    if places.is_empty() {
        return;
    }
    let mut rules = put_in(looked.rule(), None, helpers, MOST);
    let mut at = 0;
    while let Some((rule, read)) = rules.get(at) {
        let made = made(view, looked, rule);
        if !made.is_hopeless() {
            look(absences, &made, *read, &mut places, findings);
        }
        if places.is_empty() {
            return;
        }
        let room = MOST.saturating_sub(rules.len());
        let more = if room == 0 { Vec::new() } else { put_in(rule, Some(*read), helpers, room) };
        rules.extend(more);
        at += 1;
    }
}

/// The places of the literals for which a helper can make a difference.
fn places(looked: &Looked<'_>, helpers: &Helpers<'_, '_>) -> BTreeSet<Span> {
    let rule = looked.rule();
    let open = rule.body.iter().filter(|literal| fields::is_open(looked.side, literal));
    if looked.side != Side::Grants {
        return open.filter_map(place).collect();
    }
    // An allow counts whatever it is about, so that a helper adds nothing to a test of what it does not give.
    let given = given(rule, helpers);
    let is_given =
        |literal: &&Literal| !given.is_disjoint(&variables_of(std::slice::from_ref(*literal), None));
    open.filter(is_given).filter_map(place).collect()
}

/// The variables that a helper may give a value, directly or through equalities.
fn given(rule: &Rule, helpers: &Helpers<'_, '_>) -> BTreeSet<VariableId> {
    let mut given = BTreeSet::new();
    for literal in &rule.body {
        if let Literal::Positive(atom) = literal
            && helpers.contains_key(&atom.relation)
        {
            atom.terms.iter().for_each(|term| term.variables(&mut given));
        }
    }
    // Bodies that helpers are put into are short.
    for _ in 0..rule.body.len().min(LONGEST) {
        let before = given.len();
        for literal in &rule.body {
            if matches!(literal, Literal::Test(test) if test.operator == Operator::Equal) {
                let own = variables_of(std::slice::from_ref(literal), None);
                if !given.is_disjoint(&own) {
                    given.extend(own);
                }
            }
        }
        if given.len() == before {
            break;
        }
    }
    given
}

/// A made rule as it would be looked at in the place of the one that it comes from.
fn made<'r>(view: &View<'r>, looked: &Looked<'r>, rule: &'r Rule) -> Looked<'r> {
    let judged = Judged::new(Scope::new(view.program, rule), &view.columns);
    Looked::new(judged, looked.written, looked.side, looked.decision)
}

/// A deny of a second call whose helper looks for the first among the ancestors. What stands behind further helpers may
/// be there for something else.
fn once(view: &View<'_>, looked: &Looked<'_>, helpers: &Helpers<'_, '_>, findings: &mut Findings) {
    for (at, literal) in looked.rule().body.iter().enumerate() {
        let Literal::Positive(atom) = literal else { continue };
        let helpers = helpers.get(&atom.relation).into_iter().flatten().take(MOST);
        for rule in helpers
            .filter(|helper| helper.reads_calls)
            .filter_map(|helper| join(looked.rule(), at, atom, helper.looked))
        {
            let made = made(view, looked, &rule);
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
    absences: &Absences<'_, '_>,
    made: &Looked<'_>,
    read: Span,
    places: &mut BTreeSet<Span>,
    findings: &mut Findings,
) {
    for literal in &made.rule().body {
        let Some(at) = place(literal).filter(|at| places.contains(at)) else { continue };
        let mut found = Findings::default();
        fields::look(absences, made, literal, &mut found);
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
        let reads_calls = reads_calls(looked);
        rules.entry(head).or_default().push(Helper { looked, reads_calls });
        if reads_calls || reads_argument(looked) {
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

/// The rules that come of putting in one helper, at the first atom where that can be done: so many at most, each with the
/// place of the helper that was put in first.
fn put_in(rule: &Rule, first: Option<Span>, helpers: &Helpers<'_, '_>, most: usize) -> Vec<(Rule, Span)> {
    let atoms = rule.body.iter().enumerate().filter_map(|(at, literal)| match literal {
        Literal::Positive(atom) => helpers.get(&atom.relation).map(|helpers| (at, atom, helpers)),
        Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
    });
    for (at, atom, helpers) in atoms {
        let each = helpers.iter().take(MOST).filter_map(|helper| {
            let made = join(rule, at, atom, helper.looked)?;
            Some((made, first.unwrap_or(helper.looked.rule().span)))
        });
        let made: Vec<_> = each.take(most).collect();
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
    let mut body: Vec<Literal> = Vec::with_capacity(rule.body.len() + own.body.len() + atom.terms.len());
    body.extend(rule.body.iter().take(at).cloned());
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
    // Nobody asks a made rule for names.
    let unnamed = |variable: &Variable| Variable { name: String::new(), type_id: variable.type_id };
    let variables = rule.variables.iter().chain(&own.variables).map(unnamed).collect();
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
