//! A firing to the steps that it rests on.

use std::collections::{BTreeMap, BTreeSet};

use crate::decision::{Decision, Verdict};
use crate::engine::{Database, EvalError, Place, Prover, derived};
use crate::explain::path::path;
use crate::explain::values::{
    LONGEST, action_numbers, atom_text, condition_text, conditions, is_told_elsewhere, shown, shown_word,
    site, variables, written,
};
use crate::explain::{
    Binding, Condition, Firing, Ground, Mention, Miss, Proof, Shown, Step, StepId, Subject,
};
use crate::facts::Schema;
use crate::lineage::RecordId;
use crate::program::{
    Atom, Comparison, DecisionKind, DecisionRule, LineageRelation, Literal, Operator, Origin, Piece, Program,
    RelationId, Rule, RuleId, Term, VariableId,
};
use crate::records::{Approval, Graph, RecordKind};
use crate::source::Span;
use crate::value::{Word, legible, visible};

/// Steps of one proof at most.
const MOST_STEPS: usize = 10_000;
/// Rows of an aggregate that are shown.
const ROWS: usize = 3;
/// The prelude is the first text.
const PRELUDE: u32 = 0;

/// What a proof is asked for.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    /// The policy.
    pub(crate) program: &'a Program,
    /// Where host facts are found.
    pub(crate) schema: &'a Schema,
    /// The session.
    pub(crate) graph: &'a Graph,
    /// The records of the call.
    pub(crate) current: &'a [RecordId],
    /// Number of the action.
    pub(crate) index: u64,
    /// The answer of a person that counts for it.
    pub(crate) approval: Option<&'a Approval>,
}

/// Proves the decision from the model.
pub(crate) fn explain(
    asked: &Asked<'_>,
    prover: Prover<'_>,
    subject: Subject,
    decision: Decision,
    concerned: &[usize],
) -> Proof {
    let mut builder = Builder {
        asked,
        program: asked.program,
        prover,
        arguments: &subject.arguments,
        steps: Vec::new(),
        numbers: BTreeMap::new(),
        open: Vec::new(),
        records: BTreeSet::new(),
        plain: BTreeMap::new(),
    };
    let mut fault = String::new();
    let firings = builder.firings(&decision);
    if let Err(error) = builder.follow() {
        fault = error.what;
    }
    let mut misses = builder.misses(concerned).unwrap_or_else(|error| {
        fault = error.what;
        Vec::new()
    });
    if decision.verdict == Verdict::Allow {
        against(&mut misses);
    }
    let asks = |firing: &Firing| matches!(firing.kind, DecisionKind::Ask | DecisionKind::Reason);
    let approval = asked.approval.filter(|_| firings.iter().any(asks)).cloned();
    builder.records.extend(approval.as_ref().and_then(|approval| approval.record));
    let records = builder.mentions();
    let steps = std::mem::take(&mut builder.steps);
    drop(builder);
    Proof { subject, decision, approval, firings, steps, misses, records, fault }
}

/// Of the rules against a call those that came nearest first, those that are about other actions last: one is where what is
/// missing could only be derived from another action.
fn against(misses: &mut [Miss]) {
    for miss in &mut *misses {
        let (mut elsewhere, mut inner) = (miss.elsewhere, &miss.failed.inner);
        while let [only] = inner.as_slice() {
            elsewhere |= only.elsewhere;
            inner = &only.failed.inner;
        }
        miss.elsewhere = elsewhere;
    }
    misses.sort_by_key(|miss| (miss.elsewhere, std::cmp::Reverse(miss.held.len())));
}

/// What a proof is made with.
pub(crate) struct Builder<'a, 'm> {
    asked: &'a Asked<'a>,
    pub(crate) program: &'a Program,
    pub(crate) prover: Prover<'m>,
    /// The arguments of the call, which its heading shows.
    arguments: &'a str,
    steps: Vec<Step>,
    numbers: BTreeMap<Place, StepId>,
    /// Steps whose rule is still to be found.
    open: Vec<(StepId, Place)>,
    pub(crate) records: BTreeSet<RecordId>,
    /// Whether a relation is about the request alone, as the prelude puts it.
    plain: BTreeMap<RelationId, bool>,
}

impl Builder<'_, '_> {
    pub(crate) fn database(&self) -> &Database {
        self.prover.database()
    }

    pub(crate) fn index(&self) -> u64 {
        self.asked.index
    }

