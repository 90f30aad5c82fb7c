//! Blocks of small tensors: our allocator, `mimalloc`, and the system's.

use super::race;
use mimalloc::MiMalloc;
use pullback_dense::dense::memory::{self, SmallBlocks};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::mpsc;

/// One way to get a block and to give it back.
trait Blocks: Sync {
    fn take(&self, bytes: usize) -> usize;
    fn give(&self, block: usize, bytes: usize);
}

/// Blocks of tensors, through the library's door.
struct Own;
impl Blocks for Own {
    #[inline]
    fn take(&self, bytes: usize) -> usize {
        memory::alloc(bytes).unwrap() as usize
    }
    #[inline]
    fn give(&self, block: usize, bytes: usize) {
        // SAFETY: from `take` with this size.
        unsafe { memory::free(block as *mut u8, bytes) }
    }
}

/// A global allocator behind blocks that are aligned as ours, or as headers are.
struct Global<A, const ALIGN: usize>(A);
impl<A: GlobalAlloc + Sync, const ALIGN: usize> Blocks for Global<A, ALIGN> {
    #[inline]
    fn take(&self, bytes: usize) -> usize {
        // SAFETY: the size is not zero.
        unsafe { self.0.alloc(Layout::from_size_align_unchecked(bytes, ALIGN)) as usize }
    }
    #[inline]
    fn give(&self, block: usize, bytes: usize) {
        // SAFETY: from `take` with this layout.
        unsafe { self.0.dealloc(block as *mut u8, Layout::from_size_align_unchecked(bytes, ALIGN)) }
    }
}

pub fn all() {
    println!("nanoseconds for a block taken and given back\n| pattern | ours | mimalloc | system |\n|---|---|---|---|");
    for bytes in [64, 256, 1024, 4096] {
        row(&format!("one of {bytes} bytes again and again"), 1000, |b| again(b, bytes));
    }
    row("results of a chain: each dies after the next", 1000, chain);
    row("a tape: 2,000 blocks of 64..4096 bytes, then all go", 2000, tape);
    row("a mixed heap: one of 4,000 is replaced at random", 1000, mixed);
    row("made on one thread, freed on another", 20_000, across);
    println!("| headers of 16..512 bytes, alignment 8 | | | |");
    let heads = (Global::<_, 8>(SmallBlocks), Global::<_, 8>(MiMalloc), Global::<_, 8>(System));
    print(
        "a tape of headers",
        2000,
        race([&mut || headers(&heads.0), &mut || headers(&heads.1), &mut || headers(&heads.2)]),
    );
}

fn row(name: &str, blocks: usize, run: impl Fn(&dyn Blocks)) {
    let others = (Global::<_, 64>(MiMalloc), Global::<_, 64>(System));
    print(name, blocks, race([&mut || run(&Own), &mut || run(&others.0), &mut || run(&others.1)]));
}

fn print(name: &str, blocks: usize, [ours, mi, system]: [f64; 3]) {
    let each = |ns: f64| ns / blocks as f64;
    println!("| {name} | {:.1} | {:.1} | {:.1} |", each(ours), each(mi), each(system));
}

/// Writes to a block, as its owner would.
fn touch(block: usize) -> usize {
    // SAFETY: blocks have 16 bytes at least.
    unsafe { (block as *mut usize).write_volatile(block) };
    block
}

fn again(b: &dyn Blocks, bytes: usize) {
    for _ in 0..1000 {
        let block = touch(b.take(bytes));
        b.give(block, bytes);
    }
}

fn size(i: usize) -> usize {
    64 << (i.wrapping_mul(2654435761) >> 7) % 7
}

fn chain(b: &dyn Blocks) {
    let mut last = (b.take(64), 64);
    for i in 0..1000 {
        let next = (touch(b.take(size(i))), size(i));
        b.give(last.0, last.1);
        last = next;
    }
    b.give(last.0, last.1);
}

fn tape(b: &dyn Blocks) {
    let blocks: Vec<usize> = (0..2000).map(|i| touch(b.take(size(i)))).collect();
    blocks.iter().enumerate().rev().for_each(|(i, &block)| b.give(block, size(i)));
}

fn headers(b: &dyn Blocks) {
    let bytes = |i: usize| 16 + (i.wrapping_mul(2654435761) >> 7) % 497;
    let blocks: Vec<usize> = (0..2000).map(|i| touch(b.take(bytes(i)))).collect();
    blocks.iter().enumerate().rev().for_each(|(i, &block)| b.give(block, bytes(i)));
}

fn mixed(b: &dyn Blocks) {
    let mut blocks: Vec<(usize, usize)> = (0..4000).map(|i| (b.take(size(i)), size(i))).collect();
    for i in 0..1000 {
        let at = (i * 7919) % 4000;
        b.give(blocks[at].0, blocks[at].1);
        blocks[at] = (touch(b.take(size(i + 3))), size(i + 3));
    }
    blocks.iter().for_each(|&(block, bytes)| b.give(block, bytes));
}

fn across(b: &dyn Blocks) {
    std::thread::scope(|s| {
        let (door, out) = mpsc::sync_channel::<Vec<(usize, usize)>>(16);
        s.spawn(move || {
            for batch in out {
                batch.iter().for_each(|&(block, bytes)| b.give(block, bytes));
            }
        });
        for t in 0..200 {
            let batch = (0..100).map(|i| (touch(b.take(size(i + t))), size(i + t))).collect();
            door.send(batch).unwrap();
        }
    });
}
