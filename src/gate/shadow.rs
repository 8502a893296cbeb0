//! Policies that are decided beside the one that serves: they see the same session, and block nothing.

use crate::decision::Decision;
use crate::monitor::{Beside, Monitor};
use crate::policies::Served;
use crate::recording::journal::Question;
use crate::session::{Considered, Session};

/// What a shadow came to.
#[derive(Debug, Clone)]
pub(crate) struct Shadowing {
    pub(crate) name: String,
    /// Its digest.
    pub(crate) policy: String,
    /// What it would have answered, or why it came to no end.
    pub(crate) came: Result<Decision, String>,
}

/// The shadows of a session.
#[derive(Debug, Default)]
pub(crate) struct Shadows {
    all: Vec<(String, String, Beside)>,
}

impl Shadows {
    /// Those of a policy that serves. `metadata` holds for all policies of the gate.
    pub(crate) fn of(served: &Served, monitor: &Monitor, metadata: &[[String; 3]]) -> Self {
        let made = served.shadows.iter().map(|shadow| {
            let rows = metadata.iter().chain(&shadow.metadata).cloned().collect();
            let beside = monitor.beside(shadow.policy.clone(), rows);
            (shadow.name.clone(), shadow.policy.program().digest.clone(), beside)
        });
        Self { all: made.collect() }
    }

    /// What they say of a check. Nothing of the session changes.
    pub(crate) fn judge(
        &mut self,
        session: &Session,
        monitor: &Monitor,
        considered: &Considered,
        question: &Question,
    ) -> Vec<Shadowing> {
        let judged = self.all.iter_mut().filter_map(|(name, policy, beside)| {
            let decision = session.judge_beside(monitor, beside, considered, question)?;
            Some(Shadowing { name: name.clone(), policy: policy.clone(), came: Ok(decision) })
        });
        judged.collect()
    }
}

/// What is said of shadows that came to no end.
pub(crate) fn dark(served: &Served, why: &str) -> Vec<Shadowing> {
    let one = |shadow: &crate::policies::Shadow| Shadowing {
        name: shadow.name.clone(),
        policy: shadow.policy.program().digest.clone(),
        came: Err(why.to_owned()),
    };
    served.shadows.iter().map(one).collect()
}
