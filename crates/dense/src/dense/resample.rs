//! One dimension of another size: each new element is a weighted sum of few old ones.

use super::Array;
use super::array::Written;
use super::cast::cast;
use super::matmul::simd::per_isa;
use super::memory;
use super::parallel::{self, Shared};
use crate::bail;
use crate::base::{DType, Element, Result, Shape, TypedShape};
use num_traits::Float;

/// Which old elements a new one is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The one at or before its place.
    Nearest,
    /// The one whose middle is nearest.
    NearestExact,
    Linear,
    Cubic,
    /// All those under a linear kernel that is as wide as a new element.
    WideLinear,
    /// The same for a cubic one.
    WideCubic,
}

/// How a dimension gets another size.
#[derive(Debug, Clone, PartialEq)]
pub struct Resample {
    pub dim: usize,
    pub input: usize,
    pub output: usize,
    pub filter: Filter,
    /// Whether the first and last elements lie on each other, rather than their outer edges.
    pub align: bool,
    /// New elements for each old one, where that is not the ratio of the sizes.
    pub factor: Option<f64>,
}

/// What a new element takes in the lists of places and weights, about.
const TAP_BYTES: usize = 128;

/// Rows of places with weights, one row after the other.
struct Taps {
    starts: Vec<usize>,
    at: Vec<usize>,
    weight: Vec<f64>,
}

impl Taps {
    fn of(r: &Resample) -> Taps {
        let mut taps = Taps { starts: vec![0], at: Vec::new(), weight: Vec::new() };
        for to in 0..r.output {
            r.row(to, &mut |at, weight| {
                taps.at.push(at);
                taps.weight.push(weight);
            });
            taps.starts.push(taps.at.len());
        }
        taps
    }

    /// From new elements to old ones.
    fn transposed(&self, input: usize) -> Taps {
        let mut starts = vec![0; input + 1];
        self.at.iter().for_each(|&at| starts[at + 1] += 1);
        (0..input).for_each(|i| starts[i + 1] += starts[i]);
        let mut next = starts.clone();
        let (mut at, mut weight) = (vec![0; self.at.len()], vec![0.0; self.at.len()]);
        for to in 0..self.starts.len() - 1 {
            for k in self.starts[to]..self.starts[to + 1] {
                let place = &mut next[self.at[k]];
                (at[*place], weight[*place]) = (to, self.weight[k]);
                *place += 1;
            }
        }
        Taps { starts, at, weight }
    }

    fn row(&self, to: usize) -> std::ops::Range<usize> {
        self.starts[to]..self.starts[to + 1]
    }

    /// With weights that are multiples of a power of two, of 16 bits as PyTorch has them for images of bytes.
    fn in_steps(&self) -> Taps {
        let mut taps = Taps { starts: vec![0], at: Vec::new(), weight: Vec::new() };
        let mut most = 0.0f64;
        for to in 0..self.starts.len() - 1 {
            let first = taps.at.len();
            for k in self.row(to) {
                // Places beyond an edge are one place, whose weights are rounded together.
                if taps.at.len() > first && taps.at.last() == Some(&self.at[k]) {
                    taps.weight.last_mut().into_iter().for_each(|w| *w += self.weight[k]);
                } else {
                    taps.at.push(self.at[k]);
                    taps.weight.push(self.weight[k]);
                }
                most = taps.weight.last().copied().unwrap_or(0.0).max(most);
            }
            taps.starts.push(taps.at.len());
        }
        let fits = |bits: &i32| (0.5 + most * f64::from(1 << (bits + 1))).trunc() < f64::from(1 << 15);
        let one = f64::from(1 << (0..22).take_while(fits).count());
        taps.weight.iter_mut().for_each(|w| *w = (*w * one).round() / one);
        taps
    }
}

/// The kernel of cubic convolution.
fn cubic(d: f64, a: f64) -> f64 {
    let d = d.abs();
    if d < 1.0 {
        ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0
    } else if d < 2.0 {
        ((d - 5.0) * d + 8.0) * d * a - 4.0 * a
    } else {
        0.0
    }
}

