//! Aggregates and stages: steps that look at more than one way at a time.

use crate::engine::join::{Found, Join, Run, Sink};
use crate::engine::meter::Halt;
use crate::engine::plan::{AggregateStep, Pattern, Step};
use crate::engine::tuples::Tuples;
use crate::program::{AggregateFunction, VariableId};
use crate::value::{Kind, Word};

/// Variables and the words they take.
pub(crate) type Binding = Vec<(usize, Word)>;

/// What became of one item of a stage.
enum Outcome {
    Fails,
    Holds,
    Each(Vec<Binding>),
}

impl<'a> Join<'a> {
    /// The bindings that an aggregate's results give: none where it has no value or the value does not fit.
    pub(crate) fn aggregate(&mut self, step: &AggregateStep) -> Result<Vec<Binding>, Halt> {
        let (rows, count) = self.collect(step)?;
        let Some(result) = self.result(step, &rows, count) else { return Ok(Vec::new()) };
        if !self.fits(&step.result, result)? {
            return Ok(Vec::new());
        }
        let mut binding = Binding::new();
        self.bindings_of(&step.result, &mut binding);
        if step.aggregate.witnesses.is_empty() {
            return Ok(vec![binding]);
        }
        let at_extreme = rows.iter().filter(|row| row.first() == Some(&result));
        let mut bindings: Vec<Binding> = Vec::new();
        for row in at_extreme {
            let witnesses = step.aggregate.witnesses.iter().zip(row.get(1..).unwrap_or(&[]));
            let mut all = binding.clone();
            all.extend(witnesses.map(|(&VariableId(slot), &word)| (slot as usize, word)));
            if !bindings.contains(&all) {
                bindings.push(all);
            }
        }
        Ok(bindings)
    }

    /// Runs the body; gives target and witnesses of each row that counts, and how many there are.
    fn collect(&mut self, step: &AggregateStep) -> Result<(Vec<Vec<Word>>, u64), Halt> {
        let aggregate = &step.aggregate;
        let mut seen = aggregate.distinct.as_ref().map(|variables| Tuples::new(variables.len()));
        let mut rows: Vec<Vec<Word>> = Vec::new();
        let mut count = 0_u64;
        // Existence checks are cut short nowhere in an aggregate: every row counts.
        let run = Run::new(&step.steps, usize::MAX);
        let deepest = self.deepest;
        self.run(run, &mut |join| {
            if let (Some(seen), Some(variables)) = (&mut seen, &aggregate.distinct) {
                let key: Vec<Word> = variables.iter().map(|&variable| join.value(variable)).collect();
                if !seen.insert(&key) {
                    return Ok(());
                }
                join.meter.tuple(key.len(), join.head)?;
            }
            let Some(target) = &aggregate.target else {
                count += 1;
                return Ok(());
            };
            let Some(word) = join.term(target)? else { return Ok(()) };
            count += 1;
            let mut row = vec![word];
            row.extend(aggregate.witnesses.iter().map(|&variable| join.value(variable)));
            join.meter.tuple(row.len(), join.head)?;
            rows.push(row);
            Ok(())
        })?;
        self.deepest = deepest;
        Ok((rows, count))
    }

    pub(crate) fn value(&self, variable: VariableId) -> Word {
        self.values.get(variable.0 as usize).copied().unwrap_or_default()
    }

    fn result(&mut self, step: &AggregateStep, rows: &[Vec<Word>], count: u64) -> Option<Word> {
        let kind = step.aggregate.kind;
        let targets = || rows.iter().filter_map(|row| row.first().copied());
        match step.aggregate.function {
            AggregateFunction::Count => i64::try_from(count).ok().map(Word::number),
            AggregateFunction::Min => targets().min_by(|&a, &b| self.compare(kind, a, b)),
            AggregateFunction::Max => targets().max_by(|&a, &b| self.compare(kind, a, b)),
            AggregateFunction::Mean if rows.is_empty() => None,
            #[expect(clippy::cast_precision_loss, reason = "a mean is a float")]
            AggregateFunction::Mean => Some(Word::float(float_sum(targets()) / rows.len() as f64)),
            AggregateFunction::Sum if kind == Kind::Float => Some(Word::float(float_sum(targets()))),
            AggregateFunction::Sum => {
                let sum = match kind {
                    Kind::Unsigned => targets().map(|word| i128::from(word.0)).sum::<i128>(),
                    Kind::Number | Kind::Float | Kind::Symbol | Kind::Compound => {
                        targets().map(|word| i128::from(word.as_number())).sum::<i128>()
                    }
                };
                let word = match kind {
                    Kind::Unsigned => u64::try_from(sum).ok().map(Word::unsigned),
                    Kind::Number | Kind::Float | Kind::Symbol | Kind::Compound => {
                        i64::try_from(sum).ok().map(Word::number)
                    }
                };
                if word.is_none() {
                    self.faults.note(
                        format!("a sum of {sum} does not fit 64 bits"),
                        step.aggregate.span,
                        self.head,
                    );
                }
                word
            }
        }
    }

