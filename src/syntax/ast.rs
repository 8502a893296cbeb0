//! A policy as it is written.

use crate::source::Span;

/// A name with its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The name as written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// One file, statement by statement, in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Program {
    /// The statements.
    pub items: Vec<Item>,
    /// Every comment, in the order of the text, as written (markers included).
    pub comments: Vec<Comment>,
}

/// A comment as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comment {
    /// From the marker to the end of the line or the closing marker.
    pub span: Span,
}

/// One statement.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    /// `.type …`
    Type(TypeDeclaration),
    /// `.decl …`
    Relation(RelationDeclaration),
    /// A fact (no body) or a rule.
    Rule(Rule),
    /// `.output`, `.input`, `.printsize`, one for each name.
    Directive(Directive),
    /// `.include "x"` or `#include "x"`.
    Include(Include),
    /// `.pragma "name" "value"`.
    Pragma(Pragma),
    /// A construct of Soufflé that is recognised and not there (`.comp`, `.init`, `.plan`, `.functor`,
    /// subsumption `<=`, choice-domain, …). The checker makes it an error that names `what`.
    Unsupported {
        /// The construct in the user's words, such as `.plan`, or "subsumption `<=`" with the sign in backticks.
        what: String,
        /// The whole statement.
        span: Span,
    },
}

/// `.type …`
#[derive(Debug, Clone, PartialEq)]
pub struct TypeDeclaration {
    /// The new type.
    pub name: Name,
    /// What it is.
    pub definition: TypeDefinition,
    /// The whole statement.
    pub span: Span,
}

/// The right side of a `.type`.
#[derive(Debug, Clone, PartialEq)]
pub enum TypeDefinition {
    /// `<: base`
    Subtype(Name),
    /// `= other`
    Alias(Name),
    /// `= A | B` over type names.
    Union(Vec<Name>),
    /// `= [a: T, …]`
    Record(Vec<Attribute>),
    /// `= V1 { … } | V2 {}`
    Variants(Vec<VariantDeclaration>),
}

/// One variant of an algebraic type.
#[derive(Debug, Clone, PartialEq)]
pub struct VariantDeclaration {
    /// Its name, without `$`.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Attribute>,
}

/// `name: type`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribute {
    /// Column or field name.
    pub name: Name,
    /// Type name.
    pub type_name: Name,
}

/// `.decl R(a: T, …) qualifiers`; `.decl A, B(…)` gives one declaration for each name.
#[derive(Debug, Clone, PartialEq)]
pub struct RelationDeclaration {
    /// The relation.
    pub name: Name,
    /// Its columns.
    pub columns: Vec<Attribute>,
    /// `inline`, `eqrel`, `brie`, … as written.
    pub qualifiers: Vec<Name>,
    /// The comment lines directly above, without markers, joined by line ends; shown on hover.
    pub documentation: String,
    /// The whole statement.
    pub span: Span,
}

/// What a [`Directive`] asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DirectiveKind {
    /// `.output`
    Output,
    /// `.input`
    Input,
    /// `.printsize`
    PrintSize,
}

/// `.output R(k="v", …)`
#[derive(Debug, Clone, PartialEq)]
pub struct Directive {
    /// Which one.
    pub kind: DirectiveKind,
    /// The relation.
    pub relation: Name,
    /// `key="value"` or `key=word`, in order.
    pub parameters: Vec<(Name, String)>,
    /// The whole statement.
    pub span: Span,
}

/// `.include "x"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Include {
    /// The path as written, escapes decoded.
    pub path: Name,
    /// The whole statement.
    pub span: Span,
}

/// `.pragma "name" "value"`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pragma {
    /// First text.
    pub name: Name,
    /// Second text, if given.
    pub value: Option<Name>,
    /// The whole statement.
    pub span: Span,
}

/// `head {, head} [:- body] .`
#[derive(Debug, Clone, PartialEq)]
pub struct Rule {
    /// One or more heads.
    pub heads: Vec<Atom>,
    /// Absent for a fact.
    pub body: Option<Condition>,
    /// Annotations from the comments above, in order.
    pub annotations: Vec<Annotation>,
    /// From the first head to the full stop.
    pub span: Span,
}

/// `@key: value` in a comment above a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// The key as written, without `@`.
    pub key: Name,
    /// The value, trimmed; empty for a bare key.
    pub value: String,
    /// Where the value stands (an empty span after the key for a bare one).
    pub value_span: Span,
    /// Whether only comment lines and no blank line stand between this annotation and the rule.
    pub adjacent: bool,
}

