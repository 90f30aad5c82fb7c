//! A global allocator for the Python extension module: tensor headers and tape nodes from the lists of blocks.

use super::classes::local_class;
use super::{ALIGN, local};
use std::alloc::{GlobalAlloc, Layout, System};

/// Serves blocks up to 512 bytes from the thread-local lists and everything else from the system.
///
/// Register it with `#[global_allocator]`. A program that only uses this crate keeps the allocator it has.
pub struct SmallBlocks;

const MAX: usize = 512;

/// The class that serves a layout, if it is small. Depends on the layout only, so `dealloc` finds it again.
#[inline]
fn class(layout: Layout) -> Option<usize> {
    let size = if layout.align() <= 16 { layout.size() } else { layout.size().next_multiple_of(ALIGN) };
    // Sizes are never zero by the contract of `GlobalAlloc`; `wrapping_sub` sends a zero to the system all the same.
    (size.wrapping_sub(1) < MAX && layout.align() <= ALIGN).then(|| local_class(size))
}

// SAFETY: blocks have the size of their class, are aligned to 16, and to 64 if the size was rounded to a multiple of
// that; nothing here unwinds.
unsafe impl GlobalAlloc for SmallBlocks {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        match class(layout) {
            Some(class) => local::alloc(class),
            // SAFETY: passed on.
            None => unsafe { System.alloc(layout) },
        }
    }

    #[inline]
    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        // SAFETY: the layout is that of the allocation, so is the class.
        unsafe {
            match class(layout) {
                Some(class) => local::free(ptr, class),
                None => System.dealloc(ptr, layout),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: a block of at least this size, or the caller's layout passed on.
        unsafe {
            let Some(class) = class(layout) else { return System.alloc_zeroed(layout) };
            let ptr = local::alloc(class);
            if !ptr.is_null() {
                ptr.write_bytes(0, layout.size());
            }
            ptr
        }
    }

    #[inline]
    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        // SAFETY: the new size is valid for this alignment by the contract; copies stay inside both blocks.
        unsafe {
            let new_layout = Layout::from_size_align_unchecked(new_size, layout.align());
            match (class(layout), class(new_layout)) {
                (None, None) => System.realloc(ptr, layout, new_size),
                (Some(a), Some(b)) if a == b => ptr,
                _ => {
                    let new = self.alloc(new_layout);
                    if !new.is_null() {
                        ptr.copy_to_nonoverlapping(new, layout.size().min(new_size));
                        self.dealloc(ptr, layout);
                    }
                    new
                }
            }
        }
    }
}
