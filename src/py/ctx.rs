//! The `ctx` of `autograd.Function`.

use super::tensor;
use crate::core::{BatchInfo, Randomness, Tensor};
use pyo3::exceptions::{PyAttributeError, PyRuntimeError, PyTypeError};
use pyo3::gc::{PyTraverseError, PyVisit};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::Mutex;

/// What a Function's methods share. Any attribute may be set; tensors among them are kept as `save_for_backward` keeps
/// its arguments.
#[pyclass(frozen, dict, weakref, name = "FunctionCtx", module = "pullback.autograd.function")]
#[derive(Default)]
pub struct Ctx {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Given to save_for_backward (and save_for_forward); `None` entries stay in place.
    saved: Vec<Option<Py<PyAny>>>,
    dirty: Vec<Py<PyAny>>,
    non_differentiable: Vec<Py<PyAny>>,
    needs: Vec<bool>,
    keep_missing: bool,
    /// Values for the rule that runs now: saved tensors, then adopted attributes.
    current: Option<Vec<Option<Tensor>>>,
    adopted: Vec<(String, usize)>,
}

impl Ctx {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }

    pub fn set_needs(&self, needs: Vec<bool>) {
        self.state().needs = needs;
    }
    pub fn materialize(&self) -> bool {
        !self.state().keep_missing
    }
    /// The objects that were marked dirty.
    pub fn dirty(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.state().dirty.iter().map(|o| o.clone_ref(py)).collect()
    }
    pub fn non_differentiable(&self, py: Python<'_>) -> Vec<Py<PyAny>> {
        self.state().non_differentiable.iter().map(|o| o.clone_ref(py)).collect()
    }

    /// The objects given to save_for_backward.
    pub fn saved_objects(&self, py: Python<'_>) -> Vec<Option<Py<PyAny>>> {
        self.state().saved.iter().map(|o| o.as_ref().map(|o| o.clone_ref(py))).collect()
    }

    /// Takes the saved tensors and the tensors among the attributes, as values. Positions of `None` stay `None`.
    pub fn take_saved(slf: &Bound<'_, Ctx>) -> PyResult<Vec<Option<Tensor>>> {
        let py = slf.py();
        let objects = std::mem::take(&mut slf.get().state().saved);
        let mut values: Vec<Option<Tensor>> =
            objects.iter().map(|o| o.as_ref().and_then(|o| tensor::cell(py, o.as_ptr()).map(|c| c.value()))).collect();
        let dict = slf.getattr("__dict__")?.cast_into::<PyDict>()?;
        let mut adopted = Vec::new();
        for (name, value) in dict.iter() {
            if let Some(cell) = tensor::cell(py, value.as_ptr()) {
                adopted.push((name.extract::<String>()?, values.len()));
                values.push(Some(cell.value()));
            }
        }
        for (name, _) in &adopted {
            dict.del_item(name)?;
        }
        slf.get().state().adopted = adopted;
        Ok(values)
    }

    /// The values that `saved_tensors` shows while a rule runs.
    pub fn show(&self, values: Vec<Option<Tensor>>) {
        self.state().current = Some(values);
    }
    pub fn hide(&self) {
        self.state().current = None;
    }
}

fn check_tensors(name: &str, args: &Bound<'_, PyTuple>, none: bool) -> PyResult<()> {
    for a in args.iter() {
        if !(tensor::is_tensor(a.as_ptr()) || (none && a.is_none())) {
            return Err(PyTypeError::new_err(format!(
                "{name} can only save or mark tensors, but argument has type {}; set other values as attributes of ctx",
                super::convert::type_name(&a)
            )));
        }
    }
    Ok(())
}

