//! `__torch_function__`: subclasses of `Tensor` that answer calls themselves.

use super::callable::{self, Access, Callable, Given, is_basic};
use crate::types::errors::PyResult;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple, PyType};
use std::cell::Cell;
use std::ptr::null_mut;

type Object = *mut ffi::PyObject;
type Class = *mut ffi::PyTypeObject;

thread_local! {
    /// How many default handlers run: what they call is answered here, whatever the classes say.
    static DEFAULTS: Cell<usize> = const { Cell::new(0) };
    /// What is known of some classes, at the version that they had.
    static KNOWN: [Cell<(Class, u32, bool)>; 8] = const { [const { Cell::new((null_mut(), 0, false)) }; 8] };
}

/// The version of a class, which the interpreter changes with whatever the class or its bases define; 0 is none.
fn version(class: Class) -> u32 {
    // SAFETY: a live class.
    unsafe { (*class).tp_version_tag }
}

fn place(class: Class) -> usize {
    class as usize / 64 % 8
}

/// Whether a class has a say, if that is known.
fn known(class: Class) -> Option<bool> {
    let (at, tag, says) = KNOWN.with(|k| k[place(class)].get());
    (at == class && tag != 0 && tag == version(class)).then_some(says)
}

/// What a class answers that is above all others among the arguments; None if no class has a say.
pub fn call<'py>(
    py: Python<'py>,
    callable: Callable,
    given: Given<'_>,
    tensor: Class,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    if DEFAULTS.get() > 0 {
        return None;
    }
    let mut found = Vec::new();
    for o in given.objects() {
        if let Err(e) = collect(py, o, tensor, &mut found) {
            return Some(Err(e));
        }
    }
    if found.is_empty() { None } else { Some(ask(py, callable, given, &found)) }
}

/// Whether one of these has a say.
pub fn is_asked(py: Python<'_>, objects: impl Iterator<Item = Object>, tensor: Class) -> PyResult<bool> {
    let mut found = Vec::new();
    for o in objects {
        collect(py, o, tensor, &mut found)?;
    }
    Ok(!found.is_empty() && DEFAULTS.get() == 0)
}

/// Adds an argument that has a say, or the items of a list that have: one of each class, subclasses before others.
fn collect<'py>(py: Python<'py>, o: Object, tensor: Class, found: &mut Vec<Bound<'py, PyAny>>) -> PyResult<()> {
    // SAFETY: live objects of the caller's frame, and the items of its tuples and lists.
    unsafe {
        let class = ffi::Py_TYPE(o);
        if class == tensor {
            return Ok(());
        }
        if class == &raw mut ffi::PyTuple_Type {
            return (0..ffi::PyTuple_GET_SIZE(o))
                .try_for_each(|i| item(py, ffi::PyTuple_GET_ITEM(o, i), tensor, found));
        }
        if class == &raw mut ffi::PyList_Type {
            return (0..ffi::PyList_GET_SIZE(o)).try_for_each(|i| item(py, ffi::PyList_GET_ITEM(o, i), tensor, found));
        }
        item(py, o, tensor, found)
    }
}

/// # Safety
/// A live object.
unsafe fn item<'py>(py: Python<'py>, o: Object, tensor: Class, found: &mut Vec<Bound<'py, PyAny>>) -> PyResult<()> {
    // SAFETY: by the contract.
    let (class, o) = unsafe {
        let class = ffi::Py_TYPE(o);
        if class == tensor || is_basic(class) || known(class) == Some(false) {
            return Ok(());
        }
        if ffi::PyType_IsSubtype(class, tensor) == 0 {
            return Ok(());
        }
        (class, Borrowed::<PyAny>::from_ptr(py, o))
    };
    if !(known(class) == Some(true) || has_say(&o.get_type(), tensor)?)
        || found.iter().any(|f| f.get_type().as_type_ptr() == class)
    {
        return Ok(());
    }
    let mut at = found.len();
    for (i, f) in found.iter().enumerate() {
        if o.get_type().is_subclass(&f.get_type())? {
            at = i;
            break;
        }
    }
    found.insert(at, o.to_owned());
    Ok(())
}

