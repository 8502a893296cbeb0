//! The command line.
//!
//! In: arguments, files, standard input. Out: text or a document on standard output, what else there is to say on standard
//! error, and an [`Exit`]. Never: decides.

mod agents;
mod arguments;
mod bench;
mod calls;
mod check;
pub mod console;
#[cfg(feature = "sqlite")]
mod databases;
mod decide;
#[cfg(feature = "gate")]
mod decisions;
mod diff;
mod eval;
pub mod exit;
mod explain;
mod facts;
mod files;
mod fmt;
#[cfg(feature = "gate")]
mod hook;
#[cfg(feature = "sqlite")]
mod import;
#[cfg(feature = "sqlite")]
mod journal;
#[cfg(feature = "lsp")]
mod lsp;
mod parallel;
#[cfg(feature = "gate")]
mod policies;
mod policy;
mod progress;
mod recordings;
mod records;
mod replay;
#[cfg(feature = "serve")]
mod serve;
#[cfg(feature = "gate")]
mod serving;
mod settings;
mod test;

use std::ffi::OsString;
use std::io::{self, BufWriter, IsTerminal as _};
use std::process::ExitCode;

use clap::Parser as _;
use clap::error::ErrorKind;

use crate::cli::arguments::{Arguments, Command};
use crate::report::text::Color;

pub use crate::cli::console::Console;
pub use crate::cli::exit::Exit;

/// Runs the command that the arguments of the process name.
#[must_use]
pub fn run() -> ExitCode {
    let (mut input, mut out, mut err) = (io::stdin(), BufWriter::new(io::stdout().lock()), io::stderr());
    let mut console = Console::new(&mut input, &mut out, &mut err, color());
    execute(std::env::args_os(), &mut console).into()
}

/// Runs the command that the arguments name, the program's own name first.
pub fn execute(arguments: impl IntoIterator<Item = OsString>, console: &mut Console<'_>) -> Exit {
    let exit = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => command(&arguments, console),
        Err(error) => {
            let text = error.render().to_string();
            match error.kind() {
                ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
                    console.print(&text);
                    Exit::Done
                }
                _ => {
                    console.say(&text);
                    Exit::Broken
                }
            }
        }
    };
    match console.finish() {
        Some(()) => exit,
        None => Exit::Broken,
    }
}

fn command(arguments: &Arguments, console: &mut Console<'_>) -> Exit {
    let quiet = arguments.quiet;
    match &arguments.command {
        Command::Check(flags) => check::run(flags, quiet, console),
        Command::Fmt(flags) => fmt::run(flags, quiet, console),
        Command::Replay(flags) => replay::run(flags, quiet, console),
        Command::Decide(flags) => decide::run(flags, quiet, console),
        Command::Records(flags) => records::run(flags, quiet, console),
        Command::Bench(flags) => bench::run(flags, quiet, console),
        Command::Diff(flags) => diff::run(flags, quiet, console),
        Command::Explain(flags) => explain::run(flags, quiet, console),
        Command::Facts(flags) => facts::run(flags, console),
        #[cfg(feature = "sqlite")]
        Command::Import(flags) => import::run(flags, quiet, console),
        #[cfg(feature = "sqlite")]
        Command::Journal(flags) => journal::run(flags, quiet, console),
        #[cfg(feature = "gate")]
        Command::Hook(flags) => hook::run(flags, console),
        #[cfg(feature = "serve")]
        Command::Serve(flags) => serve::run(flags, quiet, console),
        #[cfg(feature = "gate")]
        Command::Policy(flags) => policies::run(flags, quiet, console),
        #[cfg(feature = "gate")]
        Command::VerifyLog(flags) => decisions::run(flags, quiet, console),
        Command::Eval(flags) => eval::run(flags, quiet, console),
        Command::Test(flags) => test::run(flags, quiet, console),
        #[cfg(feature = "lsp")]
        Command::Lsp => lsp::run(console),
        Command::Version { json } => {
            version(*json, console);
            Exit::Done
        }
    }
}

fn version(json: bool, console: &mut Console<'_>) {
    let version = env!("CARGO_PKG_VERSION");
    if json {
        console.print(&format!("{{\"name\":\"gatelog\",\"version\":\"{version}\"}}\n"));
    } else {
        console.print(&format!("gatelog {version}\n"));
    }
}

/// Colour is for terminals, unless the user says otherwise.
fn color() -> Color {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
    let off = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    let terminal = io::stdout().is_terminal() && io::stderr().is_terminal() && !dumb;
    if !off && (set("CLICOLOR_FORCE") || terminal) { Color::Always } else { Color::Never }
}
