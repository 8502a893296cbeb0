//! A rule run again for one tuple: in which way it was derived, or how near it came.
//!
//! Nothing is noted while a check runs. A tuple is proved from the model that is there: the variables of the head are
//! given, the body is run, and its first way is the step of the proof. In a recursive stratum the step may use only
//! tuples that stand before the tuple in its relation, which were there when it was derived, so that no proof goes in a
//! circle.

use std::collections::{BTreeMap, BTreeSet};

use crate::engine::evaluate::Shape;
use crate::engine::join::{Join, Run};
use crate::engine::kept::Kept;
use crate::engine::meter::{Halt, Spent};
use crate::engine::order::{Planner, plan};
use crate::engine::pass::Pass;
use crate::engine::plan::{Access, AggregateStep, Pattern, Plan, Step};
use crate::engine::tuples::{Row, Tuples};
use crate::engine::{Budget, Database, Engine, EvalError};
use crate::lineage::Lineage;
use crate::program::{Atom, Literal, Origin, Program, RelationId, Rule, RuleId, Stratum, Term, VariableId};
use crate::value::Word;

/// Values of a rule's variables.
pub(crate) type Values = Vec<Word>;

/// One tuple of the model.
pub(crate) type Place = (RelationId, Row);

/// How a rule was met that has no way: what it saw at the first literal that fails in all.
#[derive(Debug, Clone)]
pub(crate) struct Near {
    /// Places in the body of the literals that hold, in the order in which they were tried.
    pub(crate) held: Vec<usize>,
    /// The variables of the head that had their values before.
    pub(crate) given: Vec<VariableId>,
    /// Place in the body of the literal that fails.
    pub(crate) failed: usize,
    /// What was seen there.
    pub(crate) seen: Vec<Seen>,
    /// In how many ways the literals before it hold.
    pub(crate) ways: u64,
}

/// One way in which the literals before the failing one hold.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// The variables; those that no literal before has bound are meaningless.
    pub(crate) values: Values,
    /// For a comparison, the values of its sides, where they have one.
    pub(crate) sides: [Option<Word>; 2],
}

/// Ways that are told of where a literal fails.
const SEEN: usize = 3;

/// Reads proofs off a complete model.
pub(crate) struct Prover<'a> {
    engine: &'a Engine,
    program: &'a Program,
    pass: Pass<'a>,
    /// The rules of each relation.
    rules: BTreeMap<RelationId, Vec<RuleId>>,
    /// For strata in which several relations depend on each other: a step for each tuple.
    steps: BTreeMap<usize, BTreeMap<Place, (RuleId, Values)>>,
}

impl<'a> Prover<'a> {
    /// A prover for the model in the database, which has to be complete for the relations that are asked about.
    pub(crate) fn new(
        engine: &'a Engine,
        program: &'a Program,
        database: &'a mut Database,
        lineage: &'a Lineage,
        budget: Budget,
    ) -> Self {
        let mut pass = Pass::new(engine, program, database, lineage, budget);
        pass.settle_all();
        let mut rules: BTreeMap<RelationId, Vec<RuleId>> = BTreeMap::new();
        for (id, rule) in (0..).map(RuleId).zip(&program.rules) {
            rules.entry(rule.head.relation).or_default().push(id);
        }
        Self { engine, program, pass, rules, steps: BTreeMap::new() }
    }

    /// The model.
    pub(crate) fn database(&self) -> &Database {
        self.pass.database()
    }

    /// The rules that derive a relation, in the order of the text.
    pub(crate) fn rules_of(&self, relation: RelationId) -> &[RuleId] {
        self.rules.get(&relation).map_or(&[], Vec::as_slice)
    }

    /// The tuple at a place.
    pub(crate) fn tuple(&self, (relation, row): Place) -> &[Word] {
        self.relation(relation).map_or(&[], |tuples| tuples.row(row))
    }

    /// Where a tuple stands.
    pub(crate) fn find(&self, relation: RelationId, tuple: &[Word]) -> Option<Place> {
        Some((relation, self.relation(relation)?.find(tuple)?))
    }

    fn relation(&self, relation: RelationId) -> Option<&Tuples> {
        self.database().relations.get(relation.0 as usize)
    }

