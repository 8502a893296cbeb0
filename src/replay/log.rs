//! A session with the decision log of its gate: the log says what ran.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::decision::Decision;
use crate::json;
use crate::monitor::{Monitor, Policy, Settings};
use crate::recording::decisions::{Decided, HashKey};
use crate::recording::journal::{Answer, Opening, Question, SessionKey, Word};
use crate::recording::{Notice, Recording};
use crate::records::live::Ending;
use crate::records::{CallNumber, CallOutcome};
use crate::replay::due::Due;
use crate::replay::journal::{Check, Seen, collect};
use crate::replay::{Halt, SessionReport, calls_of, replay, unread_row};
use crate::session::Session;

/// The verdicts of a log, by session.
#[derive(Debug, Default)]
pub struct Logged {
    sessions: BTreeMap<SessionKey, Vec<Decided>>,
    key: Option<HashKey>,
}

impl Logged {
    /// No verdicts yet. With the key of the log, arguments are compared with those that were checked.
    #[must_use]
    pub fn new(key: Option<HashKey>) -> Self {
        Self { sessions: BTreeMap::new(), key }
    }

    /// Adds a verdict; they come in the order of the log.
    pub fn add(&mut self, decided: Decided) {
        self.sessions.entry(decided.key.clone()).or_default().push(decided);
    }

    /// The verdicts about a recording; none where no session of the log, or more than one, has its names.
    fn of(&self, recording: &Recording, tenant: &str) -> Option<&[Decided]> {
        let fits = |key: &SessionKey| {
            let same = |name: &str, other: &str| name.is_empty() || name == other;
            key.tenant == tenant
                && key.session == recording.session_id
                && same(&recording.app_name, &key.app)
                && same(&recording.user_id, &key.user)
        };
        let mut found =
            self.sessions.iter().filter(|(key, _)| fits(key)).map(|(_, verdicts)| verdicts.as_slice());
        found.next().filter(|_| found.next().is_none())
    }
}

/// Replays a session with the log of its gate: a call counts as running, and its answer as evidence, only where the log
/// allowed it. Every other answer is text. The journal of a gate says that itself, and is replayed as always.
#[must_use]
pub fn replay_logged(
    policy: &Arc<Policy>,
    settings: &Settings,
    source: &str,
    recording: &Recording,
    log: &Logged,
) -> SessionReport {
    if recording.journal.is_some() {
        return replay(policy, settings, source, recording);
    }
    let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
    let tenant = settings.caller.tenant.as_deref().unwrap_or_default();
    let verdicts = log.of(recording, tenant);
    let served = verdicts.and_then(<[Decided]>::last).map_or("", |decided| &decided.policy).to_owned();
    let mut course = Course::new(verdicts.unwrap_or_default(), log.key.as_ref());
    let (mut checks, differs, halt) =
        collect(&mut monitor, &served, &mut |monitor, visit| course.go(monitor, recording, settings, visit));
    if let Some(Halt { stop, taken }) = &halt {
        let rest = recording.events.get(*taken..).unwrap_or(&[]);
        let unread = rest.iter().flat_map(calls_of).chain(recording.unread_calls.iter().cloned());
        checks.extend(unread.map(|call| unread_row(call, &stop.text)));
    }
    let graph = monitor.graph();
    let own = course.notices(verdicts.is_some(), &monitor);
    SessionReport {
        source: source.to_owned(),
        id: recording.session_id.clone(),
        events: recording.events.len(),
        records: graph.records().len(),
        checks,
        assumptions: recording
            .notices
            .iter()
            .chain(graph.assumptions())
            .cloned()
            .chain(course.assumed())
            .collect(),
        warnings: graph.warnings().iter().cloned().chain(differs).chain(own).collect(),
        error: halt.map(|halt| halt.stop),
    }
}

/// What a verdict names its call by.
type Name = (String, String, String);

