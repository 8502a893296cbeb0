//! `gatelog check`

use crate::cli::arguments::{Check, DocumentFormat};
use crate::cli::console::Console;
use crate::cli::exit::Exit;
use crate::cli::policy::{self, Audience, NoPolicy};
use crate::report::findings::{FindingsDocument, findings};
use crate::report::json::line;
use crate::report::text::counted;
use crate::source::{Diagnostic, Severity, Sources};

/// Loads a policy and prints every finding.
pub(crate) fn run(flags: &Check, quiet: bool, console: &mut Console<'_>) -> Exit {
    let audience = match flags.format {
        DocumentFormat::Text => Audience::People,
        DocumentFormat::Json => Audience::Machines,
    };
    match policy::check(&flags.policies, console) {
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
