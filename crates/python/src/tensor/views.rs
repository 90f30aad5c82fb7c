//! Views of a tensor, and writes to a part of one.

use crate::process::gil;
use crate::tensor::standing;
use crate::tensor::{self, PyTensor, history};
use crate::types::class;
use crate::types::errors::PyResult;
use pullback::base::{Error, Layout, Result};
use pullback::core::level::GradMode;
use pullback::core::node_name::Since;
use pullback::core::{LevelId, Tensor, level};
use pullback::dense::Array;
use pullback::dense::region::Region;
use pullback::ops::value::IndexItem;
use pullback::ops::{Cost, Entry, Value, indexing};
use pullback::rules::basis;
use pullback::skin::lens::Lens;
use pullback::skin::{Cell, index, numbers, tape, write};
use pyo3::prelude::*;
use std::sync::Arc;

/// The view that a basic index names.
pub fn index<'py>(slf: &Bound<'py, PyTensor>, items: Vec<IndexItem>) -> PyResult<Bound<'py, PyAny>> {
    let since = Since::now();
    let out = indexing::get(&slf.get().value(), &items)?;
    since.name(&out, node_of(&items));
    Ok(made(slf, &base(slf), Lens::index(items), out)?.into_any())
}

/// What the node of a basic index is called: after its last step.
fn node_of(items: &[IndexItem]) -> &'static &'static str {
    let last = items
        .iter()
        .rfind(|item| !matches!(item, IndexItem::Ellipsis | IndexItem::Slice { start: None, stop: None, step: None }));
    match last {
        Some(IndexItem::Int(_)) => &"SelectBackward0",
        Some(IndexItem::NewAxis) => &"UnsqueezeBackward0",
        Some(_) => &"SliceBackward0",
        None => &"AliasBackward0",
    }
}

/// The cell that views of `slf` are made of, which it stands for from now on.
pub fn base(slf: &Bound<'_, PyTensor>) -> Arc<Cell> {
    let base = slf.get().cell();
    standing::stand_for(&base, slf);
    base
}

/// What `lens` shows of `slf`, whose cell is `base`, as an object. Views of what was made in inference mode are not recorded.
pub fn made<'py>(
    slf: &Bound<'py, PyTensor>,
    base: &Arc<Cell>,
    lens: Lens,
    value: Tensor,
) -> PyResult<Bound<'py, PyTensor>> {
    let _mode = slf.get().is_inference().then(|| GradMode::set(false));
    tensor::wrap_cell(slf, base.view(lens, value)?)
}

/// A new tensor with the elements of an array, in a memory that has others too: all of them can be named by `as_strided`.
pub fn spread<'py>(py: Python<'py>, array: &Array) -> PyResult<Bound<'py, PyTensor>> {
    let (layout, own) = (array.layout(), array.to_buffer()?);
    let Some(buffer) = own.buffer() else { return Err(Error::internal("a memory without a buffer").into()) };
    let room = layout.needed().unwrap_or(0);
    let whole = Array::from_buffer(buffer.clone(), array.dtype(), Layout::contiguous([room].into()))?;
    let strides: Vec<i64> = layout.strides.iter().map(|&s| s as i64).collect();
    let cell = Cell::root(whole.into(), level::current(), 0).as_strided(layout.shape, &strides, Some(0))?;
    tensor::of_cell(py, cell.detached()?)
}

/// The same elements, as contents of another object.
pub fn alias(slf: &Bound<'_, PyTensor>) -> PyResult<PyTensor> {
    Ok(PyTensor::of_cell(whole(slf)?, slf.get().is_inference()))
}

/// A view of all elements.
pub fn whole(slf: &Bound<'_, PyTensor>) -> PyResult<Arc<Cell>> {
    let out = indexing::get(&slf.get().value(), &[])?;
    let _mode = slf.get().is_inference().then(|| GradMode::set(false));
    Ok(base(slf).view(Lens::index(Vec::new()), out)?)
}

/// `x[items] = value`
pub fn write_part(py: Python<'_>, cell: &PyTensor, items: Vec<IndexItem>, value: &Tensor) -> Result<()> {
    const OP: &str = "__setitem__";
    cell.check_writable(OP)?;
    if !index::is_basic(&items) {
        let old = cell.value();
        let put = || indexing::put(&old, &items, value);
        let dense = value.level() == LevelId::DENSE && write::items_are_dense(&items);
        let new = match dense && write::are_few(&items, value) && cell.gives_up_memory() {
            // The tensor holds the value, and this function does.
            true => write::in_memory_of(&old, 2, put),
            false => gil::released(py, Cost::Cheap, &[&old, value], put),
        }?;
        drop(old);
        return cell.write(OP, &new);
    }
    let items = index::plain(items);
    if cell.is_view() {
        let part = indexing::get(&cell.value(), &items)?;
        let value = broadcast(value, part.shape())?;
        return cell.cell().view(Lens::index(items), part)?.write(OP, value);
    }
    let shape = cell.value().shape().clone();
    let part = index::part(&Layout::contiguous(shape), &items)?;
    let value = broadcast(value, &part.shape)?;
    cell.write_region(OP, &Region::Strided(part), &value)
}

