//! Eigenvalues and eigenvectors of general matrices.
//!
//! The decomposition is `faer`'s, after scaling; its result is checked. A real matrix that fails the check is decomposed
//! once more as a complex one, which is other code.

use super::backend::Backend;
use super::batch::{self, MatrixBatch};
use super::checks;
use super::eigh::{NOT_FINITE, check_convergence};
use super::scalar::{RealScalar, Scalar};
use crate::bail;
use crate::base::{DType, Element, Error, Result};
use crate::dense::Array;
use num_complex::Complex;

/// Eigenvalues [..., n] and eigenvectors [..., n, n] (as columns, of norm 1, the largest element real and positive) of the
/// matrices `a` [..., n, n]; both complex.
///
/// # Errors
/// `LinAlg` if an element is not finite or the iteration does not converge.
pub fn eig(a: &Array) -> Result<(Array, Array)> {
    const OP: &str = "linalg.eig";
    batch::check_square(OP, a.form())?;
    let (values, vectors, info) = match a.dtype() {
        DType::F32 => run::<f32, f32>(a, of_real),
        DType::F64 => run::<f64, f64>(a, of_real),
        DType::C64 => run::<f32, Complex<f32>>(a, of_complex),
        DType::C128 => run::<f64, Complex<f64>>(a, of_complex),
        other => Err(Error::internal(format!("no eigenvalues of {other}"))),
    }?;
    if batch::first_failure(&info).is_some_and(|(_, why)| why == NOT_FINITE) {
        bail!(Runtime, "{OP}: input tensor should not contain infs or NaNs; mask or replace them first");
    }
    check_convergence(OP, a, &info)?;
    Ok((values, vectors))
}

/// Decomposes a scaled matrix of n rows into values and column-major vectors; false if it does not converge.
type Routine<R, T> = fn(usize, &[T], &mut [Complex<R>], &mut [Complex<R>]) -> bool;

fn run<R: Backend, T: Scalar<Real = R>>(a: &Array, routine: Routine<R, T>) -> Result<(Array, Array, Array)>
where
    Complex<R>: Scalar<Real = R>,
{
    let input = MatrixBatch::<T>::new(a);
    let (n, lead) = (input.rows, batch::lead(a));
    let mut values = batch::new_array::<Complex<R>>(batch::with(&lead, &[n]))?;
    let mut vectors = batch::new_array::<Complex<R>>(a.shape().clone())?;
    let mut info = batch::new_array::<i32>(lead)?;
    let out_values = batch::output::<Complex<R>>(&mut values, 1);
    let out_vectors = batch::output::<Complex<R>>(&mut vectors, 2);
    let out_info = batch::output::<i32>(&mut info, 0);
    batch::for_each(batch::count(a), 25 * n * n * n, |i| {
        let mut work = vec![T::zero(); n * n];
        // SAFETY: each item is written by one task.
        unsafe {
            batch::copy_in(n, n, input.at(i), &mut work);
            out_info.at(i)[0] = one(n, &mut work, out_values.at(i), out_vectors.at(i), routine);
        }
    });
    Ok((values, vectors, info))
}

/// Decomposes one matrix, with `info` as result; the vectors become columns of a row-major matrix.
fn one<R: Backend, T: Scalar<Real = R>>(
    n: usize,
    a: &mut [T],
    values: &mut [Complex<R>],
    vectors: &mut [Complex<R>],
    routine: Routine<R, T>,
) -> i32
where
    Complex<R>: Scalar<Real = R>,
{
    let Some(max) = checks::largest(a) else {
        return NOT_FINITE;
    };
    let e = checks::scale_to_one(a, max);
    let scales = balance(n, a);
    let mut rows = vec![Complex::<R>::zero(); n * n];
    let whole: Vec<Complex<R>> = a.iter().map(|&x| complex(x.re(), x.im())).collect();
    let mut finish = |rows: &mut [Complex<R>], values: &[Complex<R>]| {
        rows.chunks_exact_mut(n.max(1)).for_each(normalise);
        super::triangular::transpose(n, n, rows, vectors);
        let is_right = is_right(n, &whole, vectors, values);
        if is_right && scales.iter().any(|&e| e != 0) {
            for v in rows.chunks_exact_mut(n) {
                v.chunks_exact_mut(1).zip(&scales).for_each(|(x, &e)| checks::times_power(x, e));
                normalise(v);
            }
            super::triangular::transpose(n, n, rows, vectors);
        }
        is_right
    };
    let ok = match n {
        0 => true,
        1 => {
            (values[0], rows[0]) = (whole[0], Complex::<R>::one());
            finish(&mut rows, values)
        }
        _ => {
            routine(n, a, values, &mut rows) && finish(&mut rows, values)
                || !T::COMPLEX && of_complex::<R>(n, &whole, values, &mut rows) && finish(&mut rows, values)
        }
    };
    checks::times_power(values, -e);
    i32::from(!ok)
}

