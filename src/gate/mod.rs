//! Sessions that are judged while they run.
//!
//! In: what runners tell and ask about their sessions. Out: verdicts, each given once it stands in the journal of its
//! session. Never: decides, lets a call run after a fault, or forgets what it has acknowledged.

mod explain;
mod lines;
mod log;
mod reload;
mod shadow;
mod worker;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::decision::Decision;
use crate::engine::Budget;
use crate::explain::Proof;
use crate::gate::worker::Command;
use crate::monitor::{Caller, Policy};
use crate::policies::{DroppedDenials, PoliciesError, PolicySet, Served};
use crate::recording::Parts;
use crate::recording::decisions::{Activated, Said};
use crate::recording::journal::{
    Access, Adopted, Confirm, Ending, Entry, Finish, JournalFault, Mode, ModelRequest, Opening, Question,
    SessionKey, Unsent,
};
use crate::records::agents::Agents;
use crate::session::SessionError;
use crate::store::{Journals, JournalsError, LogError, LogState};

pub use crate::gate::lines::{LinesError, checked_json, serve};
pub use crate::gate::log::{Detail, Logging};
pub use crate::gate::reload::Reloader;

/// How long a verdict may take.
const DEADLINE: Duration = Duration::from_secs(2);

/// Bytes of an event that are taken in within a millisecond, by a slow machine too.
const BYTES_EACH_MS: u128 = 8 << 10;

/// Bytes of an event that is taken in whatever the deadline.
const SMALL: usize = 1 << 16;

/// The name of a policy that is the only one.
const POLICY: &str = "policy";

/// Commands of a session that wait.
const QUEUE: usize = 256;

