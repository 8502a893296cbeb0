//! Findings about variables that nothing binds.

use std::collections::BTreeSet;

use crate::program::findings::Findings;
use crate::program::ground::{Grounding, Spot};
use crate::program::normalise::Flat;
use crate::program::schema::{BROKEN, Schema};
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::value::Kind;

/// Reports the unbound variables of a rule with these literals. `elsewhere` are names that other alternatives of the rule bind.
pub(crate) fn report(
    grounding: &Grounding<'_>,
    (rule, literals): (Span, &[Flat<'_>]),
    elsewhere: &BTreeSet<&str>,
    findings: &mut Findings,
) {
    for (name, span, spots) in grounding.unbound() {
        if leaks(name, grounding) {
            continue;
        }
        let branch = elsewhere.contains(name);
        let why = if branch {
            format!("another branch of `;` binds `{name}`, this one does not")
        } else if grounding.aggregates.iter().any(|inner| inner.target.contains(name)) {
            format!("the `{name}` of the aggregate is one of its own and does not leave it")
        } else {
            reason(name, &spots)
        };
        // The alternatives of a rule are told about one variable once.
        if findings.first_time(rule, name) {
            let help = arguments_help(name, literals).unwrap_or_else(|| help(name, branch, &spots));
            findings.push(finding(name, span, &why, help));
        }
    }
}

/// How the arguments of the action are named, where the rule asks for the action and has a name for arguments.
fn arguments_help(name: &str, literals: &[Flat<'_>]) -> Option<String> {
    if !["arg", "param"].iter().any(|start| name.starts_with(start)) {
        return None;
    }
    let atoms = || {
        literals.iter().filter_map(|literal| match literal {
            Flat::Atom { atom, negated: false } => Some((atom.relation.text.as_str(), &atom.terms[..])),
            Flat::Atom { .. } | Flat::Compare { .. } | Flat::Text { .. } | Flat::Never(_) => None,
        })
    };
    let index = atoms().find_map(|(relation, terms)| match (relation, terms) {
        ("Actions", [index, _]) => match &index.kind {
            ast::TermKind::Variable(index) => Some(index.as_str()),
            _ => Some("_"),
        },
        _ => None,
    })?;
    let tool = atoms().find_map(|(relation, terms)| match (relation, terms) {
        ("IsTool", [_, tool]) => match &tool.kind {
            ast::TermKind::Text(tool) => Some(format!("\"{tool}\"")),
            ast::TermKind::Variable(tool) => Some(tool.clone()),
            _ => None,
        },
        _ => None,
    });
    let tool = tool.unwrap_or_else(|| "tool".to_owned());
    Some(format!("the arguments are in the action: `Actions({index}, $CallTool({tool}, {name}))` binds them"))
}

/// Reports the unbound variables of an aggregate's body. `visible` are names bound around it.
pub(crate) fn report_inner(
    grounding: &Grounding<'_>,
    visible: &BTreeSet<String>,
    elsewhere: &BTreeSet<&str>,
    findings: &mut Findings,
) {
    for (name, span, spots) in grounding.unbound() {
        if leaks(name, grounding) {
            continue;
        }
        let branch = elsewhere.contains(name);
        let why = if spots.contains(&Spot::Target) && visible.contains(name) {
            format!(
                "names in front of the colon are the aggregate's own: the `{name}` outside is not seen here"
            )
        } else if branch {
            format!("another branch of `;` binds `{name}`, this one does not")
        } else {
            reason(name, &spots)
        };
        findings.push(finding(name, span, &why, help(name, branch, &spots)));
    }
}

/// A variable of an aggregate's body that one of its branches does not have.
pub(crate) fn missing(name: &str, aggregate: Span) -> Diagnostic {
    finding(
        name,
        aggregate,
        &format!("another branch of `;` inside the aggregate binds `{name}`, one does not"),
        help(name, true, &BTreeSet::new()),
    )
}

/// Reports the variables of a fact.
pub(crate) fn report_fact(
    grounding: &Grounding<'_>,
    heads: &[ast::Atom],
    schema: &Schema,
    findings: &mut Findings,
) {
    for (name, span, _) in grounding.unbound() {
        let finding =
            Diagnostic::error("E0032", span, format!("a fact is constant, and `{name}` is a variable"))
                .with_label("not constant")
                .with_help(fact_help(name, span, heads, schema));
        findings.push(finding);
    }
}

/// What to write in place of a variable of a fact.
fn fact_help(name: &str, span: Span, heads: &[ast::Atom], schema: &Schema) -> String {
    let place = heads.iter().find_map(|head| {
        let at = head.terms.iter().position(|term| term.span == span)?;
        Some((head.relation.text.as_str(), at))
    });
    if let Some((decision @ ("IsAuthorized" | "Unauthorized"), _)) = place {
        return format!("bind `{name}` by a body: `{decision}({name}) :- Actions({name}, _).`");
    }
    let relation = |name: &str| schema.relation_names.get(name).and_then(|&id| schema.relation(id));
    let column = place.and_then(|(name, at)| relation(name)?.columns.get(at));
    let kind =
        column.filter(|column| column.type_id != BROKEN).map(|column| schema.types.kind(column.type_id));
    let constant = match kind {
        Some(Kind::Symbol) => format!("write `\"{name}\"` if a text is meant"),
        Some(Kind::Number | Kind::Unsigned | Kind::Float) => "write a number".to_owned(),
        Some(Kind::Compound) | None => "write a constant".to_owned(),
    };
    format!("{constant}, or give the rule a body that binds `{name}`")
}

fn leaks(name: &str, grounding: &Grounding<'_>) -> bool {
    grounding.aggregates.iter().any(|inner| inner.names.contains(name) && !inner.target.contains(name))
}

/// An inner variable of `count`, `sum` or `mean` that is used outside.
pub(crate) fn leaking(name: &str, aggregate: Span, grounding: &Grounding<'_>) -> Diagnostic {
    let place =
        grounding.mentions.iter().find(|mention| mention.name == name).map_or(aggregate, |at| at.span);
    Diagnostic::error("E0034", place, format!("`{name}` is bound inside an aggregate only"))
        .with_label("used outside of the aggregate")
        .with_secondary(aggregate, "bound in here")
        .with_help(format!(
            "bind `{name}` by a literal outside as well: then it is computed for each `{name}`"
        ))
}

fn reason(name: &str, spots: &BTreeSet<Spot>) -> String {
    if spots.iter().all(|&spot| spot == Spot::Head) {
        format!("`{name}` stands in the head and in no literal of the body")
    } else if spots.contains(&Spot::Negated) {
        format!("`{name}` stands under `!`, which binds nothing")
    } else if spots.contains(&Spot::Argument) {
        format!(
            "`{name}` stands inside a functor, arithmetic, a text test or before a dot, which bind nothing"
        )
    } else if spots.contains(&Spot::Target) {
        format!("no literal of the aggregate binds `{name}`")
    } else {
        format!("`{name}` is only compared, with nothing that is bound by `=`")
    }
}

fn help(name: &str, branch: bool, spots: &BTreeSet<Spot>) -> String {
    let only = |spot: &Spot| matches!(spot, Spot::Head | Spot::Compared);
    if branch {
        format!(
            "use the same name in both branches: each has to bind `{name}`, by an argument of a literal or by \
             `{name} = …` with a constant"
        )
    } else if spots.contains(&Spot::Compared) && spots.iter().all(only) {
        format!(
            "add a literal that is not negated and has `{name}` as an argument of its own; for a constant write \
             `{name} = 1`"
        )
    } else {
        format!("add a literal that is not negated and has `{name}` as an argument of its own")
    }
}

fn finding(name: &str, span: Span, why: &str, help: String) -> Diagnostic {
    Diagnostic::error("E0030", span, format!("nothing binds `{name}`: {why}"))
        .with_label(format!("`{name}` has no value"))
        .with_help(help)
}
