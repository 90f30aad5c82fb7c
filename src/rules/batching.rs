//! Moving batch dimensions about: what every batching rule starts with.

use super::basis;
use crate::base::{Result, Shape};
use crate::core::{BatchArg, BatchInfo, BatchOut, Params, Prim, Tensor, call_many};
use smallvec::SmallVec;
use std::borrow::Cow;

/// The value with its batch dimension in front; a strided view.
pub fn front<'a>(arg: &BatchArg<'a>) -> Result<Option<Cow<'a, Tensor>>> {
    match arg.dim {
        None => Ok(None),
        Some(0) => Ok(Some(Cow::Borrowed(arg.value))),
        Some(d) => Ok(Some(Cow::Owned(basis::move_dim(arg.value, d, 0)?))),
    }
}

/// The value with a batch dimension in front, broadcast if it has none.
pub fn front_expanded<'a>(arg: &BatchArg<'a>, info: BatchInfo) -> Result<Cow<'a, Tensor>> {
    match front(arg)? {
        Some(v) => Ok(v),
        None => Ok(Cow::Owned(basis::expand(arg.value, &arg.value.shape().prepend(info.size))?)),
    }
}

/// The batch goes in front of the leading dimensions of every argument: for operators on trailing matrices.
pub fn leading(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let values: SmallVec<[_; 2]> = args.iter().map(|a| front_expanded(a, info)).collect::<Result<_>>()?;
    let refs: SmallVec<[&Tensor; 2]> = values.iter().map(|v| &**v).collect();
    Ok(call_many(me, p, &refs)?.into_iter().map(|o| (o, Some(0))).collect())
}

/// The value with its batch in front and its members' rank raised to `rank` by dimensions of size 1 after the batch.
/// A value without a batch stays as it is: broadcasting aligns it.
pub fn aligned<'a>(arg: &BatchArg<'a>, rank: usize) -> Result<Cow<'a, Tensor>> {
    let Some(v) = front(arg)? else { return Ok(Cow::Borrowed(arg.value)) };
    let missing = rank - arg.logical_rank();
    if missing == 0 {
        return Ok(v);
    }
    let mut shape = Shape::new(&v.shape()[..1]);
    for _ in 0..missing {
        shape.push(1);
    }
    for &d in &v.shape()[1..] {
        shape.push(d);
    }
    Ok(Cow::Owned(basis::reshape(&v, &shape)?))
}

/// The largest logical rank.
pub fn logical_rank(args: &[BatchArg<'_>]) -> usize {
    args.iter().map(BatchArg::logical_rank).max().unwrap_or(0)
}
