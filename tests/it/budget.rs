//! Hostile sessions, requests and policies stay inside the budget: the check ends in a denial that says what ran out and
//! which relation was growing, or it is decided within work that is linear in what was given.

use std::fmt::Write as _;
use std::sync::Arc;

use gatelog::decision::{ReasonKind, Verdict};
use gatelog::engine::Budget;
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::records::{Given, Role};

use crate::random::load;

const ALLOW: &str = "IsAuthorized(i) :- Actions(i, _).\n";

/// Everything that the newest record came from, and a rule that no record fits.
const UPWARDS: &str = r#"
.decl Reach(id: symbol)
Reach(id) :- Current(id).
Reach(source) :- Reach(dest), Edge(source, dest).
Unauthorized(i) :- Actions(i, _), Reach(id), ToolResult(id, "secret", _).
"#;

/// Everything that came of the first record.
const DOWNWARDS: &str = r#"
.decl Dirty(id: symbol)
Dirty("r0").
Dirty(dest) :- Dirty(source), Edge(source, dest).
Unauthorized(i) :- Actions(i, _), Dirty(id), ToolResult(id, "secret", _).
"#;

/// All pairs of records with a path between them.
const PAIRS: &str = r#"
.decl Path(a: symbol, b: symbol)
Path(a, b) :- Edge(a, b).
Path(a, c) :- Path(a, b), Edge(b, c).
Unauthorized(i) :- Actions(i, _), Path(a, b), a = b.
"#;

/// Nothing is derived, and much is looked at.
const CROSS: &str = r#"
Unauthorized(i) :- Actions(i, _), SentMessage(a, _), SentMessage(b, _), SentMessage(c, _), strlen(a) + strlen(b) + strlen(c) < 0.
"#;

/// A product that is no join on anything.
const PRODUCT: &str = r#"
.decl Triple(a: symbol, b: symbol, c: symbol)
Triple(a, b, c) :- SentMessage(a, _), SentMessage(b, _), SentMessage(c, _).
Unauthorized(i) :- Actions(i, _), Triple(a, b, c), a = "never", b = c.
"#;

const COUNTING: &str = r#"
.decl N(n: number)
N(0).
N(n + 1) :- N(n).
Unauthorized(i) :- Actions(i, _), N(-1).
"#;

const KEYS: &str = r#"
.decl Key(i: unsigned, key: symbol)
Key(i, key) :- Actions(i, a), a = $CallTool(_, args), key = @json_keys(args, "").
Unauthorized(i) :- Key(i, "never").
"#;

const PIECES: &str = r#"
.decl Piece(i: unsigned, text: symbol)
Piece(i, text) :- Actions(i, a), a = $CallTool(_, args), text = @json_each_str(args, "list").
Piece(i, cat(text, text)) :- Piece(i, text).
Unauthorized(i) :- Piece(i, "never").
"#;

/// Every combination of three generators that have an error beside them to wait for.
const COMBINATIONS: &str = r#"
.decl Three(x: number, y: number, z: number)
Three(x, y, z) :- Actions(_, a), a = $CallTool(_, args), x = range(0, 100000), y = range(0, 100000), z = range(0, 100000), 1 / strlen(args) >= 0.
Unauthorized(i) :- Actions(i, _), Three(_, _, _).
"#;

fn monitor(policy: &str, budget: Budget) -> Monitor {
    let text = format!("{ALLOW}{policy}");
    let program = load(&text).unwrap_or_else(|| panic!("refused:\n{text}"));
    let caller = Caller { principal: Some("p".to_owned()), ..Caller::default() };
    Monitor::new(Arc::new(Policy::new(program)), Settings { caller, budget, ..Settings::default() })
}

/// Adds records, each with those inputs that the shape says, by number.
fn record(monitor: &mut Monitor, count: usize, inputs: impl Fn(usize) -> Vec<usize>) {
    for at in 0..count {
        let mut given = Given::new(&format!("r{at}"), Role::Agent, "text");
        given.inputs = inputs(at).into_iter().map(|input| format!("r{input}")).collect();
        monitor.graph_mut().add(given).unwrap();
    }
}

/// Half of all pairs, by a fixed sequence of bits.
fn dense(at: usize) -> Vec<usize> {
    (0..at).filter(|&input| mixed(at as u64, input as u64).is_multiple_of(2)).collect()
}

/// Two earlier records: sets of ancestors that are no runs.
fn sparse(at: usize) -> Vec<usize> {
    let pick = |salt| usize::try_from(mixed(at as u64, salt) % (at.max(1) as u64)).unwrap();
    if at == 0 { Vec::new() } else { vec![pick(1), pick(2)] }
}

fn chain(at: usize) -> Vec<usize> {
    at.checked_sub(1).into_iter().collect()
}

