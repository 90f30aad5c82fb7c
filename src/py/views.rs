//! What the door does with results: views alias their base, in-place forms write into a cell.

use super::{convert, tensor};
use crate::base::Error;
use crate::ops::{Entry, Value};
use crate::rules::basis;
use pyo3::ffi;
use pyo3::prelude::*;

/// The result of a function or method as an object.
pub fn finish(
    py: Python<'_>,
    _entry: &'static Entry,
    _base: *mut ffi::PyObject,
    _args: Vec<Value>,
    out: Value,
) -> PyResult<*mut ffi::PyObject> {
    Ok(convert::to_python(py, out)?.into_ptr())
}

/// Writes the result of an in-place form into the cell of `slf`.
pub fn assign(py: Python<'_>, entry: &Entry, slf: &Bound<'_, PyAny>, out: Value) -> PyResult<()> {
    let (Some(cell), Value::Tensor(out)) = (tensor::cell(py, slf.as_ptr()), out) else {
        return Err(Error::internal(format!("{}_(): gave no tensor", entry.short_name())).into());
    };
    let old = cell.value();
    if out.shape() != old.shape() {
        return Err(Error::runtime(format!(
            "{}_(): output with shape {} doesn't match the broadcast shape {}",
            entry.short_name(),
            old.shape(),
            out.shape()
        ))
        .into());
    }
    if out.dtype().category() > old.dtype().category() {
        return Err(Error::runtime(format!(
            "{}_(): result type {} can't be cast to the desired output type {}",
            entry.short_name(),
            out.dtype(),
            old.dtype()
        ))
        .into());
    }
    let out = basis::cast(&out, old.dtype())?;
    cell.with(|s| s.set(out));
    Ok(())
}
