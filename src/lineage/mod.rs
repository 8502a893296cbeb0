//! What each record was computed from, in space that grows with the session and not with its square.
//!
//! In: records in the order of arrival, each with the context it was computed from. Out: inputs, positions and
//! ancestors. A context is a list that shares its beginning with the context it extends. Ancestor sets are runs of
//! record numbers, shared by all records of one context, and with the sets that they grew from. Never: holds one edge per pair.

mod runs;
mod set;

pub use runs::Runs;
pub use set::Set;

use crate::column::Column;
use crate::lineage::set::Kept;
use crate::lineage::set::Sets;
use std::collections::BTreeMap;

/// A record by its number in the session, from 0 in the order of arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(pub u32);

/// A context by its number in the session. Number 0 is the empty context.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContextId(pub u32);

impl ContextId {
    /// The context of a record that was computed from nothing.
    pub const EMPTY: Self = Self(0);
}

/// No record.
const NOBODY: RecordId = RecordId(u32::MAX);

/// Contexts and records that are looked at before two sets are united run by run.
const MAX_WALK: usize = 64;

#[derive(Debug, Clone)]
struct Context {
    parent: ContextId,
    /// Where its records end in [`Lineage::appended`]; they begin where those of the context made before it end.
    end: u32,
    len: u32,
    /// The first and the last record that were computed from it; [`NOBODY`] where none was.
    users: (RecordId, RecordId),
    /// The records of the context itself.
    members: Kept,
    /// The members and all that they were computed from: with a record, always all of its ancestors.
    ancestors: Kept,
}

/// The empty context.
const EMPTY: Context = Context {
    parent: ContextId::EMPTY,
    end: 0,
    len: 0,
    users: (NOBODY, NOBODY),
    members: Kept::EMPTY,
    ancestors: Kept::EMPTY,
};

/// The contexts and inputs of one session.
// Invariant: every record number in a context is below the number of the record that the context was made for.
#[derive(Debug, Clone)]
pub struct Lineage {
    contexts: Column<Context>,
    /// The sets of contexts that are more than one run.
    sets: Sets,
    /// The records that contexts add to their parents, context after context.
    appended: Vec<RecordId>,
    inputs: Column<ContextId>,
    /// What was stated about the edge (destination, source) in place of what its place in the context says.
    stated: BTreeMap<(RecordId, RecordId), Option<Position>>,
}

/// Where an input stood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Position {
    /// 1 for the last input before the output, else 0; -1 where it is unknown.
    pub proximal: i64,
    /// Place among the inputs, from 0; -1 where it is unknown.
    pub message_index: i64,
}

impl Default for Lineage {
    fn default() -> Self {
        let mut contexts = Column::default();
        contexts.push(EMPTY);
        Self {
            contexts,
            sets: Sets::default(),
            appended: Vec::new(),
            inputs: Column::default(),
            stated: BTreeMap::new(),
        }
    }
}

