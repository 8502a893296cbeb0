//! Paths into JSON: the part of RFC 9535 that names places.

use crate::json::Json;

/// Most steps of a path.
const LONGEST: usize = 32;

/// Places in a value: `$`, then `.name`, `['name']`, `[0]`, `.*` or `[*]`, each of which stands for any depth after another
/// dot, as in `$..token`. Filters, slices and unions are not read.
///
/// ```
/// use gatelog::json::{self, Path, redact};
/// let paths = ["$.card.number", "$..token"].map(|path| Path::parse(path).unwrap());
/// let mut value = json::parse(r#"{"card": {"number": 4, "year": 9}, "a": [{"token": "t"}]}"#).unwrap();
/// assert!(redact(&mut value, &paths));
/// assert_eq!(value.ordinary(), r#"{"a":[{"token":"[redacted]"}],"card":{"number":"[redacted]","year":9}}"#);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Path {
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Step {
    wanted: Wanted,
    /// Whether it may lie at any depth.
    deep: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Wanted {
    Name(String),
    Place(usize),
    Any,
}

/// Why a text is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{path}` is no path at byte {at}: write `$.name`, `$['a name']`, `$.list[0]`, `$.list[*].name` or `$..name`"
)]
pub struct PathFault {
    /// The text.
    pub path: String,
    /// Where it went wrong.
    pub at: usize,
}

impl Path {
    /// Reads a path, which has at least one step.
    ///
    /// # Errors
    /// Where the text is none.
    pub fn parse(path: &str) -> Result<Self, PathFault> {
        let fault = |rest: &str| PathFault { path: path.to_owned(), at: path.len() - rest.len() };
        let mut rest = path.strip_prefix('$').ok_or_else(|| fault(path))?;
        let mut steps = Vec::new();
        while !rest.is_empty() {
            let (step, after) = step(rest).ok_or_else(|| fault(rest))?;
            if steps.len() == LONGEST {
                return Err(fault(rest));
            }
            steps.push(step);
            rest = after;
        }
        if steps.is_empty() { Err(fault(rest)) } else { Ok(Self { steps }) }
    }
}

/// The step that a text begins with, and what is after it.
fn step(text: &str) -> Option<(Step, &str)> {
    let (deep, text) = match text.strip_prefix("..") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let named = if deep { Some(text).filter(|text| !text.starts_with('[')) } else { text.strip_prefix('.') };
    let (wanted, rest) = match named {
        Some(text) => name(text)?,
        None => bracket(text.strip_prefix('[')?)?,
    };
    Some((Step { wanted, deep }, rest))
}

fn name(text: &str) -> Option<(Wanted, &str)> {
    if let Some(rest) = text.strip_prefix('*') {
        return Some((Wanted::Any, rest));
    }
    let end = text.find(|letter: char| !(letter.is_alphanumeric() || letter == '_' || !letter.is_ascii()));
    let (name, rest) = text.split_at_checked(end.unwrap_or(text.len()))?;
    let begins = name.chars().next().is_some_and(|letter| !letter.is_ascii_digit());
    begins.then(|| (Wanted::Name(name.to_owned()), rest))
}

/// What stands in brackets, without the first.
fn bracket(text: &str) -> Option<(Wanted, &str)> {
    if let Some(rest) = text.strip_prefix("*]") {
        return Some((Wanted::Any, rest));
    }
    let quote = text.chars().next().filter(|letter| matches!(letter, '\'' | '"'));
    let Some(quote) = quote else {
        let (digits, rest) = text.split_once(']')?;
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        return is_number.then(|| Some((Wanted::Place(digits.parse().ok()?), rest)))?;
    };
    let mut name = String::new();
    let mut letters = text.char_indices().skip(1);
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => {
                let (_, escaped) = letters.next()?;
                name.push(Some(escaped).filter(|letter| matches!(letter, '\'' | '"' | '\\'))?);
            }
            letter if letter == quote => {
                let rest = text.get(at + quote.len_utf8()..)?.strip_prefix(']')?;
                return Some((Wanted::Name(name), rest));
            }
            letter => name.push(letter),
        }
    }
    None
}

