//! What a tensor object has to do with tapes: whether it requires grad, and where its gradient is.

use crate::tensor::gradient::{Accumulator, GradBox};
use crate::tensor::{PyTensor, upward};
use crate::types::errors::PyResult;
use pullback::core::node::{Sink, locked};
use pullback::core::{Edge, LevelId, Tensor};
use pullback::skin::tape::{self, requires_grad};
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::RefCell;
use std::sync::{Arc, Weak};

/// `requires_grad_(on)`
pub fn set_requires_grad(slf: &Bound<'_, PyTensor>, on: bool) -> PyResult<()> {
    let t = slf.get();
    if on {
        upward::look(slf.py(), true)?;
    }
    let value = t.value();
    if requires_grad(&value) == on {
        if on {
            tape::check_outside("Tensor.requires_grad_()")?;
        }
        return Ok(());
    }
    if !on {
        return Ok(t.adopt(tape::unleaf(&value)?)?);
    }
    let new = match upward::leaf(slf, &value)? {
        Some(new) => new,
        None => tape::leaf(&value, Accumulator::new(slf)?)?,
    };
    Ok(t.adopt(new)?)
}

/// Makes a new object a leaf. Inside of functions that are being transformed too, unless the transform follows its value:
/// modules may be made there.
pub fn make_leaf(slf: &Bound<'_, PyTensor>) -> PyResult<()> {
    let value = slf.get().value();
    if value.level() > LevelId::ABSTRACT || upward::leaf(slf, &value)?.is_some() {
        return set_requires_grad(slf, true);
    }
    Ok(slf.get().adopt(tape::new_leaf(&value, Accumulator::new(slf)?)?)?)
}

thread_local! {
    /// The arguments of the forwards that run, as objects, whose values a tape follows outside, each behind its call.
    static FOLLOWED: RefCell<Vec<(usize, usize)>> = const { RefCell::new(Vec::new()) };
}

/// Arguments of a forward that say of themselves that they require grad, while this lives; the forward's tensors have no
/// history, since what it does is not recorded.
pub struct Followed(usize);

impl Followed {
    /// Of `call`, whose arguments live as long as this.
    pub fn new<'a, 'py: 'a>(call: usize, objects: impl Iterator<Item = &'a Bound<'py, PyAny>>) -> Followed {
        FOLLOWED.with_borrow_mut(|f| {
            let before = f.len();
            f.extend(objects.map(|o| (call, o.as_ptr() as usize)));
            Followed(before)
        })
    }

    /// Whether a tensor is one of them, or a view of one.
    fn has(t: &Bound<'_, PyTensor>) -> bool {
        let root = |t: &PyTensor| t.shared_cell().map(|cell| cell.of_view());
        FOLLOWED.with_borrow(|f| {
            !f.is_empty() && {
                let own = root(t.get()).filter(|_| t.get().shared_cell().is_some_and(|cell| cell.is_unrecorded_view()));
                f.iter().any(|&(_, o)| {
                    // SAFETY: as for `of`.
                    let object = unsafe { Bound::from_borrowed_ptr(t.py(), o as *mut ffi::PyObject) };
                    let same = |own: &Arc<_>| {
                        object.cast::<PyTensor>().ok().and_then(|o| root(o.get())).is_some_and(|r| Arc::ptr_eq(&r, own))
                    };
                    object.is(t) || own.as_ref().is_some_and(same)
                })
            }
        })
    }

    /// The objects of a call's forward, if one runs.
    pub fn of<'py>(py: Python<'py>, call: usize) -> Vec<Bound<'py, PyAny>> {
        // SAFETY: who made the entries holds the objects until they are taken off.
        let object = |&(_, o): &(usize, usize)| unsafe { Bound::from_borrowed_ptr(py, o as *mut ffi::PyObject) };
        FOLLOWED.with_borrow(|f| f.iter().filter(|(of, _)| *of == call).map(object).collect())
    }
}

impl Drop for Followed {
    fn drop(&mut self) {
        FOLLOWED.with_borrow_mut(|f| f.truncate(self.0));
    }
}

/// Whether gradients are recorded for a tensor.
pub fn is_required(slf: &Bound<'_, PyTensor>) -> PyResult<bool> {
    if requires_grad(&slf.get().value()) {
        return Ok(true);
    }
    if Followed::has(slf) {
        return Ok(true);
    }
    upward::look(slf.py(), false)?;
    let t = slf.get();
    // A view that was made where nothing records says what its base says; no gradient comes through it.
    let beside = || !t.is_inference() && t.shared_cell().is_some_and(|cell| cell.leaves_tape());
    Ok(requires_grad(&t.value()) || beside())
}

/// Makes a tensor whose elements were replaced by others of another shape the leaf that it was.
pub fn retain_leaf(slf: &Bound<'_, PyTensor>, old: &Tensor) -> PyResult<()> {
    set_requires_grad(slf, requires_grad(old))
}

/// The `.grad` of a tensor.
pub fn gradient(t: &PyTensor) -> Option<Py<PyTensor>> {
    Python::attach(|py| grad_box(t)?.get(py))
}

/// Where the gradient is: with the object, or with the leaf that its value is.
pub fn grad_box(t: &PyTensor) -> Option<Arc<GradBox>> {
    t.known_gradient_box().or_else(|| {
        let e = tape::edge(&t.value())?;
        Some(Accumulator::of_node(&e.node)?.gradient_box(t))
    })
}

/// Whether a gradient is retained where a tape goes on.
pub fn retained(e: &Edge, sink: &Arc<GradBox>) -> bool {
    let same = |s: &Weak<dyn Sink>| std::ptr::addr_eq(s.as_ptr(), Arc::as_ptr(sink));
    let known =
        |x: &pullback::core::node::Extra| locked(&x.retained).iter().any(|(slot, s)| *slot == e.slot && same(s));
    e.node.extra_if_any().is_some_and(known)
}

/// Retains a gradient where a tape goes on.
pub fn retain(e: &Edge, sink: &Arc<GradBox>) {
    if !retained(e, sink) {
        let sink: Arc<dyn Sink> = sink.clone();
        locked(&e.node.extra().retained).push((e.slot, Arc::downgrade(&sink)));
    }
}

/// A tensor whose gradient is retained was written to: the gradient is that of its new value.
pub fn keep_retaining(sink: &Arc<GradBox>, old: Option<Edge>, new: &Tensor) {
    let (Some(old), Some(new)) = (old, tape::edge(new)) else { return };
    if !Arc::ptr_eq(&old.node, &new.node) && retained(&old, sink) {
        let same = |s: &Weak<dyn Sink>| std::ptr::addr_eq(s.as_ptr(), Arc::as_ptr(sink));
        locked(&old.node.extra().retained).retain(|(slot, s)| *slot != old.slot || !same(s));
        retain(&new, sink);
    }
}
