use std::panic::AssertUnwindSafe;
use std::panic::catch_unwind;

use crate::functor::command::inert;
use crate::functor::command::launch;
use crate::functor::command::program_name;
use crate::functor::command::walk::Walk;
use crate::functor::command::word::HOLE;
use crate::functor::command::word::Word;

/// Bytes of a command that is read at all; a longer one is doubted.
const MAX_COMMAND: usize = 8 << 10;
/// Bytes that are read for one command, with the texts for shells that stand in it.
const MAX_READ: usize = 16 << 10;
/// Bytes that the values of followed variables may add.
const MAX_FILLED: usize = 64 << 10;
/// Programs that one command may start before it is doubted.
const MAX_RUNS: usize = 8 << 10;
/// Words of all programs together; wrappers in a row repeat those behind them.
const MAX_WORDS: usize = 64 << 10;
/// How deep texts for shells, wrappers and blocks may nest.
const MAX_DEPTH: usize = 24;
/// Opening braces in one text. The grammar tries each against all that follows.
const MAX_BRACES: usize = 128;
/// `((` in one text, those that overlap too.
const MAX_ARITHMETIC: usize = 5;
/// Brackets in one text in which more than a name or a number stands.
const MAX_SUBSCRIPTS: usize = 2;
/// The same, times the bytes of the text.
const MAX_SUBSCRIPTED: usize = 4 << 10;
/// Substitutions in one text, times its bytes: what is deep has to be short.
const MAX_SUBSTITUTED: usize = 48 << 10;
/// `${` in one text with more than a name.
const MAX_PARAMETERS: usize = 24;
/// Opening brackets, backquotes and compound commands in one text.
const MAX_OPENERS: usize = 512;

/// A program that a command starts.
#[derive(Debug)]
pub(super) struct Run {
    /// As [`program_name`] gives it.
    pub(super) program: String,
    pub(super) arguments: Vec<Word>,
}

/// What a command runs, and how far that is known.
// Invariant: where `doubt` is unset, every program that the text starts by name is in `runs`.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    runs: Vec<Run>,
    words: usize,
    doubt: bool,
    hidden: bool,
    /// A text stands in it that runs commands where the shell evaluates it.
    is_laden: bool,
    /// The shell evaluates values in it.
    evaluates: bool,
    read: usize,
    filled: usize,
    depth: usize,
}

impl Reading {
    /// Reads a command.
    pub(crate) fn of(command: &str) -> Self {
        let command = command.replace("\r\n", "\n");
        // The grammar is not ours. A fault in it is no answer, so the command is doubted like one that it refuses. What
        // would overflow the stack cannot be caught, and is refused before.
        let read = catch_unwind(AssertUnwindSafe(|| {
            let mut reading = Self::default();
            reading.text(&command);
            if reading.is_laden && reading.evaluates {
                reading.hide();
            }
            reading
        }));
        read.unwrap_or_else(|_| Self { doubt: true, hidden: true, ..Self::default() })
    }

    pub(super) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Whether it may start programs that are not in the list.
    pub(super) fn is_doubtful(&self) -> bool {
        self.doubt
    }

    /// Whether it hides what it runs.
    pub(super) fn hides(&self) -> bool {
        self.hidden
    }

    /// Bytes that it takes, about.
    pub(crate) fn weight(&self) -> usize {
        let word = |word: &Word| size_of::<Word>() + 16 + word.text.len();
        let run = |run: &Run| size_of::<Run>() + 48 + run.arguments.iter().map(word).sum::<usize>();
        size_of::<Self>() + self.runs.iter().map(run).sum::<usize>()
    }

    pub(super) fn runs_program(&self, program: &str) -> bool {
        self.runs.iter().any(|run| run.program == program)
    }

    /// Whether a program of which it is not known what it starts is given that one.
    pub(super) fn may_run_program(&self, program: &str) -> bool {
        self.given(program).next().is_some()
    }

    /// What stands behind the program's name, where it is given to one of which it is not known what it starts.
    pub(super) fn given(&self, program: &str) -> impl Iterator<Item = &[Word]> {
        let unknown = self.runs.iter().filter(|run| !inert::is_inert(&run.program));
        unknown.flat_map(move |run| {
            let is_given = move |(_, word): &(usize, &Word)| is_call(&word.text, program);
            let places = run.arguments.iter().enumerate().filter(is_given).take(MAX_GIVEN);
            places.map(|(place, _)| run.arguments.get(place + 1..).unwrap_or_default())
        })
    }

    pub(super) fn runs_sub(&self, program: &str, subcommand: &[&str]) -> bool {
        let has = |arguments: &[Word]| launch::has_subcommand(program, arguments, subcommand);
        self.runs.iter().filter(|run| run.program == program).any(|run| has(&run.arguments))
    }

    pub(super) fn may_run_sub(&self, program: &str, subcommand: &[&str]) -> bool {
        let has = |arguments: &[Word]| launch::has_subcommand(program, arguments, subcommand);
        let has_text = |word: &Word| is_call(&word.text, program) && word.text.contains(char::is_whitespace);
        let mut unknown = self.runs.iter().filter(|run| !inert::is_inert(&run.program));
        self.given(program).any(has) || unknown.any(|run| run.arguments.iter().any(has_text))
    }

