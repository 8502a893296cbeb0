//! `gatelog decide`

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::cli::agents::roster;
use crate::cli::arguments::{Decide, DocumentFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::recordings;
use crate::cli::settings::settings;
use crate::decision::{Decision, Verdict};
use crate::json;
use crate::monitor::{Action, Monitor, Policy, Request};
use crate::program::Program;
use crate::recording::{Event, Part, PartKind, Recording, Stop};
use crate::replay::walk;
use crate::report::json::{DecisionRow, FileError, PolicyRow, line, raw};
use crate::report::text;
use crate::report::visible::visible;
use crate::scenario::{self, GivenRequest, action_text};

/// Judges one request.
pub(crate) fn run(flags: &Decide, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        DocumentFormat::Text => Audience::People,
        DocumentFormat::Json => Audience::Machines,
    };
    let loaded = match policy::load(&flags.policy.policies, console) {
        Ok(loaded) => loaded,
        Err(no) => return policy::report(&no, audience, console),
    };
    match judge(flags, &loaded, console) {
        Ok((request, decisions, exit)) => {
            match audience {
                Audience::Machines => console.print(&document(loaded.program(), &request, &decisions)),
                Audience::People if quiet => {}
                Audience::People => console.print(&for_people(&request, &decisions)),
            }
            exit
        }
        Err(error) => policy::report_file(&error, audience, console),
    }
}

type Judged = (GivenRequest, Vec<Decision>, Exit);

fn judge(flags: &Decide, policy: &Arc<Policy>, console: &mut Console<'_>) -> Result<Judged, FileError> {
    let mut settings = settings(&flags.settings, &flags.reading, console)?;
    let mut roster = roster(&flags.reading, console)?;
    settings.agents = Arc::clone(&roster.agents);
    let mut monitor = Monitor::new(Arc::clone(policy), settings);
    let mut last = None;
    let mut stop = None;
    if let Some(path) = &flags.session {
        let recording = recordings::one(path, &flags.reading, console)?;
        roster.note(roster.met_in(&recording));
        stop = walk(&mut monitor, &recording, &mut |_, _| {}).err().map(|halt| halt.stop);
        last = Some(recording);
    }
    roster.unmet()?;
    let input = std::path::Path::new("-");
    let request = scenario::request(&files::text(input, console)?).map_err(|faults| {
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        fault(format!("`{}` is not an action: {}", files::name(input), faults.join("; ")))
    })?;
    let decisions = match (&stop, &last, &request.current) {
        (Some(stop), ..) => {
            let denied = Decision::fault(format!("the session stopped: {}", stop.text));
            vec![denied; request.actions.len()]
        }
        (None, Some(recording), None) => as_next(&mut monitor, recording, &request)?,
        (None, Some(_), Some(current)) => {
            let current = current.iter().map(|id| known(&monitor, id)).collect::<Result<Vec<_>, _>>()?;
            by_hand(&mut monitor, &request, current)
        }
        (None, None, current) => {
            let current = current.clone().unwrap_or_default();
            for id in &current {
                console.say(&format!(
                    "warning: `current` names `{}`, and without --session there are no records: it adds no ancestors\n",
                    visible(id)
                ));
            }
            by_hand(&mut monitor, &request, current)
        }
    };
    let allowed = decisions.len() == request.actions.len()
        && decisions.iter().all(|decision| decision.verdict == Verdict::Allow);
    let exit = match (stop, allowed) {
        (Some(_), _) => Exit::Broken,
        (None, true) => Exit::Done,
        (None, false) => Exit::Refused,
    };
    Ok((request, decisions, exit))
}

fn by_hand(monitor: &mut Monitor, given: &GivenRequest, current: Vec<String>) -> Vec<Decision> {
    let request = Request { current, actions: given.actions.clone(), clock: given.clock.clone() };
    monitor.judge(&request)
}

/// A record of the session by its id, or by a beginning of it that is no other's. An id that is not there would have no
/// ancestors, and what it was computed from would be missed.
fn known(monitor: &Monitor, id: &str) -> Result<String, FileError> {
    let records = monitor.graph().records();
    let found: Vec<_> = records.iter().filter(|record| record.id().starts_with(id)).collect();
    let exact = found.iter().find(|record| *record.id() == *id);
    match (exact, found.as_slice()) {
        (Some(record), _) => Ok(record.id().to_string()),
        (None, [record]) if id.len() >= 8 => Ok(record.id().to_string()),
        (None, _) => Err(fault(format!("`current` names `{id}`, which is no record of the session"))),
    }
}

fn fault(text: String) -> FileError {
    FileError { kind: "bad_request", file: files::name(std::path::Path::new("-")), text }
}

