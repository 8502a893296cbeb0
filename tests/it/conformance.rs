//! The conformance scenarios and the tests beside the policies, run by the binary as a user runs them.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::Value;

use crate::support::{files, gatelog, name, root, text};

/// Cases that do not pass, and why. Whoever makes one pass takes it out: the test says so.
const FAILING: &[(&str, &str, &str)] = &[];

/// A case: its file and its name.
type Case = (String, String);

/// What `gatelog test FOLDER --format json` reports.
struct Reported {
    /// Every case.
    cases: BTreeSet<Case>,
    /// Those that failed, with what it says about them.
    failed: Vec<(Case, String)>,
}

fn test(folder: &str) -> Reported {
    let run = gatelog(&root(), &["test", folder, "--format", "json"], None);
    let document: Value = serde_json::from_str(&run.stdout)
        .unwrap_or_else(|fault| panic!("{fault}\n{}\n{}", run.stdout, run.stderr));
    let mut reported = Reported { cases: BTreeSet::new(), failed: Vec::new() };
    for case in document.get("cases").and_then(Value::as_array).unwrap_or(&Vec::new()) {
        let word = |key: &str| case.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = (name(Path::new(&word("file"))), word("name"));
        if case.get("passed") != Some(&Value::Bool(true)) {
            reported.failed.push((key.clone(), case.get("failures").unwrap_or(&Value::Null).to_string()));
        }
        reported.cases.insert(key);
    }
    reported
}

/// The number of cases that a file writes down, counted without reading YAML.
fn written(path: &Path) -> usize {
    text(path).lines().filter(|line| line.starts_with("  - name:")).count()
}

/// No file and no case of a folder is passed over.
fn complete(folder: &str, reported: &Reported) {
    for path in files(&root().join(folder), ".test.yaml") {
        let told = reported.cases.iter().filter(|(file, _)| *file == name(&path)).count();
        assert_eq!(told, written(&path), "{}: cases reported, cases written", path.display());
        assert_ne!(told, 0, "{}: no case", path.display());
    }
}

#[test]
fn conformance() {
    let reported = test("fixtures/conformance");
    complete("fixtures/conformance", &reported);
    let known: BTreeSet<Case> =
        FAILING.iter().map(|(file, case, _)| ((*file).to_owned(), (*case).to_owned())).collect();
    let failed: BTreeSet<Case> = reported.failed.iter().map(|(case, _)| case.clone()).collect();
    let unexpected: Vec<_> = reported.failed.iter().filter(|(case, _)| !known.contains(case)).collect();
    assert!(unexpected.is_empty(), "{} cases fail: {unexpected:#?}", unexpected.len());
    let passing: Vec<&Case> = known.difference(&failed).collect();
    assert!(passing.is_empty(), "these pass now; take them out of FAILING: {passing:#?}");
}

#[test]
fn shipped_policies() {
    let reported = test("policies");
    complete("policies", &reported);
    assert!(reported.failed.is_empty(), "{:#?}", reported.failed);
    for path in files(&root().join("policies"), ".dl") {
        let beside = path.with_extension("test.yaml");
        assert!(name(&path) == "prelude.dl" || beside.exists(), "{}: no test beside it", path.display());
    }
}

/// Each shipped policy loads alone and without a finding.
#[test]
fn shipped_policies_check() {
    for path in files(&root().join("policies"), ".dl") {
        if name(&path) != "prelude.dl" {
            let run = gatelog(&root().join("policies"), &["check", &name(&path)], None);
            assert_eq!(run.code, Some(0), "{}: {}{}", path.display(), run.stdout, run.stderr);
        }
    }
}
