//! The allocator of buffers, and the global one for small blocks, which this whole test program runs on.

use pullback_dense::dense::memory::{self, ALIGN, SmallBlocks};
use std::alloc::{GlobalAlloc, Layout};
use std::sync::mpsc;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[global_allocator]
static ALLOCATOR: SmallBlocks = SmallBlocks;

/// The figures are global: tests, which read or change them, run one at a time.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A block filled with a pattern of its own.
struct Block {
    ptr: *mut u8,
    bytes: usize,
    seed: u8,
}

// SAFETY: the block is ours wherever we are.
unsafe impl Send for Block {}

impl Block {
    fn new(bytes: usize, seed: u8) -> Block {
        let ptr = memory::alloc(bytes).unwrap();
        assert_eq!(ptr as usize % ALIGN, 0);
        for i in Block::places(bytes) {
            // SAFETY: inside the block.
            unsafe { ptr.add(i).write(seed.wrapping_add(i as u8)) };
        }
        Block { ptr, bytes, seed }
    }

    /// All bytes of a small block; the ends, and one byte in a few thousand, of a large one.
    fn places(bytes: usize) -> impl Iterator<Item = usize> {
        let step = (bytes / 5000).max(1);
        (0..bytes).step_by(step).chain(bytes.checked_sub(1))
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        for i in Block::places(self.bytes) {
            // SAFETY: inside the block.
            assert_eq!(unsafe { self.ptr.add(i).read() }, self.seed.wrapping_add(i as u8), "{} bytes", self.bytes);
        }
        // SAFETY: allocated with this size, freed once.
        unsafe { memory::free(self.ptr, self.bytes) };
    }
}

/// A small generator of test sequences.
struct Mix(u64);
impl Mix {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % n
    }
    /// Sizes of all orders of magnitude up to `2^bits`.
    fn size(&mut self, bits: usize) -> usize {
        let k = self.below(bits + 1);
        self.below(1 << k)
    }
}

#[test]
fn blocks_are_aligned_and_never_overlap() {
    let _turn = turn();
    let mut blocks = Vec::new();
    for k in 0..22 {
        for d in [0usize, 1, 2] {
            let bytes = ((1usize << k) + d).saturating_sub(1);
            blocks.push(Block::new(bytes, blocks.len() as u8));
        }
    }
    let mut mix = Mix(1);
    for _ in 0..30_000 {
        if blocks.len() < 300 || mix.below(2) == 0 {
            blocks.push(Block::new(mix.size(17), mix.below(256) as u8));
        } else {
            let at = mix.below(blocks.len());
            blocks.swap_remove(at);
        }
    }
}

#[test]
fn blocks_may_be_freed_on_another_thread() {
    let _turn = turn();
    let before = memory::stats().in_use();
    std::thread::scope(|s| {
        let (ring, doors): (Vec<_>, Vec<_>) = (0..4).map(|_| mpsc::channel::<Block>()).unzip();
        for (i, door) in doors.into_iter().enumerate() {
            let next = ring[(i + 1) % 4].clone();
            s.spawn(move || {
                let (mut mix, mut kept) = (Mix(i as u64), Vec::new());
                for _ in 0..20_000 {
                    let _ = next.send(Block::new(mix.size(15), i as u8));
                    kept.extend(door.try_iter().take(4));
                    while kept.len() > 50 {
                        kept.swap_remove(mix.below(kept.len()));
                    }
                }
                drop(next);
            });
        }
        drop(ring);
    });
    // What the threads held comes back, except for odds and ends of the test harness; the last of it while they end, for
    // which a scope does not wait.
    let came_back = || memory::stats().in_use() < before + (1 << 20);
    (0..5000).take_while(|_| !came_back()).for_each(|_| std::thread::sleep(std::time::Duration::from_millis(1)));
    assert!(came_back(), "{before} -> {}", memory::stats().in_use());
}

#[test]
fn large_blocks_are_reused_within_the_limit_and_released() {
    let _turn = turn();
    memory::empty_cache();
    let limit = memory::stats().cache_limit;
    memory::set_cache_limit(64 << 20);
    let big = (40 << 20) - 4096;
    let first = Block::new(big, 1);
    let address = first.ptr as usize;
    drop(first);
    let before = memory::stats();
    assert!(before.cached >= big);
    let again = Block::new(big - 1000, 2);
    assert_eq!(again.ptr as usize, address);
    assert_eq!(memory::stats().hits, before.hits + 1);
    let other = Block::new(30 << 20, 3);
    drop(again);
    drop(other);
    // Both do not fit: the one that was freed first is gone.
    assert!(memory::stats().cached <= 64 << 20);
    let hits = memory::stats().hits;
    drop(Block::new(30 << 20, 4));
    assert_eq!(memory::stats().hits, hits + 1);
    memory::empty_cache();
    assert!(memory::stats().cached < 4 << 20, "{:?}", memory::stats());
    memory::set_cache_limit(0);
    drop(Block::new(big, 5));
    assert!(memory::stats().cached < 4 << 20);
    memory::set_cache_limit(limit);
}

/// What a buffer of 64 bytes takes.
const BLOCK: usize = if cfg!(feature = "debug-guard") { 192 } else { 64 };

