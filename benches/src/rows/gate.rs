//! R12: a check through a Unix socket, beside an echo.

use std::time::Instant;

use crate::fault::{Fault, Outcome};
use crate::markdown::{Row, Standing, seconds, times};
use crate::rows::programs::{own, shipped};
use crate::rows::{Plan, count};
use crate::sessions::{PAYMENTS, Shape, Taint, made, payment};
use crate::wire::{Server, Wire, quantile};

/// Round trips that count, for the whole table and for a try.
const TRIPS: (usize, usize) = (4_000, 400);

/// Events that are told of at once.
const FEW: usize = 500;

/// A payment is refused where something confidential was read; in a gate an answer is no result unless its call was
/// checked, and so its text decides. A call that is refused can be asked about again.
const POLICY: &str = r#"
IsAuthorized(i) :- Actions(i, _).
Unauthorized(i) :- Actions(i, $CallTool("pay", _)), CurrentDepends(record), ToolOutput(record, "read_confidential", _).
"#;

/// R12.
///
/// # Errors
/// Where a server does not start, or a check is decided otherwise than it should be.
pub fn measure(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("p.dl"), POLICY)?;
    let socket = |name: &str| format!("unix:{}", folder.path().join(name).display());
    let (ours, reference) = (socket("gate.sock"), socket("echo.sock"));
    let flags = ["serve", "--policy", "p.dl", "--store", "memory", "--deadline", "60000", "--listen", &ours];
    let gate = Server::start(&shipped()?, &flags, folder.path())?;
    let echo = Server::start(&own("echo")?, &[&reference], folder.path())?;
    for messages in [plan.smallest(), plan.largest()] {
        for row in sized(plan, messages, (&gate, &echo))? {
            give(row);
        }
    }
    Ok(())
}

fn sized(plan: &Plan, messages: usize, (gate, echo): (&Server, &Server)) -> Outcome<[Row; 2]> {
    let (mut gate, mut echo) = (Wire::connect(&gate.address)?, Wire::connect(&echo.address)?);
    let body = told(&mut gate, messages)?;
    let trips = if plan.quick { TRIPS.1 } else { TRIPS.0 };
    let (mut ours, mut theirs) = (Vec::with_capacity(trips), Vec::with_capacity(trips));
    // The first tenth warms up.
    for trip in 0..trips + trips / 10 {
        let begin = Instant::now();
        let answer = gate.post("/v1/checks", &body)?;
        let took = begin.elapsed().as_secs_f64();
        if !answer.contains(r#""verdict":"deny","reasons":[{"kind":"denied""#) {
            return Err(Fault::new(format!("R12: decided otherwise, {answer}")));
        }
        let begin = Instant::now();
        echo.post("/v1/checks", &body)?;
        let reference = begin.elapsed().as_secs_f64();
        if trip >= trips / 10 {
            ours.push(took);
            theirs.push(reference);
        }
    }
    let mut row = |hundredths: usize, limit: f64| {
        let (ours, reference) = (quantile(&mut ours, hundredths), quantile(&mut theirs, hundredths));
        let ratio = ours / reference;
        Row {
            number: 12,
            what: format!("gate round trip over a Unix socket, p{hundredths}"),
            size: format!("{} messages", count(messages)),
            ours: seconds(ours),
            reference: format!("{} echo", seconds(reference)),
            ratio: times(ratio),
            bar: format!("at most {}", times(limit)),
            standing: Standing::at_most(ratio, limit),
        }
    };
    Ok([row(50, 3.0), row(99, 5.0)])
}

/// Tells a gate of a session of so many messages. The check of one of its payments.
fn told(gate: &mut Wire, messages: usize) -> Outcome<String> {
    let session = format!(r#"{{"app":"bench","user":"u1","session":"s-{messages}"}}"#);
    let texts = made(Shape::Full, Taint::Tainted, messages).events();
    let mut history = serde_json::Value::Null;
    for few in texts.chunks(FEW) {
        let body = format!(r#"{{"session":{session},"events":[{}]}}"#, few.join(","));
        history = serde_json::from_str(&gate.post("/v1/events", &body)?)?;
    }
    let field = |name: &str| history.get(name).map(ToString::to_string).unwrap_or_default();
    let last = PAYMENTS - 1;
    Ok(format!(
        r#"{{"session":{session},"call_id":"pay-{messages}-{last}","tool":"pay","args":{},"agent":"assistant","events":{},"digest":{}}}"#,
        payment(last),
        field("events"),
        field("digest")
    ))
}
