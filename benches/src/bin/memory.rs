//! How many bytes a session holds for each message, beyond its text.
//!
//! `memory ours|bfs SHAPE MESSAGES` prints what is held in the end and what was held at most while loading. The messages
//! arrive a few at a time, so that what was read of them does not stand beside what is kept.

use std::process::ExitCode;

use cap::Cap;
use gatelog::monitor::Monitor;
use gatelog_bench::fault::{Fault, Outcome};
use gatelog_bench::ours::{arrive, payments, policy, settings};
use gatelog_bench::policies::ANCESTOR;
use gatelog_bench::references::Adjacency;
use gatelog_bench::sessions::{Session, Shape, Taint, made};
use mimalloc::MiMalloc;

/// Counts what is asked for.
#[global_allocator]
static ALLOCATOR: Cap<MiMalloc> = Cap::new(MiMalloc, usize::MAX);

/// Messages that arrive at once.
const FEW: usize = 8;

fn main() -> ExitCode {
    match measured() {
        Ok((held, peak)) => {
            println!("{held} {peak}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn measured() -> Outcome<(f64, f64)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [member, shape, messages] = arguments.as_slice() else {
        return Err(Fault::new("three words are wanted: `ours` or `bfs`, a shape, a number of messages"));
    };
    let shape = Shape::ALL.into_iter().find(|known| known.word() == shape);
    let shape = shape.ok_or_else(|| Fault::new("the shapes are `full`, `window`, `branches`"))?;
    let messages: usize = messages.parse().map_err(|_| Fault::new("the third word is a number"))?;
    let session = made(shape, Taint::Tainted, messages);
    let (held, peak) = match member.as_str() {
        "ours" => ours(&session)?,
        "bfs" => by_hand(&session)?,
        _ => return Err(Fault::new("the first word is `ours` or `bfs`")),
    };
    let text = if member == "ours" { session.text_bytes() } else { 0 };
    let each = |bytes: usize| bytes.saturating_sub(text) as f64 / messages as f64;
    Ok((each(held), each(peak)))
}

/// Records, facts and all that a check keeps.
fn ours(session: &Session) -> Outcome<(usize, usize)> {
    let policy = policy(ANCESTOR)?;
    let before = ALLOCATOR.allocated();
    let mut monitor = Monitor::new(policy, settings());
    for few in session.in_pieces(FEW) {
        arrive(&mut monitor, &few?)?;
    }
    let Some(&call) = payments(monitor.graph())?.first() else {
        return Err(Fault::new("there is no payment"));
    };
    let _ = monitor.judge_call(call);
    let held = ALLOCATOR.allocated().saturating_sub(before);
    Ok((held, ALLOCATOR.max_allocated().saturating_sub(before)))
}

/// What a program by hand needs beside the texts.
#[derive(Debug)]
struct Kept {
    /// Of each record: its id, and where its text lies.
    records: Vec<(u128, u32, u32)>,
    adjacency: Adjacency,
}

fn by_hand(session: &Session) -> Outcome<(usize, usize)> {
    let policy = policy(ANCESTOR)?;
    let mut monitor = Monitor::new(policy, settings());
    for few in session.in_pieces(FEW) {
        arrive(&mut monitor, &few?)?;
    }
    let before = ALLOCATOR.allocated();
    let count = u32::try_from(monitor.graph().records().len()).unwrap_or(u32::MAX);
    let kept = Kept {
        records: (0..count).map(|record| (u128::from(record), record, record)).collect(),
        adjacency: Adjacency::of(monitor.graph()),
    };
    let held = ALLOCATOR.allocated().saturating_sub(before);
    if kept.records.len() != kept.adjacency.inputs.len() {
        return Err(Fault::new("a record was lost"));
    }
    Ok((held, held))
}
