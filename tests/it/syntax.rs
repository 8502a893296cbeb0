//! Policies as text: what is refused with which words, and what a tree prints as.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails the run")]

use std::fs;
use std::path::Path;

use gatelog::source::FileId;
use gatelog::source::Sources;
use gatelog::source::render;
use gatelog::syntax::CODES;
use gatelog::syntax::ast::Program;
use gatelog::syntax::parse;
use gatelog::syntax::print;
use insta::{assert_snapshot, glob};
use proptest::prelude::{Strategy, any, prop, proptest};

/// The text of a fixture.
#[expect(clippy::disallowed_methods, reason = "fixtures are files")]
fn text_of(path: &Path) -> String {
    fs::read_to_string(path).unwrap()
}

/// All findings of a text, as a user reads them.
fn findings(path: &Path) -> String {
    let text = text_of(path);
    let name = path.file_name().unwrap().to_string_lossy();
    let mut sources = Sources::default();
    let file = sources.add(name, &text);
    let (_, findings) = parse(file, &text);
    assert!(findings.iter().all(|finding| CODES.iter().any(|(code, _)| *code == finding.code)));
    findings.iter().map(|finding| render(&sources, finding, false) + "\n\n").collect()
}

/// The tree without places and free comments.
fn tree(program: &Program) -> String {
    let shown = format!("{:#?}", program.items);
    let mut bare = String::new();
    let mut inside = false;
    for line in shown.lines() {
        inside |= line.trim_start().ends_with("Span {");
        if !inside {
            bare.push_str(line);
            bare.push('\n');
        }
        inside &= !matches!(line.trim_start(), "}," | "}");
    }
    bare
}

/// Prints the program, and holds that the print parses to the same tree.
fn printed(program: &Program) -> String {
    let text = print(program);
    let (again, findings) = parse(FileId(0), &text);
    assert!(findings.is_empty(), "{text}\n{findings:?}");
    assert_eq!(tree(program), tree(&again), "{text}");
    assert_eq!(text, print(&again));
    text
}

#[test]
fn refused_policies() {
    glob!("../../fixtures", "syntax/err/*.dl", |path| {
        let shown = findings(path);
        assert!(!shown.is_empty(), "{} is accepted", path.display());
        assert_snapshot!(shown);
    });
}

#[test]
fn read_policies() {
    glob!("../../fixtures", "syntax/ok/*.dl", |path| {
        assert_eq!(findings(path), "");
        let (program, _) = parse(FileId(0), &text_of(path));
        assert_snapshot!(printed(&program));
    });
}

/// The texts of all good fixtures.
fn good() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/syntax/ok");
    #[expect(clippy::disallowed_methods, reason = "fixtures are files")]
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| text_of(path)).collect()
}

/// Parses whatever it is given, draws what is found, and prints what is read.
fn survive(text: &str) {
    let mut sources = Sources::default();
    let file = sources.add("p.dl", text);
    let (program, findings) = parse(file, text);
    for finding in findings.iter().take(4) {
        assert!(!render(&sources, finding, true).is_empty());
    }
    // What is left of a faulty text may hold characters in annotations that no policy may hold.
    if findings.is_empty() {
        printed(&program);
    } else {
        assert!(program.items.is_empty() || !print(&program).is_empty());
    }
}

proptest! {
    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        survive(&String::from_utf8_lossy(&bytes));
    }

    #[test]
    fn any_tokens_are_survived(parts in prop::collection::vec(part(), 0..60)) {
        survive(&parts.join(" "));
        survive(&parts.concat());
    }

    #[test]
    fn damaged_policies_are_survived(
        (text, cuts) in (prop::sample::select(good()), prop::collection::vec((any::<u16>(), 0_u16..9, part()), 1..5)),
    ) {
        let mut text = text;
        for (at, length, part) in cuts {
            let mut start = usize::from(at) % (text.len() + 1);
            let mut end = (start + usize::from(length)).min(text.len());
            while !text.is_char_boundary(start) { start -= 1; }
            while !text.is_char_boundary(end) { end += 1; }
            text.replace_range(start..end, &part);
        }
        survive(&text);
    }
}

/// A piece of a policy.
fn part() -> impl Strategy<Value = String> {
    let signs =
        "( ) [ ] { } , ; : :- <: . ! = == != < <= > >= + - * / % ^ | $ @ # \" ' \\ /* */ // \n \r\n \t";
    let words = "x A R _ nil as count sum min max match contains true false cat range band lnot .decl .type .output .comp .plan \
                 #include #define choice-domain 1 1.5 0x1 99999999999999999999 5u \"a\" \"\\q\" p.q A(x) inline é \u{202e} \u{feff} \0";
    let parts: Vec<String> = signs.split(' ').chain(words.split(' ')).map(str::to_owned).collect();
    prop::sample::select(parts)
}

#[test]
fn large_nonsense_is_refused() {
    let half = 200_000;
    let rows = [
        "(",
        "[",
        "!",
        "- ",
        "$A($A(",
        "A(x) :- (",
        "A(x) :- !(",
        "A(sum x : {",
        "A(1 + ",
        "A(x.",
        "{",
        "\"",
        "/* ",
        ".comp {",
    ];
    for row in rows {
        let (program, findings) = parse(FileId(0), &row.repeat(half / row.len()));
        assert!(findings.len() == 1 || row == ".comp {", "{row}: {} findings", findings.len());
        assert!(program.items.len() <= 1, "{row}");
    }
}
