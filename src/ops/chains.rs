//! Products of many matrices, and tensors that are taken as matrices.

use super::autocast::product;
use super::creation::identity;
use super::linalg::{inv, solve};
use crate::base::{Result, Shape};
use crate::core::Tensor;
use crate::core::params::Dims;
use crate::ops::signature::{AtLeast, Dimensions, SameDType};
use crate::rules::basis;

/// Where to cut each product of neighbours `i..=j` so that the fewest numbers are multiplied: matrix i is `sizes[i]` by
/// `sizes[i + 1]`.
fn cuts(sizes: &[usize]) -> Vec<Vec<usize>> {
    let n = sizes.len() - 1;
    let (mut cost, mut cut) = (vec![vec![0.0; n]; n], vec![vec![0; n]; n]);
    for length in 1..n {
        for i in 0..n - length {
            let j = i + length;
            cost[i][j] = f64::INFINITY;
            for k in i..j {
                let product = sizes[i] as f64 * sizes[k + 1] as f64 * sizes[j + 1] as f64;
                let total = cost[i][k] + cost[k + 1][j] + product;
                if total < cost[i][j] {
                    (cost[i][j], cut[i][j]) = (total, k);
                }
            }
        }
    }
    cut
}

fn chained(tensors: &[Tensor], cut: &[Vec<usize>], i: usize, j: usize) -> Result<Tensor> {
    if i == j {
        return Ok(tensors[i].clone());
    }
    let k = cut[i][j];
    product(&chained(tensors, cut, i, k)?, &chained(tensors, cut, k + 1, j)?)
}

/// The tensors as matrices: a first vector is a row, a last one a column.
fn matrices(tensors: &[&Tensor]) -> Result<Vec<Tensor>> {
    let last = tensors.len().saturating_sub(1);
    if tensors.len() < 2 {
        refuse!(Runtime, "expected at least 2 tensors but got {}; give two", tensors.len());
    }
    let mut all = Vec::with_capacity(tensors.len());
    for (i, t) in tensors.iter().enumerate() {
        let end = i == 0 || i == last;
        match t.rank() {
            2 => all.push((*t).clone()),
            1 if end => all.push(basis::unsqueeze_dims(t, &[usize::from(i == last)])?),
            rank if end => refuse!(
                Runtime,
                "the {} tensor must be 1D or 2D but got {rank}D; multiply batches with matmul()",
                if i == 0 { "first" } else { "last" }
            ),
            rank => {
                refuse!(Runtime, "tensor {i} must be 2D but got {rank}D; only the first and the last may be vectors")
            }
        }
    }
    for (i, pair) in all.windows(2).enumerate() {
        if pair[0].shape()[1] != pair[1].shape()[0] {
            refuse!(
                Runtime,
                "tensors {i} and {} with shapes {} and {} cannot be multiplied; the first needs as many columns as the \
                 second has rows",
                i + 1,
                tensors[i].shape(),
                tensors[i + 1].shape()
            );
        }
    }
    super::matmul::same_dtype(tensors)?;
    Ok(all)
}

fn numel(sizes: &[usize]) -> usize {
    sizes.iter().product()
}

