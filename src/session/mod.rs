//! A session that a gate watches: the entries of its journal, one after another.
//!
//! In: events, and what a gate was told and asked, live or from a journal. Out: decisions, and what each entry changes for
//! those that follow. Never: judges two entries out of order, believes a ticket twice, reads a clock, or writes anything.

mod asking;
mod ticket;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decision::{Decision, Verdict};
use crate::engine::Budget;
use crate::explain::Proof;
use crate::json::{self, Json};
use crate::monitor::{Beside, Caller, Monitor, Policy, Settings};
use crate::recording::journal::{
    Answer, Ending, Entry, Finish, Ids, Mode, ModelRequest, Opening, Question, Resource, Unsent, Word,
};
use crate::recording::{Event, Parts, Stop};
use crate::records::agents::Agents;
use crate::records::{CallNumber, SessionFact, live};
use crate::session::asking::{Approved, Asked, Matched, OpenCalls};
use crate::session::ticket::{Ticket, Tickets};
use crate::value::visible;

pub use crate::session::asking::Considered;

/// Characters of a name that a message shows.
const SHOWN: usize = 80;

/// Why an entry cannot be taken in. Nothing of the session changes then.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum SessionError {
    #[error(
        "no check of this session has the ticket `{ticket}`: give back the one that the check answered with"
    )]
    UnknownTicket { ticket: String },
    #[error("the ticket `{ticket}` was used: a check is finished once")]
    UsedTicket { ticket: String },
    #[error(
        "the check `{ticket}` asked nobody, its verdict is {verdict}: only a check with the verdict ask is confirmed"
    )]
    NotAsked { ticket: String, verdict: &'static str },
    #[error("a person has answered the check `{ticket}` before: check the call again, and answer that check")]
    Answered { ticket: String },
    #[error("what is given as {what} is not JSON: {why}")]
    NotJson { what: &'static str, why: String },
    #[error("the agents file that the session was opened with cannot be read: {why}")]
    Agents { why: String },
    #[error("an opening is the first entry of a session, and this one is open")]
    OpenedTwice,
    #[error("an event is taken in by itself")]
    Event,
    #[error("a request to a model is put together before it is taken in")]
    InParts,
    #[error(
        "no event holds the call of the check `{ticket}`, so that its reads cannot be judged: append the event with the call, \
         and check it then"
    )]
    UnseenRead { ticket: String },
    #[error(
        "the read of {resource} would turn the verdict on this call into {verdict}: the call must not get that value"
    )]
    Refused { resource: String, verdict: &'static str },
}

impl SessionError {
    /// A read with which a call has that verdict. Its value is not told.
    #[must_use]
    pub fn refused(resource: &Resource, verdict: Verdict) -> Self {
        let resource = match resource {
            Resource::State { key, .. } => format!("the state `{}`", visible(key, SHOWN)),
            Resource::Artifact { name, version } => {
                format!("version {version} of the file `{}`", visible(name, SHOWN))
            }
        };
        Self::Refused { resource, verdict: verdict.name() }
    }
}

/// A session, beside the [`Monitor`] that holds its records.
///
/// Live and in replay every entry goes through the methods here, each of which is given the monitor of the session.
#[derive(Debug)]
pub struct Session {
    mode: Mode,
    principal: Option<String>,
    ids: Ids,
    /// What each agent's model was asked last, and in which invocation.
    requests: BTreeMap<String, (String, Json)>,
    open: OpenCalls,
    tickets: Tickets,
    /// Answers of persons that no allow has used, by what was asked.
    approved: BTreeMap<Asked, Approved>,
    /// Why no call is let run any more: an event that cannot be read.
    stopped: Option<Stop>,
    /// The same until the host clears it: something ran otherwise than it was checked.
    violated: Option<String>,
}

