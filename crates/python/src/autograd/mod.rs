//! `requires_grad`, `.grad`, `.backward()`, hooks: the tape as PyTorch users know it. Semantics are in [`pullback::skin::tape`].

pub mod arguments;
pub mod forward_ad;
pub mod grad_mode;
pub mod graph;
pub mod hooks;
pub mod levels;
pub mod saving;

use crate::autograd::hooks::Removable;
use crate::data::export;
use crate::descriptors;
use crate::door::descriptors;
use crate::door::descriptors::{Arg, Slf};
use crate::door::{callable, overrides};
use crate::function;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::tensor::gradient::Accumulator;
use crate::types::class;
use crate::types::errors::{self, PyResult};
use crate::types::flag;
use pullback::core::node::locked;
use pullback::core::{Edge, Tensor};
use pullback::dense::stack;
use pullback::rules::basis;
use pullback::skin::{history, slot, tape, write};
use pullback::transforms::backward::Options;
use pyo3::exceptions::{PyFutureWarning, PyRuntimeError, PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyList, PyTuple};

use crate::tensor::history::{grad_box, retain};
pub use crate::tensor::history::{gradient, is_required, make_leaf, retain_leaf, set_requires_grad};
pub use pullback::skin::tape::{is_leaf, requires_grad};

fn set_gradient(slf: Slf<'_, '_>, value: Arg<'_, '_>) -> PyResult<()> {
    let Some(value) = value else {
        if let Some(b) = grad_box(slf.get()) {
            b.set(None);
        }
        return Ok(());
    };
    let Ok(g) = value.cast::<PyTensor>() else {
        let got = class::type_name(&value);
        return Err(
            PyTypeError::new_err(short!("grad: assigned grad expected to be a Tensor or None but got {got}")).into()
        );
    };
    if g.is(slf) {
        return Err(PyRuntimeError::new_err("grad: can't assign Variable as its own grad").into());
    }
    let (own, new) = (slf.get().value(), g.get().value());
    if own.shape() != new.shape() || own.dtype() != new.dtype() {
        return Err(PyRuntimeError::new_err(short!(
            "grad: assigned grad has data of a different size or type: expected {} {}, got {} {}",
            own.dtype(),
            own.shape(),
            new.dtype(),
            new.shape()
        ))
        .into());
    }
    write::check_data("grad", &own, &new)?;
    let b = grad_box(slf.get()).unwrap_or_else(|| slf.get().gradient_box());
    b.set(Some(g.to_owned().unbind()));
    Ok(())
}

fn options(retain: Option<bool>, create_graph: bool) -> Options {
    Options { retain: retain.unwrap_or(create_graph), create_graph }
}

/// How a sweep runs inside of a custom function's backward, which says so or is told.
fn traced(o: Options, outputs: &[Tensor]) -> Options {
    if o.create_graph {
        return o;
    }
    function::computed(outputs);
    Options { create_graph: function::is_derived(), ..o }
}

fn run_backward(outputs: Vec<Tensor>, seeds: Vec<Option<Tensor>>, o: Options, inputs: Arg<'_, '_>) -> PyResult<()> {
    if o.create_graph {
        pullback::warn_once!(
            "Using backward() with create_graph=True will create a reference cycle between the parameter and \
            its gradient. Use autograd.grad() for such graphs, or set .grad to None after use."
        )?;
    }
    if !function::check_reach(&outputs)? {
        tape::check_outside("Tensor.backward()")?;
    }
    let o = traced(o, &outputs);
    let roots = tape::roots("backward", &outputs, &seeds)?;
    drop((outputs, seeds));
    let Some(inputs) = inputs else { return Ok(tape::backward(roots, o)?) };
    let targets = arguments::targets(&inputs, "backward")?;
    let mut edges = Vec::with_capacity(targets.len());
    for target in targets {
        let edge = target.edge("backward")?;
        // An edge of an operator has no `.grad`: its hooks run, as those of a tensor do.
        if let Some(object) = target.object.filter(|_| !edge.node.is_leaf()) {
            let held = grad_box(object.get()).unwrap_or_else(|| object.get().gradient_box());
            retain(&edge, &held);
        }
        edges.push(edge);
    }
    Ok(tape::backward_to(roots, &edges, o)?)
}

