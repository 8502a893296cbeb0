//! What is printed for machines, against `docs/schema/output.json`.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::support::{gatelog, root, text};

/// Command lines, in the root of the repository, with the definition that fits what they print.
const DOCUMENTS: &[(&str, &str)] = &[
    ("replay", "replay --format json --policy policies/payment.dl fixtures/sessions"),
    ("replay", "replay --format json --policy policies/payment.dl fixtures/cli/stopped.json"),
    (
        "replay",
        "replay --format json --strict --policy policies/payment.dl fixtures/sessions/payment-approved.json",
    ),
    ("replay", "replay --format json --policy policies/payment.dl fixtures/cli"),
    (
        "replay",
        "replay --format json --policy policies/payment.dl fixtures/cli/allowed.json fixtures/cli/missing.json",
    ),
    ("check_findings", "replay --format json --policy fixtures/cli/broken.dl fixtures/cli/session.json"),
    ("decide", "decide --format json --policy policies/egress.dl"),
    (
        "decide",
        "decide --format json --policy policies/payment.dl --session fixtures/sessions/payment-approved.json",
    ),
    ("check_findings", "check --format json fixtures/cli/broken.dl"),
    ("check_findings", "check --format json fixtures/cli/findings.dl"),
    ("check_findings", "check --format json fixtures/cli/fixes.dl"),
    ("test", "test --format json policies"),
    ("test", "test --format json fixtures/cli/failing.test.yaml"),
    ("test", "test --format json fixtures/cli/empty.test.yaml"),
    (
        "explain",
        "explain --format json --policy policies/payment.dl --session fixtures/sessions/payment-approved.json",
    ),
    (
        "explain_cost",
        "explain --cost --format json --policy policies/payment.dl --session fixtures/sessions/payment-approved.json",
    ),
    ("bench", "bench --format json --policy policies/payment.dl fixtures/sessions/payment-approved.json"),
    ("diff", "diff --format json policies/payment.dl policies/egress.dl fixtures/sessions"),
    (
        "facts",
        "facts --format json --policy policies/payment.dl --session fixtures/sessions/payment-approved.json",
    ),
    ("import", "import --list --format json --from adk-sqlite fixtures/database/python-v1.db"),
    ("version", "version --json"),
    ("error", "records --format jsonl fixtures/cli/missing.json"),
];

/// The same, for what is printed a document a line.
const LINES: &[(&str, &str)] = &[
    ("replay_line", "replay --format jsonl --policy policies/payment.dl fixtures/sessions"),
    ("replay_line", "replay --format jsonl --strict --policy policies/payment.dl fixtures/sessions"),
    ("replay_line", "replay --format jsonl --policy policies/payment.dl fixtures/cli/stopped.json"),
    ("record_line", "records --format jsonl fixtures/sessions"),
];

const REQUEST: &str = r#"{"actions": [{"tool": "http_get", "args": {"url": "http://169.254.169.254/"}}, {"send": {"text": "done"}}, {"http": {"url": "https://example.com/"}}]}"#;

fn schema() -> Value {
    serde_json::from_str(&text(&root().join("docs/schema/output.json"))).unwrap()
}

fn validator(definition: &str) -> jsonschema::Validator {
    let mut schema = schema();
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::validator_for(&schema).unwrap()
}

fn printed(line: &str) -> String {
    let words: Vec<_> = line.split(' ').collect();
    let ran = gatelog(&root(), &words, line.starts_with("decide").then_some(REQUEST));
    if ran.stdout.is_empty() { format!("nothing but {}", ran.stderr) } else { ran.stdout }
}

/// Where a document does not fit.
fn faults(validator: &jsonschema::Validator, document: &str, line: &str) -> Vec<String> {
    let document: Value = match serde_json::from_str(document) {
        Ok(document) => document,
        Err(fault) => return vec![format!("{line}: {fault}")],
    };
    validator
        .iter_errors(&document)
        .map(|fault| format!("{line}: {}: {fault}", fault.instance_path()))
        .collect()
}

#[test]
fn documents_fit_their_schema() {
    let all =
        DOCUMENTS.iter().flat_map(|(definition, line)| faults(&validator(definition), &printed(line), line));
    let faults: Vec<_> = all.collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn lines_fit_their_schema() {
    let mut faults_of_all = Vec::new();
    for (definition, line) in LINES {
        let validator = validator(definition);
        for document in printed(line).lines() {
            faults_of_all.extend(faults(&validator, document, line));
        }
    }
    assert!(faults_of_all.is_empty(), "{faults_of_all:#?}");
}

/// A schema that takes anything would pass the tests above.
#[test]
fn what_is_not_described_does_not_fit() {
    let broken = [
        ("version", json!({"name": "gatelog"})),
        ("version", json!({"name": "gatelog", "version": "1", "more": 1})),
        ("notice", json!({"kind": "k", "text": 1})),
        ("replay_line", json!({"type": "check"})),
        ("decision", json!({"verdict": "maybe", "reasons": [], "routes": [], "transforms": []})),
    ];
    for (definition, document) in broken {
        assert!(!validator(definition).is_valid(&document), "{document} passes for a {definition}");
    }
}

#[test]
fn every_definition_is_used_or_tested() {
    let schema = schema();
    let mut met: BTreeSet<String> =
        DOCUMENTS.iter().chain(LINES).map(|(name, _)| (*name).to_owned()).collect();
    let mut left = vec![&schema["$defs"]];
    while let Some(value) = left.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(name)) = fields.get("$ref") {
                    met.insert(name.trim_start_matches("#/$defs/").to_owned());
                }
                left.extend(fields.values());
            }
            Value::Array(items) => left.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    let unmet: Vec<_> =
        schema["$defs"].as_object().unwrap().keys().filter(|name| !met.contains(*name)).collect();
    assert!(unmet.is_empty(), "no command prints {unmet:?}");
}
