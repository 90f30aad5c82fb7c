//! `linearize`: the value of a function and its derivative as a recorded program.

use super::tree::{Tree, direction};
use super::vjp::outputs_of;
use super::{fail, place};
use crate::door::callable;
use crate::door::vectorcall;
use crate::types::errors::PyResult;
use pullback::base::ErrorKind;
use pullback::core::Tensor;
use pullback::core::node::Meta;
use pullback::transforms::linearize::LinearMap;
use pullback::transforms::run::{self, Values};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

/// Returns the value of `func` at `primals` and its derivative there, a linear function of tangents.
///
/// Args:
///     func: function of the primals that returns a pytree of tensors.
///     primals: arguments, each a pytree of tensors of a floating point or complex dtype.
///
/// Gives `(output, jvp_fn)`. `func` runs once, here; `jvp_fn` takes one tangent for each primal, of its structure, shape
/// and dtype, and runs only what depends on the tangents. It saves what `func` computed, so that `jvp` is better for a
/// single tangent.
///
/// >>> import pullback
/// >>> from pullback.func import linearize
/// >>> y, jvp_fn = linearize(lambda x: x * x, pullback.tensor([1.0, 2.0]))
/// >>> jvp_fn(pullback.tensor([1.0, 0.5]))
/// tensor([2., 2.])
#[pyfunction]
#[pyo3(signature = (func, *primals))]
pub fn linearize<'py>(func: &Bound<'py, PyAny>, primals: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    if let Some(out) = callable::asked(py, callable::Access::Transform, "linearize", &[primals.as_ptr()]) {
        return Ok(out?.cast_into()?);
    }
    let (values, trees) = tensors("linearize", primals, &[])?;
    let function = |lifted: Values| {
        let mut lifted = lifted.into_iter();
        let args = trees.iter().map(|t| t.build(py, &mut lifted)).collect::<PyResult<Vec<_>>>()?;
        let out = vectorcall::invoke(func, &args)?;
        drop(args);
        outputs_of("linearize", &out)
    };
    let (results, map, tree) = run::linearized(place::origin("linearize", func)?, &values, function)?;
    let value = tree.build(py, &mut results.into_iter())?;
    let f = Bound::new(py, JvpFunction { map, inputs: trees, outputs: tree })?.into_any();
    Ok(PyTuple::new(py, [value, f])?)
}

/// The tensors of the arguments; numbers count in the dtypes of `like`.
fn tensors(op: &str, args: &Bound<'_, PyTuple>, like: &[Meta]) -> PyResult<(Vec<Tensor>, Vec<Tree>)> {
    let mut values = Vec::with_capacity(args.len());
    let mut trees = Vec::with_capacity(args.len());
    for arg in args.iter_borrowed() {
        trees.push(Tree::collect(&arg, |leaf| {
            values.push(direction(op, leaf, like.get(values.len()).map(|m| m.dtype))?);
            Ok(())
        })?);
    }
    Ok((values, trees))
}

/// The derivative of a function at a point: takes tangents of the inputs to tangents of the outputs.
#[pyclass(frozen, weakref, module = "pullback.func")]
pub struct JvpFunction {
    map: LinearMap,
    inputs: Vec<Tree>,
    outputs: Tree,
}

#[pymethods]
impl JvpFunction {
    #[pyo3(signature = (*tangents))]
    fn __call__<'py>(&self, tangents: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
        let py = tangents.py();
        let (values, trees) = tensors("jvp_fn", tangents, self.map.inputs())?;
        let mut same = trees.len() == self.inputs.len();
        for (a, b) in trees.iter().zip(&self.inputs) {
            same &= a.same(py, b)?;
        }
        if !same {
            let all = |trees: &[Tree]| trees.iter().map(|t| t.describe(py)).collect::<PyResult<Vec<_>>>();
            let list = |trees: &[Tree]| Ok::<_, PyErr>(all(trees)?.join(", "));
            let message = format!(
                "jvp_fn(): Expected the tangents to have the same argspec as the primals, got ({}) for ({})",
                list(&trees)?,
                list(&self.inputs)?
            );
            return Err(fail(ErrorKind::Runtime, message).into());
        }
        let out = self.map.call(&values)?;
        self.outputs.build(py, &mut out.into_iter())
    }

    fn __repr__(&self) -> String {
        format!("<jvp function of {} operators>", self.map.len())
    }
}
