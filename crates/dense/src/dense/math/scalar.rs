//! Functions computed one element at a time in double precision.

use super::error_function;
use super::fp::horner;
use super::log;
use std::f64::consts::{LN_2, PI, SQRT_2};

/// sin(πx), exact at multiples of one half.
pub fn sin_pi(x: f64) -> f64 {
    let n = x.round_ties_even();
    let s = ((x - n) * PI).sin();
    if n * 0.5 == (n * 0.5).trunc() { s } else { -s }
}

/// cot(πx) for x that is not an integer.
fn cot_pi(x: f64) -> f64 {
    let r = x - x.round_ties_even();
    if r.abs() < 0.25 { 1.0 / (PI * r).tan() } else { (PI * (0.5f64.copysign(r) - r)).tan() }
}

/// ln Γ(2 + u) / u on |u| ≤ 1/2; a minimax fit of our own.
const LGAMMA_2: [f64; 19] = [
    0.422784335098467139715,
    0.322467033424113234648,
    -0.067352301053198312292,
    0.0205808084277805669965,
    -0.00738555102864971431487,
    0.00289051033102378231719,
    -0.00119275391275806110261,
    0.0005096695156753943177,
    -0.000223154735174996700061,
    0.000099457670038265376132,
    -0.0000449265309985899012827,
    0.0000205056173886444310462,
    -0.00000943723775923152507601,
    0.000004384589653145347248,
    -0.00000204974983864217042413,
    9.20315114429775387566e-7,
    -4.20053355278061139604e-7,
    2.7849389180808107791e-7,
    -1.43285380823445646826e-7,
];

/// Stirling's series B₂ₖ / (2k (2k-1)) in 1/x², for x ≥ 8.
const STIRLING: [f64; 8] = [
    1.0 / 12.0,
    -1.0 / 360.0,
    1.0 / 1260.0,
    -1.0 / 1680.0,
    1.0 / 1188.0,
    -691.0 / 360360.0,
    1.0 / 156.0,
    -3617.0 / 122400.0,
];

/// ln |Γ(x)|: near its zeros 1 and 2 by a factored polynomial, by recurrence up to 8, then Stirling's series; left of
/// one half by recurrence or reflection.
pub fn lgamma(x: f64) -> f64 {
    if x.is_nan() || x.is_infinite() {
        return x.abs();
    }
    if x < 0.0 {
        if x == x.trunc() {
            return f64::INFINITY;
        }
        if x > -1e-17 {
            // Both are -log|x|, and the product below would vanish.
            return lgamma(-x);
        }
        return (PI / (x * sin_pi(x)).abs()).ln() - lgamma(-x);
    }
    let near_2 = |u: f64| u * horner::<f64, false, 19>(u, &LGAMMA_2);
    if x < 0.5 {
        // Γ(x) = Γ(2 + x) / (x (1 + x))
        return near_2(x) - x.ln_1p() - x.ln();
    }
    if x < 1.5 {
        let u = x - 1.0;
        return near_2(u) - u.ln_1p();
    }
    if x < 8.0 {
        let (mut y, mut product) = (x, 1.0);
        while y >= 2.5 {
            y -= 1.0;
            product *= y;
        }
        let rest = near_2(y - 2.0);
        return if product == 1.0 { rest } else { product.ln() + rest };
    }
    let z = 1.0 / (x * x);
    let tail = horner::<f64, false, 8>(z, &STIRLING) / x;
    if x > 1e300 { x * (x.ln() - 1.0) } else { (x - 0.5) * x.ln() - x + (0.5 * (LN_2 + PI.ln()) + tail) }
}

