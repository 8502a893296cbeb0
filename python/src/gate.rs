//! Gates, their sessions, and the answers to checks.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use gatelog::engine::Budget;
use gatelog::gate::{self, Appended, Checked, GatedSession};
use gatelog::monitor::Caller;
use gatelog::recording::journal::{Access, Ending, Mode, Question, Resource, SessionKey};
use gatelog::recording::{self, Options, Parts};
use gatelog::store::Journals;
use pyo3::types::{PyAnyMethods as _, PyDict, PyModule};
use pyo3::{Bound, Py, PyAny, PyResult, Python, pyclass, pymethods};
use tokio::runtime::Runtime;

use crate::faults::{GateError, guarded};
use crate::policy::Policy;

/// What was told and not yet acknowledged, at most: less than the gate lets wait.
const UNACKNOWLEDGED: usize = 64;

/// Threads that serve sessions; the work itself is done on threads that may block.
const THREADS: usize = 2;

type Told = Pin<Box<dyn Future<Output = Result<(), gate::GateError>> + Send>>;
type Asked = Pin<Box<dyn Future<Output = Checked> + Send>>;

/// What a gate and its sessions run on. A process that was forked off has no threads, and is told so.
struct Engine {
    runtime: Option<Runtime>,
    process: u32,
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("process", &self.process).finish_non_exhaustive()
    }
}

impl Engine {
    fn start() -> PyResult<Self> {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS).enable_time().build();
        let runtime =
            runtime.map_err(|error| GateError::new_err(format!("the system gives no threads: {error}")))?;
        Ok(Self { runtime: Some(runtime), process: std::process::id() })
    }

    fn runtime(&self) -> PyResult<&Runtime> {
        let here = self.runtime.as_ref().filter(|_| self.process == std::process::id());
        here.ok_or_else(|| {
            GateError::new_err(
                "the gate was made before this process was forked off: make one in each process",
            )
        })
    }
}

impl Drop for Engine {
    // What was acknowledged is kept; nobody waits here for the rest.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            if self.process == std::process::id() {
                runtime.shutdown_background();
            } else {
                // Its threads are not in this process, and would be waited for.
                std::mem::forget(runtime);
            }
        }
    }
}

/// A gate: a policy, a store of journals, and the sessions that run now.
///
/// `store` is a file of journals, which is made where it is not there; without it journals end with the gate. In mode
/// `advise` calls run whatever the verdict is. `deadline` says how many seconds a verdict may take before it is a denial.
/// `principal` and `roles` say who runs the sessions, as authenticated by the host; without a principal nothing is
/// authorized. `agents` is the text of an agents file. `parts="full"` records all fields of message parts.
#[pyclass(frozen, module = "gatelog")]
#[derive(Debug)]
pub(crate) struct Gate {
    gate: gate::Gate,
    journals: Journals,
    tenant: String,
    engine: Arc<Engine>,
}

