//! Gatelog: a Datalog policy engine over agent message records.
//!
//! Bytes go in at the top, a report comes out at the bottom. The rooms stand in the order in which they may
//! name each other: a room names only rooms above it.

pub mod source;
pub mod json;
pub mod yaml;
pub mod column;
pub mod value;
pub mod lineage;

pub mod syntax;
pub mod functor;
pub mod program;

pub mod engine;
pub mod plain;

pub mod recording;
pub mod records;
pub mod facts;

pub mod decision;
pub mod explain;
pub mod monitor;
pub mod session;

pub mod replay;
pub mod scenario;
pub mod report;

#[cfg(feature = "sqlite")]
pub mod store;

#[cfg(feature = "gate")]
pub mod policies;

#[cfg(feature = "gate")]
pub mod gate;

#[cfg(feature = "lsp")]
pub mod lsp;

#[cfg(feature = "serve")]
pub mod serve;

#[cfg(feature = "app")]
pub mod cli;