    /// A rule and values of its variables that derive the tuple. None where no rule of the relation does.
    pub(crate) fn step(&mut self, place: Place) -> Result<Option<(RuleId, Values)>, EvalError> {
        let recursive = self.recursive(place.0);
        if let Some((at, stratum)) = recursive.filter(|(_, stratum)| stratum.relations.len() > 1) {
            return self.step_among(at, stratum, place);
        }
        let below = self.below(place);
        let tuple = self.tuple(place).to_vec();
        for rule in self.rules_of(place.0).to_vec() {
            if let Some(values) = self.way(rule, &tuple, below)? {
                return Ok(Some((rule, values)));
            }
        }
        match recursive {
            // Its oldest support may be gone by now.
            Some((at, stratum)) => self.step_among(at, stratum, place),
            None => Ok(None),
        }
    }

    /// The stratum of a relation, if it reads itself.
    fn recursive(&self, relation: RelationId) -> Option<(usize, &'a Stratum)> {
        let strata = self.program.strata.iter().enumerate();
        strata.into_iter().find(|(_, stratum)| stratum.recursive && stratum.relations.contains(&relation))
    }

    /// Where the step of a tuple may use only those that stand before it in its relation: the tuple itself.
    pub(crate) fn below(&self, place: Place) -> Option<Place> {
        self.recursive(place.0).filter(|(_, stratum)| stratum.relations.len() == 1).map(|_| place)
    }

    /// The first way in which a rule derives a tuple.
    fn way(&mut self, id: RuleId, tuple: &[Word], below: Option<Place>) -> Result<Option<Values>, EvalError> {
        let Some(rule) = self.program.rules.get(id.0 as usize) else { return Ok(None) };
        let (engine, program) = (self.engine, self.program);
        let plans = engine.proofs.get_or_init(|| plans(engine, program));
        let Some(plan) = plans.get(id.0 as usize) else { return Ok(None) };
        let head = patterns(rule, &vec![true; tuple.len()]);
        self.pass.view(rule.variables.len(), below, |join| {
            if !fit_all(join, &head, tuple)? {
                return Ok(None);
            }
            let mut found = None;
            let end = join.run(Run::new(&plan.steps, usize::MAX), &mut |join| {
                if derives(join, rule, tuple)? {
                    found = Some(join.values.clone());
                    return Err(ENOUGH);
                }
                Ok(())
            });
            unless_spent(end, found)
        })
    }

    /// The row of a tuple that an atom matches, the variables having these values.
    pub(crate) fn matched(
        &mut self,
        atom: &Atom,
        values: &[Word],
        below: Option<Place>,
    ) -> Result<Option<Place>, EvalError> {
        let relation = atom.relation;
        let Some(tuples) = self.relation(relation) else { return Ok(None) };
        let end = below.filter(|(limited, _)| *limited == relation).map_or(tuples.len(), |(_, row)| row);
        let bound: Vec<bool> = atom.terms.iter().map(|term| !has_wildcard(term)).collect();
        self.pass
            .view(values.len(), None, |join| {
                join.values.clone_from_slice(values);
                let relations = join.relations;
                let Some(tuples) = relations.get(relation.0 as usize) else { return Ok(None) };
                let terms: Vec<Pattern> = atom.terms.iter().map(settled).collect();
                let key = tuples.narrowest(&bound);
                let (mut next, index) = match key {
                    Some((index, columns)) => {
                        let mut key = Vec::with_capacity(columns.len());
                        for &column in columns {
                            key.extend(
                                atom.terms.get(column).map(|term| join.term(term)).transpose()?.flatten(),
                            );
                        }
                        (tuples.first(index, &key, end), Some(index))
                    }
                    None => (Some(0).filter(|&row| row < end), None),
                };
                while let Some(row) = next {
                    join.meter.step(relation)?;
                    if fit_all(join, &terms, tuples.row(row))? {
                        return Ok(Some((relation, row)));
                    }
                    next = match index {
                        Some(index) => tuples.following(index, row),
                        None => Some(row + 1).filter(|&row| row < end),
                    };
                }
                Ok(None)
            })
            .map_err(spent)
    }

