//! Conformance recordings: model and tool exchanges, one after another, to events.
//!
//! They hold no events. A message of a person is the last content of the first request after it, a model's output its
//! response, a tool's result an answer. Each output keeps the request that it answers.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::json::Json;
use crate::recording::adk::is_partial;
use crate::recording::compose::{self, one_part};
use crate::recording::fields::{Fields, Wrong, camel, is_blank};
use crate::recording::reading::{self, Dialect, Names};
use crate::recording::skim;
use crate::recording::{Form, Notice, Options, Recording, StopKind, UnreadCall};

const ITEM: &[&str] = &["userMessageIndex", "agentName", "llmRecording", "toolRecording"];
const MODEL: &[&str] = &["llmRequest", "llmResponse", "llmResponses"];
const TOOL: &[&str] = &["toolCall", "toolResponse"];

/// Reads the items of `recordings`. One that could not be read comes with what of it can be made out.
pub(crate) fn read(items: impl IntoIterator<Item = Item>, options: &Options) -> Recording {
    let mut build = Build::default();
    for item in items {
        let (read, rest) = match item {
            Item::Read(json) => (build.add(&json), json),
            Item::Faulty { wrong, rest } => (Err(wrong), rest),
        };
        if let Err(wrong) = read {
            build.unread.extend(calls_of_item(&rest, build.values.len()));
            build.values.push(Err(wrong));
        }
    }
    let form = (Form::Conformance, Dialect::Adk);
    let mut recording = reading::of_values(form, Names::default(), build.values, options);
    reading::add_unread(&mut recording, build.unread);
    for event in &mut recording.events {
        event.model_request = build.requests.remove(&event.index);
        event.ran_otherwise = build.otherwise.contains(&event.index);
    }
    let text = "this is a conformance recording: it has no ids and no times of events, failed and unfinished calls are not \
                in it, and messages of people are those that the requests to models end with";
    recording.notices.push(Notice { kind: "conformance".to_owned(), text: text.to_owned() });
    if build.silent {
        let text = "the message of a person before some request cannot be made out";
        recording.notices.push(Notice { kind: "unknown_messages".to_owned(), text: text.to_owned() });
    }
    recording
}

/// One item of `recordings`.
pub(crate) enum Item {
    Read(Json),
    /// It holds a value that cannot be read; in `rest` that is null.
    Faulty {
        wrong: Wrong,
        rest: Json,
    },
}

/// A call whose model named no id: which value it stands in, and which part it is there.
#[derive(Clone, Copy)]
struct Place {
    value: usize,
    part: usize,
}

#[derive(Default)]
struct Build {
    values: Vec<Result<Json, Wrong>>,
    /// The request behind each model output, by the number of its value.
    requests: BTreeMap<usize, Json>,
    unread: Vec<UnreadCall>,
    /// Calls and answers of tools that ran otherwise than the model asked, by the numbers of their values.
    otherwise: BTreeSet<usize>,
    /// The number of the last message of a person.
    message: Option<String>,
    /// Calls that no tool recording has named yet, by their ids.
    open: BTreeMap<String, VecDeque<Place>>,
    /// The same for calls without ids in the last answer to each agent: by agent, then by name and arguments. An agent
    /// asks its model again only when its tools are done.
    nameless: BTreeMap<String, BTreeMap<String, VecDeque<Place>>>,
    /// Whether a message of a person could not be made out.
    silent: bool,
}

impl Build {
    fn add(&mut self, json: &Json) -> Result<(), Wrong> {
        let fields = Fields::new(json, "", ITEM)?;
        let message = match fields.value("userMessageIndex") {
            Some(Json::Number(digits)) => digits.to_string(),
            Some(_) | None => return Err(Wrong::shape(&fields.place("userMessageIndex"), "a number")),
        };
        let agent = fields.text("agentName")?;
        let model = fields.object("llmRecording", MODEL)?;
        let tool = fields.object("toolRecording", TOOL)?;
        match (model, tool) {
            (Some(model), None) => self.model(&model, &agent, &message),
            (None, Some(tool)) => self.tool(&tool, &agent, &message),
            (Some(_), Some(_)) | (None, None) => {
                let text = "this item is not one recording of a model, nor one of a tool".to_owned();
                Err(Wrong::new(StopKind::BadShape, text))
            }
        }
    }

