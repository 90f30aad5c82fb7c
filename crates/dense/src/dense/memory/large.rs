//! Single blocks above 4 KiB, and the shared cache of free ones.
//!
//! Free blocks are linked through their own memory, one list per class, most recently freed first. When the cache
//! outgrows its limit the block that was idle for longest goes back to the system.

use super::classes::{ALL, SMALL, class_size, large_class};
use super::lock::{Locked, watch_forks};
use super::os;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const LISTS: usize = ALL - SMALL;
/// The limit if the machine has four times as much.
const DEFAULT_LIMIT: usize = 1 << 30;

/// A free block.
struct Idle {
    newer: *mut Idle,
    older: *mut Idle,
    since: u64,
}

#[derive(Clone, Copy)]
struct List {
    newest: *mut Idle,
    oldest: *mut Idle,
    /// `since` of the oldest, `MAX` if there is none: read for every list when a victim is sought.
    since: u64,
}

struct Cache {
    lists: [List; LISTS],
    bytes: usize,
    clock: u64,
}

static CACHE: Locked<Cache> = Locked::new(Cache {
    lists: [List { newest: null_mut(), oldest: null_mut(), since: u64::MAX }; LISTS],
    bytes: 0,
    clock: 0,
});
static RESERVED: AtomicUsize = AtomicUsize::new(0);
static HITS: AtomicUsize = AtomicUsize::new(0);
static MISSES: AtomicUsize = AtomicUsize::new(0);
/// `MAX` until it is first asked for.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// A block of `n` bytes, more than threads keep lists of.
pub fn alloc(n: usize) -> Option<*mut u8> {
    let ptr = alloc_class(large_class(n)?);
    (!ptr.is_null()).then_some(ptr)
}

/// # Safety
/// `ptr` comes from [`alloc`] with this `n` and is not used again.
pub unsafe fn free(ptr: *mut u8, n: usize) {
    if let Some(class) = large_class(n) {
        // SAFETY: passed on.
        unsafe { free_class(ptr, class) };
    }
}

/// A block of a class at or above [`SMALL`]; null if the system has no memory.
pub fn alloc_class(class: usize) -> *mut u8 {
    let cached = CACHE.with(|c| c.pop_newest(class));
    if !cached.is_null() {
        HITS.fetch_add(1, Relaxed);
        return cached.cast();
    }
    MISSES.fetch_add(1, Relaxed);
    watch_forks();
    let ptr = os::alloc_block(class_size(class));
    if !ptr.is_null() {
        RESERVED.fetch_add(class_size(class), Relaxed);
    }
    ptr
}

/// # Safety
/// `ptr` comes from [`alloc_class`] with this class and is not used again.
pub unsafe fn free_class(ptr: *mut u8, class: usize) {
    let limit = limit();
    if class_size(class) > limit {
        // SAFETY: by the contract.
        return unsafe { give_back(ptr, class) };
    }
    // SAFETY: the block is ours, and larger and better aligned than an `Idle`.
    CACHE.with(|c| unsafe { c.push(ptr.cast(), class) });
    shrink(limit);
}

/// Gives the blocks that were idle for longest back until at most `limit` bytes are cached.
fn shrink(limit: usize) {
    // One at a time: unmapping is slow, and is done without the lock.
    while let Some((ptr, class)) = CACHE.with(|c| if c.bytes > limit { c.pop_oldest() } else { None }) {
        // SAFETY: the block is out of the cache and nobody else has it.
        unsafe { give_back(ptr.cast(), class) };
    }
}

unsafe fn give_back(ptr: *mut u8, class: usize) {
    RESERVED.fetch_sub(class_size(class), Relaxed);
    // SAFETY: blocks of a class were made with its size.
    unsafe { os::free_block(ptr, class_size(class)) };
}

impl Cache {
    unsafe fn push(&mut self, block: *mut Idle, class: usize) {
        self.clock += 1;
        self.bytes += class_size(class);
        let list = &mut self.lists[class - SMALL];
        // SAFETY: `block` is ours, the newest is alive.
        unsafe {
            block.write(Idle { newer: null_mut(), older: list.newest, since: self.clock });
            if list.newest.is_null() {
                list.oldest = block;
                list.since = self.clock;
            } else {
                (*list.newest).newer = block;
            }
        }
        list.newest = block;
    }

    fn pop_newest(&mut self, class: usize) -> *mut Idle {
        let list = &mut self.lists[class - SMALL];
        let block = list.newest;
        if !block.is_null() {
            self.bytes -= class_size(class);
            // SAFETY: blocks in the list are alive and ours.
            unsafe {
                list.newest = (*block).older;
                if list.newest.is_null() {
                    (list.oldest, list.since) = (null_mut(), u64::MAX);
                } else {
                    (*list.newest).newer = null_mut();
                }
            }
        }
        block
    }

    /// The block that was idle for longest, and its class.
    fn pop_oldest(&mut self) -> Option<(*mut Idle, usize)> {
        let at = (0..LISTS).min_by_key(|&i| self.lists[i].since)?;
        let list = &mut self.lists[at];
        let block = list.oldest;
        if block.is_null() {
            return None;
        }
        self.bytes -= class_size(at + SMALL);
        // SAFETY: blocks in the list are alive and ours.
        unsafe {
            list.oldest = (*block).newer;
            if list.oldest.is_null() {
                (list.newest, list.since) = (null_mut(), u64::MAX);
            } else {
                (*list.oldest).older = null_mut();
                list.since = (*list.oldest).since;
            }
        }
        Some((block, at + SMALL))
    }
}

/// How many bytes of free blocks above 4 KiB are kept: a quarter of the memory, at most 1 GiB, unless set.
pub fn limit() -> usize {
    match LIMIT.load(Relaxed) {
        usize::MAX => {
            let limit = (super::physical_bytes() / 4).min(DEFAULT_LIMIT);
            match LIMIT.compare_exchange(usize::MAX, limit, Relaxed, Relaxed) {
                Ok(_) => limit,
                Err(set) => set,
            }
        }
        limit => limit,
    }
}

/// Sets how many bytes of free blocks above 4 KiB are kept; 0 keeps none.
pub fn set_cache_limit(bytes: usize) {
    LIMIT.store(bytes.min(usize::MAX - 1), Relaxed);
    shrink(bytes);
}

/// Gives all cached blocks back to the system.
pub fn release_all() {
    shrink(0);
}

pub struct LargeStats {
    pub reserved: usize,
    pub cached: usize,
    pub hits: usize,
    pub misses: usize,
}

pub fn stats() -> LargeStats {
    LargeStats {
        reserved: RESERVED.load(Relaxed),
        cached: CACHE.with(|c| c.bytes),
        hits: HITS.load(Relaxed),
        misses: MISSES.load(Relaxed),
    }
}

/// Before a fork.
pub fn acquire() {
    CACHE.acquire();
}

/// After a fork, in parent and child.
pub fn release() {
    CACHE.release();
}
