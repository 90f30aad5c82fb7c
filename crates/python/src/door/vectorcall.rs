//! Calls as the interpreter passes them, without a tuple and a dict.

use crate::door::callable::{self, Given};
use crate::process::gil;
use crate::types::errors::PyResult;
use pullback::dense::stack;
use pyo3::PyClass;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::pyclass::boolean_struct::True;
use pyo3::types::{PyDict, PyTuple, PyType};
use smallvec::SmallVec;
use std::ffi::c_ulong;

type Object = *mut ffi::PyObject;

/// Arguments of a call in progress: `positional` objects, then one for each name of `kwnames`.
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
    pub fn positional(&self) -> usize {
        self.positional
    }
    /// Positional argument `i`.
    #[inline]
    pub fn get(&self, i: usize) -> Borrowed<'_, 'py, PyAny> {
        assert!(i < self.positional);
        // SAFETY: in range, and the caller's objects live as long as the call.
        unsafe { Borrowed::from_ptr(self.py, *self.args.add(i)) }
    }
    /// The positional arguments.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Borrowed<'_, 'py, PyAny>> {
        (0..self.positional).map(|i| self.get(i))
    }
    /// Number of keyword arguments.
    #[inline]
    pub fn keywords(&self) -> usize {
        if self.kwnames.is_null() {
            return 0;
        }
        // SAFETY: a tuple of names, made by the interpreter.
        (unsafe { ffi::PyTuple_GET_SIZE(self.kwnames) }) as usize
    }

    /// All arguments as a tuple and a dict.
    pub fn arguments(&self) -> PyResult<(Bound<'py, PyTuple>, Bound<'py, PyDict>)> {
        let args = PyTuple::new(self.py, self.iter().map(|a| a.to_owned()))?;
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
        let mut args: SmallVec<[Object; 8]> = SmallVec::new();
        args.push(std::ptr::null_mut());
        for i in 0..self.positional + self.keywords() {
            // SAFETY: the interpreter passes that many objects.
            args.push(unsafe { *self.args.add(i) });
        }
        for (i, object) in new {
            args[i + 1] = object.as_ptr();
        }
        // SAFETY: slot 0 is spare, then come the arguments; `new` keeps its objects alive, the caller all others.
        unsafe { vectorcall(f, &args, self.positional, self.kwnames) }
    }

    /// Calls `f` with these arguments, `first` before them.
    pub fn forward(&self, f: &Bound<'py, PyAny>, first: Option<Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let mut args: SmallVec<[Object; 8]> = SmallVec::new();
        args.push(std::ptr::null_mut());
        args.extend(first.iter().map(Bound::as_ptr));
        for i in 0..self.positional + self.keywords() {
            // SAFETY: the interpreter passes that many objects.
            args.push(unsafe { *self.args.add(i) });
        }
        // SAFETY: slot 0 is spare, then come the arguments, which this function and the caller keep alive.
        unsafe { vectorcall(f, &args, self.positional + usize::from(first.is_some()), self.kwnames) }
    }
}

/// # Safety
/// `args` begins with a spare slot, then come live objects: `positional` ones and one for each name in `names`, a tuple
/// of strings or null.
unsafe fn vectorcall<'py>(
    f: &Bound<'py, PyAny>,
    args: &[Object],
    positional: usize,
    names: Object,
) -> PyResult<Bound<'py, PyAny>> {
    // SAFETY: as the caller promises.
    unsafe {
        let n = positional | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
        let out = ffi::PyObject_Vectorcall(f.as_ptr(), args.as_ptr().add(1), n, names);
        Ok(Bound::from_owned_ptr_or_err(f.py(), out)?)
    }
}

