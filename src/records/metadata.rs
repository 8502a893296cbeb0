//! A part as canonical JSON: every key says the kind of key it is.

use crate::json::Json;
use crate::json::plain_length;
use crate::recording::FieldValue;
use crate::recording::to_base64;
use crate::records::Text;
use crate::records::secret::without_credentials;
use std::fmt::Write as _;

/// A number that no double can hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unencodable {
    /// As written.
    pub(crate) number: String,
}

/// A field of a part, by the name that it has in snake case.
pub(crate) enum Field<'a> {
    Value(&'a Json),
    /// The same, credentials inside left out.
    Guarded(&'a Json),
    Text(&'a str),
    True,
    Bytes(&'a [u8]),
    Object(Vec<(&'a str, Self)>),
    List(Vec<Self>),
}

impl<'a> From<&'a FieldValue> for Field<'a> {
    // A field's value is as deep as the schema of a part says.
    fn from(value: &'a FieldValue) -> Self {
        match value {
            FieldValue::Plain(json) => Self::Guarded(json),
            FieldValue::Bytes(bytes) => Self::Bytes(bytes),
            FieldValue::Object(fields) => {
                Self::Object(fields.iter().map(|(name, value)| (name.as_str(), value.into())).collect())
            }
            FieldValue::List(items) => Self::List(items.iter().map(Self::from).collect()),
        }
    }
}

/// The object of these fields, sorted by code point, without blanks, ASCII alone.
pub(crate) fn encode(fields: Vec<(&str, Field<'_>)>) -> Result<Text, Unencodable> {
    let mut out = String::with_capacity(256);
    write_fields(&mut out, fields)?;
    Ok(out.into())
}

/// Adds the id and the name of a call where they are not empty.
pub(crate) fn add_named<'a>(fields: &mut Vec<(&'a str, Field<'a>)>, id: &'a str, name: &'a str) {
    for (key, value) in [("id", id), ("name", name)] {
        if !value.is_empty() {
            fields.push((key, Field::Text(value)));
        }
    }
}

fn write_fields(out: &mut String, mut fields: Vec<(&str, Field<'_>)>) -> Result<(), Unencodable> {
    fields.sort_by(|a, b| a.0.cmp(b.0));
    out.push('{');
    for (i, (name, field)) in fields.into_iter().enumerate() {
        if i > 0 {
            out.push(',');
        }
        write_key(out, name);
        write_field(out, field)?;
    }
    out.push('}');
    Ok(())
}

fn write_field(out: &mut String, field: Field<'_>) -> Result<(), Unencodable> {
    match field {
        Field::Value(value) => write_value(out, value)?,
        Field::Guarded(value) => write_value(out, &without_credentials(value))?,
        Field::Text(text) => write_ascii(out, text),
        Field::True => out.push_str("true"),
        Field::Bytes(bytes) => {
            out.push_str("{\"bytes\":\"");
            out.push_str(&to_base64(bytes));
            out.push_str("\"}");
        }
        Field::Object(inner) => write_fields(out, inner)?,
        Field::List(items) => {
            out.push('[');
            for (i, item) in items.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_field(out, item)?;
            }
            out.push(']');
        }
    }
    Ok(())
}

fn write_key(out: &mut String, key: &str) {
    out.push_str("\"s:");
    write_escaped(out, key);
    out.push_str("\":");
}

fn write_value(out: &mut String, value: &Json) -> Result<(), Unencodable> {
    match value {
        Json::Null => out.push_str("null"),
        Json::Bool(true) => out.push_str("true"),
        Json::Bool(false) => out.push_str("false"),
        Json::Number(text) => write_number(out, text)?,
        Json::Text(text) => write_ascii(out, text),
        Json::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(out, item)?;
            }
            out.push(']');
        }
        Json::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0));
            out.push('{');
            for (i, (key, value)) in sorted.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_key(out, key);
                write_value(out, value)?;
            }
            out.push('}');
        }
    }
    Ok(())
}

/// Integers as written, floats in the shortest form that reads back as the same double.
fn write_number(out: &mut String, text: &str) -> Result<(), Unencodable> {
    if !text.contains(['.', 'e', 'E']) {
        out.push_str(text);
        return Ok(());
    }
    match text.parse::<f64>() {
        Ok(value) if value.is_finite() => {
            write_float(out, value);
            Ok(())
        }
        _ => Err(Unencodable { number: text.to_owned() }),
    }
}

/// Shortest digits; an exponent of at least two digits below 1e-4 and from 1e16 on, as Python prints doubles.
fn write_float(out: &mut String, value: f64) {
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    // Writing to a String cannot fail.
    let _ = if value == 0.0 || (-4..16).contains(&exponent) {
        write!(out, "{value:?}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.unsigned_abs())
    };
}

fn write_ascii(out: &mut String, text: &str) {
    out.push('"');
    write_escaped(out, text);
    out.push('"');
}

fn write_escaped(out: &mut String, text: &str) {
    if text.is_ascii() && plain_length(text.as_bytes()) == text.len() {
        out.push_str(text);
        return;
    }
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='\u{7f}' => out.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    let _ = write!(out, "\\u{unit:04x}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Result<Text, Unencodable> {
        let json = crate::json::parse(text).unwrap();
        encode(vec![("v", Field::Value(&json))])
    }

    #[test]
    fn values_are_canonical() {
        let rows = [
            (
                r#"{"b":1,"a":{"z":null,"é.y":true}}"#,
                r#"{"s:v":{"s:a":{"s:z":null,"s:\u00e9.y":true},"s:b":1}}"#,
            ),
            (r#""😀\u0001\b/""#, r#"{"s:v":"\ud83d\ude00\u0001\b/"}"#),
            ("[5, 5.0, 100.00, 1e2, 1E400000, 1]", ""),
            (
                "[5, 5.0, 100.00, 1e2, 18446744073709551616, -0, -0.0]",
                r#"{"s:v":[5,5.0,100.0,100.0,18446744073709551616,-0,-0.0]}"#,
            ),
            (
                "[1e16, 1.5e-7, 0.0001, 0.1, 123456789012345680.0, 1e-324]",
                r#"{"s:v":[1e+16,1.5e-07,0.0001,0.1,1.2345678901234568e+17,0.0]}"#,
            ),
        ];
        for (given, expected) in rows {
            assert_eq!(value(given).unwrap_or_default(), expected, "{given}");
        }
    }

    #[test]
    fn bytes_are_standard_base64() {
        for (bytes, expected) in
            [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (&[255, 254, 253], "//79")]
        {
            let text = encode(vec![("thought_signature", Field::Bytes(bytes))]).unwrap();
            assert_eq!(text, format!(r#"{{"s:thought_signature":{{"bytes":"{expected}"}}}}"#));
        }
    }
}
