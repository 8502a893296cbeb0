//! What sessions from before ADK 1.0 said otherwise: `options` of events, and keys around the events.

use std::collections::BTreeMap;

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::adk::Ignored;
use crate::recording::fields::{Fields, Wrong, is_blank, join};

/// The keys of a session that only such documents have.
pub(crate) const SESSION: &[&str] =
    &["context", "pastEvents", "pendingEvents", "eventLogs", "artifacts", "currentAgentName"];

const OPTIONS: &[&str] = &["partial", "updateContext", "skipSummarization", "functionCallEventId"];

/// Whether a session is from before ADK 1.0: its state is a `context`, and it names no app.
pub(crate) fn is_early(session: &Json) -> bool {
    session.field("context").is_some()
        && ["appName", "app_name"].iter().all(|key| session.field(key).is_none())
}

/// Whether the `options` of an event say that it is a piece of a stream.
pub(crate) fn is_partial(event: &Json) -> bool {
    event.field("options").is_some_and(|options| options.field("partial") == Some(&Json::Bool(true)))
}

/// What the `options` of an event changed in the state of the session. It may not stand beside `actions` that do too.
pub(crate) fn state_delta(event: &Fields<'_>, ignored: &mut Ignored) -> Result<Vec<(String, Json)>, Wrong> {
    let Some(options) = event.object("options", OPTIONS)? else { return Ok(Vec::new()) };
    for (key, _) in options.others(OPTIONS) {
        ignored.note(&join("options", key));
    }
    let delta = options.entries("updateContext")?;
    if !delta.is_empty() && event.value("actions").is_some_and(|actions| !is_blank(actions)) {
        let text = "`options` and `actions` both say what the event does".to_owned();
        return Err(Wrong::new(StopKind::BadShape, text));
    }
    Ok(delta.iter().map(|(key, value)| (key.to_string(), value.clone())).collect())
}

/// The requests that models were sent, by the id of the event that answers each.
///
/// A session that names its application or its user is from a later version: what stands there is not the library's own.
pub(crate) fn requests(session: &Fields<'_>, ignored: &mut Ignored) -> Result<BTreeMap<String, Json>, Wrong> {
    let mut requests = BTreeMap::new();
    let later = ["appName", "userId", "state"].iter().any(|key| session.value(key).is_some());
    if later && session.value("eventLogs").is_some() {
        ignored.note("eventLogs");
        return Ok(requests);
    }
    for (index, log) in session.list("eventLogs")?.iter().enumerate() {
        let place = format!("{}[{index}]", session.place("eventLogs"));
        let log = Fields::new(log, &place, &["eventId", "modelRequest"])?;
        let event = log.text("eventId")?;
        let Some(request) = log.value("modelRequest").filter(|_| !event.is_empty()) else { continue };
        if requests.insert(event, request.clone()).is_some() {
            let text = format!("`{place}` is the second request for one event");
            return Err(Wrong::new(StopKind::BadShape, text));
        }
    }
    Ok(requests)
}
