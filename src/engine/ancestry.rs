//! The relations that the lineage of a session answers: `Edge`, `EdgeData`, `CurrentDepends`, `ReachableFrom`.

use hashbrown::HashMap;

use crate::engine::join::{Found, Join, Run, Sink};
use crate::engine::meter::Halt;
use crate::engine::plan::Pattern;
use crate::lineage::{Lineage, Position, RecordId, Runs};
use crate::program::{LineageRelation, RelationId};
use crate::value::{ConstructorId, Symbol, Word};

/// Ids of records as texts, both ways.
#[derive(Debug, Default)]
pub struct RecordNames {
    symbols: Vec<Symbol>,
    // Probed, never walked.
    records: HashMap<Symbol, RecordId, foldhash::fast::RandomState>,
}

impl RecordNames {
    /// Names the next record.
    pub fn push(&mut self, symbol: Symbol) {
        let id = RecordId(u32::try_from(self.symbols.len()).unwrap_or(u32::MAX));
        self.symbols.push(symbol);
        self.records.insert(symbol, id);
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
        self.records.get(&symbol).copied()
    }

    /// The name of a record.
    #[must_use]
    pub fn symbol(&self, record: RecordId) -> Option<Symbol> {
        self.symbols.get(record.0 as usize).copied()
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
}

impl<'a> Join<'a> {
    pub(crate) fn lineage(
        &mut self,
        run: Run<'_>,
        relation: LineageRelation,
        patterns: &[Pattern],
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let mut found = false;
        for tuple in self.matches(relation, patterns)? {
            if self.all_fit(patterns, &tuple)? && self.continue_from(run, sink)? {
                found = true;
                if run.cut <= run.at {
                    break;
                }
            }
        }
        Ok(found)
    }

