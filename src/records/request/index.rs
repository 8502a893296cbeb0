//! Records by what they say, in all the wordings in which requests repeat it.

use crate::json;
use crate::json::Json;
use crate::lineage::RecordId;
use crate::records::Graph;
use crate::records::Record;
use crate::records::RecordKind;
use crate::records::Role;
use crate::records::SessionFact;
use crate::records::Text;
use crate::records::request::literal;
use std::collections::BTreeMap;

/// What a part of a request says.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Saying {
    /// Words.
    Text(String),
    /// Words of an agent, as others are told of them.
    Said(String, String),
    /// Name and arguments of a call.
    Call(String, String),
    /// The same, as others are told of it: who made it before.
    Called(String, String, String),
    /// Name and response of an answer.
    Answer(String, String),
    /// The same, as others are told of it.
    Returned(String, String, String),
    /// The arguments of a call as the task of the agent that it started.
    Task(String),
}

const FENCE: (&str, &str) = ("<<<BEGIN_QUOTED_AGENT_CONTENT>>>\n", "\n<<<END_QUOTED_AGENT_CONTENT>>>");

impl Saying {
    /// What a text part may say: the words themselves, what they tell of another agent, or a task.
    pub(crate) fn of_text(text: &str) -> Vec<Self> {
        let mut all = vec![Self::Text(text.to_owned())];
        all.extend(reworded(text));
        if text.starts_with('{')
            && let Ok(arguments) = json::parse(text)
        {
            all.push(Self::Task(arguments.canonical()));
        }
        all
    }

    /// What a record says.
    fn of_record(record: &Record<'_>) -> Vec<Self> {
        let (agent, words) = (record.agent().to_owned(), record.contents().to_owned());
        match record.kind() {
            RecordKind::Text | RecordKind::Thought => {
                vec![Self::Text(words.clone()), Self::Said(agent, words)]
            }
            RecordKind::Summary => vec![Self::Text(words.clone()), Self::Said("model".to_owned(), words)],
            RecordKind::Call => Self::of_call(agent, record),
            RecordKind::Response => Self::of_answer(agent, record),
            RecordKind::Resource
            | RecordKind::Signature
            | RecordKind::Data
            | RecordKind::Code
            | RecordKind::CodeResult
            | RecordKind::ServerCall
            | RecordKind::ServerAnswer
            | RecordKind::Given => Vec::new(),
        }
    }

    fn of_call(agent: String, record: &Record<'_>) -> Vec<Self> {
        let Some((name, arguments)) = call_of(record) else { return Vec::new() };
        let mut all = Vec::new();
        if let Json::Object(fields) = &arguments
            && let [(key, Json::Text(request))] = fields.as_slice()
            && **key == *"request"
        {
            all.push(Self::Text(request.to_string()));
        }
        let arguments = arguments.canonical();
        all.push(Self::Task(arguments.clone()));
        all.push(Self::Called(agent, name.clone(), arguments.clone()));
        all.push(Self::Call(name, arguments));
        all
    }

    fn of_answer(agent: String, record: &Record<'_>) -> Vec<Self> {
        let metadata = record.metadata().and_then(|text| json::parse(&text).ok());
        let answer = metadata.as_ref().and_then(|json| json.field("s:function_response"));
        let name = answer.and_then(|json| json.field("s:name")).and_then(Json::text);
        let response = json::parse(record.contents()).ok();
        let (Some(name), Some(response)) = (name, response) else { return Vec::new() };
        let (name, response) = (name.to_owned(), response.canonical());
        vec![Self::Returned(agent, name.clone(), response.clone()), Self::Answer(name, response)]
    }
}

/// Whether a record is a message that a call wrote, and no person.
fn is_handed_down(record: &Record<'_>) -> bool {
    record.kind() == RecordKind::Text && record.role() == Role::Agent && record.agent() == "user"
}

fn call_of(record: &Record<'_>) -> Option<(String, Json)> {
    let Ok(Json::Array(calls)) = json::parse(&record.tools_json()) else { return None };
    let call = calls.first()?;
    let arguments = call.field("arguments").and_then(Json::text).and_then(|text| json::parse(text).ok())?;
    Some((call.field("name")?.text()?.to_owned(), arguments))
}

