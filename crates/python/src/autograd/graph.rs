//! Nodes of the tape as Python objects: `grad_fn`.

use crate::autograd::hooks::Removable;
use crate::autograd::saving;
use crate::data::marshal;
use crate::door::descriptors::Out;
use crate::process::object;
use crate::tensor::gc::Visitor;
use crate::tensor::gradient::Accumulator;
use crate::tensor::upward;
use crate::types::class;
use crate::types::errors::PyResult;
use crate::{autograd, function, tensor};
use pullback::core::node::{Link, Meta, locked};
use pullback::core::tensor::Payload;
use pullback::core::{Node, Tensor};
use pullback::rules::basis;
use pullback::transforms::backward;
use pyo3::basic::CompareOp;
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyDict, PyTuple, PyType, PyWeakrefReference};
use std::any::Any;
use std::cell::RefCell;
use std::sync::{Arc, Mutex, OnceLock};

/// What a node keeps for Python.
#[derive(Default)]
pub struct Hosted {
    /// The node's object, while it lives.
    object: Mutex<Option<Py<PyWeakrefReference>>>,
    metadata: OnceLock<Py<PyDict>>,
    /// The name of its class, where a Python function made it in steps.
    name: OnceLock<String>,
}

thread_local! {
    /// The node whose object is being made.
    static MADE: RefCell<Option<Arc<Node>>> = const { RefCell::new(None) };
}

impl Hosted {
    pub fn visit(&self, visitor: &mut Visitor<'_>) {
        if let Some(metadata) = self.metadata.get() {
            visitor.object(metadata);
        }
        if let Ok(object) = self.object.try_lock()
            && let Some(object) = &*object
        {
            visitor.object(object);
        }
    }
}

fn hosted(node: &Node) -> Option<&Hosted> {
    node.extra().host.get_or_init(|| Box::new(Hosted::default())).downcast_ref()
}

/// The class of nodes of this name, such as `MulBackward0`: a subclass of `Node`.
fn class<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    static CLASSES: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let known = CLASSES.get_or_init(py, || PyDict::new(py).unbind()).bind(py);
    if let Some(found) = known.get_item(name)? {
        return Ok(found);
    }
    let namespace = PyDict::new(py);
    namespace.set_item("__slots__", PyTuple::empty(py))?;
    namespace.set_item("__module__", "pullback.autograd.graph")?;
    let made = py.get_type::<PyType>().call1((name, (py.get_type::<PyNode>(),), namespace))?;
    known.set_item(name, &made)?;
    Ok(made)
}

/// The name of a node's class.
pub fn class_name(node: &Node) -> String {
    let host = node.extra_if_any().and_then(|extra| extra.host.get());
    let kept: Option<&Hosted> = host.and_then(|h| h.downcast_ref());
    kept.and_then(|kept| kept.name.get()).cloned().unwrap_or_else(|| node.class())
}

/// Calls the node of a tensor so, if it has one.
#[pyfunction]
fn _name_node(tensor: &Bound<'_, PyAny>, name: &str) {
    if let Some(t) = marshal::tensor(tensor)
        && let Some(Payload::Taped { node, .. }) = t.payload()
        && let Some(kept) = hosted(node)
    {
        kept.name.get_or_init(|| name.into());
    }
}

/// The class of nodes of this name.
#[pyfunction]
fn _node_class<'py>(py: Python<'py>, name: &str) -> Out<'py> {
    class(py, name)
}

/// The object of a node, always the same while it lives.
pub fn object<'py>(py: Python<'py>, node: &Arc<Node>) -> Out<'py> {
    let kept = hosted(node);
    if let Some(kept) = kept {
        let known = locked(&kept.object).as_ref().map(|r| r.clone_ref(py));
        if let Some(object) = known.and_then(|r| r.bind(py).upgrade()) {
            return Ok(object);
        }
    }
    let class = class(py, &class_name(node))?;
    MADE.set(Some(node.clone()));
    let object = class.call0()?;
    if let Some(kept) = kept {
        let reference = PyWeakrefReference::new(&object)?.unbind();
        let before = locked(&kept.object).replace(reference);
        drop(before);
    }
    Ok(object)
}

/// A recorded operator: what `grad_fn` of a tensor is. It keeps the graph below it alive.
#[pyclass(frozen, subclass, weakref, name = "Node", module = "pullback.autograd.graph")]
pub struct PyNode(pub Arc<Node>);

