//! Tensors from Python data: numbers, nested sequences, buffers.

use super::{convert, tensor};
use crate::base::promote::{default_float, promote};
use crate::base::{DType, Error, Result, Scalar, Shape};
use crate::core::Tensor;
use crate::dense::{Array, copy};
use crate::match_dtype;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyString, PyTuple};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// A tensor with the values of a number or of nested sequences of numbers. The dtype is that of the data unless given.
pub fn tensor_from(o: Any<'_, '_>, dtype: Option<DType>) -> Result<Tensor> {
    if let Some(t) = convert::tensor(o) {
        return crate::rules::basis::cast(&t, dtype.unwrap_or(t.dtype()));
    }
    let mut shape = Shape::scalar();
    let mut numbers = Vec::new();
    flatten(o, 0, &mut shape, &mut numbers)?;
    let natural = numbers.iter().map(|n: &Scalar| n.dtype(default_float())).reduce(promote);
    let dtype = dtype.or(natural).unwrap_or(default_float());
    let array = match_dtype!(dtype, T => Array::build::<T>(shape, |out| {
        for (o, &n) in out.iter_mut().zip(&numbers) {
            *o = copy::from_scalar(n);
        }
    }))?;
    Ok(array.into())
}

/// Appends the numbers of `o` in row-major order; the first branch decides the shape.
fn flatten(o: Any<'_, '_>, depth: usize, shape: &mut Shape, out: &mut Vec<Scalar>) -> Result<()> {
    let items: Vec<Bound<'_, PyAny>> = if let Ok(l) = o.cast::<PyList>() {
        l.iter().collect()
    } else if let Ok(t) = o.cast::<PyTuple>() {
        t.iter().collect()
    } else if let Some(n) = convert::number(o) {
        if shape.rank() > depth {
            return Err(ragged(depth, "a number"));
        }
        out.push(n);
        return Ok(());
    } else if o.is_instance_of::<PyString>() {
        return Err(Error::type_("tensor(): data must not contain str"));
    } else {
        o.try_iter()
            .and_then(|it| it.collect::<PyResult<Vec<_>>>())
            .map_err(|_| Error::runtime(format!("tensor(): could not infer dtype of {}", convert::type_name(o))))?
    };
    let first_here = out.is_empty() && shape.rank() == depth;
    if first_here {
        shape.push(items.len());
    } else if shape.rank() <= depth || shape[depth] != items.len() {
        return Err(ragged(depth, &format!("a sequence of length {}", items.len())));
    }
    items.iter().try_for_each(|x| flatten(x, depth + 1, shape, out))
}

#[cold]
fn ragged(depth: usize, got: &str) -> Error {
    Error::value(format!("tensor(): the nested sequences have different lengths: found {got} at depth {depth}"))
}

/// A new tensor with a copy of `data`.
#[pyfunction]
#[pyo3(signature = (data, *, dtype=None))]
fn tensor_<'py>(data: &Bound<'py, PyAny>, dtype: Option<&Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let dtype = dtype.and_then(|d| super::dtype::dtype_of(d.as_ptr()));
    Ok(tensor::wrap(data.py(), tensor_from(data, dtype)?)?.into_any())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add("tensor", wrap_pyfunction!(tensor_, m)?)
}
