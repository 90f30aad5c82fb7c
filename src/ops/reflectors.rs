//! Orthogonal matrices as products of Householder reflections `1 - τᵢ vᵢ vᵢᴴ`, vᵢ being column i of a matrix below a 1.

use super::creation::identity;
use super::decompositions::{main_diagonal, qr_tangents, right_solve, triangular};
use super::diagonal::{tril, triu};
use super::value::Named;
use crate::base::{ErrorKind, Result, Shape};
use crate::core::primitive::Saves;
use crate::core::{Meta, Params, Prim, Tangents, Tensor, call, call_many};
use crate::dense::linalg as kernels;
use crate::ops::signature::{Matrices, SameDType, other_shape};
use crate::rules::basis::{self, add, adjoint, matmul, mul, neg, sub};
use crate::rules::{Matrix, shapes};
use smallvec::smallvec;

/// The first columns of the product, as many as there are of vectors.
static HOUSEHOLDER_PRODUCT: Matrix = Matrix {
    name: "linalg.householder_product",
    infer: |_, a| {
        let (v, tau) = (shapes::first(a)?, shapes::argument(a, 1)?);
        shapes::one(v.dtype, kernels::shapes::householder_product(v.form(), tau.form())?)
    },
    eval: |_, a| Ok(smallvec![kernels::householder_product(a[0].array()?, a[1].array()?)?.into()]),
    reads: Saves { inputs: 3, outputs: 0 },
    tangents: |_, point, t| {
        let [dv, dtau] = t else { return Ok(smallvec![None]) };
        product_tangent(point.input(0)?, point.input(1)?, *dv, *dtau).map(|t| smallvec![Some(t)])
    },
    fault: |e| e,
};

fn product(vectors: &Tensor, tau: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&HOUSEHOLDER_PRODUCT), &Params::None, &[vectors, tau])
}

/// The reflections are applied one after the other, to the identity and to the tangent of what is there.
fn product_tangent(vectors: &Tensor, tau: &Tensor, dv: Option<&Tensor>, dtau: Option<&Tensor>) -> Result<Tensor> {
    let last = vectors.rank() - 1;
    let (m, n) = (vectors.shape()[last - 1], vectors.shape()[last]);
    let ones = identity(vectors.dtype(), m, n)?;
    let lower = add(&tril(vectors, -1)?, &ones)?;
    let dlower = dv.map(|d| tril(d, -1)).transpose()?;
    let mut q = basis::expand(&ones, vectors.shape())?;
    let mut dq: Option<Tensor> = None;
    let plus = |sum: Option<Tensor>, x: Tensor| match sum {
        Some(sum) => add(&sum, &x),
        None => Ok(x),
    };
    for i in (0..tau.shape()[last - 1]).rev() {
        let scale = |t: &Tensor| {
            let one = basis::slice(t, last - 1, i, 1, 1)?;
            basis::unsqueeze_dims(&one, &[last])
        };
        let v = basis::slice(&lower, last, i, 1, 1)?;
        let (vh, s) = (adjoint(&v)?, scale(tau)?);
        let w = matmul(&vh, &q)?;
        let mut moved = match &dq {
            Some(dq) => Some(sub(dq, &mul(&s, &matmul(&v, &matmul(&vh, dq)?)?)?)?),
            None => None,
        };
        if let Some(dtau) = dtau {
            moved = Some(plus(moved, neg(&mul(&scale(dtau)?, &matmul(&v, &w)?)?)?)?);
        }
        if let Some(dlower) = &dlower {
            let dv = basis::slice(dlower, last, i, 1, 1)?;
            let both = add(&matmul(&dv, &w)?, &matmul(&v, &matmul(&adjoint(&dv)?, &q)?)?)?;
            moved = Some(plus(moved, neg(&mul(&s, &both)?)?)?);
        }
        q = sub(&q, &mul(&s, &matmul(&v, &w)?)?)?;
        dq = moved;
    }
    dq.map_or_else(|| basis::zeros_like(vectors), Ok)
}

