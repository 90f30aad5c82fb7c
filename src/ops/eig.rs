//! Eigenvalues and eigenvectors of matrices that need not be Hermitian.

use super::decompositions::{inverse_gaps, main_diagonal, solve_matrices};
use super::diagonal::diag_embed;
use super::gauge;
use super::value::Named;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{Meta, Params, Prim, Tangents, Tensor, call_many};
use crate::dense::linalg as kernels;
use crate::ops::signature::Square;
use crate::rules::basis::{adjoint, cast, matmul, mul, sub};
use crate::rules::{Matrix, shapes};
use smallvec::smallvec;

/// Eigenvalues, and eigenvectors of norm 1; both complex.
static EIG: Matrix = Matrix {
    name: "linalg.eig",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let lead = kernels::shapes::of_square("linalg.eig", a.form())?;
        let dtype = a.dtype.complex();
        let values = lead.append(a.shape[a.shape.rank() - 1]);
        Ok(smallvec![Meta { dtype, shape: values }, Meta { dtype, shape: a.shape.clone() }])
    },
    eval: |_, a| {
        let (values, vectors) = kernels::eig(a[0].array()?)?;
        Ok(smallvec![values.into(), vectors.into()])
    },
    reads: Saves { inputs: 0, outputs: 3 },
    tangents: |_, point, t| match t {
        [Some(da)] => tangents(point.output(0)?, point.output(1)?, da),
        _ => Ok(smallvec![None, None]),
    },
    fault: |e| e,
};

/// With `P = V⁻¹ dA V`, the values move by its diagonal, and the vectors turn by `K = P_ij / (w_j - w_i)` off the diagonal,
/// and by what keeps their norms.
fn tangents(w: &Tensor, v: &Tensor, da: &Tensor) -> Result<Tangents> {
    let p = solve_matrices(v, &matmul(&cast(da, v.dtype())?, v)?)?;
    let k = mul(&p, &inverse_gaps(w)?)?;
    let along = main_diagonal(&matmul(&adjoint(v)?, &matmul(v, &k)?)?)?;
    let along = cast(&cast(&along, w.dtype().real())?, w.dtype())?;
    let turn = gauge::free(gauge::Vectors::General, &sub(&k, &diag_embed(&along, 0, -2, -1)?)?)?;
    Ok(smallvec![Some(main_diagonal(&p)?), Some(matmul(v, &turn)?)])
}

ops! { TABLE:
    /// Complex eigenvalues, in no order, and eigenvectors of norm 1 as columns. Derivatives need distinct values, and
    /// functions of the vectors that do not depend on their phases.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.eig(pullback.tensor([[0.0, 1.0], [-1.0, 0.0]])).eigenvalues.abs()
    /// tensor([1., 1.])
    fn eig = "linalg.eig" (A: &Tensor as Square | input) -> Named as linalg_eig(eigenvalues, eigenvectors) [CUBIC, IN_SINGLE] of EIG {
        Ok(Named::new(NAMED, call_many(Prim::Static(&EIG), &Params::None, &[A])?))
    }

    /// The complex eigenvalues, in no order.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.eigvals(pullback.tensor([[2.0]]))
    /// tensor([2.+0.j])
    fn eigvals = "linalg.eigvals" (A: &Tensor as Square | input) -> Tensor [CUBIC, IN_SINGLE] node "LinalgEigBackward0" of EIG {
        Ok(call_many(Prim::Static(&EIG), &Params::None, &[A])?[0].clone())
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&EIG]], ..crate::ops::Family::EMPTY };
