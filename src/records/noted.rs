//! What is known beside the records, in the order of learning.

use crate::column::Column;
use crate::lineage::RecordId;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::Text;
use crate::records::pair::CallIndex;
use std::fmt;

/// What a fact says of a call; the rest of it stands there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfCall {
    Proposed,
    Result,
    Output,
    Outcome(Status),
}

#[derive(Debug, Clone)]
enum Note {
    OfCall(OfCall, RecordId, CallIndex),
    Other(Box<SessionFact>),
}

/// The facts of a session. One about a call takes no texts of its own.
#[derive(Debug, Clone, Default)]
pub(crate) struct Noted {
    notes: Column<Note>,
}

impl Noted {
    pub(crate) fn push(&mut self, fact: SessionFact) {
        self.notes.push(Note::Other(Box::new(fact)));
    }

    /// Adds a fact about a call, with its id, its tool and the arguments that its event has.
    pub(crate) fn push_of(&mut self, what: OfCall, record: RecordId, call: CallIndex) {
        self.notes.push(Note::OfCall(what, record, call));
    }
}

impl Graph {
    /// Adds a fact about a call, whose arguments may be others than its event has.
    pub(crate) fn note_of(&mut self, what: OfCall, record: RecordId, index: CallIndex) {
        let Some(call) = self.book.call(index) else { return };
        let judged = call.number.and_then(|number| self.calls.get(number.0 as usize));
        match judged.filter(|judged| judged.arguments != call.arguments) {
            Some(judged) => {
                let texts = [&call.id, &call.name, &judged.arguments].map(Clone::clone);
                self.facts.push(fact(what, record, texts));
            }
            None => self.facts.push_of(what, record, index),
        }
    }
}

fn fact(what: OfCall, record: RecordId, [call_id, tool, arguments]: [Text; 3]) -> SessionFact {
    match what {
        OfCall::Proposed => SessionFact::ProposedCall { record, call_id, tool, arguments },
        OfCall::Result => SessionFact::ToolResult { record, tool, arguments },
        OfCall::Output => SessionFact::ToolOutput { record, tool, arguments },
        OfCall::Outcome(status) => SessionFact::ToolOutcome { record, call_id, tool, arguments, status },
    }
}

/// The facts of a graph; there are only ever more.
#[derive(Clone, Copy)]
pub struct Facts<'g> {
    graph: &'g Graph,
}

impl<'g> Facts<'g> {
    pub(crate) fn of(graph: &'g Graph) -> Self {
        Self { graph }
    }

    /// Number of facts.
    #[must_use]
    pub fn len(self) -> usize {
        self.graph.facts.notes.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The facts in order.
    pub fn iter(self) -> impl Iterator<Item = SessionFact> + 'g {
        self.from(0)
    }

    /// The facts from that place on, in order.
    pub fn from(self, at: usize) -> impl Iterator<Item = SessionFact> + 'g {
        let graph = self.graph;
        graph.facts.notes.from(at).filter_map(move |note| match note {
            Note::Other(fact) => Some(SessionFact::clone(fact)),
            Note::OfCall(what, record, index) => {
                let call = graph.book.call(*index)?;
                let texts = [&call.id, &call.name, &call.arguments].map(Clone::clone);
                Some(fact(*what, *record, texts))
            }
        })
    }
}

impl fmt::Debug for Facts<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl PartialEq for Facts<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
