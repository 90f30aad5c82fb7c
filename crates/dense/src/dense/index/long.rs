//! Scattered writes as others call them. They go through their index one by one, because the order decides what stays:
//! long ones do so on a thread of their own, while the caller listens.

use super::scatter::Fold;
use super::{blocks, mask, scatter as here};
use crate::base::Result;
use crate::dense::copy::own;
use crate::dense::{Array, threads};

/// What a write to a random place takes.
const WRITE_NS: usize = 10;

fn cost(index: &Array) -> usize {
    index.numel().saturating_mul(WRITE_NS)
}

/// A copy of `a` with `out[index[i][j]][j] = src[i][j]` for `dim` 0, and so on; of several writes the last stays.
///
/// Errors: `Runtime` if shapes or dtypes do not fit, `Index` for an index outside `0..a.shape()[dim]`.
pub fn scatter(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    if threads::is_short(cost(index)) {
        return here::scatter(a, dim, index, src);
    }
    let (a, i, src) = (own(a)?, own(index)?, own(src)?);
    threads::detached(cost(index), move || here::scatter(&a, dim, &i, &src))
}

/// As [`scatter`], but adds (for bool: or). Halves are added up in float32.
pub fn scatter_add(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    if threads::is_short(cost(index)) {
        return here::scatter_add(a, dim, index, src);
    }
    let (a, i, src) = (own(a)?, own(index)?, own(src)?);
    threads::detached(cost(index), move || here::scatter_add(&a, dim, &i, &src))
}

/// As [`scatter`], but joins the values that meet; the value of `a` is one of them if `include_self`. A mean of
/// integers rounds down.
pub fn scatter_reduce(
    a: &Array,
    dim: usize,
    index: &Array,
    src: &Array,
    fold: Fold,
    include_self: bool,
) -> Result<Array> {
    if threads::is_short(cost(index)) {
        return here::scatter_reduce(a, dim, index, src, fold, include_self);
    }
    let (a, i, src) = (own(a)?, own(index)?, own(src)?);
    threads::detached(cost(index), move || here::scatter_reduce(&a, dim, &i, &src, fold, include_self))
}

/// A copy of `a` with `out[indices[0][i..], indices[1][i..], .., rest..] = src[i.., rest..]`, or `+=` if
/// `accumulate` (for bool: or). `src` has the shape of [`super::take_many`]'s result; of several writes the last stays.
///
/// Errors: `Runtime` if shapes or dtypes do not fit, `Index` for an index out of range.
pub fn put_many(a: &Array, indices: &[Array], src: &Array, accumulate: bool) -> Result<Array> {
    if threads::is_short(cost(src)) {
        return blocks::put_many(a, indices, src, accumulate);
    }
    let (a, all, src) = (own(a)?, indices.iter().map(own).collect::<Result<Vec<_>>>()?, own(src)?);
    threads::detached(cost(&src), move || blocks::put_many(&a, &all, &src, accumulate))
}

/// A copy of `a` with `out[.., index[j], ..] += src[.., j, ..]` along `dim` (`index_add`). Halves add in float32.
///
/// Errors: `Runtime` if shapes or dtypes do not fit, `Index` for an index outside `0..a.shape()[dim]`.
pub fn add_at(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    if threads::is_short(cost(src)) {
        return blocks::add_at(a, dim, index, src);
    }
    let (a, i, src) = (own(a)?, own(index)?, own(src)?);
    threads::detached(cost(&src), move || blocks::add_at(&a, dim, &i, &src))
}

/// A copy of `a` with `out[.., index[j], ..] = src[.., j, ..]` along `dim` (`index_copy`). Errors as in [`add_at`].
pub fn put_at(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    if threads::is_short(cost(src)) {
        return blocks::put_at(a, dim, index, src);
    }
    let (a, i, src) = (own(a)?, own(index)?, own(src)?);
    threads::detached(cost(&src), move || blocks::put_at(&a, dim, &i, &src))
}

/// The multi-indices of non-zero elements (NaN is one) in row-major order, one per row: int64, shape (count, rank).
pub fn nonzero(a: &Array) -> Result<Array> {
    if threads::is_short(cost(a)) {
        return mask::nonzero(a);
    }
    let x = own(a)?;
    threads::detached(cost(a), move || mask::nonzero(&x))
}
