//! What one warm check costs, however long the session.
//!
//! `cargo run --release -p gatelog-bench --bin check [-- POLICY [MESSAGES [CHECKS [ENTRY]]]]` makes a session of that many
//! messages with full history, asks the same call again and again, asserts the decision and prints nanoseconds a check,
//! and those of the first check. POLICY is one of `allow`, `tainted`, `clean`, `approval`, `text`, `many`, or `all`;
//! ENTRY is `call` (a call of the session) or `request` (a request by hand).
//! Under `valgrind --tool=callgrind`, two runs with different CHECKS give the instructions of one check.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use gatelog::decision::Verdict;
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::program::{NoIncludes, check};
use gatelog::recording::{Options, read};
use gatelog::records::CallNumber;
use serde_json::{Value, json};

/// A policy and what it says of the last call.
struct Case {
    name: &'static str,
    verdict: Verdict,
    text: fn() -> String,
}

const CASES: [Case; 6] = [
    Case { name: "allow", verdict: Verdict::Allow, text: allow },
    Case { name: "tainted", verdict: Verdict::Deny, text: || reads("read_confidential") },
    Case { name: "clean", verdict: Verdict::Allow, text: || reads("read_other") },
    Case { name: "approval", verdict: Verdict::Allow, text: approval },
    Case { name: "text", verdict: Verdict::Deny, text: secret },
    Case { name: "many", verdict: Verdict::Allow, text: many },
];

fn allow() -> String {
    "IsAuthorized(i) :- Actions(i, _).\n".to_owned()
}

fn reads(tool: &str) -> String {
    format!(
        "{}Unauthorized(i) :- Actions(i, _), CurrentDepends(id), ToolResult(id, \"{tool}\", _).\n",
        allow()
    )
}

/// The call is allowed where an approval of the same request is among its ancestors.
fn approval() -> String {
    "IsAuthorized(i) :- Actions(i, $CallTool(\"send\", args)), CurrentDepends(id), ToolResult(id, \"approve\", given),\n    @json_str(given, \"request\") = @json_str(args, \"request\").\n".to_owned()
}

fn secret() -> String {
    format!(
        "{}Unauthorized(i) :- Actions(i, _), CurrentDepends(id), SentMessage(id, m), contains(\"seventeen\", m.contents).\n",
        allow()
    )
}

/// Rules for 200 tools, one of which is asked for.
fn many() -> String {
    let mut text = "IsAuthorized(i) :- Actions(i, a), IsTool(a, \"send\").\n".to_owned();
    for tool in 0..200 {
        let _ = writeln!(
            text,
            "Unauthorized(i) :- Actions(i, a), a = $CallTool(\"tool_{tool}\", args), @json_str(args, \"to\") = \"x\",\n    CurrentDepends(id), ToolResult(id, \"read_{tool}\", _)."
        );
    }
    text
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word =
        |at: usize, otherwise: &str| arguments.get(at).cloned().unwrap_or_else(|| otherwise.to_owned());
    let (wanted, entry) = (word(0, "all"), word(3, "call"));
    let (messages, checks) = (word(1, "1000").parse()?, word(2, "10000").parse()?);
    for case in CASES.iter().filter(|case| wanted == "all" || case.name == wanted) {
        let (first, each) = measured(case, messages, checks, &entry)?;
        println!("{:9} {messages:7} messages, {entry}: first {first:10.1} us, then {each:8.1} ns", case.name);
    }
    Ok(())
}

fn measured(case: &Case, messages: usize, checks: u32, entry: &str) -> Result<(f64, f64), Box<dyn Error>> {
    let files = [("bench.dl".to_owned(), (case.text)())];
    let program = check(&files, &mut NoIncludes).map_err(|no| no.findings[0].message.clone())?;
    let caller = Caller { principal: Some("u1".to_owned()), ..Caller::default() };
    let mut monitor =
        Monitor::new(Arc::new(Policy::new(program)), Settings { caller, ..Settings::default() });
    let recordings = read(&serde_json::to_vec(&session(messages))?, &Options::default())?;
    let mut last = None;
    for event in recordings.iter().flat_map(|recording| &recording.events) {
        let observed = monitor.observe(event).map_err(|stop| format!("{stop:?}"))?;
        last = observed.calls.last().copied().or(last);
    }
    let call = last.ok_or("the session has no call")?;
    let request = request(&monitor, call)?;
    let mut ask = || match entry {
        "call" => monitor.judge_call(call).verdict,
        _ => monitor.judge(&request)[0].verdict,
    };
    let begin = Instant::now();
    assert_eq!(ask(), case.verdict, "{}", case.name);
    let first = begin.elapsed().as_secs_f64() * 1e6;
    let begin = Instant::now();
    for _ in 0..checks {
        assert_eq!(ask(), case.verdict, "{}", case.name);
    }
    Ok((first, begin.elapsed().as_secs_f64() * 1e9 / f64::from(checks.max(1))))
}

fn request(monitor: &Monitor, call: CallNumber) -> Result<Request, Box<dyn Error>> {
    let call = monitor.graph().calls().get(call.0 as usize).ok_or("no such call")?;
    let records = monitor.graph().records();
    let current = call.current.iter().filter_map(|record| Some(records.get(record.0 as usize)?.id.clone()));
    let action = Action::CallTool { tool: call.tool.clone(), arguments: call.arguments.clone() };
    Ok(Request { current: current.collect(), actions: vec![(action, Vec::new())], clock: None })
}

/// So many messages in turns of four, a call of `send` at the end. Three results stand out.
fn session(messages: usize) -> Value {
    let event = |turn: usize, step: usize, author: &str, part: Value| {
        json!({
            "id": format!("ev-{turn}-{step}"), "invocationId": format!("e-{turn}"), "author": author,
            "timestamp": 1_790_000_000.5 + (turn * 4 + step) as f64,
            "content": {"role": if author == "user" { "user" } else { "model" }, "parts": [part]},
        })
    };
    let turns = messages / 4;
    let mut events: Vec<Value> = Vec::new();
    for turn in 0..turns {
        let (call, tool) = (format!("c-{turn}"), tool_of(turn, turns));
        let arguments = json!({"message_id": format!("m-{turn}"), "request": format!("r-{turn}")});
        events.push(event(turn, 0, "user", json!({"text": format!("read mail {turn}")})));
        events.push(event(
            turn,
            1,
            "assistant",
            json!({"functionCall": {"id": call, "name": tool, "args": arguments}}),
        ));
        events.push(event(
            turn,
            2,
            "assistant",
            json!({"functionResponse": {"id": call, "name": tool, "response": {"body": "pay at once"}}}),
        ));
        let word = if turn == turns / 3 { "seventeen" } else { "done" };
        events.push(event(turn, 3, "assistant", json!({"text": format!("{word} {turn}")})));
    }
    let arguments = json!({"request": format!("r-{}", turns / 2), "to": "x"});
    events.push(event(
        turns,
        0,
        "assistant",
        json!({"functionCall": {"id": "last", "name": "send", "args": arguments}}),
    ));
    json!({"id": "s-bench", "appName": "bench", "userId": "u1", "state": {}, "events": events})
}

fn tool_of(turn: usize, turns: usize) -> &'static str {
    if turn == turns / 2 {
        "approve"
    } else if turn == turns / 4 {
        "read_confidential"
    } else {
        "read_email"
    }
}
