//! The schema keys of one object, in either spelling.

use std::borrow::Cow;

use crate::json::Json;
use crate::recording::StopKind;

/// What is wrong with an event, before it is known which event that is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) kind: StopKind,
    pub(crate) part: Option<usize>,
    pub(crate) text: String,
}

impl Wrong {
    /// A value of another kind than its key asks for.
    pub(crate) fn shape(place: &str, expected: &str) -> Self {
        let subject = if place.is_empty() { "the whole".to_owned() } else { format!("`{}`", shown(place)) };
        Self::new(StopKind::BadShape, format!("{subject} is not {expected}"))
    }

    pub(crate) fn new(kind: StopKind, text: String) -> Self {
        Self { kind, part: None, text }
    }
}

/// Where a value stands. It is put into words only where a message needs them.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Place<'a> {
    /// In words already; empty for the whole.
    Words(&'a str),
    /// Under a key of an object.
    Key(&'a Self, &'a str),
    /// The item of a list with that number.
    Item(&'a Self, usize),
}

impl Place<'_> {
    /// A path such as `content.parts[0]`.
    pub(crate) fn words(&self) -> String {
        // The schema says how deep places are.
        match self {
            Self::Words(words) => (*words).to_owned(),
            Self::Key(outer, key) => join(&outer.words(), key),
            Self::Item(outer, index) => format!("{}[{index}]", outer.words()),
        }
    }
}

/// An object seen through its schema keys. A key that is null is as good as absent.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    place: Place<'a>,
    members: Members<'a>,
    /// Whether it has keys that are not known.
    has_unknown: bool,
}

/// The members of an object.
#[derive(Debug)]
enum Members<'a> {
    /// Few, each written as it is asked for: looked at one by one, if its [`mark`] is among these at all.
    AsWritten(u64, &'a [(Box<str>, Json)]),
    /// Many or spelled otherwise: sorted by their keys.
    Sorted(Vec<Member<'a>>),
}

#[derive(Debug)]
struct Member<'a> {
    /// In camelCase.
    key: Cow<'a, str>,
    written: &'a str,
    value: &'a Json,
}

/// Objects up to this many keys are searched key by key, which is quicker than to sort them.
const FEW: usize = 16;

impl<'a> Fields<'a> {
    /// Reads an object whose schema keys are `known`, in camelCase.
    ///
    /// Refused: what is no object, one field in both spellings, and a key that differs from a known one in its capitals
    /// or underscores alone, since another reader might take it for that one.
    pub(crate) fn new(json: &'a Json, place: &'a str, known: &[&str]) -> Result<Self, Wrong> {
        Self::at(json, Place::Words(place), known)
    }

    /// The same for an object that stands there.
    pub(crate) fn at(json: &'a Json, place: Place<'a>, known: &[&str]) -> Result<Self, Wrong> {
        let Json::Object(written) = json else { return Err(Wrong::shape(&place.words(), "an object")) };
        let mut marks = 0;
        let (mut seen, mut respelled, mut has_unknown) = (0_u128, written.len() > FEW, false);
        for (key, _) in written {
            marks |= mark(key);
            match known.iter().position(|known| is_same(known, key)) {
                Some(index) => {
                    let bit =
                        u32::try_from(index).ok().and_then(|index| 1_u128.checked_shl(index)).unwrap_or(0);
                    respelled |= seen & bit != 0 || bit == 0;
                    seen |= bit;
                }
                None => {
                    let own = camel(key);
                    respelled |= matches!(own, Cow::Owned(_));
                    if !known.contains(&&*own) {
                        has_unknown = true;
                        if is_lookalike(key, known) {
                            let key = join(&place.words(), key);
                            let text = format!("`{key}` is no spelling of a key that is known here");
                            return Err(Wrong::new(StopKind::BadShape, text));
                        }
                    }
                }
            }
        }
        let members = if respelled {
            Members::Sorted(sorted(written, &place, known)?)
        } else {
            Members::AsWritten(marks, written)
        };
        Ok(Self { place, members, has_unknown })
    }

    /// A member, by its key: as it is written, and its value.
    fn member(&self, key: &str) -> Option<(&'a str, &'a Json)> {
        match &self.members {
            Members::AsWritten(marks, _) if marks & mark(key) == 0 => None,
            Members::AsWritten(_, members) => {
                members.iter().find(|(written, _)| is_same(written, key)).map(|(key, value)| (&**key, value))
            }
            Members::Sorted(members) => {
                let found = members.binary_search_by(|member| (*member.key).cmp(key)).ok()?;
                members.get(found).map(|member| (member.written, member.value))
            }
        }
    }

