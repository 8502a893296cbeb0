//! `content.parts` to parts; here those whose kind is their key.

use crate::json::Json;
use crate::recording::bytes;
use crate::recording::event::{FieldValue, Part, PartKind};
use crate::recording::fields::{Fields, Place, Wrong, camel, is_blank, join, shown, snake};
use crate::recording::mixed;
use crate::recording::reading::Dialect;
use crate::recording::untagged;
use crate::recording::{Parts, StopKind};
use std::collections::BTreeMap;

const PART: &[&str] = &["text", "thought", "thoughtSignature", "functionCall", "functionResponse"];
/// The keys by which the Rust library tells what a part is.
const FOREIGN: &[&str] = &["name", "args", "thinking", "serverToolCall", "serverToolResponse", "resource"];
const CALL: &[&str] = &["id", "name", "args"];
const RESPONSE: &[&str] = &["id", "name", "response"];

/// Inline data of more decoded bytes than this, in one part, is refused as such.
const MAX_INLINE: usize = 10_000_000;

/// What a field holds.
#[derive(Debug, Clone, Copy)]
enum Shape {
    /// User data, a word, a number: as it is.
    Plain,
    Bytes,
    /// An object of the schema; keys that are not listed are plain.
    Object(&'static [(&'static str, Self)]),
    List(&'static Self),
}

/// The further fields of a part. Those that are not listed are plain.
const FURTHER_OF_PART: &[(&str, Shape)] = &[
    ("inlineData", INLINE_DATA),
    ("fileData", FILE_DATA),
    (
        "videoMetadata",
        Shape::Object(&[("startOffset", Shape::Plain), ("endOffset", Shape::Plain), ("fps", Shape::Plain)]),
    ),
    (
        "executableCode",
        Shape::Object(&[("code", Shape::Plain), ("language", Shape::Plain), ("id", Shape::Plain)]),
    ),
    (
        "codeExecutionResult",
        Shape::Object(&[("outcome", Shape::Plain), ("output", Shape::Plain), ("id", Shape::Plain)]),
    ),
    ("toolCall", Shape::Object(&[("id", Shape::Plain), ("toolType", Shape::Plain), ("args", Shape::Plain)])),
    (
        "toolResponse",
        Shape::Object(&[("id", Shape::Plain), ("toolType", Shape::Plain), ("response", Shape::Plain)]),
    ),
    ("partMetadata", Shape::Plain),
    ("mediaResolution", Shape::Plain),
    ("audioTranscription", Shape::Plain),
    ("mediaProcessing", Shape::Plain),
    ("speechMetadata", Shape::Plain),
];

const INLINE_DATA: Shape =
    Shape::Object(&[("data", Shape::Bytes), ("mimeType", Shape::Plain), ("displayName", Shape::Plain)]);

const FILE_DATA: Shape =
    Shape::Object(&[("fileUri", Shape::Plain), ("mimeType", Shape::Plain), ("displayName", Shape::Plain)]);

const FURTHER_OF_CALL: &[(&str, Shape)] = &[
    (
        "partialArgs",
        Shape::List(&Shape::Object(&[
            ("jsonPath", Shape::Plain),
            ("stringValue", Shape::Plain),
            ("numberValue", Shape::Plain),
            ("boolValue", Shape::Plain),
            ("nullValue", Shape::Plain),
            ("willContinue", Shape::Plain),
        ])),
    ),
    ("willContinue", Shape::Plain),
];

const FURTHER_OF_RESPONSE: &[(&str, Shape)] = &[
    ("parts", Shape::List(&Shape::Object(&[("inlineData", INLINE_DATA), ("fileData", FILE_DATA)]))),
    ("scheduling", Shape::Plain),
    ("willContinue", Shape::Plain),
];

/// Reads a list of parts that stands at `place`.
pub(crate) fn parts(
    items: &[Json],
    place: &Place<'_>,
    dialect: Dialect,
    read: Parts,
) -> Result<Vec<Part>, Wrong> {
    let mut parts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let place = Place::Item(place, index);
        let part = match dialect {
            Dialect::Adk | Dialect::Vertex => part(item, place, read),
            Dialect::Rust => untagged::part(item, &place.words(), read),
        };
        parts.push(part.map_err(|wrong| Wrong { part: Some(index), ..wrong })?);
    }
    Ok(parts)
}

