//! Session databases: what is read of each library's, that nothing beside them changes, and what stops or is refused.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use gatelog::recording::{self, Event, Options, PartKind, Recording, StopKind};
use gatelog::store::{self, StoreError};
use insta::assert_snapshot;
use proptest::prelude::*;
use rusqlite::Connection;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::support::{Run, gatelog, root, text};

fn fixture(name: &str) -> PathBuf {
    root().join("fixtures/database").join(name)
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

/// The files of a folder with their bytes.
fn bytes_of(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    crate::support::entries(folder)
        .into_iter()
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

fn recordings(path: &Path) -> Vec<Recording> {
    let database = store::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let read = |entry| database.recording(entry, &Options::default()).unwrap();
    database.entries().iter().map(read).collect()
}

fn documents(path: &Path) -> BTreeMap<String, Value> {
    let database = store::open(path).unwrap();
    let document = |entry: &store::Entry| {
        let text = database.document(entry).unwrap().unwrap_or_else(|why| panic!("{}: {why}", entry.name()));
        (entry.name().id.clone(), serde_json::from_str(&text).unwrap())
    };
    database.entries().iter().map(document).collect()
}

/// An event without what only tells how its session was stored.
fn bare(event: &Event) -> Event {
    Event { has_actions: true, ..event.clone() }
}

/// The library's own reading of each database is the oracle: events with all their fields, and the state with its prefixes.
#[test]
fn sessions_are_read_as_the_library_reads_them() {
    for (name, sessions) in [("python-v0", 15), ("python-v1", 21), ("python-sqlite", 6)] {
        let path = fixture(&format!("{name}.db"));
        let ours: BTreeMap<String, Recording> =
            recordings(&path).into_iter().map(|one| (one.session_id.clone(), one)).collect();
        let exported = documents(&path);
        let oracle = text(&fixture(&format!("{name}.readback.json")));
        let theirs: Vec<&RawValue> = serde_json::from_str(&oracle).unwrap();
        assert_eq!(theirs.len(), sessions, "{name}");
        for raw in theirs {
            let session: Value = serde_json::from_str(raw.get()).unwrap();
            let id = session.get("id").and_then(Value::as_str).unwrap();
            let read = recording::read(raw.get().as_bytes(), &Options::default()).unwrap().remove(0);
            let own = ours.get(id).unwrap_or_else(|| panic!("{name}: no {id}"));
            let events = |recording: &Recording| recording.events.iter().map(bare).collect::<Vec<_>>();
            assert_eq!(events(own), events(&read), "{name} {id}");
            assert_eq!(
                own.stop.as_ref().map(|stop| (stop.kind, stop.event, stop.part)),
                read.stop.map(|stop| (stop.kind, stop.event, stop.part))
            );
            assert_eq!(own.unread_calls, read.unread_calls, "{name} {id}");
            assert_eq!((&own.app_name, &own.user_id), (&read.app_name, &read.user_id));
            let exported = exported.get(id).unwrap();
            assert_eq!(exported.get("state"), session.get("state"), "{name} {id}");
            // The older library rounds the time of a session that nothing was added to.
            let time = |session: &Value| session.get("lastUpdateTime").and_then(Value::as_f64).unwrap();
            assert!((time(exported) - time(&session)).abs() < 1e-6, "{name} {id}");
        }
    }
}

/// The events of the Rust library's database are those of its session documents, but for what it does not store.
#[test]
fn rows_of_the_rust_library_are_its_events() {
    let exported = documents(&fixture("rust.db"));
    for (id, file) in [("rs-transfer", "rust__transfer.json"), ("rs-no_call_ids", "rust__no_call_ids.json")] {
        let session: Value =
            serde_json::from_str(&text(&root().join("fixtures/sessions").join(file))).unwrap();
        let events = |session: &Value| -> Vec<Value> {
            let mut events = session.get("events").and_then(Value::as_array).cloned().unwrap();
            for event in events.iter_mut().filter_map(Value::as_object_mut) {
                // Ids and times are those of two runs.
                for key in ["id", "timestamp", "invocation_id", "llm_request", "event_metadata"] {
                    event.remove(key);
                }
            }
            events
        };
        assert_eq!(events(exported.get(id).unwrap()), events(&session), "{id}");
    }
    let read = recordings(&fixture("rust.db"));
    let stops: Vec<_> =
        read.iter().filter_map(|one| Some((&*one.session_id, one.stop.as_ref()?.kind))).collect();
    assert_eq!(stops, [("rs-rich_parts", StopKind::UnsupportedPart)]);
    let calls = |one: &Recording| {
        let parts = one.events.iter().flat_map(|event| &event.parts);
        parts.filter(|part| matches!(part.kind, PartKind::Call { .. })).count()
    };
    assert_eq!(read.iter().map(calls).collect::<Vec<_>>(), [0, 2, 3, 2, 0, 2, 0]);
}

fn replay(arguments: &[&str]) -> Run {
    let all = [&["replay", "--policy", "policies/payment.dl", "--format", "json"], arguments].concat();
    gatelog(&root(), &all, None)
}

/// What is decided of each call, by session; ids of sessions and calls aside, nothing depends on where they were read from.
fn verdicts(run: &Run) -> Vec<(String, Vec<Value>, Value)> {
    let document: Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|error| panic!("{error}: {}", run.stderr));
    let sessions = document.get("sessions").and_then(Value::as_array).cloned().unwrap();
    let mut all: Vec<_> = sessions
        .iter()
        .map(|session| {
            let id = session.get("id").and_then(Value::as_str).unwrap().to_owned();
            let checks = session.get("checks").and_then(Value::as_array).cloned().unwrap();
            (id, checks, session.get("error").cloned().unwrap_or_default())
        })
        .collect();
    all.sort_by(|one, other| one.0.cmp(&other.0));
    all
}

#[test]
fn exported_sessions_are_judged_alike() {
    for name in ["python-v0", "python-v1", "python-sqlite", "rust"] {
        let database = format!("fixtures/database/{name}.db");
        let folder = folder();
        let output = folder.path().to_string_lossy().into_owned();
        let export = ["import", "--from", "adk-sqlite", &database, "-o", &output];
        let run = gatelog(&root(), &export, None);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        let before = bytes_of(&folder.path().join("rec_app/u1"));
        assert_eq!(before.len(), run.stdout.lines().count());
        let (stored, exported) = (verdicts(&replay(&[&database])), verdicts(&replay(&[&output])));
        assert!(stored.iter().map(|session| session.1.len()).sum::<usize>() > 5, "{name}");
        assert_eq!(stored, exported, "{name}");
        let again = gatelog(&root(), &export, None);
        assert_eq!(again.code, Some(2));
        assert!(again.stderr.contains("--force overwrites it"), "{}", again.stderr);
        assert_eq!(gatelog(&root(), &[&export[..], &["--force"]].concat(), None).code, Some(0));
        assert_eq!(bytes_of(&folder.path().join("rec_app/u1")), before);
    }
}

#[test]
fn sessions_are_listed() {
    let run = |arguments: &str| {
        let run = gatelog(&root(), &arguments.split(' ').collect::<Vec<_>>(), None);
        format!("$ gatelog {arguments}\nexit {:?}\n{}{}", run.code, run.stdout, run.stderr)
    };
    let runs = [
        "import --list fixtures/database/rust.db",
        "import --list --format json fixtures/database/rust.db --session-id rs-parallel",
        "import --list fixtures/database/rust.db --session-id rec_app/u1/rs-parallel --session-id missing",
        "import --list fixtures/cases/085-old-database-session/not-adk.db",
        "import --list fixtures/cases/085-old-database-session/input.json",
        "import --list fixtures/database",
        "import fixtures/database/rust.db",
        "records fixtures/database/python-v0.db --session-id 4bd5e2b8",
        "replay --policy policies/payment.dl fixtures/database/rust.db --from event-list",
        "replay --policy policies/payment.dl fixtures/sessions/payment-approved.json --from adk-sqlite",
        "facts --policy policies/payment.dl --session fixtures/database/rust.db ToolResult",
        "facts --policy policies/payment.dl --session fixtures/database/rust.db --session-id rs-text_chat SentMessage",
    ];
    assert_snapshot!(runs.map(run).join("\n"));
}

/// A database of the newer Python library, or with that statement instead of its table of events.
fn create(path: &Path, events: Option<&str>) -> Connection {
    let connection = Connection::open(path).unwrap();
    let events = events.unwrap_or(
        "CREATE TABLE events (id VARCHAR(128) NOT NULL, app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL, \
         session_id VARCHAR(128) NOT NULL, invocation_id VARCHAR(256) NOT NULL, timestamp DATETIME NOT NULL, event_data TEXT)",
    );
    connection
        .execute_batch(&format!(
            "CREATE TABLE adk_internal_metadata (\"key\" TEXT, value TEXT);
             INSERT INTO adk_internal_metadata VALUES ('schema_version', '1');
             CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time DATETIME, update_time DATETIME);
             CREATE TABLE app_states (app_name TEXT, state TEXT, update_time DATETIME);
             CREATE TABLE user_states (app_name TEXT, user_id TEXT, state TEXT, update_time DATETIME);
             INSERT INTO sessions VALUES ('a', 'u', 's', '{{}}', '2026-01-05 10:00:00.0', '2026-01-05 10:00:00.0');
             {events};"
        ))
        .unwrap();
    connection
}

