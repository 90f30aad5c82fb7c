//! Arrays made from counts.

use super::require_indices;
use crate::base::dtype::Category;
use crate::base::{DType, Element, Result, Scalar, Shape};
use crate::dense::array::{Array, Written};
use crate::dense::copy::{Convert, cast, from_scalar};
use crate::dense::isa::{Isa, isa};
use crate::dense::parallel::{self, Shared};
use crate::{bail, match_dtype};
use num_traits::Float;

/// A vector whose element `i` is `f(i)`.
fn counted<T: Convert>(n: usize, f: impl Fn(usize) -> T + Sync) -> Result<Array> {
    Array::build_typed::<T>([n].into(), |out, _| {
        let out = Shared(out);
        parallel::ranges(n, 1, &|lo, hi| {
            // SAFETY: ranges differ between tasks and lie inside.
            let part = unsafe { std::slice::from_raw_parts_mut(out.at(lo), hi - lo) };
            for (i, o) in part.iter_mut().enumerate() {
                *o = f(lo + i);
            }
        });
        // SAFETY: the tasks write each element.
        unsafe { Written::all() }
    })
}

/// As [`counted`], where `f` takes and gives float64.
fn spaced<T: Convert>(n: usize, f: impl Fn(f64) -> f64 + Sync) -> Result<Array> {
    Array::build_typed::<T>([n].into(), |out, _| {
        let out = Shared(out);
        parallel::ranges(n, 1, &|lo, hi| {
            // SAFETY: ranges differ between tasks and lie inside.
            let part = unsafe { std::slice::from_raw_parts_mut(out.at(lo), hi - lo) };
            for (b, block) in part.chunks_mut(1 << 12).enumerate() {
                // Indices inside a block are 32-bit: those convert to floats in vector registers.
                let first = (lo + (b << 12)) as f64;
                for (i, o) in block.iter_mut().enumerate() {
                    *o = T::of_f64(f(first + f64::from(i as i32)));
                }
            }
        });
        // SAFETY: the tasks write each element.
        unsafe { Written::all() }
    })
}

/// `start + i * step` for `i` in `0..n`: in 64-bit integers if both are integers, else in float64.
pub fn arange(dtype: DType, start: Scalar, step: Scalar, n: usize) -> Result<Array> {
    let whole = |s: Scalar| s.category() <= Category::Integer;
    if whole(start) && whole(step) && dtype != DType::Bool {
        let (start, step) = (start.as_i64(), step.as_i64());
        let at = |i: usize| start.wrapping_add(step.wrapping_mul(i as i64));
        return match dtype {
            DType::F32 => counted::<f32>(n, |i| f32::of_i64(at(i))),
            DType::F64 => counted::<f64>(n, |i| f64::of_i64(at(i))),
            DType::I32 => counted::<i32>(n, |i| i32::of_i64(at(i))),
            DType::I64 => counted::<i64>(n, at),
            _ => cast(&counted::<i64>(n, at)?, dtype),
        };
    }
    let (start, step) = (start.as_f64(), step.as_f64());
    let at = |i: f64| start + step * i;
    match dtype {
        DType::F32 => spaced::<f32>(n, at),
        DType::F64 => spaced::<f64>(n, at),
        _ => cast(&spaced::<f64>(n, at)?, dtype),
    }
}

/// Numbers at equal distances, the first `half` of which are counted from the start and the others from the end.
struct Even<T> {
    start: T,
    end: T,
    step: T,
    half: usize,
    last: usize,
}

/// `from + (at + direction i) step`, rounded once.
#[inline(always)]
fn counted_from<T: Float>(out: &mut [T], at: f64, direction: f64, step: T, from: T) {
    for (b, block) in out.chunks_mut(1 << 12).enumerate() {
        // Indices inside a block are 32-bit: those convert to floats in vector registers.
        let at = at + direction * (b << 12) as f64;
        for (i, o) in block.iter_mut().enumerate() {
            let index = T::from(at + direction * f64::from(i as i32)).unwrap_or_else(T::nan);
            *o = step.mul_add(index, from);
        }
    }
}

impl<T: Float> Even<T> {
    /// The numbers from `first` on. Each is rounded once, so the loop is compiled for fused multiply-add too.
    #[inline(always)]
    fn fill(&self, first: usize, out: &mut [T]) {
        let split = self.half.saturating_sub(first).min(out.len());
        let (front, back) = out.split_at_mut(split);
        counted_from(front, first as f64, 1.0, self.step, self.start);
        counted_from(back, self.last as f64 - (first + split) as f64, -1.0, -self.step, self.end);
    }

