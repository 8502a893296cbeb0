//! The integration tests: one binary.
mod syntax;
