//! Nested sequences with values of transforms among their numbers: stacked, so that derivatives and batches stay.

use crate::data::{marshal, nested};
use pullback::base::promote::promote;
use pullback::base::{DType, Error, Result};
use pullback::core::{LevelId, Tensor, level};
use pullback::ops::join::stack;
use pullback::rules::basis;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

type Any<'a, 'py> = &'a Bound<'py, PyAny>;

fn items<'py>(o: Any<'_, 'py>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(l) = o.cast::<PyList>() {
        return Some(l.iter().collect());
    }
    o.cast::<PyTuple>().ok().map(|t| t.iter().collect())
}

/// Whether a value of a live transform is somewhere in nested lists and tuples. What only `requires_grad` follows is
/// copied without its history, as PyTorch does.
fn has_followed(op: &str, o: Any<'_, '_>, depth: usize, seen: &mut usize) -> Result<bool> {
    if let Some(t) = marshal::tensor(o) {
        return Ok(t.level() > LevelId::AMBIENT && level::is_live(t.level()));
    }
    let Some(all) = items(o) else { return Ok(false) };
    nested::check_depth(op, o, depth)?;
    for x in &all {
        *seen += 1;
        nested::listen(o.py(), *seen)?;
        if has_followed(op, x, depth + 1, seen)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The tensor of nested sequences with values of transforms in them; `None` if there are none.
///
/// # Errors
/// `Value` if the sequences are not all of one length, or nested too deep.
pub fn from_sequence(op: &str, o: Any<'_, '_>, dtype: Option<DType>) -> Result<Option<Tensor>> {
    if items(o).is_none() || !has_followed(op, o, 0, &mut 0)? {
        return Ok(None);
    }
    let out = build(op, o, 0, &mut 0)?;
    basis::cast(&out, dtype.unwrap_or(out.dtype())).map(Some)
}

fn build(op: &str, o: Any<'_, '_>, depth: usize, seen: &mut usize) -> Result<Tensor> {
    *seen += 1;
    nested::listen(o.py(), *seen)?;
    if let Some(t) = marshal::tensor(o) {
        return if nested::is_number(depth, &t) { basis::reshape(&t, &[].into()) } else { Ok(t) };
    }
    let Some(all) = items(o) else {
        return match nested::number(o)? {
            Some((n, dtype)) => Ok(Tensor::scalar(dtype, n)),
            None => Err(nested::no_number(op, o, depth == 0)),
        };
    };
    nested::check_depth(op, o, depth)?;
    let parts = all.iter().map(|x| build(op, x, depth + 1, seen)).collect::<Result<Vec<_>>>()?;
    let Some(first) = parts.first() else {
        return basis::full(&[0].into(), pullback::base::promote::default_float(), 0.0);
    };
    if let Some(other) = parts.iter().find(|p| p.shape() != first.shape()) {
        let (a, b) = (first.shape(), other.shape());
        return Err(Error::value(format!(
            "{op}(): expected sequences of the same length, got parts of shapes {a} and {b}"
        )));
    }
    let dtype = parts.iter().fold(first.dtype(), |d, p| promote(d, p.dtype()));
    let cast = parts.iter().map(|p| basis::cast(p, dtype)).collect::<Result<Vec<_>>>()?;
    stack(cast.iter().collect(), 0)
}
