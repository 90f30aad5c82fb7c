//! Factors of symmetric and Hermitian matrices that need not be definite, and what is solved with them.

use super::compare::{eq, gt, lt, ne};
use super::creation::identity;
use super::decompositions::{flags, main_diagonal, triangular};
use super::diagonal::tril;
use super::linalg::{incompatible, same_batches};
use super::lu::{Failure, check};
use super::value::Named;
use crate::base::{DType, Result};
use crate::core::primitive::Saves;
use crate::core::{Meta, Params, Prim, Tensor, call_many};
use crate::dense::index::arange;
use crate::dense::linalg as kernels;
use crate::ops::signature::{Integers, Matrices, Square};
use crate::rules::basis::{self, adjoint, clear_where, div, keep_where, matmul, mul, number, sub, swap_last, where_};
use crate::rules::{Matrix, Opaque, OpaqueBatch, batching, index, shapes};
use smallvec::smallvec;

/// The factors in one matrix, the exchanges, and 0 or which block is the first zero; parameter: Hermitian.
static LDL_FACTOR: Matrix = Matrix {
    name: "linalg.ldl_factor",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let lead = kernels::shapes::of_square("linalg.ldl_factor", a.form())?;
        let pivots = lead.append(a.shape[a.shape.rank() - 1]);
        Ok(smallvec![a.clone(), Meta::new(DType::I32, pivots), Meta::new(DType::I32, lead)])
    },
    eval: |p, a| {
        let (packed, pivots, info) = kernels::ldl(a[0].array()?, p.ints()[0] != 0)?;
        Ok(smallvec![packed.into(), pivots.into(), info.into()])
    },
    reads: Saves { inputs: 0, outputs: 3 },
    tangents: |p, point, t| match t {
        [Some(da)] => {
            let factors = Factors::of(point.output(0)?, point.output(1)?, p.ints()[0] != 0)?;
            Ok(smallvec![Some(factors.tangent(da)?), None, None])
        }
        _ => Ok(smallvec![None, None, None]),
    },
    fault: |e| e,
};

/// What the exchanges stand for: see [`kernels::Order`].
static ORDER: Opaque = Opaque {
    name: "linalg.ldl_solve:order",
    infer: |_, a| {
        let pivots = shapes::first(a)?;
        let n = pivots.shape[pivots.shape.rank() - 1];
        let vector = Meta::new(DType::I64, pivots.shape.clone());
        let matrix = Meta::new(DType::I64, pivots.shape.append(n));
        Ok(smallvec![vector.clone(), vector.clone(), vector, matrix.clone(), matrix])
    },
    eval: |_, a| {
        let o = kernels::ldl_order(a[0].array()?)?;
        Ok(smallvec![o.order.into(), o.back.into(), o.partner.into(), o.rows.into(), o.places.into()])
    },
    batching: OpaqueBatch::With(batching::leading),
};

/// `A = P L D Lᵀ Pᵀ`, or `P L D Lᴴ Pᵀ` of Hermitian matrices.
struct Factors {
    /// Below the blocks of D; its diagonal is 1, and not in it.
    lower: Tensor,
    /// The diagonal of D.
    diagonal: Tensor,
    /// What stands beside it in its row: 1 in blocks of one.
    beside: Tensor,
    order: Tensor,
    back: Tensor,
    partner: Tensor,
    places: Tensor,
    hermitian: bool,
}

impl Factors {
    fn of(packed: &Tensor, pivots: &Tensor, hermitian: bool) -> Result<Factors> {
        let outs = call_many(Prim::Static(&ORDER), &Params::None, &[pivots])?;
        let [order, back, partner, rows, places] = &outs[..] else { refuse!(Internal, "another number of results") };
        let hermitian = hermitian && packed.dtype().is_complex();
        let (r, n) = (packed.rank() - 2, packed.shape()[packed.rank() - 1]);
        let turned = index::gather(packed, r, rows)?;
        let lower = clear_where(&pairs(partner)?, &tril(&turned, -1)?)?;
        let diagonal = main_diagonal(packed)?;
        let diagonal =
            if hermitian { basis::cast(&super::complex::real(&diagonal)?, packed.dtype())? } else { diagonal };
        let beside = if n < 2 {
            basis::ones_like(&diagonal)?
        } else {
            let below = basis::slice(&basis::slice(packed, r, 1, n - 1, 1)?, r + 1, 0, n - 1, 1)?;
            let below = main_diagonal(&below)?;
            let none = basis::zeros_like(&basis::slice(&diagonal, r, 0, 1, 1)?)?;
            let own = basis::cat(&[&none, &below], r)?;
            let next = basis::cat(&[&if hermitian { basis::conj(&below)? } else { below }, &none], r)?;
            let at = positions(n)?;
            where_(&gt(partner, &at)?, &next, &where_(&lt(partner, &at)?, &own, &number(&own, 1.0))?)?
        };
        Ok(Factors {
            lower,
            diagonal,
            beside,
            order: order.clone(),
            back: back.clone(),
            partner: partner.clone(),
            places: places.clone(),
            hermitian,
        })
    }

