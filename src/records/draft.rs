//! The parts of one event as records to be, before anything is recorded.
//!
//! Everything that can stop the session is found here.

use crate::json;
use crate::json::Json;
use crate::recording::Event;
use crate::recording::FieldValue;
use crate::recording::Part;
use crate::recording::PartKind;
use crate::recording::Parts;
use crate::recording::Purpose;
use crate::recording::Stop;
use crate::recording::StopKind;
use crate::records::RecordKind;
use crate::records::Text;
use crate::records::metadata;
use crate::records::metadata::Field;
use crate::records::metadata::Unencodable;
use crate::records::notices::quoted;
use crate::records::outside;
use crate::records::rows::Form;
use crate::records::secret::redacted;
use crate::records::secret::without_credentials;
use std::borrow::Cow;

/// The calls of a record that has none.
pub(crate) const NO_CALLS: Text = Text::inline("[]");

/// A record to be.
#[derive(Debug)]
pub(crate) struct Draft<'e> {
    pub(crate) kind: RecordKind,
    /// Place of the part in its event; what is said outside parts comes after them.
    pub(crate) place: usize,
    pub(crate) contents: Text,
    pub(crate) tools_json: Text,
    pub(crate) metadata: Option<Text>,
    /// What the metadata follows from.
    pub(crate) form: Form,
    pub(crate) source: Source<'e>,
}

/// What a record comes from.
#[derive(Debug)]
pub(crate) enum Source<'e> {
    /// Text, a thought, a signature.
    Words,
    /// `inputTranscription`, `outputTranscription`.
    Spoken,
    /// `output`, `requestedInput`, `errorMessage`, `agentState`.
    OutsideParts,
    /// `groundingMetadata`: what a search of the model's own server brought it for this very message.
    Grounding,
    /// What no gate was asked about.
    Ungated(Ungated<'e>),
    /// A part of a compaction.
    Summary,
    Call(Proposal<'e>),
    Answer(Answer<'e>),
}

/// What ran without asking any gate.
#[derive(Debug)]
pub(crate) enum Ungated<'e> {
    Code,
    CodeResult,
    Call {
        id: &'e str,
        tool: &'e str,
        /// As ordinary JSON; `{}` for none.
        arguments: Text,
    },
    Answer {
        id: &'e str,
        tool: &'e str,
    },
}

/// A function call.
#[derive(Debug)]
pub(crate) struct Proposal<'e> {
    pub(crate) id: &'e str,
    pub(crate) name: &'e str,
    pub(crate) purpose: Purpose,
    /// The arguments; an empty object where there are none or they cannot be read.
    pub(crate) arguments: Cow<'e, Json>,
    /// The same as ordinary JSON.
    pub(crate) text: Text,
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
    /// Whether there is no response.
    pub(crate) is_empty: bool,
    /// Whether it says that more of it is to come.
    pub(crate) continues: bool,
}

/// What decides how parts are recorded.
#[derive(Clone, Copy)]
pub(crate) struct Recorded<'a> {
    pub(crate) parts: Parts,
    /// Whether the event is the framework's own, so that a compaction in it counts.
    pub(crate) counts_as_summary: bool,
    /// Whether an id is that of a request for a credential.
    pub(crate) hides_secrets: &'a dyn Fn(&str) -> bool,
}

/// The records of an event: its parts, the summary it carries, and what it says outside parts.
pub(crate) fn drafts<'e>(event: &'e Event, recorded: Recorded<'_>) -> Result<Vec<Draft<'e>>, Stop> {
    let mut all = Vec::with_capacity(event.parts.len());
    for part in &event.parts {
        all.push(recordable(event, part, all.len(), recorded)?);
    }
    if let Some(compaction) = event.actions.compaction.as_ref().filter(|_| recorded.counts_as_summary) {
        for part in &compaction.parts {
            let mut draft = recordable(event, part, all.len(), recorded)?;
            (draft.kind, draft.source) = (RecordKind::Summary, Source::Summary);
            if !matches!(draft.form, Form::Words | Form::Thought) {
                draft.form = Form::Kept;
            }
            all.push(draft);
        }
    }
    let beside = event.grounding.is_some() || event.agent_state.is_some();
    if beside && recorded.parts == Parts::Supported {
        let field = if event.grounding.is_some() { "groundingMetadata" } else { "agentState" };
        return Err(unsupported(event, all.len(), field));
    }
    outside::add(event, &mut all)?;
    Ok(all)
}

