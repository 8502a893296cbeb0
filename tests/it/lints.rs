//! Policies that load and do not mean what they seem to.

use std::path::Path;

use gatelog::program::{CODES, NoIncludes, Program, check};
use gatelog::source::{Diagnostic, Severity, render};
use insta::{assert_snapshot, glob};

use crate::support::{entries, files, name, root, text};

fn load(path: &Path) -> Program {
    check(&[(name(path), text(path))], &mut NoIncludes)
        .unwrap_or_else(|refusal| panic!("{}: {:#?}", path.display(), refusal.findings))
}

fn drawn(program: &Program) -> String {
    let each = program.warnings.iter().map(|warning| {
        let fix =
            warning.fix.iter().map(|fix| format!("\n  fix: {}: {}", fix.label, edited(program, warning)));
        format!("{}{}\n\n", render(&program.sources, warning, false), fix.collect::<String>())
    });
    each.collect()
}

/// What each edit of a fix puts in the place of what.
fn edited(program: &Program, warning: &Diagnostic) -> String {
    let edits = warning.fix.iter().flat_map(|fix| &fix.edits);
    let each = edits.map(|(span, new)| format!("`{}` becomes `{new}`", program.sources.text(*span)));
    each.collect::<Vec<_>>().join(", ")
}

#[test]
fn each_fault_is_told_of() {
    glob!("../../fixtures", "lints/*.dl", |path| assert_snapshot!(drawn(&load(path))));
}

#[test]
fn every_lint_has_a_policy_that_shows_it() {
    let paths = entries(&root().join("fixtures/lints"));
    let dl = paths.iter().filter(|path| path.is_file());
    let met: Vec<_> = dl.flat_map(|path| load(path).warnings).map(|warning| warning.code).collect();
    let lints = CODES.iter().map(|&(code, _)| code).filter(|code| *code >= "W0010");
    let missing: Vec<_> = lints.filter(|code| !met.contains(code)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn sound_policies_are_left_alone() {
    for folder in ["policies", "fixtures/lints/quiet"] {
        let all = files(&root().join(folder), ".dl");
        for path in all.iter().filter(|path| name(path) != "prelude.dl") {
            assert_eq!(drawn(&load(path)), "", "{}", path.display());
        }
    }
}

#[test]
fn a_lint_is_a_warning_with_a_reason_and_never_about_the_prelude() {
    for path in files(&root().join("fixtures"), ".dl") {
        let Ok(program) = check(&[(name(&path), text(&path))], &mut NoIncludes) else { continue };
        for warning in &program.warnings {
            assert_eq!(warning.severity, Severity::Warning);
            assert_ne!(warning.primary.span.file.0, 0, "{}: {}", path.display(), warning.message);
            assert!(!warning.help.is_empty(), "{}", warning.message);
            assert!(CODES.iter().any(|&(code, _)| code == warning.code), "{}", warning.code);
        }
    }
}
