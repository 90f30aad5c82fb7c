//! Random counts, each from one uniform number: which numbers give which count does not matter, only how many. How
//! other samples move with their parameters.

use crate::dense::math::implicit::{beta_slope, gamma_share, gamma_slope};
use crate::dense::math::scalar::{lgamma, ndtri};
use std::f64::consts::TAU;

kernels! {
    /// A Poisson distributed count for a uniform number.
    POISSON_COUNT(rate, u) { float_serial => rate.wide2(u, poisson) }
    /// A binomially distributed count for a uniform number.
    BINOMIAL_COUNT(n, p, u) { float_serial => n.wide3(p, u, binomial) }
    /// The derivative of a gamma variable by its shape parameter.
    GAMMA_SLOPE(a, x) { float_serial => a.wide2(x, gamma_slope) }
    /// The distribution function of a gamma variable.
    GAMMA_SHARE(a, x) { float_serial => a.wide2(x, |a, x| gamma_share(a, x, poisson_at(a, x))) }
    /// The derivative of a beta variable by its first parameter.
    BETA_SLOPE(x, a, b) { float_serial => x.wide3(a, b, beta_slope) }
}

/// Variances from which on counts come from the normal distribution, corrected for its skewness.
const MANY: f64 = 1e5;

/// `ln n! - ((n + 1/2) ln n - n + ln(2π) / 2)`, what Stirling's formula leaves.
fn rest(n: f64) -> f64 {
    if n < 16.0 {
        let factorial = (1..=n as u32).map(f64::from).product::<f64>();
        return factorial.ln() - ((n + 0.5) * n.ln() - n + 0.5 * TAU.ln());
    }
    let z = 1.0 / (n * n);
    (1.0 / 12.0 - z * (1.0 / 360.0 - z * (1.0 / 1260.0 - z / 1680.0))) / n
}

