//! What a recording became.

use std::fmt::Write as _;

use serde::Serialize;

use crate::lineage::RecordId;
use crate::records::{Graph, Record, RecordKind, Role, SessionFact, Status, Text};
use crate::report::json::line;
use crate::report::visible::{shortened, visible};

/// Most characters of a record's contents in its line.
const EXCERPT: usize = 60;
/// Characters of a record's id in its line.
const SHORT_ID: usize = 8;
/// Most characters of an author's name in its line.
const AGENT: usize = 16;
/// Runs of inputs that a line shows from each end.
const RUNS: usize = 2;

/// How much of each record a line shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Width {
    /// Ids, names and excerpts cut, so that a line fits a screen.
    Narrow,
    /// All of it.
    Wide,
}

/// The kind's name in reports.
pub(crate) fn kind(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Text => "text",
        RecordKind::Thought => "thought",
        RecordKind::Call => "call",
        RecordKind::Response => "response",
        RecordKind::Summary => "summary",
        RecordKind::Resource => "resource",
        RecordKind::Signature => "signature",
        RecordKind::Data => "data",
        RecordKind::Code => "code",
        RecordKind::CodeResult => "code_result",
        RecordKind::ServerCall => "server_call",
        RecordKind::ServerAnswer => "server_answer",
        RecordKind::Given => "given",
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Assistant => "model",
        Role::System => "system",
        Role::User => "user",
        Role::Agent => "agent",
    }
}

/// The first and last of each run of inputs, in ascending order.
fn inputs(graph: &Graph, at: usize) -> Vec<(u32, u32)> {
    let lineage = graph.lineage();
    let context = lineage.inputs(RecordId(u32::try_from(at).unwrap_or(u32::MAX)));
    let mut runs: Vec<(u32, u32)> = Vec::new();
    for RecordId(id) in lineage.member_set(context).iter() {
        match runs.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(id) => *last = id,
            Some(_) | None => runs.push((id, id)),
        }
    }
    runs
}

/// What is known of the call that a record makes or answers.
#[derive(Debug, Clone, Default)]
struct Known {
    /// Id, tool and arguments of the call.
    call: Option<[Text; 3]>,
    /// For an answer, its status; for a call, what became of it.
    outcome: Option<&'static str>,
    /// Whether the record is the successful return of its call.
    evidence: bool,
}

/// The same for each record, in their order.
fn known(graph: &Graph) -> Vec<Known> {
    let mut all = vec![Known::default(); graph.records().len()];
    for (number, call) in (0_u32..).zip(graph.calls().iter()) {
        if let Some(known) = all.get_mut(call.record.0 as usize) {
            known.call = Some([&call.call_id, &call.tool, &call.arguments].map(Clone::clone));
            known.outcome = Some(graph.outcome(crate::records::CallNumber(number)).name());
        }
    }
    for fact in graph.facts().iter() {
        if let SessionFact::ToolOutcome { record, call_id, tool, arguments, status } = fact
            && let Some(known) = all.get_mut(record.0 as usize)
        {
            known.call = Some([call_id, tool, arguments]);
            known.outcome = Some(status.name());
            known.evidence = status == Status::Ok;
        }
    }
    all
}

/// A record's cells, as a person reads them.
struct Line {
    seq: usize,
    event: String,
    id: String,
    agent: String,
    role: &'static str,
    kind: &'static str,
    outcome: String,
    contents: String,
    inputs: String,
}

impl Line {
    fn new(record: Record<'_>, seq: usize, known: &Known, inputs: &[(u32, u32)], width: Width) -> Self {
        let evidence = if known.evidence { "*" } else { "" };
        let event = record.event_number();
        let cut = |text: &str, most: usize| match width {
            Width::Narrow => shortened(&visible(text), most),
            Width::Wide => visible(text),
        };
        Self {
            seq,
            event: event.map_or_else(|| "-".to_owned(), |number| number.to_string()),
            id: match width {
                Width::Narrow => visible(&record.id()).chars().take(SHORT_ID).collect(),
                Width::Wide => visible(&record.id()),
            },
            agent: cut(record.agent(), AGENT),
            role: role(record.role()),
            kind: kind(record.kind()),
            outcome: format!("{}{evidence}", known.outcome.unwrap_or("")),
            contents: cut(&excerpt(record), EXCERPT),
            inputs: runs(inputs, width),
        }
    }
}

/// What a record says: a call its calls, a part without text of its own its metadata.
fn excerpt(record: Record<'_>) -> Text {
    match record.kind() {
        RecordKind::Call => record.tools_json(),
        RecordKind::Data | RecordKind::Code | RecordKind::ServerCall | RecordKind::ServerAnswer => {
            record.metadata().unwrap_or_default()
        }
        RecordKind::Text
        | RecordKind::Thought
        | RecordKind::Response
        | RecordKind::Summary
        | RecordKind::Resource
        | RecordKind::Signature
        | RecordKind::CodeResult
        | RecordKind::Given => record.contents().into(),
    }
}

