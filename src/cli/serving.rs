//! What commands that serve a gate share: its policies, their reload, and its decision log.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;

use crate::cli::arguments::ModeName;
use crate::cli::console::Console;
use crate::cli::files;
use crate::cli::policy::{self, NoPolicy};
use crate::gate::{Detail, Gate, Logging, Reloader};
use crate::json;
use crate::policies::{self, MANIFEST, PoliciesError, PolicySet};
use crate::recording::journal::Mode;
use crate::report::json::FileError;
use crate::report::text::Color;
use crate::report::visible::visible;
use crate::store::{DecisionLog, key_file};

/// Which policies a gate serves.
#[derive(Debug, Clone, Args)]
pub(crate) struct PolicyFlags {
    /// A folder of policies with its manifest (see `gatelog policy manifest`), or policy files, which are one policy
    #[arg(short, long = "policy", value_name = "POLICY", required = true)]
    policies: Vec<PathBuf>,
    /// What is done with verdicts: with `advise` calls run whatever they are; a manifest says it for each policy
    #[arg(long, value_enum, value_name = "MODE", default_value = "enforce")]
    mode: ModeName,
    /// Look at the manifest every two seconds, and serve what it names when it has changed; SIGHUP does that at once
    #[arg(long)]
    watch: bool,
}

/// Where verdicts are logged.
#[derive(Debug, Clone, Args)]
pub(crate) struct LogFlags {
    /// Write a line for each verdict; a call is allowed only once its line is on disk
    #[arg(long, value_name = "FILE")]
    pub(crate) decision_log: Option<PathBuf>,
    /// The key under which arguments are hashed; FILE.key beside the log, and made where it is not there, unless said
    /// otherwise
    #[arg(long, value_name = "FILE", requires = "decision_log")]
    log_key: Option<PathBuf>,
    /// Log the arguments of calls and the texts of reasons, and not only their hash
    #[arg(long, requires = "decision_log")]
    log_arguments: bool,
    /// Leave out of the logged arguments what this path names, such as `$.card.number` or `$..token`; repeatable
    #[arg(long, value_name = "PATH", requires = "log_arguments", value_parser = json::Path::parse)]
    redact: Vec<json::Path>,
    /// Begin another file when this one has so many bytes
    #[arg(long, value_name = "BYTES", requires = "decision_log", default_value_t = 64 << 20)]
    log_size: u64,
}

impl PolicyFlags {
    /// The policies, and whether they come from a folder with a manifest.
    pub(crate) fn load(&self) -> Result<PolicySet, PoliciesError> {
        if let Some(folder) = self.folder() {
            return policies::load(folder);
        }
        if let Some(path) =
            self.policies.iter().find(|path| path.as_os_str() == "-" || files::is_folder(path))
        {
            let why = format!(
                "name policy files, or one folder with a `{MANIFEST}`; a gate reads no standard input for them"
            );
            return Err(PoliciesError::Unreadable { path: files::name(path), why });
        }
        let (mut input, mut out, mut err) = (io::empty(), io::sink(), io::sink());
        let mut console = Console::new(&mut input, &mut out, &mut err, Color::Never);
        let policy = policy::load(&self.policies, &mut console).map_err(|no| match no {
            NoPolicy::File(error) => PoliciesError::Broken { why: error.text },
            NoPolicy::Refused(refusal) => PoliciesError::refused("policy", refusal),
        })?;
        let mode = match self.mode {
            ModeName::Enforce => Mode::Enforce,
            ModeName::Advise => Mode::Advise,
        };
        Ok(PolicySet::one("policy", policy, mode))
    }

    fn folder(&self) -> Option<&PathBuf> {
        match self.policies.as_slice() {
            [path] if files::is_folder(path) => Some(path),
            _ => None,
        }
    }

    /// Has the gate's policies read again on SIGHUP, and with `--watch` when the manifest changes. What comes of it is said
    /// on standard error. What reads them is returned, for whoever else has a word in it.
    pub(crate) fn keep(&self, gate: &Gate) -> Result<Reloader, FileError> {
        let flags = self.clone();
        let mut reloader = Reloader::new(gate.clone(), move || flags.load());
        match self.folder() {
            Some(folder) if self.watch => reloader = reloader.watching(folder.clone()),
            None if self.watch => {
                let path = self.policies.first().cloned().unwrap_or_default();
                return Err(files::unreadable(
                    &path,
                    "--watch looks at the manifest of a folder, and this is none",
                ));
            }
            Some(_) | None => {}
        }
        let told = |came: &Result<String, PoliciesError>| {
            let line = match came {
                Ok(digest) => format!("policies: {digest} serves from here on\n"),
                Err(error) => format!("policies: the ones before go on to serve: {error}\n"),
            };
            // There is nowhere left to say that this cannot be said.
            let _ = io::stderr().write_all(visible_line(&line).as_bytes());
        };
        reloader.clone().run(told).map_err(|error| {
            let path = self.policies.first().cloned().unwrap_or_default();
            files::unreadable(&path, format!("nothing can wait for its changes: {error}"))
        })?;
        Ok(reloader)
    }
}

fn visible_line(line: &str) -> String {
    let text = line.strip_suffix('\n').unwrap_or(line);
    format!("{}\n", visible(text))
}

/// What is reported of policies that do not load.
pub(crate) fn no_policy(error: PoliciesError) -> NoPolicy {
    match error {
        PoliciesError::Refused { refusal, .. } => NoPolicy::Refused(refusal),
        error => {
            NoPolicy::File(FileError { kind: "unreadable", file: String::new(), text: error.to_string() })
        }
    }
}

impl LogFlags {
    /// The log, where there is to be one. A torn end that was cut off is said.
    pub(crate) fn open(&self, console: &mut Console<'_>) -> Result<Option<Logging>, FileError> {
        let Some(path) = &self.decision_log else { return Ok(None) };
        let fault = |error: crate::store::LogError| FileError {
            kind: "unwritable",
            file: files::name(path),
            text: error.to_string(),
        };
        let key = self.log_key.clone().unwrap_or_else(|| {
            let mut name = path.as_os_str().to_owned();
            name.push(".key");
            PathBuf::from(name)
        });
        let key = key_file(&key).map_err(fault)?;
        let log = DecisionLog::open(path, key, self.log_size).map_err(fault)?;
        if let Some(bytes) = log.state().repaired {
            let name = visible(&files::name(path));
            console.say(&format!(
                "warning: `{name}` ended in the middle of a line: its last {bytes} bytes, which were never acknowledged, are \
                 cut off\n"
            ));
        }
        let detail = if self.log_arguments { Detail::Arguments(self.redact.clone()) } else { Detail::Hashes };
        Ok(Some(Logging { log, detail }))
    }
}
