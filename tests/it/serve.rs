//! `gatelog serve`: the gate over HTTP, and those who would get around it.

mod client;
mod described;
mod ending;
mod hostile;
mod law;
mod limits;
mod secure;

use std::path::Path;

use serde_json::{Value, json};

use crate::serve::client::{Service, Started, call, digest_of, named};
use crate::support::gatelog;

/// Nothing over 10 without a person, nothing after a web page, nothing twice at once.
pub(crate) const POLICY: &str = r#"
IsAuthorized(i) :- Actions(i, _).
// @id: large
// @ask
Unauthorized(i) :- Actions(i, $CallTool("pay", args)), @json_float(args, "amount") > 10.0.
// @id: never
// @deny_message: never
Unauthorized(i) :- Actions(i, $CallTool("wipe", _)).
"#;

/// A principal with the scope of its only token.
pub(crate) fn holders() -> Vec<(&'static str, &'static str, &'static str)> {
    vec![
        ("runner", "acme", "run"),
        ("other", "acme", "run"),
        ("runner", "rival", "run"),
        ("boss", "acme", "approve"),
        ("boss", "rival", "approve"),
        ("runner", "acme", "approve"),
        ("operator", "acme", "administer"),
        ("runner", "acme", "administer"),
    ]
}

pub(crate) fn started(folder: &Path, flags: &[&str]) -> Started {
    std::fs::write(folder.join("p.dl"), POLICY).unwrap();
    let tokens = client::tokens(folder, &holders());
    let flags = [&["--tokens", "tokens.json", "--store", "sqlite:gate.db"], flags].concat();
    Started { service: Service::start(folder, &flags), tokens }
}

#[test]
fn a_runner_is_told_what_may_run_and_a_person_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &[]);
    let mut runner = started.client("runner@acme:run");
    let (mut boss, mut operator) =
        (started.client("boss@acme:approve"), started.client("operator@acme:administer"));
    let session = named("s");
    let opened = runner.post("/v1/sessions", &json!({"session": session}));
    assert_eq!((opened.status, &opened.json()["events"]), (200, &json!(0)));
    let appended = runner.post(
        "/v1/events",
        &json!({"session": session, "events": [call("c1", "pay", 5), call("c2", "pay", 50)]}),
    );
    assert_eq!(appended.json()["appended"], json!(["new", "new"]));
    let again = runner.post("/v1/events", &json!({"session": session, "events": [call("c1", "pay", 5)]}));
    assert_eq!(
        again.json(),
        json!({"appended": ["known"], "events": 2, "digest": digest_of(&["call-c1", "call-c2"])})
    );
    let allowed = runner.check(&session, "c1", "pay", &json!({"amount": 5}));
    assert_eq!((&allowed["may_run"], &allowed["verdict"]), (&json!(true), &json!("allow")));
    let finish = json!({"session": session, "ticket": allowed["ticket"], "ending": "returned", "value": null, "args": {"amount": 5.0}});
    assert_eq!(runner.post("/v1/results", &finish).status, 204);
    let used = runner.post("/v1/results", &finish);
    assert_eq!((used.status, used.kind()), (409, "used_ticket".to_owned()));
    let asked = runner.check(&session, "c2", "pay", &json!({"amount": 50}));
    assert_eq!((&asked["may_run"], &asked["verdict"]), (&json!(false), &json!("ask")));
    assert!(asked["response"]["error"].as_str().unwrap().starts_with("[ASK]"));
    let confirm = json!({"session": session, "ticket": asked["ticket"], "yes": true});
    assert_eq!(boss.post("/v1/confirmations", &confirm).status, 204);
    assert_eq!(boss.post("/v1/confirmations", &confirm).kind(), "not_asked");
    let allowed = runner.check(&session, "c2", "pay", &json!({"amount": 50}));
    assert_eq!(allowed["may_run"], true);
    // It runs with other arguments: the session is closed until somebody else has looked.
    let violated = json!({"session": session, "ticket": allowed["ticket"], "ending": "returned", "args": {"amount": 51}});
    assert_eq!(runner.post("/v1/results", &violated).status, 204);
    runner.post("/v1/events", &json!({"session": session, "events": [call("c3", "pay", 1)]}));
    assert_eq!(runner.check(&session, "c3", "pay", &json!({"amount": 1}))["verdict"], "deny");
    assert_eq!(operator.post("/v1/violations/clear", &json!({"session": session})).status, 204);
    let last = runner.check(&session, "c3", "pay", &json!({"amount": 1}));
    assert_eq!(last["verdict"], "allow");
    let touch = json!({"session": session, "ticket": last["ticket"], "state": "k", "value": 1});
    assert_eq!(runner.post("/v1/resources/write", &touch).status, 204);
    assert_eq!(runner.post("/v1/resources/read", &touch).status, 204);
    let request = json!({"session": session, "agent": "bot", "request": {"contents": []}});
    assert_eq!(runner.post("/v1/model-requests", &request).status, 204);
    let metrics = operator.get("/v1/metrics").body;
    for line in [
        "gatelog_checks_total{verdict=\"allow\"} 3",
        "gatelog_checks_total{verdict=\"ask\"} 1",
        "gatelog_events_total 3",
    ] {
        assert!(metrics.contains(line), "{line}: {metrics}");
    }
    assert_eq!(started.service.end(), (Some(0), true));
}

