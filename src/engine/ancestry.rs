//! The relations that the lineage of a session answers: `Edge`, `EdgeData`, `CurrentDepends`, `ReachableFrom`.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use crate::engine::join::{Found, Join, Run, Sink};
use crate::engine::links::Links;
use crate::engine::meter::Halt;
use crate::engine::plan::Pattern;
use crate::engine::walk::{Next, Scope, Walk, Walks};
use crate::lineage::{Lineage, RecordId, Runs};
use crate::program::{LineageRelation, RelationId, Term, VariableId};
use crate::value::{ConstructorId, Symbol, Word};

/// Stands where a symbol names no record.
const NO_RECORD: RecordId = RecordId(u32::MAX);

/// Ids of records as texts, both ways.
#[derive(Debug, Default)]
pub struct RecordNames {
    symbols: Vec<Symbol>,
    /// The symbol that `records` begins with: that of the first record.
    first: u32,
    /// The record that a symbol names, by symbol; [`NO_RECORD`] for another text.
    records: Vec<RecordId>,
    /// Records whose names were texts before the first record came.
    early: BTreeMap<Symbol, RecordId>,
    /// What came of each record; made when a policy first asks.
    links: Mutex<Arc<Links>>,
}

impl RecordNames {
    /// Names the next record.
    pub fn push(&mut self, symbol: Symbol) {
        let id = RecordId(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        self.symbols.push(symbol);
        if self.records.is_empty() {
            self.first = symbol.0;
        }
        let Some(at) = symbol.0.checked_sub(self.first) else {
            self.early.insert(symbol, id);
            return;
        };
        let at = at as usize;
        self.records.resize(self.records.len().max(at + 1), NO_RECORD);
        if let Some(record) = self.records.get_mut(at) {
            *record = id;
        }
    }

    /// Number of records named.
    #[must_use]
    pub fn len(&self) -> usize {
        self.symbols.len()
    }

    /// Whether no record is named.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.symbols.is_empty()
    }

    /// The record of that name.
    #[must_use]
    pub fn record(&self, symbol: Symbol) -> Option<RecordId> {
        match symbol.0.checked_sub(self.first) {
            Some(at) => self.records.get(at as usize).copied().filter(|&record| record != NO_RECORD),
            None => self.early.get(&symbol).copied(),
        }
    }

    /// The name of a record.
    #[must_use]
    pub fn symbol(&self, record: RecordId) -> Option<Symbol> {
        self.symbols.get(record.0 as usize).copied()
    }

    fn links(&self, lineage: &Lineage) -> Arc<Links> {
        let mut links = self.links.lock().unwrap_or_else(PoisonError::into_inner);
        if !links.is_current(lineage) {
            Arc::make_mut(&mut links).follow(lineage);
        }
        Arc::clone(&links)
    }
}

/// What a check needs of the lineage.
#[derive(Debug)]
pub(crate) struct Ancestry<'a> {
    pub(crate) lineage: &'a Lineage,
    pub(crate) names: &'a RecordNames,
    /// Every proper ancestor of a `Current` record.
    pub(crate) depends: &'a Runs,
    /// The relation whose tuple lets `CurrentDepends` have tuples.
    pub(crate) depends_gate: Option<RelationId>,
    /// The relation whose tuple lets `ReachableFrom` have tuples.
    pub(crate) reachable_gate: Option<RelationId>,
    /// Builds the third column of `EdgeData`.
    pub(crate) position: ConstructorId,
    /// What the walks of one run of a plan share.
    pub(crate) walks: Walks,
}

impl Ancestry<'_> {
    pub(crate) fn links(&self) -> &Links {
        self.walks.links.get_or_init(|| self.names.links(self.lineage))
    }
}

/// What is asked of a lineage relation.
#[derive(Clone, Copy)]
struct Question<'p> {
    relation: LineageRelation,
    patterns: &'p [Pattern],
    scope: Scope,
    /// Whether tuples are wanted that differ only in what no pattern binds.
    whole: bool,
}

