//! One statement to the pieces that it is set from.
//!
//! In: the [`Element`]s of a statement that was read without a fault. Out: a [`Piece`].

use std::ops::Range;

use crate::source::Span;
use crate::syntax::format::items::Alternatives;
use crate::syntax::format::items::Item;
use crate::syntax::format::items::Standing;
use crate::syntax::format::sheet::INDENT;
use crate::syntax::format::sheet::Piece;
use crate::syntax::format::stream::Element;
use crate::syntax::format::stream::What;
use crate::syntax::format::words;
use crate::syntax::format::words::Before;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Token;

/// A token with the comments before it.
#[derive(Debug)]
struct Leaf {
    token: Token,
    /// Comments that end their line, in order, before the others.
    standing: Vec<Standing>,
    /// Comments that stand on one line with the token.
    glued: Vec<String>,
}

/// The leaves of a statement, and how far they are shaped.
struct Shaper<'s, 'p> {
    page: &'s Page<'p>,
    leaves: Vec<Leaf>,
    at: usize,
    directive: bool,
    /// How many brackets are open.
    open: usize,
}

/// The pieces of a statement.
pub(crate) fn shape<'p>(page: &Page<'p>, elements: &[Element]) -> Piece<'p> {
    let leaves = leaves(page, elements);
    let bars = leaves.iter().any(|leaf| leaf.token.kind == Kind::Bar);
    let first = leaves.first().map(|leaf| leaf.token);
    let directive = first.filter(|token| matches!(token.kind, Kind::Directive | Kind::Include));
    let mut shaper = Shaper { page, leaves, at: 0, directive: directive.is_some(), open: 0 };
    match directive {
        Some(_) if bars => shaper.union(),
        Some(token) => {
            shaper.at += 1;
            let listed = shaper.list().piece(INDENT);
            Piece::row(vec![Piece::text(page.slice(token.span)), Piece::space(), listed])
        }
        None => shaper.rule(),
    }
}

fn leaves(page: &Page<'_>, elements: &[Element]) -> Vec<Leaf> {
    let mut leaves = Vec::with_capacity(elements.len());
    let mut before: Vec<(Span, bool)> = Vec::new();
    for element in elements {
        match element.what {
            What::Comment(span) => before.push((span, element.leads)),
            What::Token(token) => {
                // From the last place where a line starts, all stands on the token's line.
                let line = before.iter().rposition(|(_, leads)| *leads).unwrap_or(0);
                let line = if element.leads { before.len() } else { line };
                let text = |span: Span| words::comment(page.slice(span));
                let glued = before.iter().skip(line).map(|(span, _)| text(*span)).collect();
                let mut standing: Vec<Standing> = Vec::new();
                for (span, leads) in before.iter().take(line) {
                    match standing.last_mut() {
                        _ if *leads => standing.push(Standing::Own(text(*span))),
                        Some(line) => line.extend(&text(*span)),
                        None => standing.push(Standing::Trail(text(*span))),
                    }
                }
                leaves.push(Leaf { token, standing, glued });
                before.clear();
            }
        }
    }
    leaves
}

