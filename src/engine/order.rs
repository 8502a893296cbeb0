//! The order in which the literals of a rule are tried.
//!
//! Tests and memberships come as early as their variables are bound, then the atom that is expected to match least.
//! Literals that can raise an evaluation error come after all others, in stages, so that neither the order of the text
//! nor this order decides whether an error is met.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::plan::{Access, AggregateStep, Pattern, Plan, Rows, Step};
use crate::engine::tuples::Tuples;
use crate::program::{
    Aggregate, Atom, Call, Comparison, Function, LineageRelation, Literal, Operator, Origin, Program,
    RelationId, Rule, RuleId, Term, VariableId,
};
use crate::value::Kind;

/// What planning needs to know beside the rule.
pub(crate) struct Planner<'a> {
    pub(crate) program: &'a Program,
    /// Where indexes are asked for, by relation.
    pub(crate) relations: &'a mut [Tuples],
    /// Whether a relation is kept for the whole session, by relation.
    pub(crate) session: &'a [bool],
    /// Whether a relation can hold more the longer the session is, by relation; all others are small.
    pub(crate) grows: &'a [bool],
    /// Whether the walk over all ancestors is to be avoided: each record met elsewhere is then looked up among them.
    pub(crate) avoid_ancestors: bool,
}

/// Variables bound so far.
// Invariant: `order` lists those that are set in `bound`, each once.
#[derive(Debug)]
struct Bound {
    bound: Vec<bool>,
    /// In the order in which they were bound.
    order: Vec<VariableId>,
}

impl Bound {
    /// None of so many.
    fn none(variables: usize) -> Self {
        Self { bound: vec![false; variables], order: Vec::new() }
    }

    fn has(&self, variable: VariableId) -> bool {
        self.bound.get(variable.0 as usize).copied().unwrap_or(false)
    }

    fn add(&mut self, variable: VariableId) {
        if let Some(slot) = self.bound.get_mut(variable.0 as usize)
            && !std::mem::replace(slot, true)
        {
            self.order.push(variable);
        }
    }

    /// Unbinds all but the first so many, and says which those were.
    fn undo(&mut self, kept: usize) -> Vec<VariableId> {
        let undone = self.order.split_off(kept.min(self.order.len()));
        for variable in &undone {
            self.bound.get_mut(variable.0 as usize).into_iter().for_each(|slot| *slot = false);
        }
        undone
    }

    fn covers(&self, term: &Term) -> bool {
        match term {
            Term::Variable(variable) => self.has(*variable),
            Term::Constant(_) => true,
            Term::Wildcard => false,
            Term::Construct(_, fields) => fields.iter().all(|field| self.covers(field)),
            Term::Call(call) => call.arguments.iter().all(|argument| self.covers(argument)),
        }
    }
}

/// Plans a rule. With `recent`, the positive atom at that place of the body is read first, its recent rows alone; session
/// atoms before it are read without, those after it with their recent rows.
///
/// Variables in `given` have their values before the first step.
pub(crate) fn plan(
    planner: &mut Planner<'_>,
    id: RuleId,
    rule: &Rule,
    recent: Option<usize>,
    given: &[VariableId],
) -> Plan {
    let mut bound = Bound::none(rule.variables.len());
    given.iter().for_each(|&variable| bound.add(variable));
    let mut built = Built { steps: Vec::new(), literals: Vec::new(), recent };
    let recent_relation = recent.and_then(|at| match rule.body.get(at) {
        Some(Literal::Positive(atom)) => Some(atom.relation),
        _ => None,
    });
    order(planner, &mut built, &mut bound, &rule.body);
    let fallible = rule.body.iter().any(literal_fallible) || rule.head.terms.iter().any(term_fallible);
    let cut = if fallible { built.steps.len() } else { cut(rule, &built.steps) };
    Plan { rule: id, recent: recent_relation, steps: built.steps, literals: built.literals, cut, fallible }
}

struct Built {
    steps: Vec<Step>,
    literals: Vec<Vec<usize>>,
    recent: Option<usize>,
}

impl Built {
    fn push(&mut self, step: Step, literal: usize) {
        self.steps.push(step);
        self.literals.push(vec![literal]);
    }

