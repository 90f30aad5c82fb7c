//! How tensor objects are made and freed. Programs make one for every operator, so this leaves out what pyo3 does for
//! classes in general and a class of this shape does not need.

use super::tensor::{PyTensor, type_object};
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::{PyClass, PyClassInitializer, ffi};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

type Object = *mut ffi::PyObject;

/// A class whose objects are made here.
pub struct Class {
    object: AtomicPtr<ffi::PyTypeObject>,
    /// Where an object has its contents, in bytes.
    contents: AtomicUsize,
}

static TENSOR: Class = Class::unknown();
/// Where a tensor has its list of weak references, in bytes.
static WEAK: AtomicUsize = AtomicUsize::new(0);

impl Class {
    pub const fn unknown() -> Class {
        Class { object: AtomicPtr::new(std::ptr::null_mut()), contents: AtomicUsize::new(0) }
    }

    /// Reads off a sample what has to be known of its class.
    pub fn learn<T: PyClass<Frozen = True> + Sync>(&self, sample: &Bound<'_, T>) {
        self.object.store(sample.as_any().get_type().as_type_ptr(), Relaxed);
        self.contents.store(std::ptr::from_ref(sample.get()) as usize - sample.as_ptr() as usize, Relaxed);
    }

    /// A new object, whose dict is made when somebody asks for it.
    ///
    /// # Safety
    /// The class has learned from a sample of this type.
    #[inline]
    pub unsafe fn make<'py, T: PyClass>(&self, py: Python<'py>, contents: T) -> PyResult<Bound<'py, T>> {
        // SAFETY: the new object is zeroed, which is how its other fields begin, and nobody sees it before its contents
        // are there; those have the place of the sample's.
        unsafe {
            let object = ffi::PyType_GenericAlloc(self.object.load(Relaxed), 0);
            if object.is_null() {
                return Err(PyErr::fetch(py));
            }
            object.byte_add(self.contents.load(Relaxed)).cast::<T>().write(contents);
            Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
        }
    }
}

/// A new object of the class itself.
#[inline]
pub fn make(py: Python<'_>, t: PyTensor) -> PyResult<Bound<'_, PyTensor>> {
    // SAFETY: `register` has shown it a sample.
    unsafe { TENSOR.make(py, t) }
}

/// A new object of a class with a dict.
///
/// CPython 3.11 and 3.12 make the dict while the object's fields are still zero, and pyo3 writes them after that: if a
/// collection started in between, it would walk over an object that is none yet.
pub fn make_with_dict<'py, T: PyClass>(
    py: Python<'py>,
    contents: impl Into<PyClassInitializer<T>>,
) -> PyResult<Bound<'py, T>> {
    // SAFETY: the thread is attached.
    let collecting = unsafe { ffi::PyGC_Disable() } != 0;
    let object = Bound::new(py, contents);
    if collecting {
        // SAFETY: as above; collections were on before.
        unsafe { ffi::PyGC_Enable() };
    }
    object
}

/// Frees an object of the class or of a subclass: called by the interpreter when nobody refers to it any more.
unsafe extern "C" fn free(object: Object) {
    // SAFETY: the object is ours; its type is that of a class with these offsets, and outlives it until the end.
    unsafe {
        let class = ffi::Py_TYPE(object);
        if ffi::PyType_HasFeature(class, ffi::Py_TPFLAGS_HAVE_GC) != 0 {
            ffi::PyObject_GC_UnTrack(object.cast());
        }
        if !object.byte_add(WEAK.load(Relaxed)).cast::<Object>().read().is_null() {
            ffi::PyObject_ClearWeakRefs(object);
        }
        let contents = object.byte_add(TENSOR.contents.load(Relaxed)).cast::<PyTensor>();
        if (*contents).is_plain() {
            contents.drop_in_place();
        } else {
            // Nodes may hold objects, which are freed by whoever is attached. A panic has been printed.
            Python::attach(|_| drop(catch_unwind(AssertUnwindSafe(|| contents.drop_in_place()))));
        }
        if let Some(release) = (*class).tp_free {
            release(object.cast());
        }
        ffi::Py_DECREF(class.cast());
    }
}

/// Whether there are weak references to an object, from which others can come.
pub fn has_weak_references(o: &Bound<'_, PyAny>) -> bool {
    let object = o.as_ptr();
    // SAFETY: the interpreter keeps the list of weak references of an object at this offset of it, if its type has one.
    unsafe {
        let offset = (*ffi::Py_TYPE(object)).tp_weaklistoffset;
        offset > 0 && !object.byte_add(offset as usize).cast::<Object>().read().is_null()
    }
}

/// Reads the offsets off a sample, and tells the interpreter how objects are freed.
pub fn register(py: Python<'_>) -> PyResult<()> {
    let sample = Bound::new(py, PyTensor::new(crate::Tensor::scalar(crate::DType::F32, 0.0)))?;
    TENSOR.learn(&sample);
    // SAFETY: the class is new: it has no subclasses yet, and the sample is freed by the function that made it.
    unsafe {
        let class = type_object();
        WEAK.store((*class).tp_weaklistoffset as usize, Relaxed);
        drop(sample);
        (*class).tp_dealloc = Some(free);
    }
    Ok(())
}
