//! What an answer says about its call.

use crate::json::Json;
use crate::records::CallOutcome;
use crate::records::Status;

/// The framework's words where a call waits for a person.
const PLACEHOLDER: &str = "This tool call requires confirmation, please approve or reject.";

/// The framework's words where a tool goes on in the background.
const STREAMING: &str = "The function is running asynchronously and the results are pending.";

/// What the contents of a response show, whoever sent it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shows {
    /// No failure.
    Result,
    /// A failure.
    Failure,
    /// It says itself that it is pending.
    Waiting,
    /// It has the shape of a gate's denial.
    Denial,
    /// It has the shape of a gate's question.
    Question,
    /// It is the framework's placeholder text.
    Placeholder,
}

/// What a response shows.
pub(crate) fn shows(response: &Json, tool: &str) -> Shows {
    let Json::Object(fields) = response else { return Shows::Result };
    if let (2, Some(Json::Text(_)), Some(gate)) =
        (fields.len(), response.field("error"), response.field("gatelog"))
    {
        match gate.field("verdict").and_then(Json::text) {
            Some("deny") => return Shows::Denial,
            Some("ask") => return Shows::Question,
            Some(_) | None => {}
        }
    }
    let error = response.field("error");
    if fields.len() == 1 && error.and_then(Json::text).is_some_and(|text| is_placeholder(text, tool)) {
        return Shows::Placeholder;
    }
    let status = response.field("status").and_then(Json::text);
    if fields.len() == 1 && status == Some(STREAMING) {
        return Shows::Waiting;
    }
    if status == Some("pending") || is_true(response.field("pending")) {
        return Shows::Waiting;
    }
    let internal = status == Some("error")
        && response.field("message").and_then(Json::text) == Some("An internal error occurred.");
    if error.is_some()
        || is_true(response.field("isError"))
        || is_true(response.field("is_error"))
        || internal
    {
        return Shows::Failure;
    }
    Shows::Result
}

fn is_true(value: Option<&Json>) -> bool {
    value == Some(&Json::Bool(true))
}

fn is_placeholder(text: &str, tool: &str) -> bool {
    text == PLACEHOLDER || text.starts_with(&format!("error tool \"{tool}\" requires confirmation"))
}

/// What matters about a response beside its contents.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about one answer")]
pub(crate) struct Standing {
    /// A person sent it, or someone under that name.
    pub(crate) by_person: bool,
    /// It, or its call, did not come from an agent of this session, or its call could not be read.
    pub(crate) outside: bool,
    /// Its event says that the call waits for a person or for a credential.
    pub(crate) named_as_waiting: bool,
    /// A request for approval of the call stands in the session.
    pub(crate) requested: bool,
    /// The call is long-running.
    pub(crate) long_running: bool,
    /// It stands in the message of its call, or was written in another name than that of the agent that called.
    pub(crate) foreign: bool,
    /// The tool ran with other arguments, or under another name, than the model's call says.
    pub(crate) ran_otherwise: bool,
}

/// The status of an answer that belongs to a call.
pub(crate) fn status(shown: Shows, standing: Standing) -> Status {
    if standing.by_person {
        return Status::Answered;
    }
    if standing.outside {
        return Status::Ungated;
    }
    if standing.ran_otherwise {
        return Status::Violated;
    }
    if standing.foreign {
        return Status::Unmatched;
    }
    match shown {
        Shows::Denial => Status::Denied,
        Shows::Question | Shows::Waiting => Status::Pending,
        Shows::Placeholder if standing.requested => Status::Pending,
        Shows::Result | Shows::Failure | Shows::Placeholder
            if standing.named_as_waiting || standing.long_running =>
        {
            Status::Pending
        }
        Shows::Failure | Shows::Placeholder => Status::Error,
        Shows::Result => Status::Ok,
    }
}

