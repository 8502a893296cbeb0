//! The parts of one event as records to be, before anything is recorded.
//!
//! Everything that can stop the session is found here.

use crate::json;
use crate::json::Json;
use crate::recording::Event;
use crate::recording::Part;
use crate::recording::PartKind;
use crate::recording::Stop;
use crate::recording::StopKind;
use crate::records::RecordKind;
use crate::records::metadata;
use crate::records::metadata::Field;
use crate::records::metadata::Unencodable;
use crate::records::notices::quoted;
use std::borrow::Cow;

/// Names under which the framework itself asks for something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A tool.
    Tool,
    /// `adk_request_confirmation`
    Confirmation,
    /// `adk_request_credential`
    Credential,
    /// `adk_request_input`
    Input,
}

impl Purpose {
    fn of(name: &str) -> Self {
        match name {
            "adk_request_confirmation" => Self::Confirmation,
            "adk_request_credential" => Self::Credential,
            "adk_request_input" => Self::Input,
            _ => Self::Tool,
        }
    }
}

/// A record to be.
#[derive(Debug)]
pub(crate) struct Draft<'e> {
    pub(crate) kind: RecordKind,
    /// Place of the part in its event; what is said outside parts comes after them.
    pub(crate) place: usize,
    pub(crate) contents: String,
    pub(crate) tools_json: String,
    pub(crate) metadata: Option<String>,
    pub(crate) source: Source<'e>,
}

/// What a record comes from.
#[derive(Debug)]
pub(crate) enum Source<'e> {
    /// Text, a thought, a signature.
    Words,
    /// `inputTranscription`, `outputTranscription`, `output`, `requestedInput`, `errorMessage`.
    OutsideParts,
    /// A part of a compaction.
    Summary,
    Call(Proposal<'e>),
    Answer(Answer<'e>),
}

/// A function call.
#[derive(Debug)]
pub(crate) struct Proposal<'e> {
    pub(crate) id: &'e str,
    pub(crate) name: &'e str,
    pub(crate) purpose: Purpose,
    /// The arguments; an empty object where there are none or they cannot be read.
    pub(crate) arguments: Cow<'e, Json>,
    /// Why it is denied unasked.
    pub(crate) refused: Option<String>,
}

/// A function response.
#[derive(Debug)]
pub(crate) struct Answer<'e> {
    pub(crate) id: &'e str,
    pub(crate) name: &'e str,
    pub(crate) purpose: Purpose,
    /// The response, secrets left out; an empty object where there is none.
    pub(crate) response: Cow<'e, Json>,
}

/// The records of an event: its parts, the summary it carries, and what it says outside parts.
///
/// `hides_secrets` says of an id whether it is that of a request for a credential.
pub(crate) fn drafts<'e>(
    event: &'e Event,
    counts_as_summary: bool,
    hides_secrets: &dyn Fn(&str) -> bool,
) -> Result<Vec<Draft<'e>>, Stop> {
    let mut all = Vec::with_capacity(event.parts.len());
    for (place, part) in event.parts.iter().enumerate() {
        supported(event, part, place)?;
        all.push(of_part(event, part, place, hides_secrets).map_err(|fault| stop(event, place, &fault))?);
    }
    if let Some(compaction) = event.actions.compaction.as_ref().filter(|_| counts_as_summary) {
        for part in &compaction.parts {
            supported(event, part, all.len())?;
            let place = all.len();
            let mut draft =
                of_part(event, part, place, hides_secrets).map_err(|fault| stop(event, place, &fault))?;
            (draft.kind, draft.source) = (RecordKind::Summary, Source::Summary);
            all.push(draft);
        }
    }
    outside_parts(event, &mut all)?;
    Ok(all)
}

fn supported(event: &Event, part: &Part, place: usize) -> Result<(), Stop> {
    let field = match (&part.kind, part.unsupported.first()) {
        (_, Some((field, _))) => field.as_str(),
        (PartKind::Unsupported, None) => "unknown",
        (PartKind::Text(_) | PartKind::Call { .. } | PartKind::Response { .. } | PartKind::Empty, None) => {
            return Ok(());
        }
    };
    let text = format!(
        "event {} part {place}: the field {} is not supported, and what it says cannot be judged",
        quoted(&event.id),
        quoted(field)
    );
    Err(Stop {
        kind: StopKind::UnsupportedPart,
        event: Some(event.index),
        event_id: event.id.clone(),
        part: Some(place),
        text,
    })
}

