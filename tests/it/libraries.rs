//! One conversation in the forms in which libraries write it: the records are the same, but where a format says less.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use gatelog::lineage::RecordId;
use gatelog::recording::{self, Options, PartKind, Recording};
use gatelog::records::Graph;
use insta::assert_snapshot;

use crate::support::{entries, gatelog, name, root};

/// The forms whose records differ from those of the newest Python library, or of JS where that has no form, and why.
const DIFFERENT: &[(&str, &str, &str)] = &[
    ("auth-request", "py115.json", "the model spoke once more while the answer was missing"),
    ("auth-request", "py139.json", "the same"),
    ("confirmation-approved", "js.event_data.jsonl", "no placeholder answers the call that waits"),
    ("confirmation-approved", "js.json", "the same"),
    ("confirmation-approved", "py115.json", "the model spoke once more while the answer was missing"),
    ("state-and-templates", "py115.json", "`temp:` keys are kept"),
    ("thoughts", "rust.json", "text has no signature"),
    ("transfer-three-agents", "js.event_data.jsonl", "two spellings of the agent's name, and another answer"),
    ("transfer-three-agents", "js.json", "the same"),
    ("transfer-three-agents", "py115.json", "the last transfer is taken"),
    ("transfer-three-agents", "py139.json", "the same"),
    ("transfer-three-agents", "rust.json", "transfers are not answered"),
];

/// The conversations: name, and the forms of each with the one that the others are compared with first.
fn conversations() -> Vec<(String, Vec<PathBuf>)> {
    let folders = entries(&root().join("fixtures/sessions/same")).into_iter().filter(|path| path.is_dir());
    let mut all = Vec::new();
    for folder in folders {
        let mut forms = entries(&folder);
        forms.sort_by_key(|path| (!matches!(name(path).as_str(), "py213.json" | "js.json"), name(path)));
        forms.sort_by_key(|path| name(path) != "py213.json");
        all.push((name(&folder), forms));
    }
    all
}

fn read(path: &Path) -> Recording {
    let bytes = std::fs::read(path).unwrap();
    let mut recordings = recording::read(&bytes, &Options::default())
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert_eq!(recordings.len(), 1, "{}", path.display());
    recordings.remove(0)
}

/// What tells a run from another run of the same conversation: ids, each with a name by its first use.
fn ids(recording: &Recording) -> Vec<(String, String)> {
    let mut names: BTreeMap<String, String> = BTreeMap::new();
    let mut order = Vec::new();
    let mut meet = |id: &str, kind: &str| {
        if !id.is_empty() && !names.contains_key(id) {
            let name = format!("{kind}-{}", names.len());
            names.insert(id.to_owned(), name.clone());
            order.push((id.to_owned(), name));
        }
    };
    for event in &recording.events {
        for part in &event.parts {
            match &part.kind {
                PartKind::Call { id, .. } | PartKind::Response { id, .. } => meet(id, "call"),
                _ => {}
            }
        }
    }
    // The longest first, so that no id is taken for the beginning of another.
    order.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
    order
}

/// The records and facts of a session, a line each, without ids and times.
fn told(recording: &Recording) -> Vec<String> {
    let mut graph = Graph::default();
    graph.set_session(&recording.app_name, "", "");
    let mut end =
        recording.stop.as_ref().map(|stop| format!("stop {} at {:?}", stop.kind.name(), stop.event));
    for event in &recording.events {
        if let Err(stop) = graph.extend(event) {
            end = Some(format!("stop {} at {:?}", stop.kind.name(), stop.event));
            break;
        }
    }
    let mut lines = Vec::new();
    for (number, record) in graph.records().iter().enumerate() {
        let from = graph.lineage().inputs(RecordId(u32::try_from(number).unwrap_or(u32::MAX)));
        let from: Vec<_> = graph.lineage().members(from).into_iter().map(|input| input.0).collect();
        let branch = record.event().map_or_else(String::new, |event| event.branch.to_string());
        let mut line =
            format!("{number} {} {:?} {:?} {branch}", record.agent(), record.role(), record.kind());
        let _ = write!(line, " {} {} from {from:?}", record.contents(), record.tools_json());
        let _ = write!(line, " {}", record.metadata().as_deref().unwrap_or("none"));
        lines.push(line);
    }
    lines.extend(graph.facts().iter().map(|fact| format!("{fact:?}")));
    lines
        .extend(recording.unread_calls.iter().map(|call| format!("unread {} {}", call.tool, call.arguments)));
    lines.extend(end);
    let ids = ids(recording);
    for line in &mut lines {
        for (id, name) in &ids {
            *line = line.replace(id, name);
        }
    }
    lines
}

