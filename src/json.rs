//! JSON as written: strict, with the text of its numbers.
//!
//! In: a text. Out: a [`Json`] tree, or the [`Fault`] that makes it no strict JSON. Never: rounds a number, keeps one of
//! two equal keys, overflows the stack, or repairs anything.

use std::fmt::Write as _;

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
        self.write_ordinary(&mut out);
        out
    }

    fn write_ordinary(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(true) => out.push_str("true"),
            Self::Bool(false) => out.push_str("false"),
            Self::Number(text) => out.push_str(text),
            Self::Text(text) => write_text(out, text),
            Self::Array(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    item.write_ordinary(out);
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
                    value.write_ordinary(out);
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

/// Reads one strict JSON value that fills the whole text.
///
/// # Errors
/// The first [`Fault`]: grammar, a number JSON cannot hold, a doubled key, an unpaired surrogate, nesting past
/// [`MAX_DEPTH`].
///
/// ```
/// let value = gatelog::json::parse(r#"{"b": 1.0, "a": "x"}"#).unwrap();
/// assert_eq!(value.ordinary(), r#"{"a":"x","b":1.0}"#);
/// assert!(gatelog::json::parse(r#"{"a":1,"a":2}"#).is_err());
/// ```
pub fn parse(text: &str) -> Result<Json, Fault> {
    let mut reader = Reader { text, at: 0, path: Vec::new() };
    let value = reader.value(0)?;
    reader.blanks();
    if reader.at < text.len() {
        return Err(reader.fault(FaultKind::Syntax { expected: "the end of the text" }));
    }
    Ok(value)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    path: Vec<String>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault { kind, at: self.at, path: self.path.clone() }
    }

    fn expected<T>(&self, expected: &'static str) -> Result<T, Fault> {
        Err(self.fault(FaultKind::Syntax { expected }))
    }

    fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(self.fault(FaultKind::TooDeep)),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::Text(self.string()?.into())),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word(),
            _ => self.expected("a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Fault> {
        self.at += 1;
        let mut fields: Vec<(Box<str>, Json)> = Vec::new();
        let mut seen = std::collections::BTreeSet::new();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(fields));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return self.expected("a key in double quotes");
            }
            let start = self.at;
            let key = self.string()?;
            if !seen.insert(key.clone()) {
                self.at = start;
                return Err(self.fault(FaultKind::DuplicateKey { key }));
            }
            self.blanks();
            if self.peek() != Some(b':') {
                return self.expected("`:`");
            }
            self.at += 1;
            self.path.push(key);
            let value = self.value(depth + 1)?;
            let key = self.path.pop().unwrap_or_default();
            fields.push((key.into(), value));
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(fields));
                }
                _ => return self.expected("`,` or `}`"),
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, Fault> {
        self.at += 1;
        let mut items = Vec::new();
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            self.path.push(format!("[{}]", items.len()));
            items.push(self.value(depth + 1)?);
            self.path.pop();
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(items));
                }
                _ => return self.expected("`,` or `]`"),
            }
        }
    }

    fn word(&mut self) -> Result<Json, Fault> {
        let rest = self.text.get(self.at..).unwrap_or("");
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        let word = rest.get(..end).unwrap_or("");
        let value = match word {
            "null" => Json::Null,
            "true" => Json::Bool(true),
            "false" => Json::Bool(false),
            "NaN" | "Infinity" | "nan" | "inf" | "infinity" | "Inf" => {
                return Err(self.fault(FaultKind::NotFinite { word: word.to_owned() }));
            }
            _ => return self.expected("a value"),
        };
        self.at += end;
        Ok(value)
    }

    fn number(&mut self) -> Result<Json, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        if self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with("Infinity") || rest.starts_with("NaN"))
        {
            let word = self.text.get(start..self.at + 3).unwrap_or("").to_owned();
            self.at = start;
            return Err(self.fault(FaultKind::NotFinite { word }));
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.digits(),
            _ => return self.expected("a digit"),
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.some_digits()?;
        }
        Ok(Json::Number(self.text.get(start..self.at).unwrap_or("").into()))
    }

    fn some_digits(&mut self) -> Result<(), Fault> {
        if !matches!(self.peek(), Some(b'0'..=b'9')) {
            return self.expected("a digit");
        }
        self.digits();
        Ok(())
    }

    fn digits(&mut self) {
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
    }

    fn string(&mut self) -> Result<String, Fault> {
        self.at += 1;
        let mut out = String::new();
        loop {
            let rest = self.text.get(self.at..).unwrap_or("");
            let plain = rest.find(|c: char| c == '"' || c == '\\' || (c as u32) < 0x20).unwrap_or(rest.len());
            out.push_str(rest.get(..plain).unwrap_or(""));
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return self.expected("an escaped control character"),
                None => return self.expected("a closing quote"),
            }
        }
    }

    fn escape(&mut self) -> Result<char, Fault> {
        let c = self.text.as_bytes().get(self.at + 1).copied();
        let plain = match c {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return self.expected("an escape of JSON"),
        };
        self.at += 2;
        Ok(plain)
    }

    fn unicode_escape(&mut self) -> Result<char, Fault> {
        let first = self.hex4(self.at + 2)?;
        if let Some(c) = char::from_u32(first) {
            self.at += 6;
            return Ok(c);
        }
        let low_follows = self.text.get(self.at + 6..).is_some_and(|rest| rest.starts_with("\\u"));
        if first >= 0xDC00 || !low_follows {
            return Err(self.fault(FaultKind::UnpairedSurrogate));
        }
        let second = self.hex4(self.at + 8)?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(self.fault(FaultKind::UnpairedSurrogate));
        }
        self.at += 12;
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        char::from_u32(code).ok_or_else(|| self.fault(FaultKind::UnpairedSurrogate))
    }

    fn hex4(&self, at: usize) -> Result<u32, Fault> {
        let digits = self.text.get(at..at + 4).filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()));
        match digits.and_then(|d| u32::from_str_radix(d, 16).ok()) {
            Some(code) => Ok(code),
            None => self.expected("four hexadecimal digits"),
        }
    }
}
