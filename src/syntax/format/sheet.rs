//! Pieces of a statement and where their lines break.
//!
//! In: a [`Piece`] tree. Out: lines that keep to [`WIDTH`] wherever a break is allowed. Knows nothing of policies.

use std::borrow::Cow;

/// How many characters a line holds.
pub(crate) const WIDTH: usize = 110;
/// How far what belongs to a line above is moved in.
pub(crate) const INDENT: usize = 4;

/// A part of a statement, with its widths.
// Invariant: `flat` and `lead` follow from `kind`.
#[derive(Debug)]
pub(crate) struct Piece<'p> {
    kind: Kind<'p>,
    /// Its width on one line; none if it cannot stand on one.
    flat: Option<usize>,
    lead: Lead,
}

/// How wide a piece is up to the first place where its line may end.
#[derive(Debug, Clone, Copy)]
struct Lead {
    width: usize,
    /// There is such a place.
    ends: bool,
}

#[derive(Debug)]
enum Kind<'p> {
    Text(Cow<'p, str>),
    /// A comment that is led by its line: further lines that start with a star are put below its first one.
    Block(String),
    /// A blank that is never a line end.
    Space,
    /// What stands between two pieces of one line; a line end where the group around it is broken.
    Line(&'static str),
    /// A line end in any case, with what follows moved in by so much.
    End(usize),
    Row(Vec<Piece<'p>>),
    /// What is on further lines is moved in.
    Nest(Box<Piece<'p>>),
    /// On one line if it fits there; else each of its own lines ends.
    Group(Box<Piece<'p>>),
    /// As many pieces on each line as fit; further lines are moved in by `hang`.
    Fill {
        entries: Vec<Entry<'p>>,
        hang: usize,
    },
}

/// What stands in a row that is filled line by line.
#[derive(Debug)]
pub(crate) enum Entry<'p> {
    Item(Piece<'p>),
    /// A comment behind the item before, at the end of its line.
    Trail(String),
    /// A comment on a line of its own.
    Own(String),
}

impl<'p> Piece<'p> {
    pub(crate) fn text(text: impl Into<Cow<'p, str>>) -> Self {
        let text = text.into();
        let (width, broken) = first_width(&text);
        let flat = Some(width).filter(|_| !broken);
        Self { kind: Kind::Text(text), flat, lead: Lead { width, ends: broken } }
    }

    pub(crate) fn space() -> Self {
        Self { kind: Kind::Space, flat: Some(1), lead: Lead { width: 1, ends: false } }
    }

    pub(crate) fn line(between: &'static str) -> Self {
        let lead = Lead { width: 0, ends: true };
        Self { kind: Kind::Line(between), flat: Some(between.len()), lead }
    }

    pub(crate) fn end(indent: usize) -> Self {
        Self { kind: Kind::End(indent), flat: None, lead: Lead { width: 0, ends: true } }
    }

    /// A comment at the end of a line, whose next line is moved in by so much.
    pub(crate) fn trail(text: String, indent: usize) -> Self {
        Self::row(vec![Self::space(), Self::text(text), Self::end(indent)])
    }

    /// A comment on a line of its own, likewise.
    pub(crate) fn own(text: String, indent: usize) -> Self {
        let lead = Lead { width: 0, ends: true };
        let block = Self { kind: Kind::Block(text), flat: None, lead };
        Self::row(vec![Self::end(indent), block, Self::end(indent)])
    }

    pub(crate) fn row(mut pieces: Vec<Self>) -> Self {
        // A row of one is that one.
        if pieces.len() == 1
            && let Some(only) = pieces.pop()
        {
            return only;
        }
        let flat = pieces.iter().map(|piece| piece.flat).sum();
        let lead = lead(pieces.iter().map(|piece| piece.lead));
        Self { kind: Kind::Row(pieces), flat, lead }
    }

    pub(crate) fn nest(inner: Self) -> Self {
        let (flat, lead) = (inner.flat, inner.lead);
        Self { kind: Kind::Nest(Box::new(inner)), flat, lead }
    }

    pub(crate) fn group(inner: Self) -> Self {
        let (flat, lead) = (inner.flat, inner.lead);
        Self { kind: Kind::Group(Box::new(inner)), flat, lead }
    }

    pub(crate) fn fill(entries: Vec<Entry<'p>>, hang: usize) -> Self {
        let blanks = entries.len().saturating_sub(1);
        let flat: Option<usize> = entries.iter().map(Entry::flat).sum();
        let lead = match entries.first() {
            Some(Entry::Item(first)) => Lead { ends: first.lead.ends || blanks > 0, ..first.lead },
            Some(Entry::Trail(_) | Entry::Own(_)) => Lead { width: 0, ends: true },
            None => Lead { width: 0, ends: false },
        };
        Self { kind: Kind::Fill { entries, hang }, flat: flat.map(|width| width + blanks), lead }
    }
}

impl Entry<'_> {
    fn flat(&self) -> Option<usize> {
        match self {
            Self::Item(piece) => piece.flat,
            Self::Trail(_) | Self::Own(_) => None,
        }
    }
}

fn lead(parts: impl Iterator<Item = Lead>) -> Lead {
    let mut whole = Lead { width: 0, ends: false };
    for part in parts {
        whole = Lead { width: whole.width + part.width, ends: part.ends };
        if whole.ends {
            break;
        }
    }
    whole
}

/// Where and how a piece is set.
#[derive(Debug, Clone, Copy)]
struct Setting {
    /// Where further lines start.
    indent: usize,
    /// All on one line.
    flat: bool,
    /// The width of what has to follow on the last line.
    tail: usize,
}

/// The lines so far.
#[derive(Debug, Default)]
pub(crate) struct Sheet {
    text: String,
    column: usize,
    /// How many lines were ended.
    ended: usize,
    space: bool,
    /// The line ends before the next text, which then starts at that column.
    pending: Option<usize>,
}

/// The lines of a statement, the last one without its end.
pub(crate) fn set(piece: &Piece<'_>) -> String {
    let mut sheet = Sheet::default();
    sheet.set(piece, Setting { indent: 0, flat: false, tail: 0 });
    sheet.text
}

impl Sheet {
    fn set(&mut self, piece: &Piece<'_>, setting: Setting) {
        match &piece.kind {
            Kind::Text(text) => match piece.flat {
                Some(width) => self.write_flat(text, width),
                None => self.write(text),
            },
            Kind::Block(text) => self.write(&below(text, self.pending.unwrap_or(setting.indent))),
            Kind::Space => self.space = true,
            Kind::Line(between) if setting.flat => self.space |= !between.is_empty(),
            Kind::Line(_) => self.end_line(setting.indent),
            Kind::End(indent) => self.end_line(setting.indent + indent),
            // On one line nothing asks for what follows.
            Kind::Row(pieces) if setting.flat => pieces.iter().for_each(|piece| self.set(piece, setting)),
            Kind::Row(pieces) => self.row(pieces, setting),
            Kind::Nest(inner) => self.set(inner, Setting { indent: setting.indent + INDENT, ..setting }),
            Kind::Group(inner) => {
                let flat = setting.flat || self.fits(inner, setting.tail);
                self.set(inner, Setting { flat, ..setting });
            }
            Kind::Fill { entries, hang } => self.fill(entries, *hang, setting),
        }
    }

    fn row(&mut self, pieces: &[Piece<'_>], setting: Setting) {
        let mut tails = Vec::with_capacity(pieces.len());
        let mut after = Lead { width: setting.tail, ends: true };
        for piece in pieces.iter().rev() {
            tails.push(after.width);
            after = lead([piece.lead, after].into_iter());
        }
        for (piece, tail) in pieces.iter().zip(tails.into_iter().rev()) {
            self.set(piece, Setting { tail, ..setting });
        }
    }

    fn fill(&mut self, entries: &[Entry<'_>], hang: usize, setting: Setting) {
        let further = setting.indent + hang;
        let (mut indent, mut apart) = (setting.indent, false);
        for (at, entry) in entries.iter().enumerate() {
            match entry {
                Entry::Item(piece) => {
                    let (behind, last) = trailing(entries.get(at + 1..).unwrap_or_default());
                    let tail = if last { behind + setting.tail } else { behind };
                    self.space |= at > 0;
                    if !setting.flat && at > 0 && (apart || !self.fits(piece, tail)) {
                        self.end_line(further);
                    }
                    if self.pending.is_some() && at > 0 {
                        indent = further;
                    }
                    let ended = self.ended + usize::from(self.pending.is_some());
                    let flat = setting.flat || self.fits(piece, tail);
                    self.set(piece, Setting { indent, flat, tail });
                    apart = self.ended > ended;
                }
                Entry::Trail(text) => {
                    self.space = true;
                    self.write(text);
                    self.end_line(further);
                }
                Entry::Own(text) => {
                    self.end_line(further);
                    self.write(&below(text, further));
                    self.end_line(further);
                }
            }
        }
    }

    fn fits(&self, piece: &Piece<'_>, tail: usize) -> bool {
        let start = self.pending.unwrap_or(self.column + usize::from(self.space));
        piece.flat.is_some_and(|width| start + width + tail <= WIDTH)
    }

    fn end_line(&mut self, indent: usize) {
        self.space = false;
        // A line is ended once, however often that is asked for.
        self.pending = Some(indent);
    }

    fn write(&mut self, text: &str) {
        match text.rsplit_once('\n') {
            None => self.write_flat(text, text.chars().count()),
            Some((lines, last)) => {
                self.write_flat(text, 0);
                self.ended += lines.matches('\n').count() + 1;
                self.column = last.chars().count();
            }
        }
    }

    /// Writes a text of that width, which is no line end.
    fn write_flat(&mut self, text: &str, width: usize) {
        if let Some(indent) = self.pending.take() {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.column = indent;
            self.ended += 1;
        } else if self.space {
            self.text.push(' ');
            self.column += 1;
        }
        self.space = false;
        self.text.push_str(text);
        self.column += width;
    }
}

/// How wide the first line of a text is, and whether there are more.
fn first_width(text: &str) -> (usize, bool) {
    let end = text.bytes().position(|byte| byte == b'\n');
    let line = end.and_then(|end| text.get(..end)).unwrap_or(text);
    let line = if end.is_some() { line.strip_suffix('\r').unwrap_or(line) } else { line };
    (line.chars().count(), end.is_some())
}

/// How wide the comments are that follow an item at once, and whether nothing else follows. One that ends its line in any
/// case may reach past the width.
fn trailing(entries: &[Entry<'_>]) -> (usize, bool) {
    let mut width = 0;
    for entry in entries {
        match entry {
            Entry::Trail(text) if text.starts_with("/*") => width += 1 + Piece::text(text).lead.width,
            Entry::Trail(_) => return (width, false),
            Entry::Item(_) | Entry::Own(_) => return (width, false),
        }
    }
    (width, true)
}

/// A comment of several lines with those that start with a star put below the first one.
pub(crate) fn below(text: &str, indent: usize) -> String {
    let mut lines = text.split('\n');
    let mut moved = lines.next().unwrap_or("").to_owned();
    for line in lines {
        let bare = line.trim_start_matches([' ', '\t']);
        moved.push('\n');
        if bare.starts_with('*') {
            moved.push_str(&" ".repeat(indent + 1));
            moved.push_str(bare);
        } else {
            moved.push_str(line);
        }
    }
    moved
}
