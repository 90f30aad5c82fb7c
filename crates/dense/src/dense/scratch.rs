//! Memory that a kernel works in and gives back.

use super::memory;
use crate::base::{Element, Error, Result};

/// Room for elements, none of which is written yet.
pub struct Scratch<T> {
    ptr: *mut T,
    bytes: usize,
}

// SAFETY: the memory belongs to the value alone; who writes to it through the pointer answers for that.
unsafe impl<T: Send> Send for Scratch<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Scratch<T> {}

impl<T: Element> Scratch<T> {
    /// # Errors
    /// `Runtime` if there is no room for `count` elements.
    pub fn new(count: usize) -> Result<Scratch<T>> {
        let bytes = count.max(1).saturating_mul(size_of::<T>());
        let ptr = memory::alloc(bytes)
            .ok_or_else(|| Error::runtime(format!("not enough memory: tried to allocate {bytes} bytes")))?;
        Ok(Scratch { ptr: ptr.cast(), bytes })
    }
    /// The first element; aligned for vectors.
    pub fn ptr(&self) -> *mut T {
        self.ptr
    }
}

impl<T> Drop for Scratch<T> {
    fn drop(&mut self) {
        // SAFETY: the block came from `alloc` with these bytes.
        unsafe { memory::free(self.ptr.cast(), self.bytes) }
    }
}
