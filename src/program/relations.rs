//! `.decl` statements and directives.

use crate::program::declarations::{distinct, look_up, otherwise, reserved, twice};
use crate::program::findings::Findings;
use crate::program::schema::{BROKEN, PRELUDE_FILE, Schema};
use crate::program::suggest;
use crate::program::{Column, LineageRelation, Origin, Relation, RelationId};
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;

/// Relations of the prelude that policies may derive into; all others of the prelude are closed. They count although no
/// rule reads them.
pub(crate) const OPEN: [&str; 9] = [
    "IsAuthorized",
    "Unauthorized",
    "DenialReason",
    "ApplyTransform",
    "AllowPassthrough",
    "DenyUnauthorized",
    "CurrentDependsPolicyRelevant",
    "ReachableFromPolicyRelevant",
    "ToolResultFieldName",
];

/// Enters a relation.
pub(crate) fn declare(declaration: &ast::RelationDeclaration, schema: &mut Schema, findings: &mut Findings) {
    let name = &declaration.name;
    if reserved(name, findings) {
        return;
    }
    distinct("column", &declaration.columns, findings);
    let columns: Vec<_> = declaration
        .columns
        .iter()
        .map(|column| Column {
            name: column.name.text.clone(),
            type_id: look_up(&column.type_name, schema, findings),
        })
        .collect();
    if let Some(first) = schema.relation_names.get(&name.text).and_then(|&id| schema.relation(id)) {
        let types = |columns: &[Column]| columns.iter().map(|column| column.type_id).collect::<Vec<_>>();
        let place = first.span;
        if place.file != PRELUDE_FILE {
            findings.push(twice("relation", name, place));
        } else if types(&first.columns) != types(&columns) {
            findings.push(otherwise("relation", name, place));
        }
        return;
    }
    if schema.type_names.contains_key(&name.text) {
        let message = format!("`{}` is a type already", name.text);
        findings.push(Diagnostic::error("E0016", name.span, message).with_help("choose another name"));
        return;
    }
    let relation = Relation {
        name: name.text.clone(),
        columns,
        origin: lineage(declaration).map_or(Origin::Rules, Origin::Lineage),
        span: name.span,
        documentation: declaration.documentation.clone(),
        output: false,
    };
    let id = schema.add_relation(relation);
    qualifiers(declaration, id, schema, findings);
}

fn lineage(declaration: &ast::RelationDeclaration) -> Option<LineageRelation> {
    if declaration.span.file != PRELUDE_FILE {
        return None;
    }
    match declaration.name.text.as_str() {
        "Edge" => Some(LineageRelation::Edge),
        "EdgeData" => Some(LineageRelation::EdgeData),
        "CurrentDepends" => Some(LineageRelation::CurrentDepends),
        "ReachableFrom" => Some(LineageRelation::ReachableFrom),
        _ => None,
    }
}

/// Enters `eqrel`. The other qualifiers that the grammar lets through say how a relation is stored, which changes no tuple.
fn qualifiers(
    declaration: &ast::RelationDeclaration,
    id: RelationId,
    schema: &mut Schema,
    findings: &mut Findings,
) {
    for qualifier in declaration.qualifiers.iter().filter(|qualifier| qualifier.text == "eqrel") {
        let types: Vec<_> = schema
            .relation(id)
            .map(|relation| relation.columns.iter().map(|column| column.type_id).collect())
            .unwrap_or_default();
        match types[..] {
            [a, b] if a == b => schema.equivalences.push((id, qualifier.span)),
            [BROKEN, _] | [_, BROKEN] => {}
            _ => {
                let message =
                    format!("`eqrel` relation `{}` needs two columns of one type", declaration.name.text);
                let of = types.first().map_or("T", |&id| schema.type_name(id));
                let finding = Diagnostic::error("E0046", qualifier.span, message)
                    .with_help(format!("declare two columns, `a: {of}, b: {of}`"));
                findings.push(finding);
            }
        }
    }
}

/// Lines for the preprocessor of C.
const PREPROCESSOR: [&str; 11] = [
    "#define", "#undef", "#if", "#ifdef", "#ifndef", "#else", "#elif", "#endif", "#pragma", "#line", "#error",
];

/// A construct that is recognised and not there.
pub(crate) fn unsupported(what: &str, span: Span) -> Diagnostic {
    let word = what.trim_matches('`');
    if word.starts_with('#') && !PREPROCESSOR.contains(&word) {
        return Diagnostic::error("E0006", span, "`#` begins no comment here")
            .with_label("not understood")
            .with_help("a comment begins with `//`, or stands between `/*` and `*/`");
    }
    Diagnostic::error("E0006", span, format!("{what} is not supported here"))
        .with_help("say it with plain rules; nothing of a policy is left out in silence")
}

