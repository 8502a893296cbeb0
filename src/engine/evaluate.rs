use std::sync::OnceLock;

use crate::engine::ancestry::{Ancestry, RecordNames};
use crate::engine::join::{Join, Run, Window};
use crate::engine::meter::{Faults, Halt, Meter, name_of};
use crate::engine::order::{Planner, plan};
use crate::engine::plan::{Access, Pattern, Plan, Step};
use crate::engine::tuples::{Row, Tuples};
use crate::engine::{Budget, Database, EvalError};
use crate::lineage::{Lineage, Runs};
use crate::program::{LineageRelation, Literal, Origin, Program, RelationId, RuleId, Stratum, Term};
use crate::value::{ConstructorId, Pool, Word};

/// A program that is ready to run: the plans of its rules, and which of its relations are kept between checks.
#[derive(Debug, Clone)]
pub struct Engine {
    /// The widths and indexes of the relations, to start a database from.
    pub(crate) shapes: Vec<Shape>,
    /// The texts and values of the program, with room for those of a session.
    pool: Pool,
    /// For each rule the plans of a first round: all rows of everything.
    pub(crate) first: Vec<Plan>,
    /// For a rule that can either walk all ancestors or look records up among them: the plan that looks them up.
    pub(crate) around: Vec<Option<Plan>>,
    /// For each rule the plans of later rounds, one for each atom whose relation can grow.
    pub(crate) later: Vec<Vec<Plan>>,
    /// Whether a relation depends on session facts alone and only grows, by relation.
    pub(crate) session: Vec<bool>,
    /// For each rule its plan with the variables of the head given, made where the first proof is asked for.
    pub(crate) proofs: OnceLock<Vec<Plan>>,
    /// For each decision rule, plans of its alternatives with the action's index given, and the slot it stands in.
    pub(crate) probes: Vec<Vec<(Plan, Option<usize>)>>,
    /// Whether a relation can hold more once the session has gone on, by relation.
    pub(crate) grows: Vec<bool>,
    current: Option<RelationId>,
    depends_gate: Option<RelationId>,
    reachable_gate: Option<RelationId>,
    position: ConstructorId,
}

/// Texts and compound values of a session for which room is made at its beginning.
const SESSION_VALUES: usize = 512;

#[derive(Debug, Clone)]
pub(crate) struct Shape {
    arity: usize,
    indexes: Vec<Vec<usize>>,
}

impl Shape {
    /// No tuples, with the indexes.
    pub(crate) fn tuples(&self) -> Tuples {
        let mut tuples = Tuples::new(self.arity);
        for columns in &self.indexes {
            tuples.index(columns);
        }
        tuples
    }
}

/// What a session's derived facts have been fed with.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Rows of each relation that the session's strata have seen.
    seen: Vec<Row>,
    /// Whether rules that read no relation have run.
    started: bool,
    /// An evaluation error that session facts cause; they stay, and so does it.
    error: Option<EvalError>,
}

