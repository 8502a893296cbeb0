//! Text and its places.
//!
//! In: the texts of policy files. Out: [`Sources`], [`Span`]s into them, and [`Diagnostic`]s that point at them.
//! Never: opens a file.

mod edit;
mod render;

pub use edit::apply;
pub use render::render;

/// One text among [`Sources`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// A range of bytes in one file, end exclusive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// The file that the range lies in.
    pub file: FileId,
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

impl Span {
    /// The smallest range that holds both. Both lie in one file.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

/// One policy text with the name that messages show for it.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// Shown in messages; a path relative to where the user stands, or a name such as `<standard input>`.
    pub name: String,
    /// The whole text.
    pub text: String,
}

/// A place as people count: lines and columns from 1, columns in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1, in characters.
    pub column: u32,
}

/// All policy texts of one program, by [`FileId`].
// Invariant: `lines` has, for each file, the first byte of each of its lines in ascending order.
#[derive(Debug, Clone, Default)]
pub struct Sources {
    files: Vec<SourceFile>,
    lines: Vec<Vec<u32>>,
}

impl Sources {
    /// Adds a text and returns its id. Ids count up from 0 in the order of adding.
    pub fn add(&mut self, name: impl Into<String>, text: impl Into<String>) -> FileId {
        let id = FileId(u32::try_from(self.files.len()).unwrap_or(u32::MAX));
        let file = SourceFile { name: name.into(), text: text.into() };
        let ends = (0_u32..).zip(file.text.bytes()).filter(|&(_, byte)| byte == b'\n');
        self.lines.push(std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect());
        self.files.push(file);
        id
    }

    /// The file of that id; an id of other sources gives an empty file.
    #[must_use]
    pub fn file(&self, id: FileId) -> &SourceFile {
        static EMPTY: SourceFile = SourceFile { name: String::new(), text: String::new() };
        self.files.get(id.0 as usize).unwrap_or(&EMPTY)
    }

    /// All files in the order of adding.
    pub fn iter(&self) -> impl Iterator<Item = (FileId, &SourceFile)> {
        self.files.iter().enumerate().map(|(i, file)| (FileId(u32::try_from(i).unwrap_or(u32::MAX)), file))
    }

    /// Where the span starts, as people count.
    #[must_use]
    pub fn place(&self, span: Span) -> Place {
        self.place_of(span.file, span.start)
    }

    /// Where the span ends, as people count (the place after its last character).
    #[must_use]
    pub fn end_place(&self, span: Span) -> Place {
        self.place_of(span.file, span.end)
    }

    /// The text of the span; empty where it does not lie in its file.
    #[must_use]
    pub fn text(&self, span: Span) -> &str {
        self.file(span.file).text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    fn place_of(&self, file: FileId, offset: u32) -> Place {
        let text = &self.file(file).text;
        let mut end = (offset as usize).min(text.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let starts = self.lines.get(file.0 as usize).map_or(&[][..], Vec::as_slice);
        let line = starts.partition_point(|&start| start as usize <= end).max(1);
        let line_start = starts.get(line - 1).map_or(0, |&start| start as usize);
        let line_text = text.get(line_start..end).unwrap_or("");
        // A byte order mark is no character of the first line.
        let column = line_text.trim_start_matches('\u{feff}').chars().count() + 1;
        Place {
            line: u32::try_from(line).unwrap_or(u32::MAX),
            column: u32::try_from(column).unwrap_or(u32::MAX),
        }
    }
}

/// Whether a character changes what is read without being seen.
#[must_use]
pub fn is_invisible(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

/// How grave a [`Diagnostic`] is. An error keeps the policy from loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The policy does not load.
    Error,
    /// The policy loads; the author should look.
    Warning,
}

/// A span with words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What is to be seen there; may be empty.
    pub text: String,
}

/// A change of the text that mends what a finding is about. Edits do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fix {
    /// What the change does, in one lower-case line.
    pub label: String,
    /// Which ranges are replaced, and by what.
    pub edits: Vec<(Span, String)>,
}

/// One finding about a policy: what is wrong, where, and a way out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Stable code such as `E0007` or `W0003`.
    pub code: &'static str,
    /// Error or warning.
    pub severity: Severity,
    /// One lower-case line without a full stop; the user's words in backticks.
    pub message: String,
    /// The place that is at fault.
    pub primary: Label,
    /// Other places that take part, such as the other rules of a cycle.
    pub secondary: Vec<Label>,
    /// The way out; may be empty.
    pub help: String,
    /// The way out as a change of the text, where it can be made without thought.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// An error with its code, message and place; help and further places are added by the `with_` methods.
    #[must_use]
    pub fn error(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Error, span, message.into())
    }

    /// A warning, likewise.
    #[must_use]
    pub fn warning(code: &'static str, span: Span, message: impl Into<String>) -> Self {
        Self::new(code, Severity::Warning, span, message.into())
    }

    fn new(code: &'static str, severity: Severity, span: Span, message: String) -> Self {
        let primary = Label { span, text: String::new() };
        Self { code, severity, message, primary, secondary: Vec::new(), help: String::new(), fix: None }
    }

    /// Sets the words at the primary place.
    #[must_use]
    pub fn with_label(mut self, text: impl Into<String>) -> Self {
        self.primary.text = text.into();
        self
    }

    /// Sets the way out.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = help.into();
        self
    }

    /// Sets the change that mends it.
    #[must_use]
    pub fn with_fix(mut self, label: impl Into<String>, edits: Vec<(Span, String)>) -> Self {
        self.fix = Some(Fix { label: label.into(), edits });
        self
    }

    /// Adds a further place.
    #[must_use]
    pub fn with_secondary(mut self, span: Span, text: impl Into<String>) -> Self {
        self.secondary.push(Label { span, text: text.into() });
        self
    }
}
