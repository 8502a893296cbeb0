//! What each agent was shown: one context per viewer, extended as the session grows.
//!
//! A viewer is an agent on a branch in an isolation scope. Its context shares all it can: a viewer that comes new
//! continues what its branch shows to anyone, and a branch that comes new continues the branch above it.

mod turn;

use crate::column::Column;
use crate::column::Texts;
use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::records::Text;
use crate::records::identity::Trail;
use crate::records::rows::OriginId;
use crate::records::rows::Rows;
use crate::records::visible::turn::Turn;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::hash::BuildHasher as _;
use std::num::NonZeroU32;

/// An interned name; 0 is the empty one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Name(u32);

impl Name {
    pub(crate) const NONE: Self = Self(0);
}

/// Authors, branches, scopes and invocations, each kept once.
// Invariant: `numbers` has each name but the empty one, which is the first of `texts`.
#[derive(Debug, Clone)]
struct Names {
    texts: Texts,
    numbers: HashTable<Name>,
    state: RandomState,
}

impl Default for Names {
    fn default() -> Self {
        let mut texts = Texts::default();
        texts.push("");
        Self { texts, numbers: HashTable::new(), state: RandomState::default() }
    }
}

impl Names {
    fn find(&self, text: &str) -> Option<Name> {
        if text.is_empty() {
            return Some(Name::NONE);
        }
        self.numbers.find(self.state.hash_one(text), |name| self.text(*name) == text).copied()
    }

    fn add(&mut self, text: &str) -> Name {
        let name = Name(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(text);
        let (texts, state) = (&self.texts, &self.state);
        let hash = |name: &Name| state.hash_one(texts.get(name.0 as usize));
        self.numbers.insert_unique(hash(&name), name, hash);
        name
    }

    fn text(&self, name: Name) -> &str {
        self.texts.get(name.0 as usize)
    }
}

/// Number of an event in its session, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(u32);

impl Moment {
    // A session of more events than a `u32` counts does not fit into memory.
    fn at(place: usize) -> Self {
        Self(u32::try_from(place).unwrap_or(u32::MAX))
    }

    pub(crate) fn place(self) -> usize {
        self.0 as usize
    }
}

/// To whom a record is shown, within branch and scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Everyone,
    /// A thought.
    Author,
    Nobody,
}

/// What is kept of an event.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) first: u32,
    pub(crate) end: u32,
    pub(crate) author: Name,
    pub(crate) branch: Name,
    pub(crate) scope: Name,
    pub(crate) origin: OriginId,
    /// What few events have.
    pub(crate) rare: Option<Box<Rare>>,
    /// Whether it lies inside a run that a call of this session started, on a branch of its own.
    pub(crate) inner: bool,
    /// Whether a turn starts with it, for agents other than its author.
    pub(crate) starts_turn: bool,
    alive: bool,
    replaced_by: Option<NonZeroU32>,
}

/// What few events have.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Rare {
    /// The times between which a summary replaces what was recorded before it.
    pub(crate) span: Option<(Text, Text)>,
    /// Where the calls were made that it answers from elsewhere: branch, scope, and whether that is inner too.
    pub(crate) answers: Vec<(Name, Name, bool)>,
    /// The event from which on a rewind undoes.
    pub(crate) rewinds_to: Option<Moment>,
    /// The event with the first call that it answers as a person.
    pub(crate) goes_on_with: Option<Moment>,
    /// Whether every viewer sees it, whatever is rewound.
    pub(crate) everywhere: bool,
}

impl Entry {
    pub(crate) fn new(records: std::ops::Range<u32>, origin: OriginId) -> Self {
        Self {
            first: records.start,
            end: records.end,
            author: Name::NONE,
            branch: Name::NONE,
            scope: Name::NONE,
            origin,
            rare: None,
            inner: false,
            starts_turn: false,
            alive: true,
            replaced_by: None,
        }
    }

    fn is_everywhere(&self) -> bool {
        self.rare.as_ref().is_some_and(|rare| rare.everywhere)
    }

    fn rewinds_to(&self) -> Option<Moment> {
        self.rare.as_ref()?.rewinds_to
    }

    fn goes_on_with(&self) -> Option<Moment> {
        self.rare.as_ref()?.goes_on_with
    }

