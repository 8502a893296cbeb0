//! What requests say and answers hold, as JSON.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::gate::Checked;
use crate::recording::decisions::Decided;
use crate::recording::journal::{Access, Ending, Question, Resource, SessionKey};
use crate::report::json;
use crate::serve::problem::Problem;

/// Bytes of the longest name of a session, an app or a user.
const LONGEST: usize = 1024;

/// The names of a session. Its tenant is that of the asker.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `app`, `user` and `session`")]
pub(crate) struct SessionName {
    /// The application.
    #[serde(default)]
    pub(crate) app: String,
    /// Its end user.
    #[serde(default)]
    pub(crate) user: String,
    /// The session itself.
    pub(crate) session: String,
}

impl SessionName {
    /// The session of that name, of that tenant.
    pub(crate) fn key(self, tenant: &str) -> Result<SessionKey, Problem> {
        let Self { app, user, session } = self;
        if session.is_empty() {
            return Err(Problem::bad("bad_name", "the `session` has no name: give its id"));
        }
        for (what, name) in [("app", &app), ("user", &user), ("session", &session)] {
            if name.len() > LONGEST {
                let text =
                    format!("the name of the `{what}` has more than {LONGEST} bytes: give a shorter one");
                return Err(Problem::bad("bad_name", text));
            }
        }
        Ok(SessionKey { tenant: tenant.to_owned(), app, user, session })
    }

    /// The names of a key, without its tenant.
    pub(crate) fn of(key: &SessionKey) -> Self {
        Self { app: key.app.clone(), user: key.user.clone(), session: key.session.clone() }
    }
}

/// Which session it is.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `session`")]
pub(crate) struct Named {
    /// The session.
    pub(crate) session: SessionName,
}

/// Events of a session, in order.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `session` and `events`")]
pub(crate) struct Events {
    /// The session.
    pub(crate) session: SessionName,
    /// Each as any ADK library writes it.
    #[schema(value_type = Vec<Object>)]
    pub(crate) events: Vec<Box<RawValue>>,
}

/// What a model is about to read.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `session`, `agent` and `request`")]
pub(crate) struct Request {
    /// The session.
    pub(crate) session: SessionName,
    /// The agent whose model it is.
    pub(crate) agent: String,
    /// The invocation.
    #[serde(default)]
    pub(crate) invocation: String,
    /// `{"contents": […], "config": {…}}`
    #[schema(value_type = Object)]
    pub(crate) request: Box<RawValue>,
}

/// A call that is about to run. Its time is that of its arrival.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "an object with `session`, `tool`, `args`, `agent`, `events` and `digest`"
)]
pub(crate) struct Check {
    /// The session.
    pub(crate) session: SessionName,
    /// Id of the call; empty where the runner knows none.
    #[serde(default)]
    call_id: String,
    /// The tool.
    tool: String,
    /// Its arguments as the tool will get them.
    #[schema(value_type = Object)]
    args: Box<RawValue>,
    /// The agent that calls.
    agent: String,
    /// The invocation.
    #[serde(default)]
    invocation: String,
    /// The branch that the agent is on.
    #[serde(default)]
    branch: String,
    /// `ActionMetadata` rows.
    #[serde(default)]
    metadata: Vec<[String; 3]>,
    /// How many events the runner's history has.
    events: u64,
    /// The digest of their ids.
    digest: String,
}

impl Check {
    /// The question that it asks.
    pub(crate) fn question(self) -> Question {
        Question {
            call_id: self.call_id,
            tool: self.tool,
            arguments: self.args.get().to_owned(),
            agent: self.agent,
            invocation: self.invocation,
            branch: self.branch,
            metadata: self.metadata,
            events: self.events,
            digest: self.digest,
            clock: String::new(),
        }
    }
}

/// What became of a checked call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `session`, `ticket` and `ending`")]
pub(crate) struct Finish {
    /// The session.
    pub(crate) session: SessionName,
    /// Of the check.
    pub(crate) ticket: String,
    /// How it ended.
    ending: EndingName,
    /// What the tool returned, where the runner tells it.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Value>)]
    value: Option<Box<RawValue>>,
    /// The arguments that it ran with, where the runner tells them.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    pub(crate) args: Option<Box<RawValue>>,
}

/// How a call ended.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum EndingName {
    /// The tool returned.
    Returned,
    /// It failed.
    Failed,
    /// It was not run.
    NotRun,
    /// It goes on in the background.
    Pending,
}

impl Finish {
    /// How it ended.
    pub(crate) fn ending(&self) -> Result<Ending, Problem> {
        let value = self.value.as_deref().map(|value| value.get().to_owned());
        match self.ending {
            EndingName::Returned => Ok(Ending::Returned(value)),
            _ if value.is_some() => {
                let text = "only a call that `returned` has a `value`: leave it out";
                Err(Problem::bad("bad_body", text))
            }
            EndingName::Failed => Ok(Ending::Failed),
            EndingName::NotRun => Ok(Ending::NotRun),
            EndingName::Pending => Ok(Ending::Pending),
        }
    }
}

/// A person's answer to a check that asked. The person is who sends it.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `session`, `ticket` and `yes`")]
pub(crate) struct Confirm {
    /// The session.
    pub(crate) session: SessionName,
    /// Of the check that asked.
    pub(crate) ticket: String,
    /// Whether the person says yes.
    pub(crate) yes: bool,
}

