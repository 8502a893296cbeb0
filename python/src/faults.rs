//! What goes wrong, as Python exceptions.

use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::{PyResult, create_exception};

create_exception!(gatelog, GatelogError, PyException, "Anything that goes wrong in gatelog.");
create_exception!(
    gatelog,
    PolicyError,
    GatelogError,
    "A policy cannot be read, or does not load: every finding, with its place."
);
create_exception!(gatelog, GateError, GatelogError, "The gate did not do what it was told.");
create_exception!(gatelog, RecordingError, GatelogError, "A recording cannot be read.");
create_exception!(
    gatelog,
    EncodingError,
    PyValueError,
    "A value cannot be written as JSON: where it stands, and why."
);

/// Runs the work, and makes a panic in it an exception like any other.
pub(crate) fn guarded<T>(work: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(GatelogError::new_err("the work broke off: this is a fault of gatelog itself"))
    })
}
