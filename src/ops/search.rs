//! Places in an order, and what is counted by them.

use super::arith::minimum;
use super::checks::{Rule, check_values};
use super::compare::{eq, ge, le, logical_and, logical_not};
use super::promote::{common_dtype, convert, single};
use super::promoted::{div, mul, sub};
use super::reduce::{amax_over, amin_over};
use super::shape::ravel;
use super::sorting::in_order;
use super::value::{Named, Operand, Value};

use crate::base::{DType, Result, Scalar, Shape};
use crate::core::meta::depends_on_data;
use crate::core::origin::at_here;
use crate::core::params::Dims;
use crate::core::{BatchArg, BatchInfo, BatchOut, Params, Prim, Primitive, Tensor, call};
use crate::dense::index as makers;
use crate::dense::reduce;
use crate::dense::sort as kernels;
use crate::ops::signature::{Count, Floats, HERE, SameDType, other_shape, positive};
use crate::rules::basis::{self, cast, where_};
use crate::rules::index;
use crate::rules::{Opaque, OpaqueBatch, batching, shapes};
use smallvec::smallvec;

/// For each value the place in an ordered row; parameter: whether behind those that equal it.
static SEARCH: Opaque = Opaque {
    name: "searchsorted",
    infer: |_, a| shapes::one(DType::I64, shapes::argument(a, 1)?.shape.clone()),
    eval: |p, a| {
        let right = p.ints()[0] != 0;
        Ok(smallvec![kernels::searchsorted(a[0].array()?, a[1].array()?, right)?.into()])
    },
    batching: OpaqueBatch::With(batch_search),
};

fn batch_search(me: Prim<'_>, p: &Params, a: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let values = batching::front_expanded(&a[1], info)?;
    if a[0].logical_rank() != 1 {
        let sorted = batching::front_expanded(&a[0], info)?;
        return Ok(smallvec![(call(me, p, &[&sorted, &values])?, Some(0))]);
    }
    let Some(sorted) = batching::front(&a[0])? else {
        return Ok(smallvec![(call(me, p, &[a[0].value, &values])?, Some(0))]);
    };
    // A row for each member: its values are a row, too.
    let width = values.shape()[1..].iter().product();
    let rows = basis::reshape(&values, &[info.size, width].into())?;
    let places = call(me, p, &[&sorted, &rows])?;
    Ok(smallvec![(basis::reshape(&places, values.shape())?, Some(0))])
}

/// Places of values in the last dimension of `sorted`.
fn search(sorted: &Tensor, values: &Tensor, right: bool) -> Result<Tensor> {
    let ints = std::iter::once(i64::from(right)).collect();
    call(Prim::Static(&SEARCH), &Params::Ints(ints), &[sorted, values])
}

/// Bounds and values in the dtype that they have together.
fn comparable(bounds: &Tensor, values: Operand<'_>) -> Result<(Tensor, Tensor)> {
    let d = common_dtype(Operand::Tensor(bounds), values);
    if d.is_complex() {
        refuse!(NotImplemented, "not implemented for {d} tensors: they have no order; take their real parts");
    }
    Ok((cast(bounds, d)?, convert(values, d)?))
}

/// Which side of equal elements is asked for.
fn is_right(right: bool, side: Option<&str>) -> Result<bool> {
    match side {
        None => Ok(right),
        Some("right") => Ok(true),
        Some("left") if right => refuse!(
            Runtime,
            "side and right can't be set to opposites, got side of left while right was True; give one of them"
        ),
        Some("left") => Ok(false),
        Some(other) => refuse!(Runtime, "side can only be 'left' or 'right' but got {other}; give one of them"),
    }
}

/// Rows in the order that a permutation of each gives.
fn permuted(sorted: &Tensor, sorter: Option<&Tensor>) -> Result<Tensor> {
    let Some(sorter) = sorter else { return Ok(sorted.clone()) };
    if sorter.shape() != sorted.shape() {
        refuse!(
            Runtime,
            "boundary and sorter must have the same size, but got boundary tensor {} and got sorter tensor {}; give what \
             argsort() gives for it",
            sorted.shape(),
            sorter.shape()
        );
    }
    if sorter.dtype() != DType::I64 {
        refuse!(
            Runtime,
            "sorter must be a tensor of long dtype but got dtype {}; convert it with sorter.long()",
            sorter.dtype()
        );
    }
    index::gather(sorted, sorted.rank() - 1, sorter).map_err(|e| match e.kind() {
        crate::ErrorKind::Index => {
            crate::Error::runtime(format!("{HERE}(): sorter index out of range: {}", e.message()))
        }
        _ => e,
    })
}

fn of_width(places: Tensor, int32: bool) -> Result<Tensor> {
    if int32 { cast(&places, DType::I32) } else { Ok(places) }
}

