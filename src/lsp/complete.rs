//! What may be written, as a list.

use std::collections::{BTreeMap, BTreeSet};

use lsp_types::{
    CompletionItem, CompletionItemKind, CompletionParams, CompletionTextEdit, Documentation, MarkupContent,
    MarkupKind, Range, TextEdit,
};

use crate::functor;
use crate::lsp::analysis::Analysis;
use crate::lsp::cursor::{self, Context, Cursor};
use crate::lsp::hover;
use crate::lsp::index::{Holder, Symbol};
use crate::lsp::server::{Fault, Server, Spot};
use crate::program::{ANNOTATIONS, AnnotationKey, TypeId};

/// What a directive is for.
const DIRECTIVES: [(&str, &str); 4] = [
    ("decl", "declares a relation"),
    ("type", "declares a type"),
    ("include", "reads another file of the policy"),
    ("output", "marks a relation that is shown"),
];

/// Columns that hold names of tools.
const TOOL_COLUMNS: [&str; 3] = ["tool", "fn_name", "tool_name"];

/// What may be written at the cursor.
pub(crate) fn complete(server: &Server<'_>, params: &CompletionParams) -> Result<Vec<CompletionItem>, Fault> {
    let at = &params.text_document_position;
    let spot = server.spot(&at.text_document.uri, at.position)?;
    let text = spot.analysis.text(spot.file);
    let cursor = cursor::cursor(text, spot.offset);
    let mut items = match &cursor.context {
        Context::Annotation => ANNOTATIONS.iter().map(annotation).collect(),
        Context::Text => tools(spot.analysis),
        Context::Functor => functors(false),
        Context::Variant => variants(spot.analysis),
        Context::Field(base, path) => fields(server, spot, &cursor, base, path),
        Context::Type => types(spot.analysis),
        Context::Directive => {
            DIRECTIVES.iter().map(|&(name, words)| item(name, CompletionItemKind::KEYWORD, words)).collect()
        }
        Context::Relation => relations(spot.analysis),
        Context::Code => code(spot, cursor.start),
        Context::Nothing => Vec::new(),
    };
    let lines = spot.analysis.lines(spot.file);
    let range = Range { start: lines.position(text, cursor.start), end: lines.position(text, cursor.end) };
    for item in &mut items {
        let new_text = item.insert_text.take().unwrap_or_else(|| item.label.clone());
        item.text_edit = Some(CompletionTextEdit::Edit(TextEdit { range, new_text }));
    }
    Ok(items)
}

fn item(label: &str, kind: CompletionItemKind, detail: &str) -> CompletionItem {
    let detail = (!detail.is_empty()).then(|| detail.to_owned());
    CompletionItem { label: label.to_owned(), kind: Some(kind), detail, ..CompletionItem::default() }
}

fn documented(item: CompletionItem, words: Option<String>) -> CompletionItem {
    let markup = words.map(|value| MarkupContent { kind: MarkupKind::Markdown, value });
    CompletionItem { documentation: markup.map(Documentation::MarkupContent), ..item }
}

fn annotation(known: &AnnotationKey) -> CompletionItem {
    // What may stand alone is written without a colon.
    let colon = if known.value.is_empty() || known.value.contains("nothing") { "" } else { ": " };
    let item = item(known.name, CompletionItemKind::PROPERTY, &hover::annotation(known.name, known));
    let insert_text = Some(format!("{}{colon}", known.name));
    documented(CompletionItem { insert_text, ..item }, Some(known.documentation.to_owned()))
}

/// The names of tools that the policy knows.
fn tools(analysis: &Analysis) -> Vec<CompletionItem> {
    let holds_tool = |holder: &Holder, at: usize| match holder {
        Holder::Relation(name) if name == "IsTool" => at == 1,
        Holder::Relation(name) => analysis
            .relation(name)
            .and_then(|declaration| declaration.columns.get(at))
            .is_some_and(|column| TOOL_COLUMNS.contains(&column.name.text.as_str())),
        Holder::Variant(name) => analysis
            .variants()
            .find(|(_, variant)| variant.name.text == *name)
            .and_then(|(_, variant)| variant.fields.get(at))
            .is_some_and(|field| TOOL_COLUMNS.contains(&field.name.text.as_str())),
    };
    let texts = analysis.index.texts.iter().filter(|(holder, at, _)| holds_tool(holder, *at));
    // The text at the cursor may be empty still, and is no name then.
    let names: BTreeSet<&str> =
        texts.map(|(_, _, text)| text.as_str()).filter(|text| !text.is_empty()).collect();
    let each = names.into_iter().map(|name| {
        let insert_text = Some(escaped(name));
        CompletionItem { insert_text, ..item(name, CompletionItemKind::VALUE, "tool") }
    });
    each.collect()
}

