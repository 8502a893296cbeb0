//! The service from its start to its end.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use hyper_util::server::graceful::GracefulShutdown;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::Semaphore;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::gate::{Gate, Reloader};
use crate::monitor::Caller;
use crate::serve::connection::connect;
use crate::serve::door::{Door, Peers};
use crate::serve::listen::{Address, Listener};
use crate::serve::metrics::Metrics;
use crate::serve::seats::Seats;
use crate::serve::tls::Tls;
use crate::serve::tokens::Tokens;
use crate::store::Journals;

/// Open files that are not connections: the store, signals, what is being read.
const OTHER_FILES: u64 = 64;

/// How long no connection is taken after one could not be.
const RECOVERY: Duration = Duration::from_millis(100);

/// How long threads are waited for at the end.
const THREADS: Duration = Duration::from_secs(1);

/// What requests and connections may take.
#[derive(Debug, Clone)]
pub struct Limits {
    /// Bytes of the body of a request.
    pub body: usize,
    /// Connections at once. There are fewer where the system lets the process open fewer files.
    pub connections: usize,
    /// Requests at once.
    pub requests: usize,
    /// Sessions of one tenant in memory.
    pub sessions: usize,
    /// How long a session stays in memory that nobody asks about.
    pub idle_session: Duration,
    /// How long a connection stays open on which nothing moves.
    pub idle_connection: Duration,
    /// How long the head of a request may take to come.
    pub header_time: Duration,
    /// How long its body may take to come.
    pub body_time: Duration,
    /// How long its answer may take.
    pub request: Duration,
    /// How long requests under way may take at the end.
    pub drain: Duration,
}

/// What a service is made of.
#[derive(Debug)]
pub struct Setup {
    /// What decides.
    pub gate: Gate,
    /// What reads its policies anew.
    pub reloader: Reloader,
    /// The decision log, where the gate writes one.
    pub decisions: Option<PathBuf>,
    /// Where the gate keeps its journals.
    pub store: Journals,
    /// Where it listens.
    pub address: Address,
    /// Who may ask; without tokens, whoever reaches the socket.
    pub tokens: Option<Tokens>,
    /// Who asks where there are no tokens.
    pub local: Caller,
    /// Whose processes may ask through a Unix socket.
    pub peers: Peers,
    /// Certificate and key.
    pub tls: Option<Tls>,
    /// What requests and connections may take.
    pub limits: Limits,
}

/// Why a service does not start, or ended.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum ServeError {
    #[error(
        "`{address}` is reached from other machines, and there are no tokens: give --tokens, or listen at `127.0.0.1`"
    )]
    Open { address: Address },
    #[error("TLS is not spoken through a Unix socket: leave out --tls-cert and --tls-key")]
    TlsOnSocket,
    #[error("`{address}` cannot be listened at: {why}")]
    Address { address: Address, why: io::Error },
    #[error("the system gives no {what}: {why}")]
    System { what: &'static str, why: io::Error },
}

/// Something that an operator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// It listens there.
    Listening(String),
    /// It listens without tokens.
    NoTokens,
    /// Tokens travel as plain text.
    PlainTokens,
    /// A connection could not be taken.
    NotAccepted(String),
    /// It takes no more connections.
    Draining,
    /// It ends with connections that did not.
    Cut(i64),
    /// It ends.
    Ended,
}

impl Notice {
    /// Whether it should be told to those too who want to hear of nothing but faults.
    #[must_use]
    pub fn is_warning(&self) -> bool {
        match self {
            Self::PlainTokens | Self::NotAccepted(_) | Self::Cut(_) => true,
            Self::Listening(_) | Self::NoTokens | Self::Draining | Self::Ended => false,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listening(address) => write!(f, "listening at {address}"),
            Self::NoTokens => write!(
                f,
                "no tokens: whoever reaches the socket on this machine may run sessions, and nobody may approve or \
                 administer"
            ),
            Self::PlainTokens => write!(
                f,
                "warning: tokens travel as plain text: give --tls-cert and --tls-key, or put a proxy that speaks TLS before it"
            ),
            Self::NotAccepted(why) => write!(f, "warning: a connection cannot be taken: {why}"),
            Self::Draining => write!(f, "ending: requests under way are finished"),
            Self::Cut(count) => {
                write!(f, "warning: {count} connections were cut, since they did not end in time")
            }
            Self::Ended => write!(f, "ended"),
        }
    }
}

/// What all connections share.
#[derive(Debug)]
pub(crate) struct Service {
    pub(crate) gate: Gate,
    pub(crate) reloader: Reloader,
    /// The decision log, where there is one.
    pub(crate) decisions: Option<PathBuf>,
    /// Room for one reader of it.
    pub(crate) log_readers: Semaphore,
    pub(crate) store: Journals,
    pub(crate) door: Door,
    pub(crate) peers: Peers,
    pub(crate) tls: Option<Tls>,
    pub(crate) limits: Limits,
    pub(crate) seats: Seats,
    pub(crate) metrics: Metrics,
    /// Room for requests.
    pub(crate) requests: Semaphore,
    /// Room for connections.
    pub(crate) sockets: Arc<Semaphore>,
    draining: AtomicBool,
}

