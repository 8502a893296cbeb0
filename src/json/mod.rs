//! JSON as written: strict, with the text of its numbers.
//!
//! In: a text. Out: a [`Json`] tree, or the [`Fault`] that makes it no strict JSON. Never: rounds a number, keeps one of
//! two equal keys, overflows the stack, or repairs anything.

mod number;
mod path;
mod reader;

use std::fmt::Write as _;

pub use number::Decimal;
pub use path::{Path, PathFault, redact};
pub use reader::parse;
pub(crate) use reader::{Reader, plain_length};

/// Objects and arrays nested deeper than this are a fault.
pub const MAX_DEPTH: usize = 128;

/// Room that is made for a value before it is written: most that a session holds take no more.
const FEW_BYTES: usize = 128;

/// A JSON value with numbers as text and objects in the order of the text.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
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
    Array(Vec<Self>),
    /// An object in the order of the text. No key occurs twice.
    Object(Vec<(Box<str>, Self)>),
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
        let mut out = String::with_capacity(FEW_BYTES);
        self.write(&mut out, Keys::Sorted, &|out, text| out.push_str(text));
        out
    }

    /// As [`Json::ordinary`], with the keys of objects in the order in which they stand.
    #[must_use]
    pub fn as_written(&self) -> String {
        let mut out = String::with_capacity(FEW_BYTES);
        self.write(&mut out, Keys::AsTheyStand, &|out, text| out.push_str(text));
        out
    }

    /// The one text of all values equal to this: as [`Json::ordinary`], and numbers by value as
    /// [`Decimal::canonical`] writes them, so that `1.0`, `1` and `1e0` are one text and `1` and `"1"` are two.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::with_capacity(FEW_BYTES);
        self.write(&mut out, Keys::Sorted, &|out, text| out.push_str(&Decimal::read(text).canonical()));
        out
    }

    fn write(&self, out: &mut String, keys: Keys, number: &impl Fn(&mut String, &str)) {
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
                    item.write(out, keys, number);
                }
                out.push(']');
            }
            Self::Object(fields) => {
                let mut fields: Vec<_> = fields.iter().collect();
                match keys {
                    Keys::Sorted => fields.sort_by(|a, b| a.0.cmp(&b.0)),
                    Keys::AsTheyStand => {}
                }
                out.push('{');
                for (i, (key, value)) in fields.into_iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_text(out, key);
                    out.push(':');
                    value.write(out, keys, number);
                }
                out.push('}');
            }
        }
    }
}

/// In what order the keys of objects are written.
#[derive(Debug, Clone, Copy)]
enum Keys {
    /// By code point.
    Sorted,
    AsTheyStand,
}

/// Writes a JSON text literal, escaping only what RFC 8259 demands.
pub fn write_text(out: &mut String, text: &str) {
    out.push('"');
    if plain_length(text.as_bytes()) == text.len() {
        out.push_str(text);
        out.push('"');
        return;
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_say_what_and_where() {
        let rows = [
            ("", 0, "not JSON: expected a value", ""),
            ("[1,2,", 5, "not JSON: expected a value", "[2]"),
            ("[1 2]", 3, "not JSON: expected `,` or `]`", ""),
            (r#"{"a":1,"a":2}"#, 7, "the key `a` stands there twice", ""),
            (r#"{"a":[0,{"b":1,"\u0062":2}]}"#, 15, "the key `b` stands there twice", "a [1]"),
            (r#"{"a":{"b":[NaN]}}"#, 11, "not JSON: `NaN` is not a number that JSON can hold", "a b [0]"),
            ("-Infinity", 0, "not JSON: `-Infinity` is not a number that JSON can hold", ""),
            ("True", 0, "not JSON: expected a value", ""),
            ("1 junk", 2, "not JSON: expected the end of the text", ""),
            ("01", 1, "not JSON: expected the end of the text", ""),
            ("1.", 2, "not JSON: expected a digit", ""),
            ("{a:1}", 1, "not JSON: expected a key in double quotes", ""),
            (r#"["\ud83d"]"#, 2, "an unpaired surrogate escape is no text", "[0]"),
            (r#"["\ud83dx"]"#, 2, "an unpaired surrogate escape is no text", "[0]"),
            (r#"["\ude00"]"#, 2, "an unpaired surrogate escape is no text", "[0]"),
            (r#"["\u12"]"#, 2, "not JSON: expected four hexadecimal digits", "[0]"),
            (r#"["\u+123"]"#, 2, "not JSON: expected four hexadecimal digits", "[0]"),
            ("\"a\nb\"", 2, "not JSON: expected an escaped control character", ""),
            ("\u{feff}1", 0, "not JSON: expected a value", ""),
        ];
        for (text, at, words, path) in rows {
            let fault = parse(text).unwrap_err();
            let found = (fault.at, fault.kind.to_string(), fault.path.join(" "));
            assert_eq!(found, (at, words.to_owned(), path.to_owned()), "{text}");
        }
    }

    #[test]
    fn depth_is_limited() {
        let nested = |depth: usize| parse(&("[".repeat(depth) + &"]".repeat(depth)));
        assert!(nested(MAX_DEPTH).is_ok());
        let fault = nested(MAX_DEPTH + 1).unwrap_err();
        assert_eq!((fault.kind, fault.at, fault.path.len()), (FaultKind::TooDeep, MAX_DEPTH, MAX_DEPTH));
        assert!(parse(&"[".repeat(100_000)).is_err());
        assert!(parse(&"{\"a\":".repeat(100_000)).is_err());
    }

    #[test]
    fn a_doubled_key_is_seen_in_large_objects_too() {
        let fields: Vec<String> = (0..100).map(|i| format!("\"k{i}\":{i}")).collect();
        let large = |more: &str| parse(&format!("{{{}{more}}}", fields.join(",")));
        assert_eq!(large("").unwrap().field("k99"), Some(&Json::Number("99".into())));
        for i in [0, 15, 16, 17, 99] {
            assert!(large(&format!(",\"k{i}\":0")).is_err(), "{i}");
        }
    }

    #[test]
    fn ordinary_and_canonical_texts() {
        let text = r#" {"b":[1.0,-0,1e2,"\u00e9\ud83d\ude00\"\\\/\u0001"],"\u00e0":null,"a":true} "#;
        let value = parse(text).unwrap();
        assert_eq!(value.ordinary(), r#"{"a":true,"b":[1.0,-0,1e2,"é😀\"\\/\u0001"],"à":null}"#);
        let written = r#"{"b":[1.0,-0,1e2,"é😀\"\\/\u0001"],"à":null,"a":true}"#;
        assert_eq!(value.as_written(), written);
        assert_eq!(value.canonical(), r#"{"a":true,"b":[1,0,100,"é😀\"\\/\u0001"],"à":null}"#);
    }
}
