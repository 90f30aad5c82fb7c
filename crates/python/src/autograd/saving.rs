//! Hooks of saved tensors, and questions to the sweep that runs.

use crate::autograd::graph;
use crate::autograd::graph::PyNode;
use crate::data::marshal;
use crate::door::descriptors::Out;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::class;
use crate::types::errors;
use crate::types::errors::PyResult;
use pullback::base::{DType, Result, Shape};
use pullback::core::level::{GradMode, Snapshot};
use pullback::core::residual::{self, PackedResidual, SavedHooks};
use pullback::core::tensor::Payload;
use pullback::core::{LevelId, Tensor};
use pullback::ops::Cost;
use pullback::rules::basis;
use pullback::skin::{history, tape};
use pullback::transforms::task;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use std::any::Any;
use std::cell::Cell;
use std::sync::Arc;

/// A pair of Python callables.
struct Hooks {
    pack: Py<PyAny>,
    unpack: Arc<Py<PyAny>>,
}

/// What a pack hook made of a value.
pub struct PyPacked {
    pub object: Py<PyAny>,
    pub unpack: Arc<Py<PyAny>>,
    dtype: DType,
    shape: Shape,
}

thread_local! {
    /// The tape that saves a value now.
    static SAVING: Cell<LevelId> = const { Cell::new(LevelId::DENSE) };
}

impl SavedHooks for Hooks {
    fn pack(&self, level: LevelId, value: &Tensor) -> Result<Arc<dyn PackedResidual>> {
        let before = SAVING.replace(level);
        let packed = Python::attach(|py| {
            let given = tensor::wrap(py, value.clone())?;
            let object = self.pack.bind(py).call1((&given,))?;
            if given.get().version() != 0 {
                return Err(PyRuntimeError::new_err(
                    "saved_tensors_hooks: A saved tensor pack hook is modifying its input in place. Tensors provided as \
                     input to pack hook can not be modified by in-place operations as this can lead to unexpected \
                     side-effects. Please open an issue if you need to perform in-place operations on the input to a pack \
                     hook.",
                ));
            }
            Ok(PyPacked {
                object: object.unbind(),
                unpack: self.unpack.clone(),
                dtype: value.dtype(),
                shape: value.shape().clone(),
            })
        });
        SAVING.set(before);
        Ok(Arc::new(packed.map_err(errors::to_error)?))
    }
}

impl PackedResidual for PyPacked {
    fn unpack(&self) -> Result<Tensor> {
        Python::attach(|py| -> PyResult<Tensor> {
            let out = self.unpack.bind(py).call1((&self.object,))?;
            let Some(t) = marshal::tensor(&out) else {
                return Err(PyTypeError::new_err(short!(
                    "saved_tensors_hooks: Output of saved tensor unpack_hook expected to be a Tensor but got result of \
                     type {}",
                    class::type_name(&out)
                ))
                .into());
            };
            if t.shape() != &self.shape {
                return Err(PyRuntimeError::new_err(short!(
                    "saved_tensors_hooks: the unpack hook returned a tensor of shape {} for a saved tensor of shape {}",
                    t.shape(),
                    self.shape
                ))
                .into());
            }
            Ok(basis::cast(&t, self.dtype)?)
        })
        .map_err(errors::to_error)
    }
    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Puts a pair of hooks in force on this thread.
#[pyfunction]
fn _push_hooks(pack: Py<PyAny>, unpack: Py<PyAny>) -> PyResult<()> {
    Ok(residual::push_hooks(Arc::new(Hooks { pack, unpack: Arc::new(unpack) }))?)
}

#[pyfunction]
fn _pop_hooks() {
    drop(residual::pop_hooks());
}

/// Forbids hooks with this message, or allows them; gives the message before.
#[pyfunction]
fn _forbid_hooks(message: Option<String>) -> PyResult<Option<String>> {
    Ok(residual::forbid_hooks(message)?)
}

/// In a pack hook: a number for the tape that saves.
#[pyfunction]
fn _saving_level() -> u64 {
    number(SAVING.get())
}

fn number(level: LevelId) -> u64 {
    (level.depth() as u64) << 32 | u64::from(level.serial())
}

/// The transforms and modes that are in force when it is made.
#[pyclass(frozen, name = "_Levels", module = "pullback.autograd.graph")]
struct Levels(Snapshot);

#[pymethods]
impl Levels {
    #[new]
    fn new() -> Levels {
        Levels(Snapshot::take())
    }
    /// Numbers of the tapes, as in `_saving_level`.
    fn tapes(&self) -> Vec<u64> {
        std::iter::once(LevelId::AMBIENT).chain(self.0.tapes()).map(number).collect()
    }
    /// Calls a function under these transforms and modes.
    fn run<'py>(&self, function: &Bound<'py, PyAny>) -> Out<'py> {
        let _revived = self.0.revive();
        Ok(function.call0()?)
    }
}

