//! URLs, and what of them stands in a text.

use url::Host;
use url::Url;

use crate::functor::Parameter;
use crate::functor::call::Entry;
use crate::functor::call::count;
use crate::functor::call::distinct;
use crate::functor::call::number;
use crate::functor::call::text;
use crate::functor::call::word;
use crate::functor::host;
use crate::value::Kind;

const URL: Parameter = text("url");
const TEXT: Parameter = text("text");

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("url_host", &[URL], |c, _| word(host_of(c.text(0)?)))
        .gives(Kind::Symbol, "The host in lower-case ASCII, without port, brackets and trailing dot; `\"\"` without a host."),
    Entry::total("url_scheme", &[URL], |c, _| word(read(c.text(0)?).map_or(String::new(), |url| url.scheme().to_owned())))
        .gives(Kind::Symbol, "The scheme in lower case, `https` where none is written; `\"\"` for what is no URL."),
    Entry::total("url_port", &[URL], |c, _| number(read(c.text(0)?).and_then(|url| url.port()).map_or(-1, i64::from)))
        .gives(Kind::Number, "The port if it is written and not the scheme's own; else -1."),
    Entry::total("url_path", &[URL], |c, _| word(read(c.text(0)?).map_or(String::new(), |url| url.path().to_owned())))
        .gives(Kind::Symbol, "The path, dots resolved; `\"\"` for what is no URL."),
    Entry::total("registrable_domain", &[TEXT], |c, _| word(registrable(c.text(0)?))).gives(
        Kind::Symbol,
        "The registrable domain of the first URL or host in the text, by the public suffix list; `\"\"` if it has none.",
    ),
    Entry::total("count_urls", &[TEXT], |c, _| count(urls(c.text(0)?).len()))
        .gives(Kind::Number, "The number of URLs with `://` in the text."),
    Entry::generator("urls_in", &[TEXT], |c, _| distinct(urls(c.text(0)?).into_iter().map(|(_, url)| url)))
        .gives(Kind::Symbol, "Each URL with `://` in the text, as written."),
    Entry::total("email_domain", &[text("address")], |c, _| word(email_domain(c.text(0)?))).gives(
        Kind::Symbol,
        "The domain of a mail address, with or without a name before `<…>`; `\"\"` unless it is exactly one address.",
    ),
];

/// Schemes that the URL standard reads with a host whether or not `//` follows, and `file`.
const SPECIAL: [&str; 6] = ["http", "https", "ws", "wss", "ftp", "file"];
/// Schemes that never have a host, whatever follows.
const HOSTLESS: [&str; 8] = ["mailto", "data", "javascript", "tel", "blob", "about", "urn", "cid"];

/// Reads a URL as a browser does. What starts with neither `scheme://` nor a scheme of those above is read as
/// `https://` and the text, so that `localhost:80` is a host with a port.
fn read(text: &str) -> Option<Url> {
    // The standard drops these as well, and what drops them must not hide a scheme from us.
    let text: String = text.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let text = text.trim_matches(|c: char| c <= ' ');
    if text.is_empty() {
        return None;
    }
    let is_whole = text.split_once(':').is_some_and(|(scheme, rest)| {
        let known = |list: &[&str]| list.iter().any(|known| known.eq_ignore_ascii_case(scheme));
        is_scheme(scheme) && (rest.starts_with("//") || known(&SPECIAL) || known(&HOSTLESS))
    });
    if is_whole { Url::parse(text).ok() } else { Url::parse(&format!("https://{text}")).ok() }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.bytes().all(is_scheme_byte)
}

fn is_scheme_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// The host of a URL; empty without one.
pub(crate) fn host_of(text: &str) -> String {
    read(text).map_or(String::new(), |url| host_text(&url))
}

fn host_text(url: &Url) -> String {
    if HOSTLESS.contains(&url.scheme()) {
        return String::new();
    }
    let host = match url.host() {
        // For other schemes the standard keeps a host as it is written, and a client will still look it up.
        Some(Host::Domain(name)) => {
            host::read(name).unwrap_or_else(|| Host::Domain(name.trim_end_matches('.').to_lowercase()))
        }
        Some(Host::Ipv4(address)) => Host::Ipv4(address),
        Some(Host::Ipv6(address)) => Host::Ipv6(address),
        None => return String::new(),
    };
    let text = host.to_string();
    text.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')).map_or(text.clone(), str::to_owned)
}

