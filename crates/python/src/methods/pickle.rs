//! Copies and pickles.

use crate::autograd;
use crate::descriptors;
use crate::door::descriptors::{Out, Slf};
use crate::process::object;
use crate::tensor;
use crate::tensor::PyTensor;
use crate::types::brief::brief;
use crate::types::errors::PyResult;
use pullback::base::{DType, Error, Result, Shape};
use pullback::core::origin::at_here;
use pullback::core::{LevelId, Tensor, level};
use pullback::dense::{Array, stack};
use pullback::skin::cell::{Copies, deep_copy};
use pullback::skin::read::{self, Reading};
use pullback::skin::{Cell, history};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple, PyType};
use std::sync::{Arc, Mutex, PoisonError};

/// Only what a program made itself can be copied deeply: other tensors are parts of a graph.
fn check_leaf(value: &Tensor) -> PyResult<()> {
    if autograd::is_leaf(value) {
        return Ok(());
    }
    Err(PyRuntimeError::new_err(
        "deepcopy: Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the \
         moment; use .detach() first to copy the values alone, or .clone() to copy them with their history",
    )
    .into())
}

/// The live level that follows the value, if it is not the tape of `requires_grad`.
fn followed(value: &Tensor) -> PyResult<Option<LevelId>> {
    let level = history::without_closed(value.clone())?.level();
    Ok((level > LevelId::AMBIENT).then_some(level))
}

/// An error for values of transforms: a pickle would lose what follows them.
fn check_outside(value: &Tensor) -> PyResult<()> {
    let Some(level) = followed(value)? else { return Ok(()) };
    let place = level::find(level).and_then(|l| l.origin.describe().or_else(|| Some(l.transform().into())));
    let place = place.unwrap_or_else(|| level.to_string());
    let text = if level::is_forward_ad(level) {
        "pickle: the tensor carries a tangent of a dual level, which a pickle cannot hold; pickle the primal and the \
         tangent that forward_ad.unpack_dual() gives, or .detach() it first to save the values alone"
            .to_string()
    } else {
        format!(
            "pickle: the tensor is a value of {place}, which means nothing outside of it; return it and pickle the \
             result. copy.copy() and copy.deepcopy() work here"
        )
    };
    Err(PyRuntimeError::new_err(text + &at_here()).into())
}

/// Attributes that a subclass or the user put on the object.
fn attributes<'py>(slf: Slf<'_, 'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = object::dict(slf.get()).map(|d| d.bind(slf.py()).clone());
    Ok(found.and_then(|d| d.cast_into::<PyDict>().ok()).filter(|d| !d.is_empty()))
}

/// What the `__slots__` of a subclass hold on the object: names and values.
fn slots<'py>(slf: Slf<'_, 'py>) -> PyResult<Vec<(Bound<'py, PyAny>, Bound<'py, PyAny>)>> {
    let (py, class) = (slf.py(), slf.get_type());
    if class.is(py.get_type::<PyTensor>()) {
        return Ok(Vec::new());
    }
    let names = py.import("copyreg")?.getattr("_slotnames")?.call1((class,))?;
    let names = names.try_iter()?.collect::<Result<Vec<_>, _>>()?;
    Ok(names
        .into_iter()
        .filter_map(|name| Some((name.clone(), slf.getattr(name.cast::<PyString>().ok()?).ok()?)))
        .collect())
}

pub fn reduce<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let py = slf.py();
    let value = slf.get().value();
    check_outside(&value)?;
    let array = read::array(&value, "pickle", Reading::Elements)?;
    let contiguous = array.contiguous()?;
    let all = contiguous.bytes()?;
    let bytes = PyBytes::new_with(py, all.len(), |out| {
        for (to, from) in out.chunks_mut(PIECE).zip(all.chunks(PIECE)) {
            to.copy_from_slice(from);
            py.check_signals()?;
        }
        Ok(())
    })?;
    let shape = PyTuple::new(py, contiguous.shape().iter())?;
    let rebuild = py.import("pullback._core")?.getattr("_rebuild_tensor")?;
    let args = (slf.get_type(), bytes, contiguous.dtype().name(), shape, autograd::requires_grad(&value));
    Ok((rebuild, args, attributes(slf)?).into_pyobject(py)?.into_any())
}

/// Bytes between which a long copy looks for signals.
const PIECE: usize = 64 << 20;

/// A tensor from its bytes: what unpickling calls.
#[pyfunction]
fn _rebuild_tensor<'py>(
    class: &Bound<'py, PyType>,
    bytes: &Bound<'py, PyBytes>,
    dtype: &str,
    shape: Vec<usize>,
    requires_grad: bool,
) -> Out<'py> {
    let Some(dtype) = DType::from_name(dtype) else {
        return Err(PyValueError::new_err(short!("unpickling: no dtype is named '{dtype}'")).into());
    };
    if !class.is_subclass_of::<PyTensor>()? {
        return Err(PyValueError::new_err(short!("unpickling: {} is no class of tensors", brief(class)?)).into());
    }
    let array = Array::from_bytes(dtype, Shape::from(shape), bytes.as_bytes())?;
    let out = tensor::wrap_as(class, array.into())?;
    if requires_grad {
        autograd::set_requires_grad(&out, true)?;
    }
    Ok(out.into_any())
}