impl<'p> Shaper<'_, 'p> {
    /// `heads :- body.`
    fn rule(&mut self) -> Piece<'p> {
        let mut pieces = vec![self.list().piece(INDENT)];
        if self.kind() == Some(Kind::If) {
            self.at += 1;
            pieces.push(Piece::space());
            pieces.push(Piece::text(":-"));
            let (trails, body) = self.list().opened();
            pieces.extend(trails);
            pieces.push(Piece::nest(Piece::row(vec![Piece::line(" "), body])));
        }
        Piece::row(vec![Piece::group(Piece::row(pieces)), Piece::text(".")])
    }

    /// `.type name = a | b`
    fn union(&mut self) -> Piece<'p> {
        let mut head = Item::default();
        let mut before = None;
        while before.is_none_or(|before: Before| before.token.kind != Kind::Equal) && self.kind().is_some() {
            before = self.extend(&mut head, before);
        }
        let mut rows = vec![Piece::line(" ")];
        while self.kind().is_some() {
            let standing = self.standing();
            rows.extend(standing.into_iter().map(|comment| comment.piece(0)));
            if self.kind() == Some(Kind::Bar) {
                rows.push(Piece::line(" "));
                for comment in self.glued() {
                    rows.push(Piece::text(comment));
                    rows.push(Piece::space());
                }
                rows.push(Piece::text("|"));
                rows.push(Piece::space());
                self.at += 1;
            }
            let standing = self.standing();
            rows.extend(standing.into_iter().map(|comment| comment.piece(0)));
            rows.push(self.item().piece());
        }
        head.pieces.push(Piece::nest(Piece::row(rows)));
        Piece::group(head.piece())
    }

    fn kind(&self) -> Option<Kind> {
        self.leaves.get(self.at).map(|leaf| leaf.token.kind)
    }

    /// The comments before the next token that end their line; they are taken.
    fn standing(&mut self) -> Vec<Standing> {
        self.leaves.get_mut(self.at).map(|leaf| std::mem::take(&mut leaf.standing)).unwrap_or_default()
    }

    /// Those that stand on its line; they are taken.
    fn glued(&mut self) -> Vec<String> {
        self.leaves.get_mut(self.at).map(|leaf| std::mem::take(&mut leaf.glued)).unwrap_or_default()
    }

    /// `alternative (";" alternative)*` up to what closes it, where `alternative = item ("," item)*`.
    fn list(&mut self) -> Alternatives<'p> {
        let mut found = Alternatives::default();
        while let Some(kind) = self.kind() {
            found.comments(self.standing());
            if closes(kind) {
                found.append(self.glued());
                break;
            }
            let mut item = self.item();
            let sign = match self.kind() {
                Some(Kind::Comma) => ",",
                Some(Kind::Semicolon) => ";",
                _ => "",
            };
            if !sign.is_empty() {
                item.append(self.glued());
                item.pieces.push(Piece::text(sign));
                self.at += 1;
            }
            let stays = item.subject.is_some_and(|name| {
                found.last().is_some_and(|last| self.has_variable(last.leaves.clone(), name))
            });
            found.push(item, stays);
            if sign == ";" {
                found.next();
            }
        }
        found
    }

    /// The tokens up to a separator or to what closes a list; one at least.
    fn item(&mut self) -> Item<'p> {
        let start = self.at;
        let mut item = Item::default();
        let mut before = self.extend(&mut item, None);
        while self.kind().is_some_and(|kind| !closes(kind) && !separates(kind)) {
            before = self.extend(&mut item, before);
        }
        let subject = self.leaves.get(start..self.at).and_then(|leaves| match leaves {
            [first, second, ..] => words::subject(self.page, first.token, second.token),
            _ => None,
        });
        Item { leaves: start..self.at, subject, ..item }
    }

    /// Whether a variable of that name is among the leaves.
    fn has_variable(&self, leaves: Range<usize>, name: &str) -> bool {
        let leaves = self.leaves.get(leaves).unwrap_or_default();
        let mut before = None;
        leaves.iter().enumerate().any(|(at, leaf)| {
            let next = leaves.get(at + 1).map(|leaf| leaf.token.kind);
            let before = before.replace(leaf.token.kind);
            self.page.slice(leaf.token.span) == name
                && words::is_variable(self.page, before, leaf.token, next)
        })
    }

    /// Adds the next token, with the brackets that it opens and the comments before it.
    fn extend(&mut self, item: &mut Item<'p>, before: Option<Before>) -> Option<Before> {
        let (standing, glued) = (self.standing(), self.glued());
        let token = self.leaves.get(self.at).map(|leaf| leaf.token)?;
        self.at += 1;
        let parameter = self.directive && self.open > 0;
        let blank = before.is_some_and(|before| {
            !glued.is_empty() || words::apart(self.page, before, token, self.directive, parameter)
        });
        item.pieces.extend(standing.into_iter().map(|comment| comment.piece(INDENT)));
        if blank {
            item.pieces.push(Piece::space());
        }
        for comment in glued {
            item.pieces.push(Piece::text(comment));
            item.pieces.push(Piece::space());
        }
        if !matches!(token.kind, Kind::Open | Kind::OpenBracket | Kind::OpenBrace) {
            item.pieces.push(Piece::text(words::written(self.page, token)));
            return Some(words::before(self.page, before, token));
        }
        let (bracket, close) = self.bracket(token);
        item.pieces.push(bracket);
        Some(Before { token: close, unary: false })
    }

    /// A bracket with what it holds, and the token that closes it.
    fn bracket(&mut self, open: Token) -> (Piece<'p>, Token) {
        self.open += 1;
        let listed = self.list();
        self.open -= 1;
        let close = self.leaves.get(self.at).map_or(open, |leaf| leaf.token);
        self.at += 1;
        let (opening, closing) = (words::written(self.page, open), words::written(self.page, close));
        if listed.is_empty() {
            return (Piece::text(opening.into_owned() + &closing), close);
        }
        let blank = if open.kind == Kind::OpenBrace { " " } else { "" };
        let (trails, inside) = listed.opened();
        let mut pieces = vec![Piece::text(opening)];
        pieces.extend(trails);
        pieces.push(Piece::nest(Piece::row(vec![Piece::line(blank), inside])));
        pieces.push(Piece::line(blank));
        pieces.push(Piece::text(closing));
        (Piece::group(Piece::row(pieces)), close)
    }
}

fn separates(kind: Kind) -> bool {
    matches!(kind, Kind::Comma | Kind::Semicolon | Kind::Bar)
}

fn closes(kind: Kind) -> bool {
    matches!(kind, Kind::Close | Kind::CloseBracket | Kind::CloseBrace | Kind::Stop | Kind::If)
}
