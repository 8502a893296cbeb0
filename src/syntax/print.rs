//! A syntax tree as text.
//!
//! In: an [`ast::Program`](crate::syntax::ast::Program). Out: text that parses to the same tree, places and free
//! comments aside.

use crate::syntax::ast::Aggregate;
use crate::syntax::ast::AggregateKind;
use crate::syntax::ast::Annotation;
use crate::syntax::ast::Atom;
use crate::syntax::ast::Attribute;
use crate::syntax::ast::BinaryOperator;
use crate::syntax::ast::Condition;
use crate::syntax::ast::Directive;
use crate::syntax::ast::DirectiveKind;
use crate::syntax::ast::Item;
use crate::syntax::ast::Name;
use crate::syntax::ast::Program;
use crate::syntax::ast::RelationDeclaration;
use crate::syntax::ast::Rule;
use crate::syntax::ast::Term;
use crate::syntax::ast::TermKind;
use crate::syntax::ast::TextTest;
use crate::syntax::ast::TypeDeclaration;
use crate::syntax::ast::TypeDefinition;
use crate::syntax::ast::UnaryOperator;
use crate::syntax::text::encode;

/// How tightly a unary operator binds: more than `*`, less than `^`.
const UNARY: u8 = 9;
/// How tightly `^` binds.
const POWER: u8 = 10;
/// What needs no parentheses anywhere.
const PRIMARY: u8 = 11;

/// Writes the program in its plain form, one statement after the other. Annotations and the documentation of
/// declarations are kept, other comments are not. A construct that is not supported stays one that is refused.
///
/// ```
/// use gatelog::source::FileId;
/// use gatelog::syntax::{parse, print};
///
/// let (program, _) = parse(FileId(0), "Large(x):-Amount(x),x>(100).");
/// assert_eq!(print(&program), "Large(x) :-\n    Amount(x),\n    x > 100.\n");
/// ```
#[must_use]
pub fn print(program: &Program) -> String {
    program.items.iter().map(item).collect()
}

fn item(item: &Item) -> String {
    match item {
        Item::Type(declaration) => type_declaration(declaration),
        Item::Relation(declaration) => relation(declaration),
        Item::Rule(statement) => rule(statement),
        Item::Directive(statement) => directive(statement),
        Item::Include(include) => format!(".include {}\n", encode(&include.path.text)),
        Item::Pragma(pragma) => {
            let value =
                pragma.value.as_ref().map_or_else(String::new, |value| format!(" {}", encode(&value.text)));
            format!(".pragma {}{value}\n", encode(&pragma.name.text))
        }
        Item::Unsupported { what, .. } if what.starts_with("subsumption") => {
            "_r() <= _r() :- true.\n".to_owned()
        }
        Item::Unsupported { what, .. } => format!("{what}\n"),
    }
}

fn joined<T>(parts: &[T], between: &str, show: impl Fn(&T) -> String) -> String {
    parts.iter().map(show).collect::<Vec<_>>().join(between)
}

fn names(names: &[Name], between: &str) -> String {
    joined(names, between, |name| name.text.clone())
}

fn type_declaration(declaration: &TypeDeclaration) -> String {
    let definition = match &declaration.definition {
        TypeDefinition::Subtype(base) => format!("<: {}", base.text),
        TypeDefinition::Alias(other) => format!("= {}", other.text),
        TypeDefinition::Union(members) => format!("= {}", names(members, " | ")),
        TypeDefinition::Record(fields) => format!("= [{}]", attributes(fields)),
        TypeDefinition::Variants(variants) => {
            let shown = joined(variants, " | ", |variant| {
                let fields = attributes(&variant.fields);
                let blank = if fields.is_empty() { "" } else { " " };
                format!("{} {{{blank}{fields}{blank}}}", variant.name.text)
            });
            format!("= {shown}")
        }
    };
    format!(".type {} {definition}\n", declaration.name.text)
}

fn attributes(attributes: &[Attribute]) -> String {
    joined(attributes, ", ", |attribute| format!("{}: {}", attribute.name.text, attribute.type_name.text))
}

