//! Proofs: what they say, and that they hold together.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatelog::decision::Verdict;
use gatelog::explain::{Ground, Proof, Shown, StepId, Subject};
use gatelog::monitor::{Monitor, Policy, Settings};
use gatelog::program::{NoIncludes, check};
use gatelog::recording::{Options, Parts, Recording, read};
use gatelog::records::Graph;
use gatelog::replay::{SessionReport, Turn, at_judgement, replay, walk};
use insta::{assert_snapshot, glob};
use proptest::prelude::{ProptestConfig, prop, proptest};

use crate::random::literal;
use crate::support::{files, gatelog, name, root, text};

const SESSION: &str = "fixtures/sessions/payment-approved.json";

fn explained(policy: &str, more: &[&str]) -> String {
    let mut arguments = vec!["explain", "--policy", policy, "--session", SESSION];
    arguments.extend(more);
    let run = gatelog(&root(), &arguments, None);
    let code = run.code.map_or_else(|| "a signal".to_owned(), |code| code.to_string());
    format!("$ gatelog explain {}\nexit {code}\n{}{}", more.join(" "), run.stdout, run.stderr)
}

#[test]
fn proofs_of_one_idea_each() {
    glob!("../../fixtures/explain", "*.dl", |path| {
        let policy = format!("fixtures/explain/{}", name(path));
        assert_snapshot!(format!(
            "{}\n{}",
            explained(&policy, &["--seq", "13"]),
            explained(&policy, &["--full"])
        ));
    });
}

#[test]
fn proofs_in_each_format() {
    let all = [&["--seq", "9"][..], &["-f", "json"], &["-f", "dot"], &["-f", "mermaid"]];
    assert_snapshot!(all.map(|more| explained("policies/payment.dl", more)).join("\n"));
}

/// The answer of a person that a decision rests on is named, as text and as JSON.
#[test]
fn an_answer_of_a_person_is_named() {
    for (session, said, code) in [("approved", "approved", 0), ("rejected", "declined", 1)] {
        let session = format!("fixtures/sessions/confirmation-{session}.py213.json");
        let run = |format: &str| {
            let policy = "fixtures/explain/asked.dl";
            gatelog(&root(), &["explain", "--policy", policy, "--session", &session, "-f", format], None)
        };
        let told = run("text");
        assert_eq!(told.code, Some(code), "{}{}", told.stdout, told.stderr);
        assert!(told.stdout.contains(&format!("{said} by a person")), "{}", told.stdout);
        assert!(told.stdout.contains(" is a response by user, event "), "{}", told.stdout);
        let document: serde_json::Value = serde_json::from_str(&run("json").stdout).unwrap();
        let record = &document["approval"]["record"];
        let named = document["records"].as_array().unwrap().iter().any(|one| one["seq"] == *record);
        assert!(record.is_number() && named, "{document}");
        assert_eq!(document["approval"]["confirmed"], code == 0);
        assert!(run("dot").stdout.contains(&format!("[label=\"{said}\"]")));
    }
}

/// What each condition looks at depends on how rules are run; that all of it is told does not.
#[test]
fn costs_add_up() {
    let policy = "policies/payment.dl";
    let cost = |format: &str| {
        gatelog(&root(), &["explain", "--policy", policy, "--session", SESSION, "--cost", "-f", format], None)
    };
    let json = cost("json").stdout;
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let rows = document["cost"].as_array().unwrap();
    let looked: u64 = rows.iter().map(|row| row["looked"].as_u64().unwrap()).sum();
    assert!(looked > 0 && document["looked"].as_u64() == Some(looked), "{json}");
    let ordered = rows.windows(2).all(|pair| pair[0]["looked"].as_u64() >= pair[1]["looked"].as_u64());
    let held = rows.iter().any(|row| row["file"] == policy && row["held"].as_u64() > Some(0));
    assert!(ordered && held, "{json}");
    assert!(cost("text").stdout.starts_with(&format!("tuples looked at: {looked}\n")));
    assert_eq!(cost("dot").code, Some(2));
}

