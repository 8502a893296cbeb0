//! The words of the record graph.

use crate::lineage::RecordId;
use ecow::EcoString;
use std::sync::Arc;

/// A text of a session. Records, calls and facts that say the same of one event share it; a short one takes no memory of
/// its own.
pub type Text = EcoString;

/// Who produced a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// A model.
    Assistant,
    /// A system instruction.
    System,
    /// A person.
    User,
    /// Anything else: tool results, summaries, other agents.
    Agent,
}

/// What kind of part a record came from, for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the kind of that name")]
pub enum RecordKind {
    Text,
    Thought,
    Call,
    Response,
    Summary,
    Resource,
    Signature,
    /// Inline data, a file, or fields that are not known.
    Data,
    Code,
    CodeResult,
    /// A call that the model's own server ran.
    ServerCall,
    /// What came back from it.
    ServerAnswer,
    /// Written by hand in a test.
    Given,
}

/// The event that a record came from.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordEvent {
    /// `id`
    pub event_id: Text,
    /// `invocationId`
    pub invocation_id: Text,
    /// `author`
    pub author: Text,
    /// `branch`
    pub branch: Text,
    /// Number of the record in its session, from 0 (tests may say otherwise).
    pub seq: i64,
    /// RFC 3339
    pub time: Text,
    /// Number of the event in its file, from 0; none where there is no file.
    pub number: Option<usize>,
}

/// A proposed call, by its number in the session, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallNumber(pub u32);

/// A call that a gate let run and that is in no event, by its number among those, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnseenNumber(pub u32);

/// That a call began to run, or does not run any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunChange {
    /// It was allowed, and runs from now on.
    Started(CallNumber),
    /// It has an answer that is not pending.
    Settled(CallNumber),
    /// One that is in no event was allowed, and runs from now on.
    UnseenStarted(UnseenNumber),
    /// It failed, or did not run.
    UnseenSettled(UnseenNumber),
}

/// A call that a model proposed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProposedCall {
    /// The record of the call.
    pub record: RecordId,
    /// Its id; may be empty or used by several calls.
    pub call_id: Text,
    /// The tool.
    pub tool: Text,
    /// The arguments as ordinary JSON; `{}` where there are none.
    pub arguments: Text,
    /// The author of its event.
    pub agent: Text,
    /// The records of all parts of the event that holds the call, and its reads so far. Calls of one event share them.
    pub current: Arc<[RecordId]>,
    /// Time of its event, RFC 3339; may be empty.
    pub time: Text,
    /// Why it is denied without asking a policy: no name, arguments that are no object, a malformed call.
    pub refused: Option<Box<str>>,
    /// The answer of a person that counts for it now.
    pub approval: Option<Box<Approval>>,
}

/// A person's answer to the request for approval of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Approval {
    /// Whether it says yes.
    pub confirmed: bool,
    /// The ask rules that it covers.
    pub scope: ApprovalScope,
    /// Time of the answer, RFC 3339; may be empty.
    pub time: String,
    /// The record of the answer; none where it came through a gate.
    pub record: Option<RecordId>,
    /// The person, where that is known.
    pub principal: Option<String>,
}

/// Which ask rules an answer covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalScope {
    /// All ask rules of the call: the request did not say.
    All,
    /// The rules whose reasons the person was shown, by rule id.
    Rules(Vec<String>),
}

/// What a recording says happened to a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the outcome of that name")]
pub enum CallOutcome {
    Ok,
    Error,
    Denied,
    Pending,
    Unmatched,
    /// No answer is recorded.
    None,
}

impl CallOutcome {
    /// The name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Pending => "pending",
            Self::Unmatched => "unmatched",
            Self::None => "none",
        }
    }
}

/// Status of a row of `ToolOutcome`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the status of that name")]
pub enum Status {
    Running,
    Ok,
    Error,
    Denied,
    Pending,
    Answered,
    Violated,
    Unmatched,
    Ungated,
}

impl Status {
    /// The name in `ToolOutcome`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Ok => "ok",
            Self::Error => "error",
            Self::Denied => "denied",
            Self::Pending => "pending",
            Self::Answered => "answered",
            Self::Violated => "violated",
            Self::Unmatched => "unmatched",
            Self::Ungated => "ungated",
        }
    }

    /// The status of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::Running,
            Self::Ok,
            Self::Error,
            Self::Denied,
            Self::Pending,
            Self::Answered,
            Self::Violated,
            Self::Unmatched,
            Self::Ungated,
        ]
        .into_iter()
        .find(|status| status.name() == name)
    }
}

/// A row of a session relation beside the records themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "the prelude says what each relation and column means")]
pub enum SessionFact {
    ToolResult {
        record: RecordId,
        tool: Text,
        arguments: Text,
    },
    ProposedCall {
        record: RecordId,
        call_id: Text,
        tool: Text,
        arguments: Text,
    },
    ToolOutcome {
        record: RecordId,
        call_id: Text,
        tool: Text,
        arguments: Text,
        status: Status,
    },
    ToolOutput {
        record: RecordId,
        tool: Text,
        arguments: Text,
    },
    Confirmation {
        record: RecordId,
        call_id: Text,
        confirmed: bool,
        hint: Text,
        payload: Text,
        principal: Text,
    },
    StateWrite {
        record: RecordId,
        scope: Text,
        key: Text,
        value: Text,
    },
    StateRead {
        record: RecordId,
        scope: Text,
        key: Text,
        value: Text,
    },
    ArtifactWrite {
        record: RecordId,
        filename: Text,
        version: i64,
    },
    ArtifactRead {
        record: RecordId,
        filename: Text,
        version: i64,
    },
    EdgePrincipal {
        source: RecordId,
        dest: RecordId,
        principal: Text,
    },
    EdgeEntity {
        source: RecordId,
        dest: RecordId,
        entity: Text,
    },
    ToolSource {
        tool: Text,
        source: Text,
    },
    SessionUser {
        id: Text,
    },
}
