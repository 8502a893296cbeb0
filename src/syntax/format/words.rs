//! How tokens and comments are written, and where blanks stand between them.

use std::collections::BTreeSet;

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
pub(crate) fn written(page: &Page<'_>, token: Token) -> String {
    let slice = page.slice(token.span);
    match token.kind {
        Kind::Text => text::encode(&text::decode(slice)),
        Kind::Equal => "=".to_owned(),
        _ => slice.to_owned(),
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

/// The variables of an item.
pub(crate) fn variables(page: &Page<'_>, tokens: &[Token]) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut before = None;
    for (at, token) in tokens.iter().enumerate() {
        let word = page.slice(token.span);
        let called = tokens.get(at + 1).is_some_and(|next| next.kind == Kind::Open);
        let part = matches!(before, Some(Kind::Dot | Kind::Dollar | Kind::At));
        if token.kind == Kind::Word && !called && !part && !is_keyword(word) {
            found.insert(word.to_owned());
        }
        before = Some(token.kind);
    }
    found
}

/// The variable that an item compares with something.
pub(crate) fn subject(page: &Page<'_>, tokens: &[Token]) -> Option<String> {
    let compares = matches!(
        tokens.get(1)?.kind,
        Kind::Equal | Kind::NotEqual | Kind::Less | Kind::LessOrEqual | Kind::Greater | Kind::GreaterOrEqual
    );
    let first = tokens.first().filter(|first| first.kind == Kind::Word && compares)?;
    Some(page.slice(first.span).to_owned())
}
