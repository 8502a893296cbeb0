//! A document in its usual layout.

use lsp_types::{DocumentFormattingParams, Position, Range, TextEdit};

use crate::lsp::server::{Fault, Server};
use crate::source::FileId;
use crate::syntax;

/// The edit that lays a document out; none where it is laid out already.
pub(crate) fn format(server: &Server<'_>, params: &DocumentFormattingParams) -> Result<Vec<TextEdit>, Fault> {
    let (analysis, file) = server.view(&params.text_document.uri)?;
    let text = analysis.text(file);
    let laid = syntax::format(FileId(0), text).map_err(|why| Fault::refused(why.to_string()))?;
    if laid == text {
        return Ok(Vec::new());
    }
    let end = analysis.lines(file).position(text, text.len());
    Ok(vec![TextEdit { range: Range { start: Position::default(), end }, new_text: laid }])
}
