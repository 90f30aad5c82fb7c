//! The interpreter's lock: long work gives it up, and what holds only while nobody else runs Python is here alone. A build
//! of the interpreter without the lock needs another way for each of these, and no other file.

use crate::types::errors::PyResult;
use pullback::base::Result;
use pullback::core::Tensor;
use pullback::dense::threads;
use pullback::ops::Cost;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::Cell;
use std::ffi::c_ulong;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs `f`, which does work of this class on tensors, without the GIL if that takes long.
#[inline(always)]
pub fn released<R: Send>(
    py: Python<'_>,
    cost: Cost,
    tensors: &[&Tensor],
    f: impl FnOnce() -> Result<R> + Send,
) -> Result<R> {
    let long = match tensors {
        [a, b] => cost.is_long_of(a, b),
        all => all.iter().any(|t| t.stored() >= cost.limit()),
    };
    if long { without_gil(py, f) } else { f() }
}

/// Not inlined, so that the path of small tensors stays short. Without the GIL, work listens to signals, and may be
/// given up: what it writes must not be seen by anyone before it returns.
#[cold]
#[inline(never)]
pub fn without_gil<R: Send>(py: Python<'_>, f: impl FnOnce() -> Result<R> + Send) -> Result<R> {
    RELEASED.fetch_add(1, Ordering::Relaxed);
    py.detach(|| threads::cancellable(f))
}

/// Whether this thread holds the lock.
#[inline(always)]
pub fn is_held() -> bool {
    // SAFETY: the call only looks at the state of this thread.
    unsafe { ffi::PyGILState_Check() == 1 }
}

/// Runs Python code where the lock is held most often already; asking for it again would cost more than asking whether.
#[inline(always)]
pub fn with<R>(f: impl FnOnce(Python<'_>) -> R) -> R {
    if is_held() {
        // SAFETY: who holds the lock is attached.
        f(unsafe { Python::assume_attached() })
    } else {
        attached(f)
    }
}

#[cold]
#[inline(never)]
fn attached<R>(f: impl FnOnce(Python<'_>) -> R) -> R {
    Python::attach(f)
}

/// How many references there are to an object. No other thread takes or drops one while this one holds the lock.
///
/// # Safety
/// The object's memory has not been freed.
#[inline]
pub unsafe fn references(_: Python<'_>, object: *mut ffi::PyObject) -> ffi::Py_ssize_t {
    // SAFETY: by the contract.
    unsafe { ffi::Py_REFCNT(object) }
}

/// A value of the process that the lock guards.
#[repr(transparent)]
pub struct Guarded<T>(Cell<T>);

// SAFETY: the module declares that it needs the lock (`gil_used = true`); `get` and `set` take the proof that this thread
// holds it, and run no code that gives it up.
unsafe impl<T> Sync for Guarded<T> {}

impl<T: Copy> Guarded<T> {
    pub const fn new(value: T) -> Guarded<T> {
        Guarded(Cell::new(value))
    }
    #[inline(always)]
    pub fn get(&self, _: Python<'_>) -> T {
        self.0.get()
    }
    #[inline(always)]
    pub fn set(&self, _: Python<'_>, value: T) {
        self.0.set(value);
    }
}

/// Adds flags to a class that nobody uses yet.
///
/// # Safety
/// A live class, of which no other thread knows.
pub unsafe fn add_flags(class: *mut ffi::PyTypeObject, flags: c_ulong) {
    // SAFETY: by the contract.
    unsafe { ClassFlags::add(&mut (*class).tp_flags, flags) }
}

/// The flags of a class: a number, which is atomic where the interpreter has no lock.
trait ClassFlags {
    fn add(&mut self, flags: c_ulong);
}

impl ClassFlags for c_ulong {
    fn add(&mut self, flags: c_ulong) {
        *self |= flags;
    }
}

impl ClassFlags for AtomicCULong {
    fn add(&mut self, flags: c_ulong) {
        *self.get_mut() |= flags;
    }
}

/// The atomic number as wide as C's `unsigned long`.
#[cfg(any(windows, target_pointer_width = "32"))]
type AtomicCULong = std::sync::atomic::AtomicU32;
#[cfg(not(any(windows, target_pointer_width = "32")))]
type AtomicCULong = std::sync::atomic::AtomicU64;

/// Calls that ran without the GIL, which tests count.
static RELEASED: AtomicUsize = AtomicUsize::new(0);

/// How many calls ran without the GIL since the import.
#[pyfunction]
fn _released_calls() -> usize {
    RELEASED.load(Ordering::Relaxed)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(m.setattr("_released_calls", wrap_pyfunction!(_released_calls, m)?)?)
}
