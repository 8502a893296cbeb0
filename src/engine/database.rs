use crate::engine::StopFlag;
use crate::engine::ancestry::RecordNames;
use crate::engine::join::Window;
use crate::engine::tuples::{Fresh, Row, Tuples};
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
    /// Ends evaluation over these facts.
    pub(crate) stop: Option<StopFlag>,
    /// The ancestors of the `Current` records.
    pub(crate) depends: Runs,
    /// The state of the relation `Current` that `depends` was computed from.
    pub(crate) depends_at: Option<u64>,
    /// What the rules that run see of each relation.
    pub(crate) windows: Vec<Window>,
    /// Room for the rule that runs.
    pub(crate) room: Room,
    /// Since a moment: the relations that have got rows, and how many they had before.
    touched: Option<Vec<(RelationId, Row)>>,
    /// The list of the last moment, to be filled again.
    spare: Vec<(RelationId, Row)>,
}

/// Buffers of a rule that runs, kept so that no rule has to make its own.
#[derive(Debug, Default)]
pub(crate) struct Room {
    /// Values of the variables.
    pub(crate) values: Vec<Word>,
    /// Keys under construction.
    pub(crate) scratch: Vec<Word>,
    /// The tuple of the head.
    pub(crate) tuple: Vec<Word>,
    /// The tuples that one run of a rule has found.
    pub(crate) fresh: Fresh,
}

/// A moment of a [`Database`].
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pool: Mark,
}

impl Database {
    /// No facts. Plans of the program have asked for indexes on `relations`.
    pub(crate) fn with(pool: Pool, relations: Vec<Tuples>) -> Self {
        let windows = vec![Window::default(); relations.len()];
        Self {
            pool,
            names: RecordNames::default(),
            relations,
            cache: Cache::default(),
            stop: None,
            depends: Runs::default(),
            depends_at: None,
            windows,
            room: Room::default(),
            touched: None,
            spare: Vec::new(),
        }
    }

    /// Lets evaluation over these facts end once the flag is raised.
    pub fn heed(&mut self, stop: StopFlag) {
        self.stop = Some(stop);
    }

    /// Adds a tuple. One of another width than the relation's is left out.
    pub fn insert(&mut self, relation: RelationId, tuple: &[Word]) {
        if let Some(tuples) = self.relations.get_mut(relation.0 as usize)
            && tuples.insert(tuple)
            && let Some(touched) = &mut self.touched
            && tuples.touch()
        {
            touched.push((relation, tuples.len() - 1));
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

    /// Now: what is added from here on can be taken back.
    pub fn moment(&mut self) -> Moment {
        self.touched.get_or_insert_with(|| std::mem::take(&mut self.spare));
        Moment { pool: self.pool.mark() }
    }

    /// The relations that have got rows since the moment, in the order in which they got the first.
    pub(crate) fn touched(&self) -> impl Iterator<Item = RelationId> {
        self.touched.iter().flatten().map(|&(relation, _)| relation)
    }

    /// Takes back all that was added since. Costs as much as was added.
    pub fn reset(&mut self, moment: Moment) {
        let mut touched = self.touched.take().unwrap_or_default();
        for (relation, rows) in touched.drain(..) {
            if let Some(tuples) = self.relations.get_mut(relation.0 as usize) {
                tuples.truncate(rows);
                tuples.forget_touch();
            }
        }
        self.spare = touched;
        self.forget(moment);
    }

    /// Takes back the texts and values that were added since, and nothing else: no fact may hold one.
    pub fn forget(&mut self, moment: Moment) {
        if self.pool.mark() != moment.pool {
            self.cache.forget_from(moment.pool.next_symbol());
            self.pool.reset(moment.pool);
        }
    }

    /// Bytes that the facts take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.pool.bytes() + self.relations.iter().map(Tuples::bytes).sum::<usize>()
    }
}
