//! `pullback.func`: the transforms over Python functions, one file each. Structures of arguments and results are
//! handled here; what a transform means lives in `transforms`.

mod argnums;
mod dims;
mod eval_shape;
mod functionalize;
mod grad;
mod jacobian;
mod jvp;
mod linearize;
mod mapped;
pub mod passed;
mod place;
mod trace;
mod transform;
mod tree;
mod vjp;
mod vmap;

use crate::types::errors::PyResult;
use pullback::base::{Error, ErrorKind};
use pullback::core::origin;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// An error of this layer, with the user's line.
#[cold]
fn fail(kind: ErrorKind, message: String) -> PyErr {
    crate::types::errors::exception(Error::new(kind, message + &origin::at_here()))
}

/// The transform that a pickle describes.
#[pyfunction]
fn _restore_transform<'py>(
    name: &str,
    args: &Bound<'py, PyTuple>,
    kwargs: &Bound<'py, PyDict>,
) -> PyResult<Bound<'py, PyAny>> {
    Ok(args.py().import("pullback.func")?.getattr(name)?.call(args, Some(kwargs))?)
}

/// Adds `_core.func`.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let _ = crate::tensor::upward::ADMIT.set(passed::admit);
    origin::set_locator(crate::types::errors::locator);
    let func = crate::types::submodule(m, "func")?;
    transform::register(&func)?;
    func.add_class::<vjp::VjpFunction>()?;
    func.add_class::<linearize::JvpFunction>()?;
    func.add_class::<trace::Program>()?;
    func.add_class::<eval_shape::ShapeFunction>()?;
    func.add_function(wrap_pyfunction!(grad::grad, &func)?)?;
    func.add_function(wrap_pyfunction!(grad::grad_and_value, &func)?)?;
    func.add_function(wrap_pyfunction!(vjp::vjp, &func)?)?;
    func.add_function(wrap_pyfunction!(jvp::jvp, &func)?)?;
    func.add_function(wrap_pyfunction!(vmap::vmap, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::jacrev, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::jacfwd, &func)?)?;
    func.add_function(wrap_pyfunction!(jacobian::hessian, &func)?)?;
    func.add_function(wrap_pyfunction!(linearize::linearize, &func)?)?;
    func.add_function(wrap_pyfunction!(trace::trace, &func)?)?;
    func.add_function(wrap_pyfunction!(eval_shape::eval_shape, &func)?)?;
    m.add_function(wrap_pyfunction!(_restore_transform, m)?)?;
    func.add_function(wrap_pyfunction!(functionalize::_stand_in, &func)?)?;
    func.add_function(wrap_pyfunction!(functionalize::_same_view, &func)?)?;
    Ok(m.add("vmap", func.getattr("vmap")?)?)
}
