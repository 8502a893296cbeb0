//! Decision logs: what stands in them, what is found when they are cut or changed, and replays that believe them alone.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{ChildStderr, Command, Stdio};
use std::sync::Arc;

use gatelog::gate::{Detail, Logging};
use gatelog::monitor::{Caller, Policy, Settings};
use gatelog::recording::decisions::{Decided, HashKey, LogReader, Said};
use gatelog::recording::journal::SessionKey;
use gatelog::recording::{Options, Parts, Recording, read};
use gatelog::replay::{Logged, SessionReport, replay_logged};
use gatelog::store::{DecisionLog, Journals, LogError, files_of, key_file, read_file};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::gate::{Runner, events_of, recordings};
use crate::gated::{SENSITIVE, building, policy};
use crate::hook::{Hook, POLICY, answer, call};
use crate::support::{Run, gatelog, name, text};

/// Arguments of a hook with a log.
const HOOK: [&str; 8] =
    ["hook", "--stdio", "--policy", "p.dl", "--deadline", "60000", "--decision-log", "log.jsonl"];

fn hook(folder: &Path, more: &[&str]) -> Hook {
    std::fs::write(folder.join("p.dl"), POLICY).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatelog"));
    Hook::run(command.args(HOOK).args(more).current_dir(folder))
}

/// Asks about a call of that amount, and says what was answered.
fn asked(hook: &mut Hook, id: &str, amount: u32) -> Value {
    assert_eq!(hook.ask("append", &call(id, amount))["appended"], "new");
    hook.check(id, &json!({"amount": amount}))
}

