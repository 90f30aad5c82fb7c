//! Connectionist temporal classification.

use crate::base::{DType, Result, Scalar, Shape};
use crate::core::level;
use crate::core::origin::Origin;
use crate::core::params::{fields, parameters};
use crate::core::primitive::Saves;
use crate::core::tensor::Payload;
use crate::core::{BatchArg, BatchInfo, BatchOut, Meta, Params, Prim, Tensor, call};
use crate::dense::ctc::{self as kernels, Ctc};
use crate::ops::arith::divide_floats;
use crate::ops::compare::{eq, gt, lt, ne};
use crate::ops::reduce::{logsumexp, mean_over};
use crate::ops::signature::{Chosen, Ranks, ReductionMode, ints_of, of_rank, real_values};
use crate::ops::value::Value;
use crate::rules::basis::{self, add, cast, mul, neg, number, sub, where_};
use crate::rules::{General, batching, index, shapes};
use smallvec::{SmallVec, smallvec};

/// Parameters of both operators.
#[derive(Debug, Clone)]
struct Options {
    blank: usize,
    zero_infinity: bool,
}

fields! { struct Options { blank, zero_infinity } }
parameters! { Options = "ctc" }

impl Options {
    fn of(p: &Params) -> Ctc {
        let o = p.get::<Options>();
        Ctc { blank: o.blank, zero_infinity: o.zero_infinity }
    }
}

fn sizes(p: &Params, a: &[Meta]) -> Result<[usize; 3]> {
    let lengths = [shapes::argument(a, 2)?.form(), shapes::argument(a, 3)?.form()];
    kernels::sizes(shapes::first(a)?.form(), lengths, Options::of(p))
}

/// What each sequence costs: of log probabilities [T, N, C], labels [N, S] or end to end, steps [N] and lengths [N]. The
/// other arguments are integers, so it is neither of the categories with one partial for each.
static LOSS: General = General {
    name: "ctc_loss",
    infer: |p, a| shapes::one(shapes::first(a)?.dtype, Shape::new(&sizes(p, a)?[1..2])),
    eval: |p, a| {
        let [logp, targets, steps, lengths] = arrays(a)?;
        Ok(smallvec![kernels::loss(logp, targets, steps, lengths, Options::of(p))?.into()])
    },
    saves: |_, _| Saves { inputs: 0b1111, outputs: 0 },
    jvp: |_, p, point, t| {
        let Some(t) = t[0] else { return Ok(smallvec![None]) };
        let along = mul(&slope(p, &given(|i| point.input(i))?)?, t)?;
        Ok(smallvec![Some(basis::sum(&along, &[0, 2], false)?)])
    },
    vjp: |_, p, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let each = basis::unsqueeze_dims(g, &[0, 2])?;
        Ok(smallvec![Some(mul(&slope(p, &given(|i| point.input(i))?)?, &each)?)])
    },
    batch: |me, p, a, info| batched(me, p, a, info, 0),
};

/// The derivative of each sequence's cost by its log probabilities, [T, N, C]. Its own derivative is that of the same in
/// operators; as a second derivative it is symmetric, so both rules are one.
static SLOPE: General = General {
    name: "ctc_loss:slope",
    infer: |p, a| {
        sizes(p, a)?;
        shapes::same(p, a)
    },
    eval: |p, a| {
        let [logp, targets, steps, lengths] = arrays(a)?;
        Ok(smallvec![kernels::slope(logp, targets, steps, lengths, Options::of(p))?.into()])
    },
    saves: |_, _| Saves { inputs: 0b1111, outputs: 0 },
    jvp: |_, p, point, t| match t[0] {
        Some(t) => Ok(smallvec![Some(bend(p, &given(|i| point.input(i))?, t)?)]),
        None => Ok(smallvec![None]),
    },
    vjp: |_, p, point, g, _| match g {
        [Some(g)] => Ok(smallvec![Some(bend(p, &given(|i| point.input(i))?, g)?)]),
        _ => Ok(SmallVec::new()),
    },
    batch: |me, p, a, info| batched(me, p, a, info, 1),
};

fn arrays<'a>(a: &[&'a Tensor]) -> Result<[&'a crate::dense::Array; 4]> {
    Ok([a[0].array()?, a[1].array()?, a[2].array()?, a[3].array()?])
}

fn given<'a>(of: impl Fn(usize) -> Result<&'a Tensor>) -> Result<[&'a Tensor; 4]> {
    Ok([of(0)?, of(1)?, of(2)?, of(3)?])
}

