//! Maxima and averages over windows of the last dimensions; what is in front is planes.

mod even;
mod spans;

pub use spans::{Slide, Span, Windows};

use super::array::Written;
use super::parallel::{self, Shared};
use super::{Array, copy};
use crate::bail;
use crate::base::{DType, Element, Result, Shape, TypedShape};
use even::Maxima;

/// An element that windows can be taken over.
trait Pooled: Element {
    const LOWEST: Self;
    fn plus(self, other: Self) -> Self;
    fn over(self, n: i64) -> Self;
    /// Whether a maximum so far gives way to this: to anything greater, and to NaN.
    fn beats(self, best: Self) -> bool;
}

macro_rules! pooled {
    ($($float:ty),*; $($int:ty),*) => {
        $(impl Pooled for $float {
            const LOWEST: Self = <$float>::NEG_INFINITY;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self + other
            }
            #[inline(always)]
            fn over(self, n: i64) -> Self {
                self / n as $float
            }
            #[inline(always)]
            fn beats(self, best: Self) -> bool {
                (self > best) | self.is_nan()
            }
        })*
        $(impl Pooled for $int {
            const LOWEST: Self = <$int>::MIN;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn over(self, n: i64) -> Self {
                if n == 0 { 0 } else { (self as i64).wrapping_div(n) as $int }
            }
            #[inline(always)]
            fn beats(self, best: Self) -> bool {
                self > best
            }
        })*
    };
}
pooled!(f32, f64; u8, i8, i16, i32, i64);

macro_rules! by_dtype {
    ($op:literal, $d:expr, $T:ident => $body:expr) => {
        match $d {
            DType::F32 => by_dtype!(@ f32, $T, $body),
            DType::F64 => by_dtype!(@ f64, $T, $body),
            DType::U8 => by_dtype!(@ u8, $T, $body),
            DType::I8 => by_dtype!(@ i8, $T, $body),
            DType::I16 => by_dtype!(@ i16, $T, $body),
            DType::I32 => by_dtype!(@ i32, $T, $body),
            DType::I64 => by_dtype!(@ i64, $T, $body),
            d => bail!(NotImplemented, "{}(): not implemented for {d} tensors", $op),
        }
    };
    (@ $t:ty, $T:ident, $body:expr) => {{
        type $T = $t;
        $body
    }};
}

/// The array as rows, halves widened.
fn rows(a: &Array) -> Result<Array> {
    let wide = if a.dtype().is_half() { DType::F32 } else { a.dtype() };
    copy::cast(a, wide)?.contiguous()
}

/// The shape with other last dimensions than these, and the number of planes in front of them.
fn exchanged(op: &str, shape: &Shape, last: &[usize], by: impl Iterator<Item = usize>) -> Result<(Shape, usize)> {
    let Some(lead) = shape.rank().checked_sub(last.len()).filter(|&l| shape[l..] == *last) else {
        bail!(Internal, "{op}(): a tensor of shape {shape} where the last dimensions should be {last:?}");
    };
    Ok((shape[..lead].iter().copied().chain(by).collect(), shape[..lead].iter().product()))
}

fn pooled(op: &str, shape: &Shape, w: &Windows) -> Result<(Shape, usize)> {
    w.check()?;
    exchanged(op, shape, &w.input[3 - w.rank..], w.output())
}
fn spread(op: &str, shape: &Shape, w: &Windows) -> Result<(Shape, usize)> {
    w.check()?;
    let last: Vec<usize> = w.output().collect();
    exchanged(op, shape, &last, w.input[3 - w.rank..].iter().copied())
}

fn check_dtype(op: &str, dtype: DType) -> Result<()> {
    if dtype == DType::Bool || dtype.is_complex() {
        bail!(NotImplemented, "{op}(): not implemented for {dtype} tensors");
    }
    Ok(())
}

/// The shape of [`max_pool`] and [`avg_pool`].
///
/// # Errors
/// Those of the kernels.
pub fn pooled_shape(op: &str, (dtype, shape): TypedShape<'_>, w: &Windows) -> Result<Shape> {
    check_dtype(op, dtype)?;
    pooled(op, shape, w)?.0.checked(op)
}

/// The shape of [`avg_pool_grad`], whose errors it has.
pub fn spread_shape(op: &str, (dtype, shape): TypedShape<'_>, w: &Windows) -> Result<Shape> {
    check_dtype(op, dtype)?;
    spread(op, shape, w)?.0.checked(op)
}

/// The largest element of each window, NaN if there is one, and its position among all elements of its plane.
///
/// Of equal elements the first counts, of several NaN the last.
///
/// # Errors
/// `NotImplemented` for bool and complex; `Internal` if the last dimensions are not the windows'.
pub fn max_pool(x: &Array, w: &Windows) -> Result<(Array, Array)> {
    let (shape, planes) = pooled("max_pool", x.shape(), w)?;
    let wide = rows(x)?;
    let (values, indices) = by_dtype!("max_pool", wide.dtype(), T => max_of::<T>(&wide, w, planes, shape))?;
    Ok((copy::cast(&values, x.dtype())?, indices))
}

