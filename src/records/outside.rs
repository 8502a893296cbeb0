//! What an event says outside its parts.

use crate::json::Json;
use crate::recording::Event;
use crate::recording::Part;
use crate::recording::PartKind;
use crate::recording::Stop;
use crate::records::RecordKind;
use crate::records::Text;
use crate::records::draft::Draft;
use crate::records::draft::NO_CALLS;
use crate::records::draft::Source;
use crate::records::draft::stop;
use crate::records::metadata;
use crate::records::metadata::Field;
use crate::records::rows::Form;
use crate::records::secret::without_credentials;

/// Adds what an event says outside its parts.
pub(crate) fn add<'e>(event: &'e Event, all: &mut Vec<Draft<'e>>) -> Result<(), Stop> {
    let mut add = |contents: Text, fields: Option<Vec<(&str, Field<'_>)>>, source: Source<'e>| {
        let place = all.len();
        let metadata =
            fields.map(metadata::encode).transpose().map_err(|fault| stop(event, place, &fault))?;
        let (tools_json, form) = (NO_CALLS, Form::Kept);
        all.push(Draft { kind: RecordKind::Text, place, contents, tools_json, metadata, form, source });
        Ok(())
    };
    for transcription in event.transcriptions.iter().filter(|text| !text.is_empty()) {
        add(transcription.as_str().into(), None, Source::Spoken)?;
    }
    let values = [
        (
            "output",
            event.output.as_ref().filter(|output| !is_said(output, &event.parts)),
            Source::OutsideParts,
        ),
        ("requested_input", event.requested_input.as_ref(), Source::OutsideParts),
        ("grounding_metadata", event.grounding.as_ref(), Source::Grounding),
        ("agent_state", event.agent_state.as_ref(), Source::OutsideParts),
    ];
    for (name, value, source) in values {
        let Some(value) = value else { continue };
        let shown = without_credentials(value);
        let contents = shown.text().map_or_else(|| shown.ordinary().into(), Text::from);
        add(contents, Some(vec![(name, Field::Value(&shown))]), source)?;
    }
    if !event.error_message.is_empty() {
        let mut fields = vec![("error_message", Field::Text(&event.error_message))];
        if !event.error_code.is_empty() {
            fields.push(("error_code", Field::Text(&event.error_code)));
        }
        add(event.error_message.as_str().into(), Some(fields), Source::OutsideParts)?;
    }
    Ok(())
}

/// Whether the parts say an output already: as their whole text, or as an answer.
fn is_said(output: &Json, parts: &[Part]) -> bool {
    let text = |part: &Part| match &part.kind {
        PartKind::Text(text) if !part.thought => Some(text.clone()),
        _ => None,
    };
    let is_answer = |part: &Part| matches!(&part.kind, PartKind::Response { response: Some(response), .. } if response == output);
    let said: String = parts.iter().filter_map(text).collect();
    output.text().is_some_and(|output| output == said) || parts.iter().any(is_answer)
}
