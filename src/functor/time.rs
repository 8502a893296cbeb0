//! Points in time as RFC 3339 writes them.

use jiff::civil::Date;
use jiff::civil::DateTime;
use jiff::civil::Time;

use crate::functor::Cache;
use crate::functor::FunctorError;
use crate::functor::Output;
use crate::functor::Parameter;
use crate::functor::call::Call;
use crate::functor::call::Entry;
use crate::functor::call::Value;
use crate::functor::call::number;
use crate::functor::call::text;
use crate::value::Kind;

const TIME: Parameter = text("time");
const SECOND: i128 = 1_000_000_000;

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("hours_between", &[text("a"), text("b")], |c, _| {
        let hours = between(c)?.and_then(|span| i64::try_from(span.abs() / (3600 * SECOND)).ok());
        number(hours.unwrap_or(-1))
    })
    .gives(
        Kind::Number,
        "Whole hours between two times, rounded down, never negative; -1 if either is no time.",
    ),
    Entry::partial("seconds_between", &[text("a"), text("b")], |c, _| {
        optional(between(c)?.map(|span| span / SECOND))
    })
    .gives(
        Kind::Number,
        "Whole seconds from a to b, negative if b is earlier; no value if either is no time.",
    ),
    Entry::partial("epoch_seconds", &[TIME], |c, _| {
        optional(read(c.text(0)?).map(|moment| moment.epoch.div_euclid(SECOND)))
    })
    .gives(Kind::Number, "Seconds since 1970-01-01T00:00:00Z, rounded down; no value if it is no time."),
    Entry::partial("weekday", &[TIME], weekday).gives(
        Kind::Number,
        "The day of the week in the written offset, Monday as 1; no value if it is no time.",
    ),
    Entry::partial("hour_of_day", &[TIME], |c, _| {
        Ok(read(c.text(0)?).map(|moment| Output::Number(i64::from(moment.local.hour()))))
    })
    .gives(Kind::Number, "The hour in the written offset, 0 to 23; no value if it is no time."),
];

/// A point in time, and the date and hour that were written for it.
#[derive(Debug, Clone, Copy)]
struct Moment {
    local: DateTime,
    /// Nanoseconds since 1970-01-01T00:00:00Z.
    epoch: i128,
}

fn optional(value: Option<i128>) -> Value {
    Ok(value.and_then(|value| i64::try_from(value).ok()).map(Output::Number))
}

/// Nanoseconds from the first to the second time.
fn between(call: &Call<'_>) -> Result<Option<i128>, FunctorError> {
    let (a, b) = (read(call.text(0)?), read(call.text(1)?));
    Ok(a.zip(b).map(|(a, b)| b.epoch - a.epoch))
}

fn weekday(call: &Call<'_>, _: &mut Cache) -> Value {
    let day = read(call.text(0)?).map(|moment| moment.local.weekday().to_monday_one_offset());
    Ok(day.map(|day| Output::Number(i64::from(day))))
}

/// `time = date ("T" | " ") hour ":" minute ":" second ["." digits] ["Z" | ("+" | "-") hour ":" minute]`
///
/// Without an offset it is UTC. Digits of the fraction past the ninth say nothing. A leap second may be written where
/// one can be: at 23:59:60 UTC.
fn read(text: &str) -> Option<Moment> {
    let mut rest = text;
    let year = i16::try_from(digits(&mut rest, 4)?).ok()?;
    literal(&mut rest, &['-'])?;
    let month = pair(&mut rest)?;
    literal(&mut rest, &['-'])?;
    let date = Date::new(year, month, pair(&mut rest)?).ok()?;
    literal(&mut rest, &['T', 't', ' '])?;
    let hour = pair(&mut rest)?;
    literal(&mut rest, &[':'])?;
    let minute = pair(&mut rest)?;
    literal(&mut rest, &[':'])?;
    let second = pair(&mut rest)?;
    let fraction = fraction(&mut rest)?;
    let offset = offset(rest)?;
    let is_leap = second == 60;
    let local = date.to_datetime(Time::new(hour, minute, if is_leap { 59 } else { second }, 0).ok()?);
    let start = Date::new(1970, 1, 1).ok()?.to_datetime(Time::midnight());
    let seconds = i128::from(local.duration_since(start).as_secs()) - i128::from(offset);
    if is_leap && seconds.rem_euclid(86_400) != 86_399 {
        return None;
    }
    Some(Moment { local, epoch: (seconds + i128::from(is_leap)) * SECOND + i128::from(fraction) })
}

fn literal(rest: &mut &str, allowed: &[char]) -> Option<()> {
    *rest = rest.strip_prefix(allowed)?;
    Some(())
}

fn digits(rest: &mut &str, count: usize) -> Option<i32> {
    let (digits, after) = rest.split_at_checked(count)?;
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    *rest = after;
    digits.parse().ok()
}

fn pair(rest: &mut &str) -> Option<i8> {
    i8::try_from(digits(rest, 2)?).ok()
}

/// Nanoseconds of the fraction, 0 where none is written.
fn fraction(rest: &mut &str) -> Option<u32> {
    let Some(tail) = rest.strip_prefix('.') else { return Some(0) };
    let end = tail.find(|c: char| !c.is_ascii_digit()).unwrap_or(tail.len());
    let (written, after) = tail.split_at_checked(end)?;
    if written.is_empty() {
        return None;
    }
    *rest = after;
    let nine: String = written.chars().chain("000000000".chars()).take(9).collect();
    nine.parse().ok()
}

/// Seconds east of UTC.
fn offset(text: &str) -> Option<i32> {
    if text.is_empty() || text == "Z" || text == "z" {
        return Some(0);
    }
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+')?),
    };
    let hours = digits(&mut rest, 2)?;
    literal(&mut rest, &[':'])?;
    let minutes = digits(&mut rest, 2)?;
    if !rest.is_empty() || hours > 23 || minutes > 59 {
        return None;
    }
    Some(sign * (hours * 3600 + minutes * 60))
}