/// The URLs in a text, in order and with where each starts: a scheme, `://`, and what follows up to a blank, a quote, an angle or an unmatched
/// closing bracket, without the punctuation at its end.
fn urls(text: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut from = 0;
    while let Some(colon) = text.get(from..).and_then(|rest| rest.find("://")).map(|at| from + at) {
        let Some(start) = scheme_start(text, from, colon) else {
            from = colon + 3;
            continue;
        };
        let tail = text.get(colon + 3..).unwrap_or("");
        let end = colon + 3 + extent(tail);
        from = end.max(colon + 3);
        let url = text.get(start..end).unwrap_or("");
        if end > colon + 3 && Url::parse(url).is_ok() {
            out.push((start, url));
        }
    }
    out
}

/// Where the scheme before the colon starts, no earlier than `from`.
fn scheme_start(text: &str, from: usize, colon: usize) -> Option<usize> {
    let before = text.get(from..colon)?;
    let run = before.bytes().rev().take_while(|&b| is_scheme_byte(b)).count();
    let run = before.get(before.len() - run..)?;
    let skipped = run.find(|c: char| c.is_ascii_alphabetic())?;
    Some(colon - run.len() + skipped)
}

/// How far the URL goes whose scheme has been read.
fn extent(tail: &str) -> usize {
    let mut open = Vec::new();
    let mut end = tail.len();
    for (at, c) in tail.char_indices() {
        let stops = match c {
            '<' | '>' | '"' | '`' | '{' | '}' | '|' | '^' => true,
            '(' | '[' => {
                open.push(c);
                false
            }
            ')' => open.pop() != Some('('),
            ']' => open.pop() != Some('['),
            ',' | ';' => starts_url(tail.get(at + 1..).unwrap_or("")),
            c => c.is_whitespace() || c.is_control(),
        };
        if stops {
            end = at;
            break;
        }
    }
    let is_punctuation = |c: char| ".,;:!?'*_~([。、，；：！？」』）】》…’”".contains(c);
    tail.get(..end).unwrap_or("").trim_end_matches(is_punctuation).len()
}

/// Whether the text goes on with a URL of its own. Schemes are short; so is the look.
fn starts_url(text: &str) -> bool {
    let run = text.bytes().take(32).take_while(|&b| is_scheme_byte(b)).count();
    text.get(..run).is_some_and(is_scheme) && text.get(run..).is_some_and(|rest| rest.starts_with("://"))
}

/// The registrable domain of the first URL, or host, in the text. A word within a text is a host if it ends in a
/// suffix that the list knows; a text of one word is always read as a host.
fn registrable(text: &str) -> String {
    let text = text.trim();
    let first_url = urls(text).first().map(|&(at, url)| (at, host_of(url)));
    let first = match (first_url, text.contains(is_between_words)) {
        (Some(url), false) => Some(url),
        (None, false) => Some((0, host_of(text))),
        (Some(url), true) => Some(first_host(text).map_or(url.clone(), |host| host.min(url))),
        (None, true) => first_host(text),
    };
    first.and_then(|(_, host)| domain_of(&host)).unwrap_or_default()
}

/// The first word of the text that is a host by itself, and where it starts.
fn first_host(text: &str) -> Option<(usize, String)> {
    let mut at = 0;
    for piece in text.split_inclusive(is_between_words) {
        let word = piece.trim_end_matches(is_between_words);
        if word.contains('.') && !word.contains("://") {
            let host = host_of(word);
            if is_listed(&host) {
                return Some((at, host));
            }
        }
        at += piece.len();
    }
    None
}

fn is_between_words(c: char) -> bool {
    c.is_whitespace() || c.is_control() || "<>\"'`()[]{},;|".contains(c)
}

fn is_listed(host: &str) -> bool {
    is_name(host) && psl::suffix(host.as_bytes()).is_some_and(|suffix| suffix.is_known())
}

fn is_name(host: &str) -> bool {
    matches!(host::read(host), Some(Host::Domain(_)))
}

fn domain_of(host: &str) -> Option<String> {
    if is_name(host) { psl::domain_str(host).map(str::to_owned) } else { None }
}

/// `address = local "@" domain | name "<" local "@" domain ">"`
fn email_domain(text: &str) -> String {
    let text = text.trim();
    let address = match text.strip_suffix('>').map(|rest| rest.split_once('<')) {
        Some(Some((name, address))) if !name.contains(['@', '<', '>', ',', ';', ':', '\n', '\r']) => address,
        Some(_) => return String::new(),
        None => text,
    };
    let Some((local, domain)) = address.split_once('@') else { return String::new() };
    let is_local_part = !local.is_empty()
        && local.split('.').all(|atom| !atom.is_empty() && atom.chars().all(is_atom_character));
    let is_plain = domain.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    match host::read(domain) {
        Some(Host::Domain(name)) if is_local_part && is_plain && !domain.starts_with('.') => name,
        _ => String::new(),
    }
}

fn is_atom_character(c: char) -> bool {
    c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~".contains(c)
}
