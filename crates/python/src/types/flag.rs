//! Yes and no, as callers say them.

use super::class::type_name;
use pyo3::PyResult;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyInt;

/// A bool, or a whole number in its place.
///
/// # Errors
/// `TypeError` for anything else.
pub fn truth(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    match o.extract() {
        Err(_) if o.is_instance_of::<PyInt>() => o.is_truthy(),
        Err(_) => Err(PyTypeError::new_err(short!("expected True or False, but got {}", type_name(o)))),
        known => known,
    }
}

/// The same, or None.
///
/// # Errors
/// `TypeError` for anything else.
pub fn choice(o: &Bound<'_, PyAny>) -> PyResult<Option<bool>> {
    if o.is_none() { Ok(None) } else { truth(o).map(Some) }
}