/// A value of state, or a file: `state` with `value`, or `artifact` with `version`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object with `session`, `ticket`, and `state` or `artifact`")]
pub(crate) struct Touch {
    /// The session.
    pub(crate) session: SessionName,
    /// Of the check that let the call run.
    ticket: String,
    /// A key of state.
    state: Option<String>,
    /// What stands there; left out for nothing.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Value>)]
    value: Option<Box<RawValue>>,
    /// The name of a file.
    artifact: Option<String>,
    /// Its version.
    version: Option<i64>,
}

impl Touch {
    /// What is read or written.
    pub(crate) fn access(self) -> Result<Access, Problem> {
        let value = self.value.map(|value| value.get().to_owned());
        let resource = match (self.state, self.artifact, self.version) {
            (Some(key), None, None) => Resource::State { key, value },
            (None, Some(name), Some(version)) if value.is_none() => Resource::Artifact { name, version },
            _ => {
                let text =
                    "what is read or written is `state` with a `value`, or `artifact` with a `version`";
                return Err(Problem::bad("bad_body", text));
            }
        };
        Ok(Access { ticket: self.ticket, resource, refused: false })
    }
}

/// A value that is there, be it null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

/// A session, and how far it is known.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionAnswer {
    /// The session.
    pub(crate) session: SessionName,
    /// Who runs it; none for an anonymous one.
    pub(crate) principal: Option<String>,
    /// In which roles.
    pub(crate) roles: Vec<String>,
    /// How many events the gate has.
    pub(crate) events: u64,
    /// The digest of their ids.
    pub(crate) digest: String,
}

/// Sessions of the asker's tenant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionList {
    /// In the order of their names.
    pub(crate) sessions: Vec<SessionRow>,
    /// The session after which the list goes on; null at its end.
    pub(crate) next: Option<SessionName>,
}

/// A session in a list.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionRow {
    /// The session.
    pub(crate) session: SessionName,
    /// Who runs it; none for an anonymous one.
    pub(crate) principal: Option<String>,
}

/// What events brought.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct AppendAnswer {
    /// Of each event, in order.
    pub(crate) appended: Vec<AppendedName>,
    /// How many events the gate has now.
    pub(crate) events: u64,
    /// The digest of their ids.
    pub(crate) digest: String,
}

/// What an event brought.
#[derive(Debug, Clone, Copy, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum AppendedName {
    /// It is new.
    New,
    /// It was there, or is still being written.
    Known,
}

/// The answer to a check.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct CheckAnswer<'a> {
    /// Whether the call may run now.
    may_run: bool,
    /// Names the check for what follows; empty where it could not be kept, and nothing may follow.
    #[schema(value_type = String)]
    ticket: &'a str,
    /// Digest of the policy that decided; empty where none did.
    #[schema(value_type = String)]
    policy: &'a str,
    #[serde(flatten)]
    #[schema(inline)]
    decision: json::DecisionRow<'a>,
    /// What the model is answered in place of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    response: Option<Box<RawValue>>,
}

impl<'a> CheckAnswer<'a> {
    pub(crate) fn new(checked: &'a Checked) -> Self {
        Self {
            may_run: checked.may_run,
            ticket: &checked.ticket,
            policy: &checked.policy,
            decision: json::DecisionRow::new(&checked.decision),
            response: checked.response(),
        }
    }
}

/// Whether policies that drop all denials are meant.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object, which may have `drop_denials`")]
pub(crate) struct Activate {
    /// Confirms that these policies may take the place of ones that deny what no rule of theirs denies.
    #[serde(default)]
    pub(crate) drop_denials: bool,
}

/// Nothing is said.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, expecting = "an object without a key")]
pub(crate) struct Nothing {}

/// Verdicts, in the order in which they were given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecisionsAnswer {
    /// At most as many as were asked for.
    pub(crate) decisions: Vec<DecisionRow>,
}

/// A verdict of the log.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DecisionRow {
    /// Its number in the log.
    pub(crate) number: u64,
    /// What the log says of it.
    #[schema(value_type = Object)]
    pub(crate) decision: Box<Decided>,
}

/// Policies that were read.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PoliciesRead {
    /// Digest of the set.
    pub(crate) policies: String,
}

/// What decides for the asker's tenant.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PoliciesAnswer {
    /// Digest of the set of all tenants' policies.
    pub(crate) policies: String,
    /// Since when, RFC 3339.
    pub(crate) since: String,
    /// The set that was to take its place and does not; null where none was since.
    pub(crate) refused: Option<RefusedRow>,
    /// The policy; null where there is none, and all calls are denied.
    pub(crate) decides: Option<PolicyRow>,
    /// What is decided beside it.
    pub(crate) shadows: Vec<PolicyRow>,
}

/// Policies that do not serve.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct RefusedRow {
    /// When they were to, RFC 3339.
    pub(crate) time: String,
    /// Why not.
    pub(crate) why: String,
}

/// A policy.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct PolicyRow {
    /// Its name.
    pub(crate) name: String,
    /// Its digest.
    pub(crate) digest: String,
    /// `enforce`, `advise` or `shadow`.
    pub(crate) mode: &'static str,
}

/// Whether the service lives, or is ready.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`
    pub(crate) status: &'static str,
    /// The version of the service.
    pub(crate) version: &'static str,
    /// Digest of the policy that decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) policy: Option<String>,
    /// Why the policies that were to take its place do not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<String>,
}