/// A new object of the class of `like` for a cell.
fn object_like<'py>(like: Slf<'_, 'py>, cell: Arc<Cell>) -> PyResult<Bound<'py, PyTensor>> {
    tensor::wrap_cell_as(&like.get_type(), like, cell)
}

/// An object of a class that shows the elements of `data`, without its history: `Tensor._make_subclass`.
pub fn of_class<'py>(
    class: &Bound<'py, PyType>,
    data: Slf<'_, 'py>,
    requires_grad: bool,
) -> PyResult<Bound<'py, PyTensor>> {
    if !class.is_subclass_of::<PyTensor>()? {
        let got = brief(class)?;
        return Err(
            Error::type_(format!("_make_subclass(): argument 'cls' must be a subclass of Tensor, got {got}")).into()
        );
    }
    let out = tensor::wrap_cell_as(class, data, data.get().cell().detached()?)?;
    if requires_grad {
        autograd::make_leaf(&out)?;
    }
    Ok(out)
}

/// Another object over the same memory. A value of a transform or a dual number keeps what follows it; otherwise the
/// object is a leaf that requires grad if this one does.
pub fn copy<'py>(slf: Slf<'_, 'py>) -> Out<'py> {
    let value = slf.get().value();
    let cell = slf.get().cell();
    let follows = followed(&value)?.is_some();
    let out = object_like(slf, if follows { cell.with_history(value.clone())? } else { cell.detached()? })?;
    if !follows && autograd::requires_grad(&value) {
        autograd::set_requires_grad(&out, true)?;
    }
    if let Some(d) = attributes(slf)? {
        out.setattr("__dict__", d.copy()?)?;
    }
    for (name, value) in slots(slf)? {
        out.setattr(name.cast::<PyString>()?, value)?;
    }
    Ok(out.into_any())
}

/// The memory that one `copy.deepcopy` has copied so far: an entry of its memo.
#[pyclass(frozen)]
struct Memory(Mutex<Copies>);

/// Calls `f` with what this deep copy has copied.
fn with_copies<R>(memo: &Bound<'_, PyAny>, f: impl FnOnce(&mut Copies) -> Result<R>) -> PyResult<R> {
    let key = intern!(memo.py(), "memory of pullback");
    let known = memo.call_method1("get", (key,))?;
    let memory = match known.cast_into::<Memory>() {
        Ok(memory) => memory,
        Err(_) => {
            let fresh = Bound::new(memo.py(), Memory(Mutex::default()))?;
            memo.set_item(key, &fresh)?;
            fresh
        }
    };
    let mut copies = memory.get().0.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(f(&mut copies)?)
}

pub fn deepcopy<'py>(slf: Slf<'_, 'py>, memo: &Bound<'py, PyAny>) -> Out<'py> {
    let py = slf.py();
    let id = slf.as_ptr() as usize;
    let known = memo.call_method1("get", (id,))?;
    if !known.is_none() {
        return Ok(known);
    }
    stack::check()?;
    let value = slf.get().value();
    let follows = followed(&value)?.is_some();
    if !follows {
        check_leaf(&value)?;
    }
    // Only a cell can have others beside it that show the same elements.
    let out = match slf.get().shared_cell() {
        Some(cell) => object_like(slf, with_copies(memo, |copies| cell.deep_copy(copies))?)?,
        None => tensor::wrap_as(&slf.get_type(), deep_copy(&value)?)?,
    };
    if !follows && autograd::requires_grad(&value) {
        autograd::set_requires_grad(&out, true)?;
    }
    memo.set_item(id, &out)?;
    if let Some(g) = autograd::gradient(slf.get()) {
        let g = deepcopy(g.bind(py), memo)?;
        out.setattr("grad", g)?;
    }
    let deep = |x| py.import("copy")?.getattr("deepcopy")?.call1((x, memo));
    if let Some(d) = attributes(slf)? {
        out.setattr("__dict__", deep(d.into_any())?)?;
    }
    for (name, value) in slots(slf)? {
        out.setattr(name.cast::<PyString>()?, deep(value)?)?;
    }
    Ok(out.into_any())
}

/// A tensor that shows the copy of the memory of a storage.
pub fn deepcopy_memory<'py>(memory: &Arc<Cell>, memo: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyTensor>> {
    let copy = with_copies(memo, |copies| memory.copy_memory(copies))?;
    tensor::of_cell(memo.py(), copy)
}

descriptors! { METHODS, ATTRIBUTES:
    /// A view of the tensor as an object of a subclass of `Tensor`.
    fn as_subclass(slf, cls) {
        let class = cls.as_ref().and_then(|c| c.cast::<PyType>().ok());
        match class.filter(|c| c.is_subclass_of::<PyTensor>().unwrap_or(false)) {
            Some(class) => Ok(tensor::wrap_cell_as(&class, slf, tensor::views::whole(slf)?)?.into_any()),
            None => {
                let got = cls.map_or_else(|| Ok("None".into()), |c| brief(&c))?;
                Err(Error::type_(format!("as_subclass(): Creating a Tensor subclass from a class that does not inherit from Tensor: argument 'cls' must be a subclass of Tensor, got {got}")).into())
            }
        }
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(m.add_function(wrap_pyfunction!(_rebuild_tensor, m)?)?)
}
