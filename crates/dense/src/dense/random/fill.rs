//! Filling slices in parallel, from any position on.

use super::generator::Stream;
use super::kernels::{Sampler, fill_groups};
use crate::base::{Element, Result, Shape};
use crate::dense::array::{Array, Written};
use crate::dense::threads;

/// Samples per task: a few tens of microseconds. A multiple of every group size.
const TASK: usize = 1 << 15;
/// Samples per tile, when they are converted on the way out.
const TILE: usize = 1 << 9;

/// How many groups `n` samples of a body take.
pub fn groups<B: Sampler>(n: usize) -> u64 {
    n.div_ceil(B::GROUP) as u64
}

/// A pointer that tasks share; each writes its own part.
struct Shared<T>(*mut T);
// SAFETY: tasks write disjoint ranges.
unsafe impl<T: Send> Sync for Shared<T> {}

/// Calls `f(begin, part)` for fixed parts of `out`, in parallel.
pub fn parts<T: Send>(out: &mut [T], task: usize, f: impl Fn(usize, &mut [T]) + Sync) {
    let shared = Shared(out.as_mut_ptr());
    let shared = &shared;
    threads::run_chunks(out.len(), task, &|range| {
        // SAFETY: ranges are disjoint parts of `out`, which nobody else uses meanwhile.
        f(range.start, unsafe { std::slice::from_raw_parts_mut(shared.0.add(range.start), range.len()) });
    });
}

/// A new array whose elements `fill` draws.
///
/// # Safety
/// `fill` writes all elements and reads none before, as the fills below do.
pub unsafe fn drawn<T: Element>(shape: Shape, fill: impl FnOnce(&mut [T])) -> Result<Array> {
    Array::build_typed(shape, |out, n| {
        // SAFETY: the block holds n elements; the rest by the contract.
        unsafe {
            fill(std::slice::from_raw_parts_mut(out, n));
            Written::all()
        }
    })
}

/// Fills `out` with the samples at `start`, `start + 1`, … of a stream.
pub fn fill<B: Sampler>(stream: Stream, start: u64, body: &B, out: &mut [B::Out]) {
    parts(out, TASK, |begin, part| fill_serial(stream, start.wrapping_add(begin as u64), body, part));
}

/// As [`fill`], with `convert(index of the first, samples, out)` for each tile.
pub fn fill_with<B: Sampler, T: Send>(
    stream: Stream,
    start: u64,
    body: &B,
    out: &mut [T],
    convert: impl Fn(usize, &[B::Out], &mut [T]) + Sync,
) {
    parts(out, TASK, |begin, part| {
        let mut tile = [B::Out::default(); TILE];
        for (i, piece) in part.chunks_mut(TILE).enumerate() {
            let at = begin + i * TILE;
            let samples = &mut tile[..piece.len()];
            fill_serial(stream, start.wrapping_add(at as u64), body, samples);
            convert(at, samples, piece);
        }
    });
}

/// Whole groups are written in place; the ends, where they do not fill a group, by way of one.
fn fill_serial<B: Sampler>(stream: Stream, start: u64, body: &B, out: &mut [B::Out]) {
    let size = B::GROUP as u64;
    let skip = (start % size) as usize;
    let head = if skip == 0 { 0 } else { (B::GROUP - skip).min(out.len()) };
    let (head, rest) = out.split_at_mut(head);
    let mut index = stream.first.wrapping_add(start / size);
    if !head.is_empty() {
        partial(stream.key, index, body, skip, head);
        index = index.wrapping_add(1);
    }
    let whole = rest.len() / B::GROUP * B::GROUP;
    let (whole, tail) = rest.split_at_mut(whole);
    fill_groups(stream.key, index, body, whole);
    if !tail.is_empty() {
        partial(stream.key, index.wrapping_add((whole.len() / B::GROUP) as u64), body, 0, tail);
    }
}

/// The samples of one group from `skip` on.
fn partial<B: Sampler>(key: [u32; 2], index: u64, body: &B, skip: usize, out: &mut [B::Out]) {
    let mut group = [B::Out::default(); 64];
    fill_groups(key, index, body, &mut group[..B::GROUP]);
    out.copy_from_slice(&group[skip..skip + out.len()]);
}