fn lines(path: &Path) -> Vec<Value> {
    text(path).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn verified(folder: &Path, more: &[&str]) -> Run {
    gatelog(folder, &[&["verify-log", "log.jsonl"], more].concat(), None)
}

#[test]
fn each_verdict_has_a_line_and_no_line_holds_an_argument() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut hook = hook(at, &["--store", "gate.db", "--role", "r"]);
    let denied = asked(&mut hook, "c1", 123_456);
    let allowed = asked(&mut hook, "c2", 5);
    let (events, digest) = (2, "0".repeat(64));
    let question = json!({"call_id": "c2", "tool": "pay", "args": {}, "agent": "bot", "events": events, "digest": digest});
    let unjudged = hook.ask("check", &question)["check"].clone();
    assert_eq!(hook.end(), Some(0));
    let lines = lines(&at.join("log.jsonl"));
    assert!(
        lines[0]["said"]["begin"]["gatelog_decisions"] == 1 && lines[1]["said"].get("policies").is_some()
    );
    let decisions: Vec<&Value> = lines[2..].iter().map(|line| &line["said"]["decision"]).collect();
    let picked = |decision: &Value| {
        let keys = [
            "check",
            "call_id",
            "tool",
            "agent",
            "principal",
            "verdict",
            "may_run",
            "mode",
            "events",
            "policy",
        ];
        keys.map(|key| decision[key].clone())
    };
    let row = |answer: &Value, id: &str, events: u32| {
        let policy = &answer["policy"];
        [&answer["ticket"], &json!(id), &json!("pay"), &json!("bot"), &json!("local"), &answer["verdict"]]
            .into_iter()
            .chain([&answer["may_run"], &json!("enforce"), &json!(events), policy])
            .cloned()
            .collect::<Vec<_>>()
    };
    let expected = [row(&denied, "c1", 1), row(&allowed, "c2", 2), row(&unjudged, "c2", 2)];
    assert_eq!(decisions.iter().map(|decision| picked(decision).to_vec()).collect::<Vec<_>>(), expected);
    assert_eq!(
        decisions[0]["reasons"],
        json!([{"kind": "denied", "rule": "too-much", "file": "p.dl", "line": 6}])
    );
    assert!(decisions[2]["unjudged"].as_str().unwrap().contains("other events"));
    assert!(decisions[0]["micros"]["verdict"].as_u64().unwrap() > 0);
    assert!(!text(&at.join("log.jsonl")).contains("123456"));
    let key = key_file(&at.join("log.jsonl.key")).unwrap();
    assert_eq!(decisions[0]["arguments_hash"], key.hash(r#"{"amount":123456}"#));
    let whole = verified(at, &[]);
    assert_eq!((whole.code, whole.stdout.lines().count()), (Some(0), 2), "{}", whole.stderr);
    let head = lines[4]["hash"].as_str().unwrap();
    assert!(whole.stdout.ends_with(&format!("5 lines, head {head}\n")));
}

#[cfg(unix)]
#[test]
fn a_key_that_everybody_can_read_is_refused() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("key");
    key_file(&path).unwrap();
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(key_file(&path).unwrap().name(), key_file(&path).unwrap().name());
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o604)).unwrap();
    assert!(key_file(&path).unwrap_err().to_string().contains("everybody"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
    key_file(&path).unwrap();
    std::fs::write(&path, "short\n").unwrap();
    assert!(key_file(&path).unwrap_err().to_string().contains("fewer than 16"));
}

#[test]
fn a_log_goes_on_over_its_files_and_over_restarts() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut anchor = String::new();
    for round in 0..3 {
        let mut hook = hook(at, &["--log-size", "3000", "--store", "gate.db"]);
        for step in 0..8 {
            assert_eq!(asked(&mut hook, &format!("c{round}-{step}"), 11 + step)["verdict"], "deny");
        }
        assert_eq!(hook.end(), Some(0));
        if round == 0 {
            let out = verified(at, &[]).stdout;
            anchor = out.split_whitespace().last().unwrap().to_owned();
        }
    }
    let files = files_of(&at.join("log.jsonl")).unwrap();
    assert!(files.len() > 4, "{files:?}");
    let whole = verified(at, &["--head", &anchor]);
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    assert_eq!(whole.stdout.lines().count(), files.len() + 1);
    // In any order, and some of them alone.
    let named: Vec<String> = files.iter().rev().map(|path| name(path)).collect();
    let arguments: Vec<&str> =
        std::iter::once("verify-log").chain(named.iter().map(String::as_str)).collect();
    assert_eq!(gatelog(at, &arguments, None).stdout, whole.stdout);
    let last = gatelog(at, &["verify-log", &name(&files[2])], None);
    assert_eq!(last.code, Some(0));
    assert!(last.stderr.contains("lines before these are not here"), "{}", last.stderr);
    // A file that is gone is missed, and so are the last lines by who knows a head of theirs.
    let head = whole.stdout.split_whitespace().last().unwrap();
    let other = tempfile::tempdir().unwrap();
    for path in &files {
        std::fs::copy(path, other.path().join(path.file_name().unwrap())).unwrap();
    }
    std::fs::remove_file(other.path().join("log.jsonl")).unwrap();
    let full = gatelog(other.path(), &["verify-log", "log.jsonl", "--head", head], None);
    assert_eq!(full.code, Some(2));
    assert!(full.stderr.contains("no line has the hash"), "{}", full.stderr);
    std::fs::remove_file(other.path().join(files[1].file_name().unwrap())).unwrap();
    let gap = gatelog(other.path(), &["verify-log", "log.jsonl"], None);
    assert_eq!(gap.code, Some(2));
    assert!(
        gap.stderr.contains("log.jsonl.000003") && gap.stderr.contains("line 1 has the number"),
        "{}",
        gap.stderr
    );
}

/// A log of a few lines, and the texts of its lines.
fn small(at: &Path) -> Vec<String> {
    let mut hook = hook(at, &[]);
    for id in ["c1", "c2", "c3"] {
        asked(&mut hook, id, 11);
    }
    assert_eq!(hook.end(), Some(0));
    text(&at.join("log.jsonl")).lines().map(|line| line.to_owned() + "\n").collect()
}