/// What is wrong with a proof: a step that rests on itself or is not followed, a rule that is not told of.
fn faults(proof: &Proof, graph: &Graph) -> Vec<String> {
    let mut faults: Vec<String> =
        (!proof.fault.is_empty()).then(|| proof.fault.clone()).into_iter().collect();
    let fired: BTreeSet<&str> = proof.firings.iter().map(|firing| firing.rule.as_str()).collect();
    for reason in &proof.decision.reasons {
        let of_rule = !reason.rule.is_empty() && reason.kind.name() != "not_allowed";
        if of_rule && !fired.contains(reason.rule.as_str()) {
            faults.push(format!("no proof of {}", reason.rule));
        }
    }
    if proof.decision.verdict == Verdict::Allow && proof.firings.is_empty() {
        faults.push("allowed by nothing".to_owned());
    }
    let below = |id: StepId| {
        let step = &proof.steps[id.0 as usize];
        step.conditions.iter().filter_map(|condition| match condition.ground {
            Ground::Step(next) => Some(next),
            _ => None,
        })
    };
    // Steps without open conditions are taken away until none is left.
    let mut left: BTreeSet<StepId> = (0..).map(StepId).take(proof.steps.len()).collect();
    loop {
        let done: Vec<StepId> =
            left.iter().copied().filter(|&id| below(id).all(|next| !left.contains(&next))).collect();
        if done.is_empty() {
            break;
        }
        left.retain(|id| !done.contains(id));
    }
    faults.extend(left.iter().map(|id| format!("in a circle: {}", proof.steps[id.0 as usize].head)));
    for step in &proof.steps {
        faults.extend((!step.fault.is_empty()).then(|| format!("{}: {}", step.head, step.fault)));
        for condition in &step.conditions {
            match &condition.ground {
                Ground::Open(why) => faults.push(format!("{}: {why}", condition.text)),
                Ground::Path(way) => {
                    for pair in way.windows(2) {
                        let lineage = graph.lineage();
                        if !lineage.member_set(lineage.inputs(pair[1])).contains(pair[0]) {
                            faults.push(format!("{}: no edge {pair:?}", condition.text));
                        }
                    }
                }
                _ => {}
            }
            for binding in &condition.values {
                if let Shown::Record(record) = binding.value
                    && !proof.records.iter().any(|mention| mention.record == record)
                {
                    faults.push(format!("{}: {record:?} is not told of", condition.text));
                }
            }
        }
    }
    faults
}

/// The law: explained is what the replay decides, call by call.
pub(crate) fn explained_as_replayed(
    policy: &Arc<Policy>,
    settings: &Settings,
    recording: &Recording,
    report: &SessionReport,
) {
    for row in &report.checks {
        let Some(judgement) = row.judgement else { continue };
        let mut monitor = Monitor::new(Arc::clone(policy), settings.clone());
        let proof =
            at_judgement(&mut monitor, recording, judgement, &mut |monitor, due| due.explain(monitor));
        let proof = proof.unwrap_or_else(|| panic!("{}: {judgement:?} is not met again", report.source));
        let Subject { seq, call_id, agent, tool, arguments } = &proof.subject;
        assert_eq!(
            (seq, call_id, agent, tool, arguments),
            (&row.seq, &row.call_id, &row.agent, &row.tool, &row.arguments),
            "{}",
            report.source
        );
        assert_eq!(proof.decision, row.decision, "{}: {call_id} {tool}", report.source);
    }
}

fn policy_of(text: String) -> Option<Arc<Policy>> {
    let program = check(&[("p.dl".to_owned(), text)], &mut NoIncludes).ok()?;
    Some(Arc::new(Policy::new(program)))
}

