//! Ids of records: what a record says, where it stands, and all that it was computed from.

use crate::lineage::ContextId;
use crate::lineage::Lineage;
use crate::lineage::RecordId;
use crate::records::Record;
use crate::records::Text;
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
    contexts: Vec<Fingerprint>,
    records: Vec<Fingerprint>,
}

impl Default for Trail {
    fn default() -> Self {
        Self { lineage: Lineage::default(), contexts: vec![[0; 16]], records: Vec::new() }
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

    fn of_record(&self, record: RecordId) -> Fingerprint {
        self.records.get(record.0 as usize).copied().unwrap_or_default()
    }
}

/// Records by their ids, which the records themselves hold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ids {
    table: HashTable<RecordId>,
    state: RandomState,
}

impl Ids {
    /// The record of that id among these.
    pub(crate) fn find(&self, records: &[Record], id: &str) -> Option<RecordId> {
        self.table.find(self.state.hash_one(id), |&other| id_of(records, other) == id).copied()
    }

    /// Notes a record that is among these and has an id of its own.
    pub(crate) fn insert(&mut self, records: &[Record], record: RecordId) {
        let hash = |&record: &RecordId| self.state.hash_one(id_of(records, record));
        self.table.insert_unique(hash(&record), record, hash);
    }
}

fn id_of(records: &[Record], record: RecordId) -> &str {
    records.get(record.0 as usize).map_or("", |record| &record.id)
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

/// Lower-case hexadecimal.
pub(crate) fn hex(fingerprint: &Fingerprint) -> Text {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = [0; 32];
    for (pair, byte) in out.chunks_exact_mut(2).zip(fingerprint) {
        for (digit, four) in pair.iter_mut().zip([byte >> 4, byte & 15]) {
            *digit = DIGITS.get(usize::from(four)).copied().unwrap_or_default();
        }
    }
    std::str::from_utf8(&out).unwrap_or_default().into()
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
