use std::sync::OnceLock;

use crate::engine::agenda::{Agenda, Task};
use crate::engine::ancestry::{Ancestry, RecordNames};
use crate::engine::kept::{Kept, can_grow, kept, stratum_of};
use crate::engine::order::{Planner, plan};
use crate::engine::pass::Pass;
use crate::engine::plan::Plan;
use crate::engine::tuples::{Row, Tuples};
use crate::engine::walk::Walks;
use crate::engine::{Budget, Database, EvalError, Hosted};
use crate::lineage::{Lineage, Runs};
use crate::program::{DecisionKind, Literal, Origin, Program, RelationId, Rule, RuleId, Term};
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
    /// How each relation is kept.
    pub(crate) kept: Vec<Kept>,
    /// The rules of each relation.
    rules: Vec<Vec<RuleId>>,
    /// For each rule its plan with the variables of the head given, made where the first proof is asked for.
    pub(crate) proofs: OnceLock<Vec<Plan>>,
    /// For each decision rule, plans of its alternatives with the action's index given, and the slot it stands in.
    pub(crate) probes: Vec<Vec<(Plan, Option<usize>)>>,
    /// Whether a relation can hold more once the session has gone on, by relation.
    pub(crate) grows: Vec<bool>,
    /// The decision rule whose firings a relation holds, by relation; not where it only allows.
    fired: Vec<Option<usize>>,
    /// The decision rules whose firings are kept.
    kept_fired: Vec<usize>,
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
    by_record: Vec<(Vec<usize>, usize)>,
}

impl Shape {
    /// No tuples, with the indexes.
    pub(crate) fn tuples(&self) -> Tuples {
        let mut tuples = Tuples::new(self.arity);
        for columns in &self.indexes {
            tuples.index(columns);
        }
        for (columns, record) in &self.by_record {
            tuples.index_by_record(columns, *record);
        }
        tuples
    }
}

/// What a session's derived facts have been fed with.
#[derive(Debug, Clone, Default)]
pub struct Progress {
    /// Rows of each relation that what grows has seen.
    pub(crate) seen: Vec<Row>,
    /// Whether rules that read no relation have run.
    pub(crate) started: bool,
    /// An evaluation error that session facts cause; they stay, and so does it.
    error: Option<EvalError>,
    /// What each stratum that is held was derived from, by its number.
    held: Vec<Option<Held>>,
}

/// A stratum that is held.
#[derive(Debug, Clone, Default)]
struct Held {
    /// The state of each relation that it looks at.
    from: Vec<u64>,
    records: usize,
    /// The evaluation error that it ended with.
    error: Option<EvalError>,
}

