//! What ran without asking any gate: tools of the model's own server, code.

use crate::lineage::RecordId;
use crate::records::Graph;
use crate::records::SessionFact;
use crate::records::Status;
use crate::records::Text;
use crate::records::draft::Ungated;
use crate::records::extend::Scene;
use crate::records::notices::quoted;

impl Graph {
    /// Notes what a record says ran outside the gate. None of it is evidence, whoever says so.
    pub(crate) fn note_ungated(&mut self, scene: &Scene<'_>, record: RecordId, ungated: &Ungated<'_>) {
        let event = quoted(&scene.event.id);
        match ungated {
            Ungated::Code => {
                let text = format!("an executableCode part of event {event} ran outside the gate");
                self.warnings.add("ungated", text);
            }
            Ungated::CodeResult => {}
            Ungated::Call { id, tool, arguments } => {
                let text = format!(
                    "the toolCall part {} of event {event} ran {} outside the gate, on the model's own server",
                    quoted(id),
                    quoted(tool)
                );
                self.warnings.add("ungated", text);
                self.server_calls.insert(((*id).into(), (*tool).into()), arguments.clone());
                self.facts.push(outcome(record, id, tool, arguments));
            }
            Ungated::Answer { id, tool } => {
                let key = (Text::from(*id), Text::from(*tool));
                let arguments = self.server_calls.get(&key).cloned().unwrap_or_else(|| "{}".into());
                self.facts.push(outcome(record, id, tool, &arguments));
                self.facts.push(SessionFact::ToolOutput { record, tool: key.1, arguments });
            }
        }
    }
}

fn outcome(record: RecordId, id: &str, tool: &str, arguments: &Text) -> SessionFact {
    SessionFact::ToolOutcome {
        record,
        call_id: id.into(),
        tool: tool.into(),
        arguments: arguments.clone(),
        status: Status::Ungated,
    }
}
