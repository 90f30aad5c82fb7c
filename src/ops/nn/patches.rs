//! Windows as columns, and the sums that put columns back.

use super::sizes::by_dim;
use crate::base::{DType, Result, Shape};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::conv::{self, ConvParams};
use crate::ops::signature::inside;
use crate::rules::{Batching, Linear, basis, shapes};

/// From planes [..., H, W] the elements of each window: [..., kernel positions, windows].
static UNFOLD: Linear = Linear {
    name: "unfold:patches",
    infer: |p, a| shapes::reshaped(a, |x| conv::unfold_shape(x, p.get())?.checked("unfold")),
    eval: |p, a| conv::unfold(a, p.get()),
    transpose: |p, g, _, _| call(Prim::Static(&FOLD), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&UNFOLD), p, &[v])),
};

/// The transpose of [`UNFOLD`].
static FOLD: Linear = Linear {
    name: "fold",
    infer: |p, a| match shapes::first(a)?.dtype {
        DType::Bool => Err(conv::of_bools("fold")),
        _ => shapes::reshaped(a, |x| conv::fold_shape(x, p.get())?.checked("fold")),
    },
    eval: |p, a| conv::fold(a, p.get()),
    transpose: |p, g, _, _| call(Prim::Static(&UNFOLD), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&FOLD), p, &[v])),
};

/// Positive numbers for both dimensions, or not negative ones if `least` is 0.
fn pair(name: &str, values: &[i64], least: i64) -> Result<Vec<usize>> {
    let values = by_dim(name, values, 2)?;
    if values.iter().any(|&v| v < least) {
        refuse!(Runtime, "{name} should be at least {least}, but got {values:?}");
    }
    Ok(values.into_iter().map(|v| v as usize).collect())
}

/// Kernel, dilation, padding and stride, as the functions take them.
type Sizes<'a> = (&'a [i64], &'a [i64], &'a [i64], &'a [i64]);

fn windows(size: &[usize], (kernel, dilation, padding, stride): Sizes<'_>) -> Result<ConvParams> {
    let kernel = pair("kernel_size", kernel, 1)?;
    let (dilation, padding) = (pair("dilation", dilation, 1)?, pair("padding", padding, 0)?);
    let stride = pair("stride", stride, 1)?;
    ConvParams::new(size, &kernel, &stride, &padding, &dilation, 1).map_err(inside)
}

/// The shape with dimension `at` of channels cut into channels and kernel positions.
fn cut(shape: &Shape, at: usize, taps: usize) -> Shape {
    let mut out = shape.with(at, shape[at] / taps);
    out.insert(at + 1, taps);
    out
}

ops! { TABLE:
    /// The elements of all windows over the last two dimensions of [N, C, H, W] (or [C, H, W]) as columns:
    /// [N, C · kernel size, windows].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.unfold(pullback.ones(1, 2, 3, 3), 2).shape
    /// pullback.Size([1, 8, 4])
    fn unfold = "nn.functional.unfold" (input: &Tensor, kernel_size: &[i64], dilation: &[i64] = &[1],
        padding: &[i64] = &[0], stride: &[i64] = &[1]) -> Tensor [NO_OUT] of UNFOLD {
        let rank = input.rank();
        if rank != 3 && rank != 4 {
            refuse!(Runtime, "expected 3D or 4D (batch mode) tensor, but got input of size: {}", input.shape());
        }
        let p = windows(&input.shape()[rank - 2..], (kernel_size, dilation, padding, stride))?;
        let (taps, count) = (p.taps(), p.out_pixels());
        let columns = call(Prim::Static(&UNFOLD), &Params::other(p), &[input])?;
        let lead = Shape::new(&input.shape()[..rank - 2]);
        basis::reshape(&columns, &lead.with(rank - 3, lead[rank - 3] * taps).append(count))
    }

    /// The transpose of [`unfold`]: columns [N, C · kernel size, windows] summed at their places in [N, C, *output_size].
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.fold(pullback.ones(1, 4, 4), (3, 3), 2)
    /// tensor([[[[1., 2., 1.],
    ///           [2., 4., 2.],
    ///           [1., 2., 1.]]]])
    fn fold = "nn.functional.fold" (input: &Tensor, output_size: &[i64], kernel_size: &[i64], dilation: &[i64] = &[1],
        padding: &[i64] = &[0], stride: &[i64] = &[1]) -> Tensor [NO_OUT] of FOLD {
        let rank = input.rank();
        if rank != 2 && rank != 3 {
            refuse!(Runtime, "expected 2D or 3D (batch mode) tensor, but got input of size: {}", input.shape());
        }
        let size = pair("output_size", output_size, 1)?;
        let p = windows(&size, (kernel_size, dilation, padding, stride))?;
        let (taps, count, channels) = (p.taps(), p.out_pixels(), input.shape()[rank - 2]);
        if channels % taps != 0 || input.shape()[rank - 1] != count {
            refuse!(
                Runtime,
                "expected size of input's channels to be divisible by the product of kernel_size, {taps}, and its \
                 last dimension to match the calculated number of sliding blocks, {count}, but got input of size {}",
                input.shape()
            );
        }
        let columns = basis::reshape(input, &cut(input.shape(), rank - 2, taps))?;
        call(Prim::Static(&FOLD), &Params::other(p), &[&columns])
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&UNFOLD, &FOLD];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
