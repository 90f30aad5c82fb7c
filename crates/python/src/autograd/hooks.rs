//! Hooks of gradients and nodes, and handles that remove them.

use crate::data::marshal;
use crate::tensor;
use crate::tensor::gradient::Accumulator;
use crate::types::class;
use crate::types::errors;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::base::Result;
use pullback::core::node::{GradHook, Node, NodeHook, locked};
use pullback::core::{Edge, Tangents, Tensor};
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyTuple, PyWeakrefMethods, PyWeakrefReference};
use std::any::Any;
use std::cell::RefCell;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

const REGISTER: &str = "register_hook()";
static NEXT: AtomicU64 = AtomicU64::new(1);

/// A Python callable as a hook.
pub struct HookFunction(pub Py<PyAny>);

impl HookFunction {
    fn replacement(&self, py: Python<'_>, out: &Bound<'_, PyAny>, like: Option<&Tensor>) -> PyResult<Option<Tensor>> {
        if out.is_none() {
            return Ok(None);
        }
        let Some(t) = marshal::tensor(out) else {
            return Err(PyTypeError::new_err(short!(
                "{}: expected Variable, but hook returned '{}'; return a Tensor or None",
                REGISTER,
                class::type_name(out)
            ))
            .into());
        };
        match like {
            Some(g) if g.shape() != t.shape() => Err(PyRuntimeError::new_err(short!(
                "{}: hook '{}' has changed the size of value: the gradient has shape {}, and it returned {}",
                REGISTER,
                self.callable(py)?,
                g.shape(),
                t.shape()
            ))
            .into()),
            Some(g) if g.dtype() != t.dtype() => Err(PyRuntimeError::new_err(short!(
                "{}: hook '{}' has changed the type of value: the gradient is {}, and it returned {}",
                REGISTER,
                self.callable(py)?,
                g.dtype(),
                t.dtype()
            ))
            .into()),
            _ => Ok(Some(t)),
        }
    }

    fn callable(&self, py: Python<'_>) -> PyResult<String> {
        match self.0.bind(py).getattr_opt("__name__")? {
            Some(name) => raised::str_of(&name),
            None => Ok(class::type_name(self.0.bind(py))),
        }
    }

    /// The hook of a node, which may be any object until it is called.
    fn checked<'py>(&self, py: Python<'py>) -> PyResult<&Bound<'py, PyAny>> {
        let f = self.0.bind(py);
        if f.is_callable() {
            return Ok(f);
        }
        let got = class::type_name(f);
        Err(PyTypeError::new_err(short!("{REGISTER}: a hook of a node must be callable, got an object of type {got}"))
            .into())
    }

    /// A tuple of gradients that a node's hook returned instead of `like`.
    fn replacements(
        &self,
        py: Python<'_>,
        out: &Bound<'_, PyAny>,
        like: &[Option<Tensor>],
    ) -> PyResult<Option<Tangents>> {
        if out.is_none() {
            return Ok(None);
        }
        let items: Vec<Bound<'_, PyAny>> = match out.cast::<PyTuple>() {
            Ok(t) => t.iter().collect(),
            Err(_) if like.len() == 1 => vec![out.clone()],
            Err(_) => {
                let got = class::type_name(out);
                return Err(PyTypeError::new_err(short!(
                    "{}: expected the hook to return None or a tuple of {} Tensors, got {got}",
                    REGISTER,
                    like.len()
                ))
                .into());
            }
        };
        if items.len() != like.len() {
            return Err(PyRuntimeError::new_err(short!(
                "{}: hook '{}' has returned an incorrect number of values (got {}, but expected {})",
                REGISTER,
                self.callable(py)?,
                items.len(),
                like.len()
            ))
            .into());
        }
        items.iter().zip(like).map(|(o, g)| self.replacement(py, o, g.as_ref())).collect::<PyResult<_>>().map(Some)
    }
}

thread_local! {
    /// Weak references to the objects that hooks were given last.
    static GIVEN: RefCell<Vec<Py<PyWeakrefReference>>> = const { RefCell::new(Vec::new()) };
}
/// As many gradients as hooks of one place commonly get.
const REMEMBERED: usize = 8;

