//! Sets of record numbers that share all but their newest part with the sets they grew from.

use crate::lineage::RecordId;
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Runs that a set keeps for itself before it hands them to a chunk that later sets share.
const CHUNK: usize = 4;

/// Runs that a set holds without memory of their own: most sets are one or two.
const INLINE: usize = 2;

/// `(first, one past the last)`
type Run = (u32, u32);

/// Runs on their way into a set, mostly few.
type New = SmallVec<[Run; 2 * CHUNK]>;

/// A set of record numbers as sorted, disjoint, non-adjacent runs.
// Invariant: all runs of `older` lie below those of `recent`; `recent` is empty only in an empty set.
#[derive(Clone, Default)]
pub struct Runs {
    older: Option<Arc<Chunk>>,
    recent: SmallVec<[Run; INLINE]>,
}

/// A piece of a set, with the pieces below it. `skip` leads further down, so that a search takes logarithmic time.
// Invariant: `skip` is the chunk that `skip_of` says; `runs` is not empty.
struct Chunk {
    below: Option<Arc<Self>>,
    skip: Option<Arc<Self>>,
    runs: Box<[Run]>,
    /// Number of chunks below.
    depth: usize,
    /// Number of runs and records, those below included.
    all_runs: usize,
    all_records: usize,
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // One after another: a long chain must not use up the stack.
        self.skip = None;
        let mut next = self.below.take();
        while let Some(mut chunk) = next.and_then(Arc::into_inner) {
            chunk.skip = None;
            next = chunk.below.take();
        }
    }
}

impl Chunk {
    fn first(&self) -> u32 {
        self.runs.first().map_or(0, |run| run.0)
    }

    fn end(&self) -> u32 {
        self.runs.last().map_or(0, |run| run.1)
    }

    /// The nearest chunk at or below this one for which the answer is yes. The answer is no down to some chunk, and
    /// yes below it.
    fn search(self: &Arc<Self>, stop: impl Fn(&Self) -> bool) -> Option<&Arc<Self>> {
        let mut at = self;
        while !stop(at) {
            at = match &at.skip {
                Some(skip) if !stop(skip) => skip,
                _ => at.below.as_ref()?,
            };
        }
        Some(at)
    }
}

fn length(runs: &[Run]) -> usize {
    runs.iter().map(|&(start, end)| (end - start) as usize).sum()
}

fn holds(runs: &[Run], (start, end): Run) -> bool {
    let after = runs.partition_point(|&(first, _)| first <= start);
    after > 0 && runs.get(after - 1).is_some_and(|&(_, last)| end <= last)
}

impl Runs {
    /// Whether the set holds the record.
    #[must_use]
    pub fn contains(&self, record: RecordId) -> bool {
        self.covers((record.0, record.0.saturating_add(1)))
    }

    /// Number of runs.
    #[must_use]
    pub fn runs(&self) -> usize {
        self.older.as_ref().map_or(0, |chunk| chunk.all_runs) + self.recent.len()
    }

    /// Number of records.
    #[must_use]
    pub fn len(&self) -> usize {
        self.older.as_ref().map_or(0, |chunk| chunk.all_records) + length(&self.recent)
    }

    /// The one run of the set, where it has but one.
    pub(crate) fn single(&self) -> Option<(u32, u32)> {
        match (&self.older, self.recent.as_slice()) {
            (None, &[run]) if run.0 < u32::MAX => Some(run),
            _ => None,
        }
    }

    /// The set of one run; empty where it ends where it begins.
    pub(crate) fn of_run(first: u32, end: u32) -> Self {
        let recent = (first < end).then_some((first, end)).into_iter().collect();
        Self { older: None, recent }
    }

