//! Paths and patterns that are not what they seem, wherever they are written: in the call itself, or in a fact that
//! leads there.

use std::collections::{BTreeMap, BTreeSet};

use crate::functor::{self, Role};
use crate::program::findings::Findings;
use crate::program::lints::scope::functor_of;
use crate::program::lints::view::{View, rules_of};
use crate::program::normalise;
use crate::program::schema::PRELUDE_FILE;
use crate::program::{Call, Term};
use crate::source::{Diagnostic, Span};
use crate::syntax::ast;
use crate::value::Symbol;

/// Warns of texts that are malformed where they are used, and of globs with brackets.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    // Each text is tried once for each role.
    let mut faulty: BTreeMap<(u8, Symbol), (Role, Span)> = BTreeMap::new();
    let mut tried: BTreeSet<(u8, Symbol)> = BTreeSet::new();
    for looked in &view.rules {
        for call in looked.scope.calls() {
            let Some(functor) = functor_of(call) else { continue };
            for (parameter, argument) in functor.parameters.iter().zip(&call.arguments) {
                let Some(order) = order(parameter.role) else { continue };
                let texts = looked.possible.text(&looked.scope, argument);
                for &text in texts.known().into_iter().flatten() {
                    if tried.insert((order, text)) && is_odd(parameter.role, view.program.pool.text(text)) {
                        faulty.insert((order, text), (parameter.role, place(view, call, argument)));
                    }
                }
            }
        }
    }
    if faulty.is_empty() {
        return;
    }
    let written = written(view);
    for ((_, text), (role, used)) in faulty {
        let text = view.program.pool.text(text);
        findings.push(finding(role, text, written.get(text).copied().unwrap_or(used), used));
    }
}

fn order(role: Role) -> Option<u8> {
    match role {
        Role::Plain => None,
        Role::Path => Some(0),
        Role::Pattern => Some(1),
        Role::Glob => Some(2),
    }
}

fn is_odd(role: Role, text: &str) -> bool {
    functor::check_literal(role, text).is_err() || (role == Role::Glob && text.contains(['[', '{']))
}

/// Where the argument stands.
fn place(view: &View<'_>, call: &Call, argument: &Term) -> Span {
    let at = call.arguments.iter().position(|other| std::ptr::eq(other, argument));
    at.and_then(|at| view.argument(call.span, at)).map_or(call.span, |term| term.span)
}

/// Where each text is written first in the heads and facts of the policy.
fn written<'a>(view: &View<'a>) -> BTreeMap<&'a str, Span> {
    let mut found = BTreeMap::new();
    let rules = view.units.iter().flat_map(rules_of).filter(|rule| rule.span.file != PRELUDE_FILE);
    for head in rules.flat_map(|rule| &rule.heads) {
        let mut terms: Vec<&ast::Term> = head.terms.iter().collect();
        while let Some(term) = terms.pop() {
            if let ast::TermKind::Text(text) = &term.kind {
                found.entry(text.as_str()).or_insert(term.span);
            }
            terms.extend(normalise::parts(term));
        }
    }
    found
}

fn finding(role: Role, text: &str, at: Span, used: Span) -> Diagnostic {
    let finding = match functor::check_literal(role, text) {
        Err(why) => {
            let what = if role == Role::Path { "path" } else { "pattern" };
            Diagnostic::warning("W0036", at, format!("`{text}` is a malformed {what}: {why}"))
                .with_label(format!("malformed {what}"))
                .with_help("the check of a call stops there, and the call is denied: mend the text")
        }
        Ok(()) => {
            let sign = if text.contains('[') { '[' } else { '{' };
            Diagnostic::warning("W0037", at, format!("`{sign}` stands for itself in the glob `{text}`"))
                .with_label("only `*`, `**` and `?` mean something")
                .with_help("write one glob for each name, as facts of a relation, or use `match` with a regular expression")
        }
    };
    if at == used { finding } else { finding.with_secondary(used, "used here") }
}
