use crate::source::FileId;
use crate::source::Span;
use crate::syntax::lexer;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::is_keyword;

/// What a [`Piece`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PieceKind {
    /// A name or a keyword.
    Word,
    /// A text in quotes, closed or not.
    Text,
    /// A number.
    Number,
    /// A comment, markers included.
    Comment,
    /// `.word`, or `#` at the start of a line.
    Directive,
    /// The full stop that ends a statement.
    Stop,
    /// Anything else: brackets, commas, operators, the dot before a field.
    Mark,
}

/// A run of characters that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Piece {
    /// What it is.
    pub kind: PieceKind,
    /// Where.
    pub span: Span,
    /// Whether only blanks stand before it on its line.
    pub leads: bool,
}

/// The pieces of a policy text in the order of the text, blanks left out. Unlike a tree, they are there for texts that
/// are being written. A text larger than 4 GiB has none.
///
/// ```
/// use gatelog::source::FileId;
///
/// assert_eq!(gatelog::syntax::pieces(FileId(0), "R(m.").len(), 4);
/// ```
#[must_use]
pub fn pieces(file: FileId, text: &str) -> Vec<Piece> {
    if u32::try_from(text.len()).is_err() {
        return Vec::new();
    }
    let page = lexer::lex(file, text);
    let tokens = page.tokens.iter().map(|token| Piece {
        kind: kind(token.kind),
        span: token.span,
        leads: token.leads,
    });
    let comments = page.remarks.iter().map(|remark| Piece {
        kind: PieceKind::Comment,
        span: remark.span,
        leads: remark.leads,
    });
    let mut pieces: Vec<_> = tokens.chain(comments).collect();
    pieces.sort_by_key(|piece| piece.span);
    pieces
}

fn kind(kind: Kind) -> PieceKind {
    match kind {
        Kind::Word => PieceKind::Word,
        Kind::Text => PieceKind::Text,
        Kind::Integer(_) | Kind::Unsigned(_) | Kind::Float(_) => PieceKind::Number,
        Kind::Directive | Kind::Include | Kind::Preprocessor => PieceKind::Directive,
        Kind::Stop => PieceKind::Stop,
        Kind::Open
        | Kind::Close
        | Kind::OpenBracket
        | Kind::CloseBracket
        | Kind::OpenBrace
        | Kind::CloseBrace
        | Kind::Comma
        | Kind::Semicolon
        | Kind::Colon
        | Kind::If
        | Kind::Subtype
        | Kind::Dot
        | Kind::Bar
        | Kind::Bang
        | Kind::Dollar
        | Kind::At
        | Kind::Equal
        | Kind::NotEqual
        | Kind::Less
        | Kind::LessOrEqual
        | Kind::Greater
        | Kind::GreaterOrEqual
        | Kind::Plus
        | Kind::Minus
        | Kind::Star
        | Kind::Slash
        | Kind::Percent
        | Kind::Caret
        | Kind::Bad => PieceKind::Mark,
    }
}

/// Whether the text may name a relation, a type, a field or a variable: it is one word, and no keyword.
#[must_use]
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && lexer::word_length(text) == text.len() && !is_keyword(text)
}