fn stop(event: &Event, place: usize, fault: &Unencodable) -> Stop {
    Stop {
        kind: StopKind::UnencodableValue,
        event: Some(event.index),
        event_id: event.id.clone(),
        part: Some(place),
        text: format!(
            "event {} part {place}: no double holds the number {}",
            quoted(&event.id),
            quoted(&fault.number)
        ),
    }
}

fn of_part<'e>(
    event: &Event,
    part: &'e Part,
    place: usize,
    hides_secrets: &dyn Fn(&str) -> bool,
) -> Result<Draft<'e>, Unencodable> {
    let mut fields = Vec::new();
    if part.thought {
        fields.push(("thought", Field::True));
    }
    if let Some(signature) = &part.thought_signature {
        fields.push(("thought_signature", Field::Bytes(signature)));
    }
    match &part.kind {
        PartKind::Text(text) => {
            fields.push(("text", Field::Text(text)));
            let kind = if part.thought { RecordKind::Thought } else { RecordKind::Text };
            plain(kind, place, text.clone(), fields)
        }
        PartKind::Empty | PartKind::Unsupported => plain(RecordKind::Signature, place, String::new(), fields),
        PartKind::Call { id, name, arguments } => call(event, (id, name, arguments.as_ref()), place, fields),
        PartKind::Response { id, name, response } => {
            let secret = hides_secrets(id);
            answer((id, name, response.as_ref()), place, fields, secret)
        }
    }
}

fn plain<'e>(
    kind: RecordKind,
    place: usize,
    contents: String,
    fields: Vec<(&str, Field<'_>)>,
) -> Result<Draft<'e>, Unencodable> {
    let metadata = Some(metadata::encode(fields)?);
    Ok(Draft { kind, place, contents, tools_json: "[]".to_owned(), metadata, source: Source::Words })
}

fn call<'e>(
    event: &Event,
    (id, name, written): (&'e str, &'e str, Option<&'e Json>),
    place: usize,
    own: Vec<(&'e str, Field<'e>)>,
) -> Result<Draft<'e>, Unencodable> {
    let purpose = Purpose::of(name);
    let (empty, secret) = (Json::Object(Vec::new()), redacted());
    let mut fields: Vec<(&str, Field<'_>)> = own;
    let shown = match purpose {
        Purpose::Credential => &secret,
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => written.unwrap_or(&empty),
    };
    let mut inner = vec![("args", Field::Value(shown))];
    named(&mut inner, id, name);
    fields.push(("function_call", Field::Object(inner)));
    let metadata = Some(metadata::encode(fields)?);
    let (arguments, unread) = match purpose {
        Purpose::Credential => (Cow::Owned(redacted()), None),
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => arguments(written),
    };
    let refused = refusal(event, name, unread);
    let tools_json = tools([(name, arguments.ordinary().as_str())].into_iter());
    let source = Source::Call(Proposal { id, name, purpose, arguments, refused });
    Ok(Draft { kind: RecordKind::Call, place, contents: String::new(), tools_json, metadata, source })
}

/// `tools_json` of these calls, by tool and argument text.
pub(crate) fn tools<'a>(calls: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let mut out = String::from("[");
    for (i, (name, arguments)) in calls.enumerate() {
        out.push_str(if i > 0 { ",{\"arguments\":" } else { "{\"arguments\":" });
        json::write_text(&mut out, arguments);
        out.push_str(",\"name\":");
        json::write_text(&mut out, name);
        out.push('}');
    }
    out.push(']');
    out
}

