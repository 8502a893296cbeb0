//! `gatelog journal`

use std::path::Path;

use crate::cli::arguments::{Journal, JournalExport, JournalVerify};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::recording::DATABASE;
use crate::recording::journal::{self, SessionKey};
use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::store::StoredJournals;

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

/// A journal with the name that a message calls it by.
struct Named {
    name: String,
    bytes: Vec<u8>,
}

fn verify(flags: &JournalVerify, quiet: bool, console: &mut Console<'_>) -> Exit {
    let mut exit = Exit::Done;
    let mut any = false;
    for path in &flags.files {
        match journals(path, console) {
            Ok(journals) => {
                for named in journals {
                    any = true;
                    exit = exit.and(one(&named, flags.head.as_deref(), quiet, console));
                }
            }
            Err(error) => exit = exit.and(policy::report_file(&error, Audience::People, console)),
        }
    }
    if any { exit } else { exit.and(Exit::Nothing) }
}

/// Says of one journal whether it is whole.
fn one(named: &Named, head: Option<&str>, quiet: bool, console: &mut Console<'_>) -> Exit {
    let name = visible(&named.name);
    let journal = match journal::read(&named.bytes) {
        Ok(journal) => journal,
        Err(fault) => {
            console.say(&format!("error: `{name}`: {fault}\n"));
            return Exit::Broken;
        }
    };
    if let Some(fault) = &journal.fault {
        console.say(&format!("error: `{name}`: {fault}\n"));
        return Exit::Broken;
    }
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

/// The journals of a file: one, or those of a store.
fn journals(path: &Path, console: &mut Console<'_>) -> Result<Vec<Named>, FileError> {
    let name = files::name(path);
    if path.as_os_str() == "-" || !is_database(path)? {
        return Ok(vec![Named { name, bytes: files::bytes(path, console)? }]);
    }
    let unreadable = |error| files::unreadable(path, error);
    let store = StoredJournals::open(path).map_err(unreadable)?;
    let keys = store.sessions().map_err(unreadable)?;
    let named = |key: &SessionKey| {
        let bytes = text(&store, key).map_err(unreadable)?.into_bytes();
        Ok(Named { name: format!("{name}#{}", words(key)), bytes })
    };
    keys.iter().map(named).collect()
}

fn is_database(path: &Path) -> Result<bool, FileError> {
    Ok(files::file_bytes(path)?.starts_with(DATABASE))
}

fn text(store: &StoredJournals, key: &SessionKey) -> Result<String, crate::store::JournalsError> {
    let lines = store.lines(key)?;
    Ok(lines.into_iter().flat_map(|line| [line, "\n".to_owned()]).collect())
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
            console.print(&text(&store, key).map_err(unreadable)?);
            Ok(())
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
