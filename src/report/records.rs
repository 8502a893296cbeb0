//! What a recording became.

use serde::Serialize;

use crate::lineage::RecordId;
use crate::records::{Graph, Record, RecordKind, Role};
use crate::report::json::line;
use crate::report::visible::{shortened, visible};

/// Most characters of a record's contents in its line.
const EXCERPT: usize = 60;
/// Characters of a record's id in its line.
const SHORT_ID: usize = 8;

fn kind(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Text => "text",
        RecordKind::Thought => "thought",
        RecordKind::Call => "call",
        RecordKind::Response => "response",
        RecordKind::Summary => "summary",
        RecordKind::Resource => "resource",
        RecordKind::Signature => "signature",
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

/// One line for each record: its number, id, author, role, kind, an excerpt, and the numbers of its inputs.
#[must_use]
pub fn text(graph: &Graph) -> String {
    let records = graph.records();
    let width =
        |cell: &dyn Fn(&Record) -> usize, most: usize| records.iter().map(cell).max().unwrap_or(0).min(most);
    let agent = width(&|record| visible(&record.agent).chars().count(), 16).max(5);
    let mut out = format!(
        "{:>5}  {:<SHORT_ID$}  {:<agent$}  {:<6}  {:<9}  {:<EXCERPT$}  inputs\n",
        "seq", "id", "agent", "role", "kind", "contents"
    );
    for (seq, record) in records.iter().enumerate() {
        let excerpt = if record.kind == RecordKind::Call { &record.tools_json } else { &record.contents };
        let excerpt = shortened(&visible(excerpt), EXCERPT);
        let inputs: Vec<_> = inputs(graph, seq)
            .into_iter()
            .map(|(first, last)| if first == last { first.to_string() } else { format!("{first}-{last}") })
            .collect();
        let id: String = visible(&record.id).chars().take(SHORT_ID).collect();
        let name = shortened(&visible(&record.agent), agent);
        let row = format!(
            "{seq:>5}  {id:<SHORT_ID$}  {name:<agent$}  {:<6}  {:<9}  {excerpt:<EXCERPT$}  {}",
            role(record.role),
            kind(record.kind),
            inputs.join(",")
        );
        out.push_str(row.trim_end());
        out.push('\n');
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
    /// First and last of each run.
    inputs: Vec<(u32, u32)>,
}

#[derive(Debug, Serialize)]
struct EventRow<'a> {
    event_id: &'a str,
    invocation_id: &'a str,
    author: &'a str,
    branch: &'a str,
    time: &'a str,
}

/// One JSON line for each record, in full; inputs are runs of record numbers, first and last.
#[must_use]
pub fn lines(source: &str, graph: &Graph) -> String {
    let mut out = String::new();
    for (seq, record) in graph.records().iter().enumerate() {
        let event = record.event.as_ref().map(|event| EventRow {
            event_id: &event.event_id,
            invocation_id: &event.invocation_id,
            author: &event.author,
            branch: &event.branch,
            time: &event.time,
        });
        let row = RecordRow {
            source,
            seq,
            id: &record.id,
            kind: kind(record.kind),
            agent: &record.agent,
            role: role(record.role),
            contents: &record.contents,
            tools_json: &record.tools_json,
            entity: &record.entity,
            principal: &record.principal,
            metadata: record.metadata.as_deref(),
            event,
            inputs: inputs(graph, seq),
        };
        out.push_str(&line(&row));
        out.push('\n');
    }
    out
}
