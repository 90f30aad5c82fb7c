//! Losses. All take `reduction`: 'none', 'mean' (the default) or 'sum'.

use crate::bail;
use crate::base::{DType, ErrorKind, Result, Scalar, Shape};
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Tensor, call};
use crate::dense::pointwise::{self, kernels};
use crate::dense::{copy, reduce};
use crate::ops::arith::divide_floats;
use crate::ops::promote::single;
use crate::ops::reduce::mean_over;
use crate::ops::signature::{
    Chosen, HERE, OrBatchMean, Probability, ReductionMode, Truth, floats, index_tensor, of_shape,
};
use crate::ops::softmax::log_softmax;
use crate::ops::unary::{abs, bell, exp};
use crate::rules::basis::{self, add, cast, mul, neg, number, scale, sub, where_};
use crate::rules::index::{Bounds, check_index};
use crate::rules::{Opaque, OpaqueBatch, Partial, shapes};
use smallvec::smallvec;
use std::borrow::Cow;

fn all_dims(x: &Tensor) -> Vec<usize> {
    (0..x.rank()).collect()
}

fn total(x: &Tensor) -> Result<Tensor> {
    // As `sum` does, integers are summed as int64.
    let x = if x.dtype().is_differentiable() { x.clone() } else { cast(x, DType::I64)? };
    basis::sum(&x, &all_dims(&x), false)
}

/// Applies `reduction` to a loss per element.
fn reduced(loss: &Tensor, reduction: ReductionMode) -> Result<Tensor> {
    match reduction {
        ReductionMode::None => Ok(loss.clone()),
        ReductionMode::Mean => mean_over(loss, &all_dims(loss), false),
        // Who knows the size of the batch divides by it.
        ReductionMode::Sum | ReductionMode::BatchMean => total(loss),
    }
}

/// Both arguments of a loss, broadcast; it tells of shapes that differ, which are seldom meant.
fn alike(op: &str, input: &Tensor, target: &Tensor) -> Result<(Tensor, Tensor)> {
    if input.shape() != target.shape() {
        crate::core::host::warn(&format!(
            "{op}(): Using a target size ({}) that is different to the input size ({}): they are broadcast, which may \
             give results that are not meant; give both one shape",
            target.shape(),
            input.shape()
        ))?;
    }
    pair(input, target)
}

fn pair(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    let dtype = crate::ops::join::joint_dtype(&[a, b]);
    let both = crate::ops::shape::broadcast(&[&cast(a, dtype)?, &cast(b, dtype)?])?;
    Ok((both[0].clone(), both[1].clone()))
}

/// A loss in the dtype of one of its arguments, as PyTorch's kernels give it, if that one has floating point numbers.
fn in_floats_of(loss: &Tensor, argument: &Tensor) -> Result<Tensor> {
    if argument.dtype().is_float() { cast(loss, argument.dtype()) } else { Ok(loss.clone()) }
}

/// Layout of classification losses: classes are dimension 1, or 0 without a batch.
struct Classes {
    dim: usize,
    count: usize,
}

fn classes(input: &Tensor) -> Result<Classes> {
    if input.rank() == 0 {
        refuse!(Value, "expected an input of at least one dimension; give it classes with unsqueeze(0)");
    }
    let dim = usize::from(input.rank() > 1);
    Ok(Classes { dim, count: input.shape()[dim] })
}

fn check_weight(weight: Option<&Tensor>, c: &Classes) -> Result<()> {
    match weight {
        Some(w) if w.rank() != 1 || w.numel() != c.count => refuse!(
            Runtime,
            "weight tensor should be defined either for all {} classes or no classes but got weight tensor of \
             shape: {}; give one weight for each class",
            c.count,
            w.shape()
        ),
        _ => Ok(()),
    }
}

/// The target, if it has a class for each place of the input, which has shape `want` without its classes. One class for
/// an input without a batch may have a dimension of its own.
fn one_for_each(logp: &Tensor, target: &Tensor, want: Shape) -> Result<Tensor> {
    let (shape, rank, got) = (logp.shape(), logp.rank(), target.shape());
    if got == &want {
        return Ok(target.clone());
    }
    let (batch, given) = (shape[0], got.first().copied().unwrap_or(0));
    if rank <= 2 && got.rank() > 1 {
        refuse!(
            Runtime,
            "0D or 1D target tensor expected, multi-target not supported, but argument 'target' has shape {got}; give one \
             class for each member of the batch"
        );
    }
    if rank == 1 {
        if given != 1 {
            refuse!(Value, "For 1D input, 1D target must have size 1, but got target size: {given}; give one class");
        }
        return basis::reshape(target, &want);
    }
    if batch != given {
        refuse!(
            Value,
            "Expected input batch_size ({batch}) to match target batch_size ({given}); give a target of shape {want}"
        );
    }
    if rank == 4 && got.rank() != 3 {
        let n = got.rank();
        refuse!(
            Runtime,
            "only batches of spatial targets supported (3D tensors) but got targets of dimension: {n}; give a class for \
             each pixel"
        );
    }
    if rank == 4 {
        refuse!(Runtime, "size mismatch (got input: {shape} , target: {got}); give a target of shape {want}");
    }
    refuse!(Runtime, "Expected target size {want}, got {got}; give a class for each place of the input")
}

