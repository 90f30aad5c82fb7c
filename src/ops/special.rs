//! Special functions of one argument.

use super::arith::polygamma_same;
use super::unary::{exp, sign};
use crate::base::Result;
use crate::core::Tensor;
use crate::rules::Partial;
use crate::rules::basis::{add, mul, neg, number, scale, shift, sub};

/// The second derivative of I₁, from `Rₙ = Iₙ(x) / xⁿ`: `Rₙ' = x Rₙ₊₁` has no pole at 0.
fn i1_bend(x: &Tensor, ratio: impl Fn(Tensor, &Tensor) -> Result<Tensor>) -> Result<Tensor> {
    let (r2, r3) = (ratio(number(x, 2.0), x)?, ratio(number(x, 3.0), x)?);
    mul(x, &add(&scale(&r2, 3.0)?, &mul(&mul(x, x)?, &r3)?)?)
}

binary! { RATIOS, RATIO_PRIMITIVES:
    /// The Bessel function of order `n` divided by `xⁿ`.
    ratio = "special.i1:ratio" kernel BESSEL_RATIO Float [INTERNAL]
        da[] Partial::Zero, db[a b] mul(b, &ratio(&shift(a, 1.0)?, b)?);

    /// The same times `exp(-|x|)`.
    ratio_scaled = "special.i1e:ratio" kernel BESSEL_RATIO_SCALED Float [INTERNAL]
        da[] Partial::Zero, db[a b y] sub(&mul(b, &ratio_scaled(&shift(a, 1.0)?, b)?)?, &mul(y, &sign(b)?)?);
}

unary! { TABLE, PRIMITIVES:
    /// The error function of each element.
    ///
    /// >>> import pullback
    /// >>> pullback.erf(pullback.tensor([0.0]))
    /// tensor([0.])
    erf = "erf" | "special.erf" kernel ERF [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        d[x] scale(&exp(&neg(&mul(x, x)?)?)?, std::f64::consts::FRAC_2_SQRT_PI);

    /// The complementary error function `1 - erf(x)`, accurate in the upper tail.
    ///
    /// >>> import pullback
    /// >>> pullback.erfc(pullback.tensor([0.0]))
    /// tensor([1.])
    erfc = "erfc" | "special.erfc" kernel ERFC [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        d[x] scale(&exp(&neg(&mul(x, x)?)?)?, -std::f64::consts::FRAC_2_SQRT_PI);

    /// The inverse error function of each element; infinite at ±1 and NaN outside.
    ///
    /// >>> import pullback
    /// >>> pullback.erfinv(pullback.tensor([0.0]))
    /// tensor([0.])
    erfinv = "erfinv" | "special.erfinv" kernel ERFINV [METHOD, INPLACE, TRANSCENDENTAL]
        d[y] scale(&exp(&mul(y, y)?)?, 1.0 / std::f64::consts::FRAC_2_SQRT_PI);

    /// Natural logarithm of the absolute value of the gamma function.
    ///
    /// >>> import pullback
    /// >>> pullback.lgamma(pullback.tensor([1.0]))
    /// tensor([0.])
    lgamma = "lgamma" | "special.gammaln" kernel LGAMMA [METHOD, INPLACE, TRANSCENDENTAL] d[x] digamma(x);

    /// The logarithmic derivative of the gamma function.
    ///
    /// >>> import pullback
    /// >>> pullback.digamma(pullback.tensor([1.0]))
    /// tensor([-0.5772])
    digamma = "digamma" | "special.digamma" | "special.psi" kernel DIGAMMA [METHOD, INPLACE, TRANSCENDENTAL]
        d[x] trigamma(x);

    /// The derivative of digamma.
    trigamma = "trigamma" kernel TRIGAMMA [INTERNAL]
        d[x] polygamma_same(&number(x, 2.0), x);

    /// The modified Bessel function of the first kind of order 0.
    ///
    /// >>> import pullback
    /// >>> pullback.special.i0(pullback.tensor([0.0, 1.0]))
    /// tensor([1.0000, 1.2661])
    i0 = "i0" | "special.i0" kernel I0 [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] i1(x);

    /// The modified Bessel function of the first kind of order 0, times `exp(-|x|)`.
    ///
    /// >>> import pullback
    /// >>> pullback.special.i0e(pullback.tensor([0.0]))
    /// tensor([1.])
    i0e = "special.i0e" kernel I0E [TRANSCENDENTAL] d[x y] sub(&i1e(x)?, &mul(y, &sign(x)?)?);

    /// The modified Bessel function of the first kind of order 1.
    ///
    /// >>> import pullback
    /// >>> pullback.special.i1(pullback.tensor([0.0, 1.0]))
    /// tensor([0.0000, 0.5652])
    i1 = "special.i1" kernel I1 [TRANSCENDENTAL] d[x] i1_slope(x);

    /// The modified Bessel function of the first kind of order 1, times `exp(-|x|)`.
    ///
    /// >>> import pullback
    /// >>> pullback.special.i1e(pullback.tensor([0.0]))
    /// tensor([0.])
    i1e = "special.i1e" kernel I1E [TRANSCENDENTAL] d[x y] sub(&i1e_slope(x)?, &mul(y, &sign(x)?)?);

    /// `I₀(x) - I₁(x) / x`
    i1_slope = "special.i1:slope" kernel I1_SLOPE [INTERNAL] d[x] i1_bend(x, |n, x| ratio(&n, x));

    /// The same times `exp(-|x|)`.
    i1e_slope = "special.i1e:slope" kernel I1E_SLOPE [INTERNAL]
        d[x y] sub(&i1_bend(x, |n, x| ratio_scaled(&n, x))?, &mul(y, &sign(x)?)?);
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[RATIOS, TABLE],
    primitives: &[RATIO_PRIMITIVES, PRIMITIVES],
    ..crate::ops::Family::EMPTY
};
