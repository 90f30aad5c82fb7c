//! Distances between points, and cross products.

use super::arith::at_least;
use super::compare::eq;
use super::norms::vector;
use super::promote::single;
use super::unary::sqrt;
use crate::base::{ErrorKind, Result, Shape};
use crate::core::Tensor;
use crate::ops::signature::{Chosen, HERE, MemberDim, Ranked, SameDType, Words, no_bools};
use crate::rules::basis::{self, add, mul, number, scale, sub, swap_last, where_};
use crate::rules::index::take_rows;

/// When Euclidean distances come from a product of matrices, which is quicker for many points and less exact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByProduct {
    IfMany,
    Always,
    Never,
}
impl Words for ByProduct {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("use_mm_for_euclid_dist_if_necessary", ByProduct::IfMany),
        ("use_mm_for_euclid_dist", ByProduct::Always),
        ("donot_use_mm_for_euclid_dist", ByProduct::Never),
    ];
    const ERROR: ErrorKind = ErrorKind::Value;
}

/// More points than this are many.
const MANY: usize = 25;
/// So many differences may lie in memory at once.
const FEW: usize = 1 << 16;

/// `√(|a|² + |b|² - 2 a·b)` of all pairs of rows; where it is 0 its derivative is 0.
fn by_product(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    let squares = |x: &Tensor| basis::sum(&mul(x, x)?, &[x.rank() - 1], true);
    let lengths = add(&squares(a)?, &swap_last(&squares(b)?)?)?;
    let square = at_least(&sub(&lengths, &scale(&basis::matmul(a, &swap_last(b)?)?, 2.0)?)?, 0.0)?;
    let none = eq(&square, 0.0)?;
    let root = sqrt(&where_(&none, &number(&square, 1.0), &square)?)?;
    where_(&none, &number(&square, 0.0), &root)
}

fn check_points(name: &str, x: &Tensor, p: f64) -> Result<()> {
    if !x.dtype().is_float() {
        refuse!(Runtime, "only supports floating-point dtypes, {name} got: {}; convert it with .float()", x.dtype());
    }
    if p.is_nan() || p < 0.0 {
        refuse!(Runtime, "only supports non-negative p values, but got p={p}; 2 is the Euclidean distance");
    }
    Ok(())
}

/// The elements that one and two places further follow, in a dimension of three.
fn turned(x: &Tensor, dim: usize) -> Result<[Tensor; 2]> {
    let part = |start, n| basis::slice(x, dim, start, n, 1);
    let join = |a: &Tensor, b: &Tensor| basis::cat(&[a, b], dim);
    Ok([join(&part(1, 2)?, &part(0, 1)?)?, join(&part(2, 1)?, &part(0, 2)?)?])
}

fn cross_product(input: &Tensor, other: &Tensor, dim: usize) -> Result<Tensor> {
    no_bools(ErrorKind::NotImplemented, input.dtype())?;
    let (n, m) = (input.shape()[dim], other.shape()[dim]);
    if n != 3 || m != 3 {
        refuse!(
            Runtime,
            "inputs dimension {dim} must have length 3. Got {n} and {m}; name a dimension of three elements"
        );
    }
    let ([a1, a2], [b1, b2]) = (turned(input, dim)?, turned(other, dim)?);
    sub(&mul(&a1, &b2)?, &mul(&a2, &b1)?)
}

fn same_rank(input: &Tensor, other: &Tensor) -> Result<()> {
    if input.rank() != other.rank() {
        refuse!(
            Runtime,
            "inputs must have the same number of dimensions, but they have {} and {}; unsqueeze() one of them",
            input.rank(),
            other.rank()
        );
    }
    Ok(())
}

