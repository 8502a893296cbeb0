//! Typed events over borrowed input: what reading a session costs at least.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::fault::Outcome;
use crate::references::{Tools, is_large};

/// A session document.
#[derive(Debug, Deserialize)]
pub struct Document<'a> {
    /// Its events, in order.
    #[serde(borrow)]
    pub events: Vec<Event<'a>>,
}

/// One event.
#[derive(Debug, Deserialize)]
pub struct Event<'a> {
    /// Its id.
    #[serde(borrow, default)]
    pub id: Cow<'a, str>,
    /// Who wrote it.
    #[serde(borrow, default)]
    pub author: Cow<'a, str>,
    /// Seconds since 1970.
    #[serde(default)]
    pub timestamp: f64,
    /// What it says.
    #[serde(borrow, default)]
    pub content: Option<Content<'a>>,
}

/// What an event says.
#[derive(Debug, Deserialize)]
pub struct Content<'a> {
    /// Piece by piece.
    #[serde(borrow, default)]
    pub parts: Vec<Part<'a>>,
}

/// A piece of an event.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Part<'a> {
    /// Words.
    #[serde(borrow, default)]
    pub text: Option<Cow<'a, str>>,
    /// A call.
    #[serde(borrow, default)]
    pub function_call: Option<Call<'a>>,
    /// Its answer.
    #[serde(borrow, default)]
    pub function_response: Option<Response<'a>>,
}

/// A call.
#[derive(Debug, Deserialize)]
pub struct Call<'a> {
    /// The tool.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// Its arguments, as written.
    #[serde(borrow, default)]
    pub args: Option<&'a RawValue>,
}

/// An answer.
#[derive(Debug, Deserialize)]
pub struct Response<'a> {
    /// The tool.
    #[serde(borrow, default)]
    pub name: Cow<'a, str>,
    /// What it says, as written.
    #[serde(borrow, default)]
    pub response: Option<&'a RawValue>,
}

/// What a replay by hand came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Replayed {
    /// Events.
    pub events: usize,
    /// Calls.
    pub calls: usize,
    /// Those that may not run.
    pub denied: usize,
}

/// Reads a session document.
///
/// # Errors
/// Where it is none.
pub fn document(text: &str) -> Outcome<Document<'_>> {
    Ok(serde_json::from_str(text)?)
}

/// Replays a session with full history: a payment is denied once anything confidential was read before it.
#[must_use]
pub fn replay(document: &Document<'_>) -> Replayed {
    let mut replayed = Replayed::default();
    let mut before = Tools::NONE;
    for event in &document.events {
        replayed.events += 1;
        let mut now = before;
        for part in event.content.iter().flat_map(|content| &content.parts) {
            if let Some(response) = &part.function_response {
                now = now.or(Tools::of(&response.name));
            }
            if let Some(call) = &part.function_call {
                replayed.calls += 1;
                let large = call.name == "pay" && call.args.is_some_and(|args| is_large(args.get()));
                replayed.denied += usize::from(large && before.meets(Tools::CONFIDENTIAL));
            }
        }
        before = now;
    }
    replayed
}
