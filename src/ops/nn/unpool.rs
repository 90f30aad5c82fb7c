//! Maxima with their positions, and maxima put back at their positions.

#![deny(clippy::arithmetic_side_effects)]

use super::pool::{max_pool1d, max_pool2d, max_pool3d};
use crate::base::{ErrorKind, Result, Shape};
use crate::core::Tensor;
use crate::ops::Value;
use crate::ops::signature::{HERE, IndexTensor, Ranks, Spatial, Strides, of_shape};
use crate::rules::basis;
use crate::rules::index::{Bounds, check_index, scatter};

/// Kernel, stride and padding.
type Windows = (Vec<i64>, Option<Vec<i64>>, Vec<i64>);

/// Sizes of the result: as asked for, or what the windows cover.
fn output(input: &[usize], (kernel, stride, padding): Windows, asked: Option<&[i64]>) -> Result<Vec<usize>> {
    let rank = input.len();
    let stride = stride.unwrap_or_else(|| kernel.clone());
    let asked = match asked {
        None => None,
        Some(sizes) if sizes.len() == rank => Some(sizes),
        Some([_, _, sizes @ ..]) if sizes.len() == rank => Some(sizes),
        Some(sizes) => {
            refuse!(
                Value,
                "output_size should be a sequence containing {rank} or {} elements, but it has length {}; give one size \
                 for each dimension",
                rank.saturating_add(2),
                sizes.len()
            )
        }
    };
    let mut out = Vec::with_capacity(rank);
    for d in 0..rank {
        let usual = (input[d] as i64)
            .saturating_sub(1)
            .saturating_mul(stride[d])
            .saturating_add(kernel[d])
            .saturating_sub(padding[d].saturating_mul(2));
        let size = asked.map_or(usual, |a| a[d]);
        if asked.is_some() && (size <= usual.saturating_sub(stride[d]) || size >= usual.saturating_add(stride[d])) {
            refuse!(
                Value,
                "invalid output_size {:?} (dim {d} must be between {} and {}); give a size that pools to the input",
                asked.unwrap_or_default(),
                usual.saturating_sub(stride[d]),
                usual.saturating_add(stride[d])
            );
        }
        if size < 0 {
            refuse!(
                Runtime,
                "calculated output size {size} at dimension {d} is too small; give output_size, or less padding"
            );
        }
        out.push(size as usize);
    }
    Ok(out)
}

fn unpool(
    rank: usize,
    (input, indices): (&Tensor, &Tensor),
    windows: Windows,
    asked: Option<&[i64]>,
) -> Result<Tensor> {
    let lead = input.rank().saturating_sub(rank);
    of_shape(ErrorKind::Runtime, "indices", indices, input.shape())?;
    let out = output(&input.shape()[lead..], windows, asked)?;
    let shape: Shape = input.shape()[..lead].iter().chain(&out).copied().collect();
    let flat = |s: &Shape| Shape::new(&s[..lead]).append(s[lead..].iter().product());
    let shape = shape.checked(HERE)?;
    let at = basis::reshape(indices, &flat(indices.shape()))?;
    let at = check_index(&at, Bounds { size: out.iter().product(), dim: lead, wrap: false }).map_err(|e| {
        e.quoted(|why| crate::base::Error::runtime(format!("{HERE}(): found an invalid max index: {why}")))
    })?;
    let zeros = basis::full(&flat(&shape), input.dtype(), 0.0)?;
    basis::reshape(&scatter(&zeros, lead, &at, &basis::reshape(input, &flat(input.shape()))?)?, &shape)
}

ops! { TABLE:
    /// Zeros with the maxima of `max_pool1d` at their places.
    fn max_unpool1d = "nn.functional.max_unpool1d" (input: &Tensor as Ranks<2, 3>, indices: &Tensor as IndexTensor, kernel_size: &[i64] as Spatial<1, 1>,
        stride: Option<&[i64]> as Strides<1> = None, padding: &[i64] as Spatial<1, 0> = &[0], output_size: Option<&[i64]> = None) -> Tensor [NO_OUT, IN_SINGLE] {
        unpool(1, (input, indices), (kernel_size, stride, padding), output_size)
    }

    /// Zeros with the maxima of `max_pool2d` at their places.
    ///
    /// >>> import pullback
    /// >>> F = pullback.nn.functional
    /// >>> y, i = F.max_pool2d(pullback.arange(4.0).reshape(1, 2, 2), 2, return_indices=True)
    /// >>> F.max_unpool2d(y, i, 2)
    /// tensor([[[0., 0.],
    ///          [0., 3.]]])
    fn max_unpool2d = "nn.functional.max_unpool2d" (input: &Tensor as Ranks<3, 4>, indices: &Tensor as IndexTensor, kernel_size: &[i64] as Spatial<2, 1>,
        stride: Option<&[i64]> as Strides<2> = None, padding: &[i64] as Spatial<2, 0> = &[0], output_size: Option<&[i64]> = None) -> Tensor [NO_OUT, IN_SINGLE] {
        unpool(2, (input, indices), (kernel_size, stride, padding), output_size)
    }

    /// Zeros with the maxima of `max_pool3d` at their places.
    fn max_unpool3d = "nn.functional.max_unpool3d" (input: &Tensor as Ranks<4, 5>, indices: &Tensor as IndexTensor, kernel_size: &[i64] as Spatial<3, 1>,
        stride: Option<&[i64]> as Strides<3> = None, padding: &[i64] as Spatial<3, 0> = &[0], output_size: Option<&[i64]> = None) -> Tensor [NO_OUT, IN_SINGLE] {
        unpool(3, (input, indices), (kernel_size, stride, padding), output_size)
    }

    /// `max_pool1d` with the positions of the maxima.
    fn max_pool1d_with_indices = "nn.functional.max_pool1d_with_indices" | "max_pool1d_with_indices" (input: &Tensor,
        kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = &[0], dilation: &[i64] = &[1],
        ceil_mode: bool = false, return_indices: bool = true) -> Value [WINDOW, NO_OUT] {
        let _ = return_indices;
        max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, true)
    }

    /// `max_pool2d` with the positions of the maxima.
    fn max_pool2d_with_indices = "nn.functional.max_pool2d_with_indices" (input: &Tensor,
        kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = &[0], dilation: &[i64] = &[1],
        ceil_mode: bool = false, return_indices: bool = true) -> Value [WINDOW, NO_OUT] {
        let _ = return_indices;
        max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, true)
    }

    /// `max_pool3d` with the positions of the maxima.
    fn max_pool3d_with_indices = "nn.functional.max_pool3d_with_indices" (input: &Tensor,
        kernel_size: &[i64], stride: Option<&[i64]> = None, padding: &[i64] = &[0], dilation: &[i64] = &[1],
        ceil_mode: bool = false, return_indices: bool = true) -> Value [WINDOW, NO_OUT] {
        let _ = return_indices;
        max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, true)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
