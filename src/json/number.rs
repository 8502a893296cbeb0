use std::fmt::Write as _;

/// A number as its text says it, by value and exact: never through a double.
///
/// Built from the text of a JSON number. The value is 0.DIGITS times ten to the power of `point`, where the digits
/// have no zero at either end and zero has no digits.
// Invariant: `digits` is ASCII digits without a zero at either end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    digits: String,
    point: Point,
}

/// Where the decimal point stands.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Point {
    /// So many places right of the first digit's left side.
    At(i128),
    /// An exponent too long to count with, and the whole number as written, made plain.
    Far(String),
}

/// Exponents of more digits than this are kept as text; any sum with a text's length still fits an `i128`.
const EXPONENT_DIGITS: usize = 36;
/// A canonical number of up to this many digits is written without an exponent.
const PLAIN_DIGITS: i128 = 21;

impl Decimal {
    /// Reads the text of a JSON number. Costs as much as the text is long, whatever its exponent says.
    #[must_use]
    pub fn read(text: &str) -> Self {
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (mantissa, exponent) = rest.split_once(['e', 'E']).unwrap_or((rest, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let whole = whole.trim_start_matches('0');
        let both = format!("{whole}{fraction}");
        let digits = both.trim_start_matches('0');
        let leading_zeros = both.len() - digits.len();
        let digits = digits.trim_end_matches('0').to_owned();
        if digits.is_empty() {
            return Self { negative: false, digits, point: Point::At(0) };
        }
        let (down, exponent) = match exponent.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, exponent.strip_prefix('+').unwrap_or(exponent)),
        };
        let exponent = exponent.trim_start_matches('0');
        if exponent.len() > EXPONENT_DIGITS {
            let sign = if down { "-" } else { "" };
            let point = Point::Far(format!("{mantissa}e{sign}{exponent}"));
            return Self { negative, digits, point };
        }
        let size: i128 = exponent.parse().unwrap_or(0);
        let shift = if down { -size } else { size };
        let point = Point::At(shift + length(whole.len()) - length(leading_zeros));
        Self { negative, digits, point }
    }

    /// One text for all spellings of this value: no zeros that say nothing, no `+`, `0` for `-0`; plain up to 21
    /// digits, else as `1.5e-30`. A value whose exponent has more than 36 digits keeps its spelling, so that such a
    /// text never equals another value's.
    #[must_use]
    pub fn canonical(&self) -> String {
        let mut out = String::new();
        if self.negative {
            out.push('-');
        }
        match &self.point {
            Point::Far(text) => out.push_str(text),
            Point::At(_) if self.digits.is_empty() => out.push('0'),
            Point::At(point) => self.write_near(&mut out, *point),
        }
        out
    }

    fn write_near(&self, out: &mut String, point: i128) {
        let count = length(self.digits.len());
        let written = point.max(1) + (count - point).max(0);
        if written > PLAIN_DIGITS {
            let (first, rest) = self.digits.split_at_checked(1).unwrap_or((&self.digits, ""));
            out.push_str(first);
            if !rest.is_empty() {
                out.push('.');
                out.push_str(rest);
            }
            // Writing to a String cannot fail.
            let _ = write!(out, "e{}", point - 1);
        } else if point <= 0 {
            out.push_str("0.");
            push_zeros(out, -point);
            out.push_str(&self.digits);
        } else {
            let at = usize::try_from(point.min(count)).unwrap_or(0);
            let (whole, fraction) = self.digits.split_at_checked(at).unwrap_or((&self.digits, ""));
            out.push_str(whole);
            push_zeros(out, point - count);
            if !fraction.is_empty() {
                out.push('.');
                out.push_str(fraction);
            }
        }
    }

    /// The value if it is a whole number between `i64::MIN` and `u64::MAX` (both fit an `i128`).
    fn whole(&self) -> Option<i128> {
        let Point::At(point) = self.point else { return None };
        if self.digits.is_empty() {
            return Some(0);
        }
        let zeros = point - length(self.digits.len());
        if zeros < 0 || point > 20 {
            return None;
        }
        let scale = 10i128.checked_pow(u32::try_from(zeros).ok()?)?;
        let size = self.digits.parse::<i128>().ok()?.checked_mul(scale)?;
        Some(if self.negative { -size } else { size })
    }

