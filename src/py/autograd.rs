//! `requires_grad`, `.grad`, `.backward()`, hooks: the tape as PyTorch users know it. Semantics are in [`crate::skin::tape`].

use super::gradient::GradBox;
use super::graph::PyNode;
use super::hooks::Removable;
use super::native::{Arg, Slf};
use super::tensor::{self, PyTensor};
use super::{conversion, convert};
use crate::base::Error;
use crate::core::node::{Hook, Sink};
use crate::core::{Edge, Tensor};
use crate::native;
use crate::rules::basis;
use crate::skin::{history, tape};
use crate::transforms::backward::Options;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

pub use crate::skin::tape::{is_leaf, requires_grad};

/// `requires_grad_(on)`
pub fn set_requires_grad(slf: Slf<'_, '_>, on: bool) -> PyResult<()> {
    let t = slf.get();
    let value = t.value();
    if requires_grad(&value) == on {
        if on {
            tape::check_outside("Tensor.requires_grad_()")?;
        }
        return Ok(());
    }
    let new = if on { tape::leaf(&value, t.gradient_box())? } else { tape::unleaf(&value)? };
    Ok(t.adopt(new)?)
}

/// Makes a tensor whose elements were replaced by others of another shape the leaf that it was.
pub fn retain_leaf(slf: Slf<'_, '_>, old: &Tensor) -> PyResult<()> {
    set_requires_grad(slf, requires_grad(old))
}

/// The `.grad` of a tensor.
pub fn gradient(t: &PyTensor) -> Option<Py<PyTensor>> {
    Python::attach(|py| grad_box(t)?.get(py))
}

/// Where the gradient is: with the object, or with the leaf that its value is.
fn grad_box(t: &PyTensor) -> Option<Arc<GradBox>> {
    t.known_gradient_box().or_else(|| {
        let e = tape::edge(&t.value())?;
        let sink = e.node.sink()?.clone();
        GradBox::of_sink(sink)
    })
}

fn set_gradient(slf: Slf<'_, '_>, value: Arg<'_, '_>) -> PyResult<()> {
    let Some(value) = value else {
        if let Some(b) = grad_box(slf.get()) {
            b.set(None);
        }
        return Ok(());
    };
    let Ok(g) = value.cast::<PyTensor>() else {
        let got = convert::type_name(&value);
        return Err(PyTypeError::new_err(format!("grad: assigned grad expected to be a Tensor or None but got {got}")));
    };
    if g.is(slf) {
        return Err(PyRuntimeError::new_err("grad: can't assign Variable as its own grad"));
    }
    let (own, new) = (slf.get().value(), g.get().value());
    if own.shape() != new.shape() || own.dtype() != new.dtype() {
        return Err(PyRuntimeError::new_err(format!(
            "grad: assigned grad has data of a different size or type: expected {} {}, got {} {}",
            own.dtype(),
            own.shape(),
            new.dtype(),
            new.shape()
        )));
    }
    let b = grad_box(slf.get()).unwrap_or_else(|| slf.get().gradient_box());
    b.set(Some(g.to_owned().unbind()));
    Ok(())
}

/// One tensor or several.
fn tensors(o: &Bound<'_, PyAny>, op: &str, name: &str) -> PyResult<Vec<Tensor>> {
    if let Some(t) = convert::tensor(o) {
        return Ok(vec![t]);
    }
    let wrong = |o: &Bound<'_, PyAny>| {
        let got = convert::type_name(o);
        PyTypeError::new_err(format!("{op}(): argument '{name}' expected Tensor or sequence of Tensors, got {got}"))
    };
    let items = o.try_iter().map_err(|_| wrong(o))?;
    items
        .map(|x| {
            let x = x?;
            convert::tensor(&x).ok_or_else(|| wrong(&x))
        })
        .collect()
}

