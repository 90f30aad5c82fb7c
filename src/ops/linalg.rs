//! Linear algebra on the trailing matrices; leading dimensions are batches.

use super::decompositions::{CHOLESKY, EIGH, QR, QR_COMPLETE, SVD_FULL, flags, inverse, solve_matrices, triangular};
use super::determinant::{DET, SLOGDET};
use super::singular::SVD;
use super::value::Named;
use crate::base::{Error, ErrorKind, Result, Shape};
use crate::core::primitive::Saves;
use crate::core::{Params, Prim, Tensor, call, call_many};
use crate::dense::linalg as kernels;
use crate::ops::signature::{Chosen, HERE, Matrices, Square, Words, of_dtype, refused};
use crate::ops::value::setting::Driver;
use crate::rules::basis::{self, adjoint, matmul, swap_last};
use crate::rules::{General, batching, shapes};
use smallvec::{SmallVec, smallvec};

/// Both with the broadcast of their leading dimensions.
pub(super) fn same_batches(a: &Tensor, b: &Tensor) -> Result<(Tensor, Tensor)> {
    of_dtype("B", b, a.dtype())?;
    let lead = |t: &Tensor| Shape::new(&t.shape()[..t.rank() - 2]);
    let common = crate::base::shape::broadcast2(HERE, &lead(a), &lead(b))?;
    let grow = |t: &Tensor| {
        let shape = common.iter().chain(&t.shape()[t.rank() - 2..]).copied().collect();
        basis::expand(t, &shape)
    };
    Ok((grow(a)?, grow(b)?))
}

/// The solution of `A X = B`, or of `X A = B`, by a routine for matrices with the same leading dimensions.
pub(super) fn solve_by(
    a: &Tensor,
    b: &Tensor,
    left: bool,
    routine: &mut dyn FnMut(&Tensor, &Tensor) -> Result<Tensor>,
) -> Result<Tensor> {
    if b.rank() == 0 {
        refuse!(
            Runtime,
            "argument 'B' must be a vector or have matrices in its last two dimensions, but it has shape []; give one \
             row for each row of A"
        );
    }
    let vector = is_vector(a, b);
    let b = if vector { basis::unsqueeze_dims(b, &[b.rank()])? } else { b.clone() };
    if !left && vector {
        refuse!(
            Runtime,
            "Vector broadcasting of the left hand side is not supported for left=False; give B as a matrix of one row, \
             with unsqueeze(-2)"
        );
    }
    if !left {
        return swap_last(&solve_by(&swap_last(a)?, &swap_last(&b)?, true, routine)?);
    }
    if a.shape()[a.rank() - 1] != b.shape()[b.rank() - 2] {
        return Err(incompatible(a, &b));
    }
    let (a, b) = same_batches(a, &b)?;
    let x = routine(&a, &b)?;
    if vector { basis::reshape(&x, &x.shape().without(x.rank() - 1)) } else { Ok(x) }
}

/// Whether a right side is a vector for each matrix.
pub(super) fn is_vector(a: &Tensor, b: &Tensor) -> bool {
    b.rank() == 1 || (b.rank() + 1 == a.rank() && b.shape()[..] == a.shape()[..a.rank() - 1])
}

#[cold]
pub(super) fn incompatible(a: &Tensor, b: &Tensor) -> Error {
    let matrix = |t: &Tensor| format!("{}x{}", t.shape()[t.rank() - 2], t.shape()[t.rank() - 1]);
    refused(
        ErrorKind::Runtime,
        format_args!(
            "Incompatible shapes of A and B for the equation AX = B ({} and {}); give B as many rows as A has",
            matrix(a),
            matrix(b)
        ),
    )
}

/// The parts of `A = Q R` that are asked for.
#[derive(Clone, Copy, PartialEq)]
enum Factors {
    Reduced,
    Complete,
    R,
}
impl Words for Factors {
    const WORDS: &'static [(&'static str, Self)] =
        &[("reduced", Factors::Reduced), ("complete", Factors::Complete), ("r", Factors::R)];
}

/// The triangle of a Hermitian matrix that is read.
#[derive(Clone, Copy)]
struct Upper(bool);
impl Words for Upper {
    const WORDS: &'static [(&'static str, Self)] =
        &[("L", Upper(false)), ("U", Upper(true)), ("l", Upper(false)), ("u", Upper(true))];
}

/// The exponential of matrices. Its derivative at A in the direction E is the upper right block of that of
/// `[[A, E], [0, A]]`, so derivatives of any order are exponentials again; the transpose is that at Aᴴ.
static MATRIX_EXP: General = General {
    name: "linalg.matrix_exp",
    infer: |p, a| {
        kernels::shapes::of_square("linalg.matrix_exp", shapes::first(a)?.form())?;
        shapes::same(p, a)
    },
    eval: |_, a| Ok(smallvec![kernels::matrix_exp(a[0].array()?)?.into()]),
    saves: |_, _| Saves { inputs: 1, outputs: 0 },
    jvp: |_, _, point, t| {
        let [Some(e)] = t else { return Ok(smallvec![None]) };
        Ok(smallvec![Some(exponential_slope(point.input(0)?, e)?)])
    },
    vjp: |_, _, point, g, _| {
        let [Some(g)] = g else { return Ok(SmallVec::new()) };
        Ok(smallvec![Some(exponential_slope(&adjoint(point.input(0)?)?, g)?)])
    },
    batch: batching::leading,
};

