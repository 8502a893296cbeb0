//! Words, symbols and compound values.
//!
//! In: texts and fields. Out: [`Word`]s of fixed width, and from a word and a [`Pool`] the value again. Equal values
//! have equal words within one pool. Never: parses policy text, or forgets a value before its [`Mark`].

mod pool;

pub use pool::{Mark, Pool};

use crate::source::is_invisible;

/// One column of a tuple. What it means is told by the column's [`Kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Word(pub u64);

/// A text, by its number in a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol(pub u32);

/// A record or variant value, by its number in a [`Pool`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CompoundId(pub u32);

/// Which record type or variant a compound value was built with. Number 0 is `nil`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstructorId(pub u32);

impl ConstructorId {
    /// The empty record, a value of every record type.
    pub const NIL: Self = Self(0);
}

/// How a word is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// 64-bit signed.
    Number,
    /// 64-bit unsigned.
    Unsigned,
    /// IEEE double.
    Float,
    /// A text.
    Symbol,
    /// A record or a variant.
    Compound,
}

impl Word {
    /// A signed number.
    #[must_use]
    pub fn number(value: i64) -> Self {
        Self(value.cast_unsigned())
    }

    /// Read as a signed number.
    #[must_use]
    pub fn as_number(self) -> i64 {
        self.0.cast_signed()
    }

    /// An unsigned number.
    #[must_use]
    pub fn unsigned(value: u64) -> Self {
        Self(value)
    }

    /// A double. Identity is by bits.
    #[must_use]
    pub fn float(value: f64) -> Self {
        Self(value.to_bits())
    }

    /// Read as a double.
    #[must_use]
    pub fn as_float(self) -> f64 {
        f64::from_bits(self.0)
    }

    /// A text.
    #[must_use]
    pub fn symbol(symbol: Symbol) -> Self {
        Self(u64::from(symbol.0))
    }

    /// Read as a text.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a symbol's word was made from 32 bits")]
    pub fn as_symbol(self) -> Symbol {
        Symbol(self.0 as u32)
    }

    /// A record or variant value.
    #[must_use]
    pub fn compound(id: CompoundId) -> Self {
        Self(u64::from(id.0))
    }

    /// Read as a record or variant value.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "a compound's word was made from 32 bits")]
    pub fn as_compound(self) -> CompoundId {
        CompoundId(self.0 as u32)
    }
}

/// A text as it is shown to a person on one line: control, bidi and other invisible characters as `\u{…}`, cut after
/// `limit` characters.
#[must_use]
pub fn visible(text: &str, limit: usize) -> String {
    escape(text, limit, is_invisible)
}

/// Likewise, tabs and line ends kept: for a value that stands in a message.
#[must_use]
pub fn legible(text: &str, limit: usize) -> String {
    escape(text, limit, |c| is_invisible(c) && !matches!(c, '\t' | '\n' | '\r'))
}

fn escape(text: &str, limit: usize, escaped: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len().min(limit.saturating_mul(4)));
    for (count, c) in text.chars().enumerate() {
        if count == limit {
            out.push('…');
            break;
        }
        if escaped(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}