/// Why a gate did not do what it was told. A check never fails: it is denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum GateError {
    #[error("{0}")]
    Session(#[from] SessionError),
    #[error("the journal of the session is broken, and nothing in it is judged: {0}")]
    Journal(#[from] JournalFault),
    #[error("the journal of the session is broken, and nothing in it is judged: {why}")]
    Unfit { why: String },
    #[error("{0}")]
    Store(#[from] JournalsError),
    #[error("the event is kept and the session stops at it, later checks are denied: {why}")]
    Stopped { why: String },
    #[error("the event is not taken in: {why}")]
    Conflict { why: String },
    #[error(
        "the event has {bytes} bytes, and no more than {most} can be taken in within {} ms: leave out inline data, or raise the \
         deadline",
        limit.as_millis()
    )]
    TooLarge { bytes: usize, most: usize, limit: Duration },
    #[error("the gate could not do it within {} ms: try again", limit.as_millis())]
    Deadline { limit: Duration },
    #[error("the work on the session broke off: it is read again from its journal")]
    BrokenOff,
    #[error("the gate gave up the session: ask it for the session again")]
    Closed,
    #[error(
        "the check was decided by the policy `{then}`, and `{now}` decides now: export the journal and explain it with that \
         policy"
    )]
    OtherPolicy { then: String, now: String },
    #[error("there is no such session")]
    NoSession,
    #[error("the session is run by another caller, or under other roles: open one of another name")]
    OtherCaller,
    #[error("no verdict is given that is not logged: {0}")]
    Log(#[from] LogError),
    #[error("no verdict is given that is not logged, and the decision log took longer than {} ms", limit.as_millis())]
    LogSlow { limit: Duration },
    #[error("no policy decides for tenant `{tenant}`: name it in the manifest of policies")]
    NoPolicy { tenant: String },
    #[error("a gate needs {what}")]
    Missing { what: &'static str },
    #[error("the agents file cannot be read: {why}")]
    Agents { why: String },
    #[error("the system gives no random bytes: {why}")]
    NoRandom { why: String },
}

/// A gate to be.
#[derive(Debug, Default)]
pub struct Builder {
    policy: Option<Arc<Policy>>,
    policies: Option<PolicySet>,
    store: Option<Journals>,
    log: Option<Logging>,
    mode: Mode,
    budget: Budget,
    deadline: Option<Duration>,
    caller: Caller,
    metadata: Vec<[String; 3]>,
    parts: Parts,
    agents: String,
}

impl Builder {
    /// What decides for all tenants.
    #[must_use]
    pub fn policy(mut self, policy: Arc<Policy>) -> Self {
        self.policy = Some(policy);
        self
    }

    /// What decides for each tenant, in place of one policy and its mode.
    #[must_use]
    pub fn policies(mut self, policies: PolicySet) -> Self {
        self.policies = Some(policies);
        self
    }

    /// Where verdicts are logged. An allow is then given only after its line is on disk.
    #[must_use]
    pub fn log(mut self, log: Logging) -> Self {
        self.log = Some(log);
        self
    }

    /// Where journals are kept.
    #[must_use]
    pub fn store(mut self, store: Journals) -> Self {
        self.store = Some(store);
        self
    }

    /// What is done with verdicts; without a word they are enforced.
    #[must_use]
    pub fn mode(mut self, mode: Mode) -> Self {
        self.mode = mode;
        self
    }

    /// Work allowance of one check.
    #[must_use]
    pub fn budget(mut self, budget: Budget) -> Self {
        self.budget = budget;
        self
    }

    /// How long a verdict may take before it is a denial; 2 seconds without a word.
    #[must_use]
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = Some(deadline);
        self
    }

    /// Who runs the sessions, as authenticated by the host. The tenant is that of the key of each session.
    #[must_use]
    pub fn caller(mut self, caller: Caller) -> Self {
        self.caller = caller;
        self
    }

    /// `PolicyMetadata` rows.
    #[must_use]
    pub fn metadata(mut self, metadata: Vec<[String; 3]>) -> Self {
        self.metadata = metadata;
        self
    }

    /// Which fields of message parts are recorded.
    #[must_use]
    pub fn parts(mut self, parts: Parts) -> Self {
        self.parts = parts;
        self
    }

    /// The text of an agents file.
    #[must_use]
    pub fn agents(mut self, agents: &str) -> Self {
        agents.clone_into(&mut self.agents);
        self
    }

    /// The gate.
    ///
    /// # Errors
    /// Where policy or store is missing, or the agents file cannot be read.
    pub fn build(self) -> Result<Gate, GateError> {
        let one = |policy| PolicySet::one(POLICY, policy, self.mode);
        let policies = self.policies.or_else(|| self.policy.map(one));
        let policies = policies.ok_or(GateError::Missing { what: "a policy" })?;
        let store = self.store.ok_or(GateError::Missing { what: "a store for journals" })?;
        if !self.agents.is_empty() {
            Agents::parse(&self.agents).map_err(|faults| {
                let why: Vec<_> = faults.iter().map(ToString::to_string).collect();
                GateError::Agents { why: why.join("; ") }
            })?;
        }
        let opening = Opening {
            adapter: env!("CARGO_PKG_VERSION").to_owned(),
            mode: self.mode,
            metadata: self.metadata,
            tuples: self.budget.tuples,
            bytes: self.budget.bytes,
            steps: self.budget.steps,
            full_parts: self.parts == Parts::Full,
            agents: self.agents,
            ..Opening::default()
        };
        let deadline = self.deadline.unwrap_or(DEADLINE);
        let serving = Serving { policies: policies.digest().to_owned(), since: worker::now(), refused: None };
        let gate = Gate {
            shared: Arc::new(Shared {
                policies: RwLock::new((Arc::new(policies), serving)),
                store,
                log: self.log,
                opening,
                caller: self.caller,
                deadline,
                sessions: Mutex::default(),
            }),
        };
        gate.note();
        Ok(gate)
    }
}