    fn rows(&self, literal: usize) -> Rows {
        match self.recent {
            None => Rows::All,
            Some(at) if at == literal => Rows::Recent,
            Some(at) if literal < at => Rows::Stable,
            Some(_) => Rows::All,
        }
    }
}

/// Literals on their way into an order. Each is looked at again when a variable of it is bound, not whenever one is placed.
struct Pending<'r> {
    literals: Vec<(&'r Literal, State)>,
    /// Those that are open, the cheapest first and of these the first one in the text.
    open: BTreeSet<(u64, usize)>,
    /// Those that are staged.
    staged: BTreeSet<usize>,
    /// Which literals name a variable.
    readers: BTreeMap<VariableId, Vec<usize>>,
}

/// How far a literal has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It reads what is not bound yet.
    Waits,
    /// It can be placed at that cost, and raises no error.
    Open(u64),
    /// It can be placed, and may raise an error.
    Staged,
    Placed,
}

impl<'r> Pending<'r> {
    fn new(planner: &Planner<'_>, bound: &Bound, body: &'r [Literal]) -> Self {
        let mut readers: BTreeMap<VariableId, Vec<usize>> = BTreeMap::new();
        for (at, literal) in body.iter().enumerate() {
            for variable in named(literal) {
                readers.entry(variable).or_default().push(at);
            }
        }
        let literals = body.iter().map(|literal| (literal, State::Waits)).collect();
        let mut pending = Self { literals, open: BTreeSet::new(), staged: BTreeSet::new(), readers };
        (0..body.len()).for_each(|at| pending.look(planner, bound, at));
        pending
    }

    /// Looks at a literal with what is bound now. What has come further than to wait keeps its cost, but for atoms.
    fn look(&mut self, planner: &Planner<'_>, bound: &Bound, at: usize) {
        let Some((literal, state)) = self.literals.get_mut(at) else { return };
        let next = match (*state, *literal) {
            (State::Waits, literal) => state_of(planner, bound, literal),
            (State::Open(_), Literal::Positive(atom)) => State::Open(atom_cost(planner, bound, atom)),
            (State::Open(_) | State::Staged | State::Placed, _) => return,
        };
        if let State::Open(cost) = *state {
            self.open.remove(&(cost, at));
        }
        match next {
            State::Open(cost) => {
                self.open.insert((cost, at));
            }
            State::Staged => {
                self.staged.insert(at);
            }
            State::Waits | State::Placed => {}
        }
        *state = next;
    }

    /// Looks again at the literals that name variables which were bound since so many were.
    fn look_again(&mut self, planner: &Planner<'_>, bound: &Bound, before: usize) {
        for variable in bound.order.get(before..).unwrap_or_default() {
            for at in self.readers.remove(variable).unwrap_or_default() {
                self.look(planner, bound, at);
            }
        }
    }

    /// Takes a literal out, which is placed now.
    fn take(&mut self, at: usize) -> Option<&'r Literal> {
        let (literal, state) = self.literals.get_mut(at)?;
        match std::mem::replace(state, State::Placed) {
            State::Open(cost) => self.open.remove(&(cost, at)),
            State::Staged => self.staged.remove(&at),
            State::Waits | State::Placed => return None,
        };
        Some(literal)
    }
}

/// The variables whose values decide whether and at what cost a literal can be placed.
fn named(literal: &Literal) -> BTreeSet<VariableId> {
    let mut found = BTreeSet::new();
    match literal {
        Literal::Positive(atom) | Literal::Negative(atom) => {
            atom.terms.iter().for_each(|term| term.variables(&mut found));
        }
        Literal::Test(test) => {
            test.left.variables(&mut found);
            test.right.variables(&mut found);
        }
        Literal::Aggregate(aggregate) => found.extend(&aggregate.outer),
    }
    found
}

fn order(planner: &mut Planner<'_>, built: &mut Built, bound: &mut Bound, body: &[Literal]) {
    let mut pending = Pending::new(planner, bound, body);
    let mut next = built.recent;
    loop {
        let before = bound.order.len();
        if let Some(at) = next.take().or_else(|| pending.open.first().map(|&(_, at)| at)) {
            let Some(literal) = pending.take(at) else { return };
            let step = step(planner, bound, literal, built.rows(at));
            built.push(step, at);
        } else if pending.staged.is_empty() {
            // All are placed: a grounded rule always has a literal that is ready.
            return;
        } else {
            stage(planner, built, bound, &mut pending);
        }
        pending.look_again(planner, bound, before);
    }
}

