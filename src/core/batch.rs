//! The batch interpreter: hands an operator to its batching rule.

use super::level::{LevelId, Randomness};
use super::params::Params;
use super::primitive::{BatchArg, BatchInfo, BatchOut, Prim};
use super::tensor::{Payload, Tensor};
use crate::base::Result;
use smallvec::SmallVec;

#[inline]
pub(super) fn interpret(
    level: LevelId,
    size: usize,
    randomness: Randomness,
    prim: Prim<'_>,
    params: &Params,
    args: &[&Tensor],
) -> Result<BatchOut> {
    let batch_args: SmallVec<[BatchArg<'_>; 3]> = args
        .iter()
        .map(|a| match a.payload_at(level) {
            Some(Payload::Batched { value, dim }) => BatchArg { value, dim: Some(*dim) },
            _ => BatchArg { value: a, dim: None },
        })
        .collect();
    prim.batch(prim, params, &batch_args, BatchInfo { level, size, randomness })
}

/// The output of a batching rule as a value of the level.
#[inline]
pub(super) fn rewrap(level: LevelId, (value, dim): (Tensor, Option<usize>)) -> Tensor {
    match dim {
        Some(d) => Tensor::batched(level, value, d),
        None => value,
    }
}