/// A service reads its policies anew by command and by signal, and goes on with those before where the new ones are broken.
#[test]
fn policies_are_read_anew_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = started(folder.path(), &["--decision-log", "decisions.jsonl"]);
    let (mut runner, mut operator) =
        (started.client("runner@acme:run"), started.client("operator@acme:administer"));
    let path = folder.path().join("p.dl");
    let session = named("s");
    runner.post(
        "/v1/events",
        &json!({"session": session, "events": [call("c1", "wipe", 1), call("c2", "wipe", 2)]}),
    );
    assert_eq!(runner.check(&session, "c1", "wipe", &json!({"amount": 1}))["verdict"], "deny");
    assert_eq!(runner.post("/v1/policies/activate", &json!({})).kind(), "scope");
    let before = runner.get("/v1/policies").json();
    std::fs::write(&path, "Unauthorized(").unwrap();
    for path in ["/v1/policies/validate", "/v1/policies/activate"] {
        let broken = operator.post(path, &json!({}));
        assert_eq!((broken.status, broken.kind()), (422, "policies".to_owned()), "{path}");
    }
    let refused = operator.get("/v1/readyz");
    assert!(refused.status == 200 && refused.body.contains("does not load"), "{refused:?}");
    assert!(operator.get("/v1/metrics").body.contains("gatelog_policy_refused 1"));
    assert_eq!(runner.get("/v1/policies").json()["decides"], before["decides"]);
    std::fs::write(&path, "IsAuthorized(i) :- Actions(i, _).").unwrap();
    assert_eq!(operator.post("/v1/policies/activate", &json!({})).kind(), "drops_denials");
    assert_eq!(runner.check(&session, "c2", "wipe", &json!({"amount": 2}))["verdict"], "deny");
    let activated = operator.post("/v1/policies/activate", &json!({"drop_denials": true}));
    assert_eq!(activated.json()["policies"], runner.get("/v1/policies").json()["policies"]);
    let allowed = runner.check(&session, "c2", "wipe", &json!({"amount": 2}));
    assert_eq!((&allowed["verdict"], &allowed["policy"]), (&json!("allow"), &activated.json()["policies"]));
    std::fs::write(&path, POLICY).unwrap();
    started.service.signal("-HUP");
    started.service.says(&format!("policies: {} serves from here on", before["policies"].as_str().unwrap()));
    assert_eq!(runner.get("/v1/policies").json()["decides"], before["decides"]);
    assert_eq!(started.service.end(), (Some(0), true));
    let verified = gatelog(folder.path(), &["verify-log", "decisions.jsonl"], None);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    // Who ran the session is who held the token.
    assert!(crate::support::text(&folder.path().join("decisions.jsonl")).contains(r#""principal":"runner""#));
}

#[test]
fn verdicts_are_listed_for_those_who_answer_for_the_tenant() {
    let folder = tempfile::tempdir().unwrap();
    // Files of a few lines, so that several are read.
    let started = started(folder.path(), &["--decision-log", "decisions.jsonl", "--log-size", "4000"]);
    for who in ["runner@acme:run", "runner@rival:run"] {
        let mut runner = started.client(who);
        for at in 0..10 {
            let (id, tool) = (format!("c{at}"), if at % 2 == 0 { "pay" } else { "wipe" });
            runner.post("/v1/events", &json!({"session": named("s"), "events": [call(&id, tool, 5)]}));
            runner.check(&named("s"), &id, tool, &json!({"amount": 5}));
        }
    }
    assert!(folder.path().read_dir().unwrap().count() > 6, "one file");
    let mut boss = started.client("boss@acme:approve");
    let mut list = |query: &str| {
        let document = boss.get(&format!("/v1/decisions{query}")).json();
        let rows = document["decisions"].as_array().unwrap().clone();
        let call = |row: &Value| row["decision"]["call_id"].as_str().unwrap().to_owned();
        (rows.iter().map(call).collect::<Vec<_>>().join(" "), rows)
    };
    let (all, rows) = list("");
    assert_eq!(all, "c0 c1 c2 c3 c4 c5 c6 c7 c8 c9");
    assert!(rows.iter().all(|row| row["decision"]["key"]["tenant"] == "acme"));
    assert_eq!(list("?verdict=deny&limit=2").0, "c7 c9");
    assert_eq!(list("?tool=pay&session=s&app=a&user=u").0, "c0 c2 c4 c6 c8");
    assert_eq!(list(&format!("?after={}&limit=3", rows[3]["number"])).0, "c4 c5 c6");
    assert_eq!(list(&format!("?after={}", rows[9]["number"])).0, "");
    assert_eq!(list("?call_id=c3").0, "c3");
    assert_eq!(started.client("runner@acme:run").get("/v1/decisions").kind(), "scope");
}

/// The requests of the page about gates are answered as it says.
#[test]
fn the_page_shows_requests_that_work() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &[]);
    let mut runner = started.client("runner@acme:run");
    let page = crate::support::text(&crate::support::root().join("docs/gate.md"));
    let shown = page.split("```http\n").nth(1).and_then(|rest| rest.split("```").next()).unwrap();
    let (mut digest, mut ticket, mut sent) = (String::new(), String::new(), 0);
    for request in shown.trim().split("\n\n") {
        let (line, body) = request.split_once('\n').unwrap();
        let body = body.replace("DIGEST", &digest).replace("TICKET", &ticket);
        let answer = runner.post(line.strip_prefix("POST ").unwrap(), &serde_json::from_str(&body).unwrap());
        assert!(matches!(answer.status, 200 | 204), "{line}: {answer:?}");
        if answer.status == 200 {
            let text = |key: &str| answer.json()[key].as_str().unwrap_or_default().to_owned();
            (digest, ticket) = (text("digest"), text("ticket"));
        }
        sent += 1;
    }
    assert_eq!(sent, 3);
    let document = runner.get("/v1/openapi.json").json();
    for path in document["paths"].as_object().unwrap().keys() {
        assert!(page.contains(&format!("{path}`")), "docs/gate.md does not name {path}");
    }
}

