//! A decision to its proof.
//!
//! In: a complete model, and the decision read from it. Out: a [`Proof`]: the rules that fired, each condition with the
//! values it held for and the records it rests on; the [`Miss`] of each rule that would have decided otherwise.
//! Never: decides, or runs unless it is asked for.
//!
//! What a proof shows of a record is what the graph holds of it, so what is redacted there is redacted here.

mod missing;
mod path;
mod proof;
mod values;

use crate::decision::Decision;
use crate::lineage::RecordId;
use crate::program::DecisionKind;
use crate::records::{Approval, RecordKind};

pub(crate) use proof::{Asked, explain};

/// A step of a proof, by its number in [`Proof::steps`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

/// The call that a proof is about.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Subject {
    /// Number of its record; none where no record of the session is the call.
    pub seq: Option<u32>,
    /// Its id; may be empty.
    pub call_id: String,
    /// The agent that made it.
    pub agent: String,
    /// The tool.
    pub tool: String,
    /// Its arguments, JSON text.
    pub arguments: String,
}

/// Why a call was decided as it was.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The call.
    pub subject: Subject,
    /// What was decided.
    pub decision: Decision,
    /// The answer of a person that counts for the call, where rules ask for one.
    pub approval: Option<Approval>,
    /// The decision rules that fired and count, in the order of the text: those against the call, or, where it is allowed,
    /// those that allow it.
    pub firings: Vec<Firing>,
    /// What the firings rest on. A tuple that is used more than once is one step.
    pub steps: Vec<Step>,
    /// Where no rule allows the call: how near the allow rules that concern it came. Where it is allowed: how near the rules
    /// came that could have denied it or asked about it, the nearest first.
    pub misses: Vec<Miss>,
    /// The records that all this names, in the order of the session.
    pub records: Vec<Mention>,
    /// Why something is left out; empty where nothing is.
    pub fault: String,
}

impl Proof {
    /// The proof of a denial that no rule takes part in: its reason says all there is.
    pub(crate) fn of_fault(subject: Subject, decision: Decision) -> Self {
        let fault = decision.reasons.first().map(|reason| reason.text.clone()).unwrap_or_default();
        let (firings, steps, misses, records) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { subject, decision, approval: None, firings, steps, misses, records, fault }
    }
}

/// A decision rule that fired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Firing {
    /// What it says.
    pub kind: DecisionKind,
    /// Its id.
    pub rule: String,
    /// Its message, filled; empty for an allow rule.
    pub text: String,
    /// How it was derived.
    pub step: StepId,
    /// In how many other ways it fired.
    pub more: usize,
}

/// A place in a policy.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Site {
    /// The file, as messages name it.
    pub file: String,
    /// The line, from 1; 0 where there is none.
    pub line: u32,
}

/// A tuple and the rule that derived it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// The relation.
    pub relation: String,
    /// The head of the rule, as written.
    pub head: String,
    /// Where the rule stands.
    pub site: Site,
    /// The conditions of its body, as written and in that order.
    pub conditions: Vec<Condition>,
    /// Why no rule is shown; empty where one is.
    pub fault: String,
}

/// A condition of a rule that held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Condition {
    /// As written.
    pub text: String,
    /// Where it stands.
    pub site: Site,
    /// Values of its variables that no condition before it in the rule has shown, and of its calls.
    pub values: Vec<Binding>,
    /// Why it held.
    pub ground: Ground,
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// A variable, or a call as written.
    pub name: String,
    /// What it was.
    pub value: Shown,
}

/// A value, as it is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shown {
    /// The id of a record.
    Record(RecordId),
    /// A text, cut where it is long.
    Text(String),
    /// Any other value in the language's own form.
    Other(String),
}

/// Why a condition held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ground {
    /// It is a comparison: its values say it.
    Holds,
    /// The request says so.
    Request,
    /// The policy states it there.
    Fact(Site),
    /// The session's facts say so.
    Session,
    /// By a way through the session: each record was computed from the one before.
    Path(Vec<RecordId>),
    /// A rule derived it.
    Step(StepId),
    /// There is no such tuple.
    Absent(String),
    /// So many rows count, and the values in the first of them.
    Rows(u64, Vec<Vec<Binding>>),
    /// It is not followed any further, for this reason.
    Open(String),
}

/// How near a rule came that did not fire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Miss {
    /// The id of a decision rule; else the relation that it would derive.
    pub rule: String,
    /// The head, as written.
    pub head: String,
    /// Where the rule stands.
    pub site: Site,
    /// The conditions that hold, as written, in the order of the text.
    pub held: Vec<String>,
    /// The first condition that fails in all ways in which those hold.
    pub failed: Failed,
    /// Whether the condition asks for another tool or kind of action, so that the rule is about other actions.
    pub elsewhere: bool,
}

/// A condition that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// As written.
    pub text: String,
    /// Where it stands.
    pub site: Site,
    /// In how many ways the conditions before it hold.
    pub ways: u64,
    /// What was seen there, in some of those ways.
    pub seen: Vec<Vec<Binding>>,
    /// In words: what is missing, or what is there and must not be.
    pub what: String,
    /// Tuples that are nearly it.
    pub closest: Vec<String>,
    /// How near the rules came that could derive what is missing.
    pub inner: Vec<Miss>,
}

/// A record that a proof names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mention {
    /// Its number in the session.
    pub record: RecordId,
    /// Its id.
    pub id: String,
    /// Number of its event in the file, where that is known.
    pub event: Option<usize>,
    /// Its author.
    pub agent: String,
    /// What kind of part it came from.
    pub kind: RecordKind,
    /// For the answer to a call, the tool; else empty.
    pub tool: String,
    /// The beginning of what it says.
    pub excerpt: String,
}
