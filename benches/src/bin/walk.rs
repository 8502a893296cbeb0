//! What a warm check of recursion over the lineage costs beside a walk written by hand.
//!
//! `cargo run --release -p gatelog-bench --bin walk [-- MESSAGES…]` makes sessions of that many records with full
//! history, with a window of 20, and in ten branches, judges one call under each of two policies again and again, and
//! prints the median beside that of a hand-written breadth-first walk over explicit inputs in the same run. Both have to
//! come to the same verdict. The hand-written walk knows contexts as lists that share their beginnings; without that it
//! would look at the square of the records.

use std::error::Error;
use std::hint::black_box;
use std::sync::Arc;
use std::time::Instant;

use gatelog::decision::Verdict;
use gatelog::lineage::{ContextId, RecordId};
use gatelog::monitor::{Action, Caller, Monitor, Policy, Request, Settings};
use gatelog::program::{NoIncludes, check};
use gatelog::recording::{Event, Part, PartKind};
use gatelog::records::{Given, Graph, Role};

/// Checks that count, at most and at least; and the seconds that they may take together.
const MOST: usize = 2_000;
const LEAST: usize = 5;
const SECONDS: f64 = 1.5;

/// Upwards from what the call was computed from, past what is kept out: nothing is found, so all is looked at.
const UPWARDS: &str = r#"
.decl Reach(id: symbol)
Reach(id) :- Current(id).
Reach(source) :- Reach(dest), Edge(source, dest), !Kept(source).
.decl Kept(id: symbol)
Kept(id) :- ToolResult(id, "kept", _).
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, _), Reach(id), ToolResult(id, "secret", _).
"#;

/// Downwards from what the request names: everything that came of the first message.
const DOWNWARDS: &str = r#"
.decl Dirty(id: symbol)
Dirty(id) :- ActionMetadata(_, "dirty", id, _).
Dirty(dest) :- Dirty(source), Edge(source, dest), !Kept(dest).
.decl Kept(id: symbol)
Kept(id) :- ToolResult(id, "kept", _).
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, _), Dirty(id), ToolResult(id, "secret", _).
"#;

/// A session, and what a hand-written walk needs to know of it.
struct Session {
    monitor: Monitor,
    /// For each context the one it continues and what it adds; for each record its context.
    parents: Vec<u32>,
    appended: Vec<Vec<u32>>,
    inputs: Vec<u32>,
    /// For each record the contexts that add it, for each context those that continue it and those computed from it.
    mentions: Vec<Vec<u32>>,
    children: Vec<Vec<u32>>,
    users: Vec<Vec<u32>>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let sizes: Vec<usize> =
        match std::env::args().skip(1).map(|size| size.parse()).collect::<Result<_, _>>()? {
            sizes if Vec::is_empty(&sizes) => vec![100, 1_000, 10_000, 100_000],
            sizes => sizes,
        };
    let policies = [("upwards", UPWARDS), ("downwards", DOWNWARDS)];
    for (name, text) in policies {
        let files = [("walk.dl".to_owned(), text.to_owned())];
        let program = check(&files, &mut NoIncludes).map_err(|_| "the policy is refused")?;
        let policy = Arc::new(Policy::new(program));
        for (shape, make) in [
            ("full history", full as fn(&mut Monitor, usize) -> Result<(), Box<dyn Error>>),
            ("window of 20", window),
            ("ten branches", branches),
        ] {
            for &size in &sizes {
                let mut session = Session::new(&policy, size, make)?;
                report(name, shape, size, &mut session)?;
            }
        }
    }
    Ok(())
}

fn report(name: &str, shape: &str, size: usize, session: &mut Session) -> Result<(), Box<dyn Error>> {
    let last = session.inputs.len() - 1;
    let id = |monitor: &Monitor, at: usize| {
        monitor.graph().records().get(at).map_or_else(String::new, |record| record.id().to_string())
    };
    let (current, first) = (id(&session.monitor, last), id(&session.monitor, 0));
    let call = Action::CallTool { tool: "pay".to_owned(), arguments: "{}".to_owned() };
    let dirty = vec![["dirty".to_owned(), first, String::new()]];
    let request = Request { current: vec![current], actions: vec![(call, dirty)], clock: None };
    let ours = measured(|| {
        let decisions = session.monitor.judge(&request);
        decisions.first().is_some_and(|decision| decision.verdict == Verdict::Allow)
    })?;
    let theirs = if name == "upwards" {
        measured(|| !session.reaches_secret(last))?
    } else {
        measured(|| !session.dirties_secret(0))?
    };
    println!(
        "{name:9} {shape:12} {size:>7} records: check {:9.2} us, walk {:8.2} us, ratio {:.1}",
        ours * 1e6,
        theirs * 1e6,
        ours / theirs
    );
    Ok(())
}