    /// The rules that count for the verdict and fired, and a step for each.
    fn firings(&mut self, decision: &Decision) -> Vec<Firing> {
        let program = self.program;
        let counts = |kind: DecisionKind| match kind {
            DecisionKind::Allow => decision.verdict == Verdict::Allow,
            DecisionKind::Deny | DecisionKind::Ask | DecisionKind::Reason => true,
        };
        let mut firings = Vec::new();
        for rule in program.decision_rules.iter().filter(|rule| counts(rule.kind)) {
            let Some((text, place, more)) = self.first(rule) else { continue };
            let step = self.number(place);
            firings.push(Firing { kind: rule.kind, rule: rule.id.clone(), text, step, more });
        }
        firings
    }

    /// The first firing of a rule by what it says, and how many others there are.
    fn first(&self, rule: &DecisionRule) -> Option<(String, Place, usize)> {
        let database = self.database();
        let columns = &self.program.schema(rule.fired)?.columns;
        let index = Word::unsigned(self.asked.index);
        let mut count = 0;
        let mut first: Option<(String, Vec<Word>)> = None;
        for tuple in database.tuples(rule.fired).filter(|tuple| tuple.first() == Some(&index)) {
            count += 1;
            let cells = tuple.iter().zip(columns);
            let texts: Vec<String> = cells
                .map(|(&word, column)| self.program.types.show(word, column.type_id, &database.pool))
                .collect();
            let text = message(rule, &texts, self.program);
            if first.as_ref().is_none_or(|(least, _)| text < *least) {
                first = Some((text, tuple.to_vec()));
            }
        }
        let (text, tuple) = first?;
        Some((text, self.prover.find(rule.fired, &tuple)?, count - 1))
    }

    /// The step of a tuple, which is found later if it is new.
    fn number(&mut self, place: Place) -> StepId {
        if let Some(&step) = self.numbers.get(&place) {
            return step;
        }
        let step = StepId(u32::try_from(self.steps.len()).unwrap_or(u32::MAX));
        self.steps.push(Step::default());
        self.numbers.insert(place, step);
        self.open.push((step, place));
        step
    }

    /// Finds the rules of all steps that are open, and of those that they rest on.
    fn follow(&mut self) -> Result<(), EvalError> {
        while let Some((id, place)) = self.open.pop() {
            let step = match self.prover.step(place) {
                Ok(Some((rule, values))) => self.step(rule, &values, place)?,
                Ok(None) => self.unproved(place, "no rule is found that derives it"),
                Err(error) => {
                    self.put(id, self.unproved(place, &error.what));
                    return Err(error);
                }
            };
            self.put(id, step);
        }
        Ok(())
    }

    fn put(&mut self, id: StepId, step: Step) {
        if let Some(slot) = self.steps.get_mut(id.0 as usize) {
            *slot = step;
        }
    }

    fn unproved(&self, place: Place, fault: &str) -> Step {
        let relation = self.name(place.0);
        Step { head: relation.clone(), relation, fault: fault.to_owned(), ..Step::default() }
    }

    fn name(&self, relation: RelationId) -> String {
        let fired = self.program.decision_rules.iter().find(|rule| rule.fired == relation);
        let written = fired.and_then(|rule| self.program.sources.text(rule.span).split('(').next());
        let declared = || self.program.schema(relation).map_or("", |schema| schema.name.as_str());
        written.map_or_else(declared, str::trim).to_owned()
    }

    fn step(&mut self, id: RuleId, values: &[Word], place: Place) -> Result<Step, EvalError> {
        let program = self.program;
        let Some(rule) = program.rules.get(id.0 as usize) else {
            return Ok(self.unproved(place, "there is no such rule"));
        };
        let mut told = action_numbers(program, rule);
        let mut found = Vec::new();
        for (span, places) in conditions(rule) {
            let condition = self.condition((id, rule), values, place, (span, &places), &mut told)?;
            found.push(condition);
        }
        Ok(Step {
            relation: self.name(place.0),
            head: written(program, rule.span),
            site: site(program, rule.span),
            conditions: found,
            fault: String::new(),
        })
    }

    fn condition(
        &mut self,
        (id, rule): (RuleId, &Rule),
        values: &[Word],
        head: Place,
        (span, places): (Span, &[usize]),
        told: &mut BTreeSet<VariableId>,
    ) -> Result<Condition, EvalError> {
        let program = self.program;
        let mut bindings = Vec::new();
        let mut ground = Ground::Holds;
        for &place in places {
            let Some(literal) = rule.body.get(place) else { continue };
            self.bind(rule, literal, values, told, &mut bindings);
            let own = match literal {
                Literal::Positive(atom) => self.ground(atom, values, head)?,
                Literal::Negative(atom) => {
                    let words = self.words(atom, values);
                    Ground::Absent(atom_text(program, self.database(), atom, &words))
                }
                Literal::Test(test) => {
                    self.sides(test, span, values, &mut bindings);
                    continue;
                }
                Literal::Aggregate(_) => self.rows((id, rule), place, values, told)?,
            };
            // An atom says more than what is compared within it.
            ground = own;
        }
        let text = condition_text(program, rule, span, places);
        Ok(Condition { text, site: site(program, span), values: bindings, ground })
    }