/// The negative log-likelihood of int64 targets: losses per target and their weights.
fn picked(logp: &Tensor, target: &Tensor, weight: Option<&Tensor>, ignore: i64) -> Result<(Tensor, Tensor)> {
    let c = classes(logp)?;
    check_weight(weight, &c)?;
    // Classes may be bytes, which are compared with `ignore` as numbers.
    let target = &if target.dtype() == DType::U8 { cast(target, DType::I64)? } else { target.clone() };
    index_tensor("target", target)?;
    let target = &one_for_each(logp, target, logp.shape().without(c.dim))?;
    let ignored = crate::ops::compare::eq(target, ignore)?;
    let safe = where_(&ignored, &Tensor::scalar(DType::I64, 0), target)?;
    let safe = check_index(&safe, Bounds { size: c.count, dim: c.dim, wrap: false })
        .map_err(|e| e.quoted(|why| crate::Error::index(format!("{HERE}(): Target is out of bounds: {why}"))))?;
    let index = basis::unsqueeze_dims(&safe, &[c.dim])?;
    let chosen = basis::reshape(&crate::rules::index::gather(logp, c.dim, &index)?, target.shape())?;
    let w = match weight {
        Some(w) => crate::rules::index::take_rows(&cast(w, logp.dtype())?, &safe)?,
        None => basis::full(target.shape(), logp.dtype(), 1.0)?,
    };
    let w = where_(&ignored, &number(logp, 0.0), &w)?;
    // A product would turn ignored infinities into NaN.
    let loss = where_(&ignored, &number(logp, 0.0), &neg(&mul(&chosen, &w)?)?)?;
    Ok((loss, w))
}

fn weighted(loss: &Tensor, w: &Tensor, reduction: ReductionMode) -> Result<Tensor> {
    match reduction {
        ReductionMode::Mean => divide_floats(&total(loss)?, &total(w)?),
        r => reduced(loss, r),
    }
}

/// The loss, each element by its weight if there are weights; a mean is divided by their sum.
fn weighted_by(loss: &Tensor, input: &Tensor, weight: Option<&Tensor>, reduction: ReductionMode) -> Result<Tensor> {
    let Some(w) = weight else { return reduced(loss, reduction) };
    of_shape(ErrorKind::Value, "weight", w, input.shape())?;
    let (loss, w) = pair(loss, w)?;
    weighted(&mul(&loss, &w)?, &w, reduction)
}

/// A vector over classes, broadcast against the input.
fn along_classes(w: &Tensor, input: &Tensor, dim: usize) -> Result<Tensor> {
    let shape = (0..input.rank()).map(|d| if d == dim { w.numel() } else { 1 }).collect();
    basis::reshape(&cast(w, input.dtype())?, &shape)
}

/// Cross entropy against probabilities.
fn soft_cross_entropy(
    logp: &Tensor,
    target: &Tensor,
    weight: Option<&Tensor>,
    reduction: ReductionMode,
    smoothing: f64,
) -> Result<Tensor> {
    let c = classes(logp)?;
    check_weight(weight, &c)?;
    let smooth = if smoothing > 0.0 {
        let kept = scale(target, 1.0 - smoothing)?;
        basis::shift(&kept, smoothing / c.count as f64)?
    } else {
        target.clone()
    };
    let mut loss = neg(&mul(logp, &smooth)?)?;
    if let Some(w) = weight {
        loss = mul(&loss, &along_classes(w, logp, c.dim)?)?;
    }
    let loss = basis::sum(&loss, &[c.dim], false)?;
    match reduction {
        ReductionMode::Mean => {
            let n = loss.numel() as f64;
            let s = total(&loss)?;
            divide_floats(&s, &number(&s, n))
        }
        r => reduced(&loss, r),
    }
}