/// `[agent] said: …`, ``[agent] called tool `x` with parameters: …``, ``[agent] `x` tool returned result: …``; newer
/// versions put fences around what is told.
fn reworded(text: &str) -> Option<Saying> {
    let (agent, rest) = text.strip_prefix('[')?.split_once("] ")?;
    let agent = agent.to_owned();
    if let Some(words) = rest.strip_prefix("said:") {
        return Some(Saying::Said(agent, unfenced(words)?.to_owned()));
    }
    if let Some(rest) = rest.strip_prefix("called tool `") {
        let (name, arguments) = rest.split_once("` with parameters:")?;
        let arguments = literal::parse(unfenced(arguments)?)?.canonical();
        return Some(Saying::Called(agent, name.to_owned(), arguments));
    }
    let (name, response) = rest.strip_prefix('`')?.split_once("` tool returned result:")?;
    let response = literal::parse(unfenced(response)?)?.canonical();
    Some(Saying::Returned(agent, name.to_owned(), response))
}

fn unfenced(text: &str) -> Option<&str> {
    let text = text.strip_prefix([' ', '\n'])?;
    let inner = text.strip_prefix(FENCE.0).and_then(|text| text.strip_suffix(FENCE.1));
    Some(inner.unwrap_or(text))
}

/// Records by what they say, kept up as the session grows.
#[derive(Debug, Clone, Default)]
pub(crate) struct Index {
    records: usize,
    facts: usize,
    by_saying: BTreeMap<Saying, Vec<RecordId>>,
    outputs: BTreeMap<RecordId, (Text, Text)>,
}

impl Index {
    /// Takes in what is new.
    pub(crate) fn update(&mut self, graph: &Graph) {
        let (records, facts) = (graph.records(), graph.facts());
        for (number, record) in records.iter().enumerate().skip(self.records) {
            let id = RecordId(u32::try_from(number).unwrap_or(u32::MAX));
            if is_handed_down(&record) {
                self.replace_its_call(graph, record.contents());
            }
            for saying in Saying::of_record(&record) {
                let fitting = self.by_saying.entry(saying).or_default();
                if fitting.last() != Some(&id) {
                    fitting.push(id);
                }
            }
        }
        for fact in facts.from(self.facts) {
            if let SessionFact::ToolOutput { record, tool, arguments } = fact {
                self.outputs.insert(record, (tool, arguments));
            }
        }
        (self.records, self.facts) = (records.len(), facts.len());
    }

    /// The first message of a run that a call started says what the call says: from there on it stands for those words, and
    /// has the call behind it.
    fn replace_its_call(&mut self, graph: &Graph, words: &str) {
        for saying in Saying::of_text(words) {
            let Some(fitting) = self.by_saying.get_mut(&saying) else { continue };
            let newest = fitting.last().and_then(|id| graph.records().get(id.0 as usize));
            if newest.is_some_and(|newest| newest.kind() == RecordKind::Call) {
                fitting.pop();
            }
        }
    }

    /// The records that say one of these, in order.
    pub(crate) fn fitting(&self, sayings: &[Saying]) -> Vec<RecordId> {
        let lists = sayings.iter().filter_map(|saying| self.by_saying.get(saying));
        let mut found: Vec<_> = lists.flatten().copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Tool and arguments of the call that the record is an output of.
    pub(crate) fn output(&self, record: RecordId) -> Option<&(Text, Text)> {
        self.outputs.get(&record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_of_others_is_read_back() {
        let fenced = |text: &str| format!("{}{text}{}", FENCE.0, FENCE.1);
        let said = Saying::Said("a".into(), "x".into());
        let called = Saying::Called("a".into(), "f".into(), r#"{"n":1}"#.into());
        let returned = Saying::Returned("a".into(), "f".into(), r#"{"n":1}"#.into());
        let rows = [
            ("[a] said: x".to_owned(), Some(&said)),
            (format!("[a] said:\n{}", fenced("x")), Some(&said)),
            ("[a] called tool `f` with parameters: {'n': 1}".to_owned(), Some(&called)),
            (format!("[a] called tool `f` with parameters:\n{}", fenced("{'n': 1}")), Some(&called)),
            ("[a] `f` tool returned result: {'n': 1}".to_owned(), Some(&returned)),
            ("[a] `f` tool returned result: {n: 1}".to_owned(), None),
            ("[a] says: x".to_owned(), None),
            ("a said: x".to_owned(), None),
        ];
        for (text, expected) in rows {
            assert_eq!(reworded(&text).as_ref(), expected, "{text}");
        }
    }
}
