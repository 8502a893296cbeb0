//! Programs for tests.
//!
//! In: the randomness of `proptest`. Out: trees that parse.

use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_oneof};

use crate::source::FileId;
use crate::source::Span;
use crate::syntax::ast::Aggregate;
use crate::syntax::ast::AggregateKind;
use crate::syntax::ast::Atom;
use crate::syntax::ast::BinaryOperator;
use crate::syntax::ast::Comparison;
use crate::syntax::ast::ComparisonOperator;
use crate::syntax::ast::Condition;
use crate::syntax::ast::Item;
use crate::syntax::ast::Name;
use crate::syntax::ast::Rule;
use crate::syntax::ast::Term;
use crate::syntax::ast::TermKind;
use crate::syntax::ast::TextTest;
use crate::syntax::ast::UnaryOperator;

const NOWHERE: Span = Span { file: FileId(0), start: 0, end: 0 };

fn a_name() -> impl Strategy<Value = Name> {
    prop::sample::select(vec!["x", "Y_1", "p?", "decl", "choice", "not", "_z"])
        .prop_map(|text| Name { text: text.to_owned(), span: NOWHERE })
}

fn several<T: std::fmt::Debug>(
    part: impl Strategy<Value = T>,
    least: usize,
) -> impl Strategy<Value = Vec<T>> {
    prop::collection::vec(part, least..4)
}

fn leaf() -> BoxedStrategy<TermKind> {
    prop_oneof![
        a_name().prop_map(|name| TermKind::Variable(name.text)),
        Just(TermKind::Wildcard),
        Just(TermKind::Nil),
        any::<String>().prop_map(TermKind::Text),
        any::<u64>().prop_map(TermKind::Integer),
        any::<u64>().prop_map(TermKind::Unsigned),
        (0.0..f64::MAX).prop_map(TermKind::Float),
        (a_name(), several(a_name(), 1)).prop_map(|(base, fields)| {
            fields.into_iter().fold(TermKind::Variable(base.text), |kind, field| {
                TermKind::Field(Box::new(Term { kind, span: NOWHERE }), field)
            })
        }),
    ]
    .boxed()
}

fn a_term(depth: u32) -> BoxedStrategy<Term> {
    let place = |kind| Term { kind, span: NOWHERE };
    if depth == 0 {
        return leaf().prop_map(place).boxed();
    }
    let inner = || a_term(depth - 1);
    let unary =
        prop::sample::select(vec![UnaryOperator::Negate, UnaryOperator::BitNot, UnaryOperator::LogicalNot]);
    let binary = prop::sample::select(vec![
        BinaryOperator::Add,
        BinaryOperator::Subtract,
        BinaryOperator::Multiply,
        BinaryOperator::Remainder,
        BinaryOperator::Power,
        BinaryOperator::BitAnd,
        BinaryOperator::ShiftLeft,
        BinaryOperator::LogicalOr,
        BinaryOperator::LogicalAnd,
    ]);
    let word = prop::sample::select(vec!["min", "max"]);
    prop_oneof![
        leaf(),
        several(inner(), 0).prop_map(TermKind::Record),
        (a_name(), several(inner(), 0)).prop_map(|(name, terms)| TermKind::Variant(name, terms)),
        (a_name(), several(inner(), 0)).prop_map(|(name, terms)| TermKind::Functor(name, terms)),
        (word, several(inner(), 2)).prop_map(|(word, terms)| {
            TermKind::Intrinsic(Name { text: word.to_owned(), span: NOWHERE }, terms)
        }),
        (unary, inner()).prop_map(|(operator, term)| TermKind::Unary(operator, Box::new(term))),
        (binary, inner(), inner()).prop_map(|(operator, left, right)| TermKind::Binary(
            operator,
            Box::new(left),
            Box::new(right)
        )),
        (inner(), a_name()).prop_map(|(term, name)| TermKind::Cast(Box::new(term), name)),
        (any::<bool>(), inner(), a_condition(depth - 1)).prop_map(|(counts, target, body)| {
            let kind = if counts { AggregateKind::Count } else { AggregateKind::Max };
            let target = Some(target).filter(|_| !counts);
            TermKind::Aggregate(Box::new(Aggregate { kind, target, body }))
        }),
    ]
    .prop_map(place)
    .boxed()
}

fn an_atom(depth: u32) -> impl Strategy<Value = Atom> {
    (a_name(), several(a_term(depth), 0)).prop_map(|(relation, terms)| Atom {
        relation,
        terms,
        span: NOWHERE,
    })
}

fn a_condition(depth: u32) -> BoxedStrategy<Condition> {
    let operator = prop::sample::select(vec![
        ComparisonOperator::Equal,
        ComparisonOperator::NotEqual,
        ComparisonOperator::LessOrEqual,
    ]);
    let simple = prop_oneof![
        an_atom(depth).prop_map(Condition::Atom),
        any::<bool>().prop_map(|value| Condition::Constant(value, NOWHERE)),
        (operator, a_term(depth), a_term(depth)).prop_map(|(operator, left, right)| {
            Condition::Comparison(Comparison { operator, left, right, span: NOWHERE })
        }),
        (a_term(depth), a_term(depth)).prop_map(|(pattern, text)| {
            Condition::TextTest { test: TextTest::Match, pattern, text, span: NOWHERE }
        }),
    ];
    if depth == 0 {
        return simple.boxed();
    }
    let inner = || a_condition(depth - 1);
    prop_oneof![
        simple,
        inner().prop_map(|condition| Condition::Not(Box::new(condition), NOWHERE)),
        several(inner(), 2).prop_map(Condition::And),
        several(inner(), 2).prop_map(Condition::Or),
    ]
    .boxed()
}

/// A rule without annotations.
pub(crate) fn a_rule() -> impl Strategy<Value = Item> {
    (several(an_atom(1), 1), a_condition(3)).prop_map(|(heads, body)| {
        Item::Rule(Rule { heads, body: Some(body), annotations: Vec::new(), span: NOWHERE })
    })
}
