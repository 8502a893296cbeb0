//! Allows and denies as a whole: what can be allowed, what is denied for nothing, what nobody is told.

use crate::functor::{self, Argument, Cache, Output};
use crate::program::findings::Findings;
use crate::program::lints::values::{Set, Target};
use crate::program::lints::view::{Looked, View, rules_of};
use crate::program::normalise;
use crate::program::schema::PRELUDE_FILE;
use crate::program::suggest;
use crate::program::{DecisionKind, DecisionRule, Literal, Term, VariableId};
use crate::source::{Diagnostic, FileId, Span};
use crate::syntax::ast;
use crate::value::Symbol;

/// Warns of decisions that are made for everything, for nothing, or without being seen.
pub(crate) fn lint(view: &View<'_>, findings: &mut Findings) {
    let open = open(view);
    if let Some(open) = open {
        by_default(open, findings);
        hints(view, findings);
    }
    nothing(view, findings);
    let allowed = view.allowed();
    for looked in view.decisions(&[DecisionKind::Deny, DecisionKind::Ask, DecisionKind::Reason]) {
        needless(view, looked, allowed, findings);
    }
    for looked in view.decisions(&[DecisionKind::Allow]) {
        narrow(view, looked, findings);
    }
    gates(view, findings);
}

/// The first rule that allows whatever is asked, or every call.
pub(crate) fn open<'v, 'a>(view: &'v View<'a>) -> Option<&'v Looked<'a>> {
    let is_open = |looked: &&Looked<'a>| {
        let free = |term: &Term| is_free(looked, term);
        let every_call = |term: &Term| match term {
            Term::Construct(constructor, fields) => {
                view.program.types.constructor(*constructor).name == "CallTool" && fields.iter().all(free)
            }
            Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Call(_) => false,
        };
        looked.rule().body.iter().all(|literal| match literal {
            Literal::Positive(atom) => match (looked.scope.name(atom.relation), atom.terms.get(1)) {
                ("Actions", Some(term @ Term::Construct(..))) => every_call(term),
                ("Actions" | "IsToolCall" | "HasPrincipal", _) => true,
                ("IsTool", Some(name)) => free(name),
                _ => false,
            },
            Literal::Test(test) => every_call(&test.left) || every_call(&test.right),
            Literal::Negative(_) | Literal::Aggregate(_) => false,
        })
    };
    view.decisions(&[DecisionKind::Allow]).filter(is_open).min_by_key(|looked| looked.rule().span)
}

/// Whether the term asks nothing: `_`, or a variable that stands nowhere else.
fn is_free(looked: &Looked<'_>, term: &Term) -> bool {
    let Term::Variable(id) = term else { return matches!(term, Term::Wildcard) };
    count(looked, *id) == 1
}

fn count(looked: &Looked<'_>, id: VariableId) -> usize {
    fn inside(term: &Term, id: VariableId) -> usize {
        match term {
            Term::Variable(other) => usize::from(*other == id),
            Term::Constant(_) | Term::Wildcard => 0,
            Term::Construct(_, terms) => terms.iter().map(|term| inside(term, id)).sum(),
            Term::Call(call) => call.arguments.iter().map(|term| inside(term, id)).sum(),
        }
    }
    let terms = looked.rule().body.iter().flat_map(|literal| match literal {
        Literal::Positive(atom) | Literal::Negative(atom) => atom.terms.iter().collect::<Vec<_>>(),
        Literal::Test(test) => vec![&test.left, &test.right],
        Literal::Aggregate(_) => Vec::new(),
    });
    terms.map(|term| inside(term, id)).sum()
}

fn by_default(looked: &Looked<'_>, findings: &mut Findings) {
    let finding = Diagnostic::warning("W0011", looked.rule().span, "this policy allows whatever it does not deny")
        .with_label("allows every action")
        .with_help("a tool that is new, renamed or misspelt is allowed, and so is a call that a deny misses: allow tools by name where you can");
    findings.push(finding);
}

/// Hints of allows that are never missing.
fn hints(view: &View<'_>, findings: &mut Findings) {
    for looked in view.decisions(&[DecisionKind::Allow]) {
        let told = looked.written.annotations.iter().find(|note| {
            matches!(
                note.key.text.as_str(),
                "suggestion" | "fix" | "hint" | "deny_message" | "message" | "reason"
            )
        });
        if let Some(note) = told {
            let finding = Diagnostic::warning("W0029", note.key.span, format!("nobody ever reads this `@{}`", note.key.text))
                .with_label("shown where no rule allows, and one allows everything")
                .with_help("move it to the `Unauthorized` rule that denies the call, so that the agent learns what to do instead");
            findings.push(finding);
        }
    }
}

