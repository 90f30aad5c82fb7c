//! Draws whose number of words depends on the parameters of each element: as many as it takes to accept a candidate.

use super::draw::{Source, forbidden, generator};
use super::rewind;
use crate::base::Result;
use crate::core::level::{self, Below, LevelKind, Randomness};
use crate::core::params::{Parameters, fields, parameters};
use crate::core::tensor::Payload;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call,
};
use crate::dense::random as kernels;
use crate::ops::signature::{Floats, GivenGenerator, HERE};
use crate::rules::{basis, batching, shapes};
use smallvec::smallvec;
use std::sync::Arc;

/// What to draw for each element of the arguments, which have one shape.
#[derive(Debug, Clone, Copy)]
pub(super) enum ByParameter {
    Gamma,
    Poisson,
    Binomial,
    /// Slopes of `rrelu`.
    Leaks {
        low: f64,
        high: f64,
    },
}

fields! { enum ByParameter { 0 => Gamma, 1 => Poisson, 2 => Binomial, 3 => Leaks { low, high }, } }

#[derive(Clone)]
struct Drawn {
    law: ByParameter,
    generator: Option<Arc<dyn Parameters>>,
}

fields! { struct Drawn { law, generator } }
parameters! { Drawn = "drawn" }

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}{}", self.law, if self.generator.is_some() { ", own generator" } else { "" })
    }
}

/// A draw without regard to levels, which [`drawn`] has asked before.
pub(crate) struct Rejection;
pub(crate) static REJECTION: Rejection = Rejection;

impl Primitive for Rejection {
    fn name(&self) -> &str {
        "random:rejection"
    }
    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        let Drawn { law, generator: given } = params.get::<Drawn>();
        let (rng, first) = (generator(given)?, args[0].array()?);
        rewind::note(rng, given);
        match *law {
            ByParameter::Gamma => kernels::standard_gamma(rng, first),
            ByParameter::Poisson => kernels::poisson(rng, first),
            ByParameter::Binomial => kernels::binomial(rng, first, args[1].array()?),
            ByParameter::Leaks { low, high } => kernels::leaks(rng, first, low, high),
        }
        .map(Tensor::from)
    }
    fn infer(&self, _: &Params, args: &[Meta]) -> Result<Inferred> {
        shapes::first(args).map(|m| smallvec![m.clone()])
    }
    fn is_constant(&self) -> bool {
        true
    }
    fn has_effect(&self) -> bool {
        true
    }
    fn replay(&self, _: Prim<'_>, params: &Params, args: &[&Tensor]) -> Result<Outputs> {
        drawn(self.name(), params, args).map(|t| smallvec![t])
    }
    fn jvp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<&Tensor>]) -> Result<Tangents> {
        Ok(smallvec![None])
    }
    fn vjp(&self, _: Prim<'_>, _: &Params, _: &Point<'_>, _: &[Option<Tensor>], _: Mask) -> Result<Tangents> {
        Ok(Tangents::new())
    }
    fn batch(&self, me: Prim<'_>, params: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
        batching::leading(me, params, args, info)
    }
}

/// The value without what follows its derivatives.
fn value(x: &Tensor) -> &Tensor {
    match x.payload() {
        Some(Payload::Dual { primal: below, .. } | Payload::Taped { value: below, .. }) => value(below),
        _ => x,
    }
}

/// Each member draws what it would draw alone: from where the generator stands.
fn repeated(op: &str, params: &Params, members: &[Tensor]) -> Result<Tensor> {
    let rng = generator(&params.get::<Drawn>().generator)?;
    let start = rng.position();
    let one = |i: usize| {
        rng.restore(&start);
        let parts: Vec<Tensor> = members.iter().map(|m| basis::select(m, 0, i)).collect::<Result<_>>()?;
        basis::unsqueeze_dims(&drawn(op, params, &parts.iter().collect::<Vec<_>>())?, &[0])
    };
    let all: Vec<Tensor> = (0..members[0].shape()[0]).map(one).collect::<Result<_>>()?;
    if all.is_empty() { Ok(members[0].clone()) } else { basis::cat(&all.iter().collect::<Vec<_>>(), 0) }
}

fn drawn(op: &str, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
    crate::core::method_scope::check_random(op)?;
    let args: Vec<&Tensor> = args.iter().map(|a| value(a)).collect();
    for l in level::visible() {
        let LevelKind::Batch { size, randomness } = l.kind else { continue };
        let randomness = if rewind::passes(&l) { Randomness::Same } else { randomness };
        let member = |a: &Tensor| match a.payload_at(l.id) {
            Some(Payload::Batched { value, dim }) => Some(basis::move_dim(value, *dim, 0)),
            _ => None,
        };
        if matches!(randomness, Randomness::Error) {
            return Err(forbidden(op, &l));
        }
        let below = Below::enter(l.id);
        let members: Vec<Option<Tensor>> = args.iter().map(|a| member(a).transpose()).collect::<Result<_>>()?;
        if matches!(randomness, Randomness::Same) && members.iter().all(Option::is_none) {
            return drawn(op, params, &args);
        }
        let each = |(m, a): (Option<Tensor>, &&Tensor)| match m {
            Some(m) => Ok(m),
            None => basis::expand(a, &a.shape().prepend(size)),
        };
        let all: Vec<Tensor> = members.into_iter().zip(&args).map(each).collect::<Result<_>>()?;
        let numbers = match randomness {
            Randomness::Same => repeated(op, params, &all)?,
            _ => drawn(op, params, &all.iter().collect::<Vec<_>>())?,
        };
        drop(below);
        return Ok(Tensor::batched(l.id, numbers, 0));
    }
    let has_no_data = level::is_undrawn() || args.iter().any(|a| a.is_abstract());
    let _without_data = has_no_data.then(level::WithoutData::enter);
    call(Prim::Static(&REJECTION), params, &args)
}

/// Numbers by a law whose parameters are tensors of one shape, as an operator: they do not move with the parameters.
pub(super) fn by_parameters(law: ByParameter, args: &[&Tensor], g: Source<'_>) -> Result<Tensor> {
    drawn(HERE, &Params::other(Drawn { law, generator: g.cloned() }), args)
}

ops! { TABLE:
    /// The slopes that `nn.functional.rrelu` draws in training: from [lower, upper) where the input is not positive, else 1.
    ///
    /// >>> import pullback
    /// >>> pullback._rrelu_slopes(pullback.tensor([2.0, 0.5]), 0.1, 0.3)
    /// tensor([1., 1.])
    fn rrelu_slopes = "_rrelu_slopes" (input: &Tensor as Floats, lower: f64, upper: f64; generator: Source<'_> as GivenGenerator = None)
        -> Tensor [RANDOM, NO_OUT] {
        by_parameters(ByParameter::Leaks { low: lower, high: upper }, &[input], generator)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[&[&REJECTION]],
    parameters: &[crate::core::params::Type::of::<Drawn>()],
};
