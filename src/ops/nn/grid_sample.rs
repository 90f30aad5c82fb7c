//! Samples between the elements of planes and volumes.

use crate::base::{DType, ErrorKind, Result, Shape};
use crate::core::params::Ints;
use crate::core::primitive::Saves;
use crate::core::{BatchArg, BatchInfo, BatchOut, Params, Prim, Tangents, Tensor, call};
use crate::dense::grid_sample::{self as kernels, Interpolation, Padding, Sampling};
use crate::ops::signature::{Chosen, Floats, Words, of_dtype, of_rank};
use crate::rules::basis::{self, mul, product_where};
use crate::rules::{General, Opaque, OpaqueBatch, batching, shapes};
use smallvec::{SmallVec, smallvec};

/// Samples of [N, C, *sizes] at the points [N, *points, rank] of a grid: linear in the first argument, and its derivative
/// by a coordinate is the sample with derivatives of the weights. Being linear in one argument alone, it is no `Bilinear`.
static GRID_SAMPLE: General = General {
    name: "grid_sample",
    infer: |p, a| {
        let (x, grid) = (shapes::first(a)?, shapes::argument(a, 1)?);
        shapes::one(x.dtype, kernels::sampled_shape(x.form(), grid.form(), &sampling(p))?)
    },
    eval: |p, a| Ok(smallvec![kernels::sample(a[0].array()?, a[1].array()?, &sampling(p))?.into()]),
    saves: saved,
    jvp: |me, p, point, t| tangent(me, p, (point.inputs[0], point.input(1)?), t),
    vjp: |me, p, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let grid = point.input(1)?;
        let x = if needs & 1 != 0 { Some(call(Prim::Static(&SPREAD), p, &[g, grid])?) } else { None };
        let by_grid = if needs & 2 != 0 { grid_cotangent(me, p, (point.input(0)?, grid), g)? } else { None };
        Ok(smallvec![x, by_grid])
    },
    batch: |me, p, a, info| batched(me, p, a, info, true),
};

/// The transpose of [`GRID_SAMPLE`] by its first argument: from [N, C, *points] to [N, C, *sizes]. Neither is it `Bilinear`.
static SPREAD: General = General {
    name: "grid_sample:spread",
    infer: |p, a| {
        let (g, grid) = (shapes::first(a)?, shapes::argument(a, 1)?);
        shapes::one(g.dtype, kernels::spread_shape(g.form(), grid.form(), &sampling(p))?)
    },
    eval: |p, a| Ok(smallvec![kernels::spread(a[0].array()?, a[1].array()?, &sampling(p))?.into()]),
    saves: saved,
    jvp: |_, p, point, t| {
        let grid = point.input(1)?;
        let mut sum = match t[0] {
            Some(t) => Some(call(Prim::Static(&SPREAD), p, &[t, grid])?),
            None => None,
        };
        if let Some(tg) = t[1] {
            for (d, p) in by_coordinate(p) {
                let g = mul(point.input(0)?, &coordinate(tg, d)?)?;
                add_to(&mut sum, call(Prim::Static(&SPREAD), &p, &[&g, grid])?)?;
            }
        }
        Ok(smallvec![sum])
    },
    vjp: |_, p, point, h, needs| {
        let [Some(h)] = h else { return Ok(SmallVec::new()) };
        let grid = point.input(1)?;
        let sample = Prim::Static(&GRID_SAMPLE);
        let g = if needs & 1 != 0 { Some(call(sample, p, &[h, grid])?) } else { None };
        let by_grid = if needs & 2 != 0 { grid_cotangent(sample, p, (h, grid), point.input(0)?)? } else { None };
        Ok(smallvec![g, by_grid])
    },
    batch: |me, p, a, info| batched(me, p, a, info, false),
};

/// Which points have neighbours: the samples of others are constant, whatever the numbers beside them are.
static COVERED: Opaque = Opaque {
    name: "grid_sample:covered",
    infer: |_, a| {
        let grid = shapes::first(a)?;
        shapes::one(DType::Bool, grid.shape.without(grid.shape.rank() - 1))
    },
    eval: |p, a| Ok(smallvec![kernels::covered(a[0].array()?, &sampling(p))?.into()]),
    batching: OpaqueBatch::With(batching::leading),
};

/// [`COVERED`] against channels.
fn covered(p: &Params, grid: &Tensor) -> Result<Tensor> {
    basis::unsqueeze_dims(&call(Prim::Static(&COVERED), p, &[grid])?, &[1])
}

