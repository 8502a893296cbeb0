//! Walks over the lineage, and what they need not look at twice.
//!
//! A scan of `Edge` with its destination known lists the context that the destination was computed from; one with its
//! source known lists the contexts that hold the source, and whatever was computed from those. Contexts share their
//! beginnings, so within one run of a plan a part that was listed under the same live variables is not listed again:
//! all that follows from it has been derived. That makes recursion over edges cost as much as there are contexts and
//! records, where the edges would be the square of them.

use std::cell::{OnceCell, RefCell};
use std::sync::Arc;

use foldhash::fast::RandomState;
use hashbrown::{HashMap, HashSet};

use crate::engine::ancestry::Ancestry;
use crate::engine::links::Links;
use crate::lineage::{ContextId, RecordId};
use crate::value::Word;

/// Places that are kept for steps with live variables. Beyond that all are forgotten, which costs looking at them again.
const MOST_PLACES: usize = 1 << 20;

/// What the walks of one run of a plan share.
#[derive(Debug, Default)]
pub(crate) struct Walks {
    pub(crate) links: OnceCell<Arc<Links>>,
    seen: RefCell<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    /// For steps without live variables.
    steps: Vec<Places>,
    // Both probed, never walked.
    scopes: HashMap<(usize, Box<[Word]>), u32, RandomState>,
    places: HashSet<(u32, Place), RandomState>,
}

#[derive(Debug, Default)]
struct Places {
    contexts: Bits,
    records: Bits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Place {
    Context(ContextId),
    Record(RecordId),
}

#[derive(Debug, Default)]
struct Bits(Vec<u64>);

impl Bits {
    /// Adds a number; tells whether it is new.
    fn add(&mut self, number: u32) -> bool {
        let (at, bit) = (number as usize / 64, 1_u64 << (number % 64));
        if at >= self.0.len() {
            self.0.resize((at + 1).next_power_of_two(), 0);
        }
        self.0.get_mut(at).is_some_and(|word| {
            let new = *word & bit == 0;
            *word |= bit;
            new
        })
    }
}

/// Which walks share what they have seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// None do: each is complete.
    Own,
    /// All of this step.
    Step(usize),
    /// Those of one step with the same live variables.
    Alike(u32),
}

impl Walks {
    /// The scope of a walk for a step with these values of its live variables.
    pub(crate) fn scope(&self, step: usize, live: &[Word]) -> Scope {
        let mut seen = self.seen.borrow_mut();
        if live.is_empty() {
            if seen.steps.len() <= step {
                seen.steps.resize_with(step + 1, Places::default);
            }
            return Scope::Step(step);
        }
        let next = u32::try_from(seen.scopes.len()).unwrap_or(u32::MAX);
        Scope::Alike(*seen.scopes.entry((step, live.into())).or_insert(next))
    }

    /// Whether the context comes for the first time.
    fn context(&self, scope: Scope, context: ContextId) -> bool {
        let mut seen = self.seen.borrow_mut();
        match scope {
            Scope::Own => true,
            Scope::Step(step) => seen.steps.get_mut(step).is_none_or(|places| places.contexts.add(context.0)),
            Scope::Alike(scope) => seen.add(scope, Place::Context(context)),
        }
    }

    /// Whether the record comes for the first time.
    fn record(&self, scope: Scope, record: RecordId) -> bool {
        let mut seen = self.seen.borrow_mut();
        match scope {
            Scope::Own => true,
            Scope::Step(step) => seen.steps.get_mut(step).is_none_or(|places| places.records.add(record.0)),
            Scope::Alike(scope) => seen.add(scope, Place::Record(record)),
        }
    }
}

impl Seen {
    fn add(&mut self, scope: u32, place: Place) -> bool {
        if self.places.len() >= MOST_PLACES {
            self.places.clear();
        }
        self.places.insert((scope, place))
    }
}

/// What one step of a walk comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Next {
    /// A record, with its place among the inputs where the walk is over edges.
    Found(RecordId, u32),
    /// Something was looked at, and nothing found.
    Looked,
    /// There is no more.
    Done,
}

/// A walk from one end of a lineage relation to all records at its other end.
pub(crate) enum Walk<'a> {
    /// Over edges, to what a record was computed from.
    Inputs(Inputs<'a>),
    /// Over edges, to what was computed from a record.
    Outputs(Outputs),
    /// To all that a record came from. Shared by all of a step.
    Above(Above<'a>),
    /// To all that came of a record and is an ancestor of `Current` records. Shared by all of a step.
    Below(Below),
    /// A list; an entry may be nothing that was looked for.
    Listed(Box<dyn Iterator<Item = Option<RecordId>> + 'a>),
}

/// The records of a context, last first.
pub(crate) struct Inputs<'a> {
    /// What is still to be listed after the piece at hand.
    context: ContextId,
    left: &'a [RecordId],
    /// The place of the first record of the piece at hand.
    before: u32,
    scope: Scope,
}

/// The records that were computed from contexts, and from those that continue them.
pub(crate) struct Outputs {
    /// Contexts, and the place of the source in them.
    open: Vec<(ContextId, u32)>,
    user: Option<RecordId>,
    place: u32,
    scope: Scope,
}

/// What contexts hold, and what that came from.
pub(crate) struct Above<'a> {
    open: Vec<ContextId>,
    left: &'a [RecordId],
    scope: Scope,
}

