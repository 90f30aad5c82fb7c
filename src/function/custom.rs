//! The primitive that a custom function becomes.
//!
//! NOTE outputs. Levels hand up all outputs of the forward: results, results without a derivative, and hidden values
//! that the setup saves. Each carries what it truly depends on, so that a level above may save it; `apply` cuts off
//! what the caller must not see.

use super::batched::{self, Batched};
use super::setup_of::opened;
use super::{Function, History, Mapped, Rule, Setup, Values, check_tangents, checked_gradients, derived, hidden};
use crate::bail;
use crate::base::Result;
use crate::core::custom::{Custom, call_custom};
use crate::core::level::{self, Below};
use crate::core::node::{Edge, Link, Meta, Node, Residual, Residuals};
use crate::core::origin::at_here;
use crate::core::primitive::no_rule;
use crate::core::reach::Reach;
use crate::core::saved_context::{Context, SavedContext, places};
use crate::core::tensor::Payload;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Forward, Inferred, LevelId, Mask, Outputs, Params, Point, Prim, Primitive, Set,
    Tangents, Tensor, forward, shared,
};
use crate::ops::shape::detach;
use crate::rules::basis;
use smallvec::SmallVec;
use std::any::Any;
use std::sync::Arc;

/// Runs a custom function on any values; gives its results.
///
/// # Errors
/// Those of its methods, and those of levels that the values belong to.
pub fn apply(f: &Arc<dyn Function>, args: &[Tensor]) -> Result<Outputs> {
    let mut run = apply_all(f, args)?;
    let seen = run.results().saturating_sub(run.unseen);
    run.outputs.truncate(seen);
    Ok(run.outputs)
}

/// The same; gives all that the run gave.
///
/// # Errors
/// As [`apply`].
pub fn apply_all(f: &Arc<dyn Function>, args: &[Tensor]) -> Result<Forward> {
    let mut run = run(f, args)?;
    if !run.constant.is_empty() {
        for (i, o) in run.outputs.iter_mut().enumerate() {
            if run.constant.has(i) && o.level() != LevelId::DENSE {
                *o = detach(o)?;
            }
        }
    }
    Ok(run)
}

fn run(f: &Arc<dyn Function>, args: &[Tensor]) -> Result<Forward> {
    let custom = Arc::new(CustomPrimitive { f: f.clone() });
    let prim: Arc<dyn Primitive> = custom.clone();
    let refs: SmallVec<[&Tensor; 4]> = args.iter().collect();
    call_custom(&*custom, Prim::Shared(&prim), &refs)
}

pub struct CustomPrimitive {
    f: Arc<dyn Function>,
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
    fn below(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Forward> {
        let values: Values = args.iter().map(|a| strip(level, a)).collect();
        let _below = Below::enter(level);
        if level::tracing() == LevelId::DENSE && values.iter().all(|v| v.level() == LevelId::DENSE) {
            return self.f.forward(&values);
        }
        let refs: SmallVec<[&Tensor; 4]> = values.iter().collect();
        call_custom(self, me, &refs)
    }

    pub(super) fn signature(&self) -> Option<String> {
        self.f.signature()
    }

    /// Runs the setup and notes what it declares.
    fn setup(&self, args: &[Tensor], run: &mut Forward, needs: &Set) -> Result<Setup> {
        let setup = self.f.setup(args, run, needs)?;
        run.constant.join(&setup.non_differentiable);
        Ok(setup)
    }

    /// Saved tensors as residuals: without their nodes, and with what they were.
    fn residual(level: LevelId, t: &Tensor, args: &[&Tensor], outs: &[Tensor]) -> Result<Residual> {
        let value = strip(level, t);
        let link = if let Some(i) = args.iter().position(|a| a.same(t)) {
            Link::Input(i as u32)
        } else if let Some(i) = outs.iter().position(|o| o.same(t)) {
            Link::Output(i as u32)
        } else {
            Link::Other(t.node_at(level).map(|(node, slot)| Box::new(Edge { node: node.clone(), slot })))
        };
        Residual::save(level, value, link)
    }
}

impl Custom for CustomPrimitive {
    fn forward(&self, args: &[&Tensor]) -> Result<Forward> {
        self.f.forward(&owned(args))
    }

