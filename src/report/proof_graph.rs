//! A proof as a graph, for those who draw it.

use std::collections::BTreeMap;

use crate::explain::{Ground, Miss, Proof, Shown, StepId};
use crate::lineage::RecordId;
use crate::report::proof::place;
use crate::report::records::kind;
use crate::report::visible::{shortened, visible};

/// The language of a drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drawing {
    /// Graphviz.
    Dot,
    /// Mermaid.
    Mermaid,
}

/// Characters of one line in a node.
const WIDTH: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Verdict,
    Rule,
    Missed,
    Record,
}

/// Nodes and edges in the order in which they were met.
#[derive(Debug, Default)]
struct Drawn {
    nodes: Vec<(String, Shape, Vec<String>)>,
    edges: Vec<(String, String, String)>,
}

/// The proof in that language: the verdict, the rules that fired, what they rest on, down to records.
#[must_use]
pub fn graph(proof: &Proof, drawing: Drawing) -> String {
    let drawn = draw(proof);
    match drawing {
        Drawing::Dot => dot(&drawn),
        Drawing::Mermaid => mermaid(&drawn),
    }
}

fn draw(proof: &Proof) -> Drawn {
    let mut drawn = Drawn::default();
    let subject = &proof.subject;
    let call = vec![
        proof.decision.verdict.name().to_owned(),
        format!("{} {}", subject.call_id, subject.tool),
        subject.arguments.clone(),
    ];
    drawn.nodes.push(("verdict".to_owned(), Shape::Verdict, call));
    for firing in &proof.firings {
        drawn.edges.push(("verdict".to_owned(), step(firing.step), firing.rule.clone()));
    }
    if let Some((approval, answer)) = proof.approval.as_ref().and_then(|all| Some((all, all.record?))) {
        let said = if approval.confirmed { "approved" } else { "declined" };
        drawn.edges.push(("verdict".to_owned(), record(answer), said.to_owned()));
    }
    for (number, one) in (0_u32..).zip(&proof.steps) {
        let name = step(StepId(number));
        drawn.nodes.push((name.clone(), Shape::Rule, vec![one.head.clone(), place(&one.site)]));
        for condition in &one.conditions {
            match &condition.ground {
                Ground::Step(next) => {
                    drawn.edges.push((name.clone(), step(*next), condition.text.clone()));
                }
                Ground::Path(way) => {
                    let first = way.first().map(|&source| record(source));
                    drawn.edges.extend(first.map(|source| (name.clone(), source, condition.text.clone())));
                    let pairs = way.iter().zip(way.iter().skip(1));
                    drawn.edges.extend(pairs.map(|(&a, &b)| (record(a), record(b), "read by".to_owned())));
                }
                _ => {
                    for binding in &condition.values {
                        if let Shown::Record(source) = binding.value {
                            drawn.edges.push((name.clone(), record(source), condition.text.clone()));
                        }
                    }
                }
            }
        }
    }
    for (number, miss) in proof.misses.iter().filter(|miss| !miss.elsewhere).enumerate() {
        missed(miss, number, &mut drawn);
    }
    for mention in &proof.records {
        let what = format!("#{} {} {}", mention.record.0, kind(mention.kind), mention.tool);
        let lines = vec![what, mention.agent.clone(), mention.excerpt.clone()];
        drawn.nodes.push((record(mention.record), Shape::Record, lines));
    }
    drawn.edges.dedup();
    drawn
}

fn missed(miss: &Miss, number: usize, drawn: &mut Drawn) {
    let name = format!("missed{number}");
    let fails = format!("fails: {}", miss.failed.text);
    let lines = vec![miss.head.clone(), place(&miss.site), fails, miss.failed.what.clone()];
    drawn.nodes.push((name.clone(), Shape::Missed, lines));
    drawn.edges.push(("verdict".to_owned(), name.clone(), miss.rule.clone()));
    for binding in miss.failed.seen.iter().flatten() {
        if let Shown::Record(source) = binding.value {
            drawn.edges.push((name.clone(), record(source), "found".to_owned()));
        }
    }
}

fn step(id: StepId) -> String {
    format!("step{}", id.0)
}

fn record(id: RecordId) -> String {
    format!("record{}", id.0)
}

fn lines(lines: &[String], escape: impl Fn(&str) -> String, end: &str) -> String {
    let full = lines.iter().filter(|line| !line.is_empty());
    full.map(|line| escape(&shortened(&visible(line), WIDTH))).collect::<Vec<_>>().join(end)
}

fn dot(drawn: &Drawn) -> String {
    let escape = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = "digraph proof {\n  rankdir=LR;\n  node [fontname=\"monospace\"];\n".to_owned();
    for (name, shape, text) in &drawn.nodes {
        let look = match shape {
            Shape::Verdict => "shape=doubleoctagon",
            Shape::Rule => "shape=box",
            Shape::Missed => "shape=box, style=dashed",
            Shape::Record => "shape=note",
        };
        out.push_str(&format!("  {name} [{look}, label=\"{}\"];\n", lines(text, escape, "\\n")));
    }
    for (from, to, label) in &drawn.edges {
        let label = lines(std::slice::from_ref(label), escape, "");
        out.push_str(&format!("  {from} -> {to} [label=\"{label}\"];\n"));
    }
    out + "}\n"
}

fn mermaid(drawn: &Drawn) -> String {
    let escape = |text: &str| {
        let mut out = String::with_capacity(text.len());
        for c in text.chars() {
            // Whatever has a meaning of its own in a label.
            match c {
                '"' | '#' | '&' | '<' | '>' | '`' | '\\' | ';' => out.push_str(&format!("#{};", c as u32)),
                c => out.push(c),
            }
        }
        out
    };
    let brackets: BTreeMap<&str, (&str, &str)> = BTreeMap::from([
        ("verdict", ("{{", "}}")),
        ("rule", ("[", "]")),
        ("missed", ("[/", "/]")),
        ("record", ("([", "])")),
    ]);
    let mut out = "flowchart LR\n".to_owned();
    for (name, shape, text) in &drawn.nodes {
        let look = match shape {
            Shape::Verdict => "verdict",
            Shape::Rule => "rule",
            Shape::Missed => "missed",
            Shape::Record => "record",
        };
        let (open, close) = brackets.get(look).copied().unwrap_or(("[", "]"));
        out.push_str(&format!("  {name}{open}\"{}\"{close}\n", lines(text, escape, "<br>")));
    }
    for (from, to, label) in &drawn.edges {
        let label = lines(std::slice::from_ref(label), escape, "");
        out.push_str(&format!("  {from} -->|\"{label}\"| {to}\n"));
    }
    out
}
