//! `content.parts` to parts; here those whose kind is their key.

use crate::json::Json;
use crate::recording::bytes;
use crate::recording::event::{Part, PartKind};
use crate::recording::fields::{Fields, Wrong, is_blank, join};
use crate::recording::reading::Dialect;
use crate::recording::untagged;
use crate::recording::{Parts, StopKind};

const PART: &[&str] = &["text", "thought", "thoughtSignature", "functionCall", "functionResponse"];
const CALL: &[&str] = &["id", "name", "args"];
const RESPONSE: &[&str] = &["id", "name", "response"];

/// Inline data of more decoded bytes than this is refused as such.
const MAX_INLINE: usize = 10_000_000;

/// Reads a list of parts that stands at `place`.
pub(crate) fn parts(items: &[Json], place: &str, dialect: Dialect, read: Parts) -> Result<Vec<Part>, Wrong> {
    let mut parts = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let place = format!("{place}[{index}]");
        let part = match dialect {
            Dialect::Adk | Dialect::Vertex => part(item, &place, read),
            Dialect::Rust => untagged::part(item, &place, read),
        };
        parts.push(part.map_err(|wrong| Wrong { part: Some(index), ..wrong })?);
    }
    Ok(parts)
}

fn part(json: &Json, place: &str, read: Parts) -> Result<Part, Wrong> {
    let fields = Fields::new(json, place, PART)?;
    let mut others = Vec::new();
    for (key, value) in fields.others(PART).filter(|(_, value)| !is_blank(value)) {
        if read == Parts::Supported {
            return Err(unsupported(place, key, value));
        }
        others.push((key.to_owned(), value.clone()));
    }
    let text = match fields.value("text") {
        Some(_) => Some(fields.text("text")?),
        None => None,
    };
    let call = fields.object("functionCall", CALL)?;
    let response = fields.object("functionResponse", RESPONSE)?;
    let kind = match (call, response, text) {
        (Some(call), None, text) if text.as_deref().is_none_or(str::is_empty) => call_of(&call)?,
        (None, Some(response), text) if text.as_deref().is_none_or(str::is_empty) => response_of(&response)?,
        (None, None, Some(text)) => PartKind::Text(text),
        (None, None, None) if !others.is_empty() => PartKind::Unsupported,
        (None, None, None) => PartKind::Empty,
        (Some(_), Some(_), _) | (Some(_), None, _) | (None, Some(_), _) => {
            let text = format!("`{place}` has more than one of text, function call and function response");
            return Err(Wrong::new(StopKind::BadShape, text));
        }
    };
    Ok(Part {
        kind,
        thought: fields.flag("thought")?,
        thought_signature: signature(&fields)?,
        unsupported: others,
    })
}

fn signature(fields: &Fields<'_>) -> Result<Option<Vec<u8>>, Wrong> {
    let Some(value) = fields.value("thoughtSignature").filter(|value| !is_blank(value)) else {
        return Ok(None);
    };
    match bytes::bytes(value) {
        Some(bytes) => Ok(Some(bytes)),
        None => Err(Wrong::shape(&fields.place("thoughtSignature"), "base64 or a list of bytes")),
    }
}

fn call_of(fields: &Fields<'_>) -> Result<PartKind, Wrong> {
    supported(fields, CALL)?;
    Ok(PartKind::Call {
        id: fields.text("id")?,
        name: fields.text("name")?,
        arguments: fields.value("args").cloned(),
    })
}

fn response_of(fields: &Fields<'_>) -> Result<PartKind, Wrong> {
    supported(fields, RESPONSE)?;
    Ok(PartKind::Response {
        id: fields.text("id")?,
        name: fields.text("name")?,
        response: fields.value("response").cloned(),
    })
}

/// Refuses a further key of a call or response, unless it says nothing (`willContinue: false` does not either).
fn supported(fields: &Fields<'_>, known: &[&str]) -> Result<(), Wrong> {
    match fields.others(known).find(|(_, value)| !is_blank(value) && **value != Json::Bool(false)) {
        Some((key, value)) => Err(unsupported(fields.own_place(), key, value)),
        None => Ok(()),
    }
}

pub(crate) fn unsupported(place: &str, key: &str, value: &Json) -> Wrong {
    let place = join(place, key);
    if inline_size(value) > MAX_INLINE {
        let text = format!("`{place}` holds more than {MAX_INLINE} bytes of inline data");
        return Wrong::new(StopKind::TooLarge, text);
    }
    Wrong::new(StopKind::UnsupportedPart, format!("`{place}` is no supported part of a message"))
}

/// Bytes of inline data in a part's value or in the items of `functionResponse.parts`; about, from the length of base64.
fn inline_size(value: &Json) -> usize {
    let own = |value: &Json| match value.field("data") {
        Some(Json::Text(text)) => text.len() / 4 * 3,
        Some(Json::Array(items)) => items.len(),
        Some(_) | None => 0,
    };
    let inner = |item: &Json| {
        ["inlineData", "inline_data"].iter().filter_map(|key| item.field(key)).map(own).max().unwrap_or(0)
    };
    match value {
        Json::Array(items) => items.iter().map(inner).max().unwrap_or(0),
        _ => own(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stop_of(text: &str) -> (StopKind, Option<usize>, String) {
        let json = crate::json::parse(text).unwrap();
        let Json::Array(items) = json else { panic!("not a list") };
        let wrong = parts(&items, "parts", Dialect::Adk, Parts::Supported).unwrap_err();
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
        let read = parts(&[json], "parts", Dialect::Adk, Parts::Supported).unwrap();
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
        let kind = |part: Json| parts(&[part], "parts", Dialect::Adk, Parts::Supported).unwrap_err().kind;
        assert_eq!(kind(data(13_333_332)), StopKind::UnsupportedPart);
        assert_eq!(kind(data(13_333_340)), StopKind::TooLarge);
    }
}
