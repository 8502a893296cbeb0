//! Calls and the answers that belong to them.

use crate::column::Column;
use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::recording::Purpose;
use crate::records::CallNumber;
use crate::records::CallOutcome;
use crate::records::Text;
use crate::records::visible::Moment;
use crate::records::visible::Name;
use crate::records::visible::Sight;
use crate::records::visible::prefixes;
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::collections::BTreeSet;
use std::hash::BuildHasher as _;

/// A call by its place among all function calls of the session, the framework's own included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallIndex(u32);

/// What is kept of a function call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Its number, if it is judged.
    pub(crate) number: Option<CallNumber>,
    pub(crate) record: RecordId,
    pub(crate) id: Text,
    pub(crate) name: Text,
    pub(crate) purpose: Purpose,
    /// Its arguments as ordinary JSON, as the event has them.
    pub(crate) arguments: Text,
    pub(crate) moment: Moment,
    pub(crate) branch: Name,
    pub(crate) scope: Name,
    pub(crate) author: Name,
    /// Whether an agent of this session made it: not a person, not another agent's channel.
    pub(crate) by_agent: bool,
    pub(crate) long_running: bool,
    pub(crate) refused: bool,
    /// Its last answer that is not pending.
    pub(crate) result: Option<RecordId>,
    pub(crate) outcome: CallOutcome,
    /// How many events name it in the framework's own `requestedToolConfirmations`.
    pub(crate) asked: usize,
    /// Whether the framework's placeholder text answered it.
    pub(crate) placeholder: bool,
    /// When the person's answer that counts for it was given.
    pub(crate) approved_at: Option<Moment>,
    /// The records of a run that it started on a branch or in a scope of its own.
    pub(crate) inner: Vec<RecordId>,
    /// Its last answer, of whatever status.
    pub(crate) last_answer: Option<RecordId>,
    /// For the first call of an event with calls that were answered: the context of its records.
    pub(crate) answering: Option<ContextId>,
}

/// Which text of a call an index is by.
type Named = fn(&Call) -> &Text;

fn id_of(call: &Call) -> &Text {
    &call.id
}

fn name_of(call: &Call) -> &Text {
    &call.name
}

/// Calls by a text, newest last, on any branch and on each. Most texts are those of one call, which takes no list.
// Invariant: `single` has the calls whose text no other call here has; `many` all others.
#[derive(Debug, Clone, Default)]
struct Index {
    single: HashTable<CallIndex>,
    many: BTreeMap<Text, Lists>,
    state: RandomState,
}

#[derive(Debug, Clone, Default)]
struct Lists {
    any: SmallVec<[CallIndex; 2]>,
    on: BTreeMap<Name, SmallVec<[CallIndex; 2]>>,
}

impl Lists {
    fn add(&mut self, branch: Name, call: CallIndex) {
        self.any.push(call);
        self.on.entry(branch).or_default().push(call);
    }
}

impl Index {
    /// Adds a call that is among these. Returns the call that was alone with its text until now.
    fn add(&mut self, calls: &Column<Call>, named: Named, index: CallIndex) -> Option<CallIndex> {
        let call = calls.get(index.0 as usize)?;
        let text = named(call);
        if let Some(lists) = self.many.get_mut(text) {
            lists.add(call.branch, index);
            return None;
        }
        let of = |index: &CallIndex| calls.get(index.0 as usize).map_or("", |call| named(call));
        let hash = self.state.hash_one(text.as_str());
        let Ok(entry) = self.single.find_entry(hash, |other| of(other) == text.as_str()) else {
            self.single.insert_unique(hash, index, |other| self.state.hash_one(of(other)));
            return None;
        };
        let (first, _) = entry.remove();
        let mut lists = Lists::default();
        lists.add(calls.get(first.0 as usize)?.branch, first);
        lists.add(call.branch, index);
        self.many.insert(text.clone(), lists);
        Some(first)
    }

    /// The call that is alone with that text.
    fn single(&self, calls: &Column<Call>, named: Named, text: &str) -> Option<&CallIndex> {
        let of = |index: &CallIndex| calls.get(index.0 as usize).map_or("", |call| named(call));
        self.single.find(self.state.hash_one(text), |index| of(index) == text)
    }