/// Places all literals that may raise an error and are ready, none of which sees what another one binds.
fn stage(planner: &mut Planner<'_>, built: &mut Built, bound: &mut Bound, pending: &mut Pending<'_>) {
    let places: Vec<usize> = pending.staged.iter().copied().collect();
    let before = bound.order.len();
    let mut steps = Vec::with_capacity(places.len());
    let mut all = Vec::new();
    for &at in &places {
        let Some(literal) = pending.take(at) else { continue };
        steps.push(step(planner, bound, literal, built.rows(at)));
        all.extend(bound.undo(before));
    }
    all.into_iter().for_each(|variable| bound.add(variable));
    built.steps.push(Step::Stage(steps));
    built.literals.push(places);
}

/// How far a literal comes with what is bound.
fn state_of(planner: &Planner<'_>, bound: &Bound, literal: &Literal) -> State {
    if let Literal::Positive(atom) = literal {
        return State::Open(atom_cost(planner, bound, atom));
    }
    if !ready(bound, literal) {
        return State::Waits;
    }
    if literal_fallible(literal) {
        return State::Staged;
    }
    State::Open(match literal {
        Literal::Positive(_) | Literal::Negative(_) => 1,
        Literal::Test(test) => u64::from(generator(test).is_some()) * 8,
        Literal::Aggregate(_) => 1_000_000,
    })
}

/// A guess at how many tuples an atom matches, given what is bound. Only its order counts.
fn atom_cost(planner: &Planner<'_>, bound: &Bound, atom: &Atom) -> u64 {
    let covered: Vec<bool> = atom.terms.iter().map(|term| bound.covers(term)).collect();
    let known = covered.iter().filter(|&&c| c).count();
    if known == covered.len() {
        return 0;
    }
    let first = covered.first() == Some(&true);
    let second = covered.get(1) == Some(&true);
    match planner.program.schema(atom.relation).map(|relation| relation.origin) {
        Some(Origin::Lineage(LineageRelation::CurrentDepends)) if planner.avoid_ancestors => 1_000_000,
        Some(Origin::Lineage(LineageRelation::CurrentDepends)) => 3_000,
        Some(Origin::Lineage(LineageRelation::Edge | LineageRelation::EdgeData)) => match (first, second) {
            (true, true) => 1,
            (_, true) => 2_000,
            (true, false) => 50_000,
            (false, false) => 500_000,
        },
        Some(Origin::Lineage(LineageRelation::ReachableFrom)) if first || second => 4_000,
        Some(Origin::Lineage(LineageRelation::ReachableFrom)) => 400_000,
        Some(Origin::Host | Origin::Rules) | None => {
            let is = |flags: &[bool]| flags.get(atom.relation.0 as usize) == Some(&true);
            let size: u64 = match (is(planner.grows), is(planner.session)) {
                (true, true) => 10_000,
                (true, false) => 2_000,
                (false, _) => 40,
            };
            let narrowed = atom.terms.iter().any(|term| matches!(term, Term::Construct(..)));
            (size >> (3 * known.min(4))).max(2) - u64::from(narrowed)
        }
    }
}

/// Whether all that a literal reads is bound, and what else it names can be bound by it.
fn ready(bound: &Bound, literal: &Literal) -> bool {
    match literal {
        Literal::Positive(_) => true,
        Literal::Negative(atom) => {
            atom.terms.iter().all(|term| *term == Term::Wildcard || bound.covers(term))
        }
        Literal::Test(test) => orient(bound, test).is_some(),
        Literal::Aggregate(aggregate) => aggregate.outer.iter().all(|&variable| bound.has(variable)),
    }
}

/// How a comparison can be run now.
enum Oriented<'a> {
    /// Both sides are bound.
    Filter,
    /// One side has a value, the other takes it.
    Match { value: &'a Term, pattern: &'a Term },
    /// One side is a generator, the other takes its values.
    Generate { call: &'a Call, pattern: &'a Term },
}