/// The largest index + 1 and at least `least`; it depends on the data, so no transform can follow.
fn bin_count(input: &Tensor, least: usize) -> Result<usize> {
    if input.numel() == 0 {
        return Ok(least);
    }
    if input.is_abstract() {
        return Err(depends_on_data("bincount", "add ones to zeros of a known size with scatter_add()"));
    }
    let Some(array) = input.dense() else {
        refuse!(
            Runtime,
            "the number of bins depends on the data under a transform, where members of a batch and calls of a program \
             may differ{}; add ones to zeros of a known size with scatter_add()",
            at_here()
        )
    };
    let (low, high) = (reduce::amin(array, &[0], false)?.item()?, reduce::amax(array, &[0], false)?.item()?);
    if low.as_i64() < 0 {
        refuse!(Runtime, "only supports 1-d non-negative integral inputs, but an element is {low}; shift them");
    }
    Ok(least.max(high.as_i64().saturating_add(1) as usize))
}

/// The ends of the range of bins: as given, or those of the data, wider if they are the same.
fn ends(op: &'static str, x: &Tensor, given: Option<(f64, f64)>, margin: f64) -> Result<(Tensor, Tensor)> {
    let number = |v: f64| basis::number(x, v);
    let (low, high) = match given {
        Some((low, high)) => (number(low), number(high)),
        None if x.numel() == 0 => return Ok((number(0.0), number(1.0))),
        None => {
            let dims: Dims = (0..x.rank()).collect();
            let (low, high) = (amin_over(x, &dims, false)?, amax_over(x, &dims, false)?);
            check_values(op, &low, Rule::Finite, "input")?;
            check_values(op, &high, Rule::Finite, "input")?;
            (low, high)
        }
    };
    let same = eq(&low, &high)?;
    Ok((where_(&same, &basis::shift(&low, -margin)?, &low)?, where_(&same, &basis::shift(&high, margin)?, &high)?))
}

/// A range that was given as two finite numbers in order.
fn finite_range(low: f64, high: f64) -> Result<(f64, f64)> {
    if !low.is_finite() || !high.is_finite() {
        refuse!(Runtime, "range of [{low}, {high}] is not finite; give finite bounds");
    }
    if low > high {
        refuse!(Runtime, "max must be larger than min, but got min={low} and max={high}; exchange them");
    }
    Ok((low, high))
}

/// Sums of weights by bin; what is in none, NaN included, does not count.
fn summed(bins: usize, at: &Tensor, within: &Tensor, weight: &Tensor) -> Result<Tensor> {
    let at = where_(within, &cast(at, DType::I64)?, &Tensor::scalar(DType::I64, 0))?;
    let at = minimum(&at, &Tensor::scalar(DType::I64, bins as i64 - 1))?;
    let zeros = basis::full(&[bins].into(), weight.dtype(), 0.0)?;
    index::scatter_add(&zeros, 0, &at, &basis::keep_where(within, weight)?)
}

/// Edges of bins of one width.
fn even_edges(low: &Tensor, high: &Tensor, bins: usize) -> Result<Tensor> {
    let steps: Tensor = makers::arange(low.dtype(), 0.into(), 1.into(), bins + 1)?.into();
    let share = basis::scale(&steps, 1.0 / bins as f64)?;
    super::arith::interpolated(low, high, (&share).into())
}

/// Two numbers that bound a range.
fn range_of(v: &Value) -> Result<Option<(f64, f64)>> {
    let number = |v: &Value| match v {
        Value::Number(n) if !matches!(n, Scalar::Complex(_)) => Some(n.as_f64()),
        Value::Int(i) => Some(*i as f64),
        Value::Float(x) => Some(*x),
        _ => None,
    };
    match v {
        Value::None | Value::Missing => Ok(None),
        Value::Tuple(v) | Value::List(v) if let [a, b] = &v[..] => match (number(a), number(b)) {
            (Some(low), Some(high)) => finite_range(low, high).map(Some),
            _ => refuse!(Type, "argument 'range' must be a pair of numbers, not of other objects"),
        },
        other => refuse!(Type, "argument 'range' must be a pair of numbers, not {}", other.type_name()),
    }
}