fn slope(p: &Params, args: &[&Tensor; 4]) -> Result<Tensor> {
    call(Prim::Static(&SLOPE), p, args)
}

/// The batch goes into N, which is dimension 1 of log probabilities and of slopes, and the first of all else.
fn batched(me: Prim<'_>, p: &Params, a: &[BatchArg<'_>], info: BatchInfo, at: usize) -> Result<BatchOut> {
    let merged = |arg: &BatchArg<'_>, at: usize| {
        let x = basis::move_dim(&*batching::front_expanded(arg, info)?, 0, at)?;
        let both = x.shape()[at] * x.shape()[at + 1];
        basis::reshape(&x, &x.shape().without(at + 1).with(at, both))
    };
    let args = [merged(&a[0], 1)?, merged(&a[1], 0)?, merged(&a[2], 0)?, merged(&a[3], 0)?];
    let y = call(me, p, &[&args[0], &args[1], &args[2], &args[3]])?;
    let mut shape = y.shape().with(at, info.size);
    shape.insert(at + 1, a[2].logical_shape()[0]);
    Ok(smallvec![(basis::reshape(&y, &shape)?, Some(at))])
}

/// The derivative of [`SLOPE`] along `t`.
fn bend(p: &Params, [logp, targets, steps, lengths]: &[&Tensor; 4], t: &Tensor) -> Result<Tensor> {
    level::check_room()?;
    let dual = level::push_dual(Origin::UNKNOWN);
    let point = Tensor::dual(dual.id(), (*logp).clone(), t.clone());
    let y = shares(&point, targets, steps, lengths, p.get::<Options>().blank)?;
    match y.payload_at(dual.id()) {
        Some(Payload::Dual { tangent, .. }) => Ok(tangent.clone()),
        _ => basis::zeros_like(t),
    }
}

/// Stands for minus infinity, whose differences are no numbers.
const NEVER: f64 = -1e30;

/// The states of a batch as tensors over [N, L].
struct States {
    labels: Tensor,
    /// Which belong to a sequence.
    real: Tensor,
    /// Which may follow the one two before.
    skips: Tensor,
    /// Which an alignment may end in.
    ends: Tensor,
}

fn range(n: usize) -> Result<Tensor> {
    Tensor::from_slice([n], &(0..n as i64).collect::<Vec<_>>())
}

impl States {
    fn of(targets: &Tensor, lengths: &Tensor, blank: usize) -> Result<States> {
        let n = lengths.shape()[0];
        let column = basis::unsqueeze_dims(lengths, &[1])?;
        let labels = rows(targets, lengths)?;
        let s = labels.shape()[1];
        let blank = Tensor::scalar(DType::I64, blank as i64);
        // What follows a sequence's labels may be anything.
        let labels = where_(&lt(&range(s)?, &column)?, &labels, &blank)?;
        let blanks = basis::expand(&blank, &[n, s, 1].into())?;
        let both = basis::cat(&[&blanks, &basis::unsqueeze_dims(&labels, &[2])?], 2)?;
        let both = basis::reshape(&both, &[n, 2 * s].into())?;
        let labels = basis::cat(&[&both, &basis::expand(&blank, &[n, 1].into())?], 1)?;
        let count = 2 * s + 1;
        let (places, last) = (range(count)?, mul(&column, &Tensor::scalar(DType::I64, 2))?);
        let skips = ne(&basis::slice(&labels, 1, 2, count.saturating_sub(2), 1)?, &before(&labels, 2)?)?;
        let never = basis::full(&[n, count.min(2)].into(), DType::Bool, false)?;
        let past = |by: i64| gt(&places, &add(&last, &Tensor::scalar(DType::I64, by))?);
        let real = crate::ops::compare::logical_not(&past(0)?)?;
        let ends = crate::ops::compare::logical_and(&past(-2)?, &real)?;
        Ok(States { labels, real, skips: basis::cat(&[&never, &skips], 1)?, ends })
    }
}

/// The states that lie `by` before others.
fn before(x: &Tensor, by: usize) -> Result<Tensor> {
    basis::slice(x, 1, 0, x.shape()[1].saturating_sub(by), 1)
}

