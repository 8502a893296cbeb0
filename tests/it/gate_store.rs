//! Stores that fail under a gate, and clocks that do: whatever happens, a call is denied or what was answered is kept.

use std::path::Path;
use std::process::Command;

use gatelog::decision::Verdict;
use gatelog::gate::GatedSession;
use gatelog::recording::journal::{Question, SessionKey};
use gatelog::store::{Journals, StoredJournals};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::gated::{gate, key, policy, replayed, why};
use crate::hook::{Hook, call};
use crate::support::gatelog;

const ALL: &str = "IsAuthorized(i) :- Actions(i, _).";

async fn append(session: &GatedSession, id: &str) -> bool {
    session.append(&call(id, 1).to_string()).await.is_ok()
}

async fn check(session: &GatedSession, id: &str, clock: &str) -> gatelog::gate::Checked {
    let (events, digest) = session.history().await.unwrap_or_default();
    let question = Question {
        call_id: id.to_owned(),
        tool: "pay".to_owned(),
        arguments: r#"{"amount":1}"#.to_owned(),
        agent: "bot".to_owned(),
        events,
        digest,
        clock: clock.to_owned(),
        ..Question::default()
    };
    session.check(question).await
}

/// A limit on the size of files is what a full disk is to a writer.
#[test]
fn a_full_disk_denies_and_loses_nothing_that_was_acknowledged() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' XFSZ; ulimit -f 256; exec \"$0\" \"$@\"";
    let mut command = Command::new("bash");
    command.args(["-c", script, env!("CARGO_BIN_EXE_gatelog")]);
    let mut hook = Hook::start_by(command, folder.path(), ALL);
    let (mut kept, mut refused) = (0, 0);
    let long = "x".repeat(4000);
    for n in 0..40 {
        let event = json!({"id": format!("e{n}"), "author": "user", "content": {"parts": [{"text": long}]}});
        match hook.ask("append", &event).get("error") {
            None => kept += 1,
            Some(why) => {
                refused += 1;
                assert!(why.as_str().unwrap().contains("store"), "{why}");
            }
        }
    }
    assert!(kept > 3 && refused > 3, "{kept} kept, {refused} refused");
    let question = json!({"tool": "pay", "args": {}, "agent": "bot", "events": kept, "digest": ""});
    assert_eq!(hook.ask("check", &question)["check"]["may_run"], false);
    hook.kill();
    let mut after = Hook::start(folder.path(), ALL);
    let events = after.ask("history", &json!({}))["events"].as_u64().unwrap();
    // One whose answer was an error may be there all the same, and is known when it comes again.
    assert!(events >= kept, "{events} of {kept}");
    assert_eq!(after.ask("append", &call("c", 1))["appended"], "new");
    assert_eq!(after.check("c", &json!({"amount": 1}))["may_run"], true);
    assert_eq!(after.end(), Some(0));
    let verified = gatelog(folder.path(), &["journal", "verify", "gate.db"], None);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

/// Somebody else holds the file for as long as it takes.
#[test]
fn a_store_that_cannot_be_written_denies_until_it_can() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    let (runtime, policy, store) = (Runtime::new().unwrap(), policy(ALL), Journals::sqlite(&path).unwrap());
    let gate = gate(&policy, store.clone());
    runtime.block_on(async {
        let session = gate.session(key("s"));
        assert!(append(&session, "a").await);
        let refuse = "CREATE TRIGGER no BEFORE INSERT ON line BEGIN SELECT raise(ABORT, 'read only'); END;";
        sqlite(&path, refuse);
        assert!(!append(&session, "b").await);
        let denied = check(&session, "a", "").await;
        assert!(!denied.may_run && why(&denied).contains("other tables"), "{}", why(&denied));
        sqlite(&path, "DROP TRIGGER no");
        assert!(append(&session, "b").await);
        assert!(check(&session, "b", "").await.may_run);
    });
    let (recording, report) = replayed(&policy, &store, &key("s"));
    assert_eq!((recording.events.len(), report.checks.len()), (2, 1));
    // A file that nobody may write opens no gate.
    let mut permissions = std::fs::metadata(&path).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&path, permissions).unwrap();
    let is_writable = std::fs::OpenOptions::new().append(true).open(&path).is_ok();
    // Some users may write whatever a file says.
    assert_eq!(Journals::sqlite(&path).is_ok(), is_writable);
}

fn sqlite(path: &Path, statement: &str) {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
    connection.execute_batch(statement).unwrap();
}

fn filled(path: &Path, sessions: usize) {
    let (runtime, policy) = (Runtime::new().unwrap(), policy(ALL));
    let gate = gate(&policy, Journals::sqlite(path).unwrap());
    runtime.block_on(async {
        for number in 0..sessions {
            let session = gate.session(key(&format!("s{number}")));
            for id in ["a", "b", "c"] {
                assert!(append(&session, id).await && check(&session, id, "").await.may_run);
            }
        }
    });
}

