//! A policy decides the same before and after it is laid out.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatelog::decision::Decision;
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::program::{NoIncludes, Program, check};
use gatelog::recording::{Options, read};
use gatelog::replay::replay;
use gatelog::source::FileId;
use gatelog::syntax::format;
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};

use crate::random::{Node, facts, given, literal, load, rule, session, sound};
use crate::support::{entries, files, root, text};

const NAME: &str = "random.dl";

/// What may stand where a rule has a blank, besides one blank.
const BLANKS: [&str; 7] =
    ["   ", "\n", "\r\n\t", " /* a, \"b. */ ", "\n// c(x) :- \"d.\n", "\n\n\n    ", " // e\n  "];

/// A rule about the decision, with or without annotations.
fn decision() -> impl Strategy<Value = String> {
    let notes = prop_oneof![
        2 => Just(""),
        1 => Just("// @deny_message: {x} of {s} {{z}}\n"),
        1 => Just("//   @id   named\n// @suggestion: one\n/* @suggestion: two */\n"),
        1 => Just("// @deny_message: x\n\n// not a note\n"),
    ];
    let head = prop_oneof![
        2 => Just("// @ask\nUnauthorized(i)"),
        3 => Just("Unauthorized(i)"),
        2 => Just("IsAuthorized(i)"),
        1 => Just("DenialReason(i, \"block\", s, \"do \\\"that\\\"\")"),
    ];
    (notes, head, prop::collection::vec(literal(5), 0..3)).prop_map(|(notes, head, body)| {
        let (above, head) = head.split_once('\n').map_or(("", head), |(above, head)| (above, head));
        // Hints about an action are for rules that allow or deny it.
        let notes = if head.starts_with("DenialReason") { "" } else { notes };
        let above = if above.is_empty() { String::new() } else { format!("{above}\n") };
        let all: Vec<_> = ["Actions(i, _)", "A(x, y)", "C(s, z)"].map(str::to_owned).into();
        let all: Vec<_> = all.into_iter().chain(body).collect();
        format!("{notes}{above}{head} :- {}.", all.join(", "))
    })
}

/// The text with other blanks between the parts of its rules; lines of comments stay.
fn sprawled(text: &str, picks: &[u8]) -> String {
    let mut picks = picks.iter().copied().cycle();
    let mut out = String::new();
    for line in text.lines() {
        let mut quoted = false;
        let mut before = ' ';
        let is_code = line.contains(" :- ");
        for sign in line.chars() {
            quoted ^= sign == '"' && before != '\\';
            let pick = picks.next().map_or(0, usize::from);
            match BLANKS.get(pick % (3 * BLANKS.len())) {
                Some(blank) if sign == ' ' && is_code && !quoted => out.push_str(blank),
                _ if sign == ' ' && before == ',' && is_code && !quoted && pick % 2 == 0 => {}
                _ => out.push(sign),
            }
            before = sign;
        }
        out.push('\n');
    }
    out
}

/// A text without the places in it, which move with the layout, and with single blanks.
fn placeless(text: &str, name: &str) -> String {
    let place = format!("{name}:");
    let mut parts = text.split(&place);
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        out.push_str(name);
        out.push_str(part.trim_start_matches(|sign: char| sign.is_ascii_digit() || sign == ':'));
    }
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Everything that a decision says, places aside. Reasons of one kind are in the order of the lines.
type Said = (
    String,
    BTreeSet<(String, String, String, Vec<String>)>,
    BTreeSet<(String, String)>,
    Vec<String>,
    [bool; 2],
);

fn said(decision: &Decision, name: &str) -> Said {
    let reasons = decision.reasons.iter().map(|reason| {
        let (text, rule) = (placeless(&reason.text, name), placeless(&reason.rule, name));
        (reason.kind.name().to_owned(), text, rule, reason.suggestions.clone())
    });
    let routes =
        decision.routes.iter().map(|route| (placeless(&route.rule, name), route.status.name().to_owned()));
    (
        decision.verdict.name().to_owned(),
        reasons.collect(),
        routes.collect(),
        decision.transforms.clone(),
        [decision.passthrough, decision.refuse_aloud],
    )
}

fn settings() -> Settings {
    Settings {
        caller: Caller { principal: Some("p".to_owned()), ..Caller::default() },
        ..Settings::default()
    }
}

