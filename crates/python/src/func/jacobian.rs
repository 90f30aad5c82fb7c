//! `jacrev`, `jacfwd` and `hessian`.

use super::argnums::{Argnums, Argument, Inputs};
use super::fail;
use super::transform::{Transform, Transformation};
use super::vjp::{Along, lowered_along, returned};
use super::vmap::{randomness_name, randomness_of};
use crate::door::vectorcall::Call;
use crate::pytree::Leaves;
use crate::types::errors::PyResult;
use crate::types::flag;
use pullback::base::ErrorKind;
use pullback::core::level::Randomness;
use pullback::transforms::jacobian::{Blocks, JacobianOptions, jacfwd_many, jacrev_many};
use pullback::transforms::run::Values;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// Options of `jacrev`.
pub struct Reverse {
    argnums: Argnums,
    has_aux: bool,
    chunk_size: Option<usize>,
}

/// Options of `jacfwd`.
pub struct Forward {
    argnums: Argnums,
    has_aux: bool,
    chunk_size: Option<usize>,
    randomness: Randomness,
}

/// Returns a function that computes the Jacobian of `func` by reverse mode: one row for each element of the output.
///
/// Args:
///     func: function that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
///     argnums: position of the argument to differentiate, or a tuple of positions. Arguments may be pytrees.
///     has_aux: whether `func` returns a pair, of which only the first is differentiated.
///     chunk_size: how many rows to compute at a time; all at once by default.
///
/// The Jacobian is a tree of the output's structure with trees of the argument's structure in its leaves. A block has
/// the shape `output.shape + argument.shape`.
///
/// >>> import pullback
/// >>> from pullback.func import jacrev
/// >>> jacrev(lambda x: x * x)(pullback.tensor([1.0, 2.0]))
/// tensor([[2., 0.],
///         [0., 4.]])
#[pyfunction]
#[pyo3(
    signature = (func, argnums = Argument::Default, *, has_aux = false, chunk_size = None, _preallocate_and_copy = false),
    text_signature = "(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False)"
)]
pub fn jacrev<'py>(
    func: &Bound<'py, PyAny>,
    argnums: Argument<'py>,
    #[pyo3(from_py_with = flag::truth)] has_aux: bool,
    chunk_size: Option<i64>,
    _preallocate_and_copy: bool,
) -> PyResult<Bound<'py, PyAny>> {
    let argnums = Argnums::new(&argnums, false)?;
    let chunk_size = chunk("jacrev", chunk_size)?;
    Transform::make(func, Transformation::Reverse(Reverse { argnums, has_aux, chunk_size }))
}

/// Returns a function that computes the Jacobian of `func` by forward mode: one column for each element of the argument.
///
/// Args:
///     func: function that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
///     argnums: position of the argument to differentiate, a tuple of positions, or None for all of them.
///     has_aux: whether `func` returns a pair, of which only the first is differentiated.
///     chunk_size: how many columns to compute at a time; all at once by default.
///     randomness: as in `vmap`; the columns are computed under one.
///
/// The Jacobian is a tree of the output's structure with trees of the argument's structure in its leaves. A block has
/// the shape `output.shape + argument.shape`.
///
/// >>> import pullback
/// >>> from pullback.func import jacfwd
/// >>> jacfwd(lambda x: x * x)(pullback.tensor([1.0, 2.0]))
/// tensor([[2., 0.],
///         [0., 4.]])
#[pyfunction]
#[pyo3(
    signature = (func, argnums = Argument::Default, has_aux = false, *, chunk_size = None, randomness = "error"),
    text_signature = "(func, argnums=0, has_aux=False, *, chunk_size=None, randomness='error')"
)]
pub fn jacfwd<'py>(
    func: &Bound<'py, PyAny>,
    argnums: Argument<'py>,
    #[pyo3(from_py_with = flag::truth)] has_aux: bool,
    chunk_size: Option<i64>,
    randomness: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let argnums = Argnums::new(&argnums, true)?;
    let chunk_size = chunk("jacfwd", chunk_size)?;
    let randomness = randomness_of(randomness)?;
    Transform::make(func, Transformation::Forward(Forward { argnums, has_aux, chunk_size, randomness }))
}