/// As [`tensors`], where entries may be None.
fn optional_tensors(o: Arg<'_, '_>, op: &str, name: &str) -> PyResult<Vec<Option<Tensor>>> {
    let Some(o) = o else { return Ok(Vec::new()) };
    if let Some(t) = convert::tensor(&o) {
        return Ok(vec![Some(t)]);
    }
    o.try_iter()?
        .map(|x| {
            let x = x?;
            if x.is_none() {
                return Ok(None);
            }
            let got = || PyTypeError::new_err(format!("{op}(): argument '{name}' expected Tensors or None"));
            convert::tensor(&x).map(Some).ok_or_else(got)
        })
        .collect()
}

/// Edges of the tensors that gradients are wanted for.
fn targets(inputs: &[Tensor], op: &str) -> PyResult<Vec<Edge>> {
    let missing =
        || PyRuntimeError::new_err(format!("{op}(): One of the differentiated Tensors does not require grad"));
    inputs.iter().map(|x| tape::edge(x).ok_or_else(missing)).collect()
}

fn options(retain: Option<bool>, create_graph: bool) -> Options {
    Options { retain: retain.unwrap_or(create_graph), create_graph }
}

fn run_backward(outputs: Vec<Tensor>, seeds: Vec<Option<Tensor>>, o: Options, inputs: Arg<'_, '_>) -> PyResult<()> {
    tape::check_outside("Tensor.backward()")?;
    let roots = tape::roots("backward", &outputs, &seeds)?;
    drop((outputs, seeds));
    let Some(inputs) = inputs else { return Ok(tape::backward(roots, o)?) };
    let py = inputs.py();
    let objects: Vec<Bound<'_, PyTensor>> = match inputs.cast::<PyTensor>() {
        Ok(t) => vec![t.to_owned()],
        Err(_) => inputs.try_iter()?.map(|x| Ok(x?.cast_into::<PyTensor>()?)).collect::<PyResult<_>>()?,
    };
    if objects.is_empty() {
        return Err(PyRuntimeError::new_err("backward(): argument 'inputs' cannot be empty"));
    }
    let values: Vec<Tensor> = objects.iter().map(|o| o.get().value()).collect();
    let edges = targets(&values, "backward")?;
    let grads = tape::gradients(roots, &edges, o)?;
    for (object, g) in objects.iter().zip(grads) {
        if let Some(g) = g {
            grad_box(object.get()).unwrap_or_else(|| object.get().gradient_box()).add(py, &g, o.create_graph)?;
        }
    }
    Ok(())
}

/// Accumulates gradients of all leaves that `tensors` depend on.
#[pyfunction]
#[pyo3(name = "backward", signature = (tensors, grad_tensors=None, retain_graph=None, create_graph=false, inputs=None))]
fn backward_of(
    tensors: &Bound<'_, PyAny>,
    grad_tensors: Option<&Bound<'_, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    inputs: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let outputs = self::tensors(tensors, "backward", "tensors")?;
    let seeds = optional_tensors(grad_tensors.map(|g| g.as_borrowed()), "backward", "grad_tensors")?;
    if !seeds.is_empty() && seeds.len() != outputs.len() {
        return Err(PyRuntimeError::new_err(format!(
            "backward(): got {} tensors and {} gradients",
            outputs.len(),
            seeds.len()
        )));
    }
    run_backward(outputs, seeds, options(retain_graph, create_graph), inputs.map(|i| i.as_borrowed()))
}

/// Gradients of the sum of `outputs`, weighted by `grad_outputs`, with respect to `inputs`.
#[pyfunction]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, allow_unused=None,
    is_grads_batched=false, materialize_grads=false))]
