//! One layout for policy texts.
//!
//! In: the text of a file without faults of syntax. Out: its canonical layout, which means the same and keeps every comment.
//! Never: looks at what a relation means, or changes a comment, a number or a name.

mod items;
mod same;
mod shape;
mod sheet;
mod stream;
mod words;

use crate::source::Diagnostic;
use crate::source::FileId;
use crate::source::Span;
use crate::syntax::ast::Item;
use crate::syntax::ast::Program;
use crate::syntax::format::stream::Element;
use crate::syntax::format::stream::What;
use crate::syntax::lexer;
use crate::syntax::parse;
use crate::syntax::tokens::Page;

/// Why a text keeps its layout.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum Unformatted {
    #[error("the text has faults of syntax")]
    Faulty(Vec<Diagnostic>),
    #[error("the layout would change what the text means or says")]
    Changed,
}

/// The canonical layout of a text; laid out again it stays as it is. A statement stands on one line where it fits;
/// else its body stands below, as many conditions on a line as fit. Comments stay where they are, one blank line stays of
/// several, and constructs that are not supported stay as they are written.
///
/// ```
/// use gatelog::source::FileId;
///
/// let text = gatelog::syntax::format(FileId(0), "Large( x ):-Amount(x) ,x>0x10. // above");
/// assert_eq!(text.unwrap_or_default(), "Large(x) :- Amount(x), x > 0x10. // above\n");
/// ```
///
/// # Errors
/// Where the text has faults of syntax, and where the layout turns out to change its tree or its comments.
pub fn format(file: FileId, text: &str) -> Result<String, Unformatted> {
    let (program, findings) = parse(file, text);
    if !findings.is_empty() {
        return Err(Unformatted::Faulty(findings));
    }
    let page = lexer::lex(file, text);
    let laid = lay_out(&page, &program);
    let (again, findings) = parse(file, &laid);
    let kept = findings.is_empty()
        && same::comments(text, &program) == same::comments(&laid, &again)
        && same::bare(program) == same::bare(again);
    if kept { Ok(laid) } else { Err(Unformatted::Changed) }
}

/// One statement of the text, as far as it goes.
struct Statement {
    span: Span,
    /// It stays as it is written.
    kept: bool,
}

/// A declaration of several relations is one statement, and so is one with what is not supported about it.
fn statements(program: &Program) -> Vec<Statement> {
    let mut statements: Vec<Statement> = Vec::new();
    for item in &program.items {
        let (span, kept) = match item {
            Item::Type(found) => (found.span, false),
            Item::Relation(found) => (found.span, false),
            Item::Rule(found) => (found.span, false),
            Item::Directive(found) => (found.span, false),
            Item::Include(found) => (found.span, false),
            Item::Pragma(found) => (found.span, false),
            Item::Unsupported { span, .. } => (*span, true),
        };
        match statements.last_mut() {
            Some(last) if span.start < last.span.end => {
                last.span = last.span.to(span);
                last.kept |= kept;
            }
            Some(_) | None => statements.push(Statement { span, kept }),
        }
    }
    statements
}

fn lay_out(page: &Page<'_>, program: &Program) -> String {
    let elements = stream::elements(page);
    let mut text = String::new();
    let mut at = 0;
    for statement in statements(program) {
        let within = |element: &Element, from: u32| match element.what {
            What::Token(token) => token.span.start >= from,
            What::Comment(_) => false,
        };
        let rest = elements.get(at..).unwrap_or_default();
        let first =
            rest.iter().position(|element| within(element, statement.span.start)).unwrap_or(rest.len());
        let last = rest.iter().position(|element| within(element, statement.span.end));
        // What stands before the next statement is not part of this one.
        let tokens = rest.get(first..last.unwrap_or(rest.len())).unwrap_or_default();
        let end = tokens.iter().rposition(|element| within(element, 0)).map_or(first, |end| first + end + 1);
        for comment in rest.get(..first).unwrap_or_default() {
            place_comment(&mut text, page, comment);
        }
        let own = rest.get(first..end).unwrap_or_default();
        let laid = if statement.kept {
            page.slice(statement.span).replace("\r\n", "\n")
        } else {
            sheet::set(&shape::shape(page, own))
        };
        place(&mut text, own.first().is_some_and(|element| element.apart), &laid);
        at += end;
    }
    for comment in elements.get(at..).unwrap_or_default() {
        place_comment(&mut text, page, comment);
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}

/// Puts a comment between statements: behind the one that it is on a line with, else on a line of its own.
fn place_comment(text: &mut String, page: &Page<'_>, element: &Element) {
    let What::Comment(span) = element.what else { return };
    let written = words::comment(page.slice(span));
    if element.leads || text.is_empty() {
        place(text, element.apart, &sheet::below(&written, 0));
    } else {
        text.push(' ');
        text.push_str(&written);
    }
}

/// Puts a statement or a comment on lines of its own.
fn place(text: &mut String, apart: bool, written: &str) {
    if !text.is_empty() {
        text.push_str(if apart { "\n\n" } else { "\n" });
    }
    text.push_str(written);
}
