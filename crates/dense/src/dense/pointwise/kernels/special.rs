//! Special functions of one argument.

kernels! {
    ERF(x) { float => x.erf() }
    ERFC(x) { float => x.erfc() }
    ERFINV(x) { float_serial => x.erfinv() }
    LGAMMA(x) { float_serial => x.lgamma() }
    DIGAMMA(x) { float_serial => x.digamma() }
    TRIGAMMA(x) { float_serial => x.trigamma() }
    /// `sin(πx) / πx`, 1 at 0.
    SINC(x) {
        float => {
            let p = x * std::f64::consts::PI;
            x.select(x.is_zero(), x.lit(1.0), p.sin() / p)
        },
        complex_serial => {
            let p = x * std::f64::consts::PI;
            if x.is_zero() { x.lit(1.0) } else { p.sin() / p }
        },
    }
    /// The spherical Bessel function of order `n` divided by `xⁿ`, which is even and has no pole.
    SPHERICAL_RATIO(n, x) { float_serial => n.wide2(x, spherical_ratio) }
    /// `x log(y)`, 0 where x is 0 and y a number.
    XLOGY(x, y) { float => x.select(y.is_nan(), y, x.select(x.is_zero(), x.lit(0.0), x * y.log())) }
    /// `x log(1 + y)`, 0 where x is 0 and y a number.
    XLOG1PY(x, y) { float => x.select(y.is_nan(), y, x.select(x.is_zero(), x.lit(0.0), x * y.log1p())) }
    LOGIT(x) { float => (x / (x.lit(1.0) - x)).log() }
    I0(x) { float_serial => x.wide(|x| bessel(0, x)) }
    I0E(x) { float_serial => x.wide(|x| scaled_bessel(0, x)) }
    I1(x) { float_serial => x.wide(|x| bessel(1, x)) }
    I1E(x) { float_serial => x.wide(|x| scaled_bessel(1, x)) }
    /// The derivative of the Bessel function of order 1.
    I1_SLOPE(x) { float_serial => x.wide(|x| i1_slope(x, bessel)) }
    /// The same times `exp(-|x|)`.
    I1E_SLOPE(x) { float_serial => x.wide(|x| i1_slope(x, scaled_bessel)) }
    /// The Bessel function of order `n` divided by `xⁿ`, which is even and has no pole.
    BESSEL_RATIO(n, x) { float_serial => n.wide2(x, |n, x| bessel_ratio(n, x, false)) }
    /// The same times `exp(-|x|)`.
    BESSEL_RATIO_SCALED(n, x) { float_serial => n.wide2(x, |n, x| bessel_ratio(n, x, true)) }
}

/// Where the asymptotic series of orders 0 and 1 is exact.
const FAR: f64 = 30.0;
/// Terms of the power series that count up to there.
const TERMS: usize = 64;

/// Factors of `(x²/4)ᵏ` in `Iₙ(x) (2/x)ⁿ`: `1 / (k! (n + k)!)`. All are positive, so sums lose nothing.
const fn power_series(n: usize) -> [f64; TERMS] {
    let (mut out, mut term, mut k) = ([0.0; TERMS], 1.0, 0);
    while k < TERMS {
        out[k] = term;
        k += 1;
        term /= (k * (n + k)) as f64;
    }
    out
}
/// Factors of `x⁻ᵏ` in `Iₙ(x) exp(-x) √(2πx)`.
const fn asymptotic_series(n: usize) -> [f64; 24] {
    let (mut out, mut term, mut k) = ([0.0; 24], 1.0, 0);
    while k < 24 {
        out[k] = term;
        k += 1;
        term *= ((2 * k - 1) * (2 * k - 1)) as f64 - (4 * n * n) as f64;
        term /= (8 * k) as f64;
    }
    out
}
static NEAR_ZERO: [[f64; TERMS]; 2] = [power_series(0), power_series(1)];
static NEAR_INFINITY: [[f64; 24]; 2] = [asymptotic_series(0), asymptotic_series(1)];

/// `jₙ(x) / xⁿ`: the power series where its terms fall from the start, the recurrence from the sine elsewhere.
fn spherical_ratio(n: f64, x: f64) -> f64 {
    let square = x * x;
    if x.is_nan() || square <= 4.0 * n + 6.0 {
        let mut term = (1..=n as usize).fold(1.0, |product, k| product / (2 * k + 1) as f64);
        let mut sum = 0.0;
        for k in 1..60 {
            sum += term;
            term *= -0.5 * square / (k as f64 * (2.0 * (n + k as f64) + 1.0));
            if term.abs() < 1e-18 * sum.abs() {
                break;
            }
        }
        return sum;
    }
    if x.is_infinite() {
        return 0.0;
    }
    let (mut last, mut value) = (x.cos(), x.sin() / x);
    for k in 0..n as usize {
        // rₖ₊₁ = ((2k + 1) rₖ - rₖ₋₁) / x², where r₋₁ is the cosine.
        (last, value) = (value, ((2 * k + 1) as f64 * value - last) / square);
    }
    value
}

fn horner(x: f64, coefficients: &[f64]) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

