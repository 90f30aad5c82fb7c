//! Distributions over the real numbers.

use super::fill::{drawn, fill, fill_with, groups};
use super::generator::{Generator, Stream};
use super::kernels::{Cauchy, Exponential, LogNormal, Normal, Sampler, Uniform};
use super::math::SampleFloat;
use crate::bail;
use crate::base::{DType, Element, Error, Result, Shape};
use crate::dense::Array;
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

/// Where a draw begins.
#[derive(Clone, Copy)]
enum StartOfDraw {
    /// At the generator's position, which moves on.
    Next,
    /// So many elements after the generator's position, which stays.
    At(u64),
}

/// Draws a float or complex array: 32-bit and narrower types from `single`, the others from `double`. Complex
/// elements take two samples each.
fn draw<A, B>(
    op: &str,
    rng: &Generator,
    dtype: DType,
    shape: &Shape,
    place: StartOfDraw,
    single: A,
    double: B,
) -> Result<Array>
where
    A: Sampler<Out = f32>,
    B: Sampler<Out = f64>,
{
    let shape = shape.clone();
    let scale = if dtype.is_complex() { 2 } else { 1 };
    let begin = |n: usize, groups: u64| -> (Stream, u64) {
        match place {
            StartOfDraw::Next if n == 0 => (rng.peek(), 0),
            StartOfDraw::Next => (rng.reserve(groups), 0),
            StartOfDraw::At(i) => (rng.peek(), i.wrapping_mul(scale)),
        }
    };
    let run32 = |out: &mut [f32]| {
        let (stream, start) = begin(out.len(), groups::<A>(out.len()));
        fill(stream, start, &single, out);
    };
    let run64 = |out: &mut [f64]| {
        let (stream, start) = begin(out.len(), groups::<B>(out.len()));
        fill(stream, start, &double, out);
    };
    // SAFETY: the fills write each element, and read none.
    unsafe {
        match dtype {
            DType::F32 => drawn(shape, run32),
            DType::F64 => drawn(shape, run64),
            DType::C64 => drawn(shape, |out: &mut [Complex<f32>]| run32(parts_of(out))),
            DType::C128 => drawn(shape, |out: &mut [Complex<f64>]| run64(parts_of(out))),
            DType::F16 => drawn(shape, |out: &mut [f16]| {
                let (stream, start) = begin(out.len(), groups::<A>(out.len()));
                fill_with(stream, start, &single, out, |_, x, out| out.convert_from_f32_slice(x));
            }),
            DType::BF16 => drawn(shape, |out: &mut [bf16]| {
                let (stream, start) = begin(out.len(), groups::<A>(out.len()));
                fill_with(stream, start, &single, out, |_, x, out| out.convert_from_f32_slice(x));
            }),
            _ => Err(unsupported(op, dtype)),
        }
    }
}

/// Real and imaginary parts, one after the other.
fn parts_of<T>(z: &mut [Complex<T>]) -> &mut [T] {
    // SAFETY: a complex number is two of its parts, in this order, without padding.
    unsafe { std::slice::from_raw_parts_mut(z.as_mut_ptr().cast(), 2 * z.len()) }
}

pub(super) fn unsupported(op: &str, dtype: DType) -> Error {
    Error::not_implemented(format!("{op}(): not implemented for dtype {dtype}"))
}

/// Digits of a float type (of its parts, if complex) and its largest finite number.
pub(super) fn digits_and_max(dtype: DType) -> (u32, f64) {
    match dtype.real() {
        DType::F16 => (11, f16::MAX.to_f64()),
        DType::BF16 => (8, bf16::MAX.to_f64()),
        DType::F32 => (24, f64::from(f32::MAX)),
        _ => (53, f64::MAX),
    }
}

/// Uniform in `[low, high)`, in steps of `2^-24` of the interval (`2^-53`, `2^-11`, `2^-8` for the other float types).
/// Complex elements get two independent parts.
///
/// # Errors
/// `Runtime` if `low > high`, or if the length of the interval is not a finite number of the dtype.
pub fn uniform(rng: &Generator, dtype: DType, shape: &Shape, low: f64, high: f64) -> Result<Array> {
    uniform_place(rng, dtype, shape, low, high, StartOfDraw::Next)
}

/// Uniform in `[0, 1)`: the elements `start`, `start + 1`, … of the draw that [`uniform`] would make now. The generator
/// does not move, so parts of one logical draw can be made apart.
pub fn uniform_at(rng: &Generator, dtype: DType, shape: &Shape, start: u64) -> Result<Array> {
    uniform_place(rng, dtype, shape, 0.0, 1.0, StartOfDraw::At(start))
}

fn uniform_place(
    rng: &Generator,
    dtype: DType,
    shape: &Shape,
    low: f64,
    high: f64,
    place: StartOfDraw,
) -> Result<Array> {
    let (digits, max) = digits_and_max(dtype);
    if low.is_nan() || high.is_nan() || low > high {
        bail!(Runtime, "uniform(): uniform_ expects to return a [from, to) range, but found from={low} > to={high}");
    }
    if (high - low).is_nan() || high - low > max {
        bail!(
            Runtime,
            "uniform(): uniform_ expects to-from <= {max:e} for dtype {dtype}, but found from={low} and to={high}"
        );
    }
    let last = last_below(dtype, low, high);
    let single = Uniform { digits: digits.min(24), scale: (high - low) as f32, low: low as f32, last: last as f32 };
    draw("uniform", rng, dtype, shape, place, single, Uniform { digits, scale: high - low, low, last })
}