/// The way through a session with its log.
struct Course<'a> {
    /// The verdicts that counted, in order, each once.
    verdicts: Vec<&'a Decided>,
    key: Option<&'a HashKey>,
    /// The recorded calls of a name: the newest of an id; of those without one, all that no verdict is about yet.
    calls: BTreeMap<Name, VecDeque<CallNumber>>,
    /// Names that the log has a verdict about.
    asked: std::collections::BTreeSet<Name>,
    allowed: usize,
    /// Verdicts about more events than the session has.
    beyond: usize,
    /// Calls that were checked with other arguments than are recorded.
    changed: usize,
}

fn name_of(decided: &Decided) -> Name {
    (decided.agent.clone(), decided.tool.clone(), decided.call_id.clone())
}

impl<'a> Course<'a> {
    fn new(verdicts: &'a [Decided], key: Option<&'a HashKey>) -> Self {
        // A verdict that could not be given is followed by the denial that was.
        let last: BTreeMap<&str, usize> =
            verdicts.iter().enumerate().map(|(at, decided)| (decided.check.as_str(), at)).collect();
        let counts = |at: usize, decided: &Decided| {
            decided.check.is_empty() || last.get(decided.check.as_str()) == Some(&at)
        };
        let given = verdicts.iter().enumerate().filter(|(at, decided)| counts(*at, decided));
        let verdicts: Vec<&Decided> = given.map(|(_, decided)| decided).collect();
        let asked = verdicts.iter().map(|decided| name_of(decided)).collect();
        Self { verdicts, key, calls: BTreeMap::new(), asked, allowed: 0, beyond: 0, changed: 0 }
    }

