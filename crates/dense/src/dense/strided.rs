//! Reading strided operands in row-major order.

use smallvec::SmallVec;

/// A strided view of memory, broadcast to an index space.
pub struct Strided {
    pub ptr: *const u8,
    /// Bytes per element: 1, 2, 4, 8 or 16.
    pub width: usize,
    /// Element strides, one per dimension of the index space.
    pub strides: SmallVec<[isize; 6]>,
}

// SAFETY: a view is only read, while the caller that made it vouches for the memory.
unsafe impl Sync for Strided {}

/// Drops dimensions of size 1 and merges neighbours that every input steps through evenly. The dimensions and the
/// strides of the inputs are rewritten; one dimension at least is left.
pub fn merge_dims(dims: &mut SmallVec<[usize; 6]>, inputs: &mut [Strided]) {
    let mut rank = 0;
    for d in 0..dims.len() {
        let size = dims[d];
        if size == 1 {
            continue;
        }
        let merges = rank > 0 && inputs.iter().all(|i| i.strides[rank - 1] == i.strides[d] * size as isize);
        if merges {
            dims[rank - 1] *= size;
        } else {
            dims[rank] = size;
            rank += 1;
        }
        inputs.iter_mut().for_each(|i| i.strides[rank - 1] = i.strides[d]);
    }
    if rank == 0 {
        dims.clear();
        dims.push(1);
        inputs.iter_mut().for_each(|i| i.strides = SmallVec::from_elem(0, 1));
        return;
    }
    dims.truncate(rank);
    inputs.iter_mut().for_each(|i| i.strides.truncate(rank));
}

/// Whether the strides are those of row-major order.
pub fn is_row_major(dims: &[usize], strides: &[isize]) -> bool {
    let mut acc = 1;
    dims.iter().zip(strides).rev().all(|(&d, &s)| {
        let ok = s == acc;
        acc *= d as isize;
        ok
    })
}

/// Whether neighbours along the last dimension lie far apart and those along the one before it close together, so
/// that it pays to read several rows at once.
pub fn is_transposed(dims: &[usize], strides: &[isize]) -> bool {
    let r = dims.len();
    r >= 2 && dims[r - 2] >= 4 && strides[r - 1].abs() >= 16 && strides[r - 2] != 0 && strides[r - 2].abs() <= 2
}

/// A position in the index space and each input's offset there.
pub struct Walk<'a> {
    dims: &'a [usize],
    inputs: &'a [Strided],
    index: SmallVec<[usize; 6]>,
    offsets: SmallVec<[isize; 4]>,
}

impl<'a> Walk<'a> {
    /// At the `flat`-th element in row-major order. The index space must not be empty.
    pub fn at(dims: &'a [usize], inputs: &'a [Strided], flat: usize) -> Walk<'a> {
        let mut index = SmallVec::from_elem(0, dims.len());
        let mut offsets = SmallVec::from_elem(0, inputs.len());
        let mut left = flat;
        for d in (0..dims.len()).rev() {
            if left == 0 {
                break;
            }
            index[d] = left % dims[d];
            left /= dims[d];
            for (o, i) in offsets.iter_mut().zip(inputs) {
                *o += index[d] as isize * i.strides[d];
            }
        }
        Walk { dims, inputs, index, offsets }
    }

    /// Element offset of input `k`.
    pub fn offset(&self, k: usize) -> isize {
        self.offsets[k]
    }

    /// Elements to the end of the innermost run.
    pub fn inner_left(&self) -> usize {
        let last = self.dims.len() - 1;
        self.dims[last] - self.index[last]
    }

    /// `m` elements on.
    pub fn advance(&mut self, m: usize) {
        let mut carry = m;
        for d in (0..self.dims.len()).rev() {
            if carry == 0 {
                return;
            }
            let before = self.index[d];
            let x = before + carry;
            let now = if x < self.dims[d] { x } else { x % self.dims[d] };
            carry = if x < self.dims[d] { 0 } else { x / self.dims[d] };
            self.index[d] = now;
            for (o, i) in self.offsets.iter_mut().zip(self.inputs) {
                *o += (now as isize - before as isize) * i.strides[d];
            }
        }
    }
}

