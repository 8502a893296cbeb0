use std::collections::BTreeSet;
use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::engine::among::{ByRecord, ByRecordId};
use crate::engine::ancestry::RecordNames;
use crate::value::Word;

/// A row of a [`Tuples`], by its number in the order of insertion.
pub(crate) type Row = u32;

const END: Row = Row::MAX;

/// A table with more room for each of its rows than this is not cleared at once.
const CLEAR: usize = 64;

/// Rows that a set makes room for with its first: below that it would grow again and again.
const FIRST: usize = 28;

/// A set of tuples of one width, in the order of insertion, with the indexes that were asked for.
///
/// Rows are only added at the end and taken from the end, so a range of rows is a moment of the set.
// Invariant: `words` holds `len * arity` words; `table` holds each row once; every index covers the first `covered` rows.
#[derive(Debug, Default)]
pub(crate) struct Tuples {
    arity: usize,
    len: Row,
    words: Vec<Word>,
    table: HashTable<Row>,
    indexes: Vec<Index>,
    by_record: Vec<ByRecord>,
    /// Rows that every index of the first kind covers.
    covered: Row,
    state: RandomState,
    changes: u64,
    /// Whether it is on the list of relations that a request has brought rows to.
    touched: bool,
}

/// Rows by the values of some columns: for each distinct key a chain of rows, newest first.
#[derive(Debug)]
struct Index {
    columns: Box<[usize]>,
    heads: HashTable<Row>,
    next: Vec<Row>,
}

/// An index of one [`Tuples`], by its number there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IndexId(usize);

impl Tuples {
    pub(crate) fn new(arity: usize) -> Self {
        Self { arity, ..Self::default() }
    }

    pub(crate) fn len(&self) -> Row {
        self.len
    }

    /// A number that is another one whenever rows have come or gone.
    pub(crate) fn changes(&self) -> u64 {
        self.changes
    }

    /// Marks the set as touched; tells whether it was not.
    pub(crate) fn touch(&mut self) -> bool {
        !std::mem::replace(&mut self.touched, true)
    }

    pub(crate) fn forget_touch(&mut self) {
        self.touched = false;
    }

    pub(crate) fn arity(&self) -> usize {
        self.arity
    }

    /// The columns of every index, in the order in which they were asked for.
    pub(crate) fn indexed(&self) -> Vec<Vec<usize>> {
        self.indexes.iter().map(|index| index.columns.to_vec()).collect()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.words.len() * 8 + self.len as usize * 8
    }

    /// The tuple of a row; the empty tuple for a row that is not there.
    pub(crate) fn row(&self, row: Row) -> &[Word] {
        let start = row as usize * self.arity;
        self.words.get(start..start + self.arity).unwrap_or(&[])
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Word]> {
        (0..self.len).map(|row| self.row(row))
    }

    /// The row of a tuple.
    pub(crate) fn find(&self, tuple: &[Word]) -> Option<Row> {
        if self.len == 0 {
            return None;
        }
        self.table.find(self.state.hash_one(tuple), |&row| self.row(row) == tuple).copied()
    }

    /// Adds a tuple; tells whether it is new.
    pub(crate) fn insert(&mut self, tuple: &[Word]) -> bool {
        debug_assert_eq!(tuple.len(), self.arity, "a tuple has its relation's width");
        let hash = self.state.hash_one(tuple);
        if self.len > 0 && self.table.find(hash, |&row| self.row(row) == tuple).is_some() {
            return false;
        }
        if self.table.capacity() == 0 {
            self.table.reserve(FIRST, |_| 0);
            self.words.reserve(FIRST * self.arity);
        }
        let row = self.len;
        self.words.extend_from_slice(tuple);
        self.len += 1;
        self.changes += 1;
        let (words, arity, state) = (&self.words, self.arity, &self.state);
        self.table.insert_unique(hash, row, |&row| state.hash_one(at(words, arity, row as usize)));
        true
    }