#[pymethods]
impl PyNode {
    #[new]
    fn new() -> PyResult<PyNode> {
        let node = MADE.take();
        Ok(node.map(PyNode).ok_or_else(|| PyTypeError::new_err("Node(): nodes are made by recording operators"))?)
    }
    /// The operator's name, such as `MulBackward0`.
    fn name(&self) -> String {
        class_name(&self.0)
    }
    /// The nodes of the inputs, each with the number of the output that was used; (None, 0) for inputs without gradient.
    #[getter]
    fn next_functions<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let items = self.0.edges.iter().map(|e| match e {
            Some(e) => Ok((object(py, &e.node)?, e.slot).into_pyobject(py)?),
            None => Ok((py.None().into_bound(py), 0).into_pyobject(py)?),
        });
        Ok(PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?)
    }
    /// A dictionary for whatever the program wants to keep with the node.
    #[getter]
    fn metadata<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        // Made before the lock is taken: making it may run the collector, and with it any code.
        let made = PyDict::new(py).unbind();
        match hosted(&self.0) {
            Some(kept) => Ok(kept.metadata.get_or_init(|| made).bind(py).clone()),
            None => Err(PyRuntimeError::new_err("metadata: the node belongs to another language").into()),
        }
    }
    /// Calls `fn(grad_inputs, grad_outputs)` after the node has run; a tuple that it returns replaces `grad_inputs`.
    #[pyo3(signature = (r#fn))]
    fn register_hook(&self, r#fn: &Bound<'_, PyAny>) -> PyResult<Removable> {
        Ok(Removable::add_to_node(&self.0, callable(r#fn, "register_hook")?, false))
    }
    /// Calls `fn(grad_outputs)` before the node runs; a tuple that it returns replaces `grad_outputs`.
    #[pyo3(signature = (r#fn))]
    fn register_prehook(&self, r#fn: &Bound<'_, PyAny>) -> PyResult<Removable> {
        Ok(Removable::add_to_node(&self.0, callable(r#fn, "register_prehook")?, true))
    }
    /// The gradients of the node's inputs for the given ones of its outputs, without going further: a tensor or None, or
    /// a tuple of them if there are several inputs.
    #[pyo3(signature = (*grad_outputs))]
    fn __call__<'py>(&self, py: Python<'py>, grad_outputs: &Bound<'py, PyTuple>) -> Out<'py> {
        let given = self.cotangents(grad_outputs)?;
        let found = backward::pass_one(&self.0, &given)?;
        let mut objects = Vec::with_capacity(found.len());
        for g in found {
            objects.push(match g {
                Some(g) => tensor::wrap(py, g)?.into_any(),
                None => py.None().into_bound(py),
            });
        }
        match <[_; 1]>::try_from(objects) {
            Ok([only]) => Ok(only),
            Err(all) => Ok(PyTuple::new(py, all)?.into_any()),
        }
    }
    /// A number that grows with time.
    fn _sequence_nr(&self) -> u64 {
        self.0.seq
    }
    /// The leaf's tensor (`variable`), what the node saved (`_saved_self`, `_saved_other`, `_saved_result`), and all that
    /// the ctx of a custom function has, such as `saved_tensors`.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> Out<'py> {
        if name == "variable"
            && let Some(a) = Accumulator::of_node(&self.0)
        {
            return match a.variable(py, &self.0)? {
                Some(t) => Ok(t.into_any()),
                None => Ok(py.None().into_bound(py)),
            };
        }
        let place = match name {
            "_saved_self" | "_saved_input" => Some((true, 0)),
            "_saved_other" => Some((true, 1)),
            "_saved_result" => Some((false, 0)),
            _ => None,
        };
        let found = match place {
            Some(p) => self.saved(py, p)?,
            None => function::attribute(py, &self.0, name)?,
        };
        match found {
            Some(found) => Ok(found),
            None => {
                Err(PyAttributeError::new_err(short!("'{}' object has no attribute '{name}'", self.0.class())).into())
            }
        }
    }
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        if object::is_null(&self.0) { Ok(()) } else { node_reach(self, visit) }
    }
    fn __repr__(slf: &Bound<'_, Self>) -> String {
        format!("<{} object at {:p}>", class_name(&slf.get().0), slf.as_ptr())
    }
    fn __richcmp__<'py>(slf: &Bound<'py, Self>, other: &Bound<'py, PyAny>, op: CompareOp) -> Out<'py> {
        let py = slf.py();
        let Ok(other) = other.cast::<PyNode>() else { return Ok(py.NotImplemented().into_bound(py)) };
        let same = Arc::ptr_eq(&slf.get().0, &other.get().0);
        match op {
            CompareOp::Eq => Ok(PyBool::new(py, same).to_owned().into_any()),
            CompareOp::Ne => Ok(PyBool::new(py, !same).to_owned().into_any()),
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }
    fn __hash__(&self) -> isize {
        (Arc::as_ptr(&self.0) as isize) >> 4
    }
}

impl PyNode {
    /// One gradient for each output, in its dtype.
    fn cotangents(&self, given: &Bound<'_, PyTuple>) -> PyResult<Vec<Option<Tensor>>> {
        let (name, metas) = (self.0.class(), &self.0.metas);
        if given.len() != metas.len() {
            let (n, got) = (metas.len(), given.len());
            return Err(
                PyTypeError::new_err(short!("{name}(): expected {n} gradients of its outputs, got {got}")).into()
            );
        }
        let one = |(i, (o, meta)): (usize, (Bound<'_, PyAny>, &Meta))| -> PyResult<Option<Tensor>> {
            if o.is_none() {
                return Ok(None);
            }
            let Some(g) = marshal::tensor(&o) else {
                let got = class::type_name(&o);
                return Err(
                    PyTypeError::new_err(short!("{name}(): gradient {i} must be a Tensor or None, got {got}")).into()
                );
            };
            if g.shape() != &meta.shape {
                return Err(PyRuntimeError::new_err(short!(
                    "{name}(): gradient {i} has shape {}, and the output that it belongs to {}",
                    g.shape(),
                    meta.shape
                ))
                .into());
            }
            Ok(Some(basis::cast(&g, meta.dtype)?))
        };
        given.iter().zip(metas.iter()).enumerate().map(one).collect()
    }

    /// A saved input or output, with its history.
    fn saved<'py>(&self, py: Python<'py>, place: (bool, u32)) -> PyResult<Option<Bound<'py, PyAny>>> {
        let found = {
            let saved = self.0.saved();
            if saved.freed {
                return Err(PyRuntimeError::new_err(short!(
                    "{}: Trying to backward through the graph a second time (or directly access saved tensors after \
                     they have already been freed). Specify retain_graph=True",
                    self.0.class()
                ))
                .into());
            }
            saved.residuals.iter().find(|r| matches!((r.link(), place), (Link::Input(i), (true, p)) | (Link::Output(i), (false, p)) if *i == p)).cloned()
        };
        let Some(residual) = found else { return Ok(None) };
        let value = residual.value(self.0.name())?;
        Ok(Some(tensor::wrap(py, self.0.relink(residual.link(), value))?.into_any()))
    }
}

/// Any object: one that cannot be called is an error when its turn comes.
fn callable(f: &Bound<'_, PyAny>, op: &str) -> PyResult<Py<PyAny>> {
    if !f.is_none() {
        return Ok(f.clone().unbind());
    }
    Err(PyTypeError::new_err(short!("{op}(): argument 'fn' must be callable, got {}", class::type_name(f))).into())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let _ = upward::SHOWS[0].set(show);
    autograd::register(m)?;
    saving::register(m)?;
    let graph = crate::types::submodule(m, "autograd.graph")?;
    graph.add_function(wrap_pyfunction!(_node_class, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_name_node, &graph)?)?;
    Ok(graph.add_class::<PyNode>()?)
}

/// For the traversal of a node's object.
fn node_reach(node: &PyNode, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
    let mut visitor = Visitor::new(visit);
    visitor.walk(|reach| reach.node(&node.0));
    visitor.finish()
}

/// Shows the collector what the host of a node, or a packed value, holds.
pub fn show(held: &dyn Any, visitor: &mut Visitor<'_>) -> bool {
    if let Some(packed) = held.downcast_ref::<saving::PyPacked>() {
        visitor.object(&packed.object);
        if Arc::strong_count(&packed.unpack) == 1 {
            visitor.object(&packed.unpack);
        }
        return true;
    }
    let hosted = held.downcast_ref::<Hosted>();
    if let Some(hosted) = hosted {
        hosted.visit(visitor);
    }
    hosted.is_some()
}
