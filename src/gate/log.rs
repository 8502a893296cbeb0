//! What a gate writes to its decision log.

use std::time::{Duration, Instant};

use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::decision::{Decision, ReasonKind, Verdict};
use crate::gate::GateError;
use crate::gate::shadow::Shadowing;
use crate::json::{self, Path, redact};
use crate::policies::Served;
use crate::recording::decisions::{Because, Decided, Micros, Said, Shadowed};
use crate::recording::journal::{Question, SessionKey, Word};
use crate::store::DecisionLog;

/// Bytes of the longest arguments that are logged; longer ones are there as their hash alone.
const LONGEST: usize = 64 << 10;

/// A decision log, and what is written to it.
#[derive(Debug, Clone)]
pub struct Logging {
    /// Where lines go.
    pub log: DecisionLog,
    /// Whether arguments and texts of reasons are written, and not the hash of the arguments alone.
    pub detail: Detail,
}

/// How much of a call is logged.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Detail {
    /// The hash of its arguments, and which rules gave reasons.
    #[default]
    Hashes,
    /// The arguments too, but for what these paths name, and the texts of reasons where nothing was left out.
    Arguments(Vec<Path>),
}

/// A verdict and what belongs to it.
pub(crate) struct Verdicted<'a> {
    pub(crate) key: &'a SessionKey,
    pub(crate) question: &'a Question,
    pub(crate) principal: Option<&'a str>,
    pub(crate) check: &'a str,
    pub(crate) events: u64,
    pub(crate) decision: &'a Decision,
    pub(crate) may_run: bool,
    /// The policy that decides for the tenant; none where there is none.
    pub(crate) served: Option<&'a Served>,
    /// Why no policy was asked.
    pub(crate) unjudged: Option<&'a str>,
    pub(crate) shadows: &'a [Shadowing],
    pub(crate) micros: Micros,
}

/// The time now, for the length of what follows.
#[expect(clippy::disallowed_methods, reason = "how long a verdict took is logged, and changes none")]
pub(crate) fn started() -> Instant {
    Instant::now()
}

/// Microseconds since then.
pub(crate) fn since(started: Instant) -> u64 {
    u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX)
}

pub(crate) fn word(verdict: Verdict) -> Word {
    match verdict {
        Verdict::Allow => Word::Allow,
        Verdict::Ask => Word::Ask,
        Verdict::Deny => Word::Deny,
    }
}

impl Logging {
    /// Writes a verdict, and waits until it is on disk.
    pub(crate) async fn write(&self, verdict: &Verdicted<'_>, limit: Duration) -> Result<(), GateError> {
        let (told, kept) = oneshot::channel();
        let done = Box::new(move |result| {
            let _nobody_waits = told.send(result);
        });
        self.log.append(Said::Decision(Box::new(self.decided(verdict))), done);
        let kept = timeout(limit, kept).await.map_err(|_| GateError::LogSlow { limit })?;
        Ok(kept.map_err(|_| GateError::BrokenOff)??)
    }

    fn decided(&self, verdict: &Verdicted<'_>) -> Decided {
        let Verdicted { question, decision, served, .. } = *verdict;
        let parsed = json::parse(&question.arguments).ok();
        let hashed = parsed.as_ref().map_or_else(|| question.arguments.clone(), json::Json::canonical);
        let (mut arguments, mut texts) = (None, Texts::Left);
        if let (Detail::Arguments(paths), Some(mut shown)) = (&self.detail, parsed)
            && question.arguments.len() <= LONGEST
        {
            if !redact(&mut shown, paths) {
                texts = Texts::Written;
            }
            arguments = RawValue::from_string(shown.ordinary()).ok();
        }
        Decided {
            time: crate::gate::worker::now(),
            clock: question.clock.clone(),
            key: verdict.key.clone(),
            check: verdict.check.to_owned(),
            events: verdict.events,
            call_id: question.call_id.clone(),
            tool: question.tool.clone(),
            agent: question.agent.clone(),
            invocation: question.invocation.clone(),
            principal: verdict.principal.map(str::to_owned),
            verdict: word(decision.verdict),
            may_run: verdict.may_run,
            mode: served.map(|served| served.mode).unwrap_or_default(),
            served: served.map(|served| served.name.clone()).unwrap_or_default(),
            policy: served.map(|served| served.policy.program().digest.clone()).unwrap_or_default(),
            reasons: because(decision, texts),
            unjudged: verdict.unjudged.map(str::to_owned),
            arguments_hash: self.log.key().hash(&hashed),
            arguments,
            shadows: verdict.shadows.iter().map(|shadow| shadowed(shadow, decision, texts)).collect(),
            micros: verdict.micros,
        }
    }
}

/// Whether texts are written that may hold values of arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Texts {
    Written,
    Left,
}

fn because(decision: &Decision, texts: Texts) -> Vec<Because> {
    let one = |reason: &crate::decision::Reason| {
        let own = matches!(reason.kind, ReasonKind::NotAuthenticated);
        Because {
            kind: reason.kind.name().to_owned(),
            rule: reason.rule.clone(),
            file: reason.file.clone(),
            line: reason.line,
            text: (own || texts == Texts::Written).then(|| reason.text.clone()),
        }
    };
    decision.reasons.iter().map(one).collect()
}

fn shadowed(shadow: &Shadowing, given: &Decision, texts: Texts) -> Shadowed {
    let (name, policy) = (shadow.name.clone(), shadow.policy.clone());
    match &shadow.came {
        Ok(decision) => Shadowed {
            name,
            policy,
            verdict: Some(word(decision.verdict)),
            differs: decision.verdict != given.verdict,
            reasons: because(decision, texts),
            fault: None,
        },
        Err(fault) => Shadowed { name, policy, fault: Some(fault.clone()), ..Shadowed::default() },
    }
}
