//! The OpenAPI document says what is sent and answered.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::serve::client::{Client, Exchange, call, named};
use crate::serve::started;

/// The schema of a body, with what it refers to.
fn schema_of(document: &Value, body: &Value) -> Value {
    let content =
        body["content"].as_object().and_then(|content| content.values().next()).cloned().unwrap_or_default();
    let mut schema = content["schema"].clone();
    schema["components"] = document["components"].clone();
    schema
}

fn faults(schema: &Value, value: &Value) -> Vec<String> {
    let validator = jsonschema::options().build(schema).unwrap();
    validator.iter_errors(value).map(|error| error.to_string()).collect()
}

/// Holds an exchange against the document; the operation that it was.
fn hold(document: &Value, exchange: &Exchange) -> String {
    let path = exchange.path.split('?').next().unwrap();
    let method = exchange.method.to_lowercase();
    let operation = &document["paths"][path][&method];
    assert!(operation.is_object(), "{method} {path} is not described");
    let (status, answer) = (exchange.answer.status, &exchange.answer);
    let exact = &operation["responses"][status.to_string()];
    let response =
        if exact.is_object() { exact } else { &operation["responses"][format!("{}XX", status / 100)] };
    assert!(response.is_object(), "{method} {path}: {status} is not described");
    if response["content"].is_object() {
        let kinds: Vec<&String> = response["content"].as_object().unwrap().keys().collect();
        assert!(answer.header("content-type").starts_with(kinds[0].as_str()), "{answer:?}");
        if kinds[0] == "application/json" {
            let found = faults(&schema_of(document, response), &answer.json());
            assert!(found.is_empty(), "{method} {path} {status}: {found:?}\n{}", answer.body);
        }
    } else {
        assert_eq!(answer.body, "", "{method} {path} {status}");
    }
    if let (200..=299, Some(body)) = (status, &exchange.body) {
        let sent: Value = serde_json::from_slice(body).unwrap();
        let found = faults(&schema_of(document, &operation["requestBody"]), &sent);
        assert!(found.is_empty(), "{method} {path}: {found:?}\n{sent}");
    }
    format!("{method} {path}")
}

/// Asks for everything, done and refused.
fn use_all(runner: &mut Client, boss: &mut Client, operator: &mut Client) {
    let session = named("s");
    runner.post("/v1/sessions", &json!({"session": session}));
    runner.post(
        "/v1/events",
        &json!({"session": session, "events": [call("c1", "pay", 50), call("c2", "wipe", 1)]}),
    );
    runner.post("/v1/events", &json!({"session": session, "events": [{"id": "call-c1", "author": "bot"}]}));
    runner.post(
        "/v1/model-requests",
        &json!({"session": session, "agent": "bot", "invocation": "i", "request": {}}),
    );
    runner.check(&session, "c2", "wipe", &json!({"amount": 1}));
    runner.check(&session, "c9", "unknown", &json!({}));
    let asked = runner.check(&session, "c1", "pay", &json!({"amount": 50}));
    let confirm = json!({"session": session, "ticket": asked["ticket"], "yes": true});
    boss.post("/v1/confirmations", &confirm);
    boss.post("/v1/confirmations", &confirm);
    let allowed = runner.check(&session, "c1", "pay", &json!({"amount": 50}));
    for (key, value) in [("state", json!("k")), ("artifact", json!("f"))] {
        let mut touch = json!({"session": session, "ticket": allowed["ticket"], key: value});
        touch[if key == "state" { "value" } else { "version" }] = json!(1);
        runner.post("/v1/resources/read", &touch);
        runner.post("/v1/resources/write", &touch);
    }
    let finish = json!({"session": session, "ticket": allowed["ticket"], "ending": "returned", "value": null, "args": {"amount": 50}});
    runner.post("/v1/results", &finish);
    runner.post("/v1/results", &finish);
    runner.post("/v1/results", &json!({}));
    operator.post("/v1/violations/clear", &json!({"session": session}));
    for path in ["/v1/policies/validate", "/v1/policies/activate"] {
        assert_eq!(operator.post(path, &json!({})).status, 200, "{path}");
        operator.post(path, &json!({"policy": "x"}));
    }
    runner.get("/v1/policies");
    for query in ["", "?verdict=deny&limit=1", "?after=x", "?verdict=no", "?all=1"] {
        boss.get(&format!("/v1/decisions{query}"));
    }
    runner.get("/v1/sessions");
    runner.get("/v1/checks");
}

#[test]
fn all_that_is_sent_and_answered_is_described() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &["--decision-log", "decisions.jsonl"]);
    let mut runner = started.client("runner@acme:run");
    let (mut boss, mut operator) =
        (started.client("boss@acme:approve"), started.client("operator@acme:administer"));
    let mut nobody = started.service.client();
    let document = nobody.get("/v1/openapi.json").json();
    for path in ["/v1/healthz", "/v1/readyz", "/v1/sessions"] {
        nobody.get(path);
    }
    operator.get("/v1/metrics");
    use_all(&mut runner, &mut boss, &mut operator);
    let mut held = BTreeSet::new();
    let seen = [runner.seen, boss.seen, operator.seen, nobody.seen].concat();
    for exchange in seen.iter().filter(|exchange| exchange.answer.status != 405) {
        held.insert(hold(&document, exchange));
    }
    let all: BTreeSet<String> = document["paths"]
        .as_object()
        .unwrap()
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().unwrap().keys().map(move |method| format!("{method} {path}"))
        })
        .collect();
    assert_eq!(held, all);
    let described = document["components"]["schemas"]["CheckAnswer"].to_string();
    assert!(described.contains("verdict") && described.contains("may_run"), "{described}");
    // The test can fail.
    assert!(
        !faults(
            &schema_of(&document, &document["paths"]["/v1/healthz"]["get"]["responses"]["200"]),
            &json!({})
        )
        .is_empty()
    );
}
