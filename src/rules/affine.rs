//! Bilinear operators with a summand that broadcasts to their result, as one step of a tape and one result in memory.

use super::{Bilinear, basis, batching};
use crate::base::{DType, Result};
use crate::core::primitive::Saves;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor,
};
use crate::dense::Array;
use smallvec::{SmallVec, smallvec};

/// `product(a, b) + summand`, rounded as the two are one after the other; half precision once.
pub struct Affine {
    pub name: &'static str,
    pub product: &'static Bilinear,
    /// The whole at once, for operands that have a kernel for it.
    pub eval: fn(&Params, [&Array; 3]) -> Option<Result<Array>>,
}

/// Arguments of half precision in single.
fn widened<'a>(args: impl Iterator<Item = &'a Tensor>) -> Result<Option<SmallVec<[Tensor; 3]>>> {
    let mut args = args.peekable();
    match args.peek() {
        Some(first) if first.dtype().is_half() => {
            args.map(|a| basis::cast(a, DType::F32)).collect::<Result<_>>().map(Some)
        }
        _ => Ok(None),
    }
}

impl Primitive for Affine {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        if args.iter().all(|a| a.symbolic().is_none())
            && let Some(out) = (self.eval)(params, [args[0].array()?, args[1].array()?, args[2].array()?])
        {
            return Ok(out?.into());
        }
        if let Some(wide) = widened(args.iter().copied())? {
            let out = self.eval(params, &wide.iter().collect::<SmallVec<[&Tensor; 3]>>())?;
            return basis::cast(&out, args[0].dtype());
        }
        basis::add_into(self.product.eval(params, &args[..2])?, args[2])
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        self.product.infer(params, &args[..2])
    }

    fn saves(&self, params: &Params, needs: Mask) -> Saves {
        self.product.saves(params, needs & 0b11)
    }

    fn jvp(&self, _: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let product = match tangents[..2] {
            [None, None] => None,
            _ => self.product.jvp(Prim::Static(self.product), params, point, &tangents[..2])?.pop().flatten(),
        };
        Ok(smallvec![match (product, tangents[2]) {
            (Some(p), Some(t)) => Some(basis::add(&p, t)?),
            (Some(p), None) => Some(p),
            (None, Some(t)) => Some(basis::expand(t, point.output(0)?.shape())?),
            (None, None) => None,
        }])
    }

    fn vjp(
        &self,
        me: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        let [Some(g)] = cotangents else { return Ok(SmallVec::new()) };
        let mut grads = match needs & 0b11 {
            0 => smallvec![None, None],
            products => self.product.vjp(me, params, point, cotangents, products)?,
        };
        grads.push(match needs >> 2 & 1 {
            1 => Some(basis::unbroadcast(g.clone(), point.in_shape(2)?)?),
            _ => None,
        });
        Ok(grads)
    }

    fn batch(&self, _: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        let dtype = args[0].value.dtype();
        if let Some(wide) = widened(args.iter().map(|a| a.value))? {
            let one = |(a, value): (&BatchArg<'_>, _)| BatchArg { value, dim: a.dim };
            let args: SmallVec<[BatchArg<'_>; 3]> = args.iter().zip(&wide).map(one).collect();
            let outs = self.batch(Prim::Static(self.product), params, &args, info)?;
            return outs.into_iter().map(|(out, dim)| Ok((basis::cast(&out, dtype)?, dim))).collect();
        }
        let rank = batching::logical_rank(&args[..2]);
        let summand = batching::aligned(&args[2], rank)?;
        let product = (self.product.batch)(Prim::Static(self.product), params, &args[..2], info)?;
        Ok(smallvec![(basis::add_into(product, &summand)?, Some(0))])
    }
}
