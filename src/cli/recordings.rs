//! Recordings from files.

use crate::cli::console::Console;
use crate::cli::files::{self, Found};
use crate::recording::{self, Recording, RecordingError};
use crate::report::json::FileError;

/// What became of one file.
#[derive(Debug)]
pub(crate) enum Read {
    /// A recording, under the name of its file.
    Recording(String, Box<Recording>),
    /// Something else in a folder of recordings.
    Skipped(FileError),
    /// No recording, or one that cannot be read.
    Unreadable(FileError),
}

/// Reads one file. In a folder, a file that is no recording and is not named like one is left out, and said to be.
pub(crate) fn read(found: &Found, console: &mut Console<'_>) -> Read {
    let path = found.path();
    let bytes = match files::bytes(path, console) {
        Ok(bytes) => bytes,
        Err(error) => return Read::Unreadable(error),
    };
    match recording::read(&bytes) {
        Ok(recording) => Read::Recording(files::name(path), Box::new(recording)),
        Err(error) => {
            let named_so = files::ends_with(path, &[".json", ".jsonl", ".ndjson"])
                && !files::ends_with(path, &[".test.json"]);
            // A recording that cannot be read yet is a session that was not checked.
            let other = !named_so && !matches!(error, RecordingError::NotYet { .. });
            let error = files::unreadable(path, error);
            match found {
                Found::Met(_) if other => Read::Skipped(FileError { kind: "skipped", ..error }),
                Found::Met(_) | Found::Named(_) => Read::Unreadable(error),
            }
        }
    }
}