/// What the answer makes of the outcome so far; none where it changes nothing.
pub(crate) fn outcome(before: CallOutcome, status: Status, shown: Shows) -> Option<CallOutcome> {
    match status {
        Status::Ok => Some(CallOutcome::Ok),
        Status::Error | Status::Violated => Some(CallOutcome::Error),
        Status::Denied => Some(CallOutcome::Denied),
        Status::Ungated => Some(if shown == Shows::Result { CallOutcome::Ok } else { CallOutcome::Error }),
        Status::Pending => match before {
            CallOutcome::None | CallOutcome::Unmatched | CallOutcome::Pending => Some(CallOutcome::Pending),
            CallOutcome::Ok | CallOutcome::Error | CallOutcome::Denied => None,
        },
        Status::Running | Status::Answered | Status::Unmatched => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_show_what_they_are() {
        let rows = [
            (r#"{"ok":true}"#, Shows::Result),
            ("42", Shows::Result),
            (r#"{"result":{"error":"x"}}"#, Shows::Result),
            (r#"{"result":"error"}"#, Shows::Result),
            (r#"{"isError":"true"}"#, Shows::Result),
            (r#"{"status":"error","message":"out of stock"}"#, Shows::Result),
            (r#"{"error":null}"#, Shows::Failure),
            (r#"{"isError":true,"content":[]}"#, Shows::Failure),
            (r#"{"is_error":true}"#, Shows::Failure),
            (r#"{"status":"error","message":"An internal error occurred."}"#, Shows::Failure),
            (r#"{"error":"This tool call is rejected."}"#, Shows::Failure),
            (r#"{"error":"[BLOCKED] x","gatelog":{"verdict":"deny","check":"1"},"more":1}"#, Shows::Failure),
            (r#"{"error":"[BLOCKED] x","gatelog":{"verdict":"allow"}}"#, Shows::Failure),
            (r#"{"error":"[BLOCKED] x","gatelog":{"verdict":"deny","check":"1"}}"#, Shows::Denial),
            (r#"{"error":"[ASK] x","gatelog":{"verdict":"ask","check":"1"}}"#, Shows::Question),
            (r#"{"status":"pending","ticket":1}"#, Shows::Waiting),
            (r#"{"pending":true}"#, Shows::Waiting),
            (r#"{"pending":"true"}"#, Shows::Result),
            (
                r#"{"error":"This tool call requires confirmation, please approve or reject."}"#,
                Shows::Placeholder,
            ),
            (r#"{"error":"error tool \"pay\" requires confirmation, please"}"#, Shows::Placeholder),
            (r#"{"error":"error tool \"other\" requires confirmation, please"}"#, Shows::Failure),
        ];
        for (text, expected) in rows {
            assert_eq!(shows(&crate::json::parse(text).unwrap(), "pay"), expected, "{text}");
        }
    }

    #[test]
    fn what_each_library_answers() {
        let rows = [
            // A tool that returned: nothing, text, a list, an agent's words.
            (r#"{"result":null}"#, Shows::Result),
            ("{}", Shows::Result),
            (r#"{"result":42}"#, Shows::Result),
            (r#"{"results":["a","b"]}"#, Shows::Result),
            (r#"["a","b"]"#, Shows::Result),
            (r#""a""#, Shows::Result),
            ("null", Shows::Result),
            (r#"{"response":"a"}"#, Shows::Result),
            (r#"{"result":"Transfer queued"}"#, Shows::Result),
            // One that did not.
            (r#"{"error":"Error in tool 'pay': no such file"}"#, Shows::Failure),
            (r#"{"error":"tool.internal: disk is gone"}"#, Shows::Failure),
            (
                r#"{"error":"Invoking `pay()` failed as the following mandatory input parameters are not present"}"#,
                Shows::Failure,
            ),
            (
                r#"{"error":"Invoking `pay()` failed as no tool with that name is available."}"#,
                Shows::Failure,
            ),
            (r#"{"status":"error","message":"An internal error occurred.","more":1}"#, Shows::Failure),
            // One that was not let run.
            (r#"{"error":"This tool call is rejected."}"#, Shows::Failure),
            (
                r#"{"error":"This tool call is rejected by policy engine. Reason: mail leaves"}"#,
                Shows::Failure,
            ),
            (r#"{"error":"error tool \"pay\" was rejected"}"#, Shows::Failure),
            (r#"{"error":"Tool 'pay' execution denied by confirmation policy"}"#, Shows::Failure),
            // One that still runs.
            (
                r#"{"status":"The function is running asynchronously and the results are pending."}"#,
                Shows::Waiting,
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(shows(&crate::json::parse(text).unwrap(), "pay"), expected, "{text}");
        }
    }

    #[test]
    fn nothing_pending_or_sent_by_a_person_is_a_result() {
        let agent = Standing {
            by_person: false,
            outside: false,
            named_as_waiting: false,
            requested: false,
            long_running: false,
            foreign: false,
            ran_otherwise: false,
        };
        let rows = [
            (Shows::Result, agent, Status::Ok),
            (Shows::Failure, agent, Status::Error),
            (Shows::Placeholder, agent, Status::Error),
            (Shows::Placeholder, Standing { requested: true, ..agent }, Status::Pending),
            (Shows::Result, Standing { named_as_waiting: true, ..agent }, Status::Pending),
            (Shows::Result, Standing { long_running: true, ..agent }, Status::Pending),
            (Shows::Denial, Standing { long_running: true, ..agent }, Status::Denied),
            (Shows::Result, Standing { by_person: true, ..agent }, Status::Answered),
            (Shows::Result, Standing { outside: true, ..agent }, Status::Ungated),
            (Shows::Result, Standing { foreign: true, ..agent }, Status::Unmatched),
            (Shows::Waiting, Standing { ran_otherwise: true, ..agent }, Status::Violated),
        ];
        for (shown, standing, expected) in rows {
            assert_eq!(status(shown, standing), expected, "{shown:?} {standing:?}");
        }
        assert_eq!(outcome(CallOutcome::Ok, Status::Pending, Shows::Waiting), None);
        assert_eq!(outcome(CallOutcome::Ok, Status::Answered, Shows::Result), None);
        assert_eq!(outcome(CallOutcome::Ok, Status::Error, Shows::Failure), Some(CallOutcome::Error));
    }
}