    /// The calls of that text.
    fn any(&self, calls: &Column<Call>, named: Named, text: &str) -> &[CallIndex] {
        match self.single(calls, named, text) {
            Some(one) => std::slice::from_ref(one),
            None => self.many.get(text).map_or(&[], |lists| lists.any.as_slice()),
        }
    }

    /// The calls of exactly this branch.
    fn on_branch(&self, calls: &Column<Call>, named: Named, text: &str, branch: Name) -> &[CallIndex] {
        match self.single(calls, named, text) {
            Some(one) if calls.get(one.0 as usize).is_some_and(|call| call.branch == branch) => {
                std::slice::from_ref(one)
            }
            Some(_) => &[],
            None => {
                let lists = self.many.get(text).and_then(|lists| lists.on.get(&branch));
                lists.map_or(&[], SmallVec::as_slice)
            }
        }
    }

    /// The calls of one branch: this one, else the one with the newest call among those that it sees.
    fn seen_from(
        &self,
        calls: &Column<Call>,
        named: Named,
        sight: &Sight,
        (text, branch): (&str, Name),
    ) -> &[CallIndex] {
        let here = self.on_branch(calls, named, text, branch);
        if !here.is_empty() {
            return here;
        }
        if branch == Name::NONE {
            return self.any(calls, named, text);
        }
        let above = prefixes(sight.text(branch)).filter_map(|prefix| sight.find(prefix));
        let lists = above.chain([Name::NONE]).map(|name| self.on_branch(calls, named, text, name));
        lists.max_by_key(|list| list.last().copied()).unwrap_or_default()
    }
}

/// What an answer names its call by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    /// Id and tool name; any tool for the empty name.
    Id(Text, Text),
    /// Tool name and branch; any branch for none.
    Name(Text, Option<Name>),
}

/// All function calls of the session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    /// In the order of their records, and so of their events.
    all: Column<Call>,
    by_id: Index,
    by_name: Index,
    /// By [`CallNumber`].
    by_number: Column<CallIndex>,
    /// A call for each id that was noted.
    ids: HashTable<CallIndex>,
    state: RandomState,
    /// Calls that wait for an answer and that the event at hand has not answered.
    open: BTreeMap<Key, BTreeSet<CallIndex>>,
    /// The calls of each id that several have, in order.
    alike: BTreeMap<Key, SmallVec<[CallIndex; 2]>>,
    /// Calls that the event at hand answers.
    taken: BTreeSet<CallIndex>,
    /// How many of the calls of a key at the start of its last event are taken.
    passed: BTreeMap<Key, usize>,
    /// The calls that records hold, or answer, in the order of the records.
    by_record: Column<(RecordId, CallIndex)>,
}

impl Calls {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn call(&self, index: CallIndex) -> Option<&Call> {
        self.all.get(index.0 as usize)
    }

    pub(crate) fn call_mut(&mut self, index: CallIndex) -> Option<&mut Call> {
        self.all.get_mut(index.0 as usize)
    }

    pub(crate) fn numbered(&self, number: CallNumber) -> Option<&Call> {
        self.call(self.indexed(number)?)
    }

    pub(crate) fn indexed(&self, number: CallNumber) -> Option<CallIndex> {
        self.by_number.get(number.0 as usize).copied()
    }

    pub(crate) fn numbered_mut(&mut self, number: CallNumber) -> Option<&mut Call> {
        let index = self.indexed(number)?;
        self.call_mut(index)
    }

    /// The place that the next call gets.
    pub(crate) fn next(&self) -> CallIndex {
        CallIndex(u32::try_from(self.all.len()).unwrap_or(u32::MAX))
    }

    /// Adds a call. Those that are judged come in the order of their numbers.
    pub(crate) fn add(&mut self, call: Call) -> CallIndex {
        let index = self.next();
        if call.number.is_some() {
            self.by_number.push(index);
        }
        self.note_record(call.record, index);
        self.all.push(call);
        self.index(index);
        index
    }

