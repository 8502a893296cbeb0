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
use crate::records::{CallNumber, Graph, Record, Role, RunChange, SessionFact, Status};
use crate::value::Word;
use std::collections::BTreeSet;

/// How much of a graph has become facts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Projected {
    records: usize,
    facts: usize,
    runs: usize,
}

impl Projected {
    /// Whether the graph has what is not among the facts yet.
    #[must_use]
    pub fn is_behind(&self, graph: &Graph) -> bool {
        let Self { records, facts, runs } = *self;
        records != graph.records().len() || facts != graph.facts().len() || runs != graph.runs().len()
    }
}

/// Adds the facts of all records and notes that are new since `projected`, and takes out those of calls that have ended.
/// Costs as much as there are such, and as rows of `ToolOutcome` came after those that go.
pub fn project(schema: &Schema, graph: &Graph, database: &mut Database, projected: &mut Projected) {
    for record in graph.records().iter().skip(projected.records) {
        project_record(schema, record, database);
    }
    projected.records = graph.records().len();
    let (started, settled) = changed(graph, projected.runs);
    projected.runs = graph.runs().len();
    let settled: Vec<_> = settled.iter().filter_map(|&call| running(graph, database, call)).collect();
    database.remove(schema.tool_outcome, settled.iter().map(<[Word; 5]>::as_slice));
    for fact in graph.facts().iter().skip(projected.facts) {
        project_fact(schema, fact, database);
    }
    projected.facts = graph.facts().len();
    for call in started {
        if let Some(tuple) = running(graph, database, call) {
            database.insert(schema.tool_outcome, &tuple);
        }
    }
}

/// The calls that began to run, or ended, since so many changes.
fn changed(graph: &Graph, since: usize) -> (BTreeSet<CallNumber>, Vec<CallNumber>) {
    let (mut started, mut settled) = (BTreeSet::new(), Vec::new());
    for change in graph.runs().iter().skip(since) {
        match *change {
            RunChange::Started(call) => {
                started.insert(call);
            }
            RunChange::Settled(call) if started.remove(&call) => {}
            RunChange::Settled(call) => settled.push(call),
        }
    }
    (started, settled)
}

/// The row of `ToolOutcome` for a call that runs.
fn running(graph: &Graph, database: &mut Database, number: CallNumber) -> Option<[Word; 5]> {
    let call = graph.calls().get(number.0 as usize)?;
    let id = name(database, call.record)?;
    let status = Status::Running.name();
    let [call_id, tool, arguments, status] =
        [&call.call_id, &call.tool, &call.arguments, status].map(|text| database.text(text));
    Some([id, call_id, tool, arguments, status])
}

fn project_record(schema: &Schema, record: &Record, database: &mut Database) {
    let symbol = database.pool.symbol(&record.id);
    database.names.push(symbol);
    let id = Word::symbol(symbol);
    let message = Message {
        contents: &record.contents,
        tools_json: &record.tools_json,
        agent: &record.agent,
        role: record.role,
        entity: &record.entity,
        principal: &record.principal,
    };
    let message = message.word(schema, database);
    database.insert(schema.sent_message, &[id, message]);
    if let Some(metadata) = &record.metadata {
        let metadata = database.text(metadata);
        database.insert(schema.message_metadata, &[id, metadata]);
    }
    if let Some(event) = &record.event {
        let [event_id, invocation, author, branch, time] =
            [&event.event_id, &event.invocation_id, &event.author, &event.branch, &event.time]
                .map(|text| database.text(text));
        let seq = Word::number(event.seq);
        database.insert(schema.record_event, &[id, event_id, invocation, author, branch, seq, time]);
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

fn project_fact(schema: &Schema, fact: &SessionFact, database: &mut Database) {
    match fact {
        SessionFact::ToolResult { record, tool, arguments } => {
            insert(database, schema.tool_result, *record, &[tool, arguments]);
        }
        SessionFact::ProposedCall { record, call_id, tool, arguments } => {
            insert(database, schema.proposed_call, *record, &[call_id, tool, arguments]);
        }
        SessionFact::ToolOutcome { record, call_id, tool, arguments, status } => {
            insert(database, schema.tool_outcome, *record, &[call_id, tool, arguments, status.name()]);
        }
        SessionFact::ToolOutput { record, tool, arguments } => {
            insert(database, schema.tool_output, *record, &[tool, arguments]);
        }
        SessionFact::Confirmation { record, call_id, confirmed, hint, payload, principal } => {
            let Some(id) = name(database, *record) else { return };
            let [call_id, hint, payload, principal] =
                [call_id, hint, payload, principal].map(|text| database.text(text));
            let confirmed = Word::number(i64::from(*confirmed));
            database.insert(schema.confirmation, &[id, call_id, confirmed, hint, payload, principal]);
        }
        SessionFact::StateWrite { record, scope, key, value } => {
            insert(database, schema.state_write, *record, &[scope, key, value]);
        }
        SessionFact::StateRead { record, scope, key, value } => {
            insert(database, schema.state_read, *record, &[scope, key, value]);
        }
        SessionFact::ArtifactWrite { record, filename, version } => {
            let Some(id) = name(database, *record) else { return };
            let filename = database.text(filename);
            database.insert(schema.artifact_write, &[id, filename, Word::number(*version)]);
        }
        SessionFact::ArtifactRead { record, filename, version } => {
            let Some(id) = name(database, *record) else { return };
            let filename = database.text(filename);
            database.insert(schema.artifact_read, &[id, filename, Word::number(*version)]);
        }
        SessionFact::EdgePrincipal { source, dest, principal } => {
            let Some(source) = name(database, *source) else { return };
            let Some(dest) = name(database, *dest) else { return };
            let principal = database.text(principal);
            database.insert(schema.edge_principal, &[source, dest, principal]);
        }
        SessionFact::EdgeEntity { source, dest, entity } => {
            let Some(source) = name(database, *source) else { return };
            let Some(dest) = name(database, *dest) else { return };
            let entity = database.text(entity);
            database.insert(schema.edge_entity, &[source, dest, entity]);
        }
        SessionFact::ToolSource { tool, source } => {
            let tuple = [tool, source].map(|text| database.text(text));
            database.insert(schema.tool_source, &tuple);
        }
        SessionFact::SessionUser { id } => {
            let tuple = [database.text(id)];
            database.insert(schema.session_user, &tuple);
        }
    }
}

fn name(database: &Database, record: RecordId) -> Option<Word> {
    database.names.symbol(record).map(Word::symbol)
}

/// Adds a tuple that begins with a record and goes on with texts.
fn insert(database: &mut Database, relation: crate::program::RelationId, record: RecordId, texts: &[&str]) {
    let Some(id) = name(database, record) else { return };
    let mut tuple = vec![id];
    tuple.extend(texts.iter().map(|text| database.text(text)));
    database.insert(relation, &tuple);
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
