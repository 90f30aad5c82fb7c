//! The transformed function: a callable object that looks like the function it was made of.

use super::argnums::Argnums;
use super::grad::Grad;
use super::jacobian::{Forward, Reverse};
use super::vmap::Vmap;
use super::{passed, place, trace};
use crate::door::callable as door;
use crate::door::vectorcall;
use crate::door::vectorcall::{Call, Callable};
use crate::process::object;
use crate::types::errors::PyResult;
use crate::types::raised;
use pullback::core::origin::Origin;
use pyo3::exceptions::PyAttributeError;
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple, PyType};
use pyo3::{ffi, intern};
use std::mem::offset_of;

/// Which transform, with its options.
pub enum Transformation {
    Grad(Grad),
    Vmap(Vmap),
    Reverse(Reverse),
    Forward(Forward),
    Trace,
}

/// A function made by `grad`, `vmap`, `jacrev`, `jacfwd` or `trace`. It takes the arguments of the function that it was made
/// of, and shows that function's name, documentation and signature.
#[pyclass(frozen, dict, weakref, module = "pullback.func")]
pub struct Transform {
    /// Where the interpreter looks for the entry point.
    vectorcall: ffi::vectorcallfunc,
    func: Py<PyAny>,
    kind: Transformation,
    pub origin: Origin,
}

/// Names that a transformed function has from the function itself.
const FORWARDED: [&str; 4] = ["__name__", "__qualname__", "__module__", "__doc__"];

impl Transform {
    /// `func` transformed.
    pub fn make<'py>(func: &Bound<'py, PyAny>, kind: Transformation) -> PyResult<Bound<'py, PyAny>> {
        let origin = place::origin(kind.name(), func)?;
        let t = Transform { vectorcall: vectorcall::entry::<Transform>, func: func.clone().unbind(), kind, origin };
        Ok(object::make_with_dict(func.py(), t)?.into_any())
    }

    #[inline]
    pub fn func<'py>(&self, py: Python<'py>) -> &Bound<'py, PyAny> {
        self.func.bind(py)
    }

    /// `vmap(grad(loss))`
    pub fn label(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("{}({})", self.kind.name(), place::name_of(self.func(py))?))
    }
}

impl Transformation {
    pub fn name(&self) -> &'static str {
        match self {
            Transformation::Grad(g) => g.name(),
            Transformation::Vmap(_) => "vmap",
            Transformation::Reverse(_) => "jacrev",
            Transformation::Forward(_) => "jacfwd",
            Transformation::Trace => "trace",
        }
    }

    /// Options as keyword arguments.
    fn options<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let options = PyDict::new(py);
        match self {
            Transformation::Grad(g) => g.options(&options)?,
            Transformation::Vmap(v) => v.options(&options)?,
            Transformation::Reverse(r) => r.options(&options)?,
            Transformation::Forward(f) => f.options(&options)?,
            Transformation::Trace => {}
        }
        Ok(options)
    }
}

unsafe extern "C" {
    fn PyMethod_New(function: *mut ffi::PyObject, instance: *mut ffi::PyObject) -> *mut ffi::PyObject;
}

impl Callable for Transform {
    fn callable(&self) -> door::Callable {
        door::Callable { kind: door::Access::Transform, name: self.kind.name() }
    }
    fn called<'py>(&self, call: &Call<'py>) -> PyResult<Bound<'py, PyAny>> {
        match &self.kind {
            Transformation::Grad(g) => passed::run(call, || g.call(self, call)),
            Transformation::Vmap(v) => v.call(self, call),
            Transformation::Reverse(r) => passed::run(call, || r.call(self, call)),
            Transformation::Forward(f) => passed::run(call, || f.call(self, call)),
            Transformation::Trace => trace::run(self, call),
        }
    }
}

