//! Pseudoinverses, and what follows from singular values: ranks, conditions, least squares.

use super::arith::divide_floats;
use super::compare::{gt, ne};
use super::decompositions::{INV_EX, hermitian};
use super::linalg::{incompatible, is_vector, same_batches, svdvals};
use super::norms::{matrix_norm, most};
use super::unary::{abs, reciprocal};
use super::value::setting::Driver;
use super::value::{Named, Operand, Value};
use crate::base::{DType, Result, Scalar, Shape};
use crate::core::level::Below;
use crate::core::primitive::Saves;
use crate::core::{Meta, Params, Prim, Tensor, call_many};
use crate::dense::linalg as kernels;
use crate::ops::signature::{Matrices, SameDType};
use crate::rules::basis::{self, add, adjoint, cast, clear_where, matmul, mul, neg, number, sub, where_};
use crate::rules::{Matrix, shapes};
use smallvec::smallvec;

/// The pseudoinverse and the rank of a matrix, for an absolute and a relative tolerance of each;
/// parameter: whether it is Hermitian. Only the first output has derivatives: `dP = -P dA P + P Pᴴ dAᴴ (1 - A P) +
/// (1 - P A) dAᴴ Pᴴ P`.
static PINV: Matrix = Matrix {
    name: "linalg.pinv",
    infer: |_, a| {
        let a = shapes::first(a)?;
        let [u, s, vh] = kernels::shapes::svd(a.form(), false)?;
        let (m, n) = (u[u.rank() - 2], vh[vh.rank() - 1]);
        let inverse = a.shape.with(a.shape.rank() - 2, n).with(a.shape.rank() - 1, m);
        let rank = Meta::new(DType::I64, s.without(s.rank() - 1));
        Ok(smallvec![Meta { dtype: a.dtype, shape: inverse }, rank])
    },
    eval: |p, a| {
        let _below = Below::all();
        let array = a[0].array()?;
        let (u, signed, vh) = if p.ints()[0] != 0 {
            let (w, v) = kernels::eigh(array, false)?;
            let v: Tensor = v.into();
            (v.clone(), Tensor::from(w), adjoint(&v)?)
        } else {
            let (u, s, vh) = kernels::svd(array, false)?;
            (u.into(), s.into(), vh.into())
        };
        let s = abs(&signed)?;
        let kept = above(&s, a[1], a[2])?;
        let inverse = where_(&kept, &reciprocal(&signed)?, &number(&s, 0.0))?;
        let inverse = basis::unsqueeze_dims(&cast(&inverse, u.dtype())?, &[s.rank() - 1])?;
        let p = matmul(&mul(&adjoint(&vh)?, &inverse)?, &adjoint(&u)?)?;
        Ok(smallvec![p, count(&kept)?])
    },
    // The tolerances only for their dtypes and shapes.
    reads: Saves { inputs: 7, outputs: 1 },
    tangents: |p, point, t| {
        let Some(da) = t[0] else { return Ok(smallvec![None, None]) };
        let da = if p.ints()[0] != 0 { &hermitian(da)? } else { da };
        Ok(smallvec![Some(tangent(point.input(0)?, point.output(0)?, da)?), None])
    },
    fault: |e| e,
};

fn tangent(a: &Tensor, p: &Tensor, da: &Tensor) -> Result<Tensor> {
    let (ph, dah) = (adjoint(p)?, adjoint(da)?);
    let first = neg(&matmul(&matmul(p, da)?, p)?)?;
    let x = matmul(&matmul(p, &ph)?, &dah)?;
    let second = sub(&x, &matmul(&matmul(&x, a)?, p)?)?;
    let y = matmul(&matmul(&dah, &ph)?, p)?;
    let third = sub(&y, &matmul(&matmul(p, a)?, &y)?)?;
    add(&add(&first, &second)?, &third)
}

