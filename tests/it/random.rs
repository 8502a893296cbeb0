//! Random policies and sessions on which the engine and the oracle have to agree.

use std::collections::BTreeSet;
use std::sync::Arc;

use gatelog::lineage::RecordId;
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::program::types::Datum;
use gatelog::program::{NoIncludes, Program, RelationId, check};
use gatelog::records::{Given, GivenCall, Role};
use proptest::prelude::{Just, ProptestConfig, Strategy, any, prop, prop_oneof, proptest};

use crate::oracle::{self, Facts, Value};

/// One record of a random session: which earlier records it reads, and whether it is a tool's result.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) inputs: Vec<prop::sample::Index>,
    pub(crate) result_of: Option<u8>,
}

const DECLARATIONS: &str = r#"
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
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, _), P1(3), P3("t1").
"#;

/// Variables of numbers and of texts in a random rule.
const NUMBERS: [&str; 3] = ["x", "y", "z"];
const TEXTS: [&str; 2] = ["s", "t"];

pub(crate) fn number() -> impl Strategy<Value = String> {
    prop_oneof![4 => prop::sample::select(&NUMBERS[..]).prop_map(str::to_owned), 1 => (0..4_i64).prop_map(|n| n.to_string())]
}

pub(crate) fn text() -> impl Strategy<Value = String> {
    let constants = vec!["\"a\"", "\"t0\"", "\"t1\"", "\"r2\""];
    prop_oneof![4 => prop::sample::select(&TEXTS[..]).prop_map(str::to_owned), 1 => prop::sample::select(constants).prop_map(str::to_owned)]
}

fn or_any(term: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    prop_oneof![5 => term, 1 => Just("_".to_owned())]
}

/// An atom over the given relations; higher ones may read lower ones and themselves.
fn atom(level: usize) -> impl Strategy<Value = String> {
    let n = || or_any(number());
    let t = || or_any(text());
    let shape = prop_oneof![
        n().prop_map(|n| format!("$Dot({n})")),
        (n(), t()).prop_map(|(n, t)| format!("$Line([{n}, {t}])")),
        Just("$Empty()".to_owned()),
        Just("_".to_owned()),
    ];
    let mut atoms = vec![
        (n(), n()).prop_map(|(a, b)| format!("A({a}, {b})")).boxed(),
        n().prop_map(|a| format!("B({a})")).boxed(),
        (t(), n()).prop_map(|(a, b)| format!("C({a}, {b})")).boxed(),
        (n(), shape).prop_map(|(a, b)| format!("S({a}, {b})")).boxed(),
        t().prop_map(|a| format!("CurrentDepends({a})")).boxed(),
        (t(), t()).prop_map(|(a, b)| format!("ToolResult({a}, {b}, _)")).boxed(),
        (t(), t()).prop_map(|(a, b)| format!("Edge({a}, {b})")).boxed(),
        (t(), t()).prop_map(|(a, b)| format!("ReachableFrom({a}, {b})")).boxed(),
        t().prop_map(|a| format!("Current({a})")).boxed(),
    ];
    let own = [
        (n(), n()).prop_map(|(a, b)| format!("P0({a}, {b})")).boxed(),
        n().prop_map(|a| format!("P1({a})")).boxed(),
        (n(), n()).prop_map(|(a, b)| format!("P2({a}, {b})")).boxed(),
        t().prop_map(|a| format!("P3({a})")).boxed(),
        (n(), t()).prop_map(|(a, b)| format!("P4({a}, {b})")).boxed(),
    ];
    atoms.extend(own.into_iter().take(level));
    prop::strategy::Union::new(atoms)
}

