//! What the comments above a statement say.
//!
//! A comment stands above a statement if no other statement lies between and no token before it on its line. So a
//! comment that trails a statement belongs to nothing below.

use crate::syntax::ast::Annotation;
use crate::syntax::ast::Name;
use crate::syntax::tokens::Page;
use crate::syntax::tokens::Remark;

/// One line of a comment: its text without markers, and where that starts in the file.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    start: usize,
}

/// The annotations above the statement that starts with that token.
pub(crate) fn annotations(page: &Page<'_>, at: usize) -> Vec<Annotation> {
    let attached = after_blank_line(page, at);
    let lines = above(page, at).flat_map(|remark| lines(page, remark));
    lines.filter_map(|line| annotation(page, line, attached)).collect()
}

/// The comment lines that stand above the statement without a blank line between, joined by line ends.
pub(crate) fn documentation(page: &Page<'_>, at: usize) -> String {
    let attached = after_blank_line(page, at);
    let lines = above(page, at).flat_map(|remark| lines(page, remark));
    let lines = lines.filter(|line| line.start >= attached);
    let lines: Vec<&str> =
        lines.map(|line| line.text.strip_prefix(' ').unwrap_or(line.text).trim_end()).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
    lines.get(first..last).unwrap_or_default().join("\n")
}

/// The gap before the token: from the end of the token before to its start.
fn gap(page: &Page<'_>, at: usize) -> (u32, u32) {
    let before = at.checked_sub(1).and_then(|at| page.token(at));
    (before.map_or(0, |token| token.span.end), page.token(at).map_or(0, |token| token.span.start))
}

fn above<'p>(page: &'p Page<'_>, at: usize) -> impl Iterator<Item = Remark> + use<'p> {
    let (start, end) = gap(page, at);
    let first = page.remarks.partition_point(|remark| remark.span.start < start);
    let remarks = page.remarks.get(first..).unwrap_or_default().iter().copied();
    remarks.take_while(move |remark| remark.span.start < end).filter(|remark| remark.leads)
}

/// The end of the last blank line in the gap before the token; its start if there is none.
fn after_blank_line(page: &Page<'_>, at: usize) -> usize {
    let (start, end) = gap(page, at);
    let text = page.text.get(start as usize..end as usize).unwrap_or("");
    let mut place = start as usize;
    let mut attached = place;
    for (number, line) in text.split_inclusive('\n').enumerate() {
        place += line.len();
        if number > 0 && line.ends_with('\n') && line.trim().is_empty() {
            attached = place;
        }
    }
    attached
}

/// The lines of a comment without `//`, `/*`, `*/` and the stars that lead them.
fn lines<'a>(page: &Page<'a>, remark: Remark) -> Vec<Line<'a>> {
    let text = page.slice(remark.span);
    let start = remark.span.start as usize;
    if let Some(inside) = text.strip_prefix("//") {
        let inside = inside.trim_start_matches('/');
        let inside = inside.strip_prefix('!').unwrap_or(inside);
        return vec![Line { text: inside, start: start + text.len() - inside.len() }];
    }
    let inside = text.strip_prefix("/*").unwrap_or(text);
    let mut place = start + text.len() - inside.len();
    let inside = inside.strip_suffix("*/").unwrap_or(inside);
    let mut found = Vec::new();
    for line in inside.split_inclusive('\n') {
        let bare = line.trim_start_matches([' ', '\t']);
        let starred = bare.trim_start_matches('*');
        let text = if starred.len() < bare.len() { starred } else { line };
        found.push(Line { text: text.trim_end(), start: place + line.len() - text.len() });
        place += line.len();
    }
    found
}

