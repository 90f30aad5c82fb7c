//! How samples move with the parameters of their law at a fixed value of the distribution function F: `-(∂F/∂a) / F'`,
//! the implicit derivative of Figurnov, Mohamed and Mnih (2018).

use super::scalar::digamma;

/// A value and its derivative by the parameter.
#[derive(Clone, Copy)]
struct Dual(f64, f64);

impl Dual {
    fn plus(self, o: Dual) -> Dual {
        Dual(self.0 + o.0, self.1 + o.1)
    }
    fn times(self, o: Dual) -> Dual {
        Dual(self.0 * o.0, self.1 * o.0 + self.0 * o.1)
    }
    fn over(self, o: Dual) -> Dual {
        let ratio = self.0 / o.0;
        Dual(ratio, (self.1 - ratio * o.1) / o.0)
    }
}

/// More steps than a fraction or a series takes.
const STEPS: u32 = 100_000;

/// `a₁ / (b₁ + a₂ / (b₂ + …))` by Lentz's method, given `(aₙ, bₙ)`.
fn fraction(terms: impl Fn(f64) -> (Dual, Dual)) -> Dual {
    let (mut value, mut c, mut d) = (Dual(1e-140, 0.0), Dual(1e-140, 0.0), Dual(0.0, 0.0));
    for n in 1..STEPS {
        let (a, b) = terms(f64::from(n));
        d = Dual(1.0, 0.0).over(b.plus(a.times(d)));
        c = b.plus(a.over(c));
        let factor = c.times(d);
        let before = value.1;
        value = value.times(factor);
        if (factor.0 - 1.0).abs() < 1e-15 && (value.1 - before).abs() <= 1e-14 * value.1.abs() {
            break;
        }
    }
    value
}

/// `a` from which on the Wilson-Hilferty quantile is exact to a float's rounding.
const NORMAL: f64 = 1e5;

/// How a gamma variable `x` of scale 1 moves with its shape parameter `a`.
///
/// The series of the lower incomplete gamma function, or the continued fraction of the upper one, with its derivative
/// (DLMF 8.7.1 and 8.9.2).
#[inline(never)]
pub fn gamma_slope(a: f64, x: f64) -> f64 {
    if !(a > 0.0 && x >= 0.0 && x.is_finite() && a.is_finite()) {
        return f64::NAN;
    }
    if x == 0.0 {
        return 0.0;
    }
    if a > NORMAL {
        let root = (x / a).cbrt();
        let turn = 1.5 * (root - 1.0) + 1.0 / (6.0 * a);
        return root * root * (root + 1.0 / (3.0 * a) - turn);
    }
    if x > a + 1.0 {
        let h = upper(a, x);
        return x * ((x.ln() - digamma(a)) * h.0 + h.1);
    }
    let sum = lower(a, x);
    -x / a * ((x.ln() - digamma(a + 1.0)) * sum.0 + sum.1)
}

/// `Γ(a, x) eˣ / xᵃ`.
#[inline(never)]
fn upper(a: f64, x: f64) -> Dual {
    fraction(|n| match n {
        1.0 => (Dual(1.0, 0.0), Dual(x + 1.0 - a, -1.0)),
        n => (Dual((1.0 - n) * (n - 1.0 - a), n - 1.0), Dual(x + 2.0 * n - 1.0 - a, -1.0)),
    })
}

/// `a γ(a, x) eˣ / xᵃ`.
#[inline(never)]
fn lower(a: f64, x: f64) -> Dual {
    let (mut term, mut sum) = (Dual(1.0, 0.0), Dual(1.0, 0.0));
    for n in 1..STEPS {
        term = term.times(Dual(x, 0.0).over(Dual(a + f64::from(n), 1.0)));
        sum = sum.plus(term);
        if term.0 < 1e-17 * sum.0 && term.1.abs() <= 1e-17 * sum.1.abs() {
            break;
        }
    }
    sum
}

