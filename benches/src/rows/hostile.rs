//! R14: graphs and inputs that are made to hurt.

use std::sync::Arc;
use std::time::Instant;

use gatelog::monitor::{Monitor, Policy, Settings};
use gatelog::recording::{Options, read};
use gatelog::records::{Given, GivenCall, Role};

use crate::fault::{Fault, Outcome};
use crate::markdown::{Row, Standing, seconds, times};
use crate::ours::{Answer, answer, payments, policy, settings};
use crate::references::{Adjacency, Tools, bfs};
use crate::rows::case::Policies;
use crate::rows::{Plan, agree, count};
use crate::sessions::{PAYMENTS, payment};

/// Inputs of each record.
const INPUTS: u64 = 10;
/// How many times as long a graph of ten times as many edges may take, in tenths of what is linear.
const LINEAR: f64 = 1.2;

/// How records are chosen as inputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Graph {
    /// Any that came before.
    Random,
    /// Those of its own class, of 64, so that ancestors never are a run of numbers.
    Comb,
    /// The ten before, each of which names the ten before it.
    Ladder,
}

impl Graph {
    const ALL: [Self; 3] = [Self::Random, Self::Comb, Self::Ladder];

    fn words(self) -> &'static str {
        match self {
            Self::Random => "random inputs",
            Self::Comb => "64 classes that take turns",
            Self::Ladder => "ladder",
        }
    }

    /// Numbers of the inputs of a record.
    fn inputs(self, number: u64, random: &mut Random) -> Vec<u64> {
        let mut inputs: Vec<u64> = (1..=INPUTS)
            .filter_map(|step| match self {
                Self::Random => (number > 0).then(|| random.below(number)),
                Self::Comb => {
                    let place = number / 64;
                    let back = if step == 1 { 1 } else { 1 + random.below(place.max(1)) };
                    number.checked_sub(64 * back)
                }
                Self::Ladder => number.checked_sub(step),
            })
            .collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }
}

/// Numbers that look random and are the same in each run.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The records of a graph with about so many edges, and a payment that was computed from the last of them.
fn records(graph: Graph, edges: u64) -> Vec<Given> {
    let mut random = Random(20_260_105);
    let count = edges / INPUTS;
    let id = |number: u64| format!("r{number}");
    let mut all: Vec<Given> = (0..count)
        .map(|number| {
            let mut given = Given::new(&id(number), Role::Agent, "");
            given.inputs = graph.inputs(number, &mut random).into_iter().map(id).collect();
            // Class 1 of the comb never reaches the payment.
            let tool = if number == 1 { "read_confidential" } else { "search" };
            given.result_of = Some((tool.to_owned(), "{}".to_owned()));
            given
        })
        .collect();
    let mut last = Given::new("payments", Role::Assistant, "");
    let end = count.saturating_sub(1);
    last.inputs = vec![id(if graph == Graph::Comb { end / 64 * 64 } else { end })];
    last.calls = (0..PAYMENTS)
        .map(|payee| GivenCall {
            id: format!("pay-{payee}"),
            tool: "pay".to_owned(),
            arguments: payment(payee),
        })
        .collect();
    all.push(last);
    all
}

/// Loads a graph and judges a payment: seconds, and what was said.
fn judged(policy: &Arc<Policy>, records: &[Given]) -> Outcome<(f64, Answer, Monitor)> {
    let mut monitor = Monitor::new(Arc::clone(policy), settings());
    let begin = Instant::now();
    for given in records {
        monitor.graph_mut().add(given.clone()).map_err(Fault::new)?;
    }
    let call = payments(monitor.graph())?.first().copied();
    let said = call.map(|call| answer(&monitor.judge_call(call)));
    let took = begin.elapsed().as_secs_f64();
    Ok((took, said.ok_or_else(|| Fault::new("there is no payment"))?, monitor))
}

/// R14.
///
/// # Errors
/// Where the members decide differently.
pub fn measure(plan: &Plan, policies: &Policies, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let edges: [u64; 2] = if plan.quick { [10_000, 100_000] } else { [100_000, 1_000_000] };
    for graph in Graph::ALL {
        for (policy, what) in [(&policies.ancestor, "ancestor"), (&policies.recursion, "recursion")] {
            give(grown(policy, graph, what, edges)?);
        }
    }
    spent(give)?;
    for input in INPUTS_OF_TEXT {
        give(read_twice(plan, input)?);
    }
    Ok(())
}

