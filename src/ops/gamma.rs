//! Gamma variables, whose draws take as many words as it needs to accept a candidate; and how gamma and beta variables move
//! with their parameters.

use super::draw::{Source, forbidden, generator};
use super::rewind;
use super::special::{lgamma, xlogy};
use super::unary::exp;
use crate::base::Result;
use crate::core::level::{self, Below, LevelKind, Randomness};
use crate::core::params::{Parameters, fields, parameters};
use crate::core::primitive::no_rule;
use crate::core::tensor::Payload;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Mask, Meta, Outputs, Params, Point, Prim, Primitive, Tangents, Tensor,
    call,
};
use crate::dense::pointwise::kernels as slopes;
use crate::dense::random as kernels;
use crate::ops::signature::{Floats, GivenGenerator};
use crate::rules::{Partial, Pointwise, basis, batching, shapes};
use smallvec::smallvec;
use std::sync::Arc;

/// The density of a gamma variable of shape `a`.
fn density(a: &Tensor, x: &Tensor) -> Result<Tensor> {
    let power = xlogy(&basis::shift(a, -1.0)?, x)?;
    exp(&basis::sub(&basis::sub(&power, x)?, &lgamma(a)?)?)
}

/// The slopes have no derivatives of their own.
fn unknown() -> Result<Partial<'static>> {
    Err(no_rule("_standard_gamma_grad", "derivative"))
}

binary! { PAIRS, PAIR_PRIMITIVES:
    /// The derivative of gamma variables `output` by their shape parameters `input`, at a fixed quantile.
    ///
    /// >>> import pullback
    /// >>> pullback._standard_gamma_grad(pullback.tensor([1e4]), pullback.tensor([1e4]))
    /// tensor([1.0000])
    standard_gamma_grad = "_standard_gamma_grad" kernel GAMMA_SLOPE Float [NO_OUT, TRANSCENDENTAL]
        da[] unknown(), db[] unknown();

    /// The regularised lower incomplete gamma function: how likely a gamma variable of shape `input` is at most `other`.
    ///
    /// >>> import pullback
    /// >>> pullback.special.gammainc(pullback.tensor([1.0]), pullback.tensor([1.0]))
    /// tensor([0.6321])
    gammainc = "special.gammainc" | "igamma" kernel GAMMA_SHARE Float [NO_OUT, TRANSCENDENTAL]
        da[a b] basis::neg(&basis::mul(&standard_gamma_grad(a, b)?, &density(a, b)?)?), db[a b] density(a, b);

    /// A gamma variable `b`, which moves with its shape parameter `a`.
    gamma_drawn = "_standard_gamma:drawn" kernel STEPPED Same [INTERNAL]
        da[a b] standard_gamma_grad(a, b), db[] Partial::Zero;
}

pub(crate) static BETA_SLOPE: Pointwise =
    Pointwise { name: "_dirichlet_grad", kernel: &slopes::BETA_SLOPE, partials: &[None, None, None] };

#[derive(Clone)]
struct Drawn {
    generator: Option<Arc<dyn Parameters>>,
}

fields! { struct Drawn { generator } }
parameters! { Drawn = "gamma" }

impl std::fmt::Debug for Drawn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.generator.is_some() { "own generator" } else { "" })
    }
}

/// A draw without regard to levels, which [`drawn`] has asked before.
pub(crate) struct Gamma;
pub(crate) static GAMMA: Gamma = Gamma;

impl Primitive for Gamma {
    fn name(&self) -> &str {
        "_standard_gamma"
    }
    fn eval(&self, params: &Params, args: &[&Tensor]) -> Result<Tensor> {
        let given = &params.get::<Drawn>().generator;
        let rng = generator(given)?;
        rewind::note(rng, given);
        kernels::standard_gamma(rng, args[0].array()?).map(Tensor::from)
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
        drawn("_standard_gamma", params, args[0]).map(|t| smallvec![t])
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
fn repeated(op: &str, params: &Params, members: &Tensor) -> Result<Tensor> {
    let rng = generator(&params.get::<Drawn>().generator)?;
    let start = rng.position();
    let one = |i: usize| {
        rng.restore(&start);
        basis::unsqueeze_dims(&drawn(op, params, &basis::select(members, 0, i)?)?, &[0])
    };
    let all: Vec<Tensor> = (0..members.shape()[0]).map(one).collect::<Result<_>>()?;
    if all.is_empty() { Ok(members.clone()) } else { basis::cat(&all.iter().collect::<Vec<_>>(), 0) }
}

fn drawn(op: &str, params: &Params, shape: &Tensor) -> Result<Tensor> {
    crate::core::method_scope::check_random(op)?;
    let shape = value(shape);
    for l in level::visible() {
        let LevelKind::Batch { size, randomness } = l.kind else { continue };
        let members = match shape.payload_at(l.id) {
            Some(Payload::Batched { value, dim }) => Some((value, *dim)),
            _ => None,
        };
        match (if rewind::passes(&l) { Randomness::Same } else { randomness }, members) {
            (Randomness::Error, _) => return Err(forbidden(op, &l)),
            (Randomness::Same, None) => {
                let _below = Below::enter(l.id);
                return drawn(op, params, shape);
            }
            (Randomness::Same, Some((value, dim))) => {
                let below = Below::enter(l.id);
                let all = repeated(op, params, &basis::move_dim(value, dim, 0)?)?;
                drop(below);
                return Ok(Tensor::batched(l.id, all, 0));
            }
            (Randomness::Different, members) => {
                let below = Below::enter(l.id);
                let all = match members {
                    Some((value, dim)) => drawn(op, params, &basis::move_dim(value, dim, 0)?)?,
                    None => drawn(op, params, &basis::expand(shape, &shape.shape().prepend(size))?)?,
                };
                drop(below);
                return Ok(Tensor::batched(l.id, all, 0));
            }
        }
    }
    call(Prim::Static(&GAMMA), params, &[shape])
}

ops! { TABLE:
    /// Gamma variables of scale 1 with these shape parameters, which move with them.
    ///
    /// >>> import pullback
    /// >>> pullback._standard_gamma(pullback.tensor([2.0, 3.0])).shape
    /// pullback.Size([2])
    fn standard_gamma = "_standard_gamma" (input: &Tensor as Floats, generator: Source<'_> as GivenGenerator = None) -> Tensor [RANDOM, NO_OUT] {
        let params = Params::other(Drawn { generator: generator.cloned() });
        let numbers = if input.is_abstract() { value(input).clone() } else { drawn("_standard_gamma", &params, input)? };
        gamma_drawn(input, &numbers)
    }

    /// How beta variables `x` of the parameters `alpha` and `total - alpha` move with the first, over `1 - x`: the
    /// derivative of Dirichlet variables.
    ///
    /// >>> import pullback
    /// >>> one = pullback.tensor([1.0])
    /// >>> pullback._dirichlet_grad(one / 2, one, 2 * one)
    /// tensor([0.6931])
    fn dirichlet_grad = "_dirichlet_grad" (x: &Tensor, alpha: &Tensor, total: &Tensor) -> Tensor [NO_OUT, TRANSCENDENTAL] of BETA_SLOPE {
        let slope = call(Prim::Static(&BETA_SLOPE), &Params::None, &[x, alpha, &basis::sub(total, alpha)?])?;
        basis::div(&slope, &basis::shift(&basis::neg(x)?, 1.0)?)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[PAIRS, TABLE],
    primitives: &[PAIR_PRIMITIVES, &[&GAMMA, &BETA_SLOPE]],
    parameters: &[crate::core::params::Type::of::<Drawn>()],
};
