//! What a gate serves: folders of policies whole or not at all, by tenant, with shadows beside them.

use std::path::Path;
use std::time::Duration;

use gatelog::decision::Verdict;
use gatelog::engine::Budget;
use gatelog::gate::{Checked, Detail, Gate, GatedSession, Logging, Reloader};
use gatelog::json;
use gatelog::monitor::{Caller, Settings};
use gatelog::policies::{self, DroppedDenials, MANIFEST, PoliciesError, PolicySet};
use gatelog::recording::decisions::{Decided, HashKey, LogReader, Said};
use gatelog::recording::journal::{Mode, Question, SessionKey};
use gatelog::recording::{Options, read};
use gatelog::replay::replay;
use gatelog::store::{DecisionLog, Journals, read_file};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::gate::policy;

const ALLOW: &str = "IsAuthorized(i) :- Actions(i, _).\n";
const DENY: &str = "IsAuthorized(i) :- Actions(i, _).\n// @id: no\nUnauthorized(i) :- Actions(i, _).\n";

/// A folder with two policy files, one of which includes the other, and its manifest.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    std::fs::create_dir(path.join("lib")).unwrap();
    std::fs::write(path.join("a.dl"), format!(".include \"lib/b.dl\"\n{ALLOW}")).unwrap();
    std::fs::write(
        path.join("lib/b.dl"),
        "// @id: pay\nUnauthorized(i) :- Actions(i, a), IsTool(a, \"pay\").\n",
    )
    .unwrap();
    std::fs::write(path.join("a.test.yaml"), "cases: []\n").unwrap();
    policies::update(path, false).unwrap();
    folder
}

fn edit(folder: &Path, change: impl FnOnce(&mut Value)) {
    let path = folder.join(MANIFEST);
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut manifest);
    std::fs::write(path, manifest.to_string()).unwrap();
}

fn names(folder: &Path, name: &str) {
    edit(folder, |manifest| manifest["files"][name] = json!("sha256:00"));
}

fn policy_is(folder: &Path, key: &str, value: Value) {
    edit(folder, |manifest| manifest["policies"][0][key] = value);
}

type Change = fn(&Path);

/// What may be wrong with a folder, and what is said of it.
const FAULTS: &[(&str, Change, &str)] = &[
    ("missing", |at| std::fs::remove_file(at.join("lib/b.dl")).unwrap(), "lacks `lib/b.dl`"),
    ("extra", |at| std::fs::write(at.join("c.dl"), ALLOW).unwrap(), "has `c.dl`"),
    ("empty", |at| std::fs::write(at.join("a.dl"), " \n").unwrap(), "`a.dl` is empty"),
    ("half of a file", |at| std::fs::write(at.join("a.dl"), "IsAuthorized(i)").unwrap(), "is not the file"),
    ("no UTF-8", |at| std::fs::write(at.join("a.dl"), [0xff, 0xfe]).unwrap(), "byte 0 is not UTF-8"),
    ("no manifest", |at| std::fs::remove_file(at.join(MANIFEST)).unwrap(), "there is no such file"),
    (
        "half of a manifest",
        |at| std::fs::write(at.join(MANIFEST), "{\"gatelog_policies\":").unwrap(),
        "no manifest",
    ),
    ("a key twice", |at| std::fs::write(at.join(MANIFEST), "{\"files\":{},\"files\":{}}").unwrap(), "twice"),
    (
        "a giant manifest",
        |at| std::fs::write(at.join(MANIFEST), " ".repeat(2 << 20)).unwrap(),
        "at most 1048576 bytes",
    ),
    ("another version", |at| edit(at, |m| m["gatelog_policies"] = json!(2)), "version 2"),
    ("an unknown key", |at| edit(at, |m| m["policy"] = json!(2)), "unknown field"),
    ("a way out", |at| names(at, "../c.dl"), "without `.` and `..`"),
    ("a way out inside", |at| names(at, "lib/../../c.dl"), "without `.` and `..`"),
    ("an absolute name", |at| names(at, "/etc/c.dl"), "without `.` and `..`"),
    ("a NUL", |at| names(at, "c\0.dl"), "control character"),
    ("a line end", |at| names(at, "c\n.dl"), "control character"),
    ("a hidden file", |at| names(at, ".c.dl"), "begins with a dot"),
    ("a long name", |at| names(at, &("c".repeat(600) + ".dl")), "1 to 512 bytes"),
    ("no policy file", |at| names(at, "c.txt"), "end with `.dl`"),
    ("no policies", |at| edit(at, |m| m["policies"] = json!([])), "0 policies"),
    (
        "too many policies",
        |at| edit(at, |m| m["policies"] = json!(vec![json!({"name": "x"}); 300])),
        "300 policies",
    ),
    ("an unknown file", |at| policy_is(at, "files", json!(["d.dl"])), "made of `d.dl`"),
    ("a file of nobody", |at| policy_is(at, "files", json!(["lib/b.dl"])), "no policy of it reads `a.dl`"),
    ("a shadow of nobody", |at| policy_is(at, "mode", json!("shadow")), "names no policy"),
    ("no tenants", |at| policy_is(at, "tenants", json!([])), "empty list"),
    (
        "a tenant twice",
        |at| policy_is(at, "tenants", json!(["t", "t"])),
        "two policies decide for tenant `t`",
    ),
    ("an unknown mode", |at| policy_is(at, "mode", json!("off")), "unknown variant"),
];