#[test]
fn tokens_are_made_and_read() {
    let folder = tempfile::tempdir().unwrap();
    let made = gatelog(folder.path(), &["serve", "token", "--principal", "ann", "--scope", "approve"], None);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let row: Value = serde_json::from_str(&made.stderr).unwrap();
    assert_eq!((&row["principal"], &row["scopes"]), (&json!("ann"), &json!(["approve"])));
    assert!(!made.stderr.contains(made.stdout.trim()));
}

#[test]
fn services_that_would_be_open_or_lame_do_not_start() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    std::fs::write(folder.path().join("tokens.json"), "[]").unwrap();
    std::fs::write(folder.path().join("broken.dl"), "Unauthorized(").unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let rows: &[(&[&str], &str)] = &[
        (&["--store", "memory", "--listen", "0.0.0.0:0"], "there are no tokens"),
        (&["--store", "memory", "--tokens", "tokens.json"], "holds no token"),
        (&["--store", "memory", "--tokens", "none.json"], "no such file"),
        (&["--store", "postgres://localhost/x"], "PostgreSQL is not there"),
        (&["--store", "file"], "write `sqlite:FILE` or `memory`"),
        (&[], "--store"),
        (&["--store", "memory", "--listen", "example.org:80"], "is no address"),
        (&["--store", "memory", "--listen", "unix:file"], "no socket"),
        (&["--store", "memory", "--tls-cert", "file"], "--tls-key"),
        (&["--store", "memory", "--tls-cert", "file", "--tls-key", "file"], "no certificate"),
    ];
    for (flags, words) in rows {
        let arguments = [&["serve", "--policy", "p.dl"], *flags].concat();
        let run = gatelog(folder.path(), &arguments, None);
        assert_eq!((run.code, run.stderr.contains(words)), (Some(2), true), "{flags:?}: {}", run.stderr);
    }
    let broken = gatelog(folder.path(), &["serve", "--policy", "broken.dl", "--store", "memory"], None);
    assert_eq!((broken.code, broken.stderr.contains("error[")), (Some(2), true), "{}", broken.stderr);
}
