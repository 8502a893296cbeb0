//! Allows that allow nothing more, because another allow holds whenever they do.
//!
//! A rule is compared only with those that ask for something that it asks for too, and with those that ask for nothing
//! that can be looked up.

use std::collections::BTreeMap;

use crate::program::findings::Findings;
use crate::program::lints::cover::{ALL_STEPS, covers};
use crate::program::lints::decisions::open;
use crate::program::lints::values::Target;
use crate::program::lints::view::{Looked, View};
use crate::program::{DecisionKind, Literal, RelationId};
use crate::source::{Diagnostic, Span};

/// Something that a rule asks for. Whatever the covering rule asks for, the covered one asks for too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Asked {
    /// A relation, as it is.
    Has(RelationId),
    /// A relation, under `!`.
    Lacks(RelationId),
    /// A call of that tool, or another action.
    Target(Target),
}

/// Warns of allows behind another allow. Where one allows everything, that is said once and elsewhere.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    if open(view).is_some() {
        return;
    }
    let allows: Vec<&Looked<'_>> =
        view.decisions(&[DecisionKind::Allow]).filter(|looked| !looked.is_hopeless()).collect();
    let mut counts: BTreeMap<Asked, usize> = BTreeMap::new();
    for asked in allows.iter().flat_map(|looked| asked(looked)) {
        *counts.entry(asked).or_default() += 1;
    }
    // Each rule stands under the rarest of what it asks for.
    let mut buckets: BTreeMap<Option<Asked>, Vec<&Looked<'_>>> = BTreeMap::new();
    for looked in &allows {
        let rarest = asked(looked).into_iter().min_by_key(|asked| (counts.get(asked).copied(), *asked));
        buckets.entry(rarest).or_default().push(looked);
    }
    let mut rules: BTreeMap<Span, Vec<&Looked<'_>>> = BTreeMap::new();
    for looked in &allows {
        rules.entry(looked.rule().span).or_default().push(looked);
    }
    let mut steps = ALL_STEPS;
    for (span, alternatives) in rules {
        // What it says where nothing allows is worth keeping.
        if alternatives.iter().any(|looked| tells(looked)) {
            continue;
        }
        let by: Option<Vec<Span>> =
            alternatives.iter().map(|looked| covering(looked, &buckets, &mut steps)).collect();
        let Some(first) = by.and_then(|by| by.first().copied()) else { continue };
        let finding = Diagnostic::warning("W0034", span, "this allows nothing more: another rule allows whatever it does")
            .with_label("changes no verdict")
            .with_secondary(first, "this allows as well, and asks for less")
            .with_help("conditions here limit nothing while the other rule stands: remove this rule, or narrow the other one if it allows more than it should");
        findings.push(finding);
    }
}

/// Another rule that holds whenever this one does.
fn covering(
    looked: &Looked<'_>,
    buckets: &BTreeMap<Option<Asked>, Vec<&Looked<'_>>>,
    steps: &mut u32,
) -> Option<Span> {
    let span = looked.rule().span;
    let places = std::iter::once(None).chain(asked(looked).into_iter().map(Some));
    for wide in places.filter_map(|place| buckets.get(&place)).flatten() {
        if *steps == 0 {
            return None;
        }
        let other = wide.rule().span;
        // Of two that cover each other, the later one is told of.
        if other != span && covers(wide, looked, steps) && (other < span || !covers(looked, wide, steps)) {
            return Some(other);
        }
    }
    None
}

/// What the rule asks for, each once.
fn asked(looked: &Looked<'_>) -> Vec<Asked> {
    let mut found: Vec<Asked> = looked
        .rule()
        .body
        .iter()
        .filter_map(|literal| match literal {
            // A call may be named in other ways.
            Literal::Positive(atom) if looked.scope.name(atom.relation) == "IsTool" => None,
            Literal::Positive(atom) => Some(Asked::Has(atom.relation)),
            Literal::Negative(atom) => Some(Asked::Lacks(atom.relation)),
            Literal::Test(_) | Literal::Aggregate(_) => None,
        })
        .collect();
    if let Some([target]) = looked.targets().known().map(|known| known.iter().collect::<Vec<_>>()).as_deref()
    {
        found.push(Asked::Target(**target));
    }
    found.sort_unstable();
    found.dedup();
    found
}

/// Whether the rule has words for those that nothing allows.
fn tells(looked: &Looked<'_>) -> bool {
    looked.decision.is_some_and(|decision| decision.message.is_some() || !decision.suggestions.is_empty())
}