    /// The values of a literal's variables that are new and say something.
    pub(crate) fn bind(
        &mut self,
        rule: &Rule,
        literal: &Literal,
        values: &[Word],
        told: &mut BTreeSet<VariableId>,
        into: &mut Vec<Binding>,
    ) {
        for id in variables(literal) {
            let (Some(variable), Some(&word)) =
                (rule.variables.get(id.0 as usize), values.get(id.0 as usize))
            else {
                continue;
            };
            if variable.name.is_empty()
                || is_told_elsewhere(self.program, variable.type_id)
                || !told.insert(id)
            {
                continue;
            }
            let value = shown(self.program, self.database(), word, variable.type_id);
            if let Shown::Record(record) = value {
                self.records.insert(record);
            }
            if value != Shown::Text(visible(self.arguments, LONGEST)) {
                into.push(Binding { name: variable.name.clone(), value });
            }
        }
    }

    /// The values of calls that are compared with something that is not simply their value.
    fn sides(&mut self, test: &Comparison, span: Span, values: &[Word], into: &mut Vec<Binding>) {
        let named = |term: &Term| matches!(term, Term::Variable(_));
        let constant = |term: &Term| matches!(term, Term::Constant(_));
        if test.operator == Operator::Equal
            && [&test.left, &test.right].into_iter().any(|side| named(side) || constant(side))
        {
            return;
        }
        for side in [&test.left, &test.right] {
            let Term::Call(call) = side else { continue };
            if call.span == span {
                continue;
            }
            if let Some(word) = self.prover.word(side, values) {
                let database = self.database();
                let value = shown_word(&database.pool, &database.names, word, test.kind);
                into.push(Binding { name: written(self.program, call.span), value });
            }
        }
    }

    /// The words of an atom's terms; none for wildcards.
    pub(crate) fn words(&mut self, atom: &Atom, values: &[Word]) -> Vec<Option<Word>> {
        atom.terms.iter().map(|term| self.prover.word(term, values)).collect()
    }

    fn ground(&mut self, atom: &Atom, values: &[Word], head: Place) -> Result<Ground, EvalError> {
        let origin = self.program.schema(atom.relation).map_or(Origin::Host, |schema| schema.origin);
        if let Origin::Lineage(relation) = origin {
            return Ok(self.lineage(relation, atom, values));
        }
        if self.is_plain(atom.relation) {
            return Ok(Ground::Request);
        }
        // A recursive step rests on tuples that were there before it.
        let place = match self.prover.matched(atom, values, self.prover.below(head))? {
            Some(place) => Some(place),
            None => self.prover.matched(atom, values, None)?,
        };
        let Some(place) = place else { return Ok(Ground::Open("the tuple is not found again".to_owned())) };
        if !derived(self.program, atom.relation) {
            self.note(place);
            return Ok(Ground::Session);
        }
        if let Some(fact) = self.fact(place) {
            return Ok(Ground::Fact(site(self.program, fact)));
        }
        if self.steps.len() >= MOST_STEPS && !self.numbers.contains_key(&place) {
            return Ok(Ground::Open(format!("the proof has more than {MOST_STEPS} steps")));
        }
        Ok(Ground::Step(self.number(place)))
    }

    /// Notes the records that a tuple names.
    fn note(&mut self, place: Place) {
        let words = self.prover.tuple(place).to_vec();
        let columns = self.program.schema(place.0).map_or(&[][..], |schema| &schema.columns);
        for (word, column) in words.into_iter().zip(columns) {
            if let Shown::Record(record) = shown(self.program, self.database(), word, column.type_id) {
                self.records.insert(record);
            }
        }
    }

    /// Where the policy states the tuple as a fact.
    fn fact(&self, place: Place) -> Option<Span> {
        let tuple = self.prover.tuple(place);
        self.prover.rules_of(place.0).iter().find_map(|id| {
            let rule = self.program.rules.get(id.0 as usize).filter(|rule| rule.body.is_empty())?;
            let same = rule.head.terms.iter().zip(tuple).all(|(term, &word)| *term == Term::Constant(word));
            same.then_some(rule.span)
        })
    }