impl Engine {
    /// Plans the rules.
    #[must_use]
    pub fn new(program: &Program, hosted: &Hosted<'_>) -> Self {
        let mut relations: Vec<Tuples> =
            program.relations.iter().map(|relation| Tuples::new(relation.columns.len())).collect();
        let kept = kept(program, hosted);
        let session: Vec<bool> = kept.iter().map(|&kept| kept == Kept::Grows).collect();
        let lasting: Vec<bool> = kept.iter().map(|&kept| kept != Kept::Asked).collect();
        let grows = can_grow(program, hosted);
        let mut planner = Planner {
            program,
            relations: &mut relations,
            session: &session,
            grows: &grows,
            lasting: &lasting,
            avoid_ancestors: false,
        };
        let ids = || (0..).map(RuleId).zip(&program.rules);
        let first: Vec<Plan> = ids().map(|(id, rule)| plan(&mut planner, id, rule, None, &[])).collect();
        planner.avoid_ancestors = true;
        let other = |(plan_first, (id, rule)): (&Plan, (RuleId, &Rule))| {
            if !plan_first.lineage {
                return None;
            }
            let other = plan(&mut planner, id, rule, None, &[]);
            (other.steps != plan_first.steps).then_some(other)
        };
        let around: Vec<Option<Plan>> = first.iter().zip(ids()).map(other).collect();
        planner.avoid_ancestors = false;
        let later = later(&mut planner, &kept);
        let probes =
            program.decision_rules.iter().map(|rule| probe_plans(&mut planner, &rule.rules)).collect();
        let shapes = relations
            .iter()
            .map(|tuples| Shape {
                arity: tuples.arity(),
                indexes: tuples.indexed(),
                by_record: tuples.indexed_by_record(),
            })
            .collect();
        let mut rules = vec![Vec::new(); program.relations.len()];
        for (id, rule) in ids() {
            rules.get_mut(rule.head.relation.0 as usize).into_iter().for_each(|list| list.push(id));
        }
        let (fired, kept_fired) = firings(program, &kept);
        Self {
            shapes,
            pool: program.pool.clone().with_room(SESSION_VALUES),
            first,
            around,
            later,
            kept,
            rules,
            proofs: OnceLock::new(),
            probes,
            grows,
            fired,
            kept_fired,
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

    /// Whether [`Engine::feed`] has anything to do. Costs as much as relations are looked at.
    #[must_use]
    pub fn is_stale(
        &self,
        agenda: &Agenda,
        database: &Database,
        lineage: &Lineage,
        progress: &Progress,
    ) -> bool {
        let behind = |relation: &RelationId| {
            let at = relation.0 as usize;
            let rows = database.relations.get(at).map_or(0, Tuples::len);
            progress.seen.get(at).copied().unwrap_or(0) != rows
        };
        !progress.started
            || agenda.grows.iter().any(|task| task.looks_at.iter().any(behind))
            // What ended with an error has only a part of its tuples: the error has to come again.
            || agenda.held.iter().any(|task| {
                progress.error_of(task).is_some() || progress.is_stale(task, database, lineage)
            })
    }

    /// Brings up to date what the agenda has that depends on the session alone. Costs as much as those facts are new, and
    /// for relations that negate or aggregate, as much as they hold. What it derives stays; call it before the facts of a
    /// request are added. All agendas that one `progress` is fed with are of one [`Agendas`](crate::engine::Agendas).
    ///
    /// # Errors
    /// The evaluation error that session facts cause, or the budget that ran out; both come again at each later call
    /// with the same facts.
    pub fn feed(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        progress: &mut Progress,
        agenda: &Agenda,
        budget: Budget,
    ) -> Result<(), EvalError> {
        if let Some(error) = &progress.error {
            return Err(error.clone());
        }
        progress.seen.resize(program.relations.len(), 0);
        let mut pass = Pass::new(self, program, database, lineage, budget);
        if let Err(error) = pass.feed(&agenda.grows, progress) {
            progress.error = Some(error.clone());
            return Err(error);
        }
        for task in &agenda.held {
            if progress.is_stale(task, pass.database, lineage) {
                let error = pass.renew(program, task).err();
                progress.note(task, pass.database, lineage, error);
            }
            if let Some(error) = progress.error_of(task) {
                return Err(error.clone());
            }
        }
        Ok(())
    }

    /// Derives what the agenda has that depends on the request, from the facts that are there. Session facts were fed
    /// before.
    ///
    /// # Errors
    /// The evaluation error met, or the budget that ran out.
    pub fn evaluate(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        agenda: &Agenda,
        budget: Budget,
    ) -> Result<(), EvalError> {
        let mut pass = Pass::new(self, program, database, lineage, budget);
        agenda.asked.iter().try_for_each(|task| pass.stratum(task))
    }

    /// Derives what the agenda has left out and [`Engine::reach`] looks at.
    ///
    /// # Errors
    /// The evaluation error met, or the budget that ran out.
    pub fn complete(
        &self,
        program: &Program,
        database: &mut Database,
        lineage: &Lineage,
        agenda: &Agenda,
        budget: Budget,
    ) -> Result<(), EvalError> {
        let mut pass = Pass::new(self, program, database, lineage, budget);
        agenda.missing.iter().try_for_each(|task| pass.stratum(task))
    }

    /// The deny and ask rules (by their places in `Program::decision_rules`) that may have fired in the model that is
    /// there, each once.
    pub(crate) fn firing<'a>(&'a self, database: &'a Database) -> impl Iterator<Item = usize> + 'a {
        let asked =
            database.touched().filter_map(|relation| self.fired.get(relation.0 as usize).copied().flatten());
        self.kept_fired.iter().copied().chain(asked)
    }

    pub(crate) fn kept(&self, relation: RelationId) -> Kept {
        self.kept.get(relation.0 as usize).copied().unwrap_or(Kept::Asked)
    }

    pub(crate) fn rules_of(&self, relation: RelationId) -> impl Iterator<Item = RuleId> + '_ {
        self.rules.get(relation.0 as usize).into_iter().flatten().copied()
    }

    pub(crate) fn fallible(&self, rule: RuleId) -> bool {
        self.first.get(rule.0 as usize).is_some_and(|plan| plan.fallible)
    }

    /// All plans of a rule that a stratum can run.
    pub(crate) fn plans_of(&self, rule: RuleId) -> impl Iterator<Item = &Plan> {
        let at = rule.0 as usize;
        let around = self.around.get(at).and_then(Option::as_ref);
        self.first.get(at).into_iter().chain(around).chain(self.later.get(at).into_iter().flatten())
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

    /// Lets the database know every proper ancestor of a `Current` record. They are computed once for several checks with
    /// the same such records.
    pub(crate) fn depend(&self, database: &mut Database, lineage: &Lineage) {
        let relation = self.current.and_then(|current| database.relations.get(current.0 as usize));
        let changes = relation.map_or(0, Tuples::changes);
        if database.depends_at == Some(changes) {
            return;
        }
        let mut depends = std::mem::take(&mut database.depends);
        depends.clear();
        for tuple in self.current.iter().flat_map(|&current| database.tuples(current)) {
            let record = tuple.first().and_then(|word| database.names.record(word.as_symbol()));
            if let Some(record) = record {
                depends.union(&lineage.ancestors(record).to_runs());
            }
        }
        database.depends = depends;
        database.depends_at = Some(changes);
    }

    pub(crate) fn ancestry<'a>(
        &self,
        names: &'a RecordNames,
        lineage: &'a Lineage,
        depends: &'a Runs,
    ) -> Ancestry<'a> {
        let (depends_gate, reachable_gate, position) =
            (self.depends_gate, self.reachable_gate, self.position);
        let walks = Walks::default();
        Ancestry { lineage, names, depends, depends_gate, reachable_gate, position, walks }
    }
}

