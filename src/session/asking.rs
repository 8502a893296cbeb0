//! Which call a check is about, and the answers of persons that count for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::decision::{Decision, Verdict};
use crate::explain::{Proof, Subject};
use crate::json::{self, Json};
use crate::lineage::RecordId;
use crate::monitor::{GatedCall, Monitor};
use crate::recording::journal::{Access, Answer, Confirm, Ending, Question, Resource, Word};
use crate::records::live::{Gating, Unseen};
use crate::records::{Approval, ApprovalScope, CallNumber, Graph, UnseenNumber};
use crate::session::ticket::Ticket;
use crate::session::{SHOWN, Session, SessionError, confirmation, parsed};
use crate::value::visible;

/// What a check asks about. An approval counts for nothing else.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Asked {
    /// The recorded call, where it is known.
    call: Option<CallNumber>,
    agent: String,
    call_id: String,
    pub(crate) tool: String,
    /// Keys in any order, numbers by value.
    pub(crate) arguments: String,
}

/// A person's answer that came through the gate.
#[derive(Debug, Clone)]
pub(crate) struct Approved {
    approval: Approval,
}

/// What names a call among those that wait for their answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Name {
    agent: String,
    tool: String,
    /// Its id; for a call without one its arguments.
    id: Result<String, String>,
}

/// Recorded calls that may wait for their answers, by name.
#[derive(Debug, Default)]
pub(crate) struct OpenCalls {
    calls: BTreeMap<Name, Vec<CallNumber>>,
    /// Calls that were let run although no event held them, by name.
    ran: BTreeMap<Name, Ran>,
    /// The calls of events that came after and are taken to be those.
    met: BTreeSet<CallNumber>,
    met_by: BTreeMap<UnseenNumber, CallNumber>,
}

/// Calls of one name that were let run although no event held them.
#[derive(Debug, Default)]
struct Ran {
    /// The one that keeps others from being let run, and whether an event with it may come.
    now: Option<(UnseenNumber, bool)>,
    /// Calls without ids that have ended, and whose events may come.
    over: Vec<UnseenNumber>,
}

impl Ran {
    /// The call that an event of that name is, where it may be one that was let run.
    fn meet(&mut self) -> Option<UnseenNumber> {
        match self.now {
            Some((number, true)) => {
                self.now = None;
                Some(number)
            }
            Some((_, false)) | None => self.over.pop(),
        }
    }
}

impl OpenCalls {
    /// Adds the calls of an event.
    pub(crate) fn add(&mut self, graph: &mut Graph, numbers: &[CallNumber]) {
        for &number in numbers {
            let Some(call) = graph.calls().get(number.0 as usize) else { continue };
            let name = Name::new(&call.agent, &call.tool, &call.call_id, &canonical(&call.arguments));
            if let Some(ran) = self.ran.get_mut(&name).and_then(Ran::meet) {
                self.met.insert(number);
                self.met_by.insert(ran, number);
                graph.start(number);
            }
            self.calls.entry(name).or_default().push(number);
        }
    }

    /// The newest of that name that wait, two at most. Calls that were answered are dropped when they are met, so that all
    /// looks together cost as much as there are calls; a call that a rewind undid may come back, and stays.
    fn waiting(&mut self, graph: &Graph, name: &Name) -> Vec<CallNumber> {
        let Some(calls) = self.calls.get_mut(name) else { return Vec::new() };
        let (mut waiting, mut kept) = (Vec::new(), Vec::new());
        while waiting.len() < 2
            && let Some(number) = calls.pop()
        {
            if graph.is_settled(number) {
                continue;
            }
            kept.push(number);
            if graph.awaits(number) {
                waiting.push(number);
            }
        }
        calls.extend(kept.into_iter().rev());
        waiting
    }

    /// Notes that the call of a question was let run although no event holds it.
    pub(crate) fn let_run(&mut self, considered: &Considered, number: UnseenNumber) {
        let Matched::Unseen { several, .. } = &considered.matched else { return };
        self.ran.entry(Name::of(&considered.asked)).or_default().now = Some((number, !several));
    }

