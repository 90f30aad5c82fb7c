//! Filling slices: the words of a sequence are drawn in order, and become samples in parallel.

use super::generator::Generator;
use super::kernels::{Sampler, samples};
use crate::base::{Element, Result, Shape};
use crate::dense::array::{Array, Written};
use crate::dense::threads;

/// Samples whose words are drawn at once, for tasks to share.
const BLOCK: usize = 1 << 15;
/// Samples per task: some microseconds.
const TASK: usize = 1 << 12;
/// Samples per tile, when they are converted on the way out.
const TILE: usize = 1 << 9;
/// So few samples go without memory from the heap.
const FEW: usize = 16;

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

/// Calls `f(index of the first, words, part)` for parts of `out`, with `each` words of the sequence for each element.
pub fn words<T: Send>(rng: &Generator, each: usize, out: &mut [T], f: impl Fn(usize, &[u32], &mut [T]) + Sync) {
    if out.len() <= FEW && each <= 2 {
        let mut few = [0; 2 * FEW];
        let few = &mut few[..each * out.len()];
        rng.fill(few);
        return f(0, few, out);
    }
    let mut drawn = vec![0; each * out.len().min(BLOCK)];
    for (i, block) in out.chunks_mut(BLOCK).enumerate() {
        if i > 0 {
            threads::cancellation_point();
        }
        let drawn = &mut drawn[..each * block.len()];
        rng.fill(drawn);
        let drawn = &*drawn;
        parts(block, TASK, |begin, part| f(i * BLOCK + begin, &drawn[each * begin..][..each * part.len()], part));
    }
}

/// Fills `out` with samples.
pub fn fill<B: Sampler>(rng: &Generator, body: &B, out: &mut [B::Out]) {
    words(rng, B::WORDS, out, |_, words, part| samples(body, words, part));
}

/// As [`fill`], with `convert(index of the first, samples, out)` for each tile.
pub fn fill_with<B: Sampler, T: Send>(
    rng: &Generator,
    body: &B,
    out: &mut [T],
    convert: impl Fn(usize, &[B::Out], &mut [T]) + Sync,
) {
    words(rng, B::WORDS, out, |begin, words, part| {
        let mut tile = [B::Out::default(); TILE];
        for (i, piece) in part.chunks_mut(TILE).enumerate() {
            let samples_here = &mut tile[..piece.len()];
            samples(body, &words[i * TILE * B::WORDS..][..piece.len() * B::WORDS], samples_here);
            convert(begin + i * TILE, samples_here, piece);
        }
    });
}