/// The reflections that make a matrix triangular: the triangle with their vectors below, and their scales.
static GEQRF: Matrix = Matrix {
    name: "geqrf",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let [q, r] = kernels::shapes::qr(a.form(), false)?;
        let tau = r.without(r.rank() - 1).without(r.rank() - 2).append(q[q.rank() - 1]);
        Ok(smallvec![a.clone(), Meta { dtype: a.dtype, shape: tau }])
    },
    eval: |_, a| {
        let (packed, tau) = kernels::geqrf(a[0].array()?)?;
        Ok(smallvec![packed.into(), tau.into()])
    },
    reads: Saves { inputs: 0, outputs: 3 },
    tangents: |_, point, t| match t {
        [Some(da)] => factor_tangents(point.output(0)?, point.output(1)?, da),
        _ => Ok(smallvec![None, None]),
    },
    fault: |e| e,
};

/// From the tangents of `A = Q R`. The columns of Q less those of the identity are `V W` with the unit lower trapezoid V of
/// the vectors and an upper triangular W, whose diagonal is -τ: so V and W move like triangular factors. A last column that
/// has no elements below the diagonal moves W alone.
fn factor_tangents(packed: &Tensor, tau: &Tensor, da: &Tensor) -> Result<Tangents> {
    let (rows, cols) = (packed.rank() - 2, packed.rank() - 1);
    let (m, n) = (packed.shape()[rows], packed.shape()[cols]);
    let k = m.min(n);
    let part = |x: &Tensor, i: usize, h: usize, j: usize, w: usize| {
        basis::slice(&basis::slice(x, rows, i, h, 1)?, cols, j, w, 1)
    };
    let head = part(packed, 0, m, 0, k)?;
    let q = product(&head, tau)?;
    let (dq, dr) = qr_tangents(&q, &triu(&part(&head, 0, k, 0, k)?, 0)?, &part(da, 0, m, 0, k)?)?;
    let ones = identity(packed.dtype(), k, k)?;
    let unit = add(&tril(&part(&head, 0, k, 0, k)?, -1)?, &ones)?;
    let down = |x: &Tensor| triangular(&unit, x, false, true);
    let (w, g) = (triu(&down(&sub(&part(&q, 0, k, 0, k)?, &ones)?)?, 0)?, down(&part(&dq, 0, k, 0, k)?)?);
    let used = k.min(m.saturating_sub(1));
    let turned = tril(&right_solve(&part(&g, 0, k, 0, used)?, &part(&w, 0, used, 0, used)?)?, -1)?;
    let dw = triu(&sub(&g, &matmul(&turned, &part(&w, 0, used, 0, k)?)?)?, 0)?;
    let dvectors = matmul(&unit, &turned)?;
    let zeros = basis::full(&with_last(dvectors.shape(), k - used), packed.dtype(), 0.0)?;
    let mut dpacked = add(&tril(&basis::cat(&[&dvectors, &zeros], cols)?, -1)?, &dr)?;
    if m > k {
        let below = sub(&part(&dq, k, m - k, 0, k)?, &matmul(&part(&head, k, m - k, 0, k)?, &dw)?)?;
        dpacked = basis::cat(&[&dpacked, &right_solve(&below, &w)?], rows)?;
    }
    if n > k {
        let (rest, drest) = (part(packed, 0, m, k, n - k)?, part(da, 0, m, k, n - k)?);
        let moved = matmul(&adjoint(&q)?, &sub(&drest, &matmul(&dq, &rest)?)?)?;
        dpacked = basis::cat(&[&dpacked, &moved], cols)?;
    }
    Ok(smallvec![Some(dpacked), Some(neg(&main_diagonal(&dw)?)?)])
}

fn with_last(shape: &Shape, size: usize) -> Shape {
    shape.with(shape.rank() - 1, size)
}

