use crate::engine::ancestry::RecordNames;
use crate::engine::tuples::{Row, Tuples};
use crate::functor::Cache;
use crate::lineage::Runs;
use crate::program::RelationId;
use crate::value::{Mark, Pool, Word};

/// The facts of one session: those the host keeps, those of the request, and those derived from both.
///
/// Request facts and what is derived from them are taken back by [`Database::reset`]; the rest grows.
// Invariant: one `Tuples` for each relation of the program, of its width.
#[derive(Debug)]
pub struct Database {
    /// Texts and compound values of the facts.
    pub pool: Pool,
    /// Ids of the records as texts.
    pub names: RecordNames,
    pub(crate) relations: Vec<Tuples>,
    pub(crate) cache: Cache,
    /// The ancestors of the `Current` records, and the state of that relation that they were computed from.
    pub(crate) depends: Option<(u64, Runs)>,
}

/// A moment of a [`Database`].
#[derive(Debug, Clone)]
pub struct Moment {
    pool: Mark,
    rows: Vec<Row>,
}

impl Database {
    /// No facts. Plans of the program have asked for indexes on `relations`.
    pub(crate) fn with(pool: Pool, relations: Vec<Tuples>) -> Self {
        let (names, cache) = (RecordNames::default(), Cache::default());
        Self { pool, names, relations, cache, depends: None }
    }

    /// Adds a tuple. One of another width than the relation's is left out.
    pub fn insert(&mut self, relation: RelationId, tuple: &[Word]) {
        if let Some(tuples) = self.relations.get_mut(relation.0 as usize) {
            tuples.insert(tuple);
        }
    }

    /// Takes out tuples that were added, wherever they stand. Costs as much as tuples have come since the oldest.
    pub fn remove<'t>(&mut self, relation: RelationId, gone: impl Iterator<Item = &'t [Word]>) {
        if let Some(tuples) = self.relations.get_mut(relation.0 as usize) {
            tuples.remove(gone);
        }
    }

    /// Takes out all tuples of a relation.
    pub fn clear(&mut self, relation: RelationId) {
        if let Some(tuples) = self.relations.get_mut(relation.0 as usize) {
            tuples.truncate(0);
        }
    }

    /// The word of a text.
    pub fn text(&mut self, text: &str) -> Word {
        Word::symbol(self.pool.symbol(text))
    }

    /// The tuples of a relation, in the order of insertion.
    pub fn tuples(&self, relation: RelationId) -> impl Iterator<Item = &[Word]> {
        self.relations.get(relation.0 as usize).into_iter().flat_map(Tuples::iter)
    }

    /// Whether a tuple is there.
    #[must_use]
    pub fn holds(&self, relation: RelationId, tuple: &[Word]) -> bool {
        self.relations.get(relation.0 as usize).is_some_and(|tuples| tuples.find(tuple).is_some())
    }

    /// Now.
    #[must_use]
    pub fn moment(&self) -> Moment {
        Moment { pool: self.pool.mark(), rows: self.relations.iter().map(Tuples::len).collect() }
    }

    /// Takes back all that was added since. Costs as much as was added.
    pub fn reset(&mut self, moment: &Moment) {
        for (tuples, &rows) in self.relations.iter_mut().zip(&moment.rows) {
            if tuples.len() > rows {
                tuples.truncate(rows);
            }
        }
        self.cache.forget_from(moment.pool.next_symbol());
        self.pool.reset(moment.pool);
    }

    /// Bytes that the facts take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pool.bytes() + self.relations.iter().map(Tuples::bytes).sum::<usize>()
    }
}
