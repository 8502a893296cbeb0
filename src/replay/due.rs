//! A call that is judged next: what its decision rests on is there only now.

use crate::decision::Decision;
use crate::explain::{Proof, Subject};
use crate::monitor::Monitor;
use crate::recording::Recording;
use crate::recording::journal::Question;
use crate::records::CallNumber;
use crate::replay::journal::{self, Seen, unjudged_arguments};
use crate::replay::{Turn, walk};
use crate::session::{Considered, Session};

/// A judgement of a session, by its number in the order of judging, from 0. One call may be judged several times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Judgement(pub u32);

/// A call that is judged next.
#[derive(Debug)]
pub enum Due<'a> {
    /// A call of a plain session.
    Call(CallNumber),
    /// A check of a journal, whose call was looked for.
    Checked {
        /// The session before the check.
        session: &'a Session,
        /// What was found.
        considered: &'a Considered,
        /// What is asked.
        question: &'a Question,
    },
    /// A check of a journal that was denied without a look.
    Unjudged {
        /// What is asked.
        question: &'a Question,
        /// Why.
        fault: &'a str,
    },
}

impl Due<'_> {
    /// The recorded call that it is about; none where no event holds it.
    #[must_use]
    pub fn call(&self) -> Option<CallNumber> {
        match self {
            Self::Call(call) => Some(*call),
            Self::Checked { considered, .. } => considered.call(),
            Self::Unjudged { .. } => None,
        }
    }

    /// What is decided of it. In a plain session an allowed call counts as running from then on.
    pub fn judge(&self, monitor: &mut Monitor) -> Decision {
        match self {
            Self::Call(call) => monitor.judge_call(*call),
            Self::Checked { session, considered, question } => session.judge(monitor, considered, question),
            Self::Unjudged { fault, .. } => Decision::fault((*fault).to_owned()),
        }
    }

    /// Why that is decided. The session stays as it is.
    pub fn explain(&self, monitor: &mut Monitor) -> Proof {
        match self {
            Self::Call(call) => monitor.explain(*call),
            Self::Checked { session, considered, question } => session.explain(monitor, considered, question),
            Self::Unjudged { question, fault } => {
                let subject = Subject {
                    seq: None,
                    call_id: question.call_id.clone(),
                    agent: question.agent.clone(),
                    tool: question.tool.clone(),
                    arguments: unjudged_arguments(question),
                };
                Proof::of_fault(subject, Decision::fault((*fault).to_owned()))
            }
        }
    }
}

/// What `take` gives when the call of that judgement is about to be judged, on the way of [`walk`] with a monitor that is
/// new. None where the session has fewer judgements.
pub fn at_judgement<T>(
    monitor: &mut Monitor,
    recording: &Recording,
    wanted: Judgement,
    take: &mut dyn FnMut(&mut Monitor, &Due<'_>) -> T,
) -> Option<T> {
    let (mut next, mut taken) = (0_u32, None);
    let mut due = |monitor: &mut Monitor, due: &Due<'_>| {
        if next == wanted.0 {
            taken = Some(take(monitor, due));
        }
        next += 1;
    };
    // Where the session stops does not matter to the judgements before.
    let _ = match &recording.journal {
        Some(kept) => journal::go(monitor, recording, kept, &mut |monitor, seen| match seen {
            Seen::Coming(coming) => due(monitor, &coming),
            Seen::Judged(_) => {}
        }),
        None => walk(monitor, recording, &mut |monitor, turn| match turn {
            Turn::Made(call) | Turn::Answered(call) => due(monitor, &Due::Call(call)),
            Turn::Judged(..) | Turn::JudgedAgain(..) => {}
        }),
    };
    taken
}
