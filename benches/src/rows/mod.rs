//! The rows of the table.

pub mod append;
pub mod case;
pub mod checks;
pub mod gate;
pub mod hostile;
pub mod loading;
pub mod memory;
#[cfg(feature = "peers")]
pub mod peers;
pub mod programs;
pub mod proofs;
pub mod replays;

use std::path::PathBuf;

use crate::fault::{Fault, Outcome};
use crate::markdown::{Row, figure_of};
use crate::rows::case::{Case, Policies};
use crate::sessions::{Shape, Taint};

/// What is to be measured.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Small sizes, for trying.
    pub quick: bool,
    /// A recording of a real session, the largest that there is.
    pub recording: PathBuf,
    /// The numbers of the rows; all where none are named.
    pub wanted: Vec<u8>,
}

impl Plan {
    /// Whether a row is wanted.
    #[must_use]
    pub fn wants(&self, number: u8) -> bool {
        self.wanted.is_empty() || self.wanted.contains(&number)
    }

    /// Numbers of messages.
    #[must_use]
    pub fn sizes(&self) -> &'static [usize] {
        if self.quick { &[100, 1_000] } else { &[100, 1_000, 10_000, 100_000] }
    }

    /// Pairs of samples.
    #[must_use]
    pub fn pairs(&self) -> usize {
        if self.quick { 3 } else { 9 }
    }

    fn smallest(&self) -> usize {
        self.sizes().first().copied().unwrap_or(100)
    }

    fn largest(&self) -> usize {
        self.sizes().last().copied().unwrap_or(100)
    }
}

/// Measures what is wanted; each row is given as it comes.
///
/// # Errors
/// Where two members of a ratio decide differently, or something cannot be made.
pub fn measure(plan: &Plan, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    let policies = Policies::new()?;
    if [1, 2, 3, 4, 5].into_iter().any(|number| plan.wants(number)) {
        for &messages in plan.sizes() {
            for shape in Shape::ALL {
                for taint in [Taint::Clean, Taint::Tainted] {
                    let case = Case::new(&policies, shape, taint, messages)?;
                    checks::measure(plan, &policies, &case, give)?;
                    #[cfg(feature = "peers")]
                    {
                        peers::measure(plan, &policies, &case, give)?;
                        peers::both_cold(plan, &policies, &case, give)?;
                    }
                }
            }
        }
        checks::growth(plan, &policies, give)?;
    }
    others(plan, &policies, give)
}

fn others(plan: &Plan, policies: &Policies, give: &mut dyn FnMut(Row)) -> Outcome<()> {
    #[cfg(feature = "peers")]
    peers::left(plan, give);
    if plan.wants(6) {
        append::measure(plan, policies, give)?;
    }
    if plan.wants(7) {
        memory::measure(plan, give)?;
    }
    if plan.wants(8) {
        loading::measure(plan, give)?;
    }
    if plan.wants(9) {
        replays::measure(plan, give)?;
    }
    if plan.wants(10) {
        replays::several(plan, give)?;
    }
    if plan.wants(11) {
        proofs::measure(plan, policies, give)?;
    }
    if plan.wants(12) {
        gate::measure(plan, give)?;
    }
    if plan.wants(13) {
        replays::process(plan, give)?;
    }
    if plan.wants(14) {
        hostile::measure(plan, policies, give)?;
    }
    Ok(())
}

/// A number of messages, for people.
fn count(number: usize) -> String {
    figure_of(number as f64)
}

/// Both members of a ratio have to say the same.
fn agree<T: PartialEq + std::fmt::Debug>(what: &str, ours: &T, reference: &T) -> Outcome<()> {
    if ours == reference {
        return Ok(());
    }
    Err(Fault::new(format!("{what}: decided differently, {ours:?} and {reference:?}")))
}
