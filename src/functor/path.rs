//! JSON paths.

use crate::json;
use crate::json::Json;

/// One step of a JSON path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// The value of that key of an object.
    Key(String),
    /// The element at that place of an array.
    Place(usize),
}

/// Reads a JSON path: keys between dots, `[n]` for a place, `["any key"]` for a key taken whole. Empty keys between
/// dots are left out, so that the empty path is the root.
///
/// `path = step*`, `step = "." | key | "[" (digits | text) "]"`; after `]` comes `.`, `[` or the end.
///
/// # Errors
/// Says what is wrong with the path.
pub(crate) fn parse(path: &str) -> Result<Vec<Step>, String> {
    let mut steps = Vec::new();
    let mut rest = path;
    while let Some(c) = rest.chars().next() {
        match c {
            '.' => rest = rest.get(1..).unwrap_or(""),
            '[' => {
                let (step, after) = bracket(rest.get(1..).unwrap_or(""))?;
                if !(after.is_empty() || after.starts_with(['.', '['])) {
                    return Err("after `]` in a path comes `.`, `[` or the end".to_owned());
                }
                steps.push(step);
                rest = after;
            }
            ']' => {
                return Err(
                    "a `]` in the path closes nothing; write a key that holds one as `[\"…\"]`".to_owned()
                );
            }
            _ => {
                let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
                let (key, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
                steps.push(Step::Key(key.to_owned()));
                rest = after;
            }
        }
    }
    Ok(steps)
}

/// What stands after `[`, up to and without the rest behind `]`.
fn bracket(text: &str) -> Result<(Step, &str), String> {
    if text.starts_with('"') {
        return quoted(text);
    }
    let (digits, after) = text.split_once(']').ok_or("a `[` in the path is never closed")?;
    let decimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !decimal || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(format!(
            "`[{digits}]` in the path is neither a place such as `[0]` nor a key in double quotes"
        ));
    }
    // A place past what can be counted is a place past the end of every array.
    Ok((Step::Place(digits.parse().unwrap_or(usize::MAX)), after))
}

fn quoted(text: &str) -> Result<(Step, &str), String> {
    let mut escaped = false;
    let close = text.char_indices().skip(1).find(|&(_, c)| {
        let closes = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        closes
    });
    let (end, _) = close.ok_or("a quote in the path is never closed")?;
    let (literal, after) = text.split_at_checked(end + 1).unwrap_or((text, ""));
    let Ok(Json::Text(key)) = json::parse(literal) else {
        return Err(format!("`{literal}` in the path is not a JSON text"));
    };
    let after = after.strip_prefix(']').ok_or("after a key in double quotes in the path comes `]`")?;
    Ok((Step::Key(key.into()), after))
}

/// The value that the path leads to.
pub(crate) fn follow<'a>(value: &'a Json, steps: &[Step]) -> Option<&'a Json> {
    steps.iter().try_fold(value, |value, step| match (step, value) {
        (Step::Key(key), _) => value.field(key),
        (&Step::Place(place), Json::Array(items)) => items.get(place),
        (Step::Place(_), _) => None,
    })
}

/// The value that a path leads to; none for a malformed path.
pub(crate) fn look_up<'a>(value: &'a Json, path: &str) -> Option<&'a Json> {
    follow(value, &parse(path).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths() {
        let rows = [
            ("", r#"[]"#),
            (".", r#"[]"#),
            ("a", r#"[Key("a")]"#),
            (".a..b.", r#"[Key("a"), Key("b")]"#),
            ("a[0][12].c", r#"[Key("a"), Place(0), Place(12), Key("c")]"#),
            ("a.[0]", r#"[Key("a"), Place(0)]"#),
            (r#"["k.d"]"#, r#"[Key("k.d")]"#),
            (r#"a["x\"]\u00e9"].b"#, r#"[Key("a"), Key("x\"]é"), Key("b")]"#),
            (r#"[""]"#, r#"[Key("")]"#),
            ("s:a b.c\"d", r#"[Key("s:a b"), Key("c\"d")]"#),
            ("[99999999999999999999]", "[Place(18446744073709551615)]"),
        ];
        for (path, expected) in rows {
            assert_eq!(format!("{:?}", parse(path).unwrap()), expected, "{path}");
        }
    }

    #[test]
    fn malformed_paths() {
        let rows = [
            ("a[", "never closed"),
            ("a[0", "never closed"),
            ("a[]", "neither a place"),
            ("a[-1]", "neither a place"),
            ("a[+1]", "neither a place"),
            ("a[ 0]", "neither a place"),
            ("a[0x]", "neither a place"),
            ("a[007]", "neither a place"),
            ("a[x]", "neither a place"),
            ("a[0]b", "after `]`"),
            ("a]", "closes nothing"),
            ("a]b", "closes nothing"),
            (r#"["a.b]"#, "quote in the path is never closed"),
            (r#"["a\"]"#, "quote in the path is never closed"),
            (r#"["a"b]"#, "comes `]`"),
            (r#"["\q"]"#, "not a JSON text"),
        ];
        for (path, part) in rows {
            let fault = parse(path).unwrap_err();
            assert!(fault.contains(part), "{path}: {fault}");
        }
    }
}