    /// Notes the id of a call, to be told where it comes again.
    pub(crate) fn note_id(&mut self, index: CallIndex) {
        let (all, state) = (&self.all, &self.state);
        let id = |index: &CallIndex| all.get(index.0 as usize).map_or("", |call| call.id.as_str());
        let own = id(&index);
        if !own.is_empty() && !self.is_noted(own) {
            self.ids.insert_unique(state.hash_one(own), index, |index| state.hash_one(id(index)));
        }
    }

    /// Whether that id was noted, also of a call that a rewind undid.
    pub(crate) fn is_noted(&self, id: &str) -> bool {
        let same = |index: &CallIndex| self.call(*index).is_some_and(|call| call.id == id);
        self.ids.find(self.state.hash_one(id), same).is_some()
    }

    /// A record that holds or answers several calls is that of the last.
    fn note_record(&mut self, record: RecordId, index: CallIndex) {
        let known = self.by_record.partition_point(|&(other, _)| other < record);
        match self.by_record.get_mut(known) {
            Some(last) if last.0 == record => last.1 = index,
            Some(_) | None => self.by_record.push((record, index)),
        }
    }

    /// The call that a record holds or answers.
    pub(crate) fn of_record(&self, record: RecordId) -> Option<&Call> {
        let known = self.by_record.partition_point(|&(other, _)| other < record);
        let &(found, index) = self.by_record.get(known)?;
        if found == record { self.call(index) } else { None }
    }

    /// Notes an answer to a call.
    pub(crate) fn note_answer(&mut self, index: CallIndex, answer: RecordId) {
        self.note_record(answer, index);
        if let Some(call) = self.call_mut(index) {
            call.last_answer = Some(answer);
        }
    }

    /// Whether a request that shows the turn of its agent has to show this record: an answered call, and its last answer.
    pub(crate) fn has_to_be_shown(&self, record: RecordId) -> bool {
        self.of_record(record).is_some_and(|call| match call.last_answer {
            Some(answer) => record == call.record || record == answer,
            None => false,
        })
    }

    /// Forgets calls that a rewind undid, for pairing.
    pub(crate) fn rewound(&mut self, sight: &Sight) {
        (self.by_id, self.by_name) = (Index::default(), Index::default());
        self.open.clear();
        self.alike.clear();
        for index in (0..).take(self.all.len()).map(CallIndex) {
            if self.call(index).is_some_and(|call| sight.is_alive(call.moment)) {
                self.index(index);
            }
        }
    }

    /// The judged calls whose approval a rewind undid: the call itself, or the person's answer.
    pub(crate) fn disapproved(&mut self, sight: &Sight) -> Vec<CallNumber> {
        let stands = |call: &Call, at: Moment| sight.is_alive(call.moment) && sight.is_alive(at);
        let undone = self.all.iter_mut().filter(|call| call.approved_at.is_some_and(|at| !stands(call, at)));
        undone
            .filter_map(|call| {
                call.approved_at = None;
                call.number
            })
            .collect()
    }

    /// The newest call with that id on exactly this branch.
    pub(crate) fn newest(&self, id: &str, branch: Name) -> Option<CallIndex> {
        self.by_id.on_branch(&self.all, id_of, id, branch).last().copied()
    }

    /// Whether a call has that id, on whatever branch.
    pub(crate) fn newest_anywhere(&self, id: &str) -> Option<CallIndex> {
        self.by_id.any(&self.all, id_of, id).last().copied()
    }

    /// The newest call with the id of this one that was made before its event.
    pub(crate) fn earlier(&self, index: CallIndex) -> Option<CallIndex> {
        let call = self.call(index)?;
        let alike = self.by_id.any(&self.all, id_of, &call.id);
        let before =
            alike.partition_point(|&other| self.call(other).is_some_and(|other| other.moment < call.moment));
        alike.get(before.checked_sub(1)?).copied()
    }

    /// The call that an answer of this id and name belongs to: the newest with its id, those of one event by position,
    /// where the names agree; without an id the nearest unanswered one of its name. Costs the same however many calls
    /// there are: those that wait for an answer are kept in order.
    pub(crate) fn answered_by(
        &mut self,
        sight: &Sight,
        (id, name): (&str, &str),
        branch: Name,
    ) -> Option<CallIndex> {
        if id.is_empty() {
            return self.nearest_unanswered(sight, name, branch);
        }
        let (first, last) = self.last_event(self.by_id.seen_from(&self.all, id_of, sight, (id, branch)))?;
        let key = Key::Id(id.into(), name.into());
        self.first_open(&key, first, last).or_else(|| self.first_free(&key, first, last))
    }

