//! What an agent without history is shown: the turn that goes on.

use crate::lineage::ContextId;
use crate::records::identity::Trail;
use crate::records::visible::Entry;
use crate::records::visible::Name;
use crate::records::visible::Shown;
use crate::records::visible::Sight;
use crate::records::visible::View;
use crate::records::visible::Viewer;
use std::collections::BTreeSet;

/// The turn of one viewer.
#[derive(Debug, Clone)]
pub(crate) struct Turn {
    /// The event that it starts with; none where nothing starts one, and all is shown.
    start: Option<usize>,
    view: View,
}

impl Sight {
    /// What the agent is shown now, if that is its turn alone: all from the last message of a person or of another agent.
    /// A transfer starts no turn, nor does an answer that a person sends later: that goes on with the turn of its call.
    pub(crate) fn turn_context(
        &mut self,
        trail: &mut Trail,
        agent: Name,
        branch: Name,
        scope: Name,
    ) -> ContextId {
        let viewer = Viewer { scope, branch: Some(branch), agent: Some(agent) };
        let known = self.turns.remove(&viewer).filter(|turn| turn.view.epoch == self.epoch);
        let start = match &known {
            Some(turn) => self.start_since(viewer, turn),
            None => self.start_before(viewer),
        };
        let mut view = match known {
            Some(turn) if turn.start == start => turn.view,
            Some(_) | None => View {
                context: self.opened(trail, scope).context,
                upto: start.unwrap_or(0),
                epoch: self.epoch,
                thinkers: BTreeSet::new(),
            },
        };
        let records = self.visible(viewer, view.upto..self.entries.len(), &mut view.thinkers);
        view.context = trail.extend(view.context, &records);
        view.upto = self.entries.len();
        let context = view.context;
        self.turns.insert(viewer, Turn { start, view });
        context
    }

    /// The start of the turn, where it was known until some event.
    fn start_since(&self, viewer: Viewer, turn: &Turn) -> Option<usize> {
        let mut start = turn.start;
        for (number, entry) in (turn.view.upto..).zip(self.entries.from(turn.view.upto)) {
            if let Some(call) = entry.goes_on_with()
                && start.is_some_and(|start| call.place() < start)
            {
                return self.start_before(viewer);
            }
            if self.starts(viewer, entry) {
                start = Some(number);
            }
        }
        start
    }

    /// The same by a look back from the end, as far as the turn goes.
    fn start_before(&self, viewer: Viewer) -> Option<usize> {
        let mut at_most = usize::MAX;
        for (number, entry) in (0..self.entries.len()).rev().zip(self.entries.iter().rev()) {
            if let Some(call) = entry.goes_on_with() {
                at_most = at_most.min(call.place());
            }
            if number <= at_most && self.starts(viewer, entry) {
                return Some(number);
            }
        }
        None
    }

    fn starts(&self, viewer: Viewer, entry: &Entry) -> bool {
        let speaks =
            || entry.records().any(|record| self.shown.get(record.0 as usize) == Some(&Shown::Everyone));
        entry.starts_turn
            && viewer.agent != Some(entry.author)
            && entry.alive
            && entry.replaced_by.is_none()
            && self.sees(viewer, entry)
            && speaks()
    }
}