/// The median time of something that has to hold.
fn measured(mut holds: impl FnMut() -> bool) -> Result<f64, Box<dyn Error>> {
    let (mut times, begin) = (Vec::new(), Instant::now());
    while times.len() < LEAST || (times.len() < MOST && begin.elapsed().as_secs_f64() < SECONDS) {
        let start = Instant::now();
        if !black_box(holds()) {
            return Err("the verdicts differ".into());
        }
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times.get(times.len() / 2).copied().unwrap_or(f64::NAN))
}

fn full(monitor: &mut Monitor, size: usize) -> Result<(), Box<dyn Error>> {
    (0..size).try_for_each(|at| said(monitor, at, ""))
}

fn branches(monitor: &mut Monitor, size: usize) -> Result<(), Box<dyn Error>> {
    for at in 0..size {
        let branch = if at == 0 || at + 1 == size { String::new() } else { format!("r.b{}", at % 10) };
        said(monitor, at, &branch)?;
    }
    Ok(())
}

fn said(monitor: &mut Monitor, at: usize, branch: &str) -> Result<(), Box<dyn Error>> {
    let kind = PartKind::Text(format!("message {at}"));
    let author = if at == 0 { "user" } else { "a" };
    let event = Event {
        index: at,
        id: format!("e{at}"),
        invocation_id: "i".to_owned(),
        author: author.to_owned(),
        branch: branch.to_owned(),
        time: "2026-01-01T00:00:00Z".to_owned(),
        has_content: true,
        parts: vec![Part { kind, ..Part::default() }],
        has_actions: true,
        ..Event::default()
    };
    monitor.observe(&event).map(drop).map_err(|_| "the session stops".into())
}

fn window(monitor: &mut Monitor, size: usize) -> Result<(), Box<dyn Error>> {
    for at in 0..size {
        let mut given = Given::new(&format!("r{at}"), Role::Agent, "message");
        given.inputs = (at.saturating_sub(20)..at).map(|input| format!("r{input}")).collect();
        monitor.graph_mut().add(given)?;
    }
    Ok(())
}

/// Adds so many records.
type Shape = fn(&mut Monitor, usize) -> Result<(), Box<dyn Error>>;

impl Session {
    fn new(policy: &Arc<Policy>, size: usize, make: Shape) -> Result<Self, Box<dyn Error>> {
        let caller = Caller { principal: Some("p".to_owned()), ..Caller::default() };
        let mut monitor = Monitor::new(Arc::clone(policy), Settings { caller, ..Settings::default() });
        make(&mut monitor, size)?;
        let graph: &Graph = monitor.graph();
        let lineage = graph.lineage();
        let contexts = || (0..).map(ContextId).take(lineage.contexts());
        let parents: Vec<u32> = contexts().map(|context| lineage.parent(context).0).collect();
        let appended: Vec<Vec<u32>> = contexts()
            .map(|context| lineage.appended(context).iter().map(|record| record.0).collect())
            .collect();
        let inputs: Vec<u32> =
            (0..).map(RecordId).take(lineage.len()).map(|record| lineage.inputs(record).0).collect();
        let mut mentions = vec![Vec::new(); inputs.len()];
        let (mut children, mut users) = (vec![Vec::new(); parents.len()], vec![Vec::new(); parents.len()]);
        for (context, (&parent, added)) in (0_u32..).zip(parents.iter().zip(&appended)) {
            added.iter().for_each(|&record| mentions[record as usize].push(context));
            if context > 0 {
                children[parent as usize].push(context);
            }
        }
        (0_u32..).zip(&inputs).for_each(|(record, &context)| users[context as usize].push(record));
        Ok(Self { monitor, parents, appended, inputs, mentions, children, users })
    }

    /// Whether any record above is a secret: here none is.
    fn reaches_secret(&self, from: usize) -> bool {
        let (mut seen, mut listed) = (vec![false; self.inputs.len()], vec![false; self.parents.len()]);
        let mut open = vec![from];
        let mut found = false;
        while let Some(record) = open.pop() {
            let mut context = self.inputs[record] as usize;
            while context != 0 && !std::mem::replace(&mut listed[context], true) {
                for &input in &self.appended[context] {
                    if !std::mem::replace(&mut seen[input as usize], true) {
                        found |= black_box(false);
                        open.push(input as usize);
                    }
                }
                context = self.parents[context] as usize;
            }
        }
        found
    }

    /// Whether any record that came of one is a secret: here none is.
    fn dirties_secret(&self, from: usize) -> bool {
        let mut listed = vec![false; self.parents.len()];
        let (mut records, mut contexts) = (vec![from], Vec::new());
        let mut found = false;
        while let Some(record) = records.pop() {
            contexts.extend_from_slice(&self.mentions[record]);
            while let Some(context) = contexts.pop() {
                if !std::mem::replace(&mut listed[context as usize], true) {
                    found |= black_box(false);
                    contexts.extend_from_slice(&self.children[context as usize]);
                    records.extend(self.users[context as usize].iter().map(|&user| user as usize));
                }
            }
        }
        found
    }
}
