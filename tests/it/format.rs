//! One layout for policies: what it looks like, and that it changes neither meaning nor comments.

use std::path::Path;

use gatelog::source::FileId;
use gatelog::syntax::{Unformatted, ast, format, parse, print};
use insta::{assert_snapshot, glob};

use crate::support::{files, gatelog, root, text};

const FILE: FileId = FileId(0);

/// The comments of a text without the blanks around their lines.
fn comments(text: &str, program: &ast::Program) -> Vec<String> {
    let spans = program.comments.iter().map(|comment| comment.span.start as usize..comment.span.end as usize);
    let lines = spans.flat_map(|span| text[span].lines());
    lines.map(|line| line.trim().to_owned()).collect()
}

/// The layout of a text; it is done once, prints as the text does, and keeps every comment.
fn laid(name: &str, text: &str) -> String {
    let once = format(FILE, text).unwrap_or_else(|fault| panic!("{name}: {fault}\n{text}"));
    let twice = format(FILE, &once).unwrap_or_else(|fault| panic!("{name}: {fault}\n{once}"));
    assert_eq!(once, twice, "{name}");
    let ((before, _), (after, findings)) = (parse(FILE, text), parse(FILE, &once));
    assert_eq!(findings, [], "{name}");
    assert_eq!(print(&before), print(&after), "{name}");
    assert_eq!(comments(text, &before), comments(&once, &after), "{name}");
    once
}

#[test]
fn layouts() {
    glob!("../../fixtures", "fmt/*.dl", |path| {
        assert_snapshot!(laid(&path.display().to_string(), &text(path)));
    });
}

/// Every policy of the repository is laid out, or refused because its syntax is faulty.
#[test]
fn every_policy_keeps_its_meaning() {
    let (mut sound, mut faulty) = (0, 0);
    for path in ["fixtures", "policies"].iter().flat_map(|folder| files(&root().join(folder), ".dl")) {
        let (name, text) = (path.display().to_string(), text(&path));
        if parse(FILE, &text).1.is_empty() {
            laid(&name, &text);
            sound += 1;
        } else {
            assert!(matches!(format(FILE, &text), Err(Unformatted::Faulty(_))), "{name}");
            faulty += 1;
        }
    }
    assert!(sound > 100 && faulty > 30, "{sound} sound, {faulty} faulty");
}

/// The blocks of text under `source:`, taken out by their margins.
fn sources(text: &str) -> Vec<String> {
    let margin = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(style) = line.trim_start().strip_prefix("source:") else { continue };
        if style.trim() != "|" {
            found.push(style.trim().trim_matches(['"', '\'']).to_owned());
            continue;
        }
        let rest = lines.get(at + 1..).unwrap_or_default();
        let inside = rest.iter().take_while(|inner| inner.is_empty() || margin(inner) > margin(line));
        found.push(inside.map(|inner| inner.trim_start().to_owned() + "\n").collect());
    }
    found
}

#[test]
fn every_policy_of_the_conformance_scenarios_keeps_its_meaning() {
    let mut count = 0;
    for path in files(&root().join("fixtures/conformance"), ".test.yaml") {
        for source in sources(&text(&path)) {
            if parse(FILE, &source).1.is_empty() {
                laid(&path.display().to_string(), &source);
                count += 1;
            }
        }
    }
    assert!(count > 50, "{count}");
}

#[test]
fn shipped_policies_are_laid_out() {
    let run = gatelog(&root(), &["fmt", "--check", "policies"], None);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (Some(0), "", ""));
}

