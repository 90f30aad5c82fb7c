//! Work that cannot look up from what it does: it runs on a thread of its own while the caller waits and listens.

use super::cancel::{self, CancelFlag};
use super::{BUSY, lock};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread;

/// Work that is expected to take less is done by the caller: nobody minds waiting for it.
const LONG_NS: usize = 200_000_000;

/// Whether [`detached`] leaves work of `ns` nanoseconds to the caller.
#[inline]
pub const fn is_short(ns: usize) -> bool {
    ns < LONG_NS
}

/// Runs `work`, which is expected to take `ns` nanoseconds. If the user wants to stop meanwhile, it is left behind: it
/// owns all that it reads and writes, ends at its next [`super::cancellation_point`] or when it is done, and nobody waits for it, not
/// even the end of the process.
pub fn detached<R: Send + 'static>(ns: usize, work: impl FnOnce() -> R + Send + 'static) -> R {
    if is_short(ns) || BUSY.get() || !cancel::is_listening() {
        return work();
    }
    beside(work)
}

#[cold]
#[inline(never)]
fn beside<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let result = Arc::new(Mutex::new(None));
    let theirs = result.clone();
    wait_for(Box::new(move || {
        let out = work();
        *lock(&theirs) = Some(out);
    }));
    match lock(&result).take() {
        Some(out) => out,
        None => unreachable!("work on a thread of its own ended without a result"),
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Returns when a thread has done the work, with its panic if there was one.
fn wait_for(work: Work) {
    let (done, ended) = sync_channel(1);
    let stop = Arc::new(CancelFlag::alone());
    // The work stays within reach in case the system gives us no thread.
    let work = Arc::new(Mutex::new(Some(work)));
    let (theirs, their_work) = (stop.clone(), work.clone());
    let started = thread::Builder::new().name("pullback-apart".into()).stack_size(16 << 20).spawn(move || {
        let before = theirs.enter();
        let taken = lock(&their_work).take();
        if let Some(work) = taken {
            let _ = done.send(catch_unwind(AssertUnwindSafe(work)));
        }
        CancelFlag::leave(before);
    });
    if started.is_err() {
        let mine = lock(&work).take();
        return match mine {
            Some(work) => work(),
            None => unreachable!("a thread that did not start took the work"),
        };
    }
    /// Tells the work when the caller no longer waits.
    struct Leaving(Arc<CancelFlag>);
    impl Drop for Leaving {
        fn drop(&mut self) {
            self.0.set();
        }
    }
    let _leaving = Leaving(stop);
    loop {
        match ended.recv_timeout(cancel::TURN) {
            Ok(Ok(())) => return,
            Ok(Err(payload)) => resume_unwind(payload),
            Err(RecvTimeoutError::Timeout) => cancel::ask(),
            Err(RecvTimeoutError::Disconnected) => unreachable!("work on a thread of its own ended without a word"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_beside_the_caller_gives_its_result_or_its_panic() {
        assert_eq!(beside(|| 6 * 7), 42);
        let caught = catch_unwind(|| beside(|| assert!(std::hint::black_box(false), "no"))).unwrap_err();
        assert_eq!(*caught.downcast_ref::<&str>().unwrap(), "no");
    }

    #[test]
    fn work_that_was_left_behind_ends_at_its_next_pause() {
        let stop = Arc::new(CancelFlag::alone());
        let theirs = stop.clone();
        let worker = thread::spawn(move || {
            let before = theirs.enter();
            let ended = catch_unwind(|| {
                loop {
                    super::super::run(4, &|_| super::super::cancellation_point());
                }
            });
            CancelFlag::leave(before);
            cancel::is_cancellation(&*ended.map(|never: std::convert::Infallible| never).unwrap_err())
        });
        stop.set();
        assert!(worker.join().unwrap());
    }
}
