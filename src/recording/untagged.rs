//! One part as the Rust library writes it, with nothing around it that names its kind, to a [`Part`].

use crate::json::Json;
use crate::recording::bytes;
use crate::recording::event::{Part, PartKind};
use crate::recording::fields::{Fields, Place, Wrong, is_blank};
use crate::recording::part;
use crate::recording::{Parts, StopKind};

/// Every key that a part can have, so that no other spelling of one passes for it.
const PART: &[&str] = &[
    "thinking",
    "signature",
    "text",
    "mimeType",
    "data",
    "uri",
    "fileUri",
    "name",
    "args",
    "id",
    "thoughtSignature",
    "functionResponse",
    "annotations",
    "serverToolCall",
    "serverToolResponse",
    "resource",
];
/// The keys by which Google's libraries tell what a part is.
const FOREIGN: &[&str] = &[
    "functionCall",
    "toolCall",
    "toolResponse",
    "executableCode",
    "codeExecutionResult",
    "inlineData",
    "fileData",
];
const RESPONSE: &[&str] = &["name", "response"];

/// Reads one part.
pub(crate) fn part(json: &Json, place: &str, read: Parts) -> Result<Part, Wrong> {
    let fields = Fields::new(json, place, PART)?;
    part::refuse_foreign(json, Place::Words(place), FOREIGN)?;
    let (kind, own) = kind(&fields)?;
    let others = grouped(fields.others(own).filter(|(_, value)| !is_blank(value)));
    let mut inline = 0;
    for (_, key, value) in &others {
        part::refuse(read, &mut inline, place, key, value)?;
    }
    let mut inside = Vec::new();
    if let Some(inner) = fields.object("functionResponse", RESPONSE)? {
        for (key, value) in inner.unknown(RESPONSE).filter(|(_, value)| !is_blank(value)) {
            part::refuse(read, &mut inline, &inner.own_place(), key, value)?;
            inside.push((key.into(), value.clone()));
        }
    }
    let others: Vec<_> = others.into_iter().map(|(name, _, value)| (name.into(), value)).collect();
    let server = if kind == PartKind::Empty { server(&fields)? } else { None };
    Ok(Part {
        kind: server.unwrap_or(kind),
        thought: own.contains(&"thinking"),
        thought_signature: signature(&fields, own)?,
        further: part::further_of_part(&others, place)?,
        further_inside: part::further_of_part(&inside, place)?,
    })
}

/// A call that the model's own server made, or its answer: no gate was asked.
fn server(fields: &Fields<'_>) -> Result<Option<PartKind>, Wrong> {
    let known = ["id", "name", "args"];
    if let Some(call) = fields.object("serverToolCall", &known)? {
        let (id, tool) = (call.text("id")?, call.text("name")?);
        return Ok(Some(PartKind::ServerCall { id, tool, arguments: call.value("args").cloned() }));
    }
    let answer = fields.object("serverToolResponse", &known)?;
    answer
        .map(|answer| Ok(PartKind::ServerAnswer { id: answer.text("id")?, tool: answer.text("name")? }))
        .transpose()
}