/// `x ln(x / y) + y - x` of numbers close to each other, without cancellation.
fn deviance(x: f64, y: f64) -> f64 {
    let v = (x - y) / (x + y);
    if v.abs() > 0.1 {
        return x * (x / y).ln() + y - x;
    }
    let (mut sum, mut power, square) = ((x - y) * v, 2.0 * x * v, v * v);
    for k in 1..1000 {
        power *= square;
        let next = sum + power / f64::from(2 * k + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

/// `xⁿ / (Γ(n + 1) eˣ)`.
#[inline(never)]
fn poisson_at(n: f64, x: f64) -> f64 {
    if n < 16.0 {
        return (n * x.ln() - x - lgamma(n + 1.0)).exp();
    }
    (-rest(n) - deviance(n, x)).exp() / (TAU * n).sqrt()
}

/// The count to which `u` leads if counts take their probabilities of it in turn, from the likeliest one outwards.
fn outwards(mode: f64, likeliest: f64, u: f64, most: f64, up: impl Fn(f64) -> f64, down: impl Fn(f64) -> f64) -> f64 {
    let (mut left, mut above, mut below) = (u - likeliest, likeliest, likeliest);
    let (mut high, mut low) = (mode, mode);
    if left < 0.0 {
        return mode;
    }
    while above > 0.0 || below > 0.0 {
        above = if high < most { above * up(high) } else { 0.0 };
        high += 1.0;
        left -= above;
        if left < 0.0 {
            return high;
        }
        below = if low > 0.0 { below * down(low) } else { 0.0 };
        low -= 1.0;
        left -= below;
        if left < 0.0 {
            return low;
        }
        if above + below < 1e-18 * likeliest {
            break;
        }
    }
    mode
}

/// A normal quantile with the skewness of counts, rounded.
fn about(mean: f64, deviation: f64, skew: f64, u: f64) -> f64 {
    let z = ndtri(u.max(f64::MIN_POSITIVE));
    (mean + deviation * z + skew * (z * z - 1.0) / 6.0).round_ties_even()
}

fn poisson(rate: f64, u: f64) -> f64 {
    if rate.is_nan() || rate < 0.0 {
        return f64::NAN;
    }
    if rate > MANY {
        return about(rate, rate.sqrt(), 1.0, u).max(0.0);
    }
    let mode = rate.floor();
    let likeliest = match mode {
        0.0 => (-rate).exp(),
        m => (-rest(m) - deviance(m, rate)).exp() / (TAU * m).sqrt(),
    };
    outwards(mode, likeliest, u, f64::INFINITY, |k| rate / (k + 1.0), |k| k / rate)
}

fn binomial(n: f64, p: f64, u: f64) -> f64 {
    if n.is_nan() || p.is_nan() {
        return f64::NAN;
    }
    let n = n.floor();
    if n <= 0.0 || p <= 0.0 {
        return 0.0;
    }
    if p >= 1.0 {
        return n;
    }
    if p > 0.5 {
        return n - binomial(n, 1.0 - p, u);
    }
    let q = 1.0 - p;
    if n * p * q > MANY {
        return about(n * p, (n * p * q).sqrt(), q - p, u).clamp(0.0, n);
    }
    let mode = ((n + 1.0) * p).floor().min(n);
    let likeliest = match mode {
        0.0 => (n * (-p).ln_1p()).exp(),
        m if m == n => (n * p.ln()).exp(),
        m => {
            let exponent = rest(n) - rest(m) - rest(n - m) - deviance(m, n * p) - deviance(n - m, n * q);
            exponent.exp() * (n / (TAU * m * (n - m))).sqrt()
        }
    };
    let odds = p / q;
    outwards(mode, likeliest, u, n, |k| (n - k) / (k + 1.0) * odds, |k| k / ((n - k + 1.0) * odds))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each count comes, of evenly spaced numbers, against its probability.
    fn agree(count: impl Fn(f64) -> f64, probability: impl Fn(f64) -> f64, range: std::ops::Range<i64>) {
        let n = 1 << 16;
        let mut seen = std::collections::BTreeMap::new();
        for i in 0..n {
            *seen.entry(count((i as f64 + 0.5) / n as f64) as i64).or_insert(0) += 1;
        }
        for k in range {
            let got = *seen.get(&k).unwrap_or(&0) as f64 / n as f64;
            let want = probability(k as f64);
            assert!((got - want).abs() < 3.0 / n as f64, "{k}: {got} {want}");
        }
    }

    fn ln_factorial(n: f64) -> f64 {
        crate::dense::math::scalar::lgamma(n + 1.0)
    }

    #[test]
    fn counts_come_as_often_as_they_should() {
        for rate in [0.0f64, 0.3, 1.0, 7.5, 120.0] {
            let p =
                |k: f64| if rate == 0.0 { f64::from(k == 0.0) } else { (k * rate.ln() - rate - ln_factorial(k)).exp() };
            agree(|u| poisson(rate, u), p, 0..200);
        }
        for (n, p) in [(1.0f64, 0.5f64), (7.0, 0.2), (7.0, 0.9), (400.0, 0.4), (400.0, 0.001)] {
            let choose = |k: f64| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
            let probability =
                |k: f64| if k > n { 0.0 } else { (choose(k) + k * p.ln() + (n - k) * (1.0 - p).ln()).exp() };
            agree(|u| binomial(n, p, u), probability, 0..400);
        }
    }

    #[test]
    fn large_counts_have_the_moments_of_their_law() {
        let n = 1 << 14;
        let moments = |f: &dyn Fn(f64) -> f64| {
            let all: Vec<f64> = (0..n).map(|i| f((f64::from(i) + 0.5) / f64::from(n))).collect();
            let mean = all.iter().sum::<f64>() / f64::from(n);
            (mean, all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n))
        };
        let (mean, variance) = moments(&|u| poisson(1e9, u));
        assert!((mean - 1e9).abs() < 10.0 && (variance / 1e9 - 1.0).abs() < 2e-3);
        let (mean, variance) = moments(&|u| binomial(1e15, 1e-12, u));
        assert!((mean - 1e3).abs() < 0.1 && (variance / 1e3 - 1.0).abs() < 3e-3);
        assert!(poisson(-1.0, 0.5).is_nan() && binomial(f64::NAN, 0.5, 0.5).is_nan());
        assert_eq!((binomial(5.0, 1.5, 0.5), binomial(-1.0, 0.5, 0.5), binomial(5.0, -1.0, 0.5)), (5.0, 0.0, 0.0));
    }
}
