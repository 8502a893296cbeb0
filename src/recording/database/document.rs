//! A session of a database as a session document.

use crate::json::{self, Json};
use crate::recording::database::cell::seconds;
use crate::recording::database::{Schema, Stored, placed, state};

/// The session as a document that is read to the same records: keys and numbers as they are stored, events in their order.
///
/// # Errors
/// In words, where a row cannot be read, or holds what JSON cannot.
pub fn document(schema: &Schema, stored: Stored) -> Result<String, String> {
    let state = state::merged(&stored).map_err(|wrong| wrong.text)?;
    let updated = stored.row.as_ref().and_then(|(_, updated)| updated.time());
    let name = stored.name;
    let (events, unplaced) = placed(schema, stored.events);
    if let Some(wrong) = unplaced {
        return Err(wrong.text);
    }
    let mut out = String::from("{\"id\":");
    json::write_text(&mut out, &name.id);
    out.push_str(",\"appName\":");
    json::write_text(&mut out, &name.app);
    out.push_str(",\"userId\":");
    json::write_text(&mut out, &name.user);
    out.push_str(",\"state\":");
    out.push_str(&Json::Object(state).as_written());
    out.push_str(",\"events\":[");
    for (index, event) in events.into_iter().enumerate() {
        let value = event.value.map_err(|unread| format!("event {index}: {}", unread.wrong.text))?;
        if event.wrapped {
            return Err(format!("event {index}: its state holds a value that JSON has not"));
        }
        out.push_str(if index == 0 { "\n" } else { ",\n" });
        out.push_str(&value.tree().as_written());
    }
    out.push_str("\n]");
    if let Some((time, _)) = updated {
        out.push_str(",\"lastUpdateTime\":");
        out.push_str(&seconds(time).as_written());
    }
    out.push_str("}\n");
    Ok(out)
}
