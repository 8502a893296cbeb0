//! The body of a request: JSON, of bounded size and depth, in bounded time.

use std::time::Duration;

use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::StatusCode;
use hyper::body::{Body, Bytes};
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::json::{self, Json};
use crate::serve::problem::Problem;

/// Reads a body to its end.
pub(crate) async fn read<B>(
    headers: &HeaderMap,
    body: B,
    most: usize,
    limit: Duration,
) -> Result<Bytes, Problem>
where
    B: Body<Data = Bytes>,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    is_json(headers)?;
    let too_large = || {
        let text = format!("the body has more than {most} bytes: send events in several requests");
        Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", text).closing()
    };
    if usize::try_from(body.size_hint().lower()).map_or(true, |least| least > most) {
        return Err(too_large());
    }
    let whole = timeout(limit, Limited::new(body, most).collect()).await.map_err(|_| {
        let text = format!("the body did not come within {} ms", limit.as_millis());
        Problem::new(StatusCode::REQUEST_TIMEOUT, "slow", text).closing()
    })?;
    match whole {
        Ok(whole) => Ok(whole.to_bytes()),
        Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
        Err(_) => Err(Problem::bad("broken_body", "the body broke off").closing()),
    }
}

/// That the body is said to be JSON, as it is: nothing is unpacked here.
fn is_json(headers: &HeaderMap) -> Result<(), Problem> {
    let unsupported =
        |text| Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "media_type", text).closing());
    let plain = |value: &[u8]| value.trim_ascii().eq_ignore_ascii_case(b"identity");
    if !headers.get_all(CONTENT_ENCODING).iter().all(|value| plain(value.as_bytes())) {
        return unsupported("the body is compressed: send it as it is");
    }
    let is_named = |value: &str| {
        let (kind, parameters) = value.split_once(';').unwrap_or((value, ""));
        let parameters = parameters.trim().to_ascii_lowercase();
        let in_utf8 = matches!(parameters.as_str(), "" | "charset=utf-8" | "charset=\"utf-8\"");
        kind.trim().eq_ignore_ascii_case("application/json") && in_utf8
    };
    let mut kinds = headers.get_all(CONTENT_TYPE).iter();
    match (kinds.next(), kinds.next()) {
        (Some(kind), None) if kind.to_str().is_ok_and(is_named) => Ok(()),
        _ => unsupported("the body is no JSON: send one `Content-Type: application/json`"),
    }
}

/// What a body says.
pub(crate) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    let bad = |why: String| Problem::bad("bad_body", format!("the body cannot be read: {why}"));
    let text = std::str::from_utf8(bytes)
        .map_err(|error| bad(format!("byte {} is not UTF-8", error.valid_up_to())))?;
    // Depth and doubled keys, which the reader of fields passes over inside values that are kept as they are.
    let json = json::parse(text).map_err(|fault| bad(fault.to_string()))?;
    let parsed = serde_json::from_str(text).map_err(|error| bad(error.to_string()))?;
    // A list of the values of fields is none of them.
    let is_object = |json: &Json| matches!(json, Json::Object(_));
    if is_object(&json) && json.field("session").is_none_or(is_object) {
        Ok(parsed)
    } else {
        Err(bad("a list stands where an object is expected: write the keys".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::journal::Ending;
    use crate::serve::wire::{Check, Events, Finish};

    #[test]
    fn a_value_of_null_is_no_value_left_out() {
        for (more, value, args) in [
            ("", None, None),
            (r#","value":null"#, Some("null"), None),
            (r#","value":0,"args":null"#, Some("0"), Some("null")),
        ] {
            let body = format!(r#"{{"session":{{"session":"s"}},"ticket":"t","ending":"returned"{more}}}"#);
            let finish = parse::<Finish>(body.as_bytes()).unwrap();
            assert!(finish.ending().is_ok_and(|ending| ending == Ending::Returned(value.map(str::to_owned))));
            assert_eq!(finish.args.as_deref().map(|args| args.get()), args);
        }
    }

    #[test]
    fn bodies_that_say_more_or_less_than_they_should_are_refused() {
        let check = |more: &str| {
            format!(
                r#"{{"session":{{"session":"s"}},"tool":"f","args":{{}},"agent":"a","events":0,"digest":""{more}}}"#
            )
        };
        let deep = format!(r#","call_id":{}1{}"#, "[".repeat(200), "]".repeat(200));
        let rows = [
            (check(r#","principal":"root""#), "unknown field `principal`"),
            (check(r#","roles":["root"]"#), "unknown field `roles`"),
            (check(r#","clock":"2026""#), "unknown field `clock`"),
            (check(r#","tool":"g""#), "stands there twice"),
            (check(r#","call_id":1"#), "expected a string"),
            (check(&deep), "deeper than"),
            (check("").replace("{}", r#"{"a":1,"a":2}"#), "stands there twice"),
            (check("").replace("{}", "NaN"), "not JSON"),
            (
                check("").replace(r#""session":"s""#, r#""session":"s","tenant":"t""#),
                "unknown field `tenant`",
            ),
            ("[]".to_owned(), "expected an object with `session`"),
            (r#"[{"session":"s"},"","f",{},"a","","",[],0,""]"#.to_owned(), "a list stands"),
            (check("").replace(r#"{"session":"s"}"#, r#"["a","u","s"]"#), "a list stands"),
            (String::new(), "not JSON"),
        ];
        assert!(parse::<Check>(check("").as_bytes()).is_ok());
        for (body, words) in rows {
            let problem = parse::<Check>(body.as_bytes()).unwrap_err();
            assert!(problem.text.contains(words), "{body}: {}", problem.text);
        }
        let broken = parse::<Events>(&[b'"', 0xff, b'"']).unwrap_err();
        assert!(broken.text.contains("not UTF-8"), "{}", broken.text);
    }
}
