//! Distributions that try until a candidate is accepted, one element after the other.

use super::continuous::unsupported;
use super::generator::{Engine, Generator};
use super::math::SampleFloat;
use crate::bail;
use crate::base::{DType, Result, Scalar};
use crate::dense::math::scalar::lgamma;
use crate::dense::{Array, copy, threads};
use std::f64::consts::TAU;

/// Elements between which other draws have their turn, and work may be given up.
const TURN: usize = 64;

/// One sample per element of `like`, whose dtype and shape the result has.
fn draw<P>(rng: &Generator, like: &Array, params: &[P], sample: &dyn Fn(&mut Engine, &P) -> f64) -> Result<Array> {
    let wide = Array::build::<f64>(like.shape().clone(), |out| {
        for (out, params) in out.chunks_mut(TURN).zip(params.chunks(TURN)) {
            threads::cancellation_point();
            rng.with(|e| out.iter_mut().zip(params).for_each(|(o, p)| *o = sample(e, p)));
        }
    })?;
    copy::cast(&wide, like.dtype())
}

fn floats(op: &str, a: &Array) -> Result<Vec<f64>> {
    if a.dtype().is_float() { copy::cast(a, DType::F64)?.to_vec() } else { Err(unsupported(op, a.dtype())) }
}

/// A Poisson count for each rate.
///
/// # Errors
/// `Runtime` if a rate is negative or not a number; `NotImplemented` if they are not floats.
pub fn poisson(rng: &Generator, rates: &Array) -> Result<Array> {
    let params = floats("poisson", rates)?;
    if let Some(bad) = params.iter().find(|r| r.is_nan() || **r < 0.0) {
        bail!(
            Runtime,
            "poisson(): invalid Poisson rate, expected rate to be non-negative, got {bad}; abs() or clamp() the rates"
        );
    }
    draw(rng, rates, &params, &|words, &rate| match rate {
        0.0 => 0.0,
        r if r < 10.0 => few(words, r),
        r => many(words, r),
    })
}

/// Knuth's method: as many uniform factors as it takes to fall below `exp(-rate)`.
fn few(words: &mut Engine, rate: f64) -> f64 {
    let floor = SampleFloat::exp(-rate);
    let (mut count, mut product) = (0.0, words.uniform());
    while product > floor {
        count += 1.0;
        product *= words.uniform();
    }
    count
}

/// The transformed rejection method PTRS of Hörmann (1993), for rates from 10.
fn many(words: &mut Engine, rate: f64) -> f64 {
    if rate.is_infinite() {
        return rate;
    }
    let log_rate = rate.ln();
    let b = 0.931 + 2.53 * rate.sqrt();
    let a = -0.059 + 0.02483 * b;
    let inverse_alpha = 1.1239 + 1.1328 / (b - 3.4);
    let accept = 0.9277 - 3.6224 / (b - 2.0);
    loop {
        let (u, v) = (words.uniform() - 0.5, words.uniform());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + rate + 0.43).floor();
        // Most points lie in the box where no logarithm is needed.
        if us >= 0.07 && v <= accept {
            return k;
        }
        if k < 0.0 || (us < 0.013 && v > us) {
            continue;
        }
        let bound = -rate + k * log_rate - lgamma(k + 1.0);
        if v.ln() + inverse_alpha.ln() - (a / (us * us) + b).ln() <= bound {
            return k;
        }
    }
}

/// The number of successes among `count` trials of probability `prob`, which have one shape, in the dtype of `count`:
/// none of less than one trial, and NaN where a parameter is.
///
/// # Errors
/// `NotImplemented` if they are not floats.
pub fn binomial(rng: &Generator, count: &Array, prob: &Array) -> Result<Array> {
    let params: Vec<(f64, f64)> =
        floats("binomial", count)?.into_iter().map(f64::floor).zip(floats("binomial", prob)?).collect();
    // PyTorch computes in the dtype, so that it decides what is accepted.
    let round: fn(f64) -> f64 = if count.dtype() == DType::F64 { |x| x } else { |x| f64::from(x as f32) };
    draw(rng, count, &params, &|words, &(n, p)| {
        if n.is_nan() || p.is_nan() {
            f64::NAN
        } else if n <= 0.0 || p <= 0.0 {
            0.0
        } else if p >= 1.0 {
            n
        } else if p <= 0.5 {
            successes(words, n, p, round)
        } else {
            // Failures are counted where they are the rarer: both methods ask for p <= 1/2.
            n - successes(words, n, round(1.0 - p), round)
        }
    })
}

