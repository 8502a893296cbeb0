//! Times as RFC 3339 in UTC, computed from the digits of a number and never through a float.

use jiff::Timestamp;
use jiff::tz::Offset;

use crate::json::Json;

/// Numbers above this many seconds are milliseconds.
const MILLISECONDS_ABOVE: i128 = 100_000_000_000;

/// The time that a `timestamp` says; empty where it is absent or says none.
pub(crate) fn time_of(value: Option<&Json>) -> String {
    value.and_then(instant_of).map(written).unwrap_or_default()
}

/// The time that a number says; empty where it says none.
pub(crate) fn of_number(digits: &str) -> String {
    from_number(digits).map(written).unwrap_or_default()
}

/// The time that a text says; empty where it says none.
pub(crate) fn of_text(text: &str) -> String {
    text.parse().map(written).unwrap_or_default()
}

/// The time so long after the beginning of 1970, RFC 3339; empty where there is no such time.
#[cfg(feature = "gate")]
pub(crate) fn utc(since: std::time::Duration) -> String {
    let nanoseconds = i128::try_from(since.as_nanos()).ok();
    let time = nanoseconds.and_then(|nanoseconds| Timestamp::from_nanosecond(nanoseconds).ok());
    time.map(|time| time.to_string()).unwrap_or_default()
}

/// The moment that a `timestamp` says.
pub(crate) fn instant_of(value: &Json) -> Option<Timestamp> {
    match value {
        Json::Number(digits) => from_number(digits),
        Json::Text(text) => text.parse().ok(),
        Json::Object(_) => from_parts(value),
        Json::Null | Json::Bool(_) | Json::Array(_) => None,
    }
}

/// A moment as RFC 3339 in UTC, with as many digits of a fraction as it needs.
fn written(time: Timestamp) -> String {
    let civil = Offset::UTC.to_datetime(time);
    let (Ok(year), Ok(mut fraction)) =
        (u32::try_from(civil.year()), u32::try_from(civil.subsec_nanosecond()))
    else {
        return time.to_string();
    };
    let mut out = String::with_capacity(30);
    let pair = |out: &mut String, before: char, value: i8| {
        out.push(before);
        push_digits(out, u32::from(value.unsigned_abs()), 10);
    };
    push_digits(&mut out, year, 1_000);
    pair(&mut out, '-', civil.month());
    pair(&mut out, '-', civil.day());
    pair(&mut out, 'T', civil.hour());
    pair(&mut out, ':', civil.minute());
    pair(&mut out, ':', civil.second());
    if fraction > 0 {
        let mut unit = 100_000_000;
        while fraction.is_multiple_of(10) {
            (fraction, unit) = (fraction / 10, unit / 10);
        }
        out.push('.');
        push_digits(&mut out, fraction, unit);
    }
    out.push('Z');
    out
}

/// Writes the digits of a number, of which `unit` is the place of the first.
fn push_digits(out: &mut String, value: u32, unit: u32) {
    let mut unit = unit;
    while unit > 0 {
        out.push(char::from_digit(value / unit % 10, 10).unwrap_or('0'));
        unit /= 10;
    }
}

/// `{seconds, nanos}`, where the seconds may be a text of digits.
fn from_parts(parts: &Json) -> Option<Timestamp> {
    let digits = |key: &str| match parts.field(key) {
        Some(Json::Number(digits) | Json::Text(digits)) => Some(&**digits),
        Some(Json::Null) | None => Some("0"),
        Some(Json::Bool(_) | Json::Array(_) | Json::Object(_)) => None,
    };
    parts.field("seconds")?;
    let seconds = scaled(digits("seconds")?, 9)?;
    let time = seconds.checked_add(scaled(digits("nanos")?, 0)?)?;
    Timestamp::from_nanosecond(time).ok()
}

/// Seconds, or milliseconds above [`MILLISECONDS_ABOVE`], with up to nine digits of a fraction of a second.
fn from_number(text: &str) -> Option<Timestamp> {
    let nanoseconds = scaled(text, 9)?;
    let milliseconds = nanoseconds.abs() > MILLISECONDS_ABOVE.checked_mul(1_000_000_000)?;
    let nanoseconds = if milliseconds { scaled(text, 6)? } else { nanoseconds };
    Timestamp::from_nanosecond(nanoseconds).ok()
}

