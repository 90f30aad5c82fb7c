//! Comparisons of whole tensors, which read data.

use crate::data::export;
use crate::data::marshal;
use crate::descriptors;
use crate::door::descriptors::{Arg, Out};
use crate::door::{callable, overrides};
use crate::types::class;
use crate::types::errors::PyResult;
use pullback::base::{Error, Result};
use pullback::core::Tensor;
use pullback::ops::{compare, reduce};
use pullback::skin::read::{self, Reading};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyFloat};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

fn tensor(op: &str, name: &str, object: Arg<'_, '_>) -> Result<Tensor> {
    let given = object.as_deref();
    given.and_then(marshal::tensor).ok_or_else(|| {
        let got = given.map_or_else(|| "None".into(), class::type_name);
        Error::type_(format!("{op}(): argument '{name}' must be Tensor, not {got}"))
    })
}

fn all(op: &str, each: &Tensor) -> Result<bool> {
    let all = reduce::all(each, None, false)?;
    Ok(!read::array(&all, op, Reading::Truth)?.item()?.is_zero())
}

fn are_close(a: &Tensor, b: &Tensor, rtol: f64, atol: f64, equal_nan: bool) -> Result<bool> {
    all("allclose()", &compare::isclose(a, b, rtol, atol, equal_nan)?)
}

fn are_equal(a: &Tensor, b: &Tensor) -> Result<bool> {
    Ok(a.shape() == b.shape() && all("equal()", &compare::eq(a, b)?)?)
}

/// Whether all elements are close: `|input - other| <= atol + rtol * |other|`. Shapes broadcast, dtypes must agree.
///
/// >>> import pullback
/// >>> pullback.allclose(pullback.tensor([1.0, 2.0]), pullback.tensor([1.0, 2.1]))
/// False
#[pyfunction]
#[pyo3(name = "allclose", signature = (input, other, rtol = 1e-5, atol = 1e-8, equal_nan = false))]
fn allclose_function<'py>(
    input: Any<'_, 'py>,
    other: Any<'_, 'py>,
    rtol: f64,
    atol: f64,
    equal_nan: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    let options = || {
        let (rtol, atol) = (PyFloat::new(py, rtol).into_any(), PyFloat::new(py, atol).into_any());
        Ok([("rtol", rtol), ("atol", atol), ("equal_nan", answer(py, equal_nan)?)])
    };
    if let Some(out) = callable::asked_with(py, "allclose", &[input, other], None, options) {
        return out;
    }
    let a = tensor("allclose", "input", Some(input.as_borrowed()))?;
    let b = tensor("allclose", "other", Some(other.as_borrowed()))?;
    answer(py, are_close(&a, &b, rtol, atol, equal_nan)?)
}

/// Whether both have the same shape and the same elements.
///
/// >>> import pullback
/// >>> pullback.equal(pullback.tensor([1, 2]), pullback.tensor([1, 2]))
/// True
#[pyfunction]
#[pyo3(name = "equal")]
fn equal_function<'py>(input: Any<'_, 'py>, other: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    if let Some(out) = callable::asked_with(py, "equal", &[input, other], None, || Ok([])) {
        return out;
    }
    let a = tensor("equal", "input", Some(input.as_borrowed()))?;
    let b = tensor("equal", "other", Some(other.as_borrowed()))?;
    answer(py, are_equal(&a, &b)?)
}

/// Whether the only element is not zero.
///
/// >>> import pullback
/// >>> pullback.is_nonzero(pullback.tensor([2]))
/// True
#[pyfunction]
#[pyo3(name = "is_nonzero")]
fn is_nonzero_function<'py>(input: Any<'_, 'py>) -> PyResult<Bound<'py, PyAny>> {
    let py = input.py();
    if let Some(out) = callable::asked_with(py, "is_nonzero", &[input], None, || Ok([])) {
        return out;
    }
    tensor("is_nonzero", "input", Some(input.as_borrowed()))?;
    input.call_method0(intern!(py, "is_nonzero")).map_err(Into::into)
}

fn answer(py: Python<'_>, b: bool) -> Out<'_> {
    Ok(PyBool::new(py, b).to_owned().into_any())
}

fn number(value: Arg<'_, '_>, default: f64) -> PyResult<f64> {
    value.map_or(Ok(default), |v| Ok(v.extract()?))
}

descriptors! { METHODS, ATTRIBUTES:
    /// The members along dimension 0 from the last to the first.
    fn __reversed__(slf) {
        if slf.get().value().rank() == 0 { Ok(slf.clone().into_any()) } else { Ok(slf.call_method1("flip", (0,))?) }
    }
    /// Whether all elements are close to those of `other`.
    fn allclose(slf, other, rtol = None, atol = None, equal_nan = False) {
        let other = tensor("allclose", "other", other)?;
        let equal_nan = export::flag(equal_nan, false)?;
        answer(slf.py(), are_close(&slf.get().value(), &other, number(rtol, 1e-5)?, number(atol, 1e-8)?, equal_nan)?)
    }
    /// Whether `other` has the same shape and the same elements.
    fn equal(slf, other) { answer(slf.py(), are_equal(&slf.get().value(), &tensor("equal", "other", other)?)?) }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    overrides::add_asking(m, wrap_pyfunction!(allclose_function, m)?)?;
    overrides::add_asking(m, wrap_pyfunction!(is_nonzero_function, m)?)?;
    overrides::add_asking(m, wrap_pyfunction!(equal_function, m)?)
}
