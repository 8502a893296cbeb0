//! One event, whichever library wrote it.

use crate::json::Json;

/// One event of a session. Absent, null and empty schema keys are the same.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Event {
    /// Its number in the file, from 0 (partial and repeated events count).
    pub index: usize,
    /// `id`; may be empty.
    pub id: String,
    /// `invocationId`; may be empty.
    pub invocation_id: String,
    /// `author`; may be empty.
    pub author: String,
    /// `branch`, dots between its segments; empty for none.
    pub branch: String,
    /// `timestamp` as RFC 3339 in UTC with as many fraction digits as needed; empty for none.
    pub time: String,
    /// `content.role`; says nothing about who spoke.
    pub role: String,
    /// Whether there is a `content` with parts.
    pub has_content: bool,
    /// `content.parts`, in order.
    pub parts: Vec<Part>,
    /// `actions`; empty where absent.
    pub actions: Actions,
    /// Whether the event had an `actions` key that is not null.
    pub has_actions: bool,
    /// `longRunningToolIds`.
    pub long_running: Vec<String>,
    /// `errorCode`; empty for none.
    pub error_code: String,
    /// `errorMessage`; empty for none.
    pub error_message: String,
    /// `nodeInfo.path`; empty for none.
    pub node_path: String,
    /// `isolationScope`; empty for none.
    pub isolation_scope: String,
    /// `customMetadata`, as written: an object, or in Java a list of objects with a `key` each.
    pub custom_metadata: Option<Json>,
    /// `output` of a workflow node, as written.
    pub output: Option<Json>,
    /// `inputTranscription.text`, `outputTranscription.text`; live speech, outside parts.
    pub transcriptions: Vec<String>,
    /// `requestedInput` of a workflow node that asks a person, as written; outside parts.
    pub requested_input: Option<Json>,
    /// The request that the model answered with this event, as recorded, in the spelling of an ADK library: `contents`,
    /// `config`; none where it is not known.
    pub model_request: Option<Json>,
    /// Whether the tool whose call or answer this is ran with other arguments, or under another name, than the model's
    /// call of that id says.
    pub ran_otherwise: bool,
    /// `groundingMetadata` that says something, as written: what a search brought. None unless all parts are read.
    pub grounding: Option<Json>,
    /// `actions.agentState` that says something, as written. None unless all parts are read.
    pub agent_state: Option<Json>,
}

impl Event {
    /// Whether the event says that it came through another agent: a key of `customMetadata` that begins with `a2a`.
    #[must_use]
    pub fn came_through_agent(&self) -> bool {
        match &self.custom_metadata {
            Some(Json::Object(fields)) => fields.iter().any(|(key, _)| is_a2a(key)),
            Some(Json::Array(items)) => {
                items.iter().filter_map(|item| item.field("key").and_then(Json::text)).any(is_a2a)
            }
            Some(Json::Null | Json::Bool(_) | Json::Number(_) | Json::Text(_)) | None => false,
        }
    }

    /// Who wrote the event: a person only where the author is `user`, there is content, it is no compaction, rewind or
    /// task hand-back, and it did not come through another agent.
    #[must_use]
    pub fn writer(&self) -> Author {
        if self.author != "user" {
            return Author::Agent;
        }
        let framework = self.actions.compaction.is_some() || self.actions.rewind_before.is_some();
        if self.has_content && !framework && self.node_path.is_empty() && !self.came_through_agent() {
            Author::Person
        } else if self.came_through_agent() {
            Author::Agent
        } else {
            Author::Framework
        }
    }
}

/// Whether a key of metadata belongs to the agent-to-agent channel.
fn is_a2a(key: &str) -> bool {
    key.to_ascii_lowercase().starts_with("a2a")
}

/// Who wrote an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A person.
    Person,
    /// An agent, or another agent through an agent-to-agent channel.
    Agent,
    /// The framework, under the author `user`: compaction, rewind, task hand-back.
    Framework,
}

