//! `gatelog import`

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::cli::arguments::{DocumentFormat, Import};
use crate::cli::console::Console;
use crate::cli::databases;
use crate::cli::exit::Exit;
use crate::cli::files::{self, InTheWay};
use crate::cli::policy::{self, Audience};
use crate::recording::database::SessionName;
use crate::report::json::{FileError, line};
use crate::report::visible::visible;
use crate::store::{Database, Entry};

/// Lists or exports the sessions of a store.
pub(crate) fn run(flags: &Import, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        DocumentFormat::Text => Audience::People,
        DocumentFormat::Json => Audience::Machines,
    };
    let database = match databases::open(&flags.file) {
        Ok(database) => database,
        Err(no) => return policy::report_file(&no.error(), audience, console),
    };
    let entries = databases::wanted(&database, &flags.sessions);
    let missing = missing(flags, &entries);
    for error in &missing {
        policy::report_file(error, audience, console);
    }
    let exit = match &flags.output {
        None => list(&entries, audience, quiet, console),
        Some(folder) => export(flags, folder, (&database, &entries), (audience, quiet), console),
    };
    match (missing.is_empty(), entries.is_empty()) {
        (false, _) => exit.and(Exit::Broken),
        (true, true) => exit.and(Exit::Nothing),
        (true, false) => exit,
    }
}

/// The ids that were asked for and that no session has.
fn missing(flags: &Import, entries: &[&Entry]) -> Vec<FileError> {
    let names = entries.iter().map(|entry| entry.name());
    let there: BTreeSet<String> = names.flat_map(|name| [name.id.clone(), name.to_string()]).collect();
    let error = |id: &String| files::unreadable(&flags.file, format!("there is no session `{id}` in it"));
    flags.sessions.iter().filter(|id| !there.contains(*id)).map(error).collect()
}

#[derive(Debug, serde::Serialize)]
struct Listing<'a> {
    sessions: Vec<Row<'a>>,
}

/// One session in a list.
#[derive(Debug, serde::Serialize)]
struct Row<'a> {
    app: &'a str,
    user: &'a str,
    id: &'a str,
    events: usize,
    #[serde(skip_serializing_if = "str::is_empty")]
    updated: &'a str,
    /// Where it was written to.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

impl<'a> Row<'a> {
    fn new(entry: &'a Entry, file: Option<String>) -> Self {
        let SessionName { app, user, id } = entry.name();
        Self { app, user, id, events: entry.events(), updated: entry.updated(), file }
    }
}

fn list(entries: &[&Entry], audience: Audience, quiet: bool, console: &mut Console<'_>) -> Exit {
    match audience {
        Audience::Machines => {
            let sessions = entries.iter().map(|entry| Row::new(entry, None)).collect();
            console.print(&(line(&Listing { sessions }) + "\n"));
        }
        Audience::People if quiet => {}
        Audience::People => console.print(&table(entries)),
    }
    Exit::Done
}

fn table(entries: &[&Entry]) -> String {
    let head = ["app", "user", "session", "events", "last update"].map(str::to_owned);
    let cells = |entry: &&Entry| {
        let SessionName { app, user, id } = entry.name();
        let shown = |text: &str| visible(text);
        [shown(app), shown(user), shown(id), entry.events().to_string(), entry.updated().to_owned()]
    };
    let rows: Vec<[String; 5]> = std::iter::once(head).chain(entries.iter().map(cells)).collect();
    let widths: Vec<usize> = (0..4)
        .map(|place| rows.iter().filter_map(|row| Some(row.get(place)?.chars().count())).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for [app, user, id, events, updated] in &rows {
        let [apps, users, ids, counts] = *widths.as_slice() else { break };
        let row = format!("{app:<apps$}  {user:<users$}  {id:<ids$}  {events:>counts$}  {updated}");
        out.push_str(row.trim_end());
        out.push('\n');
    }
    out
}

fn export(
    flags: &Import,
    folder: &Path,
    (database, entries): (&Database, &[&Entry]),
    (audience, quiet): (Audience, bool),
    console: &mut Console<'_>,
) -> Exit {
    let mut exit = Exit::Done;
    let mut sessions = Vec::new();
    for entry in entries {
        match written(flags, folder, database, entry) {
            Ok(path) => {
                let path = path.display().to_string();
                if matches!(audience, Audience::People) && !quiet {
                    console.print(&format!("{}\n", visible(&path)));
                }
                sessions.push(Row::new(entry, Some(path)));
            }
            Err(error) => exit = exit.and(policy::report_file(&error, Audience::People, console)),
        }
    }
    if matches!(audience, Audience::Machines) {
        console.print(&(line(&Listing { sessions }) + "\n"));
    }
    exit
}

/// Writes one session; the path of its file.
fn written(flags: &Import, folder: &Path, database: &Database, entry: &Entry) -> Result<PathBuf, FileError> {
    let document = database.document(entry).map_err(|error| databases::unreadable(&flags.file, &error))?;
    let document = document.map_err(|why| {
        let why = format!("the session `{}` is not exported: {why}", entry.name());
        files::unreadable(&flags.file, why)
    })?;
    let name = file_name(entry.name());
    let other = if flags.force { InTheWay::IsReplaced } else { InTheWay::Stays };
    files::write_private(folder, &name, &document, other)?;
    Ok(folder.join(name))
}

/// A path of plain letters for a session: a folder for its app, one for its user, and a file.
fn file_name(name: &SessionName) -> PathBuf {
    let file = format!("{}.json", plain(&name.id));
    [plain(&name.app), plain(&name.user), file].iter().collect()
}

/// A name in which every byte but letters, digits and `-_.` is written as `%` and two digits, cut where it is long. A dot at
/// its beginning would hide it.
fn plain(name: &str) -> String {
    const LONGEST: usize = 120;
    let mut out = String::new();
    for byte in name.bytes() {
        let kept = byte.is_ascii_alphanumeric() || b"-_".contains(&byte) || byte == b'.' && !out.is_empty();
        if kept {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    if out.is_empty() {
        return "%".to_owned();
    }
    if out.len() > LONGEST {
        let digest = Sha256::digest(name.as_bytes());
        let tail: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        out.truncate(LONGEST - tail.len() - 1);
        out.push('~');
        out.push_str(&tail);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain_and_apart() {
        let rows = [
            ("s-1", "s-1"),
            ("a.b", "a.b"),
            ("..", "%2E."),
            (".hidden", "%2Ehidden"),
            ("a/b\\c", "a%2Fb%5Cc"),
            ("é#?", "%C3%A9%23%3F"),
            ("", "%"),
            ("%2E", "%252E"),
        ];
        for (name, expected) in rows {
            assert_eq!(plain(name), expected);
        }
        let (long, other) = ("x".repeat(500), "x".repeat(501));
        assert_eq!(plain(&long).len(), 120);
        assert_ne!(plain(&long), plain(&other));
    }
}
