//! Locks that never allocate and survive a fork.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// A value behind a lock. The allocator below every Rust allocation needs one that allocates nothing; critical
/// sections are short, so it spins, and yields when that takes long.
pub struct Locked<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the value is reached under the lock only.
unsafe impl<T> Sync for Locked<T> {}

impl<T> Locked<T> {
    pub const fn new(value: T) -> Self {
        Locked { taken: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    /// Runs `f` under the lock. `f` must not panic, nor take this lock again.
    #[inline]
    pub fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.acquire();
        // SAFETY: we hold the lock.
        let result = f(unsafe { &mut *self.value.get() });
        self.release();
        result
    }

    /// For the fork handlers only.
    #[inline]
    pub fn acquire(&self) {
        let mut turns = 0u32;
        while self.taken.compare_exchange_weak(false, true, Ordering::Acquire, Ordering::Relaxed).is_err() {
            turns += 1;
            if turns < 100 { std::hint::spin_loop() } else { std::thread::yield_now() }
        }
    }

    /// For the fork handlers only.
    #[inline]
    pub fn release(&self) {
        self.taken.store(false, Ordering::Release);
    }
}

/// Arranges that a fork happens only while nobody else holds a lock of the allocator: a child gets copies of the
/// locks, and a holder that does not exist there would never release them.
#[cfg(all(unix, not(miri)))]
pub fn watch_forks() {
    use super::{large, slabs};
    extern "C" fn before() {
        slabs::acquire_all();
        large::acquire();
    }
    extern "C" fn after() {
        large::release();
        slabs::release_locks();
    }
    static ONCE: AtomicBool = AtomicBool::new(false);
    if !ONCE.swap(true, Ordering::Relaxed) {
        // SAFETY: the handlers only set and clear flags.
        unsafe { libc::pthread_atfork(Some(before), Some(after), Some(after)) };
    }
}

#[cfg(not(all(unix, not(miri))))]
pub fn watch_forks() {}