/// The grid for the derivative by the other argument, both for that by the grid.
fn saved(_: &Params, needs: u64) -> Saves {
    Saves { inputs: if needs & 2 != 0 { 3 } else { 2 }, outputs: 0 }
}

/// Mode, padding, alignment, orders and sizes as a list of integers, which programs compare and write down.
fn params(s: &Sampling) -> Params {
    let (mode, padding) = (s.mode as i64, s.padding as i64);
    let rest = s.orders.iter().chain(&s.sizes).map(|&n| n as i64);
    Params::Ints([mode, padding, i64::from(s.align_corners)].into_iter().chain(rest).collect::<Ints>())
}

fn sampling(p: &Params) -> Sampling {
    let (head, rest) = p.ints().split_at(3);
    let (orders, sizes) = rest.split_at(rest.len() / 2);
    Sampling {
        mode: [Interpolation::Linear, Interpolation::Nearest, Interpolation::Cubic][head[0] as usize],
        padding: [Padding::Zeros, Padding::Border, Padding::Reflection][head[1] as usize],
        align_corners: head[2] != 0,
        orders: orders.iter().map(|&n| n as usize).collect(),
        sizes: sizes.iter().map(|&n| n as usize).collect(),
    }
}

/// The parameters of the derivative by each coordinate that is not zero.
fn by_coordinate(p: &Params) -> impl Iterator<Item = (usize, Params)> {
    let s = sampling(p);
    (0..s.sizes.len())
        .filter(|&d| s.orders[d] < s.mode.degree())
        .map(|d| {
            let mut next = s.clone();
            next.orders[d] += 1;
            (d, params(&next))
        })
        .collect::<SmallVec<[_; 3]>>()
        .into_iter()
}

/// One coordinate of a grid, [N, 1, *points], against channels.
fn coordinate(grid: &Tensor, d: usize) -> Result<Tensor> {
    basis::unsqueeze_dims(&basis::select(grid, grid.rank() - 1, d)?, &[1])
}

fn add_to(sum: &mut Option<Tensor>, x: Tensor) -> Result<()> {
    *sum = Some(match sum {
        Some(s) => basis::add(s, &x)?,
        None => x,
    });
    Ok(())
}

fn tangent(me: Prim<'_>, p: &Params, (x, grid): (Option<&Tensor>, &Tensor), t: &[Option<&Tensor>]) -> Result<Tangents> {
    let mut sum = match t[0] {
        Some(t) => Some(call(me, p, &[t, grid])?),
        None => None,
    };
    if let (Some(tg), Some(x)) = (t[1], x) {
        for (d, p) in by_coordinate(p) {
            let slope = call(me, &p, &[x, grid])?;
            add_to(&mut sum, product_where(&covered(&p, grid)?, &slope, &coordinate(tg, d)?)?)?;
        }
    }
    Ok(smallvec![sum])
}

/// The cotangent of the grid: over channels, the sum of the cotangent times the derivative by each coordinate.
fn grid_cotangent(sample: Prim<'_>, p: &Params, (x, grid): (&Tensor, &Tensor), g: &Tensor) -> Result<Option<Tensor>> {
    let mut parts: SmallVec<[Option<Tensor>; 3]> = smallvec![None; grid.shape()[grid.rank() - 1]];
    for (d, p) in by_coordinate(p) {
        let each = product_where(&covered(&p, grid)?, g, &call(sample, &p, &[x, grid])?)?;
        let each = basis::sum(&each, &[1], false)?;
        parts[d] = Some(basis::unsqueeze_dims(&each, &[each.rank()])?);
    }
    let Some(zero) = parts.iter().flatten().next().map(basis::zeros_like).transpose()? else {
        return basis::zeros_like(grid).map(Some);
    };
    let parts: SmallVec<[&Tensor; 3]> = parts.iter().map(|p| p.as_ref().unwrap_or(&zero)).collect();
    basis::cat(&parts, grid.rank() - 1).map(Some)
}

/// Dimension `at` and the one behind it as one.
fn merged(x: &Tensor, at: usize) -> Result<Tensor> {
    let both = x.shape()[at] * x.shape()[at + 1];
    basis::reshape(x, &x.shape().without(at + 1).with(at, both))
}

/// The result with dimension `at` split again into `first` and the rest.
fn split(x: &Tensor, at: usize, first: usize, second: usize) -> Result<Tensor> {
    let mut shape: Shape = x.shape().with(at, first);
    shape.insert(at + 1, second);
    basis::reshape(x, &shape)
}

