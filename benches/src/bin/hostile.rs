//! What hostile sessions, requests and policies cost.
//!
//! `cargo run --release -p gatelog-bench --bin hostile` prints, for recursion over graphs of growing size, the time of a
//! check and the time for each edge, which has to stay the same; then the time of checks that end where the budget ran
//! out, with what they say. A budget counts steps, tuples and bytes, so that the same check ends at the same place on any
//! machine.

use std::error::Error;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Instant;

use gatelog::engine::Budget;
use gatelog::lineage::RecordId;
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::program::{NoIncludes, check};
use gatelog::records::{Given, Role};

const ALLOW: &str = "IsAuthorized(i) :- Actions(i, _).\n";
const UPWARDS: &str = r#"
.decl Reach(id: symbol)
Reach(id) :- Current(id).
Reach(source) :- Reach(dest), Edge(source, dest).
Unauthorized(i) :- Actions(i, _), Reach(id), ToolResult(id, "secret", _).
"#;
const DOWNWARDS: &str = r#"
.decl Dirty(id: symbol)
Dirty(id) :- ActionMetadata(_, "dirty", id, _).
Dirty(dest) :- Dirty(source), Edge(source, dest).
Unauthorized(i) :- Actions(i, _), Dirty(id), ToolResult(id, "secret", _).
"#;
const ANCESTORS: &str = r#"
Unauthorized(i) :- Actions(i, _), CurrentDepends(id), ToolResult(id, "secret", _).
"#;
const PAIRS: &str = r#"
.decl Path(a: symbol, b: symbol)
Path(a, b) :- Edge(a, b).
Path(a, c) :- Path(a, b), Edge(b, c).
Unauthorized(i) :- Actions(i, _), Path(a, b), a = b.
"#;
const CROSS: &str = r#"
Unauthorized(i) :- Actions(i, _), SentMessage(a, _), SentMessage(b, _), SentMessage(c, _), strlen(a) + strlen(b) + strlen(c) < 0.
"#;
const PRODUCT: &str = r#"
.decl Triple(a: symbol, b: symbol, c: symbol)
Triple(a, b, c) :- SentMessage(a, _), SentMessage(b, _), SentMessage(c, _).
Unauthorized(i) :- Actions(i, _), Triple(a, b, c), a = "never", b = c.
"#;
const COUNTING: &str = r#"
.decl N(n: number)
N(0).
N(n + 1) :- N(n).
Unauthorized(i) :- Actions(i, _), N(-1).
"#;
const KEYS: &str = r#"
.decl Key(i: unsigned, key: symbol)
Key(i, key) :- Actions(i, a), a = $CallTool(_, args), key = @json_keys(args, "").
Unauthorized(i) :- Key(i, "never").
"#;
const PIECES: &str = r#"
.decl Piece(i: unsigned, text: symbol)
Piece(i, text) :- Actions(i, a), a = $CallTool(_, args), text = @json_each_str(args, "list").
Piece(i, cat(text, text)) :- Piece(i, text).
Unauthorized(i) :- Piece(i, "never").
"#;

type Shape = fn(usize) -> Vec<usize>;

