//! Sums over pairs of rows of two matrices, `Σ f(a[i] - b[j])` for powers f and their slopes, in blocks: the differences of
//! all pairs never lie in memory at once.

use super::array::Array;
use super::index::cat;
use super::pointwise::kernels::{ABS, EQ, MUL, NE, POW, SIGN, SQUARE, SUB, WHERE_CLEAR};
use super::pointwise::{binary, unary};
use super::{cast, reduce};
use crate::bail;
use crate::base::{Result, Scalar, Shape};

/// Differences that are in memory at once.
const BLOCK: usize = 1 << 17;

/// A derivative of `|x|^p`; where it is infinite at 0 it counts as 0 there.
#[derive(Debug, Clone, Copy)]
pub struct Power {
    pub p: f64,
    /// How often it was differentiated.
    pub order: usize,
}

impl Power {
    /// The next derivative.
    pub fn slope(self) -> Power {
        Power { order: self.order.saturating_add(1), ..self }
    }
    /// `p (p - 1) …`
    fn factor(self) -> f64 {
        (0..self.order).map(|i| self.p - i as f64).product()
    }
    /// Whether it is 0 everywhere.
    pub fn vanishes(self) -> bool {
        self.order > 0 && self.factor() == 0.0
    }
    pub fn is_odd(self) -> bool {
        self.order % 2 == 1
    }

    fn of(self, x: &Array) -> Result<Array> {
        let rest = self.p - self.order as f64;
        let number = |s: f64| Array::scalar(x.dtype(), Scalar::Float(s));
        let y = if self.p == 0.0 {
            cast::cast(&binary(&NE, x, &number(0.0))?, x.dtype())?
        } else if rest == 1.0 && self.is_odd() {
            x.clone()
        } else if rest == 2.0 && !self.is_odd() {
            unary(&SQUARE, x)?
        } else if rest == 0.0 {
            if self.is_odd() {
                unary(&SIGN, x)?
            } else {
                Array::full(x.dtype(), x.shape().clone(), Scalar::Float(1.0))?
            }
        } else {
            let size = unary(&ABS, x)?;
            let mut y = if rest == 1.0 { size } else { binary(&POW, &size, &number(rest))? };
            if rest < 0.0 {
                y = binary(&WHERE_CLEAR, &binary(&EQ, x, &number(0.0))?, &y)?;
            }
            if self.is_odd() { binary(&MUL, &y, &unary(&SIGN, x)?)? } else { y }
        };
        let factor = self.factor();
        if factor == 1.0 { Ok(y) } else { binary(&MUL, &y, &number(factor)) }
    }
}

/// Leading dimensions as one; the matrices are [L, n, M].
fn flat(x: &Array) -> Result<Array> {
    let Some((lead, [n, m])) = x.shape().split_last_chunk() else {
        bail!(Internal, "pairs(): points of shape {}", x.shape())
    };
    x.reshape(&[lead.iter().product(), *n, *m].into())
}

/// Whether it is made of one 1, as a factor that changes nothing.
fn is_one(x: &Array) -> bool {
    let first = |x: &Array| x.slice(0, 0, 1, 1)?.slice(1, 0, 1, 1)?.slice(2, 0, 1, 1)?.to_vec::<f64>();
    x.numel() > 0
        && x.shape().iter().zip(&x.strides()).all(|(n, s)| *n == 1 || *s == 0)
        && cast::cast(x, crate::base::DType::F64).is_ok_and(|x| first(&x).is_ok_and(|v| v[..] == [1.0]))
}

/// Joins what `f` gives for blocks of rows of `a` and the matrices that they meet: the ranges of matrices and of rows.
fn in_blocks(
    a: &Array,
    b: &Array,
    f: impl Fn(&dyn Fn(&Array) -> Result<Array>, &dyn Fn(&Array) -> Result<Array>) -> Result<Array>,
) -> Result<Array> {
    let (count, rows) = (a.shape()[0], a.shape()[1]);
    let row = b.shape()[1].saturating_mul(b.shape()[2]).max(1);
    let item = row.saturating_mul(rows.max(1));
    let items = (BLOCK / item).clamp(1, count.max(1));
    let rows_at_once = if items > 1 { rows.max(1) } else { (BLOCK / row).clamp(1, rows.max(1)) };
    let mut parts = Vec::new();
    for l in (0..count).step_by(items) {
        super::threads::cancellation_point();
        let len = items.min(count - l);
        let mut own = Vec::new();
        for i in (0..rows).step_by(rows_at_once) {
            let n = rows_at_once.min(rows - i);
            let of_matrices = |x: &Array| x.slice(0, l, len, 1);
            let of_rows = |x: &Array| x.slice(0, l, len, 1)?.slice(1, i, n, 1);
            own.push(f(&of_rows, &of_matrices)?);
        }
        parts.push(if own.len() == 1 { own.remove(0) } else { cat(&own, 1)? });
    }
    if parts.len() == 1 { Ok(parts.remove(0)) } else { cat(&parts, 0) }
}

/// Differences [l, n, R, M] of rows of [l, n, M] and [l, R, M].
fn differences(a: &Array, b: &Array) -> Result<Array> {
    binary(&SUB, &beside(a, 2)?, &beside(b, 1)?)
}

/// With a further dimension of size 1.
fn beside(x: &Array, at: usize) -> Result<Array> {
    let mut shape = Shape::new(&x.shape()[..at]);
    shape.push(1);
    x.shape()[at..].iter().for_each(|&n| shape.push(n));
    x.reshape(&shape)
}

