use crate::functor::Argument;
use crate::functor::Cache;
use crate::functor::Functor;
use crate::functor::FunctorError;
use crate::functor::Mode;
use crate::functor::Output;
use crate::functor::Parameter;
use crate::functor::Role;
use crate::value::Kind;
use crate::value::Symbol;

/// A result longer than this ends the check, as an exhausted budget does.
pub(crate) const MAX_TEXT: usize = 16 << 20;

/// What a total or partial functor gives.
pub(crate) type Value = Result<Option<Output>, FunctorError>;
/// What a generator gives.
pub(crate) type Values = Result<Vec<Output>, FunctorError>;

/// How a functor is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body {
    /// One value or none.
    One(fn(&Call<'_>, &mut Cache) -> Value),
    /// Any number of values.
    Many(fn(&Call<'_>, &mut Cache) -> Values),
}

/// A functor and how it is computed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) functor: Functor,
    pub(crate) body: Body,
}

impl Entry {
    const fn new(name: &'static str, parameters: &'static [Parameter], mode: Mode, body: Body) -> Self {
        let result = Kind::Symbol;
        let functor = Functor {
            name,
            parameters,
            variadic: false,
            result,
            mode,
            fallible: false,
            intrinsic: false,
            documentation: "",
        };
        Self { functor, body }
    }

    /// A functor with always one value, a text unless said otherwise.
    pub(crate) const fn total(
        name: &'static str,
        parameters: &'static [Parameter],
        body: fn(&Call<'_>, &mut Cache) -> Value,
    ) -> Self {
        Self::new(name, parameters, Mode::Total, Body::One(body))
    }

    /// A functor with one value or none.
    pub(crate) const fn partial(
        name: &'static str,
        parameters: &'static [Parameter],
        body: fn(&Call<'_>, &mut Cache) -> Value,
    ) -> Self {
        Self::new(name, parameters, Mode::Partial, Body::One(body))
    }

    /// A functor with any number of values.
    pub(crate) const fn generator(
        name: &'static str,
        parameters: &'static [Parameter],
        body: fn(&Call<'_>, &mut Cache) -> Values,
    ) -> Self {
        Self::new(name, parameters, Mode::Generator, Body::Many(body))
    }

    /// Sets the type of the value and the sentence about it.
    pub(crate) const fn gives(mut self, result: Kind, documentation: &'static str) -> Self {
        self.functor.result = result;
        self.functor.documentation = documentation;
        self
    }

    /// A word of the language, written without `@`.
    pub(crate) const fn word(mut self) -> Self {
        self.functor.intrinsic = true;
        self
    }

    /// Can raise an evaluation error.
    pub(crate) const fn fallible(mut self) -> Self {
        self.functor.fallible = true;
        self
    }

    /// The last parameter repeats.
    pub(crate) const fn variadic(mut self) -> Self {
        self.functor.variadic = true;
        self
    }
}

/// A text parameter of any content.
pub(crate) const fn text(name: &'static str) -> Parameter {
    parameter(name, Kind::Symbol)
}

/// A parameter of that type.
pub(crate) const fn parameter(name: &'static str, kind: Kind) -> Parameter {
    Parameter { name, kind, role: Role::Plain }
}

/// A text parameter that is checked at load where it is a literal.
pub(crate) const fn checked(name: &'static str, role: Role) -> Parameter {
    Parameter { name, kind: Kind::Symbol, role }
}

/// The arguments of one call, read by place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Call<'a> {
    pub(crate) functor: &'static str,
    pub(crate) arguments: &'a [Argument<'a>],
}

impl<'a> Call<'a> {
    fn refused(&self) -> FunctorError {
        FunctorError::Arguments { functor: self.functor }
    }

    /// A text with its symbol.
    pub(crate) fn symbol(&self, place: usize) -> Result<(&'a str, Symbol), FunctorError> {
        match self.arguments.get(place) {
            Some(&Argument::Text(text, symbol)) => Ok((text, symbol)),
            _ => Err(self.refused()),
        }
    }

    /// A text.
    pub(crate) fn text(&self, place: usize) -> Result<&'a str, FunctorError> {
        self.symbol(place).map(|(text, _)| text)
    }

    /// A signed number.
    pub(crate) fn number(&self, place: usize) -> Result<i64, FunctorError> {
        match self.arguments.get(place) {
            Some(&Argument::Number(value)) => Ok(value),
            _ => Err(self.refused()),
        }
    }

    /// An unsigned number.
    pub(crate) fn unsigned(&self, place: usize) -> Result<u64, FunctorError> {
        match self.arguments.get(place) {
            Some(&Argument::Unsigned(value)) => Ok(value),
            _ => Err(self.refused()),
        }
    }

    /// A double.
    pub(crate) fn float(&self, place: usize) -> Result<f64, FunctorError> {
        match self.arguments.get(place) {
            Some(&Argument::Float(value)) => Ok(value),
            _ => Err(self.refused()),
        }
    }
}

/// 1 or 0 as a flag.
pub(crate) fn flag(holds: bool) -> Value {
    Ok(Some(Output::Unsigned(u64::from(holds))))
}

/// A text.
pub(crate) fn word(text: impl Into<String>) -> Value {
    Ok(Some(Output::Text(text.into())))
}

/// A signed number.
pub(crate) fn number(value: i64) -> Value {
    Ok(Some(Output::Number(value)))
}

/// A length or count as a signed number.
pub(crate) fn count(size: usize) -> Value {
    number(i64::try_from(size).unwrap_or(i64::MAX))
}

/// Texts, each once, in the order in which they first occur.
pub(crate) fn distinct<T: AsRef<str> + Into<String>>(texts: impl IntoIterator<Item = T>) -> Values {
    let mut seen = std::collections::BTreeSet::new();
    let mut out = Vec::new();
    for text in texts {
        if !seen.contains(text.as_ref()) {
            seen.insert(text.as_ref().to_owned());
            out.push(Output::Text(text.into()));
        }
    }
    Ok(out)
}

/// A text that could exceed [`MAX_TEXT`] while it is being built is measured first.
pub(crate) fn fits(bytes: Option<usize>) -> Result<(), FunctorError> {
    match bytes {
        Some(bytes) if bytes <= MAX_TEXT => Ok(()),
        _ => Err(FunctorError::TooLong { limit: MAX_TEXT }),
    }
}

/// The user's text for a message: at most 80 characters, on one line.
pub(crate) fn shown(text: &str) -> String {
    let mut out = String::new();
    for (i, c) in text.chars().enumerate() {
        if i == 80 {
            out.push('…');
            break;
        }
        if c.is_control() {
            out.extend(c.escape_default());
        } else {
            out.push(c);
        }
    }
    out
}
