//! The files of a decision log: lines that are only ever added, by one thread.
//!
//! The thread takes all lines that wait, of all sessions, chains them, and tells each writer once they are on disk. A file
//! that has grown to its size is renamed to its number, and the next one goes on with the chain.
#![expect(clippy::disallowed_methods, reason = "the files of the log are opened here")]

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::recording::decisions::{Begin, HashKey, LogFault, LogHead, LogReader, Repaired, Said, VERSION};

/// Most lines of one wait for the disk.
const BATCH: usize = 4096;

/// Bytes of the longest line that is read.
const LONGEST: u64 = 128 << 20;

/// Digits of the number of a file that is full.
const DIGITS: usize = 6;

/// Bytes of the largest key.
const LARGEST_KEY: u64 = 4096;

/// Why a decision log cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum LogError {
    #[error("the decision log `{path}` cannot be used: {why}")]
    Unusable { path: String, why: String },
    #[error(
        "the decision log `{path}` is broken: {fault}; keep it, and begin another one under another name"
    )]
    Broken { path: String, fault: LogFault },
    #[error("the decision log `{path}` is written by someone else: give each gate a log of its own")]
    Taken { path: String },
    #[error("the key `{path}` cannot be used: {why}")]
    Key { path: String, why: String },
    #[error("the decision log is closed")]
    Closed,
}

/// Is told once a line is on disk, or why it is not.
pub type Logged = Box<dyn FnOnce(Result<(), LogError>) + Send>;

/// How a log stands.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogState {
    /// The end of what is on disk: an anchor for `verify-log`.
    pub head: LogHead,
    /// Number of the file that is written, from 1.
    pub file: u64,
    /// Bytes of a torn end that was cut off when it was opened.
    pub repaired: Option<u64>,
    /// What went wrong last; none once lines are written again.
    pub fault: Option<String>,
}

/// A decision log. Copies of the handle are the same log; its writer ends with the last one, after what it was given is
/// written.
///
/// ```
/// use gatelog::recording::decisions::{Activated, HashKey, Said};
/// use gatelog::store::DecisionLog;
/// let folder = tempfile::tempdir().unwrap();
/// let key = HashKey::new(b"sixteen bytes or more").unwrap();
/// let log = DecisionLog::open(&folder.path().join("log.jsonl"), key, 64 << 20).unwrap();
/// let (told, kept) = std::sync::mpsc::channel();
/// log.append(Said::Policies(Activated::default()), Box::new(move |result| told.send(result).unwrap()));
/// assert_eq!(kept.recv().unwrap(), Ok(()));
/// assert_eq!(log.state().head.lines, 2);
/// ```
#[derive(Debug, Clone)]
pub struct DecisionLog {
    key: HashKey,
    state: Arc<Mutex<LogState>>,
    writer: mpsc::Sender<Append>,
}

/// A line to be added.
struct Append {
    said: Said,
    done: Logged,
}

impl DecisionLog {
    /// A log in that file, which is made where it is not there. A torn end is cut off, and said to be in the log. A file of
    /// more than `largest` bytes gets its number behind its name, and the next begins.
    ///
    /// # Errors
    /// Where a file cannot be opened or is broken, or another process writes the log.
    pub fn open(path: &Path, key: HashKey, largest: u64) -> Result<Self, LogError> {
        let mut writer = Writer::open(path, &key, largest)?;
        let state = Arc::clone(&writer.state);
        let (sender, lines) = mpsc::channel();
        std::thread::Builder::new()
            .name("decisions".to_owned())
            .spawn(move || writer.run(&lines))
            .map_err(|error| unusable(path, &error))?;
        Ok(Self { key, state, writer: sender })
    }

    /// Adds a line. `done` is told once it is on disk.
    pub fn append(&self, said: Said, done: Logged) {
        if let Err(mpsc::SendError(append)) = self.writer.send(Append { said, done }) {
            (append.done)(Err(LogError::Closed));
        }
    }

    /// The key of its hashes.
    #[must_use]
    pub fn key(&self) -> &HashKey {
        &self.key
    }

    /// How it stands.
    #[must_use]
    pub fn state(&self) -> LogState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl std::fmt::Debug for Append {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Append").field("said", &self.said).finish_non_exhaustive()
    }
}