    fn tape(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor], needs: &Set) -> Result<Forward> {
        let mut run = self.below(level, me, args)?;
        let below = std::mem::take(&mut run.outputs);
        let edges =
            args.iter().map(|a| a.node_at(level).map(|(node, slot)| Edge { node: node.clone(), slot })).collect();
        let metas = below.iter().map(Meta::of).collect();
        let node = Node::op(level, me, &Params::None, metas, edges, Residuals::None);
        let wrap = |(i, v): (usize, Tensor)| match v.dtype().is_differentiable() {
            true => Tensor::taped(level, v, node.clone(), i as u32),
            false => v,
        };
        run.outputs = below.into_iter().enumerate().map(wrap).collect();
        let mut setup = self.setup(&owned(args), &mut run, needs)?;
        let saved = std::mem::take(&mut setup.saved);
        let wrapped = &run.outputs;
        let mut residuals: Residuals =
            saved.iter().map(|t| Self::residual(level, t, args, wrapped)).collect::<Result<_>>()?;
        let results = run.results();
        let without_rule = |r: &Residual| match r.link() {
            Link::Output(i) => {
                let i = *i as usize;
                (i >= results || setup.non_differentiable.has(i)) && wrapped[i].dtype().is_differentiable()
            }
            _ => false,
        };
        if residuals.iter().any(without_rule) {
            let input = |(i, a): (usize, &&Tensor)| Residual::own(strip(level, a), Link::Input(i as u32));
            residuals = residuals.iter().cloned().chain(args.iter().enumerate().map(input)).collect();
        }
        let Setup { context, non_differentiable, materialize, .. } = setup;
        let places = places(&node, &non_differentiable, results, &residuals[..saved.len()]);
        let inputs = args.iter().map(|a| Meta::of(a)).collect();
        let kept =
            SavedContext { context, non_differentiable, materialize, places, inputs, saved: saved.len(), results };
        node.save_context(kept, residuals);
        Ok(run)
    }

    fn dual(&self, level: LevelId, me: Prim<'_>, args: &[&Tensor]) -> Result<Forward> {
        let mut run = self.below(level, me, args)?;
        let primals: Values = args.iter().map(|a| strip(level, a)).collect();
        let given: SmallVec<[Option<Tensor>; 4]> = args
            .iter()
            .map(|a| match a.payload_at(level) {
                Some(Payload::Dual { tangent, .. }) => Some(tangent.clone()),
                _ => None,
            })
            .collect();
        let _below = Below::enter(level);
        let needs = if self.f.has(Rule::Jvp) { Set::NONE } else { derived::present(&given) };
        let mut setup = self.setup(&primals, &mut run, &needs)?;
        let (results, outs) = (run.results(), &run.outputs);
        if !self.f.has(Rule::Jvp) {
            setup.history = Some(History::derived(&setup, &primals, &outs[..results], &needs));
        }
        let mut tangents = self.tangents(&setup, &outs[..results], &primals, &given)?;
        let without_rule =
            |i: usize| (i >= results || setup.non_differentiable.has(i)) && outs[i].dtype().is_differentiable();
        // Only a level above can save these, or a tape below a level of `forward_ad`.
        let may_be_saved = level::is_followed(level) || (forward::is_recorded(outs) && level::is_forward_ad(level));
        if may_be_saved && (0..outs.len()).any(without_rule) {
            tangents.resize(outs.len(), None);
            let all = hidden::jvp((&*self.f, &setup), &primals, outs, &given, &without_rule)?;
            for (i, t) in all.into_iter().enumerate().filter(|(i, _)| without_rule(*i)) {
                tangents[i] = t;
            }
        } else {
            (0..results).filter(|i| without_rule(*i)).for_each(|i| tangents[i] = None);
        }
        let mut tangents = tangents.into_iter();
        let wrap = |o: Tensor| match tangents.next().flatten() {
            Some(t) if o.dtype().is_differentiable() => Tensor::dual(level, o, t),
            _ => o,
        };
        let outputs = std::mem::take(&mut run.outputs).into_iter().map(wrap).collect();
        Ok(run.with(outputs))
    }

