//! Findings as text, in the manner of rustc.

use std::ops::Range;

use annotate_snippets::{Annotation, AnnotationKind, Level, Renderer, Snippet};

use crate::source::Diagnostic;
use crate::source::FileId;
use crate::source::Label;
use crate::source::Severity;
use crate::source::Sources;
use crate::source::is_invisible;

/// Draws the finding with its source lines: title and code, `file:line:column`, the lines with their labels, help.
/// Control characters and those that hide or turn text are shown as marks, so that what is seen is what is there.
/// Spans that do not lie in their file are cut to it. With `color`, the text holds terminal escapes.
///
/// ```
/// use gatelog::source::{Sources, render};
///
/// let mut sources = Sources::default();
/// let file = sources.add("policy.dl", "R(1,).");
/// let (_, findings) = gatelog::syntax::parse(file, "R(1,).");
/// let text = render(&sources, &findings[0], false);
/// assert!(text.contains("policy.dl:1:5"));
/// ```
#[must_use]
pub fn render(sources: &Sources, diagnostic: &Diagnostic, color: bool) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group = level
        .primary_title(one_line(&diagnostic.message))
        .id(diagnostic.code)
        .elements(snippets(sources, diagnostic));
    if !diagnostic.help.is_empty() {
        group = group.element(Level::HELP.message(one_line(&diagnostic.help)));
    }
    let renderer = if color { Renderer::styled() } else { Renderer::plain() };
    renderer.render(&[group])
}

/// One snippet for each file that takes part, the primary one's first.
fn snippets<'a>(sources: &Sources, diagnostic: &Diagnostic) -> Vec<Snippet<'a, Annotation<'a>>> {
    let primary = diagnostic.primary.span.file;
    let mut files: Vec<FileId> = diagnostic.secondary.iter().map(|label| label.span.file).collect();
    files.retain(|file| *file != primary);
    files.sort_unstable();
    files.dedup();
    files.insert(0, primary);
    files.into_iter().map(|file| snippet(sources, diagnostic, file)).collect()
}

fn snippet<'a>(sources: &Sources, diagnostic: &Diagnostic, file: FileId) -> Snippet<'a, Annotation<'a>> {
    let source = sources.file(file);
    let text = source.text.as_str();
    let main = Some(&diagnostic.primary).filter(|label| label.span.file == file);
    let others = diagnostic.secondary.iter().filter(|label| label.span.file == file);
    let labels = main.map(|label| (AnnotationKind::Primary, label)).into_iter();
    let labels: Vec<(AnnotationKind, &Label, Range<usize>)> = labels
        .chain(others.map(|label| (AnnotationKind::Context, label)))
        .map(|(kind, label)| (kind, label, bounds(text, label)))
        .collect();
    let first = labels.iter().map(|(_, _, range)| range.start).min().unwrap_or(0);
    let last = labels.iter().map(|(_, _, range)| range.end).max().unwrap_or(0);
    let start =
        text.get(..first).and_then(|before| before.rfind('\n')).map_or_else(|| after_mark(text), |at| at + 1);
    let end = text.get(last..).and_then(|after| after.find('\n')).map_or(text.len(), |length| last + length);
    let shown = text.get(start..end).unwrap_or("");
    let line = text.get(..start).unwrap_or("").bytes().filter(|&byte| byte == b'\n').count() + 1;
    let moved = |at: usize| text.get(start..at).map_or(0, |before| visible(before).len());
    let annotations = labels.into_iter().map(|(kind, label, range)| {
        let annotation = kind.span(moved(range.start)..moved(range.end));
        if label.text.is_empty() { annotation } else { annotation.label(one_line(&label.text)) }
    });
    Snippet::source(visible(shown)).line_start(line).path(one_line(&source.name)).annotations(annotations)
}

/// The length of a byte order mark at the start.
fn after_mark(text: &str) -> usize {
    if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 }
}

/// The label's bytes, cut to the text, to whole characters, and to before a carriage return that ends a line.
fn bounds(text: &str, label: &Label) -> Range<usize> {
    let start = boundary(text, label.span.start as usize);
    let end = boundary(text, label.span.end as usize);
    start..end.max(start)
}

