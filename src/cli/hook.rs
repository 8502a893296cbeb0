//! `gatelog hook`

use std::io::BufReader;
use std::time::Duration;

use crate::cli::arguments::Hook;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::cli::serving::no_policy;
use crate::cli::settings::caller_and_metadata;
use crate::gate::{Gate, serve};
use crate::policies::PolicySet;
use crate::recording::Parts;
use crate::report::json::FileError;
use crate::store::Journals;

/// Answers the messages of a runner on standard input and output until there are no more.
pub(crate) fn run(flags: &Hook, console: &mut Console<'_>) -> Exit {
    let policies = match flags.policy.load() {
        Ok(policies) => policies,
        Err(error) => return policy::report(&no_policy(error), Audience::People, console),
    };
    let gate = gate(flags, policies, console).and_then(|gate| flags.policy.keep(&gate).map(|_| gate));
    let gate = match gate {
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

fn gate(flags: &Hook, policies: PolicySet, console: &mut Console<'_>) -> Result<Gate, FileError> {
    let store = match &flags.store {
        None => Journals::memory(),
        Some(path) => Journals::sqlite(path).map_err(|error| files::unreadable(path, error))?,
    };
    let (caller, metadata) = caller_and_metadata(&flags.settings, console)?;
    let agents = match &flags.agents {
        None => String::new(),
        Some(path) => files::text(path, console)?,
    };
    let parts = if flags.full_parts { Parts::Full } else { Parts::Supported };
    let log = flags.log.open(console)?;
    let mut gate = Gate::builder()
        .policies(policies)
        .store(store)
        .budget(flags.settings.budget.budget())
        .deadline(Duration::from_millis(flags.deadline))
        .caller(caller)
        .metadata(metadata)
        .parts(parts)
        .agents(&agents);
    if let Some(log) = log {
        gate = gate.log(log);
    }
    gate.build().map_err(|error| {
        let path = flags.agents.clone().unwrap_or_default();
        files::unreadable(&path, error)
    })
}
