//! Samples of planes and volumes between their elements, at the points of a grid, and the transpose of that.
//!
//! A sample is a sum of neighbours with a weight from each axis, and the weights are polynomials in the coordinates, so
//! the derivatives of any order are sums of the same neighbours with derivatives of the weights.

use super::array::Written;
use super::parallel::{self, Shared};
use super::{Array, copy};
use crate::bail;
use crate::base::{DType, Element, Result, Shape, TypedShape};
use num_traits::Float;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Interpolation {
    Linear,
    Nearest,
    Cubic,
}

/// What lies beyond the elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Padding {
    Zeros,
    Border,
    Reflection,
}

/// How samples are taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sampling {
    pub mode: Interpolation,
    pub padding: Padding,
    /// Whether -1 and 1 are the centres of the outermost elements, and not their outer edges.
    pub align_corners: bool,
    /// How often the weights are differentiated by each coordinate; a grid has that of the last dimension first.
    pub orders: Vec<usize>,
    /// The sizes of the dimensions that are sampled.
    pub sizes: Vec<usize>,
}

impl Interpolation {
    /// The largest order of a derivative that is not zero.
    pub fn degree(self) -> usize {
        match self {
            Interpolation::Linear => 1,
            Interpolation::Nearest => 0,
            Interpolation::Cubic => 3,
        }
    }
}

/// Neighbours along one axis: positions, those outside being `None`, and weights.
struct Taps<T> {
    count: usize,
    at: [Option<usize>; 4],
    weight: [T; 4],
    /// Whether the coordinate leads nowhere, so that the sample is NaN.
    lost: bool,
}

fn of<T: Float>(x: f64) -> T {
    T::from(x).unwrap_or_else(T::nan)
}

/// One axis of `size` elements.
struct Axis {
    mode: Interpolation,
    padding: Padding,
    align: bool,
    order: usize,
    size: usize,
    /// Whether it is one of three axes. There coordinates that are not numbers count as the last element, or, with padding
    /// by zeros, as outside, and are rounded in another order: so does PyTorch.
    volume: bool,
}

impl Axis {
    /// The position of a coordinate, in elements, and what it moves by.
    fn position<T: Float>(&self, x: T) -> (T, T) {
        let (size, half) = (of::<T>(self.size as f64), of::<T>(0.5));
        let scale = half * if self.align { size - T::one() } else { size };
        let u = match (self.align, self.volume) {
            (true, false) => (x + T::one()) * scale,
            (true, true) => (x + T::one()) * half * (size - T::one()),
            // Rounded once, as PyTorch's is: at an element itself, where the derivative jumps, the side depends on it.
            (false, false) => (x + T::one()).mul_add(scale, -half),
            (false, true) => ((x + T::one()) * size - T::one()) * half,
        };
        (u, scale)
    }

    /// The position between the outermost elements; 0 in place of NaN.
    fn clipped<T: Float>(&self, u: T) -> (T, T) {
        let last = of::<T>(self.size as f64 - 1.0);
        match u {
            u if u.is_nan() => (if self.volume { last } else { T::zero() }, T::zero()),
            u if u <= T::zero() => (T::zero(), T::zero()),
            u if u >= last => (last, T::zero()),
            u => (u, T::one()),
        }
    }

    /// The position between the ends of the axis, by reflection at them, and the sign of the direction.
    fn reflected<T: Float>(&self, u: T) -> (T, T) {
        let low = if self.align { T::zero() } else { of(-0.5) };
        let span = of::<T>(if self.align { self.size as f64 - 1.0 } else { self.size as f64 });
        if span <= T::zero() {
            return (T::zero(), T::zero());
        }
        let sign = if u < low { -T::one() } else { T::one() };
        let from = (u - low).abs();
        let (rest, flips) = (from % span, (from / span).floor());
        match (flips % of(2.0)).is_zero() {
            true => (rest + low, sign),
            false => (span - rest + low, -sign),
        }
    }

    fn padded<T: Float>(&self, u: T) -> (T, T) {
        match self.padding {
            Padding::Zeros if self.volume && !u.is_finite() => (of(-100.0), T::zero()),
            Padding::Zeros => (u, T::one()),
            Padding::Border => self.clipped(u),
            Padding::Reflection => {
                let (inside, sign) = self.reflected(u);
                let (inside, moves) = self.clipped(inside);
                (inside, sign * moves)
            }
        }
    }

