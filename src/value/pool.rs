use std::hash::{BuildHasher as _, Hash as _, Hasher as _};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::column::Texts;
use crate::value::{CompoundId, ConstructorId, Symbol, Word};

/// Every text and compound value of one session, each once.
///
/// Values are numbered in the order of their first use. What was added after a [`Mark`] can be dropped again, so that
/// the values of one check do not outlive it.
// Invariant: the tables hold each number below `texts.len()` and `compounds.len()` exactly once.
#[derive(Debug, Clone, Default)]
pub struct Pool {
    texts: Texts,
    /// Bytes of the texts.
    bytes: usize,
    symbols: HashTable<u32>,
    words: Vec<Word>,
    compounds: Vec<(ConstructorId, usize)>,
    compound_table: HashTable<u32>,
    state: RandomState,
}

/// How far a [`Pool`] was filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    symbols: usize,
    compounds: usize,
}

impl Mark {
    /// The first symbol that was not there when the mark was set.
    #[must_use]
    pub fn next_symbol(self) -> Symbol {
        Symbol(u32::try_from(self.symbols).unwrap_or(u32::MAX))
    }
}

impl Pool {
    /// The pool with room for so many further texts and compound values each, so that their tables do not grow. A clone of
    /// it has the same room.
    #[must_use]
    pub fn with_room(mut self, values: usize) -> Self {
        let (texts, state) = (&self.texts, &self.state);
        self.symbols.reserve(values, |&id| state.hash_one(texts.get(id as usize)));
        let (words, compounds) = (&self.words, &self.compounds);
        self.compound_table.reserve(values, |&id| {
            let (constructor, fields) = compound_at(words, compounds, id);
            hash_compound(state, constructor, fields)
        });
        self
    }

    /// The symbol of a text.
    pub fn symbol(&mut self, text: &str) -> Symbol {
        let hash = self.state.hash_one(text);
        if let Some(&id) = self.symbols.find(hash, |&id| self.texts.get(id as usize) == text) {
            return Symbol(id);
        }
        let id = u32::try_from(self.texts.len()).unwrap_or(u32::MAX);
        self.texts.push(text);
        self.bytes += text.len();
        let (texts, state) = (&self.texts, &self.state);
        self.symbols.insert_unique(hash, id, |&id| state.hash_one(texts.get(id as usize)));
        Symbol(id)
    }

    /// The symbol of a text that is already there.
    #[must_use]
    pub fn find(&self, text: &str) -> Option<Symbol> {
        let hash = self.state.hash_one(text);
        self.symbols.find(hash, |&id| self.texts.get(id as usize) == text).map(|&id| Symbol(id))
    }

    /// The text of a symbol; empty for a symbol of another pool.
    #[must_use]
    pub fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.0 as usize)
    }

    /// The value built from these fields.
    pub fn compound(&mut self, constructor: ConstructorId, fields: &[Word]) -> CompoundId {
        let hash = hash_compound(&self.state, constructor, fields);
        let (words, compounds) = (&self.words, &self.compounds);
        let same = |&id: &u32| compound_at(words, compounds, id) == (constructor, fields);
        if let Some(&id) = self.compound_table.find(hash, same) {
            return CompoundId(id);
        }
        let id = u32::try_from(self.compounds.len()).unwrap_or(u32::MAX);
        self.words.extend_from_slice(fields);
        self.compounds.push((constructor, self.words.len()));
        let (words, compounds, state) = (&self.words, &self.compounds, &self.state);
        self.compound_table.insert_unique(hash, id, |&id| {
            let (constructor, fields) = compound_at(words, compounds, id);
            hash_compound(state, constructor, fields)
        });
        CompoundId(id)
    }

    /// Constructor and fields of a compound value; `nil` for a value of another pool.
    #[must_use]
    pub fn fields(&self, id: CompoundId) -> (ConstructorId, &[Word]) {
        compound_at(&self.words, &self.compounds, id.0)
    }

    /// How far the pool is filled now.
    #[must_use]
    pub fn mark(&self) -> Mark {
        Mark { symbols: self.texts.len(), compounds: self.compounds.len() }
    }

    /// Drops all values added since the mark. Costs as much as there are such values.
    pub fn reset(&mut self, mark: Mark) {
        for id in (mark.symbols..self.texts.len()).rev() {
            let text = self.texts.get(id);
            self.bytes -= text.len();
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let hash = self.state.hash_one(text);
            if let Ok(entry) = self.symbols.find_entry(hash, |&other| other == id) {
                entry.remove();
            }
        }
        self.texts.truncate(mark.symbols);
        for id in (mark.compounds..self.compounds.len()).rev() {
            let id = u32::try_from(id).unwrap_or(u32::MAX);
            let (constructor, fields) = compound_at(&self.words, &self.compounds, id);
            let hash = hash_compound(&self.state, constructor, fields);
            if let Ok(entry) = self.compound_table.find_entry(hash, |&other| other == id) {
                entry.remove();
            }
        }
        self.compounds.truncate(mark.compounds);
        self.words.truncate(self.compounds.last().map_or(0, |&(_, end)| end));
    }

    /// Bytes that texts and compound values take.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes + self.texts.len() * 8 + self.words.len() * 8 + self.compounds.len() * 16
    }
}

fn compound_at<'a>(
    words: &'a [Word],
    compounds: &[(ConstructorId, usize)],
    id: u32,
) -> (ConstructorId, &'a [Word]) {
    let id = id as usize;
    let start = if id == 0 { 0 } else { compounds.get(id - 1).map_or(0, |&(_, end)| end) };
    let (constructor, end) = compounds.get(id).copied().unwrap_or((ConstructorId::NIL, start));
    (constructor, words.get(start..end).unwrap_or(&[]))
}

fn hash_compound(state: &RandomState, constructor: ConstructorId, fields: &[Word]) -> u64 {
    let mut hasher = state.build_hasher();
    constructor.hash(&mut hasher);
    fields.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_share_a_number_and_a_mark_drops_later_ones() {
        let mut pool = Pool::default();
        let a = pool.symbol("a");
        let empty = pool.symbol("");
        let pair = pool.compound(ConstructorId(1), &[Word::symbol(a), Word::number(-1)]);
        let mark = pool.mark();
        let b = pool.symbol("b");
        pool.compound(ConstructorId(1), &[Word::symbol(b), Word::number(-1)]);
        pool.reset(mark);
        assert_eq!(pool.find("b"), None);
        assert_eq!(pool.symbol("a"), a);
        assert_eq!(pool.symbol(""), empty);
        assert_eq!(pool.compound(ConstructorId(1), &[Word::symbol(a), Word::number(-1)]), pair);
        assert_eq!(pool.text(pool.find("a").unwrap()), "a");
        assert_eq!(pool.symbol("b"), b);
        assert_eq!(pool.fields(pair), (ConstructorId(1), &[Word::symbol(a), Word::number(-1)][..]));
    }
}
