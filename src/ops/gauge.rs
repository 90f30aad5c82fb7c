//! Complex eigenvectors and singular vectors are determined up to a phase, so that a function of them has a derivative
//! only if it does not depend on the phase.

use crate::bail;
use crate::base::{DType, Result};
use crate::core::{Params, Prim, Primitive, Tensor, call};
use crate::dense::{Array, copy};
use crate::rules::{Batching, Linear, shapes};
use num_complex::Complex;

/// How large the derivative along a phase may be beside the others before the function counts as depending on it.
const SHARE: f64 = 1e-2;

/// What has a phase.
#[derive(Clone, Copy)]
pub(super) enum Vectors {
    Eigen,
    Singular,
    /// Those of a matrix that need not be Hermitian.
    General,
}

/// Its argument, by which vectors turn; the cotangent of that must not depend on phases.
static FREE: Linear = Linear {
    name: "gauge",
    infer: shapes::same,
    eval: |_, a| Ok(a.clone()),
    transpose: |p, g, _, _| call(Prim::Static(&CHECK), p, &[g]),
    batching: Batching::With(|p, v| call(Prim::Static(&FREE), p, &[v])),
};

/// Its argument. An error if the imaginary part of a diagonal is not small beside the rest of its matrix.
static CHECK: Linear = Linear {
    name: "gauge:check",
    infer: shapes::same,
    eval: |p, a| {
        check(p.ints()[0], a)?;
        Ok(a.clone())
    },
    transpose: |_, g, _, _| Ok(g.clone()),
    batching: Batching::With(|p, v| call(Prim::Static(&CHECK), p, &[v])),
};

/// The same for vectors V that turn by `V turn`: their cotangents V̄ give it `Vᴴ V̄`, whose imaginary diagonal is the
/// derivative along the phases, and which raises if a phase matters.
pub(super) fn free(vectors: Vectors, turn: &Tensor) -> Result<Tensor> {
    if !turn.dtype().is_complex() {
        return Ok(turn.clone());
    }
    call(Prim::Static(&FREE), &Params::Ints([vectors as i64].into_iter().collect()), &[turn])
}

fn check(vectors: i64, h: &Array) -> Result<()> {
    let n = h.shape()[h.rank() - 1];
    let rounding = if h.dtype() == DType::C64 { f64::from(f32::EPSILON) } else { f64::EPSILON }.sqrt();
    let all: Vec<Complex<f64>> = copy::cast(h, DType::C128)?.to_vec()?;
    for m in all.chunks_exact((n * n).max(1)) {
        let largest = m.iter().map(|z| z.norm()).fold(0.0, f64::max);
        let along = m.iter().step_by(n + 1).map(|z| z.im.abs()).fold(0.0, f64::max);
        if along > SHARE * largest && along > rounding {
            const SINGULAR: i64 = Vectors::Singular as i64;
            const GENERAL: i64 = Vectors::General as i64;
            let (op, what) = match vectors {
                SINGULAR => ("linalg.svd", "singular vectors"),
                GENERAL => ("linalg.eig", "eigenvectors"),
                _ => ("linalg.eigh", "eigenvectors"),
            };
            bail!(
                Runtime,
                "{op}(): backward: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. \
                 The specified loss function depends on this quantity, so it is ill-defined (its derivative along a \
                 phase is {along:.3e}); use absolute values, or products of vectors with their conjugates"
            );
        }
    }
    Ok(())
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&FREE, &CHECK];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