    /// Notes how such a call ended. One that did not run may be let run anew; of calls without ids, which are told apart by
    /// nothing, the next may run when one has ended.
    pub(crate) fn ended(&mut self, graph: &mut Graph, asked: &Asked, number: UnseenNumber, ending: &Ending) {
        let name = Name::of(asked);
        let anew = match ending {
            Ending::NotRun => true,
            Ending::Returned(_) | Ending::Failed => name.id.is_err(),
            Ending::Pending => false,
        };
        if let Some(ran) = self.ran.get_mut(&name)
            && let Some((_, may_come)) = ran.now.filter(|(now, _)| *now == number && anew)
        {
            ran.now = None;
            ran.over.extend(Some(number).filter(|_| may_come && *ending != Ending::NotRun));
        }
        if *ending == Ending::NotRun
            && let Some(call) = self.met_by.remove(&number)
        {
            self.met.remove(&call);
            graph.stop(call);
        }
    }

    /// Whether a call of that name runs, or ran, that no event holds.
    fn runs(&self, name: &Name) -> bool {
        self.ran.get(name).is_some_and(|ran| ran.now.is_some())
    }

    /// The one call of that question, where it waits and was not let run.
    pub(crate) fn denied(&mut self, graph: &Graph, question: &Question) -> Option<CallNumber> {
        let arguments = canonical(&question.arguments);
        let name = Name::new(&question.agent, &question.tool, &question.call_id, &arguments);
        match self.waiting(graph, &name).as_slice() {
            [number] if !graph.was_allowed(*number) && !self.met.contains(number) => Some(*number),
            _ => None,
        }
    }
}

impl Name {
    fn new(agent: &str, tool: &str, id: &str, arguments: &str) -> Self {
        let id = if id.is_empty() { Err(arguments.to_owned()) } else { Ok(id.to_owned()) };
        Self { agent: agent.to_owned(), tool: tool.to_owned(), id }
    }

    fn of(asked: &Asked) -> Self {
        Self::new(&asked.agent, &asked.tool, &asked.call_id, &asked.arguments)
    }
}

/// The call that a check is about.
#[derive(Debug, Clone)]
pub(crate) enum Matched {
    /// It is not judged, for this reason. The recorded call, where it is known and does not run.
    Refused(String, Option<CallNumber>),
    /// A recorded call.
    Recorded { call: CallNumber, record: RecordId, current: Arc<[RecordId]>, as_recorded: bool },
    /// One that no event holds, or several.
    Unseen { current: Arc<[RecordId]>, several: bool },
}

/// A check whose call was looked for.
#[derive(Debug, Clone)]
pub struct Considered {
    ticket: String,
    matched: Matched,
    /// The arguments as ordinary JSON.
    arguments: String,
    asked: Asked,
}

/// Finds the call of a question.
pub(crate) fn matched(open: &mut OpenCalls, graph: &mut Graph, question: &Question, ticket: &str) -> Matched {
    let arguments = match json::parse(&question.arguments) {
        Ok(arguments @ Json::Object(_)) => arguments.canonical(),
        Ok(_) => return Matched::Refused("the arguments of the call are no object".to_owned(), None),
        Err(fault) => {
            return Matched::Refused(format!("the arguments of the call cannot be read: {fault}"), None);
        }
    };
    if question.tool.trim().is_empty() {
        return Matched::Refused("the call names no tool".to_owned(), None);
    }
    let name = Name::new(&question.agent, &question.tool, &question.call_id, &arguments);
    if open.runs(&name) {
        return Matched::Refused(allowed_before(&question.call_id, &question.tool), None);
    }
    let waiting = open.waiting(graph, &name);
    let [number] = waiting.as_slice() else {
        let several = !waiting.is_empty();
        return Matched::Unseen { current: graph.unseen_call(&unseen(question, ticket)), several };
    };
    let Some(call) = graph.calls().get(number.0 as usize).cloned() else {
        return Matched::Refused("no such call".to_owned(), None);
    };
    if let Some(why) = call.refused {
        return Matched::Refused(why.into(), Some(*number));
    }
    if graph.was_allowed(*number) || open.met.contains(number) {
        return Matched::Refused(allowed_before(&call.call_id, &call.tool), None);
    }
    let as_recorded = canonical(&call.arguments) == arguments;
    if !as_recorded {
        let text = format!(
            "the check of call `{}` to `{}` is about other arguments than the recorded ones: the given ones were judged",
            visible(&call.call_id, SHOWN),
            visible(&call.tool, SHOWN)
        );
        graph.warn("checked_otherwise", text);
    }
    Matched::Recorded { call: *number, record: call.record, current: call.current, as_recorded }
}

