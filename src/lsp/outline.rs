//! The statements of a document as a list.

use lsp_types::{DocumentSymbol, DocumentSymbolParams, SymbolKind};

use crate::lsp::analysis::Analysis;
use crate::lsp::hover::attributes;
use crate::lsp::server::{Fault, Server};
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::{Item, TypeDefinition};

/// The types, relations, rules and facts of a document, in the order of the text.
pub(crate) fn outline(
    server: &Server<'_>,
    params: &DocumentSymbolParams,
) -> Result<Vec<DocumentSymbol>, Fault> {
    let (analysis, file) = server.view(&params.text_document.uri)?;
    Ok(analysis.items(file).iter().filter_map(|item| symbol(analysis, item)).collect())
}

fn symbol(analysis: &Analysis, item: &Item) -> Option<DocumentSymbol> {
    match item {
        Item::Type(declaration) => Some(type_symbol(analysis, declaration)),
        Item::Relation(declaration) => {
            let detail = format!("({})", attributes(&declaration.columns));
            let symbol = made(analysis, &declaration.name, SymbolKind::CLASS, declaration.span, detail);
            Some(DocumentSymbol { children: fields(analysis, &declaration.columns), ..symbol })
        }
        Item::Rule(rule) => {
            let head = rule.heads.first()?;
            let kind = if rule.body.is_some() { SymbolKind::FUNCTION } else { SymbolKind::CONSTANT };
            let id = rule.annotations.iter().find(|annotation| annotation.key.text == "id");
            let detail = id.map(|annotation| annotation.value.clone()).unwrap_or_default();
            Some(made(analysis, &head.relation, kind, rule.span, detail))
        }
        Item::Directive(_) | Item::Include(_) | Item::Pragma(_) | Item::Unsupported { .. } => None,
    }
}

fn type_symbol(analysis: &Analysis, declaration: &ast::TypeDeclaration) -> DocumentSymbol {
    let (kind, children) = match &declaration.definition {
        TypeDefinition::Subtype(_) | TypeDefinition::Alias(_) | TypeDefinition::Union(_) => {
            (SymbolKind::INTERFACE, None)
        }
        TypeDefinition::Record(columns) => (SymbolKind::STRUCT, fields(analysis, columns)),
        TypeDefinition::Variants(variants) => {
            let each = variants.iter().map(|variant| {
                let detail = format!("({})", attributes(&variant.fields));
                let span = variant
                    .fields
                    .last()
                    .map_or(variant.name.span, |field| variant.name.span.to(field.type_name.span));
                made(analysis, &variant.name, SymbolKind::ENUM_MEMBER, span, detail)
            });
            (SymbolKind::ENUM, Some(each.collect()))
        }
    };
    let symbol = made(analysis, &declaration.name, kind, declaration.span, String::new());
    DocumentSymbol { children, ..symbol }
}

fn fields(analysis: &Analysis, columns: &[ast::Attribute]) -> Option<Vec<DocumentSymbol>> {
    let each = columns.iter().map(|column| {
        let span = column.name.span.to(column.type_name.span);
        made(analysis, &column.name, SymbolKind::FIELD, span, column.type_name.text.clone())
    });
    Some(each.collect())
}

#[expect(deprecated, reason = "the structure has a field that must be filled and is no longer used")]
fn made(
    analysis: &Analysis,
    name: &ast::Name,
    kind: SymbolKind,
    whole: Span,
    detail: String,
) -> DocumentSymbol {
    DocumentSymbol {
        name: name.text.clone(),
        detail: (!detail.is_empty()).then_some(detail),
        kind,
        tags: None,
        deprecated: None,
        range: analysis.range(whole),
        selection_range: analysis.range(name.span),
        children: None,
    }
}
