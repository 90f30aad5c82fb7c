//! Determinants.
//!
//! NOTE singular matrices. `d det(A) = ⟨adj(A)ᵀ, dA⟩`. Away from singular matrices `adj(A) = det(A) A⁻¹`, which is right
//! of any order. At (nearly) singular ones the adjugate is taken from `A = U diag(s) Vᵀ`:
//! ```text
//! adj(A)      = c V diag(pᵢ) Uᵀ                    c = det U · det V, pᵢ the product of all s but sᵢ
//! d adj(A)[X] = c V (diag(Σⱼ pᵢⱼ Bⱼⱼ) - P ∘ B) Uᵀ    B = Uᵀ X V, pᵢⱼ the product of all s but sᵢ and sⱼ, pᵢᵢ = 0
//! ```
//! Neither divides, so first and second derivatives are right for any rank. Derivatives of higher order go through those
//! of the SVD, which need distinct singular values.

use super::creation::identity;
use super::decompositions::{SVD, batch_leading, inverse, main_diagonal, solve_matrices};
use super::diagonal::diag_embed;
use super::reduce::prod_over;
use crate::bail;
use crate::base::{DType, Error, Kind, Result, Shape};
use crate::core::level::Below;
use crate::core::origin::at_here;
use crate::core::primitive::Saves;
use crate::core::{Meta, Params, Prim, Primitive, Tensor, call, call_many};
use crate::dense::linalg as kernels;
use crate::dense::{Array, copy};
use crate::rules::basis::{self, matmul, mul, number, sub, swap_last, where_};
use crate::rules::{General, shapes};
use smallvec::{SmallVec, smallvec};

/// Sign and logarithm of the absolute value of the determinant.
pub(super) static SLOGDET: General = General {
    name: "linalg.slogdet",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let each = Meta { dtype: a.dtype, shape: kernels::shapes::of_square("linalg.lu_factor", a.form())? };
        Ok(smallvec![each.clone(), each])
    },
    eval: |_, a| {
        let (sign, log, _) = factors(a[0].array()?)?;
        Ok(smallvec![sign.into(), log.into()])
    },
    saves: |_, _| Saves { inputs: 1, outputs: 0 },
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        Ok(smallvec![None, Some(trace(&solve_matrices(point.input(0)?, da).map_err(no_logarithm)?)?)])
    },
    vjp: |_, _, point, g, _| {
        let Some(Some(g)) = g.get(1) else { return Ok(SmallVec::new()) };
        let at = swap_last(&inverse(point.input(0)?).map_err(no_logarithm)?)?;
        Ok(smallvec![Some(mul(&over_matrices(g)?, &at)?)])
    },
    batch: batch_leading,
};

fn no_logarithm(e: Error) -> Error {
    match e.kind() {
        Kind::LinAlg => Error::linalg(format!(
            "linalg.slogdet: 'logabsdet' has no derivative for a singular matrix, where it is -inf{}; regularise the \
             matrix, or differentiate linalg.det",
            at_here()
        )),
        _ => e,
    }
}

/// The determinant.
pub(super) static DET: General = General {
    name: "linalg.det",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let each = Meta { dtype: a.dtype, shape: kernels::shapes::of_square("linalg.lu_factor", a.form())? };
        Ok(smallvec![each])
    },
    eval: |_, a| Ok(smallvec![factors(a[0].array()?)?.2.into()]),
    saves: |_, _| Saves { inputs: 1, outputs: 1 },
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None]) };
        let a = point.input(0)?;
        Ok(smallvec![Some(match is_singular(a)? {
            true => trace(&matmul(&adjugate(a)?, da)?)?,
            false => mul(point.output(0)?, &trace(&solve_matrices(a, da)?)?)?,
        })])
    },
    vjp: |_, _, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let a = point.input(0)?;
        Ok(smallvec![Some(match is_singular(a)? {
            true => mul(&over_matrices(g)?, &swap_last(&adjugate(a)?)?)?,
            false => mul(&over_matrices(&mul(g, point.output(0)?)?)?, &swap_last(&inverse(a)?)?)?,
        })])
    },
    batch: batch_leading,
};

fn trace(a: &Tensor) -> Result<Tensor> {
    basis::sum(&main_diagonal(a)?, &[a.rank() - 2], false)
}

fn over_matrices(g: &Tensor) -> Result<Tensor> {
    basis::unsqueeze_dims(g, &[g.rank(), g.rank() + 1])
}

/// Sign, logarithm of the absolute value, and value of the determinants.
fn factors(a: &Array) -> Result<(Array, Array, Array)> {
    let n = a.shape()[a.rank() - 1];
    let (packed, pivots, _) = kernels::lu(a)?;
    let lead = Shape::new(&a.shape()[..a.rank() - 2]);
    let (lu, piv): (Vec<f64>, Vec<i32>) = (packed.to_vec()?, pivots.to_vec()?);
    let (mut signs, mut logs, mut dets) = (Vec::new(), Vec::new(), Vec::new());
    for b in 0..lead.numel() {
        let (mut sign, mut log, mut det) = (1.0f64, 0.0f64, 1.0f64);
        for i in 0..n {
            let d = lu[b * n * n + i * n + i];
            let swap = if piv[b * n + i] as usize != i + 1 { -1.0 } else { 1.0 };
            sign *= if d == 0.0 { 0.0 } else { d.signum() * swap };
            log += d.abs().ln();
            det *= d * swap;
        }
        // The product may leave the range on its way although the result is in it.
        let lost = !det.is_normal() && sign != 0.0;
        signs.push(sign);
        logs.push(log);
        dets.push(if lost { sign * log.exp() } else { det + 0.0 });
    }
    let make = |v: &[f64]| copy::cast(&Array::from_slice(lead.clone(), v)?, a.dtype());
    Ok((make(&signs)?, make(&logs)?, make(&dets)?))
}