    fn go(
        &mut self,
        monitor: &mut Monitor,
        recording: &Recording,
        settings: &Settings,
        visit: &mut dyn FnMut(&mut Monitor, Seen<'_>),
    ) -> Result<(), Halt> {
        let key = SessionKey {
            tenant: settings.caller.tenant.clone().unwrap_or_default(),
            app: recording.app_name.clone(),
            user: recording.user_id.clone(),
            session: recording.session_id.clone(),
        };
        let opening = Opening { key, principal: settings.caller.principal.clone(), ..Opening::default() };
        let mut session = Session::begin(monitor, &opening);
        let verdicts = std::mem::take(&mut self.verdicts);
        let mut verdicts = verdicts.into_iter().peekable();
        for (taken, event) in (0_u64..).zip(&recording.events) {
            while let Some(decided) = verdicts.next_if(|decided| decided.events <= taken) {
                self.check(&mut session, monitor, decided, visit);
            }
            let before = monitor.graph().calls().len();
            session.append(monitor, event);
            if let Some(stop) = session.stopped() {
                let taken = usize::try_from(taken).unwrap_or(usize::MAX);
                return Err(Halt { stop: stop.clone(), taken });
            }
            self.proposed(monitor, before, visit);
        }
        let events = u64::try_from(recording.events.len()).unwrap_or(u64::MAX);
        for decided in verdicts {
            self.beyond += usize::from(decided.events > events);
            self.check(&mut session, monitor, decided, visit);
        }
        let taken = recording.events.len();
        recording.stop.clone().map_or(Ok(()), |stop| Err(Halt { stop, taken }))
    }

    /// Calls that came with an event. Those that nobody checked are judged here, and do not run.
    fn proposed(
        &mut self,
        monitor: &mut Monitor,
        before: usize,
        visit: &mut dyn FnMut(&mut Monitor, Seen<'_>),
    ) {
        let first = u32::try_from(before).unwrap_or(u32::MAX);
        let calls = monitor.graph().calls().from(before);
        let new = (first..).zip(calls).map(|(at, call)| {
            let name = [&call.agent, &call.tool, &call.call_id].map(ToString::to_string);
            (CallNumber(at), name.into(), call.arguments.to_string())
        });
        for (number, name, arguments) in new.collect::<Vec<_>>() {
            if !self.asked.contains(&name) {
                let (agent, tool, call_id) = name.clone();
                let question = Question { call_id, tool, arguments, agent, ..Question::default() };
                let decision = monitor.weigh_call(number);
                let known = Some(number);
                let check = Check { question: &question, answer: None, considered: None, known, decision };
                visit(monitor, Seen::Judged(check));
            }
            let has_id = !name.2.is_empty();
            let calls = self.calls.entry(name).or_default();
            if has_id {
                calls.clear();
            }
            calls.push_back(number);
        }
    }

    /// What the gate was asked here, and what it answered.
    fn check(
        &mut self,
        session: &mut Session,
        monitor: &mut Monitor,
        decided: &Decided,
        visit: &mut dyn FnMut(&mut Monitor, Seen<'_>),
    ) {
        let known = self
            .calls
            .get_mut(&name_of(decided))
            .and_then(|calls| if calls.len() > 1 { calls.pop_front() } else { calls.front().copied() });
        let recorded = known.and_then(|number| monitor.graph().calls().get(number.0 as usize));
        let arguments = recorded.map_or_else(|| "{}".to_owned(), |call| call.arguments.to_string());
        if let (Some(key), Ok(arguments)) = (self.key, json::parse(&arguments)) {
            self.changed += usize::from(key.hash(&arguments.canonical()) != decided.arguments_hash);
        }
        let (events, digest) = session.history();
        let question = Question {
            call_id: decided.call_id.clone(),
            tool: decided.tool.clone(),
            arguments,
            agent: decided.agent.clone(),
            invocation: decided.invocation.clone(),
            events,
            digest,
            clock: decided.clock.clone(),
            ..Question::default()
        };
        let answer = Answer {
            verdict: decided.verdict,
            ticket: decided.check.clone(),
            policy: decided.policy.clone(),
            rules: decided
                .reasons
                .iter()
                .map(|reason| reason.rule.clone())
                .filter(|rule| !rule.is_empty())
                .collect(),
            fault: decided.unjudged.clone().unwrap_or_default(),
        };
        if decided.unjudged.is_some() {
            session.settle_fault(monitor, &question, &answer);
            let decision = Decision::fault(answer.fault.clone());
            let check =
                Check { question: &question, answer: Some(&answer), considered: None, known, decision };
            return visit(monitor, Seen::Judged(check));
        }
        let considered = session.consider(monitor, &question);
        visit(monitor, Seen::Coming(Due::Checked { session, considered: &considered, question: &question }));
        let decision = session.judge(monitor, &considered, &question);
        session.settle(monitor, &considered, &question, &answer);
        if answer.verdict == Word::Allow {
            self.allowed += 1;
            // How it ended is not in the log: its answer shows that.
            if let Some(call) = considered.call() {
                monitor.graph_mut().note_ending(call, Ending::Returned(None));
            }
        }
        let considered = Some(&considered);
        let check = Check { question: &question, answer: Some(&answer), considered, known: None, decision };
        visit(monitor, Seen::Judged(check));
    }

    fn assumed(&self) -> Option<Notice> {
        let text =
            "whether an allowed call failed is read from its answer: a decision log holds verdicts alone";
        (self.allowed > 0).then(|| Notice { kind: "endings_from_session".to_owned(), text: text.to_owned() })
    }

    /// What a person should look at.
    fn notices(&self, known: bool, monitor: &Monitor) -> Vec<Notice> {
        let graph = monitor.graph();
        let numbers = (0_u32..).zip(graph.calls().iter()).map(|(at, _)| CallNumber(at));
        let ran = numbers.filter(|number| {
            let ok = matches!(graph.outcome(*number), CallOutcome::Ok);
            ok && !graph.was_allowed(*number)
        });
        let rows = [
            (
                usize::from(!known),
                "log_missing",
                "sessions that the log has no verdict about, or does not tell from others: nothing of them is evidence",
            ),
            (
                ran.count(),
                "ungated",
                "calls with a result that the log never allowed: it is text, and no evidence",
            ),
            (self.beyond, "log_beyond", "verdicts of the log about events that the session does not hold"),
            (
                self.changed,
                "checked_otherwise",
                "verdicts of the log about other arguments than the recorded ones",
            ),
        ];
        let told = rows.into_iter().filter(|(count, ..)| *count > 0);
        told.map(|(count, kind, text)| Notice { kind: kind.to_owned(), text: format!("{text}: {count}") })
            .collect()
    }
}
