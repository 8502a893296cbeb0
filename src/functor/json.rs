//! Values inside JSON texts.

use crate::functor::Cache;
use crate::functor::FunctorError;
use crate::functor::Output;
use crate::functor::Parameter;
use crate::functor::Role;
use crate::functor::call::Call;
use crate::functor::call::Entry;
use crate::functor::call::Value;
use crate::functor::call::checked;
use crate::functor::call::distinct;
use crate::functor::call::flag;
use crate::functor::call::number;
use crate::functor::call::parameter;
use crate::functor::call::text;
use crate::functor::call::word;
use crate::functor::path;
use crate::json::Decimal;
use crate::json::Json;
use crate::value::Kind;

const JSON: Parameter = text("json");
const KEY: Parameter = text("key");
const PATH: Parameter = checked("path", Role::Path);
const PLACE: Parameter = parameter("i", Kind::Unsigned);

pub(crate) const ENTRIES: &[Entry] = &[
    Entry::total("json_get_str", &[JSON, KEY], |c, m| word(string(field(c, m)?)))
        .gives(Kind::Symbol, "The text at a top-level key, which is taken whole; `\"\"` on a miss."),
    Entry::total("json_get_int", &[JSON, KEY], |c, m| number(field(c, m)?.and_then(integer).unwrap_or(-1)))
        .gives(Kind::Number, "The integer at a top-level key, which is taken whole; -1 on a miss."),
    Entry::total("json_has_field", &[JSON, KEY], |c, m| flag(field(c, m)?.is_some()))
        .gives(Kind::Unsigned, "1 if the top-level key is there, even with null; else 0."),
    Entry::total("json_get_str_path", &[JSON, PATH], |c, m| word(string(at(c, m)?)))
        .gives(Kind::Symbol, "The text at a path; `\"\"` on a miss."),
    Entry::total("json_get_int_path", &[JSON, PATH], |c, m| number(at(c, m)?.and_then(integer).unwrap_or(-1)))
        .gives(Kind::Number, "The integer at a path; -1 on a miss."),
    Entry::total("json_array_len", &[JSON, PATH], |c, m| Ok(Some(Output::Unsigned(items(at(c, m)?).len() as u64))))
        .gives(Kind::Unsigned, "The number of elements of the array at a path; 0 on a miss."),
    Entry::total("json_array_get_str", &[JSON, PATH, PLACE], |c, m| word(string(element(c, m)?)))
        .gives(Kind::Symbol, "The text that is element i of the array at a path; `\"\"` on a miss."),
    Entry::total("json_array_get_field_str", &[JSON, PATH, PLACE, text("field")], |c, m| {
        let name = c.text(3)?;
        word(string(element(c, m)?.and_then(|value| value.field(name))))
    })
    .gives(Kind::Symbol, "A text field of the object that is element i of the array at a path; `\"\"` on a miss."),
    Entry::total("json_object_has_key", &[JSON, PATH, KEY], |c, m| {
        let key = c.text(2)?;
        flag(at(c, m)?.and_then(|value| value.field(key)).is_some())
    })
    .gives(Kind::Unsigned, "1 if the object at a path has the key; else 0."),
    Entry::total(
        "json_object_field_int",
        &[JSON, checked("base", Role::Path), KEY, checked("sub", Role::Path)],
        field_integer,
    )
    .gives(Kind::Number, "The integer at a path, then a key taken whole, then a path; -1 on a miss."),
    Entry::partial("json_str", &[JSON, PATH], |c, m| {
        Ok(at(c, m)?.and_then(Json::text).map(|text| Output::Text(text.to_owned())))
    })
    .gives(Kind::Symbol, "The text at a path; no value on a miss."),
    Entry::partial("json_int", &[JSON, PATH], |c, m| Ok(at(c, m)?.and_then(integer).map(Output::Number)))
        .gives(Kind::Number, "The integer at a path, however it is written; no value on a miss."),
    Entry::partial("json_unsigned", &[JSON, PATH], |c, m| {
        Ok(at(c, m)?.and_then(decimal).and_then(|value| value.unsigned()).map(Output::Unsigned))
    })
    .gives(Kind::Unsigned, "The integer at a path if it is not negative; no value on a miss."),
    Entry::partial("json_float", &[JSON, PATH], |c, m| Ok(at(c, m)?.and_then(float).map(Output::Float)))
        .gives(Kind::Float, "The number at a path as the nearest double; no value on a miss or past its range."),
    Entry::partial("json_bool", &[JSON, PATH], |c, m| Ok(at(c, m)?.and_then(boolean).map(Output::Number)))
        .gives(Kind::Number, "1 for true and 0 for false at a path; no value on a miss."),
    Entry::partial("json_value", &[JSON, PATH], |c, m| {
        Ok(at(c, m)?.map(|value| Output::Text(value.canonical())))
    })
    .gives(Kind::Symbol, "The value at a path as the one JSON text of all values equal to it; no value on a miss."),
    Entry::partial("json_type", &[JSON, PATH], |c, m| {
        Ok(at(c, m)?.map(|value| Output::Text(kind(value).to_owned())))
    })
    .gives(
        Kind::Symbol,
        "`string`, `number`, `boolean`, `null`, `object` or `array` for the value at a path; no value on a miss.",
    ),
    Entry::generator("json_each", &[JSON, PATH], |c, m| distinct(items(at(c, m)?).iter().map(Json::canonical)))
        .gives(Kind::Symbol, "Each element of the array at a path as canonical JSON text."),
    Entry::generator("json_each_str", &[JSON, PATH], |c, m| distinct(items(at(c, m)?).iter().filter_map(Json::text)))
        .gives(Kind::Symbol, "Each text in the array at a path."),
    Entry::generator("json_each_int", &[JSON, PATH], |c, m| Ok(integers(items(at(c, m)?))))
        .gives(Kind::Number, "Each integer in the array at a path."),
    Entry::generator("json_keys", &[JSON, PATH], |c, m| Ok(keys(at(c, m)?)))
        .gives(Kind::Symbol, "Each key of the object at a path."),
    Entry::generator("json_walk_str", &[JSON], |c, m| {
        let mut texts = Vec::new();
        if let Some(value) = m.json(c.symbol(0)?) {
            walk(value, &mut texts);
        }
        distinct(texts)
    })
    .gives(Kind::Symbol, "Every text anywhere in the value, keys not counted."),
];