    /// How many rows an aggregate (by its place in the body) counts, and the values of the rule's variables in the first
    /// of them.
    pub(crate) fn counted(
        &mut self,
        id: RuleId,
        place: usize,
        values: &[Word],
        most: usize,
    ) -> Result<(u64, Vec<Values>), EvalError> {
        let (engine, program) = (self.engine, self.program);
        let plans = engine.proofs.get_or_init(|| plans(engine, program));
        let step = plans.get(id.0 as usize).and_then(|plan| aggregate_at(plan, place));
        let Some(step) = step else { return Ok((0, Vec::new())) };
        let (mut count, mut first, mut keys) = (0, Vec::new(), BTreeSet::new());
        let counted = self.pass.view(values.len(), None, |join| {
            join.values.clone_from_slice(values);
            join.run(Run::new(&step.steps, usize::MAX), &mut |join| {
                if let Some(distinct) = &step.aggregate.distinct {
                    let key: Vec<u64> = distinct.iter().map(|&variable| join.value(variable).0).collect();
                    if !keys.insert(key) {
                        return Ok(());
                    }
                }
                count += 1;
                if first.len() < most {
                    first.push(join.values.clone());
                }
                Ok(())
            })
        });
        counted.map(|_| (count, first)).map_err(spent)
    }

    /// How near a rule comes to a tuple of which some columns are known. None where it derives one, or where its head
    /// does not fit.
    pub(crate) fn nearest(&mut self, id: RuleId, tuple: &[Option<Word>]) -> Result<Option<Near>, EvalError> {
        let Some(rule) = self.program.rules.get(id.0 as usize) else { return Ok(None) };
        let known: Vec<bool> = tuple.iter().map(Option::is_some).collect();
        let head = patterns(rule, &known);
        let given = bound_by(&head);
        let plan = planned(self.engine, self.program, &[(id, given.clone())]).pop();
        let Some(plan) = plan else { return Ok(None) };
        let words: Vec<Word> = tuple.iter().map(|word| word.unwrap_or_default()).collect();
        self.pass.view(rule.variables.len(), None, |join| {
            if !fit_all(join, &head, &words)? {
                return Ok(None);
            }
            let start = join.values.clone();
            join.deepest = 0;
            if join.run(Run::new(&plan.steps, 0), &mut |_| Ok(()))? {
                return Ok(None);
            }
            let depth = join.deepest;
            join.values = start;
            let near = near_at(join, rule, &plan, depth)?;
            Ok(near.map(|near| Near { given, ..near }))
        })
    }

    /// The tuples of a relation that agree with most of the known columns, with one at least, and how many agree so.
    pub(crate) fn closest(
        &mut self,
        relation: RelationId,
        known: &[Option<Word>],
        most: usize,
    ) -> Vec<Vec<Word>> {
        let Some(tuples) = self.relation(relation) else { return Vec::new() };
        let mut best: (usize, Vec<Vec<Word>>) = (1, Vec::new());
        for tuple in tuples.iter().take(SEARCHED) {
            let agree = tuple.iter().zip(known).filter(|(word, known)| **known == Some(**word)).count();
            if agree > best.0 {
                best = (agree, vec![tuple.to_vec()]);
            } else if agree == best.0 && best.1.len() < most {
                best.1.push(tuple.to_vec());
            }
        }
        best.1
    }

    /// The word of a bound term.
    pub(crate) fn word(&mut self, term: &Term, values: &[Word]) -> Option<Word> {
        let word = self.pass.view(values.len(), None, |join| {
            join.values.clone_from_slice(values);
            join.term(term)
        });
        word.ok().flatten()
    }

    /// The step of a tuple in a stratum whose relations depend on each other: all ways of all its rules are listed, and a
    /// tuple is proved once the tuples of one of its ways are.
    fn step_among(
        &mut self,
        at: usize,
        stratum: &Stratum,
        place: Place,
    ) -> Result<Option<(RuleId, Values)>, EvalError> {
        if !self.steps.contains_key(&at) {
            let ways = self.ways(stratum)?;
            self.steps.insert(at, founded(ways));
        }
        Ok(self.steps.get(&at).and_then(|steps| steps.get(&place)).cloned())
    }