/// The further fields of the parts that are not known, by their names in snake case.
pub(crate) fn unknown(parts: &[Part]) -> impl Iterator<Item = String> {
    let is_known = |name: &str, known: &[(&str, Shape)]| known.iter().any(|(key, _)| snake(key) == name);
    parts.iter().flat_map(move |part| {
        let (inner, known) = match part.kind {
            PartKind::Call { .. } => ("function_call.", FURTHER_OF_CALL),
            PartKind::Response { .. } => ("function_response.", FURTHER_OF_RESPONSE),
            // Nothing of these is further inside.
            PartKind::Text(_)
            | PartKind::Code
            | PartKind::CodeResult { .. }
            | PartKind::ServerCall { .. }
            | PartKind::ServerAnswer { .. }
            | PartKind::Empty => ("", FURTHER_OF_PART),
        };
        let own = part.further.iter().map(|(name, _)| (name, "", FURTHER_OF_PART));
        let all = own.chain(part.further_inside.iter().map(move |(name, _)| (name, inner, known)));
        all.filter(move |(name, _, known)| !is_known(name, known))
            .map(|(name, inner, _)| format!("{inner}{name}"))
    })
}

fn part(json: &Json, place: Place<'_>, read: Parts) -> Result<Part, Wrong> {
    refuse_foreign(json, place, FOREIGN)?;
    let fields = Fields::at(json, place, PART)?;
    let mut inline = 0;
    let (kind, further_inside) = kind_of(&fields, read, &mut inline)?;
    Ok(Part {
        kind,
        thought: fields.flag("thought")?,
        thought_signature: signature(&fields)?,
        further: further(json, &fields, (PART, FURTHER_OF_PART), read, &mut inline)?,
        further_inside,
    })
}

/// Refuses a part with one of these keys, in any spelling that a reader might take for it: another library means a call
/// by it, or an answer, which would go unjudged.
pub(crate) fn refuse_foreign(json: &Json, place: Place<'_>, foreign: &[&str]) -> Result<(), Wrong> {
    let fields = Fields::at(json, place, foreign)?;
    match foreign.iter().find(|key| fields.value(key).is_some()) {
        Some(key) => Err(mixed::mixes(&fields.place(key))),
        None => Ok(()),
    }
}

type FurtherFields = Vec<(String, FieldValue)>;

/// What a part is, with the further fields of its call or answer.
fn kind_of(fields: &Fields<'_>, read: Parts, inline: &mut usize) -> Result<(PartKind, FurtherFields), Wrong> {
    let mut kinds = Vec::new();
    if let (Some(json), Some(call)) = (fields.value("functionCall"), fields.object("functionCall", CALL)?) {
        kinds.push((call_of(&call)?, further(json, &call, (CALL, FURTHER_OF_CALL), read, inline)?));
    }
    if let (Some(json), Some(response)) =
        (fields.value("functionResponse"), fields.object("functionResponse", RESPONSE)?)
    {
        let inside = further(json, &response, (RESPONSE, FURTHER_OF_RESPONSE), read, inline)?;
        kinds.push((response_of(&response)?, inside));
    }
    if read == Parts::Full {
        kinds.extend(beside_the_gate(fields)?.into_iter().map(|kind| (kind, Vec::new())));
    }
    let text = match fields.value("text") {
        Some(_) => Some(fields.text("text")?),
        None => None,
    };
    match (kinds.pop(), kinds.is_empty(), text) {
        (None, _, Some(text)) => Ok((PartKind::Text(text), Vec::new())),
        (None, _, None) => Ok((PartKind::Empty, Vec::new())),
        (Some(one), true, text) if text.as_deref().is_none_or(str::is_empty) => Ok(one),
        (Some(_), _, _) => {
            let text = format!(
                "`{}` has more than one of text, function call, function response, code, its result, and calls and \
                 answers of the model's own server",
                fields.own_place()
            );
            Err(Wrong::new(StopKind::BadShape, text))
        }
    }
}

