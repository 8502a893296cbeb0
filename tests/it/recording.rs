//! Recordings: what is read of each fixture, where the others stop, and that no bytes do harm.

use std::fmt::Write as _;
use std::path::Path;

use gatelog::json::Json;
use gatelog::recording::{self, Event, Options, Part, PartKind, Recording};
use gatelog::records::Graph;
use insta::{assert_snapshot, glob};
use proptest::prelude::*;

#[test]
fn recordings_that_are_read() {
    glob!("../../fixtures", "recording/ok/*", |path| {
        let summary = summary(path);
        assert!(!summary.contains("stop"), "{}: {summary}", path.display());
        assert_snapshot!(summary);
    });
}

#[test]
fn recordings_that_stop_or_are_refused() {
    glob!("../../fixtures", "recording/err/*", |path| {
        let summary = summary(path);
        assert!(summary.contains("stop") || summary.starts_with("refused"), "{}: {summary}", path.display());
        assert_snapshot!(summary);
    });
}

#[test]
fn a_hundred_thousand_levels_stop_the_session() {
    let deep = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    let call = |id: &str, arguments: &str| {
        format!(
            r#"{{"id": "{id}", "content": {{"parts": [{{"functionCall": {{"id": "c-{id}", "args": {arguments}}}}}]}}}}"#
        )
    };
    let loose = |id: &str, arguments: &str| {
        format!(
            r#"{{"id": "{id}", "timestamp": "2026-11-30T14:11:00Z", "invocation_id": "i", "content": {{"parts": [{{"args": {arguments}, "id": "c-{id}"}}]}}}}"#
        )
    };
    for (first, second) in [(call("e0", &deep), call("e1", "{}")), (loose("e0", &deep), loose("e1", "{}"))] {
        let text = format!("[{first}, {second}]");
        let recording = recording::read(text.as_bytes(), &Options::default()).unwrap().remove(0);
        assert_eq!(recording.stop.map(|stop| stop.kind.name()), Some("too_deep"));
        let unread: Vec<_> = recording.unread_calls.into_iter().map(|call| call.call_id).collect();
        assert_eq!(unread, ["c-e0", "c-e1"]);
    }
}

#[expect(clippy::disallowed_methods, reason = "fixtures are files")]
fn bytes_of(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_default()
}

fn summary(path: &Path) -> String {
    match recording::read(&bytes_of(path), &Options::default()) {
        Ok(recordings) => recordings.iter().flat_map(lines_of).collect::<Vec<_>>().join("\n"),
        Err(error) => format!("refused: {error}"),
    }
}

fn lines_of(recording: &Recording) -> Vec<String> {
    let mut lines = vec![format!(
        "{:?} `{}` of `{}` for `{}`",
        recording.form, recording.session_id, recording.app_name, recording.user_id
    )];
    if !recording.name.is_empty() {
        lines.push(format!("named `{}`", recording.name));
    }
    lines.extend(recording.events.iter().map(event_line));
    lines.extend(recording.stop.iter().map(|stop| {
        let event = stop.event.map_or("no event".to_owned(), |event| format!("event {event}"));
        let part = stop.part.map_or(String::new(), |part| format!(" part {part}"));
        format!("stop {} at {event} `{}`{part}: {}", stop.kind.name(), stop.event_id, stop.text)
    }));
    lines.extend(recording.unread_calls.iter().map(|call| {
        let place = format!("unread {} `{}` {}", call.event, call.event_id, call.agent);
        format!("{place}: call `{}` {} {}", call.call_id, call.tool, call.arguments)
    }));
    lines.extend(recording.notices.iter().map(|notice| format!("notice {}: {}", notice.kind, notice.text)));
    lines
}

