//! `Size`: the dimensions of a tensor, a tuple that stays a `Size` under slicing, `+` and `*`.
//!
//! A class over tuple's variable-sized layout cannot be a pyo3 class, so the type is made through the C API.

use crate::types::class;
use crate::types::errors::PyResult;
use pyo3::exceptions::PyTypeError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyTuple, PyType};
use std::ffi::{CStr, c_int, c_void};
use std::mem::transmute;
use std::ptr::null_mut;

const DOC: &CStr = c"Size(dims=())\n--\n\nThe dimensions of a tensor: a tuple of ints.";

struct SizeType {
    object: Py<PyType>,
    tuple_new: ffi::newfunc,
    tuple_subscript: ffi::binaryfunc,
    /// Whether a tuple is its items and nothing else: then one is allocated and filled directly.
    /// From Python 3.14 it also caches its hash, and only tuple's own constructor prepares that field.
    plain: bool,
}

static SIZE: PyOnceLock<SizeType> = PyOnceLock::new();

fn size_type(py: Python<'_>) -> PyResult<&SizeType> {
    SIZE.get_or_try_init(py, || make_type(py))
}

/// A `Size` with these dimensions.
pub fn size_object<'py>(py: Python<'py>, dims: &[usize]) -> PyResult<Bound<'py, PyAny>> {
    from_ints(py, dims.len(), dims.iter().map(|d| *d as i64))
}

/// The class, whose instances are pytree nodes as tuples are.
pub fn size_class(py: Python<'_>) -> PyResult<&Bound<'_, PyType>> {
    Ok(size_type(py)?.object.bind(py))
}

fn from_ints<'py>(py: Python<'py>, len: usize, dims: impl Iterator<Item = i64>) -> PyResult<Bound<'py, PyAny>> {
    let size = size_type(py)?;
    if !size.plain {
        let items = dims.map(|d| d.into_pyobject(py)).collect::<Result<Vec<_>, _>>()?;
        return convert(py, &PyTuple::new(py, items)?);
    }
    // SAFETY: the object is new, its type lays it out as a tuple of `len` items, and each index is below `len`;
    // `PyTuple_SetItem` takes over the reference to the int, and tolerates null items until then.
    unsafe {
        let object = ffi::PyType_GenericAlloc(size.object.as_ptr().cast(), len as ffi::Py_ssize_t);
        let object = Bound::from_owned_ptr_or_err(py, object)?;
        for (i, d) in dims.enumerate().take(len) {
            let item = Bound::from_owned_ptr_or_err(py, ffi::PyLong_FromLongLong(d))?;
            ffi::PyTuple_SetItem(object.as_ptr(), i as ffi::Py_ssize_t, item.into_ptr());
        }
        Ok(object)
    }
}

/// A `Size` with the items of a tuple, unchecked.
fn convert<'py>(py: Python<'py>, items: &Bound<'py, PyTuple>) -> PyResult<Bound<'py, PyAny>> {
    let size = size_type(py)?;
    let args = PyTuple::new(py, [items])?;
    // SAFETY: tuple's constructor accepts any subtype of tuple and an argument tuple.
    unsafe {
        Ok(Bound::from_owned_ptr_or_err(py, (size.tuple_new)(size.object.as_ptr().cast(), args.as_ptr(), null_mut()))?)
    }
}

/// The items as ints; anything with `__index__` counts.
fn checked<'py>(py: Python<'py>, items: impl Iterator<Item = Bound<'py, PyAny>>) -> PyResult<Bound<'py, PyAny>> {
    let mut dims = Vec::new();
    for (i, item) in items.enumerate() {
        // SAFETY: attached, and `item` is alive.
        if unsafe { ffi::PyIndex_Check(item.as_ptr()) } == 0 {
            let got = class::type_name(&item);
            return Err(PyTypeError::new_err(short!("Size(): item {i} expected an int, got {got}")).into());
        }
        dims.push(item.extract::<i64>()?);
    }
    from_ints(py, dims.len(), dims.into_iter())
}

/// Hands a result to the interpreter: a new reference, or null with the exception set.
fn finish(py: Python<'_>, result: PyResult<Bound<'_, PyAny>>) -> *mut PyObject {
    match result {
        Ok(object) => object.into_ptr(),
        Err(error) => {
            PyErr::from(error).restore(py);
            null_mut()
        }
    }
}

/// Runs a slot of the type. Slots are entered attached; they hold no code that panics.
///
/// # Safety
/// The pointers are live objects.
unsafe fn slot(
    a: *mut PyObject,
    b: *mut PyObject,
    body: impl for<'py> FnOnce(&Bound<'py, PyAny>, &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>,
) -> *mut PyObject {
    Python::attach(|py| {
        // SAFETY: promised by the caller.
        let (a, b) = unsafe { (Borrowed::from_ptr(py, a), Borrowed::from_ptr(py, b)) };
        finish(py, body(&a, &b))
    })
}

unsafe extern "C" fn new(_: *mut ffi::PyTypeObject, args: *mut PyObject, kwargs: *mut PyObject) -> *mut PyObject {
    Python::attach(|py| {
        // SAFETY: the interpreter passes a tuple, and a dict or null; `tuple` itself takes the same arguments.
        let items = size_type(py).and_then(|size| unsafe {
            let tuple = (size.tuple_new)(&raw mut ffi::PyTuple_Type, args, kwargs);
            Ok(Bound::from_owned_ptr_or_err(py, tuple)?)
        });
        finish(py, items.and_then(|t| checked(py, t.cast::<PyTuple>()?.iter())))
    })
}

