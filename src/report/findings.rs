//! Findings about policies.

use serde::Serialize;

use crate::report::text::{Color, counted};
use crate::source::{self, Diagnostic, Fix, Label, Severity, Sources, Span};

/// `{"findings": […]}`
#[derive(Debug, Serialize)]
pub struct FindingsDocument<'a> {
    /// In the order in which they were met.
    pub findings: Vec<FindingRow<'a>>,
}

impl<'a> FindingsDocument<'a> {
    /// All findings about these texts.
    #[must_use]
    pub fn new(sources: &'a Sources, findings: &'a [Diagnostic]) -> Self {
        Self { findings: findings.iter().map(|finding| FindingRow::new(sources, finding)).collect() }
    }
}

/// One finding. Lines and columns count from 1, columns in characters; the end is the place after the last character.
#[derive(Debug, Serialize)]
pub struct FindingRow<'a> {
    code: &'static str,
    severity: &'static str,
    file: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    message: &'a str,
    help: &'a str,
    related: Vec<RelatedRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<FixRow<'a>>,
}

/// A change of the text that mends the finding. All edits are made, or none; they do not overlap.
#[derive(Debug, Serialize)]
struct FixRow<'a> {
    label: &'a str,
    edits: Vec<EditRow<'a>>,
}

/// Which part of which file is replaced, and by what. An empty part is a place where the text is put in.
#[derive(Debug, Serialize)]
struct EditRow<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    end_line: u32,
    end_column: u32,
    text: &'a str,
}

impl<'a> FixRow<'a> {
    fn new(sources: &'a Sources, fix: &'a Fix) -> Self {
        let edit = |(span, text): &'a (Span, String)| {
            let (start, end) = (sources.place(*span), sources.end_place(*span));
            EditRow {
                file: &sources.file(span.file).name,
                line: start.line,
                column: start.column,
                end_line: end.line,
                end_column: end.column,
                text,
            }
        };
        Self { label: &fix.label, edits: fix.edits.iter().map(edit).collect() }
    }
}

#[derive(Debug, Serialize)]
struct RelatedRow<'a> {
    file: &'a str,
    line: u32,
    column: u32,
    message: &'a str,
}

impl<'a> FindingRow<'a> {
    fn new(sources: &'a Sources, finding: &'a Diagnostic) -> Self {
        let span = finding.primary.span;
        let (start, end) = (sources.place(span), sources.end_place(span));
        let related = |label: &'a Label| {
            let place = sources.place(label.span);
            let file = &sources.file(label.span.file).name;
            RelatedRow { file, line: place.line, column: place.column, message: &label.text }
        };
        Self {
            code: finding.code,
            severity: match finding.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            file: &sources.file(span.file).name,
            line: start.line,
            column: start.column,
            end_line: end.line,
            end_column: end.column,
            message: &finding.message,
            help: &finding.help,
            related: finding.secondary.iter().map(related).collect(),
            fix: finding.fix.as_ref().map(|fix| FixRow::new(sources, fix)),
        }
    }
}

/// Most findings that are drawn for people in one go.
pub const SHOWN: usize = 100;

/// Findings for people, each with its piece of text. Of more than [`SHOWN`], errors come before warnings, and the rest is
/// counted.
#[must_use]
pub fn findings(sources: &Sources, findings: &[Diagnostic], color: Color) -> String {
    let mut out = String::new();
    let (mut errors, mut warnings): (Vec<_>, Vec<_>) = (Vec::new(), Vec::new());
    for (at, finding) in findings.iter().enumerate() {
        match finding.severity {
            Severity::Error => errors.push((at, finding)),
            Severity::Warning => warnings.push((at, finding)),
        }
    }
    let (all_errors, all_warnings) = (errors.len(), warnings.len());
    errors.truncate(SHOWN);
    warnings.truncate(SHOWN - errors.len());
    let (more_errors, more_warnings) = (all_errors - errors.len(), all_warnings - warnings.len());
    errors.append(&mut warnings);
    errors.sort_unstable_by_key(|&(at, _)| at);
    for (_, finding) in errors {
        let drawn = source::render(sources, finding, color == Color::Always);
        out.push_str(drawn.trim_end());
        out.push_str("\n\n");
    }
    if more_errors + more_warnings > 0 {
        let (errors, warnings) = (counted(more_errors, "error"), counted(more_warnings, "warning"));
        out.push_str(&format!("and {errors} and {warnings} more; `--format json` shows all\n\n"));
    }
    out
}
