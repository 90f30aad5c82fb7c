//! The primitive that a custom function becomes.

use super::batched::Batched;
use super::{Function, Setup, Values, check_gradients};
use crate::bail;
use crate::base::Result;
use crate::core::call::Custom;
use crate::core::level::{self, Below, LevelKind};
use crate::core::node::{Edge, Link, Meta, Node, Residual, Saved};
use crate::core::primitive::no_rule;
use crate::core::reach::Reach;
use crate::core::tensor::Payload;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, LevelId, Mask, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor, call_many,
};
use crate::rules::basis;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// Runs a custom function on any values.
pub fn apply(f: &Arc<dyn Function>, args: &[Tensor]) -> Result<Outputs> {
    let prim: Arc<dyn Primitive> = Arc::new(CustomPrimitive { f: f.clone() });
    let refs: SmallVec<[&Tensor; 4]> = args.iter().collect();
    call_many(Prim::Shared(&prim), &Params::None, &refs)
}

pub struct CustomPrimitive {
    pub f: Arc<dyn Function>,
}

/// What a node keeps of a [`Setup`] whose tensors are its residuals.
struct Kept {
    setup: Setup,
    inputs: Vec<Option<Meta>>,
}

fn owned(args: &[&Tensor]) -> Values {
    args.iter().map(|a| (*a).clone()).collect()
}

/// The value of the levels below a wrapper of `level`.
fn strip(level: LevelId, t: &Tensor) -> Tensor {
    match (t.level() == level, t.below()) {
        (true, Some(b)) => b.clone(),
        _ => t.clone(),
    }
}

impl CustomPrimitive {
    fn below(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Outputs> {
        let values: Values = args.iter().map(|a| strip(level, a)).collect();
        let refs: SmallVec<[&Tensor; 4]> = values.iter().collect();
        let _below = Below::enter(level);
        call_many(me, &Params::None, &refs)
    }

    /// Saved tensors as residuals: without their nodes, and with what they were.
    fn residual(level: LevelId, t: &Tensor, args: &[&Tensor], outs: &[Tensor]) -> Result<Residual> {
        let value = strip(level, t);
        let link = if let Some(i) = args.iter().position(|a| a.same(t)) {
            Link::Input(i as u32)
        } else if let Some(i) = outs.iter().position(|o| o.same(t)) {
            Link::Output(i as u32)
        } else {
            Link::Other(t.node_at(level).map(|(node, slot)| Edge { node: node.clone(), slot }))
        };
        Residual::save(level, value, link)
    }
}

impl Custom for CustomPrimitive {
    fn tape(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor], needs: Mask) -> Result<Outputs> {
        let below = self.below(level, me, args)?;
        let edges =
            args.iter().map(|a| a.node_at(level).map(|(node, slot)| Edge { node: node.clone(), slot })).collect();
        let metas = below.iter().map(Meta::of).collect();
        let node = Node::op(level, me.to_owned(), Params::None, metas, edges, Saved::default());
        let wrapped: Outputs = below
            .iter()
            .enumerate()
            .map(|(i, v)| {
                if v.dtype().is_differentiable() {
                    Tensor::taped(level, v.clone(), node.clone(), i as u32)
                } else {
                    v.clone()
                }
            })
            .collect();
        let mut setup = self.f.setup(&owned(args), &wrapped, needs)?;
        let saved = std::mem::take(&mut setup.saved);
        let residuals = saved.iter().map(|t| Self::residual(level, t, args, &wrapped)).collect::<Result<_>>()?;
        let constant = setup.non_differentiable;
        let inputs = args.iter().map(|a| Some(Meta::of(a))).collect();
        *node.saved() = Saved { residuals, context: Some(Arc::new(Kept { setup, inputs })), freed: false };
        Ok(wrapped
            .into_iter()
            .zip(below)
            .enumerate()
            .map(|(i, (w, b))| if constant >> i.min(63) & 1 == 1 { b } else { w })
            .collect())
    }

