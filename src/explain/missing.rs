//! Why a rule did not fire: the first condition that fails, with what was seen there.

use std::collections::BTreeSet;

use crate::engine::{EvalError, Near};
use crate::explain::proof::Builder;
use crate::explain::values::{
    action_numbers, atom_text, condition_text, conditions, is_told_elsewhere, shown, shown_word, site,
    variables, written,
};
use crate::explain::{Binding, Failed, Miss, Shown};
use crate::program::{Atom, Comparison, Literal, Origin, Program, Rule, RuleId, Term, VariableId};
use crate::source::Span;
use crate::value::Word;

/// Rules within rules that are followed.
const DEEPEST: usize = 4;
/// Tuples that are nearly the missing one, and rules that could derive it.
const MOST: usize = 3;
/// Tuples of a relation that are listed where none is near.
const LISTED: usize = 6;
/// Relations that say which action is meant.
const ACTIONS: [&str; 3] = ["Actions", "IsTool", "IsToolCall"];

/// Whether a literal asks which action is meant.
fn asks_for_action(program: &Program, rule: &Rule, literal: &Literal) -> bool {
    let is_action = |term: &Term| match term {
        Term::Variable(id) => rule
            .variables
            .get(id.0 as usize)
            .is_some_and(|variable| program.types.get(variable.type_id).name == "Action"),
        Term::Constant(_) | Term::Wildcard | Term::Construct(..) | Term::Call(_) => false,
    };
    match literal {
        Literal::Positive(atom) => {
            program.schema(atom.relation).is_some_and(|schema| ACTIONS.contains(&schema.name.as_str()))
        }
        Literal::Test(test) => is_action(&test.left) || is_action(&test.right),
        Literal::Negative(_) | Literal::Aggregate(_) => false,
    }
}

impl Builder<'_, '_> {
    /// How near each of these decision rules came, those that are about other actions last.
    pub(crate) fn misses(&mut self, concerned: &[usize]) -> Result<Vec<Miss>, EvalError> {
        let mut misses = Vec::new();
        for &number in concerned {
            let Some(rule) = self.program.decision_rules.get(number) else { continue };
            let columns = self.program.schema(rule.fired).map_or(0, |schema| schema.columns.len());
            let mut known: Vec<Option<Word>> = vec![None; columns];
            if let Some(first) = known.first_mut() {
                *first = Some(Word::unsigned(self.index()));
            }
            let Some(mut miss) = self.nearest(&rule.rules, &known, DEEPEST)? else { continue };
            miss.rule.clone_from(&rule.id);
            misses.push(miss);
        }
        misses.sort_by_key(|miss| miss.elsewhere);
        Ok(misses)
    }

    /// Of these rules the one that came farthest: the one in which most literals hold.
    fn nearest(
        &mut self,
        rules: &[RuleId],
        known: &[Option<Word>],
        deep: usize,
    ) -> Result<Option<Miss>, EvalError> {
        let mut best: Option<(RuleId, Near)> = None;
        for &id in rules {
            if let Some(near) = self.prover.nearest(id, known)?
                && best.as_ref().is_none_or(|(_, best)| near.held.len() > best.held.len())
            {
                best = Some((id, near));
            }
        }
        match best {
            Some((id, near)) => self.miss(id, &near, deep),
            None => Ok(None),
        }
    }

    fn miss(&mut self, id: RuleId, near: &Near, deep: usize) -> Result<Option<Miss>, EvalError> {
        let program = self.program;
        let Some(rule) = program.rules.get(id.0 as usize) else { return Ok(None) };
        let Some(literal) = rule.body.get(near.failed) else { return Ok(None) };
        let groups = conditions(rule);
        let whole = groups.iter().find(|(_, places)| places.contains(&near.failed));
        let span = whole.map_or(literal.span(), |(span, _)| *span);
        let held = groups.iter().filter(|(_, places)| places.iter().all(|place| near.held.contains(place)));
        let held = held.map(|(span, places)| condition_text(program, rule, *span, places)).collect();
        let mut failed = self.failed(rule, literal, near, span, deep)?;
        if let Some((span, places)) = whole {
            failed.text = condition_text(program, rule, *span, places);
        }
        let elsewhere = asks_for_action(program, rule, literal);
        let relation = program.schema(rule.head.relation).map_or("", |schema| schema.name.as_str());
        Ok(Some(Miss {
            rule: relation.to_owned(),
            head: written(program, rule.span),
            site: site(program, rule.span),
            held,
            failed,
            elsewhere,
        }))
    }

    fn failed(
        &mut self,
        rule: &Rule,
        literal: &Literal,
        near: &Near,
        span: Span,
        deep: usize,
    ) -> Result<Failed, EvalError> {
        let program = self.program;
        let mut failed = Failed {
            text: written(program, span),
            site: site(program, span),
            ways: near.ways,
            seen: self.seen(rule, literal, near),
            what: String::new(),
            closest: Vec::new(),
            inner: Vec::new(),
        };
        let Some(first) = near.seen.first().cloned() else { return Ok(failed) };
        match literal {
            Literal::Positive(atom) => {
                let held = near.held.iter().filter_map(|&place| rule.body.get(place));
                let mut bound: BTreeSet<_> = held.flat_map(variables).collect();
                bound.extend(&near.given);
                let known = self.known(atom, &first.values, &bound);
                let text = atom_text(program, self.database(), atom, &known);
                failed.what = format!("there is no {text}");
                self.around(atom, &known, deep, &mut failed)?;
            }
            Literal::Negative(atom) => {
                let words = self.words(atom, &first.values);
                failed.what = format!("there is {}", atom_text(program, self.database(), atom, &words));
            }
            Literal::Test(test) => {
                let valueless = |at: usize, side: &Term| {
                    matches!(side, Term::Call(_)) && first.sides.get(at).copied().flatten().is_none()
                };
                if valueless(0, &test.left) || valueless(1, &test.right) {
                    "it has no value".clone_into(&mut failed.what);
                }
            }
            Literal::Aggregate(_) => {}
        }
        Ok(failed)
    }