#[test]
fn lines_that_were_cut_edited_or_moved_are_named_and_such_a_log_is_not_gone_on_with() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let lines = small(at);
    let pick = |picked: &[usize]| picked.iter().map(|&line| lines[line].as_str()).collect::<String>();
    let rows = [
        (pick(&[0, 1, 2, 4]), "line 4 has the number 4 and 3 is next"),
        (pick(&[0, 1, 3, 2, 4]), "line 3 has the number 3 and 2 is next"),
        (pick(&[0, 1, 2, 2, 3, 4]), "line 4 has the number 2 and 3 is next"),
        (pick(&[1, 2, 3, 4]), "it does not begin as a file of a decision log does"),
        (
            pick(&[0, 1, 2, 3, 4]).replace("\"verdict\":\"deny\"", "\"verdict\":\"allow\""),
            "line 3 was changed",
        ),
        (pick(&[0, 1]) + "{}\n" + &pick(&[2, 3]), "line 3 cannot be read"),
        ("\0\0\0\n".to_owned(), "it does not begin as a file of a decision log does"),
        (String::new(), "it does not begin as a file of a decision log does"),
    ];
    for (log, expected) in rows {
        std::fs::write(at.join("log.jsonl"), &log).unwrap();
        let run = verified(at, &[]);
        assert_eq!(run.code, Some(2), "{expected}");
        assert!(run.stderr.contains(expected), "{expected}: {}", run.stderr);
        let again = DecisionLog::open(&at.join("log.jsonl"), HashKey::new(&[7; 32]).unwrap(), 1 << 20);
        // One without any line is a new one.
        assert_eq!(again.is_err(), !log.is_empty(), "{expected}");
        assert!(again.is_ok() || text(&at.join("log.jsonl")) == log, "a broken log is kept");
    }
}

/// What a dead writer left is cut off and said, and no acknowledged line is lost.
#[test]
fn a_torn_end_is_repaired_and_said() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let lines = small(at);
    for torn in ["{\"number\":5", "\0\0\0\0", &lines[4][..lines[4].len() - 1]] {
        std::fs::write(at.join("log.jsonl"), lines.concat() + torn).unwrap();
        let before = verified(at, &[]);
        assert_eq!(before.code, Some(0));
        assert!(before.stderr.contains("is cut off"), "{}", before.stderr);
        let key = key_file(&at.join("log.jsonl.key")).unwrap();
        let log = DecisionLog::open(&at.join("log.jsonl"), key, 1 << 20).unwrap();
        assert_eq!(log.state().repaired, Some(torn.len() as u64));
        drop(log);
        let after = text(&at.join("log.jsonl"));
        assert!(after.starts_with(&lines.concat()) && after.lines().count() == lines.len() + 1);
        assert!(
            after.ends_with("}\n")
                && after.contains(&format!("{{\"repaired\":{{\"bytes\":{}}}}}", torn.len()))
        );
        assert_eq!(verified(at, &[]).code, Some(0));
    }
    std::fs::write(at.join("log.jsonl"), lines.concat() + "{\"number\"").unwrap();
    let run = gatelog(at, &HOOK, Some(""));
    assert_eq!(run.code, Some(0));
    assert!(run.stderr.contains("its last 9 bytes"), "{}", run.stderr);
}

#[test]
fn what_was_answered_stands_in_the_log_of_a_hook_that_was_killed() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut tickets = Vec::new();
    for round in 0..6 {
        let mut hook = hook(at, &["--store", "gate.db", "--log-size", "4000"]);
        for step in 0..round {
            tickets.push(asked(&mut hook, &format!("c{round}-{step}"), 11)["ticket"].clone());
        }
        hook.send("append", &call(&format!("c{round}-last"), 1));
        hook.kill();
    }
    assert_eq!(verified(at, &[]).code, Some(0));
    let all = said(&at.join("log.jsonl"));
    let logged: Vec<Value> = all.iter().map(|decided| json!(decided.check)).collect();
    assert!(tickets.iter().all(|ticket| logged.contains(ticket)), "{tickets:?} {logged:?}");
}

/// The verdicts of a log.
fn said(path: &Path) -> Vec<Decided> {
    let (mut reader, mut all) = (LogReader::default(), Vec::new());
    for path in files_of(path).unwrap() {
        let mut visit = |_: &_, said| {
            if let Said::Decision(decided) = said {
                all.push(*decided);
            }
        };
        read_file(&path, &mut reader, &mut visit).unwrap();
    }
    all
}

