//! Results as JSON: a contract to which keys are only added.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::decision::{Decision, Reason, Route, Verdict};
use crate::program::Program;
use crate::recording::{Notice, Stop};
use crate::records::CallOutcome;
use crate::replay::{CallReport, SessionReport};
use crate::report::visible::visible_json;

/// Writes a value as one line of JSON.
pub fn line(value: &impl Serialize) -> String {
    match serde_json::to_string(value) {
        Ok(text) => visible_json(text),
        // Only a map with keys that are no texts cannot be written, and there is none.
        Err(error) => {
            format!("{{\"error\":{{\"kind\":\"unwritable\",\"text\":\"{:?}\"}}}}", error.classify())
        }
    }
}

/// Which policy judged.
#[derive(Debug, Serialize)]
pub struct PolicyRow {
    /// `sha256:…`
    pub digest: String,
    /// The files, prelude left out.
    pub files: Vec<String>,
}

impl PolicyRow {
    /// The policy of a program.
    #[must_use]
    pub fn new(program: &Program) -> Self {
        // The prelude is the first text and the version's.
        let files = program.sources.iter().skip(1).map(|(_, file)| file.name.clone()).collect();
        Self { digest: program.digest.clone(), files }
    }
}

/// The end of the document of a replay, `{"policy": …, "sessions": […], …}`, after its sessions.
#[derive(Debug, Serialize)]
pub struct DocumentEnd<'a> {
    /// Over all sessions.
    pub totals: Totals,
    /// The first file that could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<FileError>,
    /// Files in folders that are no recordings.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skipped: Vec<FileError>,
    /// What `--strict` refuses.
    #[serde(skip_serializing_if = "<[Refused]>::is_empty")]
    pub refused: &'a [Refused],
}

/// One thing that `--strict` refuses.
#[derive(Debug, Clone, Serialize)]
pub struct Refused {
    /// The kind of the assumption or warning.
    pub kind: String,
    /// The session, as reports name it.
    pub source: String,
    /// In words.
    pub text: String,
}

/// The last line of a replay line by line, where `--strict` refuses something.
#[derive(Debug, Serialize)]
pub struct RefusedDocument<'a> {
    /// Session by session.
    pub refused: &'a [Refused],
}

/// A file that could not be read.
#[derive(Debug, Clone, Serialize)]
pub struct FileError {
    /// A stable word.
    pub kind: &'static str,
    /// The file, as named by the user.
    pub file: String,
    /// In words.
    pub text: String,
}

/// `{"error": …}`
#[derive(Debug, Serialize)]
pub struct ErrorDocument {
    /// What could not be done.
    pub error: FileError,
}

/// One session.
#[derive(Debug, Serialize)]
pub struct SessionRow<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    source: &'a str,
    id: &'a str,
    events: usize,
    records: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    checks: Option<Vec<CheckRow<'a>>>,
    assumptions: Vec<NoticeRow<'a>>,
    warnings: Vec<NoticeRow<'a>>,
    error: Option<StopRow<'a>>,
}

impl<'a> SessionRow<'a> {
    /// A session with the calls of these verdicts; no verdict named means all.
    #[must_use]
    pub fn new(session: &'a SessionReport, only: &'a [Verdict]) -> Self {
        let checks = shown(session, only).map(|check| CheckRow::new(check, None)).collect();
        Self { kind: None, checks: Some(checks), ..Self::end(session) }
    }

    /// A session without its calls, as a line of its own.
    #[must_use]
    pub fn end(session: &'a SessionReport) -> Self {
        Self {
            kind: Some("session"),
            source: &session.source,
            id: &session.id,
            events: session.events,
            records: session.records,
            checks: None,
            assumptions: notices(&session.assumptions),
            warnings: notices(&session.warnings),
            error: session.error.as_ref().map(StopRow::new),
        }
    }
}

/// The calls of a session with these verdicts; no verdict named means all.
pub fn shown<'a>(session: &'a SessionReport, only: &'a [Verdict]) -> impl Iterator<Item = &'a CallReport> {
    session.checks.iter().filter(|check| only.is_empty() || only.contains(&check.decision.verdict))
}

/// One call.
#[derive(Debug, Serialize)]
pub struct CheckRow<'a> {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    seq: Option<u32>,
    event_id: &'a str,
    call_id: &'a str,
    agent: &'a str,
    tool: &'a str,
    args: Box<RawValue>,
    #[serde(flatten)]
    decision: DecisionRow<'a>,
    outcome: &'static str,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    asked: bool,
}

impl<'a> CheckRow<'a> {
    /// One call; with the name of its session it is a line of its own.
    #[must_use]
    pub fn new(check: &'a CallReport, source: Option<&'a str>) -> Self {
        Self {
            kind: source.map(|_| "check"),
            source,
            seq: check.seq,
            event_id: &check.event_id,
            call_id: &check.call_id,
            agent: &check.agent,
            tool: &check.tool,
            args: raw(&check.arguments),
            decision: DecisionRow::new(&check.decision),
            outcome: check.outcome.name(),
            asked: check.asked,
        }
    }
}