/// The largest number of the dtype below `high`, but not below `low`.
fn last_below(dtype: DType, low: f64, high: f64) -> f64 {
    let (below, low) = match dtype.real() {
        DType::F16 => (f16_below(f16::from_f64(high)).to_f64(), f16::from_f64(low).to_f64()),
        DType::BF16 => (bf16_below(bf16::from_f64(high)).to_f64(), bf16::from_f64(low).to_f64()),
        DType::F32 => (f64::from((high as f32).next_down()), f64::from(low as f32)),
        _ => (high.next_down(), low),
    };
    below.max(low)
}

fn f16_below(x: f16) -> f16 {
    f16::from_bits(bits_below(x.to_bits()))
}
fn bf16_below(x: bf16) -> bf16 {
    bf16::from_bits(bits_below(x.to_bits()))
}
/// The next float of 16 bits towards minus infinity, for finite ones.
fn bits_below(bits: u16) -> u16 {
    match bits {
        0 | 0x8000 => 0x8001,
        b if b & 0x8000 == 0 => b - 1,
        b => b + 1,
    }
}

/// Normal with this mean and standard deviation. Complex elements have variance `std²` in all, half of it in each part,
/// and a real mean.
///
/// # Errors
/// `Runtime` if `std` is negative or not a number.
pub fn normal(rng: &Generator, dtype: DType, shape: &Shape, mean: f64, std: f64) -> Result<Array> {
    normal_place(rng, dtype, shape, mean, std, StartOfDraw::Next)
}

/// Standard normal: the elements `start`, `start + 1`, … of the draw that [`normal`] would make now. The generator does
/// not move.
pub fn normal_at(rng: &Generator, dtype: DType, shape: &Shape, start: u64) -> Result<Array> {
    normal_place(rng, dtype, shape, 0.0, 1.0, StartOfDraw::At(start))
}

fn normal_place(
    rng: &Generator,
    dtype: DType,
    shape: &Shape,
    mean: f64,
    std: f64,
    place: StartOfDraw,
) -> Result<Array> {
    if std.is_nan() || std < 0.0 {
        bail!(Runtime, "normal(): normal expects std >= 0.0, but found std {std}");
    }
    if !dtype.is_complex() {
        let single = Normal { mean: mean as f32, std: std as f32 };
        return draw("normal", rng, dtype, shape, place, single, Normal { mean, std });
    }
    let std = std * std::f64::consts::FRAC_1_SQRT_2;
    let single = Normal { mean: 0.0, std: std as f32 };
    let z = draw("normal", rng, dtype, shape, place, single, Normal { mean: 0.0, std })?;
    if mean == 0.0 {
        return Ok(z);
    }
    match dtype {
        DType::C64 => shift::<f32>(&z, mean),
        _ => shift::<f64>(&z, mean),
    }
}

/// Adds a real number to complex elements.
fn shift<T: SampleFloat + Default>(z: &Array, mean: f64) -> Result<Array>
where
    Complex<T>: Element,
{
    let moved = |z: Complex<T>| Complex::new(z.re.add(T::of(mean)), z.im);
    let values: Vec<Complex<T>> = z.to_vec()?.into_iter().map(moved).collect();
    Array::from_slice(z.shape().clone(), &values)
}

/// Density `rate · exp(-rate · x)` for `x > 0`.
///
/// # Errors
/// `Runtime` if `rate` is not positive.
pub fn exponential(rng: &Generator, dtype: DType, shape: &Shape, rate: f64) -> Result<Array> {
    if rate.is_nan() || rate <= 0.0 {
        bail!(Runtime, "exponential(): exponential_ expects lambda > 0.0, but found lambda={rate}");
    }
    real_only("exponential", dtype)?;
    let factor = -1.0 / rate;
    let single = Exponential { factor: factor as f32, tiny: -f32::EPSILON / 4.0 };
    draw("exponential", rng, dtype, shape, StartOfDraw::Next, single, Exponential { factor, tiny: -f64::EPSILON / 4.0 })
}

/// Density `scale / (π · ((x - median)² + scale²))`.
///
/// # Errors
/// `Runtime` if `scale` is not positive.
pub fn cauchy(rng: &Generator, dtype: DType, shape: &Shape, median: f64, scale: f64) -> Result<Array> {
    if scale.is_nan() || scale <= 0.0 {
        bail!(Runtime, "cauchy(): cauchy_ expects sigma > 0.0, but found sigma={scale}");
    }
    real_only("cauchy", dtype)?;
    let single = Cauchy { median: median as f32, scale: scale as f32 };
    draw("cauchy", rng, dtype, shape, StartOfDraw::Next, single, Cauchy { median, scale })
}

/// The exponential of a normal variable with this mean and standard deviation.
///
/// # Errors
/// `Runtime` if `std` is not positive.
pub fn log_normal(rng: &Generator, dtype: DType, shape: &Shape, mean: f64, std: f64) -> Result<Array> {
    if std.is_nan() || std <= 0.0 {
        bail!(Runtime, "log_normal(): log_normal_ expects std > 0.0, but found std={std}");
    }
    real_only("log_normal", dtype)?;
    let single = LogNormal(Normal { mean: mean as f32, std: std as f32 });
    draw("log_normal", rng, dtype, shape, StartOfDraw::Next, single, LogNormal(Normal { mean, std }))
}

fn real_only(op: &str, dtype: DType) -> Result<()> {
    if dtype.is_float() { Ok(()) } else { Err(unsupported(op, dtype)) }
}
