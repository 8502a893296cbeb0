//! Texts.

use icu_casemap::CaseMapper;
use icu_normalizer::ComposingNormalizer;
use icu_normalizer::DecomposingNormalizer;
use sha2::Digest as _;
use sha2::Sha256;

use crate::functor::Cache;
use crate::functor::Parameter;
use crate::functor::call::Call;
use crate::functor::call::Entry;
use crate::functor::call::Value;
use crate::functor::call::Values;
use crate::functor::call::count;
use crate::functor::call::distinct;
use crate::functor::call::fits;
use crate::functor::call::flag;
use crate::functor::call::number;
use crate::functor::call::parameter;
use crate::functor::call::text;
use crate::functor::call::word;
use crate::value::Kind;

const TEXT: Parameter = text("text");

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("str_contains", &[TEXT, text("part")], |c, _| flag(c.text(0)?.contains(c.text(1)?)))
        .gives(Kind::Unsigned, "1 if the part stands somewhere in the text, else 0."),
    Entry::total("str_starts_with", &[TEXT, text("start")], |c, _| flag(c.text(0)?.starts_with(c.text(1)?)))
        .gives(Kind::Unsigned, "1 if the text starts so, else 0."),
    Entry::total("str_ends_with", &[TEXT, text("end")], |c, _| flag(c.text(0)?.ends_with(c.text(1)?)))
        .gives(Kind::Unsigned, "1 if the text ends so, else 0."),
    Entry::total("str_to_lower", &[TEXT], |c, _| word(c.text(0)?.to_lowercase()))
        .gives(Kind::Symbol, "The text in lower case, by Unicode."),
    Entry::total("str_len", &[TEXT], |c, _| count(c.text(0)?.len()))
        .gives(Kind::Number, "The length of the text in bytes."),
    Entry::total("str_chars", &[TEXT], |c, _| count(c.text(0)?.chars().count()))
        .gives(Kind::Number, "The number of code points of the text."),
    Entry::total("str_trim", &[TEXT], |c, _| word(c.text(0)?.trim()))
        .gives(Kind::Symbol, "The text without white space at its ends."),
    Entry::total("str_nfkc", &[TEXT], |c, _| word(nfkc(c.text(0)?)))
        .gives(Kind::Symbol, "The text in the Unicode form NFKC."),
    Entry::total("str_fold", &[TEXT], |c, _| word(fold(c.text(0)?)))
        .gives(Kind::Symbol, "The text in one form for all spellings that differ in case or compatibility form alone."),
    Entry::total("str_replace", &[TEXT, text("old"), text("new")], replace)
        .gives(Kind::Symbol, "The text with each old part replaced, from the left; an empty old part changes nothing."),
    Entry::generator("str_split", &[TEXT, text("separator")], split)
        .gives(Kind::Symbol, "Each piece between separators; an empty separator gives the text."),
    Entry::total("path_normalize", &[text("path")], |c, _| word(normalize(c.text(0)?)))
        .gives(Kind::Symbol, "The path with `.` and `..` resolved by its text alone and `\\` read as `/`."),
    Entry::total("sha256_hex", &[TEXT], |c, _| word(sha256(c.text(0)?)))
        .gives(Kind::Symbol, "The SHA-256 of the text's bytes in lower-case hexadecimal digits."),
    Entry::total("llm_check_fn", &[text("prompt"), text("context")], |_, _| number(0))
        .gives(Kind::Number, "The host's answer to a question about a text; 0 where the host gives none."),
    Entry::total("contains", &[text("part"), TEXT], |c, _| number(i64::from(c.text(1)?.contains(c.text(0)?))))
        .gives(Kind::Number, "1 if the part stands somewhere in the text, else 0.")
        .word(),
    Entry::total("cat", &[TEXT], cat).gives(Kind::Symbol, "The texts one after the other.").word().variadic(),
    Entry::total("strlen", &[TEXT], |c, _| count(c.text(0)?.len()))
        .gives(Kind::Number, "The length of the text in bytes.")
        .word(),
    Entry::total(
        "substr",
        &[TEXT, parameter("start", Kind::Number), parameter("length", Kind::Number)],
        |c, _| word(part(c.text(0)?, c.number(1)?, c.number(2)?)),
    )
    .gives(
        Kind::Symbol,
        "The characters that lie wholly within so many bytes from there on; a negative length reaches to the end, and outside the text it is `\"\"`.",
    )
    .word(),
];

/// The text in the Unicode form NFC.
pub(crate) fn composed(text: &str) -> String {
    ComposingNormalizer::new_nfc().normalize(text).into_owned()
}

/// The text in the Unicode form NFKC.
pub(crate) fn nfkc(text: &str) -> String {
    ComposingNormalizer::new_nfkc().normalize(text).into_owned()
}

/// Folds twice, because normalising can bring forth characters that fold again (Unicode's compatibility caseless
/// matching does the same).
fn fold(text: &str) -> String {
    let apart = DecomposingNormalizer::new_nfd().normalize(text);
    let mapper = CaseMapper::new();
    let once = nfkc(&mapper.fold_string(&apart));
    nfkc(&mapper.fold_string(&once))
}

fn replace(call: &Call<'_>, _: &mut Cache) -> Value {
    let (text, old, new) = (call.text(0)?, call.text(1)?, call.text(2)?);
    if old.is_empty() {
        return word(text);
    }
    if new.len() > old.len() {
        let added = (new.len() - old.len()).checked_mul(text.matches(old).count());
        fits(added.and_then(|added| added.checked_add(text.len())))?;
    }
    word(text.replace(old, new))
}

fn split(call: &Call<'_>, _: &mut Cache) -> Values {
    let (text, separator) = (call.text(0)?, call.text(1)?);
    if separator.is_empty() {
        return distinct([text]);
    }
    distinct(text.split(separator))
}

fn cat(call: &Call<'_>, _: &mut Cache) -> Value {
    let mut out = String::new();
    for place in 0..call.arguments.len() {
        let text = call.text(place)?;
        fits(out.len().checked_add(text.len()))?;
        out.push_str(text);
    }
    word(out)
}

fn part(text: &str, start: i64, length: i64) -> &str {
    let Some(mut start) = usize::try_from(start).ok().filter(|&start| start < text.len()) else {
        return "";
    };
    let mut end =
        usize::try_from(length).map_or(text.len(), |length| start.saturating_add(length).min(text.len()));
    while !text.is_char_boundary(start) {
        start += 1;
    }
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(start..end).unwrap_or("")
}

/// Lexical only: links and the file system are not known here. A relative path that leads nowhere is `.`.
fn normalize(path: &str) -> String {
    let path = path.replace('\\', "/");
    let root = if path.starts_with('/') { "/" } else { "" };
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." if kept.last().is_some_and(|&last| last != "..") => {
                kept.pop();
            }
            other => kept.push(other),
        }
    }
    if kept.is_empty() && root.is_empty() && !path.is_empty() {
        return ".".to_owned();
    }
    format!("{root}{}", kept.join("/"))
}

fn sha256(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::new();
    for byte in Sha256::digest(text.as_bytes()) {
        // Writing to a String cannot fail.
        let _ = write!(out, "{byte:02x}");
    }
    out
}
