//! Special functions of one argument.

use super::arith::polygamma_same;
use super::unary::exp;
use crate::base::Result;
use crate::core::Tensor;
use crate::rules::basis::{mul, neg, number, scale};

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
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
