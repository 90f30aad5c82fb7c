//! Steps of optimisers over the parameters of a group, in one call.

mod group;
mod loans;

use crate::types::errors::PyResult;
use pullback::dense::optim::ALGORITHMS;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The algorithms that there are kernels for: by name, the options that each reads and the numbers that it keeps.
#[pyfunction]
fn _algorithms(py: Python<'_>) -> PyResult<Bound<'_, PyDict>> {
    let out = PyDict::new(py);
    for a in ALGORITHMS {
        out.set_item(a.name, (PyTuple::new(py, a.options)?, PyTuple::new(py, a.scalars)?))?;
    }
    Ok(out)
}

/// Adds `_core.optim`.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let optim = crate::types::submodule(m, "optim")?;
    optim.add_function(wrap_pyfunction!(_algorithms, &optim)?)?;
    Ok(optim.add_function(wrap_pyfunction!(group::_step, &optim)?)?)
}