fn event(number: usize) -> String {
    format!(
        r#"{{"author": "helper", "content": {{"parts": [{{"function_call": {{"id": "c{number}", "name": "pay", "args": {{}}}}}}]}}}}"#
    )
}

fn insert(connection: &Connection, number: usize) -> rusqlite::Result<usize> {
    let time = format!("2026-01-05 10:00:{:02}.{:06}", number / 1000 % 60, number % 1000);
    let row = (format!("e{number}"), "a", "u", "s", "i", time, event(number));
    connection.execute("INSERT INTO events VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", row)
}

fn only(path: &Path) -> Recording {
    let mut all = recordings(path);
    assert_eq!(all.len(), 1);
    all.remove(0)
}

/// What is committed in the log beside a database is read, what is not is not, and no byte changes.
#[test]
fn a_log_beside_the_database_is_read_and_left_alone() {
    let folder = folder();
    // Characters that mean something in a URI or in SQL.
    let path = folder.path().join("a#b?c%41'\"&mode=rwc.db");
    let writer = create(&path, None);
    writer.pragma_update(None, "journal_mode", "wal").unwrap();
    insert(&writer, 0).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    insert(&writer, 1).unwrap();
    let before = bytes_of(folder.path());
    assert_eq!(before.len(), 3);
    let read = only(&path);
    assert_eq!((read.events.len(), &read.stop), (1, &None));
    assert_eq!(bytes_of(folder.path()), before);
    writer.execute_batch("COMMIT").unwrap();
    assert_eq!(only(&path).events.len(), 2);
    // A log that its writer left behind, in a folder that nothing can be written to.
    let left = tempfile::tempdir().unwrap();
    for ending in ["", "-wal"] {
        let name = format!("{}{ending}", path.display());
        std::fs::copy(&name, left.path().join(format!("left.db{ending}"))).unwrap();
    }
    let before = bytes_of(left.path());
    assert_eq!(only(&left.path().join("left.db")).events.len(), 2);
    assert_eq!(bytes_of(left.path()), before);
}

