//! Running folds along one dimension.

use super::array::{Array, Written};
use super::copy::Convert;
use super::index;
use super::parallel::{self, Shared};
use super::threads;
use crate::base::dtype::Category;
use crate::base::{Element, Result};
use crate::{bail, match_dtype};
use num_complex::Complex;

/// Columns that are scanned together.
const TILE: usize = 256;

/// `out[i] = f(state, a[i])` along `dim`, with a state of its own, `start` at first, for each line.
fn scan<T: Element, S: Copy + Send + Sync, O: Element>(
    a: &Array,
    dim: usize,
    start: S,
    f: impl Fn(&mut S, T) -> O + Sync,
) -> Result<Array> {
    let a = a.contiguous()?;
    let x: &[T] = a.as_slice().unwrap_or(&[]);
    let n = a.shape().get(dim).copied().unwrap_or(1);
    let inner: usize = a.shape().iter().skip(dim + 1).product();
    Array::build_typed::<O>(a.shape().clone(), |out, _| {
        if x.is_empty() {
            // SAFETY: there is nothing to write.
            return unsafe { Written::all() };
        }
        let out = Shared(out);
        if inner == 1 {
            parallel::ranges(x.len() / n, n, &|lo, hi| {
                // SAFETY: lines differ between tasks and lie inside.
                let out = unsafe { std::slice::from_raw_parts_mut(out.at(lo * n), (hi - lo) * n) };
                lines(&x[lo * n..hi * n], out, n, start, &f);
            });
            // SAFETY: the tasks wrote each line.
            return unsafe { Written::all() };
        }
        let tiles = inner.div_ceil(TILE);
        parallel::ranges(x.len() / (n * inner) * tiles, n * TILE.min(inner), &|lo, hi| {
            let mut states = vec![start; TILE.min(inner)];
            for item in lo..hi {
                let first = item / tiles * n * inner + item % tiles * TILE;
                let width = TILE.min(inner - item % tiles * TILE);
                states.fill(start);
                for i in 0..n {
                    if i % (STEPS / TILE) == 0 {
                        rest(i);
                    }
                    let at = first + i * inner;
                    // SAFETY: the part of a row lies inside; parts differ between tasks.
                    let out = unsafe { std::slice::from_raw_parts_mut(out.at(at), width) };
                    for ((o, &v), s) in out.iter_mut().zip(&x[at..at + width]).zip(&mut states) {
                        *o = f(s, v);
                    }
                }
            }
        });
        // SAFETY: the tasks write each element, unless there is none.
        unsafe { Written::all() }
    })
}

/// Lines that are scanned together, for each step of a line waits for the one before.
const LINES: usize = 8;

/// Scans contiguous lines of length `n`.
fn lines<T: Copy, S: Copy, O>(x: &[T], out: &mut [O], n: usize, start: S, f: &impl Fn(&mut S, T) -> O) {
    let mut groups = x.chunks_exact(LINES * n);
    let mut outs = out.chunks_exact_mut(LINES * n);
    for (x, out) in groups.by_ref().zip(outs.by_ref()) {
        let mut states = [start; LINES];
        for from in (0..n).step_by(STEPS) {
            rest(from);
            for i in from..n.min(from + STEPS) {
                for (l, s) in states.iter_mut().enumerate() {
                    out[l * n + i] = f(s, x[l * n + i]);
                }
            }
        }
    }
    for (x, out) in groups.remainder().chunks_exact(n).zip(outs.into_remainder().chunks_exact_mut(n)) {
        let mut state = start;
        for (i, (x, out)) in x.chunks(STEPS).zip(out.chunks_mut(STEPS)).enumerate() {
            rest(i);
            for (o, &v) in out.iter_mut().zip(x) {
                *o = f(&mut state, v);
            }
        }
    }
}

/// Steps of a line between which it may be given up.
const STEPS: usize = 1 << 16;

/// A pause, but for short lines, which end before it.
#[inline]
fn rest(done: usize) {
    if done > 0 {
        threads::cancellation_point();
    }
}

/// Running sums along `dim`, in the dtype of `a`. Floats accumulate in float64, integers wrap; for bools cast first.
pub fn cumsum(a: &Array, dim: usize) -> Result<Array> {
    match_dtype!(a.dtype(), T => match a.dtype().category() {
        Category::Bool => bail!(NotImplemented, "cumsum(): dtype bool has no sum of its own; cast the input first"),
        Category::Integer => scan(a, dim, 0i64, |s, x: T| {
            *s = s.wrapping_add(x.to_i64());
            T::of_i64(*s)
        }),
        Category::Float => scan(a, dim, 0f64, |s, x: T| {
            *s += x.to_f64();
            T::of_f64(*s)
        }),
        Category::Complex => scan(a, dim, Complex::new(0f64, 0.0), |s, x: T| {
            *s += x.to_complex();
            T::of_complex(*s)
        }),
    })
}