fn mixed(a: u64, b: u64) -> u64 {
    let mut x = (a << 32 | b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        x = (x ^ (x >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    x >> 33
}

/// The verdict on one call, with the reason where the budget ran out.
fn judged(monitor: &mut Monitor, arguments: &str) -> (Verdict, String) {
    let records = monitor.graph().records();
    let current = records.last().map(|record| record.id().to_string()).into_iter().collect();
    let call = Action::CallTool { tool: "pay".to_owned(), arguments: arguments.to_owned() };
    let decision =
        monitor.judge(&Request { current, actions: vec![(call, Vec::new())], clock: None }).remove(0);
    let spent = decision.reasons.iter().find(|reason| reason.kind == ReasonKind::EngineError);
    (decision.verdict, spent.map_or_else(String::new, |reason| reason.text.clone()))
}

fn steps(steps: u64) -> Budget {
    Budget { steps, ..Budget::default() }
}

fn told(what: &str, relation: &str) -> String {
    format!("the policy could not be evaluated: the {what} was reached while deriving `{relation}`")
}

/// Edges are counted once for each end of a walk, and contexts once: a hundred records with half of all pairs have about
/// 2,500 edges.
#[test]
fn recursion_over_any_graph_takes_steps_for_its_edges_alone() {
    for (name, policy, count, shape, enough) in [
        ("dense up", UPWARDS, 400, dense as fn(usize) -> Vec<usize>, 130_000),
        ("dense down", DOWNWARDS, 400, dense, 170_000),
        ("sparse up", UPWARDS, 2_000, sparse, 40_000),
        ("sparse down", DOWNWARDS, 2_000, sparse, 40_000),
        ("chain up", UPWARDS, 2_000, chain, 2_000 * 266),
        ("chain down", DOWNWARDS, 2_000, chain, 2_000 * 266),
    ] {
        let relation = if policy == UPWARDS { "Reach" } else { "Dirty" };
        for (budget, verdict) in [(enough, Verdict::Allow), (enough / 20, Verdict::Deny)] {
            let mut monitor = monitor(policy, steps(budget));
            record(&mut monitor, count, shape);
            let (given, text) = judged(&mut monitor, "{}");
            assert_eq!(given, verdict, "{name} in {budget} steps: {text}");
            if verdict == Verdict::Deny {
                assert_eq!(text, told(&format!("limit of {budget} steps"), relation), "{name}");
            }
        }
    }
}

#[test]
fn what_is_too_much_is_denied_and_named() {
    let long = format!(r#"{{"list":["{}"]}}"#, "x".repeat(1 << 20));
    let mut keys = String::from("{\"k\":0");
    (0..50_000).for_each(|key| write!(keys, ",\"k{key}\":{key}").unwrap());
    keys.push('}');
    let tuples = |tuples| Budget { tuples, ..Budget::default() };
    let bytes = |bytes| Budget { bytes, ..Budget::default() };
    for (policy, count, budget, arguments, what, relation) in [
        (PAIRS, 300, tuples(10_000), "{}", "limit of 10000 derived tuples", "Path"),
        (PAIRS, 300, bytes(100_000), "{}", "limit of 100000 bytes", "Path"),
        (PAIRS, 300, steps(100_000), "{}", "limit of 100000 steps", "Path"),
        (CROSS, 300, steps(20_000), "{}", "limit of 20000 steps", "Unauthorized@random.dl:3"),
        (PRODUCT, 300, steps(1_000_000), "{}", "limit of 1000000 steps", "Triple"),
        (PRODUCT, 300, tuples(20_000), "{}", "limit of 20000 derived tuples", "Triple"),
        (COUNTING, 1, steps(1_000_000), "{}", "limit of 1000000 steps", "N"),
        (COMBINATIONS, 1, steps(1_000_000), "{}", "limit of 1000000 steps", "Three"),
        (COUNTING, 1, tuples(2_000), "{}", "limit of 2000 derived tuples", "N"),
        (PIECES, 1, bytes(3 << 20), &long, "limit of 3145728 bytes", "Piece"),
        (KEYS, 1, tuples(40_000), &keys, "limit of 40000 derived tuples", "Key"),
    ] {
        let mut monitor = monitor(policy, budget);
        record(&mut monitor, count, dense);
        let (verdict, text) = judged(&mut monitor, arguments);
        assert_eq!((verdict, text), (Verdict::Deny, told(what, relation)));
        // The same again: a check that ran out leaves nothing behind that decides the next one.
        assert_eq!(judged(&mut monitor, arguments), (Verdict::Deny, told(what, relation)));
    }
}

#[test]
fn large_arguments_are_decided_where_the_budget_allows() {
    let mut keys = String::from("{\"k\":0");
    (0..20_000).for_each(|key| write!(keys, ",\"k{key}\":{key}").unwrap());
    let mut monitor = monitor(KEYS, Budget::default());
    assert_eq!(judged(&mut monitor, &format!("{keys}}}")).0, Verdict::Allow);
    assert_eq!(judged(&mut monitor, &format!("{keys},\"never\":1}}")).0, Verdict::Deny);
}