fn told(fault: &str, error: &PoliciesError, expected: &str) {
    let text = error.to_string();
    assert!(text.contains(expected), "{fault}: {text}");
    assert!(!text.contains(['\n', '\0']), "{fault}: {text:?}");
}

#[test]
fn a_folder_is_served_whole_or_the_one_before_serves_on() {
    let first = folder();
    let set = policies::load(first.path()).unwrap();
    let before = set.digest().to_owned();
    let gate = Gate::builder().policies(set).store(Journals::memory()).build().unwrap();
    for (fault, change, expected) in FAULTS {
        let other = folder();
        change(other.path());
        let path = other.path().to_owned();
        let error =
            Reloader::new(gate.clone(), move || policies::load(&path)).reload(DroppedDenials::Confirmed);
        told(fault, &error.unwrap_err(), expected);
        let serving = gate.serving();
        assert_eq!(serving.policies, before, "{fault}");
        assert!(serving.refused.unwrap().why.contains(expected), "{fault}");
    }
    let path = first.path().to_owned();
    let again = Reloader::new(gate.clone(), move || policies::load(&path)).reload(DroppedDenials::Refused);
    assert_eq!(again.unwrap(), before);
    assert_eq!(gate.serving().refused, None);
}

/// A policy that is as the manifest says, and does not load.
#[test]
fn a_broken_policy_is_named_with_its_place_and_no_manifest_is_written_for_it() {
    let folder = folder();
    let before = std::fs::read(folder.path().join(MANIFEST)).unwrap();
    std::fs::write(folder.path().join("a.dl"), "IsAuthorized(i) :- Nothing(i).\n").unwrap();
    let error = policies::update(folder.path(), false).unwrap_err();
    told("broken", &error, "at a.dl:1: ");
    assert_eq!(std::fs::read(folder.path().join(MANIFEST)).unwrap(), before);
    std::fs::write(folder.path().join("a.dl"), ".include \"../x.dl\"\n").unwrap();
    told("include", &policies::update(folder.path(), false).unwrap_err(), "lies outside");
}

