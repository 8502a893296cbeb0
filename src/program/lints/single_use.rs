//! Variables that stand once in a rule.

use std::collections::BTreeMap;

use crate::program::findings::Findings;
use crate::program::normalise;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::TermKind;

/// Warns of variables that stand once in a rule: they are often misspelt. Those that begin with `_` are meant.
pub(crate) fn single_use(rule: &ast::Rule, findings: &mut Findings) {
    if rule.body.is_none() {
        return;
    }
    let mut uses: BTreeMap<&str, Vec<Span>> = BTreeMap::new();
    rule.heads.iter().flat_map(|head| &head.terms).for_each(|term| count(term, &mut uses));
    rule.body.iter().for_each(|body| count_condition(body, &mut uses));
    for (name, places) in &uses {
        let [span] = places[..] else { continue };
        let shown = rule.annotations.iter().any(|note| note.value.contains(&format!("{{{name}}}")));
        if name.starts_with('_') || shown || findings.stands_at(span) {
            continue;
        }
        let near = uses.iter().filter(|(_, places)| places.len() > 1).map(|(&other, _)| other);
        let help = crate::program::suggest::nearest(name, near).map_or_else(
            || format!("write `_`, or `_{name}` if the name is to stay"),
            |near| format!("is `{near}` meant? else write `_`, or `_{name}` if the name is to stay"),
        );
        let finding = Diagnostic::warning("W0001", span, format!("variable `{name}` is used once"))
            .with_label("nothing else in the rule names it")
            .with_help(help)
            .with_fix(format!("name it `_{name}`"), vec![(span, format!("_{name}"))]);
        findings.push(finding);
    }
}

fn count_condition<'a>(condition: &'a ast::Condition, uses: &mut BTreeMap<&'a str, Vec<Span>>) {
    let mut terms = Vec::new();
    normalise::terms_of(condition, &mut terms);
    terms.into_iter().for_each(|term| count(term, uses));
}

/// Whether a condition is more than one literal. In an aggregate over several, each name tells rows apart, so that a name
/// that stands once is not the same as `_`.
fn is_joined(condition: &ast::Condition) -> bool {
    match condition {
        ast::Condition::And(parts) | ast::Condition::Or(parts) => parts.len() > 1,
        ast::Condition::Not(..)
        | ast::Condition::Atom(_)
        | ast::Condition::Comparison(_)
        | ast::Condition::TextTest { .. }
        | ast::Condition::Constant(..) => false,
    }
}

fn count<'a>(term: &'a ast::Term, uses: &mut BTreeMap<&'a str, Vec<Span>>) {
    if let TermKind::Variable(name) = &term.kind {
        uses.entry(name).or_default().push(term.span);
    }
    if let TermKind::Aggregate(aggregate) = &term.kind {
        aggregate.target.iter().for_each(|term| count(term, uses));
        count_condition(&aggregate.body, uses);
        if is_joined(&aggregate.body) {
            count_condition(&aggregate.body, uses);
        }
    }
    normalise::parts(term).into_iter().for_each(|part| count(part, uses));
}
