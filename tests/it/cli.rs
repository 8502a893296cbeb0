//! Commands from their arguments to their exit code.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use gatelog::cli::{Console, Exit, execute};
use gatelog::report::text::Color;
use serde_json::Value;

use crate::support::text;

struct Ran {
    exit: Exit,
    out: String,
    err: String,
}

/// Runs a command line in which `@` stands for the folder of fixtures.
fn gatelog(line: &str, input: &str) -> Ran {
    let words = line.split(' ').filter(|word| !word.is_empty());
    let arguments =
        std::iter::once("gatelog".to_owned()).chain(words.map(|word| word.replace('@', "fixtures/cli/")));
    let (mut out, mut err) = (Vec::new(), Vec::new());
    let mut input = input.as_bytes();
    let mut console = Console::new(&mut input, &mut out, &mut err, Color::Never);
    let exit = execute(arguments.map(OsString::from), &mut console);
    Ran { exit, out: String::from_utf8(out).unwrap(), err: String::from_utf8(err).unwrap() }
}

fn json(ran: &Ran) -> Value {
    serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{error}: {}", ran.out))
}

/// Command lines with their exit codes.
const EXITS: &[(&str, u8)] = &[
    ("replay --policy @policy.dl @allowed.json", 0),
    ("replay --policy @policy.dl @session.json", 1),
    ("replay --policy @policy.dl @session.json @allowed.json", 1),
    ("replay --policy @policy.dl @allowed.json @session.json", 1),
    ("replay --policy @policy.dl @stopped.json", 2),
    ("replay --policy @policy.dl @session.json @stopped.json", 2),
    ("replay --policy @policy.dl @missing.json", 2),
    ("replay --policy @policy.dl @allowed.json @missing.json", 2),
    ("replay --policy @missing.dl @allowed.json", 2),
    ("replay --policy @broken.dl @session.json", 2),
    ("replay --policy @policy.dl @no-calls.json", 3),
    ("replay --policy @policy.dl @no-calls.json --allow-empty", 0),
    ("replay --policy @policy.dl @allowed.json --anonymous", 1),
    ("replay --policy @policy.dl @allowed.json --no-such-option", 2),
    ("replay --policy @policy.dl @allowed.json --parts full", 0),
    ("replay --policy @policy.dl @code.json", 2),
    ("replay --policy @policy.dl @code.json --parts full", 0),
    ("replay --policy @policy.dl @code.json --parts full --strict", 1),
    ("replay --policy @policy.dl @code.json --parts some", 2),
    ("replay --policy @policy.dl", 2),
    ("check @policy.dl", 0),
    ("check @broken.dl", 2),
    ("check @includes.dl", 0),
    ("check @inner/outside.dl", 2),
    ("check @missing.dl", 2),
    ("check", 2),
    ("check --explain E0020", 0),
    ("check --explain e0020 --format json", 0),
    ("check --explain E0020 --format sarif", 2),
    ("check --explain E0020 @policy.dl --format json", 2),
    ("check --explain E0020 @policy.dl", 0),
    ("check --explain E0020 @broken.dl", 2),
    ("check --explain E9999", 2),
    ("check @findings.dl --format sarif", 0),
    ("check @findings.dl --format sarif --deny-warnings", 1),
    ("check @broken.dl --format github", 2),
    ("check @folder", 2),
    ("test @passing.test.yaml", 0),
    ("test @failing.test.yaml", 1),
    ("test @parts", 0),
    ("test @empty.test.yaml", 2),
    ("test @passing.test.yaml --filter nothing-is-called-so", 3),
    ("test @failing.test.yaml --filter nothing-is-called-so --allow-empty", 0),
    ("test @", 2),
    ("records @session.json", 0),
    ("records @stopped.json", 2),
    ("records @code.json", 2),
    ("records @code.json --parts full", 0),
    ("records @session.json --wide", 0),
    ("facts --policy @policy.dl --session @code.json --parts full ToolResult", 0),
    ("facts --policy @policy.dl --session @code.json ToolResult", 2),
    ("facts --policy @policy.dl --session @session.json ToolResult", 0),
    ("facts --policy @policy.dl --session @session.json ToolResults", 2),
    ("facts --policy @policy.dl --session @session.json ToolResult --call c9", 2),
    ("facts --policy @policy.dl --session @stopped.json ToolResult", 2),
    ("facts --policy @policy.dl --session @allowed.json ToolResult --call c", 0),
    ("facts --policy @policy.dl --session @session.json ToolResult --call c", 2),
    ("explain --policy @policy.dl --session @session.json", 1),
    ("explain --policy @policy.dl --session @allowed.json --format json", 0),
    ("explain --policy @policy.dl --session @allowed.json --call c", 0),
    ("explain --policy @policy.dl --session @allowed.json --cost", 0),
    ("explain --policy @policy.dl --session @allowed.json --cost --format mermaid", 2),
    ("explain --policy @policy.dl --session @session.json --call c9", 2),
    ("explain --policy @policy.dl --session @session.json --format jsn", 2),
    ("explain --policy @policy.dl --session @no-calls.json", 2),
    ("explain --policy @broken.dl --session @session.json --format json", 2),
    ("diff @policy.dl @policy.dl @session.json", 0),
    ("diff @policy.dl @policy.dl @no-calls.json", 3),
    ("diff @policy.dl @broken.dl @session.json", 2),
    ("diff @policy.dl @policy.dl @stopped.json --format json", 2),
    ("bench --policy @policy.dl @session.json --runs 1", 0),
    ("bench --policy @policy.dl @no-calls.json --runs 1 --format json", 3),
    ("bench --policy @policy.dl @missing.json", 2),
    ("bench --policy @policy.dl @session.json --runs 0", 2),
    ("eval --no-prelude -F @eval @eval/language.dl", 0),
    ("eval --no-prelude @eval/language.dl", 2),
    ("eval --no-prelude -F @eval @eval/faulty.dl", 2),
    ("eval --no-prelude -F @eval @eval/outside.dl", 2),
    ("eval --no-prelude @eval/sqlite.dl", 2),
    ("eval --no-prelude @eval/division.dl", 1),
    ("eval @eval/policy.dl", 0),
    ("eval --no-prelude @eval/policy.dl", 2),
    ("check @eval/faulty.dl", 2),
    ("version", 0),
    ("--help", 0),
    ("--version", 0),
    ("", 2),
    ("frobnicate", 2),
];