/// Edges that are given, or those of bins of one width.
fn edges_of(x: &Tensor, bins: &Value, range: Option<(f64, f64)>) -> Result<Tensor> {
    match bins {
        Value::Tensor(edges) if edges.rank() > 0 => {
            if edges.dtype() != x.dtype() {
                refuse!(
                    Runtime,
                    "input tensor and bins tensors should have the same dtype, but got input with dtype {} and bins with \
                     dtype {}; convert one with .to()",
                    x.dtype(),
                    edges.dtype()
                );
            }
            if edges.rank() != 1 || edges.numel() < 1 {
                refuse!(
                    Runtime,
                    "bins tensor should have one dimension and an edge at least, but it has the shape {}; \
                    give its edges in order",
                    edges.shape()
                );
            }
            if range.is_some() {
                refuse!(Type, "arguments 'bins' (as edges) and 'range' exclude each other; give one of them");
            }
            Ok(edges.clone())
        }
        bins => {
            let n = match bins {
                Value::Int(n) | Value::Number(Scalar::Int(n)) => *n,
                other => {
                    refuse!(Type, "argument 'bins' must be an int or a Tensor of edges, not {}", other.type_name())
                }
            };
            let n = positive("bins", n)?;
            let (low, high) = ends("histogram", x, range, 0.5)?;
            even_edges(&low, &high, n)
        }
    }
}