#[pymethods]
impl Gate {
    #[new]
    #[pyo3(signature = (policy, *, store = None, mode = "enforce", deadline = 2.0, principal = None, roles = Vec::new(),
        entity = None, tenant = "default", metadata = Vec::new(), parts = "supported", agents = "", budget = None))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn new(
        py: Python<'_>,
        policy: &Policy,
        store: Option<PathBuf>,
        mode: &str,
        deadline: f64,
        principal: Option<String>,
        roles: Vec<String>,
        entity: Option<String>,
        tenant: &str,
        metadata: Vec<[String; 3]>,
        parts: &str,
        agents: &str,
        budget: Option<(u64, u64, u64)>,
    ) -> PyResult<Self> {
        let mode = match mode {
            "enforce" => Mode::Enforce,
            "advise" => Mode::Advise,
            other => return Err(GateError::new_err(format!("`{other}` is no mode: `enforce` or `advise`"))),
        };
        let deadline = Duration::try_from_secs_f64(deadline)
            .map_err(|error| GateError::new_err(format!("the deadline is no time in seconds: {error}")))?;
        let budget =
            budget.map_or_else(Budget::default, |(tuples, bytes, steps)| Budget { tuples, bytes, steps });
        let parts = parts_of(parts)?;
        guarded(|| {
            py.detach(|| {
                let journals = match store {
                    None => Journals::memory(),
                    Some(path) => {
                        Journals::sqlite(&path).map_err(|error| GateError::new_err(error.to_string()))?
                    }
                };
                let caller = Caller { principal, roles, entity, tenant: Some(tenant.to_owned()) };
                let built = gate::Gate::builder()
                    .policy(Arc::clone(&policy.policy))
                    .store(journals.clone())
                    .mode(mode)
                    .budget(budget)
                    .deadline(deadline)
                    .caller(caller)
                    .metadata(metadata)
                    .parts(parts)
                    .agents(agents)
                    .build();
                let gate = built.map_err(|error| fault(&error))?;
                Ok(Self { gate, journals, tenant: tenant.to_owned(), engine: Arc::new(Engine::start()?) })
            })
        })
    }

    /// The session of these names. Its journal is read when it is first needed; where there is none, one is opened.
    #[pyo3(signature = (session, *, app = "", user = ""))]
    fn session(&self, session: &str, app: &str, user: &str) -> PyResult<Session> {
        let key = SessionKey {
            tenant: self.tenant.clone(),
            app: app.to_owned(),
            user: user.to_owned(),
            session: session.to_owned(),
        };
        guarded(|| {
            let _inside = self.engine.runtime()?.enter();
            let session = self.gate.session(key.clone());
            Ok(Session {
                session,
                key,
                journals: self.journals.clone(),
                engine: Arc::clone(&self.engine),
                told: Mutex::default(),
            })
        })
    }

    /// Lets another policy decide, from the next check of each session on.
    fn activate(&self, policy: &Policy) {
        self.gate.activate(Arc::clone(&policy.policy));
    }

    /// The digest of the policy that decides.
    #[getter]
    fn policy(&self) -> String {
        self.gate.policy()
    }
}

/// What was told and is not acknowledged yet, and what went wrong before.
#[derive(Default)]
struct Tellings {
    waiting: VecDeque<Told>,
    faults: Vec<String>,
}

impl Tellings {
    /// Takes off what is acknowledged.
    fn collect(&mut self) {
        while let Some(told) = self.waiting.front_mut() {
            let Poll::Ready(done) = once(told.as_mut()) else { return };
            self.note(done);
            self.waiting.pop_front();
        }
    }

    fn note(&mut self, done: Result<(), gate::GateError>) {
        if let Err(error) = done {
            self.faults.push(error.to_string());
        }
    }
}