/// `Iₙ(x)` for x ≤ FAR.
fn bessel_near(n: usize, x: f64) -> f64 {
    let terms = if x < 8.0 { 28 } else { TERMS };
    horner(x * x / 4.0, &NEAR_ZERO[n][..terms]) * if n == 0 { 1.0 } else { x / 2.0 }
}
/// `Iₙ(x) exp(-x)` for x > FAR.
fn bessel_far(n: usize, x: f64) -> f64 {
    horner(1.0 / x, &NEAR_INFINITY[n]) / (std::f64::consts::TAU * x).sqrt()
}

/// The modified Bessel function of the first kind, of order 0 or 1.
fn bessel(n: usize, x: f64) -> f64 {
    let a = x.abs();
    let y = match a > FAR {
        // exp(a) alone would leave the range too early.
        true => bessel_far(n, a) * (a / 2.0).exp() * (a / 2.0).exp(),
        false => bessel_near(n, a),
    };
    let y = if a == f64::INFINITY { a } else { y };
    if n == 1 { y.copysign(x) } else { y }
}
/// The same times `exp(-|x|)`.
pub fn scaled_bessel(n: usize, x: f64) -> f64 {
    let a = x.abs();
    let y = if a > FAR { bessel_far(n, a) } else { bessel_near(n, a) * (-a).exp() };
    if n == 1 { y.copysign(x) } else { y }
}
/// `I₀ - I₁ / x`
fn i1_slope(x: f64, of: fn(usize, f64) -> f64) -> f64 {
    let i0 = of(0, x);
    if x == 0.0 {
        return 0.5;
    }
    if i0.is_finite() { i0 - of(1, x) / x } else { i0 }
}

/// `Iₙ(x) / xⁿ` for an integer n ≥ 0, times `exp(-|x|)` if `scaled`.
fn bessel_ratio(n: f64, x: f64, scaled: bool) -> f64 {
    let a = x.abs();
    if a > FAR + n * n {
        let (mut term, mut sum, mut k) = (1.0, 1.0, 1.0);
        while k < 40.0 && f64::abs(term) > 1e-17 {
            term *= ((2.0 * k - 1.0) * (2.0 * k - 1.0) - 4.0 * n * n) / (8.0 * k * a);
            sum += term;
            k += 1.0;
        }
        let y = sum / (std::f64::consts::TAU * a).sqrt() / a.powf(n);
        return if scaled || y == 0.0 { y } else { y * (a / 2.0).exp() * (a / 2.0).exp() };
    }
    if x.is_nan() || n.is_nan() {
        return f64::NAN;
    }
    let (mut term, mut k) = ((1..=n as usize).fold(1.0, |f, i| f / (2.0 * i as f64)), 1.0);
    let (mut sum, q) = (term, a * a / 4.0);
    while term > sum * 1e-17 {
        term *= q / (k * (n + k));
        sum += term;
        k += 1.0;
    }
    if scaled { sum * (-a).exp() } else { sum }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of 40 digits, rounded.
    const I0: [(f64, f64); 6] = [
        (0.25, 1.015686141223608),
        (1.0, 1.2660658777520084),
        (7.5, 268.16131151518937),
        (12.0, 18948.925349296307),
        (31.5, 3418083498821.0757),
        (600.0, 6.1463054039368444e+258),
    ];
    const I1: [(f64, f64); 6] = [
        (0.25, 0.12597910894546793),
        (1.0, 0.565159103992485),
        (7.5, 249.58436542268814),
        (12.0, 18141.348781638833),
        (31.5, 3363383210948.709),
        (600.0, 6.141181345066892e+258),
    ];

    #[test]
    fn bessel_functions_equal_tables() {
        for (n, table) in [I0, I1].iter().enumerate() {
            for &(x, want) in table {
                let got = bessel(n, x);
                assert!((got - want).abs() <= 4.0 * f64::EPSILON * want.abs(), "{n} {x}: {got}, not {want}");
                let ratio = bessel_ratio(n as f64, x, false) * x.powi(n as i32);
                assert!((ratio - want).abs() <= 1e-14 * want.abs(), "{n} {x}: {ratio}, not {want}");
            }
        }
    }

    #[test]
    fn bessel_functions_meet_at_their_seams() {
        for n in [0, 1] {
            for seam in [8.0, FAR] {
                let (below, above) = (scaled_bessel(n, seam * (1.0 - 1e-15)), scaled_bessel(n, seam * (1.0 + 1e-15)));
                assert!((below / above - 1.0).abs() < 2e-15, "{n} {seam}: {below} {above}");
            }
            assert!(bessel(n, f64::NAN).is_nan() && scaled_bessel(n, f64::NAN).is_nan());
            assert_eq!((bessel(n, f64::INFINITY), scaled_bessel(n, f64::INFINITY)), (f64::INFINITY, 0.0));
            assert!(bessel(n, 712.0).is_finite());
        }
        assert_eq!(bessel(1, f64::NEG_INFINITY), f64::NEG_INFINITY);
        assert_eq!((i1_slope(0.0, bessel), i1_slope(1e-9, scaled_bessel)), (0.5, 0.5 - 0.5e-9));
    }
}