/// Marks of values, by which a later one is known to be the same or not, all but certainly: where it is one of these
/// tensors, which one; else a number made of its elements at all levels.
#[pyclass(frozen, name = "_Marks", module = "pullback.autograd.graph")]
struct Marks(Vec<Tensor>);

#[pymethods]
impl Marks {
    #[new]
    fn new(tensors: Vec<Bound<'_, PyTensor>>) -> Marks {
        let mut known = Vec::new();
        for t in &tensors {
            let value = t.get().value();
            let mut next = if value.level() == LevelId::DENSE { Some(&value) } else { value.below() };
            while let Some(t) = next {
                known.push(t.clone());
                next = t.below();
            }
        }
        Marks(known)
    }
    /// None for values of a program that is being recorded.
    fn of(&self, py: Python<'_>, tensor: &Bound<'_, PyTensor>) -> Option<i128> {
        let value = tensor.get().value();
        self.place(&value).or_else(|| sum(py, &value))
    }
    /// Whether the tensor has what was marked so.
    fn is_same(&self, py: Python<'_>, mark: i128, tensor: &Bound<'_, PyTensor>) -> bool {
        let value = tensor.get().value();
        match usize::try_from(-1 - mark).ok().and_then(|i| self.0.get(i)) {
            Some(known) => known.same(&value) || sum(py, known) == sum(py, &value),
            None => sum(py, &value).is_none_or(|s| s == mark),
        }
    }
}

impl Marks {
    fn place(&self, value: &Tensor) -> Option<i128> {
        // Others may write to memory that they share, and the value stays the same one.
        let is_exported = value.innermost().is_some_and(|a| a.is_exported());
        let place = self.0.iter().position(|t| !is_exported && t.same(value))?;
        Some(-1 - place as i128)
    }
}

fn sum(py: Python<'_>, value: &Tensor) -> Option<i128> {
    let sum = if value.stored() >= Cost::Cheap.limit() { py.detach(|| fingerprint(value)) } else { fingerprint(value) };
    sum.map(i128::from)
}

/// A number that changes when elements change, at any level, or what they are the elements of.
fn fingerprint(t: &Tensor) -> Option<u64> {
    let mix = |a: u64, b: u64| (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    Some(match t.payload() {
        None => t.dense().map_or(0, |a| a.checksum()),
        Some(Payload::Batched { value, dim }) => mix(fingerprint(value)?, 1 + *dim as u64),
        Some(Payload::Taped { value, .. }) => fingerprint(value)?,
        Some(Payload::Dual { primal, tangent }) => mix(fingerprint(primal)?, fingerprint(tangent)?),
        Some(Payload::Traced { .. }) => return None,
    })
}

/// Another tensor with the present value, in no way connected with the first.
#[pyfunction]
fn _same_value<'py>(tensor: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyTensor>> {
    tensor::wrap(tensor.py(), tensor.get().value())
}

/// A number for the sweep that runs on this thread, or None.
#[pyfunction]
fn _current_sweep() -> Option<u64> {
    task::current()
}

/// The node that a tensor hangs on: its `grad_fn`, or its own if it is a leaf. Sweeps from now on know whether they go
/// there.
#[pyfunction]
fn _node_of<'py>(tensor: &Bound<'py, PyTensor>) -> Out<'py> {
    task::expect_questions();
    match tape::edge(&tensor.get().value()) {
        Some(e) => graph::object(tensor.py(), &e.node),
        None => Err(PyRuntimeError::new_err("the tensor does not require grad and does not have a grad_fn").into()),
    }
}

/// Counts a write that only others have seen.
#[pyfunction]
fn _increment_version(tensor: &Bound<'_, PyTensor>) -> PyResult<()> {
    let _off = GradMode::set(false);
    let same = history::strip(&tensor.get().value())?;
    Ok(tensor.get().write("increment_version", &same)?)
}

/// Whether the sweep that runs goes to this node; None outside of sweeps.
#[pyfunction]
fn _goes_to(node: &PyNode) -> Option<bool> {
    task::goes_to(&node.0)
}

/// Calls `callback` when the sweep that runs has ended.
#[pyfunction]
fn _at_end(callback: Py<PyAny>) -> PyResult<()> {
    let call = move || Python::attach(|py| callback.call0(py).map(drop).map_err(errors::to_error));
    Ok(task::at_end(Box::new(call)).map_err(|_| {
        PyRuntimeError::new_err("queue_callback(): Final callbacks can only be installed during backward pass.")
    })?)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    let graph = crate::types::submodule(m, "autograd.graph")?;
    graph.add_function(wrap_pyfunction!(_push_hooks, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_pop_hooks, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_forbid_hooks, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_saving_level, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_current_sweep, &graph)?)?;
    graph.add_class::<Levels>()?;
    graph.add_class::<Marks>()?;
    graph.add_function(wrap_pyfunction!(_same_value, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_node_of, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_increment_version, &graph)?)?;
    graph.add_function(wrap_pyfunction!(_goes_to, &graph)?)?;
    Ok(graph.add_function(wrap_pyfunction!(_at_end, &graph)?)?)
}
