use std::collections::BTreeMap;

/// Texts of a block.
const BLOCK: usize = 64;

/// A text of more bytes than this has a place of its own, so that the ends of a block fit their width.
const LARGE: usize = 1 << 24;

/// Texts by their numbers, in the order in which they came: each takes its bytes and four more.
// Invariant: every block but the last holds `BLOCK` texts, and none is empty.
#[derive(Debug, Clone, Default)]
pub struct Texts {
    blocks: Vec<Block>,
    large: BTreeMap<usize, Box<str>>,
    /// The room of a block that went, so that texts that come and go need none anew.
    spare: Option<Block>,
}

#[derive(Debug, Clone, Default)]
struct Block {
    text: String,
    ends: Vec<u32>,
}

impl Texts {
    /// Number of texts.
    #[must_use]
    pub fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.ends.len())
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.blocks.is_empty()
    }

    /// Adds a text at the end.
    pub fn push(&mut self, text: &str) {
        let number = self.len();
        if number.is_multiple_of(BLOCK) {
            // The last but one: texts may come and go at the end of the last.
            if let Some(full) = self.blocks.len().checked_sub(2).and_then(|at| self.blocks.get_mut(at)) {
                full.text.shrink_to_fit();
                full.ends.shrink_to_fit();
            }
            self.blocks.push(self.spare.take().unwrap_or_default());
        }
        let Some(block) = self.blocks.last_mut() else { return };
        if text.len() > LARGE {
            self.large.insert(number, text.into());
        } else {
            block.text.push_str(text);
        }
        // Sixty-four texts that are not large fit.
        block.ends.push(u32::try_from(block.text.len()).unwrap_or(u32::MAX));
    }

    /// Takes texts from the end until `len` are left.
    pub fn truncate(&mut self, len: usize) {
        while self.blocks.len() > len.div_ceil(BLOCK) {
            let Some(mut block) = self.blocks.pop() else { break };
            block.text.clear();
            block.ends.clear();
            self.spare = Some(block);
        }
        if !len.is_multiple_of(BLOCK)
            && let Some(last) = self.blocks.get_mut(len / BLOCK)
        {
            last.ends.truncate(len % BLOCK);
            let end = last.ends.last().map_or(0, |&end| end as usize);
            last.text.truncate(end);
        }
        if !self.large.is_empty() {
            self.large.split_off(&len);
        }
    }

    /// The text of that number; empty where there is none.
    #[must_use]
    pub fn get(&self, number: usize) -> &str {
        let Some(block) = self.blocks.get(number / BLOCK) else { return "" };
        let at = number % BLOCK;
        let start = at.checked_sub(1).map_or(Some(0), |before| block.ends.get(before).copied());
        let (Some(start), Some(&end)) = (start, block.ends.get(at)) else { return "" };
        if start == end {
            return self.large.get(&number).map_or("", |text| text);
        }
        block.text.get(start as usize..end as usize).unwrap_or("")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_keep_their_numbers_across_blocks() {
        let mut texts = Texts::default();
        let large = "x".repeat(LARGE + 1);
        let text = |number: usize| match number {
            70 => large.clone(),
            _ if number.is_multiple_of(5) => String::new(),
            _ => format!("é{number}"),
        };
        for number in 0..3 * BLOCK + 1 {
            texts.push(&text(number));
        }
        assert_eq!((texts.len(), texts.is_empty()), (3 * BLOCK + 1, false));
        assert!((0..texts.len()).all(|number| texts.get(number) == text(number)));
        assert_eq!(texts.get(3 * BLOCK + 1), "");
        assert_eq!(Texts::default().get(0), "");
        for len in [3 * BLOCK + 9, 3 * BLOCK, 2 * BLOCK + 1, 71, 70, 1, 0] {
            texts.truncate(len);
            assert_eq!(texts.len(), len.min(3 * BLOCK + 1));
            texts.push("new");
            assert_eq!(texts.get(texts.len() - 1), "new");
            assert!((0..texts.len() - 1).all(|number| texts.get(number) == text(number)), "{len}");
            texts.truncate(texts.len() - 1);
        }
    }
}
