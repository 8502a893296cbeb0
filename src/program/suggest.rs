//! Names that were probably meant.

/// The name that was most likely meant, if one is near enough: by its letters, else by the words it is made of. Case does
/// not count, nor does the order of words.
///
/// ```
/// use gatelog::program::nearest;
///
/// let known = ["CallTool", "HTTPRequest", "SendAttempt"];
/// assert_eq!(nearest("ToolCall", known.into_iter()), Some("CallTool"));
/// assert_eq!(nearest("HTTPRequst", known.into_iter()), Some("HTTPRequest"));
/// ```
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let words = words(name);
    let length = wanted.chars().count();
    let limit = if length < 3 { 0 } else { (length / 3).max(1) };
    known
        .filter_map(|other| {
            let distance = strsim::damerau_levenshtein(&wanted, &other.to_lowercase());
            let rank = if distance <= limit { Some(0) } else { rank(&words, &self::words(other)) };
            rank.map(|rank| (rank, distance, other))
        })
        .min()
        .map(|(.., other)| other)
}

/// `did you mean …?` with the nearest name, else the other words.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    nearest(name, known).map_or_else(|| otherwise.to_owned(), |other| format!("did you mean `{other}`?"))
}

/// What other languages call a kind of value, and the words for it here.
const KINDS: [(&str, &[&str]); 9] = [
    ("number", &["float", "int"]),
    ("numeric", &["float", "int"]),
    ("decimal", &["float"]),
    ("double", &["float"]),
    ("integer", &["int"]),
    ("long", &["int"]),
    ("string", &["str"]),
    ("text", &["str"]),
    ("boolean", &["bool"]),
];

/// The known names that differ from the name in what they call a kind of value.
pub(crate) fn in_other_words<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let words = words(name);
    let mut wanted = Vec::new();
    for (at, word) in words.iter().enumerate() {
        for other in KINDS.iter().filter(|(kind, _)| kind == word).flat_map(|(_, others)| *others) {
            let mut words = words.clone();
            words.splice(at..=at, [(*other).to_owned()]);
            wanted.push(words);
        }
    }
    let mut found: Vec<_> = known.filter(|other| wanted.contains(&self::words(other))).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// Names that begin with the same word, the nearest of them first.
pub(crate) fn family<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let wanted = name.to_lowercase();
    let Some(first) = words(name).into_iter().next() else { return Vec::new() };
    let of_it = known.filter(|other| words(other).first() == Some(&first));
    let mut found: Vec<_> =
        of_it.map(|other| (strsim::damerau_levenshtein(&wanted, &other.to_lowercase()), other)).collect();
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(_, other)| other).collect()
}

/// How well the words of two names go together, 1 best: the same words in any order, or all but one of either.
fn rank(wanted: &[String], other: &[String]) -> Option<u8> {
    let mut rest: Vec<&String> = other.iter().collect();
    let mut letters = 0;
    for word in wanted {
        if let Some(at) = rest.iter().position(|other| alike(word, other)) {
            rest.remove(at);
            letters += word.chars().count();
        }
    }
    let shared = other.len() - rest.len();
    let left = (wanted.len() - shared) + rest.len();
    match (shared, left) {
        (2.., 0) => Some(1),
        (2.., 1) => Some(2),
        (1, 1) if letters >= 4 => Some(3),
        _ => None,
    }
}

/// Whether two words are one but for a letter, or one is cut short.
fn alike(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    let letters = short.chars().count();
    short == long
        || letters >= 3 && long.starts_with(short)
        || letters >= 4 && strsim::damerau_levenshtein(short, long) <= 1
}

/// The words of a name in small letters: `_` and capitals part them.
fn words(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut words = vec![String::new()];
    let mut before: Option<char> = None;
    for (at, &letter) in letters.iter().enumerate() {
        let after = letters.get(at + 1);
        let begins = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || after.is_some_and(|after| after.is_lowercase())
            });
        if begins || !letter.is_alphanumeric() {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| letter.is_alphanumeric()) {
            word.extend(letter.to_lowercase());
        }
        before = Some(letter);
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["CurrentDepends", "Current", "ToolResult", "IsTool", "HasRole", "json_get_str"];
        let rows = [
            ("CurentDepends", Some("CurrentDepends")),
            ("current", Some("Current")),
            ("ToolResults", Some("ToolResult")),
            ("ResultTool", Some("ToolResult")),
            ("result_of_tool", Some("ToolResult")),
            ("DependsCurrent", Some("CurrentDepends")),
            ("Role", Some("HasRole")),
            ("get_json_string", Some("json_get_str")),
            ("Payment", None),
            ("Is", None),
            ("", None),
            ("_", None),
        ];
        for (name, expected) in rows {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        }
    }

    #[test]
    fn names_fall_into_words() {
        let rows: [(&str, &[&str]); 6] = [
            ("CallTool", &["call", "tool"]),
            ("HTTPRequest", &["http", "request"]),
            ("json_get_str", &["json", "get", "str"]),
            ("s2", &["s2"]),
            ("__x", &["x"]),
            ("", &[]),
        ];
        for (name, expected) in rows {
            assert_eq!(words(name), expected, "{name}");
        }
    }

    #[test]
    fn kinds_have_other_names_elsewhere() {
        let known = ["json_float", "json_int", "json_str", "json_get_int"];
        assert_eq!(in_other_words("json_number", known.into_iter()), ["json_float", "json_int"]);
        assert_eq!(in_other_words("json_get_integer", known.into_iter()), ["json_get_int"]);
        assert_eq!(in_other_words("jsonString", known.into_iter()), ["json_str"]);
        assert_eq!(in_other_words("json_int", known.into_iter()), [""; 0]);
    }

    #[test]
    fn a_family_begins_with_the_same_word() {
        let known = ["json_int", "json_str", "jsonify", "url_host", "json_number_of"];
        assert_eq!(family("json_number", known.into_iter()), ["json_number_of", "json_str", "json_int"]);
        assert_eq!(family("shell", known.into_iter()), [""; 0]);
    }
}
