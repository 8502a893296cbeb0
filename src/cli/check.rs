//! `gatelog check`

use std::path::Path;

use crate::cli::arguments::{Check, DocumentFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience, NoPolicy};
use crate::program::Program;
use crate::report::findings::{FindingsDocument, findings};
use crate::report::json::{FileError, line};
use crate::report::text::counted;
use crate::report::visible::visible;
use crate::source::{Diagnostic, Severity, Sources, apply};

/// Loads a policy and prints every finding.
pub(crate) fn run(flags: &Check, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        DocumentFormat::Text => Audience::People,
        DocumentFormat::Json => Audience::Machines,
    };
    let checked = policy::check(&flags.policies, console);
    let checked = match checked {
        Ok(program) if flags.fix => match mend(&program, flags, console) {
            Ok(again) => again,
            Err(error) => {
                policy::report_file(&error, audience, console);
                return Exit::Broken;
            }
        },
        other => other,
    };
    match checked {
        Ok(program) => {
            print(&program.sources, &program.warnings, audience, quiet, console);
            let refused = flags.deny_warnings && !program.warnings.is_empty();
            if refused { Exit::Refused } else { Exit::Done }
        }
        Err(NoPolicy::Refused(refusal)) => {
            print(&refusal.sources, &refusal.findings, audience, quiet, console);
            Exit::Broken
        }
        Err(no @ NoPolicy::File(_)) => policy::report(&no, audience, console),
    }
}

/// Writes what the warnings offer to mend, and checks again. What would not load is put back as it was.
fn mend(
    program: &Program,
    flags: &Check,
    console: &mut Console<'_>,
) -> Result<Result<Program, NoPolicy>, FileError> {
    let changed = apply(&program.sources, &program.warnings);
    for (file, _, _) in &changed {
        let source = program.sources.file(*file);
        let is_same = files::file_text(Path::new(&source.name))? == source.text;
        if !is_same {
            return Err(files::unreadable(Path::new(&source.name), "it was changed by somebody else"));
        }
    }
    for (file, text, count) in &changed {
        let name = &program.sources.file(*file).name;
        files::replace(Path::new(name), text)?;
        console.say(&format!("mended: `{}` in {}\n", visible(name), counted(*count, "place")));
    }
    let again = policy::check(&flags.policies, console);
    if again.is_err() {
        for (file, _, _) in &changed {
            let source = program.sources.file(*file);
            files::replace(Path::new(&source.name), &source.text)?;
            console.say(&format!("put back: `{}`, which would not load\n", visible(&source.name)));
        }
    }
    Ok(again)
}

fn print(
    sources: &Sources,
    found: &[Diagnostic],
    audience: Audience,
    quiet: bool,
    console: &mut Console<'_>,
) {
    match audience {
        Audience::Machines => console.print(&(line(&FindingsDocument::new(sources, found)) + "\n")),
        Audience::People if quiet => {}
        Audience::People => {
            let errors = found.iter().filter(|finding| finding.severity == Severity::Error).count();
            let warnings = found.len() - errors;
            let mut text = findings(sources, found, console.color());
            text.push_str(&format!("{}, {}\n", counted(errors, "error"), counted(warnings, "warning")));
            console.print(&text);
        }
    }
}
