//! Copies and pickles.

use super::autograd;
use super::native::{Out, Slf};
use super::tensor;
use crate::base::{DType, Shape};
use crate::core::Tensor;
use crate::dense::Array;
use crate::rules::basis;
use crate::skin::read::{self, Reading};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

/// Only what a program made itself can be copied or saved: other tensors are parts of a graph.
fn check_leaf(slf: Slf<'_, '_>, op: &str) -> PyResult<Tensor> {
    let value = slf.get().value();
    if !autograd::is_leaf(&value) {
        return Err(PyRuntimeError::new_err(format!(
            "{op}: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the \
             moment; use .detach() first to copy the values alone"
        )));
    }
    Ok(value)
}

/// Attributes that a subclass or the user put on the object.
fn attributes<'py>(slf: Slf<'_, 'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
    match slf.getattr_opt("__dict__")? {
        Some(d) => Ok(d.cast_into::<PyDict>().ok().filter(|d| !d.is_empty())),
        None => Ok(None),
    }
}

pub fn reduce<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let py = slf.py();
    let value = slf.get().value();
    let array = read::array(&value, "pickle", Reading::Elements)?;
    if !autograd::is_leaf(&value) {
        check_leaf(slf, "pickle")?;
    }
    let contiguous = array.contiguous()?;
    let bytes = PyBytes::new(py, contiguous.bytes()?);
    let shape = PyTuple::new(py, contiguous.shape().iter())?;
    let rebuild = py.import("pullback._core")?.getattr("_rebuild_tensor")?;
    let args = (slf.get_type(), bytes, contiguous.dtype().name(), shape, autograd::requires_grad(&value));
    Ok((rebuild, args, attributes(slf)?).into_pyobject(py)?.into_any())
}

/// A tensor from its bytes: what unpickling calls.
#[pyfunction]
fn _rebuild_tensor<'py>(
    class: &Bound<'py, PyAny>,
    bytes: &Bound<'py, PyBytes>,
    dtype: &str,
    shape: Vec<usize>,
    requires_grad: bool,
) -> Out<'py> {
    let Some(dtype) = DType::from_name(dtype) else {
        return Err(PyValueError::new_err(format!("unpickling: no dtype is named '{dtype}'")));
    };
    let array = Array::from_bytes(dtype, Shape::from(shape), bytes.as_bytes())?;
    let out = tensor::wrap_as(class, array.into())?;
    if requires_grad {
        autograd::set_requires_grad(&out, true)?;
    }
    Ok(out.into_any())
}

/// Another object over the same memory, with the same history.
pub fn copy<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let out = super::views::alias(slf)?;
    if let Some(d) = attributes(slf)? {
        out.setattr("__dict__", d.copy()?)?;
    }
    Ok(out)
}

pub fn deepcopy<'py>(slf: Slf<'_, 'py>, memo: &Bound<'py, PyAny>) -> Out<'py> {
    let py = slf.py();
    let id = slf.as_ptr() as usize;
    if let Ok(known) = memo.call_method1("get", (id,))
        && !known.is_none()
    {
        return Ok(known);
    }
    let value = check_leaf(slf, "deepcopy")?;
    let plain = crate::ops::shape::detach(&value)?;
    let out = tensor::wrap_as(slf.get_type().as_any(), basis::copy(&plain)?)?;
    if autograd::requires_grad(&value) {
        autograd::set_requires_grad(&out, true)?;
    }
    memo.set_item(id, &out)?;
    if let Some(g) = autograd::gradient(slf.get()) {
        let g = deepcopy(g.bind(py), memo)?;
        out.setattr("grad", g)?;
    }
    if let Some(d) = attributes(slf)? {
        let deep = py.import("copy")?.getattr("deepcopy")?.call1((d, memo))?;
        out.setattr("__dict__", deep)?;
    }
    Ok(out.into_any())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(_rebuild_tensor, m)?)
}