fn relation(declaration: &RelationDeclaration) -> String {
    let mut text = String::from("\n");
    for line in declaration.documentation.lines() {
        let blank = if line.is_empty() { "" } else { " " };
        text.push_str(&format!("//{blank}{line}\n"));
    }
    text.push_str(&format!(".decl {}({})", declaration.name.text, attributes(&declaration.columns)));
    for qualifier in &declaration.qualifiers {
        text.push(' ');
        text.push_str(&qualifier.text);
    }
    text.push('\n');
    text
}

fn directive(directive: &Directive) -> String {
    let word = match directive.kind {
        DirectiveKind::Output => ".output",
        DirectiveKind::Input => ".input",
        DirectiveKind::PrintSize => ".printsize",
    };
    let parameters =
        joined(&directive.parameters, ", ", |(key, value)| format!("{}={}", key.text, encode(value)));
    let parameters = if parameters.is_empty() { parameters } else { format!("({parameters})") };
    format!("{word} {}{parameters}\n", directive.relation.text)
}

fn rule(rule: &Rule) -> String {
    let mut text = annotations(&rule.annotations);
    text.push_str(&joined(&rule.heads, ", ", atom));
    match &rule.body {
        None => {}
        Some(Condition::And(parts)) => {
            text.push_str(" :-\n    ");
            text.push_str(&joined(parts, ",\n    ", grouped));
        }
        Some(body) => {
            text.push_str(" :- ");
            text.push_str(&condition(body));
        }
    }
    text.push_str(".\n");
    text
}

/// Those apart from the rule by a blank line stay apart.
fn annotations(annotations: &[Annotation]) -> String {
    if annotations.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n");
    let mut attached = annotations.first().is_none_or(|first| first.adjacent);
    for annotation in annotations {
        if annotation.adjacent && !attached {
            text.push('\n');
            attached = true;
        }
        let value =
            if annotation.value.is_empty() { String::new() } else { format!(": {}", annotation.value) };
        text.push_str(&format!("// @{}{value}\n", annotation.key.text));
    }
    if !attached {
        text.push('\n');
    }
    text
}

fn atom(atom: &Atom) -> String {
    format!("{}({})", atom.relation.text, terms(&atom.terms))
}

/// A condition at the top of a body or of parentheses.
fn condition(body: &Condition) -> String {
    match body {
        Condition::Or(parts) => joined(parts, " ; ", |part| match part {
            Condition::And(parts) => joined(parts, ", ", grouped),
            part => grouped(part),
        }),
        Condition::And(parts) => joined(parts, ", ", grouped),
        part => grouped(part),
    }
}

/// A condition as one literal, in parentheses where it holds several.
fn grouped(part: &Condition) -> String {
    match part {
        Condition::And(_) | Condition::Or(_) => format!("({})", condition(part)),
        Condition::Not(inner, _) => format!("!{}", grouped(inner)),
        Condition::Atom(found) => atom(found),
        Condition::Comparison(comparison) => {
            let sign = comparison.operator.sign();
            format!("{} {sign} {}", term(&comparison.left, 0), term(&comparison.right, 0))
        }
        Condition::TextTest { test, pattern, text, .. } => {
            let word = match test {
                TextTest::Match => "match",
                TextTest::Contains => "contains",
            };
            format!("{word}({}, {})", term(pattern, 0), term(text, 0))
        }
        Condition::Constant(value, _) => value.to_string(),
    }
}

fn terms(terms: &[Term]) -> String {
    joined(terms, ", ", |part| term(part, 0))
}

