//! Primitives of linear algebra and their rules, written in operators.
//!
//! Sources of the formulas: M. Giles, "An extended collection of matrix derivative results" (2008); I. Murray,
//! "Differentiation of the Cholesky decomposition" (2016).

use super::creation::identity;
use super::diagonal::{tril, triu};
use super::gauge;
pub(super) use super::singular::SVD;
use crate::bail;
use crate::base::{DType, Result, Shape};
use crate::core::primitive::Saves;
use crate::core::{Inferred, Meta, Params, Prim, Primitive, Tensor, call};
use crate::dense::linalg as kernels;
use crate::rules::basis::{self, add, adjoint, cast, matmul, mul, neg, scale, sub};
use crate::rules::{Matrix, Solve, shapes};
use smallvec::smallvec;

fn flag(p: &Params, i: usize) -> bool {
    p.ints().get(i).is_some_and(|&x| x != 0)
}
pub(super) fn flags(values: &[bool]) -> Params {
    Params::Ints(values.iter().map(|&b| i64::from(b)).collect())
}

const OUTPUTS_1: Saves = Saves { inputs: 0, outputs: 1 };

fn solved(a: &[Meta], shape: Result<Shape>) -> Result<Inferred> {
    shapes::one(shapes::first(a)?.dtype, shape?)
}

/// Factors of the matrices of the first argument, of its dtype.
fn factors<const N: usize>(a: &[Meta], of: Result<[Shape; N]>) -> Result<Inferred> {
    let dtype = shapes::first(a)?.dtype;
    Ok(of?.into_iter().map(|shape| Meta { dtype, shape }).collect())
}

pub(super) fn svd_factors(a: &[Meta], full: bool) -> Result<Inferred> {
    let mut out = factors(a, kernels::shapes::svd(shapes::first(a)?.form(), full))?;
    out[1].dtype = out[1].dtype.real();
    Ok(out)
}

/// `A⁻¹ B`.
pub(super) static SOLVE: Solve = Solve {
    name: "linalg.solve",
    infer: |_, a| solved(a, kernels::shapes::solve(shapes::first(a)?.form(), shapes::argument(a, 1)?.form())),
    eval: |_, a, b| kernels::solve(a, b),
    adjoint: |p| p.clone(),
    part: |_, a| Ok(a),
};

pub(super) fn solve_matrices(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SOLVE), &Params::None, &[a, b])
}

/// `A⁻¹ B` for a triangular A; flags: upper, unitriangular.
pub(super) static SOLVE_TRIANGULAR: Solve = Solve {
    name: "linalg.solve_triangular",
    infer: |_, a| {
        solved(a, kernels::shapes::solve_triangular(shapes::first(a)?.form(), shapes::argument(a, 1)?.form(), true))
    },
    eval: |p, a, b| kernels::solve_triangular(a, b, flag(p, 0), true, flag(p, 1)),
    adjoint: |p| flags(&[!flag(p, 0), flag(p, 1)]),
    part: |p, a| {
        let strict = i64::from(flag(p, 1));
        if flag(p, 0) { triu(&a, strict) } else { tril(&a, -strict) }
    },
};

pub(super) fn triangular(a: &Tensor, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
    call(Prim::Static(&SOLVE_TRIANGULAR), &flags(&[upper, unit]), &[a, b])
}

/// The lower factor of a positive definite matrix, of which the lower triangle is read.
pub(super) static CHOLESKY: Matrix = Matrix {
    name: "linalg.cholesky",
    infer: |p, a| {
        kernels::shapes::of_square("linalg.cholesky", shapes::first(a)?.form())?;
        shapes::same(p, a)
    },
    eval: |_, a| {
        let (factor, info) = kernels::cholesky(a[0].array()?, false)?;
        let failed: Vec<i32> = info.to_vec()?;
        if let Some(i) = failed.iter().position(|&i| i != 0) {
            let place = if failed.len() > 1 { format!("(Batch element {i}): ") } else { String::new() };
            bail!(
                LinAlg,
                "linalg.cholesky: {place}The factorization could not be completed because the input is not \
                 positive-definite (the leading minor of order {} is not positive-definite).",
                failed[i]
            );
        }
        Ok(smallvec![factor.into()])
    },
    reads: OUTPUTS_1,
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(cholesky_tangent(point.output(0)?, da)?)])
    },
    fault: |e| e,
};

