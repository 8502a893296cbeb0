//! The reference monitor: one session, call after call.
//!
//! In: a program, events, calls. Out: decisions. Replay feeds it a file, a scenario its records, a gate a live session;
//! nothing else decides. Never: waits, sleeps, logs, or reads a clock.

mod judging;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::decision::{Decision, Question, Roots, Subject, Verdict};
use crate::engine::{Agendas, Budget, Costs, Engine, EvalError, Hosted, StopFlag};
use crate::explain::{self, Proof};
use crate::facts::{Asked, Message, Schema};
use crate::lineage::RecordId;
use crate::monitor::judging::{Asking, Check, Current, Judging, Model};
use crate::program::types::Datum;
use crate::program::{Program, RelationId};
use crate::recording::{Event, Parts, Stop};
use crate::records::agents::Agents;
use crate::records::{Approval, CallNumber, Graph, Observed, ProposedCall, Role};

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
    /// Ends every check, once raised; none where nobody waits for an answer.
    pub stop: Option<StopFlag>,
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
    agendas: Agendas,
    /// Whether a decision reads a relation, by relation.
    needed: Vec<bool>,
    reads_clock: bool,
    reads_action_record: bool,
}

impl Policy {
    /// Plans the rules of a checked program.
    #[must_use]
    pub fn new(program: Program) -> Self {
        let schema = Schema::of(&program);
        let hosted = Hosted {
            growing: &schema.session_facts(),
            // Who asks stays the same.
            fixed: &[schema.principal, schema.principal_role, schema.entity, schema.tenant],
            changing: &[schema.tool_outcome],
        };
        let engine = Engine::new(&program, &hosted);
        let roots = Roots::of(&program);
        let agendas = Agendas::new(&engine, &program, &roots.relations());
        let read = |wanted| program.reads.iter().any(|list| list.contains(&wanted));
        let (reads_clock, reads_action_record) = (read(schema.clock), read(schema.action_record));
        let mut decides = roots.relations();
        decides.extend(program.decision_rules.iter().map(|rule| rule.fired));
        let needed = program.needed(&decides);
        Self { program, engine, schema, roots, agendas, needed, reads_clock, reads_action_record }
    }

    /// The same policy with counters in its rules: what checks under it look at is read from the [`Costs`]. It decides alike,
    /// and counting makes it somewhat slower; a policy without counters does not pay for them.
    #[must_use]
    pub fn counted(&self) -> (Self, Costs) {
        let (engine, costs) = self.engine.counted();
        let Self { program, schema, roots, needed, .. } = self;
        let agendas = Agendas::new(&engine, program, &roots.relations());
        let policy = Self {
            program: program.clone(),
            engine,
            schema: schema.clone(),
            roots: roots.clone(),
            agendas,
            needed: needed.clone(),
            reads_clock: self.reads_clock,
            reads_action_record: self.reads_action_record,
        };
        (policy, costs)
    }

    /// The checked program.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.program
    }
}

/// A policy that is decided beside that of a [`Monitor`], on the session of that monitor.
#[derive(Debug)]
pub struct Beside {
    policy: Arc<Policy>,
    settings: Settings,
    model: Model,
}

/// One session under one policy.
#[derive(Debug)]
pub struct Monitor {
    policy: Arc<Policy>,
    settings: Settings,
    graph: Graph,
    model: Model,
}

impl Monitor {
    /// A session without records.
    #[must_use]
    pub fn new(policy: Arc<Policy>, settings: Settings) -> Self {
        let model = Model::new(&policy, &settings);
        let mut graph = Graph::default();
        graph.set_parts(settings.parts);
        graph.set_agents(Arc::clone(&settings.agents));
        Self { policy, settings, graph, model }
    }

    /// The policy.
    #[must_use]
    pub fn program(&self) -> &Program {
        &self.policy.program
    }

    /// Begins again without records, with other settings. Whoever may stop its work still may.
    pub fn restart(&mut self, settings: Settings) {
        let stop = settings.stop.or_else(|| self.settings.stop.clone());
        *self = Self::new(Arc::clone(&self.policy), Settings { stop, ..settings });
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
        let decision = self.weigh_call(number);
        if decision.verdict == Verdict::Allow {
            self.graph.start(number);
        }
        decision
    }

