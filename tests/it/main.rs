//! The integration tests: one binary.
#![expect(clippy::disallowed_methods, reason = "tests read their fixtures")]
#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a fixture that cannot be read fails the run, and helpers count as tests"
)]

mod agents;
mod budget;
mod cases;
mod cli;
mod conformance;
#[cfg(feature = "sqlite")]
mod database;
#[cfg(feature = "gate")]
mod decisions;
mod docs;
#[cfg(feature = "lsp")]
mod editor;
mod explain;
mod explanations;
mod fixes;
mod format;
mod forms;
#[cfg(feature = "gate")]
mod gate;
#[cfg(feature = "gate")]
mod hook;
mod hostile;
mod layers;
mod layout;
mod libraries;
mod lints;
#[cfg(feature = "lsp")]
mod lsp;
#[cfg(feature = "lsp")]
mod lsp_hostile;
#[cfg(feature = "lsp")]
mod lsp_session;
mod oracle;
mod pickle;
#[cfg(feature = "gate")]
mod policies;
mod program;
mod random;
mod readme;
mod recording;
mod records;
mod replay;
mod requests;
#[cfg(feature = "serve")]
mod serve;
mod shown;
mod souffle;
mod support;
mod syntax;
mod triples;