/// The same, and which matrices are not positive definite, which is no error.
pub(super) static CHOLESKY_EX: Matrix = Matrix {
    name: "linalg.cholesky_ex",
    infer: |_, a| with_info("linalg.cholesky_ex", a),
    eval: |_, a| {
        let (factor, info) = kernels::cholesky(a[0].array()?, false)?;
        Ok(smallvec![factor.into(), info.into()])
    },
    reads: OUTPUTS_1,
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        Ok(smallvec![Some(cholesky_tangent(point.output(0)?, da)?), None])
    },
    fault: |e| e,
};

/// L Φ(L⁻¹ dA L⁻ᴴ), Φ the lower triangle with half of the diagonal.
fn cholesky_tangent(l: &Tensor, da: &Tensor) -> Result<Tensor> {
    let left = triangular(l, &hermitian(da)?, false, false)?;
    let both = adjoint(&triangular(l, &adjoint(&left)?, false, false)?)?;
    matmul(l, &half_lower(&both)?)
}

/// A matrix like the argument, and an int32 for each.
fn with_info(op: &str, a: &[Meta]) -> Result<Inferred> {
    let a = shapes::first(a)?;
    let lead = kernels::shapes::of_square(op, a.form())?;
    Ok(smallvec![a.clone(), Meta { dtype: DType::I32, shape: lead }])
}

/// The Hermitian part.
pub(super) fn hermitian(a: &Tensor) -> Result<Tensor> {
    scale(&add(a, &adjoint(a)?)?, 0.5)
}

fn half_lower(a: &Tensor) -> Result<Tensor> {
    scale(&add(&tril(a, 0)?, &tril(a, -1)?)?, 0.5)
}

/// Q and R of a matrix with at least as many rows as columns.
pub(super) static QR: Matrix = Matrix {
    name: "linalg.qr",
    infer: |_, a| factors(a, kernels::shapes::qr(shapes::first(a)?.form(), false)),
    eval: |_, a| {
        let (q, r) = kernels::qr(a[0].array()?, false)?;
        Ok(smallvec![q.into(), r.into()])
    },
    reads: Saves { inputs: 0, outputs: 3 },
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        let (dq, dr) = qr_tangents(point.output(0)?, point.output(1)?, da)?;
        Ok(smallvec![Some(dq), Some(dr)])
    },
    fault: |e| e,
};

/// Tangents of Q and R for a matrix with at least as many rows as columns.
pub(super) fn qr_tangents(q: &Tensor, r: &Tensor, da: &Tensor) -> Result<(Tensor, Tensor)> {
    let ar = right_solve(da, r)?;
    let c = matmul(&adjoint(q)?, &ar)?;
    // c without the skew part that turns Q: upper triangular, and the diagonal of R stays real.
    let upper = match c.dtype().is_complex() {
        false => add(&triu(&c, 0)?, &adjoint(&tril(&c, -1)?)?)?,
        true => adjoint(&half_lower(&add(&c, &adjoint(&c)?)?)?)?,
    };
    Ok((sub(&ar, &matmul(q, &upper)?)?, matmul(&upper, r)?))
}

/// `x R⁻¹` for an upper triangular R, of which the other triangle is not read.
pub(super) fn right_solve(x: &Tensor, r: &Tensor) -> Result<Tensor> {
    adjoint(&triangular(&adjoint(r)?, &adjoint(x)?, false, false)?)
}

/// `1 / (x_j - x_i)` off the diagonal, 0 on it.
pub(super) fn inverse_gaps(x: &Tensor) -> Result<Tensor> {
    let (n, size) = (x.rank(), x.shape()[x.rank() - 1]);
    let gaps = sub(&basis::unsqueeze_dims(x, &[n - 1])?, &basis::unsqueeze_dims(x, &[n])?)?;
    let ones = identity(x.dtype(), size, size)?;
    sub(&super::unary::reciprocal(&add(&gaps, &ones)?)?, &ones)
}

/// A matrix times real weights.
pub(super) fn weighted(a: &Tensor, weights: &Tensor) -> Result<Tensor> {
    mul(a, &cast(weights, a.dtype())?)
}

