//! Policy text to tokens.
//!
//! In: the text of one file. Out: a [`Page`] of tokens, with the comments apart and every fault of spelling.
//! A faulty token still stands in the page, so that the grammar can read on.

use nom::branch::alt;
use nom::bytes::complete::{tag, take_till, take_while1};
use nom::combinator::value;
use nom::{IResult, Parser};

use crate::source::Diagnostic;
use crate::source::FileId;
use crate::syntax::number;
use crate::syntax::text;
use crate::syntax::tokens::Kind;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Remark;
use crate::syntax::tokens::Token;

/// Every directive that Soufflé or we know, without its dot, whether supported or not.
pub(crate) const DIRECTIVES: [&str; 19] = [
    "decl",
    "type",
    "output",
    "input",
    "printsize",
    "include",
    "pragma",
    "comp",
    "init",
    "plan",
    "functor",
    "override",
    "limitsize",
    "once",
    "lattice",
    "number_type",
    "symbol_type",
    "unsigned_type",
    "float_type",
];

/// Where the lexer stands in the text.
struct Place {
    /// The first byte of the line.
    line: usize,
    /// Whether a token stands on the line already.
    begun: bool,
    /// Opening brackets that are not closed yet, by their place in the page.
    open: Vec<usize>,
}

/// Reads the text into tokens.
pub(crate) fn lex(file: FileId, text: &str) -> Page<'_> {
    // A token has four bytes or more on the whole, the blanks before it among them: growing rarely moves them.
    let tokens = Vec::with_capacity(text.len() / 4);
    let (remarks, faults, stray) = (Vec::new(), Vec::new(), Vec::new());
    let mut page = Page { file, text, tokens, remarks, faults, stray };
    let mut place = Place { line: 0, begun: false, open: Vec::new() };
    let mut at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
    while let Some(rest) = text.get(at..)
        && let Some(first) = rest.chars().next()
    {
        at = match first {
            '\n' => {
                place.line = at + 1;
                place.begun = false;
                at + 1
            }
            ' ' | '\t' => at + 1,
            '\r' if rest.starts_with("\r\n") => at + 1,
            '/' if rest.starts_with("//") || rest.starts_with("/*") => {
                comment(&mut page, &mut place, at, rest)
            }
            _ => token(&mut page, &mut place, at, rest),
        };
    }
    page
}

/// `comment = "//" until the line ends | "/*" until "*/"`
fn comment(page: &mut Page<'_>, place: &mut Place, at: usize, rest: &str) -> usize {
    let block = rest.starts_with("/*");
    let length = if block { block_length(rest) } else { Some(line_length(rest)) };
    let end = at + length.unwrap_or(rest.len());
    if length.is_none() {
        let finding = Diagnostic::error("E0004", page.span(at, at + 2), "the comment is never closed")
            .with_label("it starts here")
            .with_help("close it with `*/`");
        page.stray.push(finding);
    }
    let body = page.text.get(at..end).unwrap_or("");
    let mut before = '\0';
    for (offset, letter) in body.char_indices() {
        let ended = before == '\r' && letter != '\n';
        if ended || (letter.is_control() && !matches!(letter, '\n' | '\r' | '\t')) {
            let here = if ended { at + offset - 1 } else { at + offset };
            page.stray.push(bad_character(page, here, if ended { '\r' } else { letter }));
        }
        before = letter;
    }
    page.remarks.push(Remark { span: page.span(at, end), leads: !place.begun });
    if let Some(newline) = body.rfind('\n') {
        place.line = at + newline + 1;
        place.begun = false;
    }
    end
}

fn block_length(rest: &str) -> Option<usize> {
    rest.get(2..).and_then(|inside| inside.find("*/")).map(|found| found + 4)
}

/// The length of the line without its end.
fn line_length(rest: &str) -> usize {
    let line = rest.find('\n').and_then(|end| rest.get(..end)).unwrap_or(rest);
    line.strip_suffix('\r').unwrap_or(line).len()
}

