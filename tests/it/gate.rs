//! The gate: live and in replay of its journal every call gets one verdict, and nothing runs without an allow.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use gatelog::decision::{Decision, Verdict};
use gatelog::engine::Budget;
use gatelog::gate::{Appended, Checked, Gate, GateError, GatedSession};
use gatelog::json::{self, Json};
use gatelog::monitor::{Caller, Policy, Settings};
use gatelog::recording::journal::{Access, Adopted, Ending, Entry, Mode, Question, Resource, SessionKey};
use gatelog::recording::{Event, Fed, Feed, Options, PartKind, Parts, is_request, read};
use gatelog::replay::replay;
use gatelog::session::SessionError;
use gatelog::store::Journals;
use proptest::prelude::{ProptestConfig, any, prop, proptest};
use tokio::runtime::Runtime;

use crate::gated::{Hand, RETURNED, SENSITIVE, SLOW, agrees, gate, key, policy, replayed, why};
use crate::support::{files, name, root, text};

fn shipped(name: &str) -> Arc<Policy> {
    policy(&text(&root().join(name)))
}

/// The texts of the events of a recording, and the key of its session.
pub(crate) fn events_of(path: &Path) -> (Vec<String>, SessionKey) {
    let whole = text(path);
    let documents: Vec<Json> = match json::parse(&whole) {
        Ok(Json::Array(items)) => items,
        Ok(document) => vec![document],
        Err(_) => {
            whole.lines().filter(|line| !line.is_empty()).map(|line| json::parse(line).unwrap()).collect()
        }
    };
    let field = |names: [&str; 2]| {
        let of_first = |name: &str| documents.first()?.field(name)?.text().map(str::to_owned);
        names.into_iter().find_map(of_first).unwrap_or_default()
    };
    let events = match documents.as_slice() {
        [document] if document.field("events").is_some() => match document.field("events") {
            Some(Json::Array(events)) => events.clone(),
            _ => Vec::new(),
        },
        events => events.to_vec(),
    };
    let is_session = documents.first().is_some_and(|document| document.field("events").is_some());
    let session = if is_session { field(["id", "id"]) } else { String::new() };
    let (app, user) = (field(["appName", "app_name"]), field(["userId", "user_id"]));
    let events = events.iter().map(Json::as_written).collect();
    (events, SessionKey { tenant: "default".to_owned(), app, user, session })
}

/// A runner that lets calls run where the gate does.
pub(crate) struct Runner {
    session: GatedSession,
    feed: Feed,
    /// Tickets of calls that run, by the id of their call.
    tickets: BTreeMap<String, String>,
    /// What was decided, check by check.
    pub(crate) decided: Vec<Decision>,
}

impl Runner {
    pub(crate) fn new(session: GatedSession, key: &SessionKey) -> Self {
        let feed = Feed::new(Parts::Full, &key.session);
        Self { session, feed, tickets: BTreeMap::new(), decided: Vec::new() }
    }

    pub(crate) async fn event(&mut self, text: &str, picks: &mut impl Iterator<Item = u8>) {
        let event: Option<Event> = match self.feed.take(text) {
            Ok(Fed::New(event)) => Some(*event),
            Ok(Fed::Known) | Err(_) => None,
        };
        for part in event.iter().flat_map(|event| &event.parts) {
            if let PartKind::Response { id, .. } = &part.kind
                && let Some(ticket) = self.tickets.remove(id)
            {
                let ending = match picks.next() {
                    Some(1) => Ending::Failed,
                    Some(2) => Ending::NotRun,
                    Some(3) => Ending::Returned(Some("{}".to_owned())),
                    Some(4) => continue,
                    _ => Ending::Returned(None),
                };
                self.session.finish(&ticket, ending, None).await.unwrap();
            }
        }
        let appended = self.session.append(text).await;
        assert_eq!(appended.is_ok_and(|appended| appended == Appended::New), event.is_some(), "{text}");
        for part in event.iter().flat_map(|event| &event.parts) {
            let PartKind::Call { id, name, arguments } = &part.kind else { continue };
            let pick = picks.next().unwrap_or(0);
            if is_request(name) || pick == 1 {
                continue;
            }
            let agent = event.as_ref().map_or("", |event| &event.author);
            let arguments = arguments.as_ref().map_or_else(|| "{}".to_owned(), Json::ordinary);
            self.call(agent, (id, name), &arguments, pick).await;
        }
    }

