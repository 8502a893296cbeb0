//! The agents file, by the commands that read recordings.

use crate::support::{gatelog, root};

const SESSION: &str = "fixtures/agents/session.json";

fn records(more: &[&str]) -> String {
    let run = gatelog(&root(), &[&["records", "--format", "jsonl", SESSION], more].concat(), None);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run.stdout
}

/// Number, contents and inputs of each record.
fn lines(records: &str) -> Vec<String> {
    let row = |line: &str| {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {} {}", row["seq"], row["contents"], row["inputs"])
    };
    records.lines().map(row).collect()
}

#[test]
fn agents_are_shown_what_the_file_states() {
    insta::assert_snapshot!(lines(&records(&[])).join("\n"));
    insta::assert_snapshot!(lines(&records(&["--agents", "fixtures/agents/agents.yaml"])).join("\n"));
}

#[test]
fn reads_are_rows_and_assumptions_are_gone() {
    let facts = |more: &[&str]| {
        let line = ["facts", "--policy", "fixtures/policies/allow-all.dl", "--session", SESSION, "StateRead"];
        let run = gatelog(&root(), &[&line, more].concat(), None);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        run.stdout
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|row| row.1.to_owned())
            .collect::<Vec<_>>()
    };
    let stated = ["--agents", "fixtures/agents/agents.yaml"];
    assert_eq!(facts(&[]), [""; 0]);
    assert_eq!(facts(&stated), ["app\tlimit\t", "session\tdecision\t\"to Acme\""]);
    let replay = |more: &[&str]| {
        let line = ["replay", "--policy", "fixtures/policies/allow-all.dl", "--strict", SESSION];
        gatelog(&root(), &[&line, more].concat(), None)
    };
    let (without, with) = (replay(&[]), replay(&stated));
    assert_eq!(without.code, Some(1), "{}", without.stdout);
    assert!(without.stdout.contains("full history"), "{}", without.stdout);
    assert_eq!(with.code, Some(0), "{}", with.stdout);
}

#[test]
fn a_file_that_states_nothing_here_is_an_error() {
    let rows = [
        ("misspelt.yaml", "2:11: no recording has an agent `planer`"),
        ("unknown-key.yaml", "3:5: unknown key `include_content` in an agent"),
        ("missing.yaml", "missing.yaml"),
    ];
    for (file, said) in rows {
        let file = format!("fixtures/agents/{file}");
        for command in [
            &["replay", "--policy", "fixtures/policies/allow-all.dl", SESSION][..],
            &["records", SESSION],
            &["facts", "--policy", "fixtures/policies/allow-all.dl", "--session", SESSION],
            &["decide", "--policy", "fixtures/policies/allow-all.dl", "--session", SESSION],
        ] {
            let run = gatelog(&root(), &[command, &["--agents", &file]].concat(), Some("{\"tool\":\"pay\"}"));
            assert_eq!(run.code, Some(2), "{command:?} {file}: {}", run.stdout);
            assert!((run.stderr + &run.stdout).contains(said), "{command:?} {file}: {}", run.stdout);
        }
    }
}
