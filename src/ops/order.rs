//! Medians, modes and quantiles: elements chosen by their place in the order of a dimension.

use super::checks::{Rule, check_values};
use super::compare::{eq, isnan, logical_and, logical_or};
use super::reduce::call_dims;
use super::sorting::{Along, along, choose, in_order, nonempty, pair, shifted};
use super::unary::{ceil, floor, reciprocal};
use super::value::{IntoValue, Named, Operand, Value};
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::primitive::Saves;
use crate::core::{Meta, Primitive, Tensor};
use crate::dense::{Array, reduce, sort as kernels};
use crate::ops::signature::{Chosen, Dim, HERE, Ordered, OrderedNumbers, Words, of_dtype, of_rank};
use crate::rules::basis::{self, cast};
use crate::rules::{Choosing, Reduction, Weight, index, shapes};

macro_rules! middle {
    ($($id:ident, $all:ident, $name:literal, $part:literal, $skip_nan:literal;)*) => {$(
        static $id: Choosing = Choosing {
            name: $name,
            shape: |p, m| chosen($name, m, along(p)),
            eval: |p, x| kept(kernels::median(x, along(p).dim, $skip_nan)?, along(p)),
            along: |p| (along(p).dim, along(p).keep),
            shifted,
        };
        /// The same over several dimensions, without a place; ties share the derivative.
        static $all: Reduction = Reduction {
            name: $part,
            infer: |p, a| {
                reduce::check_extreme($name, shapes::first(a)?.form(), p.dims().0)?;
                shapes::reduced(p, a)
            },
            eval: |dims, keep, a| median_over(a, dims, keep, $skip_nan),
            saves: Saves { inputs: 1, outputs: 1 },
            weight: |dims, point, y| shared(dims, point.input(0)?, y),
        };
    )*};
}

middle! {
    MEDIAN, MEDIAN_OF_ALL, "median", "median:all", false;
    NANMEDIAN, NANMEDIAN_OF_ALL, "nanmedian", "nanmedian:all", true;
}

static MODE: Choosing = Choosing {
    name: "mode",
    shape: |p, m| chosen("mode", m, along(p)),
    eval: |p, x| kept(kernels::mode(x, along(p).dim)?, along(p)),
    along: |p| (along(p).dim, along(p).keep),
    shifted,
};

fn chosen(op: &str, m: &Meta, a: Along) -> Result<Shape> {
    reduce::check_extreme(op, m.form(), &[a.dim])?;
    Ok(reduce::result_shape(&m.shape, &[a.dim], a.keep))
}

/// What a kernel gives that keeps the dimension, without it unless the caller keeps it.
fn kept((v, i): (Array, Array), a: Along) -> Result<(Array, Array)> {
    if a.keep {
        return Ok((v, i));
    }
    let shape = v.shape().without(a.dim);
    Ok((v.reshape(&shape)?, i.reshape(&shape)?))
}

/// Elements that equal the median share its derivative; NaN equals NaN.
fn shared(dims: &[usize], x: &Tensor, y: Option<&Tensor>) -> Result<Weight> {
    let Some(y) = y else { bail!(Internal, "median(): its output was not saved") };
    let mask = logical_or(&eq(x, y)?, &logical_and(&isnan(x)?, &isnan(y)?)?)?;
    let share = reciprocal(&basis::sum(&cast(&mask, x.dtype())?, dims, true)?)?;
    Ok(Weight::Chosen { mask, share })
}

/// The median over dimensions together.
fn median_over(a: &Array, dims: &[usize], keep: bool, skip_nan: bool) -> Result<Array> {
    let lead: Vec<usize> = (0..a.rank()).filter(|d| !dims.contains(d)).collect();
    let order: Vec<usize> = lead.iter().chain(dims).copied().collect();
    let n = dims.iter().map(|&d| a.shape()[d]).product();
    let rows = a.permute(&order)?.reshape(&lead.iter().map(|&d| a.shape()[d]).chain([n]).collect())?;
    let (values, _) = kernels::median(&rows, lead.len(), skip_nan)?;
    values.reshape(&reduce::result_shape(a.shape(), dims, keep))
}

/// The median of everything or along a dimension.
fn median_of(
    (prim, of_all): (&'static Choosing, &'static Reduction),
    class: &'static super::named::NamedType,
    input: &Tensor,
    dim: Option<usize>,
    keepdim: bool,
) -> Result<Value> {
    let Some(d) = dim else {
        if keepdim {
            refuse!(Type, "argument 'keepdim' needs 'dim'; name the dimension, or flatten() the tensor");
        }
        if input.numel() == 0 {
            return of_nothing(input.dtype()).map(Value::Tensor);
        }
        return call_dims(of_all, input, (0..input.rank()).collect(), false).map(Value::Tensor);
    };
    nonempty(input, d)?;
    let a = Along::one_of(input, keepdim);
    Ok(pair(class, choose(prim, input, d, a)?).into_value())
}

