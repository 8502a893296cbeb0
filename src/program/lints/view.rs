//! A whole program as lints read it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::functor::Role;
use crate::program::components::{components, edges, from};
use crate::program::include::Unit;
use crate::program::lints::graph::{self, Graph};
use crate::program::lints::scope::{Scope, functor_of};
use crate::program::lints::values::{Columns, Possible, Set, Target, numbers_contradict};
use crate::program::normalise;
use crate::program::relations::OPEN;
use crate::program::schema::PRELUDE_FILE;
use crate::program::{Atom, DecisionKind, DecisionRule, Literal, Program, RelationId, Rule, Term};
use crate::source::Span;
use crate::syntax::ast;
use crate::value::Symbol;

/// A relation that reads more keys than this, directly or through others, is taken to read every key.
const MOST_KEYS: usize = 256;

/// The keys that something reads from JSON; none where that cannot be told.
pub(crate) type Keys<'a> = Option<Rc<BTreeSet<&'a str>>>;

/// What more tuples of a rule's head do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// Allow more.
    Grants,
    /// Deny more.
    Denies,
    /// One here, the other there.
    Both,
    /// Nothing that is known.
    Neither,
}

/// A rule with what its variables can be.
#[derive(Debug)]
pub(crate) struct Judged<'a> {
    scope: Scope<'a>,
    possible: Possible,
    /// Whether its own conditions exclude each other.
    pub(crate) hopeless: bool,
}

impl<'a> Judged<'a> {
    pub(crate) fn new(scope: Scope<'a>, columns: &Columns) -> Self {
        let possible = Possible::of(&scope, columns);
        let hopeless = possible.is_contradictory() || numbers_contradict(&scope);
        Self { scope, possible, hopeless }
    }
}

/// One rule of the policy, as it runs.
#[derive(Debug)]
pub(crate) struct Looked<'a> {
    pub(crate) scope: Scope<'a>,
    pub(crate) possible: Possible,
    /// As it is written.
    pub(crate) written: &'a ast::Rule,
    pub(crate) side: Side,
    /// What it says, where it is a rule about the decision.
    pub(crate) decision: Option<&'a DecisionRule>,
    targets: Set<Target>,
    /// Whether its own conditions exclude each other.
    hopeless: bool,
    /// The keys that it reads from JSON; none where one is computed.
    keys: Option<BTreeSet<&'a str>>,
}

impl<'a> Looked<'a> {
    pub(crate) fn new(
        Judged { scope, possible, hopeless }: Judged<'a>,
        written: &'a ast::Rule,
        side: Side,
        decision: Option<&'a DecisionRule>,
    ) -> Self {
        let mut targets = Set::All;
        scope.rule.head.terms.iter().for_each(|term| targets.narrow(possible.target(&scope, term)));
        let keys = keys_of(&scope, &possible);
        Self { scope, possible, written, side, decision, targets, hopeless, keys }
    }

    pub(crate) fn rule(&self) -> &'a Rule {
        self.scope.rule
    }

    /// Whether its own conditions exclude each other.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.hopeless
    }

    /// The actions that it speaks of.
    pub(crate) fn targets(&self) -> &Set<Target> {
        &self.targets
    }

    /// The keys that it reads itself; none where that cannot be told.
    pub(crate) fn keys(&self) -> Option<&BTreeSet<&'a str>> {
        self.keys.as_ref()
    }

    /// Whether it looks at that key itself. True where that cannot be told.
    pub(crate) fn reads(&self, key: &str) -> bool {
        self.keys.as_ref().is_none_or(|keys| keys.contains(key))
    }

    /// The actions that have to be asked for, whether the head names them or not.
    pub(crate) fn any_target(&self) -> Set<Target> {
        let mut found = self.targets().clone();
        for literal in &self.rule().body {
            let Literal::Positive(atom) = literal else { continue };
            match (self.scope.name(atom.relation), &atom.terms[..]) {
                ("IsTool", [Term::Wildcard, name]) => {
                    let names = self.possible.text(&self.scope, name);
                    let tools = |names: &BTreeSet<Symbol>| names.iter().copied().map(Target::Tool).collect();
                    found.narrow(&names.known().map_or(Set::All, |names| Set::Only(tools(names))));
                }
                (_, terms) => {
                    terms.iter().for_each(|term| found.narrow(self.possible.target(&self.scope, term)));
                }
            }
        }
        found
    }

    pub(crate) fn is(&self, kind: DecisionKind) -> bool {
        self.decision.is_some_and(|decision| decision.kind == kind)
    }
}

