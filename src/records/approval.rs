//! Requests for approval, and the answers that count.

use crate::json;
use crate::json::Json;
use crate::records::ApprovalScope;
use crate::records::draft::Proposal;
use crate::records::notices::quoted;
use crate::records::pair::CallIndex;
use crate::records::pair::Calls;
use crate::records::visible::Moment;
use crate::records::visible::Name;
use crate::records::visible::Sight;
use crate::records::visible::branch_sees;
use std::collections::BTreeMap;

/// A function call `adk_request_confirmation`.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    moment: Moment,
    branch: Name,
    /// The call that it asks about; none where it counts for nothing from the start.
    call: Option<CallIndex>,
    /// How many requests about the same call count and come before it. The framework makes one each time it asks.
    round: usize,
    /// What the person was shown.
    pub(crate) hint: String,
    /// The ask rules that the person was shown; none where the request does not say.
    rules: Option<Vec<String>>,
    /// The check of a gate that asked, where the request names one.
    check: Option<String>,
    answered: Option<bool>,
}

/// The number of a request among those of the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestIndex(usize);

/// All requests of the session.
#[derive(Debug, Clone, Default)]
pub(crate) struct Requests {
    all: Vec<Request>,
    by_id: BTreeMap<String, Vec<usize>>,
    /// For each call the newest request about it, and how many there are.
    about: BTreeMap<CallIndex, (usize, usize)>,
}

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reply {
    Yes,
    No,
    /// Neither an exact `true` nor an exact `false`.
    Neither,
}

/// An answer that counts.
#[derive(Debug, Clone)]
pub(crate) struct Counted {
    pub(crate) request: RequestIndex,
    pub(crate) call: CallIndex,
    /// How many requests about the call come before it.
    pub(crate) round: usize,
    pub(crate) hint: String,
    pub(crate) scope: ApprovalScope,
    /// The check of a gate that asked, where the request names one.
    pub(crate) check: Option<String>,
}

/// Where a request or an answer stands.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub(crate) moment: Moment,
    pub(crate) branch: Name,
    /// Whether an agent of this session wrote it.
    pub(crate) by_agent: bool,
}

impl Requests {
    /// Notes a request. Returns why it counts for nothing, if so.
    pub(crate) fn add(
        &mut self,
        calls: &Calls,
        proposal: &Proposal<'_>,
        place: Place,
        arguments_of: &dyn Fn(CallIndex) -> Option<Json>,
    ) -> Option<String> {
        let confirmation = either(&proposal.arguments, "toolConfirmation", "tool_confirmation");
        let named = named_call(calls, proposal, place, arguments_of);
        let request = Request {
            moment: place.moment,
            branch: place.branch,
            call: named.as_ref().ok().copied(),
            round: named.as_ref().ok().and_then(|call| self.about.get(call)).map_or(0, |(_, count)| *count),
            hint: confirmation.and_then(|c| c.field("hint")).and_then(Json::text).unwrap_or("").to_owned(),
            rules: confirmation.and_then(|c| c.field("payload")).and_then(rules_shown),
            check: confirmation.and_then(|c| c.field("payload")).and_then(check_named),
            answered: None,
        };
        let index = self.all.len();
        if let Some(call) = request.call {
            self.about.insert(call, (index, request.round + 1));
        }
        self.all.push(request);
        self.by_id.entry(proposal.id.to_owned()).or_default().push(index);
        named.err()
    }

    /// Whether a request about the call stands.
    pub(crate) fn ask_about(&self, call: CallIndex) -> bool {
        self.about.contains_key(&call)
    }

    /// Notes what `requestedToolConfirmations` shows about the call.
    pub(crate) fn specify(&mut self, call: CallIndex, payload: Option<&Json>) {
        let Some(rules) = payload.and_then(rules_shown) else { return };
        if let Some(request) = self.about.get(&call).and_then(|&(index, _)| self.all.get_mut(index)) {
            request.rules = Some(rules);
            request.check = payload.and_then(check_named).or(request.check.take());
        }
    }

    /// The request that a person's answer belongs to, or why it counts for nothing.
    pub(crate) fn answer(
        &self,
        calls: &Calls,
        sight: &Sight,
        id: &str,
        branch: Name,
        reply: Reply,
    ) -> Result<Counted, String> {
        let no = |why: &str| Err(format!("answer {} {why}", quoted(id)));
        let known = self.by_id.get(id).map_or(&[][..], Vec::as_slice);
        let mut alive = known
            .iter()
            .copied()
            .filter_map(|i| self.all.get(i).map(|request| (i, request)))
            .filter(|(_, request)| sight.is_alive(request.moment));
        let Some((index, request)) = alive.next() else {
            return no("has no request in this session");
        };
        if alive.next().is_some() {
            return no("counts for nothing: two requests have its id");
        }
        let Some((at, call)) = request.call.and_then(|at| calls.call(at).map(|call| (at, call))) else {
            return no("counts for nothing: its request names no call that an agent made");
        };
        if !sight.is_alive(call.moment) || !branch_sees(sight.text(branch), sight.text(request.branch)) {
            return no("counts for nothing: its call is on another branch, or was rewound");
        }
        if call.result.is_some() {
            let call = quoted(&call.id);
            return no(&format!("comes too late: call {call} has a result that was recorded before it"));
        }
        match (request.answered, reply) {
            (_, Reply::Neither) => return no("says neither `true` nor `false`, and counts for nothing"),
            (None, Reply::Yes | Reply::No) | (Some(true), Reply::No) => {}
            (Some(_), Reply::Yes) | (Some(false), Reply::No) => {
                return no("was given before, and is used once");
            }
        }
        let scope = request.rules.clone().map_or(ApprovalScope::All, ApprovalScope::Rules);
        let (hint, round, check) = (request.hint.clone(), request.round, request.check.clone());
        Ok(Counted { request: RequestIndex(index), call: at, round, hint, scope, check })
    }