/// The regularised lower incomplete gamma function, given `xᵃ / (Γ(a + 1) eˣ)`.
#[inline(never)]
pub fn gamma_share(a: f64, x: f64, scale: f64) -> f64 {
    if !(a >= 0.0 && x >= 0.0) || (a.is_infinite() && x.is_infinite()) {
        return f64::NAN;
    }
    if x == 0.0 || a.is_infinite() {
        return if a == 0.0 { f64::NAN } else { 0.0 };
    }
    if a == 0.0 || x.is_infinite() {
        return 1.0;
    }
    if x > a + 1.0 { 1.0 - scale * a * upper(a, x).0 } else { scale * lower(a, x).0 }
}

/// How a beta variable `x` of the parameters `a` and `b` moves with `a`.
///
/// The continued fraction of the incomplete beta function, with its derivative (DLMF 8.17.22).
#[inline(never)]
pub fn beta_slope(x: f64, a: f64, b: f64) -> f64 {
    if !(a > 0.0 && b > 0.0 && (0.0..=1.0).contains(&x)) {
        return f64::NAN;
    }
    if x == 0.0 || x == 1.0 {
        return 0.0;
    }
    let y = 1.0 - x;
    if x * (a + b + 2.0) < a + 1.0 {
        let h = incomplete(x, Dual(a, 1.0), Dual(b, 0.0));
        return -x * y / a * ((x.ln() - digamma(a + 1.0) + digamma(a + b)) * h.0 + h.1);
    }
    let h = incomplete(y, Dual(b, 0.0), Dual(a, 1.0));
    x * y / b * ((x.ln() - digamma(a) + digamma(a + b)) * h.0 + h.1)
}

#[inline(never)]
fn incomplete(x: f64, a: Dual, b: Dual) -> Dual {
    let shifted = |d: Dual, by: f64| d.plus(Dual(by, 0.0));
    fraction(|n| {
        let index = n - 1.0;
        let m = (index / 2.0).floor();
        let low = shifted(a, index - 1.0).times(shifted(a, index));
        let high = match index {
            0.0 => return (Dual(1.0, 0.0), Dual(1.0, 0.0)),
            i if i % 2.0 == 0.0 => Dual(m * x, 0.0).times(shifted(Dual(-b.0, -b.1), m)),
            _ => Dual(x, 0.0).times(shifted(a, m)).times(shifted(a.plus(b), m)),
        };
        (Dual(-high.0, -high.1).over(low), Dual(1.0, 0.0))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() <= 1e-9 * want.abs(), "{got} {want}");
    }

    #[test]
    fn closed_forms() {
        // F = xᵃ for b = 1, and F = 1 - (1 - x)ᵇ for a = 1, whose mirror image moves the other way.
        for (x, a) in [(0.2f64, 0.7f64), (0.9, 0.7), (0.99, 12.0), (0.3, 150.0)] {
            close(beta_slope(x, a, 1.0), -x * x.ln() / a);
        }
        // Gamma(a) at large a follows x = a (1 - 1 / 9a + z / 3√a)³.
        for a in [9.9e4, 1.01e5] {
            for z in [-3.0, 0.0, 2.5] {
                let quantile = |a: f64| a * (1.0 - 1.0 / (9.0 * a) + z / (3.0 * a.sqrt())).powi(3);
                let want = (quantile(a + 1.0) - quantile(a - 1.0)) / 2.0;
                assert!((gamma_slope(a, quantile(a)) - want).abs() < 1e-6, "{a} {z}");
            }
        }
    }

    #[test]
    fn ends_and_nonsense() {
        assert_eq!((gamma_slope(0.5, 0.0), beta_slope(0.0, 1.0, 1.0), beta_slope(1.0, 1.0, 1.0)), (0.0, 0.0, 0.0));
        assert!(gamma_slope(-1.0, 1.0).is_nan() && beta_slope(1.5, 1.0, 1.0).is_nan());
    }
}
