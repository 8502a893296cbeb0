//! Which relations are evaluated before which.
//!
//! Stratified negation, as in any textbook on Datalog: a relation that is negated or aggregated over is complete before
//! the rule that does so starts. Rules as written are checked, so that findings speak of them; the strata are made of the
//! rules that run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::program::analysis::{self, Graph};
use crate::program::findings::Findings;
use crate::program::normalise;
use crate::program::schema::{PRELUDE_FILE, Schema};
use crate::program::union;
use crate::program::{Literal, Origin, RelationId, Rule, RuleId, Stratum};
use crate::source::Diagnostic;
use crate::source::Span;
use crate::syntax::ast;
use crate::syntax::ast::TermKind;

/// How a rule reads a relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reading {
    Plain,
    Negated,
    Aggregated,
}

/// One read of a relation by a rule as written.
#[derive(Debug, Clone, Copy)]
struct Read {
    head: RelationId,
    body: RelationId,
    reading: Reading,
    /// The literal.
    span: Span,
    /// The rule's head.
    rule: Span,
}

/// Reports recursion through negation or aggregates, and gates that depend on ancestry.
pub(crate) fn check<'a>(
    rules: impl Iterator<Item = &'a ast::Rule>,
    schema: &Schema,
    findings: &mut Findings,
) {
    let mut reads = Vec::new();
    rules.for_each(|rule| reads_of(rule, schema, &mut reads));
    let pair = |read: &Read| (read.head.0, read.body.0);
    let complete = reads.iter().filter(|read| read.reading != Reading::Plain).map(pair);
    let relations = u32::try_from(schema.relations.len()).unwrap_or(u32::MAX);
    let graph = analysis::close(relations, reads.iter().map(pair), complete);
    for read in &reads {
        let is_broken = read.reading != Reading::Plain && graph.broken.contains(&pair(read));
        if is_broken && !is_twin(read, &reads, &graph, schema) {
            findings.push(unstratified(read, &reads, schema));
        }
    }
    check_gates(&reads, &graph, schema, findings);
}

/// Whether the read is told of under `Unauthorized` already: a rule of that stands for one of `DenialReason` too.
fn is_twin(read: &Read, reads: &[Read], graph: &Graph, schema: &Schema) -> bool {
    let told = |other: &Read| {
        other.span == read.span
            && other.head != read.head
            && graph.broken.contains(&(other.head.0, other.body.0))
    };
    schema.relation_name(read.head) == "DenialReason" && reads.iter().any(told)
}

fn reads_of(rule: &ast::Rule, schema: &Schema, into: &mut Vec<Read>) {
    let Some(body) = &rule.body else { return };
    let mut found = Vec::new();
    atoms(body, false, &mut found);
    rule.heads.iter().flat_map(|head| &head.terms).for_each(|term| atoms_in(term, &mut found));
    for head in &rule.heads {
        let mut heads = vec![head.relation.text.as_str()];
        let decides =
            head.relation.text == "Unauthorized" && schema.prelude_relation("Unauthorized").is_some();
        if decides && rule.span.file != PRELUDE_FILE {
            heads.push("DenialReason");
        }
        for head_name in heads {
            let Some(&from) = schema.relation_names.get(head_name) else { continue };
            for &(atom, reading) in &found {
                if let Some(&to) = schema.relation_names.get(&atom.relation.text) {
                    into.push(Read { head: from, body: to, reading, span: atom.span, rule: head.span });
                }
            }
        }
    }
}

fn atoms<'a>(condition: &'a ast::Condition, negated: bool, into: &mut Vec<(&'a ast::Atom, Reading)>) {
    match condition {
        ast::Condition::And(parts) | ast::Condition::Or(parts) => {
            parts.iter().for_each(|part| atoms(part, negated, into));
            return;
        }
        ast::Condition::Not(inner, _) => {
            atoms(inner, !negated, into);
            return;
        }
        ast::Condition::Atom(atom) => {
            into.push((atom, if negated { Reading::Negated } else { Reading::Plain }));
        }
        ast::Condition::Comparison(_) | ast::Condition::TextTest { .. } | ast::Condition::Constant(..) => {}
    }
    let mut terms = Vec::new();
    normalise::terms_of(condition, &mut terms);
    terms.into_iter().for_each(|term| atoms_in(term, into));
}

