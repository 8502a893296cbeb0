//! What running calls read and write beside events, as a gate is told.

use std::sync::Arc;

use crate::json::Json;
use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::recording::Event;
use crate::recording::journal::Resource;
use crate::records::CallNumber;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::pair::CallIndex;
use crate::records::state::scope_of;
use crate::records::state::shown;
use crate::records::values::Slot;
use crate::records::values::Written;

impl Graph {
    /// The record of what a running call reads. A value that is not the one that was written last comes from somewhere that
    /// nobody knows.
    pub fn read_record(
        &mut self,
        number: CallNumber,
        resource: &Resource,
        value: Option<&Json>,
        invocation: &str,
    ) -> Option<RecordId> {
        let call = self.calls.get(number.0 as usize)?;
        let event = Event {
            id: self.event_id(call.record).to_owned(),
            author: call.agent.to_string(),
            invocation_id: invocation.to_owned(),
            time: call.time.to_string(),
            ..Event::default()
        };
        let slot = self.slot_of(resource, invocation);
        let (text, version) = match resource {
            Resource::State { .. } => {
                (Some(value.map_or_else(String::new, |value| shown(value).ordinary())), None)
            }
            Resource::Artifact { version, .. } => (None, Some(*version)),
        };
        let mut version_number = self.values.newest(slot.clone());
        if !self.values.is(version_number, text.as_deref(), version) {
            let written = Written { moment: self.sight.next(), by: Arc::default(), finished: false };
            version_number = self.values.write(slot, written, text, version);
        }
        let mut scene = self.scene(&event, false);
        Some(self.value_record(&mut scene, version_number))
    }

    /// Notes that a running call read the value of a record: what it is computed from, and what its answer will be.
    pub fn note_read(
        &mut self,
        number: CallNumber,
        resource: &Resource,
        value: Option<&Json>,
        read: RecordId,
    ) {
        self.add_read(number, read);
        let Some(call) = self.calls.get_mut(number.0 as usize) else { return };
        if !call.current.contains(&read) {
            call.current = call.current.iter().copied().chain([read]).collect();
        }
        let record = call.record;
        self.facts.push(match resource {
            Resource::State { key, .. } => {
                let (scope, key) = scope_of(key);
                let value = value.map_or_else(String::new, |value| shown(value).ordinary());
                SessionFact::StateRead { record, scope: scope.into(), key: key.into(), value: value.into() }
            }
            Resource::Artifact { name, version } => {
                SessionFact::ArtifactRead { record, filename: name.into(), version: *version }
            }
        });
    }

    /// Notes that a running call wrote a value. Until its answer comes, nobody vouches for it.
    pub fn note_write(
        &mut self,
        number: CallNumber,
        resource: &Resource,
        value: Option<&Json>,
        invocation: &str,
    ) {
        let Some(record) = self.calls.get(number.0 as usize).map(|call| call.record) else { return };
        let slot = self.slot_of(resource, invocation);
        let written = Written { moment: self.sight.next(), by: Arc::from([record]), finished: false };
        match resource {
            Resource::State { key, .. } => {
                let text = value.map_or_else(String::new, |value| shown(value).ordinary());
                self.values.write(slot, written, Some(text.clone()), None);
                self.write_row(record, key, &text);
            }
            Resource::Artifact { name, version } => {
                self.values.write(slot, written, None, Some(*version));
                let (filename, version) = (name.into(), *version);
                self.facts.push(SessionFact::ArtifactWrite { record, filename, version });
            }
        }
        self.state_written = true;
    }

    fn slot_of(&self, resource: &Resource, invocation: &str) -> Slot {
        match resource {
            Resource::State { key, .. } => Slot::State(self.session.state_path(key, invocation)),
            Resource::Artifact { name, .. } => Slot::Artifact(name.clone()),
        }
    }

    /// The context with what the call read so far.
    pub(crate) fn with_reads(&mut self, index: CallIndex, inputs: ContextId) -> ContextId {
        let number = self.book.call(index).and_then(|call| call.number);
        let reads = number.map(|number| self.reads_of(number)).unwrap_or_default();
        if reads.is_empty() { inputs } else { self.trail.extend(inputs, &reads) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::records::building::events;
    use crate::records::building::inputs;
    use crate::records::building::short;

    #[test]
    fn what_a_call_reads_is_behind_it_and_its_answer() {
        let lines = "user say go\nbot call c f {}\nbot answer c f {}";
        let mut graph = Graph::default();
        graph.set_gated();
        let list = events(&short(lines));
        for event in list.iter().take(2) {
            graph.extend(event).unwrap();
        }
        let (one, key) = (CallNumber(0), "k".to_owned());
        let state = Resource::State { key, value: Some("1".to_owned()) };
        let value = json::parse("1").unwrap();
        graph.note_check(one, "t", crate::records::live::Gating::Allowed, "{}");
        let read = graph.read_record(one, &state, Some(&value), "i").unwrap();
        assert!(graph.records().get(2).unwrap().contents().contains("unattributed"));
        graph.note_read(one, &state, Some(&value), read);
        assert_eq!(&*graph.calls().get(0).unwrap().current, [RecordId(1), read]);
        graph.note_write(one, &state, Some(&json::parse("2").unwrap()), "i");
        let again = graph.read_record(one, &state, Some(&value), "i").unwrap();
        assert_ne!(again, read);
        graph.extend(&list[2]).unwrap();
        assert_eq!(inputs(&graph, 4), [1, 2]);
    }
}
