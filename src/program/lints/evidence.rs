//! What a rule takes from the messages before the call: evidence for an allow, taint for a deny.

use std::collections::BTreeSet;

use crate::program::findings::Findings;
use crate::program::lints::scope::Source;
use crate::program::lints::values::{Set, Target};
use crate::program::lints::view::{Looked, Side, View, variable};
use crate::program::lower::variables_of;
use crate::program::{Atom, DecisionKind, Literal, Term, VariableId};
use crate::source::{Diagnostic, Span};
use crate::syntax::ast;
use crate::value::Symbol;

/// Relations that hold what came back, or went out, before.
pub(crate) const ANSWERS: [&str; 3] = ["ToolResult", "ToolOutput", "ToolOutcome"];
/// Relations that hold the ancestors.
pub(crate) const ANCESTRY: [&str; 2] = ["CurrentDepends", "ReachableFrom"];
/// Relations that tell of input that nobody vouches for.
const UNATTRIBUTED: [&str; 4] =
    ["DependsOnUnattributedInput", "UnattributedInput", "UnattributedInputOrigin", "UnattributedRecord"];

/// Warns of rules that read the session otherwise than they seem to.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    for looked in &view.rules {
        current(looked, findings);
        match looked.side {
            Side::Grants => {
                unjoined(view, looked, findings);
                untested(looked, findings);
            }
            Side::Denies if !once_only(view, looked, findings) => taint(looked, findings),
            Side::Denies | Side::Both | Side::Neither => {}
        }
    }
    unattributed(view, findings);
}

/// `Current` where the record of the very call is meant.
fn current(looked: &Looked<'_>, findings: &mut Findings) {
    let scope = &looked.scope;
    if scope.atoms("ActionRecord").next().is_some() {
        return;
    }
    for atom in scope.atoms("Current") {
        let Some(record) = variable(atom.terms.first()).map(|id| scope.class(id)) else { continue };
        let reads = |other: &Atom| variable(other.terms.first()).map(|id| scope.class(id)) == Some(record);
        let own =
            scope.atoms("MessageMetadata").chain(scope.atoms("ProposedCall")).find(|other| reads(other));
        let message = || {
            scope.atoms("SentMessage").filter(|other| reads(other)).find(|other| reads_text(looked, other))
        };
        let Some(read) = own.or_else(message) else { continue };
        let strong = matches!(looked.side, Side::Grants | Side::Both);
        let what =
            if strong { "lets a sibling call rescue this one" } else { "judges this call by its siblings" };
        let mut finding = Diagnostic::warning("W0021", atom.span, format!("`Current` {what}"))
            .with_label("every call of the message is `Current`")
            .with_secondary(read.span, "what is read here may belong to another call")
            .with_help("an agent chooses which calls stand beside each other: `ActionRecord(idx, record)` is the record of the very call");
        if let Some(edits) = current_fix(looked, atom.span) {
            finding = finding.with_fix("read the record of the very call", edits);
        }
        findings.push(finding);
    }
}

/// Whether the text or the calls of the message are read.
fn reads_text(looked: &Looked<'_>, atom: &Atom) -> bool {
    let scope = &looked.scope;
    let Some(message) = atom.terms.get(1) else { return false };
    let constructs = scope.meanings(message);
    constructs.iter().any(|meaning| match meaning {
        Term::Construct(_, fields) => fields.iter().take(2).any(|field| !matches!(field, Term::Wildcard)),
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Call(_) => false,
    })
}

/// `Current(r)` to `ActionRecord(idx, r)`, where the head names the index.
fn current_fix(looked: &Looked<'_>, span: Span) -> Option<Vec<(Span, String)>> {
    looked.decision?;
    let head = looked.written.heads.first()?;
    let ast::TermKind::Variable(index) = &head.terms.first()?.kind else { return None };
    let atom = written_atom(looked.written, span)?;
    Some(vec![
        (atom.relation.span, "ActionRecord".to_owned()),
        (start(atom.terms.first()?.span), format!("{index}, ")),
    ])
}

fn start(span: Span) -> Span {
    Span { end: span.start, ..span }
}

/// The atom as it is written at that place.
fn written_atom(rule: &ast::Rule, span: Span) -> Option<&ast::Atom> {
    let mut open: Vec<&ast::Condition> = rule.body.iter().collect();
    while let Some(condition) = open.pop() {
        match condition {
            ast::Condition::And(parts) | ast::Condition::Or(parts) => open.extend(parts),
            ast::Condition::Not(inner, _) => open.push(inner),
            ast::Condition::Atom(atom) if atom.span == span => return Some(atom),
            ast::Condition::Atom(_)
            | ast::Condition::Comparison(_)
            | ast::Condition::TextTest { .. }
            | ast::Condition::Constant(..) => {}
        }
    }
    None
}