/// Judges after every few records.
fn decided(program: Program, session: &[Node], ends: &[usize]) -> Vec<Said> {
    let mut monitor = Monitor::new(Arc::new(Policy::new(program)), settings());
    let mut recorded = 0;
    let mut all = Vec::new();
    for &end in ends {
        let end = end.min(session.len()).max(recorded);
        for (at, node) in session.iter().enumerate().take(end).skip(recorded) {
            monitor.graph_mut().add(given(at, node)).unwrap();
        }
        recorded = end;
        let current = (0..recorded).rev().step_by(2).take(2).map(|at| format!("r{at}")).collect();
        let actions = ["go", "stop"]
            .map(|tool| (Action::CallTool { tool: tool.to_owned(), arguments: "{}".to_owned() }, Vec::new()));
        let request = Request { current, actions: actions.into(), clock: None };
        all.extend(monitor.judge(&request).iter().map(|decision| said(decision, NAME)));
    }
    all
}

/// The declarations, facts and sound rules, with those of the given rules that the checker takes.
fn policy(facts: &str, rules: &[String], decisions: &[String]) -> String {
    let mut text = sound(facts, rules);
    for rule in decisions {
        let longer = format!("{text}{rule}\n");
        if load(&longer).is_some() {
            text = longer;
        }
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 80, ..ProptestConfig::default() })]

    #[test]
    fn formatted_and_original_decide_alike(
        rules in prop::collection::vec(rule(), 0..4),
        decisions in prop::collection::vec(decision(), 1..5),
        facts in facts(),
        session in session(),
        ends in prop::collection::vec(1..10_usize, 1..4),
        picks in prop::collection::vec(any::<u8>(), 97),
    ) {
        let original = sprawled(&policy(&facts, &rules, &decisions), &picks);
        let laid = format(FileId(0), &original).unwrap_or_else(|fault| panic!("{fault}\n{original}"));
        let [before, after] =
            [&original, &laid].map(|text| load(text).unwrap_or_else(|| panic!("refused:\n{text}")));
        assert_eq!(
            decided(before, &session, &ends),
            decided(after, &session, &ends),
            "{original}\nlaid out as\n{laid}"
        );
    }
}

/// The comparison above would be worth nothing if no rule fired, or if layouts hardly differed.
#[test]
fn random_policies_differ_in_layout_and_in_verdicts() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut verdicts, mut reasons, mut sprawl) = (BTreeSet::new(), 0, 0);
    for _ in 0..40 {
        let strategy =
            (prop::collection::vec(decision(), 1..5), facts(), prop::collection::vec(any::<u8>(), 97));
        let (decisions, facts, picks) = strategy.new_tree(&mut runner).unwrap().current();
        let text = policy(&facts, &[], &decisions);
        let original = sprawled(&text, &picks);
        sprawl += usize::from(original != text);
        let nodes = [Node { inputs: Vec::new(), result_of: Some(1) }];
        for said in decided(load(&original).unwrap(), &nodes, &[1]) {
            verdicts.insert(said.0);
            reasons += said.1.len();
        }
    }
    assert_eq!(verdicts.into_iter().collect::<Vec<_>>(), ["allow", "ask", "deny"]);
    assert!(sprawl > 35 && reasons > 15, "{sprawl} layouts, {reasons} reasons");
}

/// Every case's policy, and its recordings.
#[test]
fn cases_are_decided_alike_under_their_formatted_policies() {
    let (mut changed, mut calls) = (0, 0);
    for folder in entries(&root().join("fixtures/cases")).iter().filter(|folder| folder.is_dir()) {
        let recordings: Vec<_> =
            [".json", ".jsonl"].iter().flat_map(|ending| files(folder, ending)).collect();
        for path in files(folder, ".dl") {
            let original = text(&path);
            let Ok(laid) = format(FileId(0), &original) else { continue };
            if laid == original {
                continue;
            }
            let programs = [&original, &laid].map(|text| {
                check(&[(NAME.to_owned(), text.clone())], &mut NoIncludes).map_err(|_refused| ())
            });
            let [Ok(before), Ok(after)] = programs else {
                assert!(matches!(programs, [Err(()), Err(())]), "{}", path.display());
                continue;
            };
            changed += 1;
            let policies = [before, after].map(|program| Arc::new(Policy::new(program)));
            for recording in &recordings {
                let sessions = read(text(recording).as_bytes(), &Options::default()).unwrap_or_default();
                for session in sessions {
                    let [before, after] = policies.each_ref().map(|policy| {
                        let report = replay(policy, &settings(), "session", &session);
                        report.checks.iter().map(|call| said(&call.decision, NAME)).collect::<Vec<_>>()
                    });
                    calls += before.len();
                    assert_eq!(before, after, "{} {}", path.display(), recording.display());
                }
            }
        }
    }
    assert!(changed > 20 && calls > 100, "{changed} policies changed, {calls} calls");
}
