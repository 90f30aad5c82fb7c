//! `x[index]`, `x[index] = value` and iteration.

use crate::data::marshal;
use crate::door::descriptors::{Out, Slf};
use crate::process::gil;
use crate::tensor;
use crate::types::errors::{Fault, PyResult};
use pullback::base::{DType, Result, Scalar};
use pullback::core::{Tensor, host};
use pullback::ops::promote::fitting;
use pullback::ops::value::IndexItem;
use pullback::ops::{Cost, indexing};
use pullback::rules::basis;
use pullback::skin::{index, slot};
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyList};

/// The items of an index; one integer, the commonest index, takes a short way.
fn items(o: &Bound<'_, PyAny>) -> Result<Vec<IndexItem>> {
    if o.is_exact_instance_of::<PyInt>()
        && let Ok(i) = o.extract::<i64>()
    {
        return Ok(vec![IndexItem::Int(i)]);
    }
    marshal::index(o)
}

pub fn get<'py>(slf: Slf<'_, 'py>, o: &Bound<'py, PyAny>) -> Out<'py> {
    let py = slf.py();
    let items = items(o)?;
    if index::is_basic(&items) {
        return tensor::views::index(slf, index::plain(items));
    }
    let value = slf.get().value();
    let out = gil::released(py, Cost::Cheap, &[&value], || slot::settled(indexing::get(&value, &items)?, false))?;
    Ok(tensor::wrap(py, out)?.into_any())
}

/// What is assigned, as a tensor of the target's dtype.
fn assigned(target: &Tensor, value: &Bound<'_, PyAny>) -> Result<Tensor> {
    let t = match marshal::tensor(value) {
        Some(t) => t,
        None => match marshal::number(value)? {
            Some(n) => return assigned_number(n, target.dtype()),
            None => crate::data::tensor_from(value, Some(target.dtype()))?,
        },
    };
    basis::cast(&t, target.dtype())
}

/// PyTorch checks assigned numbers of every dtype but half precision, which rounds to infinity.
fn assigned_number(n: Scalar, dtype: DType) -> Result<Tensor> {
    let wide = if dtype.is_half() { DType::F64 } else { dtype };
    crate::data::nested::unpacked("__setitem__", n, dtype)?;
    fitting("__setitem__", "value", n, wide)?;
    Ok(Tensor::scalar(dtype, n))
}

pub fn set(slf: Slf<'_, '_>, o: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let items = items(o)?;
    let target = slf.get().value();
    let value = assigned(&target, value)?;
    // The write may reuse the memory only if nobody else holds the value.
    drop(target);
    Ok(tensor::views::write_part(slf.py(), slf.get(), items, &value)?)
}

/// The rows, as views.
pub fn iterate<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let py = slf.py();
    let value = slf.get().value();
    let Some(&n) = value.shape().first() else { return Err(of_scalar()) };
    pullback::ops::check_pieces("iter", n)?;
    let row = |i: usize| {
        host::turn(i)?;
        tensor::views::index(slf, vec![IndexItem::Int(i as i64)])
    };
    let rows: Vec<_> = (0..n).map(row).collect::<PyResult<_>>()?;
    Ok(PyList::new(py, rows)?.try_iter()?.into_any())
}

/// [`iterate`] for a tensor whose class, or a mode, has a say: that is asked for the rank, and for the rows.
#[cold]
pub fn iterate_asking<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let py = slf.py();
    if slf.call_method0(intern!(py, "dim"))?.eq(0)? {
        return Err(of_scalar());
    }
    Ok(slf.call_method1(intern!(py, "unbind"), (0,))?.try_iter()?.into_any())
}

fn of_scalar() -> Fault {
    PyTypeError::new_err("iteration over a 0-d tensor").into()
}
