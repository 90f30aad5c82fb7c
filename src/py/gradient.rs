//! Where a tensor's `.grad` is kept: one object, added to in place.

use super::errors::to_error;
use super::tensor::{self, PyTensor};
use crate::base::{Error, Result};
use crate::core::Tensor;
use crate::core::level::{self, GradMode};
use crate::core::node::Sink;
use crate::rules::basis;
use pyo3::prelude::*;
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard};

/// A hook that runs after accumulation, with an id for removal.
pub type PostHook = (u64, Arc<dyn Fn(Python<'_>) -> PyResult<()> + Send + Sync>);

/// The gradient of one tensor.
#[derive(Default)]
pub struct GradBox {
    grad: Mutex<Option<Py<PyTensor>>>,
    pub hooks: Mutex<Vec<PostHook>>,
    /// Keeps itself reachable from the sink that tapes hold.
    me: std::sync::OnceLock<std::sync::Weak<GradBox>>,
}

impl GradBox {
    pub fn new() -> Arc<GradBox> {
        let b = Arc::new(GradBox::default());
        let _ = b.me.set(Arc::downgrade(&b));
        b
    }

    /// The box that a tape's sink is.
    pub fn of_sink(sink: Arc<dyn Sink>) -> Option<Arc<GradBox>> {
        sink.as_any().downcast_ref::<GradBox>()?.me.get()?.upgrade()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Py<PyTensor>>> {
        self.grad.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn get(&self, py: Python<'_>) -> Option<Py<PyTensor>> {
        self.lock().as_ref().map(|g| g.clone_ref(py))
    }

    /// Replaces the gradient. The old one is dropped when the lock is free.
    pub fn set(&self, grad: Option<Py<PyTensor>>) {
        let old = std::mem::replace(&mut *self.lock(), grad);
        drop(old);
    }

    /// For the garbage collector, which must not wait.
    pub fn try_visit(
        &self,
        visit: impl FnOnce(&Py<PyTensor>) -> std::result::Result<(), pyo3::PyTraverseError>,
    ) -> std::result::Result<(), pyo3::PyTraverseError> {
        match self.grad.try_lock() {
            Ok(g) => g.as_ref().map_or(Ok(()), visit),
            Err(_) => Ok(()),
        }
    }

    /// Adds a gradient: in place, so that who holds the object sees the sum; a recorded sum is a new object.
    pub fn add(&self, py: Python<'_>, g: &Tensor, recorded: bool) -> PyResult<()> {
        let old = self.get(py);
        match old {
            None => self.set(Some(tensor::wrap(py, g.clone())?.unbind())),
            Some(old) if recorded => {
                let sum = basis::add(&old.get().value(), g)?;
                self.set(Some(tensor::wrap(py, sum)?.unbind()));
            }
            Some(old) => {
                let _off = GradMode::set(false);
                let sum = basis::add(&old.get().value(), g)?;
                old.get().write("backward", &sum)?;
            }
        }
        let hooks: Vec<PostHook> = self.hooks.lock().unwrap_or_else(|e| e.into_inner()).clone();
        hooks.iter().try_for_each(|(_, hook)| hook(py))
    }
}

impl Sink for GradBox {
    fn accumulate(&self, gradient: &Tensor) -> Result<()> {
        let recorded = level::grad_enabled();
        let done = Python::try_attach(|py| self.add(py, gradient, recorded).map_err(to_error));
        done.unwrap_or_else(|| Err(Error::runtime("backward(): the interpreter has ended")))
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}