/// A policy that denies everything.
fn nothing(view: &View<'_>, findings: &mut Findings) {
    let relation = view.program.relation("IsAuthorized");
    if relation.is_none_or(|id| view.graph.possible.contains(&id)) {
        return;
    }
    let own = |span: &Span| span.file != PRELUDE_FILE;
    let allow = view.decisions(&[DecisionKind::Allow]).map(|looked| looked.rule().span).min();
    let first = view
        .units
        .iter()
        .flat_map(rules_of)
        .filter_map(|rule| rule.heads.first())
        .map(|head| head.span)
        .find(own);
    let Some(span) = allow.or(first).or_else(|| start(view)) else { return };
    let (label, help) = if allow.is_some() {
        ("cannot fire, and no other rule allows", "mend what keeps the rule from firing")
    } else {
        (
            "no rule derives `IsAuthorized`",
            "what no rule allows is denied: write `IsAuthorized` rules for what may run",
        )
    };
    let finding = Diagnostic::warning("W0012", span, "nothing can be allowed under this policy")
        .with_label(label)
        .with_help(help);
    findings.push(finding);
}

/// The beginning of a policy in which no rule stands.
fn start(view: &View<'_>) -> Option<Span> {
    let (file, _) = view.program.sources.iter().nth(1)?;
    Some(Span { file, start: 0, end: 0 })
}

/// Denies of what is never allowed.
fn needless(view: &View<'_>, looked: &Looked<'_>, allowed: &Set<Target>, findings: &mut Findings) {
    let (Set::Only(known), Set::Only(targets)) = (allowed, looked.targets()) else { return };
    if known.is_empty() || targets.is_empty() || targets.iter().any(|target| known.contains(target)) {
        return;
    }
    let place = looked.scope.tools.iter().find_map(|(_, name)| {
        let texts = looked.possible.text(&looked.scope, name);
        let only: Symbol = texts.known().filter(|texts| texts.len() == 1)?.iter().next().copied()?;
        written_text(looked.written, view.program.pool.text(only))
    });
    let names: Vec<String> = targets.iter().map(|&target| view.show(target)).collect();
    let tools = || {
        known.iter().filter_map(|target| match target {
            Target::Tool(name) => Some(view.program.pool.text(*name)),
            Target::Request | Target::Message => None,
        })
    };
    let near = targets.iter().find_map(|target| match target {
        Target::Tool(name) => suggest::nearest(view.program.pool.text(*name), tools()),
        Target::Request | Target::Message => None,
    });
    let mut finding = Diagnostic::warning(
        "W0028",
        place.unwrap_or(looked.rule().span),
        match &names[..] {
            [one] => format!("{one} is denied here, and no rule allows it"),
            _ => format!("{} are denied here, and no rule allows any of them", names.join(", ")),
        },
    )
    .with_label("no `IsAuthorized` rule can be about this");
    finding = match near {
        Some(near) => finding.with_help(format!("did you mean `{near}`? a misspelt name denies nothing")),
        None => {
            finding.with_help("what no rule allows is denied already: remove the rule, or correct the name")
        }
    };
    findings.push(finding);
}

/// Where a text stands in a rule.
fn written_text(rule: &ast::Rule, text: &str) -> Option<Span> {
    let mut terms: Vec<&ast::Term> = Vec::new();
    rule.body.iter().for_each(|body| normalise::terms_of(body, &mut terms));
    let mut found = None;
    while let Some(term) = terms.pop() {
        match &term.kind {
            ast::TermKind::Text(other) if other == text => found = Some(term.span),
            _ => terms.extend(normalise::parts(term)),
        }
    }
    found
}

