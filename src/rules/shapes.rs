//! Shape rules that many operators share.

use crate::base::{DType, Error, Result, Shape};
use crate::core::{Inferred, Meta, Params};
use crate::dense::pointwise::{self, Kernel};
use crate::dense::reduce::result_shape;
use smallvec::{SmallVec, smallvec};

/// The dtypes and shapes of an operator's outputs, from those of its arguments.
pub type Infer = fn(&Params, &[Meta]) -> Result<Inferred>;

/// One output.
pub fn one(dtype: DType, shape: Shape) -> Result<Inferred> {
    Ok(smallvec![Meta { dtype, shape }])
}

/// The first argument, of which there must be one.
pub fn first(args: &[Meta]) -> Result<&Meta> {
    args.first().ok_or_else(|| Error::internal("an operator was given no argument"))
}

/// Argument `i`, which must be there.
pub fn argument(args: &[Meta], i: usize) -> Result<&Meta> {
    args.get(i).ok_or_else(|| Error::internal(format!("an operator was not given argument {i}")))
}

/// Like the first argument.
pub fn same(_: &Params, args: &[Meta]) -> Result<Inferred> {
    Ok(smallvec![first(args)?.clone()])
}

/// Of the dtype of the first argument, in another shape.
pub fn reshaped(args: &[Meta], shape: impl FnOnce(&Shape) -> Result<Shape>) -> Result<Inferred> {
    let a = first(args)?;
    one(a.dtype, shape(&a.shape)?)
}

/// What a pointwise kernel gives for operands like these.
pub fn pointwise(kernel: &Kernel, args: &[Meta]) -> Result<Inferred> {
    let forms: SmallVec<[_; 3]> = args.iter().map(Meta::form).collect();
    let (dtype, shape) = pointwise::result(kernel, &forms)?;
    one(dtype, shape)
}

/// A reduction over the parameters' dimensions, of the dtype of its argument.
pub fn reduced(params: &Params, args: &[Meta]) -> Result<Inferred> {
    reduced_to(params, args, first(args)?.dtype)
}

/// As [`reduced`], of another dtype.
pub fn reduced_to(params: &Params, args: &[Meta], dtype: DType) -> Result<Inferred> {
    let (dims, keep) = params.dims();
    one(dtype, result_shape(&first(args)?.shape, dims, keep))
}
