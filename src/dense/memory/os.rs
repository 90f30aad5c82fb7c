//! Memory from the operating system.

use std::alloc::{GlobalAlloc, Layout, System};

/// Whether single spans of a larger mapping can be given back.
pub const CAN_SPLIT: bool = cfg!(all(unix, not(miri)));
/// From this size on, blocks are mapped on their own and ask for huge pages.
pub const HUGE: usize = 8 << 20;
const HUGE_PAGE: usize = 2 << 20;

/// A block aligned to `align`, straight from the system; null if there is none. For [`unmap`].
#[cfg(all(unix, not(miri)))]
pub fn map(bytes: usize, align: usize) -> *mut u8 {
    let Some(padded) = bytes.checked_add(align) else { return std::ptr::null_mut() };
    let (access, kind) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANON);
    // SAFETY: a new anonymous mapping touches nothing that exists.
    let base = unsafe { libc::mmap(std::ptr::null_mut(), padded, access, kind, -1, 0) }.cast::<u8>();
    if base.cast() == libc::MAP_FAILED {
        return std::ptr::null_mut();
    }
    let before = base.align_offset(align);
    let after = padded - before - bytes;
    // SAFETY: the margins are parts of our mapping that nobody uses; sizes are multiples of the page size.
    unsafe {
        let ptr = base.add(before);
        if before > 0 {
            libc::munmap(base.cast(), before);
        }
        if after > 0 {
            libc::munmap(ptr.add(bytes).cast(), after);
        }
        ptr
    }
}

/// # Safety
/// `bytes` bytes at `ptr` come from [`map`], as a whole or (where [`CAN_SPLIT`]) in part, and are not used again.
#[cfg(all(unix, not(miri)))]
pub unsafe fn unmap(ptr: *mut u8, bytes: usize, _align: usize) {
    // SAFETY: by the contract. If the mapping cannot be split (there is a limit to their number), at least the
    // pages are given back.
    unsafe {
        if libc::munmap(ptr.cast(), bytes) != 0 {
            libc::madvise(ptr.cast(), bytes, libc::MADV_DONTNEED);
        }
    }
}

#[cfg(not(all(unix, not(miri))))]
pub fn map(bytes: usize, align: usize) -> *mut u8 {
    system_alloc(bytes, align)
}

/// # Safety
/// As for the system's `dealloc`.
#[cfg(not(all(unix, not(miri))))]
pub unsafe fn unmap(ptr: *mut u8, bytes: usize, align: usize) {
    // SAFETY: passed on.
    unsafe { System.dealloc(ptr, Layout::from_size_align_unchecked(bytes, align)) }
}

fn system_alloc(bytes: usize, align: usize) -> *mut u8 {
    match Layout::from_size_align(bytes, align) {
        // SAFETY: callers never ask for zero bytes.
        Ok(layout) => unsafe { System.alloc(layout) },
        Err(_) => std::ptr::null_mut(),
    }
}

/// One block above the carved sizes, 64-byte aligned; null if there is none.
pub fn alloc_block(bytes: usize) -> *mut u8 {
    if bytes < HUGE {
        return system_alloc(bytes, super::ALIGN);
    }
    let ptr = map(bytes, HUGE_PAGE);
    #[cfg(all(target_os = "linux", not(miri)))]
    if !ptr.is_null() {
        // SAFETY: advice about our own mapping; a refusal changes nothing.
        unsafe { libc::madvise(ptr.cast(), bytes, libc::MADV_HUGEPAGE) };
    }
    ptr
}

/// # Safety
/// `ptr` comes from [`alloc_block`] with the same size and is not used again.
pub unsafe fn free_block(ptr: *mut u8, bytes: usize) {
    // SAFETY: the same choice as in `alloc_block`.
    unsafe {
        if bytes < HUGE {
            System.dealloc(ptr, Layout::from_size_align_unchecked(bytes, super::ALIGN));
        } else {
            unmap(ptr, bytes, HUGE_PAGE);
        }
    }
}

/// Physical memory of the machine.
#[cfg(unix)]
pub fn physical_bytes() -> usize {
    // SAFETY: sysconf only reads system configuration.
    let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    if pages > 0 && size > 0 { (pages as usize).saturating_mul(size as usize) } else { usize::MAX }
}

#[cfg(not(unix))]
pub fn physical_bytes() -> usize {
    usize::MAX
}
