//! Distributions that try until a candidate is accepted, one element after the other.

use super::continuous::unsupported;
use super::generator::{Engine, Generator};
use super::math::SampleFloat;
use crate::base::shape::broadcast2;
use crate::base::{DType, Result};
use crate::dense::copy::Convert;
use crate::dense::math::scalar::lgamma;
use crate::dense::{Array, copy, threads};
use crate::{bail, match_dtype};

/// Elements between which other draws have their turn, and work may be given up.
const TURN: usize = 64;

/// One sample per element of `params`, whose dtype and shape the result has.
fn draw<P>(rng: &Generator, like: &Array, params: &[P], sample: impl Fn(&mut Engine, &P) -> f64) -> Result<Array> {
    match_dtype!(like.dtype(), T => Array::build::<T>(like.shape().clone(), |out| {
        for (out, params) in out.chunks_mut(TURN).zip(params.chunks(TURN)) {
            threads::cancellation_point();
            rng.with(|e| out.iter_mut().zip(params).for_each(|(o, p)| *o = T::of_f64(sample(e, p))));
        }
    }))
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
            "poisson(): invalid Poisson rate, expected rate to be non-negative, got {bad}; give rates such as those of exp()"
        );
    }
    draw(rng, rates, &params, |words, &rate| if rate < 10.0 { few(words, rate) } else { many(words, rate) })
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
        if (v * inverse_alpha / (a / (us * us) + b)).ln() <= k * log_rate - rate - lgamma(k + 1.0) {
            return k;
        }
    }
}

/// The number of successes among `count` trials of probability `prob`, each broadcast against the other. The result
/// has the dtype of `count`.
///
/// # Errors
/// `Runtime` if a count is negative, or if a probability is outside `[0, 1]`; `NotImplemented` if they are not floats.
pub fn binomial(rng: &Generator, count: &Array, prob: &Array) -> Result<Array> {
    let shape = broadcast2("binomial", count.shape(), prob.shape())?;
    let (count, prob) = (count.expand(&shape)?, prob.expand(&shape)?);
    let params: Vec<(f64, f64)> =
        floats("binomial", &count)?.into_iter().map(f64::floor).zip(floats("binomial", &prob)?).collect();
    for &(n, p) in &params {
        if !(n >= 0.0 && n.is_finite()) {
            bail!(Runtime, "binomial(): argument 'count' must be a non-negative number, got {n}");
        }
        if !(0.0..=1.0).contains(&p) {
            bail!(Runtime, "binomial(): argument 'prob' must be in [0, 1], got {p}");
        }
    }
    draw(rng, &count, &params, |words, &(n, p)| {
        // Failures are counted where they are the rarer: both methods ask for p <= 1/2.
        if p <= 0.5 { successes(words, n, p) } else { n - successes(words, n, 1.0 - p) }
    })
}

/// Uniform in (0, 1).
fn positive(words: &mut Engine) -> f64 {
    words.uniform().max(f64::EPSILON / 4.0)
}

fn successes(words: &mut Engine, n: f64, p: f64) -> f64 {
    if n == 0.0 || p == 0.0 {
        return 0.0;
    }
    if n * p >= 10.0 {
        return many_successes(words, n, p);
    }
    // The distances between successes are geometric.
    let (log_q, mut trials, mut found) = ((-p).ln_1p(), 0.0, 0.0);
    loop {
        trials += (SampleFloat::ln(positive(words)) / log_q).ceil();
        if trials > n {
            return found;
        }
        found += 1.0;
    }
}

/// The transformed rejection method BTRS of Hörmann (1993), for `p <= 1/2` and `n·p >= 10`.
fn many_successes(words: &mut Engine, n: f64, p: f64) -> f64 {
    let deviation = (n * p * (1.0 - p)).sqrt();
    let b = 1.15 + 2.53 * deviation;
    let a = -0.0873 + 0.0248 * b + 0.01 * p;
    let c = n * p + 0.5;
    let accept = 0.92 - 4.2 / b;
    let alpha = (2.83 + 5.1 / b) * deviation;
    let mode = ((n + 1.0) * p).floor();
    let log_odds = (p / (1.0 - p)).ln();
    let at_mode = lgamma(mode + 1.0) + lgamma(n - mode + 1.0);
    loop {
        let (u, v) = (words.uniform() - 0.5, words.uniform());
        let us = 0.5 - u.abs();
        let k = ((2.0 * a / us + b) * u + c).floor();
        if us >= 0.07 && v <= accept {
            return k;
        }
        if k < 0.0 || k > n {
            continue;
        }
        let bound = at_mode - lgamma(k + 1.0) - lgamma(n - k + 1.0) + (k - mode) * log_odds;
        if (v * alpha / (a / (us * us) + b)).ln() <= bound {
            return k;
        }
    }
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
    draw(rng, alpha, &params, |words, &a| gamma(words, a).max(tiny))
}

fn gamma(words: &mut Engine, alpha: f64) -> f64 {
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
