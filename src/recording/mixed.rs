//! Whether an event has keys that only another dialect reads, or that only a session has.
//!
//! A key that one reader drops and another believes would let two readers see two sessions. So such an event stops.

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::adk;
use crate::recording::fields::{Wrong, camel, is_blank, shown};
use crate::recording::reading::Dialect;
use crate::recording::vertex;

/// Keys that hold events themselves.
pub(crate) const NESTED: &[&str] =
    &["events", "eventLogs", "pastEvents", "pendingEvents", "event", "session"];

/// The key of a whole event in a row of the Vertex AI session service.
pub(crate) const RAW: &str = "rawEvent";

/// Refuses an event that is not wholly of that dialect, or that holds other events.
pub(crate) fn check(event: &Json, dialect: Dialect) -> Result<(), Wrong> {
    let Json::Object(members) = event else { return Ok(()) };
    let is_row = event.field("name").and_then(Json::text).is_some_and(|name| vertex::named(name).is_some());
    if dialect == Dialect::Vertex && !is_row {
        let text = "the event is no row of the Vertex AI session service, as those before it are: its `name` does not end \
                    with `/sessions/SESSION/events/EVENT`";
        return Err(Wrong::new(StopKind::BadShape, text.to_owned()));
    }
    for (key, _) in members.iter().filter(|(_, value)| !is_blank(value)) {
        let name = camel(key);
        if NESTED.contains(&&*name) {
            let text =
                format!("an event holds `{}`: events stand in a session, and not in one another", shown(key));
            return Err(Wrong::new(StopKind::BadShape, text));
        }
        if is_foreign(&name, dialect) || is_row && name == "name" && dialect != Dialect::Vertex {
            return Err(mixes(key));
        }
    }
    match dialect {
        Dialect::Rust => rust(event),
        Dialect::Adk | Dialect::Vertex => Ok(()),
    }
}

/// The fault of a key that the library does not write which wrote the first event.
pub(crate) fn mixes(key: &str) -> Wrong {
    let text = format!(
        "the file mixes dialects: `{}` is no key of the library that wrote its first event; give each library a file of its own",
        shown(key)
    );
    Wrong::new(StopKind::BadShape, text)
}

/// Whether a key, in camelCase, is of another dialect and means something there.
fn is_foreign(key: &str, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Adk => key == RAW || adk::RUST.contains(&key),
        Dialect::Rust => key == RAW,
        Dialect::Vertex => !vertex::ROW.contains(&key) && is_of_event(key),
    }
}

/// Whether a key, in camelCase, says something about an event of any library.
pub(crate) fn is_of_event(key: &str) -> bool {
    [adk::READ, adk::OUTSIDE, adk::RUST].iter().any(|keys| keys.contains(&key))
}

/// The Rust library writes snake_case and times as text. Older versions add `invocationId` to the other spelling.
fn rust(event: &Json) -> Result<(), Wrong> {
    let camel_alone = event.field("invocationId").is_some() && event.field("invocation_id").is_none();
    let timed = event.field("timestamp").is_none_or(|time| matches!(time, Json::Text(_) | Json::Null));
    match (camel_alone, timed) {
        (true, _) => Err(mixes("invocationId")),
        (false, false) => {
            let text = "the file mixes dialects: `timestamp` is a text in its first event, and none here";
            Err(Wrong::new(StopKind::BadShape, text.to_owned()))
        }
        (false, true) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_of_another_dialect_stop() {
        let row = r#""name": "r/sessions/s/events/e""#;
        let rows = [
            (Dialect::Adk, r#""rawEvent": null, "event_metadata": {}"#.to_owned(), true),
            (Dialect::Adk, r#""rawEvent": {"a": 1}"#.to_owned(), false),
            (Dialect::Adk, r#""llm_request": "{}""#.to_owned(), false),
            (Dialect::Adk, r#""name": "a/events/b""#.to_owned(), true),
            (Dialect::Adk, row.to_owned(), false),
            (Dialect::Vertex, row.to_owned(), true),
            (Dialect::Vertex, format!(r#"{row}, "long_running_tool_ids": ["c"]"#), false),
            (Dialect::Vertex, format!(r#"{row}, "id": "e""#), false),
            (Dialect::Vertex, r#""author": "a""#.to_owned(), false),
            (Dialect::Rust, r#""invocation_id": "i", "timestamp": "t""#.to_owned(), true),
            (Dialect::Rust, r#""invocation_id": "i", "timestamp": 1.5"#.to_owned(), false),
            (Dialect::Rust, r#""invocationId": "i", "timestamp": "t""#.to_owned(), false),
            (Dialect::Rust, row.to_owned(), false),
            (Dialect::Adk, r#""events": [{}]"#.to_owned(), false),
            (Dialect::Rust, r#""past_events": [{}]"#.to_owned(), false),
        ];
        for (dialect, members, fine) in rows {
            let event = crate::json::parse(&format!("{{{members}}}")).unwrap();
            assert_eq!(check(&event, dialect).is_ok(), fine, "{dialect:?} {members}");
        }
    }
}