ops! { TABLE:
    /// Where each value would have to be inserted to keep the last dimension of `sorted_sequence` in order: before what
    /// equals it, or behind with `right`. `sorter` is the order of a sequence that is not sorted.
    ///
    /// >>> import pullback
    /// >>> pullback.searchsorted(pullback.tensor([1, 3, 5]), pullback.tensor([3, 6]))
    /// tensor([1, 3])
    fn searchsorted = "searchsorted" (sorted_sequence: &Tensor, input: Operand<'_> | values; out_int32: bool = false, right: bool = false,
        side: Option<&str> = None, sorter: Option<&Tensor> = None) -> Tensor [EXACT_OUT, SORT] of SEARCH {
        let right = is_right(right, side)?;
        let Some((_, lead)) = sorted_sequence.shape().split_last() else {
            refuse!(Runtime, "boundaries tensor should have positive dimension, but got 0 dimension; give a vector");
        };
        let rank = sorted_sequence.rank();
        let bounds = permuted(sorted_sequence, sorter)?;
        let (bounds, values) = comparable(&bounds, input)?;
        if rank > 1 && values.rank() == 0 {
            refuse!(Runtime, "input value can be a scalar only when boundaries tensor dimension is 1, but we got boundaries \
                tensor dim({rank}); give values for each row");
        }
        if rank > 1 && values.shape().split_last().is_none_or(|(_, v)| v != lead) {
            refuse!(Runtime, "boundaries tensor should be 1 dimension or the first N-1 dimensions of boundaries tensor and \
                input value tensor must match, but we got boundaries tensor {} and input value tensor {}; expand() one",
                bounds.shape(), values.shape());
        }
        of_width(search(&bounds, &values, right)?, out_int32)
    }

    /// The number of the bucket of each value, where `boundaries` in order are the upper bounds: with `right` the lower
    /// ones.
    ///
    /// >>> import pullback
    /// >>> pullback.bucketize(pullback.tensor([0, 3, 6]), pullback.tensor([1, 3, 5]))
    /// tensor([0, 1, 3])
    fn bucketize = "bucketize" (input: Operand<'_>, boundaries: &Tensor; out_int32: bool = false, right: bool = false)
        -> Tensor [EXACT_OUT, SORT] {
        if boundaries.rank() != 1 {
            refuse!(Runtime, "boundaries tensor must be 1 dimension, but got dim({}); flatten() it", boundaries.rank());
        }
        let (bounds, values) = comparable(boundaries, input)?;
        of_width(search(&bounds, &values, right)?, out_int32)
    }

    /// Whether each element is one of `test_elements`; with `invert`, whether it is none.
    ///
    /// >>> import pullback
    /// >>> pullback.isin(pullback.tensor([1, 2, 3]), pullback.tensor([3, 1]))
    /// tensor([ True, False,  True])
    fn isin = "isin" (elements: Operand<'_> | element, test_elements: Operand<'_> | test_element; assume_unique: bool = false, invert: bool = false)
        -> Tensor [MIXED, SORT] {
        let _ = assume_unique;
        let d = common_dtype(elements, test_elements);
        if d == DType::Bool || d.is_complex() {
            refuse!(Runtime, "Unsupported input type encountered for isin(): {d}; convert the elements, or compare with `==`");
        }
        let (x, test) = (convert(elements, d)?, ravel(&convert(test_elements, d)?)?);
        if test.numel() == 0 {
            return basis::full(x.shape(), DType::Bool, invert);
        }
        let sorted = in_order(&test, 0)?;
        let last = Tensor::scalar(DType::I64, test.numel() as i64 - 1);
        let nearest = index::take_rows(&sorted, &minimum(&search(&sorted, &x, false)?, &last)?)?;
        let found = eq(&nearest, &x)?;
        if invert { logical_not(&found) } else { Ok(found) }
    }

    /// How often each of 0, 1, … is there, or the sums of their weights; as many as the largest asks for, and `minlength`
    /// at least.
    ///
    /// >>> import pullback
    /// >>> pullback.bincount(pullback.tensor([1, 3, 1]))
    /// tensor([0, 2, 0, 1])
    fn bincount = "bincount" (input: &Tensor, weights: Option<&Tensor> = None, minlength: i64 as Count = 0) -> Tensor [METHOD, DYNAMIC, NO_OUT, SCATTERED] {
        let d = input.dtype();
        if !d.is_integer() {
            refuse!(NotImplemented, "not implemented for {d} tensors; convert them with .long()");
        }
        if input.rank() != 1 {
            refuse!(Runtime, "only supports 1-d non-negative integral inputs, but the input is {}D; flatten() it", input.rank());
        }
        if let Some(w) = weights
            && w.shape() != input.shape()
        {
            refuse!(Runtime, "weights should be 1-d and have the same length as input, {}, but they have the shape {}; give one for each",
                input.numel(), w.shape());
        }
        let size = bin_count(input, minlength)?;
        let weights = match weights.filter(|w| w.numel() > 0) {
            None => basis::full(input.shape(), DType::I64, 1)?,
            Some(w) if w.dtype() == DType::F32 => w.clone(),
            Some(w) => cast(w, DType::F64)?,
        };
        let zeros = basis::full(&[size].into(), weights.dtype(), 0)?;
        index::scatter_add(&zeros, 0, &cast(input, DType::I64)?, &weights)
    }

    /// How many elements lie in each of `bins` bins of one width between `min` and `max`, or between the smallest and the
    /// largest element if these are equal. Others, and NaN, do not count.
    ///
    /// >>> import pullback
    /// >>> pullback.histc(pullback.tensor([1.0, 2.0, 1.0]), bins=4, min=0, max=3)
    /// tensor([0., 2., 1., 0.])
    fn histc = "histc" (input: &Tensor as Floats, bins: i64 = 100, min: Scalar = Scalar::Int(0), max: Scalar = Scalar::Int(0))
        -> Tensor [METHOD, EXACT_OUT, SCATTERED] {
        let bins = positive("bins", bins)?;
        let (low, high) = finite_range(min.as_f64(), max.as_f64())?;
        let x = single(&ravel(&super::shape::detach(input)?)?)?;
        let (low, high) = ends("histc", &x, (low != high).then_some((low, high)), 1.0)?;
        let within = logical_and(&ge(&x, &low)?, &le(&x, &high)?)?;
        let place = div(&basis::scale(&sub(&x, &low)?, bins as f64)?, &sub(&high, &low)?)?;
        let place = where_(&within, &place, &basis::number(&place, 0.0))?;
        cast(&summed(bins, &place, &within, &basis::ones_like(&x)?)?, input.dtype())
    }

    /// How many elements lie in each bin, or the sums of their weights, and the edges of the bins: those given in order, or
    /// of `bins` bins of one width over `range` or over all elements. With `density`, divided by the width of the bin and
    /// by the sum. The last bin has both of its edges.
    ///
    /// >>> import pullback
    /// >>> pullback.histogram(pullback.tensor([1.0, 2.0, 1.0]), bins=2, range=(0.0, 2.0)).hist
    /// tensor([0., 3.])
    fn histogram = "histogram" (input: &Tensor as Floats, bins: &Value; range: &Value = &Value::None, weight: Option<&Tensor> as Option<SameDType> = None,
        density: bool = false) -> Named as histogram(hist, bin_edges) [METHOD, EXACT_OUT, SCATTERED] {
        if let Some(w) = weight
            && w.shape() != input.shape()
        {
            return Err(other_shape(crate::ErrorKind::Runtime, "weight", w.shape(), input.shape()));
        }
        let x = ravel(input)?;
        let edges = edges_of(&x, bins, range_of(range)?)?;
        let bins = edges.numel() - 1;
        let one = |i: usize| basis::reshape(&basis::slice(&edges, 0, i, 1, 1)?, &Shape::scalar());
        let within = logical_and(&ge(&x, &one(0)?)?, &le(&x, &one(bins)?)?)?;
        let weight = match weight {
            Some(w) => ravel(w)?,
            None => basis::ones_like(&x)?,
        };
        if bins == 0 {
            return Ok(Named::new(NAMED, [basis::full(&[0].into(), x.dtype(), 0.0)?, edges]));
        }
        let place = basis::shift(&search(&edges, &x, true)?, -1.0)?;
        let mut hist = summed(bins, &place, &within, &weight)?;
        if density {
            let widths = super::differences::stepped(&edges, 0)?;
            hist = div(&hist, &mul(&basis::sum_all(&hist)?, &widths)?)?;
        }
        Ok(Named::new(NAMED, [hist, edges]))
    }
}

static PRIMITIVES: &[&dyn Primitive] = &[&SEARCH];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