fn max_of<T: Pooled>(x: &Array, w: &Windows, planes: usize, shape: Shape) -> Result<(Array, Array)> {
    let (inner, outer) = (w.in_pixels(), w.out_pixels());
    let x: &[T] = x.as_slice().unwrap_or(&[]);
    let maxima = Maxima::new(w);
    let mut values = Array::zeros(T::DTYPE, shape.clone())?;
    let out = Shared(values.ptr_mut().cast::<T>());
    let indices = Array::build_typed::<i64>(shape, |indices, _| {
        let indices = Shared(indices);
        parallel::ranges(planes, inner + 4 * outer, &|lo, hi| {
            for plane in lo..hi {
                // SAFETY: each plane of the results belongs to one task, and both arrays are new.
                let (values, indices) = unsafe {
                    (
                        std::slice::from_raw_parts_mut(out.at(plane * outer), outer),
                        std::slice::from_raw_parts_mut(indices.at(plane * outer), outer),
                    )
                };
                maxima.of_plane(&x[plane * inner..][..inner], values, indices);
            }
        });
        // SAFETY: each plane, and so each index, is written by one task.
        unsafe { Written::all() }
    })?;
    Ok((values, indices))
}

/// Position of a window's first input; 0 for a window that covers none.
fn window_start(w: &Windows, window: [Span; 3]) -> usize {
    let [a, b, c] = window;
    if window.iter().any(|s| s.start >= s.end) { 0 } else { (a.start * w.input[1] + b.start) * w.input[2] + c.start }
}

/// The average of each window; integers are truncated.
///
/// # Errors
/// As [`max_pool`].
pub fn avg_pool(x: &Array, w: &Windows) -> Result<Array> {
    let (shape, planes) = pooled("avg_pool", x.shape(), w)?;
    let wide = rows(x)?;
    let (inner, outer) = (w.in_pixels(), w.out_pixels());
    let out = by_dtype!("avg_pool", wide.dtype(), T => {
        let x: &[T] = wide.as_slice().unwrap_or(&[]);
        // SAFETY: each window's average is written.
        unsafe { by_plane::<T>(shape, planes, outer, inner + 4 * outer, |plane, out| {
            let x = &x[plane * inner..][..inner];
            w.each(|at, window| {
                let mut sum = T::zero();
                w.inputs(window, |i| sum = sum.plus(x[i]));
                // Empty windows are zero, not zero by zero.
                out[at] = if window_size(window) == 0 { sum } else { sum.over(w.weight(window)) };
            });
        }) }
    })?;
    copy::cast(&out, x.dtype())
}

/// The transpose of [`avg_pool`]: each average's share for all inputs of its window.
///
/// # Errors
/// As [`max_pool`].
pub fn avg_pool_grad(g: &Array, w: &Windows) -> Result<Array> {
    let (shape, planes) = spread("avg_pool", g.shape(), w)?;
    let wide = rows(g)?;
    let (inner, outer) = (w.in_pixels(), w.out_pixels());
    let out = by_dtype!("avg_pool", wide.dtype(), T => {
        let g: &[T] = wide.as_slice().unwrap_or(&[]);
        // SAFETY: the plane is filled with zeros first.
        unsafe { by_plane::<T>(shape, planes, inner, inner + 4 * outer, |plane, out| {
            let g = &g[plane * outer..][..outer];
            out.fill(T::zero());
            w.each(|at, window| {
                if window_size(window) > 0 {
                    let share = g[at].over(w.weight(window));
                    w.inputs(window, |i| out[i] = out[i].plus(share));
                }
            });
        }) }
    })?;
    copy::cast(&out, g.dtype())
}

fn window_size(window: [Span; 3]) -> usize {
    window.iter().map(|s| s.end - s.start).product()
}

/// A new array, each of whose planes of `size` elements `fill(plane, elements)` writes.
///
/// # Safety
/// `fill` writes each element before it reads it.
unsafe fn by_plane<T: Element>(
    shape: Shape,
    planes: usize,
    size: usize,
    work: usize,
    fill: impl Fn(usize, &mut [T]) + Sync,
) -> Result<Array> {
    Array::build_typed::<T>(shape, |out, _| {
        let out = Shared(out);
        parallel::ranges(planes, work, &|lo, hi| {
            for plane in lo..hi {
                // SAFETY: each plane belongs to one task; by the contract it is not read before it is written.
                fill(plane, unsafe { std::slice::from_raw_parts_mut(out.at(plane * size), size) });
            }
        });
        // SAFETY: the tasks cover all planes, and by the contract each is written.
        unsafe { Written::all() }
    })
}

#[cfg(test)]
mod tests;
