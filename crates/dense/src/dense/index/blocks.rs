//! One index per block of elements: selecting rows, and advanced indexing.

use super::moves::{by_width, fresh_copy};
use super::{out_of_range, require_indices};
use crate::bail;
use crate::base::{DType, Layout, Result, Shape};
use crate::dense::array::{Array, Written};
use crate::dense::copy::cast;
use crate::dense::memory::list;
use crate::dense::parallel::{self, Shared};
use crate::dense::reduce::op::{Max, Op, Sum};
use num_complex::Complex;
use std::ops::Range;

/// Columns that one task adds up.
const COLUMNS: usize = 256;

/// Offsets of blocks: `index * step`, each checked. Negative indices count from the end if `wrap`.
fn offsets(op: &str, index: &Array, dim: usize, size: usize, step: isize, wrap: bool, out: &mut [isize]) -> Result<()> {
    let index = index.contiguous()?;
    let index: &[i64] = index.as_slice().unwrap_or(&[]);
    let n = size as i64;
    for (o, &i) in out.iter_mut().zip(index) {
        let at = if wrap && i < 0 { i + n } else { i };
        if at < 0 || at >= n {
            return Err(out_of_range(op, i, dim, size));
        }
        *o += at as isize * step;
    }
    Ok(())
}

/// `out[.., j, ..] = a[.., index[j], ..]` along `dim`; `index` has rank 1 (or 0, as one element).
///
/// Errors: `Index` for a rank above 1, and for an index outside `0..a.shape()[dim]`.
pub fn select(a: &Array, dim: usize, index: &Array) -> Result<Array> {
    const OP: &str = "index_select";
    require_indices(OP, index.dtype())?;
    if index.rank() > 1 {
        bail!(Index, "{OP}(): Index is supposed to be a vector, got shape {}", index.shape());
    }
    if a.rank() == 0 {
        let one = select(&a.reshape(&[1].into())?, 0, index)?;
        return if index.numel() == 1 { one.reshape(a.shape()) } else { Ok(one) };
    }
    let mut at = zeros(OP, index.numel())?;
    offsets(OP, index, dim, a.shape()[dim], a.strides()[dim], false, &mut at)?;
    if is_scattered(a) && 2 * at.len() >= a.shape()[dim] {
        // Put in order once, all that is taken is read along the lines of the cache.
        return select(&a.contiguous()?, dim, index);
    }
    let part =
        |r: Range<usize>| Layout { shape: a.shape()[r.clone()].into(), strides: a.strides()[r].into(), offset: 0 };
    let (leading, blocks) = (part(0..dim), part(dim + 1..a.rank()));
    Array::build_bytes(a.dtype(), a.shape().with(dim, at.len()), |out, n| {
        if n > 0 {
            // SAFETY: the offsets were checked; `out` holds one block per offset and leading position.
            unsafe { take(a, &Lead::of(&leading), &at, &blocks, out) }
        }
        // SAFETY: the blocks are all of it.
        unsafe { Written::all() }
    })
}

/// `n` zeros; of many an error where memory for them cannot be had.
fn zeros(op: &str, n: usize) -> Result<Vec<isize>> {
    const FEW: usize = 1 << 20;
    if n <= FEW { Ok(vec![0; n]) } else { list(op, n, std::iter::repeat_n(0, n)) }
}

/// Whether neighbours in row-major order lie far apart in memory, while others are neighbours there.
fn is_scattered(a: &Array) -> bool {
    let strides = a.strides();
    !a.is_contiguous() && strides.last().is_some_and(|s| s.abs() > 1) && strides.iter().any(|s| s.abs() == 1)
}

/// Offsets of the positions in front of a dimension, in row-major order.
enum Lead {
    /// So many, at equal distances.
    Even {
        count: usize,
        step: isize,
    },
    Listed(Vec<isize>),
}

impl Lead {
    const ONE: Lead = Lead::Even { count: 1, step: 0 };

    fn of(layout: &Layout) -> Lead {
        match layout.collapse()[..] {
            [] => Lead::ONE,
            [(count, step)] => Lead::Even { count, step },
            _ => {
                let mut all = vec![0];
                for (&n, &step) in layout.shape.iter().zip(&layout.strides) {
                    all = all.iter().flat_map(|&at| (0..n as isize).map(move |i| at + i * step)).collect();
                }
                Lead::Listed(all)
            }
        }
    }

    fn len(&self) -> usize {
        match self {
            Lead::Even { count, .. } => *count,
            Lead::Listed(all) => all.len(),
        }
    }

    fn at(&self, i: usize) -> isize {
        match self {
            Lead::Even { step, .. } => i as isize * step,
            Lead::Listed(all) => all[i],
        }
    }
}