    fn element<T: Float>(&self, u: T) -> Option<usize> {
        (u >= T::zero() && u < of(self.size as f64)).then(|| u.to_usize()).flatten()
    }

    fn taps<T: Float>(&self, x: T) -> Taps<T> {
        let (u, scale) = self.position(x);
        let mut taps = Taps { count: 0, at: [None; 4], weight: [T::zero(); 4], lost: false };
        let mut put = |at: Option<usize>, weight: T| {
            (taps.at[taps.count], taps.weight[taps.count]) = (at, weight);
            taps.count += 1;
        };
        if self.mode == Interpolation::Cubic {
            let first = u.floor();
            let weights = cubic(u - first, self.order);
            let scale = scale.powi(self.order as i32);
            for (k, w) in weights.into_iter().enumerate() {
                put(self.element(self.padded(first + of(k as f64 - 1.0)).0), w * scale);
            }
            taps.lost = !u.is_finite();
            return taps;
        }
        let (u, moves) = self.padded(u);
        match (self.mode, self.order) {
            (Interpolation::Nearest, 0) => put(self.element(nearest(u)), T::one()),
            (Interpolation::Linear, 0) => {
                let first = u.floor();
                put(self.element(first), first + T::one() - u);
                // At an end that everything beyond it is moved to, the sample is the element there, whatever is beside it.
                if !moves.is_zero() || u > first {
                    put(self.element(first + T::one()), u - first);
                }
            }
            // Where the position does not move the weights are constant, whatever the elements are.
            (Interpolation::Linear, 1) if !moves.is_zero() => {
                put(self.element(u.floor()), -(scale * moves));
                put(self.element(u.floor() + T::one()), scale * moves);
            }
            _ => {}
        }
        taps.lost = self.mode == Interpolation::Linear && !u.is_finite();
        taps
    }
}

/// The nearest integer, halves to even.
fn nearest<T: Float>(u: T) -> T {
    let (below, half) = (u.floor(), of::<T>(0.5));
    let rest = u - below;
    let up = rest > half || (rest == half && !(below % of(2.0)).is_zero());
    if up { below + T::one() } else { below }
}

/// The weights of the elements at -1, 0, 1 and 2 for a point at `t`, or their derivatives.
fn cubic<T: Float>(t: T, order: usize) -> [T; 4] {
    const A: f64 = -0.75;
    // Factors of 1, t, t² and t³.
    const POLYNOMIALS: [[f64; 4]; 4] = [
        [0.0, A, -2.0 * A, A],
        [1.0, 0.0, -(A + 3.0), A + 2.0],
        [0.0, -A, 2.0 * A + 3.0, -(A + 2.0)],
        [0.0, 0.0, A, -A],
    ];
    POLYNOMIALS.map(|p| {
        let falling = |k: usize| (0..order).map(|j| (k - j) as f64).product::<f64>();
        (order..4).rev().fold(T::zero(), |sum, k| sum * t + of(p[k] * falling(k)))
    })
}

/// What samples and their transpose share: sizes, and the neighbours of each point.
struct Walk<'a> {
    sampling: &'a Sampling,
    batch: usize,
    channels: usize,
    /// Elements of a plane, and points of a grid.
    inner: usize,
    points: usize,
}

/// Neighbours of a point, at most 4 × 4 or 2 × 2 × 2: positions in the plane and weights.
struct Near<T> {
    count: usize,
    at: [usize; 16],
    weight: [T; 16],
    lost: bool,
}

impl Walk<'_> {
    fn near<T: Float>(&self, point: &[T]) -> Near<T> {
        let (s, rank) = (self.sampling, self.sampling.sizes.len());
        let mut near = Near { count: 1, at: [0; 16], weight: [T::zero(); 16], lost: false };
        near.weight[0] = T::one();
        let mut stride = 1;
        for (d, (&x, &order)) in point.iter().zip(&s.orders).enumerate() {
            let size = s.sizes[rank - 1 - d];
            let axis = Axis { mode: s.mode, padding: s.padding, align: s.align_corners, order, size, volume: rank > 2 };
            let taps = axis.taps(x);
            near.lost |= taps.lost;
            let (before, mut count) = (near.count, 0);
            let mut next = Near { count: 0, at: [0; 16], weight: [T::zero(); 16], lost: near.lost };
            for k in 0..taps.count {
                let Some(at) = taps.at[k] else { continue };
                for i in 0..before {
                    next.at[count] = near.at[i] + at * stride;
                    next.weight[count] = near.weight[i] * taps.weight[k];
                    count += 1;
                }
            }
            next.count = count;
            near = next;
            stride *= size;
        }
        near
    }
}

