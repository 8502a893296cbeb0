//! The reference monitor: one session, call after call.
//!
//! In: a program, events, calls. Out: decisions. Replay feeds it a file, a scenario its records, a gate a live session;
//! nothing else decides. Never: waits, sleeps, logs, or reads a clock.

use std::sync::Arc;

use crate::decision::{self, Decision, Judged, Question, ReasonKind, Roots, Subject, Verdict};
use crate::engine::{Budget, Costs, Database, Engine, EvalError, Progress, Prover};
use crate::explain::{self, Proof};
use crate::facts::{self, Asked, Message, Projected, Schema};
use crate::lineage::RecordId;
use crate::program::types::Datum;
use crate::program::{DecisionKind, Program, RelationId};
use crate::recording::{Event, Parts, Stop};
use crate::records::agents::Agents;
use crate::records::{CallNumber, Graph, Observed, ProposedCall, Role};
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
    /// Whether a decision reads a relation, by relation.
    needed: Vec<bool>,
}

impl Policy {
    /// Plans the rules of a checked program.
    #[must_use]
    pub fn new(program: Program) -> Self {
        let schema = Schema::of(&program);
        let engine = Engine::new(&program, &schema.session_facts());
        let roots = Roots::of(&program);
        let mut read = roots.relations();
        read.extend(program.decision_rules.iter().map(|rule| rule.fired));
        let needed = program.needed(&read);
        Self { program, engine, schema, roots, needed }
    }

    /// The same policy with counters in its rules: what checks under it look at is read from the [`Costs`]. It decides alike,
    /// and counting makes it somewhat slower; a policy without counters does not pay for them.
    #[must_use]
    pub fn counted(&self) -> (Self, Costs) {
        let (engine, costs) = self.engine.counted();
        let (program, schema, roots) = (self.program.clone(), self.schema.clone(), self.roots.clone());
        (Self { program, engine, schema, roots, needed: self.needed.clone() }, costs)
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

    /// Why a call is decided as it is, as of now: see [`Proof`]. Nothing is kept for it while calls are judged, so it costs a
    /// judgement of the call and what the proof's own steps cost. The session stays as it is. A call that is judged already
    /// may count as running, and rules that read that see it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use gatelog::monitor::{Monitor, Policy, Settings};
    /// use gatelog::program::{NoIncludes, check};
    /// use gatelog::records::CallNumber;
    ///
    /// let text = "IsAuthorized(i) :- Actions(i, a), IsTool(a, \"read\").".to_owned();
    /// let program = check(&[("read.dl".to_owned(), text)], &mut NoIncludes).unwrap();
    /// let mut monitor = Monitor::new(Arc::new(Policy::new(program)), Settings::default());
    /// assert!(monitor.explain(CallNumber(0)).fault.contains("no such call"));
    /// ```
    pub fn explain(&mut self, number: CallNumber) -> Proof {
        let Some(call) = self.graph.calls().get(number.0 as usize).cloned() else {
            let decision = Decision::fault("no such call".to_owned());
            return Proof::of_fault(explain::Subject::default(), decision);
        };
        let subject = explain::Subject {
            seq: call.record.0,
            call_id: call.call_id.clone(),
            agent: call.agent.clone(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
        };
        if let Some(why) = &call.refused {
            return Proof::of_fault(subject, Decision::fault(why.clone()));
        }
        let check = self.check_of(&call);
        let (roots, policy) = (self.policy.roots.relations(), Arc::clone(&self.policy));
        self.begin();
        // A proof names the tool of each answer, whatever the policy reads.
        let named = self.program().needed(&[policy.schema.tool_output]);
        self.project(&named);
        self.show(&check.current);
        let fed = self.feed(&roots);
        let moment = self.database.moment();
        let result = fed.and_then(|()| {
            self.ask(&check);
            self.prove(&check, &call.current, subject.clone())
        });
        self.database.reset(&moment);
        result.unwrap_or_else(|error| {
            Proof::of_fault(subject, decision::denied_by_error(&policy.program, &error))
        })
    }

    /// Judges a check of one action, and explains it from the model.
    fn prove(
        &mut self,
        check: &Check<'_>,
        current: &[RecordId],
        subject: explain::Subject,
    ) -> Result<Proof, EvalError> {
        let policy = Arc::clone(&self.policy);
        let (program, budget) = (&policy.program, self.settings.budget);
        let roots = policy.roots.relations();
        // What is read in a proof has to be complete.
        let needed = (0..).map(RelationId).zip(program.needed(&roots)).filter(|(_, needed)| *needed);
        let all: Vec<RelationId> = needed.map(|(relation, _)| relation).collect();
        self.evaluate(&all)?;
        let lineage = self.graph.lineage();
        let mut judged = Judged {
            program,
            engine: &policy.engine,
            roots: &policy.roots,
            database: &mut self.database,
            lineage,
            budget,
        };
        let decision = decision::decide(&mut judged, &check.questions)?.into_iter().next();
        let decision = decision.unwrap_or_else(|| Decision::fault("the policy gave no decision".to_owned()));
        let not_allowed = decision.reasons.iter().any(|reason| reason.kind == ReasonKind::NotAllowed);
        let allows = program.decision_rules.iter().enumerate();
        let allows = allows.filter(|(_, rule)| not_allowed && rule.kind == DecisionKind::Allow);
        let mut concerned: Vec<usize> = allows.map(|(number, _)| number).collect();
        if let Some(question) = check.questions.first() {
            let nearer = decision::concerning(program, question, &mut self.database.cache);
            if !nearer.is_empty() && not_allowed {
                concerned = nearer;
            }
        }
        let graph = &self.graph;
        let asked = explain::Asked { program, schema: &policy.schema, graph, current, index: 0 };
        let prover = Prover::new(&policy.engine, program, &mut self.database, lineage, budget);
        Ok(explain::explain(&asked, prover, subject, decision, &concerned))
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
        self.graph.records().get(record.0 as usize).map(|record| record.id.to_string())
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
        let needed = self.program().needed(relations);
        self.project(&needed);
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

    /// Turns what is new in the session into facts, of the relations that decisions read.
    fn begin(&mut self) {
        let policy = Arc::clone(&self.policy);
        self.project(&policy.needed);
    }

    fn project(&mut self, needed: &[bool]) {
        let schema = &self.policy.schema;
        facts::project(schema, &self.graph, &mut self.database, &mut self.projected, needed);
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
