//! A folder of policies on disk. Its files are read once, and what was read is what is verified and served.
#![expect(clippy::disallowed_methods, reason = "the files of policies are read here")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use crate::monitor::Policy;
use crate::policies::manifest::{self, Manifest, Named};
use crate::policies::{PoliciesError, PolicySet, Served, Shadow};
use crate::program::{Includes, check};

/// The name of the manifest in its folder.
pub const MANIFEST: &str = "manifest.json";

/// Bytes of the largest manifest.
const LARGEST_MANIFEST: u64 = 1 << 20;

/// Bytes of the largest policy file.
const LARGEST_FILE: u64 = 16 << 20;

/// Bytes of all policy files.
const LARGEST_FOLDER: u64 = 64 << 20;

/// Most folders in one another, and most things in all of them.
const DEEPEST: usize = 16;
const MOST_ENTRIES: usize = 20_000;

/// Reads the folder that a manifest tells of: all its files once, each of which has to have its digest, and makes the
/// policies.
///
/// # Errors
/// Where anything is missing, too much, empty, changed or broken: a folder is served whole or not at all.
pub fn load(folder: &Path) -> Result<PolicySet, PoliciesError> {
    let text = manifest_text(folder)?;
    let manifest = Manifest::read(&shown(&folder.join(MANIFEST)), &text)?;
    let found = files(folder)?;
    if let Some(file) = found.iter().find(|file| !manifest.files.contains_key(*file)) {
        return Err(PoliciesError::ExtraFile { file: file.clone() });
    }
    let texts = texts(folder, manifest.files.keys())?;
    for (file, wanted) in &manifest.files {
        let digest = texts.get(file).map(|text| digest_of(text)).unwrap_or_default();
        if digest != *wanted {
            return Err(PoliciesError::OtherContents { file: file.clone(), digest });
        }
    }
    set(&manifest, digest_of(&text), &texts)
}

/// Writes the manifest of a folder anew, with the digests of the files that are there. The policies stay as the manifest
/// before has them; where there is none, all files are one policy, which is enforced.
///
/// # Errors
/// Where the folder could not be served then: nothing is written.
pub fn update(folder: &Path, drops_denials: bool) -> Result<Manifest, PoliciesError> {
    let path = folder.join(MANIFEST);
    let mut manifest = if path.symlink_metadata().is_ok() {
        let text = manifest_text(folder)?;
        Manifest::begin_from(&shown(&path), &text)?
    } else {
        Manifest::begin()
    };
    let found = files(folder)?;
    let texts = texts(folder, found.iter())?;
    manifest.files = texts.iter().map(|(file, text)| (file.clone(), digest_of(text))).collect();
    manifest.drops_denials = drops_denials;
    let text = manifest.text();
    let manifest = Manifest::read(&shown(&path), &text)?;
    set(&manifest, digest_of(&text), &texts)?;
    write(&path, &text)?;
    Ok(manifest)
}

