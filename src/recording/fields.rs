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

/// An object seen through its schema keys. A key that is null is as good as absent.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    place: String,
    /// Sorted by their keys.
    members: Vec<Member<'a>>,
}

#[derive(Debug)]
struct Member<'a> {
    /// In camelCase.
    key: Cow<'a, str>,
    written: &'a str,
    value: &'a Json,
}

impl<'a> Fields<'a> {
    /// Reads an object whose schema keys are `known`, in camelCase.
    ///
    /// Refused: what is no object, one field in both spellings, and a key that differs from a known one in its capitals
    /// or underscores alone, since another reader might take it for that one.
    pub(crate) fn new(json: &'a Json, place: &str, known: &[&str]) -> Result<Self, Wrong> {
        let Json::Object(written) = json else { return Err(Wrong::shape(place, "an object")) };
        let mut members: Vec<Member<'_>> = Vec::with_capacity(written.len());
        for (written, value) in written {
            let key = camel(written);
            if !known.contains(&&*key) && is_lookalike(written, known) {
                let text = format!("`{}` is no spelling of a key that is known here", join(place, written));
                return Err(Wrong::new(StopKind::BadShape, text));
            }
            members.push(Member { key, written, value });
        }
        members.sort_by(|a, b| a.key.cmp(&b.key));
        let twice = |pair: &&[Member<'_>]| match pair {
            [first, second] => first.key == second.key && known.contains(&&*first.key),
            _ => false,
        };
        if let Some([first, second]) = members.windows(2).find(twice) {
            let text = format!(
                "`{}` stands there twice, as `{}` and as `{}`",
                join(place, first.written),
                shown(first.written),
                shown(second.written)
            );
            return Err(Wrong::new(StopKind::DuplicateKey, text));
        }
        Ok(Self { place: place.to_owned(), members })
    }

    fn member(&self, key: &str) -> Option<&Member<'a>> {
        let found = self.members.binary_search_by(|member| (*member.key).cmp(key)).ok()?;
        self.members.get(found)
    }

    /// The keys as written, with their values, that are neither null nor `known`.
    pub(crate) fn others(&self, known: &[&str]) -> impl Iterator<Item = (&'a str, &'a Json)> {
        self.members
            .iter()
            .filter(|member| *member.value != Json::Null && !known.contains(&&*member.key))
            .map(|member| (member.written, member.value))
    }

    /// The value of a key; none where it is null.
    pub(crate) fn value(&self, key: &str) -> Option<&'a Json> {
        self.member(key).map(|member| member.value).filter(|value| **value != Json::Null)
    }

    /// Where the object itself stands.
    pub(crate) fn own_place(&self) -> &str {
        &self.place
    }

    /// Where the value of a key stands, in the spelling of the document.
    pub(crate) fn place(&self, key: &str) -> String {
        join(&self.place, self.member(key).map_or(key, |member| member.written))
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
    pub(crate) fn object(&self, key: &str, known: &[&str]) -> Result<Option<Self>, Wrong> {
        self.value(key).map(|value| Self::new(value, &self.place(key), known)).transpose()
    }
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
    let snake = key.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    let plain = !key.contains('_') || !snake;
    if plain || key.starts_with('_') || key.ends_with('_') || key.contains("__") {
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
