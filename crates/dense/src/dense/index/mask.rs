//! Places where something holds.

use super::moves::{by_width, fresh_copy};
use crate::bail;
use crate::base::{DType, Element, Result, Shape};
use crate::dense::array::{Array, Written};
use crate::match_dtype;

/// The multi-indices of non-zero elements (NaN is one) in row-major order, one per row: int64, shape (count, rank).
pub fn nonzero(a: &Array) -> Result<Array> {
    let a = a.contiguous()?;
    match_dtype!(a.dtype(), T => nonzero_of::<T>(a.as_slice().unwrap_or(&[]), a.shape()))
}

fn nonzero_of<T: Element>(x: &[T], shape: &Shape) -> Result<Array> {
    let zero = T::zero();
    let count = x.iter().filter(|&&v| v != zero).count();
    let rank = shape.rank();
    Array::build_typed::<i64>([count, rank].into(), |out, n| {
        // SAFETY: the block holds n elements, of which none is read before it is written.
        let out = unsafe { std::slice::from_raw_parts_mut(out, n) };
        if out.is_empty() {
            // SAFETY: there is nothing to write.
            return unsafe { Written::all() };
        }
        if rank == 1 {
            let last = x.iter().rposition(|&v| v != zero).unwrap_or(0);
            let mut at = 0;
            for (i, &v) in x[..=last].iter().enumerate() {
                // Written always and kept if it counts: no branch on the data.
                out[at] = i as i64;
                at += usize::from(v != zero);
            }
            // SAFETY: the last place was written by the last element that counts, those before it earlier.
            return unsafe { Written::all() };
        }
        let n = shape[rank - 1];
        let mut prefix = vec![0i64; rank - 1];
        let mut rows = out.chunks_exact_mut(rank);
        for line in x.chunks_exact(n) {
            for (i, _) in line.iter().enumerate().filter(|(_, v)| **v != zero) {
                if let Some(row) = rows.next() {
                    row.iter_mut().zip(&prefix).for_each(|(r, &p)| *r = p);
                    row[rank - 1] = i as i64;
                }
            }
            for d in (0..rank - 1).rev() {
                prefix[d] += 1;
                if (prefix[d] as usize) < shape[d] {
                    break;
                }
                prefix[d] = 0;
            }
        }
        // SAFETY: one row is written for each of the `count` elements that are not zero.
        unsafe { Written::all() }
    })
}

/// The mask as contiguous bools of the shape of `a`.
fn mask_of(op: &str, a: &Array, mask: &Array) -> Result<Array> {
    if mask.dtype() != DType::Bool {
        bail!(Runtime, "{op}(): expected a mask of dtype bool, got {}", mask.dtype());
    }
    if mask.shape() != a.shape() {
        bail!(Runtime, "{op}(): expected a mask of shape {}, got {}", a.shape(), mask.shape());
    }
    mask.contiguous()
}

/// The elements where `mask` (of the shape of `a`) is true, in row-major order.
pub fn masked_select(a: &Array, mask: &Array) -> Result<Array> {
    let mask = mask_of("masked_select", a, mask)?;
    let mask: &[bool] = mask.as_slice().unwrap_or(&[]);
    let a = a.contiguous()?;
    let count = mask.iter().filter(|&&m| m).count();
    Array::build_bytes(a.dtype(), [count].into(), |out, _| {
        by_width!(a.dtype().size(), T => {
            let (src, mut out) = (a.ptr().cast::<T>(), out.cast::<T>());
            let used = mask.iter().rposition(|&m| m).map_or(0, |last| last + 1);
            for (i, &m) in mask[..used].iter().enumerate() {
                // SAFETY: one mask element per source element, and `out` holds as many as are true; what is written
                // too much is followed by one that is true, which takes its place.
                unsafe {
                    out.write(src.add(i).read());
                    out = out.add(usize::from(m));
                }
            }
        });
        // SAFETY: one element was written for each that is true.
        unsafe { Written::all() }
    })
}

/// A copy of `a` whose elements where `mask` is true are those of `src`, taken in row-major order.
///
/// Error: `Runtime` if `src` has too few elements, or for dtypes or shapes that do not fit.
pub fn masked_scatter(a: &Array, mask: &Array, src: &Array) -> Result<Array> {
    const OP: &str = "masked_scatter";
    let mask = mask_of(OP, a, mask)?;
    let mask: &[bool] = mask.as_slice().unwrap_or(&[]);
    if a.dtype() != src.dtype() {
        bail!(
            Runtime,
            "{OP}(): expected self and source to have same dtypes but got {} and {}",
            a.dtype(),
            src.dtype()
        );
    }
    let count = mask.iter().filter(|&&m| m).count();
    if count > src.numel() {
        bail!(Runtime, "{OP}(): Number of elements of source < number of ones in mask ({} < {count})", src.numel());
    }
    let src = src.contiguous()?;
    let mut out = fresh_copy(a)?;
    by_width!(a.dtype().size(), T => {
        let (mut from, to) = (src.ptr().cast::<T>(), out.ptr_mut().cast::<T>());
        for (i, _) in mask.iter().enumerate().filter(|(_, m)| **m) {
            // SAFETY: one mask element per element of `out`; `src` has as many as are true.
            unsafe {
                to.add(i).write(from.read());
                from = from.add(1);
            }
        }
    });
    Ok(out)
}