/// `0-3,5`; of many runs the first and last.
fn runs(inputs: &[(u32, u32)], width: Width) -> String {
    let one = |&(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    let rest = inputs.len().saturating_sub(2 * RUNS);
    if width == Width::Wide || rest == 0 {
        return inputs.iter().map(one).collect::<Vec<_>>().join(",");
    }
    let first: Vec<_> = inputs.iter().take(RUNS).map(one).collect();
    let last: Vec<_> = inputs.iter().skip(RUNS + rest).map(one).collect();
    format!("{},…,{}", first.join(","), last.join(","))
}

/// One line for each record, in the order of recording: its number, that of its event, its id, author, role and kind, what
/// became of the call that it makes or answers (`*` where it is the successful return of that call), the numbers of the
/// records that it was computed from, and what it says.
#[must_use]
pub fn text(graph: &Graph, width: Width) -> String {
    let known = known(graph);
    let lines: Vec<Line> = graph
        .records()
        .iter()
        .zip(known)
        .enumerate()
        .map(|(seq, (record, known))| Line::new(record, seq, &known, &inputs(graph, seq), width))
        .collect();
    let widest = |cell: &dyn Fn(&Line) -> &str, least: usize| {
        lines.iter().map(|line| cell(line).chars().count()).max().unwrap_or(0).max(least)
    };
    let (event, id) = (widest(&|line| &line.event, 5), widest(&|line| &line.id, 2));
    let (agent, kind) = (widest(&|line| &line.agent, 5), widest(&|line| line.kind, 4));
    let outcome = widest(&|line| &line.outcome, 7);
    let inputs = widest(&|line| &line.inputs, 6);
    let mut out = format!(
        "{:>5}  {:>event$}  {:<id$}  {:<agent$}  {:<6}  {:<kind$}  {:<outcome$}  {:<inputs$}  contents\n",
        "seq", "event", "id", "agent", "role", "kind", "outcome", "inputs"
    );
    for line in &lines {
        let row = format!(
            "{:>5}  {:>event$}  {:<id$}  {:<agent$}  {:<6}  {:<kind$}  {:<outcome$}  {:<inputs$}  {}",
            line.seq,
            line.event,
            line.id,
            line.agent,
            line.role,
            line.kind,
            line.outcome,
            line.inputs,
            line.contents
        );
        // Writing to a String cannot fail.
        let _ = writeln!(out, "{}", row.trim_end());
    }
    out
}

#[derive(Debug, Serialize)]
struct RecordRow<'a> {
    source: &'a str,
    seq: usize,
    id: &'a str,
    kind: &'static str,
    agent: &'a str,
    role: &'static str,
    contents: &'a str,
    tools_json: &'a str,
    entity: &'a str,
    principal: &'a str,
    metadata: Option<&'a str>,
    event: Option<EventRow<'a>>,
    call: Option<CallRow<'a>>,
    /// For an answer its status, for a call what became of it.
    outcome: Option<&'static str>,
    /// Whether `ToolResult` has a row for it.
    evidence: bool,
    /// First and last of each run.
    inputs: Vec<(u32, u32)>,
}

#[derive(Debug, Serialize)]
struct EventRow<'a> {
    /// Number of the event in its file, from 0.
    number: Option<usize>,
    event_id: &'a str,
    invocation_id: &'a str,
    author: &'a str,
    branch: &'a str,
    seq: i64,
    time: &'a str,
}

#[derive(Debug, Serialize)]
struct CallRow<'a> {
    id: &'a str,
    tool: &'a str,
    arguments: &'a str,
}

/// One JSON line for each record, in full; inputs are runs of record numbers, first and last.
#[must_use]
pub fn lines(source: &str, graph: &Graph) -> String {
    let mut out = String::new();
    for (seq, (record, known)) in graph.records().iter().zip(known(graph)).enumerate() {
        let (id, tools_json, metadata) = (record.id(), record.tools_json(), record.metadata());
        let event = record.event();
        let event = event.as_ref().map(|event| EventRow {
            number: event.number,
            event_id: &event.event_id,
            invocation_id: &event.invocation_id,
            author: &event.author,
            branch: &event.branch,
            seq: event.seq,
            time: &event.time,
        });
        let row = RecordRow {
            source,
            seq,
            id: &id,
            kind: kind(record.kind()),
            agent: record.agent(),
            role: role(record.role()),
            contents: record.contents(),
            tools_json: &tools_json,
            entity: record.entity(),
            principal: record.principal(),
            metadata: metadata.as_deref(),
            event,
            call: known.call.as_ref().map(|[id, tool, arguments]| CallRow { id, tool, arguments }),
            outcome: known.outcome,
            evidence: known.evidence,
            inputs: inputs(graph, seq),
        };
        out.push_str(&line(&row));
        out.push('\n');
    }
    out
}
