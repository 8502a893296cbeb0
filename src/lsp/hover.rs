//! What a name means, in words.

use lsp_types::{Hover, HoverContents, HoverParams, MarkupContent, MarkupKind};

use crate::functor;
use crate::functor::{Functor, Mode};
use crate::lsp::analysis::{Analysis, PRELUDE};
use crate::lsp::index::{Role, Symbol};
use crate::lsp::server::{Fault, Server};
use crate::program::{ANNOTATIONS, AnnotationKey, Origin, TypeId};
use crate::source::{FileId, Span};
use crate::syntax::ast::Attribute;
use crate::value::Kind;

/// How many places of rules are named.
const MOST_PLACES: usize = 5;

/// What stands under the pointer.
pub(crate) fn hover(server: &Server<'_>, params: &HoverParams) -> Result<Option<Hover>, Fault> {
    let at = &params.text_document_position_params;
    let spot = server.spot(&at.text_document.uri, at.position)?;
    let Some(mention) = spot.analysis.index.at(spot.span()) else { return Ok(None) };
    let value = words(spot.analysis, &mention.symbol);
    Ok(value.map(|value| Hover {
        contents: HoverContents::Markup(MarkupContent { kind: MarkupKind::Markdown, value }),
        range: Some(spot.analysis.range(mention.span)),
    }))
}

/// What there is to say about a name; nothing where nobody knows it.
pub(crate) fn words(analysis: &Analysis, symbol: &Symbol) -> Option<String> {
    match symbol {
        Symbol::Relation(name) => relation(analysis, name),
        Symbol::Type(name) => type_words(analysis, name),
        Symbol::Variant(name) => {
            let (declaration, variant) =
                analysis.variants().find(|(_, variant)| variant.name.text == *name)?;
            let fields = attributes(&variant.fields);
            Some(code(&format!("${name}({fields}): {}", declaration.name.text), ""))
        }
        Symbol::Functor { name, intrinsic } => functor_words(name, *intrinsic),
        Symbol::Variable { rule, name } => {
            let types = type_list(analysis, &analysis.description.variable(*rule, name));
            Some(code(&if types.is_empty() { name.clone() } else { format!("{name}: {types}") }, ""))
        }
        Symbol::Field { rule, base, path } => {
            let types = field(analysis, *rule, base.as_deref()?, path);
            let types = type_list(analysis, &types);
            (!types.is_empty())
                .then(|| code(&format!("{}: {types}", path.last().map_or("", String::as_str)), ""))
        }
        Symbol::Include(_) => None,
        Symbol::Annotation(key) => {
            let known = |known: &&AnnotationKey| known.name == key || known.aliases.contains(&key.as_str());
            ANNOTATIONS.iter().find(known).map(|known| code(&annotation(key, known), known.documentation))
        }
    }
}

/// `@key: what follows`
pub(crate) fn annotation(key: &str, known: &AnnotationKey) -> String {
    if known.value.is_empty() { format!("@{key}") } else { format!("@{key}: {}", known.value) }
}

/// The types of a field of a variable.
pub(crate) fn field(analysis: &Analysis, rule: Span, base: &str, path: &[String]) -> Vec<TypeId> {
    let mut types = analysis.description.variable(rule, base);
    for field in path {
        types = types.into_iter().filter_map(|id| analysis.description.field(id, field)).collect();
    }
    types
}

fn type_list(analysis: &Analysis, types: &[TypeId]) -> String {
    let names: Vec<_> = types.iter().map(|&id| analysis.description.types.get(id).name.as_str()).collect();
    names.join(" | ")
}

/// Code, and words below it.
fn code(code: &str, words: &str) -> String {
    let mut text = format!("```gatelog\n{code}\n```");
    if !words.is_empty() {
        text.push_str(&format!("\n\n{words}"));
    }
    text
}

/// `name: type, …`
pub(crate) fn attributes(attributes: &[Attribute]) -> String {
    let each = attributes.iter().map(|it| format!("{}: {}", it.name.text, it.type_name.text));
    each.collect::<Vec<_>>().join(", ")
}

fn relation(analysis: &Analysis, name: &str) -> Option<String> {
    let declaration = analysis.relation(name)?;
    let head = format!(".decl {name}({})", attributes(&declaration.columns));
    let mut words = paragraphs(&declaration.documentation);
    if !words.is_empty() {
        words.push_str("\n\n");
    }
    words.push_str(&filled(analysis, name));
    Some(code(&head, &words))
}

