//! Files and folders.
#![expect(clippy::disallowed_methods, reason = "files are opened and written here")]

use std::ffi::OsString;
use std::fs::{DirEntry, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};

use crate::cli::console::Console;
use crate::report::json::FileError;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 1 << 30;

/// Names that are tried for a new file.
const ATTEMPTS: u32 = 1_000;

/// Why a pipe or a device is not written.
const NO_FILE: &str = "it is no ordinary file";

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

/// What went wrong with a file, in words.
pub(crate) fn why(error: &io::Error) -> String {
    match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "that is not permitted".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::FileTooLarge => format!("it has more than {LARGEST} bytes"),
        kind => kind.to_string(),
    }
}

/// The bytes of a file, or of standard input for `-`.
pub(crate) fn bytes(path: &Path, console: &mut Console<'_>) -> Result<Vec<u8>, FileError> {
    if path.as_os_str() == "-" {
        return console.read(LARGEST).map_err(|error| unreadable(path, why(&error)));
    }
    file_bytes(path)
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
    if !target.is_file() {
        return Err(unwritable(path, NO_FILE));
    }
    let written = std::fs::metadata(&target).and_then(|metadata| {
        if metadata.permissions().readonly() {
            return Err(ErrorKind::PermissionDenied.into());
        }
        let (mut file, beside) = create_beside(&target)?;
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
    written.map_err(|error| unwritable(path, why(&error)))
}

/// A new file in the folder of another one. Its name is short whatever that one's is, and what an earlier run that was
/// killed, or one in another container, left there is in nobody's way.
fn create_beside(target: &Path) -> io::Result<(File, PathBuf)> {
    let process = std::process::id();
    let mut fault = io::Error::from(ErrorKind::AlreadyExists);
    for number in 0..ATTEMPTS {
        let beside = target.with_file_name(format!(".gatelog-{process}-{number}.new"));
        match OpenOptions::new().write(true).create_new(true).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => fault = error,
            Err(error) => return Err(error),
        }
    }
    Err(fault)
}

/// That the path cannot be replaced by a file, if it cannot: a pipe would be waited for, and a device lost.
pub(crate) fn writable(path: &Path) -> Result<(), FileError> {
    if canonical(path)?.is_file() { Ok(()) } else { Err(unwritable(path, NO_FILE)) }
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
/// are not followed, nor are pipes and devices waited for.
pub(crate) fn walk(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    if !folder.is_dir() {
        return Ok(vec![folder.to_owned()]);
    }
    let mut files = Vec::new();
    let mut open = vec![Entry { path: folder.to_owned(), name: OsString::new(), is_folder: true }];
    while let Some(entry) = open.pop() {
        if !entry.is_folder {
            files.push(entry.path);
            continue;
        }
        let mut entries = Vec::new();
        let failed = |error: io::Error| unreadable(&entry.path, why(&error));
        for met in std::fs::read_dir(&entry.path).map_err(failed)? {
            entries.extend(entry_of(&met.map_err(failed)?));
        }
        // Last in, first out. In one folder the names alone tell paths apart.
        entries.sort_by(|one, other| other.name.cmp(&one.name));
        open.append(&mut entries);
    }
    Ok(files)
}

/// What was met in a folder.
struct Entry {
    path: PathBuf,
    name: OsString,
    is_folder: bool,
}

/// What is walked of an entry of a folder, if anything is. The folder itself says what most entries are.
fn entry_of(met: &DirEntry) -> Option<Entry> {
    let name = met.file_name();
    if name.as_encoded_bytes().starts_with(b".") {
        return None;
    }
    let path = met.path();
    let kind = met.file_type().ok();
    let (is_folder, is_file) = kind.map_or((false, false), |kind| (kind.is_dir(), kind.is_file()));
    // A link that leads nowhere is kept, and cannot be read later.
    let kept = is_folder || is_file || path.metadata().map_or(true, |about| about.is_file());
    kept.then_some(Entry { path, name, is_folder })
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

/// The true path of a file that lies under a folder, links followed.
pub(crate) fn inside(folder: &Path, name: &str) -> Result<PathBuf, FileError> {
    let path = folder.join(name);
    let found = path.canonicalize().map_err(|error| unreadable(&path, why(&error)))?;
    if found.starts_with(canonical(folder)?) {
        return Ok(found);
    }
    Err(unreadable(&path, format!("it lies outside `{}`", folder.display())))
}

/// Makes a folder, and those that it lies in, where they are not there.
pub(crate) fn make_folder(folder: &Path) -> Result<(), FileError> {
    std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, why(&error)))
}

/// Writes a file of that name under a folder. A link in its way is not followed.
pub(crate) fn write_inside(folder: &Path, name: &Path, text: &str) -> Result<(), FileError> {
    let path = way_inside(folder, name)?;
    std::fs::write(&path, text).map_err(|error| unwritable(&path, why(&error)))
}

/// The path of that name under a folder, which is made where it is not there. A link on the way is refused.
fn way_inside(folder: &Path, name: &Path) -> Result<PathBuf, FileError> {
    let mut path = folder.to_owned();
    for part in name {
        path.push(part);
        if path.is_symlink() {
            return Err(unwritable(
                &path,
                format!("it is a link, and may lead out of `{}`", folder.display()),
            ));
        }
    }
    make_folder(path.parent().unwrap_or(folder))?;
    Ok(path)
}

/// What happens to a file that stands in the way of a new one.
#[cfg(feature = "sqlite")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InTheWay {
    Stays,
    IsReplaced,
}