#[cfg(unix)]
#[test]
fn links_that_lead_out_of_the_folder_are_refused_and_others_followed() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("x.dl"), ALLOW).unwrap();
    let folder = folder();
    symlink(outside.path().join("x.dl"), folder.path().join("x.dl")).unwrap();
    told("out", &policies::update(folder.path(), false).unwrap_err(), "`x.dl` leads out");
    std::fs::remove_file(folder.path().join("x.dl")).unwrap();
    // As Kubernetes mounts them: each file is a link to one in a hidden folder.
    std::fs::create_dir(folder.path().join("..data")).unwrap();
    std::fs::write(folder.path().join("..data/x.dl"), ALLOW).unwrap();
    symlink("..data/x.dl", folder.path().join("x.dl")).unwrap();
    policies::update(folder.path(), false).unwrap();
    policies::load(folder.path()).unwrap();
    // A file that is a pipe is not waited for.
    std::fs::remove_file(folder.path().join("x.dl")).unwrap();
    let made = std::process::Command::new("mkfifo").arg(folder.path().join("x.dl")).status().unwrap();
    assert!(made.success());
    told("pipe", &policies::load(folder.path()).unwrap_err(), "no ordinary file");
}

#[test]
fn a_set_that_drops_every_denial_is_refused_until_confirmed() {
    let one = |text: &str, mode| PolicySet::one("p", policy(text), mode);
    let ask = "IsAuthorized(i) :- Actions(i, _).\n// @ask\nUnauthorized(i) :- Actions(i, _).\n";
    let rows = [
        (DENY, Mode::Enforce, ALLOW, Mode::Enforce, true),
        (DENY, Mode::Enforce, ask, Mode::Enforce, true),
        (DENY, Mode::Enforce, DENY, Mode::Advise, true),
        (ask, Mode::Enforce, ALLOW, Mode::Enforce, true),
        (ask, Mode::Enforce, DENY, Mode::Enforce, false),
        (ALLOW, Mode::Enforce, ALLOW, Mode::Enforce, false),
        (DENY, Mode::Advise, ALLOW, Mode::Enforce, false),
    ];
    for (old, mode, new, other, refused) in rows {
        let (old, new) = (one(old, mode), one(new, other));
        assert_eq!(new.follows(&old, DroppedDenials::Refused).is_err(), refused);
        assert!(new.follows(&old, DroppedDenials::Confirmed).is_ok());
    }
    let folder = folder();
    let old = policies::load(folder.path()).unwrap();
    std::fs::write(folder.path().join("lib/b.dl"), "// nothing is denied\n").unwrap();
    policies::update(folder.path(), false).unwrap();
    let refused = policies::load(folder.path()).unwrap().follows(&old, DroppedDenials::Refused);
    told("dropped", &refused.unwrap_err(), "every other tenant would have no denial any more");
    policies::update(folder.path(), true).unwrap();
    policies::load(folder.path()).unwrap().follows(&old, DroppedDenials::Refused).unwrap();
    // The confirmation is for what was there when it was given.
    policies::update(folder.path(), false).unwrap();
    assert!(policies::load(folder.path()).unwrap().follows(&old, DroppedDenials::Refused).is_err());
}

/// A gate with a log, and checks of calls.
struct Logged {
    runtime: Runtime,
    folder: tempfile::TempDir,
    store: Journals,
    gate: Gate,
}

fn key(tenant: &str) -> SessionKey {
    SessionKey { tenant: tenant.to_owned(), session: "s".to_owned(), ..SessionKey::default() }
}

impl Logged {
    fn new(set: PolicySet, detail: Detail) -> Self {
        let (runtime, folder, store) =
            (Runtime::new().unwrap(), tempfile::tempdir().unwrap(), Journals::memory());
        let hash = HashKey::new(b"0123456789abcdef").unwrap();
        let log = DecisionLog::open(&folder.path().join("log"), hash, 1 << 20).unwrap();
        let caller = Caller { principal: Some("svc".to_owned()), ..Caller::default() };
        let gate = Gate::builder()
            .policies(set)
            .store(store.clone())
            .log(Logging { log, detail })
            .caller(caller)
            .metadata(vec![["gate".to_owned(), "is".to_owned(), "here".to_owned()]])
            .deadline(Duration::from_secs(4))
            .build()
            .unwrap();
        Self { runtime, folder, store, gate }
    }

