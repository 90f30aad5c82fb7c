//! Padding.

#![deny(clippy::arithmetic_side_effects)]

use super::formats::{arranged, by_rows};
use crate::base::{DType, ErrorKind, Result, Scalar, Shape, size};
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::index as kernels;
use crate::ops::promote::fitting;
use crate::ops::signature::{Chosen, HERE, Words};
use crate::rules::basis::{self, where_};
use crate::rules::{Batching, Linear, shapes};

/// Zeros (or a crop, where negative) before and after each dimension.
#[derive(Debug, Clone)]
pub(in crate::ops) struct Pads(Vec<(i64, i64)>);

fields! { struct Pads { 0 } }
parameters! { Pads = "pad" }

static PAD: Linear = Linear {
    name: "pad",
    infer: |p, a| shapes::reshaped(a, |x| kernels::padded_shape(x, &p.get::<Pads>().0)),
    eval: |p, a| kernels::pad(a, &p.get::<Pads>().0, 0.into())?.arranged_as(&[a]),
    transpose: |p, g, _, _| {
        let back = p.get::<Pads>().0.iter().map(|&(a, b)| (-a, -b)).collect();
        call(Prim::Static(&PAD), &Params::other(Pads(back)), &[g])
    },
    batching: Batching::With(|p, v| {
        let pads = std::iter::once((0, 0)).chain(p.get::<Pads>().0.iter().copied()).collect();
        call(Prim::Static(&PAD), &Params::other(Pads(pads)), &[v])
    }),
};

/// Amounts by dimension from PyTorch's list, which starts at the last dimension.
fn amounts(x: &Tensor, pad: &[i64]) -> Result<Vec<(i64, i64)>> {
    if !pad.len().is_multiple_of(2) {
        refuse!(
            Runtime,
            "padding length must be divisible by 2, but got {}; give a pair for each dimension",
            pad.len()
        );
    }
    if pad.len() / 2 > x.rank() {
        refuse!(
            Runtime,
            "padding length should be less than or equal to two times the input dimension but got padding length \
             {} and input of dimension {}; give a pair for each dimension, the last first",
            pad.len(),
            x.rank()
        );
    }
    let mut out = vec![(0, 0); x.rank()];
    for (i, p) in pad.chunks_exact(2).enumerate() {
        let d = x.rank().saturating_sub(i.saturating_add(1));
        let n = x.shape()[d];
        // What is cropped must be there, at each end.
        let lacks = |p: i64| p < 0 && p.unsigned_abs() > n as u64;
        if size::padded(n, p[0], p[1]).is_none() || lacks(p[0]) || lacks(p[1]) {
            refuse!(
                Runtime,
                "the padding ({}, {}) of dimension {d} of size {n} gives a negative or too large size, or crops more \
                 than there is; give other amounts",
                p[0],
                p[1]
            );
        }
        out[d] = (p[0], p[1]);
    }
    Ok(out)
}

fn constant(x: &Tensor, pads: &[(i64, i64)], value: Scalar) -> Result<Tensor> {
    if pads.iter().all(|&(a, b)| a <= 0 && b <= 0) {
        // What is cut lies as it did.
        let cut = |x: Tensor, (d, &(a, b)): (usize, &(i64, i64))| {
            let (start, end) = (a.unsigned_abs() as usize, b.unsigned_abs() as usize);
            let left = x.shape()[d].saturating_sub(start).saturating_sub(end);
            if start == 0 && end == 0 { Ok(x) } else { basis::slice(&x, d, start, left, 1) }
        };
        return basis::copy_in_order(&pads.iter().enumerate().try_fold(x.clone(), cut)?);
    }
    let run = |t: &Tensor| call(Prim::Static(&PAD), &Params::other(Pads(pads.to_vec())), &[t]);
    let padded = run(x)?;
    let value = fitting(HERE, "value", value, x.dtype())?;
    if value.is_zero() {
        return Ok(padded);
    }
    let inside = arranged(run(&basis::full(x.shape(), DType::Bool, true)?)?, &padded)?;
    where_(&inside, &padded, &Tensor::scalar(x.dtype(), value))
}

/// The value of `pad`, where negative integers do not stand for unsigned ones.
fn float_value(value: Option<Scalar>) -> Result<Scalar> {
    match value.unwrap_or(Scalar::Int(0)) {
        Scalar::Complex(z) => refuse!(Type, "argument 'value' must be float, not complex ({z}); give its real part"),
        n @ Scalar::Int(i) if i < 0 => Ok(if n.is_held(DType::I32) { Scalar::Float(i as f64) } else { n }),
        n => Ok(n),
    }
}

/// What stands in the padding.
#[derive(Clone, Copy, PartialEq)]
enum PadMode {
    Constant,
    Reflect,
    Replicate,
    Circular,
}
impl Words for PadMode {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("constant", PadMode::Constant),
        ("reflect", PadMode::Reflect),
        ("replicate", PadMode::Replicate),
        ("circular", PadMode::Circular),
    ];
    const ERROR: ErrorKind = ErrorKind::NotImplemented;
}
impl std::fmt::Display for PadMode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(PadMode::WORDS.iter().find(|(_, mode)| mode == self).map_or("", |(word, _)| word))
    }
}

