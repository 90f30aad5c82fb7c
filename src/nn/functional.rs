//! `nn.functional`: layers as functions of their tensors. All of these have derivatives of any order.
//!
//! ```
//! use pullback::nn::{LossOptions, functional as F};
//! use pullback::prelude::*;
//! let (x, w) = (Tensor::from([[1.0, 2.0], [3.0, 4.0]]), Tensor::from([[0.5, -0.5], [0.0, 1.0]]));
//! let classes = Tensor::from([0_i64, 1]);
//! let loss = |w: &Tensor| F::cross_entropy(&F::relu(&F::linear(&x, w, None)?)?, &classes, &LossOptions::default());
//! let g = grad(loss, &w)?;
//! assert_eq!(g.shape(), w.shape());
//! # Ok::<(), pullback::Error>(())
//! ```

pub use super::windows::*;
use super::{AttentionOptions, BatchNormOptions, Interpolation, LossOptions, Outside, PadMode, Reduction};
use crate::base::{Result, Scalar};
use crate::core::Tensor;
use crate::ops::nn::{activation, attention, grid_sample as sampling, loss, norm, pad as padding};
use crate::ops::{gather, matmul, random, unary};

/// `max(x, 0)` of each element.
pub fn relu(x: &Tensor) -> Result<Tensor> {
    activation::relu(x, false)
}

/// Each element limited to [0, 6].
pub fn relu6(x: &Tensor) -> Result<Tensor> {
    activation::relu6(x, false)
}

/// `x * sigmoid(x)` of each element.
pub fn silu(x: &Tensor) -> Result<Tensor> {
    activation::silu(x, false)
}

/// `x Φ(x)` of each element, Φ the normal distribution function.
pub fn gelu(x: &Tensor) -> Result<Tensor> {
    activation::gelu(x, "none")
}

/// The approximation of [`gelu`] by `tanh` (Hendrycks, Gimpel 2016).
pub fn gelu_tanh(x: &Tensor) -> Result<Tensor> {
    activation::gelu(x, "tanh")
}

/// `x tanh(softplus(x))` of each element.
pub fn mish(x: &Tensor) -> Result<Tensor> {
    activation::mish(x, false)
}

/// `x / (1 + |x|)` of each element.
pub fn softsign(x: &Tensor) -> Result<Tensor> {
    activation::softsign(x)
}

/// `log(sigmoid(x))` of each element.
pub fn logsigmoid(x: &Tensor) -> Result<Tensor> {
    unary::log_sigmoid(x)
}

/// `log(1 + exp(beta x)) / beta` of each element; x itself where `beta x > threshold`.
pub fn softplus(x: &Tensor, beta: f64, threshold: f64) -> Result<Tensor> {
    activation::softplus(x, beta, threshold)
}

/// x where it is positive, `slope * x` elsewhere.
pub fn leaky_relu(x: &Tensor, slope: f64) -> Result<Tensor> {
    activation::leaky_relu(x, slope, false)
}

/// x where it is positive, `alpha (exp(x) - 1)` elsewhere.
pub fn elu(x: &Tensor, alpha: f64) -> Result<Tensor> {
    activation::elu(x, alpha, false)
}

/// Each element limited to [low, high].
///
/// # Errors
/// `Value` if `low` is above `high`.
pub fn hardtanh(x: &Tensor, low: f64, high: f64) -> Result<Tensor> {
    activation::hardtanh(x, low, high, false)
}

/// `a * sigmoid(b)`, a and b the halves of a dimension.
///
/// # Errors
/// `Runtime` if its size is odd.
pub fn glu(x: &Tensor, dim: i64) -> Result<Tensor> {
    activation::glu(x, dim)
}

/// `x weightᵀ + bias`.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn linear(x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Result<Tensor> {
    matmul::linear(x, weight, bias)
}

/// The rows of `weight` at integer indices, of shape `indices.shape + (dim,)`.
///
/// # Errors
/// `Index` if there is no such row.
pub fn embedding(indices: &Tensor, weight: &Tensor) -> Result<Tensor> {
    Ok(gather::embedding(indices, weight, None, None, 2.0, false, false)?.out)
}

/// int64 ones at the classes along a new last dimension, zeros elsewhere.
///
/// # Errors
/// `Runtime` for classes that are not in `0..count`.
pub fn one_hot(classes: &Tensor, count: usize) -> Result<Tensor> {
    gather::one_hot(classes, i64::try_from(count).unwrap_or(i64::MAX))
}

/// Each element zeroed with probability `p`, the others scaled by `1 / (1 - p)`.
///
/// # Errors
/// `Value` if `p` is no probability.
pub fn dropout(x: &Tensor, p: f64) -> Result<Tensor> {
    random::dropout(x, p, true, false)
}

/// The tensor with elements beside it: two numbers for each dimension from the last one on, negative ones to cut.
///
/// # Errors
/// `Runtime` if the mode does not take so many.
pub fn pad(x: &Tensor, sizes: &[i64], mode: PadMode) -> Result<Tensor> {
    let (mode, value) = match mode {
        PadMode::Zeros => ("constant", None),
        PadMode::Constant(value) => ("constant", Some(Scalar::Float(value))),
        PadMode::Reflect => ("reflect", None),
        PadMode::Replicate => ("replicate", None),
        PadMode::Circular => ("circular", None),
    };
    padding::pad(x, sizes, mode, value)
}