/// The key in a file: its bytes without the line end. Where there is no such file, one is made with a random key, which only
/// its owner can read.
///
/// # Errors
/// Where it cannot be read or made, is shorter than 16 bytes, or everybody can read it.
pub fn key_file(path: &Path) -> Result<HashKey, LogError> {
    let fault = |why: String| LogError::Key { path: path.display().to_string(), why };
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_key(path).map_err(|error| fault(error.to_string()))?;
            File::open(path).map_err(|error| fault(error.kind().to_string()))?
        }
        Err(error) => return Err(fault(error.kind().to_string())),
    };
    let about = file.metadata().map_err(|error| fault(error.kind().to_string()))?;
    if open_to_all(&about) {
        return Err(fault("everybody can read or write it: take that from others (chmod o-rwx)".to_owned()));
    }
    let mut bytes = Vec::new();
    let read = (&mut file).take(LARGEST_KEY + 1).read_to_end(&mut bytes);
    read.map_err(|error| fault(error.kind().to_string()))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST_KEY) {
        return Err(fault(format!("it has more than {LARGEST_KEY} bytes")));
    }
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    HashKey::new(bytes).ok_or_else(|| fault("it has fewer than 16 bytes".to_owned()))
}

#[cfg(unix)]
fn open_to_all(about: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o007 != 0
}

#[cfg(not(unix))]
fn open_to_all(_about: &std::fs::Metadata) -> bool {
    false
}

/// Writes 32 random bytes, in hexadecimal.
fn make_key(path: &Path) -> io::Result<()> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let mut file = private().create_new(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())?;
    file.sync_all()
}

/// A file that is written at its end, and that only its owner can read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.append(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// The files of a log that are full, by their numbers, and the file that is written where it is there.
///
/// # Errors
/// Where the folder cannot be read.
pub fn files_of(path: &Path) -> Result<Vec<PathBuf>, LogError> {
    let mut files: Vec<PathBuf> =
        full(path).map_err(|error| unusable(path, &error))?.into_iter().map(|(_, path)| path).collect();
    if path.symlink_metadata().is_ok() {
        files.push(path.to_owned());
    }
    Ok(files)
}

fn full(path: &Path) -> io::Result<Vec<(u64, PathBuf)>> {
    let folder = folder(path);
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned() + ".") else {
        return Err(ErrorKind::InvalidFilename.into());
    };
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let entry = entry?;
        let found = entry.file_name().to_str().and_then(|other| number(other.strip_prefix(&name)?));
        files.extend(found.map(|found| (found, path.with_file_name(entry.file_name()))));
    }
    files.sort();
    Ok(files)
}

/// The number that a file has behind its name.
fn number(digits: &str) -> Option<u64> {
    let fits = digits.len() >= DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| digits.parse().ok())?
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The path with more behind its name.
fn beside(path: &Path, more: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(more);
    PathBuf::from(name)
}

fn unusable(path: &Path, why: &dyn std::fmt::Display) -> LogError {
    LogError::Unusable { path: path.display().to_string(), why: why.to_string() }
}

/// What a file came to.
#[derive(Debug, Clone, Copy, Default)]
pub struct Extent {
    /// Lines that were read.
    pub lines: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bytes of a torn end, which has no line end.
    pub torn: u64,
}

/// Reads one file of a log, line by line, and shows what each says, with the head that it makes.
///
/// # Errors
/// Where it cannot be read, or a line of it is broken.
pub fn read_file(
    path: &Path,
    reader: &mut LogReader,
    visit: &mut dyn FnMut(&LogHead, Said),
) -> Result<Extent, LogError> {
    let about = path.metadata().map_err(|error| unusable(path, &error.kind()))?;
    if !about.is_file() {
        return Err(unusable(path, &"it is no ordinary file"));
    }
    let mut input = BufReader::new(File::open(path).map_err(|error| unusable(path, &error.kind()))?);
    let (mut line, mut extent) = (Vec::new(), Extent::default());
    reader.begin_file();
    loop {
        line.clear();
        let read = input.by_ref().take(LONGEST).read_until(b'\n', &mut line);
        let length = read.map_err(|error| unusable(path, &error.kind()))?;
        let length = u64::try_from(length).unwrap_or(LONGEST);
        let Some(text) = line.strip_suffix(b"\n") else {
            if length == LONGEST {
                let why = format!("it has more than {LONGEST} bytes");
                let fault = LogFault::Unreadable { line: extent.lines + 1, why };
                return Err(LogError::Broken { path: path.display().to_string(), fault });
            }
            extent.torn = length;
            return Ok(extent);
        };
        let said = reader
            .read(text)
            .map_err(|fault| LogError::Broken { path: path.display().to_string(), fault })?;
        if let Some(head) = reader.head() {
            visit(head, said);
        }
        extent.lines += 1;
        extent.bytes += length;
    }
}