/// Whether a program's own relations can be given facts from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Inputs {
    /// Never: a policy names no file.
    Refused,
    /// From fact files.
    Read,
}

/// Reads `.output`, `.input` and `.printsize`.
pub(crate) fn direct(
    directive: &ast::Directive,
    inputs: Inputs,
    schema: &mut Schema,
    findings: &mut Findings,
) {
    let name = &directive.relation;
    let Some(&id) = schema.relation_names.get(&name.text) else {
        let finding = unknown_relation(name, schema);
        findings.push(finding);
        return;
    };
    let in_prelude = directive.span.file == PRELUDE_FILE;
    let of_prelude = schema.is_prelude(id);
    let Some(relation) = schema.relations.get_mut(id.0 as usize) else { return };
    match directive.kind {
        ast::DirectiveKind::Output => relation.output = true,
        ast::DirectiveKind::PrintSize => {}
        ast::DirectiveKind::Input if in_prelude => {
            if relation.origin == Origin::Rules {
                relation.origin = Origin::Host;
            }
        }
        ast::DirectiveKind::Input if of_prelude => {}
        ast::DirectiveKind::Input if inputs == Inputs::Read => relation.origin = Origin::Host,
        ast::DirectiveKind::Input => {
            let message =
                format!("`{}` would read facts given by the host, and none can be given to it", name.text);
            let finding = Diagnostic::error("E0043", directive.span, message)
                .with_label("a policy never makes the engine read a file")
                .with_help(format!(
                    "remove the line, and write the facts of `{}` into the policy or read `PolicyMetadata`, which the host fills",
                    name.text
                ));
            findings.push(finding);
        }
    }
}

/// No relation of that name.
pub(crate) fn unknown_relation(name: &ast::Name, schema: &Schema) -> Diagnostic {
    let otherwise = format!("declare it with `.decl {}(…)`", name.text);
    Diagnostic::error("E0010", name.span, format!("no relation is called `{}`", name.text))
        .with_label("unknown relation")
        .with_help(schema.near_relation(&name.text, &otherwise))
}

/// No relation of that name, where a rule would derive into it.
pub(crate) fn unknown_head(name: &ast::Name, schema: &Schema) -> Diagnostic {
    let open = schema
        .relation_names
        .iter()
        .filter(|(other, id)| !schema.is_prelude(**id) || OPEN.contains(&other.as_str()))
        .map(|(other, _)| other.as_str())
        .filter(|other| !other.starts_with("__"));
    let otherwise = format!("declare it with `.decl {}(…)`", name.text);
    Diagnostic::error("E0010", name.span, format!("no relation is called `{}`", name.text))
        .with_label("unknown relation")
        .with_help(suggest::did_you_mean(&name.text, open, &otherwise))
}

/// Reports a rule of a policy that derives into a relation that only the host or the prelude fills.
pub(crate) fn check_open(head: &ast::Atom, schema: &Schema, findings: &mut Findings) {
    let name = &head.relation;
    let Some(&id) = schema.relation_names.get(&name.text) else { return };
    if name.span.file == PRELUDE_FILE || !schema.is_prelude(id) || OPEN.contains(&name.text.as_str()) {
        return;
    }
    let filled = schema.relation(id).map_or("prelude", |relation| match relation.origin {
        Origin::Host => "host",
        Origin::Rules | Origin::Lineage(_) => "prelude",
    });
    let message = format!("`{}` is closed to policies: only the {filled} fills it", name.text);
    let mut finding =
        Diagnostic::error("E0042", name.span, message).with_label("no rule of a policy may derive it");
    if let Some(relation) = schema.relation(id) {
        finding = finding.with_secondary(relation.span, "declared here");
    }
    findings.push(finding.with_help(own_relation(&name.text, id, schema)));
}

/// How to do without a rule for a closed relation.
fn own_relation(name: &str, id: RelationId, schema: &Schema) -> String {
    match name {
        "Authorized" => return "write `IsAuthorized`: `Authorized` follows from it".to_owned(),
        "HasPrincipal" | "HasRole" => {
            return "remove the rule: who asks and in which role comes with the request (`--principal`, `--role`)"
                .to_owned();
        }
        _ => {}
    }
    let columns = schema.relation(id).map_or(&[][..], |relation| &relation.columns);
    let columns: Vec<_> = columns
        .iter()
        .map(|column| format!("{}: {}", column.name, schema.type_name(column.type_id)))
        .collect();
    format!(
        "declare a relation of your own, `.decl My{name}({})`, derive that, and read it beside `{name}`",
        columns.join(", ")
    )
}
