//! Policy text to syntax tree.
//!
//! In: one [`SourceFile`](crate::source::SourceFile). Out: an [`ast::Program`] and every [`Diagnostic`] met on the way.
//! Never: fails, opens a file, or knows what a relation means.

pub mod ast;
mod tokens;
mod number;
mod text;
mod lexer;
mod term;
mod rule;
mod declaration;
mod annotation;
mod diagnosis;
mod statement;
mod print;
mod pieces;
mod format;

pub use format::{Unformatted, format};
pub use pieces::{Piece, PieceKind, is_name, pieces};
pub use print::print;

use crate::source::Diagnostic;
use crate::source::FileId;
use crate::source::Span;

/// Every code that a finding about syntax carries, with what it means.
pub const CODES: &[(&str, &str)] = &[
    ("E0001", "something else was expected here"),
    ("E0002", "a text holds an unknown escape"),
    ("E0003", "a number does not fit 64 bits"),
    ("E0004", "a comment or a text is never closed"),
    ("E0005", "a statement is nested too deeply"),
    ("E0006", "a construct is known and not supported"),
    ("E0007", "a character may not stand here"),
];

/// Parses one policy text. Never fails: a faulty statement is reported, left out, and reading goes on after the
/// full stop that ends it. There is at most one finding for each statement; the findings stand in the order of the
/// text. No tree nests deeper than 100 levels of terms and as many of conditions, so it may be walked by recursion.
///
/// ```
/// use gatelog::source::FileId;
///
/// let (program, findings) = gatelog::syntax::parse(FileId(0), "Large(x) :- Amount(x), x > 100.");
/// assert_eq!(program.items.len(), 1);
/// assert!(findings.is_empty());
/// ```
#[must_use]
pub fn parse(file: FileId, text: &str) -> (ast::Program, Vec<Diagnostic>) {
    let (_, program, findings) = read(file, text);
    (program, findings)
}

/// Parses a text, and keeps its tokens.
fn read(file: FileId, text: &str) -> (tokens::Page<'_>, ast::Program, Vec<Diagnostic>) {
    if u32::try_from(text.len()).is_err() {
        let start = Span { file, start: 0, end: 0 };
        let finding = Diagnostic::error("E0001", start, "the file is larger than 4 GiB");
        return (lexer::lex(file, ""), ast::Program::default(), vec![finding]);
    }
    let page = lexer::lex(file, text);
    let (program, findings) = statement::program(&page);
    (page, program, findings)
}

#[cfg(test)]
mod random;
