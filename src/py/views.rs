//! What the door does with results: views alias their base, in-place forms write into a cell.

use super::native::{Out, Slf};
use super::tensor::PyTensor;
use super::{convert, tensor};
use crate::base::{Error, Result};
use crate::core::Tensor;
use crate::ops::value::IndexItem;
use crate::ops::{Entry, Value, indexing};
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
    if entry.flags.has(crate::ops::Flags::VIEW) {
        // `x.squeeze_()` and its like change the shape of the cell itself.
        drop(cell.with(|s| s.set(out)));
        return Ok(());
    }
    Ok(write(cell, &format!("{}_", entry.short_name()), out)?)
}

/// An error if an in-place operator may not write to this cell.
pub fn check_writable(_cell: &PyTensor, _op: &str) -> Result<()> {
    Ok(())
}

/// Replaces the value of a cell by the result of an in-place operator.
pub fn write(cell: &PyTensor, op: &str, out: Tensor) -> Result<()> {
    let old = cell.value();
    if out.shape() != old.shape() {
        return Err(Error::runtime(format!(
            "{op}(): output with shape {} doesn't match the broadcast shape {}",
            old.shape(),
            out.shape()
        )));
    }
    if out.dtype().category() > old.dtype().category() {
        return Err(Error::runtime(format!(
            "{op}(): result type {} can't be cast to the desired output type {}",
            out.dtype(),
            old.dtype()
        )));
    }
    let out = basis::cast(&out, old.dtype())?;
    drop(cell.with(|s| s.set(out)));
    Ok(())
}

/// Replaces a part of a cell's value.
pub fn write_part(cell: &PyTensor, items: &[IndexItem], value: &Tensor) -> Result<()> {
    let new = indexing::put(&cell.value(), items, value)?;
    write(cell, "__setitem__", new)
}

/// A view of `slf` with the present value `out`.
pub fn view<'py>(slf: Slf<'_, 'py>, out: Tensor) -> Out<'py> {
    Ok(tensor::wrap(slf.py(), out)?.into_any())
}

/// Another object over the same cell.
pub fn alias<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    Ok(tensor::wrap(slf.py(), slf.get().value())?.into_any())
}

/// The same memory without history.
pub fn detached<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    Ok(tensor::wrap(slf.py(), crate::ops::shape::detach(&slf.get().value())?)?.into_any())
}

/// `x.data = value`
pub fn set_data(slf: Slf<'_, '_>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(t) = convert::tensor(value) else { return Err(Error::type_("data: expected a Tensor").into()) };
    drop(slf.get().with(|s| s.set(t)));
    Ok(())
}