    /// The same for a call that does not run for it. Nothing of the session changes.
    pub fn weigh_call(&mut self, number: CallNumber) -> Decision {
        let (call, mut judging) = self.split(number);
        let Some(call) = call else { return Decision::fault("no such call".to_owned()) };
        if let Some(why) = &call.refused {
            return Decision::fault(why.to_string());
        }
        let decision = judging.decide(&check_of(call)).into_iter().next();
        decision.unwrap_or_else(|| Decision::fault("the policy gave no decision".to_owned()))
    }

    /// Judges a call as a gate was asked about it. Nothing of the session changes.
    pub fn judge_gated(&mut self, call: &GatedCall<'_>) -> Decision {
        gated(&mut self.judging(), call)
    }

    /// The same under a policy that is decided beside the monitor's own.
    pub fn judge_beside(&self, beside: &mut Beside, call: &GatedCall<'_>) -> Decision {
        let Beside { policy, settings, model } = beside;
        gated(&mut Judging { policy, settings, graph: &self.graph, model }, call)
    }

    /// A policy to be decided beside the monitor's own, with `PolicyMetadata` rows of its own and all else as here.
    #[must_use]
    pub fn beside(&self, policy: Arc<Policy>, metadata: Vec<[String; 3]>) -> Beside {
        let settings = Settings { metadata, ..self.settings.clone() };
        let model = Model::new(&policy, &settings);
        Beside { policy, settings, model }
    }

    /// Lets other `PolicyMetadata` rows hold from here on.
    pub fn set_metadata(&mut self, metadata: &[[String; 3]]) {
        if self.settings.metadata != metadata {
            self.settings.metadata = metadata.to_vec();
            self.model = Model::new(&self.policy, &self.settings);
        }
    }

    /// Judges a request made by hand: one decision for each action.
    pub fn judge(&mut self, request: &Request) -> Vec<Decision> {
        let mut judging = self.judging();
        judging.decide(&check(judging.graph, request))
    }

    /// The rows of relations as a request sees them.
    ///
    /// # Errors
    /// Where evaluation fails.
    pub fn rows(&mut self, request: &Request, relations: &[RelationId]) -> Result<Vec<Rows>, EvalError> {
        let mut judging = self.judging();
        judging.rows(&check(judging.graph, request), relations)
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
        let (call, mut judging) = self.split(number);
        let Some(call) = call else {
            return Err(EvalError { what: "no such call".to_owned(), span: None });
        };
        judging.rows(&check_of(call), relations)
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
        let (call, mut judging) = self.split(number);
        let Some(call) = call else {
            let decision = Decision::fault("no such call".to_owned());
            return Proof::of_fault(explain::Subject::default(), decision);
        };
        let subject = explain::Subject {
            seq: Some(call.record.0),
            call_id: call.call_id.to_string(),
            agent: call.agent.to_string(),
            tool: call.tool.to_string(),
            arguments: call.arguments.to_string(),
        };
        if let Some(why) = &call.refused {
            return Proof::of_fault(subject, Decision::fault(why.to_string()));
        }
        judging.explain(&check_of(call), &call.current, subject)
    }

    /// Why a call that a gate was asked about is decided as it is, as of now. Nothing of the session changes.
    pub fn explain_gated(&mut self, call: &GatedCall<'_>, subject: explain::Subject) -> Proof {
        self.judging().explain(&check_of_gated(call), call.current, subject)
    }

    fn judging(&mut self) -> Judging<'_> {
        let Self { policy, settings, graph, model } = self;
        Judging { policy, settings, graph, model }
    }

    fn split(&mut self, number: CallNumber) -> (Option<&ProposedCall>, Judging<'_>) {
        let judging = self.judging();
        (judging.graph.calls().get(number.0 as usize), judging)
    }
}

fn gated(judging: &mut Judging<'_>, call: &GatedCall<'_>) -> Decision {
    let decision = judging.decide(&check_of_gated(call)).into_iter().next();
    decision.unwrap_or_else(|| Decision::fault("the policy gave no decision".to_owned()))
}

