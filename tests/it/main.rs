//! The integration tests: one binary.

mod recording;