/// Labels as rows [N, S].
fn rows(targets: &Tensor, lengths: &Tensor) -> Result<Tensor> {
    let targets = cast(targets, DType::I64)?;
    if targets.rank() == 2 {
        return Ok(targets);
    }
    let total = targets.shape()[0];
    let most = match lengths.dense() {
        Some(all) => all.to_vec::<i64>()?.into_iter().max().unwrap_or(0).max(0) as usize,
        None => total,
    };
    if total == 0 {
        return basis::full(&[lengths.shape()[0], 0].into(), DType::I64, Scalar::Int(0));
    }
    let starts = sub(&crate::ops::sorting::cumsum(lengths, 0, None)?, lengths)?;
    let at = add(&basis::unsqueeze_dims(&starts, &[1])?, &range(most)?)?;
    let last = Tensor::scalar(DType::I64, total as i64 - 1);
    index::take_rows(&targets, &where_(&gt(&at, &last)?, &last, &at)?)
}

/// The logarithm of a sum of exponentials of three.
fn log_sum(parts: [&Tensor; 3]) -> Result<Tensor> {
    let parts: Vec<Tensor> = parts.iter().map(|p| basis::unsqueeze_dims(p, &[2])).collect::<Result<_>>()?;
    logsumexp(&basis::cat(&[&parts[0], &parts[1], &parts[2]], 2)?, &[2], false)
}

/// [`SLOPE`] in operators.
fn shares(logp: &Tensor, targets: &Tensor, steps: &Tensor, lengths: &Tensor, blank: usize) -> Result<Tensor> {
    let [most, n, _] = logp.shape()[..] else { refuse!(Internal, "log probabilities of another rank") };
    let states = States::of(targets, lengths, blank)?;
    let count = states.labels.shape()[1];
    let at = basis::expand(&states.labels, &[most, n, count].into())?;
    let emitted = index::gather(logp, 2, &at)?;
    let never = basis::full(&[n, count].into(), logp.dtype(), NEVER)?;
    // The states by so many places to the right, or to the left.
    let shifted = |x: &Tensor, by: usize, right: bool| {
        let by = by.min(count);
        let edge = basis::slice(&never, 1, 0, by, 1)?;
        let kept = basis::slice(x, 1, if right { 0 } else { by }, count - by, 1)?;
        basis::cat(&if right { [&edge, &kept] } else { [&kept, &edge] }, 1)
    };
    let way = |x: &Tensor, right: bool| {
        let skip = match right {
            true => where_(&states.skips, &shifted(x, 2, true)?, &never)?,
            false => shifted(&where_(&states.skips, x, &never)?, 2, false)?,
        };
        log_sum([x, &shifted(x, 1, right)?, &skip])
    };
    let step = |t: usize| basis::select(&emitted, 0, t);
    let column = basis::unsqueeze_dims(steps, &[1])?;
    let number_of = |t: usize| Tensor::scalar(DType::I64, t as i64);
    let mut forward: Vec<Tensor> = Vec::with_capacity(most);
    let mut backward: Vec<Tensor> = Vec::with_capacity(most);
    for t in 0..most {
        let allowed = match forward.last() {
            Some(last) => add(&way(last, true)?, &step(t)?)?,
            None => where_(&lt(&range(count)?, 2)?, &step(0)?, &never)?,
        };
        forward.push(where_(&states.real, &allowed, &never)?);
    }
    for t in (0..most).rev() {
        let further = match backward.last() {
            Some(last) => add(&way(last, false)?, &step(t)?)?,
            None => never.clone(),
        };
        let ending = where_(&states.ends, &step(t)?, &never)?;
        let is_last = eq(&column, &number_of(t + 1))?;
        let goes_on = gt(&column, &number_of(t + 1))?;
        backward.push(where_(&is_last, &ending, &where_(&goes_on, &further, &never)?)?);
    }
    let mut slopes: Vec<Tensor> = Vec::with_capacity(most);
    let Some(first) = backward.last() else { return basis::zeros_like(logp) };
    let starts = where_(&lt(&range(count)?, 2)?, first, &never)?;
    let total = logsumexp(&starts, &[1], true)?;
    let possible = gt(&total, &number(&total, NEVER / 2.0))?;
    for (t, (a, b)) in forward.iter().zip(backward.iter().rev()).enumerate() {
        let share = crate::ops::unary::exp(&sub(&sub(&add(a, b)?, &step(t)?)?, &total)?)?;
        slopes.push(basis::unsqueeze_dims(&basis::keep_where(&possible, &share)?, &[0])?);
    }
    let refs: Vec<&Tensor> = slopes.iter().collect();
    let all = neg(&basis::cat(&refs, 0)?)?;
    index::scatter_add(&basis::full(logp.shape(), logp.dtype(), 0.0)?, 2, &at, &all)
}

