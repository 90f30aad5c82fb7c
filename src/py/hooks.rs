//! Handles that remove a hook.

use super::gradient::GradBox;
use super::native::Slf;
use crate::core::Edge;
use crate::core::node::{Hook, Node};
use pyo3::prelude::*;
use pyo3::types::PyWeakrefReference;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};

static NEXT: AtomicU64 = AtomicU64::new(1);

enum Place {
    Node(Weak<Node>),
    Box(Weak<GradBox>),
}

/// What registering a hook gives back: `remove()` takes the hook away. Also a context manager.
#[pyclass(frozen, name = "RemovableHandle", module = "pullback.utils.hooks", weakref)]
pub struct Removable {
    #[pyo3(get)]
    id: u64,
    place: Place,
}

impl Removable {
    /// Adds a hook to an output of a node.
    pub fn add(e: &Edge, hook: Hook) -> Removable {
        let id = NEXT.fetch_add(1, Relaxed);
        e.node.extra().hooks.lock().unwrap_or_else(|e| e.into_inner()).push((id, e.slot, hook));
        Removable { id, place: Place::Node(Arc::downgrade(&e.node)) }
    }

    /// Adds a hook that gets the tensor after its gradient has grown. It must not keep the tensor alive.
    pub fn add_post(slf: Slf<'_, '_>, place: Arc<GradBox>, f: Py<PyAny>) -> PyResult<Removable> {
        let id = NEXT.fetch_add(1, Relaxed);
        let owner = PyWeakrefReference::new(slf)?.unbind();
        let hook = move |py: Python<'_>| {
            let owner = owner.bind(py).call0()?;
            if !owner.is_none() {
                f.bind(py).call1((owner,))?;
            }
            Ok(())
        };
        place.hooks.lock().unwrap_or_else(|e| e.into_inner()).push((id, Arc::new(hook)));
        Ok(Removable { id, place: Place::Box(Arc::downgrade(&place)) })
    }
}

#[pymethods]
impl Removable {
    /// Takes the hook away.
    fn remove(&self) {
        match &self.place {
            Place::Node(n) => {
                if let Some(extra) = n.upgrade().as_ref().and_then(|n| n.extra_if_any()) {
                    let mut hooks = extra.hooks.lock().unwrap_or_else(|e| e.into_inner());
                    let gone: Vec<_> = hooks.extract_if(.., |h| h.0 == self.id).collect();
                    drop(hooks);
                    drop(gone);
                }
            }
            Place::Box(b) => {
                if let Some(b) = b.upgrade() {
                    let mut hooks = b.hooks.lock().unwrap_or_else(|e| e.into_inner());
                    let gone: Vec<_> = hooks.extract_if(.., |h| h.0 == self.id).collect();
                    drop(hooks);
                    drop(gone);
                }
            }
        }
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
    super::submodule(m, "utils.hooks")?.add_class::<Removable>()
}
