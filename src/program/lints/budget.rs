//! Rules that count the earlier calls of a tool, or add up what they spent, to stop the next one.

use std::collections::{BTreeMap, BTreeSet};

use crate::program::findings::Findings;
use crate::program::lints::evidence::{ANCESTRY, ANSWERS, called};
use crate::program::lints::values::Target;
use crate::program::lints::view::{Looked, Side, View, variable};
use crate::program::{
    Aggregate, AggregateFunction, Atom, DecisionKind, Literal, RelationId, Term, VariableId,
};
use crate::source::{Diagnostic, Span};
use crate::value::{Kind, Symbol};

/// Most counts that are kept for one relation.
const MOST: usize = 16;

/// Why a count misses calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lack {
    /// Only ancestors are counted.
    Ancestry,
    /// Only calls that have an answer are counted.
    Answers,
}

/// Earlier calls of some tools, as a rule reads them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Earlier {
    /// Where they are read.
    span: Span,
    tools: BTreeSet<Symbol>,
    lack: Lack,
}

/// Warns of budgets that calls get past side by side.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let mut rows: BTreeMap<RelationId, Vec<Earlier>> = BTreeMap::new();
    for looked in &view.rules {
        add(&mut rows, looked, earlier(looked, &looked.rule().body));
    }
    let mut counts: BTreeMap<RelationId, Vec<Earlier>> = BTreeMap::new();
    for looked in &view.rules {
        add(&mut counts, looked, counted(looked, &rows));
    }
    view.rules.iter().filter(|looked| looked.side == Side::Denies).for_each(|looked| taint(looked, findings));
    for looked in view.decisions(&[DecisionKind::Allow, DecisionKind::Deny, DecisionKind::Ask]) {
        let Some(tools) = called(looked.targets()) else { continue };
        let mut all = counted(looked, &rows);
        for literal in &looked.rule().body {
            if let Literal::Positive(atom) | Literal::Negative(atom) = literal {
                all.extend(counts.get(&atom.relation).into_iter().flatten().cloned());
            }
        }
        for earlier in all.into_iter().filter(|earlier| earlier.tools.is_subset(&tools)) {
            findings.push(finding(view, &earlier));
        }
    }
}

/// Successful answers alone, counted by a deny of something else.
fn taint(looked: &Looked<'_>, findings: &mut Findings) {
    let scope = &looked.scope;
    let own = called(looked.targets());
    let bodies = looked.rule().body.iter().filter_map(|literal| match literal {
        Literal::Aggregate(aggregate) => Some(&aggregate.body),
        Literal::Positive(_) | Literal::Negative(_) | Literal::Test(_) => None,
    });
    for literal in bodies.flatten() {
        let Literal::Positive(atom) = literal else { continue };
        if scope.name(atom.relation) != "ToolResult" {
            continue;
        }
        let tools = atom.terms.get(1).map(|tool| looked.possible.text(scope, tool));
        let tools = tools.as_ref().and_then(|tools| tools.known());
        let is_budget = own.as_ref().zip(tools).is_some_and(|(own, tools)| tools.is_subset(own));
        if !is_budget {
            findings.push(successes(looked, atom));
        }
    }
}

fn successes(looked: &Looked<'_>, atom: &Atom) -> Diagnostic {
    let finding = Diagnostic::warning("W0024", atom.span, "only successful answers of this tool are counted")
        .with_label("an error or a pending answer does not count")
        .with_help("text reaches the model from failed, pending and unmatched answers too: `ToolOutput` has a row for every answer, with the same columns");
    let end = atom.span.start.saturating_add(10);
    let name = Span { end, ..atom.span };
    if looked.scope.program.sources.text(name) == "ToolResult" {
        finding.with_fix("count every answer", vec![(name, "ToolOutput".to_owned())])
    } else {
        finding
    }
}

fn add(to: &mut BTreeMap<RelationId, Vec<Earlier>>, looked: &Looked<'_>, found: Vec<Earlier>) {
    if !found.is_empty() {
        let all = to.entry(looked.rule().head.relation).or_default();
        all.extend(found);
        all.truncate(MOST);
    }
}

