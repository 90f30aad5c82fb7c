//! Special functions.

use super::arith::{at_least, at_most, divide_floats, polygamma_same};
use super::compare::{eq, le, logical_and, logical_not, lt, ne};
use super::promote::{in_single, single};
use super::unary::{cos, exp, log, log1p, sign};
use crate::base::promote::default_float;
use crate::base::{ErrorKind, Result};
use crate::core::Tensor;
use crate::ops::signature::no_bools;
use crate::rules::Partial;
use crate::rules::basis::{self, add, clear_where, mul, neg, number, scale, shift, sub, where_};

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

    /// The spherical Bessel function of order `n` divided by `xⁿ`.
    spherical_ratio = "sinc:ratio" kernel SPHERICAL_RATIO Float [INTERNAL]
        da[] Partial::Zero, db[a b] neg(&mul(b, &spherical_ratio(&shift(a, 1.0)?, b)?)?);

    /// `input * log(other)`; 0 where `input` is 0, unless `other` is NaN.
    ///
    /// >>> import pullback
    /// >>> pullback.xlogy(pullback.tensor([0.0, 2.0]), pullback.tensor([0.0, 1.0]))
    /// tensor([0., 0.])
    xlogy = "xlogy" | "special.xlogy" kernel XLOGY Float [METHOD, MIXED, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL]
        da[a b] unless_dead(a, le(b, 0.0), || log(b)), db[a b] quotient(a, b);

    /// `input * log(1 + other)`; 0 where `input` is 0, unless `other` is NaN.
    ///
    /// >>> import pullback
    /// >>> pullback.special.xlog1py(pullback.tensor([0.0, 2.0]), pullback.tensor([-1.0, 0.0]))
    /// tensor([0., 0.])
    xlog1py = "special.xlog1py" kernel XLOG1PY Float [MIXED, TRANSCENDENTAL]
        da[a b] unless_dead(a, le(b, -1.0), || log1p(b)), db[a b] quotient(a, &shift(b, 1.0)?);
}

unary! { TABLE, PRIMITIVES:
    /// `sin(πx) / πx` of each element, 1 at 0.
    ///
    /// >>> import pullback
    /// >>> pullback.sinc(pullback.tensor([0.0, 0.5]))
    /// tensor([1.0000, 0.6366])
    sinc = "sinc" | "special.sinc" kernel SINC [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] d[x] sinc_slope(x);

    /// The inverse of `sigmoid`.
    logit_unit = "logit" kernel LOGIT [INTERNAL] d[x] inverse_logit_slope(x);

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

/// `x log(y)` and the like are constant in x where x is 0 and the logarithm is no number.
fn unless_dead(x: &Tensor, at_most: Result<Tensor>, log: impl Fn() -> Result<Tensor>) -> Result<Partial<'static>> {
    let alive = logical_not(&logical_and(&eq(x, 0.0)?, &at_most?)?)?;
    Ok(Partial::where_value(&alive, &log()?))
}

/// `x / y`, and 0 of two zeros: where x is 0, `x log(y)` is constant in y.
fn quotient(x: &Tensor, y: &Tensor) -> Result<Tensor> {
    let dead = logical_and(&eq(x, 0.0)?, &eq(y, 0.0)?)?;
    clear_where(&dead, &divide_floats(x, &where_(&dead, &number(y, 1.0), y)?)?)
}

/// The derivative `-π² x R₁(πx)` of `sinc`, whose quotient R₁ has no pole.
fn sinc_slope(x: &Tensor) -> Result<Partial<'static>> {
    use std::f64::consts::PI;
    if x.dtype().is_complex() {
        let slope = |x: &Tensor| divide_floats(&sub(&cos(&scale(x, PI)?)?, &sinc(x)?)?, x);
        return Partial::of(ne(x, 0.0)?, x, 1.0, slope);
    }
    mul(x, &scale(&spherical_ratio(&number(x, 1.0), &scale(x, PI)?)?, -PI * PI)?).map(Partial::Value)
}