    /// The columns of an atom whose values are known before it is tried.
    fn known(&mut self, atom: &Atom, values: &[Word], bound: &BTreeSet<VariableId>) -> Vec<Option<Word>> {
        let mut known = Vec::with_capacity(atom.terms.len());
        for term in &atom.terms {
            let mut read = BTreeSet::new();
            term.variables(&mut read);
            let all = read.iter().all(|variable| bound.contains(variable));
            known.push(if all { self.prover.word(term, values) } else { None });
        }
        known
    }

    /// What is nearly the missing tuple: others of the relation, or rules that could have derived it.
    fn around(
        &mut self,
        atom: &Atom,
        known: &[Option<Word>],
        deep: usize,
        failed: &mut Failed,
    ) -> Result<(), EvalError> {
        let origin = self.program.schema(atom.relation).map(|schema| schema.origin);
        if matches!(origin, Some(Origin::Lineage(_)) | None) {
            return Ok(());
        }
        let is_action =
            self.program.schema(atom.relation).is_some_and(|schema| ACTIONS.contains(&schema.name.as_str()));
        if is_action {
            return Ok(());
        }
        let closest = self.prover.closest(atom.relation, known, MOST);
        for tuple in &closest {
            let words: Vec<_> = tuple.iter().copied().map(Some).collect();
            failed.closest.push(atom_text(self.program, self.database(), atom, &words));
            self.mention_all(atom, tuple);
        }
        failed.closest.sort();
        if closest.is_empty() && deep > 0 {
            let rules: Vec<RuleId> = self.prover.rules_of(atom.relation).to_vec();
            let with_body =
                |id: &RuleId| self.program.rules.get(id.0 as usize).is_some_and(|rule| !rule.body.is_empty());
            let rules: Vec<RuleId> = rules.into_iter().filter(with_body).collect();
            if rules.is_empty() {
                self.others(atom, failed);
            }
            failed.inner.extend(self.nearest(&rules, known, deep - 1)?);
        }
        Ok(())
    }

    /// Some of the tuples that the policy states for a relation.
    fn others(&mut self, atom: &Atom, failed: &mut Failed) {
        let database = self.database();
        let tuples: Vec<Vec<Option<Word>>> = database
            .tuples(atom.relation)
            .take(LISTED + 1)
            .map(|tuple| tuple.iter().copied().map(Some).collect())
            .collect();
        let texts = tuples.iter().take(LISTED).map(|words| atom_text(self.program, database, atom, words));
        failed.closest.extend(texts);
        failed.closest.extend((tuples.len() > LISTED).then(|| "…".to_owned()));
    }

    fn mention_all(&mut self, atom: &Atom, tuple: &[Word]) {
        let columns = self.program.schema(atom.relation).map_or(&[][..], |schema| &schema.columns);
        for (&word, column) in tuple.iter().zip(columns) {
            if let Shown::Record(record) = shown(self.program, self.database(), word, column.type_id) {
                self.records.insert(record);
            }
        }
    }

    /// What was seen at the failing literal: the sides of a comparison, and the records that took part.
    fn seen(&mut self, rule: &Rule, literal: &Literal, near: &Near) -> Vec<Vec<Binding>> {
        let held: Vec<&Literal> = near.held.iter().filter_map(|&place| rule.body.get(place)).collect();
        let mut rows = Vec::new();
        for seen in &near.seen {
            let mut row = Vec::new();
            let mut told = action_numbers(self.program, rule);
            if let Literal::Test(test) = literal {
                self.sides_seen(rule, test, seen.sides, &mut row);
            }
            // Which records these values come from.
            for literal in &held {
                for id in variables(literal) {
                    let (Some(variable), Some(&word)) =
                        (rule.variables.get(id.0 as usize), seen.values.get(id.0 as usize))
                    else {
                        continue;
                    };
                    if variable.name.is_empty() || is_told_elsewhere(self.program, variable.type_id) {
                        continue;
                    }
                    let value = shown(self.program, self.database(), word, variable.type_id);
                    if let Shown::Record(record) = value
                        && told.insert(id)
                    {
                        self.records.insert(record);
                        row.push(Binding { name: variable.name.clone(), value });
                    }
                }
            }
            if !row.is_empty() && !rows.contains(&row) {
                rows.push(row);
            }
        }
        rows
    }

    fn sides_seen(
        &mut self,
        rule: &Rule,
        test: &Comparison,
        sides: [Option<Word>; 2],
        row: &mut Vec<Binding>,
    ) {
        for (term, word) in [&test.left, &test.right].into_iter().zip(sides) {
            let Some(word) = word else { continue };
            let database = self.database();
            let value = shown_word(&database.pool, &database.names, word, test.kind);
            let name = match term {
                Term::Variable(id) => rule
                    .variables
                    .get(id.0 as usize)
                    .map(|variable| variable.name.clone())
                    .unwrap_or_default(),
                Term::Call(call) => written(self.program, call.span),
                Term::Constant(_) | Term::Wildcard | Term::Construct(..) => continue,
            };
            // A call that is the whole literal tells nothing by its own value.
            if name.is_empty() || matches!(term, Term::Call(call) if call.span == test.span) {
                continue;
            }
            if let Shown::Record(record) = value {
                self.records.insert(record);
            }
            row.push(Binding { name, value });
        }
    }
}