/// What all sessions of a gate share.
#[derive(Debug)]
pub(crate) struct Shared {
    policies: RwLock<(Arc<PolicySet>, Serving)>,
    pub(crate) store: Journals,
    pub(crate) log: Option<Logging>,
    /// What every session is opened with; key, caller, policy and secret are those of each.
    pub(crate) opening: Opening,
    /// Who runs sessions of which nothing else is said.
    caller: Caller,
    pub(crate) deadline: Duration,
    sessions: Mutex<BTreeMap<SessionKey, mpsc::WeakSender<Command>>>,
}

impl Shared {
    /// What decides for a tenant.
    pub(crate) fn served(&self, tenant: &str) -> Result<Arc<Served>, GateError> {
        let policies = self.policies.read().unwrap_or_else(PoisonError::into_inner);
        policies.0.serves(tenant).cloned().ok_or_else(|| GateError::NoPolicy { tenant: tenant.to_owned() })
    }

    /// What a session has under that policy.
    pub(crate) fn adopted(&self, served: &Served) -> Adopted {
        let metadata = self.opening.metadata.iter().chain(&served.metadata).cloned().collect();
        Adopted { policy: served.policy.program().digest.clone(), mode: served.mode, metadata }
    }

    /// That an event is not longer than what can be taken in by the deadline.
    pub(crate) fn fits(&self, event: &str) -> Result<(), GateError> {
        let most = usize::try_from(self.deadline.as_millis().saturating_mul(BYTES_EACH_MS));
        let (bytes, most, limit) = (event.len(), most.unwrap_or(usize::MAX).max(SMALL), self.deadline);
        if bytes > most { Err(GateError::TooLarge { bytes, most, limit }) } else { Ok(()) }
    }

    /// Forgets a session that nobody holds any more.
    pub(crate) fn forget(&self, key: &SessionKey) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.get(key).is_some_and(|commands| commands.strong_count() == 0) {
            sessions.remove(key);
        }
    }
}

/// A gate: a policy, a store, and the sessions that run now. Copies of the handle are the same gate.
///
/// It is used inside a tokio runtime. Calls of one session are judged in order, sessions beside one another, on threads that
/// may block.
///
/// ```
/// use std::sync::Arc;
/// use gatelog::decision::Verdict;
/// use gatelog::gate::{Gate, GateError};
/// use gatelog::monitor::{Caller, Policy};
/// use gatelog::program::{NoIncludes, check};
/// use gatelog::recording::journal::{Ending, Question, SessionKey};
/// use gatelog::store::Journals;
///
/// let policy = "IsAuthorized(i) :- Actions(i, action), IsTool(action, \"look\").";
/// let program = check(&[("p.dl".to_owned(), policy.to_owned())], &mut NoIncludes).unwrap();
/// let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
/// let gate = Gate::builder().policy(Arc::new(Policy::new(program))).store(Journals::memory()).caller(caller).build()?;
/// tokio::runtime::Runtime::new().unwrap().block_on(async {
///     let session = gate.session(SessionKey { session: "s-1".to_owned(), ..SessionKey::default() });
///     session.append(r#"{"id": "e1", "author": "bot", "content": {"parts": [
///         {"functionCall": {"id": "c1", "name": "look", "args": {}}}]}}"#).await?;
///     let (events, digest) = session.history().await?;
///     let question = Question {
///         call_id: "c1".to_owned(), tool: "look".to_owned(), arguments: "{}".to_owned(), agent: "bot".to_owned(),
///         events, digest, ..Question::default()
///     };
///     let checked = session.check(question).await;
///     assert_eq!((checked.decision.verdict, checked.may_run), (Verdict::Allow, true));
///     session.finish(&checked.ticket, Ending::Returned(None), Some("{}")).await
/// })
/// # .map(|_| ()).map_err(|error: GateError| error)?;
/// # Ok::<(), GateError>(())
/// ```
#[derive(Debug, Clone)]
pub struct Gate {
    shared: Arc<Shared>,
}