#[test]
fn a_million_small_blocks_come_and_go() {
    let _turn = turn();
    memory::empty_cache();
    let before = memory::stats();
    let blocks: Vec<Block> = (0..1_000_000).map(|i| Block::new(64, i as u8)).collect();
    let full = memory::stats();
    assert!(full.reserved - before.reserved < 1_030_000 * BLOCK + (4 << 20), "{before:?} {full:?}");
    drop(blocks);
    memory::empty_cache();
    let after = memory::stats();
    assert!(after.reserved < before.reserved + (2 << 20), "{before:?} {after:?}");
}

#[test]
fn absurd_sizes_are_refused() {
    let _turn = turn();
    for bytes in [usize::MAX, isize::MAX as usize, 1 << 60, (1 << 47) + 1] {
        assert!(memory::alloc(bytes).is_none());
    }
    let e = memory::check_available(1 << 45).unwrap_err();
    assert!(e.message().contains("not enough memory"));
}

#[test]
fn global_blocks_keep_their_contents_and_alignment() {
    let _turn = turn();
    let (a, mut mix) = (SmallBlocks, Mix(7));
    for _ in 0..20_000 {
        let align = 1 << mix.below(8);
        let layout = Layout::from_size_align(mix.below(700) + 1, align).unwrap();
        let new_size = mix.below(700) + 1;
        // SAFETY: plain use of the allocator's contract.
        unsafe {
            let p = if mix.below(2) == 0 { a.alloc(layout) } else { a.alloc_zeroed(layout) };
            assert_eq!(p as usize % align, 0);
            p.write_bytes(0x5A, layout.size());
            let p = a.realloc(p, layout, new_size);
            assert_eq!(p as usize % align, 0);
            let kept = std::slice::from_raw_parts(p, layout.size().min(new_size));
            assert!(kept.iter().all(|&b| b == 0x5A));
            a.dealloc(p, Layout::from_size_align(new_size, align).unwrap());
        }
        // SAFETY: as above.
        unsafe {
            let z = a.alloc_zeroed(layout);
            assert!(std::slice::from_raw_parts(z, layout.size()).iter().all(|&b| b == 0));
            a.dealloc(z, layout);
        }
    }
}

/// Values that are destroyed at the end of a thread still allocate and free, whatever the order.
#[test]
fn thread_locals_may_allocate_while_they_are_destroyed() {
    let _turn = turn();
    struct Last(Vec<String>);
    impl Drop for Last {
        fn drop(&mut self) {
            let more: Vec<String> = self.0.iter().map(|s| format!("{s}!")).collect();
            assert_eq!(more.len(), self.0.len());
            drop(Block::new(100, 1));
            drop(Block::new(100_000, 1));
        }
    }
    thread_local! {
        static EARLY: std::cell::RefCell<Last> = const { std::cell::RefCell::new(Last(Vec::new())) };
    }
    for _ in 0..50 {
        std::thread::spawn(|| {
            EARLY.with(|e| e.borrow_mut().0.extend((0..500).map(|i| i.to_string())));
            drop(Block::new(5000, 2));
        })
        .join()
        .unwrap();
    }
}

/// A fork while other threads allocate: the child must find every lock free and every list whole.
#[cfg(unix)]
#[test]
fn a_child_of_a_fork_can_allocate() {
    let _turn = turn();
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|s| {
        for i in 0..2 {
            let stop = &stop;
            s.spawn(move || {
                let mut mix = Mix(i);
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let blocks: Vec<Block> = (0..200).map(|i| Block::new(mix.size(14), i as u8)).collect();
                    drop(blocks);
                }
            });
        }
        for _ in 0..100 {
            // SAFETY: the child only allocates and leaves by `_exit`.
            let pid = unsafe { libc::fork() };
            if pid == 0 {
                // SAFETY: ends a child that hangs, then the child.
                unsafe { libc::alarm(20) };
                let mut mix = Mix(3);
                let blocks: Vec<Block> = (0..2000).map(|i| Block::new(mix.size(14), i as u8)).collect();
                let headers: Vec<Box<usize>> = (0..2000).map(Box::new).collect();
                let sum: usize = headers.iter().map(|b| **b).sum();
                drop(blocks);
                // SAFETY: as above.
                unsafe { libc::_exit(if sum == 1_999_000 { 7 } else { 8 }) };
            }
            let mut status = 0;
            // SAFETY: `pid` is our child.
            unsafe { libc::waitpid(pid, &mut status, 0) };
            assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7, "{status}");
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

/// A write past the end is found when the block is freed.
#[cfg(all(unix, feature = "debug-guard"))]
#[test]
fn a_damaged_guard_aborts() {
    for offset in [-1, 100, 163] {
        // SAFETY: the child damages its own memory, on purpose, inside the guards, and ends.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            let ptr = memory::alloc(100).unwrap();
            // SAFETY: as above.
            unsafe {
                ptr.offset(offset).write(1);
                memory::free(ptr, 100);
                libc::_exit(0);
            }
        }
        let mut status = 0;
        // SAFETY: `pid` is our child.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert!(libc::WIFSIGNALED(status) && libc::WTERMSIG(status) == libc::SIGABRT);
    }
}