/// Runs a generic body with `$T` bound to a type of that many bytes that is only moved, never computed with.
macro_rules! by_width {
    ($width:expr, $T:ident => $body:expr) => {
        match $width {
            1 => {
                type $T = u8;
                $body
            }
            2 => {
                type $T = u16;
                $body
            }
            4 => {
                type $T = u32;
                $body
            }
            8 => {
                type $T = u64;
                $body
            }
            _ => {
                type $T = [u64; 2];
                $body
            }
        }
    };
}
pub(crate) use by_width;

/// Copies `m` elements of input `k` from the walk's position on into `out`.
///
/// # Safety
/// The elements must be readable, and `out` have room for them.
pub unsafe fn tile(input: &Strided, dims: &[usize], walk: &Walk, k: usize, m: usize, out: *mut u8) {
    // SAFETY: handed through.
    by_width!(input.width, T => unsafe { tile_of::<T>(input, dims, &walk.index, walk.offset(k), m, out.cast()) })
}

/// # Safety
/// As for [`tile`].
unsafe fn tile_of<T: Copy>(input: &Strided, dims: &[usize], index: &[usize], offset: isize, m: usize, out: *mut T) {
    debug_assert!(out.is_aligned(), "elements of {} bytes at {out:?}", size_of::<T>());
    let last = dims.len() - 1;
    let inner = input.strides[last];
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_slice(index);
    let (mut offset, mut done) = (offset, 0);
    while done < m {
        let mut d = last;
        let groups = if inner == 0 && last > 0 && index[last] == 0 && dims[last] <= SHORT {
            (dims[last - 1] - index[last - 1]).min((m - done) / dims[last])
        } else {
            0
        };
        if groups > 1 {
            d = last - 1;
            // SAFETY: these elements lie inside the input, and `out` has room for m elements.
            unsafe {
                repeat_each(input.ptr.cast::<T>().offset(offset), input.strides[d], groups, dims[last], out.add(done))
            };
            done += groups * dims[last];
            index[d] += groups;
            offset += groups as isize * input.strides[d];
        } else {
            let run = (dims[last] - index[last]).min(m - done);
            // SAFETY: the run lies inside the input, and `out` has room for m elements.
            unsafe { copy_run(input.ptr.cast::<T>().offset(offset), inner, run, out.add(done)) };
            done += run;
            index[last] += run;
            offset += run as isize * inner;
        }
        while index[d] == dims[d] && d > 0 {
            offset -= dims[d] as isize * input.strides[d];
            index[d] = 0;
            d -= 1;
            index[d] += 1;
            offset += input.strides[d];
        }
    }
}

/// Runs of one element up to which several are written together.
const SHORT: usize = 16;

/// `n` elements at steps of `stride`, each `times` times.
///
/// # Safety
/// The elements must be readable, and `out` have room for all.
unsafe fn repeat_each<T: Copy>(src: *const T, stride: isize, n: usize, times: usize, out: *mut T) {
    #[inline(always)]
    unsafe fn each<T: Copy>(src: *const T, stride: isize, n: usize, times: usize, out: *mut T) {
        for i in 0..n {
            // SAFETY: by the contract.
            unsafe {
                let x = *src.offset(i as isize * stride);
                for t in 0..times {
                    out.add(i * times + t).write(x);
                }
            }
        }
    }
    // SAFETY: handed through; the commonest numbers are compiled by themselves.
    unsafe {
        match (times, stride) {
            (2, 1) => each(src, 1, n, 2, out),
            (3, 1) => each(src, 1, n, 3, out),
            (4, 1) => each(src, 1, n, 4, out),
            _ => each(src, stride, n, times, out),
        }
    }
}