fn test() -> impl Strategy<Value = String> {
    prop_oneof![
        (number(), number()).prop_map(|(a, b)| format!("{a} < {b}")),
        (number(), number()).prop_map(|(a, b)| format!("{a} != {b}")),
        (number(), number()).prop_map(|(a, b)| format!("{a} = {b}")),
        (number(), number(), number()).prop_map(|(a, b, c)| format!("{a} = {b} + {c}")),
        (number(), number(), number()).prop_map(|(a, b, c)| format!("{a} = max({b}, {c})")),
        (number(), number(), number()).prop_map(|(a, b, c)| format!("{a} <= {b} / {c}")),
        (number(), text()).prop_map(|(a, b)| format!("{a} = strlen({b})")),
        (text(), text()).prop_map(|(a, b)| format!("contains({a}, {b})")),
        (text(), text()).prop_map(|(a, b)| format!("match({a}, {b})")),
        (text(), number()).prop_map(|(a, b)| format!("{a} = cat(\"r\", to_string({b}))")),
        (number(), text()).prop_map(|(a, b)| format!("{a} = to_number({b})")),
        (text(), number())
            .prop_map(|(a, b)| format!("{a} = @json_each_str(\"[\\\"r1\\\",\\\"t1\\\",3]\", \"\"), {b} > 0")),
    ]
}

pub(crate) fn literal(level: usize) -> impl Strategy<Value = String> {
    let aggregate = (
        number(),
        prop::sample::select(vec!["count : ", "sum w : ", "max w : ", "min w : "]),
        atom_without_own(),
    )
        .prop_map(|(result, kind, atom)| format!("{result} = {kind}{{ A(w, _), {atom} }}"));
    prop_oneof![
        8 => atom(level),
        3 => test(),
        // Negation and aggregates read lower relations alone, so that most programs are stratified.
        2 => atom(level.saturating_sub(1)).prop_map(|atom| format!("!{atom}")),
        1 => aggregate,
        1 => (atom(level), atom(level)).prop_map(|(a, b)| format!("({a} ; {b})")),
    ]
}

fn atom_without_own() -> impl Strategy<Value = String> {
    (number(), number()).prop_map(|(a, b)| format!("A({a}, {b})"))
}

pub(crate) fn rule() -> impl Strategy<Value = String> {
    (0..5_usize).prop_flat_map(|relation| {
        let head = match relation {
            0 => (number(), number()).prop_map(|(a, b)| format!("P0({a}, {b})")).boxed(),
            1 => number().prop_map(|a| format!("P1({a})")).boxed(),
            2 => (number(), number()).prop_map(|(a, b)| format!("P2({a}, {b})")).boxed(),
            3 => text().prop_map(|a| format!("P3({a})")).boxed(),
            _ => (number(), text()).prop_map(|(a, b)| format!("P4({a}, {b})")).boxed(),
        };
        // Atoms that bind most variables come along, so that most rules are grounded.
        let binders = prop::sample::subsequence(
            vec!["A(x, y)", "C(s, z)", "CurrentDepends(t)", "B(x)", "C(t, y)"],
            2..5,
        );
        (head, binders, prop::collection::vec(literal(relation + 1), 0..4)).prop_map(
            |(head, binders, body)| {
                let all: Vec<String> = binders.into_iter().map(str::to_owned).chain(body).collect();
                format!("{head} :- {}.", all.join(", "))
            },
        )
    })
}

pub(crate) fn facts() -> impl Strategy<Value = String> {
    let small = 0..4_i64;
    let a = (small.clone(), small.clone()).prop_map(|(x, y)| format!("A({x}, {y})."));
    let b = small.clone().prop_map(|x| format!("B({x})."));
    let c = (0..4_u8, small.clone()).prop_map(|(s, x)| format!("C(\"r{s}\", {x})."));
    let s = (small.clone(), 0..3_u8, small).prop_map(|(x, shape, n)| match shape {
        0 => format!("S({x}, $Dot({n}))."),
        1 => format!("S({x}, $Line([{n}, \"t{n}\"]))."),
        _ => format!("S({x}, $Empty())."),
    });
    prop::collection::vec(prop_oneof![3 => a, 1 => b, 2 => c, 1 => s], 0..14)
        .prop_map(|facts| facts.join("\n"))
}

pub(crate) fn session() -> impl Strategy<Value = Vec<Node>> {
    let node = (prop::collection::vec(any::<prop::sample::Index>(), 0..3), prop::option::of(0..3_u8))
        .prop_map(|(inputs, result_of)| Node { inputs, result_of });
    prop::collection::vec(node, 1..9)
}