/// A value that is assigned, in the shape of what it is assigned to; leading dimensions of size 1 may be left over.
fn broadcast(value: &Tensor, shape: &pullback::Shape) -> Result<Tensor> {
    if value.shape() == shape {
        return Ok(value.clone());
    }
    let extra = value.rank().saturating_sub(shape.rank());
    let fits = |v: &pullback::Shape| {
        v.rank() <= shape.rank() && v.iter().rev().zip(shape.iter().rev()).all(|(a, b)| a == b || *a == 1)
    };
    let trimmed: pullback::Shape = value.shape()[extra..].into();
    if value.shape()[..extra].iter().any(|d| *d != 1) || !fits(&trimmed) {
        return Err(Error::runtime(format!(
            "__setitem__(): shape mismatch: value tensor of shape {} cannot be broadcast to indexing result of shape \
             {shape}",
            value.shape()
        )));
    }
    basis::expand(&basis::reshape(value, &trimmed)?, shape)
}

/// The same elements without history.
pub fn detached<'py>(slf: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
    Ok(tensor::wrap_cell(slf, slf.get().cell().detached()?)?.into_any())
}

/// `x.data`: the same elements without history, whose writes do not count as writes to `slf`.
pub fn data<'py>(slf: &Bound<'py, PyTensor>) -> PyResult<Bound<'py, PyAny>> {
    Ok(tensor::wrap_cell(slf, slf.get().cell().apart(0)?)?.into_any())
}

/// `x.data = value`: the elements are those of `value`; history and gradient stay.
pub fn set_data(slf: &Bound<'_, PyTensor>, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let Ok(other) = value.cast::<PyTensor>() else {
        let got = class::type_name(value);
        return Err(Error::type_(format!("data: Variable data has to be a tensor, but got {got}")).into());
    };
    show(slf, "data", other.get().cell().apart(slf.get().version())?)
}

/// Makes `slf` show the elements of `data`, which has no history; its own history and gradient stay.
pub fn show(slf: &Bound<'_, PyTensor>, op: &str, data: Arc<Cell>) -> PyResult<()> {
    let (old, new) = (slf.get().value(), data.read()?);
    pullback::skin::write::check_data(op, &old, &new)?;
    if old.shape() == new.shape() && old.dtype() == new.dtype() {
        let value = pullback::skin::history::rewrap(&old, &new)?;
        let shown = data.with_history(value)?;
        shown.count_from(data.version());
        slf.get().refer(shown);
        return Ok(());
    }
    check_kept(op, &old, &new)?;
    slf.get().refer(data);
    history::retain_leaf(slf, &old)
}

/// Whether a tensor can be what it was, a leaf or none, with data of another shape or dtype.
fn check_kept(op: &str, old: &Tensor, new: &Tensor) -> Result<()> {
    if !tape::requires_grad(old) {
        return Ok(());
    }
    let (from, to) = (old.dtype(), new.dtype());
    if !(to.is_float() || to.is_complex()) {
        return Err(Error::runtime(format!(
            "{op}(): data set to a tensor that requires gradients must be floating point or complex dtype, got {to}"
        )));
    }
    if tape::is_leaf(old) {
        return Ok(());
    }
    Err(Error::runtime(format!(
        "{op}(): the tensor has a history, whose gradients have shape {} and dtype {from}, and the data that is assigned \
         has shape {} and dtype {to}; make a new tensor, or detach() this one first",
        old.shape(),
        new.shape()
    )))
}

/// The result of an entry that shows other numbers as a view of `slf`; `slf` itself where they are the same.
#[inline(never)]
pub fn faced<'py>(
    slf: &Bound<'py, PyTensor>,
    entry: &'static Entry,
    args: Vec<Value>,
    out: Value,
) -> PyResult<Bound<'py, PyAny>> {
    let Value::Tensor(out) = out else { return Err(Error::internal("a face that is no tensor").into()) };
    if matches!(args.first(), Some(Value::Tensor(x)) if x.same(&out)) {
        return Ok(slf.clone().into_any());
    }
    let base = slf.get().cell();
    standing::stand_for(&base, slf);
    Ok(tensor::wrap_cell(slf, numbers::view(&base, entry, args, out)?)?.into_any())
}

/// The view that an entry which shows other numbers, such as `real`, makes of `slf`.
pub fn numbers_of<'py>(slf: &Bound<'py, PyTensor>, entry: &str) -> PyResult<Bound<'py, PyAny>> {
    let entry = pullback::ops::find(entry).ok_or_else(|| Error::internal(format!("no entry {entry}")))?;
    let args = vec![Value::Tensor(slf.get().value())];
    let out = (entry.run)(&args)?;
    faced(slf, entry, args, out)
}

/// `x.real = value` and `x.imag = value`.
pub fn set_numbers(slf: &Bound<'_, PyTensor>, entry: &str, value: &Bound<'_, PyAny>) -> PyResult<()> {
    let part = numbers_of(slf, entry)?;
    Ok(part.set_item(pyo3::types::PyEllipsis::get(slf.py()), value)?)
}