binary! { UNITS, PRIMITIVES:
    /// The loss of one probability; logarithms are limited to -100.
    cross_entropy_unit = "binary_cross_entropy" kernel BINARY_CROSS_ENTROPY Same [INTERNAL]
        da[a b] cross_entropy_slope(a, b), db[a] odds(a);

    /// The derivative by the probability, where the denominator has a lower limit.
    cross_entropy_slope = "binary_cross_entropy:slope" kernel BINARY_CROSS_ENTROPY_SLOPE Same [INTERNAL]
        da[a b] cross_entropy_bend(a, b), db[a] neg(&inverse_variance(a)?);
}

binary! { LOGIT_UNITS, LOGIT_PRIMITIVES:
    /// `(1 - t) x + log(1 + exp(-x))` without overflow, accurate in both tails.
    logits_unit = "binary_cross_entropy_with_logits" kernel LOGITS Same [INTERNAL]
        da[a b] logits_slope(a, b), db[a] neg(a);

    /// `sigmoid(x) - t`, accurate in both tails.
    logits_slope = "binary_cross_entropy_with_logits:slope" kernel LOGITS_SLOPE Same [INTERNAL]
        da[a] bell(a), db[] Partial::MinusOne;
}

unary! { HELPERS, HELPER_PRIMITIVES:
    /// `x log(x)`, 0 at 0.
    xlogx = "kl_div:xlogx" kernel XLOGX [INTERNAL]
        d[x] basis::shift(&crate::ops::unary::log(x)?, 1.0);

    /// The derivative by the target: `log(1 - x) - log(x)`, both limited.
    odds = "binary_cross_entropy:odds" kernel BINARY_CROSS_ENTROPY_ODDS [INTERNAL]
        d[x] neg(&inverse_variance(x)?);

    /// `1 / (x (1 - x))`, where the denominator has a lower limit.
    inverse_variance = "binary_cross_entropy:inverse_variance" kernel INVERSE_VARIANCE [INTERNAL]
        d[x y] mul(&basis::shift(&scale(x, 2.0)?, -1.0)?, &mul(y, y)?);
}