/// Whether a subclass of `Tensor` defines `__torch_function__`.
fn has_say(class: &Bound<'_, PyType>, tensor: Class) -> PyResult<bool> {
    let name = intern!(class.py(), "__torch_function__");
    let mut says = false;
    for c in class.mro().iter() {
        if c.as_ptr() == tensor.cast() {
            break;
        }
        let own = c.getattr(intern!(class.py(), "__dict__"))?;
        if own.contains(name)? {
            says = !own.get_item(name)?.is_none();
            break;
        }
    }
    // The lookup gives the class a version, if it had none.
    class.getattr_opt(name)?;
    let pointer = class.as_type_ptr();
    KNOWN.with(|k| k[place(pointer)].set((pointer, version(pointer), says)));
    Ok(says)
}

fn ask<'py>(
    py: Python<'py>,
    callable: Callable,
    given: Given<'_>,
    found: &[Bound<'py, PyAny>],
) -> PyResult<Bound<'py, PyAny>> {
    let func = callable.object(py)?;
    let types = PyTuple::new(py, found.iter().map(|o| o.get_type()))?;
    let (args, kwargs) = (given.args(py)?, given.kwargs(py)?);
    let not_implemented = py.NotImplemented().into_bound(py);
    for o in found {
        let handler = o.getattr(intern!(py, "__torch_function__"))?;
        let out = match &kwargs {
            None => handler.call1((&func, &types, &args))?,
            Some(kwargs) => handler.call1((&func, &types, &args, kwargs))?,
        };
        if !out.is(&not_implemented) {
            return Ok(out);
        }
    }
    if callable.kind == Access::Operator {
        return Ok(not_implemented);
    }
    let names: Vec<String> = found.iter().map(|o| o.get_type().to_string()).collect();
    Err(PyTypeError::new_err(short!(
        "Multiple dispatch failed for '{}'; all __torch_function__ handlers returned NotImplemented: {}",
        callable.path(),
        names.join(", ")
    ))
    .into())
}

/// A default handler that runs.
struct Default;

impl Default {
    fn enter() -> Default {
        DEFAULTS.set(DEFAULTS.get() + 1);
        Default
    }
}

impl Drop for Default {
    fn drop(&mut self) {
        DEFAULTS.set(DEFAULTS.get() - 1);
    }
}

/// `Tensor.__torch_function__`: calls `func` as if no class had a say; tensors of the result become objects of `class`.
pub fn default<'py>(
    class: &Bound<'py, PyType>,
    func: &Bound<'py, PyAny>,
    types: &Bound<'py, PyAny>,
    args: Option<&Bound<'py, PyTuple>>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = func.py();
    for t in types.try_iter()? {
        if !class.is_subclass(&t?)? {
            return Ok(py.NotImplemented().into_bound(py));
        }
    }
    let out = {
        let _default = Default::enter();
        func.call(args.unwrap_or(&PyTuple::empty(py)), kwargs)?
    };
    for name in ["grad", "_grad", "_base"] {
        if func.eq(Callable { kind: Access::Getter, name }.object(py)?)? {
            return Ok(out);
        }
    }
    converted(&out, class)
}

/// Tensors, also in tuples and lists, as objects of the class.
fn converted<'py>(out: &Bound<'py, PyAny>, class: &Bound<'py, PyType>) -> PyResult<Bound<'py, PyAny>> {
    let py = out.py();
    if let Ok(list) = out.cast::<PyList>() {
        let items = list.iter().map(|o| converted(&o, class)).collect::<PyResult<Vec<_>>>()?;
        return Ok(PyList::new(py, items)?.into_any());
    }
    if let Ok(tuple) = out.cast::<PyTuple>() {
        let items = tuple.iter().map(|o| converted(&o, class)).collect::<PyResult<Vec<_>>>()?;
        let items = PyTuple::new(py, items)?;
        return match out.getattr_opt(intern!(py, "_make"))? {
            Some(make) => Ok(make.call1((items,))?),
            None if out.get_type().is(py.get_type::<PyTuple>()) => Ok(items.into_any()),
            None => Ok(out.clone()),
        };
    }
    if !callable::is_tensor(out) || out.is_instance(class)? {
        return Ok(out.clone());
    }
    let _default = Default::enter();
    Ok(out.call_method1(intern!(py, "as_subclass"), (class,))?)
}
