//! Tokens, and the input that the grammar walks.
//!
//! In: what the lexer read of one file. Out: [`Tokens`] for nom, with the error type of the grammar.

use std::iter::{Copied, Enumerate};
use std::slice::Iter;

use nom::error::{ErrorKind, ParseError};
use nom::{Err, IResult, Input, Needed};

use crate::source::Diagnostic;
use crate::source::FileId;
use crate::source::Span;
use crate::syntax::ast::Name;

/// How deep a statement may nest: parentheses, records, calls, braces, negations, and operators in a row each
/// count one. Whoever walks the tree by recursion can rely on it.
const DEPTH_LIMIT: u16 = 100;

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    Word,
    Text,
    Integer(u64),
    Unsigned(u64),
    Float(f64),
    Open,
    Close,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Semicolon,
    Colon,
    If,
    Subtype,
    Stop,
    Dot,
    Bar,
    Bang,
    Dollar,
    At,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Caret,
    /// `.word`
    Directive,
    /// `#include`
    Include,
    /// Any other line that starts with `#`, whole.
    Preprocessor,
    /// Characters that begin no token; reported by the lexer.
    Bad,
}

/// One token with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Token {
    pub(crate) kind: Kind,
    pub(crate) span: Span,
    /// Bytes between the start of its line and the token.
    pub(crate) column: u32,
    /// No token stands before it on its line.
    pub(crate) leads: bool,
    /// Nothing, not even a blank, stands between it and the token before.
    pub(crate) joined: bool,
    /// For an opening bracket, the place of the bracket that closes it.
    pub(crate) partner: Option<usize>,
    /// For an opening bracket: it holds a comma of its own.
    pub(crate) many: bool,
}

/// A comment with its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Remark {
    pub(crate) span: Span,
    /// No token stands before it on its line.
    pub(crate) leads: bool,
}

/// One file, read into tokens.
#[derive(Debug)]
pub(crate) struct Page<'a> {
    pub(crate) file: FileId,
    pub(crate) text: &'a str,
    pub(crate) tokens: Vec<Token>,
    pub(crate) remarks: Vec<Remark>,
    /// Faults within tokens, in the order of the text.
    pub(crate) faults: Vec<Diagnostic>,
    /// Faults within comments and blanks, which belong to no statement.
    pub(crate) stray: Vec<Diagnostic>,
}

impl<'a> Page<'a> {
    /// The text of a span; empty where it does not lie in the file.
    pub(crate) fn slice(&self, span: Span) -> &'a str {
        self.text.get(span.start as usize..span.end as usize).unwrap_or("")
    }

    /// The token at that place, if there is one.
    pub(crate) fn token(&self, at: usize) -> Option<Token> {
        self.tokens.get(at).copied()
    }

    /// The text of the token at that place; empty past the end.
    pub(crate) fn word(&self, at: usize) -> &'a str {
        self.token(at).map_or("", |token| self.slice(token.span))
    }

    /// The span of these bytes, end exclusive.
    pub(crate) fn span(&self, start: usize, end: usize) -> Span {
        let narrow = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        Span { file: self.file, start: narrow(start), end: narrow(end) }
    }

    /// The empty span after the last character.
    pub(crate) fn end(&self) -> Span {
        self.span(self.text.len(), self.text.len())
    }
}

/// A run of tokens of a page, and how deep in the statement it stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tokens<'a> {
    pub(crate) page: &'a Page<'a>,
    /// The place of the first token.
    pub(crate) at: usize,
    end: usize,
    depth: u16,
    /// The height of the highest tree that was read since the innermost [`nested`] began.
    height: u16,
}

impl<'a> Tokens<'a> {
    /// All tokens of the page from that place on.
    pub(crate) fn new(page: &'a Page<'a>, at: usize) -> Self {
        Self { page, at, end: page.tokens.len(), depth: 0, height: 0 }
    }

    /// The first token.
    pub(crate) fn first(&self) -> Option<Token> {
        self.look(0)
    }

