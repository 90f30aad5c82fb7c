//! Distributions over the integers.

use super::continuous::{digits_and_max, unsupported};
use super::fill::{drawn, fill_with, words};
use super::generator::Generator;
use super::kernels::{Uniform, Waiting, Words64};
use super::math::SampleFloat;
use crate::base::{DType, Element, Result, Shape};
use crate::dense::copy::Convert;
use crate::dense::{Array, Buffer, memory, threads};
use crate::{bail, match_dtype};

/// Ranges below this size take 32 bits per element, as in PyTorch: probabilities are off by `2^-4` of themselves at most.
const NARROW: u64 = 1 << 28;

/// Uniform integers in `[low, high)`, as elements of any real dtype.
///
/// # Errors
/// `Runtime` if the range is empty or leaves the dtype's.
pub fn randint(rng: &Generator, dtype: DType, shape: &Shape, low: i64, high: i64) -> Result<Array> {
    if low >= high {
        bail!(Runtime, "randint(): expects 'from' to be less than 'to', but got from={low} >= to={high}; swap them");
    }
    integers(rng, dtype, shape, low, high - 1)
}

/// Uniform integers in `[low, last]`, both included; the range may be that of all 64-bit integers.
///
/// # Errors
/// `Runtime` if the range is empty or leaves the dtype's.
pub fn integers(rng: &Generator, dtype: DType, shape: &Shape, low: i64, last: i64) -> Result<Array> {
    if low > last {
        bail!(Runtime, "randint(): expects 'from' to be at most the last value, but got {low} > {last}");
    }
    let (min, max) = bounds(dtype).ok_or_else(|| unsupported("randint", dtype))?;
    for (name, value) in [("from", low), ("to - 1", last)] {
        if i128::from(value) < min || i128::from(value) > max {
            bail!(Runtime, "randint(): {name} is out of bounds for {dtype}: expected {min} to {max}, got {value}");
        }
    }
    // Zero stands for 2^64.
    let range = (last.wrapping_sub(low) as u64).wrapping_add(1);
    remainders(rng, dtype, shape, low, range, (1..NARROW).contains(&range))
}

/// What is left of random bits divided by `range`, from `low` on. `narrow`: 32 bits each. A range of zero stands for
/// `2^64`.
fn remainders(rng: &Generator, dtype: DType, shape: &Shape, low: i64, range: u64, narrow: bool) -> Result<Array> {
    // SAFETY: the fill writes each element, and reads none.
    match_dtype!(dtype, T => unsafe { drawn::<T>(shape.clone(), |out| {
        if narrow {
            let range = range as u32;
            words(rng, 1, out, |_, words, out| {
                for (o, &w) in out.iter_mut().zip(words) {
                    *o = T::of_i64(low + i64::from(w % range));
                }
            });
        } else {
            fill_with(rng, &Words64, out, |_, words, out| {
                for (o, &w) in out.iter_mut().zip(words) {
                    *o = T::of_i64(low.wrapping_add(w.checked_rem(range).unwrap_or(w) as i64));
                }
            });
        }
    }) })
}

/// Uniform integers from 0 on: all that the dtype has, and of a float type those that it holds exactly.
///
/// # Errors
/// `NotImplemented` for complex dtypes.
pub fn anything(rng: &Generator, dtype: DType, shape: &Shape) -> Result<Array> {
    let Some((_, most)) = bounds(dtype) else { return Err(unsupported("random", dtype)) };
    let range = if dtype.is_float() { (1 << digits_and_max(dtype).0) + 1 } else { most as u64 + 1 };
    remainders(rng, dtype, shape, 0, range, range <= 1 << 31)
}

/// The integers that a real dtype can hold, roughly for floats: their finite range.
fn bounds(dtype: DType) -> Option<(i128, i128)> {
    Some(match dtype {
        DType::Bool => (0, 1),
        DType::U8 => (0, u8::MAX.into()),
        DType::I8 => (i8::MIN.into(), i8::MAX.into()),
        DType::I16 => (i16::MIN.into(), i16::MAX.into()),
        DType::I32 => (i32::MIN.into(), i32::MAX.into()),
        DType::I64 => (i64::MIN.into(), i64::MAX.into()),
        DType::C64 | DType::C128 => return None,
        _ => {
            let max = digits_and_max(dtype).1 as i128;
            (-max, max)
        }
    })
}

/// A random permutation of `0..n` (Fisher and Yates).
///
/// # Errors
/// `Runtime` if `n` is negative, or larger than the dtype can count exactly.
pub fn randperm(rng: &Generator, n: i64, dtype: DType) -> Result<Array> {
    if n < 0 {
        bail!(Runtime, "randperm(): argument 'n' must be non-negative, got {n}");
    }
    let most = if dtype.is_float() { 1 << digits_and_max(dtype).0 } else { bounds(dtype).map_or(0, |b| b.1) };
    if dtype == DType::Bool || dtype.is_complex() {
        return Err(unsupported("randperm", dtype));
    }
    if i128::from(n) - 1 > most {
        bail!(
            Runtime,
            "randperm(): n is too large for result tensor type {dtype}: got {n}, its largest index is {most}; give \
             dtype=int64"
        );
    }
    let shape = Shape::from([n as usize]);
    match_dtype!(dtype, T => {
        // Short indices keep more of the shuffle in the cache.
        if n <= i64::from(u32::MAX) {
            permutation::<u32, T>(rng, shape, |i| i as u32, |i| T::of_i64(i64::from(i)))
        } else {
            permutation::<i64, T>(rng, shape, |i| i as i64, T::of_i64)
        }
    })
}