    /// The transpose, or the adjoint of Hermitian matrices.
    fn across(&self, x: &Tensor) -> Result<Tensor> {
        if self.hermitian { adjoint(x) } else { swap_last(x) }
    }

    /// `D⁻¹ y`, where each block is scaled by what stands beside its diagonal.
    fn over_blocks(&self, y: &Tensor) -> Result<Tensor> {
        let last = self.diagonal.rank() - 1;
        let column = |x: &Tensor| basis::unsqueeze_dims(x, &[last + 1]);
        let (d, e) = (&self.diagonal, &self.beside);
        let (other_d, other_e) = (index::gather(d, last, &self.partner)?, index::gather(e, last, &self.partner)?);
        let paired = ne(&self.partner, &positions(d.shape()[last])?)?;
        let ratio = div(&other_d, &other_e)?;
        let fall = sub(&mul(&div(d, e)?, &ratio)?, &number(d, 1.0))?;
        let fall = where_(&paired, &fall, &number(d, 1.0))?;
        let single = where_(&paired, &number(d, 1.0), d)?;
        let rows = basis::expand(&column(&self.partner)?, y.shape())?;
        let other_y = div(&index::gather(y, last, &rows)?, &column(&other_e)?)?;
        let both = sub(&mul(&column(&ratio)?, &div(y, &column(e)?)?)?, &other_y)?;
        where_(&column(&paired)?, &div(&both, &column(&fall)?)?, &div(y, &column(&single)?)?)
    }

    /// The solution of `A X = B`.
    fn solve(&self, b: &Tensor) -> Result<Tensor> {
        let moved = |x: &Tensor, order: &Tensor| {
            index::gather(x, x.rank() - 2, &basis::expand(&basis::unsqueeze_dims(order, &[order.rank()])?, x.shape())?)
        };
        let y = triangular(&self.lower, &moved(b, &self.order)?, false, true)?;
        let x = triangular(&self.across(&self.lower)?, &self.over_blocks(&y)?, true, true)?;
        moved(&x, &self.back)
    }

    /// With `F = L⁻¹ Pᵀ dA P L⁻ᵀ`, `dD` is the blocks of F, and `dL = L X` where `X D` is what lies below them. Of dA the
    /// lower triangle counts, as of A.
    fn tangent(&self, da: &Tensor) -> Result<Tensor> {
        let (rows, cols, n) = (da.rank() - 2, da.rank() - 1, da.shape()[da.rank() - 1]);
        let low = tril(da, 0)?;
        let mut whole = basis::add(&low, &self.across(&tril(da, -1)?)?)?;
        if self.hermitian {
            whole = super::decompositions::hermitian(&whole)?;
        }
        let along = |x: &Tensor, dim: usize, at: usize| {
            index::gather(x, dim, &basis::expand(&basis::unsqueeze_dims(&self.order, &[at])?, x.shape())?)
        };
        let turned = along(&along(&whole, rows, self.order.rank())?, cols, self.order.rank() - 1)?;
        let half = triangular(&self.lower, &turned, false, true)?;
        let f = self.across(&triangular(&self.lower, &self.across(&half)?, false, true)?)?;
        let pairs = pairs(&self.partner)?;
        let below = clear_where(&pairs, &tril(&f, -1)?)?;
        let x = self.across(&self.over_blocks(&self.across(&below)?)?)?;
        let unit = basis::add(&self.lower, &identity(da.dtype(), n, n)?)?;
        let dl = tril(&matmul(&unit, &x)?, -1)?;
        let at = positions(n)?;
        let own = eq(&at, &basis::unsqueeze_dims(&at, &[1])?)?;
        let blocks = basis::add(&keep_where(&own, &f)?, &keep_where(&pairs, &tril(&f, -1)?)?)?;
        let packed = basis::add(&clear_where(&pairs, &dl)?, &blocks)?;
        index::gather(&packed, rows, &self.places)
    }
}

