//! What is too large, too slow or too much.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::serve::client::{Service, Started, answer, call, named};
use crate::serve::{POLICY, started};

const JSON: &str = "Content-Type: application/json";

#[test]
fn bodies_and_heads_have_an_end() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    let service = Service::start(folder.path(), &["--store", "memory", "--max-body", "1000"]);
    let mut client = service.client();
    let body = json!({"session": named("s")}).to_string();
    let large = json!({"session": {"session": "x".repeat(1000)}}).to_string();
    let deep =
        format!(r#"{{"session":{{"session":"s"}},"events":[{}1{}]}}"#, "[".repeat(200), "]".repeat(200));
    let doubled = r#"{"session":{"session":"s"},"events":[{"id":"a","id":"b"}]}"#;
    let wide = format!("X-Wide: {}", "x".repeat(17_000));
    let many: Vec<String> = (0..70).map(|at| format!("X-{at}: x")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).chain([JSON]).collect();
    let rows: &[(&[&str], &str, u16)] = &[
        (&[JSON], &body, 200),
        (&["content-type: Application/JSON; charset=UTF-8"], &body, 200),
        (&[], &body, 415),
        (&["Content-Type: text/plain"], &body, 415),
        (&["Content-Type: application/x-www-form-urlencoded"], &body, 415),
        (&[JSON, JSON], &body, 415),
        (&[JSON, "Content-Encoding: gzip"], "\u{1f}", 415),
        (&[JSON, "Content-Encoding: br, identity"], &body, 415),
        (&[JSON], &large, 413),
        (&[JSON], &deep, 400),
        (&[JSON], doubled, 400),
        (&[JSON], "", 400),
        (&[JSON, &wide], &body, 431),
        (&many, &body, 431),
    ];
    for (headers, body, status) in rows {
        // Events and openings differ in what they hold, and not in how they are read.
        let path = if body.contains("events") { "/v1/events" } else { "/v1/sessions" };
        assert_eq!(
            client.ask("POST", path, headers, Some(body.as_bytes())).status,
            *status,
            "{headers:?} {body}"
        );
    }
    // A length that is never stated ends where the limit is.
    let mut stream = service.connect();
    let head = "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).unwrap();
    for _ in 0..20 {
        let _refused = stream.write_all(format!("64\r\n{}\r\n", " ".repeat(100)).as_bytes());
    }
    assert_eq!(answer(&mut *stream).map(|answer| answer.status), Some(413));
    let mut stream = service.connect();
    let _refused = stream.write_all(format!("GET /{} HTTP/1.1\r\n", "x".repeat(200_000)).as_bytes());
    assert!(answer(&mut *stream).is_none_or(|answer| matches!(answer.status, 414 | 431)));
    assert_eq!(service.end(), (Some(0), true));
}

#[test]
fn slow_clients_are_cut_and_hold_nobody_up() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    let flags = [
        "--store",
        "memory",
        "--header-time",
        "1",
        "--body-time",
        "1",
        "--idle-connection",
        "2",
        "--max-requests",
        "1",
    ];
    let service = Service::start(folder.path(), &flags);
    let start = Instant::now();
    let head = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n";
    let mut silent = service.connect();
    let mut in_head = service.connect();
    in_head.write_all(b"POST /v1/sessions HTT").unwrap();
    // While the one request that there is room for waits for its body, another one is told to come again. One that comes
    // while ours are answered is told so itself, so there are several.
    let mut in_body = Vec::new();
    let busy = loop {
        let mut one = service.connect();
        one.write_all(head.as_bytes()).unwrap();
        one.write_all(b"{").unwrap();
        in_body.push(one);
        let answer = service.client().get("/v1/sessions");
        if answer.status == 503 {
            break answer;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "never busy");
    };
    assert_eq!((busy.header("retry-after"), busy.kind()), ("1", "busy".to_owned()));
    assert_eq!(service.client().get("/v1/healthz").status, 200);
    let answers: Vec<_> = in_body.iter_mut().filter_map(|one| answer(&mut **one)).collect();
    assert!(answers.iter().any(|one| (one.status, one.kind()) == (408, "slow".to_owned())));
    assert!(answer(&mut *in_head).is_none_or(|answer| answer.status == 408));
    assert_eq!(answer(&mut *silent), None);
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
    assert_eq!(service.client().get("/v1/sessions").status, 200);
}

