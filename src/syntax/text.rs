//! Text literals and their escapes.

/// What is wrong with a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// A backslash before a character that makes no escape.
    Escape {
        /// Where the backslash stands, from the opening quote.
        offset: usize,
        /// Bytes of backslash and character.
        length: usize,
    },
    /// The line or the file ends before the closing quote.
    Unterminated,
}

/// How many bytes the text takes that starts at the opening quote, and the first thing that is wrong with it.
/// One without a closing quote ends with its line, before the full stop if the line ends with one.
pub(crate) fn measure(input: &str) -> (usize, Option<Fault>) {
    let mut fault = None;
    let mut letters = input.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (at + 1, fault),
            '\n' | '\r' => return (without_stop(input, at), Some(Fault::Unterminated)),
            '\\' => match letters.peek() {
                Some((_, next)) if unescaped(*next).is_some() => {
                    letters.next();
                }
                Some((_, '\n' | '\r')) | None => {}
                Some((_, next)) => {
                    let length = 1 + next.len_utf8();
                    fault = fault.or(Some(Fault::Escape { offset: at, length }));
                    letters.next();
                }
            },
            _ => {}
        }
    }
    (without_stop(input, input.len()), Some(Fault::Unterminated))
}

fn without_stop(input: &str, end: usize) -> usize {
    let line = input.get(..end).unwrap_or("");
    line.trim_end().strip_suffix('.').map_or(end, str::len).max(1)
}

fn unescaped(letter: char) -> Option<char> {
    match letter {
        '"' | '\\' => Some(letter),
        'n' => Some('\n'),
        't' => Some('\t'),
        'r' => Some('\r'),
        _ => None,
    }
}

/// The text that a literal stands for, quotes taken off and escapes decoded. A faulty escape stands for itself.
pub(crate) fn decode(literal: &str) -> String {
    let inside = literal.strip_prefix('"').unwrap_or(literal);
    let inside = inside.strip_suffix('"').unwrap_or(inside);
    let mut text = String::with_capacity(inside.len());
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            text.push(letter);
            continue;
        }
        if let Some(next) = letters.next() {
            text.push(unescaped(next).unwrap_or(next));
        }
    }
    text
}

/// The literal that stands for the text, in quotes.
pub(crate) fn encode(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for letter in text.chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\t' => literal.push_str("\\t"),
            '\r' => literal.push_str("\\r"),
            _ => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts() {
        let rows = [
            (r#""a" b"#, 3, None),
            (r#""say \"hi\"""#, 12, None),
            (r#""back\\" x"#, 8, None),
            (r#""\d+","#, 5, Some(Fault::Escape { offset: 1, length: 2 })),
            (r#""\é""#, 5, Some(Fault::Escape { offset: 1, length: 3 })),
            ("\"open\nnext\"", 5, Some(Fault::Unterminated)),
            ("\"open).\r\n", 6, Some(Fault::Unterminated)),
            ("\"open\\", 6, Some(Fault::Unterminated)),
            ("\"", 1, Some(Fault::Unterminated)),
        ];
        for (text, length, fault) in rows {
            assert_eq!(measure(text), (length, fault), "{text}");
        }
    }

    #[test]
    fn decoding_undoes_encoding() {
        for text in ["", "a", "\"\\\n\t\r", "é日\0", "\\n", "ends with \\"] {
            assert_eq!(decode(&encode(text)), text);
        }
    }
}