ops! { TABLE:
    /// The product of two or more matrices, in the order that costs least. The first and the last may be vectors.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.multi_dot([pullback.ones(2, 3), pullback.ones(3, 2), pullback.ones(2)])
    /// tensor([6., 6.])
    fn multi_dot = "linalg.multi_dot" (tensors: Vec<&Tensor>) -> Tensor [PRODUCT] node "ViewBackward0" {
        let all = matrices(&tensors)?;
        let sizes: Vec<usize> = all.iter().map(|t| t.shape()[0]).chain(all.last().map(|t| t.shape()[1])).collect();
        let whole = chained(&all, &cuts(&sizes), 0, all.len() - 1)?;
        let kept = (0..2).filter(|&d| tensors[d * (all.len() - 1)].rank() == 2).map(|d| whole.shape()[d]).collect();
        basis::reshape(&whole, &kept)
    }

    /// The product of one or more matrices, in the order that costs least; `linalg.multi_dot` takes vectors too.
    ///
    /// >>> import pullback
    /// >>> pullback.chain_matmul(pullback.ones(1, 3), pullback.ones(3, 2))
    /// tensor([[3., 3.]])
    fn chain_matmul = "chain_matmul" (matrices: Vec<&Tensor>) -> Tensor [VARIADIC, PRODUCT] {
        crate::warn_once!("chain_matmul(): deprecated in favor of linalg.multi_dot, which PyTorch will keep; call that")?;
        let Some(first) = matrices.first() else {
            refuse!(Runtime, "Expected one or more matrices; give one at least");
        };
        for t in &matrices {
            crate::ops::signature::of_rank("matrices", t, 2, 2)?;
        }
        if matrices.len() == 1 { basis::copy(first) } else { multi_dot(matrices) }
    }

    /// The product of n equal square matrices; for a negative n, of their inverse.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.matrix_power(pullback.tensor([[2.0]]), -2)
    /// tensor([[0.2500]])
    fn matrix_power = "linalg.matrix_power" | "matrix_power" (A: &Tensor as AtLeast<2> | input, n: i64) -> Tensor [METHOD, CUBIC] node "MmBackward0" {
        let (rows, cols) = (A.shape()[A.rank() - 2], A.shape()[A.rank() - 1]);
        if rows != cols {
            refuse!(Runtime, "A must be batches of square matrices, but they are {rows} by {cols} matrices (shape {}); give as \
                many rows as columns in the last two dimensions", A.shape());
        }
        super::matmul::same_dtype(&[A])?;
        let mut left = n.unsigned_abs();
        if left == 0 {
            return super::random::drawn(basis::expand(&identity(A.dtype(), rows, rows)?, A.shape())?, &[A]);
        }
        let mut square = if n < 0 { inv(A)? } else { A.clone() };
        let mut power: Option<Tensor> = None;
        loop {
            if left & 1 == 1 {
                power = Some(match power {
                    Some(p) => product(&p, &square)?,
                    None => super::nn::formats::by_rows(&square)?,
                });
            }
            left >>= 1;
            match power {
                Some(p) if left == 0 => return Ok(p),
                _ => square = product(&square, &square)?,
            }
        }
    }

    /// The inverse of a tensor as a matrix of its first `ind` dimensions by the others.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.tensorinv(pullback.tensor([[2.0]]), ind=1)
    /// tensor([[0.5000]])
    fn tensorinv = "linalg.tensorinv" (A: &Tensor | input, ind: i64 = 2) -> Tensor [CUBIC, IN_SINGLE] node "ViewBackward0" {
        if ind <= 0 {
            refuse!(Runtime, "Expected a strictly positive integer for 'ind', but got {ind}; give how many dimensions stand \
                for rows");
        }
        let (first, rest) = A.shape().split_at(A.rank().min(ind as usize));
        if numel(first) != numel(rest) {
            refuse!(Runtime, "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got \
                {} != {}; give another 'ind' or reshape()", numel(rest), numel(first));
        }
        let inverse = inv(&basis::reshape(A, &[numel(first), numel(rest)].into())?)?;
        basis::reshape(&inverse, &rest.iter().chain(first).copied().collect())
    }

    /// The X with `tensordot(A, X, X.ndim) = B`, after the dimensions `dims` of A were moved to its end.
    ///
    /// >>> import pullback
    /// >>> pullback.linalg.tensorsolve(pullback.eye(4).reshape(2, 2, 2, 2), pullback.ones(2, 2))
    /// tensor([[1., 1.],
    ///         [1., 1.]])
    fn tensorsolve = "linalg.tensorsolve" (A: &Tensor | input, B: &Tensor as SameDType, dims: Option<&[i64]> as Option<Dimensions> = None)
        -> Tensor [CUBIC, IN_SINGLE] node "ViewBackward0" {
        let moved: Dims = dims.unwrap_or_default();
        let order: Dims = (0..A.rank()).filter(|d| !moved.contains(d)).chain(moved.iter().copied()).collect();
        let a = basis::permute(A, &order)?;
        let shape = Shape::new(&a.shape()[B.rank().min(a.rank())..]);
        let (rows, cols) = (numel(&a.shape()[..B.rank().min(a.rank())]), shape.numel());
        if rows != cols || rows != B.numel() {
            refuse!(Runtime, "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == \
                prod(self.shape[:other.ndim]) == prod(other.shape), but got {cols}, {rows} and {}; reshape() one of them, or \
                name other 'dims'", B.numel());
        }
        let x = solve(&basis::reshape(&a, &[rows, cols].into())?, &basis::reshape(B, &[rows].into())?, true)?;
        basis::reshape(&x, &shape)
    }
}

/// What this file adds to the table.
pub(super) const FAMILY: crate::ops::Family = crate::ops::Family { entries: &[TABLE], ..crate::ops::Family::EMPTY };