/// # Safety
/// `n` elements at steps of `stride` must be readable at `src`, and `out` have room for them.
#[inline(always)]
unsafe fn copy_run<T: Copy>(src: *const T, stride: isize, n: usize, out: *mut T) {
    // SAFETY: by the contract; `out` overlaps nothing.
    unsafe {
        match stride {
            1 if n >= 8 => std::ptr::copy_nonoverlapping(src, out, n),
            0 => super::fill::fill(std::slice::from_raw_parts_mut(out, n), *src),
            -1 => {
                let row = std::slice::from_raw_parts(src.offset(1 - n as isize), n);
                for (o, &x) in std::slice::from_raw_parts_mut(out, n).iter_mut().zip(row.iter().rev()) {
                    *o = x;
                }
            }
            _ => {
                for (i, o) in std::slice::from_raw_parts_mut(out, n).iter_mut().enumerate() {
                    *o = *src.offset(i as isize * stride);
                }
            }
        }
    }
}

/// Copies the elements `lo .. hi` in row-major order into `out`.
///
/// # Safety
/// The elements must be readable, and `out` have room for them.
pub unsafe fn range(input: &Strided, dims: &[usize], lo: usize, hi: usize, out: *mut u8) {
    if lo >= hi {
        return;
    }
    let this = std::slice::from_ref(input);
    if !is_transposed(dims, &input.strides) {
        // SAFETY: handed through.
        return unsafe { tile(input, dims, &Walk::at(dims, this, lo), 0, hi - lo, out) };
    }
    let (inner, rows) = (dims[dims.len() - 1], dims[dims.len() - 2]);
    let mut at = lo;
    while at < hi {
        let walk = Walk::at(dims, this, at);
        let left = walk.inner_left();
        // SAFETY: the pieces lie inside the range; the rest is handed through.
        unsafe {
            let out = out.add((at - lo) * input.width);
            let group = ((hi - at) / inner).min(rows - walk.index[dims.len() - 2]).min(ROWS);
            if left == inner && group > 1 {
                by_width!(input.width, T => rows_of::<T>(input, walk.offset(0), inner, group, out.cast()));
                at += group * inner;
            } else {
                let m = left.min(hi - at);
                tile(input, dims, &walk, 0, m, out);
                at += m;
            }
        }
    }
}

/// Rows that are read together: a cache line of 4-byte elements.
const ROWS: usize = 16;
/// Columns per block: as many lines as one set of the first-level cache holds, for strides that are powers of two.
const COLUMNS: usize = 8;

/// Rows and columns that are transposed in registers.
const BLOCK: usize = 4;

