//! `jvp`: the value of a function and its derivative along a direction.

use super::tree::{Tree, converted, converted_like, tensor_value};
use super::vjp::{lowered_along, returned};
use super::{fail, place};
use crate::door::callable;
use crate::door::vectorcall;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::flag;
use pullback::base::ErrorKind;
use pullback::core::Tensor;
use pullback::rules::basis;
use pullback::transforms::run::{self, Values};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use smallvec::SmallVec;

/// Returns the value of `func` at `primals` and its derivative along `tangents`, computed together in one run.
///
/// Args:
///     func: function of the primals that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
///     primals: tuple of arguments, each a pytree of tensors of a floating point or complex dtype.
///     tangents: directions, of the same structure and shapes as the primals.
///     strict: whether an output that does not depend on the primals is an error; otherwise its tangent is zero.
///     has_aux: whether `func` returns a pair, of which only the first is differentiated.
///
/// Gives `(output, output_tangent)`, or `(output, output_tangent, aux)`.
///
/// >>> import pullback
/// >>> from pullback.func import jvp
/// >>> jvp(lambda x: x * x, (pullback.tensor([1.0, 2.0]),), (pullback.tensor([1.0, 0.5]),))
/// (tensor([1., 4.]), tensor([2., 2.]))
#[pyfunction]
#[pyo3(signature = (func, primals, tangents, *, strict = false, has_aux = false))]
pub fn jvp<'py>(
    func: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyAny>,
    tangents: &Bound<'py, PyAny>,
    #[pyo3(from_py_with = flag::truth)] strict: bool,
    #[pyo3(from_py_with = flag::truth)] has_aux: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    if let Some(out) = callable::asked(py, callable::Access::Transform, "jvp", &[primals.as_ptr(), tangents.as_ptr()]) {
        return Ok(out?.cast_into()?);
    }
    let mut pairs = Pairs::default();
    pairs.collect(primals, tangents)?;
    let function = |lifted: Values| {
        let args = pairs.arguments(py, lifted)?;
        let out = vectorcall::invoke(func, &args)?;
        drop(args);
        returned("jvp", out, has_aux)
    };
    let missing = |value: &Tensor| -> PyResult<Tensor> {
        match strict {
            true => {
                let message = "jvp(): The output of f is independent of the inputs, which strict=True does not allow";
                Err(fail(ErrorKind::Runtime, message.into()).into())
            }
            false => Ok(basis::zeros_like(value)?),
        }
    };
    let origin = place::origin("jvp", func)?;
    let along = pairs.tangents.iter().map(Some);
    let (values, slopes, (tree, aux)) =
        run::forward(origin, &pairs.primals, along, function, missing, |a, duals| lowered_along(a, duals))?;
    let value = tree.build(py, &mut values.into_iter())?;
    let slope = tree.build(py, &mut slopes.into_iter())?;
    match aux {
        Some(aux) => Ok(PyTuple::new(py, [value, slope, aux])?),
        None => Ok(PyTuple::new(py, [value, slope])?),
    }
}

/// Primals with their tangents, taken apart.
#[derive(Default)]
struct Pairs<'py> {
    trees: SmallVec<[Tree; 2]>,
    /// The caller's tensors, which writes to the arguments reach.
    callers: SmallVec<[Bound<'py, PyTensor>; 2]>,
    primals: Values,
    tangents: Values,
    /// Numbers of those that were no tensors.
    converted: Vec<usize>,
}

impl<'py> Pairs<'py> {
    fn collect(&mut self, primals: &Bound<'py, PyAny>, tangents: &Bound<'py, PyAny>) -> PyResult<()> {
        let Ok(list) = primals.cast::<PyTuple>() else {
            let message = format!(
                "jvp(): Expected primals to be a tuple, because f is called with f(*primals), got {}",
                type_name(primals)
            );
            return Err(fail(ErrorKind::Runtime, message).into());
        };
        for p in list.iter_borrowed() {
            let tree = Tree::collect(&p, |leaf| self.push(leaf))?;
            self.trees.push(tree);
        }
        let same = match tangents.cast::<PyTuple>() {
            Ok(t) if t.len() == list.len() => self.collect_tangents(t)?,
            _ => false,
        };
        if !same {
            return Err(different(primals, tangents)?.into());
        }
        self.check_converted()?;
        if self.primals.is_empty() {
            return Err(
                fail(ErrorKind::Runtime, "jvp(): Expected primals to contain at least one Tensor".into()).into()
            );
        }
        Ok(())
    }

