//! The same bits as elements of another dtype.

use crate::bail;
use crate::base::{DType, Layout, Result};
use crate::core::{BatchArg, BatchInfo, BatchOut, Params, Prim, Tensor, call};
use crate::dense::Array;
use crate::rules::opaque::{Opaque, OpaqueBatch};
use crate::rules::{batching, shapes};
use smallvec::smallvec;

pub(crate) static BITS: Opaque = Opaque {
    name: "view",
    infer: |p, a| {
        let (x, to) = (shapes::first(a)?, p.dtype());
        shapes::one(to, relayout(&Layout::contiguous(x.shape.clone()), x.dtype, to)?.shape)
    },
    eval: |p, args| Ok(smallvec![bits(args[0].array()?, p.dtype())?.into()]),
    batching: OpaqueBatch::With(batch),
};

fn batch(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
    let (size, to) = (args[0].value.dtype().size(), p.dtype().size());
    if args[0].logical_rank() == 0 && size != to {
        return Err(no_dimension(args[0].value.dtype(), p.dtype()));
    }
    let Some(v) = batching::front(&args[0])? else { bail!(Internal, "view(): nothing is batched") };
    Ok(smallvec![(call(me, p, &[&v])?, Some(0))])
}

/// The elements of `input` reinterpreted in another dtype. Where the sizes of the dtypes differ, the last dimension
/// grows or shrinks. A constant for every derivative.
///
/// # Errors
/// `Runtime` if the last dimension cannot be divided so.
pub fn view_dtype(input: &Tensor, dtype: DType) -> Result<Tensor> {
    if input.dtype() == dtype {
        return Ok(input.clone());
    }
    call(Prim::Static(&BITS), &Params::DType(dtype), &[input])
}

#[cold]
fn no_dimension(from: DType, to: DType) -> crate::Error {
    crate::Error::runtime(format!(
        "view(): self.dim() cannot be 0 to view {from} as {to} (different element sizes); unsqueeze(0) it before"
    ))
}

/// The layout of the same memory under another dtype.
///
/// # Errors
/// `Runtime` if the last dimension cannot be divided so.
pub fn relayout(l: &Layout, from: DType, to: DType) -> Result<Layout> {
    let (old, new) = (from.size(), to.size());
    if old == new {
        return Ok(l.clone());
    }
    let Some(last) = l.shape.rank().checked_sub(1) else { return Err(no_dimension(from, to)) };
    let mut out = l.clone();
    if old > new {
        let r = old / new;
        if l.shape[last] != 1 && l.strides[last] != 1 {
            bail!(
                Runtime,
                "view(): self.stride(-1) must be 1 to view {from} as {to} (different element sizes), but got {}; make \
                 it contiguous() before",
                l.strides[last]
            );
        }
        out.shape[last] *= r;
        out.strides.iter_mut().for_each(|s| *s *= r as isize);
        out.strides[last] = 1;
        out.offset *= r;
        return Ok(out);
    }
    let r = new / old;
    let refuse = |what: String, got: String| -> Result<Layout> {
        bail!(Runtime, "view(): {what} to view {from} as {to} (different element sizes), but got {got}")
    };
    if l.strides[last] != 1 && l.shape[last] > 1 {
        return refuse("self.stride(-1) must be 1".into(), l.strides[last].to_string());
    }
    if !l.shape[last].is_multiple_of(r) {
        return refuse(format!("self.size(-1) must be divisible by {r}"), l.shape[last].to_string());
    }
    if !l.offset.is_multiple_of(r) {
        return refuse(format!("self.storage_offset() must be divisible by {r}"), l.offset.to_string());
    }
    for d in 0..last {
        if l.strides[d] % r as isize != 0 {
            return refuse(format!("self.stride({d}) must be divisible by {r}"), l.strides[d].to_string());
        }
        out.strides[d] /= r as isize;
    }
    out.shape[last] /= r;
    out.strides[last] = 1;
    out.offset /= r;
    Ok(out)
}

fn bits(a: &Array, to: DType) -> Result<Array> {
    a.reinterpreted(to, relayout(&a.layout(), a.dtype(), to)?)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[&[&BITS]], ..crate::ops::Family::EMPTY };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_floats() {
        let x = Tensor::from_slice([2], &[1.0f32, -2.0]).unwrap();
        let i = view_dtype(&x, DType::I32).unwrap();
        assert_eq!(i.to_vec::<i32>().unwrap(), [0x3f80_0000, -0x4000_0000]);
        let b = view_dtype(&x, DType::U8).unwrap();
        assert_eq!(b.shape(), &crate::Shape::from([8]));
        assert_eq!(view_dtype(&b, DType::F32).unwrap().to_vec::<f32>().unwrap(), [1.0, -2.0]);
        let e = view_dtype(&Tensor::from_slice([3], &[1u8, 2, 3]).unwrap(), DType::F32).unwrap_err();
        assert!(e.message().contains("divisible by 4"));
    }
}
