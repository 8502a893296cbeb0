//! Records and requests to facts.
//!
//! In: the [`Graph`] of a session, and a request. Out: tuples of the host's relations in a [`Database`]. Never: judges.
//!
//! This is the only place where the fields of records meet the names of relations; what each relation means is said in
//! the prelude.

mod schema;

pub use schema::Schema;

use crate::engine::Database;
use crate::lineage::RecordId;
use crate::program::RelationId;
use crate::records::{CallNumber, Graph, Record, Role, RunChange, SessionFact, Status, UnseenNumber};
use crate::value::Word;
use std::collections::BTreeSet;
use std::ops::Range;

/// How much of a graph has become facts, and of which relations.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Projected {
    records: usize,
    facts: usize,
    runs: usize,
    /// Whether a relation is filled, by relation.
    filled: Vec<bool>,
}

impl Projected {
    /// Whether the graph has what is not among the facts of these relations yet.
    #[must_use]
    pub fn is_behind(&self, graph: &Graph, needed: &[bool]) -> bool {
        let Self { records, facts, runs, filled } = self;
        let unfilled = |(at, &needed): (usize, &bool)| needed && filled.get(at) != Some(&true);
        *records != graph.records().len()
            || *facts != graph.facts().len()
            || *runs != graph.runs().len()
            || needed.iter().enumerate().any(unfilled)
    }

    /// Fills these relations from now on. Returns those that were not filled before.
    fn fill(&mut self, needed: &[bool]) -> Option<Vec<bool>> {
        if self.filled.len() < needed.len() {
            self.filled.resize(needed.len(), false);
        }
        let new = |(filled, needed): (&bool, &bool)| *needed && !*filled;
        if !self.filled.iter().zip(needed).any(new) {
            return None;
        }
        let fresh: Vec<bool> = self.filled.iter().zip(needed).map(new).collect();
        for (filled, needed) in self.filled.iter_mut().zip(needed) {
            *filled |= needed;
        }
        Some(fresh)
    }
}

/// The relations that are filled.
struct Target<'a> {
    database: &'a mut Database,
    filled: &'a [bool],
}

impl Target<'_> {
    fn takes(&self, relation: RelationId) -> bool {
        self.filled.get(relation.0 as usize) == Some(&true)
    }

    /// Adds a tuple that begins with a record and goes on with texts.
    fn insert<const TEXTS: usize>(&mut self, relation: RelationId, record: RecordId, texts: [&str; TEXTS]) {
        if !self.takes(relation) {
            return;
        }
        let Some(id) = name(self.database, record) else { return };
        let mut tuple = [id; WIDEST];
        for (word, text) in tuple.iter_mut().skip(1).zip(texts) {
            *word = self.database.text(text);
        }
        self.database.insert(relation, tuple.get(..=TEXTS).unwrap_or_default());
    }
}

/// Columns of the widest relation of a session.
const WIDEST: usize = 7;

/// Adds the facts of all records and notes that are new since `projected`, and takes out those of calls that have ended, in
/// the relations that are needed now or were before. Costs as much as there are such, and as rows of `ToolOutcome` came
/// after those that go; and where a relation is needed for the first time, as much as the graph is long.
pub fn project(
    schema: &Schema,
    graph: &Graph,
    database: &mut Database,
    projected: &mut Projected,
    needed: &[bool],
) {
    if let Some(fresh) = projected.fill(needed) {
        let mut target = Target { database: &mut *database, filled: &fresh };
        for (number, record) in graph.records().iter().take(projected.records).enumerate() {
            project_record(schema, (number, record), &mut target);
        }
        for fact in graph.facts().iter().take(projected.facts) {
            project_fact(schema, &fact, &mut target);
        }
        run(schema, graph, &mut target, changed(graph, 0..projected.runs).0);
    }
    let mut target = Target { database, filled: &projected.filled };
    for (number, record) in graph.records().iter().enumerate().skip(projected.records) {
        let symbol = target.database.pool.symbol(&record.id());
        target.database.names.push(symbol);
        project_record(schema, (number, record), &mut target);
    }
    projected.records = graph.records().len();
    let (started, settled) = changed(graph, projected.runs..graph.runs().len());
    projected.runs = graph.runs().len();
    if target.takes(schema.tool_outcome) {
        let settled: Vec<_> =
            settled.iter().filter_map(|&run| running(graph, target.database, run)).collect();
        target.database.remove(schema.tool_outcome, settled.iter().map(<[Word; 5]>::as_slice));
    }
    for fact in graph.facts().from(projected.facts) {
        project_fact(schema, &fact, &mut target);
    }
    projected.facts = graph.facts().len();
    run(schema, graph, &mut target, started);
}

/// A call that runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Run {
    Recorded(CallNumber),
    Unseen(UnseenNumber),
}