ops! { TABLE:
    /// The p-norm distance between each row of `x1` and each row of `x2`. Leading dimensions broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.cdist(pullback.tensor([[0.0, 0.0]]), pullback.tensor([[3.0, 4.0], [0.0, 1.0]]))
    /// tensor([[5., 1.]])
    fn cdist = "cdist" (x1: &Tensor, x2: &Tensor, p: f64 = 2.0, compute_mode: &str as Chosen<ByProduct> = "use_mm_for_euclid_dist_if_necessary")
        -> Tensor [NO_OUT, IN_SINGLE] {
        check_points("X1", x1, p)?;
        check_points("X2", x2, p)?;
        crate::ops::signature::of_dtype("x2", x2, x1.dtype())?;
        for (name, x) in [("X1", x1), ("X2", x2)] {
            if x.rank() < 2 {
                refuse!(Runtime, "only supports at least 2D tensors, {name} got: {}D; unsqueeze() it", x.rank());
            }
        }
        let (rows, columns) = (x1.shape()[x1.rank() - 2], x2.shape()[x2.rank() - 2]);
        let (k, k2) = (x1.shape()[x1.rank() - 1], x2.shape()[x2.rank() - 1]);
        if k != k2 {
            refuse!(Runtime, "X1 and X2 must have the same number of columns. X1: {k} X2: {k2}; points need as many coordinates");
        }
        let many = match compute_mode {
            ByProduct::IfMany => rows > MANY || columns > MANY,
            mode => mode == ByProduct::Always,
        };
        let lead = |x: &Tensor| Shape::new(&x.shape()[..x.rank() - 2]);
        let common = crate::base::shape::broadcast2(HERE, &lead(x1), &lead(x2))?;
        if k == 0 {
            return basis::full(&common.append(rows).append(columns), x1.dtype(), 0.0);
        }
        if p == 2.0 && many && compute_mode != ByProduct::Never {
            return basis::cast(&by_product(&single(x1)?, &single(x2)?)?, x1.dtype());
        }
        if p == 2.0 && common.numel() * rows * columns * k < FEW {
            let a = basis::unsqueeze_dims(&single(x1)?, &[x1.rank() - 1])?;
            let b = basis::unsqueeze_dims(&single(x2)?, &[x2.rank() - 2])?;
            return basis::cast(&vector(&sub(&a, &b)?, p, &[common.rank() + 2], false)?, x1.dtype());
        }
        let grow = |x: &Tensor| basis::expand(x, &common.iter().chain(&x.shape()[x.rank() - 2..]).copied().collect());
        super::pairs::distances(&grow(x1)?, &grow(x2)?, p)
    }

    /// The p-norm distances between each two rows of a matrix, the first row's first.
    ///
    /// >>> import pullback
    /// >>> pullback.pdist(pullback.tensor([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]))
    /// tensor([5.0000, 1.0000, 4.2426])
    fn pdist = "pdist" | "nn.functional.pdist" (input: &Tensor as Ranked<2>, p: f64 = 2.0) -> Tensor [NO_OUT] {
        check_points("input", input, p)?;
        let pairs = super::ranges::triu_indices_of(input.shape()[0])?;
        let rows = |i: usize| take_rows(input, &basis::select(&pairs, 0, i)?);
        distances(&sub(&rows(0)?, &rows(1)?)?, p)
    }

    /// The cross product of vectors along a dimension; by default the first one of three elements.
    ///
    /// >>> import pullback
    /// >>> pullback.cross(pullback.tensor([1.0, 0.0, 0.0]), pullback.tensor([0.0, 1.0, 0.0]))
    /// tensor([0., 0., 1.])
    fn cross = "cross" (input: &Tensor, other: &Tensor as SameDType, dim: Option<i64> as Option<MemberDim> = None) -> Tensor [METHOD] node "LinalgCrossBackward0" {
        if dim.is_none() {
            crate::warn_once!("cross(): the dimension is not named: the first one of 3 elements is taken, and \
                linalg.cross() takes the last; give dim")?;
        }
        let found = dim.or_else(|| input.shape().iter().position(|&n| n == 3));
        let Some(dim) = found else {
            refuse!(Runtime, "no dimension of size 3 in input; give vectors of three elements");
        };
        same_rank(input, other)?;
        cross_product(input, other, dim)
    }

    /// The cross product of vectors along a dimension; the others broadcast.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.cross(pullback.tensor([1.0, 0.0, 0.0]), pullback.tensor([0.0, 1.0, 0.0]))
    /// tensor([0., 0., 1.])
    fn linalg_cross = "linalg.cross" (input: &Tensor, other: &Tensor as SameDType; dim: i64 as MemberDim = -1) -> Tensor [] {
        same_rank(input, other)?;
        cross_product(input, other, dim)
    }
}

/// The norms of differences along the last dimension.
fn distances(x: &Tensor, p: f64) -> Result<Tensor> {
    let last = x.rank() - 1;
    if x.shape()[last] == 0 {
        return basis::sum(x, &[last], false);
    }
    vector(x, p, &[last], false)
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
