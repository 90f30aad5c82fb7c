//! Help for finding wild writes and reads of freed memory.
//!
//! Debug builds (and the feature `debug-guard`) fill blocks with NaN bits when they are handed out and when they come
//! back. The feature also puts guard words around each block and aborts when it is freed with a damaged one.

use super::ALIGN;

const GUARDED: bool = cfg!(feature = "debug-guard");
const POISONED: bool = GUARDED || cfg!(debug_assertions);
/// NaN in every float format, -1 in every integer format.
const POISON: u8 = 0xFF;
/// Room for the guard before a block; it keeps the alignment. The one behind begins right after the last byte.
const MARGIN: usize = if GUARDED { ALIGN } else { 0 };
const GUARD: u8 = 0xA5;

/// Bytes to ask for when the user wants `bytes`: guards included, a positive multiple of [`ALIGN`].
#[inline]
pub fn outer_size(bytes: usize) -> Option<usize> {
    // No wrap: more than half the address space is refused.
    if bytes > isize::MAX as usize - 4 * ALIGN {
        return None;
    }
    Some((bytes.max(1) + 2 * MARGIN).next_multiple_of(ALIGN))
}

/// Prepares a new block of the outer size and gives the user's part of it.
///
/// # Safety
/// `ptr` has [`outer_size`]`(bytes)` bytes.
#[inline]
pub unsafe fn enter(ptr: *mut u8, bytes: usize) -> *mut u8 {
    // SAFETY: all offsets are inside the outer size.
    unsafe {
        let user = ptr.add(MARGIN);
        if GUARDED {
            ptr.cast::<usize>().write(bytes);
            ptr.add(size_of::<usize>()).write_bytes(GUARD, MARGIN - size_of::<usize>());
            user.add(bytes).write_bytes(GUARD, MARGIN);
        }
        if POISONED {
            user.write_bytes(POISON, bytes);
        }
        user
    }
}

/// Checks a block that is being freed, and gives the outer block.
///
/// # Safety
/// `user` comes from [`enter`].
#[inline]
pub unsafe fn leave(user: *mut u8, bytes: usize) -> *mut u8 {
    // SAFETY: all offsets are inside the outer size.
    unsafe {
        let ptr = user.sub(MARGIN);
        if GUARDED {
            let recorded = ptr.cast::<usize>().read();
            let before = std::slice::from_raw_parts(ptr.add(size_of::<usize>()), MARGIN - size_of::<usize>());
            if recorded != bytes || before.iter().any(|&b| b != GUARD) {
                corrupted("before", user, bytes);
            }
            if std::slice::from_raw_parts(user.add(bytes), MARGIN).iter().any(|&b| b != GUARD) {
                corrupted("behind", user, bytes);
            }
        }
        if POISONED {
            user.write_bytes(POISON, bytes);
        }
        ptr
    }
}

/// Memory is damaged: nothing that unwinds or allocates much can be trusted any more.
#[cold]
fn corrupted(side: &str, user: *mut u8, bytes: usize) -> ! {
    eprintln!(
        "pullback: the guard {side} a block of {bytes} bytes at {user:p} is damaged (or the block was freed with another size or twice)"
    );
    std::process::abort()
}
