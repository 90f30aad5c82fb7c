//! Triangular factors with row exchanges, and what is solved with them.

use super::creation::identity;
use super::decompositions::{CHOLESKY_EX, INV_EX, right_solve, triangular};
use super::diagonal::{tril, triu};
use super::linalg::{incompatible, same_batches, solve_by};
use super::value::Named;
use crate::bail;
use crate::base::{DType, Result};
use crate::core::primitive::Saves;
use crate::core::{Meta, Outputs, Params, Prim, Tensor, call, call_many};
use crate::dense::linalg as kernels;
use crate::ops::signature::{Matrices, Square, of_dtype};
use crate::rules::basis::{self, add, adjoint, matmul, sub};
use crate::rules::{Matrix, Opaque, OpaqueBatch, batching, index, shapes};
use smallvec::smallvec;

/// Both triangles in one matrix, the row exchanges, and 0 or which pivot is the first zero.
pub(super) static LU_FACTOR: Matrix = Matrix {
    name: "linalg.lu_factor",
    infer: |_, a| {
        let a = shapes::first(a)?;
        kernels::shapes::qr(a.form(), false)?;
        let (rank, shape) = (a.shape.rank(), &a.shape);
        let lead = shape.without(rank - 1).without(rank - 2);
        let pivots = lead.append(shape[rank - 1].min(shape[rank - 2]));
        Ok(smallvec![a.clone(), Meta::new(DType::I32, pivots), Meta::new(DType::I32, lead)])
    },
    eval: |_, a| {
        let (packed, pivots, info) = kernels::lu(a[0].array()?)?;
        Ok(smallvec![packed.into(), pivots.into(), info.into()])
    },
    reads: Saves { inputs: 0, outputs: 3 },
    tangents: |_, point, t| match t {
        [Some(da)] => Ok(smallvec![Some(tangent(point.output(0)?, point.output(1)?, da)?), None, None]),
        _ => Ok(smallvec![None, None, None]),
    },
    fault: |e| e,
};

pub(super) fn factor(a: &Tensor) -> Result<Outputs> {
    call_many(Prim::Static(&LU_FACTOR), &Params::None, &[a])
}

/// With `Pᵀ A = L U` and `F = L⁻¹ Pᵀ dA U⁻¹` for the leading square, `dL = L tril(F, -1)` and `dU = triu(F) U`. The rows
/// below follow by U, the columns on the right by L.
fn tangent(lu: &Tensor, pivots: &Tensor, da: &Tensor) -> Result<Tensor> {
    let (rows, cols) = (lu.rank() - 2, lu.rank() - 1);
    let (m, n) = (lu.shape()[rows], lu.shape()[cols]);
    let k = m.min(n);
    let part = |x: &Tensor, i: usize, h: usize, j: usize, w: usize| {
        basis::slice(&basis::slice(x, rows, i, h, 1)?, cols, j, w, 1)
    };
    let da = permuted(da, pivots, false)?;
    let head = part(lu, 0, k, 0, k)?;
    let f = right_solve(&triangular(&head, &part(&da, 0, k, 0, k)?, false, true)?, &head)?;
    let unit = add(&tril(&head, -1)?, &identity(lu.dtype(), k, k)?)?;
    let (dl, du) = (matmul(&unit, &tril(&f, -1)?)?, matmul(&triu(&f, 0)?, &triu(&head, 0)?)?);
    let top = add(&dl, &du)?;
    if m > k {
        let (below, dbelow) = (part(lu, k, m - k, 0, k)?, part(&da, k, m - k, 0, k)?);
        let rest = right_solve(&sub(&dbelow, &matmul(&below, &du)?)?, &head)?;
        return basis::cat(&[&top, &rest], rows);
    }
    if n > k {
        let (right, dright) = (part(lu, 0, k, k, n - k)?, part(&da, 0, k, k, n - k)?);
        let rest = triangular(&head, &sub(&dright, &matmul(&dl, &right)?)?, false, true)?;
        return basis::cat(&[&top, &rest], cols);
    }
    Ok(top)
}

/// The permutation that row exchanges stand for, or its inverse; parameters: rows, inverse.
static PERMUTATION: Opaque = Opaque {
    name: "lu_unpack:permutation",
    infer: |p, a| {
        let pivots = shapes::first(a)?;
        shapes::one(DType::I64, pivots.shape.with(pivots.shape.rank() - 1, p.ints()[0] as usize))
    },
    eval: |p, a| {
        let (pivots, m) = (a[0].array()?, p.ints()[0] as usize);
        kernels::check_pivots("lu_unpack", pivots, m)?;
        let order = kernels::pivots_to_permutation(pivots, m)?;
        if p.ints()[1] == 0 {
            return Ok(smallvec![order.into()]);
        }
        let list = order.to_vec::<i64>()?;
        let mut inverse = vec![0; list.len()];
        for (list, inverse) in list.chunks(m.max(1)).zip(inverse.chunks_mut(m.max(1))) {
            list.iter().enumerate().for_each(|(i, &to)| inverse[to as usize] = i as i64);
        }
        Ok(smallvec![Tensor::from_slice(order.shape().clone(), &inverse)?])
    },
    batching: OpaqueBatch::With(batching::leading),
};