/// `x (1 - x)` in [0, 1], NaN elsewhere.
fn inverse_logit_slope(x: &Tensor) -> Result<Partial<'static>> {
    let d = mul(x, &sub(&number(x, 1.0), x)?)?;
    where_(&lt(&d, 0.0)?, &number(x, f64::NAN), &d).map(Partial::Over)
}

ops! { MORE:
    /// `log(x / (1 - x))` of each element, the inverse of `sigmoid`; with `eps`, of elements limited to [eps, 1 - eps].
    ///
    /// >>> import pullback
    /// >>> pullback.logit(pullback.tensor([0.5]))
    /// tensor([0.])
    fn logit = "logit" | "special.logit" (input: &Tensor, eps: Option<f64> = None)
        -> Tensor [METHOD, INPLACE, INPLACE_FUNCTION, TRANSCENDENTAL] of LOGIT {
        let Some(eps) = eps else { return logit_unit(input) };
        no_complex(input)?;
        let x = if input.dtype().is_float() { input.clone() } else { basis::cast(input, default_float())? };
        in_single(&x, |x| logit_unit(&at_most(&at_least(x, eps)?, 1.0 - eps)?))
    }

    /// The derivative of order `n` of `digamma`.
    ///
    /// >>> import pullback
    /// >>> pullback.polygamma(1, pullback.tensor([1.0]))
    /// tensor([1.6449])
    fn polygamma = "polygamma" | "special.polygamma" (n: i64, input: &Tensor) -> Tensor [TRANSCENDENTAL] of super::arith::POLYGAMMA {
        if n < 0 {
            refuse!(Runtime, "polygamma(n, x) does not support negative n, but got n={n}; give 0 for digamma, 1 for its \
                derivative, and so on");
        }
        match n {
            0 => digamma(input),
            1 => trigamma(input),
            n if input.dtype().is_half() => basis::cast(&polygamma_same(n as f64, &single(input)?)?, input.dtype()),
            n => polygamma_same(n as f64, input),
        }
    }

    /// The derivative of order `n` of `digamma`.
    fn tensor_polygamma = "Tensor.polygamma" (input: &Tensor, n: i64) -> Tensor [PYTHON_METHOD, INPLACE, NOT_FUNCTION, TRANSCENDENTAL] {
        polygamma(n, input)
    }

    /// Natural logarithm of the multivariate gamma function of dimension `p`.
    ///
    /// >>> import pullback
    /// >>> pullback.mvlgamma(pullback.tensor([1.0]), 2)
    /// tensor([1.1447])
    fn mvlgamma = "mvlgamma" | "special.multigammaln" (input: &Tensor, p: i64) -> Tensor [METHOD, INPLACE, TRANSCENDENTAL] {
        if p < 1 {
            refuse!(Runtime, "p has to be greater than or equal to 1, but got p={p}; it is a number of dimensions");
        }
        no_complex(input)?;
        no_bools(ErrorKind::Runtime, input.dtype())?;
        let x = if input.dtype().is_float() { single(input)? } else { basis::cast(input, default_float())? };
        let steps = crate::dense::index::arange(x.dtype(), 0.0.into(), (-0.5).into(), p as usize)?.into();
        let terms = lgamma(&add(&basis::unsqueeze_dims(&x, &[x.rank()])?, &steps)?)?;
        let constant = 0.25 * p as f64 * (p as f64 - 1.0) * std::f64::consts::PI.ln();
        let y = shift(&basis::sum(&terms, &[x.rank()], false)?, constant)?;
        if input.dtype().is_half() { basis::cast(&y, input.dtype()) } else { Ok(y) }
    }
}

/// An error for complex numbers.
fn no_complex(x: &Tensor) -> Result<()> {
    if x.dtype().is_complex() {
        refuse!(NotImplemented, "not implemented for {} tensors; take their real and imaginary part", x.dtype());
    }
    Ok(())
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[RATIOS, TABLE, MORE],
    primitives: &[RATIO_PRIMITIVES, PRIMITIVES],
    ..crate::ops::Family::EMPTY
};