#[allow(clippy::too_many_arguments)]
fn grad<'py>(
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    retain_graph: Option<bool>,
    create_graph: bool,
    allow_unused: Option<bool>,
    is_grads_batched: bool,
    materialize_grads: bool,
) -> PyResult<Bound<'py, PyTuple>> {
    let py = outputs.py();
    if materialize_grads && allow_unused == Some(false) {
        return Err(pyo3::exceptions::PyValueError::new_err(
            "grad(): Expected allow_unused to be True or not passed when materialize_grads=True",
        ));
    }
    let ys = tensors(outputs, "grad", "outputs")?;
    let xs = tensors(inputs, "grad", "inputs")?;
    let seeds = optional_tensors(grad_outputs.map(|g| g.as_borrowed()), "grad", "grad_outputs")?;
    let edges = targets(&xs, "grad")?;
    let o = options(retain_graph, create_graph);
    let grads = if is_grads_batched {
        tape::batched_gradients(&ys, &seeds, &edges, o)?
    } else {
        tape::gradients(tape::roots("grad", &ys, &seeds)?, &edges, o)?
    };
    drop((ys, seeds));
    let mut out = Vec::with_capacity(grads.len());
    for (i, (g, x)) in grads.into_iter().zip(&xs).enumerate() {
        out.push(match g {
            Some(g) => tensor::wrap(py, g)?.into_any(),
            None if materialize_grads => tensor::wrap(py, basis::full(x.shape(), x.dtype(), 0.0)?)?.into_any(),
            None if allow_unused == Some(true) => py.None().into_bound(py),
            None => return Err(tape::unused(i).into()),
        });
    }
    PyTuple::new(py, out)
}

/// Where the value hangs on a tape, for something that only makes sense there.
fn need_edge(slf: Slf<'_, '_>, problem: &str) -> PyResult<Edge> {
    tape::edge(&slf.get().value()).ok_or_else(|| PyRuntimeError::new_err(problem.to_string()))
}

/// A Python callable as a gradient hook.
fn hook(f: Py<PyAny>) -> Hook {
    Arc::new(move |g: &Tensor| {
        Python::attach(|py| {
            let out = f.bind(py).call1((tensor::wrap(py, g.clone()).map_err(super::errors::to_error)?,));
            let out = out.map_err(super::errors::to_error)?;
            if out.is_none() {
                return Ok(None);
            }
            match convert::tensor(&out) {
                Some(t) if t.shape() == g.shape() => Ok(Some(t)),
                Some(t) => Err(Error::runtime(format!(
                    "register_hook(): a hook changed the shape of the gradient from {} to {}",
                    g.shape(),
                    t.shape()
                ))),
                None => Err(Error::type_(format!(
                    "register_hook(): expected the hook to return a Tensor or None, got {}",
                    convert::type_name(&out)
                ))),
            }
        })
    })
}