/// Whether a matrix of the innermost batch is so near to a singular one that its inverse says little.
fn is_singular(a: &Tensor) -> Result<bool> {
    if a.is_abstract() {
        return Ok(false);
    }
    let Some(a) = a.innermost() else { bail!(Internal, "linalg.det: no array") };
    let n = a.shape()[a.rank() - 1];
    let lu: Vec<f64> = kernels::lu(a)?.0.to_vec()?;
    let limit = if a.dtype() == DType::F64 { f64::EPSILON.sqrt() } else { f64::from(f32::EPSILON).sqrt() };
    Ok(lu.chunks_exact((n * n).max(1)).any(|m| {
        let pivots = || m.iter().step_by(n + 1).map(|d| d.abs());
        pivots().fold(f64::INFINITY, f64::min) <= limit * pivots().fold(0.0, f64::max)
    }))
}

/// The transposed matrix of cofactors.
static ADJUGATE: General = General {
    name: "adjugate",
    infer: shapes::same,
    eval: |_, a| {
        let _below = Below::all();
        let f = Factors::of(a[0])?;
        Ok(smallvec![f.outside(&diag_embed(&products_without(&f.s, 1)?, 0, -2, -1)?)?])
    },
    saves: |_, _| Saves { inputs: 1, outputs: 0 },
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None]) };
        let f = Factors::of(point.input(0)?)?;
        let b = matmul(&matmul(&swap_last(&f.u)?, da)?, &swap_last(&f.vh)?)?;
        Ok(smallvec![Some(f.outside(&f.inner_derivative(&b)?)?)])
    },
    vjp: |_, _, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let f = Factors::of(point.input(0)?)?;
        let h = matmul(&matmul(&f.vh, g)?, &f.u)?;
        let back = matmul(&matmul(&f.u, &f.inner_derivative(&h)?)?, &f.vh)?;
        Ok(smallvec![Some(mul(&f.sign, &back)?)])
    },
    batch: batch_leading,
};

fn adjugate(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&ADJUGATE), &Params::None, &[a])
}

/// A singular value decomposition, and `det U · det V` as a 1 by 1 matrix.
struct Factors {
    u: Tensor,
    s: Tensor,
    vh: Tensor,
    sign: Tensor,
}

impl Factors {
    fn of(a: &Tensor) -> Result<Factors> {
        let outs = call_many(Prim::Static(&SVD), &Params::None, &[a])?;
        let (u, s, vh) = (outs[0].clone(), outs[1].clone(), outs[2].clone());
        let sign = |m: &Tensor| Ok::<_, Error>(call_many(Prim::Static(&SLOGDET), &Params::None, &[m])?[0].clone());
        let sign = over_matrices(&mul(&sign(&u)?, &sign(&vh)?)?)?;
        Ok(Factors { u, s, vh, sign })
    }

    /// `c V m Uᵀ`
    fn outside(&self, m: &Tensor) -> Result<Tensor> {
        mul(&self.sign, &matmul(&matmul(&swap_last(&self.vh)?, m)?, &swap_last(&self.u)?)?)
    }

    /// The derivative of the adjugate of `diag(s)` in direction `b`.
    fn inner_derivative(&self, b: &Tensor) -> Result<Tensor> {
        let p = products_without(&self.s, 2)?;
        let diagonal = matmul(&p, &basis::unsqueeze_dims(&main_diagonal(b)?, &[b.rank() - 1])?)?;
        let diagonal = basis::reshape(&diagonal, self.s.shape())?;
        sub(&diag_embed(&diagonal, 0, -2, -1)?, &mul(&p, b)?)
    }
}

/// The products of all elements but one (`[…, n]`), or but two (`[…, n, n]`, 0 where they are the same).
fn products_without(s: &Tensor, left_out: usize) -> Result<Tensor> {
    let (rank, n) = (s.rank(), s.shape()[s.rank() - 1]);
    let one = super::compare::ne(&identity(s.dtype(), n, n)?, 0.0)?;
    let one_of = |dims: &[usize]| basis::unsqueeze_dims(&one, dims);
    let unit = number(s, 1.0);
    if left_out == 1 {
        let rows = basis::unsqueeze_dims(s, &[rank - 1])?;
        return prod_over(&where_(&one, &unit, &rows)?, &[rank], false);
    }
    let rows = basis::unsqueeze_dims(s, &[rank - 1, rank])?;
    let kept = where_(&one_of(&[1])?, &unit, &where_(&one_of(&[0])?, &unit, &rows)?)?;
    where_(&one, &number(s, 0.0), &prod_over(&kept, &[rank + 1], false)?)
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&SLOGDET, &DET, &ADJUGATE];
