//! Cases from users' reports: each folder states in `expect.json` what the binary has to answer.
//!
//! Every step of every folder is run.

use std::collections::BTreeMap;
use std::path::Path;

use regex::Regex;
use serde_json::{Map, Value};

use crate::support::{Run, entries, gatelog, name, root, text};

#[test]
fn cases() {
    let mut faults = Vec::new();
    let mut steps = 0_usize;
    for folder in entries(&root().join("fixtures/cases")).iter().filter(|path| path.is_dir()) {
        let script: Vec<Map<String, Value>> = serde_json::from_str(&text(&folder.join("expect.json")))
            .unwrap_or_else(|fault| panic!("{}: {fault}", folder.display()));
        for step in &script {
            steps += 1;
            let case = name(folder);
            let arguments = words(step.get("run")).join(" ");
            let found = check(folder, step);
            faults.extend(found.iter().map(|fault| format!("{case}: {arguments}: {fault}")));
        }
    }
    assert!(faults.is_empty(), "{} faults in {steps} steps:\n{}", faults.len(), faults.join("\n"));
}

/// Runs a step and says what is not as expected.
fn check(folder: &Path, step: &Map<String, Value>) -> Vec<String> {
    let arguments = words(step.get("run"));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let run = gatelog(folder, &arguments, step.get("stdin").and_then(Value::as_str));
    let document: Value = serde_json::from_str(&run.stdout).unwrap_or(Value::Null);
    let output = format!("{}{}", run.stdout, run.stderr);
    let mut faults = Vec::new();
    for (key, wanted) in step {
        let found = match key.as_str() {
            "run" | "stdin" | "needs" => Vec::new(),
            "exit" => exit(&run, wanted),
            "verdicts" => verdicts(&document, wanted),
            "outcomes" => outcomes(&document, wanted),
            "reasons" => reasons(&document, wanted, Wanted::Present),
            "not_reasons" => reasons(&document, wanted, Wanted::Absent),
            "findings" => findings(&document, wanted, Wanted::Present),
            "not_findings" => findings(&document, wanted, Wanted::Absent),
            "assumptions" => assumptions(&document, wanted),
            "session_error" => session_error(&document, wanted),
            "stdout_contains" => contains(&run.stdout, wanted, Wanted::Present),
            "stdout_not_contains" => contains(&run.stdout, wanted, Wanted::Absent),
            "stderr_contains" => contains(&run.stderr, wanted, Wanted::Present),
            "stderr_not_contains" => contains(&run.stderr, wanted, Wanted::Absent),
            "output_contains" => contains(&output, wanted, Wanted::Present),
            "output_not_contains" => contains(&output, wanted, Wanted::Absent),
            "stdout_json" => fault(document.is_null(), "standard output is not JSON"),
            "stdout_max_lines" => lines(&run, wanted),
            "seconds" => fault(run.took.as_secs_f64() > wanted.as_f64().unwrap_or_default(), "took too long"),
            other => vec![format!("unknown key `{other}`")],
        };
        faults.extend(found);
    }
    if !faults.is_empty() && !run.stderr.is_empty() {
        faults
            .push(format!("standard error: {}", run.stderr.lines().take(3).collect::<Vec<_>>().join(" / ")));
    }
    faults
}

/// Whether something has to be there or must not be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Present,
    Absent,
}

fn fault(holds: bool, words: &str) -> Vec<String> {
    if holds { vec![words.to_owned()] } else { Vec::new() }
}

/// A text, or the texts of a list.
fn words(value: Option<&Value>) -> Vec<String> {
    list(value).iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
}

/// A list as it is, nothing as an empty list, and anything else as a list of one.
fn list(value: Option<&Value>) -> Vec<Value> {
    match value {
        None => Vec::new(),
        Some(Value::Array(values)) => values.clone(),
        Some(other) => vec![other.clone()],
    }
}