    fn records(&self) -> impl Iterator<Item = RecordId> + use<> {
        (self.first..self.end).map(RecordId)
    }
}

/// Who looks. No agent: what any agent there is shown. No branch: events without a branch alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Viewer {
    scope: Name,
    branch: Option<Name>,
    agent: Option<Name>,
}

#[derive(Debug, Clone)]
struct View {
    context: ContextId,
    /// Events that it has taken in.
    upto: usize,
    /// The state of rewinds and compactions that it was built under.
    epoch: u32,
    /// Agents whose thoughts it leaves out.
    thinkers: BTreeSet<Name>,
}

/// An isolation scope.
#[derive(Debug, Clone, Copy, Default)]
struct Scope {
    /// The call that it was opened for.
    call: Option<RecordId>,
    /// Whether it has events.
    seen: bool,
}

/// The events so far, and what each viewer was shown of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sight {
    names: Names,
    entries: Column<Entry>,
    shown: Column<Shown>,
    /// Events that are neither rewound nor replaced by a summary.
    alive: Column<u32>,
    epoch: u32,
    views: BTreeMap<Viewer, View>,
    /// Turns of agents that are shown no more than those.
    turns: BTreeMap<Viewer, Turn>,
    /// The first event of each invocation, by name.
    first_of: Column<Option<Moment>>,
    scopes: BTreeMap<Name, Scope>,
    any_rewind: bool,
    /// What the last compaction replaced: the next one may have been shown it again.
    last_replaced: Vec<usize>,
    /// The newest record that stands for events which were never sent.
    unsent: Option<RecordId>,
}

impl Sight {
    pub(crate) fn name(&mut self, text: &str) -> Name {
        // Most sessions have neither branches nor scopes.
        if text.is_empty() {
            return Name::NONE;
        }
        self.names.find(text).unwrap_or_else(|| self.names.add(text))
    }

    pub(crate) fn find(&self, text: &str) -> Option<Name> {
        self.names.find(text)
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        self.names.text(name)
    }

    /// The number that the next event gets.
    pub(crate) fn next(&self) -> Moment {
        Moment::at(self.entries.len())
    }

    pub(crate) fn is_alive(&self, moment: Moment) -> bool {
        self.entries.get(moment.place()).is_some_and(|entry| entry.alive)
    }

    /// The records of an event; none for one that is not complete.
    pub(crate) fn records_of(&self, moment: Moment) -> Option<std::ops::Range<u32>> {
        self.entries.get(moment.place()).map(|entry| entry.first..entry.end)
    }

    /// Notes the call that an isolation scope was opened for.
    pub(crate) fn open_scope(&mut self, scope: Name, call: RecordId) {
        self.scopes.entry(scope).or_default().call.get_or_insert(call);
    }

    /// Notes to whom the next record is shown.
    pub(crate) fn show(&mut self, shown: Shown) {
        self.shown.push(shown);
    }

    /// What the agent is shown now.
    pub(crate) fn context(&mut self, trail: &mut Trail, agent: Name, branch: Name, scope: Name) -> ContextId {
        let viewer = Viewer { scope, branch: Some(branch), agent: Some(agent) };
        if !self.views.contains_key(&viewer) {
            let common = self.common(trail, Some(branch), scope);
            if !common.thinkers.contains(&agent) {
                return common.context;
            }
        }
        self.refresh(trail, viewer).context
    }

    /// What any agent on the branch is shown now, thoughts left out.
    fn common(&mut self, trail: &mut Trail, branch: Option<Name>, scope: Name) -> View {
        let viewer = Viewer { scope, branch, agent: None };
        if !self.views.contains_key(&viewer) {
            let view = match branch {
                _ if !self.has_events(scope) => Some(self.opened(trail, scope)),
                Some(name) if name != Name::NONE => {
                    let above = self.above(name, scope);
                    Some(self.common_of_known(trail, above, scope))
                }
                Some(_) | None => None,
            };
            if let Some(view) = view {
                self.views.insert(viewer, view);
            }
        }
        self.refresh(trail, viewer)
    }