/// Which values are above the tolerances of their matrix.
fn above(s: &Tensor, atol: &Tensor, rtol: &Tensor) -> Result<Tensor> {
    let last = s.rank() - 1;
    let relative = mul(&most(s, last, false)?, rtol)?;
    let limit = super::arith::maximum(&relative, atol)?;
    gt(s, &basis::unsqueeze_dims(&limit, &[last])?)
}

fn count(kept: &Tensor) -> Result<Tensor> {
    basis::sum(&cast(kept, DType::I64)?, &[kept.rank() - 1], false)
}

/// The tolerances of each matrix: by default a relative one, if there is no absolute one that is not 0.
fn tolerances(a: &Tensor, atol: Option<Operand<'_>>, rtol: Option<Operand<'_>>) -> Result<[Tensor; 2]> {
    let (rank, real) = (a.rank(), a.dtype().real());
    let lead = Shape::new(&a.shape()[..rank - 2]);
    let each = |name: &str, x: Operand<'_>| match x {
        Operand::Number(s) => basis::full(&lead, real, s),
        Operand::Tensor(t) if t.dtype().is_complex() => {
            refuse!(Runtime, "argument '{name}' must be a number or a tensor of real numbers; take its real part")
        }
        Operand::Tensor(t) => basis::expand(&cast(t, real)?, &lead),
    };
    let absolute = each("atol", atol.unwrap_or(Operand::Number(Scalar::Int(0))))?;
    let relative = match rtol {
        Some(r) => each("rtol", r)?,
        None => {
            let usual = basis::full(&lead, real, rounding(a))?;
            clear_where(&gt(&absolute, 0.0)?, &usual)?
        }
    };
    Ok([absolute, relative])
}

/// What singular values of the size of the largest are rounded by.
fn rounding(a: &Tensor) -> f64 {
    let single = matches!(a.dtype(), DType::F32 | DType::C64);
    let eps = if single { f64::from(f32::EPSILON) } else { f64::EPSILON };
    eps * a.shape()[a.rank() - 2].max(a.shape()[a.rank() - 1]) as f64
}

fn square(a: &Tensor, hermitian: bool) -> Result<()> {
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    if hermitian && m != n {
        refuse!(
            Runtime,
            "A must be batches of square matrices, but they are {m} by {n} matrices; leave hermitian=False"
        );
    }
    Ok(())
}

fn pseudoinverse(a: &Tensor, [atol, rtol]: &[Tensor; 2], hermitian: bool) -> Result<[Tensor; 2]> {
    square(a, hermitian)?;
    let p = Params::Ints(smallvec![i64::from(hermitian)]);
    let outs = call_many(Prim::Static(&PINV), &p, &[a, atol, rtol])?;
    Ok([outs[0].clone(), outs[1].clone()])
}

/// Routines of LAPACK, by which results beside the solution are chosen.
#[derive(Clone, Copy, PartialEq)]
enum Routine {
    /// The matrix has full rank.
    Gels,
    Gelsy,
    Gelsd,
}

fn routine(driver: Option<&str>) -> Result<Routine> {
    Ok(match driver {
        None | Some("gelsy") => Routine::Gelsy,
        Some("gels") => Routine::Gels,
        Some("gelsd" | "gelss") => Routine::Gelsd,
        Some(other) => {
            refuse!(
                Runtime,
                "parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but got '{other}'; leave it out"
            )
        }
    })
}

fn nothing(dtype: DType) -> Result<Tensor> {
    basis::full(&[0].into(), dtype, Scalar::Int(0))
}