fn event_line(event: &Event) -> String {
    let mut line = format!("{} `{}` {} [{}]", event.index, event.id, event.author, event.time);
    let mut say = |name: &str, value: &str| {
        if !value.is_empty() {
            let _ = write!(line, " {name}={value}");
        }
    };
    say("invocation", &event.invocation_id);
    say("branch", &event.branch);
    say("node", &event.node_path);
    say("scope", &event.isolation_scope);
    say("error", &event.error_code);
    say("message", &event.error_message);
    say("long", &event.long_running.join(","));
    say("spoken", &event.transcriptions.join(","));
    say("output", &event.output.as_ref().map(Json::ordinary).unwrap_or_default());
    say("asks", &event.requested_input.as_ref().map(Json::ordinary).unwrap_or_default());
    say("request", &event.model_request.as_ref().map(Json::ordinary).unwrap_or_default());
    say("metadata", &event.custom_metadata.as_ref().map(Json::ordinary).unwrap_or_default());
    if let Some(Json::Array(contents)) =
        event.model_request.as_ref().and_then(|request| request.field("contents"))
    {
        let _ = write!(line, " shown={}", contents.len());
    }
    let _ = write!(line, "{}", actions_of(event));
    let role = if event.role.is_empty() { String::new() } else { format!(" as {}", event.role) };
    let parts: Vec<_> = event.parts.iter().map(part_of).collect();
    if parts.is_empty() { line } else { format!("{line}{role}: {}", parts.join("; ")) }
}

fn actions_of(event: &Event) -> String {
    let actions = &event.actions;
    let mut said = Vec::new();
    said.extend(actions.state_delta.iter().map(|(key, value)| format!("state {key}={}", value.ordinary())));
    said.extend(actions.state_removed.iter().map(|key| format!("state {key} removed")));
    said.extend(actions.artifact_delta.iter().map(|(name, version)| format!("artifact {name}@{version}")));
    said.extend((!actions.transfer_to_agent.is_empty()).then(|| format!("to {}", actions.transfer_to_agent)));
    said.extend(actions.escalate.then(|| "escalate".to_owned()));
    said.extend(actions.requested_confirmations.iter().map(|(call, asked)| {
        let payload = asked.payload.as_ref().map(Json::ordinary).unwrap_or_default();
        format!("confirm {call} {:?} {payload}", asked.hint)
    }));
    said.extend(actions.requested_auth.iter().map(|call| format!("auth {call}")));
    said.extend(actions.confirmation_decision.map(|yes| format!("let run {yes}")));
    said.extend(actions.compaction.iter().map(|compaction| {
        let parts: Vec<_> = compaction.parts.iter().map(part_of).collect();
        format!("compaction {} to {}: {}", compaction.start, compaction.end, parts.join("; "))
    }));
    said.extend(actions.rewind_before.iter().map(|invocation| format!("rewind before {invocation}")));
    if said.is_empty() { String::new() } else { format!(" <{}>", said.join(", ")) }
}

fn part_of(part: &Part) -> String {
    let value = |json: &Option<Json>| json.as_ref().map_or("none".to_owned(), Json::ordinary);
    let kind = match &part.kind {
        PartKind::Text(text) => format!("text {text:?}"),
        PartKind::Call { id, name, arguments } => format!("call `{id}` {name} {}", value(arguments)),
        PartKind::Response { id, name, response } => format!("response `{id}` {name} {}", value(response)),
        PartKind::Empty => "empty".to_owned(),
        PartKind::Code => "code".to_owned(),
        PartKind::CodeResult { output } => format!("code result {output:?}"),
        PartKind::ServerCall { id, tool, arguments } => {
            format!("server call `{id}` {tool} {}", value(arguments))
        }
        PartKind::ServerAnswer { id, tool } => format!("server answer `{id}` {tool}"),
    };
    let thought = if part.thought { " (thought)" } else { "" };
    let signature =
        part.thought_signature.as_ref().map_or(String::new(), |bytes| format!(" signed {bytes:?}"));
    assert!(part.further.is_empty() && part.further_inside.is_empty(), "read by default: {part:?}");
    format!("{kind}{thought}{signature}")
}

/// A change to the bytes of a good file.
#[derive(Debug, Clone)]
enum Change {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Double(prop::sample::Index, prop::sample::Index),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        (any::<prop::sample::Index>(), any::<u8>()).prop_map(|(at, byte)| Change::Flip(at, byte)),
        any::<prop::sample::Index>().prop_map(Change::Cut),
        any::<(prop::sample::Index, prop::sample::Index)>().prop_map(|(from, to)| Change::Double(from, to)),
    ]
}

