//! Those who would get around the gate: foreign sessions, borrowed names, bytes that mean two things.

use serde_json::json;

use crate::serve::client::{Service, answer, call, named};
use crate::serve::{POLICY, started};
use crate::support::gatelog;

/// What is not there and what is somebody else's read alike, whoever asks for what.
#[test]
fn a_session_of_others_is_one_that_is_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &[]);
    let mut runner = started.client("runner@acme:run");
    let events = json!({"session": named("s"), "events": [call("c", "pay", 50)]});
    assert_eq!(runner.post("/v1/events", &events).status, 200);
    let asked = runner.check(&named("s"), "c", "pay", &json!({"amount": 50}));
    let ticket = &asked["ticket"];
    let touch = |session: &str| json!({"session": named(session), "ticket": ticket, "state": "k"});
    for who in ["runner@rival:run", "other@acme:run"] {
        let mut client = started.client(who);
        for (path, body) in [
            ("/v1/results", json!({"session": named("s"), "ticket": ticket, "ending": "failed"})),
            ("/v1/resources/read", touch("s")),
            ("/v1/resources/write", touch("s")),
        ] {
            let mut unknown = body.clone();
            unknown["session"] = named("nowhere");
            let (foreign, unknown) = (client.post(path, &body), client.post(path, &unknown));
            assert_eq!((foreign.status, &foreign.body), (404, &unknown.body), "{who} {path}");
        }
        let foreign = client.get("/v1/sessions/history?app=a&user=u&session=s");
        let unknown = client.get("/v1/sessions/history?app=a&user=u&session=nowhere");
        assert_eq!((foreign.status, foreign.body), (404, unknown.body), "{who}");
        assert_eq!(client.get("/v1/sessions").json()["sessions"], json!([]), "{who}");
    }
    // Within a tenant nobody goes on with a session of another principal.
    let mut other = started.client("other@acme:run");
    assert_eq!(other.post("/v1/events", &events).status, 404);
    for who in ["boss@rival:approve", "boss@acme:approve"] {
        let confirm = json!({"session": named("nowhere"), "ticket": ticket, "yes": true});
        assert_eq!(started.client(who).post("/v1/confirmations", &confirm).status, 404, "{who}");
    }
    let confirm = json!({"session": named("s"), "ticket": ticket, "yes": true});
    assert_eq!(started.client("boss@rival:approve").post("/v1/confirmations", &confirm).status, 404);
    // A rival's session of that name is another one.
    let mut rival = started.client("runner@rival:run");
    let own = rival.post("/v1/sessions", &json!({"session": named("s")}));
    assert_eq!((own.status, &own.json()["events"]), (200, &json!(0)));
    assert_eq!(
        started.client("boss@acme:approve").get("/v1/sessions").json()["sessions"][0]["principal"],
        "runner"
    );
    assert_eq!(runner.check(&named("s"), "c", "pay", &json!({"amount": 50}))["verdict"], "ask");
}

#[test]
fn a_token_is_for_its_scope_and_a_principal_is_that_of_its_token() {
    let folder = tempfile::tempdir().unwrap();
    let started = started(folder.path(), &[]);
    let mut runner = started.client("runner@acme:run");
    runner.post("/v1/events", &json!({"session": named("s"), "events": [call("c", "pay", 50)]}));
    let asked = runner.check(&named("s"), "c", "pay", &json!({"amount": 50}));
    let confirm = json!({"session": named("s"), "ticket": asked["ticket"], "yes": true});
    for (who, path) in [
        ("runner@acme:run", "/v1/confirmations"),
        ("operator@acme:administer", "/v1/confirmations"),
        ("runner@acme:run", "/v1/violations/clear"),
        ("boss@acme:approve", "/v1/violations/clear"),
        ("boss@acme:approve", "/v1/events"),
        ("operator@acme:administer", "/v1/checks"),
    ] {
        let refused = started.client(who).post(path, &confirm);
        assert_eq!((refused.status, refused.kind()), (403, "scope".to_owned()), "{who} {path}");
    }
    assert_eq!(runner.get("/v1/metrics").status, 403);
    let own = started
        .client("runner@acme:administer")
        .post("/v1/violations/clear", &json!({"session": named("s")}));
    assert_eq!((own.status, own.kind()), (403, "own_session".to_owned()));
    // Somebody else is named in the body, and nothing is done.
    for (key, value) in [("principal", json!("boss")), ("tenant", json!("rival")), ("roles", json!(["boss"]))]
    {
        let mut body = confirm.clone();
        body[key] = value;
        let refused = started.client("runner@acme:approve").post("/v1/confirmations", &body);
        assert_eq!((refused.status, refused.kind()), (400, "bad_body".to_owned()));
        assert!(refused.body.contains(&format!("unknown field `{key}`")), "{refused:?}");
    }
    // The agent's own yes is taken, and counts for nothing that a person is asked.
    assert_eq!(started.client("runner@acme:approve").post("/v1/confirmations", &confirm).status, 204);
    assert_eq!(runner.check(&named("s"), "c", "pay", &json!({"amount": 50}))["verdict"], "ask");
    let mut nobody = started.service.client();
    let unknown = nobody.get("/v1/sessions");
    assert_eq!((unknown.status, unknown.header("www-authenticate")), (401, "Bearer"));
    for token in ["Bearer x", "Basic eDp5", "Bearer", ""] {
        let header = format!("Authorization: {token}");
        assert_eq!(nobody.ask("GET", "/v1/sessions", &[&header], None).status, 401, "{token}");
    }
}