/// Vectors, at least as many rows as columns, and at most as many scales as vectors.
fn check_reflections(vectors: &Tensor, tau: &Tensor) -> Result<()> {
    let shape = vectors.shape();
    let (m, n) = (shape[shape.rank() - 2], shape[shape.rank() - 1]);
    if m < n {
        refuse!(
            Runtime,
            "input.shape[-2] must be greater than or equal to input.shape[-1], but input has the shape {shape}; give at \
             least as many rows as columns"
        );
    }
    let k = tau.shape().last().copied().unwrap_or(0);
    if tau.rank() > 0 && n < k {
        refuse!(
            Runtime,
            "input.shape[-1] must be greater than or equal to tau.shape[-1], but input has the shape {shape} and tau {}; \
             give one scale for each vector at most",
            tau.shape()
        );
    }
    let want = with_last(&shape.without(shape.rank() - 2), k);
    if *tau.shape() != want {
        return Err(other_shape(ErrorKind::Runtime, "tau", tau.shape(), &want));
    }
    Ok(())
}

/// All columns of the product: vectors without a scale stand for the identity.
fn whole(vectors: &Tensor, tau: &Tensor) -> Result<Tensor> {
    let last = vectors.rank() - 1;
    let (m, n) = (vectors.shape()[last - 1], vectors.shape()[last]);
    let zeros = basis::full(&with_last(vectors.shape(), m - n), vectors.dtype(), 0.0)?;
    product(&basis::cat(&[vectors, &zeros], last)?, tau)
}

ops! { TABLE:
    /// The first columns of a product of reflections `1 - τᵢ vᵢ vᵢᴴ`: vᵢ is column i of A below a 1, as `geqrf` gives them.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.householder_product(pullback.tensor([[0.0], [1.0]]), pullback.tensor([1.0]))
    /// tensor([[ 0.],
    ///         [-1.]])
    fn householder_product = "linalg.householder_product" | "orgqr" (A: &Tensor as Matrices | input, tau: &Tensor as SameDType)
        -> Tensor [METHOD, CUBIC, IN_SINGLE] of HOUSEHOLDER_PRODUCT {
        check_reflections(A, tau)?;
        product(A, tau)
    }

    /// The reflections that make matrices triangular: `a` holds the triangle R of `A = Q R`, and below it the vectors from
    /// which, with their scales `tau`, `orgqr` makes Q.
    ///
    /// >>> import pullback
    /// >>> pullback.geqrf(pullback.tensor([[3.0], [4.0]])).tau
    /// tensor([1.6000])
    fn geqrf = "geqrf" (input: &Tensor as Matrices) -> Named as geqrf(a, tau) [METHOD, CUBIC, IN_SINGLE] of GEQRF {
        Ok(Named::new(NAMED, call_many(Prim::Static(&GEQRF), &Params::None, &[input])?))
    }

    /// The product of `other` with the square matrix Q of the reflections that `geqrf` gives: `Q other`, or `other Q` unless
    /// `left`; with its adjoint if `transpose`.
    ///
    /// >>> import pullback
    /// >>> pullback.ormqr(pullback.zeros(2, 1), pullback.tensor([2.0]), pullback.tensor([[1.0], [1.0]]))
    /// tensor([[-1.],
    ///         [ 1.]])
    fn ormqr = "ormqr" (input: &Tensor as Matrices, tau: &Tensor as SameDType, other: &Tensor as SameDType, left: bool = true,
        transpose: bool = false) -> Tensor [METHOD, CUBIC, IN_SINGLE] {
        let m = input.shape()[input.rank() - 2];
        // Columns behind the last row belong to the triangle alone.
        let input = &if input.shape()[input.rank() - 1] > m {
            basis::slice(input, input.rank() - 1, 0, m, 1)?
        } else {
            input.clone()
        };
        check_reflections(input, tau)?;
        if other.rank() != input.rank() || other.shape()[other.rank() - if left { 2 } else { 1 }] != m {
            let side = if left { -2 } else { -1 };
            refuse!(Runtime, "other.shape[{side}] must be equal to input.shape[-2], but other has the shape {} and input {}; \
                give as many as there are rows of input", other.shape(), input.shape());
        }
        let q = whole(input, tau)?;
        let q = if transpose { adjoint(&q)? } else { q };
        if left { matmul(&q, other) } else { matmul(other, &q) }
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[&[&HOUSEHOLDER_PRODUCT, &GEQRF]],
    ..crate::ops::Family::EMPTY
};
