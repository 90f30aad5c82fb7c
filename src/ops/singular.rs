//! The singular value decomposition and its rules, written in operators.

use super::decompositions::{main_diagonal, svd_factors, weighted};
use super::diagonal::diag_embed;
use super::gauge;
use crate::base::Result;
use crate::core::primitive::Saves;
use crate::core::{Tangents, Tensor};
use crate::dense::linalg as kernels;
use crate::rules::basis::{self, add, adjoint, cast, conj, matmul, mul, neg, scale, sub};
use crate::rules::{General, batching};
use smallvec::smallvec;

/// U, S and Vᴴ, reduced.
pub(super) static SVD: General = General {
    name: "linalg.svd",
    infer: |_, a| svd_factors(a, false),
    eval: |_, a| {
        let (u, s, vh) = kernels::svd(a[0].array()?, false)?;
        Ok(smallvec![u.into(), s.into(), vh.into()])
    },
    saves: |_, _| Saves { inputs: 0, outputs: 7 },
    jvp: |_, _, point, t| match t {
        [Some(da)] => svd_jvp(point.output(0)?, point.output(1)?, point.output(2)?, da),
        _ => Ok(smallvec![None, None, None]),
    },
    vjp: |_, _, point, g, _| svd_vjp(point.output(0)?, point.output(1)?, point.output(2)?, g),
    batch: batching::leading,
};

fn as_row(s: &Tensor) -> Result<Tensor> {
    basis::unsqueeze_dims(s, &[s.rank() - 1])
}
fn as_column(s: &Tensor) -> Result<Tensor> {
    basis::unsqueeze_dims(s, &[s.rank()])
}
fn divide(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    super::arith::divide_floats(a, b)
}

fn svd_jvp(u: &Tensor, s: &Tensor, vh: &Tensor, da: &Tensor) -> Result<Tangents> {
    let (uh, v) = (adjoint(u)?, adjoint(vh)?);
    let (av, ua) = (matmul(da, &v)?, matmul(&uh, da)?);
    let p = matmul(&uh, &av)?;
    let ds = cast(&main_diagonal(&p)?, s.dtype())?;
    let x = sub(&p, &diag_embed(&cast(&ds, p.dtype())?, 0, -2, -1)?)?;
    let f = super::decompositions::inverse_gaps(&mul(s, s)?)?;
    let (row, column) = (as_row(s)?, as_column(s)?);
    let xh = adjoint(&x)?;
    let mut omega_u = weighted(&add(&weighted(&x, &row)?, &weighted(&xh, &column)?)?, &f)?;
    let mut omega_v = weighted(&add(&weighted(&x, &column)?, &weighted(&xh, &row)?)?, &f)?;
    if x.dtype().is_complex() {
        // U and V share the phase that the diagonal, which is imaginary now, asks for.
        let turn = diag_embed(&divide(&main_diagonal(&x)?, &scale(s, 2.0)?)?, 0, -2, -1)?;
        (omega_u, omega_v) = (add(&omega_u, &turn)?, sub(&omega_v, &turn)?);
    }
    let mut du = matmul(u, &omega_u)?;
    let mut dvh = neg(&matmul(&omega_v, vh)?)?;
    let k = s.shape()[s.rank() - 1];
    if u.shape()[u.rank() - 2] > k {
        du = add(&du, &divide(&sub(&av, &matmul(u, &p)?)?, &row)?)?;
    }
    if vh.shape()[vh.rank() - 1] > k {
        dvh = add(&dvh, &divide(&sub(&ua, &matmul(&p, vh)?)?, &column)?)?;
    }
    Ok(smallvec![Some(du), Some(ds), Some(dvh)])
}

fn svd_vjp(u: &Tensor, s: &Tensor, vh: &Tensor, g: &[Option<Tensor>]) -> Result<Tangents> {
    let (row, column, k) = (as_row(s)?, as_column(s)?, s.shape()[s.rank() - 1]);
    let f = super::decompositions::inverse_gaps(&mul(s, s)?)?;
    let skew = |x: &Tensor| sub(x, &adjoint(x)?);
    let mut inner = match g.get(1) {
        Some(Some(gs)) => diag_embed(&cast(gs, u.dtype())?, 0, -2, -1)?,
        _ => diag_embed(&cast(&basis::zeros_like(s)?, u.dtype())?, 0, -2, -1)?,
    };
    let (mut of_u, mut of_v) = (None, None);
    let mut outer: Option<Tensor> = None;
    if let Some(Some(gu)) = g.first() {
        let h = matmul(&adjoint(u)?, gu)?;
        inner = add(&inner, &weighted(&weighted(&skew(&h)?, &f)?, &row)?)?;
        if u.shape()[u.rank() - 2] > k {
            let rest = divide(&sub(gu, &matmul(u, &h)?)?, &row)?;
            outer = Some(matmul(&rest, vh)?);
        }
        of_u = Some(h);
    }
    if let Some(Some(gvh)) = g.get(2) {
        let h = matmul(vh, &adjoint(gvh)?)?;
        inner = add(&inner, &weighted(&weighted(&skew(&h)?, &f)?, &column)?)?;
        if vh.shape()[vh.rank() - 1] > k {
            let rest = divide(&sub(gvh, &matmul(&adjoint(&h)?, vh)?)?, &column)?;
            let part = matmul(u, &rest)?;
            outer = Some(match outer {
                Some(o) => add(&o, &part)?,
                None => part,
            });
        }
        of_v = Some(h);
    }
    if u.dtype().is_complex()
        && let Some(phases) = phases(of_u, of_v)?
    {
        inner = add(&inner, &diag_embed(&divide(&phases, &scale(s, 2.0)?)?, 0, -2, -1)?)?;
    }
    let main = matmul(&matmul(u, &inner)?, vh)?;
    Ok(smallvec![Some(match outer {
        Some(o) => add(&main, &o)?,
        None => main,
    })])
}

/// The derivative along phases of U against those of V, imaginary, from `Uᴴ Ū` and `Vᴴ V̄`; that along common phases must
/// vanish.
fn phases(of_u: Option<Tensor>, of_v: Option<Tensor>) -> Result<Option<Tensor>> {
    let common = match (&of_u, &of_v) {
        (Some(u), Some(v)) => add(u, v)?,
        (Some(h), None) | (None, Some(h)) => h.clone(),
        (None, None) => return Ok(None),
    };
    let common = main_diagonal(&gauge::checked(gauge::Vectors::Singular, &common)?)?;
    let against = match of_v {
        Some(v) => sub(&common, &scale(&main_diagonal(&v)?, 2.0)?)?,
        None => common,
    };
    scale(&sub(&against, &conj(&against)?)?, 0.5).map(Some)
}