/// Copies the block at each `lead.at(i) + at[j]` to the contiguous output.
///
/// # Safety
/// All these blocks lie inside `a`; `out` holds them.
unsafe fn take(a: &Array, lead: &Lead, at: &[isize], block: &Layout, out: *mut u8) {
    let (src, size) = (a.ptr() as usize, a.dtype().size());
    let len = block.shape.numel();
    let dims = block.collapse();
    let out = Shared(out);
    parallel::ranges(lead.len() * at.len(), len, &|lo, hi| {
        by_width!(size, T => {
            let mut out = out.at(lo * len * size).cast::<T>();
            let mut i = lo;
            while i < hi {
                let (l, j) = (i / at.len(), i % at.len());
                let run = &at[j..at.len().min(j + hi - i)];
                let src = (src as *const T).wrapping_offset(lead.at(l));
                // SAFETY: by the contract.
                unsafe {
                    match dims[..] {
                        [] => for (k, &o) in run.iter().enumerate() {
                            out.add(k).write(src.offset(o).read());
                        },
                        [(n, 1)] => for (k, &o) in run.iter().enumerate() {
                            std::ptr::copy_nonoverlapping(src.offset(o), out.add(k * n), n);
                        },
                        _ => for (k, &o) in run.iter().enumerate() {
                            take_strided(src.offset(o), &dims, out.add(k * len));
                        },
                    }
                    out = out.add(run.len() * len);
                }
                i += run.len();
            }
        })
    });
}

/// # Safety
/// The loops lie inside the source, `out` holds their elements.
unsafe fn take_strided<T: Copy>(src: *const T, dims: &[(usize, isize)], mut out: *mut T) {
    let Some((&(n, step), inner)) = dims.split_first() else {
        // SAFETY: by the contract.
        return unsafe { out.write(src.read()) };
    };
    let len: usize = inner.iter().map(|d| d.0).product();
    for i in 0..n as isize {
        // SAFETY: by the contract.
        unsafe {
            take_strided(src.offset(i * step), inner, out);
            out = out.add(len);
        }
    }
}

/// The sum over the indexed dimensions, for each position of the indices, of index times step.
fn many_offsets(op: &str, a: &Array, steps: &[isize], indices: &[Array]) -> Result<(Shape, Vec<isize>)> {
    let Some(first) = indices.first() else {
        bail!(Internal, "{op}(): no index was given");
    };
    if indices.len() > a.rank() {
        bail!(Index, "{op}(): too many indices for tensor of dimension {}", a.rank());
    }
    let shape = first.shape().clone();
    let mut at = zeros(op, shape.numel())?;
    for (d, index) in indices.iter().enumerate() {
        require_indices(op, index.dtype())?;
        if *index.shape() != shape {
            bail!(Internal, "{op}(): indices of shapes {shape} and {} were not broadcast", index.shape());
        }
        offsets(op, index, d, a.shape()[d], steps[d], true, &mut at)?;
    }
    Ok((shape, at))
}

fn concat(a: &[usize], b: &[usize]) -> Shape {
    a.iter().chain(b).copied().collect()
}

/// Advanced indexing: `out[i.., rest..] = a[indices[0][i..], indices[1][i..], .., rest..]`.
///
/// The indices index the first dimensions of `a` and have one common shape. Negative ones count from the end.
/// Errors: `Index` for an index out of range.
pub fn take_many(a: &Array, indices: &[Array]) -> Result<Array> {
    let steps = a.strides();
    let (shape, at) = many_offsets("index", a, &steps, indices)?;
    let k = indices.len();
    let block = Layout { shape: a.shape()[k..].into(), strides: steps[k..].into(), offset: 0 };
    Array::build_bytes(a.dtype(), concat(&shape, &block.shape), |out, n| {
        if n > 0 {
            // SAFETY: the offsets were checked; `out` holds one block per offset.
            unsafe { take(a, &Lead::ONE, &at, &block, out) }
        }
        // SAFETY: the blocks are all of it.
        unsafe { Written::all() }
    })
}

/// A copy of `a` with `out[indices[0][i..], indices[1][i..], .., rest..] = src[i.., rest..]`, or `+=` if
/// `accumulate` (for bool: or). `src` has the shape of [`take_many`]'s result; of several writes the last stays.
///
/// Errors: `Runtime` if shapes or dtypes do not fit, `Index` for an index out of range.
pub fn put_many(a: &Array, indices: &[Array], src: &Array, accumulate: bool) -> Result<Array> {
    const OP: &str = "index_put";
    let k = indices.len();
    let (shape, at) = many_offsets(OP, a, &a.shape().contiguous_strides(), indices)?;
    let want = concat(&shape, &a.shape()[k..]);
    put(OP, a, &Lead::ONE, &at, a.shape()[k..].iter().product(), src, &want, accumulate)
}

/// A copy of `a` with `out[.., index[j], ..] += src[.., j, ..]` along `dim` (`index_add`). Halves add in float32.
///
/// Errors: `Runtime` if shapes or dtypes do not fit, `Index` for an index outside `0..a.shape()[dim]`.
pub fn add_at(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    put_at_dim("index_add", a, dim, index, src, true)
}

/// A copy of `a` with `out[.., index[j], ..] = src[.., j, ..]` along `dim` (`index_copy`). Errors as in [`add_at`].
pub fn put_at(a: &Array, dim: usize, index: &Array, src: &Array) -> Result<Array> {
    put_at_dim("index_copy", a, dim, index, src, false)
}