/// As many sockets as the environment names, 300 where it names none.
#[test]
fn idle_connections_leave_room_for_others_up_to_their_limit() {
    let many: usize = std::env::var("GATELOG_SOCKETS").map_or(300, |many| many.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    let most = (many + 2).to_string();
    let service = Service::start(
        folder.path(),
        &["--store", "memory", "--max-connections", &most, "--idle-connection", "600"],
    );
    let mut open: Vec<_> = (0..many).map(|_| service.connect()).collect();
    let mut client = service.client();
    assert_eq!(client.post("/v1/sessions", &json!({"session": named("s")})).status, 200);
    open.push(service.connect());
    let refused = answer(&mut *service.connect()).unwrap();
    assert_eq!(
        (refused.status, refused.header("retry-after"), refused.kind()),
        (503, "1", "connections".to_owned())
    );
    assert_eq!(client.get("/v1/sessions").status, 200);
    drop(open);
    let start = Instant::now();
    while answer_of_new(&service) != Some(200) {
        assert!(start.elapsed() < Duration::from_secs(30), "no room for new ones");
    }
    assert_eq!(service.end(), (Some(0), true));
}

fn answer_of_new(service: &Service) -> Option<u16> {
    let mut stream = service.connect();
    let _refused = stream.write_all(b"GET /v1/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    answer(&mut *stream).map(|answer| answer.status)
}

#[test]
fn sessions_that_nobody_asks_about_leave_memory_and_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &["--max-sessions", "2", "--idle-session", "1"]);
    let (mut runner, mut operator) =
        (started.client("runner@acme:run"), started.client("operator@acme:administer"));
    for session in ["s1", "s2"] {
        let events = json!({"session": named(session), "events": [call("c", "pay", 5)]});
        assert_eq!(runner.post("/v1/events", &events).status, 200);
    }
    let checked = runner.check(&named("s1"), "c", "pay", &json!({"amount": 5}));
    let third = runner.post("/v1/sessions", &json!({"session": named("s3")}));
    // A slow machine may have let go of one by now.
    assert!(
        third.status == 200 || (third.status, third.kind().as_str()) == (429, "too_many_sessions"),
        "{third:?}"
    );
    // Another tenant has room of its own.
    assert_eq!(
        started.client("runner@rival:run").post("/v1/sessions", &json!({"session": named("s")})).status,
        200
    );
    let start = Instant::now();
    while !operator.get("/v1/metrics").body.contains("gatelog_sessions_in_memory 0") {
        assert!(start.elapsed() < Duration::from_secs(60), "they stay");
    }
    assert_eq!(runner.post("/v1/sessions", &json!({"session": named("s3")})).status, 200);
    // It is read again from its journal, tickets and all.
    let finish = json!({"session": named("s1"), "ticket": checked["ticket"], "ending": "returned"});
    assert_eq!(runner.post("/v1/results", &finish).status, 204);
    assert_eq!(runner.post("/v1/results", &finish).kind(), "used_ticket");
}

#[test]
fn a_session_keeps_the_roles_that_it_was_opened_under() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &[]);
    let mut runner = started.client("runner@acme:run");
    assert_eq!(runner.post("/v1/sessions", &json!({"session": named("s")})).status, 200);
    let (tokens, path) = (started.tokens.clone(), folder.path().join("tokens.json"));
    assert_eq!(started.service.end(), (Some(0), true));
    let text = crate::support::text(&path).replace(r#""roles":[]"#, r#""roles":["payer"]"#);
    std::fs::write(&path, text).unwrap();
    let service = Service::start(folder.path(), &["--tokens", "tokens.json", "--store", "sqlite:gate.db"]);
    let started = Started { service, tokens };
    let mut runner = started.client("runner@acme:run");
    let refused = runner.post("/v1/events", &json!({"session": named("s"), "events": []}));
    assert_eq!((refused.status, refused.kind()), (409, "other_roles".to_owned()));
}