/// A writer that never waits is never made to, in either kind of journal, and each reading is what was there at a moment.
#[test]
fn a_database_is_read_while_it_is_written() {
    for mode in ["wal", "delete", "truncate", "persist"] {
        let folder = folder();
        let path = folder.path().join("busy.db");
        let writer = create(&path, None);
        writer.pragma_update(None, "journal_mode", mode).unwrap();
        writer.busy_timeout(std::time::Duration::ZERO).unwrap();
        let done = &AtomicBool::new(false);
        let changes = &AtomicUsize::new(0);
        let (written, seen, meanwhile) = std::thread::scope(|scope| {
            let writing = scope.spawn(move || {
                let mut number = 0;
                // Two rows in each change, and never half of one.
                while !done.load(Ordering::Relaxed) || number < 200 {
                    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
                    for _ in 0..2 {
                        insert(&writer, number).unwrap();
                        number += 1;
                    }
                    writer.execute_batch("COMMIT").unwrap();
                    changes.fetch_add(1, Ordering::Relaxed);
                }
                number
            });
            let mut seen = Vec::new();
            let mut meanwhile = 0;
            for attempt in 0..500 {
                if attempt >= 5 && meanwhile > 0 {
                    break;
                }
                let before = changes.load(Ordering::Relaxed);
                match store::open(&path) {
                    Ok(database) => {
                        let entry = database.entries().first().cloned().unwrap();
                        let read = database.recording(&entry, &Options::default()).unwrap();
                        assert_eq!(read.stop, None, "{mode}");
                        seen.push(read.events.len());
                        meanwhile += usize::from(changes.load(Ordering::Relaxed) > before);
                    }
                    // Written faster than it can be copied: said, and not guessed.
                    Err(StoreError::Changing | StoreError::Unfinished) => {}
                    Err(error) => panic!("{mode}: {error}"),
                }
            }
            done.store(true, Ordering::Relaxed);
            (writing.join().unwrap(), seen, meanwhile)
        });
        assert!(meanwhile > 0, "{mode}: nothing was read while the other connection wrote");
        assert!(seen.iter().all(|count| count % 2 == 0) && seen.is_sorted(), "{mode}: {seen:?}");
        assert_eq!(only(&path).events.len(), written, "{mode}");
    }
}