/// Writes a file of that name under a folder, which nobody but its owner may read.
#[cfg(feature = "sqlite")]
pub(crate) fn write_private(
    folder: &Path,
    name: &Path,
    text: &str,
    other: InTheWay,
) -> Result<(), FileError> {
    let path = way_inside(folder, name)?;
    if other == InTheWay::IsReplaced && path.exists() {
        std::fs::remove_file(&path).map_err(|error| unwritable(&path, why(&error)))?;
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(&path).and_then(|mut file| file.write_all(text.as_bytes()));
    written.map_err(|error| match error.kind() {
        ErrorKind::AlreadyExists => unwritable(&path, "it is there already: --force overwrites it"),
        _ => unwritable(&path, why(&error)),
    })
}

fn unwritable(path: &Path, why: impl std::fmt::Display) -> FileError {
    let file = name(path);
    FileError { kind: "unwritable", text: format!("`{file}` cannot be written: {why}"), file }
}

/// The bytes of a file; `-` is a name like any other.
pub(crate) fn file_bytes(path: &Path) -> Result<Vec<u8>, FileError> {
    let read = || read_to(&mut File::open(path)?, LARGEST);
    read().map_err(|error| unreadable(path, why(&error)))
}

/// The first bytes of an ordinary file, so many at most.
#[cfg(feature = "gate")]
pub(crate) fn start(path: &Path, most: usize) -> Result<Vec<u8>, FileError> {
    let read = || {
        if !path.metadata()?.is_file() {
            return Err(io::Error::other(NO_FILE));
        }
        let mut bytes = Vec::new();
        File::open(path)?.take(most as u64).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    read().map_err(|error: io::Error| unreadable(path, why(&error)))
}

/// The bytes of a file that begins otherwise than so; none where it begins so, and then hardly more of it is read. Pipes and
/// devices are not looked into first, and read whatever comes.
#[cfg(feature = "sqlite")]
pub(crate) fn bytes_unless(path: &Path, start: &[u8]) -> Result<Option<Vec<u8>>, FileError> {
    /// Bytes of the first reading, after which most files are at their end.
    const FIRST: u64 = 1 << 16;
    let Some(about) = path.metadata().ok().filter(|about| about.is_file()) else {
        return file_bytes(path).map(Some);
    };
    let read = || {
        let mut file = File::open(path)?;
        let first = usize::try_from(about.len().min(FIRST)).unwrap_or_default();
        let mut bytes = vec![0; first.max(start.len())];
        let length = file.read(&mut bytes)?;
        bytes.truncate(length);
        if bytes.starts_with(start) {
            return Ok(None);
        }
        bytes.reserve_exact(
            usize::try_from(about.len().min(LARGEST)).unwrap_or_default().saturating_sub(length),
        );
        read_on(&mut file, &mut bytes, LARGEST)?;
        Ok(Some(bytes))
    };
    read().map_err(|error: io::Error| unreadable(path, why(&error)))
}

/// All that is left of a stream, unless it comes to more bytes than `most`.
fn read_on(from: &mut dyn Read, bytes: &mut Vec<u8>, most: u64) -> io::Result<()> {
    let left = most.saturating_add(1).saturating_sub(bytes.len() as u64);
    from.take(left).read_to_end(bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::from(ErrorKind::FileTooLarge));
    }
    Ok(())
}

/// All bytes of a stream, unless there are more than `most`: some files have no end.
pub(crate) fn read_to(from: &mut dyn Read, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    read_on(from, &mut bytes, most)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_an_end_is_refused() {
        assert_eq!(read_to(&mut &b"abc"[..], 3).unwrap(), b"abc");
        assert_eq!(read_to(&mut io::repeat(0), 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
    }
}
