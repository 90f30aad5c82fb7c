//! Where buffers come from.

use std::alloc::Layout;

const ALIGN: usize = 64;

/// Uninitialised memory of at least `bytes` bytes, 64-byte aligned; `None` if there is not enough.
#[inline]
pub fn alloc(bytes: usize) -> Option<*mut u8> {
    let layout = Layout::from_size_align(bytes.max(1), ALIGN).ok()?;
    // SAFETY: the layout has a non-zero size.
    let ptr = unsafe { std::alloc::alloc(layout) };
    (!ptr.is_null()).then_some(ptr)
}

/// Gives memory back.
///
/// # Safety
/// `ptr` must come from [`alloc`] with the same `bytes`, and must not be used again.
#[inline]
pub unsafe fn free(ptr: *mut u8, bytes: usize) {
    // SAFETY: by the contract this is the layout of the allocation.
    unsafe { std::alloc::dealloc(ptr, Layout::from_size_align_unchecked(bytes.max(1), ALIGN)) }
}

/// A `Runtime` error if `bytes` exceed what the machine has.
#[inline]
pub fn check_available(bytes: usize) -> crate::base::Result<()> {
    if bytes >= 1 << 28 && bytes > physical_bytes() {
        crate::bail!(
            Runtime,
            "not enough memory: tried to allocate {bytes} bytes, the machine has {}",
            physical_bytes()
        );
    }
    Ok(())
}

/// Physical memory of the machine.
pub fn physical_bytes() -> usize {
    static BYTES: std::sync::OnceLock<usize> = std::sync::OnceLock::new();
    *BYTES.get_or_init(|| {
        // SAFETY: sysconf only reads system configuration.
        let (pages, size) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
        if pages > 0 && size > 0 { pages as usize * size as usize } else { usize::MAX }
    })
}
