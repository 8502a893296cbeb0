//! Rules that never change a verdict, because another rule fires whenever they do.
//!
//! One rule covers another if its conditions, with its variables renamed, are all among the other's. This is found by
//! trying, for so many steps; what is not found in them is not reported.

use std::collections::BTreeMap;

use crate::program::findings::Findings;
use crate::program::lints::scope::Scope;
use crate::program::lints::view::{Looked, View};
use crate::program::{Atom, Comparison, DecisionKind, Literal, Operator, Term, VariableId};
use crate::source::{Diagnostic, Span};
use crate::value::{Kind, Word};

/// Steps for one pair of rules.
const STEPS: u32 = 1_000;
/// Steps for all pairs of one policy.
pub(crate) const ALL_STEPS: u32 = 100_000;

/// Warns of denies, asks and allows behind a deny that always fires with them.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let denies: Vec<&Looked<'_>> = view.decisions(&[DecisionKind::Deny]).collect();
    let mut others: BTreeMap<Span, Vec<&Looked<'_>>> = BTreeMap::new();
    for looked in view.decisions(&[DecisionKind::Allow, DecisionKind::Ask, DecisionKind::Deny]) {
        others.entry(looked.rule().span).or_default().push(looked);
    }
    let mut steps = ALL_STEPS;
    for (span, alternatives) in others {
        let mut first = None;
        let is_covered = alternatives.iter().all(|looked| {
            let by = denies.iter().find(|deny| {
                deny.rule().span != span
                    && covers(deny, looked, &mut steps)
                    // Of two that cover each other, the later one is told of.
                    && (!covers(looked, deny, &mut steps) || !looked.is(DecisionKind::Deny) || deny.rule().span < span)
            });
            first = first.or(by.map(|deny| deny.rule().span));
            by.is_some()
        });
        let (true, Some(by), Some(looked)) = (is_covered, first, alternatives.first()) else { continue };
        findings.push(finding(looked, span, by));
    }
}

fn finding(looked: &Looked<'_>, span: Span, by: Span) -> Diagnostic {
    let (code, message, help) = if looked.is(DecisionKind::Allow) {
        (
            "W0032",
            "this allows nothing: a deny fires whenever it does",
            "deny wins over allow: remove this rule, or narrow the deny",
        )
    } else if looked.is(DecisionKind::Ask) {
        (
            "W0031",
            "nobody is ever asked: a deny fires whenever this does",
            "deny wins over ask: narrow the deny to what nobody may approve",
        )
    } else {
        (
            "W0031",
            "this deny is shadowed: another one fires whenever it does",
            "remove it, or narrow the other one if that denies more than it should",
        )
    };
    Diagnostic::warning(code, span, message)
        .with_label("changes no verdict")
        .with_secondary(by, "this fires as well")
        .with_help(help)
}

/// Whether the first fires for every action for which the second does.
pub(crate) fn covers(wide: &Looked<'_>, narrow: &Looked<'_>, all: &mut u32) -> bool {
    let steps = STEPS.min(*all);
    let mut search = Search { wide: &wide.scope, narrow: &narrow.scope, steps };
    let (Some(a), Some(b)) = (wide.rule().head.terms.first(), narrow.rule().head.terms.first()) else {
        return false;
    };
    let mut renamed = Renamed::new();
    let found = search.term(a, b, &mut renamed) && search.literals(&wide.rule().body, renamed);
    *all = all.saturating_sub(1 + steps - search.steps);
    found
}

/// What the variables of the wide rule are in the narrow one.
type Renamed<'a> = BTreeMap<VariableId, &'a Term>;

struct Search<'s, 'a> {
    wide: &'s Scope<'a>,
    narrow: &'s Scope<'a>,
    steps: u32,
}