impl Question<'_> {
    /// Whether one source is as good as all.
    fn any_source(&self) -> bool {
        !self.whole && self.patterns.first() == Some(&Pattern::Any)
    }
}

/// What is done with a tuple.
type Each<'e, 'a> = dyn FnMut(&mut Join<'a>, &[Word]) -> Result<ControlFlow<()>, Halt> + 'e;
/// Whether more tuples are wanted.
type More = Result<ControlFlow<()>, Halt>;

const MORE: More = Ok(ControlFlow::Continue(()));

/// A column: free, or a record, or a name that no record has.
type Bound = Option<Option<RecordId>>;

impl<'a> Join<'a> {
    pub(crate) fn lineage(
        &mut self,
        run: Run<'_>,
        relation: LineageRelation,
        patterns: &[Pattern],
        live: Option<&[VariableId]>,
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let scope = live.map_or(Scope::Own, |live| self.scope(run.at, live));
        let whole = run.counts_each();
        // All tuples lead to the same where no column binds anything.
        let one =
            !whole && patterns.iter().all(|pattern| matches!(pattern, Pattern::Any | Pattern::Equal(_)));
        let mut found = false;
        let question = Question { relation, patterns, scope, whole };
        let _all = self.each_tuple(question, &mut |join, _| {
            let holds = join.run(run.next(), sink)?;
            found |= holds;
            Ok(if one || (holds && run.enough()) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            })
        })?;
        Ok(found)
    }

    fn scope(&mut self, step: usize, live: &[VariableId]) -> Scope {
        let start = self.scratch.len();
        for &variable in live {
            let word = self.value(variable);
            self.scratch.push(word);
        }
        let scope = self.ancestry.walks.scope(step, self.scratch.get(start..).unwrap_or(&[]));
        self.scratch.truncate(start);
        scope
    }

    pub(crate) fn lineage_holds(
        &mut self,
        relation: LineageRelation,
        patterns: &[Pattern],
    ) -> Result<bool, Halt> {
        let question = Question { relation, patterns, scope: Scope::Own, whole: false };
        Ok(self.each_tuple(question, &mut |_, _| Ok(ControlFlow::Break(())))?.is_break())
    }

    /// Tuples of the relation that fit the patterns.
    pub(crate) fn matches(
        &mut self,
        relation: LineageRelation,
        patterns: &[Pattern],
    ) -> Result<impl Iterator<Item = Vec<Word>> + use<>, Halt> {
        let mut tuples = Vec::new();
        let question = Question { relation, patterns, scope: Scope::Own, whole: true };
        let _all = self.each_tuple(question, &mut |_, tuple| {
            tuples.push(tuple.to_vec());
            MORE
        })?;
        Ok(tuples.into_iter())
    }

    /// Calls `each` for the tuples that fit the patterns; with a shared scope, for those that the scope has not seen.
    /// A bound column narrows the walk: an id is looked up, never searched for.
    fn each_tuple(&mut self, question: Question<'_>, each: &mut Each<'_, 'a>) -> More {
        let ancestry = self.ancestry;
        let first = self.bound(question.patterns, 0)?;
        let second = self.bound(question.patterns, 1)?;
        if first == Some(None) || second == Some(None) {
            return MORE;
        }
        let (first, second) = (first.flatten(), second.flatten());
        match question.relation {
            LineageRelation::CurrentDepends if !self.holds_gate(ancestry.depends_gate) => MORE,
            LineageRelation::ReachableFrom if !self.holds_gate(ancestry.reachable_gate) => MORE,
            LineageRelation::CurrentDepends => self.depends(question, first, each),
            LineageRelation::ReachableFrom => match (first, second) {
                (first, Some(dest)) => self.reachable_to(question, first, dest, each),
                (Some(source), None) => self.reachable_from(question, source, each),
                (None, None) => {
                    for dest in ancestry.depends.iter() {
                        if self.reachable_to(question, None, dest, each)?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    MORE
                }
            },
            LineageRelation::Edge | LineageRelation::EdgeData => match (first, second) {
                (first, Some(dest)) => self.edges_to(question, first, dest, each),
                (Some(source), None) => self.edges_from(question, source, each),
                (None, None) => {
                    let all = u32::try_from(ancestry.lineage.len()).unwrap_or(u32::MAX);
                    for dest in (0..all).map(RecordId) {
                        if self.edges_to(question, None, dest, each)?.is_break() {
                            return Ok(ControlFlow::Break(()));
                        }
                    }
                    MORE
                }
            },
        }
    }

    fn depends(&mut self, question: Question<'_>, record: Option<RecordId>, each: &mut Each<'_, 'a>) -> More {
        let depends = self.ancestry.depends;
        if let Some(record) = record {
            self.meter.step(self.head)?;
            return if depends.contains(record) { self.offer(question, &[record], None, each) } else { MORE };
        }
        for record in depends.iter() {
            self.meter.step(self.head)?;
            if self.offer(question, &[record], None, each)?.is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        MORE
    }

    /// `ReachableFrom(s, d)`: d is in `CurrentDepends`, and s among its ancestors (which then are in it too).
    fn reachable_to(
        &mut self,
        question: Question<'_>,
        source: Option<RecordId>,
        dest: RecordId,
        each: &mut Each<'_, 'a>,
    ) -> More {
        let ancestry = self.ancestry;
        self.meter.step(self.head)?;
        if !ancestry.depends.contains(dest) {
            return MORE;
        }
        let mut walk = match (source, question.scope) {
            (Some(source), _) if ancestry.lineage.ancestors(dest).contains(source) => {
                return self.offer(question, &[source, dest], None, each);
            }
            (Some(_), _) => return MORE,
            (None, _) if question.any_source() => {
                Walk::Listed(Box::new(ancestry.lineage.ancestors(dest).iter().map(Some).take(1)))
            }
            (None, Scope::Step(_)) => Walk::above(dest, ancestry, question.scope),
            (None, Scope::Own | Scope::Alike(_)) => {
                Walk::Listed(Box::new(ancestry.lineage.ancestors(dest).iter().map(Some)))
            }
        };
        self.walk(&mut walk, &mut |join, source, _| join.offer(question, &[source, dest], None, each))
    }

    fn reachable_from(&mut self, question: Question<'_>, source: RecordId, each: &mut Each<'_, 'a>) -> More {
        let ancestry = self.ancestry;
        if !ancestry.depends.contains(source) {
            return MORE;
        }
        let mut walk = match question.scope {
            Scope::Step(_) => Walk::below(source, ancestry, question.scope),
            Scope::Own | Scope::Alike(_) => {
                let came = move |&dest: &RecordId| ancestry.lineage.ancestors(dest).contains(source);
                Walk::Listed(Box::new(ancestry.depends.iter().map(move |dest| Some(dest).filter(came))))
            }
        };
        self.walk(&mut walk, &mut |join, dest, _| join.offer(question, &[source, dest], None, each))
    }

    fn edges_to(
        &mut self,
        question: Question<'_>,
        source: Option<RecordId>,
        dest: RecordId,
        each: &mut Each<'_, 'a>,
    ) -> More {
        let ancestry = self.ancestry;
        let placed = question.relation == LineageRelation::EdgeData;
        if let Some(source) = source {
            self.meter.step(self.head)?;
            let lineage = ancestry.lineage;
            if !lineage.member_set(lineage.inputs(dest)).contains(source) {
                return MORE;
            }
            if !placed {
                return self.offer(question, &[source, dest], None, each);
            }
        }
        let mut walk = if !placed && question.any_source() {
            let inputs = ancestry.lineage.members_backwards(ancestry.lineage.inputs(dest));
            Walk::Listed(Box::new(inputs.map(|(_, record)| Some(record)).take(1)))
        } else {
            Walk::inputs(dest, ancestry, question.scope)
        };
        self.walk(&mut walk, &mut |join, found, place| {
            let wanted = source.is_none_or(|source| source == found);
            match wanted {
                true => join.offer(question, &[found, dest], placed.then_some(place), each),
                false => MORE,
            }
        })
    }

    fn edges_from(&mut self, question: Question<'_>, source: RecordId, each: &mut Each<'_, 'a>) -> More {
        let placed = question.relation == LineageRelation::EdgeData;
        let mut walk = Walk::outputs(source, self.ancestry, question.scope);
        self.walk(&mut walk, &mut |join, dest, place| {
            join.offer(question, &[source, dest], placed.then_some(place), each)
        })
    }

    fn walk(&mut self, walk: &mut Walk<'a>, each: &mut dyn FnMut(&mut Self, RecordId, u32) -> More) -> More {
        loop {
            self.meter.step(self.head)?;
            match walk.next(self.ancestry) {
                Next::Found(record, place) => {
                    if each(self, record, place)?.is_break() {
                        return Ok(ControlFlow::Break(()));
                    }
                }
                Next::Looked => {}
                Next::Done => return MORE,
            }
        }
    }

    /// Hands a tuple on where it fits the patterns. `place` is that of the source among the inputs.
    fn offer(
        &mut self,
        question: Question<'_>,
        records: &[RecordId],
        place: Option<u32>,
        each: &mut Each<'_, 'a>,
    ) -> More {
        let mut words = [Word::default(); 3];
        for (word, &record) in words.iter_mut().zip(records) {
            let Some(symbol) = self.ancestry.names.symbol(record) else { return MORE };
            *word = Word::symbol(symbol);
        }
        if let (Some(place), &[source, dest]) = (place, records) {
            let Some(position) = self.ancestry.lineage.position(source, dest, place) else { return MORE };
            let fields = [Word::number(position.proximal), Word::number(position.message_index)];
            let [.., third] = &mut words;
            *third = Word::compound(self.pool.compound(self.ancestry.position, &fields));
            self.meter.pool(self.pool.bytes(), self.head)?;
        }
        let tuple = words.get(..records.len() + usize::from(place.is_some())).unwrap_or(&[]);
        for (pattern, &word) in question.patterns.iter().zip(tuple) {
            if !self.fits(pattern, word)? {
                return MORE;
            }
        }
        each(self, tuple)
    }

    pub(crate) fn holds_gate(&self, gate: Option<RelationId>) -> bool {
        gate.and_then(|gate| self.relations.get(gate.0 as usize)).is_none_or(|tuples| tuples.len() > 0)
    }

    /// The record that a bound column names. A term that reads what an earlier column of the same atom binds has no value
    /// yet: such a column is free, and only compared.
    fn bound(&mut self, patterns: &[Pattern], column: usize) -> Result<Bound, Halt> {
        let Some(Pattern::Equal(term)) = patterns.get(column) else { return Ok(None) };
        let before = patterns.get(..column).unwrap_or(&[]);
        if before.iter().any(|earlier| matches!(earlier, Pattern::Bind(variable) if names(term, *variable))) {
            return Ok(None);
        }
        let record = self.term(term)?.and_then(|word| self.ancestry.names.record(word.as_symbol()));
        Ok(Some(record))
    }
}

/// Whether a term names a variable.
fn names(term: &Term, variable: VariableId) -> bool {
    match term {
        Term::Variable(own) => *own == variable,
        Term::Constant(_) | Term::Wildcard => false,
        Term::Construct(_, terms) => terms.iter().any(|term| names(term, variable)),
        Term::Call(call) => call.arguments.iter().any(|term| names(term, variable)),
    }
}