/// Reads one token and returns where the next one may start.
fn token(page: &mut Page<'_>, place: &mut Place, at: usize, rest: &str) -> usize {
    let (length, kind) = spell(page, place, at, rest);
    let end = at + length;
    let joined = page.tokens.last().is_some_and(|token| token.span.end as usize == at);
    let column = u32::try_from(at - place.line).unwrap_or(u32::MAX);
    let whole = page.span(at, end);
    let leads = !place.begun;
    page.tokens.push(Token { kind, span: whole, column, leads, joined, partner: None, many: false });
    place.begun = true;
    pair(page, &mut place.open);
    end
}

/// Ties the last token, if it is a bracket or a comma, to the brackets that are open.
fn pair(page: &mut Page<'_>, open: &mut Vec<usize>) {
    let last = page.tokens.len().saturating_sub(1);
    match page.tokens.last().map(|token| token.kind) {
        Some(Kind::Open | Kind::OpenBracket | Kind::OpenBrace) => open.push(last),
        Some(Kind::Comma) => mark(page, open),
        Some(Kind::Close) => close(page, open, Kind::Open, last),
        Some(Kind::CloseBracket) => close(page, open, Kind::OpenBracket, last),
        Some(Kind::CloseBrace) => close(page, open, Kind::OpenBrace, last),
        // Only braces reach past a full stop: those of a component.
        Some(Kind::Stop) => {
            while open.last().is_some_and(|at| page.token(*at).is_some_and(|t| t.kind != Kind::OpenBrace)) {
                open.pop();
            }
        }
        Some(_) | None => {}
    }
}

fn mark(page: &mut Page<'_>, open: &[usize]) {
    if let Some(token) = open.last().and_then(|at| page.tokens.get_mut(*at)) {
        token.many = true;
    }
}

fn close(page: &mut Page<'_>, open: &mut Vec<usize>, kind: Kind, last: usize) {
    let top = open.last().and_then(|at| page.tokens.get_mut(*at));
    if let Some(token) = top
        && token.kind == kind
    {
        token.partner = Some(last);
        open.pop();
    }
}

/// `token = word | number | text | symbol | "." | "#" line`
fn spell(page: &mut Page<'_>, place: &Place, at: usize, rest: &str) -> (usize, Kind) {
    let first = rest.chars().next().unwrap_or('\0');
    match first {
        '"' => texts(page, at, rest),
        '\'' => quoted(page, at, rest),
        '0'..='9' => numbers(page, at, rest),
        '.' => full_stop(page, place, at, rest),
        '#' if !place.begun => hash(rest),
        _ if starts_word(first) => (word_length(rest), Kind::Word),
        _ => match symbol(rest) {
            Ok((after, kind)) => (rest.len() - after.len(), kind),
            Err(_) => strange(page, at, rest),
        },
    }
}

/// `word = [A-Za-z_?] [A-Za-z0-9_?]*`
fn word(input: &str) -> IResult<&str, &str> {
    take_while1(continues_word).parse(input)
}

/// The length of the word that the text starts with; 0 if it starts with none.
pub(crate) fn word_length(rest: &str) -> usize {
    let begins = rest.chars().next().is_some_and(starts_word);
    word(rest).ok().filter(|_| begins).map_or(0, |(_, found)| found.len())
}

fn starts_word(letter: char) -> bool {
    letter.is_ascii_alphabetic() || matches!(letter, '_' | '?')
}

/// Whether the character may stand inside a word.
pub(crate) fn continues_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '_' | '?')
}