impl Gate {
    /// A gate to be.
    #[must_use]
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The session of that key. Its journal is read when it is first needed; where there is none, one is opened.
    ///
    /// Must be called inside a tokio runtime, on which the session then runs until its last handle is gone.
    #[must_use]
    pub fn session(&self, key: SessionKey) -> GatedSession {
        self.start(key, &self.shared.caller)
    }

    /// The session of that key, run by that caller: where there is none, one is opened. What was opened by someone else, or
    /// under other roles, is refused, since verdicts go by the caller that the journal names.
    ///
    /// Must be called inside a tokio runtime, on which the session then runs until its last handle is gone.
    ///
    /// # Errors
    /// Where the session is another caller's, or its journal cannot be read or begun.
    pub async fn open(&self, key: SessionKey, caller: &Caller) -> Result<GatedSession, GateError> {
        let session = self.start(key, caller);
        let runs = session.caller(Some(caller.clone())).await?;
        if is_same(&runs, caller) { Ok(session) } else { Err(GateError::OtherCaller) }
    }

    /// The session of that key, which is there, and who runs it.
    ///
    /// Must be called inside a tokio runtime, on which the session then runs until its last handle is gone.
    ///
    /// # Errors
    /// Where there is none, or its journal cannot be read.
    pub async fn find(&self, key: SessionKey) -> Result<(GatedSession, Caller), GateError> {
        let (store, named) = (self.shared.store.clone(), key.clone());
        let first = tokio::task::spawn_blocking(move || store.first(&named));
        first.await.map_err(|_| GateError::BrokenOff)??.ok_or(GateError::NoSession)?;
        // Journals stay: this one opens nothing.
        let session = self.start(key, &self.shared.caller);
        let runs = session.caller(None).await?;
        Ok((session, runs))
    }

    /// The task of a session, which opens it for that caller where it has no journal.
    fn start(&self, key: SessionKey, caller: &Caller) -> GatedSession {
        let mut sessions = self.shared.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(commands) = sessions.get(&key).and_then(mpsc::WeakSender::upgrade)
            && !commands.is_closed()
        {
            return GatedSession { commands };
        }
        let (commands, waiting) = mpsc::channel(QUEUE);
        sessions.insert(key.clone(), commands.downgrade());
        tokio::spawn(worker::run(Arc::clone(&self.shared), key, caller.clone(), waiting));
        GatedSession { commands }
    }

    /// Lets another policy decide for all tenants, from the next check of each session on.
    pub fn activate(&self, policy: Arc<Policy>) {
        self.serve(PolicySet::one(POLICY, policy, self.shared.opening.mode));
    }

    /// Lets other policies decide, from the next check of each session on.
    ///
    /// # Errors
    /// Where they drop all denials of a tenant, and that is not confirmed: the gate serves what it served.
    pub fn replace(&self, policies: PolicySet, dropped: DroppedDenials) -> Result<(), PoliciesError> {
        policies.follows(&self.policies(), dropped)?;
        self.serve(policies);
        Ok(())
    }

    fn serve(&self, policies: PolicySet) {
        let serving = Serving { policies: policies.digest().to_owned(), since: worker::now(), refused: None };
        *self.shared.policies.write().unwrap_or_else(PoisonError::into_inner) = (Arc::new(policies), serving);
        self.note();
    }

    /// Notes that other policies were to serve, and why they do not.
    pub fn refuse(&self, why: String) {
        let mut policies = self.shared.policies.write().unwrap_or_else(PoisonError::into_inner);
        policies.1.refused = Some(Refused { time: worker::now(), why });
        drop(policies);
        self.note();
    }

    /// Has the log say what serves.
    fn note(&self) {
        let Some(Logging { log, .. }) = &self.shared.log else { return };
        let Serving { policies, since, refused } = self.serving();
        let (time, refused) = refused.map_or((since, None), |refused| (refused.time, Some(refused.why)));
        // A log that takes no lines is told of with the next verdict.
        log.append(Said::Policies(Activated { time, policies, refused }), Box::new(|_| {}));
    }

