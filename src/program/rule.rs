//! The rules of a checked program.
//!
//! Dot access, disjunction, several heads, aliases, annotations and qualified names are gone; what is left is what the
//! engine runs. `m.contents` has become the literal `m = [contents, …]`, `(a ; b)` two rules, `!(a, b)` by De Morgan
//! more rules, `match(p, s)` the test `match(p, s) = 1` and `!match(p, s)` the test `match(p, s) = 0`, a functor in an
//! argument of an atom a fresh variable and a test.

use std::collections::BTreeSet;

use crate::functor;
use crate::functor::FunctorId;
use crate::program::RelationId;
use crate::program::types::TypeId;
use crate::source::Span;
use crate::syntax::ast::{AggregateKind, ComparisonOperator};
use crate::value::{ConstructorId, Kind, Word};

/// A rule, by its number in `Program::rules`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// A variable, by its number in [`Rule::variables`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableId(pub u32);

/// A variable of one rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    /// As written; empty for one that the checker made.
    pub name: String,
    /// Its type.
    pub type_id: TypeId,
}

/// `head :- body.`; a fact has an empty body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The head. Its terms may be calls; no wildcard.
    pub head: Atom,
    /// Conditions in the order of the text (those the checker made stand beside what they came from). Every variable of
    /// the rule is bound by a positive atom, or by an equality with terms that are bound.
    pub body: Vec<Literal>,
    /// Its variables, inner ones of aggregates included.
    pub variables: Vec<Variable>,
    /// The head as written; errors name its place.
    pub span: Span,
}

/// A condition of a rule body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    /// Holds when a matching tuple is present, and binds its variables. Terms are variables, constants, wildcards, or
    /// `Construct` patterns of such; never calls.
    Positive(Atom),
    /// Holds when no tuple matches. Its relation is complete before the stratum starts. Variables are bound; `_` means
    /// any value; terms may be total calls and `Construct`s of bound terms.
    Negative(Atom),
    /// A comparison. `=` binds: a side that is an unbound variable takes the other side's value; a `Construct` side with
    /// unbound variables is a pattern for the other side's value; a side that is a call of a generator is enumerated.
    Test(Comparison),
    /// An aggregate; binds its result, or compares with it if it is bound.
    Aggregate(Aggregate),
}

impl Literal {
    /// The literal as written.
    #[must_use]
    pub fn span(&self) -> Span {
        match self {
            Self::Positive(atom) | Self::Negative(atom) => atom.span,
            Self::Test(test) => test.span,
            Self::Aggregate(aggregate) => aggregate.span,
        }
    }
}

/// `relation(terms)`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Atom {
    /// The relation.
    pub relation: RelationId,
    /// One term for each column.
    pub terms: Vec<Term>,
    /// The atom as written; for one that the checker made, what it came from. Messages quote this text.
    pub span: Span,
}

/// `left operator right`, both of one kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// The operator.
    pub operator: ComparisonOperator,
    /// How both sides are read. Texts compare by code point, floats by IEEE for the ordering operators; `=` and `!=` on
    /// floats compare by IEEE too where neither side is being bound.
    pub kind: Kind,
    /// Left side.
    pub left: Term,
    /// Right side.
    pub right: Term,
    /// The literal as written.
    pub span: Span,
}

/// `result = function target : { body }`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Aggregate {
    /// What is computed.
    pub function: AggregateKind,
    /// Kind of target and result (`count`: `Number`; `mean`: `Float`).
    pub kind: Kind,
    /// Takes the result.
    pub result: VariableId,
    /// Over which expression; absent for `count`.
    pub target: Option<Term>,
    /// Conditions. Variables that are bound outside are group keys (listed in `outer`); all others are inner.
    pub body: Vec<Literal>,
    /// Variables of the body that take their value from outside.
    pub outer: Vec<VariableId>,
    /// Inner variables that tell rows apart. `None`: every tuple of the one positive atom counts, wildcards included.
    /// `Some`: the distinct values of these variables count (two or more atoms, a nested aggregate, or a variable twice
    /// in the one atom).
    pub distinct: Option<Vec<VariableId>>,
    /// For `min` and `max`: inner variables that are used outside, bound to every row that reaches the extreme.
    pub witnesses: Vec<VariableId>,
    /// The aggregate as written.
    pub span: Span,
}

