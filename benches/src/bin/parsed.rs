//! Reads and parses one session document, and prints how many events it has: what a process costs at least.

use std::process::ExitCode;

use gatelog_bench::fault::{Fault, Outcome};
use gatelog_bench::references::parse::{document, replay};
use mimalloc::MiMalloc;

/// The allocator of the program that is shipped.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    match read() {
        Ok(calls) => {
            println!("{calls}");
            ExitCode::SUCCESS
        }
        Err(fault) => {
            eprintln!("error: {fault}");
            ExitCode::FAILURE
        }
    }
}

fn read() -> Outcome<usize> {
    let path = std::env::args().nth(1).ok_or_else(|| Fault::new("one file is wanted"))?;
    let text = std::fs::read_to_string(path)?;
    Ok(replay(&document(&text)?).calls)
}
