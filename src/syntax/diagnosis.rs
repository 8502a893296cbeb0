//! Faults in words.
//!
//! In: where the grammar gave up, and what it expected. Out: a [`Diagnostic`] with a way out where there is one.

use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::lexer::DIRECTIVES;
use crate::syntax::tokens::Fault;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Token;
use crate::syntax::tokens::is_keyword;

/// The longest piece of the user's text that a message repeats, in characters.
const QUOTED: usize = 40;

/// What stands between the sides of a comparison.
const COMPARES: [Kind; 6] =
    [Kind::Equal, Kind::NotEqual, Kind::Less, Kind::LessOrEqual, Kind::Greater, Kind::GreaterOrEqual];

/// Says what is wrong with the statement that starts at that token.
pub(crate) fn diagnose(page: &Page<'_>, start: usize, fault: Fault) -> Diagnostic {
    if let Some(finding) = fault.told {
        return *finding;
    }
    let scene = Scene { page, start, at: fault.at, wanted: fault.wanted.join(" or ") };
    let found = scene.found();
    let word = scene.word(0);
    if scene.is(0, Kind::Word) && is_keyword(word) && scene.wants_name() && !scene.ends_early() {
        return Diagnostic::error("E0001", scene.span(), format!("`{word}` is a keyword and names nothing"))
            .with_label(format!("expected {}", scene.wanted))
            .with_help(keyword_help(word));
    }
    let message = format!("expected {}, found {found}", scene.wanted);
    let place = if scene.ends_early() { scene.after_last() } else { scene.span() };
    Diagnostic::error("E0001", place, message)
        .with_label(format!("expected {}", scene.wanted))
        .with_help(scene.help())
}

/// Refuses a directive that nobody knows.
pub(crate) fn unknown_directive(word: &str, span: Span) -> Diagnostic {
    let name = word.trim_start_matches('.');
    let lower = name.to_ascii_lowercase();
    let begins = |known: &str| lower.starts_with(known) || (lower.len() > 2 && known.starts_with(&lower));
    let near = |known: &&&str| strsim::osa_distance(known, &lower) <= 2 || begins(known);
    let help = match DIRECTIVES.iter().filter(near).min_by_key(|known| strsim::osa_distance(known, &lower)) {
        Some(known) => format!("did you mean `.{known}`?"),
        None => {
            "the directives are `.decl`, `.type`, `.output`, `.input`, `.printsize`, `.include` and `.pragma`"
                .to_owned()
        }
    };
    Diagnostic::error("E0001", span, format!("`{}` is no directive", quote(word)))
        .with_label("unknown directive")
        .with_help(help)
}

fn keyword_help(word: &str) -> String {
    match word {
        "_" => "give it a name; `_` stands for any value".to_owned(),
        "match" | "contains" => format!(
            "`{word}(…)` is a condition and has no value: it stands alone, with `!` before it for the opposite"
        ),
        "true" | "false" => format!("`{word}` is a condition; as a value write 1 or 0, or a text"),
        "input" | "output" | "printsize" => {
            format!("choose another name, such as `{word}_`; the directive is written `.{word} R`")
        }
        _ => format!("choose another name, such as `{word}_`"),
    }
}

/// The user's text, cut where it is long, on one line.
fn quote(text: &str) -> String {
    let mut quoted: String = text.chars().take(QUOTED).collect();
    if text.chars().nth(QUOTED).is_some() {
        quoted.push('…');
    }
    quoted
}

/// Where a fault was met.
struct Scene<'a> {
    page: &'a Page<'a>,
    start: usize,
    at: usize,
    wanted: String,
}