fn recordable<'e>(
    event: &Event,
    part: &'e Part,
    place: usize,
    recorded: Recorded<'_>,
) -> Result<Draft<'e>, Stop> {
    let further = part.further.iter().chain(&part.further_inside).next();
    let field = further.map(|(name, _)| name.as_str()).or(match part.kind {
        PartKind::Code => Some("executable_code"),
        PartKind::CodeResult { .. } => Some("code_execution_result"),
        PartKind::ServerCall { .. } => Some("tool_call"),
        PartKind::ServerAnswer { .. } => Some("tool_response"),
        PartKind::Text(_) | PartKind::Call { .. } | PartKind::Response { .. } | PartKind::Empty => None,
    });
    if let (Some(field), Parts::Supported) = (field, recorded.parts) {
        return Err(unsupported(event, place, field));
    }
    of_part(event, part, place, recorded.hides_secrets).map_err(|fault| stop(event, place, &fault))
}

fn unsupported(event: &Event, place: usize, field: &str) -> Stop {
    let text = format!(
        "event {} part {place}: the field {} is not supported, and what it says cannot be judged",
        quoted(&event.id),
        quoted(field)
    );
    Stop {
        kind: StopKind::UnsupportedPart,
        event: Some(event.index),
        event_id: event.id.clone(),
        part: Some(place),
        text,
    }
}

pub(crate) fn stop(event: &Event, place: usize, fault: &Unencodable) -> Stop {
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
    let is_secret = is_secret(&part.kind, hides_secrets);
    let hidden = is_secret.then(redacted);
    let named = |(name, value): &'e (String, FieldValue)| {
        let value = hidden.as_ref().map_or_else(|| value.into(), Field::Value);
        (name.as_str(), value)
    };
    fields.extend(part.further.iter().map(named));
    let inside: Vec<_> = part.further_inside.iter().map(named).collect();
    of_kind(event, part, place, (fields, inside), is_secret)
}

fn of_kind<'e>(
    event: &Event,
    part: &'e Part,
    place: usize,
    (own, inside): OwnFields<'_>,
    is_secret: bool,
) -> Result<Draft<'e>, Unencodable> {
    let mut fields: Vec<(&str, Field<'_>)> = own;
    let is_bare = inside.is_empty() && fields.len() == usize::from(part.thought);
    let mut draft = match &part.kind {
        PartKind::Text(text) => {
            fields.push(("text", Field::Text(text)));
            let kind = if part.thought { RecordKind::Thought } else { RecordKind::Text };
            Draft {
                form: if part.thought { Form::Thought } else { Form::Words },
                ..plain(kind, place, text.as_str().into(), fields, Source::Words)?
            }
        }
        PartKind::Empty => {
            let kind = if part.further.is_empty() { RecordKind::Signature } else { RecordKind::Data };
            plain(kind, place, Text::new(), fields, Source::Words)?
        }
        PartKind::Code => {
            plain(RecordKind::Code, place, Text::new(), fields, Source::Ungated(Ungated::Code))?
        }
        PartKind::CodeResult { output } => {
            let source = Source::Ungated(Ungated::CodeResult);
            plain(RecordKind::CodeResult, place, output.as_str().into(), fields, source)?
        }
        PartKind::ServerCall { id, tool, arguments } => {
            let arguments = arguments
                .as_ref()
                .map_or_else(|| "{}".into(), |json| without_credentials(json).ordinary().into());
            let source = Source::Ungated(Ungated::Call { id, tool, arguments });
            plain(RecordKind::ServerCall, place, Text::new(), fields, source)?
        }
        PartKind::ServerAnswer { id, tool } => {
            let source = Source::Ungated(Ungated::Answer { id, tool });
            plain(RecordKind::ServerAnswer, place, Text::new(), fields, source)?
        }
        PartKind::Call { id, name, arguments } => {
            let in_pieces =
                continues(part) || part.further_inside.iter().any(|(name, _)| name == "partial_args");
            let mut draft = call(event, (id, name, arguments.as_ref()), place, (fields, inside))?;
            if let (Source::Call(proposal), true) = (&mut draft.source, in_pieces) {
                let why = "its arguments come in pieces, and what they add up to is not known";
                proposal.refused.get_or_insert_with(|| why.to_owned());
            }
            draft
        }
        PartKind::Response { id, name, response } => {
            // What a person sends may be a credential even where nothing says which request it answers.
            let response = response.as_ref().map(|response| match event.author.as_str() {
                "user" => without_credentials(response),
                _ => Cow::Borrowed(response),
            });
            let mut draft = answer((id, name, response), place, (fields, inside), is_secret)?;
            if let Source::Answer(answer) = &mut draft.source {
                answer.continues = continues(part);
            }
            draft
        }
    };
    if !is_bare {
        draft.form = Form::Kept;
    }
    Ok(draft)
}

