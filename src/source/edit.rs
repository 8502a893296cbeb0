//! Fixes applied to texts.

use std::collections::BTreeMap;

use crate::source::{Diagnostic, FileId, Sources, Span};

/// The texts that the fixes of these findings change, changed, with how many fixes each took. Of fixes that touch the
/// same place the first is made; a fix is made whole or not at all.
///
/// ```
/// use gatelog::source::{Diagnostic, Sources, Span, apply};
///
/// let mut sources = Sources::default();
/// let file = sources.add("p.dl", "R(x) :- S(x, y).");
/// let finding = Diagnostic::warning("W0001", Span { file, start: 13, end: 14 }, "…")
///     .with_fix("name it `_y`", vec![(Span { file, start: 13, end: 14 }, "_y".to_owned())]);
/// assert_eq!(apply(&sources, &[finding]), [(file, "R(x) :- S(x, _y).".to_owned(), 1)]);
/// ```
#[must_use]
pub fn apply(sources: &Sources, findings: &[Diagnostic]) -> Vec<(FileId, String, usize)> {
    let mut taken: BTreeMap<FileId, Taken<'_>> = BTreeMap::new();
    for fix in findings.iter().filter_map(|finding| finding.fix.as_ref()) {
        let is_free = fix.edits.iter().all(|(span, _)| {
            let others = taken.get(&span.file).map_or(&[][..], |taken| &taken.edits);
            is_inside(sources, *span) && others.iter().all(|(other, _)| !touch(*span, *other))
        });
        let Some((first, _)) = fix.edits.first().filter(|_| is_free) else { continue };
        taken.entry(first.file).or_default().fixes += 1;
        for (span, new) in &fix.edits {
            taken.entry(span.file).or_default().edits.push((*span, new));
        }
    }
    let changed = taken.into_iter().map(|(file, Taken { mut edits, fixes })| {
        edits.sort();
        let old = &sources.file(file).text;
        let mut new = String::with_capacity(old.len());
        let mut at = 0;
        for (span, text) in edits {
            new.push_str(old.get(at..span.start as usize).unwrap_or(""));
            new.push_str(text);
            at = span.end as usize;
        }
        new.push_str(old.get(at..).unwrap_or(""));
        (file, new, fixes)
    });
    changed.collect()
}

/// What is to be done to one file.
#[derive(Default)]
struct Taken<'a> {
    edits: Vec<(Span, &'a str)>,
    fixes: usize,
}

fn is_inside(sources: &Sources, span: Span) -> bool {
    sources.file(span.file).text.get(span.start as usize..span.end as usize).is_some()
}

fn touch(a: Span, b: Span) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fixes_are_made_whole_and_never_twice_in_one_place() {
        let mut sources = Sources::default();
        let file = sources.add("p.dl", "abcdef");
        let span = |start, end| Span { file, start, end };
        let finding = |edits: &[(u32, u32, &str)]| {
            let edits = edits.iter().map(|&(start, end, new)| (span(start, end), new.to_owned())).collect();
            Diagnostic::warning("W0001", span(0, 1), "m").with_fix("f", edits)
        };
        let rows = [
            (vec![finding(&[(0, 1, "A"), (5, 6, "F")]), finding(&[(2, 3, "C")])], Some(("AbCdeF", 2))),
            (vec![finding(&[(0, 2, "x")]), finding(&[(1, 3, "y"), (5, 6, "z")])], Some(("xcdef", 1))),
            (vec![finding(&[(1, 1, "+")]), finding(&[(1, 1, "+")])], Some(("a+bcdef", 1))),
            (vec![finding(&[(4, 9, "x")])], None),
            (vec![Diagnostic::warning("W0001", span(0, 1), "m")], None),
        ];
        for (findings, expected) in rows {
            let changed = apply(&sources, &findings);
            let expected: Vec<_> =
                expected.map(|(text, count)| (file, text.to_owned(), count)).into_iter().collect();
            assert_eq!(changed, expected);
        }
    }
}