/// What the part is, and the keys that belong to that kind.
fn kind(fields: &Fields<'_>) -> Result<(PartKind, &'static [&'static str]), Wrong> {
    let has = |key: &str| fields.value(key).is_some();
    let is_call = has("name") || has("args");
    let payloads = [has("thinking"), has("text"), is_call, has("functionResponse")];
    if payloads.iter().filter(|has| **has).count() > 1 {
        let text = format!(
            "`{}` has more than one of text, function call and function response",
            fields.own_place()
        );
        return Err(Wrong::new(StopKind::BadShape, text));
    }
    if has("thinking") {
        return Ok((PartKind::Text(fields.text("thinking")?), &["thinking", "signature"]));
    }
    if has("text") {
        return Ok((PartKind::Text(fields.text("text")?), &["text"]));
    }
    if is_call {
        let arguments = fields.value("args").cloned();
        let kind = PartKind::Call { id: fields.text("id")?, name: fields.text("name")?, arguments };
        return Ok((kind, &["name", "args", "id", "thoughtSignature"]));
    }
    match fields.object("functionResponse", RESPONSE)? {
        Some(inner) => {
            let response = inner.value("response").cloned();
            let kind = PartKind::Response { id: fields.text("id")?, name: inner.text("name")?, response };
            Ok((kind, &["functionResponse", "id"]))
        }
        None => Ok((PartKind::Empty, &[])),
    }
}

/// The signature of a thought or a call. The library holds it as text of any kind, which is base64 for most models.
fn signature(fields: &Fields<'_>, own: &[&str]) -> Result<Option<Vec<u8>>, Wrong> {
    let Some(key) = ["signature", "thoughtSignature"].into_iter().find(|key| own.contains(key)) else {
        return Ok(None);
    };
    let text = fields.text(key)?;
    Ok((!text.is_empty()).then(|| bytes::base64(&text).unwrap_or_else(|| text.into_bytes())))
}

/// What is not supported: name, the key as written that shows it, and value. The keys of inline data and of a file, which
/// stand loose in the part, are put together under the names that the other libraries have for them.
fn grouped<'a>(others: impl Iterator<Item = (&'a str, &'a Json)>) -> Vec<(String, String, Json)> {
    let (mut loose, mut found) = (Vec::new(), Vec::new());
    for (key, value) in others {
        match key {
            "mime_type" | "mimeType" | "data" | "uri" | "file_uri" | "fileUri" => loose.push((key, value)),
            _ => found.push((key.to_owned(), key.to_owned(), value.clone())),
        }
    }
    let payload = |keys: [&str; 3]| loose.iter().find(|(key, _)| keys.contains(key)).map(|(key, _)| *key);
    let data = payload(["data", "uri", "uri"]).map(|key| ("inline_data", key));
    let file = payload(["file_uri", "fileUri", "fileUri"]).map(|key| ("file_data", key));
    let alone = loose.first().map(|(key, _)| (*key, *key));
    if let Some((name, shown)) = data.or(file).or(alone) {
        let members = loose.iter().map(|(key, value)| (Box::from(*key), (*value).clone())).collect();
        found.insert(0, (name.to_owned(), shown.to_owned(), Json::Object(members)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, parts: Parts) -> Result<Part, Wrong> {
        part(&crate::json::parse(text).unwrap(), "parts[0]", parts)
    }

    #[test]
    fn kinds_by_their_keys() {
        let call = |id: &str, name: &str, arguments: Option<&str>| PartKind::Call {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.map(|text| crate::json::parse(text).unwrap()),
        };
        let response = |id: &str, response: Option<&str>| PartKind::Response {
            id: id.to_owned(),
            name: "f".to_owned(),
            response: response.map(|text| crate::json::parse(text).unwrap()),
        };
        let rows = [
            (r#"{"text": "x"}"#, PartKind::Text("x".to_owned())),
            (r#"{"text": ""}"#, PartKind::Text(String::new())),
            (r#"{"thinking": "x", "signature": null}"#, PartKind::Text("x".to_owned())),
            (r#"{"name": "f", "args": {"a": 1}}"#, call("", "f", Some(r#"{"a":1}"#))),
            (r#"{"name": "f", "args": [1], "id": "c"}"#, call("c", "f", Some("[1]"))),
            (r#"{"name": "f", "args": null}"#, call("", "f", None)),
            (r#"{"args": 5}"#, call("", "", Some("5"))),
            (r#"{"functionResponse": {"name": "f", "response": 42}, "id": "c"}"#, response("c", Some("42"))),
            (r#"{"functionResponse": {"name": "f", "response": ["a"]}}"#, response("", Some(r#"["a"]"#))),
            (r#"{"functionResponse": {"name": "f", "response": null}}"#, response("", None)),
            ("{}", PartKind::Empty),
        ];
        for (text, kind) in rows {
            assert_eq!(read(text, Parts::Supported).unwrap().kind, kind, "{text}");
        }
    }

    #[test]
    fn signatures_are_base64_or_text() {
        let rows: [(&str, &[u8]); 3] = [
            (r#"{"thinking": "x", "signature": "c2lnAAE="}"#, b"sig\x00\x01"),
            (r#"{"thinking": "x", "signature": "opaque: 7"}"#, b"opaque: 7"),
            (r#"{"name": "f", "args": {}, "thought_signature": "dHM="}"#, b"ts"),
        ];
        for (text, bytes) in rows {
            let part = read(text, Parts::Supported).unwrap();
            assert_eq!(
                (part.thought_signature.as_deref(), part.thought),
                (Some(bytes), text.contains("thinking"))
            );
        }
    }

    #[test]
    fn all_else_is_refused_by_its_key_or_kept() {
        let rows = [
            (r#"{"mime_type": "image/png", "data": [1, 255]}"#, "data", "inline_data"),
            (r#"{"mime_type": "text/plain", "file_uri": "file:///x"}"#, "file_uri", "file_data"),
            (r#"{"server_tool_call": {"name": "search"}}"#, "server_tool_call", "server_tool_call"),
            (r#"{"server_tool_response": {"x": 1}}"#, "server_tool_response", "server_tool_response"),
            (r#"{"resource": {"uri": "x", "text": "t"}}"#, "resource", "resource"),
            (r#"{"text": "x", "annotations": {"a": 1}}"#, "annotations", "annotations"),
        ];
        for (text, shown, name) in rows {
            let wrong = read(text, Parts::Supported).unwrap_err();
            assert_eq!(wrong.text, format!("`parts[0].{shown}` is no supported part of a message"));
            let part = read(text, Parts::Full).unwrap();
            assert_eq!(part.further.first().map(|(key, _)| key.as_str()), Some(name), "{text}");
        }
        let inner = r#"{"functionResponse": {"name": "f", "response": 1, "inline_data": [{"data": [1]}]}}"#;
        let wrong = read(inner, Parts::Supported).unwrap_err();
        assert_eq!(wrong.text, "`parts[0].functionResponse.inline_data` is no supported part of a message");
    }

    #[test]
    fn what_google_calls_a_call_stops() {
        for text in [r#"{"functionCall": {"name": "pay"}}"#, r#"{"FunctionCall": 1}"#, r#"{"tool_call": {}}"#]
        {
            for parts in [Parts::Supported, Parts::Full] {
                assert_eq!(read(text, parts).unwrap_err().kind, StopKind::BadShape, "{text}");
            }
        }
    }

    #[test]
    fn two_readings_are_none() {
        for text in [
            r#"{"text": "x", "name": "f", "args": {}}"#,
            r#"{"thinking": "x", "text": "y"}"#,
            r#"{"args": {}, "functionResponse": {"name": "f"}}"#,
        ] {
            assert_eq!(read(text, Parts::Supported).unwrap_err().kind, StopKind::BadShape, "{text}");
        }
    }
}
