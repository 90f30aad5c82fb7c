//! The adjugate of a matrix, the transposed matrix of cofactors, and its derivative.
//!
//! NOTE singular matrices. Where it has an inverse, `adj(A) = det(A) A⁻¹`. (Nearly) singular matrices are decomposed as
//! `A = U diag(s) Vᴴ`:
//! ```text
//! adj(A)      = c V diag(pᵢ) Uᴴ                    c = det U · det Vᴴ, pᵢ the product of all s but sᵢ
//! d adj(A)[X] = c V (diag(Σⱼ pᵢⱼ Bⱼⱼ) - P ∘ B) Uᴴ    B = Uᴴ X V, pᵢⱼ the product of all s but sᵢ and sⱼ, pᵢᵢ = 0
//! ```
//! Neither divides, so first and second derivatives of the determinant are right for any rank. Kernels decide which way a
//! matrix goes, each for itself. Derivatives of higher order are those of [`FACTORS`], which for a singular matrix need
//! distinct singular values.

use super::creation::identity;
use super::decompositions::{inverse, main_diagonal};
use super::determinant::{DET, factors_of};
use super::diagonal::diag_embed;
use super::reduce::prod_over;
use super::singular;
use crate::base::{DType, Result, Scalar, Shape};
use crate::core::level::{self, Below};
use crate::core::origin::Origin;
use crate::core::primitive::Saves;
use crate::core::tensor::Payload;
use crate::core::{Outputs, Params, Prim, Primitive, Tangents, Tensor, call, call_many};
use crate::dense::linalg as kernels;
use crate::dense::{Array, copy};
use crate::rules::basis::{self, adjoint, cast, matmul, mul, number, sub, where_};
use crate::rules::{General, Matrix, batching, index, shapes};
use num_complex::Complex;
use smallvec::{SmallVec, smallvec};

/// The adjugate.
static ADJUGATE: Matrix = Matrix {
    name: "adjugate",
    infer: shapes::same,
    eval: |_, a| {
        let regular = |_: &[Tensor], lu: &Lu| Ok([mul(&over_matrices(&lu.det()?)?, &lu.inverse()?)?]);
        let singular = |a: &[Tensor]| {
            let f = Factors::of(&a[0])?;
            Ok([f.outside(&diag_embed(&f.products(products_but_one)?, 0, -2, -1)?)?])
        };
        each_its_way(a, regular, singular)
    },
    reads: Saves { inputs: 1, outputs: 0 },
    tangents: |_, point, t| match t {
        [Some(da)] => Ok(smallvec![Some(tangent(point.input(0)?, da)?)]),
        _ => Ok(smallvec![None]),
    },
    fault: |e| e,
};

pub(super) fn adjugate(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&ADJUGATE), &Params::None, &[a])
}

/// `d adj(A)[X]`. As a second derivative of the determinant, `tr(d adj(A)[X] Y)` is symmetric in X and Y, and its
/// derivative in all directions: so both rules follow from the tangents.
static TANGENT: General = General {
    name: "adjugate:tangent",
    infer: shapes::same,
    eval: |_, args| {
        let regular = |args: &[Tensor], lu: &Lu| {
            let (inverse, det) = (lu.inverse()?, over_matrices(&lu.det()?)?);
            let b = matmul(&inverse, &args[1])?;
            let trace = basis::sum(&main_diagonal(&b)?, &[b.rank() - 2], false)?;
            Ok([mul(&det, &sub(&mul(&over_matrices(&trace)?, &inverse)?, &matmul(&b, &inverse)?)?)?])
        };
        let singular = |args: &[Tensor]| {
            let f = Factors::of(&args[0])?;
            let b = matmul(&matmul(&adjoint(&f.u)?, &args[1])?, &adjoint(&f.vh)?)?;
            Ok([f.outside(&inner_tangent(&f.products(products_but_two)?, &b)?)?])
        };
        each_its_way(args, regular, singular)
    },
    saves: |_, needs| Saves { inputs: 1 | (needs & 1) << 1, outputs: 0 },
    jvp: |_, _, point, t| {
        let a = point.input(0)?;
        let of_a = t[0].map(|da| second_tangent(a, point.input(1)?, da)).transpose()?;
        let of_x = t[1].map(|dx| tangent(a, dx)).transpose()?;
        Ok(smallvec![match (of_a, of_x) {
            (Some(a), Some(x)) => Some(basis::add(&a, &x)?),
            (a, x) => a.or(x),
        }])
    },
    vjp: |_, _, point, g, needs| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        let (a, g) = (point.input(0)?, adjoint(g)?);
        let wanted = |i: u32, of: &dyn Fn() -> Result<Tensor>| match needs >> i & 1 {
            0 => Ok(None),
            _ => adjoint(&of()?).map(Some),
        };
        let of_a = wanted(0, &|| second_tangent(a, point.input(1)?, &g))?;
        Ok(smallvec![of_a, wanted(1, &|| tangent(a, &g))?])
    },
    batch: batching::leading,
};

