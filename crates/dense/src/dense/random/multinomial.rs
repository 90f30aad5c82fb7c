//! Draws of categories with given weights.

use super::fill::parts;
use super::generator::Generator;
use crate::bail;
use crate::base::shape::broadcast2;
use crate::base::{DType, Result, Shape};
use crate::dense::{Array, copy, threads};

/// More categories than this are refused, as in PyTorch.
const MAX_CATEGORIES: usize = 1 << 24;
/// Draws between which a long row looks whether to stop.
const TURN: usize = 1 << 14;

/// `count` categories for each row of `weights` (1-d or 2-d, any non-negative numbers), as int64 indices.
///
/// # Errors
/// `Runtime` for weights that are negative, infinite, NaN or all zero, for `count < 1`, and if fewer than `count`
/// categories can be drawn without replacement. `NotImplemented` if the weights are not floats.
pub fn multinomial(rng: &Generator, weights: &Array, count: i64, replacement: bool) -> Result<Array> {
    let noise = noise_shape(weights.shape(), weights.dtype(), count, replacement)?;
    check_weights(weights, count as usize, replacement)?;
    let noise = match replacement {
        true => super::uniform(rng, DType::F64, &noise, 0.0, 1.0)?,
        false => super::exponential(rng, DType::F64, &noise, 1.0)?,
    };
    choose(weights, &noise, count as usize, replacement)
}

/// The shape of the random numbers that a draw from weights of this shape needs: uniform ones with replacement,
/// exponential ones without.
///
/// # Errors
/// Those of [`multinomial`] that do not depend on the weights' values.
pub fn noise_shape(shape: &Shape, dtype: DType, count: i64, replacement: bool) -> Result<Shape> {
    if !matches!(shape.rank(), 1 | 2) {
        bail!(Runtime, "multinomial(): argument 'input': prob_dist must be 1 or 2 dim, got {} dims", shape.rank());
    }
    if !dtype.is_float() {
        bail!(
            Runtime,
            "multinomial(): only supports floating-point dtypes for input, got {dtype}; convert it with .float()"
        );
    }
    let k = shape[shape.rank() - 1];
    if k > MAX_CATEGORIES {
        bail!(Runtime, "multinomial(): number of categories cannot exceed 2^24, got {k}; draw in groups");
    }
    if count <= 0 {
        bail!(Runtime, "multinomial(): cannot sample n_sample <= 0 samples, got num_samples={count}; give 1 or more");
    }
    if !replacement && count as u64 > k as u64 {
        bail!(
            Runtime,
            "multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement: got {count} > {k}; \
             draw fewer, or with replacement=True"
        );
    }
    if !replacement {
        return Ok(shape.clone());
    }
    let noise = shape.with(shape.rank() - 1, count as usize);
    if noise.checked_numel().is_none() {
        bail!(Runtime, "multinomial(): a result of shape {noise} has more elements than memory can address");
    }
    Ok(noise)
}

/// The categories that these random numbers choose; leading dimensions broadcast.
///
/// Without replacement the order is that of successive draws: the category of the smallest `Eᵢ / wᵢ`, with `Eᵢ`
/// exponential, comes first.
///
/// # Errors
/// Those of [`multinomial`] that depend on the weights' values.
pub fn choose(weights: &Array, noise: &Array, count: usize, replacement: bool) -> Result<Array> {
    let lead = |a: &Array| a.shape().without(a.rank() - 1);
    let k = weights.shape()[weights.rank() - 1];
    let rows = broadcast2("multinomial", &lead(weights), &lead(noise))?;
    let grow = |a: &Array| copy::cast(&a.expand(&rows.append(a.shape()[a.rank() - 1]))?, DType::F64)?.contiguous();
    let (weights, noise) = (grow(weights)?, grow(noise)?);
    let (Some(w), Some(noise)) = (weights.as_slice::<f64>(), noise.as_slice::<f64>()) else {
        bail!(Internal, "contiguous() gave a strided array")
    };
    check_rows(w, rows.numel(), count, replacement)?;
    let shape = rows.append(count);
    if replacement { with_replacement(w, noise, k, shape) } else { without_replacement(w, noise, k, shape) }
}

