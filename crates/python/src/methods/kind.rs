//! What an object is.

use crate::door::{callable, overrides};
use crate::methods::storage::Storage;
use crate::tensor;
use crate::types::errors::PyResult;
use pyo3::prelude::*;

/// Whether an object is a tensor.
///
/// >>> import pullback
/// >>> pullback.is_tensor(pullback.ones(2)), pullback.is_tensor(1.0)
/// (True, False)
#[pyfunction]
fn is_tensor(obj: &Bound<'_, PyAny>) -> bool {
    tensor::is_tensor(obj)
}

/// Whether an object is a storage, as `Tensor.untyped_storage` gives it.
///
/// >>> import pullback
/// >>> pullback.is_storage(pullback.ones(2).untyped_storage())
/// True
#[pyfunction]
fn is_storage(obj: &Bound<'_, PyAny>) -> bool {
    obj.is_instance_of::<Storage>()
}

/// Whether a tensor's dtype is one of real floating point numbers.
///
/// >>> import pullback
/// >>> pullback.is_floating_point(pullback.arange(2))
/// False
#[pyfunction]
fn is_floating_point<'py>(input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    callable::asked_of(input, "is_floating_point", |t| t.value().dtype().is_float())
}

/// Whether a tensor's dtype is one of complex numbers.
///
/// >>> import pullback
/// >>> pullback.is_complex(pullback.ones(2))
/// False
#[pyfunction]
fn is_complex<'py>(input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    callable::asked_of(input, "is_complex", |t| t.value().dtype().is_complex())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(is_tensor, m)?)?;
    m.add_function(wrap_pyfunction!(is_storage, m)?)?;
    overrides::add_asking(m, wrap_pyfunction!(is_floating_point, m)?)?;
    overrides::add_asking(m, wrap_pyfunction!(is_complex, m)?)
}
