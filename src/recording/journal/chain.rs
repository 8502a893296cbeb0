//! The lines of a journal: each names the one before by its hash.

use serde::{Deserialize, Serialize};

use crate::recording::journal::{Entry, Opening, VERSION};
use crate::recording::seal::{hash, seal, unseal};

/// How a journal begins.
const FIRST: &str = "{\"gatelog_journal\":";

/// A line without its hash.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// The version of the format, in the first line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    gatelog_journal: Option<u32>,
    number: u64,
    previous: String,
    entry: Entry,
    /// Present where a line is read.
    #[serde(default, skip_serializing)]
    hash: String,
}

/// The end of a journal: what the next line continues.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Head {
    /// How many lines there are.
    pub lines: u64,
    /// Hash of the last one, in hexadecimal; empty where there is none.
    pub hash: String,
}

/// What is wrong with a journal, and in which line, counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum JournalFault {
    #[error("line {line} of the journal cannot be read: {why}")]
    Unreadable { line: u64, why: String },
    #[error("line {line} of the journal was changed: its hash is not that of its text")]
    Changed { line: u64 },
    #[error(
        "line {line} of the journal does not follow the one before: lines are missing, or were moved or changed; take the \
         journal from its store again"
    )]
    Unchained { line: u64 },
    #[error("line {line} of the journal has the number {number}: lines are missing, or stand there twice")]
    Misnumbered { line: u64, number: u64 },
    #[error(
        "the journal is of version {version}, and none after {VERSION} is read: use the version of gatelog that wrote it"
    )]
    OtherVersion { version: u32 },
    #[error("line {line} of the journal is an opening, and only the first is: give each session a file")]
    OpenedTwice { line: u64 },
    #[error("the journal does not begin with its opening")]
    NotOpened,
}

/// A journal as far as it is sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Journal {
    /// What holds from the beginning.
    pub opening: Opening,
    /// The entries after it, in order.
    pub entries: Vec<Entry>,
    /// The end of what is sound.
    pub head: Head,
    /// What is wrong with the line after that; nothing behind it is read.
    pub fault: Option<JournalFault>,
    /// Whether the last line is cut off: it was never acknowledged, and is left out.
    pub torn: bool,
}

impl Head {
    /// The text of the next line, without a line break, and moves on to it.
    ///
    /// # Errors
    /// Where the entry has no text, which no entry of ours does.
    pub fn write(&mut self, entry: Entry) -> Result<String, JournalFault> {
        let number = self.lines;
        let gatelog_journal = (number == 0).then_some(VERSION);
        let line = Line { gatelog_journal, number, previous: self.hash.clone(), entry, hash: String::new() };
        let text = serde_json::to_string(&line)
            .map_err(|error| JournalFault::Unreadable { line: number + 1, why: error.to_string() })?;
        let (text, hash) = seal(text);
        *self = Self { lines: number + 1, hash };
        Ok(text)
    }

    /// Reads the line that comes next, and moves on to it. Faults leave the head where it is.
    ///
    /// # Errors
    /// Where the text is no line, was changed, or does not follow.
    pub fn read(&mut self, text: &str) -> Result<Entry, JournalFault> {
        let at = self.lines + 1;
        let unreadable = |why: &str| JournalFault::Unreadable { line: at, why: why.to_owned() };
        let (sealed, stated) = unseal(text).ok_or_else(|| unreadable("it does not end with a hash"))?;
        if hash(sealed) != stated {
            return Err(JournalFault::Changed { line: at });
        }
        let line: Line = serde_json::from_str(text).map_err(|error| unreadable(&error.to_string()))?;
        match (line.gatelog_journal, self.lines) {
            (Some(1..=VERSION), 0) | (None, 1..) => {}
            (Some(version), 0) => return Err(JournalFault::OtherVersion { version }),
            (None, 0) => return Err(JournalFault::NotOpened),
            (Some(_), _) => return Err(JournalFault::OpenedTwice { line: at }),
        }
        if line.hash != stated {
            return Err(JournalFault::Changed { line: at });
        }
        if line.number != self.lines {
            return Err(JournalFault::Misnumbered { line: at, number: line.number });
        }
        if line.previous != self.hash {
            return Err(JournalFault::Unchained { line: at });
        }
        match (&line.entry, self.lines) {
            (Entry::Open(_), 1..) => return Err(JournalFault::OpenedTwice { line: at }),
            (Entry::Open(_), 0) => {}
            (_, 0) => return Err(JournalFault::NotOpened),
            (_, _) => {}
        }
        *self = Self { lines: at, hash: stated.to_owned() };
        Ok(line.entry)
    }
}

