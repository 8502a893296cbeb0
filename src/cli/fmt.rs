//! `gatelog fmt`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::cli::arguments::Fmt;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::report::findings::findings;
use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::source::Sources;
use crate::syntax::{self, Unformatted};

/// Lays out every file. One that cannot be laid out is left alone and reported, and the others are laid out all the same.
pub(crate) fn run(flags: &Fmt, quiet: bool, console: &mut Console<'_>) -> Exit {
    let paths = match policy::policy_files(&flags.policies) {
        Ok(paths) => paths,
        Err(error) => return broken(&error, console),
    };
    let mut seen = BTreeSet::new();
    let mut exit = Exit::Done;
    for path in paths {
        // One file is laid out once, however it is named.
        let ended = match key(&path) {
            Ok(key) if seen.insert(key.clone()) => one(&path, flags, quiet, console),
            Ok(_) => Exit::Done,
            Err(error) => broken(&error, console),
        };
        exit = exit.and(ended);
    }
    exit
}

fn key(path: &Path) -> Result<PathBuf, FileError> {
    if is_input(path) { Ok(path.to_owned()) } else { files::canonical(path) }
}

fn is_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

fn broken(error: &FileError, console: &mut Console<'_>) -> Exit {
    policy::report_file(error, Audience::People, console);
    Exit::Broken
}

fn one(path: &Path, flags: &Fmt, quiet: bool, console: &mut Console<'_>) -> Exit {
    let text = if is_input(path) {
        files::text(path, console)
    } else if only_shown(flags) {
        files::file_text(path)
    } else {
        files::writable(path).and_then(|()| files::file_text(path))
    };
    let text = match text {
        Ok(text) => text,
        Err(error) => return broken(&error, console),
    };
    let mut sources = Sources::default();
    let file = sources.add(files::name(path), text.as_str());
    match syntax::format(file, &text) {
        Ok(laid) => settle(path, &text, &laid, flags, quiet, console),
        Err(Unformatted::Faulty(found)) => {
            console.say(&findings(&sources, &found, console.color()));
            Exit::Broken
        }
        Err(error @ Unformatted::Changed) => {
            let name = visible(&files::name(path));
            console.say(&format!("error: `{name}` is left alone: {error}\n"));
            Exit::Broken
        }
    }
}

/// Does with the layout what the flags ask for.
fn settle(path: &Path, text: &str, laid: &str, flags: &Fmt, quiet: bool, console: &mut Console<'_>) -> Exit {
    let changes = text != laid;
    let only_shown = only_shown(flags);
    if is_input(path) && !only_shown {
        console.print(laid);
        return Exit::Done;
    }
    if !changes {
        return Exit::Done;
    }
    if !only_shown {
        match write(path, text, laid) {
            Ok(true) => {}
            Ok(false) => return Exit::Done,
            Err(error) => return broken(&error, console),
        }
    }
    let name = visible(&files::name(path));
    if flags.diff && !quiet {
        console.print(&difference(&name, text, laid));
    } else if !quiet {
        console.print(&format!("{name}\n"));
    }
    if flags.check { Exit::Refused } else { Exit::Done }
}

fn only_shown(flags: &Fmt) -> bool {
    flags.check || flags.diff
}

/// Replaces the text that was read. False where somebody else has laid it out meanwhile.
fn write(path: &Path, text: &str, laid: &str) -> Result<bool, FileError> {
    let now = files::file_text(path)?;
    if now == laid {
        return Ok(false);
    }
    if now != text {
        return Err(files::unreadable(path, "it was changed by somebody else"));
    }
    files::replace(path, laid).map(|()| true)
}

/// A unified diff, which `patch` reads.
fn difference(name: &str, text: &str, laid: &str) -> String {
    TextDiff::from_lines(text, laid).unified_diff().header(name, name).to_string()
}
