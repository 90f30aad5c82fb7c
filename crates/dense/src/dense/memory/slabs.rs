//! Small blocks: slabs of 64 KiB, each cut into blocks of one class, shared by all threads.
//!
//! A slab begins at a multiple of its size, so the slab of a block is found by masking its address. It counts its
//! blocks that are out; an empty slab serves any class again, and beyond a bound goes back to the system. Threads
//! come here for batches of blocks only ([`super::local`]).

use super::classes::{SMALL, class_size};
use super::lock::Locked;
use super::os;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SLAB: usize = 1 << 16;
/// Slabs are asked from the system in regions of this size.
const REGION: usize = if os::CAN_SPLIT { 1 << 20 } else { SLAB };
/// Empty slabs that we keep: 64 MiB, what a tape of some hundred thousand nodes leaves behind.
const MAX_EMPTY: usize = (64 << 20) / SLAB;

/// A free block; the rest of it is garbage.
#[repr(C)]
pub struct Block {
    pub next: *mut Block,
}

/// The head of a slab. Blocks follow it, aligned to 64.
#[repr(C, align(64))]
struct Slab {
    /// Neighbours among the slabs of a class that have free blocks (or the next empty slab).
    next: *mut Slab,
    prev: *mut Slab,
    /// Blocks that came back.
    free: *mut Block,
    /// Blocks that are out.
    used: usize,
    /// The rest of the slab from here on was never handed out.
    fresh: *mut u8,
}

/// The slabs of one class that have free blocks.
struct Class {
    first: *mut Slab,
    used: usize,
}

struct Empty {
    first: *mut Slab,
    count: usize,
    /// The part of the last region that was never used.
    region: *mut u8,
    region_left: usize,
}

static CLASSES: [Locked<Class>; SMALL] = [const { Locked::new(Class { first: null_mut(), used: 0 }) }; SMALL];
/// Taken while a class is locked, never the other way round.
static EMPTY: Locked<Empty> = Locked::new(Empty { first: null_mut(), count: 0, region: null_mut(), region_left: 0 });
static RESERVED: AtomicUsize = AtomicUsize::new(0);

/// Takes up to `count` blocks: a list that ends in null, and its length. None if the system has no memory.
pub fn take(class: usize, count: u32) -> (*mut Block, u32) {
    CLASSES[class].with(|c| {
        if c.first.is_null() {
            let slab = new_slab();
            if slab.is_null() {
                return (null_mut(), 0);
            }
            // SAFETY: a fresh slab, linked nowhere.
            unsafe { c.link(slab) };
        }
        // SAFETY: slabs in the list are alive and have free blocks; we hold the lock of their class.
        unsafe { c.take_from_first(class_size(class), count) }
    })
}

/// Gives a list of blocks back; it ends in null.
///
/// # Safety
/// They come from [`take`] with this class.
pub unsafe fn give(class: usize, mut list: *mut Block) {
    CLASSES[class].with(|c| {
        // SAFETY: each block lies in a live slab of this class, whose lock we hold.
        unsafe {
            while !list.is_null() {
                let next = (*list).next;
                c.give_one(list, class_size(class));
                list = next;
            }
        }
    })
}

fn slab_of(block: *mut Block) -> *mut Slab {
    block.map_addr(|a| a & !(SLAB - 1)).cast()
}

impl Slab {
    /// Whether another block of `size` bytes can be cut from the rest.
    fn has_fresh(&self, size: usize) -> bool {
        // The end of the slab is the next multiple of its size; `fresh` may have reached it.
        let begin = self as *const Slab as usize;
        self.fresh as usize + size <= begin + SLAB
    }
}

impl Class {
    unsafe fn link(&mut self, slab: *mut Slab) {
        // SAFETY: `slab` and the first slab are alive and ours.
        unsafe {
            (*slab).next = self.first;
            (*slab).prev = null_mut();
            if !self.first.is_null() {
                (*self.first).prev = slab;
            }
        }
        self.first = slab;
    }

    unsafe fn unlink(&mut self, slab: *mut Slab) {
        // SAFETY: `slab` is in the list, its neighbours are alive.
        unsafe {
            let (next, prev) = ((*slab).next, (*slab).prev);
            if prev.is_null() {
                self.first = next
            } else {
                (*prev).next = next
            }
            if !next.is_null() {
                (*next).prev = prev;
            }
        }
    }