/// Adds the rows of calls that run.
fn run(schema: &Schema, graph: &Graph, target: &mut Target<'_>, started: BTreeSet<Run>) {
    if !target.takes(schema.tool_outcome) {
        return;
    }
    for run in started {
        if let Some(tuple) = running(graph, target.database, run) {
            target.database.insert(schema.tool_outcome, &tuple);
        }
    }
}

/// The calls that began to run, or ended, with these changes.
fn changed(graph: &Graph, changes: Range<usize>) -> (BTreeSet<Run>, Vec<Run>) {
    let (mut started, mut settled) = (BTreeSet::new(), Vec::new());
    for change in graph.runs().get(changes).unwrap_or_default() {
        let (run, starts) = match *change {
            RunChange::Started(call) => (Run::Recorded(call), true),
            RunChange::Settled(call) => (Run::Recorded(call), false),
            RunChange::UnseenStarted(call) => (Run::Unseen(call), true),
            RunChange::UnseenSettled(call) => (Run::Unseen(call), false),
        };
        if starts {
            started.insert(run);
        } else if !started.remove(&run) {
            settled.push(run);
        }
    }
    (started, settled)
}

/// The row of `ToolOutcome` for a call that runs.
fn running(graph: &Graph, database: &mut Database, run: Run) -> Option<[Word; 5]> {
    let (record, texts) = match run {
        Run::Recorded(number) => {
            let call = graph.calls().get(number.0 as usize)?;
            (call.record, [call.call_id.as_str(), &call.tool, &call.arguments])
        }
        Run::Unseen(number) => {
            let call = graph.unseen_run_of(number)?;
            (call.record, [call.call_id.as_str(), &call.tool, &call.arguments])
        }
    };
    let id = name(database, record)?;
    let [call_id, tool, arguments] = texts.map(|text| database.text(text));
    let status = database.text(Status::Running.name());
    Some([id, call_id, tool, arguments, status])
}

fn project_record(schema: &Schema, (number, record): (usize, Record<'_>), target: &mut Target<'_>) {
    let number = RecordId(u32::try_from(number).unwrap_or(u32::MAX));
    if target.takes(schema.sent_message)
        && let Some(id) = name(target.database, number)
    {
        let message = Message {
            contents: record.contents(),
            tools_json: &record.tools_json(),
            agent: record.agent(),
            role: record.role(),
            entity: record.entity(),
            principal: record.principal(),
        };
        let message = message.word(schema, target.database);
        target.database.insert(schema.sent_message, &[id, message]);
    }
    if target.takes(schema.message_metadata)
        && let Some(metadata) = record.metadata()
    {
        target.insert(schema.message_metadata, number, [&metadata]);
    }
    if target.takes(schema.record_event)
        && let (Some(event), Some(id)) = (record.event(), name(target.database, number))
    {
        let [event_id, invocation, author, branch, time] =
            [&event.event_id, &event.invocation_id, &event.author, &event.branch, &event.time]
                .map(|text| target.database.text(text));
        let seq = Word::number(event.seq);
        target.database.insert(schema.record_event, &[id, event_id, invocation, author, branch, seq, time]);
    }
}

/// The fields of a `Message` value.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Text, or ordinary JSON.
    pub contents: &'a str,
    /// `[]`, or the calls of the message.
    pub tools_json: &'a str,
    /// The author.
    pub agent: &'a str,
    /// Who produced it.
    pub role: Role,
    /// Its label; may be empty.
    pub entity: &'a str,
    /// Its recorder; may be empty.
    pub principal: &'a str,
}

impl Message<'_> {
    /// The word of the message.
    pub fn word(self, schema: &Schema, database: &mut Database) -> Word {
        let role = Word::compound(database.pool.compound(schema.role(self.role), &[]));
        let [contents, tools_json, agent, entity, principal] =
            [self.contents, self.tools_json, self.agent, self.entity, self.principal]
                .map(|text| database.text(text));
        let fields = [contents, tools_json, agent, role, entity, principal];
        Word::compound(database.pool.compound(schema.message, &fields))
    }
}

fn project_fact(schema: &Schema, fact: &SessionFact, target: &mut Target<'_>) {
    match fact {
        SessionFact::ToolResult { record, tool, arguments } => {
            target.insert(schema.tool_result, *record, [tool, arguments]);
        }
        SessionFact::ProposedCall { record, call_id, tool, arguments } => {
            target.insert(schema.proposed_call, *record, [call_id, tool, arguments]);
        }
        SessionFact::ToolOutcome { record, call_id, tool, arguments, status } => {
            target.insert(schema.tool_outcome, *record, [call_id, tool, arguments, status.name()]);
        }
        SessionFact::ToolOutput { record, tool, arguments } => {
            target.insert(schema.tool_output, *record, [tool, arguments]);
        }
        SessionFact::StateWrite { record, scope, key, value } => {
            target.insert(schema.state_write, *record, [scope, key, value]);
        }
        SessionFact::StateRead { record, scope, key, value } => {
            target.insert(schema.state_read, *record, [scope, key, value]);
        }
        SessionFact::Confirmation { .. }
        | SessionFact::ArtifactWrite { .. }
        | SessionFact::ArtifactRead { .. }
        | SessionFact::EdgePrincipal { .. }
        | SessionFact::EdgeEntity { .. }
        | SessionFact::ToolSource { .. }
        | SessionFact::SessionUser { .. } => project_rare(schema, fact, target),
    }
}