    fn model(&mut self, fields: &Fields<'_>, agent: &str, message: &str) -> Result<(), Wrong> {
        let request = fields.value("llmRequest");
        let responses = responses(fields)?;
        let invocation = format!("message-{message}");
        if self.message.as_deref() != Some(message) {
            self.message = Some(message.to_owned());
            match request.and_then(last_content) {
                Some(content) => self.values.push(Ok(compose::event("user", &invocation, content.clone()))),
                None => self.silent = true,
            }
        }
        self.nameless.remove(agent);
        for response in responses {
            let Json::Object(mut members) = response else {
                return Err(Wrong::shape("llm_responses", "a list of objects"));
            };
            members.push(("author".into(), compose::text(agent)));
            members.push(("invocationId".into(), compose::text(&invocation)));
            let event = Json::Object(members);
            if !is_partial(&event) {
                self.note_calls(&event, agent);
            }
            if let Some(request) = request {
                self.requests.insert(self.values.len(), request.clone());
            }
            self.values.push(Ok(event));
        }
        Ok(())
    }

    /// Notes the calls of an output, for the tool recordings that follow.
    fn note_calls(&mut self, event: &Json, agent: &str) {
        let value = self.values.len();
        for (part, json) in parts_of(event).iter().enumerate() {
            if let Some(call) = member(json, "functionCall") {
                let open = match id(call) {
                    Some(id) => self.open.entry(id.to_owned()),
                    None => self.nameless.entry(agent.to_owned()).or_default().entry(claim(call)),
                };
                open.or_default().push_back(Place { value, part });
            }
        }
    }

    fn tool(&mut self, fields: &Fields<'_>, agent: &str, message: &str) -> Result<(), Wrong> {
        let Some(call) = fields.value("toolCall") else {
            return Err(Wrong::shape(&fields.place("toolCall"), "a function call"));
        };
        let own = Fields::at(call, fields.place_of("toolCall"), &["id"])?;
        let id = own.text("id")?;
        let invocation = format!("message-{message}");
        let called = self.open.get_mut(&id).and_then(VecDeque::pop_front);
        let alike = self.nameless.get_mut(agent).and_then(|open| open.get_mut(&claim(call)));
        if called.is_none() {
            match alike.and_then(VecDeque::pop_front) {
                Some(place) => self.name(place, &id),
                // No model asked for it: a node of a workflow called it.
                None => self.ran(call, agent, &invocation),
            }
        }
        let otherwise = called.is_some_and(|place| self.claimed(place) != Some(claim(call)));
        if otherwise {
            self.otherwise.insert(self.values.len());
            self.ran(call, agent, &invocation);
        }
        let Some(response) = fields.value("toolResponse") else { return Ok(()) };
        if otherwise {
            self.otherwise.insert(self.values.len());
        }
        let content = one_part("user", "functionResponse", response.clone());
        self.values.push(Ok(compose::event(agent, &invocation, content)));
        Ok(())
    }

    /// Adds the call that a tool ran for.
    fn ran(&mut self, call: &Json, agent: &str, invocation: &str) {
        let content = one_part("model", "functionCall", call.clone());
        self.values.push(Ok(compose::event(agent, invocation, content)));
    }

    /// What the model's call says that is to run.
    fn claimed(&self, place: Place) -> Option<String> {
        let event = self.values.get(place.value).and_then(|value| value.as_ref().ok())?;
        member(parts_of(event).get(place.part)?, "functionCall").map(claim)
    }

    /// Gives a call the id under which its tool ran.
    fn name(&mut self, place: Place, id: &str) {
        let event = self.values.get_mut(place.value).and_then(|value| value.as_mut().ok());
        let content = event.and_then(|event| member_mut(event, "content"));
        let parts = content.and_then(|content| member_mut(content, "parts"));
        let Some(Json::Array(parts)) = parts else { return };
        let call = parts.get_mut(place.part).and_then(|part| member_mut(part, "functionCall"));
        if let (Some(Json::Object(members)), false) = (call, id.is_empty()) {
            members.retain(|(key, _)| &**key != "id");
            members.push(("id".into(), compose::text(id)));
        }
    }
}

/// What a model answered. Pieces of a stream that no whole response follows are put together.
fn responses(fields: &Fields<'_>) -> Result<Vec<Json>, Wrong> {
    let one = fields.value("llmResponse");
    let many = fields.list("llmResponses")?;
    if one.is_some() && !many.is_empty() {
        let text = "one request has `llm_response` and `llm_responses`".to_owned();
        return Err(Wrong::new(StopKind::BadShape, text));
    }
    let all: Vec<&Json> = one.into_iter().chain(many).collect();
    let whole = all.iter().rposition(|json| !is_partial(json)).map_or(0, |last| last + 1);
    let (before, pieces) = all.split_at_checked(whole).unwrap_or_default();
    let mut kept: Vec<Json> = before.iter().map(|json| (*json).clone()).collect();
    kept.extend(joined(pieces));
    Ok(kept)
}