    fn batch(&self, level: LevelId, _: Prim<'_>, args: &[&Tensor]) -> Result<Forward> {
        let info = level::batch(level)?;
        let dims: SmallVec<[Option<usize>; 4]> = args
            .iter()
            .map(|a| match a.payload_at(level) {
                Some(Payload::Batched { dim, .. }) => Some(*dim),
                _ => None,
            })
            .collect();
        let values: Values = args.iter().map(|a| strip(level, a)).collect();
        let _below = Below::enter(level);
        let (Mapped { mut forward, dims }, shared) = match self.f.vmap(info, &dims, &values)? {
            Some(mapped) => (mapped, Set::NONE),
            None => {
                let function: Arc<dyn Function> = Arc::new(Batched::new(self.f.clone(), info, &dims, &values));
                batched::opened(run(&function, &values)?)?
            }
        };
        for (i, (o, dim)) in forward.outputs.iter_mut().zip(dims).enumerate() {
            match dim {
                None => {}
                Some(d) if d < o.rank() && o.shape()[d] == info.size => {
                    *o = Tensor::batched(level, o.clone(), d);
                    if shared.has(i) {
                        shared::note(level, o);
                    }
                }
                Some(d) => bail!(
                    Runtime,
                    "{}.vmap: output {i} of shape {} has no batch of size {} at dimension {d}, where out_dims says that \
                     it is{}",
                    self.f.name(),
                    o.shape(),
                    info.size,
                    at_here()
                ),
            }
        }
        Ok(forward)
    }

