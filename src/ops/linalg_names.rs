//! Older names of linear algebra, outside of `linalg`, with their own arguments and results.
#![expect(non_snake_case, reason = "arguments have PyTorch's names")]

use super::creation::identity;
use super::decompositions::triangular;
use super::linalg::{self, solve_triangular};
use super::lu::{lu_factor_ex, solve_packed};
use super::value::setting::Driver;
use super::value::{IntoValue, Named, Value};
use crate::base::Result;
use crate::core::Tensor;
use crate::ops::signature::{HERE, Matrices, Square, of_dtype};
use crate::rules::basis::{self, adjoint, matmul, swap_last};

fn parts<const N: usize>(named: Named) -> Result<[Tensor; N]> {
    let tensor = |v| if let Value::Tensor(t) = v { Some(t) } else { None };
    let found: Vec<Tensor> = named.items.into_iter().filter_map(tensor).collect();
    found.try_into().map_err(|_| crate::Error::internal(format!("{HERE}(): another number of results")))
}

ops! { TABLE:
    /// `A = U diag(S) Vᴴ` with singular values in descending order; `some` leaves out vectors that these do not need, and
    /// without `compute_uv` U and V are zeros. `linalg.svd` gives Vᴴ instead.
    ///
    /// >>> import pullback
    /// >>> pullback.svd(pullback.tensor([[3.0]])).S
    /// tensor([3.])
    fn svd = "svd" (input: &Tensor as Matrices, some: bool = true, compute_uv: bool = true) -> Named as svd(U, S, V) [METHOD, CUBIC, IN_SINGLE] node "LinalgSvdBackward0" {
        if compute_uv {
            let [u, s, vh] = parts(linalg::svd(input, !some, Driver::None)?)?;
            return Ok(Named::new(NAMED, [u, s, adjoint(&vh)?]));
        }
        let shape = input.shape();
        let zeros = |n: usize| {
            let shape = shape.with(shape.rank() - 2, n).with(shape.rank() - 1, n);
            basis::full(&shape, input.dtype(), 0.0)
        };
        let s = linalg::svdvals(input, Driver::None)?;
        Ok(Named::new(NAMED, [zeros(shape[shape.rank() - 2])?, s, zeros(shape[shape.rank() - 1])?]))
    }

    /// `A = Q R` with orthonormal columns of Q and upper triangular R; unless `some`, with all columns of Q.
    ///
    /// >>> import pullback
    /// >>> pullback.qr(pullback.tensor([[2.0]])).R.abs()
    /// tensor([[2.]])
    fn qr = "qr" (input: &Tensor as Matrices, some: bool = true) -> Named as qr(Q, R) [METHOD, CUBIC, IN_SINGLE] node "LinalgQrBackward0" {
        crate::warn_once!("qr(): deprecated in favor of linalg.qr, which PyTorch will keep; call that")?;
        let factors: [Tensor; 2] = parts(linalg::qr(input, if some { "reduced" } else { "complete" })?)?;
        Ok(Named::new(NAMED, factors))
    }

    /// The triangular factor of Hermitian positive definite matrices: `A = L Lᴴ`, or `Uᴴ U` if `upper`.
    ///
    /// >>> import pullback
    /// >>> pullback.cholesky(pullback.tensor([[4.0]]))
    /// tensor([[2.]])
    fn cholesky = "cholesky" (input: &Tensor as Square, upper: bool = false) -> Tensor [METHOD, CUBIC, IN_SINGLE] {
        crate::warn_once!("cholesky(): deprecated in favor of linalg.cholesky, which PyTorch will keep; call that")?;
        linalg::cholesky(input, upper)
    }

    /// The inverse of `L Lᴴ`, or of `Uᴴ U` if `upper`, from the triangle.
    ///
    /// >>> import pullback
    /// >>> pullback.cholesky_inverse(pullback.tensor([[2.0]]))
    /// tensor([[0.2500]])
    fn cholesky_inverse = "cholesky_inverse" (L: &Tensor as Square | input, upper: bool = false) -> Tensor [METHOD, CUBIC, IN_SINGLE] {
        let l = if upper { adjoint(L)? } else { L.clone() };
        let n = l.shape()[l.rank() - 1];
        let ones = basis::expand(&identity(l.dtype(), n, n)?, l.shape())?;
        let inverse = triangular(&l, &ones, false, false)?;
        matmul(&adjoint(&inverse)?, &inverse)
    }

    /// The solution of `L Lᴴ X = B`, or of `Uᴴ U X = B` if `upper`, from the triangle.
    ///
    /// >>> import pullback
    /// >>> pullback.cholesky_solve(pullback.tensor([[4.0]]), pullback.tensor([[2.0]]))
    /// tensor([[1.]])
    fn cholesky_solve = "cholesky_solve" (B: &Tensor as Matrices | input, L: &Tensor as Square | input2, upper: bool = false)
        -> Tensor [METHOD, CUBIC, IN_SINGLE] {
        of_dtype("L", L, B.dtype())?;
        let l = if upper { adjoint(L)? } else { L.clone() };
        let y = solve_triangular(&l, B, false, true, false)?;
        solve_triangular(&adjoint(&l)?, &y, true, true, false)
    }

    /// The solution X of `A X = b` for a triangular A, and A; of its transpose if `transpose`. `linalg.solve_triangular` gives
    /// X alone.
    ///
    /// >>> import pullback
    /// >>> pullback.triangular_solve(pullback.tensor([[4.0]]), pullback.tensor([[2.0]])).solution
    /// tensor([[2.]])
    fn triangular_solve = "triangular_solve" (b: &Tensor as Matrices | input, A: &Tensor as Square, upper: bool = true,
        transpose: bool = false, unitriangular: bool = false)
        -> Named as triangular_solve(solution, cloned_coefficient) [METHOD, CUBIC, IN_SINGLE] {
        crate::warn_once!("triangular_solve(): deprecated in favor of linalg.solve_triangular, which PyTorch will keep; call that")?;
        of_dtype("A", A, b.dtype())?;
        let turned = if transpose { swap_last(A)? } else { A.clone() };
        let x = solve_triangular(&turned, b, upper != transpose, true, unitriangular)?;
        Ok(Named::new(NAMED, [x, basis::copy(A)?]))
    }

    /// The factors of `A = P L U` in one matrix, and the row exchanges; also which pivot is the first zero, if `get_infos`.
    ///
    /// >>> import pullback
    /// >>> pullback.lu(pullback.tensor([[2.0]]))[0]
    /// tensor([[2.]])
    fn lu = "lu" (A: &Tensor as Matrices | input, pivot: bool = true, get_infos: bool = false)
        -> Value as _lu_with_info(LU, pivots, info) [METHOD, CUBIC] node "LinalgLuFactorExBackward0" {
        crate::warn_once!("lu(): deprecated in favor of linalg.lu_factor, which PyTorch will keep; call that")?;
        let [packed, pivots, info] = parts(lu_factor_ex(A, pivot, false)?)?;
        Ok(match get_infos {
            true => Named::new(NAMED, [packed, pivots, info]).into_value(),
            false => vec![packed, pivots].into_value(),
        })
    }

    /// The solution of `A X = b` from what `lu_factor` gives for A.
    ///
    /// >>> import pullback
    /// >>> factors = pullback.linalg.lu_factor(pullback.tensor([[2.0]]))
    /// >>> pullback.lu_solve(pullback.tensor([[4.0]]), *factors)
    /// tensor([[2.]])
    fn lu_solve = "lu_solve" (b: &Tensor as Matrices | input, LU_data: &Tensor as Square, LU_pivots: &Tensor) -> Tensor [METHOD, CUBIC, IN_SINGLE] node "LinalgLuSolveBackward0" {
        crate::warn_once!("lu_solve(): deprecated in favor of linalg.lu_solve, which PyTorch will keep; call that")?;
        of_dtype("LU_data", LU_data, b.dtype())?;
        solve_packed(LU_data, LU_pivots, b, true, false)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