/// Whether this is the beginning of a journal.
#[must_use]
pub fn begins(bytes: &[u8]) -> bool {
    bytes.starts_with(FIRST.as_bytes())
}

/// Reads a journal. Time is linear in its size.
///
/// # Errors
/// Where its opening cannot be read. What is wrong further on ends the journal there, and is said.
///
/// ```
/// use gatelog::recording::journal::{Appended, Entry, Head, Opening, read};
/// let mut head = Head::default();
/// let mut text = head.write(Entry::Open(Opening::default())).unwrap() + "\n";
/// text += &(head.write(Entry::Append(Appended { event: "{}".to_owned() })).unwrap() + "\n");
/// let journal = read(text.as_bytes()).unwrap();
/// assert_eq!((journal.entries.len(), journal.fault, journal.head), (1, None, head));
/// ```
pub fn read(bytes: &[u8]) -> Result<Journal, JournalFault> {
    let mut head = Head::default();
    let mut lines = bytes.split_inclusive(|byte| *byte == b'\n');
    let opening = match lines.next().map(|line| entry(&mut head, line)) {
        Some(Ok(Entry::Open(opening))) => opening,
        Some(Ok(_)) | None => return Err(JournalFault::NotOpened),
        Some(Err(fault)) => return Err(fault),
    };
    let (mut entries, mut fault, mut torn) = (Vec::new(), None, false);
    for line in lines {
        match entry(&mut head, line) {
            Ok(entry) => entries.push(entry),
            Err(found) => {
                torn = is_cut_off(line);
                fault = (!torn).then_some(found);
                break;
            }
        }
    }
    Ok(Journal { opening, entries, head, fault, torn })
}

/// Whether the text is the beginning of a line and no more. One that is whole was written to its end, whatever is wrong with
/// it.
fn is_cut_off(line: &[u8]) -> bool {
    let read = serde_json::from_slice::<serde::de::IgnoredAny>(line);
    !line.ends_with(b"\n") && read.is_err_and(|error| error.is_eof())
}

