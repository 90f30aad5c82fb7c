//! Joining and splitting along a dimension.

#![deny(clippy::arithmetic_side_effects)]

use super::value::Value;
use crate::bail;
use crate::base::promote::{Promotion, Strength};
use crate::base::shape::wrap_dim;
use crate::base::size::Whole;
use crate::base::{DType, Result};
use crate::core::{Tensor, host};
use crate::rules::basis;

/// The dtype of tensors together.
pub fn joint_dtype(tensors: &[&Tensor]) -> DType {
    let mut p = Promotion::default();
    for t in tensors {
        p.add(t.dtype(), if t.rank() == 0 { Strength::ZeroDim } else { Strength::Dimensioned });
    }
    p.result().unwrap_or(DType::F32)
}

fn concatenate(op: &str, tensors: &[&Tensor], dim: i64) -> Result<Tensor> {
    let Some(first) = tensors.first() else { bail!(Value, "{op}(): expected a non-empty list of Tensors") };
    let dtype = joint_dtype(tensors);
    // Empty 1-D tensors are skipped, as in PyTorch.
    let parts: Vec<&Tensor> = tensors.iter().filter(|t| t.shape()[..] != [0]).copied().collect();
    let Some(like) = parts.first() else { return basis::cast(first, dtype) };
    if like.rank() == 0 {
        bail!(Runtime, "{op}(): zero-dimensional tensor cannot be concatenated");
    }
    let d = wrap_dim(op, dim, like.rank())?;
    for (i, p) in parts.iter().enumerate() {
        host::turn(i)?;
        if p.rank() != like.rank() {
            bail!(
                Runtime,
                "{op}(): tensors must have the same number of dimensions: got {} and {}",
                like.rank(),
                p.rank()
            );
        }
        let differs = |k: &usize| *k != d && p.shape()[*k] != like.shape()[*k];
        if let Some(k) = (0..p.rank()).find(differs) {
            bail!(
                Runtime,
                "{op}(): sizes of tensors must match except in dimension {d}. Expected size {} but got size {} in \
                 dimension {k} for tensor number {i} in the list",
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
    if let [only] = &cast[..] {
        return Ok(only.clone());
    }
    basis::cat(&cast.iter().collect::<Vec<_>>(), d)
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
fn even(op: &str, total: usize, size: usize) -> Result<impl Iterator<Item = usize>> {
    let count = if total == 0 { 1 } else { total.div_ceil(size) };
    super::check_pieces(op, count)?;
    Ok((0..count).map(move |i| size.min(total.saturating_sub(i.saturating_mul(size)))))
}

ops! { TABLE:
    /// Tensors joined along an existing dimension, after type promotion.
    ///
    /// >>> import pullback
    /// >>> pullback.cat([pullback.tensor([1, 2]), pullback.tensor([3])])
    /// tensor([1, 2, 3])
    fn cat = "cat" | "concat" | "concatenate" (tensors: Vec<&Tensor>, dim: i64 = 0) -> Tensor [] of basis::CAT {
        concatenate("cat", &tensors, dim)
    }

    /// The tensor repeated along its dimensions, new ones in front.
    fn repeat = "Tensor.repeat" (input: &Tensor, repeats: &[i64]) -> Tensor [METHOD, NOT_FUNCTION, VARIADIC, REPEATS] {
        let times = super::shape::sizes("repeat", repeats)?;
        let Some(lead) = times.rank().checked_sub(input.rank()) else {
            bail!(Runtime, "repeat(): number of dimensions of repeat dims ({}) can not be smaller than number of \
                dimensions of tensor ({})", times.rank(), input.rank());
        };
        let (mut ones, mut wide, mut out) = (crate::Shape::scalar(), crate::Shape::scalar(), crate::Shape::scalar());
        for (i, &t) in times.iter().enumerate() {
            let n = i.checked_sub(lead).map_or(1, |d| input.shape()[d]);
            for (shape, d) in [(&mut ones, [1, n]), (&mut wide, [t, n])] {
                shape.push(d[0]);
                shape.push(d[1]);
            }
            out.push(Whole::from(t).times(n).size_of("repeat", "a size")?);
        }
        basis::reshape(&basis::expand(&basis::reshape(input, &ones)?, &wide)?, &out)
    }

    /// Tensors of equal shape joined along a new dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.stack([pullback.tensor([1, 2]), pullback.tensor([3, 4])])
    /// tensor([[1, 2],
    ///         [3, 4]])
    fn stack = "stack" (tensors: Vec<&Tensor>, dim: i64 = 0) -> Tensor [] {
        let Some(first) = tensors.first() else { bail!(Runtime, "stack(): expects a non-empty TensorList") };
        let d = wrap_dim("stack", dim, first.rank().saturating_add(1))?;
        for (i, t) in tensors.iter().enumerate() {
            if t.shape() != first.shape() {
                bail!(Runtime, "stack(): expects each tensor to be equal size, but got {} at entry 0 and {} at entry {i}",
                    first.shape(), t.shape());
            }
        }
        let row = |(i, t): (usize, &&Tensor)| {
            host::turn(i)?;
            super::shape::unsqueeze(t, d as i64)
        };
        let rows: Vec<Tensor> = tensors.iter().enumerate().map(row).collect::<Result<_>>()?;
        concatenate("stack", &rows.iter().collect::<Vec<_>>(), d as i64)
    }

    /// Pieces along a dimension: of one size (the last may be smaller), or of the sizes listed.
    ///
    /// >>> import pullback
    /// >>> pullback.split(pullback.arange(5), 2)
    /// (tensor([0, 1]), tensor([2, 3]), tensor([4]))
    fn split = "split" (tensor: &Tensor, split_size_or_sections: &Value, dim: i64 = 0) -> Vec<Tensor> [METHOD, VIEW] {
        let d = splittable("split", tensor, dim)?;
        let total = tensor.shape()[d];
        match super::reduce::dims_of("split", split_size_or_sections)? {
            Some(s) if matches!(split_size_or_sections, Value::Tuple(_) | Value::List(_) | Value::Ints(_)) => {
                sections("split", tensor, d, &s)
            }
            Some(s) if s.len() == 1 => {
                if s[0] < 0 || (s[0] == 0 && total != 0) {
                    bail!(Runtime, "split(): expects split_size be positive, but got split_size={}", s[0]);
                }
                pieces(tensor, d, even("split", total, s[0].max(1) as usize)?)
            }
            _ => bail!(Type, "split(): argument 'split_size_or_sections' must be int or tuple of ints"),
        }
    }

    /// Pieces of the sizes listed along a dimension.
    fn split_with_sizes = "split_with_sizes" (input: &Tensor, split_sizes: &[i64], dim: i64 = 0)
        -> Vec<Tensor> [METHOD, VIEW] {
        let d = splittable("split_with_sizes", input, dim)?;
        sections("split_with_sizes", input, d, split_sizes)
    }

    /// At most `chunks` pieces of equal size (the last may be smaller) along a dimension.
    ///
    /// >>> import pullback
    /// >>> pullback.chunk(pullback.arange(5), 2)
    /// (tensor([0, 1, 2]), tensor([3, 4]))
    fn chunk = "chunk" (input: &Tensor, chunks: i64, dim: i64 = 0) -> Vec<Tensor> [METHOD, VIEW] {
        if chunks < 1 {
            bail!(Runtime, "chunk(): expects `chunks` to be greater than 0, got: {chunks}");
        }
        let d = splittable("chunk", input, dim)?;
        let total = input.shape()[d];
        if total == 0 {
            super::check_pieces("chunk", chunks as usize)?;
            return pieces(input, d, (0..chunks).map(|_| 0));
        }
        pieces(input, d, even("chunk", total, total.div_ceil(chunks as usize))?)
    }

    /// The members along a dimension, without it.
    ///
    /// >>> import pullback
    /// >>> pullback.unbind(pullback.tensor([[1, 2], [3, 4]]))
    /// (tensor([1, 2]), tensor([3, 4]))
    fn unbind = "unbind" (input: &Tensor, dim: i64 = 0) -> Vec<Tensor> [METHOD, VIEW] {
        if input.rank() == 0 {
            bail!(Index, "unbind(): dimension specified as {dim} but tensor has no dimensions");
        }
        let d = wrap_dim("unbind", dim, input.rank())?;
        super::check_pieces("unbind", input.shape()[d])?;
        let member = |i| {
            host::turn(i)?;
            basis::select(input, d, i)
        };
        (0..input.shape()[d]).map(member).collect()
    }
}

fn splittable(op: &str, x: &Tensor, dim: i64) -> Result<usize> {
    if x.rank() == 0 {
        bail!(Runtime, "{op}(): expects at least a 1-dimensional tensor");
    }
    wrap_dim(op, dim, x.rank())
}

fn sections(op: &str, x: &Tensor, d: usize, sizes: &[i64]) -> Result<Vec<Tensor>> {
    let total = x.shape()[d];
    if let Some(s) = sizes.iter().find(|&&s| s < 0) {
        bail!(Runtime, "{op}(): expects split_sizes have only non-negative entries, but got {s}");
    }
    if sizes.iter().fold(Whole::from(0i64), |sum, &s| sum.plus(s)).size() != Some(total) {
        bail!(
            Runtime,
            "{op}(): expects split_sizes to sum exactly to {total} (input tensor's size at dimension {d}), but got \
             split_sizes={sizes:?}"
        );
    }
    pieces(x, d, sizes.iter().map(|&s| s as usize))
}
