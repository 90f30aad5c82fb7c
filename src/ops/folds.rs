//! Values that meet at one place: sums, products, means and extremes by index; elements of the flattened tensor by index.

use super::gather::{Elementwise, as_runtime, at_least_1d, elementwise, source};
use super::products::scatter_multiply;
use super::promote::single;
use super::promoted::{div, floor_divide, remainder};
use super::reduce::TIED;
use super::shape::{detach, ravel};
use super::unary::reciprocal;
use crate::base::{DType, ErrorKind, Result, Scalar, Shape};
use crate::core::params::{fields, parameters};
use crate::core::primitive::Saves;
use crate::core::{Params, Point, Prim, Primitive, Tensor, call};
use crate::dense::index::{self as kernels, Fold};
use crate::dense::sort::check_order;
use crate::ops::signature::{
    Chosen, Dim, IndexOrEmpty, IndexTensor, IndexVector, SameDType, Words, inside, ints_of, other_shape,
};
use crate::ops::value::Value;
use crate::rules::basis::{self, cast, keep_where, mul};
use crate::rules::index::{self, Bounds, check_index, scatter_add};
use crate::rules::{General, batching, shapes};
use smallvec::{SmallVec, smallvec};

/// Which extreme of the values that meet, along which dimension.
#[derive(Debug, Clone, Copy)]
struct Meeting {
    dim: usize,
    largest: bool,
    include_self: bool,
}

fields! { struct Meeting { dim, largest, include_self } }
parameters! { Meeting = "meeting" }

impl Meeting {
    fn fold(self) -> Fold {
        if self.largest { Fold::Amax } else { Fold::Amin }
    }
}

/// A copy of `x` with the extremes of what `index` sends to each place; those that are equal share the derivative.
static EXTREME: General = General {
    name: "scatter_reduce",
    infer: |p, a| {
        let (x, index, src) = (shapes::first(a)?, shapes::argument(a, 1)?, shapes::argument(a, 2)?);
        check_order("scatter_reduce", x.dtype)?;
        kernels::check_scatter("scatter_reduce", x.form(), index.form(), src.form(), p.get::<Meeting>().dim)?;
        shapes::same(p, a)
    },
    eval: |p, a| {
        let m = *p.get::<Meeting>();
        let (x, index, src) = (a[0].array()?, a[1].array()?, a[2].array()?);
        Ok(smallvec![kernels::scatter_reduce(x, m.dim, index, src, m.fold(), m.include_self)?.into()])
    },
    saves: |_, _| Saves { inputs: 7, outputs: 1 },
    jvp: |_, p, point, t| {
        let s = Shared::of(p, point)?;
        let of = |t: Option<&Tensor>, mask: &Tensor| match t {
            Some(t) => keep_where(mask, t),
            None => basis::full(mask.shape(), s.share.dtype(), 0.0),
        };
        if t.iter().all(Option::is_none) {
            return Ok(smallvec![None]);
        }
        let (own, sent) = (of(t[0], &s.own)?, of(t[2], &s.sent)?);
        Ok(smallvec![Some(mul(&scatter_add(&own, s.dim, s.index, &sent)?, &s.share)?)])
    },
    vjp: |_, p, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let s = Shared::of(p, point)?;
        let g = mul(g, &s.share)?;
        let own = if needs & 1 != 0 { Some(keep_where(&s.own, &g)?) } else { None };
        let sent = if needs & 4 != 0 { Some(keep_where(&s.sent, &index::gather(&g, s.dim, s.index)?)?) } else { None };
        Ok(smallvec![own, None, sent])
    },
    batch: |me, p, a, info| {
        let m = *p.get::<Meeting>();
        let values: SmallVec<[_; 3]> = a.iter().map(|a| batching::front_expanded(a, info)).collect::<Result<_>>()?;
        let refs: SmallVec<[&Tensor; 3]> = values.iter().map(|v| &**v).collect();
        Ok(smallvec![(call(me, &Params::other(Meeting { dim: m.dim + 1, ..m }), &refs)?, Some(0))])
    },
};

/// Which elements are as large as the extreme of their place, and what each of these gets of its derivative.
struct Shared<'a> {
    dim: usize,
    index: &'a Tensor,
    own: Tensor,
    sent: Tensor,
    share: Tensor,
}

impl<'a> Shared<'a> {
    fn of(p: &Params, point: &Point<'a>) -> Result<Shared<'a>> {
        let m = *p.get::<Meeting>();
        let (x, index, src, y) = (point.input(0)?, point.input(1)?, point.input(2)?, point.output(0)?);
        let tied = |x: &Tensor, y: &Tensor| call(Prim::Static(&TIED), &Params::None, &[x, y]);
        let mut own = tied(x, y)?;
        if !m.include_self {
            let no = basis::full(index.shape(), DType::Bool, false)?;
            own = index::scatter(&own, m.dim, index, &no)?;
        }
        let sent = tied(src, &index::gather(y, m.dim, index)?)?;
        let counts = scatter_add(&cast(&own, x.dtype())?, m.dim, index, &cast(&sent, x.dtype())?)?;
        Ok(Shared { dim: m.dim, index, own, sent, share: reciprocal(&counts)? })
    }
}

/// What becomes of the values that meet.
#[derive(Clone, Copy, PartialEq, Eq)]
struct How(Fold);
impl Words for How {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("sum", How(Fold::Sum)),
        ("prod", How(Fold::Prod)),
        ("mean", How(Fold::Mean)),
        ("amax", How(Fold::Amax)),
        ("amin", How(Fold::Amin)),
    ];
}

