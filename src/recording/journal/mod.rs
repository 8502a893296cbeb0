//! The journal of a gate: what it was told and asked about one session, and what it answered.
//!
//! A journal is text, one [`Entry`] a line. Each line has its number, the hash of the line before, and its own hash, so
//! that a line that was changed, left out or moved is found. Written and read here alone.

mod chain;
mod recorded;
mod shown;

use serde::{Deserialize, Serialize};

pub use chain::{Head, Journal, JournalFault, begins, read};
pub use recorded::{Kept, Step};
pub use shown::{Piece, Shelf, Shown, Unheld};

pub use recorded::recording;

/// The version of the format. Older ones are read: in the first, requests to models stand in full.
pub const VERSION: u32 = 2;

/// What names a session of a gate.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionKey {
    /// Whose session it is.
    pub tenant: String,
    /// The application.
    pub app: String,
    /// Its end user.
    pub user: String,
    /// The session itself.
    pub session: String,
}

/// What a gate does with its verdicts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Only an allowed call may run.
    #[default]
    Enforce,
    /// Verdicts are told and recorded; calls run whatever they are.
    Advise,
}

/// What holds for a session from its beginning: the first line of its journal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opening {
    /// The version of what made records of events.
    pub adapter: String,
    /// The session.
    pub key: SessionKey,
    /// What the gate does with its verdicts.
    pub mode: Mode,
    /// The authenticated caller; none for an anonymous one.
    pub principal: Option<String>,
    /// Roles of the caller.
    pub roles: Vec<String>,
    /// Its own label.
    pub entity: Option<String>,
    /// `PolicyMetadata` rows.
    pub metadata: Vec<[String; 3]>,
    /// Derived tuples that a check may make.
    pub tuples: u64,
    /// Bytes that a check may use.
    pub bytes: u64,
    /// Tuples that a check may look at.
    pub steps: u64,
    /// Whether all parts of messages are recorded.
    pub full_parts: bool,
    /// The text of the agents file; empty for none.
    pub agents: String,
    /// Digest of the policy that the session began under.
    pub policy: String,
    /// Random text from which tickets are made, so that nobody guesses one.
    pub secret: String,
}

/// An event of the runner's session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Appended {
    /// Its JSON, as given.
    pub event: String,
}

/// Events of the runner's session that the gate is never sent.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unsent {
    /// Their ids, in order, as the history of a check counts them; none where the runner does not have them either.
    pub ids: Vec<String>,
    /// Why, in words; may be empty.
    pub why: String,
}

/// What a model is about to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelRequest {
    /// The agent whose model it is.
    pub agent: String,
    /// The invocation.
    pub invocation: String,
    /// `{"contents": […], "config": {…}}` in the spelling of an ADK library, as given.
    pub request: String,
}

/// A call that is about to run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// Id of the call; empty where the runner knows none.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// Its arguments as the tool will get them: the JSON text of an object.
    pub arguments: String,
    /// The agent that calls.
    pub agent: String,
    /// The invocation; may be empty.
    pub invocation: String,
    /// The branch that the agent is on; empty for none.
    pub branch: String,
    /// `ActionMetadata` rows.
    pub metadata: Vec<[String; 3]>,
    /// How many events the runner's history has.
    pub events: u64,
    /// The digest of their ids, see [`digest_of`].
    pub digest: String,
    /// The time of the check, RFC 3339; may be empty.
    pub clock: String,
}

/// What a gate answers to a question.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// `allow`, `ask` or `deny`.
    pub verdict: Word,
    /// Names the check, for one use.
    pub ticket: String,
    /// Digest of the policy that decided.
    pub policy: String,
    /// The rules that gave reasons, in order.
    pub rules: Vec<String>,
    /// Why it was denied without a decision, such as a deadline that passed; empty where the policy decided.
    pub fault: String,
}

/// A verdict as a journal has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// It may run.
    Allow,
    /// It may run once a person has said yes.
    Ask,
    /// It may not run.
    #[default]
    Deny,
}

impl Word {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// The tool returned. Its value as JSON text, where the runner tells it.
    Returned(Option<String>),
    /// The tool failed.
    Failed,
    /// It was not run.
    NotRun,
    /// It goes on in the background: the ticket stays open.
    Pending,
}

/// What became of a call that was checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Finish {
    /// Of the check.
    pub ticket: String,
    /// How it ended.
    pub ending: Ending,
    /// The arguments that the tool ran with, as JSON text, where the runner tells them.
    pub arguments: Option<String>,
}

/// A person's answer to an ask.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confirm {
    /// Of the check that asked.
    pub ticket: String,
    /// Whether the person says yes.
    pub yes: bool,
    /// The person; none where nobody knows.
    pub principal: Option<String>,
    /// When, RFC 3339; may be empty.
    pub clock: String,
}

/// A value of state or a file that a running call reads or writes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Of the check that let the call run.
    pub ticket: String,
    /// The value.
    pub resource: Resource,
    /// Whether the gate refused the read, since with it the call would not have been allowed.
    #[serde(default)]
    pub refused: bool,
}

/// What is read or written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// A value of state.
    State {
        /// Its key, with `app:`, `user:` or `temp:` before it where it has such a scope.
        key: String,
        /// The value as JSON text; none where nothing stands there.
        value: Option<String>,
    },
    /// A file.
    Artifact {
        /// Its name.
        name: String,
        /// Its version.
        version: i64,
    },
}

/// What decides from some check on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adopted {
    /// Digest of the policy.
    pub policy: String,
    /// What the gate does with its verdicts.
    pub mode: Mode,
    /// `PolicyMetadata` rows.
    pub metadata: Vec<[String; 3]>,
}

/// One line of a journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// The session begins.
    Open(Opening),
    /// The runner's session has one event more.
    Append(Appended),
    /// Events stand here that the gate is never sent.
    Unsent(Unsent),
    /// A model is asked.
    ModelRequest(ModelRequest),
    /// The same as it is written, see [`Shelf`].
    Shown(Shown),
    /// A check, with its answer.
    Check(Question, Answer),
    /// A checked call ended.
    Finish(Finish),
    /// A person answered.
    Confirm(Confirm),
    /// A running call reads.
    Read(Access),
    /// A running call writes.
    Write(Access),
    /// From here on another policy decides, or another thing is done with its verdicts.
    Policy(Adopted),
    /// The host takes back the refusal of a session in which something ran otherwise than it was checked.
    Clear,
}

/// The digest of the ids of events, in order, that a check names: SHA-256, in hexadecimal, over each id with its length in
/// bytes and a colon before it and a comma after it.
///
/// ```
/// use gatelog::recording::journal::{Ids, digest_of};
/// let mut ids = Ids::default();
/// ids.add("e1");
/// ids.add("e2");
/// assert_eq!(ids.digest(), digest_of(["e1", "e2"]));
/// ```
pub fn digest_of<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    let mut all = Ids::default();
    for id in ids {
        all.add(id);
    }
    all.digest()
}

/// Ids of events, digested as they come.
#[derive(Debug, Clone, Default)]
pub struct Ids {
    count: u64,
    hash: sha2::Sha256,
}

impl Ids {
    /// Adds the next.
    pub fn add(&mut self, id: &str) {
        use sha2::Digest as _;
        self.count += 1;
        self.hash.update(format!("{}:{id},", id.len()));
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The digest of all so far.
    #[must_use]
    pub fn digest(&self) -> String {
        use sha2::Digest as _;
        crate::recording::seal::hexadecimal(&self.hash.clone().finalize())
    }
}
