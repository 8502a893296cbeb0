//! Events that are put together from what other forms say of a turn.

use crate::json::Json;

/// An object with these members.
pub(crate) fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(members.into_iter().map(|(key, value)| (key.into(), value)).collect())
}

/// A text.
pub(crate) fn text(text: &str) -> Json {
    Json::Text(text.into())
}

/// An event with that content.
pub(crate) fn event(author: &str, invocation: &str, content: Json) -> Json {
    object([("author", text(author)), ("invocationId", text(invocation)), ("content", content)])
}

/// A content with these parts.
pub(crate) fn content(role: &str, parts: Vec<Json>) -> Json {
    object([("role", text(role)), ("parts", Json::Array(parts))])
}

/// A content that is one part of that kind: text, a function call, a function response.
pub(crate) fn one_part(role: &str, kind: &str, value: Json) -> Json {
    content(role, vec![object([(kind, value)])])
}

/// The event that says what a session's state held before its first message: nobody is known to have written it.
pub(crate) fn state_before(state: Json) -> Json {
    object([("author", text("user")), ("actions", object([("stateDelta", state)]))])
}