/// Eigenvalues and eigenvectors of Hermitian matrices; flag: the upper triangle is read.
pub(super) static EIGH: Matrix = Matrix {
    name: "linalg.eigh",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let lead = kernels::shapes::of_square("linalg.eigh", a.form())?;
        let values = Meta { dtype: a.dtype.real(), shape: lead.append(a.shape[a.shape.rank() - 1]) };
        Ok(smallvec![values, a.clone()])
    },
    eval: |p, a| {
        let (w, v) = kernels::eigh(a[0].array()?, flag(p, 0))?;
        Ok(smallvec![w.into(), v.into()])
    },
    reads: Saves { inputs: 0, outputs: 3 },
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        let (w, v) = (point.output(0)?, point.output(1)?);
        let inner = matmul(&matmul(&adjoint(v)?, &hermitian(da)?)?, v)?;
        let turn = gauge::free(gauge::Vectors::Eigen, &weighted(&inner, &inverse_gaps(w)?)?)?;
        Ok(smallvec![Some(cast(&main_diagonal(&inner)?, w.dtype())?), Some(matmul(v, &turn)?)])
    },
    fault: |e| e,
};

pub(super) fn main_diagonal(a: &Tensor) -> Result<Tensor> {
    super::diagonal::diagonal_at(a, a.rank() - 2, a.rank() - 1)
}

/// The inverse of a square matrix.
static INV: Matrix = Matrix {
    name: "linalg.inv",
    infer: |p, a| {
        kernels::shapes::of_square("linalg.inv", shapes::first(a)?.form())?;
        shapes::same(p, a)
    },
    eval: |_, a| Ok(smallvec![kernels::inv(a[0].array()?)?.into()]),
    reads: OUTPUTS_1,
    // -A⁻¹ dA A⁻¹
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None]) };
        let y = point.output(0)?;
        Ok(smallvec![Some(neg(&matmul(&matmul(y, da)?, y)?)?)])
    },
    fault: |e| e,
};

/// The same, and which matrices are singular, which is no error.
pub(super) static INV_EX: Matrix = Matrix {
    name: "linalg.inv_ex",
    infer: |_, a| with_info("linalg.inv_ex", a),
    eval: |_, a| {
        let (inverse, info) = kernels::inv_ex(a[0].array()?)?;
        Ok(smallvec![inverse.into(), info.into()])
    },
    reads: OUTPUTS_1,
    tangents: |_, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        let y = point.output(0)?;
        Ok(smallvec![Some(neg(&matmul(&matmul(y, da)?, y)?)?), None])
    },
    fault: |e| e,
};

pub(super) fn inverse(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&INV), &Params::None, &[a])
}

/// Decompositions whose extra columns are arbitrary: their derivative does not exist.
macro_rules! undetermined {
    ($($id:ident, $name:literal, $part:literal, |$m:ident| $infer:expr, |$a:ident| $eval:expr;)*) => {$(
        pub(super) static $id: Matrix = Matrix {
            name: concat!($name, ":", $part),
            infer: |_, $m| $infer,
            eval: |_, args| { let $a = args[0].array()?; $eval },
            reads: Saves { inputs: 0, outputs: 0 },
            tangents: |_, _, _| bail!(Runtime, concat!($name, "(): the derivative is not defined for the full (complete) \
                form of a non-square matrix: its extra columns are arbitrary; ask for the reduced form")),
            fault: |e| e,
        };
    )*};
}

undetermined! {
    QR_COMPLETE, "linalg.qr", "complete", |m| factors(m, kernels::shapes::qr(shapes::first(m)?.form(), true)), |a| {
        let (q, r) = kernels::qr(a, true)?;
        Ok(smallvec![q.into(), r.into()])
    };
    SVD_FULL, "linalg.svd", "full", |m| svd_factors(m, true), |a| {
        let (u, s, vh) = kernels::svd(a, true)?;
        Ok(smallvec![u.into(), s.into(), vh.into()])
    };
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] =
    &[&SOLVE, &SOLVE_TRIANGULAR, &CHOLESKY, &CHOLESKY_EX, &INV, &INV_EX, &QR, &QR_COMPLETE, &EIGH, &SVD_FULL];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
