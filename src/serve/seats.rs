//! Sessions in memory: those that were asked about not long ago. The others stand in their journals alone.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hyper::StatusCode;
use tokio::time::Instant;

use crate::gate::GatedSession;
use crate::monitor::Caller;
use crate::recording::journal::SessionKey;
use crate::serve::problem::Problem;

/// A session in memory, and who runs it.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    pub(crate) session: GatedSession,
    pub(crate) caller: Caller,
}

/// All sessions in memory.
#[derive(Debug)]
pub(crate) struct Seats {
    taken: Mutex<Taken>,
    /// How many of one tenant there may be.
    most: usize,
    /// How long one is kept that nobody asks about.
    idle: Duration,
}

#[derive(Debug, Default)]
struct Taken {
    seats: BTreeMap<SessionKey, (Seat, Instant)>,
    by_tenant: BTreeMap<String, usize>,
}

impl Seats {
    pub(crate) fn new(most: usize, idle: Duration) -> Self {
        Self { taken: Mutex::default(), most, idle }
    }

    /// A session that is in memory, which now stays for a while.
    pub(crate) fn seat(&self, key: &SessionKey) -> Option<Seat> {
        let mut taken = self.lock();
        let (seat, used) = taken.seats.get_mut(key)?;
        *used = Instant::now();
        let seat = seat.clone();
        if seat.session.is_closed() {
            // Its task broke down.
            taken.seats.remove(key);
            taken.leave(&key.tenant);
            return None;
        }
        Some(seat)
    }

    /// That the tenant may have one more.
    pub(crate) fn room(&self, tenant: &str) -> Result<(), Problem> {
        if self.lock().by_tenant.get(tenant).is_some_and(|&count| count >= self.most) {
            let text = format!(
                "{} sessions of the tenant are in use, and that is the limit: try again when one was left alone for {} s",
                self.most,
                self.idle.as_secs()
            );
            return Err(Problem::new(StatusCode::TOO_MANY_REQUESTS, "too_many_sessions", text));
        }
        Ok(())
    }

    /// Keeps a session in memory.
    pub(crate) fn keep(&self, key: SessionKey, seat: Seat) {
        let mut taken = self.lock();
        let tenant = key.tenant.clone();
        if taken.seats.insert(key, (seat, Instant::now())).is_none() {
            *taken.by_tenant.entry(tenant).or_default() += 1;
        }
    }

    /// Lets go of sessions that nobody asked about for long.
    pub(crate) fn sweep(&self) {
        let now = Instant::now();
        let mut taken = self.lock();
        let is_old = |used: &Instant| now.duration_since(*used) >= self.idle;
        let old: Vec<_> =
            taken.seats.iter().filter(|(_, (_, used))| is_old(used)).map(|(key, _)| key.clone()).collect();
        for key in old {
            taken.seats.remove(&key);
            taken.leave(&key.tenant);
        }
    }

    /// How long one is kept that nobody asks about.
    pub(crate) fn idle(&self) -> Duration {
        self.idle
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.lock().seats.len()
    }

    fn lock(&self) -> MutexGuard<'_, Taken> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Taken {
    fn leave(&mut self, tenant: &str) {
        if let Some(count) = self.by_tenant.get_mut(tenant) {
            *count = count.saturating_sub(1);
            if *count == 0 {
                self.by_tenant.remove(tenant);
            }
        }
    }
}
