//! Normalisation over dimensions.

use super::formats::{arranged, by_format, by_rows};
use crate::base::{ErrorKind, Result, Shape};
use crate::core::Tensor;
use crate::ops::promote::single;
use crate::ops::reduce::mean_over;
use crate::ops::signature::{Floats, Inexact, Positive, of_channels, of_rank, of_shape};
use crate::ops::unary::rsqrt;
use crate::rules::basis::{self, add, mul, shift, sub};

/// The trailing dimensions that `normalized_shape` names.
fn trailing(input: &Tensor, normalized: &[i64]) -> Result<Vec<usize>> {
    let k = normalized.len();
    if k == 0 {
        refuse!(
            Runtime,
            "expected normalized_shape to be at least 1-dimensional; name the trailing sizes of the input"
        );
    }
    let fits =
        k <= input.rank() && input.shape()[input.rank() - k..].iter().zip(normalized).all(|(&d, &n)| d as i64 == n);
    if !fits {
        refuse!(
            Runtime,
            "given normalized_shape={normalized:?}, expected input with shape [*, {}], but got input \
             of size {}; name its trailing sizes",
            normalized.iter().map(i64::to_string).collect::<Vec<_>>().join(", "),
            input.shape()
        );
    }
    Ok((input.rank() - k..input.rank()).collect())
}

fn check_parameter(name: &str, p: Option<&Tensor>, normalized: &[i64]) -> Result<()> {
    let want: Shape = normalized.iter().map(|&n| n as usize).collect();
    p.map(|p| of_shape(ErrorKind::Runtime, name, p, &want)).transpose().map(drop)
}

/// (x - mean) / sqrt(var + eps) over dimensions, with the mean and the biased variance; `x` is not of half precision.
fn normalized(x: &Tensor, dims: &[usize], eps: f64) -> Result<(Tensor, Tensor, Tensor)> {
    let mean = mean_over(x, dims, true)?;
    let centred = sub(x, &mean)?;
    let var = mean_over(&mul(&centred, &centred)?, dims, true)?;
    Ok((mul(&centred, &rsqrt(&shift(&var, eps)?)?)?, mean, var))
}

/// `x * weight + bias`, either of which may be missing.
fn affine(x: Tensor, weight: Option<&Tensor>, bias: Option<&Tensor>) -> Result<Tensor> {
    let y = match weight {
        Some(w) => mul(&x, &basis::cast(w, x.dtype())?)?,
        None => x,
    };
    match bias {
        Some(b) => add(&y, &basis::cast(b, y.dtype())?),
        None => Ok(y),
    }
}

/// A vector over channels (dimension 1), broadcast against the input.
fn channels(name: &str, v: Option<&Tensor>, input: &Tensor) -> Result<Option<Tensor>> {
    let Some(v) = v else { return Ok(None) };
    let c = input.shape()[1];
    of_channels(name, v, c)?;
    let shape: Shape = (0..input.rank()).map(|d| if d == 1 { c } else { 1 }).collect();
    Ok(Some(basis::reshape(v, &shape)?))
}

/// Statistics of a batch as the running ones are updated with.
pub struct BatchNorm {
    pub out: Tensor,
    /// New running mean and variance, when they are kept.
    pub running: Option<(Tensor, Tensor)>,
}

/// Batch normalisation; returns what becomes of the running statistics.
#[allow(clippy::too_many_arguments)]
pub fn batch_norm_with_stats(
    input: &Tensor,
    running_mean: Option<&Tensor>,
    running_var: Option<&Tensor>,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    training: bool,
    momentum: f64,
    eps: f64,
) -> Result<BatchNorm> {
    if input.numel() == 0 && (input.rank() < 2 || !training && running_mean.is_none() && running_var.is_none()) {
        return Ok(BatchNorm { out: input.clone(), running: None });
    }
    of_rank("input", input, 2, usize::MAX)?;
    // Nothing was seen, so nothing is learned.
    let (running_mean, running_var) =
        if input.numel() == 0 && training { (None, None) } else { (running_mean, running_var) };
    let out_dtype = input.dtype();
    let input = &single(&by_format(input)?)?;
    let w = channels("weight", weight, input)?;
    let b = channels("bias", bias, input)?;
    let mean = channels("running_mean", running_mean, input)?;
    let var = channels("running_var", running_var, input)?;
    if !training {
        let (Some(mean), Some(var)) = (mean, var) else {
            refuse!(
                Runtime,
                "expected running_mean and running_var to be given when training=False; give them, or \
                training=True"
            )
        };
        let (mean, var) = (basis::cast(&mean, input.dtype())?, basis::cast(&var, input.dtype())?);
        let scaled = mul(&sub(input, &mean)?, &rsqrt(&shift(&var, eps)?)?)?;
        let out = basis::cast(&affine(scaled, w.as_ref(), b.as_ref())?, out_dtype)?;
        return Ok(BatchNorm { out, running: None });
    }
    let dims: Vec<usize> = (0..input.rank()).filter(|&d| d != 1).collect();
    let n: usize = dims.iter().map(|&d| input.shape()[d]).product();
    if n == 1 {
        refuse!(
            Value,
            "expected more than 1 value per channel when training, got input size {}; give a larger batch, or \
            training=False",
            input.shape()
        );
    }
    let (x, batch_mean, batch_var) = normalized(input, &dims, eps)?;
    let running = match (running_mean, running_var) {
        (Some(m), Some(v)) => {
            let mix = |old: &Tensor, new: &Tensor, factor: f64| -> Result<Tensor> {
                let new = basis::reshape(&crate::ops::shape::detach(new)?, old.shape())?;
                let new = basis::cast(&basis::scale(&new, factor * momentum)?, old.dtype())?;
                add(&basis::scale(old, 1.0 - momentum)?, &new)
            };
            Some((mix(m, &batch_mean, 1.0)?, mix(v, &batch_var, n as f64 / (n as f64 - 1.0))?))
        }
        _ => None,
    };
    Ok(BatchNorm { out: basis::cast(&affine(x, w.as_ref(), b.as_ref())?, out_dtype)?, running })
}

