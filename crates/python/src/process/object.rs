//! How objects that programs make in great numbers are made and freed: tensors, one for every operator, and what calls
//! of custom functions share. This leaves out what pyo3 does for classes in general and classes of this shape do not
//! need. Some of those that are freed wait to be used again, as the interpreter's own small objects do.

use crate::process::gil::Guarded;
use crate::types::errors::PyResult;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::PyType;
use pyo3::{PyClass, PyClassInitializer, ffi};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};

type Object = *mut ffi::PyObject;

/// Freed objects of a class that wait to be used again, at most.
const MOST_SPARES: usize = 64;

/// A class whose objects are made and freed here.
pub struct Class {
    object: AtomicPtr<ffi::PyTypeObject>,
    /// Where an object has its contents, in bytes.
    contents: AtomicUsize,
    /// Where it has its list of weak references.
    weak: AtomicUsize,
    /// Where it has its dict; 0 if the class has none. Those of subclasses are freed before.
    dict: AtomicUsize,
    /// Freed objects of the class itself: what they held is gone, and the collector does not know them.
    spares: [Guarded<Object>; MOST_SPARES],
    count: Guarded<usize>,
}

/// Contents of such objects.
pub trait Pooled: PyClass<Frozen = True> + Sync {
    fn class() -> &'static Class;
    /// Whether dropping them runs no Python code.
    fn is_plain(&self) -> bool;
}

impl Class {
    pub const fn unknown() -> Class {
        Class {
            object: AtomicPtr::new(null_mut()),
            contents: AtomicUsize::new(0),
            weak: AtomicUsize::new(0),
            dict: AtomicUsize::new(0),
            spares: [const { Guarded::new(null_mut()) }; MOST_SPARES],
            count: Guarded::new(0),
        }
    }

    /// A new object, whose dict is made when somebody asks for it.
    ///
    /// # Safety
    /// [`register`] has seen a sample of this type.
    #[inline]
    unsafe fn make<'py, T: Pooled>(&self, py: Python<'py>, contents: T) -> PyResult<Bound<'py, T>> {
        // SAFETY: a new object is zeroed, which is how its other fields begin, and a spare one has these as well; the
        // contents have the place of the sample's. The collector, which may run while the object is made and not before
        // it is tracked, sees it when all is there.
        unsafe {
            let object = match self.take(py) {
                Some(spare) => {
                    ffi::PyObject_Init(spare, self.object.load(Relaxed));
                    spare
                }
                None => {
                    let new = ffi::PyType_GenericAlloc(self.object.load(Relaxed), 0);
                    if new.is_null() {
                        return Err(PyErr::fetch(py).into());
                    }
                    ffi::PyObject_GC_UnTrack(new.cast());
                    new
                }
            };
            object.byte_add(self.contents.load(Relaxed)).cast::<T>().write(contents);
            ffi::PyObject_GC_Track(object.cast());
            Ok(Bound::from_owned_ptr(py, object).cast_into_unchecked())
        }
    }

    #[inline]
    fn take(&self, py: Python<'_>) -> Option<Object> {
        let last = self.count.get(py).checked_sub(1)?;
        self.count.set(py, last);
        Some(self.spares[last].get(py))
    }

    /// Keeps the memory of an object that is freed but for this, if it is one of the class itself.
    #[inline]
    fn keep(&self, py: Python<'_>, class: *mut ffi::PyTypeObject, object: Object) -> bool {
        let count = self.count.get(py);
        if class != self.object.load(Relaxed) || count == MOST_SPARES {
            return false;
        }
        self.spares[count].set(py, object);
        self.count.set(py, count + 1);
        true
    }
}

/// A new object of the class itself.
#[inline]
pub fn make<T: Pooled>(py: Python<'_>, contents: T) -> PyResult<Bound<'_, T>> {
    // SAFETY: modules register their classes before anybody can ask for an object.
    unsafe { T::class().make(py, contents) }
}

/// A new object of a subclass, which is not asked: none of its methods runs.
pub fn make_as<'py, T: Pooled>(class: &Bound<'py, PyType>, contents: T) -> PyResult<Bound<'py, T>> {
    let (py, known, class) = (class.py(), T::class(), class.as_type_ptr());
    if class == known.object.load(Relaxed) {
        return make(py, contents);
    }
    // SAFETY: a subclass has the contents of its base where that has them; a new object is zeroed, and the collector sees
    // it when all is there.
    unsafe {
        let alloc = (*class).tp_alloc.unwrap_or(ffi::PyType_GenericAlloc);
        let new = alloc(class, 0);
        if new.is_null() {
            return Err(PyErr::fetch(py).into());
        }
        ffi::PyObject_GC_UnTrack(new.cast());
        new.byte_add(known.contents.load(Relaxed)).cast::<T>().write(contents);
        ffi::PyObject_GC_Track(new.cast());
        Ok(Bound::from_owned_ptr(py, new).cast_into_unchecked())
    }
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
    Ok(object?)
}