fn grown(policy: &Arc<Policy>, graph: Graph, what: &str, edges: [u64; 2]) -> Outcome<Row> {
    let mut figures = Vec::new();
    for edges in edges {
        let records = records(graph, edges);
        let (took, said, monitor) = judged(policy, &records)?;
        if said == Answer::Spent {
            let size = format!("{} edges, {}", count(edges as usize), graph.words());
            return Ok(Row::spent(14, &format!("hostile graph, {what}: growth"), &size, took, "an answer"));
        }
        let adjacency = Adjacency::of(monitor.graph());
        let last = u32::try_from(records.len()).unwrap_or(u32::MAX).saturating_sub(1);
        let found = bfs::finds(&adjacency, &[last], Tools::CONFIDENTIAL, Tools::REDACT);
        agree(&format!("R14, {}, {what}", graph.words()), &said, &Answer::unless(found))?;
        figures.push(took / edges as f64);
    }
    let [small, large] = [figures.first(), figures.last()].map(|figure| figure.copied().unwrap_or(f64::NAN));
    let [fewer, more] = edges.map(|edges| count(edges as usize));
    Ok(Row {
        number: 14,
        what: format!("hostile graph, {what}: load and judge, per edge"),
        size: format!("{more} edges beside {fewer}, {}", graph.words()),
        ours: seconds(large),
        reference: format!("{} with {fewer}", seconds(small)),
        ratio: times(large / small),
        bar: format!("at most {}", times(LINEAR)),
        standing: Standing::at_most(large / small, LINEAR),
    })
}

/// A policy that would look at every triple of results.
const TRIPLES: &str = r#"
.decl Triple(one: symbol, other: symbol, third: symbol)
Triple(one, other, third) :-
    ToolResult(one, tool, _), ToolResult(other, tool, _), ToolResult(third, tool, _), Current(idx), idx != one.
IsAuthorized(idx) :- Actions(idx, _).
Unauthorized(idx) :- Actions(idx, _), Triple(one, other, third), one = "none", other = "none", third = "none".
"#;

/// A budget stops what would not end, and says which.
fn spent(give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let policy = policy(TRIPLES)?;
    let mut settings: Settings = settings();
    settings.budget.steps = 1_000_000;
    let mut monitor = Monitor::new(policy, settings);
    for given in records(Graph::Ladder, 100_000) {
        monitor.graph_mut().add(given).map_err(Fault::new)?;
    }
    let call =
        payments(monitor.graph())?.first().copied().ok_or_else(|| Fault::new("there is no payment"))?;
    let begin = Instant::now();
    let decision = monitor.judge_call(call);
    let took = begin.elapsed().as_secs_f64();
    let text = decision.reasons.first().map(|reason| reason.text.clone()).unwrap_or_default();
    let named = answer(&decision) == Answer::Spent && text.contains("step");
    give(Row {
        number: 14,
        what: "a budget of a million steps stops a check and names itself".to_owned(),
        size: "10,000 records, all triples".to_owned(),
        ours: format!("{}: {}", seconds(took), text.replace('|', "/")),
        reference: String::new(),
        ratio: String::new(),
        bar: "a denial that names the steps".to_owned(),
        standing: if named { Standing::Met(0.0) } else { Standing::Missed(f64::INFINITY) },
    });
    Ok(())
}

/// Texts that are made to hurt a reader, of about so many bytes.
#[derive(Debug, Clone, Copy)]
struct Input {
    what: &'static str,
    event: fn(usize) -> String,
}

const INPUTS_OF_TEXT: [Input; 4] = [
    Input { what: "brackets in brackets", event: |bytes| "[".repeat(bytes / 2) + &"]".repeat(bytes / 2) },
    Input {
        what: "one key again and again",
        event: |bytes| format!("{{{}}}", vec![r#""a":1"#; bytes / 6].join(",")),
    },
    Input {
        what: "many keys",
        event: |bytes| {
            let fields: Vec<_> = (0..bytes / 16).map(|key| format!(r#""k{key:09}":1"#)).collect();
            format!("{{{}}}", fields.join(","))
        },
    },
    Input { what: "escapes", event: |bytes| format!(r#"{{"a":"{}"}}"#, "\\u0041".repeat(bytes / 6)) },
];

fn read_twice(plan: &Plan, input: Input) -> Outcome<Row> {
    let sizes: [usize; 2] = if plan.quick { [100_000, 1_000_000] } else { [1_000_000, 10_000_000] };
    let read_one = |bytes: usize| {
        let text = format!(
            r#"{{"id":"s","appName":"a","userId":"u","events":[{{"id":"e","author":"agent","content":{{"parts":[{{"functionCall":{{"id":"c","name":"t","args":{}}}}}]}}}}]}}"#,
            (input.event)(bytes)
        );
        let begin = Instant::now();
        let recordings = read(text.as_bytes(), &Options::default())?;
        let took = begin.elapsed().as_secs_f64() / text.len() as f64;
        let calls: usize =
            recordings.iter().map(|recording| recording.events.len() + recording.unread_calls.len()).sum();
        // Either it is read, or it stops there and the call is listed.
        agree(&format!("R14, {}", input.what), &calls, &1)?;
        Ok::<f64, Fault>(took)
    };
    let [fewer, more] = sizes;
    let measured = crate::measure::paired(plan.pairs(), &mut || read_one(more), &mut || read_one(fewer))?;
    let size = format!("{} bytes beside {}, {}", count(more), count(fewer), input.what);
    Ok(Row::within(14, "hostile input: read, per byte", &size, measured, "the smaller", LINEAR))
}
