//! Triangles, padding and rolling.

use super::moves::{by_width, copy_to};
use crate::bail;
use crate::base::{Element, Layout, Result, Scalar, Shape, size};
use crate::dense::array::{Array, Written};
use crate::dense::copy::from_scalar;
use crate::dense::parallel::{self, Shared};

/// A `Runtime` error if these are no matrices that [`tri`] takes.
pub fn check_matrices(shape: &Shape, upper: bool) -> Result<()> {
    if shape.rank() < 2 {
        let op = if upper { "triu" } else { "tril" };
        bail!(Runtime, "{op}(): input tensor must have at least 2 dimensions, got shape {shape}");
    }
    Ok(())
}

/// `a` with zeros below (`upper`) or above the given diagonal of the last two dimensions.
///
/// Error: `Runtime` for a rank below 2.
pub fn tri(a: &Array, diagonal: i64, upper: bool) -> Result<Array> {
    check_matrices(a.shape(), upper)?;
    let a = a.contiguous()?;
    let (rows, cols) = (a.shape()[a.rank() - 2], a.shape()[a.rank() - 1]);
    let size = a.dtype().size();
    let src = a.ptr() as usize;
    Array::build_bytes(a.dtype(), a.shape().clone(), |out, n| {
        if n == 0 {
            // SAFETY: there is nothing to write.
            return unsafe { Written::all() };
        }
        let out = Shared(out);
        parallel::ranges(n / cols, cols, &|lo, hi| {
            for row in lo..hi {
                // First column that is not on the left of the diagonal (upper), or that is on its right (lower).
                let edge = ((row % rows) as i64).saturating_add(diagonal).saturating_add(i64::from(!upper));
                let edge = edge.clamp(0, cols as i64) as usize * size;
                let bytes = cols * size;
                let (keep, clear) = if upper { (edge..bytes, 0..edge) } else { (0..edge, edge..bytes) };
                // SAFETY: both hold `rows` times `cols` elements per matrix; rows differ between tasks.
                unsafe {
                    let (src, out) = ((src as *const u8).add(row * bytes), out.at(row * bytes));
                    std::ptr::copy_nonoverlapping(src.add(keep.start), out.add(keep.start), keep.len());
                    std::ptr::write_bytes(out.add(clear.start), 0, clear.len());
                }
            }
        });
        // SAFETY: the tasks wrote each row.
        unsafe { Written::all() }
    })
}

/// The shape of [`pad`], whose errors it has.
pub fn padded_shape(shape: &Shape, pads: &[(i64, i64)]) -> Result<Shape> {
    if pads.len() != shape.rank() {
        bail!(Runtime, "pad(): expected one pair of sizes for each of {} dimensions, got {}", shape.rank(), pads.len());
    }
    let mut out = shape.clone();
    for (d, &(before, after)) in pads.iter().enumerate() {
        let Some(size) = size::padded(shape[d], before, after) else {
            bail!(
                Runtime,
                "pad(): The input size {}, plus padding {before} and {after}, resulted in a negative output size, \
                 which is invalid. Check dimension {d} of your input.",
                shape[d]
            );
        };
        out[d] = size;
    }
    out.checked("pad")
}