/// Accumulates gradients of all leaves that `tensors` depend on, or only of `inputs`, in their `.grad`.
///
/// `tensors` and `inputs` are tensors or gradient edges, alone or in sequences; `grad_tensors` has one gradient for each
/// of `tensors`, which scalars do not need. Raises RuntimeError for tensors without history, and for a graph whose saved
/// tensors are freed because `retain_graph` was not given before.
///
/// >>> import pullback
/// >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
/// >>> pullback.autograd.backward([x.sum(), (x * x).sum()])
/// >>> x.grad
/// tensor([3., 5.])
#[pyfunction]
#[pyo3(name = "backward", signature = (tensors, grad_tensors=None, retain_graph=None, create_graph=false,
    grad_variables=None, inputs=None))]
fn backward_of<'py>(
    tensors: &Bound<'py, PyAny>,
    grad_tensors: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = flag::choice)] retain_graph: Option<bool>,
    #[pyo3(from_py_with = flag::truth)] create_graph: bool,
    grad_variables: Option<&Bound<'py, PyAny>>,
    inputs: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    stack::check()?;
    let py = tensors.py();
    let given = || {
        Ok([
            ("grad_tensors", or_none(py, grad_tensors)),
            ("retain_graph", choice(py, retain_graph)),
            ("create_graph", choice(py, Some(create_graph))),
            ("grad_variables", or_none(py, grad_variables)),
            ("inputs", or_none(py, inputs)),
        ])
    };
    if let Some(out) = callable::asked_with(py, "autograd.backward", &[tensors], inputs, given) {
        return out;
    }
    if grad_tensors.is_some() && grad_variables.is_some() {
        return Err(PyRuntimeError::new_err(
            "backward(): `grad_tensors` and `grad_variables` (deprecated) arguments both passed to backward(). Please \
             only use `grad_tensors`.",
        )
        .into());
    }
    function::look(tensors.py())?;
    let outputs = arguments::tensors(tensors, "backward", "tensors")?;
    let given = grad_tensors.or(grad_variables).map(|g| g.as_borrowed());
    let seeds = arguments::optional_tensors(given, "backward", "grad_tensors")?;
    if !seeds.is_empty() && seeds.len() != outputs.len() {
        return Err(PyRuntimeError::new_err(short!(
            "backward(): got {} tensors and {} gradients",
            outputs.len(),
            seeds.len()
        ))
        .into());
    }
    run_backward(outputs, seeds, options(retain_graph, create_graph), inputs.map(|i| i.as_borrowed()))?;
    Ok(py.None().into_bound(py))
}

/// What somebody else answers to `grad`, who is shown the outputs and inputs as tuples.
#[inline(always)]
fn asked_of_sequences<'py, const N: usize>(
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    options: impl FnOnce() -> PyResult<[(&'static str, Bound<'py, PyAny>); N]>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let py = outputs.py();
    if !callable::is_asked(py, &[outputs, inputs]) {
        return None;
    }
    match sequence(outputs).and_then(|o| Ok((o, sequence(inputs)?))) {
        Ok((outputs, inputs)) => callable::asked_with(py, "autograd.grad", &[&outputs, &inputs], None, options),
        Err(e) => Some(Err(e)),
    }
}

/// What a class is shown of one object or a list of some: a tuple.
#[cold]
fn sequence<'py>(o: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let tuple = match o.cast::<PyList>() {
        Ok(list) => list.to_tuple(),
        Err(_) if o.is_instance_of::<PyTuple>() => return Ok(o.clone()),
        Err(_) => PyTuple::new(o.py(), [o])?,
    };
    Ok(tuple.into_any())
}

fn or_none<'py>(py: Python<'py>, given: Option<&Bound<'py, PyAny>>) -> Bound<'py, PyAny> {
    given.map_or_else(|| py.None().into_bound(py), Bound::clone)
}

fn choice(py: Python<'_>, given: Option<bool>) -> Bound<'_, PyAny> {
    given.map_or_else(|| py.None().into_bound(py), |b| PyBool::new(py, b).to_owned().into_any())
}

/// Gradients of the sum of `outputs`, weighted by `grad_outputs`, with respect to `inputs`, as a tuple.
///
/// `outputs` and `inputs` are tensors or gradient edges, alone or in sequences. With `is_grads_batched` the gradients
/// have a batch dimension in front, and so have the results. An input that no output depends on is an error unless
/// `allow_unused`, which gives None for it, or `materialize_grads`, which gives zeros.
///
/// >>> import pullback
/// >>> x = pullback.tensor([1.0, 2.0], requires_grad=True)
/// >>> pullback.autograd.grad((x**3).sum(), x)
/// (tensor([ 3., 12.]),)
#[pyfunction]
#[pyo3(signature = (outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=false, only_inputs=true,
    allow_unused=None, is_grads_batched=false, materialize_grads=false))]