    /// More may run than is listed.
    pub(super) fn doubt(&mut self) {
        self.doubt = true;
    }

    /// Code of which not all is shown, or that starts what is not listed.
    pub(super) fn hide(&mut self) {
        self.doubt = true;
        self.hidden = true;
    }

    /// Something in the text deceives its reader.
    pub(super) fn deceive(&mut self) {
        self.hidden = true;
    }

    /// Takes note of a text that is a value now and may be evaluated later, as arithmetic, a subscript or a prompt.
    pub(super) fn load(&mut self, text: &str) {
        let is_escape = |rest: &str| rest.starts_with(['x', 'u', '0', '4', '1']);
        self.is_laden |= text.contains(['`'])
            || text.ends_with('$')
            || ["$(", "${", "$["].iter().any(|opener| text.contains(opener))
            || openings(text, "\\").any(is_escape);
    }

    /// Takes note that the shell evaluates values here.
    pub(super) fn evaluate(&mut self) {
        self.evaluates = true;
    }

    /// Lists a program.
    pub(super) fn start(&mut self, name: &str, arguments: &[Word]) {
        self.words += arguments.len();
        if self.runs.len() >= MAX_RUNS || self.words > MAX_WORDS {
            self.doubt();
            return;
        }
        self.runs.push(Run { program: program_name(name), arguments: arguments.to_vec() });
    }

    /// Takes that many bytes for the value of a variable, if they are left.
    pub(super) fn fill(&mut self, bytes: usize) -> bool {
        self.filled = self.filled.saturating_add(bytes);
        self.filled <= MAX_FILLED
    }

    /// Goes one level down, or doubts what is there.
    pub(super) fn deeper(&mut self, read: impl FnOnce(&mut Self)) {
        if self.enter() {
            read(self);
            self.leave();
        }
    }

    /// Goes one level down, if there is one; [`Self::leave`] comes back.
    pub(super) fn enter(&mut self) -> bool {
        if self.depth >= MAX_DEPTH {
            self.hide();
            return false;
        }
        self.depth += 1;
        true
    }

    pub(super) fn leave(&mut self) {
        self.depth = self.depth.saturating_sub(1);
    }

    /// Reads a text that a shell takes as commands.
    pub(super) fn text(&mut self, text: &str) {
        self.read = self.read.saturating_add(text.len());
        let is_refused = text.len() > MAX_COMMAND || self.read > MAX_READ;
        if is_refused || !is_readable(text) || has_odd_delimiter(text) || has_odd_arithmetic(text) {
            self.hide();
            return;
        }
        self.deeper(|reading| Walk::over(text, reading));
    }
}

/// Whether a word is the program's name, or a text that begins with it.
fn is_call(word: &str, program: &str) -> bool {
    let value =
        if word.starts_with('-') { word.split_once('=').map_or("", |(_, value)| value) } else { word };
    let first = value.split_whitespace().next().unwrap_or_default();
    !first.is_empty() && program_name(first) == program
}

/// Words that open a command within a command.
const COMPOUNDS: &[&str] = &["if", "while", "until", "for", "case", "select", "time", "coproc"];

/// Those of them that need no end, so that any number of them may stand before one command.
const PREFIXES: &[&str] = &["time", "coproc"];

/// Places in one command where a name is looked at as that of a program.
const MAX_GIVEN: usize = 64;

/// Most of [`PREFIXES`] in a text.
const MAX_PREFIXES: usize = 24;

/// Most of `coproc` in a text, each of which takes more of the stack.
const MAX_COPROCS: usize = 6;

/// Whether the grammar can be trusted with the text, in time and in meaning. It tries again at every level of what is
/// counted here, so that the time grows much faster than the text.
fn is_readable(text: &str) -> bool {
    // A line end behind a backslash parts nothing, so a word may stand on two lines.
    let text: &str = &text.replace("\\\n", "");
    let count = |wanted: &[u8]| text.bytes().filter(|b| wanted.contains(b)).count();
    let words = || text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '!');
    let compounds = words().filter(|word| COMPOUNDS.contains(word) || word.starts_with('!')).count();
    // The parser goes down its own stack for each of these, and stops for none.
    if words().filter(|word| PREFIXES.contains(word) || word.starts_with('!')).count() > MAX_PREFIXES {
        return false;
    }
    if words().filter(|word| *word == "coproc").count() > MAX_COPROCS {
        return false;
    }
    let arithmetic = text.as_bytes().windows(2).filter(|pair| pair == b"((").count();
    let substitutions =
        ["$(", "<(", ">(", "`"].iter().map(|opener| text.matches(opener).count()).sum::<usize>();
    count(b"{") <= MAX_BRACES
        && count(b"([`") + compounds <= MAX_OPENERS
        && is_within(substitutions, MAX_OPENERS, MAX_SUBSTITUTED, text)
        && arithmetic <= MAX_ARITHMETIC
        && is_within(subscripts(text), MAX_SUBSCRIPTS, MAX_SUBSCRIPTED, text)
        && openings(text, "${").filter(|rest| !closes(rest, '}')).count() <= MAX_PARAMETERS
        && !text.contains([HOLE, '\r'])
}