/// A term in a place that takes what binds at least that tightly; anything looser gets parentheses.
fn term(shown: &Term, floor: u8) -> String {
    let (binding, text) = match &shown.kind {
        TermKind::Variable(name) => (PRIMARY, name.clone()),
        TermKind::Wildcard => (PRIMARY, "_".to_owned()),
        TermKind::Text(text) => (PRIMARY, encode(text)),
        TermKind::Integer(value) => (PRIMARY, value.to_string()),
        TermKind::Unsigned(value) => (PRIMARY, format!("{value}u")),
        TermKind::Float(value) => (PRIMARY, format!("{value:?}")),
        TermKind::Nil => (PRIMARY, "nil".to_owned()),
        TermKind::Record(parts) => (PRIMARY, format!("[{}]", terms(parts))),
        TermKind::Variant(name, parts) => (PRIMARY, format!("${}({})", name.text, terms(parts))),
        TermKind::Field(base, field) => (PRIMARY, format!("{}.{}", term(base, PRIMARY), field.text)),
        TermKind::Functor(name, parts) => (PRIMARY, format!("@{}({})", name.text, terms(parts))),
        TermKind::Intrinsic(name, parts) => (PRIMARY, format!("{}({})", name.text, terms(parts))),
        TermKind::Cast(inner, name) => (PRIMARY, format!("as({}, {})", term(inner, 0), name.text)),
        TermKind::Aggregate(found) => (PRIMARY, aggregate(found)),
        TermKind::Unary(operator, operand) => {
            let sign = match operator {
                UnaryOperator::Negate => "-",
                UnaryOperator::BitNot => "bnot ",
                UnaryOperator::LogicalNot => "lnot ",
            };
            (UNARY, format!("{sign}{}", term(operand, UNARY)))
        }
        TermKind::Binary(BinaryOperator::Power, base, exponent) => {
            (POWER, format!("{} ^ {}", term(base, PRIMARY), term(exponent, UNARY)))
        }
        TermKind::Binary(operator, left, right) => {
            let (sign, binding) = infix(*operator);
            (binding, format!("{} {sign} {}", term(left, binding), term(right, binding + 1)))
        }
    };
    if binding < floor { format!("({text})") } else { text }
}

fn infix(operator: BinaryOperator) -> (&'static str, u8) {
    match operator {
        BinaryOperator::LogicalOr => ("lor", 0),
        BinaryOperator::LogicalXor => ("lxor", 1),
        BinaryOperator::LogicalAnd => ("land", 2),
        BinaryOperator::BitOr => ("bor", 3),
        BinaryOperator::BitXor => ("bxor", 4),
        BinaryOperator::BitAnd => ("band", 5),
        BinaryOperator::ShiftLeft => ("bshl", 6),
        BinaryOperator::ShiftRight => ("bshr", 6),
        BinaryOperator::ShiftRightUnsigned => ("bshru", 6),
        BinaryOperator::Add => ("+", 7),
        BinaryOperator::Subtract => ("-", 7),
        BinaryOperator::Multiply => ("*", 8),
        BinaryOperator::Divide => ("/", 8),
        BinaryOperator::Remainder => ("%", 8),
        BinaryOperator::Power => ("^", POWER),
    }
}

fn aggregate(aggregate: &Aggregate) -> String {
    let word = match aggregate.kind {
        AggregateKind::Count => "count",
        AggregateKind::Sum => "sum",
        AggregateKind::Min => "min",
        AggregateKind::Max => "max",
        AggregateKind::Mean => "mean",
    };
    let target = aggregate.target.as_ref().map_or_else(String::new, |target| format!(" {}", term(target, 0)));
    format!("{word}{target} : {{ {} }}", condition(&aggregate.body))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop, proptest};

    use super::*;
    use crate::source::FileId;
    use crate::syntax::parse;
    use crate::syntax::random::a_rule;

    /// The tree in words, without places.
    fn bare(program: &Program) -> String {
        let shown = format!("{:?}", program.items);
        let mut parts = shown.split("Span {");
        let first = parts.next().unwrap_or("").to_owned();
        parts.fold(first, |text, part| text + part.split_once('}').map_or("", |(_, rest)| rest))
    }

    proptest! {
        #[test]
        fn printing_and_parsing_give_the_same_tree(items in prop::collection::vec(a_rule(), 1..4)) {
            let program = Program { items, comments: Vec::new() };
            let text = print(&program);
            let (again, findings) = parse(FileId(0), &text);
            assert_eq!(findings, [], "{text}");
            assert_eq!(bare(&program), bare(&again), "{text}");
        }
    }
}
