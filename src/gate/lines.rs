//! A gate for a runner that starts it as a child process: one message a line in, one answer a line out.

use std::collections::BTreeMap;
use std::io::{BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::decision::{Decision, Verdict};
use crate::gate::{Appended, Checked, Gate, GateError, GatedSession};
use crate::recording::journal::{Access, Ending, Question, Resource, SessionKey};
use crate::report::json::DecisionRow;
use crate::report::proof_json::document;
use crate::value::visible;

/// Bytes of the longest message.
const LONGEST: u64 = 64 << 20;

/// Sessions that stay in memory.
const HELD: usize = 256;

/// Characters of a key that a message shows.
const SHOWN: usize = 80;

/// Why a conversation ended before its input did.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "each message says it")]
pub enum LinesError {
    #[error("the messages cannot be read: {0}")]
    Input(#[source] std::io::Error),
    #[error("the answers cannot be written: {0}")]
    Output(#[source] std::io::Error),
    #[error("a message has more than {LONGEST} bytes")]
    TooLong,
    #[error("the system gives no runtime: {0}")]
    NoRuntime(#[source] std::io::Error),
}

/// The names of a session in a message.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    #[serde(default)]
    app: String,
    #[serde(default)]
    user: String,
    session: String,
}

/// One message: what it is about, and one thing to do.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Message {
    /// Given back with the answer.
    #[serde(default)]
    id: Option<Box<RawValue>>,
    session: Named,
    /// An event.
    append: Option<Box<RawValue>>,
    unsent: Option<Unsent>,
    model_request: Option<Request>,
    check: Option<Check>,
    finish: Option<Finish>,
    confirm: Option<Confirm>,
    read: Option<Touch>,
    write: Option<Touch>,
    /// `{}`
    history: Option<Nothing>,
    explain: Option<Ticket>,
}

/// What a message asks for.
enum Act {
    Append(Box<RawValue>),
    Unsent(Unsent),
    ModelRequest(Request),
    Check(Check),
    Finish(Finish),
    Confirm(Confirm),
    Read(Touch),
    Write(Touch),
    History,
    Explain(Ticket),
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Unsent {
    #[serde(default)]
    ids: Vec<String>,
    #[serde(default)]
    why: String,
}

/// Names a check.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ticket {
    ticket: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Nothing {}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Request {
    agent: String,
    #[serde(default)]
    invocation: String,
    request: Box<RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Check {
    #[serde(default)]
    call_id: String,
    tool: String,
    args: Box<RawValue>,
    agent: String,
    #[serde(default)]
    invocation: String,
    #[serde(default)]
    branch: String,
    #[serde(default)]
    metadata: Vec<[String; 3]>,
    events: u64,
    digest: String,
    #[serde(default)]
    clock: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Finish {
    ticket: String,
    ending: EndingName,
    /// What the tool returned.
    #[serde(default, deserialize_with = "given")]
    value: Option<Box<RawValue>>,
    /// The arguments that it ran with.
    #[serde(default, deserialize_with = "given")]
    args: Option<Box<RawValue>>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum EndingName {
    Returned,
    Failed,
    NotRun,
    Pending,
}

/// Who answered is not said: a message proves nobody.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Confirm {
    ticket: String,
    yes: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Touch {
    ticket: String,
    /// A key of state.
    state: Option<String>,
    /// What stands there; nothing where it is left out.
    #[serde(default, deserialize_with = "given")]
    value: Option<Box<RawValue>>,
    /// The name of a file.
    artifact: Option<String>,
    /// Its version.
    version: Option<i64>,
}

/// One answer.
#[derive(Debug, Default, Serialize)]
struct Answer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    appended: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    events: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<CheckRow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proof: Option<Box<RawValue>>,
}

#[derive(Debug, Serialize)]
struct CheckRow<'a> {
    may_run: bool,
    ticket: &'a str,
    policy: &'a str,
    #[serde(flatten)]
    decision: DecisionRow<'a>,
    /// What the model is answered in place of the tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<Blocked>,
}

/// The one shape of a denial.
#[derive(Debug, Serialize)]
struct Blocked {
    error: String,
    gatelog: Mark,
}

#[derive(Debug, Serialize)]
struct Mark {
    verdict: &'static str,
    check: String,
}

/// What a message came to.
enum Done {
    Appended(Appended),
    Checked(Checked),
    History(u64, String),
    Explained(Box<RawValue>),
    Nothing,
}

/// Answers messages, one after another, until there are no more. The tenant of all sessions is the one given.
///
/// A message is an object with `session`, one of `append`, `unsent`, `model_request`, `check`, `finish`, `confirm`, `read`,
/// `write`, `history`, `explain`, and `id`, which comes back with the answer. An answer with `error` says that nothing was done.
///
/// # Errors
/// Where a stream fails, or a line is longer than 64 MiB.
///
/// ```
/// use std::sync::Arc;
/// use gatelog::gate::{Gate, serve};
/// use gatelog::monitor::Policy;
/// use gatelog::program::{NoIncludes, check};
/// use gatelog::store::Journals;
///
/// let program = check(&[("p.dl".to_owned(), "IsAuthorized(i) :- Actions(i, _).".to_owned())], &mut NoIncludes).unwrap();
/// let gate = Gate::builder().policy(Arc::new(Policy::new(program))).store(Journals::memory()).build().unwrap();
/// let input = b"{\"id\": 1, \"session\": {\"session\": \"s\"}, \"history\": {}}\n";
/// let mut output = Vec::new();
/// serve(&gate, "default", &mut &input[..], &mut output).unwrap();
/// assert!(String::from_utf8(output).unwrap().starts_with(r#"{"id":1,"events":0,"digest":"e3b0"#));
/// ```
pub fn serve(
    gate: &Gate,
    tenant: &str,
    input: &mut dyn BufRead,
    output: &mut dyn Write,
) -> Result<(), LinesError> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.map_err(LinesError::NoRuntime)?;
    let mut held = Held::default();
    while let Some(line) = line(input)? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let answer = runtime.block_on(answer(gate, tenant, &line, &mut held));
        output.write_all(answer.as_bytes()).and_then(|()| output.flush()).map_err(LinesError::Output)?;
    }
    Ok(())
}

/// Sessions that stay in memory, since later messages are likely about them: the ones used last.
#[derive(Default)]
struct Held {
    /// With the number of the last message about each.
    sessions: BTreeMap<SessionKey, (u64, GatedSession)>,
    /// Their keys by that number.
    used: BTreeMap<u64, SessionKey>,
    messages: u64,
}

impl Held {
    /// The session of that key, which is the last one used now.
    fn session(&mut self, gate: &Gate, key: SessionKey) -> GatedSession {
        self.messages += 1;
        let known = self.sessions.remove(&key);
        if let Some((before, _)) = &known {
            self.used.remove(before);
        }
        let known = known.map(|(_, session)| session).filter(|session| !session.is_closed());
        let session = known.unwrap_or_else(|| gate.session(key.clone()));
        self.used.insert(self.messages, key.clone());
        self.sessions.insert(key, (self.messages, session.clone()));
        if self.sessions.len() > HELD
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.sessions.remove(&oldest);
        }
        session
    }
}

/// The next line; none at the end.
fn line(input: &mut dyn BufRead) -> Result<Option<Vec<u8>>, LinesError> {
    use std::io::Read as _;
    let mut line = Vec::new();
    let read = input.take(LONGEST + 1).read_until(b'\n', &mut line).map_err(LinesError::Input)?;
    match read {
        0 => Ok(None),
        _ if u64::try_from(read).is_ok_and(|read| read > LONGEST) => Err(LinesError::TooLong),
        _ => Ok(Some(line)),
    }
}

async fn answer(gate: &Gate, tenant: &str, line: &[u8], held: &mut Held) -> String {
    let mut message = match read(line) {
        Ok(message) => message,
        Err((id, why)) => {
            let error = Some(format!("the message cannot be read: {why}"));
            return text(&Answer { id, error, ..Answer::default() });
        }
    };
    let id = message.id.take();
    let Named { app, user, session } = &message.session;
    let (tenant, app, user, session) = (tenant.to_owned(), app.clone(), user.clone(), session.clone());
    let key = SessionKey { tenant, app, user, session };
    let session = held.session(gate, key);
    let done = act(&session, message).await;
    let answer = Answer { id, ..Answer::default() };
    match done {
        Ok(Done::Nothing) => text(&answer),
        Ok(Done::Appended(Appended::New)) => text(&Answer { appended: Some("new"), ..answer }),
        Ok(Done::Appended(Appended::Known)) => text(&Answer { appended: Some("known"), ..answer }),
        Ok(Done::History(events, digest)) => {
            text(&Answer { events: Some(events), digest: Some(digest), ..answer })
        }
        Ok(Done::Explained(proof)) => text(&Answer { proof: Some(proof), ..answer }),
        Ok(Done::Checked(checked)) => text(&Answer { check: Some(row(&checked)), ..answer }),
        Err(error) => text(&Answer { error: Some(error), ..answer }),
    }
}

/// A key, whether a value is of its form, and the form in words.
type FormRow = (&'static str, fn(&str) -> bool, &'static str);

/// What may stand in a message beside `id` and `append`: whether a value is of its form, and the form in words.
const FORMS: [FormRow; 10] = [
    ("session", is::<Named>, "an object with `session`, and `app` and `user`, all texts"),
    ("unsent", is::<Unsent>, "an object that may have `ids`, a list of texts, and `why`, a text"),
    ("model_request", is::<Request>, "an object with `agent`, `request`, and maybe `invocation`"),
    (
        "check",
        is::<Check>,
        "an object with the texts `tool`, `agent`, `digest`, the number `events`, `args`, and maybe the texts `call_id`, \
         `invocation`, `branch`, `clock` and the rows of `metadata`, three texts each",
    ),
    (
        "finish",
        is::<Finish>,
        "an object with `ticket`, `ending` (`returned`, `failed`, `not_run` or `pending`), and maybe `value` and `args`",
    ),
    ("confirm", is::<Confirm>, "an object with `ticket` and `yes`, which is true or false"),
    ("read", is::<Touch>, "an object with `ticket`, and `state` and `value`, or `artifact` and `version`"),
    ("write", is::<Touch>, "an object with `ticket`, and `state` and `value`, or `artifact` and `version`"),
    ("history", is::<Nothing>, "an object without a key"),
    ("explain", is::<Ticket>, "an object with `ticket`"),
];

/// Whether the text is an object of that form. A list of the values of its fields is none.
fn is<T: DeserializeOwned>(text: &str) -> bool {
    text.starts_with('{') && serde_json::from_str::<T>(text).is_ok()
}

/// The message of a line; where it is none its `id`, if that can be read, and why.
fn read(line: &[u8]) -> Result<Message, (Option<Box<RawValue>>, String)> {
    let members: BTreeMap<String, &RawValue> = serde_json::from_slice(line)
        .map_err(|_| (None, "it is no object in JSON: write one in each line".to_owned()))?;
    let broken = |why: String| (members.get("id").map(|&id| id.to_owned()), why);
    for (name, is_so, form) in FORMS {
        if members.get(name).is_some_and(|value| !is_so(value.get())) {
            return Err(broken(format!("`{name}` is no {}", form.trim_start_matches("an "))));
        }
    }
    let known = |name: &str| ["id", "append"].contains(&name) || FORMS.iter().any(|form| form.0 == name);
    if let Some(name) = members.keys().find(|name| !known(name)) {
        return Err(broken(format!("the key `{}` means nothing here: leave it out", visible(name, SHOWN))));
    }
    if !members.contains_key("session") {
        return Err(broken("it names no `session`".to_owned()));
    }
    serde_json::from_slice(line).map_err(|_| broken("a key stands there twice: write each once".to_owned()))
}

/// Does the one thing that a message asks for.
async fn act(session: &GatedSession, message: Message) -> Result<Done, String> {
    let words = |error: GateError| error.to_string();
    let nothing = |()| Done::Nothing;
    match message.act()? {
        Act::Append(event) => session.append(event.get()).await.map(Done::Appended).map_err(words),
        Act::Unsent(unsent) => session.unsent(&unsent.ids, &unsent.why).await.map(nothing).map_err(words),
        Act::ModelRequest(asked) => {
            let told = session.model_request(&asked.agent, &asked.invocation, asked.request.get());
            told.await.map(nothing).map_err(words)
        }
        Act::Check(check) => Ok(Done::Checked(session.check(question(check)).await)),
        Act::Finish(finish) => {
            let arguments = finish.args.as_deref().map(RawValue::get);
            session.finish(&finish.ticket, ending(&finish)?, arguments).await.map(nothing).map_err(words)
        }
        Act::Confirm(confirm) => {
            session.confirm(&confirm.ticket, confirm.yes, None).await.map(nothing).map_err(words)
        }
        Act::Read(read) => session.read(access(read)?).await.map(nothing).map_err(words),
        Act::Write(write) => session.write(access(write)?).await.map(nothing).map_err(words),
        Act::History => {
            session.history().await.map(|(events, digest)| Done::History(events, digest)).map_err(words)
        }
        Act::Explain(named) => {
            let explained = session.explain(&named.ticket).await.map_err(words)?;
            let proof = document(explained.policy.program(), &explained.proof);
            RawValue::from_string(proof.trim_end().to_owned())
                .map(Done::Explained)
                .map_err(|error| error.to_string())
        }
    }
}

impl Message {
    /// The one thing that it asks for.
    fn act(self) -> Result<Act, String> {
        let named = [
            self.append.map(Act::Append),
            self.unsent.map(Act::Unsent),
            self.model_request.map(Act::ModelRequest),
            self.check.map(Act::Check),
            self.finish.map(Act::Finish),
            self.confirm.map(Act::Confirm),
            self.read.map(Act::Read),
            self.write.map(Act::Write),
            self.history.map(|Nothing {}| Act::History),
            self.explain.map(Act::Explain),
        ];
        let mut named = named.into_iter().flatten();
        match (named.next(), named.next()) {
            (Some(act), None) => Ok(act),
            (Some(_), Some(_)) | (None, _) => {
                Err("a message asks for one of `append`, `unsent`, `model_request`, `check`, `finish`, `confirm`, `read`, \
                     `write`, `history`, `explain`"
                    .to_owned())
            }
        }
    }
}

/// A value that is there, be it null.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Box<RawValue>>, D::Error> {
    Box::<RawValue>::deserialize(deserializer).map(Some)
}

