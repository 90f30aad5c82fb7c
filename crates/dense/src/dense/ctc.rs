//! Connectionist temporal classification: the likelihood of a sequence of labels, summed over its alignments to steps.
//!
//! The labels with blanks around each are the states of an alignment, which stays in a state, goes to the next one, or leaves
//! out a blank between different labels. Everything is computed as logarithms in double precision.

use super::array::Array;
use super::copy;
use super::parallel::{self, Shared};
use crate::bail;
use crate::base::{DType, Result, Shape, TypedShape};

/// What a loss depends on besides tensors.
#[derive(Debug, Clone, Copy)]
pub struct Ctc {
    pub blank: usize,
    /// Whether sequences without an alignment cost nothing, in place of infinity.
    pub zero_infinity: bool,
}

const OP: &str = "ctc_loss";

/// Sizes of log probabilities [T, N, C].
///
/// # Errors
/// `Internal` if the shapes do not belong together: callers have checked them.
pub fn sizes(logp: TypedShape<'_>, lengths: [TypedShape<'_>; 2], ctc: Ctc) -> Result<[usize; 3]> {
    let [steps, batch, classes] = logp.1[..] else { bail!(Internal, "{OP}(): log probabilities of shape {}", logp.1) };
    let fits = lengths.iter().all(|l| l.0 == DType::I64 && l.1[..] == [batch]);
    if !fits || ctc.blank >= classes || !logp.0.is_float() {
        bail!(Internal, "{OP}(): lengths of shapes {} and {} for {}", lengths[0].1, lengths[1].1, logp.1);
    }
    Ok([steps, batch, classes])
}

/// The states of one sequence.
struct States {
    steps: usize,
    labels: Vec<usize>,
}

impl States {
    /// Whether an alignment may come from two states before.
    fn skips(&self, s: usize) -> bool {
        s >= 2 && self.labels[s] != self.labels[s - 2]
    }
}

/// The sequences of a batch: `targets` are rows [N, S], or joined end to end.
fn states(logp: &Array, targets: &Array, steps: &Array, lengths: &Array, ctc: Ctc) -> Result<Vec<States>> {
    let [most, batch, classes] = sizes(logp.form(), [steps.form(), lengths.form()], ctc)?;
    let all = copy::cast(targets, DType::I64)?.to_vec::<i64>()?;
    let (steps, lengths) = (steps.to_vec::<i64>()?, lengths.to_vec::<i64>()?);
    let width = if targets.rank() == 2 { Some(targets.shape()[1]) } else { None };
    let mut start = 0usize;
    let mut out = Vec::with_capacity(batch);
    for n in 0..batch {
        if steps[n] < 0 || steps[n] > most as i64 {
            bail!(
                Runtime,
                "{OP}(): Expected input_lengths to have value at most {most} and at least 0, but got value {}; log_probs \
                 has {most} steps",
                steps[n]
            );
        }
        let room = width.unwrap_or(all.len() - start);
        if lengths[n] < 0 || lengths[n] > room as i64 {
            bail!(
                Runtime,
                "{OP}(): Expected target_lengths to have value at most {room} and at least 0, but got value {}; targets \
                 have no more labels",
                lengths[n]
            );
        }
        let own = &all[start..start + lengths[n] as usize];
        start += width.unwrap_or(own.len());
        let mut labels = vec![ctc.blank; 2 * own.len() + 1];
        for (i, &label) in own.iter().enumerate() {
            if label < 0 || label >= classes as i64 {
                bail!(Runtime, "{OP}(): targets must be classes from 0 to {}, but one is {label}", classes - 1);
            }
            labels[2 * i + 1] = label as usize;
        }
        out.push(States { steps: steps[n] as usize, labels });
    }
    if width.is_none() && start != all.len() {
        bail!(
            Runtime,
            "{OP}(): Expected targets to have size {start}, the sum of target_lengths, but got {}; give the labels that \
             belong to no sequence up",
            all.len()
        );
    }
    Ok(out)
}

/// `ln(eᵃ + eᵇ + eᶜ)`
fn log_sum(a: f64, b: f64, c: f64) -> f64 {
    let top = a.max(b).max(c);
    if top == f64::NEG_INFINITY { top } else { top + ((a - top).exp() + (b - top).exp() + (c - top).exp()).ln() }
}

/// One sequence among log probabilities [T, N, C].
struct Sequence<'a> {
    logp: &'a [f64],
    stride: usize,
    states: &'a States,
}

