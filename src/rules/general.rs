//! Operators whose rules are both their own, each with the reason beside it. Any number of arguments and outputs.

use super::Infer;
use crate::base::Result;
use crate::core::primitive::{Saves, only};
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
};

pub struct General {
    pub name: &'static str,
    pub infer: Infer,
    pub eval: fn(&Params, &[&Tensor]) -> Result<Outputs>,
    pub saves: fn(&Params, Mask) -> Saves,
    pub jvp: fn(Prim<'_>, &Params, &Point<'_>, &[Option<&Tensor>]) -> Result<Tangents>,
    pub vjp: fn(Prim<'_>, &Params, &Point<'_>, &[Option<Tensor>], Mask) -> Result<Tangents>,
    pub batch: fn(Prim<'_>, &Params, &[BatchArg<'_>], BatchInfo) -> Result<BatchOut>,
}

impl Primitive for General {
    fn name(&self) -> &str {
        self.name
    }

    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        only(self.name, (self.eval)(params, args)?)
    }

    fn eval_many(&self, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
        (self.eval)(params, args)
    }

    fn infer(&self, params: &Params, args: &[Meta]) -> Result<Inferred> {
        (self.infer)(params, args)
    }

    fn saves(&self, params: &Params, needs: Mask) -> Saves {
        (self.saves)(params, needs)
    }

    fn jvp(&self, me: Prim<'_>, params: &Params, point: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        (self.jvp)(me, params, point, tangents)
    }

    fn vjp(
        &self,
        me: Prim<'_>,
        params: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        (self.vjp)(me, params, point, cotangents, needs)
    }

    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        (self.batch)(me, params, args, info)
    }
}
