//! Gamma variables, and how gamma and beta variables move with their parameters.

use super::draw::Source;
use super::rejection::{ByParameter, by_parameters};
use super::special::{lgamma, xlogy};
use super::unary::exp;
use crate::base::Result;
use crate::core::primitive::no_rule;
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::pointwise::kernels as slopes;
use crate::ops::signature::{Floats, GivenGenerator};
use crate::rules::{Partial, Pointwise, basis};

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

ops! { TABLE:
    /// Gamma variables of scale 1 with these shape parameters, which move with them.
    ///
    /// >>> import pullback
    /// >>> pullback._standard_gamma(pullback.tensor([2.0, 3.0])).shape
    /// pullback.Size([2])
    fn standard_gamma = "_standard_gamma" (input: &Tensor as Floats, generator: Source<'_> as GivenGenerator = None) -> Tensor [RANDOM, NO_OUT] {
        gamma_drawn(input, &by_parameters(ByParameter::Gamma, &[input], generator)?)
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
    primitives: &[PAIR_PRIMITIVES, &[&BETA_SLOPE]],
    ..crate::ops::Family::EMPTY
};
