//! Solutions of linear equations: linear in the right side, with the solve by the adjoint matrix as transpose.

use super::{Infer, basis, batching};
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use crate::dense::Array;
use smallvec::{SmallVec, smallvec};

/// `X = A⁻¹ B`; both have the same leading dimensions.
pub struct Solve {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &Array, &Array) -> Result<Array>,
    /// Parameters of the solve by the adjoint of A.
    pub adjoint: fn(&Params) -> Params,
    /// The part of A that is read; a projection.
    pub part: fn(&Params, Tensor) -> Result<Tensor>,
}

impl Primitive for Solve {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok((self.eval)(params, args[0].array()?, args[1].array()?)?.into())
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn saves(&self, _: &Params, needs: Mask) -> Saves {
        Saves { inputs: 1, outputs: needs & 1 }
    }

    // dX = A⁻¹ (dB - dA X)
    fn jvp(&self, me: Prim<'_>, p: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let moved = |da: &Tensor| basis::matmul(&(self.part)(p, da.clone())?, point.output(0)?);
        let right = match (tangents[0], tangents[1]) {
            (Some(da), Some(db)) => basis::sub(db, &moved(da)?)?,
            (Some(da), None) => basis::neg(&moved(da)?)?,
            (None, Some(db)) => db.clone(),
            (None, None) => return Ok(smallvec![None]),
        };
        Ok(smallvec![Some(call(me, p, &[point.input(0)?, &right])?)])
    }

    // B̄ = A⁻ᴴ X̄, Ā = -B̄ Xᴴ
    fn vjp(
        &self,
        me: Prim<'_>,
        p: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        let Some(Some(g)) = cotangents.first() else { return Ok(SmallVec::new()) };
        let gb = call(me, &(self.adjoint)(p), &[&basis::adjoint(point.input(0)?)?, g])?;
        let ga = match needs & 1 {
            0 => None,
            _ => {
                let product = basis::matmul(&gb, &basis::adjoint(point.output(0)?)?)?;
                Some(basis::neg(&(self.part)(p, product)?)?)
            }
        };
        Ok(smallvec![ga, Some(gb)])
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        batching::leading(me, params, args, info)
    }
}