/// Calls `f` with positional arguments.
pub fn invoke<'py>(f: &Bound<'py, PyAny>, args: &[Bound<'py, PyAny>]) -> PyResult<Bound<'py, PyAny>> {
    invoke_named(f, &[], args, None)
}

/// Calls `f` with the arguments `first` and `rest`, the last ones by these names.
pub fn invoke_named<'py>(
    f: &Bound<'py, PyAny>,
    first: &[Bound<'py, PyAny>],
    rest: &[Bound<'py, PyAny>],
    names: Option<&Bound<'py, PyTuple>>,
) -> PyResult<Bound<'py, PyAny>> {
    let (n, names) = (first.len() + rest.len(), names.map_or(std::ptr::null_mut(), |n| n.as_ptr()));
    // SAFETY: a tuple of names.
    let positional = n - if names.is_null() { 0 } else { (unsafe { ffi::PyTuple_GET_SIZE(names) }) as usize };
    let mut few = [std::ptr::null_mut(); 8];
    if n < few.len() {
        for (to, object) in few[1..].iter_mut().zip(first) {
            *to = object.as_ptr();
        }
        for (to, object) in few[1 + first.len()..].iter_mut().zip(rest) {
            *to = object.as_ptr();
        }
        // SAFETY: slot 0 is spare, then come the arguments, which the caller keeps alive.
        return unsafe { vectorcall(f, &few[..=n], positional, names) };
    }
    let mut args = vec![std::ptr::null_mut()];
    args.extend(first.iter().chain(rest).map(Bound::as_ptr));
    // SAFETY: as above.
    unsafe { vectorcall(f, &args, positional, names) }
}

/// A class whose objects are called by [`entry`].
pub trait Callable: PyClass<Frozen = True> + Sync {
    /// What the door is told of a call.
    fn callable(&self) -> callable::Callable;
    fn called<'py>(&self, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>>;
}

/// Called by the interpreter.
///
/// # Safety
/// `object` is an object of the class, and the pointers are those of a vectorcall in progress.
pub unsafe extern "C" fn entry<T: Callable>(
    object: Object,
    args: *const Object,
    nargsf: usize,
    names: Object,
) -> Object {
    let called = |py: Python<'_>| {
        // What is called may call it again.
        stack::check()?;
        // SAFETY: as the caller promises, who holds the object too.
        unsafe {
            let me = Borrowed::from_ptr(py, object).cast_unchecked::<T>();
            let given = Given::of_call(std::ptr::null_mut(), args, ffi::PyVectorcall_NARGS(nargsf) as usize, names);
            if !callable::is_ordinary(given.objects())
                && let Some(out) = callable::overridden(py, me.get().callable(), given)
            {
                return out.map(Bound::into_ptr);
            }
            me.get().called(&Call::new(py, args, nargsf, names)).map(Bound::into_ptr)
        }
    };
    // SAFETY: the interpreter calls.
    unsafe { crate::door::enter::enter(called) }
}

/// Calls an object of a class with an entry point with a tuple and a dict.
///
/// # Safety
/// The object's class was given to [`install`].
pub unsafe fn call_by_entry<'py>(
    object: &Bound<'py, PyAny>,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let kwargs = kwargs.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: live objects of the right types; the class has the entry point.
    unsafe {
        Ok(Bound::from_owned_ptr_or_err(object.py(), ffi::PyVectorcall_Call(object.as_ptr(), args.as_ptr(), kwargs))?)
    }
}

/// Tells the interpreter that objects of a class are called by the entry point at `offset` of their contents.
///
/// # Safety
/// Nobody has used the class yet but for `sample`, an object of it whose contents are at `contents`; at `offset` every
/// object of it has a `vectorcallfunc`.
pub unsafe fn install(
    class: &Bound<'_, PyType>,
    sample: &Bound<'_, PyAny>,
    contents: usize,
    offset: usize,
    flags: c_ulong,
) {
    let contents = contents - sample.as_ptr() as usize;
    // SAFETY: as the caller promises.
    unsafe {
        let class = class.as_type_ptr();
        (*class).tp_vectorcall_offset = (contents + offset) as ffi::Py_ssize_t;
        gil::add_flags(class, ffi::Py_TPFLAGS_HAVE_VECTORCALL | flags);
    }
}
