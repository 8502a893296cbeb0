//! Rows of the Vertex AI session service to events in the keys of Google's libraries.

use crate::json::Json;
use crate::recording::adk::Ignored;
use crate::recording::fields::{Fields, Wrong, camel, is_blank, join};

/// The keys of a row.
const ROW: &[&str] = &[
    "name",
    "author",
    "invocationId",
    "timestamp",
    "content",
    "actions",
    "errorCode",
    "errorMessage",
    "eventMetadata",
    "rawEvent",
];

/// The keys of an event that stand in the metadata of a row.
const METADATA: &[&str] = &[
    "partial",
    "turnComplete",
    "interrupted",
    "branch",
    "longRunningToolIds",
    "groundingMetadata",
    "customMetadata",
];

/// What the service has no field for, and libraries keep among the custom metadata.
const COMPACTION: &str = "_compaction";
const USAGE: &str = "_usage_metadata";

type Members = Vec<(Box<str>, Json)>;

/// The event of a row. Newer writers add the whole event as `rawEvent`, which stands for all but the names of the row, as it
/// does for the libraries that read it back.
pub(crate) fn event(row: &Json, ignored: &mut Ignored) -> Result<Json, Wrong> {
    let fields = Fields::new(row, "", ROW)?;
    for (key, _) in fields.others(ROW) {
        ignored.note(key);
    }
    let name = fields.text("name")?;
    let id = name.rsplit('/').next().unwrap_or_default();
    let mut members: Members = vec![("id".into(), Json::Text(id.into()))];
    members.extend(taken(&fields, &["author", "invocationId", "timestamp"]));
    match fields.value("rawEvent").filter(|raw| !is_blank(raw)) {
        Some(Json::Object(raw)) => {
            let named: Vec<_> = members.iter().map(|(key, _)| key.to_string()).collect();
            members.extend(raw.iter().filter(|(key, _)| !named.contains(&camel(key).into_owned())).cloned());
        }
        Some(_) => return Err(Wrong::shape(&fields.place("rawEvent"), "an object")),
        None => described(&fields, ignored, &mut members)?,
    }
    Ok(Json::Object(members))
}

/// What a row says of its event key by key.
fn described(row: &Fields<'_>, ignored: &mut Ignored, members: &mut Members) -> Result<(), Wrong> {
    members.extend(taken(row, &["content", "errorCode", "errorMessage"]));
    let mut actions = row.entries("actions")?.to_vec();
    if let Some(metadata) = row.object("eventMetadata", METADATA)? {
        for (key, _) in metadata.unknown(METADATA) {
            ignored.note(&join(&metadata.own_place(), key));
        }
        members.extend(taken(&metadata, METADATA).filter(|(key, _)| &**key != "customMetadata"));
        let custom = metadata.entries("customMetadata")?;
        let known = actions.iter().any(|(key, value)| &**key == "compaction" && *value != Json::Null);
        for (key, value) in custom.iter().filter(|(key, _)| &**key == COMPACTION && !known) {
            actions.retain(|(key, _)| &**key != "compaction");
            actions.push((key.trim_start_matches('_').into(), value.clone()));
        }
        let own: Members =
            custom.iter().filter(|(key, _)| &**key != COMPACTION && &**key != USAGE).cloned().collect();
        members.push(("customMetadata".into(), Json::Object(own)));
    }
    members.push(("actions".into(), Json::Object(actions)));
    Ok(())
}

/// The values of these keys, under their names in camelCase.
fn taken<'f>(fields: &'f Fields<'_>, keys: &'f [&'f str]) -> impl Iterator<Item = (Box<str>, Json)> + 'f {
    keys.iter().filter_map(|key| Some(((*key).into(), fields.value(key)?.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_events() {
        let rows = [
            (
                r#"{"name": "reasoningEngines/1/sessions/s/events/e1", "author": "a", "invocation_id": "i", "timestamp": "2026-01-01T00:00:00Z"}"#,
                r#"{"actions":{},"author":"a","id":"e1","invocationId":"i","timestamp":"2026-01-01T00:00:00Z"}"#,
            ),
            (
                r#"{"name": "e1", "eventMetadata": {"branch": "b", "long_running_tool_ids": ["c"], "customMetadata": {"_compaction": {"a": 1}, "_usage_metadata": {}, "k": 1}}, "actions": {"transferAgent": "x", "compaction": null}}"#,
                r#"{"actions":{"compaction":{"a":1},"transferAgent":"x"},"branch":"b","customMetadata":{"k":1},"id":"e1","longRunningToolIds":["c"]}"#,
            ),
            (
                r#"{"name": "x/e1", "author": "a", "content": {"parts": [{"text": "row"}]}, "rawEvent": {"id": "other", "author": "b", "timestamp": 5.0, "content": {"parts": [{"text": "raw"}]}}}"#,
                r#"{"author":"a","content":{"parts":[{"text":"raw"}]},"id":"e1","timestamp":5.0}"#,
            ),
            (
                r#"{"name": "e1", "rawEvent": {}, "errorCode": "X"}"#,
                r#"{"actions":{},"errorCode":"X","id":"e1"}"#,
            ),
        ];
        for (row, expected) in rows {
            let row = crate::json::parse(row).unwrap();
            assert_eq!(event(&row, &mut Ignored::default()).unwrap().ordinary(), expected);
        }
    }
}