fn put_at_dim(op: &str, a: &Array, dim: usize, index: &Array, src: &Array, accumulate: bool) -> Result<Array> {
    require_indices(op, index.dtype())?;
    if index.rank() > 1 {
        bail!(Index, "{op}(): Index is supposed to be a vector, got shape {}", index.shape());
    }
    if a.rank() == 0 {
        let one = Shape::from([1]);
        return put_at_dim(op, &a.reshape(&one)?, 0, index, &src.reshape(&one)?, accumulate)?.reshape(a.shape());
    }
    let steps = a.shape().contiguous_strides();
    let mut at = zeros(op, index.numel())?;
    offsets(op, index, dim, a.shape()[dim], steps[dim], false, &mut at)?;
    let want = a.shape().with(dim, at.len());
    // A 0-d source stands for one with a single element along `dim`.
    let src = if src.rank() == 0 && want.numel() == 1 { src.reshape(&want)? } else { src.clone() };
    let lead = Lead::of(&Layout { shape: a.shape()[..dim].into(), strides: steps[..dim].into(), offset: 0 });
    put(op, a, &lead, &at, a.shape()[dim + 1..].iter().product(), &src, &want, accumulate)
}

#[allow(clippy::too_many_arguments)]
fn put(
    op: &str,
    a: &Array,
    lead: &Lead,
    at: &[isize],
    len: usize,
    src: &Array,
    want: &Shape,
    accumulate: bool,
) -> Result<Array> {
    if a.dtype() != src.dtype() {
        bail!(
            Runtime,
            "{op}(): Expected source and destination to have one dtype, got {} and {}",
            src.dtype(),
            a.dtype()
        );
    }
    if src.shape() != want {
        bail!(Runtime, "{op}(): Expected a source of shape {want}, got {}", src.shape());
    }
    if accumulate && a.dtype().is_half() {
        let (wide, src) = (cast(a, DType::F32)?, cast(src, DType::F32)?);
        return cast(&put(op, &wide, lead, at, len, &src, want, true)?, a.dtype());
    }
    let mut out = fresh_copy(a)?;
    if want.numel() == 0 {
        return Ok(out);
    }
    let (src, to) = (src.contiguous()?, Shared(out.ptr_mut()));
    // SAFETY: `out` is ours and contiguous; the offsets were computed for its shape and checked.
    unsafe {
        if !accumulate {
            write_blocks(&src, lead, at, len, to);
            return Ok(out);
        }
        match a.dtype() {
            DType::Bool => add_blocks::<Max<u8>>(&src, lead, at, len, to),
            DType::C64 => add_blocks::<Sum<Complex<f32>>>(&src, lead, at, len, to),
            DType::C128 => add_blocks::<Sum<Complex<f64>>>(&src, lead, at, len, to),
            d => crate::match_dtype!(d, number T => add_blocks::<Sum<T>>(&src, lead, at, len, to), else ()),
        }
    }
    Ok(out)
}

/// # Safety
/// `out` holds a block of `len` elements at every `lead.at(i) + at[j]`; `src` is contiguous and holds one for each.
unsafe fn write_blocks(src: &Array, lead: &Lead, at: &[isize], len: usize, out: Shared<u8>) {
    by_width!(src.dtype().size(), T => {
        let (mut from, out) = (src.ptr().cast::<T>(), out.0.cast::<T>());
        for base in (0..lead.len()).map(|i| lead.at(i)) {
            for &offset in at {
                // SAFETY: by the contract.
                unsafe {
                    if len == 1 {
                        out.offset(base + offset).write(from.read());
                    } else {
                        std::ptr::copy_nonoverlapping(from, out.offset(base + offset), len);
                    }
                    from = from.add(len);
                }
            }
        }
    })
}

/// As [`write_blocks`], joining with what is there. Tasks take ranges of columns, so that every element sees its
/// addends in the order of the indices.
///
/// # Safety
/// As [`write_blocks`], and `O::A` is how the elements are stored.
unsafe fn add_blocks<O: Op>(src: &Array, lead: &Lead, at: &[isize], len: usize, out: Shared<u8>) {
    let src = src.ptr() as usize;
    let (writes, chunks) = (lead.len() * at.len(), len.div_ceil(COLUMNS));
    parallel::ranges(chunks, writes * COLUMNS.min(len), &|lo, hi| {
        let (lo, hi) = (lo * COLUMNS, len.min(hi * COLUMNS));
        let out = out.at(0).cast::<O::A>();
        for (i, base) in (0..lead.len()).map(|i| (i, lead.at(i))) {
            for (j, &offset) in at.iter().enumerate() {
                // SAFETY: by the contract; the columns of a task are its own.
                unsafe {
                    let from = (src as *const O::A).add((i * at.len() + j) * len);
                    if len == 1 {
                        let to = out.offset(base + offset);
                        to.write(O::join(to.read(), from.read()));
                        continue;
                    }
                    let from = std::slice::from_raw_parts(from.add(lo), hi - lo);
                    let to = std::slice::from_raw_parts_mut(out.offset(base + offset).add(lo), hi - lo);
                    for (t, &f) in to.iter_mut().zip(from) {
                        *t = O::join(*t, f);
                    }
                }
            }
        }
    });
}
