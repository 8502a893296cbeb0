//! Bytes to messages.
//!
//! The reader of `lsp-server` ends at the first malformed message and reserves as many bytes as a header names, so frames
//! are read here.

use std::io::{self, BufRead, Read as _, Write};

use lsp_server::{ErrorCode, Message};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::error::Category;

/// The longest message, in bytes.
const MAX_MESSAGE: u64 = 64 << 20;

/// The longest line of a header, in bytes.
const MAX_LINE: u64 = 8 << 10;

/// Bytes that are no message.
#[derive(Debug)]
pub(crate) struct Fault {
    code: ErrorCode,
    message: String,
    /// Whether nobody can tell where the next message starts.
    pub(crate) ends: bool,
}

impl Fault {
    fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ends: false }
    }

    fn last(message: impl Into<String>) -> Self {
        Self { ends: true, ..Self::new(ErrorCode::ParseError, message) }
    }
}

/// The next message; none where the input ends.
pub(crate) fn read(input: &mut dyn BufRead) -> Result<Option<Message>, Fault> {
    let Some(length) = header(input)? else { return Ok(None) };
    let mut body = Vec::new();
    let read = input.take(length).read_to_end(&mut body).map_err(|error| unreadable(&error))?;
    if u64::try_from(read).ok() != Some(length) {
        return Ok(None);
    }
    let message = serde_json::from_slice(&body).map_err(|error| match error.classify() {
        Category::Io | Category::Syntax | Category::Eof => {
            Fault::new(ErrorCode::ParseError, format!("the message is not JSON: {error}"))
        }
        Category::Data => {
            Fault::new(ErrorCode::InvalidRequest, "the message is no request, notification or response")
        }
    })?;
    // A request whose id is of no known form looks like a notification, and would wait for its answer for ever.
    if matches!(message, Message::Notification(_)) && serde_json::from_slice::<Identified>(&body).is_ok() {
        let message = "the id of a request is a text or a whole number of 32 bits";
        return Err(Fault::new(ErrorCode::InvalidRequest, message));
    }
    Ok(Some(message))
}

/// A message with an id, whatever that is.
#[derive(Deserialize)]
struct Identified {
    #[serde(rename = "id")]
    _id: IgnoredAny,
}

fn unreadable(error: &io::Error) -> Fault {
    Fault::last(format!("the input cannot be read: {}", error.kind()))
}

/// The length that a header names; none where the input ends before there is a whole header.
fn header(input: &mut dyn BufRead) -> Result<Option<u64>, Fault> {
    let mut length = None;
    let mut begun = false;
    loop {
        let mut line = Vec::new();
        input.take(MAX_LINE).read_until(b'\n', &mut line).map_err(|error| unreadable(&error))?;
        if line.last() != Some(&b'\n') {
            let long = u64::try_from(line.len()).is_ok_and(|length| length >= MAX_LINE);
            return if long { Err(Fault::last("a line of the header is too long")) } else { Ok(None) };
        }
        let line = line.trim_ascii();
        // Blank lines before a header do no harm.
        match (line.is_empty(), begun) {
            (true, true) => break,
            (true, false) => continue,
            (false, _) => begun = true,
        }
        let named = std::str::from_utf8(line).ok().and_then(|line| line.split_once(':'));
        if let Some((name, value)) = named
            && name.trim().eq_ignore_ascii_case("Content-Length")
        {
            length = value.trim().parse::<u64>().ok();
        }
    }
    match length {
        Some(length) if length > MAX_MESSAGE => Err(Fault::last(format!(
            "a message of {length} bytes is announced, and {MAX_MESSAGE} are the most"
        ))),
        Some(length) => Ok(Some(length)),
        None => Err(Fault::new(ErrorCode::ParseError, "the header names no length (`Content-Length: …`)")),
    }
}

/// Writes a message.
pub(crate) fn write(output: &mut dyn Write, message: &Message) -> io::Result<()> {
    let mut output = output;
    message.write(&mut output)
}

/// Answers what was no message. Nobody knows its id.
pub(crate) fn refuse(output: &mut dyn Write, fault: &Fault) -> io::Result<()> {
    let error = serde_json::json!({ "code": fault.code as i32, "message": fault.message });
    let text = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}
