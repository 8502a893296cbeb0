//! The system instruction of a request: what the host registered, what that was filled with, or nobody knows what.

use crate::json;
use crate::json::Json;
use crate::lineage::ContextId;
use crate::lineage::RecordId;
use crate::records::Graph;
use crate::records::RecordKind;
use crate::records::Role;
use crate::records::agents;
use crate::records::draft::NO_CALLS;
use crate::records::extend::Body;
use crate::records::extend::Scene;
use crate::records::request::either;
use crate::records::request::items;
use crate::records::rows::Form;
use crate::records::visible::Shown;
use std::sync::Arc;

impl Graph {
    /// The records of the system instruction of a request, none for what the framework says of the agent itself.
    pub(crate) fn instructed(&mut self, scene: &mut Scene<'_>, request: &Json) -> Vec<RecordId> {
        let config = request.field("config").filter(|config| **config != Json::Null);
        let said = config.and_then(|config| either(config, "systemInstruction", "system_instruction"));
        let texts: Vec<String> = match said {
            None => Vec::new(),
            Some(Json::Text(text)) => vec![text.to_string()],
            Some(content) => {
                let parts = items(content.field("parts")).iter();
                parts.filter_map(|part| part.field("text").and_then(Json::text).map(str::to_owned)).collect()
            }
        };
        let mut records = Vec::new();
        for text in texts {
            let own = without_identity(&text, &scene.event.author);
            if !own.is_empty() {
                records.push(self.instruction(scene, own));
            }
        }
        records
    }

    /// The record of an instruction: registered as it is, filled with values of state, or of unknown origin.
    pub(crate) fn instruction(&mut self, scene: &mut Scene<'_>, text: &str) -> RecordId {
        let stated = Arc::clone(&self.stated);
        let Some(agent) = stated.named(&scene.event.author).filter(|agent| !agent.instruction.is_empty())
        else {
            return self.unknown_piece(scene, text);
        };
        let (role, inputs) = if agent.reads.is_empty() {
            if agent.instruction != text {
                return self.unknown_piece(scene, text);
            }
            (Role::System, ContextId::EMPTY)
        } else {
            let values = self.reads(scene);
            if !self.is_filled(&agent.instruction, &agent.reads, &values, text) {
                scene.reads.clear();
                return self.unknown_piece(scene, text);
            }
            (Role::Agent, self.trail.extend(ContextId::EMPTY, &values))
        };
        let key = (scene.event.author.clone(), text.to_owned(), inputs);
        if let Some(&record) = self.instructions.get(&key) {
            return record;
        }
        let metadata =
            crate::records::metadata::encode(vec![("text", crate::records::metadata::Field::Text(text))]);
        let body = Body {
            kind: RecordKind::Text,
            place: usize::MAX,
            contents: text.into(),
            tools_json: NO_CALLS,
            metadata: metadata.ok(),
            form: Form::Words,
            role,
        };
        let record = self.record(scene, body, inputs, Shown::Nobody);
        self.instructions.insert(key, record);
        record
    }

    /// Whether a text is the instruction with its values in place. A value that is not known may be any text.
    fn is_filled(&self, instruction: &str, reads: &[agents::Read], values: &[RecordId], text: &str) -> bool {
        let value = |read: &agents::Read| {
            let at = reads.iter().position(|other| other == read)?;
            let record = self.records().get(values.get(at)?.0 as usize)?;
            let contents = json::parse(record.contents()).ok()?;
            match contents.field("value")?.field("value")? {
                Json::Null => Some(String::new()),
                Json::Text(text) => Some(text.to_string()),
                other => Some(other.ordinary()),
            }
        };
        let mut literals = vec![String::new()];
        for piece in agents::pieces(instruction) {
            let known = match piece {
                agents::Piece::Text(words) => Some(words.to_owned()),
                agents::Piece::Read(read) => value(&read),
            };
            match (known, literals.last_mut()) {
                (Some(words), Some(last)) => last.push_str(&words),
                (_, _) => literals.push(String::new()),
            }
        }
        matches(&literals, text)
    }
}

/// Whether a text consists of these pieces in order, with anything between them.
fn matches(literals: &[String], text: &str) -> bool {
    let [first, middle @ .., last] = literals else {
        return literals.first().is_some_and(|only| only == text);
    };
    let inner = text.strip_prefix(first.as_str()).and_then(|text| text.strip_suffix(last.as_str()));
    let Some(mut rest) = inner else { return false };
    for literal in middle {
        match rest.split_once(literal.as_str()) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

/// The text without the sentences with which the framework tells an agent its name and description, before or after it.
fn without_identity<'t>(text: &'t str, agent: &str) -> &'t str {
    let name = format!("You are an agent. Your internal name is \"{agent}\".");
    let Some(at) = text.find(&name) else { return text };
    let (before, from) = text.split_at(at);
    let after = from.get(name.len()..).unwrap_or_default();
    let described = after.trim_start();
    let after = match described.strip_prefix("The description about you is \"") {
        Some(description) => {
            let end = description.find('\n').unwrap_or(description.len());
            let (line, rest) = description.split_at(end);
            if line.ends_with('"') || line.ends_with("\".") { rest } else { after }
        }
        None => after,
    };
    match (before.trim(), after.trim()) {
        ("", after) => after,
        (before, "") => before,
        // Words on both sides are no instruction of one piece.
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_framework_tells_agents_who_they_are() {
        let rows = [
            (r#"You are an agent. Your internal name is "a"."#, ""),
            (r#"You are an agent. Your internal name is "a". The description about you is "Is a."."#, ""),
            ("You are an agent. Your internal name is \"a\".\n\n The description about you is \"Is a.\"", ""),
            ("Be brief.\n\nYou are an agent. Your internal name is \"a\".", "Be brief."),
            ("You are an agent. Your internal name is \"a\".\n\nBe brief.", "Be brief."),
            (
                r#"You are an agent. Your internal name is "b"."#,
                r#"You are an agent. Your internal name is "b"."#,
            ),
        ];
        for (text, own) in rows {
            assert_eq!(without_identity(text, "a"), own, "{text}");
        }
        let both = "x\n\nYou are an agent. Your internal name is \"a\".\n\ny";
        assert_eq!(without_identity(both, "a"), both);
    }

    #[test]
    fn unknown_values_may_be_any_text() {
        let literals = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let rows: [(&[&str], &str, bool); 6] = [
            (&["Use tea"], "Use tea", true),
            (&["Use tea"], "Use tea!", false),
            (&["Use ", "."], "Use this.", true),
            (&["Use ", "."], "Use this", false),
            (&["a", "b", "c"], "a1b2c", true),
            (&["ab", "bc"], "abc", false),
        ];
        for (pieces, text, expected) in rows {
            assert_eq!(matches(&literals(pieces), text), expected, "{pieces:?} {text}");
        }
    }
}
