//! One evaluation over a database: strata from nothing, and strata that are fed with what is new.

use crate::engine::agenda::Task;
use crate::engine::database::Room;
use crate::engine::evaluate::Progress;
use crate::engine::join::{Join, Run, Window};
use crate::engine::meter::{Faults, Halt, Meter, name_of};
use crate::engine::plan::{Access, Pattern, Plan, Step};
use crate::engine::tuples::Row;
use crate::engine::{Budget, Database, Engine, EvalError};
use crate::lineage::Lineage;
use crate::program::{LineageRelation, Program, RelationId, RuleId};
use crate::value::Word;

/// One evaluation over a database.
pub(crate) struct Pass<'a> {
    engine: &'a Engine,
    program: &'a Program,
    pub(crate) database: &'a mut Database,
    lineage: &'a Lineage,
    meter: Meter,
    faults: Faults,
}

impl<'a> Pass<'a> {
    pub(crate) fn new(
        engine: &'a Engine,
        program: &'a Program,
        database: &'a mut Database,
        lineage: &'a Lineage,
        budget: Budget,
    ) -> Self {
        let meter = Meter::new(budget, database.stop.clone(), database.pool.bytes());
        engine.depend(database, lineage);
        Self { engine, program, database, lineage, meter, faults: Faults::default() }
    }

    /// The facts, and what was derived from them.
    pub(crate) fn database(&self) -> &Database {
        self.database
    }

    /// Every row of every relation is stable.
    pub(crate) fn settle_all(&mut self) {
        let all: Vec<RelationId> = (0..).map(RelationId).take(self.database.relations.len()).collect();
        self.settle(&all);
    }

    /// Every row of these relations is stable.
    fn settle(&mut self, relations: &[RelationId]) {
        for relation in relations {
            let at = relation.0 as usize;
            let (windows, tuples) = (&mut self.database.windows, self.database.relations.get_mut(at));
            if let (Some(window), Some(tuples)) = (windows.get_mut(at), tuples) {
                tuples.refresh();
                tuples.refresh_by_record(&self.database.names);
                *window = Window { stable: tuples.len(), recent: tuples.len() };
            }
        }
    }

    fn rows(&self, relation: RelationId) -> u32 {
        self.database.relations.get(relation.0 as usize).map_or(0, |tuples| tuples.len())
    }