fn changed(mut bytes: Vec<u8>, change: &Change) -> Vec<u8> {
    if bytes.is_empty() {
        return bytes;
    }
    match change {
        Change::Flip(at, byte) => {
            let at = at.index(bytes.len());
            bytes.splice(at..=at, [*byte]);
        }
        Change::Cut(at) => bytes.truncate(at.index(bytes.len())),
        Change::Double(from, to) => {
            let (a, b) = (from.index(bytes.len()), to.index(bytes.len()));
            let slice = bytes.get(a.min(b)..a.max(b)).unwrap_or_default().to_vec();
            bytes.splice(a..a, slice);
        }
    }
    bytes
}

/// Every event is in order, a session that stops lists nothing before its stop as unread, and what was read becomes
/// records.
fn sound(bytes: &[u8]) -> Result<(), TestCaseError> {
    for recording in recording::read(bytes, &Options::default()).unwrap_or_default() {
        let mut graph = Graph::default();
        let taken = recording.events.iter().take_while(|event| graph.extend(event).is_ok()).count();
        prop_assert!(taken <= recording.events.len());
        prop_assert!(recording.events.is_sorted_by(|a, b| a.index < b.index));
        let stopped = recording.stop.as_ref().map(|stop| stop.event.unwrap_or(0));
        match stopped {
            None => prop_assert!(recording.unread_calls.is_empty()),
            Some(event) => prop_assert!(recording.unread_calls.iter().all(|call| call.event >= event)),
        }
    }
    Ok(())
}

const GOOD: [&[u8]; 18] = [
    include_bytes!("../../fixtures/recording/ok/vertex.jsonl"),
    include_bytes!("../../fixtures/recording/ok/rust-events.json"),
    include_bytes!("../../fixtures/recording/ok/java.json"),
    include_bytes!("../../fixtures/recording/ok/kotlin.json"),
    include_bytes!("../../fixtures/recording/ok/go-workflow.jsonl"),
    include_bytes!("../../fixtures/recording/ok/go-server.json"),
    include_bytes!("../../fixtures/recording/ok/run-sse.txt"),
    include_bytes!("../../fixtures/recording/ok/adk-run-lines.jsonl"),
    include_bytes!("../../fixtures/recording/ok/eval-set.json"),
    include_bytes!("../../fixtures/recording/ok/eval-cases.json"),
    include_bytes!("../../fixtures/recording/ok/eval-case-alone.json"),
    include_bytes!("../../fixtures/recording/ok/conformance-of-a-stream.yaml"),
    include_bytes!("../../fixtures/recording/ok/event-list-of-go-goldens-with-approval.yaml"),
    include_bytes!("../../fixtures/recording/ok/golden.json"),
    include_bytes!("../../fixtures/recording/ok/before-1.0.json"),
    include_bytes!("../../fixtures/recording/ok/snake-case-with-nulls.json"),
    include_bytes!("../../fixtures/recording/ok/halves-of-one-event.jsonl"),
    include_bytes!("../../fixtures/recording/ok/camel-case.json"),
];