/// The digest of a folder's manifest as it stands there now, for those who wait for another one.
///
/// # Errors
/// Where it cannot be read.
pub(crate) fn stamp(folder: &Path) -> Result<String, PoliciesError> {
    manifest_text(folder).map(|text| digest_of(&text))
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

fn digest_of(text: &str) -> String {
    let digits: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

fn manifest_text(folder: &Path) -> Result<String, PoliciesError> {
    let root = root(folder)?;
    let file = MANIFEST.to_owned();
    read(&root, &file, LARGEST_MANIFEST).map_err(|error| match error {
        PoliciesError::MissingFile { .. } => PoliciesError::Unreadable {
            path: shown(&folder.join(MANIFEST)),
            why: "there is no such file: `gatelog policy manifest` writes one".to_owned(),
        },
        error => error,
    })
}

/// The true path of the folder.
fn root(folder: &Path) -> Result<PathBuf, PoliciesError> {
    folder
        .canonicalize()
        .map_err(|error| PoliciesError::Unreadable { path: shown(folder), why: error.kind().to_string() })
}

/// The texts of these files.
fn texts<'a>(
    folder: &Path,
    files: impl Iterator<Item = &'a String>,
) -> Result<BTreeMap<String, String>, PoliciesError> {
    let root = root(folder)?;
    let (mut texts, mut left) = (BTreeMap::new(), LARGEST_FOLDER);
    for file in files {
        manifest::check_name(file)?;
        let text = read(&root, file, LARGEST_FILE)?;
        if text.trim().is_empty() {
            return Err(PoliciesError::EmptyFile { file: file.clone() });
        }
        let what = "the files of the folder".to_owned();
        left = left
            .checked_sub(u64::try_from(text.len()).unwrap_or(u64::MAX))
            .ok_or(PoliciesError::TooLarge { what, most: LARGEST_FOLDER, unit: "bytes" })?;
        texts.insert(file.clone(), text);
    }
    Ok(texts)
}

/// The text of one file, which has to lie under the folder, links followed.
fn read(root: &Path, file: &str, most: u64) -> Result<String, PoliciesError> {
    let path = root.join(file);
    let unreadable =
        |why: &dyn std::fmt::Display| PoliciesError::Unreadable { path: shown(&path), why: why.to_string() };
    let missing = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound | ErrorKind::NotADirectory => {
            PoliciesError::MissingFile { file: file.to_owned() }
        }
        kind => unreadable(&kind),
    };
    let found = path.canonicalize().map_err(missing)?;
    if !found.starts_with(root) {
        return Err(PoliciesError::Outside { file: file.to_owned() });
    }
    // A pipe would be waited for.
    if !found.metadata().map_err(missing)?.is_file() {
        return Err(unreadable(&"it is no ordinary file"));
    }
    let mut bytes = Vec::new();
    let opened = File::open(&found).map_err(missing)?;
    opened.take(most + 1).read_to_end(&mut bytes).map_err(|error| unreadable(&error.kind()))?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > most) {
        return Err(PoliciesError::TooLarge { what: format!("`{file}`"), most, unit: "bytes" });
    }
    String::from_utf8(bytes)
        .map_err(|error| unreadable(&format!("byte {} is not UTF-8", error.utf8_error().valid_up_to())))
}

/// The names of the policy files under a folder, in order. What begins with a dot is left out, and links to folders are not
/// followed.
fn files(folder: &Path) -> Result<Vec<String>, PoliciesError> {
    let root = root(folder)?;
    let mut open = vec![(root, String::new(), 0_usize)];
    let (mut found, mut entries) = (Vec::new(), 0_usize);
    while let Some((path, before, depth)) = open.pop() {
        let unreadable = |error: &std::io::Error| PoliciesError::Unreadable {
            path: shown(&path),
            why: error.kind().to_string(),
        };
        for entry in path.read_dir().map_err(|error| unreadable(&error))? {
            let entry = entry.map_err(|error| unreadable(&error))?;
            entries += 1;
            let what = "the folder".to_owned();
            if entries > MOST_ENTRIES {
                return Err(PoliciesError::TooLarge { what, most: MOST_ENTRIES as u64, unit: "names" });
            }
            let name = entry.file_name();
            let is_folder = entry.file_type().map_err(|error| unreadable(&error))?.is_dir();
            let name = match name.to_str() {
                Some(name) if name.starts_with('.') => continue,
                Some(name) => format!("{before}{name}"),
                None if is_folder => continue,
                None => {
                    let file = name.to_string_lossy().into_owned();
                    return Err(PoliciesError::BadName { file, why: "it is not UTF-8" });
                }
            };
            if is_folder && depth == DEEPEST {
                return Err(PoliciesError::TooLarge { what, most: DEEPEST as u64, unit: "levels" });
            }
            if is_folder {
                open.push((entry.path(), name + "/", depth + 1));
            } else if name.ends_with(".dl") {
                found.push(name);
            }
        }
    }
    if found.len() > manifest::MOST_FILES {
        let what = "the folder".to_owned();
        return Err(PoliciesError::TooLarge {
            what,
            most: manifest::MOST_FILES as u64,
            unit: "policy files",
        });
    }
    found.sort();
    Ok(found)
}

