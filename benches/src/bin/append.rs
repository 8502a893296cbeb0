//! What a session costs as it grows: instructions, time and memory for each message that is appended.
//!
//! `cargo run --release -p gatelog-bench --bin append [-- SHAPE [MESSAGES [records|facts]]]` makes sessions of each shape
//! and size, each in a process of its own, and prints the nanoseconds that one further message takes at that size
//! (medians of batches, event to records, and with `facts` to tuples too) and the resident bytes for each message beyond
//! its text. Text is what a policy can read of a message: contents, calls, canonical JSON.

use std::error::Error;
use std::process::Command;
use std::time::Instant;

use gatelog::decision::Roots;
use gatelog::engine::{Database, Engine};
use gatelog::facts::{self, Projected, Schema};
use gatelog::json;
use gatelog::program::{NoIncludes, Program, check};
use gatelog::recording::{Compaction, Event, Part, PartKind};
use gatelog::records::Graph;

const POLICY: &str = "IsAuthorized(i) :- Actions(i, $CallTool(_, _)), Current(id), CurrentDepends(id), \
                      ToolResult(id, \"read_confidential\", _).\n";

const SHAPES: [&str; 5] = ["full", "thoughts", "window", "branches", "compaction"];

const SIZES: [usize; 4] = [100, 1_000, 10_000, 100_000];

/// Messages that are timed together.
const BATCH: usize = 50;

/// Batches that are timed.
const BATCHES: usize = 21;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let shapes: Vec<&str> =
        SHAPES.into_iter().filter(|name| arguments.first().is_none_or(|wanted| wanted == name)).collect();
    let sizes = match arguments.get(1) {
        Some(size) => vec![size.parse()?],
        None => SIZES.to_vec(),
    };
    if let ([shape], [size], Some(what)) = (&*shapes, &*sizes, arguments.get(2)) {
        return measure(shape, *size, what == "facts");
    }
    for shape in shapes {
        for size in &sizes {
            for what in ["records", "facts"] {
                let status =
                    Command::new(std::env::current_exe()?).args([shape, &size.to_string(), what]).status()?;
                if !status.success() {
                    return Err(format!("`{shape}` of {size} ended with {status}").into());
                }
            }
        }
    }
    Ok(())
}

/// One session, and what it is projected to.
struct Session {
    graph: Graph,
    facts: Option<(Schema, Database, Projected, Vec<bool>)>,
}

impl Session {
    fn append(&mut self, event: &Event) -> Result<(), Box<dyn Error>> {
        self.graph.extend(event).map_err(|stop| stop.text)?;
        if let Some((schema, database, projected, needed)) = &mut self.facts {
            facts::project(schema, &self.graph, database, projected, needed);
        }
        Ok(())
    }
}

fn measure(shape: &str, size: usize, with_facts: bool) -> Result<(), Box<dyn Error>> {
    let program = program()?;
    let facts = with_facts.then(|| {
        let schema = Schema::of(&program);
        let database = Engine::new(&program, &schema.session_facts()).database();
        let needed = program.needed(&Roots::of(&program).relations());
        (schema, database, Projected::default(), needed)
    });
    let mut session = Session { graph: Graph::default(), facts };
    let before = resident("VmRSS")?;
    for number in 0..size {
        session.append(&event(shape, number))?;
    }
    let (after, peak) = (resident("VmRSS")?, resident("VmHWM")?);
    let text: usize = session.graph.records().iter().map(text_of).sum();
    let mut times = Vec::new();
    for batch in 0..BATCHES {
        let first = size + batch * BATCH;
        let events: Vec<Event> = (first..first + BATCH).map(|number| event(shape, number)).collect();
        let begin = Instant::now();
        for event in &events {
            session.append(event)?;
        }
        times.push(begin.elapsed().as_secs_f64() * 1e9 / BATCH as f64);
    }
    times.sort_by(f64::total_cmp);
    let of = |bytes: usize| (bytes as f64 - before as f64 - text as f64) / size as f64;
    println!(
        "{shape:10} {size:7} {:7}: {:6.0} ns a message ({:.0} at best), {:5.0} B resident beyond {:.0} B of text, peak {:.0} B",
        if with_facts { "facts" } else { "records" },
        times[BATCHES / 2],
        times[0],
        of(after),
        text as f64 / size as f64,
        of(peak),
    );
    Ok(())
}

