//! One check of a session: what is new becomes facts, then the request, then the model, then the decision.

use std::sync::Arc;

use crate::decision::{self, Decision, Judged, Question, ReasonKind, Verdict};
use crate::engine::{Agenda, Database, EvalError, Moment, Progress, Prover};
use crate::explain::{self, Proof};
use crate::facts::{self, Asked, Projected};
use crate::lineage::RecordId;
use crate::monitor::{Policy, Rows, Settings};
use crate::program::types::Datum;
use crate::program::{DecisionKind, RelationId};
use crate::records::Graph;
use crate::value::Word;

/// Texts of requests, in bytes, that may stay from check to check until the session goes on.
const KEPT_TEXTS: usize = 1 << 20;

/// What is kept of a session from check to check.
#[derive(Debug)]
pub(crate) struct Model {
    database: Database,
    projected: Projected,
    progress: Progress,
    /// The records that `Current` holds; kept, since the calls of one event share them.
    shown: Vec<RecordId>,
    /// The list that they came from.
    shown_list: Option<Arc<[RecordId]>>,
    /// The end of what belongs to the session. Texts of actions stand above it, so that one that is asked about again is
    /// not read again.
    session: Option<(Moment, usize)>,
    /// The actions of the check.
    actions: Vec<Word>,
}

/// Which facts of a request are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// Those that a rule reads.
    Read,
    All,
}

/// What one check is about.
pub(crate) struct Check<'a> {
    pub(crate) current: Current<'a>,
    pub(crate) asking: Vec<Asking<'a>>,
    /// One for each action.
    pub(crate) questions: Vec<Question<'a>>,
    pub(crate) clock: Option<&'a str>,
}

/// What an action was computed from.
pub(crate) enum Current<'a> {
    /// Records of the session, the same list for all calls of one event.
    Recorded(&'a Arc<[RecordId]>),
    /// Ids, recorded or not.
    Named(&'a [String]),
}

/// An action with what is known of it.
pub(crate) struct Asking<'a> {
    pub(crate) asked: Asked<'a>,
    pub(crate) metadata: &'a [[String; 3]],
    /// The record of the very call, where it is known.
    pub(crate) record: Option<RecordId>,
}

/// A session that is about to judge.
pub(crate) struct Judging<'a> {
    pub(crate) policy: &'a Policy,
    pub(crate) settings: &'a Settings,
    pub(crate) graph: &'a Graph,
    pub(crate) model: &'a mut Model,
}

impl Model {
    /// Nothing but what is the same for the whole session.
    pub(crate) fn new(policy: &Policy, settings: &Settings) -> Self {
        let (schema, mut database) = (&policy.schema, policy.engine.database());
        if let Some(stop) = &settings.stop {
            database.heed(stop.clone());
        }
        for row in &settings.metadata {
            let tuple = row.each_ref().map(|text| database.text(text));
            database.insert(schema.policy_metadata, &tuple);
        }
        let caller = &settings.caller;
        let one = [
            (schema.principal, &caller.principal),
            (schema.entity, &caller.entity),
            (schema.tenant, &caller.tenant),
        ];
        for (relation, value) in one {
            if let Some(value) = value {
                let tuple = [database.text(value)];
                database.insert(relation, &tuple);
            }
        }
        if let Some(principal) = &caller.principal {
            for role in &caller.roles {
                let tuple = [database.text(principal), database.text(role)];
                database.insert(schema.principal_role, &tuple);
            }
        }
        let (projected, progress) = (Projected::default(), Progress::default());
        Self {
            database,
            projected,
            progress,
            shown: Vec::new(),
            shown_list: None,
            session: None,
            actions: Vec::new(),
        }
    }
}

impl<'a> Judging<'a> {
    /// One decision for each action.
    pub(crate) fn decide(&mut self, check: &Check<'_>) -> Vec<Decision> {
        let agenda = self.agenda(check);
        self.begin(agenda, &self.policy.needed, &check.current)
            .and_then(|()| {
                let moment = self.ask(check, Wanted::Read);
                let result = self.judge(agenda, &check.questions);
                self.model.database.reset(moment);
                result
            })
            .unwrap_or_else(|error| {
                let denied = decision::denied_by_error(&self.policy.program, &error);
                vec![denied; check.questions.len()]
            })
    }

