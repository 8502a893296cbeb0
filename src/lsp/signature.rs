//! What the arguments are that are being written.

use lsp_types::{
    ParameterInformation, ParameterLabel, SignatureHelp, SignatureHelpParams, SignatureInformation,
};

use crate::functor;
use crate::lsp::analysis::Analysis;
use crate::lsp::hover;
use crate::lsp::server::{Fault, Server};
use crate::source::FileId;
use crate::syntax;
use crate::syntax::PieceKind;
use crate::syntax::ast::Attribute;

/// The signatures of what the cursor stands inside, with the argument that it stands at.
pub(crate) fn help(
    server: &Server<'_>,
    params: &SignatureHelpParams,
) -> Result<Option<SignatureHelp>, Fault> {
    let at = &params.text_document_position_params;
    let spot = server.spot(&at.text_document.uri, at.position)?;
    let before = spot.analysis.text(spot.file).get(..spot.offset).unwrap_or("");
    let Some((sign, name, argument)) = call(before) else { return Ok(None) };
    let signatures = signatures(spot.analysis, sign, name);
    if signatures.is_empty() {
        return Ok(None);
    }
    let active_parameter = u32::try_from(argument).ok();
    Ok(Some(SignatureHelp { signatures, active_signature: Some(0), active_parameter }))
}

/// The innermost call that is still open at the end of a text: its sign, its name, and how many commas it has so far.
fn call(text: &str) -> Option<(&str, &str, usize)> {
    let slice = |span: crate::source::Span| text.get(span.start as usize..span.end as usize).unwrap_or("");
    let pieces = syntax::pieces(FileId(0), text);
    let mut open: Vec<(usize, usize)> = Vec::new();
    for (at, piece) in pieces.iter().enumerate() {
        match slice(piece.span) {
            "(" | "[" | "{" => open.push((at, 0)),
            ")" | "]" | "}" => {
                open.pop();
            }
            "," => {
                if let Some((_, commas)) = open.last_mut() {
                    *commas += 1;
                }
            }
            _ if piece.kind == PieceKind::Stop => open.clear(),
            _ => {}
        }
    }
    let &(bracket, commas) = open.last()?;
    let piece = |back: usize| bracket.checked_sub(back).and_then(|at| pieces.get(at)).copied();
    let name = piece(1).filter(|name| name.kind == PieceKind::Word)?;
    let opened = pieces.get(bracket).map_or("", |piece| slice(piece.span));
    let sign = piece(2).map_or("", |piece| slice(piece.span));
    (opened == "(").then(|| (if matches!(sign, "@" | "$") { sign } else { "" }, slice(name.span), commas))
}

fn signatures(analysis: &Analysis, sign: &str, name: &str) -> Vec<SignatureInformation> {
    let written = |attributes: &[Attribute]| -> Vec<String> {
        attributes.iter().map(|it| format!("{}: {}", it.name.text, it.type_name.text)).collect()
    };
    if sign == "$" {
        let variant = analysis.variants().find(|(_, variant)| variant.name.text == name);
        return variant
            .map(|(_, variant)| made(&format!("${name}"), &written(&variant.fields)))
            .into_iter()
            .collect();
    }
    if let Some(relation) = analysis.relation(name).filter(|_| sign.is_empty()) {
        return vec![made(name, &written(&relation.columns))];
    }
    let overloads = functor::overloads(name, sign.is_empty());
    let functors = overloads.iter().filter_map(|id| functor::table().get(usize::from(id.0)));
    functors.map(|functor| made(&format!("{sign}{name}"), &hover::parameters(functor))).collect()
}

fn made(name: &str, parameters: &[String]) -> SignatureInformation {
    let each = parameters.iter().map(|parameter| ParameterInformation {
        label: ParameterLabel::Simple(parameter.clone()),
        documentation: None,
    });
    SignatureInformation {
        label: format!("{name}({})", parameters.join(", ")),
        documentation: None,
        parameters: Some(each.collect()),
        active_parameter: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_open_call() {
        let rows = [
            ("R(", Some(("", "R", 0))),
            ("R(a, @f(b, ", Some(("@", "f", 1))),
            ("R(a, @f(b), ", Some(("", "R", 2))),
            ("R($V(", Some(("$", "V", 0))),
            ("R(a, [b, ", None),
            ("R(a).", None),
            ("R(\"(\", ", Some(("", "R", 1))),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(call(text), expected, "{text}");
        }
    }
}