fn permutation(pivots: &Tensor, m: usize, inverse: bool) -> Result<Tensor> {
    let p = Params::Ints(smallvec![m as i64, i64::from(inverse)]);
    call(Prim::Static(&PERMUTATION), &p, &[pivots])
}

/// `Pᵀ x`, or `P x` if `back`; the leading dimensions are equal.
fn permuted(x: &Tensor, pivots: &Tensor, back: bool) -> Result<Tensor> {
    let rows = x.rank() - 2;
    let order = permutation(pivots, x.shape()[rows], back)?;
    let order = basis::expand(&basis::unsqueeze_dims(&order, &[order.rank()])?, x.shape())?;
    index::gather(x, rows, &order)
}

/// What is said of a factorisation that failed.
#[derive(Clone, Copy)]
pub(super) enum Failure {
    Factor,
    Ldl,
    Cholesky,
    Inverse,
    Solve,
}

/// Refuses an `info` that is not 0; parameter: the [`Failure`].
static CHECK_INFO: Opaque = Opaque {
    name: "linalg:check_info",
    infer: shapes::same,
    eval: |p, a| {
        let info: Vec<i32> = a[0].array()?.to_vec()?;
        let Some((i, at)) = info.iter().enumerate().find(|(_, x)| **x != 0) else { return Ok(smallvec![a[0].clone()]) };
        let place = if a[0].rank() > 0 { format!("(Batch element {i}): ") } else { String::new() };
        const CHOLESKY: i64 = Failure::Cholesky as i64;
        const INVERSE: i64 = Failure::Inverse as i64;
        const SOLVE: i64 = Failure::Solve as i64;
        const LDL: i64 = Failure::Ldl as i64;
        match p.ints()[0] {
            CHOLESKY => bail!(
                LinAlg,
                "linalg.cholesky_ex: {place}The factorization could not be completed because the input is not \
                 positive-definite (the leading minor of order {at} is not positive-definite)."
            ),
            INVERSE => bail!(
                LinAlg,
                "linalg.inv_ex: {place}The diagonal element {at} is zero, the inversion could not be completed because \
                 the input matrix is singular."
            ),
            SOLVE => bail!(LinAlg, "linalg.solve_ex: {place}The solver failed because the input matrix is singular."),
            LDL => bail!(
                LinAlg,
                "linalg.ldl_factor: {place}D[{at},{at}] is zero and using it on ldl_solve would result in a division by \
                 zero; linalg.ldl_factor_ex(A) gives the factors all the same"
            ),
            _ => bail!(
                Runtime,
                "linalg.lu_factor: {place}U[{at},{at}] is zero and using it on lu_solve would result in a division by \
                 zero. If you still want to perform the factorization, consider calling linalg.lu(A, pivot) or \
                 linalg.lu_factor_ex(A, pivot)"
            ),
        }
    },
    batching: OpaqueBatch::Check,
};

pub(super) fn check(info: &Tensor, failure: Failure) -> Result<()> {
    call(Prim::Static(&CHECK_INFO), &Params::Ints(smallvec![failure as i64]), &[info])?;
    Ok(())
}

fn check_pivot(pivot: bool) -> Result<()> {
    if !pivot {
        refuse!(Runtime, "LU without pivoting is not implemented on the CPU; leave pivot=True");
    }
    Ok(())
}

/// Pivots that belong to packed factors.
fn check_pivots(lu: &Tensor, pivots: &Tensor) -> Result<()> {
    if pivots.dtype() != DType::I32 {
        refuse!(
            Runtime,
            "LU_pivots is expected to be a contiguous tensor of torch.int32 dtype, but it has {}; give the pivots of \
             lu_factor, or pivots.int()",
            pivots.dtype()
        );
    }
    let shape = lu.shape();
    let (m, n) = (shape[shape.rank() - 2], shape[shape.rank() - 1]);
    let want = shape.without(shape.rank() - 1).with(shape.rank() - 2, m.min(n));
    if *pivots.shape() != want {
        refuse!(
            Runtime,
            "Number of pivots per batch should be same as the dimension of the matrix: expected pivots of shape {want} \
             for factors of shape {shape}, but got {}; give those of lu_factor",
            pivots.shape()
        );
    }
    Ok(())
}

