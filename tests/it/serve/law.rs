//! Live is replay, over HTTP too.

use std::path::Path;

use gatelog::json::Json;
use gatelog::recording::{Fed, Feed, PartKind, Parts, is_request};
use serde_json::{Value, json};

use crate::gate::{events_of, recordings};
use crate::serve::client::{Client, Service, Started, tokens};
use crate::support::gatelog;

/// A runner that lets calls run where the service does. Verdicts, check by check.
fn run(client: &mut Client, path: &Path, name: &str, restart: &mut dyn FnMut(&mut Client)) -> Vec<Value> {
    let (events, key) = events_of(path);
    let session = json!({"app": key.app, "user": key.user, "session": name});
    let mut feed = Feed::new(Parts::Full, "");
    let (mut tickets, mut verdicts) = (std::collections::BTreeMap::new(), Vec::new());
    for (at, text) in events.iter().enumerate() {
        let event = match feed.take(text) {
            Ok(Fed::New(event)) => Some(event.clone()),
            Ok(Fed::Known) | Err(_) => None,
        };
        for part in event.iter().flat_map(|event| &event.parts) {
            if let PartKind::Response { id, .. } = &part.kind
                && let Some(ticket) = tickets.remove(id)
            {
                let finish = json!({"session": session, "ticket": ticket, "ending": "returned"});
                let answer = client.post("/v1/results", &finish);
                assert_eq!(answer.status, 204, "{answer:?}");
            }
        }
        if at % 5 == 3 {
            restart(client);
        }
        // As it stands: a value of ours would not keep the text of its numbers.
        let body = format!(r#"{{"session":{session},"events":[{text}]}}"#);
        let answer =
            client.ask("POST", "/v1/events", &["Content-Type: application/json"], Some(body.as_bytes()));
        assert!(matches!(answer.status, 200 | 400 | 409 | 422), "{}: {answer:?}", path.display());
        for part in event.iter().flat_map(|event| &event.parts) {
            let PartKind::Call { id, name, arguments } = &part.kind else { continue };
            if is_request(name) {
                continue;
            }
            let agent = event.as_ref().map_or("", |event| &event.author);
            let arguments = arguments.as_ref().map_or_else(|| "{}".to_owned(), Json::ordinary);
            let query = |key: &str| {
                let text = session[key].as_str().unwrap();
                url::form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>()
            };
            let path = format!(
                "/v1/sessions/history?app={}&user={}&session={}",
                query("app"),
                query("user"),
                query("session")
            );
            let history = client.get(&path).json();
            let (events, digest) = (&history["events"], &history["digest"]);
            let names = json!({"session": session, "call_id": id, "tool": name, "agent": agent, "events": events, "digest": digest});
            let body =
                format!(r#"{},"args":{arguments}}}"#, names.to_string().trim_end_matches('}').to_owned());
            let answer =
                client.ask("POST", "/v1/checks", &["Content-Type: application/json"], Some(body.as_bytes()));
            assert_eq!(answer.status, 200, "{answer:?}");
            let checked = answer.json();
            if checked["may_run"] == true {
                tickets.insert(id.clone(), checked["ticket"].clone());
            }
            verdicts.push(json!([name, checked["verdict"], checked["reasons"]]));
        }
    }
    verdicts
}

#[test]
fn live_is_replay_of_the_exported_journal_for_every_recording() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), crate::gated::SENSITIVE).unwrap();
    let tokens = tokens(folder.path(), &[("svc", "t", "run")]);
    let start = || {
        Service::start(
            folder.path(),
            &["--tokens", "tokens.json", "--store", "sqlite:gate.db", "--full-parts"],
        )
    };
    let mut started = Some(Started { service: start(), tokens: tokens.clone() });
    let mut client = started.as_ref().unwrap().client("svc@t:run");
    let (mut checks, mut restarts) = (0, 0);
    for (at, path) in recordings().iter().enumerate() {
        // It dies within some sessions, with a word or without.
        let mut restart = |client: &mut Client| {
            if at % 6 != 0 {
                return;
            }
            let old = started.take().unwrap();
            restarts += 1;
            if restarts % 2 == 0 {
                old.service.kill();
            } else {
                assert_eq!(old.service.end(), (Some(0), true));
            }
            let new = Started { service: start(), tokens: tokens.clone() };
            *client = new.client("svc@t:run");
            started = Some(new);
        };
        // Recordings in different folders have one name.
        let name = format!("s-{at}");
        let live = run(&mut client, path, &name, &mut restart);
        if live.is_empty() {
            continue;
        }
        let journal = gatelog(folder.path(), &["journal", "export", "gate.db", "--session-id", &name], None);
        assert_eq!(journal.code, Some(0), "{}: {}", path.display(), journal.stderr);
        std::fs::write(folder.path().join("s.jsonl"), &journal.stdout).unwrap();
        let replayed =
            gatelog(folder.path(), &["replay", "--policy", "p.dl", "--format", "json", "s.jsonl"], None);
        let document: Value = serde_json::from_str(&replayed.stdout).unwrap();
        let rows = document["sessions"][0]["checks"].as_array().unwrap().iter();
        let again: Vec<Value> =
            rows.map(|row| json!([row["tool"], row["verdict"], row["reasons"]])).collect();
        assert_eq!(live, again, "{}", path.display());
        assert!(!replayed.stdout.contains("gate_differs"), "{}", path.display());
        checks += live.len();
    }
    assert!(checks > 30 && restarts > 3, "{checks} checks, {restarts} restarts");
}
