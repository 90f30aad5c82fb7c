//! Kernels composed of reductions and elementwise steps: softmax, norms, deviations.

use super::array::Array;
use super::pointwise::kernels::{
    ADD_LOG, DIV, EXP_OF_DIFFERENCE, FINITE_OR_ZERO, SQRT, SQUARE, SQUARED_DIFFERENCE, SUB, SUBTRACT_LOG,
};
use super::pointwise::{binary, unary};
use super::{cast, reduce};
use crate::base::{DType, Result};

/// Half precision as single precision, so that only results are rounded.
fn wide(a: &Array) -> Result<Array> {
    if a.dtype().is_half() { cast::cast(a, DType::F32) } else { Ok(a.clone()) }
}

/// Exponentials of the differences to the maximum, and their sums with the dimension kept.
fn shifted(a: &Array, dim: usize) -> Result<(Array, Array, Array)> {
    let m = reduce::amax(a, &[dim], true)?;
    let e = binary(&EXP_OF_DIFFERENCE, a, &m)?;
    let s = reduce::sum(&e, &[dim], true)?;
    Ok((m, e, s))
}

/// `exp(a) / sum(exp(a))` along a dimension, without overflow.
///
/// # Errors
/// If the memory for the result is not there.
pub fn softmax(a: &Array, dim: usize) -> Result<Array> {
    if a.numel() == 0 || a.rank() == 0 {
        return Array::full(a.dtype(), a.shape().clone(), 1.0.into());
    }
    let (_, e, s) = shifted(&wide(a)?, dim)?;
    cast::cast(&binary(&DIV, &e, &s)?, a.dtype())
}

/// The logarithm of [`softmax`].
///
/// # Errors
/// If the memory for the result is not there.
pub fn log_softmax(a: &Array, dim: usize) -> Result<Array> {
    if a.numel() == 0 || a.rank() == 0 {
        return Array::zeros(a.dtype(), a.shape().clone());
    }
    let x = wide(a)?;
    let (m, _, s) = shifted(&x, dim)?;
    cast::cast(&binary(&SUBTRACT_LOG, &binary(&SUB, &x, &m)?, &s)?, a.dtype())
}

/// m + log(sum(exp(a - m))), m the maximum or 0 where that is infinite.
///
/// # Errors
/// If the memory for the result is not there.
pub fn logsumexp(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    let dtype = a.dtype();
    let a = &wide(a)?;
    let nothing = dims.iter().any(|&d| d < a.rank() && a.shape()[d] == 0);
    let m = if nothing {
        Array::zeros(a.dtype(), reduce::sum(a, dims, true)?.shape().clone())?
    } else {
        unary(&FINITE_OR_ZERO, &reduce::amax(a, dims, true)?)?
    };
    let s = reduce::sum(&binary(&EXP_OF_DIFFERENCE, a, &m)?, dims, keep)?;
    cast::cast(&binary(&ADD_LOG, &m.reshape(s.shape())?, &s)?, dtype)
}

/// In float64, where squares of other dtypes neither overflow nor vanish, and sums of equal elements are exact. Elements
/// that are float64 themselves are counted from the first one, so that the deviation of constants is 0.
fn squared_deviation(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    let n = dims.iter().map(|&d| a.shape()[d]).product::<usize>();
    let mut x = cast::cast(a, DType::F64)?;
    if a.dtype() == DType::F64 && n > 0 {
        let first = dims.iter().try_fold(a.clone(), |f, &d| f.slice(d, 0, 1, 1))?;
        x = binary(&SUB, &x, &first)?;
    }
    let n = Array::scalar(DType::F64, (n as f64).into());
    let mean = binary(&DIV, &reduce::sum(&x, dims, true)?, &n)?;
    let squares = binary(&SQUARED_DIFFERENCE, &x, &mean)?;
    binary(&DIV, &reduce::sum(&squares, dims, keep)?, &n)
}

/// The mean squared deviation from the mean.
///
/// # Errors
/// If the memory for the result is not there.
pub fn variance(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    cast::cast(&squared_deviation(a, dims, keep)?, a.dtype())
}

/// The root of the mean squared deviation from the mean, without overflow of the squares.
///
/// # Errors
/// If the memory for the result is not there.
pub fn deviation(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    cast::cast(&unary(&SQRT, &squared_deviation(a, dims, keep)?)?, a.dtype())
}

/// The Euclidean norm.
///
/// # Errors
/// If the memory for the result is not there.
pub fn norm(a: &Array, dims: &[usize], keep: bool) -> Result<Array> {
    unary(&SQRT, &reduce::sum(&unary(&SQUARE, a)?, dims, keep)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(x: &[f64], shape: [usize; 2]) -> Array {
        Array::from_slice(shape, x).unwrap()
    }
    fn close(a: &Array, want: &[f64]) -> bool {
        a.to_vec::<f64>().unwrap().iter().zip(want).all(|(x, y)| x == y || (x - y).abs() < 1e-14 * y.abs().max(1.0))
    }

    #[test]
    fn rows_of_two() {
        let a = of(&[1000.0, 1000.0, 0.0, 3f64.ln()], [2, 2]);
        assert!(close(&softmax(&a, 1).unwrap(), &[0.5, 0.5, 0.25, 0.75]));
        assert!(close(&log_softmax(&a, 1).unwrap(), &[0.5f64.ln(), 0.5f64.ln(), 0.25f64.ln(), 0.75f64.ln()]));
        assert!(close(&logsumexp(&a, &[1], false).unwrap(), &[1000.0 + 2f64.ln(), 4f64.ln()]));
        let b = of(&[3.0, 4.0, 1e200, 1e200], [2, 2]);
        assert!(close(&norm(&b, &[1], false).unwrap(), &[5.0, f64::INFINITY]));
        assert!(close(&variance(&b, &[1], true).unwrap(), &[0.25, 0.0]));
        assert!(close(&deviation(&b, &[0, 1], false).unwrap().reshape(&[1].into()).unwrap(), &[f64::INFINITY]));
    }
}
