//! The task of one session: it alone holds the session's monitor, and does one thing after another.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::decision::{Decision, Verdict};
use crate::engine::StopFlag;
use crate::gate::explain;
use crate::gate::log::{self, Verdicted};
use crate::gate::shadow::{self, Shadowing, Shadows};
use crate::gate::{Appended, Checked, Explained, GateError, Shared};
use crate::monitor::{Caller, Monitor, Settings};
use crate::policies::Served;
use crate::recording::decisions::Micros;
use crate::recording::journal::{
    Access, Adopted, Answer, Entry, Head, Mode, Opening, Question, SessionKey, Shelf, Word,
};
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
    Explain {
        ticket: String,
        told: oneshot::Sender<Result<Explained, GateError>>,
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
    /// What the journal holds of requests to models.
    shelf: Shelf,
    /// Ends what is worked on.
    stop: StopFlag,
    /// What decides.
    served: Arc<Served>,
    /// What the journal says decides.
    adopted: Adopted,
    /// What is decided beside it.
    shadows: Shadows,
}

struct Worker {
    shared: Arc<Shared>,
    key: SessionKey,
    /// For whom it is opened where it has no journal.
    opener: Caller,
    /// Who runs it, as its journal says; none until that was read.
    runs: Option<Caller>,
    /// None until it is needed, and after anything went wrong: then it is read from the journal.
    live: Option<Box<Live>>,
    /// A journal that is being read: what comes next takes it over, so that a long one is read once.
    coming: Option<Reading>,
    /// Work that took too long and goes on until it notices: nothing else is begun before it ends.
    late: Option<JoinHandle<()>>,
    /// When the command that is served has to be done.
    due: Instant,
    /// A policy whose shadows took too long once, and are not asked any more.
    dark: Option<Arc<Served>>,
}

/// A call that was judged.
struct Judged {
    considered: Considered,
    decision: Decision,
    /// What decided.
    served: Arc<Served>,
    /// How many events the session has.
    events: u64,
    shadows: Vec<Shadowing>,
    micros: Micros,
}

/// Reads a session from its journal; none where there is no journal.
type Reading = JoinHandle<Result<Option<Box<Live>>, GateError>>;

