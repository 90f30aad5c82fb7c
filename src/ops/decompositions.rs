//! Primitives of linear algebra and their rules, written in operators.
//!
//! Sources of the formulas: M. Giles, "An extended collection of matrix derivative results" (2008); I. Murray,
//! "Differentiation of the Cholesky decomposition" (2016).

use super::creation::identity;
use super::diagonal::{diag_embed, tril, triu};
use crate::bail;
use crate::base::{Result, Shape};
use crate::core::primitive::Saves;
use crate::core::{
    BatchArg, BatchInfo, BatchOut, Inferred, Meta, Params, Prim, Primitive, Tangents, Tensor, call, call_many,
};
use crate::dense::linalg as kernels;
use crate::rules::basis::{self, add, matmul, mul, neg, number, scale, sub, swap_last, where_};
use crate::rules::{General, batching, shapes};
use smallvec::{SmallVec, smallvec};

/// The batch goes in front of the leading dimensions of every argument.
pub(super) fn batch_leading(me: Prim<'_>, p: &Params, args: &[BatchArg<'_>], info: BatchInfo) -> Result<BatchOut> {
    let values: SmallVec<[_; 2]> = args.iter().map(|a| batching::front_expanded(a, info)).collect::<Result<_>>()?;
    let refs: SmallVec<[&Tensor; 2]> = values.iter().map(|v| &**v).collect();
    Ok(call_many(me, p, &refs)?.into_iter().map(|o| (o, Some(0))).collect())
}

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

fn svd_factors(a: &[Meta], full: bool) -> Result<Inferred> {
    let mut out = factors(a, kernels::shapes::svd(shapes::first(a)?.form(), full))?;
    out[1].dtype = out[1].dtype.real();
    Ok(out)
}

/// `A⁻¹ B`; both have the same leading dimensions.
pub(super) static SOLVE: General = General {
    name: "linalg.solve",
    infer: |_, a| solved(a, kernels::shapes::solve(shapes::first(a)?.form(), shapes::argument(a, 1)?.form())),
    eval: |_, a| Ok(smallvec![kernels::solve(a[0].array()?, a[1].array()?)?.into()]),
    saves: |_, needs| Saves { inputs: 1, outputs: needs & 1 },
    jvp: |_, _, point, t| {
        let x = point.output(0)?;
        let right = match (t[0], t[1]) {
            (Some(da), Some(db)) => sub(db, &matmul(da, x)?)?,
            (Some(da), None) => neg(&matmul(da, x)?)?,
            (None, Some(db)) => db.clone(),
            (None, None) => return Ok(smallvec![None]),
        };
        Ok(smallvec![Some(solve_matrices(point.input(0)?, &right)?)])
    },
    vjp: |_, _, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let gb = solve_matrices(&swap_last(point.input(0)?)?, g)?;
        let ga = if needs & 1 != 0 { Some(neg(&matmul(&gb, &swap_last(point.output(0)?)?)?)?) } else { None };
        Ok(smallvec![ga, Some(gb)])
    },
    batch: batch_leading,
};

pub(super) fn solve_matrices(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&SOLVE), &Params::None, &[a, b])
}

/// `A⁻¹ B` for a triangular A; flags: upper, unitriangular.
pub(super) static SOLVE_TRIANGULAR: General = General {
    name: "linalg.solve_triangular",
    infer: |_, a| {
        solved(a, kernels::shapes::solve_triangular(shapes::first(a)?.form(), shapes::argument(a, 1)?.form(), true))
    },
    eval: |p, a| {
        let x = kernels::solve_triangular(a[0].array()?, a[1].array()?, flag(p, 0), true, flag(p, 1))?;
        Ok(smallvec![x.into()])
    },
    saves: |_, needs| Saves { inputs: 1, outputs: needs & 1 },
    jvp: |_, p, point, t| {
        let x = point.output(0)?;
        let moved = |da: &Tensor| matmul(&triangle(p, da)?, x);
        let right = match (t[0], t[1]) {
            (Some(da), Some(db)) => sub(db, &moved(da)?)?,
            (Some(da), None) => neg(&moved(da)?)?,
            (None, Some(db)) => db.clone(),
            (None, None) => return Ok(smallvec![None]),
        };
        Ok(smallvec![Some(call(Prim::Static(&SOLVE_TRIANGULAR), p, &[point.input(0)?, &right])?)])
    },
    vjp: |_, p, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let gb = triangular(&swap_last(point.input(0)?)?, g, !flag(p, 0), flag(p, 1))?;
        let ga =
            if needs & 1 != 0 { Some(neg(&triangle(p, &matmul(&gb, &swap_last(point.output(0)?)?)?)?)?) } else { None };
        Ok(smallvec![ga, Some(gb)])
    },
    batch: batch_leading,
};