fn check_of_gated<'a>(call: &'a GatedCall<'_>) -> Check<'a> {
    Check {
        current: Current::Recorded(call.current),
        asking: vec![Asking {
            asked: Asked::CallTool { tool: call.tool, arguments: call.arguments },
            metadata: call.metadata,
            record: call.record,
        }],
        questions: vec![Question { subject: Subject::Tool(call.tool), approval: call.approval.as_ref() }],
        clock: Some(call.clock).filter(|clock| !clock.is_empty()),
    }
}

fn check_of(call: &ProposedCall) -> Check<'_> {
    // A person's answer is the newest thing that the judgement knows.
    let time = call.approval.as_deref().map_or(call.time.as_str(), |approval| approval.time.as_str());
    let subject = Subject::Tool(&call.tool);
    Check {
        current: Current::Recorded(&call.current),
        asking: vec![Asking {
            asked: Asked::CallTool { tool: &call.tool, arguments: &call.arguments },
            metadata: &[],
            record: Some(call.record),
        }],
        questions: vec![Question { subject, approval: call.approval.as_deref() }],
        clock: Some(time).filter(|time| !time.is_empty()),
    }
}

fn check<'a>(graph: &'a Graph, request: &'a Request) -> Check<'a> {
    let asking = |(action, metadata): &'a (Action, Vec<[String; 3]>)| {
        let call = own_call(graph, action, &request.current);
        let record = call.map(|call| call.record);
        // A person's answer to the very call counts for it, also where it is asked about by hand.
        let approval = call.and_then(|call| call.approval.as_deref());
        let question = Question { subject: action.subject(), approval };
        (Asking { asked: action.asked(), metadata, record }, question)
    };
    let (asking, questions) = request.actions.iter().map(asking).unzip();
    let current = Current::Named(&request.current);
    Check { current, asking, questions, clock: request.clock.as_deref() }
}

