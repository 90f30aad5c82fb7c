//! Views by windows and sections, and copies with a part replaced.

#![deny(clippy::arithmetic_side_effects)]

use super::value::{IndexItem, Operand, Value};
use super::{gather, indexing, shape};
use crate::bail;
use crate::base::{DType, ErrorKind, Layout, Result, Scalar, Shape, size};
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Primitive, Tensor, call, host};
use crate::dense::Array;
use crate::dense::index::arange;
use crate::dense::memory::list;
use crate::ops::signature::{
    AtLeast, Dim, FilledMembers, HERE, IndexVector, Mask, Positive, SameDType, Single, inside, ints_of, of_shape,
    other_shape, positive,
};
use crate::rules::index::{Bounds, check_index};
use crate::rules::{Batching, Linear, Opaque, OpaqueBatch, basis, batching, shapes};
use smallvec::smallvec;

/// Windows along a dimension.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    dim: usize,
    size: usize,
    step: usize,
}

fields! { struct Windows { dim, size, step } }
parameters! { Windows = "unfold" }

impl Windows {
    fn count(&self, n: usize) -> usize {
        size::windows(n, self.size, self.step)
    }
    /// The windows at their dimension, and their elements last.
    fn shape(&self, of: &Shape) -> Result<Shape> {
        of.with(self.dim, self.count(of[self.dim])).append(self.size).checked(HERE)
    }
    /// Positions along the dimension, window after window.
    fn positions(&self, n: usize) -> Result<Tensor> {
        let windows = Shape::from([self.count(n), self.size]).checked(HERE)?;
        let places = (0..windows[0])
            .flat_map(|w| (0..self.size).map(move |k| w.saturating_mul(self.step).saturating_add(k) as i64));
        let at = list(HERE, windows.numel(), places)?;
        Tensor::from_slice([at.len()], &at)
    }
}

static UNFOLD: Linear = Linear {
    name: "unfold",
    infer: |p, a| shapes::reshaped(a, |x| p.get::<Windows>().shape(x)),
    eval: |p, a| unfolded(a, *p.get::<Windows>()),
    transpose: |p, g, shape, _| {
        let w = p.get::<Windows>();
        let zeros = basis::full(shape, g.dtype(), 0.0)?;
        // The window's elements next to its number, as one dimension.
        let g = basis::move_dim(g, g.rank() - 1, w.dim + 1)?;
        let mut flat = g.shape().without(w.dim + 1);
        flat[w.dim] = g.shape()[w.dim] * w.size;
        let at = w.positions(shape[w.dim])?;
        gather::index_add(&zeros, w.dim as i64, &at, &basis::reshape(&g, &flat)?, crate::Scalar::Int(1))
    },
    batching: Batching::With(|p, v| {
        let w = *p.get::<Windows>();
        call(Prim::Static(&UNFOLD), &Params::other(Windows { dim: w.dim + 1, ..w }), &[v])
    }),
};

fn unfolded(a: &Array, w: Windows) -> Result<Array> {
    let shape = w.shape(a.shape())?;
    a.view(|l| {
        let mut out = Layout { shape, strides: l.strides.clone(), offset: l.offset };
        out.strides.push(l.strides[w.dim]);
        // Saturates only for a single window, whose stride leads nowhere.
        out.strides[w.dim] = l.strides[w.dim].saturating_mul(w.step as isize);
        out
    })
}

/// Where the pieces of `tensor_split` begin and end.
fn bounds(n: usize, by: &Value) -> Result<Vec<(usize, usize)>> {
    if let Value::Tensor(t) = by {
        if t.rank() > 1 || t.dtype() != DType::I64 {
            refuse!(
                Runtime,
                "expected tensor_indices_or_sections to be a vector or a number of dtype int64, but got {} of shape {}; \
                 flatten() it and convert it with .long()",
                t.dtype(),
                t.shape()
            );
        }
        if t.dense().is_none() {
            refuse!(
                Runtime,
                "argument 'indices_or_sections' is a tensor whose elements are not known here (vmap: It looks like you're \
                 calling .item() on a Tensor), and the sizes of the pieces depend on them; give ints"
            );
        }
        let cuts = t.to_vec::<i64>()?;
        let by = if t.rank() == 0 { Value::Int(cuts[0]) } else { Value::Ints(cuts.into_iter().collect()) };
        return bounds(n, &by);
    }
    if let Some(&[sections]) = ints_of("indices_or_sections", by)?.as_deref()
        && !matches!(by, Value::Tuple(_) | Value::List(_) | Value::Ints(_))
    {
        let k = positive("indices_or_sections", sections)?;
        super::check_pieces(HERE, k)?;
        let (size, longer) = (n.checked_div(k).unwrap_or(0), n.checked_rem(k).unwrap_or(0));
        let starts = (0..k).scan(0_usize, |at, i| {
            let start = *at;
            *at = start.saturating_add(size).saturating_add(usize::from(i < longer));
            Some((start, *at))
        });
        return Ok(starts.collect());
    }
    let Some(cuts) = ints_of("indices_or_sections", by)? else {
        refuse!(Type, "argument 'indices_or_sections' must be int or tuple of ints, not {}", by.type_name())
    };
    let clamp = |i: i64| (if i < 0 { i.saturating_add(n as i64) } else { i }).clamp(0, n as i64) as usize;
    let mut out = Vec::new();
    let mut start = 0;
    for end in cuts.iter().map(|&c| clamp(c)).chain([n]) {
        out.push((start, end.max(start)));
        start = end;
    }
    Ok(out)
}

