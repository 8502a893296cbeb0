//! Policies that load and may not mean what their author thinks.
//!
//! In: a checked program and the texts it came from. Out: warnings, each with why it matters in front of an agent.
//! Never: an error, or a word about the prelude.

mod absence;
mod allows;
mod budget;
mod commands;
mod cover;
mod decisions;
mod evidence;
mod fields;
mod graph;
mod paths;
mod patterns;
mod reach;
mod redundant;
mod scope;
mod single_use;
mod unfold;
mod values;
mod view;

use crate::program::Program;
use crate::program::findings::Findings;
use crate::program::include::Unit;
use crate::program::lints::view::View;

pub(crate) use allows::silence;
pub(crate) use single_use::single_use;

/// Looks at what goes wrong in any program, be it a policy or not.
pub(crate) fn lint_plain(program: &Program, units: &[Unit], findings: &mut Findings) {
    let view = View::new(program, units);
    patterns::lint(&view, findings);
}

/// Looks at everything that needs the whole program.
pub(crate) fn lint(program: &Program, units: &[Unit], findings: &mut Findings) {
    let view = View::new(program, units);
    fields::lint(&view, findings);
    paths::lint(&view, findings);
    patterns::lint(&view, findings);
    evidence::lint(&view, findings);
    decisions::lint(&view, findings);
    reach::lint(&view, findings);
    cover::lint(&view, findings);
    redundant::lint(&view, findings);
    budget::lint(&view, findings);
    commands::lint(&view, findings);
    unfold::lint(&view, findings);
}
