//! What has to be run for some relations, given which actions are asked about.
//!
//! In: a program and its plans. Out: strata with the rules that can hold. A rule that asks for another action than those
//! asked about cannot hold, and nothing that it alone needs is run. A rule that can raise an evaluation error is left
//! out for no other reason, so that an error is met whatever is asked.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use crate::engine::Engine;
use crate::engine::kept::Kept;
use crate::program::{
    Atom, DecisionKind, Literal, Operator, Origin, Program, RelationId, Rule, RuleId, Term, VariableId,
};
use crate::value::{ConstructorId, Kind, Pool, Symbol, Word};

/// Agendas that are kept for one program, times its rules: above that one agenda serves all tools.
const MOST_KEPT: usize = 1 << 22;

/// A stratum and those of its rules that can hold.
#[derive(Debug, Clone)]
pub(crate) struct Task {
    /// Its number in `Program::strata`.
    pub(crate) stratum: usize,
    pub(crate) rules: Vec<RuleId>,
    pub(crate) recursive: bool,
    /// The stored relations that its rules read, and those that it completes.
    pub(crate) looks_at: Vec<RelationId>,
    /// Whether a rule reads edges.
    pub(crate) edges: bool,
}

/// What has to be run for some relations.
#[derive(Debug, Clone, Default)]
pub struct Agenda {
    /// What only grows with the session, in the order of strata. The same in all agendas of one [`Agendas`].
    pub(crate) grows: Vec<Task>,
    /// What depends on the session alone.
    pub(crate) held: Vec<Task>,
    /// What depends on the request.
    pub(crate) asked: Vec<Task>,
    /// What allow rules read and nothing above completes: needed where it is asked how far they came.
    pub(crate) missing: Vec<Task>,
}

impl Agenda {
    /// Feeds what `other` feeds of what only grows; the rest of it is held.
    pub fn feed_as(&mut self, other: &Self) {
        let fed: BTreeSet<usize> = other.grows.iter().map(|task| task.stratum).collect();
        let rest = std::mem::replace(&mut self.grows, other.grows.clone());
        self.held.extend(rest.into_iter().filter(|task| !fed.contains(&task.stratum)));
        self.held.sort_by_key(|task| task.stratum);
    }
}

/// The agendas of a decision, by what is asked about.
#[derive(Debug)]
pub struct Agendas {
    roots: Vec<RelationId>,
    all: Agenda,
    guards: Guards,
    /// By the constructor of an action and its first field, where a rule names that.
    one: BTreeMap<Key, OnceLock<Agenda>>,
}

/// Constructor and first field of an action; no field for one that no rule names.
type Key = (ConstructorId, Option<Symbol>);

impl Agendas {
    /// For these relations, whatever is asked about.
    #[must_use]
    pub fn new(engine: &Engine, program: &Program, roots: &[RelationId]) -> Self {
        let guards = Guards::of(program);
        let mut one: BTreeMap<Key, OnceLock<Agenda>> = BTreeMap::new();
        for demand in guards.rules.iter().flatten() {
            one.entry((demand.constructor, None)).or_default();
            if let First::Constant(word) = demand.first {
                one.entry((demand.constructor, Some(word.as_symbol()))).or_default();
            }
        }
        if one.len().saturating_mul(program.rules.len()) > MOST_KEPT {
            one.clear();
        }
        let mut all = engine.agenda(program, roots);
        all.missing.clear();
        Self { roots: roots.to_vec(), all, guards, one }
    }

    /// Whatever is asked about.
    #[must_use]
    pub fn all(&self) -> &Agenda {
        &self.all
    }

    /// For an action with that constructor and that text as its first field.
    pub fn of_one(
        &self,
        engine: &Engine,
        program: &Program,
        pool: &Pool,
        (constructor, first): (ConstructorId, &str),
    ) -> &Agenda {
        let symbol = pool.find(first);
        let exact = symbol.and_then(|symbol| self.one.get_key_value(&(constructor, Some(symbol))));
        let Some((key, agenda)) = exact.or_else(|| self.one.get_key_value(&(constructor, None))) else {
            return &self.all;
        };
        agenda.get_or_init(|| self.pruned(engine, program, *key))
    }