/// A program with everything that lints ask of it.
#[derive(Debug)]
pub(crate) struct View<'a> {
    pub(crate) program: &'a Program,
    pub(crate) units: &'a [Unit],
    pub(crate) graph: Graph,
    pub(crate) columns: Columns,
    /// The rules of the policy, in the order in which they were checked. Facts are left out.
    pub(crate) rules: Vec<Looked<'a>>,
    /// The keys that the rules of each relation read from JSON, directly or through others.
    keys: Vec<Keys<'a>>,
    /// Relations with a rule or a fact.
    pub(crate) derived: BTreeSet<RelationId>,
    /// Functors and words as they are written, by their place.
    terms: BTreeMap<Span, &'a [ast::Term]>,
}

impl<'a> View<'a> {
    pub(crate) fn new(program: &'a Program, units: &'a [Unit]) -> Self {
        let scopes: Vec<Scope<'a>> = program.rules.iter().map(|rule| Scope::new(program, rule)).collect();
        let columns = Columns::of(program, &scopes);
        let judged: Vec<Judged<'a>> = scopes.into_iter().map(|scope| Judged::new(scope, &columns)).collect();
        let hopeless: Vec<bool> = judged.iter().map(|judged| judged.hopeless).collect();
        let graph = graph::close(program, &OPEN, &hopeless);
        let mut view = Self {
            program,
            units,
            graph,
            columns,
            rules: Vec::new(),
            keys: Vec::new(),
            derived: program.rules.iter().map(|rule| rule.head.relation).collect(),
            terms: BTreeMap::new(),
        };
        view.read_rules(units, judged);
        view.read_keys();
        view
    }

    fn read_rules(&mut self, units: &'a [Unit], judged: Vec<Judged<'a>>) {
        let mut written = BTreeMap::new();
        for rule in units.iter().flat_map(rules_of) {
            if rule.span.file != PRELUDE_FILE && rule.body.is_some() {
                written.extend(rule.heads.iter().map(|head| (head.span, rule)));
                let mut terms = Vec::new();
                rule.heads.iter().for_each(|head| terms.extend(&head.terms));
                rule.body.iter().for_each(|body| self.read_condition(body));
                terms.into_iter().for_each(|term| self.read_term(term));
            }
        }
        let fired: BTreeMap<_, _> =
            self.program.decision_rules.iter().map(|decision| (decision.fired, decision)).collect();
        for judged in judged {
            let rule = judged.scope.rule;
            let derives =
                matches!(&rule.body[..], [Literal::Positive(atom)] if fired.contains_key(&atom.relation));
            let Some(&written) = written.get(&rule.span).filter(|_| !derives) else { continue };
            let head = rule.head.relation;
            let side = match (self.graph.grants.contains(&head), self.graph.denies.contains(&head)) {
                (true, true) => Side::Both,
                (true, false) => Side::Grants,
                (false, true) => Side::Denies,
                (false, false) => Side::Neither,
            };
            let decision = fired.get(&head).copied();
            self.rules.push(Looked::new(judged, written, side, decision));
        }
    }

    fn read_condition(&mut self, condition: &'a ast::Condition) {
        match condition {
            ast::Condition::And(parts) | ast::Condition::Or(parts) => {
                parts.iter().for_each(|part| self.read_condition(part));
            }
            ast::Condition::Not(inner, _) => self.read_condition(inner),
            ast::Condition::Atom(_)
            | ast::Condition::Comparison(_)
            | ast::Condition::TextTest { .. }
            | ast::Condition::Constant(..) => {
                let mut terms = Vec::new();
                normalise::terms_of(condition, &mut terms);
                terms.into_iter().for_each(|term| self.read_term(term));
            }
        }
    }

    fn read_term(&mut self, term: &'a ast::Term) {
        if let ast::TermKind::Functor(_, arguments) | ast::TermKind::Intrinsic(_, arguments) = &term.kind {
            self.terms.insert(term.span, arguments);
        }
        if let ast::TermKind::Aggregate(aggregate) = &term.kind {
            self.read_condition(&aggregate.body);
            aggregate.target.iter().for_each(|term| self.read_term(term));
        }
        normalise::parts(term).into_iter().for_each(|part| self.read_term(part));
    }

