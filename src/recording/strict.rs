//! The strict reading of one stretch of a file, with the place of the fault in the file.

use crate::json::{self, Fault, FaultKind, Json};
use crate::recording::StopKind;
use crate::recording::fields::{Wrong, shown};
use crate::recording::scan::Span;

/// Why a stretch of bytes is no strict JSON.
#[derive(Debug)]
pub(crate) struct Flaw {
    pub(crate) kind: StopKind,
    /// The byte in the file.
    pub(crate) at: usize,
    /// The key, where one stands there twice.
    pub(crate) twice: Option<String>,
    words: String,
    path: Vec<String>,
}

/// Reads a stretch of bytes as strict JSON. Of several faults it is the first that counts.
pub(crate) fn parse(bytes: &[u8], span: Span) -> Result<Json, Flaw> {
    let own = span.of(bytes);
    let error = match std::str::from_utf8(own) {
        Ok(text) => return json::parse(text).map_err(|fault| Flaw::new(fault, span.start)),
        Err(error) => error.valid_up_to(),
    };
    let text = own.get(..error).and_then(|text| std::str::from_utf8(text).ok()).unwrap_or_default();
    let path = match json::parse(text) {
        Err(fault) if fault.at < error => return Err(Flaw::new(fault, span.start)),
        Err(fault) => fault.path,
        Ok(_) => Vec::new(),
    };
    let at = span.start + error;
    let words = "the bytes are not UTF-8".to_owned();
    Err(Flaw { kind: StopKind::BadUnicode, at, twice: None, words, path })
}

/// Reads a stretch of bytes as strict JSON with `list`, which lies in it, taken as empty.
pub(crate) fn parse_around(bytes: &[u8], whole: Span, list: Span) -> Result<Json, Flaw> {
    let piece = |start, end| bytes.get(start..end).unwrap_or_default();
    let hollow = [piece(whole.start, list.start), b"[]", piece(list.end, whole.end)].concat();
    parse(&hollow, Span { start: 0, end: hollow.len() }).map_err(|mut flaw| {
        let cut = (list.end - list.start).saturating_sub(2);
        let behind = whole.start + flaw.at >= list.start;
        flaw.at += whole.start + if behind { cut } else { 0 };
        flaw
    })
}

impl Flaw {
    fn new(fault: Fault, start: usize) -> Self {
        let words = shown(&fault.kind.to_string());
        let (kind, twice) = match fault.kind {
            FaultKind::Syntax { .. } => (StopKind::BadJson, None),
            FaultKind::NotFinite { .. } => (StopKind::BadNumber, None),
            FaultKind::DuplicateKey { key } => (StopKind::DuplicateKey, Some(key)),
            FaultKind::UnpairedSurrogate => (StopKind::BadUnicode, None),
            FaultKind::TooDeep => (StopKind::TooDeep, None),
        };
        Self { kind, at: start + fault.at, twice, words, path: fault.path }
    }

    /// A comma or the end of the list was expected between two events.
    pub(crate) fn unseparated(at: usize) -> Self {
        let words = "not JSON: expected `,` or `]`".to_owned();
        Self { kind: StopKind::BadJson, at, twice: None, words, path: Vec::new() }
    }

    /// The fault in words, with its path and its byte.
    pub(crate) fn wrong(&self) -> Wrong {
        let mut text = String::new();
        if !self.path.is_empty() {
            text = format!("`{}`: ", path_text(&self.path));
        }
        text.push_str(&format!("{} at byte {}", self.words, self.at));
        Wrong { kind: self.kind, part: part_of(&self.path), text }
    }
}

/// A path in words, `content.parts[0].functionCall.args`, with its middle left out where it is long.
fn path_text(path: &[String]) -> String {
    const SHOWN: usize = 12;
    let mut text = String::new();
    for step in path.iter().take(SHOWN) {
        if !text.is_empty() && !step.starts_with('[') {
            text.push('.');
        }
        text.push_str(&shown(step));
    }
    if path.len() > SHOWN {
        text.push('…');
    }
    text
}

fn part_of(path: &[String]) -> Option<usize> {
    match path {
        [content, parts, index, ..] if content == "content" && parts == "parts" => {
            index.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
        }
        _ => None,
    }
}
