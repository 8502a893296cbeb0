//! Policies from files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::monitor::Policy;
use crate::program::{self, Includes, Prelude, Program, Refusal};
use crate::report::findings::{FindingsDocument, findings};
use crate::report::json::{ErrorDocument, FileError, line};
use crate::report::visible::visible;

/// Why there is no policy.
#[derive(Debug)]
pub(crate) enum NoPolicy {
    /// A file cannot be read.
    File(FileError),
    /// It does not load.
    Refused(Box<Refusal>),
}

/// How a command reports what went wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    /// Text, on standard error.
    People,
    /// A document, on standard output.
    Machines,
}

/// Loads the policy of these files and folders, ready to judge.
pub(crate) fn load(paths: &[PathBuf], console: &mut Console<'_>) -> Result<Arc<Policy>, NoPolicy> {
    check(paths, console).map(|program| Arc::new(Policy::new(program)))
}

/// Checks the policy of these files and folders.
pub(crate) fn check(paths: &[PathBuf], console: &mut Console<'_>) -> Result<Program, NoPolicy> {
    let (texts, mut folder) = texts(paths, console).map_err(NoPolicy::File)?;
    program::check(&texts, &mut folder).map_err(NoPolicy::Refused)
}

/// Checks a program that may read fact files.
pub(crate) fn check_plain(
    path: &Path,
    prelude: Prelude,
    console: &mut Console<'_>,
) -> Result<Program, NoPolicy> {
    let (texts, mut folder) = texts(&[path.to_owned()], console).map_err(NoPolicy::File)?;
    program::check_plain(&texts, prelude, &mut folder).map_err(NoPolicy::Refused)
}

/// The texts of these files and folders, each with its name.
fn texts(paths: &[PathBuf], console: &mut Console<'_>) -> Result<(Texts, PolicyFolder), FileError> {
    let mut folder = PolicyFolder::default();
    let mut texts = Vec::new();
    let mut seen = BTreeSet::new();
    for path in policy_files(paths)? {
        let text = if path.as_os_str() == "-" {
            folder.stand(&files::name(&path), Path::new("."));
            files::text(&path, console)
        } else {
            let canonical = files::canonical(&path)?;
            if !seen.insert(canonical.clone()) {
                continue;
            }
            folder.know(&files::name(&path), canonical);
            files::file_text(&path)
        };
        texts.push((files::name(&path), text?));
    }
    Ok((texts, folder))
}

type Texts = Vec<(String, String)>;

/// The policy files that these paths name, folders walked.
pub(crate) fn policy_files(paths: &[PathBuf]) -> Result<Vec<PathBuf>, FileError> {
    let mut all = Vec::new();
    for path in paths {
        if !files::is_folder(path) {
            all.push(path.clone());
            continue;
        }
        let before = all.len();
        all.extend(files::walk(path)?.into_iter().filter(|file| files::ends_with(file, &[".dl"])));
        if all.len() == before {
            return Err(files::unreadable(path, "there is no policy (*.dl) in this folder"));
        }
    }
    Ok(all)
}

/// Reports why there is no policy.
pub(crate) fn report(no: &NoPolicy, audience: Audience, console: &mut Console<'_>) -> Exit {
    match (no, audience) {
        (NoPolicy::File(error), audience) => return report_file(error, audience, console),
        (NoPolicy::Refused(refusal), Audience::Machines) => {
            let document = FindingsDocument::new(&refusal.sources, &refusal.findings);
            console.print(&(line(&document) + "\n"));
        }
        (NoPolicy::Refused(refusal), Audience::People) => {
            let text = findings(&refusal.sources, &refusal.findings, console.color());
            console.say(&text);
        }
    }
    Exit::Broken
}

/// Reports a file that cannot be used.
pub(crate) fn report_file(error: &FileError, audience: Audience, console: &mut Console<'_>) -> Exit {
    match audience {
        Audience::Machines => {
            console.print(&(line(&ErrorDocument { error: error.clone() }) + "\n"));
        }
        Audience::People => console.say(&format!("error: {}\n", visible(&error.text))),
    }
    Exit::Broken
}

/// Where the files of a policy lie, so that they can include others.
// Invariant: each path is the true one, and lies under its root.
#[derive(Debug, Default)]
pub(crate) struct PolicyFolder {
    known: BTreeMap<String, Place>,
}

#[derive(Debug, Clone)]
struct Place {
    /// The file's own folder.
    folder: PathBuf,
    /// The file, with links followed; none for text that is not in a file.
    path: Option<PathBuf>,
    /// Included files lie under it.
    root: PathBuf,
}

impl PolicyFolder {
    /// Remembers where a file named by the user lies; its folder is the root for what it includes.
    pub(crate) fn know(&mut self, name: &str, canonical: PathBuf) {
        let folder = canonical.parent().map(Path::to_owned).unwrap_or_default();
        let place = Place { root: folder.clone(), folder, path: Some(canonical) };
        self.known.insert(name.to_owned(), place);
    }

    /// Remembers in which folder a text stands that is not in a policy file.
    pub(crate) fn stand(&mut self, name: &str, folder: &Path) {
        if let Ok(folder) = files::canonical(folder) {
            let place = Place { root: folder.clone(), folder, path: None };
            self.known.insert(name.to_owned(), place);
        }
    }
}

impl Includes for PolicyFolder {
    fn include(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        let Some(place) = self.known.get(from).cloned() else {
            return Err(format!("`{path}` cannot be included from `{from}`"));
        };
        if Path::new(path).is_absolute() || path.contains('\0') {
            return Err(format!("`{path}` lies outside the policy's folder"));
        }
        let canonical = files::canonical(&place.folder.join(path)).map_err(|error| error.text)?;
        if !canonical.starts_with(&place.root) {
            return Err(format!("`{path}` lies outside the policy's folder"));
        }
        let text = files::file_text(&canonical).map_err(|error| error.text)?;
        // One file has one name, however it is reached.
        let same = |(_, other): &(&String, &Place)| other.path.as_ref() == Some(&canonical);
        if let Some((name, _)) = self.known.iter().find(same) {
            return Ok((text, name.clone()));
        }
        let name = beside(from, path);
        let folder = canonical.parent().map(Path::to_owned).unwrap_or_default();
        self.known.insert(name.clone(), Place { folder, path: Some(canonical), root: place.root });
        Ok((text, name))
    }
}

/// The name of a file that stands relative to another, without `.` and with `..` resolved where that can be done.
fn beside(from: &str, path: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    let folder = Path::new(from).parent().unwrap_or(Path::new(""));
    for part in folder.join(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if parts.last().is_some_and(|last| last != "..") => {
                parts.pop();
            }
            Component::RootDir => parts.push(String::new()),
            Component::Prefix(_) | Component::ParentDir | Component::Normal(_) => {
                parts.push(part.as_os_str().to_string_lossy().into_owned());
            }
        }
    }
    parts.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_included_files_are_short() {
        let rows = [
            ("a.dl", "b.dl", "b.dl"),
            ("x/a.dl", "./b.dl", "x/b.dl"),
            ("x/y/a.dl", "../b.dl", "x/b.dl"),
            ("/x/a.dl", "b.dl", "/x/b.dl"),
            ("../x/a.dl", "../b.dl", "../b.dl"),
        ];
        for (from, path, expected) in rows {
            assert_eq!(beside(from, path), expected, "{from} {path}");
        }
    }
}
