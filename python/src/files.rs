//! Policy files: they are opened here alone.
#![expect(clippy::disallowed_methods, reason = "policy files are read here")]

use std::collections::BTreeMap;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use gatelog::program::Includes;

/// Bytes of the largest policy file that is read.
const LARGEST: u64 = 64 << 20;

/// Texts of a policy, each with its name.
pub(crate) type Texts = Vec<(String, String)>;

/// The texts of these files, and of the policies (`*.dl`) of these folders, in the order of their paths.
pub(crate) fn texts(paths: &[PathBuf]) -> Result<(Texts, Folder), String> {
    let (mut texts, mut folder) = (Texts::new(), Folder::default());
    for path in paths {
        let files = if path.is_dir() { policies(path)? } else { vec![path.clone()] };
        for file in files {
            let name = file.display().to_string();
            let place = canonical(&file)?;
            if folder.known.values().any(|known| known.path == place) {
                continue;
            }
            let root = place.parent().map(Path::to_owned).unwrap_or_default();
            texts.push((name.clone(), text(&place, &name)?));
            folder.known.insert(name, Place { path: place, root });
        }
    }
    Ok((texts, folder))
}

/// The policies under a folder. Names that begin with a dot are left out, and links to folders are not followed.
fn policies(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        let failed = |error: std::io::Error| unreadable(&next.display().to_string(), &error);
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            if entry.file_name().as_encoded_bytes().starts_with(b".") {
                continue;
            }
            if kind.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|ending| ending == "dl") {
                found.push(path);
            }
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(format!(
            "there is no policy (*.dl) in `{}`: name a file or another folder",
            folder.display()
        ));
    }
    Ok(found)
}

fn canonical(path: &Path) -> Result<PathBuf, String> {
    path.canonicalize().map_err(|error| unreadable(&path.display().to_string(), &error))
}

fn text(path: &Path, name: &str) -> Result<String, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|error| unreadable(name, &error))?;
    let read = file.take(LARGEST + 1).read_to_string(&mut text).map_err(|error| unreadable(name, &error))?;
    if read as u64 > LARGEST {
        return Err(format!("`{name}` cannot be read: it has more than {LARGEST} bytes"));
    }
    Ok(text)
}

fn unreadable(name: &str, error: &std::io::Error) -> String {
    let why = match error.kind() {
        ErrorKind::NotFound => "there is no such file".to_owned(),
        ErrorKind::PermissionDenied => "that is not permitted".to_owned(),
        ErrorKind::IsADirectory => "it is a folder".to_owned(),
        ErrorKind::InvalidData => "it is not UTF-8".to_owned(),
        kind => kind.to_string(),
    };
    format!("`{name}` cannot be read: {why}")
}

/// Where the files of a policy lie, so that they can include others.
#[derive(Debug, Default)]
pub(crate) struct Folder {
    known: BTreeMap<String, Place>,
}

#[derive(Debug)]
struct Place {
    /// With links followed.
    path: PathBuf,
    /// Included files lie under it.
    root: PathBuf,
}

impl Includes for Folder {
    fn include(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        let outside = || format!("`{path}` lies outside the policy's folder");
        let Some(place) = self.known.get(from) else {
            return Err(format!("`{path}` cannot be included from `{from}`: only a file includes others"));
        };
        if Path::new(path).is_absolute() || path.contains('\0') {
            return Err(outside());
        }
        let found = canonical(&place.path.parent().unwrap_or(Path::new("")).join(path))?;
        if !found.starts_with(&place.root) {
            return Err(outside());
        }
        let root = place.root.clone();
        // One file has one name, however it is reached.
        if let Some((name, _)) = self.known.iter().find(|(_, known)| known.path == found) {
            return Ok((text(&found, name)?, name.clone()));
        }
        let beside = Path::new(from).parent().unwrap_or(Path::new("")).join(path);
        let name = beside.display().to_string();
        let text = text(&found, &name)?;
        self.known.insert(name.clone(), Place { path: found, root });
        Ok((text, name))
    }
}
