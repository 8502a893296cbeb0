//! The calls after a fault, as far as they can still be made out.
//!
//! Nothing that is found here is judged: each of these calls is listed as denied. So the reading is lenient, and looks at
//! keys and brackets alone.

use std::collections::BTreeMap;

use crate::json;
use crate::recording::fields::camel;
use crate::recording::mixed;
use crate::recording::reading::Dialect;
use crate::recording::scan::{self, Slot, Span};
use crate::recording::{UnreadCall, is_request};

/// Depth, inside an event, of the keys of a part: event, content, parts, part.
const PART_DEPTH: usize = 4;

/// What can be made out of one event.
#[derive(Debug, Default)]
pub(crate) struct Skimmed {
    /// Its number.
    pub(crate) index: usize,
    /// Its id; empty where there is none.
    pub(crate) id: String,
    author: String,
    /// What it says of being a piece of a stream: where it says it twice, it counts as none.
    partial: Option<bool>,
    content: bool,
    calls: Vec<UnreadCall>,
}

/// The events of the slots, the first of which has the number `first`.
pub(crate) fn events(bytes: &[u8], slots: &[Slot], first: usize, dialect: Dialect) -> Vec<Skimmed> {
    let mut events: Vec<Skimmed> = Vec::new();
    for slot in slots {
        let index = events.last().map_or(first, |event| event.index + 1);
        let mut skim = Skim::new(bytes, *slot, index, dialect);
        skim.run();
        events.append(&mut skim.events);
        for inner in nested(bytes, *slot) {
            let mut skim = Skim::new(bytes, inner, index, dialect);
            skim.run();
            events.append(&mut skim.events);
        }
    }
    events
}

/// Where the events stand that an event holds, which no event may.
fn nested(bytes: &[u8], slot: Slot) -> Vec<Slot> {
    if !slot.whole {
        return Vec::new();
    }
    let own = bytes.get(..slot.span.end).unwrap_or(bytes);
    let members = scan::members(own, slot.span.start).into_iter();
    let held = members.filter(|(key, _)| mixed::NESTED.contains(&&*camel(key)));
    held.flat_map(|(_, span)| match own.get(span.start) {
        Some(b'[') => scan::elements(own, span.start),
        Some(b'{') => vec![Slot::whole(span.start, span.end)],
        Some(_) | None => Vec::new(),
    })
    .collect()
}

/// The calls of one event, which is the whole of the text and has this number.
pub(crate) fn calls_of(text: &str, index: usize, dialect: Dialect) -> Vec<UnreadCall> {
    calls(events(text.as_bytes(), &[Slot::whole(0, text.len())], index, dialect))
}

/// The calls of events, partial ones left out.
pub(crate) fn calls(events: Vec<Skimmed>) -> Vec<UnreadCall> {
    let mut calls = Vec::new();
    for event in events.into_iter().filter(|event| event.partial != Some(true)) {
        for call in event.calls.into_iter().filter(|call| !is_request(&call.tool)) {
            calls.push(UnreadCall {
                event: event.index,
                event_id: event.id.clone(),
                agent: event.author.clone(),
                ..call
            });
        }
    }
    calls
}

/// A call whose keys stand loose in its part.
struct Loose {
    /// Where the part begins.
    part: usize,
    call: UnreadCall,
    /// Whether a name or arguments were met: an id alone makes no call, since answers have one too.
    named: bool,
}

struct Skim<'a> {
    bytes: &'a [u8],
    slot: Slot,
    at: usize,
    /// Where the brackets stand that are open.
    open: Vec<usize>,
    dialect: Dialect,
    loose: Option<Loose>,
    /// Where the whole event ends that a row of the Vertex AI session service holds.
    raw_end: Option<usize>,
    /// Whether a message was met in it, which then stands before that of the row.
    raw: bool,
    /// The calls of that message or of the one of the row, whichever came first.
    beside: Vec<UnreadCall>,
    /// Whether the message of the row came last.
    row_last: bool,
    /// Where the message of the event begins.
    content_at: Option<usize>,
    pairs: Vec<(usize, usize)>,
    events: Vec<Skimmed>,
    current: Skimmed,
}

impl<'a> Skim<'a> {
    fn new(bytes: &'a [u8], slot: Slot, index: usize, dialect: Dialect) -> Self {
        let bytes = bytes.get(..slot.span.end).unwrap_or(bytes);
        Self {
            bytes,
            slot,
            at: slot.span.start,
            open: Vec::new(),
            dialect,
            loose: None,
            raw_end: None,
            raw: false,
            beside: Vec::new(),
            row_last: false,
            content_at: None,
            pairs: pairs(bytes, slot),
            events: Vec::new(),
            current: Skimmed { index, ..Skimmed::default() },
        }
    }

    fn run(&mut self) {
        while let Some((key, value)) = self.next_key(self.bytes.len()) {
            self.member(&key, value);
        }
        self.flush();
    }

