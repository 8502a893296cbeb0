//! Items between separators, on the way to rows that are filled.
//!
//! In: items and comments in order. Out: a [`Piece`] with a row for each alternative.

use std::ops::Range;

use crate::syntax::format::sheet::Entry;
use crate::syntax::format::sheet::Piece;

/// A comment that ends its line, or several on that line.
#[derive(Debug)]
pub(crate) enum Standing {
    /// Behind something.
    Trail(String),
    /// On a line of its own.
    Own(String),
}

impl Standing {
    /// Adds a comment on the same line.
    pub(crate) fn extend(&mut self, comment: &str) {
        match self {
            Self::Trail(text) | Self::Own(text) => {
                text.push(' ');
                text.push_str(comment);
            }
        }
    }

    /// The comment between two tokens; the next line is moved in by so much.
    pub(crate) fn piece(self, indent: usize) -> Piece<'static> {
        match self {
            Self::Trail(text) => Piece::trail(text, indent),
            Self::Own(text) => Piece::own(text, indent),
        }
    }
}

/// What stands between two separators.
#[derive(Debug, Default)]
pub(crate) struct Item<'p> {
    pub(crate) pieces: Vec<Piece<'p>>,
    /// Which leaves it is made of.
    pub(crate) leaves: Range<usize>,
    /// The variable that it compares with something.
    pub(crate) subject: Option<&'p str>,
}

impl<'p> Item<'p> {
    pub(crate) fn piece(self) -> Piece<'p> {
        Piece::row(self.pieces)
    }

    /// Adds comments on the same line.
    pub(crate) fn append(&mut self, comments: Vec<String>) {
        for comment in comments {
            if !self.pieces.is_empty() {
                self.pieces.push(Piece::space());
            }
            self.pieces.push(Piece::text(comment));
        }
    }
}

/// The items of a list, separated by commas within an alternative and by semicolons between them.
#[derive(Debug, Default)]
pub(crate) struct Alternatives<'p> {
    before: Vec<Vec<Entry<'p>>>,
    entries: Vec<Entry<'p>>,
    /// Items that stay on one line if they fit: a comparison stays with the item before if that has its subject.
    unit: Vec<Item<'p>>,
}

impl<'p> Alternatives<'p> {
    /// The item that the next one would stay with.
    pub(crate) fn last(&self) -> Option<&Item<'p>> {
        self.unit.last()
    }

    /// Adds an item, which may stay with the last one.
    pub(crate) fn push(&mut self, item: Item<'p>, stays: bool) {
        if !stays {
            self.end_unit();
        }
        self.unit.push(item);
    }

    /// Begins the next alternative.
    pub(crate) fn next(&mut self) {
        self.end_unit();
        self.before.push(std::mem::take(&mut self.entries));
    }

    /// Adds comments that end their lines. The first ones of an alternative may stand behind the last item of the one before.
    pub(crate) fn comments(&mut self, standing: Vec<Standing>) {
        if !standing.is_empty() {
            self.end_unit();
        }
        for comment in standing {
            match comment {
                Standing::Own(text) => self.entries.push(Entry::Own(text)),
                Standing::Trail(text) => match self.before.last_mut() {
                    Some(before) if self.entries.is_empty() => before.push(Entry::Trail(text)),
                    Some(_) | None => self.entries.push(Entry::Trail(text)),
                },
            }
        }
    }

    /// Adds comments to the last item.
    pub(crate) fn append(&mut self, comments: Vec<String>) {
        if comments.is_empty() {
            return;
        }
        match self.unit.last_mut() {
            Some(last) => last.append(comments),
            None => {
                let mut item = Item::default();
                item.append(comments);
                self.unit.push(item);
            }
        }
    }

    fn end_unit(&mut self) {
        let mut unit: Vec<Piece<'p>> = std::mem::take(&mut self.unit).into_iter().map(Item::piece).collect();
        match unit.pop() {
            Some(only) if unit.is_empty() => self.entries.push(Entry::Item(only)),
            Some(last) => {
                unit.push(last);
                self.entries.push(Entry::Item(Piece::fill(unit.into_iter().map(Entry::Item).collect(), 0)));
            }
            None => {}
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.before.is_empty() && self.entries.is_empty() && self.unit.is_empty()
    }

    /// A row for each alternative, whose further lines are moved in by `hang`.
    pub(crate) fn piece(mut self, hang: usize) -> Piece<'p> {
        self.next();
        rows(self.before, hang)
    }

    /// The rows, and before them the comments that stand behind the bracket that opens them.
    pub(crate) fn opened(mut self) -> (Vec<Piece<'p>>, Piece<'p>) {
        self.next();
        let mut trails = Vec::new();
        if let Some(first) = self.before.first_mut() {
            let own = first.iter().position(|entry| !matches!(entry, Entry::Trail(_))).unwrap_or(first.len());
            for entry in first.drain(..own) {
                if let Entry::Trail(text) = entry {
                    trails.push(Piece::trail(text, 0));
                }
            }
        }
        (trails, rows(self.before, 0))
    }
}

fn rows(alternatives: Vec<Vec<Entry<'_>>>, hang: usize) -> Piece<'_> {
    let mut rows = Vec::new();
    for entries in alternatives {
        if !rows.is_empty() {
            rows.push(Piece::line(" "));
        }
        rows.push(Piece::fill(entries, hang));
    }
    Piece::row(rows)
}