#[test]
fn a_token_in_an_address_is_refused_and_told_to_nobody() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = started(folder.path(), &[]);
    let token = started.tokens.get("runner@acme:run").unwrap().clone();
    let mut nobody = started.service.client();
    for path in [format!("/v1/sessions?token={token}"), format!("/v1/healthz?a=1&access_token={token}")] {
        let refused = nobody.get(&path);
        assert_eq!((refused.status, refused.kind()), (400, "token_in_query".to_owned()));
        assert!(!refused.body.contains(&token));
    }
    assert!(!started.client("operator@acme:administer").get("/v1/metrics").body.contains(&token));
    started.service.signal("-INT");
    let said = started.service.last_words();
    assert!(said.ends_with("ended\n") && !said.contains(&token), "{said}");
}

/// Names are names: they open no file.
#[test]
fn names_of_sessions_lead_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let deep = folder.path().join("a/b");
    std::fs::create_dir_all(&deep).unwrap();
    let started = started(&deep, &[]);
    let mut runner = started.client("runner@acme:run");
    for name in ["../../up", "/tmp/x", "..", "a\\..\\b", "%2e%2e/x", "'; DROP TABLE line; --", "\u{202e}x"] {
        let session = json!({"app": name, "user": name, "session": name});
        let answer = runner.post("/v1/events", &json!({"session": session, "events": [call("c", "pay", 5)]}));
        assert_eq!((answer.status, &answer.json()["events"]), (200, &json!(1)), "{name}");
    }
    for (session, words) in [(json!(""), "no name"), (json!("x".repeat(1025)), "1024 bytes")] {
        let refused = runner.post("/v1/sessions", &json!({"session": {"session": session}}));
        assert!((refused.status, refused.body.contains(words)) == (400, true), "{refused:?}");
    }
    for path in
        ["/v1/../etc/passwd", "/v1/sessions/../../x", "/v1/sessions/%2e%2e", "//v1/sessions", "/v1/checks;x"]
    {
        assert_eq!(runner.get(path).status, 404, "{path}");
    }
    let listed = runner.get("/v1/sessions?limit=3").json();
    assert_eq!(listed["sessions"].as_array().unwrap().len(), 3);
    let next = &listed["next"];
    let part = |key: &str| {
        url::form_urlencoded::byte_serialize(next[key].as_str().unwrap().as_bytes()).collect::<String>()
    };
    let path = format!(
        "/v1/sessions?after_app={}&after_user={}&after_session={}",
        part("app"),
        part("user"),
        part("session")
    );
    assert_eq!(runner.get(&path).json()["sessions"].as_array().unwrap().len(), 4);
    for query in ["limit=0", "limit=1001", "limit=x", "all=1"] {
        assert_eq!(runner.get(&format!("/v1/sessions?{query}")).status, 400, "{query}");
    }
    let mut there: Vec<_> =
        crate::support::files(folder.path(), "").iter().map(|path| crate::support::name(path)).collect();
    there.retain(|name| !name.starts_with("gate.db"));
    assert_eq!(there, ["p.dl", "tokens.json"]);
}