    fn push(&mut self, leaf: &Bound<'py, PyAny>) -> PyResult<()> {
        match leaf.cast::<PyTensor>() {
            Ok(caller) => {
                self.primals.push(caller.get().value());
                self.callers.push(caller.clone());
                Ok(())
            }
            Err(_) => self.push_converted(leaf),
        }
    }

    /// A number or an array: nobody outside sees what is written to its tensor.
    #[cold]
    fn push_converted(&mut self, leaf: &Bound<'py, PyAny>) -> PyResult<()> {
        let value = converted(leaf)?.ok_or_else(|| not_tensors("primals", leaf))?;
        if !value.dtype().is_differentiable() {
            let message = format!(
                "jvp(): Expected primals to only contain Tensors or numbers of floating point or complex dtype, got {} \
                 of {}; give a float, as in 3.0",
                type_name(leaf),
                value.dtype()
            );
            return Err(fail(ErrorKind::Runtime, message).into());
        }
        self.converted.push(self.primals.len());
        self.callers.push(tensor::wrap(leaf.py(), value.clone())?);
        self.primals.push(value);
        Ok(())
    }

    fn push_tangent(&mut self, leaf: &Bound<'_, PyAny>) -> PyResult<()> {
        let value = match tensor_value(leaf) {
            Some(value) => value,
            None => {
                let like = self.primals.get(self.tangents.len()).map(Tensor::dtype);
                self.converted.push(self.tangents.len());
                converted_like(leaf, like)?.ok_or_else(|| not_tensors("tangents", leaf))?
            }
        };
        self.tangents.push(value);
        Ok(())
    }

    /// An error where a number or an array does not go with its tangent, or with its primal.
    fn check_converted(&self) -> PyResult<()> {
        for &i in &self.converted {
            if let (Some(p), Some(t)) = (self.primals.get(i), self.tangents.get(i))
                && p.shape() != t.shape()
            {
                let message = format!(
                    "jvp(): Expected primals and tangents to only contain Tensors, or numbers and arrays of the same \
                     shape, got a primal of shape {} with a tangent of shape {}",
                    p.shape(),
                    t.shape()
                );
                return Err(fail(ErrorKind::Runtime, message).into());
            }
        }
        Ok(())
    }

    /// Whether the structures agree.
    fn collect_tangents(&mut self, list: &Bound<'_, PyTuple>) -> PyResult<bool> {
        for (i, t) in list.iter_borrowed().enumerate() {
            let found = Tree::collect(&t, |leaf| self.push_tangent(leaf))?;
            if !found.same(list.py(), &self.trees[i])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The arguments, with these values in place of the primals.
    fn arguments(&self, py: Python<'py>, values: Values) -> PyResult<SmallVec<[Bound<'py, PyAny>; 2]>> {
        let mut lifted: SmallVec<[Bound<'py, PyAny>; 2]> = SmallVec::new();
        for (value, caller) in values.into_iter().zip(&self.callers) {
            lifted.push(tensor::wrap_lifted(caller, value)?.into_any());
        }
        let mut lifted = lifted.into_iter();
        let mut next = |tree: &Tree| {
            let leaves: SmallVec<[_; 4]> = lifted.by_ref().take(tree.len()).collect();
            tree.of_objects(py, leaves)
        };
        self.trees.iter().map(&mut next).collect()
    }
}

#[cold]
fn not_tensors(what: &str, leaf: &Bound<'_, PyAny>) -> PyErr {
    fail(ErrorKind::Runtime, format!("jvp(): Expected {what} to only contain Tensors, got {}", type_name(leaf)))
}

#[cold]
fn different(primals: &Bound<'_, PyAny>, tangents: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    let py = primals.py();
    let (_, p) = Tree::leaves(primals)?;
    let (_, t) = Tree::leaves(tangents)?;
    let message = format!(
        "jvp(): Expected primals and tangents to have the same python structure, got primals of structure {} and \
         tangents of structure {}",
        p.describe(py)?,
        t.describe(py)?
    );
    Ok(fail(ErrorKind::Runtime, message))
}
