//! Reductions over dimensions.

use super::arith::divide_floats;
use super::compare::{eq, logical_not};
use super::promote::single;
use super::unary::{exp, reciprocal};
use super::value::Value;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::params::Dims;
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::pointwise::kernels::{self, FINITE_OR_ZERO};
use crate::dense::{composed, reduce};
use crate::ops::signature::{Reduced, reduced};
use crate::rules::basis::{self, cast, mul, number, sub, where_};
use crate::rules::{Opaque, OpaqueBatch, Pointwise, Reduction, Weight};
use smallvec::smallvec;

/// The largest element; ties share the derivative.
static AMAX: Reduction = Reduction {
    name: "amax",
    eval: |dims, keep, a| reduce::amax(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |dims, point, y| share_of_ties(dims, point.input(0)?, y),
};
static AMIN: Reduction = Reduction {
    name: "amin",
    eval: |dims, keep, a| reduce::amin(a, dims, keep),
    saves: Saves { inputs: 1, outputs: 1 },
    weight: |dims, point, y| share_of_ties(dims, point.input(0)?, y),
};
static PROD: Reduction = Reduction {
    name: "prod",
    eval: |dims, keep, a| reduce::prod(a, dims, keep),
    saves: Saves { inputs: 0, outputs: 0 },
    // Differentiated products are trees of mul; see `prod_tree`.
    weight: |_, _, _| bail!(Internal, "prod(): a derivative was asked of the kernel"),
};
static LOGSUMEXP: Reduction = Reduction {
    name: "logsumexp",
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
    eval: |p, args| {
        let (dims, keep) = p.dims();
        Ok(smallvec![reduce::all(args[0].array()?, dims, keep)?.into()])
    },
    batching: OpaqueBatch::Shift,
};
static ANY: Opaque = Opaque {
    name: "any",
    eval: |p, args| {
        let (dims, keep) = p.dims();
        Ok(smallvec![reduce::any(args[0].array()?, dims, keep)?.into()])
    },
    batching: OpaqueBatch::Shift,
};

/// Where an element is as large as the extreme. NaN is not equal to itself, yet it is what was chosen.
static TIED: Pointwise = Pointwise::constant("eq:tied", &kernels::TIED);

fn share_of_ties(dims: &[usize], x: &Tensor, y: Option<&Tensor>) -> Result<Weight> {
    let Some(y) = y else { bail!(Internal, "amax(): its output was not saved") };
    let mask = call(Prim::Static(&TIED), &Params::None, &[x, y])?;
    let share = reciprocal(&basis::sum(&cast(&mask, x.dtype())?, dims, true)?)?;
    Ok(Weight::Chosen { mask, share })
}

fn call_dims(prim: &'static dyn crate::core::Primitive, x: &Tensor, dims: Dims, keep: bool) -> Result<Tensor> {
    call(Prim::Static(prim), &Params::Dims { dims, keep }, &[x])
}

/// Sums and products of integers and bools are int64 unless the user says otherwise.
fn accumulated(input: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    let natural = if input.dtype().is_differentiable() { input.dtype() } else { DType::I64 };
    cast(input, dtype.unwrap_or(natural))
}

fn float_dtype(input: &Tensor, dtype: Option<DType>) -> Result<Tensor> {
    let d = dtype.unwrap_or(input.dtype());
    if !d.is_differentiable() {
        refuse!(
            Runtime,
            "could not infer output dtype. Input dtype must be either a floating point or complex dtype, got {d}"
        );
    }
    cast(input, d)
}

fn count(x: &Tensor, dims: &[usize]) -> usize {
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

/// A product along one dimension as a tree of products of halves: its derivatives are right of any order, zeros
/// included.
fn prod_tree(x: &Tensor, dim: usize) -> Result<Tensor> {
    let mut x = x.clone();
    let mut odd: Option<Tensor> = None;
    while x.shape()[dim] > 1 {
        let n = x.shape()[dim];
        let half = n / 2;
        if n % 2 == 1 {
            let last = basis::slice(&x, dim, n - 1, 1, 1)?;
            odd = Some(match odd {
                Some(o) => mul(&o, &last)?,
                None => last,
            });
        }
        x = mul(&basis::slice(&x, dim, 0, half, 1)?, &basis::slice(&x, dim, half, half, 1)?)?;
    }
    match odd {
        Some(o) => mul(&x, &o),
        None => Ok(x),
    }
}

/// The product over dimensions.
pub fn prod_over(x: &Tensor, dims: &[usize], keep: bool) -> Result<Tensor> {
    // The only product of bools that is a bool.
    if x.dtype() == DType::Bool {
        return call_dims(&ALL, x, Dims::from_slice(dims), keep);
    }
    let empty = dims.iter().any(|&d| x.shape()[d] == 0);
    if x.dense().is_some() || !x.dtype().is_differentiable() || empty {
        return call_dims(
            &PROD,
            &if empty { super::shape::detach(x)? } else { x.clone() },
            Dims::from_slice(dims),
            keep,
        );
    }
    let mut y = x.clone();
    for &d in dims {
        y = prod_tree(&y, d)?;
    }
    let shape = (0..y.rank()).filter(|d| keep || !dims.contains(d)).map(|d| y.shape()[d]).collect();
    basis::reshape(&y, &shape)
}

/// Variance with the divisor `n - correction`, or its square root.
fn variance(input: &Tensor, a: Spread<'_>, root: bool) -> Result<Tensor> {
    let (mut unbiased, mut dims) = (a.unbiased, None);
    let ints;
    match a.dim {
        Value::Bool(b) if unbiased.is_none() => unbiased = Some(*b),
        Value::Number(crate::Scalar::Bool(b)) if unbiased.is_none() => unbiased = Some(*b),
        other => {
            ints = dims_of(other)?;
            dims = ints.as_deref();
        }
    }
    if input.dtype().is_complex() {
        refuse!(NotImplemented, "not implemented for {} tensors", input.dtype());
    }
    if !input.dtype().is_float() {
        refuse!(Runtime, "only support floating point and complex dtypes, got {}", input.dtype());
    }
    let dims = reduced(dims, input.rank())?;
    let correction = match (a.correction, unbiased) {
        (Some(c), _) => c.as_f64(),
        (None, Some(false)) => 0.0,
        _ => 1.0,
    };
    let n = count(input, &dims) as f64;
    let factor = n / (n - correction).max(0.0);
    let scaled = |s: Tensor, factor: f64| if factor == 1.0 { Ok(s) } else { basis::scale(&s, factor) };
    if root && factor.is_finite() {
        return scaled(call_dims(&ROOT_SPREAD, input, dims, a.keepdim)?, factor.sqrt());
    }
    let variance = scaled(call_dims(&SPREAD, input, dims, a.keepdim)?, factor)?;
    if root { super::unary::sqrt(&variance) } else { Ok(variance) }
}

/// Extremes of nothing do not exist.
fn named_if_empty(x: &Tensor, dim: &[i64]) -> Result<()> {
    if dim.is_empty() && x.numel() == 0 {
        refuse!(
            Runtime,
            "Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the \
             'dim' argument."
        );
    }
    Ok(())
}

struct Spread<'a> {
    dim: &'a Value,
    unbiased: Option<bool>,
    keepdim: bool,
    correction: Option<crate::Scalar>,
}

/// An int, a sequence of ints or None.
pub fn dims_of(v: &Value) -> Result<Option<Dims64>> {
    let int = |v: &Value| match v {
        Value::Int(i) | Value::Number(crate::Scalar::Int(i)) => Ok(*i),
        other => refuse!(Type, "argument 'dim' must be int or tuple of ints, not {}", other.type_name()),
    };
    Ok(match v {
        Value::None | Value::Missing => None,
        Value::Tuple(items) | Value::List(items) => Some(items.iter().map(int).collect::<Result<_>>()?),
        Value::Ints(v) => Some(v.clone()),
        v => Some(Dims64::from_elem(int(v)?, 1)),
    })
}
pub type Dims64 = smallvec::SmallVec<[i64; 6]>;

ops! { TABLE:
    /// Sum over the given dimensions, or over all. Integers and bools are summed as int64 unless `dtype` says otherwise.
    ///
    /// >>> import pullback
    /// >>> pullback.sum(pullback.tensor([[1.0, 2.0], [3.0, 4.0]]), dim=0)
    /// tensor([4., 6.])
    fn sum = "sum" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD] of basis::SUM {
        basis::sum(&accumulated(input, dtype)?, &dim, keepdim)
    }

    /// Mean over the given dimensions, or over all. Integers are an error unless `dtype` is given.
    ///
    /// >>> import pullback
    /// >>> pullback.mean(pullback.tensor([1.0, 3.0]))
    /// tensor(2.)
    fn mean = "mean" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD] {
        let x = float_dtype(input, dtype)?;
        mean_over(&x, &dim, keepdim)
    }

    /// Product over one dimension, or over all.
    ///
    /// >>> import pullback
    /// >>> pullback.prod(pullback.tensor([2.0, 3.0]))
    /// tensor(6.)
    fn prod = "prod" (input: &Tensor, dim: Option<i64> as Reduced = None, keepdim: bool = false; dtype: Option<DType> = None)
        -> Tensor [METHOD] of PROD {
        prod_over(&accumulated(input, dtype)?, &dim, keepdim)
    }

    /// The largest element over the given dimensions, or over all. Ties share the derivative; NaN wins.
    ///
    /// >>> import pullback
    /// >>> pullback.amax(pullback.tensor([[1.0, 5.0], [3.0, 2.0]]), 1)
    /// tensor([5., 3.])
    fn amax = "amax" (input: &Tensor, dim: &[i64] = &[], keepdim: bool = false) -> Tensor [METHOD] of AMAX {
        named_if_empty(input, dim)?;
        call_dims(&AMAX, input, reduced(Some(dim), input.rank())?, keepdim)
    }

    /// The smallest element over the given dimensions, or over all. Ties share the derivative; NaN wins.
    ///
    /// >>> import pullback
    /// >>> pullback.amin(pullback.tensor([[1.0, 5.0], [3.0, 2.0]]), 1)
    /// tensor([1., 2.])
    fn amin = "amin" (input: &Tensor, dim: &[i64] = &[], keepdim: bool = false) -> Tensor [METHOD] of AMIN {
        named_if_empty(input, dim)?;
        call_dims(&AMIN, input, reduced(Some(dim), input.rank())?, keepdim)
    }

    /// Whether all elements are non-zero, over the given dimensions or all. The result is bool; of uint8, uint8.
    ///
    /// >>> import pullback
    /// >>> pullback.all(pullback.tensor([True, False]))
    /// tensor(False)
    fn all = "all" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false) -> Tensor [METHOD] of ALL {
        let y = call_dims(&ALL, input, dim, keepdim)?;
        if input.dtype() == DType::U8 { cast(&y, DType::U8) } else { Ok(y) }
    }

    /// Whether any element is non-zero, over the given dimensions or all. The result is bool; of uint8, uint8.
    ///
    /// >>> import pullback
    /// >>> pullback.any(pullback.tensor([True, False]))
    /// tensor(True)
    fn any = "any" (input: &Tensor, dim: Option<&[i64]> as Reduced = None, keepdim: bool = false) -> Tensor [METHOD] of ANY {
        let y = call_dims(&ANY, input, dim, keepdim)?;
        if input.dtype() == DType::U8 { cast(&y, DType::U8) } else { Ok(y) }
    }

    /// Variance over the given dimensions, or over all, with the divisor `n - correction` (1 unless given).
    ///
    /// >>> import pullback
    /// >>> pullback.var(pullback.tensor([1.0, 3.0]), correction=0)
    /// tensor(1.)
    fn var = "var" (input: &Tensor, dim: &Value = &Value::None, unbiased: Option<bool> = None, keepdim: bool = false;
        correction: Option<crate::Scalar> = None) -> Tensor [METHOD] {
        variance(input, Spread { dim, unbiased, keepdim, correction }, false)
    }

    /// Standard deviation over the given dimensions, or over all, with the divisor `n - correction` (1 unless given).
    ///
    /// >>> import pullback
    /// >>> pullback.std(pullback.tensor([1.0, 3.0]), correction=0)
    /// tensor(1.)
    fn std = "std" (input: &Tensor, dim: &Value = &Value::None, unbiased: Option<bool> = None, keepdim: bool = false;
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
        call_dims(&LOGSUMEXP, &x, dims, keepdim)
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] =
    &[&AMAX, &AMIN, &PROD, &LOGSUMEXP, &SPREAD, &ROOT_SPREAD, &ORIGIN, &ALL, &ANY, &TIED];
