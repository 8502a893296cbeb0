//! The state of a session, with that of its app and user.

use std::collections::BTreeSet;

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::database::{Cell, Stored};
use crate::recording::fields::Wrong;

/// The state of a session as it is seen in it: values of the app and the user have their prefix.
pub(crate) fn merged(stored: &Stored) -> Result<Vec<(Box<str>, Json)>, Wrong> {
    let own = stored.row.as_ref().map_or(&Cell::Null, |(state, _)| state);
    let mut state = entries(own, "the state of the session")?;
    let shared = [
        ("app:", &stored.app_state, "the state of the app"),
        ("user:", &stored.user_state, "the state of the user"),
    ];
    for (prefix, cell, what) in shared {
        let prefixed = |(key, value)| -> (Box<str>, Json) { (format!("{prefix}{key}").into(), value) };
        let entries: Vec<_> = entries(cell, what)?.into_iter().map(prefixed).collect();
        // Values of the app and the user count, whatever stands in the session's own row.
        let names: BTreeSet<_> = entries.iter().map(|(key, _)| key.clone()).collect();
        state.retain(|(key, _)| !names.contains(key));
        state.extend(entries);
    }
    Ok(state)
}

fn entries(cell: &Cell, what: &str) -> Result<Vec<(Box<str>, Json)>, Wrong> {
    match cell.json("state").map_err(|wrong| Wrong { text: format!("{what}: {}", wrong.text), ..wrong })? {
        Json::Object(entries) => Ok(entries),
        Json::Null => Ok(Vec::new()),
        Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_) => {
            Err(Wrong::new(StopKind::BadShape, format!("{what} is no object")))
        }
    }
}
