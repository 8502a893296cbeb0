//! Rules that can never fire, and relations that nothing needs.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::findings::Findings;
use crate::program::lints::view::{Looked, View};
use crate::program::schema::PRELUDE_FILE;
use crate::program::{Literal, RelationId};
use crate::source::{Diagnostic, Span};

/// Warns of what has no effect.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let mut rules: BTreeMap<Span, Vec<&Looked<'_>>> = BTreeMap::new();
    for looked in &view.rules {
        rules.entry(looked.rule().span).or_default().push(looked);
    }
    for (span, alternatives) in rules {
        // A branch of `;` that cannot hold with another one is no fault.
        let reasons: Option<Vec<Diagnostic>> =
            alternatives.iter().map(|looked| never(view, looked, span)).collect();
        if let Some(first) = reasons.and_then(|reasons| reasons.into_iter().next()) {
            findings.push(first);
        }
    }
    unused(view, findings);
}

/// Why the rule can never fire, if it cannot.
fn never(view: &View<'_>, looked: &Looked<'_>, head: Span) -> Option<Diagnostic> {
    let why = "a deny that never fires protects nothing, and an allow that never fires allows nothing";
    let empty = looked.rule().body.iter().find_map(|literal| match literal {
        Literal::Positive(atom) if !view.graph.possible.contains(&atom.relation) => Some(atom),
        Literal::Positive(_) | Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
    });
    if let Some(atom) = empty {
        let name = looked.scope.name(atom.relation);
        let label = if view.derived.contains(&atom.relation) {
            format!("no rule of `{name}` can fire")
        } else {
            format!("`{name}` has no rules and no facts")
        };
        let help = if name == "ToolResultField" {
            "list the fields to be read, as in `ToolResultFieldName(\"status\").`".to_owned()
        } else {
            format!("{why}: give `{name}` facts or rules")
        };
        let finding = Diagnostic::warning("W0013", atom.span, "this rule can never fire");
        return Some(finding.with_label(label).with_help(help));
    }
    looked.is_hopeless().then(|| {
        Diagnostic::warning("W0013", head, "this rule can never fire")
            .with_label("its conditions ask for values that exclude each other")
            .with_help(format!("{why}: look for a name, tool or number that is asked to be two things"))
    })
}

/// Relations of the policy that lead to no decision.
fn unused(view: &View<'_>, findings: &mut Findings) {
    let mut read = BTreeSet::new();
    for rule in &view.program.rules {
        reads(&rule.body, &mut |id| {
            if id != rule.head.relation {
                read.insert(id);
            }
        });
    }
    for (number, relation) in (0_u32..).zip(&view.program.relations) {
        let id = RelationId(number);
        let is_own = relation.span.file != PRELUDE_FILE && !relation.name.starts_with("__");
        if !is_own || view.graph.live.contains(&id) || read.contains(&id) {
            continue;
        }
        let finding = Diagnostic::warning("W0014", relation.span, format!("`{}` is never used", relation.name))
            .with_label("no rule reads it")
            .with_help("a condition that is declared and not asked for guards nothing: read it in a rule, mark it with `.output`, or remove it");
        findings.push(finding);
    }
}

fn reads(body: &[Literal], visit: &mut dyn FnMut(RelationId)) {
    for literal in body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => visit(atom.relation),
            Literal::Aggregate(aggregate) => reads(&aggregate.body, visit),
            Literal::Test(_) => {}
        }
    }
}