    /// Takes blocks from the first slab, returned ones before new ones, and unlinks it if none is left.
    unsafe fn take_from_first(&mut self, size: usize, count: u32) -> (*mut Block, u32) {
        let (mut list, mut taken) = (null_mut(), 0);
        let mut tail: *mut *mut Block = &raw mut list;
        // SAFETY: the first slab has free blocks; new ones end before the slab does. `tail` is the link of the last
        // block taken.
        unsafe {
            let slab = self.first;
            while taken < count {
                let block = (*slab).free;
                if !block.is_null() {
                    (*slab).free = (*block).next;
                    *tail = block;
                } else if (*slab).has_fresh(size) {
                    *tail = (*slab).fresh.cast();
                    (*slab).fresh = (*slab).fresh.add(size);
                } else {
                    break;
                }
                tail = &raw mut (**tail).next;
                taken += 1;
            }
            *tail = null_mut();
            (*slab).used += taken as usize;
            self.used += taken as usize;
            if (*slab).free.is_null() && !(*slab).has_fresh(size) {
                self.unlink(slab);
            }
        }
        (list, taken)
    }

    unsafe fn give_one(&mut self, block: *mut Block, size: usize) {
        let slab = slab_of(block);
        // SAFETY: the slab is alive since a block of it is out. It is linked exactly if it has free blocks.
        unsafe {
            if (*slab).free.is_null() && !(*slab).has_fresh(size) {
                self.link(slab);
            }
            (*block).next = (*slab).free;
            (*slab).free = block;
            (*slab).used -= 1;
            self.used -= 1;
            if (*slab).used == 0 {
                self.unlink(slab);
                retire(slab);
            }
        }
    }
}

/// An empty slab, or null.
fn new_slab() -> *mut Slab {
    let slab = EMPTY.with(|e| {
        if !e.first.is_null() {
            let slab = e.first;
            // SAFETY: slabs in the list are alive and ours.
            e.first = unsafe { (*slab).next };
            e.count -= 1;
            return slab;
        }
        if e.region_left == 0 {
            e.region = os::map(REGION, SLAB);
            if e.region.is_null() {
                return null_mut();
            }
            e.region_left = REGION;
            RESERVED.fetch_add(REGION, Relaxed);
        }
        let slab = e.region;
        // SAFETY: the region has at least one more slab.
        e.region = unsafe { slab.add(SLAB) };
        e.region_left -= SLAB;
        slab.cast()
    });
    if !slab.is_null() {
        // SAFETY: the slab is ours alone; its blocks begin after the head.
        unsafe {
            let fresh = slab.add(1).cast();
            slab.write(Slab { next: null_mut(), prev: null_mut(), free: null_mut(), used: 0, fresh });
        }
    }
    slab
}

/// Keeps an empty slab for later, or gives it back.
unsafe fn retire(slab: *mut Slab) {
    let kept = EMPTY.with(|e| {
        if e.count < MAX_EMPTY {
            // SAFETY: the slab is ours alone.
            unsafe { (*slab).next = e.first };
            e.first = slab;
            e.count += 1;
            return true;
        }
        false
    });
    if !kept {
        // SAFETY: no block of it is out and nobody links to it.
        unsafe { release(slab) };
    }
}

unsafe fn release(slab: *mut Slab) {
    RESERVED.fetch_sub(SLAB, Relaxed);
    // SAFETY: a whole slab, by the caller's word unused.
    unsafe { os::unmap(slab.cast(), SLAB, SLAB) };
}

/// Gives all empty slabs back to the system.
pub fn release_all() {
    let mut slab = EMPTY.with(|e| {
        e.count = 0;
        std::mem::replace(&mut e.first, null_mut())
    });
    while !slab.is_null() {
        // SAFETY: the list is ours alone now.
        unsafe {
            let next = (*slab).next;
            release(slab);
            slab = next;
        }
    }
}

/// Bytes held, and bytes of blocks that are out.
pub fn stats() -> (usize, usize) {
    let used = (0..SMALL).map(|i| CLASSES[i].with(|c| c.used) * class_size(i)).sum();
    (RESERVED.load(Relaxed), used)
}

/// Before a fork.
pub fn acquire_all() {
    CLASSES.iter().for_each(Locked::acquire);
    EMPTY.acquire();
}

/// After a fork, in parent and child.
pub fn release_locks() {
    EMPTY.release();
    CLASSES.iter().for_each(Locked::release);
}
