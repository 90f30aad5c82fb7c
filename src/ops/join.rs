//! Joining and splitting along a dimension.

#![deny(clippy::arithmetic_side_effects)]

use super::value::Value;
use crate::base::promote::{Promotion, Strength};
use crate::base::size::Whole;
use crate::base::{DType, Result};
use crate::core::{Tensor, host};
use crate::ops::signature::{HERE, JoinDim, MemberDim, NewDim, Positive, SplitDim, ints_of};
use crate::rules::basis;

/// The dtype of tensors together.
pub fn joint_dtype(tensors: &[&Tensor]) -> DType {
    let mut p = Promotion::default();
    for t in tensors {
        p.add(t.dtype(), if t.rank() == 0 { Strength::ZeroDim } else { Strength::Dimensioned });
    }
    p.result().unwrap_or(DType::F32)
}

pub(super) fn concatenate(tensors: &[&Tensor], d: usize) -> Result<Tensor> {
    let dtype = joint_dtype(tensors);
    // Empty 1-D tensors are skipped, as in PyTorch.
    let parts: Vec<&Tensor> = tensors.iter().filter(|t| t.shape()[..] != [0]).copied().collect();
    let Some(like) = parts.first() else { return basis::cast(tensors[0], dtype) };
    for (i, p) in parts.iter().enumerate() {
        host::turn(i)?;
        if p.rank() != like.rank() {
            refuse!(
                Runtime,
                "tensors must have the same number of dimensions: got {} and {}; add dimensions with unsqueeze()",
                like.rank(),
                p.rank()
            );
        }
        let differs = |k: &usize| *k != d && p.shape()[*k] != like.shape()[*k];
        if let Some(k) = (0..p.rank()).find(differs) {
            refuse!(
                Runtime,
                "sizes of tensors must match except in dimension {d}. Expected size {} but got size {} in \
                 dimension {k} for tensor number {i} in the list; cut or expand() one",
                like.shape()[k],
                p.shape()[k]
            );
        }
    }
    let cast = |(i, p): (usize, &&Tensor)| {
        host::turn(i)?;
        basis::cast(p, dtype)
    };
    let cast: Vec<Tensor> = parts.iter().enumerate().map(cast).collect::<Result<_>>()?;
    let cast: Vec<&Tensor> = cast.iter().collect();
    // Tensors that are skipped have no channels, and so the result lies in row-major order.
    let joined = |parts: &[&Tensor]| {
        if parts.len() == tensors.len() { basis::cat(parts, d) } else { basis::cat_rows(parts, d) }
    };
    match cast[..] {
        [only] if tensors.len() == 1 && basis::suggests_channels_last(only) => Ok(only.clone()),
        [only] => super::nn::formats::by_rows(only),
        _ => joined(&cast),
    }
}

/// Slices of the given sizes, one after another.
fn pieces(input: &Tensor, dim: usize, sizes: impl IntoIterator<Item = usize>) -> Result<Vec<Tensor>> {
    // The sizes add up to that of the dimension.
    let mut end = 0_usize;
    let piece = |(i, n)| {
        host::turn(i)?;
        let start = end;
        end = end.saturating_add(n);
        basis::slice(input, dim, start, n, 1)
    };
    sizes.into_iter().enumerate().map(piece).collect()
}

/// As many pieces of one size as cover the dimension; the last may be smaller.
fn even(total: usize, size: usize) -> Result<impl Iterator<Item = usize>> {
    let count = if total == 0 { 1 } else { total.div_ceil(size) };
    super::check_pieces(HERE, count)?;
    Ok((0..count).map(move |i| size.min(total.saturating_sub(i.saturating_mul(size)))))
}

