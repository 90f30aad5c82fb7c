//! How gamma and beta variables move with their parameters.

use crate::dense::math::implicit::{beta_slope, gamma_share, gamma_slope};
use crate::dense::math::scalar::lgamma;
use std::f64::consts::TAU;

kernels! {
    /// The derivative of a gamma variable by its shape parameter.
    GAMMA_SLOPE(a, x) { float_serial => a.wide2(x, gamma_slope) }
    /// The distribution function of a gamma variable.
    GAMMA_SHARE(a, x) { float_serial => a.wide2(x, |a, x| gamma_share(a, x, poisson_at(a, x))) }
    /// The derivative of a beta variable by its first parameter.
    BETA_SLOPE(x, a, b) { float_serial => x.wide3(a, b, beta_slope) }
}

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
