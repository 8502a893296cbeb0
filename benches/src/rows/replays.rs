//! R9, R10 and R13: recorded sessions.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use gatelog::monitor::Policy;
use gatelog::recording::{Options, read};
use gatelog::replay::{SessionReport, replay};
use gatelog::store;
use rusqlite::Connection;
use serde_json::{Value, value::RawValue};

use crate::fault::{Fault, Outcome};
use crate::markdown::Row;
use crate::measure::{Measured, paired};
use crate::ours::{answer, policy, settings};
use crate::policies::{ANCESTOR, EVERYTHING, OTHER_TOOLS};
use crate::references::parse::{self, Replayed};
use crate::rows::programs::{own, printed, shipped};
use crate::rows::{Plan, agree, count};
use crate::sessions::{Shape, Taint, made};

/// What a replay of a session came to.
fn came_to(report: &SessionReport) -> Outcome<Replayed> {
    if let Some(stop) = &report.error {
        return Err(Fault::new(stop.text.clone()));
    }
    let denied = report.checks.iter().filter(|check| answer(&check.decision) != crate::ours::Answer::Yes);
    Ok(Replayed { events: report.events, calls: report.checks.len(), denied: denied.count() })
}

/// A replay from JSON, everything included.
fn replayed(policy: &Arc<Policy>, text: &str) -> Outcome<Replayed> {
    let settings = settings();
    let mut all = Replayed::default();
    for recording in read(text.as_bytes(), &Options::default())? {
        let one = came_to(&replay(policy, &settings, "bench", &recording))?;
        all.events += one.events;
        all.calls += one.calls;
        all.denied += one.denied;
    }
    Ok(all)
}

fn by_hand(text: &str) -> Outcome<Replayed> {
    Ok(parse::replay(&parse::document(text)?))
}

/// Seconds for each of so many events.
fn timed<T>(events: usize, work: impl FnOnce() -> Outcome<T>) -> Outcome<f64> {
    let begin = Instant::now();
    let result = std::hint::black_box(work()?);
    let took = begin.elapsed().as_secs_f64() / events.max(1) as f64;
    drop(result);
    Ok(took)
}

/// R9, from JSON and from SQLite.
///
/// # Errors
/// Where the members decide differently, or a recording cannot be read.
pub fn measure(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let policy = policy(&format!("{ANCESTOR}{OTHER_TOOLS}"))?;
    for &messages in plan.sizes().iter().filter(|&&messages| messages >= 1_000) {
        for taint in [Taint::Clean, Taint::Tainted] {
            let text = made(Shape::Full, taint, messages).document();
            let size = format!("{} events, {}", count(messages + 1), taint.words());
            give(from_json(plan, &policy, &text, &size)?);
        }
    }
    let real = text_of(&plan.recording)?;
    let size = format!("`{}`", plan.recording.file_name().unwrap_or_default().to_string_lossy());
    give(from_json(plan, &policy, &real, &size)?);
    let messages = plan.largest().min(10_000);
    give(from_database(plan, &policy, messages)?);
    Ok(())
}

fn text_of(path: &Path) -> Outcome<String> {
    std::fs::read_to_string(path).map_err(|error| Fault::new(format!("{}: {error}", path.display())))
}

fn from_json(plan: &Plan, policy: &Arc<Policy>, text: &str, size: &str) -> Outcome<Row> {
    let (ours, reference) = (replayed(policy, text)?, by_hand(text)?);
    let decided = |all: Replayed| (all.events, all.denied);
    agree(&format!("R9, {size}"), &decided(ours), &decided(reference))?;
    let measured = paired(plan.pairs(), &mut || timed(ours.events, || replayed(policy, text)), &mut || {
        timed(ours.events, || by_hand(text))
    })?;
    Ok(Row::within(9, "replay from JSON, per event", size, measured, "parse + mask", 2.0))
}

/// A session database of the newer Python library with that session in it.
fn database(path: &Path, text: &str) -> Outcome<()> {
    let mut connection = Connection::open(path)?;
    connection.execute_batch(
        "CREATE TABLE adk_internal_metadata (\"key\" TEXT, value TEXT);
         INSERT INTO adk_internal_metadata VALUES ('schema_version', '1');
         CREATE TABLE sessions (app_name TEXT, user_id TEXT, id TEXT, state TEXT, create_time DATETIME, update_time DATETIME);
         CREATE TABLE app_states (app_name TEXT, state TEXT, update_time DATETIME);
         CREATE TABLE user_states (app_name TEXT, user_id TEXT, state TEXT, update_time DATETIME);
         CREATE TABLE events (id VARCHAR(128) NOT NULL, app_name VARCHAR(128) NOT NULL, user_id VARCHAR(128) NOT NULL,
             session_id VARCHAR(128) NOT NULL, invocation_id VARCHAR(256) NOT NULL, timestamp DATETIME NOT NULL,
             event_data TEXT);
         INSERT INTO sessions VALUES ('bench', 'u1', 's-bench', '{}', '2026-01-05 10:00:00.0', '2026-01-05 10:00:00.0');",
    )?;
    #[derive(serde::Deserialize)]
    struct Document<'a> {
        #[serde(borrow)]
        events: Vec<&'a RawValue>,
    }
    let document: Document<'_> = serde_json::from_str(text)?;
    let writing = connection.transaction()?;
    for (number, event) in document.events.iter().enumerate() {
        let value: Value = serde_json::from_str(event.get())?;
        let field = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        // A second after another from the time of the first event on.
        let seconds = 14 * 3_600 + 13 * 60 + 20 + number;
        let (day, hour) = (21 + seconds / 86_400, seconds / 3_600 % 24);
        let time = format!("2026-09-{day:02} {hour:02}:{:02}:{:02}.512000", seconds / 60 % 60, seconds % 60);
        writing.execute(
            "INSERT INTO events VALUES (?1, 'bench', 'u1', 's-bench', ?2, ?3, ?4)",
            (field("id"), field("invocationId"), time, event.get()),
        )?;
    }
    writing.commit()?;
    Ok(())
}

