//! The task of one session: it alone holds the session's monitor, and does one thing after another.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use crate::decision::{Decision, Verdict};
use crate::gate::{Appended, Checked, GateError, Shared};
use crate::monitor::{Caller, Monitor, Policy, Settings};
use crate::recording::journal::{Access, Answer, Entry, Head, Mode, Opening, Question, SessionKey, Word};
use crate::recording::{Fed, Feed, Parts, StopKind, utc};
use crate::session::{Considered, Session, SessionError};

/// What a session is told or asked.
#[derive(Debug)]
pub(crate) enum Command {
    Append {
        event: String,
        told: oneshot::Sender<Result<Appended, GateError>>,
    },
    Take {
        entry: Box<Entry>,
        told: oneshot::Sender<Result<(), GateError>>,
    },
    Read {
        access: Access,
        told: oneshot::Sender<Result<(), GateError>>,
    },
    Check {
        question: Box<Question>,
        told: oneshot::Sender<Checked>,
    },
    /// Who runs it. Where it has no journal it is opened, for the opener if one is named.
    Caller {
        opener: Option<Box<Caller>>,
        told: oneshot::Sender<Result<Caller, GateError>>,
    },
    History {
        told: oneshot::Sender<Result<(u64, String), GateError>>,
    },
}

/// The session as its journal says.
#[derive(Debug)]
struct Live {
    monitor: Monitor,
    session: Session,
    caller: Caller,
    feed: Feed,
    head: Head,
    /// What decides.
    policy: Arc<Policy>,
    /// Digest of the policy that the journal says decides.
    served: String,
}

struct Worker {
    shared: Arc<Shared>,
    key: SessionKey,
    /// For whom it is opened where it has no journal.
    opener: Caller,
    /// None until it is needed, and after anything went wrong: then it is read from the journal.
    live: Option<Box<Live>>,
}

/// Serves one session until nobody holds it any more.
pub(crate) async fn run(
    shared: Arc<Shared>,
    key: SessionKey,
    opener: Caller,
    mut commands: mpsc::Receiver<Command>,
) {
    let mut worker = Worker { shared, key, opener, live: None };
    while let Some(command) = commands.recv().await {
        worker.serve(command).await;
    }
    worker.shared.forget(&worker.key);
}

/// The time, RFC 3339.
#[expect(clippy::disallowed_methods, reason = "the clock of a check that is made now")]
pub(crate) fn now() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.map(utc).unwrap_or_default()
}

impl Worker {
    /// Nobody may wait any more for an answer; then it goes nowhere.
    async fn serve(&mut self, command: Command) {
        match command {
            Command::Append { event, told } => {
                let _nobody_waits = told.send(self.append(event).await);
            }
            Command::Take { entry, told } => {
                let _nobody_waits = told.send(self.take(*entry).await);
            }
            Command::Read { access, told } => {
                let _nobody_waits = told.send(self.read(access).await);
            }
            Command::Caller { opener, told } => {
                if let Some(opener) = opener {
                    self.opener = *opener;
                }
                let caller = self.with(|live| live.caller.clone()).await;
                let _nobody_waits = told.send(caller);
            }
            Command::History { told } => {
                let history = self.with(|live| live.session.history()).await;
                let _nobody_waits = told.send(history);
            }
            Command::Check { question, told } => {
                if !told.is_closed() {
                    self.check(*question, told).await;
                }
            }
        }
    }

    async fn append(&mut self, event: String) -> Result<Appended, GateError> {
        let (event, fed) = self
            .with(move |live| {
                let fed = live.append(&event);
                (event, fed)
            })
            .await?;
        match fed {
            Ok(Appended::Known) => Ok(Appended::Known),
            Err(GateError::Conflict { why }) => Err(GateError::Conflict { why }),
            Ok(Appended::New) | Err(_) => {
                self.keep(Entry::Append(crate::recording::journal::Appended { event })).await?;
                fed
            }
        }
    }

    async fn take(&mut self, entry: Entry) -> Result<(), GateError> {
        let (entry, taken) = self
            .with(move |live| {
                let taken = live.session.take(&mut live.monitor, &entry);
                (entry, taken)
            })
            .await?;
        taken?;
        self.keep(entry).await
    }

    async fn read(&mut self, access: Access) -> Result<(), GateError> {
        let (mut access, weighed) = self
            .with(move |live| {
                let weighed = live.session.weigh(&mut live.monitor, &access);
                (access, weighed)
            })
            .await?;
        let verdict = weighed?;
        access.refused = verdict != Verdict::Allow;
        let (resource, refused) = (format!("{:?}", access.resource), access.refused);
        self.take(Entry::Read(access)).await?;
        if refused {
            return Err(GateError::Session(SessionError::Refused { resource, verdict: verdict.name() }));
        }
        Ok(())
    }

