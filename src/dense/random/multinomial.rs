//! Draws of categories with given weights.

use super::fill::{fill, groups, parts};
use super::generator::Generator;
use super::kernels::{Body, Exponential, Uniform};
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::dense::{Array, copy, memory};

/// More categories than this are refused, as in PyTorch.
const MAX_CATEGORIES: usize = 1 << 24;

/// `count` categories for each row of `weights` (1-d or 2-d, any non-negative numbers), as int64 indices.
///
/// Without replacement the order is that of successive draws: the category of the smallest `Eᵢ / wᵢ`, with `Eᵢ`
/// exponential, comes first.
///
/// # Errors
/// `Runtime` for weights that are negative, infinite, NaN or all zero, for `count < 1`, and if fewer than `count`
/// categories can be drawn without replacement. `NotImplemented` if the weights are not floats.
pub fn multinomial(rng: &Generator, weights: &Array, count: i64, replacement: bool) -> Result<Array> {
    let shape = weights.shape().clone();
    if !matches!(shape.rank(), 1 | 2) {
        bail!(Runtime, "multinomial(): argument 'input': prob_dist must be 1 or 2 dim, got {} dims", shape.rank());
    }
    if !weights.dtype().is_float() {
        return Err(super::continuous::unsupported("multinomial", weights.dtype()));
    }
    let k = shape[shape.rank() - 1];
    if k > MAX_CATEGORIES {
        bail!(Runtime, "multinomial(): number of categories cannot exceed 2^24, got {k}");
    }
    if count <= 0 {
        bail!(Runtime, "multinomial(): cannot sample n_sample <= 0 samples, got {count}");
    }
    if !replacement && count as u64 > k as u64 {
        bail!(
            Runtime,
            "multinomial(): cannot sample n_sample > prob_dist.size(-1) samples without replacement: got {count} > {k}"
        );
    }
    let rows = if shape.rank() == 2 { shape[0] } else { 1 };
    let out_shape = shape.with(shape.rank() - 1, count as usize);
    if out_shape.checked_numel().is_none() {
        bail!(Runtime, "multinomial(): a result of shape {out_shape} has more elements than memory can address");
    }
    let weights = copy::cast(weights, DType::F64)?.contiguous()?;
    let Some(w) = weights.as_slice::<f64>() else { bail!(Internal, "contiguous() gave a strided array") };
    for r in 0..rows {
        check_row(&w[r * k..(r + 1) * k], count as usize, replacement)?;
    }
    if replacement { with_replacement(rng, w, k, out_shape) } else { without_replacement(rng, w, k, out_shape) }
}

fn check_row(w: &[f64], count: usize, replacement: bool) -> Result<()> {
    if let Some(x) = w.iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
        bail!(Runtime, "multinomial(): probability tensor contains either `inf`, `nan` or element < 0: got {x}");
    }
    let positive = w.iter().filter(|&&x| x > 0.0).count();
    if positive == 0 {
        bail!(Runtime, "multinomial(): invalid multinomial distribution (sum of probabilities <= 0)");
    }
    if !replacement && positive < count {
        bail!(
            Runtime,
            "multinomial(): invalid multinomial distribution (with replacement=False, not enough non-negative \
             category to sample): {positive} categories have a positive weight, got n_sample={count}"
        );
    }
    Ok(())
}

fn with_replacement(rng: &Generator, w: &[f64], k: usize, shape: Shape) -> Result<Array> {
    let count = shape[shape.rank() - 1];
    let uniforms = samples(rng, shape.numel(), Uniform { digits: 53, scale: 1.0, low: 0.0, last: 1.0 })?;
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
            for (o, &u) in out.iter_mut().zip(&uniforms[begin..]) {
                *o = cumulative.partition_point(|&c| c <= u * sum).min(last) as i64;
            }
        });
    })
}

fn without_replacement(rng: &Generator, w: &[f64], k: usize, shape: Shape) -> Result<Array> {
    let count = shape[shape.rank() - 1];
    let times = samples(rng, w.len(), Exponential { factor: -1.0, tiny: -f64::EPSILON / 4.0 })?;
    Array::build::<i64>(shape, |out| {
        parts(out, count, |begin, out| {
            let row = begin / count * k;
            let mut order: Vec<(f64, i64)> =
                (0..k).filter(|&i| w[row + i] > 0.0).map(|i| (times[row + i] / w[row + i], i as i64)).collect();
            let less = |a: &(f64, i64), b: &(f64, i64)| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1));
            if count < order.len() {
                order.select_nth_unstable_by(count, less);
                order.truncate(count);
            }
            order.sort_unstable_by(less);
            for (o, (_, i)) in out.iter_mut().zip(order) {
                *o = i;
            }
        });
    })
}

fn samples<B: Body<Out = f64>>(rng: &Generator, n: usize, body: B) -> Result<Vec<f64>> {
    memory::check_available(n.saturating_mul(8))?;
    let mut out = vec![0.0; n];
    fill(rng.reserve(groups::<B>(n)), 0, &body, &mut out);
    Ok(out)
}