#[allow(clippy::too_many_arguments)]
fn grad<'py>(
    outputs: &Bound<'py, PyAny>,
    inputs: &Bound<'py, PyAny>,
    grad_outputs: Option<&Bound<'py, PyAny>>,
    #[pyo3(from_py_with = flag::choice)] retain_graph: Option<bool>,
    #[pyo3(from_py_with = flag::truth)] create_graph: bool,
    #[pyo3(from_py_with = flag::truth)] only_inputs: bool,
    #[pyo3(from_py_with = flag::choice)] allow_unused: Option<bool>,
    #[pyo3(from_py_with = flag::truth)] is_grads_batched: bool,
    #[pyo3(from_py_with = flag::truth)] materialize_grads: bool,
) -> PyResult<Bound<'py, PyAny>> {
    stack::check()?;
    let py = outputs.py();
    let given = || {
        Ok([
            ("grad_outputs", or_none(py, grad_outputs)),
            ("retain_graph", choice(py, retain_graph)),
            ("create_graph", choice(py, Some(create_graph))),
            ("only_inputs", choice(py, Some(only_inputs))),
            ("allow_unused", choice(py, allow_unused)),
            ("is_grads_batched", choice(py, Some(is_grads_batched))),
            ("materialize_grads", choice(py, Some(materialize_grads))),
        ])
    };
    if let Some(out) = asked_of_sequences(outputs, inputs, given) {
        return out;
    }
    if materialize_grads && allow_unused == Some(false) {
        return Err(PyValueError::new_err(
            "grad(): Expected allow_unused to be True or not passed when materialize_grads=True, but got: False.",
        )
        .into());
    }
    if !only_inputs {
        warn_of_only_inputs(py)?;
    }
    function::look(py)?;
    let ys = arguments::tensors(outputs, "grad", "outputs")?;
    let given = arguments::optional_tensors(grad_outputs.map(|g| g.as_borrowed()), "grad", "grad_outputs")?;
    if !given.is_empty() && given.len() != ys.len() {
        return Err(
            PyRuntimeError::new_err(short!("grad(): got {} tensors and {} gradients", ys.len(), given.len())).into()
        );
    }
    let targets = arguments::targets(inputs, "grad")?;
    let edges = targets.iter().map(|t| t.edge("grad")).collect::<PyResult<Vec<_>>>()?;
    let o = options(retain_graph, create_graph);
    let o = traced(o, &ys);
    let grads = if is_grads_batched {
        tape::batched_gradients(&ys, &given, &edges, o)?
    } else if function::open_tape().is_some() {
        tape::gradients_of_tapes(&ys, &given, &edges, o)?
    } else {
        tape::gradients(tape::roots("grad", &ys, &given)?, &edges, o)?
    };
    drop((ys, given));
    let zeros = materialize_grads.then_some(create_graph);
    check_zeros(zeros, &targets, &grads)?;
    results(py, grads, &edges, allow_unused == Some(true), zeros)
}

/// An error where zeros are asked for in place of the gradient of an edge.
fn check_zeros(zeros: Option<bool>, targets: &[arguments::Target<'_>], grads: &[Option<Tensor>]) -> PyResult<()> {
    if zeros.is_none() || targets.iter().zip(grads).all(|(t, g)| t.object.is_some() || g.is_some()) {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "grad(): materialize_grads cannot be used when the given input is a GradientEdge; give the tensor instead",
    )
    .into())
}

#[cold]
fn warn_of_only_inputs(py: Python<'_>) -> PyResult<()> {
    let text = "only_inputs argument is deprecated and is ignored now (defaults to True). To accumulate gradient for \
        other parts of the graph, please use autograd.backward.";
    errors::warn::<PyFutureWarning>(py, text)
}

