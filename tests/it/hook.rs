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
}

impl Hook {
    fn start(folder: &Path, policy: &str) -> Self {
        std::fs::write(folder.join("p.dl"), policy).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_gatelog"));
        command.args(["hook", "--stdio", "--policy", "p.dl", "--store", "gate.db", "--deadline", "60000"]);
        Self::run(command.current_dir(folder))
    }

    pub(crate) fn run(command: &mut Command) -> Self {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self { child, input, output: BufReader::new(output) }
    }

    pub(crate) fn send(&mut self, what: &str, value: &Value) {
        let message = json!({"id": what, "session": {"app": "a", "user": "u", "session": "s"}, what: value});
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
        let history = self.ask("history", &json!({}));
        let (events, digest) = (&history["events"], &history["digest"]);
        let question = json!({"call_id": id, "tool": "pay", "args": args, "agent": "bot", "events": events, "digest": digest});
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
    let none = gatelog(folder.path(), &["journal", "verify", "y.db"], None);
    assert_eq!(none.code, Some(3), "{}", none.stderr);
    let export = gatelog(folder.path(), &["journal", "export", "y.db", "--session-id", "s"], None);
    assert_eq!((export.code, export.stderr.contains("there are none")), (Some(2), true), "{}", export.stderr);
}