    /// Judges a call. A check whose asker is gone before its answer is kept leaves nothing behind.
    async fn check(&mut self, mut question: Question, told: oneshot::Sender<Checked>) {
        if question.clock.is_empty() {
            question.clock = now();
        }
        let judged = self.judge(&question).await;
        let (considered, decision) = match judged {
            Ok(judged) => judged,
            Err(error) => {
                let _nobody_waits = told.send(self.deny(&question, &error).await);
                return;
            }
        };
        if told.is_closed() {
            self.withdraw(&considered);
            return;
        }
        let checked = match self.answer(&question, &considered, decision).await {
            Ok(checked) => checked,
            Err(error) => denied(&error),
        };
        let _nobody_waits = told.send(checked);
    }

    async fn judge(&mut self, question: &Question) -> Result<(Considered, Decision), GateError> {
        self.adopt().await?;
        let question = question.clone();
        self.with(move |live| {
            let considered = live.session.consider(&mut live.monitor, &question);
            let decision = live.session.judge(&mut live.monitor, &considered, &question);
            (considered, decision)
        })
        .await
    }

    /// Keeps an answer, and lets the session know it.
    async fn answer(
        &mut self,
        question: &Question,
        considered: &Considered,
        decision: Decision,
    ) -> Result<Checked, GateError> {
        let live = self.live.as_ref().ok_or(GateError::BrokenOff)?;
        let answer = Session::answer(&live.policy, considered, &decision);
        self.keep(Entry::Check(question.clone(), answer.clone())).await?;
        let live = self.live.as_mut().ok_or(GateError::BrokenOff)?;
        live.session.settle(&mut live.monitor, considered, question, &answer);
        let may_run = decision.verdict == Verdict::Allow || live.session.mode() == Mode::Advise;
        Ok(Checked { decision, ticket: answer.ticket, policy: answer.policy, may_run })
    }

    /// Denies a check that could not be judged. The session is read again, so that nothing of the attempt stays.
    async fn deny(&mut self, question: &Question, error: &GateError) -> Checked {
        let fault = error.to_string();
        let kept = async {
            let (ticket, advises) =
                self.with(|live| (live.session.next_ticket(), live.session.mode() == Mode::Advise)).await?;
            let policy = self.shared.policy().program().digest.clone();
            let answer =
                Answer { verdict: Word::Deny, ticket, policy, rules: Vec::new(), fault: fault.clone() };
            self.keep(Entry::Check(question.clone(), answer.clone())).await?;
            if let Some(live) = &mut self.live {
                live.session.settle_fault(&mut live.monitor, question, &answer);
            }
            let decision = Decision::fault(fault.clone());
            Ok::<_, GateError>(Checked {
                decision,
                ticket: answer.ticket,
                policy: answer.policy,
                may_run: advises,
            })
        };
        kept.await.unwrap_or_else(|_| denied(error))
    }

    fn withdraw(&mut self, considered: &Considered) {
        match &mut self.live {
            Some(live) if !considered.is_unseen() => live.session.withdraw(),
            Some(_) | None => self.live = None,
        }
    }

    /// Lets the policy that is active now decide, and says so in the journal where it is another one than before.
    async fn adopt(&mut self) -> Result<(), GateError> {
        let policy = self.shared.policy();
        let digest = policy.program().digest.clone();
        let other = self
            .with(move |live| {
                if !Arc::ptr_eq(&live.policy, &policy) {
                    live.monitor.adopt(Arc::clone(&policy));
                    live.policy = policy;
                }
                live.served != live.policy.program().digest
            })
            .await?;
        if other {
            self.keep(Entry::Policy(digest.clone())).await?;
            if let Some(live) = &mut self.live {
                live.served = digest;
            }
        }
        Ok(())
    }

    /// Keeps an entry that the session has taken in. Where that fails, the session is read again from what is kept.
    async fn keep(&mut self, entry: Entry) -> Result<(), GateError> {
        let Some(live) = &mut self.live else { return Err(GateError::BrokenOff) };
        let kept = add(&self.shared, &self.key, &mut live.head, entry).await;
        if kept.is_err() {
            self.live = None;
        }
        kept
    }

