use std::borrow::Cow;
use std::collections::BTreeSet;

use crate::json::Fault;
use crate::json::FaultKind;
use crate::json::Json;
use crate::json::MAX_DEPTH;

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
    let mut reader = Reader::of(text);
    let value = reader.value(0)?;
    if !reader.is_done() {
        return Err(reader.fault(FaultKind::Syntax { expected: "the end of the text" }));
    }
    Ok(value)
}

/// A place in a text, from which one value after another is read.
pub(crate) struct Reader<'a> {
    text: &'a str,
    at: usize,
    /// Keys of the objects that are being skipped, outermost first.
    keys: Vec<&'a str>,
    /// Fields of the objects that are open, outermost first: each object takes its own from here once it is whole.
    fields: Vec<(Box<str>, Json)>,
    /// The same for items of arrays.
    items: Vec<Json>,
}

impl<'a> Reader<'a> {
    /// The beginning of that text.
    pub(crate) fn of(text: &'a str) -> Self {
        Self { text, at: 0, keys: Vec::new(), fields: Vec::new(), items: Vec::new() }
    }

    /// Goes to another place, whatever was being read.
    pub(crate) fn go_to(&mut self, at: usize) {
        self.at = at;
        self.keys.clear();
        self.fields.clear();
        self.items.clear();
    }

    /// The byte before which it stands.
    pub(crate) fn place(&self) -> usize {
        self.at
    }

    /// Whether nothing but blanks is left.
    pub(crate) fn is_done(&mut self) -> bool {
        self.blanks();
        self.at >= self.text.len()
    }

