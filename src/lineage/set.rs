//! Sets of one run, which most are, in eight bytes; others on a shelf.

use crate::column::Column;
use crate::lineage::RecordId;
use crate::lineage::Runs;

/// A set as a context keeps it: a run from the first to one past the last, or the number of a set.
// Invariant: `first` is above `end` where `end` is the number of a set among [`Sets`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Kept {
    first: u32,
    end: u32,
}

impl Kept {
    pub(crate) const EMPTY: Self = Self { first: 0, end: 0 };
}

/// The sets that are more than one run.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sets {
    several: Column<Runs>,
}

impl Sets {
    pub(crate) fn keep(&mut self, runs: Runs) -> Kept {
        if let Some((first, end)) = runs.single() {
            return Kept { first, end };
        }
        if runs.is_empty() {
            return Kept::EMPTY;
        }
        let number = self.several.len();
        self.several.push(runs);
        Kept { first: u32::MAX, end: u32::try_from(number).unwrap_or(u32::MAX) }
    }

    pub(crate) fn set(&self, kept: &Kept) -> Set<'_> {
        if kept.first == u32::MAX {
            // Only what was kept has a number.
            return self.several.get(kept.end as usize).map_or(Set::Run(0, 0), Set::Several);
        }
        Set::Run(kept.first, kept.end)
    }
}

/// A set of record numbers, where it is kept.
#[derive(Debug, Clone, Copy)]
pub enum Set<'a> {
    /// From the first to one past the last.
    Run(u32, u32),
    /// More than one run.
    Several(&'a Runs),
}

impl<'a> Set<'a> {
    /// Whether the set holds the record.
    #[must_use]
    pub fn contains(self, record: RecordId) -> bool {
        match self {
            Self::Run(first, end) => first <= record.0 && record.0 < end,
            Self::Several(runs) => runs.contains(record),
        }
    }

    /// Number of records.
    #[must_use]
    pub fn len(self) -> usize {
        match self {
            Self::Run(first, end) => end.saturating_sub(first) as usize,
            Self::Several(runs) => runs.len(),
        }
    }

    /// Whether the set holds nothing.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Number of runs.
    #[must_use]
    pub fn runs(self) -> usize {
        match self {
            Self::Run(first, end) => usize::from(first < end),
            Self::Several(runs) => runs.runs(),
        }
    }

    /// The records in ascending order.
    pub fn iter(self) -> impl Iterator<Item = RecordId> + 'a {
        let (run, several) = match self {
            Self::Run(first, end) => (first..end, None),
            Self::Several(runs) => (0..0, Some(runs)),
        };
        run.map(RecordId).chain(several.into_iter().flat_map(Runs::iter))
    }

    /// The set by itself. Takes constant time.
    #[must_use]
    pub fn to_runs(self) -> Runs {
        match self {
            Self::Run(first, end) => Runs::of_run(first, end),
            Self::Several(runs) => runs.clone(),
        }
    }
}