/// Puts `"[redacted]"` in the place of all that the paths name, and says whether there was anything. Time grows with the
/// size of the value times the steps of all paths.
pub fn redact(value: &mut Json, paths: &[Path]) -> bool {
    let steps: Vec<&[Step]> = paths.iter().map(|path| path.steps.as_slice()).collect();
    walk(value, &steps)
}

/// Redacts what lies behind these steps. The depth is that of the value, which reading bounds.
fn walk(value: &mut Json, open: &[&[Step]]) -> bool {
    let mut any = false;
    match value {
        Json::Array(items) => {
            for (place, item) in items.iter_mut().enumerate() {
                any |= enter(item, open, &|wanted| match wanted {
                    Wanted::Place(number) => *number == place,
                    Wanted::Any => true,
                    Wanted::Name(_) => false,
                });
            }
        }
        Json::Object(fields) => {
            for (key, item) in fields.iter_mut() {
                any |= enter(item, open, &|wanted| match wanted {
                    Wanted::Name(name) => **name == **key,
                    Wanted::Any => true,
                    Wanted::Place(_) => false,
                });
            }
        }
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) => {}
    }
    any
}

fn enter(item: &mut Json, open: &[&[Step]], fits: &dyn Fn(&Wanted) -> bool) -> bool {
    let mut inner: Vec<&[Step]> = Vec::new();
    for steps in open {
        let Some((first, rest)) = steps.split_first() else { continue };
        if fits(&first.wanted) {
            if rest.is_empty() {
                *item = Json::Text("[redacted]".into());
                return true;
            }
            inner.push(rest);
        }
        if first.deep {
            inner.push(steps);
        }
    }
    // Two ways to one step are one.
    inner.sort_by_key(|steps| (steps.as_ptr(), steps.len()));
    inner.dedup_by_key(|steps| (steps.as_ptr(), steps.len()));
    if inner.is_empty() { false } else { walk(item, &inner) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::parse;

    #[test]
    fn paths_name_places() {
        let value = r#"{"a":[{"b":1,"c d":2},{"b":[3]}],"b":4,"e":{"b":{"f":5}}}"#;
        let rows = [
            ("$.a", r#"{"a":"[redacted]","b":4,"e":{"b":{"f":5}}}"#),
            ("$['b']", r#"{"a":[{"b":1,"c d":2},{"b":[3]}],"b":"[redacted]","e":{"b":{"f":5}}}"#),
            ("$.a[1].b[0]", r#"{"a":[{"b":1,"c d":2},{"b":["[redacted]"]}],"b":4,"e":{"b":{"f":5}}}"#),
            ("$.a[*][\"c d\"]", r#"{"a":[{"b":1,"c d":"[redacted]"},{"b":[3]}],"b":4,"e":{"b":{"f":5}}}"#),
            (
                "$..b",
                r#"{"a":[{"b":"[redacted]","c d":2},{"b":"[redacted]"}],"b":"[redacted]","e":{"b":"[redacted]"}}"#,
            ),
            ("$..[0]", r#"{"a":["[redacted]",{"b":["[redacted]"]}],"b":4,"e":{"b":{"f":5}}}"#),
            ("$.e.*.f", r#"{"a":[{"b":1,"c d":2},{"b":[3]}],"b":4,"e":{"b":{"f":"[redacted]"}}}"#),
            ("$.x.y", value),
        ];
        for (path, expected) in rows {
            let mut json = parse(value).unwrap();
            let any = redact(&mut json, &[Path::parse(path).unwrap()]);
            assert_eq!((json.ordinary().as_str(), any), (expected, expected != value), "{path}");
        }
    }

    #[test]
    fn other_texts_are_refused_with_the_place() {
        let long = format!("${}", ".a".repeat(LONGEST + 1));
        let rows = [
            ("", 0),
            ("a", 0),
            ("$", 1),
            ("$.", 1),
            ("$..", 1),
            ("$.a.", 3),
            ("$.1", 1),
            ("$[", 1),
            ("$[-1]", 1),
            ("$[1:2]", 1),
            ("$['a'", 1),
            ("$['a\\n']", 1),
            ("$.a[?@.b]", 3),
            ("$[99999999999999999999]", 1),
            (&long, 1 + 2 * LONGEST),
        ];
        for (path, at) in rows {
            assert_eq!(Path::parse(path), Err(PathFault { path: path.to_owned(), at }), "{path}");
        }
    }
}
