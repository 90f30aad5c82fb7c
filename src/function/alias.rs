//! Another value of the same: it hangs on the tape behind the first one, so that both can be told apart.

use crate::base::Result;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Params, Point, Prim, Primitive, Tangents, Tensor, call,
};
use smallvec::smallvec;
use std::sync::Arc;

struct Alias;

/// The value, as what an operator made of it.
///
/// # Errors
/// Those of levels that the value belongs to.
pub fn alias(value: &Tensor) -> Result<Tensor> {
    let prim: Arc<dyn Primitive> = Arc::new(Alias);
    call(Prim::Shared(&prim), &Params::None, &[value])
}

impl Primitive for Alias {
    fn name(&self) -> &str {
        "alias"
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
    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, cotangents: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(smallvec![cotangents[0].clone()])
    }
    fn batch(&self, me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Ok(smallvec![(call(me, p, &[args[0].value])?, args[0].dim)])
    }
}