/// The same for members of a dimension, which `index_add` adds up.
#[derive(Clone, Copy, PartialEq, Eq)]
struct HowMembers(Fold);
impl Words for HowMembers {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("prod", HowMembers(Fold::Prod)),
        ("mean", HowMembers(Fold::Mean)),
        ("amax", HowMembers(Fold::Amax)),
        ("amin", HowMembers(Fold::Amin)),
    ];
}

fn folded(e: &Elementwise, src: &Tensor, fold: Fold, include_self: bool) -> Result<Tensor> {
    let Elementwise { x, index, dim } = e;
    // Without the elements themselves: what something is sent to starts at the neutral element.
    let start = |value: i64| {
        if include_self {
            return Ok(x.clone());
        }
        index::scatter(x, *dim, index, &basis::full(index.shape(), x.dtype(), value)?)
    };
    match fold {
        Fold::Sum => scatter_add(&start(0)?, *dim, index, src),
        Fold::Prod => scatter_multiply(&start(1)?, *dim, index, src),
        Fold::Mean => mean(&start(0)?, e, src, include_self),
        Fold::Amax | Fold::Amin => {
            check_order("scatter_reduce", x.dtype())?;
            let m = Meeting { dim: *dim, largest: fold == Fold::Amax, include_self };
            call(Prim::Static(&EXTREME), &Params::other(m), &[x, index, src])
        }
    }
}

/// Sums over counts; integers round down.
fn mean(start: &Tensor, e: &Elementwise, src: &Tensor, include_self: bool) -> Result<Tensor> {
    let d = start.dtype();
    crate::ops::signature::no_bools(ErrorKind::NotImplemented, d)?;
    let sums = scatter_add(&single(start)?, e.dim, &e.index, &single(src)?)?;
    let count_dtype = if d.is_differentiable() { sums.dtype() } else { DType::I64 };
    let first = basis::full(start.shape(), count_dtype, i64::from(include_self))?;
    let ones = basis::full(e.index.shape(), count_dtype, 1)?;
    let counts = scatter_add(&first, e.dim, &e.index, &ones)?;
    // What nothing was sent to stays.
    let counts = match include_self {
        true => counts,
        false => basis::where_(&super::compare::eq(&counts, 0)?, &basis::ones_like(&counts)?, &counts)?,
    };
    if d.is_differentiable() { cast(&div(&sums, &counts)?, d) } else { cast(&floor_divide(&sums, &counts)?, d) }
}

/// Rows of the flattened tensor at indices that may count from the end.
fn flat_index(x: &Tensor, index: &Tensor) -> Result<Tensor> {
    check_index(index, Bounds { size: x.numel(), dim: 0, wrap: true }).map_err(|e| match e.kind() {
        ErrorKind::Index => crate::Error::index(format!(
            "{}(): out of range: {} elements of the flattened tensor, and {}",
            crate::ops::signature::HERE,
            x.numel(),
            e.message()
        )),
        _ => e,
    })
}