    /// The keys as written, with their values, that are neither null nor `known`, sorted by the keys.
    pub(crate) fn others(&self, known: &[&str]) -> std::vec::IntoIter<(&'a str, &'a Json)> {
        let mut others: Vec<(&'a str, &'a Json)> = match &self.members {
            Members::AsWritten(_, members) => {
                let others = members.iter().filter(|(key, _)| !known.contains(&&**key));
                others.map(|(key, value)| (&**key, value)).collect()
            }
            Members::Sorted(members) => {
                let others = members.iter().filter(|member| !known.contains(&&*member.key));
                others.map(|member| (member.written, member.value)).collect()
            }
        };
        others.retain(|(_, value)| **value != Json::Null);
        if matches!(self.members, Members::AsWritten(..)) {
            others.sort_by_key(|(key, _)| *key);
        }
        others.into_iter()
    }

    /// The same for the keys that were known when the object was read.
    pub(crate) fn unknown(&self, known: &[&str]) -> std::vec::IntoIter<(&'a str, &'a Json)> {
        if self.has_unknown { self.others(known) } else { Vec::new().into_iter() }
    }

    /// The value of a key; none where it is null.
    pub(crate) fn value(&self, key: &str) -> Option<&'a Json> {
        self.member(key).map(|(_, value)| value).filter(|value| **value != Json::Null)
    }

    /// Where the object itself stands.
    pub(crate) fn own_place(&self) -> String {
        self.place.words()
    }

    /// Where the value of a key stands, not yet in words.
    pub(crate) fn place_of<'s>(&'s self, key: &'s str) -> Place<'s> {
        Place::Key(&self.place, self.member(key).map_or(key, |(written, _)| written))
    }

    /// Where the value of a key stands, in the spelling of the document.
    pub(crate) fn place(&self, key: &str) -> String {
        self.place_of(key).words()
    }

    /// A text; empty where absent.
    pub(crate) fn text(&self, key: &str) -> Result<String, Wrong> {
        match self.value(key) {
            None => Ok(String::new()),
            Some(Json::Text(text)) => Ok(text.to_string()),
            Some(_) => Err(Wrong::shape(&self.place(key), "text")),
        }
    }

    /// A truth value; false where absent.
    pub(crate) fn flag(&self, key: &str) -> Result<bool, Wrong> {
        match self.value(key) {
            None => Ok(false),
            Some(Json::Bool(flag)) => Ok(*flag),
            Some(_) => Err(Wrong::shape(&self.place(key), "true or false")),
        }
    }

    /// A list; empty where absent.
    pub(crate) fn list(&self, key: &str) -> Result<&'a [Json], Wrong> {
        match self.value(key) {
            None => Ok(&[]),
            Some(Json::Array(items)) => Ok(items),
            Some(_) => Err(Wrong::shape(&self.place(key), "a list")),
        }
    }

    /// Keys and values of an object of user data, as written; empty where absent.
    pub(crate) fn entries(&self, key: &str) -> Result<&'a [(Box<str>, Json)], Wrong> {
        match self.value(key) {
            None => Ok(&[]),
            Some(Json::Object(entries)) => Ok(entries),
            Some(_) => Err(Wrong::shape(&self.place(key), "an object")),
        }
    }

    /// An object of the schema; none where absent.
    pub(crate) fn object<'s>(&'s self, key: &'s str, known: &[&str]) -> Result<Option<Fields<'s>>, Wrong> {
        self.value(key).map(|value| Fields::at(value, self.place_of(key), known)).transpose()
    }
}

/// One of 64 bits, by the length and the first byte of a key.
fn mark(key: &str) -> u64 {
    let first = key.as_bytes().first().copied().unwrap_or(0);
    1 << ((key.len().wrapping_mul(5) ^ usize::from(first)) % 64)
}

/// Whether two short texts are equal. Most that are not differ in length or at their first byte.
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().first() == b.as_bytes().first() && a == b
}

/// The members of an object sorted by their keys in camelCase. Refused is a known key in both spellings.
fn sorted<'a>(
    written: &'a [(Box<str>, Json)],
    place: &Place<'_>,
    known: &[&str],
) -> Result<Vec<Member<'a>>, Wrong> {
    let member = |(written, value): &'a (Box<str>, Json)| Member { key: camel(written), written, value };
    let mut members: Vec<_> = written.iter().map(member).collect();
    members.sort_by(|a, b| a.key.cmp(&b.key));
    let twice = |pair: &&[Member<'_>]| match pair {
        [first, second] => first.key == second.key && known.contains(&&*first.key),
        _ => false,
    };
    if let Some([first, second]) = members.windows(2).find(twice) {
        let text = format!(
            "`{}` stands there twice, as `{}` and as `{}`",
            join(&place.words(), first.written),
            shown(first.written),
            shown(second.written)
        );
        return Err(Wrong::new(StopKind::DuplicateKey, text));
    }
    Ok(members)
}