    fn lineage(&mut self, relation: LineageRelation, atom: &Atom, values: &[Word]) -> Ground {
        let words = self.words(atom, values);
        let names = &self.database().names;
        let record = |at: usize| {
            words.get(at).copied().flatten().and_then(|word: Word| names.record(word.as_symbol()))
        };
        let ends = match relation {
            LineageRelation::CurrentDepends => record(0).map(|source| (source, None)),
            LineageRelation::Edge | LineageRelation::EdgeData | LineageRelation::ReachableFrom => {
                record(0).zip(record(1)).map(|(source, dest)| (source, Some(dest)))
            }
        };
        let Some((source, dest)) = ends else { return Ground::Session };
        let one = dest.map(|dest| [dest]);
        let last = one.as_ref().map_or(self.asked.current, |dest| dest);
        let way = path(self.asked.graph.lineage(), source, last);
        self.records.extend(&way);
        if way.is_empty() { Ground::Session } else { Ground::Path(way) }
    }

    fn rows(
        &mut self,
        (id, rule): (RuleId, &Rule),
        place: usize,
        values: &[Word],
        told: &BTreeSet<VariableId>,
    ) -> Result<Ground, EvalError> {
        let (count, first) = self.prover.counted(id, place, values, ROWS)?;
        let Some(Literal::Aggregate(aggregate)) = rule.body.get(place) else { return Ok(Ground::Holds) };
        let mut rows = Vec::new();
        for values in &first {
            let (mut told, mut row) = (told.clone(), Vec::new());
            for literal in &aggregate.body {
                self.bind(rule, literal, values, &mut told, &mut row);
            }
            rows.push(row);
        }
        Ok(Ground::Rows(count, rows))
    }

    /// Whether a relation is the prelude's and about the request alone: how it holds is to be seen from the call.
    fn is_plain(&mut self, relation: RelationId) -> bool {
        if let Some(&plain) = self.plain.get(&relation) {
            return plain;
        }
        let (program, schema) = (self.program, self.asked.schema);
        let session: BTreeSet<RelationId> =
            schema.session_facts().into_iter().chain([schema.tool_outcome]).collect();
        let own = |id: RelationId| {
            let declared = program.schema(id);
            let elsewhere = declared.is_none_or(|schema| schema.span.file.0 != PRELUDE);
            let lineage = declared.is_some_and(|schema| matches!(schema.origin, Origin::Lineage(_)));
            elsewhere || lineage || session.contains(&id)
        };
        let needed = program.needed(&[relation]);
        let plain = (0_u32..).zip(needed).filter(|(_, needed)| *needed).all(|(id, _)| !own(RelationId(id)));
        self.plain.insert(relation, plain);
        plain
    }

    fn mentions(&mut self) -> Vec<Mention> {
        let records: Vec<RecordId> = self.records.iter().copied().collect();
        records.into_iter().filter_map(|record| self.mention(record)).collect()
    }

    fn mention(&mut self, id: RecordId) -> Option<Mention> {
        let record = self.asked.graph.records().get(id.0 as usize)?;
        let tool = if record.kind() == RecordKind::Response { self.tool_of(id) } else { String::new() };
        let says = match record.kind() {
            RecordKind::Call => record.tools_json(),
            _ if record.contents().is_empty() => record.metadata().unwrap_or_default(),
            _ => record.contents().into(),
        };
        Some(Mention {
            record: id,
            id: record.id().to_string(),
            event: record.event_number(),
            agent: record.agent().to_owned(),
            kind: record.kind(),
            tool,
            excerpt: visible(&says, LONGEST),
        })
    }

    /// The tool whose answer a record is.
    fn tool_of(&mut self, record: RecordId) -> String {
        let relation = self.asked.schema.tool_output;
        let Some(name) = self.database().names.symbol(record) else { return String::new() };
        let span = self.program.schema(relation).map(|schema| schema.span);
        let Some(span) = span else { return String::new() };
        let terms = vec![Term::Constant(Word::symbol(name)), Term::Wildcard, Term::Wildcard];
        let found = self.prover.matched(&Atom { relation, terms, span }, &[], None);
        let Ok(Some(place)) = found else { return String::new() };
        let tool = self.prover.tuple(place).get(1).copied().unwrap_or_default();
        self.database().pool.text(tool.as_symbol()).to_owned()
    }
}

/// The message of a rule with these values in its columns.
fn message(rule: &DecisionRule, texts: &[String], program: &Program) -> String {
    match (&rule.message, rule.kind) {
        (_, DecisionKind::Reason) => texts.get(2).cloned().unwrap_or_default(),
        (_, DecisionKind::Allow) => String::new(),
        (None, DecisionKind::Deny | DecisionKind::Ask) => rule.default_message(&program.sources),
        (Some(pieces), DecisionKind::Deny | DecisionKind::Ask) => pieces
            .iter()
            .map(|piece| match piece {
                Piece::Text(text) => text.clone(),
                Piece::Value { column, .. } => {
                    legible(texts.get(*column).map_or("", String::as_str), crate::engine::SHOWN)
                }
            })
            .collect(),
    }
}