#[test]
fn a_change_that_is_not_finished_is_told() {
    let folder = folder();
    let path = folder.path().join("died.db");
    drop(create(&path, None));
    let journal = [&[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7][..], &[0; 504]].concat();
    std::fs::write(folder.path().join("died.db-journal"), journal).unwrap();
    let before = bytes_of(folder.path());
    assert!(matches!(store::open(&path), Err(StoreError::Unfinished)));
    assert_eq!(bytes_of(folder.path()), before);
}

/// What is in the way of reading a database at all.
#[test]
fn other_databases_are_refused() {
    let columns =
        "id TEXT, app_name TEXT, user_id TEXT, session_id TEXT, invocation_id TEXT, timestamp DATETIME";
    let rows = [
        ("CREATE VIEW events AS SELECT 1".to_owned(), "`events` is a view"),
        (
            "CREATE VIRTUAL TABLE events USING fts5(event_data)".to_owned(),
            "`events` is computed by a program",
        ),
        (
            format!("CREATE TABLE events ({columns}, event_data TEXT, PRIMARY KEY (id)) WITHOUT ROWID"),
            "the rows of `events` have no numbers",
        ),
        (
            format!("CREATE TABLE events ({columns}, event_data TEXT, _rowid_ TEXT)"),
            "the rows of `events` have no numbers",
        ),
        (
            format!("CREATE TABLE events ({columns}, event_data TEXT GENERATED ALWAYS AS (upper(id)))"),
            "expected are",
        ),
        (format!("CREATE TABLE events ({columns})"), "`events` (id, app_name,"),
        ("CREATE TABLE happenings (id)".to_owned(), "`happenings`"),
        (
            format!(
                "CREATE TABLE events ({columns}, event_data TEXT); INSERT INTO events VALUES ('e', x'61', 'u', 's', 'i', '', '{{}}')"
            ),
            "row 1 of `events` has no text in `app_name`",
        ),
        (
            format!(
                "CREATE TABLE events ({columns}, event_data TEXT); INSERT INTO sessions SELECT * FROM sessions"
            ),
            "`sessions` has two rows for `a/u/s`",
        ),
        (
            format!(
                "CREATE TABLE events ({columns}, event_data TEXT); UPDATE adk_internal_metadata SET value = '2'"
            ),
            "version `2`",
        ),
    ];
    for (statement, words) in rows {
        let folder = folder();
        let path = folder.path().join("other.db");
        drop(create(&path, Some(&statement)));
        let error = store::open(&path).map(|database| database.entries().len()).unwrap_err().to_string();
        assert!(error.contains(words), "{statement}: {error}");
    }
    for bytes in [&b""[..], b"SQLite format 3\0", b"SQLite format 3\0 and no more of it, but for this"] {
        let folder = folder();
        let path = folder.path().join("no.db");
        std::fs::write(&path, bytes).unwrap();
        assert!(store::open(&path).is_err(), "{bytes:?}");
    }
    assert!(store::open(Path::new("fixtures")).is_err());
    assert!(store::open(Path::new("missing\0.db")).is_err());
}

