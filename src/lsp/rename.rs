//! New names.

use std::collections::BTreeMap;

use lsp_types::{PrepareRenameResponse, RenameParams, TextDocumentPositionParams, TextEdit};
use serde::Serialize;

use crate::lsp::analysis::{Analysis, PRELUDE};
use crate::lsp::index::{Mention, Symbol};
use crate::lsp::navigate;
use crate::lsp::server::{Fault, Server, Spot};
use crate::syntax;

/// Edits by the address of their file, in order.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Edits {
    pub(crate) changes: BTreeMap<String, Vec<TextEdit>>,
}

/// What would be renamed, or why nothing can be.
pub(crate) fn prepare(
    server: &Server<'_>,
    params: &TextDocumentPositionParams,
) -> Result<Option<PrepareRenameResponse>, Fault> {
    let spot = server.spot(&params.text_document.uri, params.position)?;
    let (mention, name) = subject(spot)?;
    let range = spot.analysis.range(mention.span);
    let placeholder = name.to_owned();
    Ok(Some(PrepareRenameResponse::RangeWithPlaceholder { range, placeholder }))
}

/// The edits that give a name another spelling everywhere.
pub(crate) fn rename(server: &Server<'_>, params: &RenameParams) -> Result<Edits, Fault> {
    let at = &params.text_document_position;
    let spot = server.spot(&at.text_document.uri, at.position)?;
    let (mention, old) = subject(spot)?;
    let new = &params.new_name;
    if new == old {
        return Ok(Edits::default());
    }
    if !syntax::is_name(new) {
        return Err(Fault::refused(format!("`{new}` is no name")));
    }
    if new.starts_with("__") {
        return Err(Fault::refused(format!(
            "`{new}` is reserved: names that begin with `__` are the checker's"
        )));
    }
    let mut edits = Edits::default();
    let in_rule = matches!(mention.symbol, Symbol::Variable { .. });
    for analysis in navigate::sharing(server, spot.analysis, &mention.symbol) {
        if let Some(file) = faulty(analysis).filter(|_| !in_rule) {
            let message = format!("`{file}` has faults of syntax, so not every use of `{old}` can be found");
            return Err(Fault::refused(message));
        }
        if let Some(what) = taken(analysis, &mention.symbol, new) {
            return Err(Fault::refused(format!("`{new}` is {what} already")));
        }
    }
    for (location, _) in navigate::places(server, spot, &mention.symbol) {
        let edit = TextEdit { range: location.range, new_text: new.clone() };
        edits.changes.entry(location.uri.as_str().to_owned()).or_default().push(edit);
    }
    Ok(edits)
}

/// The name that stands there, if it may have another spelling.
fn subject(spot: Spot<'_>) -> Result<(&Mention, &str), Fault> {
    let mention = spot.analysis.index.at(spot.span()).ok_or_else(|| Fault::refused("no name stands here"))?;
    let name = match &mention.symbol {
        Symbol::Variable { name, .. } => return Ok((mention, name)),
        Symbol::Relation(name) | Symbol::Type(name) | Symbol::Variant(name) => name,
        Symbol::Functor { name, .. } => return Err(Fault::refused(format!("`{name}` is built in"))),
        Symbol::Field { path, .. } => {
            let name = path.last().map_or("", String::as_str);
            return Err(Fault::refused(format!("`{name}` is a field, and fields keep their names")));
        }
        Symbol::Include(path) => {
            return Err(Fault::refused(format!("`{path}` is the path of a file")));
        }
        Symbol::Annotation(key) => return Err(Fault::refused(format!("`@{key}` is built in"))),
    };
    match spot.analysis.index.declaration(&mention.symbol) {
        Some(span) if span.file == PRELUDE => {
            Err(Fault::refused(format!("`{name}` belongs to the prelude, which keeps its names")))
        }
        Some(_) => Ok((mention, name)),
        None if matches!(name.as_str(), "number" | "unsigned" | "float" | "symbol") => {
            Err(Fault::refused(format!("`{name}` is built in")))
        }
        None => Err(Fault::refused(format!("`{name}` is not declared"))),
    }
}

/// A file some of whose statements are in no tree.
fn faulty(analysis: &Analysis) -> Option<&str> {
    let of_syntax = |code: &str| syntax::CODES.iter().any(|&(known, _)| known == code);
    let finding = analysis.description.findings.iter().find(|finding| of_syntax(finding.code))?;
    Some(analysis.name(finding.primary.span.file))
}

/// What has the new name already.
fn taken(analysis: &Analysis, symbol: &Symbol, new: &str) -> Option<&'static str> {
    let has = |symbol: Symbol| analysis.index.of(&symbol).next().is_some();
    let relation = || has(Symbol::Relation(new.to_owned()));
    let type_name = || has(Symbol::Type(new.to_owned())) || analysis.description.type_named(new).is_some();
    match symbol {
        // Relations and types share their names.
        Symbol::Relation(_) | Symbol::Type(_) if relation() => Some("a relation"),
        Symbol::Relation(_) | Symbol::Type(_) if type_name() => Some("a type"),
        Symbol::Variant(_) if has(Symbol::Variant(new.to_owned())) => Some("a variant"),
        Symbol::Variable { rule, .. } if has(Symbol::Variable { rule: *rule, name: new.to_owned() }) => {
            Some("a variable of the rule")
        }
        _ => None,
    }
}
