//! Operators without a derivative: comparisons, argmax, creation. Their outputs are constants for every tape.

use super::{Infer, batching};
use crate::bail;
use crate::base::Result;
use crate::core::primitive::only;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call, call_many,
};
use smallvec::{SmallVec, smallvec};
use std::borrow::Cow;

/// How an opaque operator runs over a batch.
pub enum OpaqueBatch {
    /// Its arguments broadcast: ranks are aligned.
    Align,
    /// The same, of a check: it is there to refuse values, and nobody reads what it gives.
    Check,
    /// One argument, whose dimensions its parameters name.
    Shift,
    /// A rule of its own.
    With(fn(Prim<'_>, &Params, &[BatchArg<'_>], BatchInfo) -> Result<BatchOut>),
}

pub struct Opaque {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &[&Tensor]) -> Result<Outputs>,
    pub batching: OpaqueBatch,
}

impl Primitive for Opaque {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        only(self.name, (self.eval)(params, args)?)
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn has_effect(&self) -> bool {
        matches!(self.batching, OpaqueBatch::Check)
    }

    fn eval_many(&self, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
        (self.eval)(params, args)
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn jvp(&self, _: Prim<'_>, _: &Params, point: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(point.outputs.iter().map(|_| None).collect())
    }

    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(SmallVec::new())
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        match self.batching {
            OpaqueBatch::With(f) => f(me, params, args, info),
            OpaqueBatch::Align | OpaqueBatch::Check => {
                let rank = batching::logical_rank(args);
                let values: SmallVec<[Cow<'_, Tensor>; 3]> =
                    args.iter().map(|a| batching::aligned(a, rank)).collect::<Result<_>>()?;
                let refs: SmallVec<[&Tensor; 3]> = values.iter().map(|v| &**v).collect();
                Ok(smallvec![(call(me, params, &refs)?, Some(0))])
            }
            OpaqueBatch::Shift => match (batching::front(&args[0])?, params.shifted()) {
                (Some(v), Some(p)) => Ok(call_many(me, &p, &[&v])?.into_iter().map(|o| (o, Some(0))).collect()),
                _ => bail!(Internal, "{}(): cannot be batched with parameters {params:?}", self.name),
            },
        }
    }
}
