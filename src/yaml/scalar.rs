//! What a scalar without quotes means in the core schema of YAML.

use crate::json::{self, Json};

/// Whether the text is `null` in one of its spellings.
pub(crate) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// `true` or `false` in one of its spellings.
pub(crate) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// The core schema: `null`, booleans, integers in three bases, floats, else text.
pub(crate) fn plain(text: &str) -> Result<Json, String> {
    if is_null(text) {
        return Ok(Json::Null);
    }
    if let Some(value) = boolean(text) {
        return Ok(Json::Bool(value));
    }
    if let Ok(Json::Number(number)) = json::parse(text)
        && &*number == text
    {
        return Ok(Json::Number(number));
    }
    if matches!(text.trim_start_matches(['+', '-']), ".inf" | ".Inf" | ".INF" | ".nan" | ".NaN" | ".NAN") {
        return Err(format!("`{text}` is not a number that JSON can hold"));
    }
    match other_number(text) {
        Some(Ok(number)) => Ok(Json::Number(number.into())),
        Some(Err(())) => Err(format!("the number `{text}` is too large")),
        None => Ok(Json::Text(text.into())),
    }
}

/// A number of the core schema that JSON writes otherwise: `+1`, `007`, `0o17`, `0x1f`, `.5`, `5.`.
fn other_number(text: &str) -> Option<Result<String, ()>> {
    for (prefix, radix) in [("0o", 8), ("0x", 16)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            let all = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
            let value = |digits| u128::from_str_radix(digits, radix).map(|n| n.to_string()).map_err(|_| ());
            return all.then(|| value(digits));
        }
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => rest.split_at(at),
        None => (rest, ""),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    if whole.is_empty() && fraction.is_none_or(str::is_empty) {
        return None;
    }
    let whole = match whole.trim_start_matches('0') {
        "" => "0",
        digits => digits,
    };
    let fraction = match fraction {
        None => String::new(),
        Some("") => ".0".to_owned(),
        Some(digits) => format!(".{digits}"),
    };
    let number = format!("{sign}{whole}{fraction}{exponent}");
    matches!(json::parse(&number), Ok(Json::Number(_))).then_some(Ok(number))
}
