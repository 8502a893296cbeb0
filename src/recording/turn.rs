//! One turn of an eval case to events.

use std::collections::{BTreeMap, VecDeque};

use crate::json::Json;
use crate::recording::StopKind;
use crate::recording::adk::Ignored;
use crate::recording::compose::{self, object, one_part};
use crate::recording::fields::{Fields, Wrong, is_blank, join};

/// The name of the agent where a turn does not say which one it was.
pub(crate) const AGENT: &str = "agent";

const TURN: &[&str] =
    &["invocationId", "userContent", "finalResponse", "intermediateData", "creationTimestamp"];
const INTERMEDIATE: &[&str] = &["invocationEvents", "toolUses", "toolResponses", "intermediateResponses"];
const OLD: &[&str] = &["query", "expectedToolUse", "expectedIntermediateAgentResponses", "reference"];

/// What the turns of a case told, and what they left out.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// The agent that spoke last.
    author: Option<String>,
    /// Number of turns so far.
    turns: usize,
    /// Calls without an answer in a form that has no place for one, or left it empty.
    pub(crate) unanswered: usize,
    /// Calls that a test expects.
    pub(crate) expected: usize,
    /// Whether the order inside a turn had to be assumed.
    pub(crate) unordered: bool,
    /// Whether an agent had to be named.
    pub(crate) nameless: bool,
    pub(crate) ignored: Ignored,
}

impl Told {
    fn last_speaker(&mut self) -> String {
        self.nameless |= self.author.is_none();
        self.author.clone().unwrap_or_else(|| AGENT.to_owned())
    }

    fn note_others(&mut self, fields: &Fields<'_>, place: &str, known: &[&str]) {
        for (key, _) in fields.others(known).filter(|(_, value)| !is_blank(value)) {
            self.ignored.note(&join(place, key));
        }
    }
}

/// The events of one turn, in order.
pub(crate) fn events(json: &Json, told: &mut Told) -> Result<Vec<Json>, Wrong> {
    told.turns += 1;
    let known = [TURN, OLD].concat();
    let fields = Fields::new(json, "", &known)?;
    told.note_others(&fields, "", &known);
    let old = OLD.iter().any(|key| fields.value(key).is_some());
    let new = TURN.iter().any(|key| fields.value(key).is_some());
    match (new, old) {
        (true, false) => recorded(&fields, told),
        (false, true) => expected(&fields, told),
        (true, true) => Err(wrong("this turn has fields of two forms of eval sets")),
        (false, false) => Err(wrong("this is no turn of an eval case: it has no field of one")),
    }
}

fn wrong(text: &str) -> Wrong {
    Wrong::new(StopKind::BadShape, text.to_owned())
}

/// A turn as `Invocation` holds it.
fn recorded(fields: &Fields<'_>, told: &mut Told) -> Result<Vec<Json>, Wrong> {
    let invocation = match fields.text("invocationId")? {
        id if id.is_empty() => format!("turn-{}", told.turns),
        id => id,
    };
    let mut events = Vec::new();
    if let Some(content) = fields.value("userContent") {
        events.push(compose::event("user", &invocation, content.clone()));
    }
    if let Some(between) = fields.object("intermediateData", INTERMEDIATE)? {
        told.note_others(&between, "intermediate_data", INTERMEDIATE);
        for (index, json) in between.list("invocationEvents")?.iter().enumerate() {
            let place = format!("{}[{index}]", between.place("invocationEvents"));
            events.push(invocation_event(json, &place, &invocation, told)?);
        }
        let uses = Uses {
            calls: between.list("toolUses")?.to_vec(),
            answers: between.list("toolResponses")?.to_vec(),
        };
        uses.add(&invocation, &mut events, told)?;
        for (index, json) in between.list("intermediateResponses")?.iter().enumerate() {
            let place = format!("{}[{index}]", between.place("intermediateResponses"));
            events.push(intermediate_response(json, &place, &invocation, told)?);
        }
    }
    if let Some(content) = fields.value("finalResponse") {
        let author = told.last_speaker();
        events.push(compose::event(&author, &invocation, content.clone()));
    }
    Ok(events)
}

/// `{author, content}` as an event of that invocation.
fn invocation_event(json: &Json, place: &str, invocation: &str, told: &mut Told) -> Result<Json, Wrong> {
    let fields = Fields::new(json, place, &["author", "invocationId"])?;
    let Json::Object(members) = json else { return Err(Wrong::shape(place, "an object")) };
    let author = fields.text("author")?;
    if !author.is_empty() && author != "user" {
        told.author = Some(author);
    }
    let mut members = members.clone();
    if fields.value("invocationId").is_none() {
        members.retain(|(key, _)| !matches!(&**key, "invocationId" | "invocation_id"));
        members.push(("invocationId".into(), compose::text(invocation)));
    }
    Ok(Json::Object(members))
}