    fn saved_tangents(
        &self,
        level: LevelId,
        args: &[&Tensor],
        run: &mut Forward,
        node: &Node,
    ) -> Result<Vec<Option<Tensor>>> {
        let needs = node.edges.iter().enumerate().filter(|(_, e)| e.is_some()).map(|(i, _)| i).collect();
        let setup = self.f.setup(&owned(args), run, &needs)?;
        let tangent = |t: &Tensor| match t.payload_at(level) {
            Some(Payload::Dual { tangent, .. }) => Some(tangent.clone()),
            _ => None,
        };
        Ok(setup.saved.iter().map(tangent).collect())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl CustomPrimitive {
    /// The results' tangents, by the function's own rule or the transpose of its backward.
    fn tangents(
        &self,
        setup: &Setup,
        outs: &[Tensor],
        primals: &[Tensor],
        given: &[Option<Tensor>],
    ) -> Result<Tangents> {
        if !self.f.has(Rule::Jvp) {
            return derived::jvp(&*self.f, setup, outs, given);
        }
        let results = match setup.materialize {
            true => self.f.jvp(setup, &materialized(given, primals)?)?,
            false => self.f.jvp(setup, given)?,
        };
        check_tangents(&*self.f, setup, &results, outs)?;
        Ok(results)
    }

    /// The inputs' cotangents, by the function's own rule or the transpose of its jvp.
    fn cotangents(
        &self,
        kept: &SavedContext,
        setup: &Setup,
        node: &Node,
        given: &[Option<Tensor>],
        needs: &Set,
    ) -> Result<Tangents> {
        if !self.f.has(Rule::Backward) {
            return derived::backward(&*self.f, setup, &kept.inputs, given, needs);
        }
        let is_missing = |c: &Option<Tensor>, m: &Meta| c.is_none() && m.dtype.is_differentiable();
        let grads = if setup.materialize && given.iter().zip(node.metas.iter()).any(|(c, m)| is_missing(c, m)) {
            let dense = |(c, m): (&Option<Tensor>, &Meta)| match is_missing(c, m) {
                true => basis::full(&m.shape, m.dtype, 0.0).map(Some),
                false => Ok(c.clone()),
            };
            let given = given.iter().zip(node.metas.iter()).map(dense);
            self.f.backward(setup, &given.collect::<Result<SmallVec<[Option<Tensor>; 2]>>>()?, needs)?
        } else {
            self.f.backward(setup, given, needs)?
        };
        checked_gradients(&*self.f, grads, &kept.inputs)
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

    fn has_effect(&self) -> bool {
        true
    }

    fn eval(&self, p: &Params, args: &[&Tensor]) -> Result<Tensor> {
        match self.eval_many(p, args)?.pop() {
            Some(out) => Ok(out),
            None => bail!(Runtime, "{}: gave no output", self.f.name()),
        }
    }

    fn eval_many(&self, _: &Params, args: &[&Tensor]) -> Result<Outputs> {
        Ok(self.f.forward(&owned(args))?.outputs)
    }

    fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
        // The forward is ordinary code, unless it leaves the library.
        let args: Values = args.iter().map(|m| Tensor::without_data(m.clone())).collect();
        Ok(self.f.forward(&args)?.outputs.iter().map(Meta::of).collect())
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
        let Some(kept) = node.saved_context() else { bail!(Internal, "{}: nothing kept", self.f.name()) };
        let edges = &node.edges;
        let needs = &Set::of_mask(needs, edges.len(), |i| edges[i].is_some());
        let residuals = &point.residuals[..kept.saved];
        let saved = residuals.iter().map(|r| r.opened().clone()).collect();
        let setup = opened(kept, saved, Some(History::swept(node)));
        let results = &cotangents[..kept.results.min(cotangents.len())];
        if results.len() == cotangents.len()
            && setup.non_differentiable.is_empty()
            && results.iter().any(Option::is_some)
        {
            return self.cotangents(kept, &setup, node, results, needs);
        }
        let without_rule = |i: usize| i >= kept.results || setup.non_differentiable.has(i);
        let given: SmallVec<[Option<Tensor>; 2]> =
            results.iter().enumerate().map(|(i, c)| if without_rule(i) { None } else { c.clone() }).collect();
        // A sweep that brought nothing runs the rule as well: on zeros, unless it asks for what is absent.
        let runs = given.iter().any(Option::is_some) || cotangents.iter().all(Option::is_none);
        let mut grads = match runs {
            true => self.cotangents(kept, &setup, node, &given, needs)?,
            false => Tangents::from_elem(None, kept.inputs.len()),
        };
        if cotangents.iter().enumerate().any(|(i, c)| without_rule(i) && c.is_some()) {
            let other = |(i, c): (usize, &Option<Tensor>)| if without_rule(i) { c.clone() } else { None };
            let others: SmallVec<[Option<Tensor>; 2]> = cotangents.iter().enumerate().map(other).collect();
            let inputs: Values = point.residuals[kept.saved..].iter().map(|r| r.opened().clone()).collect();
            let known: SmallVec<[(usize, Tensor); 2]> = residuals
                .iter()
                .filter_map(|r| match r.link() {
                    Link::Output(i) => Some((*i as usize, r.opened().clone())),
                    _ => None,
                })
                .collect();
            let more = hidden::vjp((&*self.f, &setup), &inputs, &known, &others, needs)?;
            for (g, m) in grads.iter_mut().zip(more) {
                *g = match (g.take(), m) {
                    (Some(a), Some(b)) => Some(basis::add(&a, &b)?),
                    (a, b) => a.or(b),
                };
            }
        }
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

    fn reach_context(&self, context: &Context, reach: &mut Reach<'_>) {
        self.f.reach_context(context, reach);
    }

    fn custom(&self) -> Option<&dyn Custom> {
        Some(self)
    }
}
