//! The singular value decomposition and its derivative, written in operators.

use super::decompositions::{hermitian, inverse_gaps, main_diagonal, svd_factors, weighted};
use super::gauge;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{Tangents, Tensor};
use crate::dense::linalg as kernels;
use crate::rules::Matrix;
use crate::rules::basis::{self, add, adjoint, cast, matmul, sub};
use smallvec::smallvec;

/// U, S and Vᴴ, reduced.
pub(super) static SVD: Matrix = Matrix {
    name: "linalg.svd",
    infer: |_, a| svd_factors(a, false),
    eval: |_, a| {
        let (u, s, vh) = kernels::svd(a[0].array()?, false)?;
        Ok(smallvec![u.into(), s.into(), vh.into()])
    },
    reads: Saves { inputs: 0, outputs: 7 },
    tangents: |_, point, t| match t {
        [Some(da)] => tangents(point.output(0)?, point.output(1)?, point.output(2)?, da),
        _ => Ok(smallvec![None, None, None]),
    },
    fault: |e| e,
};

/// `1 / (s_i + s_j)`
fn inverse_sums(s: &Tensor, complex: bool) -> Result<Tensor> {
    let (n, size) = (s.rank(), s.shape()[s.rank() - 1]);
    let mut sums = add(&basis::unsqueeze_dims(s, &[n - 1])?, &basis::unsqueeze_dims(s, &[n])?)?;
    if !complex {
        // Only off the diagonal do real matrices read it, which must be finite where s is 0.
        sums = add(&sums, &super::creation::identity(s.dtype(), size, size)?)?;
    }
    super::unary::reciprocal(&sums)
}

/// With P = Uᴴ dA V, its Hermitian part turns U and V together, by P_ij / (s_j - s_i), and its skew part against each
/// other, by P_ij / (s_i + s_j). What the columns of U or V do not span follows from dA alone.
pub(super) fn tangents(u: &Tensor, s: &Tensor, vh: &Tensor, da: &Tensor) -> Result<Tangents> {
    let k = s.shape()[s.rank() - 1];
    let (tall, wide) = (u.shape()[u.rank() - 2] > k, vh.shape()[vh.rank() - 1] > k);
    let (uh, v) = (adjoint(u)?, adjoint(vh)?);
    // One of both is square.
    let (inner, left, right) = if wide {
        let left = matmul(&uh, da)?;
        (matmul(&left, &v)?, Some(left), None)
    } else {
        let right = matmul(da, &v)?;
        (matmul(&uh, &right)?, None, Some(right))
    };
    let ds = cast(&main_diagonal(&inner)?, s.dtype())?;
    let common = hermitian(&inner)?;
    let opposite = sub(&inner, &common)?;
    let common = gauge::free(gauge::Vectors::Singular, &weighted(&common, &inverse_gaps(s)?)?)?;
    let opposite = weighted(&opposite, &inverse_sums(s, u.dtype().is_complex())?)?;
    let mut du = matmul(u, &add(&common, &opposite)?)?;
    let mut dvh = matmul(&sub(&opposite, &common)?, vh)?;
    if let (true, Some(right)) = (tall, right) {
        let row = cast(&basis::unsqueeze_dims(s, &[s.rank() - 1])?, u.dtype())?;
        du = add(&du, &basis::div(&sub(&right, &matmul(u, &inner)?)?, &row)?)?;
    }
    if let (true, Some(left)) = (wide, left) {
        let column = cast(&basis::unsqueeze_dims(s, &[s.rank()])?, u.dtype())?;
        dvh = add(&dvh, &basis::div(&sub(&left, &matmul(&inner, vh)?)?, &column)?)?;
    }
    Ok(smallvec![Some(du), Some(ds), Some(dvh)])
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[&[&SVD]], ..crate::ops::Family::EMPTY };
