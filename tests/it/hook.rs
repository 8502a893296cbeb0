//! `gatelog hook --stdio`: a runner's child process, killed at any instant.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::support::{gatelog, root};

/// A hook that runs.
pub(crate) struct Hook {
    pub(crate) child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
    /// The session that it is asked about.
    session: String,
}

impl Hook {
    pub(crate) fn start(folder: &Path, policy: &str) -> Self {
        Self::start_by(Command::new(env!("CARGO_BIN_EXE_gatelog")), folder, policy)
    }

    /// The same by a command that ends by running it.
    pub(crate) fn start_by(mut command: Command, folder: &Path, policy: &str) -> Self {
        std::fs::write(folder.join("p.dl"), policy).unwrap();
        command.args(["hook", "--stdio", "--policy", "p.dl", "--store", "gate.db", "--deadline", "60000"]);
        Self::run(command.current_dir(folder))
    }

    pub(crate) fn run(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output), session: "s".to_owned() }
    }

    pub(crate) fn send(&mut self, what: &str, value: &Value) {
        let message =
            json!({"id": what, "session": {"app": "a", "user": "u", "session": self.session}, what: value});
        writeln!(self.input, "{message}").unwrap();
    }

    pub(crate) fn ask(&mut self, what: &str, value: &Value) -> Value {
        self.send(what, value);
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(answer["id"], what);
        answer
    }

    pub(crate) fn check(&mut self, id: &str, args: &Value) -> Value {
        self.check_tool(id, "pay", args)
    }

    fn check_tool(&mut self, id: &str, tool: &str, args: &Value) -> Value {
        let history = self.ask("history", &json!({}));
        let (events, digest) = (&history["events"], &history["digest"]);
        let question = json!({"call_id": id, "tool": tool, "args": args, "agent": "bot", "events": events, "digest": digest});
        self.ask("check", &question)["check"].clone()
    }

    /// Ends it as it pleases.
    pub(crate) fn end(mut self) -> Option<i32> {
        drop(self.input);
        self.child.wait().unwrap().code()
    }

    /// Ends it without a word.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

pub(crate) fn call(id: &str, amount: u32) -> Value {
    let call = json!({"id": id, "name": "pay", "args": {"amount": amount}});
    json!({"id": format!("call-{id}"), "author": "bot", "content": {"parts": [{"functionCall": call}]}})
}

pub(crate) fn answer(id: &str) -> Value {
    let answer = json!({"id": id, "name": "pay", "response": {"paid": true}});
    json!({"id": format!("answer-{id}"), "author": "bot", "content": {"parts": [{"functionResponse": answer}]}})
}

pub(crate) const POLICY: &str = r#"
IsAuthorized(i) :- Actions(i, _).
// @id: too-much
// @deny_message: no more than 10
// @suggestion: ask for less
Unauthorized(i) :- Actions(i, $CallTool("pay", args)), @json_float(args, "amount") > 10.0.
// @id: once
// @deny_message: paid before
Unauthorized(i) :- Actions(i, $CallTool("pay", _)), CurrentDepends(r), ToolResult(r, "pay", _).
"#;