fn allowed_before(call_id: &str, tool: &str) -> String {
    format!(
        "call `{}` to `{}` was allowed before: a check lets a call run once",
        visible(call_id, SHOWN),
        visible(tool, SHOWN)
    )
}

fn unseen<'a>(question: &'a Question, ticket: &'a str) -> Unseen<'a> {
    Unseen {
        ticket,
        call_id: &question.call_id,
        tool: &question.tool,
        agent: &question.agent,
        invocation: &question.invocation,
        branch: &question.branch,
        time: &question.clock,
    }
}

/// The one text of all arguments equal to these; text that is no JSON as it is.
fn canonical(arguments: &str) -> String {
    json::parse(arguments).map_or_else(|_| arguments.to_owned(), |arguments| arguments.canonical())
}

impl Considered {
    pub(crate) fn new(ticket: String, matched: Matched, question: &Question) -> Self {
        let call = match &matched {
            Matched::Recorded { call, .. } => Some(*call),
            Matched::Refused(_, call) => *call,
            Matched::Unseen { .. } => None,
        };
        let asked = Asked {
            call,
            agent: question.agent.clone(),
            call_id: question.call_id.clone(),
            tool: question.tool.clone(),
            arguments: canonical(&question.arguments),
        };
        let arguments = json::parse(&question.arguments);
        let arguments = arguments.map_or_else(|_| question.arguments.clone(), |given| given.ordinary());
        Self { ticket, matched, arguments, asked }
    }

    /// Names the check.
    #[must_use]
    pub fn ticket(&self) -> &str {
        &self.ticket
    }

    /// The recorded call that the check is about; none where no event holds it, or it is not judged.
    #[must_use]
    pub fn call(&self) -> Option<CallNumber> {
        self.asked.call
    }

    /// The arguments as ordinary JSON.
    #[must_use]
    pub fn arguments(&self) -> &str {
        &self.arguments
    }

    /// Whether looking for the call changed the session: it has a record more.
    #[must_use]
    pub fn is_unseen(&self) -> bool {
        matches!(self.matched, Matched::Unseen { .. })
    }

    pub(crate) fn asked(&self) -> &Asked {
        &self.asked
    }

    pub(crate) fn judge(
        &self,
        monitor: &mut Monitor,
        question: &Question,
        approval: Option<Approval>,
    ) -> Decision {
        match self.call_of(question, approval) {
            Ok(call) => monitor.judge_gated(&call),
            Err(why) => Decision::fault(why.to_owned()),
        }
    }

