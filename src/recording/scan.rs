//! Where values begin and end, before anything is believed about them.
//!
//! Only quotes and brackets are looked at, so that a fault inside one event leaves the others in their places. Nothing
//! here recurses, and every byte is looked at a constant number of times.

use crate::json::plain_length;

/// A stretch of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Span {
    /// Its bytes.
    pub(crate) fn of(self, bytes: &[u8]) -> &[u8] {
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// The place of one event in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) span: Span,
    /// Whether its quotes and brackets are closed; a slot that is not whole may hold later events too.
    pub(crate) whole: bool,
    /// Whether the comma before it is missing.
    pub(crate) unseparated: bool,
}

impl Slot {
    pub(crate) fn whole(start: usize, end: usize) -> Self {
        Self { span: Span { start, end }, whole: true, unseparated: false }
    }

    pub(crate) fn broken(start: usize, end: usize) -> Self {
        Self { span: Span { start, end }, whole: false, unseparated: false }
    }
}

/// The first byte at or after `at` that is no blank of JSON.
pub(crate) fn blanks(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// Past the last byte before `end` that is no blank of JSON.
pub(crate) fn blanks_before(bytes: &[u8], end: usize) -> usize {
    let before = bytes.get(..end).unwrap_or_default();
    let blank = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    before.len() - before.iter().rev().take_while(blank).count()
}

/// Past the closing quote of the text whose opening quote is at `at`; none where it is not closed.
pub(crate) fn string_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at + 1;
    loop {
        at += plain_length(bytes.get(at..)?);
        at += match bytes.get(at)? {
            b'"' => return Some(at + 1),
            b'\\' => 2,
            _ => 1,
        };
    }
}

/// Past the value that begins at `at`; none where its quotes or brackets are not closed, or no value is there.
pub(crate) fn value_end(bytes: &[u8], at: usize) -> Option<usize> {
    match bytes.get(at)? {
        b'"' => string_end(bytes, at),
        b'{' | b'[' => nested_end(bytes, at),
        b',' | b':' | b'}' | b']' => None,
        _ => Some(word_end(bytes, at)),
    }
}

fn word_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    let ends = |byte: &u8| {
        matches!(byte, b',' | b':' | b'{' | b'}' | b'[' | b']' | b'"' | b' ' | b'\t' | b'\n' | b'\r')
    };
    at + rest.iter().take_while(|byte| !ends(byte)).count()
}