/// Gradients as a tuple. `zeros`: to write them out, and whether they require grad.
fn results<'py>(
    py: Python<'py>,
    grads: Vec<Option<Tensor>>,
    edges: &[Edge],
    allow_unused: bool,
    zeros: Option<bool>,
) -> PyResult<Bound<'py, PyAny>> {
    let mut out = Vec::with_capacity(grads.len());
    for (i, (g, e)) in grads.into_iter().zip(edges).enumerate() {
        let meta = &e.node.metas[e.slot as usize];
        out.push(match (g, zeros) {
            (Some(g), _) if g.innermost().is_some_and(|a| a.is_plain()) => tensor::wrap(py, g)?.into_any(),
            (Some(g), _) => tensor::wrap(py, slot::forward(g)?)?.into_any(),
            (None, Some(follow)) => {
                let zeros = tensor::wrap(py, basis::full(&meta.shape, meta.dtype, 0.0)?)?;
                // As a gradient of the graph that is asked for, it can be differentiated again.
                set_requires_grad(&zeros, follow && meta.dtype.is_differentiable())?;
                zeros.into_any()
            }
            (None, None) if allow_unused => py.None().into_bound(py),
            (None, None) => return Err(tape::unused(i).into()),
        });
    }
    Ok(PyTuple::new(py, out)?.into_any())
}

/// Where the value hangs on a tape, for something that only makes sense there.
fn need_edge(slf: Slf<'_, '_>, problem: &str) -> PyResult<Edge> {
    function::look(slf.py())?;
    Ok(tape::edge(&slf.get().value()).ok_or_else(|| PyRuntimeError::new_err(problem.to_string()))?)
}

descriptors! { METHODS, ATTRIBUTES:
    /// Whether gradients are recorded from now on; gives the tensor itself.
    fn requires_grad_(slf, requires_grad = True) {
        set_requires_grad(slf, export::flag(requires_grad, true)?)?;
        Ok(slf.clone().into_any())
    }
    /// Accumulates the gradients of this tensor in the leaves that it depends on.
    fn backward(slf, gradient = None, retain_graph = None, create_graph = False, inputs = None) {
        let py = slf.py();
        function::look(py)?;
        let seeds = arguments::optional_tensors(gradient, "backward", "gradient")?;
        let retain = retain_graph.map(|r| r.is_truthy()).transpose()?;
        let o = options(retain, export::flag(create_graph, false)?);
        run_backward(vec![slf.get().value()], seeds, o, inputs)?;
        Ok(py.None().into_bound(py))
    }
    /// Whether the tensor was made in inference mode.
    fn is_inference(slf) {
        Ok(pyo3::types::PyBool::new(slf.py(), slf.get().is_inference()).to_owned().into_any())
    }
    /// Leaves the history behind, in place.
    fn detach_(slf) {
        if slf.get().is_view() {
            return Err(PyRuntimeError::new_err(
                "detach_(): Can't detach views in-place. Use detach() instead",
            ).into());
        }
        let value = history::strip(&slf.get().value())?;
        slf.get().adopt(value)?;
        Ok(slf.clone().into_any())
    }
    /// Keeps the gradient of this tensor in `.grad` although it is not a leaf.
    fn retain_grad(slf) {
        let py = slf.py();
        tape::check_outside("Tensor.retain_grad()")?;
        let e = need_edge(slf, "retain_grad(): can't retain_grad on Tensor that has requires_grad=False")?;
        if !e.node.is_leaf() {
            retain(&e, &slf.get().gradient_box());
        }
        Ok(py.None().into_bound(py))
    }
    /// Calls `hook(grad)` when the gradient of this tensor is known; what it returns, if anything, replaces the gradient.
    fn register_hook(slf, hook) {
        let e = need_edge(slf, "register_hook(): cannot register a hook on a tensor that doesn't require gradient")?;
        let f = callable(hook, "register_hook")?;
        let handle = Removable::add(&e, f);
        Ok(Bound::new(slf.py(), handle)?.into_any())
    }
    /// Calls `hook(tensor)` each time that a gradient was added to this leaf's `.grad`.
    fn register_post_accumulate_grad_hook(slf, hook) {
        let problem = "register_post_accumulate_grad_hook(): cannot register a hook on a tensor that doesn't require gradient";
        let e = need_edge(slf, problem)?;
        if !e.node.is_leaf() {
            return Err(PyRuntimeError::new_err(
                "register_post_accumulate_grad_hook(): post accumulate grad hooks cannot be registered on non-leaf tensors",
            ).into());
        }
        let f = callable(hook, "register_post_accumulate_grad_hook")?;
        let Some(accumulator) = Accumulator::of_node(&e.node) else {
            return Err(PyRuntimeError::new_err(short!("{problem}: it is an argument of a function under grad or vjp")).into());
        };
        Ok(Bound::new(slf.py(), Removable::add_post(&e.node, accumulator, f))?.into_any())
    }
    ~
    /// The gradient that `.backward()` accumulated, or None.
    get grad(slf) {
        let py = slf.py();
        Ok(match grad_box(slf.get()).and_then(|b| b.get(py)) {
            Some(g) => g.into_bound(py).into_any(),
            None => {
                warn_of_non_leaf(slf)?;
                py.None().into_bound(py)
            }
        })
    }
    set(slf, value) { Ok(set_gradient(slf, value)?) }
    ~
    /// The gradient, as `grad`; reading it where none will ever be gives no warning.
    get _grad(slf) {
        let py = slf.py();
        let known = grad_box(slf.get()).and_then(|b| b.get(py));
        Ok(known.map_or_else(|| py.None().into_bound(py), |g| g.into_bound(py).into_any()))
    }
    set(slf, value) { Ok(set_gradient(slf, value)?) }
    ~
    /// The node of the operator that gave this tensor, or None.
    get grad_fn(slf) { node_of(slf) }
    ~
    /// The node of the operator that gave this tensor, or None, as `grad_fn`.
    get _grad_fn(slf) { node_of(slf) }
    set(_slf, _value) { Err(PyRuntimeError::new_err("_grad_fn: can't be assigned; use detach_() to leave the history behind")) }
    ~
    /// The hooks of `register_hook` by the number of their handle, or None.
    get _backward_hooks(slf) { hooks_of(slf) }
    set(_slf, _value) {
        Err(PyRuntimeError::new_err(
            "_backward_hooks: can't be assigned; add hooks with register_hook(), and take them away with the handle's remove()",
        ))
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
            let retained = |x: &pullback::core::node::Extra| locked(&x.retained).iter().any(|(slot, _)| *slot == e.slot);
            !e.node.is_leaf() && e.node.extra_if_any().is_some_and(retained)
        });
        Ok(pyo3::types::PyBool::new(slf.py(), kept).to_owned().into_any())
    }
}

