//! Two members, timed in turn.
//!
//! Members take turns, so that whatever else the machine does meets both. The ratio is the median of the ratios of the
//! pairs, and not the ratio of two medians.

use std::hint::black_box;
use std::time::{Duration, Instant};

use crate::fault::Outcome;

/// How long one sample of a short piece of work is to take.
const SAMPLE: Duration = Duration::from_millis(4);

/// Two figures of one run, in seconds for one piece of work.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// Median of the first member.
    pub ours: f64,
    /// Median of the second.
    pub reference: f64,
    /// Median of the ratios of the pairs.
    pub ratio: f64,
}

/// Seconds for one piece of work.
pub type Sample<'a> = dyn FnMut() -> Outcome<f64> + 'a;

/// A pair that takes longer than this is not taken as often.
const LONG: f64 = 1.0;
/// Pairs of long pieces of work.
const FEW: usize = 3;

/// Takes a sample of both members in turn, so often. A first pair warms up and does not count.
///
/// # Errors
/// Where a member fails.
pub fn paired(pairs: usize, ours: &mut Sample<'_>, reference: &mut Sample<'_>) -> Outcome<Measured> {
    let (mut firsts, mut seconds, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    let begin = Instant::now();
    let _ = (ours()?, reference()?);
    let pairs = if begin.elapsed().as_secs_f64() > LONG { pairs.min(FEW) } else { pairs };
    for _ in 0..pairs {
        let (first, second) = (ours()?, reference()?);
        firsts.push(first);
        seconds.push(second);
        ratios.push(first / second);
    }
    Ok(Measured { ours: median(&mut firsts), reference: median(&mut seconds), ratio: median(&mut ratios) })
}

/// Seconds for one piece of work that may be repeated, from as many repetitions as fill a sample.
pub fn repeated<T>(mut work: impl FnMut() -> T) -> f64 {
    let mut times = 1_u32;
    loop {
        let begin = Instant::now();
        for _ in 0..times {
            black_box(work());
        }
        let took = begin.elapsed();
        if took >= SAMPLE || times >= 1 << 24 {
            return took.as_secs_f64() / f64::from(times);
        }
        // Aims a little past the sample, and never grows by more than sixteen at once.
        let missing = SAMPLE.as_secs_f64() * 1.2 / took.as_secs_f64().max(1e-9);
        times = times.saturating_mul(2.max(missing.min(16.0) as u32));
    }
}

/// Seconds for one piece of work that is done once, after what it needs is made.
pub fn once<P, T>(prepared: P, work: impl FnOnce(&mut P) -> T) -> f64 {
    let mut prepared = prepared;
    let begin = Instant::now();
    let result = black_box(work(&mut prepared));
    let took = begin.elapsed().as_secs_f64();
    drop(result);
    took
}

/// The middle of some figures.
pub fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}