fn nested_end(bytes: &[u8], at: usize) -> Option<usize> {
    let mut at = at;
    let mut open = Vec::new();
    loop {
        let byte = *bytes.get(at)?;
        match byte {
            b'"' => {
                at = string_end(bytes, at)?;
                continue;
            }
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            b'}' | b']' => {
                if open.pop() != Some(byte) {
                    return None;
                }
                if open.is_empty() {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
        at += 1;
    }
}

/// The text between the quotes of a span, escapes decoded; empty where it is no text.
pub(crate) fn text(bytes: &[u8], span: Span) -> String {
    if let [b'"', inner @ .., b'"'] = span.of(bytes)
        && plain_length(inner) == inner.len()
        && let Ok(text) = std::str::from_utf8(inner)
    {
        return text.to_owned();
    }
    let literal = String::from_utf8_lossy(span.of(bytes));
    match crate::json::parse(&literal) {
        Ok(crate::json::Json::Text(text)) => text.into(),
        Ok(_) | Err(_) => String::new(),
    }
}

/// Keys and values of the object at `at`, as far as they can be made out; the last one may be cut short by the end.
pub(crate) fn members(bytes: &[u8], at: usize) -> Vec<(String, Span)> {
    members_with(bytes, at, "", &mut |_| None).0
}

/// Reads the value at a place at once, if it can, and says where it ends.
pub(crate) type ReadAhead<'r> = dyn FnMut(usize) -> Option<usize> + 'r;

/// The same, and the items of the array under the first key that is `listed`, if that array is whole: so its bytes are looked
/// at once. Its items are shown to `ahead`, in order.
pub(crate) fn members_with(
    bytes: &[u8],
    at: usize,
    listed: &str,
    ahead: &mut ReadAhead<'_>,
) -> (Vec<(String, Span)>, Option<Vec<Slot>>) {
    let mut found = Vec::new();
    let (mut met, mut items) = (false, None);
    let mut at = blanks(bytes, at + 1);
    while bytes.get(at) == Some(&b'"') {
        let Some(key_end) = string_end(bytes, at) else { break };
        let key = text(bytes, Span { start: at, end: key_end });
        let colon = blanks(bytes, key_end);
        if bytes.get(colon) != Some(&b':') {
            break;
        }
        let start = blanks(bytes, colon + 1);
        let first = !met && key == listed;
        met |= first;
        let whole =
            if first && bytes.get(start) == Some(&b'[') { whole_list(bytes, start, ahead) } else { None };
        let end = match whole {
            Some((slots, end)) => {
                items = Some(slots);
                Some(end)
            }
            None => value_end(bytes, start),
        };
        found.push((key, Span { start, end: end.unwrap_or(bytes.len()) }));
        let Some(end) = end else { break };
        let comma = blanks(bytes, end);
        if bytes.get(comma) != Some(&b',') {
            break;
        }
        at = blanks(bytes, comma + 1);
    }
    (found, items)
}

/// The items of the array at `at` and where it ends; none where it breaks.
fn whole_list(bytes: &[u8], at: usize, ahead: &mut ReadAhead<'_>) -> Option<(Vec<Slot>, usize)> {
    let (slots, end) = items(bytes, at, ahead);
    end.map(|end| (slots, end))
}

/// The items of the array at `at`. Where it breaks, the last slot reaches to the end of the bytes.
pub(crate) fn elements(bytes: &[u8], at: usize) -> Vec<Slot> {
    items(bytes, at, &mut |_| None).0
}

/// The same, with the items shown to `ahead`, in order.
pub(crate) fn elements_with(bytes: &[u8], at: usize, ahead: &mut ReadAhead<'_>) -> Vec<Slot> {
    items(bytes, at, ahead).0
}

/// The same, and past the array; none where it breaks.
fn items(bytes: &[u8], at: usize, ahead: &mut ReadAhead<'_>) -> (Vec<Slot>, Option<usize>) {
    let mut slots = Vec::new();
    let mut at = blanks(bytes, at + 1);
    if bytes.get(at) == Some(&b']') {
        return (slots, Some(at + 1));
    }
    loop {
        let Some(end) = ahead(at).or_else(|| value_end(bytes, at)) else {
            slots.push(Slot::broken(at.min(bytes.len()), bytes.len()));
            return (slots, None);
        };
        slots.push(Slot::whole(at, end));
        let next = blanks(bytes, end);
        match bytes.get(next) {
            Some(b',') => at = blanks(bytes, next + 1),
            Some(b']') => return (slots, Some(next + 1)),
            Some(_) | None => {
                let broken = Slot::broken(next, bytes.len());
                slots.push(Slot { unseparated: true, ..broken });
                return (slots, None);
            }
        }
    }
}

/// The values that follow each other from `at` with blanks between them.
pub(crate) fn sequence(bytes: &[u8], at: usize) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut at = blanks(bytes, at);
    while at < bytes.len() {
        let Some(end) = value_end(bytes, at) else {
            slots.push(Slot::broken(at, bytes.len()));
            break;
        };
        slots.push(Slot::whole(at, end));
        at = blanks(bytes, end);
    }
    slots
}

/// The lines from `at` that are not blank, one slot each.
pub(crate) fn lines(bytes: &[u8], at: usize) -> Vec<Slot> {
    let mut slots = Vec::new();
    let mut start = at;
    for line in bytes.get(at..).unwrap_or_default().split(|byte| *byte == b'\n') {
        let end = start + line.len();
        let from = end - line.trim_ascii_start().len();
        let trimmed = line.trim_ascii_end().len() + start;
        if from < trimmed {
            let own = bytes.get(..trimmed).unwrap_or_default();
            let whole = value_end(own, from) == Some(trimmed);
            slots.push(if whole { Slot::whole(from, trimmed) } else { Slot::broken(from, trimmed) });
        }
        start = end + 1;
    }
    slots
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str, slots: &[Slot]) -> Vec<String> {
        let piece = |slot: &Slot| {
            let mark = if slot.whole { "" } else { "!" };
            format!("{mark}{}", String::from_utf8_lossy(slot.span.of(text.as_bytes())))
        };
        slots.iter().map(piece).collect()
    }

    #[test]
    fn ends_of_values() {
        let rows = [
            (r#"{"a":[1,"}"]} x"#, Some(13)),
            (r#""a\"b" x"#, Some(6)),
            ("NaN,", Some(3)),
            ("{]", None),
            ("[1", None),
            (r#"["\"#, None),
            ("", None),
            (",", None),
        ];
        for (text, end) in rows {
            assert_eq!(value_end(text.as_bytes(), 0), end, "{text}");
        }
    }

    #[test]
    fn elements_until_the_break() {
        let rows: [(&str, &[&str]); 6] = [
            ("[ {} , [1] ]", &["{}", "[1]"]),
            ("[]", &[]),
            ("[{},", &["{}", "!"]),
            ("[{},]", &["{}", "!]"]),
            ("[{} {}]", &["{}", "!{}]"]),
            (r#"[{},{"a":]]"#, &["{}", r#"!{"a":]]"#]),
        ];
        for (text, expected) in rows {
            assert_eq!(pieces(text, &elements(text.as_bytes(), 0)), expected, "{text}");
        }
    }

    #[test]
    fn lines_stand_alone() {
        let text = "{}\r\n\n {\"a\": \n{} x\n[1]";
        assert_eq!(pieces(text, &lines(text.as_bytes(), 0)), ["{}", "!{\"a\":", "!{} x", "[1]"]);
    }

    #[test]
    fn items_are_those_of_the_first_list_of_that_name() {
        let rows: [(&str, Option<&[&str]>); 4] = [
            (r#"{"b": [1, {"a": 2}], "a": [3]}"#, Some(&["1", r#"{"a": 2}"#])),
            (r#"{"b": [1 2], "b": [3]}"#, None),
            (r#"{"b": {}, "b": [3]}"#, None),
            (r#"{"a": [1], "b": [2"#, None),
        ];
        for (text, expected) in rows {
            let (found, items) = members_with(text.as_bytes(), 0, "b", &mut |_| None);
            assert_eq!(found, members(text.as_bytes(), 0), "{text}");
            let items = items.map(|items| pieces(text, &items));
            let expected =
                expected.map(|items| items.iter().map(|&item| item.to_owned()).collect::<Vec<_>>());
            assert_eq!(items, expected, "{text}");
        }
    }

    #[test]
    fn members_of_a_cut_object() {
        let text = r#"{"a": 1, "b\u0063": {"d": 2}, "e": ["#;
        let found: Vec<_> = members(text.as_bytes(), 0)
            .into_iter()
            .map(|(key, span)| (key, String::from_utf8_lossy(span.of(text.as_bytes())).into_owned()))
            .collect();
        let expected = [("a", "1"), ("bc", r#"{"d": 2}"#), ("e", "[")];
        assert_eq!(found, expected.map(|(key, value)| (key.to_owned(), value.to_owned())));
    }
}
