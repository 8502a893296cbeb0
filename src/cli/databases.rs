//! Session databases from files.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cli::arguments::Reading;
use crate::cli::files;
use crate::recording::{Form, Recording, RecordingError};
use crate::report::json::FileError;
use crate::store::{self, Database, Entry, StoreError};

/// Why a database gives no recordings.
#[derive(Debug)]
pub(crate) enum No {
    /// It is a database of something else.
    Other(FileError),
    Unreadable(FileError),
}

impl No {
    /// What is told of it where it was named by the user.
    pub(crate) fn error(self) -> FileError {
        match self {
            Self::Other(error) | Self::Unreadable(error) => error,
        }
    }
}

/// Opens the database at that path.
pub(crate) fn open(path: &Path) -> Result<Database, No> {
    store::open(path).map_err(|error| {
        let other = matches!(
            &error,
            StoreError::Journals | StoreError::Recording(RecordingError::OtherDatabase { .. })
        );
        let error = unreadable(path, &error);
        if other { No::Other(error) } else { No::Unreadable(error) }
    })
}

pub(crate) fn unreadable(path: &Path, error: &StoreError) -> FileError {
    match error {
        StoreError::File(error) => files::unreadable(path, files::why(error)),
        _ => files::unreadable(path, error),
    }
}

/// Opens the database at that path to read recordings as the flags say.
pub(crate) fn opened(path: &Path, flags: &Reading) -> Result<Database, No> {
    match flags.from {
        None | Some(Form::Database) => open(path),
        Some(wanted) => {
            let error = RecordingError::OtherForm { seen: Form::Database.words(), wanted: wanted.name() };
            Err(No::Unreadable(files::unreadable(path, error)))
        }
    }
}

/// The sessions of a database that were asked for: all, or those of these ids or names.
pub(crate) fn wanted<'d>(database: &'d Database, names: &[String]) -> Vec<&'d Entry> {
    let asked: BTreeSet<&str> = names.iter().map(String::as_str).collect();
    let named = |entry: &&Entry| {
        let name = entry.name();
        asked.is_empty() || asked.contains(&*name.id) || asked.contains(&*name.to_string())
    };
    database.entries().iter().filter(named).collect()
}

/// Reads one session of a database.
pub(crate) fn recording(
    path: &Path,
    database: &Database,
    entry: &Entry,
    flags: &Reading,
) -> Result<Recording, FileError> {
    database.recording(entry, &flags.options()).map_err(|error| unreadable(path, &error))
}