/// The atoms of aggregates inside a term.
fn atoms_in<'a>(term: &'a ast::Term, into: &mut Vec<(&'a ast::Atom, Reading)>) {
    if let TermKind::Aggregate(aggregate) = &term.kind {
        let mut inner = Vec::new();
        atoms(&aggregate.body, false, &mut inner);
        aggregate.target.iter().for_each(|term| atoms_in(term, &mut inner));
        into.extend(inner.into_iter().map(|(atom, _)| (atom, Reading::Aggregated)));
    }
    normalise::parts(term).into_iter().for_each(|part| atoms_in(part, into));
}

fn unstratified(read: &Read, reads: &[Read], schema: &Schema) -> Diagnostic {
    let name = |id: RelationId| format!("`{}`", schema.relation_name(id));
    let (what, how) = match read.reading {
        Reading::Negated | Reading::Plain => ("negated", "not "),
        Reading::Aggregated => ("aggregated over", "an aggregate over "),
    };
    let path = shortest(read.body, read.head, reads);
    let mut circle = format!("{} -> {how}{}", name(read.head), name(read.body));
    for step in &path {
        circle.push_str(" -> ");
        circle.push_str(match step.reading {
            Reading::Plain => "",
            Reading::Negated => "not ",
            Reading::Aggregated => "an aggregate over ",
        });
        circle.push_str(&name(step.body));
    }
    let message = format!("{} is {what} in the recursion that derives it: {circle}", name(read.body));
    let mut finding = Diagnostic::error("E0040", read.span, message)
        .with_label(format!("{} has to be complete before this", name(read.body)));
    for step in &path {
        finding =
            finding.with_secondary(step.rule, format!("{} depends on {}", name(step.head), name(step.body)));
    }
    let through = if schema.relation_name(read.head) == "DenialReason" {
        " (every `Unauthorized` rule derives `DenialReason` too)"
    } else {
        ""
    };
    let what = if read.head == read.body {
        format!(
            "read a relation here that does not need {}, neither itself nor through others",
            name(read.body)
        )
    } else {
        format!(
            "base {} or {} on relations that do not lead back to the other",
            name(read.head),
            name(read.body)
        )
    };
    finding.with_help(format!("{what}{through}"))
}

/// The shortest way from one relation to another, in the order of the text.
fn shortest(from: RelationId, to: RelationId, reads: &[Read]) -> Vec<Read> {
    let mut came: BTreeMap<RelationId, Read> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    let mut passed = BTreeSet::from([from]);
    while let Some(at) = open.pop_front() {
        if at == to {
            break;
        }
        for read in reads.iter().filter(|read| read.head == at) {
            if passed.insert(read.body) {
                came.insert(read.body, *read);
                open.push_back(read.body);
            }
        }
    }
    let (mut path, mut at) = (Vec::new(), to);
    while at != from {
        let Some(read) = came.get(&at) else { break };
        path.push(*read);
        at = read.head;
    }
    path.reverse();
    path
}

fn check_gates(reads: &[Read], graph: &Graph, schema: &Schema, findings: &mut Findings) {
    let find = |name: &str| schema.prelude_relation(name);
    for gate in ["CurrentDependsPolicyRelevant", "ReachableFromPolicyRelevant"] {
        for ancestry in ["CurrentDepends", "ReachableFrom"] {
            let (Some(from), Some(to)) = (find(gate), find(ancestry)) else { continue };
            if !graph.needs.contains(&(from.0, to.0)) {
                continue;
            }
            let path = shortest(from, to, reads);
            let Some(first) = path.iter().find(|read| read.rule.file != PRELUDE_FILE) else { continue };
            let mut finding = Diagnostic::error(
                "E0041",
                first.span,
                format!("the gate `{gate}` depends on `{ancestry}`, which it switches on and off"),
            )
            .with_label("a gate cannot read ancestry");
            for step in path.iter().filter(|step| step.span != first.span && step.rule.file != PRELUDE_FILE) {
                finding =
                    finding.with_secondary(step.span, format!("reads `{}`", schema.relation_name(step.body)));
            }
            findings.push(
                finding.with_help("let the gate look at the request alone: `Actions`, `IsTool`, `Current`"),
            );
        }
    }
}

