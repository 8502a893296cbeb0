//! Regular expressions and globs.

use regex::Regex;
use regex::RegexBuilder;

use crate::functor::Cache;
use crate::functor::Output;
use crate::functor::Role;
use crate::functor::call::Call;
use crate::functor::call::Entry;
use crate::functor::call::Value;
use crate::functor::call::Values;
use crate::functor::call::checked;
use crate::functor::call::distinct;
use crate::functor::call::flag;
use crate::functor::call::number;
use crate::functor::call::parameter;
use crate::functor::call::text;
use crate::functor::call::word;
use crate::value::Kind;

/// How a pattern is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// A regular expression for the whole text.
    Whole,
    /// A regular expression for any part of the text.
    Anywhere,
    /// A glob for the whole text.
    Glob,
}

/// A compiled pattern, or why it is none.
pub(crate) type Pattern = Result<Regex, String>;

/// A pattern text longer than this is refused unread.
const LONGEST: usize = 64 << 10;
/// Within so many bytes every glob and every text of plain characters fits the limits below.
const SHORT: usize = 256;
/// Sizes that are tried, smallest first, so that it is known about how much memory a pattern takes: in bytes, of the
/// compiled pattern and of what matching may keep. The last one is the limit.
const SIZES: [(usize, usize); 3] = [(64 << 10, 256 << 10), (512 << 10, 1 << 20), (4 << 20, 2 << 20)];

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("match", &[checked("pattern", Role::Pattern), text("text")], whole)
        .gives(Kind::Number, "1 if the pattern covers the whole text, else 0.")
        .word()
        .fallible(),
    Entry::total("regex_is_match", &[checked("pattern", Role::Pattern), text("text")], is_match)
        .gives(Kind::Unsigned, "1 if the pattern is found anywhere in the text, else 0.")
        .fallible(),
    Entry::partial("regex_find", &[checked("pattern", Role::Pattern), text("text")], find)
        .gives(Kind::Symbol, "The first part of the text that the pattern covers; no value if there is none.")
        .fallible(),
    Entry::generator(
        "regex_captures",
        &[checked("pattern", Role::Pattern), text("text"), parameter("group", Kind::Unsigned)],
        captures,
    )
    .gives(Kind::Symbol, "What the group holds in each place where the pattern is found; group 0 is the whole.")
    .fallible(),
    Entry::total("glob_match", &[checked("glob", Role::Glob), text("text")], glob_match)
        .gives(
            Kind::Unsigned,
            "1 if the glob covers the whole text, else 0: `*` and `?` do not cross `/`, `**` does, and `**/` may be empty.",
        )
        .fallible(),
];

/// Compiles a pattern, and says about how many bytes it takes. Patterns and their memory are bounded, and matching
/// takes time linear in the text.
pub(crate) fn compile(form: Form, text: &str) -> (Pattern, usize) {
    let small = 128 + text.len();
    if text.len() > LONGEST {
        return (Err(format!("it is longer than {LONGEST} bytes")), small);
    }
    let (result, size) = match form {
        Form::Anywhere => build(text),
        Form::Glob => build(&glob(text)),
        Form::Whole => build_whole(text),
    };
    match result {
        Ok(regex) => (Ok(regex), small + size),
        Err(why) => (Err(why), small),
    }
}

/// `\A(?:PATTERN)\z`, for patterns that stand alone: otherwise `a)|(b` would break out of the group.
fn build_whole(text: &str) -> (Pattern, usize) {
    let alone = build(text);
    if alone.0.is_err() {
        return alone;
    }
    let whole = build(&format!(r"\A(?:{text})\z"));
    if whole.0.is_ok() {
        return whole;
    }
    // A pattern in the free form may end in a comment, which must not swallow our closing bracket.
    let ended = build(&format!("\\A(?:{text}\n)\\z"));
    if ended.0.is_ok() { ended } else { whole }
}

