//! Distributions over the real numbers.

use super::fill::{drawn, fill, fill_with};
use super::generator::{Engine, Generator};
use super::kernels::{Cauchy, Exponential, Normal, PAIRED, Sampler, Uniform};
use super::math::SampleFloat;
use crate::base::{DType, Element, Error, Result, Shape};
use crate::dense::Array;
use crate::dense::copy::Convert;
use crate::{bail, match_dtype};
use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use num_complex::Complex;

/// Elements between which a serial draw lets others have their turn.
const TURN: usize = 64;

/// Draws a float or complex array: 32-bit and narrower types from `single`, the others from `double`. Complex
/// elements take two samples each.
fn draw<A, B>(op: &str, rng: &Generator, dtype: DType, shape: &Shape, single: A, double: B) -> Result<Array>
where
    A: Sampler<Out = f32>,
    B: Sampler<Out = f64>,
{
    let shape = shape.clone();
    // SAFETY: the fills write each element, and read none.
    unsafe {
        match dtype {
            DType::F32 => drawn(shape, |out| fill(rng, &single, out)),
            DType::F64 => drawn(shape, |out| fill(rng, &double, out)),
            DType::C64 => drawn(shape, |out: &mut [Complex<f32>]| fill(rng, &single, parts_of(out))),
            DType::C128 => drawn(shape, |out: &mut [Complex<f64>]| fill(rng, &double, parts_of(out))),
            DType::F16 => drawn(shape, |out: &mut [f16]| {
                fill_with(rng, &single, out, |_, x, out| out.convert_from_f32_slice(x));
            }),
            DType::BF16 => drawn(shape, |out: &mut [bf16]| {
                fill_with(rng, &single, out, |_, x, out| out.convert_from_f32_slice(x));
            }),
            _ => Err(unsupported(op, dtype)),
        }
    }
}

/// Draws a float array whose numbers are computed in double precision.
fn draw_double<B: Sampler<Out = f64>>(
    op: &str,
    rng: &Generator,
    dtype: DType,
    shape: &Shape,
    body: &B,
) -> Result<Array> {
    let convert = |_: usize, x: &[f64], out: &mut [f32]| out.iter_mut().zip(x).for_each(|(o, &x)| *o = x as f32);
    // SAFETY: the fills write each element, and read none.
    unsafe {
        match dtype {
            DType::F64 => drawn(shape.clone(), |out| fill(rng, body, out)),
            DType::F32 => drawn(shape.clone(), |out| fill_with(rng, body, out, convert)),
            DType::F16 => drawn(shape.clone(), |out: &mut [f16]| {
                fill_with(rng, body, out, |_, x, out| out.convert_from_f64_slice(x));
            }),
            DType::BF16 => drawn(shape.clone(), |out: &mut [bf16]| {
                fill_with(rng, body, out, |_, x, out| out.convert_from_f64_slice(x));
            }),
            _ => Err(unsupported(op, dtype)),
        }
    }
}