#[test]
fn exit_codes_tell_refused_from_broken_from_nothing() {
    for (line, expected) in EXITS {
        let ran = gatelog(line, "");
        assert_eq!(ran.exit.code(), *expected, "{line}\n{}\n{}", ran.out, ran.err);
    }
}

#[test]
fn machine_output_is_one_document_whatever_happens() {
    let rows = [
        ("replay --policy @policy.dl @session.json --format json", "/sessions/0/checks/1/verdict", "deny"),
        (
            "replay --policy @broken.dl @session.json --format json",
            "/findings/0/file",
            "fixtures/cli/broken.dl",
        ),
        (
            "replay --policy @policy.dl @missing.json --format json",
            "/error/file",
            "fixtures/cli/missing.json",
        ),
        ("replay --policy @missing.dl @session.json --format json", "/error/file", "fixtures/cli/missing.dl"),
        ("replay --policy @policy.dl @folder @missing.json --format json", "/error/kind", "unreadable"),
        ("replay --policy @policy.dl @stopped.json --format json", "/sessions/0/error/kind", "bad_number"),
        ("check @broken.dl --format json", "/findings/0/severity", "error"),
        (
            "facts --policy @policy.dl --session @session.json ToolResult --format json",
            "/relations/0/rows/0/1",
            "pay",
        ),
        (
            "facts --policy @policy.dl --session @session.json ToolResults --format json",
            "/error/kind",
            "unknown_relation",
        ),
        ("test @failing.test.yaml --format json", "/cases/0/failures/0/got", "deny"),
        ("test @empty.test.yaml --format json", "/errors/0/text", "the case `nothing` has no check"),
        ("version --json", "/name", "gatelog"),
    ];
    for (line, pointer, expected) in rows {
        let ran = gatelog(line, "");
        assert_eq!(json(&ran).pointer(pointer), Some(&Value::from(expected)), "{line}\n{}", ran.out);
        assert_eq!(ran.err, "", "{line}");
    }
}

