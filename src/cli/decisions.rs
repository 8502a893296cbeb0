//! `gatelog verify-log`, and decision logs for `gatelog replay`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::cli::arguments::VerifyLog;
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience};
use crate::recording::decisions::{LogReader, Said, first_number};
use crate::replay::Logged;
use crate::report::json::FileError;
use crate::report::visible::visible;
use crate::store::{self, LogError, key_file};

/// Bytes of the first line of a log.
const FIRST: usize = 4096;

/// Says whether the files of a log are one chain.
pub(crate) fn run(flags: &VerifyLog, quiet: bool, console: &mut Console<'_>) -> Exit {
    let files = match ordered(&flags.files) {
        Ok(files) => files,
        Err(error) => return policy::report_file(&error, Audience::People, console),
    };
    let mut reader = LogReader::default();
    let (mut begun, mut found) = (None, None);
    for path in &files {
        let before = reader.head().map(|head| head.lines);
        let name = visible(&files::name(path));
        let extent = match one(path, &mut reader, flags.head.as_deref(), &mut found) {
            Ok(extent) => extent,
            Err(error) => return policy::report_file(&fault(path, &error), Audience::People, console),
        };
        let end = reader.head().map_or(0, |head| head.lines);
        begun.get_or_insert(end.saturating_sub(extent.lines));
        if extent.torn > 0 {
            console.say(&format!(
                "warning: `{name}`: its last line is cut off: it was never acknowledged, and is left out\n"
            ));
        }
        if extent.lines == 0 {
            let error = files::unreadable(path, "no line of a decision log is in it");
            return policy::report_file(&error, Audience::People, console);
        }
        if !quiet {
            let first = before.unwrap_or(end.saturating_sub(extent.lines)) + 1;
            console.print(&format!("{name}: lines {first} to {end}\n"));
        }
    }
    let head = reader.head().cloned().unwrap_or_default();
    if let Some(wanted) = flags.head.as_deref().filter(|_| found.is_none()) {
        console.say(&format!(
            "error: no line has the hash `{}`: the log was cut or written anew, or is another one; its head is `{}`\n",
            visible(wanted),
            head.hash
        ));
        return Exit::Broken;
    }
    if let Some(before) = begun.filter(|before| *before > 0) {
        console.say(&format!(
            "warning: the {before} lines before these are not here: name their files too, to have them verified\n"
        ));
    }
    if !quiet {
        console.print(&format!("{} lines, head {}\n", head.lines, head.hash));
    }
    Exit::Done
}

/// Reads a file, and notes where the hash that is looked for stands.
fn one(
    path: &Path,
    reader: &mut LogReader,
    wanted: Option<&str>,
    found: &mut Option<u64>,
) -> Result<store::Extent, LogError> {
    store::read_file(path, reader, &mut |head, _| {
        if wanted.is_some_and(|wanted| wanted == head.hash) {
            *found = Some(head.lines);
        }
    })
}

fn fault(path: &Path, error: &LogError) -> FileError {
    FileError { kind: "unreadable", file: files::name(path), text: error.to_string() }
}

/// These files in the order of their lines, with those that belong to a log that is named by its own file.
fn ordered(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FileError> {
    let mut all = BTreeSet::new();
    for path in paths {
        let files = store::files_of(path).map_err(|error| fault(path, &error))?;
        if files.is_empty() {
            return Err(files::unreadable(path, "there is no such file"));
        }
        all.extend(files);
    }
    let mut numbered = Vec::with_capacity(all.len());
    for path in all {
        let start = files::start(&path, FIRST)?;
        let line = start.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let number = first_number(line)
            .ok_or_else(|| files::unreadable(&path, "it does not begin as a file of a decision log does"))?;
        numbered.push((number, path));
    }
    numbered.sort();
    Ok(numbered.into_iter().map(|(_, path)| path).collect())
}

/// The verdicts of the log that the flags name; none where they name none. A broken one is refused whole.
pub(crate) fn logged(logs: &[PathBuf], key: Option<&Path>) -> Result<Option<Logged>, FileError> {
    if logs.is_empty() {
        return Ok(None);
    }
    let key = match key {
        None => None,
        Some(path) if !path.exists() => return Err(files::unreadable(path, "there is no such file")),
        Some(path) => Some(key_file(path).map_err(|error| fault(path, &error))?),
    };
    let (mut logged, mut reader) = (Logged::new(key), LogReader::default());
    for path in ordered(logs)? {
        let read = store::read_file(&path, &mut reader, &mut |_, said| {
            if let Said::Decision(decided) = said {
                logged.add(*decided);
            }
        });
        read.map_err(|error| fault(&path, &error))?;
    }
    Ok(Some(logged))
}
