//! Concatenation.

#![deny(clippy::arithmetic_side_effects)]

use super::moves::copy_to;
use crate::bail;
use crate::base::{DType, Layout, Result, Shape, TypedShape, size};
use crate::dense::array::{Array, Written};

/// The parts behind each other along `dim`. All have one dtype, and sizes that differ along `dim` only; 1-d parts
/// without elements are skipped.
///
/// Errors: `Value` for no parts, `Runtime` for sizes or dtypes that do not fit.
pub fn cat(parts: &[Array], dim: usize) -> Result<Array> {
    let Some(any) = parts.first() else { bail!(Value, "cat(): expected a non-empty list of Tensors") };
    let kept: Vec<Array>;
    let used = if parts.iter().all(|p| is_used(p.shape())) {
        parts
    } else {
        kept = parts.iter().filter(|p| is_used(p.shape())).cloned().collect();
        &kept
    };
    let Some(shape) = joined(any.dtype(), used.iter().map(Array::form), dim)? else { return Ok(any.clone()) };
    if let [only] = used {
        return Ok(only.clone());
    }
    Array::build_bytes(any.dtype(), shape.clone(), |out, _| {
        // SAFETY: the sizes were checked.
        unsafe {
            lay_out(used, dim, &shape, out);
            Written::all()
        }
    })
}

/// Empty vectors count for nothing, whatever the rank of the others.
fn is_used(shape: &Shape) -> bool {
    **shape != [0]
}

/// The shape of parts that count, if there are any.
fn joined<'a>(
    dtype: DType,
    mut used: impl Iterator<Item = TypedShape<'a>> + Clone,
    dim: usize,
) -> Result<Option<Shape>> {
    let all = used.clone();
    let Some((_, first)) = used.next() else { return Ok(None) };
    let rank = first.rank();
    if rank == 0 {
        bail!(Runtime, "cat(): zero-dimensional tensor (at position 0) cannot be concatenated");
    }
    if dim >= rank {
        bail!(
            Index,
            "cat(): Dimension out of range (expected to be in range of [-{rank}, {}], but got {dim})",
            rank.saturating_sub(1)
        );
    }
    for (i, (other, part)) in all.clone().enumerate() {
        if other != dtype {
            bail!(Runtime, "cat(): expected parts of one dtype, got {dtype} and {other}");
        }
        if part.rank() != rank {
            bail!(Runtime, "cat(): Tensors must have same number of dimensions: got {rank} and {}", part.rank());
        }
        if let Some(d) = (0..rank).find(|&d| d != dim && part[d] != first[d]) {
            bail!(
                Runtime,
                "cat(): Sizes of tensors must match except in dimension {dim}. Expected size {} but got size {} in \
                 dimension {d} for tensor number {i} in the list.",
                first[d],
                part[d]
            );
        }
    }
    let total = size::total("cat", "the size of the result", all.map(|(_, part)| part[dim]))?;
    Ok(Some(first.with(dim, total)))
}

/// Dtype and shape of [`cat`], whose errors it has.
pub fn joined_form<'a>(parts: impl Iterator<Item = TypedShape<'a>> + Clone, dim: usize) -> Result<(DType, Shape)> {
    let Some((dtype, any)) = parts.clone().next() else { bail!(Value, "cat(): expected a non-empty list of Tensors") };
    let shape = joined(dtype, parts.filter(|p| is_used(p.1)), dim)?;
    Ok((dtype, shape.unwrap_or_else(|| any.clone())))
}

/// Copies `parts` behind each other along a dimension of the contiguous output.
///
/// # Safety
/// `out` is the first byte of an output of shape `shape` that the parts fill together.
unsafe fn lay_out(parts: &[Array], dim: usize, shape: &Shape, out: *mut u8) {
    let strides = shape.contiguous_strides();
    let mut offset = 0;
    for part in parts {
        let layout = Layout { shape: part.shape().clone(), strides: strides.clone(), offset };
        // SAFETY: by the contract.
        unsafe { copy_to(part, out, &layout) };
        // Below the number of elements of the output.
        offset = offset.wrapping_add(part.shape()[dim].wrapping_mul(strides[dim] as usize));
    }
}