/// What was computed from contexts, and what was from that.
pub(crate) struct Below {
    open: Vec<ContextId>,
    user: Option<RecordId>,
    scope: Scope,
}

impl<'a> Walk<'a> {
    pub(crate) fn inputs(dest: RecordId, ancestry: &Ancestry<'_>, scope: Scope) -> Self {
        let context = ancestry.lineage.inputs(dest);
        Self::Inputs(Inputs { context, left: &[], before: 0, scope })
    }

    pub(crate) fn outputs(source: RecordId, ancestry: &Ancestry<'_>, scope: Scope) -> Self {
        let mentions = ancestry.links().mentions(source);
        let open = mentions.map(|mention| (mention.context, mention.place)).collect();
        Self::Outputs(Outputs { open, user: None, place: 0, scope })
    }

    pub(crate) fn above(dest: RecordId, ancestry: &Ancestry<'_>, scope: Scope) -> Self {
        Self::Above(Above { open: vec![ancestry.lineage.inputs(dest)], left: &[], scope })
    }

    pub(crate) fn below(source: RecordId, ancestry: &Ancestry<'_>, scope: Scope) -> Self {
        let open = ancestry.links().mentions(source).map(|mention| mention.context).collect();
        Self::Below(Below { open, user: None, scope })
    }

    /// Takes one step.
    pub(crate) fn next(&mut self, ancestry: &'a Ancestry<'a>) -> Next {
        match self {
            Self::Inputs(walk) => walk.next(ancestry),
            Self::Outputs(walk) => walk.next(ancestry),
            Self::Above(walk) => walk.next(ancestry),
            Self::Below(walk) => walk.next(ancestry),
            Self::Listed(list) => match list.next() {
                Some(Some(record)) => Next::Found(record, 0),
                Some(None) => Next::Looked,
                None => Next::Done,
            },
        }
    }
}

impl<'a> Inputs<'a> {
    fn next(&mut self, ancestry: &'a Ancestry<'a>) -> Next {
        let (lineage, walks) = (ancestry.lineage, &ancestry.walks);
        if let Some((&record, rest)) = self.left.split_last() {
            self.left = rest;
            let place = self.before + u32::try_from(rest.len()).unwrap_or(0);
            return if walks.record(self.scope, record) { Next::Found(record, place) } else { Next::Looked };
        }
        let here = self.context;
        if here == ContextId::EMPTY || !walks.context(self.scope, here) {
            return Next::Done;
        }
        self.left = lineage.appended(here);
        let before = lineage.context_len(here).saturating_sub(self.left.len());
        self.before = u32::try_from(before).unwrap_or(0);
        self.context = lineage.parent(here);
        Next::Looked
    }
}

impl Outputs {
    fn next(&mut self, ancestry: &Ancestry<'_>) -> Next {
        let links = ancestry.links();
        if let Some(found) = self.user {
            self.user = links.older_user(found);
            return Next::Found(found, self.place);
        }
        let Some((here, place)) = self.open.pop() else { return Next::Done };
        if ancestry.walks.context(self.scope, here) {
            self.open.extend(links.children(here).map(|child| (child, place)));
            (self.user, self.place) = (links.user(here), place);
        }
        Next::Looked
    }
}

impl<'a> Above<'a> {
    fn next(&mut self, ancestry: &'a Ancestry<'a>) -> Next {
        let (lineage, walks) = (ancestry.lineage, &ancestry.walks);
        if let Some((&record, rest)) = self.left.split_last() {
            self.left = rest;
            if !walks.record(self.scope, record) {
                return Next::Looked;
            }
            self.open.push(lineage.inputs(record));
            return Next::Found(record, 0);
        }
        let Some(here) = self.open.pop() else { return Next::Done };
        if here != ContextId::EMPTY && walks.context(self.scope, here) {
            self.left = lineage.appended(here);
            self.open.push(lineage.parent(here));
        }
        Next::Looked
    }
}

impl Below {
    fn next(&mut self, ancestry: &Ancestry<'_>) -> Next {
        let (links, walks) = (ancestry.links(), &ancestry.walks);
        if let Some(found) = self.user {
            self.user = links.older_user(found);
            // What came of a record that is no ancestor is none either.
            if !ancestry.depends.contains(found) || !walks.record(self.scope, found) {
                return Next::Looked;
            }
            self.open.extend(links.mentions(found).map(|mention| mention.context));
            return Next::Found(found, 0);
        }
        let Some(here) = self.open.pop() else { return Next::Done };
        if walks.context(self.scope, here) {
            self.open.extend(links.children(here));
            self.user = links.user(here);
        }
        Next::Looked
    }
}
