//! A folder of sessions replayed on all cores, beside parsing the same bytes into `serde_json::Value` on as many threads.
//!
//! `cargo run --profile bench -p gatelog-bench --bin folder [-- SESSIONS [EVENTS]]` makes that many sessions of that many events
//! (1,000 of 40), and prints both times, their ratio and the largest resident size of the replay, here and with four times
//! as many sessions. Build the binary first: `cargo build --release`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Pairs of runs that count.
const PAIRS: usize = 7;

fn main() -> Result<(), Box<dyn Error>> {
    let binary = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/release/gatelog");
    if !binary.exists() {
        return Err("target/release/gatelog is not there: run `cargo build --release` first".into());
    }
    let mut arguments = std::env::args().skip(1).map(|number| number.parse::<usize>());
    let sessions = arguments.next().transpose()?.unwrap_or(1_000);
    let events = arguments.next().transpose()?.unwrap_or(40);
    let folder = std::env::temp_dir().join(format!("gatelog-folder-{}", std::process::id()));
    for (name, sessions) in [("once", sessions), ("fourfold", 4 * sessions)] {
        let folder = folder.join(name);
        std::fs::create_dir_all(&folder)?;
        let files = (0..sessions)
            .map(|number| {
                let path = folder.join(format!("session-{number:05}.json"));
                std::fs::write(&path, serde_json::to_vec(&made(number, events / 4))?)?;
                Ok(path)
            })
            .collect::<Result<Vec<PathBuf>, Box<dyn Error>>>()?;
        report(&binary, &folder, &files)?;
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn report(binary: &Path, folder: &Path, files: &[PathBuf]) -> Result<(), Box<dyn Error>> {
    let policy = std::env::temp_dir().join("gatelog-folder.dl");
    std::fs::write(&policy, "IsAuthorized(i) :- Actions(i, _).\n")?;
    let threads = std::thread::available_parallelism()?.get();
    let (mut parses, mut replays, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let mut resident = 0;
    for pair in 0..=PAIRS {
        let parsed = parse(files, threads)?;
        let (replayed, kilobytes) = replay(binary, &policy, folder)?;
        // The first pair warms the files up.
        if pair > 0 {
            parses.push(parsed.as_secs_f64() * 1e3);
            replays.push(replayed.as_secs_f64() * 1e3);
            ratios.push(replayed.as_secs_f64() / parsed.as_secs_f64());
            resident = resident.max(kilobytes);
        }
    }
    let bytes: u64 = files.iter().filter_map(|file| Some(std::fs::metadata(file).ok()?.len())).sum();
    println!(
        "{} sessions, {:.1} MB, {threads} threads: parsed {:.0} ms, replayed {:.0} ms, ratio {:.2} (medians of {PAIRS} \
         pairs), at most {:.0} MB resident",
        files.len(),
        bytes as f64 / 1e6,
        median(&mut parses),
        median(&mut replays),
        median(&mut ratios),
        resident as f64 / 1e3,
    );
    Ok(())
}

/// Parses all files into values, each thread taking the next file.
fn parse(files: &[PathBuf], threads: usize) -> Result<Duration, Box<dyn Error>> {
    let next = AtomicUsize::new(0);
    let begin = Instant::now();
    let events: usize = std::thread::scope(|scope| {
        let worker = || {
            let mut events = 0;
            while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
                let value: Option<Value> =
                    std::fs::read(file).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
                events +=
                    value.as_ref().and_then(|value| value.get("events")?.as_array()).map_or(0, Vec::len);
            }
            events
        };
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(worker)).collect();
        workers.into_iter().filter_map(|worker| worker.join().ok()).sum()
    });
    if events == 0 {
        return Err("no events were parsed".into());
    }
    Ok(begin.elapsed())
}

/// Replays the folder; the time and the largest resident size in kilobytes.
fn replay(binary: &Path, policy: &Path, folder: &Path) -> Result<(Duration, u64), Box<dyn Error>> {
    let report = std::env::temp_dir().join(format!("gatelog-folder-{}.time", std::process::id()));
    let begin = Instant::now();
    let status = Command::new("/usr/bin/env")
        .args(["python3", "-c", RESIDENT])
        .arg(&report)
        .arg(binary)
        .args(["replay", "--format", "jsonl", "--policy"])
        .args([policy, folder])
        .stdout(Stdio::null())
        .status()?;
    let outer = begin.elapsed();
    if status.code() != Some(0) {
        return Err(format!("the replay ended with {:?}", status.code()).into());
    }
    let text = std::fs::read_to_string(&report)?;
    let mut numbers = text.split_whitespace().map(str::parse::<f64>);
    let (seconds, kilobytes) = (numbers.next().transpose()?, numbers.next().transpose()?);
    let seconds = seconds.map_or(outer, Duration::from_secs_f64);
    Ok((seconds, kilobytes.unwrap_or_default() as u64))
}

/// Runs a command and writes its seconds and its largest resident size.
const RESIDENT: &str = "
import resource, subprocess, sys, time
begin = time.perf_counter()
code = subprocess.call(sys.argv[2:])
took = time.perf_counter() - begin
used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(sys.argv[1], 'w').write(f'{took} {used}')
sys.exit(code)
";

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A session of `turns` turns, four events each, with the fields that the library writes.
fn made(number: usize, turns: usize) -> Value {
    let event = |turn: usize, step: usize, author: &str, part: Value| {
        let mut event = json!({
            "id": format!("5e1f{number:04x}-{turn:04x}-4{step:03x}-8000-0123456789ab"),
            "invocationId": format!("e-{number}-{turn}"), "author": author,
            "timestamp": 1_790_000_000.512 + (turn * 4 + step) as f64,
            "content": {"role": if author == "user" { "user" } else { "model" }, "parts": [part]},
            "actions": {"stateDelta": {}, "artifactDelta": {}, "requestedAuthConfigs": {}, "requestedToolConfirmations": {}},
        });
        if let (1 | 3, Some(fields)) = (step, event.as_object_mut()) {
            fields.insert("longRunningToolIds".to_owned(), json!([]));
            fields.insert("finishReason".to_owned(), json!("STOP"));
            fields.insert("modelVersion".to_owned(), json!("model-1"));
            fields.insert(
                "usageMetadata".to_owned(),
                json!({"candidatesTokenCount": 17, "promptTokenCount": 120 + turn, "totalTokenCount": 137 + turn}),
            );
        }
        event
    };
    let mail = "Dear team, the invoice of last month is attached. Please check the amounts and answer by Friday, \
                so that the supplier is paid in time. Kind regards, the accounts office. ";
    let events: Vec<Value> = (0..turns)
        .flat_map(|turn| {
            let call = format!("adk-{number}-{turn}");
            [
                event(turn, 0, "user", json!({"text": format!("please read mail {turn} and say what it asks for")})),
                event(turn, 1, "assistant", json!({"functionCall": {"id": call, "name": "read_email", "args": {"message_id": format!("m-{turn}")}}})),
                event(turn, 2, "assistant", json!({"functionResponse": {"id": call, "name": "read_email", "response": {"from": "accounts@example.com", "subject": "Invoice", "body": mail}}})),
                event(turn, 3, "assistant", json!({"text": format!("The mail asks to check the amounts of invoice {turn} and to answer by Friday.")})),
            ]
        })
        .collect();
    json!({"id": format!("s-{number}"), "appName": "bench", "userId": "u1", "state": {}, "events": events})
}
