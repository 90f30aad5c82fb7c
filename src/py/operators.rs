//! Operators with symbols, as number slots.

use super::convert;
use super::tensor::{self, PyTensor};
use crate::core::Tensor;
use crate::ops::value::Operand;
use crate::ops::{arith, matmul};
use pyo3::prelude::*;

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

/// `slf op other`, or NotImplemented if `other` is neither a tensor nor a number.
#[inline(always)]
fn binary<'py>(
    slf: &Bound<'py, PyTensor>,
    other: Any<'_, 'py>,
    f: impl FnOnce(Operand<'_>, Operand<'_>) -> crate::Result<Tensor>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = slf.py();
    let a = slf.get().value();
    let out = if let Some(b) = tensor::cell(py, other.as_ptr()) {
        let b = b.value();
        f(Operand::Tensor(&a), Operand::Tensor(&b))
    } else if let Some(n) = convert::number(other) {
        f(Operand::Tensor(&a), Operand::Number(n))
    } else {
        return Ok(py.NotImplemented().into_bound(py));
    };
    Ok(tensor::wrap(py, out?)?.into_any())
}

#[pymethods]
impl PyTensor {
    fn __add__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| arith::add(a, b, None))
    }
    fn __radd__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| arith::add(b, a, None))
    }
    fn __mul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, arith::mul)
    }
    fn __rmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| arith::mul(b, a))
    }
    fn __matmul__<'py>(slf: &Bound<'py, Self>, other: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
        binary(slf, other, |a, b| match (a, b) {
            (Operand::Tensor(a), Operand::Tensor(b)) => matmul::matmul(a, b),
            _ => Err(crate::Error::type_("matmul(): argument 'other' must be Tensor, not a number")),
        })
    }
}