fn program() -> Result<Program, Box<dyn Error>> {
    check(&[("bench.dl".to_owned(), POLICY.to_owned())], &mut NoIncludes)
        .map_err(|_| "the policy is refused".into())
}

fn text_of(record: &gatelog::records::Record) -> usize {
    record.contents.len()
        + record.tools_json.len()
        + record.metadata.as_ref().map_or(0, |metadata| metadata.len())
}

/// A line of `/proc/self/status`, in bytes.
fn resident(name: &str) -> Result<usize, Box<dyn Error>> {
    let status = std::fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with(name)).ok_or("this system tells no memory")?;
    let kibibytes: usize = line.split_whitespace().nth(1).ok_or("no number")?.parse()?;
    Ok(kibibytes * 1024)
}

/// Message number `number`: in turn a person speaks, an agent calls a tool, is answered, and speaks.
fn event(shape: &str, number: usize) -> Event {
    let (turn, step) = (number / 4, number % 4);
    let minute = turn % 60;
    let mut event = Event {
        index: number,
        id: format!("7c9e6679-7425-40de-944b-{number:012}"),
        invocation_id: format!("e-1f0c6f5e-{turn:08}"),
        author: if step == 0 { "user" } else { "assistant" }.to_owned(),
        role: if step == 0 { "user" } else { "model" }.to_owned(),
        time: format!("2026-11-30T{:02}:{minute:02}:{:02}.5Z", (turn / 60) % 24, step),
        has_content: true,
        ..Event::default()
    };
    let call = format!("adk-2f5b-{turn:08}");
    event.parts = vec![match step {
        0 => words(format!("please look at message {turn} and tell me what it says, then pay what is due")),
        1 => Part {
            kind: PartKind::Call {
                id: call,
                name: "read_email".to_owned(),
                arguments: json::parse(&format!("{{\"message_id\":\"m-{turn}\",\"folder\":\"inbox\"}}")).ok(),
            },
            ..Part::default()
        },
        2 => Part {
            kind: PartKind::Response {
                id: call,
                name: "read_email".to_owned(),
                response: json::parse(&format!(
                    "{{\"body\":\"invoice {turn} is due at the end of the month\"}}"
                ))
                .ok(),
            },
            ..Part::default()
        },
        _ => words(format!("message {turn} holds an invoice that is due at the end of the month")),
    }];
    match shape {
        "thoughts" if step == 3 => {
            event.parts.insert(0, Part { thought: true, ..words(format!("the user wants {turn} paid")) });
            event.author = format!("agent_{}", turn % 3);
        }
        "branches" if step != 0 => {
            event.branch = format!("root.agent_{}", turn % 10);
            event.author = format!("agent_{}", turn % 10);
        }
        "window" if number.is_multiple_of(20) && number > 20 => compaction(&mut event, number),
        "compaction" if number.is_multiple_of(500) && number > 0 => compaction(&mut event, number),
        _ => {}
    }
    event
}

/// Lets the event replace all before it by a summary.
fn compaction(event: &mut Event, number: usize) {
    event.has_content = false;
    event.parts.clear();
    event.actions.compaction = Some(Compaction {
        start: "2026-11-30T00:00:00Z".to_owned(),
        end: event.time.clone(),
        parts: vec![words(format!("summary of all before {number}"))],
    });
}

fn words(text: String) -> Part {
    Part { kind: PartKind::Text(text), ..Part::default() }
}
