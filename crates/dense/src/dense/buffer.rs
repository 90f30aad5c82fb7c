//! Blocks of memory that arrays share.

use super::memory;
use crate::base::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};

/// Who memory belongs to that is not from our allocator (NumPy, DLPack). Keeps it until dropped.
pub trait Lender: Send + Sync {
    /// Whether nobody can reach the memory any more but through this.
    fn is_sole(&self) -> bool {
        false
    }
}

enum Owner {
    /// From our allocator.
    Own,
    /// Of someone else: visible to others while `shared`, and then written in place.
    Foreign { lender: Box<dyn Lender>, writable: bool, shared: AtomicBool },
}

/// A block of memory. Immutable while shared, except foreign memory, which others see.
pub struct Buffer {
    ptr: *mut u8,
    bytes: usize,
    owner: Owner,
    /// Holders outside the library (NumPy views) that may write to this memory behind our back.
    exports: AtomicU32,
    version: AtomicU32,
}

// SAFETY: the bytes are only written through `&mut Buffer`, a fresh buffer's builder, or the skin's
// in-place writes, which L7 runs under the owner's lock.
unsafe impl Send for Buffer {}
// SAFETY: as above.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// Uninitialised memory, 64-byte aligned.
    #[inline]
    pub(crate) fn alloc(bytes: usize) -> Result<Buffer> {
        let ptr = memory::alloc(bytes)
            .ok_or_else(|| Error::runtime(format!("not enough memory: tried to allocate {bytes} bytes")))?;
        Ok(Buffer { ptr, bytes, owner: Owner::Own, exports: AtomicU32::new(0), version: AtomicU32::new(0) })
    }

    /// Memory of another owner.
    ///
    /// # Safety
    /// `ptr .. ptr + bytes` must stay valid while `lender` lives, and be writable if `writable`.
    pub unsafe fn foreign(ptr: *mut u8, bytes: usize, writable: bool, lender: Box<dyn Lender>) -> Buffer {
        Buffer {
            ptr,
            bytes,
            owner: Owner::Foreign { lender, writable, shared: AtomicBool::new(true) },
            exports: AtomicU32::new(1),
            version: AtomicU32::new(0),
        }
    }

    #[inline]
    pub fn ptr(&self) -> *mut u8 {
        self.ptr
    }
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// Whether code outside the library can see this memory.
    #[inline]
    pub fn is_exported(&self) -> bool {
        self.exports.load(Relaxed) != 0
    }
    /// Counts a holder outside the library until the guard drops.
    pub fn export(self: &Arc<Buffer>) -> Export {
        self.exports.fetch_add(1, Relaxed);
        Export(self.clone())
    }
    /// Whether code outside the library can still see this memory: what only its lender's object reached, which nobody
    /// has any more, is ours from now on.
    pub fn is_still_exported(&self) -> bool {
        if let Owner::Foreign { lender, writable: true, shared } = &self.owner
            && shared.load(Relaxed)
            && lender.is_sole()
            && shared.swap(false, Relaxed)
        {
            self.exports.fetch_sub(1, Relaxed);
        }
        self.is_exported()
    }
    /// Whether the memory belongs to someone else.
    pub fn is_foreign(&self) -> bool {
        matches!(self.owner, Owner::Foreign { .. })
    }
    pub fn is_writable(&self) -> bool {
        !matches!(self.owner, Owner::Foreign { writable: false, .. })
    }
    /// Counts the writes that we made to shared memory.
    pub fn version(&self) -> u32 {
        self.version.load(Relaxed)
    }
    pub fn bump_version(&self) {
        self.version.fetch_add(1, Relaxed);
    }
}

/// A holder of a buffer outside the library.
pub struct Export(Arc<Buffer>);

impl Drop for Export {
    fn drop(&mut self) {
        self.0.exports.fetch_sub(1, Relaxed);
    }
}

impl Drop for Buffer {
    #[inline]
    fn drop(&mut self) {
        if matches!(self.owner, Owner::Own) {
            // SAFETY: `ptr` came from `memory::alloc` with this size and nothing refers to it any more.
            unsafe { memory::free(self.ptr, self.bytes) }
        }
    }
}