/// The actions as what the agent that spoke last does next, computed from all that it would be shown.
fn as_next(
    monitor: &mut Monitor,
    recording: &Recording,
    given: &GivenRequest,
) -> Result<Vec<Decision>, FileError> {
    let calls = given.actions.iter().map(|(action, metadata)| match action {
        Action::CallTool { tool, arguments } if metadata.is_empty() => Some((tool, arguments)),
        Action::CallTool { .. } | Action::HttpRequest { .. } | Action::Send { .. } => None,
    });
    let parts: Option<Vec<_>> =
        calls.map(|call| call.map(|(tool, arguments)| call_part(tool, arguments))).collect();
    let stop = |stop: Stop| fault(format!("it cannot be the next event of the session: {}", stop.text));
    if let Some(parts) = parts {
        let parts = parts.into_iter().collect::<Result<Vec<_>, _>>()?;
        let observed = monitor.observe(&next_event(recording, given, parts)).map_err(stop)?;
        if observed.calls.len() == given.actions.len() {
            return Ok(observed.calls.into_iter().map(|call| monitor.judge_call(call)).collect());
        }
        return Err(fault("the calls cannot be told apart in the session".to_owned()));
    }
    let text = given.actions.iter().map(|(action, _)| action_text(action)).collect::<Vec<_>>().join("\n");
    let before = monitor.graph().records().len();
    let part = part(PartKind::Text(text));
    monitor.observe(&next_event(recording, given, vec![part])).map_err(stop)?;
    let records = monitor.graph().records();
    let current: Vec<_> = records.iter().skip(before).map(|record| record.id().to_string()).collect();
    if current.is_empty() {
        return Err(fault("the actions have no place in the session".to_owned()));
    }
    Ok(by_hand(monitor, given, current))
}

fn part(kind: PartKind) -> Part {
    Part { kind, ..Part::default() }
}

fn call_part(tool: &str, arguments: &str) -> Result<Part, FileError> {
    let arguments = json::parse(arguments)
        .map_err(|error| fault(format!("the arguments of `{tool}` are not JSON: {error}")))?;
    Ok(part(PartKind::Call { id: String::new(), name: tool.to_owned(), arguments: Some(arguments) }))
}

fn next_event(recording: &Recording, given: &GivenRequest, parts: Vec<Part>) -> Event {
    let spoke =
        recording.events.iter().rev().find(|event| event.author != "user" && !event.author.is_empty());
    let last = recording.events.last();
    let of_last =
        |field: &dyn Fn(&Event) -> &String| last.map(|event| field(event).clone()).unwrap_or_default();
    let author = given.agent.clone().or_else(|| spoke.map(|event| event.author.clone()));
    let branch = spoke.filter(|event| given.agent.as_ref().is_none_or(|agent| agent == &event.author));
    Event {
        index: last.map_or(0, |event| event.index + 1),
        id: "next".to_owned(),
        invocation_id: of_last(&|event| &event.invocation_id),
        author: author.unwrap_or_else(|| "agent".to_owned()),
        branch: branch.map(|event| event.branch.clone()).unwrap_or_default(),
        time: given.clock.clone().unwrap_or_else(|| of_last(&|event| &event.time)),
        role: "model".to_owned(),
        has_content: true,
        parts,
        ..Event::default()
    }
}

fn for_people(request: &GivenRequest, decisions: &[Decision]) -> String {
    let mut out = String::new();
    for ((action, _), decision) in request.actions.iter().zip(decisions) {
        out.push_str(&format!("{:<5}  {}\n", decision.verdict.name(), visible(&action_text(action))));
        out.push_str(&text::decision(decision, "       "));
    }
    out
}

#[derive(Debug, serde::Serialize)]
struct Answer<'a> {
    policy: PolicyRow,
    checks: Vec<CheckRow<'a>>,
}

#[derive(Debug, serde::Serialize)]
struct CheckRow<'a> {
    action: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    args: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(flatten)]
    decision: DecisionRow<'a>,
}

fn document(program: &Program, request: &GivenRequest, decisions: &[Decision]) -> String {
    let checks = request.actions.iter().zip(decisions).enumerate().map(|(at, ((action, _), decision))| {
        let (mut tool, mut args, mut url, mut text) = (None, None, None, None);
        match action {
            Action::CallTool { tool: name, arguments } => {
                (tool, args) = (Some(name.as_str()), Some(raw(arguments)));
            }
            Action::HttpRequest { url: to, .. } => url = Some(to.as_str()),
            Action::Send { contents, .. } => text = Some(contents.as_str()),
        }
        CheckRow { action: at, tool, args, url, text, decision: DecisionRow::new(decision) }
    });
    line(&Answer { policy: PolicyRow::new(program), checks: checks.collect() }) + "\n"
}
