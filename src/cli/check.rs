//! `gatelog check`

use std::path::Path;

use crate::cli::arguments::{Check, FindingsFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::files;
use crate::cli::policy::{self, Audience, NoPolicy};
use crate::program::{Program, explained, explanation, nearest};
use crate::report::explanation::{self, ExplanationDocument};
use crate::report::findings::{FindingsDocument, findings};
use crate::report::github::{github, github_error};
use crate::report::json::{FileError, line};
use crate::report::sarif::SarifLog;
use crate::report::text::counted;
use crate::report::visible::visible;
use crate::source::{Diagnostic, Severity, Sources, apply};

/// Explains a code, or loads a policy and prints every finding.
pub(crate) fn run(flags: &Check, quiet: bool, console: &mut Console<'_>) -> Exit {
    match &flags.explain {
        Some(code) => explain(code, flags, quiet, console),
        None => check(flags, quiet, console),
    }
}

fn check(flags: &Check, quiet: bool, console: &mut Console<'_>) -> Exit {
    let first = policy::check(&flags.policies, console);
    let was_refused = first.is_err();
    let checked = match first {
        Ok(program) if flags.fix => match mend(&program, flags, console) {
            Ok(again) => again,
            Err(error) => Err(NoPolicy::File(error)),
        },
        other => other,
    };
    match checked {
        Ok(program) => {
            print(&program.sources, &program.warnings, flags.format, quiet, console);
            let refused = flags.deny_warnings && !program.warnings.is_empty();
            if refused { Exit::Refused } else { Exit::Done }
        }
        Err(NoPolicy::Refused(refusal)) => {
            if flags.fix && was_refused {
                console.say(
                    "nothing was mended: fixes are made in a policy that loads, so mend its errors first\n",
                );
            }
            print(&refusal.sources, &refusal.findings, flags.format, quiet, console);
            Exit::Broken
        }
        Err(NoPolicy::File(error)) => {
            match flags.format {
                FindingsFormat::Text => return policy::report_file(&error, Audience::People, console),
                FindingsFormat::Json => return policy::report_file(&error, Audience::Machines, console),
                FindingsFormat::Sarif => console.print(&(line(&SarifLog::failed(&error)) + "\n")),
                FindingsFormat::Github => console.print(&github_error(&error)),
            }
            Exit::Broken
        }
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
    format: FindingsFormat,
    quiet: bool,
    console: &mut Console<'_>,
) {
    match format {
        FindingsFormat::Json => console.print(&(line(&FindingsDocument::new(sources, found)) + "\n")),
        FindingsFormat::Sarif => console.print(&(line(&SarifLog::new(sources, found)) + "\n")),
        FindingsFormat::Github => console.print(&github(sources, found)),
        FindingsFormat::Text if quiet => {}
        FindingsFormat::Text => {
            let errors = found.iter().filter(|finding| finding.severity == Severity::Error).count();
            let warnings = found.len() - errors;
            let mut text = findings(sources, found, console.color());
            text.push_str(&format!("{}, {}\n", counted(errors, "error"), counted(warnings, "warning")));
            console.print(&text);
        }
    }
}

/// Prints what a code means and, as text, checks the policies that stand beside it.
fn explain(code: &str, flags: &Check, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        FindingsFormat::Text | FindingsFormat::Github => Audience::People,
        FindingsFormat::Json | FindingsFormat::Sarif => Audience::Machines,
    };
    let mut refuse = |kind: &'static str, text: String| {
        policy::report_file(&FileError { kind, file: String::new(), text }, audience, console)
    };
    let Some(page) = explanation(code) else {
        let wanted = code.to_uppercase();
        let hint = nearest(&wanted, explained())
            .map_or_else(|| "codes look like `E0020`".to_owned(), |near| format!("did you mean `{near}`?"));
        return refuse("unknown_code", format!("there is no code `{code}`; {hint}"));
    };
    match flags.format {
        FindingsFormat::Text => {
            console.print(&explanation::explanation(&page));
            if flags.policies.is_empty() {
                return Exit::Done;
            }
            console.print("\n");
            check(flags, quiet, console)
        }
        FindingsFormat::Json if flags.policies.is_empty() => {
            console.print(&(line(&ExplanationDocument { explanation: page.into() }) + "\n"));
            Exit::Done
        }
        FindingsFormat::Json => {
            refuse("usage", "`--explain` and policies do not fit in one document: ask twice".to_owned())
        }
        FindingsFormat::Sarif | FindingsFormat::Github => {
            refuse("usage", "`--explain` prints text or json".to_owned())
        }
    }
}