/// The name of an argument that must be a probability.
#[derive(Debug)]
pub(in crate::ops) struct Named(Cow<'static, str>);

fields! { struct Named { 0 } }
parameters! { Named = "name" }

/// Refuses elements outside of [0, 1], NaN included.
pub(crate) static CHECK_PROBABILITY: Opaque = Opaque {
    name: "binary_cross_entropy:check",
    infer: |_, a| shapes::pointwise(&kernels::IS_PROBABILITY, a),
    eval: |p, args| {
        let within = pointwise::unary(&kernels::IS_PROBABILITY, args[0].array()?)?;
        if reduce::all(&within, &(0..within.rank()).collect::<Vec<_>>(), false)?.item()?.as_f64() == 0.0 {
            let Named(name) = p.get::<Named>();
            let values = copy::cast(args[0].array()?, DType::F64)?.to_vec::<f64>()?;
            let wrong = values.iter().find(|x| !(0.0..=1.0).contains(*x)).copied().unwrap_or(f64::NAN);
            let fix = match &**name {
                "input" => "Give it a sigmoid, or use binary_cross_entropy_with_logits().",
                _ => "It holds the probability of each element.",
            };
            bail!(
                Runtime,
                "binary_cross_entropy(): all elements of {name} should be between 0 and 1, but got {}. {fix}",
                Scalar::Float(wrong)
            );
        }
        Ok(smallvec![within.into()])
    },
    batching: OpaqueBatch::Check,
};

/// `(x² - 2 x t + t) / (x (1 - x))²`, the second derivative by the probability; both factors are kept from 0.
fn cross_entropy_bend(x: &Tensor, t: &Tensor) -> Result<Tensor> {
    const LIMIT: f64 = 1e-12;
    let top = add(&mul(x, &sub(x, &scale(t, 2.0)?)?)?, t)?;
    let variance = mul(&basis::shift(x, LIMIT)?, &basis::shift(&basis::shift(&neg(x)?, 1.0)?, LIMIT)?)?;
    divide_floats(&top, &mul(&variance, &variance)?)
}

ops! { TABLE:
    /// Squared differences.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.mse_loss(pullback.tensor([1.0, 3.0]), pullback.tensor([1.0, 1.0]))
    /// tensor(2.)
    fn mse_loss = "nn.functional.mse_loss" (input: &Tensor, target: &Tensor, size_average: Option<bool> as Truth = None,
        reduce: Option<bool> as Truth = None, reduction: &str as Chosen<ReductionMode> = "mean", weight: Option<&Tensor> = None) -> Tensor [NO_OUT, IN_SINGLE] {
        let (a, b) = alike("mse_loss", input, target)?;
        floats(&a)?;
        let d = sub(&a, &b)?;
        weighted_by(&mul(&d, &d)?, input, weight, reduction.or_flags(size_average, reduce)?)
    }

    /// Absolute differences.
    fn l1_loss = "nn.functional.l1_loss" (input: &Tensor, target: &Tensor, size_average: Option<bool> as Truth = None,
        reduce: Option<bool> as Truth = None, reduction: &str as Chosen<ReductionMode> = "mean", weight: Option<&Tensor> = None) -> Tensor [NO_OUT, IN_SINGLE] node "MeanBackward0" {
        let (a, b) = alike("l1_loss", input, target)?;
        weighted_by(&abs(&sub(&a, &b)?)?, input, weight, reduction.or_flags(size_average, reduce)?)
    }

    /// The negative log-likelihood of int64 targets; classes are dimension 1 of the input (0 without a batch).
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.nll_loss(pullback.tensor([[-0.5, -1.5]]), pullback.tensor([1]))
    /// tensor(1.5000)
    fn nll_loss = "nn.functional.nll_loss" (input: &Tensor, target: &Tensor, weight: Option<&Tensor> = None,
        size_average: Option<bool> as Truth = None, ignore_index: i64 = -100, reduce: Option<bool> as Truth = None,
        reduction: &str as Chosen<ReductionMode> = "mean") -> Tensor [NO_OUT, IN_SINGLE] {
        let (loss, w) = picked(input, target, weight, ignore_index)?;
        weighted(&loss, &w, reduction.or_flags(size_average, reduce)?)
    }

    /// `nll_loss` of `log_softmax`: targets are int64 classes, or probabilities of the input's shape.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.cross_entropy(pullback.tensor([[0.0, 0.0]]), pullback.tensor([1]))
    /// tensor(0.6931)
    fn cross_entropy = "nn.functional.cross_entropy" (input: &Tensor, target: &Tensor, weight: Option<&Tensor> = None,
        size_average: Option<bool> as Truth = None, ignore_index: i64 = -100, reduce: Option<bool> as Truth = None,
        reduction: &str as Chosen<ReductionMode> = "mean", label_smoothing: f64 as Probability = 0.0) -> Tensor [TRANSCENDENTAL, NO_OUT, IN_SINGLE] node "NllLossBackward0" {
        let c = classes(input)?;
        let logp = log_softmax(input, c.dim as i64, None)?;
        let reduction = reduction.or_flags(size_average, reduce)?;
        if target.shape() == input.shape() && target.dtype().is_float() {
            let (logp, target) = pair(&logp, target)?;
            return soft_cross_entropy(&logp, &target, weight, reduction, label_smoothing);
        }
        let (loss, w) = picked(&logp, target, weight, ignore_index)?;
        let hard = weighted(&loss, &w, reduction)?;
        if label_smoothing == 0.0 {
            return Ok(hard);
        }
        let scaled = match weight {
            Some(w) => mul(&logp, &along_classes(w, &logp, c.dim)?)?,
            None => logp.clone(),
        };
        let ignored = crate::ops::compare::eq(target, ignore_index)?;
        let smooth = neg(&basis::sum(&scaled, &[c.dim], false)?)?;
        let smooth = where_(&ignored, &number(&smooth, 0.0), &smooth)?;
        let smooth = weighted(&smooth, &w, reduction)?;
        add(&scale(&hard, 1.0 - label_smoothing)?, &scale(&smooth, label_smoothing / c.count as f64)?)
    }

    /// Binary cross entropy of logits, without overflow: `max(x, 0) - x t + log(1 + exp(-|x|))`.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.binary_cross_entropy_with_logits(pullback.tensor([0.0]), pullback.tensor([1.0]))
    /// tensor(0.6931)
    fn binary_cross_entropy_with_logits = "nn.functional.binary_cross_entropy_with_logits" (input: &Tensor,
        target: &Tensor, weight: Option<&Tensor> = None, size_average: Option<bool> as Truth = None,
        reduce: Option<bool> as Truth = None, reduction: &str as Chosen<ReductionMode> = "mean", pos_weight: Option<&Tensor> = None) -> Tensor [TRANSCENDENTAL, NO_OUT, IN_SINGLE, ROW_MAJOR] {
        of_shape(ErrorKind::Value, "target", target, input.shape())?;
        let dtype = crate::ops::join::joint_dtype(&[input, target]);
        let (x, t) = (cast(input, dtype)?, cast(target, dtype)?);
        let mut loss = match pos_weight {
            None => logits_unit(&x, &t)?,
            Some(p) => {
                // (1 - t) x + (1 + (p - 1) t) log(1 + exp(-x))
                let soft = crate::ops::unary::softplus_unit(&neg(&x)?)?;
                let rest = mul(&sub(&number(&t, 1.0), &t)?, &x)?;
                let factor = basis::shift(&mul(&basis::shift(&cast(p, dtype)?, -1.0)?, &t)?, 1.0)?;
                add(&rest, &mul(&factor, &soft)?)?
            }
        };
        if let Some(w) = weight {
            loss = mul(&loss, &cast(w, dtype)?)?;
        }
        reduced(&in_floats_of(&loss, target)?, reduction.or_flags(size_average, reduce)?)
    }

    /// Binary cross entropy of probabilities; logarithms are limited to -100. Input and target must lie in [0, 1].
    fn binary_cross_entropy = "nn.functional.binary_cross_entropy" (input: &Tensor, target: &Tensor,
        weight: Option<&Tensor> = None, size_average: Option<bool> as Truth = None, reduce: Option<bool> as Truth = None,
        reduction: &str as Chosen<ReductionMode> = "mean") -> Tensor [TRANSCENDENTAL, NO_OUT, IN_SINGLE] {
        of_shape(ErrorKind::Value, "target", target, input.shape())?;
        let t = cast(target, input.dtype())?;
        for (x, name) in [(input, "input"), (&t, "target")] {
            if x.dtype().is_float() {
                call(Prim::Static(&CHECK_PROBABILITY), &Params::other(Named(name.into())), &[x])?;
            }
        }
        let mut loss = cross_entropy_unit(input, &t)?;
        if let Some(w) = weight {
            loss = mul(&loss, &cast(w, input.dtype())?)?;
        }
        reduced(&loss, reduction.or_flags(size_average, reduce)?)
    }

    /// Squared differences below `delta`, linear above.
    fn huber_loss = "nn.functional.huber_loss" (input: &Tensor, target: &Tensor, reduction: &str as Chosen<ReductionMode> = "mean",
        delta: f64 = 1.0, weight: Option<&Tensor> = None) -> Tensor [NO_OUT, IN_SINGLE] {
        if delta <= 0.0 {
            refuse!(Runtime, "does not support non-positive values for delta, got {delta}; give the difference up to which \
                losses are squared");
        }
        let (a, b) = alike("huber_loss", input, target)?;
        floats(&a)?;
        let d = sub(&single(&a)?, &single(&b)?)?;
        let r = abs(&d)?;
        // NaN is near, so that it stays in the derivatives.
        let is_near = crate::ops::compare::logical_not(&crate::ops::compare::ge(&r, delta)?)?;
        // The square of an infinite difference would have an infinite slope where it does not count.
        let small = basis::keep_where(&is_near, &d)?;
        let near = scale(&mul(&small, &small)?, 0.5)?;
        let far = scale(&basis::shift(&r, -0.5 * delta)?, delta)?;
        let mut loss = in_floats_of(&cast(&where_(&is_near, &near, &far)?, a.dtype())?, input)?;
        if let Some(w) = weight {
            loss = mul(&loss, &cast(w, loss.dtype())?)?;
        }
        reduced(&loss, reduction)
    }

    /// Divergence of Kullback and Leibler from log-probabilities: `target (log target - input)`.
    fn kl_div = "nn.functional.kl_div" (input: &Tensor, target: &Tensor, size_average: Option<bool> as Truth = None,
        reduce: Option<bool> as Truth = None, reduction: &str as Chosen<OrBatchMean> = "mean", log_target: bool = false) -> Tensor [TRANSCENDENTAL, NO_OUT, IN_SINGLE] node "MeanBackward0" {
        let (x, t) = pair(input, target)?;
        let loss = if log_target {
            mul(&exp(&t)?, &sub(&t, &x)?)?
        } else {
            sub(&xlogx(&t)?, &mul(&t, &x)?)?
        };
        let mode = reduction.0.or_flags(size_average, reduce)?;
        if mode == ReductionMode::Mean {
            crate::core::host::warn("kl_div(): reduction='mean' divides the total loss by the number of elements; \
                'batchmean' divides by the batch size, which is the divergence")?;
        }
        let out = reduced(&loss, mode)?;
        let members = input.shape().first().copied().unwrap_or(1).max(1);
        if mode == ReductionMode::BatchMean { scale(&out, 1.0 / members as f64) } else { Ok(out) }
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[HELPERS, LOGIT_UNITS, TABLE, UNITS],
    primitives: &[HELPER_PRIMITIVES, LOGIT_PRIMITIVES, PRIMITIVES, &[&CHECK_PROBABILITY]],
    parameters: &[crate::core::params::Type::of::<Named>()],
};