#[test]
fn a_replay_row_has_what_the_contract_says() {
    let document = json(&gatelog("replay --policy @policy.dl @session.json -f json", ""));
    assert_eq!(document["policy"]["files"], Value::from(vec!["fixtures/cli/policy.dl"]));
    assert_eq!(document["totals"]["deny"], 1);
    let row = &document["sessions"][0]["checks"][1];
    let expected = serde_json::json!({
        "event_id": "e4", "call_id": "c2", "agent": "payer", "tool": "pay",
        "args": {"amount": 900, "to": "acme"}, "verdict": "deny", "outcome": "ok",
        "reasons": [{"kind": "denied", "rule": "over-limit", "file": "fixtures/cli/policy.dl", "line": 6,
            "text": "amount 900 is over the limit", "suggestions": ["split the payment"]}],
        "transforms": [],
    });
    for (key, value) in expected.as_object().unwrap() {
        assert_eq!(&row[key], value, "{key}");
    }
    assert!(row["seq"].is_number() && row.get("asked").is_none());
}

#[test]
fn lines_are_checks_and_ends_of_sessions() {
    let ran = gatelog("replay --policy @policy.dl @folder -f jsonl", "");
    let kinds: Vec<_> = ran
        .out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["check", "check", "session", "check", "session"]);
    let only = gatelog("replay --policy @policy.dl @folder -f jsonl --only deny", "");
    assert_eq!(only.out.lines().count(), 3);
    assert_eq!(only.exit, Exit::Refused);
}