impl Resample {
    /// Whether each new element is an old one.
    pub fn repeats(&self) -> bool {
        matches!(self.filter, Filter::Nearest | Filter::NearestExact)
    }

    /// Old elements for each new one.
    fn scale(&self) -> f64 {
        match self.factor.filter(|&f| f > 0.0) {
            _ if self.align && self.output > 1 => (self.input as f64 - 1.0) / (self.output as f64 - 1.0),
            _ if self.align => 0.0,
            Some(factor) => 1.0 / factor,
            None => self.input as f64 / self.output as f64,
        }
    }

    /// The old element that a new one repeats. In single precision, as elsewhere: where two are as near, rounding decides.
    fn nearest(&self, to: usize) -> usize {
        let scale = match self.factor.filter(|&f| f > 0.0) {
            Some(factor) => (1.0 / factor) as f32,
            None => self.input as f32 / self.output as f32,
        };
        let half = if self.filter == Filter::NearestExact { 0.5 } else { 0.0 };
        (((to as f32 + half) * scale).floor() as usize).min(self.input - 1)
    }

    /// The places and weights that a new element is made of.
    fn row(&self, to: usize, put: &mut dyn FnMut(usize, f64)) {
        let last = self.input - 1;
        let scale = self.scale();
        let center = if self.align { to as f64 * scale } else { (to as f64 + 0.5) * scale - 0.5 };
        match self.filter {
            Filter::Nearest | Filter::NearestExact => put(self.nearest(to), 1.0),
            Filter::Linear => {
                let center = center.max(0.0);
                let low = (center.floor() as usize).min(last);
                let share = (center - low as f64).clamp(0.0, 1.0);
                put(low, 1.0 - share);
                put((low + 1).min(last), share);
            }
            Filter::Cubic => {
                let low = center.floor();
                for k in -1..=2 {
                    let at = low + f64::from(k);
                    put(at.clamp(0.0, last as f64) as usize, cubic(center - at, -0.75));
                }
            }
            Filter::WideLinear | Filter::WideCubic => self.wide_row(to, scale, put),
        }
    }

    fn wide_row(&self, to: usize, scale: f64, put: &mut dyn FnMut(usize, f64)) {
        let half = if self.filter == Filter::WideCubic { 2.0 } else { 1.0 };
        let (support, inverse) = if scale >= 1.0 { (half * scale, 1.0 / scale) } else { (half, 1.0) };
        let center = (to as f64 + 0.5) * scale;
        let first = (center - support + 0.5).trunc().max(0.0) as usize;
        let end = ((center + support + 0.5).trunc().max(0.0) as usize).min(self.input);
        let weight = |at: usize| {
            let d = (at as f64 - center + 0.5) * inverse;
            if self.filter == Filter::WideCubic { cubic(d, -0.5) } else { (1.0 - d.abs()).max(0.0) }
        };
        let total: f64 = (first..end).map(weight).sum();
        (first..end).for_each(|at| put(at, weight(at) / total));
    }
}

/// The shape with one dimension of another size.
///
/// # Errors
/// `Internal` if the dimension has not the size that is said: callers have checked it.
pub fn resampled_shape(x: TypedShape<'_>, r: &Resample, back: bool) -> Result<Shape> {
    let (from, to) = if back { (r.output, r.input) } else { (r.input, r.output) };
    // What is repeated may be anything.
    let computes = matches!(x.0, DType::F32 | DType::F64) || ((r.repeats() || x.0 == DType::U8) && !back);
    if r.dim >= x.1.rank() || x.1[r.dim] != from || r.input == 0 || !computes {
        bail!(Internal, "interpolate(): dimension {} of {} {} for sizes {from} and {to}", r.dim, x.0, x.1);
    }
    x.1.with(r.dim, to).checked("interpolate")
}

