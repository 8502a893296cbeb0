//! A document in its usual form.

use lsp_types::{DocumentFormattingParams, TextEdit};

use crate::lsp::server::{Fault, Server};

pub(crate) fn format(
    _server: &Server<'_>,
    _params: &DocumentFormattingParams,
) -> Result<Vec<TextEdit>, Fault> {
    Err(Fault::refused("not there"))
}
