//! `// gatelog: allow(CODE)`: warnings that the author has seen and wants no more.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::CODES;
use crate::program::include::Unit;
use crate::program::schema::PRELUDE_FILE;
use crate::program::suggest;
use crate::source::{Diagnostic, Severity, Sources, Span};
use crate::syntax::ast;

/// A comment that allows codes.
struct Allow {
    /// The whole comment.
    span: Span,
    /// Each code with its place.
    codes: Vec<(String, Span)>,
}

/// Takes out the warnings that comments allow, and adds what is wrong with the comments themselves. A comment counts for
/// the statement that stands below it without a blank line between; among the first lines of a file, with a blank line
/// after them, for the whole file.
pub(crate) fn silence(units: &[Unit], sources: &Sources, found: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let mut silenced: BTreeMap<Span, BTreeSet<&'static str>> = BTreeMap::new();
    let mut added = Vec::new();
    for unit in units {
        let allows = unit.program.comments.iter().filter_map(|comment| read(comment.span, sources));
        for allow in allows.filter(|allow| allow.span.file != PRELUDE_FILE) {
            let Some(reach) = reach(unit, &allow, sources) else {
                let finding = Diagnostic::warning("W0010", allow.span, "this allows nothing: it stands above no rule")
                    .with_label("ignored")
                    .with_help("put it directly above a rule, or in the first lines of the file with a blank line after it");
                added.push(finding);
                continue;
            };
            silenced.entry(reach).or_default().extend(known(&allow, &mut added));
        }
    }
    let mut found = without(found, &silenced);
    found.extend(added);
    found.sort_by(|a, b| (a.primary.span, a.code, &a.message).cmp(&(b.primary.span, b.code, &b.message)));
    found
}

/// The findings, in the order of the text, but for warnings of these codes at these places.
fn without(found: Vec<Diagnostic>, silenced: &BTreeMap<Span, BTreeSet<&'static str>>) -> Vec<Diagnostic> {
    let mut silent = vec![false; found.len()];
    for (reach, codes) in silenced {
        let place = |finding: &Diagnostic| (finding.primary.span.file, finding.primary.span.start);
        let first = found.partition_point(|finding| place(finding) < (reach.file, reach.start));
        let last = found.partition_point(|finding| place(finding) < (reach.file, reach.end));
        for (finding, silent) in found.iter().zip(&mut silent).take(last).skip(first) {
            *silent |= finding.severity == Severity::Warning && codes.contains(finding.code);
        }
    }
    found.into_iter().zip(silent).filter(|(_, silent)| !silent).map(|(finding, _)| finding).collect()
}

/// `// gatelog: allow(W0001, W0002)`
fn read(comment: Span, sources: &Sources) -> Option<Allow> {
    let text = sources.text(comment);
    let inside = text.trim_start_matches(['/', '*']);
    let after = inside.trim_start().strip_prefix("gatelog:")?.trim_start().strip_prefix("allow")?;
    let list = after.trim_start().strip_prefix('(')?;
    let list = list.split_once(')').map_or(list, |(list, _)| list);
    let mut codes = Vec::new();
    let mut at = text.find('(')? + 1;
    for part in list.split(',') {
        let code = part.trim();
        let start = at + (part.len() - part.trim_start().len());
        codes.push((code.to_owned(), inner(comment, start, start + code.len())));
        at += part.len() + 1;
    }
    Some(Allow { span: comment, codes })
}

fn inner(comment: Span, start: usize, end: usize) -> Span {
    let narrow = |at: usize| comment.start.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
    Span { file: comment.file, start: narrow(start), end: narrow(end) }
}

/// The codes that are codes of warnings; the others are reported.
fn known(allow: &Allow, added: &mut Vec<Diagnostic>) -> BTreeSet<&'static str> {
    let mut codes = BTreeSet::new();
    for (code, span) in &allow.codes {
        let warnings = || CODES.iter().map(|&(code, _)| code).filter(|code| code.starts_with('W'));
        if let Some(known) = warnings().find(|known| known == code) {
            codes.insert(known);
            continue;
        }
        let is_error = CODES.iter().any(|&(known, _)| known == code);
        let (message, help) = if is_error {
            (
                format!("`{code}` is an error, and errors cannot be allowed"),
                "mend what it is about".to_owned(),
            )
        } else {
            let help = suggest::did_you_mean(code, warnings(), "each warning shows its code in brackets");
            (format!("no warning has the code `{code}`"), help)
        };
        added.push(Diagnostic::warning("W0010", *span, message).with_label("ignored").with_help(help));
    }
    codes
}

/// What an allow counts for.
fn reach(unit: &Unit, allow: &Allow, sources: &Sources) -> Option<Span> {
    let text = &sources.file(allow.span.file).text;
    let items = &unit.program.items;
    let after = items.partition_point(|item| span_of(item).start < allow.span.end);
    let span = span_of(items.get(after)?);
    let before = after.checked_sub(1).and_then(|at| items.get(at)).map_or(0, |item| span_of(item).end);
    let between = text.get(allow.span.end as usize..span.start as usize)?;
    if !has_blank_line(between) && leads(text, allow.span) {
        return Some(Span { start: before, ..span });
    }
    let is_first = before == 0 && leads(text, allow.span);
    is_first.then(|| whole(allow.span, text))
}

fn has_blank_line(between: &str) -> bool {
    let lines: Vec<&str> = between.split('\n').collect();
    let inner = lines.get(1..lines.len().saturating_sub(1)).unwrap_or_default();
    inner.iter().any(|line| line.trim().is_empty())
}

/// Whether nothing but blanks stands before the comment on its line.
fn leads(text: &str, comment: Span) -> bool {
    let before = text.get(..comment.start as usize).unwrap_or("");
    let line = before.rsplit('\n').next().unwrap_or("");
    line.trim_start_matches('\u{feff}').trim().is_empty()
}

fn whole(comment: Span, text: &str) -> Span {
    Span {
        file: comment.file,
        start: 0,
        end: u32::try_from(text.len()).unwrap_or(u32::MAX).saturating_add(1),
    }
}

fn span_of(item: &ast::Item) -> Span {
    match item {
        ast::Item::Type(item) => item.span,
        ast::Item::Relation(item) => item.span,
        ast::Item::Rule(item) => item.span,
        ast::Item::Directive(item) => item.span,
        ast::Item::Include(item) => item.span,
        ast::Item::Pragma(item) => item.span,
        ast::Item::Unsupported { span, .. } => *span,
    }
}