    fn judge(&mut self, agenda: &Agenda, questions: &[Question<'_>]) -> Result<Vec<Decision>, EvalError> {
        self.evaluate(agenda)?;
        let mut judged = Judged {
            program: &self.policy.program,
            engine: &self.policy.engine,
            roots: &self.policy.roots,
            agenda,
            database: &mut self.model.database,
            lineage: self.graph.lineage(),
            budget: self.settings.budget,
        };
        decision::decide(&mut judged, questions)
    }

    /// The rows of relations as the check sees them.
    pub(crate) fn rows(
        &mut self,
        check: &Check<'_>,
        relations: &[RelationId],
    ) -> Result<Vec<Rows>, EvalError> {
        let policy = self.policy;
        // What grows is fed with one agenda alone, and is derived with the request where that has it not.
        let mut agenda = policy.engine.agenda(&policy.program, relations);
        agenda.feed_as(policy.agendas.all());
        self.begin(&agenda, &policy.program.needed(relations), &check.current)?;
        let moment = self.ask(check, Wanted::All);
        let result =
            self.evaluate(&agenda).map(|()| relations.iter().map(|&relation| self.read(relation)).collect());
        self.model.database.reset(moment);
        result
    }

    /// Judges a check of one action, and explains it from the model.
    pub(crate) fn explain(
        &mut self,
        check: &Check<'_>,
        current: &[RecordId],
        subject: explain::Subject,
    ) -> Proof {
        self.prove(check, current, subject.clone()).unwrap_or_else(|error| {
            Proof::of_fault(subject, decision::denied_by_error(&self.policy.program, &error))
        })
    }

    fn prove(
        &mut self,
        check: &Check<'_>,
        current: &[RecordId],
        subject: explain::Subject,
    ) -> Result<Proof, EvalError> {
        let Policy { program, engine, schema, agendas, needed, .. } = self.policy;
        // What is read in a proof has to be complete, and a proof names the tool of each answer.
        let all: Vec<RelationId> =
            (0..).map(RelationId).zip(needed).filter(|(_, needed)| **needed).map(|(id, _)| id).collect();
        let mut agenda = engine.agenda(program, &all);
        agenda.feed_as(agendas.all());
        let mut filled = needed.clone();
        filled.get_mut(schema.tool_output.0 as usize).into_iter().for_each(|slot| *slot = true);
        self.begin(&agenda, &filled, &check.current)?;
        let moment = self.ask(check, Wanted::All);
        let proof = self.proof(check, &agenda, current, subject);
        self.model.database.reset(moment);
        proof
    }

    fn proof(
        &mut self,
        check: &Check<'_>,
        agenda: &Agenda,
        current: &[RecordId],
        subject: explain::Subject,
    ) -> Result<Proof, EvalError> {
        let Policy { program, engine, schema, .. } = self.policy;
        let decision = self.judge(agenda, &check.questions)?.into_iter().next();
        let decision = decision.unwrap_or_else(|| Decision::fault("the policy gave no decision".to_owned()));
        let not_allowed = decision.reasons.iter().any(|reason| reason.kind == ReasonKind::NotAllowed);
        let allows = program.decision_rules.iter().enumerate();
        let allows = allows.filter(|(_, rule)| not_allowed && rule.kind == DecisionKind::Allow);
        let mut concerned: Vec<usize> = allows.map(|(number, _)| number).collect();
        if decision.verdict == Verdict::Allow {
            let rules = program.decision_rules.iter().enumerate();
            let against = rules.filter(|(_, rule)| rule.kind != DecisionKind::Allow);
            concerned = against.map(|(number, _)| number).collect();
        }
        let approval = check.questions.first().and_then(|question| question.approval);
        if let Some(question) = check.questions.first() {
            let nearer = decision::concerning(program, question, &mut self.model.database.cache);
            if !nearer.is_empty() && not_allowed {
                concerned = nearer;
            }
        }
        let (graph, budget) = (self.graph, self.settings.budget);
        let asked = explain::Asked { program, schema, graph, current, index: 0, approval };
        let prover = Prover::new(engine, program, &mut self.model.database, graph.lineage(), budget);
        Ok(explain::explain(&asked, prover, subject, decision, &concerned))
    }

    /// What has to be run for the decision.
    fn agenda(&self, check: &Check<'_>) -> &'a Agenda {
        let Policy { program, engine, schema, agendas, .. } = self.policy;
        let [Asking { asked, .. }] = check.asking.as_slice() else { return agendas.all() };
        let (constructor, first) = match *asked {
            Asked::CallTool { tool, .. } => (schema.call_tool, tool),
            Asked::HttpRequest { url, .. } => (schema.http_request, url),
            Asked::Send(_) => return agendas.all(),
        };
        agendas.of_one(engine, program, &self.model.database.pool, (constructor, first))
    }

    /// Brings what belongs to the session up to date.
    fn begin(&mut self, agenda: &Agenda, needed: &[bool], current: &Current<'_>) -> Result<(), EvalError> {
        let Policy { program, engine, schema, .. } = self.policy;
        let (lineage, budget) = (self.graph.lineage(), self.settings.budget);
        if self.model.projected.is_behind(self.graph, needed) {
            self.forget();
            let Model { database, projected, .. } = &mut *self.model;
            facts::project(schema, self.graph, database, projected, needed);
        }
        if engine.is_stale(agenda, &self.model.database, lineage, &self.model.progress) {
            self.forget();
            let Model { database, progress, .. } = &mut *self.model;
            engine.feed(program, database, lineage, progress, agenda, budget)?;
        }
        self.show(current);
        Ok(())
    }

    /// Takes back the texts of actions: what comes now belongs to the session.
    fn forget(&mut self) {
        if let Some((moment, _)) = self.model.session.take() {
            self.model.database.forget(moment);
        }
    }

    /// Lets `Current` hold the records of the check, unless it does already. Ids that are not recorded come with the
    /// request.
    fn show(&mut self, current: &Current<'_>) {
        let model = &mut *self.model;
        match current {
            Current::Recorded(list) => {
                if model.shown_list.as_ref().is_some_and(|shown| Arc::ptr_eq(shown, list)) {
                    return;
                }
                model.show(self.policy, list);
                model.shown_list = Some(Arc::clone(list));
            }
            Current::Named(ids) => {
                let records: Vec<RecordId> = ids.iter().filter_map(|id| self.graph.record_of(id)).collect();
                if records != model.shown {
                    model.show(self.policy, &records);
                    model.shown_list = None;
                }
            }
        }
    }

    fn evaluate(&mut self, agenda: &Agenda) -> Result<(), EvalError> {
        let Policy { program, engine, .. } = self.policy;
        let (lineage, budget) = (self.graph.lineage(), self.settings.budget);
        engine.evaluate(program, &mut self.model.database, lineage, agenda, budget)
    }

    /// Adds the facts of a request. They last until the database is reset to the moment.
    fn ask(&mut self, check: &Check<'_>, wanted: Wanted) -> Moment {
        let Policy { schema, reads_clock, reads_action_record, .. } = self.policy;
        let bytes = self.model.database.pool.bytes();
        if self.model.session.is_some_and(|(_, before)| bytes > before + KEPT_TEXTS) {
            self.forget();
        }
        let Model { database, session, actions, .. } = &mut *self.model;
        session.get_or_insert_with(|| (database.moment(), bytes));
        actions.clear();
        actions.extend(check.asking.iter().map(|asking| facts::action(schema, database, asking.asked)));
        let moment = database.moment();
        if let Current::Named(ids) = &check.current {
            for id in ids.iter().filter(|id| self.graph.record_of(id).is_none()) {
                let tuple = [database.text(id)];
                database.insert(schema.current, &tuple);
            }
        }
        let all = wanted == Wanted::All;
        for ((index, asking), &action) in (0_u64..).zip(&check.asking).zip(&*actions) {
            facts::ask(schema, database, index, action, asking.metadata);
            let record = asking.record.filter(|_| all || *reads_action_record);
            if let Some(record) = record.and_then(|record| database.names.symbol(record)) {
                database.insert(schema.action_record, &[Word::unsigned(index), Word::symbol(record)]);
            }
        }
        if let Some(clock) = check.clock.filter(|_| all || *reads_clock) {
            let tuple = [database.text(clock)];
            database.insert(schema.clock, &tuple);
        }
        moment
    }

    /// The rows of a relation in the model that is there. Relations that the lineage answers are listed by it.
    fn read(&mut self, relation: RelationId) -> Rows {
        let Policy { program, engine, .. } = self.policy;
        let columns = program.schema(relation).map_or(&[][..], |schema| &schema.columns);
        let database = &mut self.model.database;
        let tuples = engine.list(program, database, self.graph.lineage(), relation);
        let mut rows: Vec<Vec<Datum>> = tuples
            .iter()
            .map(|tuple| {
                let cells = tuple.iter().zip(columns);
                cells
                    .map(|(&word, column)| program.types.datum(word, column.type_id, &database.pool))
                    .collect()
            })
            .collect();
        rows.sort_by(|a, b| Datum::order_all(a, b));
        rows.dedup();
        Rows { relation, rows }
    }
}

impl Model {
    fn show(&mut self, policy: &Policy, records: &[RecordId]) {
        let relation = policy.schema.current;
        self.database.clear(relation);
        for &record in records {
            if let Some(id) = self.database.names.symbol(record) {
                self.database.insert(relation, &[Word::symbol(id)]);
            }
        }
        self.shown.clear();
        self.shown.extend_from_slice(records);
    }
}
