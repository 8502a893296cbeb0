//! How long things took.

use std::time::Duration;

use serde::Serialize;

use crate::report::cost::{CostRow, described};
use crate::report::json::line;
use crate::report::text::counted;
use crate::report::visible::{shortened, visible, visible_name};

/// Letters of the longest bar.
const BAR: usize = 40;

/// The times of one kind of work, ascending.
// Invariant: sorted.
#[derive(Debug, Clone, Default)]
pub struct Times {
    sorted: Vec<Duration>,
}

impl Times {
    /// Times in any order.
    #[must_use]
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { sorted: times }
    }

    /// The shortest time that so many per mille of all do not exceed; none where there are no times.
    #[must_use]
    pub fn quantile(&self, per_mille: usize) -> Option<Duration> {
        let rank = (self.sorted.len() * per_mille).div_ceil(1000).max(1);
        self.sorted.get(rank - 1).copied()
    }

    fn max(&self) -> Option<Duration> {
        self.sorted.last().copied()
    }

    /// How many times are below each power of two of nanoseconds and not below the one before, empty ends left out.
    #[must_use]
    pub fn buckets(&self) -> Vec<(u64, usize)> {
        let power = |time: Duration| nanoseconds(time).max(1).ilog2() + 1;
        let (Some(&first), Some(&last)) = (self.sorted.first(), self.sorted.last()) else {
            return Vec::new();
        };
        let mut rest = self.sorted.as_slice();
        let mut buckets = Vec::new();
        for power in power(first)..=power(last) {
            let below = 1_u64.checked_shl(power).unwrap_or(u64::MAX);
            let count = rest.partition_point(|&time| nanoseconds(time) < below);
            buckets.push((below, count));
            rest = rest.get(count..).unwrap_or(&[]);
        }
        buckets
    }
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// A time with a unit that suits it, three digits at most.
fn short(time: Duration) -> String {
    let nanoseconds = nanoseconds(time);
    match nanoseconds {
        0..1_000 => format!("{nanoseconds} ns"),
        1_000..1_000_000 => with_digits(nanoseconds, 1_000, "us"),
        1_000_000..1_000_000_000 => with_digits(nanoseconds, 1_000_000, "ms"),
        _ => with_digits(nanoseconds, 1_000_000_000, "s"),
    }
}

fn with_digits(nanoseconds: u64, unit: u64, name: &str) -> String {
    let (whole, tenth) = (nanoseconds / unit, nanoseconds % unit * 10 / unit);
    if whole < 100 { format!("{whole}.{tenth} {name}") } else { format!("{whole} {name}") }
}

/// What a benchmark on a user's own recordings found.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Runs over all recordings.
    pub runs: usize,
    /// Sessions of one run.
    pub sessions: usize,
    /// Events of one run.
    pub events: usize,
    /// Judging one call.
    pub check: Times,
    /// Taking in one event.
    pub append: Times,
    /// Reading one session from its bytes.
    pub load: Times,
    /// The checks that took longest, by the shortest of their runs.
    pub slowest: Vec<Slow>,
}

/// A check that took long.
#[derive(Debug, Clone)]
pub struct Slow {
    /// The session.
    pub source: String,
    /// Number of the call's record.
    pub seq: u32,
    /// The call's id.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// The shortest time of all runs.
    pub time: Duration,
    /// What it looked at, the dearest condition first.
    pub cost: Vec<CostRow>,
}

/// Conditions that are shown of a slow check.
const CONDITIONS: usize = 3;

/// The measurements for people.
#[must_use]
pub fn text(measured: &Measured) -> String {
    let Measured { runs, sessions, events, check, append, load, slowest } = measured;
    let sizes = [counted(*sessions, "session"), counted(*events, "event"), counted(*runs, "run")];
    let mut out = format!("{}\n", sizes.join(", "));
    for (name, times) in [("check", check), ("append", append), ("load", load)] {
        out.push_str(&histogram(name, times));
    }
    if !slowest.is_empty() {
        out.push_str("\nslowest checks\n");
    }
    for slow in slowest {
        let (source, tool) = (visible(&slow.source), visible_name(&slow.tool));
        let id = shortened(&visible(&slow.call_id), 20);
        let looked: u64 = slow.cost.iter().map(|row| row.looked).sum();
        out.push_str(&format!(
            "  {:>8}  {source} seq {} {tool} {id}  {looked} tuples looked at\n",
            short(slow.time),
            slow.seq
        ));
        for row in slow.cost.iter().take(CONDITIONS).filter(|row| row.looked > 0) {
            out.push_str(&format!("            {:>8}  {}\n", row.looked, described(row)));
        }
    }
    out
}