    /// Takes that byte of the grammar and the blanks before it, if it comes next.
    pub(crate) fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        let comes = self.peek() == Some(byte);
        self.at += usize::from(comes);
        comes
    }

    /// The byte with which the next value begins.
    pub(crate) fn first_byte(&mut self) -> Option<u8> {
        self.blanks();
        self.peek()
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn fault(&self, kind: FaultKind) -> Fault {
        Fault { kind, at: self.at, path: Vec::new() }
    }

    fn expected<T>(&self, expected: &'static str) -> Result<T, Fault> {
        Err(self.fault(FaultKind::Syntax { expected }))
    }

    /// The next value, which stands inside that many others.
    pub(crate) fn value(&mut self, depth: usize) -> Result<Json, Fault> {
        self.blanks();
        match self.peek() {
            Some(b'{' | b'[') if depth >= MAX_DEPTH => Err(self.fault(FaultKind::TooDeep)),
            Some(b'{') => self.object(depth),
            Some(b'[') => self.array(depth),
            Some(b'"') => Ok(Json::Text(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.word(),
            _ => self.expected("a value"),
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, Fault> {
        self.at += 1;
        let first = self.fields.len();
        let mut keys = BTreeSet::new();
        self.blanks();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Vec::new()));
        }
        loop {
            self.blanks();
            if self.peek() != Some(b'"') {
                return self.expected("a key in double quotes");
            }
            let start = self.at;
            let key = self.string()?;
            if is_taken(self.fields.get(first..).unwrap_or_default(), &mut keys, &key) {
                self.at = start;
                return Err(self.fault(FaultKind::DuplicateKey { key: key.into() }));
            }
            self.blanks();
            if self.peek() != Some(b':') {
                return self.expected("`:`");
            }
            self.at += 1;
            let value = self.value(depth + 1).map_err(|fault| fault.inside(key.to_string()))?;
            self.fields.push((key, value));
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(Json::Object(self.fields.drain(first..).collect()));
                }
                _ => return self.expected("`,` or `}`"),
            }
        }
    }

    /// The next key, unless escapes are in it, or none comes.
    pub(crate) fn key(&mut self) -> Option<&'a str> {
        match self.first_byte()? {
            b'"' => match self.text().ok()? {
                Cow::Borrowed(key) => Some(key),
                Cow::Owned(_) => None,
            },
            _ => None,
        }
    }

    /// Passes over the next value, which stands inside that many others. None where it is no strict JSON, and where it is so
    /// odd that only [`Reader::value`] says whether it is.
    pub(crate) fn skip(&mut self, depth: usize) -> Option<()> {
        match self.first_byte()? {
            b'{' | b'[' if depth >= MAX_DEPTH => None,
            b'{' => self.skip_object(depth),
            b'[' => self.skip_array(depth),
            b'"' => self.text().ok().map(|_| ()),
            b'-' | b'0'..=b'9' => self.digits_of_number().ok().map(|_| ()),
            _ => self.word().ok().map(|_| ()),
        }
    }

    fn skip_object(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        let first = self.keys.len();
        if self.takes(b'}') {
            return Some(());
        }
        loop {
            let key = self.key()?;
            let before = self.keys.get(first..)?;
            if before.len() >= FEW || before.contains(&key) || !self.takes(b':') {
                return None;
            }
            self.keys.push(key);
            self.skip(depth + 1)?;
            if self.takes(b'}') {
                self.keys.truncate(first);
                return Some(());
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn skip_array(&mut self, depth: usize) -> Option<()> {
        self.at += 1;
        if self.takes(b']') {
            return Some(());
        }
        loop {
            self.skip(depth + 1)?;
            if self.takes(b']') {
                return Some(());
            }
            if !self.takes(b',') {
                return None;
            }
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json, Fault> {
        self.at += 1;
        let first = self.items.len();
        self.blanks();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(Vec::new()));
        }
        let mut index: usize = 0;
        loop {
            let value = self.value(depth + 1).map_err(|fault| fault.inside(format!("[{index}]")))?;
            self.items.push(value);
            index += 1;
            self.blanks();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => {
                    self.at += 1;
                    return Ok(Json::Array(self.items.drain(first..).collect()));
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
        Ok(Json::Number(self.digits_of_number()?.into()))
    }

    /// The next number, as it is written.
    pub(crate) fn digits_of_number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let rest = self.text.get(self.at..).unwrap_or("");
        if let Some(word) = ["Infinity", "NaN"].into_iter().find(|word| rest.starts_with(word)) {
            self.at = start;
            return Err(self.fault(FaultKind::NotFinite { word: format!("-{word}") }));
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
        Ok(self.text.get(start..self.at).unwrap_or(""))
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

    fn string(&mut self) -> Result<Box<str>, Fault> {
        self.text().map(Box::from)
    }

    /// The text whose opening quote comes next, escapes decoded.
    pub(crate) fn text(&mut self) -> Result<Cow<'a, str>, Fault> {
        self.at += 1;
        let plain = self.plain();
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(Cow::Borrowed(plain));
        }
        let mut out = plain.to_owned();
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(Cow::Owned(out));
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return self.expected("an escaped control character"),
                None => return self.expected("a closing quote"),
            }
            out.push_str(self.plain());
        }
    }

    /// Takes the stretch of a text up to its next quote, backslash or control character.
    fn plain(&mut self) -> &'a str {
        // Bytes below 0x80 are never part of a longer character.
        let start = self.at;
        self.at += plain_length(self.text.as_bytes().get(start..).unwrap_or_default());
        self.text.get(start..self.at).unwrap_or("")
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

/// How many bytes stand before the first quote, backslash or control character.
pub(crate) fn plain_length(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::MAX / 255;
    // The high bit of each byte that is below `bound`, a byte below 0x80. A byte behind such a one may be marked too, and
    // it is the first that counts.
    let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let quote = below(word ^ (ONES * 0x22), 1);
        let backslash = below(word ^ (ONES * 0x5c), 1);
        let found = (quote | backslash | below(word, 0x20)) & (ONES << 7);
        if found != 0 {
            return index * 8 + found.trailing_zeros() as usize / 8;
        }
    }
    let plain = |byte: &&u8| !matches!(byte, b'"' | b'\\' | 0..0x20);
    words.len() * 8 + rest.iter().take_while(plain).count()
}

/// Objects up to this many keys are searched key by key, which is quicker than a set.
const FEW: usize = 16;

/// Whether the object has that key already. `keys` holds the keys of an object once it has more than a few.
fn is_taken(fields: &[(Box<str>, Json)], keys: &mut BTreeSet<Box<str>>, key: &str) -> bool {
    if fields.len() < FEW {
        return fields.iter().any(|(name, _)| &**name == key);
    }
    if keys.is_empty() {
        keys.extend(fields.iter().map(|(name, _)| name.clone()));
    }
    !keys.insert(key.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_stretches_end_at_the_first_byte_that_is_not() {
        for end in *b"\"\\\x00\x1f" {
            for length in 0..40 {
                for next in *b"a\"\x00\xff\x80!#[]\x21" {
                    let mut bytes = vec![b' '; length];
                    bytes.extend([end, next, next, b'"', 0xc3]);
                    assert_eq!(plain_length(&bytes), length, "{end} {next}");
                }
            }
        }
        let others: Vec<u8> = (0x20..=0xff).filter(|byte| !matches!(byte, b'"' | b'\\')).collect();
        assert_eq!(plain_length(&others), others.len());
        assert_eq!(plain_length(others.get(3..).unwrap_or_default()), others.len() - 3);
    }
}
