//! `gatelog hook`

use std::io::BufReader;
use std::sync::Arc;
use std::time::Duration;

use crate::cli::arguments::{Hook, ModeName};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::settings::caller_and_metadata;
use crate::gate::{Gate, serve};
use crate::recording::Parts;
use crate::recording::journal::Mode;
use crate::report::json::FileError;
use crate::store::Journals;

/// Answers the messages of a runner on standard input and output until there are no more.
pub(crate) fn run(flags: &Hook, console: &mut Console<'_>) -> Exit {
    let policy = match policy::load(&flags.policy.policies, console) {
        Ok(policy) => policy,
        Err(no) => return policy::report(&no, Audience::People, console),
    };
    let gate = match gate(flags, policy, console) {
        Ok(gate) => gate,
        Err(error) => return policy::report_file(&error, Audience::People, console),
    };
    let (input, output) = console.streams();
    match serve(&gate, &flags.settings.tenant, &mut BufReader::new(input), output) {
        Ok(()) => Exit::Done,
        Err(error) => {
            console.say(&format!("error: {error}\n"));
            Exit::Broken
        }
    }
}

fn gate(
    flags: &Hook,
    policy: Arc<crate::monitor::Policy>,
    console: &mut Console<'_>,
) -> Result<Gate, FileError> {
    let store = match &flags.store {
        None => Journals::memory(),
        Some(path) => Journals::sqlite(path).map_err(|error| files::unreadable(path, error))?,
    };
    let (caller, metadata) = caller_and_metadata(&flags.settings, console)?;
    let agents = match &flags.agents {
        None => String::new(),
        Some(path) => files::text(path, console)?,
    };
    let mode = match flags.mode {
        ModeName::Enforce => Mode::Enforce,
        ModeName::Advise => Mode::Advise,
    };
    let parts = if flags.full_parts { Parts::Full } else { Parts::Supported };
    let gate = Gate::builder()
        .policy(policy)
        .store(store)
        .mode(mode)
        .budget(flags.settings.budget.budget())
        .deadline(Duration::from_millis(flags.deadline))
        .caller(caller)
        .metadata(metadata)
        .parts(parts)
        .agents(&agents);
    gate.build().map_err(|error| {
        let path = flags.agents.clone().unwrap_or_default();
        files::unreadable(&path, error)
    })
}