    /// Of the indexes whose columns are all bound, the one with most of them, and its columns.
    pub(crate) fn narrowest(&self, bound: &[bool]) -> Option<(IndexId, &[usize])> {
        let usable = |index: &&Index| index.columns.iter().all(|&column| bound.get(column) == Some(&true));
        let numbered = self.indexes.iter().enumerate().filter(|(_, index)| usable(index));
        let best = numbered.max_by_key(|(_, index)| index.columns.len());
        best.map(|(number, index)| (IndexId(number), &*index.columns))
    }

    /// The columns of an index.
    pub(crate) fn columns(&self, index: IndexId) -> &[usize] {
        self.indexes.get(index.0).map_or(&[], |index| &index.columns)
    }

    /// The index over these columns, made if it is not there. It covers later rows only after [`Tuples::refresh`].
    pub(crate) fn index(&mut self, columns: &[usize]) -> IndexId {
        if let Some(found) = self.indexes.iter().position(|index| *index.columns == *columns) {
            return IndexId(found);
        }
        self.covered = 0;
        self.indexes.push(Index { columns: columns.into(), heads: HashTable::new(), next: Vec::new() });
        IndexId(self.indexes.len() - 1)
    }

    /// The columns of an index.
    pub(crate) fn columns_of(&self, index: IndexId) -> Vec<usize> {
        self.indexes.get(index.0).map_or_else(Vec::new, |index| index.columns.to_vec())
    }

    /// The index by record over these columns, made if it is not there. It covers later rows only after
    /// [`Tuples::refresh_by_record`].
    pub(crate) fn index_by_record(&mut self, columns: &[usize], record: usize) -> ByRecordId {
        let same = |index: &ByRecord| *index.columns == *columns && index.record == record;
        if let Some(found) = self.by_record.iter().position(same) {
            return ByRecordId(found);
        }
        self.by_record.push(ByRecord::new(columns, record));
        ByRecordId(self.by_record.len() - 1)
    }

    /// The key columns and the column of the record of every index by record.
    pub(crate) fn indexed_by_record(&self) -> Vec<(Vec<usize>, usize)> {
        self.by_record.iter().map(|index| (index.columns.to_vec(), index.record)).collect()
    }

    pub(crate) fn by_record(&self, index: ByRecordId) -> Option<&ByRecord> {
        self.by_record.get(index.0)
    }

    pub(crate) fn state(&self) -> &RandomState {
        &self.state
    }

    /// Lets every index by record cover all rows. Costs as much as rows were added since the last time.
    pub(crate) fn refresh_by_record(&mut self, names: &RecordNames) {
        for index in &mut self.by_record {
            index.cover((&self.words, self.arity), self.len, &self.state, names);
        }
    }

    /// Lets every index cover all rows. Costs as much as rows were added since the last time.
    #[inline]
    pub(crate) fn refresh(&mut self) {
        if self.covered != self.len {
            self.cover();
        }
    }

    fn cover(&mut self) {
        let (words, arity, state, len) = (&self.words, self.arity, &self.state, self.len);
        for index in &mut self.indexes {
            let from = Row::try_from(index.next.len()).unwrap_or(END);
            for row in from..len {
                index.add(row, words, arity, state);
            }
        }
        self.covered = len;
    }

    /// The newest row below `below` whose key columns hold these values.
    pub(crate) fn first(&self, index: IndexId, key: &[Word], below: Row) -> Option<Row> {
        let index = self.indexes.get(index.0)?;
        let hash = hash_words(&self.state, key.iter().copied());
        let same = |&row: &Row| {
            index.columns.iter().zip(key).all(|(&column, word)| self.row(row).get(column) == Some(word))
        };
        index.skip(index.heads.find(hash, same).copied()?, below)
    }

    /// The next older row of the same key.
    pub(crate) fn following(&self, index: IndexId, row: Row) -> Option<Row> {
        self.indexes.get(index.0)?.older(row)
    }