/// Bytes that one reader takes for one request and another for two.
#[test]
fn no_request_hides_in_another() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    let service = Service::start(folder.path(), &["--store", "memory"]);
    let inner = "GET /v1/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let post = "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let chunk = format!("0\r\n\r\n{inner}");
    // Each with the first status, and whether a second answer may come.
    let rows = [
        (
            format!("{post}Content-Length: {}\r\nTransfer-Encoding: chunked\r\n\r\n{chunk}", chunk.len()),
            &[400][..],
        ),
        (
            format!("{post}Transfer-Encoding: chunked\r\nContent-Length: {}\r\n\r\n{chunk}", chunk.len()),
            &[400],
        ),
        (format!("{post}Transfer-Encoding: chunked\r\nContent-Length: 4\r\n\r\n{chunk}"), &[400]),
        (format!("{post}Content-Length: 0\r\nContent-Length: {}\r\n\r\n{inner}", inner.len()), &[400]),
        (format!("{post}Content-Length: 0, {}\r\n\r\n{inner}", inner.len()), &[400]),
        (format!("{post}Content-Length: +2\r\n\r\n{{}}{inner}"), &[400]),
        (format!("{post}Content-Length : 2\r\n\r\n{{}}{inner}"), &[400]),
        (format!("{post}Transfer-Encoding: xchunked\r\n\r\n{chunk}"), &[400]),
        (format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n{chunk}"), &[400]),
        (format!("{post}Transfer-Encoding:\r\n chunked\r\n\r\n{chunk}"), &[400]),
        (format!("{post}X: a\r\n Content-Length: 0\r\n\r\n{inner}"), &[400]),
        (format!("{post}X: a\rContent-Length: 9\r\n\r\n{inner}"), &[400]),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nZ\r\n{inner}"), &[400]),
        (format!("{post}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff1\r\n{inner}"), &[400]),
        (post.replace("HTTP/1.1", "HTTP/1.0") + "Transfer-Encoding: chunked\r\n\r\n" + &chunk, &[400]),
        ("GET /v1/healthz HTTP/1.1\r\n\r\n".to_owned(), &[403]),
        ("GET /v1/healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n".to_owned(), &[403]),
        // What is whole is answered, one after the other.
        (inner.repeat(2), &[200, 200]),
    ];
    for (bytes, expected) in rows {
        let mut stream = service.connect();
        stream.write_all(bytes.as_bytes()).unwrap();
        let mut statuses = Vec::new();
        // A third answer is waited for where the connection stays open: it must not come, and a fourth request ends it.
        while statuses.len() < expected.len()
            && let Some(answer) = answer(&mut *stream)
        {
            statuses.push(answer.status);
        }
        assert_eq!(statuses, expected, "{bytes}");
        if expected == [400] {
            assert_eq!(answer(&mut *stream), None, "{bytes}");
        }
    }
}

#[test]
fn without_tokens_only_this_machine_runs_sessions() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), POLICY).unwrap();
    let service = Service::start(folder.path(), &["--store", "memory", "--principal", "me", "--role", "r"]);
    let mut local = service.client();
    for (headers, kind) in [
        (&["Host: evil.example"][..], "foreign_host"),
        (&["Host: localhost.evil.example"], "foreign_host"),
        (&["Origin: http://localhost"], "browser"),
        (&["Origin: null"], "browser"),
    ] {
        let refused = local.ask("GET", "/v1/sessions", headers, None);
        assert_eq!((refused.status, refused.kind().as_str()), (403, kind), "{headers:?}");
    }
    let opened = local.post("/v1/sessions", &json!({"session": named("s")})).json();
    assert_eq!((&opened["principal"], &opened["roles"]), (&json!("me"), &json!(["r"])));
    for path in ["/v1/confirmations", "/v1/violations/clear"] {
        assert_eq!(local.post(path, &json!({})).kind(), "scope", "{path}");
    }
    assert_eq!(service.end(), (Some(0), true));

    let socket = folder.path().join("gate.sock");
    let listen = format!("unix:{}", socket.display());
    let service = Service::start(folder.path(), &["--store", "memory", "--listen", &listen]);
    let opened = service.client().post("/v1/sessions", &json!({"session": named("s")}));
    assert_eq!((opened.status, &opened.json()["principal"]), (200, &json!("local")));
    let mode = std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&socket).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o600);
    // One that answers is not pushed aside; one whose service was killed is.
    let second = gatelog(
        folder.path(),
        &["serve", "--policy", "p.dl", "--store", "memory", "--listen", &listen],
        None,
    );
    assert_eq!(
        (second.code, second.stderr.contains("cannot be listened at")),
        (Some(2), true),
        "{}",
        second.stderr
    );
    service.kill();
    assert!(socket.exists());
    let service = Service::start(folder.path(), &["--store", "memory", "--listen", &listen]);
    assert_eq!(service.client().get("/v1/healthz").status, 200);
    assert_eq!((service.end(), socket.exists()), ((Some(0), true), false));
}
