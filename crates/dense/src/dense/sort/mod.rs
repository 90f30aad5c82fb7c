//! Sorting along a dimension, and what follows from an order.
//!
//! Elements are ordered by unsigned integer keys ([`key`]); NaN is greater than every number, -0 equals 0. Sorts are
//! stable, so that each result is the only right one; where PyTorch's are not, equal elements are ordered again as there
//! ([`unstable`]).

mod key;
mod places;
mod radix;
mod search;
#[cfg(test)]
mod tests;
mod unique;
mod unstable;

pub(super) use places::sort_places;
pub use search::searchsorted;
pub use unique::{Distinct, unique};

use super::array::{Array, Written};
use super::parallel::{self, Shared};
use super::{copy, threads};
use crate::bail;
use crate::base::{DType, Layout, Result, Shape, TypedShape};
use half::{bf16, f16};
use key::{Packed, Sortable};

/// Runs a generic body with `$T` bound to the element type of a dtype that has an order.
macro_rules! by_order {
    ($op:expr, $d:expr, $T:ident => $body:expr) => {
        match $d {
            DType::F16 => { type $T = f16; $body }
            DType::BF16 => { type $T = bf16; $body }
            DType::Bool => { type $T = bool; $body }
            d => crate::match_dtype!(d, number $T => $body, else {
                bail!(NotImplemented, "{}(): complex numbers have no order; got dtype {d}", $op)
            }),
        }
    };
}
use by_order;

/// What to take from each row.
#[derive(Clone, Copy)]
enum Take {
    /// All elements in order; equal ones in that of their places if `stable`.
    All { stable: bool },
    /// The first `k`, in order if `sorted`.
    First { k: usize, sorted: bool },
    /// Only the one at this place of the order.
    Nth(usize),
    /// Only the one in the middle, the lower of two. NaN is the result where there is one, unless it is to be skipped.
    Median { skip_nan: bool },
    /// Only one of those that are most often there; the least of several.
    Mode,
}

impl Take {
    fn count(self, n: usize) -> usize {
        match self {
            Take::All { .. } => n,
            Take::First { k, .. } => k,
            Take::Nth(_) | Take::Median { .. } | Take::Mode => 1,
        }
    }
}

/// Moves dimension `dim` behind all others.
fn to_last(l: &Layout, dim: usize) -> Layout {
    let rank = l.shape.rank();
    l.permute(&(0..rank).filter(|&d| d != dim).chain([dim]).collect::<Vec<_>>())
}

/// Undoes [`to_last`].
fn from_last(l: &Layout, dim: usize) -> Layout {
    let rank = l.shape.rank();
    l.permute(&(0..dim).chain([rank - 1]).chain(dim..rank - 1).collect::<Vec<_>>())
}

/// Nanoseconds that an element of a long line takes.
const ELEMENT_NS: usize = 60;

/// What is wanted of the lines along `dim`.
#[derive(Clone, Copy)]
struct Ask {
    op: &'static str,
    dim: usize,
    descending: bool,
    take: Take,
    values: bool,
}

/// [`order_here`]; a line that takes long is ordered while the caller listens.
fn order(a: &Array, ask: Ask) -> Result<(Option<Array>, Array)> {
    let ns = a.shape().get(ask.dim).map_or(0, |n| n.saturating_mul(ELEMENT_NS));
    if threads::is_short(ns) {
        return order_here(a, ask);
    }
    let a = copy::own(a)?;
    threads::detached(ns, move || order_here(&a, ask))
}

/// Takes elements of each line along `dim` in order: values (if asked for) and indices, both with `dim` shortened.
fn order_here(a: &Array, ask: Ask) -> Result<(Option<Array>, Array)> {
    let Ask { op, dim, descending, take, values } = ask;
    if a.rank() == 0 {
        let (v, i) = order_here(&a.reshape(&[1].into())?, Ask { dim: 0, ..ask })?;
        let back = |x: Array| if x.numel() == 1 { x.reshape(&Shape::scalar()) } else { Ok(x) };
        return Ok((v.map(back).transpose()?, back(i)?));
    }
    let last = dim + 1 == a.rank();
    let rows = if last { a.contiguous()? } else { a.view(|l| to_last(l, dim))?.contiguous()? };
    let n = a.shape()[dim];
    let shape = rows.shape().with(a.rank() - 1, take.count(n));
    by_order!(op, a.dtype(), T => {
        let mut picked = match values {
            // SAFETY: the job below writes each value beside its index.
            true => Some(Array::build_bytes(a.dtype(), shape.clone(), |_, _| unsafe { Written::all() })?),
            false => None,
        };
        let to = picked.as_mut().map(|v| Shared(v.ptr_mut().cast::<T>()));
        let indices = Array::build_typed::<i64>(shape, |out, len| {
            // SAFETY: the block holds so many elements, of which none is read before it is written.
            let out = unsafe { std::slice::from_raw_parts_mut(out, len) };
            let job = SortTask::<T> { rows: rows.as_slice().unwrap_or(&[]), n, descending, take, values: to };
            match T::KEY_BITS <= 32 && n <= u32::MAX as usize {
                _ if out.is_empty() => {}
                true => job.run::<u64>(out),
                false => job.run::<u128>(out),
            }
            // SAFETY: the job writes each index.
            unsafe { Written::all() }
        })?;
        if last {
            return Ok((picked, indices));
        }
        let back = |x: Array| x.view(|l| from_last(l, dim))?.contiguous();
        Ok((picked.map(back).transpose()?, back(indices)?))
    })
}