/// What an opening says of every check.
///
/// # Errors
/// Where its agents file cannot be read.
pub fn settings(opening: &Opening) -> Result<Settings, SessionError> {
    let agents = match opening.agents.as_str() {
        "" => Agents::default(),
        text => Agents::parse(text).map_err(|faults| {
            let why: Vec<_> = faults.iter().map(ToString::to_string).collect();
            SessionError::Agents { why: why.join("; ") }
        })?,
    };
    Ok(Settings {
        caller: Caller {
            principal: opening.principal.clone(),
            roles: opening.roles.clone(),
            entity: opening.entity.clone(),
            tenant: Some(opening.key.tenant.clone()),
        },
        metadata: opening.metadata.clone(),
        budget: Budget { tuples: opening.tuples, bytes: opening.bytes, steps: opening.steps },
        parts: if opening.full_parts { Parts::Full } else { Parts::Supported },
        agents: Arc::new(agents),
        stop: None,
    })
}

impl Session {
    /// Opens a session: the monitor begins again, as the opening says.
    ///
    /// # Errors
    /// Where the agents file of the opening cannot be read.
    pub fn open(monitor: &mut Monitor, opening: &Opening) -> Result<Self, SessionError> {
        monitor.restart(settings(opening)?);
        Ok(Self::begin(monitor, opening))
    }

    /// Opens a session on a monitor without records, whose settings are there already.
    pub fn begin(monitor: &mut Monitor, opening: &Opening) -> Self {
        let key = &opening.key;
        let graph = monitor.graph_mut();
        graph.set_session(&key.app, &key.user, &key.session);
        graph.set_gated();
        Self {
            mode: opening.mode,
            principal: opening.principal.clone(),
            ids: Ids::default(),
            requests: BTreeMap::new(),
            open: OpenCalls::default(),
            tickets: Tickets::new(&opening.secret),
            approved: BTreeMap::new(),
            stopped: None,
            violated: None,
        }
    }

    /// What the gate does with its verdicts.
    #[must_use]
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// Why all later checks are denied: an event that cannot be read or recorded.
    #[must_use]
    pub fn stopped(&self) -> Option<&Stop> {
        self.stopped.as_ref()
    }

    /// The events so far: how many, and the digest of their ids. A check that builds on other ones is denied.
    #[must_use]
    pub fn history(&self) -> (u64, String) {
        (self.ids.count(), self.ids.digest())
    }

    /// An event of the runner's session. One that the session stops at denies all later checks.
    pub fn append(&mut self, monitor: &mut Monitor, event: &Event) {
        self.ids.add(&event.id);
        let asked = self.requests.get(&event.author).filter(|_| event.model_request.is_none());
        let request = asked.filter(|(invocation, _)| *invocation == event.invocation_id);
        let observed = match request {
            Some((_, request)) => {
                let event = Event { model_request: Some(request.clone()), ..event.clone() };
                monitor.observe(&event)
            }
            None => monitor.observe(event),
        };
        match observed {
            Ok(observed) => self.open.add(monitor.graph_mut(), &observed.calls),
            Err(stop) => self.stop(&stop),
        }
    }

    /// An event that cannot be read: all later checks are denied.
    pub fn stop(&mut self, stop: &Stop) {
        self.stopped.get_or_insert_with(|| stop.clone());
    }

    /// Takes in an entry that is neither an opening nor an event nor a check.
    ///
    /// # Errors
    /// Where it does not fit: a ticket that is not known or was used, text that is not JSON.
    pub fn take(&mut self, monitor: &mut Monitor, entry: &Entry) -> Result<(), SessionError> {
        match entry {
            Entry::Open(_) => Err(SessionError::OpenedTwice),
            Entry::Append(_) | Entry::Check(..) => Err(SessionError::Event),
            Entry::Shown(_) => Err(SessionError::InParts),
            Entry::Unsent(unsent) => {
                self.unsent(monitor, unsent);
                Ok(())
            }
            Entry::ModelRequest(request) => self.model_request(request),
            Entry::Finish(finish) => self.finish(monitor, finish),
            Entry::Confirm(confirm) => self.confirm(monitor, confirm),
            Entry::Read(access) => self.read(monitor, access),
            Entry::Write(access) => self.write(monitor, access),
            Entry::Policy(adopted) => {
                self.mode = adopted.mode;
                monitor.set_metadata(&adopted.metadata);
                Ok(())
            }
            Entry::Clear => {
                self.violated = None;
                Ok(())
            }
        }
    }

