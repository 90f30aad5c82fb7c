//! Sorting, extremes with their places, cumulative sums.

use super::arith::{maximum, minimum};
use super::named::NamedType;
use super::reduce::amax_over;
use super::value::{IntoValue, Named, Value};
use crate::bail;
use crate::base::{DType, ErrorKind, Result, Shape};
use crate::core::params::{fields, parameters};
use crate::core::{Meta, Params, Prim, Primitive, Tensor, call, call_many};
use crate::dense::{Array, reduce, scan, sort as kernels};
use crate::ops::signature::{
    Dim, DimOrOther, DimOrTensor, Dimensions, HERE, NamedIfEmpty, Ordered, OrderedNumbers, aligned, member_dims,
    named_if_empty,
};
use crate::rules::basis::{self, cast};
use crate::rules::{Batching, Choosing, Linear, Opaque, OpaqueBatch, shapes};
use smallvec::smallvec;

/// Parameters of the operators here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Along {
    pub dim: usize,
    pub keep: bool,
    k: usize,
    /// Descending, or largest.
    high: bool,
    /// Of a sort: that it is stable.
    sorted: bool,
}

fields! { struct Along { dim, keep, k, high, sorted } }
parameters! { Along = "along" }

impl Along {
    pub fn dim(dim: usize) -> Along {
        Along { dim, keep: true, k: 0, high: false, sorted: true }
    }
    /// For one element of the dimension, which stays if the caller keeps it or if there is none.
    pub fn one_of(x: &Tensor, keepdim: bool) -> Along {
        Along { keep: keepdim || x.rank() == 0, ..Along::dim(0) }
    }
    fn params(self) -> Params {
        Params::other(self)
    }
}

pub(super) fn along(p: &Params) -> Along {
    *p.get::<Along>()
}
pub(super) fn shifted(p: &Params) -> Params {
    let a = along(p);
    Along { dim: a.dim + 1, ..a }.params()
}

macro_rules! choosing {
    ($($id:ident, $name:literal, |$m:ident| $shape:expr, |$a:ident, $x:ident| $eval:expr;)*) => {$(
        static $id: Choosing = Choosing {
            name: $name,
            shape: |p, $m| { let $a = along(p); let _ = $a; $shape },
            eval: |p, $x| { let $a = along(p); $eval },
            along: |p| { let a = along(p); (a.dim, a.keep) },
            shifted,
        };
    )*};
}

choosing! {
    SORT, "sort", |m| ordered("sort", m), |a, x| kernels::sort(x, a.dim, a.high, a.sorted);
    TOPK, "topk", |m| kernels::topk_shape(m.form(), a.k, a.dim), |a, x| kernels::topk(x, a.k, a.dim, a.high, a.sorted);
    MAX, "max", |m| extreme("max", m, a), |a, x| reduce::max_with_index(x, a.dim, a.keep);
    MIN, "min", |m| extreme("min", m, a), |a, x| reduce::min_with_index(x, a.dim, a.keep);
    KTHVALUE, "kthvalue", |m| kth_shape(m, a), |a, x| keep_dim(kernels::kthvalue(x, a.k, a.dim)?, a);
    CUMMAX, "cummax", |m| ordered("cummax", m), |a, x| scan::cummax(x, a.dim);
    CUMMIN, "cummin", |m| ordered("cummin", m), |a, x| scan::cummin(x, a.dim);
}

fn ordered(op: &str, m: &Meta) -> Result<Shape> {
    kernels::check_order(op, m.dtype).map(|()| m.shape.clone())
}

fn extreme(op: &str, m: &Meta, a: Along) -> Result<Shape> {
    reduce::check_extreme(op, m.form(), &[a.dim])?;
    Ok(reduce::result_shape(&m.shape, &[a.dim], a.keep))
}

fn kth_shape(m: &Meta, a: Along) -> Result<Shape> {
    let dropped = kernels::kthvalue_shape(m.form(), a.k, a.dim)?;
    Ok(if a.keep { m.shape.with(a.dim, 1) } else { dropped })
}

/// Values and indices of a kernel that drops the chosen dimension, with it if the caller keeps it.
fn keep_dim((v, i): (Array, Array), a: Along) -> Result<(Array, Array)> {
    if !a.keep {
        return Ok((v, i));
    }
    let mut shape = v.shape().clone();
    shape.insert(a.dim, 1);
    Ok((v.reshape(&shape)?, i.reshape(&shape)?))
}

macro_rules! position {
    ($($id:ident, $name:literal, $kernel:path;)*) => {$(
        static $id: Opaque = Opaque {
            name: $name,
            infer: |p, a| shapes::one(DType::I64, extreme($name, shapes::first(a)?, along(p))?),
            eval: |p, args| {
                let a = along(p);
                Ok(smallvec![$kernel(args[0].array()?, Some(a.dim), a.keep)?.into()])
            },
            batching: OpaqueBatch::With(|me, p, args, _| {
                let Some(v) = crate::rules::batching::front(&args[0])? else {
                    bail!(Internal, "{}(): nothing is batched", $name)
                };
                Ok(smallvec![(call(me, &shifted(p), &[&v])?, Some(0))])
            }),
        };
    )*};
}

