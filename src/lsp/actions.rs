//! Changes that mend what findings are about.

use lsp_types::{CodeActionContext, CodeActionKind, CodeActionParams, Diagnostic, Range, TextEdit};
use serde::Serialize;

use crate::lsp::analysis::Analysis;
use crate::lsp::publish;
use crate::lsp::rename::Edits;
use crate::lsp::server::{Fault, Server};
use crate::source::Fix;

/// A change, with the finding that it mends.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Action {
    title: String,
    kind: CodeActionKind,
    diagnostics: Vec<Diagnostic>,
    is_preferred: bool,
    edit: Edits,
}

/// The changes that findings in a range carry.
pub(crate) fn actions(server: &Server<'_>, params: &CodeActionParams) -> Result<Vec<Action>, Fault> {
    if !wanted(&params.context) {
        return Ok(Vec::new());
    }
    let (analysis, file) = server.view(&params.text_document.uri)?;
    let mut actions = Vec::new();
    let findings = analysis.description.findings.iter();
    for finding in findings.filter(|finding| finding.primary.span.file == file) {
        let Some(fix) = &finding.fix else { continue };
        if !touch(analysis.range(finding.primary.span), params.range) {
            continue;
        }
        // A change of a file that has no address cannot be made in part.
        let Some(edit) = edits(server, analysis, fix) else { continue };
        actions.push(Action {
            title: fix.label.clone(),
            kind: CodeActionKind::QUICKFIX,
            diagnostics: vec![publish::diagnostic(server, analysis, finding)],
            is_preferred: true,
            edit,
        });
    }
    Ok(actions)
}

/// Whether the editor asks for changes of this kind.
fn wanted(context: &CodeActionContext) -> bool {
    context.only.as_ref().is_none_or(|kinds| {
        // A kind stands for all kinds below it, and the empty kind for all.
        kinds.iter().any(|kind| kind.as_str().is_empty() || *kind == CodeActionKind::QUICKFIX)
    })
}

fn touch(a: Range, b: Range) -> bool {
    a.start <= b.end && b.start <= a.end
}

fn edits(server: &Server<'_>, analysis: &Analysis, fix: &Fix) -> Option<Edits> {
    let mut edits = Edits::default();
    for (span, text) in &fix.edits {
        let uri = server.uri_of(analysis, span.file)?;
        let edit = TextEdit { range: analysis.range(*span), new_text: text.clone() };
        edits.changes.entry(uri.as_str().to_owned()).or_default().push(edit);
    }
    Some(edits)
}
