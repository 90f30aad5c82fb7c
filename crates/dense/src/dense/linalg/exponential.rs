//! The exponential of matrices: Taylor polynomials by Paterson and Stockmeyer, with scaling and squaring.

use super::batch::{self, MatrixBatch, match_scalar};
use super::scalar::{RealScalar, Scalar};
use crate::base::Result;
use crate::dense::Array;
use crate::dense::matmul::{Mat, MatMut};

/// The exponentials of a batch of square matrices. A matrix that is not finite gives NaN.
pub fn matrix_exp(a: &Array) -> Result<Array> {
    batch::check_square("linalg.matrix_exp", a.form())?;
    let n = a.shape()[a.rank() - 1];
    match_scalar!(a.dtype(), T => {
        let mut out = batch::new_array::<T>(a.shape().clone())?;
        let (matrix, result) = (MatrixBatch::<T>::new(a), batch::output::<T>(&mut out, 2));
        batch::for_each(batch::count(a), 8 * n * n * n, |i| {
            // SAFETY: each item is written by one task, and has room for one matrix.
            let x = unsafe {
                let x = result.at(i);
                batch::copy_in(n, n, matrix.at(i), x);
                x
            };
            exponential(n, x);
        });
        Ok(out)
    })
}

/// Up to which norm the polynomial of degree q² is exact to the last bit, for q = 2, 3 and 4: its error is at most that
/// of rounding the matrix (Al-Mohy and Higham, "Computing the action of the matrix exponential", 2011).
const SINGLE: [f64; 3] = [5e-2, 0.7, 2.3];
const DOUBLE: [f64; 3] = [3.3e-4, 8e-2, 0.75];

/// `a·b` into `c`.
fn product<T: Scalar>(n: usize, a: &[T], b: &[T], c: &mut [T]) {
    let at = |x: &[T]| Mat { ptr: x.as_ptr(), rs: n as isize, cs: 1 };
    // SAFETY: all three hold n × n elements, and c is borrowed alone.
    unsafe { T::product(n, n, n, at(a), at(b), MatMut { ptr: c.as_mut_ptr(), rs: n as isize, cs: 1 }) }
}

fn exponential<T: Scalar>(n: usize, x: &mut [T]) {
    if n == 0 {
        return;
    }
    let column = |j: usize| (0..n).map(|i| x[i * n + j].modulus().to_f64()).sum::<f64>();
    let norm = (0..n).map(column).fold(0.0, |a: f64, b| if b > a || b.is_nan() { b } else { a });
    if !x.iter().all(|x| x.is_finite()) || !norm.is_finite() {
        return x.fill(T::of_real(<T::Real as RealScalar>::of_f64(f64::NAN)));
    }
    let bounds = if <T::Real as RealScalar>::EPS.to_f64() > 1e-10 { SINGLE } else { DOUBLE };
    let q = bounds.iter().position(|&b| norm <= b).unwrap_or(2) + 2;
    let squarings = if norm > bounds[2] { (norm / bounds[2]).log2().ceil() as i32 } else { 0 };
    if squarings > 0 {
        let factor = <T::Real as RealScalar>::exp2i(-squarings);
        x.iter_mut().for_each(|x| *x = x.scale(factor));
    }
    polynomial(n, q, x);
    let mut square = vec![T::zero(); n * n];
    for _ in 0..squarings {
        product(n, x, x, &mut square);
        x.copy_from_slice(&square);
    }
}

/// The Taylor polynomial of degree q² in place of its argument: q polynomials of degree q - 1, by Horner in the q-th power.
fn polynomial<T: Scalar>(n: usize, q: usize, x: &mut [T]) {
    let mut powers = vec![x.to_vec()];
    for k in 1..q {
        let mut next = vec![T::zero(); n * n];
        product(n, &powers[k - 1], x, &mut next);
        powers.push(next);
    }
    let inverse_factorial = |k: usize| (1..=k).fold(1.0, |f, i| f / i as f64);
    let coefficient = |k: usize| <T::Real as RealScalar>::of_f64(inverse_factorial(k));
    let add_block = |out: &mut [T], j: usize| {
        for i in (1..q).rev() {
            let c = coefficient(q * j + i);
            out.iter_mut().zip(&powers[i - 1]).for_each(|(o, &p)| *o += p.scale(c));
        }
        let c = T::of_real(coefficient(q * j));
        out.iter_mut().step_by(n + 1).for_each(|o| *o += c);
    };
    let mut sum = vec![T::zero(); n * n];
    for (x, &p) in x.iter_mut().zip(&powers[q - 1]) {
        *x = p.scale(coefficient(q * q));
    }
    add_block(x, q - 1);
    for j in (0..q - 1).rev() {
        product(n, x, &powers[q - 1], &mut sum);
        add_block(&mut sum, j);
        x.copy_from_slice(&sum);
    }
}