ops! { TABLE:
    /// Zero mean and unit variance over the trailing dimensions, then `* weight + bias`.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.layer_norm(pullback.tensor([1.0, 3.0]), (2,), eps=0.0)
    /// tensor([-1.,  1.])
    fn layer_norm = "nn.functional.layer_norm" | "layer_norm" (input: &Tensor as Floats, normalized_shape: &[i64],
        weight: Option<&Tensor> = None, bias: Option<&Tensor> = None, eps: f64 = 1e-5, cudnn_enable: bool = true)
        -> Tensor [NO_OUT] node "NativeLayerNormBackward0" {
        let _ = cudnn_enable;
        let dims = trailing(input, normalized_shape)?;
        check_parameter("weight", weight, normalized_shape)?;
        check_parameter("bias", bias, normalized_shape)?;
        basis::cast(&affine(normalized(&single(&by_rows(input)?)?, &dims, eps)?.0, weight, bias)?, input.dtype())
    }

    /// Unit mean square over the trailing dimensions, then `* weight`. `eps` is that of the dtype unless given.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.rms_norm(pullback.tensor([3.0, 3.0]), (2,))
    /// tensor([1., 1.])
    fn rms_norm = "nn.functional.rms_norm" | "rms_norm" (input: &Tensor as Inexact, normalized_shape: &[i64],
        weight: Option<&Tensor> = None, eps: Option<f64> = None) -> Tensor [NO_OUT] node "MulBackward0" {
        let dims = trailing(input, normalized_shape)?;
        check_parameter("weight", weight, normalized_shape)?;
        let eps = eps.unwrap_or(match input.dtype() {
            crate::DType::F64 | crate::DType::C128 => f64::EPSILON,
            _ => f32::EPSILON as f64,
        });
        let x = single(input)?;
        let square = mean_over(&mul(&x, &x)?, &dims, true)?;
        basis::cast(&affine(mul(&x, &rsqrt(&shift(&square, eps)?)?)?, weight, None)?, input.dtype())
    }

    /// Zero mean and unit variance over groups of channels, then `* weight + bias` by channel.
    fn group_norm = "nn.functional.group_norm" (input: &Tensor as Floats, num_groups: i64 as Positive, weight: Option<&Tensor> = None,
        bias: Option<&Tensor> = None, eps: f64 = 1e-5) -> Tensor [NO_OUT] node "NativeGroupNormBackward0" {
        of_rank("input", input, 2, usize::MAX)?;
        let c = input.shape()[1];
        if !c.is_multiple_of(num_groups) {
            refuse!(Runtime, "expected number of channels in input to be divisible by num_groups, but got \
                input of shape {} and num_groups={num_groups}; give a divisor of {c}", input.shape());
        }
        let n = input.shape()[0];
        let rest = input.numel() / (n * num_groups).max(1);
        if n * rest == 1 {
            refuse!(Value, "Expected more than 1 value per channel when training, but each of the {num_groups} groups of an \
                input of shape {} has one, whose variance is 0; give fewer groups", input.shape());
        }
        let grouped = basis::reshape(&single(&by_format(input)?)?, &[n, num_groups, rest].into())?;
        let y = arranged(basis::reshape(&normalized(&grouped, &[2], eps)?.0, input.shape())?, input)?;
        let w = channels("weight", weight, input)?;
        let b = channels("bias", bias, input)?;
        basis::cast(&affine(y, w.as_ref(), b.as_ref())?, input.dtype())
    }

    /// Zero mean and unit variance by channel over a batch (training), or by running statistics, then
    /// `* weight + bias`. In training, running statistics are updated in place with `momentum`.
    ///
    /// >>> import pullback
    /// >>> x = pullback.tensor([[1.0], [3.0]])
    /// >>> pullback.nn.functional.batch_norm(x, None, None, training=True)
    /// tensor([[-1.0000],
    ///         [ 1.0000]])
    fn batch_norm = "nn.functional.batch_norm" (input: &Tensor as Floats, running_mean: Option<&Tensor>,
        running_var: Option<&Tensor>, weight: Option<&Tensor> = None, bias: Option<&Tensor> = None,
        training: bool = false, momentum: f64 = 0.1, eps: f64 = 1e-5) -> crate::ops::value::Updated [UPDATES, NO_OUT] node "NativeBatchNormBackward0" {
        // Without it, instances and batches that vary have a norm all the same.
        if eps < 0.0 {
            refuse!(Value, "batch_norm eps must be non-negative, but got eps={eps}; give a small number such as 1e-5");
        }
        let b = batch_norm_with_stats(input, running_mean, running_var, weight, bias, training, momentum, eps)?;
        let updates = b.running.map(|(m, v)| vec![(1, m), (2, v)]).unwrap_or_default();
        Ok(crate::ops::value::Updated { out: b.out, updates })
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
