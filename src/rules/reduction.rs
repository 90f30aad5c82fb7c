//! Reductions over dimensions whose derivative is a weight on each element: amax, prod, norm, logsumexp, …

use super::{Infer, basis, batching};
use crate::bail;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use crate::dense::Array;
use smallvec::{SmallVec, smallvec};

/// A reduction; its parameters are [`Params::Dims`].
pub struct Reduction {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&[usize], bool, &Array) -> Result<Array>,
    pub saves: Saves,
    /// ∂out/∂x for each element of the input; `y` is the output with the reduced dimensions kept.
    pub weight: fn(dims: &[usize], point: &Point<'_>, y: Option<&Tensor>) -> Result<Weight>,
}

/// How much each element of the input counts in the output.
pub enum Weight {
    /// A value for each element.
    Each(Tensor),
    /// `share`, with the reduced dimensions kept, where the mask holds; the output is constant in the other elements.
    Chosen { mask: Tensor, share: Tensor },
    /// A value for each element where `mask`, with the reduced dimensions kept, holds; elsewhere the output counts as
    /// constant, and the value does not matter.
    Where { mask: Tensor, value: Tensor },
}

impl Reduction {
    fn weights(&self, params: &Params, point: &Point<'_>) -> Result<Weight> {
        let (dims, keep) = params.dims();
        let y = match point.outputs.first() {
            Some(Some(y)) if keep => Some((*y).clone()),
            Some(Some(y)) => Some(basis::unsqueeze_dims(y, dims)?),
            _ => None,
        };
        (self.weight)(dims, point, y.as_ref())
    }
}

impl Primitive for Reduction {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        let (dims, keep) = params.dims();
        Ok((self.eval)(dims, keep, args[0].array()?)?.into())
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn saves(&self, _: &Params, _: Mask) -> Saves {
        self.saves
    }

    fn is_affine(&self, _: &Params, _: Mask) -> bool {
        false
    }

    fn jvp(&self, _: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let [Some(t)] = tangents else { return Ok(smallvec![None]) };
        let (dims, keep) = params.dims();
        let sum = |x: &Tensor, keep: bool| basis::sum(x, dims, keep);
        Ok(smallvec![Some(match self.weights(params, point)? {
            Weight::Each(w) => sum(&basis::mul(t, &w)?, keep)?,
            Weight::Where { mask, value } => sum(&basis::product_where(&mask, t, &value)?, keep)?,
            Weight::Chosen { mask, share } => {
                let shared = basis::mul(&sum(&basis::keep_where(&mask, t)?, true)?, &share)?;
                basis::reshape(&shared, point.output(0)?.shape())?
            }
        })])
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
        let (dims, keep) = params.dims();
        let g = if keep { g.clone() } else { basis::unsqueeze_dims(g, dims)? };
        Ok(smallvec![Some(match self.weights(params, point)? {
            Weight::Each(w) => basis::mul(&g, &basis::conj(&w)?)?,
            Weight::Where { mask, value } => basis::product_where(&mask, &g, &basis::conj(&value)?)?,
            Weight::Chosen { mask, share } => basis::keep_where(&mask, &basis::mul(&g, &share)?)?,
        })])
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        match (batching::front(&args[0])?, params.shifted()) {
            (Some(v), Some(p)) => Ok(smallvec![(call(me, &p, &[&v])?, Some(0))]),
            _ => bail!(Internal, "{}(): cannot be batched with parameters {params:?}", self.name),
        }
    }
}
