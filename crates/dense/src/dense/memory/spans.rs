//! Small blocks: spans of 64 KiB, each cut into blocks of one class, shared by all threads.
//!
//! A span begins at a multiple of its size, so the span of a block is found by masking its address. It counts its
//! blocks that are out; an empty span serves any class again, and beyond a bound goes back to the system. Threads
//! come here for batches of blocks only ([`super::local`]).

use super::classes::{SMALL, class_size};
use super::lock::Locked;
use super::os;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const SPAN: usize = 1 << 16;
/// Spans are asked from the system in regions of this size.
const REGION: usize = if os::CAN_SPLIT { 1 << 20 } else { SPAN };
/// Empty spans that we keep: 64 MiB, what a tape of some hundred thousand nodes leaves behind.
const MAX_EMPTY: usize = (64 << 20) / SPAN;

/// A free block; the rest of it is garbage.
#[repr(C)]
pub struct Block {
    pub next: *mut Block,
}

/// The head of a span. Blocks follow it, aligned to 64.
#[repr(C, align(64))]
struct Span {
    /// Neighbours among the spans of a class that have free blocks (or the next empty span).
    next: *mut Span,
    prev: *mut Span,
    /// Blocks that came back.
    free: *mut Block,
    /// Blocks that are out.
    used: usize,
    /// The rest of the span from here on was never handed out.
    fresh: *mut u8,
}

/// The spans of one class that have free blocks.
struct Class {
    first: *mut Span,
    used: usize,
}

struct Empty {
    first: *mut Span,
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
            let span = new_span();
            if span.is_null() {
                return (null_mut(), 0);
            }
            // SAFETY: a fresh span, linked nowhere.
            unsafe { c.link(span) };
        }
        // SAFETY: spans in the list are alive and have free blocks; we hold the lock of their class.
        unsafe { c.take_from_first(class_size(class), count) }
    })
}

/// Gives a list of blocks back; it ends in null.
///
/// # Safety
/// They come from [`take`] with this class.
pub unsafe fn give(class: usize, mut list: *mut Block) {
    CLASSES[class].with(|c| {
        // SAFETY: each block lies in a live span of this class, whose lock we hold.
        unsafe {
            while !list.is_null() {
                let next = (*list).next;
                c.give_one(list, class_size(class));
                list = next;
            }
        }
    })
}

fn span_of(block: *mut Block) -> *mut Span {
    block.map_addr(|a| a & !(SPAN - 1)).cast()
}

impl Span {
    /// Whether another block of `size` bytes can be cut from the rest.
    fn has_fresh(&self, size: usize) -> bool {
        // The end of the span is the next multiple of its size; `fresh` may have reached it.
        let begin = self as *const Span as usize;
        self.fresh as usize + size <= begin + SPAN
    }
}

impl Class {
    unsafe fn link(&mut self, span: *mut Span) {
        // SAFETY: `span` and the first span are alive and ours.
        unsafe {
            (*span).next = self.first;
            (*span).prev = null_mut();
            if !self.first.is_null() {
                (*self.first).prev = span;
            }
        }
        self.first = span;
    }

    unsafe fn unlink(&mut self, span: *mut Span) {
        // SAFETY: `span` is in the list, its neighbours are alive.
        unsafe {
            let (next, prev) = ((*span).next, (*span).prev);
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

    /// Takes blocks from the first span, returned ones before new ones, and unlinks it if none is left.
    unsafe fn take_from_first(&mut self, size: usize, count: u32) -> (*mut Block, u32) {
        let (mut list, mut taken) = (null_mut(), 0);
        let mut tail: *mut *mut Block = &raw mut list;
        // SAFETY: the first span has free blocks; new ones end before the span does. `tail` is the link of the last
        // block taken.
        unsafe {
            let span = self.first;
            while taken < count {
                let block = (*span).free;
                if !block.is_null() {
                    (*span).free = (*block).next;
                    *tail = block;
                } else if (*span).has_fresh(size) {
                    *tail = (*span).fresh.cast();
                    (*span).fresh = (*span).fresh.add(size);
                } else {
                    break;
                }
                tail = &raw mut (**tail).next;
                taken += 1;
            }
            *tail = null_mut();
            (*span).used += taken as usize;
            self.used += taken as usize;
            if (*span).free.is_null() && !(*span).has_fresh(size) {
                self.unlink(span);
            }
        }
        (list, taken)
    }

    unsafe fn give_one(&mut self, block: *mut Block, size: usize) {
        let span = span_of(block);
        // SAFETY: the span is alive since a block of it is out. It is linked exactly if it has free blocks.
        unsafe {
            if (*span).free.is_null() && !(*span).has_fresh(size) {
                self.link(span);
            }
            (*block).next = (*span).free;
            (*span).free = block;
            (*span).used -= 1;
            self.used -= 1;
            if (*span).used == 0 {
                self.unlink(span);
                retire(span);
            }
        }
    }
}

/// An empty span, or null.
fn new_span() -> *mut Span {
    let span = EMPTY.with(|e| {
        if !e.first.is_null() {
            let span = e.first;
            // SAFETY: spans in the list are alive and ours.
            e.first = unsafe { (*span).next };
            e.count -= 1;
            return span;
        }
        if e.region_left == 0 {
            e.region = os::map(REGION, SPAN);
            if e.region.is_null() {
                return null_mut();
            }
            e.region_left = REGION;
            RESERVED.fetch_add(REGION, Relaxed);
        }
        let span = e.region;
        // SAFETY: the region has at least one more span.
        e.region = unsafe { span.add(SPAN) };
        e.region_left -= SPAN;
        span.cast()
    });
    if !span.is_null() {
        // SAFETY: the span is ours alone; its blocks begin after the head.
        unsafe {
            let fresh = span.add(1).cast();
            span.write(Span { next: null_mut(), prev: null_mut(), free: null_mut(), used: 0, fresh });
        }
    }
    span
}

/// Keeps an empty span for later, or gives it back.
unsafe fn retire(span: *mut Span) {
    let kept = EMPTY.with(|e| {
        if e.count < MAX_EMPTY {
            // SAFETY: the span is ours alone.
            unsafe { (*span).next = e.first };
            e.first = span;
            e.count += 1;
            return true;
        }
        false
    });
    if !kept {
        // SAFETY: no block of it is out and nobody links to it.
        unsafe { release(span) };
    }
}

unsafe fn release(span: *mut Span) {
    RESERVED.fetch_sub(SPAN, Relaxed);
    // SAFETY: a whole span, by the caller's word unused.
    unsafe { os::unmap(span.cast(), SPAN, SPAN) };
}

/// Gives all empty spans back to the system.
pub fn release_all() {
    let mut span = EMPTY.with(|e| {
        e.count = 0;
        std::mem::replace(&mut e.first, null_mut())
    });
    while !span.is_null() {
        // SAFETY: the list is ours alone now.
        unsafe {
            let next = (*span).next;
            release(span);
            span = next;
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