    fn pruned(&self, engine: &Engine, program: &Program, key: Key) -> Agenda {
        let full = Needed::of(engine, program, &self.roots, &|_| true);
        let alive = self.guards.alive(program, key);
        let lives = |rule: RuleId| alive.get(rule.0 as usize) == Some(&true);
        let mut roots = self.roots.clone();
        for (id, rule) in (0..).map(RuleId).zip(&program.rules) {
            if engine.fallible(id) && lives(id) && full.has(rule.head.relation) {
                roots.push(rule.head.relation);
            }
        }
        let needed = Needed::of(engine, program, &roots, &lives);
        let mut agenda = engine.agenda_of(program, &needed, &lives);
        agenda.grows.clone_from(&self.all.grows);
        let allows = program.decision_rules.iter().filter(|rule| rule.kind == DecisionKind::Allow);
        let fired: Vec<RelationId> = allows.map(|rule| rule.fired).collect();
        let read = Needed::of(engine, program, &fired, &|_| true);
        let done: BTreeSet<usize> =
            agenda.asked.iter().chain(&agenda.held).map(|task| task.stratum).collect();
        let mut rest = engine.agenda_of(program, &read, &lives);
        rest.asked.retain(|task| !done.contains(&task.stratum));
        rest.held.retain(|task| !done.contains(&task.stratum));
        agenda.missing = rest.asked;
        // What is held has to be there before the facts of a request are.
        agenda.held.append(&mut rest.held);
        agenda.held.sort_by_key(|task| task.stratum);
        agenda
    }
}

/// The relations that have to be complete for some others.
struct Needed(Vec<bool>);

impl Needed {
    /// Costs as much as the rules that live and are needed have literals.
    fn of(engine: &Engine, program: &Program, roots: &[RelationId], lives: &dyn Fn(RuleId) -> bool) -> Self {
        let mut needed = vec![false; program.relations.len()];
        let mut open = roots.to_vec();
        while let Some(relation) = open.pop() {
            let at = relation.0 as usize;
            let Some(slot) = needed.get_mut(at).filter(|slot| !**slot) else { continue };
            *slot = true;
            if let Some(Origin::Lineage(_)) = program.schema(relation).map(|schema| schema.origin) {
                open.extend(program.reads.get(at).into_iter().flatten());
            }
            for rule in engine.rules_of(relation).filter(|&rule| lives(rule)) {
                let body = program.rules.get(rule.0 as usize).map_or(&[][..], |rule| &rule.body);
                relations_of(body, &mut |read| open.push(read));
            }
        }
        Self(needed)
    }

    fn has(&self, relation: RelationId) -> bool {
        self.0.get(relation.0 as usize) == Some(&true)
    }
}

/// The relations that a body reads. Only aggregates are walked into, as deep as they were written.
fn relations_of(body: &[Literal], visit: &mut dyn FnMut(RelationId)) {
    for literal in body {
        match literal {
            Literal::Positive(atom) | Literal::Negative(atom) => visit(atom.relation),
            Literal::Aggregate(aggregate) => relations_of(&aggregate.body, visit),
            Literal::Test(_) => {}
        }
    }
}

impl Engine {
    /// What has to be run for these relations, whatever is asked about.
    #[must_use]
    pub fn agenda(&self, program: &Program, roots: &[RelationId]) -> Agenda {
        let all = |_| true;
        self.agenda_of(program, &Needed::of(self, program, roots, &all), &all)
    }

    fn agenda_of(&self, program: &Program, needed: &Needed, lives: &dyn Fn(RuleId) -> bool) -> Agenda {
        let mut agenda = Agenda::default();
        for (number, stratum) in program.strata.iter().enumerate() {
            if !stratum.relations.iter().any(|&relation| needed.has(relation)) {
                continue;
            }
            let rules: Vec<RuleId> = stratum.rules.iter().copied().filter(|&rule| lives(rule)).collect();
            if rules.is_empty() {
                continue;
            }
            let kept = stratum.relations.iter().map(|&relation| self.kept(relation)).min();
            let list = match kept.unwrap_or(Kept::Asked) {
                Kept::Grows => &mut agenda.grows,
                Kept::Held => &mut agenda.held,
                Kept::Asked => &mut agenda.asked,
            };
            list.push(self.task(number, rules, &stratum.relations, stratum.recursive));
        }
        agenda
    }

