//! Whether tapes record: `no_grad`, `enable_grad`, `set_grad_enabled`, `inference_mode`, as context managers and
//! decorators.

use crate::door::descriptors::Out;
use crate::door::{callable, overrides};
use crate::function;
use crate::types::dtype;
use crate::types::errors::PyResult;
use crate::types::flag;
use pullback::base::Error;
use pullback::core::level;
use pullback::core::node::locked;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyInt};
use std::sync::Mutex;

/// Whether recording may be on: never in inference mode.
fn allowed(on: bool) -> bool {
    on && !level::inference()
}

/// The modes that blocks of one manager replaced, innermost last.
#[derive(Default)]
struct Before(Mutex<Vec<level::SavedMode>>);

impl Before {
    fn enter(&self, py: Python<'_>, on: bool) -> PyResult<()> {
        let before = level::set_grad_enabled(allowed(on));
        self.0.lock().unwrap_or_else(|e| e.into_inner()).push(before);
        if on { function::look(py) } else { Ok(()) }
    }
    fn exit(&self) {
        if let Some(before) = self.0.lock().unwrap_or_else(|e| e.into_inner()).pop() {
            level::set_grad_enabled(before);
        }
    }
}

/// `func` inside of a block of a new manager each time; generators run each of their steps in one.
fn decorate<'py>(make: &Bound<'py, PyAny>, func: &Bound<'py, PyAny>) -> Out<'py> {
    let module = func.py().import("pullback.autograd.grad_mode")?;
    Ok(module.getattr("decorate")?.call1((make, func))?)
}

macro_rules! switch {
    ($(#[doc = $doc:literal])* $class:ident, $name:literal, $on:literal) => {
        $(#[doc = $doc])*
        #[pyclass(frozen, subclass, name = $name, module = "pullback")]
        pub struct $class(Before);

        #[pymethods]
        impl $class {
            /// Bare in front of a function it decorates that.
            #[new]
            #[pyo3(signature = (orig_func=None))]
            fn made<'py>(py: Python<'py>, orig_func: Option<&Bound<'py, PyAny>>) -> Out<'py> {
                match orig_func {
                    Some(f) => decorate(py.get_type::<$class>().as_any(), f),
                    None => Ok(Bound::new(py, $class(Before::default()))?.into_any()),
                }
            }
            fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
                self.0.enter(py, $on)
            }
            #[pyo3(signature = (*_args))]
            fn __exit__(&self, _args: &Bound<'_, PyAny>) -> bool {
                self.0.exit();
                false
            }
            fn __call__<'py>(slf: &Bound<'py, Self>, func: &Bound<'py, PyAny>) -> Out<'py> {
                decorate(slf.get_type().as_any(), func)
            }
            /// Another manager of the same kind.
            fn clone<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
                Ok(slf.get_type().call0()?)
            }
        }
    };
}

switch! {
    /// Nothing is recorded inside: `with no_grad():`, or `@no_grad()` on a function.
    NoGrad, "no_grad", false
}
switch! {
    /// Recording is on inside, also within `no_grad`.
    EnableGrad, "enable_grad", true
}

/// Turns recording on or off at once; as a context manager, until the block ends.
#[pyclass(frozen, subclass, name = "set_grad_enabled", module = "pullback")]
pub struct SetGradEnabled {
    mode: bool,
    before: level::SavedMode,
}

#[pymethods]
impl SetGradEnabled {
    #[new]
    fn new(py: Python<'_>, mode: &Bound<'_, PyAny>) -> PyResult<Self> {
        if mode.is_exact_instance_of::<PyInt>() {
            let text = "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not int; give True or False";
            return Err(Error::type_(text).into());
        }
        let mode = flag::truth(mode)?;
        let before = level::set_grad_enabled(allowed(mode));
        if mode {
            function::look(py)?;
        }
        Ok(SetGradEnabled { mode, before })
    }
    fn __enter__(&self, py: Python<'_>) -> PyResult<()> {
        level::set_grad_enabled(allowed(self.mode));
        if self.mode { function::look(py) } else { Ok(()) }
    }
    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) -> bool {
        level::set_grad_enabled(self.before);
        false
    }
    fn __call__<'py>(slf: &Bound<'py, Self>, func: &Bound<'py, PyAny>) -> Out<'py> {
        level::set_grad_enabled(slf.get().before);
        let partial = slf.py().import("functools")?.getattr("partial")?;
        decorate(&partial.call1((slf.get_type(), slf.get().mode))?, func)
    }
    /// Another manager of the same kind.
    fn clone<'py>(slf: &Bound<'py, Self>) -> Out<'py> {
        Ok(slf.get_type().call1((slf.get().mode,))?)
    }
}