/// Fills with one number after the other.
fn serial<T: Convert>(rng: &Generator, out: &mut [T], next: impl Fn(&mut Engine) -> f64) {
    for some in out.chunks_mut(TURN) {
        rng.with(|e| some.iter_mut().for_each(|o| *o = T::of_f64(next(e))));
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

/// Uniform in `[low, high)`, in steps of `2^-24` of the interval, `2^-53` in double precision, and rounded to narrower
/// types. Complex elements get two independent parts.
///
/// # Errors
/// `Runtime` if `low > high`, or if the length of the interval is not a finite number of the dtype.
pub fn uniform(rng: &Generator, dtype: DType, shape: &Shape, low: f64, high: f64) -> Result<Array> {
    let (_, max) = digits_and_max(dtype);
    if low.is_nan() || high.is_nan() || low > high {
        bail!(Runtime, "uniform(): expects to return a [from, to) range, but found from={low} > to={high}; swap them");
    }
    if (high - low).is_nan() || high - low > max {
        bail!(Runtime, "uniform(): expects to-from <= {max:e} for dtype {dtype}, but found from={low} and to={high}");
    }
    let end = first_rounded_to(dtype, high);
    let single = Uniform { scale: high as f32 - low as f32, low: low as f32, end: end as f32 };
    draw("uniform", rng, dtype, shape, single, Uniform { scale: high - low, low, end })
}

/// The least single (or double) precision number that the dtype rounds to `high`.
fn first_rounded_to(dtype: DType, high: f64) -> f64 {
    // Half of the distance to the number below: a tie goes to the one whose last bit is 0.
    let (high, below, is_even) = match dtype.real() {
        DType::F16 => (
            f16::from_f64(high).to_f64(),
            f16_below(f16::from_f64(high)).to_f64(),
            f16::from_f64(high).to_bits() & 1 == 0,
        ),
        DType::BF16 => (
            bf16::from_f64(high).to_f64(),
            bf16_below(bf16::from_f64(high)).to_f64(),
            bf16::from_f64(high).to_bits() & 1 == 0,
        ),
        DType::F32 => return f64::from(high as f32),
        _ => return high,
    };
    let middle = (high + below) / 2.0;
    if is_even { middle } else { f64::from((middle as f32).next_up()) }
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
    if std.is_nan() || std < 0.0 {
        bail!(Runtime, "normal(): expects std >= 0.0, but found std {std}; give its absolute value");
    }
    let shape = shape.clone();
    let half = std * std::f64::consts::FRAC_1_SQRT_2;
    // SAFETY: the fills write each element, and read none.
    let z = unsafe {
        match dtype {
            DType::F32 => return drawn(shape, |out: &mut [f32]| normal_fill(rng, out, mean, std)),
            DType::F64 => return drawn(shape, |out: &mut [f64]| normal_fill(rng, out, mean, std)),
            DType::F16 => return drawn(shape, |out: &mut [f16]| normal_blocks(rng, out, mean, std)),
            DType::BF16 => return drawn(shape, |out: &mut [bf16]| normal_blocks(rng, out, mean, std)),
            DType::C64 => drawn(shape, |out: &mut [Complex<f32>]| normal_fill(rng, parts_of(out), 0.0, half)),
            DType::C128 => drawn(shape, |out: &mut [Complex<f64>]| normal_fill(rng, parts_of(out), 0.0, half)),
            _ => return Err(unsupported("normal", dtype)),
        }?
    };
    match dtype {
        _ if mean == 0.0 => Ok(z),
        DType::C64 => shift::<f32>(&z, mean),
        _ => shift::<f64>(&z, mean),
    }
}

/// Normal numbers one after the other, as a tensor that is not in row-major order is filled.
///
/// # Errors
/// Those of [`normal`]; `NotImplemented` for dtypes that are not real.
pub fn normal_one_by_one(rng: &Generator, dtype: DType, shape: &Shape, mean: f64, std: f64) -> Result<Array> {
    if dtype.is_complex() || shape.numel() < PAIRED || std.is_nan() || std < 0.0 {
        return normal(rng, dtype, shape, mean, std);
    }
    one_by_one("normal", rng, dtype, shape, |e| e.normal() * std + mean)
}

fn one_by_one(
    op: &str,
    rng: &Generator,
    dtype: DType,
    shape: &Shape,
    next: impl Fn(&mut Engine) -> f64,
) -> Result<Array> {
    if !dtype.is_float() {
        return Err(unsupported(op, dtype));
    }
    // SAFETY: the fill writes each element, and reads none.
    match_dtype!(dtype, T => unsafe { drawn::<T>(shape.clone(), |out| serial(rng, out, next)) })
}

/// Fewer than a block are pairs from one number after the other. Of more, those behind the last whole block are drawn once
/// more together with as many before them as make a block.
fn normal_fill<T: SampleFloat + Convert + Default>(rng: &Generator, out: &mut [T], mean: f64, std: f64) {
    if out.len() < PAIRED {
        return serial(rng, out, |e| e.normal() * std + mean);
    }
    let body = Normal { mean: T::of(mean), std: T::of(std) };
    fill(rng, &body, out);
    if !out.len().is_multiple_of(PAIRED) {
        let last = out.len() - PAIRED;
        fill(rng, &body, &mut out[last..]);
    }
}

/// The same in half precision, which draws nothing for an incomplete block.
fn normal_blocks<T: Convert>(rng: &Generator, out: &mut [T], mean: f64, std: f64) {
    if out.len() < PAIRED {
        return serial(rng, out, |e| e.normal() * std + mean);
    }
    let body = Normal { mean: mean as f32, std: std as f32 };
    let convert = |_: usize, x: &[f32], out: &mut [T]| {
        out.iter_mut().zip(x).for_each(|(o, &x)| *o = T::of_f64(f64::from(x)));
    };
    let (whole, last) = (out.len() / PAIRED * PAIRED, out.len() - PAIRED);
    fill_with(rng, &body, &mut out[..whole], convert);
    if last + PAIRED != whole {
        fill_with(rng, &body, &mut out[last..], convert);
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
        bail!(Runtime, "exponential(): expects lambda > 0.0, but found lambda={rate}; give a positive rate");
    }
    draw_double("exponential", rng, dtype, shape, &Exponential { factor: -1.0 / rate, tiny: -f64::EPSILON / 4.0 })
}

/// Density `scale / (π · ((x - median)² + scale²))`.
///
/// # Errors
/// `Runtime` if `scale` is not positive.
pub fn cauchy(rng: &Generator, dtype: DType, shape: &Shape, median: f64, scale: f64) -> Result<Array> {
    if scale.is_nan() || scale <= 0.0 {
        bail!(Runtime, "cauchy(): expects sigma > 0.0, but found sigma={scale}; give a positive scale");
    }
    draw_double("cauchy", rng, dtype, shape, &Cauchy { median, scale, tiny: f64::EPSILON / 4.0 })
}

/// The exponential of a normal variable with this mean and standard deviation.
///
/// # Errors
/// `Runtime` if `std` is not positive.
pub fn log_normal(rng: &Generator, dtype: DType, shape: &Shape, mean: f64, std: f64) -> Result<Array> {
    if std.is_nan() || std <= 0.0 {
        bail!(Runtime, "log_normal(): expects std > 0.0, but found std={std}; give a positive deviation");
    }
    one_by_one("log_normal", rng, dtype, shape, |e| SampleFloat::exp(e.normal() * std + mean))
}