    /// An argument of a functor as it is written.
    pub(crate) fn argument(&self, call: Span, at: usize) -> Option<&'a ast::Term> {
        self.terms.get(&call).and_then(|arguments| arguments.get(at))
    }

    /// Collects the keys of each relation from its rules and from what they read as it is, which comes first.
    fn read_keys(&mut self) {
        let size = self.program.relations.len();
        let mut own: Vec<Option<BTreeSet<&'a str>>> = vec![Some(BTreeSet::new()); size];
        for looked in &self.rules {
            if let Some(all) = own.get_mut(looked.rule().head.relation.0 as usize) {
                match (all.as_mut(), &looked.keys) {
                    (Some(all), Some(keys)) => all.extend(keys),
                    (Some(_), None) => *all = None,
                    (None, _) => {}
                }
            }
        }
        let pairs = self
            .program
            .rules
            .iter()
            .flat_map(|rule| positives(rule).map(|atom| (rule.head.relation.0, atom.relation.0)));
        let edges = edges(size, pairs);
        let mut found: Vec<Keys<'a>> = vec![Some(Rc::default()); size];
        for component in components(&edges) {
            let reads = component
                .iter()
                .flat_map(|&at| from(&edges, at))
                .filter(|at| component.binary_search(at).is_err());
            let read = reads.map(|&at| found.get(at as usize).cloned().flatten());
            let own =
                component.iter().map(|&at| own.get_mut(at as usize).and_then(Option::take).map(Rc::new));
            let all = own.chain(read).fold(Some(Rc::default()), joined);
            for &at in &component {
                found.get_mut(at as usize).into_iter().for_each(|slot| slot.clone_from(&all));
            }
        }
        self.keys = found;
    }

    /// The keys that a relation reads, directly or through others.
    pub(crate) fn keys_of(&self, relation: RelationId) -> Keys<'a> {
        self.keys.get(relation.0 as usize).cloned().flatten()
    }

    /// The keys that the rule, or a relation that it reads as it is, looks at.
    pub(crate) fn looked_at(&self, looked: &Looked<'a>) -> Keys<'a> {
        let own = looked.keys().map(|keys| Rc::new(keys.clone()));
        positives(looked.rule()).fold(own, |all, atom| joined(all, self.keys_of(atom.relation)))
    }

    /// Whether a relation is that one, or can be led to by it.
    pub(crate) fn leads_to(&self, relation: RelationId, names: &[&str]) -> bool {
        let named = |id: RelationId| {
            self.program.schema(id).is_some_and(|relation| names.contains(&relation.name.as_str()))
        };
        let asked = names.iter().filter_map(|name| self.program.relation(name));
        named(relation) || asked.into_iter().any(|asked| self.graph.leads.contains(&(relation, asked)))
    }

    /// The rules about the decision that say so.
    pub(crate) fn decisions(&self, kinds: &[DecisionKind]) -> impl Iterator<Item = &Looked<'a>> {
        let says =
            |looked: &&Looked<'a>| looked.decision.is_some_and(|decision| kinds.contains(&decision.kind));
        self.rules.iter().filter(says)
    }

    /// What the rules that allow can allow; facts of `IsAuthorized` allow anything.
    pub(crate) fn allowed(&self) -> &Set<Target> {
        self.program.relation("IsAuthorized").map_or(&Set::All, |relation| self.columns.targets(relation, 0))
    }

    /// A target in the user's words.
    pub(crate) fn show(&self, target: Target) -> String {
        match target {
            Target::Tool(name) => format!("`{}`", self.program.pool.text(name)),
            Target::Request => "HTTP requests".to_owned(),
            Target::Message => "messages".to_owned(),
        }
    }
}

/// Both, as far as they can be told.
fn joined<'a>(all: Keys<'a>, more: Keys<'a>) -> Keys<'a> {
    let (mut all, more) = (all?, more?);
    if all.is_empty() {
        return Some(more);
    }
    if !Rc::ptr_eq(&all, &more) && !more.is_subset(&all) {
        Rc::make_mut(&mut all).extend(more.iter());
    }
    (all.len() <= MOST_KEYS).then_some(all)
}

/// What a rule reads as it is.
fn positives(rule: &Rule) -> impl Iterator<Item = &Atom> {
    rule.body.iter().filter_map(|literal| match literal {
        Literal::Positive(atom) => Some(atom),
        Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
    })
}

/// The keys that a rule reads from JSON; none where one cannot be told.
fn keys_of<'a>(scope: &Scope<'a>, possible: &Possible) -> Option<BTreeSet<&'a str>> {
    let mut keys = BTreeSet::new();
    for call in scope.calls() {
        let Some(functor) = functor_of(call).filter(|functor| functor.name.starts_with("json_")) else {
            continue;
        };
        let texts = functor.parameters.iter().zip(&call.arguments).skip(1);
        for (parameter, argument) in texts {
            if parameter.role != Role::Path && parameter.name != "key" && parameter.name != "field" {
                continue;
            }
            if let Some(text) = scope.literal(argument) {
                keys.insert(text);
            } else {
                let texts = possible.text(scope, argument);
                let known = texts.known()?;
                keys.extend(known.iter().map(|&text| scope.program.pool.text(text)));
            }
        }
    }
    Some(keys)
}

/// The rules and facts of a file.
pub(crate) fn rules_of(unit: &Unit) -> impl Iterator<Item = &ast::Rule> {
    unit.program.items.iter().filter_map(|item| match item {
        ast::Item::Rule(rule) => Some(rule),
        _ => None,
    })
}

/// The variable that a term is.
pub(crate) fn variable(term: Option<&Term>) -> Option<crate::program::VariableId> {
    match term {
        Some(Term::Variable(id)) => Some(*id),
        Some(Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_)) | None => None,
    }
}