/// `a` with `pads[d]` elements equal to `value` before and after dimension `d`; negative numbers crop.
///
/// Errors: `Runtime` if a size would be negative, or if there is not one pair per dimension.
pub fn pad(a: &Array, pads: &[(i64, i64)], value: Scalar) -> Result<Array> {
    let shape = padded_shape(a.shape(), pads)?;
    // The part of `a` that stays, and where it begins in the output.
    let mut inner = a.layout();
    let mut place = Layout::contiguous(Shape::scalar());
    for (d, &(before, after)) in pads.iter().enumerate() {
        let n = a.shape()[d] as i64;
        let crop = |p: i64| p.saturating_neg().clamp(0, n);
        let (start, end) = (crop(before), n - crop(after));
        inner = inner.slice(d, start as usize, (end - start).max(0) as usize, 1);
    }
    let kept = a.view(|_| inner)?;
    let strides = shape.contiguous_strides();
    for (d, &(before, _)) in pads.iter().enumerate() {
        place.offset += before.max(0) as usize * strides[d] as usize;
    }
    (place.shape, place.strides) = (kept.shape().clone(), strides);
    let fills = kept.numel() == shape.checked_numel().unwrap_or(usize::MAX);
    crate::match_dtype!(a.dtype(), T => {
        let x: T = from_scalar(value);
        Array::build_typed::<T>(shape, |out, n| {
            // SAFETY: the block holds n elements, of which none is read before it is written.
            let out = unsafe { std::slice::from_raw_parts_mut(out, n) };
            if !fills {
                fill(out, x);
            }
            // SAFETY: the kept part lies inside the output at `place`.
            unsafe { copy_to(&kept, out.as_mut_ptr().cast(), &place) }
            // SAFETY: all is filled first, unless the kept part is all.
            unsafe { Written::all() }
        })
    })
}

/// Sets all elements, by width so that large ones share code.
fn fill<T: Element>(out: &mut [T], x: T) {
    let shared = Shared(out.as_mut_ptr().cast::<u8>());
    parallel::ranges(out.len(), 1, &|lo, hi| {
        by_width!(size_of::<T>(), W => {
            // SAFETY: same width as `T`; ranges differ between tasks.
            unsafe {
                let x = std::ptr::from_ref(&x).cast::<W>().read_unaligned();
                std::slice::from_raw_parts_mut(shared.at(0).cast::<W>().add(lo), hi - lo).fill(x);
            }
        })
    });
}

/// `out[(i + shift) mod n] = a[i]` along each given dimension; without dimensions, along the flattened array.
///
/// Error: `Runtime` if there is not one shift per dimension.
pub fn roll(a: &Array, shifts: &[i64], dims: &[usize]) -> Result<Array> {
    if dims.is_empty() && shifts.len() == 1 {
        return roll(&a.reshape(&[a.numel()].into())?, shifts, &[0])?.reshape(a.shape());
    }
    if shifts.is_empty() || shifts.len() != dims.len() {
        bail!(Runtime, "roll(): shifts and dimensions must align. shifts: {}, dims: {}", shifts.len(), dims.len());
    }
    if a.numel() == 0 || a.rank() == 0 {
        return Ok(a.clone());
    }
    let mut moved = vec![0usize; a.rank()];
    for (&s, &d) in shifts.iter().zip(dims) {
        let n = a.shape()[d] as i64;
        moved[d] = (moved[d] as u64 + s.rem_euclid(n) as u64).rem_euclid(n as u64) as usize;
    }
    Array::build_bytes(a.dtype(), a.shape().clone(), |out, _| {
        let whole = Layout::contiguous(a.shape().clone());
        // SAFETY: source and target of each piece lie inside, and the pieces cover the output.
        unsafe {
            roll_piece(a, a.layout(), whole, &moved, 0, out);
            Written::all()
        }
    })
}

/// Cuts dimension `d` and those after it in two where they are rolled, and copies the pieces.
///
/// # Safety
/// `from` lies inside `a`, `to` inside the output, and they have one shape.
unsafe fn roll_piece(a: &Array, from: Layout, to: Layout, moved: &[usize], d: usize, out: *mut u8) {
    // SAFETY: pieces of layouts inside are inside.
    unsafe {
        let Some(&shift) = moved.get(d) else {
            if let Ok(piece) = a.view(|_| from) {
                copy_to(&piece, out, &to);
            }
            return;
        };
        let n = from.shape[d];
        if shift == 0 {
            return roll_piece(a, from, to, moved, d + 1, out);
        }
        let (head, tail) = (from.slice(d, 0, n - shift, 1), from.slice(d, n - shift, shift, 1));
        roll_piece(a, head, to.slice(d, shift, n - shift, 1), moved, d + 1, out);
        roll_piece(a, tail, to.slice(d, 0, shift, 1), moved, d + 1, out);
    }
}
