//! What a gate serves: for each tenant the policy that decides, and those that are decided beside it.
//!
//! In: checked policies, or a folder with a manifest. Out: a [`PolicySet`], whole or not at all. Never: serves a part of a
//! folder, a file that differs from its digest, or a set that a stricter one was replaced by without a word.

mod folder;
mod manifest;

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::monitor::Policy;
use crate::program::{DecisionKind, PRELUDE_NAME, Refusal};
use crate::recording::journal::Mode;
use crate::source::Severity;

pub(crate) use crate::policies::folder::stamp;
pub use crate::policies::folder::{MANIFEST, load, update};
pub use crate::policies::manifest::{Manifest, Named, PolicyMode};

/// A policy that decides.
#[derive(Debug)]
pub struct Served {
    /// Its name in the manifest, or that of its file.
    pub name: String,
    /// What decides.
    pub policy: Arc<Policy>,
    /// What is done with its verdicts.
    pub mode: Mode,
    /// `PolicyMetadata` rows, beside those of the gate.
    pub metadata: Vec<[String; 3]>,
    /// What is decided beside it.
    pub shadows: Vec<Shadow>,
}

/// A policy that is decided beside another one, on the same session: its verdicts are logged, and block nothing.
#[derive(Debug)]
pub struct Shadow {
    /// Its name in the manifest.
    pub name: String,
    /// What is decided.
    pub policy: Arc<Policy>,
    /// `PolicyMetadata` rows, beside those of the gate.
    pub metadata: Vec<[String; 3]>,
}

/// The policies that a gate serves.
// Invariant: every policy that decides serves at least one tenant, or all others.
#[derive(Debug)]
pub struct PolicySet {
    digest: String,
    tenants: BTreeMap<String, Arc<Served>>,
    others: Option<Arc<Served>>,
    /// Whether who made the set confirms that it drops denials.
    confirmed: bool,
}

/// Why there is no set of policies to serve, or not this one.
#[derive(Debug, Clone, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum PoliciesError {
    #[error("`{path}` cannot be read: {why}")]
    Unreadable { path: String, why: String },
    #[error("`{path}` cannot be written: {why}")]
    Unwritable { path: String, why: String },
    #[error("`{path}` is no manifest of policies: {why}")]
    BadManifest { path: String, why: String },
    #[error("`{file}` is no name of a policy file: {why}")]
    BadName { file: String, why: &'static str },
    #[error("the folder lacks `{file}`, which its manifest names: copy it whole, or write the manifest anew")]
    MissingFile { file: String },
    #[error(
        "the folder has `{file}`, which its manifest does not name: write the manifest anew, or take it away"
    )]
    ExtraFile { file: String },
    #[error("`{file}` is empty: copy it whole, or take it away and write the manifest anew")]
    EmptyFile { file: String },
    #[error("`{file}` leads out of the folder: put the file itself there")]
    Outside { file: String },
    #[error(
        "`{file}` is not the file of the manifest, its digest is `{digest}`: write the manifest anew, or copy it again"
    )]
    OtherContents { file: String, digest: String },
    #[error("{what}: at most {most} {unit} are read")]
    TooLarge { what: String, most: u64, unit: &'static str },
    #[error("the policy `{policy}` does not load: {first}{}", others(*more))]
    Refused { policy: String, first: String, more: usize, refusal: Box<Refusal> },
    #[error("the policy does not load: {why}")]
    Broken { why: String },
    #[error(
        "{tenant} would have no denial any more, and has some now: {why}; confirm it if that is meant, or mend the policy"
    )]
    DropsDenials { tenant: String, why: &'static str },
}

fn others(more: usize) -> String {
    if more == 0 { String::new() } else { format!(", and {more} more") }
}