/// A file that may not grow is a disk that is full.
#[cfg(unix)]
#[test]
fn a_full_disk_turns_allows_into_denials_that_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("p.dl"), POLICY).unwrap();
    let script = format!("trap '' XFSZ; ulimit -f 8; exec \"$0\" {}", HOOK.join(" "));
    let mut command = Command::new("sh");
    let mut hook = Hook::run(command.args(["-c", &script, env!("CARGO_BIN_EXE_gatelog")]).current_dir(at));
    let (mut allowed, mut denied) = (0, 0);
    for at in 0..24 {
        let answer = asked(&mut hook, &format!("c{at}"), 1);
        if answer["may_run"] == json!(true) {
            assert_eq!(denied, 0, "the disk is full for good");
            allowed += 1;
        } else {
            denied += 1;
            let why = answer["reasons"][0]["text"].as_str().unwrap();
            assert!(why.contains("no verdict is given that is not logged"), "{why}");
            assert_eq!(answer["reasons"][0]["kind"], "engine_error");
        }
    }
    assert!(allowed > 2 && denied > 2, "{allowed} {denied}");
    // What the policy denies is said with its reasons.
    assert_eq!(asked(&mut hook, "d", 11)["reasons"][0]["rule"], "too-much");
    assert_eq!(hook.end(), Some(0));
    // Half a line that the disk took is gone.
    assert_eq!(verified(at, &[]).code, Some(0));
    assert_eq!(said(&at.join("log.jsonl")).len(), allowed);
}

#[test]
fn a_log_that_cannot_be_used_is_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::write(at.join("p.dl"), POLICY).unwrap();
    std::fs::create_dir(at.join("log.jsonl")).unwrap();
    let run = gatelog(at, &HOOK, Some(""));
    assert_eq!((run.code, run.stderr.contains("no ordinary file")), (Some(2), true), "{}", run.stderr);
    std::fs::remove_dir(at.join("log.jsonl")).unwrap();
    let key = key_file(&at.join("log.jsonl.key")).unwrap();
    let log = DecisionLog::open(&at.join("log.jsonl"), key.clone(), 1 << 20).unwrap();
    let taken = DecisionLog::open(&at.join("log.jsonl"), key, 1 << 20).err();
    assert!(matches!(taken, Some(LogError::Taken { .. })), "{taken:?}");
    let run = gatelog(at, &HOOK, Some(""));
    assert_eq!((run.code, run.stderr.contains("by someone else")), (Some(2), true), "{}", run.stderr);
    drop(log);
    let run = gatelog(at, &[&HOOK[..6], &["--decision-log", "nowhere/log"]].concat(), Some(""));
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    for more in [["--redact", "$.a"], ["--log-key", "k"]] {
        assert_eq!(gatelog(at, &[&HOOK[..6], &more[..]].concat(), Some("")).code, Some(2));
    }
}

/// Reads what a hook says of its policies.
struct Told(BufReader<ChildStderr>);

impl Told {
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line
    }
}

#[cfg(unix)]
fn hang_up(hook: &Hook) {
    let killed = Command::new("kill").args(["-HUP", &hook.child.id().to_string()]).status().unwrap();
    assert!(killed.success());
}

const RELOADING: [&str; 8] =
    ["hook", "--stdio", "--policy", "policies", "--decision-log", "log.jsonl", "--deadline", "60000"];

/// Puts that policy into the folder.
fn put(at: &Path, text: &str) {
    std::fs::write(at.join("policies/p.dl"), text).unwrap();
}

fn manifest(at: &Path, more: &[&str]) {
    let run = gatelog(at, &[&["policy", "manifest", "policies"], more].concat(), None);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
}

#[cfg(unix)]
#[test]
fn policies_are_reloaded_on_a_signal_or_a_changed_manifest_and_never_for_the_runner() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    std::fs::create_dir(at.join("policies")).unwrap();
    put(at, POLICY);
    assert_eq!(gatelog(at, &RELOADING, Some("")).code, Some(2));
    manifest(at, &[]);
    for watch in [&[][..], &["--watch"]] {
        reloaded(at, watch);
    }
    let shown = gatelog(at, &["policy", "verify", "policies"], None);
    assert_eq!(
        (shown.code, shown.stdout.starts_with("default: sha256:")),
        (Some(0), true),
        "{}",
        shown.stdout
    );
}