/// A hint that is meant for fewer tools than the rule allows.
fn narrow(view: &View<'_>, looked: &Looked<'_>, findings: &mut Findings) {
    let Some(DecisionRule { tool_pattern: Some(pattern), .. }) = looked.decision else { return };
    let Set::Only(targets) = looked.targets() else { return };
    let missed: Vec<String> = targets
        .iter()
        .filter_map(|target| match target {
            Target::Tool(name) => Some(view.program.pool.text(*name)),
            Target::Request | Target::Message => None,
        })
        .filter(|name| !covers(pattern, name))
        .map(|name| format!("`{name}`"))
        .collect();
    let note = looked.written.annotations.iter().find(|note| note.key.text == "tool_pattern");
    let (false, Some(note)) = (missed.is_empty(), note) else { return };
    let finding = Diagnostic::warning("W0030", note.value_span, format!("the rule allows {} too, which `@tool_pattern` does not match", missed.join(", ")))
        .with_label("narrower than the rule")
        .with_help("the pattern says where the hint is shown, and limits nothing: put the condition into the rule, or widen the pattern");
    findings.push(finding);
}

/// Whether the pattern matches the whole name.
fn covers(pattern: &str, name: &str) -> bool {
    if functor::is_plain_pattern(pattern) {
        return pattern == name;
    }
    let Some(id) = functor::find("match", true) else { return true };
    let arguments = [Argument::Text(pattern, Symbol(0)), Argument::Text(name, Symbol(1))];
    !matches!(functor::call(id, &arguments, &mut Cache::default()), Ok(Some(Output::Number(0))))
}

/// Rules that read ancestry in requests where a gate leaves none.
fn gates(view: &View<'_>, findings: &mut Findings) {
    let (first, second) = ("CurrentDependsPolicyRelevant", "ReachableFromPolicyRelevant");
    let (one, two) = (gate(view, first), gate(view, second));
    if one.is_none() && two.is_none() {
        return;
    }
    // Ancestors are there wherever either gate holds; paths between them only where the second does, if it is written.
    let mut ancestors = one.clone().unwrap_or((Set::All, Span { file: FileId(0), start: 0, end: 0 }));
    if let Some((targets, _)) = &two {
        ancestors.0.widen(targets);
    }
    let paths = two.clone().unwrap_or_else(|| ancestors.clone());
    let hidden = [
        ("CurrentDepends", first, one.is_some().then_some(ancestors)),
        ("ReachableFrom", second, Some(paths)),
    ];
    let kinds = [DecisionKind::Allow, DecisionKind::Deny, DecisionKind::Ask, DecisionKind::Reason];
    for looked in view.decisions(&kinds) {
        for (relation, name, open) in &hidden {
            let Some((open, place)) = open else { continue };
            let Some(atom) = looked.rule().body.iter().find_map(|literal| match literal {
                Literal::Positive(atom) | Literal::Negative(atom)
                    if view.leads_to(atom.relation, &[relation]) =>
                {
                    Some(atom)
                }
                _ => None,
            }) else {
                continue;
            };
            let outside = match (looked.targets(), open) {
                (_, Set::All) => continue,
                (Set::All, Set::Only(_)) => "other actions".to_owned(),
                (Set::Only(own), Set::Only(open)) => {
                    let names: Vec<String> = own.difference(open).map(|&target| view.show(target)).collect();
                    names.join(", ")
                }
            };
            if outside.is_empty() {
                continue;
            }
            let finding = Diagnostic::warning("W0027", atom.span, format!("`{relation}` is empty here for {outside}"))
                .with_label(format!("reads `{relation}`, directly or through others"))
                .with_secondary(*place, format!("`{name}` holds for other actions alone"))
                .with_help("a gate switches ancestry off for every rule: a deny that reads it never fires there, an allow never holds; widen the gate");
            findings.push(finding);
            break;
        }
    }
}

/// The actions for which the policy lets a gate hold, and its first rule; none where the policy does not write it.
fn gate(view: &View<'_>, name: &str) -> Option<(Set<Target>, Span)> {
    let relation = view.program.relation(name)?;
    let mut found: Option<(Set<Target>, Span)> = None;
    let own: Vec<&Looked<'_>> =
        view.rules.iter().filter(|looked| looked.rule().head.relation == relation).collect();
    // Both are in the order in which the rules were checked, and some rules are not looked at.
    let mut own = own.into_iter().peekable();
    for rule in view.program.rules.iter().filter(|rule| rule.head.relation == relation) {
        if rule.span.file == PRELUDE_FILE {
            continue;
        }
        let looked = own.next_if(|looked| std::ptr::eq(looked.rule(), rule));
        let targets = looked.map_or(Set::All, Looked::any_target);
        match &mut found {
            Some((all, _)) => {
                all.widen(&targets);
            }
            None => found = Some((targets, rule.span)),
        }
    }
    found
}
