//! One conversation in the forms that the libraries write: the same verdicts in all of them.

use crate::support::{gatelog, root, text};

/// Tool, arguments, verdict and outcome of each call of a replay.
fn verdicts(policy: &str, recording: &str) -> Vec<String> {
    let policy = format!("fixtures/policies/{policy}.dl");
    let run = gatelog(&root(), &["replay", "--policy", &policy, "--format", "json", "-"], Some(recording));
    let document: serde_json::Value =
        serde_json::from_str(&run.stdout).unwrap_or_else(|fault| panic!("{fault}: {}", run.stdout));
    let list = |value: &serde_json::Value, key: &str| {
        value.get(key).and_then(|list| list.as_array()).cloned().unwrap_or_default()
    };
    let checks =
        list(&document, "sessions").iter().flat_map(|session| list(session, "checks")).collect::<Vec<_>>();
    let word =
        |check: &serde_json::Value, key: &str| check.get(key).map(ToString::to_string).unwrap_or_default();
    let row = |check: &serde_json::Value| {
        ["tool", "args", "verdict", "outcome"].map(|key| word(check, key)).join(" ")
    };
    checks.iter().map(row).collect()
}

fn fixture(name: &str) -> String {
    text(&root().join("fixtures/recording/ok").join(name))
}

/// The events of a list as server-sent events.
fn stream(list: &str) -> String {
    let events: Vec<serde_json::Value> = serde_json::from_str(list).unwrap_or_default();
    events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect()
}

/// The events of a session as a golden file: without times, with counted ids.
fn golden(session: &str) -> String {
    let session: serde_json::Value = serde_json::from_str(session).unwrap_or_default();
    let mut events = session.get("events").cloned().unwrap_or_default();
    for (index, event) in events.as_array_mut().into_iter().flatten().enumerate() {
        if let Some(event) = event.as_object_mut() {
            event.remove("timestamp");
            event.insert("id".to_owned(), format!("e-{index}").into());
        }
    }
    serde_json::json!({ "events": events }).to_string()
}

/// The same conversation, recorded anew for each form.
fn forms() -> Vec<(&'static str, String)> {
    let files = [
        "saved-session.json",
        "rest-session.json",
        "run-body.json",
        "adk-run-lines.jsonl",
        "eval-set.json",
        "eval-set-older-writer.json",
        "conformance-session.yaml",
        "conformance.yaml",
        "conformance-without-ids.yaml",
    ];
    let mut forms: Vec<_> = files.into_iter().map(|name| (name, fixture(name))).collect();
    forms.push(("stream", stream(&fixture("run-body.json"))));
    forms.push(("golden", golden(&fixture("rest-session.json"))));
    forms
}

#[test]
fn one_conversation_in_all_forms() {
    let weather = r#""get_weather" {"city":"Oslo"} "allow" "ok""#;
    let mail = r#""send_email" {"body":"cloudy","to":"a@example.org"}"#;
    for (name, recording) in forms() {
        let rows = [("mail-says-the-weather", "allow"), ("weather-stays", "deny")];
        for (policy, verdict) in rows {
            let expected = [weather.to_owned(), format!(r#"{mail} "{verdict}" "ok""#)];
            assert_eq!(verdicts(policy, &recording), expected, "{name} under {policy}");
        }
    }
}

/// Where no answers were recorded there is no evidence, and nothing that was seen.
#[test]
fn calls_without_answers_have_no_evidence() {
    let turn = r#"[{"query": "first question", "reference": "Mailed.", "expected_tool_use": [
        {"tool_name": "get_weather", "tool_input": {"city": "Oslo"}},
        {"tool_name": "send_email", "tool_input": {"to": "a@example.org", "body": "cloudy"}}]}]"#;
    let case = r#"{"eval_set_id": "s", "eval_cases": [{"eval_id": "c", "conversation": [{"intermediate_data": {"tool_uses": [
        {"name": "get_weather", "args": {"city": "Oslo"}, "id": null},
        {"name": "send_email", "args": {"to": "a@example.org", "body": "cloudy"}}]}}]}]}"#;
    let weather = r#""get_weather" {"city":"Oslo"} "allow" "none""#;
    let mail = r#""send_email" {"body":"cloudy","to":"a@example.org"} "deny" "none""#;
    for recording in [turn, case] {
        assert_eq!(verdicts("mail-says-the-weather", recording), [weather, mail]);
    }
}

/// A recorded answer is evidence in the older form of eval sets too, whichever way it names its call.
#[test]
fn answers_of_the_older_form_are_evidence() {
    let case = |id: &str, answer: &str| {
        format!(
            r#"{{"eval_id": "c", "conversation": [{{"intermediate_data": {{
            "tool_uses": [{{"name": "get_weather", "args": {{"city": "Oslo"}}{id}}},
                {{"name": "send_email", "args": {{"to": "a@example.org", "body": "cloudy"}}}}],
            "tool_responses": [{{"name": "get_weather"{answer}, "response": {{"sky": "cloudy"}}}}]}}}}]}}"#
        )
    };
    let mail = |id: &str, answer: &str| verdicts("mail-says-the-weather", &case(id, answer)).pop();
    let row = |verdict: &str| {
        Some(format!(r#""send_email" {{"body":"cloudy","to":"a@example.org"}} "{verdict}" "none""#))
    };
    assert_eq!(mail("", ""), row("allow"));
    assert_eq!(mail(r#", "id": "c1""#, r#", "id": "c1""#), row("allow"));
    assert_eq!(mail(r#", "id": "c1""#, r#", "id": "c2""#), row("deny"));
}

/// What the state held before is a value that nobody is known to have written.
#[test]
fn state_before_a_case_is_unattributed() {
    let run = gatelog(&root(), &["records", "--format", "jsonl", "-"], Some(&fixture("eval-set.json")));
    let first = run.stdout.lines().next().unwrap_or_default();
    assert!(first.contains("unattributed external input") && first.contains("rec_app"), "{first}");
}