/// `[author, [part]]`
fn intermediate_response(json: &Json, place: &str, invocation: &str, told: &mut Told) -> Result<Json, Wrong> {
    let Json::Array(pair) = json else { return Err(Wrong::shape(place, "an author with parts")) };
    let [Json::Text(author), Json::Array(parts)] = pair.as_slice() else {
        return Err(Wrong::shape(place, "an author with parts"));
    };
    told.unordered = true;
    told.author = Some(author.to_string());
    Ok(compose::event(author, invocation, compose::content("model", parts.clone())))
}

/// A turn as the forms before eval sets hold it: what a test expects.
fn expected(fields: &Fields<'_>, told: &mut Told) -> Result<Vec<Json>, Wrong> {
    let invocation = format!("turn-{}", told.turns);
    let mut events = Vec::new();
    if let Some(query) = fields.value("query") {
        events.push(compose::event("user", &invocation, one_part("user", "text", query.clone())));
    }
    let mut calls = Vec::new();
    for (index, json) in fields.list("expectedToolUse")?.iter().enumerate() {
        let place = format!("{}[{index}]", fields.place("expectedToolUse"));
        let known = ["toolName", "toolInput"];
        let one = Fields::new(json, &place, &known)?;
        told.note_others(&one, "expected_tool_use", &known);
        let member = |key| one.value(key).cloned().unwrap_or(Json::Null);
        calls.push(object([("name", member("toolName")), ("args", member("toolInput"))]));
    }
    told.expected += calls.len();
    Uses { calls, answers: Vec::new() }.add(&invocation, &mut events, told)?;
    for (index, json) in fields.list("expectedIntermediateAgentResponses")?.iter().enumerate() {
        let place = format!("{}[{index}]", fields.place("expectedIntermediateAgentResponses"));
        let one = Fields::new(json, &place, &["author", "text"])?;
        let author = one.text("author")?;
        let text = one.value("text").cloned().unwrap_or(Json::Null);
        events.push(compose::event(&author, &invocation, one_part("model", "text", text)));
        told.unordered = true;
        told.author = Some(author);
    }
    if let Some(reference) = fields.value("reference") {
        let author = told.last_speaker();
        events.push(compose::event(&author, &invocation, one_part("model", "text", reference.clone())));
    }
    Ok(events)
}

/// Calls and answers in two lists.
struct Uses {
    calls: Vec<Json>,
    answers: Vec<Json>,
}

impl Uses {
    /// Adds each call as an event of its own, its answer after it. Answers that belong to no call come last.
    fn add(self, invocation: &str, events: &mut Vec<Json>, told: &mut Told) -> Result<(), Wrong> {
        if self.calls.is_empty() && self.answers.is_empty() {
            return Ok(());
        }
        told.unordered |= self.calls.len() > 1;
        let author = told.last_speaker();
        let mut waiting: BTreeMap<String, VecDeque<usize>> = BTreeMap::new();
        for (index, answer) in self.answers.iter().enumerate() {
            waiting.entry(claim(answer)?).or_default().push_back(index);
        }
        let mut taken = vec![false; self.answers.len()];
        let event =
            |kind, role, json: &Json| compose::event(&author, invocation, one_part(role, kind, json.clone()));
        for call in &self.calls {
            events.push(event("functionCall", "model", call));
            let index = waiting.get_mut(&claim(call)?).and_then(VecDeque::pop_front);
            match index.and_then(|index| Some((self.answers.get(index)?, taken.get_mut(index)?))) {
                Some((answer, taken)) => {
                    *taken = true;
                    events.push(event("functionResponse", "user", answer));
                }
                None => told.unanswered += 1,
            }
        }
        let left = self.answers.iter().zip(&taken).filter(|(_, taken)| !**taken);
        events.extend(left.map(|(answer, _)| event("functionResponse", "user", answer)));
        Ok(())
    }
}

/// What pairs a call with its answer: the id where there is one, else the name.
fn claim(json: &Json) -> Result<String, Wrong> {
    let fields = Fields::new(json, "", &["id", "name"])?;
    let id = fields.text("id")?;
    Ok(if id.is_empty() { format!("name {}", fields.text("name")?) } else { format!("id {id}") })
}
