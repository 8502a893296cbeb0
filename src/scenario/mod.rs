//! Policy tests: a test file to passes and failures.
//!
//! In: the text of a test file, and a [`Loader`] for what it names. Out: one [`CaseResult`] for each case. Never: opens a
//! file, decides, or passes a case that asked nothing.

mod apply;
mod call;
mod compare;
mod entry;
mod expect;
mod fields;
mod file;
mod request;
mod run;

pub use crate::yaml::Fault;
pub use call::{CallName, known_calls};
pub use file::{Case, PolicyTexts, TestFile, parse, rows};
pub use request::{GivenRequest, request};
pub use run::{Broken, CaseResult, Failure, Loader, action_text, run};