/// A decimal number times ten to the `places`, cut to a whole number; none where it is too large or too long.
fn scaled(text: &str, places: i32) -> Option<i128> {
    if text.len() > 64 {
        return None;
    }
    if let Some(scaled) = short(text, places) {
        return Some(scaled);
    }
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}").parse::<i128>().ok()?;
    let shift = exponent.checked_add(places)?.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10_i128.checked_pow(shift.unsigned_abs());
    match (shift >= 0, power) {
        (true, power) => digits.checked_mul(power?),
        (false, Some(power)) => digits.checked_div(power),
        (false, None) => Some(0),
    }
}

/// The same for up to eighteen digits with a point among them or none: the way that most times are written. None for all
/// others, which says nothing about them.
fn short(text: &str, places: i32) -> Option<i128> {
    let (mut digits, mut fraction) = (0_i64, None);
    if text.len() > 18 || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    for byte in text.bytes() {
        match (byte, &mut fraction) {
            (b'.', None) => fraction = Some(0),
            (b'0'..=b'9', count) => {
                digits = digits * 10 + i64::from(byte - b'0');
                if let Some(count) = count {
                    *count += 1;
                }
            }
            _ => return None,
        }
    }
    let shift = u32::try_from(places.checked_sub(fraction.unwrap_or(0))?).ok()?;
    i128::from(digits).checked_mul(10_i128.checked_pow(shift)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        let rows = [
            ("1767000000.0", "2025-12-29T09:20:00Z"),
            ("1767000000", "2025-12-29T09:20:00Z"),
            ("1796047577.7183697", "2026-11-30T14:06:17.7183697Z"),
            ("1733043686.8428597", "2024-12-01T09:01:26.8428597Z"),
            ("0.1", "1970-01-01T00:00:00.1Z"),
            ("-1.5", "1969-12-31T23:59:58.5Z"),
            ("1.767e9", "2025-12-29T09:20:00Z"),
            ("1796047577718", "2026-11-30T14:06:17.718Z"),
            ("1796047577718.0", "2026-11-30T14:06:17.718Z"),
            ("1e400", ""),
            ("1e-400", "1970-01-01T00:00:00Z"),
            ("99999999999999999999999999", ""),
        ];
        for (number, time) in rows {
            assert_eq!(time_of(Some(&Json::Number(number.into()))), time, "{number}");
        }
    }

    #[test]
    fn moments_are_written_as_everywhere() {
        for seconds in [0, 1, 59, 86_399, 951_782_400, 1_790_000_000, 253_402_300_799, -1, -62_167_219_201] {
            for nanoseconds in [0, 1, 10, 500_000_000, 123_456_789, 999_999_999, 100_000, 20_030_000] {
                let Ok(time) = Timestamp::new(seconds, nanoseconds) else { continue };
                assert_eq!(written(time), time.to_string());
            }
        }
    }

    #[test]
    fn seconds_and_nanoseconds_are_added() {
        let rows = [
            (r#"{"seconds": 1767000000, "nanos": 5}"#, "2025-12-29T09:20:00.000000005Z"),
            (r#"{"seconds": "1767000000"}"#, "2025-12-29T09:20:00Z"),
            (r#"{"seconds": 1767000000.0, "nanos": 500000000.0}"#, "2025-12-29T09:20:00.5Z"),
            (r#"{"nanos": 5}"#, ""),
            (r#"{"seconds": "soon"}"#, ""),
            (r#"{"seconds": []}"#, ""),
        ];
        for (text, time) in rows {
            assert_eq!(time_of(Some(&crate::json::parse(text).unwrap())), time, "{text}");
        }
    }

    #[test]
    fn texts_are_brought_to_utc() {
        let rows = [
            ("2026-01-05T10:00:00.5-08:00", "2026-01-05T18:00:00.5Z"),
            ("2026-11-30T14:11:55.995865294Z", "2026-11-30T14:11:55.995865294Z"),
            ("yesterday", ""),
        ];
        for (text, time) in rows {
            assert_eq!(time_of(Some(&Json::Text(text.into()))), time, "{text}");
        }
        assert_eq!(time_of(None), "");
        assert_eq!(time_of(Some(&Json::Bool(true))), "");
    }
}
