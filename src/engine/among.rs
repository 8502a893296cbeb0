//! Rows of a relation that belong to ancestors: the smaller of both sides is walked.
//!
//! A session can hold any number of rows of a kind, few or none of which belong to an ancestor, and an action can have any
//! number of ancestors, few or none of which have such a row. Rows are kept in the order of their records, so that each
//! run of ancestors finds its own by bisection.

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::engine::ancestry::RecordNames;
use crate::engine::join::{Found, Join, Run, Sink, after};
use crate::engine::meter::Halt;
use crate::engine::plan::AmongStep;
use crate::engine::tuples::{Row, Tuples, hash_words};
use crate::lineage::RecordId;
use crate::value::Word;

/// Rows up to which a list takes one in that comes late; a longer one gives its order up.
const SHORT: usize = 4_096;

/// Rows by the values of some columns, and for each distinct key in the order of the records in another column.
// Invariant: covers the first `covered` rows; each is in the list of its key.
#[derive(Debug)]
pub(crate) struct ByRecord {
    /// Which columns are the key.
    pub(crate) columns: Box<[usize]>,
    /// Which column names the record.
    pub(crate) record: usize,
    lists: Vec<List>,
    /// The number of the list of a key, which its rows show.
    heads: HashTable<usize>,
    covered: Row,
}

#[derive(Debug, Default)]
struct List {
    rows: Vec<(RecordId, Row)>,
    /// The words of its key.
    key: Box<[Word]>,
    /// A row came whose record is not known yet, or too late to be put in order.
    disordered: bool,
}

/// An index of one [`Tuples`] by record, by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ByRecordId(pub(crate) usize);

impl ByRecord {
    pub(crate) fn new(columns: &[usize], record: usize) -> Self {
        let (lists, heads) = (Vec::new(), HashTable::new());
        Self { columns: columns.into(), record, lists, heads, covered: 0 }
    }

    /// Covers all rows. Costs as much as rows were added since the last time.
    pub(crate) fn cover(
        &mut self,
        (words, arity): (&[Word], usize),
        len: Row,
        state: &RandomState,
        names: &RecordNames,
    ) {
        if self.covered >= len {
            return;
        }
        let mut key: Vec<Word> = Vec::with_capacity(self.columns.len());
        for row in self.covered..len {
            let start = row as usize * arity;
            let tuple = words.get(start..start + arity).unwrap_or(&[]);
            let word = |column: usize| tuple.get(column).copied().unwrap_or_default();
            key.clear();
            key.extend(self.columns.iter().map(|&column| word(column)));
            let hash = hash_words(state, key.iter().copied());
            let number = self.number(hash, &key, state);
            if let Some(list) = self.lists.get_mut(number) {
                list.add(names.record(word(self.record).as_symbol()), row);
            }
        }
        self.covered = len;
    }

    fn number(&mut self, hash: u64, key: &[Word], state: &RandomState) -> usize {
        let lists = &self.lists;
        let same = |&number: &usize| lists.get(number).is_some_and(|list| *list.key == *key);
        if let Some(&number) = self.heads.find(hash, same) {
            return number;
        }
        let number = self.lists.len();
        self.lists.push(List { key: key.into(), ..List::default() });
        let lists = &self.lists;
        self.heads.insert_unique(hash, number, |&number| {
            hash_words(state, lists.get(number).into_iter().flat_map(|list| list.key.iter().copied()))
        });
        number
    }

    /// Forgets the row that was covered last, whose key has that hash.
    pub(crate) fn forget_last(&mut self, row: Row, hash: u64, key: impl Fn(usize) -> Word) {
        if self.covered != row + 1 {
            return;
        }
        self.covered = row;
        let (lists, columns) = (&self.lists, &self.columns);
        let same = |&number: &usize| {
            let list = lists.get(number);
            list.is_some_and(|list| list.key.iter().zip(columns).all(|(word, &column)| *word == key(column)))
        };
        let number = self.heads.find(hash, same).copied();
        if let Some(list) = number.and_then(|number| self.lists.get_mut(number))
            && let Some(at) = list.rows.iter().rposition(|&(_, other)| other == row)
        {
            list.rows.remove(at);
        }
    }

    /// Forgets all rows.
    pub(crate) fn clear(&mut self) {
        self.lists.clear();
        self.heads.clear();
        self.covered = 0;
    }

    fn list(&self, hash: u64, key: &[Word]) -> Option<&List> {
        let same = |&number: &usize| self.lists.get(number).is_some_and(|list| *list.key == *key);
        self.lists.get(*self.heads.find(hash, same)?)
    }
}

