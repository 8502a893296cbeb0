//! What a check has to get.

use std::collections::BTreeSet;

use crate::decision::{ReasonKind, Verdict};
use crate::scenario::fields::{self, Fields, fields};
use crate::yaml::{Fault, Node, Value};

/// What one action has to get; what is not said is not compared.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Expectation {
    pub(crate) verdict: Option<Verdict>,
    pub(crate) kinds: Option<BTreeSet<ReasonKind>>,
    pub(crate) reasons: Option<Vec<String>>,
    pub(crate) suggestions: Option<BTreeSet<String>>,
    pub(crate) rule: Option<String>,
    pub(crate) transforms: Option<BTreeSet<String>>,
    /// Whether there may be more reasons and suggestions than are named.
    pub(crate) more: bool,
}

/// The exact rows of a relation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ExpectedRows {
    pub(crate) relation: String,
    pub(crate) rows: Vec<Vec<Node>>,
}

/// Reads the exact rows of relations.
pub(crate) fn facts(map: &Fields<'_>, faults: &mut Vec<Fault>) -> Vec<ExpectedRows> {
    let Some(node) = map.some("facts") else { return Vec::new() };
    let Value::Map(relations) = &node.value else {
        faults.push(Fault::new(node.place, "`facts` has to be a map from relations to their rows"));
        return Vec::new();
    };
    let rows = |name: &str, node: &Node, faults: &mut Vec<Fault>| {
        let rows = fields::list(node, &format!("`{name}`"), faults);
        rows.iter().map(|row| fields::list(row, &format!("a row of `{name}`"), faults).to_vec()).collect()
    };
    relations
        .iter()
        .map(|(key, node)| ExpectedRows { relation: key.text.clone(), rows: rows(&key.text, node, faults) })
        .collect()
}

/// Reads what one action has to get.
pub(crate) fn expectation(node: &Node, faults: &mut Vec<Fault>) -> Option<Expectation> {
    if node.scalar().is_some() {
        let verdict = verdict(node, faults)?;
        return Some(Expectation { verdict: Some(verdict), ..Expectation::default() });
    }
    let known = ["decision", "verdict", "kinds", "reasons", "suggestions", "rule", "transforms", "more"];
    let map = fields(node, "an expectation", &known, faults)?;
    if map.has("decision") && map.has("verdict") {
        faults.push(map.fault("verdict", "`decision` and `verdict` are one key, and both stand there"));
    }
    let word = map.some("decision").or_else(|| map.some("verdict"));
    let kinds = map.texts("kinds", faults).into_iter().filter_map(|word| kind(&map, &word, faults)).collect();
    let expectation = Expectation {
        verdict: word.and_then(|node| verdict(node, faults)),
        kinds: map.has("kinds").then_some(kinds),
        reasons: map.has("reasons").then(|| map.texts("reasons", faults)),
        suggestions: map.has("suggestions").then(|| map.texts("suggestions", faults).into_iter().collect()),
        rule: map.text("rule", faults),
        transforms: map.has("transforms").then(|| map.texts("transforms", faults).into_iter().collect()),
        more: map.flag("more", faults),
    };
    if faults.is_empty() && expectation == (Expectation { more: expectation.more, ..Expectation::default() })
    {
        faults.push(Fault::new(node.place, "an expectation that says nothing"));
    }
    Some(expectation)
}

fn verdict(node: &Node, faults: &mut Vec<Fault>) -> Option<Verdict> {
    match node.scalar() {
        Some("allow") => Some(Verdict::Allow),
        Some("ask") => Some(Verdict::Ask),
        Some("deny") => Some(Verdict::Deny),
        Some(_) | None => {
            faults.push(Fault::new(node.place, "a verdict is one of `allow`, `ask`, `deny`"));
            None
        }
    }
}

fn kind(map: &Fields<'_>, word: &str, faults: &mut Vec<Fault>) -> Option<ReasonKind> {
    let kinds = [
        ReasonKind::NotAuthenticated,
        ReasonKind::Denied,
        ReasonKind::ApprovalRequired,
        ReasonKind::NotAllowed,
        ReasonKind::EngineError,
    ];
    let found = kinds.into_iter().find(|kind| kind.name() == word);
    if found.is_none() {
        let known = kinds.map(|kind| format!("`{}`", kind.name())).join(", ");
        faults.push(map.fault("kinds", format!("unknown kind `{word}`; known are {known}")));
    }
    found
}