/// A batch of images goes into their channels, one of grids into their points, and one of both into N.
fn batched(me: Prim<'_>, p: &Params, a: &[BatchArg<'_>], info: BatchInfo, samples: bool) -> Result<BatchOut> {
    let (x, grid) = (&a[0], &a[1]);
    let (at, out) = match (x.dim, grid.dim) {
        (Some(d), None) => {
            let x = basis::move_dim(x.value, d, 1)?;
            (1, call(me, p, &[&merged(&x, 1)?, grid.value])?)
        }
        (None, Some(d)) if samples => {
            let grid = basis::move_dim(grid.value, d, 1)?;
            (2, call(me, p, &[x.value, &merged(&grid, 1)?])?)
        }
        _ => {
            let (x, grid) = (batching::front_expanded(x, info)?, batching::front_expanded(grid, info)?);
            (0, call(me, p, &[&merged(&x, 0)?, &merged(&grid, 0)?])?)
        }
    };
    let second = match at {
        2 => grid.logical_shape()[1],
        at => x.logical_shape()[at],
    };
    Ok(smallvec![(split(&out, at, info.size, second)?, Some(at))])
}

impl Words for Interpolation {
    const WORDS: &'static [(&'static str, Self)] =
        &[("bilinear", Interpolation::Linear), ("nearest", Interpolation::Nearest), ("bicubic", Interpolation::Cubic)];
    const ERROR: ErrorKind = ErrorKind::Value;
}
impl Words for Padding {
    const WORDS: &'static [(&'static str, Self)] =
        &[("zeros", Padding::Zeros), ("border", Padding::Border), ("reflection", Padding::Reflection)];
    const ERROR: ErrorKind = ErrorKind::Value;
}

fn checked(input: &Tensor, grid: &Tensor, mode: Interpolation) -> Result<()> {
    let (x, g) = (input.shape(), grid.shape());
    of_dtype("grid", grid, input.dtype())?;
    of_rank("input", input, 4, 5)?;
    of_rank("grid", grid, x.rank(), x.rank())?;
    if x[0] != g[0] {
        refuse!(
            Runtime,
            "expected grid and input to have same batch size, but got input with sizes {x} and grid with \
            sizes {g}; expand() one of them"
        );
    }
    if g[g.rank() - 1] != x.rank() - 2 {
        refuse!(
            Runtime,
            "expected grid to have size {} in last dimension, but got grid with sizes {g}; give a coordinate for each \
             spatial dimension of input",
            x.rank() - 2
        );
    }
    if let Some(d) = (2..x.rank()).find(|&d| x[d] == 0) {
        refuse!(
            Runtime,
            "expected input to have non-empty spatial dimensions, but input has sizes {x} with dimension \
            {d} being empty; give it elements"
        );
    }
    if mode == Interpolation::Cubic && x.rank() == 5 {
        refuse!(Runtime, "bicubic interpolation only supports 4D input, but got input with sizes {x}; use 'bilinear'");
    }
    Ok(())
}

ops! { TABLE:
    /// Samples of [N, C, H, W] at the points [N, Ho, Wo, 2] of a grid, or of [N, C, D, H, W] at [N, Do, Ho, Wo, 3]. A
    /// point is (x, y) or (x, y, z), each from -1 to 1 where it lies in the input. `mode` is 'bilinear', 'nearest' or
    /// 'bicubic', and `padding_mode`, which says what lies outside, 'zeros', 'border' or 'reflection'.
    ///
    /// >>> import pullback
    /// >>> x = pullback.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    /// >>> pullback.nn.functional.grid_sample(x, pullback.zeros(1, 1, 1, 2), align_corners=False)
    /// tensor([[[[2.5000]]]])
    fn grid_sample = "nn.functional.grid_sample" (input: &Tensor as Floats, grid: &Tensor as Floats, mode: &str as Chosen<Interpolation> = "bilinear",
        padding_mode: &str as Chosen<Padding> = "zeros", align_corners: Option<bool> = None) -> Tensor [SCATTERED, NO_OUT, IN_SINGLE] node "GridSampler2DBackward0" of GRID_SAMPLE {
        checked(input, grid, mode)?;
        if align_corners.is_none() {
            crate::core::host::warn("Default grid_sample and affine_grid behavior is align_corners=False: the corners are the \
                edges of the first and last elements. Give align_corners=True if the grid was made for their middles.")?;
        }
        let sizes = input.shape()[2..].to_vec();
        let s = Sampling { mode, padding: padding_mode, align_corners: align_corners == Some(true), orders: vec![0; sizes.len()], sizes };
        call(Prim::Static(&GRID_SAMPLE), &params(&s), &[input, grid])
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[&[&GRID_SAMPLE, &SPREAD, &COVERED]],
    ..crate::ops::Family::EMPTY
};