/// Running products along `dim`; accumulators as in [`cumsum`].
pub fn cumprod(a: &Array, dim: usize) -> Result<Array> {
    match_dtype!(a.dtype(), T => match a.dtype().category() {
        Category::Bool => bail!(NotImplemented, "cumprod(): dtype bool has no product of its own; cast the input first"),
        Category::Integer => scan(a, dim, 1i64, |s, x: T| {
            *s = s.wrapping_mul(x.to_i64());
            T::of_i64(*s)
        }),
        Category::Float => scan(a, dim, 1f64, |s, x: T| {
            *s *= x.to_f64();
            T::of_f64(*s)
        }),
        Category::Complex => scan(a, dim, Complex::new(1f64, 0.0), |s, x: T| {
            *s *= x.to_complex();
            T::of_complex(*s)
        }),
    })
}

/// `log(exp(x₀) + … + exp(xᵢ))` along `dim`, for floats and complex numbers. The sum of floats is kept relative to the
/// greatest element so far; the imaginary part of complex sums winds on from that of the elements.
pub fn logcumsumexp(a: &Array, dim: usize) -> Result<Array> {
    if !a.dtype().is_differentiable() {
        bail!(NotImplemented, "logcumsumexp(): expected a floating-point or complex dtype, got {}", a.dtype());
    }
    if a.dtype().is_complex() {
        return match_dtype!(a.dtype(), T => scan(a, dim, Complex::new(f64::NEG_INFINITY, 0.0), |sum, x: T| {
            *sum = log_add_exp(*sum, x.to_complex());
            T::of_complex(*sum)
        }));
    }
    match_dtype!(a.dtype(), T => scan(a, dim, (f64::NEG_INFINITY, 0f64), |(top, sum), x: T| {
        let x = x.to_f64();
        if x == *top {
            // Also the case of two equal infinities, whose difference is NaN.
            *sum += if x == f64::NEG_INFINITY { 0.0 } else { 1.0 };
        } else if x < *top {
            *sum += (x - *top).exp();
        } else {
            *sum = *sum * (*top - x).exp() + 1.0;
            *top = x;
        }
        T::of_f64(*top + sum.ln())
    }))
}

/// `log(exp(a) + exp(b))`, counted from the one with the greater real part.
fn log_add_exp(a: Complex<f64>, b: Complex<f64>) -> Complex<f64> {
    if a.is_nan() || b.is_nan() {
        return Complex::new(f64::NAN, f64::NAN);
    }
    let (low, high) = if a.re < b.re { (a, b) } else { (b, a) };
    if high.re == f64::NEG_INFINITY {
        return a;
    }
    // exp(inf - inf) would be NaN.
    let ratio = if high.re == f64::INFINITY && low.re < high.re { Complex::new(0.0, 0.0) } else { (low - high).exp() };
    let real = 0.5 * (2.0 * ratio.re + ratio.norm_sqr()).ln_1p();
    high + Complex::new(real, ratio.im.atan2(1.0 + ratio.re))
}

/// State of a running extreme: the best so far, its index, and the next index.
type Best<T> = (Option<T>, i64, i64);

fn extremes(op: &str, a: &Array, dim: usize, sign: f64) -> Result<(Array, Array)> {
    if a.dtype().is_complex() {
        bail!(NotImplemented, "{op}(): complex numbers have no order; got dtype {}", a.dtype());
    }
    let indices = match_dtype!(a.dtype(), T => match a.dtype().category() {
        Category::Float => scan(a, dim, (None, 0, 0), |s: &mut Best<f64>, x: T| {
            let x = sign * x.to_f64();
            // Of equals the last counts, a NaN stays until the next one.
            let better = s.0.is_none_or(|best| x.is_nan() || (!best.is_nan() && x >= best));
            advance(s, x, better)
        }),
        _ => scan(a, dim, (None, 0, 0), |s: &mut Best<i64>, x: T| {
            let x = x.to_i64();
            let better = s.0.is_none_or(|best| if sign > 0.0 { x >= best } else { x <= best });
            advance(s, x, better)
        }),
    })?;
    Ok((index::gather(a, dim, &indices)?, indices))
}

#[inline(always)]
fn advance<T>(state: &mut Best<T>, x: T, better: bool) -> i64 {
    if better {
        (state.0, state.1) = (Some(x), state.2);
    }
    state.2 += 1;
    state.1
}

/// Running maxima along `dim` and their indices (the last of equals); NaN wins. Error: `NotImplemented` for complex.
pub fn cummax(a: &Array, dim: usize) -> Result<(Array, Array)> {
    extremes("cummax", a, dim, 1.0)
}