/// The shape of [`sample`]: [N, C, *grid].
///
/// # Errors
/// `Internal` if the shapes do not belong together: callers have checked them.
pub fn sampled_shape(input: TypedShape<'_>, grid: TypedShape<'_>, s: &Sampling) -> Result<Shape> {
    let rank = s.sizes.len();
    if input.1.rank() != rank + 2 || input.1[2..] != s.sizes[..] {
        bail!(Internal, "grid_sample(): an input of shape {} for sizes {:?}", input.1, s.sizes);
    }
    exchanged(input, grid, s, &grid.1[1..grid.1.rank().saturating_sub(1)])
}

/// The shape of [`spread`]: [N, C, *sizes].
///
/// # Errors
/// As [`sampled_shape`].
pub fn spread_shape(g: TypedShape<'_>, grid: TypedShape<'_>, s: &Sampling) -> Result<Shape> {
    exchanged(g, grid, s, &s.sizes)
}

fn exchanged(x: TypedShape<'_>, grid: TypedShape<'_>, s: &Sampling, last: &[usize]) -> Result<Shape> {
    let rank = s.sizes.len();
    let fits = x.1.rank() == rank + 2
        && grid.1.rank() == rank + 2
        && grid.1[0] == x.1[0]
        && grid.1[rank + 1] == rank
        && s.orders.len() == rank
        && x.0 == grid.0;
    if !fits || !(2..=3).contains(&rank) || s.sizes.contains(&0) {
        bail!(Internal, "grid_sample(): shapes {} and {} for sizes {:?}", x.1, grid.1, s.sizes);
    }
    if !x.0.is_float() {
        bail!(NotImplemented, "grid_sample(): not implemented for {} tensors", x.0);
    }
    Shape::new(&x.1[..2]).iter().chain(last).copied().collect::<Shape>().checked("grid_sample")
}

/// Halves are computed in single precision.
fn wide(a: &Array) -> Result<Array> {
    copy::cast(a, if a.dtype().is_half() { DType::F32 } else { a.dtype() })?.contiguous()
}

fn walk<'a>(s: &'a Sampling, x: &Array, grid: &Array) -> Walk<'a> {
    Walk {
        sampling: s,
        batch: x.shape()[0],
        channels: x.shape()[1],
        inner: s.sizes.iter().product(),
        points: grid.shape()[1..=s.sizes.len()].iter().product(),
    }
}

/// The samples of `input` [N, C, *sizes] at the points `grid` [N, *points, rank]: [N, C, *points].
///
/// # Errors
/// As [`sampled_shape`].
pub fn sample(input: &Array, grid: &Array, s: &Sampling) -> Result<Array> {
    let shape = sampled_shape(input.form(), grid.form(), s)?;
    let (x, points) = (wide(input)?, wide(grid)?);
    let w = walk(s, &x, &points);
    let out = match x.dtype() {
        DType::F32 => sample_as::<f32>(&x, &points, &w, shape)?,
        _ => sample_as::<f64>(&x, &points, &w, shape)?,
    };
    copy::cast(&out, input.dtype())
}

fn sample_as<T: Element + Float>(x: &Array, grid: &Array, w: &Walk<'_>, shape: Shape) -> Result<Array> {
    let (x, grid): (&[T], &[T]) = (x.as_slice().unwrap_or(&[]), grid.as_slice().unwrap_or(&[]));
    let rank = w.sampling.sizes.len();
    Array::build_typed::<T>(shape, |out, _| {
        let out = Shared(out);
        parallel::ranges(w.batch * w.points, 16 + 8 * w.channels, &|lo, hi| {
            for p in lo..hi {
                let near = w.near(&grid[p * rank..][..rank]);
                let (n, p) = (p / w.points, p % w.points);
                for c in n * w.channels..(n + 1) * w.channels {
                    let plane = &x[c * w.inner..][..w.inner];
                    let terms = near.at[..near.count].iter().zip(&near.weight);
                    let sum = terms.fold(<T as num_traits::Zero>::zero(), |sum, (&at, &v)| sum + plane[at] * v);
                    let value = if near.lost { T::nan() } else { sum };
                    // SAFETY: each point of each channel is written by one task, inside the new array.
                    unsafe { out.at(c * w.points + p).write(value) };
                }
            }
        });
        // SAFETY: the ranges cover all points, and all channels of each are written.
        unsafe { Written::all() }
    })
}