/// JSON text as it is; text that is no JSON as a text.
#[must_use]
pub fn raw(text: &str) -> Box<RawValue> {
    let as_text = || {
        let mut quoted = String::new();
        crate::json::write_text(&mut quoted, text);
        RawValue::from_string(quoted)
    };
    RawValue::from_string(text.to_owned())
        .or_else(|_| as_text())
        .unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// What was decided.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct DecisionRow<'a> {
    verdict: &'static str,
    reasons: Vec<ReasonRow<'a>>,
    routes: Vec<RouteRow<'a>>,
    transforms: &'a [String],
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    allow_passthrough: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    deny_unauthorized: bool,
}

impl<'a> DecisionRow<'a> {
    /// A decision.
    #[must_use]
    pub fn new(decision: &'a Decision) -> Self {
        Self {
            verdict: decision.verdict.name(),
            reasons: reasons(&decision.reasons),
            routes: decision.routes.iter().map(route).collect(),
            transforms: &decision.transforms,
            allow_passthrough: decision.passthrough,
            deny_unauthorized: decision.refuse_aloud,
        }
    }
}

/// One reason; rule, file and line are null where no rule takes part.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
pub struct ReasonRow<'a> {
    kind: &'static str,
    rule: Option<&'a str>,
    file: Option<&'a str>,
    line: Option<u32>,
    text: &'a str,
    suggestions: &'a [String],
}

/// Reasons, in order.
#[must_use]
pub fn reasons(reasons: &[Reason]) -> Vec<ReasonRow<'_>> {
    let some = |text: &'_ str| !text.is_empty();
    reasons
        .iter()
        .map(|reason| ReasonRow {
            kind: reason.kind.name(),
            rule: Some(reason.rule.as_str()).filter(|rule| some(rule)),
            file: Some(reason.file.as_str()).filter(|file| some(file)),
            line: Some(reason.line).filter(|&line| line > 0),
            text: &reason.text,
            suggestions: &reason.suggestions,
        })
        .collect()
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
struct RouteRow<'a> {
    rule: &'a str,
    status: &'static str,
    failed: FailedRow<'a>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "serve", derive(utoipa::ToSchema))]
struct FailedRow<'a> {
    line: u32,
    text: &'a str,
}

fn route(route: &Route) -> RouteRow<'_> {
    let failed = FailedRow { line: route.line, text: &route.text };
    RouteRow { rule: &route.rule, status: route.status.name(), failed }
}

#[derive(Debug, Serialize)]
struct NoticeRow<'a> {
    kind: &'a str,
    text: &'a str,
}

fn notices(notices: &[Notice]) -> Vec<NoticeRow<'_>> {
    notices.iter().map(|notice| NoticeRow { kind: &notice.kind, text: &notice.text }).collect()
}

#[derive(Debug, Serialize)]
struct StopRow<'a> {
    kind: &'static str,
    event: Option<usize>,
    event_id: &'a str,
    part: Option<usize>,
    text: &'a str,
}

impl<'a> StopRow<'a> {
    fn new(stop: &'a Stop) -> Self {
        let (kind, event, part) = (stop.kind.name(), stop.event, stop.part);
        Self { kind, event, event_id: &stop.event_id, part, text: &stop.text }
    }
}

/// Counts over sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Totals {
    /// Sessions read, stopped ones too.
    pub sessions: usize,
    /// Calls.
    pub checks: usize,
    /// Allowed calls.
    pub allow: usize,
    /// Calls that need an answer.
    pub ask: usize,
    /// Denied calls.
    pub deny: usize,
    /// Sessions that stopped, and files that could not be read.
    pub errors: usize,
    /// Calls that were not allowed and that the recording says were done.
    #[serde(skip)]
    pub ran: usize,
    /// Sessions with a call that was not allowed.
    #[serde(skip)]
    pub refused: usize,
}

impl Totals {
    /// Adds the counts of others.
    pub fn sum(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.checks += other.checks;
        self.allow += other.allow;
        self.ask += other.ask;
        self.deny += other.deny;
        self.errors += other.errors;
        self.refused += other.refused;
        self.ran += other.ran;
    }

    /// Adds a session.
    pub fn add(&mut self, session: &SessionReport) {
        self.sessions += 1;
        self.errors += usize::from(session.error.is_some());
        let refused = |check: &CallReport| check.decision.verdict != Verdict::Allow;
        self.refused += usize::from(session.checks.iter().any(refused));
        for check in &session.checks {
            self.checks += 1;
            self.ran += usize::from(refused(check) && check.outcome == CallOutcome::Ok);
            match check.decision.verdict {
                Verdict::Allow => self.allow += 1,
                Verdict::Ask => self.ask += 1,
                Verdict::Deny => self.deny += 1,
            }
        }
    }
}
