//! What the door does with results: views alias their base, in-place forms write into a cell.

use crate::autograd;
use crate::data::marshal;
use crate::door::descriptors::{Out, Slf};
use crate::tensor;
use crate::tensor::PyTensor;
use crate::tensor::standing;
use crate::types::dtype;
use crate::types::errors::PyResult;
use pullback::base::{DType, Error, Result};
use pullback::core::{Tensor, host};
use pullback::ops::signature::{KindOf, RequiresGrad};
use pullback::ops::{ArgKind, Cost, Entry, Flags, Param, Value, bits};
use pullback::skin::cell::{Face, seen};
use pullback::skin::lens::{self};
use pullback::skin::{history, read, slot};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

/// The result of a function or method as an object.
///
/// # Safety
/// `base` is null, or the argument at place `at`, which the caller's frame keeps alive.
pub unsafe fn finish(
    py: Python<'_>,
    entry: &'static Entry,
    (at, base): (usize, *mut ffi::PyObject),
    args: Vec<Value>,
    out: Value,
) -> PyResult<*mut ffi::PyObject> {
    // SAFETY: by the contract.
    if let Some(cell) = (!base.is_null()).then(|| unsafe { tensor::cell_at(py, base) }).flatten()
        && let Some(Value::Tensor(before)) = args.first()
    {
        // SAFETY: as above, and it has a tensor's cell.
        let slf = unsafe { Bound::from_borrowed_ptr(py, base).cast_into_unchecked::<PyTensor>() };
        if entry.flags.has(Flags::SAME_OBJECT) && matches!(&out, Value::Tensor(t) if t.same(before)) {
            return Ok(slf.into_ptr());
        }
        if entry.flags.has(Flags::VIEW) {
            if entry.flags.has(Flags::HISTORYLESS) {
                return Ok(tensor::views::detached(&slf)?.into_ptr());
            }
            if entry.flags.shown().is_some() {
                return Ok(tensor::views::faced(&slf, entry, args, out)?.into_ptr());
            }
            let (perhaps, strict) = (entry.flags.has(Flags::OR_COPY), entry.flags.has(Flags::OR_ERROR));
            let is_shown = !(perhaps || strict)
                || match &out {
                    Value::Tensor(out) => shares(entry, cell, before, out, &args),
                    _ => false,
                };
            if is_shown {
                return Ok(views(&slf, entry, args, out)?.into_ptr());
            }
            if !perhaps {
                return Err(pullback::ops::shape::not_viewable(entry.short_name()).into());
            }
        }
    }
    let may_show = entry.flags.has(Flags::VIEW) || entry.flags.has(Flags::SAME_OBJECT);
    if may_show && !base.is_null() && matches!(args.get(at), Some(Value::List(_) | Value::Tuple(_))) {
        // SAFETY: by the contract.
        let list = unsafe { Bound::from_borrowed_ptr(py, base) };
        if let Some(object) = members(&list, entry, at, &args, &out)? {
            return Ok(object.into_ptr());
        }
    }
    made(py, entry, args, out)
}

/// New tensors as objects, in memory as the entry's flags say.
fn made(py: Python<'_>, entry: &'static Entry, args: Vec<Value>, out: Value) -> PyResult<*mut ffi::PyObject> {
    let out = others(out, &args)?;
    let leaf = asks_for_gradient(entry, &args);
    let out = match &out {
        Value::Tensor(t) if entry.flags.has(Flags::KEEPS_ORDER.or(Flags::CREATION)) => {
            if let Some(array) = t.dense().filter(|a| !a.layout().is_dense()) {
                let object = tensor::views::spread(py, array)?;
                autograd::set_requires_grad(&object, leaf)?;
                return Ok(object.into_ptr());
            }
            out
        }
        _ if entry.flags.has(Flags::KEEPS_ORDER) => match args.first() {
            Some(Value::Tensor(x)) => each(out, &|t| slot::laid_as(t, x))?,
            _ => out,
        },
        Value::Tensor(t) if slot::is_row_major(t) => out,
        _ => settled(out, entry.flags.has(Flags::ROW_MAJOR))?,
    };
    let object = marshal::to_python(py, out)?;
    if leaf && let Ok(t) = object.cast::<PyTensor>() {
        autograd::set_requires_grad(t, true)?;
    }
    Ok(object.into_ptr())
}

/// New tensors as [`slot::settled`] gives them. Several that are broadcast, such as those of a grid, stay so.
fn settled(out: Value, row_major: bool) -> Result<Value> {
    if row_major || matches!(out, Value::Tensor(_)) { each(out, &|t| slot::settled(t, row_major)) } else { Ok(out) }
}

/// The tensors of a result after `f`.
fn each(out: Value, f: &dyn Fn(Tensor) -> Result<Tensor>) -> Result<Value> {
    let all = |items: Vec<Value>| items.into_iter().map(|v| each(v, f)).collect::<Result<_>>();
    Ok(match out {
        Value::Tensor(t) => Value::Tensor(f(t)?),
        Value::List(items) => Value::List(all(items)?),
        Value::Tuple(items) => Value::Tuple(all(items)?),
        Value::Named(mut named) => {
            named.items = all(named.items)?;
            Value::Named(named)
        }
        out => out,
    })
}

