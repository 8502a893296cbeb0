//! Bytes of a recorded session to events.
//!
//! In: the bytes of a file. Out: a [`Recording`] for each session in it, with its events in the order of the file,
//! whichever form it has. Never: knows Datalog, drops an event in silence, rounds a number, or renames a key of user data.

mod ahead;
mod bytes;
mod compose;
mod conformance;
pub mod database;
pub mod decisions;
mod documents;
mod early;
mod evaluation;
pub mod event;
mod feed;
mod fields;
mod hidden;
pub mod journal;
mod mixed;
mod other;
mod part;
mod pickle;
mod reading;
mod request;
mod adk;
mod scan;
mod seal;
mod session;
mod sessions;
mod shape;
mod skim;
mod stream;
mod strict;
mod time;
mod turn;
mod untagged;
mod usual;
mod vertex;

pub(crate) use bytes::to_base64;
pub(crate) use event::Purpose;
pub use event::{Actions, Author, Compaction, Event, FieldValue, Part, PartKind, ToolConfirmation};
pub use feed::{Fed, Feed};
#[cfg(feature = "gate")]
pub(crate) use time::utc;

#[cfg(all(feature = "app", feature = "sqlite"))]
pub(crate) use shape::DATABASE;

use crate::recording::journal::{JournalFault, Kept};
use crate::recording::shape::Content;

/// The forms of recordings that are recognised.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// A session document with its events.
    Session,
    /// A bare list of events.
    EventList,
    /// One event a line.
    EventLines,
    /// Server-sent events, as `/run_sse` answers.
    EventStream,
    /// Cases of an evaluation, old or new.
    EvalSet,
    /// What a conformance run recorded of models and tools.
    Conformance,
    /// What a run has to come out as, for `adk test`.
    Golden,
    /// A session of a database.
    Database,
    /// The journal of a gate.
    Journal,
}

impl Form {
    /// All forms, in the order of help texts.
    pub const ALL: &[Self] = &[
        Self::Session,
        Self::EventList,
        Self::EventLines,
        Self::EventStream,
        Self::EvalSet,
        Self::Conformance,
        Self::Golden,
        Self::Database,
        Self::Journal,
    ];

    /// The name on the command line, such as `session`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Session => "session",
            Self::EventList => "event-list",
            Self::EventLines => "event-lines",
            Self::EventStream => "event-stream",
            Self::EvalSet => "eval-set",
            Self::Conformance => "conformance",
            Self::Golden => "golden",
            Self::Database => "adk-sqlite",
            Self::Journal => "journal",
        }
    }

    /// The form of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|form| form.name() == name)
    }

    /// What it is, in words with an article.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Session => "a session document",
            Self::EventList => "a list of events",
            Self::EventLines => "events as JSON lines",
            Self::EventStream => "a body of `/run_sse`",
            Self::EvalSet => "an eval set",
            Self::Conformance => "a conformance recording",
            Self::Golden => "a golden file of `adk test`",
            Self::Database => "a session database",
            Self::Journal => "a journal of a gate",
        }
    }
}

/// Which fields of message parts are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Parts {
    /// Text, thoughts, calls and their answers; a session with any other field stops there.
    #[default]
    Supported,
    /// All: data, files, code, calls that the model's own server made.
    Full,
}

/// How a recording is to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Options {
    /// The form, where it is not to be told from the content.
    pub form: Option<Form>,
    /// Which fields of message parts are read.
    pub parts: Parts,
}

/// One session of a file.
#[derive(Debug, Clone)]
pub struct Recording {
    /// How it was recognised.
    pub form: Form,
    /// What tells it from the other sessions of its file; empty where a file holds one session.
    pub name: String,
    /// `id` of the session; empty where there is none.
    pub session_id: String,
    /// `appName`; empty where there is none.
    pub app_name: String,
    /// `userId`; empty where there is none.
    pub user_id: String,
    /// Events in file order, partial ones left out, repetitions of an equal event left out.
    pub events: Vec<Event>,
    /// The fault at which the session stops; events before it stand.
    pub stop: Option<Stop>,
    /// Calls at and after the stop, in order, as far as they can still be made out: they are listed as denied.
    pub unread_calls: Vec<UnreadCall>,
    /// What was noticed and does not stop the session: unknown keys, ignored partial events, old fields.
    pub notices: Vec<Notice>,
    /// What a gate was told and asked beside events, where a gate wrote the recording.
    pub journal: Option<Box<Kept>>,
}

/// A call after the place where a session stops.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadCall {
    /// Number of the event, from 0.
    pub event: usize,
    /// Its id, if it can be made out.
    pub event_id: String,
    /// The author of the event.
    pub agent: String,
    /// Id of the call; empty where it has none.
    pub call_id: String,
    /// Name of the tool.
    pub tool: String,
    /// The arguments as ordinary JSON where they are strict JSON, else `{}`.
    pub arguments: String,
}

