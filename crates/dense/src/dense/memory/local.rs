//! The lists of free blocks that each thread has for itself, up to 1 MiB a block.
//!
//! The lists are plain thread-local memory without a destructor, so they can be reached at any time, even while
//! other thread-local values are being destroyed. A second thread-local value exists for its destructor only, which
//! closes the lists. Before they are opened and after they are closed, their limits are zero and every block comes
//! from and goes to the shared lists directly. Nothing here allocates through Rust's global allocator.

use super::classes::{LOCAL, SMALL, local_limit};
use super::lock::watch_forks;
use super::slabs::Block;
use super::{large, slabs};
use crate::dense::first_thread::FastLocal;
use std::cell::Cell;
use std::ptr::null_mut;

struct Bin {
    head: Cell<*mut Block>,
    count: Cell<u32>,
    limit: Cell<u32>,
}

#[derive(Clone, Copy, PartialEq)]
enum CacheState {
    Fresh,
    /// Between the two, and for good after the end: no lists.
    Closed,
    Open,
}

struct Local {
    bins: [Bin; LOCAL],
    state: Cell<CacheState>,
}

static LISTS: FastLocal<Local> = FastLocal::new(&OWN);

thread_local! {
    static OWN: Local = const {
        Local {
            bins: [const { Bin { head: Cell::new(null_mut()), count: Cell::new(0), limit: Cell::new(0) } }; LOCAL],
            state: Cell::new(CacheState::Fresh),
        }
    };
    static AT_EXIT: ReturnAtExit = const { ReturnAtExit };
}

struct ReturnAtExit;

impl Drop for ReturnAtExit {
    fn drop(&mut self) {
        LISTS.with(|l| {
            l.state.set(CacheState::Closed);
            l.bins.iter().for_each(|b| b.limit.set(0));
            l.flush();
        });
    }
}

/// A block of a class below [`LOCAL`]; null if the system has no memory.
#[inline]
pub fn alloc(class: usize) -> *mut u8 {
    LISTS.with(|l| {
        let bin = &l.bins[class];
        let block = bin.head.get();
        if block.is_null() {
            return l.alloc_slow(class);
        }
        // SAFETY: blocks in the list are free and ours.
        bin.head.set(unsafe { (*block).next });
        bin.count.set(bin.count.get() - 1);
        block.cast()
    })
}

/// # Safety
/// `ptr` comes from [`alloc`] with this class, on any thread, and is not used again.
#[inline]
pub unsafe fn free(ptr: *mut u8, class: usize) {
    LISTS.with(|l| {
        let bin = &l.bins[class];
        // SAFETY: the block is ours now.
        unsafe {
            if bin.count.get() < bin.limit.get() {
                bin.push(ptr.cast());
            } else {
                l.free_slow(ptr.cast(), class);
            }
        }
    })
}

/// Gives this thread's lists to the shared ones.
pub fn flush() {
    LISTS.with(|l| l.flush());
}

impl Bin {
    #[inline]
    unsafe fn push(&self, block: *mut Block) {
        // SAFETY: the caller owns the block.
        unsafe { (*block).next = self.head.get() };
        self.head.set(block);
        self.count.set(self.count.get() + 1);
    }

    /// Takes the most recent `n` blocks off the list.
    fn split(&self, n: u32) -> *mut Block {
        let list = self.head.get();
        if n == 0 || list.is_null() {
            return null_mut();
        }
        let mut last = list;
        // SAFETY: the list has `count >= n` blocks, all ours.
        unsafe {
            for _ in 1..n {
                last = (*last).next;
            }
            self.head.set((*last).next);
            (*last).next = null_mut();
        }
        self.count.set(self.count.get() - n);
        list
    }
}

impl Local {
    #[cold]
    #[inline(never)]
    fn alloc_slow(&self, class: usize) -> *mut u8 {
        self.open();
        if class >= SMALL {
            return large::alloc_class(class);
        }
        // Half the limit, so that neither the next allocation nor the next free comes here again.
        let bin = &self.bins[class];
        let (list, count) = slabs::take(class, (bin.limit.get() / 2).max(1));
        if count > 1 {
            // SAFETY: the list has `count` blocks, ours.
            bin.head.set(unsafe { (*list).next });
            bin.count.set(count - 1);
        }
        list.cast()
    }

    #[cold]
    #[inline(never)]
    unsafe fn free_slow(&self, block: *mut Block, class: usize) {
        self.open();
        let bin = &self.bins[class];
        // SAFETY: the blocks belong to this class, and to us until they are given away.
        unsafe {
            if bin.limit.get() == 0 {
                (*block).next = null_mut();
                return give(class, block);
            }
            if bin.count.get() >= bin.limit.get() {
                give(class, bin.split(bin.limit.get().div_ceil(2)));
            }
            bin.push(block);
        }
    }

    /// Opens the lists at the first call. Registering the destructor may itself allocate: meanwhile they are closed.
    #[inline]
    fn open(&self) {
        if self.state.get() == CacheState::Fresh {
            self.state.set(CacheState::Closed);
            watch_forks();
            if AT_EXIT.try_with(|_| ()).is_ok() {
                self.state.set(CacheState::Open);
                self.bins.iter().enumerate().for_each(|(i, b)| b.limit.set(local_limit(i)));
            }
        }
    }

    fn flush(&self) {
        for (class, bin) in self.bins.iter().enumerate() {
            // SAFETY: the blocks in this list belong to this class and to us.
            unsafe { give(class, bin.split(bin.count.get())) };
        }
    }
}

/// Gives a list of blocks to the shared lists.
unsafe fn give(class: usize, mut list: *mut Block) {
    // SAFETY: by the callers the blocks are of this class, and theirs.
    unsafe {
        if class < SMALL && !list.is_null() {
            return slabs::give(class, list);
        }
        while !list.is_null() {
            let next = (*list).next;
            large::free_class(list.cast(), class);
            list = next;
        }
    }
}