impl Lineage {
    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inputs.len()
    }

    /// Whether no record has arrived.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inputs.is_empty()
    }

    /// A context that continues `parent` with further records, in order. Records that `parent` holds already, that come
    /// twice, or that have not arrived yet, are left out. Costs as much as there are further records, where what they
    /// were computed from is known to `parent` or newer than it; else as much as both have runs.
    pub fn extend(&mut self, parent: ContextId, records: &[RecordId]) -> ContextId {
        if records.is_empty() {
            return parent;
        }
        let base = self.context(parent);
        let mut len = base.len;
        let (mut members, mut ancestors) =
            (self.sets.set(&base.members).to_runs(), self.sets.set(&base.ancestors).to_runs());
        let start = self.appended.len();
        for &record in records {
            if !members.contains(record) && (record.0 as usize) < self.inputs.len() {
                self.appended.push(record);
                len += 1;
                members.insert(record);
            }
        }
        // The newest first: what they were computed from holds most of the others, with all that those came from.
        for &record in self.appended.get(start..).unwrap_or_default().iter().rev() {
            if !ancestors.contains(record) {
                self.absorb(&mut ancestors, self.inputs(record));
                ancestors.insert(record);
            }
        }
        if self.appended.len() == start {
            return parent;
        }
        // A session of more records than a `u32` counts does not fit into memory.
        let end = u32::try_from(self.appended.len()).unwrap_or(u32::MAX);
        let id = ContextId(u32::try_from(self.contexts.len()).unwrap_or(u32::MAX));
        let users = (NOBODY, NOBODY);
        let (members, ancestors) = (self.sets.keep(members), self.sets.keep(ancestors));
        self.contexts.push(Context { parent, end, len, users, members, ancestors });
        id
    }

    /// Adds a context and all that it came from to a set that holds, with a record, always all of its ancestors.
    ///
    /// Two viewers of one session have sets that were built apart and agree but for the end. So this walks back from the
    /// context to one that a record of the set was computed from, and only where that is far, unites run by run.
    fn absorb(&self, set: &mut Runs, context: ContextId) {
        let (mut open, mut new, mut steps) = (vec![context], Runs::default(), 0);
        while let Some(id) = open.pop() {
            let here = self.context(id);
            let (first, last) = here.users;
            let known = first != NOBODY && (set.contains(first) || set.contains(last));
            if here.len == 0 || known {
                continue;
            }
            let appended = self.appended(id);
            steps += 1 + appended.len();
            if steps > MAX_WALK {
                set.union(&self.closure(context).to_runs());
                return;
            }
            open.push(here.parent);
            for &record in appended {
                if !set.contains(record) && !new.contains(record) {
                    new.insert(record);
                    open.push(self.inputs(record));
                }
            }
        }
        set.union(&new);
    }

    /// Adds the next record, computed from `inputs`.
    pub fn push(&mut self, inputs: ContextId) -> RecordId {
        let id = RecordId(u32::try_from(self.inputs.len()).unwrap_or(u32::MAX));
        self.inputs.push(inputs);
        if let Some(context) = self.contexts.get_mut(inputs.0 as usize) {
            let first = context.users.0;
            context.users = (if first == NOBODY { id } else { first }, id);
        }
        id
    }

    /// The context that a record was computed from.
    #[must_use]
    pub fn inputs(&self, record: RecordId) -> ContextId {
        self.inputs.get(record.0 as usize).copied().unwrap_or(ContextId::EMPTY)
    }

    /// The context that a context continues; the empty one for the empty one.
    #[must_use]
    pub fn parent(&self, context: ContextId) -> ContextId {
        self.context(context).parent
    }

    /// The records that a context adds to the one it continues, in order.
    #[must_use]
    pub fn appended(&self, context: ContextId) -> &[RecordId] {
        let before = context.0.checked_sub(1).map_or(0, |before| self.context(ContextId(before)).end);
        self.appended.get(before as usize..self.context(context).end as usize).unwrap_or_default()
    }

    /// Number of contexts, the empty one included.
    #[must_use]
    pub fn contexts(&self) -> usize {
        self.contexts.len()
    }

    /// Number of records in a context.
    #[must_use]
    pub fn context_len(&self, context: ContextId) -> usize {
        self.context(context).len as usize
    }

    /// The records of a context with their positions, last first.
    pub fn members_backwards(&self, context: ContextId) -> impl Iterator<Item = (u32, RecordId)> + '_ {
        let mut at = context;
        std::iter::from_fn(move || {
            let here = self.context(at);
            if here.len == 0 {
                return None;
            }
            let appended = self.appended(at);
            at = here.parent;
            Some((here.len, appended))
        })
        .flat_map(|(len, appended)| {
            appended
                .iter()
                .rev()
                .enumerate()
                .map(move |(i, &record)| (len - 1 - u32::try_from(i).unwrap_or(0), record))
        })
    }

    /// The records of a context in order.
    #[must_use]
    pub fn members(&self, context: ContextId) -> Vec<RecordId> {
        let mut records: Vec<_> = self.members_backwards(context).map(|(_, record)| record).collect();
        records.reverse();
        records
    }

    /// States what is known of the edge from `source` to `dest`, in place of what the context says; `None` says that
    /// nothing is known.
    pub fn state(&mut self, source: RecordId, dest: RecordId, position: Option<Position>) {
        self.stated.insert((dest, source), position);
    }

    /// The inputs of a record with what is known of their positions, last first.
    pub fn edges_backwards(&self, dest: RecordId) -> impl Iterator<Item = (RecordId, Option<Position>)> + '_ {
        let context = self.inputs(dest);
        let len = self.context(context).len;
        self.members_backwards(context).map(move |(index, source)| {
            let derived = Position { proximal: i64::from(index + 1 == len), message_index: i64::from(index) };
            (source, self.stated.get(&(dest, source)).copied().unwrap_or(Some(derived)))
        })
    }

    /// What is known of the position of an input that stands at that place among the inputs.
    #[must_use]
    pub fn position(&self, source: RecordId, dest: RecordId, place: u32) -> Option<Position> {
        let last = place.saturating_add(1) == self.context(self.inputs(dest)).len;
        let derived = Position { proximal: i64::from(last), message_index: i64::from(place) };
        self.stated.get(&(dest, source)).copied().unwrap_or(Some(derived))
    }

    /// The records of a context as a set.
    #[must_use]
    pub fn member_set(&self, context: ContextId) -> Set<'_> {
        self.sets.set(&self.context(context).members)
    }

    /// The records of a context and all that they were computed from.
    #[must_use]
    pub fn closure(&self, context: ContextId) -> Set<'_> {
        self.sets.set(&self.context(context).ancestors)
    }

    /// All proper ancestors of a record.
    #[must_use]
    pub fn ancestors(&self, record: RecordId) -> Set<'_> {
        self.closure(self.inputs(record))
    }

    fn context(&self, id: ContextId) -> &Context {
        self.contexts.get(id.0 as usize).unwrap_or(&EMPTY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn ancestors_are_what_a_walk_finds(steps in proptest::collection::vec((0usize..6, 0usize..6, 0u32..40), 0..120)) {
            let mut lineage = Lineage::default();
            let mut views = [ContextId::EMPTY; 6];
            for (from, to, record) in steps {
                let new = lineage.push(views[from]);
                views[to] = lineage.extend(views[to], &[RecordId(record), new]);
                if record % 7 == 0 {
                    views[from] = lineage.parent(views[to]);
                }
            }
            for number in 0..lineage.len() {
                let record = RecordId(u32::try_from(number).unwrap());
                let (mut found, mut open) = (std::collections::BTreeSet::new(), vec![record]);
                while let Some(at) = open.pop() {
                    open.extend(lineage.members(lineage.inputs(at)).into_iter().filter(|&r| found.insert(r)));
                }
                assert_eq!(lineage.ancestors(record).iter().collect::<Vec<_>>(), found.into_iter().collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn full_history_is_one_run_and_positions_count_from_the_start() {
        let mut lineage = Lineage::default();
        let mut context = ContextId::EMPTY;
        for _ in 0..100 {
            let record = lineage.push(context);
            context = lineage.extend(context, &[record]);
        }
        assert_eq!(lineage.closure(context).runs(), 1);
        assert_eq!(lineage.ancestors(RecordId(50)).len(), 50);
        assert_eq!(lineage.members(lineage.inputs(RecordId(3))), vec![RecordId(0), RecordId(1), RecordId(2)]);
        assert_eq!(lineage.members_backwards(lineage.inputs(RecordId(3))).next(), Some((2, RecordId(2))));
        assert_eq!(lineage.extend(context, &[RecordId(7), RecordId(200)]), context);
    }
}