/// `symbol = ":-" | "<:" | "<=" | …`, the longest that fits.
fn symbol(input: &str) -> IResult<&str, Kind> {
    let double = alt((
        value(Kind::If, tag(":-")),
        value(Kind::Subtype, tag("<:")),
        value(Kind::LessOrEqual, tag("<=")),
        value(Kind::GreaterOrEqual, tag(">=")),
        value(Kind::NotEqual, tag("!=")),
        value(Kind::Equal, tag("==")),
    ));
    let bracket = alt((
        value(Kind::Open, tag("(")),
        value(Kind::Close, tag(")")),
        value(Kind::OpenBracket, tag("[")),
        value(Kind::CloseBracket, tag("]")),
        value(Kind::OpenBrace, tag("{")),
        value(Kind::CloseBrace, tag("}")),
    ));
    let mark = alt((
        value(Kind::Comma, tag(",")),
        value(Kind::Semicolon, tag(";")),
        value(Kind::Colon, tag(":")),
        value(Kind::Bar, tag("|")),
        value(Kind::Bang, tag("!")),
        value(Kind::Dollar, tag("$")),
        value(Kind::At, tag("@")),
    ));
    let operator = alt((
        value(Kind::Equal, tag("=")),
        value(Kind::Less, tag("<")),
        value(Kind::Greater, tag(">")),
        value(Kind::Plus, tag("+")),
        value(Kind::Minus, tag("-")),
        value(Kind::Star, tag("*")),
        value(Kind::Slash, tag("/")),
        value(Kind::Percent, tag("%")),
        value(Kind::Caret, tag("^")),
    ));
    alt((double, bracket, mark, operator)).parse(input)
}

