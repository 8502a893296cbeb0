/// Entries of a chunk.
const CHUNK: usize = 256;

/// A list that only grows at its end, in chunks: however long it is, it takes little more room than its entries, and no
/// entry is ever moved to a larger place.
// Invariant: every chunk but the last holds `CHUNK` entries, and none is empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column<T> {
    chunks: Vec<Vec<T>>,
}

impl<T> Default for Column<T> {
    fn default() -> Self {
        Self { chunks: Vec::new() }
    }
}

impl<T> Column<T> {
    /// Number of entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.chunks.last().map_or(0, |last| (self.chunks.len() - 1) * CHUNK + last.len())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Adds an entry at the end.
    pub fn push(&mut self, entry: T) {
        match self.chunks.last_mut() {
            Some(last) if last.len() < CHUNK => last.push(entry),
            Some(_) => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push(entry);
                self.chunks.push(chunk);
            }
            // A short list takes as much as it needs.
            None => self.chunks.push(vec![entry]),
        }
    }

    /// The entry at that place.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&T> {
        self.chunks.get(at / CHUNK)?.get(at % CHUNK)
    }

    /// The entry at that place, to be changed.
    pub fn get_mut(&mut self, at: usize) -> Option<&mut T> {
        self.chunks.get_mut(at / CHUNK)?.get_mut(at % CHUNK)
    }

    /// The newest entry.
    #[must_use]
    pub fn last(&self) -> Option<&T> {
        self.chunks.last().and_then(|chunk| chunk.last())
    }

    /// The newest entry, to be changed.
    pub fn last_mut(&mut self) -> Option<&mut T> {
        self.chunks.last_mut().and_then(|chunk| chunk.last_mut())
    }

    /// The entries in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &T> + Clone {
        self.chunks.iter().flatten()
    }

    /// The entries from that place on, in order.
    pub fn from(&self, at: usize) -> impl Iterator<Item = &T> + Clone {
        let first = self.chunks.get(at / CHUNK).and_then(|chunk| chunk.get(at % CHUNK..)).unwrap_or_default();
        first.iter().chain(self.chunks.iter().skip(at / CHUNK + 1).flatten())
    }

    /// The entries in order, to be changed.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut T> {
        self.chunks.iter_mut().flatten()
    }

    /// The place of the first entry for which the answer is no; it is yes before it and no after it.
    pub fn partition_point(&self, mut before: impl FnMut(&T) -> bool) -> usize {
        let chunk = self.chunks.partition_point(|chunk| chunk.last().is_some_and(&mut before));
        let within = self.chunks.get(chunk).map_or(0, |entries| entries.partition_point(&mut before));
        (chunk * CHUNK + within).min(self.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_keep_their_places_across_chunks() {
        for len in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK] {
            let mut column = Column::default();
            (0..len).for_each(|entry| column.push(entry));
            assert_eq!((column.len(), column.is_empty()), (len, len == 0));
            assert_eq!(column.last().copied(), len.checked_sub(1));
            assert!((0..len).all(|at| column.get(at) == Some(&at)));
            assert_eq!(column.get(len), None);
            assert_eq!(column.get_mut(len), None);
            assert!(column.iter().copied().eq(0..len));
            for at in [0, 1, CHUNK, CHUNK + 7, len, len + CHUNK] {
                assert!(column.from(at).copied().eq(at..len.max(at)), "{at} of {len}");
                assert_eq!(column.partition_point(|&entry| entry < at), at.min(len));
            }
            column.iter_mut().for_each(|entry| *entry += 1);
            assert!(column.iter().copied().eq(1..=len));
        }
    }
}