impl Scene<'_> {
    /// The token that many places from the one at fault.
    fn token(&self, offset: isize) -> Option<Token> {
        self.at.checked_add_signed(offset).and_then(|at| self.page.token(at))
    }

    fn is(&self, offset: isize, kind: Kind) -> bool {
        self.token(offset).is_some_and(|token| token.kind == kind)
    }

    fn word(&self, offset: isize) -> &str {
        self.token(offset).map_or("", |token| self.page.slice(token.span))
    }

    fn span(&self) -> Span {
        self.token(0).map_or_else(|| self.page.end(), |token| token.span)
    }

    /// The empty place right behind the token before.
    fn after_last(&self) -> Span {
        self.token(-1).map_or_else(|| self.span(), |token| Span { start: token.span.end, ..token.span })
    }

    fn found(&self) -> String {
        self.token(0)
            .map_or_else(|| "the end of the file".to_owned(), |_| format!("`{}`", quote(self.word(0))))
    }

    /// Whether the statement seems to end without what ends it.
    fn ends_early(&self) -> bool {
        let ended = self.at > self.start && self.token(0).is_none_or(|token| token.leads);
        let directive = self.page.token(self.start).is_some_and(|token| token.kind == Kind::Directive);
        ended && (self.wanted.starts_with('`') || directive || self.token(0).is_none())
    }

    fn wants_name(&self) -> bool {
        ["name", "a term", "a condition", "a fact"].iter().any(|what| self.wanted.contains(what))
    }

    fn wants_stop(&self) -> bool {
        self.wanted.contains("`.`")
    }

    /// The way out, where one is likely.
    fn help(&self) -> String {
        let known = self.sign_help().or_else(|| self.word_help()).or_else(|| self.place_help());
        known.map_or_else(String::new, str::to_owned)
    }

    /// For signs that other languages write, or that stand in the wrong place.
    fn sign_help(&self) -> Option<&'static str> {
        let kind = self.token(0).map(|token| token.kind)?;
        let joined = self.token(1).is_some_and(|token| token.joined);
        let heads = self.wanted.contains("`:-`");
        if COMPARES.contains(&kind) && self.follows_text_test() {
            return Some(
                "`match(…)` and `contains(…)` are conditions and have no value: they stand alone, with `!` before them for the opposite",
            );
        }
        match kind {
            Kind::Colon | Kind::Equal if heads => Some("write `:-` between the head and the body"),
            Kind::Less if heads && joined && self.is(1, Kind::Minus) => {
                Some("write `:-` between the head and the body")
            }
            Kind::Stop if heads && !self.wants_stop() => {
                Some("several heads need a body; write facts one by one, each with its full stop")
            }
            Kind::Greater if self.is(-1, Kind::Less) => Some("write `!=` for not equal"),
            Kind::Bar if joined && self.is(1, Kind::Bar) => Some("write `;` between alternatives"),
            Kind::If if self.wants_stop() => Some("end the rule before with a full stop instead of a comma"),
            Kind::Stop if self.is(-1, Kind::If) => {
                Some("a fact has no `:-`; a rule has a condition behind it")
            }
            Kind::Close | Kind::CloseBracket | Kind::CloseBrace if self.is(-1, Kind::Comma) => {
                Some("remove the comma before it")
            }
            Kind::Stop | Kind::If if self.is(-1, Kind::Comma) && !self.wanted.contains("term") => {
                Some("remove the comma before it")
            }
            Kind::Less | Kind::LessOrEqual | Kind::Greater | Kind::GreaterOrEqual
                if self.wanted.contains("`;`") =>
            {
                Some("comparisons do not chain; write `a < b, b < c`")
            }
            Kind::Colon if matches!(self.word(-1), "sum" | "min" | "max" | "mean") => {
                Some("write what is aggregated before the colon, as in `sum x : { … }`")
            }
            Kind::Stop if self.at == self.start => {
                Some("a declaration or directive has no full stop; remove it")
            }
            Kind::Stop
                if matches!(self.token(1), Some(Token { kind: Kind::Integer(_), joined: true, .. })) =>
            {
                Some("write digits on both sides of the point, as in `0.5`")
            }
            Kind::Open if self.is(-1, Kind::Word) && self.after_dot() => {
                Some("relations have plain names; components are not supported")
            }
            Kind::Open if self.is(-1, Kind::Word) => Some("functors are called with `@`, as in `@name(…)`"),
            _ => None,
        }
    }

    /// Whether a text test ends right before the fault.
    fn follows_text_test(&self) -> bool {
        let Some(last) = self.at.checked_sub(1) else { return false };
        let opens = |at: &usize| self.page.token(*at).is_some_and(|token| token.partner == Some(last));
        let word = (self.start..last).rev().find(opens).and_then(|open| open.checked_sub(1));
        let word = word.and_then(|at| self.page.token(at)).map(|token| self.page.slice(token.span));
        matches!(word, Some("match" | "contains"))
    }

    fn after_dot(&self) -> bool {
        self.is(-2, Kind::Dot)
    }

    /// For words that other languages use as signs.
    fn word_help(&self) -> Option<&'static str> {
        let (here, last) = (self.word(0).to_ascii_lowercase(), self.word(-1).to_ascii_lowercase());
        match (here.as_str(), last.as_str()) {
            ("and", _) => Some("write `,` between conditions that all have to hold"),
            ("or", _) => Some("write `;` between alternatives"),
            (_, "not") => Some("write `!` before a condition that must not hold"),
            ("in" | "is" | "like", _) => Some("compare with `=`, or use `match(pattern, text)`"),
            ("input" | "output" | "printsize", _) if self.wanted.contains("qualifier") => {
                Some("give the directive a line of its own, such as `.output R`")
            }
            _ if self.wanted.contains("qualifier") => Some(
                "the qualifiers are `inline`, `no_inline`, `magic`, `no_magic`, `brie`, `btree` and `eqrel`",
            ),
            _ => None,
        }
    }

    /// Whether what was found looks like a further condition: a word that the layout puts inside the statement.
    fn is_continuation(&self) -> bool {
        let margin = self.page.token(self.start).map_or(0, |token| token.column);
        self.token(0).is_some_and(|token| token.kind == Kind::Word && (token.column > margin || !token.leads))
    }

    /// For what is missing at the end of a statement or a part of it.
    fn place_help(&self) -> Option<&'static str> {
        let plain = self.is(-1, Kind::Word) && !self.after_dot();
        if self.wants_stop() && (self.ends_early() || self.is(0, Kind::Word)) {
            return Some(if self.is_continuation() {
                "put `,` between two conditions, or end the rule with a full stop"
            } else {
                "end the rule with a full stop"
            });
        }
        if self.token(0).is_none_or(|token| matches!(token.kind, Kind::Stop | Kind::If)) {
            let closers = [
                ("`)`", "close the parenthesis with `)`"),
                ("`]`", "close it with `]`"),
                ("`}`", "close it with `}`"),
            ];
            return closers
                .into_iter()
                .find(|(closer, _)| self.wanted.contains(closer))
                .map(|(_, help)| help);
        }
        if self.wanted.contains("comparison") && plain {
            return Some("a relation is followed by `(…)`, a variable by a comparison");
        }
        if self.wanted.contains("body") && !self.wanted.contains('.') {
            return Some("an aggregate is written `count : { … }` or `sum x : { … }`");
        }
        None
    }
}