/// `annotation = "@" key [":"] [value]`. A key goes on to a colon, a blank or the end of the line, whatever its
/// letters, so that a misspelt one is met by the checker.
fn annotation(page: &Page<'_>, line: Line<'_>, attached: usize) -> Option<Annotation> {
    let written = line.text.trim_start();
    let start = line.start + line.text.len() - written.len();
    let body = written.strip_prefix('@')?;
    if !body.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_') {
        return None;
    }
    let length = body.find(|letter: char| letter == ':' || letter.is_whitespace()).unwrap_or(body.len());
    let key = body.get(..length).unwrap_or("");
    let key_end = start + 1 + length;
    let tail = body.get(length..).unwrap_or("").trim_end();
    let value = tail.trim_start();
    let value = value.strip_prefix(':').unwrap_or(value).trim_start();
    let value_start = if value.is_empty() { key_end } else { key_end + tail.len() - value.len() };
    Some(Annotation {
        key: Name { text: key.to_owned(), span: page.span(start + 1, key_end) },
        value: value.to_owned(),
        value_span: page.span(value_start, value_start + value.len()),
        adjacent: start >= attached,
    })
}

#[cfg(test)]
mod tests {
    use crate::source::FileId;
    use crate::syntax::ast::Item;
    use crate::syntax::parse;

    /// Each annotation of the last rule as `key=value`, with a star where a blank line follows it.
    fn read(text: &str) -> String {
        let (program, findings) = parse(FileId(0), text);
        assert_eq!(findings, [], "{text}");
        let Some(Item::Rule(rule)) = program.items.last() else { panic!("no rule in {text}") };
        let shown = rule.annotations.iter().map(|annotation| {
            let span = annotation.value_span;
            assert_eq!(text.get(span.start as usize..span.end as usize), Some(annotation.value.as_str()));
            let star = if annotation.adjacent { "" } else { "*" };
            format!("{}={}{star}", annotation.key.text, annotation.value)
        });
        shown.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn annotations_above_a_rule() {
        let rows = [
            ("// @ask\nR(1).", "ask="),
            ("// @key: value \r\nR(1).", "key=value"),
            ("// @key value: more\nR(1).", "key=value: more"),
            ("/// @key:value\nR(1).", "key=value"),
            ("// @key : value\nR(1).", "key=value"),
            ("// @key:\nR(1).", "key="),
            ("// @a\n\n// @b\nR(1).", "a=*; b="),
            ("// @a\n \t\r\nR(1).", "a=*"),
            ("// @a\n// words\n/* words */\nR(1).", "a="),
            ("/* @a: x\n   @b: y */\nR(1).", "a=x; b=y"),
            ("/**\n * @a: x\n *\n * @b */ R(1).", "a=x; b="),
            ("/* @a\n\n words */\nR(1).", "a=*"),
            ("// see @a\n// @ b\n// @1\nR(1).", ""),
            ("// @deny-message: x\nR(1).", "deny-message=x"),
            ("S(1). // @a\nR(1).", ""),
            ("S(1). /* @a\n@b */\nR(1).", ""),
            ("S(1). /* @a */ R(1).", ""),
            ("// @a\nS(1).\nR(1).", ""),
            ("// @a\n.decl S()\n// @b\nR(1).", "b="),
            ("R(x) :-\n// @a\nS(x).", ""),
            ("R(x) :- S(x),\n x = \"// @a\".", ""),
        ];
        for (text, annotations) in rows {
            assert_eq!(read(text), annotations, "{text}");
        }
    }

    #[test]
    fn documentation_of_a_declaration() {
        let rows = [
            ("// One.\n//  Two.\n.decl R()", "One.\n Two."),
            ("// Apart.\n\n// Close.\n.decl R()", "Close."),
            ("/*\n * One.\n * Two.\n */\n.decl R()", "One.\nTwo."),
            ("S(1). // trails\n.decl R()", ""),
        ];
        for (text, documentation) in rows {
            let (program, _) = parse(FileId(0), text);
            let Some(Item::Relation(relation)) = program.items.last() else {
                panic!("no relation in {text}")
            };
            assert_eq!(relation.documentation, documentation, "{text}");
        }
    }
}
