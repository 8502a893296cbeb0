//! One of six pieces of work of fixed size, for counting its instructions.
//!
//! `counted WORK` prepares the work, then does it inside [`collected`], which is where counting is switched on:
//! `valgrind --tool=callgrind --toggle-collect='*counted*collected*' target/release/counted check`. `.ci/instructions` does
//! that for each and compares with the figures in `benches/instructions.txt`.

use std::hint::black_box;
use std::process::ExitCode;

use gatelog::recording::{Options, read};
use gatelog::replay::replay;
use gatelog_bench::fault::{Fault, Outcome};
use gatelog_bench::ours::{Answer, answer, arrive, cold, policy, settings, warm};
use gatelog_bench::policies::{ANCESTOR, RECURSION, of_rules};
use gatelog_bench::rows::append::Growing;
use gatelog_bench::rows::case::{Case, Policies};
use gatelog_bench::sessions::{Shape, Taint, made};
use mimalloc::MiMalloc;

/// The allocator of the program that is shipped.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// Messages of each session.
const MESSAGES: usize = 1_000;
/// How often a check is repeated.
const CHECKS: usize = 256;
/// Rules of the policy that is loaded.
const RULES: usize = 20;

fn main() -> ExitCode {
    let work = std::env::args().nth(1).unwrap_or_default();
    let done = match work.as_str() {
        "check" => check(ANCESTOR, CHECKS),
        "recursion" => check(RECURSION, 2),
        "cold" => cold_check(),
        "append" => append(),
        "load" => load(),
        "replay" => replayed(),
        other => Err(Fault::new(format!(
            "`{other}` is no work: there are check, recursion, cold, append, load, replay"
        ))),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

/// What is counted.
#[inline(never)]
fn collected(work: &mut dyn FnMut()) {
    work();
    black_box(());
}

/// All that was said has to be a denial: something confidential was read.
fn denied(said: Option<Answer>) -> Outcome<()> {
    match said {
        Some(Answer::No) => Ok(()),
        other => Err(Fault::new(format!("the payment was not denied, but {other:?}"))),
    }
}

fn case() -> Outcome<Case> {
    Case::new(&Policies::new()?, Shape::Full, Taint::Tainted, MESSAGES)
}

fn check(text: &str, times: usize) -> Outcome<()> {
    let (mut monitor, calls, said) = warm(&policy(text)?, &case()?.graph)?;
    denied(Some(said))?;
    let mut last = None;
    collected(&mut || {
        for &call in calls.iter().cycle().take(times) {
            last = Some(answer(&black_box(monitor.judge_call(call))));
        }
    });
    denied(last)
}

fn cold_check() -> Outcome<()> {
    let case = case()?;
    let mut monitor = cold(&policy(ANCESTOR)?, &case.graph);
    let mut said = None;
    collected(&mut || {
        said = case.payments.first().map(|&call| answer(&monitor.judge_call(call)));
    });
    denied(said)
}

fn append() -> Outcome<()> {
    let policies = Policies::new()?;
    let growing = Growing::new(&policies, Shape::Full, Taint::Tainted, MESSAGES)?;
    let mut monitor = growing.ready(&policies.ancestor)?;
    let mut said = Ok(None);
    collected(&mut || {
        said = arrive(&mut monitor, growing.after())
            .map(|()| Some(answer(&monitor.judge_call(growing.asked()))));
    });
    denied(said?)
}

fn load() -> Outcome<()> {
    let text = of_rules(RULES);
    let mut loaded = false;
    collected(&mut || loaded = black_box(policy(&text)).is_ok());
    if loaded { Ok(()) } else { Err(Fault::new("the policy does not load")) }
}

fn replayed() -> Outcome<()> {
    let text = made(Shape::Full, Taint::Tainted, MESSAGES).document();
    let (policy, settings) = (policy(ANCESTOR)?, settings());
    let mut last = None;
    collected(&mut || {
        let recordings = read(text.as_bytes(), &Options::default());
        for recording in recordings.iter().flatten() {
            let report = replay(&policy, &settings, "bench", recording);
            last = report.checks.last().map(|check| answer(&check.decision));
        }
    });
    denied(last)
}
