//! The manifest of a folder of policies: which files there are, with their digests, and what is made of them.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::json;
use crate::policies::PoliciesError;
use crate::recording::journal::Mode;

/// The version of the format.
const VERSION: u32 = 1;

/// Most files of a folder.
pub(crate) const MOST_FILES: usize = 1_000;

/// Most policies of a manifest.
const MOST_POLICIES: usize = 256;

/// Most policies that are decided beside one.
const MOST_SHADOWS: usize = 4;

/// Most tenants that a manifest names.
const MOST_TENANTS: usize = 10_000;

/// Bytes of the longest name.
const LONGEST_NAME: usize = 512;

/// What a folder of policies holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the format.
    pub gatelog_policies: u32,
    /// The policies.
    pub policies: Vec<Named>,
    /// All policy files of the folder, by their names under it, with `sha256:` and the digest of their bytes.
    pub files: BTreeMap<String, String>,
    /// Whether this set may take the place of one that denies what no rule of it denies.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drops_denials: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
fn is_false(given: &bool) -> bool {
    !given
}

/// A policy of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// The files that it is made of, which may include others; all of the folder where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<Vec<String>>,
    /// What is done with its verdicts.
    #[serde(default)]
    pub mode: PolicyMode,
    /// For a shadow: the name of the policy that it is decided beside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// The tenants whose calls it decides; those of no other policy where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenants: Option<Vec<String>>,
    /// `PolicyMetadata` rows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub metadata: Vec<[String; 3]>,
}

/// What is done with the verdicts of a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PolicyMode {
    /// Only an allowed call may run.
    #[default]
    Enforce,
    /// Verdicts are told and logged; calls run whatever they are.
    Advise,
    /// Verdicts are logged beside those of another policy.
    Shadow,
}

impl PolicyMode {
    /// What a gate does with its verdicts; none for a shadow, which a gate does not tell.
    #[must_use]
    pub fn serving(self) -> Option<Mode> {
        match self {
            Self::Enforce => Some(Mode::Enforce),
            Self::Advise => Some(Mode::Advise),
            Self::Shadow => None,
        }
    }
}

impl Manifest {
    /// The manifest of a folder that has none: one policy of all files.
    pub(crate) fn begin() -> Self {
        let policy = Named {
            name: "default".to_owned(),
            files: None,
            mode: PolicyMode::Enforce,
            of: None,
            tenants: None,
            metadata: Vec::new(),
        };
        Self {
            gatelog_policies: VERSION,
            policies: vec![policy],
            files: BTreeMap::new(),
            drops_denials: false,
        }
    }

    /// Reads a manifest, and sees that it makes sense by itself.
    pub(crate) fn read(path: &str, text: &str) -> Result<Self, PoliciesError> {
        let bad = |why: String| PoliciesError::BadManifest { path: path.to_owned(), why };
        let manifest = Self::begin_from(path, text)?;
        if manifest.gatelog_policies != VERSION {
            return Err(bad(format!(
                "it is of version {}, and {VERSION} is read",
                manifest.gatelog_policies
            )));
        }
        if manifest.files.len() > MOST_FILES {
            return Err(bad(format!(
                "it names {} files, and {MOST_FILES} are the most",
                manifest.files.len()
            )));
        }
        for file in manifest.files.keys() {
            check_name(file)?;
        }
        check_policies(&manifest).map_err(bad)?;
        Ok(manifest)
    }

    /// The policies of a manifest whose files are not what it says any more.
    pub(crate) fn begin_from(path: &str, text: &str) -> Result<Self, PoliciesError> {
        let bad = |why: String| PoliciesError::BadManifest { path: path.to_owned(), why };
        // Keys that stand twice are refused here.
        json::parse(text).map_err(|fault| bad(fault.to_string()))?;
        serde_json::from_str(text).map_err(|error| bad(error.to_string()))
    }

    /// As it stands in its file.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }
}

