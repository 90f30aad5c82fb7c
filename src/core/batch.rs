//! The batch interpreter: hands an operator to its batching rule.

use super::call::call;
use super::level::{self, LevelId};
use super::method_scope;
use super::params::Params;
use super::primitive::{BatchArg, BatchOut, Prim};
use super::tensor::{Payload, Tensor};
use crate::bail;
use crate::base::Result;
use smallvec::SmallVec;

#[inline]
pub(super) fn interpret(level: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<BatchOut> {
    let info = level::batch(level)?;
    let batch_args: SmallVec<[BatchArg<'_>; 3]> = args
        .iter()
        .map(|a| match a.payload_at(level) {
            Some(Payload::Batched { value, dim }) => BatchArg { value, dim: Some(*dim) },
            _ => BatchArg { value: a, dim: None },
        })
        .collect();
    prim.batch(prim, params, &batch_args, info)
}

/// An operator with one output.
#[inline(never)]
pub(super) fn one(top: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    if prim.is_elementwise()
        && let Some(out) = elementwise(top, prim, params, args)
    {
        return out;
    }
    let mut outs = interpret(top, prim, params, args)?;
    match outs.pop() {
        Some(out) if outs.is_empty() => Ok(rewrap(top, out)),
        _ => bail!(Internal, "{}(): its batching rule must give one output", prim.name()),
    }
}

/// The output of a batching rule as a value of the level.
#[inline]
pub(super) fn rewrap(level: LevelId, (value, dim): (Tensor, Option<usize>)) -> Tensor {
    match dim {
        Some(d) => Tensor::batched(level, value, d),
        None => value,
    }
}

/// An elementwise operator at `top` and all batch levels of the same nest below it in one step. `None` if the batches
/// of its arguments do not all lie in front, or another interpreter comes between.
#[inline]
fn elementwise(top: LevelId, prim: Prim<'_>, params: &Params, args: &[&Tensor]) -> Option<Result<Tensor>> {
    let (nest, _) = args.iter().find(|a| a.level() == top)?.nest()?;
    let rank = args.iter().map(|a| a.rank()).max()?;
    let bottom = nest.levels().last()?;
    let mut bases: SmallVec<[&Tensor; 3]> = SmallVec::new();
    for a in args {
        if a.level() < bottom {
            bases.push(a);
            continue;
        }
        match a.nest() {
            Some((n, base)) if a.rank() == rank && n.same(nest) => bases.push(base),
            _ => return None,
        }
    }
    // The top level has been looked at already.
    if level::tracing() >= bottom || !nest.levels().skip(1).all(|l| level::is_live(l) && !method_scope::forbids(l)) {
        return None;
    }
    Some(call(prim, params, &bases).map(|out| nest.wrap(out)))
}
