//! The reference monitor: one session, call after call.
//!
//! In: a program, events, calls. Out: decisions. Replay feeds it a file, a scenario its records, a gate a live session;
//! nothing else decides. Never: waits, sleeps, logs, or reads a clock.

use std::sync::Arc;

use crate::decision::{self, Decision, Judged, Question, Roots, Subject, Verdict};
use crate::engine::{Budget, Database, Engine, EvalError, Progress};
use crate::facts::{self, Asked, Message, Projected, Schema};
use crate::lineage::RecordId;
use crate::program::types::Datum;
use crate::program::{Program, RelationId};
use crate::recording::{Event, Parts, Stop};
use crate::records::agents::Agents;
use crate::records::{Approval, CallNumber, Graph, Observed, ProposedCall, Role};
use crate::value::Word;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Caller {
    /// The authenticated caller; none for an anonymous one.
    pub principal: Option<String>,
    /// Roles of the caller.
    pub roles: Vec<String>,
    /// Its own label.
    pub entity: Option<String>,
    /// Its tenant.
    pub tenant: Option<String>,
}

/// What holds for every check of a session.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// Who asks.
    pub caller: Caller,
    /// `PolicyMetadata` rows.
    pub metadata: Vec<[String; 3]>,
    /// Work allowance of one check.
    pub budget: Budget,
    /// Which fields of message parts are recorded; a session stops at an event with any other.
    pub parts: Parts,
    /// What the host states about its agents.
    pub agents: Arc<Agents>,
}

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// A call; arguments are JSON text.
    CallTool {
        /// The tool.
        tool: String,
        /// Its arguments.
        arguments: String,
    },
    /// An HTTP request.
    HttpRequest {
        /// Where to.
        url: String,
        /// Its body.
        body: String,
        /// A JSON array of headers; `[]` for none.
        headers: String,
    },
    /// A message.
    Send {
        /// Its text.
        contents: String,
        /// The sending agent.
        agent: String,
        /// Who produced it.
        role: Role,
        /// Its label; may be empty.
        entity: String,
        /// Its recorder; may be empty.
        principal: String,
    },
}

/// One check by hand.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Request {
    /// Ids of the records that the actions were computed from; they need not be recorded.
    pub current: Vec<String>,
    /// The actions, each with its `ActionMetadata` rows.
    pub actions: Vec<(Action, Vec<[String; 3]>)>,
    /// The time of the check, RFC 3339.
    pub clock: Option<String>,
}

/// A call that a gate is asked about.
#[derive(Debug, Clone)]
pub struct GatedCall<'a> {
    /// What it was computed from directly.
    pub current: &'a Arc<[RecordId]>,
    /// The record of the very call, where there is one.
    pub record: Option<RecordId>,
    /// The tool.
    pub tool: &'a str,
    /// Its arguments as ordinary JSON.
    pub arguments: &'a str,
    /// `ActionMetadata` rows.
    pub metadata: &'a [[String; 3]],
    /// A person's answer that counts for it.
    pub approval: Option<Approval>,
    /// The time of the check, RFC 3339; may be empty.
    pub clock: &'a str,
}

/// The rows of a relation, sorted, each once.
#[derive(Debug, Clone, PartialEq)]
pub struct Rows {
    /// The relation.
    pub relation: RelationId,
    /// Its rows.
    pub rows: Vec<Vec<Datum>>,
}

/// A policy that is ready to judge: made once, shared by all sessions.
#[derive(Debug)]
pub struct Policy {
    program: Program,
    engine: Engine,
    schema: Schema,
    roots: Roots,
}

impl Policy {
    /// Plans the rules of a checked program.
    #[must_use]
    pub fn new(program: Program) -> Self {
        let schema = Schema::of(&program);
        let engine = Engine::new(&program, &schema.session_facts());
        let roots = Roots::of(&program);
        Self { program, engine, schema, roots }
    }

    /// The checked program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// One session under one policy.
#[derive(Debug)]
pub struct Monitor {
    policy: Arc<Policy>,
    settings: Settings,
    graph: Graph,
    database: Database,
    projected: Projected,
    progress: Progress,
    /// The records that `Current` holds; kept, since the calls of one event share them.
    shown: Option<Arc<[RecordId]>>,
}

/// What one check is about.
struct Check<'a> {
    current: Current<'a>,
    actions: Vec<Asking<'a>>,
    /// One for each action.
    questions: Vec<Question>,
    clock: Option<&'a str>,
}