/// Polls once: what is told stands in the queue of its session then.
fn once<T>(future: Pin<&mut (dyn Future<Output = T> + Send + 'static)>) -> Poll<T> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A session of a gate. What it is told is done in the order in which it is told.
///
/// `append`, `model_request`, `finish`, `read`, `write` and `confirm` wait until what they say is kept, and raise `GateError`
/// where it is not. With `wait=False` they return at once: the next check comes after them all the same, and `faults` has
/// what went wrong. A check never raises: whatever goes wrong is a denial.
#[pyclass(frozen, module = "gatelog")]
pub(crate) struct Session {
    session: GatedSession,
    key: SessionKey,
    journals: Journals,
    engine: Arc<Engine>,
    told: Mutex<Tellings>,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Session {
    /// Waits for a future without the interpreter.
    fn wait<T: Send>(
        &self,
        py: Python<'_>,
        future: impl Future<Output = Result<T, gate::GateError>> + Send,
    ) -> PyResult<T> {
        guarded(|| {
            let runtime = self.engine.runtime()?;
            py.detach(|| runtime.block_on(future)).map_err(|error| fault(&error))
        })
    }

    fn tell(
        &self,
        py: Python<'_>,
        wait: bool,
        future: impl Future<Output = Result<(), gate::GateError>> + Send + 'static,
    ) -> PyResult<()> {
        if wait {
            return self.wait(py, future);
        }
        guarded(|| {
            let runtime = self.engine.runtime()?;
            py.detach(|| {
                let _inside = runtime.enter();
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                told.collect();
                while told.waiting.len() >= UNACKNOWLEDGED {
                    let Some(oldest) = told.waiting.pop_front() else { break };
                    let done = runtime.block_on(oldest);
                    told.note(done);
                }
                let mut future: Told = Box::pin(future);
                match once(future.as_mut()) {
                    Poll::Ready(done) => told.note(done),
                    Poll::Pending => told.waiting.push_back(future),
                }
            });
            Ok(())
        })
    }
}

#[pymethods]
impl Session {
    /// The runner's session has these events more, each as JSON, in order. Events that are there already are left out.
    #[pyo3(signature = (events, *, wait = true))]
    fn append(&self, py: Python<'_>, events: Vec<String>, wait: bool) -> PyResult<()> {
        for event in events {
            let session = self.session.clone();
            // One after another: what is told next has to stand behind each of them.
            self.tell(py, wait, async move {
                let (Appended::New | Appended::Known) = session.append(&event).await?;
                Ok(())
            })?;
        }
        Ok(())
    }

    /// A model is about to read this: `{"contents": […], "config": {…}}` as JSON.
    #[pyo3(signature = (agent, invocation, request, *, wait = true))]
    fn model_request(
        &self,
        py: Python<'_>,
        agent: String,
        invocation: String,
        request: String,
        wait: bool,
    ) -> PyResult<()> {
        let session = self.session.clone();
        self.tell(py, wait, async move { session.model_request(&agent, &invocation, &request).await })
    }

    /// Asks whether a call may run, and does not wait: `Pending.wait` gives the answer.
    ///
    /// `events` and `digest` name the history that the runner has; without them it is what was appended here.
    #[pyo3(signature = (tool, args, *, agent, call_id = "", invocation = "", branch = "", metadata = Vec::new(),
        events = None, digest = None, clock = ""))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn ask(
        &self,
        py: Python<'_>,
        tool: &str,
        args: &str,
        agent: &str,
        call_id: &str,
        invocation: &str,
        branch: &str,
        metadata: Vec<[String; 3]>,
        events: Option<u64>,
        digest: Option<&str>,
        clock: &str,
    ) -> PyResult<Pending> {
        let question = Question {
            call_id: call_id.to_owned(),
            tool: tool.to_owned(),
            arguments: args.to_owned(),
            agent: agent.to_owned(),
            invocation: invocation.to_owned(),
            branch: branch.to_owned(),
            metadata,
            events: events.unwrap_or_default(),
            digest: digest.unwrap_or_default().to_owned(),
            clock: clock.to_owned(),
        };
        let session = self.session.clone();
        let known = events.is_some() && digest.is_some();
        guarded(|| {
            let runtime = self.engine.runtime()?;
            let asked = py.detach(|| {
                let _inside = runtime.enter();
                let mut asked: Asked = Box::pin(async move {
                    let mut question = question;
                    if !known && let Ok((events, digest)) = session.history().await {
                        (question.events, question.digest) = (events, digest);
                    }
                    session.check(question).await
                });
                match once(asked.as_mut()) {
                    Poll::Ready(checked) => Answering::Done(Box::new(checked)),
                    Poll::Pending => Answering::Asked(asked),
                }
            });
            Ok(Pending { answering: Mutex::new(asked), engine: Arc::clone(&self.engine) })
        })
    }

    /// What became of a checked call: `returned`, `failed`, `not_run`, or `pending` for one that goes on in the background.
    /// `value` is what the tool returned and `args` what it ran with, as JSON, where they are known.
    #[pyo3(signature = (ticket, ending, *, value = None, args = None, wait = true))]
    fn finish(
        &self,
        py: Python<'_>,
        ticket: String,
        ending: &str,
        value: Option<String>,
        args: Option<String>,
        wait: bool,
    ) -> PyResult<()> {
        let ending = match ending {
            "returned" => Ending::Returned(value),
            "failed" => Ending::Failed,
            "not_run" => Ending::NotRun,
            "pending" => Ending::Pending,
            other => {
                let text = format!("`{other}` is no ending: `returned`, `failed`, `not_run` or `pending`");
                return Err(GateError::new_err(text));
            }
        };
        let session = self.session.clone();
        self.tell(py, wait, async move { session.finish(&ticket, ending, args.as_deref()).await })
    }

    /// A person's answer to a check that asked. `principal` is who answered, as authenticated by the host.
    #[pyo3(signature = (ticket, yes, *, principal = None, wait = true))]
    fn confirm(
        &self,
        py: Python<'_>,
        ticket: String,
        yes: bool,
        principal: Option<String>,
        wait: bool,
    ) -> PyResult<()> {
        let session = self.session.clone();
        self.tell(py, wait, async move { session.confirm(&ticket, yes, principal.as_deref()).await })
    }

    /// A running call is about to read a key of state, whose value is this JSON, or a version of a file. Raises where the
    /// call would not have been allowed with it: then it must not get the value.
    #[pyo3(signature = (ticket, *, state = None, value = None, artifact = None, version = None, wait = true))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn read(
        &self,
        py: Python<'_>,
        ticket: String,
        state: Option<String>,
        value: Option<String>,
        artifact: Option<String>,
        version: Option<i64>,
        wait: bool,
    ) -> PyResult<()> {
        let access = Access { ticket, resource: resource(state, value, artifact, version)?, refused: false };
        let session = self.session.clone();
        self.tell(py, wait, async move { session.read(access).await })
    }

    /// A running call wrote a key of state, or a version of a file.
    #[pyo3(signature = (ticket, *, state = None, value = None, artifact = None, version = None, wait = true))]
    #[expect(clippy::too_many_arguments, reason = "each is a keyword in Python")]
    fn write(
        &self,
        py: Python<'_>,
        ticket: String,
        state: Option<String>,
        value: Option<String>,
        artifact: Option<String>,
        version: Option<i64>,
        wait: bool,
    ) -> PyResult<()> {
        let access = Access { ticket, resource: resource(state, value, artifact, version)?, refused: false };
        let session = self.session.clone();
        self.tell(py, wait, async move { session.write(access).await })
    }

    /// Takes back the refusal of a session in which something ran otherwise than it was checked. For the host alone.
    fn clear(&self, py: Python<'_>) -> PyResult<()> {
        let session = self.session.clone();
        self.wait(py, async move { session.clear().await })
    }

    /// The history as checks name it: how many events, and the digest of their ids.
    fn history(&self, py: Python<'_>) -> PyResult<(u64, String)> {
        let session = self.session.clone();
        self.wait(py, async move { session.history().await })
    }

    /// What went wrong since this was last called, of what was told with `wait=False`. Waits for what is under way.
    fn faults(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guarded(|| {
            let runtime = self.engine.runtime()?;
            Ok(py.detach(|| {
                let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
                while let Some(oldest) = told.waiting.pop_front() {
                    let done = runtime.block_on(oldest);
                    told.note(done);
                }
                std::mem::take(&mut told.faults)
            }))
        })
    }

    /// The ids of the events that the journal of the session has, in order: what the digest of its history is over.
    fn event_ids(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        guarded(|| {
            py.detach(|| {
                let lines =
                    self.journals.lines(&self.key).map_err(|error| GateError::new_err(error.to_string()))?;
                if lines.is_empty() {
                    return Ok(Vec::new());
                }
                let text = lines.join("\n") + "\n";
                let read = recording::read(text.as_bytes(), &Options::default());
                let recordings = read.map_err(|error| GateError::new_err(error.to_string()))?;
                Ok(recordings
                    .iter()
                    .flat_map(|recording| &recording.events)
                    .map(|event| event.id.clone())
                    .collect())
            })
        })
    }

    /// The journal of the session, a line for each entry: what `replay` reads.
    fn journal(&self, py: Python<'_>) -> PyResult<String> {
        guarded(|| {
            py.detach(|| {
                let lines =
                    self.journals.lines(&self.key).map_err(|error| GateError::new_err(error.to_string()))?;
                Ok(lines.iter().flat_map(|line| [line.as_str(), "\n"]).collect())
            })
        })
    }
}