    async fn call(&mut self, agent: &str, (id, name): (&str, &str), arguments: &str, pick: u8) {
        let (events, digest) = self.session.history().await.unwrap();
        let question = Question {
            call_id: if pick == 2 { "other".to_owned() } else { id.to_owned() },
            tool: name.to_owned(),
            arguments: if pick == 3 { r#"{"amount":11}"#.to_owned() } else { arguments.to_owned() },
            agent: agent.to_owned(),
            events: if pick == 4 { events + 1 } else { events },
            digest,
            clock: "2026-01-01T00:00:00Z".to_owned(),
            ..Question::default()
        };
        let checked = self.session.check(question).await;
        if checked.may_run {
            self.tickets.insert(id.to_owned(), checked.ticket.clone());
        }
        self.decided.push(checked.decision);
    }
}

/// Feeds a recording to a gate that is built anew where the picks say so.
async fn run(
    policy: &Arc<Policy>,
    open: &dyn Fn() -> Journals,
    (events, key): &(Vec<String>, SessionKey),
    picks: &mut impl Iterator<Item = u8>,
) -> (Journals, Vec<Decision>) {
    let mut store = open();
    let mut runner = Runner::new(gate(policy, store.clone()).session(key.clone()), key);
    for event in events {
        if picks.next() == Some(9) {
            store = open();
            runner.session = gate(policy, store.clone()).session(key.clone());
        }
        runner.event(event, picks).await;
    }
    (store, runner.decided)
}

/// The recordings of which each holds one session of JSON events.
pub(crate) fn recordings() -> Vec<std::path::PathBuf> {
    let folder = root().join("fixtures/sessions");
    files(&folder, "").into_iter().filter(|path| name(path).contains(".json")).collect()
}

#[test]
fn live_is_replay_for_every_recording() {
    let runtime = Runtime::new().unwrap();
    let policies = [policy(SENSITIVE), shipped("policies/payment.dl")];
    let (mut checks, mut sessions) = (0, 0);
    for path in recordings() {
        let recording = events_of(&path);
        for policy in &policies {
            let store = Journals::memory();
            let open = || store.clone();
            let (_, decided) = runtime.block_on(run(policy, &open, &recording, &mut std::iter::empty()));
            if decided.is_empty() && store.lines(&recording.1).unwrap().len() < 2 {
                panic!("{}: nothing of it was fed", path.display());
            }
            agrees(policy, &store, &recording.1, &decided);
            (checks, sessions) = (checks + decided.len(), sessions + 1);
        }
    }
    assert!(checks > 80 && sessions > 60, "{checks} checks in {sessions} sessions");
}

/// What the session itself tells, its own replay decides as the gate did.
#[test]
fn a_session_that_says_what_happened_is_judged_alike_without_its_journal() {
    let runtime = Runtime::new().unwrap();
    let policy = shipped("policies/payment.dl");
    let path = root().join("fixtures/sessions/payment-approved.json");
    let recording = events_of(&path);
    let store = Journals::memory();
    let (_, decided) = runtime.block_on(run(&policy, &|| store.clone(), &recording, &mut std::iter::empty()));
    let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
    let settings = Settings { caller, ..Settings::default() };
    let session = read(text(&path).as_bytes(), &Options::default()).unwrap().pop().unwrap();
    let report = replay(&policy, &settings, "s", &session);
    let verdicts: Vec<Verdict> = report.checks.iter().map(|check| check.decision.verdict).collect();
    assert_eq!(verdicts, decided.iter().map(|decision| decision.verdict).collect::<Vec<_>>());
    assert_eq!(verdicts.iter().filter(|verdict| **verdict == Verdict::Deny).count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(24) })]

    /// Whatever a runner leaves out, gets wrong or says of endings, and wherever the gate is started anew.
    #[test]
    fn live_is_replay_for_careless_runners(
        which in any::<prop::sample::Index>(),
        picks in prop::collection::vec(0_u8..12, 0..60),
        on_disk in any::<bool>(),
    ) {
        let runtime = Runtime::new().unwrap();
        let all = recordings();
        let path: &std::path::PathBuf = which.get(&all);
        let recording = events_of(path);
        let policy = policy(SENSITIVE);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("j.db");
        let memory = Journals::memory();
        let open = || if on_disk { Journals::sqlite(&file).unwrap() } else { memory.clone() };
        let (store, decided) = runtime.block_on(run(&policy, &open, &recording, &mut picks.into_iter()));
        if !store.lines(&recording.1).unwrap().is_empty() {
            agrees(&policy, &store, &recording.1, &decided);
        }
    }
}

