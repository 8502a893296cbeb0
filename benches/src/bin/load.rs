//! Many connections that ask one service at once, beside an echo that is asked by the same.
//!
//! `cargo run --release -p gatelog-bench --bin load [-- --seconds 60] [--connections 64] [--sessions 1000]` fails where a
//! verdict is wrong, where the 99th hundredth of checks is beyond twenty times the middle of echoes, or where memory grows
//! once it is warm. Each session ends after some turns and another one takes its place, so that the service is asked about
//! as many sessions at any time.

use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use gatelog_bench::fault::{Fault, Outcome};
use gatelog_bench::markdown::seconds;
use gatelog_bench::rows::programs::{own, shipped};
use gatelog_bench::wire::{Server, Wire, quantile};
use serde_json::Value;

/// Turns of a session before another one takes its place.
const TURNS: u64 = 10;

/// A check may take so many times as long as the middle of echoes.
const BAR: f64 = 20.0;

/// Memory of the last third may be so many times that of the middle third.
const GROWTH: f64 = 1.15;

const POLICY: &str = r#"
IsAuthorized(i) :- Actions(i, _).
// @id: large
Unauthorized(i) :- Actions(i, $CallTool("pay", args)), @json_int(args, "amount") > 10.
// @id: twice
Unauthorized(i) :- Actions(i, $CallTool("pay", args)), CurrentDepends(r), ToolResult(r, "pay", args).
"#;

fn main() -> ExitCode {
    match load() {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
struct Plan {
    seconds: u64,
    connections: u64,
    sessions: u64,
}

fn plan() -> Outcome<Plan> {
    let mut plan = Plan { seconds: 60, connections: 64, sessions: 1_000 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let number =
            arguments.next().and_then(|number| number.parse().ok()).filter(|&number: &u64| number > 0);
        let number = number.ok_or_else(|| Fault::new(format!("`{argument}` wants a number")))?;
        match argument.as_str() {
            "--seconds" => plan.seconds = number,
            "--connections" => plan.connections = number,
            "--sessions" => plan.sessions = number,
            _ => {
                return Err(Fault::new(
                    "there are `--seconds`, `--connections` and `--sessions`, each with a number",
                ));
            }
        }
    }
    Ok(plan)
}

/// How long each round trip of one connection took.
#[derive(Debug, Default)]
struct Took {
    checks: Vec<f64>,
    echoes: Vec<f64>,
}

fn load() -> Outcome<()> {
    let plan = plan()?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("p.dl"), POLICY)?;
    let flags = [
        "serve",
        "--policy",
        "p.dl",
        "--store",
        "sqlite:gate.db",
        "--listen",
        "127.0.0.1:0",
        "--idle-session",
        "2",
        "--max-sessions",
        "1000000",
    ];
    let gate = Server::start(&shipped()?, &flags, folder.path())?;
    let echo = Server::start(&own("echo")?, &["127.0.0.1:0"], folder.path())?;
    let names = AtomicU64::new(0);
    let (end, mut memory) = (Instant::now() + Duration::from_secs(plan.seconds), Vec::new());
    let took = std::thread::scope(|scope| {
        let (gate, echo, names) = (&gate, &echo, &names);
        let asked: Vec<_> = (0..plan.connections)
            .map(|_| scope.spawn(move || connection(plan, (gate, echo), names, end)))
            .collect();
        while Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200));
            memory.push(gate.memory()? as f64);
        }
        let mut all = Took::default();
        for thread in asked {
            let took = thread.join().map_err(|_| Fault::new("a connection broke off"))??;
            all.checks.extend(took.checks);
            all.echoes.extend(took.echoes);
        }
        Ok::<_, Fault>(all)
    })?;
    report(took, &memory)
}