/// Serves one session until nobody holds it any more.
pub(crate) async fn run(
    shared: Arc<Shared>,
    key: SessionKey,
    opener: Caller,
    mut commands: mpsc::Receiver<Command>,
) {
    let due = Instant::now();
    let mut worker =
        Worker { shared, key, opener, runs: None, live: None, coming: None, late: None, due, dark: None };
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
        self.due = Instant::now() + self.shared.deadline;
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
            Command::Explain { ticket, told } => {
                let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
                // Beside the session, which goes on.
                tokio::spawn(async move {
                    let _nobody_waits = told.send(explain::explain(&shared, key, ticket).await);
                });
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
        self.shared.fits(&event)?;
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
                let taken = live.take(&entry);
                // Short requests are written on the thread that may block, since they are read for it.
                let entry = if taken.is_ok() { live.shelf.short(entry) } else { entry };
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
        let refused = access.refused.then(|| SessionError::refused(&access.resource, verdict));
        let kept = self.keep(Entry::Read(access)).await;
        if refused.is_some() {
            // The session has the read that must not be: without it, it stands in the journal.
            self.live = None;
        }
        kept?;
        refused.map_or(Ok(()), |refused| Err(GateError::Session(refused)))
    }

    /// Judges a call. A check whose asker is gone before its answer is kept leaves nothing behind.
    async fn check(&mut self, mut question: Question, told: oneshot::Sender<Checked>) {
        if question.clock.is_empty() {
            question.clock = now();
        }
        let judged = match self.judge(&question).await {
            Ok(judged) => judged,
            Err(error) => {
                let _nobody_waits = told.send(self.deny(&question, &error).await);
                return;
            }
        };
        if told.is_closed() {
            self.withdraw(&judged.considered);
            return;
        }
        let logged = self.log(&question, &judged).await;
        let checked = match logged {
            // What is no allow is said all the same.
            Err(error) if judged.decision.verdict == Verdict::Allow => {
                self.withdraw(&judged.considered);
                self.deny(&question, &error).await
            }
            Ok(()) | Err(_) => match self.answer(&question, &judged).await {
                Ok(checked) => checked,
                Err(error) => self.denied(&question, &error).await,
            },
        };
        let _nobody_waits = told.send(checked);
    }

    async fn judge(&mut self, question: &Question) -> Result<Judged, GateError> {
        let started = log::started();
        self.adopt().await?;
        let asked = question.clone();
        let judged = self.with(move |live| {
            let considered = live.session.consider(&mut live.monitor, &asked);
            let decision = live.session.judge(&mut live.monitor, &considered, &asked);
            let (events, _) = live.session.history();
            let micros = Micros { verdict: log::since(started), shadows: 0 };
            let (served, shadows) = (Arc::clone(&live.served), Vec::new());
            Judged { considered, decision, served, events, shadows, micros }
        });
        let mut judged = judged.await?;
        if !judged.served.shadows.is_empty() {
            self.beside(question, &mut judged).await?;
        }
        Ok(judged)
    }

    /// Has the shadows decide. What goes wrong with them changes no verdict: the session is read again, and they are not
    /// asked any more while the same policies serve.
    async fn beside(&mut self, question: &Question, judged: &mut Judged) -> Result<(), GateError> {
        let served = Arc::clone(&judged.served);
        if self.dark.as_ref().is_some_and(|dark| Arc::ptr_eq(dark, &served)) {
            judged.shadows = shadow::dark(&served, "it took too long before, or broke off");
            return Ok(());
        }
        let (started, due) = (log::started(), self.due);
        let (asked, considered) = (question.clone(), judged.considered.clone());
        let came = self.with(move |live| {
            let Live { session, monitor, shadows, .. } = live;
            shadows.judge(session, monitor, &considered, &asked)
        });
        match came.await {
            Ok(shadows) => judged.shadows = shadows,
            Err(error) => {
                judged.shadows = shadow::dark(&served, &error.to_string());
                self.dark = Some(served);
                self.due = Instant::now() + self.shared.deadline;
                let asked = question.clone();
                judged.considered =
                    self.with(move |live| live.session.consider(&mut live.monitor, &asked)).await?;
            }
        }
        judged.micros.shadows = log::since(started);
        self.due = self.due.max(due);
        Ok(())
    }

    /// Who runs the session.
    fn principal(&self) -> Option<&str> {
        self.runs.as_ref().unwrap_or(&self.opener).principal.as_deref()
    }

    /// Writes a verdict to the decision log, where there is one.
    async fn log(&mut self, question: &Question, judged: &Judged) -> Result<(), GateError> {
        let Some(logging) = &self.shared.log else { return Ok(()) };
        let Judged { considered, decision, served, events, shadows, micros } = judged;
        let verdicted = Verdicted {
            key: &self.key,
            question,
            principal: self.principal(),
            check: considered.ticket(),
            events: *events,
            decision,
            may_run: decision.verdict == Verdict::Allow || served.mode == Mode::Advise,
            served: Some(served),
            unjudged: considered.refusal(),
            shadows,
            micros: *micros,
        };
        logging.write(&verdicted, self.shared.deadline).await
    }

    /// Writes the denial of a check that could not be judged to the decision log. That it cannot be written takes nothing
    /// from the denial.
    async fn log_fault(&self, question: &Question, checked: &Checked, events: u64, error: &GateError) {
        let Some(logging) = &self.shared.log else { return };
        if matches!(error, GateError::Log(_)) {
            return;
        }
        let fault = error.to_string();
        let served = self.shared.served(&self.key.tenant).ok();
        let verdicted = Verdicted {
            key: &self.key,
            question,
            principal: self.principal(),
            check: &checked.ticket,
            events,
            decision: &checked.decision,
            may_run: checked.may_run,
            served: served.as_deref(),
            unjudged: Some(&fault),
            shadows: &[],
            micros: Micros::default(),
        };
        // The line of a slow log comes behind that of the verdict that was not given for it.
        let limit =
            if matches!(error, GateError::LogSlow { .. }) { Duration::ZERO } else { self.shared.deadline };
        let _denied_all_the_same = logging.write(&verdicted, limit).await;
    }

    /// The denial of a check whose answer cannot be kept.
    async fn denied(&self, question: &Question, error: &GateError) -> Checked {
        let checked = denied(error);
        self.log_fault(question, &checked, 0, error).await;
        checked
    }

    /// Keeps an answer, and lets the session know it.
    async fn answer(&mut self, question: &Question, judged: &Judged) -> Result<Checked, GateError> {
        let Judged { considered, decision, served, .. } = judged;
        let answer = Session::answer(&served.policy, considered, decision);
        self.keep(Entry::Check(question.clone(), answer.clone())).await?;
        let live = self.live.as_mut().ok_or(GateError::BrokenOff)?;
        live.session.settle(&mut live.monitor, considered, question, &answer);
        let may_run = decision.verdict == Verdict::Allow || live.session.mode() == Mode::Advise;
        Ok(Checked { decision: decision.clone(), ticket: answer.ticket, policy: answer.policy, may_run })
    }

    /// Denies a check that could not be judged. The session is read again, so that nothing of the attempt stays. That may
    /// take as long again; a denial that cannot be kept by then is given all the same.
    async fn deny(&mut self, question: &Question, error: &GateError) -> Checked {
        self.due = Instant::now() + self.shared.deadline;
        let fault = error.to_string();
        let kept = async {
            let (ticket, advises, policy, events) = self
                .with(|live| {
                    let advises = live.session.mode() == Mode::Advise;
                    let (events, _) = live.session.history();
                    (live.session.next_ticket(), advises, live.adopted.policy.clone(), events)
                })
                .await?;
            let answer =
                Answer { verdict: Word::Deny, ticket, policy, rules: Vec::new(), fault: fault.clone() };
            self.keep(Entry::Check(question.clone(), answer.clone())).await?;
            if let Some(live) = &mut self.live {
                live.session.settle_fault(&mut live.monitor, question, &answer);
            }
            let decision = Decision::fault(fault.clone());
            let checked =
                Checked { decision, ticket: answer.ticket, policy: answer.policy, may_run: advises };
            Ok::<_, GateError>((checked, events))
        };
        let (checked, events) = kept.await.unwrap_or_else(|_| (denied(error), 0));
        self.log_fault(question, &checked, events, error).await;
        checked
    }

    fn withdraw(&mut self, considered: &Considered) {
        match &mut self.live {
            Some(live) if !considered.is_unseen() => live.session.withdraw(),
            Some(_) | None => self.live = None,
        }
    }

    /// Lets the policy that is active now decide, and says so in the journal where it is another one than before.
    async fn adopt(&mut self) -> Result<(), GateError> {
        let served = self.shared.served(&self.key.tenant)?;
        let adopted = self.shared.adopted(&served);
        let shared = Arc::clone(&self.shared);
        let now = adopted.clone();
        let other = self
            .with(move |live| {
                if !Arc::ptr_eq(&live.served, &served) {
                    live.monitor.adopt(Arc::clone(&served.policy));
                    live.shadows = Shadows::of(&served, &live.monitor, &shared.opening.metadata);
                    live.served = served;
                }
                live.adopted != now
            })
            .await?;
        if other {
            self.take(Entry::Policy(adopted.clone())).await?;
            if let Some(live) = &mut self.live {
                live.adopted = adopted;
            }
        }
        Ok(())
    }

    /// Keeps an entry that the session has taken in. Where that fails, the session is read again from what is kept.
    async fn keep(&mut self, entry: Entry) -> Result<(), GateError> {
        let Some(live) = &mut self.live else { return Err(GateError::BrokenOff) };
        let kept = add(&self.shared, &self.key, &mut live.head, entry, self.due).await;
        if kept.is_err() {
            self.live = None;
        }
        kept
    }

    /// Works on the session, on a thread that may block. Work that takes too long is stopped: the session is read again for
    /// what comes next.
    async fn with<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut Live) -> T + Send + 'static,
    ) -> Result<T, GateError> {
        if let Some(late) = &mut self.late {
            let limit = self.shared.deadline;
            let _broke_off = timeout_at(self.due, late).await.map_err(|_| GateError::Deadline { limit })?;
            self.late = None;
        }
        let mut live = match self.live.take() {
            Some(live) => live,
            None => self.load().await?,
        };
        if self.runs.is_none() {
            self.runs = Some(live.caller.clone());
        }
        let stop = live.stop.clone();
        let (told, done) = oneshot::channel();
        let job = tokio::task::spawn_blocking(move || {
            let result = work(&mut live);
            let _nobody_waits = told.send((live, result));
        });
        match timeout_at(self.due, done).await {
            Ok(Ok((live, result))) => {
                self.live = Some(live);
                Ok(result)
            }
            Ok(Err(_)) => Err(GateError::BrokenOff),
            Err(_) => {
                stop.raise();
                self.late = Some(job);
                Err(GateError::Deadline { limit: self.shared.deadline })
            }
        }
    }

    /// Reads the session from its journal, or opens it.
    async fn load(&mut self) -> Result<Box<Live>, GateError> {
        let mut reading = match self.coming.take() {
            Some(reading) => reading,
            None => self.read_journal(),
        };
        let Ok(restored) = timeout_at(self.due, &mut reading).await else {
            self.coming = Some(reading);
            return Err(GateError::Deadline { limit: self.shared.deadline });
        };
        if let Some(live) = restored.map_err(|_| GateError::BrokenOff)?? {
            return Ok(live);
        }
        let served = self.shared.served(&self.key.tenant)?;
        let Adopted { policy, mode, metadata } = self.shared.adopted(&served);
        let opener = self.opener.clone();
        let opening = Opening {
            key: self.key.clone(),
            principal: opener.principal,
            roles: opener.roles,
            entity: opener.entity,
            policy,
            mode,
            metadata,
            secret: secret()?,
            ..self.shared.opening.clone()
        };
        let mut live = Live::open(&self.shared, served, &opening)?;
        add(&self.shared, &self.key, &mut live.head, Entry::Open(opening), self.due).await?;
        Ok(live)
    }

    fn read_journal(&self) -> Reading {
        let (shared, key) = (Arc::clone(&self.shared), self.key.clone());
        tokio::task::spawn_blocking(move || {
            let served = shared.served(&key.tenant)?;
            let lines = shared.store.lines(&key)?;
            Live::restore(&shared, &served, &lines)
        })
    }
}

