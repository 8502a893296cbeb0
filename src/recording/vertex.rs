//! Rows of the Vertex AI session service to events in the keys of Google's libraries.

use crate::json::Json;
use crate::recording::Parts;
use crate::recording::StopKind;
use crate::recording::adk::Ignored;
use crate::recording::fields::{Fields, Place, Wrong, camel, is_blank, is_hollow, join};
use crate::recording::mixed;
use crate::recording::part;
use crate::recording::reading::Dialect;

/// The keys of a row.
pub(crate) const ROW: &[&str] = &[
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

/// Session and event of the name of a row, which ends with `/sessions/SESSION/events/EVENT`.
pub(crate) fn named(name: &str) -> Option<(&str, &str)> {
    let (before, event) = name.rsplit_once('/')?;
    let (_, session) = before.strip_suffix("/events")?.rsplit_once("/sessions/")?;
    (!event.is_empty() && !session.is_empty() && !session.contains('/')).then_some((session, event))
}

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
            mixed::check(&Json::Object(raw.clone()), Dialect::Adk)?;
            agrees(&fields, raw)?;
            let named: Vec<_> = members.iter().map(|(key, _)| key.to_string()).collect();
            members.extend(raw.iter().filter(|(key, _)| !named.contains(&camel(key).into_owned())).cloned());
        }
        Some(_) => return Err(Wrong::shape(&fields.place("rawEvent"), "an object")),
        None => described(&fields, ignored, &mut members)?,
    }
    Ok(Json::Object(members))
}

/// Refuses a whole event that says otherwise than its row. Times may differ by their rounding.
fn agrees(row: &Fields<'_>, raw: &[(Box<str>, Json)]) -> Result<(), Wrong> {
    let whole = |key: &str| raw.iter().find(|(name, _)| camel(name) == key).map(|(_, value)| value);
    let metadata = row.object("eventMetadata", METADATA)?;
    let metadata = metadata.as_ref();
    let same = |key: &str, said: Option<&Json>| match (said.filter(|said| !is_blank(said)), whole(key)) {
        (None, _) => true,
        (Some(said), Some(whole)) => {
            said.canonical() == whole.canonical() || key == "content" && alike(said, whole)
        }
        // The names of a row stand for those that the whole event leaves out.
        (Some(_), None) => matches!(key, "author" | "invocationId"),
    };
    let beside = ["author", "invocationId", "content", "errorCode", "errorMessage"];
    let differing = beside.into_iter().find(|key| !same(key, row.value(key)));
    let inside = ["branch", "longRunningToolIds"];
    let inside =
        || inside.into_iter().find(|key| !same(key, metadata.and_then(|metadata| metadata.value(key))));
    let partial = metadata.map_or(Ok(false), |metadata| metadata.flag("partial"))?;
    let parts_differ = || (partial != (whole("partial") == Some(&Json::Bool(true)))).then_some("partial");
    let unsaid = || {
        let acts = row.value("actions").is_some_and(|actions| !is_hollow(actions));
        (acts && whole("actions").is_none_or(is_hollow)).then_some("actions")
    };
    let id = row.text("name")?.rsplit('/').next().map(str::to_owned).unwrap_or_default();
    let renamed = || {
        let other = |id_inside: &Json| !is_blank(id_inside) && id_inside.text() != Some(&id);
        whole("id").is_some_and(other).then_some("id")
    };
    match differing.or_else(inside).or_else(parts_differ).or_else(unsaid).or_else(renamed) {
        None => Ok(()),
        Some(key) => {
            let place = row.place("rawEvent");
            let text = format!(
                "`{place}` and the row around it differ in `{key}`, so it is not known what happened"
            );
            Err(Wrong::new(StopKind::BadShape, text))
        }
    }
}

/// Whether two contents have the same parts, however their bytes are written.
fn alike(one: &Json, other: &Json) -> bool {
    let parts = |json: &Json| {
        let fields = Fields::new(json, "content", &["parts", "role"])?;
        part::parts(fields.list("parts")?, &Place::Words("parts"), Dialect::Adk, Parts::Full)
    };
    matches!((parts(one), parts(other)), (Ok(one), Ok(other)) if one == other)
}

/// What a row says of its event key by key.
fn described(row: &Fields<'_>, ignored: &mut Ignored, members: &mut Members) -> Result<(), Wrong> {
    members.extend(taken(row, &["content", "errorCode", "errorMessage"]));
    let mut actions = row.entries("actions")?.to_vec();
    if let Some(metadata) = row.object("eventMetadata", METADATA)? {
        for (key, _) in metadata.unknown(METADATA) {
            if mixed::is_of_event(&camel(key)) {
                return Err(mixed::mixes(&join(&metadata.own_place(), key)));
            }
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
                r#"{"name": "x/e1", "author": "a", "content": {"parts": [{"text": "raw"}]}, "rawEvent": {"id": "e1", "author": "a", "timestamp": 5.0, "content": {"parts": [{"text": "raw"}]}}}"#,
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
