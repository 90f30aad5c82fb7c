//! Reductions over dimensions whose derivative is a weight on each element: amax, prod, norm, logsumexp, …

use super::{basis, batching};
use crate::bail;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{BatchArg, BatchInfo, BatchOut, Mask, Params, Point, Prim, Primitive, Tangents, Tensor, call};
use crate::dense::Array;
use smallvec::{SmallVec, smallvec};

/// A reduction; its parameters are [`Params::Dims`].
pub struct Reduction {
    pub name: &'static str,
    pub eval: fn(&[usize], bool, &Array) -> Result<Array>,
    pub saves: Saves,
    /// ∂out/∂x for each element of the input; `y` is the output with the reduced dimensions kept.
    pub weight: fn(dims: &[usize], point: &Point<'_>, y: Option<&Tensor>) -> Result<Tensor>,
}

impl Reduction {
    fn weights(&self, params: &Params, point: &Point<'_>) -> Result<Tensor> {
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

    fn saves(&self, _: &Params, _: Mask) -> Saves {
        self.saves
    }

    fn jvp(&self, _: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let [Some(t)] = tangents else { return Ok(smallvec![None]) };
        let (dims, keep) = params.dims();
        Ok(smallvec![Some(basis::sum(&basis::mul(t, &self.weights(params, point)?)?, dims, keep)?)])
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
        let w = basis::conj(&self.weights(params, point)?)?;
        Ok(smallvec![Some(basis::mul(&g, &w)?)])
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        match (batching::front(&args[0])?, params.shifted()) {
            (Some(v), Some(p)) => Ok(smallvec![(call(me, &p, &[&v])?, Some(0))]),
            _ => bail!(Internal, "{}(): cannot be batched with parameters {params:?}", self.name),
        }
    }
}
