/// Stands for a part of a word that only running the command would tell. No command can hold it.
pub(super) const HOLE: char = '\0';

/// A word as a program would get it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Word {
    /// Its text, quotes and escapes removed, with a [`HOLE`] for each part that is not known.
    pub(super) text: String,
    /// Whether a pattern stands in it, for which the shell puts the names of files.
    pub(super) is_pattern: bool,
    /// Whether it may become several words, or none.
    pub(super) splits: bool,
}

impl Word {
    pub(super) fn known(text: &str) -> Self {
        Self { text: text.to_owned(), is_pattern: false, splits: false }
    }

    /// A word of which nothing is known, not even whether it is one.
    pub(super) fn open() -> Self {
        Self { text: HOLE.to_string(), is_pattern: false, splits: true }
    }

    /// Whether a part of it is not known.
    pub(super) fn is_open(&self) -> bool {
        self.text.contains(HOLE)
    }

    /// Whether it may be an option although its text does not show it.
    pub(super) fn may_be_option(&self) -> bool {
        self.splits || self.text.starts_with(HOLE)
    }

    /// The word with every occurrence of a text as a hole.
    pub(super) fn pierced(&self, text: &str) -> Self {
        if text.is_empty() {
            return self.clone();
        }
        Self { text: self.text.replace(text, "\0"), ..self.clone() }
    }
}

/// The words with one blank between, as `eval` and `ssh` join them.
pub(super) fn joined(words: &[Word]) -> String {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    texts.join(" ")
}

/// Words that are being put together from the parts of one word of the text.
#[derive(Debug, Default)]
pub(super) struct Builder {
    done: Vec<Word>,
    current: Word,
    is_begun: bool,
}

impl Builder {
    /// Text between quotes, or already without its escapes.
    pub(super) fn quoted(&mut self, text: &str) {
        self.current.text.push_str(text);
        self.is_begun = true;
    }

    /// Text outside quotes, with its escapes.
    pub(super) fn plain(&mut self, text: &str) {
        let mut chars = text.chars();
        while let Some(c) = chars.next() {
            match c {
                '\\' => match chars.next() {
                    Some('\n') => {}
                    Some(escaped) => self.current.text.push(escaped),
                    None => self.current.text.push('\\'),
                },
                _ => {
                    self.current.is_pattern |= matches!(c, '*' | '?' | '[');
                    self.current.text.push(c);
                }
            }
        }
        self.is_begun = true;
    }

    /// The value of a variable outside quotes, which the shell splits at blanks.
    pub(super) fn value(&mut self, text: &str) {
        let opens = text.starts_with([' ', '\t', '\n']);
        for (place, part) in text.split([' ', '\t', '\n']).filter(|part| !part.is_empty()).enumerate() {
            if place > 0 || (opens && self.is_begun) {
                self.end();
            }
            self.current.is_pattern |= part.contains(['*', '?', '[']);
            self.current.text.push_str(part);
            self.is_begun = true;
        }
        if text.ends_with([' ', '\t', '\n']) && self.is_begun {
            self.end();
        }
    }

    /// A part that is not known.
    pub(super) fn hole(&mut self, is_quoted: bool) {
        self.current.text.push(HOLE);
        self.current.splits |= !is_quoted;
        self.is_begun = true;
    }

    fn end(&mut self) {
        self.done.push(std::mem::take(&mut self.current));
        self.is_begun = false;
    }

    pub(super) fn finish(mut self) -> Vec<Word> {
        if self.is_begun {
            self.end();
        }
        self.done
    }
}