/// `(P L U)⁻¹ B`, or that of the adjoint.
pub(super) fn solve_factored(lu: &Tensor, pivots: &Tensor, b: &Tensor, adjoint_of: bool) -> Result<Tensor> {
    if adjoint_of {
        let turned = adjoint(lu)?;
        let y = triangular(&turned, &triangular(&turned, b, false, false)?, true, true)?;
        return permuted(&y, pivots, true);
    }
    let y = triangular(lu, &permuted(b, pivots, false)?, false, true)?;
    triangular(lu, &y, true, false)
}

/// [`solve_factored`] for arguments that were checked to be factors, on either side, with leading dimensions that broadcast.
pub(super) fn solve_packed(lu: &Tensor, pivots: &Tensor, b: &Tensor, left: bool, of_adjoint: bool) -> Result<Tensor> {
    check_pivots(lu, pivots)?;
    if !left {
        return adjoint(&solve_packed(lu, pivots, &adjoint(b)?, true, !of_adjoint)?);
    }
    if lu.shape()[lu.rank() - 1] != b.shape()[b.rank() - 2] {
        return Err(incompatible(lu, b));
    }
    let (lu, b) = same_batches(lu, b)?;
    let pivots = basis::expand(pivots, &lu.shape().without(lu.rank() - 1))?;
    solve_factored(&lu, &pivots, &b, of_adjoint)
}

/// P, L and U.
fn unpacked(lu: &Tensor, pivots: &Tensor) -> Result<[Tensor; 3]> {
    let [lower, upper] = triangles(lu)?;
    Ok([exchanges(lu, pivots)?, lower, upper])
}

fn triangles(lu: &Tensor) -> Result<[Tensor; 2]> {
    let (rows, cols) = (lu.rank() - 2, lu.rank() - 1);
    let (m, n) = (lu.shape()[rows], lu.shape()[cols]);
    let k = m.min(n);
    let (left, top) = (basis::slice(lu, cols, 0, k, 1)?, basis::slice(lu, rows, 0, k, 1)?);
    Ok([add(&tril(&left, -1)?, &identity(lu.dtype(), m, k)?)?, triu(&top, 0)?])
}

/// P as a matrix.
fn exchanges(lu: &Tensor, pivots: &Tensor) -> Result<Tensor> {
    let m = lu.shape()[lu.rank() - 2];
    let order = permutation(pivots, m, true)?;
    index::take_rows(&identity(lu.dtype(), m, m)?, &order)
}

fn nothing(like: &Tensor) -> Result<Tensor> {
    basis::full(&[0].into(), like.dtype(), 0.0)
}