fn times(x: Array, factor: Option<Array>) -> Result<Array> {
    match factor {
        Some(f) => binary(&MUL, &x, &f),
        None => Ok(x),
    }
}

/// `Σ_m s[i, m] t[j, m] f(a[i, m] - b[j, m])` [..., P, R] for `a` and `s` [..., P, M], `b` and `t` [..., R, M].
///
/// # Errors
/// If the memory for the result is not there.
pub fn sums(power: Power, [s, t]: [&Array; 2], [a, b]: [&Array; 2]) -> Result<Array> {
    let shape = a.shape().with(a.rank() - 1, b.shape()[b.rank() - 2]);
    if shape.numel() == 0 || a.numel() == 0 {
        return Array::zeros(a.dtype(), shape);
    }
    let [s, t, a, b] = [flat(s)?, flat(t)?, flat(a)?, flat(b)?];
    let (plain_s, plain_t) = (is_one(&s), is_one(&t));
    in_blocks(&a, &b, |rows, whole| {
        let f = power.of(&differences(&rows(&a)?, &whole(&b)?)?)?;
        let f = times(f, if plain_s { None } else { Some(beside(&rows(&s)?, 2)?) })?;
        let f = times(f, if plain_t { None } else { Some(beside(&whole(&t)?, 1)?) })?;
        reduce::sum(&f, &[3], false)
    })?
    .reshape(&shape)
}

/// `Σ_j g[i, j] t[j, m] f(a[i, m] - b[j, m])` [..., P, M] for `g` [..., P, R].
///
/// # Errors
/// If the memory for the result is not there.
pub fn shares(power: Power, [g, t]: [&Array; 2], [a, b]: [&Array; 2]) -> Result<Array> {
    let shape = a.shape().clone();
    if shape.numel() == 0 || b.numel() == 0 {
        return Array::zeros(a.dtype(), shape);
    }
    let [g, t, a, b] = [flat(g)?, flat(t)?, flat(a)?, flat(b)?];
    let plain = is_one(&t);
    in_blocks(&a, &b, |rows, whole| {
        let f = power.of(&differences(&rows(&a)?, &whole(&b)?)?)?;
        let f = binary(&MUL, &f, &beside(&rows(&g)?, 3)?)?;
        let f = times(f, if plain { None } else { Some(beside(&whole(&t)?, 1)?) })?;
        reduce::sum(&f, &[2], false)
    })?
    .reshape(&shape)
}

/// The coordinate [..., P, R] in which each two rows differ most.
///
/// # Errors
/// If the memory for the result is not there.
pub fn farthest(a: &Array, b: &Array) -> Result<Array> {
    let shape = a.shape().with(a.rank() - 1, b.shape()[b.rank() - 2]);
    if shape.numel() == 0 {
        return Array::zeros(crate::base::DType::I64, shape);
    }
    let [a, b] = [flat(a)?, flat(b)?];
    in_blocks(&a, &b, |rows, whole| {
        reduce::argmax(&unary(&ABS, &differences(&rows(&a)?, &whole(&b)?)?)?, Some(3), false)
    })?
    .reshape(&shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(shape: [usize; 3], step: f64) -> Array {
        let n: usize = shape.iter().product();
        Array::from_slice(shape, &(0..n).map(|i| (i as f64 * step).sin()).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn blocks_make_no_difference() {
        // More differences than a block holds, and many matrices in one block.
        for (l, p, r, m) in [(2, 40, 61, 70), (300, 3, 4, 5), (1, 1, 1, 1)] {
            let (a, b) = (points([l, p, m], 0.7), points([l, r, m], 1.3));
            let (s, t) = (points([l, p, m], 0.2), points([l, r, m], 0.9));
            let power = Power { p: 3.5, order: 1 };
            let got = sums(power, [&s, &t], [&a, &b]).unwrap().to_vec::<f64>().unwrap();
            let g = points([l, p, r], 0.4);
            let shared = shares(power, [&g, &t], [&a, &b]).unwrap().to_vec::<f64>().unwrap();
            let far = farthest(&a, &b).unwrap().to_vec::<i64>().unwrap();
            let [a, b, s, t, g] = [a, b, s, t, g].map(|x| x.to_vec::<f64>().unwrap());
            let slope = |d: f64| 3.5 * d.abs().powf(2.5) * d.signum();
            for (at, got) in got.iter().enumerate() {
                let (i, j) = (at / r, at / r / p * r + at % r);
                let each = (0..m).map(|c| s[i * m + c] * t[j * m + c] * slope(a[i * m + c] - b[j * m + c]));
                assert!((each.sum::<f64>() - got).abs() < 1e-12 * m as f64);
                let most = (0..m).map(|c| (a[i * m + c] - b[j * m + c]).abs()).fold(0.0, f64::max);
                let found = far[at] as usize;
                assert_eq!((a[i * m + found] - b[j * m + found]).abs(), most);
            }
            for (at, got) in shared.iter().enumerate() {
                let (i, c, l) = (at / m, at % m, at / m / p);
                let each = (0..r).map(|j| (i * r + j, (l * r + j) * m + c));
                let sum: f64 = each.map(|(e, y)| g[e] * t[y] * slope(a[at] - b[y])).sum();
                assert!((sum - got).abs() < 1e-12 * r as f64);
            }
        }
    }
}