    /// Whether the set holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.recent.is_empty()
    }

    /// Takes all records out, and keeps the room for them.
    pub fn clear(&mut self) {
        self.older = None;
        self.recent.clear();
    }

    /// The records in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = RecordId> + '_ {
        self.all().flat_map(|(start, end)| (start..end).map(RecordId))
    }

    /// Adds one record. Takes constant time for one above all others.
    pub fn insert(&mut self, record: RecordId) {
        let run = (record.0, record.0.saturating_add(1));
        let below = match self.recent.as_slice() {
            [.., below, _] => Some(below.1),
            [_] | [] => self.older.as_ref().map(|chunk| chunk.end()),
        };
        match self.recent.as_mut_slice() {
            [.., (_, end)] if *end == run.0 => *end = run.1,
            [.., (start, _)] if *start == run.1 && below.is_none_or(|end| end < run.0) => *start = run.0,
            // It closes the gap between the last two.
            [.., (_, below), (start, end)] if *below == run.0 && *start == run.1 => {
                *below = *end;
                self.recent.pop();
            }
            [.., (_, end)] if *end > run.0 => {
                if !self.covers(run) {
                    self.merge(smallvec![run]);
                }
            }
            _ => {
                self.recent.push(run);
                self.settle();
            }
        }
    }

    /// Adds all records of another set. What both sets share, and what lies above this one, costs nothing or little.
    pub fn union(&mut self, other: &Self) {
        if self.is_empty() {
            self.clone_from(other);
            return;
        }
        let mut new: New = other.recent.iter().copied().filter(|&run| !self.covers(run)).collect();
        let mut chunk = other.older.as_ref();
        while let Some(theirs) = chunk.filter(|theirs| !self.shares(theirs)) {
            new.extend(theirs.runs.iter().copied().filter(|&run| !self.covers(run)));
            chunk = theirs.below.as_ref();
        }
        if !new.is_empty() {
            self.merge(new);
        }
    }

    /// The runs as `(first, one past the last)`, the newest first.
    pub fn pieces(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let chunks = std::iter::successors(self.older.as_deref(), |chunk| chunk.below.as_deref());
        self.recent.iter().rev().chain(chunks.flat_map(|chunk| chunk.runs.iter().rev())).copied()
    }

    /// The runs in ascending order.
    fn all(&self) -> impl Iterator<Item = Run> + '_ {
        let mut chunks = Vec::new();
        let mut next = self.older.as_ref();
        while let Some(chunk) = next {
            chunks.push(chunk);
            next = chunk.below.as_ref();
        }
        chunks.into_iter().rev().flat_map(|chunk| chunk.runs.iter()).chain(&self.recent).copied()
    }

    fn covers(&self, run: Run) -> bool {
        if self.recent.first().is_some_and(|first| first.0 <= run.0) {
            return holds(&self.recent, run);
        }
        let chunk = self.older.as_ref().and_then(|older| older.search(|chunk| chunk.first() <= run.0));
        chunk.is_some_and(|chunk| holds(&chunk.runs, run))
    }

    fn shares(&self, theirs: &Arc<Chunk>) -> bool {
        let ours = self.older.as_ref().and_then(|older| older.search(|chunk| chunk.depth <= theirs.depth));
        ours.is_some_and(|ours| Arc::ptr_eq(ours, theirs))
    }

    /// Adds runs that are not covered. Costs as much as there are runs above the lowest of them.
    fn merge(&mut self, new: New) {
        let lowest = new.iter().map(|run| run.0).min().unwrap_or(u32::MAX);
        let mut all = new;
        all.extend(self.recent.drain(..));
        while let Some(chunk) = self.older.take_if(|chunk| chunk.end() >= lowest) {
            all.extend(chunk.runs.iter().copied());
            self.older.clone_from(&chunk.below);
        }
        all.sort_unstable();
        for (start, end) in all {
            match self.recent.last_mut() {
                Some((_, last)) if *last >= start => *last = (*last).max(end),
                Some(_) | None => self.recent.push((start, end)),
            }
        }
        self.settle();
    }

    /// Hands full chunks over. The newest run stays, since it may still grow.
    fn settle(&mut self) {
        while self.recent.len() > CHUNK {
            let runs: Box<[Run]> = self.recent.drain(..CHUNK).collect();
            let below = self.older.take();
            let depth = below.as_ref().map_or(0, |below| below.depth + 1);
            let all_runs = below.as_ref().map_or(0, |below| below.all_runs) + runs.len();
            let all_records = below.as_ref().map_or(0, |below| below.all_records) + length(&runs);
            let skip = below.as_ref().map(skip_of);
            self.older = Some(Arc::new(Chunk { below, skip, runs, depth, all_runs, all_records }));
        }
    }
}

/// Where a chunk above `below` skips to: twice as far where the last two skips were equally long, else just below.
fn skip_of(below: &Arc<Chunk>) -> Arc<Chunk> {
    let far = below.skip.as_ref().and_then(|skip| {
        let further = skip.skip.as_ref()?;
        (below.depth - skip.depth == skip.depth - further.depth).then_some(further)
    });
    Arc::clone(far.unwrap_or(below))
}

impl PartialEq for Runs {
    fn eq(&self, other: &Self) -> bool {
        self.runs() == other.runs() && self.all().eq(other.all())
    }
}

impl Eq for Runs {}

impl std::fmt::Debug for Runs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.all()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::ProptestConfig;
    use proptest::prelude::any;
    use std::collections::BTreeSet;

    fn set(numbers: &[u32]) -> Runs {
        let mut runs = Runs::default();
        for &number in numbers {
            runs.insert(RecordId(number));
        }
        runs
    }

    proptest::proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn a_set_is_a_set(
            base in proptest::collection::vec(0u32..2000, 0..600),
            left in proptest::collection::vec(0u32..3000, 0..300),
            right in proptest::collection::vec(0u32..3000, 0..300),
            sorted in any::<bool>(),
        ) {
            let mut base = base;
            if sorted {
                base.sort_unstable();
            }
            let shared = set(&base);
            let (mut a, mut b) = (shared.clone(), shared);
            left.iter().for_each(|&number| a.insert(RecordId(number)));
            right.iter().for_each(|&number| b.insert(RecordId(number)));
            a.union(&b);
            let expected: BTreeSet<u32> = base.iter().chain(&left).chain(&right).copied().collect();
            let numbers: Vec<u32> = a.iter().map(|record| record.0).collect();
            assert_eq!(numbers, expected.iter().copied().collect::<Vec<_>>());
            assert_eq!(a.len(), expected.len());
            assert_eq!(a, set(&numbers));
            for number in 0..3001 {
                assert_eq!(a.contains(RecordId(number)), expected.contains(&number));
            }
        }
    }

    #[test]
    fn long_chains_are_shared_searched_and_dropped_without_recursion() {
        let mut runs = Runs::default();
        let mut kept = Vec::new();
        for number in (0..2_000_000).step_by(2) {
            runs.insert(RecordId(number));
            if number % 100_000 == 0 {
                kept.push(runs.clone());
            }
        }
        assert_eq!((runs.runs(), runs.len()), (1_000_000, 1_000_000));
        assert!(runs.contains(RecordId(4)) && !runs.contains(RecordId(5)));
        assert!(!runs.contains(RecordId(2_000_000)));
        let before = runs.clone();
        kept.iter().for_each(|older| runs.union(older));
        assert_eq!(runs, before);
        drop(before);
    }
}