/// Lengths as int64, one for each of `n` sequences.
fn lengths(name: &str, given: &Value, n: usize) -> Result<Tensor> {
    let all = match given {
        Value::Tensor(t) if t.dtype().is_differentiable() || t.dtype() == DType::Bool => {
            refuse!(Runtime, "{name} must be integral, but it has dtype {}; convert it with .long()", t.dtype())
        }
        Value::Tensor(t) => cast(of_rank(name, t, 0, 1)?, DType::I64)?,
        other => match ints_of(name, other)? {
            Some(all) => Tensor::from_slice([all.len()], &all)?,
            None => refuse!(Type, "argument '{name}' must be a tensor or ints, not None"),
        },
    };
    if all.numel() != n {
        refuse!(
            Runtime,
            "{name} must be of size batch_size: expected {n} element(s), but got {}; give one length for each sequence",
            all.numel()
        );
    }
    basis::reshape(&all, &[n].into())
}

fn check_targets(targets: &Tensor, n: usize) -> Result<()> {
    if targets.dtype().is_differentiable() || targets.dtype() == DType::Bool {
        refuse!(
            Runtime,
            "targets must be integral, but they have dtype {}; convert them with .long()",
            targets.dtype()
        );
    }
    of_rank("targets", targets, 1, 2)?;
    if targets.rank() == 2 && targets.shape()[0] != n {
        refuse!(
            Runtime,
            "Expected targets to have size {n} at dimension 0, but got size {}; give a row of labels for each sequence, \
             or all labels in one dimension",
            targets.shape()[0]
        );
    }
    Ok(())
}

ops! { TABLE:
    /// The negative log likelihood of labels, summed over all ways to align them to steps: a step gives a label, the same again,
    /// or `blank`. `log_probs` are [T, N, C], or [T, C] for one sequence. `targets` are a row of labels for each sequence,
    /// [N, S], or those of all in one dimension. The mean divides each loss by the number of its labels first; with
    /// `zero_infinity`, labels that do not fit into the steps cost 0 instead of infinity, with a derivative of 0.
    ///
    /// >>> import pullback
    /// >>> log_probs = pullback.zeros(2, 1, 2).log_softmax(-1)
    /// >>> pullback.nn.functional.ctc_loss(log_probs, pullback.tensor([[1]]), [2], [1])  # 3 of 4 paths
    /// tensor(0.2877)
    fn ctc_loss = "nn.functional.ctc_loss" (log_probs: &Tensor as Ranks<2, 3>, targets: &Tensor, input_lengths: &Value,
        target_lengths: &Value, blank: i64 = 0, reduction: &str as Chosen<ReductionMode> = "mean",
        zero_infinity: bool = false) -> Tensor [SCATTERED, NO_OUT, IN_SINGLE] node "MeanBackward0" of LOSS {
        real_values(log_probs)?;
        let single = log_probs.rank() == 2;
        let logp = if single { basis::unsqueeze_dims(log_probs, &[1])? } else { log_probs.clone() };
        let (n, classes) = (logp.shape()[1], logp.shape()[2]);
        let targets = if single && targets.rank() == 0 { basis::unsqueeze_dims(targets, &[0])? } else { targets.clone() };
        check_targets(&targets, n)?;
        if blank < 0 || blank as usize >= classes {
            refuse!(Runtime, "blank must be in label range, but it is {blank}; give a class from 0 to {}", classes as i64 - 1);
        }
        let steps = lengths("input_lengths", input_lengths, n)?;
        let labels = lengths("target_lengths", target_lengths, n)?;
        let p = Params::other(Options { blank: blank as usize, zero_infinity });
        let wide = if logp.dtype().is_half() { cast(&logp, DType::F32)? } else { logp };
        let loss = cast(&call(Prim::Static(&LOSS), &p, &[&wide, &targets, &steps, &labels])?, log_probs.dtype())?;
        match reduction {
            ReductionMode::None if single => basis::reshape(&loss, &Shape::new(&[])),
            ReductionMode::None => Ok(loss),
            ReductionMode::Mean => {
                let one = Tensor::scalar(DType::I64, 1);
                let count = cast(&where_(&lt(&labels, &one)?, &one, &labels)?, loss.dtype())?;
                mean_over(&divide_floats(&loss, &count)?, &[0], false)
            }
            _ => basis::sum(&loss, &[0], false),
        }
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[&[&LOSS, &SLOPE]],
    parameters: &[crate::core::params::Type::of::<Options>()],
};