    fn session(&self, tenant: &str) -> GatedSession {
        self.runtime.block_on(async { self.gate.session(key(tenant)) })
    }

    /// A call that comes and is checked.
    fn call(&self, session: &GatedSession, id: &str, tool: &str, arguments: &str) -> Checked {
        let event = format!(
            r#"{{"id":"e-{id}","author":"bot","content":{{"parts":[{{"functionCall":{{"id":"{id}","name":"{tool}","args":{arguments}}}}}]}}}}"#
        );
        self.runtime.block_on(async {
            session.append(&event).await.unwrap();
            let (events, digest) = session.history().await.unwrap();
            let question = Question {
                call_id: id.to_owned(),
                tool: tool.to_owned(),
                arguments: arguments.to_owned(),
                agent: "bot".to_owned(),
                events,
                digest,
                clock: "2026-01-01T00:00:00Z".to_owned(),
                ..Question::default()
            };
            session.check(question).await
        })
    }

    fn said(&self) -> Vec<Said> {
        let mut all = Vec::new();
        let path = self.folder.path().join("log");
        let extent = read_file(&path, &mut LogReader::default(), &mut |_, said| all.push(said)).unwrap();
        assert_eq!(extent.torn, 0);
        all
    }

    fn decided(&self) -> Vec<Decided> {
        let all = self.said().into_iter();
        all.filter_map(|said| if let Said::Decision(decided) = said { Some(*decided) } else { None })
            .collect()
    }
}

#[test]
fn each_tenant_has_its_policy_and_one_without_is_denied() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.dl"), ALLOW).unwrap();
    std::fs::write(folder.path().join("d.dl"), DENY).unwrap();
    policies::update(folder.path(), false).unwrap();
    edit(folder.path(), |manifest| {
        manifest["policies"] = json!([
            {"name": "open", "files": ["a.dl"], "tenants": ["t", "u"]},
            {"name": "shut", "files": ["d.dl"], "tenants": ["v"]},
            {"name": "trial", "files": ["d.dl"], "mode": "advise", "tenants": ["w"]},
        ]);
    });
    let logged = Logged::new(policies::load(folder.path()).unwrap(), Detail::Hashes);
    let rows = [("t", true, "allow"), ("u", true, "allow"), ("v", false, "deny"), ("w", true, "deny")];
    for (tenant, may_run, verdict) in rows {
        let checked = logged.call(&logged.session(tenant), "c", "f", "{}");
        assert_eq!((checked.may_run, checked.decision.verdict.name()), (may_run, verdict), "{tenant}");
    }
    let stranger = logged.session("x");
    let checked =
        logged.runtime.block_on(stranger.check(Question { tool: "f".to_owned(), ..Question::default() }));
    assert_eq!((checked.may_run, checked.decision.verdict), (false, Verdict::Deny));
    assert!(checked.decision.reasons[0].text.contains("no policy decides for tenant `x`"));
    let lines = logged.decided();
    let told: Vec<_> =
        lines.iter().map(|line| (line.key.tenant.as_str(), line.served.as_str(), line.may_run)).collect();
    let expected = [
        ("t", "open", true),
        ("u", "open", true),
        ("v", "shut", false),
        ("w", "trial", true),
        ("x", "", false),
    ];
    assert_eq!(told, expected);
    assert!(lines[4].unjudged.as_ref().unwrap().contains("no policy decides"));
}

fn with_shadows(main: &str, shadows: &[&str]) -> PolicySet {
    // A set is made of a folder alone, so that it can have shadows.
    let folder = tempfile::tempdir().unwrap();
    let mut list = vec![json!({"name": "main", "files": ["main.dl"]})];
    std::fs::write(folder.path().join("main.dl"), main).unwrap();
    for (at, shadow) in shadows.iter().enumerate() {
        std::fs::write(folder.path().join(format!("s{at}.dl")), shadow).unwrap();
        list.push(
            json!({"name": format!("s{at}"), "files": [format!("s{at}.dl")], "mode": "shadow", "of": "main"}),
        );
    }
    let all = json!({"gatelog_policies": 1, "policies": list, "files": {}});
    std::fs::write(folder.path().join(MANIFEST), all.to_string()).unwrap();
    policies::update(folder.path(), false).unwrap();
    policies::load(folder.path()).unwrap()
}