impl Engine {
    /// Plans the rules. `session_facts` are the host's relations that only grow while a session lasts; all others of the host belong to one request.
    #[must_use]
    pub fn new(program: &Program, session_facts: &[RelationId]) -> Self {
        let mut relations: Vec<Tuples> =
            program.relations.iter().map(|relation| Tuples::new(relation.columns.len())).collect();
        let session = session_relations(program, session_facts);
        let grows = can_grow(program, session_facts);
        let mut planner = Planner {
            program,
            relations: &mut relations,
            session: &session,
            grows: &grows,
            avoid_ancestors: false,
        };
        let ids = || (0..).map(RuleId).zip(&program.rules);
        let first: Vec<Plan> = ids().map(|(id, rule)| plan(&mut planner, id, rule, None, &[])).collect();
        planner.avoid_ancestors = true;
        let other = |(plan_first, (id, rule)): (&Plan, _)| {
            let other = plan(&mut planner, id, rule, None, &[]);
            (other.steps != plan_first.steps).then_some(other)
        };
        let around: Vec<Option<Plan>> = first.iter().zip(ids()).map(other).collect();
        planner.avoid_ancestors = false;
        let stratum_of = stratum_of(program);
        let mut later = Vec::with_capacity(program.rules.len());
        for (id, rule) in ids() {
            let head = rule.head.relation.0 as usize;
            let grows = |relation: RelationId| {
                let at = relation.0 as usize;
                session.get(head) == Some(&true) || stratum_of.get(at) == stratum_of.get(head)
            };
            let atoms = rule.body.iter().enumerate().filter_map(|(place, literal)| match literal {
                Literal::Positive(atom) if grows(atom.relation) => Some(place),
                Literal::Positive(_) | Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => {
                    None
                }
            });
            let places: Vec<_> = atoms.collect();
            later.push(
                places.into_iter().map(|place| plan(&mut planner, id, rule, Some(place), &[])).collect(),
            );
        }
        let probes =
            program.decision_rules.iter().map(|rule| probe_plans(&mut planner, &rule.rules)).collect();
        let shapes = relations
            .iter()
            .map(|tuples| Shape { arity: tuples.arity(), indexes: tuples.indexed() })
            .collect();
        Self {
            shapes,
            pool: program.pool.clone().with_room(SESSION_VALUES),
            first,
            around,
            later,
            session,
            proofs: OnceLock::new(),
            probes,
            grows,
            current: program.relation("Current"),
            depends_gate: program.relation("CurrentDependsPolicyRelevant"),
            reachable_gate: program.relation("ReachableFromPolicyRelevant"),
            position: program.types.record("EdgeDataRecord").unwrap_or(ConstructorId::NIL),
        }
    }

    /// A session without facts.
    #[must_use]
    pub fn database(&self) -> Database {
        Database::with(self.pool.clone(), self.shapes.iter().map(Shape::tuples).collect())
    }

    /// Brings up to date what the roots need and what depends on session facts alone. Costs as much as those facts are
    /// new. What it derives stays; call it before the facts of a request are added.
    ///
    /// # Errors
    /// The evaluation error that session facts cause, or the budget that ran out; both come again at each later call.
    pub fn feed(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        progress: &mut Progress,
        roots: &[RelationId],
        budget: Budget,
    ) -> Result<(), EvalError> {
        if let Some(error) = &progress.error {
            return Err(error.clone());
        }
        progress.seen.resize(program.relations.len(), 0);
        let needed = program.needed(roots);
        let strata: Vec<_> =
            program.strata.iter().filter(|stratum| self.kept(stratum) && wanted(stratum, &needed)).collect();
        let mut pass = Pass::new(self, program, database, lineage, budget);
        let result = pass.feed(&strata, progress);
        if let Err(error) = &result {
            progress.error = Some(error.clone());
        }
        result
    }

    /// Derives what the roots need from the facts that are there, session facts fed before.
    ///
    /// # Errors
    /// The evaluation error met, or the budget that ran out.
    pub fn evaluate(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        fed: &[RelationId],
        roots: &[RelationId],
        budget: Budget,
    ) -> Result<(), EvalError> {
        let needed = program.needed(roots);
        let fed = program.needed(fed);
        let done = |stratum: &Stratum| self.kept(stratum) && wanted(stratum, &fed);
        let mut pass = Pass::new(self, program, database, lineage, budget);
        program
            .strata
            .iter()
            .filter(|stratum| wanted(stratum, &needed) && !done(stratum))
            .try_for_each(|stratum| pass.stratum(stratum))
    }

    fn kept(&self, stratum: &Stratum) -> bool {
        stratum.relations.iter().all(|relation| self.session.get(relation.0 as usize) == Some(&true))
    }