pub(crate) fn load(text: &str) -> Option<Program> {
    check(&[("random.dl".to_owned(), text.to_owned())], &mut NoIncludes).ok()
}

pub(crate) fn given(at: usize, node: &Node) -> Given {
    let mut inputs: Vec<String> = if at == 0 {
        Vec::new()
    } else {
        node.inputs.iter().map(|index| format!("r{}", index.index(at))).collect()
    };
    inputs.sort();
    inputs.dedup();
    Given {
        id: format!("r{at}"),
        role: Role::Agent,
        agent: "a".to_owned(),
        text: format!("t{at}"),
        calls: Vec::<GivenCall>::new(),
        metadata: None,
        result_of: node.result_of.map(|tool| (format!("t{tool}"), "{}".to_owned())),
        inputs,
        edges: Vec::new(),
        entity: String::new(),
        principal: String::new(),
        event: None,
    }
}

/// The facts that the host gives, made from the random session itself and not from the engine's lists.
fn host_facts(program: &Program, session: &[Node], current: &[String]) -> Facts {
    let mut facts = Facts::new();
    let text = |s: &str| Value::Text(s.to_owned());
    let mut add = |name: &str, tuple: Vec<Value>| {
        facts.entry(program.relation(name).unwrap()).or_default().insert(tuple);
    };
    for (at, node) in session.iter().enumerate() {
        let given = given(at, node);
        for input in &given.inputs {
            add("Edge", vec![text(input), text(&given.id)]);
        }
        if let Some((tool, arguments)) = &given.result_of {
            add("ToolResult", vec![text(&given.id), text(tool), text(arguments)]);
        }
        let role = Value::Compound(program.types.variant("AgentType").unwrap().0, Vec::new());
        let message = vec![text(&given.text), text("[]"), text("a"), role, text(""), text("")];
        let message = Value::Compound(program.types.record("Message").unwrap().0, message);
        add("SentMessage", vec![text(&given.id), message]);
    }
    for id in current {
        add("Current", vec![text(id)]);
    }
    let call = vec![text("go"), text("{}")];
    add(
        "Actions",
        vec![Value::Unsigned(0), Value::Compound(program.types.variant("CallTool").unwrap().0, call)],
    );
    add("Principal", vec![text("p")]);
    facts
}

pub(crate) fn value(program: &Program, datum: &Datum) -> Value {
    let all = |fields: &[Datum]| fields.iter().map(|field| value(program, field)).collect();
    match datum {
        Datum::Number(n) => Value::Number(*n),
        Datum::Unsigned(n) => Value::Unsigned(*n),
        Datum::Float(f) => Value::Float(f.to_bits()),
        Datum::Text(text) => Value::Text(text.clone()),
        Datum::Nil => Value::Compound(0, Vec::new()),
        Datum::Variant(name, fields) => Value::Compound(program.types.variant(name).unwrap().0, all(fields)),
        // The one record type of the random programs.
        Datum::Record(fields) => Value::Compound(program.types.record("Pair").unwrap().0, all(fields)),
    }
}