    /// Takes tuples out, wherever they stand. Costs as much as rows have come since the oldest of them.
    pub(crate) fn remove<'t>(&mut self, tuples: impl Iterator<Item = &'t [Word]>) {
        let gone: BTreeSet<Row> = tuples.filter_map(|tuple| self.find(tuple)).collect();
        let Some(&oldest) = gone.first() else { return };
        let kept: Vec<Vec<Word>> =
            (oldest..self.len).filter(|row| !gone.contains(row)).map(|row| self.row(row).to_vec()).collect();
        self.truncate(oldest);
        for tuple in kept {
            self.insert(&tuple);
        }
    }

    /// Takes rows from the end until `len` are left.
    pub(crate) fn truncate(&mut self, len: Row) {
        if len >= self.len {
            return;
        }
        self.changes += 1;
        // Clearing costs as much as there is room, and taking rows out as much as there are rows.
        let clear = len == 0 && self.table.capacity() <= (self.len as usize).saturating_mul(CLEAR);
        if clear {
            self.table.clear();
            for index in &mut self.indexes {
                index.heads.clear();
                index.next.clear();
            }
        }
        if len == 0 {
            self.by_record.iter_mut().for_each(ByRecord::clear);
        }
        for row in (if clear { self.len } else { len }..self.len).rev() {
            let hash = self.state.hash_one(at(&self.words, self.arity, row as usize));
            if let Ok(entry) = self.table.find_entry(hash, |&other| other == row) {
                entry.remove();
            }
            let (words, arity, state) = (&self.words, self.arity, &self.state);
            for index in &mut self.indexes {
                index.remove_last(row, words, arity, state);
            }
            for index in &mut self.by_record {
                let word = |column: usize| column_at(words, arity, row, column);
                let hash = hash_words(state, index.columns.iter().map(|&column| word(column)));
                index.forget_last(row, hash, word);
            }
        }
        self.len = len;
        self.covered = self.covered.min(len);
        self.words.truncate(self.len as usize * self.arity);
    }
}

/// Tuples of one width that a run of a rule has found, each once, in the order in which they came.
///
/// Most runs find few, which are compared one by one; a set is made for more.
// Invariant: where there is a `set`, it holds all; else `few` does.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    arity: usize,
    len: usize,
    few: Vec<Word>,
    set: Option<Box<Tuples>>,
}

impl Fresh {
    /// Tuples up to which they are compared one by one.
    const FEW: usize = 8;

    /// Takes all out, and is then for tuples of that width.
    pub(crate) fn begin(&mut self, arity: usize) {
        self.few.clear();
        self.len = 0;
        self.set = None;
        self.arity = arity;
    }

    /// Adds a tuple; tells whether it is new.
    pub(crate) fn insert(&mut self, tuple: &[Word]) -> bool {
        if let Some(set) = &mut self.set {
            return set.insert(tuple);
        }
        if (0..self.len).any(|row| at(&self.few, self.arity, row) == tuple) {
            return false;
        }
        if self.len < Self::FEW {
            self.few.extend_from_slice(tuple);
            self.len += 1;
            return true;
        }
        let mut set = Box::new(Tuples::new(self.arity));
        for row in 0..self.len {
            set.insert(at(&self.few, self.arity, row));
        }
        let is_new = set.insert(tuple);
        self.set = Some(set);
        is_new
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &[Word]> {
        let few = if self.set.is_some() { 0 } else { self.len };
        let set = self.set.iter().flat_map(|set| set.iter());
        (0..few).map(|row| at(&self.few, self.arity, row)).chain(set)
    }
}

impl Index {
    fn add(&mut self, row: Row, words: &[Word], arity: usize, state: &RandomState) {
        let columns = &self.columns;
        let key = |row: Row| columns.iter().map(move |&column| column_at(words, arity, row, column));
        let hash = hash_words(state, key(row));
        let same = |&other: &Row| key(other).eq(key(row));
        if let Some(head) = self.heads.find_mut(hash, same) {
            self.next.push(*head);
            *head = row;
        } else {
            self.next.push(END);
            if self.heads.capacity() == 0 {
                self.heads.reserve(FIRST, |_| 0);
            }
            self.heads.insert_unique(hash, row, |&other| hash_words(state, key(other)));
        }
    }