#[test]
fn a_check_lets_a_call_run_once_and_its_ticket_is_for_one_use() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, _).");
    hand.calls("c", "f", r#"{"n":1}"#);
    let checked = hand.check("c", "f", r#"{"n":1.0}"#);
    assert!(checked.may_run);
    let again = hand.check("c", "f", r#"{"n":1}"#);
    assert_eq!((again.may_run, why(&again).contains("allowed before")), (false, true));
    hand.finish(&checked, Ending::Pending, None).unwrap();
    hand.finish(&checked, RETURNED, Some(r#"{"n":1}"#)).unwrap();
    let used = hand.finish(&checked, RETURNED, None).unwrap_err();
    assert!(matches!(used, GateError::Session(SessionError::UsedTicket { .. })), "{used}");
    let forged = Checked { ticket: "0-0000".to_owned(), ..checked };
    assert!(hand.finish(&forged, RETURNED, None).is_err());
    hand.answers("c", "f", r#"{"ok":1}"#);
    let report = hand.report();
    let outcomes: Vec<_> = report.checks.iter().map(|check| check.outcome.name()).collect();
    assert_eq!(outcomes, ["ok", "none"]);
}

#[test]
fn what_runs_otherwise_than_it_was_checked_closes_the_session() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, $CallTool(\"f\", _)).");
    hand.calls("c1", "f", r#"{"n":1}"#);
    hand.calls("c2", "f", "{}");
    hand.calls("c3", "g", "{}");
    let first = hand.check("c1", "f", r#"{"n":1}"#);
    hand.finish(&first, RETURNED, Some(r#"{"n":2}"#)).unwrap();
    let closed = hand.check("c2", "f", "{}");
    assert!(!closed.may_run && why(&closed).contains("other arguments"), "{}", why(&closed));
    hand.runtime.block_on(hand.session.clear()).unwrap();
    assert!(hand.check("c2", "f", "{}").may_run);
    let denied = hand.check("c3", "g", "{}");
    assert!(!denied.may_run);
    hand.finish(&denied, RETURNED, None).unwrap();
    hand.calls("c4", "f", "{}");
    assert!(why(&hand.check("c4", "f", "{}")).contains("ran although"));
    hand.answers("c1", "f", r#"{"ok":1}"#);
    let report = hand.report();
    assert_eq!(report.checks.first().map(|check| check.outcome.name()), Some("error"));
    assert!(report.warnings.iter().any(|notice| notice.kind == "violated"));
    assert!(!report.warnings.iter().any(|notice| notice.kind == "gate_differs"), "{:?}", report.warnings);
}

#[test]
fn a_gap_in_the_history_denies_until_it_is_closed() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, _).");
    hand.calls("c", "f", "{}");
    let (events, digest) = hand.runtime.block_on(hand.session.history()).unwrap();
    let question = |events, digest: &str| Question {
        call_id: "c".to_owned(),
        tool: "f".to_owned(),
        arguments: "{}".to_owned(),
        agent: "bot".to_owned(),
        events,
        digest: digest.to_owned(),
        ..Question::default()
    };
    let ask = |events, digest: &str| hand.runtime.block_on(hand.session.check(question(events, digest)));
    assert!(why(&ask(events + 1, &digest)).contains("builds on 2 events, and the gate has 1"));
    assert!(why(&ask(events, "")).contains("other events"));
    // The gate's own denial of a call that was not even judged is no text from outside.
    let refused = ask(events + 1, &digest);
    let denial =
        format!(r#"{{"error":"[BLOCKED] no","gatelog":{{"verdict":"deny","check":"{}"}}}}"#, refused.ticket);
    hand.answers("c", "f", &denial);
    let report = hand.report();
    let rows: Vec<_> = report.checks.iter().map(|check| (check.asked, check.outcome.name())).collect();
    assert_eq!(rows, [(false, "denied")]);
    hand.calls("d", "f", "{}");
    assert!(hand.check("d", "f", "{}").may_run);
}

#[test]
fn a_call_that_no_event_holds_depends_on_something_unknown() {
    let hand = Hand::new(SENSITIVE);
    hand.append("u", "user", r#"{"text":"go"}"#).unwrap();
    let unseen = hand.check("c", "f", "{}");
    assert_eq!(
        unseen.decision.reasons.iter().map(|reason| reason.rule.as_str()).collect::<Vec<_>>(),
        ["unknown"]
    );
    hand.calls("c", "f", "{}");
    assert!(hand.check("c", "f", "{}").may_run);
    // While it runs, no other one of its tool does.
    hand.calls("d", "f", "{}");
    let second = hand.check("d", "f", "{}");
    assert_eq!(
        second.decision.reasons.iter().map(|reason| reason.rule.as_str()).collect::<Vec<_>>(),
        ["twice"]
    );
}

#[test]
fn an_answer_counts_for_the_very_call_and_only_of_somebody_else() {
    let hand = Hand::new(SENSITIVE);
    let large = r#"{"amount":11}"#;
    hand.calls("c", "f", large);
    let asked = hand.check("c", "f", large);
    assert_eq!((asked.decision.verdict, asked.may_run), (Verdict::Ask, false));
    hand.confirm(&asked, true, Some("svc")).unwrap();
    assert_eq!(hand.check("c", "f", large).decision.verdict, Verdict::Ask);
    assert!(hand.confirm(&asked, true, Some("ann")).is_err());
    let asked = hand.check("c", "f", large);
    hand.confirm(&asked, true, Some("ann")).unwrap();
    // Other arguments are another call.
    assert_eq!(hand.check("c", "f", r#"{"amount":12}"#).decision.verdict, Verdict::Ask);
    assert_eq!(hand.check("c", "f", large).decision.verdict, Verdict::Allow);
    hand.calls("d", "g", r#"{"tip":2}"#);
    let own = hand.check("d", "g", r#"{"tip":2}"#);
    hand.confirm(&own, true, None).unwrap();
    assert_eq!(hand.check("d", "g", r#"{"tip":2}"#).decision.verdict, Verdict::Allow);
    hand.calls("e", "h", large);
    let refused = hand.check("e", "h", large);
    hand.confirm(&refused, false, Some("ann")).unwrap();
    let denied = hand.check("e", "h", large);
    assert_eq!((denied.decision.verdict, why(&denied).contains("rejected")), (Verdict::Deny, true));
    let report = hand.report();
    let last: Vec<_> = report.checks.iter().map(|check| (check.decision.verdict, check.asked)).collect();
    assert_eq!(last, [(Verdict::Allow, true), (Verdict::Allow, true), (Verdict::Deny, true)]);
    assert!(!report.warnings.iter().any(|notice| notice.kind == "gate_differs"), "{:?}", report.warnings);
}

/// An answer that comes through the session: who gave it is not known, and it has to be about the very check.
#[test]
fn an_answer_in_the_session_names_the_check_that_asked() {
    for (tool_arguments, names_check, verdict) in [
        (r#"{"tip":2}"#, true, Verdict::Allow),
        (r#"{"tip":2}"#, false, Verdict::Ask),
        (r#"{"amount":11}"#, true, Verdict::Ask),
    ] {
        let hand = Hand::new(SENSITIVE);
        hand.calls("c", "f", tool_arguments);
        let asked = hand.check("c", "f", tool_arguments);
        assert_eq!(asked.decision.verdict, Verdict::Ask);
        let ticket = if names_check { asked.ticket.as_str() } else { "0-0000" };
        let rules = r#"["own","large"]"#;
        let confirmation =
            format!(r#"{{"hint":"","payload":{{"gatelog":{{"check":"{ticket}","rules":{rules}}}}}}}"#);
        let answer = r#"{"functionResponse":{"id":"c","name":"f","response":{"error":"This tool call requires confirmation, please approve or reject."}}}"#;
        let actions = format!(r#"{{"requestedToolConfirmations":{{"c":{confirmation}}}}}"#);
        let event =
            format!(r#"{{"id":"a","author":"bot","content":{{"parts":[{answer}]}},"actions":{actions}}}"#);
        hand.runtime.block_on(hand.session.append(&event)).unwrap();
        let original = format!(r#"{{"id":"c","name":"f","args":{tool_arguments}}}"#);
        let arguments = format!(r#"{{"originalFunctionCall":{original},"toolConfirmation":{confirmation}}}"#);
        hand.calls("r", "adk_request_confirmation", &arguments);
        let yes = r#"{"functionResponse":{"id":"r","name":"adk_request_confirmation","response":{"confirmed":true}}}"#;
        hand.append("y", "user", yes).unwrap();
        assert_eq!(
            hand.check("c", "f", tool_arguments).decision.verdict,
            verdict,
            "{tool_arguments} {names_check}"
        );
        assert!(!hand.report().warnings.iter().any(|notice| notice.kind == "gate_differs"));
    }
}

#[test]
fn an_event_of_a_known_id_is_known_or_refused_and_one_that_cannot_be_read_stops_the_session() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, _).");
    assert_eq!(hand.append("e", "user", r#"{"text":"a"}"#), Ok(Appended::New));
    assert_eq!(hand.append("e", "user", r#"{"text":"a"}"#), Ok(Appended::Known));
    let other = hand.append("e", "user", r#"{"text":"b"}"#);
    assert!(matches!(other, Err(GateError::Conflict { .. })), "{other:?}");
    hand.calls("c", "f", "{}");
    assert!(hand.check("c", "f", "{}").may_run);
    let broken = hand.append("x", "user", r#"{"text":NaN}"#);
    assert!(matches!(broken, Err(GateError::Stopped { .. })), "{broken:?}");
    hand.append("y", "user", r#"{"text":"on"}"#).unwrap_err();
    let stopped = hand.check("c", "f", "{}");
    assert!(why(&stopped).contains("stopped"), "{}", why(&stopped));
    let report = hand.report();
    assert_eq!(report.error.map(|stop| stop.kind.name()), Some("bad_number"));
    assert_eq!(report.checks.len(), 2);
}

#[test]
fn what_a_model_was_shown_goes_before_what_it_could_see() {
    let hand = Hand::new(SENSITIVE);
    hand.append("u", "user", r#"{"text":"go"}"#).unwrap();
    let shown = r#"{"contents":[{"role":"user","parts":[{"text":"from nowhere"}]}]}"#;
    hand.runtime.block_on(hand.session.model_request("bot", "i", shown)).unwrap();
    hand.calls("c", "f", "{}");
    assert!(!hand.check("c", "f", "{}").may_run);
    let shown = r#"{"contents":[{"role":"user","parts":[{"text":"go"}]}]}"#;
    hand.runtime.block_on(hand.session.model_request("bot", "i", shown)).unwrap();
    hand.calls("d", "f", "{}");
    assert!(hand.check("d", "f", "{}").may_run);
    assert!(hand.runtime.block_on(hand.session.model_request("bot", "i", "{")).is_err());
    assert!(!hand.report().warnings.iter().any(|notice| notice.kind == "gate_differs"));
}

#[test]
fn a_read_with_which_the_call_would_be_denied_is_refused() {
    let hand = Hand::new(SENSITIVE);
    hand.calls("c", "f", "{}");
    let checked = hand.check("c", "f", "{}");
    let access = |key: &str, value: &str| {
        let resource = Resource::State { key: key.to_owned(), value: Some(value.to_owned()) };
        Access { ticket: checked.ticket.clone(), resource, refused: false }
    };
    let unknown = hand.runtime.block_on(hand.session.read(access("k", "1")));
    assert!(matches!(unknown, Err(GateError::Session(SessionError::Refused { .. }))), "{unknown:?}");
    hand.runtime.block_on(hand.session.write(access("own", "2"))).unwrap();
    hand.finish(&checked, RETURNED, None).unwrap();
    hand.answers("c", "f", "{}");
    let report = hand.report();
    assert_eq!(report.checks.first().map(|check| check.outcome.name()), Some("ok"));
}

#[test]
fn another_policy_decides_from_the_next_check_on_and_is_named() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, _).");
    hand.calls("c", "f", "{}");
    let first = hand.check("c", "f", "{}");
    hand.gate.activate(policy("IsAuthorized(i) :- Actions(i, _). Unauthorized(i) :- Actions(i, _)."));
    hand.calls("d", "f", "{}");
    let second = hand.check("d", "f", "{}");
    assert_eq!((first.may_run, second.may_run, first.policy == second.policy), (true, false, false));
    assert_eq!(second.policy, hand.gate.policy());
    let (recording, report) = replayed(&hand.policy, &hand.store, &key("s"));
    assert!(report.warnings.iter().any(|notice| notice.kind == "gate_differs"));
    let steps = recording.journal.unwrap().steps;
    let changes = steps.iter().filter(|step| {
        format!("{step:?}").contains(&format!(
            "{:?}",
            Entry::Policy(Adopted { policy: second.policy.clone(), ..Adopted::default() })
        ))
    });
    assert_eq!(changes.count(), 1);
}

#[test]
fn a_gate_that_advises_lets_run_and_says_what_it_thinks() {
    let (runtime, store) = (Runtime::new().unwrap(), Journals::memory());
    let gate = Gate::builder().policy(policy("IsAuthorized(i) :- Actions(i, $CallTool(\"x\", _))."));
    let gate = gate.store(store).mode(Mode::Advise).build().unwrap();
    let checked = runtime.block_on(async {
        let session = gate.session(key("s"));
        let (events, digest) = session.history().await.unwrap();
        let question = Question {
            tool: "f".to_owned(),
            arguments: "{}".to_owned(),
            events,
            digest,
            ..Question::default()
        };
        session.check(question).await
    });
    assert_eq!((checked.decision.verdict, checked.may_run), (Verdict::Deny, true));
}

#[test]
fn a_deadline_denies_and_the_session_goes_on() {
    let (runtime, store, policy) = (Runtime::new().unwrap(), Journals::memory(), policy(SLOW));
    let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
    let gate = Gate::builder().policy(Arc::clone(&policy)).store(store.clone()).caller(caller);
    // Nothing but the deadline ends this work, and the runtime waits for it to end.
    let budget = Budget { steps: u64::MAX, tuples: u64::MAX, bytes: u64::MAX };
    let gate = gate.budget(budget).deadline(Duration::from_millis(30)).build().unwrap();
    let checks = runtime.block_on(async {
        let session = gate.session(key("s"));
        let mut checks = Vec::new();
        for _ in 0..2 {
            let (events, digest) = loop {
                // The first answers may come too late as well where the machine is busy.
                if let Ok(history) = session.history().await {
                    break history;
                }
            };
            let question = Question {
                tool: "slow".to_owned(),
                arguments: "{}".to_owned(),
                events,
                digest,
                ..Question::default()
            };
            checks.push(session.check(question).await);
        }
        checks
    });
    for checked in &checks {
        assert_eq!((checked.decision.verdict, checked.may_run), (Verdict::Deny, false));
        assert!(why(checked).contains("within 30 ms"), "{}", why(checked));
    }
    let (_, report) = replayed(&policy, &store, &key("s"));
    let kept: Vec<_> = report.checks.iter().map(|check| &check.decision).collect();
    // One that could not even be kept is denied all the same, and is in no journal.
    assert!(kept.iter().all(|decision| checks.iter().any(|checked| checked.decision == **decision)));
}

#[test]
fn a_journal_that_was_changed_refuses_its_session() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, _).");
    hand.calls("c", "f", "{}");
    hand.calls("d", "f", "{}");
    let lines = hand.store.lines(&key("s")).unwrap();
    let other = Journals::memory();
    for (number, line) in (0..).zip(lines) {
        let line = if number == 1 { line.replace("call-c", "call-x") } else { line };
        other.append(&key("s"), number, line, Box::new(|kept| assert!(kept.is_ok())));
    }
    let gate = gate(&hand.policy, other.clone());
    let session = hand.runtime.block_on(async { gate.session(key("s")) });
    let refused = hand.runtime.block_on(session.history());
    assert!(matches!(refused, Err(GateError::Journal(_))), "{refused:?}");
    let question = Question { tool: "f".to_owned(), ..Question::default() };
    let checked = hand.runtime.block_on(session.check(question));
    assert!(!checked.may_run && why(&checked).contains("line 2"), "{}", why(&checked));
    let lines: Vec<_> = other.lines(&key("s")).unwrap().into_iter().map(|line| line + "\n").collect();
    let recording = read(lines.concat().as_bytes(), &Options::default()).unwrap().pop().unwrap();
    assert_eq!(recording.stop.map(|stop| stop.kind.name()), Some("broken_journal"));
}

/// Two gates on one store are never of two minds about one session.
#[test]
fn two_gates_cannot_both_go_on_with_a_session() {
    let hand = Hand::new("IsAuthorized(i) :- Actions(i, _).");
    hand.calls("c", "f", "{}");
    let second = gate(&hand.policy, hand.store.clone());
    let session = hand.runtime.block_on(async { second.session(key("s")) });
    assert_eq!(hand.runtime.block_on(session.history()).unwrap().0, 1);
    hand.calls("d", "f", "{}");
    // The second gate knows nothing of that event: it cannot keep what it answers, and reads the session again.
    let stale = hand.runtime.block_on(async {
        let (events, digest) = session.history().await.unwrap();
        let question = |events, digest| Question {
            call_id: "c".to_owned(),
            tool: "f".to_owned(),
            arguments: "{}".to_owned(),
            agent: "bot".to_owned(),
            events,
            digest,
            ..Question::default()
        };
        let first = session.check(question(events, digest)).await;
        let (events, digest) = session.history().await.unwrap();
        (first, session.check(question(events, digest)).await)
    });
    assert_eq!((stale.0.may_run, stale.1.may_run), (false, true));
    assert!(why(&stale.0).contains("someone else"), "{}", why(&stale.0));
}

#[test]
fn a_check_whose_asker_is_gone_leaves_nothing_behind() {
    let (runtime, store, policy) = (Runtime::new().unwrap(), Journals::memory(), policy(SLOW));
    let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
    let gate = Gate::builder().policy(Arc::clone(&policy)).store(store.clone()).caller(caller);
    let budget = Budget { steps: 1_000_000, ..Budget::default() };
    let gate = gate.budget(budget).deadline(Duration::from_secs(120)).build().unwrap();
    let after = runtime.block_on(async {
        let session = gate.session(key("s"));
        let (events, digest) = session.history().await.unwrap();
        let question = |tool: &str| Question {
            tool: tool.to_owned(),
            arguments: "{}".to_owned(),
            events,
            digest: digest.clone(),
            ..Question::default()
        };
        let gone = tokio::time::timeout(Duration::from_millis(5), session.check(question("slow"))).await;
        assert!(gone.is_err(), "the check was to take longer");
        session.check(question("quick")).await
    });
    assert!(after.may_run && after.ticket.starts_with("0-"), "{after:?}");
    assert_eq!(store.lines(&key("s")).unwrap().len(), 2);
    let (_, report) = replayed(&policy, &store, &key("s"));
    assert_eq!(report.checks.len(), 1);
}

/// Sessions beside one another share the waits for the disk, and never mix.
#[test]
fn many_sessions_run_beside_one_another_on_one_store() {
    let (runtime, policy) = (Runtime::new().unwrap(), policy("IsAuthorized(i) :- Actions(i, _)."));
    let folder = tempfile::tempdir().unwrap();
    let store = Journals::sqlite(&folder.path().join("j.db")).unwrap();
    let gate = gate(&policy, store.clone());
    let one = |number: usize| {
        let gate = gate.clone();
        async move {
            let session = gate.session(key(&format!("s{number}")));
            for call in 0..3 {
                let id = format!("c{number}-{call}");
                let part = format!(r#"{{"functionCall":{{"id":"{id}","name":"f","args":{{}}}}}}"#);
                let event = format!(r#"{{"id":"{id}","author":"bot","content":{{"parts":[{part}]}}}}"#);
                session.append(&event).await.unwrap();
                let (events, digest) = session.history().await.unwrap();
                let (tool, arguments, agent) = ("f".to_owned(), "{}".to_owned(), "bot".to_owned());
                let question =
                    Question { call_id: id, tool, arguments, agent, events, digest, ..Question::default() };
                assert!(session.check(question).await.may_run);
            }
        }
    };
    runtime.block_on(async {
        let all: Vec<_> = (0..40).map(|number| tokio::spawn(one(number))).collect();
        for session in all {
            session.await.unwrap();
        }
    });
    assert_eq!(store.sessions().unwrap().len(), 40);
    for number in 0..40 {
        let (recording, report) = replayed(&policy, &store, &key(&format!("s{number}")));
        assert_eq!((recording.events.len(), report.checks.len(), recording.stop), (3, 3, None));
    }
}