impl PoliciesError {
    pub(crate) fn refused(policy: &str, refusal: Box<Refusal>) -> Self {
        let errors = || refusal.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let first = errors().next().map_or_else(String::new, |finding| {
            let place = refusal.sources.place(finding.primary.span);
            let file = &refusal.sources.file(finding.primary.span.file).name;
            format!("{} at {file}:{}: {}", finding.code, place.line, finding.message)
        });
        let more = errors().count().saturating_sub(1);
        Self::Refused { policy: policy.to_owned(), first, more, refusal }
    }
}

/// Whether a set that drops all denials of the one before may take its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DroppedDenials {
    /// It is refused, unless its manifest confirms it.
    Refused,
    /// Who activates it confirms that.
    Confirmed,
}

impl PolicySet {
    /// One policy for all tenants.
    #[must_use]
    pub fn one(name: &str, policy: Arc<Policy>, mode: Mode) -> Self {
        let digest = policy.program().digest.clone();
        let served =
            Served { name: name.to_owned(), policy, mode, metadata: Vec::new(), shadows: Vec::new() };
        Self { digest, tenants: BTreeMap::new(), others: Some(Arc::new(served)), confirmed: false }
    }

    /// What decides for a tenant; nothing where the set has no policy for it, and then all its calls are denied.
    #[must_use]
    pub fn serves(&self, tenant: &str) -> Option<&Arc<Served>> {
        self.tenants.get(tenant).or(self.others.as_ref())
    }

    /// Digest of the whole set: of the manifest, or of the one policy.
    #[must_use]
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// The policies that decide, each once, in the order of their names.
    pub fn policies(&self) -> impl Iterator<Item = &Arc<Served>> {
        let all = self.tenants.values().chain(&self.others);
        all.map(|served| (served.name.as_str(), served)).collect::<BTreeMap<_, _>>().into_values()
    }

    /// Says whether this set may take the place of another one.
    ///
    /// # Errors
    /// Where some tenant's policy would deny nothing any more, and that is not confirmed.
    pub fn follows(&self, before: &Self, dropped: DroppedDenials) -> Result<(), PoliciesError> {
        if self.confirmed || dropped == DroppedDenials::Confirmed {
            return Ok(());
        }
        let named = self.tenants.keys().chain(before.tenants.keys());
        for tenant in named.map(Some).chain([None]) {
            let of = |set: &Self| match tenant {
                Some(tenant) => set.serves(tenant).cloned(),
                None => set.others.clone(),
            };
            let (Some(old), Some(new)) = (of(before), of(self)) else { continue };
            if let Some(why) = lost(&old, &new) {
                let tenant =
                    tenant.map_or_else(|| "every other tenant".to_owned(), |name| format!("tenant `{name}`"));
                return Err(PoliciesError::DropsDenials { tenant, why });
            }
        }
        Ok(())
    }
}

/// Why the new policy denies nothing where the old one did.
fn lost(old: &Served, new: &Served) -> Option<&'static str> {
    if old.mode != Mode::Enforce {
        return None;
    }
    let (before, after) = (refusals(&old.policy), refusals(&new.policy));
    if new.mode != Mode::Enforce {
        return Some("its verdicts are enforced now, and would be advice alone");
    }
    if before.denies && !after.denies {
        return Some("no rule denies");
    }
    (before.asks && !after.asks && !after.denies).then_some("no rule asks or denies")
}

struct Refusals {
    denies: bool,
    asks: bool,
}

/// Which kinds of refusals the policy's own rules know.
fn refusals(policy: &Policy) -> Refusals {
    let program = policy.program();
    let own = program
        .decision_rules
        .iter()
        .filter(|rule| program.sources.file(rule.span.file).name != PRELUDE_NAME);
    let mut found = Refusals { denies: false, asks: false };
    for rule in own {
        match rule.kind {
            DecisionKind::Allow => {}
            DecisionKind::Deny | DecisionKind::Reason => found.denies = true,
            DecisionKind::Ask => found.asks = true,
        }
    }
    found
}
