//! Windows as columns, and the sums that put columns back.

use crate::base::{DType, Result, Shape};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::conv::{self, ConvParams};
use crate::ops::signature::{Ranks, Spatial, inside};
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

/// Kernel, dilation, padding and stride, as the functions take them.
type Sizes = [Vec<i64>; 4];

fn windows(size: &[usize], sizes: Sizes) -> Result<ConvParams> {
    let [kernel, dilation, padding, stride] = sizes.map(plain);
    ConvParams::new(size, &kernel, &stride, &padding, &dilation, 1).map_err(inside)
}

/// Numbers that are declared to be 0 or larger.
fn plain(values: Vec<i64>) -> Vec<usize> {
    values.into_iter().map(|v| v as usize).collect()
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
    fn unfold = "nn.functional.unfold" (input: &Tensor as Ranks<3, 4>, kernel_size: &[i64] as Spatial<2, 1>,
        dilation: &[i64] as Spatial<2, 1> = &[1], padding: &[i64] as Spatial<2, 0> = &[0],
        stride: &[i64] as Spatial<2, 1> = &[1]) -> Tensor [NO_OUT] node "Im2ColBackward0" of UNFOLD {
        let rank = input.rank();
        let p = windows(&input.shape()[rank - 2..], [kernel_size, dilation, padding, stride])?;
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
    fn fold = "nn.functional.fold" (input: &Tensor as Ranks<2, 3>, output_size: &[i64] as Spatial<2, 1>,
        kernel_size: &[i64] as Spatial<2, 1>, dilation: &[i64] as Spatial<2, 1> = &[1],
        padding: &[i64] as Spatial<2, 0> = &[0], stride: &[i64] as Spatial<2, 1> = &[1]) -> Tensor [NO_OUT] of FOLD {
        let rank = input.rank();
        let p = windows(&plain(output_size), [kernel_size, dilation, padding, stride])?;
        let (taps, count, channels) = (p.taps(), p.out_pixels(), input.shape()[rank - 2]);
        if channels % taps != 0 || input.shape()[rank - 1] != count {
            refuse!(
                Runtime,
                "expected size of input's channels to be divisible by the product of kernel_size, {taps}, and its \
                 last dimension to match the calculated number of sliding blocks, {count}, but got input of size {}; \
                 give what unfold() gives for these sizes",
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