/// The value at the top-level key that is the second argument.
fn field<'m>(call: &Call<'_>, cache: &'m mut Cache) -> Result<Option<&'m Json>, FunctorError> {
    let key = call.text(1)?;
    Ok(cache.json(call.symbol(0)?).and_then(|value| value.field(key)))
}

/// The value at the path that is the second argument.
fn at<'m>(call: &Call<'_>, cache: &'m mut Cache) -> Result<Option<&'m Json>, FunctorError> {
    let path = call.text(1)?;
    Ok(cache.json(call.symbol(0)?).and_then(|value| path::look_up(value, path)))
}

/// The element at the place that is the third argument, of the array at the path before it.
fn element<'m>(call: &Call<'_>, cache: &'m mut Cache) -> Result<Option<&'m Json>, FunctorError> {
    let place = usize::try_from(call.unsigned(2)?).unwrap_or(usize::MAX);
    Ok(items(at(call, cache)?).get(place))
}

fn field_integer(call: &Call<'_>, cache: &mut Cache) -> Value {
    let (key, sub) = (call.text(2)?, call.text(3)?);
    let value = at(call, cache)?.and_then(|value| value.field(key));
    number(value.and_then(|value| path::look_up(value, sub)).and_then(integer).unwrap_or(-1))
}

fn string(value: Option<&Json>) -> &str {
    value.and_then(Json::text).unwrap_or("")
}

fn items(value: Option<&Json>) -> &[Json] {
    match value {
        Some(Json::Array(items)) => items,
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_)) | None => &[],
    }
}

fn decimal(value: &Json) -> Option<Decimal> {
    match value {
        Json::Number(text) => Some(Decimal::read(text)),
        Json::Null | Json::Bool(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn integer(value: &Json) -> Option<i64> {
    decimal(value).and_then(|value| value.number())
}

fn float(value: &Json) -> Option<f64> {
    match value {
        // Adding zero makes 0 of -0, which are one number and would be two words.
        Json::Number(text) => {
            text.parse::<f64>().ok().filter(|value| value.is_finite()).map(|value| value + 0.0)
        }
        Json::Null | Json::Bool(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn boolean(value: &Json) -> Option<i64> {
    match value {
        Json::Bool(value) => Some(i64::from(*value)),
        Json::Null | Json::Number(_) | Json::Text(_) | Json::Array(_) | Json::Object(_) => None,
    }
}

fn kind(value: &Json) -> &'static str {
    match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "number",
        Json::Text(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    }
}

fn integers(items: &[Json]) -> Vec<Output> {
    let mut seen = std::collections::BTreeSet::new();
    items.iter().filter_map(integer).filter(|&value| seen.insert(value)).map(Output::Number).collect()
}

fn keys(value: Option<&Json>) -> Vec<Output> {
    match value {
        Some(Json::Object(fields)) => fields.iter().map(|(key, _)| Output::Text(key.to_string())).collect(),
        Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Array(_)) | None => {
            Vec::new()
        }
    }
}

/// The depth is that of a parsed value, which is bounded.
fn walk<'a>(value: &'a Json, out: &mut Vec<&'a str>) {
    match value {
        Json::Null | Json::Bool(_) | Json::Number(_) => {}
        Json::Text(text) => out.push(text),
        Json::Array(items) => items.iter().for_each(|item| walk(item, out)),
        Json::Object(fields) => fields.iter().for_each(|(_, item)| walk(item, out)),
    }
}