fn orient<'a>(bound: &Bound, test: &'a Comparison) -> Option<Oriented<'a>> {
    let sides = [(&test.left, &test.right), (&test.right, &test.left)];
    if test.operator == Operator::Equal {
        for (value, pattern) in sides {
            if let Term::Call(call) = value
                && call.is_generator()
                && bound.covers(value)
                && takes(bound, pattern)
            {
                return Some(Oriented::Generate { call, pattern });
            }
        }
    }
    if bound.covers(&test.left) && bound.covers(&test.right) {
        return Some(Oriented::Filter);
    }
    if test.operator != Operator::Equal {
        return None;
    }
    sides
        .into_iter()
        .find(|(value, pattern)| bound.covers(value) && takes(bound, pattern))
        .map(|(value, pattern)| Oriented::Match { value, pattern })
}

/// Whether a term can take a value: every part of it is a variable, a wildcard, bound, or built from such.
fn takes(bound: &Bound, term: &Term) -> bool {
    match term {
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard => true,
        Term::Construct(_, fields) => fields.iter().all(|field| takes(bound, field)),
        Term::Call(_) => bound.covers(term),
    }
}

fn step(planner: &mut Planner<'_>, bound: &mut Bound, literal: &Literal, rows: Rows) -> Step {
    match literal {
        Literal::Positive(atom) => scan(planner, bound, atom, rows),
        Literal::Negative(atom) => match lineage_of(planner, atom.relation) {
            Some(relation) => {
                let patterns = atom.terms.iter().map(|term| pattern(bound, term)).collect();
                Step::AbsentLineage { relation, patterns }
            }
            None => Step::Absent { relation: atom.relation, access: access(planner, bound, atom) },
        },
        Literal::Test(test) => match orient(bound, test) {
            Some(Oriented::Match { value, pattern: taker }) => {
                Step::Match { term: value.clone(), pattern: pattern(bound, taker) }
            }
            Some(Oriented::Generate { call, pattern: taker }) => {
                Step::Generate { call: call.clone(), pattern: pattern(bound, taker) }
            }
            Some(Oriented::Filter) | None => Step::Filter(test.clone()),
        },
        Literal::Aggregate(aggregate) => aggregate_step(planner, bound, aggregate),
    }
}

fn aggregate_step(planner: &mut Planner<'_>, bound: &mut Bound, aggregate: &Aggregate) -> Step {
    // Inner variables are bound by the body alone, whatever has been bound outside under another name.
    let mut inner = Bound::none(bound.bound.len());
    for &variable in &aggregate.outer {
        inner.add(variable);
    }
    let mut built = Built { steps: Vec::new(), literals: Vec::new(), recent: None };
    order(planner, &mut built, &mut inner, &aggregate.body);
    let result = pattern(bound, &Term::Variable(aggregate.result));
    for &witness in &aggregate.witnesses {
        bound.add(witness);
    }
    Step::Aggregate(Box::new(AggregateStep { aggregate: aggregate.clone(), steps: built.steps, result }))
}

fn scan(planner: &mut Planner<'_>, bound: &mut Bound, atom: &Atom, rows: Rows) -> Step {
    if let Some(relation) = lineage_of(planner, atom.relation) {
        let patterns = atom.terms.iter().map(|term| pattern(bound, term)).collect();
        return Step::Lineage { relation, patterns };
    }
    let keyed: Vec<bool> = atom.terms.iter().map(|term| bound.covers(term)).collect();
    let access = access(planner, bound, atom);
    let patterns = atom
        .terms
        .iter()
        .enumerate()
        .filter(|&(column, term)| keyed.get(column) != Some(&true) && *term != Term::Wildcard)
        .map(|(column, term)| (column, pattern(bound, term)))
        .collect();
    Step::Scan { relation: atom.relation, rows, access, patterns }
}

fn access(planner: &mut Planner<'_>, bound: &Bound, atom: &Atom) -> Access {
    let keyed = || atom.terms.iter().enumerate().filter(|(_, term)| bound.covers(term));
    let columns: Vec<usize> = keyed().map(|(column, _)| column).collect();
    let key: Vec<Term> = keyed().map(|(_, term)| term.clone()).collect();
    if columns.len() == atom.terms.len() {
        return Access::Member(key);
    }
    match planner.relations.get_mut(atom.relation.0 as usize) {
        Some(tuples) if !columns.is_empty() => Access::Index(tuples.index(&columns), key),
        Some(_) | None => Access::Full,
    }
}