/// Samples of [N, C, H, W] at the points [N, h, w, 2] of a grid, whose coordinates reach from -1 to 1; also in three dimensions.
/// These are the centres of the last elements if `aligned`, and their outer edges if not.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn grid_sample(x: &Tensor, grid: &Tensor, mode: Interpolation, outside: Outside, aligned: bool) -> Result<Tensor> {
    sampling::grid_sample(x, grid, mode.name(), outside.name(), Some(aligned))
}

/// `(x - mean) / sqrt(variance + eps)` over trailing dimensions of these sizes, times `weight`, plus `bias`.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn layer_norm(
    x: &Tensor,
    sizes: &[i64],
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    eps: f64,
) -> Result<Tensor> {
    norm::layer_norm(x, sizes, weight, bias, eps, true)
}

/// `x / sqrt(mean of squares + eps)` over trailing dimensions of these sizes, times `weight`; `eps` is by default that of the
/// dtype.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn rms_norm(x: &Tensor, sizes: &[i64], weight: Option<&Tensor>, eps: Option<f64>) -> Result<Tensor> {
    norm::rms_norm(x, sizes, weight, eps)
}

/// [`layer_norm`] of each of `groups` groups of channels, with a weight and a bias for each channel.
///
/// # Errors
/// `Runtime` if the channels cannot be divided so.
pub fn group_norm(x: &Tensor, groups: i64, weight: Option<&Tensor>, bias: Option<&Tensor>, eps: f64) -> Result<Tensor> {
    norm::group_norm(x, groups, weight, bias, eps)
}

/// Each channel (dimension 1) normalised over the others, by its own statistics or by `running` mean and variance. New running
/// statistics come along in training.
///
/// # Errors
/// `Runtime` if the shapes do not fit, or running statistics are missing.
pub fn batch_norm(
    x: &Tensor,
    running: Option<(&Tensor, &Tensor)>,
    weight: Option<&Tensor>,
    bias: Option<&Tensor>,
    options: &BatchNormOptions,
) -> Result<(Tensor, Option<(Tensor, Tensor)>)> {
    let (mean, var, o) = (running.map(|r| r.0), running.map(|r| r.1), options);
    let updated = norm::batch_norm(x, mean, var, weight, bias, o.training, o.momentum, o.eps)?;
    let mut new = updated.updates.into_iter().map(|(_, t)| t);
    Ok((updated.out, new.next().zip(new.next())))
}

/// The squared differences.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn mse_loss(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    loss::mse_loss(x, target, None, None, reduction.name(), None)
}

/// The absolute differences.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn l1_loss(x: &Tensor, target: &Tensor, reduction: Reduction) -> Result<Tensor> {
    loss::l1_loss(x, target, None, None, reduction.name(), None)
}

/// Half the squared differences, linear beyond `delta`.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn huber_loss(x: &Tensor, target: &Tensor, delta: f64, reduction: Reduction) -> Result<Tensor> {
    loss::huber_loss(x, target, reduction.name(), delta, None)
}

/// The divergence of the distribution `target` from the one with the logarithms `x`; the target may be logarithms too.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn kl_div(x: &Tensor, target: &Tensor, log_target: bool, reduction: Reduction) -> Result<Tensor> {
    loss::kl_div(x, target, None, None, reduction.name(), log_target)
}

/// The negative log likelihood of classes, from logarithms of probabilities along dimension 1.
///
/// # Errors
/// `Index` for classes that there are not.
pub fn nll_loss(x: &Tensor, classes: &Tensor, options: &LossOptions) -> Result<Tensor> {
    let o = options;
    loss::nll_loss(x, classes, o.weight.as_ref(), None, o.ignore_index, None, o.reduction.name())
}

/// [`nll_loss`] of the logarithms of `softmax`; the target may be probabilities too.
///
/// # Errors
/// `Index` for classes that there are not.
pub fn cross_entropy(x: &Tensor, target: &Tensor, options: &LossOptions) -> Result<Tensor> {
    let (o, weight) = (options, options.weight.as_ref());
    loss::cross_entropy(x, target, weight, None, o.ignore_index, None, o.reduction.name(), o.label_smoothing)
}

/// The cross entropy of probabilities of two answers.
///
/// # Errors
/// `Runtime` if these are no probabilities, or the shapes do not fit.
pub fn binary_cross_entropy(x: &Tensor, target: &Tensor, options: &LossOptions) -> Result<Tensor> {
    loss::binary_cross_entropy(x, target, options.weight.as_ref(), None, None, options.reduction.name())
}

/// [`binary_cross_entropy`] of `sigmoid(x)`.
///
/// # Errors
/// `Runtime` if the shapes do not fit.
pub fn binary_cross_entropy_with_logits(x: &Tensor, target: &Tensor, options: &LossOptions) -> Result<Tensor> {
    let (weight, pos_weight) = (options.weight.as_ref(), options.pos_weight.as_ref());
    loss::binary_cross_entropy_with_logits(x, target, weight, None, None, options.reduction.name(), pos_weight)
}

/// `softmax(query keyᵀ scale) value`, over the last two dimensions.
///
/// # Errors
/// `Runtime` if the shapes do not fit, or there are two masks.
pub fn scaled_dot_product_attention(
    query: &Tensor,
    key: &Tensor,
    value: &Tensor,
    options: &AttentionOptions,
) -> Result<Tensor> {
    let (o, mask) = (options, options.mask.as_ref());
    attention::scaled_dot_product_attention(query, key, value, mask, o.dropout, o.causal, o.scale, o.grouped)
}
