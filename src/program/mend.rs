//! Ways out of types that do not go together.

use crate::program::classes::Mask;
use crate::value::Kind;

/// What to write in place of a literal that is of one of these kinds where the other is wanted; none for a text that is
/// no literal.
pub(crate) fn literal(written: &str, left: Mask, right: Mask) -> Option<String> {
    let has = |kind: Kind| left.single() == Some(kind) || right.single() == Some(kind);
    let wanted = if left.single() == Some(Kind::Compound) { right } else { left };
    if written == "nil" && has(Kind::Compound) {
        return Some(format!("write {} in place of `nil`, or drop the fact or condition", wanted.words()));
    }
    if written.starts_with('[') && has(Kind::Compound) {
        return Some(format!("write {} in place of the record", wanted.words()));
    }
    let quoted = written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match quoted {
        Some(_) if has(Kind::Compound) => None,
        Some(inner) if is_number(inner) => Some(format!("write `{inner}`")),
        Some(_) => Some("write a number".to_owned()),
        None if written.strip_suffix('u').is_some_and(is_number) => {
            let digits = written.trim_end_matches('u');
            let text = || format!("write `\"{digits}\"`");
            has(Kind::Symbol).then(text).or_else(|| has(Kind::Number).then(|| format!("write `{digits}`")))
        }
        None if !is_number(written) => None,
        None if has(Kind::Symbol) => Some(format!("write `\"{written}\"`")),
        None if has(Kind::Compound) => None,
        None if has(Kind::Unsigned) && written.starts_with('-') => {
            Some("an unsigned cannot be negative: write `0` or more".to_owned())
        }
        None => written.parse::<i64>().is_err().then(|| "write a whole number".to_owned()),
    }
}

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.starts_with(|first: char| first.is_ascii_digit()) && digits.parse::<f64>().is_ok()
}

/// How values of these kinds are brought together.
pub(crate) fn conversion(left: Mask, right: Mask) -> &'static str {
    let has = |kind: Kind| left.single() == Some(kind) || right.single() == Some(kind);
    if has(Kind::Compound) {
        "compare or pass one of its fields"
    } else if has(Kind::Symbol) {
        "read the number with `@json_float`, or with `@json_int` where it is a whole one; `to_number` and `to_string` \
         convert"
    } else if has(Kind::Float) {
        "convert with `to_float`, or write the literal with a fraction such as `1.0`"
    } else {
        "convert with `as(x, number)` or `as(x, unsigned)`"
    }
}

/// `1st`, `2nd`, `3rd`, `4th`
pub(crate) fn ordinal(n: usize) -> String {
    let ending = match (n % 10, n % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{n}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_written_as_the_other_kind() {
        let (number, symbol) = (Mask::of(Kind::Number), Mask::of(Kind::Symbol));
        let unsigned = Mask::of(Kind::Unsigned);
        let (float, action) = (Mask::of(Kind::Float), Mask::of(Kind::Compound));
        let rows = [
            ("5", symbol, Mask::NUMERIC, Some("write `\"5\"`")),
            ("-1.5", symbol, float, Some("write `\"-1.5\"`")),
            ("\"12\"", number, symbol, Some("write `12`")),
            ("\"twelve\"", number, symbol, Some("write a number")),
            ("\"inf\"", number, symbol, Some("write a number")),
            ("\"read\"", action, symbol, None),
            ("-1", unsigned, Mask::SIGNED, Some("an unsigned cannot be negative: write `0` or more")),
            ("5u", number, unsigned, Some("write `5`")),
            ("nil", number, action, Some("write a number in place of `nil`, or drop the fact or condition")),
            ("1.5", number, float, Some("write a whole number")),
            ("5", action, Mask::NUMERIC, None),
            ("n", symbol, number, None),
            ("a > 5", symbol, number, None),
        ];
        for (written, left, right, expected) in rows {
            assert_eq!(literal(written, left, right).as_deref(), expected, "{written}");
        }
    }

    #[test]
    fn places_are_counted_as_people_do() {
        let words: Vec<_> = [1, 2, 3, 4, 11, 12, 13, 21, 102, 111].into_iter().map(ordinal).collect();
        assert_eq!(words, ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]);
    }
}
