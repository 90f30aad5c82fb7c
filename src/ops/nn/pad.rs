//! Padding.

#![deny(clippy::arithmetic_side_effects)]

use crate::base::{DType, ErrorKind, Result, Scalar, size};
use crate::core::params::{fields, parameters};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::index as kernels;
use crate::dense::memory::list;
use crate::ops::promote::fitting;
use crate::ops::signature::{Chosen, HERE, Words};
use crate::rules::basis::{self, where_};
use crate::rules::{Batching, Linear, index, shapes};

/// Zeros (or a crop, where negative) before and after each dimension.
#[derive(Debug, Clone)]
pub(in crate::ops) struct Pads(Vec<(i64, i64)>);

fields! { struct Pads { 0 } }
parameters! { Pads = "pad" }

static PAD: Linear = Linear {
    name: "pad",
    infer: |p, a| shapes::reshaped(a, |x| kernels::padded_shape(x, &p.get::<Pads>().0)),
    eval: |p, a| kernels::pad(a, &p.get::<Pads>().0, 0.into()),
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
    let run = |t: &Tensor| call(Prim::Static(&PAD), &Params::other(Pads(pads.to_vec())), &[t]);
    let padded = run(x)?;
    let value = fitting(HERE, "value", value, x.dtype())?;
    if value.is_zero() {
        return Ok(padded);
    }
    let inside = run(&basis::full(x.shape(), DType::Bool, true)?)?;
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

/// Where each element of a padded dimension comes from.
fn sources(mode: PadMode, n: i64, before: i64, after: i64) -> Result<Vec<i64>> {
    let (limit, text) = match mode {
        PadMode::Reflect => (n.saturating_sub(1), "less than the corresponding input dimension"),
        PadMode::Circular => {
            (n, "at most the corresponding input dimension (Padding value causes wrapping around more than once)")
        }
        _ => (i64::MAX, "that of a dimension with elements"),
    };
    if before > limit || after > limit || n == 0 {
        refuse!(
            Runtime,
            "Padding size should be {text}, but got: {mode} padding ({before}, {after}) of a dimension of size {n}; pad \
             less, or twice"
        );
    }
    let last = n.saturating_sub(1);
    let first = before.saturating_neg().max(0);
    let left = n.saturating_sub(first).saturating_sub(after.saturating_neg().max(0)).max(1);
    let place = |i: i64| match mode {
        PadMode::Reflect if i < 0 => i.saturating_neg(),
        PadMode::Reflect if i >= n => last.saturating_mul(2).saturating_sub(i),
        // Round what is left after cropping.
        PadMode::Circular => first.saturating_add(i.saturating_sub(first).rem_euclid(left)),
        PadMode::Replicate => i.clamp(0, last),
        _ => i,
    };
    // `amounts` saw that this is a size.
    let count = size::padded(n as usize, before, after).unwrap_or(0);
    list(HERE, count, (0..count as i64).map(|i| place(i.saturating_sub(before))))
}

fn wrapped(x: &Tensor, pads: &[(i64, i64)], mode: PadMode) -> Result<Tensor> {
    let padded = pads.iter().filter(|p| **p != (0, 0)).count();
    if !(2..=5).contains(&x.rank()) || padded >= x.rank() {
        refuse!(
            NotImplemented,
            "only 2D, 3D, 4D and 5D inputs can be padded in mode '{mode}', got {}D; pad fewer \
            dimensions, or add some with unsqueeze()",
            x.rank()
        );
    }
    let mut x = x.clone();
    for (d, &(before, after)) in pads.iter().enumerate() {
        if (before, after) == (0, 0) {
            continue;
        }
        let (mut before, mut after) = (before, after);
        if mode == PadMode::Circular && (before < 0 || after < 0) {
            // What is cut off does not come round again.
            let n = x.shape()[d] as i64;
            let start = before.saturating_neg().clamp(0, n);
            let left = n.saturating_add(after.min(0)).saturating_sub(start).max(0);
            x = basis::slice(&x, d, start as usize, left as usize, 1)?;
            (before, after) = (before.max(0), after.max(0));
        }
        let from = sources(mode, x.shape()[d] as i64, before, after)?;
        let rows = Tensor::from_slice([from.len()], &from)?;
        let front = basis::move_dim(&x, d, 0)?;
        x = basis::move_dim(&index::take_rows(&front, &rows)?, 0, d)?;
    }
    Ok(x)
}

ops! { TABLE:
    /// Padding at the ends of the trailing dimensions, the last one first: with a value, or by 'reflect', 'replicate' or
    /// 'circular'. Negative amounts crop.
    ///
    /// >>> import pullback
    /// >>> pullback.nn.functional.pad(pullback.tensor([1, 2]), (1, 2))
    /// tensor([0, 1, 2, 0, 0])
    fn pad = "nn.functional.pad" (input: &Tensor, pad: &[i64], mode: &str as Chosen<PadMode> = "constant", value: Option<Scalar> = None)
        -> Tensor [NO_OUT, ROW_MAJOR] {
        let pads = amounts(input, pad)?;
        if mode == PadMode::Constant {
            return constant(input, &pads, float_value(value)?);
        }
        if value.is_some_and(|v| !v.is_zero()) {
            refuse!(Value, "padding mode '{mode}' doesn't take in value argument; leave it out");
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