/// The part of a matrix that a triangular solve reads.
fn triangle(p: &Params, a: &Tensor) -> Result<Tensor> {
    let strict = i64::from(flag(p, 1));
    if flag(p, 0) { triu(a, strict) } else { tril(a, -strict) }
}

pub(super) fn triangular(a: &Tensor, b: &Tensor, upper: bool, unit: bool) -> Result<Tensor> {
    call(Prim::Static(&SOLVE_TRIANGULAR), &flags(&[upper, unit]), &[a, b])
}

/// The lower factor of a positive definite matrix, of which the lower triangle is read.
pub(super) static CHOLESKY: General = General {
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
    saves: |_, _| OUTPUTS_1,
    // L Φ(L⁻¹ dA L⁻ᵀ), Φ the lower triangle with half of the diagonal.
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None]) };
        let l = point.output(0)?;
        let left = triangular(l, &symmetric(da)?, false, false)?;
        let both = swap_last(&triangular(l, &swap_last(&left)?, false, false)?)?;
        Ok(smallvec![Some(matmul(l, &half_lower(&both)?)?)])
    },
    // L⁻ᵀ Φ(Lᵀ g) L⁻¹, symmetrised.
    vjp: |_, _, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let l = point.output(0)?;
        let lt = swap_last(l)?;
        let phi = half_lower(&matmul(&lt, g)?)?;
        let left = triangular(&lt, &phi, true, false)?;
        let both = swap_last(&triangular(&lt, &swap_last(&left)?, true, false)?)?;
        Ok(smallvec![Some(symmetric(&both)?)])
    },
    batch: batch_leading,
};

fn symmetric(a: &Tensor) -> Result<Tensor> {
    scale(&add(a, &swap_last(a)?)?, 0.5)
}

fn half_lower(a: &Tensor) -> Result<Tensor> {
    scale(&add(&tril(a, 0)?, &tril(a, -1)?)?, 0.5)
}

/// Q and R of a matrix with at least as many rows as columns.
pub(super) static QR: General = General {
    name: "linalg.qr",
    infer: |_, a| factors(a, kernels::shapes::qr(shapes::first(a)?.form(), false)),
    eval: |_, a| {
        let (q, r) = kernels::qr(a[0].array()?, false)?;
        Ok(smallvec![q.into(), r.into()])
    },
    saves: |_, _| Saves { inputs: 0, outputs: 3 },
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        let (q, r) = (point.output(0)?, point.output(1)?);
        let ar = right_solve(da, r)?;
        let c = matmul(&swap_last(q)?, &ar)?;
        let low = tril(&c, -1)?;
        let skew = sub(&low, &swap_last(&low)?)?;
        let dr = matmul(&sub(&c, &skew)?, r)?;
        let dq = add(&sub(&ar, &matmul(q, &c)?)?, &matmul(q, &skew)?)?;
        Ok(smallvec![Some(dq), Some(dr)])
    },
    vjp: |_, _, point, g, _| {
        let (q, r) = (point.output(0)?, point.output(1)?);
        let mut m: Option<Tensor> = None;
        if let Some(Some(gr)) = g.get(1) {
            m = Some(matmul(r, &swap_last(gr)?)?);
        }
        if let Some(Some(gq)) = g.first() {
            let part = neg(&matmul(&swap_last(gq)?, q)?)?;
            m = Some(match m {
                Some(m) => add(&m, &part)?,
                None => part,
            });
        }
        let Some(m) = m else { return Ok(SmallVec::new()) };
        let copied = add(&tril(&m, 0)?, &swap_last(&tril(&m, -1)?)?)?;
        let mut left = matmul(q, &copied)?;
        if let Some(Some(gq)) = g.first() {
            left = add(&left, gq)?;
        }
        // left R⁻ᵀ
        let solved = triangular(r, &swap_last(&left)?, true, false)?;
        Ok(smallvec![Some(swap_last(&solved)?)])
    },
    batch: batch_leading,
};