fn texts(page: &mut Page<'_>, at: usize, rest: &str) -> (usize, Kind) {
    let (length, fault) = text::measure(rest);
    let finding = match fault {
        None => None,
        Some(text::Fault::Escape { offset, length }) => {
            let here = page.span(at + offset, at + offset + length);
            let message = format!("`{}` is no escape", page.slice(here));
            Some(
                Diagnostic::error("E0002", here, message)
                    .with_label("unknown escape")
                    .with_help(r#"a text knows `\"`, `\\`, `\n`, `\t` and `\r`; a backslash itself is `\\`"#),
            )
        }
        Some(text::Fault::Unterminated) => Some(
            Diagnostic::error("E0004", page.span(at, at + length), "the text is never closed")
                .with_label("no closing `\"` on this line")
                .with_help("close it with `\"`; a line end inside a text is written `\\n`"),
        ),
    };
    page.faults.extend(finding);
    (length, Kind::Text)
}

/// A text in single quotes, which is a fault; it is read to its end so that the rest of the line can be read.
fn quoted(page: &mut Page<'_>, at: usize, rest: &str) -> (usize, Kind) {
    let line = rest.get(1..line_length(rest)).unwrap_or("");
    let length = line.find('\'').map_or(1, |end| end + 2);
    let finding =
        Diagnostic::error("E0007", page.span(at, at + length), "texts do not stand in single quotes")
            .with_label("single quote")
            .with_help("put the text in double quotes: `\"…\"`");
    page.faults.push(finding);
    (length, if length > 1 { Kind::Text } else { Kind::Bad })
}

fn numbers(page: &mut Page<'_>, at: usize, rest: &str) -> (usize, Kind) {
    let (length, read) = number::read(rest);
    let here = page.span(at, at + length);
    let written = page.slice(here);
    let finding = match read {
        Ok(kind) => return (length, kind),
        Err(number::Fault::TooLarge) => {
            Diagnostic::error("E0003", here, format!("`{written}` does not fit 64 bits"))
                .with_label("too large")
                .with_help(
                    "the largest number is 9223372036854775807, the largest unsigned 18446744073709551615u",
                )
        }
        Err(number::Fault::Address) => Diagnostic::error("E0001", here, format!("`{written}` is no number"))
            .with_label("an address is no number here")
            .with_help("write the address as a text, in double quotes"),
        Err(number::Fault::Malformed) => Diagnostic::error(
            "E0001",
            here,
            format!("`{written}` is no number"),
        )
        .with_label("not a number")
        .with_help(
            "numbers look like `5`, `5u`, `0x1f`, `0b101`, `1.5` or `1e3`; a name starts with a letter",
        ),
    };
    page.faults.push(finding);
    (length, Kind::Integer(0))
}

/// A dot reads a field if a name stands directly before and behind it. Before a word that is followed by a blank
/// it starts a directive. Else it ends a statement.
fn full_stop(page: &Page<'_>, place: &Place, at: usize, rest: &str) -> (usize, Kind) {
    let after = rest.get(1..).unwrap_or("");
    let length = word_length(after);
    let last = page.tokens.last();
    let joined = last.is_some_and(|token| token.span.end as usize == at);
    if length == 0 {
        return (1, Kind::Stop);
    }
    if joined && ends_name(page) {
        return (1, Kind::Dot);
    }
    let next = after.get(length..).and_then(|tail| tail.chars().next());
    let apart = next.is_none_or(|letter| letter.is_whitespace() || matches!(letter, '"' | '/'));
    let known = after.get(..length).is_some_and(|word| DIRECTIVES.contains(&word));
    let begins = !place.begun || last.is_none_or(|token| token.kind == Kind::Stop);
    if apart && (known || begins) { (1 + length, Kind::Directive) } else { (1, Kind::Stop) }
}

/// Whether the last token is a name that fields can be read of: not a constant, nor a variant.
fn ends_name(page: &Page<'_>) -> bool {
    let last = page.tokens.len().saturating_sub(1);
    let before = last.checked_sub(1).and_then(|at| page.token(at)).map(|token| token.kind);
    page.token(last).is_some_and(|token| token.kind == Kind::Word)
        && !matches!(page.word(last), "true" | "false" | "nil")
        && !matches!(before, Some(Kind::Dollar))
}

/// `hash = "#include" | "#" until the line ends`, with lines that a backslash continues.
fn hash(rest: &str) -> (usize, Kind) {
    let word = rest.get(1..).map_or(0, word_length);
    if rest.get(1..1 + word) == Some("include") {
        return (1 + word, Kind::Include);
    }
    let mut length = line_length(rest);
    while rest.get(..length).is_some_and(|line| line.ends_with('\\')) {
        let tail = rest.get(length..).unwrap_or("");
        let Some(newline) = tail.find('\n') else { break };
        length += newline + 1 + tail.get(newline + 1..).map_or(0, line_length);
    }
    (length, Kind::Preprocessor)
}

/// Characters that begin no token, as far as they stand together.
fn strange(page: &mut Page<'_>, at: usize, rest: &str) -> (usize, Kind) {
    let first = rest.chars().next().unwrap_or('\0');
    page.faults.push(bad_character(page, at, first));
    let length = if first.is_alphanumeric() {
        let stop = |letter: char| !letter.is_alphanumeric() && !continues_word(letter);
        let word: IResult<&str, &str> = take_till(stop).parse(rest);
        word.map_or(first.len_utf8(), |(_, found)| found.len())
    } else {
        let same = |letter: char| letter == first;
        rest.find(|letter| !same(letter)).unwrap_or(rest.len())
    };
    (length.max(first.len_utf8()), Kind::Bad)
}

fn bad_character(page: &Page<'_>, at: usize, letter: char) -> Diagnostic {
    let here = page.span(at, at + letter.len_utf8());
    let code = u32::from(letter);
    let message = if letter == '\r' {
        "a carriage return without a line feed is no line end".to_owned()
    } else if letter.is_control() || letter == '\u{feff}' {
        format!("the control character U+{code:04X} may not stand here")
    } else {
        format!("`{letter}` may not stand here")
    };
    let help = match letter {
        '&' => "write `,` between conditions that all have to hold",
        '“' | '”' | '„' | '‘' | '’' | '`' => "put texts in double quotes: `\"…\"`",
        '\\' => "a backslash stands in texts only",
        '#' => "a comment starts with `//`",
        '\r' => "end lines with a line feed",
        _ if letter.is_alphabetic() => "names are made of ASCII letters, digits, `_` and `?`",
        _ => "remove it, or put it inside a text",
    };
    Diagnostic::error("E0007", here, message).with_label("bad character").with_help(help)
}
