//! Findings, sent as they change.

use std::collections::BTreeMap;

use lsp_server::Notification;
use lsp_types::notification::{Notification as _, PublishDiagnostics};
use lsp_types::{
    DiagnosticRelatedInformation, DiagnosticSeverity, Location, NumberOrString, PublishDiagnosticsParams, Uri,
};

use crate::lsp::analysis::{Analysis, PRELUDE};
use crate::lsp::server::{Server, written};
use crate::source::{Diagnostic, Severity};

type Found = BTreeMap<String, (Uri, Vec<lsp_types::Diagnostic>)>;

/// The messages that tell the editor which findings there are now: for each file whose findings are others than before,
/// and for the document that was changed.
pub(crate) fn publish(server: &mut Server<'_>, changed: Option<&str>) -> Vec<Notification> {
    let found = found(server);
    let mut sent = Vec::new();
    for (key, (uri, findings)) in &found {
        let document = server.documents.get(key);
        let is_changed = document.is_some_and(|document| changed == Some(document.name.as_str()));
        let is_new = server.published.get(key).is_none_or(|(_, before)| before != findings);
        if is_new || is_changed {
            sent.extend(message(uri, findings, document.map(|document| document.version)));
        }
    }
    for (key, (uri, before)) in &server.published {
        if !found.contains_key(key) && !before.is_empty() {
            sent.extend(message(uri, &[], None));
        }
    }
    server.published = found;
    sent
}

fn message(uri: &Uri, findings: &[lsp_types::Diagnostic], version: Option<i32>) -> Option<Notification> {
    let params = PublishDiagnosticsParams { uri: uri.clone(), diagnostics: findings.to_vec(), version };
    let params = written(params).ok()?;
    Some(Notification { method: PublishDiagnostics::METHOD.to_owned(), params })
}

/// All findings by the address of their file. Every open document is there, with or without any.
fn found(server: &Server<'_>) -> Found {
    let open = server.documents.iter();
    let mut found: Found =
        open.map(|(key, document)| (key.clone(), (document.uri.clone(), Vec::new()))).collect();
    for analysis in server.analyses() {
        let mut own = Found::new();
        for finding in &analysis.description.findings {
            let Some(uri) = server.uri_of(analysis, finding.primary.span.file) else { continue };
            let entry = own.entry(uri.as_str().to_owned()).or_insert_with(|| (uri, Vec::new()));
            entry.1.push(diagnostic(server, analysis, finding));
        }
        for (key, (uri, mut findings)) in own {
            let entry = found.entry(key).or_insert_with(|| (uri, Vec::new()));
            // A file that two documents include has its findings once.
            findings.retain(|finding| !entry.1.contains(finding));
            entry.1.append(&mut findings);
        }
    }
    found
}

/// A finding as the protocol writes it.
pub(crate) fn diagnostic(
    server: &Server<'_>,
    analysis: &Analysis,
    finding: &Diagnostic,
) -> lsp_types::Diagnostic {
    let mut message = finding.message.clone();
    let mut related = Vec::new();
    for label in &finding.secondary {
        if label.span.file == PRELUDE {
            // There is no file to point at.
            message.push_str(&format!("\nprelude: {}", label.text));
        } else if let Some(uri) = server.uri_of(analysis, label.span.file) {
            let location = Location { uri, range: analysis.range(label.span) };
            related.push(DiagnosticRelatedInformation { location, message: label.text.clone() });
        }
    }
    if !finding.help.is_empty() {
        message.push_str(&format!("\nhelp: {}", finding.help));
    }
    lsp_types::Diagnostic {
        range: analysis.range(finding.primary.span),
        severity: Some(match finding.severity {
            Severity::Error => DiagnosticSeverity::ERROR,
            Severity::Warning => DiagnosticSeverity::WARNING,
        }),
        code: Some(NumberOrString::String(finding.code.to_owned())),
        source: Some("gatelog".to_owned()),
        message,
        related_information: (!related.is_empty()).then_some(related),
        ..lsp_types::Diagnostic::default()
    }
}