    /// The tuples of a relation in the model that is there, those of a lineage relation among them.
    pub fn list(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        relation: RelationId,
    ) -> Vec<Vec<Word>> {
        match program.schema(relation).map(|schema| (schema.origin, schema.columns.len())) {
            Some((Origin::Lineage(relation), columns)) => {
                Pass::new(self, program, database, lineage, Budget::default()).list(relation, columns)
            }
            Some((Origin::Host | Origin::Rules, _)) | None => {
                database.tuples(relation).map(<[Word]>::to_vec).collect()
            }
        }
    }

    /// Every proper ancestor of a `Current` record; computed once for several checks with the same such records.
    fn depends(&self, database: &mut Database, lineage: &Lineage) -> Runs {
        let relation = self.current.and_then(|current| database.relations.get(current.0 as usize));
        let changes = relation.map_or(0, Tuples::changes);
        if let Some((_, depends)) = database.depends.as_ref().filter(|(at, _)| *at == changes) {
            return depends.clone();
        }
        let mut depends = Runs::default();
        for tuple in self.current.iter().flat_map(|&current| database.tuples(current)) {
            let record = tuple.first().and_then(|word| database.names.record(word.as_symbol()));
            if let Some(record) = record {
                depends.union(lineage.ancestors(record));
            }
        }
        database.depends = Some((changes, depends.clone()));
        depends
    }
}

impl Engine {
    fn ancestry<'a>(&self, names: &'a RecordNames, lineage: &'a Lineage, depends: &'a Runs) -> Ancestry<'a> {
        let (depends_gate, reachable_gate, position) =
            (self.depends_gate, self.reachable_gate, self.position);
        Ancestry { lineage, names, depends, depends_gate, reachable_gate, position }
    }
}

fn probe_plans(planner: &mut Planner<'_>, rules: &[RuleId]) -> Vec<(Plan, Option<usize>)> {
    let program = planner.program;
    let mut plans = Vec::new();
    for &id in rules {
        let Some(rule) = program.rules.get(id.0 as usize) else { continue };
        let index = match rule.head.terms.first() {
            Some(Term::Variable(variable)) => Some(*variable),
            _ => None,
        };
        let given: Vec<_> = index.into_iter().collect();
        plans.push((plan(planner, id, rule, None, &given), index.map(|variable| variable.0 as usize)));
    }
    plans
}

