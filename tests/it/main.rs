//! The integration tests: one binary.
#![expect(clippy::disallowed_methods, reason = "tests read their fixtures")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a fixture that cannot be read fails the run, and helpers count as tests"
)]

mod cases;
mod cli;
mod conformance;
#[cfg(feature = "sqlite")]
mod database;
mod docs;
mod explanations;
mod format;
mod layers;
mod lints;
#[cfg(feature = "lsp")]
mod lsp;
mod oracle;
mod pickle;
mod program;
mod random;
mod readme;
mod recording;
mod replay;
mod souffle;
mod support;
mod syntax;
