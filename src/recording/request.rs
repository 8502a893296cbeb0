//! The request that a model answered, where its recording holds it.

use crate::json::{self, Json};
use crate::recording::fields::Fields;

/// The key of the request in the metadata of an event, and in older versions in the event itself.
const TRACED: &str = "gcp.vertex.agent.llm_request";

/// The request, which is an object as the text of a text; and whether one stands there that cannot be used: it is no such
/// text, or stands there twice and tells two stories.
pub(crate) fn of(event: &Fields<'_>) -> (Option<Json>, bool) {
    let traced = event.value("eventMetadata").and_then(|metadata| metadata.field(TRACED));
    let written = [event.value("llmRequest"), traced, event.value(TRACED)];
    let mut written = written.into_iter().flatten().filter(|value| **value != Json::Null);
    let Some(first) = written.next() else { return (None, false) };
    if written.any(|other| other != first) {
        return (None, true);
    }
    match first.text().map(json::parse) {
        Some(Ok(request @ Json::Object(_))) => (Some(request), false),
        Some(Ok(_) | Err(_)) | None => (None, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_read_once_and_only_whole() {
        let rows = [
            (r#"{}"#, None, false),
            (r#"{"llm_request": null, "event_metadata": {}}"#, None, false),
            (r#"{"llm_request": "{\"model\":\"m\"}"}"#, Some(r#"{"model":"m"}"#), false),
            (r#"{"event_metadata": {"gcp.vertex.agent.llm_request": "{}"}}"#, Some("{}"), false),
            (r#"{"gcp.vertex.agent.llm_request": "{}", "llm_request": "{}"}"#, Some("{}"), false),
            (
                r#"{"llm_request": "{}", "event_metadata": {"gcp.vertex.agent.llm_request": "{\"a\":1}"}}"#,
                None,
                true,
            ),
            (r#"{"llm_request": "{\"a\":NaN}"}"#, None, true),
            (r#"{"llm_request": "{\"a\":1,\"a\":2}"}"#, None, true),
            (r#"{"llm_request": "[]"}"#, None, true),
            (r#"{"llm_request": {"model": "m"}}"#, None, true),
        ];
        for (text, request, unread) in rows {
            let json = json::parse(text).unwrap();
            let fields = Fields::new(&json, "", &["llmRequest", "eventMetadata"]).unwrap();
            let (found, fault) = of(&fields);
            assert_eq!((found.map(|found| found.ordinary()).as_deref(), fault), (request, unread), "{text}");
        }
    }
}