position! {
    ARGMAX, "argmax", reduce::argmax;
    ARGMIN, "argmin", reduce::argmin;
}

static CUMSUM: Linear = Linear {
    name: "cumsum",
    infer: shapes::same,
    eval: |p, a| scan::cumsum(a, p.dim()),
    transpose: |p, g, _, _| {
        let d = p.dim();
        reversed(&call(Prim::Static(&CUMSUM), p, &[&reversed(g, d)?])?, d)
    },
    batching: Batching::Shift,
};

/// The elements of a dimension in reverse order.
pub fn reversed(x: &Tensor, dim: usize) -> Result<Tensor> {
    let n = x.shape()[dim];
    if n < 2 { Ok(x.clone()) } else { basis::slice(x, dim, n - 1, n, -1) }
}

/// `x` with at least one dimension.
pub(super) fn dimensioned(x: &Tensor) -> Result<Tensor> {
    if x.rank() == 0 { basis::reshape(x, &[1].into()) } else { Ok(x.clone()) }
}

/// Values and indices of a choosing operator; 0-d inputs give 0-d outputs.
pub(super) fn choose(prim: &'static Choosing, x: &Tensor, dim: usize, mut a: Along) -> Result<(Tensor, Tensor)> {
    let v = dimensioned(x)?;
    a.dim = dim;
    let outs = call_many(Prim::Static(prim), &a.params(), &[&v])?;
    let flat = |t: &Tensor| if x.rank() == 0 { basis::reshape(t, x.shape()) } else { Ok(t.clone()) };
    Ok((flat(&outs[0])?, flat(&outs[1])?))
}

pub(super) fn pair(class: &'static NamedType, (values, indices): (Tensor, Tensor)) -> Named {
    Named::new(class, [values, indices])
}

/// An extreme over everything, along a dimension, or of two tensors: PyTorch's three forms of `max` and `min`.
struct Extreme {
    class: &'static NamedType,
    prim: &'static Choosing,
    over: fn(&Tensor, &[usize], bool) -> Result<Tensor>,
    of_two: fn(&Tensor, &Tensor) -> Result<Tensor>,
}

impl Extreme {
    fn run(&self, input: &Tensor, dim: DimOrTensor<'_>, keepdim: bool, other: Option<&Tensor>) -> Result<Value> {
        if let Some(other) = other {
            return (self.of_two)(input, other).map(Value::Tensor);
        }
        match dim {
            DimOrTensor::Neither => {
                if keepdim {
                    refuse!(
                        Type,
                        "argument 'keepdim' needs 'dim'; for the {HERE} of all elements with all dimensions kept, use \
                         a{HERE}(keepdim=True)"
                    );
                }
                named_if_empty(ErrorKind::Runtime, "dim", input)?;
                (self.over)(input, &(0..input.rank()).collect::<Vec<_>>(), false).map(Value::Tensor)
            }
            DimOrTensor::Other(_) if keepdim => {
                refuse!(Type, "argument 'keepdim' goes with 'dim' as an int, but 'dim' is a Tensor; give dim.item()")
            }
            DimOrTensor::Other(other) => (self.of_two)(input, other).map(Value::Tensor),
            DimOrTensor::Dim(d) => {
                let a = Along::one_of(input, keepdim);
                nonempty(input, d)?;
                Ok(pair(self.class, choose(self.prim, input, d, a)?).into_value())
            }
        }
    }
}

pub(super) fn nonempty(x: &Tensor, dim: usize) -> Result<()> {
    if x.rank() > 0 && x.shape()[dim] == 0 {
        refuse!(Index, "Expected reduction dim {dim} to have non-zero size; reduce another one");
    }
    Ok(())
}

/// The elements of a dimension in order.
pub(super) fn in_order(x: &Tensor, dim: usize) -> Result<Tensor> {
    Ok(choose(&SORT, x, dim, Along::dim(0))?.0)
}

fn position_of(prim: &'static Opaque, x: &Tensor, dim: Option<usize>, keepdim: bool) -> Result<Tensor> {
    let Some(dim) = dim else {
        let flat = basis::reshape(x, &[x.numel()].into())?;
        let out = call(Prim::Static(prim), &Along { keep: false, ..Along::dim(0) }.params(), &[&flat])?;
        let shape = if keepdim { x.shape().iter().map(|_| 1).collect() } else { crate::Shape::scalar() };
        return basis::reshape(&out, &shape);
    };
    nonempty(x, dim)?;
    let v = dimensioned(x)?;
    let out = call(Prim::Static(prim), &Along { keep: keepdim, ..Along::dim(dim) }.params(), &[&v])?;
    if x.rank() == 0 { basis::reshape(&out, x.shape()) } else { Ok(out) }
}