/// A rule body, or a part of one.
#[derive(Debug, Clone, PartialEq)]
pub enum Condition {
    /// `a, b`
    And(Vec<Self>),
    /// `a ; b`
    Or(Vec<Self>),
    /// `! a`, also over parentheses.
    Not(Box<Self>, Span),
    /// `R(x, y)`
    Atom(Atom),
    /// `a < b`
    Comparison(Comparison),
    /// `match(pattern, text)` or `contains(part, text)`.
    TextTest {
        /// Which.
        test: TextTest,
        /// First argument: the pattern or the part.
        pattern: Term,
        /// Second argument: the text.
        text: Term,
        /// The whole literal.
        span: Span,
    },
    /// `true` or `false`.
    Constant(bool, Span),
}

/// The two infix-less tests of Soufflé.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextTest {
    /// `match(pattern, text)`: the whole text matches.
    Match,
    /// `contains(part, text)`.
    Contains,
}

/// `left op right`
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    /// The operator.
    pub operator: ComparisonOperator,
    /// Left side.
    pub left: Term,
    /// Right side.
    pub right: Term,
    /// The whole literal.
    pub span: Span,
}

/// `=` (or `==`), `!=`, `<`, `<=`, `>`, `>=`
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ComparisonOperator {
    /// `=` or `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl ComparisonOperator {
    /// As policies write it; equality is a single sign.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }
}

/// `R(t, …)`
#[derive(Debug, Clone, PartialEq)]
pub struct Atom {
    /// The relation.
    pub relation: Name,
    /// Its terms.
    pub terms: Vec<Term>,
    /// From the name to the closing parenthesis.
    pub span: Span,
}

/// A term with its place.
#[derive(Debug, Clone, PartialEq)]
pub struct Term {
    /// What it is.
    pub kind: TermKind,
    /// Where.
    pub span: Span,
}

/// What a term is.
#[derive(Debug, Clone, PartialEq)]
pub enum TermKind {
    /// `x`
    Variable(String),
    /// `_`
    Wildcard,
    /// `"text"`, escapes decoded.
    Text(String),
    /// A number without `u` and without a fraction; its value where it fits 65 bits, sign aside. A minus before it is
    /// a [`TermKind::Unary`]. The lexer reports a literal that no 64-bit type can hold.
    Integer(u64),
    /// `5u`
    Unsigned(u64),
    /// `1.5`, `1e3`
    Float(f64),
    /// `nil`
    Nil,
    /// `[a, b]`
    Record(Vec<Term>),
    /// `$Name(a, …)` or `$Name`
    Variant(Name, Vec<Term>),
    /// `base.field`
    Field(Box<Term>, Name),
    /// `@name(…)`
    Functor(Name, Vec<Term>),
    /// `cat(…)`, `strlen(…)`, `substr(…)`, `to_number(…)`, `to_unsigned`, `to_float`, `to_string`, `min(…)`, `max(…)`,
    /// `range(…)`, `ord(…)` (the checker says that it is not there): a built-in word before parentheses.
    Intrinsic(Name, Vec<Term>),
    /// `- a`, `bnot a`, `lnot a`
    Unary(UnaryOperator, Box<Term>),
    /// `a + b`
    Binary(BinaryOperator, Box<Term>, Box<Term>),
    /// `as(x, T)`
    Cast(Box<Term>, Name),
    /// `count : { … }`, `sum x : { … }`
    Aggregate(Box<Aggregate>),
}

/// `-`, `bnot`, `lnot`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnaryOperator {
    /// `-`
    Negate,
    /// `bnot`
    BitNot,
    /// `lnot`
    LogicalNot,
}

/// Infix operators on terms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BinaryOperator {
    /// `+` (on texts: concatenation)
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `^`
    Power,
    /// `band`
    BitAnd,
    /// `bor`
    BitOr,
    /// `bxor`
    BitXor,
    /// `bshl`
    ShiftLeft,
    /// `bshr`
    ShiftRight,
    /// `bshru`
    ShiftRightUnsigned,
    /// `land`
    LogicalAnd,
    /// `lor`
    LogicalOr,
    /// `lxor`
    LogicalXor,
}

/// `kind target : { body }`
#[derive(Debug, Clone, PartialEq)]
pub struct Aggregate {
    /// What is computed.
    pub kind: AggregateKind,
    /// The expression over which; absent for `count`.
    pub target: Option<Term>,
    /// The body.
    pub body: Condition,
}

/// The five aggregates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AggregateKind {
    /// `count`
    Count,
    /// `sum`
    Sum,
    /// `min`
    Min,
    /// `max`
    Max,
    /// `mean`
    Mean,
}
