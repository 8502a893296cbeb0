//! Conversions between numbers and texts.

use crate::functor::FunctorError;
use crate::functor::Output;
use crate::functor::Parameter;
use crate::functor::call::Entry;
use crate::functor::call::number;
use crate::functor::call::parameter;
use crate::functor::call::shown;
use crate::functor::call::text;
use crate::functor::call::word;
use crate::json::Decimal;
use crate::value::Kind;

const NUMBER: Parameter = parameter("value", Kind::Number);
const UNSIGNED: Parameter = parameter("value", Kind::Unsigned);
const FLOAT: Parameter = parameter("value", Kind::Float);
const TEXT: Parameter = text("text");

const TO_NUMBER: &str = "The value as a number: a text of decimal digits with an optional sign, or another number, cut toward zero; an error where it does not fit.";
const TO_UNSIGNED: &str = "The value as an unsigned number: a text of decimal digits, or another number, cut toward zero; an error where it does not fit.";
const TO_FLOAT: &str = "The value as the nearest double: a decimal text with an optional sign, fraction and exponent, or another number; an error where it does not fit.";
const TO_STRING: &str =
    "The value as a text: decimal digits; a double in the shortest form that reads back as it.";

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("to_number", &[TEXT], |c, _| {
        let text = c.text(0)?;
        number(whole(text).and_then(|value| i64::try_from(value).ok()).ok_or_else(|| none(text, "number"))?)
    })
    .gives(Kind::Number, TO_NUMBER)
    .word()
    .fallible(),
    Entry::total("to_number", &[FLOAT], |c, _| number(float_to_number(c.float(0)?)?))
        .gives(Kind::Number, TO_NUMBER)
        .word()
        .fallible(),
    Entry::total("to_number", &[UNSIGNED], |c, _| {
        let value = c.unsigned(0)?;
        number(i64::try_from(value).map_err(|_| none(&value.to_string(), "number"))?)
    })
    .gives(Kind::Number, TO_NUMBER)
    .word()
    .fallible(),
    Entry::total("to_unsigned", &[TEXT], |c, _| {
        let text = c.text(0)?;
        let value = whole(text).and_then(|value| u64::try_from(value).ok());
        Ok(Some(Output::Unsigned(value.ok_or_else(|| none(text, "unsigned"))?)))
    })
    .gives(Kind::Unsigned, TO_UNSIGNED)
    .word()
    .fallible(),
    Entry::total("to_unsigned", &[NUMBER], |c, _| {
        let value = c.number(0)?;
        Ok(Some(Output::Unsigned(u64::try_from(value).map_err(|_| none(&value.to_string(), "unsigned"))?)))
    })
    .gives(Kind::Unsigned, TO_UNSIGNED)
    .word()
    .fallible(),
    Entry::total("to_unsigned", &[FLOAT], |c, _| Ok(Some(Output::Unsigned(float_to_unsigned(c.float(0)?)?))))
        .gives(Kind::Unsigned, TO_UNSIGNED)
        .word()
        .fallible(),
    Entry::total("to_float", &[TEXT], |c, _| {
        let text = c.text(0)?;
        Ok(Some(Output::Float(float(text).ok_or_else(|| none(text, "float"))?)))
    })
    .gives(Kind::Float, TO_FLOAT)
    .word()
    .fallible(),
    Entry::total("to_float", &[NUMBER], |c, _| Ok(Some(Output::Float(c.number(0)? as f64))))
        .gives(Kind::Float, TO_FLOAT)
        .word(),
    Entry::total("to_float", &[UNSIGNED], |c, _| Ok(Some(Output::Float(c.unsigned(0)? as f64))))
        .gives(Kind::Float, TO_FLOAT)
        .word(),
    Entry::total("to_string", &[NUMBER], |c, _| word(c.number(0)?.to_string()))
        .gives(Kind::Symbol, TO_STRING)
        .word(),
    Entry::total("to_string", &[UNSIGNED], |c, _| word(c.unsigned(0)?.to_string()))
        .gives(Kind::Symbol, TO_STRING)
        .word(),
    Entry::total("to_string", &[FLOAT], |c, _| word(float_text(c.float(0)?)))
        .gives(Kind::Symbol, TO_STRING)
        .word(),
    Entry::total("to_string", &[TEXT], |c, _| word(c.text(0)?)).gives(Kind::Symbol, TO_STRING).word(),
];

fn none(text: &str, kind: &'static str) -> FunctorError {
    FunctorError::NotANumber { text: shown(text), kind }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

/// Decimal digits with an optional sign, and nothing else.
fn whole(text: &str) -> Option<i128> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if !is_digits(digits) {
        return None;
    }
    let size = digits.trim_start_matches('0');
    let size: i128 = if size.is_empty() { 0 } else { size.parse().ok()? };
    Some(sign * size)
}

/// Decimal digits with an optional sign, fraction and exponent, and nothing else: no `inf`, no `nan`.
fn float(text: &str) -> Option<f64> {
    let body = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = body.split_once(['e', 'E']).unwrap_or((body, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, "0"));
    let exponent = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
    if !(is_digits(whole) && is_digits(fraction) && is_digits(exponent)) {
        return None;
    }
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

#[expect(clippy::cast_possible_truncation, reason = "the range is tested before")]
fn float_to_number(value: f64) -> Result<i64, FunctorError> {
    // The upper bound is two to the power of 63, the first double past the range.
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&value) {
        return Ok(value as i64);
    }
    Err(none(&float_text(value), "number"))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is tested before, and what is above -1 is cut to 0"
)]
fn float_to_unsigned(value: f64) -> Result<u64, FunctorError> {
    if value > -1.0 && value < 18_446_744_073_709_551_616.0 {
        return Ok(value as u64);
    }
    Err(none(&float_text(value), "unsigned"))
}

/// The fewest digits that read back as this double, in the form of [`Decimal::canonical`], so that `1.0` is `1` and
/// a JSON number and its double print alike; `nan`, `inf`, `-inf` and `-0` for what JSON cannot hold.
fn float_text(value: f64) -> String {
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    if value == 0.0 && value.is_sign_negative() {
        return "-0".to_owned();
    }
    Decimal::read(&format!("{value:e}")).canonical()
}