/// Whether a value says nothing: null, or an empty text, list or object.
pub(crate) fn is_blank(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Bool(_) | Json::Number(_) => false,
        Json::Text(text) => text.is_empty(),
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
    }
}

/// Whether a value says nothing at any depth.
pub(crate) fn is_hollow(value: &Json) -> bool {
    // A parsed value is never nested deeper than the reader of JSON allows.
    match value {
        Json::Null => true,
        Json::Bool(_) | Json::Number(_) => false,
        Json::Text(text) => text.is_empty(),
        Json::Array(items) => items.iter().all(is_hollow),
        Json::Object(members) => members.iter().all(|(_, value)| is_hollow(value)),
    }
}

/// A path with one more step, the key cut to what a message can carry.
pub(crate) fn join(place: &str, key: &str) -> String {
    let key = shown(key);
    if place.is_empty() { key } else { [place, ".", &key].concat() }
}

/// A key or path cut to what a message can carry, on one line.
pub(crate) fn shown(text: &str) -> String {
    if text.len() <= 160 && text.bytes().all(|byte| matches!(byte, b' '..=b'~')) {
        return text.to_owned();
    }
    let short: String = text.chars().take(160).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    if short.len() < text.len() && text.chars().nth(160).is_some() { format!("{short}…") } else { short }
}

/// A key in camelCase: `long_running_tool_ids` as `longRunningToolIds`. Other spellings stay as they are.
pub(crate) fn camel(key: &str) -> Cow<'_, str> {
    if !key.bytes().any(|byte| byte == b'_') {
        return Cow::Borrowed(key);
    }
    let snake = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    if !snake || key.starts_with('_') || key.ends_with('_') || key.contains("__") {
        return Cow::Borrowed(key);
    }
    let mut out = String::with_capacity(key.len());
    let mut upper = false;
    for c in key.chars() {
        if c == '_' {
            upper = true;
        } else {
            out.push(if upper { c.to_ascii_uppercase() } else { c });
            upper = false;
        }
    }
    Cow::Owned(out)
}

/// A key of the schema in snake case: `mimeType` as `mime_type`. What is no camelCase stays as it is.
pub(crate) fn snake(key: &str) -> String {
    if !key.starts_with(|c: char| c.is_ascii_lowercase())
        || !key.bytes().all(|byte| byte.is_ascii_alphanumeric())
    {
        return key.to_owned();
    }
    let mut out = String::with_capacity(key.len() + 4);
    for c in key.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

fn is_lookalike(key: &str, known: &[&str]) -> bool {
    let letters = key.replace('_', "");
    known.iter().any(|known| known.eq_ignore_ascii_case(&letters))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> (StopKind, String) {
        let json = crate::json::parse(text).unwrap();
        let wrong = Fields::new(&json, "event", &["invocationId", "id"]).unwrap_err();
        (wrong.kind, wrong.text)
    }

    #[test]
    fn spellings() {
        let rows = [
            ("long_running_tool_ids", "longRunningToolIds"),
            ("longRunningToolIds", "longRunningToolIds"),
            ("id", "id"),
            ("_time", "_time"),
            ("a__b", "a__b"),
            ("Author_x", "Author_x"),
        ];
        for (key, expected) in rows {
            assert_eq!(camel(key), expected);
        }
        for (key, expected) in [("mimeType", "mime_type"), ("fps", "fps"), ("Fps", "Fps"), ("a-B", "a-B")] {
            assert_eq!(snake(key), expected);
        }
    }

    #[test]
    fn one_field_in_two_spellings_is_refused() {
        let (kind, text) = refusal(r#"{"invocationId": "a", "invocation_id": null}"#);
        assert_eq!(kind, StopKind::DuplicateKey);
        assert_eq!(text, "`event.invocationId` stands there twice, as `invocationId` and as `invocation_id`");
    }

    #[test]
    fn a_lookalike_key_is_refused() {
        for text in [r#"{"InvocationID": "a"}"#, r#"{"ID": "a"}"#, r#"{"invocation_Id": 1}"#, r#"{"_id": 1}"#]
        {
            assert_eq!(refusal(text).0, StopKind::BadShape, "{text}");
        }
    }
}
