//! The shape of the source: who may name whom, where crates live, and what every room says of itself.

use std::path::{Path, PathBuf};

use crate::support::{entries, files, name, root, text};

/// Crates that only some rooms may name.
const HOMES: &[(&str, &[&str])] = &[
    ("annotate_snippets", &["source"]),
    ("clap", &["cli"]),
    ("crepe", &["program"]),
    ("ecow", &["records"]),
    ("getrandom", &["gate", "serve", "store"]),
    ("http_body_util", &["serve"]),
    ("hyper", &["serve"]),
    ("hyper_util", &["serve"]),
    ("hmac", &["recording"]),
    ("icu_casemap", &["functor"]),
    ("icu_normalizer", &["functor"]),
    ("icu_properties", &["functor"]),
    ("indicatif", &["cli"]),
    ("jiff", &["functor", "recording"]),
    ("lsp_server", &["lsp"]),
    ("lsp_types", &["lsp"]),
    // The program alone, which is no room.
    ("mimalloc", &[]),
    ("nom", &["syntax"]),
    ("prometheus_client", &["serve"]),
    ("psl", &["functor"]),
    ("regex", &["functor"]),
    ("rusqlite", &["store"]),
    ("rustix", &["serve"]),
    ("saphyr_parser", &["yaml"]),
    ("shuck_ast", &["functor"]),
    ("shuck_parser", &["functor"]),
    ("similar", &["cli"]),
    ("smallvec", &["lineage", "records"]),
    ("subtle", &["serve"]),
    ("tempfile", &["store"]),
    ("tokio", &["gate", "serve"]),
    ("tokio_rustls", &["serve"]),
    ("url", &["functor", "serve"]),
    // What reports look like is told by the types that write them.
    ("utoipa", &["report", "serve"]),
];

/// Rooms that must not know each other, whatever their order.
const WALLS: &[(&str, &[&str])] = &[
    ("engine", &["syntax", "recording", "records"]),
    ("functor", &["syntax"]),
    ("recording", &["value", "lineage", "syntax", "functor", "program", "engine"]),
    ("records", &["value", "syntax", "functor", "program", "engine"]),
    ("facts", &["syntax"]),
];

/// The longest file that one person still reads.
const LONGEST: usize = 800;

/// The rooms, in the order in which `lib.rs` lists them.
fn rooms() -> Vec<String> {
    let lib = text(&root().join("src/lib.rs"));
    let named = lib.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    named.map(str::to_owned).collect()
}

/// The files of a room: one file, or a folder.
fn files_of(room: &str) -> Vec<PathBuf> {
    let file = root().join(format!("src/{room}.rs"));
    if file.exists() { vec![file] } else { files(&root().join("src").join(room), ".rs") }
}

/// The file that a room opens with.
fn face(room: &str) -> PathBuf {
    let file = root().join(format!("src/{room}.rs"));
    if file.exists() { file } else { root().join(format!("src/{room}/mod.rs")) }
}

/// A line of code, with its number from 1, and whether it stands in the tests at the end of its file.
struct Line<'a> {
    number: usize,
    code: &'a str,
    in_tests: bool,
}

/// The lines of a file that are not comments. A file of a folder `tests` is all tests.
fn code<'a>(path: &Path, text: &'a str) -> Vec<Line<'a>> {
    let mut in_tests = path.components().any(|part| part.as_os_str() == "tests");
    let mut lines = Vec::new();
    for (place, line) in text.lines().enumerate() {
        in_tests |= line.trim() == "#[cfg(test)]";
        let code = line.trim();
        if !code.starts_with("//") {
            let code = code.split_once(" // ").map_or(code, |(before, _)| before);
            lines.push(Line { number: place + 1, code, in_tests });
        }
    }
    lines
}

fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// What follows each place where the path starts with `first::`.
fn paths<'a>(code: &'a str, first: &str) -> Vec<&'a str> {
    let start = format!("{first}::");
    let found = code.match_indices(&start).filter(|(at, _)| {
        !code.get(..*at).unwrap_or_default().ends_with(|before| is_word(before) || before == ':')
    });
    found.filter_map(|(at, _)| code.get(at + start.len()..)).collect()
}

/// The name that a text starts with; empty where it starts with something else.
fn first_word(text: &str) -> &str {
    text.split(|letter| !is_word(letter)).next().unwrap_or_default()
}

fn at(path: &Path, line: usize) -> String {
    format!("{}:{line}", path.strip_prefix(root()).unwrap_or(path).display())
}

