//! Where buffers come from: a caching allocator, because page faults cost more than arithmetic.
//!
//! - up to 4 KiB: blocks carved from slabs of 64 KiB ([`slabs`]), handed out through thread-local lists ([`local`]);
//! - up to 1 MiB: single blocks, in the same thread-local lists, backed by the shared cache;
//! - above: a shared, bounded cache of large blocks ([`large`]), with huge pages from 8 MiB on.
//!
//! Ours and not `mimalloc`, in ns for a block taken and given back: one of 64 bytes 9.4 and 4.8, of 1 KiB 9.1 and 8.5, of
//! 4 KiB 9.1 and 20, results of a chain 10.0 and 10.5, a tape of 2,000 blocks 20 and 20, blocks freed on another thread 45 and
//! 60, headers of a tape 11.2 and 8.4. Not slower where tensors live, without C, and with what the library has not: figures, a
//! limit, blocks in one cache for all threads, forks while threads allocate.
//!
//! Sizes are rounded to classes ([`classes`]). A block may be freed on any thread. What a thread holds goes back to
//! the shared lists when it ends. Locks are held across `fork`, so a child finds them free and its lists whole.

mod classes;
mod global;
mod guard;
mod large;
mod local;
pub(super) mod lock;
mod os;
mod slabs;

pub use global::SmallBlocks;
pub use large::set_cache_limit;

use classes::{LOCAL_MAX, local_class};
use std::mem::MaybeUninit;
use std::sync::Arc;

/// Every block begins at a multiple of this.
pub const ALIGN: usize = 64;

/// Uninitialised memory of at least `bytes` bytes, 64-byte aligned; `None` if there is not enough.
#[inline]
pub fn alloc(bytes: usize) -> Option<*mut u8> {
    let ptr = alloc_rounded(guard::outer_size(bytes)?)?;
    // SAFETY: the block has the outer size.
    Some(unsafe { guard::enter(ptr, bytes) })
}

/// A value behind a reference count, made where it stays: `Arc::new` puts it together on the stack and moves it, and what is
/// read back in larger pieces than it was written a moment ago makes the processor wait.
#[inline(always)]
pub fn counted<T>(make: impl FnOnce() -> T) -> Arc<T> {
    let slot = Arc::<T>::new_uninit();
    // SAFETY: nobody else knows of the slot yet, and it is written before it counts as a value.
    unsafe {
        Arc::as_ptr(&slot).cast_mut().write(MaybeUninit::new(make()));
        slot.assume_init()
    }
}

/// Gives memory back.
///
/// # Safety
/// `ptr` must come from [`alloc`] with the same `bytes`, and must not be used again.
#[inline]
pub unsafe fn free(ptr: *mut u8, bytes: usize) {
    // SAFETY: by the contract this is the block that `alloc` made of these sizes.
    unsafe {
        let ptr = guard::leave(ptr, bytes);
        // The outer size did not overflow when the block was made.
        free_rounded(ptr, guard::outer_size(bytes).unwrap_unchecked());
    }
}

/// `n` is a positive multiple of [`ALIGN`].
#[inline]
fn alloc_rounded(n: usize) -> Option<*mut u8> {
    if n <= LOCAL_MAX {
        let ptr = local::alloc(local_class(n));
        if !ptr.is_null() {
            return Some(ptr);
        }
    }
    alloc_slow(n)
}

#[cold]
#[inline(never)]
fn alloc_slow(n: usize) -> Option<*mut u8> {
    if n > LOCAL_MAX
        && let Some(ptr) = large::alloc(n)
    {
        return Some(ptr);
    }
    // The system refused, or the size is absurd: give back what we hoard and try once more.
    empty_cache();
    if n > LOCAL_MAX {
        return large::alloc(n);
    }
    let ptr = local::alloc(local_class(n));
    (!ptr.is_null()).then_some(ptr)
}

#[inline]
unsafe fn free_rounded(ptr: *mut u8, n: usize) {
    // SAFETY: passed on.
    unsafe { if n <= LOCAL_MAX { local::free(ptr, local_class(n)) } else { large::free(ptr, n) } }
}

/// Returns all cached memory to the system: this thread's lists, the large blocks and the empty slabs. Memory in use
/// is not touched; lists of other threads (a few MiB each at most) stay.
pub fn empty_cache() {
    local::flush();
    large::release_all();
    slabs::release_all();
}

/// Figures about the allocator, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Obtained from the system and not given back.
    pub reserved: usize,
    /// Of these, free and ready to be used again. What threads hold in their own lists counts as in use.
    pub cached: usize,
    /// Upper bound for the shared cache of blocks above 4 KiB.
    pub cache_limit: usize,
    /// How many blocks above 4 KiB came from the shared cache.
    pub hits: usize,
    /// How many had to be asked from the system.
    pub misses: usize,
}

impl Stats {
    pub fn in_use(&self) -> usize {
        self.reserved.saturating_sub(self.cached)
    }
}

/// The present figures. Taken one after the other: exact only while no other thread allocates.
pub fn stats() -> Stats {
    let (slabs_reserved, slabs_used) = slabs::stats();
    let large = large::stats();
    Stats {
        reserved: slabs_reserved + large.reserved,
        cached: slabs_reserved.saturating_sub(slabs_used) + large.cached,
        cache_limit: large::limit(),
        hits: large.hits,
        misses: large.misses,
    }
}

/// Whether a block is compared with what is free before it is made.
#[inline]
pub fn is_large(bytes: usize) -> bool {
    bytes >= os::LARGE
}

/// A `Runtime` error if memory for `bytes` cannot be had. The system promises more than it has, and ends who uses it:
/// so large blocks are compared with what is free before they are written.
#[inline]
pub fn check_available(bytes: usize) -> crate::base::Result<()> {
    if is_large(bytes) { check_large(bytes) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn check_large(bytes: usize) -> crate::base::Result<()> {
    // What the cache holds is used again, or given back when the system refuses.
    let free = os::available_bytes().saturating_add(stats().cached);
    if bytes > free {
        crate::bail!(
            Runtime,
            "not enough memory: tried to allocate {bytes} bytes, of {} bytes of the machine {free} are free",
            os::physical_bytes()
        );
    }
    Ok(())
}

/// A `Runtime` error if memory for a list of `count` items of `each` bytes cannot be had.
pub fn check_list(op: &str, count: usize, each: usize) -> crate::base::Result<()> {
    let bytes = count.saturating_mul(each.max(1));
    check_available(bytes).map_err(|e| e.context(&format!("{op}()")))
}

/// The items, `count` of them, or a `Runtime` error where memory for them cannot be had.
pub fn list<T>(op: &str, count: usize, items: impl IntoIterator<Item = T>) -> crate::base::Result<Vec<T>> {
    check_list(op, count, size_of::<T>())?;
    let mut all = Vec::new();
    if all.try_reserve_exact(count).is_err() {
        crate::bail!(Runtime, "{op}(): not enough memory for a list of {count} items");
    }
    all.extend(items);
    Ok(all)
}

/// A `Runtime` error for a walk over so many elements that it would take days. No memory bounds a broadcast view.
#[inline]
pub fn check_walk(elements: usize) -> crate::base::Result<()> {
    const MOST: usize = 1 << 44;
    if elements > MOST {
        crate::bail!(
            Runtime,
            "a tensor of {elements} elements, which share memory, is too large to be read element by element"
        );
    }
    Ok(())
}

/// Memory of this process' machine, or less if its control group says so.
pub fn physical_bytes() -> usize {
    os::physical_bytes()
}