    /// The first call of one event that waits for an answer.
    fn first_open(&mut self, key: &Key, first: CallIndex, last: CallIndex) -> Option<CallIndex> {
        loop {
            let index = *self.open.get(key)?.range(first..=last).next()?;
            if self.is_unanswered(index) {
                return Some(index);
            }
            self.shut(index);
        }
    }

    /// The first call of one event that the event at hand has not answered yet, else the last one.
    fn first_free(&mut self, key: &Key, first: CallIndex, last: CallIndex) -> Option<CallIndex> {
        let alike = alike((&self.by_id, &self.alike), &self.all, key);
        let end = alike.partition_point(|&index| index <= last);
        let start = alike.partition_point(|&index| index < first);
        let group = alike.get(start..end)?;
        let passed = self.passed.entry(key.clone()).or_default();
        while group.get(*passed).is_some_and(|index| self.taken.contains(index)) {
            *passed += 1;
        }
        group.get(*passed).or_else(|| group.last()).copied()
    }

    /// Notes that the event at hand answers a call: a further answer in it means another one.
    pub(crate) fn take(&mut self, index: CallIndex) {
        self.taken.insert(index);
        self.shut(index);
    }

    /// Ends the event at hand: calls that still wait for an answer may take the next one.
    pub(crate) fn release(&mut self) {
        self.passed.clear();
        for index in std::mem::take(&mut self.taken) {
            if self.is_unanswered(index) {
                for key in self.keys(index) {
                    self.open.entry(key).or_default().insert(index);
                }
            }
        }
    }

    fn shut(&mut self, index: CallIndex) {
        for key in self.keys(index) {
            let Some(open) = self.open.get_mut(&key) else { continue };
            open.remove(&index);
            if open.is_empty() {
                self.open.remove(&key);
            }
        }
    }

    /// What an answer to the call may be found by.
    fn keys(&self, index: CallIndex) -> Vec<Key> {
        let Some(call) = self.call(index) else { return Vec::new() };
        let (id, name) = (&call.id, &call.name);
        let mut keys = vec![Key::Name(name.clone(), None), Key::Name(name.clone(), Some(call.branch))];
        if !id.is_empty() {
            keys.push(Key::Id(id.clone(), Text::new()));
            if !name.is_empty() {
                keys.push(Key::Id(id.clone(), name.clone()));
            }
        }
        keys
    }

    /// Keeps a call to be found by its answers.
    fn index(&mut self, index: CallIndex) {
        let Some(call) = self.all.get(index.0 as usize) else { return };
        let id = &call.id;
        let first = if id.is_empty() { None } else { self.by_id.add(&self.all, id_of, index) };
        self.by_name.add(&self.all, name_of, index);
        let is_single = !id.is_empty() && self.by_id.single(&self.all, id_of, id).is_some();
        for alike in first.into_iter().chain(Some(index).filter(|_| !is_single)) {
            for key in self.keys(alike).into_iter().filter(|key| matches!(key, Key::Id(..))) {
                self.alike.entry(key).or_default().push(alike);
            }
        }
        for key in self.keys(index) {
            self.open.entry(key).or_default().insert(index);
        }
    }

    fn is_unanswered(&self, index: CallIndex) -> bool {
        self.call(index).is_some_and(|call| call.result.is_none())
    }

    /// The first and the last of the calls at the end of the list that stand in one event.
    fn last_event(&self, list: &[CallIndex]) -> Option<(CallIndex, CallIndex)> {
        let last = *list.last()?;
        let newest = self.call(last)?.moment;
        let before = list.partition_point(|&index| self.call(index).is_some_and(|call| call.moment < newest));
        Some((*list.get(before)?, last))
    }