/// Makes the policies of a manifest.
fn set(
    manifest: &Manifest,
    digest: String,
    texts: &BTreeMap<String, String>,
) -> Result<PolicySet, PoliciesError> {
    let mut used = BTreeSet::new();
    let mut made: BTreeMap<&str, Arc<Policy>> = BTreeMap::new();
    for named in &manifest.policies {
        made.insert(&named.name, policy(named, texts, &mut used)?);
    }
    if let Some(file) = texts.keys().find(|file| !used.contains(*file)) {
        let why = format!("no policy of it reads `{file}`");
        return Err(PoliciesError::BadManifest { path: MANIFEST.to_owned(), why });
    }
    let mut set =
        PolicySet { digest, tenants: BTreeMap::new(), others: None, confirmed: manifest.drops_denials };
    for named in &manifest.policies {
        let (Some(mode), Some(policy)) = (named.mode.serving(), made.get(named.name.as_str())) else {
            continue;
        };
        let shadows = manifest.policies.iter().filter(|other| other.of.as_ref() == Some(&named.name));
        let shadows = shadows.filter_map(|shadow| {
            let policy = Arc::clone(made.get(shadow.name.as_str())?);
            Some(Shadow { name: shadow.name.clone(), policy, metadata: shadow.metadata.clone() })
        });
        let served = Arc::new(Served {
            name: named.name.clone(),
            policy: Arc::clone(policy),
            mode,
            metadata: named.metadata.clone(),
            shadows: shadows.collect(),
        });
        match &named.tenants {
            None => set.others = Some(served),
            Some(tenants) => {
                set.tenants.extend(tenants.iter().map(|tenant| (tenant.clone(), Arc::clone(&served))));
            }
        }
    }
    Ok(set)
}

fn policy(
    named: &Named,
    texts: &BTreeMap<String, String>,
    used: &mut BTreeSet<String>,
) -> Result<Arc<Policy>, PoliciesError> {
    let files = named
        .files
        .as_deref()
        .map_or_else(|| texts.keys().collect::<Vec<_>>(), |files| files.iter().collect());
    let own: Vec<(String, String)> =
        files.iter().filter_map(|file| Some(((*file).clone(), texts.get(*file)?.clone()))).collect();
    used.extend(own.iter().map(|(file, _)| file.clone()));
    let mut shelf = Shelf { texts, used };
    let program = check(&own, &mut shelf).map_err(|refusal| PoliciesError::refused(&named.name, refusal))?;
    Ok(Arc::new(Policy::new(program)))
}

/// The files that were read: nothing else can be included.
struct Shelf<'a> {
    texts: &'a BTreeMap<String, String>,
    used: &'a mut BTreeSet<String>,
}

impl Includes for Shelf<'_> {
    fn include(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        let name = beside(from, path).ok_or_else(|| format!("`{path}` lies outside the policy's folder"))?;
        let text = self.texts.get(&name).ok_or_else(|| format!("the manifest names no file `{name}`"))?;
        self.used.insert(name.clone());
        Ok((text.clone(), name))
    }

    fn exists(&mut self, from: &str, path: &str) -> bool {
        beside(from, path).is_some_and(|name| self.texts.contains_key(&name))
    }
}

/// The name of a file that stands relative to another; none outside the folder.
fn beside(from: &str, path: &str) -> Option<String> {
    if path.starts_with('/') {
        return None;
    }
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Puts the text in the place of the manifest in one step.
fn write(path: &Path, text: &str) -> Result<(), PoliciesError> {
    let beside = path.with_file_name(format!(".{MANIFEST}.{}.new", std::process::id()));
    let written = File::create(&beside)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&beside, path));
    written.map_err(|error| {
        // What went wrong first is what is told.
        let _ = std::fs::remove_file(&beside);
        PoliciesError::Unwritable { path: shown(path), why: error.kind().to_string() }
    })
}