ops! { TABLE:
    /// Values in order along a dimension, and where they were. NaN counts as the largest. Equal elements keep their order
    /// with `stable`.
    ///
    /// >>> import pullback
    /// >>> pullback.sort(pullback.tensor([3.0, 1.0, 2.0])).indices
    /// tensor([1, 2, 0])
    fn sort = "sort" (input: &Tensor as Ordered, dim: i64 as Dim = -1, descending: bool = false; stable: bool = false) -> Named as sort(values, indices) [METHOD, SORT, KEEPS_ORDER] node "SortBackward0" of SORT {
        Ok(pair(NAMED, choose(&SORT, input, dim, Along { high: descending, sorted: stable, ..Along::dim(0) })?))
    }

    /// The indices that sort a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.argsort(pullback.tensor([3.0, 1.0, 2.0]))
    /// tensor([1, 2, 0])
    fn argsort = "argsort" (input: &Tensor as Ordered, dim: i64 as Dim = -1, descending: bool = false; stable: bool = false)
        -> Tensor [METHOD, SORT, KEEPS_ORDER] {
        Ok(choose(&SORT, input, dim, Along { high: descending, sorted: stable, ..Along::dim(0) })?.1)
    }

    /// The `k` largest (or smallest) values along a dimension, and where they were.
    ///
    /// >>> import pullback
    /// >>> pullback.topk(pullback.tensor([3.0, 1.0, 2.0]), 2).values
    /// tensor([3., 2.])
    fn topk = "topk" (input: &Tensor as Ordered, k: i64, dim: i64 as Dim = -1, largest: bool = true, sorted: bool = true)
        -> Named as topk(values, indices) [METHOD, EXACT_OUT, SORT] of TOPK {
        let n = if input.rank() == 0 { 1 } else { input.shape()[dim] as i64 };
        if k < 0 || k > n {
            refuse!(Runtime, "selected index k out of range: k is {k}, dimension {dim} has size {n}; give a k from 0 to {n}");
        }
        // The result of a tensor without dimensions has none, hence one element.
        let k = if input.rank() == 0 { 1 } else { k };
        let a = Along { k: k as usize, high: largest, sorted, ..Along::dim(0) };
        Ok(pair(NAMED, choose(&TOPK, input, dim, a)?))
    }

    /// The largest element; with `dim`, the largest along it and where it was; with another tensor, `maximum`.
    ///
    /// >>> import pullback
    /// >>> pullback.max(pullback.tensor([3.0, 1.0, 2.0]))
    /// tensor(3.)
    fn max = "max" (input: &Tensor as Ordered, dim: &Value as DimOrOther = &Value::None, keepdim: bool = false; other: Option<&Tensor> = None)
        -> Value as max(values, indices) [METHOD] node "MaxBackward1" / dim "MaxBackward0" {
        let over = |x: &Tensor, d: &[usize], k: bool| amax_over(x, d, k);
        Extreme { class: NAMED, prim: &MAX, over, of_two: |a, b| maximum(a, b) }.run(input, dim, keepdim, other)
    }

    /// The smallest element; with `dim`, the smallest along it and where it was; with another tensor, `minimum`.
    ///
    /// >>> import pullback
    /// >>> pullback.min(pullback.tensor([3.0, 1.0, 2.0]))
    /// tensor(1.)
    fn min = "min" (input: &Tensor as Ordered, dim: &Value as DimOrOther = &Value::None, keepdim: bool = false; other: Option<&Tensor> = None)
        -> Value as min(values, indices) [METHOD] node "MinBackward1" / dim "MinBackward0" {
        let over = |x: &Tensor, d: &[usize], k: bool| super::reduce::amin_over(x, d, k);
        Extreme { class: NAMED, prim: &MIN, over, of_two: |a, b| minimum(a, b) }.run(input, dim, keepdim, other)
    }

    /// Where the largest element is: in the flattened tensor, or along a dimension. The first of several.
    ///
    /// >>> import pullback
    /// >>> pullback.argmax(pullback.tensor([3.0, 1.0, 2.0]))
    /// tensor(0)
    fn argmax = "argmax" (input: &Tensor as OrderedNumbers, dim: Option<i64> as NamedIfEmpty = None, keepdim: bool = false) -> Tensor [METHOD] of ARGMAX {
        position_of(&ARGMAX, input, dim, keepdim)
    }

    /// Where the smallest element is: in the flattened tensor, or along a dimension. The first of several.
    ///
    /// >>> import pullback
    /// >>> pullback.argmin(pullback.tensor([3.0, 1.0, 2.0]))
    /// tensor(1)
    fn argmin = "argmin" (input: &Tensor as OrderedNumbers, dim: Option<i64> as NamedIfEmpty = None, keepdim: bool = false) -> Tensor [METHOD] of ARGMIN {
        position_of(&ARGMIN, input, dim, keepdim)
    }

    /// Largest values so far along a dimension, and where they are.
    fn cummax = "cummax" (input: &Tensor as Ordered, dim: i64 as Dim) -> Named as cummax(values, indices) [METHOD, SCATTERED] of CUMMAX {
        Ok(pair(NAMED, choose(&CUMMAX, input, dim, Along::dim(0))?))
    }

    /// Smallest values so far along a dimension, and where they are.
    fn cummin = "cummin" (input: &Tensor as Ordered, dim: i64 as Dim) -> Named as cummin(values, indices) [METHOD, SCATTERED] of CUMMIN {
        Ok(pair(NAMED, choose(&CUMMIN, input, dim, Along::dim(0))?))
    }

    /// The `k`-th smallest value along a dimension (1 is the smallest), and where it is.
    fn kthvalue = "kthvalue" (input: &Tensor as Ordered, k: i64, dim: i64 as Dim = -1, keepdim: bool = false) -> Named as kthvalue(values, indices) [METHOD, SORT] of KTHVALUE {
        let n = if input.rank() == 0 { 1 } else { input.shape()[dim] as i64 };
        nonempty(input, dim)?;
        if k < 1 || k > n {
            refuse!(Runtime, "selected number k out of range for dimension {dim}: k is {k}, size {n}; give a k from 1 to {n}");
        }
        let a = Along { k: k as usize, keep: keepdim || input.rank() == 0, ..Along::dim(0) };
        Ok(pair(NAMED, choose(&KTHVALUE, input, dim, a)?))
    }

    /// Sums of the elements so far along a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.cumsum(pullback.tensor([1, 2, 3]), 0)
    /// tensor([1, 3, 6])
    fn cumsum = "cumsum" (input: &Tensor, dim: i64 as Dim; dtype: Option<DType> = None) -> Tensor [METHOD, INPLACE] of CUMSUM {
        let natural = if input.dtype().is_differentiable() { input.dtype() } else { DType::I64 };
        let x = cast(input, dtype.unwrap_or(natural))?;
        let v = dimensioned(&x)?;
        basis::reshape(&call(Prim::Static(&CUMSUM), &Params::Dim(dim), &[&v])?, input.shape())
    }

    /// The elements of some dimensions in reverse order.
    ///
    /// >>> import pullback
    /// >>> pullback.flip(pullback.tensor([1, 2, 3]), (0,))
    /// tensor([3, 2, 1])
    fn flip = "flip" (input: &Tensor, dims: &[i64] as Dimensions) -> Tensor [METHOD, VARIADIC] {
        if input.rank() == 0 {
            return Ok(input.clone());
        }
        dims.iter().try_fold(input.clone(), |x, &d| reversed(&x, d))
    }

    /// Elements moved along dimensions, those that leave coming in at the other end. Without dims: of the flattened
    /// tensor.
    ///
    /// >>> import pullback
    /// >>> pullback.roll(pullback.tensor([1, 2, 3]), 1)
    /// tensor([3, 1, 2])
    fn roll = "roll" (input: &Tensor, shifts: &[i64], dims: Option<&[i64]> = None) -> Tensor [METHOD] {
        let dims = dims.unwrap_or_default();
        if dims.is_empty() {
            let &[shift] = shifts else {
                refuse!(Runtime, "argument 'shifts' must be one int where no dims are named, but it has {}; name a \
                    dimension for each in 'dims'", shifts.len())
            };
            let flat = basis::reshape(input, &[input.numel()].into())?;
            return basis::reshape(&rolled(&flat, 0, shift)?, input.shape());
        }
        aligned(("shifts", shifts.len()), ("dims", dims.len()))?;
        let dims = member_dims("dims", dims, input)?;
        shifts.iter().zip(&dims).try_fold(input.clone(), |x, (&s, &d)| rolled(&x, d, s))
    }
}

fn rolled(x: &Tensor, dim: usize, shift: i64) -> Result<Tensor> {
    let n = x.shape()[dim];
    if n == 0 {
        return Ok(x.clone());
    }
    let s = shift.rem_euclid(n as i64) as usize;
    if s == 0 {
        return super::nn::formats::by_rows(x);
    }
    basis::cat(&[&basis::slice(x, dim, n - s, s, 1)?, &basis::slice(x, dim, 0, n - s, 1)?], dim)
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] =
    &[&SORT, &TOPK, &MAX, &MIN, &KTHVALUE, &CUMMAX, &CUMMIN, &ARGMAX, &ARGMIN, &CUMSUM];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Along>()],
};