/// The file that is written.
#[derive(Debug)]
struct Output {
    file: File,
    /// Bytes that are on disk.
    good: u64,
    /// Whether there may be more behind them.
    dirty: bool,
}

#[derive(Debug)]
struct Writer {
    path: PathBuf,
    largest: u64,
    /// Tells the key from others.
    key: String,
    head: LogHead,
    /// Number of the file that is written.
    number: u64,
    /// None where the file is still to be begun.
    output: Option<Output>,
    /// Why nothing is written any more: what the disk holds is not known.
    lost: Option<LogError>,
    state: Arc<Mutex<LogState>>,
    /// Held as long as the log is written.
    _lock: File,
}

impl Writer {
    fn open(path: &Path, key: &HashKey, largest: u64) -> Result<Self, LogError> {
        let lock = lock(path)?;
        let mut reader = LogReader::default();
        let mut number = 0;
        let mut nothing = |_: &LogHead, _| {};
        // Earlier ones are for those who verify the log.
        if let Some((last, path)) = full(path).map_err(|error| unusable(path, &error))?.pop() {
            let extent = read_file(&path, &mut reader, &mut nothing)?;
            if extent.torn > 0 {
                return Err(unusable(&path, &"it ends in the middle of a line"));
            }
            number = last;
        }
        let mut writer = Self {
            path: path.to_owned(),
            largest,
            key: key.name(),
            head: LogHead::default(),
            number,
            output: None,
            lost: None,
            state: Arc::default(),
            _lock: lock,
        };
        let mut repaired = None;
        if path.symlink_metadata().is_ok() {
            let extent = read_file(path, &mut reader, &mut nothing)?;
            writer.number = number + 1;
            let file = private().open(path).map_err(|error| unusable(path, &error.kind()))?;
            let mut output = Output { file, good: extent.bytes, dirty: extent.torn > 0 };
            output.cut().map_err(|error| unusable(path, &error.kind()))?;
            repaired = (extent.torn > 0).then_some(extent.torn);
            if extent.lines == 0 {
                writer.number = number;
                std::fs::remove_file(path).map_err(|error| unusable(path, &error.kind()))?;
            } else {
                writer.output = Some(output);
            }
        }
        writer.head = reader.head().cloned().unwrap_or_default();
        writer.ready()?;
        if let Some(bytes) = repaired {
            let (text, head) = writer.text(Said::Repaired(Repaired { bytes }))?;
            writer.commit(&text, head)?;
        }
        writer.tell(None);
        let mut state = writer.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.repaired = repaired;
        drop(state);
        Ok(writer)
    }

    /// Writes what comes until nothing more can.
    fn run(&mut self, lines: &mpsc::Receiver<Append>) {
        while let Ok(first) = lines.recv() {
            let mut batch = vec![first];
            batch.extend(lines.try_iter().take(BATCH - 1));
            let mut rest = batch.into_iter().peekable();
            while rest.peek().is_some() {
                self.some(&mut rest);
            }
        }
    }

    /// Writes as many of these lines as the file at hand takes, and tells of them.
    fn some(&mut self, lines: &mut dyn Iterator<Item = Append>) {
        let ready = self.ready();
        let good = self.output.as_ref().map_or(0, |output| output.good);
        let (mut text, mut head, mut done) = (String::new(), self.head.clone(), Vec::new());
        for Append { said, done: told } in lines {
            match head.write(said) {
                Ok((line, next)) => {
                    text.push_str(&line);
                    text.push('\n');
                    head = next;
                    done.push(told);
                }
                Err(fault) => told(Err(LogError::Broken { path: self.path.display().to_string(), fault })),
            }
            if good.saturating_add(u64::try_from(text.len()).unwrap_or(u64::MAX)) >= self.largest {
                break;
            }
        }
        let written = ready.and_then(|()| self.commit(&text, head));
        self.tell(written.as_ref().err().map(ToString::to_string));
        for told in done {
            told(written.clone());
        }
    }

