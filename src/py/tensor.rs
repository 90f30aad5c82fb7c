//! The `Tensor` class: an object around a cell.

use super::{attributes, conversion, dlpack, native};
use crate::core::Tensor;
use crate::skin::Slot;
use pyo3::ffi;
use pyo3::prelude::*;
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering::Relaxed};

/// A multi-dimensional array of one dtype that function transforms can follow.
#[pyclass(frozen, subclass, weakref, name = "Tensor", module = "pullback")]
pub struct PyTensor {
    slot: UnsafeCell<Slot>,
}

// SAFETY: the slot is only touched with the GIL held (`gil_used = true`), and never across a call that may run Python
// or release the GIL.
unsafe impl Send for PyTensor {}
// SAFETY: as above.
unsafe impl Sync for PyTensor {}

static TYPE: AtomicPtr<ffi::PyTypeObject> = AtomicPtr::new(null_mut());

impl PyTensor {
    #[inline]
    pub fn new(value: Tensor) -> PyTensor {
        PyTensor { slot: UnsafeCell::new(Slot::new(value)) }
    }

    /// Runs `f` on the cell. `f` must not run Python code.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut Slot) -> R) -> R {
        // SAFETY: the GIL is held and `f` neither releases it nor runs Python, so nobody else is inside.
        f(unsafe { &mut *self.slot.get() })
    }

    /// The present value.
    #[inline]
    pub fn value(&self) -> Tensor {
        self.with(|s| s.value().clone())
    }
}

/// Whether the object is a `Tensor` (or an instance of a subclass), by type pointer.
#[inline(always)]
pub fn is_tensor(o: *mut ffi::PyObject) -> bool {
    // SAFETY: `o` is a live object of the caller.
    unsafe {
        let t = ffi::Py_TYPE(o);
        t == TYPE.load(Relaxed) || ffi::PyType_IsSubtype(t, TYPE.load(Relaxed)) != 0
    }
}

/// The cell of a tensor object.
#[inline(always)]
pub fn cell<'a>(py: Python<'_>, o: *mut ffi::PyObject) -> Option<&'a PyTensor> {
    if !is_tensor(o) {
        return None;
    }
    // SAFETY: the type was just checked; the caller holds a reference for 'a.
    unsafe {
        let b = Borrowed::<PyAny>::from_ptr(py, o);
        let r: &PyTensor = b.cast_unchecked::<PyTensor>().get();
        Some(&*std::ptr::from_ref(r))
    }
}

/// A new object around a value.
#[inline]
pub fn wrap(py: Python<'_>, value: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    Bound::new(py, PyTensor::new(value))
}

/// A new object around a value whose memory others may see.
pub fn wrap_shared(py: Python<'_>, value: Tensor) -> PyResult<Bound<'_, PyTensor>> {
    Bound::new(py, PyTensor::new(value))
}

/// A new object of a subclass.
pub fn wrap_as<'py>(class: &Bound<'py, PyAny>, value: Tensor) -> PyResult<Bound<'py, PyTensor>> {
    if class.as_ptr() == type_object().cast() {
        return wrap(class.py(), value);
    }
    let out = class.call_method1("__new__", (class,))?.cast_into::<PyTensor>()?;
    drop(out.get().with(|s| s.set(value)));
    Ok(out)
}

pub fn type_object() -> *mut ffi::PyTypeObject {
    TYPE.load(Relaxed)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_class::<PyTensor>()?;
    let class = m.py().get_type::<PyTensor>();
    TYPE.store(class.as_type_ptr(), Relaxed);
    native::install(&class, attributes::METHODS, attributes::ATTRIBUTES)?;
    native::install(&class, conversion::METHODS, conversion::ATTRIBUTES)?;
    native::install(&class, dlpack::METHODS, dlpack::ATTRIBUTES)
}