#[test]
fn shadows_see_the_same_session_and_block_nothing() {
    let second = "IsAuthorized(i) :- Actions(i, _).\n// @id: second\n\
                  Unauthorized(i) :- Actions(i, _), ToolOutcome(_, _, \"f\", _, \"running\").\n";
    let error = "IsAuthorized(i) :- Actions(i, $CallTool(_, args)), 1 / (strlen(args) - strlen(args)) = 1.\n";
    let logged = Logged::new(with_shadows(ALLOW, &[second, error]), Detail::Hashes);
    let session = logged.session("t");
    assert!(logged.call(&session, "c", "f", "{}").may_run);
    assert!(logged.call(&session, "d", "g", "{}").may_run);
    let lines = logged.decided();
    let told: Vec<Vec<_>> = lines
        .iter()
        .map(|line| {
            line.shadows.iter().map(|shadow| (shadow.verdict.unwrap().name(), shadow.differs)).collect()
        })
        .collect();
    assert_eq!(told, [vec![("allow", false), ("deny", true)], vec![("deny", true), ("deny", true)]]);
    assert_eq!(lines[1].shadows[0].reasons[0].rule, "second");
    assert_eq!(lines[1].shadows[1].reasons[0].kind, "engine_error");
}

/// One that would take for ever is given up, and asked no more.
#[test]
fn a_shadow_that_takes_too_long_costs_its_time_once() {
    let endless = ".decl N(n: number)\nN(n) :- n = range(0, 60000).\n\
                   IsAuthorized(i) :- Actions(i, _), N(a), N(b), N(c), a * b * c = 7.\n";
    let logged = Logged::new(with_shadows(ALLOW, &[endless]), Detail::Hashes);
    let session = logged.session("t");
    for id in ["c", "d", "e"] {
        assert!(logged.call(&session, id, "f", "{}").may_run);
    }
    let lines = logged.decided();
    let faults: Vec<_> = lines.iter().map(|line| line.shadows[0].fault.clone().unwrap()).collect();
    assert!(
        faults[0].contains("4000 ms") && faults[1] == faults[2] && faults[1].contains("before"),
        "{faults:?}"
    );
    let text: String = logged.store.lines(&key("t")).unwrap().into_iter().map(|line| line + "\n").collect();
    let recording = read(text.as_bytes(), &Options::default()).unwrap().pop().unwrap();
    let report = replay(&policy(ALLOW), &Settings::default(), "j", &recording);
    assert_eq!(report.checks.iter().filter(|check| check.decision.verdict == Verdict::Allow).count(), 3);
}

