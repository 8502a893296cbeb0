//! What the programs of this folder share: sessions, hand-written references, other engines, measuring, the table.
//!
//! In: nothing but sizes. Out: ratios of two figures from one run, both members of which gave the same decision.
//! Never: compares with a figure of another run.

pub mod fault;
pub mod markdown;
pub mod measure;
pub mod ours;
#[cfg(feature = "peers")]
pub mod peers;
pub mod policies;
pub mod references;
pub mod rows;
pub mod sessions;
pub mod wire;