    /// The next key before `end` and where its value begins; the place moves past the colon.
    fn next_key(&mut self, end: usize) -> Option<(String, usize)> {
        while self.at < end {
            match self.bytes.get(self.at)? {
                b'"' => {
                    let literal =
                        Span { start: self.at, end: text_end(self.bytes, self.at, self.slot.whole) };
                    let colon = scan::blanks(self.bytes, literal.end);
                    self.at = literal.end;
                    if self.bytes.get(colon) == Some(&b':') {
                        self.at = scan::blanks(self.bytes, colon + 1);
                        return Some((camel(&scan::text(self.bytes, literal)).into_owned(), self.at));
                    }
                }
                b'{' | b'[' => {
                    self.open.push(self.at);
                    self.at += 1;
                }
                b'}' | b']' => {
                    self.open.pop();
                    self.at += 1;
                }
                _ => self.at += 1,
            }
        }
        None
    }

    fn member(&mut self, key: &str, value: usize) {
        let top = !self.slot.whole || self.open.len() == 1;
        let inside = usize::from(self.raw_end.is_some_and(|end| value < end));
        let in_part = !self.slot.whole || self.open.len() == PART_DEPTH + inside;
        let vertex = self.dialect == Dialect::Vertex && self.slot.whole;
        if key == "content" && self.open.len() == 1 + inside {
            self.content_at = Some(value);
        }
        let in_content = self.content_at.is_some() && self.open.get(1 + inside).copied() == self.content_at;
        // In the message of another library such a part stops the session, and is listed all the same.
        let rust = in_part && (self.dialect == Dialect::Rust || self.slot.whole && in_content);
        match key {
            "name" | "args" if rust => self.loose_member(key, value),
            "id" if rust && (self.slot.whole || self.is_loose()) => self.loose_member(key, value),
            "rawEvent" if vertex && top => self.raw_end = self.close_of(value),
            "content" if vertex && self.open.len() == 1 + inside && inside == 1 => {
                self.set_beside();
                self.raw = true;
            }
            "content" if vertex && top && self.raw => {
                self.set_beside();
                self.row_last = true;
            }
            "name" if vertex && top => {
                let name = self.text_at(value);
                self.current.id = name.rsplit('/').next().unwrap_or_default().to_owned();
            }
            "content" if top => {
                self.next_event(self.current.content);
                self.current.content = true;
            }
            "author" if top => {
                self.next_event(!self.current.author.is_empty());
                self.current.author = self.text_at(value);
            }
            "id" if top => {
                self.next_event(!self.current.id.is_empty());
                self.current.id = self.text_at(value);
            }
            "partial" if top => {
                let said = self.bytes.get(value..value + 4) == Some(b"true");
                self.current.partial = Some(said && self.current.partial.is_none());
            }
            "functionCall" if in_part => self.call(value),
            "args"
            | "response"
            | "functionResponse"
            | "stateDelta"
            | "customMetadata"
            | "output"
            | "payload"
            | "agentState"
            | "executableCode"
            | "codeExecutionResult"
            | "toolCall"
            | "toolResponse"
            | "serverToolCall"
            | "serverToolResponse"
            | "toolConfirmation" => self.jump(value),
            _ => {}
        }
    }

    /// Skips a value of user data, where its brackets say how far it reaches.
    fn jump(&mut self, value: usize) {
        if let Some(close) = self.close_of(value) {
            self.at = close;
        }
    }

    /// In a slot that is not whole a key that was seen already belongs to the next event.
    fn next_event(&mut self, seen: bool) {
        if seen && !self.slot.whole {
            self.flush();
        }
    }

    fn set_beside(&mut self) {
        self.flush_loose();
        self.beside.append(&mut self.current.calls);
    }

    /// Puts the calls of a row behind those of the whole event in it, which are the same where it was not changed.
    fn join_beside(&mut self) {
        let mut row = std::mem::take(&mut self.beside);
        if std::mem::take(&mut self.row_last) {
            std::mem::swap(&mut row, &mut self.current.calls);
        }
        let mut known: BTreeMap<(String, String), usize> = BTreeMap::new();
        for call in &self.current.calls {
            *known.entry((call.call_id.clone(), call.tool.clone())).or_default() += 1;
        }
        row.retain(|call| match known.get_mut(&(call.call_id.clone(), call.tool.clone())) {
            Some(left) if *left > 0 => {
                *left -= 1;
                false
            }
            Some(_) | None => true,
        });
        self.current.calls.append(&mut row);
    }

    fn flush(&mut self) {
        self.flush_loose();
        if !self.beside.is_empty() {
            self.join_beside();
        }
        let index = self.current.index + 1;
        let next = Skimmed { index, ..Skimmed::default() };
        self.events.push(std::mem::replace(&mut self.current, next));
    }

