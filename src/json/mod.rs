//! JSON as written: strict, with the text of its numbers.
//!
//! In: a text. Out: a [`Json`] tree, or the [`Fault`] that makes it no strict JSON. Never: rounds a number, keeps one of
//! two equal keys, overflows the stack, or repairs anything.

mod number;
mod reader;

use std::fmt::Write as _;

pub use number::Decimal;
pub use reader::parse;

/// Objects and arrays nested deeper than this are a fault.
pub const MAX_DEPTH: usize = 128;

/// A JSON value with numbers as text and objects in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number, as written.
    Number(Box<str>),
    /// A text, escapes decoded.
    Text(Box<str>),
    /// An array.
    Array(Vec<Json>),
    /// An object in the order of the text. No key occurs twice.
    Object(Vec<(Box<str>, Json)>),
}

/// Why a text is not strict JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What is wrong.
    pub kind: FaultKind,
    /// Byte at which it was noticed.
    pub at: usize,
    /// Keys and places on the way there, outermost first, such as `events`, `[2]`, `args`, `to`.
    pub path: Vec<String>,
}

/// The kinds of [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// Not the grammar of RFC 8259.
    #[error("not JSON: expected {expected}")]
    Syntax {
        /// What could have stood there.
        expected: &'static str,
    },
    /// `NaN`, `Infinity` and their like.
    #[error("not JSON: `{word}` is not a number that JSON can hold")]
    NotFinite {
        /// As written.
        word: String,
    },
    /// A key written twice in one object.
    #[error("the key `{key}` stands there twice")]
    DuplicateKey {
        /// The key.
        key: String,
    },
    /// `\ud800` without its partner.
    #[error("an unpaired surrogate escape is no text")]
    UnpairedSurrogate,
    /// Nested past [`MAX_DEPTH`].
    #[error("nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at byte {}", self.kind, self.at)
    }
}

impl Fault {
    /// The same fault seen from one level further out, through that key or place.
    fn inside(mut self, step: String) -> Self {
        self.path.insert(0, step);
        self
    }
}

impl Json {
    /// The value of a key of an object.
    #[must_use]
    pub fn field(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(fields) => fields.iter().find(|(name, _)| &**name == key).map(|(_, value)| value),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) | Self::Array(_) => None,
        }
    }

    /// The text of a text.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Array(_) | Self::Object(_) => None,
        }
    }

    /// Ordinary JSON: keys sorted by code point, no blanks, numbers as written, text as UTF-8 (only what JSON demands
    /// is escaped).
    #[must_use]
    pub fn ordinary(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &|out, text| out.push_str(text));
        out
    }

    /// The one text of all values equal to this: as [`Json::ordinary`], and numbers by value as
    /// [`Decimal::canonical`] writes them, so that `1.0`, `1` and `1e0` are one text and `1` and `"1"` are two.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        self.write(&mut out, &|out, text| out.push_str(&Decimal::read(text).canonical()));
        out
    }

    fn write(&self, out: &mut String, number: &impl Fn(&mut String, &str)) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => number(out, text),
            Self::Text(text) => write_text(out, text),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write(out, number);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_by(|a, b| a.0.cmp(&b.0));
                out.push('{');
                for (i, (key, value)) in sorted.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(out, key);
                    out.push(':');
                    value.write(out, number);
                }
                out.push('}');
            }
        }
    }
}

/// Writes a JSON text literal, escaping only what RFC 8259 demands.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if (c as u32) < 0x20 => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.push('"');
}