fn boundary(text: &str, at: usize) -> usize {
    let mut at = at.min(text.len()).max(after_mark(text));
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    let ends = text.get(..at).is_some_and(|before| before.ends_with('\r'));
    let goes_on = text.get(at..).is_some_and(|after| after.starts_with('\n'));
    if ends && goes_on { at - 1 } else { at }
}

/// The text with a mark for each character that would not show as itself; one for one, so that columns stay.
fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if matches!(letters.peek(), Some('\n') | None) => {}
            '\n' | '\t' => shown.push(letter),
            '\0'..='\u{1f}' => shown.push(char::from_u32(0x2400 + u32::from(letter)).unwrap_or('\u{fffd}')),
            '\u{7f}' => shown.push('\u{2421}'),
            _ if is_invisible(letter) => shown.push('\u{fffd}'),
            _ => shown.push(letter),
        }
    }
    shown
}

/// The text on one line, with an escape for each character that would not show as itself.
fn one_line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_invisible(letter) {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    fn draw(text: &str, start: u32, end: u32) -> String {
        let mut sources = Sources::default();
        let file = sources.add("p.dl", text);
        let finding = Diagnostic::error("E0001", Span { file, start, end }, "a `\n\u{202e}` b")
            .with_label("here")
            .with_help("help");
        render(&sources, &finding, false)
    }

    #[test]
    fn any_span_is_drawn() {
        let long = format!("{}é{}", "x".repeat(10_000), "y".repeat(10_000));
        let texts = [
            "",
            "\n",
            "\r\n",
            "a",
            "é日\u{1F600}",
            "\u{feff}a\nb\r\nc",
            "\ta\tb\n\n\n",
            "a\0b\u{202e}c\rd",
            &long,
        ];
        for text in texts {
            let length = u32::try_from(text.len()).unwrap();
            let ends = [0, 1, 2, 3, 4, 7, length.saturating_sub(1), length, length + 1, 10_001, u32::MAX];
            for start in ends {
                for end in ends {
                    let drawn = draw(text, start, end);
                    assert!(drawn.starts_with(r"error[E0001]: a `\n\u{202e}` b"), "{drawn}");
                    assert!(drawn.contains("p.dl:"), "{text:?} {start}..{end}: {drawn}");
                    assert!(drawn.len() < 4_000, "{} bytes", drawn.len());
                }
            }
        }
    }

    #[test]
    fn places_agree_with_the_sources() {
        let texts = ["ab\n\tcd\r\nef\n", "\u{feff}ab\ncd", "é\u{202e}日x\0y", "\r\n\r\nab"];
        for text in texts {
            let mut sources = Sources::default();
            let file = sources.add("p.dl", text);
            for (at, letter) in text.char_indices().filter(|(_, letter)| letter.is_alphabetic()) {
                let start = u32::try_from(at).unwrap();
                let span = Span { file, start, end: start + u32::try_from(letter.len_utf8()).unwrap() };
                let place = sources.place(span);
                let drawn = render(&sources, &Diagnostic::error("E0001", span, "m"), false);
                let wanted = format!("p.dl:{}:{}\n", place.line, place.column);
                assert!(drawn.contains(&wanted), "{wanted}{drawn}");
            }
        }
    }

    #[test]
    fn hidden_characters_are_seen() {
        let drawn = draw("a\u{202e}b\u{200b}c\0d", 0, 1);
        assert!(drawn.contains("a\u{fffd}b\u{fffd}c\u{2400}d"), "{drawn}");
    }

    #[test]
    fn other_places_and_files() {
        let mut sources = Sources::default();
        let one = sources.add("one.dl", "A(1).\nB(2).\n\n\n\n\nC(3).\n");
        let two = sources.add("two.dl", "D(4).\n");
        let span = |file, start, end| Span { file, start, end };
        let finding = Diagnostic::warning("W0001", span(one, 6, 7), "message")
            .with_label("first")
            .with_secondary(span(one, 16, 17), "second")
            .with_secondary(span(two, 0, 1), "third");
        let drawn = render(&sources, &finding, false);
        for part in ["warning[W0001]: message", "one.dl:2:1", "two.dl:1:1", "^ first", "- second", "- third"]
        {
            assert!(drawn.contains(part), "{part}\n{drawn}");
        }
        assert!(render(&sources, &finding, true).contains("\u{1b}["));
    }
}