impl Sequence<'_> {
    fn step(&self, t: usize) -> &[f64] {
        &self.logp[t * self.stride..]
    }

    /// The log likelihoods of the ways to each state at each step, the step itself included.
    fn forward(&self) -> Vec<f64> {
        let (labels, count) = (&self.states.labels, self.states.labels.len());
        let mut a = vec![f64::NEG_INFINITY; self.states.steps * count];
        for t in 0..self.states.steps {
            let emitted = self.step(t);
            let (before, now) = a.split_at_mut(t * count);
            for s in 0..count {
                let way = match t {
                    0 if s < 2 => 0.0,
                    0 => f64::NEG_INFINITY,
                    _ => {
                        let last = &before[(t - 1) * count..];
                        let next = if s >= 1 { last[s - 1] } else { f64::NEG_INFINITY };
                        let skip = if self.states.skips(s) { last[s - 2] } else { f64::NEG_INFINITY };
                        log_sum(last[s], next, skip)
                    }
                };
                now[s] = way + emitted[labels[s]];
            }
        }
        a
    }

    /// The same from each state to the end.
    fn backward(&self) -> Vec<f64> {
        let (labels, count) = (&self.states.labels, self.states.labels.len());
        let mut b = vec![f64::NEG_INFINITY; self.states.steps * count];
        for t in (0..self.states.steps).rev() {
            let emitted = self.step(t);
            let (now, after) = b[t * count..].split_at_mut(count);
            let after: &[f64] = after;
            for s in 0..count {
                let way = match after {
                    [] if s + 2 >= count => 0.0,
                    [] => f64::NEG_INFINITY,
                    after => {
                        let next = if s + 1 < count { after[s + 1] } else { f64::NEG_INFINITY };
                        let skip = s + 2 < count && self.states.skips(s + 2);
                        log_sum(after[s], next, if skip { after[s + 2] } else { f64::NEG_INFINITY })
                    }
                };
                now[s] = way + emitted[labels[s]];
            }
        }
        b
    }

    fn likelihood(&self, forward: &[f64]) -> f64 {
        let count = self.states.labels.len();
        match forward.len() {
            // No step emits nothing.
            0 if count == 1 => 0.0,
            0 => f64::NEG_INFINITY,
            n => log_sum(forward[n - 1], if count > 1 { forward[n - 2] } else { f64::NEG_INFINITY }, f64::NEG_INFINITY),
        }
    }
}

/// What each of N sequences costs: the negative log likelihood of its labels.
pub fn loss(logp: &Array, targets: &Array, steps: &Array, lengths: &Array, ctc: Ctc) -> Result<Array> {
    let all = states(logp, targets, steps, lengths, ctc)?;
    let [_, batch, classes] = sizes(logp.form(), [steps.form(), lengths.form()], ctc)?;
    let wide = copy::cast(logp, DType::F64)?.contiguous()?;
    let values = wide.as_slice::<f64>().unwrap_or(&[]);
    let mut out = vec![0.0; batch];
    let shared = Shared(out.as_mut_ptr());
    parallel::ranges(batch, work(&all), &|lo, hi| {
        for n in lo..hi {
            let start = (n * classes).min(values.len());
            let sequence = Sequence { logp: &values[start..], stride: batch * classes, states: &all[n] };
            let cost = -sequence.likelihood(&sequence.forward());
            let cost = if ctc.zero_infinity && cost == f64::INFINITY { 0.0 } else { cost };
            // SAFETY: each sequence has its own element, inside the vector.
            unsafe { shared.at(n).write(cost) };
        }
    });
    copy::cast(&Array::from_slice(Shape::new(&[batch]), &out)?, logp.dtype())
}

/// The derivative of each sequence's cost by the log probabilities, [T, N, C]: how probable each class is at each step,
/// negative. NaN for sequences without an alignment, or 0 if these cost nothing.
pub fn slope(logp: &Array, targets: &Array, steps: &Array, lengths: &Array, ctc: Ctc) -> Result<Array> {
    let all = states(logp, targets, steps, lengths, ctc)?;
    let [_, batch, classes] = sizes(logp.form(), [steps.form(), lengths.form()], ctc)?;
    let wide = copy::cast(logp, DType::F64)?.contiguous()?;
    let values = wide.as_slice::<f64>().unwrap_or(&[]);
    let mut result = Array::zeros(DType::F64, logp.shape().clone())?;
    let out = Shared(result.ptr_mut().cast::<f64>());
    parallel::ranges(batch, work(&all).saturating_mul(2), &|lo, hi| {
        for n in lo..hi {
            let start = (n * classes).min(values.len());
            let sequence = Sequence { logp: &values[start..], stride: batch * classes, states: &all[n] };
            let (a, b) = (sequence.forward(), sequence.backward());
            let total = sequence.likelihood(&a);
            let (labels, lost) = (&all[n].labels, total == f64::NEG_INFINITY);
            for t in 0..all[n].steps {
                let emitted = sequence.step(t);
                for (s, &label) in labels.iter().enumerate() {
                    let at = t * labels.len() + s;
                    let share = match (lost, ctc.zero_infinity) {
                        (true, true) => 0.0,
                        (true, false) => f64::NAN,
                        _ if a[at] == f64::NEG_INFINITY || b[at] == f64::NEG_INFINITY => 0.0,
                        _ => (a[at] + b[at] - emitted[label] - total).exp(),
                    };
                    // SAFETY: each sequence has its own elements, inside the new array.
                    unsafe { *out.at((t * batch + n) * classes + label) -= share };
                }
            }
        }
    });
    copy::cast(&result, logp.dtype())
}

/// About how many elements of simple work a sequence stands for.
fn work(all: &[States]) -> usize {
    all.iter().map(|s| s.steps * s.labels.len() * 30).max().unwrap_or(0)
}