/// Whether a call of that name is the framework's own request to a person. Such calls are never checked, and one for a
/// credential holds secrets.
#[must_use]
pub fn is_request(name: &str) -> bool {
    Purpose::of(name) != Purpose::Tool
}

/// Why a session stops: what cannot be judged is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stop {
    /// The kind, as reports name it.
    pub kind: StopKind,
    /// Number of the event, from 0, where the fault lies in one.
    pub event: Option<usize>,
    /// Id of the event; empty where it cannot be made out.
    pub event_id: String,
    /// Number of the part, from 0, where the fault lies in one.
    pub part: Option<usize>,
    /// What is wrong, where, in words.
    pub text: String,
}

/// The kinds of [`Stop`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the kind of that name in reports")]
pub enum StopKind {
    UnsupportedPart,
    BadJson,
    BadNumber,
    DuplicateKey,
    BadUnicode,
    TooDeep,
    TooLarge,
    BadShape,
    ConflictingEvent,
    UnencodableValue,
    BrokenJournal,
}

impl StopKind {
    /// The name in reports, such as `unsupported_part`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::UnsupportedPart => "unsupported_part",
            Self::BadJson => "bad_json",
            Self::BadNumber => "bad_number",
            Self::DuplicateKey => "duplicate_key",
            Self::BadUnicode => "bad_unicode",
            Self::TooDeep => "too_deep",
            Self::TooLarge => "too_large",
            Self::BadShape => "bad_shape",
            Self::ConflictingEvent => "conflicting_event",
            Self::UnencodableValue => "unencodable_value",
            Self::BrokenJournal => "broken_journal",
        }
    }
}

/// Something noticed, once per kind, as an assumption or warning in the report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// A stable word, such as `unknown_keys`.
    pub kind: String,
    /// In words.
    pub text: String,
}

/// Why a file is no recording that can be read.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum RecordingError {
    #[error("{seen}; {accepted}")]
    Unrecognised { seen: String, accepted: &'static str },
    #[error("this is {what}: recognised, and no recording that can be judged; {instead}")]
    NoSession { what: String, instead: &'static str },
    #[error(
        "this is a SQLite database: it is read by its path, in a build with the feature `sqlite`, and neither from standard \
         input nor for a test; `gatelog import` exports its sessions"
    )]
    NeedsFile,
    #[error("this SQLite database has {found}; {expected}")]
    OtherDatabase { found: String, expected: &'static str },
    #[error("this session database cannot be read: {why}")]
    UnusableDatabase { why: String },
    #[error("not UTF-8: byte {at} is not text; {accepted}")]
    NotText { at: usize, accepted: &'static str },
    #[error("empty: there is no session in it; {accepted}")]
    Empty { accepted: &'static str },
    #[error("this is {seen}, and not of the form `{wanted}` that was asked for")]
    OtherForm { seen: &'static str, wanted: &'static str },
    #[error("{0}")]
    Journal(#[from] JournalFault),
}

/// Reads the sessions of one file; its form is recognised from the content. Time and memory are linear in its size.
///
/// # Errors
/// Where the bytes are no recording at all, or not of the form that was asked for. A fault inside a session is no error:
/// the recording says where it stops.
///
/// ```
/// let session = br#"{"id": "s", "appName": "a", "userId": "u", "events": [
///     {"id": "e", "author": "user", "content": {"parts": [{"text": "hello"}]}}]}"#;
/// let recordings = gatelog::recording::read(session, &Default::default()).unwrap();
/// assert_eq!(recordings[0].events.len(), 1);
/// ```
pub fn read(bytes: &[u8], options: &Options) -> Result<Vec<Recording>, RecordingError> {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let (form, recordings) = match shape::recognise(bytes)? {
        Content::Events(layout) => (layout.form, vec![session::assemble(bytes, 0, layout, options)]),
        Content::Stream => {
            let (masked, mut layout) = stream::read(bytes);
            layout.dialect = shape::probe(&masked, &layout.slots)?;
            (layout.form, vec![session::assemble(&masked, 0, layout, options)])
        }
        Content::Sessions(slots) => (Form::Session, sessions::read(bytes, &slots, options)),
        Content::Journal => (Form::Journal, vec![journal::recording(bytes)?]),
        Content::Cases(cases) => (Form::EvalSet, evaluation::read(bytes, &cases, options)),
        Content::Yaml(text) => {
            let recording = documents::read(text, options)?;
            (recording.form, vec![recording])
        }
    };
    match options.form.filter(|wanted| *wanted != form) {
        Some(wanted) => Err(RecordingError::OtherForm { seen: form.words(), wanted: wanted.name() }),
        None => Ok(recordings),
    }
}