    fn ways(&mut self, stratum: &Stratum) -> Result<Vec<Way>, EvalError> {
        let mut ways = Vec::new();
        for &id in &stratum.rules {
            let Some(rule) = self.program.rules.get(id.0 as usize) else { continue };
            let Some(plan) = planned(self.engine, self.program, &[(id, Vec::new())]).pop() else { continue };
            let mut found: Vec<(Vec<Word>, Values)> = Vec::new();
            let end = self.pass.view(rule.variables.len(), None, |join| {
                join.run(Run::new(&plan.steps, usize::MAX), &mut |join| {
                    let mut tuple = Vec::with_capacity(rule.head.terms.len());
                    for term in &rule.head.terms {
                        tuple.extend(join.term(term)?);
                    }
                    found.push((tuple, join.values.clone()));
                    Ok(())
                })
            });
            end.map_err(spent)?;
            for (tuple, values) in found {
                let Some(head) = self.find(rule.head.relation, &tuple) else { continue };
                let mut needs = Vec::new();
                for literal in &rule.body {
                    if let Literal::Positive(atom) = literal
                        && stratum.relations.contains(&atom.relation)
                    {
                        needs.extend(self.matched(atom, &values, None)?);
                    }
                }
                ways.push(Way { head, rule: id, values, needs });
            }
        }
        Ok(ways)
    }
}

/// Tuples that are compared with one that is missing.
const SEARCHED: usize = 10_000;

/// One way in which a rule derives a tuple.
struct Way {
    head: Place,
    rule: RuleId,
    values: Values,
    /// Tuples of the same stratum that it uses.
    needs: Vec<Place>,
}

/// For each tuple the first of its ways that rests on tuples which were proved before. Takes as long as there are ways
/// and needs.
fn founded(ways: Vec<Way>) -> BTreeMap<Place, (RuleId, Values)> {
    let mut users: BTreeMap<Place, Vec<usize>> = BTreeMap::new();
    let mut open = Vec::with_capacity(ways.len());
    let mut ready = std::collections::VecDeque::new();
    for (number, way) in ways.iter().enumerate() {
        let needs: BTreeSet<Place> = way.needs.iter().copied().collect();
        if needs.is_empty() {
            ready.push_back(number);
        }
        open.push(needs.len());
        needs.into_iter().for_each(|need| users.entry(need).or_default().push(number));
    }
    let mut ways: Vec<Option<Way>> = ways.into_iter().map(Some).collect();
    let mut steps = BTreeMap::new();
    while let Some(number) = ready.pop_front() {
        let Some(way) = ways.get_mut(number).and_then(Option::take) else { continue };
        if steps.contains_key(&way.head) {
            continue;
        }
        for &user in users.get(&way.head).into_iter().flatten() {
            if let Some(left) = open.get_mut(user) {
                *left -= 1;
                if *left == 0 {
                    ready.push_back(user);
                }
            }
        }
        steps.insert(way.head, (way.rule, way.values));
    }
    steps
}

/// Ends a run that has found what it looked for.
const ENOUGH: Halt = Halt { what: Spent::Steps(0), relation: RelationId(u32::MAX) };

fn unless_spent<T>(end: Result<bool, Halt>, found: Option<T>) -> Result<Option<T>, EvalError> {
    match (end, found) {
        (_, Some(found)) => Ok(Some(found)),
        (Ok(_), None) => Ok(None),
        (Err(halt), None) => Err(spent(halt)),
    }
}

#[expect(clippy::needless_pass_by_value, reason = "stands where an error is mapped")]
fn spent(halt: Halt) -> EvalError {
    let limit = match halt.what {
        Spent::Tuples(limit) => format!("{limit} derived tuples"),
        Spent::Bytes(limit) => format!("{limit} bytes"),
        Spent::Steps(limit) => format!("{limit} steps"),
        Spent::Stopped => return EvalError { what: "the explanation was stopped".to_owned(), span: None },
    };
    EvalError { what: format!("the explanation needs more than the limit of {limit}"), span: None }
}

impl From<Halt> for EvalError {
    fn from(halt: Halt) -> Self {
        spent(halt)
    }
}