    fn task(&self, stratum: usize, rules: Vec<RuleId>, relations: &[RelationId], recursive: bool) -> Task {
        let mut looks_at: BTreeSet<RelationId> = relations.iter().copied().collect();
        let mut edges = false;
        for &rule in &rules {
            for plan in self.plans_of(rule) {
                looks_at.extend(&plan.reads);
                edges |= plan.edges;
            }
        }
        Task { stratum, rules, recursive, looks_at: looks_at.into_iter().collect(), edges }
    }
}

/// What a rule asks of one of its actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Demand {
    constructor: ConstructorId,
    first: First,
}

/// The first field of an action.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Any,
    Constant(Word),
    Variable(VariableId),
}

/// What a tuple of a relation says of an action: its constructor, and the column that holds its first field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Implied {
    constructor: ConstructorId,
    column: Option<usize>,
}

/// What each rule asks of actions.
#[derive(Debug)]
struct Guards {
    rules: Vec<Vec<Demand>>,
}

impl Guards {
    fn of(program: &Program) -> Self {
        let mut rules = vec![Vec::new(); program.rules.len()];
        let Some(actions) = program.relation("Actions") else { return Self { rules } };
        let mut implied: Vec<Option<Implied>> = vec![None; program.relations.len()];
        for stratum in &program.strata {
            for &id in &stratum.rules {
                let Some(rule) = program.rules.get(id.0 as usize) else { continue };
                if let Some(slot) = rules.get_mut(id.0 as usize) {
                    *slot = demands(rule, actions, &implied);
                }
            }
            for &relation in &stratum.relations {
                let own = stratum.rules.iter().filter_map(|id| {
                    let rule = program.rules.get(id.0 as usize)?;
                    (rule.head.relation == relation).then_some((rule, rules.get(id.0 as usize)?))
                });
                let origin = program.schema(relation).map(|schema| schema.origin);
                if let Some(slot) = implied.get_mut(relation.0 as usize)
                    && origin == Some(Origin::Rules)
                {
                    *slot = agreed(own.map(|(rule, demands)| implication(rule, demands)));
                }
            }
        }
        Self { rules }
    }

    /// For each rule, whether it can hold where one action of that key is asked about.
    fn alive(&self, program: &Program, (constructor, first): Key) -> Vec<bool> {
        let fits = |demand: &Demand| {
            demand.constructor == constructor
                && match demand.first {
                    First::Constant(word) => Some(word.as_symbol()) == first,
                    First::Any | First::Variable(_) => true,
                }
        };
        let mut alive: Vec<bool> = self.rules.iter().map(|demands| demands.iter().all(fits)).collect();
        // A relation none of whose rules can hold is empty, and with it what reads it.
        let mut empty = vec![false; program.relations.len()];
        for stratum in &program.strata {
            for rule in &stratum.rules {
                let body = program.rules.get(rule.0 as usize).map_or(&[][..], |rule| &rule.body);
                let starved = body.iter().any(|literal| match literal {
                    Literal::Positive(atom) => empty.get(atom.relation.0 as usize) == Some(&true),
                    Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => false,
                });
                if let Some(slot) = alive.get_mut(rule.0 as usize) {
                    *slot &= !starved;
                }
            }
            for relation in &stratum.relations {
                let rules = |origin| origin == Origin::Rules;
                let derived = program.schema(*relation).is_some_and(|schema| rules(schema.origin));
                let lives = stratum.rules.iter().any(|rule| {
                    let head = program.rules.get(rule.0 as usize).map(|rule| rule.head.relation);
                    head == Some(*relation) && alive.get(rule.0 as usize) == Some(&true)
                });
                if let Some(slot) = empty.get_mut(relation.0 as usize) {
                    *slot = derived && !lives;
                }
            }
        }
        alive
    }
}