    fn nearest_unanswered(&mut self, sight: &Sight, name: &str, branch: Name) -> Option<CallIndex> {
        let newest = *self.by_name.seen_from(&self.all, name_of, sight, (name, branch)).last()?;
        let here = !self.by_name.on_branch(&self.all, name_of, name, branch).is_empty();
        let any = branch == Name::NONE && !here;
        let key = Key::Name(name.into(), if any { None } else { self.call(newest).map(|call| call.branch) });
        loop {
            let nearest = *self.open.get(&key)?.last()?;
            if self.is_unanswered(nearest) {
                let first = self.first_of(self.call(nearest)?.moment);
                return self.first_open(&key, first, nearest);
            }
            self.shut(nearest);
        }
    }

    /// The call whose run this event lies inside: by the last `name@id` segment of its branch, else by its scope.
    pub(crate) fn run_of(&self, branch: &str, scope: &str) -> Option<CallIndex> {
        let ids = branch.rsplit('.').filter_map(|segment| segment.split_once('@')).map(|(_, id)| id);
        ids.chain([scope]).filter(|id| !id.is_empty()).find_map(|id| {
            let newest = self.newest_anywhere(id)?;
            self.call(newest).filter(|call| call.purpose == Purpose::Tool).map(|_| newest)
        })
    }

    /// The first call of an event that has one.
    fn first_of(&self, moment: Moment) -> CallIndex {
        let first = self.all.partition_point(|call| call.moment < moment);
        CallIndex(u32::try_from(first).unwrap_or(u32::MAX))
    }

    /// The context of all records of the event that holds the call, made once.
    pub(crate) fn answering(&mut self, moment: Moment, make: impl FnOnce() -> ContextId) -> ContextId {
        let first = self.first_of(moment);
        match self.call_mut(first) {
            Some(call) => *call.answering.get_or_insert_with(make),
            None => make(),
        }
    }
}

/// The calls of a key in order.
fn alike<'a>(
    (by_id, alike): (&'a Index, &'a BTreeMap<Key, SmallVec<[CallIndex; 2]>>),
    calls: &Column<Call>,
    key: &Key,
) -> &'a [CallIndex] {
    let Key::Id(id, name) = key else { return &[] };
    match by_id.single(calls, id_of, id) {
        Some(one) => {
            let named = |call: &Call| name.is_empty() || call.name == *name;
            if calls.get(one.0 as usize).is_some_and(named) { std::slice::from_ref(one) } else { &[] }
        }
        None => alike.get(key).map_or(&[], SmallVec::as_slice),
    }
}

#[cfg(test)]
mod tests {
    use crate::records::CallNumber;
    use crate::records::SessionFact;
    use crate::records::building::assumed;
    use crate::records::building::build;
    use crate::records::building::inputs;
    use crate::records::building::outcomes;
    use crate::records::building::warned;

    /// The arguments that each row of `ToolResult` shows, by its record.
    fn results(lines: &str) -> Vec<String> {
        let (graph, _) = build(lines);
        let row = |fact: &SessionFact| match fact {
            SessionFact::ToolResult { record, tool, arguments } => {
                Some(format!("{} {tool} {arguments}", record.0))
            }
            _ => None,
        };
        graph.facts().iter().filter_map(|fact| row(&fact)).collect()
    }

