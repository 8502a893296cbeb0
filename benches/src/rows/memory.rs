//! R7: what a session holds.
//!
//! Counted by the allocator of a process of its own, so that counting slows nothing else down.

use std::path::Path;

use crate::fault::{Fault, Outcome};
use crate::markdown::{Row, Standing, figure_of, times};
use crate::rows::programs::{own, printed};
use crate::rows::{Plan, count};
use crate::sessions::Shape;

/// What the program `memory` prints: bytes for each message.
#[derive(Debug, Clone, Copy)]
struct Held {
    /// Beyond the text of the messages, in the end.
    held: f64,
    /// The same, at most while loading.
    peak: f64,
}

fn measured(program: &Path, member: &str, shape: Shape, messages: usize) -> Outcome<Held> {
    let text = printed(program, &[member, shape.word(), &messages.to_string()])?;
    let mut figures = text.split_whitespace().map(str::parse::<f64>);
    match (figures.next(), figures.next()) {
        (Some(Ok(held)), Some(Ok(peak))) => Ok(Held { held, peak }),
        _ => Err(Fault::new(format!("the program `memory` printed `{text}`"))),
    }
}

fn bytes(bytes: f64) -> String {
    format!("{} B", figure_of(bytes))
}

fn row(what: &str, size: &str, (ours, reference): (f64, f64), name: &str, limit: f64) -> Row {
    let ratio = ours / reference;
    Row {
        number: 7,
        what: what.to_owned(),
        size: size.to_owned(),
        ours: bytes(ours),
        reference: format!("{} {name}", bytes(reference)),
        ratio: times(ratio),
        bar: format!("at most {}", times(limit)),
        standing: Standing::at_most(ratio, limit),
    }
}

/// R7.
///
/// # Errors
/// Where the program cannot be built, or fails.
pub fn measure(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let program = own("memory")?;
    for shape in Shape::ALL {
        let mut first: Option<Held> = None;
        for &messages in plan.sizes().iter().filter(|&&messages| messages >= 1_000) {
            let size = format!("{}, {}", count(messages), shape.words());
            let ours = measured(&program, "ours", shape, messages)?;
            let bfs = measured(&program, "bfs", shape, messages)?;
            give(row("bytes per message beyond its text", &size, (ours.held, bfs.held), "`bfs`", 3.0));
            let what = "peak while loading, bytes per message";
            give(row(what, &size, (ours.peak, 3.0 * bfs.held), "3 × `bfs`", 2.0));
            let small = *first.get_or_insert(ours);
            if messages == plan.largest() {
                let figures = (ours.held, small.held);
                give(row("bytes per message: growth", &size, figures, "at the smallest", 1.2));
            }
        }
    }
    Ok(())
}
