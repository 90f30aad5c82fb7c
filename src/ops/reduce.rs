//! Reductions over dimensions.

use super::arith::divide_floats;
use super::compare::{eq, isnan, logical_not};
use super::products;
use super::promote::single;
use super::unary::{exp, reciprocal};
use super::value::Value;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::params::Dims;
use crate::core::primitive::Saves;
use crate::core::{Inferred, Meta, Params, Prim, Primitive, Tensor, call};
use crate::dense::pointwise::kernels::{self, FINITE_OR_ZERO};
use crate::dense::{composed, reduce};
use crate::ops::signature::{Inexact, InexactDType, NamedIfEmpty, Reduced, ReducedAsNamed, ReducedOrFlag, reduced};
use crate::rules::basis::{self, cast, number, sub, where_};
use crate::rules::{General, Opaque, OpaqueBatch, Pointwise, Reduction, Weight, batching, shapes};
use smallvec::{SmallVec, smallvec};

fn extreme(op: &str, p: &Params, a: &[Meta]) -> Result<Inferred> {
    reduce::check_extreme(op, shapes::first(a)?.form(), p.dims().0)?;
    shapes::reduced(p, a)
}

/// The largest element; ties share the derivative.
static AMAX: Reduction = Reduction {
    name: "amax",
    infer: |p, a| extreme("amax", p, a),
    eval: |dims, keep, a| reduce::amax(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |dims, point, y| share_of_ties(dims, point.input(0)?, y),
};
static AMIN: Reduction = Reduction {
    name: "amin",
    infer: |p, a| extreme("amin", p, a),
    eval: |dims, keep, a| reduce::amin(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |dims, point, y| share_of_ties(dims, point.input(0)?, y),
};
/// The product. Its derivatives are those of a tree of products of halves: right of any order, zeros included. Tangents go
/// up the tree with its products; cotangents come down, and need those of the halves only.
static PROD: General = General {
    name: "prod",
    infer: |p, a| match shapes::first(a)?.dtype {
        DType::Bool => Err(reduce::no_bools("prod")),
        _ => shapes::reduced(p, a),
    },
    eval: |p, a| {
        let (dims, keep) = p.dims();
        Ok(smallvec![reduce::prod(a[0].array()?, dims, keep)?.into()])
    },
    saves: |_, _| Saves { inputs: 1, outputs: 0 },
    jvp: |_, p, point, t| {
        let [Some(t)] = t else { return Ok(smallvec![None]) };
        let mut both = (point.input(0)?.clone(), (*t).clone());
        for &d in p.dims().0 {
            both = products::push(both.0, both.1, d)?;
        }
        Ok(smallvec![Some(basis::reshape(&both.1, point.output(0)?.shape())?)])
    },
    vjp: |_, p, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let (dims, keep) = p.dims();
        let mut partial = vec![basis::conj(point.input(0)?)?];
        for &d in &dims[..dims.len().saturating_sub(1)] {
            partial.push(products::tree(&partial[partial.len() - 1], d)?);
        }
        let mut g = if keep { g.clone() } else { basis::unsqueeze_dims(g, dims)? };
        for (x, &d) in partial.iter().zip(dims).rev() {
            g = products::pull(x, &g, d)?;
        }
        Ok(smallvec![Some(g)])
    },
    batch: |me, p, a, _| match (batching::front(&a[0])?, p.shifted()) {
        (Some(v), Some(p)) => Ok(smallvec![(call(me, &p, &[&v])?, Some(0))]),
        _ => bail!(Internal, "prod(): cannot be batched with parameters {p:?}"),
    },
};
static LOGSUMEXP: Reduction = Reduction {
    name: "logsumexp",
    infer: |p, a| extreme("amax", p, a),
    eval: |dims, keep, a| composed::logsumexp(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |_, point, y| {
        let Some(y) = y else { bail!(Internal, "logsumexp(): its output was not saved") };
        // exp(-inf - -inf) would be NaN.
        let finite = where_(&eq(y, f64::NEG_INFINITY)?, &number(y, 0.0), y)?;
        exp(&sub(point.input(0)?, &finite)?).map(Weight::Each)
    },
};

/// The mean squared deviation from the mean.
static SPREAD: Reduction = Reduction {
    name: "var",
    infer: shapes::reduced,
    eval: |dims, keep, a| composed::variance(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 0 },
    weight: |dims, point, _| {
        let x = point.input(0)?;
        let slope = basis::scale(&centred(&single(x)?, dims)?, 2.0 / count(x, dims) as f64)?;
        cast(&slope, x.dtype()).map(Weight::Each)
    },
};
/// Its square root, without overflow of the squares. Its derivative at constants is 0.
static ROOT_SPREAD: Reduction = Reduction {
    name: "std",
    infer: shapes::reduced,
    eval: |dims, keep, a| composed::deviation(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |dims, point, y| {
        let Some(y) = y else { bail!(Internal, "std(): its output was not saved") };
        let x = point.input(0)?;
        let zero = eq(y, 0.0)?;
        let safe = single(&where_(&zero, &number(y, 1.0), y)?)?;
        let slope = divide_floats(&basis::scale(&centred(&single(x)?, dims)?, 1.0 / count(x, dims) as f64)?, &safe)?;
        let value = where_(&zero, &number(y, 0.0), &cast(&slope, y.dtype())?)?;
        Ok(Weight::Where { mask: logical_not(&zero)?, value })
    },
};

/// Deviations from the mean, counted from the first element: those of constants are 0 whatever the mean is rounded to.
fn centred(x: &Tensor, dims: &[usize]) -> Result<Tensor> {
    let first = dims.iter().try_fold(x.clone(), |f, &d| basis::slice(&f, d, 0, f.shape()[d].min(1), 1))?;
    // The deviations do not depend on it, and one that is infinite would make NaN of all.
    let x =
        if first.numel() > 0 { sub(x, &call(Prim::Static(&ORIGIN), &Params::None, &[&first])?)? } else { x.clone() };
    sub(&x, &mean_over(&x, dims, true)?)
}

/// A constant to count from: the value, 0 if it is infinite.
static ORIGIN: Pointwise = Pointwise::constant("var:origin", &FINITE_OR_ZERO);

static ALL: Opaque = Opaque {
    name: "all",
    infer: |p, a| shapes::reduced_to(p, a, DType::Bool),
    eval: |p, args| {
        let (dims, keep) = p.dims();
        Ok(smallvec![reduce::all(args[0].array()?, dims, keep)?.into()])
    },
    batching: OpaqueBatch::Shift,
};
static ANY: Opaque = Opaque {
    name: "any",
    infer: |p, a| shapes::reduced_to(p, a, DType::Bool),
    eval: |p, args| {
        let (dims, keep) = p.dims();
        Ok(smallvec![reduce::any(args[0].array()?, dims, keep)?.into()])
    },
    batching: OpaqueBatch::Shift,
};

/// Where an element is as large as the extreme. NaN is not equal to itself, yet it is what was chosen.
pub(super) static TIED: Pointwise = Pointwise::constant("eq:tied", &kernels::TIED);

fn share_of_ties(dims: &[usize], x: &Tensor, y: Option<&Tensor>) -> Result<Weight> {
    let Some(y) = y else { bail!(Internal, "amax(): its output was not saved") };
    let mask = call(Prim::Static(&TIED), &Params::None, &[x, y])?;
    let share = reciprocal(&basis::sum(&cast(&mask, x.dtype())?, dims, true)?)?;
    Ok(Weight::Chosen { mask, share })
}

pub(super) fn call_dims(
    prim: &'static dyn crate::core::Primitive,
    x: &Tensor,
    dims: Dims,
    keep: bool,
) -> Result<Tensor> {
    call(Prim::Static(prim), &Params::Dims { dims, keep }, &[x])
}

/// `logsumexp` of complex numbers, scaled by the largest real part.
fn log_of_sum(x: &Tensor, dims: Dims, keep: bool) -> Result<Tensor> {
    let sum = |x: &Tensor| super::unary::log(&basis::sum(&exp(x)?, &dims, keep)?);
    if x.numel() == 0 {
        return sum(x);
    }
    let top = call_dims(&AMAX, &super::complex::real(x)?, dims.clone(), true)?;
    let finite = eq(&sub(&top, &top)?, 0.0)?;
    let top = cast(&where_(&finite, &top, &number(&top, 0.0))?, x.dtype())?;
    let out = sum(&basis::sub(x, &top)?)?;
    basis::add(&out, &basis::reshape(&top, out.shape())?)
}

/// Sums and products of integers and bools are int64 unless the user says otherwise.
pub(super) fn accumulated(input: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    let natural = if input.dtype().is_differentiable() { input.dtype() } else { DType::I64 };
    cast(input, dtype.unwrap_or(natural))
}

pub(super) fn count(x: &Tensor, dims: &[usize]) -> usize {
    dims.iter().map(|&d| x.shape()[d]).product()
}

/// The mean over dimensions, as the basis has it.
pub fn mean_over(x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    let n = count(x, dims) as f64;
    // The sum may be too large for half precision when the mean is not.
    let s = basis::sum(&single(x)?, dims, keep)?;
    let mean = divide_floats(&s, &number(&s, n))?;
    if x.dtype().is_half() { cast(&mean, x.dtype()) } else { Ok(mean) }
}

/// The largest element over dimensions.
pub fn amax_over(x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    call_dims(&AMAX, x, Dims::from_slice(dims), keep)
}

/// The smallest element over dimensions.
pub fn amin_over(x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    call_dims(&AMIN, x, Dims::from_slice(dims), keep)
}

/// The product over dimensions. A product of nothing is a constant.
pub fn prod_over(x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    // The only product of bools that is a bool.
    if x.dtype() == DType::Bool {
        return call_dims(&ALL, x, Dims::from_slice(dims), keep);
    }
    // The derivative of a product of nothing divides by none of its factors.
    if x.dtype().is_differentiable() && dims.iter().any(|&d| x.shape()[d] == 0) {
        return basis::shift(&basis::sum(x, dims, keep)?, 1.0);
    }
    call_dims(&PROD, x, Dims::from_slice(dims), keep)
}

/// Tells that a divisor is 0 or less, where PyTorch does.
#[cold]
pub(super) fn no_freedom(name: &str, n: f64, correction: f64) -> Result<()> {
    crate::core::host::warn(&format!(
        "{name}(): degrees of freedom is <= 0: there are {n} elements, and the correction is {correction}. Give more \
         elements, or a correction below that, such as correction=0"
    ))
}

/// Variance with the divisor `n - correction`, or its square root.
pub(super) fn variance(input: &Tensor, a: Spread, root: bool) -> Result<Tensor> {
    if input.dtype().is_complex() {
        // Those of the parts together.
        let parts = variance(&super::complex::view_parts(input)?, a, root)?;
        let last = [parts.rank() - 1];
        return if root { super::norms::vector(&parts, 2.0, &last, false) } else { basis::sum(&parts, &last, false) };
    }
    let (dims, flag) = a.dim;
    if flag.is_some() && a.unbiased.is_some() {
        refuse!(Type, "argument 'dim' must be int or tuple of ints, not bool, where 'unbiased' is given");
    }
    let unbiased = a.unbiased.or(flag);
    let correction = match (a.correction, unbiased) {
        (Some(c), _) => c.as_f64(),
        (None, Some(false)) => 0.0,
        _ => 1.0,
    };
    let n = count(input, &dims) as f64;
    if n <= correction {
        no_freedom(if root { "std" } else { "var" }, n, correction)?;
    }
    let factor = n / (n - correction).max(0.0);
    let scaled = |s: Tensor, factor: f64| if factor == 1.0 { Ok(s) } else { basis::scale(&s, factor) };
    if root && factor.is_finite() {
        return scaled(call_dims(&ROOT_SPREAD, input, dims, a.keepdim)?, factor.sqrt());
    }
    let variance = scaled(call_dims(&SPREAD, input, dims, a.keepdim)?, factor)?;
    if root { super::unary::sqrt(&variance) } else { Ok(variance) }
}

pub(super) struct Spread {
    pub dim: (Dims, Option<bool>),
    pub unbiased: Option<bool>,
    pub keepdim: bool,
    pub correction: Option<crate::Scalar>,
}

ops! { TABLE:
    /// Sum over the given dimensions, or over all. Integers and bools are summed as int64 unless `dtype` says otherwise.
    ///
    /// >>> import pullback
    /// >>> pullback.sum(pullback.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    /// tensor([4., 6.])
    fn sum = "sum" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD] node "SumBackward0" / dim "SumBackward1" of basis::SUM {
        basis::sum(&accumulated(input, dtype)?, &dim, keepdim)
    }

    /// Sum that takes NaN as zero, over the given dimensions, or over all.
    ///
    /// >>> import pullback
    /// >>> pullback.nansum(pullback.tensor([1.0, float("nan"), 2.0]))
    /// tensor(3.)
    fn nansum = "nansum" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false;
        dtype: Option<DType> = None) -> Tensor [METHOD] {
        if input.dtype().is_complex() {
            refuse!(Runtime, "does not support {} tensors; sum their real and imaginary part", input.dtype());
        }
        let numbers = match input.dtype().is_float() {
            true => where_(&isnan(input)?, &number(input, 0.0), input)?,
            false => input.clone(),
        };
        basis::sum(&accumulated(&numbers, dtype)?, &dim, keepdim)
    }

    /// Mean over the given dimensions, or over all. Integers are an error unless `dtype` is given.
    ///
    /// >>> import pullback
    /// >>> pullback.mean(pullback.tensor([1.0, 3.0]))
    /// tensor(2.)
    fn mean = "mean" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false;
        dtype: Option<DType> as InexactDType = None)
        -> Tensor [METHOD] node "MeanBackward0" / dim "MeanBackward1" {
        mean_over(&cast(input, dtype)?, &dim, keepdim)
    }

    /// Product over one dimension, or over all.
    ///
    /// >>> import pullback
    /// >>> pullback.prod(pullback.tensor([2.0, 3.0]))
    /// tensor(6.)
    fn prod = "prod" (input: &Tensor, dim: Option<i64> as Reduced = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD, IN_SINGLE] node "ProdBackward0" / dim "ProdBackward1" of PROD {
        prod_over(&accumulated(input, dtype)?, &dim, keepdim)
    }

    /// The largest element over the given dimensions, or over all. Ties share the derivative; NaN wins.
    ///
    /// >>> import pullback
    /// >>> pullback.amax(pullback.tensor([[1.0, 5.0], [3.0, 2.0]]), 1)
    /// tensor([5., 3.])
    fn amax = "amax" (input: &Tensor, dim: Option<&[i64]> as NamedIfEmpty = None, keepdim: bool = false) -> Tensor [METHOD] of AMAX {
        call_dims(&AMAX, input, dim, keepdim)
    }

    /// The smallest element over the given dimensions, or over all. Ties share the derivative; NaN wins.
    ///
    /// >>> import pullback
    /// >>> pullback.amin(pullback.tensor([[1.0, 5.0], [3.0, 2.0]]), 1)
    /// tensor([1., 2.])
    fn amin = "amin" (input: &Tensor, dim: Option<&[i64]> as NamedIfEmpty = None, keepdim: bool = false) -> Tensor [METHOD] of AMIN {
        call_dims(&AMIN, input, dim, keepdim)
    }

    /// Whether all elements are non-zero, over the given dimensions or all. The result is bool; of uint8, uint8.
    ///
    /// >>> import pullback
    /// >>> pullback.all(pullback.tensor([True, False]))
    /// tensor(False)
    fn all = "all" (input: &Tensor, dim: Option<&[i64]> as ReducedAsNamed = None, keepdim: bool = false) -> Tensor [METHOD] of ALL {
        let y = call_dims(&ALL, input, dim, keepdim)?;
        if input.dtype() == DType::U8 { cast(&y, DType::U8) } else { Ok(y) }
    }

    /// Whether any element is non-zero, over the given dimensions or all. The result is bool; of uint8, uint8.
    ///
    /// >>> import pullback
    /// >>> pullback.any(pullback.tensor([True, False]))
    /// tensor(True)
    fn any = "any" (input: &Tensor, dim: Option<&[i64]> as ReducedAsNamed = None, keepdim: bool = false) -> Tensor [METHOD] of ANY {
        let y = call_dims(&ANY, input, dim, keepdim)?;
        if input.dtype() == DType::U8 { cast(&y, DType::U8) } else { Ok(y) }
    }

    /// Variance over the given dimensions, or over all, with the divisor `n - correction` (1 unless given).
    ///
    /// >>> import pullback
    /// >>> pullback.var(pullback.tensor([1.0, 3.0]), correction=0)
    /// tensor(1.)
    fn var = "var" (input: &Tensor as Inexact, dim: &Value as ReducedOrFlag = &Value::None, unbiased: Option<bool> = None, keepdim: bool = false;
        correction: Option<crate::Scalar> = None) -> Tensor [METHOD] {
        variance(input, Spread { dim, unbiased, keepdim, correction }, false)
    }

    /// Standard deviation over the given dimensions, or over all, with the divisor `n - correction` (1 unless given).
    ///
    /// >>> import pullback
    /// >>> pullback.std(pullback.tensor([1.0, 3.0]), correction=0)
    /// tensor(1.)
    fn std = "std" (input: &Tensor as Inexact, dim: &Value as ReducedOrFlag = &Value::None, unbiased: Option<bool> = None, keepdim: bool = false;
        correction: Option<crate::Scalar> = None) -> Tensor [METHOD] {
        variance(input, Spread { dim, unbiased, keepdim, correction }, true)
    }

    /// `log(sum(exp(input)))` over the given dimensions, without overflow.
    ///
    /// >>> import pullback
    /// >>> pullback.logsumexp(pullback.tensor([0.0, 0.0]), 0)
    /// tensor(0.6931)
    fn logsumexp = "logsumexp" | "special.logsumexp" (input: &Tensor, dim: &[i64], keepdim: bool = false)
        -> Tensor [METHOD, TRANSCENDENTAL] of LOGSUMEXP {
        let dims = if dim.is_empty() { Dims::new() } else { reduced(Some(dim), input.rank())? };
        let x = if input.dtype().is_differentiable() {
            input.clone()
        } else {
            cast(input, crate::base::promote::default_float())?
        };
        if x.dtype().is_complex() { log_of_sum(&x, dims, keepdim) } else { call_dims(&LOGSUMEXP, &x, dims, keepdim) }
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] =
    &[&AMAX, &AMIN, &PROD, &LOGSUMEXP, &SPREAD, &ROOT_SPREAD, &ORIGIN, &ALL, &ANY, &TIED];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