/// What the model's own server, or an executor of code, did: no gate was asked.
fn beside_the_gate(fields: &Fields<'_>) -> Result<Vec<PartKind>, Wrong> {
    let mut kinds = Vec::new();
    let said = |key: &str| fields.value(key).is_some_and(|value| !is_blank(value));
    if said("executableCode") {
        kinds.push(PartKind::Code);
    }
    if let Some(result) =
        fields.object("codeExecutionResult", &["output"])?.filter(|_| said("codeExecutionResult"))
    {
        kinds.push(PartKind::CodeResult { output: result.text("output")? });
    }
    if let Some(call) = fields.object("toolCall", &["id", "toolType", "args"])?.filter(|_| said("toolCall")) {
        let (id, tool) = (call.text("id")?, call.text("toolType")?);
        kinds.push(PartKind::ServerCall { id, tool, arguments: call.value("args").cloned() });
    }
    if let Some(answer) = fields.object("toolResponse", &["id", "toolType"])?.filter(|_| said("toolResponse"))
    {
        kinds.push(PartKind::ServerAnswer { id: answer.text("id")?, tool: answer.text("toolType")? });
    }
    Ok(kinds)
}

fn signature(fields: &Fields<'_>) -> Result<Option<Vec<u8>>, Wrong> {
    let value = fields.value("thoughtSignature").filter(|value| !is_blank(value));
    value
        .map(|value| {
            bytes::of(value).ok_or_else(|| Wrong::shape(&fields.place("thoughtSignature"), bytes::EXPECTED))
        })
        .transpose()
}

fn call_of(fields: &Fields<'_>) -> Result<PartKind, Wrong> {
    Ok(PartKind::Call {
        id: fields.text("id")?,
        name: fields.text("name")?,
        arguments: fields.value("args").cloned(),
    })
}

fn response_of(fields: &Fields<'_>) -> Result<PartKind, Wrong> {
    Ok(PartKind::Response {
        id: fields.text("id")?,
        name: fields.text("name")?,
        response: fields.value("response").cloned(),
    })
}

/// The further fields of a part, call or response that say something. They stop the session, unless all are read.
fn further(
    json: &Json,
    fields: &Fields<'_>,
    (supported, shapes): (&[&str], &'static [(&'static str, Shape)]),
    read: Parts,
    inline: &mut usize,
) -> Result<FurtherFields, Wrong> {
    let inner = supported != PART;
    // `willContinue: false` says nothing.
    let says = |value: &Json| !(is_blank(value) || inner && *value == Json::Bool(false));
    for (key, value) in fields.unknown(supported).filter(|(_, value)| says(value)) {
        refuse(read, inline, &fields.own_place(), key, value)?;
    }
    if read == Parts::Supported {
        return Ok(Vec::new());
    }
    // A key that looks like one of these is refused, as everywhere.
    let known: Vec<&str> = shapes.iter().map(|(key, _)| *key).collect();
    let place = fields.own_place();
    Fields::new(json, &place, &known)?;
    let Json::Object(members) = json else { return Ok(Vec::new()) };
    let others = members.iter().filter(|(key, value)| {
        let known = supported.contains(&&*camel(key));
        !known && says(value)
    });
    members_of(others, &place, shapes)
}

/// Members of an object of the schema, by their names in snake case.
fn members_of<'a>(
    members: impl Iterator<Item = &'a (Box<str>, Json)>,
    place: &str,
    shapes: &'static [(&'static str, Shape)],
) -> Result<FurtherFields, Wrong> {
    let mut values = BTreeMap::new();
    for (key, json) in members.filter(|(_, value)| *value != Json::Null) {
        let (own, name) = (camel(key), snake(&camel(key)));
        let shape = shapes.iter().find(|(known, _)| *known == own).map_or(Shape::Plain, |(_, shape)| *shape);
        let at = join(place, key);
        if values.insert(name, value(json, &at, shape)?).is_some() {
            let text = format!("`{at}` stands there twice, once in another spelling than `{}`", shown(key));
            return Err(Wrong::new(StopKind::DuplicateKey, text));
        }
    }
    Ok(values.into_iter().collect())
}