fn main() -> Result<(), Box<dyn Error>> {
    let graphs: [(&str, Shape, [usize; 3]); 4] = [
        ("dense", dense, [1_000, 2_000, 5_000]),
        ("sparse", sparse, [5_000, 10_000, 20_000]),
        ("chain", chain, [25_000, 50_000, 100_000]),
        ("lanes", lanes, [25_000, 50_000, 100_000]),
    ];
    for (name, shape, sizes) in graphs {
        for size in sizes {
            grown(name, shape, size)?;
        }
    }
    let mut keys = String::from("{\"k\":0");
    for key in 0..1_000_000 {
        write!(keys, ",\"k{key}\":{key}")?;
    }
    keys.push('}');
    let long = format!(r#"{{"list":["{}"]}}"#, "x".repeat(1 << 20));
    let ended: [(&str, &str, Shape, usize, &str); 6] = [
        ("all paths, dense", PAIRS, dense, 5_000, "{}"),
        ("cross product", CROSS, chain, 5_000, "{}"),
        ("product", PRODUCT, chain, 5_000, "{}"),
        ("counting", COUNTING, chain, 1, "{}"),
        ("1 MB of arguments", PIECES, chain, 1, &long),
        ("a million keys", KEYS, chain, 1, &keys),
    ];
    for (name, policy, shape, size, arguments) in ended {
        let (mut monitor, _, _) = session(policy, shape, size)?;
        let (took, said) = judged(&mut monitor, arguments)?;
        println!("{name:18} {:9.1} ms: {said}", took * 1e3);
    }
    Ok(())
}

fn grown(name: &str, shape: Shape, size: usize) -> Result<(), Box<dyn Error>> {
    for (way, policy) in [("up", UPWARDS), ("down", DOWNWARDS), ("ancestors", ANCESTORS)] {
        let (mut monitor, edges, recording) = session(policy, shape, size)?;
        let (first, said) = judged(&mut monitor, "{}")?;
        let (warm, _) = judged(&mut monitor, "{}")?;
        let each = |seconds: f64| seconds * 1e9 / edges.max(1) as f64;
        println!(
            "{name:6} {way:9} {size:>7} records {edges:>8} edges: recorded {:6.1} ns an edge, first check {:9.2} ms, warm {:9.2} ms, {:6.1} ns an edge: {said}",
            each(recording),
            first * 1e3,
            warm * 1e3,
            each(warm)
        );
    }
    Ok(())
}

/// A session of that shape, the number of its edges, and the seconds that adding its records took.
fn session(policy: &str, shape: Shape, size: usize) -> Result<(Monitor, usize, f64), Box<dyn Error>> {
    let files = [("hostile.dl".to_owned(), format!("{ALLOW}{policy}"))];
    let program = check(&files, &mut NoIncludes).map_err(|_| "the policy is refused")?;
    let caller = Caller { principal: Some("p".to_owned()), ..Caller::default() };
    let settings = Settings { caller, budget: Budget::default(), ..Settings::default() };
    let mut monitor = Monitor::new(Arc::new(Policy::new(program)), settings);
    let mut took = 0.0;
    for at in 0..size {
        let mut given = Given::new(&format!("r{at}"), Role::Agent, "text");
        given.inputs = shape(at).into_iter().map(|input| format!("r{input}")).collect();
        let begin = Instant::now();
        monitor.graph_mut().add(given)?;
        took += begin.elapsed().as_secs_f64();
    }
    let lineage = monitor.graph().lineage();
    let records = (0..).map(RecordId).take(lineage.len());
    let edges = records.map(|record| lineage.context_len(lineage.inputs(record))).sum();
    Ok((monitor, edges, took))
}

/// Seconds of one check, and its verdict with what ran out.
fn judged(monitor: &mut Monitor, arguments: &str) -> Result<(f64, String), Box<dyn Error>> {
    let current =
        monitor.graph().records().last().map(|record| record.id().to_string()).into_iter().collect();
    let call = Action::CallTool { tool: "pay".to_owned(), arguments: arguments.to_owned() };
    let dirty = vec![["dirty".to_owned(), "r0".to_owned(), String::new()]];
    let request = Request { current, actions: vec![(call, dirty)], clock: None };
    let begin = Instant::now();
    let decisions = monitor.judge(&request);
    let took = begin.elapsed().as_secs_f64();
    let decision = decisions.first().ok_or("no decision")?;
    let why = decision.reasons.first().map_or_else(String::new, |reason| format!(", {}", reason.text));
    Ok((took, format!("{}{why}", decision.verdict.name())))
}

/// Half of all pairs.
fn dense(at: usize) -> Vec<usize> {
    (0..at).filter(|&input| mixed(at as u64, input as u64).is_multiple_of(2)).collect()
}

/// Two earlier records each: ancestors are no runs.
fn sparse(at: usize) -> Vec<usize> {
    let pick = |salt| usize::try_from(mixed(at as u64, salt) % (at.max(1) as u64)).unwrap_or(0);
    if at == 0 { Vec::new() } else { vec![pick(1), pick(2)] }
}

fn chain(at: usize) -> Vec<usize> {
    at.checked_sub(1).into_iter().collect()
}

/// Two hundred chains side by side, each record of which also reads the chain beside it.
fn lanes(at: usize) -> Vec<usize> {
    [at.checked_sub(200), at.checked_sub(201)].into_iter().flatten().collect()
}

fn mixed(a: u64, b: u64) -> u64 {
    let mut x = (a << 32 | b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    x >> 33
}