fn fit_all(join: &mut Join<'_>, patterns: &[Pattern], tuple: &[Word]) -> Result<bool, Halt> {
    for (pattern, &word) in patterns.iter().zip(tuple) {
        if !join.fits(pattern, word)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether the head has the words of the tuple; calls in it are what the patterns leave open.
fn derives(join: &mut Join<'_>, rule: &Rule, tuple: &[Word]) -> Result<bool, Halt> {
    for (term, &word) in rule.head.terms.iter().zip(tuple) {
        if join.term(term)? != Some(word) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// What the columns of a head have to be, so that its variables take the values of a tuple's known columns.
fn patterns(rule: &Rule, known: &[bool]) -> Vec<Pattern> {
    let mut bound = BTreeSet::new();
    let columns = rule.head.terms.iter().zip(known);
    columns.map(|(term, &known)| if known { open(term, &mut bound) } else { Pattern::Any }).collect()
}

fn open(term: &Term, bound: &mut BTreeSet<VariableId>) -> Pattern {
    match term {
        Term::Variable(variable) if bound.insert(*variable) => Pattern::Bind(*variable),
        Term::Variable(_) | Term::Constant(_) => Pattern::Equal(term.clone()),
        Term::Wildcard | Term::Call(_) => Pattern::Any,
        Term::Construct(constructor, fields) => {
            Pattern::Construct(*constructor, fields.iter().map(|field| open(field, bound)).collect())
        }
    }
}

fn bound_by(patterns: &[Pattern]) -> Vec<VariableId> {
    let mut found = Vec::new();
    let mut open: Vec<&Pattern> = patterns.iter().collect();
    while let Some(pattern) = open.pop() {
        match pattern {
            Pattern::Bind(variable) => found.push(*variable),
            Pattern::Any | Pattern::Equal(_) => {}
            Pattern::Construct(_, fields) => open.extend(fields),
        }
    }
    found
}

/// What a column has to be where every variable has its value.
fn settled(term: &Term) -> Pattern {
    match term {
        Term::Wildcard => Pattern::Any,
        Term::Construct(constructor, fields) if has_wildcard(term) => {
            Pattern::Construct(*constructor, fields.iter().map(settled).collect())
        }
        Term::Variable(_) | Term::Constant(_) | Term::Construct(..) | Term::Call(_) => {
            Pattern::Equal(term.clone())
        }
    }
}

fn has_wildcard(term: &Term) -> bool {
    match term {
        Term::Wildcard => true,
        Term::Construct(_, fields) => fields.iter().any(has_wildcard),
        Term::Variable(_) | Term::Constant(_) | Term::Call(_) => false,
    }
}

/// Looks at what fails at a depth of a plan.
fn near_at(join: &mut Join<'_>, rule: &Rule, plan: &Plan, depth: usize) -> Result<Option<Near>, EvalError> {
    let (Some(step), Some(before)) = (plan.steps.get(depth), plan.steps.get(..depth)) else {
        return Ok(None);
    };
    let places = plan.literals.get(depth).map_or(&[][..], Vec::as_slice);
    let mut held: Vec<usize> = plan.literals.iter().take(depth).flatten().copied().collect();
    let (mut failed, mut seen, mut ways) = (None, Vec::<Seen>::new(), 0);
    let end = join.run(Run::new(before, usize::MAX), &mut |join| {
        ways += 1;
        let (values, mut place) = (join.values.clone(), places.first().copied());
        if let Step::Stage(items) = step {
            for (item, &at) in items.iter().zip(places) {
                let holds = join.run(Run::new(std::slice::from_ref(item), 0), &mut |_| Ok(()))?;
                join.values.clone_from(&values);
                if !holds {
                    place = Some(at);
                    break;
                }
            }
        }
        let sides = match place.and_then(|place| rule.body.get(place)) {
            Some(Literal::Test(test)) => {
                let bound = |term: &Term| *term != Term::Wildcard;
                [&test.left, &test.right].map(|side| bound(side).then(|| join.term(side)))
            }
            _ => [None, None],
        };
        let [left, right] = sides;
        let sides = [left.transpose()?.flatten(), right.transpose()?.flatten()];
        let full = |seen: &Seen| seen.sides.iter().flatten().count();
        let seen_here = Seen { values, sides };
        let (new, old) = (full(&seen_here), seen.first().map_or(0, full));
        if seen.is_empty() || new > old {
            (seen, failed) = (vec![seen_here], place);
        } else if new == old
            && seen.len() < SEEN
            && place == failed
            && seen.iter().all(|seen| seen.sides != sides || sides == [None, None])
        {
            seen.push(seen_here);
        }
        Ok(())
    });
    end?;
    let Some(failed) = failed else { return Ok(None) };
    if let Step::Stage(_) = step {
        held.extend(places.iter().take_while(|&&place| place != failed));
    }
    Ok(Some(Near { held, given: Vec::new(), failed, seen, ways }))
}

fn aggregate_at(plan: &Plan, place: usize) -> Option<&AggregateStep> {
    plan.steps.iter().zip(&plan.literals).find_map(|(step, places)| {
        let items = match step {
            Step::Stage(items) => items.as_slice(),
            other => std::slice::from_ref(other),
        };
        items.iter().zip(places).find_map(|(item, &at)| match item {
            Step::Aggregate(step) if at == place => Some(&**step),
            _ => None,
        })
    })
}

/// The plans of all rules with the variables of their heads given.
fn plans(engine: &Engine, program: &Program) -> Vec<Plan> {
    let given = |rule: &Rule| bound_by(&patterns(rule, &vec![true; rule.head.terms.len()]));
    let all: Vec<_> = (0..).map(RuleId).zip(program.rules.iter().map(given)).collect();
    planned(engine, program, &all)
}

/// Plans of rules with these variables given, over the indexes that there are: a proof must not make new ones.
fn planned(engine: &Engine, program: &Program, wanted: &[(RuleId, Vec<VariableId>)]) -> Vec<Plan> {
    let mut relations: Vec<Tuples> = engine.shapes.iter().map(Shape::tuples).collect();
    let session: Vec<bool> = engine.kept.iter().map(|&kept| kept == Kept::Grows).collect();
    let mut planner = Planner {
        program,
        relations: &mut relations,
        session: &session,
        grows: &engine.grows,
        // Each literal stays a step of its own.
        lasting: &[],
        avoid_ancestors: true,
    };
    let mut plans = Vec::with_capacity(wanted.len());
    for (id, given) in wanted {
        let Some(rule) = program.rules.get(id.0 as usize) else { continue };
        plans.push(plan(&mut planner, *id, rule, None, given));
    }
    let known: Vec<Tuples> = engine.shapes.iter().map(Shape::tuples).collect();
    for step in plans.iter_mut().flat_map(|plan| &mut plan.steps) {
        resettle(step, &relations, &known);
        // Ways that lead to the same tuple are different steps of a proof.
        if let Step::Lineage { live, .. } = step {
            *live = None;
        }
    }
    plans
}

/// Has a step look tuples up by an index that is there, and compare the other columns.
fn resettle(step: &mut Step, asked: &[Tuples], known: &[Tuples]) {
    match step {
        Step::Scan { relation, access, patterns, .. } => {
            let at = relation.0 as usize;
            let (Some(asked), Some(known)) = (asked.get(at), known.get(at)) else { return };
            let Access::Index(index, key) = &access else { return };
            let columns = asked.columns(*index).to_vec();
            let mut bound = vec![false; known.arity()];
            for &column in &columns {
                bound.get_mut(column).into_iter().for_each(|slot| *slot = true);
            }
            let keyed = |wanted: usize| columns.iter().zip(key).find(|(column, _)| **column == wanted);
            let (access_now, used) = match known.narrowest(&bound) {
                Some((index, used)) => {
                    let key = used.iter().filter_map(|&column| keyed(column)).map(|(_, term)| term.clone());
                    (Access::Index(index, key.collect()), used.to_vec())
                }
                None => (Access::Full, Vec::new()),
            };
            let rest = columns.iter().zip(key).filter(|(column, _)| !used.contains(column));
            let rest: Vec<_> = rest.map(|(&column, term)| (column, Pattern::Equal(term.clone()))).collect();
            patterns.splice(0..0, rest);
            *access = access_now;
        }
        Step::Stage(items) => items.iter_mut().for_each(|item| resettle(item, asked, known)),
        Step::Aggregate(step) => step.steps.iter_mut().for_each(|step| resettle(step, asked, known)),
        Step::Among(_)
        | Step::Lineage { .. }
        | Step::Absent { .. }
        | Step::AbsentLineage { .. }
        | Step::Filter(_)
        | Step::Match { .. }
        | Step::Generate { .. }
        | Step::Counted(_) => {}
    }
}

/// Whether tuples of a relation come from rules.
pub(crate) fn derived(program: &Program, relation: RelationId) -> bool {
    program.schema(relation).is_some_and(|schema| schema.origin == Origin::Rules)
}
