//! Results to text.
//!
//! In: sessions, findings, rows, records, test results. Out: text for people and JSON for machines. Never: computes a
//! verdict, writes anywhere, or shows a character that does not show.

pub mod cases;
pub mod cost;
pub mod differences;
pub mod explanation;
pub mod findings;
pub mod github;
pub mod json;
pub mod latency;
pub mod proof;
pub mod proof_graph;
pub mod proof_json;
pub mod records;
pub mod rows;
pub mod sarif;
pub mod text;
pub mod visible;
