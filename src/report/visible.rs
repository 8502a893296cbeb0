//! Text from outside, made safe to look at.

use std::fmt::Write as _;

/// First and last of characters that show as nothing, reorder what stands around them, or move the cursor.
const HIDDEN: &[(u32, u32)] = &[
    (0x00, 0x1F),
    (0x7F, 0xA0),
    (0xAD, 0xAD),
    (0x34F, 0x34F),
    (0x61C, 0x61C),
    (0x115F, 0x1160),
    (0x1680, 0x1680),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2000, 0x200F),
    (0x2028, 0x202F),
    (0x205F, 0x206F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xE000, 0xF8FF),
    (0xFE00, 0xFE0F),
    (0xFEFF, 0xFEFF),
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0xFFFE, 0xFFFF),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0x10_FFFF),
];

/// First and last of letters of scripts in which some look like Latin ones.
const LOOKALIKE: &[(u32, u32)] = &[
    (0x370, 0x3FF),     // Greek
    (0x400, 0x58F),     // Cyrillic, Armenian
    (0x13A0, 0x13FF),   // Cherokee
    (0x1C80, 0x1C8F),   // Cyrillic
    (0x1D00, 0x1DBF),   // phonetic letters
    (0x1F00, 0x1FFF),   // Greek
    (0x2100, 0x214F),   // letter-like signs
    (0x2160, 0x218F),   // Roman numerals
    (0x24B6, 0x24E9),   // circled letters
    (0x2C80, 0x2CFF),   // Coptic
    (0x2DE0, 0x2DFF),   // Cyrillic
    (0xA4D0, 0xA4FF),   // Lisu
    (0xA640, 0xA69F),   // Cyrillic
    (0xAB30, 0xABBF),   // Latin extensions, Cherokee
    (0xFF00, 0xFFEF),   // full-width
    (0x1D400, 0x1D7FF), // mathematical letters
    (0x1F130, 0x1F189), // squared letters
];

/// Letters of other scripts that look like Latin ones.
const TWINS: &str = "асеорхуіјѕԁԛԝһӏАВЕКМНОРСТХУІЈЅӀοναικρτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ";

fn within(table: &[(u32, u32)], c: char) -> bool {
    table.iter().any(|&(first, last)| (first..=last).contains(&(c as u32)))
}

fn is_hidden(c: char) -> bool {
    c != ' ' && within(HIDDEN, c)
}

fn push_escaped(out: &mut String, c: char) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        // Writing to a String cannot fail.
        c => drop(write!(out, "\\u{{{:x}}}", c as u32)),
    }
}

/// The text in one line: line ends, control characters and characters that do not show as `\u{200b}`, and in a word with
/// Latin letters also the letters of other scripts that look like them.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let in_word = |c: char| c.is_alphanumeric() || c == '_' || is_hidden(c) && !c.is_control();
        let end = rest.find(|c| !in_word(c)).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        let latin = word.contains(|c: char| c.is_ascii_alphabetic());
        for c in word.chars() {
            let odd = is_hidden(c) || latin && is_twin(c);
            if odd { push_escaped(&mut out, c) } else { out.push(c) }
        }
        let mut between = after.chars();
        match between.next() {
            Some(c) if is_hidden(c) => push_escaped(&mut out, c),
            Some(c) => out.push(c),
            None => {}
        }
        rest = between.as_str();
    }
    out
}

fn is_twin(c: char) -> bool {
    TWINS.contains(c) || matches!(c as u32, 0xFF00..=0xFFEF | 0x1D400..=0x1D7FF)
}

/// Why a name can be taken for another.
#[must_use]
pub fn suspicion(name: &str) -> Option<&'static str> {
    let odd = name.chars().any(|c| within(LOOKALIKE, c));
    let latin = name.chars().any(|c| c.is_ascii_alphabetic());
    let letters = || name.chars().filter(|c| c.is_alphabetic());
    if name.chars().any(is_hidden) {
        Some("the name has characters that do not show")
    } else if name.chars().any(|c| matches!(c as u32, 0xFF00..=0xFFEF)) {
        Some("the name has full-width letters")
    } else if odd && latin {
        Some("the name mixes scripts")
    } else if odd && letters().all(|c| TWINS.contains(c)) {
        Some("the name looks like a name in Latin letters")
    } else {
        None
    }
}

/// A name, like [`visible`], and with the letters escaped that make it look like another.
#[must_use]
pub fn visible_name(name: &str) -> String {
    if suspicion(name).is_none() {
        return visible(name);
    }
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if is_hidden(c) || within(LOOKALIKE, c) { push_escaped(&mut out, c) } else { out.push(c) }
    }
    out
}

/// At most `width` characters of what is visible, with `…` where something was left out.
#[must_use]
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut out: String = text.chars().take(width.saturating_sub(1)).collect();
    out.push('…');
    out
}

/// A JSON document in which characters that do not show are written as `\u200b`; its meaning is the same.
#[must_use]
pub fn visible_json(document: String) -> String {
    if document.is_ascii() && !document.contains('\u{7f}') {
        return document;
    }
    let mut out = String::with_capacity(document.len());
    for c in document.chars() {
        // Outside its texts, JSON is ASCII, and controls within are escaped already.
        if c as u32 >= 0x7F && is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_show_is_escaped() {
        let rows = [
            ("plain text", "plain text"),
            ("a\u{200b}b", "a\\u{200b}b"),
            ("\u{202e}gpj", "\\u{202e}gpj"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\nb\tc", "a\\nb\\tc"),
            ("\u{e0041}", "\\u{e0041}"),
            ("call of `us\u{435}r`", "call of `us\\u{435}r`"),
            ("пользователь user", "пользователь user"),
            ("5 μm, ｖ", "5 μm, ｖ"),
            ("패딩 żółć 漢字", "패딩 żółć 漢字"),
        ];
        for (text, expected) in rows {
            assert_eq!(visible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_that_look_like_others_are_escaped() {
        let rows = [
            ("verify_user", "verify_user", None),
            ("v\u{435}rify", "v\\u{435}rify", Some("the name mixes scripts")),
            ("\u{ff50}ay", "\\u{ff50}ay", Some("the name has full-width letters")),
            (
                "\u{440}\u{430}\u{443}",
                "\\u{440}\\u{430}\\u{443}",
                Some("the name looks like a name in Latin letters"),
            ),
            ("платёж", "платёж", None),
            ("p\u{200b}ay", "p\\u{200b}ay", Some("the name has characters that do not show")),
        ];
        for (name, expected, why) in rows {
            assert_eq!((visible_name(name).as_str(), suspicion(name)), (expected, why), "{name:?}");
        }
    }

    #[test]
    fn json_keeps_its_meaning() {
        let text = "{\"a\":\"x\u{200b}\u{e0041}y\"}";
        let shown = visible_json(text.to_owned());
        assert_eq!(shown, "{\"a\":\"x\\u200b\\udb40\\udc41y\"}");
        assert_eq!(crate::json::parse(&shown), crate::json::parse(text));
    }
}