/// Evidence that shares nothing with the action.
fn unjoined(view: &View<'_>, looked: &Looked<'_>, findings: &mut Findings) {
    if !looked.is(DecisionKind::Allow) {
        return;
    }
    let rule = looked.rule();
    let joined = connected(looked);
    for literal in &rule.body {
        let Literal::Positive(atom) = literal else { continue };
        let evidence = view.leads_to(atom.relation, &["ToolResult"])
            && view.program.relation("ToolResultField") != Some(atom.relation);
        let mut own = BTreeSet::new();
        atom.terms.iter().for_each(|term| term.variables(&mut own));
        // A relation that speaks of actions itself joins them to its evidence, as far as can be seen here.
        let speaks = view.leads_to(atom.relation, &["Actions", "ActionRecord"]);
        if !evidence || speaks || own.iter().any(|id| joined.contains(id)) || shares_a_text(looked, &joined) {
            continue;
        }
        let finding = Diagnostic::warning("W0022", atom.span, "this evidence is not tied to the action")
            .with_label("nothing here agrees with an argument of the call")
            .with_help("an approval of anything allows everything: compare what was approved with the arguments of the call, such as `@json_str(args, \"request_id\")` on both sides");
        findings.push(finding);
        return;
    }
}

/// The variables that are tied to the action, step by step. A record's ancestry ties nothing: every call has it.
fn connected(looked: &Looked<'_>) -> BTreeSet<VariableId> {
    let rule = looked.rule();
    let mut joined = BTreeSet::new();
    rule.head.terms.iter().for_each(|term| term.variables(&mut joined));
    loop {
        let before = joined.len();
        for literal in &rule.body {
            let own = variables_of(std::slice::from_ref(literal), None);
            if own.iter().any(|id| joined.contains(id)) {
                joined.extend(own);
            }
        }
        if joined.len() == before {
            return joined;
        }
    }
}

/// Whether the action and the rest are compared with the same text, tool names aside.
fn shares_a_text(looked: &Looked<'_>, joined: &BTreeSet<VariableId>) -> bool {
    let (mut near, mut far) = (BTreeSet::new(), BTreeSet::new());
    for literal in &looked.rule().body {
        let Literal::Test(test) = literal else { continue };
        let own = variables_of(std::slice::from_ref(literal), None);
        let is_near = own.iter().any(|id| joined.contains(id));
        for side in [&test.left, &test.right] {
            if let (Term::Constant(word), crate::value::Kind::Symbol) = (side, test.kind) {
                if is_near {
                    near.insert(word.0)
                } else {
                    far.insert(word.0)
                };
            }
        }
    }
    near.intersection(&far).next().is_some()
}

/// A result that counts whatever it says.
fn untested(looked: &Looked<'_>, findings: &mut Findings) {
    let scope = &looked.scope;
    for atom in scope.atoms("ToolResult") {
        let Some(record) = variable(atom.terms.first()) else { continue };
        let class = scope.class(record);
        let reads = |other: &Atom| variable(other.terms.first()).map(|id| scope.class(id)) == Some(class);
        let is_read = scope.atoms("SentMessage").any(|other| reads(other) && reads_text(looked, other))
            || scope.atoms("MessageMetadata").any(reads);
        let mut head = BTreeSet::new();
        looked.rule().head.terms.iter().for_each(|term| term.variables(&mut head));
        let goes_on = head.iter().any(|id| scope.class(*id) == class) || is_passed_on(looked, class);
        if is_read || goes_on {
            continue;
        }
        let finding = Diagnostic::warning("W0023", atom.span, "this result counts whatever it says")
            .with_label("its contents are not looked at")
            .with_help("a tool can return `{\"approved\": false}` and have succeeded: read the message with `SentMessage(record, message)` and test `message.contents`");
        findings.push(finding);
    }
}

/// Whether a relation of the policy's own sees the record, and may look at it.
fn is_passed_on(looked: &Looked<'_>, class: VariableId) -> bool {
    let scope = &looked.scope;
    looked.rule().body.iter().any(|literal| match literal {
        Literal::Positive(atom) | Literal::Negative(atom) => {
            let declared = scope.program.schema(atom.relation);
            declared.is_some_and(|relation| relation.span.file != crate::program::schema::PRELUDE_FILE)
                && atom
                    .terms
                    .iter()
                    .filter_map(|term| variable(Some(term)))
                    .any(|id| scope.class(id) == class)
        }
        Literal::Test(_) | Literal::Aggregate(_) => false,
    })
}

