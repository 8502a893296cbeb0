//! What happens in a session written by hand, to its graph.

use crate::lineage::RecordId;
use crate::monitor::Monitor;
use crate::records::{Approval, ApprovalScope, CallNumber, Given, Graph, Role, SessionFact, Status, Text};
use crate::scenario::entry::{Access, Confirm, Happening, Outcome};

/// What an entry did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Applied {
    /// The graph has it.
    Done,
    /// It sets the time of later checks.
    Clock(String),
}

/// Lets one entry happen.
///
/// # Errors
/// An id that is used twice, or one that does not exist.
pub(crate) fn apply(monitor: &mut Monitor, event: &Happening) -> Result<Applied, String> {
    let graph = monitor.graph_mut();
    match event {
        Happening::Record { given, numbered } => {
            let mut given = Given::clone(given);
            if let Some(event) = given.event.as_mut().filter(|_| !numbered) {
                event.seq = i64::try_from(graph.records().len()).unwrap_or(i64::MAX);
            }
            graph.add(given)?;
        }
        Happening::Outcome(outcome) => answer(graph, outcome)?,
        Happening::Confirm(confirm) => confirmation(graph, confirm)?,
        Happening::State { access, scope, key, value } => {
            let (scope, key, value) = (scope.as_str().into(), key.as_str().into(), value.as_str().into());
            let fact = match access {
                Access::Write(id) => {
                    SessionFact::StateWrite { record: record(graph, id)?, scope, key, value }
                }
                Access::Read(id) => SessionFact::StateRead { record: record(graph, id)?, scope, key, value },
            };
            graph.note(fact);
        }
        Happening::Artifact { access, filename, version } => {
            let (filename, version) = (filename.as_str().into(), *version);
            let fact = match access {
                Access::Write(id) => {
                    SessionFact::ArtifactWrite { record: record(graph, id)?, filename, version }
                }
                Access::Read(id) => {
                    SessionFact::ArtifactRead { record: record(graph, id)?, filename, version }
                }
            };
            graph.note(fact);
        }
        Happening::ToolSource { tool, source } => {
            graph
                .note(SessionFact::ToolSource { tool: tool.as_str().into(), source: source.as_str().into() });
        }
        Happening::SessionUser(id) => graph.note(SessionFact::SessionUser { id: id.as_str().into() }),
        Happening::Clock(time) => return Ok(Applied::Clock(time.clone())),
    }
    Ok(Applied::Done)
}

fn record(graph: &Graph, id: &str) -> Result<RecordId, String> {
    graph.record_of(id).ok_or_else(|| format!("there is no record `{id}`"))
}

/// The call of that id, or the only call of the record of that id.
fn call(graph: &Graph, id: &str) -> Result<CallNumber, String> {
    if let Some(call) = graph.call_named(id) {
        return Ok(call);
    }
    let record = graph.record_of(id);
    let mut found = graph.calls().iter().enumerate().filter(|(_, call)| Some(call.record) == record);
    match (found.next(), found.next()) {
        (Some((at, _)), None) => Ok(CallNumber(u32::try_from(at).unwrap_or(u32::MAX))),
        _ => Err(format!("there is no call `{id}`")),
    }
}

/// A call is answered: the response is a record computed from the call's.
fn answer(graph: &mut Graph, outcome: &Outcome) -> Result<(), String> {
    let number = call(graph, &outcome.call)?;
    if outcome.status == Status::Running {
        graph.start(number);
        return Ok(());
    }
    let Some(made) = graph.calls().get(number.0 as usize).cloned() else {
        return Err(format!("there is no call `{}`", outcome.call));
    };
    let input = graph.records().get(made.record.0 as usize).map(|record| record.id().to_string());
    let id = outcome.id.clone().unwrap_or_else(|| format!("{}:{}", outcome.call, outcome.status.name()));
    let text = outcome.text.as_deref().unwrap_or("");
    let record = graph.add(Given {
        agent: outcome.agent.clone().unwrap_or_else(|| made.agent.to_string()),
        inputs: input.into_iter().collect(),
        ..Given::new(&id, Role::Agent, text)
    })?;
    let (call_id, tool, arguments) =
        (Text::from(made.call_id), Text::from(made.tool), Text::from(made.arguments));
    graph.note(SessionFact::ToolOutput { record, tool: tool.clone(), arguments: arguments.clone() });
    if outcome.status == Status::Ok {
        graph.note(SessionFact::ToolResult { record, tool: tool.clone(), arguments: arguments.clone() });
    }
    graph.note(SessionFact::ToolOutcome { record, call_id, tool, arguments, status: outcome.status });
    graph.settle(number, outcome.status);
    Ok(())
}

fn confirmation(graph: &mut Graph, confirm: &Confirm) -> Result<(), String> {
    let number = call(graph, &confirm.call)?;
    let Some(made) = graph.calls().get(number.0 as usize) else {
        return Err(format!("there is no call `{}`", confirm.call));
    };
    let (record, call_id) = (made.record, made.call_id.as_str().into());
    let approval = Approval {
        confirmed: confirm.answer,
        scope: ApprovalScope::All,
        time: String::new(),
        record: None,
        principal: Some(confirm.principal.to_string()).filter(|name| !name.is_empty()),
    };
    graph.set_approval(number, approval);
    graph.note(SessionFact::Confirmation {
        record,
        call_id,
        confirmed: confirm.answer,
        hint: confirm.hint.as_str().into(),
        payload: confirm.payload.as_str().into(),
        principal: confirm.principal.as_str().into(),
    });
    Ok(())
}
