//! Recordings from files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::arguments::Reading;
use crate::cli::console::Console;
#[cfg(feature = "sqlite")]
use crate::cli::databases;
use crate::cli::files::{self, Found};
#[cfg(feature = "sqlite")]
use crate::recording::DATABASE;
use crate::recording::{self, Recording, RecordingError};
use crate::report::json::FileError;

/// What became of one file, or of one session of it.
#[derive(Debug)]
pub(crate) enum Read {
    /// A recording, under the name of its file; of several in one file each has its own name after a `#`.
    Recording(String, Box<Recording>),
    /// Something else in a folder of recordings.
    Skipped(FileError),
    /// No recording, or one that cannot be read.
    Unreadable(FileError),
}

/// Standard input, read before the files are, where one of them is `-`.
#[derive(Debug)]
pub(crate) struct Input(Option<Result<Vec<u8>, FileError>>);

impl Input {
    /// Reads standard input if one of the paths names it.
    pub(crate) fn of(paths: &[PathBuf], console: &mut Console<'_>) -> Self {
        let dash = paths.iter().find(|path| path.as_os_str() == "-");
        Self(dash.map(|path| files::bytes(path, console)))
    }

    fn content(&self, path: &Path) -> Result<Content, FileError> {
        match &self.0 {
            Some(bytes) if path.as_os_str() == "-" => bytes.clone().map(Content::Bytes),
            #[cfg(feature = "sqlite")]
            _ => files::bytes_unless(path, DATABASE)
                .map(|bytes| bytes.map_or(Content::Database, Content::Bytes)),
            #[cfg(not(feature = "sqlite"))]
            _ => files::file_bytes(path).map(Content::Bytes),
        }
    }
}

/// What a file holds.
enum Content {
    /// A database, which is read by its path.
    #[cfg(feature = "sqlite")]
    Database,
    Bytes(Vec<u8>),
}

/// Reads one file, and shows its sessions one after another. In a folder, a file that is no recording and is not named
/// like one is left out, and said to be.
pub(crate) fn each(found: &Found, flags: &Reading, input: &Input, visit: &mut dyn FnMut(Read)) {
    let bytes = match input.content(found.path()) {
        #[cfg(feature = "sqlite")]
        Ok(Content::Database) => return each_stored(found, flags, visit),
        Ok(Content::Bytes(bytes)) => bytes,
        Err(error) => return visit(No::Unreadable(error).read(found)),
    };
    match of_bytes(&bytes, found.path(), flags) {
        Ok(recordings) => {
            for recording in wanted(recordings, flags) {
                let source = source(found.path(), &recording);
                visit(Read::Recording(source, Box::new(recording)));
            }
        }
        Err(no) => {
            visit(no.read(found));
        }
    }
}

/// The sessions of a database, of which one at a time is in memory.
#[cfg(feature = "sqlite")]
fn each_stored(found: &Found, flags: &Reading, visit: &mut dyn FnMut(Read)) {
    let path = found.path();
    let database = match databases::opened(path, flags) {
        Ok(database) => database,
        Err(no) => return visit(No::from(no).read(found)),
    };
    for entry in databases::wanted(&database, &flags.sessions) {
        let read = match databases::recording(path, &database, entry, flags) {
            Ok(recording) => Read::Recording(source(path, &recording), Box::new(recording)),
            Err(error) => Read::Unreadable(error),
        };
        visit(read);
    }
}

#[cfg(feature = "sqlite")]
fn one_stored(path: &Path, flags: &Reading) -> Result<Recording, FileError> {
    let database = databases::opened(path, flags).map_err(databases::No::error)?;
    match *databases::wanted(&database, &flags.sessions).as_slice() {
        [entry] => databases::recording(path, &database, entry, flags),
        [] => Err(none(path, database.entries().iter().map(|entry| entry.name().to_string()))),
        ref entries => {
            let names: Vec<_> = entries.iter().take(LISTED).map(|entry| entry.name().to_string()).collect();
            Err(several(path, entries.len(), &names))
        }
    }
}

