//! What was noticed, in words, without letting a hostile file flood the report.

use crate::recording::Notice;
use crate::source::is_invisible;
use std::collections::BTreeMap;
use std::fmt;
use std::fmt::Write as _;

/// Notices of one kind that are kept in full; of the rest only their number is said.
const PER_KIND: usize = 20;

/// Characters of a user's word that a notice shows.
const WORD: usize = 80;

/// Notices in the order in which they were first made.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notices {
    list: Vec<Notice>,
    seen: BTreeMap<String, Count>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Count {
    all: usize,
    rest_at: usize,
}

impl Notices {
    pub(crate) fn list(&self) -> &[Notice] {
        &self.list
    }

    /// Adds a notice. From the twenty-first of a kind on, one line counts the rest.
    pub(crate) fn add(&mut self, kind: &str, text: String) {
        let count = self.seen.entry(kind.to_owned()).or_default();
        count.all += 1;
        if count.all <= PER_KIND {
            self.list.push(Notice { kind: kind.to_owned(), text });
            return;
        }
        let text = format!("{} more of this kind", count.all - PER_KIND);
        match self.list.get_mut(count.rest_at).filter(|_| count.all > PER_KIND + 1) {
            Some(rest) => rest.text = text,
            None => {
                count.rest_at = self.list.len();
                self.list.push(Notice { kind: kind.to_owned(), text });
            }
        }
    }

    /// Adds a notice unless there is one of its kind.
    pub(crate) fn once(&mut self, kind: &str, text: &str) {
        if !self.seen.contains_key(kind) {
            self.add(kind, text.to_owned());
        }
    }
}

/// A user's word between backticks: capped, characters that do not show escaped. Nothing is written before it is shown.
pub(crate) fn quoted(word: &str) -> Quoted<'_> {
    Quoted(word)
}

/// See [`quoted`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('`')?;
        for (i, c) in self.0.chars().enumerate() {
            if i == WORD {
                f.write_char('…')?;
                break;
            }
            if is_invisible(c) || c == '`' {
                write!(f, "\\u{{{:x}}}", c as u32)?;
            } else {
                f.write_char(c)?;
            }
        }
        f.write_char('`')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_of_one_kind_ends_in_a_count() {
        let mut notices = Notices::default();
        for i in 0..1000 {
            notices.add("a", format!("{i}"));
        }
        notices.add("b", "x".to_owned());
        assert_eq!(notices.list().len(), PER_KIND + 2);
        assert_eq!(notices.list()[PER_KIND].text, "980 more of this kind");
    }

    #[test]
    fn words_cannot_break_out_of_their_line() {
        assert_eq!(quoted("a\n`\u{202e}b").to_string(), "`a\\u{a}\\u{60}\\u{202e}b`");
        assert_eq!(quoted(&"x".repeat(500)).to_string().chars().count(), WORD + 3);
    }
}
