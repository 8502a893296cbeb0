//! Credentials, which reach no record, fact or report.

use crate::json::Json;
use std::borrow::Cow;

/// Keys under which the framework's credential objects stand, without their underscores and in small letters.
const HOLDERS: [&str; 3] = ["rawauthcredential", "exchangedauthcredential", "authcredential"];

/// The key that every credential object has.
const MARK: &str = "authtype";

/// What stands in place of a secret.
pub(crate) fn redacted() -> Json {
    Json::Object(vec![("redacted".into(), Json::Bool(true))])
}

/// Whether a credential stands anywhere inside, also in text that is JSON itself.
pub(crate) fn holds_credential(value: &Json) -> bool {
    let mut open = vec![value];
    while let Some(value) = open.pop() {
        match value {
            Json::Object(fields) => {
                if fields.iter().any(|(key, _)| is_key(key, MARK) || is_holder(key)) {
                    return true;
                }
                open.extend(fields.iter().map(|(_, value)| value));
            }
            Json::Array(items) => open.extend(items),
            Json::Text(text) if is_credential_text(text) => return true,
            Json::Text(_) | Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
    false
}

/// The value with each credential inside replaced, and everything around it kept.
pub(crate) fn without_credentials(value: &Json) -> Cow<'_, Json> {
    if holds_credential(value) { Cow::Owned(cleared(value)) } else { Cow::Borrowed(value) }
}

// A parsed value is never nested deeper than the reader of JSON allows.
fn cleared(value: &Json) -> Json {
    match value {
        Json::Object(fields) if fields.iter().any(|(key, _)| is_key(key, MARK)) => redacted(),
        Json::Object(fields) => {
            let clear = |value: &Json, key: &str| if is_holder(key) { redacted() } else { cleared(value) };
            Json::Object(fields.iter().map(|(key, value)| (key.clone(), clear(value, key))).collect())
        }
        Json::Array(items) => Json::Array(items.iter().map(cleared).collect()),
        Json::Text(text) if is_credential_text(text) => redacted(),
        Json::Text(_) | Json::Null | Json::Bool(_) | Json::Number(_) => value.clone(),
    }
}

fn is_holder(key: &str) -> bool {
    HOLDERS.iter().any(|holder| is_key(key, holder))
}

/// Whether a key is that one in whatever spelling.
fn is_key(key: &str, letters: &str) -> bool {
    let own = key.bytes().filter(|byte| *byte != b'_').map(|byte| byte.to_ascii_lowercase());
    own.eq(letters.bytes())
}

/// Whether a text is JSON with a credential in it, however often it was written as text within text.
fn is_credential_text(text: &str) -> bool {
    let begins = text.trim_start().starts_with(['{', '[', '"']);
    begins && {
        let letters: String = text
            .chars()
            .filter(|c| c.is_ascii_alphanumeric() || *c == '"')
            .collect::<String>()
            .to_ascii_lowercase();
        HOLDERS.iter().chain([&MARK]).any(|key| letters.contains(&format!("\"{key}\"")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_cut_out_wherever_they_stand() {
        let rows = [
            (r#"{"a":1}"#, r#"{"a":1}"#),
            (r#"{"a":{"authType":"apiKey","apiKey":"hush"},"b":1}"#, r#"{"a":{"redacted":true},"b":1}"#),
            (r#"[{"auth_type":"oauth2","oauth2":{"clientSecret":"hush"}}]"#, r#"[{"redacted":true}]"#),
            (
                r#"{"x":[[{"rawAuthCredential":"hush","k":2}]]}"#,
                r#"{"x":[[{"k":2,"rawAuthCredential":{"redacted":true}}]]}"#,
            ),
            (
                r#"{"exchanged_auth_credential":["hush"]}"#,
                r#"{"exchanged_auth_credential":{"redacted":true}}"#,
            ),
            (
                r#"{"AuthCredential":{"http":{"credentials":{"token":"hush"}}}}"#,
                r#"{"AuthCredential":{"redacted":true}}"#,
            ),
            (r#"{"t":" {\"authType\":\"apiKey\",\"apiKey\":\"hush\"}"}"#, r#"{"t":{"redacted":true}}"#),
            (r#"{"t":"\"{\\\"auth_type\\\":\\\"hush\\\"}\""}"#, r#"{"t":{"redacted":true}}"#),
            (r#"{"t":"the authType is apiKey"}"#, r#"{"t":"the authType is apiKey"}"#),
        ];
        for (given, expected) in rows {
            let value = crate::json::parse(given).unwrap();
            assert_eq!(without_credentials(&value).ordinary(), expected, "{given}");
            assert_eq!(holds_credential(&value), given != expected, "{given}");
        }
    }
}
