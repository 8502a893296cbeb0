//! The ancestors of each record, as runs of numbers that are shared where they stay the same.

use std::sync::Arc;

use crate::references::Adjacency;

/// First number and the one after the last, in order and apart.
type Runs = Vec<(u32, u32)>;

/// The ancestors of a session, kept as it grows.
#[derive(Debug, Clone, Default)]
pub struct Sets {
    contexts: Vec<Arc<Runs>>,
    records: usize,
}

impl Sets {
    /// Takes in the records up to so many, each with the contexts that were made for it.
    pub fn grow(&mut self, adjacency: &Adjacency, records: usize) {
        for record in self.records..records {
            let context = adjacency.context(u32::try_from(record).unwrap_or(u32::MAX));
            while self.contexts.len() <= context as usize {
                let next = u32::try_from(self.contexts.len()).unwrap_or(u32::MAX);
                self.contexts.push(self.next(adjacency, next));
            }
        }
        self.records = self.records.max(records);
    }

    fn next(&self, adjacency: &Adjacency, context: u32) -> Arc<Runs> {
        let of = |context: u32| self.contexts.get(context as usize).map(Arc::clone).unwrap_or_default();
        let mut runs = of(adjacency.parent(context));
        for &record in adjacency.added(context) {
            let theirs = of(adjacency.context(record));
            if !Arc::ptr_eq(&runs, &theirs) {
                runs = Arc::new(united(&runs, &theirs));
            }
            runs = Arc::new(united(&runs, &[(record, record + 1)]));
        }
        runs
    }

    /// Whether the context of a record holds another, or came from it.
    #[must_use]
    pub fn holds(&self, adjacency: &Adjacency, record: u32, ancestor: u32) -> bool {
        let Some(runs) = self.contexts.get(adjacency.context(record) as usize) else { return false };
        let after = runs.partition_point(|&(first, _)| first <= ancestor);
        after.checked_sub(1).and_then(|at| runs.get(at)).is_some_and(|&(_, end)| ancestor < end)
    }
}

fn united(one: &[(u32, u32)], other: &[(u32, u32)]) -> Runs {
    let mut all: Runs = Vec::with_capacity(one.len() + other.len());
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    loop {
        let next = match (left.peek(), right.peek()) {
            (Some(a), Some(b)) if a.0 <= b.0 => left.next(),
            (Some(_), None) => left.next(),
            (_, Some(_)) => right.next(),
            (None, None) => return all,
        };
        let Some(&(first, end)) = next else { return all };
        match all.last_mut() {
            Some((_, last)) if *last >= first => *last = end.max(*last),
            Some(_) | None => all.push((first, end)),
        }
    }
}
