//! Policy tests: a test file to passes and failures.
//!
//! In: the text of a test file, and a [`Loader`] for what it names. Out: one [`CaseResult`] for each case. Never: opens a
//! file, decides, or passes a case that asked nothing.

mod apply;
mod compare;
mod entry;
mod fields;
mod file;
mod run;
mod walk;
mod yaml;

pub use file::{CallName, Case, GivenRequest, PolicyTexts, TestFile, parse, request, rows};
pub use run::{Broken, CaseResult, Failure, Loader, action_text, run};
pub use walk::{is_call, known_calls, walk};
pub use yaml::Fault;
