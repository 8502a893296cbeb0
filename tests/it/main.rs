//! The integration tests: one binary.

mod cli;
mod oracle;
mod program;
mod random;
mod recording;
mod syntax;