    /// The policies that decide.
    #[must_use]
    pub fn policies(&self) -> Arc<PolicySet> {
        Arc::clone(&self.shared.policies.read().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// What serves, and how the last attempt to change that went.
    #[must_use]
    pub fn serving(&self) -> Serving {
        self.shared.policies.read().unwrap_or_else(PoisonError::into_inner).1.clone()
    }

    /// How the decision log stands; none where there is none.
    #[must_use]
    pub fn log(&self) -> Option<LogState> {
        self.shared.log.as_ref().map(|logging| logging.log.state())
    }

    /// Digest of the policies that decide: of their manifest, or of the one policy.
    #[must_use]
    pub fn policy(&self) -> String {
        self.serving().policies
    }
}

/// Whether verdicts come out alike for both. The tenant is the key's.
fn is_same(one: &Caller, other: &Caller) -> bool {
    let sorted = |roles: &[String]| roles.iter().cloned().collect::<BTreeSet<_>>();
    one.principal == other.principal
        && one.entity == other.entity
        && sorted(&one.roles) == sorted(&other.roles)
}

/// Which policies serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Serving {
    /// Digest of the set.
    pub policies: String,
    /// Since when, RFC 3339.
    pub since: String,
    /// The last set that was to take its place and does not; none where none was since.
    pub refused: Option<Refused>,
}

/// Policies that do not serve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// When they were to, RFC 3339.
    pub time: String,
    /// Why not.
    pub why: String,
}

/// What an event brought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Appended {
    /// It is new, and counts in the history that checks build on.
    New,
    /// It was there already, or is still being written.
    Known,
}

/// The answer to a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The decision, with its reasons.
    pub decision: Decision,
    /// Names the check for what follows; empty where it could not be kept, and nothing may follow.
    pub ticket: String,
    /// Digest of the policy that decided.
    pub policy: String,
    /// Whether the call may run: it is allowed, or the gate only advises.
    pub may_run: bool,
}

/// Why a check was decided as it was.
#[derive(Debug, Clone)]
pub struct Explained {
    /// The proof.
    pub proof: Proof,
    /// The policy that decided, whose rules it names.
    pub policy: Arc<Policy>,
}

/// A session of a gate. Copies of the handle are the same session.
#[derive(Debug, Clone)]
pub struct GatedSession {
    commands: mpsc::Sender<Command>,
}

impl GatedSession {
    /// The runner's session has one event more: its JSON, as any ADK library writes it. An event that is there already with
    /// equal content is known; one that is still being written is left out.
    ///
    /// # Errors
    /// Where another event has its id, or it cannot be read or recorded: then the session stops.
    pub async fn append(&self, event: &str) -> Result<Appended, GateError> {
        let event = event.to_owned();
        self.ask(|told| Command::Append { event, told }).await?
    }

    /// Events stand here in the runner's session that the gate is never sent: what came before it was attached and is not
    /// there any more, or what cannot be written. They count in the history that checks build on, and all that agents do
    /// after them depends on something unknown. Ids may be empty; none at all says that nobody knows which they were, and
    /// the history does not count them.
    ///
    /// # Errors
    /// Where an event of such an id is there, or it cannot be kept.
    pub async fn unsent(&self, ids: &[String], why: &str) -> Result<(), GateError> {
        self.tell(Entry::Unsent(Unsent { ids: ids.to_vec(), why: why.to_owned() })).await
    }

    /// What a model is about to read: `{"contents": […], "config": {…}}`. The events that it then writes are computed from
    /// that, and not from what the rules of visibility would show.
    ///
    /// # Errors
    /// Where the request is not JSON, or cannot be kept.
    pub async fn model_request(&self, agent: &str, invocation: &str, request: &str) -> Result<(), GateError> {
        let (agent, invocation, request) = (agent.to_owned(), invocation.to_owned(), request.to_owned());
        self.tell(Entry::ModelRequest(ModelRequest { agent, invocation, request })).await
    }

