//! `fill_`, `zero_`, `copy_`: writes whose result does not depend on the old value.

use super::native::{Arg, Out, Slf};
use super::{convert, tensor};
use crate::base::{Error, Result};
use crate::core::Tensor;
use crate::dense::region::Region;
use crate::native;
use crate::ops::promote;
use crate::rules::basis;
use crate::skin::part;

/// Replaces all elements. Recorded like an operator of the old value, so that the tensor keeps requiring grad.
fn overwrite<'py>(slf: Slf<'_, 'py>, op: &str, source: impl FnOnce(&Tensor) -> Result<Tensor>) -> Out<'py> {
    let t = slf.get();
    t.check_writable(op)?;
    let old = t.value();
    let source = basis::cast(&source(&old)?, old.dtype())?;
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

/// A number, or a tensor of one element.
fn value(o: Arg<'_, '_>, like: &Tensor) -> Result<Tensor> {
    let Some(o) = o else { return Err(Error::type_("fill_(): argument 'value' must be Number or Tensor, not None")) };
    if let Some(n) = convert::number(&o) {
        return promote::number(n, like.dtype());
    }
    match convert::tensor(&o) {
        Some(t) if t.rank() == 0 => Ok(t),
        Some(t) => Err(Error::runtime(format!(
            "fill_(): only supports 0-dimension value tensor but got tensor with {} dimensions",
            t.rank()
        ))),
        None => Err(Error::type_(format!(
            "fill_(): argument 'value' must be Number or Tensor, not {}",
            convert::type_name(&o)
        ))),
    }
}

native! { METHODS, ATTRIBUTES:
    /// Sets all elements to a number.
    fn fill_(slf, value) { overwrite(slf, "fill_", |old| self::value(value, old)) }
    /// Sets all elements to zero.
    fn zero_(slf) { overwrite(slf, "zero_", |old| Ok(Tensor::scalar(old.dtype(), 0.0))) }
    /// Sets the elements to those of `src`, converted and broadcast.
    fn copy_(slf, src, non_blocking = False) {
        let _ = non_blocking;
        let source = src.and_then(|s| tensor::cell(slf.py(), s.as_ptr()).map(|c| c.value()));
        match source {
            Some(s) => overwrite(slf, "copy_", |_| Ok(s)),
            None => Err(Error::type_("copy_(): argument 'src' must be Tensor").into()),
        }
    }
}