struct SortTask<'a, T> {
    rows: &'a [T],
    n: usize,
    descending: bool,
    take: Take,
    values: Option<Shared<T>>,
}

impl<T: Sortable> SortTask<'_, T> {
    /// Fills `out` with the indices, row by row, and the values beside them.
    fn run<P: Packed>(&self, out: &mut [i64]) {
        let count = self.take.count(self.n);
        let out = Shared(out.as_mut_ptr());
        // Sorting an element costs about as much as moving 16.
        parallel::ranges(self.rows.len() / self.n, 16 * self.n, &|lo, hi| {
            let (mut keys, mut spare) = (Vec::new(), Vec::new());
            for r in lo..hi {
                let row = &self.rows[r * self.n..(r + 1) * self.n];
                self.order_row::<P>(row, &mut keys, &mut spare);
                // SAFETY: `count` results per row; rows differ between tasks.
                let out = unsafe { std::slice::from_raw_parts_mut(out.at(r * count), count) };
                for (o, &p) in out.iter_mut().zip(&keys) {
                    *o = p.index() as i64;
                }
                if let Some(values) = &self.values {
                    for (j, &p) in keys.iter().take(count).enumerate() {
                        // Decoding is in order of memory, reading the row would not be.
                        let value = T::of_key(p.key() ^ self.flip(), || row[p.index()]);
                        // SAFETY: as above.
                        unsafe { values.at(r * count + j).write(value) }
                    }
                }
            }
        });
    }

    /// Key bits that are inverted, so that the greatest come first.
    fn flip(&self) -> u64 {
        if self.descending { u64::MAX >> (64 - T::KEY_BITS) } else { 0 }
    }

    /// Leaves what is to be taken at the front of `keys`.
    fn order_row<P: Packed>(&self, row: &[T], keys: &mut Vec<P>, spare: &mut Vec<P>) {
        let flip = self.flip();
        let packed = row.iter().enumerate().map(|(i, x)| P::new(x.key() ^ flip, i));
        if let Take::First { k, sorted: true } = self.take
            && k < row.len() / 8
        {
            // A bounded heap of candidates reads the row once; from an eighth on, sorting all is as fast.
            radix::smallest(packed.clone(), k + 1, keys);
            if has_equal(keys) {
                refill(keys, packed);
                unstable::smallest(keys, k, true);
            }
            return;
        }
        refill(keys, packed.clone());
        match self.take {
            Take::First { k, sorted: false } => unstable::smallest(keys, k, false),
            Take::Nth(k) => {
                nth_to_front(keys, k);
                let nth = keys[0].key();
                if keys[1..].iter().any(|p| p.key() == nth) {
                    refill(keys, packed);
                    keys[0] = unstable::nth(keys, k);
                }
            }
            Take::Median { skip_nan } => {
                let nans = row.iter().filter(|x| x.is_nan()).count();
                // NaNs are the last in order.
                let first_nan = row.len() - nans;
                let k = if nans > 0 && !skip_nan { first_nan } else { first_nan.saturating_sub(1) / 2 };
                nth_to_front(keys, k);
            }
            _ => {
                spare.resize(row.len(), P::ZERO);
                radix::sort(keys, spare, T::KEY_BITS);
                let as_they_lie = match self.take {
                    Take::All { stable } => stable || row.len() > TIES,
                    _ => false,
                };
                if !as_they_lie && has_equal(keys) {
                    refill(keys, packed);
                    match self.take {
                        Take::First { k, .. } => unstable::smallest(keys, k, true),
                        _ => unstable::sort(keys),
                    }
                }
                if matches!(self.take, Take::Mode) {
                    keys[0] = keys[most_frequent(keys, |p| row[p.index()].is_nan())];
                }
            }
        }
    }
}

/// Elements of a row up to which a whole sort leaves equal ones as PyTorch does: that takes a second sort, by comparisons,
/// which is several times as slow as the first. In longer rows they keep their order.
const TIES: usize = 1024;

fn refill<P: Packed>(keys: &mut Vec<P>, packed: impl Iterator<Item = P>) {
    keys.clear();
    keys.extend(packed);
}

/// Whether some of the keys, which are in order, are equal.
fn has_equal<P: Packed>(keys: &[P]) -> bool {
    keys.windows(2).any(|w| w[0].key() == w[1].key())
}

/// Moves the element at place `k` of the order to the front. The index is part of the key, so that equal elements have
/// one order here, too.
fn nth_to_front<P: Packed>(keys: &mut [P], k: usize) {
    let (_, nth, _) = keys.select_nth_unstable(k);
    keys[0] = *nth;
}