/// A row that cannot be read stops its session there, and no other one. Triggers are there and never run.
#[test]
fn faulty_rows_stop_their_session() {
    let folder = folder();
    let path = folder.path().join("faults.db");
    let connection = create(&path, None);
    connection
        .execute_batch("CREATE TRIGGER t AFTER INSERT ON app_states BEGIN DELETE FROM events; END")
        .unwrap();
    let call = event(1);
    let faults: Vec<(&str, String)> = vec![
        ("whole", format!("'{call}'")),
        ("null", "NULL".to_owned()),
        ("number", "5".to_owned()),
        ("bytes", format!("CAST('{call}' AS BLOB)")),
        ("not utf-8", "CAST(x'7b22ff227d' AS TEXT)".to_owned()),
        ("list", "'[1]'".to_owned()),
        ("broken", format!("'{}'", call.replace("}]}}", ""))),
        ("surrogate", format!("'{}'", call.replace("helper", "\\ud800x"))),
        ("not a number", format!("'{}'", call.replace("{}", "{\"a\": NaN}"))),
        ("other id", format!("'{}'", call.replacen('{', "{\"id\": \"other\", ", 1))),
        ("other invocation", format!("'{}'", call.replacen('{', "{\"invocation_id\": \"other\", ", 1))),
        ("no time", format!("'{}'", call.replacen('{', "{\"timestamp\": \"soon\", ", 1))),
        ("with a NUL", format!("CAST('{call}' || x'00' AS TEXT)")),
    ];
    for (session, value) in &faults {
        connection
            .execute_batch(&format!(
                "INSERT INTO sessions VALUES ('a', 'u', '{session}', '{{}}', '', '');
                 INSERT INTO events VALUES ('e0', 'a', 'u', '{session}', 'i', '2026-01-05 10:00:00.5', '{}');
                 INSERT INTO events VALUES ('e1', 'a', 'u', '{session}', 'i', '2026-01-05 10:00:01', {value});
                 INSERT INTO events VALUES ('e2', 'a', 'u', '{session}', 'i', '2026-01-05 10:00:02', '{}');",
                event(0),
                event(2),
            ))
            .unwrap();
    }
    connection
        .execute_batch(&format!(
            "INSERT INTO sessions VALUES ('a', 'u', 'state', '[1]', '', '');
             INSERT INTO events VALUES ('e0', 'a', 'u', 'state', 'i', '2026-01-05 10:00:00', '{0}');
             INSERT INTO events VALUES ('e0', 'a', 'u', 'no session', 'i', '2026-01-05 10:00:00', '{0}');
             INSERT INTO sessions VALUES ('a', 'u', 'tied', '{{}}', '', '');
             INSERT INTO events VALUES ('e1', 'a', 'u', 'tied', 'i', '2026-01-05 10:00:01', '{1}');
             INSERT INTO events VALUES ('e2', 'a', 'u', 'tied', 'i', '2026-01-05 10:00:01.000', '{2}');
             INSERT INTO events VALUES ('e0', 'a', 'u', 'tied', 'i', '2026-01-05 10:00:00', '{0}');",
            event(0),
            event(1),
            event(2),
        ))
        .unwrap();
    drop(connection);
    let lines: Vec<_> = recordings(&path).iter().map(line).collect();
    assert_snapshot!(lines.join("\n"));
}

fn line(recording: &Recording) -> String {
    let events: Vec<_> = recording.events.iter().map(|event| event.id.as_str()).collect();
    let unread: Vec<_> =
        recording.unread_calls.iter().map(|call| format!("{} {}", call.event_id, call.call_id)).collect();
    let stop = recording.stop.as_ref().map_or_else(String::new, |stop| {
        format!(
            "\n  {} at {:?} `{}`: {}\n  unread: {}",
            stop.kind.name(),
            stop.event,
            stop.event_id,
            stop.text,
            unread.join(", ")
        )
    });
    let notices: String =
        recording.notices.iter().map(|notice| format!("\n  {}: {}", notice.kind, notice.text)).collect();
    format!("{}: {}{stop}{notices}", recording.name, events.join(" "))
}

