//! Evenly spaced values.

use super::{Array, copy::Convert};
use crate::base::{DType, Element, Result, Scalar};
use crate::match_dtype;

/// `start + i * step`, i in 0..n. Integers step exactly.
pub fn arange(dtype: DType, start: Scalar, step: Scalar, n: usize) -> Result<Array> {
    let exact = !matches!((start, step), (Scalar::Float(_), _) | (_, Scalar::Float(_)));
    match_dtype!(dtype, T => Array::build::<T>([n].into(), |out| {
        for (i, o) in out.iter_mut().enumerate() {
            *o = if exact {
                <T as Convert>::of_i64(start.as_i64().wrapping_add(step.as_i64().wrapping_mul(i as i64)))
            } else {
                <T as Convert>::of_f64(start.as_f64() + step.as_f64() * i as f64)
            };
        }
    }))
}

/// `n` values from `start` to `end`, both included; counted from the nearer end, so that the result is symmetric.
pub fn linspace(dtype: DType, start: f64, end: f64, n: usize) -> Result<Array> {
    let step = if n > 1 { (end - start) / (n - 1) as f64 } else { 0.0 };
    match_dtype!(dtype, T => Array::build::<T>([n].into(), |out| {
        for (i, o) in out.iter_mut().enumerate() {
            let x = if i < n / 2 || n == 1 { start + step * i as f64 } else { end - step * (n - 1 - i) as f64 };
            *o = <T as Convert>::of_f64(x);
        }
        debug_assert!(<T as Element>::DTYPE == dtype);
    }))
}