/// The one call of this tool with these arguments among the current records, if there is exactly one.
fn own_call<'a>(graph: &'a Graph, action: &Action, current: &[String]) -> Option<&'a ProposedCall> {
    let Action::CallTool { tool, arguments } = action else { return None };
    let records: BTreeSet<RecordId> = current.iter().filter_map(|id| graph.record_of(id)).collect();
    // Calls stand in the order of their records.
    let calls = graph.calls();
    let of = |record: RecordId| {
        let first = calls.partition_point(|call| call.record < record);
        calls.from(first).take_while(move |call| call.record == record)
    };
    let mut own =
        records.into_iter().flat_map(of).filter(|call| call.tool == *tool && call.arguments == *arguments);
    own.next().filter(|_| own.next().is_none())
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

    fn subject(&self) -> Subject<'_> {
        match self {
            Self::CallTool { tool, .. } => Subject::Tool(tool),
            Self::HttpRequest { url, .. } => Subject::Url(url),
            Self::Send { .. } => Subject::Message,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::program::{NoIncludes, check};
    use crate::records::Given;

    fn session(text: &str) -> Monitor {
        let program = check(&[("test.dl".to_owned(), text.to_owned())], &mut NoIncludes).unwrap();
        let caller = Caller { principal: Some("p".to_owned()), ..Caller::default() };
        Monitor::new(Arc::new(Policy::new(program)), Settings { caller, ..Settings::default() })
    }

    fn add(monitor: &mut Monitor, id: &str, result_of: Option<&str>, inputs: &[&str]) {
        let mut given = Given::new(id, Role::Agent, "text");
        given.result_of = result_of.map(|tool| (tool.to_owned(), "{}".to_owned()));
        given.inputs = inputs.iter().map(|&input| input.to_owned()).collect();
        monitor.graph_mut().add(given).unwrap();
    }

    fn ask(monitor: &mut Monitor, tool: &str, arguments: &str, current: &str) -> Decision {
        let action = Action::CallTool { tool: tool.to_owned(), arguments: arguments.to_owned() };
        let request =
            Request { current: vec![current.to_owned()], actions: vec![(action, Vec::new())], clock: None };
        monitor.judge(&request).remove(0)
    }

    #[test]
    fn an_error_is_met_whatever_tool_is_asked_for() {
        let mut monitor = session(
            ".decl Limit(n: number)\nLimit(n) :- Current(id), n = to_number(id).\n\
             IsAuthorized(i) :- Actions(i, a), IsTool(a, \"go\").\n\
             Unauthorized(i) :- Actions(i, $CallTool(\"stay\", _)), Limit(n), n > 1.\n",
        );
        assert_eq!(ask(&mut monitor, "go", "{}", "7").verdict, Verdict::Allow);
        let denied = ask(&mut monitor, "go", "{}", "x");
        assert_eq!(denied.verdict, Verdict::Deny);
        assert!(denied.reasons[0].text.contains("could not be evaluated"), "{denied:?}");
        assert_eq!(ask(&mut monitor, "stay", "{}", "7").verdict, Verdict::Deny);
        assert_eq!(ask(&mut monitor, "other", "{}", "7").verdict, Verdict::Deny);
    }

    #[test]
    fn what_is_held_follows_the_session() {
        let mut monitor = session(
            ".decl Open(id: symbol)\nOpen(id) :- ToolResult(id, \"ask\", _), !Closed().\n\
             .decl Closed()\nClosed() :- ToolResult(_, \"close\", _).\n\
             .decl Many()\nMany() :- n = count : { ToolResult(_, \"ask\", _) }, n > 1.\n\
             IsAuthorized(i) :- Actions(i, $CallTool(\"go\", _)), Open(_), !Many().\n\
             IsAuthorized(i) :- Actions(i, $CallTool(\"stop\", _)), Many().\n",
        );
        add(&mut monitor, "u", None, &[]);
        assert_eq!(ask(&mut monitor, "go", "{}", "u").verdict, Verdict::Deny);
        add(&mut monitor, "a", Some("ask"), &["u"]);
        assert_eq!(ask(&mut monitor, "go", "{}", "a").verdict, Verdict::Allow);
        add(&mut monitor, "b", Some("ask"), &["u"]);
        assert_eq!(ask(&mut monitor, "go", "{}", "a").verdict, Verdict::Deny);
        assert_eq!(ask(&mut monitor, "stop", "{}", "a").verdict, Verdict::Allow);
        add(&mut monitor, "c", Some("close"), &["u"]);
        assert_eq!(ask(&mut monitor, "go", "{}", "a").verdict, Verdict::Deny);
    }

    #[test]
    fn results_beside_the_ancestors_count_for_nothing() {
        let mut monitor = session(
            "IsAuthorized(i) :- Actions(i, _).\n\
             Unauthorized(i) :- Actions(i, _), CurrentDepends(id), ToolResult(id, \"secret\", _).\n",
        );
        add(&mut monitor, "u", None, &[]);
        for number in 0..300 {
            // Every tenth stands on one way, the others beside it.
            let inputs =
                if number % 10 == 0 && number > 0 { format!("r{}", number - 10) } else { "u".to_owned() };
            add(&mut monitor, &format!("r{number}"), (number % 10 != 0).then_some("secret"), &[&inputs]);
        }
        add(&mut monitor, "clean", None, &["r290"]);
        add(&mut monitor, "tainted", None, &["r290", "r7"]);
        add(&mut monitor, "late", None, &["tainted"]);
        for (current, verdict) in [
            ("clean", Verdict::Allow),
            ("tainted", Verdict::Deny),
            ("late", Verdict::Deny),
            ("r7", Verdict::Allow),
        ] {
            assert_eq!(ask(&mut monitor, "go", "{}", current).verdict, verdict, "{current}");
        }
    }

    #[test]
    fn a_request_leaves_nothing_behind() {
        let mut monitor = session(
            "IsAuthorized(i) :- Actions(i, $CallTool(\"go\", args)), @json_str(args, \"to\") = \"x\".\n",
        );
        for (arguments, verdict) in [
            (r#"{"to":"x"}"#, Verdict::Allow),
            (r#"{"to":"y"}"#, Verdict::Deny),
            (r#"{"to":"x"}"#, Verdict::Allow),
        ] {
            assert_eq!(ask(&mut monitor, "go", arguments, "u").verdict, verdict);
            let id = format!("m{}", monitor.graph().records().len());
            add(&mut monitor, &id, Some(arguments), &[]);
        }
    }
}