fn exponential(a: &Tensor) -> Result<Tensor> {
    call(Prim::Static(&MATRIX_EXP), &Params::None, &[a])
}

fn exponential_slope(a: &Tensor, e: &Tensor) -> Result<Tensor> {
    let (rows, cols, n) = (a.rank() - 2, a.rank() - 1, a.shape()[a.rank() - 1]);
    let upper = basis::cat(&[a, e], cols)?;
    let lower = basis::cat(&[&basis::zeros_like(a)?, a], cols)?;
    let both = exponential(&basis::cat(&[&upper, &lower], rows)?)?;
    basis::slice(&basis::slice(&both, rows, 0, n, 1)?, cols, n, n, 1)
}

ops! { TABLE:
    /// The triangular factor of Hermitian positive definite matrices: `A = L Lᴴ`, or `Uᴴ U` if `upper`.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.cholesky(pullback.tensor([[4.0]]))
    /// tensor([[2.]])
    fn cholesky = "linalg.cholesky" (A: &Tensor as Square | input; upper: bool = false) -> Tensor [CUBIC, IN_SINGLE] node "LinalgCholeskyExBackward0" of super::decompositions::CHOLESKY {
        let a = if upper { adjoint(A)? } else { A.clone() };
        let l = call(Prim::Static(&CHOLESKY), &Params::None, &[&a])?;
        if upper { adjoint(&l) } else { Ok(l) }
    }

    /// The solution of `A X = B` (or `X A = B` unless `left`). B is a matrix, or a batch of vectors.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.solve(pullback.tensor([[2.0]]), pullback.tensor([4.0]))
    /// tensor([2.])
    fn solve = "linalg.solve" (A: &Tensor as Square | input, B: &Tensor; left: bool = true) -> Tensor [CUBIC, IN_SINGLE] node "LinalgSolveExBackward0" of super::decompositions::SOLVE {
        solve_by(A, B, left, &mut solve_matrices)
    }

    /// The inverse of square matrices. Singular ones raise `LinAlgError`.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.inv(pullback.tensor([[2.0]]))
    /// tensor([[0.5000]])
    fn inv = "linalg.inv" | "inverse" (A: &Tensor as Square | input) -> Tensor [METHOD, CUBIC, IN_SINGLE] node "LinalgInvExBackward0" {
        inverse(A).map_err(|e| match e.kind() {
            crate::ErrorKind::LinAlg => crate::Error::linalg(format!("{HERE}(): the input matrix is singular, so it has no inverse")),
            _ => e,
        })
    }

    /// The solution of `A X = B` (or `X A = B` unless `left`) for triangular A; the other triangle is not read.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.solve_triangular(pullback.tensor([[2.0]]), pullback.tensor([[4.0]]), upper=True)
    /// tensor([[2.]])
    fn solve_triangular = "linalg.solve_triangular" (A: &Tensor as Square | input, B: &Tensor as Matrices; upper: bool, left: bool = true,
        unitriangular: bool = false) -> Tensor [CUBIC] of super::decompositions::SOLVE_TRIANGULAR {
        if !left {
            let x = solve_triangular(&swap_last(A)?, &swap_last(B)?, !upper, true, unitriangular)?;
            return swap_last(&x);
        }
        if A.shape()[A.rank() - 1] != B.shape()[B.rank() - 2] {
            return Err(incompatible(A, B));
        }
        let (a, b) = same_batches(A, B)?;
        triangular(&a, &b, upper, unitriangular)
    }

    /// `A = Q R` with orthonormal columns of Q and upper triangular R; mode 'reduced', 'complete' or 'r'.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.qr(pullback.tensor([[2.0]])).R.abs()
    /// tensor([[2.]])
    fn qr = "linalg.qr" (A: &Tensor as Matrices | input, mode: &str as Chosen<Factors> = "reduced")
        -> Named as linalg_qr(Q, R) [CUBIC, IN_SINGLE] node "LinalgQrBackward0" of super::decompositions::QR {
        let (m, n) = (A.shape()[A.rank() - 2], A.shape()[A.rank() - 1]);
        let make = |q: Tensor, r: Tensor| Named::new(NAMED, [q, r]);
        if mode == Factors::Complete && m > n {
            let outs = call_many(Prim::Static(&QR_COMPLETE), &Params::None, &[A])?;
            return Ok(make(outs[0].clone(), outs[1].clone()));
        }
        let k = m.min(n);
        let head = if n > m { basis::slice(A, A.rank() - 1, 0, k, 1)? } else { A.clone() };
        let outs = call_many(Prim::Static(&QR), &Params::None, &[&head])?;
        let q = outs[0].clone();
        let mut r = outs[1].clone();
        if n > m {
            let rest = basis::slice(A, A.rank() - 1, k, n - k, 1)?;
            r = basis::cat(&[&r, &matmul(&adjoint(&q)?, &rest)?], A.rank() - 1)?;
        }
        let q = if mode == Factors::R { basis::full(&[0].into(), A.dtype(), 0.0)? } else { q };
        Ok(make(q, r))
    }

    /// Eigenvalues (ascending) and orthonormal eigenvectors of Hermitian matrices, of which one triangle is read.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.eigh(pullback.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    /// tensor([1., 2.])
    fn eigh = "linalg.eigh" (A: &Tensor as Square | input, UPLO: &str as Chosen<Upper> = "L")
        -> Named as linalg_eigh(eigenvalues, eigenvectors) [CUBIC, IN_SINGLE] of super::decompositions::EIGH {
        let Upper(upper) = UPLO;
        let outs = call_many(Prim::Static(&EIGH), &flags(&[upper]), &[A])?;
        Ok(Named::new(NAMED, outs))
    }

    /// The eigenvalues (ascending) of Hermitian matrices.
    fn eigvalsh = "linalg.eigvalsh" (A: &Tensor | input, UPLO: &str = "L") -> Tensor [CUBIC, IN_SINGLE] node "LinalgEighBackward0" {
        let pair = eigh(A, UPLO)?;
        match pair.items.into_iter().next() {
            Some(super::Value::Tensor(w)) => Ok(w),
            _ => refuse!(Internal, "no values"),
        }
    }

    /// `A = U diag(S) Vh` with singular values in descending order. Derivatives of U and Vh need distinct values.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.svd(pullback.tensor([[3.0]])).S
    /// tensor([3.])
    fn svd = "linalg.svd" (A: &Tensor as Matrices | input, full_matrices: bool = true; driver: Driver = Driver::None)
        -> Named as linalg_svd(U, S, Vh) [CUBIC, IN_SINGLE] of super::decompositions::SVD {
        let _ = driver;
        let (m, n) = (A.shape()[A.rank() - 2], A.shape()[A.rank() - 1]);
        let mut outs = call_many(Prim::Static(&SVD), &Params::None, &[A])?;
        if full_matrices && m != n {
            let full = call_many(Prim::Static(&SVD_FULL), &Params::None, &[A])?;
            outs[if m > n { 0 } else { 2 }] = full[if m > n { 0 } else { 2 }].clone();
        }
        Ok(Named::new(NAMED, outs))
    }

    /// The singular values in descending order.
    fn svdvals = "linalg.svdvals" (A: &Tensor as Matrices | input; driver: Driver = Driver::None) -> Tensor [CUBIC, IN_SINGLE] node "LinalgSvdBackward0" {
        let _ = driver;
        Ok(call_many(Prim::Static(&SVD), &Params::None, &[A])?[1].clone())
    }

    /// Sign of the determinant and logarithm of its absolute value.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.slogdet(pullback.tensor([[1.0]])).logabsdet
    /// tensor(0.)
    fn slogdet = "linalg.slogdet" | "slogdet" (A: &Tensor as Square | input) -> Named as linalg_slogdet(sign, logabsdet) [METHOD, CUBIC] of super::determinant::SLOGDET {
        Ok(Named::new(NAMED, call_many(Prim::Static(&SLOGDET), &Params::None, &[A])?))
    }

    /// The logarithm of the determinant: NaN where that is negative, -inf where it is 0.
    ///
    /// >>> import pullback
    /// >>> pullback.logdet(pullback.tensor([[1.0]]))
    /// tensor(0.)
    fn logdet = "logdet" (input: &Tensor as Square) -> Tensor [METHOD, CUBIC] node "WhereBackward0" of super::determinant::SLOGDET {
        super::determinant::logarithm(input)
    }

    /// The determinant of square matrices.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.det(pullback.tensor([[2.0]]))
    /// tensor(2.)
    fn det = "linalg.det" | "det" (A: &Tensor as Square | input) -> Tensor [METHOD, CUBIC] of super::determinant::DET {
        call(Prim::Static(&DET), &Params::None, &[A])
    }

    /// The exponential `Σ Aᵏ / k!` of square matrices.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.matrix_exp(pullback.zeros(2, 2))
    /// tensor([[1., 0.],
    ///         [0., 1.]])
    fn matrix_exp = "linalg.matrix_exp" | "matrix_exp" (A: &Tensor as Square | input) -> Tensor [METHOD, CUBIC] of MATRIX_EXP {
        if A.shape()[A.rank() - 1] == 1 { super::unary::exp(A) } else { exponential(A) }
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family =
    crate::ops::Family { entries: &[TABLE], primitives: &[&[&MATRIX_EXP]], ..crate::ops::Family::EMPTY };