/// `x R⁻¹` for an upper triangular R.
fn right_solve(x: &Tensor, r: &Tensor) -> Result<Tensor> {
    swap_last(&triangular(&swap_last(r)?, &swap_last(x)?, false, false)?)
}

/// `1 / (x_j - x_i)` off the diagonal, 0 on it.
fn inverse_gaps(x: &Tensor) -> Result<Tensor> {
    let n = x.rank();
    let gaps = sub(&basis::unsqueeze_dims(x, &[n - 1])?, &basis::unsqueeze_dims(x, &[n])?)?;
    let size = x.shape()[n - 1];
    let on_diagonal = super::compare::ne(&identity(x.dtype(), size, size)?, 0.0)?;
    let safe = where_(&on_diagonal, &number(x, 1.0), &gaps)?;
    where_(&on_diagonal, &number(x, 0.0), &super::unary::reciprocal(&safe)?)
}

/// Eigenvalues and eigenvectors of symmetric matrices; flag: the upper triangle is read.
pub(super) static EIGH: General = General {
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
    saves: |_, _| Saves { inputs: 0, outputs: 3 },
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None]) };
        let (w, v) = (point.output(0)?, point.output(1)?);
        let inner = matmul(&matmul(&swap_last(v)?, da)?, v)?;
        let dv = matmul(v, &mul(&inner, &inverse_gaps(w)?)?)?;
        Ok(smallvec![Some(main_diagonal(&inner)?), Some(dv)])
    },
    vjp: |_, _, point, g, _| {
        let (w, v) = (point.output(0)?, point.output(1)?);
        let mut inner: Option<Tensor> = None;
        if let Some(Some(gw)) = g.first() {
            inner = Some(diag_embed(gw, 0, -2, -1)?);
        }
        if let Some(Some(gv)) = g.get(1) {
            let part = mul(&matmul(&swap_last(v)?, gv)?, &inverse_gaps(w)?)?;
            inner = Some(match inner {
                Some(i) => add(&i, &part)?,
                None => part,
            });
        }
        let Some(inner) = inner else { return Ok(SmallVec::new()) };
        Ok(smallvec![Some(matmul(&matmul(v, &inner)?, &swap_last(v)?)?)])
    },
    batch: batch_leading,
};

pub(super) fn main_diagonal(a: &Tensor) -> Result<Tensor> {
    super::diagonal::diagonal_at(a, a.rank() - 2, a.rank() - 1)
}

