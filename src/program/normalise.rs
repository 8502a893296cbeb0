//! Rule bodies to alternatives: `;` and `!( … )` are gone, each alternative is a list of literals.

use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::ComparisonOperator;

/// How many alternatives a body may have.
pub(crate) const MAX_ALTERNATIVES: usize = 1024;

/// One literal of an alternative. `negated` says that it stands under an odd number of `!`; the operator of a comparison
/// is turned round already.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Flat<'a> {
    Atom {
        atom: &'a ast::Atom,
        negated: bool,
    },
    Compare {
        operator: ComparisonOperator,
        left: &'a ast::Term,
        right: &'a ast::Term,
        span: Span,
        negated: bool,
    },
    Text {
        test: ast::TextTest,
        pattern: &'a ast::Term,
        text: &'a ast::Term,
        span: Span,
        negated: bool,
    },
    Never(Span),
}

/// How many alternatives the condition has.
pub(crate) fn count(condition: &ast::Condition, negated: bool) -> usize {
    match (condition, negated) {
        (ast::Condition::And(parts), false) | (ast::Condition::Or(parts), true) => {
            parts.iter().map(|part| count(part, negated)).fold(1, usize::saturating_mul)
        }
        (ast::Condition::Or(parts), false) | (ast::Condition::And(parts), true) => {
            parts.iter().map(|part| count(part, negated)).fold(0, usize::saturating_add)
        }
        (ast::Condition::Not(inner, _), _) => count(inner, !negated),
        (
            ast::Condition::Atom(_)
            | ast::Condition::Comparison(_)
            | ast::Condition::TextTest { .. }
            | ast::Condition::Constant(..),
            _,
        ) => 1,
    }
}

/// The alternatives, in the order of the text. The caller has seen to it that there are not too many.
pub(crate) fn alternatives(condition: &ast::Condition, negated: bool) -> Vec<Vec<Flat<'_>>> {
    match (condition, negated) {
        (ast::Condition::And(parts), false) | (ast::Condition::Or(parts), true) => {
            let mut all: Vec<Vec<Flat<'_>>> = vec![Vec::new()];
            for part in parts {
                let next = alternatives(part, negated);
                if let [only] = &next[..] {
                    all.iter_mut().for_each(|before| before.extend(only));
                    continue;
                }
                let mut joined = Vec::with_capacity(all.len() * next.len());
                for before in &all {
                    joined.extend(next.iter().map(|after| before.iter().chain(after).copied().collect()));
                }
                all = joined;
            }
            all
        }
        (ast::Condition::Or(parts), false) | (ast::Condition::And(parts), true) => {
            parts.iter().flat_map(|part| alternatives(part, negated)).collect()
        }
        (ast::Condition::Not(inner, _), _) => alternatives(inner, !negated),
        (ast::Condition::Atom(atom), _) => vec![vec![Flat::Atom { atom, negated }]],
        (ast::Condition::Comparison(comparison), _) => {
            let operator = if negated { opposite(comparison.operator) } else { comparison.operator };
            let (left, right, span) = (&comparison.left, &comparison.right, comparison.span);
            vec![vec![Flat::Compare { operator, left, right, span, negated }]]
        }
        (ast::Condition::TextTest { test, pattern, text, span }, _) => {
            vec![vec![Flat::Text { test: *test, pattern, text, span: *span, negated }]]
        }
        (ast::Condition::Constant(value, span), _) => {
            if *value == negated {
                vec![vec![Flat::Never(*span)]]
            } else {
                vec![Vec::new()]
            }
        }
    }
}

fn opposite(operator: ComparisonOperator) -> ComparisonOperator {
    match operator {
        ComparisonOperator::Equal => ComparisonOperator::NotEqual,
        ComparisonOperator::NotEqual => ComparisonOperator::Equal,
        ComparisonOperator::Less => ComparisonOperator::GreaterOrEqual,
        ComparisonOperator::LessOrEqual => ComparisonOperator::Greater,
        ComparisonOperator::Greater => ComparisonOperator::LessOrEqual,
        ComparisonOperator::GreaterOrEqual => ComparisonOperator::Less,
    }
}

