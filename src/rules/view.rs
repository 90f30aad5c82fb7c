//! Linear operators that only look at elements in another order or shape: constants go through them without memory.

use super::Linear;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::symbolic::Symbolic;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor,
};

/// A view.
pub struct View {
    pub linear: Linear,
    /// The result for a constant that is not in memory, if it need not be there afterwards either.
    pub symbolic: fn(&Params, &Symbolic) -> Option<Symbolic>,
}

impl View {
    #[cold]
    #[inline(never)]
    fn of_symbolic(&self, params: &Params, x: &Tensor) -> Result<Tensor> {
        match x.symbolic().and_then(|s| (self.symbolic)(params, s)) {
            Some(s) => Ok(s.into()),
            None => self.linear.eval(params, &[x]),
        }
    }
}

impl Primitive for View {
    fn name(&self) -> &str {
        self.linear.name
    }

    #[inline]
    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        if args[0].symbolic().is_some() {
            return self.of_symbolic(params, args[0]);
        }
        self.linear.eval(params, args)
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        self.linear.infer(params, args)
    }

    fn saves(&self, params: &Params, needs: Mask) -> Saves {
        self.linear.saves(params, needs)
    }

    fn jvp(&self, me: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        self.linear.jvp(me, params, point, tangents)
    }

    fn vjp(
        &self,
        me: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        self.linear.vjp(me, params, point, cotangents, needs)
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        self.linear.batch(me, params, args, info)
    }
}