/// Where the answer to a check is.
enum Answering {
    Asked(Asked),
    Done(Box<Checked>),
    /// It was given away.
    Taken,
}

/// A check that was asked for.
#[pyclass(frozen, module = "gatelog")]
pub(crate) struct Pending {
    answering: Mutex<Answering>,
    engine: Arc<Engine>,
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pending").finish_non_exhaustive()
    }
}

#[pymethods]
impl Pending {
    /// The answer; `None` where it takes longer than that many seconds. It is given once.
    #[pyo3(signature = (seconds = None))]
    fn wait(&self, py: Python<'_>, seconds: Option<f64>) -> PyResult<Option<Check>> {
        let limit = seconds.map(Duration::try_from_secs_f64).transpose();
        let limit =
            limit.map_err(|error| GateError::new_err(format!("that is no time in seconds: {error}")))?;
        guarded(|| {
            let runtime = self.engine.runtime()?;
            py.detach(|| {
                let mut answering = self.answering.lock().unwrap_or_else(PoisonError::into_inner);
                match std::mem::replace(&mut *answering, Answering::Taken) {
                    Answering::Taken => Err(GateError::new_err("the answer was given: check again")),
                    Answering::Done(checked) => Ok(Some(Check::new(&checked))),
                    Answering::Asked(mut asked) => {
                        let checked = runtime.block_on(async {
                            match limit {
                                None => Some(asked.as_mut().await),
                                Some(limit) => tokio::time::timeout(limit, asked.as_mut()).await.ok(),
                            }
                        });
                        if checked.is_none() {
                            *answering = Answering::Asked(asked);
                        }
                        Ok(checked.as_ref().map(Check::new))
                    }
                }
            })
        })
    }
}