    /// The same for a branch above, which has a view already, or is that of events without a branch.
    fn common_of_known(&mut self, trail: &mut Trail, branch: Option<Name>, scope: Name) -> View {
        self.refresh(trail, Viewer { scope, branch, agent: None })
    }

    /// The nearest branch above that has events; none for events without a branch.
    fn above(&self, branch: Name, scope: Name) -> Option<Name> {
        prefixes(self.text(branch))
            .skip(1)
            .filter_map(|prefix| self.find(prefix))
            .find(|&name| self.views.contains_key(&Viewer { scope, branch: Some(name), agent: None }))
    }

    fn has_events(&self, scope: Name) -> bool {
        self.scopes.get(&scope).is_some_and(|scope| scope.seen)
    }

    fn opened(&self, trail: &mut Trail, scope: Name) -> View {
        let call = self.scopes.get(&scope).and_then(|scope| scope.call);
        let first: Vec<_> = self.unsent.into_iter().chain(call).collect();
        let context = trail.extend(ContextId::EMPTY, &first);
        View { context, upto: self.entries.len(), epoch: self.epoch, thinkers: BTreeSet::new() }
    }

    /// Takes in what is new. A view that a rewind or a compaction has overtaken is built anew, and keeps the part that
    /// still holds.
    fn refresh(&mut self, trail: &mut Trail, viewer: Viewer) -> View {
        let known = self.views.remove(&viewer);
        let mut view = match known {
            Some(mut view) if view.epoch == self.epoch => {
                let records = self.visible(viewer, view.upto..self.entries.len(), &mut view.thinkers);
                view.context = trail.extend(view.context, &records);
                view
            }
            known => {
                let mut view = self.opened(trail, viewer.scope);
                let mut records = trail.lineage().members(view.context);
                let alive = self.alive.iter().map(|&number| number as usize);
                records.extend(self.visible(viewer, alive, &mut view.thinkers));
                let old = known.map_or(ContextId::EMPTY, |view| view.context);
                view.context = continued(trail, old, &records);
                view
            }
        };
        view.upto = self.entries.len();
        self.views.insert(viewer, view.clone());
        view
    }

    /// The records that the viewer is shown of these events.
    fn visible(
        &self,
        viewer: Viewer,
        events: impl Iterator<Item = usize>,
        thinkers: &mut BTreeSet<Name>,
    ) -> Vec<RecordId> {
        let mut records = Vec::new();
        for entry in events.filter_map(|i| self.entries.get(i)) {
            if !entry.alive || entry.replaced_by.is_some() || !self.sees(viewer, entry) {
                continue;
            }
            for record in entry.records() {
                match self.shown.get(record.0 as usize) {
                    Some(Shown::Everyone) => records.push(record),
                    Some(Shown::Author) if viewer.agent == Some(entry.author) => records.push(record),
                    Some(Shown::Author) => {
                        thinkers.insert(entry.author);
                    }
                    Some(Shown::Nobody) | None => {}
                }
            }
        }
        records
    }

    fn sees(&self, viewer: Viewer, entry: &Entry) -> bool {
        let own = (entry.branch, entry.scope, entry.inner);
        let answers = entry.rare.iter().flat_map(|rare| &rare.answers);
        entry.is_everywhere()
            || std::iter::once(&own).chain(answers).any(|&place| self.sees_place(viewer, place))
    }

    fn sees_place(&self, viewer: Viewer, (of, scope, inner): (Name, Name, bool)) -> bool {
        if viewer.scope != scope {
            return false;
        }
        match viewer.branch {
            None => of == Name::NONE,
            Some(Name::NONE) => !inner,
            Some(branch) => branch_sees(self.text(branch), self.text(of)),
        }
    }

    /// Whether an event lies inside a run on a branch of its own.
    pub(crate) fn is_inner(&self, moment: Moment) -> bool {
        self.entries.get(moment.place()).is_some_and(|entry| entry.inner)
    }

    /// Adds the newest record, which stands for events that were never sent: every viewer sees it from here on.
    pub(crate) fn append_unsent(&mut self, record: RecordId, origin: OriginId) {
        if let Some(newest) = self.shown.last_mut() {
            *newest = Shown::Everyone;
        }
        let rare = Some(Box::new(Rare { everywhere: true, ..Rare::default() }));
        let entry = Entry { rare, ..Entry::new(record.0..record.0.saturating_add(1), origin) };
        self.alive.push(self.next().0);
        self.entries.push(entry);
        self.unsent = Some(record);
    }