/// The pieces of a stream that ended before its whole response came: one response with the parts of all.
fn joined(pieces: &[&Json]) -> Option<Json> {
    let (last, _) = pieces.split_last()?;
    let Json::Object(members) = last else { return Some((*last).clone()) };
    let mut parts: Vec<Json> = Vec::new();
    let mut words = String::new();
    for part in pieces.iter().flat_map(|piece| parts_of(piece)) {
        match said(part) {
            Some(more) => words.push_str(more),
            None => {
                close(&mut words, &mut parts);
                parts.push(part.clone());
            }
        }
    }
    close(&mut words, &mut parts);
    let mut members = members.clone();
    let long_running = pieces.iter().filter_map(|piece| member(piece, "longRunningToolIds"));
    let long_running: Vec<Json> = long_running
        .flat_map(|ids| match ids {
            Json::Array(ids) => ids.clone(),
            other => vec![other.clone()],
        })
        .filter(|id| *id != Json::Null)
        .collect();
    members.retain(|(key, _)| !matches!(&*camel(key), "partial" | "content" | "longRunningToolIds"));
    members.push(("longRunningToolIds".into(), Json::Array(long_running)));
    members.push(("content".into(), compose::content("model", parts)));
    Some(Json::Object(members))
}

fn close(words: &mut String, parts: &mut Vec<Json>) {
    if !words.is_empty() {
        parts.push(compose::object([("text", compose::text(words))]));
        words.clear();
    }
}

/// The text of a part that is nothing else.
fn said(part: &Json) -> Option<&str> {
    match part {
        Json::Object(members) => match members.as_slice() {
            [(key, Json::Text(text))] if &**key == "text" => Some(text),
            _ => None,
        },
        _ => None,
    }
}

/// What the request ends with, if a person can have said it.
fn last_content(request: &Json) -> Option<&Json> {
    let Some(Json::Array(contents)) = member(request, "contents") else { return None };
    let last = contents.last()?;
    let by_user = member(last, "role").and_then(Json::text).is_none_or(|role| role == "user");
    (by_user && !parts_of_content(last).is_empty()).then_some(last)
}

/// The id of a call; none where it is empty.
fn id(call: &Json) -> Option<&str> {
    member(call, "id").and_then(Json::text).filter(|id| !id.is_empty())
}

/// What pairs a call without an id with the recording of its tool: name and arguments.
fn claim(call: &Json) -> String {
    let name = member(call, "name").and_then(Json::text).unwrap_or_default();
    let arguments = member(call, "args").filter(|args| !is_blank(args)).map(Json::canonical);
    format!("{} {}", compose::text(name).ordinary(), arguments.unwrap_or_default())
}

fn member<'a>(json: &'a Json, key: &str) -> Option<&'a Json> {
    match json {
        Json::Object(members) => members.iter().find(|(name, _)| camel(name) == key).map(|(_, value)| value),
        _ => None,
    }
}

fn member_mut<'a>(json: &'a mut Json, key: &str) -> Option<&'a mut Json> {
    match json {
        Json::Object(members) => {
            members.iter_mut().find(|(name, _)| camel(name) == key).map(|(_, value)| value)
        }
        _ => None,
    }
}

fn parts_of(event: &Json) -> &[Json] {
    member(event, "content").map_or(&[], parts_of_content)
}

fn parts_of_content(content: &Json) -> &[Json] {
    match member(content, "parts") {
        Some(Json::Array(parts)) => parts,
        Some(_) | None => &[],
    }
}

