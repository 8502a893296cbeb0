//! Built-in functions.
//!
//! In: argument values. Out: one value, none, many, or an error in words. Never: sees a relation or a clock, panics,
//! loops, or gives two answers for the same arguments.

mod cache;
mod call;
mod command;
mod host;
mod json;
mod number;
mod path;
mod pattern;
mod text;
mod time;
mod unicode;
mod url;

#[cfg(test)]
mod tests;

use std::sync::LazyLock;

use crate::functor::call::Body;
use crate::functor::call::Call;
use crate::functor::call::Entry;
use crate::functor::call::MAX_TEXT;
use crate::value::Kind;
use crate::value::Symbol;

pub use cache::Cache;

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

impl Functor {
    /// The parameter that the argument at that place is for; the last one of a variadic functor repeats.
    #[must_use]
    pub fn parameter(&self, at: usize) -> Option<&'static Parameter> {
        let last = self.parameters.last().filter(|_| self.variadic);
        self.parameters.get(at).or(last)
    }

    /// Whether the functor can be called with that many arguments.
    #[must_use]
    pub fn takes(&self, arguments: usize) -> bool {
        let declared = self.parameters.len();
        arguments == declared || (self.variadic && arguments + 1 >= declared)
    }
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
    #[error("`{text}` cannot be read as `{kind}`")]
    NotANumber {
        /// The text, cut to a readable length.
        text: String,
        /// `number`, `unsigned` or `float`.
        kind: &'static str,
    },
    /// A result larger than a text may be. Any functor that gives a text can meet this, as anything can meet the end
    /// of its budget, so it does not make one fallible.
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

/// The functors as the checker sees them, and how each is computed, in one order.
struct Table {
    functors: Vec<Functor>,
    bodies: Vec<Body>,
}

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    let rooms = [
        command::ENTRIES,
        host::ENTRIES,
        json::ENTRIES,
        number::ENTRIES,
        pattern::ENTRIES,
        text::ENTRIES,
        time::ENTRIES,
        unicode::ENTRIES,
        url::ENTRIES,
        #[cfg(test)]
        tests::ENTRIES,
    ];
    let mut entries: Vec<&Entry> = rooms.into_iter().flatten().collect();
    // Overloads of one name stay in the order in which they are written.
    entries.sort_by_key(|entry| (entry.functor.name, entry.functor.intrinsic));
    Table {
        functors: entries.iter().map(|entry| entry.functor).collect(),
        bodies: entries.iter().map(|entry| entry.body).collect(),
    }
});

/// Every functor, by [`FunctorId`], sorted by name. A name that takes arguments of several types (`to_number`) has an
/// entry for each.
#[must_use]
pub fn table() -> &'static [Functor] {
    &TABLE.functors
}

/// The functor of that number.
#[must_use]
pub fn get(id: FunctorId) -> Option<&'static Functor> {
    table().get(usize::from(id.0))
}

/// The functor of that name, the first of several (`intrinsic` tells words of the language from `@` names).
#[must_use]
pub fn find(name: &str, intrinsic: bool) -> Option<FunctorId> {
    overloads(name, intrinsic).first().copied()
}

/// All functors of that name, one for each list of parameter types.
#[must_use]
pub fn overloads(name: &str, intrinsic: bool) -> Vec<FunctorId> {
    let start = table().partition_point(|functor| (functor.name, functor.intrinsic) < (name, intrinsic));
    let rest = table().get(start..).unwrap_or_default();
    let count =
        rest.iter().take_while(|functor| (functor.name, functor.intrinsic) == (name, intrinsic)).count();
    (start..start + count).filter_map(|id| u16::try_from(id).ok()).map(FunctorId).collect()
}

/// What is wrong with a literal argument, in words: a malformed path, a pattern that is none.
///
/// # Errors
/// Says what is wrong, on one line.
pub fn check_literal(role: Role, text: &str) -> Result<(), String> {
    match role {
        Role::Plain => Ok(()),
        Role::Path => path::parse(text).map(|_| ()),
        Role::Pattern => pattern::check(text),
        Role::Glob => pattern::check_glob(text),
    }
}

/// Whether the text is a short regular expression that matches itself alone.
#[must_use]
pub fn is_plain_pattern(text: &str) -> bool {
    pattern::is_plain(text)
}

/// The text in the Unicode form NFC: accents joined with their letters.
#[must_use]
pub fn composed(text: &str) -> String {
    text::composed(text)
}

/// The text in the Unicode form NFKC, which texts that look alike share.
#[must_use]
pub fn compatible(text: &str) -> String {
    text::nfkc(text)
}

/// The value of a total or partial functor.
///
/// # Errors
/// What makes the check end; see [`FunctorError`].
///
/// ```
/// use gatelog::functor::{self, Argument, Cache, Output};
/// let id = functor::find("url_host", false).unwrap();
/// let url = Argument::Text("https://a@API.example:8443/x", gatelog::value::Symbol(0));
/// let host = functor::call(id, &[url], &mut Cache::default()).unwrap();
/// assert_eq!(host, Some(Output::Text("api.example".to_owned())));
/// ```
pub fn call(
    id: FunctorId,
    arguments: &[Argument<'_>],
    cache: &mut Cache,
) -> Result<Option<Output>, FunctorError> {
    let (call, body) = prepare(id, arguments)?;
    let Body::One(compute) = body else {
        return Err(FunctorError::Arguments { functor: call.functor });
    };
    let value = compute(&call, cache)?;
    value.iter().try_for_each(fits)?;
    Ok(value)
}

/// The values of a generator, each once, in a fixed order.
///
/// # Errors
/// What makes the check end; see [`FunctorError`].
pub fn generate(
    id: FunctorId,
    arguments: &[Argument<'_>],
    cache: &mut Cache,
) -> Result<Vec<Output>, FunctorError> {
    let (call, body) = prepare(id, arguments)?;
    let Body::Many(compute) = body else {
        return Err(FunctorError::Arguments { functor: call.functor });
    };
    let values = compute(&call, cache)?;
    values.iter().try_for_each(fits)?;
    Ok(values)
}

/// The call with its body, if there are as many arguments as there are parameters.
fn prepare<'a>(id: FunctorId, arguments: &'a [Argument<'a>]) -> Result<(Call<'a>, Body), FunctorError> {
    let known = get(id).zip(TABLE.bodies.get(usize::from(id.0)));
    let Some((functor, &body)) = known else {
        return Err(FunctorError::Arguments { functor: "?" });
    };
    if !functor.takes(arguments.len()) {
        return Err(FunctorError::Arguments { functor: functor.name });
    }
    Ok((Call { functor: functor.name, arguments }, body))
}

fn fits(value: &Output) -> Result<(), FunctorError> {
    match value {
        Output::Text(text) if text.len() > MAX_TEXT => Err(FunctorError::TooLong { limit: MAX_TEXT }),
        Output::Text(_) | Output::Number(_) | Output::Unsigned(_) | Output::Float(_) => Ok(()),
    }
}