fn entry(head: &mut Head, line: &[u8]) -> Result<Entry, JournalFault> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match std::str::from_utf8(line) {
        Ok(text) => head.read(text),
        Err(_) => Err(JournalFault::Unreadable { line: head.lines + 1, why: "it is not UTF-8".to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::journal::{Adopted, Answer, Appended, Confirm, Ending, Finish, Question, Word};
    use proptest::prelude::{ProptestConfig, Strategy, any, prop_oneof, proptest};

    fn entries() -> impl Strategy<Value = Entry> {
        let append = any::<String>().prop_map(|event| Entry::Append(Appended { event }));
        let texts = (any::<String>(), any::<String>(), any::<[String; 3]>(), any::<u64>());
        let check = texts.prop_map(|(call_id, arguments, row, events)| {
            let question =
                Question { call_id, arguments, metadata: vec![row], events, ..Question::default() };
            let answer = Answer { verdict: Word::Ask, ..Answer::default() };
            Entry::Check(question, answer)
        });
        let ending = prop_oneof![
            any::<Option<String>>().prop_map(Ending::Returned),
            any::<bool>().prop_map(|failed| if failed { Ending::Failed } else { Ending::NotRun }),
        ];
        let finish = (any::<String>(), ending, any::<Option<String>>())
            .prop_map(|(ticket, ending, arguments)| Entry::Finish(Finish { ticket, ending, arguments }));
        let confirm =
            (any::<String>(), any::<bool>(), any::<Option<String>>()).prop_map(|(ticket, yes, principal)| {
                Entry::Confirm(Confirm { ticket, yes, principal, clock: String::new() })
            });
        let policy =
            any::<String>().prop_map(|policy| Entry::Policy(Adopted { policy, ..Adopted::default() }));
        prop_oneof![append, check, finish, confirm, policy]
    }

    fn written(entries: &[Entry]) -> (String, Head) {
        let mut head = Head::default();
        let opening = Entry::Open(Opening::default());
        let all = std::iter::once(&opening).chain(entries);
        let lines = all.map(|entry| head.write(entry.clone()).unwrap() + "\n").collect();
        (lines, head)
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

        #[test]
        fn what_is_written_is_read(entries in proptest::collection::vec(entries(), 0..6)) {
            let (text, head) = written(&entries);
            let journal = read(text.as_bytes()).unwrap();
            assert_eq!((&journal.entries, &journal.head, &journal.fault), (&entries, &head, &None));
        }

        #[test]
        fn a_byte_that_changes_is_found(
            entries in proptest::collection::vec(entries(), 1..4),
            at in any::<proptest::sample::Index>(),
        ) {
            let (text, _) = written(&entries);
            let mut bytes = text.into_bytes();
            let at = at.index(bytes.len() - 1);
            bytes[at] ^= 1;
            let found = read(&bytes);
            assert!(found.is_err() || found.is_ok_and(|journal| journal.fault.is_some() || journal.torn));
        }
    }

    fn append(event: &str) -> Entry {
        Entry::Append(Appended { event: event.to_owned() })
    }

    #[test]
    fn lines_that_are_missing_moved_or_cut_are_found_and_named() {
        let (text, _) = written(&[append("a"), append("b"), append("c")]);
        let lines: Vec<&str> = text.lines().collect();
        let join = |picked: &[usize]| picked.iter().map(|&i| lines[i].to_owned() + "\n").collect::<String>();
        let fault = |text: &str| read(text.as_bytes()).unwrap().fault;
        assert_eq!(fault(&join(&[0, 1, 2, 3])), None);
        assert_eq!(fault(&join(&[0, 1])), None);
        assert_eq!(fault(&join(&[0, 2, 3])), Some(JournalFault::Misnumbered { line: 2, number: 2 }));
        assert_eq!(fault(&join(&[0, 1, 1])), Some(JournalFault::Misnumbered { line: 3, number: 1 }));
        assert_eq!(fault(&join(&[0, 0])), Some(JournalFault::OpenedTwice { line: 2 }));
        let (other, _) = written(&[append("x"), append("b")]);
        let other = other.lines().nth(2).unwrap();
        assert_eq!(fault(&(join(&[0, 1]) + other + "\n")), Some(JournalFault::Unchained { line: 3 }));
        let changed = text.replacen("\"event\":\"b\"", "\"event\":\"d\"", 1);
        assert_eq!(fault(&changed), Some(JournalFault::Changed { line: 3 }));
        let cut = read(text.trim_end().strip_suffix("\"}").unwrap().as_bytes()).unwrap();
        assert_eq!((cut.torn, cut.fault, cut.entries.len()), (true, None, 2));
        // A last line that is whole was kept, and is not left out for what was done to it.
        let last = text.trim_end();
        for (edited, whole) in [
            (last.to_owned(), true),
            (last.replacen("\"event\":\"c\"", "\"event\":\"d\"", 1), false),
            (last.strip_suffix("\"}").unwrap().to_owned() + "0\"}", false),
            (last.strip_suffix('}').unwrap().to_owned() + ",\"more\":1}", false),
            (last.replacen("\"event\":\"c\"", "\"event\"c\"", 1), false),
            (last.to_owned() + " }", false),
        ] {
            let journal = read(edited.as_bytes()).unwrap();
            assert_eq!((journal.torn, journal.fault.is_none()), (false, whole), "{edited}");
            assert_eq!(journal.entries.len(), 2 + usize::from(whole));
        }
        for cut in 1..lines[3].len() {
            let journal = read((join(&[0, 1, 2]) + &lines[3][..cut]).as_bytes()).unwrap();
            assert!(journal.torn && journal.fault.is_none(), "{cut}");
        }
        assert_eq!(read(join(&[1, 2]).as_bytes()), Err(JournalFault::NotOpened));
        assert_eq!(read(b""), Err(JournalFault::NotOpened));
    }
}