fn successes(words: &mut Engine, n: f64, p: f64, round: fn(f64) -> f64) -> f64 {
    if round(n * p) >= 10.0 {
        return many_successes(words, n, p, round);
    }
    // The distances between successes are geometric.
    let (log_q, mut trials, mut found) = (round((-p).ln_1p()), 0.0, 0.0);
    loop {
        trials += (words.uniform().ln() / log_q).ceil();
        if trials > n {
            return found;
        }
        found += 1.0;
    }
}

/// `ln k! - ((k + 1/2) ln(k + 1) - (k + 1) + ln(2π) / 2)`.
fn correction(k: f64) -> f64 {
    let next = k + 1.0;
    if k <= 9.0 {
        return lgamma(next) - ((k + 0.5) * next.ln() - next + 0.5 * TAU.ln());
    }
    let z = 1.0 / (next * next);
    (1.0 / 12.0 - (1.0 / 360.0 - z / 1260.0) * z) / next
}

/// The transformed rejection method BTRS of Hörmann (1993), for `p <= 1/2` and `n·p >= 10`.
fn many_successes(words: &mut Engine, n: f64, p: f64, round: fn(f64) -> f64) -> f64 {
    let (mean, q) = (round(n * p), round(1.0 - p));
    let deviation = round(round(mean * q).sqrt());
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = mean + 0.5;
    let accept = 0.92 - 4.2 / b;
    let odds = round(p / q);
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = round(round(n + 1.0) * p).floor();
    loop {
        let (u, v) = (words.uniform() - 0.5, words.uniform());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if k < 0.0 || k > n {
            continue;
        }
        if us >= 0.07 && v <= accept {
            return k;
        }
        let (above, mode_above) = (n - k + 1.0, n - mode + 1.0);
        let bound = (mode + 0.5) * ((mode + 1.0) / (odds * mode_above)).ln()
            + (n + 1.0) * (mode_above / above).ln()
            + (k + 0.5) * (odds * above / (k + 1.0)).ln()
            + correction(mode)
            + correction(n - mode)
            - correction(k)
            - correction(n - k);
        if (v * alpha / (a / (us * us) + b)).ln() <= bound {
            return k;
        }
    }
}

/// For each element that is not positive a number from `[low, high)`, and 1 for the others, which draw none.
///
/// # Errors
/// `NotImplemented` if they are not floats.
pub fn leaks(rng: &Generator, x: &Array, low: f64, high: f64) -> Result<Array> {
    let params = floats("rrelu", x)?;
    let in_dtype =
        |end: f64| Ok(copy::cast(&Array::scalar(x.dtype(), Scalar::Float(end)), DType::F64)?.item()?.as_f64());
    let (low, high): (f64, f64) = (in_dtype(low)?, in_dtype(high)?);
    draw(rng, x, &params, &|words, &x| if x <= 0.0 { words.uniform() * (high - low) + low } else { 1.0 })
}

/// A gamma variable of scale 1 for each shape parameter `alpha` (Marsaglia and Tsang, 2000).
///
/// # Errors
/// `Runtime` if an `alpha` is negative; `NotImplemented` if they are not floats.
pub fn standard_gamma(rng: &Generator, alpha: &Array) -> Result<Array> {
    let params = floats("standard_gamma", alpha)?;
    if let Some(bad) = params.iter().find(|a| a.is_nan() || **a < 0.0) {
        bail!(Runtime, "_standard_gamma(): argument 'input' must be positive, got {bad}; take its exp() or softplus()");
    }
    let tiny = match alpha.dtype() {
        DType::F64 => f64::MIN_POSITIVE,
        DType::F16 => half::f16::MIN_POSITIVE.to_f64(),
        _ => f64::from(f32::MIN_POSITIVE),
    };
    draw(rng, alpha, &params, &|words, &a| gamma(words, a).max(tiny))
}

fn gamma(words: &mut Engine, alpha: f64) -> f64 {
    if alpha.is_infinite() {
        return alpha;
    }
    // Below 1: one higher, times a power of a uniform variable.
    let (alpha, scale) = if alpha < 1.0 {
        (alpha + 1.0, SampleFloat::exp(SampleFloat::ln(1.0 - words.uniform()) / alpha))
    } else {
        (alpha, 1.0)
    };
    // PyTorch takes the third in single precision.
    let d = alpha - f64::from(1.0f32 / 3.0);
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = words.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if SampleFloat::ln(1.0 - words.uniform()) < 0.5 * x * x + d * (1.0 - v + SampleFloat::ln(v)) {
            return scale * d * v;
        }
    }
}
