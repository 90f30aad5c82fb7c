//! `out=`: the result of an operator goes into tensors that the caller has.

use crate::tensor::PyTensor;
use crate::types::class;
use crate::types::errors::{self, PyResult};
use crate::types::raised;
use pullback::base::{Error, Result};
use pullback::core::origin::at_here;
use pullback::core::{Tensor, level};
use pullback::dense::region::Region;
use pullback::ops::{ArgKind, Entry, Flags, Value};
use pullback::rules::basis;
use pullback::skin::{tape, write};
use pyo3::exceptions::PyUserWarning;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

type Object<'a, 'py> = &'a Bound<'py, PyAny>;

fn targets<'py>(op: &str, out: Object<'_, 'py>) -> PyResult<Vec<Bound<'py, PyTensor>>> {
    let one = |o: Bound<'py, PyAny>| {
        o.cast_into::<PyTensor>().map_err(|e| {
            let got = class::type_name(&e.into_inner());
            Error::type_(format!("{op}(): argument 'out' must be Tensor or tuple of Tensors, not {got}")).into()
        })
    };
    if out.is_instance_of::<PyTuple>() || out.is_instance_of::<PyList>() {
        return raised::items(out)?.map(|o| one(o?)).collect();
    }
    Ok(vec![one(out.clone())?])
}

fn follows(v: &Value) -> bool {
    match v {
        Value::Tensor(t) => tape::requires_grad(t),
        Value::List(items) | Value::Tuple(items) => items.iter().any(follows),
        _ => false,
    }
}

/// An error where a gradient would have to go through `out`.
fn check_gradients(op: &str, targets: &[Bound<'_, PyTensor>], args: &[Value]) -> Result<()> {
    let followed = targets.iter().any(|t| tape::requires_grad(&t.get().value())) || args.iter().any(follows);
    if level::grad_enabled() && followed {
        return Err(Error::runtime(format!(
            "{op}(): functions with out=... arguments don't support automatic differentiation, but one of the \
             arguments requires grad{}; assign the result instead, or use no_grad()",
            at_here()
        )));
    }
    Ok(())
}

/// Runs an entry and writes its results to `out`, which is returned.
///
/// # Errors
/// `Runtime` if a gradient is followed, or a result's dtype cannot be cast to that of its target.
pub fn run<'py>(
    py: Python<'py>,
    entry: &'static Entry,
    args: &[Value],
    out: Object<'_, 'py>,
) -> PyResult<*mut ffi::PyObject> {
    let op = entry.short_name();
    let targets = targets(op, out)?;
    check_gradients(op, &targets, args)?;
    let in_dtype = in_dtype_of(entry, args, &targets);
    match crate::operators::run::exactly(py, entry, in_dtype.as_deref().unwrap_or(args))? {
        Value::Tensor(new) if targets.len() == 1 => {
            put(py, entry, targets[0].get(), &new)?;
            Ok(targets[0].clone().into_ptr())
        }
        Value::Named(n) if n.items.len() == targets.len() => {
            let n = *n;
            put_all(py, entry, &targets, &n.items)?;
            let objects = targets.into_iter().map(Bound::into_any).collect();
            Ok(crate::types::named::instance(py, n.class, objects)?.into_ptr())
        }
        Value::Tuple(items) | Value::List(items) if items.len() == targets.len() => {
            put_all(py, entry, &targets, &items)?;
            Ok(PyTuple::new(py, targets)?.into_any().into_ptr())
        }
        other => {
            let expected = match &other {
                Value::Named(n) => n.items.len(),
                Value::Tuple(items) | Value::List(items) => items.len(),
                _ => 1,
            };
            let got = targets.len();
            Err(Error::type_(format!("{op}(): argument 'out' must have {expected} tensors, got {got}")).into())
        }
    }
}

/// Makers of tensors make them in the dtype of `out` unless another one is given.
fn in_dtype_of(entry: &Entry, args: &[Value], targets: &[Bound<'_, PyTensor>]) -> Option<Vec<Value>> {
    let [target] = targets else { return None };
    let at = entry.params.iter().position(|p| p.kind == ArgKind::DType)?;
    if !entry.flags.has(Flags::CREATION) || !matches!(args.get(at), Some(Value::Missing | Value::None)) {
        return None;
    }
    let mut args = args.to_vec();
    args[at] = Value::DType(target.get().value().dtype());
    Some(args)
}

fn put_all(py: Python<'_>, entry: &Entry, targets: &[Bound<'_, PyTensor>], items: &[Value]) -> PyResult<()> {
    for (target, item) in targets.iter().zip(items) {
        let Value::Tensor(new) = item else {
            return Err(Error::internal(format!("{}(): gave no tensor", entry.name)).into());
        };
        put(py, entry, target.get(), new)?;
    }
    Ok(())
}

/// Writes to one target. One of another shape becomes as large as it must be.
fn put(py: Python<'_>, entry: &Entry, target: &PyTensor, new: &Tensor) -> PyResult<()> {
    let op = entry.short_name();
    let (shape, dtype) = (target.value().shape().clone(), target.value().dtype());
    if entry.flags.has(Flags::EXACT_OUT) && new.dtype() != dtype {
        return Err(Error::runtime(format!(
            "{op}(): Expected out tensor to have dtype {}, but got {dtype} instead; give out={}",
            new.dtype(),
            format_args!("empty(0, dtype={})", new.dtype())
        ))
        .into());
    }
    if new.dtype().category() > dtype.category() {
        return Err(Error::runtime(format!(
            "{op}(): result type {} can't be cast to the desired output type {dtype}",
            new.dtype()
        ))
        .into());
    }
    write::check_overlap(op, &Region::Strided(target.layout()?))?;
    if &shape == new.shape() {
        target.check_writable(op)?;
        return Ok(target.write(op, new)?);
    }
    write::check_data(op, &target.value(), new)?;
    let differs = format!("has shape {shape}, which does not match the required output shape {}", new.shape());
    if target.is_view() {
        let text = format!("{op}(): argument 'out' is a view and {differs}{}; views cannot be resized", at_here());
        return Err(Error::runtime(text).into());
    }
    if shape.numel() != 0 {
        let text =
            format!("{op}(): argument 'out' {differs}: it was resized; give a tensor of that shape or an empty one");
        errors::warn::<PyUserWarning>(py, &text)?;
    }
    let new = basis::cast(new, dtype)?;
    let row_major = entry.flags.has(Flags::ROW_MAJOR);
    target.reset(if row_major { basis::copy(&new)? } else { basis::copy_in_order(&new)? });
    Ok(())
}
