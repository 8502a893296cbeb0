//! From a name to its other places.

use lsp_types::{GotoDefinitionParams, Location, Range, ReferenceParams};

use crate::lsp::analysis::{Analysis, PRELUDE};
use crate::lsp::index::{Mention, Role, Symbol};
use crate::lsp::server::{Fault, Server, Spot};

/// Where the name under the pointer gets its meaning, or the file that is included there. What the prelude declares has
/// no place: it is in no file.
pub(crate) fn definition(
    server: &Server<'_>,
    params: &GotoDefinitionParams,
) -> Result<Option<Location>, Fault> {
    let at = &params.text_document_position_params;
    let spot = server.spot(&at.text_document.uri, at.position)?;
    let Some(mention) = spot.analysis.index.at(spot.span()) else { return Ok(None) };
    if let Symbol::Include(path) = &mention.symbol {
        let file = spot.analysis.included(spot.file, path).and_then(|name| spot.analysis.file(name));
        let uri = file.and_then(|file| server.uri_of(spot.analysis, file));
        return Ok(uri.map(|uri| Location { uri, range: Range::default() }));
    }
    let declared = spot.analysis.index.declaration(&mention.symbol);
    Ok(declared.and_then(|span| {
        let uri = server.uri_of(spot.analysis, span.file)?;
        Some(Location { uri, range: spot.analysis.range(span) })
    }))
}

/// Every place of the name under the pointer, in the open documents and what they include.
pub(crate) fn references(server: &Server<'_>, params: &ReferenceParams) -> Result<Vec<Location>, Fault> {
    let at = &params.text_document_position;
    let spot = server.spot(&at.text_document.uri, at.position)?;
    let Some(mention) = spot.analysis.index.at(spot.span()) else { return Ok(Vec::new()) };
    let places = places(server, spot, &mention.symbol);
    let wanted = places
        .into_iter()
        .filter(|(_, mention)| params.context.include_declaration || mention.role != Role::Declares);
    Ok(wanted.map(|(location, _)| location).collect())
}

/// Every place of a name outside the prelude, each once.
pub(crate) fn places<'a>(
    server: &'a Server<'_>,
    spot: Spot<'a>,
    symbol: &'a Symbol,
) -> Vec<(Location, &'a Mention)> {
    let mut places: Vec<(Location, &Mention)> = Vec::new();
    for analysis in sharing(server, spot.analysis, symbol) {
        for mention in analysis.index.of(symbol) {
            let Some(uri) = server.uri_of(analysis, mention.span.file) else { continue };
            let location = Location { uri, range: analysis.range(mention.span) };
            if !places.iter().any(|(other, _)| *other == location) {
                places.push((location, mention));
            }
        }
    }
    places
}

/// The analyses in which a name means the same: what one file declares may be used by several documents that include it.
pub(crate) fn sharing<'a>(server: &'a Server<'_>, own: &'a Analysis, symbol: &Symbol) -> Vec<&'a Analysis> {
    let home = |analysis: &'a Analysis| {
        let file = analysis.index.declaration(symbol)?.file;
        (file != PRELUDE).then(|| analysis.name(file))
    };
    // A variable has no declaration, and its rule's place is one of this analysis.
    let Some(file) = home(own) else { return vec![own] };
    server.analyses().filter(|&analysis| home(analysis) == Some(file)).collect()
}
