//! Values that a forward changed without telling: an error for whoever goes on to differentiate them.

use super::level::{self, LevelId};
use super::meta::{Inferred, Meta};
use super::node::{Edges, Node, Residuals};
use super::origin::at_here;
use super::params::Params;
use super::primitive::{BatchArg, BatchInfo, BatchOut, Mask, Point, Prim, Primitive, Tangents};
use super::tensor::{Payload, Tensor};
use crate::base::{Error, Result};
use std::sync::Arc;

/// Around a value that a forward changed without telling: `why` is the error for whoever goes on to differentiate it.
pub fn spoil(value: Tensor, why: String) -> Tensor {
    let prim: Arc<dyn Primitive> = Arc::new(Spoilt(why));
    let metas = std::iter::once(Meta::of(&value)).collect();
    let node = Node::op(LevelId::SPOILT, Prim::Shared(&prim), &Params::None, metas, Edges::None, Residuals::None);
    Tensor::taped(LevelId::SPOILT, value, node, 0)
}

/// Whether a level follows the value and would record what is done with it now.
fn is_followed_now(t: &Tensor) -> bool {
    let mut next = Some(t);
    while let Some(t) = next {
        let id = t.level();
        let follows = match t.payload() {
            Some(Payload::Taped { .. }) => level::is_live(id) && level::records(id),
            Some(Payload::Dual { .. }) => level::is_live(id) && level::propagates(id),
            _ => false,
        };
        if follows {
            return true;
        }
        next = t.below();
    }
    false
}

pub(super) fn check(args: &[&Tensor]) -> Result<()> {
    for a in args {
        if let Some(Payload::Taped { value, node, .. }) = a.payload_at(LevelId::SPOILT)
            && is_followed_now(value)
        {
            return Err(Error::runtime(format!("{}{}", node.name(), at_here())));
        }
    }
    Ok(())
}

/// What the node of a spoilt value holds: the error.
struct Spoilt(String);

impl Primitive for Spoilt {
    fn name(&self) -> &str {
        &self.0
    }
    fn eval(&self, _: &Params, _: &[&Tensor]) -> Result<Tensor> {
        Err(Error::runtime(self.0.clone()))
    }
    fn infer(&self, _: &Params, _: &[Meta]) -> Result<Inferred> {
        Err(Error::runtime(self.0.clone()))
    }
    fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Err(Error::runtime(self.0.clone()))
    }
    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Err(Error::runtime(self.0.clone()))
    }
    fn batch(&self, _: Prim<'_>, _: &Params, _: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Err(Error::runtime(self.0.clone()))
    }
}