fn histogram(name: &str, times: &Times) -> String {
    let figures = [("p50", 500), ("p90", 900), ("p99", 990)].map(|(name, per_mille)| {
        format!("{name} {}", times.quantile(per_mille).map_or_else(|| "-".to_owned(), short))
    });
    let count = times.sorted.len();
    let max = times.max().map_or_else(|| "-".to_owned(), short);
    let mut out = format!("\n{name}  {count} measured  {}  max {max}\n", figures.join("  "));
    let buckets = times.buckets();
    let most = buckets.iter().map(|&(_, count)| count).max().unwrap_or(0).max(1);
    for (below, count) in buckets {
        let bar = "█".repeat((count * BAR).div_ceil(most));
        let below = short(Duration::from_nanos(below));
        out.push_str(format!("  < {below:>8}  {count:>8}  {bar}").trim_end());
        out.push('\n');
    }
    out
}

#[derive(Debug, Serialize)]
struct Document<'a> {
    runs: usize,
    sessions: usize,
    events: usize,
    check: TimesRow,
    append: TimesRow,
    load: TimesRow,
    slowest: Vec<SlowRow<'a>>,
}

#[derive(Debug, Serialize)]
struct TimesRow {
    count: usize,
    p50_ns: Option<u64>,
    p90_ns: Option<u64>,
    p99_ns: Option<u64>,
    max_ns: Option<u64>,
    buckets: Vec<BucketRow>,
}

#[derive(Debug, Serialize)]
struct BucketRow {
    below_ns: u64,
    count: usize,
}

#[derive(Debug, Serialize)]
struct SlowRow<'a> {
    source: &'a str,
    seq: u32,
    call_id: &'a str,
    tool: &'a str,
    ns: u64,
    cost: &'a [CostRow],
}

fn times(times: &Times) -> TimesRow {
    let at = |per_mille| times.quantile(per_mille).map(nanoseconds);
    let buckets = times.buckets().into_iter().map(|(below_ns, count)| BucketRow { below_ns, count });
    TimesRow {
        count: times.sorted.len(),
        p50_ns: at(500),
        p90_ns: at(900),
        p99_ns: at(990),
        max_ns: times.max().map(nanoseconds),
        buckets: buckets.collect(),
    }
}

/// The measurements for machines, on one line.
#[must_use]
pub fn document(measured: &Measured) -> String {
    let slow = |slow: &'_ Slow| nanoseconds(slow.time);
    let slowest = measured.slowest.iter().map(|one| SlowRow {
        source: &one.source,
        seq: one.seq,
        call_id: &one.call_id,
        tool: &one.tool,
        ns: slow(one),
        cost: &one.cost,
    });
    let document = Document {
        runs: measured.runs,
        sessions: measured.sessions,
        events: measured.events,
        check: times(&measured.check),
        append: times(&measured.append),
        load: times(&measured.load),
        slowest: slowest.collect(),
    };
    line(&document) + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_times_that_were_measured() {
        let times = Times::new([5, 1, 4, 2, 3].map(Duration::from_micros).to_vec());
        let at = |per_mille| times.quantile(per_mille).map(|time| time.as_micros());
        assert_eq!([at(1), at(500), at(900), at(1000)], [Some(1), Some(3), Some(5), Some(5)]);
        assert_eq!(Times::default().quantile(500), None);
        assert_eq!(times.buckets(), [(1_024, 1), (2_048, 1), (4_096, 2), (8_192, 1)]);
        let shown = [999, 1_500, 123_456, 2_000_000, 3_000_000_000].map(|n| short(Duration::from_nanos(n)));
        assert_eq!(shown, ["999 ns", "1.5 us", "123 us", "2.0 ms", "3.0 s"]);
    }

    #[test]
    fn nothing_measured_is_told_without_bars() {
        let text = text(&Measured { runs: 1, ..Measured::default() });
        assert!(text.contains("check  0 measured  p50 -  p90 -  p99 -  max -\n"), "{text}");
    }
}
