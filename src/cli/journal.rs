//! `gatelog journal`

use std::ops::ControlFlow;
use std::path::Path;

use crate::cli::arguments::{Journal, JournalExport, JournalVerify};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::recording::DATABASE;
use crate::recording::journal::{self, Head, JournalFault, SessionKey};
use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::store::{JournalsError, StoredJournals};

/// Verifies or exports journals.
pub(crate) fn run(flags: &Journal, quiet: bool, console: &mut Console<'_>) -> Exit {
    match flags {
        Journal::Verify(flags) => verify(flags, quiet, console),
        Journal::Export(flags) => match export(flags, console) {
            Ok(()) => Exit::Done,
            Err(error) => policy::report_file(&error, Audience::People, console),
        },
    }
}

fn verify(flags: &JournalVerify, quiet: bool, console: &mut Console<'_>) -> Exit {
    let mut exit = Exit::Done;
    let mut any = false;
    for path in &flags.files {
        let mut each = |name: &str, read: Result<Sound, JournalFault>, console: &mut Console<'_>| {
            any = true;
            exit = exit.and(one(name, read, flags.head.as_deref(), quiet, console));
        };
        match journals(path, console, &mut each) {
            Ok(()) => {}
            Err(error) => exit = exit.and(policy::report_file(&error, Audience::People, console)),
        }
    }
    if any { exit } else { exit.and(Exit::Nothing) }
}

/// Says of one journal whether it is whole.
fn one(
    name: &str,
    read: Result<Sound, JournalFault>,
    head: Option<&str>,
    quiet: bool,
    console: &mut Console<'_>,
) -> Exit {
    let name = visible(name);
    let journal = match read {
        Ok(journal) => journal,
        Err(fault) => {
            console.say(&format!("error: `{name}`: {fault}\n"));
            return Exit::Broken;
        }
    };
    if let Some(wanted) = head.filter(|wanted| *wanted != journal.head.hash) {
        console.say(&format!(
            "error: `{name}`: its last line has the hash `{}`, and not `{}`: it was cut, or is another journal\n",
            journal.head.hash,
            visible(wanted)
        ));
        return Exit::Broken;
    }
    if journal.torn {
        console.say(&format!(
            "warning: `{name}`: its last line is cut off: it was never acknowledged, and is left out\n"
        ));
    }
    if !quiet {
        console.print(&format!("{name}: {} lines, head {}\n", journal.head.lines, journal.head.hash));
    }
    Exit::Done
}

/// The end of a journal in which nothing is wrong.
struct Sound {
    head: Head,
    /// Whether its last line is cut off.
    torn: bool,
}

/// What is done with each journal, by the name that a message calls it by.
type Each<'e> = dyn FnMut(&str, Result<Sound, JournalFault>, &mut Console<'_>) + 'e;

/// The journals of a file: one, or those of a store.
fn journals(path: &Path, console: &mut Console<'_>, each: &mut Each<'_>) -> Result<(), FileError> {
    let name = files::name(path);
    let bytes = if path.as_os_str() == "-" {
        Some(files::bytes(path, console)?)
    } else {
        files::bytes_unless(path, DATABASE)?
    };
    if let Some(bytes) = bytes {
        let read = journal::read(&bytes);
        let sound = read.and_then(|journal::Journal { head, torn, fault, .. }| match fault {
            Some(fault) => Err(fault),
            None => Ok(Sound { head, torn }),
        });
        each(&name, sound, console);
        return Ok(());
    }
    let unreadable = |error| files::unreadable(path, error);
    let store = StoredJournals::open(path).map_err(unreadable)?;
    for key in store.sessions().map_err(unreadable)? {
        let sound = stored(&store, &key).map_err(unreadable)?;
        each(&format!("{name}#{}", words(&key)), sound, console);
    }
    Ok(())
}

/// Goes through a journal of a store, a line at a time.
fn stored(store: &StoredJournals, key: &SessionKey) -> Result<Result<Sound, JournalFault>, JournalsError> {
    let (mut head, mut fault) = (Head::default(), None);
    store.visit(key, &mut |line| match head.read(line) {
        Ok(_) => ControlFlow::Continue(()),
        Err(found) => {
            fault = Some(found);
            ControlFlow::Break(())
        }
    })?;
    if head.lines == 0 {
        fault.get_or_insert(JournalFault::NotOpened);
    }
    Ok(fault.map_or(Ok(Sound { head, torn: false }), Err))
}

/// A session by its names.
fn words(key: &SessionKey) -> String {
    [&key.tenant, &key.app, &key.user, &key.session].map(String::as_str).join("/")
}

/// Prints the journal of one session of a store.
fn export(flags: &JournalExport, console: &mut Console<'_>) -> Result<(), FileError> {
    let path = &flags.store;
    let unreadable = |error| files::unreadable(path, error);
    let store = StoredJournals::open(path).map_err(unreadable)?;
    let keys = store.sessions().map_err(unreadable)?;
    let is_named = |key: &&SessionKey| {
        flags.session.as_ref().is_none_or(|name| *name == key.session || *name == words(key))
    };
    let found: Vec<_> = keys.iter().filter(is_named).collect();
    match found.as_slice() {
        [key] => {
            let printed = store.visit(key, &mut |line| {
                console.print(line);
                console.print("\n");
                ControlFlow::Continue(())
            });
            printed.map_err(unreadable)
        }
        several => {
            const LISTED: usize = 10;
            let there = if several.is_empty() { keys.iter().collect() } else { several.to_vec() };
            let names: Vec<_> = there.iter().take(LISTED).map(|key| format!("`{}`", words(key))).collect();
            let more = if there.len() > LISTED { ", …" } else { "" };
            let why = format!(
                "name one session with --session-id; there are {}{more}",
                if names.is_empty() { "none".to_owned() } else { names.join(", ") }
            );
            Err(files::unreadable(path, why))
        }
    }
}