    /// The token that many places on.
    pub(crate) fn look(&self, ahead: usize) -> Option<Token> {
        let at = self.at.saturating_add(ahead);
        if at < self.end { self.page.token(at) } else { None }
    }

    /// What the token that many places on is.
    pub(crate) fn kind(&self, ahead: usize) -> Option<Kind> {
        self.look(ahead).map(|token| token.kind)
    }

    /// The text of the first token if it is a word.
    pub(crate) fn word(&self) -> Option<&'a str> {
        self.first().filter(|token| token.kind == Kind::Word).map(|token| self.page.slice(token.span))
    }

    /// The first token's span, or the empty one at the end of the file.
    pub(crate) fn span(&self) -> Span {
        self.first().map_or_else(|| self.page.end(), |token| token.span)
    }

    /// The span of the token before.
    fn last_span(&self) -> Span {
        let before = self.at.checked_sub(1).and_then(|at| self.page.token(at));
        before.map_or_else(|| self.span(), |token| token.span)
    }

    /// From the start of a span to the end of the token before.
    pub(crate) fn since(&self, start: Span) -> Span {
        start.to(self.last_span())
    }

    /// Without the first token.
    pub(crate) fn rest(self) -> Self {
        Self { at: self.at.saturating_add(1).min(self.end), ..self }
    }

    /// How high the tree is that was read last.
    pub(crate) fn height(&self) -> u16 {
        self.height
    }

    /// Notes that a tree of that height now stands under one more node.
    pub(crate) fn raised(self, height: u16) -> Result<Self, Err<Fault>> {
        let height = self.height.max(height.saturating_add(1));
        if self.depth.saturating_add(height) > DEPTH_LIMIT {
            return Err(self.too_deep());
        }
        Ok(Self { height, ..self })
    }

    /// The fault that says what would have been right at the first token.
    pub(crate) fn wanted(&self, what: &'static str) -> Fault {
        Fault { at: self.at, wanted: vec![what], told: None }
    }

    /// The same, past the point of no return.
    pub(crate) fn refuse<T>(&self, what: &'static str) -> Result<T, Err<Fault>> {
        Err(Err::Failure(self.wanted(what)))
    }

    /// A fault in words of its own, past the point of no return.
    pub(crate) fn tell<T>(&self, finding: Diagnostic) -> Result<T, Err<Fault>> {
        Err(Err::Failure(Fault { at: self.at, wanted: Vec::new(), told: Some(Box::new(finding)) }))
    }

    fn too_deep(&self) -> Err<Fault> {
        let message = format!("nested more than {DEPTH_LIMIT} levels deep");
        let finding = Diagnostic::error("E0005", self.span(), message)
            .with_label("too deep here")
            .with_help("split the statement with a helper relation");
        Err::Failure(Fault { at: self.at, wanted: Vec::new(), told: Some(Box::new(finding)) })
    }
}

impl<'a> Input for Tokens<'a> {
    type Item = Token;
    type Iter = Copied<Iter<'a, Token>>;
    type IterIndices = Enumerate<Self::Iter>;

    fn input_len(&self) -> usize {
        self.end.saturating_sub(self.at)
    }

    fn take(&self, index: usize) -> Self {
        Self { end: self.at.saturating_add(index).min(self.end), ..*self }
    }

    fn take_from(&self, index: usize) -> Self {
        Self { at: self.at.saturating_add(index).min(self.end), ..*self }
    }

    fn take_split(&self, index: usize) -> (Self, Self) {
        (self.take_from(index), self.take(index))
    }

    fn position<P: Fn(Self::Item) -> bool>(&self, predicate: P) -> Option<usize> {
        self.iter_elements().position(predicate)
    }

    fn iter_elements(&self) -> Self::Iter {
        self.page.tokens.get(self.at..self.end).unwrap_or_default().iter().copied()
    }

    fn iter_indices(&self) -> Self::IterIndices {
        self.iter_elements().enumerate()
    }