/// A term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    /// A variable.
    Variable(VariableId),
    /// A constant.
    Constant(Word),
    /// `_`, in atoms and patterns alone.
    Wildcard,
    /// A record or variant: a value where its fields are bound, else a pattern.
    Construct(ConstructorId, Vec<Self>),
    /// A function applied to bound terms.
    Call(Box<Call>),
}

impl Term {
    /// Adds the variables of the term.
    pub(crate) fn variables(&self, into: &mut BTreeSet<VariableId>) {
        match self {
            Self::Variable(id) => {
                into.insert(*id);
            }
            Self::Constant(_) | Self::Wildcard => {}
            Self::Construct(_, terms) => terms.iter().for_each(|term| term.variables(into)),
            Self::Call(call) => call.arguments.iter().for_each(|term| term.variables(into)),
        }
    }
}

/// `function(arguments)`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What is applied.
    pub function: Function,
    /// To what.
    pub arguments: Vec<Term>,
    /// Kind of each argument.
    pub kinds: Vec<Kind>,
    /// As written.
    pub span: Span,
}

impl Call {
    /// Whether the call gives any number of values.
    #[must_use]
    pub fn is_generator(&self) -> bool {
        match self.function {
            Function::Functor { id, .. } => {
                functor::get(id).is_some_and(|functor| functor.mode == functor::Mode::Generator)
            }
            Function::Range(_) => true,
            Function::Arithmetic(..) | Function::Cast(..) | Function::Show(_) => false,
        }
    }
}

/// What a [`Call`] applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Function {
    /// A functor, an `@` name or a word such as `cat`. A literal pattern that was checked at load makes the call
    /// infallible (`fallible` tells).
    Functor {
        /// Which.
        id: FunctorId,
        /// Whether this call can raise an evaluation error.
        fallible: bool,
    },
    /// An operator on two numbers (or one, for the unary ones) of this kind.
    Arithmetic(Arithmetic, Kind),
    /// `range(a, b[, step])`, a generator.
    Range(Kind),
    /// `as(x, T)` between kinds of numbers; a value that the other kind cannot hold is an evaluation error.
    Cast(Kind, Kind),
    /// A value of any type as text, for placeholders in messages: control and bidi characters escaped, capped.
    Show(TypeId),
}

impl Function {
    /// The concatenation of texts.
    pub(crate) fn concatenation() -> Option<Self> {
        let id = functor::find("cat", true)?;
        Some(Self::Functor { id, fallible: functor::get(id)?.fallible })
    }
}

/// Operators. Those that can fail by overflow, division by zero or a shift out of range: all but the bitwise and logical
/// ones, `Min` and `Max`; on floats none fails.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the operator of that name")]
pub enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
    Negate,
    BitAnd,
    BitOr,
    BitXor,
    BitNot,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    LogicalNot,
    Min,
    Max,
}

impl Arithmetic {
    /// Whether the operator can raise an evaluation error on numbers of that kind.
    #[must_use]
    pub fn fallible(self, kind: Kind) -> bool {
        match self {
            Self::Add
            | Self::Subtract
            | Self::Multiply
            | Self::Divide
            | Self::Remainder
            | Self::Power
            | Self::Negate
            | Self::ShiftLeft
            | Self::ShiftRight
            | Self::ShiftRightUnsigned => kind != Kind::Float,
            Self::BitAnd
            | Self::BitOr
            | Self::BitXor
            | Self::BitNot
            | Self::LogicalAnd
            | Self::LogicalOr
            | Self::LogicalXor
            | Self::LogicalNot
            | Self::Min
            | Self::Max => false,
        }
    }
}