/// The condition by norms: that of a matrix times that of its inverse, infinite where there is none.
fn condition(a: &Tensor, ord: &Value) -> Result<Tensor> {
    let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    if m != n {
        refuse!(
            Runtime,
            "A must be batches of square matrices, but they are {m} by {n} matrices; only p=2 and p=-2 are for others"
        );
    }
    if a.numel() == 0 {
        return basis::full(&Shape::new(&a.shape()[..a.rank() - 2]), a.dtype().real(), 0.0);
    }
    let outs = call_many(Prim::Static(&INV_EX), &Params::None, &[a])?;
    let singular = ne(&outs[1], 0.0)?;
    let matrices = basis::unsqueeze_dims(&singular, &[singular.rank(), singular.rank() + 1])?;
    // A norm of infinities need not be one.
    let inverse = clear_where(&matrices, &outs[0])?;
    let product =
        mul(&matrix_norm(a, ord, &[-2, -1], false, None)?, &matrix_norm(&inverse, ord, &[-2, -1], false, None)?)?;
    where_(&singular, &number(&product, f64::INFINITY), &product)
}

ops! { TABLE:
    /// The pseudoinverse: `1 / s` for singular values above `max(atol, rtol * largest)`, 0 for others. `rcond` is an old
    /// name of `rtol`. Of Hermitian matrices the lower triangle is read. Its derivative is that for a rank that stays, with
    /// values of 0 in place of those left out.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.pinv(pullback.tensor([[2.0], [0.0]]))
    /// tensor([[0.5000, 0.0000]])
    fn pinv = "linalg.pinv" (A: &Tensor as Matrices | input, rcond: Option<Operand<'_>> = None, hermitian: bool = false;
        atol: Option<Operand<'_>> = None, rtol: Option<Operand<'_>> = None) -> Tensor [CUBIC] of PINV {
        let [inverse, ..] = pseudoinverse(A, &tolerances(A, atol, rcond.or(rtol))?, hermitian)?;
        Ok(inverse)
    }

    /// The pseudoinverse: `1 / s` for singular values above `rcond` times the largest, 0 for others.
    ///
    /// >>> import pullback
    /// >>> pullback.pinverse(pullback.tensor([[2.0], [0.0]]))
    /// tensor([[0.5000, 0.0000]])
    fn pinverse = "pinverse" (input: &Tensor as Matrices, rcond: f64 = 1e-15) -> Tensor [METHOD, CUBIC, IN_SINGLE] node "LinalgPinvBackward0" of PINV {
        pinv(input, Some(rcond.into()), false, None, None)
    }

    /// How many singular values are above `max(atol, rtol * largest)`; `tol` is an old name of `atol`. Of Hermitian matrices
    /// the lower triangle is read.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.matrix_rank(pullback.ones(3, 3))
    /// tensor(1)
    fn matrix_rank = "linalg.matrix_rank" (A: &Tensor as Matrices | input, tol: Option<Operand<'_>> = None,
        hermitian: bool = false; atol: Option<Operand<'_>> = None, rtol: Option<Operand<'_>> = None) -> Tensor [CUBIC, IN_SINGLE] {
        square(A, hermitian)?;
        let rtol = if tol.is_some() { Some(Operand::Number(Scalar::Int(0))) } else { rtol };
        let [atol, rtol] = tolerances(A, tol.or(atol), rtol)?;
        let s = if hermitian { abs(&super::linalg::eigvalsh(A, "L")?)? } else { svdvals(A, Driver::None)? };
        count(&above(&s, &atol, &rtol)?)
    }

    /// The ratio of the largest and the smallest singular value, or with an order of a matrix norm the norm of a matrix times
    /// that of its inverse.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.cond(pullback.tensor([[4.0, 0.0], [0.0, 1.0]]))
    /// tensor(4.)
    fn cond = "linalg.cond" (A: &Tensor as Matrices | input, p: &Value = &Value::None) -> Tensor [CUBIC, IN_SINGLE] node "SqueezeBackward1" {
        let order = match p {
            Value::None | Value::Missing => Some(2.0),
            Value::Number(s) => Some(super::norms::real_order("p", *s)?),
            Value::Int(i) => Some(*i as f64),
            Value::Float(x) => Some(*x),
            Value::Str(s) if matches!(&s[..], "fro" | "nuc" | "inf" | "-inf") => None,
            Value::Str(other) => refuse!(Runtime, "linalg.cond got an invalid norm type: {other}; use a number, 'fro' or 'nuc'"),
            other => refuse!(Type, "argument 'p' must be a number or str, not {}", other.type_name()),
        };
        let Some(order) = order else { return condition(A, p) };
        if order.abs() == 1.0 || order.is_infinite() {
            return condition(A, p);
        }
        if order.abs() != 2.0 {
            refuse!(Runtime, "linalg.cond got an invalid norm type: {order}; use 1, 2, inf, -1, -2, -inf, 'fro' or 'nuc'");
        }
        let s = svdvals(A, Driver::None)?;
        let last = s.rank() - 1;
        let k = s.shape()[last];
        if k == 0 {
            return basis::full(&s.shape().without(last), s.dtype(), 0.0);
        }
        let (largest, smallest) = (basis::select(&s, last, 0)?, basis::select(&s, last, k - 1)?);
        if order > 0.0 { divide_floats(&largest, &smallest) } else { divide_floats(&smallest, &largest) }
    }

    /// The X of smallest norm with the smallest `|A X - B|`, squared residuals of its columns, rank and singular values. B is
    /// a matrix, or a vector for each matrix. Singular values below `rcond` times the largest count as 0.
    ///
    /// `driver` says what is given besides the solution, as in PyTorch: residuals if A has more rows than columns, for 'gels'
    /// (which takes the rank to be full) and, where all ranks are full, for 'gelsd' and 'gelss'; singular values for the
    /// latter two; the rank for all but 'gels'. The rest is empty.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.lstsq(pullback.tensor([[1.0], [0.0]]), pullback.tensor([2.0, 3.0])).solution
    /// tensor([2.])
    fn lstsq = "linalg.lstsq" (A: &Tensor as Matrices | input, B: &Tensor as SameDType, rcond: Option<f64> = None;
        driver: Option<&str> = None) -> Named as linalg_lstsq(solution, residuals, rank, singular_values) [CUBIC, IN_SINGLE] of PINV {
        let routine = routine(driver)?;
        if B.rank() == 0 {
            refuse!(Runtime, "argument 'B' must have at least 1 dimension; give one element for each row of A");
        }
        let vector = is_vector(A, B);
        let b = if vector { basis::unsqueeze_dims(B, &[B.rank()])? } else { B.clone() };
        if A.shape()[A.rank() - 2] != b.shape()[b.rank() - 2] {
            return Err(incompatible(A, &b));
        }
        let (a, b) = same_batches(A, &b)?;
        let (m, n) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
        let rtol = if routine == Routine::Gels { 0.0 } else { rcond.unwrap_or(rounding(&a)) };
        let tolerances = tolerances(&a, None, Some(Operand::Number(Scalar::Float(rtol))))?;
        let [inverse, rank] = pseudoinverse(&a, &tolerances, false)?;
        let x = matmul(&inverse, &b)?;
        let full = |rank: &Tensor| match rank.dense() {
            Some(rank) => rank.to_vec::<i64>().is_ok_and(|all| all.iter().all(|&r| r as usize == n)),
            None => true,
        };
        let wanted = m > n && (routine == Routine::Gels || (routine == Routine::Gelsd && full(&rank)));
        let residuals = if wanted {
            let size = abs(&sub(&b, &matmul(&a, &x)?)?)?;
            basis::sum(&mul(&size, &size)?, &[b.rank() - 2], false)?
        } else {
            nothing(a.dtype().real())?
        };
        let rank = if routine == Routine::Gels { nothing(DType::I64)? } else { rank };
        let values = if routine == Routine::Gelsd { svdvals(&a, Driver::None)? } else { nothing(a.dtype().real())? };
        let x = if vector { basis::reshape(&x, &x.shape().without(x.rank() - 1))? } else { x };
        Ok(Named::new(NAMED, [x, residuals, rank, values]))
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&PINV]], ..crate::ops::Family::EMPTY };
