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
use crate::syntax::ast::ComparisonOperator;
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
            let sign = match comparison.operator {
                ComparisonOperator::Equal => "=",
                ComparisonOperator::NotEqual => "!=",
                ComparisonOperator::Less => "<",
                ComparisonOperator::LessOrEqual => "<=",
                ComparisonOperator::Greater => ">",
                ComparisonOperator::GreaterOrEqual => ">=",
            };
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
    use proptest::prelude::{BoxedStrategy, Just, Strategy, any, prop, prop_oneof, proptest};

    use super::*;
    use crate::source::FileId;
    use crate::source::Span;
    use crate::syntax::ast::Comparison;
    use crate::syntax::parse;

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
        let unary = prop::sample::select(vec![
            UnaryOperator::Negate,
            UnaryOperator::BitNot,
            UnaryOperator::LogicalNot,
        ]);
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

    fn a_rule() -> impl Strategy<Value = Item> {
        (several(an_atom(1), 1), a_condition(3)).prop_map(|(heads, body)| {
            Item::Rule(Rule { heads, body: Some(body), annotations: Vec::new(), span: NOWHERE })
        })
    }

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