/// The variables from outside of the aggregate at that place, and the relation that its rule derives.
fn outer_names(rules: &[Rule], span: Span, schema: &Schema) -> (Vec<String>, Option<String>) {
    for rule in rules {
        for literal in &rule.body {
            if let Literal::Aggregate(aggregate) = literal
                && aggregate.span == span
            {
                let head = schema.relation(rule.head.relation).map(|relation| relation.name.clone());
                let outer = union::names(&rule.variables, &aggregate.outer);
                return (outer, head.filter(|name| !name.starts_with("__")));
            }
        }
    }
    (Vec::new(), None)
}

/// The order in which relations are evaluated, and what each needs. Unions of aggregates read what stands around the
/// aggregate, and that must not lead back to the rule.
pub(crate) fn order(
    schema: &Schema,
    rules: &[Rule],
    lineage: &[Rule],
    findings: &mut Findings,
) -> (Vec<Stratum>, Vec<Vec<RelationId>>) {
    let mut reads = BTreeSet::new();
    for rule in rules.iter().chain(lineage) {
        relations_of(&rule.body, &mut |body| {
            reads.insert((rule.head.relation.0, body.0));
        });
    }
    let relations = u32::try_from(schema.relations.len()).unwrap_or(u32::MAX);
    let (complete, places) = aggregated(rules);
    let graph = analysis::close(relations, reads.iter().copied(), complete.iter().copied());
    for (pair, span) in complete.iter().zip(places) {
        if graph.broken.contains(pair) {
            let message = "`;` inside an aggregate is not supported where the rule is recursive";
            let (outer, recursive) = outer_names(rules, span, schema);
            let finding = Diagnostic::error("E0006", span, message)
                .with_help(union::own_relation(&outer, recursive.as_deref()));
            findings.push(finding);
        }
    }
    let mut needs = vec![Vec::new(); schema.relations.len()];
    for &(from, to) in &graph.needs {
        if let Some(list) = needs.get_mut(from as usize) {
            list.push(RelationId(to));
        }
    }
    let mut groups: BTreeMap<(usize, RelationId), Vec<RelationId>> = BTreeMap::new();
    for (at, list) in (0..relations).zip(&needs) {
        let together = |&other: &RelationId| graph.needs.contains(&(other.0, at));
        // A relation that needs another one needs more relations than that one, unless both need each other.
        let first = list.iter().copied().find(together).unwrap_or(RelationId(at));
        groups.entry((list.len(), first)).or_default().push(RelationId(at));
    }
    let strata = groups.into_values().filter_map(|group| stratum(group, schema, rules, &reads)).collect();
    (strata, needs)
}

/// What the rules aggregate over, and where.
fn aggregated(rules: &[Rule]) -> (Vec<(u32, u32)>, Vec<Span>) {
    let mut found = Vec::new();
    for rule in rules {
        for literal in &rule.body {
            if let Literal::Aggregate(aggregate) = literal {
                relations_of(&aggregate.body, &mut |body| {
                    found.push(((rule.head.relation.0, body.0), aggregate.span));
                });
            }
        }
    }
    found.into_iter().unzip()
}

fn stratum(
    relations: Vec<RelationId>,
    schema: &Schema,
    rules: &[Rule],
    reads: &BTreeSet<(u32, u32)>,
) -> Option<Stratum> {
    let numbered = rules.iter().enumerate().filter(|(_, rule)| relations.contains(&rule.head.relation));
    let mut own: Vec<(Span, RuleId)> =
        numbered.map(|(at, rule)| (rule.span, RuleId(u32::try_from(at).unwrap_or(u32::MAX)))).collect();
    own.sort();
    let from_host =
        |id: &RelationId| schema.relation(*id).is_some_and(|relation| relation.origin == Origin::Host);
    if own.is_empty() && relations.iter().all(from_host) {
        return None;
    }
    let recursive = relations.iter().any(|a| relations.iter().any(|b| reads.contains(&(a.0, b.0))));
    Some(Stratum { relations, rules: own.into_iter().map(|(_, id)| id).collect(), recursive })
}

fn relations_of(body: &[Literal], visit: &mut dyn FnMut(RelationId)) {
    for literal in body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => visit(atom.relation),
            Literal::Aggregate(aggregate) => relations_of(&aggregate.body, visit),
            Literal::Test(_) => {}
        }
    }
}
