//! What `functionalize` needs of tensors: stand-ins for arguments, and views of stand-ins as views of arguments.

use crate::tensor::{self, PyTensor, standing};
use crate::types::errors::PyResult;
use pyo3::prelude::*;

/// A tensor of its own with the value of `x`. Both are in one memory until somebody writes to one of them.
#[pyfunction]
pub fn _stand_in<'py>(x: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    tensor::wrap(x.py(), x.get().value())
}

/// What `view` shows of `base`, as a view of `other`; None if it is no view of `base`.
#[pyfunction]
pub fn _same_view<'py>(
    view: &Bound<'py, PyTensor>,
    base: &Bound<'py, PyTensor>,
    other: &Bound<'py, PyTensor>,
) -> PyResult<Option<Bound<'py, PyTensor>>> {
    let (Some(seen), Some(root)) = (view.get().shared_cell(), base.get().shared_cell()) else { return Ok(None) };
    let cell = other.get().cell();
    match seen.same_view(&root, &cell)? {
        None => Ok(None),
        Some(made) => {
            standing::stand_for(&cell, other);
            tensor::wrap_cell(other, made).map(Some)
        }
    }
}