    /// Whether a call may run now. A question without a clock gets the time of its arrival. Whatever goes wrong is a
    /// denial, which says what it was.
    pub async fn check(&self, question: Question) -> Checked {
        match self.ask(|told| Command::Check { question: Box::new(question), told }).await {
            Ok(checked) => checked,
            Err(error) => Checked {
                decision: Decision::fault(error.to_string()),
                ticket: String::new(),
                policy: String::new(),
                may_run: false,
            },
        }
    }

    /// What became of a checked call, with the arguments that it ran with. Arguments that are not the checked ones, or a call
    /// that ran without being allowed, close the session to further calls.
    ///
    /// # Errors
    /// Where the ticket is not known, or was used.
    pub async fn finish(
        &self,
        ticket: &str,
        ending: Ending,
        arguments: Option<&str>,
    ) -> Result<(), GateError> {
        let (ticket, arguments) = (ticket.to_owned(), arguments.map(str::to_owned));
        self.tell(Entry::Finish(Finish { ticket, ending, arguments })).await
    }

    /// A person's answer to a check that asked. The host says who it was, and vouches for that; an answer of the principal
    /// that runs the session, or of nobody known, counts for rules with `@ask self` alone. Check again after it.
    ///
    /// # Errors
    /// Where the ticket is not known, or the check did not ask, or has an answer.
    pub async fn confirm(&self, ticket: &str, yes: bool, principal: Option<&str>) -> Result<(), GateError> {
        let (ticket, principal, clock) = (ticket.to_owned(), principal.map(str::to_owned), worker::now());
        self.tell(Entry::Confirm(Confirm { ticket, yes, principal, clock })).await
    }

    /// A running call is about to read a value.
    ///
    /// # Errors
    /// Where the call would not have been allowed with it: then it must not get the value. Where the ticket is not known or
    /// was used.
    pub async fn read(&self, access: Access) -> Result<(), GateError> {
        self.ask(|told| Command::Read { access, told }).await?
    }

    /// A running call wrote a value.
    ///
    /// # Errors
    /// Where the ticket is not known, or was used.
    pub async fn write(&self, access: Access) -> Result<(), GateError> {
        self.tell(Entry::Write(access)).await
    }

    /// Why a check was decided as it was, as of the moment of the check. The journal of the session is gone through anew, beside
    /// the session, which stays as it is.
    ///
    /// # Errors
    /// Where no check has that ticket, another policy decided it, or the journal cannot be read or is too long to be gone
    /// through in a minute.
    pub async fn explain(&self, ticket: &str) -> Result<Explained, GateError> {
        let ticket = ticket.to_owned();
        self.ask(|told| Command::Explain { ticket, told }).await?
    }

    /// Takes back the refusal of a session in which something ran otherwise than it was checked. For the host alone.
    ///
    /// # Errors
    /// Where it cannot be kept.
    pub async fn clear(&self) -> Result<(), GateError> {
        self.tell(Entry::Clear).await
    }

    /// Whether its task broke down, and nothing more can be done here: ask the gate for the session again.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.commands.is_closed()
    }

    /// The history so far, as checks name it: how many events, and the digest of their ids.
    ///
    /// # Errors
    /// Where the journal cannot be read.
    pub async fn history(&self) -> Result<(u64, String), GateError> {
        self.ask(|told| Command::History { told }).await?
    }

    /// Who runs the session; with an opener it is opened for that one where it is not there.
    async fn caller(&self, opener: Option<Caller>) -> Result<Caller, GateError> {
        self.ask(|told| Command::Caller { opener: opener.map(Box::new), told }).await?
    }

    async fn tell(&self, entry: Entry) -> Result<(), GateError> {
        self.ask(|told| Command::Take { entry: Box::new(entry), told }).await?
    }

    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Result<T, GateError> {
        let (told, answer) = oneshot::channel();
        self.commands.send(command(told)).await.map_err(|_| GateError::Closed)?;
        answer.await.map_err(|_| GateError::Closed)
    }
}
