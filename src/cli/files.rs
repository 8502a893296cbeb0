//! Files and folders.
#![expect(clippy::disallowed_methods, reason = "files are opened and written here")]

use std::fs::OpenOptions;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use crate::cli::console::Console;
use crate::report::json::FileError;

/// The name of standard input in messages.
const INPUT: &str = "<standard input>";

/// A path as messages show it.
pub(crate) fn name(path: &Path) -> String {
    if path.as_os_str() == "-" { INPUT.to_owned() } else { path.display().to_string() }
}

/// That a file cannot be used, and why.
pub(crate) fn unreadable(path: &Path, why: impl std::fmt::Display) -> FileError {
    let file = name(path);
    FileError { kind: "unreadable", text: format!("`{file}` cannot be read: {why}"), file }
}

fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "that is not permitted".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        kind => kind.to_string(),
    }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn bytes(path: &Path, console: &mut Console<'_>) -> Result<Vec<u8>, FileError> {
    if path.as_os_str() != "-" {
        return file_bytes(path);
    }
    console.read().map_err(|error| unreadable(path, why(&error)))
}

/// The text of a file, or of standard input for `-`.
pub(crate) fn text(path: &Path, console: &mut Console<'_>) -> Result<String, FileError> {
    as_text(path, bytes(path, console)?)
}

fn as_text(path: &Path, bytes: Vec<u8>) -> Result<String, FileError> {
    String::from_utf8(bytes)
        .map_err(|error| unreadable(path, format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))
}

/// The text of a file of a policy.
pub(crate) fn file_text(path: &Path) -> Result<String, FileError> {
    as_text(path, file_bytes(path)?)
}

/// Replaces a file with that text in one step: a reader sees the old text or the new one, and no fault leaves part of one.
/// Links are followed, and what the file permits stays as it is.
pub(crate) fn replace(path: &Path, text: &str) -> Result<(), FileError> {
    let target = canonical(path)?;
    let file_name = target.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let beside = target.with_file_name(format!(".{file_name}.{}.new", std::process::id()));
    let written = std::fs::metadata(&target).and_then(|metadata| {
        if metadata.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let mut file = OpenOptions::new().write(true).create_new(true).open(&beside)?;
        let finished = file
            .write_all(text.as_bytes())
            .and_then(|()| file.set_permissions(metadata.permissions()))
            .and_then(|()| file.sync_all())
            .and_then(|()| std::fs::rename(&beside, &target));
        if finished.is_err() {
            // What went wrong first is what is told.
            let _ = std::fs::remove_file(&beside);
        }
        finished
    });
    written.map_err(|error| {
        let (file, why) = (name(path), why(&error));
        FileError { kind: "unwritable", text: format!("`{file}` cannot be written: {why}"), file }
    })
}

/// The true path of a file, links followed.
pub(crate) fn canonical(path: &Path) -> Result<PathBuf, FileError> {
    path.canonicalize().map_err(|error| unreadable(path, why(&error)))
}

/// Whether the path is a folder.
pub(crate) fn is_folder(path: &Path) -> bool {
    path.as_os_str() != "-" && path.is_dir()
}

/// The files under a folder in the order of their paths. Names that begin with a dot are left out, and links to folders
/// are not followed.
pub(crate) fn walk(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(path) = open.pop() {
        let is_link = path != folder && path.is_symlink();
        if !path.is_dir() {
            files.push(path);
        } else if !is_link {
            let mut entries = Vec::new();
            for entry in std::fs::read_dir(&path).map_err(|error| unreadable(&path, why(&error)))? {
                let entry = entry.map_err(|error| unreadable(&path, why(&error)))?;
                if !entry.file_name().to_string_lossy().starts_with('.') {
                    entries.push(entry.path());
                }
            }
            // Last in, first out.
            entries.sort();
            entries.reverse();
            open.append(&mut entries);
        }
    }
    Ok(files)
}

/// A file that a command was given, or that was found in a folder that it was given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Found {
    /// Named by the user.
    Named(PathBuf),
    /// Met in a folder.
    Met(PathBuf),
}

impl Found {
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Named(path) | Self::Met(path) => path,
        }
    }
}

/// Paths with their folders walked, in the order given.
pub(crate) fn all(paths: &[PathBuf]) -> Vec<Result<Found, FileError>> {
    let mut found = Vec::new();
    for path in paths {
        if !is_folder(path) {
            found.push(Ok(Found::Named(path.clone())));
            continue;
        }
        match walk(path) {
            Ok(files) => found.extend(files.into_iter().map(|file| Ok(Found::Met(file)))),
            Err(error) => found.push(Err(error)),
        }
    }
    found
}

/// Whether the file's name ends so.
pub(crate) fn ends_with(path: &Path, endings: &[&str]) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase()).unwrap_or_default();
    endings.iter().any(|ending| name.ends_with(ending))
}

/// The bytes of a file; `-` is a name like any other.
pub(crate) fn file_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    std::fs::read(path).map_err(|error| unreadable(path, why(&error)))
}