/// The answer to a check.
#[pyclass(frozen, module = "gatelog")]
#[derive(Debug)]
pub(crate) struct Check {
    /// `allow`, `ask` or `deny`.
    #[pyo3(get)]
    verdict: &'static str,
    /// Whether the call may run: it is allowed, or the gate only advises.
    #[pyo3(get)]
    may_run: bool,
    /// Names the check for what follows; empty where it could not be kept.
    #[pyo3(get)]
    ticket: String,
    /// Digest of the policy that decided.
    #[pyo3(get)]
    policy: String,
    /// The ids of the rules that gave reasons, in order.
    #[pyo3(get)]
    rules: Vec<String>,
    /// All of it as JSON.
    #[pyo3(get)]
    json: String,
}

impl Check {
    fn new(checked: &Checked) -> Self {
        let rules = checked.decision.reasons.iter().map(|reason| reason.rule.clone());
        Self {
            verdict: checked.decision.verdict.name(),
            may_run: checked.may_run,
            ticket: checked.ticket.clone(),
            policy: checked.policy.clone(),
            rules: rules.filter(|rule| !rule.is_empty()).collect(),
            json: gate::checked_json(checked),
        }
    }

    fn item(&self, py: Python<'_>, key: &str) -> PyResult<Py<PyAny>> {
        let all = parsed(py, &self.json)?.cast_into::<PyDict>()?;
        Ok(all.call_method1("get", (key,))?.unbind())
    }
}

#[pymethods]
impl Check {
    /// Why: each reason with `kind`, `rule`, `file`, `line`, `text` and `suggestions`.
    #[getter]
    fn reasons(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.item(py, "reasons")
    }

    /// What the model is told in place of the tool; `None` where the call may run.
    #[getter]
    fn response(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.item(py, "response")
    }

    fn __repr__(&self) -> String {
        format!("Check({}, {})", self.verdict, self.ticket)
    }
}

/// JSON as Python's own values.
pub(crate) fn parsed<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    PyModule::import(py, "json")?.call_method1("loads", (text,))
}

pub(crate) fn parts_of(parts: &str) -> PyResult<Parts> {
    match parts {
        "supported" => Ok(Parts::Supported),
        "full" => Ok(Parts::Full),
        other => Err(GateError::new_err(format!("`{other}` names no parts: `supported` or `full`"))),
    }
}

fn resource(
    state: Option<String>,
    value: Option<String>,
    artifact: Option<String>,
    version: Option<i64>,
) -> PyResult<Resource> {
    match (state, artifact, version) {
        (Some(key), None, None) => Ok(Resource::State { key, value }),
        (None, Some(name), Some(version)) if value.is_none() => Ok(Resource::Artifact { name, version }),
        _ => {
            let text = "what is read or written is `state` with a `value`, or `artifact` with a `version`";
            Err(GateError::new_err(text))
        }
    }
}

fn fault(error: &gate::GateError) -> pyo3::PyErr {
    GateError::new_err(error.to_string())
}