    fn call(&mut self, value: usize) {
        if self.bytes.get(value) != Some(&b'{') {
            return;
        }
        let close = self.close_of(value);
        let outer = self.open.len();
        let mut call = unknown_call();
        self.at = value + 1;
        self.open.push(value);
        loop {
            let before = self.at;
            let Some((key, value)) = self.next_key(close.unwrap_or(self.bytes.len())) else { break };
            if close.is_none() && FOREIGN.contains(&key.as_str()) {
                // The call is not closed, and this key is none of its own.
                self.at = before;
                break;
            }
            if self.open.len() == outer + 1 {
                self.call_member(&mut call, &key, value);
            }
        }
        self.at = close.unwrap_or(self.at);
        // Brackets inside a call that is not closed may have closed those around it.
        self.open.resize(outer, value);
        self.current.calls.push(call);
    }

    /// A key of a call that stands loose in its part.
    fn loose_member(&mut self, key: &str, value: usize) {
        if !self.is_loose() {
            self.flush_loose();
        }
        let part = self.open.last().copied().unwrap_or(0);
        let mut loose =
            self.loose.take().unwrap_or_else(|| Loose { part, call: unknown_call(), named: false });
        self.call_member(&mut loose.call, key, value);
        loose.named |= key != "id";
        self.loose = Some(loose);
    }

    /// Whether the object that is open is the part of the loose call.
    fn is_loose(&self) -> bool {
        self.loose.as_ref().is_some_and(|loose| self.open.last().copied().unwrap_or(0) == loose.part)
    }

    /// Ends a loose call.
    fn flush_loose(&mut self) {
        self.current.calls.extend(self.loose.take().filter(|loose| loose.named).map(|loose| loose.call));
    }

    fn call_member(&mut self, call: &mut UnreadCall, key: &str, value: usize) {
        match key {
            "id" => call.call_id = self.text_at(value),
            "name" => call.tool = self.text_at(value),
            "args" => {
                let end = self.close_of(value).or_else(|| self.flat_end(value));
                let literal = end.and_then(|end| self.bytes.get(value..end));
                let parsed = literal.and_then(|literal| std::str::from_utf8(literal).ok()).map(json::parse);
                if let Some(Ok(arguments)) = parsed {
                    call.arguments = arguments.ordinary();
                }
                self.jump(value);
            }
            _ => {}
        }
    }

    /// Past a text, number or word.
    fn flat_end(&self, value: usize) -> Option<usize> {
        match self.bytes.get(value)? {
            b'{' | b'[' => None,
            b'"' => Some(text_end(self.bytes, value, self.slot.whole)),
            _ => scan::value_end(self.bytes, value),
        }
    }

    fn text_at(&self, value: usize) -> String {
        match self.bytes.get(value) {
            Some(b'"') => {
                let end = text_end(self.bytes, value, self.slot.whole);
                scan::text(self.bytes, Span { start: value, end })
            }
            Some(_) | None => String::new(),
        }
    }

    fn close_of(&self, open: usize) -> Option<usize> {
        let found = self.pairs.binary_search_by_key(&open, |(open, _)| *open).ok()?;
        self.pairs.get(found).map(|(_, close)| *close).filter(|close| *close > open)
    }
}

/// A call of which nothing is known yet.
fn unknown_call() -> UnreadCall {
    UnreadCall {
        event: 0,
        event_id: String::new(),
        agent: String::new(),
        call_id: String::new(),
        tool: String::new(),
        arguments: "{}".to_owned(),
    }
}

/// Keys that stand around a call and never in one.
const FOREIGN: &[&str] =
    &["functionCall", "functionResponse", "text", "role", "content", "author", "invocationId", "actions"];

/// Past the text that begins at `at`. In a slot that is not whole a text ends with its line at the latest, so that a lost
/// quote is found again.
fn text_end(bytes: &[u8], at: usize, whole: bool) -> usize {
    if whole {
        return scan::string_end(bytes, at).unwrap_or(bytes.len());
    }
    let mut at = at + 1;
    loop {
        match bytes.get(at) {
            None => return bytes.len(),
            Some(b'"') => return at + 1,
            Some(b'\n') => return at,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
        }
    }
}

/// For each bracket of a slot that opens, in order, the end of its value; 0 where it is never closed.
fn pairs(bytes: &[u8], slot: Slot) -> Vec<(usize, usize)> {
    let mut pairs: Vec<(usize, usize)> = Vec::new();
    let mut open: Vec<(u8, usize)> = Vec::new();
    // How many of each kind are open, so that a stray closing bracket is known without a search.
    let (mut braces, mut squares) = (0_usize, 0_usize);
    let mut at = slot.span.start;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at = text_end(bytes, at, slot.whole);
                continue;
            }
            b'{' => {
                braces += 1;
                open.push((b'}', pairs.len()));
                pairs.push((at, 0));
            }
            b'[' => {
                squares += 1;
                open.push((b']', pairs.len()));
                pairs.push((at, 0));
            }
            b'}' | b']' if (if *byte == b'}' { braces } else { squares }) > 0 => {
                while let Some((closer, opened)) = open.pop() {
                    if closer == b'}' {
                        braces -= 1;
                    } else {
                        squares -= 1;
                    }
                    if closer == *byte {
                        if let Some(pair) = pairs.get_mut(opened) {
                            pair.1 = at + 1;
                        }
                        break;
                    }
                }
            }
            _ => {}
        }
        at += 1;
    }
    pairs
}