unsafe extern "C" fn repr(slf: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes the object.
    unsafe {
        slot(slf, slf, |size, _| {
            let items = size
                .cast::<PyTuple>()?
                .iter()
                .map(|d| crate::types::raised::repr_of(&d))
                .collect::<PyResult<Vec<_>>>()?;
            Ok(format!("{}Size([{}])", crate::types::library::prefix(), items.join(", "))
                .into_pyobject(size.py())?
                .into_any())
        })
    }
}

unsafe extern "C" fn subscript(slf: *mut PyObject, key: *mut PyObject) -> *mut PyObject {
    Python::attach(|py| {
        // SAFETY: the object is a tuple, whose own subscript function is called; slicing gives a plain tuple.
        let item = size_type(py)
            .and_then(|size| unsafe { Ok(Bound::from_owned_ptr_or_err(py, (size.tuple_subscript)(slf, key))?) });
        // SAFETY: the interpreter passes a live key.
        let is_slice = unsafe { ffi::PySlice_Check(key) != 0 };
        finish(py, if is_slice { item.and_then(|t| convert(py, t.cast()?)) } else { item })
    })
}

unsafe extern "C" fn add(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes both operands.
    unsafe {
        slot(a, b, |a, b| {
            let py = a.py();
            let (Ok(x), Ok(y)) = (a.cast::<PyTuple>(), b.cast::<PyTuple>()) else {
                if a.get_type().is(size_class(py)?) && !b.get_type().hasattr("__radd__")? {
                    let got = class::type_name(b);
                    let text = short!("can only concatenate tuple (not {got}) to torch.Size; convert it with tuple()");
                    return Err(PyTypeError::new_err(text).into());
                }
                return Ok(py.NotImplemented().into_bound(py));
            };
            checked(py, x.iter().chain(y.iter()))
        })
    }
}

unsafe extern "C" fn multiply(a: *mut PyObject, b: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes both operands.
    unsafe {
        slot(a, b, |a, b| {
            let py = a.py();
            let (items, times) = match (a.cast::<PyTuple>(), b.cast::<PyTuple>()) {
                (Ok(items), Err(_)) => (items, b),
                (Err(_), Ok(items)) => (items, a),
                _ => return Ok(py.NotImplemented().into_bound(py)),
            };
            if ffi::PyIndex_Check(times.as_ptr()) == 0 {
                return Ok(py.NotImplemented().into_bound(py));
            }
            let repeated = items.as_sequence().repeat(times.extract::<i64>()?.max(0) as usize)?;
            convert(py, &repeated.to_tuple()?)
        })
    }
}

unsafe extern "C" fn numel(slf: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes the object.
    unsafe {
        slot(slf, slf, |size, _| {
            let mut product = 1_i64.into_pyobject(size.py())?.into_any();
            for d in size.cast::<PyTuple>()?.iter() {
                product = product.mul(d)?;
            }
            Ok(product)
        })
    }
}

unsafe extern "C" fn reduce(slf: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: the interpreter passes the object.
    unsafe {
        slot(slf, slf, |size, _| {
            let plain = PyTuple::new(size.py(), size.cast::<PyTuple>()?.iter())?;
            Ok((size.get_type(), (plain,)).into_pyobject(size.py())?.into_any())
        })
    }
}

/// Argumentless methods. The interpreter keeps the table, so it is never freed.
fn methods() -> *mut c_void {
    let method = |name: &'static CStr, function, doc: &'static CStr| ffi::PyMethodDef {
        ml_name: name.as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: function },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: doc.as_ptr(),
    };
    let table = Box::new([
        method(c"numel", numel, c"numel($self, /)\n--\n\nThe number of elements: the product of the dimensions."),
        method(c"__reduce__", reduce, c""),
        ffi::PyMethodDef::zeroed(),
    ]);
    Box::leak(table).as_mut_ptr().cast()
}

fn make_type(py: Python<'_>) -> PyResult<SizeType> {
    let entry = |slot: c_int, function: *mut c_void| ffi::PyType_Slot { slot, pfunc: function };
    let mut slots = [
        entry(ffi::Py_tp_new, new as ffi::newfunc as *mut c_void),
        entry(ffi::Py_tp_repr, repr as ffi::reprfunc as *mut c_void),
        entry(ffi::Py_mp_subscript, subscript as ffi::binaryfunc as *mut c_void),
        entry(ffi::Py_nb_add, add as ffi::binaryfunc as *mut c_void),
        entry(ffi::Py_nb_multiply, multiply as ffi::binaryfunc as *mut c_void),
        entry(ffi::Py_tp_methods, methods()),
        entry(ffi::Py_tp_doc, DOC.as_ptr().cast_mut().cast()),
        ffi::PyType_Slot::default(),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"pullback.Size".as_ptr(),
        basicsize: 0,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as u32,
        slots: slots.as_mut_ptr(),
    };
    let tuple = py.get_type::<PyTuple>();
    // SAFETY: the specification is complete and ends with a zeroed slot; sizes of 0 are inherited from tuple.
    // Tuple has both slots that are read, of the function types that these numbers stand for.
    unsafe {
        let object = ffi::PyType_FromSpecWithBases(&mut spec, tuple.as_ptr());
        let object = Bound::from_owned_ptr_or_err(py, object)?.cast_into::<PyType>()?;
        let read = |number| ffi::PyType_GetSlot(tuple.as_ptr().cast(), number);
        let basicsize: usize = tuple.getattr("__basicsize__")?.extract()?;
        Ok(SizeType {
            object: object.unbind(),
            tuple_new: transmute::<*mut c_void, ffi::newfunc>(read(ffi::Py_tp_new)),
            tuple_subscript: transmute::<*mut c_void, ffi::binaryfunc>(read(ffi::Py_mp_subscript)),
            plain: basicsize == size_of::<ffi::PyVarObject>(),
        })
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(m.add("Size", size_class(m.py())?)?)
}
