//! Operators that are linear in each of two arguments: matrix products, convolutions.

use super::Infer;
use crate::base::{Result, Shape};
use crate::core::deferred;
use crate::core::primitive::Saves;
use crate::core::symbolic::Symbolic;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use crate::dense::Array;
use smallvec::{SmallVec, smallvec};

/// Cotangent of one argument from that of the output, the other argument, and the argument's shape.
pub type Transpose = fn(&Params, g: &Tensor, other: &Tensor, shape: &Shape) -> Result<Tensor>;

/// Elements of a gradient from which on it may wait until it is read: below, the product costs little.
const WORTH_WAITING: usize = 4096;

/// A bilinear operator.
pub struct Bilinear {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &Array, &Array) -> Result<Array>,
    /// The product of a constant that is not in memory and an array, where it needs no kernel; whether the constant is on
    /// the left.
    pub symbolic: Option<fn(&Symbolic, &Array, bool) -> Result<Option<Array>>>,
    pub transposes: [Transpose; 2],
    /// Result with its batch in front, from the arguments as the level has them.
    pub batch: fn(Prim<'_>, &Params, &[BatchArg<'_>], BatchInfo) -> Result<Tensor>,
}

impl Bilinear {
    #[inline]
    fn with_symbolic(&self, args: &[&Tensor]) -> Result<Option<Tensor>> {
        let (Some(product), [a, b]) = (self.symbolic, args) else { return Ok(None) };
        let out = match (a.symbolic(), b.symbolic()) {
            (None, None) => return Ok(None),
            (Some(a), _) => product(a, b.array()?, true)?,
            (None, Some(b)) => product(b, a.array()?, false)?,
        };
        Ok(out.map(Tensor::from))
    }
}

/// Whether the cotangent of input `i` is a gradient that the sweep gives away, of a size that repays waiting.
#[inline]
fn is_last(point: &Point<'_>, i: usize, shape: &Shape) -> bool {
    shape.numel() >= WORTH_WAITING
        && point.node.and_then(|n| n.edges.get(i)).is_some_and(|e| e.as_ref().is_some_and(|e| e.node.is_leaf()))
}

impl Primitive for Bilinear {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        if let Some(out) = self.with_symbolic(args)? {
            return Ok(out);
        }
        Ok((self.eval)(params, args[0].array()?, args[1].array()?)?.into())
    }

    fn primal(&self, me: Prim<'_>, params: &Params, primals: &[&Tensor]) -> Result<Tensor> {
        match deferred::deferred(me, params, primals)? {
            Some(waiting) => Ok(waiting),
            None => call(me, params, primals),
        }
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn saves(&self, _: &Params, needs: Mask) -> Saves {
        // The cotangent of one argument needs the other one.
        Saves { inputs: (needs & 1) << 1 | (needs >> 1 & 1), outputs: 0 }
    }

    fn jvp(&self, me: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        let left = match tangents[0] {
            Some(t) => Some(call(me, params, &[t, point.input(1)?])?),
            None => None,
        };
        let right = match tangents[1] {
            Some(t) => Some(call(me, params, &[point.input(0)?, t])?),
            None => None,
        };
        Ok(smallvec![match (left, right) {
            (Some(a), Some(b)) => Some(super::basis::add(&a, &b)?),
            (a, b) => a.or(b),
        }])
    }

    fn vjp(
        &self,
        _: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        let Some(Some(g)) = cotangents.first() else { return Ok(SmallVec::new()) };
        let mut grads = Tangents::new();
        for i in 0..2 {
            grads.push(if needs >> i & 1 == 1 {
                let (other, shape) = (super::basis::conj(point.input(1 - i)?)?, point.in_shape(i)?);
                let product = || (self.transposes[i])(params, g, &other, shape);
                Some(if is_last(point, i, shape) { deferred::allowed(product)? } else { product()? })
            } else {
                None
            });
        }
        Ok(grads)
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        Ok(smallvec![((self.batch)(me, params, args, info)?, Some(0))])
    }
}