    /// Finds the call that a question is about. One that is in no event, or not to be told from others, gets a record that
    /// depends on something unknown.
    pub fn consider(&mut self, monitor: &mut Monitor, question: &Question) -> Considered {
        let ticket = self.tickets.next();
        let matched = match self.refusal(question) {
            Some(why) => Matched::Refused(why, self.open.denied(monitor.graph(), question)),
            None => asking::matched(&mut self.open, monitor.graph_mut(), question, &ticket),
        };
        Considered::new(ticket, matched, question)
    }

    /// Why a question is denied before anything is looked at.
    fn refusal(&self, question: &Question) -> Option<String> {
        if let Some(stop) = &self.stopped {
            return Some(format!("the session stopped before this call: {}", stop.text));
        }
        if let Some(why) = &self.violated {
            return Some(format!("{why}; later calls are denied until the host clears it"));
        }
        let (events, digest) = self.history();
        if question.events != events {
            return Some(format!(
                "the check builds on {} events, and the gate has {events}: append what is missing, and check again",
                question.events
            ));
        }
        (question.digest != digest).then(|| {
            format!(
                "the check builds on other events than the {events} that the gate has: append the events of the session \
                 in their order"
            )
        })
    }

    /// Forgets the last check that was considered, where nobody was answered and no call that no event holds was met.
    pub fn withdraw(&mut self) {
        self.tickets.withdraw();
    }

    /// Judges what was considered. Nothing of the session changes.
    pub fn judge(&self, monitor: &mut Monitor, considered: &Considered, question: &Question) -> Decision {
        let approval = self.approval(monitor, considered);
        considered.judge(monitor, question, approval)
    }

    /// Why what was considered is decided as it is. Nothing of the session changes.
    pub fn explain(&self, monitor: &mut Monitor, considered: &Considered, question: &Question) -> Proof {
        let approval = self.approval(monitor, considered);
        considered.explain(monitor, question, approval)
    }

    /// The same for a check that was denied without being considered: its fault is all there is.
    pub fn explain_fault(
        &self,
        monitor: &mut Monitor,
        call: Option<CallNumber>,
        question: &Question,
        fault: &str,
    ) -> Proof {
        let matched = Matched::Refused(fault.to_owned(), call);
        Considered::new(String::new(), matched, question).explain(monitor, question, None)
    }

    /// The recorded call of a question that is denied without being considered, where there is one that was not let run.
    pub fn denied_call(&mut self, monitor: &Monitor, question: &Question) -> Option<CallNumber> {
        self.open.denied(monitor.graph(), question)
    }

    /// What another policy says of what was considered, on the same session; none where no policy is asked. Nothing of the
    /// session changes.
    pub fn judge_beside(
        &self,
        monitor: &Monitor,
        beside: &mut Beside,
        considered: &Considered,
        question: &Question,
    ) -> Option<Decision> {
        let approval = self.approval(monitor, considered);
        considered.call_of(question, approval).ok().map(|call| monitor.judge_beside(beside, &call))
    }

    /// What a decision is answered with.
    #[must_use]
    pub fn answer(policy: &Policy, considered: &Considered, decision: &Decision) -> Answer {
        let rules = decision.reasons.iter().map(|reason| reason.rule.clone());
        Answer {
            verdict: match decision.verdict {
                Verdict::Allow => Word::Allow,
                Verdict::Ask => Word::Ask,
                Verdict::Deny => Word::Deny,
            },
            ticket: considered.ticket().to_owned(),
            policy: policy.program().digest.clone(),
            rules: rules.filter(|rule| !rule.is_empty()).collect(),
            fault: String::new(),
        }
    }

    /// The ticket of the check that comes next: the one of a check that is denied without being considered.
    #[must_use]
    pub fn next_ticket(&self) -> String {
        self.tickets.peek()
    }

    /// Notes what was answered: from here on the call runs, waits for a person, or was refused.
    pub fn settle(
        &mut self,
        monitor: &mut Monitor,
        considered: &Considered,
        question: &Question,
        answer: &Answer,
    ) {
        let approval = self.approval(monitor, considered).filter(|_| answer.verdict == Word::Allow);
        let unseen = considered.note(monitor.graph_mut(), question, answer);
        if let Some(unseen) = unseen {
            self.open.let_run(considered, unseen);
        }
        if answer.verdict == Word::Allow {
            self.approved.remove(considered.asked());
        }
        self.tickets.add(Ticket { unseen, ..Ticket::new(considered, question, answer, approval, self.mode) });
    }