/// Judges after every few records, so that what the engine keeps between checks is compared too.
fn compare(program: &Program, session: &[Node], ends: &[usize]) {
    let relations: Vec<RelationId> = oracle::derived(program)
        .into_iter()
        .filter(|relation| {
            !program.relations[relation.0 as usize].columns.iter().any(|column| {
                program.types.get(column.type_id).name == "Pair"
                    || program.types.get(column.type_id).name == "Action"
            })
        })
        .chain(["CurrentDepends", "ReachableFrom"].iter().filter_map(|name| program.relation(name)))
        .collect();
    let settings = Settings {
        caller: Caller { principal: Some("p".to_owned()), ..Caller::default() },
        ..Settings::default()
    };
    let mut monitor = Monitor::new(Arc::new(Policy::new(program.clone())), settings);
    let mut recorded = 0;
    for &end in ends {
        let end = end.min(session.len()).max(recorded);
        for (at, node) in session.iter().enumerate().take(end).skip(recorded) {
            monitor.graph_mut().add(given(at, node)).unwrap();
        }
        recorded = end;
        let current: Vec<String> =
            (0..recorded).rev().step_by(2).take(2).map(|at| format!("r{at}")).collect();
        let go = Action::CallTool { tool: "go".to_owned(), arguments: "{}".to_owned() };
        let request = Request { current: current.clone(), actions: vec![(go, Vec::new())], clock: None };
        let expected =
            oracle::evaluate(program, &host_facts(program, &session[..recorded], &current), &relations);
        let rows = monitor.rows(&request, &relations);
        match (expected, rows) {
            (Ok(expected), Ok(rows)) => {
                for rows in rows {
                    let ours: BTreeSet<Vec<Value>> = rows
                        .rows
                        .iter()
                        .map(|row| row.iter().map(|cell| value(program, cell)).collect())
                        .collect();
                    let theirs = expected.get(&rows.relation).cloned().unwrap_or_default();
                    let name = &program.relations[rows.relation.0 as usize].name;
                    assert_eq!(ours, theirs, "`{name}` after {recorded} records");
                }
            }
            (Err(()), Err(_)) => {}
            (expected, ours) => panic!("oracle: {expected:?}, engine: {ours:?}"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, max_global_rejects: 100_000, ..ProptestConfig::default() })]

    #[test]
    fn engine_and_oracle_agree(
        rules in prop::collection::vec(rule(), 1..6),
        facts in facts(),
        session in session(),
        ends in prop::collection::vec(1..10_usize, 1..4),
    ) {
        let text = sound(&facts, &rules);
        let program = load(&text).unwrap();
        compare(&program, &session, &ends);
    }

    #[test]
    fn order_of_statements_and_literals_changes_nothing(
        rules in prop::collection::vec(rule(), 1..6),
        facts in facts(),
        session in session(),
    ) {
        let text = sound(&facts, &rules);
        let backwards: Vec<&str> = text.lines().rev().collect();
        let turned: Vec<String> = text.lines().map(turned).collect();
        let asked = judged(&text, &session);
        assert_eq!(judged(&backwards.join("\n"), &session), asked);
        assert_eq!(judged(&turned.join("\n"), &session), asked);
    }
}

/// The declarations, the facts, and those rules that the checker takes, one a line.
pub(crate) fn sound(facts: &str, rules: &[String]) -> String {
    let mut text = format!("{DECLARATIONS}{facts}\n");
    for rule in rules {
        let longer = format!("{text}{rule}\n");
        if load(&longer).is_some() {
            text = longer;
        }
    }
    text
}

/// A rule with the two halves of its body changed over, where it can be cut between two literals.
fn turned(line: &str) -> String {
    let Some((head, body)) = line.strip_suffix('.').and_then(|rule| rule.split_once(" :- ")) else {
        return line.to_owned();
    };
    let mut depth = 0_i32;
    let mut cuts = Vec::new();
    for (at, sign) in body.char_indices() {
        match sign {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth -= 1,
            ',' if depth == 0 => cuts.push(at),
            _ => {}
        }
    }
    let Some(&cut) = cuts.get(cuts.len() / 2) else { return line.to_owned() };
    format!("{head} :- {}, {}.", body[cut + 1..].trim(), &body[..cut])
}

/// Verdict and reasons, places aside; what was wrong, where evaluation failed.
fn judged(text: &str, session: &[Node]) -> Vec<(String, String, Vec<String>)> {
    let program = load(text).unwrap();
    let caller = Caller { principal: Some("p".to_owned()), ..Caller::default() };
    let settings = Settings { caller, ..Settings::default() };
    let mut monitor = Monitor::new(Arc::new(Policy::new(program)), settings);
    for (at, node) in session.iter().enumerate() {
        monitor.graph_mut().add(given(at, node)).unwrap();
    }
    let go = Action::CallTool { tool: "go".to_owned(), arguments: "{}".to_owned() };
    let current = vec![format!("r{}", session.len() - 1)];
    let request = Request { current, actions: vec![(go, Vec::new())], clock: None };
    let decision = monitor.judge(&request).remove(0);
    // Places move with the lines.
    let words = |text: &str| {
        text.split(':').next_back().unwrap_or("").trim_start_matches(char::is_numeric).to_owned()
    };
    let reasons: BTreeSet<_> = decision
        .reasons
        .iter()
        .map(|reason| (reason.kind.name().to_owned(), words(&reason.text), reason.suggestions.clone()))
        .collect();
    let verdict = (decision.verdict.name().to_owned(), String::new(), Vec::new());
    std::iter::once(verdict).chain(reasons).collect()
}