/// What a value has to be to fit a term; variables that are not bound yet are bound by it, from left to right.
fn pattern(bound: &mut Bound, term: &Term) -> Pattern {
    match term {
        Term::Wildcard => Pattern::Any,
        Term::Variable(variable) if !bound.has(*variable) => {
            bound.add(*variable);
            Pattern::Bind(*variable)
        }
        Term::Construct(constructor, fields) if !bound.covers(term) => {
            Pattern::Construct(*constructor, fields.iter().map(|field| pattern(bound, field)).collect())
        }
        Term::Variable(_) | Term::Constant(_) | Term::Construct(..) | Term::Call(_) => {
            Pattern::Equal(term.clone())
        }
    }
}

fn lineage_of(planner: &Planner<'_>, relation: RelationId) -> Option<LineageRelation> {
    match planner.program.schema(relation)?.origin {
        Origin::Lineage(relation) => Some(relation),
        Origin::Host | Origin::Rules => None,
    }
}

fn generator(test: &Comparison) -> Option<&Call> {
    [&test.left, &test.right].into_iter().find_map(|side| match side {
        Term::Call(call) if call.is_generator() => Some(&**call),
        Term::Call(_) | Term::Variable(_) | Term::Constant(_) | Term::Wildcard | Term::Construct(..) => None,
    })
}

/// Whether a literal can raise an evaluation error.
fn literal_fallible(literal: &Literal) -> bool {
    match literal {
        Literal::Positive(_) => false,
        Literal::Negative(atom) => atom.terms.iter().any(term_fallible),
        Literal::Test(test) => term_fallible(&test.left) || term_fallible(&test.right),
        Literal::Aggregate(aggregate) => {
            let sums =
                aggregate.function == crate::program::AggregateFunction::Sum && aggregate.kind != Kind::Float;
            sums || aggregate.target.iter().any(term_fallible) || aggregate.body.iter().any(literal_fallible)
        }
    }
}

/// Whether a term can raise an evaluation error.
fn term_fallible(term: &Term) -> bool {
    match term {
        Term::Variable(_) | Term::Constant(_) | Term::Wildcard => false,
        Term::Construct(_, fields) => fields.iter().any(term_fallible),
        Term::Call(call) => {
            let own = match call.function {
                Function::Functor { fallible, .. } => fallible,
                Function::Arithmetic(operator, kind) => operator.fallible(kind),
                // A range can be too long to be listed.
                Function::Range(_) | Function::Cast(..) => true,
                Function::Show(_) => false,
            };
            own || call.arguments.iter().any(term_fallible)
        }
    }
}

/// The first step from which on no variable of the head is bound any more.
fn cut(rule: &Rule, steps: &[Step]) -> usize {
    let mut wanted = BTreeSet::new();
    rule.head.terms.iter().for_each(|term| term.variables(&mut wanted));
    let binds_wanted = |step: &Step| {
        let mut bound = Vec::new();
        binds(step, &mut bound);
        bound.iter().any(|variable| wanted.contains(variable))
    };
    steps.iter().rposition(binds_wanted).map_or(0, |last| last + 1)
}

fn binds(step: &Step, into: &mut Vec<VariableId>) {
    match step {
        Step::Scan { patterns, .. } => patterns.iter().for_each(|(_, pattern)| pattern_binds(pattern, into)),
        Step::Lineage { patterns, .. } => patterns.iter().for_each(|pattern| pattern_binds(pattern, into)),
        Step::Absent { .. } | Step::AbsentLineage { .. } | Step::Filter(_) | Step::Counted(_) => {}
        Step::Match { pattern, .. } | Step::Generate { pattern, .. } => pattern_binds(pattern, into),
        Step::Aggregate(step) => {
            pattern_binds(&step.result, into);
            into.extend_from_slice(&step.aggregate.witnesses);
        }
        Step::Stage(steps) => steps.iter().for_each(|step| binds(step, into)),
    }
}

fn pattern_binds(pattern: &Pattern, into: &mut Vec<VariableId>) {
    match pattern {
        Pattern::Bind(variable) => into.push(*variable),
        Pattern::Any | Pattern::Equal(_) => {}
        Pattern::Construct(_, fields) => fields.iter().for_each(|field| pattern_binds(field, into)),
    }
}