/// The earlier calls that the counts and sums of a rule are over, in the order of the text.
fn counted(looked: &Looked<'_>, rows: &BTreeMap<RelationId, Vec<Earlier>>) -> Vec<Earlier> {
    let mut found = Vec::new();
    for literal in &looked.rule().body {
        let Literal::Aggregate(Aggregate { function, body, span, .. }) = literal else { continue };
        if !matches!(function, AggregateFunction::Count | AggregateFunction::Sum) {
            continue;
        }
        found.extend(earlier(looked, body));
        let read = body.iter().filter_map(|literal| match literal {
            Literal::Positive(atom) => rows.get(&atom.relation),
            Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
        });
        found.extend(read.flatten().map(|earlier| Earlier { span: *span, ..earlier.clone() }));
    }
    found.truncate(MOST);
    found
}

/// The earlier calls that some literals read.
fn earlier(looked: &Looked<'_>, body: &[Literal]) -> Vec<Earlier> {
    let scope = &looked.scope;
    let atoms = || {
        body.iter().filter_map(|literal| match literal {
            Literal::Positive(atom) => Some(atom),
            Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
        })
    };
    let ancestors: BTreeSet<VariableId> = atoms()
        .filter(|atom| ANCESTRY.contains(&scope.name(atom.relation)))
        .flat_map(|atom| &atom.terms)
        .filter_map(|term| variable(Some(term)).map(|id| scope.class(id)))
        .collect();
    let read = |atom: &Atom| {
        let name = scope.name(atom.relation);
        if !ANSWERS.contains(&name) {
            return None;
        }
        let column = if name == "ToolOutcome" { 2 } else { 1 };
        let tools = looked.possible.text(scope, atom.terms.get(column)?);
        let tools = tools.known().filter(|tools| !tools.is_empty())?.clone();
        let record = variable(atom.terms.first()).map(|id| scope.class(id));
        let lack = if record.is_some_and(|record| ancestors.contains(&record)) {
            Lack::Ancestry
        } else if name != "ToolOutcome" || !may_run(looked, atom, body) {
            Lack::Answers
        } else {
            return None;
        };
        Some(Earlier { span: atom.span, tools, lack })
    };
    atoms().filter_map(read).collect()
}

/// Whether a call that runs still is among the rows of `ToolOutcome` that are read.
fn may_run(looked: &Looked<'_>, atom: &Atom, body: &[Literal]) -> bool {
    let scope = &looked.scope;
    let pool = &scope.program.pool;
    let Some(status) = atom.terms.get(4) else { return true };
    let texts = looked.possible.text(scope, status);
    if texts.known().is_some_and(|known| known.iter().all(|&text| pool.text(text) != "running")) {
        return false;
    }
    // What stands inside an aggregate is no literal of the rule.
    let Some(own) = variable(Some(status)) else { return true };
    body.iter().all(|literal| match literal {
        Literal::Test(test) => {
            let other = match (&test.left, &test.right) {
                (Term::Variable(id), Term::Constant(word)) | (Term::Constant(word), Term::Variable(id))
                    if *id == own && test.kind == Kind::Symbol =>
                {
                    pool.text(word.as_symbol())
                }
                _ => return true,
            };
            test.operator != crate::program::Operator::Equal || other == "running"
        }
        Literal::Positive(_) | Literal::Negative(_) | Literal::Aggregate(_) => true,
    })
}

fn finding(view: &View<'_>, earlier: &Earlier) -> Diagnostic {
    let tools: Vec<String> = earlier.tools.iter().map(|&name| view.show(Target::Tool(name))).collect();
    let tools = tools.join(", ");
    let help = "calls in one message pass together: count `ToolOutcome(_, _, tool, args, status)`, without `CurrentDepends`, and let every status count but `denied` and `error`";
    match earlier.lack {
        Lack::Ancestry => {
            let message = format!("earlier calls of {tools} are counted among the ancestors");
            Diagnostic::warning("W0025", earlier.span, message)
                .with_label("a call beside this one, or one that was rewound, is no ancestor")
        }
        Lack::Answers => {
            let message = format!("only calls of {tools} that have an answer are counted");
            Diagnostic::warning("W0035", earlier.span, message)
                .with_label("a call beside this one has no answer yet")
        }
    }
    .with_help(help)
}
