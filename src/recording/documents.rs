//! Recordings that are written as YAML: sessions, lists of events, conformance recordings.

use crate::json::Json;
use crate::recording::adk::Ignored;
use crate::recording::conformance::{self, Item};
use crate::recording::fields::{Fields, Wrong, camel};
use crate::recording::other;
use crate::recording::reading::{self, Dialect, Names};
use crate::recording::scan;
use crate::recording::session;
use crate::recording::shape::ACCEPTED;
use crate::recording::skim;
use crate::recording::{Form, Notice, Options, Recording, RecordingError, StopKind};
use crate::yaml;

/// The keys of a content that stands in the event itself, as the goldens of the Go library write it.
const CONTENT: [&str; 2] = ["role", "parts"];

/// Reads a YAML text that holds a session, events or a conformance recording.
///
/// # Errors
/// Where the text is no YAML, or holds none of them.
pub(crate) fn read(text: &str, options: &Options) -> Result<Recording, RecordingError> {
    let other = |seen: String| RecordingError::Unrecognised { seen, accepted: ACCEPTED };
    let node =
        yaml::read(text).map_err(|fault| other(format!("this is no YAML that can be read: {fault}")))?;
    let members = match &node.value {
        yaml::Value::List(events) => {
            return Ok(recording(Form::EventList, Names::default(), events, options));
        }
        yaml::Value::Map(members) => members,
        yaml::Value::Plain(_) | yaml::Value::Quoted(_) => {
            return Err(other(format!("this is {}, not a recording as YAML", node.kind())));
        }
    };
    let member =
        |name: &str| members.iter().find(|(key, _)| camel(&key.text) == name).map(|(_, value)| value);
    let list = |name: &str| match member(name).map(|node| &node.value) {
        Some(yaml::Value::List(items)) => Some(items),
        Some(_) | None => None,
    };
    match (list("recordings"), list("events")) {
        (Some(_), Some(_)) => Err(other("this is YAML with both `recordings` and `events`".to_owned())),
        (Some(items), None) if items.is_empty() => Err(other("`recordings` is empty".to_owned())),
        (Some(items), None) => {
            let keys =
                Json::Object(members.iter().map(|(key, _)| (key.text.as_str().into(), Json::Null)).collect());
            match Fields::new(&keys, "", &["recordings", "events"]) {
                Ok(_) => Ok(conformance::read(items.iter().map(item), options)),
                Err(wrong) => Err(other(wrong.text)),
            }
        }
        (None, Some(events)) => {
            let named = |name: &str| member(name).and_then(yaml::Node::scalar).unwrap_or_default().to_owned();
            let names = Names { session: named("id"), app: named("appName"), user: named("userId") };
            session(members, names, events, options)
        }
        (None, None) => Err(other("this is YAML without a list of `events` or `recordings`".to_owned())),
    }
}

/// A session, of which all that stands around its events is checked too.
fn session(
    members: &[(yaml::Key, yaml::Node)],
    names: Names,
    events: &[yaml::Node],
    options: &Options,
) -> Result<Recording, RecordingError> {
    let mut fault = None;
    let around = members.iter().map(|(key, node)| {
        let value = match key.text.as_str() {
            "events" => Json::Array(Vec::new()),
            _ => node.json().unwrap_or_else(|why| {
                fault.get_or_insert_with(|| Wrong::new(StopKind::BadNumber, why.to_string()));
                node.lenient()
            }),
        };
        (key.text.as_str().into(), value)
    });
    let around = Json::Object(around.collect());
    let text = around.ordinary();
    if let Some(refused) = other::early(text.as_bytes(), &scan::members(text.as_bytes(), 0)) {
        return Err(refused);
    }
    let mut ignored = Ignored::default();
    let checked = session::about_session(&around, &mut ignored);
    let mut read = recording(Form::Session, names.clone(), events, options);
    if let Some(wrong) = fault.or(checked.err()) {
        let values = events.iter().map(|event| Ok(event.lenient()));
        return Ok(reading::halted((Form::Session, Dialect::Adk), names, wrong, values, options));
    }
    if let Some(names) = ignored.listed() {
        let text = format!("fields of the session that are not known were ignored: {names}");
        read.notices.push(Notice { kind: "unknown_keys".to_owned(), text });
    }
    Ok(read)
}

fn recording(form: Form, names: Names, events: &[yaml::Node], options: &Options) -> Recording {
    let mut values = Vec::with_capacity(events.len());
    let mut unread = Vec::new();
    for (index, event) in events.iter().enumerate() {
        match item(event) {
            Item::Read(json) => values.push(nested(json)),
            Item::Faulty { wrong, rest } => {
                let rest = nested(rest).map(|json| json.ordinary()).unwrap_or_default();
                unread.extend(skim::calls_of(&rest, index, Dialect::Adk));
                values.push(Err(wrong));
            }
        }
    }
    let mut recording = reading::of_values((form, Dialect::Adk), names, values, options);
    reading::add_unread(&mut recording, unread);
    recording
}

fn item(node: &yaml::Node) -> Item {
    match node.json() {
        Ok(json) => Item::Read(json),
        Err(fault) => {
            let wrong = Wrong::new(StopKind::BadNumber, fault.to_string());
            Item::Faulty { wrong, rest: node.lenient() }
        }
    }
}

/// An event with its content in a `content` of its own.
fn nested(event: Json) -> Result<Json, Wrong> {
    let Json::Object(members) = event else { return Ok(event) };
    let (inner, mut outer): (Vec<_>, Vec<_>) =
        members.into_iter().partition(|(key, _)| CONTENT.contains(&&**key));
    if inner.is_empty() {
        return Ok(Json::Object(outer));
    }
    if outer.iter().any(|(key, _)| &**key == "content") {
        let text = "the event has a `content`, and `parts` or a `role` beside it".to_owned();
        return Err(Wrong::new(StopKind::BadShape, text));
    }
    outer.push(("content".into(), Json::Object(inner)));
    Ok(Json::Object(outer))
}