    /// The call as a policy is asked about it.
    ///
    /// # Errors
    /// Why no policy is asked.
    pub(crate) fn call_of<'a>(
        &'a self,
        question: &'a Question,
        approval: Option<Approval>,
    ) -> Result<GatedCall<'a>, &'a str> {
        let (current, record) = match &self.matched {
            Matched::Refused(why, _) => return Err(why),
            Matched::Recorded { record, current, .. } => (current, Some(*record)),
            Matched::Unseen { current, .. } => (current, None),
        };
        let (tool, arguments, metadata) = (&question.tool, &self.arguments, &question.metadata);
        Ok(GatedCall { current, record, tool, arguments, metadata, approval, clock: &question.clock })
    }

    /// Why no policy is asked about the call; none where one is.
    #[must_use]
    pub fn refusal(&self) -> Option<&str> {
        match &self.matched {
            Matched::Refused(why, _) => Some(why),
            Matched::Recorded { .. } | Matched::Unseen { .. } => None,
        }
    }

    pub(crate) fn explain(
        &self,
        monitor: &mut Monitor,
        question: &Question,
        approval: Option<Approval>,
    ) -> Proof {
        let calls = monitor.graph().calls();
        let call = self.call().and_then(|call| calls.get(call.0 as usize));
        let subject = Subject {
            seq: call.map(|call| call.record.0),
            call_id: question.call_id.clone(),
            agent: question.agent.clone(),
            tool: question.tool.clone(),
            arguments: self.arguments.clone(),
        };
        match self.call_of(question, approval) {
            Ok(call) => monitor.explain_gated(&call, subject),
            Err(why) => Proof::of_fault(subject, Decision::fault(why.to_owned())),
        }
    }

    /// Notes in the session what was answered.
    ///
    /// A call that runs and is in no event has a number, to tell how it ended.
    pub(crate) fn note(
        &self,
        graph: &mut Graph,
        question: &Question,
        answer: &Answer,
    ) -> Option<UnseenNumber> {
        let gating = match answer.verdict {
            Word::Allow => Gating::Allowed,
            Word::Ask => Gating::Asked,
            Word::Deny => Gating::Refused,
        };
        match &self.matched {
            Matched::Refused(_, None) => None,
            Matched::Refused(_, Some(call)) | Matched::Recorded { call, .. } => {
                graph.note_check(*call, &answer.ticket, gating, &self.arguments);
                None
            }
            Matched::Unseen { current, .. } => match (gating, current.first()) {
                (Gating::Allowed, Some(&record)) => {
                    graph.start_unseen(record, &unseen(question, &answer.ticket), &self.arguments)
                }
                (Gating::Allowed | Gating::Asked | Gating::Refused, _) => None,
            },
        }
    }
}

impl Session {
    /// The answer of a person that counts for the call: one that came through the gate, else one of the session.
    pub(crate) fn approval(&self, monitor: &Monitor, considered: &Considered) -> Option<Approval> {
        if let Some(approved) = self.approved.get(&considered.asked) {
            return Some(approved.approval.clone());
        }
        let Matched::Recorded { call, as_recorded: true, .. } = &considered.matched else { return None };
        let mut approval = monitor.graph().calls().get(call.0 as usize)?.approval.as_deref()?.clone();
        // Who answered in the session is not known.
        if approval.confirmed {
            approval.scope = ApprovalScope::Rules(within(&approval.scope, Self::self_rules(monitor)));
        }
        Some(approval)
    }

    pub(crate) fn confirm(&mut self, monitor: &mut Monitor, confirm: &Confirm) -> Result<(), SessionError> {
        let own = confirm.principal.is_none() || confirm.principal == self.principal;
        let ticket = self.tickets.open(&confirm.ticket)?;
        if ticket.confirmed {
            return Err(SessionError::Answered { ticket: confirm.ticket.clone() });
        }
        if ticket.verdict != Word::Ask {
            let verdict = ticket.verdict.name();
            return Err(SessionError::NotAsked { ticket: confirm.ticket.clone(), verdict });
        }
        ticket.confirmed = true;
        let shown = ApprovalScope::Rules(ticket.rules.clone());
        let scope = match &shown {
            ApprovalScope::Rules(rules) if !own => ApprovalScope::Rules(rules.clone()),
            ApprovalScope::Rules(_) | ApprovalScope::All => {
                ApprovalScope::Rules(within(&shown, Self::self_rules(monitor)))
            }
        };
        let (time, principal) = (confirm.clock.clone(), confirm.principal.clone());
        let approval = Approval { confirmed: confirm.yes, scope, time, record: None, principal };
        let call = ticket.call;
        self.approved.insert(ticket.asked.clone(), Approved { approval });
        let row =
            call.and_then(|call| confirmation(monitor, call, confirm.yes, confirm.principal.as_deref()));
        if let Some(row) = row {
            monitor.graph_mut().note(row);
        }
        Ok(())
    }