fn node_of<'py>(slf: Slf<'_, 'py>) -> descriptors::Out<'py> {
    let py = slf.py();
    function::look(slf.py())?;
    match tape::edge(&slf.get().value()) {
        Some(e) if !e.node.is_leaf() => graph::object(py, &e.node),
        _ => Ok(py.None().into_bound(py)),
    }
}

fn hooks_of<'py>(slf: Slf<'_, 'py>) -> descriptors::Out<'py> {
    let py = slf.py();
    let found = PyDict::new(py);
    if let Some(e) = tape::edge(&slf.get().value())
        && let Some(extra) = e.node.extra_if_any()
    {
        let hooks: Vec<_> = locked(&extra.hooks).iter().filter(|h| h.1 == e.slot).map(|h| (h.0, h.2.clone())).collect();
        for (id, hook) in hooks {
            if let Some(f) = hook.as_any().downcast_ref::<Py<PyAny>>() {
                found.set_item(id, f.bind(py))?;
            }
        }
    }
    Ok(if found.is_empty() { py.None().into_bound(py) } else { found.into_any() })
}

/// A program that reads `.grad` where none will ever be is told so.
fn warn_of_non_leaf(slf: Slf<'_, '_>) -> PyResult<()> {
    let Some(e) = tape::edge(&slf.get().value()) else { return Ok(()) };
    if e.node.is_leaf() || e.node.extra_if_any().is_some_and(|x| !locked(&x.retained).is_empty()) {
        return Ok(());
    }
    let text = "The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be \
        populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf Tensor, \
        use .retain_grad() on the non-leaf Tensor.";
    errors::warn::<PyUserWarning>(slf.py(), text)
}

fn callable(f: Arg<'_, '_>, op: &str) -> PyResult<Py<PyAny>> {
    match f {
        Some(f) if f.is_callable() => Ok(f.to_owned().unbind()),
        _ => Err(PyTypeError::new_err(short!("{op}(): argument 'hook' must be callable")).into()),
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let autograd = crate::types::submodule(m, "autograd")?;
    overrides::add_asking(&autograd, wrap_pyfunction!(backward_of, &autograd)?)?;
    overrides::add_asking(&autograd, wrap_pyfunction!(grad, &autograd)?)?;
    Ok(())
}