/// Rows and columns of like sizes, by powers of two: `a` becomes `D⁻¹ a D`, whose eigenvectors `D` makes those of `a`.
/// Gives the exponents of `D` below its largest. Without it rounding loses the small parts of a matrix of mixed sizes.
/// B. N. Parlett and C. Reinsch, Balancing a matrix, Numerische Mathematik 13 (1969), in the norm of sums.
fn balance<T: Scalar>(n: usize, a: &mut [T]) -> Vec<i32> {
    const SWEEPS: usize = 64;
    let mut exponents = vec![0; n];
    for _ in 0..SWEEPS {
        let mut is_settled = true;
        for i in 0..n {
            let (mut column, mut row) = (0.0f64, 0.0f64);
            for j in (0..n).filter(|&j| j != i) {
                column += a[j * n + i].taxicab().to_f64();
                row += a[i * n + j].taxicab().to_f64();
            }
            if column == 0.0 || row == 0.0 {
                continue;
            }
            let e = ((row / column).log2() / 2.0).round() as i32;
            if column * f64::exp2(e.into()) + row * f64::exp2((-e).into()) >= 0.95 * (column + row) {
                continue;
            }
            is_settled = false;
            exponents[i] += e;
            for j in (0..n).filter(|&j| j != i) {
                checks::times_power(&mut a[j * n + i..=j * n + i], e);
                checks::times_power(&mut a[i * n + j..=i * n + j], -e);
            }
        }
        if is_settled {
            break;
        }
    }
    let top = exponents.iter().copied().max().unwrap_or(0);
    exponents.iter().map(|e| e - top).collect()
}

fn complex<R: Backend>(re: R, im: R) -> Complex<R> {
    Complex { re, im }
}

fn of_complex<R: Backend>(n: usize, a: &[Complex<R>], values: &mut [Complex<R>], rows: &mut [Complex<R>]) -> bool {
    R::eig_complex(n, a, values, rows)
}

fn of_real<R: Backend>(n: usize, a: &[R], values: &mut [Complex<R>], rows: &mut [Complex<R>]) -> bool {
    let zero = <R as Element>::zero();
    let (mut re, mut im, mut parts) = (vec![zero; n], vec![zero; n], vec![zero; n * n]);
    if !R::eig(n, a, &mut re, &mut im, &mut parts) {
        return false;
    }
    let mut j = 0;
    while j < n {
        values[j] = complex(re[j], im[j]);
        let (this, next) = (&parts[j * n..(j + 1) * n], parts.get((j + 1) * n..(j + 2) * n));
        match next.filter(|_| im[j] != zero) {
            // Two columns are the parts of one vector, whose conjugate is the next.
            Some(next) => {
                values[j + 1] = complex(re[j], -im[j]);
                for i in 0..n {
                    rows[j * n + i] = complex(this[i], next[i]);
                    rows[(j + 1) * n + i] = complex(this[i], -next[i]);
                }
                j += 2;
            }
            None => {
                for i in 0..n {
                    rows[j * n + i] = complex(this[i], zero);
                }
                j += 1;
            }
        }
    }
    true
}

/// Gives a vector the norm 1, and turns it so that its largest element is real and positive.
fn normalise<R: Backend>(v: &mut [Complex<R>])
where
    Complex<R>: Scalar<Real = R>,
{
    let Some(max) = checks::largest(v) else { return };
    checks::scale_to_one(v, max);
    let norm = v.iter().fold(<R as Element>::zero(), |s, x| s + x.norm_sqr()).sqrt();
    let mut top = Complex::<R>::zero();
    for &x in v.iter() {
        // The first of equally large ones, up to rounding, so that conjugates turn alike.
        if x.norm_sqr() > top.norm_sqr() + top.norm_sqr() * R::EPS * R::of_f64(16.0) {
            top = x;
        }
    }
    let size = top.modulus();
    if norm == <R as Element>::zero() || size == <R as Element>::zero() {
        return;
    }
    let turn = Scalar::conj(top).over_real(size);
    v.iter_mut().for_each(|x| *x = (*x * turn).over_real(norm));
}

/// Whether `a·v = v·diag(values)`, by a test vector.
fn is_right<T: Scalar>(n: usize, a: &[T], v: &[T], values: &[T]) -> bool {
    let x = checks::test_vector::<T>(n);
    let scaled: Vec<T> = x.iter().zip(values).map(|(&x, &s)| x * s).collect();
    let left = checks::apply(n, n, a, &checks::apply(n, n, v, &x, false), false);
    checks::distance(&left, &checks::apply(n, n, v, &scaled, false)) <= 4.0 * checks::tolerance::<T>(n) * (n as f64)
}