/// An error unless that many categories can be drawn from each row, for callers that must know before they draw.
///
/// # Errors
/// Those of [`multinomial`] that depend on the weights' values.
pub fn check_weights(weights: &Array, count: usize, replacement: bool) -> Result<()> {
    let w = copy::cast(weights, DType::F64)?.contiguous()?;
    let Some(values) = w.as_slice::<f64>() else { bail!(Internal, "contiguous() gave a strided array") };
    check_rows(values, w.shape().without(w.rank() - 1).numel(), count, replacement)
}

fn check_rows(w: &[f64], rows: usize, count: usize, replacement: bool) -> Result<()> {
    let k = w.len().checked_div(rows).unwrap_or(0);
    (0..rows).try_for_each(|r| check_row(&w[r * k..(r + 1) * k], count, replacement))
}

fn check_row(w: &[f64], count: usize, replacement: bool) -> Result<()> {
    if let Some(x) = w.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        bail!(
            Runtime,
            "multinomial(): probability tensor contains either `inf`, `nan` or element < 0: got {x}; weights are finite and 0 \
             or more"
        );
    }
    let positive = w.iter().filter(|&&x| x > 0.0).count();
    if positive == 0 {
        bail!(
            Runtime,
            "multinomial(): invalid multinomial distribution (sum of probabilities <= 0); some weight of each row is positive"
        );
    }
    if !replacement && positive < count {
        bail!(
            Runtime,
            "multinomial(): invalid multinomial distribution (with replacement=False, not enough non-negative \
             category to sample): {positive} categories have a positive weight, got n_sample={count}; \
             draw fewer, or with replacement=True"
        );
    }
    Ok(())
}

fn with_replacement(w: &[f64], uniforms: &[f64], k: usize, shape: Shape) -> Result<Array> {
    let count = shape[shape.rank() - 1];
    Array::build::<i64>(shape, |out| {
        parts(out, count, |begin, out| {
            let row = begin / count;
            let mut sum = 0.0;
            // Dividing by the largest keeps the sum finite.
            let w = &w[row * k..(row + 1) * k];
            let top = w.iter().fold(0.0, |m: f64, &x| m.max(x));
            let cumulative: Vec<f64> = w
                .iter()
                .map(|&x| {
                    sum += x / top;
                    sum
                })
                .collect();
            // Rounding must not lead past the last category that has a weight.
            let last = w.iter().rposition(|&x| x > 0.0).unwrap_or(0);
            for (i, (o, &u)) in out.iter_mut().zip(&uniforms[begin..]).enumerate() {
                if i % TURN == TURN - 1 {
                    threads::cancellation_point();
                }
                *o = cumulative.partition_point(|&c| c <= u * sum).min(last) as i64;
            }
        });
    })
}

fn without_replacement(w: &[f64], times: &[f64], k: usize, shape: Shape) -> Result<Array> {
    let count = shape[shape.rank() - 1];
    Array::build::<i64>(shape, |out| {
        parts(out, count, |begin, out| {
            let row = begin / count * k;
            let mut order: Vec<(f64, i64)> =
                (0..k).filter(|&i| w[row + i] > 0.0).map(|i| (times[row + i] / w[row + i], i as i64)).collect();
            let mut compared = 0_usize;
            let mut less = |a: &(f64, i64), b: &(f64, i64)| {
                // Sorting a long row takes seconds; nothing is lost if it is given up between two comparisons.
                compared = compared.wrapping_add(1);
                if compared.is_multiple_of(16 * TURN) {
                    threads::cancellation_point();
                }
                a.0.total_cmp(&b.0).then(a.1.cmp(&b.1))
            };
            if count < order.len() {
                order.select_nth_unstable_by(count, &mut less);
                order.truncate(count);
            }
            order.sort_unstable_by(less);
            for (o, (_, i)) in out.iter_mut().zip(order) {
                *o = i;
            }
        });
    })
}