/// What an action was computed from.
enum Current<'a> {
    /// Records of the session, the same list for all calls of one event.
    Recorded(&'a Arc<[RecordId]>),
    /// Ids, recorded or not.
    Named(&'a [String]),
}

struct Asking<'a> {
    asked: Asked<'a>,
    metadata: &'a [[String; 3]],
    /// The record of the very call, where it is known.
    record: Option<String>,
}

impl Monitor {
    /// A session without records.
    #[must_use]
    pub fn new(policy: Arc<Policy>, settings: Settings) -> Self {
        let mut database = policy.engine.database();
        for row in &settings.metadata {
            let tuple = row.each_ref().map(|text| database.text(text));
            database.insert(policy.schema.policy_metadata, &tuple);
        }
        let mut graph = Graph::default();
        graph.set_parts(settings.parts);
        graph.set_agents(Arc::clone(&settings.agents));
        let (projected, progress) = (Projected::default(), Progress::default());
        Self { policy, settings, graph, database, projected, progress, shown: None }
    }

    /// The policy.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.policy.program
    }

    /// Begins again without records, with other settings.
    pub fn restart(&mut self, settings: Settings) {
        *self = Self::new(Arc::clone(&self.policy), settings);
    }

    /// Lets another policy decide from here on. The session stays.
    pub fn adopt(&mut self, policy: Arc<Policy>) {
        let graph = std::mem::take(&mut self.graph);
        *self = Self { graph, ..Self::new(policy, self.settings.clone()) };
    }

    /// The session so far.
    #[must_use]
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The session so far, for records made by hand.
    pub fn graph_mut(&mut self) -> &mut Graph {
        &mut self.graph
    }

    /// Adds one event.
    ///
    /// # Errors
    /// Where the session has to stop before this event.
    pub fn observe(&mut self, event: &Event) -> Result<Observed, Stop> {
        self.graph.extend(event)
    }

    /// Judges a call of the session as of now, with the approval that counts for it. An allowed call counts as running
    /// from then on. A call that cannot be read is denied without asking the policy.
    pub fn judge_call(&mut self, number: CallNumber) -> Decision {
        let Some(call) = self.graph.calls().get(number.0 as usize).cloned() else {
            return Decision::fault("no such call".to_owned());
        };
        if let Some(why) = &call.refused {
            return Decision::fault(why.clone());
        }
        let check = self.check_of(&call);
        let decision = self.decide(&check).into_iter().next();
        let decision = decision.unwrap_or_else(|| Decision::fault("the policy gave no decision".to_owned()));
        if decision.verdict == Verdict::Allow {
            self.graph.start(number);
        }
        decision
    }

    /// Judges a call as a gate was asked about it. Nothing of the session changes.
    pub fn judge_gated(&mut self, call: &GatedCall<'_>) -> Decision {
        let asked = Asked::CallTool { tool: call.tool, arguments: call.arguments };
        let record = call.record.and_then(|record| self.id_of(record));
        let subject = Subject::Tool(call.tool.to_owned());
        let check = Check {
            current: Current::Recorded(call.current),
            actions: vec![Asking { asked, metadata: call.metadata, record }],
            questions: vec![Question { subject, approval: call.approval.clone() }],
            clock: Some(call.clock).filter(|clock| !clock.is_empty()),
        };
        let decision = self.decide(&check).into_iter().next();
        decision.unwrap_or_else(|| Decision::fault("the policy gave no decision".to_owned()))
    }

    /// Judges a request made by hand: one decision for each action.
    pub fn judge(&mut self, request: &Request) -> Vec<Decision> {
        let check = self.check(request);
        self.decide(&check)
    }

    /// The rows of relations as a request sees them.
    ///
    /// # Errors
    /// Where evaluation fails.
    pub fn rows(&mut self, request: &Request, relations: &[RelationId]) -> Result<Vec<Rows>, EvalError> {
        let check = self.check(request);
        self.rows_of(&check, relations)
    }

    /// The rows of relations as the judgement of a call sees them.
    ///
    /// # Errors
    /// Where evaluation fails, or there is no such call.
    pub fn rows_at_call(
        &mut self,
        number: CallNumber,
        relations: &[RelationId],
    ) -> Result<Vec<Rows>, EvalError> {
        let Some(call) = self.graph.calls().get(number.0 as usize).cloned() else {
            return Err(EvalError { what: "no such call".to_owned(), span: None });
        };
        let check = self.check_of(&call);
        self.rows_of(&check, relations)
    }

    fn check_of<'a>(&self, call: &'a ProposedCall) -> Check<'a> {
        let asked = Asked::CallTool { tool: &call.tool, arguments: &call.arguments };
        // A person's answer is the newest thing that the judgement knows.
        let time = call.approval.as_ref().map_or(&call.time, |approval| &approval.time);
        let subject = Subject::Tool(call.tool.clone());
        Check {
            current: Current::Recorded(&call.current),
            actions: vec![Asking { asked, metadata: &[], record: self.id_of(call.record) }],
            questions: vec![Question { subject, approval: call.approval.clone() }],
            clock: Some(time.as_str()).filter(|time| !time.is_empty()),
        }
    }

    fn id_of(&self, record: RecordId) -> Option<String> {
        self.graph.records().get(record.0 as usize).map(|record| record.id.clone())
    }

    fn check<'a>(&self, request: &'a Request) -> Check<'a> {
        let asking = |(action, metadata): &'a (Action, Vec<[String; 3]>)| {
            let call = self.own_call(action, &request.current);
            let record = call.and_then(|call| self.id_of(call.record));
            // A person's answer to the very call counts for it, also where it is asked about by hand.
            let approval = call.and_then(|call| call.approval.clone());
            let question = Question { subject: action.subject(), approval };
            (Asking { asked: action.asked(), metadata, record }, question)
        };
        let (actions, questions) = request.actions.iter().map(asking).unzip();
        let current = Current::Named(&request.current);
        Check { current, actions, questions, clock: request.clock.as_deref() }
    }

    /// The one call of this tool with these arguments among the current records, if there is exactly one.
    fn own_call(&self, action: &Action, current: &[String]) -> Option<&ProposedCall> {
        let Action::CallTool { tool, arguments } = action else { return None };
        let records: Vec<_> = current.iter().filter_map(|id| self.graph.record_of(id)).collect();
        let mut own = self.graph.calls().iter().filter(|call| {
            call.tool == *tool && call.arguments == *arguments && records.contains(&call.record)
        });
        own.next().filter(|_| own.next().is_none())
    }

    fn decide(&mut self, check: &Check<'_>) -> Vec<Decision> {
        let roots = self.policy.roots.relations();
        self.begin();
        self.show(&check.current);
        let fed = self.feed(&roots);
        let moment = self.database.moment();
        let policy = Arc::clone(&self.policy);
        let result = fed.and_then(|()| {
            self.ask(check);
            self.evaluate(&roots)?;
            let mut judged = Judged {
                program: &policy.program,
                engine: &policy.engine,
                roots: &policy.roots,
                database: &mut self.database,
                lineage: self.graph.lineage(),
                budget: self.settings.budget,
            };
            decision::decide(&mut judged, &check.questions)
        });
        self.database.reset(&moment);
        result.unwrap_or_else(|error| {
            let denied = decision::denied_by_error(&policy.program, &error);
            vec![denied; check.questions.len()]
        })
    }

    fn rows_of(&mut self, check: &Check<'_>, relations: &[RelationId]) -> Result<Vec<Rows>, EvalError> {
        let roots = self.policy.roots.relations();
        self.begin();
        self.show(&check.current);
        self.feed(&roots)?;
        let moment = self.database.moment();
        self.ask(check);
        let result = self
            .evaluate(relations)
            .map(|()| relations.iter().map(|&relation| self.read(relation)).collect());
        self.database.reset(&moment);
        result
    }

    /// Turns what is new in the session into facts.
    fn begin(&mut self) {
        facts::project(&self.policy.schema, &self.graph, &mut self.database, &mut self.projected);
    }

    /// Lets `Current` hold the records of the check, unless it does already.
    fn show(&mut self, current: &Current<'_>) {
        let records = match current {
            Current::Recorded(records) => Some(*records),
            Current::Named(_) => None,
        };
        if let (Some(shown), Some(records)) = (&self.shown, records)
            && Arc::ptr_eq(shown, records)
        {
            return;
        }
        let relation = self.policy.schema.current;
        self.database.clear(relation);
        for &record in records.iter().flat_map(|records| records.iter()) {
            if let Some(id) = self.database.names.symbol(record) {
                self.database.insert(relation, &[Word::symbol(id)]);
            }
        }
        self.shown = records.map(Arc::clone);
    }

    fn feed(&mut self, roots: &[RelationId]) -> Result<(), EvalError> {
        let policy = &self.policy;
        let (program, lineage, budget) = (&policy.program, self.graph.lineage(), self.settings.budget);
        policy.engine.feed(program, &mut self.database, lineage, &mut self.progress, roots, budget)
    }

    fn evaluate(&mut self, roots: &[RelationId]) -> Result<(), EvalError> {
        let policy = &self.policy;
        let fed = policy.roots.relations();
        let (program, lineage, budget) = (&policy.program, self.graph.lineage(), self.settings.budget);
        policy.engine.evaluate(program, &mut self.database, lineage, &fed, roots, budget)
    }

    /// Adds the facts of a request.
    fn ask(&mut self, check: &Check<'_>) {
        let policy = Arc::clone(&self.policy);
        let schema = &policy.schema;
        let database = &mut self.database;
        if let Current::Named(ids) = &check.current {
            for id in *ids {
                let tuple = [database.text(id)];
                database.insert(schema.current, &tuple);
            }
        }
        for (index, asking) in (0_u64..).zip(&check.actions) {
            facts::ask(schema, database, index, asking.asked, asking.metadata);
            if let Some(record) = &asking.record {
                let record = database.text(record);
                database.insert(schema.action_record, &[Word::unsigned(index), record]);
            }
        }
        self.caller(schema);
        if let Some(clock) = check.clock {
            let tuple = [self.database.text(clock)];
            self.database.insert(schema.clock, &tuple);
        }
    }

    fn caller(&mut self, schema: &Schema) {
        let (caller, database) = (&self.settings.caller, &mut self.database);
        let one = [
            (schema.principal, &caller.principal),
            (schema.entity, &caller.entity),
            (schema.tenant, &caller.tenant),
        ];
        for (relation, value) in one {
            if let Some(value) = value {
                let tuple = [database.text(value)];
                database.insert(relation, &tuple);
            }
        }
        if let Some(principal) = &caller.principal {
            for role in &caller.roles {
                let tuple = [database.text(principal), database.text(role)];
                database.insert(schema.principal_role, &tuple);
            }
        }
    }

    /// The rows of a relation in the model that is there. Relations that the lineage answers are listed by it.
    fn read(&mut self, relation: RelationId) -> Rows {
        let policy = Arc::clone(&self.policy);
        let program = &policy.program;
        let columns = program.schema(relation).map_or(&[][..], |schema| &schema.columns);
        let tuples = policy.engine.list(program, &mut self.database, self.graph.lineage(), relation);
        let mut rows: Vec<Vec<Datum>> = tuples
            .iter()
            .map(|tuple| {
                let cells = tuple.iter().zip(columns);
                cells
                    .map(|(&word, column)| program.types.datum(word, column.type_id, &self.database.pool))
                    .collect()
            })
            .collect();
        rows.sort_by(|a, b| Datum::order_all(a, b));
        rows.dedup();
        Rows { relation, rows }
    }
}

impl Action {
    fn asked(&self) -> Asked<'_> {
        match self {
            Self::CallTool { tool, arguments } => Asked::CallTool { tool, arguments },
            Self::HttpRequest { url, body, headers } => Asked::HttpRequest { url, body, headers },
            Self::Send { contents, agent, role, entity, principal } => {
                let role = *role;
                Asked::Send(Message { contents, tools_json: "[]", agent, role, entity, principal })
            }
        }
    }

    fn subject(&self) -> Subject {
        match self {
            Self::CallTool { tool, .. } => Subject::Tool(tool.clone()),
            Self::HttpRequest { url, .. } => Subject::Url(url.clone()),
            Self::Send { .. } => Subject::Message,
        }
    }
}
