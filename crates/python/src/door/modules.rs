//! Calls of `nn.Module`: at once what computes, or what runs the hooks around it.

use crate::door::enter::enter;
use crate::types::errors::PyResult;
use pullback::dense::stack;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyString;
use smallvec::SmallVec;

type Object = *mut ffi::PyObject;

/// An attribute of an object or its class, without `__getattr__`, which modules have for parameters.
///
/// # Safety
/// A live object.
unsafe fn attribute<'py>(object: Object, name: &Bound<'py, PyString>) -> Option<Bound<'py, PyAny>> {
    // SAFETY: by the contract; a new reference, or null with an exception.
    unsafe {
        let found = ffi::PyObject_GenericGetAttr(object, name.as_ptr());
        if found.is_null() {
            ffi::PyErr_Clear();
        }
        Bound::from_owned_ptr_or_opt(name.py(), found)
    }
}

/// `module(*args, **kwargs)`
unsafe extern "C" fn call(module: Object, args: *const Object, n: ffi::Py_ssize_t, names: Object) -> Object {
    let called = |py: Python<'_>| -> PyResult<Object> {
        // A module calls others, and they may call it.
        stack::check()?;
        // SAFETY: the interpreter passes an object, `n` arguments and the values of `names`.
        unsafe {
            let hooked = attribute(module, intern!(py, "_hooked")).is_some_and(|h| h.as_ptr() == ffi::Py_True());
            let name = if hooked { intern!(py, "_call_hooked") } else { intern!(py, "forward") };
            let named = if names.is_null() { 0 } else { ffi::PyTuple_GET_SIZE(names) };
            let mut all: SmallVec<[Object; 6]> = SmallVec::new();
            all.push(module);
            all.extend((0..n + named).map(|i| *args.offset(i)));
            // The module's place is a spare slot for a method that is none of its class.
            let positional = (n as usize + 1) | ffi::PY_VECTORCALL_ARGUMENTS_OFFSET;
            let out = ffi::PyObject_VectorcallMethod(name.as_ptr(), all.as_ptr(), positional, names);
            if out.is_null() {
                return Err(with_class(py, module).into());
            }
            Ok(out)
        }
    };
    // SAFETY: the interpreter calls.
    unsafe { enter(called) }
}

/// The error that is set, with the class of the module in front if it is one of its own that names nothing.
///
/// # Safety
/// A live object, and an exception is set.
#[cold]
unsafe fn with_class(py: Python<'_>, module: Object) -> PyErr {
    let error = PyErr::fetch(py);
    // SAFETY: by the contract.
    let module = unsafe { Borrowed::<PyAny>::from_ptr(py, module) };
    if let Some(traceback) = error.traceback(py) {
        let _ = error.value(py).setattr(intern!(py, "__traceback__"), traceback);
    }
    let naming = py.import("pullback.nn._overriding").and_then(|m| m.getattr("name_module"));
    match naming.and_then(|f| f.call1((error.value(py), module))) {
        Ok(_) => error,
        Err(e) => e,
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let def = Box::leak(Box::new(ffi::PyMethodDef {
        ml_name: c"__call__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunctionFastWithKeywords: call },
        ml_flags: ffi::METH_FASTCALL | ffi::METH_KEYWORDS,
        ml_doc: c"__call__($self, /, *args, **kwargs)\n--\n\nRuns the module, and its hooks if it has some.".as_ptr(),
    }));
    // SAFETY: the definition is never freed; any object may be the first argument.
    let method = unsafe {
        let class = &raw mut ffi::PyBaseObject_Type;
        Bound::from_owned_ptr_or_err(m.py(), ffi::PyDescr_NewMethod(class, def))?
    };
    Ok(m.setattr("_call_of_module", method)?)
}