/// U, S and Vᵀ, reduced.
pub(super) static SVD: General = General {
    name: "linalg.svd",
    infer: |_, a| svd_factors(a, false),
    eval: |_, a| {
        let (u, s, vh) = kernels::svd(a[0].array()?, false)?;
        Ok(smallvec![u.into(), s.into(), vh.into()])
    },
    saves: |_, _| Saves { inputs: 0, outputs: 7 },
    jvp: |_, _, point, t| {
        let [Some(da)] = t else { return Ok(smallvec![None, None, None]) };
        let (u, s, vh) = (point.output(0)?, point.output(1)?, point.output(2)?);
        let (ut, v) = (swap_last(u)?, swap_last(vh)?);
        let (av, ua) = (matmul(da, &v)?, matmul(&ut, da)?);
        let p = matmul(&ut, &av)?;
        let ds = main_diagonal(&p)?;
        let x = sub(&p, &diag_embed(&ds, 0, -2, -1)?)?;
        let f = inverse_gaps(&mul(s, s)?)?;
        let (row, column) = (as_row(s)?, as_column(s)?);
        let xt = swap_last(&x)?;
        let omega_u = mul(&add(&mul(&x, &row)?, &mul(&xt, &column)?)?, &f)?;
        let omega_v = mul(&add(&mul(&x, &column)?, &mul(&xt, &row)?)?, &f)?;
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
    },
    vjp: |_, _, point, g, _| svd_vjp(point.output(0)?, point.output(1)?, point.output(2)?, g),
    batch: batch_leading,
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

fn svd_vjp(u: &Tensor, s: &Tensor, vh: &Tensor, g: &[Option<Tensor>]) -> Result<Tangents> {
    let (row, column, k) = (as_row(s)?, as_column(s)?, s.shape()[s.rank() - 1]);
    let f = inverse_gaps(&mul(s, s)?)?;
    let skew = |x: &Tensor| sub(x, &swap_last(x)?);
    let mut inner = match g.get(1) {
        Some(Some(gs)) => diag_embed(gs, 0, -2, -1)?,
        _ => diag_embed(&basis::zeros_like(s)?, 0, -2, -1)?,
    };
    let mut outer: Option<Tensor> = None;
    if let Some(Some(gu)) = g.first() {
        let h = matmul(&swap_last(u)?, gu)?;
        inner = add(&inner, &mul(&mul(&skew(&h)?, &f)?, &row)?)?;
        if u.shape()[u.rank() - 2] > k {
            let rest = divide(&sub(gu, &matmul(u, &h)?)?, &row)?;
            outer = Some(matmul(&rest, vh)?);
        }
    }
    if let Some(Some(gvh)) = g.get(2) {
        let h = matmul(vh, &swap_last(gvh)?)?;
        inner = add(&inner, &mul(&mul(&skew(&h)?, &f)?, &column)?)?;
        if vh.shape()[vh.rank() - 1] > k {
            let rest = divide(&sub(gvh, &matmul(&swap_last(&h)?, vh)?)?, &column)?;
            let part = matmul(u, &rest)?;
            outer = Some(match outer {
                Some(o) => add(&o, &part)?,
                None => part,
            });
        }
    }
    let main = matmul(&matmul(u, &inner)?, vh)?;
    Ok(smallvec![Some(match outer {
        Some(o) => add(&main, &o)?,
        None => main,
    })])
}

pub(super) fn inverse(a: &Tensor) -> Result<Tensor> {
    let n = a.shape()[a.rank() - 1];
    solve_matrices(a, &basis::expand(&identity(a.dtype(), n, n)?, a.shape())?)
}

/// Decompositions whose extra columns are arbitrary: their derivative does not exist.
macro_rules! undetermined {
    ($($id:ident, $name:literal, $part:literal, |$m:ident| $infer:expr, |$a:ident| $eval:expr;)*) => {$(
        pub(super) static $id: General = General {
            name: concat!($name, ":", $part),
            infer: |_, $m| $infer,
            eval: |_, args| { let $a = args[0].array()?; $eval },
            saves: |_, _| Saves::default(),
            jvp: |_, _, _, _| bail!(Runtime, concat!($name, "(): the derivative is not defined for the full (complete) \
                form of a non-square matrix: its extra columns are arbitrary; ask for the reduced form")),
            vjp: |_, _, _, _, _| bail!(Runtime, concat!($name, "(): the derivative is not defined for the full \
                (complete) form of a non-square matrix: its extra columns are arbitrary; ask for the reduced form")),
            batch: batch_leading,
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
    &[&SOLVE, &SOLVE_TRIANGULAR, &CHOLESKY, &QR, &QR_COMPLETE, &EIGH, &SVD, &SVD_FULL];