// The tables of shapes end the recursion.
fn value(json: &Json, place: &str, shape: Shape) -> Result<FieldValue, Wrong> {
    match shape {
        Shape::Plain => Ok(FieldValue::Plain(json.clone())),
        Shape::Bytes => {
            bytes::of(json).map(FieldValue::Bytes).ok_or_else(|| Wrong::shape(place, bytes::EXPECTED))
        }
        Shape::Object(shapes) => {
            let known: Vec<&str> = shapes.iter().map(|(key, _)| *key).collect();
            Fields::new(json, place, &known)?;
            let Json::Object(members) = json else { return Err(Wrong::shape(place, "an object")) };
            members_of(members.iter(), place, shapes).map(FieldValue::Object)
        }
        Shape::List(shape) => {
            let Json::Array(items) = json else { return Err(Wrong::shape(place, "a list")) };
            let items = items.iter().enumerate();
            let items = items.map(|(index, item)| value(item, &format!("{place}[{index}]"), *shape));
            items.collect::<Result<_, _>>().map(FieldValue::List)
        }
    }
}

/// Refuses a further field with which a part holds too much, or that stands where only supported ones are read. `inline` is
/// how much the part held so far.
pub(crate) fn refuse(
    read: Parts,
    inline: &mut usize,
    place: &str,
    key: &str,
    value: &Json,
) -> Result<(), Wrong> {
    let place = join(place, key);
    *inline += inline_size(value);
    if *inline > MAX_INLINE {
        let text = format!("with `{place}` this part holds more than {MAX_INLINE} bytes of inline data");
        return Err(Wrong::new(StopKind::TooLarge, text));
    }
    match read {
        Parts::Full => Ok(()),
        Parts::Supported => {
            let text = format!("`{place}` is no supported part of a message");
            Err(Wrong::new(StopKind::UnsupportedPart, text))
        }
    }
}

/// The further fields of a part of another dialect, by the names that they have here.
pub(crate) fn further_of_part(members: &[(Box<str>, Json)], place: &str) -> Result<FurtherFields, Wrong> {
    members_of(members.iter(), place, FURTHER_OF_PART)
}

