//! What is answered in place of what was asked for.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

use crate::gate::GateError;
use crate::report::json;
use crate::session::SessionError;

/// Seconds after which something that is full may have room.
const LATER: &str = "1";

/// The type of every answer that has a body of ours.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Why a request was not done.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    /// A stable word.
    pub(crate) kind: &'static str,
    /// In words.
    pub(crate) text: String,
    /// The event of a list at which it ended; those before it are kept.
    pub(crate) event: Option<usize>,
    /// What may be done at this address.
    pub(crate) allow: Option<&'static str>,
    /// Whether the rest of the connection cannot be trusted, or is not waited for.
    pub(crate) close: bool,
}

/// The document of a problem.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProblemDocument<'a> {
    /// What was not done, and why.
    error: ProblemRow<'a>,
}

/// Why a request was not done.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ProblemRow<'a> {
    /// A stable word.
    #[schema(value_type = String)]
    kind: &'a str,
    /// In words, with a way out.
    #[schema(value_type = String)]
    text: &'a str,
    /// The event of a list at which it ended, from 0; those before it are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<usize>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, kind: &'static str, text: impl Into<String>) -> Self {
        Self { status, kind, text: text.into(), event: None, allow: None, close: false }
    }

    /// A request that is not understood.
    pub(crate) fn bad(kind: &'static str, text: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, kind, text)
    }

    /// A session that is not there, or not the asker's: both read alike.
    pub(crate) fn no_session() -> Self {
        let text =
            "there is no such session, or it is not yours: sessions are named by `app`, `user` and `session`";
        Self::new(StatusCode::NOT_FOUND, "unknown_session", text)
    }

    /// There is too much to do.
    pub(crate) fn busy(kind: &'static str, text: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, kind, text)
    }

    /// The connection ends after it.
    pub(crate) fn closing(self) -> Self {
        Self { close: true, ..self }
    }

    /// The answer.
    pub(crate) fn response(&self) -> Response<Full<Bytes>> {
        let row = ProblemRow { kind: self.kind, text: &self.text, event: self.event };
        let text = json::line(&ProblemDocument { error: row }) + "\n";
        let mut response = Response::new(Full::new(Bytes::from(text)));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, JSON);
        if self.status == StatusCode::UNAUTHORIZED {
            headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if matches!(self.status, StatusCode::SERVICE_UNAVAILABLE | StatusCode::TOO_MANY_REQUESTS) {
            headers.insert(RETRY_AFTER, HeaderValue::from_static(LATER));
        }
        if let Some(allow) = self.allow {
            headers.insert(ALLOW, HeaderValue::from_static(allow));
        }
        if self.close {
            headers.insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    }
}

impl From<GateError> for Problem {
    fn from(error: GateError) -> Self {
        let (status, kind) = match &error {
            GateError::NoSession | GateError::OtherCaller => return Self::no_session(),
            GateError::Session(fault) => of_session(fault),
            GateError::Stopped { .. } => (StatusCode::UNPROCESSABLE_ENTITY, "stopped"),
            GateError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "too_large"),
            GateError::Conflict { .. } => (StatusCode::CONFLICT, "conflicting_event"),
            GateError::Journal(_) | GateError::Unfit { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, "broken_journal")
            }
            GateError::OtherPolicy { .. } => (StatusCode::CONFLICT, "other_policy"),
            GateError::Missing { .. } | GateError::Agents { .. } | GateError::NoRandom { .. } => {
                (StatusCode::INTERNAL_SERVER_ERROR, "broken_gate")
            }
            GateError::Log(_) | GateError::LogSlow { .. } => (StatusCode::SERVICE_UNAVAILABLE, "log"),
            GateError::NoPolicy { .. } => (StatusCode::FORBIDDEN, "no_policy"),
            GateError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "store"),
            GateError::Deadline { .. } => (StatusCode::SERVICE_UNAVAILABLE, "deadline"),
            GateError::BrokenOff | GateError::Closed => (StatusCode::SERVICE_UNAVAILABLE, "broken_off"),
        };
        Self::new(status, kind, error.to_string())
    }
}

fn of_session(fault: &SessionError) -> (StatusCode, &'static str) {
    match fault {
        SessionError::UnknownTicket { .. } => (StatusCode::NOT_FOUND, "unknown_ticket"),
        SessionError::UsedTicket { .. } => (StatusCode::CONFLICT, "used_ticket"),
        SessionError::NotAsked { .. } | SessionError::Answered { .. } => (StatusCode::CONFLICT, "not_asked"),
        SessionError::NotJson { .. } => (StatusCode::BAD_REQUEST, "bad_json"),
        SessionError::Refused { .. } => (StatusCode::FORBIDDEN, "refused_read"),
        SessionError::UnseenRead { .. } => (StatusCode::CONFLICT, "unseen_read"),
        SessionError::Agents { .. }
        | SessionError::OpenedTwice
        | SessionError::Event
        | SessionError::InParts => (StatusCode::INTERNAL_SERVER_ERROR, "broken_gate"),
    }
}