    /// The words that the variables of a pattern have just taken.
    fn bindings_of(&self, pattern: &Pattern, into: &mut Binding) {
        match pattern {
            Pattern::Bind(variable) => into.push((variable.0 as usize, self.value(*variable))),
            Pattern::Any | Pattern::Equal(_) => {}
            Pattern::Construct(_, fields) => fields.iter().for_each(|field| self.bindings_of(field, into)),
        }
    }

    /// Evaluates every item before any decides, so that no error hides behind a failing neighbour.
    pub(crate) fn stage(&mut self, run: Run<'_>, items: &[Step], sink: &mut Sink<'_, 'a>) -> Found {
        let faults = self.faults.count();
        let mut holds = true;
        let mut choices: Vec<Vec<Binding>> = Vec::new();
        for item in items {
            match self.outcome(item)? {
                Outcome::Fails => holds = false,
                Outcome::Holds => {}
                Outcome::Each(bindings) => choices.push(bindings),
            }
        }
        if !holds || self.faults.count() != faults {
            return Ok(false);
        }
        self.each_combination(run, &choices, sink)
    }

    /// Goes on with one binding of each list, in every combination; they are never listed, as there may be very many.
    fn each_combination(&mut self, run: Run<'_>, choices: &[Vec<Binding>], sink: &mut Sink<'_, 'a>) -> Found {
        let mut places = vec![0_usize; choices.len()];
        let mut found = false;
        let mut more = !choices.iter().any(Vec::is_empty);
        while more {
            self.meter.step(self.head)?;
            for (choice, &place) in choices.iter().zip(&places) {
                for &(slot, word) in choice.get(place).into_iter().flatten() {
                    self.set(slot, word);
                }
            }
            if self.run(run.next(), sink)? {
                found = true;
                if run.enough() {
                    break;
                }
            }
            // The last list turns fastest.
            more = choices.iter().zip(&mut places).rev().any(|(choice, place)| {
                *place += 1;
                let is_there = *place < choice.len();
                if !is_there {
                    *place = 0;
                }
                is_there
            });
        }
        Ok(found)
    }

    fn outcome(&mut self, item: &Step) -> Result<Outcome, Halt> {
        let holds = |holds: bool| if holds { Outcome::Holds } else { Outcome::Fails };
        match item {
            Step::Filter(test) => Ok(holds(self.holds(test)?)),
            Step::Absent { relation, access } => Ok(holds(self.present(*relation, access)? == Some(false))),
            Step::AbsentLineage { relation, patterns } => {
                Ok(holds(!self.lineage_holds(*relation, patterns)?))
            }
            Step::Match { term, pattern } => {
                let Some(word) = self.term(term)? else { return Ok(Outcome::Fails) };
                Ok(Outcome::Each(self.fitting([word], pattern)?))
            }
            Step::Generate { call, pattern } => {
                let words = self.generate(call)?;
                Ok(Outcome::Each(self.fitting(words, pattern)?))
            }
            Step::Aggregate(step) => Ok(Outcome::Each(self.aggregate(step)?)),
            // Atoms raise no error and are never staged; stages hold no stages.
            Step::Scan { .. } | Step::Among(_) | Step::Lineage { .. } | Step::Stage(_) | Step::Counted(_) => {
                Ok(Outcome::Fails)
            }
        }
    }

    fn fitting(
        &mut self,
        words: impl IntoIterator<Item = Word>,
        pattern: &Pattern,
    ) -> Result<Vec<Binding>, Halt> {
        let mut bindings = Vec::new();
        for word in words {
            if self.fits(pattern, word)? {
                let mut binding = Binding::new();
                self.bindings_of(pattern, &mut binding);
                bindings.push(binding);
            }
        }
        Ok(bindings)
    }
}

/// In the order of size, so that the order of rows does not show in the last bit.
fn float_sum(words: impl Iterator<Item = Word>) -> f64 {
    let mut values: Vec<f64> = words.map(Word::as_float).collect();
    values.sort_by(f64::total_cmp);
    // The library's own sum starts at -0.
    values.iter().fold(0.0, |sum, value| sum + value)
}