    fn tell(&self, fault: Option<String>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.head = self.head.clone();
        state.file = self.number;
        state.fault = fault;
    }

    fn text(&self, said: Said) -> Result<(String, LogHead), LogError> {
        let written = self.head.write(said);
        let (text, head) =
            written.map_err(|fault| LogError::Broken { path: self.path.display().to_string(), fault })?;
        Ok((text + "\n", head))
    }

    /// Sees that there is a file that takes lines.
    fn ready(&mut self) -> Result<(), LogError> {
        if let Some(lost) = &self.lost {
            return Err(lost.clone());
        }
        if self.output.as_ref().is_some_and(|output| output.good >= self.largest) {
            self.put_away();
        }
        if self.output.is_some() { Ok(()) } else { self.begin() }
    }

    /// Gives the file that is full its number. Where that cannot be done, the file grows on.
    fn put_away(&mut self) {
        let name = format!(".{:0width$}", self.number, width = DIGITS);
        let full = beside(&self.path, &name);
        if full.symlink_metadata().is_err() && std::fs::rename(&self.path, full).is_ok() {
            self.output = None;
        }
    }

    /// Begins the next file.
    fn begin(&mut self) -> Result<(), LogError> {
        let file = private().create_new(true).open(&self.path);
        let file = file.map_err(|error| unusable(&self.path, &error.kind()))?;
        self.output = Some(Output { file, good: 0, dirty: false });
        let begin = Begin {
            gatelog_decisions: VERSION,
            gatelog: env!("CARGO_PKG_VERSION").to_owned(),
            file: self.number + 1,
            key: self.key.clone(),
        };
        let before = self.head.clone();
        let begun = self
            .text(Said::Begin(begin))
            .and_then(|(text, head)| self.commit(&text, head))
            .and_then(|()| sync_folder(&self.path).map_err(|error| unusable(&self.path, &error.kind())));
        match begun {
            Ok(()) => {
                self.number += 1;
                Ok(())
            }
            Err(error) => {
                // A file without its first line is begun again.
                self.output = None;
                self.head = before;
                let _ = std::fs::remove_file(&self.path);
                Err(error)
            }
        }
    }

    /// Brings lines to the disk. A file that does not take them is cut back to what it held.
    fn commit(&mut self, text: &str, head: LogHead) -> Result<(), LogError> {
        let Some(output) = &mut self.output else { return Err(LogError::Closed) };
        let written = output.cut().and_then(|()| {
            output.dirty = true;
            output.file.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            // What cannot be cut now is cut before the next line.
            let _ = output.cut();
            return Err(unusable(&self.path, &error.kind()));
        }
        if let Err(error) = output.file.sync_data() {
            // After that nobody knows what the disk holds, and asking again gives no answer.
            let lost = unusable(&self.path, &format!("{}; start the gate again", error.kind()));
            self.lost = Some(lost.clone());
            return Err(lost);
        }
        output.good += u64::try_from(text.len()).unwrap_or(u64::MAX);
        output.dirty = false;
        self.head = head;
        Ok(())
    }
}

impl Output {
    /// Leaves what is good alone in the file.
    fn cut(&mut self) -> io::Result<()> {
        if self.dirty {
            self.file.set_len(self.good)?;
            self.file.sync_data()?;
            self.dirty = false;
        }
        Ok(())
    }
}

/// Takes the log for this process.
fn lock(path: &Path) -> Result<File, LogError> {
    let mut options = private();
    let file = options.create(true).open(beside(path, ".lock"));
    let file = file.map_err(|error| unusable(path, &error.kind()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LogError::Taken { path: path.display().to_string() }),
        Err(TryLockError::Error(error)) => Err(unusable(path, &error.kind())),
    }
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(folder(path))?.sync_all()
}

#[cfg(not(unix))]
fn sync_folder(_path: &Path) -> io::Result<()> {
    Ok(())
}
