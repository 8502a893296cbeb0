//! How the cost of a replay grows, as ratios of figures from one run.
//!
//! `cargo run --profile bench -p gatelog-bench [-- RECORDING]` replays a session and a copy twice as long, in turn, as whole
//! processes, and prints the median of the pairwise ratios. Without a recording it makes a session of 2,000 events.
//! Build the binary first: `cargo build --release`.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

/// Pairs of runs that count.
const PAIRS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let binary = root.join("target/release/gatelog");
    if !binary.exists() {
        return Err("target/release/gatelog is not there: run `cargo build --release` first".into());
    }
    let session = match std::env::args().nth(1) {
        Some(path) => serde_json::from_slice(&std::fs::read(path)?)?,
        None => made(500),
    };
    let folder = std::env::temp_dir().join(format!("gatelog-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let once = written(&folder, "once.json", &session)?;
    let twice = written(&folder, "twice.json", &doubled(&session)?)?;
    for policy in ["allow-all.dl", "payment.dl", "egress.dl"] {
        let path =
            if policy == "allow-all.dl" { allow_all(&folder)? } else { root.join("policies").join(policy) };
        if path.exists() {
            report(&binary, &path, policy, [&once, &twice])?;
        }
    }
    std::fs::remove_dir_all(&folder)?;
    Ok(())
}

fn allow_all(folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let path = folder.join("allow-all.dl");
    std::fs::write(&path, "IsAuthorized(i) :- Actions(i, _).\n")?;
    Ok(path)
}

fn written(folder: &Path, name: &str, session: &Value) -> Result<PathBuf, Box<dyn Error>> {
    let path = folder.join(name);
    std::fs::write(&path, serde_json::to_vec(session)?)?;
    Ok(path)
}

fn report(binary: &Path, policy: &Path, name: &str, files: [&Path; 2]) -> Result<(), Box<dyn Error>> {
    let mut ratios = Vec::new();
    let mut times = [Vec::new(), Vec::new()];
    for pair in 0..=PAIRS {
        let once = run(binary, policy, files[0])?;
        let twice = run(binary, policy, files[1])?;
        // The first pair warms the files up.
        if pair > 0 {
            ratios.push(twice.as_secs_f64() / once.as_secs_f64());
            times[0].push(once.as_secs_f64() * 1e3);
            times[1].push(twice.as_secs_f64() * 1e3);
        }
    }
    println!(
        "{name}: {:.1} ms, twice as long {:.1} ms, ratio {:.2} (medians of {PAIRS} pairs)",
        median(&mut times[0]),
        median(&mut times[1]),
        median(&mut ratios)
    );
    Ok(())
}

fn run(binary: &Path, policy: &Path, recording: &Path) -> Result<Duration, Box<dyn Error>> {
    let begin = Instant::now();
    let status = Command::new(binary)
        .args(["replay", "--format", "json", "--policy"])
        .args([policy, recording])
        .stdout(Stdio::null())
        .status()?;
    let took = begin.elapsed();
    match status.code() {
        Some(0 | 1) => Ok(took),
        code => Err(format!("the replay ended with {code:?}").into()),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

/// A session of `turns` turns, four events each.
fn made(turns: usize) -> Value {
    let event = |turn: usize, step: usize, author: &str, part: Value| {
        json!({
            "id": format!("ev-{turn}-{step}"), "invocationId": format!("e-{turn}"), "author": author,
            "timestamp": 1_790_000_000.5 + (turn * 4 + step) as f64,
            "content": {"role": if author == "user" { "user" } else { "model" }, "parts": [part]},
        })
    };
    let events: Vec<Value> = (0..turns)
        .flat_map(|turn| {
            let call = format!("c-{turn}");
            [
                event(turn, 0, "user", json!({"text": format!("read mail {turn}")})),
                event(turn, 1, "assistant", json!({"functionCall": {"id": call, "name": "read_email", "args": {"message_id": format!("m-{turn}")}}})),
                event(turn, 2, "assistant", json!({"functionResponse": {"id": call, "name": "read_email", "response": {"body": "pay at once"}}})),
                event(turn, 3, "assistant", json!({"text": format!("done {turn}")})),
            ]
        })
        .collect();
    json!({"id": "s-bench", "appName": "bench", "userId": "u1", "state": {}, "events": events})
}

/// The session, followed by itself with fresh ids.
fn doubled(session: &Value) -> Result<Value, Box<dyn Error>> {
    let mut twice = session.clone();
    let events =
        session.get("events").and_then(Value::as_array).ok_or("the recording has no list of events")?;
    let fresh: Vec<Value> = events.iter().cloned().map(freshened).collect();
    if let Some(all) = twice.get_mut("events").and_then(Value::as_array_mut) {
        all.extend(fresh);
    }
    Ok(twice)
}

fn freshened(mut event: Value) -> Value {
    let renew = |value: Option<&mut Value>| {
        if let Some(Value::String(id)) = value {
            id.push_str("-again");
        }
    };
    renew(event.get_mut("id"));
    renew(event.get_mut("invocationId"));
    let parts = event.pointer_mut("/content/parts").and_then(Value::as_array_mut);
    for part in parts.into_iter().flatten() {
        renew(part.pointer_mut("/functionCall/id"));
        renew(part.pointer_mut("/functionResponse/id"));
    }
    event
}