/// That a name is one of a file under the folder.
pub(crate) fn check_name(file: &str) -> Result<(), PoliciesError> {
    let why = if file.is_empty() || file.len() > LONGEST_NAME {
        "a name has 1 to 512 bytes"
    } else if file.chars().any(|letter| letter.is_control() || letter == '\\') {
        "it has a control character or a backslash"
    } else if file.split('/').any(|part| matches!(part, "" | "." | "..")) {
        "it is to lead into the folder, without `.` and `..`"
    } else if file.split('/').any(|part| part.starts_with('.')) {
        "what begins with a dot is left out"
    } else if !file.ends_with(".dl") {
        "policy files end with `.dl`"
    } else {
        return Ok(());
    };
    let file = file.chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect();
    Err(PoliciesError::BadName { file, why })
}

fn check_policies(manifest: &Manifest) -> Result<(), String> {
    let policies = &manifest.policies;
    if policies.is_empty() || policies.len() > MOST_POLICIES {
        return Err(format!("it names {} policies: 1 to {MOST_POLICIES} are read", policies.len()));
    }
    let tenants: usize = policies.iter().flat_map(|policy| &policy.tenants).map(Vec::len).sum();
    if tenants > MOST_TENANTS {
        return Err(format!("it names {tenants} tenants, and {MOST_TENANTS} are the most"));
    }
    let mut names = BTreeSet::new();
    for policy in policies {
        let Named { name, files, .. } = policy;
        if name.is_empty() || name.len() > LONGEST_NAME || name.chars().any(char::is_control) {
            return Err("a policy has a name of 1 to 512 bytes without control characters".to_owned());
        }
        if !names.insert(name) {
            return Err(format!("two policies have the name `{name}`"));
        }
        let files = files
            .as_deref()
            .map_or_else(|| manifest.files.keys().collect(), |files| files.iter().collect::<Vec<_>>());
        if files.is_empty() {
            return Err(format!("the policy `{name}` has no files"));
        }
        if let Some(file) = files.iter().find(|file| !manifest.files.contains_key(**file)) {
            return Err(format!("the policy `{name}` is made of `{file}`, and `files` does not name that"));
        }
    }
    check_shadows(policies)?;
    check_tenants(policies)
}

fn check_shadows(policies: &[Named]) -> Result<(), String> {
    let deciding: BTreeSet<&str> = policies
        .iter()
        .filter(|policy| policy.mode.serving().is_some())
        .map(|policy| policy.name.as_str())
        .collect();
    let mut shadows: BTreeMap<&str, usize> = BTreeMap::new();
    for Named { name, mode, of, tenants, .. } in policies {
        match (mode.serving(), of) {
            (Some(_), None) => {}
            (Some(_), Some(_)) => return Err(format!("the policy `{name}` has `of`, and is no shadow")),
            (None, None) => return Err(format!("the shadow `{name}` names no policy with `of`")),
            (None, Some(of)) if !deciding.contains(of.as_str()) => {
                return Err(format!(
                    "the shadow `{name}` is one of `{of}`, and no policy of that name decides"
                ));
            }
            (None, Some(_)) if tenants.is_some() => {
                return Err(format!("the shadow `{name}` names tenants: it has those of its policy"));
            }
            (None, Some(of)) => *shadows.entry(of).or_default() += 1,
        }
    }
    match shadows.iter().find(|(_, count)| **count > MOST_SHADOWS) {
        Some((of, count)) => {
            Err(format!("the policy `{of}` has {count} shadows, and {MOST_SHADOWS} are the most"))
        }
        None => Ok(()),
    }
}

fn check_tenants(policies: &[Named]) -> Result<(), String> {
    let mut taken: BTreeMap<Option<&str>, &str> = BTreeMap::new();
    for Named { name, mode, tenants, .. } in policies {
        if mode.serving().is_none() {
            continue;
        }
        let all: Vec<Option<&str>> = match tenants {
            None => vec![None],
            Some(tenants) if tenants.is_empty() => {
                return Err(format!(
                    "the policy `{name}` has an empty list of tenants: leave it out for all others"
                ));
            }
            Some(tenants) => tenants.iter().map(|tenant| Some(tenant.as_str())).collect(),
        };
        for tenant in all {
            if let Some(other) = taken.insert(tenant, name) {
                let whose = tenant
                    .map_or_else(|| "all other tenants".to_owned(), |tenant| format!("tenant `{tenant}`"));
                return Err(format!("two policies decide for {whose}: `{other}` and `{name}`"));
            }
        }
    }
    if taken.is_empty() { Err("no policy decides: all are shadows".to_owned()) } else { Ok(()) }
}