/// Arguments as an object, also where they were written as its text; else why they cannot be read.
fn arguments(written: Option<&Json>) -> (Cow<'_, Json>, Option<String>) {
    let unread = |why: String| (Cow::Owned(Json::Object(Vec::new())), Some(why));
    match written {
        None | Some(Json::Null) => (Cow::Owned(Json::Object(Vec::new())), None),
        Some(object @ Json::Object(_)) => (Cow::Borrowed(object), None),
        Some(Json::Text(text)) => match json::parse(text) {
            Ok(object @ Json::Object(_)) => (Cow::Owned(object), None),
            Ok(_) => unread("the text of its arguments is no object".to_owned()),
            Err(fault) => unread(format!("the text of its arguments cannot be read: {fault}")),
        },
        Some(Json::Bool(_) | Json::Number(_) | Json::Array(_)) => {
            unread("its arguments are no object".to_owned())
        }
    }
}

fn refusal(event: &Event, name: &str, unread: Option<String>) -> Option<String> {
    if event.error_code.to_ascii_uppercase().contains("MALFORMED") {
        return Some(format!("the model reported {} for this message", quoted(&event.error_code)));
    }
    if name.trim().is_empty() {
        return Some("the call names no tool".to_owned());
    }
    unread
}

fn answer<'e>(
    (id, name, written): (&'e str, &'e str, Option<&'e Json>),
    place: usize,
    own: Vec<(&'e str, Field<'e>)>,
    secret: bool,
) -> Result<Draft<'e>, Unencodable> {
    let purpose = if secret { Purpose::Credential } else { Purpose::of(name) };
    let hidden = redacted();
    let mut fields: Vec<(&str, Field<'_>)> = own;
    let shown = match purpose {
        Purpose::Credential => written.map(|_| &hidden),
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => written,
    };
    let mut inner: Vec<_> = shown.map(|value| ("response", Field::Value(value))).into_iter().collect();
    named(&mut inner, id, name);
    fields.push(("function_response", Field::Object(inner)));
    let metadata = Some(metadata::encode(fields)?);
    let response = match (purpose, written) {
        (Purpose::Credential, _) => Cow::Owned(redacted()),
        (_, Some(value)) => Cow::Borrowed(value),
        (_, None) => Cow::Owned(Json::Object(Vec::new())),
    };
    let contents = response.ordinary();
    let source = Source::Answer(Answer { id, name, purpose, response });
    Ok(Draft { kind: RecordKind::Response, place, contents, tools_json: "[]".to_owned(), metadata, source })
}

fn named<'a>(fields: &mut Vec<(&'a str, Field<'a>)>, id: &'a str, name: &'a str) {
    for (key, value) in [("id", id), ("name", name)] {
        if !value.is_empty() {
            fields.push((key, Field::Text(value)));
        }
    }
}

/// What stands in place of a secret.
pub(crate) fn redacted() -> Json {
    Json::Object(vec![("redacted".into(), Json::Bool(true))])
}

fn outside_parts<'e>(event: &'e Event, all: &mut Vec<Draft<'e>>) -> Result<(), Stop> {
    let mut add = |contents: String, fields: Option<Vec<(&str, Field<'_>)>>| {
        let place = all.len();
        let metadata =
            fields.map(metadata::encode).transpose().map_err(|fault| stop(event, place, &fault))?;
        let tools_json = "[]".to_owned();
        let source = Source::OutsideParts;
        all.push(Draft { kind: RecordKind::Text, place, contents, tools_json, metadata, source });
        Ok(())
    };
    for transcription in event.transcriptions.iter().filter(|text| !text.is_empty()) {
        add(transcription.clone(), None)?;
    }
    if let Some(output) = event.output.as_ref().filter(|_| !event.has_content) {
        let contents = output.text().map_or_else(|| output.ordinary(), str::to_owned);
        add(contents, Some(vec![("output", Field::Value(output))]))?;
    }
    if let Some(input) = &event.requested_input {
        add(input.ordinary(), Some(vec![("requested_input", Field::Value(input))]))?;
    }
    if !event.error_message.is_empty() {
        let mut fields = vec![("error_message", Field::Text(&event.error_message))];
        if !event.error_code.is_empty() {
            fields.push(("error_code", Field::Text(&event.error_code)));
        }
        add(event.error_message.clone(), Some(fields))?;
    }
    Ok(())
}