/// ψ(1 + u) / (1 + u - root) on 0 ≤ u ≤ 1; a minimax fit of our own.
const DIGAMMA_1: [f64; 22] = [
    1.25038013750340534129,
    -0.854693360601769916293,
    0.752468272287015248801,
    -0.714540711540268052098,
    0.698363499935594992716,
    -0.69098197675757109285,
    0.687487330200203347404,
    -0.685781374591305271447,
    0.684822631871267237801,
    -0.683681486503737855028,
    0.680349796910093861423,
    -0.669792128889746490442,
    0.642107807977403474556,
    -0.584013756888026427423,
    0.486827949563000471828,
    -0.357662008243462424219,
    0.222288186112026772787,
    -0.111881971190022600007,
    0.043318066643191072966,
    -0.0120144549354016258269,
    0.00211364116924059618344,
    -0.000176551427025404965824,
];
/// The positive root of ψ in two parts.
const DIGAMMA_ROOT: (f64, f64) = (1.461632144968362245762705, 9.5499954299656977152e-17);
/// B₂ₖ / 2k
const BERNOULLI_OVER: [f64; 8] =
    [1.0 / 12.0, -1.0 / 120.0, 1.0 / 252.0, -1.0 / 240.0, 1.0 / 132.0, -691.0 / 32760.0, 1.0 / 12.0, -3617.0 / 8160.0];

/// The logarithmic derivative of Γ: a factored polynomial on [1, 2], recurrence up to 10, then the asymptotic series;
/// reflection on the left.
pub fn digamma(x: f64) -> f64 {
    if x == 0.0 {
        return -f64::INFINITY.copysign(x);
    }
    if x < 0.0 {
        return if x == x.trunc() { f64::NAN } else { digamma(1.0 - x) - PI * cot_pi(x) };
    }
    if x < 1.0 {
        return digamma(x + 1.0) - 1.0 / x;
    }
    if x < 10.0 {
        let (mut y, mut sum) = (x, 0.0);
        while y > 2.0 {
            y -= 1.0;
            sum += 1.0 / y;
        }
        let from_root = (y - DIGAMMA_ROOT.0) - DIGAMMA_ROOT.1;
        return sum + from_root * horner::<f64, false, 22>(y - 1.0, &DIGAMMA_1);
    }
    if x == f64::INFINITY {
        return x;
    }
    let z = 1.0 / (x * x);
    x.ln() - 0.5 / x - z * horner::<f64, false, 8>(z, &BERNOULLI_OVER)
}

/// The Bernoulli numbers B₂, B₄, …
const BERNOULLI: [f64; 10] = [
    1.0 / 6.0,
    -1.0 / 30.0,
    1.0 / 42.0,
    -1.0 / 30.0,
    5.0 / 66.0,
    -691.0 / 2730.0,
    7.0 / 6.0,
    -3617.0 / 510.0,
    43867.0 / 798.0,
    -174611.0 / 330.0,
];

/// The derivative of [`digamma`].
pub fn trigamma(x: f64) -> f64 {
    if x == f64::NEG_INFINITY {
        return f64::NAN;
    }
    if x <= 0.0 {
        if x == x.trunc() {
            return f64::INFINITY;
        }
        let s = sin_pi(x);
        return PI * PI / (s * s) - trigamma(1.0 - x);
    }
    zeta(2.0, x)
}

/// Hurwitz's ζ(s, q) = Σ (q + k)⁻ˢ for s > 1, by the Euler-Maclaurin formula. Poles at q = 0, -1, …
pub fn zeta(s: f64, q: f64) -> f64 {
    if s.is_nan() || q.is_nan() || s < 1.0 {
        return f64::NAN;
    }
    if s == 1.0 || (q <= 0.0 && q == q.trunc()) {
        return f64::INFINITY;
    }
    if q == f64::INFINITY {
        return 0.0;
    }
    if q < 0.0 && s != s.trunc() {
        return f64::NAN;
    }
    let (mut sum, mut x) = (0.0, q);
    // The formula starts where its terms fall fast.
    while x < 10.0 + 0.2 * s.min(100.0) {
        let term = x.powf(-s);
        sum += term;
        if term.abs() < 1e-18 * sum.abs() && x > 1.0 {
            return sum;
        }
        x += 1.0;
    }
    let power = x.powf(-s);
    // Not x times the power, which vanishes long before.
    sum += x.powf(1.0 - s) / (s - 1.0) + 0.5 * power;
    let (mut factor, mut term) = (s / 2.0, power / x);
    for (k, b) in BERNOULLI.iter().enumerate() {
        sum += b * factor * term;
        let j = 2.0 * k as f64 + 3.0;
        factor *= (s + j - 2.0) * (s + j - 1.0) / (j * (j + 1.0));
        term /= x * x;
    }
    sum
}

