//! What recordings become: each part with all of its fields, and no secret anywhere.

use std::fmt::Write as _;

use gatelog::recording::{self, Options, Parts};
use gatelog::records::{Graph, SessionFact};
use gatelog::report::records::{Width, text};
use insta::{assert_snapshot, glob};

use crate::support::{Run, entries, gatelog, name, root};

/// The graph of a recording.
fn made(bytes: &[u8], parts: Parts) -> Graph {
    let options = Options { parts, ..Options::default() };
    let mut graph = Graph::default();
    graph.set_parts(parts);
    for recording in recording::read(bytes, &options).unwrap() {
        assert_eq!(recording.stop, None);
        for event in &recording.events {
            graph.extend(event).unwrap();
        }
    }
    graph
}

/// The records, the metadata of each, and what is known beside them.
fn all(graph: &Graph) -> String {
    let mut out = text(graph, Width::Narrow);
    for (seq, record) in graph.records().iter().enumerate() {
        let _ = writeln!(out, "{seq} {:?} {}", record.role(), record.metadata().as_deref().unwrap_or("none"));
    }
    for fact in graph.facts().iter() {
        match &fact {
            SessionFact::ToolResult { .. }
            | SessionFact::ToolOutcome { .. }
            | SessionFact::ToolOutput { .. } => {
                let _ = writeln!(out, "{fact:?}");
            }
            SessionFact::ProposedCall { .. }
            | SessionFact::Confirmation { .. }
            | SessionFact::StateWrite { .. }
            | SessionFact::StateRead { .. }
            | SessionFact::ArtifactWrite { .. }
            | SessionFact::ArtifactRead { .. }
            | SessionFact::EdgePrincipal { .. }
            | SessionFact::EdgeEntity { .. }
            | SessionFact::ToolSource { .. }
            | SessionFact::SessionUser { .. } => {}
        }
    }
    for notice in graph.warnings() {
        let _ = writeln!(out, "warning {}: {}", notice.kind, notice.text);
    }
    out
}

#[test]
fn every_field_of_a_part() {
    glob!("../../fixtures", "records/full/*.json", |path| {
        let bytes = std::fs::read(path).unwrap();
        assert_snapshot!(all(&made(&bytes, Parts::Full)));
    });
}

/// What the adapter must get exactly right: numbers, ids, answers, branches, scopes, rewinds, summaries, errors. Each file
/// shows one thing, and reading all parts changes none of it.
#[test]
fn exactly() {
    glob!("../../fixtures", "records/exact/*.json", |path| {
        let bytes = std::fs::read(path).unwrap();
        let shown = all(&made(&bytes, Parts::Supported));
        assert_eq!(shown, all(&made(&bytes, Parts::Full)), "{}", path.display());
        assert_snapshot!(shown);
    });
}

/// A session is judged alike whether its parts are read by default or in full, where both read it.
#[test]
fn full_reading_adds_and_never_changes() {
    let sessions =
        [entries(&root().join("fixtures/sessions")), entries(&root().join("fixtures/records/exact"))];
    let mut alike = 0;
    for path in sessions.iter().flatten().filter(|path| name(path).ends_with(".json")) {
        let bytes = std::fs::read(path).unwrap();
        let stops =
            recording::read(&bytes, &Options::default()).map(|all| all.iter().any(|one| one.stop.is_some()));
        if stops.is_ok_and(|stops| !stops) {
            assert_eq!(
                made(&bytes, Parts::Supported).records(),
                made(&bytes, Parts::Full).records(),
                "{}",
                path.display()
            );
            alike += 1;
        }
    }
    assert!(alike > 40, "{alike} sessions were compared");
}

/// However a library spells its keys and bytes, the records are the same.
#[test]
fn spellings_make_no_difference() {
    let folder = root().join("fixtures/records/full");
    let read = |file: &str| made(&std::fs::read(folder.join(file)).unwrap(), Parts::Full);
    let (camel, snake) = (read("every-field.json"), read("every-field-in-snake-case.json"));
    assert_eq!(camel.records(), snake.records());
    assert_eq!(camel.facts(), snake.facts());
}

/// What stands for a secret in the fixtures.
const SECRETS: [&str; 6] =
    ["hush", "user-gave-this", "X-Test-Key", "adk_apiKey_", "7777777", "aHVzaC1ieXRlcw=="];

#[test]
fn secrets_reach_no_output() {
    let mut runs = 0;
    for path in entries(&root().join("fixtures/records/secrets")) {
        let file = format!("fixtures/records/secrets/{}", name(&path));
        for parts in ["supported", "full"] {
            for line in [
                "replay --policy fixtures/policies/allow-all.dl @",
                "replay --policy fixtures/policies/allow-all.dl --format json --strict @",
                "replay --policy fixtures/policies/allow-all.dl --format jsonl @",
                "records @",
                "records --wide @",
                "records --format jsonl @",
                "facts --policy fixtures/policies/allow-all.dl --session @",
                "facts --policy fixtures/policies/allow-all.dl --format csv --session @",
                "facts --policy fixtures/policies/allow-all.dl --format json --session @",
                "facts --policy fixtures/policies/allow-all.dl --call k1 --session @",
                "decide --policy fixtures/policies/allow-all.dl --format json --session @",
            ] {
                let words: Vec<&str> =
                    line.split(' ').map(|word| if word == "@" { file.as_str() } else { word }).collect();
                let run =
                    gatelog(&root(), &[&words[..], &["--parts", parts]].concat(), Some(r#"{"tool": "pay"}"#));
                silent(&run, &format!("{line} {file} --parts {parts}"));
                runs += 1;
            }
        }
    }
    assert_eq!(runs, 9 * 2 * 11);
}

/// The run said something, and no secret.
fn silent(run: &Run, line: &str) {
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(!said.is_empty(), "{line}");
    for secret in SECRETS {
        let at = said.lines().find(|line| line.contains(secret));
        assert_eq!(at, None, "{line}: `{secret}` is told");
    }
}
