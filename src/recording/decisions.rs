//! The decision log of a gate: one line for each verdict, each naming the line before by its hash.
//!
//! A log is one chain over all its files. Written and read here alone; who keeps the files is somebody else.

use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::Sha256;

use crate::recording::journal::{Mode, SessionKey, Word};
use crate::recording::seal::{hash, hexadecimal, seal, unseal};

/// The version of the format.
pub const VERSION: u32 = 1;

/// The key under which arguments are hashed, so that nobody who reads the log alone can try out what they were.
#[derive(Clone)]
pub struct HashKey(Vec<u8>);

/// Bytes of the shortest key.
const SHORTEST_KEY: usize = 16;

impl std::fmt::Debug for HashKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("HashKey").field(&self.name()).finish()
    }
}

impl HashKey {
    /// A key of these bytes; none for fewer than 16.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Option<Self> {
        (bytes.len() >= SHORTEST_KEY).then(|| Self(bytes.to_vec()))
    }

    /// The HMAC-SHA-256 of a text, in hexadecimal; empty in no case, since a key may have any length.
    #[must_use]
    pub fn hash(&self, text: &str) -> String {
        let Ok(mut mac) = Hmac::<Sha256>::new_from_slice(&self.0) else { return String::new() };
        mac.update(text.as_bytes());
        hexadecimal(&mac.finalize().into_bytes())
    }

    /// What tells the key from others, and gives nothing of it away.
    #[must_use]
    pub fn name(&self) -> String {
        self.hash("gatelog decision log").chars().take(16).collect()
    }
}

/// What one line of the log says.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// A file begins.
    Begin(Begin),
    /// The end of the file was torn, and is cut off.
    Repaired(Repaired),
    /// Other policies serve, or were refused.
    Policies(Activated),
    /// A verdict.
    Decision(Box<Decided>),
}

/// The beginning of a file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Begin {
    /// The version of the format.
    pub gatelog_decisions: u32,
    /// The version of what writes it.
    pub gatelog: String,
    /// Its number among the files of the log, from 1.
    pub file: u64,
    /// Tells the key of the hashes from others.
    pub key: String,
}

/// A torn end that was cut off: it was never acknowledged.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repaired {
    /// How many bytes it had.
    pub bytes: u64,
}

/// What became of policies that were to serve.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Activated {
    /// When, RFC 3339.
    pub time: String,
    /// Digest of the set that serves from here on.
    pub policies: String,
    /// Why it is still the one before; none where it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// A verdict.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decided {
    /// When it was given, RFC 3339.
    pub time: String,
    /// The time that the policy knew, RFC 3339; may be empty.
    pub clock: String,
    /// The session.
    pub key: SessionKey,
    /// Names the check, and is in the journal and in denials; empty where it could not be kept.
    pub check: String,
    /// How many events of the session the gate had taken in.
    pub events: u64,
    /// Id of the call; may be empty.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The agent that calls.
    pub agent: String,
    /// The invocation; may be empty.
    pub invocation: String,
    /// The authenticated caller; none for an anonymous one.
    pub principal: Option<String>,
    /// The answer.
    pub verdict: Word,
    /// Whether the call may run.
    pub may_run: bool,
    /// What the gate does with verdicts.
    pub mode: Mode,
    /// The name of the policy that decided.
    pub served: String,
    /// Its digest; empty where none was asked.
    pub policy: String,
    /// Why not.
    pub reasons: Vec<Because>,
    /// Why no policy was asked: what went wrong, or what the check lacked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unjudged: Option<String>,
    /// [`HashKey::hash`] of the arguments as [`Json::canonical`](crate::json::Json::canonical) writes them.
    pub arguments_hash: String,
    /// The arguments, where they are logged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Box<RawValue>>,
    /// What was decided beside it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shadows: Vec<Shadowed>,
    /// How long it took.
    pub micros: Micros,
}