/// The object of a gradient: the one that a hook before this got and that is still held, or a new one. Hooks leave
/// attributes there for each other.
fn object<'py>(py: Python<'py>, gradient: &Tensor) -> PyResult<Bound<'py, PyAny>> {
    let given: Vec<_> = GIVEN.with_borrow(|all| all.iter().map(|w| w.clone_ref(py)).collect());
    for known in given.iter().rev().filter_map(|w| w.bind(py).upgrade()) {
        if marshal::tensor(&known).is_some_and(|t| t.same(gradient)) {
            return Ok(known);
        }
    }
    let made = tensor::wrap(py, gradient.clone())?.into_any();
    let weak = PyWeakrefReference::new(&made)?.unbind();
    let oldest = GIVEN.with_borrow_mut(|all| {
        let oldest = (all.len() == REMEMBERED).then(|| all.remove(0));
        all.push(weak);
        oldest
    });
    drop(oldest);
    Ok(made)
}

/// Gradients as a tuple, None where there is none.
fn tuple<'py>(py: Python<'py>, grads: &[Option<Tensor>]) -> PyResult<Bound<'py, PyTuple>> {
    let items = grads.iter().map(|g| match g {
        Some(g) => object(py, g),
        None => Ok(py.None().into_bound(py)),
    });
    Ok(PyTuple::new(py, items.collect::<PyResult<Vec<_>>>()?)?)
}

impl GradHook for HookFunction {
    fn call(&self, g: &Tensor) -> Result<Option<Tensor>> {
        Python::attach(|py| {
            let out = self.0.bind(py).call1((object(py, g)?,))?;
            self.replacement(py, &out, Some(g))
        })
        .map_err(errors::to_error)
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
}

impl NodeHook for HookFunction {
    fn before(&self, outputs: &[Option<Tensor>]) -> Result<Option<Tangents>> {
        Python::attach(|py| {
            let out = self.checked(py)?.call1((tuple(py, outputs)?,))?;
            self.replacements(py, &out, outputs)
        })
        .map_err(errors::to_error)
    }
    fn after(&self, inputs: &[Option<Tensor>], outputs: &[Option<Tensor>]) -> Result<Option<Tangents>> {
        Python::attach(|py| {
            let out = self.checked(py)?.call1((tuple(py, inputs)?, tuple(py, outputs)?))?;
            self.replacements(py, &out, inputs)
        })
        .map_err(errors::to_error)
    }
    fn as_any(&self) -> &dyn Any {
        &self.0
    }
}

/// What registering a hook gives back: `remove()` takes the hook away. Also a context manager.
#[pyclass(frozen, name = "RemovableHandle", module = "pullback.utils.hooks", weakref)]
pub struct Removable {
    #[pyo3(get)]
    id: u64,
    node: Weak<Node>,
}

impl Removable {
    fn at(node: &Arc<Node>) -> Removable {
        Removable { id: NEXT.fetch_add(1, Relaxed), node: Arc::downgrade(node) }
    }

    /// Adds a hook to an output of a node.
    pub fn add(e: &Edge, f: Py<PyAny>) -> Removable {
        let handle = Removable::at(&e.node);
        locked(&e.node.extra().hooks).push((handle.id, e.slot, Arc::new(HookFunction(f))));
        handle
    }

    /// Adds a hook that runs before a node's rule, or after it.
    pub fn add_to_node(node: &Arc<Node>, f: Py<PyAny>, before: bool) -> Removable {
        let handle = Removable::at(node);
        let extra = node.extra();
        locked(if before { &extra.before } else { &extra.after }).push((handle.id, Arc::new(HookFunction(f))));
        handle
    }

    /// Adds a hook that gets the tensor after its gradient has grown.
    pub fn add_post(node: &Arc<Node>, accumulator: &Accumulator, f: Py<PyAny>) -> Removable {
        let handle = Removable::at(node);
        locked(&accumulator.hooks).push((handle.id, Arc::new(f)));
        handle
    }
}

#[pymethods]
impl Removable {
    /// Takes the hook away.
    fn remove(&self) {
        let Some(node) = self.node.upgrade() else { return };
        let gone = node.extra_if_any().map(|x| x.remove(self.id));
        let after: Vec<_> = Accumulator::of_node(&node)
            .map(|a| locked(&a.hooks).extract_if(.., |h| h.0 == self.id).collect())
            .unwrap_or_default();
        drop((gone, after));
    }
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }
    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) -> bool {
        self.remove();
        false
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(crate::types::submodule(m, "utils.hooks")?.add_class::<Removable>()?)
}