/// Asks for the cache line at `p`, which need not be readable.
#[inline(always)]
pub(super) fn prefetch<T>(p: *const T) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing and never faults.
    unsafe {
        std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(p.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = p;
}

/// Copies `rows` rows of `inner` elements in blocks, so that lines that the rows share are read once.
///
/// # Safety
/// As for [`range`].
unsafe fn rows_of<T: Copy>(input: &Strided, offset: isize, inner: usize, rows: usize, out: *mut T) {
    debug_assert!(out.is_aligned(), "elements of {} bytes at {out:?}", size_of::<T>());
    let r = input.strides.len();
    let (down, along) = (input.strides[r - 2], input.strides[r - 1]);
    // SAFETY: by the contract.
    unsafe {
        let src = input.ptr.cast::<T>().offset(offset);
        let mut column = 0;
        while column < inner {
            let m = COLUMNS.min(inner - column);
            let block = src.offset(column as isize * along);
            // No hardware prefetcher follows these strides.
            for ahead in 2 * COLUMNS..3 * COLUMNS {
                prefetch(block.wrapping_offset(ahead as isize * along));
            }
            let mut row = 0;
            if down == 1 && m == COLUMNS {
                while row + BLOCK <= rows {
                    let to = out.add(row * inner + column);
                    for c in (0..COLUMNS).step_by(BLOCK) {
                        transpose(block.offset(row as isize + c as isize * along), along, to.add(c), inner);
                    }
                    row += BLOCK;
                }
            }
            for row in row..rows {
                let (from, to) = (block.offset(row as isize * down), out.add(row * inner + column));
                if m == COLUMNS {
                    // A fixed number of elements, loaded before they are stored.
                    let x: [T; COLUMNS] = std::array::from_fn(|i| *from.offset(i as isize * along));
                    to.cast::<[T; COLUMNS]>().write_unaligned(x);
                } else {
                    copy_run(from, along, m, to);
                }
            }
            column += m;
        }
    }
}

/// Transposes a block: neighbours at `src` become neighbours down the columns of `out`, whose rows are `inner` apart.
///
/// # Safety
/// `BLOCK` elements must be readable at each of as many steps of `along` from `src`, and the block of `out` writable.
#[inline(always)]
unsafe fn transpose<T: Copy>(src: *const T, along: isize, out: *mut T, inner: usize) {
    // SAFETY: by the contract.
    unsafe {
        let x: [[T; BLOCK]; BLOCK] =
            std::array::from_fn(|i| src.offset(i as isize * along).cast::<[T; BLOCK]>().read_unaligned());
        for r in 0..BLOCK {
            let row: [T; BLOCK] = std::array::from_fn(|i| x[i][r]);
            out.add(r * inner).cast::<[T; BLOCK]>().write_unaligned(row);
        }
    }
}

/// `m` copies of one element of `width` bytes.
///
/// # Safety
/// `src` must hold an element, and `out` have room for `m`.
pub unsafe fn fill(src: *const u8, width: usize, out: *mut u8, m: usize) {
    // SAFETY: by the contract.
    by_width!(width, T => unsafe { copy_run::<T>(src.cast(), 0, m, out.cast()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_transposed_views_are_read_in_order() {
        let data: Vec<u32> = (0..40 * 50 * 3).collect();
        // Index (a, b, c) of a 3 × 40 × 50 array lies at a·2000 + b + c·40.
        let input = Strided { ptr: data.as_ptr().cast(), width: 4, strides: SmallVec::from_slice(&[2000, 1, 40]) };
        let dims = [3, 40, 50];
        assert!(is_transposed(&dims, &input.strides));
        for (lo, hi) in [(0, 6000), (7, 5990), (49, 51), (1990, 4100), (120, 120)] {
            let mut out = vec![0u32; hi - lo];
            // SAFETY: the view covers the data, and `out` has room for the range.
            unsafe { range(&input, &dims, lo, hi, out.as_mut_ptr().cast()) };
            for (i, &x) in (lo..hi).zip(&out) {
                assert_eq!(x as usize, i / 2000 * 2000 + i / 50 % 40 + i % 50 * 40);
            }
        }
    }

    #[test]
    fn elements_that_repeat_are_read_in_order() {
        let data: Vec<u32> = (0..60).collect();
        for (times, strides) in [(2, [20, 1, 0]), (3, [20, 1, 0]), (5, [1, 3, 0]), (4, [1, 3, 0]), (40, [20, 1, 0])] {
            let input = Strided { ptr: data.as_ptr().cast(), width: 4, strides: SmallVec::from_slice(&strides) };
            let dims = [3, 20, times];
            let all = 60 * times;
            for (lo, hi) in [(0, all), (1, all - 1), (times + 1, 2 * times + 1), (times, all - times), (7, 7)] {
                let mut out = vec![0u32; hi - lo];
                // SAFETY: the view covers the data, and `out` has room for the range.
                unsafe { range(&input, &dims, lo, hi, out.as_mut_ptr().cast()) };
                for (i, &x) in (lo..hi).zip(&out) {
                    let (a, b) = (i / times / 20, i / times % 20);
                    assert_eq!(x as isize, a as isize * strides[0] + b as isize * strides[1], "{i} of {dims:?}");
                }
            }
        }
    }

    #[test]
    fn dims_merge_where_all_inputs_step_evenly() {
        let view = |s: &[isize]| Strided { ptr: std::ptr::null(), width: 4, strides: SmallVec::from_slice(s) };
        let mut dims = SmallVec::from_slice(&[2, 1, 3, 4]);
        let mut inputs = [view(&[12, 5, 4, 1]), view(&[0, 0, 0, 1])];
        merge_dims(&mut dims, &mut inputs);
        assert_eq!(
            (&dims[..], &inputs[0].strides[..], &inputs[1].strides[..]),
            (&[6, 4][..], &[4, 1][..], &[0, 1][..])
        );
        let mut dims = SmallVec::from_slice(&[1, 1]);
        merge_dims(&mut dims, &mut []);
        assert_eq!(&dims[..], &[1]);
    }
}