/// Running minima along `dim` and their indices; otherwise as [`cummax`].
pub fn cummin(a: &Array, dim: usize) -> Result<(Array, Array)> {
    extremes("cummin", a, dim, -1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::{DType, Scalar};
    use crate::dense::copy::cast;
    use crate::dense::samples::{Rng, at, check, strided};
    use proptest::prelude::{prop, proptest};

    /// The elements of the line through `index`, up to it.
    fn line(a: &Array, dim: usize, index: &[usize]) -> Vec<Scalar> {
        let place = |k| index.iter().enumerate().map(|(d, &i)| if d == dim { k } else { i }).collect::<Vec<_>>();
        (0..=index[dim]).map(|k| at(a, &place(k))).collect()
    }

    fn in_dtype(x: Scalar, dtype: DType) -> Scalar {
        let wide = if dtype.is_differentiable() { DType::C128 } else { DType::I64 };
        cast(&Array::scalar(wide, x), dtype).unwrap().item().unwrap()
    }

    proptest! {
        #[test]
        fn scans_equal_plain_loops(
            shape in prop::collection::vec(0usize..6, 1..4), seed: u64, d in 1usize..12,
        ) {
            let (dtype, mut rng) = (DType::ALL[d], Rng(seed));
            let a = strided(&mut rng, dtype, &shape, Rng::small);
            let dim = rng.below(shape.len());
            let fold = |i: &[usize], start: f64, f: fn(Complex<f64>, Complex<f64>) -> Complex<f64>| {
                let all = line(&a, dim, i);
                let z = all.iter().fold(Complex::new(start, 0.0), |s, x| f(s, x.as_complex()));
                in_dtype(if dtype.is_differentiable() { Scalar::Complex(z) } else { Scalar::Int(z.re as i64) }, dtype)
            };
            check(&cumsum(&a, dim).unwrap(), dtype, a.shape(), |i| fold(i, 0.0, |x, y| x + y));
            check(&cumprod(&a, dim).unwrap(), dtype, a.shape(), |i| fold(i, 1.0, |x, y| x * y));
            if dtype.is_complex() {
                return Ok(());
            }
            let a = strided(&mut rng, dtype, &shape, Rng::special);
            for sign in [1.0, -1.0] {
                let (values, indices) = if sign > 0.0 { cummax(&a, dim) } else { cummin(&a, dim) }.unwrap();
                let best = |i: &[usize]| {
                    let v: Vec<f64> = line(&a, dim, i).iter().map(|x| sign * x.as_f64()).collect();
                    let nan = v.iter().rposition(|x| x.is_nan());
                    let top = v.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                    nan.or_else(|| v.iter().rposition(|&x| x == top)).unwrap()
                };
                check(&indices, DType::I64, a.shape(), |i| Scalar::Int(best(i) as i64));
                check(&values, dtype, a.shape(), |i| line(&a, dim, i)[best(i)]);
            }
        }

        #[test]
        fn logcumsumexp_equals_its_formula(n in 1usize..20, seed: u64) {
            let mut rng = Rng(seed);
            let a = strided(&mut rng, DType::F64, &[n, 2], Rng::special);
            let got = logcumsumexp(&a, 0).unwrap();
            for i in 0..n {
                let x: Vec<f64> = line(&a, 0, &[i, 1]).iter().map(|x| x.as_f64()).collect();
                let (g, w) = (at(&got, &[i, 1]).as_f64(), x.iter().map(|x| x.exp()).sum::<f64>().ln());
                assert!(g == w || (g.is_nan() && w.is_nan()) || (g - w).abs() < 1e-12, "{x:?}: {g} {w}");
            }
        }
    }

    #[test]
    fn complex_sums_wind_on() {
        let z = [Complex::new(1.0, 4.0), Complex::new(2.0, -4.0), Complex::new(f64::NEG_INFINITY, 1.0)];
        let y = logcumsumexp(&Array::from_slice([3], &z).unwrap(), 0).unwrap().to_vec::<Complex<f64>>().unwrap();
        let sum = z[0].exp() + z[1].exp();
        assert!(y[0] == z[0] && (y[1].exp() - sum).norm() < 1e-12 && y[1].im < -3.0 && y[2] == y[1]);
        let nothing = Array::from_slice([2], &[Complex::new(f64::NEG_INFINITY, 4.0); 2]).unwrap();
        let y = logcumsumexp(&nothing, 0).unwrap().to_vec::<Complex<f64>>().unwrap();
        assert!(y.iter().all(|y| y.re == f64::NEG_INFINITY && y.im == 0.0));
    }

    #[test]
    fn large_arguments_do_not_overflow() {
        let a = Array::from_slice([3], &[1000.0f64, 1001.0, -1000.0]).unwrap();
        let y = logcumsumexp(&a, 0).unwrap().to_vec::<f64>().unwrap();
        assert!((y[1] - (1001.0 + (1.0 + (-1f64).exp()).ln())).abs() < 1e-12 && y[2] == y[1]);
        let s = Array::scalar(DType::F32, Scalar::Float(2.0));
        assert_eq!(cumsum(&s, 0).unwrap().item().unwrap(), Scalar::Float(2.0));
        assert!(cumsum(&Array::zeros(DType::Bool, [1].into()).unwrap(), 0).is_err());
    }
}