/// Writes an entry, and waits until it is kept. Where that fails or takes too long, nobody knows whether it is.
async fn add(
    shared: &Shared,
    key: &SessionKey,
    head: &mut Head,
    entry: Entry,
    due: Instant,
) -> Result<(), GateError> {
    let number = head.lines;
    let line = head.write(entry)?;
    let (told, kept) = oneshot::channel();
    let done = Box::new(move |result| {
        let _nobody_waits = told.send(result);
    });
    shared.store.append(key, number, line, done);
    let limit = shared.deadline;
    let kept = timeout_at(due, kept).await.map_err(|_| GateError::Deadline { limit })?;
    Ok(kept.map_err(|_| GateError::BrokenOff)??)
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
    fn open(shared: &Shared, served: Arc<Served>, opening: &Opening) -> Result<Box<Self>, GateError> {
        let stop = StopFlag::default();
        let settings = Settings { stop: Some(stop.clone()), ..Settings::default() };
        let mut monitor = Monitor::new(Arc::clone(&served.policy), settings);
        let session = Session::open(&mut monitor, opening)?;
        let parts = if opening.full_parts { Parts::Full } else { Parts::Supported };
        let feed = Feed::new(parts, &opening.key.session);
        let adopted = Adopted {
            policy: opening.policy.clone(),
            mode: opening.mode,
            metadata: opening.metadata.clone(),
        };
        let caller = Caller {
            principal: opening.principal.clone(),
            roles: opening.roles.clone(),
            entity: opening.entity.clone(),
            tenant: Some(opening.key.tenant.clone()),
        };
        let (head, shelf) = (Head::default(), Shelf::default());
        let shadows = Shadows::of(&served, &monitor, &shared.opening.metadata);
        Ok(Box::new(Self { monitor, session, caller, feed, head, shelf, stop, served, adopted, shadows }))
    }

    /// The session that these lines hold; none for no lines. Nothing is judged again: what was answered counts.
    fn restore(
        shared: &Shared,
        served: &Arc<Served>,
        lines: &[String],
    ) -> Result<Option<Box<Self>>, GateError> {
        let mut head = Head::default();
        let mut live = None;
        for line in lines {
            match (head.read(line)?, &mut live) {
                (Entry::Open(opening), _) => live = Some(Self::open(shared, Arc::clone(served), &opening)?),
                (entry, Some(live)) => live.again(entry)?,
                // A head takes nothing before an opening.
                (_, None) => return Err(GateError::BrokenOff),
            }
        }
        if let Some(live) = &mut live {
            live.head = head;
            live.shelf.close();
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
            Entry::Policy(adopted) => {
                self.session.take(&mut self.monitor, &Entry::Policy(adopted.clone()))?;
                self.adopted = adopted;
            }
            entry => {
                let whole =
                    self.shelf.whole(entry).map_err(|error| GateError::Unfit { why: error.to_string() })?;
                self.take(&whole)?;
            }
        }
        Ok(())
    }

    /// Takes in what is neither an opening nor an event nor a check.
    fn take(&mut self, entry: &Entry) -> Result<(), GateError> {
        if let Entry::Unsent(unsent) = entry {
            self.feed.unsent(&unsent.ids).map_err(|stop| GateError::Conflict { why: stop.text })?;
        }
        Ok(self.session.take(&mut self.monitor, entry)?)
    }

    fn append(&mut self, event: &str) -> Result<Appended, GateError> {
        match self.feed.take(event) {
            Ok(Fed::Known) => return Ok(Appended::Known),
            Ok(Fed::New(event)) => self.session.append(&mut self.monitor, &event),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::Gate;
    use crate::monitor::Policy;
    use crate::program::{NoIncludes, check};
    use crate::store::Journals;

    /// A functor that panics on one text.
    const FRAGILE: &str = r#"
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, $CallTool(tool, _)), @panics(tool) = 1.
"#;

    #[test]
    fn a_panic_denies_its_check_and_no_other() {
        let program = check(&[("p.dl".to_owned(), FRAGILE.to_owned())], &mut NoIncludes).unwrap();
        let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
        let store = Journals::memory();
        let gate = Gate::builder().policy(Arc::new(Policy::new(program))).store(store.clone()).caller(caller);
        let gate = gate.deadline(Duration::from_secs(120)).build().unwrap();
        let key = SessionKey { session: "s".to_owned(), ..SessionKey::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let session = gate.session(key.clone());
            for (id, tool, may_run) in
                [("a", "fine", true), ("b", "now", false), ("c", "fine", true), ("d", "now", false)]
            {
                let part = format!(r#"{{"functionCall":{{"id":"{id}","name":"{tool}","args":{{}}}}}}"#);
                let event = format!(r#"{{"id":"{id}","author":"bot","content":{{"parts":[{part}]}}}}"#);
                session.append(&event).await.unwrap();
                let (events, digest) = session.history().await.unwrap();
                let (call_id, tool, agent) = (id.to_owned(), tool.to_owned(), "bot".to_owned());
                let arguments = "{}".to_owned();
                let question =
                    Question { call_id, tool, arguments, agent, events, digest, ..Question::default() };
                let checked = session.check(question).await;
                assert_eq!((checked.may_run, checked.ticket.is_empty()), (may_run, false), "{checked:?}");
                let why = checked.decision.reasons.first().map_or("", |reason| reason.text.as_str());
                assert_eq!(why.contains("broke off"), !may_run, "{why}");
            }
        });
        let lines = store.lines(&key).unwrap();
        let text = |word: &str| lines.iter().filter(|line| line.contains(word)).count();
        assert_eq!((lines.len(), text("broke off"), text(r#""verdict":"allow""#)), (9, 2, 2));
    }
}