native! { METHODS, ATTRIBUTES:
    /// Whether gradients are recorded from now on; gives the tensor itself.
    fn requires_grad_(slf, requires_grad = True) {
        set_requires_grad(slf, conversion::flag(requires_grad, true)?)?;
        Ok(slf.clone().into_any())
    }
    /// Accumulates the gradients of this tensor in the leaves that it depends on.
    fn backward(slf, gradient = None, retain_graph = None, create_graph = False, inputs = None) {
        let py = slf.py();
        let seeds = optional_tensors(gradient, "backward", "gradient")?;
        let retain = retain_graph.map(|r| r.is_truthy()).transpose()?;
        let o = options(retain, conversion::flag(create_graph, false)?);
        run_backward(vec![slf.get().value()], seeds, o, inputs)?;
        Ok(py.None().into_bound(py))
    }
    /// Leaves the history behind, in place.
    fn detach_(slf) {
        if slf.get().is_view() {
            return Err(PyRuntimeError::new_err(
                "detach_(): Can't detach views in-place. Use detach() instead",
            ));
        }
        let value = history::strip(&slf.get().value())?;
        slf.get().adopt(value)?;
        Ok(slf.clone().into_any())
    }
    /// Keeps the gradient of this tensor in `.grad` although it is not a leaf.
    fn retain_grad(slf) {
        let py = slf.py();
        let e = need_edge(slf, "retain_grad(): can't retain_grad on Tensor that has requires_grad=False")?;
        if !e.node.is_leaf() {
            let sink = slf.get().gradient_box();
            let mut retained = e.node.extra().retained.lock().unwrap_or_else(|e| e.into_inner());
            let known = |(slot, s): &(u32, Arc<dyn Sink>)| *slot == e.slot && std::ptr::addr_eq(Arc::as_ptr(s), Arc::as_ptr(&sink));
            if !retained.iter().any(known) {
                retained.push((e.slot, sink));
            }
        }
        Ok(py.None().into_bound(py))
    }
    /// Calls `hook(grad)` when the gradient of this tensor is known; what it returns, if anything, replaces the gradient.
    fn register_hook(slf, hook) {
        let e = need_edge(slf, "register_hook(): cannot register a hook on a tensor that doesn't require gradient")?;
        let f = callable(hook, "register_hook")?;
        let handle = Removable::add(&e, self::hook(f));
        Ok(Bound::new(slf.py(), handle)?.into_any())
    }
    /// Calls `hook(tensor)` each time that a gradient was added to this leaf's `.grad`.
    fn register_post_accumulate_grad_hook(slf, hook) {
        let problem = "register_post_accumulate_grad_hook(): cannot register a hook on a tensor that doesn't require gradient";
        let e = need_edge(slf, problem)?;
        if !e.node.is_leaf() {
            return Err(PyRuntimeError::new_err(
                "register_post_accumulate_grad_hook(): post accumulate grad hooks cannot be registered on non-leaf tensors",
            ));
        }
        let f = callable(hook, "register_post_accumulate_grad_hook")?;
        let b = grad_box(slf.get()).unwrap_or_else(|| slf.get().gradient_box());
        Ok(Bound::new(slf.py(), Removable::add_post(slf, b, f)?)?.into_any())
    }
    ~
    /// The gradient that `.backward()` accumulated, or None.
    get grad(slf) {
        let py = slf.py();
        Ok(match grad_box(slf.get()).and_then(|b| b.get(py)) {
            Some(g) => g.into_bound(py).into_any(),
            None => py.None().into_bound(py),
        })
    }
    set(slf, value) { set_gradient(slf, value) }
    ~
    /// The node of the operator that gave this tensor, or None.
    get grad_fn(slf) {
        let py = slf.py();
        match tape::edge(&slf.get().value()) {
            Some(e) if !e.node.is_leaf() => Ok(Bound::new(py, PyNode(e.node))?.into_any()),
            _ => Ok(py.None().into_bound(py)),
        }
    }
    ~
    /// Which output of its node this tensor is.
    get output_nr(slf) {
        let slot = tape::edge(&slf.get().value()).map_or(0, |e| e.slot);
        Ok(slot.into_pyobject(slf.py())?.into_any())
    }
    ~
    /// Whether `.grad` is kept although this is not a leaf.
    get retains_grad(slf) {
        let kept = tape::edge(&slf.get().value()).is_some_and(|e| {
            let retained = |x: &crate::core::node::Extra| !x.retained.lock().unwrap_or_else(|e| e.into_inner()).is_empty();
            !e.node.is_leaf() && e.node.extra_if_any().is_some_and(retained)
        });
        Ok(pyo3::types::PyBool::new(slf.py(), kept).to_owned().into_any())
    }
}

fn callable(f: Arg<'_, '_>, op: &str) -> PyResult<Py<PyAny>> {
    match f {
        Some(f) if f.is_callable() => Ok(f.to_owned().unbind()),
        _ => Err(PyTypeError::new_err(format!("{op}(): argument 'hook' must be callable"))),
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let autograd = super::submodule(m, "autograd")?;
    autograd.add_function(wrap_pyfunction!(backward_of, &autograd)?)?;
    autograd.add_function(wrap_pyfunction!(grad, &autograd)?)?;
    Ok(())
}