/// Whether a value is the wanted one, or one of those.
fn any_of(value: &Value, wanted: &Value) -> bool {
    list(Some(wanted)).contains(value)
}

fn field<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn exit(run: &Run, wanted: &Value) -> Vec<String> {
    let code = run.code.map_or(Value::Null, Value::from);
    fault(!any_of(&code, wanted), &format!("exit {code}, not {wanted}"))
}

fn lines(run: &Run, wanted: &Value) -> Vec<String> {
    let count = run.stdout.lines().count() as u64;
    fault(count > wanted.as_u64().unwrap_or_default(), &format!("{count} lines, at most {wanted} wanted"))
}

/// Whether the text holds the word, or matches the expression after `re:`.
fn mentions(text: &str, word: &str) -> bool {
    match word.strip_prefix("re:") {
        None => text.contains(word),
        Some(pattern) => {
            Regex::new(pattern).unwrap_or_else(|fault| panic!("{pattern}: {fault}")).is_match(text)
        }
    }
}

fn contains(text: &str, wanted: &Value, how: Wanted) -> Vec<String> {
    let mut faults = Vec::new();
    for one in list(Some(wanted)) {
        let met = words(Some(&one)).iter().any(|word| mentions(text, word));
        if met != (how == Wanted::Present) {
            let start: String = text.chars().take(300).collect();
            faults.push(format!("{} {one} in: {start}", if met { "there is" } else { "there is no" }));
        }
    }
    faults
}

fn sessions(document: &Value) -> Vec<Value> {
    list(document.get("sessions"))
}

/// The reported calls of all sessions, in order.
fn calls(document: &Value) -> Vec<Value> {
    sessions(document).iter().flat_map(|session| list(session.get("checks"))).collect()
}

fn verdicts(document: &Value, wanted: &Value) -> Vec<String> {
    let calls = calls(document);
    match wanted {
        Value::Object(by_call) => verdicts_by_call(&calls, by_call),
        other => verdicts_in_order(&calls, &list(Some(other))),
    }
}

fn verdicts_by_call(calls: &[Value], wanted: &Map<String, Value>) -> Vec<String> {
    // A call that was decided again counts with its last verdict.
    let mut last: BTreeMap<&str, &str> = BTreeMap::new();
    for call in calls {
        last.insert(field(call, "call_id"), field(call, "verdict"));
    }
    let mut faults = Vec::new();
    for (call, verdict) in wanted {
        let got = last.remove(call.as_str()).unwrap_or("absent");
        faults.extend(fault(!any_of(&Value::from(got), verdict), &format!("{call}: {got}, not {verdict}")));
    }
    faults.extend(last.iter().map(|(call, verdict)| format!("{call}: {verdict}, and it is not named")));
    faults
}

fn verdicts_in_order(calls: &[Value], wanted: &[Value]) -> Vec<String> {
    if calls.len() != wanted.len() {
        return vec![format!("{} calls reported, {} wanted", calls.len(), wanted.len())];
    }
    let mut faults = Vec::new();
    for (call, row) in calls.iter().zip(wanted) {
        for (key, value) in row.as_object().into_iter().flatten() {
            let key = if key == "call" { "call_id" } else { key };
            let got = call.get(key).unwrap_or(&Value::Null);
            faults.extend(fault(!any_of(got, value), &format!("{key} {got}, not {value}")));
        }
    }
    faults
}

fn outcomes(document: &Value, wanted: &Value) -> Vec<String> {
    let calls = calls(document);
    let mut faults = Vec::new();
    for (id, outcome) in wanted.as_object().into_iter().flatten() {
        let got = calls.iter().rev().find(|call| field(call, "call_id") == id);
        let got = got.and_then(|call| call.get("outcome")).unwrap_or(&Value::Null);
        faults.extend(fault(!any_of(got, outcome), &format!("outcome of {id}: {got}, not {outcome}")));
    }
    faults
}