fn ending(finish: &Finish) -> Result<Ending, String> {
    let value = finish.value.as_deref().map(|value| value.get().to_owned());
    match finish.ending {
        EndingName::Returned => Ok(Ending::Returned(value)),
        _ if value.is_some() => Err("only a call that `returned` has a `value`: leave it out".to_owned()),
        EndingName::Failed => Ok(Ending::Failed),
        EndingName::NotRun => Ok(Ending::NotRun),
        EndingName::Pending => Ok(Ending::Pending),
    }
}

fn question(check: Check) -> Question {
    Question {
        call_id: check.call_id,
        tool: check.tool,
        arguments: check.args.get().to_owned(),
        agent: check.agent,
        invocation: check.invocation,
        branch: check.branch,
        metadata: check.metadata,
        events: check.events,
        digest: check.digest,
        clock: check.clock,
    }
}

fn access(touch: Touch) -> Result<Access, String> {
    let value = touch.value.map(|value| value.get().to_owned());
    let resource = match (touch.state, touch.artifact, touch.version) {
        (Some(key), None, None) => Resource::State { key, value },
        (None, Some(name), Some(version)) if value.is_none() => Resource::Artifact { name, version },
        _ => {
            return Err("what is read or written is `state` with a `value`, or `artifact` with a `version`"
                .to_owned());
        }
    };
    Ok(Access { ticket: touch.ticket, resource, refused: false })
}