/// One dimension of another size; with `back`, the transpose of that. Images with channels last stay so.
///
/// # Errors
/// As [`resampled_shape`].
pub fn resample(x: &Array, r: &Resample, back: bool) -> Result<Array> {
    resampled_shape(x.form(), r, back)?;
    // Places and weights of a row of each.
    memory::check_list("interpolate", r.output.max(r.input), TAP_BYTES)?;
    if x.suggests_channels_last() {
        // Batch, other dimensions, channels.
        let dim = match r.dim {
            0 => 0,
            1 => x.rank() - 1,
            d => d - 1,
        };
        let x = x.with_channels_behind()?.contiguous()?;
        return resample(&x, &Resample { dim, ..r.clone() }, back)?.with_channels_second();
    }
    let x = x.contiguous()?;
    if r.repeats() && !back {
        return repeated(&x, r);
    }
    let taps = Taps::of(r);
    let taps = if back { taps.transposed(r.input) } else { taps };
    match x.dtype() {
        DType::F32 => along::<f32>(&x, r.dim, &taps),
        DType::U8 => to_bytes(&along::<f64>(&cast(&x, DType::F64)?, r.dim, &taps.in_steps())?),
        _ => along::<f64>(&x, r.dim, &taps),
    }
}

/// The nearest bytes; halves go up.
fn to_bytes(x: &Array) -> Result<Array> {
    let values: &[f64] = x.as_slice().unwrap_or(&[]);
    Array::build_typed::<u8>(x.shape().clone(), |out, n| {
        // SAFETY: the new array has n elements, as the old one has.
        let out = unsafe { std::slice::from_raw_parts_mut(out, n) };
        out.iter_mut().zip(values).for_each(|(y, v)| *y = (v + 0.5).floor() as u8);
        // SAFETY: every element was written.
        unsafe { Written::all() }
    })
}

/// Elements of any dtype where they are wanted.
fn repeated(x: &Array, r: &Resample) -> Result<Array> {
    let at: Vec<usize> = (0..r.output).map(|to| r.nearest(to)).collect();
    match x.dtype().size() {
        1 => copied::<1>(x, r.dim, &at),
        2 => copied::<2>(x, r.dim, &at),
        4 => copied::<4>(x, r.dim, &at),
        8 => copied::<8>(x, r.dim, &at),
        _ => copied::<16>(x, r.dim, &at),
    }
}

/// Rows, or elements of `SIZE` bytes.
fn copied<const SIZE: usize>(x: &Array, dim: usize, at: &[usize]) -> Result<Array> {
    let (from, inner) = (x.shape()[dim], x.shape()[dim + 1..].iter().product::<usize>());
    let outer: usize = x.shape()[..dim].iter().product();
    let values = x.ptr().cast::<[u8; SIZE]>();
    let source = Shared(values.cast_mut());
    Array::build_bytes(x.dtype(), x.shape().with(dim, at.len()), |out, _| {
        let out = Shared(out.cast::<[u8; SIZE]>());
        parallel::ranges(outer, at.len() * inner, &|lo, hi| {
            for o in lo..hi {
                if inner == 1 {
                    // SAFETY: both rows lie in their arrays, whose elements have this size, and each row of the new one
                    // belongs to one task.
                    let (row, to) = unsafe {
                        let row = std::slice::from_raw_parts(source.at(o * from).cast_const(), from);
                        (row, std::slice::from_raw_parts_mut(out.at(o * at.len()), at.len()))
                    };
                    to.iter_mut().zip(at).for_each(|(y, &place)| *y = row[place]);
                    continue;
                }
                for (to, &place) in at.iter().enumerate() {
                    // SAFETY: as above.
                    unsafe {
                        let row = source.at((o * from + place) * inner).cast_const();
                        std::ptr::copy_nonoverlapping(row, out.at((o * at.len() + to) * inner), inner);
                    }
                }
            }
        });
        // SAFETY: every element was written.
        unsafe { Written::all() }
    })
}

