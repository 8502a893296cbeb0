//! The grammar of facts, rules and their bodies.

use nom::combinator::cut;
use nom::multi::separated_list1;
use nom::sequence::preceded;
use nom::{Err, Parser};

use crate::syntax::ast::Atom;
use crate::syntax::ast::Comparison;
use crate::syntax::ast::ComparisonOperator;
use crate::syntax::ast::Condition;
use crate::syntax::ast::Rule;
use crate::syntax::ast::TextTest;
use crate::syntax::term::arguments;
use crate::syntax::term::infix;
use crate::syntax::term::term;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Parsed;
use crate::syntax::tokens::Tokens;
use crate::syntax::tokens::is_keyword;
use crate::syntax::tokens::name;
use crate::syntax::tokens::nested;
use crate::syntax::tokens::one;

/// What a statement that starts with an atom turns out to be.
pub(crate) enum Statement {
    /// A fact or a rule.
    Rule(Box<Rule>),
    /// `head <= head …`, read up to the sign.
    Subsumption,
}

/// `rule = atom ("," atom)* ":-" body "." | atom "."`
pub(crate) fn rule(input: Tokens<'_>) -> Parsed<'_, Statement> {
    let start = input.span();
    let head = atom("a relation name");
    let (rest, heads) = separated_list1(one(Kind::Comma, "`,`"), cut(head)).parse(input)?;
    let alone = heads.len() == 1;
    let (rest, body) = match rest.kind(0) {
        Some(Kind::If) => cut(body).map(Some).parse(rest.rest())?,
        Some(Kind::LessOrEqual) if alone => return Ok((rest, Statement::Subsumption)),
        Some(Kind::Stop) if alone => (rest, None),
        _ if alone => return rest.refuse("`.`, `:-` or `,`"),
        _ => return rest.refuse("`:-` or `,`"),
    };
    let (rest, end) = cut(one(Kind::Stop, "`,`, `;` or `.`")).parse(rest)?;
    let annotations = Vec::new();
    let rule = Rule { heads, body, annotations, span: start.to(end) };
    Ok((rest, Statement::Rule(Box::new(rule))))
}

/// `atom = name arguments`
pub(crate) fn atom<'a>(what: &'static str) -> impl Fn(Tokens<'a>) -> Parsed<'a, Atom> {
    move |input| {
        let (rest, relation) = name(what)(input)?;
        let (rest, terms) = cut(arguments).parse(rest)?;
        let span = rest.since(relation.span);
        Ok((rest, Atom { relation, terms, span }))
    }
}

/// `body = conjunction (";" conjunction)*`
pub(crate) fn body(input: Tokens<'_>) -> Parsed<'_, Condition> {
    nested(input, |input| joined(input, Kind::Semicolon, conjunction, Condition::Or))
}

/// `conjunction = literal ("," literal)*`
fn conjunction(input: Tokens<'_>) -> Parsed<'_, Condition> {
    joined(input, Kind::Comma, literal, Condition::And)
}

/// `joined(sign, part) = part (sign part)*`; a single part stands for itself
fn joined<'a>(
    input: Tokens<'a>,
    sign: Kind,
    part: fn(Tokens<'a>) -> Parsed<'a, Condition>,
    join: fn(Vec<Condition>) -> Condition,
) -> Parsed<'a, Condition> {
    let (mut input, first) = part(input)?;
    if input.kind(0) != Some(sign) {
        return Ok((input, first));
    }
    let mut parts = vec![first];
    while input.kind(0) == Some(sign) {
        let (rest, next) = cut(part).parse(input.rest())?;
        parts.push(next);
        input = rest;
    }
    Ok((input, join(parts)))
}

/// `literal = "!" literal | "(" body ")" | test | "true" | "false" | atom | comparison`
fn literal(input: Tokens<'_>) -> Parsed<'_, Condition> {
    match (input.kind(0), input.word()) {
        (Some(Kind::Bang), _) => negation(input),
        (Some(Kind::Open), _) if !encloses_term(input) => group(input),
        (_, Some("match")) => text_test(input, TextTest::Match),
        (_, Some("contains")) => text_test(input, TextTest::Contains),
        (_, Some("true")) => Ok((input.rest(), Condition::Constant(true, input.span()))),
        (_, Some("false")) => Ok((input.rest(), Condition::Constant(false, input.span()))),
        (_, Some(word)) if input.kind(1) == Some(Kind::Open) && !is_keyword(word) => {
            atom("a relation name").map(Condition::Atom).parse(input)
        }
        _ => comparison(input),
    }
}

/// Whether the parenthesis belongs to a term: behind it goes on what goes on behind a term.
fn encloses_term(input: Tokens<'_>) -> bool {
    let Some(close) = input.first().and_then(|open| open.partner) else { return false };
    let after = Tokens::new(input.page, close.saturating_add(1));
    infix(after).is_some() || operator(after).is_some()
}

/// `negation = "!" literal`
fn negation(input: Tokens<'_>) -> Parsed<'_, Condition> {
    let start = input.span();
    let (rest, inner) = nested(input.rest(), literal)?;
    Ok((rest, Condition::Not(Box::new(inner), rest.since(start))))
}

/// `group = "(" body ")"`
fn group(input: Tokens<'_>) -> Parsed<'_, Condition> {
    let (rest, inner) = body(input.rest())?;
    let (rest, _) = cut(one(Kind::Close, "`,`, `;` or `)`")).parse(rest)?;
    Ok((rest, inner))
}

/// `test = ("match" | "contains") "(" term "," term ")"`
fn text_test(input: Tokens<'_>, test: TextTest) -> Parsed<'_, Condition> {
    let start = input.span();
    let (rest, _) = cut(one(Kind::Open, "`(`")).parse(input.rest())?;
    let (rest, pattern) = cut(term).parse(rest)?;
    let (rest, text) = cut(preceded(one(Kind::Comma, "`,`"), term)).parse(rest)?;
    let (rest, end) = cut(one(Kind::Close, "`)`")).parse(rest)?;
    Ok((rest, Condition::TextTest { test, pattern, text, span: start.to(end) }))
}

/// `comparison = term ("=" | "==" | "!=" | "<" | "<=" | ">" | ">=") term`
fn comparison(input: Tokens<'_>) -> Parsed<'_, Condition> {
    let (rest, left) = match term(input) {
        Err(Err::Error(fault)) if fault.at == input.at => {
            return Err(Err::Error(input.wanted("a condition")));
        }
        other => other?,
    };
    let Some(operator) = operator(rest) else { return rest.refuse("a comparison such as `=`") };
    let (rest, right) = cut(term).parse(rest.rest())?;
    let span = left.span.to(right.span);
    Ok((rest, Condition::Comparison(Comparison { operator, left, right, span })))
}

fn operator(input: Tokens<'_>) -> Option<ComparisonOperator> {
    match input.kind(0)? {
        Kind::Equal => Some(ComparisonOperator::Equal),
        Kind::NotEqual => Some(ComparisonOperator::NotEqual),
        Kind::Less => Some(ComparisonOperator::Less),
        Kind::LessOrEqual => Some(ComparisonOperator::LessOrEqual),
        Kind::Greater => Some(ComparisonOperator::Greater),
        Kind::GreaterOrEqual => Some(ComparisonOperator::GreaterOrEqual),
        _ => None,
    }
}
