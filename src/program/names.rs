//! Names that rules are given.

use std::collections::BTreeMap;

use crate::program::annotations::Subject;
use crate::program::findings::Findings;
use crate::program::schema::Schema;
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;

/// Warns of rules about the decision that have the name of an earlier one. Rules on other subjects have no name.
pub(crate) fn check<'a>(
    rules: impl Iterator<Item = &'a ast::Rule>,
    schema: &Schema,
    findings: &mut Findings,
) {
    let mut first: BTreeMap<&str, Span> = BTreeMap::new();
    for rule in rules {
        let decides = |name: &str| Subject::of(name).is_some() && schema.prelude_relation(name).is_some();
        if !rule.heads.iter().any(|head| decides(&head.relation.text)) {
            continue;
        }
        // A second name of one rule is a fault of its own.
        let name = rule.annotations.iter().find(|note| note.key.text == "id" && !note.value.is_empty());
        let Some(note) = name else { continue };
        let Some(&other) = first.get(note.value.as_str()) else {
            first.insert(&note.value, note.value_span);
            continue;
        };
        let message = format!("two rules are named `{}`", note.value);
        let finding = Diagnostic::warning("W0005", note.value_span, message)
            .with_label("nobody can tell which one has fired")
            .with_secondary(other, "the other one")
            .with_help("give each a name of its own, or join them by `;`");
        findings.push(finding);
    }
}
