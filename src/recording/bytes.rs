//! Base64, or a list of numbers, to bytes; and bytes to base64.

use crate::json::Json;

/// What [`of`] reads, in words.
pub(crate) const EXPECTED: &str = "base64 or a list of bytes";

/// Bytes as libraries write them: base64, or a list of numbers from 0 to 255 or from -128 to 127; none where it is
/// neither.
pub(crate) fn of(value: &Json) -> Option<Vec<u8>> {
    match value {
        Json::Text(text) => base64(text),
        Json::Array(items) => numbers(items),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Object(_) => None,
    }
}

fn numbers(items: &[Json]) -> Option<Vec<u8>> {
    let number = |item: &Json| match item {
        Json::Number(digits) => digits.parse::<i16>().ok(),
        _ => None,
    };
    let numbers: Vec<i16> = items.iter().map(number).collect::<Option<_>>()?;
    let signed = numbers.iter().any(|number| *number < 0);
    // Both forms in one list are no form at all.
    let byte = |number: i16| {
        if signed { i8::try_from(number).ok().map(i8::cast_unsigned) } else { u8::try_from(number).ok() }
    };
    numbers.into_iter().map(byte).collect()
}

/// Decodes base64 in the standard or the URL-safe alphabet, with or without padding; none where it is neither.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    let digits = text.trim_end_matches('=').as_bytes();
    let padding = text.len() - digits.len();
    if padding > 2 || (padding > 0 && !text.len().is_multiple_of(4)) || digits.len() % 4 == 1 {
        return None;
    }
    let mut out = Vec::with_capacity(digits.len() / 4 * 3 + 2);
    for group in digits.chunks(4) {
        let mut bits: u32 = 0;
        for digit in group {
            bits = (bits << 6) | value(*digit)?;
        }
        bits <<= 6 * (4 - group.len());
        let [_, first, second, third] = bits.to_be_bytes();
        out.extend([first, second, third].into_iter().take(group.len() - 1));
    }
    Some(out)
}

/// Bytes in the standard alphabet, padded.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let at = |place: usize| u32::from(group.get(place).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let digit = (bits >> (18 - 6 * place)) as usize & 63;
            let digit = if place > group.len() { b'=' } else { ALPHABET.get(digit).copied().unwrap_or(b'=') };
            out.push(char::from(digit));
        }
    }
    out
}

fn value(digit: u8) -> Option<u32> {
    let value = match digit {
        b'A'..=b'Z' => digit - b'A',
        b'a'..=b'z' => digit - b'a' + 26,
        b'0'..=b'9' => digit - b'0' + 52,
        b'+' | b'-' => 62,
        b'/' | b'_' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back() {
        for (bytes, text) in
            [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (&[255, 254, 253], "//79")]
        {
            assert_eq!(to_base64(bytes), text);
            assert_eq!(base64(text).as_deref(), Some(bytes));
        }
    }

    #[test]
    fn lists_of_numbers() {
        let rows: [(&str, Option<&[u8]>); 8] = [
            ("[0, 127, 128, 255]", Some(&[0, 127, 128, 255])),
            ("[0, 127, -128, -1]", Some(&[0, 127, 128, 255])),
            ("[]", Some(&[])),
            ("[-1, 200]", None),
            ("[256]", None),
            ("[-129]", None),
            ("[1.0]", None),
            (r#"["1"]"#, None),
        ];
        for (text, bytes) in rows {
            assert_eq!(of(&crate::json::parse(text).unwrap()).as_deref(), bytes, "{text}");
        }
    }

    #[test]
    fn both_alphabets_with_and_without_padding() {
        let rows: [(&str, Option<&[u8]>); 12] = [
            ("", Some(b"")),
            ("c2lnAAE=", Some(b"sig\x00\x01")),
            ("c2lnAAE", Some(b"sig\x00\x01")),
            ("+//+AD4/ifo=", Some(&[251, 255, 254, 0, 62, 63, 137, 250])),
            ("-__-AD4_ifo=", Some(&[251, 255, 254, 0, 62, 63, 137, 250])),
            ("dHM=", Some(b"ts")),
            ("dA==", Some(b"t")),
            ("dA=", None),
            ("d", None),
            ("d===", None),
            ("dH M=", None),
            ("d=M=", None),
        ];
        for (text, bytes) in rows {
            assert_eq!(base64(text).as_deref(), bytes, "{text}");
        }
    }
}