    fn dual(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Outputs> {
        let outs = self.below(level, me, args)?;
        let primals: Values = args.iter().map(|a| strip(level, a)).collect();
        let tangents: SmallVec<[Option<Tensor>; 4]> = args
            .iter()
            .map(|a| match a.payload_at(level) {
                Some(Payload::Dual { tangent, .. }) => Some(tangent.clone()),
                _ => None,
            })
            .collect();
        let _below = Below::enter(level);
        let setup = self.f.setup(&primals, &outs, 0)?;
        let tangents = if setup.materialize { materialized(&tangents, &primals)? } else { tangents };
        let results = self.f.jvp(&setup, &tangents)?;
        self.check_tangents(&results, &outs)?;
        Ok(outs
            .into_iter()
            .zip(results)
            .enumerate()
            .map(|(i, (o, t))| match t {
                Some(t) if o.dtype().is_differentiable() && setup.non_differentiable >> i.min(63) & 1 == 0 => {
                    Tensor::dual(level, o, t)
                }
                _ => o,
            })
            .collect())
    }

    fn batch(&self, level: LevelId, _: Prim<'_>, args: &[&Tensor]) -> Result<Outputs> {
        let info = level::with(level, |l| match l.kind {
            LevelKind::Batch { size, randomness } => Some(BatchInfo { level, size, randomness }),
            _ => None,
        });
        let Some(Some(info)) = info else { bail!(Internal, "{}: no batch level", self.f.name()) };
        let dims: SmallVec<[Option<usize>; 4]> = args
            .iter()
            .map(|a| match a.payload_at(level) {
                Some(Payload::Batched { dim, .. }) => Some(*dim),
                _ => None,
            })
            .collect();
        let values: Values = args.iter().map(|a| strip(level, a)).collect();
        let _below = Below::enter(level);
        let outs = match self.f.vmap(info, &dims, &values)? {
            Some(outs) => outs,
            None => {
                let batched = Arc::new(Batched::new(self.f.clone(), info, &dims));
                let function: Arc<dyn Function> = batched.clone();
                let outs = apply(&function, &values)?;
                let out_dims = batched.out_dims()?;
                outs.into_iter().zip(out_dims).collect()
            }
        };
        outs.into_iter()
            .enumerate()
            .map(|(i, (o, dim))| match dim {
                None => Ok(o),
                Some(d) if d < o.rank() && o.shape()[d] == info.size => Ok(Tensor::batched(level, o, d)),
                Some(d) => bail!(
                    Runtime,
                    "{}.vmap: output {i} of shape {} has no batch of size {} at dimension {d}",
                    self.f.name(),
                    o.shape(),
                    info.size
                ),
            })
            .collect()
    }

    fn trace(&self, _: LevelId, _: Prim<'_>, _: &[&Tensor]) -> Option<Result<Outputs>> {
        None
    }
}

impl CustomPrimitive {
    fn check_tangents(&self, tangents: &Tangents, outs: &Outputs) -> Result<()> {
        if tangents.len() != outs.len() {
            bail!(Runtime, "{}.jvp: returned {} tangents for {} outputs", self.f.name(), tangents.len(), outs.len());
        }
        for (i, (t, o)) in tangents.iter().zip(outs).enumerate() {
            let Some(t) = t else { continue };
            if t.shape() != o.shape() || t.dtype() != o.dtype() {
                bail!(
                    Runtime,
                    "{}.jvp: tangent {i} has dtype {} and shape {}, expected {} and {}",
                    self.f.name(),
                    t.dtype(),
                    t.shape(),
                    o.dtype(),
                    o.shape()
                );
            }
        }
        Ok(())
    }
}

/// Zeros in place of missing tangents of differentiable values.
fn materialized(tangents: &[Option<Tensor>], like: &[Tensor]) -> Result<SmallVec<[Option<Tensor>; 4]>> {
    tangents
        .iter()
        .zip(like)
        .map(|(t, x)| match t {
            Some(t) => Ok(Some(t.clone())),
            None if x.dtype().is_differentiable() => basis::zeros_like(x).map(Some),
            None => Ok(None),
        })
        .collect()
}

impl Primitive for CustomPrimitive {
    fn name(&self) -> &str {
        self.f.name()
    }

    fn eval(&self, p: &Params, args: &[&Tensor]) -> Result<Tensor> {
        match self.eval_many(p, args)?.pop() {
            Some(out) => Ok(out),
            None => bail!(Runtime, "{}: gave no output", self.f.name()),
        }
    }

    fn eval_many(&self, _: &Params, args: &[&Tensor]) -> Result<Outputs> {
        self.f.forward(&owned(args))
    }

    fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Err(no_rule(self.f.name(), "jvp"))
    }

    fn vjp(
        &self,
        _: Prim<'_>,
        _: &Params,
        point: &Point<'_>,
        cotangents: &[Option<Tensor>],
        needs: Mask,
    ) -> Result<Tangents> {
        let Some(node) = point.node else { bail!(Internal, "{}: no node", self.f.name()) };
        let Some(context) = node.saved().context.clone() else {
            bail!(
                Runtime,
                "backward(): Trying to backward through the graph a second time, and what {} saved is freed; give \
                 retain_graph=True to the first call",
                self.f.name()
            )
        };
        let Some(kept) = context.downcast_ref::<Kept>() else { bail!(Internal, "{}: context", self.f.name()) };
        let setup = Setup {
            context: kept.setup.context.clone(),
            saved: point.residuals.iter().map(|(_, v)| v.clone()).collect(),
            non_differentiable: kept.setup.non_differentiable,
            materialize: kept.setup.materialize,
        };
        let cts: SmallVec<[Option<Tensor>; 2]> = cotangents
            .iter()
            .zip(&node.metas)
            .map(|(c, m)| match c {
                Some(c) => Ok(Some(c.clone())),
                None if setup.materialize && m.dtype.is_differentiable() => {
                    basis::full(&m.shape, m.dtype, 0.0).map(Some)
                }
                None => Ok(None),
            })
            .collect::<Result<_>>()?;
        let grads = self.f.backward(&setup, &cts, needs)?;
        check_gradients(self.f.name(), &grads, &kept.inputs)?;
        Ok(grads)
    }

    fn batch(&self, _: Prim<'_>, _: &Params, _: &[BatchArg<'_>], _: BatchInfo) -> Result<BatchOut> {
        Err(no_rule(self.f.name(), "vmap"))
    }

    fn reach(&self, reach: &mut Reach<'_>) {
        if reach.owns(&self.f) {
            self.f.reach(reach);
        }
    }

    fn reach_context(&self, context: &(dyn Any + Send + Sync), reach: &mut Reach<'_>) {
        let Some(kept) = context.downcast_ref::<Kept>() else { return };
        if Arc::strong_count(&kept.setup.context) == 1 {
            self.f.reach_context(&kept.setup.context, reach);
        }
    }

    fn custom(&self) -> Option<&dyn Custom> {
        Some(self)
    }
}