/// A text as it is written between quotes.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for sign in text.chars() {
        match sign {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            other => out.push(other),
        }
    }
    out
}

fn functors(intrinsic: bool) -> Vec<CompletionItem> {
    let mut items: Vec<CompletionItem> = Vec::new();
    for functor in functor::table().iter().filter(|functor| functor.intrinsic == intrinsic) {
        if items.last().is_some_and(|last| last.label == functor.name) {
            continue;
        }
        let detail = hover::signature(functor);
        let item = item(functor.name, CompletionItemKind::FUNCTION, &detail);
        items.push(documented(item, Some(functor.documentation.to_owned())));
    }
    items
}

fn variants(analysis: &Analysis) -> Vec<CompletionItem> {
    let mut items = BTreeMap::new();
    for (declaration, variant) in analysis.variants() {
        let fields = hover::attributes(&variant.fields);
        let detail = format!("${}({fields}): {}", variant.name.text, declaration.name.text);
        let item = item(&variant.name.text, CompletionItemKind::ENUM_MEMBER, &detail);
        items.entry(variant.name.text.as_str()).or_insert(item);
    }
    items.into_values().collect()
}

fn types(analysis: &Analysis) -> Vec<CompletionItem> {
    let item = |name: &str| {
        let item = item(name, CompletionItemKind::STRUCT, "");
        documented(item, hover::words(analysis, &Symbol::Type(name.to_owned())))
    };
    analysis.description.type_names().map(item).collect()
}

fn relations(analysis: &Analysis) -> Vec<CompletionItem> {
    let mut items = BTreeMap::new();
    for declaration in analysis.relations() {
        let name = declaration.name.text.as_str();
        items.entry(name).or_insert_with(|| {
            let detail = format!("({})", hover::attributes(&declaration.columns));
            let item = item(name, CompletionItemKind::CLASS, &detail);
            documented(item, hover::words(analysis, &Symbol::Relation(name.to_owned())))
        });
    }
    items.into_values().collect()
}

/// Relations, the names of the statement, and functors that are words.
fn code(spot: Spot<'_>, start: usize) -> Vec<CompletionItem> {
    let analysis = spot.analysis;
    let names = cursor::variables(analysis.text(spot.file), start);
    let names = names.iter().filter(|name| analysis.relation(name).is_none());
    let variables = names.map(|name| item(name, CompletionItemKind::VARIABLE, ""));
    variables.chain(relations(analysis)).chain(functors(true)).collect()
}

/// The fields of the values of a variable, or of one of its fields.
fn fields(
    server: &Server<'_>,
    spot: Spot<'_>,
    cursor: &Cursor,
    base: &str,
    path: &[String],
) -> Vec<CompletionItem> {
    let text = spot.analysis.text(spot.file);
    let name = spot.analysis.name(spot.file);
    let Some(top) = server.top_of(name) else { return Vec::new() };
    let chain = path.iter().fold(base.len(), |length, name| length + 1 + name.len());
    let literal = cursor.start.saturating_sub(chain + 1);
    for (patched, at) in cursor::patches(text, literal, cursor.end) {
        let mut open = server.open.clone();
        open.insert(name.to_owned(), patched);
        let analysis = Analysis::new(top, &open, server.files);
        let rule = analysis.file(name).and_then(|file| analysis.rule_at(file, at));
        let Some(rule) = rule else { continue };
        let types = hover::field(&analysis, rule.span, base, path);
        let items: Vec<_> = types.into_iter().flat_map(|id| fields_of(&analysis, id)).collect();
        if !items.is_empty() {
            return items;
        }
    }
    Vec::new()
}

fn fields_of(analysis: &Analysis, id: TypeId) -> Vec<CompletionItem> {
    let types = &analysis.description.types;
    let Some(constructor) = types.record_of(id) else { return Vec::new() };
    let fields = types.constructor(constructor).fields.iter();
    fields.map(|(name, id)| item(name, CompletionItemKind::FIELD, &types.get(*id).name)).collect()
}