/// Whether a reason or finding has each wanted property: `line` is one of those, `file` is its last part, `mentions` are
/// all in `text`, and anything else is equal.
fn fits(value: &Value, text: &str, wanted: &Value) -> bool {
    wanted.as_object().into_iter().flatten().all(|(key, want)| match key.as_str() {
        "mentions" => contains(text, want, Wanted::Present).is_empty(),
        "file" => want.as_str().is_some_and(|file| name(Path::new(field(value, "file"))) == file),
        "kind" if want == "any" => true,
        _ => any_of(value.get(key).unwrap_or(&Value::Null), want),
    })
}

/// Every text inside a value, file names aside, on lines of their own.
fn prose(value: &Value) -> String {
    let mut texts = String::new();
    let mut waiting = vec![value];
    while let Some(next) = waiting.pop() {
        match next {
            Value::String(text) => {
                texts.push_str(text);
                texts.push('\n');
            }
            Value::Array(values) => waiting.extend(values),
            Value::Object(fields) => {
                waiting.extend(fields.iter().filter(|(key, _)| *key != "file").map(|(_, value)| value));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    texts
}

fn among(found: &[Value], wanted: &Value, how: Wanted, what: &str) -> Vec<String> {
    let mut faults = Vec::new();
    for one in list(Some(wanted)) {
        let met = found.iter().any(|value| fits(value, &prose(value), &one));
        if met != (how == Wanted::Present) {
            let there = if met { "there is" } else { "there is no" };
            faults.push(format!("{there} {what} {one} among {}", Value::from(found.to_vec())));
        }
    }
    faults
}

fn reasons(document: &Value, wanted: &Value, how: Wanted) -> Vec<String> {
    let calls = calls(document);
    let mut faults = Vec::new();
    for (id, reasons) in wanted.as_object().into_iter().flatten() {
        match calls.iter().rev().find(|call| field(call, "call_id") == id) {
            Some(call) => faults.extend(among(&list(call.get("reasons")), reasons, how, "reason")),
            None => faults.push(format!("{id} is not reported")),
        }
    }
    faults
}

fn findings(document: &Value, wanted: &Value, how: Wanted) -> Vec<String> {
    match document.get("findings") {
        Some(found) => among(&list(Some(found)), wanted, how, "finding"),
        None => vec!["there are no `findings`".to_owned()],
    }
}

/// Each wanted assumption is a list of mentions that one reported assumption has to hold.
fn assumptions(document: &Value, wanted: &Value) -> Vec<String> {
    let sessions = sessions(document);
    let told: Vec<String> =
        sessions.iter().flat_map(|session| list(session.get("assumptions"))).map(|one| prose(&one)).collect();
    let mut faults = Vec::new();
    for one in list(Some(wanted)) {
        let met = told.iter().any(|text| contains(text, &one, Wanted::Present).is_empty());
        faults.extend(fault(!met, &format!("no assumption {one} among {told:?}")));
    }
    faults
}

/// One expectation for all sessions, or a list with one for each.
fn session_error(document: &Value, wanted: &Value) -> Vec<String> {
    let errors: Vec<Value> = sessions(document)
        .iter()
        .map(|session| session.get("error").cloned().unwrap_or(Value::Null))
        .collect();
    let wanted = match wanted {
        Value::Array(each) => each.clone(),
        one => vec![one.clone(); errors.len().max(1)],
    };
    if errors.len() != wanted.len() {
        return vec![format!("{} sessions, {} wanted", errors.len(), wanted.len())];
    }
    let mut faults = Vec::new();
    for (error, want) in errors.iter().zip(&wanted) {
        let met = match want {
            Value::Null => error.is_null(),
            Value::String(kind) => !error.is_null() && (kind == "any" || field(error, "kind") == kind),
            other => !error.is_null() && fits(error, &prose(error), other),
        };
        faults.extend(fault(!met, &format!("session error {error}, not {want}")));
    }
    faults
}
