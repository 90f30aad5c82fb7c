//! How much of a thread's stack is left: recursion through callbacks must end in an error, whatever limit the host
//! language was given.

use super::first_thread::FastLocal;
use crate::base::{Error, ErrorKind, Result};
use std::cell::Cell;

/// What code that does not ask again may need.
const RESERVE: usize = 256 << 10;

thread_local! {
    static OWN: Cell<usize> = const { Cell::new(UNKNOWN) };
}
/// The address below which the stack is nearly used up.
static LEAST: FastLocal<Cell<usize>> = FastLocal::new(&OWN);
const UNKNOWN: usize = usize::MAX;

/// An error if this thread's stack is nearly used up.
#[inline]
pub fn check() -> Result<()> {
    let here = 0u8;
    if (&raw const here as usize) < LEAST.with(Cell::get) { refuse(&raw const here as usize) } else { Ok(()) }
}

#[cold]
#[inline(never)]
fn refuse(here: usize) -> Result<()> {
    let least = LEAST.with(|l| {
        if l.get() == UNKNOWN {
            l.set(bounds().map_or(0, |(low, size)| low + RESERVE.min(size / 4)));
        }
        l.get()
    });
    if here >= least {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Recursion,
        "maximum recursion depth exceeded: the stack of this thread is nearly used up; does a function call itself \
         without end?",
    ))
}

/// The lowest address of this thread's stack, and its size.
#[cfg(all(target_os = "linux", not(miri)))]
fn bounds() -> Option<(usize, usize)> {
    let (mut low, mut size) = (std::ptr::null_mut(), 0);
    // SAFETY: the attributes are made by the first call and read only if it succeeded.
    let found = unsafe {
        let mut attributes = std::mem::zeroed::<libc::pthread_attr_t>();
        libc::pthread_getattr_np(libc::pthread_self(), &mut attributes) == 0 && {
            let found = libc::pthread_attr_getstack(&attributes, &mut low, &mut size) == 0;
            libc::pthread_attr_destroy(&mut attributes);
            found
        }
    };
    found.then_some((low as usize, size))
}

#[cfg(all(target_os = "macos", not(miri)))]
fn bounds() -> Option<(usize, usize)> {
    // SAFETY: both calls only answer a question about this thread.
    unsafe {
        let me = libc::pthread_self();
        let size = libc::pthread_get_stacksize_np(me);
        Some((libc::pthread_get_stackaddr_np(me) as usize - size, size))
    }
}

#[cfg(not(all(any(target_os = "linux", target_os = "macos"), not(miri))))]
fn bounds() -> Option<(usize, usize)> {
    None
}

#[cfg(all(test, any(target_os = "linux", target_os = "macos"), not(miri)))]
mod tests {
    use super::*;

    fn down(n: usize) -> Result<usize> {
        check()?;
        let filler = std::hint::black_box([n; 64]);
        Ok(down(n + 1)?.max(filler[0]))
    }

    #[test]
    fn recursion_ends_in_an_error_on_large_and_small_stacks() {
        for size in [128 << 10, 8 << 20] {
            let run = std::thread::Builder::new().stack_size(size).spawn(|| {
                assert!(check().is_ok());
                down(0).unwrap_err().kind()
            });
            assert_eq!(run.unwrap().join().unwrap(), ErrorKind::Recursion);
        }
    }
}
