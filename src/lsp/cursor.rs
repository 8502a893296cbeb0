//! What may be written at a place of a text that is being written. Trees are of no help there: the statement is faulty.

use crate::source::FileId;
use crate::syntax::{self, Piece, PieceKind};

/// What may be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Context {
    /// The key of an annotation.
    Annotation,
    /// What stands between quotes.
    Text,
    Functor,
    Variant,
    /// A field: the variable, and the fields between it and this one.
    Field(String, Vec<String>),
    Type,
    Directive,
    Relation,
    /// A relation, a variable, or a word of the language.
    Code,
    Nothing,
}

/// A place in a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cursor {
    pub(crate) context: Context,
    /// Where the word that is being written starts.
    pub(crate) start: usize,
    /// Where it ends: at the cursor, or past it in a text in quotes.
    pub(crate) end: usize,
}

/// What may be written at a byte of a text.
pub(crate) fn cursor(text: &str, offset: usize) -> Cursor {
    let all = syntax::pieces(FileId(0), text);
    let around = all.iter().position(|piece| holds(text, piece, offset));
    if let Some((at, piece)) = around.and_then(|at| all.get(at).map(|piece| (at, piece))) {
        let written = slice(text, piece);
        if piece.kind == PieceKind::Comment {
            return annotation(text, piece.span.start as usize, offset);
        }
        let before = at.checked_sub(1).and_then(|at| all.get(at));
        let path = before.is_some_and(|before| before.kind == PieceKind::Directive);
        let start = piece.span.start as usize + 1;
        let end = piece.span.end as usize - usize::from(is_closed(written));
        return Cursor { context: if path { Context::Nothing } else { Context::Text }, start, end };
    }
    let start = word_start(text, offset);
    let before = syntax::pieces(FileId(0), text.get(..start).unwrap_or(""));
    Cursor { context: context(text, &before, start), start, end: offset }
}

fn slice<'a>(text: &'a str, piece: &Piece) -> &'a str {
    text.get(piece.span.start as usize..piece.span.end as usize).unwrap_or("")
}

fn is_closed(written: &str) -> bool {
    written.len() > 1 && written.ends_with('"')
}

/// Whether a byte lies inside a text in quotes or a comment.
fn holds(text: &str, piece: &Piece, offset: usize) -> bool {
    let (start, end) = (piece.span.start as usize, piece.span.end as usize);
    let written = slice(text, piece);
    let open = match piece.kind {
        PieceKind::Text => !is_closed(written),
        PieceKind::Comment => written.starts_with("//") || !written.ends_with("*/"),
        PieceKind::Word | PieceKind::Number | PieceKind::Directive | PieceKind::Stop | PieceKind::Mark => {
            return false;
        }
    };
    start < offset && (offset < end || (open && offset == end))
}

fn annotation(text: &str, start: usize, offset: usize) -> Cursor {
    let line = text.get(start..offset).unwrap_or("").rsplit('\n').next().unwrap_or("");
    let bare = line.trim_start_matches(['/', '*', '!', ' ', '\t']);
    let key = bare.strip_prefix('@').filter(|key| key.chars().all(is_word));
    let (context, length) = key.map_or((Context::Nothing, 0), |key| (Context::Annotation, key.len()));
    Cursor { context, start: offset - length, end: offset }
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '?')
}

/// Where the word ends that stands before a byte starts.
fn word_start(text: &str, offset: usize) -> usize {
    let before = text.get(..offset).unwrap_or("");
    before.trim_end_matches(is_word).len()
}

/// What may start at a byte, by the pieces before it.
fn context(text: &str, before: &[Piece], start: usize) -> Context {
    let Some(last) = before.last() else { return Context::Code };
    let joined = last.span.end as usize == start;
    match slice(text, last) {
        "@" if joined => return Context::Functor,
        "$" if joined => return Context::Variant,
        "." if joined && last.leads => return Context::Directive,
        "." if joined => return field(text, last.span.start as usize),
        _ => {}
    }
    statement(text, before)
}

/// The chain of names that ends at a dot.
fn field(text: &str, dot: usize) -> Context {
    let before = text.get(..dot).unwrap_or("");
    let start = before.trim_end_matches(|letter| is_word(letter) || letter == '.').len();
    let mut names = before.get(start..).unwrap_or("").split('.').map(str::to_owned);
    let base = names.next().unwrap_or_default();
    let path: Vec<_> = names.collect();
    let is_chain = std::iter::once(&base).chain(&path).all(|name| syntax::is_name(name));
    if is_chain { Context::Field(base, path) } else { Context::Nothing }
}