impl<'a> Search<'_, 'a> {
    /// Whether all literals have a match. A body is never deeper than it is long.
    fn literals(&mut self, rest: &'a [Literal], renamed: Renamed<'a>) -> bool {
        let mut open = vec![(rest, renamed)];
        while let Some((rest, renamed)) = open.pop() {
            if self.steps == 0 {
                return false;
            }
            self.steps -= 1;
            let Some((first, rest)) = rest.split_first() else { return true };
            for next in self.matches(first, &renamed) {
                open.push((rest, next));
            }
        }
        false
    }

    /// Every way to find a literal of the wide rule in the narrow one.
    fn matches(&mut self, literal: &'a Literal, renamed: &Renamed<'a>) -> Vec<Renamed<'a>> {
        let mut found = Vec::new();
        if let Literal::Positive(atom) = literal
            && self.wide.name(atom.relation) == "IsTool"
        {
            let mut next = renamed.clone();
            if self.calls(atom, &mut next) {
                found.push(next);
            }
        }
        for other in &self.narrow.rule.body {
            match (literal, other) {
                (Literal::Positive(a), Literal::Positive(b))
                | (Literal::Negative(a), Literal::Negative(b)) => {
                    let mut next = renamed.clone();
                    let is_same = a.relation == b.relation && a.terms.len() == b.terms.len();
                    if is_same && a.terms.iter().zip(&b.terms).all(|(a, b)| self.term(a, b, &mut next)) {
                        found.push(next);
                    }
                }
                (Literal::Test(a), Literal::Test(b)) => found.extend(self.test(a, b, renamed)),
                _ => {}
            }
        }
        found
    }

    /// `IsTool(action, "pay")` where the narrow rule has `$CallTool("pay", …)`.
    fn calls(&mut self, atom: &'a Atom, renamed: &mut Renamed<'a>) -> bool {
        let [Term::Variable(action), name] = &atom.terms[..] else { return false };
        let Some(&action) = renamed.get(action) else { return false };
        let narrow = self.narrow;
        let names = narrow.meanings(action).into_iter().filter_map(|meaning| match meaning {
            Term::Construct(constructor, fields)
                if narrow.program.types.constructor(*constructor).name == "CallTool" =>
            {
                fields.first()
            }
            _ => None,
        });
        let names: Vec<&'a Term> = names.collect();
        names.into_iter().any(|other| self.term(name, other, renamed))
    }

    fn test(&mut self, a: &'a Comparison, b: &'a Comparison, renamed: &Renamed<'a>) -> Option<Renamed<'a>> {
        if a.kind != b.kind {
            return None;
        }
        let mut next = renamed.clone();
        let is_same = a.operator == b.operator
            && self.term(&a.left, &b.left, &mut next)
            && self.term(&a.right, &b.right, &mut next);
        if is_same {
            return Some(next);
        }
        let mut next = renamed.clone();
        let (Term::Constant(most), Term::Constant(least)) = (&a.right, &b.right) else { return None };
        (implies(a.operator, *most, b.operator, *least, a.kind) && self.term(&a.left, &b.left, &mut next))
            .then_some(next)
    }

    /// Whether the term of the wide rule is that of the narrow one, once its variables are renamed.
    fn term(&mut self, a: &'a Term, b: &'a Term, renamed: &mut Renamed<'a>) -> bool {
        match (a, b) {
            (Term::Wildcard, _) => true,
            (Term::Variable(id), _) => match renamed.get(id) {
                Some(other) => self.same(other, b),
                None => {
                    renamed.insert(*id, b);
                    !matches!(b, Term::Wildcard) || !self.is_needed(*id)
                }
            },
            (Term::Constant(a), Term::Constant(b)) => a == b,
            (Term::Constant(_), Term::Variable(_)) => {
                self.narrow.meanings(b).into_iter().any(|meaning| meaning == a)
            }
            (Term::Construct(a, left), Term::Construct(b, right)) => {
                a == b && left.len() == right.len() && self.terms(left, right, renamed)
            }
            (Term::Call(a), Term::Call(b)) => {
                a.function == b.function
                    && a.arguments.len() == b.arguments.len()
                    && self.terms(&a.arguments, &b.arguments, renamed)
            }
            _ => false,
        }
    }

    fn terms(&mut self, a: &'a [Term], b: &'a [Term], renamed: &mut Renamed<'a>) -> bool {
        a.iter().zip(b).all(|(a, b)| self.term(a, b, renamed))
    }

    fn same(&self, a: &Term, b: &Term) -> bool {
        match (a, b) {
            (Term::Variable(a), Term::Variable(b)) => self.narrow.class(*a) == self.narrow.class(*b),
            _ => a == b && !matches!(a, Term::Wildcard),
        }
    }

    /// Whether the variable stands in more than one place of the wide rule.
    fn is_needed(&self, id: VariableId) -> bool {
        let used = |literal: &&Literal| {
            crate::program::lower::variables_of(std::slice::from_ref(*literal), None).contains(&id)
        };
        self.wide.rule.body.iter().filter(used).count() > 1
    }
}

/// Whether `x b least` makes `x a most` hold.
fn implies(a: Operator, most: Word, b: Operator, least: Word, kind: Kind) -> bool {
    let order = match kind {
        Kind::Number => most.as_number().cmp(&least.as_number()),
        Kind::Unsigned => most.0.cmp(&least.0),
        Kind::Float | Kind::Symbol | Kind::Compound => return false,
    };
    match (a, b) {
        (Operator::Greater, Operator::Greater)
        | (Operator::GreaterOrEqual, Operator::GreaterOrEqual | Operator::Greater) => order.is_le(),
        (Operator::Greater, Operator::GreaterOrEqual) => order.is_lt(),
        (Operator::Less, Operator::Less)
        | (Operator::LessOrEqual, Operator::LessOrEqual | Operator::Less) => order.is_ge(),
        (Operator::Less, Operator::LessOrEqual) => order.is_gt(),
        _ => false,
    }
}
