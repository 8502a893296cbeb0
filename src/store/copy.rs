//! A private copy of a database as it was at one moment.
//!
//! Reading a database in place takes locks that its writer has to wait for, and one that keeps a log beside it
//! (`-wal`) needs a file of shared memory there too. So the file and its log are copied, and nothing of theirs is opened
//! for writing. The copy is compared with the files once it is made: what was the same before and after was the same
//! between, so the copy is what stood there at a moment between, which is what SQLite would find had its writer died then.
//! A log only grows until it is begun anew, so only as much of it counts as was there when the copy began. A database that
//! is changed in place beside a rollback journal has no committed state of its own until the journal is gone.
#![expect(clippy::disallowed_methods, reason = "databases are opened here")]

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::TempDir;

use crate::store::StoreError;

/// How often a copy is tried, and how long is waited in between.
const TRIES: usize = 50;
const WAIT: Duration = Duration::from_millis(20);

const CHUNK: usize = 1 << 16;

/// How a rollback journal begins that still has to be rolled back.
const JOURNAL: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// A copy, which is removed with this.
#[derive(Debug)]
pub(crate) struct Copy {
    folder: TempDir,
}

impl Copy {
    /// Where it is.
    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("copy.db")
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("copy.db-wal")
    }

    /// Removes the copy's names once something was read of it, so that nothing is left of it even where the program is
    /// killed. Some systems cannot do so; there it is removed at the end.
    pub(crate) fn hide(&self) {
        let _ = std::fs::remove_file(self.path());
        let _ = std::fs::remove_file(self.log());
    }
}

/// Copies the database at that path, links followed.
pub(crate) fn of(path: &Path) -> Result<Copy, StoreError> {
    let path = path.canonicalize().map_err(StoreError::File)?;
    if !std::fs::metadata(&path).map_err(StoreError::File)?.is_file() {
        return Err(StoreError::NoFile);
    }
    let folder = private_folder().map_err(StoreError::Copy)?;
    let copy = Copy { folder };
    let mut why = StoreError::Changing;
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(WAIT);
        }
        match snapshot(&path, &copy)? {
            Taken::Whole => return Ok(copy),
            Taken::Changed => why = StoreError::Changing,
            Taken::Unfinished => why = StoreError::Unfinished,
        }
    }
    Err(why)
}

enum Taken {
    Whole,
    Changed,
    Unfinished,
}

fn snapshot(path: &Path, copy: &Copy) -> Result<Taken, StoreError> {
    let log = beside(path, "-wal");
    let log_length = length(&log).map_err(StoreError::File)?;
    if !copied(path, u64::MAX, &copy.path())? || !copied(&log, log_length, &copy.log())? {
        return Ok(Taken::Changed);
    }
    let same = || -> io::Result<Taken> {
        if is_hot(&beside(path, "-journal"))? {
            return Ok(Taken::Unfinished);
        }
        let same = equal(path, &copy.path(), u64::MAX)?
            && equal(&log, &copy.log(), log_length)?
            && length(&log)? >= log_length;
        Ok(if same { Taken::Whole } else { Taken::Changed })
    };
    match same() {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Taken::Changed),
        taken => taken.map_err(StoreError::File),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(ending);
    PathBuf::from(name)
}

/// The length of a file; 0 where it is not there.
fn length(path: &Path) -> io::Result<u64> {
    match std::fs::metadata(path) {
        Ok(about) if about.is_file() => Ok(about.len()),
        Ok(_) => Ok(0),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(error),
    }
}

/// Copies the first `most` bytes of a file; false where there are fewer. With none there is no copy.
/// A folder that nobody but its owner may look into: sessions hold what people said, and secrets.
fn private_folder() -> io::Result<TempDir> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("gatelog-");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o700));
    builder.tempdir()
}

fn copied(from: &Path, most: u64, to: &Path) -> Result<bool, StoreError> {
    if most == 0 {
        return match std::fs::remove_file(to) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(StoreError::Copy(error)),
            Ok(()) | Err(_) => Ok(true),
        };
    }
    let mut source = match File::open(from) {
        Ok(file) => file.take(most),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::File(error)),
    };
    let mut target = File::create(to).map_err(StoreError::Copy)?;
    let mut chunk = vec![0; CHUNK];
    let mut all = 0_u64;
    loop {
        let read = filled(&mut source, &mut chunk).map_err(StoreError::File)?;
        let Some(bytes) = chunk.get(..read).filter(|bytes| !bytes.is_empty()) else { break };
        target.write_all(bytes).map_err(StoreError::Copy)?;
        all += bytes.len() as u64;
    }
    Ok(most == u64::MAX || all == most)
}

/// Whether the first `most` bytes of a file are those of its copy.
fn equal(path: &Path, copy: &Path, most: u64) -> io::Result<bool> {
    if most == 0 {
        return Ok(true);
    }
    let (mut one, mut other) = (File::open(path)?.take(most), File::open(copy)?);
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let (first, second) = (filled(&mut one, &mut left)?, filled(&mut other, &mut right)?);
        if left.get(..first) != right.get(..second) {
            return Ok(false);
        }
        if first == 0 {
            return Ok(true);
        }
    }
}

/// Reads until the buffer is full or the file ends; how much was read.
fn filled(file: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut all = 0;
    while let Some(rest) = buffer.get_mut(all..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(read) => all += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(all)
}

/// Whether a journal is there that still has to be rolled back.
fn is_hot(journal: &Path) -> io::Result<bool> {
    let mut start = [0; 8];
    if length(journal)? == 0 {
        return Ok(false);
    }
    match File::open(journal) {
        Ok(mut file) => Ok(filled(&mut file, &mut start)? == start.len() && start == JOURNAL),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_look_into_the_folder_of_a_copy() {
        let folder = private_folder().unwrap();
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(folder.path()).unwrap().permissions());
        assert_eq!(mode & 0o777, 0o700);
    }
}