/// Whether a part asks for a credential, or brings one.
fn is_secret(kind: &PartKind, hides_secrets: &dyn Fn(&str) -> bool) -> bool {
    match kind {
        PartKind::Call { name, .. } => Purpose::of(name) == Purpose::Credential,
        PartKind::Response { id, name, .. } => Purpose::of(name) == Purpose::Credential || hides_secrets(id),
        PartKind::Text(_)
        | PartKind::Code
        | PartKind::CodeResult { .. }
        | PartKind::ServerCall { .. }
        | PartKind::ServerAnswer { .. }
        | PartKind::Empty => false,
    }
}

/// Whether a call or an answer says that more of it is to come.
fn continues(part: &Part) -> bool {
    let yes = FieldValue::Plain(Json::Bool(true));
    part.further_inside.iter().any(|(name, value)| name == "will_continue" && *value == yes)
}

/// Fields of a part, and further ones inside its call or answer.
type OwnFields<'f> = (Vec<(&'f str, Field<'f>)>, Vec<(&'f str, Field<'f>)>);

fn plain<'e>(
    kind: RecordKind,
    place: usize,
    contents: Text,
    fields: Vec<(&str, Field<'_>)>,
    source: Source<'e>,
) -> Result<Draft<'e>, Unencodable> {
    let metadata = Some(metadata::encode(fields)?);
    Ok(Draft { kind, place, contents, tools_json: NO_CALLS, metadata, form: Form::Kept, source })
}

fn call<'e>(
    event: &Event,
    (id, name, written): (&'e str, &'e str, Option<&'e Json>),
    place: usize,
    (own, inside): OwnFields<'_>,
) -> Result<Draft<'e>, Unencodable> {
    let purpose = Purpose::of(name);
    let stand_in = match purpose {
        Purpose::Credential => redacted(),
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => Json::Object(Vec::new()),
    };
    let (mut fields, mut inner): OwnFields<'_> = (own, inside);
    let shown = match purpose {
        Purpose::Credential => &stand_in,
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => written.unwrap_or(&stand_in),
    };
    inner.push(("args", Field::Value(shown)));
    metadata::add_named(&mut inner, id, name);
    fields.push(("function_call", Field::Object(inner)));
    let metadata = Some(metadata::encode(fields)?);
    let (arguments, unread) = match purpose {
        Purpose::Credential => (Cow::Owned(redacted()), None),
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => arguments(written),
    };
    let refused = refusal(event, name, unread);
    let form = match (purpose, written) {
        (Purpose::Tool | Purpose::Confirmation | Purpose::Input, None | Some(Json::Object(_))) => Form::Call,
        _ => Form::Kept,
    };
    let text = Text::from(arguments.ordinary());
    let tools_json = tools([(name, text.as_str())].into_iter());
    let source = Source::Call(Proposal { id, name, purpose, arguments, text, refused });
    Ok(Draft { kind: RecordKind::Call, place, contents: Text::new(), tools_json, metadata, form, source })
}

/// `tools_json` of these calls, by tool and argument text.
pub(crate) fn tools<'a>(calls: impl Iterator<Item = (&'a str, &'a str)>) -> Text {
    let mut out = String::with_capacity(128);
    out.push('[');
    for (i, (name, arguments)) in calls.enumerate() {
        out.push_str(if i > 0 { ",{\"arguments\":" } else { "{\"arguments\":" });
        json::write_text(&mut out, arguments);
        out.push_str(",\"name\":");
        json::write_text(&mut out, name);
        out.push('}');
    }
    out.push(']');
    out.into()
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
    (id, name, written): (&'e str, &'e str, Option<Cow<'e, Json>>),
    place: usize,
    (own, inside): OwnFields<'_>,
    secret: bool,
) -> Result<Draft<'e>, Unencodable> {
    let purpose = if secret { Purpose::Credential } else { Purpose::of(name) };
    let shown = match purpose {
        Purpose::Credential => written.map(|_| Cow::Owned(redacted())),
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => written,
    };
    let (mut fields, mut inner): OwnFields<'_> = (own, inside);
    inner.extend(shown.as_deref().map(|value| ("response", Field::Value(value))));
    metadata::add_named(&mut inner, id, name);
    fields.push(("function_response", Field::Object(inner)));
    let metadata = Some(metadata::encode(fields)?);
    let is_empty = shown.is_none();
    let form = if is_empty || purpose == Purpose::Credential { Form::Kept } else { Form::Answer };
    let response = shown.unwrap_or_else(|| match purpose {
        Purpose::Credential => Cow::Owned(redacted()),
        Purpose::Tool | Purpose::Confirmation | Purpose::Input => Cow::Owned(Json::Object(Vec::new())),
    });
    let contents = response.ordinary().into();
    let source = Source::Answer(Answer { id, name, purpose, response, is_empty, continues: false });
    Ok(Draft { kind: RecordKind::Response, place, contents, tools_json: NO_CALLS, metadata, form, source })
}