/// Words of a comment, with its line ends kept.
fn paragraphs(documentation: &str) -> String {
    documentation.lines().collect::<Vec<_>>().join("  \n")
}

/// Who fills a relation.
fn filled(analysis: &Analysis, name: &str) -> String {
    let declared = analysis.description.relations.iter().find(|relation| relation.name == name);
    match declared.map(|relation| relation.origin) {
        Some(Origin::Host) => return "Filled by the host.".to_owned(),
        Some(Origin::Lineage(_)) => return "Answered from what each record was computed from.".to_owned(),
        Some(Origin::Rules) | None => {}
    }
    let symbol = Symbol::Relation(name.to_owned());
    let rules: Vec<_> = analysis.index.of(&symbol).filter(|mention| mention.role == Role::Fills).collect();
    let mut places: Vec<_> = rules
        .iter()
        .filter(|rule| rule.span.file != PRELUDE)
        .map(|rule| place(analysis, rule.span))
        .collect();
    if places.len() < rules.len() {
        places.insert(0, "the prelude".to_owned());
    }
    if places.is_empty() {
        return "Nothing fills it.".to_owned();
    }
    let more = places.len().saturating_sub(MOST_PLACES);
    places.truncate(MOST_PLACES);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    format!("Filled by {}{more}.", places.join(", "))
}

fn place(analysis: &Analysis, span: Span) -> String {
    let name = analysis.name(span.file);
    let short = name.rsplit(['/', '\\']).next().unwrap_or(name);
    format!("`{short}:{}`", analysis.description.sources.place(span).line)
}

fn type_words(analysis: &Analysis, name: &str) -> Option<String> {
    let Some(declaration) = analysis.types().find(|declaration| declaration.name.text == name) else {
        let words = match name {
            "number" => "A signed number of 64 bits.",
            "unsigned" => "A number of 64 bits without a sign.",
            "float" => "A double.",
            "symbol" => "A text.",
            _ => return None,
        };
        return Some(code(name, words));
    };
    let text = analysis.description.sources.text(declaration.span).trim_end();
    let words = comment_above(analysis, declaration.span.file, declaration.span.start as usize);
    Some(code(text, &paragraphs(&words)))
}

/// The comment lines directly above a statement, without their markers.
fn comment_above(analysis: &Analysis, file: FileId, start: usize) -> String {
    let text = analysis.text(file);
    let above = text.get(..start).unwrap_or("");
    let mut lines = Vec::new();
    for line in above.lines().rev() {
        let Some(words) = line.trim().strip_prefix("//") else { break };
        lines.push(words.strip_prefix(' ').unwrap_or(words));
    }
    lines.reverse();
    lines.join("\n")
}

fn functor_words(name: &str, intrinsic: bool) -> Option<String> {
    let table = functor::table();
    let overloads = functor::overloads(name, intrinsic);
    let functors: Vec<_> = overloads.iter().filter_map(|id| table.get(usize::from(id.0))).collect();
    let first = functors.first()?;
    let heads: Vec<_> = functors.iter().map(|functor| signature(functor)).collect();
    let words = format!("{}\n\n{}", first.documentation, mode(first));
    Some(code(&heads.join("\n"), &words))
}

/// `@name(parameter: type, …): type`
pub(crate) fn signature(functor: &Functor) -> String {
    let sign = if functor.intrinsic { "" } else { "@" };
    let parameters = parameters(functor).join(", ");
    format!("{sign}{}({parameters}): {}", functor.name, kind(functor.result))
}

/// `name: type`, for each parameter.
pub(crate) fn parameters(functor: &Functor) -> Vec<String> {
    let last = functor.parameters.len().saturating_sub(1);
    let each = functor.parameters.iter().enumerate().map(|(at, parameter)| {
        let more = if functor.variadic && at == last { "…" } else { "" };
        format!("{}: {}{more}", parameter.name, kind(parameter.kind))
    });
    each.collect()
}

fn mode(functor: &Functor) -> String {
    let values = match functor.mode {
        Mode::Total => "Always has one value.",
        Mode::Partial => "Has one value or none; without one, the literal does not hold.",
        Mode::Generator => "Has any number of values.",
    };
    let faults = if functor.fallible { " May fail, which denies." } else { "" };
    format!("{values}{faults}")
}

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Number => "number",
        Kind::Unsigned => "unsigned",
        Kind::Float => "float",
        Kind::Symbol => "symbol",
        Kind::Compound => "record",
    }
}
