//! Whether a function that runs again gives what it gave.

use crate::base::{DType, Result, Scalar};
use crate::core::level::{self, GradMode};
use crate::core::{LevelId, Tensor};
use crate::dense::Array;
use crate::rules::basis;

/// How far values may differ that were computed by other kernels, as a part of their size.
fn tolerance(dtype: DType) -> f64 {
    match dtype {
        DType::F64 | DType::C128 => 1e-9,
        DType::F32 | DType::C64 => 1e-4,
        _ => 2e-2,
    }
}

fn numbers(a: &Array) -> Result<Vec<f64>> {
    if !a.dtype().is_complex() {
        return a.to_vec::<f64>();
    }
    let flat = a.contiguous()?.reshape(&crate::base::Shape::new(&[a.numel()]))?;
    let mut out = Vec::with_capacity(2 * a.numel());
    for i in 0..a.numel() {
        if let Scalar::Complex(z) = flat.get(&[i])? {
            out.extend([z.re, z.im]);
        }
    }
    Ok(out)
}

/// Whether two values are equal, NaN and NaN too, up to what another order of the same sums makes.
///
/// # Errors
/// Those of levels that the values belong to.
pub fn agree(first: &Tensor, again: &Tensor) -> Result<bool> {
    if first.same(again) || level::tracing() != LevelId::DENSE {
        return Ok(true);
    }
    if first.shape() != again.shape() || first.dtype() != again.dtype() {
        return Ok(false);
    }
    // Members of a batch may lie in another order, and be one for all: an operator puts both in the same.
    let _off = GradMode::set(false);
    let choose = |on: bool| {
        let condition = basis::full(first.shape(), DType::Bool, on)?;
        basis::where_(&condition, first, again)
    };
    let (a, b) = (choose(true)?, choose(false)?);
    let (Some(a), Some(b)) = (a.innermost(), b.innermost()) else { return Ok(true) };
    let exact = !a.dtype().is_differentiable();
    let (a, b, tolerance) = (numbers(a)?, numbers(b)?, tolerance(a.dtype()));
    let finite = |x: &&f64| x.is_finite();
    let size = a.iter().filter(finite).map(|x| x.abs()).sum::<f64>() / a.len().max(1) as f64;
    let close = |(x, y): (&f64, &f64)| {
        let bound = tolerance * (size + x.abs().max(y.abs()));
        let rounded = !exact && bound.is_finite() && (x - y).abs() <= bound;
        x == y || (x.is_nan() && y.is_nan()) || rounded
    };
    Ok(a.len() == b.len() && a.iter().zip(&b).all(close))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(v: &[f64]) -> Tensor {
        Tensor::from_slice([v.len()], v).unwrap()
    }

    #[test]
    fn rounding_agrees_and_draws_do_not() {
        let a = numbers(&[1.0, f64::NAN, f64::INFINITY, 0.0]);
        assert!(agree(&a, &numbers(&[1.0 + 1e-14, f64::NAN, f64::INFINITY, 1e-14])).unwrap());
        for other in [[1.1, f64::NAN, f64::INFINITY, 0.0], [1.0, 0.0, f64::INFINITY, 0.0], [1.0, f64::NAN, 1.0, 0.0]] {
            assert!(!agree(&a, &numbers(&other)).unwrap());
        }
        assert!(!agree(&a, &numbers(&[1.0])).unwrap());
    }
}