/// One part of an event's content.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Part {
    /// What it is.
    pub kind: PartKind,
    /// `thought`
    pub thought: bool,
    /// `thoughtSignature`, decoded; none where absent.
    pub thought_signature: Option<Vec<u8>>,
    /// Further fields, by their names in snake case: data, files, code, what the model's own server did. Empty unless all
    /// parts are read.
    pub further: Vec<(String, FieldValue)>,
    /// Further fields inside its function call or function response, likewise.
    pub further_inside: Vec<(String, FieldValue)>,
}

/// What a further field of a part holds.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldValue {
    /// As written.
    Plain(Json),
    /// Bytes, decoded from whichever form the library wrote.
    Bytes(Vec<u8>),
    /// Fields by their names in snake case.
    Object(Vec<(String, Self)>),
    /// One after another.
    List(Vec<Self>),
}

/// What a part is.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub enum PartKind {
    /// `text`
    Text(String),
    /// `functionCall`
    Call {
        /// Its id; empty for none.
        id: String,
        /// Tool name; empty for none.
        name: String,
        /// `args` as written; none where absent or null.
        arguments: Option<Json>,
    },
    /// `functionResponse`
    Response {
        /// Id of the call it answers; empty for none.
        id: String,
        /// Tool name; empty for none.
        name: String,
        /// `response` as written; none where absent or null.
        response: Option<Json>,
    },
    /// `executableCode`, which runs without asking any gate; see [`Part::further`].
    Code,
    /// `codeExecutionResult`
    CodeResult {
        /// What the code printed; empty for nothing.
        output: String,
    },
    /// `toolCall`: a tool that the model's own server ran, without asking any gate.
    ServerCall {
        /// Its id; empty for none.
        id: String,
        /// `toolType`, such as `GOOGLE_SEARCH_WEB`; empty for none.
        tool: String,
        /// `args` as written; none where absent or null.
        arguments: Option<Json>,
    },
    /// `toolResponse`: what came back from it.
    ServerAnswer {
        /// Id of the call it answers; empty for none.
        id: String,
        /// `toolType`; empty for none.
        tool: String,
    },
    /// None of these: [`Part::further`] fields alone, a signature alone, or nothing.
    #[default]
    Empty,
}

/// `actions` of an event.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Actions {
    /// `stateDelta`, key and value as written, in order.
    pub state_delta: Vec<(String, Json)>,
    /// The keys that `stateDelta` removes, in order: Java and Kotlin mark them.
    pub state_removed: Vec<String>,
    /// `artifactDelta`: file name and version.
    pub artifact_delta: Vec<(String, i64)>,
    /// `transferToAgent`; empty for none.
    pub transfer_to_agent: String,
    /// `escalate`
    pub escalate: bool,
    /// `requestedToolConfirmations`: call id and what was asked.
    pub requested_confirmations: Vec<(String, ToolConfirmation)>,
    /// `requestedAuthConfigs`: the call ids; the configurations hold secrets and are not kept.
    pub requested_auth: Vec<String>,
    /// `tool_confirmation_decision` of the Rust library: whether the program around the agent let the calls run that this
    /// event answers. Whom it asked is not recorded.
    pub confirmation_decision: Option<bool>,
    /// `compaction`: what replaces older events.
    pub compaction: Option<Compaction>,
    /// `rewindBeforeInvocationId`
    pub rewind_before: Option<String>,
}

/// One entry of `requestedToolConfirmations`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct ToolConfirmation {
    /// `hint`; may be empty.
    pub hint: String,
    /// `payload`, as written.
    pub payload: Option<Json>,
}

/// `actions.compaction`
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Compaction {
    /// `startTimestamp` as RFC 3339, like [`Event::time`].
    pub start: String,
    /// `endTimestamp`, likewise.
    pub end: String,
    /// `compactedContent.parts`
    pub parts: Vec<Part>,
}

/// What a call is for, by its name: a tool, or a request of the framework itself to a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A tool.
    Tool,
    /// `adk_request_confirmation`
    Confirmation,
    /// `adk_request_credential`
    Credential,
    /// `adk_request_input`
    Input,
}

impl Purpose {
    pub(crate) fn of(name: &str) -> Self {
        match name {
            "adk_request_confirmation" => Self::Confirmation,
            "adk_request_credential" => Self::Credential,
            "adk_request_input" => Self::Input,
            _ => Self::Tool,
        }
    }
}
