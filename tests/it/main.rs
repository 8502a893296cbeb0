//! The integration tests: one binary.

mod cli;
mod recording;
mod program;
mod oracle;
mod random;