fn tangent(a: &Tensor, x: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&TANGENT), &Params::None, &[a, x])
}

/// `d² adj(A)[X, Z]`: the tangent in direction Z of what [`TANGENT`] computes, written with [`FACTORS`].
fn second_tangent(a: &Tensor, x: &Tensor, z: &Tensor) -> Result<Tensor> {
    level::check_room()?;
    let dual = level::push_dual(Origin::UNKNOWN);
    let a = Tensor::dual(dual.id(), a.clone(), z.clone());
    let factors = call_many(Prim::Static(&FACTORS), &Params::None, &[&a])?;
    let (u, vh) = (inverse(&factors[0])?, inverse(&factors[2])?);
    let det = |m: &Tensor| call(Prim::Static(&DET), &Params::None, &[m]);
    let c = mul(&det(&factors[0])?, &det(&factors[2])?)?;
    let b = matmul(&matmul(&u, x)?, &vh)?;
    let p = cast(&products_without_two(&factors[1])?, b.dtype())?;
    let y = mul(&over_matrices(&c)?, &matmul(&matmul(&vh, &inner_tangent(&p, &b)?)?, &u)?)?;
    match y.payload_at(dual.id()) {
        Some(Payload::Dual { tangent, .. }) => Ok(tangent.clone()),
        _ => basis::zeros_like(&y),
    }
}

fn over_matrices(g: &Tensor) -> Result<Tensor> {
    basis::unsqueeze_dims(g, &[g.rank(), g.rank() + 1])
}

/// The derivative of the adjugate of `diag(s)` in direction `b`, from the products of all s but two.
fn inner_tangent(p: &Tensor, b: &Tensor) -> Result<Tensor> {
    let column = basis::unsqueeze_dims(&main_diagonal(b)?, &[b.rank() - 1])?;
    let diagonal = basis::reshape(&matmul(p, &column)?, &b.shape().without(b.rank() - 1))?;
    sub(&diag_embed(&diagonal, 0, -2, -1)?, &mul(p, b)?)
}

/// A triangular decomposition.
struct Lu {
    packed: Array,
    pivots: Array,
}

impl Lu {
    fn det(&self) -> Result<Tensor> {
        Ok(factors_of(&self.packed, &self.pivots)?.2.into())
    }

    fn inverse(&self) -> Result<Tensor> {
        let n = self.packed.shape()[self.packed.rank() - 1];
        let ones = identity(self.packed.dtype(), n, n)?;
        Ok(kernels::lu_solve(&self.packed, &self.pivots, ones.array()?, false)?.into())
    }

    /// Which matrices are so near to a singular one that their inverse says little.
    fn singular(&self) -> Result<Vec<bool>> {
        let n = self.packed.shape()[self.packed.rank() - 1];
        let diagonal = main_diagonal(&self.packed.clone().into())?;
        let pivots: Vec<Complex<f64>> = copy::cast(diagonal.array()?, DType::C128)?.to_vec()?;
        let single = matches!(self.packed.dtype(), DType::F32 | DType::C64);
        let limit = if single { f64::from(f32::EPSILON) } else { f64::EPSILON }.sqrt();
        let near = |pivots: &[Complex<f64>]| {
            let sizes = || pivots.iter().map(|d| d.norm());
            sizes().fold(f64::INFINITY, f64::min) <= limit * sizes().fold(0.0, f64::max)
        };
        Ok(pivots.chunks_exact(n.max(1)).map(near).collect())
    }

