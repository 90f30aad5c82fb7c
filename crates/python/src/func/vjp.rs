//! `vjp`: the value of a function and its pullback.

use super::grad::{signature, split_aux};
use super::tree::{Tree, direction, leaf_value, lowered, tensor_value};
use super::{fail, place};
use crate::door::callable;
use crate::door::vectorcall;
use crate::types::class::type_name;
use crate::types::errors::PyResult;
use crate::types::flag;
use crate::types::raised;
use pullback::base::ErrorKind;
use pullback::core::Tensor;
use pullback::core::level::GradMode;
use pullback::transforms::reverse::Pullback;
use pullback::transforms::run::{self, Open, Values};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

/// Returns the value of `func` at `primals` and a function that pulls cotangents of it back to the primals.
///
/// Args:
///     func: function of the primals that returns a pytree of tensors, or `(output, aux)` with `has_aux`.
///     primals: arguments, each a pytree of tensors of a floating point or complex dtype.
///     has_aux: whether `func` returns a pair, of which only the first is differentiated.
///
/// Gives `(output, vjp_fn)`, or `(output, vjp_fn, aux)`. `vjp_fn` takes cotangents in the structure of the output (also
/// one argument for each output of a tuple) and returns a tuple with one cotangent for each primal. It can be called any
/// number of times, also under `vmap` and inside of other transforms.
///
/// >>> import pullback
/// >>> from pullback.func import vjp
/// >>> y, vjp_fn = vjp(lambda x: x * x, pullback.tensor([1.0, 2.0]))
/// >>> vjp_fn(pullback.tensor([1.0, 10.0]))
/// (tensor([ 2., 40.]),)
#[pyfunction]
#[pyo3(signature = (func, *primals, has_aux = false))]
pub fn vjp<'py>(
    func: &Bound<'py, PyAny>,
    primals: &Bound<'py, PyTuple>,
    #[pyo3(from_py_with = flag::truth)] has_aux: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = func.py();
    if let Some(out) = callable::asked(py, callable::Access::Transform, "vjp", &[primals.as_ptr()]) {
        return Ok(out?.cast_into()?);
    }
    let mut values: Vec<Tensor> = Vec::with_capacity(primals.len());
    let mut trees = Vec::with_capacity(primals.len());
    for p in primals.iter() {
        trees.push(Tree::collect(&p, |leaf| {
            values.push(leaf_value("vjp", leaf)?);
            Ok(())
        })?);
    }
    let function = |lifted: Values| {
        let mut lifted = lifted.into_iter();
        let args = trees.iter().map(|t| t.build(py, &mut lifted)).collect::<PyResult<SmallVec<[_; 4]>>>()?;
        let out = vectorcall::invoke(func, &args)?;
        drop(args);
        returned("vjp", out, has_aux)
    };
    let origin = place::origin("vjp", func)?;
    let (results, pullback, (out_tree, aux)) =
        run::reverse("vjp", origin, &values, function, |a, tape| lowered_along(a, tape))?;
    let value = out_tree.build(py, &mut results.into_iter())?;
    let f = Bound::new(py, VjpFunction { pullback, outputs: out_tree, inputs: trees })?.into_any();
    match aux {
        Some(aux) => Ok(PyTuple::new(py, [value, f, aux])?),
        None => Ok(PyTuple::new(py, [value, f])?),
    }
}

/// What a function gave beside its tensors: their structure, and what only comes along.
pub type Along<'py> = (Tree, Option<Bound<'py, PyAny>>);

/// The tensors that a function returned, and what else.
pub fn returned<'py>(op: &str, out: Bound<'py, PyAny>, has_aux: bool) -> PyResult<(Values, Along<'py>)> {
    let (out, aux) = if has_aux { split_aux(op, &out)? } else { (out, None) };
    let (outputs, tree) = outputs_of(op, &out)?;
    Ok((outputs, (tree, aux)))
}

/// What only comes along, as values of the levels outside.
pub fn lowered_along<'py>((tree, aux): Along<'py>, open: &impl Open) -> PyResult<Along<'py>> {
    Ok((tree, aux.map(|a| lowered(&a, open)).transpose()?))
}