/// The facts that a session has few of.
fn project_rare(schema: &Schema, fact: &SessionFact, target: &mut Target<'_>) {
    let Some(relation) = rare(schema, fact).filter(|&relation| target.takes(relation)) else { return };
    if let Some(tuple) = rare_tuple(fact, target.database) {
        target.database.insert(relation, &tuple);
    }
}

fn rare(schema: &Schema, fact: &SessionFact) -> Option<RelationId> {
    match fact {
        SessionFact::Confirmation { .. } => Some(schema.confirmation),
        SessionFact::ArtifactWrite { .. } => Some(schema.artifact_write),
        SessionFact::ArtifactRead { .. } => Some(schema.artifact_read),
        SessionFact::EdgePrincipal { .. } => Some(schema.edge_principal),
        SessionFact::EdgeEntity { .. } => Some(schema.edge_entity),
        SessionFact::ToolSource { .. } => Some(schema.tool_source),
        SessionFact::SessionUser { .. } => Some(schema.session_user),
        SessionFact::ToolResult { .. }
        | SessionFact::ProposedCall { .. }
        | SessionFact::ToolOutcome { .. }
        | SessionFact::ToolOutput { .. }
        | SessionFact::StateWrite { .. }
        | SessionFact::StateRead { .. } => None,
    }
}

fn rare_tuple(fact: &SessionFact, database: &mut Database) -> Option<Vec<Word>> {
    Some(match fact {
        SessionFact::Confirmation { record, call_id, confirmed, hint, payload, principal } => {
            let id = name(database, *record)?;
            let [call_id, hint, payload, principal] =
                [call_id, hint, payload, principal].map(|text| database.text(text));
            vec![id, call_id, Word::number(i64::from(*confirmed)), hint, payload, principal]
        }
        SessionFact::ArtifactWrite { record, filename, version }
        | SessionFact::ArtifactRead { record, filename, version } => {
            vec![name(database, *record)?, database.text(filename), Word::number(*version)]
        }
        SessionFact::EdgePrincipal { source, dest, principal: label }
        | SessionFact::EdgeEntity { source, dest, entity: label } => {
            vec![name(database, *source)?, name(database, *dest)?, database.text(label)]
        }
        SessionFact::ToolSource { tool, source } => [tool, source].map(|text| database.text(text)).to_vec(),
        SessionFact::SessionUser { id } => vec![database.text(id)],
        SessionFact::ToolResult { .. }
        | SessionFact::ProposedCall { .. }
        | SessionFact::ToolOutcome { .. }
        | SessionFact::ToolOutput { .. }
        | SessionFact::StateWrite { .. }
        | SessionFact::StateRead { .. } => return None,
    })
}

fn name(database: &Database, record: RecordId) -> Option<Word> {
    database.names.symbol(record).map(Word::symbol)
}

/// What is asked for, as facts need it.
#[derive(Debug, Clone, Copy)]
pub enum Asked<'a> {
    /// A call; arguments are JSON text.
    CallTool {
        /// The tool.
        tool: &'a str,
        /// Its arguments.
        arguments: &'a str,
    },
    /// An HTTP request.
    HttpRequest {
        /// Where to.
        url: &'a str,
        /// Its body.
        body: &'a str,
        /// A JSON array of headers.
        headers: &'a str,
    },
    /// A message.
    Send(Message<'a>),
}

/// The word of an action, which is no fact by that.
pub fn action(schema: &Schema, database: &mut Database, asked: Asked<'_>) -> Word {
    let action = match asked {
        Asked::CallTool { tool, arguments } => {
            let fields = [tool, arguments].map(|text| database.text(text));
            database.pool.compound(schema.call_tool, &fields)
        }
        Asked::HttpRequest { url, body, headers } => {
            let fields = [url, body, headers].map(|text| database.text(text));
            database.pool.compound(schema.http_request, &fields)
        }
        Asked::Send(message) => {
            let fields = [message.word(schema, database)];
            database.pool.compound(schema.send_attempt, &fields)
        }
    };
    Word::compound(action)
}

/// Adds an action (see [`action`]) and its metadata.
pub fn ask(schema: &Schema, database: &mut Database, index: u64, action: Word, metadata: &[[String; 3]]) {
    let index = Word::unsigned(index);
    database.insert(schema.actions, &[index, action]);
    for row in metadata {
        let [rel, a, b] = row.each_ref().map(|text| database.text(text));
        database.insert(schema.action_metadata, &[index, rel, a, b]);
    }
}