/// Returns a function that computes the Hessian of `func`, forward over reverse: `jacfwd(jacrev(func))`.
///
/// `argnums` is the position of the argument to differentiate twice, or a tuple of positions, which gives a tuple of
/// tuples.
///
/// >>> import pullback
/// >>> from pullback.func import hessian
/// >>> hessian(lambda x: (x * x * x).sum())(pullback.tensor([1.0, 2.0]))
/// tensor([[ 6.,  0.],
///         [ 0., 12.]])
#[pyfunction]
#[pyo3(signature = (func, argnums = Argument::Default), text_signature = "(func, argnums=0)")]
pub fn hessian<'py>(func: &Bound<'py, PyAny>, argnums: Argument<'py>) -> PyResult<Bound<'py, PyAny>> {
    let outer = Argnums::new(&argnums, false)?;
    let inner = jacrev(func, argnums, false, None, false)?;
    let options = Forward { argnums: outer, has_aux: false, chunk_size: None, randomness: Randomness::Error };
    Transform::make(&inner, Transformation::Forward(options))
}

fn chunk(op: &str, size: Option<i64>) -> PyResult<Option<usize>> {
    match size {
        Some(n) if n <= 0 => {
            Err(fail(ErrorKind::Value, format!("{op}: `chunk_size` should be greater than 0, or None, got {n}")).into())
        }
        n => Ok(n.map(|n| n as usize)),
    }
}

impl Reverse {
    pub fn options(&self, options: &Bound<'_, PyDict>) -> PyResult<()> {
        options.set_item("argnums", self.argnums.to_python(options.py())?)?;
        options.set_item("has_aux", self.has_aux)?;
        Ok(options.set_item("chunk_size", self.chunk_size)?)
    }

    pub fn call<'py>(&self, t: &Transform, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
        let options = JacobianOptions::begun_at(t.origin, self.chunk_size);
        let run = Run::new("jacrev", t, call, &self.argnums, self.has_aux)?;
        let (blocks, along) =
            jacrev_many(&run.inputs.values, options, |xs| run.function(xs), |a, open| lowered_along(a, open))?;
        run.finish(blocks, along)
    }
}

impl Forward {
    pub fn options(&self, options: &Bound<'_, PyDict>) -> PyResult<()> {
        options.set_item("argnums", self.argnums.to_python(options.py())?)?;
        options.set_item("has_aux", self.has_aux)?;
        options.set_item("chunk_size", self.chunk_size)?;
        Ok(options.set_item("randomness", randomness_name(self.randomness))?)
    }

    pub fn call<'py>(&self, t: &Transform, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
        let options = JacobianOptions::begun_at(t.origin, self.chunk_size).randomness(self.randomness);
        let run = Run::new("jacfwd", t, call, &self.argnums, self.has_aux)?;
        let (blocks, along) =
            jacfwd_many(&run.inputs.values, options, |xs| run.function(xs), |a, open| lowered_along(a, open))?;
        run.finish(blocks, along)
    }
}

/// A Python function as the Rust transforms see it.
struct Run<'a, 'py> {
    op: &'static str,
    t: &'a Transform,
    call: &'a Call<'py>,
    has_aux: bool,
    inputs: Inputs,
}

impl<'a, 'py> Run<'a, 'py> {
    fn new(
        op: &'static str,
        t: &'a Transform,
        call: &'a Call<'py>,
        argnums: &Argnums,
        has_aux: bool,
    ) -> PyResult<Self> {
        let inputs = Inputs::collect(op, argnums, call)?;
        if inputs.values.is_empty() {
            return Err(fail(
                ErrorKind::Runtime,
                format!("{op}(): Expected the inputs to contain at least one Tensor"),
            )
            .into());
        }
        Ok(Run { op, t, call, has_aux, inputs })
    }

    fn function(&self, lifted: Values) -> PyResult<(Values, Along<'py>)> {
        let new = self.inputs.replaced(self.call, lifted)?;
        let out = self.call.invoke(self.t.func(self.call.py()), &new)?;
        drop(new);
        returned(self.op, out, self.has_aux)
    }

    fn finish(self, blocks: Blocks, (tree, aux): Along<'py>) -> PyResult<Bound<'py, PyAny>> {
        let py = self.call.py();
        let rows = blocks.into_iter().map(|row| self.inputs.build(py, row));
        let jacobian = tree.of_objects(py, rows.collect::<PyResult<Leaves<'py>>>()?)?;
        match aux {
            Some(aux) => Ok(PyTuple::new(py, [jacobian, aux])?.into_any()),
            None => Ok(jacobian),
        }
    }
}