/// Whether a point of `grid` [..., rank] has neighbours, so that its sample depends on them: [...].
///
/// # Errors
/// `Internal` if the grid is not one for these sizes.
pub fn covered(grid: &Array, s: &Sampling) -> Result<Array> {
    let rank = s.sizes.len();
    if grid.rank() == 0 || grid.shape()[grid.rank() - 1] != rank || s.orders.len() != rank {
        bail!(Internal, "grid_sample(): a grid of shape {} for sizes {:?}", grid.shape(), s.sizes);
    }
    let shape = grid.shape().without(grid.rank() - 1);
    let (points, grid) = (shape.numel(), wide(grid)?);
    let w = Walk { sampling: s, batch: 1, channels: 1, inner: s.sizes.iter().product(), points };
    match grid.dtype() {
        DType::F32 => covered_as::<f32>(&grid, &w, shape),
        _ => covered_as::<f64>(&grid, &w, shape),
    }
}

fn covered_as<T: Element + Float>(grid: &Array, w: &Walk<'_>, shape: Shape) -> Result<Array> {
    let (grid, rank): (&[T], usize) = (grid.as_slice().unwrap_or(&[]), w.sampling.sizes.len());
    Array::build_typed::<bool>(shape, |out, _| {
        let out = Shared(out);
        parallel::ranges(w.points, 16, &|lo, hi| {
            for p in lo..hi {
                let near = w.near(&grid[p * rank..][..rank]);
                // SAFETY: each point is written by one task, inside the new array.
                unsafe { out.at(p).write(near.count > 0 || near.lost) };
            }
        });
        // SAFETY: the ranges cover all points.
        unsafe { Written::all() }
    })
}

/// The transpose of [`sample`] by its first argument: `g` [N, C, *points] summed at the neighbours, [N, C, *sizes].
///
/// # Errors
/// As [`sampled_shape`].
pub fn spread(g: &Array, grid: &Array, s: &Sampling) -> Result<Array> {
    let shape = spread_shape(g.form(), grid.form(), s)?;
    let (x, points) = (wide(g)?, wide(grid)?);
    let w = walk(s, &x, &points);
    let out = match x.dtype() {
        DType::F32 => spread_as::<f32>(&x, &points, &w, shape)?,
        _ => spread_as::<f64>(&x, &points, &w, shape)?,
    };
    copy::cast(&out, g.dtype())
}

fn spread_as<T: Element + Float>(g: &Array, grid: &Array, w: &Walk<'_>, shape: Shape) -> Result<Array> {
    let (g, grid): (&[T], &[T]) = (g.as_slice().unwrap_or(&[]), grid.as_slice().unwrap_or(&[]));
    let rank = w.sampling.sizes.len();
    let mut result = Array::zeros(T::DTYPE, shape)?;
    let out = Shared(result.ptr_mut().cast::<T>());
    parallel::ranges(w.batch * w.channels, 16 * w.points, &|lo, hi| {
        for n in lo / w.channels..hi.div_ceil(w.channels) {
            let channels = lo.max(n * w.channels)..hi.min((n + 1) * w.channels);
            for p in 0..w.points {
                let near = w.near(&grid[(n * w.points + p) * rank..][..rank]);
                for c in channels.clone() {
                    let value = g[c * w.points + p];
                    for (&at, &v) in near.at[..near.count].iter().zip(&near.weight) {
                        // SAFETY: each plane belongs to one task, and neighbours lie in the plane.
                        unsafe {
                            let to = out.at(c * w.inner + at);
                            *to = *to + value * v;
                        }
                    }
                }
            }
        }
    });
    Ok(result)
}
