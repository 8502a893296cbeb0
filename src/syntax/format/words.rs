//! How tokens and comments are written, and where blanks stand between them.

use std::borrow::Cow;

use crate::syntax::text;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Token;
use crate::syntax::tokens::is_keyword;

/// The token before, as far as it says what the next one is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    pub(crate) token: Token,
    /// It is a minus with one side.
    pub(crate) unary: bool,
}

/// The token in its canonical spelling. Numbers stay as they are written.
pub(crate) fn written<'p>(page: &Page<'p>, token: Token) -> Cow<'p, str> {
    let slice = page.slice(token.span);
    match token.kind {
        Kind::Text if slice.contains(['\\', '\t']) => Cow::Owned(text::encode(&text::decode(slice))),
        Kind::Equal => Cow::Borrowed("="),
        _ => Cow::Borrowed(slice),
    }
}

/// A comment without blanks at the ends of its lines.
pub(crate) fn comment(text: &str) -> String {
    let lines: Vec<&str> = text.split('\n').map(|line| line.trim_end_matches([' ', '\t', '\r'])).collect();
    lines.join("\n")
}

/// What a token is to the next one.
pub(crate) fn before(page: &Page<'_>, before: Option<Before>, token: Token) -> Before {
    let unary = token.kind == Kind::Minus
        && before.is_none_or(|before| before.unary || asks_for_term(page, before.token));
    Before { token, unary }
}

/// Whether a term follows the token, so that a minus behind it has one side.
fn asks_for_term(page: &Page<'_>, token: Token) -> bool {
    match token.kind {
        Kind::Word => is_operator(page.slice(token.span)) || is_extreme(page.slice(token.span)),
        Kind::Equal
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
        | Kind::Bang => true,
        _ => false,
    }
}

/// Whether a term may follow the word without parentheses.
fn is_operator(word: &str) -> bool {
    matches!(
        word,
        "band"
            | "bor"
            | "bxor"
            | "bnot"
            | "bshl"
            | "bshr"
            | "bshru"
            | "land"
            | "lor"
            | "lxor"
            | "lnot"
            | "sum"
            | "mean"
    )
}

fn is_extreme(word: &str) -> bool {
    matches!(word, "min" | "max")
}

/// Whether a blank stands between two tokens of an item. `parameter` says that they stand in brackets of a directive.
pub(crate) fn apart(page: &Page<'_>, before: Before, next: Token, directive: bool, parameter: bool) -> bool {
    match (before.token.kind, next.kind) {
        (Kind::Bang | Kind::Dollar | Kind::At | Kind::Dot, _) | (_, Kind::Dot) => false,
        (Kind::Minus, _) => !before.unary,
        (Kind::Equal, _) | (_, Kind::Equal) => !parameter,
        (_, Kind::Colon) => !directive,
        (Kind::Word, Kind::Open) => {
            let word = page.slice(before.token.span);
            is_operator(word) || (is_extreme(word) && !next.many)
        }
        _ => true,
    }
}

/// Whether a token between two others is a variable.
pub(crate) fn is_variable(page: &Page<'_>, before: Option<Kind>, token: Token, next: Option<Kind>) -> bool {
    let called = next == Some(Kind::Open);
    let part = matches!(before, Some(Kind::Dot | Kind::Dollar | Kind::At));
    token.kind == Kind::Word && !called && !part && !is_keyword(page.slice(token.span))
}

/// The variable that an item compares with something, by its first two tokens.
pub(crate) fn subject<'p>(page: &Page<'p>, first: Token, second: Token) -> Option<&'p str> {
    let compares = matches!(
        second.kind,
        Kind::Equal | Kind::NotEqual | Kind::Less | Kind::LessOrEqual | Kind::Greater | Kind::GreaterOrEqual
    );
    (first.kind == Kind::Word && compares).then(|| page.slice(first.span))
}