impl Progress {
    fn is_stale(&self, task: &Task, database: &Database, lineage: &Lineage) -> bool {
        let Some(Some(held)) = self.held.get(task.stratum) else { return true };
        (task.edges && held.records != lineage.len()) || !held.from.iter().copied().eq(states(task, database))
    }

    fn note(&mut self, task: &Task, database: &Database, lineage: &Lineage, error: Option<EvalError>) {
        if self.held.len() <= task.stratum {
            self.held.resize(task.stratum + 1, None);
        }
        let held = Held { from: states(task, database).collect(), records: lineage.len(), error };
        self.held.get_mut(task.stratum).into_iter().for_each(|slot| *slot = Some(held.clone()));
    }

    fn error_of(&self, task: &Task) -> Option<&EvalError> {
        self.held.get(task.stratum)?.as_ref()?.error.as_ref()
    }
}

/// The state of each relation that a task looks at.
fn states<'a>(task: &'a Task, database: &'a Database) -> impl Iterator<Item = u64> + 'a {
    task.looks_at.iter().map(|at| database.relations.get(at.0 as usize).map_or(0, Tuples::changes))
}

/// For each rule the plans of later rounds.
fn later(planner: &mut Planner<'_>, kept: &[Kept]) -> Vec<Vec<Plan>> {
    let program = planner.program;
    let stratum_of = stratum_of(program);
    let mut later = Vec::with_capacity(program.rules.len());
    for (id, rule) in (0..).map(RuleId).zip(&program.rules) {
        let head = rule.head.relation.0 as usize;
        let grows = |relation: RelationId| {
            kept.get(head) == Some(&Kept::Grows)
                || stratum_of.get(relation.0 as usize) == stratum_of.get(head)
        };
        let atoms = rule.body.iter().enumerate().filter_map(|(place, literal)| match literal {
            Literal::Positive(atom) if grows(atom.relation) => Some(place),
            Literal::Positive(_) | Literal::Negative(_) | Literal::Test(_) | Literal::Aggregate(_) => None,
        });
        later.push(atoms.map(|place| plan(planner, id, rule, Some(place), &[])).collect());
    }
    later
}

/// Whose firings each relation holds, and which of those rules fire for the whole session.
fn firings(program: &Program, kept: &[Kept]) -> (Vec<Option<usize>>, Vec<usize>) {
    let mut fired = vec![None; program.relations.len()];
    let mut kept_fired = Vec::new();
    for (number, rule) in program.decision_rules.iter().enumerate() {
        let at = rule.fired.0 as usize;
        if rule.kind == DecisionKind::Allow {
            continue;
        }
        fired.get_mut(at).into_iter().for_each(|slot| *slot = Some(number));
        if kept.get(at).is_some_and(|&kept| kept != Kept::Asked) {
            kept_fired.push(number);
        }
    }
    (fired, kept_fired)
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
