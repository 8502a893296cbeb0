//! The table of what things cost, as Markdown.
//!
//! `cargo run --profile bench -p gatelog-bench --bin table [-- --quick] [--row R1]… [--recording FILE]` prints rows as they are measured, on
//! standard error, then a summary and all rows, on standard output.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gatelog_bench::fault::{Fault, Outcome};
use gatelog_bench::markdown::{Row, detailed, summary};
use gatelog_bench::rows::{Plan, measure};
use mimalloc::MiMalloc;

/// The allocator of the program that is shipped.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    let mut rows = Vec::new();
    let measured = plan().and_then(|plan| {
        measure(&plan, &mut |row: Row| {
            eprintln!("{}", row.line());
            rows.push(row);
        })
    });
    let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    println!("On {cores} cores. For each question, the row that stands worst:\n\n{}", summary(&rows));
    println!("All rows:\n\n{}", detailed(&rows));
    match measured {
        Ok(()) => ExitCode::SUCCESS,
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn plan() -> Outcome<Plan> {
    let mut plan = Plan { quick: false, recording: recording(), wanted: Vec::new() };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--quick" => plan.quick = true,
            "--recording" => plan.recording = arguments.next().unwrap_or_default().into(),
            "--row" => {
                let row = arguments.next().unwrap_or_default();
                let number = row.strip_prefix('R').and_then(|number| number.parse().ok());
                let number = number.filter(|number| (1..=14).contains(number));
                let number =
                    number.ok_or_else(|| Fault::new(format!("`{row}` is no row: there are R1 to R14")))?;
                plan.wanted.push(number);
            }
            other => {
                return Err(Fault::new(format!(
                    "`{other}` is not known: there are `--quick`, `--row R1` and `--recording FILE`"
                )));
            }
        }
    }
    Ok(plan)
}

/// The largest real recording: beside the repository where that is there, else among the fixtures.
fn recording() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let beside = root.join("../shared/recordings/big-2000-events.py213.json");
    if beside.exists() { beside } else { root.join("fixtures/sessions/payment-approved.json") }
}