    /// The newest record that stands for events which were never sent.
    pub(crate) fn unsent(&self) -> Option<RecordId> {
        self.unsent
    }

    /// Adds an event whose records have been added.
    pub(crate) fn append(&mut self, trail: &mut Trail, entry: Entry, invocation: Name) {
        let (branch, scope) = (Some(entry.branch), entry.scope);
        let starts = entry.branch != Name::NONE || !self.has_events(scope);
        if starts && !self.views.contains_key(&Viewer { scope, branch, agent: None }) {
            // A branch starts from what the branch above it shows at this moment: later that would be hard to tell.
            self.common(trail, branch, scope);
        }
        self.keep_thoughts(trail, &entry);
        self.scopes.entry(scope).or_default().seen = true;
        let moment = self.next();
        while self.first_of.len() <= invocation.0 as usize {
            self.first_of.push(None);
        }
        if let Some(first) = self.first_of.get_mut(invocation.0 as usize) {
            first.get_or_insert(moment);
        }
        let rewinds = entry.rewinds_to().is_some();
        self.alive.push(moment.0);
        self.entries.push(entry);
        if rewinds {
            self.rewind();
        }
    }

    /// An agent whose first thought comes gets a view of its own, from what anyone there is shown until now.
    fn keep_thoughts(&mut self, trail: &mut Trail, entry: &Entry) {
        let (branch, scope) = (Some(entry.branch), entry.scope);
        let viewer = Viewer { scope, branch, agent: Some(entry.author) };
        let thinks = |record: RecordId| self.shown.get(record.0 as usize) == Some(&Shown::Author);
        if !entry.records().any(thinks) || self.views.contains_key(&viewer) {
            return;
        }
        let common = self.common(trail, branch, scope);
        if !common.thinkers.contains(&entry.author) {
            self.views.insert(viewer, common);
        }
    }

    #[cfg(test)]
    pub(crate) fn forget_views(&mut self) {
        self.views.clear();
    }

    /// What [`Self::context`] gives, by a look at all events.
    #[cfg(test)]
    pub(crate) fn context_anew(
        &mut self,
        trail: &mut Trail,
        agent: Name,
        branch: Name,
        scope: Name,
    ) -> ContextId {
        self.refresh(trail, Viewer { scope, branch: Some(branch), agent: Some(agent) }).context
    }

    /// The first event of an invocation.
    pub(crate) fn first_of(&self, invocation: &str) -> Option<Moment> {
        *self.first_of.get(self.find(invocation)?.0 as usize)?
    }

    /// From the end backwards each rewind undoes all from its target to itself; what it undoes undoes nothing.
    fn rewind(&mut self) {
        self.epoch += 1;
        self.any_rewind = true;
        let mut undone_from = None;
        let last = self.entries.len();
        for (i, entry) in (0..last).rev().zip(self.entries.iter_mut().rev()) {
            let everywhere = entry.is_everywhere();
            entry.alive = everywhere || undone_from.is_none_or(|from| i < from);
            if entry.alive && !everywhere {
                undone_from = entry.rewinds_to().map(Moment::place);
            }
        }
        self.alive = Column::default();
        for i in 0..self.entries.len() {
            let by = self.entries.get(i).and_then(|entry| entry.replaced_by);
            let summary = by.and_then(|by| self.entries.get(by.get() as usize - 1));
            let stands = summary.is_some_and(|summary| summary.alive);
            if let Some(entry) = self.entries.get_mut(i) {
                entry.replaced_by = by.filter(|_| stands);
                if entry.alive && !stands {
                    self.alive.push(Moment::at(i).0);
                }
            }
        }
    }

