//! Counts, means, variances, covariances: composites of reductions.

use super::arith::{clamp, maximum};
use super::autocast::product;
use super::checks::{Rule, check_values};
use super::compare::{isnan, logical_not, ne};
use super::promoted::{div, mul, sub};
use super::reduce::{Spread, accumulated, amax_over, amin_over, mean_over, nansum, variance};
use super::value::{Named, Value};
use crate::base::{DType, Result, Scalar};
use crate::core::Tensor;
use crate::core::params::Dims;
use crate::ops::signature::{AtMost, Dim, Inexact, Ordered, Reduced, ReducedOrFlag, reduced};
use crate::rules::basis::{self, cast};

/// Weights of observations: how often each counts, and how much.
struct Weights {
    /// Their product.
    all: Tensor,
    sum: Tensor,
    reliable: Option<Tensor>,
}

/// A vector of weights, one for each observation.
fn weights<'a>(name: &str, w: &'a Tensor, observations: usize, integral: bool) -> Result<&'a Tensor> {
    if w.rank() > 1 {
        refuse!(
            Runtime,
            "expected {name} to have one or fewer dimensions but got {name} with {} dimensions; flatten() it",
            w.rank()
        );
    }
    let d = w.dtype();
    if integral && !d.is_integer() {
        refuse!(
            Runtime,
            "expected {name} to have integral dtype but got {name} with {d} dtype; give counts, such as ints"
        );
    }
    if !integral && !d.is_float() {
        refuse!(
            Runtime,
            "expected {name} to have floating point dtype but got {name} with {d} dtype; convert it with .float()"
        );
    }
    if w.numel() != observations {
        refuse!(
            Runtime,
            "expected {name} to have the same numel as there are observations in the input but got {} != {observations}; \
             give a weight for each column",
            w.numel()
        );
    }
    Ok(w)
}

fn all_weights(f: Option<&Tensor>, a: Option<&Tensor>, observations: usize) -> Result<Option<Weights>> {
    let f = f.map(|f| weights("fweights", f, observations, true)).transpose()?;
    let a = a.map(|a| weights("aweights", a, observations, false)).transpose()?;
    for (name, w) in [("fweights", f), ("aweights", a)] {
        if let Some(w) = w {
            check_values("cov", w, Rule::NotNegative, name)?;
        }
    }
    let all = match (f, a) {
        (None, None) => return Ok(None),
        (Some(w), None) | (None, Some(w)) => w.clone(),
        (Some(f), Some(a)) => mul(f, a)?,
    };
    let all = basis::reshape(&all, &[observations].into())?;
    let sum = basis::sum_all(&accumulated(&all, None)?)?;
    check_values("cov", &sum, Rule::NotZero, "weights")?;
    Ok(Some(Weights { all, sum, reliable: a.cloned() }))
}

/// The covariance of rows over columns, as a matrix.
fn covariance(x: &Tensor, correction: i64, w: Option<&Weights>) -> Result<Tensor> {
    let weighted = |x: &Tensor| w.map_or_else(|| Ok(x.clone()), |w| mul(x, &w.all));
    let n = x.shape()[1];
    if w.is_none() && n as i64 <= correction {
        super::reduce::no_freedom("cov", n as f64, correction as f64)?;
    }
    let total = |x: &Tensor| basis::sum(&accumulated(x, None)?, &[1], true);
    let mean = match w {
        Some(w) => div(&total(&weighted(x)?)?, &w.sum)?,
        None => div(&total(x)?, n as i64)?,
    };
    let centred = sub(x, &mean)?;
    let products = product(&centred, &basis::adjoint(&weighted(&centred)?)?)?;
    match w {
        None => div(&products, (n as i64).saturating_sub(correction).max(0)),
        Some(w) => div(&products, &norm_factor(w, correction)?),
    }
}

/// The divisor of weighted products, 0 if it would be negative.
fn norm_factor(w: &Weights, correction: i64) -> Result<Tensor> {
    let lost = match &w.reliable {
        Some(a) if correction != 0 => {
            let a = basis::reshape(a, w.all.shape())?;
            let squares = basis::sum_all(&accumulated(&mul(&w.all, &a)?, None)?)?;
            mul(&div(&squares, &w.sum)?, correction)?
        }
        _ => Tensor::scalar(w.sum.dtype(), correction),
    };
    let factor = sub(&w.sum, &lost)?;
    maximum(&factor, &basis::zeros_like(&factor)?)
}