/// Reads the one session of a file, or the one of several that the flags name.
#[cfg_attr(
    not(feature = "sqlite"),
    expect(
        clippy::infallible_destructuring_match,
        reason = "without databases there is one kind of contents"
    )
)]
pub(crate) fn one(path: &Path, flags: &Reading, console: &mut Console<'_>) -> Result<Recording, FileError> {
    let bytes = match Input::of(&[path.to_owned()], console).content(path)? {
        #[cfg(feature = "sqlite")]
        Content::Database => return one_stored(path, flags),
        Content::Bytes(bytes) => bytes,
    };
    let recordings = match of_bytes(&bytes, path, flags) {
        Ok(recordings) => recordings,
        Err(No::Unreadable(error) | No::OtherFile(error)) => return Err(error),
    };
    let named = |one: &Recording| if one.name.is_empty() { one.session_id.clone() } else { one.name.clone() };
    let names: Vec<_> = recordings.iter().map(named).collect();
    let mut recordings = wanted(recordings, flags);
    match (recordings.pop(), recordings.is_empty()) {
        (Some(recording), true) => Ok(recording),
        (Some(last), false) => {
            recordings.push(last);
            let names: Vec<_> = recordings.iter().take(LISTED).map(|one| one.name.clone()).collect();
            Err(several(path, recordings.len(), &names))
        }
        (None, _) => Err(none(path, names.into_iter())),
    }
}

/// How many sessions of a file a message names.
const LISTED: usize = 10;

fn several(path: &Path, count: usize, names: &[String]) -> FileError {
    let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
    let more = if count > LISTED { ", …" } else { "" };
    let why = format!(
        "it holds {count} sessions: name one with --session-id; there are {}{more}",
        names.join(", ")
    );
    files::unreadable(path, why)
}

/// None of the sessions is the one that the flags name.
fn none(path: &Path, names: impl Iterator<Item = String>) -> FileError {
    let mut names: Vec<_> = names.take(LISTED + 1).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return files::unreadable(path, "there is no session in it");
    }
    if let Some(last) = names.get_mut(LISTED) {
        "…".clone_into(last);
    }
    let why =
        format!("it has no session of the name that --session-id gives; there are {}", names.join(", "));
    files::unreadable(path, why)
}

fn source(path: &Path, recording: &Recording) -> String {
    let file = files::name(path);
    if recording.name.is_empty() { file } else { format!("{file}#{}", recording.name) }
}

/// Why a file gives no recordings.
#[derive(Debug)]
enum No {
    Unreadable(FileError),
    /// It is no recording at all, and not named like one.
    OtherFile(FileError),
}

#[cfg(feature = "sqlite")]
impl From<databases::No> for No {
    fn from(no: databases::No) -> Self {
        match no {
            databases::No::Other(error) => Self::OtherFile(error),
            databases::No::Unreadable(error) => Self::Unreadable(error),
        }
    }
}

impl No {
    fn read(self, found: &Found) -> Read {
        match (self, found) {
            (Self::OtherFile(error), Found::Met(_)) => Read::Skipped(FileError { kind: "skipped", ..error }),
            (Self::OtherFile(error) | Self::Unreadable(error), _) => Read::Unreadable(error),
        }
    }
}

fn of_bytes(bytes: &[u8], path: &Path, flags: &Reading) -> Result<Vec<Recording>, No> {
    recording::read(bytes, &flags.options()).map_err(|error| {
        let named_so = files::ends_with(path, &[".json", ".jsonl", ".ndjson"])
            && !files::ends_with(path, &[".test.json"]);
        // A recording that cannot be judged is a session that was not checked.
        let other = !named_so && !matches!(error, RecordingError::NoSession { .. });
        let error = files::unreadable(path, error);
        if other { No::OtherFile(error) } else { No::Unreadable(error) }
    })
}

/// The sessions that the flags name: by the name that tells them apart in their file, else by their id.
fn wanted(mut recordings: Vec<Recording>, flags: &Reading) -> Vec<Recording> {
    if !flags.sessions.is_empty() {
        let asked: BTreeSet<&str> = flags.sessions.iter().map(String::as_str).collect();
        let names = recordings.iter().map(|one| one.name.clone());
        let named: BTreeSet<String> = names.filter(|name| asked.contains(name.as_str())).collect();
        let by_id = |id: &str| asked.contains(id) && !named.contains(id);
        recordings.retain(|one| named.contains(&one.name) || by_id(&one.session_id));
    }
    recordings
}