    fn slice_index(&self, count: usize) -> Result<usize, Needed> {
        if count <= self.input_len() { Ok(count) } else { Err(Needed::new(count - self.input_len())) }
    }
}

/// Why a statement cannot be read: what was expected, and at which token.
#[derive(Debug)]
pub(crate) struct Fault {
    /// The place of the token at fault.
    pub(crate) at: usize,
    /// Each text that would have been right there.
    pub(crate) wanted: Vec<&'static str>,
    /// The finding, where the grammar has its own words for it.
    pub(crate) told: Option<Box<Diagnostic>>,
}

impl ParseError<Tokens<'_>> for Fault {
    fn from_error_kind(input: Tokens<'_>, _: ErrorKind) -> Self {
        Self { at: input.at, wanted: Vec::new(), told: None }
    }

    fn append(_: Tokens<'_>, _: ErrorKind, other: Self) -> Self {
        other
    }

    /// The fault that lies further on; of two at one token, both.
    fn or(mut self, other: Self) -> Self {
        if self.at != other.at {
            return if self.at > other.at { self } else { other };
        }
        for what in other.wanted {
            if !self.wanted.contains(&what) {
                self.wanted.push(what);
            }
        }
        self
    }
}

/// What a parser of the grammar gives back.
pub(crate) type Parsed<'a, T> = IResult<Tokens<'a>, T, Fault>;

/// One token of that kind; `what` names it where it is missing.
pub(crate) fn one<'a>(kind: Kind, what: &'static str) -> impl Fn(Tokens<'a>) -> Parsed<'a, Span> {
    move |input| match input.first() {
        Some(token) if token.kind == kind => Ok((input.rest(), token.span)),
        Some(_) | None => Err(Err::Error(input.wanted(what))),
    }
}

/// A word that is no keyword; `what` says what it would name.
pub(crate) fn name<'a>(what: &'static str) -> impl Fn(Tokens<'a>) -> Parsed<'a, Name> {
    move |input| match input.word() {
        Some(text) if !is_keyword(text) => {
            Ok((input.rest(), Name { text: text.to_owned(), span: input.span() }))
        }
        Some(_) | None => Err(Err::Error(input.wanted(what))),
    }
}

/// Runs the parser one level deeper, and refuses past [`DEPTH_LIMIT`].
pub(crate) fn nested<'a, T>(
    input: Tokens<'a>,
    inner: impl FnOnce(Tokens<'a>) -> Parsed<'a, T>,
) -> Parsed<'a, T> {
    let depth = input.depth.saturating_add(1);
    if depth > DEPTH_LIMIT {
        return Err(input.too_deep());
    }
    let (rest, found) = inner(Tokens { depth, height: 0, ..input })?;
    let height = input.height.max(rest.height.saturating_add(1));
    Ok((Tokens { depth: input.depth, height, ..rest }, found))
}

const KEYWORDS: [&str; 51] = [
    "as",
    "autoinc",
    "band",
    "bnot",
    "bor",
    "brie",
    "bshl",
    "bshr",
    "bshru",
    "btree",
    "btree_delete",
    "bxor",
    "cat",
    "contains",
    "count",
    "debug_delta",
    "eqrel",
    "false",
    "inline",
    "input",
    "land",
    "lnot",
    "lor",
    "lxor",
    "magic",
    "match",
    "max",
    "mean",
    "min",
    "nil",
    "no_inline",
    "no_magic",
    "ord",
    "output",
    "overridable",
    "printsize",
    "range",
    "recursive_iteration_cnt",
    "stateful",
    "strlen",
    "substr",
    "sum",
    "to_float",
    "to_number",
    "to_string",
    "to_unsigned",
    "true",
    "__FILE__",
    "__INCL__",
    "__LINE__",
    "_",
];

/// Whether the word has a meaning of its own and so names nothing. `_` counts: it stands for no name.
pub(crate) fn is_keyword(word: &str) -> bool {
    KEYWORDS.contains(&word)
}
