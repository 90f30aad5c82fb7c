//! A call of a Python function with some of its arguments replaced.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use smallvec::SmallVec;

type Object = *mut ffi::PyObject;

/// Arguments as the interpreter passes them: `positional` objects, then one for each name of `kwnames`.
#[derive(Clone, Copy)]
pub struct Call<'py> {
    py: Python<'py>,
    args: *const Object,
    positional: usize,
    kwnames: Object,
}

impl<'py> Call<'py> {
    /// # Safety
    /// The pointers are those of a vectorcall in progress, and the value does not outlive it.
    pub unsafe fn new(py: Python<'py>, args: *const Object, nargsf: usize, kwnames: Object) -> Call<'py> {
        // SAFETY: plain arithmetic.
        let positional = unsafe { ffi::PyVectorcall_NARGS(nargsf) } as usize;
        Call { py, args, positional, kwnames }
    }

    #[inline]
    pub fn py(&self) -> Python<'py> {
        self.py
    }
    /// Number of positional arguments.
    #[inline]
    pub fn len(&self) -> usize {
        self.positional
    }
    /// Positional argument `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Borrowed<'_, 'py, PyAny> {
        assert!(i < self.positional);
        // SAFETY: in range, and the caller's objects live as long as the call.
        unsafe { Borrowed::from_ptr(self.py, *self.args.add(i)) }
    }

    /// All arguments as a tuple and a dict.
    pub fn arguments(&self) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let args = PyTuple::new(self.py, (0..self.positional).map(|i| self.get(i).to_owned()).collect::<Vec<_>>())?;
        let kwargs = PyDict::new(self.py);
        if !self.kwnames.is_null() {
            // SAFETY: a tuple of names, made by the interpreter, with an argument for each behind the positional ones.
            let names = unsafe { Borrowed::from_ptr(self.py, self.kwnames).cast_unchecked::<PyTuple>() };
            for (i, name) in names.iter().enumerate() {
                // SAFETY: as above.
                kwargs.set_item(name, unsafe { Borrowed::from_ptr(self.py, *self.args.add(self.positional + i)) })?;
            }
        }
        Ok((args, kwargs))
    }

    /// Calls `f` with these arguments, those at the given positions replaced.
    pub fn invoke(&self, f: &Bound<'py, PyAny>, new: &[(usize, Bound<'py, PyAny>)]) -> PyResult<Bound<'py, PyAny>> {
        let keywords = if self.kwnames.is_null() {
            0
        } else {
            // SAFETY: a tuple of names, made by the interpreter.
            (unsafe { ffi::PyTuple_GET_SIZE(self.kwnames) }) as usize
        };
        let mut args: SmallVec<[Object; 8]> = SmallVec::new();
        args.push(std::ptr::null_mut());
        for i in 0..self.positional + keywords {
            // SAFETY: the interpreter passes that many objects.
            args.push(unsafe { *self.args.add(i) });
        }
        for (i, object) in new {
            args[i + 1] = object.as_ptr();
        }
        // SAFETY: slot 0 is spare, then come the arguments; `new` keeps its objects alive, the caller all others.
        unsafe {
            let n = self.positional | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
            let out = ffi::PyObject_Vectorcall(f.as_ptr(), args.as_ptr().add(1), n, self.kwnames);
            Bound::from_owned_ptr_or_err(self.py, out)
        }
    }
}

/// Calls `f` with positional arguments.
pub fn invoke<'py>(f: &Bound<'py, PyAny>, args: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
    let mut pointers: SmallVec<[Object; 8]> = SmallVec::new();
    pointers.push(std::ptr::null_mut());
    pointers.extend(args.iter().map(Bound::as_ptr));
    // SAFETY: slot 0 is spare, then come the arguments, which the caller keeps alive.
    unsafe {
        let n = args.len() | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
        let out = ffi::PyObject_Vectorcall(f.as_ptr(), pointers.as_ptr().add(1), n, std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(f.py(), out)
    }
}