impl Service {
    /// Whether it is about to end.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }
}

/// A service that listens.
#[derive(Debug)]
pub struct Server {
    runtime: Runtime,
    listener: Listener,
    address: Address,
    signals: Signals,
    service: Arc<Service>,
}

#[derive(Debug)]
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    /// Waits for the word to end.
    async fn end(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

impl Server {
    /// Listens. Connections wait until it runs.
    ///
    /// # Errors
    /// Where the address is open to other machines and there are no tokens, or cannot be listened at.
    pub fn bind(setup: Setup) -> Result<Self, ServeError> {
        let Setup { gate, reloader, decisions, store, address, tokens, local, peers, tls, limits } = setup;
        if tokens.is_none() && !address.is_local() {
            return Err(ServeError::Open { address });
        }
        if tls.is_some() && matches!(address, Address::Unix(_)) {
            return Err(ServeError::TlsOnSocket);
        }
        let system = |what| move |why| ServeError::System { what, why };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
        let runtime = runtime.map_err(system("threads"))?;
        let (listener, signals) = runtime.block_on(async {
            let signals = Signals::new().map_err(system("signals"))?;
            let bound = Listener::bind(&address, !peers.also.is_empty()).await;
            let listener = bound.map_err(|why| ServeError::Address { address: address.clone(), why })?;
            Ok::<_, ServeError>((listener, signals))
        })?;
        let address = listener.address().map_err(system("address"))?;
        let sockets = Arc::new(Semaphore::new(connections(limits.connections)));
        let service = Service {
            gate,
            reloader,
            decisions,
            log_readers: Semaphore::new(1),
            store,
            door: Door { tokens, local, own: peers.own },
            peers,
            tls,
            seats: Seats::new(limits.sessions, limits.idle_session),
            metrics: Metrics::new(),
            requests: Semaphore::new(limits.requests.min(Semaphore::MAX_PERMITS)),
            sockets,
            limits,
            draining: AtomicBool::new(false),
        };
        Ok(Self { runtime, listener, address, signals, service: Arc::new(service) })
    }

    /// What is to be known before it runs.
    #[must_use]
    pub fn notices(&self) -> Vec<Notice> {
        let scheme = match (&self.address, &self.service.tls) {
            (Address::Unix(_), _) => "",
            (Address::Tcp(_), Some(_)) => "https://",
            (Address::Tcp(_), None) => "http://",
        };
        let mut notices = vec![Notice::Listening(format!("{scheme}{}", self.address))];
        match &self.service.door.tokens {
            None => notices.push(Notice::NoTokens),
            Some(_) if self.service.tls.is_none() && !self.address.is_local() => {
                notices.push(Notice::PlainTokens);
            }
            Some(_) => {}
        }
        notices
    }

    /// Serves until SIGTERM or SIGINT, then finishes what is under way. A second signal cuts that short.
    pub fn run(self, say: &mut dyn FnMut(&Notice)) {
        let Self { runtime, listener, address: _, signals, service } = self;
        runtime.block_on(serve(&service, listener, signals, say));
        runtime.shutdown_timeout(THREADS);
    }
}

/// Takes connections until the word to end comes, and lets them finish then.
async fn serve(
    service: &Arc<Service>,
    listener: Listener,
    mut signals: Signals,
    say: &mut dyn FnMut(&Notice),
) {
    let graceful = GracefulShutdown::new();
    let mut sweep = interval((service.seats.idle() / 4).max(RECOVERY));
    sweep.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut fails = false;
    loop {
        tokio::select! {
            _ = signals.terminate.recv() => break,
            _ = signals.interrupt.recv() => break,
            _ = sweep.tick() => service.seats.sweep(),
            accepted = listener.accept() => match accepted {
                Ok(stream) => {
                    fails = false;
                    connect(service, stream, graceful.watcher());
                }
                Err(why) => {
                    if !fails {
                        say(&Notice::NotAccepted(why.to_string()));
                    }
                    fails = true;
                    sleep(RECOVERY).await;
                }
            },
        }
    }
    service.draining.store(true, Ordering::Relaxed);
    drop(listener);
    say(&Notice::Draining);
    let whole = tokio::select! {
        () = graceful.shutdown() => true,
        () = sleep(service.limits.drain) => false,
        () = signals.end() => false,
    };
    say(&if whole { Notice::Ended } else { Notice::Cut(service.metrics.open()) });
}

/// How many connections there may be: those wanted, or as many as the process may open files.
fn connections(wanted: usize) -> usize {
    let needed = u64::try_from(wanted).unwrap_or(u64::MAX).saturating_add(OTHER_FILES);
    let before = getrlimit(Resource::Nofile);
    let raised = match (before.current, before.maximum) {
        (Some(current), maximum) if current < needed => {
            Some(needed.min(maximum.unwrap_or(needed))).filter(|&raised| raised > current)
        }
        _ => None,
    };
    if let Some(raised) = raised {
        // Where the system does not let it, there are fewer connections.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: before.maximum });
    }
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let room = usize::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(usize::MAX);
    wanted.min(room).clamp(1, Semaphore::MAX_PERMITS)
}