    #[test]
    fn an_answer_belongs_to_the_newest_call_with_its_id() {
        let lines = r#"bot call c read {"n":1}
            bot answer c read {}
            bot call c fetch {"n":2}
            bot answer c fetch {}"#;
        assert_eq!(results(lines), [r#"1 read {"n":1}"#, r#"3 fetch {"n":2}"#]);
        assert_eq!(warned(&build(lines).0), ["reused_call_id"]);
    }

    #[test]
    fn one_id_in_one_message_pairs_by_position_where_names_agree() {
        let together = r#"bot call c f {"n":1}
            & call c f {"n":2}
            & call c g {"n":3}
            bot answer c f {}
            & answer c f {}
            & answer c g {}"#;
        assert_eq!(results(together), [r#"3 f {"n":1}"#, r#"4 f {"n":2}"#, r#"5 g {"n":3}"#]);
        let swapped = r#"bot call c f {"n":1}
            & call c g {"n":2}
            bot answer c g {}
            bot answer c f {}"#;
        assert_eq!(results(swapped), [r#"2 g {"n":2}"#, r#"3 f {"n":1}"#]);
        let apart = r#"bot call c f {"n":1}
            & call c f {"n":2}
            bot answer c f {}
            bot answer c f {}"#;
        assert_eq!(results(apart), [r#"2 f {"n":1}"#, r#"3 f {"n":2}"#]);
    }

    #[test]
    fn a_name_that_does_not_agree_belongs_to_no_call() {
        let (graph, _) = build("bot call c f {}\nbot answer c pay {}");
        assert_eq!(outcomes(&graph), (vec!["1 pay unmatched".to_owned()], vec![], vec![1]));
        assert_eq!(inputs(&graph, 1), [0; 0]);
    }

    #[test]
    fn many_calls_of_one_id_or_none_pair_in_order() {
        for id in ["c", "-"] {
            let call = |n: usize| format!("call {id} f {{\"n\":{n}}}");
            let calls: Vec<_> = (0..2000).map(call).collect();
            let answer = format!("answer {id} f {{}}");
            let apart = format!("\nbot {answer}").repeat(1000);
            let together = format!("\n& {answer}").repeat(999);
            let lines = format!("bot {}{apart}\nbot {answer}{together}", calls.join("\n& "));
            let rows: Vec<_> = (0..2000).map(|n| format!("{} f {{\"n\":{n}}}", 2000 + n)).collect();
            assert_eq!(results(&lines), rows);
        }
    }

    #[test]
    fn without_an_id_the_nearest_unanswered_call_of_that_name_is_meant() {
        let lines = r#"bot call - f {"n":1}
            bot call - f {"n":2}
            & call x f {"n":3}
            & call - g {"n":4}
            bot answer - f {}
            bot answer - f {}
            bot answer - f {}
            bot answer - g {}
            bot answer - g {}"#;
        assert_eq!(results(lines), [r#"4 f {"n":2}"#, r#"5 f {"n":3}"#, r#"6 f {"n":1}"#, r#"7 g {"n":4}"#]);
        assert_eq!(warned(&build(lines).0), ["unmatched_answer"]);
    }

    #[test]
    fn branches_keep_their_answers_to_themselves() {
        let lines = r#"a call c f {"n":1} @ "branch":"r.a"
            b call c f {"n":2} @ "branch":"r.b"
            a answer c f {} @ "branch":"r.a"
            b answer c f {} @ "branch":"r.b"
            d answer c f {} @ "branch":"r.d"
            r call c f {"n":3}
            r answer c f {} @ "branch":"r.d""#;
        assert_eq!(results(lines), [r#"2 f {"n":1}"#, r#"3 f {"n":2}"#, r#"6 f {"n":3}"#]);
        assert_eq!(outcomes(&build(lines).0).0[2], "4 f unmatched");
        let lines = r#"r call c f {"n":1}
            a call c f {"n":2} @ "branch":"r.a"
            r answer c f {}"#;
        assert_eq!(results(lines), [r#"2 f {"n":1}"#]);
    }

    #[test]
    fn a_rewound_call_takes_no_answer() {
        let lines = r#"bot call c f {} @ "invocationId":"i1"
            user nothing @ "actions":{"rewindBeforeInvocationId":"i1"}
            bot answer c f {}"#;
        assert_eq!(outcomes(&build(lines).0).0, ["1 f unmatched"]);
    }

    #[test]
    fn an_answer_before_its_call_is_no_result_and_a_cut_history_is_said() {
        let (graph, _) = build("user say go\nbot answer c f {}\nbot call c f {}");
        assert_eq!(outcomes(&graph).0, ["1 f unmatched"]);
        assert_eq!(warned(&graph), ["unmatched_answer", "answer_before_call"]);
        assert_eq!(graph.outcome(CallNumber(0)).name(), "none");
        assert!(assumed(&graph).is_empty());
        let (graph, _) = build("bot answer c8 load_note {}\nbot call c9 pay {}");
        assert_eq!(assumed(&graph), ["history_cut"]);
        let cut = &graph.assumptions()[0].text;
        assert!(cut.contains("load_note") && cut.contains("c8"), "{cut}");
    }
}
