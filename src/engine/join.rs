//! One rule over the facts that are there: nested loops through indexes.

use crate::engine::ancestry::Ancestry;
use crate::engine::arithmetic;
use crate::engine::meter::{Faults, Halt, Meter};
use crate::engine::plan::{Access, Pattern, Rows, Step};
use crate::engine::tuples::{Row, Tuples};
use crate::functor::{self, Argument, Cache, Output};
use crate::program::{Arithmetic, Call, Comparison, Function, Operator, Program, RelationId, Term};
use crate::source::Span;
use crate::value::{Kind, Pool, Symbol, Word, legible};

/// A placeholder's value is cut after this many characters.
pub(crate) const SHOWN: usize = 200;
/// A range longer than this is refused.
const LONGEST_RANGE: u64 = 10_000_000;

/// Where the rows of a round end, for one relation.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Window {
    /// Rows below are stable.
    pub(crate) stable: Row,
    /// Rows from `stable` to here are recent; later ones are not seen in this round.
    pub(crate) recent: Row,
}

/// The state of a rule that runs.
pub(crate) struct Join<'a> {
    pub(crate) program: &'a Program,
    pub(crate) relations: &'a [Tuples],
    pub(crate) windows: &'a [Window],
    pub(crate) ancestry: &'a Ancestry<'a>,
    pub(crate) pool: &'a mut Pool,
    pub(crate) cache: &'a mut Cache,
    pub(crate) meter: &'a mut Meter,
    pub(crate) faults: &'a mut Faults,
    /// The relation that the rule derives, named where a budget ends.
    pub(crate) head: RelationId,
    /// Values of the variables.
    pub(crate) values: Vec<Word>,
    /// Keys under construction.
    pub(crate) scratch: Vec<Word>,
    /// How many steps were entered at most, for the question how far a rule came.
    pub(crate) deepest: usize,
}

/// Whether a way through all steps was found.
pub(crate) type Found = Result<bool, Halt>;
/// What is done with each way through all steps.
pub(crate) type Sink<'s, 'a> = dyn FnMut(&mut Join<'a>) -> Result<(), Halt> + 's;

/// Where a run stands: the steps, the next one, and from which on one way is enough.
#[derive(Clone, Copy)]
pub(crate) struct Run<'p> {
    pub(crate) steps: &'p [Step],
    pub(crate) at: usize,
    pub(crate) cut: usize,
}

impl<'p> Run<'p> {
    pub(crate) fn new(steps: &'p [Step], cut: usize) -> Self {
        Self { steps, at: 0, cut }
    }

    pub(crate) fn next(self) -> Self {
        Self { at: self.at + 1, ..self }
    }

    pub(crate) fn enough(self) -> bool {
        self.at >= self.cut
    }

    /// Whether every way counts, as in an aggregate, and not only which tuples come of them.
    pub(crate) fn counts_each(self) -> bool {
        self.cut == usize::MAX
    }
}

impl<'a> Join<'a> {
    /// Runs the steps from `run.at` on; calls `sink` for each way through all of them.
    pub(crate) fn run(&mut self, run: Run<'_>, sink: &mut Sink<'_, 'a>) -> Found {
        self.deepest = self.deepest.max(run.at);
        let Some(step) = run.steps.get(run.at) else {
            sink(self)?;
            return Ok(true);
        };
        match step {
            Step::Scan { relation, rows, access, patterns } => {
                self.scan(run, *relation, *rows, access, patterns, sink)
            }
            Step::Among(step) => self.among(run, step, sink),
            Step::Lineage { relation, patterns, live } => {
                self.lineage(run, *relation, patterns, live.as_deref(), sink)
            }
            Step::Absent { relation, access } => match self.present(*relation, access)? {
                Some(false) => self.run(run.next(), sink),
                Some(true) | None => Ok(false),
            },
            Step::AbsentLineage { relation, patterns } => {
                if self.lineage_holds(*relation, patterns)? {
                    Ok(false)
                } else {
                    self.run(run.next(), sink)
                }
            }
            Step::Filter(test) => match self.holds(test)? {
                true => self.run(run.next(), sink),
                false => Ok(false),
            },
            Step::Match { term, pattern } => match self.term(term)? {
                Some(word) if self.fits(pattern, word)? => self.run(run.next(), sink),
                Some(_) | None => Ok(false),
            },
            Step::Generate { call, pattern } => {
                let words = self.generate(call)?;
                self.each(run, words.into_iter(), pattern, sink)
            }
            Step::Aggregate(step) => {
                let results = self.aggregate(step)?;
                self.each_binding(run, &results, sink)
            }
            Step::Stage(items) => self.stage(run, items, sink),
            Step::Counted(counter) => {
                let before = self.meter.steps();
                let found = self.run(run.next(), sink);
                counter.add(self.meter.steps() - before);
                found
            }
        }
    }