/// Bytes of inline data in a part's value, or in the items of a list of an answer; about, from the length of base64.
fn inline_size(value: &Json) -> usize {
    let own = |value: &Json| match value.field("data") {
        Some(Json::Text(text)) => text.len() / 4 * 3,
        Some(Json::Array(items)) => items.len(),
        Some(_) | None => 0,
    };
    let inner = |item: &Json| {
        let of = ["inlineData", "inline_data"].iter().filter_map(|key| item.field(key));
        of.chain([item]).map(own).max().unwrap_or(0)
    };
    match value {
        Json::Array(items) => items.iter().map(inner).sum(),
        _ => own(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop_of(text: &str) -> (StopKind, Option<usize>, String) {
        let json = crate::json::parse(text).unwrap();
        let Json::Array(items) = json else { panic!("not a list") };
        let wrong = parts(&items, &Place::Words("parts"), Dialect::Adk, Parts::Supported).unwrap_err();
        (wrong.kind, wrong.part, wrong.text)
    }

    #[test]
    fn unsupported_fields_are_named_as_written() {
        let rows = [
            (r#"[{"fileData": {"fileUri": "x"}}]"#, "parts[0].fileData"),
            (r#"[{}, {"text": "x", "part_metadata": {"a": 1}}]"#, "parts[1].part_metadata"),
            (r#"[{"toolCall": {"id": "x"}}]"#, "parts[0].toolCall"),
            (r#"[{"something": 5}]"#, "parts[0].something"),
            (
                r#"[{"functionCall": {"name": "x", "willContinue": true}}]"#,
                "parts[0].functionCall.willContinue",
            ),
            (r#"[{"function_response": {"scheduling": "SILENT"}}]"#, "parts[0].function_response.scheduling"),
        ];
        for (text, place) in rows {
            let (kind, part, words) = stop_of(text);
            assert_eq!(kind, StopKind::UnsupportedPart, "{text}");
            assert_eq!(part, Some(if place.starts_with("parts[1]") { 1 } else { 0 }), "{text}");
            assert_eq!(words, format!("`{place}` is no supported part of a message"));
        }
    }

    #[test]
    fn empty_fields_say_nothing() {
        let text = r#"{"text": "x", "inlineData": null, "videoMetadata": {}, "thought": null,
            "functionCall": null}"#;
        let json = crate::json::parse(text).unwrap();
        let read = parts(&[json], &Place::Words("parts"), Dialect::Adk, Parts::Supported).unwrap();
        let kinds: Vec<_> = read.into_iter().map(|part| part.kind).collect();
        assert_eq!(kinds, [PartKind::Text("x".to_owned())]);
    }

    #[test]
    fn inline_data_past_the_limit_is_too_large() {
        let data = |length: usize| {
            let text = Json::Text("A".repeat(length).into());
            let inline = Json::Object(vec![("data".into(), text)]);
            Json::Object(vec![("inlineData".into(), inline)])
        };
        let kind = |part: Json| {
            parts(&[part], &Place::Words("parts"), Dialect::Adk, Parts::Supported).unwrap_err().kind
        };
        assert_eq!(kind(data(13_333_332)), StopKind::UnsupportedPart);
        assert_eq!(kind(data(13_333_340)), StopKind::TooLarge);
        let full = |part: Json| {
            parts(&[part], &Place::Words("parts"), Dialect::Adk, Parts::Full).map_err(|wrong| wrong.kind)
        };
        assert!(full(data(13_333_332)).is_ok());
        assert_eq!(full(data(13_333_340)), Err(StopKind::TooLarge));
    }

    #[test]
    fn the_limit_holds_for_all_data_of_a_part_in_every_dialect() {
        let half = |name: &str| format!(r#""{name}":{{"data":"{}"}}"#, "A".repeat(7_000_000));
        let item = format!(r#"{{"inlineData":{{"data":"{}"}}}}"#, "A".repeat(7_000_000));
        let loose = format!(r#"{{"data":"{}"}}"#, "A".repeat(7_000_000));
        let rows = [
            (Dialect::Adk, format!("{{{},{}}}", half("inlineData"), half("other"))),
            (
                Dialect::Adk,
                format!(r#"{{{},"functionResponse":{{"name":"f","parts":[{item}]}}}}"#, half("inlineData")),
            ),
            (Dialect::Rust, format!("{{{},{}}}", half("other"), half("another"))),
            (
                Dialect::Rust,
                format!(r#"{{"functionResponse":{{"name":"f","inline_data":[{loose},{loose}]}}}}"#),
            ),
        ];
        for (dialect, text) in rows {
            let json = crate::json::parse(&text).unwrap();
            let wrong = parts(&[json], &Place::Words("parts"), dialect, Parts::Full).unwrap_err();
            assert_eq!(wrong.kind, StopKind::TooLarge, "{dialect:?} {}", wrong.text);
        }
    }

    #[test]
    fn what_full_reading_cannot_tell_apart_or_decode_stops() {
        let rows = [
            (r#"{"inlineData": {"data": "?"}}"#, StopKind::BadShape),
            (r#"{"inlineData": {"data": [300]}}"#, StopKind::BadShape),
            (r#"{"inlineData": {}, "inline_data": {"data": "AA=="}}"#, StopKind::DuplicateKey),
            (r#"{"ToolResponse": {"toolType": "X"}}"#, StopKind::BadShape),
            (r#"{"newThing": 1, "new_thing": 2}"#, StopKind::DuplicateKey),
            (r#"{"text": "x", "codeExecutionResult": {"output": "y"}}"#, StopKind::BadShape),
            (r#"{"functionCall": {"name": "f"}, "toolCall": {"toolType": "X"}}"#, StopKind::BadShape),
            (r#"{"fileData": "gs://x"}"#, StopKind::BadShape),
        ];
        for (text, expected) in rows {
            let json = crate::json::parse(text).unwrap();
            let stopped =
                parts(&[json], &Place::Words("parts"), Dialect::Adk, Parts::Full).map_err(|wrong| wrong.kind);
            assert_eq!(stopped, Err(expected), "{text}");
        }
    }
}
