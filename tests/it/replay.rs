//! Recorded sessions under policies: the report itself is the snapshot.

use std::collections::BTreeSet;
use std::fmt::Write;

use insta::{assert_snapshot, glob};

use crate::support::{entries, gatelog, name, root, text};

/// A session under one policy: how the run ended, and what it printed.
fn report(policy: &str, session: &str) -> String {
    let run = gatelog(&root(), &["replay", "--policy", policy, session], None);
    let mut shown = String::new();
    let code = run.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    let _infallible =
        writeln!(shown, "$ gatelog replay --policy {policy} {session}\nexit {code}\n{}", run.stdout);
    if !run.stderr.is_empty() {
        let _infallible = writeln!(shown, "standard error:\n{}", run.stderr);
    }
    shown
}

#[test]
fn sessions() {
    glob!("../../fixtures/sessions", "*.json*", |path| {
        let session = format!("fixtures/sessions/{}", name(path));
        let all = report("fixtures/policies/allow-all.dl", &session);
        let payment = report("policies/payment.dl", &session);
        assert_snapshot!(format!("{all}\n{payment}"));
    });
}

/// A snapshot whose session is gone would never be looked at again.
#[test]
fn every_snapshot_has_its_session() {
    let sessions: BTreeSet<String> =
        entries(&root().join("fixtures/sessions")).iter().map(|path| name(path)).collect();
    for path in entries(&root().join("tests/it/snapshots")) {
        let snapshot = name(&path);
        let session =
            snapshot.strip_prefix("it__replay__sessions@").and_then(|rest| rest.strip_suffix(".snap"));
        assert!(session.is_none_or(|session| sessions.contains(session)), "{snapshot}: no such session");
    }
}

/// What the front page promises: the payment that was approved is allowed, the one that a mail asked for is denied.
#[test]
fn payment_approved() {
    let run = gatelog(
        &root(),
        &[
            "replay",
            "--policy",
            "policies/payment.dl",
            "--format",
            "json",
            "fixtures/sessions/payment-approved.json",
        ],
        None,
    );
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let verdicts: Vec<(String, String, String)> = rows(&run.stdout);
    let expected = [
        ("read_invoice", "allow", "ok"),
        ("transfer_to_agent", "allow", "ok"),
        ("approve_payment", "allow", "ok"),
        ("transfer_to_agent", "allow", "ok"),
        ("disburse_payment", "allow", "ok"),
        ("read_mail", "allow", "ok"),
        ("disburse_payment", "deny", "ok"),
    ];
    let expected: Vec<_> = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned())).into();
    assert_eq!(verdicts, expected);
}

/// Tool, verdict and outcome of each call of a JSON report.
fn rows(document: &str) -> Vec<(String, String, String)> {
    let document: serde_json::Value =
        serde_json::from_str(document).unwrap_or_else(|fault| panic!("{fault}: {document}"));
    let sessions =
        document.get("sessions").and_then(|sessions| sessions.as_array()).cloned().unwrap_or_default();
    let checks = sessions.iter().filter_map(|session| session.get("checks")?.as_array()).flatten();
    let word =
        |check: &serde_json::Value, key: &str| check.get(key).and_then(|v| v.as_str()).map(str::to_owned);
    checks
        .filter_map(|check| Some((word(check, "tool")?, word(check, "verdict")?, word(check, "outcome")?)))
        .collect()
}

/// The same bytes give the same report, and the order of files decides nothing but the order of sessions.
#[test]
fn twice_is_once() {
    let session = "fixtures/sessions/payment-approved.json";
    assert_eq!(report("policies/payment.dl", session), report("policies/payment.dl", session));
    let shipped = text(&root().join(session));
    let run = gatelog(
        &root(),
        &["replay", "--policy", "policies/payment.dl", "--format", "json", "-"],
        Some(&shipped),
    );
    let named =
        gatelog(&root(), &["replay", "--policy", "policies/payment.dl", "--format", "json", session], None);
    assert_eq!(rows(&run.stdout), rows(&named.stdout));
}
