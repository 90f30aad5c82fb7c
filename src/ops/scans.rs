//! Running products and running sums of exponentials.

use super::compare::eq;
use super::reduce::accumulated;
use super::sorting::{dimensioned, reversed};
use super::unary::exp;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::scan;
use crate::ops::signature::{Dim, Inexact};
use crate::rules::basis::{self, add, mul, number, slice, sub, where_};
use crate::rules::{General, batching, shapes};
use smallvec::{SmallVec, smallvec};

/// `y[i] = a[i] y[i - 1] + b[i]` along a dimension, with `y[-1] = 0`, by doubling; what multiplies `y[-1]` is not read.
fn recurrence(a: &Tensor, b: &Tensor, dim: usize) -> Result<Tensor> {
    let n = b.shape()[dim];
    let (mut a, mut b) = (a.clone(), b.clone());
    let mut step = 1;
    while step < n {
        let late = |x: &Tensor| slice(x, dim, step, n - step, 1);
        let early = |x: &Tensor| slice(x, dim, 0, n - step, 1);
        let first = |x: &Tensor| slice(x, dim, 0, step, 1);
        let factor = late(&a)?;
        b = basis::cat(&[&first(&b)?, &add(&late(&b)?, &mul(&factor, &early(&b)?)?)?], dim)?;
        if 2 * step < n {
            a = basis::cat(&[&first(&a)?, &mul(&factor, &early(&a)?)?], dim)?;
        }
        step *= 2;
    }
    Ok(b)
}

/// The same from the end: `y[i] = b[i] + a[i + 1] y[i + 1]`, with `y[n] = 0`.
fn backward_recurrence(a: &Tensor, b: &Tensor, dim: usize) -> Result<Tensor> {
    let n = b.shape()[dim];
    if n < 2 {
        return Ok(b.clone());
    }
    // The first, which multiplies nothing, takes the place behind the last.
    let next = basis::cat(&[&slice(a, dim, 1, n - 1, 1)?, &slice(a, dim, 0, 1, 1)?], dim)?;
    reversed(&recurrence(&reversed(&next, dim)?, &reversed(b, dim)?, dim)?, dim)
}

/// Elements moved on by one place, the first one being `first`.
fn delayed(x: &Tensor, dim: usize, first: f64) -> Result<Tensor> {
    let n = x.shape()[dim];
    if n == 0 {
        return Ok(x.clone());
    }
    let head = basis::full(&x.shape().with(dim, 1), x.dtype(), first)?;
    basis::cat(&[&head, &slice(x, dim, 0, n - 1, 1)?], dim)
}

/// Running products. Their derivatives are linear recurrences, without a division: right of any order, zeros included.
static CUMPROD: General = General {
    name: "cumprod",
    infer: shapes::same,
    eval: |p, a| Ok(smallvec![scan::cumprod(a[0].array()?, p.dim())?.into()]),
    saves: |_, _| Saves { inputs: 1, outputs: 1 },
    jvp: |_, p, point, t| {
        let [Some(t)] = t else { return Ok(smallvec![None]) };
        let before = delayed(point.output(0)?, p.dim(), 1.0)?;
        Ok(smallvec![Some(recurrence(point.input(0)?, &mul(t, &before)?, p.dim())?)])
    },
    vjp: |_, p, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let before = basis::conj(&delayed(point.output(0)?, p.dim(), 1.0)?)?;
        let sums = backward_recurrence(&basis::conj(point.input(0)?)?, g, p.dim())?;
        Ok(smallvec![Some(mul(&sums, &before)?)])
    },
    batch: |me, p, a, _| match (batching::front(&a[0])?, p.shifted()) {
        (Some(v), Some(p)) => Ok(smallvec![(call(me, &p, &[&v])?, Some(0))]),
        _ => bail!(Internal, "cumprod(): cannot be batched with parameters {p:?}"),
    },
};

/// Running `log(sum(exp(x)))`. The derivatives are recurrences; for real numbers their factors lie between 0 and 1.
static LOGCUMSUMEXP: General = General {
    name: "logcumsumexp",
    infer: shapes::same,
    eval: |p, a| Ok(smallvec![scan::logcumsumexp(a[0].array()?, p.dim())?.into()]),
    saves: |_, _| Saves { inputs: 1, outputs: 1 },
    jvp: |_, p, point, t| {
        let [Some(t)] = t else { return Ok(smallvec![None]) };
        let Shares { own, rest } = shares(point.input(0)?, point.output(0)?, p.dim())?;
        Ok(smallvec![Some(recurrence(&rest, &mul(t, &own)?, p.dim())?)])
    },
    vjp: |_, p, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let Shares { own, rest } = shares(point.input(0)?, point.output(0)?, p.dim())?;
        let sums = backward_recurrence(&basis::conj(&rest)?, g, p.dim())?;
        Ok(smallvec![Some(mul(&sums, &basis::conj(&own)?)?)])
    },
    batch: |me, p, a, _| match (batching::front(&a[0])?, p.shifted()) {
        (Some(v), Some(p)) => Ok(smallvec![(call(me, &p, &[&v])?, Some(0))]),
        _ => bail!(Internal, "logcumsumexp(): cannot be batched with parameters {p:?}"),
    },
};

/// How much an element counts in the sum that ends with it, and how much the sum before.
struct Shares {
    own: Tensor,
    rest: Tensor,
}

fn shares(x: &Tensor, y: &Tensor, dim: usize) -> Result<Shares> {
    // exp(-inf - -inf) would be NaN.
    let finite = where_(&eq(y, f64::NEG_INFINITY)?, &number(y, 0.0), y)?;
    let before = delayed(y, dim, f64::NEG_INFINITY)?;
    Ok(Shares { own: exp(&sub(x, &finite)?)?, rest: exp(&sub(&before, &finite)?)? })
}

fn scanned(prim: &'static General, x: &Tensor, dim: usize) -> Result<Tensor> {
    let v = dimensioned(x)?;
    basis::reshape(&call(Prim::Static(prim), &Params::Dim(dim), &[&v])?, x.shape())
}

ops! { TABLE:
    /// Products of the elements so far along a dimension. Integers and bools are multiplied as int64 unless `dtype` says
    /// otherwise.
    ///
    /// >>> import pullback
    /// >>> pullback.cumprod(pullback.tensor([2, 3, 4]), 0)
    /// tensor([ 2,  6, 24])
    fn cumprod = "cumprod" (input: &Tensor, dim: i64 as Dim; dtype: Option<DType> = None) -> Tensor [METHOD, INPLACE] of CUMPROD {
        scanned(&CUMPROD, &accumulated(input, dtype)?, dim)
    }

    /// `log(sum(exp(input)))` of the elements so far along a dimension, without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.logcumsumexp(pullback.tensor([0.0, 0.0]), 0)
    /// tensor([0.0000, 0.6931])
    fn logcumsumexp = "logcumsumexp" (input: &Tensor as Inexact, dim: i64 as Dim) -> Tensor [METHOD, TRANSCENDENTAL] of LOGCUMSUMEXP {
        scanned(&LOGCUMSUMEXP, input, dim)
    }
}

static PRIMITIVES: &[&dyn Primitive] = &[&CUMPROD, &LOGCUMSUMEXP];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