fn pieces(x: &Tensor, d: usize, by: &Value) -> Result<Vec<Tensor>> {
    let piece = |(i, (a, b)): (usize, (usize, usize))| {
        host::turn(i)?;
        basis::slice(x, d, a, b.saturating_sub(a), 1)
    };
    bounds(x.shape()[d], by)?.into_iter().enumerate().map(piece).collect()
}

/// `tensor_split` along a dimension that is fixed by the operator; a number of sections must divide it.
fn even_pieces(x: &Tensor, d: usize, by: &Value) -> Result<Vec<Tensor>> {
    let n = x.shape()[d];
    if let Value::Int(k) | Value::Number(Scalar::Int(k)) = by
        && (*k < 1 || (n as i64).checked_rem(*k) != Some(0))
    {
        refuse!(
            Runtime,
            "attempted to split along dimension {d}, but the size of the dimension {n} is not divisible by the \
             split_size {k}; use tensor_split()"
        );
    }
    pieces(x, d, by)
}

/// `x` with `x[.., items, ..] = value` along a dimension.
fn put_along(x: &Tensor, d: usize, item: IndexItem, value: &Tensor) -> Result<Tensor> {
    let mut items = vec![IndexItem::Slice { start: None, stop: None, step: None }; d];
    items.push(item);
    indexing::put(x, &items, value)
}

/// Numbers of the elements that `masked_scatter` reads, checked against how many there are. An operator of its own, so
/// that it also runs on batches, where each member has a mask or a source.
static ENOUGH: Opaque = Opaque {
    name: "masked_scatter:check",
    infer: shapes::same,
    eval: |p, args| {
        let counts = args[0].array()?.contiguous()?;
        let most = counts.as_slice::<i64>().unwrap_or(&[]).iter().copied().max().unwrap_or(0);
        if most > p.dim() as i64 {
            bail!(
                Runtime,
                "masked_scatter(): expected `source` to have at least {most} elements, one for each True of `mask`, but \
                 it has {}",
                p.dim()
            );
        }
        Ok(smallvec![counts.into()])
    },
    batching: OpaqueBatch::With(|me, p, args, _| {
        let Some(v) = batching::front(&args[0])? else { bail!(Internal, "masked_scatter(): nothing is batched") };
        Ok(smallvec![(call(me, p, &[&v])?, Some(0))])
    }),
};

fn check_part(part: &Shape, src: &Tensor) -> Result<()> {
    of_shape(ErrorKind::Runtime, "src", src, part).map(drop)
}