/// Replay of a journal is what was live, whatever served when: its digest, mode and metadata are in it.
#[test]
fn a_reload_between_checks_is_replayed_by_either_policy() {
    let rows = "IsAuthorized(i) :- Actions(i, _), PolicyMetadata(\"gate\", \"is\", \"here\").\n\
                Unauthorized(i) :- Actions(i, _), PolicyMetadata(\"stage\", \"is\", \"two\").\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("p.dl"), rows).unwrap();
    policies::update(folder.path(), false).unwrap();
    let logged = Logged::new(policies::load(folder.path()).unwrap(), Detail::Hashes);
    let session = logged.session("t");
    let mut live = vec![logged.call(&session, "c1", "f", "{}")];
    policy_is(folder.path(), "metadata", json!([["stage", "is", "two"]]));
    policy_is(folder.path(), "mode", json!("advise"));
    logged.gate.replace(policies::load(folder.path()).unwrap(), DroppedDenials::Confirmed).unwrap();
    live.push(logged.call(&session, "c2", "f", "{}"));
    let advised = logged.runtime.block_on(session.finish(
        &live[1].ticket,
        gatelog::recording::journal::Ending::Returned(None),
        None,
    ));
    advised.unwrap();
    policy_is(folder.path(), "mode", json!("enforce"));
    logged.gate.replace(policies::load(folder.path()).unwrap(), DroppedDenials::Confirmed).unwrap();
    // What ran under advice is no violation, also where another mode serves when it ends.
    drop(session);
    let session = logged.session("t");
    live.push(logged.call(&session, "c3", "f", "{}"));
    let told: Vec<_> =
        live.iter().map(|checked| (checked.decision.verdict.name(), checked.may_run)).collect();
    assert_eq!(told, [("allow", true), ("deny", true), ("deny", false)]);
    logged.gate.activate(policy(DENY));
    live.push(logged.call(&session, "c4", "f", "{}"));
    let text: String = logged.store.lines(&key("t")).unwrap().into_iter().map(|line| line + "\n").collect();
    let recording = read(text.as_bytes(), &Options::default()).unwrap().pop().unwrap();
    let settings = Settings { budget: Budget { steps: 1, ..Budget::default() }, ..Settings::default() };
    let (old, new) = (
        replay(&policy(rows), &settings, "j", &recording),
        replay(&policy(DENY), &settings, "j", &recording),
    );
    for (at, checked) in live.iter().enumerate() {
        let report = if at < 3 { &old } else { &new };
        assert_eq!(report.checks[at].decision, checked.decision, "{at}");
        assert_eq!(checked.policy == live[0].policy, at < 3, "{at}");
    }
    let activations = logged.said().into_iter().filter(|said| matches!(said, Said::Policies(_)));
    assert_eq!(activations.count(), 4);
}

#[test]
fn what_is_logged_of_arguments_is_what_was_asked_for() {
    let text = "IsAuthorized(i) :- Actions(i, _).\n// @id: r\n// @deny_message: no {pin}\n\
                Unauthorized(i) :- Actions(i, $CallTool(\"f\", args)), pin = @json_str(args, \"pin\").\n";
    let arguments = r#"{"pin": "4711", "list": [{"to": "bob"}]}"#;
    let path = |path: &str| json::Path::parse(path).unwrap();
    let rows = [
        (Detail::Hashes, None, false),
        (Detail::Arguments(vec![]), Some(r#"{"list":[{"to":"bob"}],"pin":"4711"}"#), true),
        (Detail::Arguments(vec![path("$.none")]), Some(r#"{"list":[{"to":"bob"}],"pin":"4711"}"#), true),
        (
            Detail::Arguments(vec![path("$.pin")]),
            Some(r#"{"list":[{"to":"bob"}],"pin":"[redacted]"}"#),
            false,
        ),
        (
            Detail::Arguments(vec![path("$..to")]),
            Some(r#"{"list":[{"to":"[redacted]"}],"pin":"4711"}"#),
            false,
        ),
    ];
    for (detail, expected, has_text) in rows {
        let logged = Logged::new(PolicySet::one("p", policy(text), Mode::Enforce), detail.clone());
        let checked = logged.call(&logged.session("t"), "c", "f", arguments);
        assert_eq!(checked.decision.reasons[0].text, "no 4711");
        let line = logged.decided().pop().unwrap();
        assert_eq!(line.arguments.as_ref().map(|arguments| arguments.get()), expected, "{detail:?}");
        assert_eq!(line.reasons[0].text.as_deref(), has_text.then_some("no 4711"), "{detail:?}");
        let hash = HashKey::new(b"0123456789abcdef").unwrap().hash(r#"{"list":[{"to":"bob"}],"pin":"4711"}"#);
        assert_eq!(line.arguments_hash, hash);
        let written = std::fs::read_to_string(logged.folder.path().join("log")).unwrap();
        assert_eq!(
            written.contains("4711"),
            expected.is_some_and(|text| text.contains("4711")),
            "{detail:?}"
        );
    }
}