/// What a rule asks of actions, by atoms and equalities that raise no error: they are tried before all that can.
fn demands(rule: &Rule, actions: RelationId, implied: &[Option<Implied>]) -> Vec<Demand> {
    let mut bound: BTreeSet<VariableId> = BTreeSet::new();
    let mut constants: BTreeMap<VariableId, Word> = BTreeMap::new();
    for literal in &rule.body {
        match literal {
            Literal::Positive(Atom { relation, terms, .. }) if *relation == actions => {
                bound.extend(terms.get(1).and_then(variable));
            }
            Literal::Test(test) if test.operator == Operator::Equal && test.kind == Kind::Symbol => {
                match (&test.left, &test.right) {
                    (Term::Variable(variable), Term::Constant(word))
                    | (Term::Constant(word), Term::Variable(variable)) => {
                        constants.insert(*variable, *word);
                    }
                    _ => {}
                }
            }
            Literal::Positive(_) | Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => {}
        }
    }
    let first = |term: Option<&Term>| match term {
        Some(Term::Constant(word)) => First::Constant(*word),
        Some(Term::Variable(variable)) => {
            constants.get(variable).map_or(First::Variable(*variable), |&word| First::Constant(word))
        }
        Some(Term::Wildcard | Term::Construct(..) | Term::Call(_)) | None => First::Any,
    };
    // A pattern with a call in it could raise an error, and is not tried before others that can.
    let built = |term: Option<&Term>| match term {
        Some(Term::Construct(constructor, fields)) if fields.iter().all(plain) => {
            Some(Demand { constructor: *constructor, first: first(fields.first()) })
        }
        _ => None,
    };
    let demand = |literal: &Literal| match literal {
        Literal::Positive(atom) if atom.relation == actions => built(atom.terms.get(1)),
        Literal::Positive(atom) => {
            let Implied { constructor, column } = (*implied.get(atom.relation.0 as usize)?)?;
            Some(Demand { constructor, first: first(column.and_then(|column| atom.terms.get(column))) })
        }
        Literal::Test(test) if test.operator == Operator::Equal => {
            let sides = [(&test.left, &test.right), (&test.right, &test.left)];
            let pattern =
                sides.into_iter().find(|(side, _)| variable(side).is_some_and(|v| bound.contains(&v)));
            built(pattern.map(|(_, pattern)| pattern))
        }
        Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
    };
    rule.body.iter().filter_map(demand).collect()
}

/// Whether a field is no call and holds none. Deeper patterns count as if they did.
fn plain(term: &Term) -> bool {
    match term {
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard => true,
        Term::Construct(_, fields) => {
            fields.iter().all(|field| matches!(field, Term::Variable(_) | Term::Constant(_) | Term::Wildcard))
        }
        Term::Call(_) => false,
    }
}

fn variable(term: &Term) -> Option<VariableId> {
    match term {
        Term::Variable(variable) => Some(*variable),
        Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_) => None,
    }
}

/// What a tuple that a rule derives says of an action.
fn implication(rule: &Rule, demands: &[Demand]) -> Option<Implied> {
    let named = |demand: &&Demand| matches!(demand.first, First::Variable(_));
    let demand = demands.iter().find(named).or(demands.first())?;
    let column = match demand.first {
        First::Variable(wanted) => rule.head.terms.iter().position(|term| variable(term) == Some(wanted)),
        First::Any | First::Constant(_) => None,
    };
    Some(Implied { constructor: demand.constructor, column })
}

/// What all rules of a relation say; nothing where one says nothing, or there is none.
fn agreed(mut all: impl Iterator<Item = Option<Implied>>) -> Option<Implied> {
    let first = all.next()??;
    all.try_fold(first, |so_far, next| {
        let next = next.filter(|next| next.constructor == so_far.constructor)?;
        Some(Implied { column: so_far.column.filter(|_| next.column == so_far.column), ..so_far })
    })
}
