//! How a service ends: what is under way is finished, and what was acknowledged is there.

use std::sync::mpsc;

use serde_json::{Value, json};

use crate::serve::client::{Service, Started, answer, call, named};
use crate::serve::started;
use crate::support::gatelog;

#[test]
fn events_that_were_acknowledged_outlive_a_signal_in_their_midst() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = started(folder.path(), &[]);
    let (told, acknowledged) = mpsc::channel();
    let threads: Vec<_> = (0..4)
        .map(|thread| {
            let mut client = started.client("runner@acme:run");
            let told = told.clone();
            std::thread::spawn(move || {
                for at in 0.. {
                    let session = named(&format!("s{thread}"));
                    let body = json!({"session": session, "events": [call(&format!("c{at}"), "pay", 1)]});
                    let Some(answer) = client.try_post("/v1/events", &body) else { return };
                    assert_eq!(answer.status, 200, "{answer:?}");
                    told.send((thread, at + 1)).unwrap();
                    if answer.header("connection") == "close" {
                        return;
                    }
                }
            })
        })
        .collect();
    drop(told);
    let mut most = [0_u64; 4];
    let mut count = 0;
    for (thread, events) in acknowledged {
        most[thread] = events;
        count += 1;
        if count == 40 {
            started.service.signal("-TERM");
        }
    }
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(started.service.ended(), (Some(0), true));
    assert!(count >= 40, "{count}");
    let verified = gatelog(folder.path(), &["journal", "verify", "gate.db"], None);
    assert_eq!(verified.code, Some(0), "{}", verified.stderr);
    let service = Service::start(folder.path(), &["--tokens", "tokens.json", "--store", "sqlite:gate.db"]);
    let started = Started { service, tokens: started.tokens };
    let mut client = started.client("runner@acme:run");
    for (thread, acknowledged) in most.iter().enumerate() {
        let history = client.get(&format!("/v1/sessions/history?app=a&user=u&session=s{thread}")).json();
        let events = history["events"].as_u64().unwrap();
        // One more may have been kept whose answer did not arrive.
        assert!((*acknowledged..=acknowledged + 1).contains(&events), "{events} of {acknowledged}");
    }
}

#[test]
fn a_request_under_way_is_finished_and_no_other_one_begun() {
    let folder = tempfile::tempdir().unwrap();
    let mut started = started(folder.path(), &[]);
    let token = started.tokens.get("runner@acme:run").unwrap();
    let body = json!({"session": named("s"), "events": [call("c", "pay", 1)]}).to_string();
    let (first, second) = body.split_at(10);
    let mut stream = started.service.connect();
    let head = format!(
        "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nExpect: 100-continue\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).unwrap();
    // It is waited for: the request is under way.
    assert_eq!(answer(&mut *stream).map(|answer| answer.status), Some(100));
    stream.write_all(first.as_bytes()).unwrap();
    started.service.signal("-TERM");
    started.service.says("ending: requests under way are finished");
    let address = started.service.address.clone();
    assert!(std::net::TcpStream::connect(address).is_err(), "a new connection is taken");
    stream.write_all(second.as_bytes()).unwrap();
    let done = answer(&mut *stream).unwrap();
    let document: Value = done.json();
    assert_eq!((done.status, &document["appended"]), (200, &json!(["new"])));
    assert_eq!(started.service.ended(), (Some(0), true));
}

#[test]
fn what_does_not_end_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, signals) in [(&["--drain", "1"][..], 1), (&["--drain", "600"], 2)] {
        let mut started = started(folder.path(), flags);
        let token = started.tokens.get("runner@acme:run").unwrap();
        let head = format!(
            "POST /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n\
             Content-Type: application/json\r\nContent-Length: 9\r\nExpect: 100-continue\r\n\r\n"
        );
        let mut stream = started.service.connect();
        stream.write_all(head.as_bytes()).unwrap();
        assert_eq!(answer(&mut *stream).map(|answer| answer.status), Some(100));
        started.service.signal("-TERM");
        started.service.says("ending: requests under way are finished");
        if signals == 2 {
            started.service.signal("-TERM");
        }
        let said = started.service.last_words();
        assert!(said.contains("1 connections were cut"), "{said}");
        assert_eq!(started.service.ended(), (Some(0), false));
    }
}