/// A matrix of variables (rows) and observations (columns).
fn observed(input: &Tensor) -> Result<Tensor> {
    if input.rank() < 2 { basis::reshape(input, &[1, input.numel()].into()) } else { Ok(input.clone()) }
}

/// A matrix without its dimensions of size 1, as a single variable has them.
fn squeezed(x: &Tensor) -> Result<Tensor> {
    let shape = x.shape().iter().copied().filter(|&n| n != 1).collect();
    basis::reshape(x, &shape)
}

/// The members of a dimension scaled down to a norm where theirs is larger.
pub(super) fn renormed(input: &Tensor, p: f64, dim: usize, most: f64) -> Result<Tensor> {
    let dims: Dims = (0..input.rank()).filter(|&d| d != dim).collect();
    let x = super::promote::single(input)?;
    let size = if x.dtype().is_complex() { super::unary::abs(&x)? } else { x.clone() };
    let norm = super::norms::vector(&size, p, &dims, true)?;
    let scale = div(most, &basis::shift(&norm, 1e-7)?)?;
    let factor = basis::where_(&super::compare::gt(&norm, most)?, &scale, &basis::ones_like(&norm)?)?;
    cast(&mul(&x, &factor)?, input.dtype())
}

ops! { TABLE:
    /// How many elements are not zero, over the given dimensions, or over all. NaN is not zero.
    ///
    /// >>> import pullback
    /// >>> pullback.count_nonzero(pullback.tensor([[0, 1], [2, 3]]), 1)
    /// tensor([1, 2])
    fn count_nonzero = "count_nonzero" (input: &Tensor, dim: Option<&[i64]> as Reduced = None) -> Tensor [METHOD, NO_OUT] {
        basis::sum(&cast(&ne(input, 0)?, DType::I64)?, &dim, false)
    }

    /// Mean of what is not NaN, over the given dimensions, or over all.
    ///
    /// >>> import pullback
    /// >>> pullback.nanmean(pullback.tensor([1.0, float("nan"), 3.0]))
    /// tensor(2.)
    fn nanmean = "nanmean" (input: &Tensor, dim: Option<&[i64]> = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD] node "DivBackward0" {
        if !input.dtype().is_differentiable() {
            refuse!(Runtime, "expected input to have floating point or complex dtype but got {}; convert it with .float()",
                input.dtype());
        }
        let dims = reduced(dim, input.rank())?;
        let numbers = basis::sum(&cast(&logical_not(&isnan(input)?)?, DType::I64)?, &dims, keepdim)?;
        // The sum may be too large for half precision when the mean is not.
        let want = dtype.unwrap_or(input.dtype());
        let wide = if want.is_half() { DType::F32 } else { want };
        cast(&div(&nansum(input, dim, keepdim, Some(wide))?, &numbers)?, want)
    }

    /// Variance and mean over the given dimensions, or over all; the variance has the divisor `n - correction` (1 unless
    /// given).
    ///
    /// >>> import pullback
    /// >>> pullback.var_mean(pullback.tensor([1.0, 3.0]), correction=0)
    /// (tensor(1.), tensor(2.))
    fn var_mean = "var_mean" (input: &Tensor as Inexact, dim: &Value as ReducedOrFlag = &Value::None, unbiased: Option<bool> = None,
        keepdim: bool = false; correction: Option<Scalar> = None) -> (Tensor, Tensor) [NO_OUT] {
        let mean = mean_over(input, &dim.0, keepdim)?;
        Ok((variance(input, Spread { dim, unbiased, keepdim, correction }, false)?, mean))
    }

    /// Standard deviation and mean over the given dimensions, or over all; the variance has the divisor `n - correction` (1
    /// unless given).
    ///
    /// >>> import pullback
    /// >>> pullback.std_mean(pullback.tensor([1.0, 3.0]), correction=0)
    /// (tensor(1.), tensor(2.))
    fn std_mean = "std_mean" (input: &Tensor as Inexact, dim: &Value as ReducedOrFlag = &Value::None, unbiased: Option<bool> = None,
        keepdim: bool = false; correction: Option<Scalar> = None) -> (Tensor, Tensor) [NO_OUT] {
        let mean = mean_over(input, &dim.0, keepdim)?;
        Ok((variance(input, Spread { dim, unbiased, keepdim, correction }, true)?, mean))
    }

    /// The smallest and the largest element along a dimension, or of all. Ties share the derivative; NaN wins.
    ///
    /// >>> import pullback
    /// >>> pullback.aminmax(pullback.tensor([3, 1, 2]))
    /// aminmax(min=tensor(1), max=tensor(3))
    fn aminmax = "aminmax" (input: &Tensor as Ordered; dim: Option<i64> as Option<Dim> = None, keepdim: bool = false)
        -> Named as aminmax(min, max) [METHOD, EXACT_OUT] {
        let dims: Dims = match dim {
            Some(d) => {
                super::sorting::nonempty(input, d)?;
                if input.rank() == 0 { Dims::new() } else { Dims::from_elem(d, 1) }
            }
            None if input.numel() == 0 => refuse!(Runtime, "cannot compute aminmax over an empty dimension as the operation \
                has no identity; give it elements, or name another dimension in 'dim'"),
            None => (0..input.rank()).collect(),
        };
        Ok(Named::new(NAMED, [amin_over(input, &dims, keepdim)?, amax_over(input, &dims, keepdim)?]))
    }

    /// Covariances of variables (rows) over observations (columns), with the divisor `n - correction`. `fweights` says how
    /// often each observation counts, `aweights` how much.
    ///
    /// >>> import pullback
    /// >>> pullback.cov(pullback.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    /// tensor([[ 1., -1.],
    ///         [-1.,  1.]])
    fn cov = "cov" (input: &Tensor as AtMost<2>; correction: i64 = 1, fweights: Option<&Tensor> = None, aweights: Option<&Tensor> = None)
        -> Tensor [METHOD, NO_OUT, PRODUCT] node "SqueezeBackward0" {
        if input.dtype() == DType::Bool {
            refuse!(Runtime, "bool dtype is not supported for input; convert it with .int() or .float()");
        }
        let x = observed(input)?;
        let w = all_weights(fweights, aweights, x.shape()[1])?;
        squeezed(&covariance(&x, correction, w.as_ref())?)
    }

    /// Correlation coefficients of variables (rows) over observations (columns), limited to [-1, 1].
    ///
    /// >>> import pullback
    /// >>> pullback.corrcoef(pullback.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    /// tensor([[ 1., -1.],
    ///         [-1.,  1.]])
    fn corrcoef = "corrcoef" (input: &Tensor as AtMost<2>) -> Tensor [METHOD, NO_OUT, PRODUCT] node "ClampBackward1" {
        if input.dtype() == DType::Bool {
            refuse!(Runtime, "bool dtype is not supported for input; convert it with .int() or .float()");
        }
        let c = squeezed(&covariance(&observed(input)?, 1, None)?)?;
        if c.rank() == 0 {
            return div(&c, &c);
        }
        let variances = super::diagonal::diagonal(&c, 0, 0, 1)?;
        let real = if c.dtype().is_complex() { super::complex::real(&variances)? } else { variances };
        let n = c.shape()[0];
        let deviation = super::unary::sqrt(&real)?;
        let by_row = div(&c, &basis::reshape(&deviation, &[n, 1].into())?)?;
        let r = div(&by_row, &basis::reshape(&deviation, &[1, n].into())?)?;
        let limit = |x: &Tensor| clamp(x, Some((-1.0).into()), Some(1.0.into()));
        if !r.dtype().is_complex() {
            return limit(&r);
        }
        super::complex::complex(&limit(&super::complex::real(&r)?)?, &limit(&super::complex::imag(&r)?)?)
    }

    /// The members of a dimension scaled down to the `p`-norm `maxnorm` where theirs is larger.
    ///
    /// >>> import pullback
    /// >>> pullback.renorm(pullback.tensor([[3.0, 4.0], [0.3, 0.4]]), 2, 0, 1)
    /// tensor([[0.6000, 0.8000],
    ///         [0.3000, 0.4000]])
    fn renorm = "renorm" (input: &Tensor as Inexact, p: Scalar, dim: i64 as Dim, maxnorm: Scalar) -> Tensor [METHOD, INPLACE, ROW_MAJOR] {
        if input.rank() < 2 {
            refuse!(Runtime, "input needs at least 2 dimensions, got {} dimensions; add one with unsqueeze()", input.rank());
        }
        for (name, n) in [("p", p), ("maxnorm", maxnorm)] {
            if matches!(n, Scalar::Complex(_)) {
                refuse!(Runtime, "{name} must be real-valued, got {n}; give a real number");
            }
        }
        if p.as_f64() <= 0.0 || p.as_f64().is_nan() {
            refuse!(Runtime, "non-positive-norm not supported, got p={p}; give a larger order, such as 2");
        }
        if maxnorm.as_f64() < 0.0 {
            refuse!(Runtime, "expected maxnorm to be >= 0 but got {maxnorm}; give a norm that is not negative");
        }
        renormed(input, p.as_f64(), dim, maxnorm.as_f64())
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
