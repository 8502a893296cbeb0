//! Policies that load, and policies that are refused with every finding.

use std::fmt::Write as _;
use std::path::Path;

use gatelog::program::{NoIncludes, Program, check};
use gatelog::source::{Diagnostic, Sources, render};
use insta::{assert_snapshot, glob};

#[expect(clippy::disallowed_methods, reason = "a test reads its fixtures")]
fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

fn file(path: &Path) -> (String, String) {
    (path.file_name().unwrap().to_string_lossy().into_owned(), text(path))
}

fn drawn(sources: &Sources, findings: &[Diagnostic]) -> String {
    let mut shown = String::new();
    for finding in findings {
        writeln!(shown, "{}\n", render(sources, finding, false)).unwrap();
    }
    shown
}

#[test]
fn refused_programs() {
    glob!("../../fixtures", "program/err/*.dl", |path| {
        let refusal = check(&[file(path)], &mut NoIncludes).unwrap_err();
        assert_snapshot!(drawn(&refusal.sources, &refusal.findings));
    });
}