/// The dict of an object, if somebody has asked for it.
pub fn dict<T: Pooled>(contents: &T) -> Option<&Py<PyAny>> {
    let known = T::class();
    let (at, dict) = (known.contents.load(Relaxed), known.dict.load(Relaxed));
    let object = std::ptr::from_ref(contents).cast::<u8>().wrapping_sub(at);
    let place = object.wrapping_add(dict).cast::<Option<Py<PyAny>>>();
    // SAFETY: contents of such classes are always in an object, which has its dict, or null, at that place.
    if dict == 0 { None } else { unsafe { (*place).as_ref() } }
}

/// Whether somebody has asked for the dict of an object, whose class has one: reading `__dict__` would make it.
#[inline]
pub fn has_dict<T: Pooled>(object: &Bound<'_, T>) -> bool {
    // SAFETY: a live object, whose dict is at that place.
    unsafe { !object.as_ptr().byte_add(T::class().dict.load(Relaxed)).cast::<Object>().read().is_null() }
}

/// Whether an object has neither a dict nor weak references.
pub fn is_plain_object<T: Pooled>(object: &Bound<'_, T>) -> bool {
    !has_dict(object) && !has_weak_references(object.as_any())
}

/// Whether a pointer in an object is still zero: the interpreter makes the dict of an object before pyo3 writes its
/// contents, and the collector may look at the object in between.
pub fn is_null<T>(pointer: &std::sync::Arc<T>) -> bool {
    // SAFETY: the first word of a pointer is an address, of which zero is none; it is read as a number.
    unsafe { std::ptr::from_ref(pointer).cast::<usize>().read_volatile() == 0 }
}

/// Frees an object of the class or of a subclass: called by the interpreter when nobody refers to it any more.
unsafe extern "C" fn free<T: Pooled>(object: Object) {
    let known = T::class();
    // SAFETY: the object is ours; its type is that of a class with these offsets, and outlives it until the end.
    unsafe {
        let class = ffi::Py_TYPE(object);
        if ffi::PyType_HasFeature(class, ffi::Py_TPFLAGS_HAVE_GC) != 0 {
            ffi::PyObject_GC_UnTrack(object.cast());
        }
        if !object.byte_add(known.weak.load(Relaxed)).cast::<Object>().read().is_null() {
            ffi::PyObject_ClearWeakRefs(object);
        }
        let contents = object.byte_add(known.contents.load(Relaxed)).cast::<T>();
        if (*contents).is_plain() {
            contents.drop_in_place();
        } else {
            // They may hold objects, which are freed by whoever is attached. A panic has been printed.
            Python::attach(|_| drop(catch_unwind(AssertUnwindSafe(|| contents.drop_in_place()))));
        }
        match known.dict.load(Relaxed) {
            0 => {}
            place => ffi::Py_XDECREF(object.byte_add(place).cast::<Object>().replace(null_mut())),
        }
        let spare = known.keep(Python::assume_attached(), class, object);
        if let Some(release) = (*class).tp_free.filter(|_| !spare) {
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

/// Reads off a sample what has to be known of its class, and tells the interpreter how objects are freed.
pub fn register<T: Pooled>(sample: Bound<'_, T>) {
    let known = T::class();
    let class = sample.as_any().get_type().as_type_ptr();
    known.object.store(class, Relaxed);
    known.contents.store(std::ptr::from_ref(sample.get()) as usize - sample.as_ptr() as usize, Relaxed);
    // SAFETY: the class is new: it has no subclasses yet, and the sample is freed by the function that made it.
    unsafe {
        known.weak.store((*class).tp_weaklistoffset as usize, Relaxed);
        known.dict.store(usize::try_from((*class).tp_dictoffset).unwrap_or(0), Relaxed);
        drop(sample);
        (*class).tp_dealloc = Some(free::<T>);
    }
}