fn positions(n: usize) -> Result<Tensor> {
    Ok(arange(DType::I64, 0.into(), 1.into(), n)?.into())
}

/// Where element (i, j) has a row and a column of one block of two, or lies on the diagonal of a block of one.
fn pairs(partner: &Tensor) -> Result<Tensor> {
    let n = partner.shape()[partner.rank() - 1];
    let column = basis::unsqueeze_dims(&positions(n)?, &[1])?;
    eq(&basis::unsqueeze_dims(partner, &[partner.rank() - 1])?, &column)
}

ops! { TABLE:
    /// The factors of symmetric matrices `A = P L D Lᵀ Pᵀ`, with blocks of one or two rows in D, in one matrix, and the
    /// exchanges of rows: for `ldl_solve`. Of complex matrices that are `hermitian` they are those of `P L D Lᴴ Pᵀ`. The lower
    /// triangle is read; the format is LAPACK's, of `sytrf` and `hetrf`.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.ldl_factor(pullback.tensor([[2.0, 1.0], [1.0, -3.0]])).LD
    /// tensor([[ 2.0000,  0.0000],
    ///         [ 0.5000, -3.5000]])
    fn ldl_factor = "linalg.ldl_factor" (A: &Tensor as Square | input; hermitian: bool = false)
        -> Named as linalg_ldl_factor(LD, pivots) [CUBIC] of LDL_FACTOR {
        let outs = call_many(Prim::Static(&LDL_FACTOR), &flags(&[hermitian]), &[A])?;
        check(&outs[2], Failure::Ldl)?;
        Ok(Named::new(NAMED, outs.into_iter().take(2)))
    }

    /// As `ldl_factor`, and `info`: 0, or which block of D is the first zero. With `check_errors` that raises.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.ldl_factor_ex(pullback.zeros(2, 2)).info
    /// tensor(1, dtype=pullback.int32)
    fn ldl_factor_ex = "linalg.ldl_factor_ex" (A: &Tensor as Square | input; hermitian: bool = false, check_errors: bool = false)
        -> Named as linalg_ldl_factor_ex(LD, pivots, info) [CUBIC] of LDL_FACTOR {
        let outs = call_many(Prim::Static(&LDL_FACTOR), &flags(&[hermitian]), &[A])?;
        if check_errors {
            check(&outs[2], Failure::Ldl)?;
        }
        Ok(Named::new(NAMED, outs))
    }

    /// The solution of `A X = B` from what `ldl_factor` gives for A, with the same `hermitian`.
    ///
    /// >>> import pullback
    /// >>> factors = pullback.linalg.ldl_factor(pullback.tensor([[2.0, 1.0], [1.0, -3.0]]))
    /// >>> pullback.linalg.ldl_solve(*factors, pullback.tensor([[4.0], [-5.0]]))
    /// tensor([[1.],
    ///         [2.]])
    fn ldl_solve = "linalg.ldl_solve" (LD: &Tensor as Square, pivots: &Tensor as Integers, B: &Tensor as Matrices; hermitian: bool = false)
        -> Tensor [CUBIC] {
        let want = LD.shape().without(LD.rank() - 1);
        if *pivots.shape() != want {
            refuse!(Runtime, "Expected LD.shape[:-1] and pivots.shape to be the same, but got pivots with shape {} instead of \
                {want}; give those of ldl_factor", pivots.shape());
        }
        if LD.shape()[LD.rank() - 1] != B.shape()[B.rank() - 2] {
            return Err(incompatible(LD, B));
        }
        let (packed, b) = same_batches(LD, B)?;
        let pivots = basis::expand(&basis::cast(pivots, DType::I32)?, &packed.shape().without(packed.rank() - 1))?;
        if packed.shape()[packed.rank() - 1] == 0 {
            return Ok(b);
        }
        Factors::of(&packed, &pivots, hermitian)?.solve(&b)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&LDL_FACTOR, &ORDER]], ..crate::ops::Family::EMPTY };