#[test]
fn a_runner_is_told_what_may_run_and_what_to_say_instead() {
    let folder = tempfile::tempdir().unwrap();
    let mut hook = Hook::start(folder.path(), POLICY);
    assert_eq!(hook.ask("append", &call("c1", 11))["appended"], "new");
    assert_eq!(hook.ask("append", &call("c1", 11))["appended"], "known");
    let denied = hook.check("c1", &json!({"amount": 11}));
    assert_eq!((&denied["may_run"], &denied["verdict"]), (&json!(false), &json!("deny")));
    assert_eq!(denied["response"]["error"], "[BLOCKED] no more than 10 Instead: ask for less");
    assert_eq!(denied["response"]["gatelog"]["check"], denied["ticket"]);
    hook.ask("append", &call("c2", 5));
    let allowed = hook.check("c2", &json!({"amount": 5}));
    assert_eq!(allowed["may_run"], true);
    let finish = json!({"ticket": allowed["ticket"], "ending": "returned", "args": {"amount": 5.0}});
    assert_eq!(hook.ask("finish", &finish).get("error"), None);
    assert!(hook.ask("finish", &finish)["error"].as_str().unwrap().contains("used"));
    hook.ask("append", &answer("c2"));
    hook.ask("append", &call("c3", 5));
    assert_eq!(hook.check("c3", &json!({"amount": 5}))["reasons"][0]["rule"], "once");
    for (message, word) in [
        ("{}", "session"),
        ("nonsense", "read"),
        (r#"{"session": {"session": "s"}}"#, "one of"),
        (r#"{"session": {"session": "s"}, "principal": "root", "history": {}}"#, "principal"),
    ] {
        writeln!(hook.input, "{message}").unwrap();
        let mut line = String::new();
        hook.output.read_line(&mut line).unwrap();
        assert!(line.contains("error") && line.contains(word), "{line}");
    }
    assert_eq!(hook.end(), Some(0));
}

/// What was acknowledged is there after any death, and what the session knew it knows again.
#[test]
fn nothing_that_was_acknowledged_is_lost_when_the_hook_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let (mut events, mut checks) = (0, 0);
    for round in 0..12_u32 {
        let mut hook = Hook::start(folder.path(), POLICY);
        assert_eq!(hook.ask("history", &json!({}))["events"], events);
        for step in 0..round % 4 {
            let id = format!("c{round}-{step}");
            assert_eq!(hook.ask("append", &call(&id, 11))["appended"], "new");
            assert_eq!(hook.check(&id, &json!({"amount": 11}))["verdict"], "deny");
            (events, checks) = (events + 1, checks + 1);
        }
        // One more is on its way when death comes, and may be there or not.
        hook.send("append", &call(&format!("c{round}-last"), 1));
        if round % 3 == 0 {
            let mut line = String::new();
            hook.output.read_line(&mut line).unwrap();
            events += 1;
        } else {
            hook.kill();
            let mut after = Hook::start(folder.path(), POLICY);
            let there = after.ask("append", &call(&format!("c{round}-last"), 1));
            assert!(["new", "known"].contains(&there["appended"].as_str().unwrap()), "{there}");
            events += 1;
            after.kill();
            continue;
        }
        hook.kill();
    }
    let verified = gatelog(folder.path(), &["journal", "verify", "gate.db"], None);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    let edited = gatelog(folder.path(), &["journal", "export", "gate.db"], None).stdout;
    let at = edited.rfind("functionCall").unwrap();
    let edited = edited[..at].to_owned() + "functionCalm" + edited[at + 12..].trim_end();
    std::fs::write(folder.path().join("edited.jsonl"), edited).unwrap();
    let edited = gatelog(folder.path(), &["journal", "verify", "edited.jsonl"], None);
    assert_eq!((edited.code, edited.stderr.contains("was changed")), (Some(2), true), "{}", edited.stderr);
    let exported = gatelog(folder.path(), &["journal", "export", "gate.db"], None);
    std::fs::write(folder.path().join("s.jsonl"), &exported.stdout).unwrap();
    let head = verified.stdout.trim().rsplit(' ').next().unwrap();
    let same = gatelog(folder.path(), &["journal", "verify", "--head", head, "s.jsonl"], None);
    assert_eq!(same.code, Some(0), "{}", same.stderr);
    let replayed =
        gatelog(folder.path(), &["replay", "--policy", "p.dl", "--format", "json", "s.jsonl"], None);
    let document: Value = serde_json::from_str(&replayed.stdout).unwrap();
    assert_eq!(
        (&document["totals"]["deny"], &document["totals"]["checks"]),
        (&json!(checks), &json!(checks))
    );
    assert_eq!(document["sessions"][0]["events"], events);
    // Without its last line it is another journal.
    let cut: Vec<&str> = exported.stdout.lines().collect();
    let cut = cut.split_last().unwrap().1.join("\n") + "\n";
    std::fs::write(folder.path().join("cut.jsonl"), cut).unwrap();
    let other = gatelog(folder.path(), &["journal", "verify", "--head", head, "cut.jsonl"], None);
    assert_eq!((other.code, other.stderr.contains("it was cut")), (Some(2), true), "{}", other.stderr);
}

/// What a runner that is never answered in time knows of one session.
#[derive(Default)]
struct Known {
    /// Ids of its events, sent or not.
    ids: Vec<String>,
    /// Events and allows that were acknowledged.
    events: usize,
    allowed: Vec<String>,
}

impl Known {
    /// One call more, appended and checked, without waiting for an answer to anything.
    fn burst(&mut self, session: &str, hook: &mut Hook) {
        let id = format!("c{}", self.ids.len());
        self.ids.push(format!("call-{id}"));
        let digest = gatelog::recording::journal::digest_of(self.ids.iter().map(String::as_str));
        let question = json!({"call_id": id, "tool": "pay", "args": {"amount": 1}, "agent": "bot",
            "events": self.ids.len(), "digest": digest});
        for (what, value) in [("append", call(&id, 1)), ("check", question)] {
            let names = json!({"app": "a", "user": "u", "session": session});
            let message = json!({"id": [what, session, id], "session": names, what: value});
            writeln!(hook.input, "{message}").unwrap();
        }
    }
}

/// The answers that were written before the process died, each whole.
fn answers(hook: &mut Hook, most: usize) -> Vec<Value> {
    let mut answers = Vec::new();
    let mut line = String::new();
    while answers.len() < most && hook.output.read_line(&mut line).is_ok_and(|read| read > 0) {
        if line.ends_with('\n') {
            answers.push(serde_json::from_str(&line).unwrap());
        }
        line.clear();
    }
    answers
}

/// Kills under load, 12 of them; `GATE_KILLS` says otherwise.
#[test]
fn no_kill_loses_what_was_acknowledged_or_lets_a_call_run_twice() {
    const SESSIONS: usize = 3;
    let kills: usize = std::env::var("GATE_KILLS").map_or(12, |count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let policy = "IsAuthorized(i) :- Actions(i, _).";
    let mut known: [Known; SESSIONS] = Default::default();
    for round in 0..kills {
        let mut hook = Hook::start(folder.path(), policy);
        for (number, session) in known.iter_mut().enumerate() {
            for _ in 0..4 {
                session.burst(&format!("s{number}"), &mut hook);
            }
        }
        // Death comes after any number of answers; what was answered before it is read all the same.
        let mut read = answers(&mut hook, round * 7 % (SESSIONS * 8 + 1));
        hook.child.kill().unwrap();
        read.extend(answers(&mut hook, usize::MAX));
        hook.child.wait().unwrap();
        let mut acknowledged = [0; SESSIONS];
        for answer in &read {
            let number: usize = answer["id"][1].as_str().unwrap().trim_start_matches('s').parse().unwrap();
            assert_eq!(answer.get("error"), None, "{answer}");
            if answer["check"]["may_run"] == true {
                known[number].allowed.push(answer["id"][2].as_str().unwrap().to_owned());
            }
            acknowledged[number] += usize::from(answer["appended"] == "new");
        }
        let mut after = Hook::start(folder.path(), policy);
        for (number, (session, acknowledged)) in known.iter_mut().zip(acknowledged).enumerate() {
            after.session = format!("s{number}");
            let events = after.ask("history", &json!({}))["events"].as_u64().unwrap();
            assert!(events >= u64::try_from(session.events + acknowledged).unwrap(), "{round}: {events}");
            // The runner sends what may be missing; what is there is known.
            for id in session.ids.iter().skip(session.events) {
                let answer = after.ask("append", &call(id.trim_start_matches("call-"), 1));
                assert_eq!(answer.get("error"), None, "{answer}");
            }
            session.events = session.ids.len();
            assert_eq!(after.ask("history", &json!({}))["events"], session.ids.len());
            // What was let run before the kill is not let run after it.
            if let Some(id) = session.allowed.last().cloned() {
                assert_eq!(after.check(&id, &json!({"amount": 1}))["may_run"], false, "{round}: {id}");
            }
        }
        after.kill();
    }
    assert!(known.iter().any(|session| !session.allowed.is_empty()));
    let verified = gatelog(folder.path(), &["journal", "verify", "gate.db"], None);
    assert_eq!((verified.code, verified.stdout.lines().count()), (Some(0), SESSIONS), "{}", verified.stderr);
    for number in 0..SESSIONS {
        let session = format!("s{number}");
        let exported =
            gatelog(folder.path(), &["journal", "export", "gate.db", "--session-id", &session], None);
        std::fs::write(folder.path().join("s.jsonl"), &exported.stdout).unwrap();
        let replayed = ["replay", "--policy", "p.dl", "--format", "json", "s.jsonl"];
        let replayed = gatelog(folder.path(), &replayed, None);
        assert!(!replayed.stdout.contains("gate_differs"), "{}", replayed.stdout);
    }
}

/// The attempt: write lists of values where an object names its keys. What cannot be read is answered under its `id`.
#[test]
fn broken_messages_are_refused_by_name_and_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let mut hook = Hook::start(folder.path(), POLICY);
    let session = r#""session":{"session":"s"}"#;
    for (message, id, word) in [
        (
            r#"[7,["a","u","s"],null,null,null,null,null,null,null,null,{}]"#.to_owned(),
            Value::Null,
            "no object",
        ),
        (r#"{"id":7,"session":["a","u","s"],"history":{}}"#.to_owned(), json!(7), "`session` is no object"),
        (
            format!(r#"{{"id":"x",{session},"finish":["0-00","returned",1,{{}}]}}"#),
            json!("x"),
            "`finish` is no",
        ),
        (format!(r#"{{"id":[1],{session},"confirm":["0-00",true]}}"#), json!([1]), "`confirm` is no"),
        (
            format!(r#"{{"id":1,{session},"check":{{"tool":"f","events":"1"}}}}"#),
            json!(1),
            "the number `events`",
        ),
        (format!(r#"{{"id":1,{session},"history":[]}}"#), json!(1), "without a key"),
        (format!(r#"{{"id":1,{session},"principal":"root","history":{{}}}}"#), json!(1), "`principal`"),
        (format!(r#"{{"id":1,{session},"history":{{}},"history":{{}}}}"#), json!(1), "twice"),
        (r#"{"id":1,"history":{}}"#.to_owned(), json!(1), "no `session`"),
    ] {
        writeln!(hook.input, "{message}").unwrap();
        let mut line = String::new();
        hook.output.read_line(&mut line).unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        let error = answer["error"].as_str().unwrap();
        assert!(error.contains(word) && answer["id"] == id, "{message}: {line}");
        for term in ["struct", "sequence", "u64", "enum", "map", "column"] {
            assert!(!error.contains(term), "{error}");
        }
    }
    assert_eq!(hook.ask("history", &json!({}))["events"], 0);
}

/// What a session knows is there after any number of others.
#[test]
fn many_sessions_take_turns() {
    let folder = tempfile::tempdir().unwrap();
    let mut hook = Hook::start(folder.path(), POLICY);
    for round in 0..2 {
        for number in 0..300 {
            hook.session = format!("s{number}");
            let id = format!("c{round}");
            assert_eq!(hook.ask("append", &call(&id, 1))["appended"], "new");
            assert_eq!(hook.ask("history", &json!({}))["events"], round + 1);
        }
    }
}

/// The attempt: say that a tool returned nothing, or ran without arguments, and have it count as nothing said.
#[test]
fn null_is_a_value_and_no_silence() {
    let policy = r#"
IsAuthorized(i) :- Actions(i, $CallTool("approve", _)).
IsAuthorized(i) :- Actions(i, $CallTool("pay", _)), CurrentDepends(r), ToolResult(r, "approve", _).
"#;
    let event = |id: &str, part: Value| json!({"id": id, "author": "bot", "content": {"parts": [part]}});
    for (value, args, pays) in [
        (None, None, true),
        (Some(json!("yes")), Some(json!({"a": 1})), true),
        (Some(Value::Null), None, false),
        (Some(json!(false)), None, false),
        (None, Some(Value::Null), false),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut hook = Hook::start(folder.path(), policy);
        let call = |id: &str, tool: &str, args: Value| json!({"functionCall": {"id": id, "name": tool, "args": args}});
        hook.ask("append", &event("e1", call("c1", "approve", json!({"a": 1}))));
        let approved = hook.check_tool("c1", "approve", &json!({"a": 1}));
        assert_eq!(approved["may_run"], true);
        let mut finish = json!({"ticket": approved["ticket"], "ending": "returned"});
        finish.as_object_mut().unwrap().extend(value.clone().map(|value| ("value".to_owned(), value)));
        finish.as_object_mut().unwrap().extend(args.clone().map(|args| ("args".to_owned(), args)));
        assert_eq!(hook.ask("finish", &finish).get("error"), None);
        let answer =
            json!({"functionResponse": {"id": "c1", "name": "approve", "response": {"result": "yes"}}});
        hook.ask("append", &event("e2", answer));
        hook.ask("append", &event("e3", call("c2", "pay", json!({}))));
        assert_eq!(hook.check_tool("c2", "pay", &json!({}))["may_run"], pays, "{value:?} {args:?}");
        // The journal tells the one from the other too.
        hook.kill();
        let mut again = Hook::start(folder.path(), policy);
        assert_eq!(again.check_tool("c2", "pay", &json!({}))["may_run"], false);
        again.ask("append", &event("e4", call("c3", "pay", json!({}))));
        assert_eq!(again.check_tool("c3", "pay", &json!({}))["may_run"], pays, "{value:?} {args:?}");
    }
}

/// The attempt: read a value of null, and have it count as one that is not there.
#[test]
fn a_state_of_null_is_there() {
    let policy = r#"
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, _), StateRead(_, _, "k", "null").
"#;
    for (resource, error) in [
        (json!({"state": "k"}), None),
        (json!({"state": "k", "value": null}), Some("into deny")),
        (json!({"artifact": "f", "version": 1, "value": null}), Some("`artifact` with")),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut hook = Hook::start(folder.path(), policy);
        hook.ask("append", &call("c1", 1));
        let mut read = resource.clone();
        read["ticket"] = hook.check("c1", &json!({"amount": 1}))["ticket"].clone();
        let answer = hook.ask("read", &read);
        let said = answer.get("error").and_then(Value::as_str);
        assert!(
            said.is_some() == error.is_some() && said.unwrap_or("").contains(error.unwrap_or("")),
            "{answer}"
        );
    }
}

#[test]
fn a_store_that_is_none_and_sessions_that_are_not_there_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("x.db"), "no database").unwrap();
    let policy = root().join("fixtures/policies/allow-all.dl");
    let policy = policy.to_string_lossy();
    let hook = gatelog(folder.path(), &["hook", "--stdio", "--policy", &policy, "--store", "x.db"], Some(""));
    assert_eq!(hook.code, Some(2), "{}", hook.stderr);
    let export = gatelog(folder.path(), &["journal", "export", "x.db"], None);
    assert_eq!(export.code, Some(2), "{}", export.stderr);
    let empty =
        gatelog(folder.path(), &["hook", "--stdio", "--policy", &policy, "--store", "y.db"], Some(""));
    assert_eq!(empty.code, Some(0), "{}", empty.stderr);
    let replayed = gatelog(folder.path(), &["replay", "--policy", &policy, "y.db"], None);
    assert!(
        replayed.code == Some(2) && replayed.stderr.contains("`gatelog journal export`"),
        "{}",
        replayed.stderr
    );
    let none = gatelog(folder.path(), &["journal", "verify", "y.db"], None);
    assert_eq!(none.code, Some(3), "{}", none.stderr);
    let export = gatelog(folder.path(), &["journal", "export", "y.db", "--session-id", "s"], None);
    assert_eq!((export.code, export.stderr.contains("there are none")), (Some(2), true), "{}", export.stderr);
}