/// One evaluation over a database.
pub(crate) struct Pass<'a> {
    engine: &'a Engine,
    program: &'a Program,
    database: &'a mut Database,
    lineage: &'a Lineage,
    meter: Meter,
    faults: Faults,
    windows: Vec<Window>,
    depends: Runs,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        program: &'a Program,
        database: &'a mut Database,
        lineage: &'a Lineage,
        budget: Budget,
    ) -> Self {
        let meter = Meter::new(budget, database.pool.bytes());
        let windows = vec![Window::default(); database.relations.len()];
        let depends = engine.depends(database, lineage);
        Self { engine, program, database, lineage, meter, faults: Faults::default(), windows, depends }
    }

    /// The facts, and what was derived from them.
    pub(crate) fn database(&self) -> &Database {
        self.database
    }

    /// Every row is stable.
    pub(crate) fn settle(&mut self) {
        for (window, tuples) in self.windows.iter_mut().zip(&mut self.database.relations) {
            tuples.refresh();
            *window = Window { stable: tuples.len(), recent: tuples.len() };
        }
    }

    /// The plan of a rule's first round: around the ancestors where what it walks instead is narrowed by a key or smaller.
    fn choose(&self, rule: RuleId) -> Option<&'a Plan> {
        let engine = self.engine;
        let at = rule.0 as usize;
        let around = engine.around.get(at).and_then(Option::as_ref).filter(|plan| {
            let walked = plan.steps.iter().find_map(|step| match step {
                Step::Scan { relation, access, .. }
                    if engine.grows.get(relation.0 as usize) == Some(&true) =>
                {
                    Some((*relation, access))
                }
                _ => None,
            });
            walked.is_none_or(|(relation, access)| {
                let rows = self
                    .database
                    .relations
                    .get(relation.0 as usize)
                    .map_or(0, |tuples| tuples.len() as usize);
                *access != Access::Full || rows <= self.depends.len()
            })
        });
        around.or_else(|| engine.first.get(at))
    }

    /// Completes a stratum from nothing.
    fn stratum(&mut self, stratum: &Stratum) -> Result<(), EvalError> {
        self.settle();
        for &rule in &stratum.rules {
            if let Some(plan) = self.choose(rule) {
                self.run(plan)?;
            }
        }
        if stratum.recursive {
            self.rounds(stratum, false)?;
        }
        self.faulty()
    }

    /// Runs later rounds until one adds nothing, the first of them also where only lower strata have brought rows (with
    /// `brought`). In that first round the rows that lower relations got since their window began count as recent.
    fn rounds(&mut self, stratum: &Stratum, brought: bool) -> Result<(), EvalError> {
        let engine = self.engine;
        let plans: Vec<&Plan> =
            stratum.rules.iter().filter_map(|rule| engine.later.get(rule.0 as usize)).flatten().collect();
        let mut first = true;
        loop {
            let grew = self.advance(stratum);
            let more = grew || (first && brought);
            if !more {
                return Ok(());
            }
            if let Some(&relation) = stratum.relations.first() {
                self.meter.round(relation).map_err(|halt| self.halted(&halt))?;
            }
            for plan in &plans {
                let recent = plan.recent.and_then(|relation| self.windows.get(relation.0 as usize));
                if recent.is_some_and(|window| window.recent > window.stable) {
                    self.run(plan)?;
                }
            }
            if std::mem::take(&mut first) {
                self.see_lower(stratum);
            }
        }
    }

    /// What a stratum's relations got in the last round becomes recent; tells whether that is anything.
    fn advance(&mut self, stratum: &Stratum) -> bool {
        let mut grew = false;
        for &relation in &stratum.relations {
            let at = relation.0 as usize;
            let (Some(window), Some(tuples)) =
                (self.windows.get_mut(at), self.database.relations.get_mut(at))
            else {
                continue;
            };
            tuples.refresh();
            grew |= tuples.len() > window.recent;
            *window = Window { stable: window.recent, recent: tuples.len() };
        }
        grew
    }

    /// What lower strata had brought has been seen.
    fn see_lower(&mut self, stratum: &Stratum) {
        for (at, window) in self.windows.iter_mut().enumerate() {
            if !stratum.relations.iter().any(|relation| relation.0 as usize == at) {
                window.stable = window.recent;
            }
        }
    }

    fn feed(&mut self, strata: &[&Stratum], progress: &mut Progress) -> Result<(), EvalError> {
        if !progress.started {
            self.settle();
            let engine = self.engine;
            for &rule in strata.iter().flat_map(|stratum| &stratum.rules) {
                let plan = engine.first.get(rule.0 as usize);
                if let Some(plan) = plan.filter(|plan| !reads(&plan.steps)) {
                    self.run(plan)?;
                }
            }
            progress.started = true;
        }
        for stratum in strata {
            for ((window, tuples), &seen) in
                self.windows.iter_mut().zip(&mut self.database.relations).zip(&progress.seen)
            {
                tuples.refresh();
                *window = Window { stable: seen, recent: tuples.len() };
            }
            // The stratum's own rows that are new count as recent in the first round.
            for &relation in &stratum.relations {
                let at = relation.0 as usize;
                if let Some(window) = self.windows.get_mut(at) {
                    window.recent = window.stable;
                }
            }
            self.rounds(stratum, true)?;
            self.faulty()?;
        }
        for (seen, tuples) in progress.seen.iter_mut().zip(&self.database.relations) {
            *seen = tuples.len();
        }
        Ok(())
    }

    fn faulty(&self) -> Result<(), EvalError> {
        match self.faults.first() {
            Some((what, span, head)) => {
                let what = format!("`{}` cannot be derived: {what}", name_of(self.program, *head));
                Err(EvalError { what, span: Some(*span) })
            }
            None => Ok(()),
        }
    }

    fn run(&mut self, plan: &Plan) -> Result<(), EvalError> {
        self.derive(plan).map_err(|halt| self.halted(&halt))
    }

    fn halted(&self, halt: &Halt) -> EvalError {
        EvalError { what: halt.text(self.program), span: None }
    }

    fn derive(&mut self, plan: &Plan) -> Result<(), Halt> {
        let Some(rule) = self.program.rules.get(plan.rule.0 as usize) else { return Ok(()) };
        let head = rule.head.relation;
        let Some(existing) = self.database.relations.get(head.0 as usize) else { return Ok(()) };
        if rule.head.terms.is_empty() && existing.len() > 0 && !plan.fallible {
            return Ok(());
        }
        let mut fresh = Tuples::new(rule.head.terms.len());
        let ancestry = self.engine.ancestry(&self.database.names, self.lineage, &self.depends);
        let mut join = Join {
            program: self.program,
            relations: &self.database.relations,
            windows: &self.windows,
            ancestry: &ancestry,
            pool: &mut self.database.pool,
            cache: &mut self.database.cache,
            meter: &mut self.meter,
            faults: &mut self.faults,
            head,
            values: vec![Word::default(); rule.variables.len()],
            scratch: Vec::new(),
            deepest: 0,
        };
        let mut tuple = Vec::with_capacity(rule.head.terms.len());
        join.run(Run::new(&plan.steps, plan.cut), &mut |join| {
            tuple.clear();
            let mut complete = true;
            for term in &rule.head.terms {
                match join.term(term)? {
                    Some(word) => tuple.push(word),
                    None => complete = false,
                }
            }
            if complete && existing.find(&tuple).is_none() && fresh.insert(&tuple) {
                join.meter.tuple(tuple.len(), head)?;
            }
            Ok(())
        })?;
        if let Some(tuples) = self.database.relations.get_mut(head.0 as usize) {
            fresh.iter().for_each(|tuple| {
                tuples.insert(tuple);
            });
        }
        Ok(())
    }

    /// How far the plan comes in the model that is there.
    pub(crate) fn reach(&mut self, plan: &Plan, given: &[(usize, Word)]) -> usize {
        let variables = self.program.rules.get(plan.rule.0 as usize).map_or(0, |rule| rule.variables.len());
        self.look(variables, |join| {
            for &(slot, word) in given {
                join.set(slot, word);
            }
            // A budget that runs out here leaves the way that was found so far.
            let _ = join.run(Run::new(&plan.steps, 0), &mut |_| Ok(()));
            join.deepest
        })
    }

    fn list(&mut self, relation: LineageRelation, columns: usize) -> Vec<Vec<Word>> {
        let free = vec![Pattern::Any; columns];
        self.look(0, |join| join.matches(relation, &free).map(Iterator::collect).unwrap_or_default())
    }

    /// Reads the model that is there; derives nothing.
    fn look<T>(&mut self, variables: usize, ask: impl FnOnce(&mut Join<'_>) -> T) -> T {
        self.settle();
        self.view(variables, None, ask)
    }

    /// Likewise, settled before; of one relation only the rows below that one are seen.
    pub(crate) fn view<T>(
        &mut self,
        variables: usize,
        below: Option<(RelationId, Row)>,
        ask: impl FnOnce(&mut Join<'_>) -> T,
    ) -> T {
        let windows = &mut self.windows;
        let mut limit = |relation: RelationId, row: Row| {
            windows
                .get_mut(relation.0 as usize)
                .map(|window| std::mem::replace(window, Window { stable: row, recent: row }).recent)
        };
        let before = below.and_then(|(relation, row)| Some((relation, limit(relation, row)?)));
        let answer = self.ask(variables, ask);
        if let Some((relation, row)) = before
            && let Some(window) = self.windows.get_mut(relation.0 as usize)
        {
            *window = Window { stable: row, recent: row };
        }
        answer
    }

    fn ask<T>(&mut self, variables: usize, ask: impl FnOnce(&mut Join<'_>) -> T) -> T {
        let ancestry = self.engine.ancestry(&self.database.names, self.lineage, &self.depends);
        ask(&mut Join {
            program: self.program,
            relations: &self.database.relations,
            windows: &self.windows,
            ancestry: &ancestry,
            pool: &mut self.database.pool,
            cache: &mut self.database.cache,
            meter: &mut self.meter,
            faults: &mut self.faults,
            head: RelationId(u32::MAX),
            values: vec![Word::default(); variables],
            scratch: Vec::new(),
            deepest: 0,
        })
    }
}

fn wanted(stratum: &Stratum, needed: &[bool]) -> bool {
    stratum.relations.iter().any(|relation| needed.get(relation.0 as usize) == Some(&true))
}

/// Whether a plan reads a relation.
fn reads(steps: &[Step]) -> bool {
    steps.iter().any(|step| matches!(step, Step::Scan { .. } | Step::Lineage { .. }))
}

fn stratum_of(program: &Program) -> Vec<usize> {
    let mut of: Vec<usize> =
        (0..program.relations.len()).map(|relation| program.strata.len() + relation).collect();
    for (number, stratum) in program.strata.iter().enumerate() {
        for relation in &stratum.relations {
            if let Some(slot) = of.get_mut(relation.0 as usize) {
                *slot = number;
            }
        }
    }
    of
}

/// Relations that depend on session facts alone and only grow: every rule reads, positively, only such relations.
fn session_relations(program: &Program, facts: &[RelationId]) -> Vec<bool> {
    let mut session: Vec<bool> =
        program.relations.iter().map(|relation| relation.origin == Origin::Rules).collect();
    for fact in facts {
        if let Some(slot) = session.get_mut(fact.0 as usize) {
            *slot = true;
        }
    }
    // A relation that falls takes those down that read it.
    let mut readers: Vec<Vec<RelationId>> = vec![Vec::new(); program.relations.len()];
    let mut fallen = Vec::new();
    for rule in &program.rules {
        let head = rule.head.relation;
        for literal in &rule.body {
            match literal {
                Literal::Positive(atom) => {
                    let at = atom.relation.0 as usize;
                    readers.get_mut(at).into_iter().for_each(|list| list.push(head));
                    fallen.extend((session.get(at) != Some(&true)).then_some(head));
                }
                Literal::Test(_) => {}
                Literal::Negative(_) | Literal::Aggregate(_) => fallen.push(head),
            }
        }
    }
    while let Some(relation) = fallen.pop() {
        let at = relation.0 as usize;
        if session.get_mut(at).is_some_and(std::mem::take) {
            fallen.extend(readers.get(at).into_iter().flatten());
        }
    }
    session
}

/// Whether a relation can hold more once the session has gone on: it needs session facts or the lineage.
fn can_grow(program: &Program, session_facts: &[RelationId]) -> Vec<bool> {
    let lineage =
        (0..).map(RelationId).zip(&program.relations).filter(|(_, relation)| match relation.origin {
            Origin::Lineage(
                LineageRelation::Edge
                | LineageRelation::EdgeData
                | LineageRelation::CurrentDepends
                | LineageRelation::ReachableFrom,
            ) => true,
            Origin::Host | Origin::Rules => false,
        });
    let mut sources: Vec<RelationId> = lineage.map(|(id, _)| id).collect();
    sources.extend(session_facts);
    program.affected(&sources)
}
