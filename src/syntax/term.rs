//! The grammar of terms.

use nom::combinator::cut;
use nom::{Err, Parser};

use crate::source::Diagnostic;
use crate::syntax::ast::Aggregate;
use crate::syntax::ast::AggregateKind;
use crate::syntax::ast::BinaryOperator;
use crate::syntax::ast::Condition;
use crate::syntax::ast::Name;
use crate::syntax::ast::Term;
use crate::syntax::ast::TermKind;
use crate::syntax::ast::UnaryOperator;
use crate::syntax::rule;
use crate::syntax::text;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Parsed;
use crate::syntax::tokens::Tokens;
use crate::syntax::tokens::name;
use crate::syntax::tokens::nested;
use crate::syntax::tokens::one;

const TERM: &str = "a term";

/// `term = operand (operator operand)*`, grouped by how tightly the operators bind
pub(crate) fn term(input: Tokens<'_>) -> Parsed<'_, Term> {
    nested(input, |input| operation(input, 0))
}

/// `list(close) = [term ("," term)*] close`
pub(crate) fn list<'a>(input: Tokens<'a>, close: Kind, what: &'static str) -> Parsed<'a, Vec<Term>> {
    if input.kind(0) == Some(close) {
        return Ok((input.rest(), Vec::new()));
    }
    let (mut input, first) = cut(term).parse(input)?;
    let mut terms = vec![first];
    while input.kind(0) == Some(Kind::Comma) {
        let (rest, next) = cut(term).parse(input.rest())?;
        terms.push(next);
        input = rest;
    }
    let (rest, _) = cut(one(close, what)).parse(input)?;
    Ok((rest, terms))
}

/// `arguments = "(" list(")")`
pub(crate) fn arguments(input: Tokens<'_>) -> Parsed<'_, Vec<Term>> {
    let (rest, _) = one(Kind::Open, "`(`")(input)?;
    list(rest, Kind::Close, "`,` or `)`")
}

/// The operator that the input starts with, and how tightly it binds.
pub(crate) fn infix(input: Tokens<'_>) -> Option<(BinaryOperator, u8)> {
    let found = match input.kind(0)? {
        Kind::Plus => (BinaryOperator::Add, 7),
        Kind::Minus => (BinaryOperator::Subtract, 7),
        Kind::Star => (BinaryOperator::Multiply, 8),
        Kind::Slash => (BinaryOperator::Divide, 8),
        Kind::Percent => (BinaryOperator::Remainder, 8),
        Kind::Caret => (BinaryOperator::Power, 10),
        Kind::Word => return input.word().and_then(word_operator),
        _ => return None,
    };
    Some(found)
}

fn word_operator(word: &str) -> Option<(BinaryOperator, u8)> {
    let found = match word {
        "lor" => (BinaryOperator::LogicalOr, 0),
        "lxor" => (BinaryOperator::LogicalXor, 1),
        "land" => (BinaryOperator::LogicalAnd, 2),
        "bor" => (BinaryOperator::BitOr, 3),
        "bxor" => (BinaryOperator::BitXor, 4),
        "band" => (BinaryOperator::BitAnd, 5),
        "bshl" => (BinaryOperator::ShiftLeft, 6),
        "bshr" => (BinaryOperator::ShiftRight, 6),
        "bshru" => (BinaryOperator::ShiftRightUnsigned, 6),
        _ => return None,
    };
    Some(found)
}

/// `operation = unary (infix operation)*`, of operators that bind at least that tightly
fn operation(input: Tokens<'_>, floor: u8) -> Parsed<'_, Term> {
    let (rest, left) = unary(input)?;
    operators(rest, left, floor)
}

/// `operators = (infix operation)*`, after a left side
fn operators<'a>(input: Tokens<'a>, left: Term, floor: u8) -> Parsed<'a, Term> {
    let (mut input, mut left) = (input, left);
    while let Some((operator, binding)) = infix(input)
        && binding >= floor
    {
        let height = input.height();
        let (rest, right) = match nested(input.rest(), |input| operation(input, binding + 1)) {
            Err(Err::Error(fault)) => return Err(Err::Failure(fault)),
            other => other?,
        };
        input = rest.raised(height)?;
        let span = left.span.to(right.span);
        left = Term { kind: TermKind::Binary(operator, Box::new(left), Box::new(right)), span };
    }
    Ok((input, left))
}

/// `unary = ("-" | "bnot" | "lnot") unary | power`
fn unary(input: Tokens<'_>) -> Parsed<'_, Term> {
    let operator = match (input.kind(0), input.word()) {
        (Some(Kind::Minus), _) => UnaryOperator::Negate,
        (_, Some("bnot")) => UnaryOperator::BitNot,
        (_, Some("lnot")) => UnaryOperator::LogicalNot,
        _ => return power(input),
    };
    let start = input.span();
    let (rest, operand) = nested(input.rest(), unary)?;
    let span = start.to(operand.span);
    Ok((rest, Term { kind: TermKind::Unary(operator, Box::new(operand)), span }))
}

/// `power = primary ["^" unary]`
fn power(input: Tokens<'_>) -> Parsed<'_, Term> {
    let (rest, base) = primary(input)?;
    raised_to(rest, base)
}

fn raised_to<'a>(input: Tokens<'a>, base: Term) -> Parsed<'a, Term> {
    if input.kind(0) != Some(Kind::Caret) {
        return Ok((input, base));
    }
    let height = input.height();
    let (rest, exponent) = nested(input.rest(), unary)?;
    let span = base.span.to(exponent.span);
    let kind = TermKind::Binary(BinaryOperator::Power, Box::new(base), Box::new(exponent));
    Ok((rest.raised(height)?, Term { kind, span }))
}

/// `primary = "(" term ")" | "[" list("]") | variant | functor | text | number | word`
fn primary(input: Tokens<'_>) -> Parsed<'_, Term> {
    let Some(token) = input.first() else { return Err(Err::Error(input.wanted(TERM))) };
    let kind = match token.kind {
        Kind::Open => return group(input),
        Kind::OpenBracket => return record(input),
        Kind::Dollar => return variant(input),
        Kind::At => return functor(input),
        Kind::Word => return word(input, input.page.slice(token.span)),
        Kind::Text => TermKind::Text(text::decode(input.page.slice(token.span))),
        Kind::Integer(value) => TermKind::Integer(value),
        Kind::Unsigned(value) => TermKind::Unsigned(value),
        Kind::Float(value) => TermKind::Float(value),
        _ => return Err(Err::Error(input.wanted(TERM))),
    };
    Ok((input.rest(), Term { kind, span: token.span }))
}

/// `group = "(" term ")"`
fn group(input: Tokens<'_>) -> Parsed<'_, Term> {
    let start = input.span();
    let (rest, inner) = cut(term).parse(input.rest())?;
    let (rest, end) = cut(one(Kind::Close, "an operator or `)`")).parse(rest)?;
    Ok((rest, Term { kind: inner.kind, span: start.to(end) }))
}

/// `record = "[" list("]")`
fn record(input: Tokens<'_>) -> Parsed<'_, Term> {
    let start = input.span();
    let (rest, terms) = list(input.rest(), Kind::CloseBracket, "`,` or `]`")?;
    Ok((rest, Term { kind: TermKind::Record(terms), span: rest.since(start) }))
}

/// `variant = "$" name [arguments]`
fn variant(input: Tokens<'_>) -> Parsed<'_, Term> {
    let start = input.span();
    let (rest, name) = cut(name("a variant name")).parse(input.rest())?;
    let (rest, terms) = if rest.kind(0) == Some(Kind::Open) { arguments(rest)? } else { (rest, Vec::new()) };
    Ok((rest, Term { kind: TermKind::Variant(name, terms), span: rest.since(start) }))
}

/// `functor = "@" name arguments`
fn functor(input: Tokens<'_>) -> Parsed<'_, Term> {
    let start = input.span();
    let (rest, name) = cut(name("a functor name")).parse(input.rest())?;
    let (rest, terms) = cut(arguments).parse(rest)?;
    Ok((rest, Term { kind: TermKind::Functor(name, terms), span: rest.since(start) }))
}

/// `word = "_" | "nil" | "as" … | aggregate | intrinsic | variable ("." name)*`
fn word<'a>(input: Tokens<'a>, text: &str) -> Parsed<'a, Term> {
    let span = input.span();
    match text {
        "_" => Ok((input.rest(), Term { kind: TermKind::Wildcard, span })),
        "nil" => Ok((input.rest(), Term { kind: TermKind::Nil, span })),
        "as" => cast(input),
        "count" => aggregate(input, AggregateKind::Count),
        "sum" => aggregate(input, AggregateKind::Sum),
        "mean" => aggregate(input, AggregateKind::Mean),
        "min" if takes_target(input) => aggregate(input, AggregateKind::Min),
        "max" if takes_target(input) => aggregate(input, AggregateKind::Max),
        "min" | "max" | "cat" | "strlen" | "substr" | "to_number" | "to_unsigned" | "to_float"
        | "to_string" | "range" | "ord" => intrinsic(input, text),
        "autoinc" => input.tell(
            Diagnostic::error("E0006", span, "`autoinc` is not supported")
                .with_label("not there")
                .with_help("a counter would depend on the order of evaluation; use a value of the records"),
        ),
        _ => fields(input),
    }
}

/// Whether `min` or `max` is an aggregate here: no list of two or more arguments follows.
fn takes_target(input: Tokens<'_>) -> bool {
    input.look(1).is_some_and(|next| next.kind != Kind::Open || !next.many)
}

/// `intrinsic = word arguments`
fn intrinsic<'a>(input: Tokens<'a>, text: &str) -> Parsed<'a, Term> {
    let name = Name { text: text.to_owned(), span: input.span() };
    let (rest, terms) = cut(arguments).parse(input.rest())?;
    let span = rest.since(name.span);
    Ok((rest, Term { kind: TermKind::Intrinsic(name, terms), span }))
}

/// `cast = "as" "(" term "," name ")"`
fn cast(input: Tokens<'_>) -> Parsed<'_, Term> {
    let start = input.span();
    let (rest, _) = cut(one(Kind::Open, "`(`")).parse(input.rest())?;
    let (rest, subject) = cut(term).parse(rest)?;
    let (rest, _) = cut(one(Kind::Comma, "`,` and a type")).parse(rest)?;
    let (rest, name) = cut(name("a type name")).parse(rest)?;
    let (rest, end) = cut(one(Kind::Close, "`)`")).parse(rest)?;
    Ok((rest, Term { kind: TermKind::Cast(Box::new(subject), name), span: start.to(end) }))
}

/// `fields = name ("." name)*`
fn fields(input: Tokens<'_>) -> Parsed<'_, Term> {
    let (mut input, variable) = name(TERM)(input)?;
    let start = variable.span;
    let mut term = Term { kind: TermKind::Variable(variable.text), span: start };
    while input.kind(0) == Some(Kind::Dot) {
        let height = input.height();
        let (rest, field) = cut(name("a field name")).parse(input.rest())?;
        let span = start.to(field.span);
        term = Term { kind: TermKind::Field(Box::new(term), field), span };
        input = rest.raised(height)?;
    }
    Ok((input, term))
}

/// `aggregate = "count" ":" scope | ("sum" | "min" | "max" | "mean") term ":" scope`
fn aggregate(input: Tokens<'_>, kind: AggregateKind) -> Parsed<'_, Term> {
    let start = input.span();
    let (rest, target) = match kind {
        AggregateKind::Count => (input.rest(), None),
        AggregateKind::Sum | AggregateKind::Min | AggregateKind::Max | AggregateKind::Mean => {
            let (rest, target) = cut(term).parse(input.rest())?;
            (rest, Some(target))
        }
    };
    let (rest, _) = cut(one(Kind::Colon, "`:` and the aggregate's body")).parse(rest)?;
    let (rest, body) = cut(scope).parse(rest)?;
    let kind = TermKind::Aggregate(Box::new(Aggregate { kind, target, body }));
    Ok((rest, Term { kind, span: rest.since(start) }))
}

/// `scope = "{" body "}" | atom`
fn scope(input: Tokens<'_>) -> Parsed<'_, Condition> {
    if input.kind(0) != Some(Kind::OpenBrace) {
        return rule::atom("`{` or a relation name").map(Condition::Atom).parse(input);
    }
    let (rest, body) = rule::body(input.rest())?;
    let (rest, _) = cut(one(Kind::CloseBrace, "`,`, `;` or `}`")).parse(rest)?;
    Ok((rest, body))
}

#[cfg(test)]
mod tests {
    use crate::source::FileId;
    use crate::syntax::parse;

    fn codes(text: &str) -> Vec<&'static str> {
        parse(FileId(0), text).1.iter().map(|finding| finding.code).collect()
    }

    /// Groups within groups, each with a row of operators behind it: the tree is as high as all rows together.
    #[test]
    fn rows_of_operators_count_as_depth() {
        let nest = |groups: usize, row: &str, length: usize| {
            let inner =
                (0..groups).fold("x".to_owned(), |inner, _| format!("({inner}{})", row.repeat(length)));
            format!("A({inner}).")
        };
        for (groups, row, length, refused) in [
            (1, " + 1", 60, false),
            (3, " + 1", 60, true),
            (3, " * y - 1", 40, true),
            (1, " ^ 2", 60, false),
            (2, " ^ 2", 120, true),
            (30, " + 1", 1, false),
            (60, " + 1", 1, true),
            (90, "", 0, false),
            (110, "", 0, true),
        ] {
            let wanted = if refused { vec!["E0005"] } else { Vec::new() };
            assert_eq!(codes(&nest(groups, row, length)), wanted, "{groups} groups with {length} of `{row}`");
        }
        assert_eq!(codes(&format!("A(x{}).", ".f".repeat(90))), [""; 0]);
        assert_eq!(codes(&format!("A(x{}).", ".f".repeat(110))), ["E0005"]);
    }
}
