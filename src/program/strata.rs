//! Which relations are evaluated before which.
//!
//! Stratified negation, as in any textbook on Datalog: a relation that is negated or aggregated over is complete before
//! the rule that does so starts. Rules as written are checked, so that findings speak of them; the strata are made of the
//! rules that run.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::program::analysis;
use crate::program::components::{Edges, components, edges, from, numbered};
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
    let broken = analysis::broken(&edges(schema.relations.len(), reads.iter().map(pair)), complete);
    let told: BTreeSet<Span> = reads
        .iter()
        .filter(|read| broken.contains(&pair(read)) && schema.relation_name(read.head) != "DenialReason")
        .map(|read| read.span)
        .collect();
    let by_head = by_head(&reads);
    for read in &reads {
        // A rule of `Unauthorized` stands for one of `DenialReason` too: the circle is told of once.
        let is_twin = schema.relation_name(read.head) == "DenialReason" && told.contains(&read.span);
        if read.reading != Reading::Plain && broken.contains(&pair(read)) && !is_twin {
            findings.push(unstratified(read, &by_head, schema));
        }
    }
    check_gates(&reads, &by_head, schema, findings);
}

/// The reads by the relation whose rules read, in the order of the text.
type ByHead = BTreeMap<RelationId, Vec<Read>>;

fn by_head(reads: &[Read]) -> ByHead {
    let mut found = ByHead::new();
    for read in reads {
        found.entry(read.head).or_default().push(*read);
    }
    found
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

fn unstratified(read: &Read, reads: &ByHead, schema: &Schema) -> Diagnostic {
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
fn shortest(from: RelationId, to: RelationId, reads: &ByHead) -> Vec<Read> {
    let mut came: BTreeMap<RelationId, Read> = BTreeMap::new();
    let mut open = VecDeque::from([from]);
    let mut passed = BTreeSet::from([from]);
    while let Some(at) = open.pop_front() {
        if at == to {
            break;
        }
        for read in reads.get(&at).into_iter().flatten() {
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

fn check_gates(reads: &[Read], by_head: &ByHead, schema: &Schema, findings: &mut Findings) {
    let find = |name: &str| schema.prelude_relation(name);
    for gate in ["CurrentDependsPolicyRelevant", "ReachableFromPolicyRelevant"] {
        let steps = reads.iter().map(|read| (read.head.0, read.body.0));
        let needs = analysis::reached(find(gate).into_iter().map(|gate| gate.0), steps);
        for ancestry in ["CurrentDepends", "ReachableFrom"] {
            let (Some(from), Some(to)) = (find(gate), find(ancestry)) else { continue };
            if !needs.contains(&to.0) {
                continue;
            }
            let path = shortest(from, to, by_head);
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

/// The order in which relations are evaluated, and what the rules of each read. Unions of aggregates read what stands
/// around the aggregate, and that must not lead back to the rule.
pub(crate) fn order(
    schema: &Schema,
    rules: &[Rule],
    lineage: &[Rule],
    findings: &mut Findings,
) -> (Vec<Stratum>, Vec<Vec<RelationId>>) {
    let mut pairs = Vec::new();
    for rule in rules.iter().chain(lineage) {
        relations_of(&rule.body, &mut |body| pairs.push((rule.head.relation.0, body.0)));
    }
    let reads = edges(schema.relations.len(), pairs.into_iter());
    let (complete, places) = aggregated(rules);
    let broken = analysis::broken(&reads, complete.iter().copied());
    for (pair, span) in complete.iter().zip(places) {
        if broken.contains(pair) {
            let message = "`;` inside an aggregate is not supported where the rule is recursive";
            let (outer, recursive) = outer_names(rules, span, schema);
            let finding = Diagnostic::error("E0006", span, message)
                .with_help(union::own_relation(&outer, recursive.as_deref()));
            findings.push(finding);
        }
    }
    let mut own: Vec<Vec<(Span, RuleId)>> = vec![Vec::new(); schema.relations.len()];
    for (id, rule) in (0..).map(RuleId).zip(rules) {
        if let Some(list) = own.get_mut(rule.head.relation.0 as usize) {
            list.push((rule.span, id));
        }
    }
    let groups = by_height(&reads).into_iter();
    let strata = groups.filter_map(|group| stratum(&group, schema, &own, &reads)).collect();
    let reads = reads.into_iter().map(|list| list.into_iter().map(RelationId).collect()).collect();
    (strata, reads)
}

/// The components of the graph, the lower before the higher: a component is higher than all that it reads.
fn by_height(reads: &Edges) -> Vec<Vec<u32>> {
    let components = components(reads);
    let of = numbered(reads.len(), &components);
    let mut heights: Vec<usize> = Vec::with_capacity(components.len());
    for component in &components {
        let read = component.iter().flat_map(|&at| from(reads, at));
        // What is read and has no height yet is of the component itself.
        let below = read.filter_map(|&at| heights.get(*of.get(at as usize)?));
        let height = below.max().map_or(0, |height| height + 1);
        heights.push(height);
    }
    let mut ordered: Vec<(usize, Vec<u32>)> = heights.into_iter().zip(components).collect();
    ordered.sort();
    ordered.into_iter().map(|(_, component)| component).collect()
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
    component: &[u32],
    schema: &Schema,
    rules: &[Vec<(Span, RuleId)>],
    reads: &Edges,
) -> Option<Stratum> {
    let relations: Vec<RelationId> = component.iter().copied().map(RelationId).collect();
    let rules_of = |&at: &u32| rules.get(at as usize).into_iter().flatten().copied();
    let mut own: Vec<(Span, RuleId)> = component.iter().flat_map(rules_of).collect();
    own.sort();
    let from_host =
        |id: &RelationId| schema.relation(*id).is_some_and(|relation| relation.origin == Origin::Host);
    if own.is_empty() && relations.iter().all(from_host) {
        return None;
    }
    let recursive = component.len() > 1 || component.iter().any(|&at| from(reads, at).contains(&at));
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