fn report(took: Took, memory: &[f64]) -> Outcome<()> {
    let Took { mut checks, mut echoes } = took;
    let (p50, p99, echo) = (quantile(&mut checks, 50), quantile(&mut checks, 99), quantile(&mut echoes, 50));
    let third = memory.len() / 3;
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len().max(1) as f64;
    let (middle, last) = (
        mean(memory.get(third..2 * third).unwrap_or_default()),
        mean(memory.get(2 * third..).unwrap_or_default()),
    );
    println!(
        "{} checks, none decided otherwise: p50 {}, p99 {}; echo p50 {}, p99 {}; p99 of checks is {:.1} × p50 of echoes, at \
         most {BAR} ×; memory {:.0} MiB in the middle third, {:.0} MiB in the last, at most {GROWTH} ×",
        checks.len(),
        seconds(p50),
        seconds(p99),
        seconds(echo),
        seconds(quantile(&mut echoes, 99)),
        p99 / echo,
        middle / 1_048_576.0,
        last / 1_048_576.0,
    );
    if p99 > BAR * echo {
        return Err(Fault::new("checks take too long"));
    }
    if last > GROWTH * middle {
        return Err(Fault::new("memory grows"));
    }
    Ok(())
}

/// One runner with its share of the sessions, one turn of each after the other.
fn connection(
    plan: Plan,
    (gate, echo): (&Server, &Server),
    names: &AtomicU64,
    end: Instant,
) -> Outcome<Took> {
    let (mut gate, mut echo) = (Wire::connect(&gate.address)?, Wire::connect(&echo.address)?);
    let own = plan.sessions.div_ceil(plan.connections);
    let new = || names.fetch_add(1, Ordering::Relaxed);
    let mut sessions: Vec<(u64, u64)> = (0..own).map(|_| (new(), 0)).collect();
    let mut took = Took::default();
    while Instant::now() < end {
        for (name, turn) in &mut sessions {
            if Instant::now() >= end {
                break;
            }
            turn_of(&mut gate, &mut echo, (*name, *turn), &mut took)?;
            *turn += 1;
            if *turn == TURNS {
                (*name, *turn) = (new(), 0);
            }
        }
    }
    Ok(took)
}

/// A call, its check, its answer. Every third amount is too large, and the one after the first is paid already.
fn turn_of(gate: &mut Wire, echo: &mut Wire, (name, turn): (u64, u64), took: &mut Took) -> Outcome<()> {
    let session = format!(r#"{{"app":"load","user":"u","session":"s-{name}"}}"#);
    let (amount, expected) = match turn % 3 {
        0 => (1, if turn == 0 { "allow" } else { "deny" }),
        1 => (1, "deny"),
        _ => (100, "deny"),
    };
    let event = |kind: &str, more: &str| {
        format!(
            r#"{{"session":{session},"events":[{{"id":"{kind}-{turn}","author":"bot","content":{{"parts":[{{"{kind}":{{"id":"c-{turn}","name":"pay",{more}}}}}]}}}}]}}"#
        )
    };
    let told =
        gate.post("/v1/events", &event("functionCall", &format!(r#""args":{{"amount":{amount}}}"#)))?;
    let history: Value = serde_json::from_str(&told)?;
    let field = |name: &str| history.get(name).map(ToString::to_string).unwrap_or_default();
    let check = format!(
        r#"{{"session":{session},"call_id":"c-{turn}","tool":"pay","args":{{"amount":{amount}}},"agent":"bot","events":{},"digest":{}}}"#,
        field("events"),
        field("digest")
    );
    let begin = Instant::now();
    let answer = gate.post("/v1/checks", &check)?;
    took.checks.push(begin.elapsed().as_secs_f64());
    let begin = Instant::now();
    echo.post("/v1/checks", &check)?;
    took.echoes.push(begin.elapsed().as_secs_f64());
    let answer: Value = serde_json::from_str(&answer)?;
    if answer.get("verdict").and_then(Value::as_str) != Some(expected) {
        return Err(Fault::new(format!("turn {turn} should be decided with {expected}: {answer}")));
    }
    if expected == "allow" {
        let ticket = answer.get("ticket").map(ToString::to_string).unwrap_or_default();
        gate.post(
            "/v1/results",
            &format!(r#"{{"session":{session},"ticket":{ticket},"ending":"returned"}}"#),
        )?;
        gate.post("/v1/events", &event("functionResponse", r#""response":{"paid":true}"#))?;
    }
    Ok(())
}
