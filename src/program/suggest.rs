/// The name that was most likely meant, if one is near enough.
#[must_use]
pub fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    let length = wanted.chars().count();
    let limit = if length < 3 { 0 } else { (length / 3).max(1) };
    known
        .map(|other| (strsim::damerau_levenshtein(&wanted, &other.to_lowercase()), other))
        .filter(|&(distance, _)| distance <= limit)
        .min()
        .map(|(_, other)| other)
}

/// `did you mean …?` with the nearest name, else the other words.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>, otherwise: &str) -> String {
    nearest(name, known).map_or_else(|| otherwise.to_owned(), |other| format!("did you mean `{other}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_names_are_found_and_far_ones_are_not() {
        let known = ["CurrentDepends", "Current", "ToolResult"];
        let rows = [
            ("CurentDepends", Some("CurrentDepends")),
            ("current", Some("Current")),
            ("ToolResults", Some("ToolResult")),
            ("Payment", None),
        ];
        for (name, expected) in rows {
            assert_eq!(nearest(name, known.into_iter()), expected, "{name}");
        }
    }
}
