//! Gatelog for Python.
//!
//! In: policies, what runners tell and ask, Python values. Out: verdicts, reports, JSON. Never: decides, lets a panic reach
//! Python, or holds the interpreter while it works.

mod encode;
mod faults;
mod files;
mod gate;
mod policy;
mod replay;

/// Policies, gated sessions, replay, and the encoding of Python values.
#[pyo3::pymodule]
mod _core {
    #[pymodule_export]
    use crate::encode::{encode, encode_metadata};
    #[pymodule_export]
    use crate::faults::{EncodingError, GateError, GatelogError, PolicyError, RecordingError};
    #[pymodule_export]
    use crate::gate::{Check, Gate, Pending, Session};
    #[pymodule_export]
    use crate::policy::Policy;
    #[pymodule_export]
    use crate::replay::{records, replay};
}