/// Successful answers alone, where every text that came in taints.
fn taint(looked: &Looked<'_>, findings: &mut Findings) {
    let scope = &looked.scope;
    if scope.atoms("ToolOutput").next().is_some() {
        return;
    }
    for atom in scope.atoms("ToolResult") {
        let mut finding = Diagnostic::warning("W0024", atom.span, "only successful answers of this tool are seen")
            .with_label("an error or a pending answer passes")
            .with_help("text reaches the model from failed, pending and unmatched answers too: `ToolOutput` has a row for every answer, with the same columns");
        if let Some(written) = written_atom(looked.written, atom.span) {
            let edits = vec![(written.relation.span, "ToolOutput".to_owned())];
            finding = finding.with_fix("read every answer", edits);
        }
        findings.push(finding);
    }
}

/// A deny of a second call that looks for the first among the ancestors. True where there is one.
pub(crate) fn once_only(view: &View<'_>, looked: &Looked<'_>, findings: &mut Findings) -> bool {
    let targets = looked.targets();
    let Some(called) = called(targets) else { return false };
    let ancestry: BTreeSet<VariableId> = ANCESTRY
        .iter()
        .flat_map(|name| looked.scope.atoms(name))
        .flat_map(|atom| &atom.terms)
        .filter_map(|term| variable(Some(term)).map(|id| looked.scope.class(id)))
        .collect();
    let mut found = ANSWERS.iter().flat_map(|name| looked.scope.atoms(name));
    // A rule that asks something of this call and nothing of the earlier one is about what was read.
    let asks = looked.scope.calls().iter().any(|call| {
        let text = call.arguments.first();
        text.is_some_and(|text| looked.scope.source(text) == Some(Source::Arguments))
    });
    let hit = found.find(|atom| {
        let compares = atom.terms.iter().skip(1).any(|term| variable(Some(term)).is_some());
        if asks && !compares {
            return false;
        }
        let column = if looked.scope.name(atom.relation) == "ToolOutcome" { 2 } else { 1 };
        let record = variable(atom.terms.first()).map(|id| looked.scope.class(id));
        let is_ancestor = record.is_some_and(|record| ancestry.contains(&record) && !says(looked, record));
        let names = atom.terms.get(column).map(|term| looked.possible.text(&looked.scope, term));
        is_ancestor
            && names.is_some_and(|names| {
                names.known().is_some_and(|names| !names.is_empty() && names.is_subset(&called))
            })
    });
    let Some(atom) = hit else { return false };
    let tool = called.iter().map(|&name| view.show(Target::Tool(name))).collect::<Vec<_>>().join(", ");
    let finding = Diagnostic::warning("W0025", atom.span, format!("an earlier call of {tool} is looked for among the ancestors"))
        .with_label("a call beside this one, or one that was rewound, is no ancestor")
        .with_help("two calls in one message pass together, and a rewind brings a spent approval back: read `ToolOutcome(_, _, tool, args, status)` without `CurrentDepends`, and let every status count but `denied` and `error`");
    findings.push(finding);
    true
}

/// The tools that are called, where they are known and nothing else is meant.
pub(crate) fn called(targets: &Set<Target>) -> Option<BTreeSet<Symbol>> {
    let known = targets.known().filter(|known| !known.is_empty())?;
    known
        .iter()
        .map(|target| match target {
            Target::Tool(name) => Some(*name),
            Target::Request | Target::Message => None,
        })
        .collect()
}

/// Whether the rule looks at what the record says.
fn says(looked: &Looked<'_>, record: VariableId) -> bool {
    let scope = &looked.scope;
    scope.atoms("SentMessage").any(|atom| {
        variable(atom.terms.first()).map(|id| scope.class(id)) == Some(record) && reads_text(looked, atom)
    })
}

/// Ancestry that denies, and no word on input whose origin nobody knows.
fn unattributed(view: &View<'_>, findings: &mut Findings) {
    let named = |looked: &Looked<'_>, names: &[&str]| {
        looked.rule().body.iter().any(|literal| match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => {
                names.contains(&looked.scope.name(atom.relation))
            }
            Literal::Test(_) | Literal::Aggregate(_) => false,
        })
    };
    if view.rules.iter().any(|looked| named(looked, &UNATTRIBUTED)) {
        return;
    }
    let reads = |looked: &&Looked<'_>| {
        looked.side == Side::Denies && ANCESTRY.iter().any(|name| looked.scope.atoms(name).next().is_some())
    };
    let Some(first) = view.rules.iter().filter(reads).min_by_key(|looked| looked.rule().span) else { return };
    let finding = Diagnostic::warning("W0026", first.rule().span, "nothing here denies input of unknown origin")
        .with_label("sees only what is recorded")
        .with_help("where a nested run or a cut history hides the inputs, a record of unknown origin stands for them: add a rule with `DependsOnUnattributedInput()`, under `@ask` if a person may decide");
    findings.push(finding);
}