/// The calls of an item that cannot be read, as far as they can be made out.
fn calls_of_item(item: &Json, event: usize) -> Vec<UnreadCall> {
    let agent = member(item, "agentName").and_then(Json::text).unwrap_or_default();
    let model = member(item, "llmRecording");
    let one = model.and_then(|model| member(model, "llmResponse"));
    let many = match model.and_then(|model| member(model, "llmResponses")) {
        Some(Json::Array(many)) => many.as_slice(),
        Some(_) | None => &[],
    };
    let responses = one.into_iter().chain(many);
    let calls = responses.flat_map(|response| skim::calls_of(&response.ordinary(), event, Dialect::Adk));
    calls.map(|call| UnreadCall { event, agent: agent.to_owned(), ..call }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::PartKind;

    fn model(agent: &str, parts: &str) -> String {
        format!(
            r#"{{"user_message_index": 0, "agent_name": "{agent}", "llm_recording": {{
                "llm_request": {{"contents": [{{"role": "user", "parts": [{{"text": "go"}}]}}]}},
                "llm_response": {{"content": {{"parts": [{parts}]}}}}}}}}"#
        )
    }

    fn tool(agent: &str, id: &str, arguments: &str) -> String {
        format!(
            r#"{{"user_message_index": 0, "agent_name": "{agent}", "tool_recording": {{
                "tool_call": {{"id": "{id}", "name": "f", "args": {arguments}}},
                "tool_response": {{"id": "{id}", "name": "f", "response": {{}}}}}}}}"#
        )
    }

    /// Calls as `event:id`, answers as `event=id`.
    fn calls(items: &[String]) -> Vec<String> {
        let items = items.iter().map(|item| Item::Read(crate::json::parse(item).unwrap()));
        let recording = read(items, &Options::default());
        assert_eq!(recording.stop, None);
        let named = |event: usize, kind: &PartKind| match kind {
            PartKind::Call { id, .. } => Some(format!("{event}:{id}")),
            PartKind::Response { id, .. } => Some(format!("{event}={id}")),
            _ => None,
        };
        let events = recording.events.iter();
        events
            .flat_map(|event| event.parts.iter().filter_map(|part| named(event.index, &part.kind)))
            .collect()
    }

    #[test]
    fn calls_without_ids_get_those_of_their_tools() {
        let call = |n: u32| format!(r#"{{"functionCall": {{"name": "f", "args": {{"n": {n}}}}}}}"#);
        let (one, two) = (call(1), call(2));
        let rows: [(&[String], &[&str]); 4] = [
            // By name and arguments, numbers by their value, and in the order of the message where they are equal.
            (
                &[
                    model("a", &format!("{one}, {two}, {one}")),
                    tool("a", "x", r#"{"n": 2.0}"#),
                    tool("a", "y", r#"{"n": 1}"#),
                    tool("a", "z", r#"{"n": 1}"#),
                ],
                &["1:y", "1:x", "1:z", "2=x", "3=y", "4=z"],
            ),
            // A call that failed is in no tool recording: the answer is that of the one after it.
            (&[model("a", &one), model("a", &one), tool("a", "x", r#"{"n": 1}"#)], &["1:", "2:x", "3=x"]),
            // Of another agent.
            (&[model("a", &one), model("b", &one), tool("a", "x", r#"{"n": 1}"#)], &["1:x", "2:", "3=x"]),
            // Of nobody: the tool ran all the same.
            (&[model("a", &one), tool("a", "x", "{}")], &["1:", "2:x", "3=x"]),
        ];
        for (items, expected) in rows {
            assert_eq!(calls(items), expected);
        }
    }

    #[test]
    fn a_tool_that_ran_otherwise_is_a_call_of_its_own() {
        let asked = model("a", r#"{"functionCall": {"id": "x", "name": "f", "args": {"n": 1}}}"#);
        let renamed = tool("a", "x", r#"{"n": 1}"#).replacen(r#""name": "f""#, r#""name": "g""#, 1);
        let rows = [
            (tool("a", "x", r#"{"n": 1.0}"#), vec!["1:x", "2=x"], vec![]),
            (tool("a", "x", r#"{"n": 2}"#), vec!["1:x", "2:x", "3=x"], vec![2, 3]),
            (renamed, vec!["1:x", "2:x", "3=x"], vec![2, 3]),
        ];
        for (ran, expected, otherwise) in rows {
            let items = [asked.clone(), ran];
            assert_eq!(calls(&items), expected);
            let items = items.map(|item| Item::Read(crate::json::parse(&item).unwrap()));
            let events = read(items, &Options::default()).events;
            let marked = events.iter().filter(|event| event.ran_otherwise).map(|event| event.index);
            assert_eq!(marked.collect::<Vec<_>>(), otherwise);
        }
    }

    #[test]
    fn a_response_cannot_name_another_author() {
        let item = model("a", "").replace(r#""content""#, r#""author": "user", "content""#);
        let recording = read([Item::Read(crate::json::parse(&item).unwrap())], &Options::default());
        assert_eq!(recording.stop.map(|stop| stop.kind), Some(StopKind::DuplicateKey));
    }
}