/// Every call of every session under every policy: the proof is of the verdict that the call is given, and whole.
#[test]
fn every_proof_is_whole() {
    let mut policies = files(&root().join("policies"), ".dl");
    policies.retain(|path| name(path) != "prelude.dl");
    policies.extend(files(&root().join("fixtures/explain"), ".dl"));
    let policies: Vec<_> = policies.iter().map(|path| (name(path), policy_of(text(path)).unwrap())).collect();
    let (mut proofs, mut found) = (0, Vec::new());
    let sessions = files(&root().join("fixtures/sessions"), "").into_iter();
    for path in sessions.filter(|path| path.to_string_lossy().contains(".json")) {
        let options = Options { parts: Parts::Full, ..Options::default() };
        let Ok(recordings) = read(text(&path).as_bytes(), &options) else { continue };
        for (recording, (policy, loaded)) in
            recordings.iter().flat_map(|one| policies.iter().map(move |p| (one, p)))
        {
            let settings = Settings { parts: Parts::Full, ..Settings::default() };
            // Each of its calls costs a replay of the session.
            if matches!(policy.as_str(), "payment.dl" | "asked.dl") {
                let report = replay(loaded, &settings, &name(&path), recording);
                explained_as_replayed(loaded, &settings, recording, &report);
            }
            let mut monitor = Monitor::new(Arc::clone(loaded), settings);
            let mut last = None;
            let _stopped = walk(&mut monitor, recording, &mut |monitor, turn| match turn {
                Turn::Made(call) | Turn::Answered(call) => last = Some(monitor.explain(call)),
                Turn::Judged(_, decision) | Turn::JudgedAgain(_, decision) => {
                    let proof = last.take().unwrap();
                    proofs += 1;
                    let refused = decision.reasons.iter().any(|reason| reason.kind.name() == "engine_error");
                    let faults = if refused { Vec::new() } else { faults(&proof, monitor.graph()) };
                    let differs = (proof.decision != decision).then(|| "another decision".to_owned());
                    found.extend(faults.into_iter().chain(differs).map(|fault| {
                        format!("{} under {policy}, seq {:?}: {fault}", name(&path), proof.subject.seq)
                    }));
                }
            });
        }
    }
    assert!(proofs > 300, "{proofs}");
    assert!(found.is_empty(), "{} faults in {proofs} proofs:\n{}", found.len(), found.join("\n"));
}

const RANDOM: &str = r#"
.type Pair = [left: number, right: symbol]
.type Shape = Dot { n: number } | Line { pair: Pair } | Empty {}
.decl A(x: number, y: number)
.decl B(x: number)
.decl C(s: symbol, x: number)
.decl S(x: number, shape: Shape)
.decl P0(x: number, y: number)
.decl P1(x: number)
.decl P2(x: number, y: number)
.decl P3(s: symbol)
.decl P4(x: number, s: symbol)
A(0, 1). A(1, 2). A(2, 3). A(3, 0). B(1). B(3). C("a", 1). C("r2", 2). S(1, $Dot(2)). S(2, $Line([3, "a"])).
P0(x, y) :- A(x, y).
P1(x) :- B(x).
P2(x, y) :- A(x, z), P0(z, y).
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, _), P2(_, _).
Unauthorized(i) :- Actions(i, _), P3(_).
Unauthorized(i) :- Actions(i, _), P4(_, _).
"#;

fn rule() -> impl proptest::strategy::Strategy<Value = String> {
    use proptest::strategy::Strategy as _;
    let heads = vec![(1, "P0(x, y)"), (2, "P1(x)"), (3, "P2(y, x)"), (4, "P3(s)"), (5, "P4(x, s)")];
    prop::sample::select(heads).prop_flat_map(|(level, head)| {
        prop::collection::vec(literal(level), 1..4)
            .prop_map(move |body| format!("{head} :- {}.", body.join(", ")))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Random rules, those that read themselves and each other among them.
    #[test]
    fn proofs_of_random_policies_are_whole(rules in prop::collection::vec(rule(), 1..8)) {
        let checked = policy_of(format!("{RANDOM}{}", rules.join("\n")));
        let recordings = read(text(&root().join(SESSION)).as_bytes(), &Options::default()).unwrap();
        if let Some(policy) = checked {
            let mut monitor = Monitor::new(policy, Settings::default());
            let mut last = None;
            walk(&mut monitor, &recordings[0], &mut |monitor, turn| match turn {
                Turn::Made(call) | Turn::Answered(call) => last = Some(monitor.explain(call)),
                Turn::Judged(_, decision) | Turn::JudgedAgain(_, decision) => {
                    let proof = last.take().unwrap();
                    assert_eq!(proof.decision, decision);
                    if decision.reasons.iter().all(|reason| reason.kind.name() != "engine_error") {
                        assert_eq!(faults(&proof, monitor.graph()), [""; 0], "{}", rules.join("\n"));
                    }
                }
            })
            .unwrap();
        }
    }
}
