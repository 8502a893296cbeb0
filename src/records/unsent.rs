//! Events that a gate was never sent: what came before it was attached, what a runner lost or cannot write.

use crate::lineage::ContextId;
use crate::recording::Event;
use crate::records::Graph;
use crate::records::Role;
use crate::records::notices::quoted;
use crate::records::state::Known;
use crate::records::state::UNATTRIBUTED;
use crate::records::state::resource;

impl Graph {
    /// Notes that so many events of the session were never sent, or that nobody knows how many (0). One record of unknown
    /// origin stands for them. Whatever agents and tools say after it was computed from it, on every branch, whatever is
    /// rewound, and whatever a model is said to have been shown; what people say and the host registers was not.
    pub fn note_unsent(&mut self, events: usize, why: &str) {
        let names = &self.session;
        let path = ["history", &names.app, &names.user, &names.session].map(str::to_owned);
        let contents = resource(&path, UNATTRIBUTED, Known::Nothing);
        let event = Event { id: format!("unsent:{}", self.sight.next().place()), ..Event::default() };
        let mut scene = self.scene(&event, false);
        let before = self.behind_unsent(ContextId::EMPTY);
        let record = self.resource(&mut scene, contents.into(), Role::Agent, before);
        self.sight.append_unsent(record, scene.origin);
        let count = if events == 0 { "events".to_owned() } else { format!("{events} events") };
        let why = if why.is_empty() { String::new() } else { format!(" ({})", quoted(why)) };
        let text = format!(
            "{count} of the session were never sent to the gate{why}: all that agents do after them depends on something \
             unknown"
        );
        self.warnings.add("unsent_events", text);
    }

    /// The context with the record of what was never sent behind it, if it is not there already.
    pub(crate) fn behind_unsent(&mut self, inputs: ContextId) -> ContextId {
        match self.sight.unsent() {
            Some(unsent) if !self.trail.lineage().closure(inputs).contains(unsent) => {
                self.trail.extend(inputs, &[unsent])
            }
            Some(_) | None => inputs,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lineage::RecordId;
    use crate::records::building::at;
    use crate::records::building::events;
    use crate::records::building::short;
    use crate::records::building::warned;

    /// What a session looks like whose events from this one on come after some that were never sent, and the records that
    /// are not behind the record which stands for them.
    fn without(lines: &str, at: usize) -> (Graph, Vec<String>) {
        let mut graph = Graph::default();
        let list = events(&short(lines));
        for (number, event) in list.iter().enumerate() {
            if number == at {
                graph.note_unsent(3, "lost");
            }
            graph.extend(event).unwrap();
        }
        let unsent = graph.sight.unsent().unwrap();
        let free = |record: &RecordId| !graph.lineage().ancestors(*record).contains(unsent);
        let end = u32::try_from(graph.records().len()).unwrap();
        let after = (unsent.0 + 1..end).map(RecordId);
        let words = |record: RecordId| graph.records().get(record.0 as usize).unwrap().contents().to_string();
        let free = after.filter(free).map(words).collect();
        (graph, free)
    }

    #[test]
    fn whatever_agents_do_after_what_was_never_sent_depends_on_it() {
        let request = |text: &str| {
            format!(r#""modelRequest":{{"contents":[{{"role":"user","parts":[{{"text":"{text}"}}]}}]}}"#)
        };
        let lines = [
            "user say go",
            "bot call c f {}",
            "bot answer c f {\"x\":1}",
            "bot say one",
            "far say two @ \"branch\":\"far.away\"",
            "user say on",
            &format!("bot say three @ {}", request("on")),
            "bot answer lost f {\"x\":2}",
            "user nothing @ \"rewindBeforeInvocationId\":\"i\"",
            "bot say four",
            "user nothing @ \"compaction\":{\"startTimestamp\":\"1\",\"endTimestamp\":\"2\",\"compactedContent\":{\"parts\":[{\"text\":\"in short\"}]}}",
            "bot say five",
        ];
        for at in 0..5 {
            let (graph, free) = without(&lines.join("\n"), at);
            assert!(free.iter().all(|text| text == "go" || text == "on"), "{at}: {free:?}");
            assert_eq!(warned(&graph).iter().filter(|kind| **kind == "unsent_events").count(), 1);
        }
    }

    #[test]
    fn what_is_never_sent_later_stands_behind_what_was_not_before() {
        let mut graph = Graph::default();
        graph.note_unsent(0, "");
        graph.note_unsent(1, "");
        assert_eq!(graph.lineage().members(graph.lineage().inputs(RecordId(1))), [RecordId(0)]);
        assert!(at(&graph, 1).contents().contains(UNATTRIBUTED));
    }
}