    /// Lets a running call read a value, and judges the call by what the session is then. Where the verdict is no allow the
    /// read must not have been: the session is to be read again from its journal.
    ///
    /// # Errors
    /// Where the ticket is not known or was used, the value is not JSON, or no event holds the call, whose read could not be
    /// told of. Nothing changes then.
    pub fn weigh(&mut self, monitor: &mut Monitor, access: &Access) -> Result<Verdict, SessionError> {
        let ticket = self.tickets.open(&access.ticket)?;
        if ticket.unseen.is_some() {
            return Err(SessionError::UnseenRead { ticket: access.ticket.clone() });
        }
        let Some((call, read, value)) = reading(monitor, ticket, access)? else { return Ok(Verdict::Allow) };
        monitor.graph_mut().note_read(call, &access.resource, value.as_ref(), read);
        let Some(known) = monitor.graph().calls().get(call.0 as usize) else { return Ok(Verdict::Deny) };
        let current = Arc::clone(&known.current);
        let (record, arguments, approval) = (known.record, known.arguments.clone(), ticket.approval.clone());
        let decision = monitor.judge_gated(&GatedCall {
            current: &current,
            record: Some(record),
            tool: &ticket.question.tool,
            arguments: &arguments,
            metadata: &ticket.question.metadata,
            approval,
            clock: &ticket.question.clock,
        });
        Ok(decision.verdict)
    }

    /// A running call reads a value: its answer depends on that. What was refused is not read.
    pub(crate) fn read(&mut self, monitor: &mut Monitor, access: &Access) -> Result<(), SessionError> {
        let ticket = self.tickets.open(&access.ticket)?;
        if access.refused {
            return Ok(());
        }
        if let Some((call, read, value)) = reading(monitor, ticket, access)? {
            monitor.graph_mut().note_read(call, &access.resource, value.as_ref(), read);
        }
        Ok(())
    }

    /// A running call writes a value: what reads it later depends on the call.
    pub(crate) fn write(&mut self, monitor: &mut Monitor, access: &Access) -> Result<(), SessionError> {
        let ticket = self.tickets.open(&access.ticket)?;
        let value = value_of(&access.resource)?;
        let Some(call) = ticket.call.filter(|_| ticket.verdict == Word::Allow) else { return Ok(()) };
        let invocation = &ticket.question.invocation;
        monitor.graph_mut().note_write(call, &access.resource, value.as_ref(), invocation);
        Ok(())
    }
}

/// The call of a ticket that runs, the record of what it reads, and the value.
fn reading(
    monitor: &mut Monitor,
    ticket: &Ticket,
    access: &Access,
) -> Result<Option<(CallNumber, RecordId, Option<Json>)>, SessionError> {
    let value = value_of(&access.resource)?;
    let Some(call) = ticket.call.filter(|_| ticket.verdict == Word::Allow) else { return Ok(None) };
    let invocation = &ticket.question.invocation;
    let read = monitor.graph_mut().read_record(call, &access.resource, value.as_ref(), invocation);
    Ok(read.map(|read| (call, read, value)))
}

fn value_of(resource: &Resource) -> Result<Option<Json>, SessionError> {
    match resource {
        Resource::State { value: Some(value), .. } => parsed("a value of state", value).map(Some),
        Resource::State { value: None, .. } | Resource::Artifact { .. } => Ok(None),
    }
}

/// Those of the rules that the scope covers.
fn within(scope: &ApprovalScope, rules: Vec<String>) -> Vec<String> {
    match scope {
        ApprovalScope::All => rules,
        ApprovalScope::Rules(shown) => rules.into_iter().filter(|rule| shown.contains(rule)).collect(),
    }
}
