//! Bytes of a text and positions of the protocol: lines, and columns in UTF-16 code units, both from 0.

use lsp_types::{Position, Range};

use crate::source::Span;

/// Where the lines of a text start. A line ends with `\n`, `\r\n` or `\r`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines {
    starts: Vec<usize>,
}

impl Lines {
    /// The lines of no text.
    pub(crate) const NONE: Self = Self { starts: Vec::new() };

    pub(crate) fn new(text: &str) -> Self {
        let bytes = text.as_bytes();
        let ends = bytes
            .iter()
            .enumerate()
            .filter(|&(at, &byte)| byte == b'\n' || (byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')));
        Self { starts: std::iter::once(0).chain(ends.map(|(at, _)| at + 1)).collect() }
    }

    /// The position of a byte; one inside a character counts as its start.
    pub(crate) fn position(&self, text: &str, offset: usize) -> Position {
        let mut offset = offset.min(text.len());
        while !text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|&start| start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let column = text.get(start..offset).unwrap_or("").encode_utf16().count();
        Position { line: narrow(line), character: narrow(column) }
    }

    /// The byte at a position. A column past the end of its line is that end, a line past the end of the text the text's
    /// end, and a column inside a character the character's start.
    pub(crate) fn offset(&self, text: &str, position: Position) -> usize {
        let line = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(&start) = self.starts.get(line) else { return text.len() };
        let end = line.checked_add(1).and_then(|next| self.starts.get(next)).copied().unwrap_or(text.len());
        let line = text.get(start..end).unwrap_or("").trim_end_matches(['\r', '\n']);
        let mut left = usize::try_from(position.character).unwrap_or(usize::MAX);
        for (at, letter) in line.char_indices() {
            if left < letter.len_utf16() {
                return start + at;
            }
            left -= letter.len_utf16();
        }
        start + line.len()
    }

    /// The range of a span of this text.
    pub(crate) fn range(&self, text: &str, span: Span) -> Range {
        let (start, end) = (span.start as usize, span.end as usize);
        Range { start: self.position(text, start), end: self.position(text, end) }
    }
}

fn narrow(at: usize) -> u32 {
    u32::try_from(at).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_utf_16() {
        let text = "\u{feff}a\r\nß𝄞x\rz\n";
        let lines = Lines::new(text);
        let rows = [
            (0, (0, 0)),
            (3, (0, 1)),
            (6, (1, 0)),
            (8, (1, 1)),
            (12, (1, 3)),
            (13, (1, 4)),
            (14, (2, 0)),
            (16, (3, 0)),
        ];
        for (offset, (line, character)) in rows {
            let position = Position { line, character };
            assert_eq!(lines.position(text, offset), position, "{offset}");
            assert_eq!(lines.offset(text, position), offset, "{position:?}");
        }
        let odd = [((0, 9), 4), ((1, 2), 8), ((1, 99), 13), ((9, 0), 16), ((u32::MAX, u32::MAX), 16)];
        for ((line, character), offset) in odd {
            assert_eq!(lines.offset(text, Position { line, character }), offset, "{line}:{character}");
        }
        assert_eq!(lines.position(text, 10), Position { line: 1, character: 1 });
    }
}