/// The median of no elements: NaN, or the least integer.
fn of_nothing(dtype: DType) -> Result<Tensor> {
    let least = match dtype {
        DType::I64 => i64::MIN,
        DType::I32 => i32::MIN.into(),
        _ => 0,
    };
    if dtype.is_float() {
        basis::full(&Shape::scalar(), dtype, f64::NAN)
    } else {
        basis::full(&Shape::scalar(), dtype, least)
    }
}

/// What lies between two elements of the order.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Between {
    Linear,
    Lower,
    Higher,
    Midpoint,
    Nearest,
}
impl Words for Between {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("linear", Between::Linear),
        ("lower", Between::Lower),
        ("higher", Between::Higher),
        ("midpoint", Between::Midpoint),
        ("nearest", Between::Nearest),
    ];
}

/// What a quantile is asked for besides its fractions.
struct Asked {
    dim: Option<usize>,
    keepdim: bool,
    between: Between,
    skip_nan: bool,
}

/// The fractions as a tensor of the dtype of the input: 0-d, or a vector.
fn fractions(input: &Tensor, q: Operand<'_>) -> Result<Tensor> {
    let d = input.dtype();
    if !matches!(d, DType::F32 | DType::F64) {
        refuse!(
            Runtime,
            "input tensor must be either float or double dtype, but it is {d}; convert it with input.float()"
        );
    }
    if input.numel() == 0 {
        refuse!(Runtime, "input tensor must be non-empty, but it has the shape {}; give elements", input.shape());
    }
    match q {
        Operand::Number(n) => {
            super::promote::fitting(HERE, "q", n, d)?;
            let q = n.as_f64();
            if !(0.0..=1.0).contains(&q) {
                refuse!(
                    Runtime,
                    "q must be in the range [0, 1] but got {n}; it is a fraction, such as 0.5 for the median"
                );
            }
            Ok(Tensor::scalar(d, n))
        }
        Operand::Tensor(q) => {
            of_rank("q", q, 0, 1)?;
            of_dtype("q", q, d)?;
            check_values("quantile", q, Rule::Fraction, "q")?;
            Ok(q.clone())
        }
    }
}

fn quantiles(input: &Tensor, q: Operand<'_>, ask: &Asked) -> Result<Tensor> {
    let q = fractions(input, q)?;
    let x = match ask.dim {
        Some(d) if input.rank() > 0 => basis::move_dim(input, d, input.rank() - 1)?,
        _ => super::shape::ravel(input)?,
    };
    let last = x.rank() - 1;
    let sorted = in_order(&x, last)?;
    let count = basis::reshape(&q, &[q.numel()].into())?;
    let ranks = ranks(&sorted, &count, ask.skip_nan)?;
    let values = between(&sorted, &ranks, ask.between)?;
    // Fractions come in front, dimensions that were named are dropped or have one element.
    let values = basis::move_dim(&values, last, 0)?;
    let mut shape: Shape = if q.rank() == 0 { Shape::scalar() } else { q.shape().clone() };
    let lead = values.shape()[1..].iter().copied();
    match ask.dim {
        Some(d) if ask.keepdim && input.rank() > 0 => {
            let rest: Shape = lead.collect();
            let mut rest = rest;
            rest.insert(d, 1);
            rest.iter().for_each(|&n| shape.push(n));
        }
        None if ask.keepdim => input.shape().iter().for_each(|_| shape.push(1)),
        _ => lead.for_each(|n| shape.push(n)),
    }
    basis::reshape(&values, &shape)
}

/// Places in the order, with fractions, along the last dimension: `q (n - 1)`. NaN is the last of all, and chosen where it
/// is not skipped.
fn ranks(sorted: &Tensor, q: &Tensor, skip_nan: bool) -> Result<Tensor> {
    let last = sorted.rank() - 1;
    let n = sorted.shape()[last];
    let is_nan = isnan(sorted)?;
    let shape = sorted.shape().with(last, q.numel());
    if skip_nan {
        let numbers = cast(&super::compare::logical_not(&is_nan)?, DType::I64)?;
        let numbers = cast(&basis::sum(&numbers, &[last], true)?, sorted.dtype())?;
        let most = super::arith::clamp(&basis::shift(&numbers, -1.0)?, Some(0.0.into()), None)?;
        return basis::expand(&basis::mul(q, &most)?, &shape);
    }
    let end = (n - 1) as f64;
    let ranks = basis::scale(q, end)?;
    let spoilt = super::reduce::any(&is_nan, Some(&[last as i64]), true)?;
    basis::expand(&basis::where_(&spoilt, &basis::number(&ranks, end), &ranks)?, &shape)
}

