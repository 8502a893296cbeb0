//! The integration tests: one binary.

mod cli;
mod program;
mod recording;