/// A dimension with what its own elements give in front and behind, or without some of them.
fn extended(x: &Tensor, d: usize, mode: PadMode, before: i64, after: i64) -> Result<Tensor> {
    let n = x.shape()[d];
    let (limit, text) = match mode {
        PadMode::Reflect => ((n as i64).saturating_sub(1), "less than the corresponding input dimension"),
        PadMode::Circular => (
            n as i64,
            "at most the corresponding input dimension (Padding value causes wrapping around more than once)",
        ),
        _ => (i64::MAX, "that of a dimension with elements"),
    };
    if before > limit || after > limit || n == 0 {
        refuse!(
            Runtime,
            "Padding size should be {text}, but got: {mode} padding ({before}, {after}) of a dimension of size {n}; pad \
             less, or twice"
        );
    }
    // `amounts` saw that both ends can be cropped so.
    let cut = |p: i64| p.min(0).unsigned_abs() as usize;
    let kept = n.saturating_sub(cut(before)).saturating_sub(cut(after));
    let inner = basis::slice(x, d, cut(before).min(n), kept, 1)?;
    let mut parts = Vec::with_capacity(3);
    for (amount, front) in [(before, true), (after, false)] {
        let count = amount.max(0) as usize;
        if count > 0 {
            let last = n.saturating_sub(1);
            parts.push(match (mode, front) {
                (PadMode::Reflect, true) => basis::slice(x, d, count, count, -1)?,
                (PadMode::Reflect, false) => basis::slice(x, d, last.saturating_sub(1), count, -1)?,
                (PadMode::Circular, _) => around(&inner, d, count, front)?,
                _ => {
                    let edge = basis::slice(x, d, if front { 0 } else { last }, 1, 1)?;
                    basis::expand(&edge, &Shape::with(edge.shape(), d, count))?
                }
            });
        }
        if front && kept > 0 {
            parts.push(inner.clone());
        }
    }
    match &parts[..] {
        [] => Ok(inner),
        [only] => arranged(basis::copy(only)?, x),
        parts => basis::cat(&parts.iter().collect::<Vec<_>>(), d),
    }
}

/// `count` elements in front of all of a dimension, or behind them, if it goes round and round.
fn around(x: &Tensor, d: usize, count: usize, front: bool) -> Result<Tensor> {
    let n = x.shape()[d];
    if n == 0 {
        refuse!(Runtime, "circular padding needs elements that are not cropped; crop fewer");
    }
    let rounds = vec![x; count.div_ceil(n)];
    let all = if rounds.len() == 1 { x.clone() } else { basis::cat(&rounds, d)? };
    let start = if front { all.shape()[d].saturating_sub(count) } else { 0 };
    basis::slice(&all, d, start, count, 1)
}

fn wrapped(input: &Tensor, pads: &[(i64, i64)], mode: PadMode) -> Result<Tensor> {
    let padded = pads.iter().filter(|p| **p != (0, 0)).count();
    if !(2..=5).contains(&input.rank()) || padded >= input.rank() {
        refuse!(
            NotImplemented,
            "only 2D, 3D, 4D and 5D inputs can be padded in mode '{mode}', got {}D; pad fewer \
            dimensions, or add some with unsqueeze()",
            input.rank()
        );
    }
    // PyTorch fills rows of a new tensor here.
    let mut x = if mode == PadMode::Circular { by_rows(input)? } else { input.clone() };
    for (d, &(before, after)) in pads.iter().enumerate() {
        if (before, after) == (0, 0) {
            continue;
        }
        x = extended(&x, d, mode, before, after)?;
    }
    if mode == PadMode::Circular { Ok(x) } else { arranged(x, input) }
}

ops! { TABLE:
    /// Padding at the ends of the trailing dimensions, the last one first: with a value, or by 'reflect', 'replicate' or
    /// 'circular'. Negative amounts crop.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.pad(pullback.tensor([1, 2]), (1, 2))
    /// tensor([0, 1, 2, 0, 0])
    fn pad = "nn.functional.pad" (input: &Tensor, pad: &[i64], mode: &str as Chosen<PadMode> = "constant", value: Option<Scalar> = None)
        -> Tensor [NO_OUT] node "ConstantPadNdBackward0" / mode "PadBackward0" {
        let pads = amounts(input, pad)?;
        if mode == PadMode::Constant {
            return constant(input, &pads, float_value(value)?);
        }
        if value.is_some_and(|v| !v.is_zero()) {
            refuse!(Runtime, "padding mode '{mode}' doesn't take in value argument; leave it out");
        }
        // Two dimensions of reflections, and three of edges, are what PyTorch has in its list.
        let most = if mode == PadMode::Reflect { 4 } else { 6 };
        if mode != PadMode::Circular && pad.len() <= most {
            return wrapped(&crate::ops::autocast::in_single(input)?, &pads, mode);
        }
        wrapped(input, &pads, mode)
    }

    /// Padding with a value.
    fn constant_pad_nd = "constant_pad_nd" (input: &Tensor, pad: &[i64], value: Scalar = Scalar::Int(0)) -> Tensor [] {
        constant(input, &amounts(input, pad)?, value)
    }
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&PAD];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[PRIMITIVES],
    parameters: &[crate::core::params::Type::of::<Pads>()],
};
