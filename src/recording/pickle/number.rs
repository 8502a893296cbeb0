//! Numbers of pickles to the text that JSON has for them.

use std::fmt::Write as _;

use crate::recording::StopKind;
use crate::recording::fields::shown;
use crate::recording::pickle::Fault;

/// Bytes of the longest integer; longer ones cost more than their length.
const WIDEST: usize = 1024;

/// Digits of the longest integer that is written in digits.
const DIGITS: usize = 2500;

/// Decimal digits of a signed number, least byte first.
pub(crate) fn integer(bytes: &[u8]) -> Result<String, Fault> {
    if bytes.len() > WIDEST {
        return Err(too_long());
    }
    let negative = bytes.last().is_some_and(|byte| *byte >= 0x80);
    let mut carry = negative;
    let mut words = Vec::with_capacity(bytes.len().div_ceil(4));
    for chunk in bytes.chunks(4) {
        let fill = if negative { 0xff } else { 0 };
        let at = |place: usize| chunk.get(place).copied().unwrap_or(fill);
        let word = u32::from_le_bytes([at(0), at(1), at(2), at(3)]);
        let (word, over) = if negative { (!word).overflowing_add(u32::from(carry)) } else { (word, false) };
        carry = over;
        words.push(word);
    }
    let digits = decimal(words);
    Ok(if negative { format!("-{digits}") } else { digits })
}

/// Digits of an unsigned number, least word first.
fn decimal(mut words: Vec<u32>) -> String {
    const GROUP: u64 = 1_000_000_000;
    let mut groups = Vec::new();
    while words.last().is_some_and(|word| *word == 0) {
        words.pop();
    }
    while !words.is_empty() {
        let mut rest = 0_u64;
        for word in words.iter_mut().rev() {
            let value = rest << 32 | u64::from(*word);
            *word = u32::try_from(value / GROUP).unwrap_or(u32::MAX);
            rest = value % GROUP;
        }
        groups.push(rest);
        while words.last().is_some_and(|word| *word == 0) {
            words.pop();
        }
    }
    let mut out = groups.pop().unwrap_or(0).to_string();
    for group in groups.iter().rev() {
        // Writing to a String cannot fail.
        let _ = write!(out, "{group:09}");
    }
    out
}

/// An integer that is written in digits, as JSON writes it.
pub(crate) fn digits(text: &str) -> Result<String, Fault> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    if digits.len() > DIGITS {
        return Err(too_long());
    }
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(Fault::shape(format!("`{}` is no integer", shown(text))));
    }
    let digits = digits.trim_start_matches('0');
    Ok(if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") })
}

fn too_long() -> Fault {
    Fault::new(StopKind::TooLarge, format!("an integer has more than {WIDEST} bytes or {DIGITS} digits"))
}

/// A double in its shortest digits, with an exponent below 1e-4 and from 1e16 on.
pub(crate) fn float(value: f64) -> Result<String, Fault> {
    if !value.is_finite() {
        return Err(Fault::new(StopKind::BadNumber, format!("`{value}` is not a number that JSON can hold")));
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value == 0.0 || (-4..16).contains(&exponent) {
        return Ok(format!("{value:?}"));
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    Ok(format!("{digits}e{sign}{:02}", exponent.unsigned_abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_of_any_width() {
        let rows: [(&[u8], &str); 10] = [
            (&[], "0"),
            (&[0], "0"),
            (&[255], "-1"),
            (&[0, 1], "256"),
            (&[0, 255], "-256"),
            (&[0, 0, 0, 0], "0"),
            (&[0, 0, 0, 0, 0, 0, 0, 0, 1], "18446744073709551616"),
            (&[0, 0, 0, 0, 0, 0, 0, 128], "-9223372036854775808"),
            (&[0, 0, 0, 0, 255], "-4294967296"),
            (&[0, 202, 154, 59, 0], "1000000000"),
        ];
        for (bytes, expected) in rows {
            assert_eq!(integer(bytes).unwrap(), expected, "{bytes:?}");
        }
        assert!(integer(&[1; WIDEST + 1]).is_err());
        assert_eq!(integer(&[0xff; WIDEST]).unwrap(), "-1");
    }

    #[test]
    fn digits_and_floats() {
        for (text, expected) in [("007", "7"), ("-0", "0"), ("-12", "-12"), ("+5", "5")] {
            assert_eq!(digits(text).unwrap(), expected);
        }
        for text in ["", "-", "1_0", "0x1", "1 "] {
            assert!(digits(text).is_err(), "{text}");
        }
        for (value, expected) in [(1.0, "1.0"), (1e16, "1e+16"), (-0.0, "-0.0"), (1.5e-7, "1.5e-07")] {
            assert_eq!(float(value).unwrap(), expected);
        }
        assert!(float(f64::NAN).is_err());
    }
}