/// What is wrong with the paths of one line.
fn faults_of_line(rooms: &[String], room: &str, line: &Line<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let place = |name: &str| rooms.iter().position(|other| other == name);
    for rest in paths(line.code, "crate") {
        let named = first_word(rest);
        if rest.starts_with('{') {
            faults.push("a grouped import hides which rooms it names".to_owned());
        } else if place(named).is_none() {
            faults.push(format!("`crate::{named}` is no room"));
        } else if place(named) > place(room) {
            faults.push(format!("`{room}` stands above `{named}` and may not name it"));
        } else if WALLS.iter().any(|(of, barred)| *of == room && barred.contains(&named)) {
            faults.push(format!("`{room}` may not know `{named}`"));
        }
    }
    // The tests of a room may borrow from one another.
    let usual = line.in_tests && line.code.starts_with("use super::");
    if !usual && !paths(line.code, "super").is_empty() {
        faults.push("`super` hides which room is named".to_owned());
    }
    for (package, homes) in HOMES {
        let named = !paths(line.code, package).is_empty() || line.code == format!("use {package};");
        if named && !homes.contains(&room) {
            faults.push(format!("`{package}` belongs to [{}]", homes.join(", ")));
        }
    }
    faults
}

#[test]
fn rooms_name_only_rooms_above() {
    let rooms = rooms();
    assert!(rooms.len() > 10, "lib.rs lists its rooms as `pub mod room;`: {rooms:?}");
    let mut faults = Vec::new();
    for room in &rooms {
        let of_room = files_of(room);
        assert!(!of_room.is_empty(), "`{room}` has no file");
        for path in of_room {
            for line in code(&path, &text(&path)) {
                let found = faults_of_line(&rooms, room, &line);
                faults.extend(found.iter().map(|fault| format!("{}: {fault}", at(&path, line.number))));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// `lib.rs` lists rooms and nothing else; every file of `src` belongs to one of them.
#[test]
fn the_root_is_bare() {
    let mut faults = Vec::new();
    let lib = root().join("src/lib.rs");
    for line in code(&lib, &text(&lib)) {
        let listed = line.code.starts_with("pub mod ") || line.code.starts_with("#[cfg(feature");
        if !listed && !line.code.is_empty() {
            faults.push(format!("{}: `{}` belongs in a room", at(&lib, line.number), line.code));
        }
    }
    let rooms = rooms();
    for path in entries(&root().join("src")) {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if !matches!(stem.as_str(), "lib" | "main") && !rooms.contains(&stem) {
            faults.push(format!("{}: in no room", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_room_shows_its_face() {
    let mut faults = Vec::new();
    for room in rooms() {
        let path = face(&room);
        let text = text(&path);
        let opening: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        let opening = opening.join("\n");
        for word in ["In:", "Out:", "Never:"] {
            if !opening.contains(word) {
                faults.push(format!("{}: its opening does not say `{word}`", at(&path, 1)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn no_file_is_too_long() {
    let mut faults = Vec::new();
    for folder in ["src", "tests"] {
        for path in files(&root().join(folder), ".rs") {
            let lines = text(&path).lines().count();
            if lines > LONGEST {
                faults.push(format!("{}: longer than {LONGEST} lines", at(&path, lines)));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A folder of fixtures that no test names is read by none.
#[test]
fn every_fixture_folder_is_read() {
    let tests: String = files(&root().join("tests"), ".rs").iter().map(|path| text(path)).collect();
    for folder in entries(&root().join("fixtures")) {
        let folder = name(&folder);
        let named = tests.contains(&format!("fixtures/{folder}")) || tests.contains(&format!("\"{folder}/"));
        assert!(named, "fixtures/{folder} is read by no test");
    }
}

/// The test itself sees what it is there for.
#[test]
fn the_test_can_fail() {
    let rooms: Vec<String> = ["source", "syntax", "engine", "recording", "cli"].map(str::to_owned).into();
    let faults = |room: &str, text: &str| -> usize {
        code(Path::new("room.rs"), text).iter().map(|line| faults_of_line(&rooms, room, line).len()).sum()
    };
    let rows = [
        ("syntax", "use crate::source::Span;", 0),
        ("syntax", "use crate::engine::Model;", 1),
        ("syntax", "fn f(x: crate::cli::Exit) -> crate::engine::Model {", 2),
        ("syntax", "use crate::{source, engine};", 1),
        ("syntax", "let x = crate::run();", 1),
        ("syntax", "// crate::engine is below", 0),
        ("syntax", "use super::ast;", 1),
        ("syntax", "#[cfg(test)]\nmod tests {\n    use super::*;\n}", 0),
        ("syntax", "use super::*;", 1),
        ("syntax", "#[cfg(test)]\nfn f(x: super::Y) {}", 1),
        ("syntax", "use nom::Parser;", 0),
        ("engine", "use nom::Parser;", 1),
        ("engine", "use crate::syntax::nom::x;", 1),
        ("recording", "use crate::engine::Model;", 1),
        ("cli", "let x = my_clap::y;", 0),
        ("source", "fn f() { url::Url::parse(x) }", 1),
    ];
    for (room, text, expected) in rows {
        assert_eq!(faults(room, text), expected, "{room}: {text}");
    }
}