/// Values that follow levels as those of new tensors.
fn others(out: Value, args: &[Value]) -> Result<Value> {
    Ok(match out {
        Value::Tensor(t) if t.payload().is_some() => Value::Tensor(another(t, args)?),
        Value::List(items) => Value::List(items.into_iter().map(|v| others(v, args)).collect::<Result<_>>()?),
        Value::Tuple(items) => Value::Tuple(items.into_iter().map(|v| others(v, args)).collect::<Result<_>>()?),
        out => out,
    })
}

/// A value that follows levels as that of a new tensor: one that is an argument's is recorded as a result.
fn another(t: Tensor, args: &[Value]) -> Result<Tensor> {
    fn is_in(args: &[Value], t: &Tensor) -> bool {
        args.iter().any(|v| match v {
            Value::Tensor(x) => x.same(t),
            Value::List(items) | Value::Tuple(items) => is_in(items, t),
            _ => false,
        })
    }
    if is_in(args, &t) { history::as_result(t.clone(), &t) } else { Ok(t) }
}

/// Whether a maker of tensors was called with `requires_grad=True`.
fn asks_for_gradient(entry: &Entry, args: &[Value]) -> bool {
    let asked = |(p, v): (&Param, &Value)| p.declared == Some(RequiresGrad::NAME) && matches!(v, Value::Bool(true));
    entry.flags.has(Flags::CREATION) && entry.params.iter().zip(args).any(asked)
}

/// Whether a value shows the elements of its base. Small values have no memory to compare: there the layout of the base
/// decides.
fn shares(entry: &'static Entry, cell: &PyTensor, before: &Tensor, out: &Tensor, args: &[Value]) -> bool {
    if entry.flags.has(Flags::ROW_MAJOR) && !cell.layout().is_ok_and(|l| l.is_contiguous()) {
        return false;
    }
    if before.is_abstract() && entry.flags.cost() != Cost::Product {
        return true;
    }
    let (Some(a), Some(b)) = (read::innermost(before), read::innermost(out)) else { return false };
    match (a.buffer(), b.buffer()) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, _) if entry.flags.cost() == Cost::Product => {
            let lens = lens::lenses(entry, args.to_vec(), 1, false).next();
            lens.zip(cell.layout().ok()).is_some_and(|(lens, l)| seen(&lens, &l).is_ok_and(|part| part.is_some()))
        }
        (None, _) => cell.layout().is_ok_and(|l| l.reshape(out.shape()).is_some()),
        (Some(_), None) => false,
    }
}

/// Each tensor of a result as a view of `slf`.
fn views<'py>(slf: Slf<'_, 'py>, entry: &'static Entry, args: Vec<Value>, out: Value) -> Out<'py> {
    let py = slf.py();
    let base = tensor::views::base(slf);
    let count = lens::outputs(&out).count();
    let mut lenses = lens::lenses(entry, args, count, !matches!(out, Value::Tensor(_)));
    let mut make = |t: Tensor| -> Out<'py> {
        let lens = lenses.next().ok_or_else(|| Error::internal("a view without a lens"))?;
        Ok(tensor::views::made(slf, &base, lens, t)?.into_any())
    };
    match out {
        Value::Tensor(t) => make(t),
        Value::List(items) => {
            let items = items.into_iter().enumerate().map(|(i, v)| item(py, i, v, &mut make));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            Ok(pyo3::types::PyList::new(py, items)?.into_any())
        }
        Value::Tuple(items) => {
            let items = items.into_iter().enumerate().map(|(i, v)| item(py, i, v, &mut make));
            let items = items.collect::<PyResult<Vec<_>>>()?;
            Ok(pyo3::types::PyTuple::new(py, items)?.into_any())
        }
        other => marshal::to_python(py, other),
    }
}