    pub(crate) fn lineage_holds(
        &mut self,
        relation: LineageRelation,
        patterns: &[Pattern],
    ) -> Result<bool, Halt> {
        for tuple in self.matches(relation, patterns)? {
            if self.all_fit(patterns, &tuple)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn continue_from(&mut self, run: Run<'_>, sink: &mut Sink<'_, 'a>) -> Found {
        self.run(Run { at: run.at + 1, ..run }, sink)
    }

    fn all_fit(&mut self, patterns: &[Pattern], tuple: &[Word]) -> Result<bool, Halt> {
        self.meter.step(self.head)?;
        for (pattern, &word) in patterns.iter().zip(tuple) {
            if !self.fits(pattern, word)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(crate) fn holds_gate(&self, gate: Option<RelationId>) -> bool {
        gate.and_then(|gate| self.relations.get(gate.0 as usize)).is_none_or(|tuples| tuples.len() > 0)
    }

    /// The record that a bound column names: none where the column is free, `Some(None)` where no record has that name.
    fn bound(&mut self, patterns: &[Pattern], column: usize) -> Result<Option<Option<RecordId>>, Halt> {
        match patterns.get(column) {
            Some(Pattern::Equal(term)) => {
                let record = self.term(term)?.and_then(|word| self.ancestry.names.record(word.as_symbol()));
                Ok(Some(record))
            }
            Some(Pattern::Any | Pattern::Bind(_) | Pattern::Construct(..)) | None => Ok(None),
        }
    }

    /// Tuples of the relation that agree with its bound columns. A bound column narrows the walk: an id is looked up,
    /// never searched for.
    pub(crate) fn matches(
        &mut self,
        relation: LineageRelation,
        patterns: &[Pattern],
    ) -> Result<Box<dyn Iterator<Item = Vec<Word>> + 'a>, Halt> {
        let ancestry = self.ancestry;
        let first = self.bound(patterns, 0)?;
        let second = self.bound(patterns, 1)?;
        match relation {
            LineageRelation::CurrentDepends if !self.holds_gate(ancestry.depends_gate) => Ok(nothing()),
            LineageRelation::ReachableFrom if !self.holds_gate(ancestry.reachable_gate) => Ok(nothing()),
            LineageRelation::CurrentDepends => Ok(match first {
                Some(record) => {
                    let record = record.filter(|&record| ancestry.depends.contains(record));
                    Box::new(record.into_iter().filter_map(|record| ancestry.words(&[record])))
                }
                None => Box::new(ancestry.depends.iter().filter_map(|record| ancestry.words(&[record]))),
            }),
            LineageRelation::ReachableFrom => Ok(ancestry.reachable(first, second)),
            LineageRelation::Edge => {
                Ok(Box::new(ancestry.edges(first, second).filter_map(|(s, d)| ancestry.words(&[s, d]))))
            }
            LineageRelation::EdgeData => {
                let mut rows = Vec::new();
                for (source, dest, position) in ancestry.positions(first, second) {
                    self.meter.step(self.head)?;
                    rows.extend(self.edge_data(source, dest, position));
                }
                Ok(Box::new(rows.into_iter()))
            }
        }
    }

    fn edge_data(&mut self, source: RecordId, dest: RecordId, position: Position) -> Option<Vec<Word>> {
        let fields = [Word::number(position.proximal), Word::number(position.message_index)];
        let value = self.pool.compound(self.ancestry.position, &fields);
        let mut words = self.ancestry.words(&[source, dest])?;
        words.push(Word::compound(value));
        Some(words)
    }
}

fn nothing<'a>() -> Box<dyn Iterator<Item = Vec<Word>> + 'a> {
    Box::new(std::iter::empty())
}

/// A column: free, or a record, or a name that no record has.
type Column = Option<Option<RecordId>>;

impl<'a> Ancestry<'a> {
    fn words(&self, records: &[RecordId]) -> Option<Vec<Word>> {
        records.iter().map(|&record| self.names.symbol(record).map(Word::symbol)).collect()
    }

    /// `ReachableFrom(s, d)`: d is in `CurrentDepends`, and s among its ancestors (which then are in it too).
    fn reachable(&'a self, source: Column, dest: Column) -> Box<dyn Iterator<Item = Vec<Word>> + 'a> {
        let dests: Box<dyn Iterator<Item = RecordId> + 'a> = match dest {
            Some(record) => Box::new(record.filter(|&record| self.depends.contains(record)).into_iter()),
            None => Box::new(self.depends.iter()),
        };
        match source {
            Some(None) => nothing(),
            Some(Some(source)) => Box::new(
                dests
                    .filter(move |&dest| self.lineage.ancestors(dest).contains(source))
                    .filter_map(move |dest| self.words(&[source, dest])),
            ),
            None => Box::new(dests.flat_map(move |dest| {
                self.lineage.ancestors(dest).iter().filter_map(move |source| self.words(&[source, dest]))
            })),
        }
    }

    /// Records that a bound or free destination leaves, given the source: a record is read only by later ones.
    fn dests(&self, source: Column, dest: Column) -> std::ops::Range<u32> {
        let all = u32::try_from(self.lineage.len()).unwrap_or(u32::MAX);
        match (source, dest) {
            (Some(None), _) | (_, Some(None)) => 0..0,
            (_, Some(Some(dest))) => dest.0..dest.0 + 1,
            (Some(Some(source)), None) => source.0 + 1..all,
            (None, None) => 0..all,
        }
    }

    fn edges(&'a self, source: Column, dest: Column) -> Box<dyn Iterator<Item = (RecordId, RecordId)> + 'a> {
        let dests = self.dests(source, dest).map(RecordId);
        let inputs = |dest: RecordId| self.lineage.inputs(dest);
        match source.flatten() {
            Some(source) => Box::new(
                dests
                    .filter(move |&dest| self.lineage.member_set(inputs(dest)).contains(source))
                    .map(move |dest| (source, dest)),
            ),
            None => Box::new(dests.flat_map(move |dest| {
                self.lineage.members_backwards(inputs(dest)).map(move |(_, source)| (source, dest))
            })),
        }
    }

    fn positions(
        &'a self,
        source: Column,
        dest: Column,
    ) -> impl Iterator<Item = (RecordId, RecordId, Position)> + 'a {
        let wanted = source.flatten();
        let reads = move |&dest: &RecordId| {
            wanted.is_none_or(|source| self.lineage.member_set(self.lineage.inputs(dest)).contains(source))
        };
        self.dests(source, dest).map(RecordId).filter(reads).flat_map(move |dest| {
            self.lineage
                .edges_backwards(dest)
                .filter(move |&(source, _)| wanted.is_none_or(|wanted| wanted == source))
                .filter_map(move |(source, position)| Some((source, dest, position?)))
        })
    }
}
