//! The lineage read downwards: which contexts name a record, which continue a context, which records came of one.
//!
//! The lineage itself answers what a record was computed from. These lists answer what was computed from a record, in
//! space that grows with the contexts. They are made when a policy first asks, and then only fed with what is new.

use crate::lineage::{ContextId, Lineage, RecordId};

const NONE: u32 = u32::MAX;

/// The lists of one session.
// Invariant: one entry in `contexts` and `records` for each context and record seen; each link leads to an older entry
// of its list, or is `NONE`.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    contexts: Vec<ContextLinks>,
    records: Vec<RecordLinks>,
    mentions: Vec<Mention>,
}

#[derive(Debug, Clone, Copy)]
struct ContextLinks {
    /// The newest context that continues this one.
    child: u32,
    /// The next older context that continues the same one.
    sibling: u32,
    /// The newest record that was computed from this one.
    user: u32,
}

#[derive(Debug, Clone, Copy)]
struct RecordLinks {
    /// The newest mention of the record.
    mention: u32,
    /// The next older record that was computed from the same context.
    sibling: u32,
}

/// That a context adds a record to the one it continues.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mention {
    pub(crate) context: ContextId,
    /// The record's place among all inputs.
    pub(crate) place: u32,
    /// The next older mention of the same record.
    older: u32,
}

impl Links {
    /// Whether all contexts and records of the lineage are listed.
    pub(crate) fn is_current(&self, lineage: &Lineage) -> bool {
        self.contexts.len() == lineage.contexts() && self.records.len() == lineage.len()
    }

    /// Adds what is new. Costs as much.
    pub(crate) fn follow(&mut self, lineage: &Lineage) {
        if lineage.contexts() < self.contexts.len() || lineage.len() < self.records.len() {
            *self = Self::default();
        }
        let (contexts, records) = (self.contexts.len(), self.records.len());
        self.contexts.resize(lineage.contexts(), ContextLinks { child: NONE, sibling: NONE, user: NONE });
        self.records.resize(lineage.len(), RecordLinks { mention: NONE, sibling: NONE });
        for context in (0..).map(ContextId).take(self.contexts.len()).skip(contexts) {
            self.add_context(lineage, context);
        }
        for record in (0..).map(RecordId).take(self.records.len()).skip(records) {
            let user = self.contexts.get_mut(lineage.inputs(record).0 as usize).map(|links| &mut links.user);
            let older = user.map_or(NONE, |user| std::mem::replace(user, record.0));
            self.records.get_mut(record.0 as usize).into_iter().for_each(|links| links.sibling = older);
        }
    }

    fn add_context(&mut self, lineage: &Lineage, context: ContextId) {
        if context == ContextId::EMPTY {
            return;
        }
        let child = self.contexts.get_mut(lineage.parent(context).0 as usize).map(|links| &mut links.child);
        let older = child.map_or(NONE, |child| std::mem::replace(child, context.0));
        self.contexts.get_mut(context.0 as usize).into_iter().for_each(|links| links.sibling = older);
        let appended = lineage.appended(context);
        let before = lineage.context_len(context).saturating_sub(appended.len());
        for (place, record) in (u32::try_from(before).unwrap_or(NONE)..).zip(appended) {
            let number = u32::try_from(self.mentions.len()).unwrap_or(NONE);
            let newest = self.records.get_mut(record.0 as usize).map(|links| &mut links.mention);
            let older = newest.map_or(NONE, |newest| std::mem::replace(newest, number));
            self.mentions.push(Mention { context, place, older });
        }
    }

    /// The contexts that add the record.
    pub(crate) fn mentions(&self, record: RecordId) -> impl Iterator<Item = Mention> + '_ {
        let newest = self.records.get(record.0 as usize).and_then(|links| self.mention(links.mention));
        std::iter::successors(newest, |mention| self.mention(mention.older))
    }

    fn mention(&self, number: u32) -> Option<Mention> {
        self.mentions.get(number as usize).copied()
    }

    /// The contexts that continue the context.
    pub(crate) fn children(&self, context: ContextId) -> impl Iterator<Item = ContextId> + '_ {
        let newest = self.contexts.get(context.0 as usize).map_or(NONE, |links| links.child);
        let older = |at: u32| self.contexts.get(at as usize).map_or(NONE, |links| links.sibling);
        following(newest, older).map(ContextId)
    }

    /// The newest record that was computed from the context.
    pub(crate) fn user(&self, context: ContextId) -> Option<RecordId> {
        let newest = self.contexts.get(context.0 as usize)?.user;
        (newest != NONE).then_some(RecordId(newest))
    }

    /// The next older record that was computed from the same context as this one.
    pub(crate) fn older_user(&self, record: RecordId) -> Option<RecordId> {
        let older = self.records.get(record.0 as usize)?.sibling;
        (older != NONE).then_some(RecordId(older))
    }
}

fn following(newest: u32, older: impl Fn(u32) -> u32) -> impl Iterator<Item = u32> {
    let some = |at: u32| (at != NONE).then_some(at);
    std::iter::successors(some(newest), move |&at| some(older(at)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_of_a_record_is_found_also_after_more_arrived() {
        let (mut lineage, mut links) = (Lineage::default(), Links::default());
        let first = lineage.push(ContextId::EMPTY);
        let one = lineage.extend(ContextId::EMPTY, &[first]);
        let second = lineage.push(one);
        links.follow(&lineage);
        let two = lineage.extend(one, &[second]);
        let third = lineage.push(two);
        let fourth = lineage.push(one);
        assert!(!links.is_current(&lineage));
        links.follow(&lineage);
        assert!(links.is_current(&lineage));
        let mentions: Vec<_> =
            links.mentions(first).map(|mention| (mention.context, mention.place)).collect();
        assert_eq!(mentions, [(one, 0)]);
        assert_eq!(links.children(one).collect::<Vec<_>>(), [two]);
        assert_eq!((links.user(one), links.older_user(fourth)), (Some(fourth), Some(second)));
        assert_eq!((links.user(two), links.older_user(third)), (Some(third), None));
        assert_eq!(links.mentions(second).map(|mention| mention.place).collect::<Vec<_>>(), [1]);
    }
}