/// The tensors that a function returned, which must be one at least and nothing else.
pub fn outputs_of(op: &str, out: &Bound<'_, PyAny>) -> PyResult<(Values, Tree)> {
    let mut outputs = Values::new();
    let tree = Tree::collect(out, |leaf| {
        let Some(y) = tensor_value(leaf) else {
            let message = if out.is_none() {
                format!("{}: Expected f to be a function that has non-empty output, got None", signature(op))
            } else {
                format!(
                    "{}: expected f(*primals) to return only tensors, got unsupported type {}",
                    signature(op),
                    type_name(leaf)
                )
            };
            return Err(fail(ErrorKind::Runtime, message).into());
        };
        outputs.push(y);
        Ok(())
    })?;
    if outputs.is_empty() {
        let got = type_name(out);
        let message =
            format!("{}: Expected f to be a function that has non-empty output, got an empty {got}", signature(op));
        return Err(fail(ErrorKind::Runtime, message).into());
    }
    Ok((outputs, tree))
}

/// The pullback of a function at a point: takes cotangents of the outputs to cotangents of the inputs.
#[pyclass(frozen, weakref, module = "pullback.func")]
pub struct VjpFunction {
    pullback: Pullback,
    outputs: Tree,
    inputs: Vec<Tree>,
}

#[pymethods]
impl VjpFunction {
    /// `vjp_fn(cotangents, retain_graph=True, create_graph=None)`: `create_graph=False` computes without recording for
    /// transforms outside, `retain_graph=False` frees what the call used.
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        &self,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let py = args.py();
        let (cotangents, options) = self.parse(args, kwargs)?;
        let _mode = (!options.create_graph).then(|| GradMode::set(false));
        let grads = self.pullback.call(&cotangents, options.retain_graph)?;
        let mut grads = grads.into_iter();
        Ok(PyTuple::new(py, self.inputs.iter().map(|t| t.build(py, &mut grads)).collect::<PyResult<Vec<_>>>()?)?)
    }

    fn __repr__(&self) -> String {
        format!("<vjp function of {} outputs and {} inputs>", self.outputs.len(), self.inputs.len())
    }
}

struct SweepOptions {
    retain_graph: bool,
    create_graph: bool,
}

type Cotangents = Vec<Option<Tensor>>;

impl VjpFunction {
    fn parse(
        &self,
        args: &Bound<'_, PyTuple>,
        kwargs: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<(Cotangents, SweepOptions)> {
        let mut options = SweepOptions { retain_graph: true, create_graph: true };
        let mut tree = None;
        for (key, value) in kwargs.into_iter().flatten() {
            match raised::str_of(&key)?.as_str() {
                "cotangents" => tree = Some(value),
                "retain_graph" => options.retain_graph = value.is_truthy()?,
                "create_graph" => options.create_graph = value.is_none() || value.is_truthy()?,
                other => {
                    let message = format!("vjp_fn(): got an unexpected keyword argument '{other}'");
                    return Err(fail(ErrorKind::Type, message).into());
                }
            }
        }
        let tree = match (tree, args.len()) {
            (Some(tree), 0) => tree,
            (None, 1) => args.get_item(0)?,
            (None, 0) => return Err(fail(ErrorKind::Type, "vjp_fn(): missing the argument 'cotangents'".into()).into()),
            (None, _) => args.clone().into_any(),
            (Some(_), _) => {
                return Err(
                    fail(ErrorKind::Type, "vjp_fn(): got multiple values for argument 'cotangents'".into()).into()
                );
            }
        };
        Ok((self.cotangents(&tree, args)?, options))
    }

    fn cotangents(&self, tree: &Bound<'_, PyAny>, args: &Bound<'_, PyTuple>) -> PyResult<Cotangents> {
        let py = tree.py();
        let collect = |obj: &Bound<'_, PyAny>| {
            let mut values = Vec::new();
            let found = Tree::collect(obj, |leaf| {
                let like = self.pullback.outputs().get(values.len()).map(|m| m.dtype);
                values.push(Some(direction("vjp_fn", leaf, like)?));
                Ok(())
            });
            Ok::<_, PyErr>((found?, values))
        };
        let (found, values) = collect(tree)?;
        if found.same(py, &self.outputs)? {
            return Ok(values);
        }
        // One argument for each output of a tuple.
        let (spread, values) = collect(args.as_any())?;
        if spread.same(py, &self.outputs)? {
            return Ok(values);
        }
        Err(fail(
            ErrorKind::Runtime,
            format!(
                "vjp_fn(): Expected pytree structure of cotangents to be the same as pytree structure of outputs to \
                 the function; cotangents have {} and the outputs {}",
                found.describe(py)?,
                self.outputs.describe(py)?
            ),
        )
        .into())
    }
}