    fn remove_last(&mut self, row: Row, words: &[Word], arity: usize, state: &RandomState) {
        if self.next.len() != row as usize + 1 {
            return;
        }
        let columns = &self.columns;
        let hash = hash_words(state, columns.iter().map(|&column| column_at(words, arity, row, column)));
        let older = self.next.pop().unwrap_or(END);
        if let Ok(mut entry) = self.heads.find_entry(hash, |&head| head == row) {
            if older == END {
                entry.remove();
            } else {
                *entry.get_mut() = older;
            }
        }
    }

    fn older(&self, row: Row) -> Option<Row> {
        self.next.get(row as usize).copied().filter(|&row| row != END)
    }

    fn skip(&self, mut row: Row, below: Row) -> Option<Row> {
        while row >= below {
            row = self.older(row)?;
        }
        Some(row)
    }
}

fn at(words: &[Word], arity: usize, row: usize) -> &[Word] {
    let start = row * arity;
    words.get(start..start + arity).unwrap_or(&[])
}

fn column_at(words: &[Word], arity: usize, row: Row, column: usize) -> Word {
    at(words, arity, row as usize).get(column).copied().unwrap_or_default()
}

pub(crate) fn hash_words(state: &RandomState, words: impl Iterator<Item = Word>) -> u64 {
    let mut hasher = state.build_hasher();
    words.for_each(|word| word.hash(&mut hasher));
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(values: &[u64]) -> Vec<Word> {
        values.iter().map(|&value| Word(value)).collect()
    }

    fn chain(tuples: &Tuples, index: IndexId, key: u64, below: Row) -> Vec<Row> {
        let first = tuples.first(index, &words(&[key]), below);
        std::iter::successors(first, |&row| tuples.following(index, row)).collect()
    }

    #[test]
    fn an_index_chains_equal_keys_and_follows_truncation() {
        let mut tuples = Tuples::new(2);
        let index = tuples.index(&[1]);
        for (a, b) in [(1, 7), (2, 8), (3, 7), (1, 7), (4, 7)] {
            tuples.insert(&words(&[a, b]));
        }
        tuples.refresh();
        assert_eq!(tuples.len(), 4);
        assert_eq!(chain(&tuples, index, 7, 9), [3, 2, 0]);
        assert_eq!(chain(&tuples, index, 7, 3), [2, 0]);
        tuples.truncate(2);
        assert_eq!(chain(&tuples, index, 7, 9), [0]);
        assert_eq!(tuples.find(&words(&[3, 7])), None);
        assert!(tuples.insert(&words(&[5, 7])));
        tuples.refresh();
        assert_eq!(chain(&tuples, index, 7, 9), [2, 0]);
        tuples.truncate(0);
        assert!(chain(&tuples, index, 7, 9).is_empty() && tuples.insert(&words(&[1, 7])));
    }

    #[test]
    fn tuples_are_taken_out_from_the_middle() {
        let mut tuples = Tuples::new(2);
        let index = tuples.index(&[1]);
        for a in 0..6 {
            tuples.insert(&words(&[a, 7]));
        }
        tuples.refresh();
        let (changes, gone) = (tuples.changes(), [words(&[1, 7]), words(&[3, 7]), words(&[9, 9])]);
        tuples.remove(gone.iter().map(Vec::as_slice));
        tuples.refresh();
        let left: Vec<_> = tuples.iter().map(|tuple| tuple[0].0).collect();
        assert_eq!(left, [0, 2, 4, 5]);
        assert_eq!(chain(&tuples, index, 7, 9), [3, 2, 1, 0]);
        assert!(tuples.find(&words(&[3, 7])).is_none() && tuples.find(&words(&[5, 7])) == Some(3));
        assert_ne!(changes, tuples.changes());
    }

    #[test]
    fn a_nullary_relation_holds_once() {
        let mut tuples = Tuples::new(0);
        assert!(tuples.insert(&[]));
        assert!(!tuples.insert(&[]));
        assert_eq!(tuples.len(), 1);
        tuples.truncate(0);
        assert!(tuples.find(&[]).is_none());
    }
}
