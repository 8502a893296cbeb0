//! Findings as SARIF 2.1.0, which code scanners read.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::program;
use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::source::{Diagnostic, FileId, Fix, Severity, Sources, Span};
use crate::syntax;

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// A log with one run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SarifLog {
    #[serde(rename = "$schema")]
    schema: &'static str,
    version: &'static str,
    runs: [Run; 1],
}

impl SarifLog {
    /// The findings about these texts. Columns count characters from 1; the end is the place after the last one.
    #[must_use]
    pub fn new(sources: &Sources, findings: &[Diagnostic]) -> Self {
        let mut codes: Vec<(&'static str, Severity)> =
            findings.iter().map(|finding| (finding.code, finding.severity)).collect();
        codes.sort_unstable();
        codes.dedup_by_key(|(code, _)| *code);
        let places: BTreeMap<&str, usize> =
            codes.iter().enumerate().map(|(at, (code, _))| (*code, at)).collect();
        let rules = codes.into_iter().map(|(code, severity)| Rule::new(code, severity)).collect();
        let results = findings.iter().map(|finding| outcome(sources, finding, &places)).collect();
        let invocation = Invocation { execution_successful: true, tool_execution_notifications: Vec::new() };
        Self::of(rules, results, invocation)
    }

    /// A run that did not come to check anything: a file cannot be read.
    #[must_use]
    pub fn failed(error: &FileError) -> Self {
        let notification = Notification { level: "error", message: Text::new(&error.text) };
        let invocation =
            Invocation { execution_successful: false, tool_execution_notifications: vec![notification] };
        Self::of(Vec::new(), Vec::new(), invocation)
    }

    fn of(rules: Vec<Rule>, results: Vec<Outcome>, invocation: Invocation) -> Self {
        let driver = Driver { name: "gatelog", version: env!("CARGO_PKG_VERSION"), rules };
        let run = Run {
            tool: Tool { driver },
            invocations: [invocation],
            column_kind: "unicodeCodePoints",
            results,
        };
        Self { schema: SCHEMA, version: "2.1.0", runs: [run] }
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Run {
    tool: Tool,
    invocations: [Invocation; 1],
    column_kind: &'static str,
    results: Vec<Outcome>,
}

#[derive(Debug, Serialize)]
struct Tool {
    driver: Driver,
}

#[derive(Debug, Serialize)]
struct Driver {
    name: &'static str,
    version: &'static str,
    rules: Vec<Rule>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Invocation {
    execution_successful: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_execution_notifications: Vec<Notification>,
}

#[derive(Debug, Serialize)]
struct Notification {
    level: &'static str,
    message: Text,
}

#[derive(Debug, Serialize)]
struct Text {
    text: String,
}

impl Text {
    fn new(text: &str) -> Self {
        Self { text: visible(text) }
    }
}

/// What a code means.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    id: &'static str,
    short_description: Text,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_description: Option<Text>,
    default_configuration: Configuration,
}

#[derive(Debug, Serialize)]
struct Configuration {
    level: &'static str,
}

impl Rule {
    fn new(code: &'static str, severity: Severity) -> Self {
        let known = program::CODES.iter().chain(syntax::CODES).find(|(known, _)| *known == code);
        let full_description = program::explanation(code).map(|page| Text { text: page.text.to_owned() });
        Self {
            id: code,
            short_description: Text::new(known.map_or(code, |(_, meaning)| meaning)),
            full_description,
            default_configuration: Configuration { level: level(severity) },
        }
    }
}

fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome {
    rule_id: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule_index: Option<usize>,
    level: &'static str,
    message: Text,
    locations: [Location; 1],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fixes: Vec<Mending>,
}

fn outcome(sources: &Sources, finding: &Diagnostic, places: &BTreeMap<&str, usize>) -> Outcome {
    let mut text = finding.message.clone();
    if !finding.help.is_empty() {
        text.push_str("; ");
        text.push_str(&finding.help);
    }
    let related = finding.secondary.iter().enumerate();
    Outcome {
        rule_id: finding.code,
        rule_index: places.get(finding.code).copied(),
        level: level(finding.severity),
        message: Text::new(&text),
        locations: [Location::new(sources, None, finding.primary.span, &finding.primary.text)],
        related_locations: related
            .map(|(at, label)| Location::new(sources, Some(at), label.span, &label.text))
            .collect(),
        fixes: finding.fix.iter().map(|fix| Mending::new(sources, fix)).collect(),
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Location {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<usize>,
    physical_location: PhysicalLocation,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<Text>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct PhysicalLocation {
    artifact_location: Artifact,
    region: Region,
}

impl Location {
    fn new(sources: &Sources, id: Option<usize>, span: Span, text: &str) -> Self {
        let artifact_location = Artifact::new(sources, span.file);
        let physical_location = PhysicalLocation { artifact_location, region: Region::new(sources, span) };
        Self { id, physical_location, message: Some(Text::new(text)).filter(|_| !text.is_empty()) }
    }
}

#[derive(Debug, Serialize)]
struct Artifact {
    uri: String,
}

impl Artifact {
    fn new(sources: &Sources, file: FileId) -> Self {
        Self { uri: uri(&sources.file(file).name) }
    }
}

/// A path as an address: relative ones stay so.
fn uri(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    if path.starts_with('/') {
        out.push_str("file://");
    }
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(byte));
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Region {
    start_line: u32,
    start_column: u32,
    end_line: u32,
    end_column: u32,
}

impl Region {
    fn new(sources: &Sources, span: Span) -> Self {
        let (start, end) = (sources.place(span), sources.end_place(span));
        Self {
            start_line: start.line,
            start_column: start.column,
            end_line: end.line,
            end_column: end.column,
        }
    }
}

/// A change of the text that mends a finding.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Mending {
    description: Text,
    artifact_changes: Vec<Change>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    artifact_location: Artifact,
    replacements: Vec<Replacement>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Replacement {
    deleted_region: Region,
    inserted_content: Inserted,
}

#[derive(Debug, Serialize)]
struct Inserted {
    /// As it is to stand in the file.
    text: String,
}

impl Mending {
    fn new(sources: &Sources, fix: &Fix) -> Self {
        // One change for each file, as the format has it.
        let mut files: BTreeMap<FileId, Vec<Replacement>> = BTreeMap::new();
        for (span, text) in &fix.edits {
            files.entry(span.file).or_default().push(Replacement {
                deleted_region: Region::new(sources, *span),
                inserted_content: Inserted { text: text.clone() },
            });
        }
        let changes = files.into_iter().map(|(file, replacements)| Change {
            artifact_location: Artifact::new(sources, file),
            replacements,
        });
        Self { description: Text::new(&fix.label), artifact_changes: changes.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_addresses() {
        let rows = [
            ("policies/a b.dl", "policies/a%20b.dl"),
            ("/tmp/ü.dl", "file:///tmp/%C3%BC.dl"),
            ("<standard input>", "%3Cstandard%20input%3E"),
            ("c:x#y?.dl", "c%3Ax%23y%3F.dl"),
        ];
        for (path, expected) in rows {
            assert_eq!(uri(path), expected);
        }
    }

    #[test]
    fn fixes_say_what_is_replaced() {
        let mut sources = Sources::default();
        let file = sources.add("p.dl", "A(x).");
        let span = Span { file, start: 2, end: 3 };
        let finding = Diagnostic::warning("W0001", span, "variable `x` is used once").with_fix(
            "write `_`",
            vec![(span, "_".to_owned()), (Span { file, start: 5, end: 5 }, " ".to_owned())],
        );
        let log = serde_json::to_value(SarifLog::new(&sources, &[finding])).unwrap();
        let fix = &log["runs"][0]["results"][0]["fixes"][0];
        assert_eq!(fix["description"]["text"], "write `_`");
        assert_eq!(fix["artifactChanges"].as_array().map(Vec::len), Some(1), "one for each file");
        assert_eq!(fix["artifactChanges"][0]["replacements"].as_array().map(Vec::len), Some(2));
        let replacement = &fix["artifactChanges"][0]["replacements"][0];
        assert_eq!(replacement["insertedContent"]["text"], "_");
        assert_eq!(replacement["deletedRegion"]["startColumn"], 3);
        assert_eq!(replacement["deletedRegion"]["endColumn"], 4);
    }
}