impl<'a> Flat<'a> {
    /// The terms of the literal.
    pub(crate) fn terms(&self) -> Vec<&'a ast::Term> {
        match *self {
            Self::Atom { atom, .. } => atom.terms.iter().collect(),
            Self::Compare { left, right, .. } => vec![left, right],
            Self::Text { pattern, text, .. } => vec![pattern, text],
            Self::Never(_) => Vec::new(),
        }
    }
}

/// The parts of a term that stand directly inside it; an aggregate has none.
pub(crate) fn parts(term: &ast::Term) -> Vec<&ast::Term> {
    match &term.kind {
        ast::TermKind::Record(terms)
        | ast::TermKind::Variant(_, terms)
        | ast::TermKind::Functor(_, terms)
        | ast::TermKind::Intrinsic(_, terms) => terms.iter().collect(),
        ast::TermKind::Field(base, _) | ast::TermKind::Unary(_, base) | ast::TermKind::Cast(base, _) => {
            vec![base]
        }
        ast::TermKind::Binary(_, left, right) => vec![left, right],
        ast::TermKind::Variable(_)
        | ast::TermKind::Wildcard
        | ast::TermKind::Text(_)
        | ast::TermKind::Integer(_)
        | ast::TermKind::Unsigned(_)
        | ast::TermKind::Float(_)
        | ast::TermKind::Nil
        | ast::TermKind::Aggregate(_) => Vec::new(),
    }
}

/// The terms that stand in a condition, those inside aggregates left to them.
pub(crate) fn terms_of<'a>(condition: &'a ast::Condition, into: &mut Vec<&'a ast::Term>) {
    match condition {
        ast::Condition::And(parts) | ast::Condition::Or(parts) => {
            parts.iter().for_each(|part| terms_of(part, into));
        }
        ast::Condition::Not(inner, _) => terms_of(inner, into),
        ast::Condition::Atom(atom) => into.extend(&atom.terms),
        ast::Condition::Comparison(comparison) => into.extend([&comparison.left, &comparison.right]),
        ast::Condition::TextTest { pattern, text, .. } => into.extend([pattern, text]),
        ast::Condition::Constant(..) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::FileId;

    fn span() -> Span {
        Span { file: FileId(0), start: 0, end: 0 }
    }

    fn atom(name: &str) -> ast::Condition {
        let relation = ast::Name { text: name.to_owned(), span: span() };
        ast::Condition::Atom(ast::Atom { relation, terms: Vec::new(), span: span() })
    }

    fn shown(condition: &ast::Condition) -> String {
        let literal = |flat: &Flat<'_>| match flat {
            Flat::Atom { atom, negated } => {
                format!("{}{}", if *negated { "!" } else { "" }, atom.relation.text)
            }
            Flat::Compare { .. } | Flat::Text { .. } => "test".to_owned(),
            Flat::Never(_) => "never".to_owned(),
        };
        let all = alternatives(condition, false);
        assert_eq!(all.len(), count(condition, false));
        let texts: Vec<String> =
            all.iter().map(|flat| flat.iter().map(literal).collect::<Vec<_>>().join(",")).collect();
        texts.join(" ; ")
    }

    #[test]
    fn negation_is_pushed_to_the_literals() {
        let not = |inner| ast::Condition::Not(Box::new(inner), span());
        let both = ast::Condition::And(vec![atom("A"), atom("B")]);
        let either = ast::Condition::Or(vec![atom("A"), atom("B")]);
        let rows = [
            (not(both), "!A ; !B"),
            (not(either.clone()), "!A,!B"),
            (not(not(atom("A"))), "A"),
            (ast::Condition::And(vec![either.clone(), either]), "A,A ; A,B ; B,A ; B,B"),
            (not(ast::Condition::Constant(true, span())), "never"),
            (ast::Condition::Constant(true, span()), ""),
        ];
        for (condition, expected) in rows {
            assert_eq!(shown(&condition), expected);
        }
    }
}