    /// Replaces what lies within the span by a summary that comes next, on this branch and in this scope. Returns all
    /// records that the summary may have been computed from, also rewound ones: some versions summarise those too.
    pub(crate) fn replace(
        &mut self,
        rows: &Rows,
        span: (&str, &str),
        branch: Name,
        scope: Name,
    ) -> Vec<RecordId> {
        let candidates: BTreeSet<usize> = if self.any_rewind {
            (0..self.entries.len()).collect()
        } else {
            self.alive.iter().map(|&i| i as usize).chain(self.last_replaced.iter().copied()).collect()
        };
        let (mut sources, mut replaced) = (Vec::new(), Vec::new());
        let summary = self.next().0;
        for i in candidates {
            let Some(entry) = self.entries.get(i).filter(|entry| within(rows, entry, span)) else { continue };
            sources.extend(
                entry.records().filter(|record| {
                    !matches!(self.shown.get(record.0 as usize), Some(Shown::Nobody) | None)
                }),
            );
            let stands_for = entry.alive
                && entry.replaced_by.is_none()
                && entry.scope == scope
                && branch_sees(self.text(entry.branch), self.text(branch))
                && (branch == Name::NONE || entry.branch != Name::NONE);
            if stands_for {
                replaced.push(i);
            }
        }
        for &i in &replaced {
            if let Some(entry) = self.entries.get_mut(i) {
                entry.replaced_by = NonZeroU32::new(summary.saturating_add(1));
            }
        }
        let mut alive = Column::default();
        let stands = |i: u32| self.entries.get(i as usize).is_some_and(|entry| entry.replaced_by.is_none());
        self.alive.iter().copied().filter(|&i| stands(i)).for_each(|i| alive.push(i));
        self.alive = alive;
        self.last_replaced = replaced;
        self.epoch += 1;
        sources
    }
}

/// The context of these records in this order, which shares with `old` what they have in common at their start.
pub(crate) fn continued(trail: &mut Trail, old: ContextId, records: &[RecordId]) -> ContextId {
    let before = trail.lineage().members(old);
    let common = before.iter().zip(records).take_while(|(a, b)| a == b).count();
    let mut base = old;
    while trail.lineage().context_len(base) > common {
        base = trail.lineage().parent(base);
    }
    let rest = records.get(trail.lineage().context_len(base)..).unwrap_or_default();
    trail.extend(base, rest)
}

/// Whether the event, or all that it summarises, lies within the span.
fn within(rows: &Rows, entry: &Entry, (start, end): (&str, &str)) -> bool {
    let time = rows.time(entry.origin);
    let span = entry.rare.as_ref().and_then(|rare| rare.span.as_ref());
    let (first, last) = span.map_or((&*time, &*time), |(first, last)| (first, last));
    if [start, end, first, last].iter().any(|time| time.is_empty()) {
        return false;
    }
    clock(start) <= clock(first) && clock(last) <= clock(end)
}

/// A time in UTC in a form that sorts as text.
fn clock(time: &str) -> &str {
    let time = time.trim_end_matches('Z');
    if time.contains('.') { time.trim_end_matches('0').trim_end_matches('.') } else { time }
}