fn statement(text: &str, before: &[Piece]) -> Context {
    let begins = |piece: &Piece| matches!(piece.kind, PieceKind::Stop | PieceKind::Directive);
    let Some(first) = before.iter().rposition(begins) else { return Context::Code };
    let inside = before.get(first + 1..).unwrap_or_default();
    let last = inside.last().map_or("", |piece| slice(text, piece));
    let is_rule = inside.iter().any(|piece| slice(text, piece) == ":-");
    let depth = inside.iter().fold(0_usize, |depth, piece| match slice(text, piece) {
        "(" | "[" | "{" => depth + 1,
        ")" | "]" | "}" => depth.saturating_sub(1),
        _ => depth,
    });
    match before.get(first).map_or("", |piece| slice(text, piece)) {
        ".decl" if !is_rule && last == ":" && depth > 0 => Context::Type,
        ".decl" if inside.is_empty() || (!is_rule && depth > 0 && last != "(") => Context::Nothing,
        ".type" if inside.is_empty() => Context::Nothing,
        ".type" if !is_rule && matches!(last, ":" | "<:" | "=" | "|") => Context::Type,
        ".output" | ".input" | ".printsize" if inside.is_empty() => Context::Relation,
        ".include" | ".pragma" if inside.is_empty() => Context::Nothing,
        _ => Context::Code,
    }
}