/// As `no_grad`, and `enable_grad` has no effect inside: what is computed is never recorded. Tensors that are made inside
/// say so by `is_inference()`; they may be used anywhere. `inference_mode(False)` ends the mode for a block.
#[pyclass(frozen, subclass, name = "inference_mode", module = "pullback")]
pub struct InferenceMode {
    mode: bool,
    /// Inference mode and grad mode before.
    before: Mutex<Vec<(bool, level::SavedMode)>>,
}

#[pymethods]
impl InferenceMode {
    /// Bare in front of a function it decorates that.
    #[new]
    #[pyo3(signature = (mode=None))]
    fn made<'py>(py: Python<'py>, mode: Option<&Bound<'py, PyAny>>) -> Out<'py> {
        match mode {
            Some(f) if f.is_callable() => decorate(py.get_type::<InferenceMode>().as_any(), f),
            _ => {
                let mode = mode.map_or(Ok(true), |m| m.is_truthy())?;
                Ok(Bound::new(py, InferenceMode { mode, before: Mutex::default() })?.into_any())
            }
        }
    }
    fn __enter__(&self) {
        let inference = level::set_inference(self.mode);
        let grad = level::set_grad_enabled(!self.mode && (inference || level::grad_enabled()));
        locked(&self.before).push((inference, grad));
    }
    #[pyo3(signature = (*_args))]
    fn __exit__(&self, _args: &Bound<'_, PyAny>) -> bool {
        if let Some((inference, grad)) = locked(&self.before).pop() {
            level::set_inference(inference);
            level::set_grad_enabled(grad);
        }
        false
    }
    fn __call__<'py>(slf: &Bound<'py, Self>, func: &Bound<'py, PyAny>) -> Out<'py> {
        let partial = slf.py().import("functools")?.getattr("partial")?;
        decorate(&partial.call1((slf.get_type(), slf.get().mode))?, func)
    }
}

/// Whether tapes record on this thread.
#[pyfunction]
fn is_grad_enabled(py: Python<'_>) -> Bound<'_, PyBool> {
    PyBool::new(py, level::grad_enabled()).to_owned()
}

/// Whether `inference_mode` is on.
#[pyfunction]
fn is_inference_mode_enabled() -> bool {
    level::inference()
}

/// Whether a tensor was made in inference mode.
#[pyfunction]
fn is_inference<'py>(input: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    callable::asked_of(input, "is_inference", crate::tensor::PyTensor::is_inference)
}

/// The dtype that autocast lowers to on this thread; None where it is off.
#[pyfunction]
fn _autocast(py: Python<'_>) -> Option<Bound<'_, PyAny>> {
    level::autocast().map(|d| dtype::object(py, d))
}

/// Sets what autocast lowers to on this thread, None for nothing.
#[pyfunction]
#[pyo3(signature = (dtype, /))]
fn _set_autocast(dtype: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
    let lower = dtype.map(|d| dtype::dtype_argument(d, "autocast", "dtype")).transpose()?;
    level::set_autocast(lower);
    Ok(())
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    for place in [m.clone(), crate::types::submodule(m, "autograd")?] {
        place.add_class::<NoGrad>()?;
        place.add_class::<EnableGrad>()?;
        place.add_class::<SetGradEnabled>()?;
        place.add_class::<InferenceMode>()?;
    }
    m.add_function(wrap_pyfunction!(is_grad_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(is_inference_mode_enabled, m)?)?;
    m.add_function(wrap_pyfunction!(_autocast, m)?)?;
    m.add_function(wrap_pyfunction!(_set_autocast, m)?)?;
    overrides::add_asking(m, wrap_pyfunction!(is_inference, m)?)
}