/// Where quoted text stands that is surely data: up to the first place at which quotes may mean something else.
fn quoted(text: &str) -> Vec<std::ops::Range<usize>> {
    let mut out = Vec::new();
    let mut open = None;
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match (open, c) {
            (Some((start, '\'')), '\'') | (Some((start, '"')), '"') => {
                out.push(start..at);
                open = None;
            }
            (Some((_, '\'')), _) => {}
            (_, '$' | '`') | (None, '#' | '<') => return out,
            (_, '\\') => {
                chars.next();
            }
            (None, '\'' | '"') => open = Some((at, c)),
            _ => {}
        }
    }
    out
}

/// Whether a here-document may end elsewhere than the grammar says: its delimiter stands on several lines, or holds what
/// the shell and the grammar read differently.
fn has_odd_delimiter(text: &str) -> bool {
    let data = quoted(text);
    text.match_indices("<<").filter(|(at, _)| !data.iter().any(|range| range.contains(at))).any(|(at, _)| {
        let rest = text.get(at + 2..).unwrap_or_default();
        let rest = rest.strip_prefix('-').unwrap_or(rest).trim_start_matches([' ', '\t']);
        let mut quote = None;
        let mut chars = rest.chars();
        while let Some(c) = chars.next() {
            match (quote, c) {
                (Some(_), '\n' | '\t') => return true,
                (Some(open), _) if open == c => quote = None,
                (None, '\'' | '"') => quote = Some(c),
                (None | Some('"'), '\\') => match chars.next() {
                    Some('\n' | '\t') | None => return true,
                    Some(_) => {}
                },
                (None, '$' | '`') => return !rest.starts_with(['$', '`']),
                (None, _) if c.is_whitespace() || "<>|&;()".contains(c) => return false,
                _ => {}
            }
        }
        false
    })
}

/// Whether the shell may take for commands what the grammar takes for arithmetic: where the brackets of `((` do not close
/// together, or more than names, numbers, signs and substitutions stands between.
fn has_odd_arithmetic(text: &str) -> bool {
    let text: &str = &text.replace("\\\n", "");
    let data = quoted(text);
    text.match_indices("((").filter(|(at, _)| !data.iter().any(|range| range.contains(at))).any(|(at, _)| {
        let (before, from) = text.split_at_checked(at).unwrap_or_default();
        let before = before.trim_end_matches([' ', '\t']);
        // Elsewhere it is data, or two lists of commands.
        let is_place = before.is_empty() || before.ends_with(['$', '\n', ';', '|', '&', '(', '{', '!', '`']);
        let is_word = ["do", "then", "else", "elif", "if", "while", "until", "for", "time"];
        let is_place = is_place || is_word.iter().any(|word| before.ends_with(word));
        is_place && !is_arithmetic(from.get(2..).unwrap_or_default())
    })
}

/// Whether arithmetic up to `))` stands first in the text.
fn is_arithmetic(text: &str) -> bool {
    let mut depth = 0_usize;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '(' => depth += 1,
            ')' if depth == 0 => return chars.peek() == Some(&')'),
            ')' => depth -= 1,
            _ if c.is_alphanumeric() || c.is_whitespace() || "_+-*/%<>=!&|^~?:,;$#{}[]@.".contains(c) => {}
            _ => return false,
        }
    }
    false
}

/// Whether there are few enough of something, by themselves and for the length of the text.
fn is_within(count: usize, most: usize, most_by_length: usize, text: &str) -> bool {
    count <= most && count.saturating_mul(text.len()) <= most_by_length
}

/// Brackets that may be subscripts with more than a name or a number in them; `[ … ]` and `[[ … ]]` are none.
fn subscripts(text: &str) -> usize {
    let is_subscript = |at: usize| {
        let (before, from) = text.split_at_checked(at).unwrap_or_default();
        let is_joined = before.trim_end_matches('[').ends_with(|c: char| {
            c.is_alphanumeric() || matches!(c, '_' | '$' | ']' | '}' | '\\' | '"' | '\'')
        });
        let is_test = !is_joined && from.trim_start_matches('[').starts_with([' ', '\t', '\n']);
        !is_test && !closes(from.get(1..).unwrap_or_default(), ']')
    };
    text.match_indices('[').filter(|(at, _)| is_subscript(*at)).count()
}

/// What stands behind each opening.
fn openings<'a>(text: &'a str, opening: &'a str) -> impl Iterator<Item = &'a str> {
    text.match_indices(opening).filter_map(move |(at, _)| text.get(at + opening.len()..))
}

/// Whether nothing but a name, a number, a range or a list of signs stands before the closing sign.
fn closes(rest: &str, closing: char) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@*^!:-+.,/=~#%".contains(c);
    rest.trim_start_matches([' ']).trim_start_matches(plain).trim_start_matches([' ']).starts_with(closing)
}