    /// Works on the session, on a thread that may block. Work that takes too long is left to itself: the session is read
    /// again for what comes next.
    async fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Live) -> T + Send + 'static,
    ) -> Result<T, GateError> {
        let mut live = match self.live.take() {
            Some(live) => live,
            None => self.load().await?,
        };
        let job = tokio::task::spawn_blocking(move || {
            let result = work(&mut live);
            (live, result)
        });
        let limit = self.shared.deadline;
        match timeout(limit, job).await {
            Ok(Ok((live, result))) => {
                self.live = Some(live);
                Ok(result)
            }
            Ok(Err(_)) => Err(GateError::BrokenOff),
            Err(_) => Err(GateError::Deadline { limit }),
        }
    }

    /// Reads the session from its journal, or opens it.
    async fn load(&self) -> Result<Box<Live>, GateError> {
        let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
        let restored = tokio::task::spawn_blocking(move || {
            let lines = shared.store.lines(&key)?;
            Live::restore(&shared.policy(), &lines)
        });
        if let Some(live) = restored.await.map_err(|_| GateError::BrokenOff)?? {
            return Ok(live);
        }
        let policy = self.shared.policy();
        let opener = self.opener.clone();
        let opening = Opening {
            key: self.key.clone(),
            principal: opener.principal,
            roles: opener.roles,
            entity: opener.entity,
            policy: policy.program().digest.clone(),
            secret: secret()?,
            ..self.shared.opening.clone()
        };
        let mut live = Live::open(policy, &opening)?;
        add(&self.shared, &self.key, &mut live.head, Entry::Open(opening)).await?;
        Ok(live)
    }
}

/// Writes an entry, and waits until it is kept.
async fn add(shared: &Shared, key: &SessionKey, head: &mut Head, entry: Entry) -> Result<(), GateError> {
    let mut next = head.clone();
    let line = next.write(entry)?;
    let (told, kept) = oneshot::channel();
    let done = Box::new(move |result| {
        let _nobody_waits = told.send(result);
    });
    shared.store.append(key, head.lines, line, done);
    kept.await.map_err(|_| GateError::BrokenOff)??;
    *head = next;
    Ok(())
}

fn denied(error: &GateError) -> Checked {
    let decision = Decision::fault(error.to_string());
    Checked { decision, ticket: String::new(), policy: String::new(), may_run: false }
}

/// Sixteen random bytes.
fn secret() -> Result<String, GateError> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| GateError::NoRandom { why: error.to_string() })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Live {
    fn open(policy: Arc<Policy>, opening: &Opening) -> Result<Box<Self>, GateError> {
        let mut monitor = Monitor::new(Arc::clone(&policy), Settings::default());
        let session = Session::open(&mut monitor, opening)?;
        let parts = if opening.full_parts { Parts::Full } else { Parts::Supported };
        let feed = Feed::new(parts, &opening.key.session);
        let served = opening.policy.clone();
        let caller = Caller {
            principal: opening.principal.clone(),
            roles: opening.roles.clone(),
            entity: opening.entity.clone(),
            tenant: Some(opening.key.tenant.clone()),
        };
        Ok(Box::new(Self { monitor, session, caller, feed, head: Head::default(), policy, served }))
    }

    /// The session that these lines hold; none for no lines. Nothing is judged again: what was answered counts.
    fn restore(policy: &Arc<Policy>, lines: &[String]) -> Result<Option<Box<Self>>, GateError> {
        let mut head = Head::default();
        let mut live = None;
        for line in lines {
            match (head.read(line)?, &mut live) {
                (Entry::Open(opening), _) => live = Some(Self::open(Arc::clone(policy), &opening)?),
                (entry, Some(live)) => live.again(entry)?,
                // A head takes nothing before an opening.
                (_, None) => return Err(GateError::BrokenOff),
            }
        }
        if let Some(live) = &mut live {
            live.head = head;
        }
        Ok(live)
    }

    /// Takes in an entry of the journal.
    fn again(&mut self, entry: Entry) -> Result<(), GateError> {
        match entry {
            Entry::Append(appended) => {
                // The session stops as it did when the event came.
                let _as_before = self.append(&appended.event);
            }
            Entry::Check(question, answer) if answer.fault.is_empty() => {
                let considered = self.session.consider(&mut self.monitor, &question);
                self.session.settle(&mut self.monitor, &considered, &question, &answer);
            }
            Entry::Check(question, answer) => {
                self.session.settle_fault(&mut self.monitor, &question, &answer);
            }
            Entry::Policy(digest) => self.served = digest,
            entry => self.session.take(&mut self.monitor, &entry)?,
        }
        Ok(())
    }

    fn append(&mut self, event: &str) -> Result<Appended, GateError> {
        match self.feed.take(event) {
            Ok(Fed::Known) => return Ok(Appended::Known),
            Ok(Fed::New(event)) => self.session.append(&mut self.monitor, event),
            Err(stop) if stop.kind == StopKind::ConflictingEvent => {
                return Err(GateError::Conflict { why: stop.text });
            }
            Err(stop) => self.session.stop(&stop),
        }
        match self.session.stopped() {
            Some(stop) => Err(GateError::Stopped { why: stop.text.clone() }),
            None => Ok(Appended::New),
        }
    }
}