ops! { TABLE:
    /// A copy of `input` with what `index` sends to each element folded into it by `reduce`: 'sum', 'prod', 'mean', 'amax'
    /// or 'amin'. Without `include_self` the element itself does not count where something is sent to it. Extremes that
    /// are equal share the derivative.
    ///
    /// >>> import pullback
    /// >>> pullback.scatter_reduce(pullback.zeros(2), 0, pullback.tensor([0, 0]), pullback.tensor([1.0, 3.0]), "amax")
    /// tensor([3., 0.])
    fn scatter_reduce = "scatter_reduce" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexOrEmpty, src: &Tensor as SameDType,
        reduce: &str as Chosen<How>; include_self: bool = true) -> Tensor [METHOD, INPLACE, EXACT_OUT, SCATTERED, OVERWRITES] of EXTREME {
        if index.numel() == 0 {
            return Ok(input.clone());
        }
        let e = elementwise(input, dim, index)?;
        let out = folded(&e, &source(&e, src)?, reduce.0, include_self).map_err(as_runtime)?;
        basis::reshape(&out, input.shape())
    }

    /// A copy of `input` with the members of `source` folded into the members of a dimension that `index` names, by
    /// `reduce`: 'prod', 'mean', 'amax' or 'amin'. Without `include_self` a member itself does not count where it is named.
    ///
    /// >>> import pullback
    /// >>> pullback.index_reduce(pullback.ones(2), 0, pullback.tensor([0, 0]), pullback.tensor([2.0, 3.0]), "prod")
    /// tensor([6., 1.])
    fn index_reduce = "index_reduce" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexVector, source: &Tensor as SameDType,
        reduce: &str as Chosen<HowMembers>; include_self: bool = true) -> Tensor [METHOD, INPLACE, EXACT_OUT, SCATTERED, OVERWRITES, ROW_MAJOR] {
        let (x, src) = (at_least_1d(input)?, at_least_1d(source)?);
        let want = x.shape().with(dim, index.numel());
        if source.rank() != input.rank() || src.shape() != &want {
            return Err(other_shape(ErrorKind::Runtime, "source", source.shape(), &want));
        }
        let i = check_index(&index, Bounds { size: x.shape()[dim], dim, wrap: false }).map_err(inside)?;
        if src.numel() == 0 {
            return Ok(input.clone());
        }
        let column = Shape::new(&vec![1; x.rank()]).with(dim, index.numel());
        let index = basis::expand(&basis::reshape(&i, &column)?, src.shape())?;
        let e = Elementwise { x, index, dim };
        basis::reshape(&folded(&e, &src, reduce.0, include_self)?, input.shape())
    }

    /// Elements of the flattened input at `index`, whose shape the result has. Negative indices count from the end.
    ///
    /// >>> import pullback
    /// >>> pullback.take(pullback.tensor([[1, 2], [3, 4]]), pullback.tensor([0, -1]))
    /// tensor([1, 4])
    fn take = "take" (input: &Tensor, index: &Tensor as IndexTensor) -> Tensor [METHOD, EXACT_OUT, SCATTERED] {
        if input.numel() == 0 && index.numel() > 0 {
            refuse!(Index, "tried to take from an empty tensor; give it elements, or an empty index");
        }
        index::take_rows(&ravel(input)?, &flat_index(input, index)?)
    }

    /// A copy of `input` with the elements of `source` put at places of the flattened tensor, or added there if
    /// `accumulate`. Negative indices count from the end; of several writes to one place the last stays.
    ///
    /// >>> import pullback
    /// >>> pullback.put(pullback.tensor([[1, 2], [3, 4]]), pullback.tensor([0, -1]), pullback.tensor([7, 8]))
    /// tensor([[7, 2],
    ///         [3, 8]])
    fn put = "put" (input: &Tensor, index: &Tensor as IndexTensor, source: &Tensor as SameDType, accumulate: bool = false)
        -> Tensor [METHOD, INPLACE, NO_OUT, SCATTERED, OVERWRITES, KEEPS_ORDER] {
        if source.numel() != index.numel() {
            refuse!(Index, "Expected source and index to have the same number of elements, but got source.numel() = {}, \
                index.numel() = {}; give an index for each element", source.numel(), index.numel());
        }
        if input.numel() == 0 && index.numel() > 0 {
            refuse!(Index, "tried to put elements into an empty tensor; give it elements, or an empty index");
        }
        let (i, flat) = (flat_index(input, index)?, ravel(input)?);
        let src = basis::reshape(source, i.shape())?;
        let out = if accumulate { index::add_rows(&flat, &i, &src)? } else { index::set_rows(&flat, &i, &src)? };
        basis::reshape(&out, input.shape())
    }

    /// Indices of a flattened tensor of this shape as one tensor of indices for each dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.unravel_index(pullback.tensor([3, 5]), (2, 3))
    /// (tensor([1, 1]), tensor([0, 2]))
    fn unravel_index = "unravel_index" (indices: &Tensor, shape: &Value) -> Vec<Tensor> [NO_OUT] {
        let d = indices.dtype();
        if !d.is_integer() {
            refuse!(Type, "expected 'indices' to be integer dtype, but got {d}; convert it with indices.long()");
        }
        let Some(sizes) = ints_of("shape", shape)? else {
            refuse!(Type, "argument 'shape' must be int or tuple of ints, not None");
        };
        if sizes.iter().any(|&n| n < 0) {
            refuse!(Value, "'shape' cannot have negative values, but got {:?}; give the shape of a tensor", &sizes[..]);
        }
        if sizes.contains(&0) && indices.numel() > 0 {
            refuse!(Runtime, "ZeroDivisionError: a tensor of shape {:?} has no elements to point at; give the shape of one \
                that has", &sizes[..]);
        }
        let mut rest = detach(&cast(indices, DType::I64)?)?;
        let mut out = Vec::with_capacity(sizes.len());
        for &n in sizes.iter().rev() {
            let n = Scalar::Int(n.max(1));
            out.push(remainder(&rest, n)?);
            rest = floor_divide(&rest, n)?;
        }
        out.reverse();
        Ok(out)
    }
}

static PRIMITIVES: &[&dyn Primitive] = &[&EXTREME];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Meeting>()],
};