    fn rows(&self, at: &Tensor) -> Result<Lu> {
        let take = |a: &Array, tail: usize| index::take_rows(&stacked(&a.clone().into(), tail)?, at)?.array().cloned();
        Ok(Lu { packed: take(&self.packed, 2)?, pivots: take(&self.pivots, 1)? })
    }
}

/// With the dimensions in front of the last `tail` ones as one.
fn stacked(a: &Tensor, tail: usize) -> Result<Tensor> {
    let (lead, tail) = a.shape().split_at(a.rank() - tail);
    let shape: Shape = std::iter::once(lead.iter().product()).chain(tail.iter().copied()).collect();
    basis::reshape(a, &shape)
}

/// What regular and singular matrices give, the first argument's, in kernels. All arguments are matrices with the same
/// leading dimensions.
fn each_its_way<const N: usize>(
    args: &[&Tensor],
    regular: impl Fn(&[Tensor], &Lu) -> Result<[Tensor; N]>,
    singular: impl Fn(&[Tensor]) -> Result<[Tensor; N]>,
) -> Result<Outputs> {
    let _below = Below::all();
    let (packed, pivots, _) = kernels::lu(args[0].array()?)?;
    let lu = Lu { packed, pivots };
    let which = lu.singular()?;
    let all: Vec<Tensor> = args.iter().map(|&a| a.clone()).collect();
    if !which.contains(&true) {
        return Ok(regular(&all, &lu)?.into_iter().collect());
    }
    if !which.contains(&false) {
        return Ok(singular(&all)?.into_iter().collect());
    }
    let places = |kind: bool| (0..which.len()).filter(|&i| which[i] == kind).map(|i| i as i64).collect::<Vec<_>>();
    let ways = [places(false), places(true)];
    let at = |places: &[i64]| Tensor::from_slice([places.len()], places);
    let rows = |at: &Tensor| all.iter().map(|a| index::take_rows(&stacked(a, 2)?, at)).collect::<Result<Vec<_>>>();
    let [first, second] = [at(&ways[0])?, at(&ways[1])?];
    let parts = (regular(&rows(&first)?, &lu.rows(&first)?)?, singular(&rows(&second)?)?);
    let mut back = vec![0; which.len()];
    ways.concat().iter().enumerate().for_each(|(i, &place)| back[place as usize] = i as i64);
    let (back, lead) = (at(&back)?, &args[0].shape()[..args[0].rank() - 2]);
    let joined = parts.0.iter().zip(&parts.1).map(|(a, b)| {
        let rows = index::take_rows(&basis::cat(&[a, b], 0)?, &back)?;
        basis::reshape(&rows, &lead.iter().chain(&rows.shape()[1..]).copied().collect())
    });
    joined.collect()
}

/// A singular value decomposition of arrays, and `det U · det Vᴴ` as 1 by 1 matrices.
struct Factors {
    u: Tensor,
    s: Array,
    vh: Tensor,
    det: Tensor,
}

impl Factors {
    fn of(a: &Tensor) -> Result<Factors> {
        let (u, s, vh) = kernels::svd(a.array()?, false)?;
        let (u, vh): (Tensor, Tensor) = (u.into(), vh.into());
        let det = |m: &Tensor| call(Prim::Static(&DET), &Params::None, &[m]);
        let det = over_matrices(&mul(&det(&u)?, &det(&vh)?)?)?;
        Ok(Factors { u, s, vh, det })
    }

    /// `c V m Uᴴ`
    fn outside(&self, m: &Tensor) -> Result<Tensor> {
        mul(&self.det, &matmul(&matmul(&adjoint(&self.vh)?, m)?, &adjoint(&self.u)?)?)
    }

    /// Products of the singular values of each matrix, of the matrices' dtype.
    fn products(&self, of: fn(&[f64], &mut Vec<f64>)) -> Result<Tensor> {
        let n = self.s.shape()[self.s.rank() - 1];
        let s: Vec<f64> = copy::cast(&self.s, DType::F64)?.to_vec()?;
        let mut all = Vec::new();
        s.chunks_exact(n.max(1)).for_each(|s| of(s, &mut all));
        let more = if all.len() > s.len() { Some(n) } else { None };
        let shape: Shape = self.s.shape().iter().copied().chain(more).collect();
        Ok(copy::cast(&Array::from_slice(shape, &all)?, self.u.dtype())?.into())
    }
}