fn along<T: Element + Float>(x: &Array, dim: usize, taps: &Taps) -> Result<Array> {
    let count = taps.starts.len() - 1;
    let (from, inner) = (x.shape()[dim], x.shape()[dim + 1..].iter().product::<usize>());
    let outer: usize = x.shape()[..dim].iter().product();
    let values: &[T] = x.as_slice().unwrap_or(&[]);
    let weights: Vec<T> = taps.weight.iter().map(|&w| T::from(w).unwrap_or_else(T::nan)).collect();
    Array::build_typed::<T>(x.shape().with(dim, count), |out, _| {
        let out = Shared(out);
        if inner == 1 {
            parallel::ranges(outer, 2 * taps.at.len(), &|lo, hi| {
                for o in lo..hi {
                    // SAFETY: each row of the result belongs to one task, and lies in the new array.
                    let to = unsafe { std::slice::from_raw_parts_mut(out.at(o * count), count) };
                    // SAFETY: any machine runs it.
                    unsafe { weigh_elements::<T>(&values[o * from..(o + 1) * from], taps, &weights, to) };
                }
            });
        } else {
            let weight = 2 * inner * taps.at.len() / count.max(1);
            parallel::ranges(outer * count, weight, &|lo, hi| {
                for row in lo..hi {
                    // SAFETY: as above.
                    let to = unsafe { std::slice::from_raw_parts_mut(out.at(row * inner), inner) };
                    let (o, range) = (row / count.max(1), taps.row(row % count.max(1)));
                    let rows = &values[o * from * inner..(o + 1) * from * inner];
                    // SAFETY: any machine runs it.
                    unsafe { weigh_rows::<T>(rows, &taps.at[range.clone()], &weights[range], to) };
                }
            });
        }
        // SAFETY: every element was written.
        unsafe { Written::all() }
    })
}

per_isa! {
    /// Sums of elements, each element by its weight.
    unsafe fn weigh_elements<T: Float>(x: &[T], taps: &Taps, weights: &[T], out: &mut [T]) = scalar weigh_elements_body
}

#[inline(always)]
unsafe fn weigh_elements_body<T: Float>(x: &[T], taps: &Taps, weights: &[T], out: &mut [T]) {
    let even = |k: usize| taps.at.len() == k * out.len() && taps.starts.iter().enumerate().all(|(i, &s)| s == k * i);
    if even(1) && weights.iter().all(|w| w.is_one()) {
        out.iter_mut().zip(&taps.at).for_each(|(y, &at)| *y = x[at]);
    } else if even(2) {
        let pairs = taps.at.chunks_exact(2).zip(weights.chunks_exact(2));
        out.iter_mut().zip(pairs).for_each(|(y, (at, w))| *y = x[at[0]] * w[0] + x[at[1]] * w[1]);
    } else {
        for (to, y) in out.iter_mut().enumerate() {
            let range = taps.row(to);
            let terms = taps.at[range.clone()].iter().zip(&weights[range]);
            *y = terms.fold(T::zero(), |sum, (&at, &w)| sum + x[at] * w);
        }
    }
}

per_isa! {
    /// The sum of rows, each row by its weight.
    unsafe fn weigh_rows<T: Float>(x: &[T], at: &[usize], weights: &[T], out: &mut [T]) = scalar weigh_rows_body
}

#[inline(always)]
unsafe fn weigh_rows_body<T: Float>(x: &[T], at: &[usize], weights: &[T], out: &mut [T]) {
    let inner = out.len();
    let row = |i: usize| &x[at[i] * inner..(at[i] + 1) * inner];
    match weights {
        [w] if w.is_one() => out.copy_from_slice(row(0)),
        [w] => out.iter_mut().zip(row(0)).for_each(|(y, &a)| *y = a * *w),
        [v, w] => out.iter_mut().zip(row(0).iter().zip(row(1))).for_each(|(y, (&a, &b))| *y = a * *v + b * *w),
        _ => {
            out.fill(T::zero());
            for (i, &w) in weights.iter().enumerate() {
                out.iter_mut().zip(row(i)).for_each(|(y, &a)| *y = *y + a * w);
            }
        }
    }
}
