//! Calls that are seen only in pieces of a stream.
//!
//! A final event repeats what its pieces said. Where the answer to a call comes and no final event made the call, the call
//! ran all the same, and nobody can say what was checked.

use std::collections::BTreeSet;

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::event::{Event, PartKind};
use crate::recording::fields::{Wrong, camel, shown};

/// What an answer names the calls of a partial event by.
pub(crate) fn calls_of(event: &Json) -> Vec<String> {
    let Some(Json::Array(parts)) = event.field("content").and_then(|content| content.field("parts")) else {
        return Vec::new();
    };
    parts.iter().filter_map(call_of).collect()
}

fn call_of(part: &Json) -> Option<String> {
    let Json::Object(members) = part else { return None };
    let wrapped = members.iter().find(|(key, _)| camel(key) == "functionCall").map(|(_, call)| call);
    let loose = part.field("args").or_else(|| part.field("name")).map(|_| part);
    let call = wrapped.or(loose)?;
    let text = |key: &str| call.field(key).and_then(Json::text).unwrap_or_default();
    Some(claim(text("id"), text("name")))
}

/// Forgets the calls that a final event makes, and refuses an answer to one that none made.
pub(crate) fn reveal(hidden: &mut BTreeSet<String>, event: &Event) -> Result<(), Wrong> {
    for (number, part) in event.parts.iter().enumerate() {
        match &part.kind {
            PartKind::Call { id, name, .. } => {
                hidden.remove(&claim(id, name));
            }
            PartKind::Response { id, name, .. } if hidden.contains(&claim(id, name)) => {
                let text = format!(
                    "the call `{}` of `{}` was answered, and only partial events made it: what ran is not known",
                    shown(id),
                    shown(name)
                );
                return Err(Wrong { part: Some(number), ..Wrong::new(StopKind::BadShape, text) });
            }
            _ => {}
        }
    }
    Ok(())
}

/// The id of a call where it has one, else its name.
fn claim(id: &str, name: &str) -> String {
    if id.is_empty() { format!("name {name}") } else { format!("id {id}") }
}