    fn fill_native(&self, first: usize, out: &mut [T]) {
        #[cfg(target_arch = "x86_64")]
        if isa() > Isa::V1 {
            // SAFETY: the machine has what the instruction set in use names.
            return unsafe { self.fill_fused(first, out) };
        }
        self.fill(first, out);
    }

    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,fma,f16c")]
    fn fill_fused(&self, first: usize, out: &mut [T]) {
        self.fill(first, out);
    }
}

impl<T: Float + Convert> Even<T> {
    fn array(&self) -> Result<Array> {
        let n = self.last + 1;
        Array::build_typed::<T>([n].into(), |out, _| {
            let out = Shared(out);
            parallel::ranges(n, 1, &|lo, hi| {
                // SAFETY: ranges differ between tasks and lie inside.
                self.fill_native(lo, unsafe { std::slice::from_raw_parts_mut(out.at(lo), hi - lo) });
            });
            // SAFETY: the tasks write each element.
            unsafe { Written::all() }
        })
    }
}

/// [`linspace`] of this dtype, computed in it as PyTorch does.
fn even<T: Float + Convert>(start: Scalar, end: Scalar, n: usize) -> Result<Array> {
    let (start, end): (T, T) = (from_scalar(start), from_scalar(end));
    let gaps = T::of_f64(n.saturating_sub(1).max(1) as f64);
    let half = if n == 1 { 1 } else { n / 2 };
    Even { start, end, step: (end - start) / gaps, half, last: n - 1 }.array()
}

/// `n` numbers from `start` to `end` at equal distances. Each half is counted from its own end, so that both ends are
/// exact and the row is symmetric (PyTorch's formula, and its rounding in single and double precision).
pub fn linspace(dtype: DType, start: Scalar, end: Scalar, n: usize) -> Result<Array> {
    match dtype {
        DType::F32 if n > 0 => return even::<f32>(start, end, n),
        DType::F64 if n > 0 => return even::<f64>(start, end, n),
        _ => {}
    }
    let gaps = n.saturating_sub(1).max(1) as f64;
    // Elements counted from the start.
    let half = if n == 1 { 1 } else { n / 2 };
    match_dtype!(dtype, T => {
        if dtype.is_complex() {
            let (start, end) = (start.as_complex(), end.as_complex());
            let step = (end - start) / gaps;
            let x = |i: usize| if i < half { start + step * i as f64 } else { end - step * (n - 1 - i) as f64 };
            return counted::<T>(n, |i| T::of_complex(x(i)));
        }
        if n == 1 && dtype.is_integer() {
            return Array::full(dtype, [1].into(), start);
        }
        // Bounds are converted first, as integers of the dtype are.
        let (start, end): (T, T) = (from_scalar(start), from_scalar(end));
        let (start, end) = (start.to_f64(), end.to_f64());
        let step = (end - start) / gaps;
        let (half, last) = (half as f64, n as f64 - 1.0);
        if dtype.is_integer() {
            // Rounded once, so that an element just below a whole number falls to the one before, as PyTorch's does.
            let at = |i: f64| if i < half { step.mul_add(i, start) } else { (-step).mul_add(last - i, end) };
            return spaced::<T>(n, at);
        }
        spaced::<T>(n, |i| if i < half { start + step * i } else { end - step * (last - i) })
    })
}

/// Ones on the diagonal of an `n` by `m` matrix, zeros elsewhere.
pub fn eye(dtype: DType, n: usize, m: usize) -> Result<Array> {
    let mut a = Array::zeros(dtype, [n, m].into())?;
    match_dtype!(dtype, T => {
        let (p, one): (*mut T, T) = (a.ptr_mut().cast(), from_scalar(Scalar::Int(1)));
        for i in 0..n.min(m) {
            // SAFETY: the array is new, contiguous and has n·m elements.
            unsafe { p.add(i * m + i).write(one) }
        }
    });
    Ok(a)
}

/// int64 ones at `index` along a new last dimension of size `classes`, zeros elsewhere.
///
/// Error: `Runtime` for an index outside `0..classes`.
pub fn one_hot(index: &Array, classes: usize) -> Result<Array> {
    require_indices("one_hot", index.dtype())?;
    let index = index.contiguous()?;
    let values: &[i64] = index.as_slice().unwrap_or(&[]);
    if values.iter().any(|&i| i < 0) {
        bail!(Runtime, "one_hot(): Class values must be non-negative.");
    }
    if let Some(i) = values.iter().find(|&&i| i as usize >= classes) {
        bail!(Runtime, "one_hot(): Class values must be smaller than num_classes; got {i} and {classes} classes.");
    }
    let shape: Shape = index.shape().append(classes);
    let mut a = Array::zeros(DType::I64, shape)?;
    let p = a.ptr_mut().cast::<i64>();
    for (row, &i) in values.iter().enumerate() {
        // SAFETY: the array is new and has `classes` elements per index.
        unsafe { p.add(row * classes + i as usize).write(i64::one()) }
    }
    Ok(a)
}
