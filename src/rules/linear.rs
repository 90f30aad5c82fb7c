//! Operators that are linear in their only argument: views, sums, casts, cumulative sums, padding, …

use super::{Infer, batching};
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use crate::dense::Array;
use crate::dense::pointwise::Elementwise;
use smallvec::{SmallVec, smallvec};

/// How a linear operator runs over a batch in front.
pub enum Batching {
    /// Its parameters name dimensions: all move up by one.
    Shift,
    /// Each element stands for itself, so that batches make no difference.
    Elementwise(fn(&Params) -> Elementwise<'static>),
    /// By a rule of its own, given the value with its batch in front.
    With(fn(&Params, &Tensor) -> Result<Tensor>),
}

/// A linear operator.
pub struct Linear {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &Array) -> Result<Array>,
    /// The transpose at an input of this shape and dtype.
    pub transpose: fn(&Params, &Tensor, &Shape, DType) -> Result<Tensor>,
    pub batching: Batching,
}

impl Primitive for Linear {
    fn name(&self) -> &str {
        self.name
    }

    fn is_elementwise(&self) -> bool {
        matches!(self.batching, Batching::Elementwise(_))
    }

    fn elementwise(&self, params: &Params) -> Option<Elementwise<'_>> {
        match self.batching {
            Batching::Elementwise(f) => Some(f(params)),
            _ => None,
        }
    }

    #[inline]
    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok((self.eval)(params, args[0].array()?)?.into())
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn jvp(&self, me: Prim<'_>, params: &Params, _: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(match tangents {
            [Some(t)] => smallvec![Some(call(me, params, &[t])?)],
            _ => smallvec![None],
        })
    }

    fn vjp(
        &self,
        _: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        _: Mask,
    ) -> Result<Tangents> {
        let Some(Some(g)) = cotangents.first() else { return Ok(SmallVec::new()) };
        Ok(smallvec![Some((self.transpose)(params, g, point.in_shape(0)?, point.in_dtype(0)?)?)])
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        let Some(v) = batching::front(&args[0])? else { bail!(Internal, "{}(): nothing is batched", self.name) };
        let out = match self.batching {
            Batching::With(f) => f(params, &v)?,
            Batching::Elementwise(_) => call(me, params, &[&v])?,
            Batching::Shift => match params.shifted() {
                Some(p) => call(me, &p, &[&v])?,
                None => bail!(Internal, "{}(): parameters {params:?} cannot be shifted", self.name),
            },
        };
        Ok(smallvec![(out, Some(0))])
    }
}