/// The answer to a check as a line of JSON, without its line break: what the key `check` of an answer holds. In `response`
/// stands what the model is told in place of a tool that may not run.
#[must_use]
pub fn checked_json(checked: &Checked) -> String {
    crate::report::json::line(&row(checked))
}

fn row(checked: &Checked) -> CheckRow<'_> {
    let Checked { decision, ticket, policy, may_run } = checked;
    let response = (!may_run).then(|| blocked(decision, ticket));
    CheckRow { may_run: *may_run, ticket, policy, decision: DecisionRow::new(decision), response }
}

impl Checked {
    /// What the model is answered in place of the tool, as JSON; none where the call may run.
    #[must_use]
    pub fn response(&self) -> Option<Box<RawValue>> {
        let blocked = (!self.may_run).then(|| blocked(&self.decision, &self.ticket))?;
        serde_json::value::to_raw_value(&blocked).ok()
    }
}

/// What a model is told of a call that does not run: reasons, and what to do instead.
fn blocked(decision: &Decision, ticket: &str) -> Blocked {
    let head = match decision.verdict {
        Verdict::Ask => "[ASK]",
        Verdict::Allow | Verdict::Deny => "[BLOCKED]",
    };
    let reasons = decision.reasons.iter().flat_map(|reason| {
        std::iter::once(reason.text.clone())
            .chain(reason.suggestions.iter().map(|other| format!("Instead: {other}")))
    });
    let error = std::iter::once(head.to_owned()).chain(reasons).collect::<Vec<_>>().join(" ");
    Blocked { error, gatelog: Mark { verdict: decision.verdict.name(), check: ticket.to_owned() } }
}

/// The answer as a line. What is in it can be written as JSON.
fn text(answer: &Answer<'_>) -> String {
    let text = serde_json::to_string(answer);
    text.unwrap_or_else(|error| format!("{{\"error\":\"the answer has no text: line {}\"}}", error.line()))
        + "\n"
}
