//! `autograd.forward_ad`: levels of dual numbers that are entered and left by hand, and dual tensors.

use crate::tensor;
use crate::tensor::PyTensor;
use crate::tensor::standing;
use crate::types::class;
use crate::types::errors::PyResult;
use pullback::base::Error;
use pullback::core::origin::{Origin, at_here};
use pullback::core::{LevelId, level};
use pullback::skin::cell::{Companion, Face};
use pullback::transforms::forward_ad as dual;
use pyo3::prelude::*;
use std::sync::Arc;

/// Enters a level of dual tensors and returns its number, from 0 on.
#[pyfunction]
fn enter_dual_level() -> PyResult<usize> {
    Ok(dual::enter(Origin::UNKNOWN)?)
}

/// Leaves the innermost level: its dual tensors are their primals from now on. Raises RuntimeError for another level.
#[pyfunction]
#[pyo3(signature = (*, level=None))]
fn exit_dual_level(level: Option<usize>) -> PyResult<()> {
    let open = dual::depth();
    if open == 0 {
        let message =
            "exit_dual_level(): Trying to exit a forward AD level but no level exists; enter_dual_level() first";
        return Err(Error::runtime(message).into());
    }
    Ok(dual::exit(level.unwrap_or(open - 1))?)
}

/// How many levels of dual tensors this thread has entered.
#[pyfunction]
fn dual_levels() -> usize {
    dual::depth()
}

fn numbered(op: &str, number: usize) -> PyResult<LevelId> {
    let open = dual::depth();
    dual::numbered(number).ok_or_else(|| {
        let message = if open == 0 {
            format!(
                "{op}(): Trying to create a dual Tensor for forward AD but no level exists{}, make sure to \
                 enter_dual_level() first",
                at_here()
            )
        } else {
            format!("{op}(): Invalid level given: {number}, while {open} are open on this thread{}", at_here())
        };
        Error::runtime(message).into()
    })
}

fn argument<'a, 'py>(op: &str, name: &str, o: &'a Bound<'py, PyAny>) -> PyResult<&'a Bound<'py, PyTensor>> {
    o.cast::<PyTensor>().map_err(|_| {
        Error::type_(format!("{op}(): argument '{name}' must be Tensor, not {}", class::type_name(o))).into()
    })
}

/// A dual tensor with the elements of `tensor` and this tangent, of the same shape; writes to it reach both.
///
/// Raises ValueError for dtypes without derivatives, and RuntimeError where no level was entered, the shapes differ, or
/// one of the tensors has a tangent at the level already.
#[pyfunction]
#[pyo3(signature = (tensor, tangent, *, level=None))]
fn make_dual<'py>(
    tensor: &Bound<'py, PyAny>,
    tangent: &Bound<'py, PyAny>,
    level: Option<usize>,
) -> PyResult<Bound<'py, PyTensor>> {
    const OP: &str = "make_dual";
    let id = numbered(OP, level.unwrap_or(dual::depth().saturating_sub(1)))?;
    let (primal, tangent) = (argument(OP, "tensor", tensor)?, argument(OP, "tangent", tangent)?);
    let (value, given) = (primal.get().value(), tangent.get().value());
    let fitted = dual::fitting(&value, &given)?;
    let packed = dual::pack(id, &value, &fitted)?;
    let (cell, other) = (primal.get().cell(), tangent.get().cell());
    // As the tangent's memory is laid out otherwise, or it is the primal itself, it is not shared.
    let shared = value.dtype() == given.dtype() && !Arc::ptr_eq(&cell, &other) && {
        let (a, b) = (cell.layout()?, other.layout()?);
        a.strides == b.strides && !b.may_overlap() && cell.delayed() == other.delayed()
    };
    standing::stand_for(&cell, primal);
    let companion = shared.then(|| Companion { cell: other, object: Arc::new(tangent.clone().unbind()) });
    crate::tensor::wrap_cell(primal, cell.face(Face::Dual { level: id, tangent: companion }, packed))
}

type Parts<'py> = (Bound<'py, PyAny>, Option<Bound<'py, PyAny>>);

/// Primal and tangent of a tensor, as views of it; the tangent is None if it has none at the level.
#[pyfunction]
#[pyo3(signature = (tensor, *, level=None))]
fn unpack<'py>(tensor: &Bound<'py, PyAny>, level: Option<usize>) -> PyResult<Parts<'py>> {
    const OP: &str = "unpack_dual";
    let py = tensor.py();
    let t = argument(OP, "tensor", tensor)?;
    if level.is_none() && dual::depth() == 0 {
        return Ok((tensor.clone(), None));
    }
    let id = numbered(OP, level.unwrap_or(dual::depth().saturating_sub(1)))?;
    let (primal, tangent) = dual::unpack(id, &t.get().value())?;
    let cell = t.get().cell();
    let object = |face: Face, value| Ok::<_, PyErr>(tensor::wrap_cell(t, cell.face(face, value))?.into_any());
    let first = object(Face::Primal { level: id }, primal)?;
    let Some(tangent) = tangent.filter(|_| level::propagates(id)) else { return Ok((first, None)) };
    let known = cell.companion(id).and_then(|c| c.object.downcast_ref::<Py<PyTensor>>().map(|o| o.clone_ref(py)));
    Ok((
        first,
        Some(match known {
            Some(o) => o.into_bound(py).into_any(),
            None => object(Face::Tangent { level: id }, tangent)?,
        }),
    ))
}

/// Whether tangents are propagated on this thread.
#[pyfunction]
fn is_fwd_grad_enabled() -> bool {
    level::forward_enabled()
}

/// Turns the propagation of tangents on or off, and returns how it was.
#[pyfunction]
fn switch_fwd_grad(mode: bool) -> bool {
    level::set_forward_enabled(mode)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let module = crate::types::submodule(m, "autograd.forward_ad")?;
    module.add_function(wrap_pyfunction!(enter_dual_level, &module)?)?;
    module.add_function(wrap_pyfunction!(exit_dual_level, &module)?)?;
    module.add_function(wrap_pyfunction!(dual_levels, &module)?)?;
    module.add_function(wrap_pyfunction!(make_dual, &module)?)?;
    module.add_function(wrap_pyfunction!(unpack, &module)?)?;
    module.add_function(wrap_pyfunction!(is_fwd_grad_enabled, &module)?)?;
    Ok(module.add_function(wrap_pyfunction!(switch_fwd_grad, &module)?)?)
}