/// The lines of two lists that have no partner in the other.
fn apart(base: &[String], other: &[String]) -> Vec<String> {
    let gone = base.iter().filter(|line| !other.contains(line)).map(|line| format!("  - {line}"));
    let new = other.iter().filter(|line| !base.contains(line)).map(|line| format!("  + {line}"));
    gone.chain(new).collect()
}

#[test]
fn one_conversation_has_the_same_records_in_every_library() {
    let mut different = BTreeSet::new();
    for (conversation, forms) in conversations() {
        let mut forms = forms.iter();
        let base = told(&read(forms.next().unwrap()));
        let mut shown = base.join("\n");
        for form in forms {
            let told = told(&read(form));
            if told == base {
                let _ = write!(shown, "\n{}: the same", name(form));
            } else {
                let _ = write!(shown, "\n{}: differs\n{}", name(form), apart(&base, &told).join("\n"));
                different.insert((conversation.clone(), name(form)));
            }
        }
        insta::with_settings!({snapshot_suffix => conversation.clone()}, { assert_snapshot!(shown) });
    }
    let expected: BTreeSet<_> = DIFFERENT
        .iter()
        .map(|(conversation, form, _)| ((*conversation).to_owned(), (*form).to_owned()))
        .collect();
    assert_eq!(different, expected);
}

/// What only one library writes: how it is recorded, and what counts as a result.
#[test]
fn what_one_library_alone_writes_is_recorded() {
    for file in ["rust-events.json", "rust-no-call-ids.json", "java.json", "kotlin.json", "go-workflow.jsonl"]
    {
        let told = told(&read(&root().join("fixtures/recording/ok").join(file))).join("\n");
        insta::with_settings!({snapshot_suffix => file}, { assert_snapshot!(told) });
    }
}

/// For each file, tool and verdict of each call, in order, and where the session stopped.
fn verdicts(forms: &[PathBuf]) -> Vec<Vec<String>> {
    let mut arguments = ["replay", "--policy", "fixtures/sessions/same/policy.dl", "--format", "json"]
        .map(str::to_owned)
        .to_vec();
    arguments.extend(forms.iter().map(|form| form.to_string_lossy().into_owned()));
    let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
    let run = gatelog(&root(), &arguments, None);
    let report: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    let sessions = report.get("sessions").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    let all: Vec<_> = sessions.iter().map(rows).collect();
    assert_eq!(all.len(), forms.len(), "{}", run.stderr);
    all
}

fn rows(session: &serde_json::Value) -> Vec<String> {
    let word = |check: &serde_json::Value, key: &str| {
        check.get(key).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    let checks = session.get("checks").and_then(serde_json::Value::as_array).cloned().unwrap_or_default();
    let mut rows: Vec<_> =
        checks.iter().map(|check| format!("{} {}", word(check, "tool"), word(check, "verdict"))).collect();
    rows.extend(session.pointer("/error/kind").map(|kind| format!("stop {kind}")));
    rows
}

#[test]
fn one_conversation_gets_the_same_verdicts_in_every_library() {
    let mut decided = BTreeSet::new();
    for (conversation, forms) in conversations() {
        let all = verdicts(&forms);
        for (form, verdicts) in forms.iter().zip(&all) {
            assert_eq!(Some(verdicts), all.first(), "{conversation}: {}", name(form));
        }
        decided.extend(all.into_iter().flatten());
    }
    let stop = "stop \"unsupported_part\"";
    let expected = [
        "send_email deny",
        "send_email allow",
        "charge_card deny",
        "get_weather deny",
        "wipe_disk allow",
        stop,
    ];
    for expected in expected {
        assert!(decided.contains(expected), "{expected} in {decided:?}");
    }
}