#[pymethods]
impl Transform {
    #[pyo3(signature = (*args, **kwargs))]
    fn __call__<'py>(
        slf: &Bound<'py, Self>,
        args: &Bound<'py, PyTuple>,
        kwargs: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: `register` has given the class its entry point.
        unsafe { vectorcall::call_by_entry(slf, args, kwargs) }
    }

    /// In a class body a transformed function is a method.
    fn __get__<'py>(
        slf: &Bound<'py, Self>,
        instance: &Bound<'py, PyAny>,
        owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _ = owner;
        if instance.is_none() {
            return Ok(slf.clone().into_any());
        }
        // SAFETY: both objects are alive.
        unsafe { Ok(Bound::from_owned_ptr_or_err(slf.py(), PyMethod_New(slf.as_ptr(), instance.as_ptr()))?) }
    }

    fn __getattribute__<'py>(slf: &Bound<'py, Self>, name: &Bound<'py, PyString>) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let text = name.to_str()?;
        if FORWARDED.contains(&text) || text == "__signature__" {
            // SAFETY: the class has an instance dict; a new reference.
            let own = unsafe {
                Bound::from_owned_ptr_or_err(py, ffi::PyObject_GenericGetDict(slf.as_ptr(), std::ptr::null_mut()))?
            };
            if let Some(value) = own.cast::<PyDict>()?.get_item(name)? {
                return Ok(value);
            }
            return slf.get().forwarded(py, text);
        }
        // SAFETY: live objects.
        let found =
            unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyObject_GenericGetAttr(slf.as_ptr(), name.as_ptr())) };
        match found {
            // What the program has put on the function itself.
            Err(e) if e.is_instance_of::<PyAttributeError>(py) => match slf.get().lookup_in_function(py, name)? {
                Some(value) => Ok(value),
                None => Err(e.into()),
            },
            found => Ok(found?),
        }
    }

    /// The function that was transformed.
    #[getter]
    fn __wrapped__<'py>(&self, py: Python<'py>) -> Bound<'py, PyAny> {
        self.func(py).clone()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        self.label(py)
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let restore = py.import("pullback._core")?.getattr("_restore_transform")?;
        let args = PyTuple::new(py, [self.func(py)])?;
        let state = (self.kind.name(), args, self.kind.options(py)?);
        Ok(PyTuple::new(py, [restore, state.into_pyobject(py)?.into_any()])?)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.func)?;
        match &self.kind {
            Transformation::Vmap(v) => v.traverse(&visit),
            _ => Ok(()),
        }
    }
}

impl Transform {
    fn forwarded<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let func = self.func(py);
        if name == "__signature__" {
            let signature = py.import("inspect")?.getattr("signature")?.call1((func,));
            let none = || PyAttributeError::new_err("the function has no signature");
            return Ok(raised::with_signature(py, signature)?.ok_or_else(none)?);
        }
        Ok(match func.getattr_opt(name)? {
            Some(value) => value,
            None if name == "__doc__" => py.None().into_bound(py),
            None if name == "__module__" => intern!(py, "pullback.func").clone().into_any(),
            // Callable objects without a name, such as those of functools.partial.
            None => PyString::new(py, self.kind.name()).into_any(),
        })
    }

    fn lookup_in_function<'py>(
        &self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let func = self.func(py);
        if let Ok(inner) = func.cast::<Transform>() {
            return inner.get().lookup_in_function(py, name);
        }
        match func.getattr_opt(intern!(py, "__dict__"))? {
            Some(dict) => dict.cast::<PyDict>().map_or(Ok(None), |d| Ok(d.get_item(name)?)),
            None => Ok(None),
        }
    }
}

/// Adds the class, and tells the interpreter that its objects are called by their entry point and bind like functions.
pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = m.py();
    m.add_class::<Transform>()?;
    let class: Bound<'_, PyType> = py.get_type::<Transform>();
    let kind = Transformation::Grad(Grad { argnums: Argnums::One(0), has_aux: false, value: false });
    let sample =
        Transform { vectorcall: vectorcall::entry::<Transform>, func: py.None(), kind, origin: Origin::UNKNOWN };
    let sample = object::make_with_dict(py, sample)?;
    let (contents, offset) = (std::ptr::from_ref(sample.get()) as usize, offset_of!(Transform, vectorcall));
    // SAFETY: the class is new, and each of its objects has an entry point there.
    unsafe { vectorcall::install(&class, &sample, contents, offset, ffi::Py_TPFLAGS_METHOD_DESCRIPTOR) };
    Ok(())
}