impl List {
    fn add(&mut self, record: Option<RecordId>, row: Row) {
        let Some(record) = record.filter(|_| !self.disordered) else {
            self.disordered = true;
            // An unordered list is not asked, and the index beside it has the rows.
            self.rows = Vec::new();
            return;
        };
        match self.rows.last() {
            Some(&(last, _)) if last > record && self.rows.len() > SHORT => {
                self.disordered = true;
                self.rows = Vec::new();
            }
            Some(&(last, _)) if last > record => {
                let at = self.rows.partition_point(|&(other, _)| other <= record);
                self.rows.insert(at, (record, row));
            }
            Some(_) | None => self.rows.push((record, row)),
        }
    }
}

impl<'a> Join<'a> {
    /// Goes on once for each row of the key whose record is an ancestor.
    pub(crate) fn among(&mut self, run: Run<'_>, step: &AmongStep, sink: &mut Sink<'_, 'a>) -> Found {
        let relations = self.relations;
        let ancestry = self.ancestry;
        let Some(tuples) = relations.get(step.relation.0 as usize) else { return Ok(false) };
        if ancestry.depends.is_empty() || !self.holds_gate(ancestry.depends_gate) {
            return Ok(false);
        }
        let Some(list) = self.listed(tuples, step)? else { return Ok(false) };
        if list.disordered {
            return self.among_disordered(run, step, tuples, sink);
        }
        let depends = ancestry.depends;
        let mut found = false;
        if list.rows.len() <= depends.runs() {
            for &(record, row) in list.rows.iter().rev() {
                self.meter.step(self.head)?;
                if depends.contains(record) && self.takes(run, step, tuples, row, sink)? {
                    found = true;
                    if run.enough() {
                        break;
                    }
                }
            }
            return Ok(found);
        }
        let mut below = list.rows.len();
        for (start, end) in depends.pieces() {
            self.meter.step(self.head)?;
            let rows = list.rows.get(..below).unwrap_or_default();
            let upper = rows.partition_point(|&(record, _)| record.0 < end);
            for &(record, row) in rows.get(..upper).unwrap_or_default().iter().rev() {
                if record.0 < start {
                    break;
                }
                self.meter.step(self.head)?;
                if self.takes(run, step, tuples, row, sink)? {
                    found = true;
                    if run.enough() {
                        return Ok(true);
                    }
                }
            }
            below = upper;
            if below == 0 {
                break;
            }
        }
        Ok(found)
    }

    fn listed<'t>(&mut self, tuples: &'t Tuples, step: &AmongStep) -> Result<Option<&'t List>, Halt> {
        let Some(index) = tuples.by_record(step.index) else { return Ok(None) };
        let start = self.scratch.len();
        for term in &step.key {
            let Some(word) = self.term(term)? else {
                self.scratch.truncate(start);
                return Ok(None);
            };
            self.scratch.push(word);
        }
        let key = self.scratch.get(start..).unwrap_or(&[]);
        let list = index.list(hash_words(tuples.state(), key.iter().copied()), key);
        self.scratch.truncate(start);
        Ok(list)
    }

    fn takes(
        &mut self,
        run: Run<'_>,
        step: &AmongStep,
        tuples: &Tuples,
        row: Row,
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let (from, below) = self.window(step.relation, step.rows);
        if row < from || row >= below || !self.tuple_fits(&step.patterns, tuples.row(row))? {
            return Ok(false);
        }
        self.run(run.next(), sink)
    }

    /// Tries every row that agrees with the key.
    fn among_disordered(
        &mut self,
        run: Run<'_>,
        step: &AmongStep,
        tuples: &Tuples,
        sink: &mut Sink<'_, 'a>,
    ) -> Found {
        let ancestry = self.ancestry;
        let (from, below) = self.window(step.relation, step.rows);
        let mut found = false;
        let Some(mut next) = self.first(tuples, &step.access, from, below)? else { return Ok(false) };
        loop {
            self.meter.step(self.head)?;
            let record = tuples.row(next).get(step.record).map(|word| word.as_symbol());
            let record = record.and_then(|symbol| ancestry.names.record(symbol));
            if record.is_some_and(|record| ancestry.depends.contains(record))
                && self.takes(run, step, tuples, next, sink)?
            {
                found = true;
                if run.enough() {
                    break;
                }
            }
            match after(tuples, &step.access, next).filter(|&row| row >= from && row < below) {
                Some(row) => next = row,
                None => break,
            }
        }
        Ok(found)
    }
}
