//! Built-in functions.
//!
//! In: argument values. Out: one value, none, many, or an error in words. Never: sees a relation or a clock, panics,
//! loops, or gives two answers for the same arguments.

use crate::value::{Kind, Symbol};

/// A built-in function, by its number in [`table`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctorId(pub u16);

/// How many values a functor gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Always one.
    Total,
    /// One or none; without a value the literal fails.
    Partial,
    /// Any number.
    Generator,
}

/// What a text argument is, so that a literal can be checked at load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Any value.
    Plain,
    /// A JSON path.
    Path,
    /// A regular expression.
    Pattern,
    /// A glob.
    Glob,
}

/// One parameter of a [`Functor`].
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name, for messages and docs.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it is.
    pub role: Role,
}

/// A built-in function as the checker and the docs see it.
#[derive(Debug, Clone, Copy)]
pub struct Functor {
    /// Its name, without `@`.
    pub name: &'static str,
    /// Its parameters. With `variadic`, the last one repeats, zero times or more.
    pub parameters: &'static [Parameter],
    /// Whether the last parameter repeats (`cat`).
    pub variadic: bool,
    /// Type of the result.
    pub result: Kind,
    /// How many values.
    pub mode: Mode,
    /// Whether a call can raise an evaluation error (a pattern computed at run time, `to_number`).
    pub fallible: bool,
    /// Whether it is written as a word of the language (`match`, `cat`, `strlen`, …) and not with `@`.
    pub intrinsic: bool,
    /// One sentence: the value, and the value on a miss.
    pub documentation: &'static str,
}

/// An argument.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Argument<'a> {
    /// A text; the symbol keys caches.
    Text(&'a str, Symbol),
    /// A signed number.
    Number(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// A double.
    Float(f64),
}

/// A result.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// A text.
    Text(String),
    /// A signed number.
    Number(i64),
    /// An unsigned number.
    Unsigned(u64),
    /// A double.
    Float(f64),
}

/// Why a call has no answer at all. The check ends with it, and denies.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FunctorError {
    /// A pattern computed at run time is none.
    #[error("`{pattern}` is not a valid pattern: {why}")]
    Pattern {
        /// The pattern, cut to a readable length.
        pattern: String,
        /// The regex crate's words, on one line.
        why: String,
    },
    /// A text that is not a number of that kind.
    #[error("`{text}` is not a {kind}")]
    NotANumber {
        /// The text, cut to a readable length.
        text: String,
        /// `number`, `unsigned` or `float`.
        kind: &'static str,
    },
    /// A result larger than a text may be.
    #[error("a text of more than {limit} bytes")]
    TooLong {
        /// The limit.
        limit: usize,
    },
    /// Arguments of other types than the signature says; the checker keeps this from happening.
    #[error("`{functor}` was called with arguments of another type")]
    Arguments {
        /// The functor.
        functor: &'static str,
    },
}

/// What calls remember: parsed JSON texts by symbol, compiled patterns by text. Bounded.
#[derive(Debug, Default)]
pub struct Cache {}

impl Cache {
    /// Forgets what is keyed by this symbol or a later one (see [`crate::value::Pool::reset`]).
    pub fn forget_from(&mut self, _first: Symbol) {}
}

/// Every functor, by [`FunctorId`], sorted by name.
#[must_use]
pub fn table() -> &'static [Functor] {
    &[]
}

/// The functor of that name (`intrinsic` tells words of the language from `@` names).
#[must_use]
pub fn find(_name: &str, _intrinsic: bool) -> Option<FunctorId> {
    None
}

/// What is wrong with a literal argument, in words: a malformed path, a pattern that is none.
///
/// # Errors
/// Says what is wrong, on one line.
pub fn check_literal(_role: Role, _text: &str) -> Result<(), String> {
    Ok(())
}

/// The value of a total or partial functor.
///
/// # Errors
/// What makes the check end; see [`FunctorError`].
pub fn call(
    _id: FunctorId,
    _arguments: &[Argument<'_>],
    _cache: &mut Cache,
) -> Result<Option<Output>, FunctorError> {
    Ok(None)
}

/// The values of a generator, in a fixed order, without repetition where that is cheap.
///
/// # Errors
/// What makes the check end; see [`FunctorError`].
pub fn generate(
    _id: FunctorId,
    _arguments: &[Argument<'_>],
    _cache: &mut Cache,
) -> Result<Vec<Output>, FunctorError> {
    Ok(Vec::new())
}