/// Each tensor of a result as a view of the tensor at its place in a list: by the entry `name:member`, which takes that
/// tensor in front of the other arguments, with its place and the shape if it has more parameters, or else by the entry
/// itself, which takes one tensor too. None if the result shows none of them.
fn members<'py>(
    list: &Bound<'py, PyAny>,
    entry: &'static Entry,
    at: usize,
    args: &[Value],
    out: &Value,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = list.py();
    let bases = list.try_iter()?.collect::<pyo3::PyResult<Vec<_>>>()?;
    let member = pullback::ops::part_of(entry, "member").unwrap_or(entry);
    let says_where = member.params.len() > args.len();
    let object = |i: usize, base: &Bound<'py, PyAny>, v: &Value| -> PyResult<Option<Bound<'py, PyAny>>> {
        host::turn(i)?;
        let (Ok(base), Value::Tensor(t)) = (base.cast::<PyTensor>(), v) else { return Ok(None) };
        let before = base.get().value();
        if entry.flags.has(Flags::SAME_OBJECT) && t.same(&before) {
            return Ok(Some(base.clone().into_any()));
        }
        let size = || Value::Ints(t.shape().iter().map(|&n| n as i64).collect());
        let place = if says_where { vec![Value::Int(i as i64), size()] } else { Vec::new() };
        let others = args.iter().enumerate().filter(|(j, _)| *j != at).map(|(_, v)| v.clone());
        let own: Vec<Value> = std::iter::once(Value::Missing).chain(place).chain(others).collect();
        if !entry.flags.has(Flags::VIEW)
            || (entry.flags.has(Flags::OR_COPY) && !shares(member, base.get(), &before, t, &own))
        {
            return Ok(None);
        }
        let lens =
            lens::lenses(member, own, 1, false).next().ok_or_else(|| Error::internal("a view without a lens"))?;
        Ok(Some(tensor::views::made(base, &tensor::views::base(base), lens, t.clone())?.into_any()))
    };
    match (out, &bases[..]) {
        (Value::Tuple(items) | Value::List(items), _) => {
            let one = |(i, (base, v))| match object(i, base, v)? {
                Some(object) => Ok(object),
                None => marshal::to_python(py, v.clone()),
            };
            let items = bases.iter().zip(items).enumerate().map(one).collect::<PyResult<Vec<_>>>()?;
            Ok(Some(PyTuple::new(py, items)?.into_any()))
        }
        (one, [base]) => object(0, base, one),
        _ => Ok(None),
    }
}

fn item<'py>(py: Python<'py>, i: usize, v: Value, make: &mut dyn FnMut(Tensor) -> Out<'py>) -> Out<'py> {
    host::turn(i)?;
    match v {
        Value::Tensor(t) => make(t),
        v => marshal::to_python(py, v),
    }
}

/// What a call that its parameters do not allow means all the same: `x.view(dtype)`, or the form of the entry `name:lists`,
/// which begins with a tensor: `einsum(x, [0, 1])`.
///
/// # Safety
/// `slf` and, unless it is null, `argument` are arguments that the caller's frame keeps alive.
#[cold]
pub unsafe fn other_form<'py>(
    py: Python<'py>,
    entry: &'static Entry,
    slf: *mut ffi::PyObject,
    argument: *mut ffi::PyObject,
    error: Error,
) -> Out<'py> {
    if slf.is_null() || argument.is_null() {
        return Err(error.into());
    }
    // SAFETY: by the contract.
    let (slf, argument) = unsafe { (Bound::from_borrowed_ptr(py, slf), Bound::from_borrowed_ptr(py, argument)) };
    if tensor::cell(&slf).is_some()
        && let Some(other) = pullback::ops::part_of(entry, "lists")
    {
        let any = |o: &Bound<'py, PyAny>| marshal::from_python(ArgKind::Any, false, o);
        let values = [any(&slf)?, any(&argument)?];
        let out = super::run::call(py, other, &values)?;
        // SAFETY: by the contract.
        return unsafe { Ok(Bound::from_owned_ptr(py, finish(py, other, (0, slf.as_ptr()), values.into(), out)?)) };
    }
    if !entry.flags.has(Flags::TAKES_DTYPE) {
        return Err(error.into());
    }
    let only = match argument.cast::<PyTuple>() {
        Ok(t) if t.len() == 1 => t.get_item(0)?,
        _ => argument,
    };
    match (slf.cast::<PyTensor>(), dtype::dtype_argument(&only, "view", "dtype")) {
        (Ok(slf), Ok(dtype)) => other_dtype(slf, dtype),
        _ => Err(error.into()),
    }
}

/// The same memory as elements of another dtype.
fn other_dtype<'py>(slf: Slf<'_, 'py>, dtype: DType) -> Out<'py> {
    let value = slf.get().value();
    bits::relayout(&slf.get().layout()?, value.dtype(), dtype)?;
    let value = bits::view_dtype(&value, dtype)?;
    let cell = slf.get().cell();
    standing::stand_for(&cell, slf);
    Ok(tensor::wrap_cell(slf, cell.face(Face::Bits, value))?.into_any())
}

/// Writes the result of an in-place form into the cell of `slf`.
pub fn assign(entry: &'static Entry, slf: &Bound<'_, PyAny>, args: Vec<Value>, out: Value) -> PyResult<()> {
    let op = format!("{}_", entry.short_name());
    let (Some(cell), Value::Tensor(out)) = (tensor::cell(slf), out) else {
        return Err(Error::internal(format!("{op}(): gave no tensor")).into());
    };
    if entry.flags.has(Flags::VIEW) {
        // The same elements under another shape: the object becomes a view of what it was.
        let base = cell.cell();
        if let Some(lens) = lens::lenses(entry, args, 1, false).next() {
            drop(out);
            let view = base.reviewed(&op, lens)?;
            view.count_change();
            cell.refer(view);
        }
        return Ok(());
    }
    // The write may reuse the memory only if nobody else holds the value.
    drop(args);
    Ok(cell.write(&op, &out)?)
}
