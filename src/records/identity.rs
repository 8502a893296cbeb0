//! Ids of records: what a record says, where it stands, and all that it was computed from.

use crate::column::Column;
use crate::lineage::ContextId;
use crate::lineage::Lineage;
use crate::lineage::RecordId;
use crate::records::rows::Rows;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use sha2::Digest as _;
use sha2::Sha256;
use std::hash::BuildHasher as _;

/// A truncated SHA-256.
pub(crate) type Fingerprint = [u8; 16];

/// The lineage of a session with a rolling hash for each context, so that an id covers a whole history at no cost.
// Invariant: `contexts` has one hash for each context of the lineage that was made here, `records` one for each record.
#[derive(Debug, Clone)]
pub(crate) struct Trail {
    lineage: Lineage,
    contexts: Column<Fingerprint>,
    records: Column<Fingerprint>,
}

impl Default for Trail {
    fn default() -> Self {
        let mut contexts = Column::default();
        contexts.push([0; 16]);
        Self { lineage: Lineage::default(), contexts, records: Column::default() }
    }
}

impl Trail {
    pub(crate) fn lineage(&self) -> &Lineage {
        &self.lineage
    }

    pub(crate) fn lineage_mut(&mut self) -> &mut Lineage {
        &mut self.lineage
    }

    /// A context that continues `parent`: see [`Lineage::extend`]. Its hash is H(… H(H(parent), first), …, last).
    pub(crate) fn extend(&mut self, parent: ContextId, records: &[RecordId]) -> ContextId {
        let context = self.lineage.extend(parent, records);
        if context.0 as usize == self.contexts.len() {
            let mut hash = self.of_context(parent);
            for &record in self.lineage.appended(context) {
                hash = fingerprint(&[&hash, &self.of_record(record)]);
            }
            self.contexts.push(hash);
        }
        context
    }

    /// Adds the next record, which has this fingerprint.
    pub(crate) fn push(&mut self, inputs: ContextId, own: Fingerprint) -> RecordId {
        self.records.push(own);
        self.lineage.push(inputs)
    }

    pub(crate) fn of_context(&self, context: ContextId) -> Fingerprint {
        self.contexts.get(context.0 as usize).copied().unwrap_or_default()
    }

    pub(crate) fn of_record(&self, record: RecordId) -> Fingerprint {
        self.records.get(record.0 as usize).copied().unwrap_or_default()
    }
}

/// Records by their ids: made ones by what they are made from, those by hand by their texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids {
    made: HashTable<RecordId>,
    by_hand: HashTable<RecordId>,
    state: RandomState,
}

impl Ids {
    /// The record of that id among these.
    pub(crate) fn find(&self, (trail, rows): (&Trail, &Rows), id: &str) -> Option<RecordId> {
        let made = || self.find_made(trail, from_hex(id)?);
        self.find_by_hand(rows, id).or_else(made)
    }

    /// Whether a record has the id that is made from this.
    pub(crate) fn takes(&self, (trail, rows): (&Trail, &Rows), own: Fingerprint) -> bool {
        self.find_made(trail, own).is_some() || self.find_by_hand(rows, text_of(&hex(&own))).is_some()
    }

    fn find_made(&self, trail: &Trail, own: Fingerprint) -> Option<RecordId> {
        self.made.find(self.state.hash_one(own), |&other| trail.of_record(other) == own).copied()
    }

    fn find_by_hand(&self, rows: &Rows, id: &str) -> Option<RecordId> {
        if self.by_hand.is_empty() {
            return None;
        }
        let same = |&other: &RecordId| rows.id_by_hand(other) == Some(id);
        self.by_hand.find(self.state.hash_one(id), same).copied()
    }

    /// Notes a record with an id of its own that is made from this.
    pub(crate) fn insert_made(&mut self, trail: &Trail, record: RecordId) {
        let hash = |&record: &RecordId| self.state.hash_one(trail.of_record(record));
        self.made.insert_unique(hash(&record), record, hash);
    }

    /// Notes a record by hand, with an id of its own.
    pub(crate) fn insert_by_hand(&mut self, rows: &Rows, record: RecordId) {
        let hash = |&record: &RecordId| self.state.hash_one(rows.id_by_hand(record).unwrap_or_default());
        self.by_hand.insert_unique(hash(&record), record, hash);
    }
}

/// The truncated hash of fields, each with its length before it.
pub(crate) fn fingerprint(fields: &[&[u8]]) -> Fingerprint {
    let mut hash = Sha256::new();
    for field in fields {
        hash.update((field.len() as u64).to_be_bytes());
        hash.update(field);
    }
    let mut short = [0; 16];
    for (to, from) in short.iter_mut().zip(hash.finalize()) {
        *to = from;
    }
    short
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(fingerprint: &Fingerprint) -> [u8; 32] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 32];
    for (pair, byte) in out.chunks_exact_mut(2).zip(fingerprint) {
        for (digit, four) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = DIGITS.get(usize::from(four)).copied().unwrap_or_default();
        }
    }
    out
}

fn text_of(digits: &[u8; 32]) -> &str {
    std::str::from_utf8(digits).unwrap_or_default()
}

/// What [`hex`] writes as that text.
fn from_hex(text: &str) -> Option<Fingerprint> {
    let digits: &[u8; 32] = text.as_bytes().try_into().ok()?;
    let four = |digit: u8| match digit {
        b'0'..=b'9' => Some(digit - b'0'),
        b'a'..=b'f' => Some(digit - b'a' + 10),
        _ => None,
    };
    let mut out = [0; 16];
    for (byte, pair) in out.iter_mut().zip(digits.chunks_exact(2)) {
        let [high, low] = pair else { return None };
        *byte = four(*high)? << 4 | four(*low)?;
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_keep_fields_apart_and_contexts_cover_their_order() {
        assert_ne!(fingerprint(&[b"ab", b"c"]), fingerprint(&[b"a", b"bc"]));
        assert_eq!(hex(&fingerprint(&[b"ab", b"c"])).len(), 32);
        let mut trail = Trail::default();
        let a = trail.push(ContextId::EMPTY, fingerprint(&[b"a"]));
        let b = trail.push(ContextId::EMPTY, fingerprint(&[b"b"]));
        let ab = trail.extend(ContextId::EMPTY, &[a, b]);
        let first = trail.extend(ContextId::EMPTY, &[a]);
        let stepwise = trail.extend(first, &[b]);
        let ba = trail.extend(ContextId::EMPTY, &[b, a]);
        assert_eq!(trail.of_context(ab), trail.of_context(stepwise));
        assert_ne!(trail.of_context(ab), trail.of_context(ba));
    }
}
