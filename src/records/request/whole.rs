//! Whether a request holds what its agent has to have been shown, and what counts where it does not.

use crate::json::Json;
use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::records::Graph;
use crate::records::agents::History;
use crate::records::extend::Scene;
use crate::records::notices::quoted;
use crate::records::request::items;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Records of a turn that are looked at beside four for each that a request shows. A turn that is longer than that has
/// something that the request leaves out.
const ALLOWANCE: usize = 64;

impl Graph {
    /// What the author of the event was shown, by its request; and by the rules of visibility too, where the request has
    /// no contents, or leaves out a call or an answer of the turn of the agent that the rules show.
    pub(crate) fn shown_by_request(&mut self, scene: &mut Scene<'_>, request: &Json) -> ContextId {
        let (asked, known) = self.requested(scene, request);
        let hollow = items(request.field("contents")).is_empty();
        if !hollow && !self.leaves_out(scene, &known) {
            return asked;
        }
        let event = &scene.event;
        let name = if event.id.is_empty() { event.index.to_string() } else { event.id.clone() };
        let what = if hollow { "has no contents" } else { "leaves out calls or answers of its turn" };
        let text = format!(
            "the request that event {} answers {what}: all that the visibility rules show counts as shown too",
            quoted(&name)
        );
        self.warnings.add("request_incomplete", text);
        let (agent, branch, scope) = (scene.author, scene.branch, scene.scope);
        let stated = Arc::clone(&self.stated);
        let history = stated.named(&event.author).map_or(History::Full, |agent| agent.history);
        let view = match history {
            History::Full => self.sight.context(&mut self.trail, agent, branch, scope),
            History::Turn => self.sight.turn_context(&mut self.trail, agent, branch, scope),
        };
        let members = self.trail.lineage().members(asked);
        self.trail.extend(view, &members)
    }

    /// Whether an answered call of the agent, or the last answer to it, stands in its turn and not among these records.
    fn leaves_out(&mut self, scene: &Scene<'_>, known: &BTreeSet<RecordId>) -> bool {
        let (agent, branch, scope) = (scene.author, scene.branch, scene.scope);
        let turn = self.sight.turn_context(&mut self.trail, agent, branch, scope);
        let most = known.len().saturating_mul(4).saturating_add(ALLOWANCE);
        let lineage = self.trail.lineage();
        if lineage.context_len(turn) > most {
            return true;
        }
        let own = |record: RecordId| {
            let written = self.records().get(record.0 as usize);
            written.is_some_and(|record| record.agent() == scene.event.author)
        };
        lineage
            .members_backwards(turn)
            .any(|(_, record)| !known.contains(&record) && own(record) && self.book.has_to_be_shown(record))
    }
}

#[cfg(test)]
mod tests {
    use crate::records::building::build;
    use crate::records::building::inputs;
    use crate::records::building::warned;

    const FETCHED: &str = "user say hi\nbot call c1 fetch {}\nbot answer c1 fetch {\"page\":\"evil\"}\n";

    #[test]
    fn a_request_that_hides_what_its_agent_did_washes_nothing() {
        let call = r#"{"functionCall":{"name":"fetch","args":{}}}"#;
        let answer = r#"{"functionResponse":{"name":"fetch","response":{"page":"evil"}}}"#;
        let hi = r#"{"text":"hi"}"#;
        let contents = |parts: &[&str]| format!(r#"{{"contents":[{{"parts":[{}]}}]}}"#, parts.join(","));
        let rows = [
            ("{}".to_owned(), true),
            (r#"{"contents":[]}"#.to_owned(), true),
            (r#"{"contents":null}"#.to_owned(), true),
            (contents(&[hi]), true),
            (contents(&[hi, call]), true),
            (contents(&[hi, answer]), true),
            (contents(&[hi, call, answer]), false),
            (contents(&[call, answer]), false),
        ];
        for (request, incomplete) in rows {
            let (graph, _) = build(&format!("{FETCHED}bot say end @ \"modelRequest\":{request}"));
            assert!(inputs(&graph, 3).contains(&2), "{request}");
            assert_eq!(warned(&graph).contains(&"request_incomplete"), incomplete, "{request}");
        }
    }

    #[test]
    fn what_a_request_need_not_hold_is_not_missed() {
        let hi = r#""modelRequest":{"contents":[{"parts":[{"text":"hi"}]}]}"#;
        let rows = [
            // Another turn.
            format!("{FETCHED}user say hi\nbot say end @ {hi}"),
            // A call without an answer.
            format!("user say hi\nbot call c1 fetch {{}}\nbot say end @ {hi}"),
            // Of another agent.
            format!("user say hi\nbob call c1 fetch {{}}\nbob answer c1 fetch {{}}\nbot say end @ {hi}"),
        ];
        for lines in rows {
            assert!(!warned(&build(&lines).0).contains(&"request_incomplete"), "{lines}");
        }
        let last = r#""modelRequest":{"contents":[{"parts":[{"text":"hi"},{"functionCall":{"name":"f","args":{}}},
            {"functionResponse":{"name":"f","response":{"n":2}}}]}]}"#;
        let last = last.replace('\n', "");
        let lines = format!(
            "user say hi\nbot call c f {{}}\nbot answer c f {{\"n\":1}}\nbot answer c f {{\"n\":2}}\nbot say end @ {last}"
        );
        assert_eq!(warned(&build(&lines).0), ["second_result"]);
    }
}