ops! { TABLE:
    /// The factors of `A = P L U` in one matrix, L below the diagonal, and the row exchanges: for `lu_solve`.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.lu_factor(pullback.tensor([[1.0, 2.0], [4.0, 4.0]])).LU
    /// tensor([[4.0000, 4.0000],
    ///         [0.2500, 1.0000]])
    fn lu_factor = "linalg.lu_factor" (A: &Tensor as Matrices | input; pivot: bool = true)
        -> Named as linalg_lu_factor(LU, pivots) [CUBIC] node "LinalgLuFactorExBackward0" of LU_FACTOR {
        check_pivot(pivot)?;
        let outs = factor(A)?;
        check(&outs[2], Failure::Factor)?;
        Ok(Named::new(NAMED, outs.into_iter().take(2)))
    }

    /// As `lu_factor`, and `info`: 0, or which diagonal element of U is the first zero. With `check_errors` that raises.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.lu_factor_ex(pullback.zeros(2, 2)).info
    /// tensor(1, dtype=pullback.int32)
    fn lu_factor_ex = "linalg.lu_factor_ex" (A: &Tensor as Matrices | input; pivot: bool = true, check_errors: bool = false)
        -> Named as linalg_lu_factor_ex(LU, pivots, info) [CUBIC] of LU_FACTOR {
        check_pivot(pivot)?;
        let outs = factor(A)?;
        if check_errors {
            check(&outs[2], Failure::Factor)?;
        }
        Ok(Named::new(NAMED, outs))
    }

    /// `A = P L U` with a permutation P, a lower triangle L with ones on the diagonal, and an upper triangle U.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.lu(pullback.tensor([[1.0, 2.0], [4.0, 4.0]])).L
    /// tensor([[1.0000, 0.0000],
    ///         [0.2500, 1.0000]])
    fn lu_parts = "linalg.lu" (A: &Tensor as Matrices | input; pivot: bool = true) -> Named as linalg_lu(P, L, U) [CUBIC] {
        check_pivot(pivot)?;
        let outs = factor(A)?;
        Ok(Named::new(NAMED, unpacked(&outs[0], &outs[1])?))
    }

    /// The solution of `A X = B` (or `X A = B` unless `left`) from what `lu_factor` gives for A; of its adjoint if `adjoint`.
    ///
    /// >>> import pullback
    /// >>> factors = pullback.linalg.lu_factor(pullback.tensor([[2.0]]))
    /// >>> pullback.linalg.lu_solve(*factors, pullback.tensor([[4.0]]))
    /// tensor([[2.]])
    fn lu_solve = "linalg.lu_solve" (LU: &Tensor as Square, pivots: &Tensor, B: &Tensor as Matrices; left: bool = true,
        adjoint: bool = false) -> Tensor [CUBIC] {
        solve_packed(LU, pivots, B, left, adjoint)
    }

    /// P, L and U from what `lu_factor` gives. What is not asked for is an empty tensor.
    ///
    /// >>> import pullback
    /// >>> factors = pullback.linalg.lu_factor(pullback.tensor([[1.0, 2.0], [4.0, 4.0]]))
    /// >>> pullback.lu_unpack(*factors).U
    /// tensor([[4., 4.],
    ///         [0., 1.]])
    fn lu_unpack = "lu_unpack" (LU_data: &Tensor as Matrices, LU_pivots: &Tensor, unpack_data: bool = true,
        unpack_pivots: bool = true) -> Named as lu_unpack(P, L, U) [] {
        if unpack_pivots {
            check_pivots(LU_data, LU_pivots)?;
        }
        let p = if unpack_pivots { exchanges(LU_data, LU_pivots)? } else { nothing(LU_data)? };
        let [l, u] = if unpack_data { triangles(LU_data)? } else { [nothing(LU_data)?, nothing(LU_data)?] };
        Ok(Named::new(NAMED, [p, l, u]))
    }

    /// As `solve`, and `info`: 0, or which pivot is the first zero. With `check_errors` that raises.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.solve_ex(pullback.zeros(1, 1), pullback.ones(1)).info
    /// tensor(1, dtype=pullback.int32)
    fn solve_ex = "linalg.solve_ex" (A: &Tensor as Square | input, B: &Tensor; left: bool = true, check_errors: bool = false)
        -> Named as linalg_solve_ex(result, info) [CUBIC] {
        of_dtype("B", B, A.dtype())?;
        let of = if left { A.clone() } else { basis::swap_last(A)? };
        let factors = factor(&of)?;
        let lead = of.shape().rank() - 2;
        let x = solve_by(A, B, left, &mut |_, b| {
            let front = &b.shape()[..b.rank() - 2];
            let grow = |t: &Tensor| basis::expand(t, &front.iter().chain(&t.shape()[lead..]).copied().collect());
            solve_factored(&grow(&factors[0])?, &grow(&factors[1])?, b, false)
        })?;
        if check_errors {
            check(&factors[2], Failure::Solve)?;
        }
        Ok(Named::new(NAMED, [x, factors[2].clone()]))
    }

    /// As `inv`, and `info`: 0, or which pivot is the first zero. With `check_errors` that raises.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.inv_ex(pullback.tensor([[2.0]])).inverse
    /// tensor([[0.5000]])
    fn inv_ex = "linalg.inv_ex" (A: &Tensor as Square | input; check_errors: bool = false)
        -> Named as linalg_inv_ex(inverse, info) [CUBIC, IN_SINGLE] of super::decompositions::INV_EX {
        let outs = call_many(Prim::Static(&INV_EX), &Params::None, &[A])?;
        if check_errors {
            check(&outs[1], Failure::Inverse)?;
        }
        Ok(Named::new(NAMED, outs))
    }

    /// As `cholesky`, and `info`: 0, or the order of the first leading minor that is not positive definite. With
    /// `check_errors` that raises.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.cholesky_ex(pullback.tensor([[-4.0]])).info
    /// tensor(1, dtype=pullback.int32)
    fn cholesky_ex = "linalg.cholesky_ex" (A: &Tensor as Square | input; upper: bool = false, check_errors: bool = false)
        -> Named as linalg_cholesky_ex(L, info) [CUBIC, IN_SINGLE] of super::decompositions::CHOLESKY_EX {
        let a = if upper { adjoint(A)? } else { A.clone() };
        let outs = call_many(Prim::Static(&CHOLESKY_EX), &Params::None, &[&a])?;
        if check_errors {
            check(&outs[1], Failure::Cholesky)?;
        }
        let l = if upper { adjoint(&outs[0])? } else { outs[0].clone() };
        Ok(Named::new(NAMED, [l, outs[1].clone()]))
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family {
    entries: &[TABLE],
    primitives: &[&[&LU_FACTOR, &PERMUTATION, &CHECK_INFO]],
    ..crate::ops::Family::EMPTY
};