/// The product of all but one.
fn products_but_one(s: &[f64], out: &mut Vec<f64>) {
    for i in 0..s.len() {
        out.push(s[..i].iter().chain(&s[i + 1..]).product());
    }
}

/// The product of all but two, 0 where these are the same, as a matrix.
fn products_but_two(s: &[f64], out: &mut Vec<f64>) {
    let (n, start) = (s.len(), out.len());
    out.resize(start + n * n, 0.0);
    let mut after = vec![1.0; n + 1];
    (0..n).rev().for_each(|i| after[i] = after[i + 1] * s[i]);
    let mut before = 1.0;
    for i in 0..n {
        let mut first = before;
        for j in i + 1..n {
            let p = first * after[j + 1];
            (out[start + i * n + j], out[start + j * n + i]) = (p, p);
            first *= s[j];
        }
        before *= s[i];
    }
}

/// The same in operators.
fn products_without_two(s: &Tensor) -> Result<Tensor> {
    let (rank, n) = (s.rank(), s.shape()[s.rank() - 1]);
    let one = super::compare::ne(&identity(s.dtype(), n, n)?, 0.0)?;
    let one_of = |dims: &[usize]| basis::unsqueeze_dims(&one, dims);
    let unit = number(s, 1.0);
    let rows = basis::unsqueeze_dims(s, &[rank - 1, rank])?;
    let kept = where_(&one_of(&[1])?, &unit, &where_(&one_of(&[0])?, &unit, &rows)?)?;
    where_(&one, &number(s, 0.0), &prod_over(&kept, &[rank + 1], false)?)
}

/// `A = U diag(s) Vᴴ` with invertible U and V: for singular matrices the singular value decomposition, for others A, ones
/// and an identity, whose derivatives are those of A.
static FACTORS: Matrix = Matrix {
    name: "adjugate:factors",
    infer: |_, a| super::decompositions::svd_factors(a, false),
    eval: |_, a| {
        let regular = |a: &[Tensor], _: &Lu| {
            let (shape, dtype) = (a[0].shape(), a[0].dtype());
            let n = shape[shape.rank() - 1];
            let values = basis::full(&shape.without(shape.rank() - 1), dtype.real(), Scalar::Float(1.0))?;
            Ok([a[0].clone(), values, basis::expand(&identity(dtype, n, n)?, shape)?])
        };
        let singular = |a: &[Tensor]| {
            let (u, s, vh) = kernels::svd(a[0].array()?, false)?;
            Ok([u.into(), s.into(), vh.into()])
        };
        each_its_way(a, regular, singular)
    },
    reads: Saves { inputs: 0, outputs: 7 },
    tangents: |_, point, t| match t {
        [Some(da)] => factors_tangents(point.output(0)?, point.output(1)?, point.output(2)?, da),
        _ => Ok(smallvec![None, None, None]),
    },
    fault: |e| e,
};

fn factors_tangents(u: &Tensor, s: &Tensor, vh: &Tensor, da: &Tensor) -> Result<Tangents> {
    let last = s.rank() - 1;
    let n = s.shape()[last];
    let others = cast(&super::compare::ne(s, 1.0)?, s.dtype())?;
    let regular = super::compare::eq(&basis::sum(&others, &[last], true)?, 0.0)?;
    // What is not used must be finite.
    let distinct = Tensor::from_slice([n], &(1..=n).map(|i| i as f64).collect::<Vec<_>>())?;
    let s = where_(&regular, &cast(&distinct, s.dtype())?, s)?;
    let matrices = basis::unsqueeze_dims(&regular, &[last + 1])?;
    let zero = number(da, 0.0);
    let unused = where_(&matrices, &zero, da)?;
    let outs = singular::tangents(u, &s, vh, &unused)?;
    let [Some(du), Some(ds), Some(dvh)] = &outs[..] else { return Ok(outs) };
    let du = where_(&matrices, da, du)?;
    let ds = where_(&regular, &number(ds, 0.0), ds)?;
    Ok(smallvec![Some(du), Some(ds), Some(where_(&matrices, &zero, dvh)?)])
}

/// The primitives of this file.
pub(crate) static PRIMITIVES: &[&dyn Primitive] = &[&ADJUGATE, &TANGENT, &FACTORS];

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { primitives: &[PRIMITIVES], ..crate::ops::Family::EMPTY };
