//! Bodies of `/run_sse`: server-sent events to the places of the events in them.

use crate::recording::Form;
use crate::recording::reading::Dialect;
use crate::recording::scan::{self, Slot, Span};
use crate::recording::shape::Layout;

/// Fields of a frame that say nothing about its event.
const SILENT: [&[u8]; 3] = [b"event", b"id", b"retry"];

/// Whether the lines at the head of a file are those of server-sent events.
pub(crate) fn is_stream(head: &[u8]) -> bool {
    let lines = lines(head);
    let mut spoken = lines.iter().map(|line| line.of(head)).filter(|line| !line.trim_ascii().is_empty());
    let opens = |line: &[u8]| line.starts_with(b":") || is_known(field(line).0);
    let data = |line: &[u8]| {
        let (name, value) = field(line);
        name == b"data" && value.trim_ascii_start().starts_with(b"{")
    };
    spoken.next().is_some_and(|first| opens(first) && (data(first) || spoken.any(data)))
}

/// The body with blanks for all that is no data, so that every event keeps its place, and where its events are.
///
/// A frame ends with an empty line, and its `data:` lines are one value. A line that is no field of a frame is read as an
/// event, and stops the session where it is none. A last frame that no empty line ends counts too.
pub(crate) fn read(bytes: &[u8]) -> (Vec<u8>, Layout) {
    let mut masked = bytes.to_vec();
    let mut slots = Vec::new();
    let mut frame: Option<Span> = None;
    for line in lines(bytes) {
        let whole = line.of(bytes);
        let (name, value) = field(whole);
        if whole.trim_ascii().is_empty() {
            close(&masked, frame.take(), &mut slots);
        } else if name == b"data" {
            blank(&mut masked, line.start, line.end - value.len());
            let start = frame.map_or(line.end - value.len(), |frame| frame.start);
            frame = Some(Span { start, end: line.end });
        } else if whole.starts_with(b":") || SILENT.contains(&name) {
            blank(&mut masked, line.start, line.end);
        } else {
            close(&masked, frame.take(), &mut slots);
            slots.push(Slot::broken(line.start, line.end));
        }
    }
    close(&masked, frame, &mut slots);
    (
        masked,
        Layout {
            form: Form::EventStream,
            dialect: Dialect::Adk,
            slots,
            doubled: Vec::new(),
            list: None,
            ahead: None,
        },
    )
}

fn is_known(name: &[u8]) -> bool {
    name == b"data" || SILENT.contains(&name)
}

fn close(masked: &[u8], frame: Option<Span>, slots: &mut Vec<Slot>) {
    let Some(frame) = frame else { return };
    let own = frame.of(masked);
    let start = frame.start + (own.len() - own.trim_ascii_start().len());
    let end = frame.start + own.trim_ascii_end().len();
    if start >= end {
        return;
    }
    let before = masked.get(..end).unwrap_or_default();
    let whole = scan::value_end(before, start) == Some(end);
    slots.push(if whole { Slot::whole(start, end) } else { Slot::broken(start, end) });
}

fn blank(bytes: &mut [u8], start: usize, end: usize) {
    if let Some(range) = bytes.get_mut(start..end) {
        range.fill(b' ');
    }
}

/// Name and value of a field; the name is the whole line where it has no colon.
fn field(line: &[u8]) -> (&[u8], &[u8]) {
    match line.iter().position(|byte| *byte == b':') {
        Some(colon) => (line.get(..colon).unwrap_or_default(), line.get(colon + 1..).unwrap_or_default()),
        None => (line, &[]),
    }
}

/// The lines, ended by a line feed, a carriage return, or both.
fn lines(bytes: &[u8]) -> Vec<Span> {
    let mut lines = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        at += 1;
        if matches!(byte, b'\n' | b'\r') {
            lines.push(Span { start, end: at - 1 });
            at += usize::from(*byte == b'\r' && bytes.get(at) == Some(&b'\n'));
            start = at;
        }
    }
    lines.push(Span { start, end: bytes.len() });
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn data(text: &str) -> Vec<String> {
        let (masked, layout) = read(text.as_bytes());
        assert_eq!(masked.len(), text.len());
        let shown = |slot: &Slot| {
            let text = String::from_utf8_lossy(slot.span.of(&masked)).replace(['\r', '\n'], "/");
            format!("{}{text}", if slot.whole { "" } else { "!" })
        };
        layout.slots.iter().map(shown).collect()
    }

    #[test]
    fn frames() {
        let rows: [(&str, &[&str]); 9] = [
            ("data: {}\n\ndata:[1]\n\n", &["{}", "[1]"]),
            ("data: {}\r\n\r\ndata: 5\r\n\r\n", &["{}", "5"]),
            ("data: {}\r\rdata: 5", &["{}", "5"]),
            ("event: x\nid: 7\n: note\nretry: 5\ndata: {}\n\n", &["{}"]),
            ("data: {\ndata: }\n\n", &["{/      }"]),
            ("data: {\r\ndata: }\r\n\r\n", &["{//      }"]),
            ("data: {}\nnonsense\ndata: {}\n\n", &["{}", "!nonsense", "{}"]),
            ("data: {\"a\":\n\ndata: {}", &["!{\"a\":", "{}"]),
            ("data\n\ndata:\n\n", &[]),
        ];
        for (text, expected) in rows {
            assert_eq!(data(text), expected, "{text:?}");
        }
    }

    #[test]
    fn yaml_is_no_stream() {
        assert!(!is_stream(b"id: s\nevents:\n  - author: user\n"));
        assert!(!is_stream(b"data: five\n"));
        assert!(is_stream(b": hello\n\nid: 5\ndata: {\"id\": 1}\n"));
    }
}