#[test]
fn text_says_what_was_denied_and_why() {
    let ran = gatelog("replay --policy @policy.dl @folder", "");
    for part in [
        "denied: amount 900 is over the limit  (over-limit, fixtures/cli/policy.dl:6)",
        "try: split the payment",
        "1 of 2 sessions has calls that are not allowed",
        "3 calls: 2 allow, 0 ask, 1 deny (1 of those not allowed ran all the same)",
        "skipped: `fixtures/cli/folder/README.txt`",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    assert_eq!(gatelog("replay -q --policy @policy.dl @folder", "").out, "");
}

#[test]
fn one_request_is_judged_alone_or_as_the_next_of_a_session() {
    let pay = |amount: u32| format!(r#"{{"tool":"pay","args":{{"amount":{amount}}}}}"#);
    let alone = "decide --policy @policy.dl";
    let next = "decide --policy @policy.dl --session @session.json";
    let rows = [
        (alone, pay(5), 0),
        (alone, pay(900), 1),
        (alone, pay(70), 1),
        (alone, format!("{{\"actions\":[{}, {}]}}", pay(5), pay(6)), 0),
        (alone, "{\"actions\":[]}".to_owned(), 2),
        (alone, "{\"tool\":\"pay\",\"tool\":\"x\"}".to_owned(), 2),
        (alone, "{\"tol\":\"pay\"}".to_owned(), 2),
        (alone, "tool: pay".to_owned(), 2),
        (alone, "{\"tool\":\"pay\",\"args\":\"x\"}".to_owned(), 2),
        (alone, "{\"tool\":\"pay\",\"args\":[5]}".to_owned(), 2),
        (alone, "{\"tool\":\"pay\",\"args\":5}".to_owned(), 2),
        (alone, "{\"tool\":\"pay\",\"args\":\"[]\"}".to_owned(), 2),
        (alone, "{\"tool\":\"pay\",\"args\":\"{\\\"amount\\\":5}\"}".to_owned(), 0),
        (alone, "{\"actions\":[{\"tool\":\"pay\",\"args\":\"x\"}]}".to_owned(), 2),
        (next, pay(5), 0),
        (next, pay(900), 1),
        (next, format!("{{\"actions\":[{}],\"current\":[\"no-such-record\"]}}", pay(5)), 2),
        ("decide --policy @policy.dl --session @stopped.json", pay(5), 2),
    ];
    for (line, input, expected) in rows {
        let ran = gatelog(line, &input);
        assert_eq!(ran.exit.code(), expected, "{line} < {input}\n{}\n{}", ran.out, ran.err);
    }
    let ran = gatelog("decide --policy @policy.dl -f json", &pay(900));
    assert_eq!(json(&ran)["checks"][0]["reasons"][0]["rule"], "over-limit");
    let bad = gatelog(alone, "{\n  \"tool\": NaN}");
    assert!(bad.err.contains("2:11"), "{}", bad.err);
    let rows = [
        (
            "{\"tol\":\"pay\"}",
            "error: `<standard input>` is not an action: 1:2: unknown key `tol` in an action; did you mean `tool`",
        ),
        (
            "{\"tool\":\"pay\",\"args\":\"x\"}",
            "error: `<standard input>` is not an action: 1:22: `args` of an action has to be an object, and this is a text \
             that holds none",
        ),
    ];
    for (input, expected) in rows {
        let ran = gatelog(alone, input);
        assert!(ran.err.starts_with(expected), "{}", ran.err);
    }
}

#[test]
fn findings_for_scanners_and_workflows() {
    insta::assert_snapshot!("github", gatelog("check @findings.dl @broken.dl --format github", "").out);
    let log = gatelog("check @findings.dl @broken.dl --format sarif", "").out;
    let version = format!("\"version\":\"{}\"", env!("CARGO_PKG_VERSION"));
    let log = log.replace(&version, "\"version\":\"0.0.0\"");
    let log: Value = serde_json::from_str(&log).unwrap();
    insta::assert_snapshot!("sarif", serde_json::to_string_pretty(&log).unwrap());
    let unreadable = "check @missing.dl --format";
    assert_eq!(
        gatelog(&format!("{unreadable} github"), "").out,
        "::error file=fixtures/cli/missing.dl::`fixtures/cli/missing.dl` cannot be read: there is no such file\n"
    );
    let failed = json(&gatelog(&format!("{unreadable} sarif"), ""));
    assert_eq!(failed["runs"][0]["invocations"][0]["executionSuccessful"], false);
    let sound = json(&gatelog("check policies/payment.dl --format sarif", ""));
    assert_eq!(sound["runs"][0]["results"], serde_json::json!([]));
    assert_eq!(gatelog("check policies/payment.dl --format github", "").out, "");
}

#[test]
fn a_code_is_explained() {
    insta::assert_snapshot!("explain", gatelog("check --explain e0020", "").out);
    let page = json(&gatelog("check --explain E0020 --format json", ""));
    assert_eq!(page["explanation"]["title"], "types do not go together");
    let unknown = gatelog("check --explain E020", "");
    assert_eq!((unknown.exit, unknown.out.as_str()), (Exit::Broken, ""));
    assert!(unknown.err.contains("there is no code `E020`; did you mean `E00"), "{}", unknown.err);
    let nonsense = gatelog("check --explain tuesday --format json", "");
    assert_eq!(json(&nonsense)["error"]["kind"], "unknown_code");
}

#[test]
fn people_see_a_hundred_findings_and_a_count() {
    // Errors come last in the text, and are shown all the same.
    let text = format!(
        "{}{}",
        "IsAuthorized(i) :- Actions(i, once).\n".repeat(120),
        "IsAuthorized(i) :- Actions(i, _), IsTol(_, _).\n".repeat(3)
    );
    let ran = gatelog("check -", &text);
    let starts = |start: &str| ran.out.lines().filter(|line| line.starts_with(start)).count();
    assert_eq!((starts("error["), starts("warning[")), (3, 97), "{}", ran.out);
    let end = "and 0 errors and 23 warnings more; `--format json` shows all\n\n3 errors, 120 warnings\n";
    assert!(ran.out.ends_with(end), "{}", ran.out);
    let all = json(&gatelog("check - -f json", &text));
    assert_eq!(all["findings"].as_array().map(Vec::len), Some(123));
}

#[test]
fn what_was_not_read_is_not_counted() {
    let ran = gatelog("replay --policy @policy.dl @missing.json", "");
    assert_eq!(ran.out, "");
    assert_eq!(ran.err, "error: `fixtures/cli/missing.json` cannot be read: there is no such file\n");
    let ran = gatelog("replay --policy @policy.dl @missing.json @allowed.json", "");
    assert!(ran.out.contains("1 call: 1 allow, 0 ask, 0 deny\n"), "{}", ran.out);
}

#[test]
fn a_call_is_named_by_the_beginning_of_its_id() {
    let of = |call: &str| {
        gatelog(&format!("facts --policy @policy.dl --session @session.json ActionRecord --call {call}"), "")
    };
    let (whole, begun) = (of("c2"), of("c2…"));
    assert!(whole.exit == Exit::Done && !whole.out.is_empty(), "{}", whole.err);
    assert_eq!(begun.out, whole.out);
    let many = of("c");
    assert!(
        many.err.contains("2 calls have ids that begin so") && many.err.contains("--seq N"),
        "{}",
        many.err
    );
    let none = of("x");
    assert!(none.err.contains("there is no call `x`") && none.err.contains("--seq N"), "{}", none.err);
}

#[test]
fn a_failing_test_shows_what_came_and_why() {
    let ran = gatelog("test @failing.test.yaml", "");
    for part in [
        "FAIL fixtures/cli/failing.test.yaml:3: too strict",
        "verdict: expected allow",
        "got      deny",
        "denied: amount 900 is over the limit  (over-limit, policy.dl:6)",
        "1 case: 0 passed, 1 failed",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
}

#[test]
fn warnings_fail_where_they_are_denied_and_are_mended_where_they_can_be() {
    let folder = scratch("mended");
    let path = folder.join("policy.dl");
    let before = "IsAuthorized(i) :- Actions(i, a), IsTool(a, \"pay\"), Current(r), MessageMetadata(r, m),\n    \
                  @json_get_str_path(m, \"function_call.args.to\") = \"alice\", other = 3.\n";
    std::fs::write(&path, before).unwrap();
    let line = |flag: &str| format!("check {} {flag}", path.display());
    assert_eq!(gatelog(&line(""), "").exit.code(), 0);
    assert_eq!(gatelog(&line("--deny-warnings"), "").exit.code(), 1);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
    let ran = gatelog(&line("--fix --deny-warnings"), "");
    assert_eq!(ran.exit.code(), 0, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("3 places"), "{}", ran.err);
    let after = "IsAuthorized(i) :- Actions(i, a), IsTool(a, \"pay\"), ActionRecord(i, r), MessageMetadata(r, m),\n    \
                 @json_get_str_path(m, \"s:function_call.s:args.s:to\") = \"alice\", _other = 3.\n";
    assert_eq!(std::fs::read_to_string(&path).unwrap(), after);
    assert_eq!(gatelog("check - --fix", before).exit.code(), 2);
}

#[test]
fn fixes_wait_for_a_policy_that_loads() {
    let folder = scratch("unmended");
    let path = folder.join("policy.dl");
    let before = "IsAuthorized(i) :- Actions(i, a), IsTol(a, \"pay\"), other = 3.\n";
    std::fs::write(&path, before).unwrap();
    let ran = gatelog(&format!("check {} --fix", path.display()), "");
    assert_eq!(ran.exit.code(), 2);
    assert!(ran.err.contains("nothing was mended"), "{}", ran.err);
    assert_eq!(std::fs::read_to_string(&path).unwrap(), before);
}

#[test]
fn a_policy_is_no_test() {
    let ran = gatelog("test @policy.dl", "");
    assert_eq!(ran.exit.code(), 2);
    assert!(format!("{}{}", ran.out, ran.err).contains("a policy and no test"), "{}{}", ran.out, ran.err);
}

/// A case about calls `call-aa` and `call-ab`, with these lines of a check.
fn case(check: &str) -> String {
    format!(
        "source: 'IsAuthorized(i) :- Actions(i, a), IsTool(a, \"read\").'\ncases:\n  - name: c\n    records:\n      \
         - {{id: m, role: model, call: {{id: call-aa, tool: read, args: {{}}}}}}\n      \
         - {{id: n, role: model, call: {{id: call-ab, tool: drop, args: {{}}}}}}\n    checks:\n      - {check}\n"
    )
}

#[test]
fn a_call_is_named_by_a_beginning_that_no_other_has() {
    let rows = [
        ("{at: {call: call-aa}, expect: [allow]}", 0, "1 passed"),
        ("{at: {call: call-ab}, expect: [deny]}", 0, "1 passed"),
        ("{at: {call: call-ab…}, expect: [deny]}", 0, "1 passed"),
        ("{at: {call: call-}, expect: [deny]}", 2, "2 calls have ids that begin so"),
        ("{at: {call: other}, expect: [deny]}", 2, "there is no call `other`"),
    ];
    for (check, code, part) in rows {
        let ran = gatelog("test -", &case(check));
        assert_eq!(ran.exit.code(), code, "{check}: {}{}", ran.out, ran.err);
        assert!(format!("{}{}", ran.out, ran.err).contains(part), "{check}: {}{}", ran.out, ran.err);
    }
    let longer = case("{at: {call: call-a}, expect: [allow]}").replace("call-aa", "call-a");
    assert_eq!(gatelog("test -", &longer).exit.code(), 0, "a whole id goes before those that begin so");
    let short = case("{at: {call: long}, expect: [allow]}").replace("call-aa", "longer");
    assert_eq!(gatelog("test -", &short).exit.code(), 0, "a beginning will do");
}

#[test]
fn names_of_no_record_are_told() {
    let strange = "{current: [m, x], actions: [{tool: read}], expect: [allow]}";
    let ran = gatelog("test -", &case(strange));
    assert_eq!(ran.exit.code(), 0, "{}{}", ran.out, ran.err);
    assert!(ran.err.contains("`current` names `x`") && !ran.err.contains("`m`"), "{}", ran.err);
    assert_eq!(gatelog("test - -q", &case(strange)).err, "");
    let known = gatelog("test -", &case("{current: [m], actions: [{tool: read}], expect: [allow]}"));
    assert_eq!(known.err, "");
    let ran = gatelog("decide --policy @policy.dl", r#"{"actions": [{"tool": "x"}], "current": ["y"]}"#);
    assert!(ran.err.contains("`current` names `y`"), "{}", ran.err);
}

#[test]
fn a_plain_program_is_not_warned_of_as_a_policy() {
    let folder = scratch("plain");
    let path = folder.join("plain.dl");
    std::fs::write(&path, ".decl A(x: number)\nA(1).\n.decl B(x: number)\nB(x) :- A(x).\n").unwrap();
    let ran = gatelog(&format!("eval {}", path.display()), "");
    assert_eq!((ran.exit.code(), ran.err.as_str()), (0, ""));
    assert!(gatelog(&format!("check {}", path.display()), "").out.contains("W0012"));
    std::fs::write(
        &path,
        "IsAuthorized(i) :- Actions(i, a), IsTool(a, t), Known(t).\n.decl Known(t: symbol)\n",
    )
    .unwrap();
    assert!(gatelog(&format!("eval {}", path.display()), "").err.contains("W0012"));
}

/// A folder of its own below the build's.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[test]
fn a_closed_pipe_ends_quietly() {
    struct Closed;
    impl std::io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }
    let mut err = Vec::new();
    let (mut input, mut out) = (std::io::empty(), Closed);
    let mut console = Console::new(&mut input, &mut out, &mut err, Color::Never);
    let words = ["gatelog", "replay", "--policy", "fixtures/cli/policy.dl", "fixtures/cli/session.json"];
    assert_eq!(execute(words.map(OsString::from), &mut console), Exit::Refused);
    assert_eq!(err, b"");
}

#[test]
fn a_plain_program_prints_its_outputs() {
    let ran = gatelog("eval -q --no-prelude -F @eval @eval/language.dl", "");
    assert_eq!(ran.err, "");
    insta::assert_snapshot!(ran.out);
}

#[test]
fn a_plain_program_asks_what_commands_run() {
    let ran = gatelog("eval -q --no-prelude @eval/commands.dl", "");
    assert_eq!(ran.err, "");
    insta::assert_snapshot!(ran.out);
}

#[test]
fn what_is_wrong_with_facts_has_a_place() {
    let rows = [
        ("faulty.dl", "error: facts of `A`: faulty.facts:2:3: `2x` is not a number"),
        ("outside.dl", "`../eval/faulty.facts` lies outside the folder of facts"),
        ("sqlite.dl", "`IO=sqlite` is not supported here"),
        ("division.dl", "error: fixtures/cli/eval/division.dl:3:3: `A` cannot be derived: division by zero"),
    ];
    for (file, expected) in rows {
        let ran = gatelog(&format!("eval --no-prelude -F @eval @eval/{file}"), "");
        assert!(ran.err.contains(expected), "{file}: {}", ran.err);
        assert_eq!(ran.out, "", "{file}");
    }
}

#[test]
fn outputs_go_to_files_of_their_folder() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("eval");
    let line = format!("eval --no-prelude -D {} @eval/files.dl", folder.display());
    for (input, whole) in [("b\na", "a\nb\n"), ("a\n", "a\n")] {
        let ran = gatelog(&line, input);
        assert_eq!((ran.exit.code(), ran.out.as_str(), ran.err.as_str()), (0, "", ""));
        assert_eq!(text(&folder.join("deeper/a.txt")), whole);
        assert_eq!(text(&folder.join("B.csv")), if whole.contains('b') { "()\n" } else { "" });
    }
}

/// What `--strict` refuses is said: for people by kind, for machines session by session.
#[test]
fn strict_says_what_it_refuses() {
    let line = "replay --policy @policy.dl @code.json --parts full --strict";
    let ran = gatelog(line, "");
    assert_eq!(ran.exit.code(), 1);
    let refused: Vec<&str> = ran.out.lines().filter(|line| line.starts_with("refused by --strict")).collect();
    let expected = ["full_history", "state_key", "state_reads", "unknown_keys"]
        .map(|kind| format!("refused by --strict: {kind} (1 session)"));
    assert_eq!(refused, expected);
    let document = json(&gatelog(&format!("{line} --format json"), ""));
    let rows = document.get("refused").and_then(Value::as_array).cloned().unwrap_or_default();
    let kinds: Vec<_> = rows.iter().filter_map(|row| row.get("kind").and_then(Value::as_str)).collect();
    assert_eq!(kinds, ["unknown_keys", "full_history", "state_reads", "state_key"]);
    let ran = gatelog(&format!("{line} --format jsonl"), "");
    let last: Value = serde_json::from_str(ran.out.lines().last().unwrap()).unwrap();
    assert_eq!(last.get("refused").and_then(Value::as_array), Some(&rows));
    let plain = json(&gatelog("replay --policy @policy.dl @code.json --parts full --format json", ""));
    assert_eq!(plain.get("refused"), None);
}

#[test]
fn records_for_people_and_for_tools() {
    insta::assert_snapshot!("records_narrow", gatelog("records @code.json --parts full", "").out);
    insta::assert_snapshot!("records_wide", gatelog("records @code.json --parts full --wide", "").out);
    insta::assert_snapshot!(
        "records_lines",
        gatelog("records @code.json --parts full --format jsonl", "").out
    );
    let ran = gatelog("records @code.json", "");
    assert!(ran.err.contains("executableCode"), "{}", ran.err);
    assert_eq!(ran.out.lines().count(), 2, "{}", ran.out);
}