/// One reason of a verdict.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Because {
    /// Its kind.
    pub kind: String,
    /// The rule; empty where none takes part.
    pub rule: String,
    /// Its file; empty where no rule takes part.
    pub file: String,
    /// The line of its head; 0 where no rule takes part.
    pub line: u32,
    /// For a person. It may hold values of arguments, and is there only where those are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a policy said that is decided beside the one that serves.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shadowed {
    /// Its name.
    pub name: String,
    /// Its digest.
    pub policy: String,
    /// What it would have answered; none where it came to no end.
    pub verdict: Option<Word>,
    /// Whether that is another verdict than the one given.
    pub differs: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Because>,
    /// Why it came to no end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
}

/// Times, in microseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Micros {
    /// From the question to the verdict.
    pub verdict: u64,
    /// What was decided beside it.
    pub shadows: u64,
}

/// A line without its hash.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    number: u64,
    previous: String,
    said: Said,
    /// Present where a line is read.
    #[serde(default, skip_serializing)]
    hash: String,
}

/// The end of a log: what the next line continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LogHead {
    /// How many lines there are, over all files.
    pub lines: u64,
    /// Hash of the last one, in hexadecimal; empty where there is none.
    pub hash: String,
}

/// What is wrong with a line of a log, counted from 1 in its file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum LogFault {
    #[error("line {line} cannot be read: {why}")]
    Unreadable { line: u64, why: String },
    #[error("line {line} was changed: its hash is not that of its text")]
    Changed { line: u64 },
    #[error("line {line} does not follow the one before: it was moved or written anew, or is of another log")]
    Unchained { line: u64 },
    #[error(
        "line {line} has the number {number} and {expected} is next: lines are missing, moved, or stand there twice"
    )]
    Misnumbered { line: u64, number: u64, expected: u64 },
    #[error("line {line} is no beginning of a file: the lines before it are missing")]
    NotBegun { line: u64 },
    #[error(
        "it is a log of version {version}, and {VERSION} is read: use the version of gatelog that wrote it"
    )]
    OtherVersion { version: u32 },
}

impl LogHead {
    /// The text of the next line, without a line break, and the head after it.
    ///
    /// # Errors
    /// Where it has no text, which nothing of ours does.
    pub fn write(&self, said: Said) -> Result<(String, Self), LogFault> {
        let number = self.lines;
        let line = Line { number, previous: self.hash.clone(), said, hash: String::new() };
        let text = serde_json::to_string(&line)
            .map_err(|error| LogFault::Unreadable { line: number + 1, why: error.to_string() })?;
        let (text, hash) = seal(text);
        Ok((text, Self { lines: number + 1, hash }))
    }
}

/// Reads the files of a log, one after another.
#[derive(Debug, Clone, Default)]
pub struct LogReader {
    /// Where the log goes on; none before the first line, which may be any beginning of a file.
    head: Option<LogHead>,
    /// Lines of the file at hand.
    line: u64,
}

impl LogReader {
    /// The next line is the first of a file.
    pub fn begin_file(&mut self) {
        self.line = 0;
    }

    /// Where the log goes on; none before the first line.
    #[must_use]
    pub fn head(&self) -> Option<&LogHead> {
        self.head.as_ref()
    }

    /// Reads the line that comes next: what it says. Faults leave the head where it is.
    ///
    /// # Errors
    /// Where the text is no line, was changed, or does not follow.
    pub fn read(&mut self, text: &[u8]) -> Result<Said, LogFault> {
        let at = self.line + 1;
        let unreadable = |why: &str| LogFault::Unreadable { line: at, why: why.to_owned() };
        let text = std::str::from_utf8(text).map_err(|_| unreadable("it is not UTF-8"))?;
        let (sealed, stated) = unseal(text).ok_or_else(|| unreadable("it does not end with a hash"))?;
        if hash(sealed) != stated {
            return Err(LogFault::Changed { line: at });
        }
        let line: Line = serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?;
        if line.hash != stated {
            return Err(LogFault::Changed { line: at });
        }
        match (&line.said, self.line) {
            (Said::Begin(begin), 0) if begin.gatelog_decisions == VERSION => {}
            (Said::Begin(begin), 0) => {
                return Err(LogFault::OtherVersion { version: begin.gatelog_decisions });
            }
            (Said::Repaired(_) | Said::Policies(_) | Said::Decision(_), 0) | (Said::Begin(_), _) => {
                return Err(LogFault::NotBegun { line: at });
            }
            (Said::Repaired(_) | Said::Policies(_) | Said::Decision(_), _) => {}
        }
        if let Some(LogHead { lines, hash }) = &self.head {
            if line.number != *lines {
                return Err(LogFault::Misnumbered { line: at, number: line.number, expected: *lines });
            }
            if line.previous != *hash {
                return Err(LogFault::Unchained { line: at });
            }
        }
        let lines = line.number.checked_add(1).ok_or_else(|| unreadable("its number is too large"))?;
        self.head = Some(LogHead { lines, hash: stated.to_owned() });
        self.line = at;
        Ok(line.said)
    }
}