ops! { TABLE:
    /// All windows of `size` neighbours along a dimension, `step` apart, in a new last dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.arange(5).unfold(0, 3, 2)
    /// tensor([[0, 1, 2],
    ///         [2, 3, 4]])
    fn unfold = "Tensor.unfold" (input: &Tensor, dimension: i64 as Dim, size: i64, step: i64 as Positive) -> Tensor
        [METHOD, NOT_FUNCTION, VIEW] of UNFOLD {
        let x = if input.rank() == 0 { basis::reshape(input, &[1].into())? } else { input.clone() };
        let n = x.shape()[dimension] as i64;
        if size < 0 || size > n {
            refuse!(Runtime, "maximum size for tensor at dimension {dimension} is {n} but size is {size}; give a size \
                from 0 to {n}");
        }
        let w = Windows { dim: dimension, size: size as usize, step };
        let out = call(Prim::Static(&UNFOLD), &Params::other(w), &[&x])?;
        if input.rank() == 0 { basis::reshape(&out, &[size as usize].into()) } else { Ok(out) }
    }

    /// One dimension as several, of these sizes; one may be -1.
    ///
    /// >>> import pullback
    /// >>> pullback.unflatten(pullback.arange(6), 0, (2, 3)).shape
    /// pullback.Size([2, 3])
    fn unflatten = "unflatten" (input: &Tensor, dim: i64 as Dim, sizes: &[i64]) -> Tensor [METHOD, VIEW, OR_COPY] node "ViewBackward0" {
        if sizes.is_empty() {
            refuse!(Runtime, "sizes must be non-empty; give the sizes that dim is cut into");
        }
        let n = input.shape().get(dim).copied().unwrap_or(1);
        let (known, open) = (sizes.iter().filter(|&&s| s >= 0).fold(1_i64, |p, &s| p.saturating_mul(s)), sizes.contains(&-1));
        if !(open && known == 0) && (if open { (n as i64).checked_rem(known) != Some(0) } else { known != n as i64 }) {
            refuse!(
                Runtime,
                "Provided sizes {sizes:?} don't multiply up to the size of dim {dim} ({n}); give sizes whose product is {n}"
            );
        }
        let inner = shape::resolve_shape(sizes, n)?;
        let (before, after) = (&input.shape()[..dim], input.shape().get(dim.saturating_add(1)..).unwrap_or(&[]));
        let target: Shape = before.iter().chain(inner.iter()).chain(after).copied().collect();
        basis::reshape(input, &target)
    }

    /// Pieces along a dimension: as many as said and as equal as can be, or cut at the positions listed.
    ///
    /// >>> import pullback
    /// >>> pullback.tensor_split(pullback.arange(5), 2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    fn tensor_split = "tensor_split" (input: &Tensor as AtLeast<1>,
        indices_or_sections: &Value | indices | sections | tensor_indices_or_sections | split_size_or_sections, dim: i64 as Dim = 0)
        -> Vec<Tensor> [METHOD, VIEW] node "SliceBackward0" {
        pieces(input, dim, indices_or_sections)
    }

    /// Pieces side by side: along dimension 1, or 0 of vectors.
    fn hsplit = "hsplit" (input: &Tensor as AtLeast<1>,
        indices_or_sections: &Value | indices | sections | split_size_or_sections) -> Vec<Tensor> [METHOD, VIEW] node "SliceBackward0" {
        even_pieces(input, usize::from(input.rank() > 1), indices_or_sections)
    }

    /// Pieces one below the other: along dimension 0 of tensors with two dimensions or more.
    fn vsplit = "vsplit" (input: &Tensor as AtLeast<2>,
        indices_or_sections: &Value | indices | sections | split_size_or_sections) -> Vec<Tensor> [METHOD, VIEW] node "SliceBackward0" {
        even_pieces(input, 0, indices_or_sections)
    }

    /// Pieces one behind the other: along dimension 2.
    fn dsplit = "dsplit" (input: &Tensor as AtLeast<3>,
        indices_or_sections: &Value | indices | sections | split_size_or_sections) -> Vec<Tensor> [METHOD, VIEW] node "SliceBackward0" {
        even_pieces(input, 2, indices_or_sections)
    }

    /// A copy of `input` with `src` at an index of a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.select_scatter(pullback.zeros(2, 2), pullback.ones(2), 0, 1)
    /// tensor([[0., 0.],
    ///         [1., 1.]])
    fn select_scatter = "select_scatter" (input: &Tensor, src: &Tensor, dim: i64 as Dim, index: i64) -> Tensor [METHOD, KEEPS_ORDER] {
        check_part(shape::select(input, dim as i64, index)?.shape(), src)?;
        put_along(input, dim, IndexItem::Int(index), src)
    }

    /// A copy of `input` with `src` in a slice of a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.slice_scatter(pullback.zeros(4), pullback.ones(2), start=1, end=3)
    /// tensor([0., 1., 1., 0.])
    fn slice_scatter = "slice_scatter" (input: &Tensor, src: &Tensor, dim: i64 as Dim = 0, start: Option<i64> = None,
        end: Option<i64> = None, step: i64 = 1) -> Tensor [METHOD, KEEPS_ORDER] of crate::rules::index::SET_SLICE {
        let item = IndexItem::Slice { start, stop: end, step: Some(step) };
        let mut items = vec![IndexItem::Slice { start: None, stop: None, step: None }; dim];
        items.push(item.clone());
        check_part(indexing::get(input, &items)?.shape(), src)?;
        put_along(input, dim, item, src)
    }

    /// A copy of `input` with `src` on a diagonal.
    ///
    /// >>> import pullback
    /// >>> pullback.diagonal_scatter(pullback.zeros(2, 2), pullback.ones(2))
    /// tensor([[1., 0.],
    ///         [0., 1.]])
    fn diagonal_scatter = "diagonal_scatter" (input: &Tensor, src: &Tensor, offset: i64 = 0, dim1: i64 = 0, dim2: i64 = 1)
        -> Tensor [METHOD, KEEPS_ORDER] {
        let all: Tensor = arange(DType::I64, 0.into(), 1.into(), input.numel())?.into();
        let at = super::diagonal::diagonal(&basis::reshape(&all, input.shape())?, offset, dim1, dim2)?;
        check_part(at.shape(), src)?;
        let flat = |t: &Tensor| basis::reshape(t, &[t.numel()].into());
        let out = indexing::put(&flat(input)?, &[IndexItem::Tensor(flat(&at)?)], &flat(src)?)?;
        basis::reshape(&out, input.shape())
    }

    /// A copy of `input` with a number in the members of a dimension that a vector of indices names.
    ///
    /// >>> import pullback
    /// >>> pullback.index_fill(pullback.zeros(3), 0, pullback.tensor([0, 2]), 5.0)
    /// tensor([5., 0., 5.])
    fn index_fill = "index_fill" (input: &Tensor, dim: i64 as Dim, index: &Tensor as FilledMembers, value: Operand<'_> as Single) -> Tensor [METHOD, INPLACE, SCATTERED, OVERWRITES, KEEPS_ORDER] {
        let v = match value {
            Operand::Tensor(t) => match t.dense() {
                Some(number) => super::promote::fitted(HERE, "value", number.item()?, input.dtype())?,
                None => t.clone(),
            },
            Operand::Number(Scalar::Complex(z)) if !input.dtype().is_complex() => refuse!(Runtime, "Converting \
                complex Scalar to non-complex type is not supported, got {z} for a tensor of {}; convert it with .cfloat()", input.dtype()),
            Operand::Number(n) => super::promote::fitted(HERE, "value", n, input.dtype())?,
        };
        let x = if input.rank() == 0 { basis::reshape(input, &[1].into())? } else { input.clone() };
        basis::reshape(&put_along(&x, dim, IndexItem::Tensor(index), &v)?, input.shape())
    }

    /// A copy of `input` with the members of `source` in those of a dimension that a vector of indices names.
    ///
    /// >>> import pullback
    /// >>> pullback.index_copy(pullback.zeros(3), 0, pullback.tensor([2, 0]), pullback.tensor([5.0, 6.0]))
    /// tensor([6., 0., 5.])
    fn index_copy = "index_copy" (input: &Tensor, dim: i64 as Dim, index: &Tensor as IndexVector, source: &Tensor as SameDType)
        -> Tensor [METHOD, INPLACE, SCATTERED, OVERWRITES, ROW_MAJOR, WIDEST] {
        let x = if input.rank() == 0 { basis::reshape(input, &[1].into())? } else { input.clone() };
        let want = x.shape().with(dim, index.numel());
        if source.shape() != &want && !(source.rank() == 0 && x.rank() == 1 && want.numel() == 1) {
            return Err(other_shape(ErrorKind::Index, "source", source.shape(), &want));
        }
        let bounds = Bounds { size: x.shape()[dim], dim, wrap: false };
        let i = check_index(&index, bounds).map_err(inside)?;
        let out = put_along(&x, dim, IndexItem::Tensor(i), &basis::reshape(source, &want)?)?;
        basis::reshape(&out, input.shape())
    }

    /// A copy of `input` with the first elements of `source`, in order, where `mask` is true.
    ///
    /// >>> import pullback
    /// >>> mask = pullback.tensor([True, False, True])
    /// >>> pullback.masked_scatter(pullback.zeros(3), mask, pullback.tensor([5.0, 6.0]))
    /// tensor([5., 0., 6.])
    fn masked_scatter = "masked_scatter" (input: &Tensor, mask: &Tensor as Mask, source: &Tensor as SameDType)
        -> Tensor [METHOD, INPLACE, SCATTERED, ROW_MAJOR] {
        let both = shape::broadcast(&[input, mask])?;
        let (x, mask) = (&both[0], &both[1]);
        let rank = basis::cast(&basis::reshape(mask, &[mask.numel()].into())?, DType::I64)?;
        let before = super::sorting::cumsum(&rank, 0, None)?;
        let before = call(Prim::Static(&ENOUGH), &Params::Dim(source.numel()), &[&before])?;
        if source.numel() == 0 {
            return Ok(x.clone());
        }
        let last = Tensor::scalar(DType::I64, (source.numel() as i64).saturating_sub(1));
        let at = super::arith::minimum(&super::arith::maximum(&basis::shift(&before, -1.0)?,
            &Tensor::scalar(DType::I64, 0i64))?, &last)?;
        let flat = basis::reshape(source, &[source.numel()].into())?;
        let taken = indexing::get(&flat, &[IndexItem::Tensor(at)])?;
        basis::where_(mask, &basis::reshape(&taken, x.shape())?, x)
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&UNFOLD, &ENOUGH];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Windows>()],
};
