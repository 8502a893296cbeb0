//! `gatelog test`

use std::path::{Path, PathBuf};

use crate::cli::arguments::{DocumentFormat, Test};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files::{self, Found};
use crate::cli::policy::PolicyFolder;
use crate::program::Includes;
use crate::report::cases::{CasesDocument, FileFault, text};
use crate::report::json::{FileError, line};
use crate::report::visible::visible;
use crate::scenario::{self, Case, CaseResult, Loader};

/// What the names of test files end with.
const ENDINGS: &[&str] = &[".test.yaml", ".test.yml", ".test.json"];

/// The name of policy text that stands in a test file.
const INLINE: &str = "source";

/// Runs policy tests.
pub(crate) fn run(flags: &Test, quiet: bool, console: &mut Console<'_>) -> Exit {
    let mut results = Vec::new();
    let mut faults = Vec::new();
    for found in files::all(&flags.paths) {
        match found {
            Err(error) => faults.push(fault(error)),
            Ok(Found::Met(path)) if !files::ends_with(&path, ENDINGS) => {}
            Ok(Found::Named(path)) if files::ends_with(&path, &[".dl"]) => {
                faults.push(policy_for_test(&path));
            }
            Ok(Found::Met(path) | Found::Named(path)) => match file(&path, flags, console) {
                Ok(cases) => results.extend(cases),
                Err(found) => faults.extend(found),
            },
        }
    }
    for case in results.iter().filter(|_| !quiet) {
        for doubt in &case.doubts {
            console.say(&format!(
                "warning: {}: {}: {}\n",
                visible(&case.file),
                visible(&case.name),
                visible(doubt)
            ));
        }
    }
    match flags.format {
        DocumentFormat::Json => console.print(&(line(&CasesDocument::new(&results, &faults)) + "\n")),
        DocumentFormat::Text if quiet => {}
        DocumentFormat::Text => console.print(&text(&results, &faults, flags.verbose, console.color())),
    }
    exit(flags, &results, &faults)
}

fn exit(flags: &Test, results: &[CaseResult], faults: &[FileFault]) -> Exit {
    let mut exit = Exit::Done;
    if results.is_empty() && !flags.allow_empty {
        exit = exit.and(Exit::Nothing);
    }
    if results.iter().any(|case| !case.failures.is_empty()) {
        exit = exit.and(Exit::Refused);
    }
    if !faults.is_empty() || results.iter().any(|case| case.broken.is_some()) {
        exit = exit.and(Exit::Broken);
    }
    exit
}

fn fault(error: FileError) -> FileFault {
    FileFault { file: error.file, line: 0, column: 0, text: error.text }
}

/// A policy where a test is wanted.
fn policy_for_test(path: &Path) -> FileFault {
    let text = "a policy and no test: a test is a YAML file whose name ends in `.test.yaml`, and names the policy by `policy: […]`";
    FileFault { file: files::name(path), line: 0, column: 0, text: text.to_owned() }
}

fn file(path: &Path, flags: &Test, console: &mut Console<'_>) -> Result<Vec<CaseResult>, Vec<FileFault>> {
    let name = files::name(path);
    let text = files::text(path, console).map_err(|error| vec![fault(error)])?;
    let file = scenario::parse(&name, &text).map_err(|faults| {
        let here = |fault: &scenario::Fault| FileFault {
            file: name.clone(),
            line: fault.place.line,
            column: fault.place.column,
            text: fault.text.clone(),
        };
        faults.iter().map(here).collect::<Vec<_>>()
    })?;
    let wanted = |case: &Case| {
        flags
            .filter
            .as_ref()
            .is_none_or(|part| case.name.contains(part.as_str()) || name.contains(part.as_str()))
    };
    let base = if path.as_os_str() == "-" { Path::new(".") } else { path.parent().unwrap_or(Path::new("")) };
    let mut loader = FolderLoader::new(base);
    Ok(scenario::run(&file, flags.budget.budget(), &wanted, &mut loader))
}

/// Files relative to the folder of a test file.
struct FolderLoader {
    base: PathBuf,
    folder: PolicyFolder,
}

impl FolderLoader {
    fn new(base: &Path) -> Self {
        let base = if base.as_os_str().is_empty() { PathBuf::from(".") } else { base.to_owned() };
        let mut folder = PolicyFolder::default();
        folder.stand(INLINE, &base);
        Self { base, folder }
    }
}

impl Includes for FolderLoader {
    fn include(&mut self, from: &str, path: &str) -> Result<(String, String), String> {
        self.folder.include(from, path)
    }
}

impl Loader for FolderLoader {
    fn policy(&mut self, path: &str) -> Result<(String, String), String> {
        let full = self.base.join(path);
        let canonical = files::canonical(&full).map_err(|error| error.text)?;
        let text = files::file_text(&full).map_err(|error| error.text)?;
        self.folder.know(path, canonical);
        Ok((path.to_owned(), text))
    }

    fn inline(&mut self) -> String {
        INLINE.to_owned()
    }

    fn recording(&mut self, path: &str) -> Result<Vec<u8>, String> {
        files::file_bytes(&self.base.join(path)).map_err(|error| error.text)
    }
}