    fn each(
        &mut self,
        run: Run<'_>,
        words: impl Iterator<Item = Word>,
        pattern: &Pattern,
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let mut found = false;
        for word in words {
            self.meter.step(self.head)?;
            if self.fits(pattern, word)? && self.run(run.next(), sink)? {
                found = true;
                if run.enough() {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Goes on from this step once for each set of bindings.
    pub(crate) fn each_binding(
        &mut self,
        run: Run<'_>,
        bindings: &[Vec<(usize, Word)>],
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let mut found = false;
        for binding in bindings {
            self.meter.step(self.head)?;
            for &(slot, word) in binding {
                self.set(slot, word);
            }
            if self.run(run.next(), sink)? {
                found = true;
                if run.enough() {
                    break;
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn set(&mut self, slot: usize, word: Word) {
        if let Some(value) = self.values.get_mut(slot) {
            *value = word;
        }
    }

    pub(crate) fn window(&self, relation: RelationId, rows: Rows) -> (Row, Row) {
        let window = self.windows.get(relation.0 as usize).copied().unwrap_or_default();
        match rows {
            Rows::All => (0, window.recent),
            Rows::Recent => (window.stable, window.recent),
            Rows::Stable => (0, window.stable),
        }
    }

    fn scan(
        &mut self,
        run: Run<'_>,
        relation: RelationId,
        rows: Rows,
        access: &Access,
        patterns: &[(usize, Pattern)],
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let relations = self.relations;
        let Some(tuples) = relations.get(relation.0 as usize) else { return Ok(false) };
        let (from, below) = self.window(relation, rows);
        let mut found = false;
        let Some(mut next) = self.first(tuples, access, from, below)? else { return Ok(false) };
        loop {
            self.meter.step(self.head)?;
            if self.tuple_fits(patterns, tuples.row(next))? && self.run(run.next(), sink)? {
                found = true;
                if run.enough() {
                    break;
                }
            }
            match after(tuples, access, next).filter(|&row| row >= from && row < below) {
                Some(row) => next = row,
                None => break,
            }
        }
        Ok(found)
    }

    /// The first row that the access leads to within the range.
    pub(crate) fn first(
        &mut self,
        tuples: &Tuples,
        access: &Access,
        from: Row,
        below: Row,
    ) -> Result<Option<Row>, Halt> {
        let row = match access {
            Access::Full => Some(from),
            Access::Member(key) => self.with_key(key, |key| tuples.find(key))?,
            Access::Index(index, key) => self.with_key(key, |key| tuples.first(*index, key, below))?,
        };
        Ok(row.filter(|&row| row >= from && row < below))
    }

    fn with_key(&mut self, key: &[Term], look: impl Fn(&[Word]) -> Option<Row>) -> Result<Option<Row>, Halt> {
        let start = self.scratch.len();
        for term in key {
            let Some(word) = self.term(term)? else {
                self.scratch.truncate(start);
                return Ok(None);
            };
            self.scratch.push(word);
        }
        let row = look(self.scratch.get(start..).unwrap_or(&[]));
        self.scratch.truncate(start);
        Ok(row)
    }

    /// Whether a tuple is there; none where the key has no value (a fault was noted).
    pub(crate) fn present(&mut self, relation: RelationId, access: &Access) -> Result<Option<bool>, Halt> {
        let relations = self.relations;
        let Some(tuples) = relations.get(relation.0 as usize) else { return Ok(Some(false)) };
        self.meter.step(self.head)?;
        let faults = self.faults.count();
        let (from, below) = self.window(relation, Rows::All);
        let found = self.first(tuples, access, from, below)?.is_some();
        Ok(if self.faults.count() == faults { Some(found) } else { None })
    }

    pub(crate) fn tuple_fits(&mut self, patterns: &[(usize, Pattern)], tuple: &[Word]) -> Result<bool, Halt> {
        for (column, pattern) in patterns {
            let word = tuple.get(*column).copied().unwrap_or_default();
            if !self.fits(pattern, word)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether a value fits a pattern; binds its variables on the way.
    pub(crate) fn fits(&mut self, pattern: &Pattern, word: Word) -> Result<bool, Halt> {
        match pattern {
            Pattern::Any => Ok(true),
            Pattern::Bind(variable) => {
                self.set(variable.0 as usize, word);
                Ok(true)
            }
            Pattern::Equal(term) => Ok(self.term(term)? == Some(word)),
            Pattern::Construct(constructor, fields) => {
                let (built_with, words) = self.pool.fields(word.as_compound());
                if built_with != *constructor || words.len() != fields.len() {
                    return Ok(false);
                }
                for (at, field) in fields.iter().enumerate() {
                    let (_, words) = self.pool.fields(word.as_compound());
                    let part = words.get(at).copied().unwrap_or_default();
                    if !self.fits(field, part)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
        }
    }

    /// Whether a comparison of bound terms holds. Both sides are evaluated, so that an error on one is met whatever the
    /// other is.
    pub(crate) fn holds(&mut self, test: &Comparison) -> Result<bool, Halt> {
        let (left, right) = (self.term(&test.left)?, self.term(&test.right)?);
        let (Some(left), Some(right)) = (left, right) else { return Ok(false) };
        if test.kind == Kind::Float {
            let (left, right) = (left.as_float(), right.as_float());
            return Ok(match test.operator {
                Operator::Equal => left == right,
                Operator::NotEqual => left != right,
                Operator::Less => left < right,
                Operator::LessOrEqual => left <= right,
                Operator::Greater => left > right,
                Operator::GreaterOrEqual => left >= right,
            });
        }
        Ok(match test.operator {
            Operator::Equal => left == right,
            Operator::NotEqual => left != right,
            Operator::Less => self.compare(test.kind, left, right).is_lt(),
            Operator::LessOrEqual => self.compare(test.kind, left, right).is_le(),
            Operator::Greater => self.compare(test.kind, left, right).is_gt(),
            Operator::GreaterOrEqual => self.compare(test.kind, left, right).is_ge(),
        })
    }

    /// Order of two values: numbers by value, texts by code point.
    pub(crate) fn compare(&self, kind: Kind, left: Word, right: Word) -> std::cmp::Ordering {
        match kind {
            Kind::Number => left.as_number().cmp(&right.as_number()),
            Kind::Unsigned | Kind::Compound => left.0.cmp(&right.0),
            Kind::Float => left.as_float().total_cmp(&right.as_float()),
            Kind::Symbol => self.pool.text(left.as_symbol()).cmp(self.pool.text(right.as_symbol())),
        }
    }

    /// The value of a bound term; none where a partial functor has none, or where a fault was noted.
    pub(crate) fn term(&mut self, term: &Term) -> Result<Option<Word>, Halt> {
        match term {
            Term::Variable(variable) => Ok(self.values.get(variable.0 as usize).copied()),
            Term::Constant(word) => Ok(Some(*word)),
            Term::Wildcard => Ok(None),
            Term::Construct(constructor, fields) => {
                let start = self.scratch.len();
                let complete = self.push_all(fields)?;
                let fields = self.scratch.get(start..).unwrap_or(&[]);
                let value = complete.then(|| Word::compound(self.pool.compound(*constructor, fields)));
                self.scratch.truncate(start);
                self.meter.pool(self.pool.bytes(), self.head)?;
                Ok(value)
            }
            Term::Call(call) => self.call(call),
        }
    }

    /// Pushes the values of all terms, also after one has none, so that every fault is met.
    fn push_all(&mut self, terms: &[Term]) -> Result<bool, Halt> {
        let mut complete = true;
        for term in terms {
            match self.term(term)? {
                Some(word) => self.scratch.push(word),
                None => complete = false,
            }
        }
        Ok(complete)
    }

    fn call(&mut self, call: &Call) -> Result<Option<Word>, Halt> {
        let start = self.scratch.len();
        let complete = self.push_all(&call.arguments)?;
        let value = if complete { self.apply(call, start)? } else { None };
        self.scratch.truncate(start);
        Ok(value)
    }

    fn argument(&self, start: usize, at: usize) -> Word {
        self.scratch.get(start + at).copied().unwrap_or_default()
    }

    fn apply(&mut self, call: &Call, start: usize) -> Result<Option<Word>, Halt> {
        let first = self.argument(start, 0);
        match call.function {
            Function::Functor { id, .. } => {
                let arguments = arguments(self.pool, self.scratch.get(start..).unwrap_or(&[]), &call.kinds);
                match functor::call(id, &arguments, self.cache) {
                    Ok(output) => output.map(|output| self.intern(output)).transpose(),
                    Err(fault) => Ok(self.fault(call.span, fault.to_string())),
                }
            }
            Function::Arithmetic(operator, Kind::Symbol) => {
                let second = self.argument(start, 1);
                let smaller = self.compare(Kind::Symbol, first, second).is_le();
                Ok(Some(if smaller == (operator == Arithmetic::Min) { first } else { second }))
            }
            Function::Arithmetic(operator, kind) => {
                match arithmetic::apply(operator, kind, first, self.argument(start, 1)) {
                    Ok(word) => Ok(Some(word)),
                    Err(fault) => Ok(self.fault(call.span, fault)),
                }
            }
            Function::Cast(from, to) => match cast(first, from, to) {
                Ok(word) => Ok(Some(word)),
                Err(fault) => Ok(self.fault(call.span, fault)),
            },
            Function::Show(type_id) => {
                let text = legible(&self.program.types.show(first, type_id, self.pool), SHOWN);
                self.intern(Output::Text(text)).map(Some)
            }
            // A generator in a place for one value; the checker keeps it out.
            Function::Range(_) => Ok(None),
        }
    }

    /// Notes an evaluation error; the literal then has no value.
    fn fault(&mut self, span: Span, what: String) -> Option<Word> {
        self.faults.note(what, span, self.head);
        None
    }

    /// All values of a generator.
    pub(crate) fn generate(&mut self, call: &Call) -> Result<Vec<Word>, Halt> {
        let start = self.scratch.len();
        let complete = self.push_all(&call.arguments)?;
        let words = if complete { self.generate_from(call, start)? } else { Vec::new() };
        self.scratch.truncate(start);
        Ok(words)
    }

    fn generate_from(&mut self, call: &Call, start: usize) -> Result<Vec<Word>, Halt> {
        match call.function {
            Function::Functor { id, .. } => {
                let arguments = arguments(self.pool, self.scratch.get(start..).unwrap_or(&[]), &call.kinds);
                match functor::generate(id, &arguments, self.cache) {
                    Ok(outputs) => outputs.into_iter().map(|output| self.intern(output)).collect(),
                    Err(fault) => {
                        self.fault(call.span, fault.to_string());
                        Ok(Vec::new())
                    }
                }
            }
            Function::Range(kind) => {
                let step = (call.arguments.len() > 2).then(|| self.argument(start, 2));
                match range(kind, self.argument(start, 0), self.argument(start, 1), step) {
                    Ok(words) => Ok(words),
                    Err(fault) => {
                        self.fault(call.span, fault);
                        Ok(Vec::new())
                    }
                }
            }
            Function::Arithmetic(..) | Function::Cast(..) | Function::Show(_) => Ok(Vec::new()),
        }
    }

    fn intern(&mut self, output: Output) -> Result<Word, Halt> {
        Ok(match output {
            Output::Number(value) => Word::number(value),
            Output::Unsigned(value) => Word::unsigned(value),
            Output::Float(value) => Word::float(value),
            Output::Text(text) => {
                let symbol = self.pool.symbol(&text);
                self.meter.pool(self.pool.bytes(), self.head)?;
                Word::symbol(symbol)
            }
        })
    }
}

/// The row that the access leads to after that one.
pub(crate) fn after(tuples: &Tuples, access: &Access, row: Row) -> Option<Row> {
    match access {
        Access::Full => Some(row + 1),
        Access::Member(_) => None,
        Access::Index(index, _) => tuples.following(*index, row),
    }
}

fn arguments<'p>(pool: &'p Pool, words: &[Word], kinds: &[Kind]) -> Vec<Argument<'p>> {
    let argument = |(&word, &kind): (&Word, &Kind)| match kind {
        Kind::Number => Argument::Number(word.as_number()),
        Kind::Unsigned => Argument::Unsigned(word.0),
        Kind::Float => Argument::Float(word.as_float()),
        Kind::Symbol => text(pool, word.as_symbol()),
        // No functor takes a record; the checker keeps it out.
        Kind::Compound => Argument::Unsigned(word.0),
    };
    words.iter().zip(kinds).map(argument).collect()
}

fn text(pool: &Pool, symbol: Symbol) -> Argument<'_> {
    Argument::Text(pool.text(symbol), symbol)
}

fn cast(word: Word, from: Kind, to: Kind) -> Result<Word, String> {
    let misfit = |shown: String, to: &str| Err(format!("{shown} is no {to}"));
    match (from, to) {
        (Kind::Number, Kind::Unsigned) if word.as_number() < 0 => {
            misfit(word.as_number().to_string(), "unsigned")
        }
        (Kind::Unsigned, Kind::Number) if i64::try_from(word.0).is_err() => {
            misfit(word.0.to_string(), "number")
        }
        _ => Ok(word),
    }
}

/// `range(a, b)` counts from a up to but not including b, or down if b is smaller; a step of 0 is a fault.
fn range(kind: Kind, from: Word, to: Word, step: Option<Word>) -> Result<Vec<Word>, String> {
    if kind == Kind::Float {
        return float_range(from.as_float(), to.as_float(), step.map(Word::as_float));
    }
    let wide = |word: Word| match kind {
        Kind::Number => Ok(i128::from(word.as_number())),
        Kind::Unsigned => Ok(i128::from(word.0)),
        Kind::Float | Kind::Symbol | Kind::Compound => {
            Err("a range of values that are no numbers".to_owned())
        }
    };
    let (from, to) = (wide(from)?, wide(to)?);
    let step = step.map_or(Ok(if to < from { -1 } else { 1 }), wide)?;
    if step == 0 {
        return Err("a range with step 0".to_owned());
    }
    let count =
        if (to > from) == (step > 0) { (to - from).unsigned_abs().div_ceil(step.unsigned_abs()) } else { 0 };
    if count > u128::from(LONGEST_RANGE) {
        return Err(format!("a range of {count} numbers; {LONGEST_RANGE} is the most"));
    }
    let values =
        std::iter::successors(Some(from), |&at| Some(at + step)).take(usize::try_from(count).unwrap_or(0));
    values
        .map(|value| match kind {
            Kind::Unsigned => {
                u64::try_from(value).map(Word::unsigned).map_err(|_| "a range below 0".to_owned())
            }
            _ => i64::try_from(value).map(Word::number).map_err(|_| "a range past 64 bits".to_owned()),
        })
        .collect()
}

/// Each value is the one before and a step, rounded as doubles are.
fn float_range(from: f64, to: f64, step: Option<f64>) -> Result<Vec<Word>, String> {
    let step = step.unwrap_or(if to < from { -1.0 } else { 1.0 });
    if !(from.is_finite() && to.is_finite() && step.is_finite()) || step == 0.0 {
        return Err(format!("a range from {from} to {to} with step {step}"));
    }
    let (mut values, mut at) = (Vec::new(), from);
    while if step > 0.0 { at < to } else { at > to } {
        values.push(Word::float(at));
        if values.len() as u64 > LONGEST_RANGE {
            return Err(format!("a range of more than {LONGEST_RANGE} numbers"));
        }
        at += step;
    }
    Ok(values)
}