fn permutation<I: Copy, T: Element>(
    rng: &Generator,
    shape: Shape,
    make: impl Fn(usize) -> I,
    finish: impl Fn(I) -> T,
) -> Result<Array> {
    let bytes = shape.numel().saturating_mul(size_of::<I>());
    memory::check_available(bytes)?;
    let scratch = Buffer::alloc(bytes)?;
    Array::build::<T>(shape, |out| {
        let n = out.len();
        // SAFETY: the block holds n indices, aligned, ours alone, and all are written before they are read.
        let order = unsafe { std::slice::from_raw_parts_mut(scratch.ptr().cast::<I>(), n) };
        for (i, o) in order.iter_mut().enumerate() {
            *o = make(i);
        }
        let mut words = [0; 512];
        for i in 0..n.saturating_sub(1) {
            if i % (1 << 14) == 0 && i > 0 {
                threads::cancellation_point();
            }
            if i % words.len() == 0 {
                let rest = words.len().min(n - 1 - i);
                rng.fill(&mut words[..rest]);
            }
            let j = i + words[i % words.len()] as usize % (n - i);
            order.swap(i, j);
        }
        for (o, &mut i) in out.iter_mut().zip(order) {
            *o = finish(i);
        }
    })
}

/// One or zero, one with the probability that `probs` has at the same place; dtype and shape of `probs`.
///
/// # Errors
/// `Runtime` if a probability is outside `[0, 1]`; `NotImplemented` if they are not floats.
pub fn bernoulli(rng: &Generator, probs: &Array) -> Result<Array> {
    let probs = probs.contiguous()?;
    match probs.dtype() {
        DType::F64 => bernoulli_of::<f64, f64>(rng, &probs, |p| p),
        DType::F32 => bernoulli_of::<f32, f32>(rng, &probs, |p| p),
        DType::F16 => bernoulli_of::<half::f16, f32>(rng, &probs, half::f16::to_f32),
        DType::BF16 => bernoulli_of::<half::bf16, f32>(rng, &probs, half::bf16::to_f32),
        d => Err(unsupported("bernoulli", d)),
    }
}

/// Uniform in [0, 1).
fn unit<T: SampleFloat>() -> Uniform<T> {
    Uniform { scale: T::of(1.0), low: T::of(0.0), end: T::of(1.0) }
}

fn bernoulli_of<T: Convert, U: SampleFloat + Default>(
    rng: &Generator,
    probs: &Array,
    chance: impl Fn(T) -> U + Sync,
) -> Result<Array> {
    let Some(p) = probs.as_slice::<T>() else { bail!(Internal, "contiguous() gave a strided array") };
    if let Some(bad) = p.iter().find(|p| !(0.0..=1.0).contains(&p.to_f64())) {
        bail!(Runtime, "bernoulli(): Expected p_in >= 0 && p_in <= 1 to be true, but got {}", bad.to_f64());
    }
    // SAFETY: the fill writes each element, and reads none.
    unsafe {
        drawn::<T>(probs.shape().clone(), |out| {
            fill_with(rng, &unit::<U>(), out, |at, u, out| {
                for (o, (&u, &p)) in out.iter_mut().zip(u.iter().zip(&p[at..])) {
                    *o = if u < chance(p) { T::one() } else { T::zero() };
                }
            });
        })
    }
}

/// One with probability `p`, else zero, in any dtype.
///
/// # Errors
/// `Runtime` if `p` is outside `[0, 1]`.
pub fn bernoulli_with(rng: &Generator, dtype: DType, shape: &Shape, p: f64) -> Result<Array> {
    if !(0.0..=1.0).contains(&p) {
        bail!(Runtime, "bernoulli(): expects p to be in [0, 1], but got p={p}; it is a probability");
    }
    // SAFETY: the fill writes each element, and reads none.
    match_dtype!(dtype, T => unsafe { drawn::<T>(shape.clone(), |out| {
        let (zero, one) = (T::zero(), T::one());
        fill_with(rng, &unit::<f64>(), out, |_, u, out| {
            for (o, &u) in out.iter_mut().zip(u) {
                *o = if u < p { one } else { zero };
            }
        });
    }) })
}

/// The number of trials up to the first success, at least 1, in any number dtype.
///
/// # Errors
/// `Runtime` unless `0 < p < 1`.
pub fn geometric(rng: &Generator, dtype: DType, shape: &Shape, p: f64) -> Result<Array> {
    if !(p > 0.0 && p < 1.0) {
        bail!(Runtime, "geometric(): expects p to be in (0, 1), but got p={p}; it is a probability");
    }
    if dtype == DType::Bool || dtype.is_complex() {
        return Err(unsupported("geometric", dtype));
    }
    let body = Waiting { factor: 1.0 / (-p).ln_1p(), tiny: f64::EPSILON / 4.0 };
    // SAFETY: the fill writes each element, and reads none.
    match_dtype!(dtype, T => unsafe { drawn::<T>(shape.clone(), |out| {
        fill_with(rng, &body, out, |_, times, out| {
            for (o, &t) in out.iter_mut().zip(times) {
                *o = T::of_f64(round_up(t));
            }
        });
    }) })
}

/// `ceil` of a positive number, at least 1; inline where the instruction set has no rounding.
#[inline]
fn round_up(x: f64) -> f64 {
    let whole = x as i64 as f64;
    (if whole < x { whole + 1.0 } else { whole }).max(1.0)
}