/// A line that was changed in the middle refuses its session and no other.
#[test]
fn a_corrupt_middle_refuses_that_session_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    filled(&path, 2);
    sqlite(
        &path,
        "DROP TRIGGER line_stays; UPDATE line SET text = replace(text, 'call-b', 'call-x') WHERE session = 1;
         CREATE TRIGGER line_stays BEFORE UPDATE ON line BEGIN SELECT raise(ABORT, 'a journal is only added to'); END;",
    );
    let (runtime, policy) = (Runtime::new().unwrap(), policy(ALL));
    let gate = gate(&policy, Journals::sqlite(&path).unwrap());
    runtime.block_on(async {
        let (broken, sound) = (gate.session(key("s0")), gate.session(key("s1")));
        let denied = check(&broken, "a", "").await;
        assert!(!denied.may_run && why(&denied).contains("changed"), "{}", why(&denied));
        assert!(!append(&broken, "d").await && append(&sound, "d").await);
        assert!(check(&sound, "d", "").await.may_run);
    });
    let verified = gatelog(folder.path(), &["journal", "verify", "j.db"], None);
    assert_eq!(
        (verified.code, verified.stderr.matches("error").count()),
        (Some(2), 1),
        "{}",
        verified.stderr
    );
}

/// A file whose end was never written, as after a loss of power: its log is cut at every length.
#[test]
fn a_torn_log_is_repaired_to_what_was_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    // The log stays where the file is held open.
    let held = Journals::sqlite(&path).unwrap();
    let (runtime, policy) = (Runtime::new().unwrap(), policy(ALL));
    let whole = gate(&policy, held.clone());
    runtime.block_on(async {
        let session = whole.session(key("s"));
        for id in ["a", "b", "c"] {
            assert!(append(&session, id).await && check(&session, id, "").await.may_run);
        }
    });
    let (base, log) = (std::fs::read(&path).unwrap(), std::fs::read(folder.path().join("j.db-wal")).unwrap());
    assert!(log.len() > 4096, "{}", log.len());
    let mut seen = std::collections::BTreeSet::new();
    for part in 0..24 {
        let copy = folder.path().join(format!("cut-{part}.db"));
        std::fs::write(&copy, &base).unwrap();
        let end = log.len() * part / 23;
        std::fs::write(folder.path().join(format!("cut-{part}.db-wal")), &log[..end]).unwrap();
        let store = Journals::sqlite(&copy).unwrap();
        let lines = store.lines(&key("s")).unwrap();
        seen.insert(lines.len());
        let gate = gate(&policy, store.clone());
        runtime.block_on(async {
            let session = gate.session(key("s"));
            assert!(append(&session, "z").await);
            assert!(check(&session, "z", "").await.may_run);
        });
        let (recording, _) = replayed(&policy, &store, &key("s"));
        assert_eq!(recording.stop, None);
    }
    assert!(seen.len() > 4 && seen.contains(&7), "{seen:?}");
    drop(held);
}

/// The same for a journal that was exported: the line that is cut off was never acknowledged.
#[test]
fn two_gates_on_one_file_never_let_one_call_run_twice() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.db");
    let (runtime, policy) = (Runtime::new().unwrap(), policy(ALL));
    let gates = [0, 1].map(|_| gate(&policy, Journals::sqlite(&path).unwrap()));
    let mut allowed = 0;
    for call in 0..12 {
        let id = format!("c{call}");
        let one = |gate: gatelog::gate::Gate| {
            let id = id.clone();
            async move {
                let session = gate.session(key("s"));
                let mut may_run = 0;
                for _ in 0..3 {
                    append(&session, &id).await;
                    may_run += usize::from(check(&session, &id, "").await.may_run);
                }
                may_run
            }
        };
        let counts = runtime.block_on(async {
            let both = gates.clone().map(|gate| tokio::spawn(one(gate)));
            let [first, second] = both;
            first.await.unwrap() + second.await.unwrap()
        });
        assert!(counts <= 1, "call {call} was let run {counts} times");
        allowed += counts;
    }
    let stored = StoredJournals::open(&path).unwrap();
    let lines = stored.lines(&key("s")).unwrap();
    let kept = lines.iter().filter(|line| line.contains(r#""verdict":"allow""#)).count();
    assert!(kept >= allowed && allowed > 0, "{kept} {allowed}");
    let verified = gatelog(folder.path(), &["journal", "verify", "j.db"], None);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
}

/// A clock that goes back changes what a policy says about the time, and nothing else.
#[test]
fn a_clock_that_goes_back_is_the_clock_of_its_check_alone() {
    let noon = r#"
IsAuthorized(i) :- Actions(i, _), Clock(now), contains("2026-01-02", now).
"#;
    let (runtime, policy, store) = (Runtime::new().unwrap(), policy(noon), Journals::memory());
    let gate = gate(&policy, store.clone());
    let verdicts: Vec<Verdict> = runtime.block_on(async {
        let session = gate.session(SessionKey { session: "s".to_owned(), ..key("s") });
        let mut verdicts = Vec::new();
        for (n, clock) in ["2026-01-02T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z", "nonsense"]
            .iter()
            .enumerate()
        {
            let id = format!("c{n}");
            assert!(append(&session, &id).await);
            verdicts.push(check(&session, &id, clock).await.decision.verdict);
        }
        verdicts
    });
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Deny, Verdict::Allow, Verdict::Deny]);
    let (_, report) = replayed(&policy, &store, &key("s"));
    assert_eq!(report.checks.iter().map(|check| check.decision.verdict).collect::<Vec<_>>(), verdicts);
    let text: Value = serde_json::from_str(store.lines(&key("s")).unwrap().get(2).unwrap()).unwrap();
    assert_eq!(text["entry"]["check"][0]["clock"], "2026-01-02T00:00:00Z");
}