/// The place of the last of the equal keys that are most often among `keys`, which are in order.
fn most_frequent<P: Packed>(keys: &[P], is_nan: impl Fn(P) -> bool) -> usize {
    let (mut best, mut most, mut start) = (0, 0, 0);
    for (i, &p) in keys.iter().enumerate() {
        let is_last = keys.get(i + 1).is_none_or(|next| next.key() != p.key() || is_nan(p));
        if is_last {
            if i + 1 - start > most {
                (best, most) = (i, i + 1 - start);
            }
            start = i + 1;
        }
    }
    best
}

fn both(op: &'static str, a: &Array, dim: usize, descending: bool, take: Take) -> Result<(Array, Array)> {
    match order(a, Ask { op, dim, descending, take, values: true })? {
        (Some(values), indices) => Ok((values, indices)),
        _ => bail!(Internal, "{op}(): the values are missing"),
    }
}

/// A `NotImplemented` error for dtypes without an order.
pub fn check_order(op: &str, dtype: DType) -> Result<()> {
    if dtype.is_complex() {
        bail!(NotImplemented, "{op}(): complex numbers have no order; got dtype {dtype}");
    }
    Ok(())
}

/// The shape of [`topk`], whose errors it has.
pub fn topk_shape((dtype, shape): TypedShape<'_>, k: usize, dim: usize) -> Result<Shape> {
    check_order("topk", dtype)?;
    let n = shape.get(dim).copied().unwrap_or(1);
    if k > n {
        bail!(Runtime, "topk(): selected index k out of range: got {k} for a dimension of size {n}");
    }
    Ok(if shape.rank() == 0 { shape.clone() } else { shape.with(dim, k) })
}

/// The shape of [`kthvalue`], whose errors it has.
pub fn kthvalue_shape((dtype, shape): TypedShape<'_>, k: usize, dim: usize) -> Result<Shape> {
    check_order("kthvalue", dtype)?;
    let n = shape.get(dim).copied().unwrap_or(1);
    if n == 0 {
        bail!(Index, "kthvalue(): Expected reduction dim {dim} to have non-zero size; reduce another one");
    }
    if k == 0 || k > n {
        bail!(Runtime, "kthvalue(): selected number k out of range for dimension {dim}: got {k} for size {n}");
    }
    Ok(if shape.rank() == 0 { shape.clone() } else { shape.without(dim) })
}

/// Elements along `dim` in order, and their indices; NaN counts as greatest. Equal elements keep their order if `stable`,
/// and else lie as PyTorch's do in rows of up to 1024.
///
/// Error: `NotImplemented` for complex dtypes.
pub fn sort(a: &Array, dim: usize, descending: bool, stable: bool) -> Result<(Array, Array)> {
    both("sort", a, dim, descending, Take::All { stable })
}

/// The indices of [`sort`].
pub fn argsort(a: &Array, dim: usize, descending: bool, stable: bool) -> Result<Array> {
    Ok(order(a, Ask { op: "argsort", dim, descending, take: Take::All { stable }, values: false })?.1)
}

/// The `k` greatest (or least) elements along `dim` and their indices, in order if `sorted`. Of equal elements it takes
/// those that PyTorch does.
///
/// Error: `Runtime` if there are fewer than `k`.
pub fn topk(a: &Array, k: usize, dim: usize, largest: bool, sorted: bool) -> Result<(Array, Array)> {
    topk_shape(a.form(), k, dim)?;
    both("topk", a, dim, largest, Take::First { k, sorted })
}

/// The `k`-th least element along `dim` (`k` counts from 1) and its index; `dim` is dropped.
///
/// Errors: `Index` for an empty dimension, `Runtime` for a `k` outside `1..=n`.
pub fn kthvalue(a: &Array, k: usize, dim: usize) -> Result<(Array, Array)> {
    let shape = kthvalue_shape(a.form(), k, dim)?;
    let (values, indices) = both("kthvalue", a, dim, false, Take::Nth(k - 1))?;
    Ok((values.reshape(&shape)?, indices.reshape(&shape)?))
}

/// What [`median`] and [`mode`] give for one line: a dimension of size 1 stays.
fn one_of(op: &'static str, a: &Array, dim: usize, take: Take) -> Result<(Array, Array)> {
    check_order(op, a.dtype())?;
    if a.shape().get(dim) == Some(&0) {
        bail!(Index, "{op}(): Expected reduction dim {dim} to have non-zero size; reduce another one");
    }
    both(op, a, dim, false, take)
}

/// The element in the middle of the order along `dim`, the lower of two, and its index; `dim` stays with size 1. NaN
/// where there is one, unless NaNs are skipped.
///
/// Error: `Index` for an empty dimension.
pub fn median(a: &Array, dim: usize, skip_nan: bool) -> Result<(Array, Array)> {
    one_of(if skip_nan { "nanmedian" } else { "median" }, a, dim, Take::Median { skip_nan })
}

/// The element that is most often there along `dim`, the least of several, and the index of one of its
/// occurrences, the same as PyTorch's; `dim` stays with size 1. NaN equals nothing.
///
/// Error: `Index` for an empty dimension.
pub fn mode(a: &Array, dim: usize) -> Result<(Array, Array)> {
    one_of("mode", a, dim, Take::Mode)
}