/// Whether someone on branch `viewer` sees events of branch `of`: segments count, never text.
pub(crate) fn branch_sees(viewer: &str, of: &str) -> bool {
    of.is_empty()
        || viewer.is_empty()
        || viewer.strip_prefix(of).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// A branch and those above it, nearest first, without the empty one.
pub(crate) fn prefixes(branch: &str) -> impl Iterator<Item = &str> {
    let mut next = Some(branch).filter(|text| !text.is_empty());
    std::iter::from_fn(move || {
        let here = next?;
        next = here.rsplit_once('.').map(|(above, _)| above).filter(|text| !text.is_empty());
        Some(here)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::RecordId;
    use crate::records::Role;
    use crate::records::building::assumed;
    use crate::records::building::at;
    use crate::records::building::build;
    use crate::records::building::inputs;
    use crate::records::building::warned;

    #[test]
    fn branches_are_seen_by_segments() {
        let rows = [
            ("", "a", true),
            ("a", "", true),
            ("a", "a", true),
            ("a.b", "a", true),
            ("a", "a.b", false),
            ("root.agent_10", "root.agent_1", false),
            ("root.agent_1.sub", "root.agent_1", true),
        ];
        for (viewer, of, seen) in rows {
            assert_eq!(branch_sees(viewer, of), seen, "{viewer} {of}");
        }
        assert_eq!(prefixes("a.b.c").collect::<Vec<_>>(), ["a.b.c", "a.b", "a"]);
    }

    #[test]
    fn each_branch_sees_itself_and_those_above_it() {
        let (graph, _) = build(
            r#"user say 0
               a say 1 @ "branch":"r.a"
               b say 2 @ "branch":"r.b"
               user say 3
               a say 4 @ "branch":"r.a"
               sub say 5 @ "branch":"r.a.s"
               r say 6 @ "branch":"r"
               sub say 7 @ "branch":"r.a.s"
               root say 8"#,
        );
        let rows: [(u32, &[u32]); 7] = [
            (1, &[0]),
            (2, &[0]),
            (4, &[0, 1, 3]),
            (5, &[0, 1, 3, 4]),
            (6, &[0, 3]),
            (7, &[0, 1, 3, 4, 5, 6]),
            (8, &[0, 1, 2, 3, 4, 5, 6, 7]),
        ];
        for (record, expected) in rows {
            assert_eq!(inputs(&graph, record), expected, "{record}");
        }
    }

    #[test]
    fn thoughts_are_for_their_author() {
        let (graph, _) =
            build("user say 0\na think 1\n& say 2\nb say 3\na say 4\nb think 5\na say 6\nb say 7\nc say 8");
        let rows: [(u32, &[u32]); 5] = [
            (3, &[0, 2]),
            (4, &[0, 1, 2, 3]),
            (6, &[0, 1, 2, 3, 4]),
            (7, &[0, 2, 3, 4, 5, 6]),
            (8, &[0, 2, 3, 4, 6, 7]),
        ];
        for (record, expected) in rows {
            assert_eq!(inputs(&graph, record), expected, "{record}");
        }
    }

    #[test]
    fn a_run_inside_a_call_is_linked_to_it_and_hidden_from_outside() {
        let (graph, _) = build(
            r#"user say 0
               boss call k1 helper {}
               helper say 2 @ "branch":"helper@k1"
               boss answer k1 helper {}
               boss call k2 worker {}
               user say 5 @ "branch":"worker@k2","isolationScope":"k2"
               worker say 6 @ "branch":"worker@k2","isolationScope":"k2"
               user say 7 @ "branch":"worker@k2","isolationScope":"k2"
               user answer k2 worker {} @ "nodeInfo":{"path":"boss@1"}
               boss say 9
               boss call k3 helper {}
               boss answer k3 helper {}"#,
        );
        let rows: [(u32, &[u32]); 8] = [
            (2, &[0, 1]),
            (3, &[1, 2]),
            (5, &[4]),
            (6, &[4, 5]),
            (7, &[]),
            (8, &[4, 5, 6, 7]),
            (9, &[0, 1, 3, 4, 8]),
            (12, &[10, 11]),
        ];
        for (record, expected) in rows {
            assert_eq!(inputs(&graph, record), expected, "{record}");
        }
        assert_eq!((at(&graph, 5).role(), at(&graph, 7).role()), (Role::Agent, Role::User));
        assert!(at(&graph, 11).contents().contains("unattributed external input"));
        assert_eq!(assumed(&graph), ["inner_runs"]);
    }

    #[test]
    fn a_scope_that_no_call_opened_hides_nothing() {
        let (graph, _) = build(
            r#"x say 0 @ "branch":"x@lost","isolationScope":"lost"
               boss say 1"#,
        );
        assert_eq!(inputs(&graph, 1), [0]);
    }

    #[test]
    fn a_rewind_undoes_and_can_be_undone() {
        let (graph, _) = build(
            r#"user say 0 @ "invocationId":"i0"
               bot say 1 @ "invocationId":"i0"
               user say 2 @ "invocationId":"i1"
               bot say 3 @ "invocationId":"i1"
               user nothing @ "invocationId":"r1","actions":{"rewindBeforeInvocationId":"i1"}
               user say 4 @ "invocationId":"i2"
               bot say 5 @ "invocationId":"i2"
               user nothing @ "invocationId":"r2","actions":{"rewindBeforeInvocationId":"r1"}
               bot say 6 @ "invocationId":"i3"
               user nothing @ "invocationId":"r3","actions":{"rewindBeforeInvocationId":"unknown"}
               bot nothing @ "invocationId":"r4","actions":{"rewindBeforeInvocationId":"i0"}
               user say 7 @ "invocationId":"r5","actions":{"rewindBeforeInvocationId":"i0"}
               bot say 8 @ "invocationId":"i4""#,
        );
        assert_eq!(inputs(&graph, 5), [0, 1, 4]);
        assert_eq!(inputs(&graph, 6), [0, 1, 2, 3]);
        assert_eq!(inputs(&graph, 8), [0, 1, 2, 3, 6, 7]);
        assert_eq!(warned(&graph), ["marker_ignored"]);
        assert_eq!(graph.warnings().len(), 3);
    }

    #[test]
    fn a_summary_replaces_what_was_recorded_before_it_within_its_time() {
        let compaction = |start: &str, end: &str| {
            format!(
                r#""actions":{{"compaction":{{"startTimestamp":"2026-01-01T00:00:{start}Z","endTimestamp":"2026-01-01T00:00:{end}Z","compactedContent":{{"parts":[{{"text":"sum"}}]}}}}}}"#
            )
        };
        let lines = [
            "user say 0".to_owned(),
            "bot say 1".to_owned(),
            "user say 2".to_owned(),
            format!("user nothing @ {}", compaction("00", "01.0")),
            "bot say 4".to_owned(),
            format!("user nothing @ {}", compaction("00", "04")),
            "bot say 6".to_owned(),
            format!("peer nothing @ {},\"customMetadata\":{{\"a2a\":1}}", compaction("00", "06")),
            "bot say 7".to_owned(),
        ];
        let (graph, _) = build(&lines.join("\n"));
        let rows: [(u32, &[u32]); 5] =
            [(3, &[0, 1]), (4, &[2, 3]), (5, &[0, 1, 2, 3, 4]), (6, &[5]), (7, &[5, 6])];
        for (record, expected) in rows {
            assert_eq!(inputs(&graph, record), expected, "{record}");
        }
        assert_eq!(at(&graph, 3).role(), Role::Agent);
        assert!(graph.lineage().ancestors(RecordId(7)).contains(RecordId(1)));
        assert_eq!(warned(&graph), ["peer_actions"]);
    }

    #[test]
    fn times_sort_with_and_without_fractions() {
        assert!(clock("2026-01-01T00:00:00Z") < clock("2026-01-01T00:00:00.5Z"));
        assert_eq!(clock("2026-01-01T00:00:00.500Z"), clock("2026-01-01T00:00:00.5Z"));
        assert_eq!(clock("2026-01-01T00:00:00.000Z"), clock("2026-01-01T00:00:00Z"));
        assert!(clock("2026-01-01T00:00:00Z") < clock("2026-01-01T00:00:10Z"));
    }

    #[test]
    fn full_history_costs_one_context_an_event() {
        let mut lines = String::new();
        for i in 0..1000 {
            lines.push_str(&format!(
                "user say {i}\nbot call c{i} f {{}}\nbot answer c{i} f {{}}\nbot say ok\n"
            ));
        }
        let (graph, _) = build(&lines);
        let lineage = graph.lineage();
        assert_eq!(lineage.len(), 4000);
        assert!(lineage.contexts() < 2 * 4000, "{}", lineage.contexts());
        let last = lineage.inputs(RecordId(3999));
        assert_eq!((lineage.context_len(last), lineage.closure(last).runs()), (3999, 1));
    }

    #[test]
    fn runs_inside_calls_continue_the_view_of_their_caller() {
        let mut lines = String::from("user say go\n");
        for i in 0..500 {
            lines.push_str(&format!(
                "boss call k{i} helper {{}}\nhelper say x @ \"branch\":\"helper@k{i}\"\nboss answer k{i} helper {{}}\n"
            ));
        }
        let (graph, _) = build(&lines);
        let lineage = graph.lineage();
        let appended: usize = (0..lineage.contexts())
            .map(|i| lineage.appended(ContextId(u32::try_from(i).unwrap())).len())
            .sum();
        assert!(appended < 10 * lineage.len(), "{appended}");
        assert_eq!(lineage.context_len(lineage.inputs(RecordId(1499))), 1 + 2 * 499 + 1);
    }
}
