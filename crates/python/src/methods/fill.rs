//! `fill_`, `zero_`, `copy_`: writes whose result does not depend on the old value.

use crate::data::marshal;
use crate::descriptors;
use crate::door::descriptors::{Arg, Out, Slf};
use crate::tensor;
use crate::types::class;
use pullback::base::{Error, Layout, Result};
use pullback::core::Tensor;
use pullback::dense::region::Region;
use pullback::ops::promote;
use pullback::rules::{basis, part};

/// Replaces all elements. Recorded like an operator of the old value, so that the tensor keeps requiring grad.
fn overwrite<'py>(slf: Slf<'_, 'py>, op: &str, source: impl FnOnce(&Tensor) -> Result<Tensor>) -> Out<'py> {
    let t = slf.get();
    t.check_writable(op)?;
    let old = t.value();
    let source = source(&old)?;
    pullback::ops::convert::tell_of_loss(source.dtype(), old.dtype())?;
    let source = basis::cast(&source, old.dtype())?;
    let fits = source.rank() <= old.rank()
        && source.shape().iter().rev().zip(old.shape().iter().rev()).all(|(a, b)| a == b || *a == 1);
    if !fits {
        return Err(Error::runtime(format!(
            "{op}(): a source of shape {} cannot be broadcast to the tensor's shape {}",
            source.shape(),
            old.shape()
        ))
        .into());
    }
    let new = basis::expand(&source, old.shape())?;
    let new = part::write(&old, &Region::whole(old.shape()), &new, false)?;
    drop(old);
    t.write(op, &new)?;
    Ok(slf.clone().into_any())
}

/// Sets all elements to one value, which may be written where several of them are one place in memory.
fn fill<'py>(slf: Slf<'_, 'py>, op: &str, source: impl FnOnce(&Tensor) -> Result<Tensor>) -> Out<'py> {
    let Some(cell) = slf.get().shared_cell() else { return overwrite(slf, op, source) };
    let layout = cell.layout()?;
    let Some(places) = places(&layout) else { return overwrite(slf, op, source) };
    let (shape, strides): (Vec<usize>, Vec<i64>) = places.into_iter().map(|(step, n)| (n, step as i64)).unzip();
    let apart = cell.as_strided((&shape[..]).into(), &strides, Some(layout.offset))?;
    overwrite(&tensor::wrap_cell(slf, apart)?, op, source)?;
    Ok(slf.clone().into_any())
}

/// The places that elements share, each once, as steps and counts; None if there are none, or they are no even ones.
fn places(layout: &Layout) -> Option<Vec<(isize, usize)>> {
    let mut dims: Vec<(isize, usize)> =
        layout.strides.iter().zip(layout.shape.iter()).filter(|(_, n)| **n != 1).map(|(&s, &n)| (s, n)).collect();
    if dims.iter().any(|&(s, n)| s < 0 || n == 0) {
        return None;
    }
    dims.sort_unstable();
    let mut places: Vec<(isize, usize)> = Vec::with_capacity(dims.len());
    let mut are_shared = false;
    for (step, n) in dims {
        match places.last_mut() {
            _ if step == 0 => are_shared = true,
            // Steps that stay within, or go on from, those of the dimension before.
            Some((least, count)) if step % *least == 0 && step / *least < *count as isize => {
                are_shared = true;
                *count += (n - 1) * (step / *least) as usize;
            }
            _ => places.push((step, n)),
        }
    }
    are_shared.then_some(places)
}

/// The main diagonal of a matrix, or of a tensor whose dimensions are equal; with `wrap`, a tall matrix' one goes on.
fn diagonal(shape: &pullback::Shape, wrap: bool) -> Result<Region> {
    const OP: &str = "fill_diagonal_";
    if shape.rank() < 2 {
        return Err(Error::runtime(format!("{OP}(): dimensions must larger than 1, but self has shape {shape}")));
    }
    if shape.rank() > 2 && shape.iter().any(|d| *d != shape[0]) {
        return Err(Error::runtime(format!("{OP}(): all dimensions of input must be of equal length, got {shape}")));
    }
    let step: isize = shape.contiguous_strides().iter().sum();
    let least = shape.iter().copied().min().unwrap_or(0);
    let count = if wrap && shape.rank() == 2 { shape.numel().div_ceil(step as usize) } else { least };
    Ok(Region::Strided(Layout { shape: [count].into(), strides: [step].into_iter().collect(), offset: 0 }))
}

/// A number, or a tensor of one element.
fn value(op: &str, o: Arg<'_, '_>, like: &Tensor) -> Result<Tensor> {
    let Some(o) = o else {
        return Err(Error::type_(format!("{op}(): argument 'value' must be Number or Tensor, not None")));
    };
    if let Some(n) = marshal::number(&o)? {
        return promote::fitted(op, "value", n, like.dtype());
    }
    match marshal::tensor(&o) {
        Some(t) if t.rank() == 0 => Ok(t),
        Some(t) => Err(Error::runtime(format!(
            "{op}(): only supports 0-dimension value tensor but got tensor with {} dimensions",
            t.rank()
        ))),
        None => Err(Error::type_(format!(
            "{op}(): argument 'value' must be Number or Tensor, not {}",
            class::type_name(&o)
        ))),
    }
}

descriptors! { METHODS, ATTRIBUTES:
    /// Sets all elements to a number.
    fn fill_(slf, value) { fill(slf, "fill_", |old| self::value("fill_", value, old)) }
    /// Sets the elements of the main diagonal to a number. With `wrap`, it begins again below a matrix with more rows than
    /// columns.
    fn fill_diagonal_(slf, fill_value, wrap = False) {
        const OP: &str = "fill_diagonal_";
        let t = slf.get();
        t.check_writable(OP)?;
        let old = t.value();
        let wrap = crate::data::export::flag(wrap, false)?;
        let region = diagonal(old.shape(), wrap)?;
        let number = basis::cast(&value(OP, fill_value, &old)?, old.dtype())?;
        let numbers = basis::expand(&number, region.shape())?;
        if t.is_view() {
            let new = part::write(&old, &region, &numbers, false)?;
            drop(old);
            t.write(OP, &new)?;
        } else {
            drop(old);
            t.write_region(OP, &region, &numbers)?;
        }
        Ok(slf.clone().into_any())
    }
    /// Sets all elements to zero.
    fn zero_(slf) { fill(slf, "zero_", |old| Ok(Tensor::scalar(old.dtype(), 0.0))) }
    /// Sets the elements to those of `src`, converted and broadcast.
    fn copy_(slf, src | other, non_blocking = False) {
        let _ = non_blocking;
        let source = src.as_ref().and_then(|s| tensor::cell(s).map(|c| c.value()));
        match source {
            Some(s) => overwrite(slf, "copy_", |_| Ok(s)),
            None => Err(Error::type_("copy_(): argument 'src' must be Tensor").into()),
        }
    }
}
