//! Gradients that a method computed without recording how: their derivatives are not known, and are no zeros.

use crate::base::{Error, Result};
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use smallvec::{SmallVec, smallvec};
use std::sync::Arc;

/// Gives its first argument; reverse mode must not go on behind it. It holds the error.
struct Lost(String);

/// The value, such that differentiating it with respect to one of `through` raises `why`.
///
/// # Errors
/// Those of levels that the values belong to.
pub fn lost(why: &str, value: &Tensor, through: &[&Tensor]) -> Result<Tensor> {
    let prim: Arc<dyn Primitive> = Arc::new(Lost(why.into()));
    let args: SmallVec<[&Tensor; 8]> = std::iter::once(value).chain(through.iter().copied()).collect();
    call(Prim::Shared(&prim), &Params::None, &args)
}

impl Primitive for Lost {
    fn name(&self) -> &str {
        "autograd.grad"
    }
    fn eval(&self, _: &Params, args: &[&Tensor]) -> Result<Tensor> {
        Ok(args[0].clone())
    }
    fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
        Ok(smallvec![args[0].clone()])
    }
    fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, tangents: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(smallvec![tangents[0].cloned()])
    }
    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Err(Error::runtime(self.0.clone()))
    }
    fn batch(&self, me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        // Levels below follow what the value must not be differentiated through.
        let values: SmallVec<[&Tensor; 8]> = args.iter().map(|a| a.value).collect();
        Ok(smallvec![(call(me, p, &values)?, args[0].dim)])
    }
}
