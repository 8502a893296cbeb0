//! Calls and the answers that belong to them.

use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::records::CallNumber;
use crate::records::CallOutcome;
use crate::records::draft::Purpose;
use crate::records::visible::Moment;
use crate::records::visible::Name;
use crate::records::visible::Sight;
use crate::records::visible::prefixes;
use std::collections::BTreeMap;

/// A call by its place among all function calls of the session, the framework's own included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CallIndex(usize);

/// What is kept of a function call.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    /// Its number, if it is judged.
    pub(crate) number: Option<CallNumber>,
    pub(crate) record: RecordId,
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) purpose: Purpose,
    /// Its arguments as ordinary JSON, if it is not judged.
    pub(crate) unjudged_arguments: String,
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
}

/// Calls by a text, newest last, on any branch and on each.
#[derive(Debug, Clone, Default)]
struct Index {
    any: BTreeMap<String, Vec<CallIndex>>,
    on: BTreeMap<String, BTreeMap<Name, Vec<CallIndex>>>,
}

impl Index {
    fn add(&mut self, text: &str, branch: Name, call: CallIndex) {
        self.any.entry(text.to_owned()).or_default().push(call);
        self.on.entry(text.to_owned()).or_default().entry(branch).or_default().push(call);
    }

    /// The calls of exactly this branch.
    fn on_branch(&self, text: &str, branch: Name) -> &[CallIndex] {
        self.on.get(text).and_then(|branches| branches.get(&branch)).map_or(&[], Vec::as_slice)
    }

    /// The calls of one branch: this one, else the one with the newest call among those that it sees.
    fn seen_from(&self, sight: &Sight, text: &str, branch: Name) -> &[CallIndex] {
        let Some(branches) = self.on.get(text) else { return &[] };
        if let Some(here) = branches.get(&branch).filter(|here| !here.is_empty()) {
            return here;
        }
        if branch == Name::NONE {
            return self.any.get(text).map_or(&[], Vec::as_slice);
        }
        let above = prefixes(sight.text(branch)).filter_map(|prefix| sight.find(prefix));
        let lists = above.chain([Name::NONE]).filter_map(|name| branches.get(&name));
        lists.max_by_key(|list| list.last().copied()).map_or(&[], Vec::as_slice)
    }
}

/// All function calls of the session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    all: Vec<Call>,
    by_id: Index,
    by_name: Index,
    by_number: BTreeMap<CallNumber, CallIndex>,
    /// The call that a record holds, or answers.
    by_record: BTreeMap<RecordId, CallIndex>,
    /// For each event with calls that were answered, the context of its records.
    answering: BTreeMap<Moment, ContextId>,
}

impl Calls {
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub(crate) fn call(&self, index: CallIndex) -> Option<&Call> {
        self.all.get(index.0)
    }

    pub(crate) fn call_mut(&mut self, index: CallIndex) -> Option<&mut Call> {
        self.all.get_mut(index.0)
    }

    pub(crate) fn numbered(&self, number: CallNumber) -> Option<&Call> {
        self.call(*self.by_number.get(&number)?)
    }

    pub(crate) fn numbered_mut(&mut self, number: CallNumber) -> Option<&mut Call> {
        let index = *self.by_number.get(&number)?;
        self.call_mut(index)
    }

    pub(crate) fn add(&mut self, call: Call) {
        let index = CallIndex(self.all.len());
        if !call.id.is_empty() {
            self.by_id.add(&call.id, call.branch, index);
        }
        self.by_name.add(&call.name, call.branch, index);
        if let Some(number) = call.number {
            self.by_number.insert(number, index);
        }
        self.by_record.insert(call.record, index);
        self.all.push(call);
    }

    /// Notes an answer to a call.
    pub(crate) fn note_answer(&mut self, index: CallIndex, answer: RecordId) {
        self.by_record.insert(answer, index);
        if let Some(call) = self.call_mut(index) {
            call.last_answer = Some(answer);
        }
    }

    /// Whether a request that shows the turn of its agent has to show this record: an answered call, and its last answer.
    pub(crate) fn has_to_be_shown(&self, record: RecordId) -> bool {
        let call = self.by_record.get(&record).and_then(|&index| self.call(index));
        call.is_some_and(|call| match call.last_answer {
            Some(answer) => record == call.record || record == answer,
            None => false,
        })
    }

