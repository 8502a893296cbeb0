//! Sessions that are made, of any length.
//!
//! A turn is four messages: words, a call, its answer, words. Every tenth answer but one is from a tool that reads, the
//! tenth is from one that redacts. What is tainted holds one answer of `read_confidential`, early, so that a walk from
//! the end meets it late. After its messages each session holds one event with eight payments, which are asked about.

use std::fmt::Write as _;

use gatelog::recording::{Event, Options, read};
use gatelog::records::{Given, GivenCall, Role};

use crate::fault::{Fault, Outcome};

/// What each model call was shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Everything so far.
    Full,
    /// The twenty messages before.
    Window,
    /// What its own branch holds; turns of ten branches come one after another.
    Branches,
}

impl Shape {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Full, Self::Window, Self::Branches];

    /// In one word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Window => "window",
            Self::Branches => "branches",
        }
    }

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Full => "full history",
            Self::Window => "window of 20",
            Self::Branches => "ten branches",
        }
    }
}

/// Whether something confidential is among the ancestors of the payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taint {
    /// It is not: the whole ancestry decides.
    Clean,
    /// It is.
    Tainted,
}

impl Taint {
    /// In one word.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Tainted => "tainted",
        }
    }
}

/// Messages that a window shows.
const WINDOW: usize = 20;
/// Agents that work side by side.
const BRANCHES: usize = 10;
/// Payments at the end.
pub const PAYMENTS: usize = 8;

/// A session.
#[derive(Debug, Clone)]
pub struct Session {
    /// What each model call was shown.
    pub shape: Shape,
    /// Its messages, and the payments last.
    pub messages: Vec<Message>,
}

/// One message.
#[derive(Debug, Clone)]
pub struct Message {
    /// Number in the session.
    number: usize,
    /// The branch; none where there is but one.
    branch: Option<usize>,
    body: Body,
}

