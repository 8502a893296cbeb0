//! The integration tests: one binary.

mod recording;
mod program;
mod oracle;
mod random;