    /// Whether a plan finds nothing, since a relation that it goes through is empty.
    fn starves(&self, plan: &Plan) -> bool {
        plan.needs.iter().any(|&relation| self.rows(relation) == 0)
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
            // A step among ancestors walks the smaller side.
            let among = plan.steps.iter().any(|step| matches!(step, Step::Among(_)));
            among
                || walked.is_none_or(|(relation, access)| {
                    *access != Access::Full || self.rows(relation) as usize <= self.database.depends.len()
                })
        });
        around.or_else(|| engine.first.get(at))
    }

    /// Completes a stratum from nothing.
    pub(crate) fn stratum(&mut self, task: &Task) -> Result<(), EvalError> {
        if task.recursive {
            self.settle(&task.looks_at);
        }
        for &rule in &task.rules {
            let Some(plan) = self.choose(rule).filter(|plan| !self.starves(plan)) else { continue };
            if !task.recursive {
                self.settle(&plan.reads);
            }
            self.run(plan)?;
        }
        if task.recursive {
            self.rounds(task, false)?;
        }
        self.faulty()
    }

    /// Derives a stratum anew that is held for the session.
    pub(crate) fn renew(&mut self, program: &Program, task: &Task) -> Result<(), EvalError> {
        for &relation in own(program, task) {
            self.database.clear(relation);
        }
        let result = self.stratum(task);
        if result.is_err() {
            for &relation in own(program, task) {
                self.database.clear(relation);
            }
        }
        result
    }

    /// Runs later rounds until one adds nothing, the first of them also where only lower strata have brought rows (with
    /// `brought`). In that first round the rows that lower relations got since their window began count as recent.
    fn rounds(&mut self, task: &Task, brought: bool) -> Result<(), EvalError> {
        let engine = self.engine;
        let relations = own(self.program, task);
        let mut first = true;
        loop {
            let grew = self.advance(relations);
            let more = grew || (first && brought);
            if !more {
                return Ok(());
            }
            if let Some(&relation) = relations.first() {
                self.meter.round(relation).map_err(|halt| self.halted(&halt))?;
            }
            for plan in task.rules.iter().filter_map(|rule| engine.later.get(rule.0 as usize)).flatten() {
                let recent = plan.recent.and_then(|at| self.database.windows.get(at.0 as usize));
                if recent.is_some_and(|window| window.recent > window.stable) && !self.starves(plan) {
                    self.run(plan)?;
                }
            }
            if std::mem::take(&mut first) {
                self.see_lower(task, relations);
            }
        }
    }

    /// What a stratum's relations got in the last round becomes recent; tells whether that is anything.
    fn advance(&mut self, relations: &[RelationId]) -> bool {
        let mut grew = false;
        for &relation in relations {
            let at = relation.0 as usize;
            let (windows, tuples) = (&mut self.database.windows, self.database.relations.get_mut(at));
            let (Some(window), Some(tuples)) = (windows.get_mut(at), tuples) else { continue };
            tuples.refresh();
            grew |= tuples.len() > window.recent;
            *window = Window { stable: window.recent, recent: tuples.len() };
        }
        grew
    }

    /// What lower strata had brought has been seen.
    fn see_lower(&mut self, task: &Task, relations: &[RelationId]) {
        for at in task.looks_at.iter().filter(|at| !relations.contains(at)) {
            if let Some(window) = self.database.windows.get_mut(at.0 as usize) {
                window.stable = window.recent;
            }
        }
    }

    /// Feeds strata that only grow with what is new.
    pub(crate) fn feed(&mut self, tasks: &[Task], progress: &mut Progress) -> Result<(), EvalError> {
        if !progress.started {
            let engine = self.engine;
            for &rule in tasks.iter().flat_map(|task| &task.rules) {
                let plan = engine.first.get(rule.0 as usize);
                if let Some(plan) = plan.filter(|plan| plan.reads.is_empty() && !plan.lineage) {
                    self.run(plan)?;
                }
            }
            progress.started = true;
        }
        for task in tasks {
            let seen = |relation: RelationId| progress.seen.get(relation.0 as usize).copied().unwrap_or(0);
            if !task.looks_at.iter().any(|&relation| self.rows(relation) != seen(relation)) {
                self.faulty()?;
                continue;
            }
            self.settle(&task.looks_at);
            for &relation in &task.looks_at {
                if let Some(window) = self.database.windows.get_mut(relation.0 as usize) {
                    window.stable = seen(relation);
                }
            }
            // The stratum's own rows that are new count as recent in the first round.
            let relations = own(self.program, task);
            for relation in relations {
                if let Some(window) = self.database.windows.get_mut(relation.0 as usize) {
                    window.recent = window.stable;
                }
            }
            self.rounds(task, true)?;
            self.faulty()?;
        }
        for task in tasks {
            for &relation in &task.looks_at {
                let rows = self.rows(relation);
                progress.seen.get_mut(relation.0 as usize).into_iter().for_each(|slot| *slot = rows);
            }
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
        if rule.head.terms.is_empty() && self.rows(head) > 0 && !plan.fallible {
            return Ok(());
        }
        let Room { mut tuple, mut fresh, values, scratch } = std::mem::take(&mut self.database.room);
        fresh.begin(rule.head.terms.len());
        let (found, room) = self.join(head, rule.variables.len(), (values, scratch), |join| {
            let existing = join.relations.get(head.0 as usize);
            join.run(Run::new(&plan.steps, plan.cut), &mut |join| {
                tuple.clear();
                let mut complete = true;
                for term in &rule.head.terms {
                    match join.term(term)? {
                        Some(word) => tuple.push(word),
                        None => complete = false,
                    }
                }
                let is_new = |tuple: &[Word]| existing.is_some_and(|set| set.find(tuple).is_none());
                if complete && is_new(&tuple) && fresh.insert(&tuple) {
                    join.meter.tuple(tuple.len(), head)?;
                }
                Ok(())
            })
        });
        if found.is_ok() {
            fresh.iter().for_each(|tuple| self.database.insert(head, tuple));
        }
        let (values, scratch) = room;
        self.database.room = Room { values, scratch, tuple, fresh };
        found.map(|_| ())
    }

    /// Lets a rule run that derives `head` and has so many variables. The buffers come back.
    fn join<T>(
        &mut self,
        head: RelationId,
        variables: usize,
        (mut values, mut scratch): (Vec<Word>, Vec<Word>),
        ask: impl FnOnce(&mut Join<'_>) -> T,
    ) -> (T, (Vec<Word>, Vec<Word>)) {
        let Database { relations, windows, pool, cache, names, depends, .. } = &mut *self.database;
        values.clear();
        values.resize(variables, Word::default());
        scratch.clear();
        let ancestry = self.engine.ancestry(names, self.lineage, depends);
        let mut join = Join {
            program: self.program,
            relations,
            windows,
            ancestry: &ancestry,
            pool,
            cache,
            meter: &mut self.meter,
            faults: &mut self.faults,
            head,
            values,
            scratch,
            deepest: 0,
        };
        let answer = ask(&mut join);
        (answer, (join.values, join.scratch))
    }

    /// How far the plan comes in the model that is there.
    pub(crate) fn reach(&mut self, plan: &Plan, given: &[(usize, Word)]) -> usize {
        let variables = self.program.rules.get(plan.rule.0 as usize).map_or(0, |rule| rule.variables.len());
        self.settle(&plan.reads);
        self.look(variables, |join| {
            for &(slot, word) in given {
                join.set(slot, word);
            }
            // A budget that runs out here leaves the way that was found so far.
            let _ = join.run(Run::new(&plan.steps, 0), &mut |_| Ok(()));
            join.deepest
        })
    }

    pub(crate) fn list(&mut self, relation: LineageRelation, columns: usize) -> Vec<Vec<Word>> {
        let free = vec![Pattern::Any; columns];
        self.look(0, |join| join.matches(relation, &free).map(Iterator::collect).unwrap_or_default())
    }

    /// Reads the model that is there, settled before; of one relation only the rows below that one are seen.
    pub(crate) fn view<T>(
        &mut self,
        variables: usize,
        below: Option<(RelationId, Row)>,
        ask: impl FnOnce(&mut Join<'_>) -> T,
    ) -> T {
        let before = below.and_then(|(relation, row)| Some((relation, self.limit(relation, row)?)));
        let answer = self.look(variables, ask);
        if let Some((relation, row)) = before {
            self.limit(relation, row);
        }
        answer
    }

    /// Lets only the rows below that one be seen. Returns the row that was the limit before.
    fn limit(&mut self, relation: RelationId, row: Row) -> Option<Row> {
        let window = self.database.windows.get_mut(relation.0 as usize)?;
        Some(std::mem::replace(window, Window { stable: row, recent: row }).recent)
    }

    /// Reads the model that is there; derives nothing.
    fn look<T>(&mut self, variables: usize, ask: impl FnOnce(&mut Join<'_>) -> T) -> T {
        self.join(RelationId(u32::MAX), variables, (Vec::new(), Vec::new()), ask).0
    }
}

/// The relations that a task completes.
fn own<'p>(program: &'p Program, task: &Task) -> &'p [RelationId] {
    program.strata.get(task.stratum).map_or(&[], |stratum| &stratum.relations)
}
