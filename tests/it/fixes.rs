//! Changes that mend findings: what is shown of them, and what becomes of files.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{gatelog, root, text};

/// A folder of its own for one test.
fn folder(name: &str, contents: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fixes").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in contents {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

fn document(arguments: &[&str]) -> Value {
    let run = gatelog(&root(), arguments, None);
    serde_json::from_str(&run.stdout).unwrap_or_else(|fault| panic!("{fault}: {}", run.stdout))
}

/// Where a line and column, in characters from 1, are in a text.
fn offset(text: &str, line: &Value, column: &Value) -> usize {
    let number = |value: &Value| usize::try_from(value.as_u64().unwrap()).unwrap() - 1;
    let start: usize = text.split_inclusive('\n').take(number(line)).map(str::len).sum();
    let before: String = text[start..].chars().take(number(column)).collect();
    start + before.len()
}

/// The text once all edits, each a range and what comes in its place, are made.
fn edited(text: &str, edits: &[(usize, usize, String)]) -> String {
    let mut edits = edits.to_vec();
    edits.sort();
    edits
        .iter()
        .rev()
        .fold(text.to_owned(), |text, (start, end, new)| format!("{}{new}{}", &text[..*start], &text[*end..]))
}

#[test]
fn fixes_are_in_the_documents() {
    let path = "fixtures/cli/fixes.dl";
    let json = document(&["check", path, "--format", "json"]);
    assert_snapshot!("json", serde_json::to_string_pretty(&json).unwrap());
    let sarif = document(&["check", path, "--format", "sarif"]);
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let fixes: Vec<_> = results.iter().map(|result| result["fixes"].clone()).collect();
    assert_snapshot!("sarif", serde_json::to_string_pretty(&fixes).unwrap());
}

/// What a program makes of the documents is what `check --fix` makes of the file.
#[test]
fn every_way_mends_alike() {
    let before = text(&root().join("fixtures/cli/fixes.dl"));
    let here = folder("alike", &[("fixes.dl", &before)]);
    let run = gatelog(&here, &["check", "--fix", "fixes.dl"], None);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mended = text(&here.join("fixes.dl"));
    assert_ne!(mended, before);
    let json = document(&["check", "fixtures/cli/fixes.dl", "--format", "json"]);
    let fixes = json["findings"].as_array().unwrap().iter().map(|finding| &finding["fix"]["edits"]);
    let edits = fixes.filter_map(Value::as_array).flatten().map(|edit| {
        let place = |line: &str, column: &str| offset(&before, &edit[line], &edit[column]);
        let new = edit["text"].as_str().unwrap().to_owned();
        (place("line", "column"), place("end_line", "end_column"), new)
    });
    assert_eq!(edited(&before, &edits.collect::<Vec<_>>()), mended);
    let sarif = document(&["check", "fixtures/cli/fixes.dl", "--format", "sarif"]);
    let results = sarif["runs"][0]["results"].as_array().unwrap();
    let fixes = results.iter().filter_map(|result| result["fixes"].as_array()).flatten();
    let changes = fixes.flat_map(|fix| fix["artifactChanges"].as_array().unwrap());
    let edits = changes.flat_map(|change| change["replacements"].as_array().unwrap()).map(|edit| {
        let region = &edit["deletedRegion"];
        let place = |line: &str, column: &str| offset(&before, &region[line], &region[column]);
        let new = edit["insertedContent"]["text"].as_str().unwrap().to_owned();
        (place("startLine", "startColumn"), place("endLine", "endColumn"), new)
    });
    assert_eq!(edited(&before, &edits.collect::<Vec<_>>()), mended);
}
