//! Tokens and comments in one row.
//!
//! In: a [`Page`]. Out: its [`Element`]s, with separators before the comments that they were written behind.

use crate::source::Span;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Token;

/// A token or a comment, and how it stands to the one before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Element {
    pub(crate) what: What,
    /// It starts a line, or has to: what stands before it ends with its line.
    pub(crate) leads: bool,
    /// A blank line stands before it.
    pub(crate) apart: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    Token(Token),
    Comment(Span),
}

impl Element {
    fn kind(&self) -> Option<Kind> {
        match self.what {
            What::Token(token) => Some(token.kind),
            What::Comment(_) => None,
        }
    }
}

/// Everything on the page, in order but for separators: `,`, `;` and `:-` stand before the comments that come between them
/// and what they follow, a full stop likewise if the comments are on the line of what it ends, `|` stands behind them.
pub(crate) fn elements(page: &Page<'_>) -> Vec<Element> {
    let size = page.tokens.len() + page.remarks.len();
    let mut row = Row { elements: Vec::with_capacity(size), ..Row::default() };
    let mut end = 0;
    let mut closes_line = true;
    let mut comments = page.remarks.iter().map(|remark| remark.span).peekable();
    let mut tokens = page.tokens.iter().copied().peekable();
    loop {
        let before = |token: &Token| comments.peek().is_none_or(|span| token.span.start < span.start);
        let (what, span) = if let Some(token) = tokens.next_if(before) {
            (What::Token(token), token.span)
        } else if let Some(span) = comments.next() {
            (What::Comment(span), span)
        } else {
            break;
        };
        let gap = page.slice(Span { start: end, end: span.start, ..span });
        let lines = gap.bytes().filter(|&byte| byte == b'\n').count();
        row.push(Element { what, leads: closes_line || lines > 0, apart: lines > 1 });
        closes_line = match what {
            What::Comment(_) => {
                let text = page.slice(span);
                text.starts_with("//") || text.contains('\n')
            }
            What::Token(_) => false,
        };
        end = span.end;
    }
    row.elements
}

#[derive(Debug, Default)]
struct Row {
    elements: Vec<Element>,
    /// The place behind the last token.
    behind: usize,
    /// The next element starts a line.
    leads: bool,
}

impl Row {
    fn push(&mut self, mut element: Element) {
        element.leads |= std::mem::take(&mut self.leads);
        if element.kind().is_none() {
            self.elements.push(element);
            return;
        }
        let comments = self.elements.get(self.behind..).unwrap_or_default();
        let between = !comments.is_empty() && self.behind > 0;
        let led = comments.iter().any(|comment| comment.leads);
        match element.kind() {
            Some(Kind::Comma | Kind::Semicolon | Kind::If) if between && (led || element.leads) => {
                self.pull(element);
            }
            Some(Kind::Stop) if between && !led && element.leads => self.pull(element),
            Some(_) if between && (led || element.leads) && self.follows_bar() => self.put_off(element),
            Some(_) | None => {
                self.elements.push(element);
                self.behind = self.elements.len();
            }
        }
    }

    /// Puts a separator before the comments that stand before it.
    fn pull(&mut self, element: Element) {
        self.leads = element.leads;
        self.elements.insert(self.behind, Element { leads: false, apart: false, ..element });
        self.behind += 1;
    }

    fn follows_bar(&self) -> bool {
        let last = self.behind.checked_sub(1).and_then(|at| self.elements.get(at));
        last.is_some_and(|element| element.kind() == Some(Kind::Bar))
    }

    /// Puts a bar behind the comments that follow it.
    fn put_off(&mut self, element: Element) {
        let bar = self.elements.remove(self.behind - 1);
        if let Some(first) = self.elements.get_mut(self.behind - 1) {
            first.leads |= bar.leads;
        }
        self.elements.push(Element { leads: element.leads, apart: false, ..bar });
        self.elements.push(Element { leads: false, apart: false, ..element });
        self.behind = self.elements.len();
    }
}