/// The n-th derivative of [`digamma`] for an integer n ≥ 0.
pub fn polygamma(n: f64, x: f64) -> f64 {
    match n {
        0.0 => digamma(x),
        1.0 => trigamma(x),
        _ if x == f64::NEG_INFINITY => f64::NAN,
        _ => {
            let sign = if n % 2.0 == 0.0 { -1.0 } else { 1.0 };
            sign * lgamma(n + 1.0).exp() * zeta(n + 1.0, x)
        }
    }
}

/// Rational approximations of the normal quantile: Wichura, "The percentage points of the normal distribution",
/// Applied Statistics 37 (1988), algorithm AS 241.
const CENTRE: ([f64; 8], [f64; 8]) = (
    [
        3.3871328727963666080e0,
        1.3314166789178437745e2,
        1.9715909503065514427e3,
        1.3731693765509461125e4,
        4.5921953931549871457e4,
        6.7265770927008700853e4,
        3.3430575583588128105e4,
        2.5090809287301226727e3,
    ],
    [
        1.0,
        4.2313330701600911252e1,
        6.8718700749205790830e2,
        5.3941960214247511077e3,
        2.1213794301586595867e4,
        3.9307895800092710610e4,
        2.8729085735721942674e4,
        5.2264952788528545610e3,
    ],
);
const MIDDLE: ([f64; 8], [f64; 8]) = (
    [
        1.42343711074968357734e0,
        4.63033784615654529590e0,
        5.76949722146069140550e0,
        3.64784832476320460504e0,
        1.27045825245236838258e0,
        2.41780725177450611770e-1,
        2.27238449892691845833e-2,
        7.74545014278341407640e-4,
    ],
    [
        1.0,
        2.05319162663775882187e0,
        1.67638483018380384940e0,
        6.89767334985100004550e-1,
        1.48103976427480074590e-1,
        1.51986665636164571966e-2,
        5.47593808499534494600e-4,
        1.05075007164441684324e-9,
    ],
);
const TAIL: ([f64; 8], [f64; 8]) = (
    [
        6.65790464350110377720e0,
        5.46378491116411436990e0,
        1.78482653991729133580e0,
        2.96560571828504891230e-1,
        2.65321895265761230930e-2,
        1.24266094738807843860e-3,
        2.71155556874348757815e-5,
        2.01033439929228813265e-7,
    ],
    [
        1.0,
        5.99832206555887937690e-1,
        1.36929880922735805310e-1,
        1.48753612908506148525e-2,
        7.86869131145613259100e-4,
        1.84631831751005468180e-5,
        1.42151175831644588870e-7,
        2.04426310338993978564e-15,
    ],
);

fn ratio(x: f64, (p, q): &([f64; 8], [f64; 8])) -> f64 {
    horner::<f64, false, 8>(x, p) / horner::<f64, false, 8>(x, q)
}

/// The quantile for 1/2 + `q`, where `tail` = 1/2 - |q| is given with its own accuracy.
fn quantile(q: f64, tail: f64) -> f64 {
    if q.abs() <= 0.425 {
        return q * ratio(0.180625 - q * q, &CENTRE);
    }
    let r = (-tail.ln()).sqrt();
    let x = if r <= 5.0 { ratio(r - 1.6, &MIDDLE) } else { ratio(r - 5.0, &TAIL) };
    x.copysign(q)
}

/// The inverse of the error function.
pub fn erfinv(x: f64) -> f64 {
    match x.abs() {
        a if a < 1.0 => quantile(0.5 * x, 0.5 * (1.0 - a)) / SQRT_2,
        1.0 => f64::INFINITY.copysign(x),
        _ => f64::NAN,
    }
}

/// The quantile of the standard normal distribution.
pub fn ndtri(p: f64) -> f64 {
    match p {
        p if p > 0.0 && p < 1.0 => quantile(p - 0.5, p.min(1.0 - p)),
        0.0 => f64::NEG_INFINITY,
        1.0 => f64::INFINITY,
        _ => f64::NAN,
    }
}

/// ln of the standard normal distribution function.
pub fn log_ndtr(x: f64) -> f64 {
    let t = x / SQRT_2;
    if x < -1.0 {
        return (error_function::erfcx::<f64, false>(-t) * 0.5).ln() - t * t;
    }
    log::log1p::<f64, false>(-0.5 * error_function::erfc::<f64, false>(t))
}