    /// Notes that the request has been answered.
    pub(crate) fn close(&mut self, request: RequestIndex, confirmed: bool) {
        if let Some(request) = self.all.get_mut(request.0) {
            request.answered = Some(confirmed);
        }
    }
}

/// The call that a request is about, or why it counts for nothing.
fn named_call(
    calls: &Calls,
    proposal: &Proposal<'_>,
    place: Place,
    arguments_of: &dyn Fn(CallIndex) -> Option<Json>,
) -> Result<CallIndex, String> {
    let original = either(&proposal.arguments, "originalFunctionCall", "original_function_call");
    let field = |key: &str| original.and_then(|call| call.field(key));
    let id = field("id").and_then(Json::text).unwrap_or("");
    let request = quoted(proposal.id);
    if !place.by_agent {
        let missing = if calls.newest(id, place.branch).is_none() {
            format!(", and no agent made the call {} before it", quoted(id))
        } else {
            String::new()
        };
        return Err(format!(
            "request {request} for approval was not made by an agent of this session{missing}"
        ));
    }
    let Some(index) = calls.newest(id, place.branch).filter(|_| !id.is_empty()) else {
        return Err(format!(
            "request {request} for approval names the call {}, which is not there, or on another branch",
            quoted(id)
        ));
    };
    if calls.call(index).is_some_and(|call| call.moment == place.moment) {
        return Err(format!(
            "request {request} for approval stands in one message with the call {}: a model wrote it",
            quoted(id)
        ));
    }
    let call = calls.call(index).filter(|call| call.by_agent && call.number.is_some() && !call.refused);
    if call.is_none_or(|call| Some(call.name.as_str()) != field("name").and_then(Json::text)) {
        return Err(format!(
            "request {request} for approval names another tool than the call {}",
            quoted(id)
        ));
    }
    let empty = Json::Object(Vec::new());
    let asked = field("args").filter(|value| **value != Json::Null).unwrap_or(&empty);
    // Keys in any order, numbers by value.
    if arguments_of(index).is_none_or(|made| made.canonical() != asked.canonical()) {
        return Err(format!(
            "request {request} for approval names other arguments than the call {}",
            quoted(id)
        ));
    }
    Ok(index)
}

fn either<'j>(value: &'j Json, camel: &str, snake: &str) -> Option<&'j Json> {
    value.field(camel).or_else(|| value.field(snake))
}

/// The ids of ask rules that a gate of ours put into the payload.
fn rules_shown(payload: &Json) -> Option<Vec<String>> {
    match payload.field("gatelog")?.field("rules")? {
        Json::Array(rules) => rules.iter().map(|rule| rule.text().map(str::to_owned)).collect(),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_) | Json::Object(_) => None,
    }
}

/// The check that a gate of ours put into the payload.
fn check_named(payload: &Json) -> Option<String> {
    payload.field("gatelog")?.field("check").and_then(Json::text).map(str::to_owned)
}

/// What a person's answer says, and its payload as ordinary JSON. An answer that is one text under `response` is read
/// as that text.
pub(crate) fn reply(response: &Json) -> (Reply, String) {
    let unwrapped = match response {
        Json::Object(fields) if fields.len() == 1 => {
            response.field("response").and_then(Json::text).and_then(|text| json::parse(text).ok())
        }
        _ => None,
    };
    let response = unwrapped.as_ref().unwrap_or(response);
    let reply = match response.field("confirmed") {
        Some(Json::Bool(true)) => Reply::Yes,
        Some(Json::Bool(false)) => Reply::No,
        Some(_) | None => Reply::Neither,
    };
    let payload = response.field("payload").filter(|payload| **payload != Json::Null);
    (reply, payload.map_or_else(String::new, Json::ordinary))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        json::parse(text).unwrap()
    }

    #[test]
    fn arguments_are_compared_by_value() {
        let rows = [
            ("100", "100.0", true),
            ("1e2", "100.00", true),
            ("-0", "0.0", true),
            ("0.1", "1E-1", true),
            ("18446744073709551616", "18446744073709551617", false),
            ("1e99999999999999999999", "1e99999999999999999999", true),
            ("1e99999999999999999999", "1e99999999999999999998", false),
            (r#"{"a":1,"b":[2]}"#, r#"{"b":[2.0],"a":1}"#, true),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#, false),
            (r#"{"a":"1"}"#, r#"{"a":1}"#, false),
            ("[1,2]", "[2,1]", false),
        ];
        for (a, b, same) in rows {
            assert_eq!(json(a).canonical() == json(b).canonical(), same, "{a} {b}");
        }
    }

    #[test]
    fn only_an_exact_true_says_yes() {
        let rows = [
            (r#"{"confirmed":true}"#, Reply::Yes),
            (r#"{"confirmed":false}"#, Reply::No),
            (r#"{"response":"{\"confirmed\": true, \"payload\": {\"a\": 1}}"}"#, Reply::Yes),
            (r#"{"response":"{\"confirmed\": true}","confirmed":false}"#, Reply::No),
            (r#"{"response":{"confirmed":true}}"#, Reply::Neither),
            (r#"{"response":"yes"}"#, Reply::Neither),
            (r#"{"confirmed":"true"}"#, Reply::Neither),
            (r#"{"confirmed":1}"#, Reply::Neither),
            (r#"{"Confirmed":true}"#, Reply::Neither),
            ("true", Reply::Neither),
        ];
        for (text, expected) in rows {
            assert_eq!(reply(&json(text)).0, expected, "{text}");
        }
        assert_eq!(reply(&json(rows[2].0)).1, r#"{"a":1}"#);
    }
}
