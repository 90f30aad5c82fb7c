//! What a raised exception says. A few say that an object is of another kind than was asked for; all others are the
//! program's own, or a wish to stop, and pass through unchanged.

use crate::types::errors::{Fault, PyResult};
use pyo3::exceptions::{PyAttributeError, PyKeyboardInterrupt, PyLookupError, PyTypeError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyInt, PyIterator, PyString};

/// The result; `None` where a TypeError or an AttributeError says that the object is of another kind.
pub fn fitting<T>(py: Python<'_>, result: Result<T, impl Into<Fault>>) -> PyResult<Option<T>> {
    known(result, |e| e.is_instance_of::<PyTypeError>(py) || e.is_instance_of::<PyAttributeError>(py))
}

/// The result; `None` where the exception says that a container has no such item.
pub fn found<T>(py: Python<'_>, result: Result<T, impl Into<Fault>>) -> PyResult<Option<T>> {
    known(result, |e| e.is_instance_of::<PyTypeError>(py) || e.is_instance_of::<PyLookupError>(py))
}

/// The result; `None` where the exception is one of those that `inspect.signature` raises for what has no signature.
pub fn with_signature<T>(py: Python<'_>, result: Result<T, impl Into<Fault>>) -> PyResult<Option<T>> {
    known(result, |e| e.is_instance_of::<PyTypeError>(py) || e.is_instance_of::<PyValueError>(py))
}

fn known<T>(result: Result<T, impl Into<Fault>>, is_answer: impl FnOnce(&PyErr) -> bool) -> PyResult<Option<T>> {
    match result.map_err(Into::into) {
        Ok(x) => Ok(Some(x)),
        Err(e) if is_answer(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The integer that an object stands for by `__index__`, if it does.
pub fn index<'py>(o: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyInt>>> {
    // SAFETY: a live object; the call gives a new reference or raises.
    unsafe {
        if ffi::PyIndex_Check(o.as_ptr()) == 0 {
            return Ok(None);
        }
        let number = Bound::from_owned_ptr_or_err(o.py(), ffi::PyNumber_Index(o.as_ptr()));
        Ok(fitting(o.py(), number)?.map(|i| i.cast_into_unchecked()))
    }
}

/// As [`index`], where the integer has 64 bits.
pub fn whole(o: &Bound<'_, PyAny>) -> PyResult<Option<i64>> {
    // What is an int already runs no code any more: it can only be too large.
    Ok(index(o)?.and_then(|i| i.extract().ok()))
}

/// What an iterable gives. Nobody asks how much that is: what `__length_hint__` raises would be lost.
pub struct Items<'py>(Bound<'py, PyIterator>);

impl<'py> Iterator for Items<'py> {
    type Item = PyResult<Bound<'py, PyAny>>;
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|item| Ok(item?))
    }
}

/// What an iterable gives.
pub fn items<'py>(o: &Bound<'py, PyAny>) -> PyResult<Items<'py>> {
    Ok(o.try_iter().map(Items)?)
}

/// What an iterable gives, if the object is one.
pub fn items_if_any<'py>(o: &Bound<'py, PyAny>) -> PyResult<Option<Items<'py>>> {
    fitting(o.py(), items(o))
}

/// The characters of a string. Unlike its `Display`, this listens to no signals, whose exceptions would be lost.
pub fn text(s: &Bound<'_, PyString>) -> String {
    s.to_string_lossy().into_owned()
}

/// `str(o)`
pub fn str_of(o: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(text(&o.str()?))
}

/// `repr(o)`
pub fn repr_of(o: &Bound<'_, PyAny>) -> PyResult<String> {
    Ok(text(&o.repr()?))
}

/// Where an exception cannot be passed on, a wish to stop is at least heard later.
#[cold]
pub fn put_off(py: Python<'_>, e: &PyErr) {
    if e.is_instance_of::<PyKeyboardInterrupt>(py) {
        // SAFETY: attached.
        unsafe { ffi::PyErr_SetInterrupt() };
    }
}

/// Whether the class of an object is one of NumPy's own.
pub fn is_of_numpy(o: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = fitting(o.py(), o.get_type().module())?;
    Ok(module.is_some_and(|m| m.to_str().is_ok_and(|m| m == "numpy")))
}