    /// Notes a check that was denied without being considered, such as one whose deadline passed.
    pub fn settle_fault(&mut self, monitor: &mut Monitor, question: &Question, answer: &Answer) {
        let ticket = self.tickets.next();
        let call = self.denied_call(monitor, question);
        let considered = Considered::new(ticket, Matched::Refused(answer.fault.clone(), call), question);
        considered.note(monitor.graph_mut(), question, answer);
        self.tickets.add(Ticket::new(&considered, question, answer, None, self.mode));
    }

    /// Events that are never sent count in the history, and everything after them depends on something unknown.
    fn unsent(&mut self, monitor: &mut Monitor, unsent: &Unsent) {
        for id in &unsent.ids {
            self.ids.add(id);
        }
        monitor.graph_mut().note_unsent(unsent.ids.len(), &unsent.why);
    }

    fn model_request(&mut self, request: &ModelRequest) -> Result<(), SessionError> {
        let json = parsed("the request of a model", &request.request)?;
        self.requests.insert(request.agent.clone(), (request.invocation.clone(), json));
        Ok(())
    }

    /// A checked call ended. What ran without being allowed, or with other arguments than were checked, closes the session.
    fn finish(&mut self, monitor: &mut Monitor, finish: &Finish) -> Result<(), SessionError> {
        let ending = match &finish.ending {
            Ending::Returned(None) => live::Ending::Returned(None),
            Ending::Returned(Some(value)) => {
                live::Ending::Returned(Some(parsed("the value that a tool returned", value)?))
            }
            Ending::Failed => live::Ending::Failed,
            Ending::NotRun => live::Ending::NotRun,
            Ending::Pending => live::Ending::Pending,
        };
        let ran = finish.arguments.as_deref().map(|text| parsed("arguments", text)).transpose()?;
        let ticket = self.tickets.open(&finish.ticket)?;
        let did_run = !matches!(finish.ending, Ending::NotRun);
        let changed = ran.is_some_and(|ran| ran.canonical() != ticket.asked.arguments);
        let refused = ticket.verdict != Word::Allow && ticket.mode == Mode::Enforce;
        let (call, unseen, tool) = (ticket.call, ticket.unseen, ticket.asked.tool.clone());
        ticket.used = finish.ending != Ending::Pending;
        let why = if did_run && refused {
            Some(format!("`{tool}` ran although its check was not answered with allow"))
        } else if did_run && changed {
            Some(format!("`{tool}` ran with other arguments than were checked"))
        } else {
            None
        };
        let ending = if why.is_some() { live::Ending::Violated } else { ending };
        let graph = monitor.graph_mut();
        if let Some(why) = why {
            graph.warn("violated", format!("{why}: later calls are denied until the host clears it"));
            self.violated = Some(why);
        }
        if let Some(unseen) = unseen {
            graph.end_unseen(unseen, &ending);
            self.open.ended(graph, &ticket.asked, unseen, &finish.ending);
        }
        if let Some(call) = call {
            graph.note_ending(call, ending);
        }
        Ok(())
    }

    /// The rules that the approval of the very principal that runs the checks, or of nobody known, answers.
    fn self_rules(monitor: &Monitor) -> Vec<String> {
        let own = monitor
            .program()
            .decision_rules
            .iter()
            .filter(|rule| rule.metadata.iter().any(|(key, value)| key == "ask" && value == "self"));
        own.map(|rule| rule.id.clone()).collect()
    }
}

/// The JSON of a text.
fn parsed(what: &'static str, text: &str) -> Result<Json, SessionError> {
    json::parse(text).map_err(|fault| SessionError::NotJson { what, why: fault.to_string() })
}

/// The row of an answer to an ask about a call that is recorded.
fn confirmation(
    monitor: &Monitor,
    call: CallNumber,
    yes: bool,
    principal: Option<&str>,
) -> Option<SessionFact> {
    let call = monitor.graph().calls().get(call.0 as usize)?;
    Some(SessionFact::Confirmation {
        record: call.record,
        call_id: call.call_id.as_str().into(),
        confirmed: yes,
        hint: "".into(),
        payload: "".into(),
        principal: principal.unwrap_or_default().into(),
    })
}