/// Policies change under a hook that reads them anew on a signal, or by itself.
#[cfg(unix)]
fn reloaded(at: &Path, watch: &[&str]) {
    put(at, POLICY);
    manifest(at, &[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_gatelog"));
    let mut hook = Hook::run(command.args(RELOADING).args(watch).current_dir(at).stderr(Stdio::piped()));
    let mut told = Told(BufReader::new(hook.child.stderr.take().unwrap()));
    let reload = |hook: &Hook| {
        if watch.is_empty() {
            hang_up(hook);
        }
    };
    let first = asked(&mut hook, "c1", 5);
    assert_eq!(first["verdict"], "allow");
    // Nobody on the runner's side changes a policy.
    hook.send("reload", &json!({}));
    let mut line = String::new();
    hook.output.read_line(&mut line).unwrap();
    let refused: Value = serde_json::from_str(&line).unwrap();
    assert!(refused["error"].as_str().unwrap().contains("`reload`"));
    put(at, &POLICY.replace("> 10.0", "> 3.0"));
    manifest(at, &[]);
    reload(&hook);
    assert!(told.line().contains("serves from here on"));
    let second = asked(&mut hook, "c2", 5);
    assert_eq!((&second["verdict"], first["policy"] == second["policy"]), (&json!("deny"), false));
    // One that denies nothing does not take its place.
    put(at, "IsAuthorized(i) :- Actions(i, _).\n");
    manifest(at, &[]);
    reload(&hook);
    let line = told.line();
    assert!(line.contains("the ones before go on to serve") && line.contains("no denial any more"), "{line}");
    assert_eq!(asked(&mut hook, "c3", 5)["policy"], second["policy"]);
    if watch.is_empty() {
        // Half a copy, seen by a signal alone: the manifest is not a new one.
        put(at, "IsAuthorized(i");
        hang_up(&hook);
        assert!(told.line().contains("is not the file of the manifest"));
        put(at, "IsAuthorized(i) :- Actions(i, _).\n");
    }
    manifest(at, &["--drop-denials"]);
    reload(&hook);
    assert!(told.line().contains("serves from here on"));
    assert_eq!(asked(&mut hook, "c4", 5)["verdict"], "allow");
    assert_eq!(hook.end(), Some(0));
    let refused = lines(&at.join("log.jsonl"))
        .into_iter()
        .filter_map(|line| line["said"]["policies"]["refused"].as_str().map(str::to_owned));
    assert_eq!(refused.count(), if watch.is_empty() { 2 } else { 1 });
    std::fs::remove_file(at.join("log.jsonl")).unwrap();
}

fn caller() -> Caller {
    Caller { principal: Some("svc".to_owned()), tenant: Some("default".to_owned()), ..Caller::default() }
}

fn replayed(policy: &Arc<Policy>, log: &Path, key: &HashKey, recording: &Recording) -> SessionReport {
    let mut logged = Logged::new(Some(key.clone()));
    said(log).into_iter().for_each(|decided| logged.add(decided));
    let settings = Settings { caller: caller(), parts: Parts::Full, ..Settings::default() };
    replay_logged(policy, &settings, "s", recording, &logged)
}

/// The law: with the log of its gate, a session is judged as the gate judged it.
#[test]
fn a_session_with_its_log_is_judged_as_the_gate_did() {
    let (runtime, policy) = (Runtime::new().unwrap(), policy(SENSITIVE));
    let (mut checks, mut denied) = (0, 0);
    for path in recordings() {
        let (events, key) = events_of(&path);
        let parts = Options { parts: Parts::Full, ..Options::default() };
        let mut read = read(text(&path).as_bytes(), &parts).unwrap();
        let (Some(recording), true) = (read.pop(), read.is_empty()) else { continue };
        let key = SessionKey { session: recording.session_id.clone(), ..key };
        let folder = tempfile::tempdir().unwrap();
        let (file, hash) = (folder.path().join("log"), HashKey::new(&[7; 32]).unwrap());
        let log = DecisionLog::open(&file, hash.clone(), 20_000).unwrap();
        let gate = building(&policy, Journals::memory())
            .log(Logging { log, detail: Detail::Hashes })
            .build()
            .unwrap();
        let decided = runtime.block_on(async {
            let mut runner = Runner::new(gate.session(key.clone()), &key);
            for event in &events {
                runner.event(event, &mut std::iter::empty()).await;
            }
            runner.decided
        });
        let report = replayed(&policy, &file, &hash, &recording);
        let again: Vec<_> = report.checks.iter().map(|check| &check.decision).collect();
        assert_eq!(again, decided.iter().collect::<Vec<_>>(), "{}: {:?}", path.display(), report.warnings);
        assert!(!report.warnings.iter().any(|notice| notice.kind == "gate_differs"), "{:?}", report.warnings);
        checks += decided.len();
        denied += decided.iter().filter(|decision| decision.verdict.name() == "deny").count();
    }
    assert!(checks > 40 && denied > 5, "{checks} {denied}");
}

/// An answer to a call that the log never allowed is text, and a denial that the log confirms is nothing.
#[test]
fn what_the_log_never_allowed_is_no_evidence() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let mut hook = hook(at, &[]);
    asked(&mut hook, "c1", 11);
    hook.ask("append", &answer("c1"));
    assert_eq!(asked(&mut hook, "c2", 5)["verdict"], "allow");
    hook.ask("append", &answer("c2"));
    assert_eq!(hook.end(), Some(0));
    let unchecked = [call("c3", 5), answer("c3")];
    let events = [call("c1", 11), answer("c1"), call("c2", 5), answer("c2")].into_iter().chain(unchecked);
    let session = json!({"id": "s", "appName": "a", "userId": "u", "events": events.collect::<Vec<_>>()});
    std::fs::write(at.join("s.json"), session.to_string()).unwrap();
    let replay = |more: &[&str]| {
        let run =
            gatelog(at, &[&["replay", "--policy", "p.dl", "-f", "json", "s.json"], more].concat(), None);
        let document: Value = serde_json::from_str(&run.stdout).unwrap_or_else(|_| panic!("{}", run.stderr));
        (run.code, document)
    };
    let verdicts = |document: &Value| -> Vec<Value> {
        let checks = document["sessions"][0]["checks"].as_array().unwrap();
        checks.iter().map(|check| check["verdict"].clone()).collect()
    };
    let kinds = |document: &Value| document["sessions"][0]["warnings"].to_string();
    // The session alone shows a payment that nobody denied.
    let (_, plain) = replay(&[]);
    assert_eq!(verdicts(&plain), ["deny", "deny", "deny"]);
    let (code, logged) = replay(&["--log", "log.jsonl", "--log-key", "log.jsonl.key"]);
    assert_eq!((code, verdicts(&logged)), (Some(1), vec![json!("deny"), json!("allow"), json!("deny")]));
    assert!(
        kinds(&logged).contains("\"ungated\"") && !kinds(&logged).contains("checked_otherwise"),
        "{}",
        kinds(&logged)
    );
    // Arguments that are not those that were checked.
    let changed = session.to_string().replace("\"amount\":5", "\"amount\":6");
    std::fs::write(at.join("s.json"), changed).unwrap();
    assert!(
        kinds(&replay(&["--log", "log.jsonl", "--log-key", "log.jsonl.key"]).1).contains("checked_otherwise")
    );
    // A log of another session leaves nothing that ran.
    std::fs::write(at.join("s.json"), session.to_string().replace("\"id\":\"s\"", "\"id\":\"t\"")).unwrap();
    assert!(kinds(&replay(&["--log", "log.jsonl"]).1).contains("log_missing"));
    // A broken one is believed in nothing.
    let mut log = std::fs::OpenOptions::new().append(true).open(at.join("log.jsonl")).unwrap();
    log.write_all(b"{}\n").unwrap();
    let run = gatelog(at, &["replay", "--policy", "p.dl", "s.json", "--log", "log.jsonl"], None);
    assert_eq!((run.code, run.stderr.contains("is broken")), (Some(2), true), "{}", run.stderr);
    let none: [PathBuf; 0] = [];
    assert_eq!(files_of(&at.join("other")).unwrap(), none);
}
