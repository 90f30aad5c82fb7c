//! Walking strided operands in row-major order, a tile at a time.

use super::program::Input;
use smallvec::SmallVec;

/// Drops dimensions of size 1 and merges neighbours that every input steps through evenly. The strides of the
/// inputs are rewritten for the dimensions that are returned, at least one.
pub fn merge_dims(dims: &[usize], inputs: &mut [Input]) -> SmallVec<[usize; 6]> {
    let mut out: SmallVec<[usize; 6]> = SmallVec::new();
    for (d, &size) in dims.iter().enumerate() {
        if size == 1 {
            continue;
        }
        let r = out.len();
        if r > 0 && inputs.iter().all(|i| i.strides[r - 1] == i.strides[d] * size as isize) {
            out[r - 1] *= size;
            inputs.iter_mut().for_each(|i| i.strides[r - 1] = i.strides[d]);
        } else {
            out.push(size);
            inputs.iter_mut().for_each(|i| i.strides[r] = i.strides[d]);
        }
    }
    if out.is_empty() {
        out.push(1);
        inputs.iter_mut().for_each(|i| {
            i.strides.clear();
            i.strides.push(0);
        });
    }
    inputs.iter_mut().for_each(|i| i.strides.truncate(out.len()));
    out
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

/// A position in the index space and each input's offset there.
pub struct Walk<'a> {
    dims: &'a [usize],
    inputs: &'a [Input],
    index: SmallVec<[usize; 6]>,
    offsets: SmallVec<[isize; 3]>,
}

impl<'a> Walk<'a> {
    /// At the `flat`-th element in row-major order. The index space must not be empty.
    pub fn at(dims: &'a [usize], inputs: &'a [Input], flat: usize) -> Walk<'a> {
        let mut index = SmallVec::from_elem(0, dims.len());
        let mut left = flat;
        for d in (0..dims.len()).rev() {
            index[d] = left % dims[d];
            left /= dims[d];
        }
        let offsets =
            inputs.iter().map(|i| index.iter().zip(&i.strides).map(|(&x, &s)| x as isize * s).sum::<isize>()).collect();
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
        let last = self.dims.len() - 1;
        let mut carry = m;
        for d in (0..=last).rev() {
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

/// Copies `m` elements of input `k` from the walk's position on into `out`.
///
/// # Safety
/// The elements must be readable, and `out` have room for them.
pub unsafe fn tile(input: &Input, dims: &[usize], walk: &Walk, k: usize, m: usize, out: *mut u8) {
    let offset = walk.offset(k);
    // SAFETY: handed through.
    unsafe {
        match input.width {
            1 => tile_of::<u8>(input, dims, &walk.index, offset, m, out.cast()),
            2 => tile_of::<u16>(input, dims, &walk.index, offset, m, out.cast()),
            4 => tile_of::<u32>(input, dims, &walk.index, offset, m, out.cast()),
            8 => tile_of::<u64>(input, dims, &walk.index, offset, m, out.cast()),
            _ => tile_of::<[u64; 2]>(input, dims, &walk.index, offset, m, out.cast()),
        }
    }
}

/// # Safety
/// As for [`tile`].
unsafe fn tile_of<T: Copy>(input: &Input, dims: &[usize], index: &[usize], offset: isize, m: usize, out: *mut T) {
    let last = dims.len() - 1;
    let inner = input.strides[last];
    let mut index: SmallVec<[usize; 6]> = SmallVec::from_slice(index);
    let (mut offset, mut done) = (offset, 0);
    while done < m {
        let run = (dims[last] - index[last]).min(m - done);
        // SAFETY: the run lies inside the input, and `out` has room for m elements.
        unsafe { copy_run(input.ptr.cast::<T>().offset(offset), inner, run, out.add(done)) };
        done += run;
        index[last] += run;
        offset += run as isize * inner;
        let mut d = last;
        while index[d] == dims[d] && d > 0 {
            offset -= dims[d] as isize * input.strides[d];
            index[d] = 0;
            d -= 1;
            index[d] += 1;
            offset += input.strides[d];
        }
    }
}

/// # Safety
/// `n` elements at steps of `stride` must be readable at `src`, and `out` have room for them.
#[inline(always)]
unsafe fn copy_run<T: Copy>(src: *const T, stride: isize, n: usize, out: *mut T) {
    // SAFETY: by the contract; `out` is scratch that overlaps nothing.
    unsafe {
        match stride {
            1 => std::ptr::copy_nonoverlapping(src, out, n),
            0 => std::slice::from_raw_parts_mut(out, n).fill(*src),
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

/// `m` copies of one element of `width` bytes.
///
/// # Safety
/// `src` must hold an element, and `out` have room for `m`.
pub unsafe fn fill(src: *const u8, width: usize, out: *mut u8, m: usize) {
    // SAFETY: by the contract.
    unsafe {
        match width {
            1 => copy_run(src, 0, m, out),
            2 => copy_run::<u16>(src.cast(), 0, m, out.cast()),
            4 => copy_run::<u32>(src.cast(), 0, m, out.cast()),
            8 => copy_run::<u64>(src.cast(), 0, m, out.cast()),
            _ => copy_run::<[u64; 2]>(src.cast(), 0, m, out.cast()),
        }
    }
}