#[derive(Debug, Clone)]
enum Body {
    Asked(String),
    Said(String),
    Called { tool: &'static str, arguments: String },
    Answered { tool: &'static str, arguments: String, response: String },
    Payments,
}

/// A session as it arrives.
#[derive(Debug, Clone)]
pub enum Arrivals {
    /// Event by event, as recorded.
    Events(Vec<Event>),
    /// Record by record, each with its inputs.
    Given(Vec<Given>),
}

/// What mails say, so that messages have a usual length.
const MAIL: &str = "Dear team, the invoice of last month is attached. Please check the amounts and answer by Friday, so \
                    that the supplier is paid in time. Kind regards, the accounts office.";

/// Makes a session of so many messages before the payments.
#[must_use]
pub fn made(shape: Shape, taint: Taint, messages: usize) -> Session {
    let mut all: Vec<Message> = (0..messages).map(|number| message(shape, taint, messages, number)).collect();
    let branch = (shape == Shape::Branches).then_some(0);
    all.push(Message { number: messages, branch, body: Body::Payments });
    Session { shape, messages: all }
}

/// The same, with so many more messages and another eight payments after it.
#[must_use]
pub fn continued(shape: Shape, taint: Taint, messages: usize, more: usize) -> Session {
    let mut session = made(shape, taint, messages);
    let first = session.messages.len();
    let next = (first..first + more).map(|number| message(shape, Taint::Clean, messages, number));
    session.messages.extend(next);
    let branch = (shape == Shape::Branches).then_some(0);
    session.messages.push(Message { number: first + more, branch, body: Body::Payments });
    session
}

fn message(shape: Shape, taint: Taint, messages: usize, number: usize) -> Message {
    let turn = number / 4;
    let branch = (shape == Shape::Branches).then_some(turn % BRANCHES);
    // Within the first twentieth, in the first branch; a window holds only what is near the end.
    let place = match shape {
        Shape::Full | Shape::Branches => (messages / 80) / BRANCHES * BRANCHES,
        Shape::Window => (messages / 4).saturating_sub(3),
    };
    let tool = match turn {
        _ if turn == place && taint == Taint::Tainted => "read_confidential",
        _ if turn % 10 == 9 => "redact",
        _ => ["read_mail", "search", "look_up"].get(turn % 3).copied().unwrap_or("search"),
    };
    let arguments = || format!(r#"{{"id":"m-{turn}","folder":"inbox"}}"#);
    let body = match number % 4 {
        0 if branch.is_none() => Body::Asked(format!("please read mail {turn} and say what it asks for")),
        0 => Body::Said(format!("mail {turn} comes next")),
        1 => Body::Called { tool, arguments: arguments() },
        2 => {
            let response = format!(r#"{{"from":"accounts@example.com","number":{turn},"body":"{MAIL}"}}"#);
            Body::Answered { tool, arguments: arguments(), response }
        }
        _ => Body::Said(format!("Mail {turn} asks to check the amounts and to answer by Friday.")),
    };
    Message { number, branch, body }
}

impl Session {
    /// As a session document with the fields that the libraries write.
    #[must_use]
    pub fn document(&self) -> String {
        document(&self.messages)
    }

    /// Its events, each as the libraries write it.
    #[must_use]
    pub fn events(&self) -> Vec<String> {
        self.messages.iter().map(Message::event).collect()
    }

    /// As it arrives: by events, or with a window by records, since no session document says what a window held.
    ///
    /// # Errors
    /// Where what was made cannot be read.
    pub fn arrivals(&self) -> Outcome<Arrivals> {
        arrivals(self.shape, &self.messages)
    }

    /// The same, so many messages at once.
    pub fn in_pieces(&self, messages: usize) -> impl Iterator<Item = Outcome<Arrivals>> + '_ {
        self.messages.chunks(messages).map(|few| arrivals(self.shape, few))
    }

    /// Bytes of what its messages say, arguments and answers included.
    #[must_use]
    pub fn text_bytes(&self) -> usize {
        self.messages.iter().map(Message::text_bytes).sum()
    }
}

fn document(messages: &[Message]) -> String {
    let mut text = String::from(r#"{"id":"s-bench","appName":"bench","userId":"u1","state":{},"events":["#);
    for (at, message) in messages.iter().enumerate() {
        let comma = if at > 0 { "," } else { "" };
        let _ = write!(text, "{comma}{}", message.event());
    }
    text + "]}"
}

fn arrivals(shape: Shape, messages: &[Message]) -> Outcome<Arrivals> {
    if shape == Shape::Window {
        return Ok(Arrivals::Given(messages.iter().map(Message::given).collect()));
    }
    let recordings = read(document(messages).as_bytes(), &Options::default())?;
    let recording = recordings.into_iter().next().ok_or_else(|| Fault::new("no session was read"))?;
    match recording.stop {
        Some(stop) => Err(Fault::new(stop.text)),
        None => Ok(Arrivals::Events(recording.events)),
    }
}

/// The arguments of one of the payments.
#[must_use]
pub fn payment(number: usize) -> String {
    format!(r#"{{"amount":{},"to":"supplier-{number}"}}"#, 150 + number)
}

impl Message {
    fn author(&self) -> String {
        match (&self.body, self.branch) {
            (Body::Asked(_), _) => "user".to_owned(),
            (_, None) => "assistant".to_owned(),
            (_, Some(branch)) => format!("worker{branch}"),
        }
    }

    fn event(&self) -> String {
        let number = self.number;
        let turn = number / 4;
        let part = match &self.body {
            Body::Asked(text) | Body::Said(text) => format!(r#"{{"text":"{text}"}}"#),
            Body::Called { tool, arguments } => {
                format!(r#"{{"functionCall":{{"id":"adk-{turn}","name":"{tool}","args":{arguments}}}}}"#)
            }
            Body::Answered { tool, response, .. } => format!(
                r#"{{"functionResponse":{{"id":"adk-{turn}","name":"{tool}","response":{response}}}}}"#
            ),
            Body::Payments => payments(number).collect::<Vec<_>>().join(","),
        };
        let role = if matches!(self.body, Body::Asked(_)) { "user" } else { "model" };
        let branch =
            self.branch.map_or(String::new(), |branch| format!(r#""branch":"root.worker{branch}","#));
        let seconds = 1_790_000_000 + number;
        let author = self.author();
        format!(
            concat!(
                r#"{{"id":"5e1f0000-{number:08x}-4000-8000","invocationId":"e-{turn}","author":"{author}",{branch}"#,
                r#""timestamp":{seconds}.512,"content":{{"role":"{role}","parts":[{part}]}},"#,
                r#""actions":{{"stateDelta":{{}},"artifactDelta":{{}},"requestedAuthConfigs":{{}},"#,
                r#""requestedToolConfirmations":{{}}}},"longRunningToolIds":[],"finishReason":"STOP","#,
                r#""modelVersion":"model-1","usageMetadata":{{"candidatesTokenCount":17,"promptTokenCount":{turn},"#,
                r#""totalTokenCount":{turn}}}}}"#
            ),
            number = number,
            turn = turn,
            author = author,
            branch = branch,
            seconds = seconds,
            role = role,
            part = part
        )
    }

    fn given(&self) -> Given {
        let id = |number: usize| format!("m-{number}");
        let (role, text) = match &self.body {
            Body::Asked(text) => (Role::User, text.clone()),
            Body::Said(text) => (Role::Assistant, text.clone()),
            Body::Called { .. } | Body::Payments => (Role::Assistant, String::new()),
            Body::Answered { response, .. } => (Role::Agent, response.clone()),
        };
        let mut given = Given::new(&id(self.number), role, &text);
        given.agent = self.author();
        given.inputs = (self.number.saturating_sub(WINDOW)..self.number).map(id).collect();
        match &self.body {
            Body::Asked(_) | Body::Said(_) => {}
            Body::Called { tool, arguments } => {
                let call = GivenCall {
                    id: format!("adk-{}", self.number / 4),
                    tool: (*tool).to_owned(),
                    arguments: arguments.clone(),
                };
                given.calls.push(call);
            }
            Body::Answered { tool, arguments, .. } => {
                given.result_of = Some(((*tool).to_owned(), arguments.clone()));
            }
            Body::Payments => given.calls.extend((0..PAYMENTS).map(|payee| GivenCall {
                id: format!("pay-{}-{payee}", self.number),
                tool: "pay".to_owned(),
                arguments: payment(payee),
            })),
        }
        given
    }

    fn text_bytes(&self) -> usize {
        match &self.body {
            Body::Asked(text) | Body::Said(text) => text.len(),
            Body::Called { arguments, .. } => arguments.len(),
            Body::Answered { response, .. } => response.len(),
            Body::Payments => (0..PAYMENTS).map(|number| payment(number).len()).sum(),
        }
    }
}

fn payments(message: usize) -> impl Iterator<Item = String> {
    (0..PAYMENTS).map(move |payee| {
        let arguments = payment(payee);
        format!(r#"{{"functionCall":{{"id":"pay-{message}-{payee}","name":"pay","args":{arguments}}}}}"#)
    })
}