    /// Forgets calls that a rewind undid, for pairing.
    pub(crate) fn rewound(&mut self, sight: &Sight) {
        let (mut by_id, mut by_name) = (Index::default(), Index::default());
        for (i, call) in self.all.iter().enumerate().filter(|(_, call)| sight.is_alive(call.moment)) {
            if !call.id.is_empty() {
                by_id.add(&call.id, call.branch, CallIndex(i));
            }
            by_name.add(&call.name, call.branch, CallIndex(i));
        }
        (self.by_id, self.by_name) = (by_id, by_name);
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
        self.by_id.on_branch(id, branch).last().copied()
    }

    /// Whether a call has that id, on whatever branch.
    pub(crate) fn newest_anywhere(&self, id: &str) -> Option<CallIndex> {
        self.by_id.any.get(id)?.last().copied()
    }

    /// The newest call with the id of this one that was made before its event.
    pub(crate) fn earlier(&self, index: CallIndex) -> Option<CallIndex> {
        let call = self.call(index)?;
        let alike = self.by_id.any.get(&call.id)?;
        let before =
            alike.partition_point(|&other| self.call(other).is_some_and(|other| other.moment < call.moment));
        alike.get(before.checked_sub(1)?).copied()
    }

    /// The call that an answer belongs to: the newest with its id, those of one event by position, where the names
    /// agree; without an id the nearest unanswered one of its name. `taken` are those answered by the same event.
    pub(crate) fn answered_by(
        &self,
        sight: &Sight,
        (id, name): (&str, &str),
        branch: Name,
        taken: &[CallIndex],
    ) -> Option<CallIndex> {
        if id.is_empty() {
            return self.nearest_unanswered(sight, name, branch, taken);
        }
        let list = self.by_id.seen_from(sight, id, branch);
        let group: Vec<_> = self.last_event(list).into_iter().filter(|&i| self.agrees(i, name)).collect();
        let free = |&i: &CallIndex| !taken.contains(&i);
        let unanswered = |&i: &CallIndex| free(&i) && self.is_unanswered(i);
        group
            .iter()
            .copied()
            .find(unanswered)
            .or_else(|| group.iter().copied().find(free))
            .or_else(|| group.last().copied())
    }

    fn agrees(&self, index: CallIndex, name: &str) -> bool {
        name.is_empty() || self.call(index).is_some_and(|call| call.name == name)
    }

    fn is_unanswered(&self, index: CallIndex) -> bool {
        self.call(index).is_some_and(|call| call.result.is_none())
    }

    /// The calls at the end of the list that stand in one event, in order.
    fn last_event(&self, list: &[CallIndex]) -> Vec<CallIndex> {
        let moment_of = |index: CallIndex| self.call(index).map(|call| call.moment);
        let newest = list.last().and_then(|&index| moment_of(index));
        let mut group: Vec<_> =
            list.iter().rev().copied().take_while(|&index| moment_of(index) == newest).collect();
        group.reverse();
        group
    }

    fn nearest_unanswered(
        &self,
        sight: &Sight,
        name: &str,
        branch: Name,
        taken: &[CallIndex],
    ) -> Option<CallIndex> {
        let list = self.by_name.seen_from(sight, name, branch);
        let open = |index: CallIndex| self.is_unanswered(index) && !taken.contains(&index);
        let nearest = list.iter().rev().copied().find(|&index| open(index))?;
        let moment = self.call(nearest)?.moment;
        let before = list.iter().rev().copied().skip_while(|&index| index > nearest);
        before
            .take_while(|&index| self.call(index).is_some_and(|call| call.moment == moment))
            .filter(|&index| open(index))
            .last()
    }

    /// The call whose run this event lies inside: by the last `name@id` segment of its branch, else by its scope.
    pub(crate) fn run_of(&self, branch: &str, scope: &str) -> Option<CallIndex> {
        let ids = branch.rsplit('.').filter_map(|segment| segment.split_once('@')).map(|(_, id)| id);
        ids.chain([scope]).filter(|id| !id.is_empty()).find_map(|id| {
            let newest = self.newest_anywhere(id)?;
            self.call(newest).filter(|call| call.purpose == Purpose::Tool).map(|_| newest)
        })
    }

    /// The context of all records of the event that holds the call, made once.
    pub(crate) fn answering(&mut self, moment: Moment, make: impl FnOnce() -> ContextId) -> ContextId {
        *self.answering.entry(moment).or_insert_with(make)
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
        graph.facts().iter().filter_map(row).collect()
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
