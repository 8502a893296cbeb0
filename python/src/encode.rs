//! Python values as JSON that keeps their kinds.

use gatelog::json::{Json, MAX_DEPTH};
use pyo3::types::{
    PyAnyMethods as _, PyBool, PyByteArray, PyByteArrayMethods as _, PyBytes, PyBytesMethods as _, PyDict,
    PyDictMethods as _, PyFloat, PyFrozenSet, PyInt, PyList, PyListMethods as _, PyModule, PySet, PyString,
    PyStringMethods as _, PyTuple, PyTupleMethods as _, PyType, PyTypeMethods as _,
};
use pyo3::{Bound, PyAny, PyResult, Python, pyfunction};

use crate::faults::{EncodingError, guarded};

/// Keys of objects that stand for a value that JSON cannot hold.
const WRAPPERS: &[&str] = &["bytes", "bytearray", "tuple", "set", "frozenset", "surrogates"];

/// Classes of the standard library whose values are written as one text.
const TEXTS: &[(&str, &str, Text)] = &[
    ("datetime", "date", Text::Iso),
    ("datetime", "datetime", Text::Iso),
    ("datetime", "time", Text::Iso),
    ("datetime", "timedelta", Text::Delta),
    ("decimal", "Decimal", Text::Str),
    ("uuid", "UUID", Text::Str),
    ("pathlib", "PosixPath", Text::Str),
    ("pathlib", "PurePosixPath", Text::Str),
    ("pathlib", "PureWindowsPath", Text::Str),
    ("pathlib", "WindowsPath", Text::Str),
];

/// How a value becomes a text.
#[derive(Debug, Clone, Copy)]
enum Text {
    /// Its own ISO form.
    Iso,
    /// Days, seconds and microseconds.
    Delta,
    /// As it prints.
    Str,
}

/// How keys of dictionaries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keys {
    /// Texts as they are; a dictionary with other keys, or one that looks like a wrapper, is wrapped.
    Plain,
    /// Each with its kind before it.
    Typed,
}