/// The number of the first line of a file, by which the files of a log are put in order; none where it is no log.
#[must_use]
pub fn first_number(line: &[u8]) -> Option<u64> {
    let line: Line = serde_json::from_slice(line).ok()?;
    matches!(line.said, Said::Begin(_)).then_some(line.number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first test case of RFC 4231, and the one with a key longer than a block.
    #[test]
    fn hashes_are_those_of_the_standard() {
        let key = HashKey::new(&[0x0b; 20]).unwrap();
        let expected = "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7";
        assert_eq!(key.hash("Hi There"), expected);
        let key = HashKey::new(&[0xaa; 131]).unwrap();
        let expected = "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54";
        assert_eq!(key.hash("Test Using Larger Than Block-Size Key - Hash Key First"), expected);
        assert!(HashKey::new(b"short").is_none());
    }

    fn begin(file: u64) -> Said {
        Said::Begin(Begin { gatelog_decisions: VERSION, file, ..Begin::default() })
    }

    fn repaired(bytes: u64) -> Said {
        Said::Repaired(Repaired { bytes })
    }

    /// The lines of a log of two files.
    fn written() -> Vec<String> {
        let mut head = LogHead::default();
        let all = [begin(1), repaired(1), repaired(2), repaired(3), begin(2), repaired(4)];
        let line = |said| {
            let (text, next) = head.write(said).unwrap();
            head = next;
            text
        };
        all.into_iter().map(line).collect()
    }

    /// Reads lines of those; a 9 between them begins a file.
    fn fault(lines: &[String], picked: &[usize]) -> Option<LogFault> {
        let mut reader = LogReader::default();
        for &pick in picked {
            match lines.get(pick) {
                None => reader.begin_file(),
                Some(line) => {
                    if let Err(fault) = reader.read(line.as_bytes()) {
                        return Some(fault);
                    }
                }
            }
        }
        None
    }

    #[test]
    fn lines_that_are_cut_moved_or_of_other_logs_are_found_and_named() {
        let lines = written();
        assert_eq!(fault(&lines, &[0, 1, 2, 3, 9, 4, 5]), None);
        assert_eq!(fault(&lines, &[4, 5]), None);
        let misnumbered = |line, number, expected| Some(LogFault::Misnumbered { line, number, expected });
        assert_eq!(fault(&lines, &[0, 1, 3]), misnumbered(3, 3, 2));
        assert_eq!(fault(&lines, &[0, 2, 1]), misnumbered(2, 2, 1));
        assert_eq!(fault(&lines, &[0, 1, 2, 9, 4]), misnumbered(1, 4, 3));
        assert_eq!(fault(&lines, &[1]), Some(LogFault::NotBegun { line: 1 }));
        assert_eq!(fault(&lines, &[0, 1, 2, 3, 4]), Some(LogFault::NotBegun { line: 5 }));
        let mut other = lines.clone();
        let (forged, _) = LogHead { lines: 2, hash: "0".repeat(64) }.write(repaired(2)).unwrap();
        other[2] = forged;
        assert_eq!(fault(&other, &[0, 1, 2]), Some(LogFault::Unchained { line: 3 }));
        other[1] = lines[1].replace("\"bytes\":1", "\"bytes\":7");
        assert_eq!(fault(&other, &[0, 1]), Some(LogFault::Changed { line: 2 }));
    }
}
