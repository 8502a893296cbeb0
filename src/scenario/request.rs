//! Requests by hand.

use crate::json;
use crate::json::Json;
use crate::monitor::Action;
use crate::scenario::entry;
use crate::scenario::fields::fields;
use crate::source::{Place, Sources, Span};
use crate::yaml::{self, Fault, Node, Value};

/// A request as written in JSON.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct GivenRequest {
    /// The actions, each with its `ActionMetadata` rows; at least one.
    pub actions: Vec<(Action, Vec<[String; 3]>)>,
    /// The records that they were computed from; none where the request does not say.
    pub current: Option<Vec<String>>,
    /// The time of the check, RFC 3339.
    pub clock: Option<String>,
    /// Who acts; none where the request does not say.
    pub agent: Option<String>,
}

/// Reads `{"actions": […], "current": […]}`, or one action. It has to be strict JSON.
///
/// # Errors
/// Every fault.
pub fn request(text: &str) -> Result<GivenRequest, Vec<Fault>> {
    if let Err(fault) = json::parse(text) {
        return Err(vec![Fault::new(place_of(text, fault.at), fault.kind.to_string())]);
    }
    let root = yaml::read(text).map_err(|fault| vec![fault])?;
    let mut faults = Vec::new();
    let is_list =
        matches!(&root.value, Value::Map(pairs) if pairs.iter().any(|(key, _)| key.text == "actions"));
    let request = if is_list {
        let map = fields(&root, "a request", &["actions", "current", "clock", "agent"], &mut faults);
        map.map(|map| {
            let nodes = map.list("actions", &mut faults);
            if nodes.is_empty() {
                faults.push(map.fault("actions", "a request without actions"));
            }
            nodes.iter().for_each(|node| object(node, &mut faults));
            GivenRequest {
                actions: nodes.iter().filter_map(|node| entry::action(node, &mut faults)).collect(),
                current: map.some("current").map(|_| map.texts("current", &mut faults)),
                clock: map.text("clock", &mut faults),
                agent: map.text("agent", &mut faults),
            }
        })
    } else {
        object(&root, &mut faults);
        let actions = entry::action(&root, &mut faults).into_iter().collect();
        Some(GivenRequest { actions, ..GivenRequest::default() })
    };
    match request {
        Some(request) if faults.is_empty() => Ok(request),
        Some(_) | None => Err(faults),
    }
}

/// Reports arguments that are no object, nor the text of one: no tool takes them, and a rule that reads a field would
/// find none.
fn object(action: &Node, faults: &mut Vec<Fault>) {
    let Value::Map(pairs) = &action.value else { return };
    for (_, node) in pairs.iter().filter(|(key, _)| key.text == "args") {
        let why = match &node.value {
            Value::Map(_) => continue,
            _ if node.is_null() => continue,
            Value::Quoted(text) if matches!(json::parse(text), Ok(Json::Object(_))) => continue,
            Value::Quoted(_) => "this is a text that holds none".to_owned(),
            Value::Plain(_) | Value::List(_) => format!("this is {}", node.kind()),
        };
        faults.push(Fault::new(node.place, format!("`args` of an action has to be an object, and {why}")));
    }
}

fn place_of(text: &str, at: usize) -> Place {
    let mut sources = Sources::default();
    let file = sources.add("", text);
    let at = u32::try_from(at).unwrap_or(u32::MAX);
    sources.place(Span { file, start: at, end: at })
}