/// A folder of its own for one test.
fn folder(name: &str, contents: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).unwrap();
    }
    for (name, text) in contents {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

const LOOSE: &str = "A( 1 ).\nB(x):-A(x). // b\n";
const LAID: &str = "A(1).\nB(x) :- A(x). // b\n";

#[test]
fn files_are_written_in_place() {
    let contents = [
        ("a.dl", LOOSE),
        ("b.dl", LAID),
        ("c/d.dl", LOOSE),
        ("broken.dl", "A( 1 )\nB(2).\n"),
        ("e.txt", LOOSE),
    ];
    let folder = folder("fmt-write", &contents);
    let run = gatelog(&folder, &["fmt", ".", "a.dl"], None);
    assert_eq!((run.code, run.stdout.as_str()), (Some(2), "./a.dl\n./c/d.dl\n"));
    assert!(run.stderr.contains("error[E0001]") && run.stderr.contains("broken.dl:1"), "{}", run.stderr);
    for (name, expected) in
        [("a.dl", LAID), ("b.dl", LAID), ("c/d.dl", LAID), ("broken.dl", "A( 1 )\nB(2).\n"), ("e.txt", LOOSE)]
    {
        assert_eq!(text(&folder.join(name)), expected, "{name}");
    }
    assert_eq!(crate::support::entries(&folder).len(), 5, "nothing is left beside the files");
    let again = gatelog(&folder, &["fmt", "a.dl", "b.dl", "c"], None);
    assert_eq!((again.code, again.stdout.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn links_and_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let folder = folder("fmt-links", &[("true.dl", LOOSE), ("fixed.dl", LOOSE)]);
    symlink("true.dl", folder.join("link.dl")).unwrap();
    let permit = |name: &str, mode: u32| {
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    };
    permit("true.dl", 0o640);
    permit("fixed.dl", 0o444);
    let run = gatelog(&folder, &["fmt", "link.dl"], None);
    assert_eq!((run.code, run.stdout.as_str()), (Some(0), "link.dl\n"));
    assert!(folder.join("link.dl").is_symlink());
    assert_eq!(text(&folder.join("true.dl")), LAID);
    assert_eq!(std::fs::metadata(folder.join("true.dl")).unwrap().permissions().mode() & 0o777, 0o640);
    let run = gatelog(&folder, &["fmt", "fixed.dl"], None);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
    assert_eq!(run.stderr, "error: `fixed.dl` cannot be written: that is not permitted\n");
    assert_eq!(text(&folder.join("fixed.dl")), LOOSE);
}

#[test]
fn nothing_is_written_where_changes_are_only_shown() {
    let folder = folder("fmt-show", &[("a.dl", LOOSE), ("b.dl", LAID)]);
    let diff =
        "--- a.dl\n+++ a.dl\n@@ -1,2 +1,2 @@\n-A( 1 ).\n-B(x):-A(x). // b\n+A(1).\n+B(x) :- A(x). // b\n";
    let rows: [(&[&str], i32, &str); 6] = [
        (&["fmt", "--check", "a.dl", "b.dl"], 1, "a.dl\n"),
        (&["fmt", "--check", "b.dl"], 0, ""),
        (&["fmt", "--diff", "a.dl", "b.dl"], 0, diff),
        (&["fmt", "--check", "--diff", "a.dl"], 1, diff),
        (&["fmt", "--check", "--quiet", "a.dl"], 1, ""),
        (&["fmt", "--check", "missing.dl", "a.dl"], 2, "a.dl\n"),
    ];
    for (arguments, code, shown) in rows {
        let run = gatelog(&folder, arguments, None);
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), shown), "{arguments:?}");
    }
    assert_eq!(text(&folder.join("a.dl")), LOOSE);
}

#[test]
fn standard_input_goes_to_standard_output() {
    let rows: [(&[&str], &str, i32, &str); 5] = [
        (&["fmt", "-"], LOOSE, 0, LAID),
        (&["fmt", "-"], LAID, 0, LAID),
        (&["fmt", "-"], "", 0, ""),
        (&["fmt", "--check", "-"], LOOSE, 1, "<standard input>\n"),
        (&["fmt", "-"], "A(1", 2, ""),
    ];
    for (arguments, input, code, shown) in rows {
        let run = gatelog(&root(), arguments, Some(input));
        assert_eq!((run.code, run.stdout.as_str()), (Some(code), shown), "{arguments:?} {input}");
    }
}