#[pymethods]
impl Ctx {
    /// Keeps tensors for `backward`. Call it once, with inputs and outputs of the function (or None).
    #[pyo3(signature = (*tensors))]
    fn save_for_backward(&self, tensors: &Bound<'_, PyTuple>) -> PyResult<()> {
        check_tensors("save_for_backward", tensors, true)?;
        let saved = tensors.iter().map(|t| if t.is_none() { None } else { Some(t.unbind()) }).collect();
        let old = std::mem::replace(&mut self.state().saved, saved);
        drop(old);
        Ok(())
    }
    /// Keeps tensors for `jvp`.
    #[pyo3(signature = (*tensors))]
    fn save_for_forward(&self, tensors: &Bound<'_, PyTuple>) -> PyResult<()> {
        check_tensors("save_for_forward", tensors, true)?;
        if self.state().saved.is_empty() {
            let saved = tensors.iter().map(|t| if t.is_none() { None } else { Some(t.unbind()) }).collect();
            self.state().saved = saved;
        }
        Ok(())
    }
    #[getter]
    fn saved_tensors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let (values, objects) = {
            let s = self.state();
            let kept = s.current.clone().map(|mut v| {
                v.truncate(v.len() - s.adopted.len());
                v
            });
            (kept, s.saved.iter().map(|o| o.as_ref().map(|o| o.clone_ref(py))).collect::<Vec<_>>())
        };
        let Some(values) = values else {
            if objects.is_empty() {
                return Err(PyRuntimeError::new_err(
                    "saved_tensors: nothing is saved, or what was saved is freed; Trying to backward through the graph a \
                     second time needs retain_graph=True the first time",
                ));
            }
            return PyTuple::new(py, objects);
        };
        let wrapped: Vec<Bound<'py, PyAny>> = values
            .into_iter()
            .map(|v| match v {
                Some(v) => Ok(tensor::wrap(py, v)?.into_any()),
                None => Ok(py.None().into_bound(py)),
            })
            .collect::<PyResult<_>>()?;
        PyTuple::new(py, wrapped)
    }
    #[getter]
    fn needs_input_grad<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.state().needs.clone())
    }
    /// Declares inputs that the forward changed in place; it must return them.
    #[pyo3(signature = (*args))]
    fn mark_dirty(&self, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        check_tensors("mark_dirty", args, false)?;
        let dirty = args.iter().map(Bound::unbind).collect();
        self.state().dirty = dirty;
        Ok(())
    }
    /// Declares outputs that carry no derivative.
    #[pyo3(signature = (*args))]
    fn mark_non_differentiable(&self, args: &Bound<'_, PyTuple>) -> PyResult<()> {
        check_tensors("mark_non_differentiable", args, false)?;
        let marked = args.iter().map(Bound::unbind).collect();
        self.state().non_differentiable = marked;
        Ok(())
    }
    /// Whether missing gradients are given to `backward` as zeros (the default) or as None.
    fn set_materialize_grads(&self, value: bool) {
        self.state().keep_missing = !value;
    }
    /// Attributes that were adopted as saved tensors.
    fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let value = {
            let s = self.state();
            let found = s.adopted.iter().find(|(n, _)| n == name).map(|(_, i)| *i);
            found.and_then(|i| s.current.as_ref().and_then(|c| c.get(i).cloned().flatten()))
        };
        match value {
            Some(v) => Ok(tensor::wrap(py, v)?.into_any()),
            None => Err(PyAttributeError::new_err(format!("'FunctionCtx' object has no attribute '{name}'"))),
        }
    }
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        let Ok(s) = self.state.try_lock() else { return Ok(()) };
        for o in s.saved.iter().flatten().chain(&s.dirty).chain(&s.non_differentiable) {
            visit.call(o)?;
        }
        Ok(())
    }
    fn __clear__(&self) {
        let taken = self.state.try_lock().map(|mut s| {
            (std::mem::take(&mut s.saved), std::mem::take(&mut s.dirty), std::mem::take(&mut s.non_differentiable))
        });
        drop(taken);
    }
}

/// What a vmap staticmethod is told of the batch.
#[pyclass(frozen, name = "VmapInfo", module = "pullback.autograd.function")]
pub struct VmapInfo {
    #[pyo3(get)]
    batch_size: usize,
    #[pyo3(get)]
    randomness: &'static str,
}

impl VmapInfo {
    pub fn new(info: BatchInfo) -> VmapInfo {
        let randomness = match info.randomness {
            Randomness::Error => "error",
            Randomness::Different => "different",
            Randomness::Same => "same",
        };
        VmapInfo { batch_size: info.size, randomness }
    }
}