    /// The value as a signed number, if it is a whole number and fits.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        self.whole().and_then(|value| i64::try_from(value).ok())
    }

    /// The value as an unsigned number, if it is a whole number and fits.
    #[must_use]
    pub fn unsigned(&self) -> Option<u64> {
        self.whole().and_then(|value| u64::try_from(value).ok())
    }
}

fn length(bytes: usize) -> i128 {
    i128::try_from(bytes).unwrap_or(i128::MAX >> 2)
}

fn push_zeros(out: &mut String, count: i128) {
    for _ in 0..count {
        out.push('0');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(text: &str) -> String {
        Decimal::read(text).canonical()
    }

    #[test]
    fn canonical_texts() {
        let rows = [
            ("0", "0"),
            ("-0", "0"),
            ("0.000", "0"),
            ("-0e99999999999999999999999999999999999999999999", "0"),
            ("1", "1"),
            ("1.0", "1"),
            ("1e0", "1"),
            ("-1.50", "-1.5"),
            ("0.1", "0.1"),
            ("0.10", "0.1"),
            ("1e-1", "0.1"),
            ("100", "100"),
            ("1e2", "100"),
            ("1E+2", "100"),
            ("1.05e1", "10.5"),
            ("12345.678e2", "1234567.8"),
            ("5.7", "5.7"),
            ("0.00120", "0.0012"),
            ("18446744073709551615", "18446744073709551615"),
            ("9007199254740993", "9007199254740993"),
            ("1e20", "100000000000000000000"),
            ("123456789012345678901", "123456789012345678901"),
            ("1e21", "1e21"),
            ("1234567890123456789012", "1.234567890123456789012e21"),
            ("1e400", "1e400"),
            ("10e399", "1e400"),
            ("0.01e402", "1e400"),
            ("1e-19", "0.0000000000000000001"),
            ("1e-20", "0.00000000000000000001"),
            ("1e-21", "1e-21"),
            ("-15e-31", "-1.5e-30"),
            ("1e999999999999", "1e999999999999"),
            ("10e999999999998", "1e999999999999"),
            ("1e-999999999999", "1e-999999999999"),
            ("1e100000000000000000000000000000", "1e100000000000000000000000000000"),
            ("10e99999999999999999999999999999", "1e100000000000000000000000000000"),
            ("7e0000000000000000000000000000000000000000000001", "70"),
        ];
        for (text, expected) in rows {
            assert_eq!(canonical(text), expected, "{text}");
        }
    }

    #[test]
    fn far_exponents_never_meet_another_value() {
        let far = "1".repeat(40);
        let texts = [format!("1e{far}"), format!("-1e{far}"), format!("1e-{far}"), format!("1e{far}0")];
        for (i, a) in texts.iter().enumerate() {
            for (j, b) in texts.iter().enumerate() {
                assert_eq!(canonical(a) == canonical(b), i == j, "{a} {b}");
            }
        }
    }

    #[test]
    fn whole_numbers() {
        let rows: [(&str, Option<i64>, Option<u64>); 16] = [
            ("5", Some(5), Some(5)),
            ("5.0", Some(5), Some(5)),
            ("5e0", Some(5), Some(5)),
            ("2.5e1", Some(25), Some(25)),
            ("500e-2", Some(5), Some(5)),
            ("5.7", None, None),
            ("1e-1", None, None),
            ("-3", Some(-3), None),
            ("-0", Some(0), Some(0)),
            ("9223372036854775807", Some(i64::MAX), Some(9_223_372_036_854_775_807)),
            ("9.223372036854775807e18", Some(i64::MAX), Some(9_223_372_036_854_775_807)),
            ("-9223372036854775808", Some(i64::MIN), None),
            ("9223372036854775808", None, Some(9_223_372_036_854_775_808)),
            ("18446744073709551615", None, Some(u64::MAX)),
            ("18446744073709551616", None, None),
            ("1e999999999999", None, None),
        ];
        for (text, number, unsigned) in rows {
            let decimal = Decimal::read(text);
            assert_eq!((decimal.number(), decimal.unsigned()), (number, unsigned), "{text}");
        }
    }
}
