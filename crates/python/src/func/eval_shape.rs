//! `eval_shape`: what a function gives, without computing it.

use super::fail;
use crate::pytree;
use crate::tensor;
use crate::types::dtype;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::{ErrorKind, Shape};
use pullback::core::{Meta, Tensor};
use pullback::transforms::run;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Returns a function that gives the shapes and dtypes of the results of `func`, as tensors of device `meta`, without
/// computing them.
///
/// Args:
///     func: function of any arguments that returns a pytree of tensors.
///
/// The tensors among the arguments, at any depth of pytrees, may be of device `meta` themselves; objects with a `shape` and
/// a `dtype` of this library stand for tensors, too. `func` runs once on tensors without data, so that it costs no
/// arithmetic and no memory; random operators draw nothing. What reads data raises, as do operators such as `nonzero` whose
/// results have shapes that depend on data. A custom function that leaves the library needs a shape rule: see
/// `pullback.library.register_fake`.
///
/// >>> import pullback
/// >>> from pullback.func import eval_shape, grad
/// >>> x = pullback.empty(1000000, 1000, device="meta")
/// >>> eval_shape(lambda x: x @ x.T)(x)
/// tensor(..., device='meta', size=(1000000, 1000000))
/// >>> eval_shape(grad(lambda w: w.sin().sum()))(pullback.ones(3)).shape
/// pullback.Size([3])
#[pyfunction]
pub fn eval_shape(func: &Bound<'_, PyAny>) -> PyResult<ShapeFunction> {
    if !func.is_callable() {
        let got = crate::types::class::type_name(func);
        return Err(fail(ErrorKind::Type, format!("eval_shape(): argument 'func' must be callable, got {got}")).into());
    }
    Ok(ShapeFunction { func: func.clone().unbind() })
}

/// A function that gives shapes and dtypes in place of values.
#[pyclass(frozen, weakref, module = "pullback.func")]
pub struct ShapeFunction {
    func: Py<PyAny>,
}

/// The tensor without data that stands for an argument; `None` for what is no tensor.
fn stands_for(leaf: &Bound<'_, PyAny>) -> PyResult<Option<Tensor>> {
    if let Some(cell) = tensor::cell(leaf) {
        return Ok(Some(Tensor::without_data(Meta::of(&cell.value()))));
    }
    let Some(d) = leaf.getattr_opt("dtype")?.and_then(|d| dtype::dtype_of(d.as_ptr())) else { return Ok(None) };
    let Some(shape) = leaf.getattr_opt("shape")? else { return Ok(None) };
    let sizes = raised::items(&shape)?.map(|n| Ok(n?.extract::<i64>()?)).collect::<PyResult<Vec<i64>>>()?;
    Ok(Some(Tensor::without_data(Meta::new(d, Shape::of_sizes("eval_shape", &sizes)?))))
}

/// The tree with tensors without data in place of tensors.
fn emptied<'py>(tree: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (leaves, spec) = pytree::flatten(tree)?;
    let put = |leaf: &Bound<'py, PyAny>| match stands_for(leaf)? {
        Some(t) => Ok(tensor::wrap(leaf.py(), t)?.into_any()),
        None => Ok(leaf.clone()),
    };
    let leaves = leaves.iter().map(put).collect::<PyResult<pytree::Leaves<'_>>>()?;
    spec.unflatten(tree.py(), leaves)
}

#[pymethods]
impl ShapeFunction {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let args = emptied(args.as_any())?.cast_into::<PyTuple>().map_err(PyErr::from)?;
        let kwargs = kwargs.map(|k| emptied(k.as_any())).transpose()?;
        let kwargs = kwargs.map(|k| k.cast_into::<PyDict>().map_err(PyErr::from)).transpose()?;
        let out = run::without_data(|| self.func.bind(args.py()).call(args, kwargs.as_ref()))?;
        emptied(&out)
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("eval_shape({})", raised::repr_of(self.func.bind(py))?))
    }
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (Py<PyAny>,))> {
        Ok((py.import("pullback.func")?.getattr("eval_shape")?, (self.func.clone_ref(py),)))
    }
}
