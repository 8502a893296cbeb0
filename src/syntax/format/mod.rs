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
use crate::syntax::parse;
use crate::syntax::read;
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
    let (page, program, findings) = read(file, text);
    if !findings.is_empty() {
        return Err(Unformatted::Faulty(findings));
    }
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
    let mut text = String::with_capacity(page.text.len());
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

#[cfg(test)]
mod tests {
    use proptest::prelude::{ProptestConfig, Strategy, any, prop, proptest};

    use super::*;
    use crate::syntax::lexer;
    use crate::syntax::print;
    use crate::syntax::random::a_rule;
    use crate::syntax::tokens::Kind;

    const FILE: FileId = FileId(0);

    const DECLARATIONS: &str = ".type A = B { x: symbol, y: E } | C {}\n.type U = T | V\n.type R = [a: T, b: T]\n\
        .decl R, S(x: number, y: U) inline\n.output R(k=\"v\", l=w), S\n.pragma \"a\" \"b\"\n";

    fn a_text() -> impl Strategy<Value = String> {
        prop::collection::vec(a_rule(), 1..3)
            .prop_map(|items| DECLARATIONS.to_owned() + &print(&Program { items, comments: Vec::new() }))
    }

    /// The text with other gaps between its tokens, as the numbers choose.
    fn spread(text: &str, gaps: &[&str], choices: &[u8]) -> String {
        let page = lexer::lex(FILE, text);
        let mut spread = String::new();
        let mut before = None;
        for (token, choice) in page.tokens.iter().zip(choices.iter().cycle()) {
            let tight = token.kind == Kind::Dot || matches!(before, Some(Kind::Dot) | None);
            if !tight {
                spread.push_str(gaps.get(usize::from(*choice) % gaps.len()).unwrap_or(&" "));
            }
            spread.push_str(page.slice(token.span));
            before = Some(token.kind);
        }
        spread
    }

    /// Lays the text out, and holds that this is done once.
    fn laid(text: &str) -> String {
        let once = format(FILE, text).unwrap_or_else(|fault| panic!("{fault:?}\n{text}"));
        let twice = format(FILE, &once).unwrap_or_else(|fault| panic!("{fault:?}\n{once}"));
        assert_eq!(once, twice, "{text}");
        once
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn blanks_and_line_ends_make_no_difference(
            text in a_text(),
            choices in prop::collection::vec(any::<u8>(), 1..40),
        ) {
            assert_eq!(laid(&text), laid(&spread(&text, &[" ", "\n", "\r\n", "\t ", "  "], &choices)));
        }

        #[test]
        fn comments_anywhere_stay(text in a_text(), choices in prop::collection::vec(any::<u8>(), 1..40)) {
            let gaps = [
                " ", "\n", "\n\n\n", " /* a */ ", " // b\n", "\n// @c: d\n", "\n/* e\n * f */ ", " /* g */\n",
                "\n /* h */ ", " /* i */ // j\n", " /* k\nl */\n", "  ", " ", " ", " ", " ",
            ];
            let spread = spread(&text, &gaps, &choices);
            laid(&spread);
        }
    }

    #[test]
    fn faulty_texts_are_refused() {
        let Err(Unformatted::Faulty(found)) = format(FILE, "A(1)\nB(2).") else { panic!("laid out") };
        assert_eq!(found.len(), 1);
    }
}
