//! Who is asked on a thread: its modes, which answer every call while they are entered, and whether classes have a say.

use super::callable;
use crate::types::errors::PyResult;
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyList;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Who is asked, from all to nobody.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Asking {
    All,
    /// Modes alone, as while a default handler runs: what it calls is answered here, whatever the classes say.
    Modes,
    Nobody,
}

/// Modes that are entered, on all threads.
static ENTERED: AtomicUsize = AtomicUsize::new(0);

/// The modes of a thread, the innermost last.
struct Stack(RefCell<Vec<Py<PyAny>>>);

impl Drop for Stack {
    fn drop(&mut self) {
        let left = self.0.get_mut().len();
        ENTERED.fetch_sub(left, Relaxed);
    }
}

thread_local! {
    static ASKING: Cell<Asking> = const { Cell::new(Asking::All) };
    static STACK: Stack = const { Stack(RefCell::new(Vec::new())) };
}

/// Whether some thread has a mode: then no argument passes unasked.
pub fn anywhere() -> bool {
    ENTERED.load(Relaxed) > 0
}

/// Whether classes have a say on this thread.
pub fn are_classes_asked() -> bool {
    ASKING.get() == Asking::All
}

/// Whether a mode is to be asked on this thread.
pub fn is_active() -> bool {
    anywhere() && ASKING.get() != Asking::Nobody && STACK.with(|s| !s.0.borrow().is_empty())
}

fn push(mode: Py<PyAny>) {
    STACK.with(|s| s.0.borrow_mut().push(mode));
    ENTERED.fetch_add(1, Relaxed);
    callable::refresh();
}

fn pop() -> Option<Py<PyAny>> {
    let mode = STACK.with(|s| s.0.borrow_mut().pop())?;
    ENTERED.fetch_sub(1, Relaxed);
    callable::refresh();
    Some(mode)
}

/// What was in force before; back when dropped.
pub struct Before(Asking);

impl Before {
    /// Asks no more than `most` from now on.
    pub fn with_at_most(most: Asking) -> Before {
        let before = ASKING.get();
        ASKING.set(before.max(most));
        Before(before)
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        ASKING.set(self.0);
    }
}

/// The innermost mode, which is not entered while it answers.
struct Taken(Option<Py<PyAny>>);

impl Drop for Taken {
    fn drop(&mut self) {
        if let Some(mode) = self.0.take() {
            push(mode);
        }
    }
}

/// What the innermost mode answers, and the mode; `call` is given its handler.
pub fn ask<'py>(
    py: Python<'py>,
    call: impl FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let taken = Taken(pop());
    let mode = taken.0.as_ref().map_or_else(|| py.None(), |m| m.clone_ref(py)).into_bound(py);
    let handler = mode.getattr(intern!(py, "__torch_function__"))?;
    let owner = handler.getattr_opt(intern!(py, "__self__"))?;
    if owner.is_some_and(|o| !o.is(&mode)) {
        return Err(PyRuntimeError::new_err(
            "Defining your mode's `__torch_function__` as a classmethod is not supported, please make it a plain method",
        )
        .into());
    }
    Ok((call(&handler)?, mode))
}

/// Enters a mode.
#[pyfunction]
fn _push_mode(mode: Py<PyAny>) {
    push(mode);
}

/// Leaves the innermost mode, and gives it back.
#[pyfunction]
fn _pop_mode() -> PyResult<Py<PyAny>> {
    pop().ok_or_else(|| PyRuntimeError::new_err("_pop_mode(): no mode is entered").into())
}

/// The modes of this thread, the innermost last.
#[pyfunction]
fn _modes(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let modes: Vec<_> = STACK.with(|s| s.0.borrow().iter().map(|m| m.clone_ref(py)).collect());
    Ok(PyList::new(py, modes)?)
}

/// Sets who is asked on this thread (0: classes and modes, 1: modes, 2: nobody), and gives what was set before.
#[pyfunction]
fn _set_asking(level: u8) -> u8 {
    let new = match level {
        0 => Asking::All,
        1 => Asking::Modes,
        _ => Asking::Nobody,
    };
    ASKING.replace(new) as u8
}

/// Who is asked on this thread, as for `_set_asking`.
#[pyfunction]
fn _asking() -> u8 {
    ASKING.get() as u8
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(_push_mode, m)?)?;
    m.add_function(wrap_pyfunction!(_pop_mode, m)?)?;
    m.add_function(wrap_pyfunction!(_modes, m)?)?;
    m.add_function(wrap_pyfunction!(_set_asking, m)?)?;
    Ok(m.add_function(wrap_pyfunction!(_asking, m)?)?)
}