ops! { TABLE:
    /// Tensors joined along an existing dimension, after type promotion.
    ///
    /// >>> import pullback
    /// >>> pullback.cat([pullback.tensor([1, 2]), pullback.tensor([3])])
    /// tensor([1, 2, 3])
    fn cat = "cat" | "concat" | "concatenate" (tensors: Vec<&Tensor>, dim: i64 as JoinDim = 0) -> Tensor [WIDEST] of basis::CAT {
        concatenate(&tensors, dim)
    }

    /// The tensor repeated along its dimensions, new ones in front.
    fn repeat = "Tensor.repeat" (input: &Tensor, repeats: &[i64]) -> Tensor [METHOD, NOT_FUNCTION, VARIADIC, REPEATS, ROW_MAJOR] {
        let times = super::shape::sizes(HERE, repeats)?;
        let Some(lead) = times.rank().checked_sub(input.rank()) else {
            refuse!(Runtime, "number of dimensions of repeat dims ({}) can not be smaller than number of \
                dimensions of tensor ({}); give a number for each dimension", times.rank(), input.rank());
        };
        let (mut ones, mut wide, mut out) = (crate::Shape::scalar(), crate::Shape::scalar(), crate::Shape::scalar());
        for (i, &t) in times.iter().enumerate() {
            let n = i.checked_sub(lead).map_or(1, |d| input.shape()[d]);
            for (shape, d) in [(&mut ones, [1, n]), (&mut wide, [t, n])] {
                shape.push(d[0]);
                shape.push(d[1]);
            }
            out.push(Whole::from(t).times(n).size_of(HERE, "a size")?);
        }
        basis::reshape(&basis::expand(&basis::reshape(input, &ones)?, &wide)?, &out)
    }

    /// Tensors of equal shape joined along a new dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.stack([pullback.tensor([1, 2]), pullback.tensor([3, 4])])
    /// tensor([[1, 2],
    ///         [3, 4]])
    fn stack = "stack" (tensors: Vec<&Tensor>, dim: i64 as NewDim = 0) -> Tensor [WIDEST] {
        let first = tensors[0];
        for (i, t) in tensors.iter().enumerate() {
            if t.shape() != first.shape() {
                refuse!(Runtime, "expects each tensor to be equal size, but got {} at entry 0 and {} at entry {i}; join others \
                    with cat()",
                    first.shape(), t.shape());
            }
        }
        if dim < first.rank() && tensors.iter().all(|t| basis::suggests_channels_last(t)) {
            // A dimension of the result, split in two.
            let mut shape = first.shape().clone();
            shape.insert(dim, tensors.len());
            return basis::reshape(&concatenate(&tensors, dim)?, &shape);
        }
        let row = |(i, t): (usize, &&Tensor)| {
            host::turn(i)?;
            basis::unsqueeze(t, dim)
        };
        let rows: Vec<Tensor> = tensors.iter().enumerate().map(row).collect::<Result<_>>()?;
        concatenate(&rows.iter().collect::<Vec<_>>(), dim)
    }

    /// Pieces along a dimension: of one size (the last may be smaller), or of the sizes listed.
    ///
    /// >>> import pullback
    /// >>> pullback.split(pullback.arange(5), 2)
    /// (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    fn split = "split" (tensor: &Tensor | input, split_size_or_sections: &Value | split_size | split_sizes, dim: i64 as SplitDim = 0) -> Vec<Tensor> [METHOD, VIEW] node "SplitBackward0" {
        let total = tensor.shape()[dim];
        match ints_of("split_size_or_sections", split_size_or_sections)? {
            Some(s) if matches!(split_size_or_sections, Value::Tuple(_) | Value::List(_) | Value::Ints(_)) => {
                sections(tensor, dim, &s)
            }
            Some(s) if s.len() == 1 => {
                if s[0] < 0 || (s[0] == 0 && total != 0) {
                    refuse!(Runtime, "expects split_size be positive, but got split_size={}; give the size of a piece", s[0]);
                }
                pieces(tensor, dim, even(total, s[0].max(1) as usize)?)
            }
            _ => refuse!(Type, "argument 'split_size_or_sections' must be int or tuple of ints, not {}",
                split_size_or_sections.type_name()),
        }
    }

    /// Pieces of the sizes listed along a dimension.
    fn split_with_sizes = "split_with_sizes" (input: &Tensor, split_sizes: &[i64], dim: i64 as SplitDim = 0)
        -> Vec<Tensor> [METHOD, VIEW] {
        sections(input, dim, split_sizes)
    }

    /// At most `chunks` pieces of equal size (the last may be smaller) along a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.chunk(pullback.arange(5), 2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    fn chunk = "chunk" (input: &Tensor, chunks: i64 as Positive, dim: i64 as SplitDim = 0) -> Vec<Tensor> [METHOD, VIEW] node "SplitBackward0" {
        let total = input.shape()[dim];
        if total == 0 {
            super::check_pieces(HERE, chunks)?;
            return pieces(input, dim, (0..chunks).map(|_| 0));
        }
        pieces(input, dim, even(total, total.div_ceil(chunks))?)
    }

    /// The members along a dimension, without it.
    ///
    /// >>> import pullback
    /// >>> pullback.unbind(pullback.tensor([[1, 2], [3, 4]]))
    /// (tensor([1, 2]), tensor([3, 4]))
    fn unbind = "unbind" (input: &Tensor, dim: i64 as MemberDim = 0) -> Vec<Tensor> [METHOD, VIEW] {
        super::check_pieces(HERE, input.shape()[dim])?;
        let member = |i| {
            host::turn(i)?;
            basis::select(input, dim, i)
        };
        (0..input.shape()[dim]).map(member).collect()
    }
}

fn sections(x: &Tensor, d: usize, sizes: &[i64]) -> Result<Vec<Tensor>> {
    let total = x.shape()[d];
    if let Some(s) = sizes.iter().find(|&&s| s < 0) {
        refuse!(
            Runtime,
            "expects split_sizes have only non-negative entries, but got {s}; give the size of each piece"
        );
    }
    if sizes.iter().fold(Whole::from(0i64), |sum, &s| sum.plus(s)).size() != Some(total) {
        refuse!(
            Runtime,
            "expects split_sizes to sum exactly to {total} (input tensor's size at dimension {d}), but got \
             split_sizes={sizes:?}; change one of them"
        );
    }
    pieces(x, d, sizes.iter().map(|&s| s as usize))
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