/// A value as ordinary JSON, keys sorted, as checks take arguments.
///
/// What JSON cannot hold becomes an object of one key that says what it is: `tuple`, `set`, `frozenset`, `bytes`,
/// `bytearray`, `surrogates`, or `py:module:name`; a dictionary that looks like one of these, or has keys that are no texts,
/// stands under `py:builtins:dict`. Raises `EncodingError` for anything else, and for what is not finite, nested past 128
/// levels, or holds itself.
#[pyfunction]
pub(crate) fn encode(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<String> {
    written(py, value, Keys::Plain).map(|json| json.ordinary())
}

/// A value as metadata has it: canonical JSON, ASCII alone, every key with its kind before it.
#[pyfunction]
pub(crate) fn encode_metadata(py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<String> {
    written(py, value, Keys::Typed).map(|json| ascii(&json.ordinary()))
}

fn written(py: Python<'_>, value: &Bound<'_, PyAny>, keys: Keys) -> PyResult<Json> {
    guarded(|| {
        let mut writer = Writer { py, keys, path: Vec::new(), enumeration: None };
        writer.value(value)
    })
}

/// The same with `\uXXXX` for all that is not ASCII: in JSON that stands inside texts alone.
fn ascii(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() * 2);
    for letter in text.chars() {
        if letter.is_ascii() {
            out.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

struct Writer<'py> {
    py: Python<'py>,
    keys: Keys,
    /// Where the value stands.
    path: Vec<String>,
    /// `enum.Enum`, once it is needed.
    enumeration: Option<Bound<'py, PyAny>>,
}

type Fields<'py> = Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>;

impl<'py> Writer<'py> {
    fn refuse<T>(&self, why: impl std::fmt::Display) -> PyResult<T> {
        let at = if self.path.is_empty() { String::new() } else { format!("`{}`: ", self.path.join("/")) };
        Err(EncodingError::new_err(format!("{at}{why}")))
    }

    fn inside<T>(&mut self, step: String, work: impl FnOnce(&mut Self) -> PyResult<T>) -> PyResult<T> {
        if self.path.len() >= MAX_DEPTH {
            self.path.truncate(3);
            self.path.push("…".to_owned());
            return self.refuse(format!("nested deeper than {MAX_DEPTH} levels, or it holds itself"));
        }
        self.path.push(step);
        let done = work(self)?;
        self.path.pop();
        Ok(done)
    }

    fn value(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Json> {
        if value.is_none() {
            Ok(Json::Null)
        } else if let Ok(text) = value.cast_exact::<PyString>() {
            self.text(text)
        } else if let Ok(truth) = value.cast_exact::<PyBool>() {
            Ok(Json::Bool(truth.is_truthy()?))
        } else if value.is_exact_instance_of::<PyInt>() || value.is_exact_instance_of::<PyFloat>() {
            self.number(value)
        } else if let Ok(items) = value.cast_exact::<PyList>() {
            self.items(items.iter()).map(Json::Array)
        } else if let Ok(fields) = value.cast_exact::<PyDict>() {
            self.dict(fields)
        } else {
            self.wrapped(value)
        }
    }

    fn text(&self, text: &Bound<'py, PyString>) -> PyResult<Json> {
        if let Ok(text) = text.to_cow() {
            return Ok(Json::Text(text.into()));
        }
        let bytes = text.call_method1("encode", ("utf-8", "surrogatepass"))?;
        Ok(one("surrogates", self.base64(&bytes)?))
    }

    /// As Python writes it.
    fn number(&self, value: &Bound<'py, PyAny>) -> PyResult<Json> {
        let kind: &Bound<'py, PyType> = &if value.is_instance_of::<PyFloat>() {
            if !value.cast::<PyFloat>()?.extract::<f64>()?.is_finite() {
                return self.refuse(format!("{} is not a finite number", value.repr()?));
            }
            self.py.get_type::<PyFloat>()
        } else {
            self.py.get_type::<PyInt>()
        };
        // A subclass may print itself otherwise.
        match kind.call_method1("__repr__", (value,)) {
            Ok(digits) => Ok(Json::Number(digits.extract::<String>()?.into())),
            Err(_) => self.refuse("the integer has too many digits to be written"),
        }
    }

    fn items(&mut self, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Vec<Json>> {
        items.enumerate().map(|(at, item)| self.inside(at.to_string(), |this| this.value(&item))).collect()
    }

    /// Members of a set in the order of their JSON texts.
    fn members(&mut self, set: &Bound<'py, PyAny>) -> PyResult<Json> {
        let items: Vec<_> = set.try_iter()?.collect::<PyResult<_>>()?;
        let mut members = self.items(items.into_iter())?;
        members.sort_by_cached_key(Json::ordinary);
        Ok(Json::Array(members))
    }

    fn dict(&mut self, dict: &Bound<'py, PyDict>) -> PyResult<Json> {
        // The list is ours, so that code of a value cannot change it on the way.
        let fields: Fields<'py> = dict.items().iter().map(|pair| pair.extract()).collect::<PyResult<_>>()?;
        if self.keys == Keys::Typed {
            return self.typed(&fields);
        }
        let mut plain: Vec<Option<String>> = Vec::with_capacity(fields.len());
        for (key, _) in &fields {
            plain.push(key.cast_exact::<PyString>().ok().and_then(|key| key.to_cow().ok().map(Into::into)));
        }
        let names: Option<Vec<String>> = plain.into_iter().collect();
        match names {
            Some(names) if !is_wrapper(&names) => self.named(names, &fields),
            Some(_) | None => Ok(one("py:builtins:dict", self.typed(&fields)?)),
        }
    }

    fn typed(&mut self, fields: &Fields<'py>) -> PyResult<Json> {
        let names = fields.iter().map(|(key, _)| self.key(key)).collect::<PyResult<_>>()?;
        self.named(names, fields)
    }

    fn named(&mut self, names: Vec<String>, fields: &Fields<'py>) -> PyResult<Json> {
        let mut seen = std::collections::BTreeSet::new();
        let mut object = Vec::with_capacity(names.len());
        for (name, (_, value)) in names.into_iter().zip(fields) {
            if !seen.insert(name.clone()) {
                return self.refuse(format!("two keys are written as `{name}`"));
            }
            let value = self.inside(name.clone(), |this| this.value(value))?;
            object.push((name.into(), value));
        }
        Ok(Json::Object(object))
    }

    /// A key with its kind before it.
    fn key(&mut self, key: &Bound<'py, PyAny>) -> PyResult<String> {
        if let Some(text) = key.cast_exact::<PyString>().ok().and_then(|key| key.to_cow().ok()) {
            Ok(format!("s:{text}"))
        } else if let Ok(truth) = key.cast_exact::<PyBool>() {
            Ok(format!("bool:{}", truth.is_truthy()?))
        } else if key.is_none() {
            Ok("n:".to_owned())
        } else if key.is_exact_instance_of::<PyInt>() {
            Ok(format!("i:{}", self.number(key)?.ordinary()))
        } else if key.is_exact_instance_of::<PyBytes>() {
            let bytes = self.base64(key)?;
            Ok(format!("b:{}", bytes.text().unwrap_or_default()))
        } else {
            let json = self.inside("(key)".to_owned(), |this| this.value(key))?;
            Ok(format!("o:{}", json.ordinary()))
        }
    }

    fn wrapped(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Json> {
        if let Ok(items) = value.cast_exact::<PyTuple>() {
            return Ok(one("tuple", Json::Array(self.items(items.iter())?)));
        }
        if value.is_exact_instance_of::<PyBytes>() {
            return Ok(one("bytes", self.base64(value)?));
        }
        if let Ok(bytes) = value.cast_exact::<PyByteArray>() {
            return Ok(one("bytearray", self.base64(&PyBytes::new(self.py, &bytes.to_vec()))?));
        }
        if value.is_exact_instance_of::<PySet>() {
            return Ok(one("set", self.members(value)?));
        }
        if value.is_exact_instance_of::<PyFrozenSet>() {
            return Ok(one("frozenset", self.members(value)?));
        }
        let class = value.get_type();
        let module = class.module()?.to_string();
        let name = class.qualname()?.to_string();
        let json = self.instance(value, &class, &module, &name)?;
        Ok(one(&format!("py:{module}:{name}"), json))
    }

    /// What stands for an instance of a class under its name.
    fn instance(
        &mut self,
        value: &Bound<'py, PyAny>,
        class: &Bound<'py, PyType>,
        module: &str,
        name: &str,
    ) -> PyResult<Json> {
        if self.is_member(value)? {
            return self.member(value, name);
        }
        if let Some((_, _, how)) =
            TEXTS.iter().find(|(of, class, _)| *of == module.trim_end_matches("._local") && *class == name)
        {
            return self.as_text(value, *how);
        }
        if (module, name) == ("collections", "OrderedDict")
            || (module, name) == ("collections", "defaultdict")
        {
            return self.pairs(value);
        }
        if (module, name) == ("builtins", "complex") {
            let parts = [value.getattr("real")?, value.getattr("imag")?];
            return self.items(parts.into_iter()).map(Json::Array);
        }
        if let Some(fields) = fields(value, class)? {
            return self.named_fields(&fields);
        }
        self.derived(value, module, name)
    }

    fn is_member(&mut self, value: &Bound<'py, PyAny>) -> PyResult<bool> {
        if self.enumeration.is_none() {
            self.enumeration = Some(PyModule::import(self.py, "enum")?.getattr("Enum")?);
        }
        self.enumeration.as_ref().map_or(Ok(false), |of| value.is_instance(of))
    }

    /// A member by its name and value.
    fn member(&mut self, value: &Bound<'py, PyAny>, class: &str) -> PyResult<Json> {
        let Ok(name) = value.getattr("_name_")?.extract::<String>() else {
            return self.refuse(format!("a value of `{class}` that is no member of it"));
        };
        let own = value.getattr("_value_")?;
        let own = self.inside("value".to_owned(), |this| this.value(&own))?;
        Ok(Json::Object(vec![("enum".into(), Json::Text(name.into())), ("value".into(), own)]))
    }

    fn as_text(&self, value: &Bound<'py, PyAny>, how: Text) -> PyResult<Json> {
        let text = match how {
            Text::Iso => value.call_method0("isoformat")?.extract::<String>()?,
            Text::Str => value.str()?.extract::<String>()?,
            Text::Delta => {
                let part = |name| value.getattr(name)?.extract::<i64>();
                format!("{}d{}s{}us", part("days")?, part("seconds")?, part("microseconds")?)
            }
        };
        Ok(Json::Text(text.into()))
    }

    /// The items of a dictionary whose order counts.
    fn pairs(&mut self, value: &Bound<'py, PyAny>) -> PyResult<Json> {
        let pairs = value.cast::<PyDict>()?.items();
        let mut written = Vec::with_capacity(pairs.len());
        for (at, pair) in pairs.iter().enumerate() {
            let pair: (Bound<'py, PyAny>, Bound<'py, PyAny>) = pair.extract()?;
            let items = [pair.0, pair.1];
            written.push(Json::Array(self.inside(at.to_string(), |this| this.items(items.into_iter()))?));
        }
        Ok(Json::Array(written))
    }

    fn named_fields(&mut self, fields: &Bound<'py, PyDict>) -> PyResult<Json> {
        self.dict(fields)
    }

    /// What an instance of a class made from a built-in one holds as an instance of that one.
    fn derived(&mut self, value: &Bound<'py, PyAny>, module: &str, name: &str) -> PyResult<Json> {
        if let Ok(text) = value.cast::<PyString>() {
            self.text(text)
        } else if value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>() {
            self.number(value)
        } else if let Ok(items) = value.cast::<PyTuple>() {
            self.items(items.iter()).map(Json::Array)
        } else if let Ok(items) = value.cast::<PyList>() {
            self.items(items.iter()).map(Json::Array)
        } else if let Ok(fields) = value.cast::<PyDict>() {
            self.dict(fields)
        } else if let Ok(bytes) = value.cast::<PyBytes>() {
            self.base64(&PyBytes::new(self.py, bytes.as_bytes()))
        } else {
            self.refuse(format!("a value of `{module}.{name}` cannot be written: give plain data instead"))
        }
    }

    fn base64(&self, bytes: &Bound<'py, PyAny>) -> PyResult<Json> {
        let text = PyModule::import(self.py, "base64")?.call_method1("b64encode", (bytes,))?;
        Ok(Json::Text(text.call_method1("decode", ("ascii",))?.extract::<String>()?.into()))
    }
}

/// The fields of a dataclass or a pydantic model; none for anything else.
fn fields<'py>(
    value: &Bound<'py, PyAny>,
    class: &Bound<'py, PyType>,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let py = value.py();
    if class.hasattr("__pydantic_fields__")? {
        let fields = value.getattr("__dict__")?.cast_into::<PyDict>()?.copy()?;
        if let Ok(extra) = value.getattr("__pydantic_extra__")?.cast_into::<PyDict>() {
            fields.update(extra.as_mapping())?;
        }
        return Ok(Some(fields));
    }
    if !class.hasattr("__dataclass_fields__")? {
        return Ok(None);
    }
    let fields = PyDict::new(py);
    for name in class.getattr("__dataclass_fields__")?.try_iter()? {
        let name = name?;
        let name = name.cast::<PyString>()?;
        // Fields of the class alone are none of the instance.
        if let Some(field) = value.getattr_opt(name)? {
            fields.set_item(name, field)?;
        }
    }
    Ok(Some(fields))
}

fn one(key: &str, value: Json) -> Json {
    Json::Object(vec![(key.into(), value)])
}

/// Whether an object with these keys would look like one that stands for another value.
fn is_wrapper(keys: &[String]) -> bool {
    match keys {
        [key] => WRAPPERS.contains(&key.as_str()) || key.starts_with("py:"),
        _ => false,
    }
}
