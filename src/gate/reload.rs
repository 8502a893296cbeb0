//! Other policies for a gate that runs: on a signal, by command, or when a manifest changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::gate::Gate;
use crate::policies::{self, DroppedDenials, PoliciesError, PolicySet};

/// How often a manifest is looked at.
const EVERY: Duration = Duration::from_secs(2);

type Load = dyn Fn() -> Result<PolicySet, PoliciesError> + Send + Sync;

/// Reads the policies of a gate again. Whatever goes wrong, the gate serves what it served.
#[derive(Clone)]
pub struct Reloader {
    gate: Gate,
    load: Arc<Load>,
    /// The folder whose manifest is watched; none for none.
    watched: Option<PathBuf>,
}

impl std::fmt::Debug for Reloader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reloader")
            .field("gate", &self.gate)
            .field("watched", &self.watched)
            .finish_non_exhaustive()
    }
}

impl Reloader {
    /// Reads the policies of the gate with `load`, each time anew.
    pub fn new(
        gate: Gate,
        load: impl Fn() -> Result<PolicySet, PoliciesError> + Send + Sync + 'static,
    ) -> Self {
        Self { gate, load: Arc::new(load), watched: None }
    }

    /// Reads them when the manifest of that folder changes, too.
    #[must_use]
    pub fn watching(self, folder: PathBuf) -> Self {
        Self { watched: Some(folder), ..self }
    }

    /// Reads the policies, and lets them serve from the next check of each session on. The new digest. What became of it is
    /// in the decision log and in [`Gate::serving`].
    ///
    /// # Errors
    /// Where they cannot be read, or drop all denials and that is not confirmed.
    pub fn reload(&self, dropped: DroppedDenials) -> Result<String, PoliciesError> {
        let loaded = (self.load)().and_then(|set| {
            let digest = set.digest().to_owned();
            self.gate.replace(set, dropped).map(|()| digest)
        });
        if let Err(error) = &loaded {
            self.gate.refuse(error.to_string());
        }
        loaded
    }

    /// Reads the policies, and says whether they could serve in place of those that do: their digest. Nothing changes.
    ///
    /// # Errors
    /// Where they cannot be read, or drop all denials.
    pub fn rehearse(&self) -> Result<String, PoliciesError> {
        let set = (self.load)()?;
        set.follows(&self.gate.policies(), DroppedDenials::Refused)?;
        Ok(set.digest().to_owned())
    }

    /// Reads the policies on SIGHUP, and when the watched manifest changes, on a thread of its own until the process ends.
    /// `tell` hears of each time.
    ///
    /// # Errors
    /// Where the system gives no thread.
    pub fn run(
        self,
        tell: impl Fn(&Result<String, PoliciesError>) + Send + 'static,
    ) -> Result<(), std::io::Error> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        // From here on the signal does not end the process.
        let entered = runtime.enter();
        let mut hangup = Hangup::new()?;
        drop(entered);
        let work = move || {
            runtime.block_on(async move {
                let mut known = self.stamp();
                loop {
                    let signalled = match self.watched {
                        Some(_) => tokio::time::timeout(EVERY, hangup.next()).await.is_ok(),
                        None => {
                            hangup.next().await;
                            true
                        }
                    };
                    let now = self.stamp();
                    if signalled || now != known {
                        tell(&self.reload(DroppedDenials::Refused));
                    }
                    known = now;
                }
            });
        };
        std::thread::Builder::new().name("policies".to_owned()).spawn(work).map(|_| ())
    }

    /// The digest of the watched manifest; none where it cannot be read, or nothing is watched.
    fn stamp(&self) -> Option<String> {
        self.watched.as_deref().and_then(|folder| policies::stamp(folder).ok())
    }
}

/// The signal that asks for a reload.
#[cfg(unix)]
struct Hangup(tokio::signal::unix::Signal);

#[cfg(unix)]
impl Hangup {
    fn new() -> std::io::Result<Self> {
        tokio::signal::unix::signal(tokio::signal::unix::SignalKind::hangup()).map(Self)
    }

    async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// There is none on this system.
#[cfg(not(unix))]
struct Hangup;

#[cfg(not(unix))]
impl Hangup {
    #[expect(clippy::unnecessary_wraps, reason = "elsewhere it can fail")]
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}