/// The other libraries' databases, made from what is known of their schemas.
#[test]
fn databases_of_other_libraries() {
    let folder = folder();
    let go = folder.path().join("go.db");
    Connection::open(&go)
        .unwrap()
        .execute_batch(
            r#"CREATE TABLE sessions (app_name text, user_id text, id text, state text, create_time datetime, update_time datetime);
            CREATE TABLE events (id text, app_name text, user_id text, session_id text, invocation_id text, author text, actions blob,
              long_running_tool_ids_json text, routes_json text, output_json text, node_info_json text, requested_input_json text,
              branch text, isolation_scope text, timestamp datetime, content text, custom_metadata text, partial numeric, error_code text);
            INSERT INTO sessions VALUES ('a', 'u', 's', '{"k":1}', '2026-01-05 10:00:00+00:00', '2026-01-05 11:00:00+01:00');
            INSERT INTO events VALUES ('e1', 'a', 'u', 's', 'i', 'helper', CAST('{"stateDelta":{"k":1}}' AS BLOB), '["c1"]', NULL, NULL,
              '{"path":"helper@1"}', NULL, 'root.helper', 'x', '2026-01-05 10:00:01.5+00:00',
              '{"parts":[{"functionCall":{"id":"c1","name":"pay","args":{"amount":5}}}],"role":"model"}', '{"a":1}', 0, NULL);
            INSERT INTO events VALUES ('e0', 'a', 'u', 's', 'i', 'user', CAST('null' AS BLOB), NULL, NULL, NULL, NULL, NULL, NULL, NULL,
              '2026-01-05 11:00:00.5+01:00', '{"parts":[{"text":"go"}]}', NULL, 0, NULL);"#,
        )
        .unwrap();
    let room = folder.path().join("room.db");
    Connection::open(&room)
        .unwrap()
        .execute_batch(
            r#"CREATE TABLE StorageSession (appName TEXT, userId TEXT, id TEXT, state TEXT, createTime INTEGER, updateTime INTEGER);
            CREATE TABLE StorageEvent (id TEXT, appName TEXT, userId TEXT, sessionId TEXT, invocationId TEXT, timestamp INTEGER, eventData TEXT);
            CREATE TABLE StorageAppState (appName TEXT, state TEXT, updateTime INTEGER);
            CREATE TABLE StorageUserState (appName TEXT, userId TEXT, state TEXT, updateTime INTEGER);
            INSERT INTO StorageSession VALUES ('a', 'u', 's', '{}', 1767607200000, 1767607200000);
            INSERT INTO StorageAppState VALUES ('a', '{"k":1}', 0);
            INSERT INTO StorageUserState VALUES ('a', 'u', '{"k":2}', 0);
            INSERT INTO StorageEvent VALUES ('e1', 'a', 'u', 's', NULL, 1767607201500,
              '{"id":"e1","author":"user","timestamp":1767607201500,"content":{"parts":[{"text":"go"}]}}');"#,
        )
        .unwrap();
    let shown = |path: &Path| {
        let database = store::open(path).unwrap();
        let entry = database.entries().first().cloned().unwrap();
        let document = database.document(&entry).unwrap().unwrap();
        format!("{} {}\n{}\n{document}", entry.name(), entry.updated(), line(&only(path)))
    };
    assert_snapshot!(format!("{}\n{}", shown(&go), shown(&room)));
}

/// A value that a pickle holds and JSON cannot is read, and the session is not exported as something else.
#[test]
fn what_json_cannot_hold_is_not_exported() {
    let folder = folder();
    let path = folder.path().join("values.db");
    std::fs::copy(fixture("python-v0.db"), &path).unwrap();
    let pickle = std::fs::read(fixture("pickles/values.5.pickle")).unwrap();
    let connection = Connection::open(&path).unwrap();
    connection
        .execute("UPDATE events SET actions = ?1 WHERE _rowid_ = (SELECT min(_rowid_) FROM events)", [pickle])
        .unwrap();
    drop(connection);
    let database = store::open(&path).unwrap();
    let refused: Vec<_> =
        database.entries().iter().filter_map(|entry| database.document(entry).unwrap().err()).collect();
    assert_eq!(refused, ["event 0: its state holds a value that JSON has not"]);
    assert!(
        recordings(&path)
            .iter()
            .any(|one| one.stop.is_none()
                && one.events.iter().any(|event| event.actions.state_delta.len() > 15))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Whatever stands in a file, it is an error, or sessions that stop or do not.
    #[test]
    fn changed_databases_do_no_harm(changes in prop::collection::vec(any::<(prop::sample::Index, u8)>(), 1..12), cut in any::<Option<prop::sample::Index>>()) {
        let folder = folder();
        let path = folder.path().join("changed.db");
        let mut bytes = std::fs::read(fixture("rust.db")).unwrap();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes.splice(at..=at, [byte]);
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        std::fs::write(&path, bytes).unwrap();
        if let Ok(database) = store::open(&path) {
            for entry in database.entries() {
                let recording = database.recording(entry, &Options::default()).unwrap();
                prop_assert!(recording.stop.is_some() || recording.unread_calls.is_empty());
            }
        }
    }
}