/// Elements at places with fractions.
fn between(sorted: &Tensor, ranks: &Tensor, how: Between) -> Result<Tensor> {
    let last = sorted.rank() - 1;
    let at = |ranks: &Tensor| index::gather(sorted, last, &cast(ranks, DType::I64)?);
    let below = floor(ranks)?;
    match how {
        Between::Lower => at(&below),
        Between::Higher => at(&ceil(ranks)?),
        Between::Nearest => at(&super::unary::round(ranks, 0)?),
        Between::Linear => {
            let weight = basis::sub(ranks, &below)?;
            super::arith::interpolated(&at(&below)?, &at(&ceil(ranks)?)?, (&weight).into())
        }
        Between::Midpoint => super::arith::interpolated(&at(&below)?, &at(&ceil(ranks)?)?, 0.5.into()),
    }
}

ops! { TABLE:
    /// The element in the middle of the order, the lower of two: of all, or along `dim` with its place. NaN where there is
    /// one. Ties of all elements share the derivative; along `dim` it goes to the place.
    ///
    /// >>> import pullback
    /// >>> pullback.median(pullback.tensor([3.0, 1.0, 2.0, 4.0]))
    /// tensor(2.)
    fn median = "median" (input: &Tensor as OrderedNumbers, dim: Option<i64> as Option<Dim> = None, keepdim: bool = false)
        -> Value as median(values, indices) [METHOD, SORT] node "MedianBackward0" / dim "MedianBackward1" of MEDIAN {
        median_of((&MEDIAN, &MEDIAN_OF_ALL), NAMED, input, dim, keepdim)
    }

    /// The same without the NaNs; NaN where there is nothing else.
    ///
    /// >>> import pullback
    /// >>> pullback.nanmedian(pullback.tensor([3.0, float("nan"), 1.0]))
    /// tensor(1.)
    fn nanmedian = "nanmedian" (input: &Tensor as OrderedNumbers, dim: Option<i64> as Option<Dim> = None, keepdim: bool = false)
        -> Value as nanmedian(values, indices) [METHOD, SORT] node "NanmedianBackward0" / dim "NanmedianBackward1" of NANMEDIAN {
        median_of((&NANMEDIAN, &NANMEDIAN_OF_ALL), NAMED, input, dim, keepdim)
    }

    /// The value that is most often there along a dimension, the least of several, and a place where it stands.
    ///
    /// >>> import pullback
    /// >>> pullback.mode(pullback.tensor([2, 1, 2, 1, 3]))
    /// mode(values=tensor(1), indices=tensor(3))
    fn mode = "mode" (input: &Tensor as Ordered, dim: i64 as Dim = -1, keepdim: bool = false)
        -> Named as mode(values, indices) [METHOD, SORT] of MODE {
        nonempty(input, dim)?;
        let a = Along::one_of(input, keepdim);
        Ok(pair(NAMED, choose(&MODE, input, dim, a)?))
    }

    /// The values below which the fractions `q` of the elements lie: of all, or along `dim`. Between two elements the value
    /// is theirs by `interpolation`: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'. NaN where there is one.
    ///
    /// >>> import pullback
    /// >>> pullback.quantile(pullback.tensor([0.0, 1.0, 2.0]), pullback.tensor([0.25, 0.5]))
    /// tensor([0.5000, 1.0000])
    fn quantile = "quantile" (input: &Tensor, q: Operand<'_>, dim: Option<i64> as Option<Dim> = None, keepdim: bool = false;
        interpolation: &str as Chosen<Between> = "linear") -> Tensor [METHOD, SORT, IN_SINGLE] node "SqueezeBackward4" {
        quantiles(input, q, &Asked { dim, keepdim, between: interpolation, skip_nan: false })
    }

    /// The same without the NaNs; NaN where there is nothing else.
    ///
    /// >>> import pullback
    /// >>> pullback.nanquantile(pullback.tensor([0.0, float("nan"), 2.0]), 0.5)
    /// tensor(1.)
    fn nanquantile = "nanquantile" (input: &Tensor, q: Operand<'_>, dim: Option<i64> as Option<Dim> = None, keepdim: bool = false;
        interpolation: &str as Chosen<Between> = "linear") -> Tensor [METHOD, SORT, IN_SINGLE] node "SqueezeBackward4" {
        quantiles(input, q, &Asked { dim, keepdim, between: interpolation, skip_nan: true })
    }

    /// The members of the first dimension in order.
    ///
    /// >>> import pullback
    /// >>> pullback.msort(pullback.tensor([[3, 1], [2, 5]]))
    /// tensor([[2, 1],
    ///         [3, 5]])
    fn msort = "msort" (input: &Tensor as Ordered) -> Tensor [METHOD, SORT, KEEPS_ORDER] node "SortBackward0" {
        in_order(input, 0)
    }
}

static PRIMITIVES: &[&dyn Primitive] = &[&MEDIAN, &MEDIAN_OF_ALL, &NANMEDIAN, &NANMEDIAN_OF_ALL, &MODE];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