/// Rows in their order, parsed.
fn scanned(path: &Path) -> Outcome<Replayed> {
    let connection = Connection::open(path)?;
    let mut statement = connection
        .prepare("SELECT event_data FROM events WHERE session_id = 's-bench' ORDER BY timestamp, rowid")?;
    let mut rows = statement.query([])?;
    let mut texts: Vec<String> = Vec::new();
    while let Some(row) = rows.next()? {
        texts.push(row.get(0)?);
    }
    let events = texts.iter().map(|text| Ok(serde_json::from_str(text)?)).collect::<Outcome<Vec<_>>>()?;
    Ok(parse::replay(&parse::Document { events }))
}

fn from_database(plan: &Plan, policy: &Arc<Policy>, messages: usize) -> Outcome<Row> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("sessions.db");
    database(&path, &made(Shape::Full, Taint::Tainted, messages).document())?;
    let ours = || {
        let database = store::open(&path)?;
        let entry = database.entries().first().ok_or_else(|| Fault::new("no session is in the database"))?;
        let recording = database.recording(entry, &Options::default())?;
        came_to(&replay(policy, &settings(), "bench", &recording))
    };
    let size = format!("{} events, tainted", count(messages + 1));
    let (first, reference) = (ours()?, scanned(&path)?);
    agree(&format!("R9, SQLite, {size}"), &first, &reference)?;
    let measured = paired(plan.pairs(), &mut || timed(first.events, ours), &mut || {
        timed(first.events, || scanned(&path))
    })?;
    Ok(Row::within(9, "replay from SQLite, per event", &size, measured, "row scan + parse", 1.5))
}

/// Policies that one recording is replayed under.
const POLICIES: usize = 4;

/// R10.
///
/// # Errors
/// Where a recording cannot be read.
pub fn several(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let messages = plan.largest().min(10_000);
    let text = made(Shape::Full, Taint::Tainted, messages).document();
    let policies = [ANCESTOR, EVERYTHING, ANCESTOR, EVERYTHING].map(policy);
    let policies = policies.into_iter().collect::<Outcome<Vec<_>>>()?;
    let options = Options::default();
    let settings = settings();
    let one = policies.first().ok_or_else(|| Fault::new("there is no policy"))?;
    let measured: Measured = paired(
        plan.pairs(),
        &mut || {
            timed(messages, || {
                let recordings = read(text.as_bytes(), &options)?;
                for (policy, recording) in
                    policies.iter().flat_map(|p| recordings.iter().map(move |r| (p, r)))
                {
                    came_to(&replay(policy, &settings, "bench", recording))?;
                }
                Ok(())
            })
        },
        &mut || {
            let begin = Instant::now();
            let recordings = read(text.as_bytes(), &options)?;
            let parse = begin.elapsed().as_secs_f64();
            for recording in &recordings {
                came_to(&replay(one, &settings, "bench", recording))?;
            }
            let rest = begin.elapsed().as_secs_f64() - parse;
            Ok((parse + 0.3 * POLICIES as f64 * rest) / messages as f64)
        },
    )?;
    let size = format!("{} events, {POLICIES} policies", count(messages + 1));
    give(Row::within(
        10,
        "replay under several policies, per event",
        &size,
        measured,
        "parse + 0.3 k × the rest",
        1.0,
    ));
    Ok(())
}

/// R13.
///
/// # Errors
/// Where a program cannot be built, or decides differently.
pub fn process(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let (program, reference) = (shipped()?, own("parsed")?);
    let folder = tempfile::tempdir()?;
    let (session, rules) = (folder.path().join("session.json"), folder.path().join("policy.dl"));
    let text = made(Shape::Full, Taint::Clean, 99).document();
    std::fs::write(&session, &text)?;
    std::fs::write(&rules, ANCESTOR)?;
    let [session, rules] = [&session, &rules].map(|path: &PathBuf| path.to_string_lossy().into_owned());
    let arguments = ["replay", "--format", "jsonl", "--policy", &rules, &session];
    let calls = by_hand(&text)?.calls;
    let said = Command::new(&program).args(arguments).output()?;
    let judged = String::from_utf8_lossy(&said.stdout).matches("\"verdict\":").count();
    agree("R13, calls that are judged", &judged, &calls)?;
    agree(
        "R13, calls that are read",
        &printed(&reference, &[&session])?.trim(),
        &calls.to_string().as_str(),
    )?;
    let run = |program: &Path, arguments: &[&str]| {
        let begin = Instant::now();
        for _ in 0..RUNS {
            Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
        }
        Ok(begin.elapsed().as_secs_f64() / f64::from(RUNS))
    };
    let measured =
        paired(plan.pairs(), &mut || run(&program, &arguments), &mut || run(&reference, &[&session]))?;
    give(Row::within(13, "process start to verdict", "100 messages", measured, "read + parse", 3.0));
    Ok(())
}

/// Processes in one sample.
const RUNS: u32 = 5;
