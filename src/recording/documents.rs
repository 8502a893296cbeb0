//! Sessions that are written as YAML.

use crate::json::Json;
use crate::recording::fields::Wrong;
use crate::recording::fields::camel;
use crate::recording::reading::{Dialect, Names, of_values};
use crate::recording::shape::ACCEPTED;
use crate::recording::{Form, Options, Recording, RecordingError, StopKind};
use crate::yaml;

/// Reads a YAML text that holds a session.
///
/// # Errors
/// Where the text is no YAML, or holds no session.
pub(crate) fn read(text: &str, options: &Options) -> Result<Vec<Recording>, RecordingError> {
    let other = |seen: String| RecordingError::Unrecognised { seen, accepted: ACCEPTED };
    let node =
        yaml::read(text).map_err(|fault| other(format!("this is no YAML that can be read: {fault}")))?;
    let yaml::Value::Map(members) = &node.value else {
        return Err(other(format!("this is {}, not a session as YAML", node.kind())));
    };
    let member =
        |name: &str| members.iter().find(|(key, _)| camel(&key.text) == name).map(|(_, value)| value);
    let named = |name: &str| member(name).and_then(yaml::Node::scalar).unwrap_or_default().to_owned();
    let Some(yaml::Value::List(events)) = member("events").map(|node| &node.value) else {
        return Err(other("this is YAML without a list of `events`".to_owned()));
    };
    let names = Names { session: named("id"), app: named("appName"), user: named("userId") };
    let values = events
        .iter()
        .map(|event| event.json().map_err(|fault| Wrong::new(StopKind::BadNumber, fault.to_string())));
    let values: Vec<Result<Json, Wrong>> = values.collect();
    Ok(vec![of_values((Form::Session, Dialect::Adk), names, values, options)])
}
