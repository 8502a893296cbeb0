//! Counts of what was answered, as Prometheus reads them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::decision::Verdict;

/// The type of the text.
pub(crate) const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper ends of the ranges in which checks are counted, in seconds.
const SECONDS: [f64; 14] =
    [0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByVerdict {
    verdict: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByReason {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByDigest {
    digest: String,
}

/// All counts of a service. Nothing in them names a tenant, a session or a caller.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    /// Held while the text is written, so that no reader finds what another one is just setting.
    writing: Mutex<()>,
    checks: Family<ByVerdict, Counter>,
    seconds: Histogram,
    appends: Counter,
    refused: Family<ByReason, Counter>,
    sessions: Gauge,
    connections: Gauge,
    commits: Counter,
    policy: Family<ByDigest, Gauge>,
    policy_refused: Gauge,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("gatelog"),
            writing: Mutex::default(),
            checks: Family::default(),
            seconds: Histogram::new(SECONDS),
            appends: Counter::default(),
            refused: Family::default(),
            sessions: Gauge::default(),
            connections: Gauge::default(),
            commits: Counter::default(),
            policy: Family::default(),
            policy_refused: Gauge::default(),
        };
        let registry = &mut metrics.registry;
        registry.register("checks", "Checks that were answered, by verdict", metrics.checks.clone());
        let help = "Time from the arrival of a check to its verdict, in seconds";
        registry.register("check_seconds", help, metrics.seconds.clone());
        registry.register("events", "Events that were new to their sessions", metrics.appends.clone());
        registry.register("refused", "Requests that were refused, by reason", metrics.refused.clone());
        registry.register("sessions_in_memory", "Sessions in memory", metrics.sessions.clone());
        registry.register("connections", "Connections that are open", metrics.connections.clone());
        registry.register("store_commits", "Times that lines were brought to disk", metrics.commits.clone());
        registry.register("policy", "The policy that decides, by its digest", metrics.policy.clone());
        let help = "1 while policies that were to take the place of those do not";
        registry.register("policy_refused", help, metrics.policy_refused.clone());
        metrics
    }

    pub(crate) fn check(&self, verdict: Verdict, took: Duration) {
        self.checks.get_or_create(&ByVerdict { verdict: verdict.name() }).inc();
        self.seconds.observe(took.as_secs_f64());
    }

    pub(crate) fn appended(&self) {
        self.appends.inc();
    }

    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&ByReason { reason }).inc();
    }

    pub(crate) fn connected(&self) {
        self.connections.inc();
    }

    pub(crate) fn disconnected(&self) {
        self.connections.dec();
    }

    /// How many connections are open.
    pub(crate) fn open(&self) -> i64 {
        self.connections.get()
    }

    /// The text, with what others count.
    pub(crate) fn text(
        &self,
        sessions: usize,
        commits: u64,
        digest: String,
        refused: bool,
    ) -> Result<String, std::fmt::Error> {
        let _alone = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        self.sessions.set(i64::try_from(sessions).unwrap_or(i64::MAX));
        let counted: &AtomicU64 = self.commits.inner();
        counted.store(commits, Ordering::Relaxed);
        self.policy_refused.set(i64::from(refused));
        self.policy.clear();
        self.policy.get_or_create(&ByDigest { digest }).set(1);
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}
