//! Answers to requests that were done.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::report::json::line;
use crate::serve::problem::JSON;

/// An answer on its way.
pub(crate) type Answer = Response<Full<Bytes>>;

/// A document.
pub(crate) fn document(value: &impl Serialize) -> Answer {
    text(line(value) + "\n", JSON)
}

/// A text of that type.
pub(crate) fn text(text: String, kind: HeaderValue) -> Answer {
    let mut answer = Response::new(Full::new(Bytes::from(text)));
    answer.headers_mut().insert(CONTENT_TYPE, kind);
    answer
}

/// It was done, and there is nothing to say.
pub(crate) fn done() -> Answer {
    let mut answer = Response::new(Full::default());
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}