/// The names in the statement around a byte that may be variables.
pub(crate) fn variables(text: &str, start: usize) -> Vec<String> {
    let all = syntax::pieces(FileId(0), text);
    let begins = |piece: &Piece| matches!(piece.kind, PieceKind::Stop | PieceKind::Directive);
    let at = all.partition_point(|piece| (piece.span.start as usize) < start);
    let first = all.get(..at).unwrap_or_default().iter().rposition(begins).map_or(0, |first| first + 1);
    let rest = all.get(at..).unwrap_or_default();
    let last = rest.iter().position(begins).map_or(all.len(), |length| at + length);
    let mut names: Vec<String> = Vec::new();
    for at in first..last {
        let Some(piece) = all.get(at) else { break };
        let name = slice(text, piece);
        let before = at.checked_sub(1).and_then(|at| all.get(at)).map_or("", |piece| slice(text, piece));
        let after = all.get(at + 1).map_or("", |piece| slice(text, piece));
        let other = matches!(before, "@" | "$" | ".") || after == "(" || piece.span.start as usize == start;
        let plain = piece.kind == PieceKind::Word && !other && syntax::is_name(name);
        if plain && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// The text with the literal that is being written replaced, so that the rest of its rule can be checked, and a byte of
/// that rule. First as if the rule went on after the literal, then as if it ended there.
pub(crate) fn patches(text: &str, start: usize, end: usize) -> Vec<(String, usize)> {
    let before = syntax::pieces(FileId(0), text.get(..start).unwrap_or(""));
    let mut open: Vec<&str> = Vec::new();
    let mut boundary = None;
    for piece in &before {
        let at = piece.span.end as usize;
        match slice(text, piece) {
            _ if piece.kind == PieceKind::Stop => {
                open.clear();
                boundary = None;
            }
            ":-" => boundary = Some((at, open.len())),
            mark @ ("(" | "[" | "{") => {
                open.push(mark);
                if mark == "{" {
                    boundary = Some((at, open.len()));
                }
            }
            ")" | "]" | "}" => {
                open.pop();
            }
            "," | ";" if boundary.is_some() && open.last().is_none_or(|&mark| mark == "{") => {
                boundary = Some((at, open.len()));
            }
            _ => {}
        }
    }
    let Some((at, depth)) = boundary else { return Vec::new() };
    let head = text.get(..at).unwrap_or("");
    let tail = text.get(end..).unwrap_or("");
    let closers: String =
        open.iter().take(depth).rev().map(|&mark| if mark == "{" { " }" } else { " )" }).collect();
    let ended = format!("{head} true{closers}.\n{tail}");
    let goes_on = rest(tail).map(|rest| format!("{head} true{rest}"));
    goes_on.into_iter().chain([ended]).map(|text| (text, at)).collect()
}

/// What follows the literal that the text starts in.
fn rest(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    for piece in syntax::pieces(FileId(0), text) {
        match slice(text, &piece) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" => depth = depth.saturating_sub(1),
            "}" if depth == 0 => return text.get(piece.span.start as usize..),
            "}" => depth -= 1,
            "," | ";" if depth == 0 => return text.get(piece.span.start as usize..),
            _ if piece.kind == PieceKind::Stop => return text.get(piece.span.start as usize..),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its `|`, and where that stood.
    fn marked(text: &str) -> (String, usize) {
        let at = text.find('|').unwrap_or(0);
        (text.replacen('|', "", 1), at)
    }

    #[test]
    fn what_may_be_written() {
        let field = |base: &str, path: &[&str]| {
            Context::Field(base.to_owned(), path.iter().map(|&name| name.to_owned()).collect())
        };
        let rows = [
            ("|", Context::Code),
            ("R(x) :- S|", Context::Code),
            ("R(x) :- x = @js|", Context::Functor),
            ("R(x) :- x = @|, S(x).", Context::Functor),
            ("R(x) :- x = $C|", Context::Variant),
            ("R(x) :- S(m), m.|", field("m", &[])),
            ("R(x) :- S(m), x = m.a.b|, T(x).", field("m", &["a"])),
            ("R(x) :- S(f(m).|", Context::Nothing),
            ("R(1.|", Context::Nothing),
            ("// @de|", Context::Annotation),
            ("// @|\nR(1).", Context::Annotation),
            ("/* x\n * @as| */", Context::Annotation),
            ("// words @de|", Context::Nothing),
            ("// @ask: x|", Context::Nothing),
            ("R(\"|\").", Context::Text),
            ("R(\"pa|\nS(1).", Context::Text),
            ("R(\"pay\"|).", Context::Code),
            (".include \"|\"", Context::Nothing),
            (".decl R(a: |", Context::Type),
            (".decl R(a: sy|)", Context::Type),
            (".decl R(a: symbol, |", Context::Nothing),
            (".decl R(a: symbol)\nT|", Context::Code),
            (".decl |", Context::Nothing),
            (".type A <: |", Context::Type),
            (".type A = [a: |]", Context::Type),
            (".type A <: symbol\nR(|", Context::Code),
            (".output |", Context::Relation),
            (".ou|", Context::Directive),
            ("R(1).\n.|", Context::Directive),
        ];
        for (text, expected) in rows {
            let (bare, at) = marked(text);
            assert_eq!(cursor(&bare, at).context, expected, "{text}");
        }
    }

    #[test]
    fn a_text_is_replaced_whole() {
        let (text, at) = marked("R(\"p|ay\").");
        let cursor = cursor(&text, at);
        assert_eq!(text.get(cursor.start..cursor.end), Some("pay"));
    }

    #[test]
    fn names_of_the_statement() {
        let (text, at) =
            marked("S(a).\nR(x) :- T(x, y, \"z\"), y = @f(m.n), $V(k), |q, _ = count : { U(w) }.\nS(b).");
        assert_eq!(variables(&text, at), ["x", "y", "m", "k", "w"]);
    }

    #[test]
    fn the_literal_is_left_out() {
        let rows = [
            ("R(x) :- S(m), m.|", "R(x) :- S(m), true.\n", None),
            ("R(x) :- x = m.|, S(m).", "R(x) :- true, S(m).", Some("R(x) :- true.\n, S(m).")),
            (
                "R(x) :- T(x), 1 < count : { S(m), m.| }.",
                "R(x) :- T(x), 1 < count : { S(m), true}.",
                Some("R(x) :- T(x), 1 < count : { S(m), true }.\n }."),
            ),
            ("R(m.|", "", None),
        ];
        for (text, first, second) in rows {
            let (bare, at) = marked(text);
            let start = bare.get(..at).and_then(|before| before.rfind('m')).unwrap_or(0);
            let texts: Vec<_> = patches(&bare, start, at).into_iter().map(|(text, _)| text).collect();
            let expected: Vec<_> =
                [first].into_iter().chain(second).filter(|text| !text.is_empty()).collect();
            assert_eq!(texts, expected, "{text}");
        }
    }
}