/// One part of a message: as Google's libraries write it, as the Rust library does, and how many calls it makes.
const PARTS: [(&str, &str, usize); 8] = [
    (r#"{"text":"x"}"#, r#"{"text":"x"}"#, 0),
    (
        r#"{"functionCall":{"id":"c","name":"f","args":{"name":"g","args":{}}}}"#,
        r#"{"id":"c","name":"f","args":{"name":"g","args":{}}}"#,
        1,
    ),
    (r#"{"functionCall":{"name":"f","args":[{"args":1}]}}"#, r#"{"args":[{"args":1}],"name":"f"}"#, 1),
    (
        r#"{"functionResponse":{"id":"c","name":"f","response":{"name":"g","args":{}}}}"#,
        r#"{"functionResponse":{"name":"f","response":{"name":"g","args":{}}},"id":"c"}"#,
        0,
    ),
    (r#"{"inlineData":{"data":"AA=="}}"#, r#"{"mime_type":"a/b","data":[0]}"#, 0),
    (r#"{"text":"x","functionCall":{"name":"f","args":{}}}"#, r#"{"text":"x","name":"f","args":{}}"#, 1),
    (r#"{"functionCall":{"name":"f","args":{"x":NaN}}}"#, r#"{"name":"f","args":{"x":NaN}}"#, 1),
    (r#"{"toolCall":{"name":"f","args":{}}}"#, r#"{"server_tool_call":{"name":"f","args":{}}}"#, 0),
];

/// Ways to write a session.
#[derive(Debug, Clone, Copy)]
enum Tongue {
    Google,
    Rust,
    Vertex,
    VertexRaw,
}

/// An event as it is written in that way, with these parts.
fn written(tongue: Tongue, number: usize, parts: &str) -> String {
    let content = format!(r#""content":{{"parts":[{parts}]}}"#);
    match tongue {
        Tongue::Google => {
            format!(
                r#"{{"id":"e{number}","author":"a","invocationId":"i","timestamp":1767000000000,{content}}}"#
            )
        }
        Tongue::Rust => format!(
            r#"{{"id":"e{number}","author":"a","invocation_id":"i","timestamp":"2026-11-30T14:11:00Z",{content}}}"#
        ),
        Tongue::Vertex => format!(
            r#"{{"name":"x/sessions/s/events/e{number}","author":"a","timestamp":{{"seconds":1767000000}},{content}}}"#
        ),
        Tongue::VertexRaw => format!(
            r#"{{"name":"x/sessions/s/events/e{number}","author":"a","timestamp":"2026-11-30T14:11:00Z",{content},"rawEvent":{{"author":"a",{content}}}}}"#
        ),
    }
}

/// A list of events with such parts, and how many calls they make.
fn session(events: &[Vec<usize>], tongue: Tongue) -> (String, usize) {
    let (mut texts, mut calls) = (Vec::new(), 0);
    for (number, parts) in events.iter().enumerate() {
        let parts: Vec<_> = parts.iter().filter_map(|part| PARTS.get(*part)).collect();
        calls += parts.iter().map(|(_, _, calls)| calls).sum::<usize>();
        let text = |(google, rust, _): &&(&'static str, &'static str, usize)| match tongue {
            Tongue::Rust => *rust,
            Tongue::Google | Tongue::Vertex | Tongue::VertexRaw => *google,
        };
        let parts: Vec<_> = parts.iter().map(text).collect();
        texts.push(written(tongue, number, &parts.join(",")));
    }
    (format!("[{}]", texts.join(",")), calls)
}

fn calls_of(event: &Event) -> usize {
    event.parts.iter().filter(|part| matches!(part.kind, PartKind::Call { .. })).count()
}

proptest! {
    #[test]
    fn no_call_gets_lost(
        events in prop::collection::vec(prop::collection::vec(0..PARTS.len(), 0..4), 1..6),
        tongue in prop::sample::select(vec![Tongue::Google, Tongue::Rust, Tongue::Vertex, Tongue::VertexRaw]),
    ) {
        let (text, calls) = session(&events, tongue);
        let recordings = recording::read(text.as_bytes(), &Options::default());
        let found: usize = recordings
            .iter()
            .flatten()
            .map(|recording| recording.events.iter().map(calls_of).sum::<usize>() + recording.unread_calls.len())
            .sum();
        prop_assert_eq!(found, calls, "{}", text);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        sound(&bytes)?;
    }

    #[test]
    fn brackets_and_quotes_do_no_harm(text in r#"[{\[]["a-c:,{}\[\] \\\n0]{0,200}"#) {
        sound(text.as_bytes())?;
        sound(format!(r#"{{"id":"s","appName":"a","events":{text}"#).as_bytes())?;
    }

    #[test]
    fn changed_files_do_no_harm(good in 0..GOOD.len(), changes in prop::collection::vec(change(), 1..6)) {
        let good = GOOD.get(good).copied().unwrap_or_default().to_vec();
        let bytes = changes.iter().fold(good, changed);
        sound(&bytes)?;
    }
}