#[test]
fn most_random_rules_are_sound() {
    use proptest::strategy::ValueTree as _;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let sound = (0..200)
        .filter(|_| {
            let rule = rule().new_tree(&mut runner).unwrap().current();
            load(&format!("{DECLARATIONS}{rule}\n")).is_some()
        })
        .count();
    assert!(sound > 80, "{sound} of 200 random rules were sound: the comparison would be of empty programs");
}

mod kernel {
    //! The meaning of ancestry once more, as rules that are compiled.
    #![expect(
        clippy::disallowed_types,
        clippy::iter_over_hash_type,
        reason = "the macro's own sets; what comes out is sorted"
    )]

    use std::collections::BTreeSet;

    crepe::crepe! {
        @input
        struct Edge(u32, u32);
        @input
        struct Current(u32);
        @output
        struct CurrentDepends(u32);
        @output
        struct ReachableFrom(u32, u32);

        CurrentDepends(s) <- Current(d), Edge(s, d);
        CurrentDepends(s) <- CurrentDepends(d), Edge(s, d);
        ReachableFrom(s, d) <- CurrentDepends(s), CurrentDepends(d), Edge(s, d);
        ReachableFrom(s, d) <- ReachableFrom(s, m), CurrentDepends(m), CurrentDepends(d), Edge(m, d);
    }

    /// `CurrentDepends` and `ReachableFrom` of these edges and current records.
    pub(crate) fn run(edges: &[(u32, u32)], current: &[u32]) -> (BTreeSet<Vec<u32>>, BTreeSet<Vec<u32>>) {
        let mut rules = Crepe::new();
        rules.extend(edges.iter().map(|&(s, d)| Edge(s, d)));
        rules.extend(current.iter().map(|&id| Current(id)));
        let (depends, reachable) = rules.run();
        (
            depends.into_iter().map(|row| vec![row.0]).collect(),
            reachable.into_iter().map(|row| vec![row.0, row.1]).collect(),
        )
    }
}

proptest! {
    #[test]
    fn ancestry_agrees_with_compiled_rules(session in session(), picks in prop::collection::vec(any::<prop::sample::Index>(), 0..3)) {
        let program = load("IsAuthorized(i) :- Actions(i, _).").unwrap();
        let relations = ["CurrentDepends", "ReachableFrom"].map(|name| program.relation(name).unwrap());
        let mut monitor = Monitor::new(Arc::new(Policy::new(program)), Settings::default());
        let mut edges = Vec::new();
        for (at, node) in session.iter().enumerate() {
            let given = given(at, node);
            let number = |id: &str| id[1..].parse::<u32>().unwrap();
            edges.extend(given.inputs.iter().map(|input| (number(input), number(&given.id))));
            let record = monitor.graph_mut().add(given).unwrap();
            assert_eq!(record, RecordId(u32::try_from(at).unwrap()));
        }
        let current: BTreeSet<usize> = picks.iter().map(|pick| pick.index(session.len())).collect();
        let numbers: Vec<u32> = current.iter().map(|&at| u32::try_from(at).unwrap()).collect();
        let expected = kernel::run(&edges, &numbers);
        let request = Request { current: current.iter().map(|at| format!("r{at}")).collect(), ..Request::default() };
        let rows = monitor.rows(&request, &relations).unwrap();
        let number = |cell: &Datum| match cell {
            Datum::Text(text) => text[1..].parse::<u32>().unwrap(),
            other => panic!("{other:?} is no id"),
        };
        let ours = |at: usize| -> BTreeSet<Vec<u32>> {
            rows[at].rows.iter().map(|row| row.iter().map(number).collect()).collect()
        };
        assert_eq!((ours(0), ours(1)), expected);
    }
}