fn build(text: &str) -> (Pattern, usize) {
    let mut why = String::new();
    for (size, scratch) in SIZES {
        match RegexBuilder::new(text).size_limit(size).dfa_size_limit(scratch).nest_limit(100).build() {
            Ok(regex) => return (Ok(regex), size + scratch),
            Err(regex::Error::CompiledTooBig(_)) => {
                why = format!("compiled, it takes more than {size} bytes");
            }
            Err(error) => {
                // The crate draws the place over several lines; its last line says what is wrong.
                let words = error.to_string();
                let last = words.lines().next_back().unwrap_or("");
                return (Err(last.strip_prefix("error: ").unwrap_or(last).to_owned()), 0);
            }
        }
    }
    (Err(why), 0)
}

/// The regular expression of a glob. Every text is a glob; only `*` and `?` mean something.
fn glob(text: &str) -> String {
    let mut out = String::from(r"(?s)\A");
    let mut rest = text;
    let mut at_start = true;
    while let Some(c) = rest.chars().next() {
        let tail = rest.get(c.len_utf8()..).unwrap_or("");
        let after_stars = rest.trim_start_matches('*');
        let stars = rest.len() - after_stars.len();
        if stars >= 2 {
            match after_stars.strip_prefix('/').filter(|_| at_start) {
                Some(below) => {
                    out.push_str("(?:.*/)?");
                    rest = below;
                    continue;
                }
                None => out.push_str(".*"),
            }
            rest = after_stars;
            at_start = false;
            continue;
        }
        match c {
            '*' => out.push_str("[^/]*"),
            '?' => out.push_str("[^/]"),
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
        at_start = c == '/';
        rest = tail;
    }
    out.push_str(r"\z");
    out
}

/// What is wrong with a regular expression, for the whole text and for any part. Compiling is dear, so what is certain
/// without is not compiled.
pub(crate) fn check(text: &str) -> Result<(), String> {
    if is_plain(text) { Ok(()) } else { compile(Form::Whole, text).0.map(|_| ()) }
}

/// What is wrong with a glob. Every text is one, unless it is too long for what a pattern may take.
pub(crate) fn check_glob(text: &str) -> Result<(), String> {
    if text.len() <= SHORT { Ok(()) } else { compile(Form::Glob, text).0.map(|_| ()) }
}

/// Whether the text is a short regular expression that matches itself alone.
pub(crate) fn is_plain(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_/:, ".contains(&byte);
    text.len() <= SHORT && text.bytes().all(is_plain)
}

fn whole(call: &Call<'_>, cache: &mut Cache) -> Value {
    let regex = cache.pattern(Form::Whole, call.text(0)?)?;
    number(i64::from(regex.is_match(call.text(1)?)))
}

fn is_match(call: &Call<'_>, cache: &mut Cache) -> Value {
    let regex = cache.pattern(Form::Anywhere, call.text(0)?)?;
    flag(regex.is_match(call.text(1)?))
}

fn glob_match(call: &Call<'_>, cache: &mut Cache) -> Value {
    let regex = cache.pattern(Form::Glob, call.text(0)?)?;
    flag(regex.is_match(call.text(1)?))
}

fn find(call: &Call<'_>, cache: &mut Cache) -> Value {
    let regex = cache.pattern(Form::Anywhere, call.text(0)?)?;
    match regex.find(call.text(1)?) {
        Some(found) => word(found.as_str()),
        None => Ok(None),
    }
}

/// Each search is linear in the rest of the text, and there are as many as there are places found.
fn captures(call: &Call<'_>, cache: &mut Cache) -> Values {
    let regex = cache.pattern(Form::Anywhere, call.text(0)?)?;
    let text = call.text(1)?;
    match usize::try_from(call.unsigned(2)?) {
        Ok(0) => distinct(regex.find_iter(text).map(|found| found.as_str())),
        Ok(group) if group < regex.captures_len() => {
            distinct(regex.captures_iter(text).filter_map(|found| found.get(group)).map(|part| part.as_str()))
        }
        Ok(_) | Err(_) => Ok(Vec::<Output>::new()),
    }
}
